//! The join of a list that is still coming in: my tags stand in a table, theirs are looked up piece by piece.
//!
//! Nothing of theirs is kept. Most of their tags are in no table of mine, and a filter of twelve bits for each of mine says
//! so at one access to memory that is ten times smaller than the table; one in forty passes it by chance. The places
//! of a batch are asked for before the first of them is read.
//!
//! My tags may be known one after the other ([`Collection`]). They are dealt to parts by their lowest bits, each of which fits
//! the cache; the table has them part after part, in each part by words of the filter.

use crate::memory::{large_capacity, large_vec, prefetch};
use crate::partitions::{Partitions, Record};

use super::Tags;

/// Tags looked up at a time.
const BATCH: usize = 128;

/// Tags of mine in a part, on average, up to the largest number of parts.
const PART: usize = 1 << 14;

/// More parts than this would be more streams of writes than the processor can follow.
const MOST_PART_BITS: u32 = 10;

/// Tags for each word of the filter, on average.
const TAGS_A_WORD: usize = 5;

/// Bits of a tag that a record has beside the number.
const RECORD_BITS: u32 = u128::BITS - u32::BITS;

/// My tags, each with the number of what it stands for, while they become known.
pub struct Collection {
    /// The bits of a tag above those of its part, above the number.
    partitions: Partitions<u128>,
    parts: Parts,
    count: usize,
}

/// The lowest bits of a tag are the part that it is in.
#[derive(Clone, Copy)]
struct Parts {
    bits: u32,
}

impl Parts {
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
    /// Of about `count` tags of `bits` bits.
    ///
    /// # Panics
    /// If there are more than 106 bits.
    #[must_use]
    pub fn new(bits: u32, count: usize) -> Self {
        assert!(bits <= RECORD_BITS + MOST_PART_BITS, "tags of 106 bits at most");
        let wanted = (count / PART).next_power_of_two().ilog2().min(MOST_PART_BITS);
        let parts = Parts { bits: wanted.max(bits.saturating_sub(RECORD_BITS)) };
        let width = bits.saturating_sub(parts.bits).div_ceil(8) as usize + size_of::<u32>();
        Self { partitions: Partitions::new(1 << parts.bits, width.min(u128::BYTES), count), parts, count: 0 }
    }

    /// `number` is found where the other list has `tag`. Of several equal tags one is found.
    #[inline]
    pub fn push(&mut self, tag: u128, number: u32) {
        self.partitions.push(self.parts.of(tag), self.parts.rest(tag) << u32::BITS | u128::from(number));
        self.count += 1;
    }
}

/// My tags, ready to be found.
pub struct Lookup {
    parts: Parts,
    /// Words of the filter that a part has.
    words: usize,
    /// Two bits of a word for each tag.
    filter: Vec<u64>,
    /// Where the records of each word begin, and their number.
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
        let parts = 1 << mine.parts.bits;
        let words = mine.count.div_ceil(TAGS_A_WORD * parts).max(1);
        let mut lookup = Self {
            parts: mine.parts,
            words,
            filter: large_vec(0, words * parts),
            starts: large_capacity(words * parts + 1),
            records: large_capacity(mine.count),
        };
        let (mut part_of_mine, mut block) = (Vec::new(), Vec::new());
        for part in 0..parts {
            part_of_mine.clear();
            while mine.partitions.take(part, &mut block) {
                part_of_mine.extend_from_slice(&block);
            }
            lookup.append(part, &part_of_mine);
        }
        lookup.starts.push(lookup.records.len() as u32);
        lookup
    }

    /// The records of the next part, by words.
    fn append(&mut self, part: usize, mine: &[u128]) {
        let base = self.records.len();
        let first = part * self.words;
        self.starts.resize(first + self.words, 0);
        let word_of = |record: &u128| {
            let tag = record >> u32::BITS << self.parts.bits | part as u128;
            place(tag, self.parts, self.words)
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
        // Every start has moved to the next one's.
        starts.rotate_right(1);
        starts[0] = base as u32;
    }

    /// Calls `found(number, j)` for every tag j of `theirs` that equals one of mine, in ascending order of j.
    pub fn find<T: Tags + ?Sized>(&self, theirs: &T, mut found: impl FnMut(u32, usize)) {
        let (mut words, mut bits, mut passed) = ([0; BATCH], [0; BATCH], [0u32; BATCH]);
        for first in (0..theirs.count()).step_by(BATCH) {
            let here = BATCH.min(theirs.count() - first);
            for j in 0..here {
                (words[j], bits[j]) = place(theirs.tag(first + j), self.parts, self.words);
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
                let rest = self.parts.rest(theirs.tag(first + j));
                let range = self.starts[words[j]] as usize..self.starts[words[j] + 1] as usize;
                if let Some(record) = self.records[range].iter().find(|record| **record >> u32::BITS == rest)
                {
                    found(*record as u32, first + j);
                }
            }
        }
    }
}

/// The word of the filter that a tag belongs to, among so many of its part, and the two bits that it sets there. Both hang on
/// all of its low 64 bits: tags may have as few as some dozens of bits, the product has them spread out.
#[inline(always)]
fn place(tag: u128, parts: Parts, words: usize) -> (usize, u64) {
    let spread = (tag as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = ((u128::from(spread) * words as u128) >> u64::BITS) as usize;
    (parts.of(tag) * words + word, 1 << (spread >> 20 & 63) | 1 << (spread >> 26 & 63))
}
