//! Blocks of the Golay code whose words are gathered from cached memory.
//!
//! The vector kernel has a block in each lane. It gathers a word of every block and adds it to the results
//! that contain it, all in registers.

#[cfg(target_arch = "x86_64")]
mod x86;

use core::ops::BitXor;

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::prefetch::read;
use super::{Backend, Kernels};
use crate::band::XorValue;

/// Words of a block before compression.
pub const LONG: usize = 24;
/// Words of a block after compression.
pub const SHORT: usize = 12;

/// B by rows, bit j for column j.
pub const B: [u16; SHORT] = {
    const RESIDUES: [usize; 6] = [0, 1, 3, 4, 5, 9];
    let mut rows = [0; SHORT];
    rows[0] = 0xffe;
    let mut i = 0;
    while i < 11 {
        rows[i + 1] = 1;
        let mut r = 0;
        while r < RESIDUES.len() {
            rows[i + 1] |= 1 << (1 + (RESIDUES[r] + 11 - i) % 11);
            r += 1;
        }
        i += 1;
    }
    rows
};

/// Multiplies a block by the generator, words being columns. Sums of three words are made once for all rows.
#[inline(always)]
#[must_use]
pub fn compress<W: Copy + Default + BitXor<Output = W>>(long: &[W; LONG]) -> [W; SHORT] {
    let mut sums = [[W::default(); 8]; 4];
    let mut group = 0;
    while group < 4 {
        let [a, b, c] = [long[12 + 3 * group], long[13 + 3 * group], long[14 + 3 * group]];
        let [ab, ac, bc] = [a ^ b, a ^ c, b ^ c];
        sums[group] = [W::default(), a, b, ab, c, ac, bc, ab ^ c];
        group += 1;
    }
    let mut short = [W::default(); SHORT];
    let mut i = 0;
    while i < SHORT {
        let row = B[i] as usize;
        short[i] =
            long[i] ^ sums[0][row & 7] ^ sums[1][row >> 3 & 7] ^ sums[2][row >> 6 & 7] ^ sums[3][row >> 9];
        i += 1;
    }
    short
}

/// Gathers the words of block i from `words` at `positions[i]` and writes [`compress`] of them to `out[i]`. Prefetches
/// about as much of `next` as it reads.
///
/// # Panics
/// If a position is beyond the words.
pub fn compress_from<V: XorValue + Default>(
    backend: Backend,
    words: &[V],
    positions: &[[u16; LONG]],
    next: &[V],
    out: &mut [[V; SHORT]],
) {
    let done = match (backend.level_for(Kernels::Golay), V::WORDS) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        (Level::Avx512, 1) => unsafe { x86::wide::<V, 1>(words, positions, next, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 2) => unsafe { x86::wide::<V, 2>(words, positions, next, out) },
        _ => 0,
    };
    for (i, (positions, out)) in positions.iter().zip(out).enumerate().skip(done) {
        let mut block = [V::default(); LONG];
        for (j, (word, position)) in block.iter_mut().zip(positions).enumerate() {
            read(next, i * LONG + j);
            *word = words[usize::from(*position)];
        }
        *out = compress(&block);
    }
}
