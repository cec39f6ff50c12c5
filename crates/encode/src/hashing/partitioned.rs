//! Keys partitioned by the regions of bins that they are in.
//!
//! What belongs to a region of bins (rows of OTs, slots of a table) fits in the cache. A party whose keys are
//! partitioned by region works on one region after the other, and fetches nothing from all over memory.

use std::ops::Range;

use vesica_crypto::block::Block;
use vesica_crypto::partitions::{Partitions, Record};

use super::Layout;

/// Bins of a region of keys, as a power of 2, unless there would be too many regions.
const KEY_REGION_BITS: u32 = 13;

/// More regions of a segment than this would be more streams of writes than the processor can follow.
const MOST_KEY_REGIONS: u32 = 1 << 11;

/// The bins, cut into regions of 2^bits bins.
#[derive(Clone, Copy, Debug)]
pub struct Regions {
    layout: Layout,
    bits: u32,
    /// Where the regions of function f begin: with bin f·`origin`; their keys are in the buckets from
    /// f·`buckets` on.
    origin: u32,
    buckets: usize,
}

impl Regions {
    /// Regions from the first bin on, whatever segment it is in. A segment can end within a region, which
    /// then has a bucket for each of the two functions.
    #[must_use]
    pub fn across_segments(layout: Layout, bits: u32) -> Self {
        Self { layout, bits, origin: 0, buckets: 1 }
    }

    /// Regions of which each segment begins a new one.
    #[must_use]
    pub fn of_segments(layout: Layout, bits: u32) -> Self {
        let segment = layout.segment();
        Self { layout, bits, origin: segment, buckets: segment.div_ceil(1 << bits) as usize }
    }

    /// Regions for keys of 128 bits: [across segments](Self::across_segments), as large as few enough regions
    /// need.
    #[must_use]
    pub fn of_keys(layout: Layout) -> Self {
        let mut bits = KEY_REGION_BITS;
        while layout.segment() >> bits >= MOST_KEY_REGIONS {
            bits += 1;
        }
        Self::across_segments(layout, bits)
    }

    /// Functions and bins.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The regions in order.
    pub fn iter(self) -> impl Iterator<Item = Range<usize>> {
        let (bins, size) = (self.layout.bins(), 1 << self.bits);
        let whole = if self.origin == 0 { bins } else { self.layout.segment() as usize };
        (0..bins).step_by(whole).flat_map(move |first| {
            let cuts = (first..first + whole).step_by(size);
            cuts.map(move |cut| cut..(cut + size).min(first + whole))
        })
    }

    /// Of a bin of `function`: its bucket, and its offset in its region.
    #[inline]
    fn locate(&self, function: usize, bin: u32) -> (usize, u32) {
        let offset = bin - function as u32 * self.origin;
        let bucket = function * self.buckets + (offset >> self.bits) as usize;
        (bucket, offset & ((1 << self.bits) - 1))
    }

    fn all_buckets(&self) -> usize {
        let functions = self.layout.functions();
        if self.origin == 0 {
            (self.layout.bins() >> self.bits) + 1 + functions
        } else {
            functions * self.buckets
        }
    }
}

/// Records of keys, in buckets by function and region.
pub struct PartitionedKeys<R> {
    regions: Regions,
    buckets: Partitions<R>,
}

impl<R: Record> PartitionedKeys<R> {
    /// None yet; `records` of which `width` bytes are kept are foreseen at a time.
    ///
    /// # Panics
    /// If the width is zero or more than that of a record.
    #[must_use]
    pub fn new(regions: Regions, width: usize, records: usize) -> Self {
        Self { regions, buckets: Partitions::new(regions.all_buckets(), width, records) }
    }

    /// The regions that the keys are partitioned by.
    #[must_use]
    pub fn regions(&self) -> Regions {
        self.regions
    }

    /// Adds a key that is in `bin`, one of `function`. Its record can depend on the bin's offset in its
    /// region.
    #[inline]
    pub fn push(&mut self, function: usize, bin: u32, record: impl FnOnce(u32) -> R) {
        let (bucket, offset) = self.regions.locate(function, bin);
        self.buckets.push(bucket, record(offset));
    }

