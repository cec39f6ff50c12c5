//! The lines of a ledger, and the chain that they make.
//!
//! ```text
//! {"line":2,"previous":"…","time":"…","kind":"…", … ,"digest":"…"}
//! ```
//!
//! The digest of a line is the BLAKE3 hash of its bytes before `,"digest"`, and `previous` is the digest of the line
//! before. So a changed line does not fit its own digest, the last one too. Whoever makes that digest anew as well has
//! to make anew all lines after it; the last line has none after it.
//!
//! **What a crash leaves.** Each line is durable before the next one is written. So what follows the last whole line is
//! of one line, whose first bytes are known: its beginning, or all of it with zeros where the disk has not yet written
//! ([`Chain::is_torn`]). Anything else is not from a crash. It stays where it is, and the next line, behind
//! [`TORN_END`], has its length and digest. Nothing is ever taken out of the file, so a crash meanwhile loses nothing
//! either: it leaves more of the same, which the line after that names.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::iter;
use std::path::Path;

use serde::{Deserialize, Serialize};
use vesica_kept::{LEDGER_MAGIC, append, put_last};

use super::sketch::Sketch;
use crate::words::report::{now, shown_time};

/// The version of the format.
const VERSION: u32 = 1;
/// The most bytes of a line, without the newline.
const LONGEST: usize = 1 << 16;
/// What ends the rest of a torn line, before the line that names it. No line has a zero.
const TORN_END: &[u8] = b"\0\n";
/// The longest text of a line, the sketch apart.
const LONGEST_TEXT: usize = 1024;
/// Bytes of what ends each line ([`ending`]).
const ENDING: usize = 77;
/// What stands in the place of a digest before the first line.
const NOTHING: [u8; 32] = [0; 32];

/// A line: its number, the digest of the line before, the time, and what it says. Its own digest ends it.
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
    /// What a crash had left before this line: so many bytes, of that digest.
    Torn { bytes: u64, blake3: String },
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
    /// By post, the digest of the query that the sender answers. Another query may have the same session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<String>,
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
    /// Bytes up to the end of the last line.
    end: u64,
    /// What follows them: what a crash has left of a line.
    pub(super) torn: Vec<u8>,
}

impl Chain {
    /// Reads all lines. What a crash has left of a last one is [`torn`](Self::torn); whatever else is amiss is an error.
    pub(super) fn read(input: impl Read) -> Result<Self, ChainError> {
        let mut chain = Chain { lines: Vec::new(), digests: Vec::new(), end: 0, torn: Vec::new() };
        let mut input = BufReader::with_capacity(LONGEST, input);
        loop {
            let mut bytes = Vec::new();
            let most = LONGEST + TORN_END.len();
            (&mut input).take(most as u64).read_until(b'\n', &mut bytes)?;
            if bytes.is_empty() {
                return Ok(chain);
            }
            if chain.lines.is_empty() && bytes == LEDGER_MAGIC {
                return Err(ChainError::Served);
            }
            let line =
                bytes.strip_suffix(b"\n").and_then(|line| digest_of(line).map(|digest| (line, digest)));
            match line {
                Some((line, digest)) => {
                    let read = serde_json::from_slice(line);
                    chain.take(read.ok(), digest)?;
                    chain.end += bytes.len() as u64;
                }
                None if chain.is_torn(&bytes) => chain.torn.extend(bytes),
                None if chain.lines.is_empty() && !bytes.starts_with(chain.start().as_bytes()) => {
                    return Err(ChainError::NotALedger);
                }
                None => return Err(chain.broken("was changed: its digest is not that of its bytes")),
            }
        }
    }

