//! AES-128: counter mode, correlation-robust hashes under a fixed key, and encryption under a fresh key per
//! input; of AES-256, counter mode alone.
//!
//! ```text
//! keystream        AES_k(c), AES_k(c+1), …                       counters as 128-bit little-endian numbers
//! ccr              π(σ(x)) ⊕ σ(x)                                π = AES_k
//! tccr             π(π(x) ⊕ t) ⊕ π(x)                            t = first, first+1, … along the batch, or listed
//! rekeyed          AES_kᵢ(xᵢ)
//! rekeyed ccr      AES_kᵢ(σ(xᵢ)) ⊕ σ(xᵢ)
//! σ(low ‖ high)    high ‖ (low ⊕ high)                           64-bit halves
//! ```
//!
//! On x86-64 the key schedule is our own: `aesenclast` on a state whose four columns all equal RotWord(w₃)
//! leaves SubWord(RotWord(w₃)) ⊕ rcon in each of them (ShiftRows moves nothing when the columns are equal),
//! in constant time and for as many keys at once as a vector has lanes.

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
#[macro_use]
mod shared;
#[cfg(target_arch = "aarch64")]
mod arm;
mod children;
pub mod half_gates;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit, consts::U16};
use zeroize::{Zeroize, ZeroizeOnDrop};

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
use super::Level;
use super::{Backend, Kernels};
use crate::block::Block;

/// The kernels of an architecture that has one level.
#[cfg(target_arch = "aarch64")]
use arm::neon as single;
#[cfg(target_arch = "wasm32")]
use wasm::simd128 as single;

pub use children::{add_at, ccr_sum, children};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::expand;

/// A key schedule; wiped when dropped.
pub struct Key(Schedule);

enum Schedule {
    Library(Box<aes::Aes128>),
    #[cfg(target_arch = "x86_64")]
    Rounds(Backend, [Block; 11]),
    #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
    Single([Block; 11]),
}

impl Key {
    /// The schedule of `key`, for encryption by `backend`.
    #[must_use]
    pub fn new(backend: Backend, key: &Block) -> Self {
        match backend.level_for(Kernels::Aes) {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx2Vaes | Level::Avx512Vaes => {
                // SAFETY: a back end of these levels exists only where their instructions do.
                Self(Schedule::Rounds(backend, unsafe { x86::expand(key) }))
            }
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a back end of this level exists only where its instructions do.
            Level::Neon | Level::Simd128 => Self(Schedule::Single(unsafe { single::expand(key) })),
            _ => Self(Schedule::Library(Box::new(aes::Aes128::new(key.as_bytes().into())))),
        }
    }

