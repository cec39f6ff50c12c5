//! Half gates on 128-bit vectors.

use super::*;

half_gates!("simd128");

/// Vectors of gates in flight.
const GATE_VECTORS: usize = 4;

/// The blocks of both, gate by gate.
#[target_feature(enable = "simd128")]
#[inline]
fn interleave(a: V, b: V) -> [V; 2] {
    [a, b]
}

/// The blocks at even and those at odd positions.
#[target_feature(enable = "simd128")]
#[inline]
fn separate(x: [V; 2]) -> [V; 2] {
    x
}

/// All ones where bit 0 of a block is set, elsewhere zero.
#[target_feature(enable = "simd128")]
#[inline]
fn low_bit_mask(x: V) -> V {
    i64x2_splat((u64x2_extract_lane::<0>(x) & 1).wrapping_neg() as i64)
}