    /// Takes the next line, of that digest; none if it is not of this format.
    fn take(&mut self, line: Option<Line>, digest: blake3::Hash) -> Result<(), ChainError> {
        let first = self.lines.is_empty();
        let Some(line) = line else {
            return Err(if first { ChainError::NotALedger } else { self.broken("is no line of a ledger") });
        };
        match (&line.entry, first) {
            (Entry::Ledger { version: VERSION, .. }, true) => {}
            (_, true) => return Err(ChainError::NotALedger),
            (Entry::Ledger { .. }, false) => return Err(self.broken("is another beginning")),
            _ => {}
        }
        if line.previous != self.last().to_hex().as_str() {
            return Err(self.broken(
                "does not follow the line before: others were removed, or one of the two made anew",
            ));
        }
        if line.line != self.lines.len() as u64 {
            return Err(self.broken("has another number"));
        }
        if !line.is_shown() {
            return Err(self.broken("has a text that no run has"));
        }
        if !line.entry.names(&self.torn) {
            return Err(self.broken("does not name what stands before it"));
        }
        self.end += self.torn.len() as u64;
        self.torn.clear();
        self.digests.push(digest);
        self.lines.push(line);
        Ok(())
    }

    /// With what the next line begins.
    fn start(&self) -> String {
        let (line, previous) = (self.lines.len(), self.last().to_hex());
        format!("{{\"line\":{line},\"previous\":\"{previous}\",\"time\":\"")
    }

    /// Whether a crash may have left these bytes of the next line.
    ///
    /// Of the first line, it left enough to tell it from anybody else's file, or as many zeros as the line has bytes: a
    /// file that is not this program's is never written over.
    fn is_torn(&self, bytes: &[u8]) -> bool {
        let (start, zero) = (self.start(), |byte: &u8| *byte == 0);
        if self.lines.is_empty() {
            let whole = self.first([0; 32]).map_or(0, |(line, _)| line.len() + 1);
            let zeros = bytes.iter().all(zero) && bytes.len() == whole;
            let begun = bytes.starts_with(start.as_bytes()) && bytes.len() < whole && !bytes.contains(&b'\n');
            return zeros || begun;
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // JSON has no zeros, so these were not written. Without any, a line that has its newline was written whole.
        let cut = line.len() == bytes.len() || line.iter().any(zero);
        let begins = line.iter().zip(start.as_bytes()).all(|(byte, expected)| zero(byte) || byte == expected);
        cut && begins && line.len() < LONGEST + TORN_END.len()
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
        self.torn.clear();
        let line = self.first(key)?;
        put_last(file, path, &self.push(line), 0)
    }

    /// Appends a line, durably. What a crash has left before it is named in a line of its own. Gives the line's number.
    pub(super) fn append(&mut self, file: &File, entry: Entry) -> io::Result<u64> {
        self.writes(entry)?.iter().try_for_each(|(bytes, at)| append(file, bytes, *at))?;
        Ok(self.lines.len() as u64 - 1)
    }

    /// What is written for a line, and where: each is durable before the next one begins, so no crash leaves anything but
    /// the beginning of a line.
    fn writes(&mut self, entry: Entry) -> io::Result<Vec<(Vec<u8>, u64)>> {
        let mut writes = Vec::new();
        if !self.torn.is_empty() {
            let named = self.next(torn_entry(&self.torn))?;
            let torn = std::mem::take(&mut self.torn);
            self.end += torn.len() as u64;
            let at = self.end;
            self.end += TORN_END.len() as u64;
            writes.push(([TORN_END, &self.push(named)].concat(), at));
        }
        let (at, line) = (self.end, self.next(entry)?);
        writes.push((self.push(line), at));
        Ok(writes)
    }

    /// The first line.
    fn first(&self, key: [u8; 32]) -> io::Result<(Vec<u8>, Line)> {
        let sketch_key = blake3::Hash::from_bytes(key).to_hex().to_string();
        self.next(Entry::Ledger { version: VERSION, sketch_key })
    }

    /// The next line, and its bytes without the newline.
    fn next(&self, entry: Entry) -> io::Result<(Vec<u8>, Line)> {
        let (line, previous) = (self.lines.len() as u64, self.last().to_hex().to_string());
        let line = Line { line, previous, time: shown_time(now()), entry };
        let bytes = with_digest(serde_json::to_vec(&line)?);
        let unlike = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        match (bytes.len() < LONGEST, line.is_shown()) {
            (false, _) => unlike("a line of more than 64 KiB"),
            // No line is written that would not be read.
            (true, false) => unlike("a text that is not of printable ASCII, or too long"),
            (true, true) => Ok((bytes, line)),
        }
    }

    /// The chain has that line from now on. Gives its bytes with the newline.
    fn push(&mut self, (mut bytes, line): (Vec<u8>, Line)) -> Vec<u8> {
        self.digests.push(blake3::hash(&bytes[..bytes.len() - ENDING]));
        bytes.push(b'\n');
        self.end += bytes.len() as u64;
        self.lines.push(line);
        bytes
    }
}

impl Line {
    /// Whether its texts are those of a run: such as do nothing to a screen.
    fn is_shown(&self) -> bool {
        let shown =
            |text: &str| text.len() <= LONGEST_TEXT && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        shown(&self.time) && self.entry.texts().into_iter().all(shown)
    }
}

impl Entry {
    /// Whether this line may stand behind these bytes, which are no line: behind none, or as the one that names them.
    fn names(&self, torn: &[u8]) -> bool {
        match self {
            Entry::Torn { bytes, blake3 } => torn.strip_suffix(TORN_END).is_some_and(|left| {
                left.len() as u64 == *bytes && blake3::hash(left).to_hex().as_str() == blake3
            }),
            _ => torn.is_empty(),
        }
    }

