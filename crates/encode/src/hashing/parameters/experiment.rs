//! Repeats cuckoo hashing with two functions many times and counts the items that are left over.
//!
//! Bins are the nodes of a graph, and items are its edges. A connected component with more edges than nodes
//! leaves over the difference. No placement does better, and [`cuckoo::Table`](crate::hashing::cuckoo::Table)
//! reaches this. Counting needs no table, only the components of the graph, which are joined edge by edge.

use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;

use super::super::bins::scale;
use super::bounds::Table;

/// A graph whose edges come one by one.
pub struct Graph {
    /// For each node the next node towards the root of its component.
    parent: Vec<u32>,
    /// At a root: for how many edges its component still has room.
    room: Vec<u32>,
}

impl Graph {
    /// A graph of `nodes` nodes without edges.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { parent: (0..nodes as u32).collect(), room: vec![1; nodes] }
    }

    /// Removes all edges.
    pub fn clear(&mut self) {
        (0..).zip(&mut self.parent).for_each(|(node, parent)| *parent = node);
        self.room.fill(1);
    }

    /// Adds an edge between two nodes, and returns whether there is room for it.
    #[inline]
    pub fn insert(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parent[b as usize] = a;
            self.room[a as usize] += self.room[b as usize];
        }
        let room = &mut self.room[a as usize];
        let fits = *room > 0;
        *room -= u32::from(fits);
        fits
    }

    #[inline]
    fn root(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }
}

/// Hashes `items` random items to `bins` bins, `repetitions` times, and returns how often 0, 1, 2, … items
/// were left over.
///
/// `first` is the number of the first repetition. Each repetition has its own randomness, so an experiment
/// can be divided.
#[must_use]
pub fn left_over(table: Table, items: usize, bins: u32, first: u64, repetitions: u64) -> Vec<u64> {
    let mut counts = vec![0];
    let mut graph = Graph::new(bins as usize);
    let mut random = vec![Block::ZERO; items.div_ceil(2)];
    let (range, second) = if table == Table::Segments { (bins / 2, bins / 2) } else { (bins, 0) };
    for repetition in first..first + repetitions {
        Prg::fork(*b"cuckoo, repeated", repetition).fill_blocks(&mut random);
        graph.clear();
        let halves = random.iter().flat_map(|block| <[u64; 2]>::from(block.to_halves()));
        let left = halves.take(items).filter(|half| {
            let (a, b) = (scale(half << 32, range).0, scale(*half, range).0 + second);
            !graph.insert(a, b)
        });
        let left = left.count();
        if counts.len() <= left {
            counts.resize(left + 1, 0);
        }
        counts[left] += 1;
    }
    counts
}

#[cfg(test)]
mod permuted_tests;

#[cfg(test)]
mod tests {
    use super::super::{Cuckoo, bounds, maximum_load, three_way, two_way};
    use super::*;
    use crate::hashing::{Digests, Layout, cuckoo, simple};
    use vesica_crypto::security::STATISTICAL_SECURITY;

    /// How often `fails` is true in `repetitions` repetitions, with new digests each time.
    pub(super) fn frequency(items: usize, repetitions: u64, mut fails: impl FnMut(&[Block]) -> bool) -> u64 {
        let mut digests = vec![Block::ZERO; items];
        let mut count = 0;
        for repetition in 0..repetitions {
            Prg::fork([8; 16], repetition).fill_blocks(&mut digests);
            count += u64::from(fails(&digests));
        }
        count
    }

    /// Checks that `count` of `repetitions` is at most the bound 2^`bound`, up to five deviations, and at
    /// least a sixteenth of it. So the bound holds and is not far off.
    fn agrees(count: u64, repetitions: u64, bound: f64) {
        let most = repetitions as f64 * bound.exp2();
        let count = count as f64;
        assert!(count <= most + 5.0 * most.sqrt(), "{count} failures, at most {most:.1} expected");
        assert!(
            count >= most / 16.0 - 5.0 * (most / 16.0).sqrt(),
            "{count} failures, the bound says {most:.1}"
        );
        assert!(most > 100.0, "too few repetitions to say anything");
    }

