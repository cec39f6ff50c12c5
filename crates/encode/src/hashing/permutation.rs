//! Permutation-based hashing: what a bin holds of an item is shorter by what the bin says.
//!
//! Arbitman, Naor, Segev (FOCS 2010); PSSZ15 §4. An item x below 2^σ is split into (L, R) = (x mod m, ⌊x/m⌋), m being the
//! bins of a function; function i permutes such pairs by a Feistel network, and the pair (L′, R′) that comes out says bin i·m + L′
//! and *remainder* R′, a number below M ≈ 2^σ/m. Bin and remainder determine the function (its segment) and the item (a
//! permutation): two different items never look equal. One Feistel round is
//!
//! ```text
//! L ← L + f(R) mod m     or     R ← R + g(L) mod M
//! ```
//!
//! and since the sums are taken modulo m and M, any number of bins will do.
//!
//! **Differences from the paper.** PSSZ15 has the round L ← L ⊕ f_i(R) alone, so that all functions leave the same R. Without the
//! function's index two items can then look equal (Lambæk, eprint 2016/665); here the segment has it, at the cost of the same
//! log2 h bits. And all items with the same R are shifted by the same distance: of native items there are few R
//! (some hundreds for σ = 32 and 2^24 items), so that bins under two functions always lie one of few distances apart. Short cycles,
//! which are what overflows a stash, are then far more frequent than among random bins, and a range of consecutive items
//! falls into the table like one item of its length. Four rounds, keyed for each function, leave no such trace of the
//! items, whatever they are; the remainders of an item then differ between functions.
//!
//! The functions f, g are AES hashes under keys of the run's context. They are public: this spreads, it hides nothing.

use std::convert::Infallible;
use std::fmt;

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::{large_vec, prefetch};
use vesica_crypto::par;

use super::places::{Bins, Layout, MOST_FUNCTIONS, Places};

const CIPHER: Label = Label::new("hashing: permutation, cipher");
const MASKS: Label = Label::new("hashing: permutation, masks");

/// Rounds R ← R + g(L), L ← L + f(R), each with a key of its own.
const ROUNDS: usize = 4;

/// M is at least this, so that the second half has something to permute where bins are nearly as many as possible items.
const FEWEST_REMAINDERS: u128 = 64;

/// Items that go through the rounds together.
const BATCH: usize = 128;

/// Items ahead whose remainders are on their way.
const AHEAD: usize = 64;

/// The permutations of one run, one for each function.
pub struct Permutation {
    layout: Layout,
    sigma: u32,
    remainders: u128,
    cipher: FixedKey,
    masks: [[Block; ROUNDS]; MOST_FUNCTIONS],
}

impl Permutation {
    /// The permutations of this context for items below 2^`sigma`.
    ///
    /// # Panics
    /// If `sigma` is not 1 to 128, or 128 with fewer than two bins a function.
    #[must_use]
    pub fn new(context: &Context, sigma: u32, layout: Layout) -> Self {
        assert!((1..=128).contains(&sigma), "items of 1 to 128 bits");
        let segment = u128::from(layout.segment());
        assert!(sigma < 128 || segment > 1, "remainders below 2^128");
        let remainders = ((u128::MAX >> (128 - sigma)) / segment + 1).max(FEWEST_REMAINDERS);
        let mut masks = [[Block::ZERO; ROUNDS]; MOST_FUNCTIONS];
        context.hash(MASKS, b"", Block::slice_as_mut_bytes(masks.as_flattened_mut()));
        Self { layout, sigma, remainders, cipher: FixedKey::of(context, CIPHER), masks }
    }

    /// Functions and bins.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// M: remainders are below it.
    pub fn remainders(&self) -> u128 {
        self.remainders
    }

    /// M itself, which is no remainder: what a bin holds that has no item. Any remainder would be that of some item, of which
    /// a party that fills its bins by it would find out something.
    pub fn vacant(&self) -> u128 {
        self.remainders
    }

    /// Bits of a remainder, or of [`vacant`](Self::vacant).
    pub fn bits(&self) -> u32 {
        u128::BITS - self.vacant().leading_zeros()
    }

