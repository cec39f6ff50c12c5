//! Codewords of the Walsh–Hadamard code for ARM: a row in two vectors.

use core::arch::aarch64::*;

use super::{BYTES, Codeword};
use crate::block::Block;

/// Adds s ∧ C(w) of each word: what it shares with 8j is looked up by the bits of j, in registers.
#[target_feature(enable = "neon")]
pub(super) fn add(kept: &Codeword, words: &[u8], rows: &mut [Codeword]) {
    let rows = &mut rows[..words.len()];
    let kept = [load(&kept[0]), load(&kept[1])];
    let bytes = vcombine_u8(vcreate_u8(BYTES), vcreate_u8(0));
    // All ones for numbers of four bits whose parity is odd.
    let parity = vcombine_u8(vcreate_u8(0xff00_00ff_00ff_ff00), vcreate_u8(0x00ff_ff00_ff00_00ff));
    let numbers = vcombine_u8(vcreate_u8(0x0706_0504_0302_0100), vcreate_u8(0x0f0e_0d0c_0b0a_0908));
    for i in 0..words.len() {
        let word = vdupq_n_u8(words[i]);
        let within = vqtbl1q_u8(bytes, vandq_u8(word, vdupq_n_u8(7)));
        let shared = vandq_u8(vshrq_n_u8::<3>(word), numbers);
        let low = veorq_u8(within, vqtbl1q_u8(parity, shared));
        // Bit 4 of j is the upper half of the row; it meets the highest bit of w.
        let half = vreinterpretq_u8_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(word)));
        let [row, upper] = &mut rows[i];
        store(row, veorq_u8(load(row), vandq_u8(low, kept[0])));
        store(upper, veorq_u8(load(upper), vandq_u8(veorq_u8(low, half), kept[1])));
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn load(block: &Block) -> uint8x16_t {
    // SAFETY: sixteen readable bytes; the load of bytes has no alignment.
    unsafe { vld1q_u8(block.as_bytes().as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
fn store(block: &mut Block, x: uint8x16_t) {
    // SAFETY: sixteen writable bytes; the store of bytes has no alignment.
    unsafe { vst1q_u8(block.as_mut_bytes().as_mut_ptr(), x) }
}
