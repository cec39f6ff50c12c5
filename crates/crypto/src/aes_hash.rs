//! Fast hashes of blocks from AES, for inputs that are correlated by a secret offset.
//!
//! | hash | formula | robust against | permutation calls |
//! |---|---|---|---|
//! | [`FixedKey::ccr`] | π(σ(x)) ⊕ σ(x) | inputs offset by Δ, and keys Δ encrypted under each other (CCR) | 1 |
//! | [`FixedKey::tccr`] | π(π(x) ⊕ t) ⊕ π(x) | the same, inputs chosen or repeated under other tweaks t (TCCR) | 2 |
//! | [`rekeyed_ccr`] | AES_k(σ(x)) ⊕ σ(x), k fresh | the same in many instances at once (MITCCR) | 1 and a key schedule |
//!
//! The first two are MMO^ and TMMO of Guo, Katz, Wang, Yu, *Efficient and Secure Multiparty Computation from
//! Fixed-Key Block Ciphers* (eprint 2019/074), in the random permutation model; the third is the hash of Guo,
//! Katz, Wang, Weng, Yu, *Better Concrete Security for Half-Gates Garbling* (eprint 2019/1168), in the ideal
//! cipher model, where the key is a start value drawn for the run plus the tweak, and a key sees few inputs.
//!
//! π is AES under a public key. σ(low ‖ high) = high ‖ (low ⊕ high) is linear, and σ and σ ⊕ id are
//! invertible. Without σ, H(x) = π(x) ⊕ x is not circular robust: in H(x ⊕ Δ) ⊕ Δ the offset Δ cancels
//! outside of π. The one-call form with a tweak, π(σ(x) ⊕ t) ⊕ σ(x), is not TCCR: an attacker who chooses
//! inputs and tweaks picks σ(x) ⊕ t = σ(x′) ⊕ t′ and knows the sum of the two outputs. This module does not
//! offer it.
//!
//! The key of π comes from the protocol context ([`FixedKey::of`]), so precomputation for one run is of no
//! use in another.
//!
//! **Concrete security.** Let an attacker make p calls of π, and let a run make q hashes under one Δ of 128
//! bits. In the ideal permutation model the bound of TMMO is a small multiple of p·q/2^128 (and of q²/2^128).
//! For the 2^28 OTs of a filter of 2^20 items it reaches 1 at p = 2^100. This is a bound from a proof; we
//! know of no attack below 2^128 steps. `rekeyed_ccr` has p/2^128 times the few inputs of a key, whatever the
//! number of instances. BLAKE3, which hashes rows of more than a block, has no such loss.
//!
//! None of these replaces the random oracle of [`hash`](crate::hash): they hash 128 bits with 128-bit
//! (birthday: 64-bit) structure and need inputs of full entropy.

use vesica_kernels::{Backend, aes};

use crate::block::Block;
use crate::hash::{Context, Label};

/// A public permutation π, AES under a fixed key, and the hashes built on it.
pub struct FixedKey {
    pub(crate) key: aes::Key,
}

impl FixedKey {
    /// The permutation that belongs to `label` in this context.
    #[must_use]
    pub fn of(context: &Context, label: Label) -> Self {
        let mut key = [0; 16];
        context.hash(label, b"", &mut key);
        Self::new(Block::from(key))
    }

    /// The permutation AES_key.
    #[inline]
    #[must_use]
    pub fn new(key: Block) -> Self {
        Self::with_backend(Backend::detect(), key)
    }

    /// The permutation AES_key, computed by `backend`.
    #[must_use]
    pub fn with_backend(backend: Backend, key: Block) -> Self {
        Self { key: aes::Key::new(backend, &key) }
    }

    /// Replaces each block x by π(x).
    #[inline]
    pub fn permute(&self, blocks: &mut [Block]) {
        self.key.encrypt(blocks);
    }

    /// Replaces each block x by π(σ(x)) ⊕ σ(x).
    #[inline]
    pub fn ccr(&self, blocks: &mut [Block]) {
        self.key.ccr(blocks);
    }

