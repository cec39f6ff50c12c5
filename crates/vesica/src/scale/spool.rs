//! The keys of a table that may have more rows than memory.
//!
//! ```text
//! spool   the table is read once. Digests gather in memory; if their room is full, they and all that follow go
//!         to 1024 bucket files:                          digest ‖ row (u64)
//! count   bucket by bucket, with the distinct digests of one bucket in memory: the exact number of items
//! split   bucket by bucket, under the key of the run, to one file for each part:    item' ‖ row
//!         A bucket is dropped once it has been read, so the disk holds one copy and a bucket.
//! part    the distinct items of one part, in memory, padded; they go through the protocol
//! mark    the part's file again: the rows of its matched items, in a bitmap
//! ```
//!
//! Rows that repeat a key take no memory, however many they are: they exist on disk alone. A table that fits
//! into its room makes no file, and is the same [`Items`] as ever.
//!
//! **Which bucket** a digest goes to is a multiplicative hash of its first eight bytes under a random
//! multiplier. So keys that somebody planted in the table fill no bucket, which would take its memory. The key
//! of a split run cannot do that: it is drawn later.
//!
//! **Secrecy.** The files are encrypted and have no name ([`vesica_spill`]). Only they and memory hold digests.

use std::ops::ControlFlow;
use std::path::Path;

use rand_core::CryptoRng;
use vesica_encode::items::{Encoding, Items, ItemsBuilder, ItemsError, OnDuplicates, Width};
use vesica_encode::parts::PartsError;
use vesica_spill::{Block, Bucket, Buckets, Directory, Fault as SpillFault, Label, Spill, SpillError};
use vesica_table::{Input, Progress, Request, RowSink, Table, TableError};
use vesica_text::{Text, text};

use crate::words::error::{Error, Kind, REPORT_A_BUG, RunPhase, Side};
use crate::words::memory::Bytes;
use crate::words::memory_use::disk::{BUCKET_BITS, BUCKETS, MemoryPlan, ROW, bytes_on_disk};

mod count;
mod distinct;
mod parts;

pub(crate) use parts::{Matched, PartFiles};

const SPOOL: Label = Label::new("vesica spool v1");

/// Called with the progress in rows; `Break` ends the step.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Why keys could not be spooled, counted or split.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpoolError {
    /// A temporary file failed.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The items cannot be built.
    #[error(transparent)]
    Items(#[from] ItemsError),
    /// The set cannot be split.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// Two rows have the same key, and `--on-duplicates error` forbids it.
    #[error("rows {first} and {second} have the same key")]
    Duplicate {
        /// The first row of that key.
        first: u64,
        /// The first row of the table that repeats a key.
        second: u64,
    },
    /// The table needs more memory.
    #[error("{}", self.text())]
    Budget {
        /// What would do.
        least: u64,
        /// What there is.
        budget: u64,
    },
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl SpoolError {
    /// What it says, with the options that it names as data.
    fn text(&self) -> Text {
        match self {
            SpoolError::Budget { least, budget } => text!(
                "`[memory]` allows {}, and this table needs {} at least",
                Bytes(*budget).to_string(),
                Bytes(*least).to_string()
            ),
            SpoolError::Table(error) => error.text(),
            other => Text::words(other),
        }
    }
}

impl Error {
    /// Keys could not be put on disk, or not be read again.
    pub(crate) fn spool(phase: RunPhase, error: &SpoolError) -> Self {
        let fault = match error {
            SpoolError::Table(error) => return Error::table(phase, error),
            SpoolError::Cancelled => return Error::interrupted(phase),
            SpoolError::Budget { least, .. } => {
                let remedy = text!("give `[memory]` {}M or more", least.div_ceil(1 << 20));
                return Error { phase, ..Error::usage(error.text(), remedy) };
            }
            SpoolError::Spill(error) => error.fault(),
            SpoolError::Items(_) | SpoolError::Parts(_) | SpoolError::Duplicate { .. } => SpillFault::Ours,
        };
        let (kind, remedy) = match fault {
            SpillFault::Usage => (
                Kind::Usage,
                "name a directory on a disk with `[temp-dir]`; or name this one, or leave out `[memory]`",
            ),
            SpillFault::Disk => (
                Kind::Output,
                "make room there, or name another directory with `[temp-dir]`; or give more `[memory]`, so that less \
                 goes to disk; {nothing was written here}",
            ),
            SpillFault::Ours => (Kind::Internal, REPORT_A_BUG),
        };
        Error { side: Side::Ours, phase, kind, message: error.text(), remedy: remedy.into() }
    }
}

/// Where keys go for which there is no room in memory.
pub(crate) struct Disk<'r> {
    /// `--temp-dir`.
    pub(crate) named: Option<&'r Path>,
    /// For the key of the files.
    pub(crate) rng: &'r mut dyn CryptoRng,
    /// How the memory is divided.
    pub(crate) plan: MemoryPlan,
    /// Whether this side learns which keys match: they go to disk too.
    pub(crate) learns: bool,
    /// Threads that may count and split.
    pub(crate) threads: usize,
}

