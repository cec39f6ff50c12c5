//! The field on AVX2: four lanes a vector.

use core::arch::x86_64::*;

/// Lanes of a vector.
const WIDTH: usize = 4;

type V = __m256i;

field26!("avx2", inline(never));

#[inline]
#[target_feature(enable = "avx2")]
fn all(value: u64) -> V {
    _mm256_set1_epi64x(value.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[u64; WIDTH]) -> V {
    // SAFETY: 32 readable bytes; the load has no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(x: V) -> [u64; WIDTH] {
    // SAFETY: both are 32 bytes in which every pattern is valid.
    unsafe { core::mem::transmute::<V, [u64; WIDTH]>(x) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn right<const BY: u32>(x: V) -> V {
    right_by(x, BY)
}

#[inline]
#[target_feature(enable = "avx2")]
fn left<const BY: u32>(x: V) -> V {
    _mm256_sll_epi64(x, _mm_cvtsi64_si128(BY.into()))
}

#[inline]
#[target_feature(enable = "avx2")]
fn right_by(x: V, by: u32) -> V {
    _mm256_srl_epi64(x, _mm_cvtsi64_si128(by.into()))
}

/// All ones in the lanes of the lowest four bits of a set.
#[inline]
#[target_feature(enable = "avx2")]
fn mask_of(lanes: u8) -> V {
    let bits = _mm256_set_epi64x(8, 4, 2, 1);
    _mm256_cmpeq_epi64(and(all(lanes.into()), bits), bits)
}

/// `one` in the lanes of the mask, `zero` elsewhere.
#[inline]
#[target_feature(enable = "avx2")]
fn choose(mask: V, one: V, zero: V) -> V {
    _mm256_blendv_epi8(zero, one, mask)
}

/// `one` where a bit of the mask is set, `zero` elsewhere.
#[inline]
#[target_feature(enable = "avx2")]
fn by_bits(mask: V, one: V, zero: V) -> V {
    _mm256_blendv_epi8(zero, one, mask)
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal_lanes(a: V, b: V) -> u8 {
    _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b))) as u8
}

/// The words that the indices choose; zero for those beyond the end.
#[inline]
#[target_feature(enable = "avx2")]
fn entry(limb: &[u64; ENTRIES], index: V) -> V {
    // The two low bits of an index, as the positions of the halves of a word; the bits above choose four words.
    let word = left::<1>(and(index, all(3)));
    let (halves, group) = (or(word, left::<32>(add(word, all(1)))), right::<2>(index));
    let (fours, mut chosen) = (limb.as_chunks::<WIDTH>().0, all(0));
    for (number, four) in fours.iter().enumerate() {
        let found = _mm256_permutevar8x32_epi32(load(four), halves);
        let here = _mm256_cmpeq_epi64(group, all(number as u64));
        chosen = or(chosen, and(here, found));
    }
    chosen
}

use {
    _mm256_add_epi64 as add, _mm256_and_si256 as and, _mm256_mul_epu32 as multiply, _mm256_or_si256 as or,
    _mm256_sub_epi64 as sub, _mm256_xor_si256 as xor,
};
