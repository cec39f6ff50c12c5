//! Blocks of the Golay code whose words are gathered from cached memory.
//!
//! The vector kernel has a block in each lane: it gathers a word of every block, adds it to the results that contain it,
//! and needs no room beyond the registers.

#[cfg(target_arch = "x86_64")]
mod x86;

use super::Backend;
#[cfg(target_arch = "x86_64")]
use super::Level;
use super::prefetch::read;
use crate::band::Value;
use crate::golay::{LONG, SHORT, compress};

/// Compresses the blocks at `places` of `words`, and asks for the memory of `next`.
pub(crate) fn compress_from<V: Value + Default>(
    backend: Backend,
    words: &[V],
    places: &[[u16; LONG]],
    next: &[V],
    out: &mut [[V; SHORT]],
) {
    let done = match (backend.level(), V::WORDS) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        (Level::Avx512, 1) => unsafe { x86::wide::<V, 1>(words, places, next, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 2) => unsafe { x86::wide::<V, 2>(words, places, next, out) },
        _ => 0,
    };
    for (i, (places, out)) in places.iter().zip(out).enumerate().skip(done) {
        let mut block = [V::default(); LONG];
        for (j, (word, place)) in block.iter_mut().zip(places).enumerate() {
            read(next, i * LONG + j);
            *word = words[usize::from(*place)];
        }
        *out = compress(&block);
    }
}
