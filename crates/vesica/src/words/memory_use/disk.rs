//! What a memory budget is spent on, and how many parts a run needs to stay within it.
//!
//! ```text
//! budget ≥ 64 MiB                        the process, its connections, the reader of a text
//!        + R                             what the reader of a columnar table has in memory at a time
//!        + rows / 8                      the rows that match, a bit each
//!        + the largest of
//!            400 · keys in memory        the table's items, and what the default protocol takes for them in one part
//!            1024 · block                buckets, while the table is read; 32 KiB or 4 KiB each
//!            B · block                   parts, while the set is split
//!            T · 58 · n / 1024           distinct digests of the buckets that are counted at once
//!            T · 2 MiB                   blocks of buckets, while T threads split the set
//!            lanes · (58 · M + protocol's formula at M + 9 MiB)     the parts that are played at once
//! ```
//!
//! The number of parts is the least from ⌈n / 2^20⌉ on, doubled from step to step, with which a part fits, where n is the
//! larger set. Parts of fewer than 2^16 items on average are not made: they would cost more than they save.

use vesica_encode::items::Width;
use vesica_encode::parts::Parts;
use vesica_spill::Block;

use crate::words::memory_use::side::PartCosts;
use crate::words::parts::{LEAST_PART, most_parts, numbers_of_parts};

/// Bucket files of keys on disk.
pub(crate) const BUCKETS: usize = 1 << BUCKET_BITS;
pub(crate) const BUCKET_BITS: u32 = 10;

/// Bytes of a row's number in a record.
pub(crate) const ROW: usize = 8;

const MIB: u64 = 1 << 20;

/// The process, its connections, and the reader of a text.
const PROCESS: u64 = 64 * MIB;

/// Bytes that a key in memory takes: as an item of the table, and in a run of the default protocol in one part. A side with
/// more keys than that allows would have to split its set anyway.
const BYTES_PER_KEY: u64 = 400;

/// Bytes that an item of a part takes while the part is made.
const BYTES_PER_ITEM: u64 = 58;

/// Bytes that a connection of a part takes: what has arrived and was not taken yet, and its threads.
pub(crate) const CONNECTION: u64 = 9 * MIB;

/// Blocks of a bucket that a thread splits at a time.
pub(crate) const PIECE_BLOCKS: u64 = 8;

/// Bytes that splitting takes for each thread: such blocks, what is made of them, and what waits for their turn.
const SPLIT_BYTES: u64 = 2 * MIB;

/// Most threads that count or split at once.
const MOST_SPLITTERS: usize = 16;

/// How a budget is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    total: u64,
    /// What the reader of the table has in memory at a time.
    reader: u64,
}

impl MemoryPlan {
    /// A budget of so many bytes for a table whose reader has so many in memory at a time.
    pub(crate) const fn new(total: u64, reader: u64) -> Self {
        MemoryPlan { total, reader }
    }

    /// The whole budget.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The least budget for a table of so many rows.
    pub(crate) fn least(&self, rows: u64) -> u64 {
        let buckets = (BUCKETS * Block::SMALL.bytes()) as u64;
        (PROCESS + self.reader).saturating_add(rows / 8).saturating_add(buckets)
    }

    /// What is left for keys, buckets and parts of a table of so many rows.
    fn left(&self, rows: u64) -> u64 {
        self.total.saturating_sub(PROCESS + self.reader + rows / 8)
    }

    /// How many keys may be in memory. Fewer than the keys of a small part never go to disk.
    pub(crate) fn keys(&self) -> usize {
        let left = self.left(0).saturating_sub((BUCKETS * self.block(BUCKETS).bytes()) as u64);
        usize::try_from((left / BYTES_PER_KEY).max(LEAST_PART)).unwrap_or(usize::MAX)
    }

    /// The blocks of so many files that are written at once.
    pub(crate) fn block(&self, files: usize) -> Block {
        let large = (files * Block::LARGE.bytes()) as u64;
        if large > self.left(0) / 4 { Block::SMALL } else { Block::LARGE }
    }

    /// How many parts the run needs, `least` at least, for sets of `items` items at most. `costs` tells what a part takes. If nothing fits, the result is the most that there may be.
    pub(crate) fn parts(
        &self,
        rows: u64,
        items: u64,
        least: u32,
        costs: impl Fn(Parts) -> Option<PartCosts>,
    ) -> u32 {
        let fits = |count: u32| {
            let costs = Parts::new(count).ok().and_then(&costs);
            costs.is_some_and(|costs| lane(costs) <= self.left(rows))
        };
        numbers_of_parts(items, least).find(|count| fits(*count)).unwrap_or_else(|| most_parts(items, least))
    }

    /// How many of so many threads may count the keys of so many rows at once.
    pub(crate) fn counters(&self, threads: usize, rows: u64) -> usize {
        self.at_once(threads, rows, BYTES_PER_ITEM.saturating_mul(rows / BUCKETS as u64))
    }

    /// How many of them may split the keys at once.
    pub(crate) fn splitters(&self, threads: usize, rows: u64) -> usize {
        self.at_once(threads, rows, SPLIT_BYTES)
    }

    /// How many threads have room that take so much each. A quarter is what the split writes.
    fn at_once(&self, threads: usize, rows: u64, each: u64) -> usize {
        let room = self.left(rows) / 4 * 3 / each.max(1);
        threads.min(MOST_SPLITTERS).min(usize::try_from(room).unwrap_or(usize::MAX)).max(1)
    }

    /// The most bytes that a run takes that plays so many such parts at once.
    pub(crate) fn needed(&self, rows: u64, costs: PartCosts, lanes: u16) -> u64 {
        let lanes = lane(costs).saturating_mul(lanes.into());
        (PROCESS + self.reader).saturating_add(rows / 8).saturating_add(lanes)
    }

