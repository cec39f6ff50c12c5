//! BLAKE3 of many short inputs: one input a lane, for inputs and outputs of at most one block of 64 bytes,
//! and for inputs of one chunk that all have the same number of blocks.
//!
//! An input of one block is a single call of the compression function (flags first chunk, last chunk and
//! root). Its 32-bit words do not depend on their neighbours, so each vector holds the same word of sixteen
//! (AVX-512), eight (AVX2) or four (NEON, SIMD128) inputs. Blocks of a longer input follow each other in their lane. Inputs of more
//! than one chunk, and all inputs on other machines, go to the library, which computes the same.

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
#[macro_use]
mod shared;
#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

use blake3::Hasher;
use blake3::hazmat::HasherExt;

use zeroize::Zeroize;

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
use super::Level;
use super::{Backend, Kernels};
use crate::block::Block;

/// The kernels of an architecture that has one level.
#[cfg(target_arch = "aarch64")]
use arm::neon as single;
#[cfg(target_arch = "wasm32")]
use wasm::simd128 as single;

/// Bytes of a block.
pub const BLOCK: usize = 64;

/// Half a block, the unit of [`Keyed::hash_numbered`].
pub type Half = [Block; 2];

/// Halves of a chunk, beyond which BLAKE3 becomes a tree.
const MOST_HALVES: usize = 32;

/// Bits of the number of an input.
const NUMBER_BITS: usize = 48;

/// How the key of a [`Keyed`] hash enters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As in `keyed_hash`.
    Keyed,
    /// As the key that `derive_key` makes of its context string.
    DeriveKey,
}

/// BLAKE3 with a key.
#[derive(Clone, Copy)]
pub struct Keyed<'a> {
    /// The key.
    pub key: &'a [u8; 32],
    /// How it enters.
    pub mode: Mode,
}

