//! Half gates on 256-bit vectors.

use super::*;

half_gates!("vaes,avx2");

/// Vectors of gates in flight.
const GATE_VECTORS: usize = 8;

/// The blocks of both, gate by gate.
#[target_feature(enable = "vaes,avx2")]
#[inline]
fn interleave(a: V, b: V) -> [V; 2] {
    [_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)]
}

/// The blocks at even and those at odd positions.
#[target_feature(enable = "vaes,avx2")]
#[inline]
fn separate(x: [V; 2]) -> [V; 2] {
    interleave(x[0], x[1])
}

/// All ones where bit 0 of a block is set, elsewhere zero.
#[target_feature(enable = "vaes,avx2")]
#[inline]
fn low_bit_mask(x: V) -> V {
    _mm256_srai_epi32::<31>(_mm256_slli_epi32::<31>(_mm256_shuffle_epi32::<0>(x)))
}
