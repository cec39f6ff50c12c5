//! Cuckoo hashing: every item is in one of its h bins, one item a bin. The few that find no bin are in a
//! stash.
//!
//! Pagh, Rodler (ESA 2001); h functions: Fotakis, Pagh, Sanders, Spirakis (STACS 2003); the stash: Kirsch,
//! Mitzenmacher, Wieder (SIAM J. Comput. 39, 2009). Items are inserted in three rounds:
//!
//! 1. An item takes one of its bins that is free.
//! 2. It evicts another item from a bin. That item looks for a bin in the same way, for a limited number of
//!    moves.
//! 3. A search, breadth first, finds a free bin that can be reached by moving items.
//!
//! The search finds a bin whenever there is one. An item that has none then never gets one later, because
//! placing others only takes bins. So the stash holds as few items as any placement could leave over (a
//! maximum matching of items and bins). Whether a set fits is a property of its bins alone, not of the order
//! of its items or of a limit of moves. [`parameters`](super::parameters) bound the probability of this
//! property. There is no randomness beyond the bins, and no second try: a failure is an error.
//!
//! Bins and moves depend on the party's own items, on its own machine, and are not constant time.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use vesica_crypto::memory::{large_vec, prefetch};

use super::bins::{Bins, ItemBins, Layout};

mod keyed;

pub use keyed::{KeyedTable, Keys};

/// Items have no bin, and the stash has no room for them. By the parameters this has probability 2^-40.
///
/// To try again with other functions would tell the peer something about the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at least {items} of our own items find no bin, but the stash has room for {stash}")]
pub struct Failure {
    /// Items without a bin when this was noticed.
    pub items: usize,
    /// Items that the stash may hold.
    pub stash: usize,
}

/// The item of every bin.
pub struct Table {
    layout: Layout,
    slots: Vec<u32>,
    stash: Vec<u32>,
}

/// No item.
const EMPTY: u32 = u32::MAX;

impl Table {
    /// Puts every item into one of its bins, at most `stash` of them into the stash.
    ///
    /// # Errors
    /// [`Failure`] if more have no bin.
    ///
    /// # Panics
    /// If there are 2^32 - 1 items or more.
    pub fn build<P: ItemBins + ?Sized>(item_bins: &P, stash: usize) -> Result<Self, Failure> {
        assert!(
            u32::try_from(item_bins.items()).is_ok_and(|items| items < EMPTY),
            "fewer than 2^32 - 1 items"
        );
        let layout = item_bins.layout();
        let occupants = Numbers(item_bins);
        let mut placement = Placement {
            occupants: &occupants,
            functions: layout.functions(),
            slots: large_vec(EMPTY, layout.bins()),
        };
        let unplaced = placement.fill_free();
        let unplaced = placement.evict(&unplaced);
        let mut left = Vec::new();
        for item in unplaced {
            if !placement.search(item) {
                left.push(item);
                if left.len() > stash {
                    return Err(Failure { items: left.len(), stash });
                }
            }
        }
        Ok(Self { layout, slots: placement.slots, stash: left })
    }

    /// What both parties agreed on.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The item in `bin`, which [`Layout::function_of`] the bin puts there.
    ///
    /// # Panics
    /// If there is no such bin.
    #[inline]
    pub fn get(&self, bin: usize) -> Option<u32> {
        occupant(self.slots[bin])
    }

    /// How many of `bins` have an item.
    ///
    /// # Panics
    /// If they are not all there.
    pub fn occupied(&self, bins: Range<usize>) -> usize {
        self.slots[bins].iter().filter(|slot| **slot != EMPTY).count()
    }

    /// The bins in order, each with its item.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = Option<u32>> {
        self.slots.iter().map(|slot| occupant(*slot))
    }

    /// The items that have no bin. Their number must not show: a protocol pads the stash to the agreed size.
    pub fn stash(&self) -> &[u32] {
        &self.stash
    }
}

#[inline]
fn occupant(slot: u32) -> Option<u32> {
    (slot != EMPTY).then_some(slot)
}

/// Items that look for a free bin at the same time.
const BATCH: usize = 256;

/// Items that move at the same time.
const AT_ONCE: usize = 32;

/// Moves after which an item waits for the search. Few items come that far.
const MOST_MOVES: u32 = 100;

/// What stands for an item in its bin, and how the item's bins are found.
trait Occupants {
    type Occupant: Copy;

    /// In a bin without an item.
    const NONE: Self::Occupant;

    fn is_none(occupant: &Self::Occupant) -> bool;

    fn bins_of(&self, occupant: &Self::Occupant) -> Bins;

    /// Asks for what [`bins_of`](Self::bins_of) will read.
    fn prefetch(&self, occupant: &Self::Occupant);
}

/// Items by their numbers.
struct Numbers<'a, P: ?Sized>(&'a P);

