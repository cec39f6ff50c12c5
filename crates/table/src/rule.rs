//! Key rules: how a value is made canonical before it is hashed.
//!
//! Both parties must apply the same rules, so a rule's name and its definition are part of the agreement. A
//! rule that yields other results needs a new name. The definitions below are also in
//! `docs/key-rule-definitions.md` and `docs/contact-rule-definitions.md`.

use std::borrow::Cow;
use std::fmt;

use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizerBorrowed;

use self::invalid::Invalid;

mod date;
mod email;
mod form;
pub(crate) mod invalid;
pub(crate) mod invisible;
mod name;
mod phone;
pub(crate) mod short_keys;

pub use date::DateOrder;
pub(crate) use form::write_uuid;
pub use phone::Country;

/// A value as text, the same from every format: integers in decimal, booleans `true`/`false`, dates in ISO
/// form, UUIDs in hexadecimal, text and binary as their bytes. Rules apply to this form.
#[derive(Clone)]
pub enum Value<'a> {
    /// No value: a null, or an empty CSV field, quoted or not.
    Null,
    /// The bytes of the text form.
    Text(Cow<'a, [u8]>),
    /// The bytes of a binary column. They are text, too, except where `sha256` and `uuid` find their raw bytes.
    Binary(Cow<'a, [u8]>),
    /// Bytes that are not valid in the file's encoding. They are invalid under every rule.
    Undecoded,
}

impl Value<'_> {
    /// The bytes; empty for a null and for undecoded bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Value::Null | Value::Undecoded => &[],
            Value::Text(bytes) | Value::Binary(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Value::Null => "Null",
            Value::Text(_) => "Text(..)",
            Value::Binary(_) => "Binary(..)",
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
/// Unicode's canonical composition, and invisible characters are the general category `Cf` and the property
/// `Default_Ignorable_Code_Point`. An empty result is null. A value with an invisible character is invalid
/// under all rules but `raw` and `text`, which keep it, and `name` and `phone`, which remove it.
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
    /// `email-google`: must be UTF-8. White space at both ends removed, then Unicode's full lower case. Valid as
    /// under `email`. If what follows the `@` is `gmail.com` or `googlemail.com`, then from what precedes it the
    /// first `+` and all after it are removed, then every dot; at least one byte must be left. No NFC.
    EmailGoogle,
    /// `phone`: must be UTF-8. Invisible characters, then white space at both ends removed; then an optional `+`,
    /// digits, and between them white space, hyphens, dots, slashes and parentheses, which are removed. Written in
    /// E.164 by the numbering plans of this version (`docs/contact-rule-definitions.md`). `phone:CH` also takes numbers
    /// without a calling code, as Swiss ones.
    Phone(Option<Country>),
    /// `name`: must be UTF-8. The letters and digits of a person's name without accents and case, and without a
    /// title in front (`docs/key-rule-definitions.md`).
    Name,
    /// `postcode`: must be UTF-8. White space and hyphens removed, then 2 to 10 ASCII letters and digits, written in
    /// upper case. Of nine digits only the first five stay.
    Postcode,
    /// `ip`: spaces and tabs at both ends removed, then an IPv4 address as four decimal numbers without
    /// leading zeros, or an IPv6 address in any form of RFC 4291, section 2.2. Written in dotted decimal and
    /// as in RFC 5952, section 4; an IPv4-mapped IPv6 address (`::ffff:0:0/96`) is written as the IPv4
    /// address. Ports, brackets, zones and prefix lengths are invalid.
    Ip,
    /// `date`: spaces and tabs at both ends removed, then a calendar date of ISO 8601, extended
    /// (`YYYY-MM-DD`) or basic (`YYYYMMDD`), in ASCII digits, that the Gregorian calendar has, years 0001 to
    /// 9999. Written in extended form. `date:DMY`, `date:MDY` and `date:YMD` also take numbers in that order,
    /// with two dots, hyphens or slashes between them, the day and the month of one or two digits.
    Date(Option<DateOrder>),
    /// As `date`, and then that many days later. A part of `date~N`; a day outside of the years 0001 to 9999 is null.
    DateMoved(Option<DateOrder>, i8),
    /// As `email-google`, and the result as under `email`; null where that is invalid. A part of `email~google`.
    EmailOfGoogle,
    /// `int`: spaces and tabs at both ends removed, then an optional `+` or `-` and ASCII digits, nothing
    /// else. Written without `+` and leading zeros, at most 64 digits then; minus zero is `0`.
    Int,
    /// `uuid`: spaces and tabs at both ends removed, then 32 hexadecimal digits of either case, alone or in groups of
    /// 8, 4, 4, 4 and 12 with hyphens between them, these also in braces or behind `urn:uuid:`; or 16 bytes of a
    /// binary column. Written in lower case, with hyphens.
    Uuid,
    /// `sha256`: spaces and tabs at both ends removed, then 64 hexadecimal digits of either case, or base64
    /// of 32 bytes in the standard or the URL-safe alphabet: 44 characters with padding, or 43 without; or 32 bytes
    /// of a binary column that are not all hexadecimal digits. The canonical bytes are those 32 bytes.
    Sha256,
}

/// The meaning of the word after the colon of a key specification.
pub(crate) enum Word {
    Rule(Rule),
    /// `phone:` and an unknown country.
    NoCountry,
    /// `date:` and an unknown order.
    NoOrder,
    Unknown,
}

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();

impl Rule {
    /// All rules of this version; `phone` may also have a country, and `date` an order.
    pub const ALL: [Rule; 14] = [
        Rule::Raw,
        Rule::Text,
        Rule::Email,
        Rule::EmailUid2,
        Rule::EmailMeta,
        Rule::EmailGoogle,
        Rule::Phone(None),
        Rule::Name,
        Rule::Postcode,
        Rule::Ip,
        Rule::Date(None),
        Rule::Int,
        Rule::Uuid,
        Rule::Sha256,
    ];

    /// The name, without a country or an order.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Raw => "raw",
            Rule::Text => "text",
            Rule::Email | Rule::EmailOfGoogle => "email",
            Rule::EmailUid2 => "email-uid2",
            Rule::EmailMeta => "email-meta",
            Rule::EmailGoogle => "email-google",
            Rule::Phone(_) => "phone",
            Rule::Name => "name",
            Rule::Postcode => "postcode",
            Rule::Ip => "ip",
            Rule::Date(_) | Rule::DateMoved(..) => "date",
            Rule::Int => "int",
            Rule::Uuid => "uuid",
            Rule::Sha256 => "sha256",
        }
    }

    pub(crate) fn word(word: &str) -> Word {
        if let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.name() == word) {
            return Word::Rule(rule);
        }
        match word.split_once(':') {
            Some(("phone", code)) => {
                Country::find(code).map_or(Word::NoCountry, |c| Word::Rule(Rule::Phone(Some(c))))
            }
            Some(("date", order)) => {
                DateOrder::find(order).map_or(Word::NoOrder, |order| Word::Rule(Rule::Date(Some(order))))
            }
            _ => Word::Unknown,
        }
    }

    /// The name that both parties must agree on. It has the version of a definition that others may change, or that
    /// is likely to change. It does not include the country of telephone numbers and the order of dates, which only
    /// say how to read one table.
    pub fn agreed(self) -> String {
        match self {
            Rule::EmailGoogle => format!("{} ({})", self.name(), email::GOOGLE_VERSION),
            Rule::Name => format!("{} ({})", self.name(), name::VERSION),
            Rule::Phone(_) => phone::agreed(),
            rule => rule.name().to_owned(),
        }
    }

    /// Appends the canonical bytes of `value` to `out`.
    ///
    /// If the value is invalid, the caller must discard the appended bytes.
    pub fn apply(self, value: Value<'_>, out: &mut Vec<u8>) -> Result<Part, Invalid> {
        let (bytes, binary) = match value {
            Value::Null => return Ok(Part::Null),
            Value::Text(bytes) => (bytes, false),
            Value::Binary(bytes) => (bytes, true),
            Value::Undecoded => return Err(Invalid::NotInEncoding),
        };
        let start = out.len();
        let applied = match self {
            Rule::Raw => {
                out.extend_from_slice(&bytes);
                Ok(())
            }
            Rule::Text => text(&bytes, out),
            Rule::Email => email::email(&bytes, out),
            Rule::EmailUid2 => email::uid2(&bytes, out),
            Rule::EmailMeta => email::meta(&bytes, out),
            Rule::EmailGoogle => email::google(&bytes, out),
            Rule::Phone(country) => phone::phone(country, &bytes, out),
            Rule::Name => name::name(&bytes, out),
            Rule::Postcode => form::postcode(&bytes, out),
            Rule::Ip => form::ip(&bytes, out),
            Rule::Date(order) => date::date(order, 0, &bytes, out),
            Rule::DateMoved(order, days) => date::date(order, days, &bytes, out),
            Rule::EmailOfGoogle => email::of_google(&bytes, out),
            Rule::Int => form::int(&bytes, out),
            Rule::Uuid => form::uuid(&bytes, binary, out),
            Rule::Sha256 => form::sha256(&bytes, binary, out),
        };
        // Whoever looks at the value sees no reason, if it is in what cannot be seen.
        applied.map_err(|reason| if invisible::any(&bytes) { Invalid::Invisible } else { reason })?;
        Ok(if out.len() == start { Part::Null } else { Part::Present })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Phone(Some(country)) => write!(f, "phone:{}", country.code()),
            Rule::Date(Some(order)) => write!(f, "date:{}", order.name()),
            Rule::DateMoved(order, days) => write!(f, "{}~{days:+}", Rule::Date(*order)),
            Rule::EmailOfGoogle => f.write_str("email~google"),
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
