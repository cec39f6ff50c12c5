//! The last step of most protocols: which of my tags are among the other party's?
//!
//! Tags are outputs of a hash: numbers of at most 128 bits whose low bits are uniform. Both lists are
//! partitioned by the lowest bits of their tags, so that a bucket and its hash table fit the cache. Each
//! bucket of mine becomes a hash table of eight-byte slots, half of them empty, and the other party's tags of
//! that bucket are looked up in it. The partition writes forward in every bucket; all other steps read and
//! write memory in order.
//!
//! The hash tables hold only my own tags. The other party's tags may be anything, also all equal: each costs
//! one lookup and yields at most one pair.

mod ascending;
mod stream;

use std::convert::Infallible;
use std::ops::Range;

use crate::block::Block;
use crate::memory::large_vec;
use crate::par;

pub use ascending::{Ascending, Walk};
pub use stream::{Collection, Lookup};

/// A list of tags.
pub trait Tags: Sync {
    /// How many there are.
    fn count(&self) -> usize;
    /// Tag number `index`, below `count`.
    fn tag(&self, index: usize) -> u128;
}

macro_rules! tags {
    ($($list:ty: $number:path),*) => {$(
        impl Tags for $list {
            #[inline]
            fn count(&self) -> usize {
                self.len()
            }

            #[inline]
            fn tag(&self, index: usize) -> u128 {
                $number(self[index])
            }
        }
    )*};
}

tags!([u128]: u128::from, Vec<u128>: u128::from, [u64]: u128::from, [Block]: Block::to_u128);

impl<T: Tags + ?Sized> Tags for &T {
    #[inline]
    fn count(&self) -> usize {
        (**self).count()
    }

    #[inline]
    fn tag(&self, index: usize) -> u128 {
        (**self).tag(index)
    }
}

/// Tags side by side in a buffer, as on the wire: little-endian numbers of a fixed width.
#[derive(Clone, Copy)]
pub struct PackedTags<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> PackedTags<'a> {
    /// The tags of `width` bytes in `bytes`.
    ///
    /// # Panics
    /// If the width is not 1 to 16, or `bytes` is not a whole number of tags.
    #[must_use]
    pub fn new(bytes: &'a [u8], width: usize) -> Self {
        assert!((1..=16).contains(&width) && bytes.len().is_multiple_of(width), "whole tags");
        Self { bytes, width }
    }
}

impl Tags for PackedTags<'_> {
    #[inline]
    fn count(&self) -> usize {
        self.bytes.len() / self.width
    }

    #[inline]
    fn tag(&self, index: usize) -> u128 {
        let rest = &self.bytes[index * self.width..];
        let padded = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut padded = [0; 16];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        });
        u128::from_le_bytes(padded) & u128::MAX >> (128 - 8 * self.width)
    }
}

/// Tags of mine in a bucket, on average, up to the largest number of buckets.
const BUCKET: usize = 1 << 12;

/// Most buckets: the processor cannot follow more streams of writes.
const MOST_BUCKETS: usize = 1 << 10;

/// Tags that one thread partitions as fast as several.
const ALONE: usize = 1 << 15;

/// Buckets of one task, which share the memory of a hash table.
const CHUNK: usize = 16;

