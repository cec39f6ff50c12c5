//! A cuckoo table that holds the keys themselves, for keys that come one after the other.
//!
//! There is no list of the keys beside the table, and none has to be read in the order of the bins later.
//! Keys are placed region by region. In the first round over the bins, a key that finds its bin of one
//! function taken goes on to the next function. In later rounds it evicts the key that it finds there, which
//! goes on instead. The few keys that are left after some rounds are placed as in [`Table`](super::Table),
//! one at a time from all over the table.

use std::ops::Range;

use vesica_crypto::block::Block;
use vesica_crypto::memory::{large_capacity, prefetch};

use super::super::bins::{Bins, Layout};
use super::super::partitioned::PartitionedKeys;
use super::{Failure, Occupants, Placement};

/// Rounds over all bins. Each leaves about 0.4 times as many keys, where three functions have 1.27 bins a
/// key.
const ROUNDS: usize = 6;

/// Keys whose bins are asked for at a time.
const BATCH: usize = 64;

/// A key with its number, or nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    key: [u8; Block::BYTES],
    number: u32,
}

/// Keys that wait to be placed.
pub struct Keys {
    waiting: PartitionedKeys<(Block, u32)>,
    count: usize,
}

/// The key of every bin, with its number.
pub struct KeyedTable {
    slots: Vec<Slot>,
}

impl Occupants for Layout {
    type Occupant = Slot;
    const NONE: Slot = Slot { key: [0; Block::BYTES], number: u32::MAX };

    #[inline]
    fn is_none(occupant: &Slot) -> bool {
        occupant.number == u32::MAX
    }

    #[inline]
    fn bins_of(&self, occupant: &Slot) -> Bins {
        Layout::bins_of(*self, Block::from(occupant.key))
    }

    #[inline]
    fn prefetch(&self, _: &Slot) {}
}

impl Keys {
    /// None yet, of about `count`.
    #[must_use]
    pub fn new(layout: Layout, count: usize) -> Self {
        Self { waiting: PartitionedKeys::of_keys(layout, count), count: 0 }
    }

    /// A key that is different from all others, and its number, which is below 2^32 - 1.
    #[inline]
    pub fn push(&mut self, key: Block, number: u32) {
        self.waiting.push_key(0, key, number);
        self.count += 1;
    }

    /// Puts every key into one of its bins.
    ///
    /// # Errors
    /// [`Failure`] if one has no bin.
    pub fn place(self) -> Result<KeyedTable, Failure> {
        let layout = self.waiting.regions().layout();
        let mut placement =
            Placement { occupants: &layout, functions: layout.functions(), slots: Vec::new() };
        let unplaced = self.place_by_regions(&mut placement.slots);
        let given_up = placement.evict(&unplaced);
        match given_up.into_iter().filter(|key| !placement.search(*key)).count() {
            0 => Ok(KeyedTable { slots: placement.slots }),
            items => Err(Failure { items, stash: 0 }),
        }
    }

    /// The rounds; returns the keys that have no bin yet.
    fn place_by_regions(mut self, slots: &mut Vec<Slot>) -> Vec<Slot> {
        let layout = self.waiting.regions().layout();
        *slots = large_capacity(layout.bins());
        let (mut unplaced, mut records) = (Vec::new(), Vec::new());
        // A key of a single function has nowhere to go on to.
        let rounds = if layout.functions() == 1 { 1 } else { ROUNDS };
        for round in 0..rounds {
            for region in self.waiting.regions().iter() {
                let first = region.start;
                slots.resize(slots.len().max(region.end), Layout::NONE);
                for function in layout.segments_of(region).map(|part| layout.function_of(part.start)) {
                    let last = function + 1 == layout.functions();
                    while self.waiting.take(function, first, &mut records) {
                        let go_on = |on: Slot| {
                            if last && round + 1 == rounds {
                                unplaced.push(on);
                            } else {
                                let next = if last { 0 } else { function + 1 };
                                self.waiting.push_key(next, Block::from(on.key), on.number);
                            }
                        };
                        visit(slots, layout, function, round > 0, &records, go_on);
                    }
                }
            }
        }
        unplaced
    }
}

