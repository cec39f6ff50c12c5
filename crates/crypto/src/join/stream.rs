//! The join of a list that is still coming in: my tags stand in a table, theirs are looked up piece by piece.
//!
//! Nothing of theirs is kept. Most of their tags are in no table of mine, and a filter of twelve bits for each of mine says
//! so at one access to memory that is sixteen times smaller than the table; one in forty passes it by chance. The places
//! of a batch are asked for before the first of them is read. Table and filter are filled part by part, each of which
//! fits the cache: a tag's lowest bits are the leading ones of its place in both.

use super::{MOST_PARTS, Parts, Record, Tags};
use crate::memory::{large_vec, prefetch};

/// Tags looked up at a time.
const BATCH: usize = 128;

/// Records ahead whose slots are on their way.
const AHEAD: usize = 16;

/// Fewer tags of mine than this are in one part: the third-level cache has room for their table.
const SMALL: usize = 1 << 19;

/// Tags of mine in a part, on average, up to the largest number of parts.
const PART: usize = 1 << 14;

/// Tags for each word of the filter, at most.
const TAGS_A_WORD: usize = 5;

/// No record: there are fewer than 2^32 - 1 tags.
const EMPTY: Record = Record::MAX;

/// My tags, ready to be found.
pub struct Lookup {
    /// Two bits of a word for each tag.
    filter: Vec<u64>,
    /// Open addressing, a third of it empty.
    slots: Vec<Record>,
    /// The high 32 bits of each tag; none where they are zero for all.
    high: Vec<u32>,
    /// The lowest bits of a tag, as many as lead its spread.
    part_bits: u32,
}

impl Lookup {
    /// The table of `mine`. Of several equal tags only the first is ever found.
    ///
    /// # Panics
    /// If there are 2^32 - 1 tags or more.
    #[must_use]
    pub fn new<M: Tags>(mine: M) -> Self {
        let count = mine.count();
        assert!(u32::try_from(count).is_ok_and(|count| count < u32::MAX), "fewer than 2^32 - 1 tags");
        let parts = if count < SMALL { 1 } else { (count / PART).next_power_of_two().min(MOST_PARTS) };
        let Parts { records, high, .. } = Parts::by_lowest(&mine, parts);
        let high =
            if high.is_empty() { high } else { (0..count).map(|i| (mine.tag(i) >> 96) as u32).collect() };
        // A list that was handed over is gone before there is a table.
        drop(mine);
        let mut lookup = Self {
            filter: large_vec(0, count.div_ceil(TAGS_A_WORD).max(1)),
            slots: large_vec(EMPTY, count + count / 2 + 1),
            high,
            part_bits: parts.ilog2(),
        };
        for (i, record) in records.iter().copied().enumerate() {
            // The table was written whole and is in no cache now.
            let ahead = lookup.spread(records.get(i + AHEAD).map_or(0, |record| record >> u32::BITS));
            prefetch(&lookup.slots, place(ahead, lookup.slots.len()));
            prefetch(&lookup.filter, place(ahead, lookup.filter.len()));
            let high = lookup.high.get(record as u32 as usize).copied().unwrap_or(0);
            let tag = record >> u32::BITS | u128::from(high) << 96;
            let spread = lookup.spread(tag);
            if let Err(slot) = lookup.search(spread, tag) {
                lookup.slots[slot] = record;
                let word = place(spread, lookup.filter.len());
                lookup.filter[word] |= bits_of(spread);
            }
        }
        lookup
    }

    /// Calls `found(i, j)` for every tag j of `theirs` that equals tag i of mine, in ascending order of j.
    pub fn find<T: Tags + ?Sized>(&self, theirs: &T, mut found: impl FnMut(u32, usize)) {
        let mut spreads = [0; BATCH];
        let mut passed = [0u32; BATCH];
        for first in (0..theirs.count()).step_by(BATCH) {
            let spreads = &mut spreads[..BATCH.min(theirs.count() - first)];
            for (j, spread) in spreads.iter_mut().enumerate() {
                *spread = self.spread(theirs.tag(first + j));
                prefetch(&self.filter, place(*spread, self.filter.len()));
            }
            let mut count = 0;
            for (j, spread) in spreads.iter().enumerate() {
                let bits = bits_of(*spread);
                passed[count] = j as u32;
                count += usize::from(self.filter[place(*spread, self.filter.len())] & bits == bits);
            }
            let passed = &passed[..count];
            passed.iter().for_each(|j| prefetch(&self.slots, place(spreads[*j as usize], self.slots.len())));
            for j in passed.iter().map(|j| *j as usize) {
                if let Ok(i) = self.search(spreads[j], theirs.tag(first + j)) {
                    found(i, first + j);
                }
            }
        }
    }

    /// The number of the tag of mine that equals this one, or the empty slot where the search ended.
    #[inline]
    fn search(&self, spread: u64, tag: u128) -> Result<u32, usize> {
        let mut slot = place(spread, self.slots.len());
        loop {
            let record = self.slots[slot];
            if record == EMPTY {
                return Err(slot);
            }
            let number = record as u32;
            let high = self.high.get(number as usize).copied().unwrap_or(0);
            if (record ^ tag << u32::BITS) >> u32::BITS == 0 && high == (tag >> 96) as u32 {
                return Ok(number);
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
    }

    /// The lowest bits of a tag, which say its part, and behind them bits that hang on all the low 64: tags may have as few
    /// as some dozens of bits, the product has them spread out.
    #[inline]
    fn spread(&self, tag: u128) -> u64 {
        let low = tag as u64;
        // Two steps, since there may be no such bits.
        let part = low << 1 << (u64::BITS - 1 - self.part_bits);
        part | low.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.part_bits
    }
}

/// Where among `places` a spread leads.
#[inline]
fn place(spread: u64, places: usize) -> usize {
    ((u128::from(spread) * places as u128) >> u64::BITS) as usize
}

/// The bits that a tag sets in its word of the filter. Those of the spread that lead to the word are others, below 2^50
/// tags.
#[inline]
fn bits_of(spread: u64) -> u64 {
    1 << (spread & 63) | 1 << (spread >> 6 & 63)
}
