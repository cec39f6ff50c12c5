//! A radix partition of records into many buckets.
//!
//! Records that are read in another order than they come in would be fetched from all over memory. Partition
//! the records by destination first; each bucket then fits in the cache. Writing them takes a few hundred
//! streams of sequential writes.
//!
//! A bucket is a chain of blocks of shared memory. A block that was taken is the next one to be filled, so
//! partitioning buckets again needs hardly more memory than the records.

use crate::block::Block;
use crate::memory::{large_capacity, prefetch};

/// Approximate bytes of a block.
const BLOCK: usize = 1 << 13;

/// Bytes ahead of a write that are prefetched.
const PREFETCH_DISTANCE: usize = 64;

/// No block.
const NONE: u32 = u32::MAX;

/// A record of a fixed number of bytes. Its last bytes may be zeros, which then need not be kept.
pub trait Record: Copy {
    /// Bytes of a record.
    const BYTES: usize;

    /// Writes the record over the first [`BYTES`](Self::BYTES) bytes of `room`.
    fn write(self, room: &mut [u8]);

    /// Reads a record from the first `width` bytes of `room`, which has [`BYTES`](Self::BYTES) bytes.
    fn read(room: &[u8], width: usize) -> Self;
}

impl Record for u128 {
    const BYTES: usize = size_of::<u128>();

    #[inline(always)]
    fn write(self, room: &mut [u8]) {
        if let Some(room) = room.first_chunk_mut() {
            *room = self.to_le_bytes();
        }
    }

    #[inline(always)]
    fn read(room: &[u8], width: usize) -> Self {
        let whole = room.first_chunk().map_or(0, |bytes| Self::from_le_bytes(*bytes));
        whole & Self::MAX >> (8 * (Self::BYTES - width))
    }
}

/// A block and a number, always kept whole.
impl Record for (Block, u32) {
    const BYTES: usize = Block::BYTES + size_of::<u32>();

    #[inline(always)]
    fn write(self, room: &mut [u8]) {
        // Chunks of known length: the compiler copies slices by a call.
        if let Some((block, number)) = room.split_first_chunk_mut() {
            *block = self.0.to_bytes();
            if let Some(number) = number.first_chunk_mut() {
                *number = self.1.to_le_bytes();
            }
        }
    }

    #[inline(always)]
    fn read(room: &[u8], _: usize) -> Self {
        let block = room.first_chunk().map_or(Block::ZERO, |bytes| Block::from(*bytes));
        let number = room[Block::BYTES..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        (block, number)
    }
}

/// Records, partitioned into buckets.
pub struct Partitions<R> {
    /// Bytes of a record that are kept.
    width: usize,
    /// Records of a block, and bytes of a block; the last record is written whole.
    count: usize,
    bytes: usize,
    room: Vec<u8>,
    /// For each block, the block below it in its bucket, or the next block in the list of free blocks.
    below: Vec<u32>,
    free: u32,
    buckets: Vec<Bucket>,
    record: std::marker::PhantomData<R>,
}

/// A bucket: its highest block, where its next record goes, and how many more records fit the block.
#[derive(Clone, Copy)]
struct Bucket {
    at: usize,
    left: u32,
    block: u32,
}

impl<R: Record> Partitions<R> {
    /// `buckets` empty buckets of records of which `width` bytes are kept, with memory for `records` records
    /// in all.
    ///
    /// # Panics
    /// If the width is zero or more than that of a record.
    #[must_use]
    pub fn new(buckets: usize, width: usize, records: usize) -> Self {
        assert!((1..=R::BYTES).contains(&width), "some bytes of a record");
        let count = BLOCK / width;
        let bytes = count * width + R::BYTES - width;
        // Each bucket has at most one block that is not full.
        let blocks = records / count + buckets.min(records);
        Self {
            width,
            count,
            bytes,
            room: large_capacity(blocks * bytes),
            below: Vec::with_capacity(blocks),
            free: NONE,
            buckets: vec![Bucket { at: 0, left: 0, block: NONE }; buckets],
            record: std::marker::PhantomData,
        }
    }