    /// A step of a Feistel network on pairs (x, y) of `from` and `to`: replaces y by y + f(x) modulo `range`.
    /// Here f(x) is ⌊u·range⌋, where u is the lowest 52 bits of `ccr`(x ⊕ `mask`) as a fraction of 1. For a
    /// range of 2^52 or more, f(x) is as many of the lowest bits as always give a number below the range. For
    /// networks that spread values and need not hide them.
    ///
    /// # Panics
    /// If the lengths differ, or the range is zero or more than 2^63.
    #[inline]
    pub fn step(&self, mask: &Block, range: u64, from: &[u64], to: &mut [u64]) {
        self.key.step(mask, range, from, to);
    }

    /// The value that [`step`](Self::step) gives y, if `hash` is the hash of x.
    #[inline]
    #[must_use]
    pub fn shift(value: u64, hash: Block, range: u64) -> u64 {
        aes::shift(value, hash, range)
    }

    /// Replaces block x at position i by π(π(x) ⊕ t) ⊕ π(x) with t = `first` + i (modulo 2^64).
    #[inline]
    pub fn tccr(&self, first: u64, blocks: &mut [Block]) {
        self.key.tccr(first, blocks);
    }

    /// Replaces block x at position i by π(π(x) ⊕ t) ⊕ π(x) with t = `tweaks[i]`: [`tccr`](Self::tccr) of
    /// blocks picked from a longer list, where the tweak is the number of the block in it.
    ///
    /// # Panics
    /// If the numbers of tweaks and blocks differ.
    #[inline]
    pub fn tccr_at(&self, tweaks: &[Block], blocks: &mut [Block]) {
        self.key.tccr_at(tweaks, blocks);
    }

    /// The lowest bit of [`tccr`](Self::tccr) of each block ⊕ `offset`, 64 to a word: bit i of word j belongs to
    /// block 64j + i, whose tweak is `first` + 64j + i. Bits beyond the last block are zero. Nothing else of the
    /// hashes is written.
    ///
    /// # Panics
    /// If there are more or fewer words than the bits need.
    #[inline]
    pub fn tccr_bits(&self, first: u64, offset: &Block, blocks: &[Block], words: &mut [u64]) {
        self.key.tccr_bits(first, offset, blocks, words);
    }
}

/// Replaces block x of row i, in every column, by AES_k(σ(x)) ⊕ σ(x) with k = `keys[i]`.
///
/// # Panics
/// If a column has another length than `keys`.
pub fn rekeyed_ccr<const COLUMNS: usize>(keys: &[Block], columns: [&mut [Block]; COLUMNS]) {
    rekeyed_ccr_on(Backend::detect(), keys, columns);
}

/// [`rekeyed_ccr`] computed by `backend`.
///
/// # Panics
/// If a column has another length than `keys`.
pub fn rekeyed_ccr_on<const COLUMNS: usize>(
    backend: Backend,
    keys: &[Block],
    columns: [&mut [Block]; COLUMNS],
) {
    aes::rekeyed::<COLUMNS, true>(backend, keys, columns);
}

