//! How often items are left over with bins from a permutation of short items. The bounds assume uniform and independent
//! bins, but the bins of a Feistel network over a small domain are neither.
//!
//! Under one function, k items share a bin only if their last R differ, and then with probability m^-(k-1).
//! So two or more items never share a bin more often than independent ones. These tests also count how sets
//! of bins meet.

use super::super::bounds::Table;
use super::super::{Cuckoo, bounds, two_way};
use super::tests::frequency;
use crate::hashing::permutation::Permutation;
use crate::hashing::{Digests, ItemBins, Layout, cuckoo, simple};
use vesica_crypto::hash::Context;
use vesica_crypto::prg::Prg;
use vesica_crypto::security::STATISTICAL_SECURITY;

const SIGMAS: [u32; 3] = [12, 16, 20];

/// The items of a set.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Items {
    /// Random items.
    Random,
    /// A range.
    Consecutive,
    /// Items that are equal modulo the bins of a function, with a range of quotients.
    OneOffset,
    /// Ranges of both, as nearly square as possible.
    Grid,
}

const KINDS: [Items; 4] = [Items::Random, Items::Consecutive, Items::OneOffset, Items::Grid];

/// Different numbers below 2^σ, repetition by repetition.
struct Source {
    kind: Items,
    sigma: u32,
    segment: u64,
    /// All numbers, those drawn last first.
    pool: Vec<u32>,
    rng: Prg,
}

impl Source {
    fn new(kind: Items, sigma: u32, layout: Layout) -> Self {
        let pool = if kind == Items::Random { (0..1 << sigma).collect() } else { Vec::new() };
        Self { kind, sigma, segment: layout.segment().into(), pool, rng: Prg::from_seed([4; 16]) }
    }

    fn below(&mut self, range: u64) -> u64 {
        let mut bytes = [0; 8];
        self.rng.fill(&mut bytes);
        ((u128::from(u64::from_le_bytes(bytes)) * u128::from(range)) >> 64) as u64
    }

    /// `count` items; none if the domain has no such set.
    fn draw(&mut self, count: u64) -> Option<Vec<u128>> {
        let (m, all) = (self.segment, 1u64 << self.sigma);
        // Number i is `i % width + (i / width)·step` from the first.
        let (width, step) = match self.kind {
            Items::Random => {
                for i in 0..count as usize {
                    let other = i + self.below(all - i as u64) as usize;
                    self.pool.swap(i, other);
                }
                return Some(self.pool[..count as usize].iter().map(|item| u128::from(*item)).collect());
            }
            Items::Consecutive => (count, 0),
            Items::OneOffset => (1, m),
            Items::Grid => (count.isqrt().min(m), m),
        };
        let item = |i: u64| i % width + i / width * step;
        let first = self.below(all.checked_sub(item(count - 1) + width)? + 1);
        Some((0..count).map(|i| u128::from(first + item(i))).collect())
    }
}

/// How often `fails` is true in so many repetitions, each with its own functions and items; none if there are
/// no such items.
fn permuted(
    source: &mut Source,
    layout: Layout,
    items: usize,
    repetitions: u64,
    fails: impl Fn(&dyn ItemBins) -> bool,
) -> Option<u64> {
    let mut count = 0;
    for repetition in 0..repetitions {
        let context = Context::new(&[3; 32], "permuted", b"", repetition, items as u64);
        let drawn = source.draw(items as u64)?;
        let placed = Permutation::new(&context, source.sigma, layout).place(1, items, |i| drawn[i]);
        count += u64::from(fails(&placed));
    }
    Some(count)
}

/// Counts failures over all domains and kinds of items. There must be no more than `bound`, as a power of 2,
/// allows, and no more than with independent bins. In domains that are much larger than the set, there must
/// be about as many.
fn agrees_with_independent_bins(
    layout: Layout,
    items: usize,
    repetitions: u64,
    bound: f64,
    fails: impl Fn(&dyn ItemBins) -> bool,
) {
    const MORE: u64 = 4;
    let independent = frequency(items, MORE * repetitions, |digests| fails(&Digests::new(digests, layout)));
    let expected = independent as f64 / MORE as f64;
    assert!(expected >= 10.0, "{items} items: {expected} failures say nothing");
    assert!(expected <= repetitions as f64 * bound.exp2() * 1.2, "{items} items: {expected}, the bound");
    let (mut all, mut cases) = (0, 0);
    for sigma in SIGMAS {
        for kind in KINDS {
            let mut source = Source::new(kind, sigma, layout);
            let Some(count) = permuted(&mut source, layout, items, repetitions, &fails) else { continue };
            let what = format!(
                "{items} items, σ = {sigma}, {kind:?}: {count} failures, {expected} of independent bins"
            );
            let count = count as f64;
            assert!(count <= expected + 5.0 * (1.25 * expected).sqrt(), "{what}");
            // Items of a small domain are spread more evenly than independent ones.
            if sigma > SIGMAS[0] {
                assert!(count >= expected / 2.0 - 5.0 * expected.sqrt(), "{what}");
            }
            (all, cases) = (all + count as u64, cases + 1);
        }
    }
    assert!(cases >= 8, "{cases} of {} kinds of sets", SIGMAS.len() * KINDS.len());
    // All together, more sharply.
    let expected = expected * f64::from(cases);
    let deviation = (expected + expected * f64::from(cases) / MORE as f64).sqrt();
    assert!(all as f64 <= expected + 5.0 * deviation, "{items} items: {all} failures, {expected} expected");
}

#[test]
fn three_functions_fail_no_more_often_than_with_independent_bins() {
    for (items, bins, repetitions) in
        [(4, 6, 1 << 13), (8, 9, 1 << 12), (16, 18, 1 << 11), (64, 72, 1 << 11), (256, 288, 1 << 11)]
    {
        let layout = Layout::new(3, bins);
        let bound = bounds::cuckoo(Table::Segments, 3, items as u64, bins, 0);
        agrees_with_independent_bins(layout, items, repetitions, bound, |item_bins| {
            cuckoo::Table::build(item_bins, 0).is_err()
        });
    }
}

#[test]
fn a_stash_is_exceeded_no_more_often_than_with_independent_bins() {
    for (items, stash, repetitions) in [(64, 0, 1 << 12), (64, 1, 1 << 13), (256, 0, 1 << 12)] {
        let Cuckoo { layout, .. } = two_way(items, STATISTICAL_SECURITY);
        let bound = bounds::cuckoo(Table::Segments, 2, items as u64, layout.bins() as u64, stash);
        agrees_with_independent_bins(layout, items, repetitions, bound, |item_bins| {
            cuckoo::Table::build(item_bins, stash).is_err()
        });
    }
}

#[test]
fn bins_overflow_no_more_often_than_independent_ones() {
    for (items, functions, bins) in [(256, 2, 615), (300, 3, 390), (1000, 3, 30)] {
        let layout = Layout::new(functions, bins);
        let bound = |load: u64| {
            bounds::overflow(items as u64, u64::from(layout.segment()), load) + (functions as f64).log2()
        };
        let load = (1..).find(|load| bound(*load) < -4.0).unwrap();
        agrees_with_independent_bins(layout, items, 1 << 11, bound(load), |item_bins| {
            simple::Table::build(1, item_bins).check_load(load as usize).is_err()
        });
    }
}