    /// Encrypts every block.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        match &self.0 {
            Schedule::Library(cipher) => encrypt_all(cipher, blocks),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            Schedule::Rounds(backend, rounds) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::encrypt(rounds, blocks),
                    Level::Avx2Vaes => x86::middle::encrypt(rounds, blocks),
                    _ => x86::narrow::encrypt(rounds, blocks),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            Schedule::Single(rounds) => unsafe { single::encrypt(rounds, blocks) },
        }
    }

    /// Fills `out`, whole blocks, with the encrypted counters from `first` on.
    pub fn keystream(&self, first: u64, out: &mut [u8]) {
        debug_assert!(out.len().is_multiple_of(Block::BYTES), "whole blocks");
        match &self.0 {
            Schedule::Library(cipher) => encrypt_counters(&**cipher, first, out),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            Schedule::Rounds(backend, rounds) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::keystream(rounds, first, out),
                    Level::Avx2Vaes => x86::middle::keystream(rounds, first, out),
                    _ => x86::narrow::keystream(rounds, first, out),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            Schedule::Single(rounds) => unsafe { single::keystream(rounds, first, out) },
        }
    }

    /// Replaces every block by its circular correlation-robust hash.
    pub fn ccr(&self, blocks: &mut [Block]) {
        match &self.0 {
            Schedule::Library(cipher) => in_batches(blocks, |_, batch, permuted| {
                batch.iter_mut().for_each(|block| *block = sigma(*block));
                *permuted = *batch;
                encrypt_all(cipher, permuted);
                xor_into(batch, permuted);
            }),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            Schedule::Rounds(backend, rounds) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::ccr(rounds, blocks),
                    Level::Avx2Vaes => x86::middle::ccr(rounds, blocks),
                    _ => x86::narrow::ccr(rounds, blocks),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            Schedule::Single(rounds) => unsafe { single::ccr(rounds, blocks) },
        }
    }

    /// Adds to each number of `to`, modulo `range`, the [`shift`] of the hash of its partner in `from`. Both
    /// slices have the same length, and the numbers of `to` are below `range`.
    pub fn step(&self, mask: &Block, range: u64, from: &[u64], to: &mut [u64]) {
        assert!(
            from.len() == to.len() && (1..=1 << 63).contains(&range),
            "pairs of numbers, and sums of 64 bits"
        );
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Schedule::Rounds(backend, rounds)
                if backend.level_for(Kernels::FeistelSteps) == Level::Avx512Vaes =>
            {
                // SAFETY: a back end of this level exists only where its instructions do.
                unsafe { x86::wide::step(rounds, mask, range, whole_bits(range), from, to) }
            }
            _ => {
                for (from, to) in from.chunks(BATCH).zip(to.chunks_mut(BATCH)) {
                    let mut hashes = [Block::ZERO; BATCH];
                    for (hash, from) in hashes.iter_mut().zip(from) {
                        *hash = Block::from_halves(*from, 0) ^ *mask;
                    }
                    self.ccr(&mut hashes[..from.len()]);
                    for (to, hash) in to.iter_mut().zip(hashes) {
                        *to = shift(*to, hash, range);
                    }
                }
            }
        }
    }

    /// Replaces block `i` by its tweakable hash under the tweak `first + i`.
    pub fn tccr(&self, first: u64, blocks: &mut [Block]) {
        match &self.0 {
            Schedule::Library(cipher) => in_batches(blocks, |offset, once, twice| {
                encrypt_all(cipher, once);
                *twice = *once;
                for (i, block) in (offset as u64..).zip(&mut *twice) {
                    *block ^= Block::from_halves(first.wrapping_add(i), 0);
                }
                encrypt_all(cipher, twice);
                xor_into(once, twice);
            }),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            Schedule::Rounds(backend, rounds) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::tccr(rounds, first, blocks),
                    Level::Avx2Vaes => x86::middle::tccr(rounds, first, blocks),
                    _ => x86::narrow::tccr(rounds, first, blocks),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            Schedule::Single(rounds) => unsafe { single::tccr(rounds, first, blocks) },
        }
    }

    /// Replaces block `i` by its tweakable hash under the tweak `tweaks[i]`; one tweak for each block.
    pub fn tccr_at(&self, tweaks: &[Block], blocks: &mut [Block]) {
        assert_eq!(tweaks.len(), blocks.len(), "one tweak for each block");
        match &self.0 {
            Schedule::Library(cipher) => in_batches(blocks, |offset, once, twice| {
                encrypt_all(cipher, once);
                *twice = *once;
                xor_into(twice, &tweaks[offset..]);
                encrypt_all(cipher, twice);
                xor_into(once, twice);
            }),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            Schedule::Rounds(backend, rounds) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::tccr_at(rounds, tweaks, blocks),
                    Level::Avx2Vaes => x86::middle::tccr_at(rounds, tweaks, blocks),
                    _ => x86::narrow::tccr_at(rounds, tweaks, blocks),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            Schedule::Single(rounds) => unsafe { single::tccr_at(rounds, tweaks, blocks) },
        }
    }

    /// Sets bit i of word j to the lowest bit of the tweakable hash of block 64j + i ⊕ `offset` under the tweak
    /// `first` + 64j + i; bits beyond the last block to zero.
    pub fn tccr_bits(&self, first: u64, offset: &Block, blocks: &[Block], words: &mut [u64]) {
        const WORD: usize = u64::BITS as usize;
        assert_eq!(words.len(), blocks.len().div_ceil(WORD), "as many words as the bits need");
        match &self.0 {
            Schedule::Library(_) => {
                let mut hashed = [Block::ZERO; WORD];
                for (i, (blocks, word)) in blocks.chunks(WORD).zip(words).enumerate() {
                    let hashed = &mut hashed[..blocks.len()];
                    hashed.iter_mut().zip(blocks).for_each(|(hashed, block)| *hashed = *block ^ *offset);
                    self.tccr(first.wrapping_add((i * WORD) as u64), hashed);
                    *word = hashed.iter().rev().fold(0, |word, hash| word << 1 | hash.to_halves().0 & 1);
                }
                hashed.zeroize();
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            Schedule::Rounds(backend, rounds) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::tccr_bits(rounds, first, offset, blocks, words),
                    Level::Avx2Vaes => x86::middle::tccr_bits(rounds, first, offset, blocks, words),
                    _ => x86::narrow::tccr_bits(rounds, first, offset, blocks, words),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            Schedule::Single(rounds) => unsafe { single::tccr_bits(rounds, first, offset, blocks, words) },
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        match &mut self.0 {
            // Wipes itself.
            Schedule::Library(_) => {}
            #[cfg(target_arch = "x86_64")]
            Schedule::Rounds(_, rounds) => rounds.zeroize(),
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            Schedule::Single(rounds) => rounds.zeroize(),
        }
    }
}

impl ZeroizeOnDrop for Key {}

/// A key schedule of AES-256; wiped when dropped.
pub struct WideKey(WideSchedule);

#[expect(
    clippy::large_enum_variant,
    reason = "all keys of a process are of one variant, and lie side by side"
)]
enum WideSchedule {
    Library(Box<aes::Aes256>),
    #[cfg(target_arch = "x86_64")]
    Rounds(Backend, [Block; 15]),
    #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
    Single([Block; 15]),
}

