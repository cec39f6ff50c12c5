//! Convolutions with random taps.
//!
//! The vector kernel keeps all words that can still change in registers: the current vector and the 32 words
//! behind it. It broadcasts a word and adds it under a mask to each register. After the last word of a
//! vector, the registers move up.

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::{Backend, Kernels};
use crate::band::XorValue;

/// Words behind a word that it may be added to.
pub const MEMORY: usize = 32;

/// Adds each word to the words behind it that its taps name.
pub fn convolve<V: XorValue>(backend: Backend, words: &mut [V], taps: &[u32]) {
    let done = match (backend.level_for(Kernels::Convolution), V::WORDS) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        (Level::Avx512, 1) => unsafe { x86::wide::<V, 1, 4>(words, taps) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 2) => unsafe { x86::wide::<V, 2, 8>(words, taps) },
        _ => 0,
    };
    for (i, taps) in taps.iter().enumerate().skip(done) {
        let (word, behind) = (words[i], &mut words[i + 1..]);
        // Taps beyond the end name nothing.
        let mut left = if behind.len() < MEMORY { taps & ((1 << behind.len()) - 1) } else { *taps };
        while left != 0 {
            behind[left.trailing_zeros() as usize] ^= word;
            left &= left - 1;
        }
    }
}
