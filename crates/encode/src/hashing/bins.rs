//! The bins that each item may go to.
//!
//! Both parties agree on a [`Layout`]. [`ItemBins`] says which bins an item has under it. [`Digests`]
//! computes them from keyed digests. Let u be a half of the digest as a fraction of 1. Then ⌊u·m⌋ is the
//! offset under the first function of that half, and the fractional part of u·m gives the second one in the
//! same way. Offsets are uniform up to m²/2^64.

use std::ops::Range;

use vesica_crypto::block::Block;
use vesica_crypto::memory::prefetch;

/// The most functions that a layout has.
pub const MOST_FUNCTIONS: usize = 4;

/// The bins of an item, one for each function. Entries beyond the functions of the layout are zero.
pub type Bins = [u32; MOST_FUNCTIONS];

/// How many functions and bins there are. Agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    functions: usize,
    segment: u32,
}

impl Layout {
    /// `functions` segments of equal size, at least one bin each and at least `bins` in all.
    ///
    /// # Panics
    /// If `functions` is not 1 to [`MOST_FUNCTIONS`], or there are 2^32 bins or more.
    #[must_use]
    pub fn new(functions: usize, bins: u64) -> Self {
        assert!((1..=MOST_FUNCTIONS).contains(&functions), "one to four functions");
        let segment = bins.div_ceil(functions as u64).max(1);
        assert!(segment * (functions as u64) < 1 << 32, "fewer than 2^32 bins");
        Self { functions, segment: segment as u32 }
    }

    /// h: how many bins an item has.
    #[inline]
    #[must_use]
    pub const fn functions(self) -> usize {
        self.functions
    }

    /// m: how many bins a function has.
    #[inline]
    #[must_use]
    pub const fn segment(self) -> u32 {
        self.segment
    }

    /// β = h·m: how many bins there are.
    #[inline]
    #[must_use]
    pub const fn bins(self) -> usize {
        self.functions * self.segment as usize
    }

    /// The function whose segment has `bin`.
    #[inline]
    #[must_use]
    pub const fn function_of(self, bin: usize) -> usize {
        bin / self.segment as usize
    }

    /// `bins`, cut at the ends of the segments.
    pub fn segments_of(self, bins: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let segment = self.segment as usize;
        let functions = bins.start / segment..bins.end.div_ceil(segment);
        functions
            .map(move |function| bins.start.max(function * segment)..bins.end.min((function + 1) * segment))
    }

    /// The bins of `function`.
    #[inline]
    #[must_use]
    pub const fn segment_of(self, function: usize) -> Range<usize> {
        function * self.segment as usize..(function + 1) * self.segment as usize
    }

    /// The bin under `function` of the item with this digest.
    #[inline]
    #[must_use]
    pub fn bin_of(self, digest: Block, function: usize) -> u32 {
        let (low, high) = digest.to_halves();
        let (first, rest) = scale(if function < 2 { low } else { high }, self.segment);
        let offset = if function.is_multiple_of(2) { first } else { scale(rest, self.segment).0 };
        self.bin(function, offset)
    }

    /// The bins of the item with this digest.
    #[inline]
    #[must_use]
    pub fn bins_of(self, digest: Block) -> Bins {
        let (low, high) = digest.to_halves();
        let (first, rest) = scale(low, self.segment);
        let (second, _) = scale(rest, self.segment);
        let (third, rest) = scale(high, self.segment);
        let (fourth, _) = scale(rest, self.segment);
        let offsets = [first, second, third, fourth];
        let mut bins = Bins::default();
        for function in 0..self.functions {
            bins[function] = self.bin(function, offsets[function]);
        }
        bins
    }

    /// The bin at `offset` of the segment of `function`.
    #[inline]
    #[must_use]
    pub(crate) const fn bin(self, function: usize, offset: u32) -> u32 {
        function as u32 * self.segment + offset
    }
}

/// The bins of every item of a set. The same item has the same bins in both parties' sets.
pub trait ItemBins: Sync {
    /// The layout that both parties agreed on.
    fn layout(&self) -> Layout;

