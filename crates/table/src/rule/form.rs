//! Values with several notations, of which one is canonical: integers, addresses, dates, digests.
//!
//! Each rule first removes spaces and tabs at both ends.

use std::net::IpAddr;

use base64::engine::Engine;
use base64::engine::general_purpose::{STANDARD_PAD_INDIFFERENT, URL_SAFE_PAD_INDIFFERENT};

use super::invalid::Invalid;

const MAX_DIGITS: usize = 64;

fn trim(bytes: &[u8]) -> &[u8] {
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

pub(super) fn date(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let ([y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] | [y0, y1, y2, y3, m0, m1, d0, d1]) = trim(bytes)
    else {
        return match trim(bytes) {
            [] => Ok(()),
            [y, _, _, _, b'-', _, _, b'-', _, _, b'T' | b't' | b' ', h, ..]
                if y.is_ascii_digit() && h.is_ascii_digit() =>
            {
                Err(Invalid::DateWithTime)
            }
            _ => Err(Invalid::NotADate),
        };
    };
    let (year, month, day) = ([*y0, *y1, *y2, *y3], [*m0, *m1], [*d0, *d1]);
    let number = |digits: &[u8]| {
        let all = digits.iter().all(u8::is_ascii_digit);
        all.then(|| digits.iter().fold(0u32, |number, digit| number * 10 + u32::from(digit - b'0')))
    };
    let (Some(y), Some(m), Some(d)) = (number(&year), number(&month), number(&day)) else {
        return Err(Invalid::NotADate);
    };
    if y == 0 || d == 0 || d > days(y, m) {
        return Err(Invalid::NotADate);
    }
    out.extend_from_slice(&[&year[..], b"-", &month, b"-", &day].concat());
    Ok(())
}

/// Days of a month in the Gregorian calendar, which ISO 8601 extends to all years; none in a month that is
/// not.
fn days(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 0,
    }
}

pub(super) fn sha256(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let bytes = trim(bytes);
    let url = bytes.iter().any(|byte| matches!(byte, b'-' | b'_'));
    // Room for the decoder's estimate; the result must be exactly one digest.
    let mut digest = [0; 48];
    let decoded = match (bytes.len(), url) {
        (0, _) => return Ok(()),
        (64, _) => hex(bytes, &mut digest),
        (43 | 44, false) => STANDARD_PAD_INDIFFERENT.decode_slice(bytes, &mut digest).ok(),
        (43 | 44, true) => URL_SAFE_PAD_INDIFFERENT.decode_slice(bytes, &mut digest).ok(),
        _ => None,
    };
    if decoded != Some(32) {
        return Err(Invalid::NotADigest);
    }
    out.extend_from_slice(&digest[..32]);
    Ok(())
}

fn hex(digits: &[u8], into: &mut [u8]) -> Option<usize> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let (pairs, _) = digits.as_chunks();
    for (byte, [high, low]) in into.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(pairs.len())
}
