//! The compression function for x86-64, sixteen lanes of AVX-512 or eight of AVX2.

use core::arch::x86_64::*;

use super::shared::*;
use super::{BLOCK, Half};
use crate::block::Block;

/// Bytes 16 · `group` to 16 · `group` + 15 of `input`, zeros where it has ended.
#[target_feature(enable = "avx2")]
#[inline]
fn load_group(input: &[u8], group: usize) -> __m128i {
    let rest = input.get(16 * group..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk::<16>() {
        // SAFETY: sixteen readable bytes; the load has no alignment.
        unsafe { _mm_loadu_si128(whole.as_ptr().cast()) }
    } else {
        let padded = last_bytes(input, rest.len());
        _mm_set_epi64x((padded >> 64) as i64, padded as i64)
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_block(block: &[u8; 16]) -> __m128i {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store_block(block: &mut [u8; 16], x: __m128i) {
    // SAFETY: sixteen writable bytes; the store has no alignment.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn zero_quad() -> __m128i {
    _mm_setzero_si128()
}

/// Sixteen lanes.
pub(super) mod wide {
    use super::*;

    type V = __m512i;
    const LANES: usize = 16;

    kernel!("avx512f,avx2");

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn splat(word: u32) -> V {
        _mm512_set1_epi32(word as i32)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn numbers(words: [u32; LANES]) -> V {
        // SAFETY: 64 readable bytes; the load has no alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn join(quads: [__m128i; QUADS]) -> V {
        let x = _mm512_castsi128_si512(quads[0]);
        let x = _mm512_inserti32x4::<1>(x, quads[1]);
        _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(x, quads[2]), quads[3])
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn split(x: V) -> [__m128i; QUADS] {
        [
            _mm512_castsi512_si128(x),
            _mm512_extracti32x4_epi32::<1>(x),
            _mm512_extracti32x4_epi32::<2>(x),
            _mm512_extracti32x4_epi32::<3>(x),
        ]
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn rotate<const BITS: i32>(x: V) -> V {
        _mm512_ror_epi32::<BITS>(x)
    }

    use {
        _mm512_add_epi32 as add, _mm512_unpackhi_epi32 as unpack_high32,
        _mm512_unpackhi_epi64 as unpack_high64, _mm512_unpacklo_epi32 as unpack_low32,
        _mm512_unpacklo_epi64 as unpack_low64, _mm512_xor_si512 as xor,
    };
}

/// Eight lanes.
pub(super) mod narrow {
    use super::*;

    type V = __m256i;
    const LANES: usize = 8;

    kernel!("avx2");

    #[target_feature(enable = "avx2")]
    #[inline]
    fn splat(word: u32) -> V {
        _mm256_set1_epi32(word as i32)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn numbers(words: [u32; LANES]) -> V {
        // SAFETY: 32 readable bytes; the load has no alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn join(quads: [__m128i; QUADS]) -> V {
        _mm256_set_m128i(quads[1], quads[0])
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn split(x: V) -> [__m128i; QUADS] {
        [_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)]
    }

    /// Rotates right; by whole bytes with one shuffle, as there is no instruction for it.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn rotate<const BITS: i32>(x: V) -> V {
        match BITS {
            8 => _mm256_shuffle_epi8(x, splat_lane(0x0c0f_0e0d_080b_0a09_0407_0605_0003_0201)),
            16 => _mm256_shuffle_epi8(x, splat_lane(0x0d0c_0f0e_0908_0b0a_0504_0706_0100_0302)),
            _ => _mm256_or_si256(
                _mm256_srl_epi32(x, _mm_cvtsi32_si128(BITS)),
                _mm256_sll_epi32(x, _mm_cvtsi32_si128(32 - BITS)),
            ),
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn splat_lane(value: u128) -> V {
        _mm256_broadcastsi128_si256(_mm_set_epi64x((value >> 64) as i64, value as i64))
    }

    use {
        _mm256_add_epi32 as add, _mm256_unpackhi_epi32 as unpack_high32,
        _mm256_unpackhi_epi64 as unpack_high64, _mm256_unpacklo_epi32 as unpack_low32,
        _mm256_unpacklo_epi64 as unpack_low64, _mm256_xor_si256 as xor,
    };
}
