//! Key rules: how a value is made canonical before it is hashed.
//!
//! Both parties must apply the same rules, so a rule's name and its definition are part of the agreement. A
//! rule that yields other results needs a new name. The definitions below are also in
//! `docs/key-rule-definitions.md`.

use std::borrow::Cow;
use std::fmt;

use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizerBorrowed;

use self::invalid::Invalid;

mod email;
mod form;
pub(crate) mod invalid;
mod phone;
pub(crate) mod short_keys;

pub use phone::Country;

/// A value as text, the same from every format: integers in decimal, booleans `true`/`false`, dates in ISO
/// form, text and binary as their bytes. Rules apply to this form.
#[derive(Clone)]
pub enum Value<'a> {
    /// No value: a null, or an empty CSV field, quoted or not.
    Null,
    /// The bytes of the text form.
    Text(Cow<'a, [u8]>),
    /// Bytes that are not valid in the file's encoding. They are invalid under every rule.
    Undecoded,
}

impl Value<'_> {
    /// The bytes; empty for a null and for undecoded bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Value::Null | Value::Undecoded => &[],
            Value::Text(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Value::Null => "Null",
            Value::Text(_) => "Text(..)",
            Value::Undecoded => "Undecoded",
        })
    }
}

/// Whether a rule left anything of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The rule appended the canonical bytes, at least one.
    Present,
    /// The value was null, or nothing was left of it.
    Null,
}

/// How a key column's values are made comparable.
///
/// White space is Unicode's property `White_Space`, control characters are the general category `Cc`, NFC is
/// Unicode's canonical composition. An empty result is null.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// `raw`: the bytes as they are. Nothing is trimmed or decoded; every value is valid.
    Raw,
    /// `text`: must be UTF-8. NFC, then white space at both ends removed, then Unicode full case folding
    /// (without the Turkic mappings), then NFC again. White space inside stays.
    Text,
    /// `email`: must be UTF-8. NFC, then white space at both ends removed, then each character's simple
    /// lower-case mapping, then NFC again. Valid if there is exactly one `@`, 1 to 64 bytes before it and 1
    /// to 255 after it, and neither white space nor control characters. Dots and `+` stay.
    Email,
    /// `email-uid2`: must be UTF-8. White space at both ends removed, then ASCII letters in lower case. Valid
    /// as under `email`. If what follows the `@` is `gmail.com`, then from what precedes it the first `+` and
    /// all after it are removed, then every dot; at least one byte must be left. No NFC; letters outside
    /// ASCII keep their case.
    EmailUid2,
    /// `email-meta`: must be UTF-8. White space at both ends removed, then each character's simple lower-case
    /// mapping. Valid as under `email`. No NFC; dots and `+` stay.
    EmailMeta,
    /// `phone`: must be UTF-8. White space at both ends removed; then an optional `+`, digits, and between
    /// them white space, hyphens, dots, slashes and parentheses, which are removed. Written in E.164 by the
    /// numbering plans of this version (`docs/key-rule-definitions.md`). `phone:CH` also takes numbers
    /// without a calling code, as Swiss ones.
    Phone(Option<Country>),
    /// `ip`: spaces and tabs at both ends removed, then an IPv4 address as four decimal numbers without
    /// leading zeros, or an IPv6 address in any form of RFC 4291, section 2.2. Written in dotted decimal and
    /// as in RFC 5952, section 4; an IPv4-mapped IPv6 address (`::ffff:0:0/96`) is written as the IPv4
    /// address. Ports, brackets, zones and prefix lengths are invalid.
    Ip,
    /// `date`: spaces and tabs at both ends removed, then a calendar date of ISO 8601, extended
    /// (`YYYY-MM-DD`) or basic (`YYYYMMDD`), in ASCII digits, that the Gregorian calendar has, years 0001 to
    /// 9999. Written in extended form.
    Date,
    /// `int`: spaces and tabs at both ends removed, then an optional `+` or `-` and ASCII digits, nothing
    /// else. Written without `+` and leading zeros, at most 64 digits then; minus zero is `0`.
    Int,
    /// `sha256`: spaces and tabs at both ends removed, then 64 hexadecimal digits of either case, or base64
    /// of 32 bytes in the standard or the URL-safe alphabet: 44 characters with padding, or 43 without. The
    /// canonical bytes are those 32 bytes.
    Sha256,
}

