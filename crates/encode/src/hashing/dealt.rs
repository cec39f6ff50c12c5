//! Keys dealt to regions of bins.
//!
//! A key waits in one of its bins at a time, and goes on to that of another function when it is done there: keys come by in
//! the order of the bins, and what belongs to a region of bins stays in the cache while its keys do.

use vesica_crypto::block::Block;
use vesica_crypto::partitions::Partitions;

use super::Layout;

/// Bins of a region, as a power of 2, unless there are too many regions.
const REGION_BITS: u32 = 13;

/// More regions of a segment than this would be more streams of writes than the processor can follow.
const MOST_REGIONS: u32 = 1 << 11;

/// Keys, each with a number, in the regions of the bins where they wait.
pub struct Dealt {
    layout: Layout,
    region_bits: u32,
    partitions: Partitions<(Block, u32)>,
}

impl Dealt {
    /// None yet; so many `items` are foreseen at a time.
    #[must_use]
    pub fn new(layout: Layout, items: usize) -> Self {
        let mut region_bits = REGION_BITS;
        while layout.segment() >> region_bits >= MOST_REGIONS {
            region_bits += 1;
        }
        // A region in which a segment ends has a bucket on either side.
        let buckets = (layout.bins() >> region_bits) + 1 + layout.functions();
        Self {
            layout,
            region_bits,
            partitions: Partitions::new(buckets, Block::BYTES + size_of::<u32>(), items),
        }
    }

    /// What both parties agreed on.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bins of a region; the first one begins with the first bin.
    #[must_use]
    pub fn region(&self) -> usize {
        1 << self.region_bits
    }

    /// `key` and `number` wait in the bin of `function`, one of the layout's.
    #[inline]
    pub fn push(&mut self, function: usize, key: Block, number: u32) {
        let bin = self.layout.bin_of(key, function);
        self.partitions.push((bin >> self.region_bits) as usize + function, (key, number));
    }

    /// Takes some of those that wait for `function` in the region that begins with bin `first`, until there are none and it says
    /// so.
    pub fn take(&mut self, function: usize, first: usize, records: &mut Vec<(Block, u32)>) -> bool {
        self.partitions.take((first >> self.region_bits) + function, records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::prg::Prg;

    #[test]
    fn keys_come_by_in_the_order_of_their_bins() {
        for (items, functions, bins) in [(0, 3, 5), (3, 2, 2), (9000, 3, 40_000), (20_000, 4, 33_000)] {
            let layout = Layout::new(functions, bins);
            let mut keys = vec![Block::ZERO; items];
            Prg::from_seed([3; 16]).fill_blocks(&mut keys);
            let mut dealt = Dealt::new(layout, items);
            (0..).zip(&keys).for_each(|(number, key)| dealt.push(0, *key, number));
            let (mut records, mut seen) = (Vec::new(), vec![0; items]);
            for first in (0..layout.bins()).step_by(dealt.region()) {
                let region = first..layout.bins().min(first + dealt.region());
                for part in layout.segments_of(region) {
                    let function = layout.function_of(part.start);
                    while dealt.take(function, first, &mut records) {
                        for (key, number) in &records {
                            assert_eq!(keys[*number as usize], *key);
                            assert!(part.contains(&(layout.bin_of(*key, function) as usize)));
                            assert_eq!(
                                std::mem::replace(&mut seen[*number as usize], function + 1),
                                function
                            );
                            if function + 1 < functions {
                                dealt.push(function + 1, *key, *number);
                            }
                        }
                    }
                }
            }
            assert!(seen.iter().all(|functions_seen| *functions_seen == functions));
        }
    }
}
