//! What the values of a key column look like, counted, so that two sides can find out why their keys would not match
//! before they meet. Counts say nothing of a single row once there are enough of them; whoever passes them on sees to that.

use std::collections::BTreeMap;

use crate::hints::{Look, look};
use crate::rule::Rule;

/// The form of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Form {
    /// It has one `@`.
    Address,
    /// 64 hexadecimal digits, or 44 characters of base64.
    Digest,
    /// 32 hexadecimal digits in five groups.
    Uuid,
    /// Eight digits in groups of four, two and two, or with other separators.
    Date,
    /// `+` and digits, with what people put between them.
    International,
    /// Digits that begin with a zero.
    LeadingZero,
    /// Other digits.
    Digits,
    /// A number as a spreadsheet writes it.
    Rounded,
    /// A null that a program wrote as text.
    WrittenNull,
    /// Letters, and what stands between words.
    Words,
    /// Anything else.
    Other,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 11] = [
        Form::Address,
        Form::Digest,
        Form::Uuid,
        Form::Date,
        Form::International,
        Form::LeadingZero,
        Form::Digits,
        Form::Rounded,
        Form::WrittenNull,
        Form::Words,
        Form::Other,
    ];

    /// Its name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Address => "address",
            Form::Digest => "digest",
            Form::Uuid => "uuid",
            Form::Date => "date",
            Form::International => "international",
            Form::LeadingZero => "leading-zero",
            Form::Digits => "digits",
            Form::Rounded => "rounded",
            Form::WrittenNull => "written-null",
            Form::Words => "words",
            Form::Other => "other",
        }
    }

    /// The form of a value that is not empty, without the blanks around it.
    fn of(value: &[u8]) -> Form {
        match look(Rule::Raw, value) {
            Some(Look::WrittenNull) => return Form::WrittenNull,
            Some(Look::Rounded) => return Form::Rounded,
            Some(Look::Hashed) => return Form::Digest,
            _ => {}
        }
        let count = |of: fn(&u8) -> bool| value.iter().filter(|byte| of(byte)).count();
        let digits = count(u8::is_ascii_digit);
        let between = count(|byte| b" -./()".contains(byte));
        let (first, length) = (value[0], value.len());
        match () {
            () if count(|byte| *byte == b'@') == 1 => Form::Address,
            () if length == 44 && value[43] == b'=' && !value.contains(&b' ') => Form::Digest,
            () if length == 36 && count(u8::is_ascii_hexdigit) == 32 && count(|byte| *byte == b'-') == 4 => {
                Form::Uuid
            }
            () if digits == length && first == b'0' && length > 1 => Form::LeadingZero,
            () if digits == length => Form::Digits,
            () if first == b'+' && digits >= 5 && digits + between + 1 == length => Form::International,
            () if (6..=8).contains(&digits) && between == 2 && digits + 2 == length => Form::Date,
            () if digits > 0 && first == b'0' && digits + between == length => Form::LeadingZero,
            () if digits > 0 && digits + between == length => Form::Digits,
            () if digits == 0 && !value.iter().any(u8::is_ascii_control) => Form::Words,
            () => Form::Other,
        }
    }
}

/// The case of the letters of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Letters {
    /// All in lower case.
    Lower,
    /// All in upper case.
    Upper,
    /// Of both cases.
    Mixed,
}

impl Letters {
    /// All of them.
    pub const ALL: [Letters; 3] = [Letters::Lower, Letters::Upper, Letters::Mixed];

    /// Its name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Letters::Lower => "lower",
            Letters::Upper => "upper",
            Letters::Mixed => "mixed",
        }
    }

    /// None if there are no letters of ASCII.
    fn of(value: &[u8]) -> Option<Letters> {
        let lower = value.iter().any(u8::is_ascii_lowercase);
        let upper = value.iter().any(u8::is_ascii_uppercase);
        match (lower, upper) {
            (false, false) => None,
            (true, false) => Some(Letters::Lower),
            (false, true) => Some(Letters::Upper),
            (true, true) => Some(Letters::Mixed),
        }
    }
}

/// The least length of each class of lengths, in bytes.
pub const LENGTHS: [usize; 7] = [1, 4, 8, 12, 16, 32, 64];