    /// Replaces items by their remainders under `function`; `bins` become their bins.
    ///
    /// # Panics
    /// If the lengths differ, there is no such function, or an item is 2^σ or more.
    pub fn evaluate(&self, function: usize, items: &mut [u128], bins: &mut [u32]) {
        assert!(function < self.layout.functions() && items.len() == bins.len(), "a bin for every item");
        for (items, bins) in items.chunks_mut(BATCH).zip(bins.chunks_mut(BATCH)) {
            self.checked(items);
            match u64::try_from(self.remainders) {
                Ok(range) => self.evaluate_batch(range, function, items, bins),
                Err(_) => self.evaluate_batch(self.remainders, function, items, bins),
            }
        }
    }

    fn evaluate_batch<R: Remainder>(&self, range: R, function: usize, items: &mut [u128], bins: &mut [u32]) {
        let mut pairs = self.split(items);
        self.permute(range, &mut pairs, function);
        for (item, remainder) in items.iter_mut().zip(pairs.remainders) {
            *item = remainder.into();
        }
        for (bin, offset) in bins.iter_mut().zip(pairs.offsets) {
            *bin = self.layout.bin(function, offset);
        }
    }

    fn checked(&self, items: &[u128]) {
        assert!(items.iter().all(|item| item.leading_zeros() + self.sigma >= 128), "items below 2^sigma");
    }

    /// (L, R) = (x mod m, ⌊x/m⌋); pairs beyond the items are zero.
    fn split<R: Remainder>(&self, items: &[u128]) -> Pairs<R> {
        let segment = self.layout.segment();
        let mut pairs = Pairs { offsets: [0; BATCH], remainders: [R::default(); BATCH] };
        for (item, (offset, remainder)) in
            items.iter().zip(pairs.offsets.iter_mut().zip(&mut pairs.remainders))
        {
            // A division of 64 bits is several times faster.
            let rest = match u64::try_from(*item) {
                Ok(short) => u128::from(short / u64::from(segment)),
                Err(_) => *item / u128::from(segment),
            };
            *offset = (*item - rest * u128::from(segment)) as u32;
            *remainder = R::truncate(rest);
        }
        pairs
    }

    fn permute<R: Remainder>(&self, range: R, pairs: &mut Pairs<R>, function: usize) {
        for masks in self.masks[function].as_chunks().0 {
            self.round(range, pairs, masks);
        }
    }

    /// R ← R + g(L) mod M, then L ← L + f(R) mod m.
    fn round<R: Remainder>(&self, range: R, pairs: &mut Pairs<R>, masks: &[Block; 2]) {
        let mut hashes = [Block::ZERO; BATCH];
        for (hash, offset) in hashes.iter_mut().zip(&pairs.offsets) {
            *hash = Block::from_halves((*offset).into(), 0) ^ masks[0];
        }
        self.cipher.ccr(&mut hashes);
        for (remainder, hash) in pairs.remainders.iter_mut().zip(&hashes) {
            *remainder = remainder.shifted(*hash, range);
        }
        for (hash, remainder) in hashes.iter_mut().zip(&pairs.remainders) {
            *hash = Block::from((*remainder).into()) ^ masks[1];
        }
        self.cipher.ccr(&mut hashes);
        let segment = self.layout.segment();
        for (offset, hash) in pairs.offsets.iter_mut().zip(&hashes) {
            *offset = u64::from(*offset).shifted(*hash, segment.into()) as u32;
        }
    }