    /// How many buckets there are.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Adds a record, whose bytes beyond the width are zero, to a bucket.
    ///
    /// # Panics
    /// If there is no such bucket.
    #[inline]
    pub fn push(&mut self, bucket: usize, record: R) {
        if self.buckets[bucket].left == 0 {
            self.grow(bucket);
        }
        let Bucket { at, left, .. } = &mut self.buckets[bucket];
        record.write(&mut self.room[*at..]);
        // The next record of this bucket is written after records of many other buckets. The processor's own
        // prefetchers do not follow so many streams.
        prefetch(&self.room, *at + PREFETCH_DISTANCE);
        *at += self.width;
        *left -= 1;
    }

    /// Takes the highest block off a bucket and moves its records to `records`, which is emptied first.
    /// Returns whether the bucket had a block.
    ///
    /// # Panics
    /// If there is no such bucket.
    pub fn take(&mut self, bucket: usize, records: &mut Vec<R>) -> bool {
        records.clear();
        records.reserve(self.count);
        self.take_each(bucket, |record| records.push(record))
    }

    /// Takes the highest block off a bucket and hands each record to `each`. Returns whether the bucket had a
    /// block.
    ///
    /// # Panics
    /// If there is no such bucket.
    #[inline]
    pub fn take_each(&mut self, bucket: usize, each: impl FnMut(R)) -> bool {
        let Bucket { left, block, .. } = self.buckets[bucket];
        if block == NONE {
            return false;
        }
        let start = block as usize * self.bytes;
        let room = &self.room[start..start + self.bytes];
        let count = self.count - left as usize;
        (0..count).map(|i| R::read(&room[i * self.width..], self.width)).for_each(each);
        let below = std::mem::replace(&mut self.below[block as usize], self.free);
        self.free = block;
        let at = if below == NONE { 0 } else { below as usize * self.bytes + self.count * self.width };
        self.buckets[bucket] = Bucket { at, left: 0, block: below };
        true
    }

    /// Gives a bucket one more block.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, bucket: usize) {
        let mut block = self.free;
        if block == NONE {
            block = self.below.len() as u32;
            self.below.push(NONE);
            self.room.resize(self.room.len() + self.bytes, 0);
        } else {
            self.free = self.below[block as usize];
        }
        let bucket = &mut self.buckets[bucket];
        self.below[block as usize] = bucket.block;
        *bucket = Bucket { at: block as usize * self.bytes, left: self.count as u32, block };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<R: Record>(width: usize, record: impl Fn(u64) -> R, values: impl Fn(&R) -> (u128, u32)) {
        for (buckets, records) in [(1, 0), (1, 1), (3, 5000), (40, 20_000), (700, 300)] {
            let mut partitions = Partitions::new(2 * buckets, width, records);
            let mut expected = vec![Vec::new(); buckets];
            for i in 0..records as u64 {
                let bucket = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % buckets;
                partitions.push(bucket, record(i));
                expected[bucket].push(values(&record(i)));
            }
            let room = partitions.room.len();
            // Each bucket moves to another bucket while it is taken, and then back.
            let mut taken = Vec::new();
            for (from, to) in
                (0..buckets).map(|i| (i, buckets + i)).chain((0..buckets).rev().map(|i| (buckets + i, i)))
            {
                while partitions.take(from, &mut taken) {
                    taken.iter().for_each(|record| partitions.push(to, *record));
                }
            }
            // A bucket that was not empty has one block that is not full. Nothing else needed memory.
            assert!(partitions.room.len() <= room + 2 * partitions.bytes);
            for (bucket, expected) in expected.iter_mut().enumerate() {
                let mut found = Vec::new();
                while partitions.take(bucket, &mut taken) {
                    found.extend(taken.iter().map(&values));
                }
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(&found, expected);
            }
            assert!((0..2 * buckets).all(|bucket| !partitions.take(bucket, &mut taken) && taken.is_empty()));
        }
    }

    #[test]
    fn what_was_dealt_to_a_pile_comes_back() {
        for width in [4, 11, 15, 16] {
            check(
                width,
                |i| u128::from(i).wrapping_mul(u128::MAX / 31) >> (128 - 8 * width),
                |record| (*record, 0),
            );
        }
        check(
            20,
            |i| (Block::from(u128::from(i) << 60), i as u32),
            |(block, number)| (block.to_u128(), *number),
        );
    }
}