/// The pairs (i, j) with `mine.tag(i) == theirs.tag(j)`, in an order that depends on the tags alone.
///
/// Of several equal tags of mine, only the first occurs in pairs. Of several equal tags of theirs, all do.
///
/// # Panics
/// If a list has 2^32 tags or more.
pub fn join<M, T>(threads: usize, mine: &M, theirs: &T) -> Vec<(u32, u32)>
where
    M: Tags + ?Sized,
    T: Tags + ?Sized,
{
    let buckets = (mine.count() / BUCKET).next_power_of_two().min(MOST_BUCKETS);
    let my_buckets = Buckets::by_lowest(threads, mine, buckets);
    let their_buckets = Buckets::by_lowest(threads, theirs, buckets);
    let mut found: Vec<Vec<(u32, u32)>> = vec![Vec::new(); buckets.div_ceil(CHUNK)];
    let Ok(()) = par::fill_chunks::<_, Infallible, _>(threads, 1, &mut found, |chunk, found| {
        let mut table = Table::default();
        for bucket in (chunk * CHUNK..buckets).take(CHUNK) {
            let (mine, theirs) = (my_buckets.bucket(bucket), their_buckets.bucket(bucket));
            table.fill(&mine, buckets.ilog2());
            found[0].reserve(mine.records.len().min(theirs.records.len()));
            for j in 0..theirs.records.len() {
                if let Some(i) = table.find(&mine, &theirs, j) {
                    found[0].push((mine.records[i] as u32, theirs.records[j] as u32));
                }
            }
        }
        Ok(())
    });
    found.concat()
}

/// The low 96 bits of a tag, above 32 bits for its number in the list or the number of its item.
type Record = u128;

/// Where a thread writes its records of each bucket, and the high bits of their tags.
#[derive(Default)]
struct Places<'a> {
    records: Vec<std::slice::IterMut<'a, Record>>,
    high: Vec<std::slice::IterMut<'a, u32>>,
}

/// A list of tags partitioned by some of their bits; each bucket keeps the order of the list.
struct Buckets {
    records: Vec<Record>,
    /// The high 32 bits of each tag; none where they are zero for all.
    high: Vec<u32>,
    /// Where each bucket ends and the next begins.
    ends: Vec<usize>,
}

impl Buckets {
    /// Partitions tags by their lowest bits, each with its number in the list.
    fn by_lowest<T: Tags + ?Sized>(threads: usize, tags: &T, buckets: usize) -> Self {
        Self::split(threads, tags, buckets, |tag| tag as usize & (buckets - 1), |i| i as u32)
    }

    /// Partitions tags by `bucket_of`, each with `number` of its index.
    fn split<T: Tags + ?Sized>(
        threads: usize,
        tags: &T,
        buckets: usize,
        bucket_of: impl Fn(u128) -> usize + Sync,
        number: impl Fn(usize) -> u32 + Sync,
    ) -> Self {
        assert!(u32::try_from(tags.count()).is_ok(), "fewer than 2^32 tags");
        // Each thread counts the tags of its share, and then writes them to the place of its own in each bucket.
        let each = tags.count().div_ceil(threads.max(1)).max(ALONE);
        let shares: Vec<Range<usize>> =
            (0..tags.count()).step_by(each).map(|at| at..tags.count().min(at + each)).collect();
        let mut counts: Vec<(u128, Vec<usize>)> = shares.iter().map(|_| (0, vec![0; buckets])).collect();
        let Ok(()) = par::for_each(threads, shares.iter().zip(&mut counts), |_, (share, (bits, counts))| {
            for i in share.clone() {
                let tag = tags.tag(i);
                *bits |= tag;
                counts[bucket_of(tag)] += 1;
            }
            Ok::<_, Infallible>(())
        });
        let is_high = counts.iter().any(|(bits, _)| bits >> 96 != 0);
        let mut records = large_vec(0, tags.count());
        let mut high = large_vec(0, if is_high { tags.count() } else { 0 });
        let (mut ends, mut sum) = (Vec::with_capacity(buckets), 0);
        let mut places: Vec<Places<'_>> = shares.iter().map(|_| Places::default()).collect();
        let (mut records_left, mut high_left) = (&mut records[..], &mut high[..]);
        for bucket in 0..buckets {
            for ((_, counts), places) in counts.iter().zip(&mut places) {
                let count = counts[bucket];
                sum += count;
                let (here, left) = std::mem::take(&mut records_left).split_at_mut(count);
                records_left = left;
                places.records.push(here.iter_mut());
                if is_high {
                    let (here, left) = std::mem::take(&mut high_left).split_at_mut(count);
                    high_left = left;
                    places.high.push(here.iter_mut());
                }
            }
            ends.push(sum);
        }
        let Ok(()) = par::for_each(threads, shares.into_iter().zip(places), |_, (share, mut places)| {
            for i in share {
                let tag = tags.tag(i);
                let bucket = bucket_of(tag);
                // There are as many places as were counted.
                if let Some(record) = places.records[bucket].next() {
                    *record = tag << u32::BITS | u128::from(number(i));
                }
                if let Some(high) = places.high.get_mut(bucket).and_then(Iterator::next) {
                    *high = (tag >> 96) as u32;
                }
            }
            Ok::<_, Infallible>(())
        });
        Self { records, high, ends }
    }

