//! Simple hashing: every item in all of its bins.
//!
//! The table lists, bin after bin, the numbers of the items that are there, in ascending order; the lists lie
//! side by side (CSR). An item is in h bins, so a table has h·n entries. Some protocols must not show how
//! full a bin is. They pad it to a load that [`parameters`](super::parameters) bound, and
//! [`Table::check_load`] says whether that holds.
//!
//! Each segment is sorted by itself. Its items are first split by the leading bits of their bins into parts
//! that fit the cache. Then each part is sorted by counting.

use std::convert::Infallible;

use vesica_crypto::memory::{large_capacity, large_vec};
use vesica_crypto::par;

use super::bins::{ItemBins, Layout};

/// A bin holds more items than are allowed. By the parameters this has probability 2^-40.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a bin of our own table holds {load} items, but at most {maximum} are allowed")]
pub struct Overflow {
    /// Items in the fullest bin.
    pub load: usize,
    /// Items allowed.
    pub maximum: usize,
}

/// The items of every bin.
pub struct Table {
    layout: Layout,
    /// Where the entries of each bin begin, and the number of entries.
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl Table {
    /// Puts every item into all of its bins.
    ///
    /// # Panics
    /// If there are 2^32 entries or more.
    pub fn build<P: ItemBins + ?Sized>(threads: usize, item_bins: &P) -> Self {
        let layout = item_bins.layout();
        let (items, segment) = (item_bins.items(), layout.segment() as usize);
        assert!(u32::try_from(items * layout.functions()).is_ok(), "fewer than 2^32 entries");
        let mut starts = large_capacity(layout.bins() + 1);
        starts.resize(layout.bins(), 0);
        let mut entries = large_vec(0, items * layout.functions());
        if items > 0 {
            let segments = starts.chunks_mut(segment).zip(entries.chunks_mut(items));
            let Ok(()) = par::for_each::<_, Infallible, _>(threads, segments, |function, segment| {
                fill_segment(item_bins, function, segment.0, segment.1);
                Ok(())
            });
        }
        starts.push(entries.len() as u32);
        Self { layout, starts, entries }
    }

    /// Puts every item into the one bin that `bins` has for it.
    pub(super) fn of_bins(layout: Layout, bins: &[u32]) -> Self {
        let mut starts = vec![0; layout.bins()];
        let mut entries = large_vec(0, bins.len());
        for bin in bins {
            starts[*bin as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for (item, bin) in bins.iter().enumerate() {
            let start = &mut starts[*bin as usize];
            entries[*start as usize] = item as u32;
            *start += 1;
        }
        // Every start has moved to the next one's.
        starts.insert(0, 0);
        Self { layout, starts, entries }
    }

    /// What both parties agreed on.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The items in `bin`, which [`Layout::function_of`] the bin puts there.
    ///
    /// # Panics
    /// If there is no such bin.
    #[inline]
    pub fn bin(&self, bin: usize) -> &[u32] {
        &self.entries[self.starts[bin] as usize..self.starts[bin + 1] as usize]
    }

    /// The bins in order, each with its items.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.starts.windows(2).map(|ends| &self.entries[ends[0] as usize..ends[1] as usize])
    }

    /// The items of all bins, bin after bin.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// How many items are in the fullest bin.
    pub fn load(&self) -> usize {
        self.bins().map(<[u32]>::len).max().unwrap_or(0)
    }

    /// Whether no bin has more than `maximum` items, so that all can be padded to that many.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn check_load(&self, maximum: usize) -> Result<(), Overflow> {
        let load = self.load();
        if load > maximum { Err(Overflow { load, maximum }) } else { Ok(()) }
    }
}

/// The fewest bins of a part, as a power of 2.
const PART_BITS: u32 = 12;

/// More parts than this would be more streams of writes than the processor can follow.
const MOST_PARTS: usize = 1 << 10;

/// Sorts the items by their bins under one function; `starts` are relative to all entries.
fn fill_segment<P: ItemBins + ?Sized>(
    item_bins: &P,
    function: usize,
    starts: &mut [u32],
    entries: &mut [u32],
) {
    let first_bin = item_bins.layout().bin(function, 0);
    let mut shift = PART_BITS;
    while (starts.len() - 1) >> shift >= MOST_PARTS {
        shift += 1;
    }
    let offset_of = |item: usize| item_bins.bin_of(item, function) - first_bin;

    let mut ends = vec![0u32; ((starts.len() - 1) >> shift) + 1];
    for item in 0..entries.len() {
        ends[(offset_of(item) >> shift) as usize] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        // For now where the part begins; writing moves it to where it ends.
        sum += std::mem::replace(end, sum);
    }
    let mut records = large_vec(0u64, entries.len());
    for item in 0..entries.len() {
        let offset = offset_of(item);
        let slot = &mut ends[(offset >> shift) as usize];
        records[*slot as usize] = u64::from(offset) << 32 | item as u64;
        *slot += 1;
    }

    let base = (function * entries.len()) as u32;
    let mut begin = 0;
    for (part, (starts, end)) in starts.chunks_mut(1 << shift).zip(ends).enumerate() {
        let range = begin as usize..end as usize;
        deal(&records[range.clone()], (part << shift) as u32, starts, &mut entries[range]);
        starts.iter_mut().for_each(|start| *start += base + begin);
        begin = end;
    }
}

/// Sorts the records of one part by bin; `starts` become where the bins begin in `entries`.
fn deal(records: &[u64], first: u32, starts: &mut [u32], entries: &mut [u32]) {
    let bin_of = |record: u64| ((record >> 32) as u32 - first) as usize;
    for record in records {
        starts[bin_of(*record)] += 1;
    }
    let mut sum = 0;
    for start in &mut *starts {
        sum += std::mem::replace(start, sum);
    }
    for record in records {
        let start = &mut starts[bin_of(*record)];
        entries[*start as usize] = *record as u32;
        *start += 1;
    }
    // Every start has moved to the next one's.
    starts.rotate_right(1);
    starts[0] = 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashing::Digests;
    use vesica_crypto::block::Block;
    use vesica_crypto::prg::Prg;

    fn digests(count: usize) -> Vec<Block> {
        let mut digests = vec![Block::ZERO; count];
        Prg::from_seed([3; 16]).fill_blocks(&mut digests);
        digests
    }

    #[test]
    fn every_item_is_in_all_of_its_bins_and_nowhere_else() {
        for (items, functions, bins) in [
            (0, 2, 0),
            (1, 3, 1),
            (5, 1, 2),
            (1000, 2, 2400),
            (20_000, 3, 25_400),
            (5000, 3, 40),
            (300, 4, 90_000),
        ] {
            let digests = digests(items);
            let item_bins = Digests::new(&digests, Layout::new(functions, bins));
            let mut expected = vec![Vec::new(); item_bins.layout().bins()];
            for item in 0..items {
                for bin in &item_bins.bins_of(item)[..functions] {
                    expected[*bin as usize].push(item as u32);
                }
            }
            for threads in [1, 3] {
                let table = Table::build(threads, &item_bins);
                assert_eq!(table.entries().len(), items * functions);
                assert!(table.bins().eq(expected.iter().map(|bin| &bin[..])));
                assert!((0..expected.len()).all(|bin| table.bin(bin) == expected[bin]));
            }
        }
    }

    #[test]
    fn many_bins_are_split_into_larger_parts() {
        let digests = digests(3000);
        let item_bins = Digests::new(&digests, Layout::new(1, 10_000_000));
        let table = Table::build(1, &item_bins);
        for item in 0..digests.len() {
            assert!(table.bin(item_bins.bins_of(item)[0] as usize).contains(&(item as u32)));
        }
        assert_eq!(table.entries().len(), digests.len());
    }

    #[test]
    fn an_overflow_is_named() {
        let digests = digests(10);
        let table = Table::build(1, &Digests::new(&digests, Layout::new(1, 1)));
        assert_eq!(table.check_load(10), Ok(()));
        assert_eq!(table.check_load(9), Err(Overflow { load: 10, maximum: 9 }));
    }
}
