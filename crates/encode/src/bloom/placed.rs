//! Where the items of a set lie: bins, and a slot in each slice.
//!
//! ```text
//! seed(x) ‖ bin(x) = H(context, x)                          128 and 64 bits of BLAKE3 under the context
//! block g of x     = π_g(σ(seed)) ⊕ σ(seed)                 π_g: AES under a key of the context, g = 0, 1, …, ⌈k/4⌉ - 1
//! h_4g+j(x)        = ⌊s · word j of block g / 2^32⌋         four slices a block
//! ```
//!
//! **As good as k independent functions.** Seeds of different items are uniform and differ but with probability n²/2^129.
//! The keys of the π_g are independent of them, and in the ideal cipher model the values π_g(σ(seed)) of n seeds are
//! uniform but for being different from one another: the blocks are within n²/2^129 of independent uniform ones, for each
//! g. What the reduction to a slot adds is in [`Shape`]. The functions are public once the session
//! is: as in DCW13, sets are chosen before it.

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::large_vec;
use vesica_crypto::par;

use super::Shape;
use crate::items::Items;

/// Slices whose positions one block gives.
pub const GROUP: usize = 4;

/// Items that one thread hashes at a time.
const CHUNK: usize = 1 << 12;

/// Bytes of a hashed item: seed and bin.
const HASHED: usize = 24;

/// The items of a set, bin by bin.
pub struct Placed {
    shape: Shape,
    functions: Vec<FixedKey>,
    seeds: Vec<Block>,
    items: Vec<u32>,
    /// Where each bin begins, and where the last one ends.
    starts: Vec<usize>,
}

impl Placed {
    /// Places `items` by the hash functions of this context.
    #[must_use]
    pub fn new(context: &Context, shape: Shape, items: &Items, threads: usize) -> Self {
        let seed = context.oracle(Label::new("bloom: item to bin and seed"));
        let key = context.oracle(Label::new("bloom: key of a hash function"));
        let functions = (0..shape.hashes().div_ceil(GROUP) as u64).map(|group| {
            let mut bytes = [0; Block::BYTES];
            key.hash(&group.to_le_bytes(), &mut bytes);
            FixedKey::new(Block::from(bytes))
        });
        let mut hashed = large_vec([0; HASHED], items.len());
        let Ok(()) = par::fill_chunks(threads, CHUNK, &mut hashed, |chunk, hashed| {
            let first = chunk * CHUNK;
            let mut inputs = Vec::with_capacity(hashed.len() * items.width());
            (first..first + hashed.len()).for_each(|item| inputs.extend_from_slice(items.get(item)));
            seed.hash_batch(&inputs, items.width(), hashed.as_flattened_mut(), HASHED);
            Ok::<_, std::convert::Infallible>(())
        });
        Self { functions: functions.collect(), ..Self::by_bin(shape, &hashed) }
    }

    /// Sorts hashed items by bin, in their order within a bin.
    fn by_bin(shape: Shape, hashed: &[[u8; HASHED]]) -> Self {
        let split = |hashed: &[u8; HASHED]| {
            let (seed, bin) = hashed.split_at(Block::BYTES);
            let word = bin.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            let bin = ((u128::from(word) * shape.bins() as u128) >> u64::BITS) as usize;
            (seed.first_chunk().map_or(Block::ZERO, |seed| Block::from_bytes(*seed)), bin)
        };
        let mut starts = vec![0; shape.bins() + 1];
        for hashed in hashed {
            starts[split(hashed).1 + 1] += 1;
        }
        for bin in 0..shape.bins() {
            starts[bin + 1] += starts[bin];
        }
        let mut next = starts.clone();
        let mut seeds = large_vec(Block::ZERO, hashed.len());
        let mut items = large_vec(0, hashed.len());
        for (item, hashed) in (0..).zip(hashed) {
            let (seed, bin) = split(hashed);
            seeds[next[bin]] = seed;
            items[next[bin]] = item;
            next[bin] += 1;
        }
        Self { shape, functions: Vec::new(), seeds, items, starts }
    }

    /// The form of the filter.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The item number at each place; a bin is a range of places.
    #[must_use]
    pub fn items(&self) -> &[u32] {
        &self.items
    }

    /// The bins in their order.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = Bin<'_>> {
        (0..self.shape.bins()).map(|bin| Bin {
            placed: self,
            first: self.starts[bin],
            end: self.starts[bin + 1],
        })
    }
}

/// The items of one bin.
#[derive(Clone, Copy)]
pub struct Bin<'a> {
    placed: &'a Placed,
    first: usize,
    end: usize,
}

impl Bin<'_> {
    /// The form of the filter.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.placed.shape
    }

    /// The places of the bin's items in [`Placed::items`].
    #[must_use]
    pub fn places(&self) -> std::ops::Range<usize> {
        self.first..self.end
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.end - self.first
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the slots of all items in the slices `GROUP`·`group` and following, one list for each slice.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn positions(&self, group: usize, blocks: &mut Vec<Block>, slots: &mut [Vec<u32>; GROUP]) {
        blocks.clear();
        blocks.extend_from_slice(&self.placed.seeds[self.places()]);
        self.placed.functions[group].ccr(blocks);
        let count = self.placed.shape.slots() as u64;
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
