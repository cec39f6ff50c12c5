//! The field on AVX-512 without IFMA: eight lanes a vector.

use core::arch::x86_64::*;

/// Lanes of a vector.
const WIDTH: usize = 8;

type V = __m512i;

field26!("avx512f,avx512dq", inline);

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn all(value: u64) -> V {
    _mm512_set1_epi64(value.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn load(words: &[u64; WIDTH]) -> V {
    // SAFETY: 64 readable bytes; the load has no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn store(x: V) -> [u64; WIDTH] {
    // SAFETY: both are 64 bytes in which every pattern is valid.
    unsafe { core::mem::transmute::<V, [u64; WIDTH]>(x) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn right<const BY: u32>(x: V) -> V {
    _mm512_srli_epi64::<BY>(x)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn left<const BY: u32>(x: V) -> V {
    _mm512_slli_epi64::<BY>(x)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn right_by(x: V, by: u32) -> V {
    _mm512_srl_epi64(x, _mm_cvtsi64_si128(by.into()))
}

/// The lanes of the lower bits of a set.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn mask_of(lanes: u8) -> __mmask8 {
    lanes
}

/// `one` in the lanes of the mask, `zero` elsewhere.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn choose(mask: __mmask8, one: V, zero: V) -> V {
    _mm512_mask_blend_epi64(mask, zero, one)
}

/// `one` where a bit of the mask is set, `zero` elsewhere.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn by_bits(mask: V, one: V, zero: V) -> V {
    // Truth table of the inputs (mask, one, zero), zero the lowest bit.
    _mm512_ternarylogic_epi64::<0xca>(mask, one, zero)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn equal_lanes(a: V, b: V) -> u8 {
    _mm512_cmpeq_epi64_mask(a, b)
}

/// The words that the indices choose; zero for those beyond the end.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn entry(limb: &[u64; ENTRIES], index: V) -> V {
    let [a, b, c, d] = limb.as_chunks::<WIDTH>().0 else { return all(0) };
    // The permutation reads the lowest four bits of an index.
    let half = right::<4>(index);
    let low = _mm512_maskz_permutex2var_epi64(equal_lanes(half, all(0)), load(a), index, load(b));
    let high = _mm512_maskz_permutex2var_epi64(equal_lanes(half, all(1)), load(c), index, load(d));
    or(low, high)
}

use {
    _mm512_add_epi64 as add, _mm512_and_si512 as and, _mm512_mul_epu32 as multiply, _mm512_or_si512 as or,
    _mm512_sub_epi64 as sub, _mm512_xor_si512 as xor,
};
