//! Permutation-based hashing: a bin stores a remainder of an item, which is shorter by the bits of the bin's
//! number.
//!
//! Arbitman, Naor, Segev (FOCS 2010); PSSZ15 §4. An item x below 2^σ is split into (L, R) = (x mod m, ⌊x/m⌋),
//! where m is the number of bins of a function. Function i permutes such pairs by a Feistel network. Its
//! result (L′, R′) means bin i·m + L′ and *remainder* R′, a number below M ≈ 2^σ/m. Bin and remainder
//! determine the function (by its segment) and the item (by the permutation), so two different items never
//! look equal. One Feistel round is
//!
//! ```text
//! L ← L + f(R) mod m     or     R ← R + g(L) mod M
//! ```
//!
//! The sums are taken modulo m and M, so any number of bins will do.
//!
//! **Differences from the paper.** PSSZ15 has the round L ← L ⊕ f_i(R) alone, so that all functions leave the
//! same R.
//!
//! - Without the function's index two items can then look equal (Lambæk, eprint 2016/665). Here the segment
//!   has the index, at the cost of the same log2 h bits.
//! - All items with the same R are shifted by the same distance. Native items have few different R (some
//!   hundreds for σ = 32 and 2^24 items), so an item's bins under two functions always lie one of few
//!   distances apart. Short cycles, which overflow a stash, are then far more frequent than among random
//!   bins, and a range of consecutive items is shifted as a whole.
//!
//! Four rounds, keyed for each function, remove such patterns, whatever the items are. The remainders of an
//! item then differ between functions.
//!
//! The functions f, g are AES hashes under keys of the run's context, scaled to m and M ([`FixedKey::step`]).
//! They are public: they spread the items and hide nothing.

mod assignments;

use std::fmt;

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};

pub use assignments::BinAssignments;

use super::bins::{Layout, MOST_FUNCTIONS};

const CIPHER: Label = Label::new("hashing: permutation, cipher");
const MASKS: Label = Label::new("hashing: permutation, masks");

/// Rounds R ← R + g(L), L ← L + f(R), each with a key of its own.
const ROUNDS: usize = 4;

/// M is at least this, so that the second half has something to permute where bins are nearly as many as
/// possible items.
const FEWEST_REMAINDERS: u128 = 64;

/// Items that go through the rounds together.
const BATCH: usize = 128;

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
        let remainders = Self::count_remainders(sigma, layout);
        let mut masks = [[Block::ZERO; ROUNDS]; MOST_FUNCTIONS];
        context.hash(MASKS, b"", Block::slice_as_mut_bytes(masks.as_flattened_mut()));
        Self { layout, sigma, remainders, cipher: FixedKey::of(context, CIPHER), masks }
    }

    /// M, which depends on no context.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[must_use]
    pub fn count_remainders(sigma: u32, layout: Layout) -> u128 {
        assert!((1..=128).contains(&sigma), "items of 1 to 128 bits");
        let segment = u128::from(layout.segment());
        assert!(sigma < 128 || segment > 1, "remainders below 2^128");
        ((u128::MAX >> (128 - sigma)) / segment + 1).max(FEWEST_REMAINDERS)
    }

    /// Functions and bins.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// M: remainders are below it.
    pub fn remainders(&self) -> u128 {
        self.remainders
    }

    /// M itself, which is no remainder: it stands in an empty bin. Every remainder is that of some item, and
    /// a party that filled its empty bins with it could test for that item.
    pub fn vacant(&self) -> u128 {
        self.remainders
    }

    /// Bits of a remainder, or of [`vacant`](Self::vacant).
    pub fn bits(&self) -> u32 {
        u128::BITS - self.vacant().leading_zeros()
    }

    /// M, where sums of remainders have 64 bits.
    fn short_range(&self) -> Option<u64> {
        u64::try_from(self.remainders).ok().filter(|range| *range <= 1 << 63)
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
            *offset = (*item - rest * u128::from(segment)) as u64;
            *remainder = R::truncate(rest);
        }
        pairs
    }

    /// Rounds R ← R + g(L) mod M, L ← L + f(R) mod m.
    fn permute<R: Remainder>(&self, range: R, pairs: &mut Pairs<R>, function: usize) {
        let (segment, Pairs { offsets, remainders }) = (self.layout.segment(), pairs);
        for [g, f] in self.masks[function].as_chunks().0 {
            R::add_to_remainders(&self.cipher, g, range, offsets, remainders);
            R::add_to_offsets(&self.cipher, f, segment.into(), remainders, offsets);
        }
    }

    /// The bins and remainders of the items `value(0)`, `value(1)`, …, `value(count - 1)` under every
    /// function.
    ///
    /// # Panics
    /// If an item is 2^σ or more.
    #[must_use]
    pub fn place(
        &self,
        threads: usize,
        count: usize,
        value: impl Fn(usize) -> u128 + Sync,
    ) -> BinAssignments {
        let mut assignments = BinAssignments::with_room(self, count);
        assignments.extend(self, threads, count, value);
        assignments
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
        match self.short_range() {
            Some(range) => self.place_items(range, &items[..count], bins, width, remainders),
            None => self.place_items(self.remainders, &items[..count], bins, width, remainders),
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
        let (functions, split) = (self.layout.functions(), self.split(items));
        for (function, room) in remainders.into_iter().enumerate().take(functions) {
            let mut pairs = split;
            self.permute(range, &mut pairs, function);
            let first = self.layout.bin(function, 0);
            for (offset, bins) in pairs.offsets.iter().zip(bins.chunks_exact_mut(functions)) {
                bins[function] = first + *offset as u32;
            }
            for (item, remainder) in pairs.remainders[..items.len()].iter().enumerate() {
                remainder.put(&mut room[item * width..], width);
            }
        }
    }
}