    /// All texts of the line, but for the sketch, which has a form.
    fn texts(&self) -> Vec<&str> {
        match self {
            Entry::Ledger { version: _, sketch_key } => vec![sketch_key],
            Entry::Begin(begin) => begin.texts(),
            Entry::Agreed(agreement) => agreement.texts().collect(),
            Entry::Refused(Refusal { run: _, budget, limit, begin, agreed }) => {
                let begin = begin.iter().flat_map(|begin| begin.texts());
                let agreed = agreed.iter().flat_map(Agreement::texts);
                [&**budget, limit].into_iter().chain(begin).chain(agreed).collect()
            }
            Entry::Ended(End { run: _, outcome, phase, code: _ }) => {
                iter::once(outcome).chain(phase).map(String::as_str).collect()
            }
            Entry::Torn { bytes: _, blake3 } => vec![blake3],
        }
    }
}

impl Agreement {
    fn texts(&self) -> impl Iterator<Item = &str> {
        let Agreement { run: _, session, protocol, peer_keys: _, query } = self;
        [session, protocol].into_iter().chain(query).map(String::as_str)
    }
}

impl Begin {
    fn texts(&self) -> Vec<&str> {
        let Begin {
            run: _,
            role,
            partner,
            input,
            rules,
            items,
            keys: _,
            sketch: _,
            protocol,
            security,
            result,
            partner_learns: _,
            noise,
            max_counts: _,
            max_questions: _,
            max_epsilon,
            post,
        } = self;
        let there = [role, partner, rules, items, protocol, security, result];
        let all = there.into_iter().chain(input).chain(noise).chain(max_epsilon).chain(post);
        all.map(String::as_str).collect()
    }
}

/// A line's end: its digest.
fn ending(digest: &blake3::Hash) -> String {
    format!(",\"digest\":\"{}\"}}", digest.to_hex())
}

/// A line with its digest, of the JSON of an object.
fn with_digest(mut object: Vec<u8>) -> Vec<u8> {
    object.pop();
    let ending = ending(&blake3::hash(&object));
    object.extend(ending.as_bytes());
    object
}

/// The digest of a line without its newline; none if another one ends it.
fn digest_of(line: &[u8]) -> Option<blake3::Hash> {
    let (object, end) = line.split_at_checked(line.len().checked_sub(ENDING)?)?;
    let digest = blake3::hash(object);
    (end == ending(&digest).as_bytes()).then_some(digest)
}

fn torn_entry(torn: &[u8]) -> Entry {
    Entry::Torn { bytes: torn.len() as u64, blake3: blake3::hash(torn).to_hex().to_string() }
}

/// A ledger, for tests, whose lines say this after their number and the digest of the line before: each line of `texts`
/// is the rest of an object.
#[cfg(any(test, feature = "testing"))]
pub(super) fn of_texts(texts: &[u8]) -> Vec<u8> {
    let mut ledger = Vec::new();
    let mut previous = blake3::Hash::from_bytes(NOTHING);
    for (line, text) in texts.split(|byte| *byte == b'\n').enumerate() {
        let start = format!("{{\"line\":{line},\"previous\":\"{}\",", previous.to_hex());
        let object = [start.as_bytes(), text, b"}"].concat();
        previous = blake3::hash(&object[..object.len() - 1]);
        ledger.extend(with_digest(object));
        ledger.push(b'\n');
    }
    ledger
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    /// What a disk writes as one.
    const SECTOR: usize = 512;

    fn written(disk: &[u8], (bytes, at): &(Vec<u8>, u64)) -> Vec<u8> {
        assert_eq!(*at, disk.len() as u64, "nothing is written over");
        [disk, bytes].concat()
    }

    /// What may be there if the power fails during that write: the file grew to any size, and has any of the sectors.
    fn failing(disk: &[u8], write: &(Vec<u8>, u64), rng: &mut StdRng) -> Vec<u8> {
        let after = written(disk, write);
        let sizes = [disk.len(), after.len(), rng.random_range(disk.len()..=after.len())];
        let mut left = disk.to_vec();
        left.resize(sizes[rng.random_range(0..3)], 0);
        for (old, new) in left.chunks_mut(SECTOR).zip(after.chunks(SECTOR)) {
            if rng.random() {
                old.copy_from_slice(&new[..old.len()]);
            }
        }
        left
    }

    #[test]
    fn whatever_a_power_loss_leaves_of_a_line_or_of_mending_one_is_read() {
        let rng = &mut StdRng::seed_from_u64(9);
        let (mut torn, mut holes) = (0, 0);
        for _ in 0..100 {
            let mut chain = Chain::read(&[][..]).unwrap();
            let first = chain.first([7; 32]).unwrap();
            let mut disk = chain.push(first);
            for _ in 0..20 {
                let mut chain = Chain::read(&disk[..]).unwrap();
                let before = chain.digests.clone();
                let mut text = || "x".repeat(rng.random_range(0..1000));
                let (outcome, phase) = (text(), Some(text()));
                let writes = chain.writes(Entry::Ended(End { run: 0, outcome, phase, code: 0 })).unwrap();
                let fails = rng.random_range(0..=writes.len());
                for write in &writes[..fails] {
                    disk = written(&disk, write);
                }
                if let Some(write) = writes.get(fails) {
                    disk = failing(&disk, write, rng);
                }
                let after = Chain::read(&disk[..]).unwrap();
                assert!(after.digests.starts_with(&before), "a line was lost");
                // Each byte is of a line, or was named, or will be.
                assert_eq!(after.end as usize + after.torn.len(), disk.len());
                torn += usize::from(!after.torn.is_empty());
                holes += usize::from(after.torn.ends_with(b"\n"));
            }
        }
        assert!(torn > 400 && holes > 100, "{torn} {holes}");
    }

    #[test]
    fn a_first_line_that_a_crash_cut_is_told_from_anybody_elses_file() {
        let read = |bytes: &[u8]| Chain::read(bytes).map(|chain| chain.torn);
        let mut chain = Chain::read(&[][..]).unwrap();
        let start = chain.start().len();
        let first = chain.first([7; 32]).unwrap();
        let whole = chain.push(first);
        for left in [&whole[..start], &whole[..whole.len() - 1], &vec![0; whole.len()]] {
            assert_eq!(read(left).unwrap(), left);
        }
        let changed = [&whole[..start], &[b'x'; 400]].concat();
        let zeros = vec![0; 70_000];
        for foreign in
            [&b"{"[..], b"\0", &zeros[..whole.len() - 1], &zeros, &whole[..start - 1], b"\n", b"{}\n"]
        {
            assert!(matches!(read(foreign), Err(ChainError::NotALedger)), "{foreign:?}");
        }
        assert!(matches!(read(&changed), Err(ChainError::Broken { line: 0, .. })));
    }
}