    /// How many such parts may be in memory at once, if one may.
    pub(crate) fn lanes(&self, rows: u64, costs: PartCosts) -> u16 {
        let lanes = self.left(rows) / lane(costs).max(1);
        u16::try_from(lanes.max(1)).unwrap_or(u16::MAX)
    }
}

/// The most bytes of disk that the keys of so many rows take, in buckets of such blocks and while they are split too; and
/// their matches, on a side that learns them.
pub(crate) fn bytes_on_disk(rows: u64, width: Width, block: Block, learns: bool) -> u64 {
    let record = (width.bytes() + ROW) as u64;
    let matched = if learns { rows.saturating_mul(width.bytes() as u64) } else { 0 };
    // The tags and the rest of each block are below a 32nd; a bucket is there twice while it is split.
    let records = rows.saturating_mul(record).saturating_add(matched);
    records
        .saturating_add(records / 32)
        .saturating_add(records / 512)
        .saturating_add((BUCKETS * block.bytes()) as u64)
}

/// What one part takes, from its items to its matches, and its connection.
fn lane(PartCosts { items, protocol }: PartCosts) -> u64 {
    items.saturating_mul(BYTES_PER_ITEM).saturating_add(protocol).saturating_add(CONNECTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A protocol of 250 bytes an item.
    fn costs(items: u64) -> impl Fn(Parts) -> Option<PartCosts> {
        move |parts| {
            let bound = parts.bound(items);
            Some(PartCosts { items: bound, protocol: 250 * bound })
        }
    }

    #[test]
    fn parts_are_of_a_million_items_unless_memory_is_short() {
        let parts =
            |mib: u64, log: u32| MemoryPlan::new(mib * MIB, 0).parts(1 << log, 1 << log, 2, costs(1 << log));
        assert_eq!([parts(4096, 20), parts(4096, 24), parts(4096, 30)], [2, 16, 1024]);
        assert_eq!([parts(512, 24), parts(512, 30), parts(300, 24)], [16, 1024, 32]);
        assert_eq!([parts(128, 24), parts(96, 20)], [128, 16]);
        // No smaller parts than these.
        assert_eq!([parts(70, 20), parts(64, 20), parts(0, 17)], [16, 16, 2]);
    }

    #[test]
    fn what_fits_is_what_is_needed() {
        for (mib, log) in [(480, 30), (4096, 24), (200, 22)] {
            let (rows, plan) = (1 << log, MemoryPlan::new(mib * MIB, 8 * MIB));
            let costs = costs(rows);
            let count = plan.parts(rows, rows, 2, &costs);
            let needed = |count| plan.needed(rows, costs(Parts::new(count).unwrap()).unwrap(), 1);
            assert!(needed(count) <= plan.total(), "{mib} {log} {count}");
            let fewer = numbers_of_parts(rows, 2).take_while(|fewer| *fewer < count);
            assert!(fewer.map(needed).all(|needed| needed > plan.total()));
        }
    }

    #[test]
    fn as_many_parts_are_in_memory_at_once_as_fit() {
        let (rows, costs) = (1 << 30, costs(1 << 30)(Parts::new(1024).unwrap()).unwrap());
        for mib in [600, 1024, 4096] {
            let plan = MemoryPlan::new(mib * MIB, 64 * MIB);
            let lanes = plan.lanes(rows, costs);
            assert!(plan.needed(rows, costs, lanes) <= mib * MIB, "{mib}");
            assert!(plan.needed(rows, costs, lanes + 1) > mib * MIB, "{mib}");
        }
        // A part, and its connection.
        let needed = |lanes| MemoryPlan::new(0, 0).needed(rows, costs, lanes);
        assert_eq!(needed(2) - needed(1), 58 * costs.items + costs.protocol + 9 * MIB);
        let lanes = [500, 1024, 4096].map(|mib| MemoryPlan::new(mib * MIB, 0).lanes(rows, costs));
        assert_eq!(lanes, [1, 2, 12]);
    }

    #[test]
    fn as_many_threads_count_and_split_as_there_is_room_for() {
        let plan = |mib: u64| MemoryPlan::new(mib * MIB, 0);
        assert_eq!([0, 1, 3, 8, 99].map(|threads| plan(4096).splitters(threads, 0)), [1, 1, 3, 8, 16]);
        assert_eq!([0, 64, 66, 72, 80].map(|mib| plan(mib).splitters(8, 0)), [1, 1, 1, 3, 6]);
        // 58 bytes for each key of a bucket, of which there are 1024.
        let counters = |mib, rows| plan(mib).counters(8, rows);
        assert_eq!([counters(70, 1 << 20), counters(1024, 1 << 30), counters(512, 1 << 30)], [8, 8, 4]);
    }

    #[test]
    fn keys_and_buckets_fit_together() {
        for mib in [110, 128, 256, 1024, 65_536] {
            let plan = MemoryPlan::new(mib * MIB, 4 * MIB);
            let buckets = (BUCKETS * plan.block(BUCKETS).bytes()) as u64;
            let keys = plan.keys() as u64 * BYTES_PER_KEY;
            assert!(keys + buckets + 68 * MIB <= mib * MIB, "{mib}");
            assert!(plan.least(0) <= mib * MIB);
        }
        let plan = MemoryPlan::new(4096 * MIB, 0);
        assert_eq!([plan.block(1024), plan.block(65_536)], [Block::LARGE, Block::SMALL]);
        assert_eq!(MemoryPlan::new(0, 0).keys() as u64, LEAST_PART);
    }
}
