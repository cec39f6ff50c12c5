//! Keys by the region of the table in which their bands start.
//!
//! A table of millions of columns is visited region by region: what is read and written at random then stays in the first
//! or second cache, and the table itself moves through the caches once.

use vesica_crypto::band::Row;
use vesica_crypto::block::Block;
use vesica_crypto::memory::{large_vec, prefetch};

use super::rows::{BATCH, Rows};

/// Columns of a region, at least: with bands and values they fit the first cache.
const REGION_LOG: u32 = 10;

/// Regions, at most: more streams of writes than this the processor cannot follow.
const MOST_REGIONS: usize = 1 << 10;

/// Columns that rows may be apart and still be treated together.
const NEAR: usize = 8;

/// Regions of a table: numbers of 2^log columns.
#[derive(Clone, Copy)]
pub(super) struct Regions {
    log: u32,
    count: usize,
}

impl Regions {
    /// Regions of a table whose rows start at `starts` places.
    pub(super) fn of(starts: usize) -> Self {
        let mut log = REGION_LOG;
        while starts.div_ceil(1 << log) > MOST_REGIONS {
            log += 1;
        }
        Self { log, count: starts.div_ceil(1 << log) }
    }

    /// One region a start.
    pub(super) fn single(starts: usize) -> Self {
        Self { log: 0, count: starts }
    }

    pub(super) fn count(self) -> usize {
        self.count
    }

    /// Columns of a region.
    pub(super) fn columns(self) -> usize {
        1 << self.log
    }
}

/// A list of keys by region: the start of each row above the number of its key.
pub(super) struct Placed {
    records: Vec<u64>,
    /// Where the records of a region end; the next begin there.
    ends: Vec<u32>,
}

impl Placed {
    pub(super) fn new<const N: usize>(rows: &Rows<N>, regions: Regions, keys: &[Block]) -> Self {
        let mut starts = large_vec(0u32, keys.len());
        rows.start_of(keys, &mut starts);
        let mut ends = vec![0u32; regions.count];
        for start in &starts {
            ends[(start >> regions.log) as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // For now where the region begins; writing moves it to where it ends.
            sum += std::mem::replace(end, sum);
        }
        let mut records = large_vec(0u64, keys.len());
        for (index, start) in starts.iter().enumerate() {
            let place = &mut ends[(start >> regions.log) as usize];
            records[*place as usize] = u64::from(*start) << 32 | index as u64;
            *place += 1;
        }
        Self { records, ends }
    }

    /// Brings the records of each region into the order of their starts, to within [`NEAR`] columns.
    pub(super) fn sort_nearly(&mut self, regions: Regions) {
        let (mut sorted, mut first) = (Vec::new(), 0);
        let mut ends = vec![0u32; regions.columns() / NEAR];
        for end in &self.ends {
            let records = &mut self.records[first..*end as usize];
            first = *end as usize;
            let near = |record: u64| ((record >> 32) as usize & (regions.columns() - 1)) / NEAR;
            ends.fill(0);
            records.iter().for_each(|record| ends[near(*record)] += 1);
            let mut sum = 0;
            for end in &mut ends {
                sum += std::mem::replace(end, sum);
            }
            sorted.clear();
            sorted.extend_from_slice(records);
            for record in &sorted {
                let place = &mut ends[near(*record)];
                records[*place as usize] = *record;
                *place += 1;
            }
        }
    }

    /// The records of some regions, in their order.
    pub(super) fn records(&self, regions: core::ops::Range<usize>) -> &[u64] {
        let end_of = |region: usize| region.checked_sub(1).map_or(0, |last| self.ends[last] as usize);
        &self.records[end_of(regions.start)..end_of(regions.end)]
    }
}

/// A batch of rows.
pub(super) struct Batch<'a, const N: usize> {
    /// The numbers of their keys.
    pub(super) numbers: &'a [u32],
    pub(super) rows: &'a [Row<N>],
    keys: &'a [Block],
    coming: &'a [u64],
}

impl<const N: usize> Batch<'_, N> {
    /// Asks for a key of the next batch; to be called at row `i` of this one, for requests made all at once would wait for
    /// one another. Its number, if there is one.
    #[inline]
    pub(super) fn prefetch(&self, i: usize) -> Option<usize> {
        let number = *self.coming.get(i)? as u32 as usize;
        prefetch(self.keys, number);
        Some(number)
    }
}

/// Calls `work` for the rows of `records`, batch by batch.
#[inline]
pub(super) fn for_each_batch<const N: usize, E>(
    derived: &Rows<N>,
    keys: &[Block],
    records: &[u64],
    mut work: impl FnMut(&Batch<'_, N>) -> Result<(), E>,
) -> Result<(), E> {
    let mut rows = [Row { start: 0, band: [0; N] }; BATCH];
    let (mut numbers, mut chosen) = ([0; BATCH], [Block::ZERO; BATCH]);
    let mut coming = records;
    while !coming.is_empty() {
        let (records, after) = coming.split_at(coming.len().min(BATCH));
        coming = after;
        for (i, record) in records.iter().enumerate() {
            numbers[i] = *record as u32;
            chosen[i] = keys[numbers[i] as usize];
            rows[i].start = (record >> 32) as u32;
        }
        let count = records.len();
        derived.fill_bands(&chosen[..count], &mut rows[..count]);
        work(&Batch { numbers: &numbers[..count], rows: &rows[..count], keys, coming })?;
    }
    Ok(())
}
