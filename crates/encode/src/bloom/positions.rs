//! The positions of the items of a set: a bin, and a slot in each of its slices.
//!
//! ```text
//! seed(x) ‖ bin(x) = H(context, x)                          128 and 64 bits of BLAKE3 under the context
//! block g of x     = π_g(σ(seed)) ⊕ σ(seed)                 π_g: AES under a key of the context, g = 0, 1, …, ⌈k/4⌉ - 1
//! h_4g+j(x)        = ⌊s · word j of block g / 2^32⌋         four slices a block
//! k > 128: seeds of 256 bits, and
//! block g of x     = H'(context, seed ‖ g)                  BLAKE3, 128 bits
//! ```
//!
//! **As good as k independent functions.** Up to k = 128, the seeds of different items are uniform, and two
//! of them are equal with probability 2^-128. The keys of the π_g are independent of the seeds. In the ideal
//! cipher model the values π_g(σ(seed)) of n different seeds are uniform, except that they differ from one
//! another. So any event about the blocks of one item, given the blocks of the others, is at most (1 -
//! n/2^128)^-⌈k/4⌉ times as likely as for independent uniform blocks. Above k = 128, two seeds are equal with
//! probability 2^-256, and the blocks of different seeds are independent and uniform in the random oracle
//! model. [`FilterShape`] counts false positives under independent functions, and what the reduction to a
//! slot adds. Beyond that, an item has the positions of another item with probability n·2^-128 or n·2^-256,
//! apart from equal digests. The functions are public once the session exists. Semi-honest parties choose their
//! sets before it, as in DCW13; protocols for malicious parties bound what a later choice gains.

use std::sync::Arc;

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::device::{BloomBlocks, BloomFunctions, BloomShape, Device};
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::memory::large_vec;
use vesica_crypto::par;

use super::FilterShape;
use crate::items::Items;

/// Slices that get their positions from one block.
pub const SLICES_PER_BLOCK: usize = 4;

/// Items that one task hashes.
const CHUNK: usize = 1 << 12;

/// Items whose positions one call of BLAKE3 hashes.
const BATCH: usize = 256;

/// Items whose slots a card computes in one call: a bin's at least. With 128 functions their slots take 64 MiB.
const BY_CARD: usize = 1 << 17;

/// Up to so many hash functions, seeds have 128 bits.
const NARROW: usize = 128;

/// The items of a set, bin by bin.
pub struct FilterPositions {
    shape: FilterShape,
    seeds: Seeds,
    items: Vec<u32>,
    /// Where each bin begins, and where the last one ends.
    starts: Vec<usize>,
    by_card: Option<ByCard>,
}

/// A card, and what it computes slots of: it hashes the items itself.
struct ByCard {
    device: Device,
    seed: Oracle,
    /// Keys of the functions, where seeds have 128 bits.
    keys: Vec<Block>,
    /// The items, bin by bin.
    items: Vec<u8>,
    width: usize,
}

/// Slots that a card has computed, for the items `first..end`: slice by slice.
struct Slots {
    first: usize,
    end: usize,
    slots: Vec<u32>,
}

/// The items' seeds, bin by bin, and the functions that make blocks of them.
enum Seeds {
    Narrow { functions: Vec<FixedKey>, seeds: Vec<[Block; 1]> },
    Wide { function: Oracle, seeds: Vec<[Block; 2]> },
}

impl FilterPositions {
    /// Computes bins and seeds of `items` by the hash functions of this context.
    #[must_use]
    pub fn new(context: &Context, shape: FilterShape, items: &Items, threads: usize) -> Self {
        Self::new_on(&Device::default(), context, shape, items, threads)
    }

    /// As [`new`](Self::new). The card of `device`, if it has one, computes the slots of many bins at a time, as
    /// [`bins`](Self::bins) comes to them.
    #[must_use]
    pub fn new_on(
        device: &Device,
        context: &Context,
        shape: FilterShape,
        items: &Items,
        threads: usize,
    ) -> Self {
        let seed = context.oracle(Label::new("bloom: item to bin and seed"));
        if shape.hashes() > NARROW {
            let function = context.oracle(Label::new("bloom: seed to positions"));
            let (seeds, order, starts) = by_bin(shape, &hashed::<40>(&seed, items, threads));
            let by_card = ByCard::of(device, seed, Vec::new(), (items, &order));
            return Self { shape, seeds: Seeds::Wide { function, seeds }, items: order, starts, by_card };
        }
        let key = context.oracle(Label::new("bloom: key of a hash function"));
        let keys = (0..shape.hashes().div_ceil(SLICES_PER_BLOCK) as u64).map(|group| {
            let mut bytes = [0; Block::BYTES];
            key.hash(&group.to_le_bytes(), &mut bytes);
            Block::from(bytes)
        });
        let keys: Vec<Block> = keys.collect();
        let functions = keys.iter().copied().map(FixedKey::new).collect();
        let (seeds, order, starts) = by_bin(shape, &hashed::<24>(&seed, items, threads));
        let by_card = ByCard::of(device, seed, keys, (items, &order));
        Self { shape, seeds: Seeds::Narrow { functions, seeds }, items: order, starts, by_card }
    }

