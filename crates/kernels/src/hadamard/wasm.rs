//! Codewords of the Walsh–Hadamard code for WebAssembly: a row in two vectors.

use core::arch::wasm32::*;

use super::{BYTES, Codeword};
use crate::block::Block;

/// Adds s ∧ C(w) of each word: what it shares with 8j is looked up by the bits of j, in registers.
#[target_feature(enable = "simd128")]
pub(super) fn add(kept: &Codeword, words: &[u8], rows: &mut [Codeword]) {
    let rows = &mut rows[..words.len()];
    let kept = [load(&kept[0]), load(&kept[1])];
    let bytes = u64x2(BYTES, 0);
    // All ones for numbers of four bits whose parity is odd.
    let parity = u64x2(0xff00_00ff_00ff_ff00, 0x00ff_ff00_ff00_00ff);
    let numbers = u64x2(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
    for i in 0..words.len() {
        let word = u8x16_splat(words[i]);
        let within = i8x16_swizzle(bytes, v128_and(word, u8x16_splat(7)));
        let shared = v128_and(u8x16_shr(word, 3), numbers);
        let low = v128_xor(within, i8x16_swizzle(parity, shared));
        // Bit 4 of j is the upper half of the row; it meets the highest bit of w.
        let half = i8x16_shr(word, 7);
        let [row, upper] = &mut rows[i];
        store(row, v128_xor(load(row), v128_and(low, kept[0])));
        store(upper, v128_xor(load(upper), v128_and(v128_xor(low, half), kept[1])));
    }
}

#[target_feature(enable = "simd128")]
#[inline]
fn load(block: &Block) -> v128 {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    unsafe { v128_load(block.as_bytes().as_ptr().cast()) }
}

#[target_feature(enable = "simd128")]
#[inline]
fn store(block: &mut Block, x: v128) {
    // SAFETY: sixteen writable bytes; the store has no alignment.
    unsafe { v128_store(block.as_mut_bytes().as_mut_ptr().cast(), x) }
}