/// Replaces block x of row i, in every column, by AES_k(x) with k = `keys[i]`.
///
/// # Panics
/// If a column has another length than `keys`.
pub fn rekeyed_encrypt<const COLUMNS: usize>(keys: &[Block], columns: [&mut [Block]; COLUMNS]) {
    aes::rekeyed::<COLUMNS, false>(Backend::detect(), keys, columns);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contexts() -> [Context; 2] {
        [1, 2].map(|sid| Context::new(&[sid; 32], "ot", b"", 1, 1))
    }

    #[test]
    fn the_permutation_is_bound_to_context_and_label() {
        let [one, two] = contexts();
        let zero = |fixed: FixedKey| {
            let mut block = [Block::ZERO];
            fixed.permute(&mut block);
            block[0]
        };
        let first = zero(FixedKey::of(&one, Label::new("a")));
        assert!(first != zero(FixedKey::of(&one, Label::new("b"))));
        assert!(first != zero(FixedKey::of(&two, Label::new("a"))));
        assert!(first == zero(FixedKey::of(&one, Label::new("a"))));
    }

    #[test]
    fn a_tweak_belongs_to_its_block() {
        let fixed = FixedKey::new(Block::from(5u128));
        let mut together = [Block::from(9u128); 40];
        fixed.tccr(100, &mut together);
        for (i, hashed) in together.iter().enumerate() {
            let mut alone = [Block::from(9u128)];
            fixed.tccr(100 + i as u64, &mut alone);
            assert!(alone[0] == *hashed);
            assert!(together[..i].iter().all(|other| other != hashed));
        }
    }

    #[test]
    fn steps_are_their_definition_on_every_level() {
        let (key, mask) = (Block::from(7u128), Block::from(u128::MAX / 11));
        let ranges = [1, 2, 3, 1000, (1 << 23) + 5, (1 << 52) - 1, 1 << 52, (1 << 60) + 12_345, 1 << 63];
        for (count, range) in
            [0usize, 1, 15, 16, 17, 128, 300].into_iter().flat_map(|n| ranges.map(|r| (n, r)))
        {
            let number = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let from: Vec<u64> = (0..count).map(number).collect();
            let before: Vec<u64> = (0..count).map(|i| number(i + 1000) % range).collect();
            for backend in Backend::available() {
                let fixed = FixedKey::with_backend(backend, key);
                let mut to = before.clone();
                fixed.step(&mask, range, &from, &mut to);
                for ((from, before), after) in from.iter().zip(&before).zip(&to) {
                    let mut hash = [Block::from(u128::from(*from)) ^ mask];
                    fixed.ccr(&mut hash);
                    let low = hash[0].to_u128() as u64;
                    let shift = if range < 1 << 52 {
                        (u128::from(low % (1 << 52)) * u128::from(range)) >> 52
                    } else {
                        u128::from(low % (1 << range.ilog2()))
                    };
                    assert_eq!(
                        u128::from(*after),
                        (u128::from(*before) + shift) % u128::from(range),
                        "{range}"
                    );
                }
            }
        }
    }

    #[test]
    fn picked_blocks_are_hashed_as_in_their_list() {
        let fixed = FixedKey::new(Block::from(6u128));
        let list: Vec<Block> = (0..1000u128).map(|i| Block::from(i * i)).collect();
        let mut all = list.clone();
        fixed.tccr(50, &mut all);
        let picked: Vec<usize> = (0..700).map(|i| i * 37 % 1000).collect();
        let tweaks: Vec<Block> = picked.iter().map(|&i| Block::from(50 + i as u128)).collect();
        let mut blocks: Vec<Block> = picked.iter().map(|&i| list[i]).collect();
        fixed.tccr_at(&tweaks, &mut blocks);
        assert!(blocks.iter().zip(picked).all(|(block, i)| *block == all[i]));
    }

    #[test]
    fn bits_are_the_lowest_of_the_hashes_on_every_level() {
        let key = Block::from(8u128);
        let list: Vec<Block> = (1..=200u128)
            .map(|i| Block::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)))
            .collect();
        for backend in Backend::available() {
            let fixed = FixedKey::with_backend(backend, key);
            for (count, first) in
                [0, 1, 15, 16, 63, 64, 65, 128, 200].into_iter().flat_map(|n| [(n, 5), (n, u64::MAX - 70)])
            {
                for offset in [Block::ZERO, Block::from(u128::MAX / 7)] {
                    let mut hashed: Vec<Block> = list[..count].iter().map(|block| *block ^ offset).collect();
                    fixed.tccr(first, &mut hashed);
                    let mut words = vec![u64::MAX; count.div_ceil(64)];
                    fixed.tccr_bits(first, &offset, &list[..count], &mut words);
                    for i in 0..64 * words.len() {
                        let expected = hashed.get(i).is_some_and(|hash| hash.bit(0));
                        assert_eq!(
                            words[i / 64] >> (i % 64) & 1 == 1,
                            expected,
                            "{backend:?}, {i} of {count}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn rekeyed_forms_agree() {
        let keys = [Block::from(1u128), Block::from(2u128)];
        let x = [Block::from_halves(3, 4); 2];
        let mut hashed = x;
        rekeyed_ccr(&keys, [&mut hashed]);
        let sigma = Block::from_halves(4, 3 ^ 4);
        let mut raw = [sigma; 2];
        rekeyed_encrypt(&keys, [&mut raw]);
        assert!(hashed[0] == raw[0] ^ sigma && hashed[1] == raw[1] ^ sigma);
    }
}