/// Counts of the values of a key column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnProfile {
    /// Rows.
    pub rows: u64,
    /// Rows without a value.
    pub empty: u64,
    /// Rows whose value breaks the rule.
    pub invalid: u64,
    /// Values of each form, in the order of [`Form::ALL`].
    pub forms: [u64; Form::ALL.len()],
    /// Values with letters of each case, in the order of [`Letters::ALL`].
    pub letters: [u64; Letters::ALL.len()],
    /// Values with a blank at an end.
    pub blank_ends: u64,
    /// Values of each class of lengths.
    pub lengths: [u64; LENGTHS.len()],
    /// Under the rule `phone`: values by the first two digits of the number in E.164.
    pub phone_regions: BTreeMap<[u8; 2], u64>,
}

impl ColumnProfile {
    /// Takes the next row: its value, before its rule and after it; none after it if it is empty or invalid.
    pub(crate) fn see(&mut self, rule: Rule, value: &[u8], canonical: Result<&[u8], ()>) {
        self.rows += 1;
        let trimmed = value.trim_ascii();
        let (true, Ok(canonical)) = (!trimmed.is_empty(), canonical) else {
            self.empty += u64::from(trimmed.is_empty());
            self.invalid += u64::from(!trimmed.is_empty());
            return;
        };
        // Under this rule a digest may be in any notation.
        let form = if rule == Rule::Sha256 { Form::Digest } else { Form::of(trimmed) };
        self.forms[form as usize] += 1;
        if let Some(letters) = Letters::of(trimmed) {
            self.letters[letters as usize] += 1;
        }
        self.blank_ends += u64::from(trimmed.len() < value.len());
        let class = LENGTHS.iter().rposition(|least| *least <= trimmed.len()).unwrap_or(0);
        self.lengths[class] += 1;
        if let (Rule::Phone(_), [b'+', one, two, ..]) = (rule, canonical) {
            *self.phone_regions.entry([*one, *two]).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_known_by_its_shape() {
        for (value, form) in [
            ("ada@example.org", Form::Address),
            ("b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514", Form::Digest),
            ("tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=", Form::Digest),
            ("123e4567-e89b-12d3-a456-426614174000", Form::Uuid),
            ("1815-12-10", Form::Date),
            ("10.12.1815", Form::Date),
            ("1/2/1999", Form::Date),
            ("+41 44 668 18 00", Form::International),
            ("0446681800", Form::LeadingZero),
            ("044 668 18 00", Form::LeadingZero),
            ("12345", Form::Digits),
            ("0", Form::Digits),
            ("1.23457E+11", Form::Rounded),
            ("NULL", Form::WrittenNull),
            ("Lovelace", Form::Words),
            ("müller-weiß", Form::Words),
            ("a1", Form::Other),
        ] {
            assert_eq!(Form::of(value.as_bytes()), form, "{value}");
        }
        assert!(Form::ALL.iter().enumerate().all(|(at, form)| *form as usize == at));
        assert!(Letters::ALL.iter().enumerate().all(|(at, letters)| *letters as usize == at));
    }

    #[test]
    fn rows_are_counted_by_what_they_hold() {
        let mut profile = ColumnProfile::default();
        let phone = Rule::Phone(None);
        profile.see(phone, b"+41 44 668 18 00", Ok(b"+41446681800"));
        profile.see(phone, b"", Ok(b""));
        profile.see(phone, b"x", Err(()));
        profile.see(Rule::Text, b" Ada ", Ok(b"ada"));
        profile.see(Rule::Text, b"ada", Ok(b"ada"));
        profile.see(Rule::Text, b"ADA", Ok(b"ada"));
        let mut digests = ColumnProfile::default();
        digests.see(Rule::Sha256, b"tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ", Ok(&[1; 32]));
        digests.see(Rule::Sha256, &[200; 32], Ok(&[200; 32]));
        assert_eq!(digests.forms[Form::Digest as usize], 2);
        assert_eq!((profile.rows, profile.empty, profile.invalid, profile.blank_ends), (6, 1, 1, 1));
        assert_eq!(profile.letters, [1, 1, 1]);
        assert_eq!(profile.lengths, [3, 0, 0, 0, 1, 0, 0]);
        assert_eq!(profile.phone_regions, BTreeMap::from([(*b"41", 1)]));
    }
}