    /// The bins and remainders of the items `value(0)`, `value(1)`, …, `value(count - 1)` under every function.
    ///
    /// # Panics
    /// If an item is 2^σ or more.
    #[must_use]
    pub fn place(&self, threads: usize, count: usize, value: impl Fn(usize) -> u128 + Sync) -> Placed {
        let (functions, width) = (self.layout.functions(), self.bits().div_ceil(8).max(1) as usize);
        let mut bins = large_vec(0u32, count * functions);
        let mut remainders = large_vec(0u8, count * functions * width + WHOLE);
        let mut tasks: Vec<_> = bins
            .chunks_mut(TASK * functions)
            .map(|bins| (bins, [(); MOST_FUNCTIONS].map(|()| <&mut [u8]>::default())))
            .collect();
        for (function, of_function) in remainders.chunks_exact_mut((count * width).max(1)).enumerate() {
            if function < functions {
                let parts = of_function.chunks_mut(TASK * width);
                tasks.iter_mut().zip(parts).for_each(|((_, remainders), part)| remainders[function] = part);
            }
        }
        let Ok(()) =
            par::for_each::<_, Infallible, _>(threads, tasks.into_iter(), |task, (bins, mut remainders)| {
                for (batch, bins) in bins.chunks_mut(BATCH * functions).enumerate() {
                    let first = batch * BATCH;
                    let remainders =
                        remainders.each_mut().map(|part| part.get_mut(first * width..).unwrap_or_default());
                    self.place_batch(task * TASK + first, bins, width, remainders, &value);
                }
                Ok(())
            });
        Placed { layout: self.layout, bins, width, remainders }
    }

    /// The bins and remainders of one batch, each function's remainders at the beginning of a slice.
    fn place_batch(
        &self,
        first: usize,
        bins: &mut [u32],
        width: usize,
        remainders: [&mut [u8]; MOST_FUNCTIONS],
        value: &impl Fn(usize) -> u128,
    ) {
        let count = bins.len() / self.layout.functions();
        let mut items = [0; BATCH];
        items[..count].iter_mut().enumerate().for_each(|(index, item)| *item = value(first + index));
        self.checked(&items[..count]);
        match u64::try_from(self.remainders) {
            Ok(range) => self.place_items(range, &items[..count], bins, width, remainders),
            Err(_) => self.place_items(self.remainders, &items[..count], bins, width, remainders),
        }
    }

    fn place_items<R: Remainder>(
        &self,
        range: R,
        items: &[u128],
        bins: &mut [u32],
        width: usize,
        remainders: [&mut [u8]; MOST_FUNCTIONS],
    ) {
        let functions = self.layout.functions();
        let mut placed = [self.split(items); MOST_FUNCTIONS];
        for (function, pairs) in placed.iter_mut().enumerate().take(functions) {
            self.permute(range, pairs, function);
        }
        for (item, bins) in bins.chunks_exact_mut(functions).enumerate() {
            for (function, bin) in bins.iter_mut().enumerate() {
                *bin = self.layout.bin(function, placed[function].offsets[item]);
                let remainder: u128 = placed[function].remainders[item].into();
                // Written whole where there is room: what follows is written later.
                let rest = &mut remainders[function][item * width..];
                match rest.first_chunk_mut::<WHOLE>() {
                    Some(whole) => *whole = remainder.to_le_bytes(),
                    None => rest[..width].copy_from_slice(&remainder.to_le_bytes()[..width]),
                }
            }
        }
    }
}

/// A batch of pairs (L, R).
#[derive(Clone, Copy)]
struct Pairs<R> {
    offsets: [u32; BATCH],
    remainders: [R; BATCH],
}

/// R, in as many bits as M needs.
trait Remainder: Copy + Default + Into<u128> {
    /// `wide`, which is below M.
    fn truncate(wide: u128) -> Self;
    /// The sum of this and a number below `range` that `hash` says, modulo `range`.
    fn shifted(self, hash: Block, range: Self) -> Self;
}

impl Remainder for u64 {
    #[inline]
    fn truncate(wide: u128) -> Self {
        wide as u64
    }

    #[inline]
    fn shifted(self, hash: Block, range: Self) -> Self {
        let shift = (u128::from(hash.to_halves().0) * u128::from(range)) >> 64;
        // As a distance from the end, the sum cannot overflow.
        let left = range - shift as u64;
        if self < left { self + shift as u64 } else { self - left }
    }
}

impl Remainder for u128 {
    #[inline]
    fn truncate(wide: u128) -> Self {
        wide
    }

