//! Sums under a band for x86-64, by vectors of four or eight words.

use core::arch::x86_64::*;

use super::shared::*;
use super::{BandRow, XorValue};
use super::{selected, substitute_range};

/// 512-bit vectors.
pub(super) mod wide {
    use super::*;

    type V = __m512i;
    const LANES: usize = 8;

    kernels!("avx512f,avx512bw,avx512dq");

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn zero() -> V {
        _mm512_setzero_si512()
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn splat(word: u64) -> V {
        _mm512_set1_epi64(word as i64)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn lane_bits<const K: usize>(vector: usize) -> V {
        let lanes: &[u64; LANES] = &Lanes::<K>::BITS.as_chunks().0[vector];
        // SAFETY: 64 readable bytes; the load has no alignment.
        unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn lanes_of<const K: usize>(column: usize) -> __mmask8 {
        (((1u32 << K) - 1) << (K * column)) as __mmask8
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn only(mask: __mmask8, x: V) -> V {
        _mm512_maskz_mov_epi64(mask, x)
    }

    /// # Safety
    /// 64 readable bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn add_where(sum: V, mask: __mmask8, place: *const u64) -> V {
        // SAFETY: of the caller.
        _mm512_mask_xor_epi64(sum, mask, sum, unsafe { load(place) })
    }

    /// # Safety
    /// 64 readable bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn load(place: *const u64) -> V {
        // SAFETY: of the caller.
        unsafe { _mm512_loadu_si512(place.cast()) }
    }

    /// # Safety
    /// 64 writable bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn store(place: *mut u64, x: V) {
        // SAFETY: of the caller.
        unsafe { _mm512_storeu_si512(place.cast(), x) }
    }

    /// The sum of all columns of a vector, in every column.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn fold<const K: usize>(x: V) -> V {
        let x = xor(x, _mm512_shuffle_i64x2::<0x4e>(x, x));
        let x = if K <= 2 { xor(x, _mm512_shuffle_i64x2::<0xb1>(x, x)) } else { x };
        if K == 1 { xor(x, _mm512_shuffle_epi32::<0x4e>(x)) } else { x }
    }

    use {_mm512_test_epi64_mask as test, _mm512_xor_si512 as xor};
}

/// 256-bit vectors.
pub(super) mod narrow {
    use super::*;

    type V = __m256i;
    const LANES: usize = 4;

    kernels!("avx2");

    #[target_feature(enable = "avx2")]
    #[inline]
    fn zero() -> V {
        _mm256_setzero_si256()
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn splat(word: u64) -> V {
        _mm256_set1_epi64x(word as i64)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn lane_bits<const K: usize>(vector: usize) -> V {
        let lanes: &[u64; LANES] = &Lanes::<K>::SHIFTS.as_chunks().0[vector];
        // SAFETY: 32 readable bytes; the load has no alignment.
        unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
    }

    /// Masks are vectors whose lanes have the highest bit set or not.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn test(bits: V, shifts: V) -> V {
        _mm256_sllv_epi64(bits, shifts)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn lanes_of<const K: usize>(column: usize) -> V {
        test(splat(1 << column), lane_bits::<K>(0))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn only(mask: V, x: V) -> V {
        let mask = _mm256_cmpgt_epi64(zero(), mask);
        _mm256_and_si256(mask, x)
    }

    /// # Safety
    /// 32 readable bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn add_where(sum: V, mask: V, place: *const u64) -> V {
        // SAFETY: of the caller.
        xor(sum, unsafe { _mm256_maskload_epi64(place.cast(), mask) })
    }

    /// # Safety
    /// 32 readable bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn load(place: *const u64) -> V {
        // SAFETY: of the caller.
        unsafe { _mm256_loadu_si256(place.cast()) }
    }

    /// # Safety
    /// 32 writable bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn store(place: *mut u64, x: V) {
        // SAFETY: of the caller.
        unsafe { _mm256_storeu_si256(place.cast(), x) }
    }

    /// The sum of all columns of a vector, in every column.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn fold<const K: usize>(x: V) -> V {
        let x = if K <= 2 { xor(x, _mm256_permute4x64_epi64::<0x4e>(x)) } else { x };
        if K == 1 { xor(x, _mm256_shuffle_epi32::<0x4e>(x)) } else { x }
    }

    use _mm256_xor_si256 as xor;
}