    /// Takes some of the records of `function` in the region that begins with bin `first`, in place of what
    /// `records` held; false if none is left.
    pub fn take(&mut self, function: usize, first: usize, records: &mut Vec<R>) -> bool {
        self.buckets.take(self.regions.locate(function, first as u32).0, records)
    }

    /// Takes some of the same, one by one.
    #[inline]
    pub fn take_each(&mut self, function: usize, first: usize, each: impl FnMut(R)) -> bool {
        self.buckets.take_each(self.regions.locate(function, first as u32).0, each)
    }
}

/// Keys of 128 bits, each with a number. A key waits in one of its bins at a time.
impl PartitionedKeys<(Block, u32)> {
    /// None yet; so many are foreseen.
    #[must_use]
    pub fn of_keys(layout: Layout, keys: usize) -> Self {
        Self::new(Regions::of_keys(layout), Block::BYTES + size_of::<u32>(), keys)
    }

    /// `key` and its number wait in the key's bin of `function`.
    #[inline]
    pub fn push_key(&mut self, function: usize, key: Block, number: u32) {
        let bin = self.regions.layout.bin_of(key, function);
        self.push(function, bin, |_| (key, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::prg::Prg;

    fn keys(count: usize) -> Vec<Block> {
        let mut keys = vec![Block::ZERO; count];
        Prg::from_seed([3; 16]).fill_blocks(&mut keys);
        keys
    }

    #[test]
    fn regions_cover_the_bins_in_order() {
        for (functions, bins, bits) in [(1, 1, 0), (3, 5, 3), (2, 40, 3), (3, 40_000, 10), (4, 33_000, 13)] {
            let layout = Layout::new(functions, bins);
            for regions in [Regions::across_segments(layout, bits), Regions::of_segments(layout, bits)] {
                let all: Vec<_> = regions.iter().collect();
                assert_eq!((all[0].start, all[all.len() - 1].end), (0, layout.bins()));
                assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(all.iter().all(|region| !region.is_empty() && region.len() <= 1 << bits));
                let cut =
                    all.iter().filter(|region| layout.segments_of((*region).clone()).count() > 1).count();
                assert!(cut == 0 || regions.origin == 0);
            }
        }
    }

    #[test]
    fn keys_come_by_in_the_order_of_their_bins() {
        for (items, functions, bins) in [(0, 3, 5), (3, 2, 2), (9000, 3, 40_000), (20_000, 4, 33_000)] {
            let (keys, layout) = (keys(items), Layout::new(functions, bins));
            let mut waiting = PartitionedKeys::of_keys(layout, items);
            (0..).zip(&keys).for_each(|(number, key)| waiting.push_key(0, *key, number));
            let (mut records, mut seen) = (Vec::new(), vec![0; items]);
            for region in waiting.regions().iter() {
                for part in layout.segments_of(region.clone()) {
                    let function = layout.function_of(part.start);
                    while waiting.take(function, region.start, &mut records) {
                        for (key, number) in &records {
                            assert_eq!(keys[*number as usize], *key);
                            assert!(part.contains(&(layout.bin_of(*key, function) as usize)));
                            assert_eq!(
                                std::mem::replace(&mut seen[*number as usize], function + 1),
                                function
                            );
                            if function + 1 < functions {
                                waiting.push_key(function + 1, *key, *number);
                            }
                        }
                    }
                }
            }
            assert!(seen.iter().all(|functions_seen| *functions_seen == functions));
        }
    }

    #[test]
    fn a_record_knows_its_bin_within_the_region() {
        let (keys, layout) = (keys(5000), Layout::new(3, 40_000));
        for regions in [Regions::across_segments(layout, 10), Regions::of_segments(layout, 10)] {
            let mut partitioned = PartitionedKeys::new(regions, 20, 3 * keys.len());
            for function in 0..layout.functions() {
                for key in &keys {
                    partitioned.push(function, layout.bin_of(*key, function), |offset| (*key, offset));
                }
            }
            let mut found = 0;
            for region in regions.iter() {
                for part in layout.segments_of(region.clone()) {
                    let function = layout.function_of(part.start);
                    while partitioned.take_each(function, region.start, |(key, offset)| {
                        assert_eq!(layout.bin_of(key, function) as usize, region.start + offset as usize);
                        found += 1;
                    }) {}
                }
            }
            assert_eq!(found, layout.functions() * keys.len());
        }
    }
}
