//! E-mail addresses: one way of lowering and checking them for each rule in use.

use icu_casemap::CaseMapper;

use super::{NFC, ascii_lower, composed, utf8};
use crate::error::Invalid;

const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 255;
const GMAIL: &[u8] = b"gmail.com";

pub(super) fn email(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    if common(bytes, out) {
        return Ok(());
    }
    let start = out.len();
    if bytes.is_ascii() {
        ascii_lower(bytes, out);
    } else {
        let lower = simple_lower(composed(bytes)?.trim());
        out.extend_from_slice(NFC.normalize(&lower).as_bytes());
    }
    check(&out[start..])?;
    Ok(())
}

pub(super) fn meta(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    if common(bytes, out) {
        return Ok(());
    }
    let start = out.len();
    if bytes.is_ascii() {
        ascii_lower(bytes, out);
    } else {
        out.extend_from_slice(simple_lower(utf8(bytes)?.trim()).as_bytes());
    }
    check(&out[start..])?;
    Ok(())
}

pub(super) fn uid2(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    out.extend_from_slice(utf8(bytes)?.trim().as_bytes());
    out[start..].make_ascii_lowercase();
    let Some(at) = check(&out[start..])? else { return Ok(()) };
    if &out[start + at + 1..] != GMAIL {
        return Ok(());
    }
    let mailbox: Vec<u8> = out[start..start + at]
        .iter()
        .copied()
        .take_while(|byte| *byte != b'+')
        .filter(|byte| *byte != b'.')
        .collect();
    if mailbox.is_empty() {
        return Err(Invalid::NoLocalOrDomain);
    }
    out.splice(start..start + at, mailbox);
    Ok(())
}

/// Does what `email` and `meta` do for nearly all addresses, those of visible ASCII characters, without a branch for each.
/// Leaves `out` as it was and gives false for all others, valid or not.
fn common(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    const LONGEST: usize = MAX_LOCAL + 1 + MAX_DOMAIN;
    let bytes = bytes.trim_ascii();
    // Shorter than what the count of `@` can take.
    if bytes.len() > LONGEST {
        return false;
    }
    let start = out.len();
    out.extend_from_slice(bytes);
    let (mut invisible, mut ats) = (0u8, 0u16);
    for byte in &mut out[start..] {
        *byte = byte.to_ascii_lowercase();
        invisible |= u8::from(!byte.is_ascii_graphic());
        ats += u16::from(*byte == b'@');
    }
    let local = memchr::memchr(b'@', bytes).unwrap_or(0);
    let valid = invisible == 0 && ats == 1 && (1..=MAX_LOCAL).contains(&local);
    if valid && (1..=MAX_DOMAIN).contains(&(bytes.len() - local - 1)) {
        return true;
    }
    out.truncate(start);
    false
}

fn simple_lower(text: &str) -> String {
    let mapper = CaseMapper::new();
    text.chars().map(|c| mapper.simple_lowercase(c)).collect()
}

/// Where the `@` of a valid address is; nothing if there is no address.
fn check(email: &[u8]) -> Result<Option<usize>, Invalid> {
    if email.is_empty() {
        return Ok(None);
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
        utf8(email)?.chars().any(outside)
    };
    if bad { Err(Invalid::BlankInside) } else { Ok(Some(local)) }
}