impl WideKey {
    /// The schedule of `key`, for encryption by `backend`.
    #[must_use]
    pub fn new(backend: Backend, key: &[u8; 32]) -> Self {
        match backend.level_for(Kernels::Aes) {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx2Vaes | Level::Avx512Vaes => {
                // SAFETY: a back end of these levels exists only where their instructions do.
                Self(WideSchedule::Rounds(backend, unsafe { x86::expand_wide(key) }))
            }
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a back end of this level exists only where its instructions do.
            Level::Neon | Level::Simd128 => Self(WideSchedule::Single(unsafe { single::expand_wide(key) })),
            _ => Self(WideSchedule::Library(Box::new(aes::Aes256::new(key.into())))),
        }
    }

    /// Fills `out`, whole blocks, with the encrypted counters from `first` on.
    pub fn keystream(&self, first: u64, out: &mut [u8]) {
        debug_assert!(out.len().is_multiple_of(Block::BYTES), "whole blocks");
        match &self.0 {
            WideSchedule::Library(cipher) => encrypt_counters(&**cipher, first, out),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            WideSchedule::Rounds(backend, rounds) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::keystream(rounds, first, out),
                    Level::Avx2Vaes => x86::middle::keystream(rounds, first, out),
                    _ => x86::narrow::keystream(rounds, first, out),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            WideSchedule::Single(rounds) => unsafe { single::keystream(rounds, first, out) },
        }
    }
}

impl Drop for WideKey {
    fn drop(&mut self) {
        match &mut self.0 {
            // Wipes itself.
            WideSchedule::Library(_) => {}
            #[cfg(target_arch = "x86_64")]
            WideSchedule::Rounds(_, rounds) => rounds.zeroize(),
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            WideSchedule::Single(rounds) => rounds.zeroize(),
        }
    }
}

