//! 128-bit vectors.

use super::*;

mod half_gates;

pub(in super::super) use half_gates::{evaluate, evaluate_private, garble, garble_private};

type V = __m128i;
const LANES: usize = 1;
const FLIGHT: usize = 8;

kernels!("aes,avx2");
schedules!("aes,avx2");
children!("aes,avx2");

/// The lower half of each block in both of its halves.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn in_both_halves(x: V) -> V {
    _mm_unpacklo_epi64(x, x)
}

/// `value` where `a` and `b` are equal, elsewhere zero.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn where_equal(a: V, b: V, value: V) -> V {
    and(_mm_cmpeq_epi64(a, b), value)
}

/// The lowest bit of each block.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn lowest_bits(x: [V; FLIGHT]) -> u64 {
    let mut bits = 0;
    for i in 0..FLIGHT / 2 {
        let both = _mm_slli_epi64::<63>(_mm_unpacklo_epi64(x[2 * i], x[2 * i + 1]));
        bits |= (_mm_movemask_pd(_mm_castsi128_pd(both)) as u64) << (2 * i);
    }
    bits
}

#[target_feature(enable = "aes,avx2")]
#[inline]
pub(super) fn load(bytes: &[u8; BYTES]) -> V {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "aes,avx2")]
#[inline]
pub(super) fn store(bytes: &mut [u8; BYTES], x: V) {
    // SAFETY: sixteen writable bytes; the store has no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "aes,avx2")]
#[inline]
fn splat(value: u128) -> V {
    _mm_set_epi64x((value >> 64) as i64, value as i64)
}

#[target_feature(enable = "aes,avx2")]
#[inline]
fn load_splat(block: &Block) -> V {
    load(block.as_bytes())
}

#[target_feature(enable = "aes,avx2")]
#[inline]
fn lane_numbers() -> V {
    _mm_setzero_si128()
}

#[target_feature(enable = "aes,avx2")]
#[inline]
fn swap_halves(x: V) -> V {
    _mm_shuffle_epi32::<0x4e>(x)
}

use {
    _mm_add_epi64 as add64, _mm_aesenc_si128 as enc, _mm_aesenclast_si128 as enclast, _mm_and_si128 as and,
    _mm_set1_epi32 as splat_words, _mm_shuffle_epi8 as shuffle_bytes, _mm_slli_si128 as shift_left_bytes,
    _mm_xor_si128 as xor,
};