    #[inline]
    fn shifted(self, hash: Block, range: Self) -> Self {
        // Among so many the powers of 2 are enough.
        let shift = hash.to_u128() & (u128::MAX >> (range.leading_zeros() + 1));
        let left = range - shift;
        if self < left { self + shift } else { self - left }
    }
}

/// Items of a task, a multiple of a batch.
const TASK: usize = 64 * BATCH;

impl fmt::Debug for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout, sigma, remainders, .. } = self;
        f.debug_struct("Permutation")
            .field("layout", layout)
            .field("sigma", sigma)
            .field("remainders", remainders)
            .finish_non_exhaustive()
    }
}

/// Bytes that a remainder is read and written by.
const WHOLE: usize = 16;

/// The bins and remainders of a set of items under their permutations.
pub struct Placed {
    layout: Layout,
    /// Item after item, its bin under each function.
    bins: Vec<u32>,
    /// Bytes of a remainder.
    width: usize,
    /// Function after function, the remainder of each item, little-endian; then room for the last to be read whole.
    remainders: Vec<u8>,
}

impl Placed {
    /// Bytes of a remainder.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Replaces `bytes` by the remainders of `count` items under `function`, of as many bytes as their width each, little-endian:
    /// of `item(0)` and so on, `vacant` where there is none.
    ///
    /// # Panics
    /// If there is no such item or function.
    pub fn remainders(
        &self,
        function: usize,
        count: usize,
        item: impl Fn(usize) -> Option<u32>,
        vacant: u128,
        bytes: &mut Vec<u8>,
    ) {
        assert!(function < self.layout.functions(), "a function that there is");
        // Reads that are not much longer than a remainder seldom reach into another cache line.
        match self.width {
            ..=4 => self.gather::<4>(function, count, item, vacant, bytes),
            5..=8 => self.gather::<8>(function, count, item, vacant, bytes),
            _ => self.gather::<WHOLE>(function, count, item, vacant, bytes),
        }
    }

    /// [`remainders`](Self::remainders), moved by `N` bytes: what follows them is written later.
    fn gather<const N: usize>(
        &self,
        function: usize,
        count: usize,
        item: impl Fn(usize) -> Option<u32>,
        vacant: u128,
        bytes: &mut Vec<u8>,
    ) {
        let (width, items) = (self.width, self.items());
        let remainders = &self.remainders[function * items * width..];
        let none = vacant.to_le_bytes().first_chunk::<N>().copied().unwrap_or([0; N]);
        bytes.resize(count * width + N, 0);
        for i in 0..count {
            if let Some(ahead) = Some(i + AHEAD).filter(|ahead| *ahead < count).and_then(&item) {
                prefetch(remainders, ahead as usize * width);
            }
            let value = match item(i) {
                Some(item) => {
                    assert!((item as usize) < items, "an item that there is");
                    remainders[item as usize * width..].first_chunk().copied().unwrap_or([0; N])
                }
                None => none,
            };
            if let Some(place) = bytes[i * width..].first_chunk_mut() {
                *place = value;
            }
        }
        bytes.truncate(count * width);
    }
}

impl Places for Placed {
    #[inline]
    fn layout(&self) -> Layout {
        self.layout
    }

    #[inline]
    fn items(&self) -> usize {
        self.bins.len() / self.layout.functions()
    }

    #[inline]
    fn bins_of(&self, item: usize) -> Bins {
        let functions = self.layout.functions();
        let mut bins = Bins::default();
        // Not a copy of a length that varies, which would be a call.
        let own = &self.bins[item * functions..][..functions];
        for (function, bin) in bins.iter_mut().enumerate() {
            *bin = own.get(function).copied().unwrap_or(0);
        }
        bins
    }

    #[inline]
    fn bin_of(&self, item: usize, function: usize) -> u32 {
        self.bins[item * self.layout.functions() + function]
    }

    #[inline]
    fn prefetch(&self, item: usize) {
        prefetch(&self.bins, item * self.layout.functions());
    }
}

#[cfg(test)]
mod tests;
