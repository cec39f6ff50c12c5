//! Half gates on 128-bit vectors.

use super::*;

half_gates!("neon,aes");

/// Vectors of gates in flight: keys and states of a half take 24 of the 32 registers.
const GATE_VECTORS: usize = 8;

/// The blocks of both, gate by gate.
#[target_feature(enable = "neon")]
#[inline]
fn interleave(a: V, b: V) -> [V; 2] {
    [a, b]
}

/// The blocks at even and those at odd positions.
#[target_feature(enable = "neon")]
#[inline]
fn separate(x: [V; 2]) -> [V; 2] {
    x
}

/// All ones where bit 0 of a block is set, elsewhere zero.
#[target_feature(enable = "neon")]
#[inline]
fn low_bit_mask(x: V) -> V {
    let highest = vshlq_n_u8::<7>(vdupq_laneq_u8::<0>(x));
    vreinterpretq_u8_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(highest)))
}