    fn bucket(&self, bucket: usize) -> Bucket<'_> {
        let range = if bucket == 0 { 0 } else { self.ends[bucket - 1] }..self.ends[bucket];
        Bucket { high: self.high.get(range.clone()).unwrap_or_default(), records: &self.records[range] }
    }
}

/// The tags of one bucket.
#[derive(Clone, Copy)]
struct Bucket<'a> {
    records: &'a [Record],
    high: &'a [u32],
}

impl Bucket<'_> {
    #[inline]
    fn high(&self, position: usize) -> u32 {
        self.high.get(position).copied().unwrap_or(0)
    }

    /// Whether tag i of this bucket is the tag of a record.
    #[inline]
    fn equals(&self, i: usize, record: Record, high: u32) -> bool {
        (self.records[i] ^ record) >> u32::BITS == 0 && self.high(i) == high
    }
}

/// Open addressing over the tags of one bucket: a slot is empty or holds 32 bits of a tag and a position.
#[derive(Default)]
struct Table {
    slots: Vec<u64>,
    /// How many lowest bits all tags of the bucket have in common.
    skip: u32,
}

/// No position of a bucket is as large.
const EMPTY: u64 = u64::MAX;

impl Table {
    /// Fills the table with the tags of a bucket, which agree in the lowest `skip` bits. Of equal tags it
    /// takes the first.
    fn fill(&mut self, mine: &Bucket<'_>, skip: u32) {
        self.skip = skip;
        self.slots.clear();
        self.slots.resize((mine.records.len() * 5 / 2).next_power_of_two(), EMPTY);
        for position in 0..mine.records.len() {
            if let Err(slot) = self.search(mine, mine, position) {
                self.slots[slot] = (position as u64) << u32::BITS | u64::from(check(mine.records[position]));
            }
        }
    }

    /// The position in `mine`, which filled the table, of tag number `wanted` of `theirs`.
    #[inline]
    fn find(&self, mine: &Bucket<'_>, theirs: &Bucket<'_>, wanted: usize) -> Option<usize> {
        self.search(mine, theirs, wanted).ok()
    }

    /// As [`find`](Self::find), or the empty slot where the search ended.
    #[inline]
    fn search(&self, mine: &Bucket<'_>, theirs: &Bucket<'_>, wanted: usize) -> Result<usize, usize> {
        self.search_for(mine, theirs.records[wanted], theirs.high(wanted))
    }

    #[inline]
    fn search_for(&self, mine: &Bucket<'_>, record: Record, high: u32) -> Result<usize, usize> {
        let last = self.slots.len() - 1;
        let mut slot = (record >> u32::BITS >> self.skip) as usize & last;
        while self.slots[slot] != EMPTY {
            counted::probe();
            let position = (self.slots[slot] >> u32::BITS) as usize;
            if self.slots[slot] as u32 == check(record) && mine.equals(position, record, high) {
                return Ok(position);
            }
            slot = (slot + 1) & last;
        }
        Err(slot)
    }
}

/// Occupied slots that searches of this thread have visited so far, for tests of the cost of a hostile list.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn probes() -> u64 {
    counted::PROBES.get()
}

