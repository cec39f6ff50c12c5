//! E-mail addresses: how each rule lowers and checks them.

use icu_casemap::CaseMapper;
use icu_locale_core::LanguageIdentifier;

use super::invalid::Invalid;
use super::invisible::is_invisible;
use super::{NFC, ascii_lower, composed, utf8};

const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 255;
pub(super) const GMAIL: &[u8] = b"gmail.com";
pub(super) const GOOGLEMAIL: &[u8] = b"googlemail.com";

/// When Google's libraries last changed what they hash: since then they also remove what follows a `+`.
pub(super) const GOOGLE_VERSION: &str = "2026-06";

pub(super) fn email(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    if common(bytes, out) { Ok(()) } else { any(bytes, out) }
}

fn any(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
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
    check(&out[start..])?;
    without_aliases(start, &[GMAIL], out)
}

pub(super) fn google(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    if !common(bytes, out) {
        if bytes.is_ascii() {
            ascii_lower(bytes, out);
        } else {
            let lower =
                CaseMapper::new().lowercase_to_string(utf8(bytes)?.trim(), &LanguageIdentifier::UNKNOWN);
            out.extend_from_slice(lower.as_bytes());
        }
        check(&out[start..])?;
    }
    without_aliases(start, &[GMAIL, GOOGLEMAIL], out)
}

/// What `email` makes of the result of `google`; nothing of an address of which Google leaves nothing.
pub(super) fn of_google(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    let left = google(bytes, out);
    let address = out.split_off(start);
    if left.is_err() {
        return Ok(());
    }
    email(&address, out)
}

/// Removes what Gmail ignores, if the address that begins at `start` is in one of the domains.
fn without_aliases(start: usize, domains: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let Some(at) = memchr::memchr(b'@', &out[start..]) else { return Ok(()) };
    if !domains.contains(&&out[start + at + 1..]) {
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

/// A fast path of `email`, `meta` and `google` for addresses of visible ASCII characters, eight bytes at a time. For
/// all other addresses, valid or not, it leaves `out` unchanged and returns false.
fn common(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    const LONGEST: usize = MAX_LOCAL + 1 + MAX_DOMAIN;
    let bytes = bytes.trim_ascii();
    let Some(last) = bytes.last_chunk::<8>().filter(|_| bytes.len() <= LONGEST) else { return false };
    let start = out.len();
    out.extend_from_slice(bytes);
    let mut seen = Seen::default();
    let (words, rest) = out[start..].as_chunks_mut::<8>();
    for (number, word) in words.iter_mut().enumerate() {
        *word = seen.lower(u64::from_le_bytes(*word), 8 * number).to_le_bytes();
    }
    if !rest.is_empty() {
        // The bytes of the last word that are not in the word before, and letters behind them.
        let (done, rest) = (8 * words.len(), 8 * rest.len() as u32);
        let word = u64::from_le_bytes(*last) >> (64 - rest) | repeated(b'a') << rest;
        seen.lower(word, done);
        if let Some(word) = out.last_chunk_mut::<8>() {
            *word = Seen::default().lower(u64::from_le_bytes(*last), 0).to_le_bytes();
        }
    }
    let domain = bytes.len().wrapping_sub(seen.at + 1);
    let valid = seen.invisible == 0 && seen.ats == 1;
    if valid && (1..=MAX_LOCAL).contains(&seen.at) && (1..=MAX_DOMAIN).contains(&domain) {
        return true;
    }
    out.truncate(start);
    false
}

const fn repeated(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The findings in some words of eight bytes.
#[derive(Default)]
struct Seen {
    /// The high bit of each byte position that had anything other than visible ASCII.
    invisible: u64,
    /// The number of `@`, and the position of the last one.
    ats: u64,
    at: usize,
}

impl Seen {
    /// Takes the next word, which begins at a position, and returns it with ASCII letters in lower case.
    #[inline(always)]
    fn lower(&mut self, word: u64, first: usize) -> u64 {
        const HIGH: u64 = repeated(0x80);
        let low = word & !HIGH;
        // The high bit of each byte that is not below; no sum carries into the next byte.
        let from = |byte: u8| low + repeated(0x80 - byte);
        self.invisible |= (!from(b'!') | from(0x7f) | word) & HIGH;
        let at = from(b'@') & !from(b'@' + 1) & HIGH;
        self.ats += (at >> 7).wrapping_mul(repeated(1)) >> 56;
        self.at = if at == 0 { self.at } else { first + at.trailing_zeros() as usize / 8 };
        word | (from(b'A') & !from(b'Z' + 1) & HIGH) >> 2
    }
}

fn simple_lower(text: &str) -> String {
    let mapper = CaseMapper::new();
    text.chars().map(|c| mapper.simple_lowercase(c)).collect()
}

/// Whether the address is valid; nothing is, too.
fn check(email: &[u8]) -> Result<(), Invalid> {
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
    let outside = |c: char| c.is_whitespace() || c.is_control() || is_invisible(c);
    let bad = if email.is_ascii() {
        email.iter().any(|byte| !byte.is_ascii_graphic())
    } else {
        utf8(email)?.chars().any(outside)
    };
    if bad { Err(Invalid::BlankInside) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn the_quick_way_is_the_slow_way() {
        let mut rng = StdRng::seed_from_u64(8);
        let (mut quick, mut valid) = (0, 0);
        for round in 0..200_000 {
            let length = if round % 100 == 0 { rng.random_range(0..400) } else { rng.random_range(0..40) };
            // Letters beside the borders of what is changed and what is refused, then one or two odd bytes.
            let mut bytes: Vec<u8> =
                (0..length).map(|_| b"@AZ[`az{!~.+-09bcdef"[rng.random_range(1..20)]).collect();
            for _ in 0..rng.random_range(0..4) {
                if length > 0 {
                    let at = rng.random_range(0..length);
                    bytes[at] = match rng.random_range(0..12) {
                        0 => rng.random(),
                        1 => b" \t\x0b\x7f\x1f\x80\xc0"[rng.random_range(0..7)],
                        _ => b'@',
                    };
                }
            }
            let (mut found, mut expected) = (b"before".to_vec(), b"before".to_vec());
            let common = common(&bytes, &mut found);
            let any = any(&bytes, &mut expected);
            assert!(!common || any.is_ok() && found == expected, "{:?}", String::from_utf8_lossy(&bytes));
            assert!(common || found == b"before");
            let usual = any.is_ok() && length >= 8 && bytes.iter().all(u8::is_ascii_graphic);
            assert!(common || !usual, "{:?}", String::from_utf8_lossy(&bytes));
            (quick, valid) = (quick + u32::from(common), valid + u32::from(any.is_ok()));
        }
        assert!(quick > 20_000 && valid > quick, "{quick} {valid}");
    }
}