    /// The shape of the filter.
    #[must_use]
    pub fn shape(&self) -> FilterShape {
        self.shape
    }

    /// The item numbers, bin by bin.
    #[must_use]
    pub fn items(&self) -> &[u32] {
        &self.items
    }

    /// The bins in their order.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = Bin<'_>> {
        let mut computed: Option<Arc<Slots>> = None;
        (0..self.shape.bins()).map(move |bin| {
            let (first, end) = (self.starts[bin], self.starts[bin + 1]);
            if computed.as_ref().is_none_or(|slots| slots.end < end) {
                computed = self.slots_from(bin).map(Arc::new);
            }
            Bin { set: self, first, end, by_card: computed.clone() }
        })
    }

    /// The slots of the items of this bin and of the next ones, by the card, if there is one.
    fn slots_from(&self, bin: usize) -> Option<Slots> {
        let ByCard { device, seed, keys, items, width } = self.by_card.as_ref()?;
        let (first, ends) = (self.starts[bin], &self.starts[bin + 1..]);
        let few = ends.iter().copied().take_while(|end| end - first <= BY_CARD).last();
        let end = few.unwrap_or(ends[0]);
        // Whole blocks: the cores compute slots of as many slices.
        let hashes = self.shape.hashes().next_multiple_of(SLICES_PER_BLOCK);
        let blocks = match &self.seeds {
            Seeds::Narrow { .. } => BloomBlocks::Narrow(keys),
            Seeds::Wide { function, .. } => BloomBlocks::Wide(function),
        };
        let [bins, slots_of_slice, slices] = [self.shape.bins(), self.shape.slots(), hashes];
        let shape = BloomShape { bins: bins as u32, slots: slots_of_slice as u32, hashes: slices as u32 };
        let mut slots = large_vec(0, hashes * (end - first));
        let items = &items[first * width..end * width];
        device
            .bloom_slots(&BloomFunctions { seed, blocks, shape }, items, *width, &mut slots)
            .then_some(Slots { first, end, slots })
    }
}

impl ByCard {
    /// What the card of the device needs, if it has one.
    fn of(device: &Device, seed: Oracle, keys: Vec<Block>, (items, order): (&Items, &[u32])) -> Option<Self> {
        device.has_card().then(|| {
            let width = items.width();
            let mut bytes = Vec::with_capacity(order.len() * width);
            order.iter().for_each(|&item| bytes.extend_from_slice(items.get(item as usize)));
            ByCard { device: device.clone(), seed, keys, items: bytes, width }
        })
    }
}

impl Slots {
    /// Those of some items in a slice.
    fn of(&self, slice: usize, items: std::ops::Range<usize>) -> &[u32] {
        let start = slice * (self.end - self.first) + items.start - self.first;
        &self.slots[start..start + items.len()]
    }
}

/// Seed and bin of every item, side by side.
fn hashed<const HASHED: usize>(seed: &Oracle, items: &Items, threads: usize) -> Vec<[u8; HASHED]> {
    let mut hashed = large_vec([0; HASHED], items.len());
    let Ok(()) = par::fill_chunks(threads, CHUNK, &mut hashed, |chunk, hashed| {
        let first = chunk * CHUNK;
        let mut inputs = Vec::with_capacity(hashed.len() * items.width());
        (first..first + hashed.len()).for_each(|item| inputs.extend_from_slice(items.get(item)));
        seed.hash_batch(&inputs, items.width(), hashed.as_flattened_mut(), HASHED);
        Ok::<_, std::convert::Infallible>(())
    });
    hashed
}

/// Hashed items, seeds of `W` blocks before 64 bits for the bin, sorted by bin and in their order within one:
/// seeds, item numbers, and where each bin begins.
fn by_bin<const W: usize, const HASHED: usize>(
    shape: FilterShape,
    hashed: &[[u8; HASHED]],
) -> (Vec<[Block; W]>, Vec<u32>, Vec<usize>) {
    let bin_of = |hashed: &[u8; HASHED]| {
        let word = hashed.last_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        ((u128::from(word) * shape.bins() as u128) >> u64::BITS) as usize
    };
    let mut starts = vec![0; shape.bins() + 1];
    for hashed in hashed {
        starts[bin_of(hashed) + 1] += 1;
    }
    for bin in 0..shape.bins() {
        starts[bin + 1] += starts[bin];
    }
    let mut next = starts.clone();
    let mut seeds = large_vec([Block::ZERO; W], hashed.len());
    let mut items = large_vec(0, hashed.len());
    for (item, hashed) in (0..).zip(hashed) {
        let bin = bin_of(hashed);
        Block::slice_as_mut_bytes(&mut seeds[next[bin]]).copy_from_slice(&hashed[..W * Block::BYTES]);
        items[next[bin]] = item;
        next[bin] += 1;
    }
    (seeds, items, starts)
}

