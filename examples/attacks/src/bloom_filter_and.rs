//! The AND of two Bloom filters tells the other party's set, however securely it is computed.
//!
//! Two parties put their sets into Bloom filters and compute the AND of the filters by some secure protocol,
//! here an ideal one. The receiver gets the AND and looks its own items up: that is the intersection. But
//! wherever its own filter has a one, the AND shows the bit of the other filter, and half of its filter is
//! ones. Every candidate has about k/2 of its k positions there. A candidate that is in the other set has ones
//! at all of them, any other one with probability 2^-(k/2) or so.
//!
//! What prevents it: strings in place of bits (DCW13). The receiver gets the string of a slot, which is one
//! share of an item, and learns nothing unless it has all k.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_encode::bloom::{FilterPositions, FilterShape, SLICES_PER_BLOCK};
use vesica_encode::items::Items;

use crate::{Error, items_of, phone_book, row_of};

/// k.
const HASHES: u32 = 128;

/// What the receiver learns.
#[derive(Debug)]
pub struct Learnt {
    /// The intersection, which is all that it should learn.
    pub intersection: Vec<u32>,
    /// The numbers with ones wherever the receiver can see.
    pub numbers: Vec<u32>,
}

/// Both parties have `count` of the first `range` numbers; also the sender's numbers.
///
/// # Errors
/// If numbers do not become items.
pub fn look_up(range: u32, count: usize) -> Result<(Learnt, Vec<u32>), Error> {
    let context = Context::new(&[7; 32], "the AND of Bloom filters", b"", count as u64, count as u64);
    let shape = FilterShape::for_items(HASHES, count);
    let slots = |items: &Items| slots_of(&FilterPositions::new(&context, shape, items, 1), items);
    let (mine, theirs) = (phone_book(range, count, 2), phone_book(range, count, 3));
    let filter_of = |numbers: &[u32]| -> Result<Filter, Error> {
        Ok(filter(shape, &slots(&items_of(numbers.iter().copied())?)))
    };
    let (my_filter, their_filter) = (filter_of(&mine)?, filter_of(&theirs)?);
    // The ideal functionality: nothing but the AND goes to the receiver.
    let and: Filter = my_filter
        .iter()
        .zip(&their_filter)
        .map(|(mine, theirs)| mine.iter().zip(theirs).map(|(mine, theirs)| *mine && *theirs).collect())
        .collect();
    let candidates = slots(&items_of(0..range)?);
    let passes = |number: &u32| {
        candidates.iter().enumerate().all(|(slice, slots)| {
            let slot = slots[*number as usize] as usize;
            !my_filter[slice][slot] || and[slice][slot]
        })
    };
    let intersection = mine.into_iter().filter(passes).collect();
    Ok((Learnt { intersection, numbers: (0..range).filter(passes).collect() }, theirs))
}

/// A Bloom filter, slice by slice.
type Filter = Vec<Vec<bool>>;

/// The slot of every number in every slice, in the order in which they were given.
fn slots_of(positions: &FilterPositions, items: &Items) -> Vec<Vec<u32>> {
    let (mut blocks, mut slots): (Vec<Block>, _) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
    let mut all = vec![vec![0; positions.items().len()]; positions.shape().hashes()];
    for bin in positions.bins() {
        for (group, slices) in all.chunks_mut(SLICES_PER_BLOCK).enumerate() {
            bin.positions(group, &mut blocks, &mut slots);
            for (slice, slots) in slices.iter_mut().zip(&slots) {
                for (item, slot) in positions.items()[bin.range()].iter().zip(slots) {
                    slice[row_of(items, *item as usize) as usize] = *slot;
                }
            }
        }
    }
    all
}

/// The Bloom filter of items with these slots.
fn filter(shape: FilterShape, slots: &[Vec<u32>]) -> Filter {
    let slice = |slots: &Vec<u32>| {
        let mut bits = vec![false; shape.slots()];
        slots.iter().for_each(|slot| bits[*slot as usize] = true);
        bits
    };
    slots.iter().map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_learns_the_whole_table() -> Result<(), Error> {
        let (learnt, theirs) = look_up(20_000, 400)?;
        assert_eq!(learnt.numbers, theirs);
        assert!(learnt.intersection.len() < 30);
        Ok(())
    }
}