    #[test]
    fn three_functions_fail_as_often_as_the_bound_says() {
        // Too few bins, such that the bound is about 2^-8.
        for items in [4, 8, 16] {
            let bound = |bins: u64| bounds::cuckoo(Table::Segments, 3, items, bins, 0);
            let bins = (3..).step_by(3).take_while(|bins| bound(*bins) > -9.2).last();
            let (layout, bound) = bins.map(|bins| (Layout::new(3, bins), bound(bins))).unwrap();
            let count = frequency(items as usize, 1 << 16, |digests| {
                cuckoo::Table::build(&Digests::new(digests, layout), 0).is_err()
            });
            agrees(count, 1 << 16, bound);
        }
    }

    #[test]
    fn a_stash_is_exceeded_as_often_as_the_bound_says() {
        for (items, stash, repetitions) in [(256, 0, 1 << 13), (256, 1, 1 << 16), (256, 2, 1 << 18)] {
            let layout = two_way(items, STATISTICAL_SECURITY).layout;
            let bound = bounds::cuckoo(Table::Segments, 2, items as u64, layout.bins() as u64, stash);
            let exceeded = left_over(Table::Segments, items, layout.bins() as u32, 0, repetitions);
            agrees(exceeded[stash + 1..].iter().sum(), repetitions, bound);
        }
        let (items, repetitions) = (256, 1 << 13);
        let Cuckoo { layout, .. } = two_way(items, STATISTICAL_SECURITY);
        let count = frequency(items, repetitions, |digests| {
            cuckoo::Table::build(&Digests::new(digests, layout), 0).is_err()
        });
        agrees(count, repetitions, bounds::cuckoo(Table::Segments, 2, 256, layout.bins() as u64, 0));
    }

    #[test]
    fn bins_overflow_as_often_as_the_bound_says() {
        for (items, functions, bins) in [(256, 2, 615), (300, 3, 390), (1000, 1, 20)] {
            let layout = Layout::new(functions, bins);
            let bound = |load: u64| {
                bounds::overflow(items, u64::from(layout.segment()), load) + (functions as f64).log2()
            };
            let load = (1..).find(|load| bound(*load) < -7.0).unwrap();
            let bound = bound(load);
            let count = frequency(items as usize, 1 << 16, |digests| {
                let table = simple::Table::build(1, &Digests::new(digests, layout));
                table.check_load(load as usize).is_err()
            });
            agrees(count, 1 << 16, bound);
        }
    }

    #[test]
    fn the_real_parameters_do_not_fail() {
        for items in [1, 2, 3, 5, 40, 300, 1000, 5000] {
            let (two, three) = (two_way(items, STATISTICAL_SECURITY), three_way(items, STATISTICAL_SECURITY));
            let load = maximum_load(items, two.layout, STATISTICAL_SECURITY);
            let count = frequency(items, 200, |digests| {
                let item_bins = Digests::new(digests, two.layout);
                cuckoo::Table::build(&item_bins, two.stash).is_err()
                    || cuckoo::Table::build(&Digests::new(digests, three.layout), three.stash).is_err()
                    || simple::Table::build(1, &item_bins).check_load(load).is_err()
            });
            assert_eq!(count, 0, "{items} items");
        }
    }

    #[test]
    fn both_kinds_of_table_are_hashed_to() {
        for table in [Table::Segments, Table::Shared] {
            let (whole, half) = (left_over(table, 30, 40, 0, 200), left_over(table, 30, 40, 0, 100));
            let rest = left_over(table, 30, 40, 100, 100);
            assert_eq!(whole.iter().sum::<u64>(), 200);
            for (left, count) in whole.into_iter().enumerate() {
                let of = |counts: &Vec<u64>| counts.get(left).copied().unwrap_or(0);
                assert_eq!(count, of(&half) + of(&rest));
            }
        }
    }
}