/// Counts the work of searches, for tests.
mod counted {
    #[cfg(any(test, feature = "testing"))]
    std::thread_local! {
        pub(super) static PROBES: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
    }

    #[inline(always)]
    pub(super) fn probe() {
        #[cfg(any(test, feature = "testing"))]
        PROBES.set(PROBES.get() + 1);
    }
}

/// Bits 32 to 63 of a tag, which a slot repeats. The bits below choose bucket and slot.
#[inline]
fn check(record: Record) -> u32 {
    (record >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;
    use std::collections::HashMap;

    fn reference<M: Tags + ?Sized, T: Tags + ?Sized>(mine: &M, theirs: &T) -> Vec<(u32, u32)> {
        let mut first = HashMap::new();
        for i in 0..mine.count() {
            first.entry(mine.tag(i)).or_insert(i as u32);
        }
        let pairs = (0..theirs.count()).filter_map(|j| Some((*first.get(&theirs.tag(j))?, j as u32)));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        pairs
    }

    fn check<M: Tags + ?Sized, T: Tags + ?Sized>(mine: &M, theirs: &T) -> usize {
        let expected = reference(mine, theirs);
        let one = join(1, mine, theirs);
        for threads in [2, 3] {
            assert!(join(threads, mine, theirs) == one, "the order depends on the threads");
        }
        let mut sorted = one;
        sorted.sort_unstable();
        assert!(sorted == expected, "{} of {} and {}", expected.len(), mine.count(), theirs.count());
        looked_up(mine, theirs, &expected);
        ascending(mine, theirs, &expected);
        expected.len()
    }

    /// Of tags of at most 106 bits.
    fn looked_up<M: Tags + ?Sized, T: Tags + ?Sized>(mine: &M, theirs: &T, expected: &[(u32, u32)]) {
        let bits = (0..mine.count()).map(|i| 128 - mine.tag(i).leading_zeros()).max().unwrap_or(1);
        for bits in [bits, 106].into_iter().filter(|most| (bits..=106).contains(most)) {
            let mut collection = Collection::new(bits, mine.count());
            (0..mine.count()).for_each(|i| collection.push(mine.tag(i), i as u32));
            let mut found = Vec::new();
            Lookup::new(collection).find(theirs, |i, j| found.push((i, j as u32)));
            assert!(found.is_sorted_by_key(|(_, j)| *j));
            // Any of several equal ones.
            let matches = found.iter().zip(expected_by_theirs(expected));
            assert!(matches.into_iter().all(|((i, j), (first, theirs))| {
                *j == theirs && mine.tag(*i as usize) == mine.tag(first as usize)
            }));
            assert_eq!(found.len(), expected.len());
        }
    }

    fn expected_by_theirs(expected: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut expected = expected.to_vec();
        expected.sort_unstable_by_key(|(_, j)| *j);
        expected
    }

    fn ascending<M: Tags + ?Sized, T: Tags + ?Sized>(mine: &M, theirs: &T, expected: &[(u32, u32)]) {
        let mine: Vec<u128> = (0..mine.count()).map(|i| mine.tag(i)).collect();
        let mut theirs: Vec<(u128, u32)> = (0..theirs.count()).map(|j| (theirs.tag(j), j as u32)).collect();
        theirs.sort_unstable();
        let most = mine.iter().fold(1, |bits, tag| bits.max(128 - tag.leading_zeros()));
        for (threads, bits) in [(1, most), (3, 128)] {
            let tags = Ascending::new(threads, &mine, bits, |i| i as u32);
            let mut tags = tags.walk();
            let (sorted, mut found): (Vec<u128>, _) =
                (theirs.iter().map(|(tag, _)| *tag).collect(), Vec::new());
            for (index, sorted) in sorted.chunks(1000).enumerate() {
                tags.find(sorted, |i, place| found.push((i, theirs[index * 1000 + place].1)));
            }
            found.sort_unstable();
            assert!(found == expected, "in ascending order: {} of {}", found.len(), expected.len());
        }
    }

    fn random(count: usize, seed: u8) -> Vec<u128> {
        let mut rng = Prg::from_seed([seed; 16]);
        (0..count).map(|_| rng.block().to_u128()).collect()
    }

    #[test]
    fn finds_what_both_have() {
        for (mine, theirs, both) in [
            (0, 0, 0),
            (0, 5, 0),
            (1, 0, 0),
            (1, 1, 1),
            (10, 3, 2),
            (5000, 70_000, 4000),
            (600_000, 70_000, 300),
        ] {
            let mine = random(mine, 1);
            let mut others = random(theirs - both, 2);
            others.extend(mine.iter().rev().take(both));
            assert_eq!(check(&*mine, &*others), both);
        }
    }

    #[test]
    fn every_form_of_tags_gives_the_same() {
        let mine = random(20_000, 3);
        let mut theirs = random(15_000, 4);
        let short: Vec<_> = mine.iter().map(|tag| tag >> 28).collect();
        let their_short: Vec<_> = theirs.iter().chain(&mine[7000..]).map(|tag| tag >> 28).collect();
        assert_eq!(check(&*short, &*their_short), 13_000);
        theirs.extend(&mine[7000..12_000]);
        for width in 1..=16 {
            let pack = |tags: &[u128]| -> Vec<u8> {
                tags.iter().flat_map(|tag| tag.to_le_bytes().into_iter().take(width)).collect()
            };
            let (mine, theirs) = (pack(&mine), pack(&theirs));
            assert!(check(&PackedTags::new(&mine, width), &PackedTags::new(&theirs, width)) >= 5000);
        }
        let blocks = |tags: &[u128]| tags.iter().map(|tag| Block::from(*tag)).collect::<Vec<_>>();
        check(&*blocks(&mine), &*theirs);
        let low = |tags: &[u128]| tags.iter().map(|tag| *tag as u64).collect::<Vec<_>>();
        check(&*low(&mine), &*low(&theirs));
    }

    #[test]
    fn all_bits_of_a_tag_count() {
        let mine = random(100, 5);
        let narrow: Vec<_> = mine.iter().map(|tag| tag >> 40).collect();
        for bit in 0..128 {
            for mine in [&mine, &narrow] {
                let theirs: Vec<_> = mine.iter().map(|tag| tag ^ 1 << bit).collect();
                assert_eq!(check(&**mine, &*theirs), 0, "bit {bit}");
            }
        }
    }

    #[test]
    fn the_other_partys_tags_may_be_anything_and_mine_may_not() {
        // Theirs agree in the bits that choose bucket and slot.
        let (mine, theirs) = (random(1 << 13, 8), (0..1u128 << 13).map(|i| i << 48 | 77).collect::<Vec<_>>());
        let work = |first: &[u128], second: &[u128]| {
            let before = probes();
            assert!(join(1, first, second).is_empty());
            probes() - before
        };
        let (well, badly) = (work(&mine, &theirs), work(&theirs, &mine));
        assert!(well < 1 << 17, "{well}");
        assert!(badly > 1 << 24, "{badly}");
    }

    #[test]
    fn repeated_and_crowded_tags_are_found() {
        let mut mine = random(1000, 6);
        mine.extend_from_within(..500);
        let theirs = vec![mine[3]; 30_000];
        assert_eq!(check(&*mine, &*theirs), 30_000);
        // Equal in all bits that choose bucket and slot.
        let crowded: Vec<_> = (0..300u128).map(|i| i << 80 | 5).collect();
        assert_eq!(check(&*crowded, &crowded[100..]), 200);
        assert_eq!(check(&*vec![9u64; 50_000], &*vec![9u64; 3]), 3);
        assert_eq!(check(&*vec![u128::MAX; 50], &*vec![u128::MAX; 3]), 3);
        assert_eq!(check(&*vec![u128::MAX; 50], &*vec![u128::MAX >> 1; 3]), 0);
    }
}
