//! The lines of a ledger, and the chain that they make.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use vesica_kept::{LEDGER_MAGIC, append, put_last};

use super::sketch::Sketch;
use crate::words::report::{now, shown_time};

/// The version of the format.
const VERSION: u32 = 1;
/// The most bytes of a line.
const LONGEST: usize = 1 << 16;
/// The most bytes of a torn line that are quoted.
const QUOTED: usize = 4096;
/// What stands in the place of a digest before the first line.
const NOTHING: [u8; 32] = [0; 32];

/// A line: its number, the BLAKE3 digest of the line before, the time, and what it says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) line: u64,
    previous: String,
    pub(super) time: String,
    #[serde(flatten)]
    pub(super) entry: Entry,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Entry {
    /// The first line: the format, and the key of the sketches.
    Ledger { version: u32, sketch_key: String },
    /// A run begins.
    Begin(Box<Begin>),
    /// Both sides have agreed, and the protocol begins.
    Agreed(Agreement),
    /// The run has ended.
    Ended(End),
    /// A budget does not allow the run, which ends with this line.
    Refused(Refusal),
    /// What a crash had left of a line in the place of this one.
    Torn { bytes: u64, blake3: String, text: String },
}

/// What a run is, before the partner has heard of this side's set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// The number of the run: 1, 2, 3.
    pub(crate) run: u64,
    /// This side's role.
    pub(crate) role: String,
    /// The partner's public key.
    pub(crate) partner: String,
    /// The BLAKE3 digest of the table's file, where there is one.
    pub(crate) input: Option<String>,
    /// The rules of the keys, as both sides agree on them.
    pub(crate) rules: String,
    /// What items are made of keys: sketches of others are not comparable.
    pub(crate) items: String,
    /// How many different keys the table has.
    pub(crate) keys: u64,
    /// The sketch of the set.
    pub(crate) sketch: Sketch,
    /// The protocol that was asked for, or `auto`.
    pub(crate) protocol: String,
    /// The security that was asked for.
    pub(crate) security: String,
    /// The result: `rows`, `payload`, `count`, `at-least` or `sum`.
    pub(crate) result: String,
    /// What the partner learns by it.
    pub(crate) partner_learns: PartnerLearns,
    /// ε of the noise on a count.
    pub(crate) noise: Option<String>,
    /// Its limit on counts.
    pub(crate) max_counts: u64,
    /// Its limit on the partner's keys.
    pub(crate) max_questions: Option<u64>,
    /// Its limit on ε.
    pub(crate) max_epsilon: Option<String>,
    /// By post, what the run is known by: several calls of the program are one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) post: Option<String>,
}

/// What the partner learns of this side's set beside its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartnerLearns {
    /// Nothing.
    Nothing,
    /// A number, or a bit: a count, sums, whether enough keys match.
    Number,
    /// Which of its keys match.
    Rows,
}

/// What both sides have agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Agreement {
    pub(crate) run: u64,
    /// The name of the run in both sides' reports.
    pub(crate) session: String,
    pub(crate) protocol: String,
    /// The size of the partner's set, padding included.
    pub(crate) peer_keys: u64,
}

/// A run that a budget does not allow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) run: u64,
    /// The option of the budget.
    pub(crate) budget: String,
    /// Its limit.
    pub(crate) limit: String,
    /// What the run would have been, if it was refused before it began: nothing of this side's set has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begin: Option<Box<Begin>>,
    /// What was agreed on, if it was refused only then: the protocol has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agreed: Option<Agreement>,
}

/// How a run has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) run: u64,
    /// `confirmed` or `failed`.
    pub(crate) outcome: String,
    /// The phase in which it failed.
    pub(crate) phase: Option<String>,
    /// The exit code.
    pub(crate) code: u8,
}

/// Why a file is not read as a ledger.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChainError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("is not a ledger of runs")]
    NotALedger,
    #[error("is the ledger of `vesica serve`")]
    Served,
    #[error("line {line} (counted from 0) {why}")]
    Broken { line: u64, why: &'static str },
}

/// A ledger that was read, and whose chain holds.
pub(super) struct Chain {
    pub(super) lines: Vec<Line>,
    /// The digest of each line.
    pub(super) digests: Vec<blake3::Hash>,
    /// Bytes of the lines.
    end: u64,
    /// What follows them: what a crash has left of a line.
    pub(super) torn: Vec<u8>,
}

