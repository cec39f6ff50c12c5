//! Garbled Bloom filters: strings whose XOR over the positions of an item is a chosen value (DCW13 Algorithm
//! 1).
//!
//! Algorithm 1 adds items one after the other. Each item needs a slot that no earlier item has touched; this
//! slot gets the string that completes the item's value. This module does the same in three passes, so that
//! all but a few slices are written once and in order:
//!
//! 1. *Own slots* (lines 6–20, the choice of `emptySlot`): going backwards from the last slice, an item takes
//!    a slot that no earlier item touches as its own, until every item has one. A slice serves half of the
//!    items or more, so about log2 n slices suffice. If all k slices do not, the error is [`NoFreeSlot`]
//!    (line 20 with `emptySlot` = -1), with probability at most that of a false positive
//!    ([`FilterShape::false_positive`](super::FilterShape::false_positive)).
//! 2. All other slots get random strings (lines 13 and 22–26: shares and empty slots alike).
//! 3. In the order of the items, an own slot gets the item's value XOR the strings at its other positions.
//!    These strings are known, because no earlier item touches the slot of a later one.
//!
//! The free strings are uniform and the system of equations is triangular. So the filter is uniformly random
//! among all filters that hold the values, and its strings say nothing about where items have their own
//! slots.
//!
//! Several threads share the items of a bin. One thread fills the slices in their order, and each thread adds
//! the strings of its own items. So the filter does not depend on the number of threads, and one bin keeps
//! all of them busy.
//!
//! Corrected in Algorithm 1: if positions of an item coincide, line 8 finds its reserved slot still empty and
//! overwrites it. Here positions never coincide, because each slice has its own function.

use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_crypto::par;

use super::{Bin, SLICES_PER_BLOCK, Sums};

/// Items of a task, if several threads work.
const CHUNK: usize = 1 << 10;

/// Slices that are filled before the threads add their strings. There are enough of them that starting
/// threads costs little.
const SLICES: usize = 4 * SLICES_PER_BLOCK;

/// No slice.
const NONE: u32 = u32::MAX;

/// Earlier items touch all slots of an item, so no filter of this shape can be built in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no free slot in a garbled Bloom filter")]
pub struct NoFreeSlot;

/// Builds the garbled Bloom filter of a bin and hands its slices to `emit` in order. `targets` holds the
/// value of each item, and `fill` makes random strings, slice after slice. At most `threads` threads work on
/// it.
///
/// # Errors
/// [`NoFreeSlot`], before anything is emitted, or the error of `emit`.
///
/// # Panics
/// If the numbers of targets and items differ.
pub fn garble<const W: usize, E: From<NoFreeSlot>>(
    threads: usize,
    bin: &Bin<'_>,
    targets: &[[Block; W]],
    mut fill: impl FnMut(&mut [[Block; W]]),
    mut emit: impl FnMut(&[[Block; W]]) -> Result<(), E>,
) -> Result<(), E> {
    assert_eq!(targets.len(), bin.len(), "one target for each item");
    let (slots, slices) = (bin.shape().slots(), bin.shape().hashes());
    let own = OwnSlots::find(bin)?;
    let first_own = slices - own.slices.len();
    let mut values = Wiped::from(targets.to_vec());
    let at_once = if threads > 1 { SLICES } else { SLICES_PER_BLOCK };
    let mut free = Wiped::from(vec![[Block::ZERO; W]; slots * at_once]);
    for first in (0..first_own).step_by(at_once) {
        let free = &mut free[..at_once.min(first_own - first) * slots];
        free.chunks_exact_mut(slots).for_each(&mut fill);
        add_slices(threads, bin, first, free, &mut values);
        free.chunks_exact(slots).try_for_each(&mut emit)?;
    }
    let mut last = Wiped::from(vec![[Block::ZERO; W]; slots * own.slices.len()]);
    fill(&mut last);
    own.write(&values, slots, &mut last);
    for slice in last.chunks_exact(slots) {
        emit(slice)?;
    }
    Ok(())
}