impl<P: ItemBins + ?Sized> Occupants for Numbers<'_, P> {
    type Occupant = u32;
    const NONE: u32 = EMPTY;

    #[inline]
    fn is_none(occupant: &u32) -> bool {
        *occupant == EMPTY
    }

    #[inline]
    fn bins_of(&self, occupant: &u32) -> Bins {
        self.0.bins_of(*occupant as usize)
    }

    #[inline]
    fn prefetch(&self, occupant: &u32) {
        self.0.prefetch(*occupant as usize);
    }
}

struct Placement<'a, G: Occupants> {
    occupants: &'a G,
    functions: usize,
    slots: Vec<G::Occupant>,
}

/// An item on the move.
#[derive(Clone, Copy)]
struct Moving<T> {
    item: T,
    /// The bin from which it was evicted.
    from: u32,
    moves: u32,
    /// Its bins, once they are known.
    bins: Option<Bins>,
}

impl<P: ItemBins + ?Sized> Placement<'_, Numbers<'_, P>> {
    /// Puts items into free bins; returns those that have none. A batch of items asks for its bins under one
    /// function, then for those of the next function only where these are taken.
    fn fill_free(&mut self) -> Vec<u32> {
        let item_bins = self.occupants.0;
        let items = item_bins.items();
        let mut unplaced = Vec::new();
        let mut batch = [(0, Bins::default()); BATCH];
        for first in (0..items).step_by(BATCH) {
            let mut left = BATCH.min(items - first);
            for (item, entry) in (first..).zip(&mut batch[..left]) {
                *entry = (item as u32, item_bins.bins_of(item));
                prefetch(&self.slots, entry.1[0] as usize);
            }
            for function in 0..self.functions {
                let next = (function + 1) % self.functions;
                let mut taken = 0;
                for i in 0..left {
                    let (item, bins) = batch[i];
                    let slot = &mut self.slots[bins[function] as usize];
                    let free = *slot == EMPTY;
                    *slot = if free { item } else { *slot };
                    // Kept if its bin is taken, overwritten by the next one if not.
                    batch[taken] = (item, bins);
                    taken += usize::from(!free);
                    // If the item has its bin, a bin that is here already: a branch would go either way.
                    prefetch(&self.slots, bins[if free { function } else { next }] as usize);
                }
                left = taken;
            }
            unplaced.extend(batch[..left].iter().map(|(item, _)| *item));
        }
        unplaced
    }
}

impl<G: Occupants> Placement<'_, G> {
    /// Finds bins by eviction, for several items by turns so that memory is asked for in time. Returns the
    /// items that had no bin after [`MOST_MOVES`].
    fn evict(&mut self, unplaced: &[G::Occupant]) -> Vec<G::Occupant> {
        let mut waiting = unplaced.iter();
        let mut take = |occupants: &G| {
            let item = *waiting.next()?;
            occupants.prefetch(&item);
            Some(Moving { item, from: EMPTY, moves: 0, bins: None })
        };
        let mut all: Vec<Moving<G::Occupant>> = (0..AT_ONCE).map_while(|_| take(self.occupants)).collect();
        let (mut given_up, mut chance) = (Vec::new(), Chance(0));
        while !all.is_empty() {
            all.retain_mut(|moving| match moving.bins.take() {
                None => {
                    let bins = self.occupants.bins_of(&moving.item);
                    bins[..self.functions].iter().for_each(|bin| prefetch(&self.slots, *bin as usize));
                    moving.bins = Some(bins);
                    true
                }
                Some(bins) => match self.take_bin(moving, &bins[..self.functions], &mut chance) {
                    Some(next) => {
                        *moving = next;
                        true
                    }
                    None => take(self.occupants).map(|next| *moving = next).is_some(),
                },
            });
            all.retain(|moving| {
                let ready = moving.moves < MOST_MOVES;
                if !ready {
                    given_up.push(moving.item);
                }
                ready
            });
            while all.len() < AT_ONCE {
                match take(self.occupants) {
                    Some(next) => all.push(next),
                    None => break,
                }
            }
        }
        given_up
    }

    /// The item takes a free bin, or else another than the one it comes from. Returns the item that it evicts
    /// there.
    fn take_bin(
        &mut self,
        moving: &Moving<G::Occupant>,
        bins: &[u32],
        chance: &mut Chance,
    ) -> Option<Moving<G::Occupant>> {
        if let Some(bin) = first_free::<G>(&self.slots, bins) {
            self.slots[bin] = moving.item;
            return None;
        }
        let came_by = bins.iter().position(|bin| *bin == moving.from);
        let mut function = chance.below(bins.len() - usize::from(came_by.is_some() && bins.len() > 1));
        if came_by.is_some_and(|came_by| function >= came_by && bins.len() > 1) {
            function += 1;
        }
        let bin = bins[function];
        let evicted = std::mem::replace(&mut self.slots[bin as usize], moving.item);
        self.occupants.prefetch(&evicted);
        Some(Moving { item: evicted, from: bin, moves: moving.moves + 1, bins: None })
    }

    /// Looks for a free bin that `item` can get if others move, and moves them. False if there is none.
    fn search(&mut self, item: G::Occupant) -> bool {
        // The bins reached so far, each with the bin whose item could move there.
        let mut reached: HashMap<u32, u32> = HashMap::new();
        let mut next = VecDeque::new();
        for bin in &self.occupants.bins_of(&item)[..self.functions] {
            reached.insert(*bin, EMPTY);
            next.push_back(*bin);
        }
        while let Some(bin) = next.pop_front() {
            let there = self.slots[bin as usize];
            if G::is_none(&there) {
                self.shift(&reached, item, bin);
                return true;
            }
            for other in &self.occupants.bins_of(&there)[..self.functions] {
                reached.entry(*other).or_insert_with(|| {
                    next.push_back(*other);
                    bin
                });
            }
        }
        false
    }

    /// Moves the items on the path to the free bin `to`, and puts `item` where the path begins.
    fn shift(&mut self, reached: &HashMap<u32, u32>, item: G::Occupant, mut to: u32) {
        while let Some(from) = reached.get(&to).copied().filter(|from| *from != EMPTY) {
            self.slots[to as usize] = self.slots[from as usize];
            to = from;
        }
        self.slots[to as usize] = item;
    }
}