/// The meaning of the word after the colon of a key specification.
pub(crate) enum Word {
    Rule(Rule),
    /// `phone:` and an unknown country.
    NoCountry,
    Unknown,
}

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();

impl Rule {
    /// All rules of this version; `phone` may also have a country.
    pub const ALL: [Rule; 10] = [
        Rule::Raw,
        Rule::Text,
        Rule::Email,
        Rule::EmailUid2,
        Rule::EmailMeta,
        Rule::Phone(None),
        Rule::Ip,
        Rule::Date,
        Rule::Int,
        Rule::Sha256,
    ];

    /// The name, without a country.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Raw => "raw",
            Rule::Text => "text",
            Rule::Email => "email",
            Rule::EmailUid2 => "email-uid2",
            Rule::EmailMeta => "email-meta",
            Rule::Phone(_) => "phone",
            Rule::Ip => "ip",
            Rule::Date => "date",
            Rule::Int => "int",
            Rule::Sha256 => "sha256",
        }
    }

    pub(crate) fn word(word: &str) -> Word {
        if let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.name() == word) {
            return Word::Rule(rule);
        }
        match word.strip_prefix("phone:") {
            Some(code) => Country::find(code).map_or(Word::NoCountry, |c| Word::Rule(Rule::Phone(Some(c)))),
            None => Word::Unknown,
        }
    }

    /// The name that both parties must agree on. It does not include the country of telephone numbers, which
    /// only says how to read one table.
    pub fn agreed(self) -> String {
        match self {
            Rule::Phone(_) => phone::agreed(),
            rule => rule.name().to_owned(),
        }
    }

    /// Appends the canonical bytes of `value` to `out`.
    ///
    /// If the value is invalid, the caller must discard the appended bytes.
    pub fn apply(self, value: Value<'_>, out: &mut Vec<u8>) -> Result<Part, Invalid> {
        let bytes = match value {
            Value::Null => return Ok(Part::Null),
            Value::Text(bytes) => bytes,
            Value::Undecoded => return Err(Invalid::NotInEncoding),
        };
        let start = out.len();
        match self {
            Rule::Raw => out.extend_from_slice(&bytes),
            Rule::Text => text(&bytes, out)?,
            Rule::Email => email::email(&bytes, out)?,
            Rule::EmailUid2 => email::uid2(&bytes, out)?,
            Rule::EmailMeta => email::meta(&bytes, out)?,
            Rule::Phone(country) => phone::phone(country, &bytes, out)?,
            Rule::Ip => form::ip(&bytes, out)?,
            Rule::Date => form::date(&bytes, out)?,
            Rule::Int => form::int(&bytes, out)?,
            Rule::Sha256 => form::sha256(&bytes, out)?,
        }
        Ok(if out.len() == start { Part::Null } else { Part::Present })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Phone(Some(country)) => write!(f, "phone:{}", country.code()),
            rule => f.write_str(rule.name()),
        }
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

/// Case folding, lower case and NFC all agree on ASCII.
fn ascii_lower(bytes: &[u8], out: &mut Vec<u8>) {
    // The ASCII part of `White_Space`, which includes the vertical tab, unlike `u8::is_ascii_whitespace`.
    let inside = |byte: &u8| !matches!(byte, b'\t'..=b'\r' | b' ');
    let Some(first) = bytes.iter().position(inside) else { return };
    let last = bytes.iter().rposition(inside).unwrap_or(first);
    let start = out.len();
    out.extend_from_slice(&bytes[first..=last]);
    out[start..].make_ascii_lowercase();
}

fn composed(bytes: &[u8]) -> Result<Cow<'_, str>, Invalid> {
    Ok(NFC.normalize(utf8(bytes)?))
}

fn utf8(bytes: &[u8]) -> Result<&str, Invalid> {
    std::str::from_utf8(bytes).map_err(|_| Invalid::NotUtf8)
}

#[cfg(test)]
mod tests;