/// Each key takes its bin of `function` if that is free, or if it may evict the key that it finds there. The
/// key that is left without a bin goes on.
fn visit(
    slots: &mut [Slot],
    layout: Layout,
    function: usize,
    evict: bool,
    records: &[(Block, u32)],
    mut go_on: impl FnMut(Slot),
) {
    let mut bins = [0; BATCH];
    for records in records.chunks(BATCH) {
        for (bin, (key, _)) in bins.iter_mut().zip(records) {
            *bin = layout.bin_of(*key, function) as usize;
            prefetch(slots, *bin);
        }
        for (bin, (key, number)) in bins.iter().zip(records) {
            let new = Slot { key: key.to_bytes(), number: *number };
            let slot = &mut slots[*bin];
            if Layout::is_none(slot) {
                *slot = new;
            } else {
                go_on(if evict { std::mem::replace(slot, new) } else { new });
            }
        }
    }
}

impl KeyedTable {
    /// The key in `bin` and its number; [`Layout::function_of`] the bin put it there.
    ///
    /// # Panics
    /// If there is no such bin.
    #[inline]
    #[must_use]
    pub fn get(&self, bin: usize) -> Option<(Block, u32)> {
        let slot = &self.slots[bin];
        (!Layout::is_none(slot)).then(|| (Block::from(slot.key), slot.number))
    }

    /// How many of `bins` have a key.
    ///
    /// # Panics
    /// If they are not all there.
    #[must_use]
    pub fn occupied(&self, bins: Range<usize>) -> usize {
        self.slots[bins].iter().filter(|slot| !Layout::is_none(slot)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashing::Digests;
    use crate::hashing::cuckoo::Table;
    use vesica_crypto::prg::Prg;

    fn keys(seed: u64, count: usize) -> Vec<Block> {
        let mut keys = vec![Block::ZERO; count];
        Prg::fork([4; 16], seed).fill_blocks(&mut keys);
        keys
    }

    fn place(layout: Layout, keys: &[Block]) -> Result<KeyedTable, Failure> {
        let mut waiting = Keys::new(layout, keys.len());
        (0..).zip(keys).for_each(|(number, key)| waiting.push(*key, number));
        assert_eq!(waiting.count, keys.len());
        waiting.place()
    }

    #[test]
    fn every_key_is_in_one_of_its_bins() {
        for (count, functions, bins) in
            [(0, 3, 0), (1, 2, 2), (1, 1, 1), (300, 2, 900), (50_000, 3, 63_500), (9000, 4, 9400)]
        {
            let (keys, layout) = (keys(1, count), Layout::new(functions, bins));
            let table = place(layout, &keys).unwrap();
            let mut seen = vec![false; count];
            for bin in 0..layout.bins() {
                if let Some((key, number)) = table.get(bin) {
                    assert_eq!(keys[number as usize], key);
                    assert_eq!(layout.bin_of(key, layout.function_of(bin)) as usize, bin);
                    assert!(!std::mem::replace(&mut seen[number as usize], true));
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
            let cut = layout.bins() / 3;
            assert_eq!(table.occupied(0..cut) + table.occupied(cut..layout.bins()), count);
        }
    }

    /// Whether a set fits is a property of its bins alone.
    #[test]
    fn it_fails_where_the_table_of_numbers_does() {
        let mut fits = 0;
        for seed in 0..200 {
            let (keys, layout) = (keys(seed, 30), Layout::new(2 + seed as usize % 2, 66));
            let reference = Table::build(&Digests::new(&keys, layout), 0).is_ok();
            assert_eq!(place(layout, &keys).is_ok(), reference, "{seed}");
            fits += usize::from(reference);
        }
        assert!((20..200).contains(&fits), "{fits}");
        let equal = vec![Block::from(7u128); 5];
        assert_eq!(place(Layout::new(3, 30), &equal).err(), Some(Failure { items: 2, stash: 0 }));
    }
}
