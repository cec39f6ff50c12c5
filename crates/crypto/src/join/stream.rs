//! The join of a list that is still coming in: my tags stand in a table, theirs are looked up piece by piece.
//!
//! Nothing of theirs is kept. Most of their tags are in no table of mine, and a filter of sixteen bits or more for each
//! of mine says so at one access to memory that fits a cache eight times smaller than the table's; one in sixteen passes
//! it by chance. The places of a batch are asked for before the first of them is read.

use super::Tags;
use crate::memory::{large_vec, prefetch};

/// Tags looked up at a time.
const BATCH: usize = 128;

/// Bits of the filter for each tag, at least.
const FILTER_BITS: usize = 16;

/// A tag's low 96 bits above its number.
type Record = u128;

/// No record: there are fewer than 2^32 - 1 tags.
const EMPTY: Record = Record::MAX;

/// My tags, ready to be found.
pub struct Lookup {
    filter: Vec<u64>,
    /// Open addressing, a third of it empty.
    slots: Vec<Record>,
    /// The high 32 bits of each tag; none where they are zero for all.
    high: Vec<u32>,
}

impl Lookup {
    /// The table of `mine`. Of several equal tags only the first is ever found.
    ///
    /// # Panics
    /// If there are 2^32 - 1 tags or more.
    #[must_use]
    pub fn new<M: Tags + ?Sized>(mine: &M) -> Self {
        let count = mine.count();
        assert!(u32::try_from(count).is_ok_and(|count| count < u32::MAX), "fewer than 2^32 - 1 tags");
        let words = (count * FILTER_BITS).next_power_of_two().div_ceil(u64::BITS as usize);
        let wide = (0..count).any(|i| mine.tag(i) >> 96 != 0);
        let mut lookup = Self {
            filter: large_vec(0, words),
            slots: large_vec(EMPTY, count + count / 2 + 1),
            high: if wide { (0..count).map(|i| (mine.tag(i) >> 96) as u32).collect() } else { Vec::new() },
        };
        let mut tags = [0; BATCH];
        for first in (0..count).step_by(BATCH) {
            let tags = &mut tags[..BATCH.min(count - first)];
            for (i, tag) in (first..).zip(&mut *tags) {
                *tag = mine.tag(i);
                prefetch(&lookup.slots, lookup.slot_of(*tag));
                prefetch(&lookup.filter, lookup.filter_place(*tag).0);
            }
            for (i, tag) in (first..).zip(&*tags) {
                if let Err(slot) = lookup.search(*tag) {
                    lookup.slots[slot] = *tag << u32::BITS | i as u128;
                    let (word, bit) = lookup.filter_place(*tag);
                    lookup.filter[word] |= 1 << bit;
                }
            }
        }
        lookup
    }

    /// Calls `found(i, j)` for every tag j of `theirs` that equals tag i of mine, in ascending order of j.
    pub fn find<T: Tags + ?Sized>(&self, theirs: &T, mut found: impl FnMut(u32, usize)) {
        let mut tags = [0; BATCH];
        let mut passed = [0u32; BATCH];
        for first in (0..theirs.count()).step_by(BATCH) {
            let tags = &mut tags[..BATCH.min(theirs.count() - first)];
            for (j, tag) in tags.iter_mut().enumerate() {
                *tag = theirs.tag(first + j);
                prefetch(&self.filter, self.filter_place(*tag).0);
            }
            let mut count = 0;
            for (j, tag) in tags.iter().enumerate() {
                let (word, bit) = self.filter_place(*tag);
                passed[count] = j as u32;
                count += (self.filter[word] >> bit & 1) as usize;
            }
            let passed = &passed[..count];
            passed.iter().for_each(|j| prefetch(&self.slots, self.slot_of(tags[*j as usize])));
            for j in passed {
                if let Ok(i) = self.search(tags[*j as usize]) {
                    found(i, first + *j as usize);
                }
            }
        }
    }

    /// The number of the tag of mine that equals this one, or the empty slot where the search ended.
    #[inline]
    fn search(&self, tag: u128) -> Result<u32, usize> {
        let mut slot = self.slot_of(tag);
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

    /// Where the search for a tag begins: tags may have as few as some dozens of bits, the product has all.
    #[inline]
    fn slot_of(&self, tag: u128) -> usize {
        let spread = (tag as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(spread) * self.slots.len() as u128) >> 64) as usize
    }

    /// Word and bit of a tag in the filter.
    #[inline]
    fn filter_place(&self, tag: u128) -> (usize, u32) {
        let place = tag as usize;
        ((place / u64::BITS as usize) & (self.filter.len() - 1), place as u32 % u64::BITS)
    }
}
