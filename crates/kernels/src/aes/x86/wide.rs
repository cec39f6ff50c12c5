//! 512-bit vectors.

use super::*;

mod half_gates;
mod steps;

pub(in super::super) use half_gates::{evaluate, evaluate_private, garble, garble_private};
pub(in super::super) use steps::step;

type V = __m512i;
const LANES: usize = 4;
const FLIGHT: usize = 4;

kernels!("vaes,avx512f,avx512bw");
children!("vaes,avx512f,avx512bw");

/// The lower half of each block in both of its halves.
#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn in_both_halves(x: V) -> V {
    _mm512_unpacklo_epi64(x, x)
}

/// `value` where `a` and `b` are equal, elsewhere zero.
#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn where_equal(a: V, b: V, value: V) -> V {
    _mm512_maskz_mov_epi64(_mm512_cmpeq_epi64_mask(a, b), value)
}

/// The lowest bit of each block.
#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn lowest_bits(x: [V; FLIGHT]) -> u64 {
    let mut bits = 0;
    for (i, &x) in x.iter().enumerate() {
        // Of eight halves, the upper ones give zero.
        bits |= u32::from(_mm512_test_epi64_mask(x, splat(1))) << (8 * i);
    }
    // Bits at even places move together.
    bits = (bits | bits >> 1) & 0x3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff;
    u64::from((bits | bits >> 8) & 0xffff)
}

#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn load(bytes: &[u8; BYTES]) -> V {
    // SAFETY: 64 readable bytes; the load has no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn store(bytes: &mut [u8; BYTES], x: V) {
    // SAFETY: 64 writable bytes; the store has no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn splat(value: u128) -> V {
    _mm512_broadcast_i32x4(_mm_set_epi64x((value >> 64) as i64, value as i64))
}

#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn load_splat(block: &Block) -> V {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(block.as_bytes().as_ptr().cast()) })
}

#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn lane_numbers() -> V {
    _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0)
}

#[target_feature(enable = "vaes,avx512f,avx512bw")]
#[inline]
fn swap_halves(x: V) -> V {
    _mm512_shuffle_epi32::<0x4e>(x)
}

use {
    _mm512_add_epi64 as add64, _mm512_aesenc_epi128 as enc, _mm512_aesenclast_epi128 as enclast,
    _mm512_and_si512 as and, _mm512_bslli_epi128 as shift_left_bytes, _mm512_set1_epi32 as splat_words,
    _mm512_shuffle_epi8 as shuffle_bytes, _mm512_xor_si512 as xor,
};