/// The items of one bin.
#[derive(Clone)]
pub struct Bin<'a> {
    set: &'a FilterPositions,
    first: usize,
    end: usize,
    by_card: Option<Arc<Slots>>,
}

impl<'a> Bin<'a> {
    /// The shape of the filter.
    #[must_use]
    pub fn shape(&self) -> FilterShape {
        self.set.shape
    }

    /// The range of the bin's items in [`FilterPositions::items`].
    #[must_use]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first..self.end
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.end - self.first
    }

    /// Its items, in tasks of `count`.
    pub fn chunks(self, count: usize) -> impl ExactSizeIterator<Item = Self> + Send + use<'a> {
        let Bin { set, first, end, by_card } = self;
        let parts = (end - first).div_ceil(count);
        (0..parts).map(move |part| {
            let first = first + part * count;
            Bin { set, first, end: end.min(first + count), by_card: by_card.clone() }
        })
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the slots of all items in the slices `SLICES_PER_BLOCK`·`group` and following, one list for
    /// each slice.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn positions(&self, group: usize, blocks: &mut Vec<Block>, slots: &mut [Vec<u32>; SLICES_PER_BLOCK]) {
        if let Some(by_card) = &self.by_card {
            for (slice, slots) in (group * SLICES_PER_BLOCK..).zip(slots) {
                slots.clear();
                slots.extend_from_slice(by_card.of(slice, self.range()));
            }
            return;
        }
        blocks.clear();
        match &self.set.seeds {
            Seeds::Narrow { functions, seeds } => {
                blocks.extend_from_slice(seeds[self.range()].as_flattened());
                functions[group].ccr(blocks);
            }
            Seeds::Wide { function, seeds } => {
                assert!(
                    group < self.set.shape.hashes().div_ceil(SLICES_PER_BLOCK),
                    "no such group of slices"
                );
                blocks.resize(self.len(), Block::ZERO);
                let numbers = [group as u64; BATCH];
                for (seeds, blocks) in seeds[self.range()].chunks(BATCH).zip(blocks.chunks_mut(BATCH)) {
                    function.hash_numbered(seeds, 1, &numbers[..seeds.len()], blocks);
                }
            }
        }
        let count = self.set.shape.slots() as u64;
        let slot = |word: u64| ((u64::from(word as u32) * count) >> u32::BITS) as u32;
        slots.iter_mut().for_each(|slots| slots.resize(blocks.len(), 0));
        let [first, second, third, fourth] = slots;
        let lists = first.iter_mut().zip(second).zip(third).zip(fourth);
        for (block, (((first, second), third), fourth)) in blocks.iter().zip(lists) {
            let (low, high) = block.to_halves();
            *first = slot(low);
            *second = slot(low >> u32::BITS);
            *third = slot(high);
            *fourth = slot(high >> u32::BITS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items that agree in one half of their seeds are as far apart as any others, and their positions do not
    /// cancel.
    #[test]
    fn either_half_of_a_wide_seed_counts() {
        let context = Context::new(&[1; 32], "bloom", b"", 4, 4);
        let shape = FilterShape { hashes: 256, bins: 1, slots: 1 << 16 };
        let [a, b, c, d] = [3u128, 5, 1 << 127, 0].map(Block::from);
        let seeds = vec![[a, c], [a, d], [b, c], [b, d]];
        let function = context.oracle(Label::new("bloom: seed to positions"));
        let starts = vec![0, seeds.len()];
        let set = FilterPositions {
            shape,
            seeds: Seeds::Wide { function, seeds },
            items: (0..4).collect(),
            starts,
            by_card: None,
        };
        let (mut blocks, mut slots) = (Vec::new(), Default::default());
        let mut equal = 0;
        for group in 0..64 {
            set.bins().next().unwrap().positions(group, &mut blocks, &mut slots);
            for slots in &slots {
                let pairs = (0..4).flat_map(|i| (0..i).map(move |j| (i, j)));
                equal += pairs.filter(|&(i, j)| slots[i] == slots[j]).count();
            }
            assert!(blocks.iter().fold(Block::ZERO, |sum, block| sum ^ *block) != Block::ZERO);
        }
        // 1536 pairs of positions among 2^16 slots.
        assert!(equal < 4, "{equal} positions coincide");
    }
}
