//! Values with several notations, of which one is canonical: integers, addresses, postal codes, UUIDs, digests.
//!
//! Each rule but `postcode`, which removes all white space, first removes spaces and tabs at both ends.

use std::net::IpAddr;

use base64::engine::Engine;
use base64::engine::general_purpose::{STANDARD_PAD_INDIFFERENT, URL_SAFE_PAD_INDIFFERENT};

use super::invalid::Invalid;
use super::utf8;

const MAX_DIGITS: usize = 64;

pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    let inside = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let Some(first) = bytes.iter().position(inside) else { return &[] };
    &bytes[first..=bytes.iter().rposition(inside).unwrap_or(first)]
}

pub(super) fn int(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let (negative, digits) = match trim(bytes) {
        [] => return Ok(()),
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

pub(super) fn ip(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let bytes = trim(bytes);
    if bytes.is_empty() {
        return Ok(());
    }
    // The standard library accepts the rule's notation: no leading zeros in decimals, no ports, zones or
    // prefixes.
    let address: Option<IpAddr> = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    let address = address.ok_or(Invalid::NotAnAddress)?.to_canonical();
    out.extend_from_slice(address.to_string().as_bytes());
    Ok(())
}

/// Lengths of postal codes, in letters and digits.
const POSTCODE: std::ops::RangeInclusive<usize> = 2..=10;
/// Digits of a code of the United States with its extension, and those that stay.
const ZIP: (usize, usize) = (9, 5);

pub(super) fn postcode(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    for c in utf8(bytes)?.chars() {
        match u8::try_from(c) {
            Ok(byte) if byte.is_ascii_alphanumeric() => out.push(byte.to_ascii_uppercase()),
            _ if c.is_whitespace() || is_hyphen(c) => {}
            _ => return Err(Invalid::NotAPostcode),
        }
    }
    let code = &out[start..];
    if code.len() == ZIP.0 && code.iter().all(u8::is_ascii_digit) {
        out.truncate(start + ZIP.1);
    }
    let length = out.len() - start;
    if length == 0 || POSTCODE.contains(&length) { Ok(()) } else { Err(Invalid::NotAPostcode) }
}

/// A hyphen, a dash or a minus sign.
pub(super) fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

pub(super) fn uuid(bytes: &[u8], binary: bool, out: &mut Vec<u8>) -> Result<(), Invalid> {
    // No notation has so few characters.
    let raw = match <[u8; 16]>::try_from(bytes) {
        Ok(raw) if binary => raw,
        _ => match trim(bytes) {
            [] => return Ok(()),
            text => uuid_digits(text).and_then(|digits| hex(&digits)).ok_or(Invalid::NotAUuid)?,
        },
    };
    write_uuid(&raw, out);
    Ok(())
}

/// The digits of a UUID, without what is around them.
fn uuid_digits(text: &[u8]) -> Option<[u8; 32]> {
    const URN: &[u8] = b"urn:uuid:";
    let grouped = match text {
        [b'{', inside @ .., b'}'] => inside,
        _ => match text.split_at_checked(URN.len()) {
            Some((urn, rest)) if urn.eq_ignore_ascii_case(URN) => rest,
            _ if text.len() == 32 => return text.try_into().ok(),
            _ => text,
        },
    };
    let hyphens = [8, 13, 18, 23];
    if grouped.len() != 36 || hyphens.iter().any(|at| grouped[*at] != b'-') {
        return None;
    }
    let mut digits = [0; 32];
    let rest = (0..36).filter(|at| !hyphens.contains(at));
    digits.iter_mut().zip(rest).for_each(|(digit, at)| *digit = grouped[at]);
    Some(digits)
}

/// Appends the text of a UUID (RFC 9562, section 4).
pub(crate) fn write_uuid(raw: &[u8; 16], out: &mut Vec<u8>) {
    for (at, byte) in raw.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend([byte >> 4, byte & 15].map(|nibble| b"0123456789abcdef"[usize::from(nibble)]));
    }
}

pub(super) fn sha256(bytes: &[u8], binary: bool, out: &mut Vec<u8>) -> Result<(), Invalid> {
    // Thirty-two digits in a binary column are text: MD5, for instance.
    if binary && bytes.len() == 32 && !bytes.iter().all(u8::is_ascii_hexdigit) {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    let bytes = trim(bytes);
    let digest = match bytes.len() {
        0 => return Ok(()),
        64 => hex(bytes),
        43 | 44 => base64(bytes),
        _ => None,
    };
    match digest {
        Some::<[u8; 32]>(digest) => out.extend_from_slice(&digest),
        None if is_base64_of_hex(bytes) => return Err(Invalid::Base64OfHex),
        None => return Err(Invalid::NotADigest),
    }
    Ok(())
}

/// The digest that base64 in the standard or the URL-safe alphabet stands for.
fn base64(text: &[u8]) -> Option<[u8; 32]> {
    // Room for the decoder's estimate.
    let mut room = [0; 48];
    let url = text.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let engine = if url { &URL_SAFE_PAD_INDIFFERENT } else { &STANDARD_PAD_INDIFFERENT };
    let length = engine.decode_slice(text, &mut room).ok()?;
    room.get(..length)?.try_into().ok()
}

/// Whether a digest went to text twice: first to hexadecimal digits, then these to base64.
fn is_base64_of_hex(bytes: &[u8]) -> bool {
    let mut digits = [0; 72];
    let decoded = match bytes.len() {
        86..=88 => STANDARD_PAD_INDIFFERENT.decode_slice(bytes, &mut digits),
        _ => return false,
    };
    decoded == Ok(64) && digits[..64].iter().all(u8::is_ascii_hexdigit)
}

/// The bytes of twice as many hexadecimal digits.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = digits.as_chunks();
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    (pairs.len() == N && rest.is_empty()).then_some(bytes)
}
