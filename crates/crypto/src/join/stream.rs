//! The join with a list that is still coming in: my tags are in a table, and theirs are looked up as they
//! arrive.
//!
//! Nothing of theirs is kept. Most of their tags are not in my table. A filter of twelve bits for each of my
//! tags rejects them with one access to memory that is ten times smaller than the table; one in forty passes
//! it by chance. The memory of a batch is prefetched before the first tag of the batch is looked up.
//!
//! My tags may become known one after the other ([`Collection`]). They are partitioned by their lowest bits
//! into buckets that fit the cache. The table holds bucket after bucket, and in each bucket the tags are
//! sorted by words of the filter.

use crate::memory::{large_capacity, large_vec, prefetch};
use crate::partitions::{Partitions, Record};

use super::Tags;

/// Tags that one call looks up.
const BATCH: usize = 128;

/// Tags of mine in a bucket, on average, up to the largest number of buckets.
const BUCKET: usize = 1 << 14;

/// Most buckets, in bits: the processor cannot follow more streams of writes.
const MOST_BUCKET_BITS: u32 = 10;

/// Tags for each word of the filter, on average.
const TAGS_A_WORD: usize = 5;

/// Bits of a tag that a record holds beside the number.
const RECORD_BITS: u32 = u128::BITS - u32::BITS;

/// My tags while they become known, each with the number of its item.
pub struct Collection {
    /// Each record holds the bits of a tag above its bucket number, and below them the item's number.
    partitions: Partitions<u128>,
    buckets: BucketBits,
    count: usize,
}

/// How many of the lowest bits of a tag number its bucket.
#[derive(Clone, Copy)]
struct BucketBits {
    bits: u32,
}

impl BucketBits {
    #[inline(always)]
    fn of(self, tag: u128) -> usize {
        tag as usize & ((1 << self.bits) - 1)
    }

    #[inline(always)]
    fn rest(self, tag: u128) -> u128 {
        tag >> self.bits
    }
}

impl Collection {
    /// An empty collection for about `count` tags of `bits` bits.
    ///
    /// # Panics
    /// If there are more than 106 bits.
    #[must_use]
    pub fn new(bits: u32, count: usize) -> Self {
        assert!(bits <= RECORD_BITS + MOST_BUCKET_BITS, "tags of 106 bits at most");
        let wanted = (count / BUCKET).next_power_of_two().ilog2().min(MOST_BUCKET_BITS);
        let buckets = BucketBits { bits: wanted.max(bits.saturating_sub(RECORD_BITS)) };
        let width = bits.saturating_sub(buckets.bits).div_ceil(8) as usize + size_of::<u32>();
        Self {
            partitions: Partitions::new(1 << buckets.bits, width.min(u128::BYTES), count),
            buckets,
            count: 0,
        }
    }

    /// Adds `tag` of item `number`. Of several equal tags, one is found.
    #[inline]
    pub fn push(&mut self, tag: u128, number: u32) {
        self.partitions.push(self.buckets.of(tag), self.buckets.rest(tag) << u32::BITS | u128::from(number));
        self.count += 1;
    }
}

/// My tags, ready for lookups.
pub struct Lookup {
    buckets: BucketBits,
    /// Words of the filter for each bucket.
    words: usize,
    /// Two bits of a word for each tag.
    filter: Vec<u64>,
    /// Where the records of each word begin, and the number of all records.
    starts: Vec<u32>,
    records: Vec<u128>,
}

impl Lookup {
    /// The table of these tags.
    ///
    /// # Panics
    /// If there are 2^32 tags or more.
    #[must_use]
    pub fn new(mut mine: Collection) -> Self {
        assert!(u32::try_from(mine.count).is_ok(), "fewer than 2^32 tags");
        let buckets = 1 << mine.buckets.bits;
        let words = mine.count.div_ceil(TAGS_A_WORD * buckets).max(1);
        let mut lookup = Self {
            buckets: mine.buckets,
            words,
            filter: large_vec(0, words * buckets),
            starts: large_capacity(words * buckets + 1),
            records: large_capacity(mine.count),
        };
        let (mut bucket_of_mine, mut block) = (Vec::new(), Vec::new());
        for bucket in 0..buckets {
            bucket_of_mine.clear();
            while mine.partitions.take(bucket, &mut block) {
                bucket_of_mine.extend_from_slice(&block);
            }
            lookup.append(bucket, &bucket_of_mine);
        }
        lookup.starts.push(lookup.records.len() as u32);
        lookup
    }

    /// The records of the next bucket, by words.
    fn append(&mut self, bucket: usize, mine: &[u128]) {
        let base = self.records.len();
        let first = bucket * self.words;
        self.starts.resize(first + self.words, 0);
        let word_of = |record: &u128| {
            let tag = record >> u32::BITS << self.buckets.bits | bucket as u128;
            filter_position(tag, self.buckets, self.words)
        };
        let starts = &mut self.starts[first..];
        for record in mine {
            let (word, bits) = word_of(record);
            starts[word - first] += 1;
            self.filter[word] |= bits;
        }
        let mut sum = base as u32;
        for start in &mut *starts {
            sum += std::mem::replace(start, sum);
        }
        self.records.resize(base + mine.len(), 0);
        for record in mine {
            let start = &mut starts[word_of(record).0 - first];
            self.records[*start as usize] = *record;
            *start += 1;
        }
        // Each start has moved to the start of the next word.
        starts.rotate_right(1);
        starts[0] = base as u32;
    }

    /// Calls `found(number, j)` for every tag j of `theirs` that equals one of mine, in ascending order of j.
    pub fn find<T: Tags + ?Sized>(&self, theirs: &T, mut found: impl FnMut(u32, usize)) {
        let (mut words, mut bits, mut passed) = ([0; BATCH], [0; BATCH], [0u32; BATCH]);
        for first in (0..theirs.count()).step_by(BATCH) {
            let here = BATCH.min(theirs.count() - first);
            for j in 0..here {
                (words[j], bits[j]) = filter_position(theirs.tag(first + j), self.buckets, self.words);
                prefetch(&self.filter, words[j]);
            }
            let mut count = 0;
            for j in 0..here {
                passed[count] = j as u32;
                count += usize::from(self.filter[words[j]] & bits[j] == bits[j]);
            }
            let passed = &passed[..count];
            passed.iter().for_each(|j| prefetch(&self.starts, words[*j as usize]));
            for j in passed {
                prefetch(&self.records, self.starts[words[*j as usize]] as usize);
            }
            for j in passed.iter().map(|j| *j as usize) {
                let rest = self.buckets.rest(theirs.tag(first + j));
                let range = self.starts[words[j]] as usize..self.starts[words[j] + 1] as usize;
                if let Some(record) = self.records[range].iter().find(|record| **record >> u32::BITS == rest)
                {
                    found(*record as u32, first + j);
                }
            }
        }
    }
}

/// The filter word of a tag, among the `words` of its bucket, and the two bits that the tag sets there. Both
/// depend on all of the tag's low 64 bits. A tag may be short, so a multiplication spreads its bits.
#[inline(always)]
fn filter_position(tag: u128, buckets: BucketBits, words: usize) -> (usize, u64) {
    let spread = (tag as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = ((u128::from(spread) * words as u128) >> u64::BITS) as usize;
    (buckets.of(tag) * words + word, 1 << (spread >> 20 & 63) | 1 << (spread >> 26 & 63))
}
