//! Cuckoo hashing with bins of several slots: every item in one of its bins, no bin over its capacity
//! (Dietzfelbinger, Weidling, Theoret. Comput. Sci. 380, 2007).
//!
//! [`balanced`](super::balanced) hashing leaves an item where it came first, and the fullest bin then has
//! several times the average. Here items move when their bins are full. A table whose bins are padded to a
//! capacity of three, which [`parameters`](super::parameters::blocked) choose, is 1.22 times as large as the
//! set. The other party's items are in all of their bins ([`simple`](super::simple)).
//!
//! An item that finds its bins full begins a search, breadth first, for a bin with a free slot that can be
//! reached by moving items. The search finds one whenever there is one. Whether a set fits is then a property
//! of its bins alone (Hall's theorem), not of the order of its items or of a limit of moves, and a failure is
//! an error: there is no second try.
//!
//! Bins and moves depend on the party's own items, on its own machine, and are not constant time.

use std::collections::{HashMap, VecDeque};

use super::bins::ItemBins;
use super::simple::Table;

/// An item has no bin. By the parameters this has probability 2^-40.
///
/// To try again with other functions would tell the peer something about the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an item of our own finds no bin with fewer than {capacity} items")]
pub struct Failure {
    /// Items that a bin may hold.
    pub capacity: usize,
}

/// Puts every item into one of its bins, at most `capacity` items a bin.
///
/// # Errors
/// [`Failure`], if there is no such placement.
///
/// # Panics
/// If there are 2^32 items or more.
pub fn build<P: ItemBins + ?Sized>(item_bins: &P, capacity: usize) -> Result<Table, Failure> {
    let layout = item_bins.layout();
    assert!(u32::try_from(item_bins.items()).is_ok(), "fewer than 2^32 items");
    let mut placement = Placement { item_bins, capacity, bins: vec![Vec::new(); layout.bins()] };
    for item in 0..item_bins.items() {
        if !placement.place(item as u32) {
            return Err(Failure { capacity });
        }
    }
    let mut chosen = vec![0; item_bins.items()];
    for (bin, items) in (0..).zip(&placement.bins) {
        for item in items {
            chosen[*item as usize] = bin;
        }
    }
    Ok(Table::of_bins(layout, &chosen))
}

struct Placement<'a, P: ?Sized> {
    item_bins: &'a P,
    capacity: usize,
    bins: Vec<Vec<u32>>,
}

impl<P: ItemBins + ?Sized> Placement<'_, P> {
    fn bins_of(&self, item: u32) -> impl Iterator<Item = u32> + use<P> {
        let functions = self.item_bins.layout().functions();
        self.item_bins.bins_of(item as usize).into_iter().take(functions)
    }

    fn has_room(&self, bin: u32) -> bool {
        self.bins[bin as usize].len() < self.capacity
    }

    /// Puts the item into the emptiest of its bins, or moves others until one has room. False if none can.
    fn place(&mut self, item: u32) -> bool {
        let emptiest = self.bins_of(item).min_by_key(|bin| self.bins[*bin as usize].len());
        match emptiest.filter(|bin| self.has_room(*bin)) {
            Some(bin) => {
                self.bins[bin as usize].push(item);
                true
            }
            None => self.search(item),
        }
    }

    /// Looks for a bin with room that others can move to, so that one of the item's bins gets room.
    fn search(&mut self, item: u32) -> bool {
        // The bins reached so far, each with the item that would move there and the bin it would leave.
        let mut reached: HashMap<u32, Option<(u32, u32)>> =
            self.bins_of(item).map(|bin| (bin, None)).collect();
        let mut next: VecDeque<u32> = self.bins_of(item).collect();
        while let Some(bin) = next.pop_front() {
            if self.has_room(bin) {
                self.shift(&reached, item, bin);
                return true;
            }
            for other in &self.bins[bin as usize] {
                for to in self.bins_of(*other) {
                    reached.entry(to).or_insert_with(|| {
                        next.push_back(to);
                        Some((*other, bin))
                    });
                }
            }
        }
        false
    }

    /// Moves the items on the path to `to`, and puts `item` where the path begins.
    fn shift(&mut self, reached: &HashMap<u32, Option<(u32, u32)>>, item: u32, mut to: u32) {
        while let Some((moved, from)) = reached.get(&to).copied().flatten() {
            self.bins[from as usize].retain(|other| *other != moved);
            self.bins[to as usize].push(moved);
            to = from;
        }
        self.bins[to as usize].push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashing::parameters::{blocked, bounds};
    use crate::hashing::{Digests, Layout};
    use vesica_crypto::block::Block;
    use vesica_crypto::prg::Prg;
    use vesica_crypto::security::STATISTICAL_SECURITY;

    fn digests(count: usize, repetition: u64) -> Vec<Block> {
        let mut digests = vec![Block::ZERO; count];
        Prg::fork(*b"blocked  hashing", repetition).fill_blocks(&mut digests);
        digests
    }

    #[test]
    fn every_item_is_in_one_of_its_bins_and_no_bin_is_over_its_capacity() {
        for items in [0, 1, 2, 15, 16, 17, 100, 1 << 10, 1 << 14, 100_000] {
            let (layout, capacity) = blocked(items, STATISTICAL_SECURITY);
            let digests = digests(items, 0);
            let item_bins = Digests::new(&digests, layout);
            let table = build(&item_bins, capacity).unwrap();
            let mut seen = vec![false; items];
            for (bin, there) in table.bins().enumerate() {
                assert!(there.len() <= capacity);
                for item in there {
                    let own = item_bins.bin_of(*item as usize, layout.function_of(bin));
                    assert_eq!(own as usize, bin);
                    assert!(!std::mem::replace(&mut seen[*item as usize], true));
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }

    /// Two bins that can hold six take six items of the same two bins and no seventh.
    #[test]
    fn a_set_that_does_not_fit_is_refused() {
        let same = vec![Block::from(7u128); 7];
        assert!(build(&Digests::new(&same[..6], Layout::new(2, 20)), 3).is_ok());
        let failure = build(&Digests::new(&same, Layout::new(2, 20)), 3).err();
        assert_eq!(failure, Some(Failure { capacity: 3 }));
    }

    /// Where failures are frequent enough to be counted, and in full tables, where items have to move far.
    #[test]
    fn failures_are_as_rare_as_the_bound_says() {
        const REPETITIONS: u64 = 1 << 11;
        let mut failures_seen = 0;
        for (items, bins, capacity) in
            [(8, 4, 2), (12, 6, 2), (16, 6, 3), (24, 10, 3), (64, 26, 3), (300, 118, 3)]
        {
            let layout = Layout::new(2, bins);
            let failures = (0..REPETITIONS)
                .filter(|&repetition| {
                    build(&Digests::new(&digests(items, repetition), layout), capacity).is_err()
                })
                .count() as f64;
            let bound = bounds::blocked(items as u64, layout.bins() as u64, capacity as u64);
            // Six deviations above the mean that the bound allows.
            let mean = REPETITIONS as f64 * bound.exp2();
            assert!(
                failures <= mean + 6.0 * mean.sqrt() + 1.0,
                "{items} {bins} {capacity}: {failures} of {mean}"
            );
            failures_seen += failures as u64;
        }
        assert!(failures_seen > 20, "{failures_seen}");
    }
}
