//! Records of a key and a row, sorted in place, and the index of each distinct item among them.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::ops::{ControlFlow, Range};

use rand_core::CryptoRng;
use vesica_crypto::hash::Oracle;
use vesica_crypto::memory::{large_capacity, prefetch};
use vesica_crypto::par;

use super::digest::dummy;
use super::parts::PrefixRange;
use super::{ItemsError, OnDuplicates, Width};
use crate::radix::{Prefixed, sort, sort_by_threads};

/// The row of a dummy; no row of a table has it.
pub(super) const DUMMY_ROW: u32 = u32::MAX;

/// Items that are hashed in one call.
const BATCH: usize = 1024;

/// Items of a thread, before it takes more.
const CHUNK: usize = 16 * BATCH;

/// How many items ahead the records are prefetched.
const PREFETCH_DISTANCE: usize = 16;

/// The number of a row in a record.
pub(super) fn row_number(row: u64) -> Result<u32, ItemsError> {
    u32::try_from(row).ok().filter(|row| *row != DUMMY_ROW).ok_or(ItemsError::TooManyRows)
}

/// One row's item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<const N: usize> {
    key: [u8; N],
    row: u32,
}

impl<const N: usize> Record<N> {
    pub(super) fn new(key: [u8; N], row: u32) -> Self {
        Record { key, row }
    }
}

impl<const N: usize> Prefixed for Record<N> {
    #[inline(always)]
    fn prefix(&self) -> u64 {
        self.key.first_chunk().copied().map_or(0, u64::from_be_bytes)
    }
}

/// By key, then by row. A comparison of eight bytes as a number nearly always decides.
impl<const N: usize> Ord for Record<N> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let by_prefix = self.prefix().cmp(&other.prefix());
        by_prefix.then_with(|| (self.key, self.row).cmp(&(other.key, other.row)))
    }
}

impl<const N: usize> PartialOrd for Record<N> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Records; [`Records::sort`] sorts them.
pub(super) struct Records<const N: usize> {
    records: Vec<Record<N>>,
    /// The index of each item's first record; none while every record is an item.
    starts: Option<Vec<u32>>,
}

/// The three widths an item can have.
pub(super) enum Store {
    Native(Records<8>),
    Narrow(Records<16>),
    Wide(Records<32>),
}

/// Runs one expression on the records of any width.
macro_rules! on_store {
    ($store:expr, $name:ident => $body:expr) => {
        match $store {
            $crate::items::store::Store::Native($name) => $body,
            $crate::items::store::Store::Narrow($name) => $body,
            $crate::items::store::Store::Wide($name) => $body,
        }
    };
}
pub(super) use on_store;

impl<const N: usize> Records<N> {
    pub(super) fn with_capacity(rows: usize) -> Self {
        Records { records: large_capacity(rows), starts: None }
    }

    /// Adds one key for each row.
    pub(super) fn append(&mut self, keys: &[[u8; N]], rows: &[u32]) {
        self.make_room(keys.len());
        self.records.extend(keys.iter().zip(rows).map(|(key, row)| Record::new(*key, *row)));
    }

    /// Takes all records of another table's part, whose rows count from 0, as those from row `first` on.
    ///
    /// # Errors
    /// A row has no number.
    pub(super) fn take_from(&mut self, part: &mut Self, first: u64) -> Result<(), ItemsError> {
        let Some(last) = part.records.iter().map(|record| record.row).max() else { return Ok(()) };
        row_number(first + u64::from(last))?;
        self.make_room(part.records.len());
        let moved = |record: Record<N>| Record { row: record.row + first as u32, ..record };
        self.records.extend(part.records.drain(..).map(moved));
        Ok(())
    }

    fn make_room(&mut self, more: usize) {
        if self.records.capacity() - self.records.len() < more {
            // Growth by a quarter stays within the memory budget; doubling would not.
            self.records.reserve_exact(more.max(self.records.len() / 4 + 1024));
        }
    }