#[inline]
fn first_free<G: Occupants>(slots: &[G::Occupant], bins: &[u32]) -> Option<usize> {
    bins.iter().map(|bin| *bin as usize).find(|bin| G::is_none(&slots[*bin]))
}

/// Chooses the bin that an item takes next. Any choice ends with as few items in the stash; an irregular one
/// ends sooner.
struct Chance(u64);

impl Chance {
    #[inline]
    fn below(&mut self, range: usize) -> usize {
        // Knuth's multiplicative generator, of which the high half is used.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Half a word times a few bins: in 64 bits, which `usize` may not have.
        (((self.0 >> 32) * range as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashing::Digests;
    use crate::hashing::parameters::experiment::Graph;
    use vesica_crypto::block::Block;
    use vesica_crypto::prg::Prg;

    fn digests(seed: u64, count: usize) -> Vec<Block> {
        let mut digests = vec![Block::ZERO; count];
        Prg::fork([4; 16], seed).fill_blocks(&mut digests);
        digests
    }

    fn check(item_bins: &Digests<'_>, table: &Table) {
        let mut seen = vec![false; item_bins.items()];
        let mut see = |item: u32| assert!(!std::mem::replace(&mut seen[item as usize], true));
        let bins = table.layout().bins();
        for cut in [0, bins / 3, bins] {
            let occupied = table.occupied(0..cut) + table.occupied(cut..bins);
            assert_eq!(occupied, item_bins.items() - table.stash().len());
        }
        for (bin, item) in table.bins().enumerate() {
            assert_eq!(item, table.get(bin));
            if let Some(item) = item {
                let function = table.layout().function_of(bin);
                assert_eq!(item_bins.bins_of(item as usize)[function] as usize, bin);
                see(item);
            }
        }
        table.stash().iter().for_each(|item| see(*item));
        assert!(seen.into_iter().all(|seen| seen));
    }

    #[test]
    fn every_item_is_in_one_of_its_bins_or_in_the_stash() {
        for (items, functions, bins) in
            [(0, 3, 0), (1, 2, 2), (2, 1, 50), (300, 2, 720), (50_000, 3, 63_500), (9000, 4, 9400)]
        {
            let digests = digests(1, items);
            let item_bins = Digests::new(&digests, Layout::new(functions, bins));
            let table = Table::build(&item_bins, usize::MAX);
            let table = table.unwrap();
            check(&item_bins, &table);
            assert!(table.stash().len() <= 2);
        }
    }

    /// The items that no placement of two functions has a bin for.
    fn least_stash(item_bins: &Digests<'_>) -> usize {
        let mut graph = Graph::new(item_bins.layout().bins());
        let bins = (0..item_bins.items()).map(|item| item_bins.bins_of(item));
        bins.filter(|bins| !graph.insert(bins[0], bins[1])).count()
    }

    #[test]
    fn the_stash_is_as_small_as_it_can_be() {
        for (seed, bins) in (0..40).zip([40, 44, 50, 60].into_iter().cycle()) {
            let digests = digests(seed, 30);
            let item_bins = Digests::new(&digests, Layout::new(2, bins));
            let table = Table::build(&item_bins, usize::MAX);
            let table = table.unwrap();
            check(&item_bins, &table);
            assert_eq!(table.stash().len(), least_stash(&item_bins));
        }
    }

    #[test]
    fn a_stash_without_room_is_a_failure() {
        let digests = vec![Block::from(7u128); 5];
        let item_bins = Digests::new(&digests, Layout::new(3, 30));
        assert_eq!(Table::build(&item_bins, 1).err(), Some(Failure { items: 2, stash: 1 }));
        assert_eq!(Table::build(&item_bins, 2).map(|table| table.stash().len()), Ok(2));
        let one = Digests::new(&digests, Layout::new(1, 4));
        assert_eq!(Table::build(&one, 4).map(|table| table.stash().len()), Ok(4));
    }
}
