//! Counts keys that are valid under their rule and hardly what anybody means.
//!
//! Such keys match one another, or nothing, and no error tells. A false match on a written null even gives away that rows
//! exist. So whoever reads a table counts them, beside the keys, and tells the counts.

use std::ops::AddAssign;

use vesica_text::{Text, text};

use crate::rule::{Rule, invisible};

/// What a key looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Look {
    /// A null that a program wrote as text: `NULL`, `\N`, `None`, `NaN`, `N/A`, `#N/A`, `nil`, `-`.
    WrittenNull,
    /// A number that a spreadsheet or a column of floats wrote: `1.23457E+11`, `12345.0`.
    Rounded,
    /// Text with characters that nobody sees.
    Invisible,
    /// A SHA-256 digest in hexadecimal digits, under another rule than `sha256`.
    Hashed,
}

impl Look {
    const ALL: [Look; 4] = [Look::WrittenNull, Look::Rounded, Look::Invisible, Look::Hashed];

    /// Its name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Look::WrittenNull => "written-null",
            Look::Rounded => "rounded",
            Look::Invisible => "invisible",
            Look::Hashed => "hashed",
        }
    }

    /// What such keys do, and what to do about them.
    pub fn text(self) -> Text {
        match self {
            Look::WrittenNull => {
                text!(
                    "looks like a null that a program wrote (NULL, NaN, N/A); such rows match one another: \
                       leave the value empty"
                )
            }
            Look::Rounded => {
                text!(
                    "looks like a number that a spreadsheet wrote (1.23E+11, 12.0), in which digits may be lost: \
                       export the column as text"
                )
            }
            Look::Invisible => {
                text!(
                    "holds characters that cannot be seen (U+200B, U+FEFF, U+00AD) and make another key of it: remove them"
                )
            }
            Look::Hashed => {
                text!(
                    "looks like a SHA-256 digest: give the column the rule `sha256` on both sides, \
                       or the values before they were hashed"
                )
            }
        }
    }
}

/// How many keys of a column have each look.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Hints {
    counts: [u64; Look::ALL.len()],
}

impl Hints {
    /// Takes the look of a key's value.
    #[inline]
    pub(crate) fn add(&mut self, look: Option<Look>) {
        if let Some(look) = look {
            self.counts[look as usize] += 1;
        }
    }

    /// The looks that keys have, and how many keys have each.
    pub fn iter(&self) -> impl Iterator<Item = (Look, u64)> {
        Look::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0)
    }
}

impl AddAssign for Hints {
    fn add_assign(&mut self, other: Hints) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
    }
}

/// The look of a valid value as the table has it, before its rule; none of nearly all. The first byte, the last one and the length tell which look it may have.
#[inline]
pub(crate) fn look(rule: Rule, value: &[u8]) -> Option<Look> {
    if !value.is_ascii() {
        // `name` and `phone` remove such characters.
        let counts = matches!(rule, Rule::Raw | Rule::Text);
        return (counts && invisible::any(value)).then_some(Look::Invisible);
    }
    let value = value.trim_ascii();
    let (first, last) = (*value.first()?, *value.last()?);
    match value.len() {
        1..=4 if matches!(first, b'n' | b'N' | b'#' | b'-' | b'\\' | b'<') => {
            is_written_null(value).then_some(Look::WrittenNull)
        }
        64 if rule != Rule::Sha256 && value.iter().all(u8::is_ascii_hexdigit) => Some(Look::Hashed),
        3.. if last.is_ascii_digit() && (first.is_ascii_digit() || matches!(first, b'-' | b'+')) => {
            is_rounded(value).then_some(Look::Rounded)
        }
        _ => None,
    }
}

fn is_written_null(value: &[u8]) -> bool {
    const NULLS: [&[u8]; 9] = [b"null", b"\\n", b"nan", b"none", b"n/a", b"#n/a", b"nil", b"-", b"<na>"];
    NULLS.iter().any(|null| value.eq_ignore_ascii_case(null))
}

/// Whether a number has an exponent, or nothing but zeros behind its point.
fn is_rounded(value: &[u8]) -> bool {
    let number = value.strip_prefix(b"-").or(value.strip_prefix(b"+")).unwrap_or(value);
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let decimal = |part: &[u8]| match split(part, b'.') {
        Some((whole, rest)) => digits(whole) && digits(rest),
        None => digits(part),
    };
    match split(number, b'E').or(split(number, b'e')) {
        Some((mantissa, [b'+' | b'-', exponent @ ..])) => decimal(mantissa) && digits(exponent),
        Some(_) => false,
        None => match split(number, b'.') {
            Some((whole, rest)) => digits(whole) && rest.iter().all(|digit| *digit == b'0'),
            None => false,
        },
    }
}

/// What is before the first such byte, and what is behind it.
fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_nobody_means_are_counted() {
        for (value, expected) in [
            ("NULL", Some(Look::WrittenNull)),
            ("null", Some(Look::WrittenNull)),
            (" NaN ", Some(Look::WrittenNull)),
            ("\\N", Some(Look::WrittenNull)),
            ("None", Some(Look::WrittenNull)),
            ("N/A", Some(Look::WrittenNull)),
            ("n/a", Some(Look::WrittenNull)),
            ("#N/A", Some(Look::WrittenNull)),
            ("nil", Some(Look::WrittenNull)),
            ("-", Some(Look::WrittenNull)),
            ("<NA>", Some(Look::WrittenNull)),
            ("NA", None),
            ("Nancy", None),
            ("Nina", None),
            ("-1", None),
            ("--", None),
            ("1.23457E+11", Some(Look::Rounded)),
            ("9.06e+17", Some(Look::Rounded)),
            ("-1E-5", Some(Look::Rounded)),
            ("12345.0", Some(Look::Rounded)),
            ("-7.000", Some(Look::Rounded)),
            ("12345", None),
            ("12345.5", None),
            ("12E4", None),
            ("1.2.0", None),
            ("192.0.2.0", None),
            ("2026-11-21", None),
            ("+41446681800", None),
            ("1.E+3", None),
            (".0", None),
            ("a\u{200b}", Some(Look::Invisible)),
            ("\u{feff}a", Some(Look::Invisible)),
            ("c\u{ad}c", Some(Look::Invisible)),
            ("zürich", None),
            ("", None),
            ("   ", None),
        ] {
            for rule in [Rule::Raw, Rule::Text] {
                assert_eq!(look(rule, value.as_bytes()), expected, "{rule} {value:?}");
            }
        }
        let digest = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
        assert_eq!(look(Rule::Raw, digest.as_bytes()), Some(Look::Hashed));
        assert_eq!(look(Rule::Text, digest.to_uppercase().as_bytes()), Some(Look::Hashed));
        assert_eq!(look(Rule::Sha256, digest.as_bytes()), None);
        assert_eq!(look(Rule::Raw, &digest.as_bytes()[1..]), None);
        assert_eq!(look(Rule::Name, "a\u{200b}".as_bytes()), None);
        assert_eq!(look(Rule::Raw, b"\xff\xe2\x80\x8b"), None);
    }

    #[test]
    fn counts_are_kept_by_look_and_added() {
        let mut hints = Hints::default();
        assert_eq!(hints.iter().count(), 0);
        for value in ["nil", "a", "nil", "1.0"] {
            hints.add(look(Rule::Raw, value.as_bytes()));
        }
        hints += hints;
        let found: Vec<_> = hints.iter().collect();
        assert_eq!(found, [(Look::WrittenNull, 4), (Look::Rounded, 2)]);
        assert!(Look::ALL.iter().enumerate().all(|(at, look)| *look as usize == at));
    }
}
