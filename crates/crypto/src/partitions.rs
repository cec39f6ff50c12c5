//! Records dealt to many buckets, whose memory passes from buckets that are taken to buckets that grow.
//!
//! Many items that are wanted in another order than they come in would be fetched from all over memory one by one. Dealt to a
//! bucket for each stretch of that order first, a few hundred bytes apart in each of some hundred streams, they come back
//! a bucket at a time, which fits the cache. A bucket is a chain of blocks of one room: a block that was taken is the next one to be
//! filled, so that dealing from buckets to buckets again needs hardly more memory than the records.

use crate::block::Block;
use crate::memory::{large_capacity, prefetch};

/// Bytes of a block, about.
const BLOCK: usize = 1 << 13;

/// Bytes ahead that are on their way.
const AHEAD: usize = 64;

/// No block.
const NONE: u32 = u32::MAX;

/// What is dealt: so many bytes, of which the last ones may be zeros and then need not be kept.
pub trait Record: Copy {
    /// Bytes of a record.
    const BYTES: usize;

    /// Writes the record over the first [`BYTES`](Self::BYTES) of `room`.
    fn write(self, room: &mut [u8]);

    /// Reads the record of the first `width` bytes of `room`, which has [`BYTES`](Self::BYTES).
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

/// A block, and the number of what it belongs to; always kept whole.
impl Record for (Block, u32) {
    const BYTES: usize = Block::BYTES + size_of::<u32>();

    #[inline(always)]
    fn write(self, room: &mut [u8]) {
        // Chunks of known lengths, and no slices: those are copied by a call.
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

/// Records in buckets.
pub struct Partitions<R> {
    /// Bytes that are kept of a record.
    width: usize,
    /// Records of a block, and its bytes: the last record is written whole.
    count: usize,
    bytes: usize,
    room: Vec<u8>,
    /// The block below each block of a bucket, or the next one of those that are free.
    below: Vec<u32>,
    free: u32,
    buckets: Vec<Bucket>,
    record: std::marker::PhantomData<R>,
}

/// A bucket's highest block, where its next record goes and how many more there is room for.
#[derive(Clone, Copy)]
struct Bucket {
    at: usize,
    left: u32,
    block: u32,
}

impl<R: Record> Partitions<R> {
    /// So many empty buckets of records of which `width` bytes are kept; `records` are foreseen at a time, in all of them.
    ///
    /// # Panics
    /// If the width is zero or more than that of a record.
    #[must_use]
    pub fn new(buckets: usize, width: usize, records: usize) -> Self {
        assert!((1..=R::BYTES).contains(&width), "some bytes of a record");
        let count = BLOCK / width;
        let bytes = count * width + R::BYTES - width;
        // Each bucket has one block that is not full at most.
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

    /// Puts a record, zero beyond its width, on a bucket.
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
        // What comes next in this bucket is written after one record of each other bucket: no prefetcher of the processor follows so
        // many streams.
        prefetch(&self.room, *at + AHEAD);
        *at += self.width;
        *left -= 1;
    }

    /// Takes the highest block off a bucket: its records go to `records` in place of what was there. Says whether there was
    /// one.
    ///
    /// # Panics
    /// If there is no such bucket.
    pub fn take(&mut self, bucket: usize, records: &mut Vec<R>) -> bool {
        records.clear();
        records.reserve(self.count);
        self.take_each(bucket, |record| records.push(record))
    }

    /// Takes the highest block off a bucket and hands out its records. Says whether there was one.
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

    /// A block more for a bucket.
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
            let mut dealt = Partitions::new(2 * buckets, width, records);
            let mut expected = vec![Vec::new(); buckets];
            for i in 0..records as u64 {
                let bucket = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % buckets;
                dealt.push(bucket, record(i));
                expected[bucket].push(values(&record(i)));
            }
            let room = dealt.room.len();
            // Each bucket moves to another one while it is taken, and then back.
            let mut taken = Vec::new();
            for (from, to) in
                (0..buckets).map(|i| (i, buckets + i)).chain((0..buckets).rev().map(|i| (buckets + i, i)))
            {
                while dealt.take(from, &mut taken) {
                    taken.iter().for_each(|record| dealt.push(to, *record));
                }
            }
            // A bucket that was not empty has a block that is not full; no other memory was needed.
            assert!(dealt.room.len() <= room + 2 * dealt.bytes);
            for (bucket, expected) in expected.iter_mut().enumerate() {
                let mut found = Vec::new();
                while dealt.take(bucket, &mut taken) {
                    found.extend(taken.iter().map(&values));
                }
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(&found, expected);
            }
            assert!((0..2 * buckets).all(|bucket| !dealt.take(bucket, &mut taken) && taken.is_empty()));
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