impl ZeroizeOnDrop for WideKey {}

/// [`Key::keystream`] of every row under its key, two rows at a time.
pub fn keystreams<const BLOCKS: usize>(keys: &[Key], first: u64, rows: &mut [[Block; BLOCKS]]) {
    let (pairs, last) = keys.as_chunks();
    let (row_pairs, last_row) = rows.as_chunks_mut();
    for ([one, two], [one_row, two_row]) in pairs.iter().zip(row_pairs) {
        let out = [one_row, two_row].map(|row| Block::slice_as_mut_bytes(row));
        match (&one.0, &two.0) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            (Schedule::Rounds(backend, one), Schedule::Rounds(_, two)) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::two_keystreams([one, two], first, out),
                    Level::Avx2Vaes => x86::middle::two_keystreams([one, two], first, out),
                    _ => x86::narrow::two_keystreams([one, two], first, out),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            (Schedule::Single(one), Schedule::Single(two)) => unsafe {
                single::two_keystreams([one, two], first, out)
            },
            _ => [one, two].into_iter().zip(out).for_each(|(key, out)| key.keystream(first, out)),
        }
    }
    for (key, row) in last.iter().zip(last_row) {
        key.keystream(first, Block::slice_as_mut_bytes(row));
    }
}

/// [`WideKey::keystream`] of every row under its key, two rows at a time.
pub fn wide_keystreams<const BLOCKS: usize>(keys: &[WideKey], first: u64, rows: &mut [[Block; BLOCKS]]) {
    let (pairs, last) = keys.as_chunks();
    let (row_pairs, last_row) = rows.as_chunks_mut();
    for ([one, two], [one_row, two_row]) in pairs.iter().zip(row_pairs) {
        let out = [one_row, two_row].map(|row| Block::slice_as_mut_bytes(row));
        match (&one.0, &two.0) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of these levels exists only where their instructions do.
            (WideSchedule::Rounds(backend, one), WideSchedule::Rounds(_, two)) => unsafe {
                match backend.level_for(Kernels::Aes) {
                    Level::Avx512Vaes => x86::wide::two_keystreams([one, two], first, out),
                    Level::Avx2Vaes => x86::middle::two_keystreams([one, two], first, out),
                    _ => x86::narrow::two_keystreams([one, two], first, out),
                }
            },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: a key of this kind exists only where the instructions of its level do.
            (WideSchedule::Single(one), WideSchedule::Single(two)) => unsafe {
                single::two_keystreams([one, two], first, out)
            },
            _ => [one, two].into_iter().zip(out).for_each(|(key, out)| key.keystream(first, out)),
        }
    }
    for (key, row) in last.iter().zip(last_row) {
        key.keystream(first, Block::slice_as_mut_bytes(row));
    }
}

/// Fills `out` with encrypted counters.
fn encrypt_counters(cipher: &impl BlockCipherEncrypt<BlockSize = U16>, first: u64, out: &mut [u8]) {
    let blocks = out.as_chunks_mut().0;
    for (counter, block) in (first..).zip(&mut *blocks) {
        *block = Block::from_halves(counter, 0).to_bytes();
    }
    cipher.encrypt_blocks(Array::<u8, U16>::cast_slice_from_core_mut(blocks));
}

/// Encrypts block `i` of every column under `keys[i]`; with `CCR`, hashes it instead.
pub fn rekeyed<const COLUMNS: usize, const CCR: bool>(
    backend: Backend,
    keys: &[Block],
    columns: [&mut [Block]; COLUMNS],
) {
    assert!(columns.iter().all(|column| column.len() == keys.len()), "one key per row");
    match backend.level_for(Kernels::Aes) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::rekeyed::<COLUMNS, CCR>(keys, columns) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle::rekeyed::<COLUMNS, CCR>(keys, columns) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::rekeyed::<COLUMNS, CCR>(keys, columns) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        Level::Neon | Level::Simd128 => unsafe { single::rekeyed::<COLUMNS, CCR>(keys, columns) },
        _ => rekeyed_by_library::<COLUMNS, CCR>(keys, columns),
    }
}