impl Disk<'_> {
    /// A new file with room for so many rows.
    fn open(&mut self, rows: u64, width: Width) -> Result<Spill, SpoolError> {
        let (least, budget) = (self.plan.least(rows), self.plan.total());
        if budget < least {
            return Err(SpoolError::Budget { least, budget });
        }
        let directory = Directory::choose(self.named)?;
        directory.require(bytes_on_disk(rows, width, self.block(), self.learns))?;
        Ok(Spill::create(directory, self.rng)?)
    }

    /// The size of a block of the bucket files.
    fn block(&self) -> Block {
        self.plan.block(BUCKETS)
    }
}

/// A table's keys after the first pass.
pub(crate) enum Keys {
    /// They fit into memory.
    InMemory(Items),
    /// They are on disk.
    OnDisk(SpooledKeys),
}

/// Reads a table once.
pub(crate) fn read(
    input: Input,
    request: &Request,
    disk: Disk<'_>,
    on_progress: OnProgress<'_>,
) -> Result<(Table, Keys), SpoolError> {
    let Encoding::Digest(width) = request.encoding else { return Err(PartsError::Native.into()) };
    let mut spool = Spool::new(width, disk.plan.keys(), disk)?;
    let table = match input.load_into(request, &mut spool, on_progress) {
        Ok(table) => table,
        Err(error) => return Err(spool.error.take().unwrap_or_else(|| error.into())),
    };
    match spool.finish(request.on_duplicates) {
        Ok(keys) => Ok((table, keys)),
        Err(SpoolError::Items(ItemsError::Duplicate { first, second })) => {
            Err(table.duplicate((first, second), on_progress).into())
        }
        Err(error) => Err(error),
    }
}

/// Takes the digests of a table, in memory or on disk.
struct Spool<'r> {
    width: Width,
    room: usize,
    held: ItemsBuilder,
    rows_hint: u64,
    disk: Disk<'r>,
    files: Option<Scattered>,
    error: Option<SpoolError>,
}

impl<'r> Spool<'r> {
    fn new(width: Width, room: usize, disk: Disk<'r>) -> Result<Self, SpoolError> {
        let held = ItemsBuilder::new(Encoding::Digest(width), 0)?;
        Ok(Spool { width, room, held, rows_hint: 0, disk, files: None, error: None })
    }

    fn add(&mut self, row: u64, digest: &[u8]) -> Result<(), SpoolError> {
        if self.files.is_none() {
            // Rows in memory have numbers of 32 bits.
            if self.held.len() < self.room && row < u32::MAX.into() {
                return Ok(self.held.push_digest(row, digest)?);
            }
            self.files = Some(self.held_to_disk(row)?);
        }
        Ok(self.files.as_mut().map_or(Ok(()), |files| files.push(row, digest))?)
    }

    /// Puts what is in memory into files; `row` is the next row.
    fn held_to_disk(&mut self, row: u64) -> Result<Scattered, SpoolError> {
        let spill = self.disk.open(self.rows_hint.max(row), self.width)?;
        let buckets = spill.buckets(SPOOL, BUCKETS, self.width.bytes() + ROW, self.disk.block())?;
        let scatter = Scatter { multiplier: self.disk.rng.next_u64() | 1 };
        let mut files = Scattered { spill, scatter, buckets, rows: 0 };
        let empty = ItemsBuilder::new(Encoding::Digest(self.width), 0)?;
        let mut failed = None;
        let drained =
            std::mem::replace(&mut self.held, empty).drain(|row, digest| match files.push(row, digest) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            });
        match failed {
            Some(error) if drained.is_break() => Err(error.into()),
            _ => Ok(files),
        }
    }

    fn finish(self, on_duplicates: OnDuplicates) -> Result<Keys, SpoolError> {
        match self.files {
            None => Ok(Keys::InMemory(self.held.build(on_duplicates)?)),
            Some(files) => Ok(Keys::OnDisk(SpooledKeys {
                width: self.width,
                rows: files.rows,
                buckets: files.buckets.finish()?,
                spill: files.spill,
                on_duplicates,
                plan: self.disk.plan,
                threads: self.disk.threads,
            })),
        }
    }
}

