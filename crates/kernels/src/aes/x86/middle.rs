//! 256-bit vectors.

use super::*;

mod half_gates;

pub(in super::super) use half_gates::{evaluate, evaluate_private, garble, garble_private};

type V = __m256i;
const LANES: usize = 2;
const FLIGHT: usize = 8;

kernels!("vaes,avx2");
children!("vaes,avx2");

/// The lower half of each block in both of its halves.
#[target_feature(enable = "vaes,avx2")]
#[inline]
fn in_both_halves(x: V) -> V {
    _mm256_unpacklo_epi64(x, x)
}

/// `value` where `a` and `b` are equal, elsewhere zero.
#[target_feature(enable = "vaes,avx2")]
#[inline]
fn where_equal(a: V, b: V, value: V) -> V {
    and(_mm256_cmpeq_epi64(a, b), value)
}

/// The lowest bit of each block.
#[target_feature(enable = "vaes,avx2")]
#[inline]
fn lowest_bits(x: [V; FLIGHT]) -> u64 {
    let mut bits = 0;
    for i in 0..FLIGHT / 2 {
        // Blocks 0 and 2, then 1 and 3, side by side; then in order.
        let four = _mm256_permute4x64_epi64::<0xd8>(_mm256_unpacklo_epi64(x[2 * i], x[2 * i + 1]));
        let highest = _mm256_castsi256_pd(_mm256_slli_epi64::<63>(four));
        bits |= (_mm256_movemask_pd(highest) as u64) << (4 * i);
    }
    bits
}

#[target_feature(enable = "vaes,avx2")]
#[inline]
fn load(bytes: &[u8; BYTES]) -> V {
    // SAFETY: 32 readable bytes; the load has no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "vaes,avx2")]
#[inline]
fn store(bytes: &mut [u8; BYTES], x: V) {
    // SAFETY: 32 writable bytes; the store has no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "vaes,avx2")]
#[inline]
fn splat(value: u128) -> V {
    _mm256_broadcastsi128_si256(_mm_set_epi64x((value >> 64) as i64, value as i64))
}

#[target_feature(enable = "vaes,avx2")]
#[inline]
fn load_splat(block: &Block) -> V {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(block.as_bytes().as_ptr().cast()) })
}

#[target_feature(enable = "vaes,avx2")]
#[inline]
fn lane_numbers() -> V {
    _mm256_set_epi64x(0, 1, 0, 0)
}

#[target_feature(enable = "vaes,avx2")]
#[inline]
fn swap_halves(x: V) -> V {
    _mm256_shuffle_epi32::<0x4e>(x)
}

use {
    _mm256_add_epi64 as add64, _mm256_aesenc_epi128 as enc, _mm256_aesenclast_epi128 as enclast,
    _mm256_and_si256 as and, _mm256_set1_epi32 as splat_words, _mm256_shuffle_epi8 as shuffle_bytes,
    _mm256_slli_si256 as shift_left_bytes, _mm256_xor_si256 as xor,
};