/// Adds to each value its item's strings of the slices from number `first` on, a multiple of
/// [`SLICES_PER_BLOCK`].
fn add_slices<const W: usize>(
    threads: usize,
    bin: &Bin<'_>,
    first: usize,
    slices: &[[Block; W]],
    values: &mut [[Block; W]],
) {
    let slots_of_slice = bin.shape().slots();
    let tasks = bin.clone().chunks(CHUNK).zip(values.chunks_mut(CHUNK));
    let Ok(()) = par::for_each(threads, tasks, |_, (part, values)| {
        let (mut blocks, mut slots) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
        for (group, slices) in
            (first / SLICES_PER_BLOCK..).zip(slices.chunks(SLICES_PER_BLOCK * slots_of_slice))
        {
            part.positions(group, &mut blocks, &mut slots);
            for (slice, slots) in slices.chunks_exact(slots_of_slice).zip(&slots) {
                Sums(values).add(slice, slots);
            }
        }
        Ok::<_, core::convert::Infallible>(())
    });
}

/// Positions by slice, computed a group at a time.
struct Reader<'a> {
    bin: &'a Bin<'a>,
    group: usize,
    blocks: Vec<Block>,
    slots: [Vec<u32>; SLICES_PER_BLOCK],
}

impl<'a> Reader<'a> {
    fn new(bin: &'a Bin<'a>) -> Self {
        Self { bin, group: usize::MAX, blocks: Vec::new(), slots: Default::default() }
    }

    fn slice(&mut self, index: usize) -> &[u32] {
        if self.group != index / SLICES_PER_BLOCK {
            self.group = index / SLICES_PER_BLOCK;
            self.bin.positions(self.group, &mut self.blocks, &mut self.slots);
        }
        &self.slots[index % SLICES_PER_BLOCK]
    }
}

/// The slot that each item owns, and all positions in the slices that have owned slots.
struct OwnSlots {
    /// The last slices of the filter, in order: the slot of each item.
    slices: Vec<Vec<u32>>,
    /// For each item the slice of its own slot, counted from the end of the filter.
    from_end: Vec<u32>,
}

impl OwnSlots {
    fn find(bin: &Bin<'_>) -> Result<Self, NoFreeSlot> {
        let (items, slices) = (bin.len(), bin.shape().hashes());
        let mut from_end = vec![NONE; items];
        let (mut left, mut found) = (items, Vec::new());
        let mut reader = Reader::new(bin);
        let mut touched = vec![0u64; bin.shape().slots().div_ceil(64)];
        for back in 0..slices {
            if left == 0 {
                break;
            }
            let slots = reader.slice(slices - 1 - back);
            touched.fill(0);
            for (own, &slot) in from_end.iter_mut().zip(slots) {
                let (word, bit) = (&mut touched[slot as usize / 64], 1 << (slot % 64));
                let first = *word & bit == 0 && *own == NONE;
                *word |= bit;
                *own = if first { back as u32 } else { *own };
                left -= usize::from(first);
            }
            found.push(slots.to_vec());
        }
        found.reverse();
        if left == 0 { Ok(Self { slices: found, from_end }) } else { Err(NoFreeSlot) }
    }

    /// Pass 3 over the last slices, side by side in `strings`, otherwise random.
    fn write<const W: usize>(&self, values: &[[Block; W]], slots: usize, strings: &mut [[Block; W]]) {
        let string_of = |slice: usize, item: usize| slice * slots + self.slices[slice][item] as usize;
        let own = |item: usize| string_of(self.slices.len() - 1 - self.from_end[item] as usize, item);
        for (item, value) in values.iter().enumerate() {
            let mut string = *value;
            let own = own(item);
            strings[own] = [Block::ZERO; W];
            for slice in 0..self.slices.len() {
                Sums(core::slice::from_mut(&mut string)).add(strings, &[string_of(slice, item) as u32]);
            }
            strings[own] = string;
        }
    }
}
