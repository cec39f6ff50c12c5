//! E-mail addresses: one way of lowering and checking them for each rule in use.

use icu_casemap::CaseMapper;

use super::{NFC, ascii_lower, composed, utf8};
use crate::error::Invalid;

const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 255;
const GMAIL: &[u8] = b"gmail.com";

pub(super) fn email(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
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
