//! Balanced hashing: every item in the emptiest of its bins (Azar, Broder, Karlin, Upfal; in PSI: FNP04,
//! PSZ14).
//!
//! A bin gets far fewer items than under simple hashing, so a table whose bins are padded to the [`maximum
//! load`](super::parameters::maximum_balanced_load) is smaller. Unlike under cuckoo hashing no item is moved,
//! and a bin holds several items. The other party's items are in all of their bins ([`simple`]).
//!
//! Items are placed one after the other. Of bins that are equally full an item takes that of the first
//! function. The order of the items must not depend on their bins. It does not if it was chosen before the
//! run's keys were.

use super::bins::ItemBins;
use super::simple::Table;

#[cfg(doc)]
use super::simple;

/// Puts every item into one of its bins.
///
/// # Panics
/// If there are 2^32 items or more.
pub fn build<P: ItemBins + ?Sized>(item_bins: &P) -> Table {
    let layout = item_bins.layout();
    assert!(u32::try_from(item_bins.items()).is_ok(), "fewer than 2^32 items");
    let mut loads = vec![0u32; layout.bins()];
    let mut chosen = Vec::with_capacity(item_bins.items());
    for item in 0..item_bins.items() {
        let bins = item_bins.bins_of(item);
        let mut emptiest = bins[0];
        for &bin in &bins[1..layout.functions()] {
            if loads[bin as usize] < loads[emptiest as usize] {
                emptiest = bin;
            }
        }
        loads[emptiest as usize] += 1;
        chosen.push(emptiest);
    }
    Table::of_bins(layout, &chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashing::parameters::{bounds, maximum_balanced_load, maximum_load};
    use crate::hashing::{Digests, Layout};
    use vesica_crypto::block::Block;
    use vesica_crypto::prg::Prg;
    use vesica_crypto::security::STATISTICAL_SECURITY;

    fn digests(count: usize, repetition: u64) -> Vec<Block> {
        let mut digests = vec![Block::ZERO; count];
        Prg::fork(*b"balanced hashing", repetition).fill_blocks(&mut digests);
        digests
    }

    #[test]
    fn every_item_is_in_the_bin_that_was_emptiest_when_it_came() {
        for (items, functions, bins) in
            [(0, 2, 4), (1, 2, 1), (9, 1, 3), (1000, 2, 300), (1000, 3, 1000), (5000, 4, 7)]
        {
            let digests = digests(items, 0);
            let item_bins = Digests::new(&digests, Layout::new(functions, bins));
            let mut expected: Vec<Vec<u32>> = vec![Vec::new(); item_bins.layout().bins()];
            for item in 0..items {
                let bins = &item_bins.bins_of(item)[..functions];
                let emptiest = *bins.iter().min_by_key(|bin| expected[**bin as usize].len()).unwrap();
                expected[emptiest as usize].push(item as u32);
            }
            let table = build(&item_bins);
            assert!(table.bins().eq(expected.iter().map(|bin| &bin[..])), "{items} {functions} {bins}");
            assert_eq!(table.entries().len(), items);
        }
    }

    #[test]
    fn overflows_are_as_rare_as_the_bound_says() {
        const REPETITIONS: u64 = 1 << 12;
        for (items, functions, bins) in [(64, 2, 64), (256, 2, 64), (1024, 2, 1024), (256, 3, 128)] {
            let layout = Layout::new(functions, bins);
            let mut loads = [0u64; 64];
            for repetition in 0..REPETITIONS {
                let digests = digests(items, repetition);
                loads[build(&Digests::new(&digests, layout)).load()] += 1;
            }
            for load in 1..20 {
                let more: u64 = loads[load + 1..].iter().sum();
                let bound = bounds::balanced(functions, items as u64, layout.bins() as u64, load as u64);
                // Six deviations above the mean that the bound allows.
                let mean = REPETITIONS as f64 * bound.exp2();
                let most = mean + 6.0 * mean.sqrt() + 1.0;
                assert!(more as f64 <= most, "{items} {functions} {bins} {load}: {more} of {mean}");
            }
        }
    }

    #[test]
    fn the_load_is_the_smallest_that_does_and_below_that_of_simple_hashing() {
        assert_eq!(maximum_balanced_load(1 << 20, Layout::new(2, 1 << 20), STATISTICAL_SECURITY), 9);
        for (items, functions, bins) in [(1 << 10, 2, 1 << 10), (1 << 12, 3, 1 << 12), (1 << 16, 2, 1 << 14)]
        {
            let layout = Layout::new(functions, bins);
            let load = maximum_balanced_load(items, layout, STATISTICAL_SECURITY);
            let bound =
                |load: usize| bounds::balanced(functions, items as u64, layout.bins() as u64, load as u64);
            assert!(bound(load) <= -40.0 && bound(load - 1) > -40.0);
            assert!(load < maximum_load(items, Layout::new(1, bins), STATISTICAL_SECURITY));
            let digests = digests(items, 1);
            assert_eq!(build(&Digests::new(&digests, layout)).check_load(load), Ok(()));
        }
        // A third item meets one in each of its two bins with about 2^-38, and never two in both.
        assert_eq!(maximum_balanced_load(3, Layout::new(2, 1 << 20), STATISTICAL_SECURITY), 2);
        assert_eq!(maximum_balanced_load(0, Layout::new(2, 8), STATISTICAL_SECURITY), 0);
    }
}
