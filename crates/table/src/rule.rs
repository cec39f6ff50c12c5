//! Key rules: what a value becomes before it is hashed.
//!
//! Both parties must apply the same rules, so a rule's name and its definition are part of the agreement: a change
//! to what a rule yields is a new name. The definitions below are also in `docs/key-rules.md`.

use std::borrow::Cow;
use std::fmt;

use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizerBorrowed;

use crate::error::Invalid;

/// A value in the text form that every format is brought to before its rule: integers in decimal, booleans
/// `true`/`false`, dates in ISO form, text and binary as their bytes.
#[derive(Clone)]
pub enum Value<'a> {
    /// No value: a null, or an empty CSV field, quoted or not.
    Null,
    /// The bytes of the text form.
    Text(Cow<'a, [u8]>),
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Value::Null => "Null",
            Value::Text(_) => "Text(..)",
        })
    }
}

/// Whether a value is still there after its rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The rule appended the canonical bytes, at least one.
    Present,
    /// The value was null, or nothing was left of it.
    Null,
}

/// How a key column's values are made comparable.
///
/// White space is Unicode's property `White_Space`, control characters are the general category `Cc`, NFC is Unicode's
/// canonical composition. An empty result is null.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// `raw`: the bytes as they are. Nothing is trimmed or decoded; every value is valid.
    Raw,
    /// `text`: must be UTF-8. NFC, then white space at both ends removed, then Unicode full case folding (without the
    /// Turkic mappings), then NFC again. White space inside stays.
    Text,
    /// `email`: must be UTF-8. NFC, then white space at both ends removed, then each character's simple lower-case
    /// mapping, then NFC again. Valid if there is exactly one `@`, 1 to 64 bytes before it and 1 to 255 after it, and
    /// neither white space nor control characters. Dots and `+` stay.
    Email,
    /// `int`: spaces and tabs at both ends removed, then an optional `+` or `-` and ASCII digits, nothing else.
    /// Written without `+` and leading zeros, at most 64 digits then; minus zero is `0`.
    Int,
}

/// What a word after the colon of a key specification is.
pub(crate) enum Word {
    Rule(Rule),
    /// Agreed upon as a name, but this version cannot apply it.
    Later,
    Unknown,
}

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();
const LATER: [&str; 6] = ["email-uid2", "email-meta", "phone", "ip", "date", "sha256"];
const MAX_DIGITS: usize = 64;
const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 255;

impl Rule {
    /// All rules of this version.
    pub const ALL: [Rule; 4] = [Rule::Raw, Rule::Text, Rule::Email, Rule::Int];

    /// The agreed name.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Raw => "raw",
            Rule::Text => "text",
            Rule::Email => "email",
            Rule::Int => "int",
        }
    }

    pub(crate) fn word(word: &str) -> Word {
        if let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.name() == word) {
            return Word::Rule(rule);
        }
        let phone_country = word.strip_prefix("phone:").map(str::as_bytes);
        let country = phone_country.is_some_and(|c| c.len() == 2 && c.iter().all(u8::is_ascii_uppercase));
        if country || LATER.contains(&word) { Word::Later } else { Word::Unknown }
    }

    /// Appends the canonical bytes of `value` to `out`.
    ///
    /// If the value is invalid, what was appended is to be thrown away.
    pub fn apply(self, value: Value<'_>, out: &mut Vec<u8>) -> Result<Part, Invalid> {
        let Value::Text(bytes) = value else { return Ok(Part::Null) };
        let start = out.len();
        match self {
            Rule::Raw => out.extend_from_slice(&bytes),
            Rule::Text => text(&bytes, out)?,
            Rule::Email => email(&bytes, out)?,
            Rule::Int => int(&bytes, out)?,
        }
        Ok(if out.len() == start { Part::Null } else { Part::Present })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    if bytes.is_ascii() {
        ascii_lower(bytes, out);
        return Ok(());
    }
    let composed = composed(bytes)?;
    let folded = CaseMapper::new().fold_string(composed.trim());
    out.extend_from_slice(NFC.normalize(&folded).as_bytes());
    Ok(())
}

fn email(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    if bytes.is_ascii() {
        ascii_lower(bytes, out);
    } else {
        let mapper = CaseMapper::new();
        let lower: String = composed(bytes)?.trim().chars().map(|c| mapper.simple_lowercase(c)).collect();
        out.extend_from_slice(NFC.normalize(&lower).as_bytes());
    }
    check_email(&out[start..])
}

/// Case folding, lower case and NFC all agree on ASCII.
fn ascii_lower(bytes: &[u8], out: &mut Vec<u8>) {
    // The ASCII part of `White_Space`; vertical tab is in it, which `u8::is_ascii_whitespace` leaves out.
    let inside = |byte: &u8| !matches!(byte, b'\t'..=b'\r' | b' ');
    let Some(first) = bytes.iter().position(inside) else { return };
    let last = bytes.iter().rposition(inside).unwrap_or(first);
    let start = out.len();
    out.extend_from_slice(&bytes[first..=last]);
    out[start..].make_ascii_lowercase();
}

fn composed(bytes: &[u8]) -> Result<Cow<'_, str>, Invalid> {
    let text = std::str::from_utf8(bytes).map_err(|_| Invalid::NotUtf8)?;
    Ok(NFC.normalize(text))
}

fn check_email(email: &[u8]) -> Result<(), Invalid> {
    if email.is_empty() {
        return Ok(());
    }
    let mut at = memchr::memchr_iter(b'@', email);
    let (Some(local), None) = (at.next(), at.next()) else { return Err(Invalid::NotOneAt) };
    let domain = email.len() - local - 1;
    if local == 0 || domain == 0 {
        return Err(Invalid::NoLocalOrDomain);
    }
    if local > MAX_LOCAL || domain > MAX_DOMAIN {
        return Err(Invalid::EmailTooLong);
    }
    let outside = |c: char| c.is_whitespace() || c.is_control();
    let bad = if email.is_ascii() {
        email.iter().any(|byte| !byte.is_ascii_graphic())
    } else {
        std::str::from_utf8(email).map_err(|_| Invalid::NotUtf8)?.chars().any(outside)
    };
    if bad { Err(Invalid::BlankInside) } else { Ok(()) }
}

fn int(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let Some(first) = bytes.iter().position(|byte| !blank(byte)) else { return Ok(()) };
    let last = bytes.iter().rposition(|byte| !blank(byte)).unwrap_or(first);
    let (negative, digits) = match &bytes[first..=last] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Invalid::NotAnInteger);
    }
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = &digits[zeros..];
    if digits.len() > MAX_DIGITS {
        return Err(Invalid::TooManyDigits);
    }
    if negative && !digits.is_empty() {
        out.push(b'-');
    }
    out.extend_from_slice(if digits.is_empty() { b"0" } else { digits });
    Ok(())
}

#[cfg(test)]
mod tests;