impl Chain {
    /// Reads all lines. A last one that is not whole is [`torn`](Self::torn); whatever else is amiss is an error.
    pub(super) fn read(file: &File) -> Result<Self, ChainError> {
        let mut chain = Chain { lines: Vec::new(), digests: Vec::new(), end: 0, torn: Vec::new() };
        let mut input = BufReader::with_capacity(LONGEST, file);
        loop {
            let mut bytes = Vec::new();
            (&mut input).take(LONGEST as u64 + 1).read_until(b'\n', &mut bytes)?;
            let last = input.fill_buf()?.is_empty();
            let whole = bytes.pop_if(|byte| *byte == b'\n').is_some();
            if bytes.is_empty() && !whole {
                return Ok(chain);
            }
            if chain.lines.is_empty() && whole && LEDGER_MAGIC.strip_suffix(b"\n") == Some(&bytes[..]) {
                return Err(ChainError::Served);
            }
            let line = if whole { serde_json::from_slice::<Line>(&bytes).ok() } else { None };
            match line {
                Some(line) => chain.take(line, &bytes)?,
                None if last || is_zero(&bytes) && rest_is_zero(&mut input)? => {
                    chain.torn = bytes;
                    // Nobody's file is taken for a ledger that was being begun.
                    let begun = chain.lines.is_empty();
                    let ours = !whole && (is_zero(&chain.torn) || is_beginning(&chain.torn));
                    return if begun && !ours { Err(ChainError::NotALedger) } else { Ok(chain) };
                }
                None if chain.lines.is_empty() => return Err(ChainError::NotALedger),
                None => return Err(chain.broken("is no line of a ledger")),
            }
        }
    }

    /// Takes the next line, whose bytes are these.
    fn take(&mut self, line: Line, bytes: &[u8]) -> Result<(), ChainError> {
        let first = self.lines.is_empty();
        match (&line.entry, first) {
            (Entry::Ledger { version: VERSION, .. }, true) => {}
            (_, true) => return Err(ChainError::NotALedger),
            (Entry::Ledger { .. }, false) => return Err(self.broken("is another beginning")),
            _ => {}
        }
        if line.previous != self.last().to_hex().as_str() {
            return Err(
                self.broken("does not follow the line before: one of the two was changed, or others removed")
            );
        }
        if line.line != self.lines.len() as u64 {
            return Err(self.broken("has another number"));
        }
        self.digests.push(blake3::hash(bytes));
        self.end += bytes.len() as u64 + 1;
        self.lines.push(line);
        Ok(())
    }

    fn broken(&self, why: &'static str) -> ChainError {
        ChainError::Broken { line: self.lines.len() as u64, why }
    }

    /// The digest of the last line.
    pub(super) fn last(&self) -> blake3::Hash {
        self.digests.last().copied().unwrap_or(blake3::Hash::from_bytes(NOTHING))
    }

    /// The key of the sketches; none if the ledger has not begun.
    pub(super) fn sketch_key(&self) -> Result<Option<[u8; 32]>, ChainError> {
        let Some(Line { entry: Entry::Ledger { sketch_key, .. }, .. }) = self.lines.first() else {
            return Ok(None);
        };
        let key = blake3::Hash::from_hex(sketch_key);
        key.map(|key| Some(*key.as_bytes())).map_err(|_| ChainError::NotALedger)
    }

    /// Begins the ledger, with that key for its sketches.
    pub(super) fn begin(&mut self, file: &File, path: &Path, key: [u8; 32]) -> io::Result<()> {
        let sketch_key = blake3::Hash::from_bytes(key).to_hex().to_string();
        self.torn.clear();
        let line = self.next(Entry::Ledger { version: VERSION, sketch_key })?;
        put_last(file, path, &line, 0)
    }

    /// Appends a line, durably. What a crash has left before it is quoted in a line of its own. Gives the line's
    /// number.
    pub(super) fn append(&mut self, file: &File, path: &Path, entry: Entry) -> io::Result<u64> {
        let at = self.end;
        if self.torn.is_empty() {
            let line = self.next(entry)?;
            append(file, &line, at)?;
        } else {
            let torn = std::mem::take(&mut self.torn);
            let mut lines = self.next(torn_entry(&torn))?;
            lines.extend(self.next(entry)?);
            put_last(file, path, &lines, at)?;
        }
        Ok(self.lines.len() as u64 - 1)
    }

    /// The bytes of the next line, which the chain has from now on.
    fn next(&mut self, entry: Entry) -> io::Result<Vec<u8>> {
        let (line, previous) = (self.lines.len() as u64, self.last().to_hex().to_string());
        let line = Line { line, previous, time: shown_time(now()), entry };
        let mut bytes = serde_json::to_vec(&line)?;
        if bytes.len() >= LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a line of more than 64 KiB"));
        }
        self.digests.push(blake3::hash(&bytes));
        bytes.push(b'\n');
        self.end += bytes.len() as u64;
        self.lines.push(line);
        Ok(bytes)
    }
}

fn torn_entry(torn: &[u8]) -> Entry {
    let quoted = &torn[..torn.len().min(QUOTED)];
    Entry::Torn {
        bytes: torn.len() as u64,
        blake3: blake3::hash(torn).to_hex().to_string(),
        text: String::from_utf8_lossy(quoted).into_owned(),
    }
}

/// Whether these bytes are what a crash leaves of the first line.
fn is_beginning(bytes: &[u8]) -> bool {
    let nothing = blake3::Hash::from_bytes(NOTHING).to_hex();
    let start = format!("{{\"line\":0,\"previous\":\"{nothing}\"");
    bytes.starts_with(start.as_bytes()) || start.as_bytes().starts_with(bytes)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn rest_is_zero(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() || !is_zero(bytes) {
            return Ok(bytes.is_empty());
        }
        let count = bytes.len();
        input.consume(count);
    }
}
