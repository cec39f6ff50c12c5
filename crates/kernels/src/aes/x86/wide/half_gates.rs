//! Half gates on 512-bit vectors.

use super::*;

half_gates!("vaes,avx512f,avx512bw");

/// Vectors of gates in flight.
const GATE_VECTORS: usize = 4;

/// The blocks of both, gate by gate.
#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn interleave(a: V, b: V) -> [V; 2] {
    [
        _mm512_permutex2var_epi64(a, _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), b),
        _mm512_permutex2var_epi64(a, _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4), b),
    ]
}

/// The blocks at even and those at odd positions.
#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn separate(x: [V; 2]) -> [V; 2] {
    [
        _mm512_permutex2var_epi64(x[0], _mm512_set_epi64(13, 12, 9, 8, 5, 4, 1, 0), x[1]),
        _mm512_permutex2var_epi64(x[0], _mm512_set_epi64(15, 14, 11, 10, 7, 6, 3, 2), x[1]),
    ]
}

/// All ones where bit 0 of a block is set, elsewhere zero.
#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn low_bit_mask(x: V) -> V {
    _mm512_srai_epi32::<31>(_mm512_slli_epi32::<31>(_mm512_shuffle_epi32::<0>(x)))
}
