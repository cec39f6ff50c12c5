//! The bytes of a ledger.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use crate::append::{open_locked, put_last};
use crate::error::LedgerError;

/// What such a file begins with.
pub const LEDGER_MAGIC: &[u8; 16] = b"vesica ledger 1\n";
const LINK: usize = 16;
/// Bytes of a record before its link.
const CONTENT: usize = 76;
pub(super) const RECORD: usize = CONTENT + LINK;
const CONTEXT: &str = "vesica ledger: link v1";

/// One charge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) receiver: [u8; 32],
    /// Seconds since 1970.
    pub(super) time: u64,
    pub(super) keys: u32,
    /// The digest of the query.
    pub(super) query: [u8; 32],
}

impl Record {
    fn encode(&self) -> [u8; CONTENT] {
        let mut bytes = [0; CONTENT];
        bytes[..32].copy_from_slice(&self.receiver);
        bytes[32..40].copy_from_slice(&self.time.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.keys.to_le_bytes());
        bytes[44..].copy_from_slice(&self.query);
        bytes
    }

    fn decode(bytes: &[u8; CONTENT]) -> Self {
        let (mut time, mut keys) = ([0; 8], [0; 4]);
        let (mut receiver, mut query) = ([0; 32], [0; 32]);
        receiver.copy_from_slice(&bytes[..32]);
        time.copy_from_slice(&bytes[32..40]);
        keys.copy_from_slice(&bytes[40..44]);
        query.copy_from_slice(&bytes[44..]);
        let (time, keys) = (u64::from_le_bytes(time), u32::from_le_bytes(keys));
        Record { receiver, time, keys, query }
    }
}

/// The links between records.
pub(super) struct Links {
    hasher: blake3::Hasher,
    last: [u8; LINK],
}

impl Links {
    pub(super) fn new() -> Self {
        Links { hasher: blake3::Hasher::new_derive_key(CONTEXT), last: [0; LINK] }
    }

    /// The bytes of the next record.
    pub(super) fn seal(&mut self, record: &Record) -> [u8; RECORD] {
        let content = record.encode();
        self.last = self.next(&content);
        let mut bytes = [0; RECORD];
        bytes[..CONTENT].copy_from_slice(&content);
        bytes[CONTENT..].copy_from_slice(&self.last);
        bytes
    }

    /// The record of these bytes; none if it is not the next one.
    fn open(&mut self, bytes: &[u8; RECORD]) -> Option<Record> {
        let (content, link) = bytes.split_first_chunk::<CONTENT>()?;
        let expected = self.next(content);
        if link != expected {
            return None;
        }
        self.last = expected;
        Some(Record::decode(content))
    }

    fn next(&self, content: &[u8; CONTENT]) -> [u8; LINK] {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.last).update(content);
        hasher.finalize().as_bytes().first_chunk().copied().unwrap_or_default()
    }
}

/// A ledger that is locked and read.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) links: Links,
    /// Bytes of the magic and of all records.
    pub(super) length: u64,
    /// Bytes after them, which were removed.
    pub(super) removed: u64,
}

/// Opens or begins a ledger and hands its records over in order.
pub(super) fn open(path: &Path, note: impl FnMut(&Record)) -> Result<Opened, LedgerError> {
    let opening = |source| LedgerError::Open { path: path.into(), source };
    let file = open_locked(path, Duration::ZERO)?;
    let found = file.metadata().map_err(opening)?.len();
    let mut input = BufReader::with_capacity(1 << 16, &file);
    let mut magic = [0; LEDGER_MAGIC.len()];
    let there = found.min(LEDGER_MAGIC.len() as u64) as usize;
    input.read_exact(&mut magic[..there]).map_err(opening)?;
    if magic[..there] != LEDGER_MAGIC[..there] {
        return Err(LedgerError::NotALedger { path: path.into() });
    }
    let (links, length) = read(&mut input, found, path, note)?;
    if length != found {
        // A new file, or what a crash left of a record.
        let (rest, at) = if found < length { (&LEDGER_MAGIC[..], 0) } else { (&[][..], length) };
        put_last(&file, path, rest, at).map_err(opening)?;
    }
    Ok(Opened { file, links, length, removed: found.saturating_sub(length) })
}

/// Reads the records of a file of `found` bytes, and says how many bytes are good.
fn read(
    input: &mut impl Read,
    found: u64,
    path: &Path,
    mut note: impl FnMut(&Record),
) -> Result<(Links, u64), LedgerError> {
    let opening = |source| LedgerError::Open { path: path.into(), source };
    let records = found.saturating_sub(LEDGER_MAGIC.len() as u64) / RECORD as u64;
    let mut links = Links::new();
    let mut length = LEDGER_MAGIC.len() as u64;
    for number in 0..records {
        let mut bytes = [0; RECORD];
        input.read_exact(&mut bytes).map_err(opening)?;
        match links.open(&bytes) {
            Some(record) => note(&record),
            // A crash can leave the length of a file and not its bytes: the last record, or zeros to the end.
            None if number + 1 == records || is_zero(&bytes) && rest_is_zero(input).map_err(opening)? => {
                break;
            }
            None => {
                let to = length + RECORD as u64;
                return Err(LedgerError::Broken { path: path.into(), record: number, from: length, to });
            }
        }
        length += RECORD as u64;
    }
    Ok((links, length))
}

fn rest_is_zero(input: &mut impl Read) -> io::Result<bool> {
    let mut bytes = [0; 4096];
    loop {
        match input.read(&mut bytes)? {
            0 => return Ok(true),
            count if !is_zero(&bytes[..count]) => return Ok(false),
            _ => {}
        }
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
