//! Half gates on 128-bit vectors.

use super::*;

half_gates!("aes,avx2");

/// Vectors of gates in flight: keys and states of a half fill the registers.
const GATE_VECTORS: usize = 8;

/// The blocks of both, gate by gate.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn interleave(a: V, b: V) -> [V; 2] {
    [a, b]
}

/// The blocks at even and those at odd positions.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn separate(x: [V; 2]) -> [V; 2] {
    x
}

/// All ones where bit 0 of a block is set, elsewhere zero.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn low_bit_mask(x: V) -> V {
    _mm_srai_epi32::<31>(_mm_slli_epi32::<31>(_mm_shuffle_epi32::<0>(x)))
}