fn rekeyed_by_library<const COLUMNS: usize, const CCR: bool>(
    keys: &[Block],
    mut columns: [&mut [Block]; COLUMNS],
) {
    for (i, key) in keys.iter().enumerate() {
        let cipher = aes::Aes128::new(key.as_bytes().into());
        let plain: [Block; COLUMNS] =
            core::array::from_fn(|column| if CCR { sigma(columns[column][i]) } else { columns[column][i] });
        let mut blocks = plain;
        encrypt_all(&cipher, &mut blocks);
        for (column, (block, plain)) in columns.iter_mut().zip(blocks.iter().zip(plain)) {
            column[i] = if CCR { *block ^ plain } else { *block };
        }
    }
}

/// The linear orthomorphism of Guo, Katz, Wang, Yu (eprint 2019/074): σ and σ ⊕ id are both permutations.
#[inline]
#[must_use]
pub fn sigma(block: Block) -> Block {
    let (low, high) = block.to_halves();
    Block::from_halves(high, low ^ high)
}

/// Bits of a hash that are a fraction of a short range: as many as the processor multiplies in vectors.
const FRACTION_BITS: u32 = 52;

/// The bits of a hash that are added in a range of 2^52 or more, where multiples of powers of 2 suffice.
#[inline]
fn whole_bits(range: u64) -> Option<u64> {
    (range >> FRACTION_BITS > 0).then(|| u64::MAX >> (range.leading_zeros() + 1))
}

/// `value` + ⌊u·range⌋ modulo `range`, where u is the lowest 52 bits of the hash as a fraction of 1. If the
/// range is 2^52 or more, `value` plus as many low bits of the hash as always give a number below the range.
#[inline]
#[must_use]
pub fn shift(value: u64, hash: Block, range: u64) -> u64 {
    let hash = hash.to_halves().0;
    let shift = match whole_bits(range) {
        Some(bits) => hash & bits,
        None => {
            let fraction = hash & (u64::MAX >> (u64::BITS - FRACTION_BITS));
            ((u128::from(fraction) * u128::from(range)) >> FRACTION_BITS) as u64
        }
    };
    let sum = value + shift;
    if sum < range { sum } else { sum - range }
}

fn encrypt_all(cipher: &aes::Aes128, blocks: &mut [Block]) {
    let bytes = Block::slice_as_mut_bytes(blocks).as_chunks_mut().0;
    cipher.encrypt_blocks(Array::<u8, U16>::cast_slice_from_core_mut(bytes));
}

fn xor_into(blocks: &mut [Block], other: &[Block]) {
    for (block, other) in blocks.iter_mut().zip(other) {
        *block ^= *other;
    }
}

/// Blocks that one call of the library takes.
const BATCH: usize = 64;

/// Hands `blocks` to `work` in batches, with the index of the first block and memory for intermediate values.
/// The last batch is padded with zeros.
fn in_batches(blocks: &mut [Block], work: impl Fn(usize, &mut [Block; BATCH], &mut [Block; BATCH])) {
    let mut scratch = [Block::ZERO; BATCH];
    let (batches, rest) = blocks.as_chunks_mut::<BATCH>();
    let whole = batches.len() * BATCH;
    for (index, batch) in batches.iter_mut().enumerate() {
        work(index * BATCH, batch, &mut scratch);
    }
    if !rest.is_empty() {
        let mut last = [Block::ZERO; BATCH];
        last[..rest.len()].copy_from_slice(rest);
        work(whole, &mut last, &mut scratch);
        rest.copy_from_slice(&last[..rest.len()]);
        last.zeroize();
    }
    scratch.zeroize();
}

#[cfg(test)]
mod tests;