impl Keyed<'_> {
    /// The library's hasher for this key.
    #[inline]
    #[must_use]
    pub fn hasher(&self) -> Hasher {
        match self.mode {
            Mode::Keyed => Hasher::new_keyed(self.key),
            Mode::DeriveKey => Hasher::new_from_context_key(self.key),
        }
    }

    /// Fills `out` with the hash of `input`.
    #[inline]
    pub fn hash(&self, input: &[u8], out: &mut [u8]) {
        if self.mode == Mode::Keyed && out.len() <= blake3::OUT_LEN {
            // The library's one-call form is its fastest.
            out.copy_from_slice(&blake3::keyed_hash(self.key, input).as_bytes()[..out.len()]);
        } else {
            self.hasher().update(input).finalize_xof().fill(out);
        }
    }

    /// Fills row i of `out`, rows of `width` bytes, with the hash of input number i.
    pub fn hash_rows<'b>(
        &self,
        backend: Backend,
        inputs: impl Iterator<Item = &'b [u8]>,
        out: &mut [u8],
        width: usize,
    ) {
        let rows = inputs.zip(out.chunks_exact_mut(width));
        match backend.level_for(Kernels::Blake3) {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if width <= BLOCK => {
                // SAFETY: a back end of this level exists only where its instructions do.
                self.hash_lanes(rows, |words, lanes, out| unsafe {
                    x86::wide::compress(words, lanes, out, width)
                });
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if width <= BLOCK => {
                // SAFETY: as above.
                self.hash_lanes(rows, |words, lanes, out| unsafe {
                    x86::narrow::compress(words, lanes, out, width)
                });
            }
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            Level::Neon | Level::Simd128 if width <= BLOCK => {
                // SAFETY: as above.
                self.hash_lanes(rows, |words, lanes, out| unsafe {
                    single::compress(words, lanes, out, width)
                });
            }
            _ => rows.for_each(|(input, out)| self.hash(input, out)),
        }
    }

    /// Sets `out[i]` to the first 16 bytes of the hash of input number i: `per` halves of a block, zeros up
    /// to a whole number of blocks, and `numbers[i]`, little-endian, added (XOR) to the last six bytes.
    pub fn hash_numbered(
        &self,
        backend: Backend,
        halves: &[Half],
        per: usize,
        numbers: &[u64],
        out: &mut [Block],
    ) {
        assert!((1..=MOST_HALVES).contains(&per), "an input of one chunk");
        assert!(
            halves.len() == per * out.len() && numbers.len() == out.len(),
            "a number and an output an input"
        );
        match backend.level_for(Kernels::Blake3) {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                let words = shared::Words::new(self);
                // SAFETY: a back end of this level exists only where its instructions do.
                unsafe { x86::wide::compress_numbered(&words, halves, per, numbers, out) }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                let words = shared::Words::new(self);
                // SAFETY: as above.
                unsafe { x86::narrow::compress_numbered(&words, halves, per, numbers, out) }
            }
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            Level::Neon | Level::Simd128 => {
                let words = shared::Words::new(self);
                // SAFETY: as above.
                unsafe { single::compress_numbered(&words, halves, per, numbers, out) }
            }
            _ => {
                for ((halves, number), out) in halves.chunks_exact(per).zip(numbers).zip(out) {
                    self.hash_one_numbered(halves, *number, out.as_mut_bytes());
                }
            }
        }
    }

    /// One input of [`hash_numbered`](Self::hash_numbered), by the library.
    fn hash_one_numbered(&self, halves: &[Half], number: u64, out: &mut [u8]) {
        let (before, last) = halves.split_at((halves.len() - 1) & !1);
        let mut block = [Block::ZERO; 4];
        block[..2 * last.len()].copy_from_slice(last.as_flattened());
        block[3] ^= Block::from_u128(u128::from(number) << (Block::BITS - NUMBER_BITS));
        let mut hasher = self.hasher();
        hasher.update(Block::slice_as_bytes(before.as_flattened())).update(Block::slice_as_bytes(&block));
        hasher.finalize_xof().fill(out);
        block.zeroize();
    }

    /// Sets row i of `out` to the first `16 · N` bytes of the hash of row i, `16 · W` bytes; returns whether there
    /// are lanes to do so.
    fn in_lanes<const W: usize, const N: usize>(
        &self,
        backend: Backend,
        rows: &[u8],
        out: &mut [u8],
    ) -> bool {
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
        {
            let rows = rows.as_chunks().0.as_chunks().0;
            let out = out.as_chunks_mut().0.as_chunks_mut().0;
            match backend.level_for(Kernels::Blake3) {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => self.fixed_lanes(rows, out, |words, rows, out| {
                    // SAFETY: a back end of this level exists only where its instructions do.
                    unsafe { x86::wide::compress_rows::<W, N>(words, rows, out) }
                }),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => self.fixed_lanes(rows, out, |words, rows, out| {
                    // SAFETY: as above.
                    unsafe { x86::narrow::compress_rows::<W, N>(words, rows, out) }
                }),
                #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
                Level::Neon | Level::Simd128 => self.fixed_lanes(rows, out, |words, rows, out| {
                    // SAFETY: as above.
                    unsafe { single::compress_rows::<W, N>(words, rows, out) }
                }),
                _ => return false,
            }
            true
        }
        #[cfg(not(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64")))]
        {
            let _ = (backend, rows, out);
            false
        }
    }

    /// Takes as many rows at a time as there are lanes; the last rows are padded.
    #[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
    fn fixed_lanes<const W: usize, const N: usize, const LANES: usize>(
        &self,
        rows: &[[[u8; 16]; W]],
        out: &mut [[[u8; 16]; N]],
        compress: impl Fn(&shared::Words, &[[[u8; 16]; W]; LANES], &mut [[[u8; 16]; N]; LANES]),
    ) {
        let words = shared::Words::new(self);
        let (rows, last) = rows.as_chunks();
        let (out, last_out) = out.as_chunks_mut();
        for (rows, out) in rows.iter().zip(out) {
            compress(&words, rows, out);
        }
        if !last.is_empty() {
            let (mut rows, mut out) = ([[[0; 16]; W]; LANES], [[[0; 16]; N]; LANES]);
            rows[..last.len()].copy_from_slice(last);
            compress(&words, &rows, &mut out);
            last_out.copy_from_slice(&out[..last.len()]);
            rows.as_flattened_mut().as_flattened_mut().zeroize();
            out.as_flattened_mut().as_flattened_mut().zeroize();
        }
    }

    /// [`hash_rows`](Self::hash_rows) of rows side by side, all of `width` bytes.
    pub fn hash_side_by_side(
        &self,
        backend: Backend,
        inputs: &[u8],
        width: usize,
        out: &mut [u8],
        out_width: usize,
    ) {
        let done = match (width, out_width) {
            (16, 16) => self.in_lanes::<1, 1>(backend, inputs, out),
            (32, 16) => self.in_lanes::<2, 1>(backend, inputs, out),
            (48, 16) => self.in_lanes::<3, 1>(backend, inputs, out),
            (64, 16) => self.in_lanes::<4, 1>(backend, inputs, out),
            // Half gates of more than 128 bits.
            (48, 32) => self.in_lanes::<3, 2>(backend, inputs, out),
            _ => false,
        };
        if done {
            return;
        }
        self.hash_rows(backend, inputs.chunks_exact(width), out, out_width);
    }

    /// Sets `out[i]` to the beginning of the hash of the first `lengths[i]` bytes of block i, whose other
    /// bytes are zero. Not for secrets: copies on the stack are not wiped.
    pub fn hash_blocks<const N: usize>(
        &self,
        backend: Backend,
        blocks: &[[u8; BLOCK]],
        lengths: &[u32],
        out: &mut [[u8; N]],
    ) {
        const { assert!(N <= BLOCK && N.is_multiple_of(16), "groups of an output of one block") };
        match backend.level_for(Kernels::Blake3) {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => self.block_lanes(blocks, lengths, out, |words, blocks, lengths, out| {
                // SAFETY: a back end of this level exists only where its instructions do.
                unsafe { x86::wide::compress_blocks(words, blocks, lengths, out) }
            }),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => self.block_lanes(blocks, lengths, out, |words, blocks, lengths, out| {
                // SAFETY: as above.
                unsafe { x86::narrow::compress_blocks(words, blocks, lengths, out) }
            }),
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            Level::Neon | Level::Simd128 => {
                self.block_lanes(blocks, lengths, out, |words, blocks, lengths, out| {
                    // SAFETY: as above.
                    unsafe { single::compress_blocks(words, blocks, lengths, out) }
                })
            }
            _ => {
                for ((block, length), out) in blocks.iter().zip(lengths).zip(out) {
                    self.hash(&block[..*length as usize], out);
                }
            }
        }
    }

    /// Takes as many blocks at a time as there are lanes; the last blocks are padded.
    #[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
    fn block_lanes<const N: usize, const LANES: usize>(
        &self,
        blocks: &[[u8; BLOCK]],
        lengths: &[u32],
        out: &mut [[u8; N]],
        compress: impl Fn(&shared::Words, &[[[u8; 16]; 4]; LANES], &[u32; LANES], &mut [[u8; N]; LANES]),
    ) {
        let words = shared::Words::new(self);
        let (blocks, last) = blocks.as_flattened().as_chunks().0.as_chunks().0.as_chunks();
        let (lengths, last_lengths) = lengths.as_chunks();
        let (out, last_out) = out.as_chunks_mut();
        for ((blocks, lengths), out) in blocks.iter().zip(lengths).zip(out) {
            compress(&words, blocks, lengths, out);
        }
        if !last.is_empty() {
            let (mut blocks, mut lengths, mut out) = ([[[0; 16]; 4]; LANES], [0; LANES], [[0; N]; LANES]);
            blocks[..last.len()].copy_from_slice(last);
            lengths[..last_lengths.len()].copy_from_slice(last_lengths);
            compress(&words, &blocks, &lengths, &mut out);
            last_out.copy_from_slice(&out[..last.len()]);
        }
    }

    /// Collects inputs of one block until the lanes are full; hashes longer inputs immediately.
    #[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
    fn hash_lanes<'b, 'c, const LANES: usize>(
        &self,
        rows: impl Iterator<Item = (&'b [u8], &'c mut [u8])>,
        compress: impl Fn(&shared::Words, &[&[u8]; LANES], &mut [[u8; BLOCK]; LANES]),
    ) {
        let words = shared::Words::new(self);
        let mut lanes: [&[u8]; LANES] = [&[]; LANES];
        let mut results: [&mut [u8]; LANES] = core::array::from_fn(|_| <&mut [u8]>::default());
        let mut digests = [[0; BLOCK]; LANES];
        let mut filled = 0;
        for (input, out) in rows {
            if input.len() > BLOCK {
                self.hash(input, out);
                continue;
            }
            lanes[filled] = input;
            results[filled] = out;
            filled += 1;
            if filled == LANES {
                compress(&words, &lanes, &mut digests);
                results.iter_mut().zip(&digests).for_each(|(out, digest)| copy_prefix(out, digest));
                filled = 0;
            }
        }
        if filled > 0 {
            compress(&words, &lanes, &mut digests);
            results[..filled].iter_mut().zip(&digests).for_each(|(out, digest)| copy_prefix(out, digest));
        }
        digests.zeroize();
    }
}

/// Fills `out` from the beginning of `digest`, by moves of fixed size that overlap where they must.
#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
#[inline]
fn copy_prefix(out: &mut [u8], digest: &[u8; BLOCK]) {
    let digest = &digest[..out.len()];
    match out.len() {
        16.. => {
            for (out, digest) in out.as_chunks_mut::<16>().0.iter_mut().zip(digest.as_chunks::<16>().0) {
                *out = *digest;
            }
            if let (Some(out), Some(digest)) = (out.last_chunk_mut::<16>(), digest.last_chunk::<16>()) {
                *out = *digest;
            }
        }
        8..16 => {
            if let (Some(out), Some(digest)) = (out.first_chunk_mut::<8>(), digest.first_chunk::<8>()) {
                *out = *digest;
            }
            if let (Some(out), Some(digest)) = (out.last_chunk_mut::<8>(), digest.last_chunk::<8>()) {
                *out = *digest;
            }
        }
        _ => out.copy_from_slice(digest),
    }
}

#[cfg(test)]
mod tests;