    /// Hands over the records by their rows, and keeps none of them. `Break` ends it.
    pub(super) fn drain(&mut self, mut take: impl FnMut(u64, &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        // Keys that are hashed in batches may stand behind those of later rows.
        if !self.records.is_sorted_by_key(|record| record.row) {
            self.records.sort_unstable_by_key(|record| record.row);
        }
        let taken = self.records.iter().try_for_each(|record| take(record.row.into(), &record.key));
        self.records.clear();
        taken
    }

    /// Sorts the records and drops all but the first of each key. Returns the first two rows with one key.
    pub(super) fn keep_first(&mut self) -> Option<(u64, u64)> {
        sort(&mut self.records);
        if self.repeated() == 0 {
            return None;
        }
        let rows = self.first_duplicate();
        self.records.dedup_by_key(|record| record.key);
        Some(rows)
    }

    /// Puts the number of each record in place of its row.
    pub(super) fn renumber(&mut self) {
        (0..).zip(&mut self.records).for_each(|(number, record)| record.row = number);
    }

    /// Sorts the records, handles duplicates, and returns how many there are.
    pub(super) fn sort(&mut self, threads: usize, on_duplicates: OnDuplicates) -> Result<u64, ItemsError> {
        sort_by_threads(threads, &mut self.records);
        let duplicates = self.repeated();
        let mut left = duplicates;
        if duplicates > 0 {
            match on_duplicates {
                OnDuplicates::All => {}
                OnDuplicates::First => {
                    self.records.dedup_by_key(|record| record.key);
                    left = 0;
                }
                OnDuplicates::Error => {
                    let (first, second) = self.first_duplicate();
                    return Err(ItemsError::Duplicate { first, second });
                }
            }
        }
        self.records.shrink_to_fit();
        self.index(left);
        Ok(duplicates as u64)
    }

    /// How many records have the key of the record before.
    fn repeated(&self) -> usize {
        self.records.windows(2).filter(|pair| pair[0].key == pair[1].key).count()
    }

    /// The pair of equal keys whose second row is the first such row of the table.
    fn first_duplicate(&self) -> (u64, u64) {
        let (mut first, mut second) = (0, u32::MAX);
        for group in self.records.chunk_by(|a, b| a.key == b.key) {
            if let [a, b, ..] = group
                && b.row < second
            {
                (first, second) = (a.row, b.row);
            }
        }
        (first.into(), second.into())
    }

    /// Finds the first record of each item, given how many records have the key of the record before.
    fn index(&mut self, repeated: usize) {
        let is_start = |i: usize| i == 0 || self.records[i - 1].key != self.records[i].key;
        self.starts = (repeated > 0).then(|| {
            let mut starts = Vec::with_capacity(self.records.len() - repeated);
            starts.extend((0..self.records.len()).filter(|i| is_start(*i)).map(|i| i as u32));
            starts
        });
    }

    /// Adds dummies whose prefixes are in `range`. The records must be sorted.
    pub(super) fn pad(
        &mut self,
        dummies: usize,
        width: Width,
        range: PrefixRange,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), ItemsError> {
        let total = self.records.len().checked_add(dummies).ok_or(ItemsError::TooManyRows)?;
        if total > u32::MAX as usize {
            return Err(ItemsError::TooManyRows);
        }
        self.starts = None;
        let sorted = self.records.len();
        self.records.reserve_exact(dummies);
        for _ in 0..dummies {
            let (mut random, mut key) = ([0; 32], [0; N]);
            rng.fill_bytes(&mut random);
            dummy(width, &random, &mut key);
            if let Some(prefix) = key.first_chunk_mut() {
                *prefix = range.at(u64::from_be_bytes(*prefix)).to_be_bytes();
            }
            self.records.push(Record::new(key, DUMMY_ROW));
        }
        // They go to their places among the others, so that the position of a dummy says nothing.
        if dummies < sorted / 4 {
            let mut drawn = self.records.split_off(sorted);
            sort(&mut drawn);
            self.merge(&drawn);
        } else {
            sort(&mut self.records);
        }
        self.index(self.repeated());
        Ok(())
    }

    /// Adds sorted records to sorted ones.
    fn merge(&mut self, more: &[Record<N>]) {
        let (mut mine, mut theirs) = (self.records.len(), more.len());
        self.records.extend_from_slice(more);
        // From the last on, so that no record is overwritten before it has moved.
        while theirs > 0 {
            let end = mine + theirs - 1;
            if mine > 0 && self.records[mine - 1] > more[theirs - 1] {
                mine -= 1;
                self.records[end] = self.records[mine];
            } else {
                theirs -= 1;
                self.records[end] = more[theirs];
            }
        }
    }

    /// The items hashed by `oracle`, each with its number in place of rows, sorted. Dummies are left out.
    pub(super) fn keyed(&self, threads: usize, oracle: &Oracle) -> Self {
        let mut records: Vec<Record<N>> = large_capacity(self.len());
        records.resize(self.len(), Record::new([0; N], DUMMY_ROW));
        let Ok(()) = par::fill_chunks(threads, CHUNK, &mut records, |chunk, records| {
            let (mut bytes, mut hashed) = (Vec::with_capacity(BATCH * N), vec![0; BATCH * N]);
            for (batch, records) in records.chunks_mut(BATCH).enumerate() {
                let begin = chunk * CHUNK + batch * BATCH;
                bytes.clear();
                self.gather(records.len(), |i| begin + i, &mut bytes);
                let hashed = &mut hashed[..bytes.len()];
                oracle.hash_batch(&bytes, N, hashed, N);
                for (item, (record, key)) in (begin..).zip(records.iter_mut().zip(hashed.as_chunks().0)) {
                    if self.row(self.range(item).start) != DUMMY_ROW {
                        // Items are numbered in 32 bits.
                        *record = Record::new(*key, item as u32);
                    }
                }
            }
            Ok::<_, Infallible>(())
        });
        records.retain(|record| record.row != DUMMY_ROW);
        sort_by_threads(threads, &mut records);
        Records { records, starts: None }
    }

    /// How many of the sorted records have a prefix below `end`.
    pub(super) fn records_below(&self, end: u128) -> usize {
        self.records.partition_point(|record| u128::from(record.prefix()) < end)
    }

    /// A copy of some of the sorted records.
    pub(super) fn of_records(&self, range: Range<usize>) -> Self {
        let mut copy = Records { records: self.records[range].to_vec(), starts: None };
        copy.index(copy.repeated());
        copy
    }

    pub(super) fn len(&self) -> usize {
        self.starts.as_ref().map_or(self.records.len(), Vec::len)
    }

    /// The records of item `index`.
    #[inline]
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        match &self.starts {
            None => index..index + 1,
            Some(starts) => {
                let end = starts.get(index + 1).map_or(self.records.len(), |start| *start as usize);
                starts[index] as usize..end
            }
        }
    }

    #[inline]
    pub(super) fn key(&self, index: usize) -> &[u8; N] {
        let record = self.starts.as_ref().map_or(index, |starts| starts[index] as usize);
        &self.records[record].key
    }

    /// Appends the keys of items `item(0)`, …, `item(count - 1)`.
    pub(super) fn gather(&self, count: usize, item: impl Fn(usize) -> usize, bytes: &mut Vec<u8>) {
        bytes.reserve(count * N);
        for i in 0..count {
            if i + PREFETCH_DISTANCE < count {
                prefetch(&self.records, self.range(item(i + PREFETCH_DISTANCE)).start);
            }
            bytes.extend_from_slice(self.key(item(i)));
        }
    }

    #[inline]
    pub(super) fn row(&self, record: usize) -> u32 {
        self.records[record].row
    }
}
