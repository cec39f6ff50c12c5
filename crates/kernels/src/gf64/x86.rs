//! Multiplication in GF(2^64) for x86-64, one, two or four pairs at a time.

use core::arch::x86_64::*;

use super::REDUCTION;
use crate::block::Block;

#[target_feature(enable = "vpclmulqdq,avx512f,pclmulqdq,avx2")]
pub(super) fn wide(sums: &mut [Block], pair: Block, values: &[u64]) {
    let (low, high) = pair.to_halves();
    let (low, high) = (low as i64, high as i64);
    let factor = _mm512_set_epi64(high, low, high, low, high, low, high, low);
    // A value in both halves of each lane.
    let spread = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
    let (sums, sums_rest) = sums.as_chunks_mut::<4>();
    let (values, values_rest) = values.as_chunks::<4>();
    for (sums, values) in sums.iter_mut().zip(values) {
        // SAFETY: 32 readable bytes; the load has no alignment.
        let values = unsafe { _mm256_loadu_si256(values.as_ptr().cast()) };
        let values = _mm512_permutexvar_epi64(spread, _mm512_castsi256_si512(values));
        let product = wide_products(values, factor);
        let bytes = Block::slice_as_mut_bytes(sums);
        // SAFETY: 64 readable and writable bytes; neither access has an alignment.
        unsafe {
            let sum = _mm512_xor_si512(_mm512_loadu_si512(bytes.as_ptr().cast()), product);
            _mm512_storeu_si512(bytes.as_mut_ptr().cast(), sum);
        }
    }
    narrow(sums_rest, pair, values_rest);
}

#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
pub(super) fn middle(sums: &mut [Block], pair: Block, values: &[u64]) {
    let (low, high) = pair.to_halves();
    let (low, high) = (low as i64, high as i64);
    let factor = _mm256_set_epi64x(high, low, high, low);
    let (sums, sums_rest) = sums.as_chunks_mut::<2>();
    let (values, values_rest) = values.as_chunks::<2>();
    for (sums, values) in sums.iter_mut().zip(values) {
        // SAFETY: sixteen readable bytes; the load has no alignment.
        let values = unsafe { _mm_loadu_si128(values.as_ptr().cast()) };
        // A value in both halves of each lane.
        let values = _mm256_permute4x64_epi64::<0x50>(_mm256_castsi128_si256(values));
        let product = middle_products(values, factor);
        let bytes = Block::slice_as_mut_bytes(sums);
        // SAFETY: 32 readable and writable bytes; neither access has an alignment.
        unsafe {
            let sum = _mm256_xor_si256(_mm256_loadu_si256(bytes.as_ptr().cast()), product);
            _mm256_storeu_si256(bytes.as_mut_ptr().cast(), sum);
        }
    }
    narrow(sums_rest, pair, values_rest);
}

#[target_feature(enable = "pclmulqdq,avx2")]
pub(super) fn narrow(sums: &mut [Block], pair: Block, values: &[u64]) {
    let (low, high) = pair.to_halves();
    let pair = _mm_set_epi64x(high as i64, low as i64);
    let rho = _mm_set1_epi64x(REDUCTION as i64);
    for (sum, value) in sums.iter_mut().zip(values) {
        let value = _mm_set_epi64x(0, *value as i64);
        let first = _mm_clmulepi64_si128::<0x00>(value, pair);
        let second = _mm_clmulepi64_si128::<0x10>(value, pair);
        let lower = _mm_unpacklo_epi64(first, second);
        let upper = _mm_unpackhi_epi64(first, second);
        let first = _mm_clmulepi64_si128::<0x00>(upper, rho);
        let second = _mm_clmulepi64_si128::<0x01>(upper, rho);
        let again = _mm_unpackhi_epi64(first, second);
        let again = _mm_xor_si128(
            _mm_xor_si128(again, _mm_slli_epi64::<1>(again)),
            _mm_xor_si128(_mm_slli_epi64::<3>(again), _mm_slli_epi64::<4>(again)),
        );
        let product = _mm_xor_si128(_mm_xor_si128(lower, _mm_unpacklo_epi64(first, second)), again);
        let mut block = Block::ZERO;
        // SAFETY: sixteen writable bytes; the store has no alignment.
        unsafe { _mm_storeu_si128(block.as_mut_bytes().as_mut_ptr().cast(), product) }
        *sum ^= block;
    }
}

/// The products of eight elements each, lane by lane.
#[target_feature(enable = "vpclmulqdq,avx512f")]
#[inline]
fn wide_products(x: __m512i, y: __m512i) -> __m512i {
    let rho = _mm512_set1_epi64(REDUCTION as i64);
    let (even, odd) = (_mm512_clmulepi64_epi128::<0x00>(x, y), _mm512_clmulepi64_epi128::<0x11>(x, y));
    let (lower, upper) = (_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd));
    let (even, odd) =
        (_mm512_clmulepi64_epi128::<0x00>(upper, rho), _mm512_clmulepi64_epi128::<0x01>(upper, rho));
    let again = _mm512_unpackhi_epi64(even, odd);
    let again = _mm512_xor_si512(
        _mm512_xor_si512(again, _mm512_slli_epi64::<1>(again)),
        _mm512_xor_si512(_mm512_slli_epi64::<3>(again), _mm512_slli_epi64::<4>(again)),
    );
    _mm512_xor_si512(_mm512_xor_si512(lower, _mm512_unpacklo_epi64(even, odd)), again)
}

/// The products of four elements each, lane by lane.
#[target_feature(enable = "vpclmulqdq,avx2")]
#[inline]
fn middle_products(x: __m256i, y: __m256i) -> __m256i {
    let rho = _mm256_set1_epi64x(REDUCTION as i64);
    let (even, odd) = (_mm256_clmulepi64_epi128::<0x00>(x, y), _mm256_clmulepi64_epi128::<0x11>(x, y));
    let (lower, upper) = (_mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd));
    let (even, odd) =
        (_mm256_clmulepi64_epi128::<0x00>(upper, rho), _mm256_clmulepi64_epi128::<0x01>(upper, rho));
    let again = _mm256_unpackhi_epi64(even, odd);
    let again = _mm256_xor_si256(
        _mm256_xor_si256(again, _mm256_slli_epi64::<1>(again)),
        _mm256_xor_si256(_mm256_slli_epi64::<3>(again), _mm256_slli_epi64::<4>(again)),
    );
    _mm256_xor_si256(_mm256_xor_si256(lower, _mm256_unpacklo_epi64(even, odd)), again)
}