    /// How many items there are.
    fn items(&self) -> usize;

    /// The bins of `item`, that of function i in the segment of function i.
    fn bins_of(&self, item: usize) -> Bins;

    /// The bin of `item` under `function`.
    fn bin_of(&self, item: usize, function: usize) -> u32;

    /// Prefetches what [`bins_of`](Self::bins_of) will read.
    #[inline]
    fn prefetch(&self, _item: usize) {}
}

/// Items that are uniform 128-bit digests, keyed for the run.
#[derive(Clone, Copy)]
pub struct Digests<'a> {
    digests: &'a [Block],
    layout: Layout,
}

impl<'a> Digests<'a> {
    /// The items with these digests.
    #[must_use]
    pub fn new(digests: &'a [Block], layout: Layout) -> Self {
        Self { digests, layout }
    }
}

impl ItemBins for Digests<'_> {
    #[inline]
    fn layout(&self) -> Layout {
        self.layout
    }

    #[inline]
    fn items(&self) -> usize {
        self.digests.len()
    }

    #[inline]
    fn bins_of(&self, item: usize) -> Bins {
        self.layout.bins_of(self.digests[item])
    }

    #[inline]
    fn bin_of(&self, item: usize, function: usize) -> u32 {
        self.layout.bin_of(self.digests[item], function)
    }

    #[inline]
    fn prefetch(&self, item: usize) {
        prefetch(self.digests, item);
    }
}

/// ⌊u·range⌋ and the fractional part of u·range, for u = `value`/2^64.
#[inline]
pub(crate) fn scale(value: u64, range: u32) -> (u32, u64) {
    let product = u128::from(value) * u128::from(range);
    ((product >> 64) as u32, product as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::prg::Prg;

    #[test]
    fn segments_cover_the_bins() {
        for (functions, bins, all) in [(1, 0, 1), (1, 7, 7), (2, 7, 8), (3, 1332, 1332), (3, 1333, 1335)] {
            let layout = Layout::new(functions, bins);
            assert_eq!(layout.bins(), all);
            for function in 0..functions {
                let first = layout.bin(function, 0) as usize;
                let last = layout.bin(function, layout.segment() - 1) as usize;
                assert_eq!((layout.function_of(first), layout.function_of(last)), (function, function));
                assert_eq!(layout.segment_of(function), first..last + 1);
            }
            assert_eq!(layout.bin(functions - 1, layout.segment() - 1) as usize, all - 1);
        }
    }

    #[test]
    fn bins_are_cut_where_segments_end() {
        let layout = Layout::new(3, 30);
        let cut = |bins| layout.segments_of(bins).map(|part| (part.start, part.end)).collect::<Vec<_>>();
        assert_eq!(cut(0..30), [(0, 10), (10, 20), (20, 30)]);
        assert_eq!(cut(3..10), [(3, 10)]);
        assert_eq!(cut(9..21), [(9, 10), (10, 20), (20, 21)]);
        assert_eq!(cut(10..11), [(10, 11)]);
    }

    #[test]
    fn offsets_are_uniform_and_independent() {
        let mut digests = vec![Block::ZERO; 1 << 16];
        Prg::from_seed([1; 16]).fill_blocks(&mut digests);
        let layout = Layout::new(4, 32);
        let item_bins = Digests::new(&digests, layout);
        // The 4096 combinations of four offsets of 8, about 16 items each: chi-square within six deviations.
        let mut counts = vec![0u32; 4096];
        for item in 0..digests.len() {
            let bins = item_bins.bins_of(item);
            let mut cell = 0;
            for (function, bin) in bins.into_iter().enumerate() {
                assert_eq!(layout.function_of(bin as usize), function);
                assert_eq!(item_bins.bin_of(item, function), bin);
                cell = cell * 8 + bin as usize % 8;
            }
            counts[cell] += 1;
        }
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 16.0).powi(2) / 16.0).sum();
        assert!((chi - 4095.0).abs() < 6.0 * (2.0f64 * 4095.0).sqrt(), "{chi}");
    }
}