/// A batch of pairs (L, R).
#[derive(Clone, Copy)]
struct Pairs<R> {
    offsets: [u64; BATCH],
    remainders: [R; BATCH],
}

/// R, in as many bits as M needs.
trait Remainder: Copy + Default + Into<u128> {
    /// `wide`, which is below M.
    fn truncate(wide: u128) -> Self;

    /// R ← R + g(L) modulo `range`, g being the hash of L with `mask`.
    fn add_to_remainders(
        cipher: &FixedKey,
        mask: &Block,
        range: Self,
        offsets: &[u64; BATCH],
        remainders: &mut [Self; BATCH],
    );

    /// L ← L + f(R) modulo `segment`.
    fn add_to_offsets(
        cipher: &FixedKey,
        mask: &Block,
        segment: u64,
        remainders: &[Self; BATCH],
        offsets: &mut [u64; BATCH],
    );

    /// Writes the lowest `width` bytes to the beginning of `room`, and zeros or more bytes behind them where
    /// there is room: the next items are written later.
    fn put(self, room: &mut [u8], width: usize);
}

impl Remainder for u64 {
    #[inline]
    fn truncate(wide: u128) -> Self {
        wide as u64
    }

    fn add_to_remainders(
        cipher: &FixedKey,
        mask: &Block,
        range: Self,
        offsets: &[u64; BATCH],
        remainders: &mut [Self; BATCH],
    ) {
        cipher.step(mask, range, offsets, remainders);
    }

    fn add_to_offsets(
        cipher: &FixedKey,
        mask: &Block,
        segment: u64,
        remainders: &[Self; BATCH],
        offsets: &mut [u64; BATCH],
    ) {
        cipher.step(mask, segment, remainders, offsets);
    }

    #[inline(always)]
    fn put(self, room: &mut [u8], width: usize) {
        match room.first_chunk_mut::<{ size_of::<Self>() }>() {
            Some(whole) => *whole = self.to_le_bytes(),
            None => room[..width].copy_from_slice(&self.to_le_bytes()[..width]),
        }
    }
}

impl Remainder for u128 {
    #[inline]
    fn truncate(wide: u128) -> Self {
        wide
    }

    fn add_to_remainders(
        cipher: &FixedKey,
        mask: &Block,
        range: Self,
        offsets: &[u64; BATCH],
        remainders: &mut [Self; BATCH],
    ) {
        let mut hashes = offsets.map(|offset| Block::from_halves(offset, 0) ^ *mask);
        cipher.ccr(&mut hashes);
        // Among so many the powers of 2 are enough.
        let bits = u128::MAX >> (range.leading_zeros() + 1);
        for (remainder, hash) in remainders.iter_mut().zip(&hashes) {
            let shift = hash.to_u128() & bits;
            // As a distance from the end, the sum cannot overflow.
            let left = range - shift;
            *remainder = if *remainder < left { *remainder + shift } else { *remainder - left };
        }
    }

    fn add_to_offsets(
        cipher: &FixedKey,
        mask: &Block,
        segment: u64,
        remainders: &[Self; BATCH],
        offsets: &mut [u64; BATCH],
    ) {
        let mut hashes = remainders.map(|remainder| Block::from(remainder) ^ *mask);
        cipher.ccr(&mut hashes);
        for (offset, hash) in offsets.iter_mut().zip(hashes) {
            *offset = FixedKey::shift(*offset, hash, segment);
        }
    }

    #[inline(always)]
    fn put(self, room: &mut [u8], width: usize) {
        match room.first_chunk_mut::<{ size_of::<Self>() }>() {
            Some(whole) => *whole = self.to_le_bytes(),
            None => room[..width].copy_from_slice(&self.to_le_bytes()[..width]),
        }
    }
}

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

#[cfg(test)]
mod tests;