impl RowSink for Spool<'_> {
    fn begin(&mut self, rows_hint: usize) -> ControlFlow<()> {
        self.rows_hint = rows_hint as u64;
        // Room that is not used takes no memory, and a vector that grows takes more.
        match ItemsBuilder::new(Encoding::Digest(self.width), rows_hint.min(self.room)) {
            Ok(held) => self.held = held,
            Err(error) => self.error = Some(error.into()),
        }
        if self.error.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn take(&mut self, row: u64, digest: &[u8]) -> ControlFlow<()> {
        match self.add(row, digest) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Which bucket a digest goes to.
#[derive(Clone, Copy)]
struct Scatter {
    multiplier: u64,
}

impl Scatter {
    #[inline]
    fn bucket(self, digest: &[u8]) -> usize {
        (prefix(digest).wrapping_mul(self.multiplier) >> (u64::BITS - BUCKET_BITS)) as usize
    }
}

/// The first eight bytes of a digest as a number.
#[inline]
fn prefix(digest: &[u8]) -> u64 {
    digest.first_chunk().copied().map_or(0, u64::from_be_bytes)
}

/// Digests and rows in buckets that grow.
struct Scattered {
    spill: Spill,
    scatter: Scatter,
    buckets: Buckets,
    rows: u64,
}

impl Scattered {
    fn push(&mut self, row: u64, digest: &[u8]) -> Result<(), SpillError> {
        self.rows += 1;
        push_record(&mut self.buckets, self.scatter.bucket(digest), row, digest)
    }
}

/// Appends a digest and its row.
#[inline]
fn push_record(buckets: &mut Buckets, bucket: usize, row: u64, digest: &[u8]) -> Result<(), SpillError> {
    let mut record = [0; 32 + ROW];
    let (end, row) = (digest.len() + ROW, row.to_le_bytes());
    record[..digest.len()].copy_from_slice(digest);
    record[digest.len()..end].copy_from_slice(&row);
    buckets.push(bucket, &record[..end])
}

/// The digests and rows of records that lie side by side.
fn split_records(records: &[u8], width: Width) -> impl Iterator<Item = (&[u8], u64)> + Clone {
    records.chunks_exact(width.bytes() + ROW).map(move |record| {
        let (digest, row) = record.split_at(width.bytes());
        (digest, row.first_chunk().copied().map_or(0, u64::from_le_bytes))
    })
}

/// Hands the digests and rows of a bucket to `take`, in their order.
fn each_record(
    bucket: &Bucket,
    width: Width,
    mut take: impl FnMut(&[u8], u64) -> Result<(), SpoolError>,
) -> Result<(), SpoolError> {
    bucket.read(|records| split_records(records, width).try_for_each(|(digest, row)| take(digest, row)))
}

/// A set on disk whose size is known.
pub(crate) struct OnDisk {
    pub(crate) keys: SpooledKeys,
    /// Rows of the table, or keys where rows have several, those that are missing counted.
    pub(crate) rows: u64,
    /// The size of the set, padded.
    pub(crate) items: u64,
    pub(crate) plan: MemoryPlan,
}

/// The keys of a table on disk, in buckets, each digest with its row. A bucket has its rows in their order.
pub(crate) struct SpooledKeys {
    width: Width,
    rows: u64,
    buckets: Vec<Bucket>,
    spill: Spill,
    on_duplicates: OnDuplicates,
    plan: MemoryPlan,
    threads: usize,
}

impl SpooledKeys {
    /// How many rows have a key.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// How the memory is divided.
    pub(crate) fn plan(&self) -> MemoryPlan {
        self.plan
    }

    /// The file of the buckets, for others.
    pub(crate) fn spill(&self) -> &Spill {
        &self.spill
    }

    /// Hands over every digest, repeated ones too.
    pub(crate) fn each_digest(&self, mut take: impl FnMut(&[u8])) -> Result<(), SpoolError> {
        self.buckets.iter().try_for_each(|bucket| {
            each_record(bucket, self.width, |digest, _| {
                take(digest);
                Ok(())
            })
        })
    }

    /// Hands over the digests of each bucket, repeated ones too. They have 32 bytes.
    pub(crate) fn each_bucket(
        &self,
        mut take: impl FnMut(Vec<[u8; 32]>) -> Result<(), SpoolError>,
    ) -> Result<(), SpoolError> {
        for bucket in &self.buckets {
            let mut digests = Vec::with_capacity(bucket.records() as usize);
            each_record(bucket, self.width, |digest, _| {
                digests.extend(digest.first_chunk::<32>().copied());
                Ok(())
            })?;
            take(digests)?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
