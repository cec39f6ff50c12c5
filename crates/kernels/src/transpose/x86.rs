//! The transposition for x86-64. Names of bits as in the parent module.

use core::arch::x86_64::*;

use super::{COLUMNS, Tile};
use crate::block::Block;

/// 512-bit vectors, a row of 64 bytes each.
mod vectors {
    use super::*;

    pub(super) type V = __m512i;
    pub(super) const BLOCKS: usize = 4;
    pub(super) const STRIPE: usize = 512;

    /// Dwords d3 d2 d1 d0 of two vectors: those with d3 = `BIT`, in the order d2 d1 d0 v of vector number v.
    const fn select_upper<const BIT: u32>() -> [u32; 16] {
        let mut order = [0; 16];
        let mut to = 0;
        while to < 16 {
            order[to] = (to as u32 & 1) << 4 | BIT << 3 | to as u32 >> 1;
            to += 1;
        }
        order
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn select<const BIT: u32>(a: V, b: V) -> V {
        const { assert!(BIT < 2) };
        _mm512_permutex2var_epi32(a, numbers(&const { select_upper::<BIT>() }), b)
    }

    /// Takes vectors r3 r2 of dwords k5 k4 b1 b0 and stores them as columns; the first is number `base`.
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(super) fn finish([a, b, c, d]: [V; 4], base: usize, columns: &mut [Block; STRIPE]) {
        let out = columns.as_chunks_mut::<BLOCKS>().0;
        let base = base / BLOCKS;
        // Dwords k4 b1 b0 r3, then b1 b0 r3 r2.
        let (even, odd) = (select::<0>(a, c), select::<0>(b, d));
        store(&mut out[base], select::<0>(even, odd));
        store(&mut out[base + 32], select::<1>(even, odd));
        let (even, odd) = (select::<1>(a, c), select::<1>(b, d));
        store(&mut out[base + 64], select::<0>(even, odd));
        store(&mut out[base + 96], select::<1>(even, odd));
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(super) fn load(blocks: &[Block; BLOCKS]) -> V {
        // SAFETY: 64 readable bytes; the load has no alignment.
        unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn numbers(numbers: &[u32; 16]) -> V {
        // SAFETY: 64 readable bytes; the load has no alignment.
        unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(blocks: &mut [Block; BLOCKS], x: V) {
        // SAFETY: 64 writable bytes; the store has no alignment.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), x) }
    }

    pub(super) use core::arch::x86_64::{
        _mm512_setzero_si512 as zero, _mm512_unpackhi_epi8 as unpack_high8,
        _mm512_unpacklo_epi8 as unpack_low8,
    };
}

/// 512-bit vectors, and the affine instruction of GFNI.
pub(super) mod wide {
    use super::vectors::*;
    use super::*;

    /// The matrix operand of the affine transformation has its rows in descending order.
    const REVERSED: bool = true;

    kernel!("avx512f,avx512bw,gfni");

    /// Transposes the 8 × 8 bits of every quadword, whose rows come in descending order.
    #[target_feature(enable = "avx512f,gfni")]
    #[inline]
    fn turn_bits(x: V) -> V {
        // Bit i of byte j becomes bit j of the matrix row for i: the product of the matrix with unit vector
        // j.
        _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64), x)
    }
}

/// 512-bit vectors, without the affine instruction.
pub(super) mod wide_shifts {
    use super::vectors::*;
    use super::*;

    const REVERSED: bool = false;

    kernel!("avx512f,avx512bw");

    /// Transposes the 8 × 8 bits of every quadword: 1 × 1, 2 × 2, then 4 × 4 squares change places.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn turn_bits(x: V) -> V {
        let x = swap_squares::<7>(x, 0x00aa_00aa_00aa_00aa);
        let x = swap_squares::<14>(x, 0x0000_cccc_0000_cccc);
        swap_squares::<28>(x, 0x0000_0000_f0f0_f0f0)
    }

    /// Exchanges each bit of `mask` with the one `BY` places above it.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn swap_squares<const BY: u32>(x: V, mask: i64) -> V {
        // (x ⊕ x / 2^BY) ∧ mask, then the sum of three.
        let above = _mm512_srli_epi64::<BY>(x);
        let changes = _mm512_ternarylogic_epi64::<0x28>(x, above, _mm512_set1_epi64(mask));
        _mm512_ternarylogic_epi64::<0x96>(x, changes, _mm512_slli_epi64::<BY>(changes))
    }
}

/// 256-bit vectors, half as many columns at once, without the affine instruction.
pub(super) mod narrow {
    use super::*;

    type V = __m256i;
    const BLOCKS: usize = 2;
    const STRIPE: usize = 256;
    const REVERSED: bool = false;

    kernel!("avx2");

    /// Takes vectors r3 r2 of dwords b1 b0 in each lane k4 and stores them as columns; the first is number
    /// `base`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn finish([a, b, c, d]: [V; 4], base: usize, columns: &mut [Block; STRIPE]) {
        let out = columns.as_chunks_mut::<BLOCKS>().0;
        let base = base / BLOCKS;
        // Dwords b0 r3, then r3 r2; then the lanes of two vectors b0 change places.
        let (even, odd) = (_mm256_unpacklo_epi32(a, c), _mm256_unpacklo_epi32(b, d));
        let (x, y) = (_mm256_unpacklo_epi32(even, odd), _mm256_unpackhi_epi32(even, odd));
        store(&mut out[base], _mm256_permute2x128_si256::<0x20>(x, y));
        store(&mut out[base + 64], _mm256_permute2x128_si256::<0x31>(x, y));
        let (even, odd) = (_mm256_unpackhi_epi32(a, c), _mm256_unpackhi_epi32(b, d));
        let (x, y) = (_mm256_unpacklo_epi32(even, odd), _mm256_unpackhi_epi32(even, odd));
        store(&mut out[base + 1], _mm256_permute2x128_si256::<0x20>(x, y));
        store(&mut out[base + 65], _mm256_permute2x128_si256::<0x31>(x, y));
    }

    /// Transposes the 8 × 8 bits of every quadword: 1 × 1, 2 × 2, then 4 × 4 squares change places.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn turn_bits(x: V) -> V {
        let x = swap_squares::<7>(x, 0x00aa_00aa_00aa_00aa);
        let x = swap_squares::<14>(x, 0x0000_cccc_0000_cccc);
        swap_squares::<28>(x, 0x0000_0000_f0f0_f0f0)
    }

    /// Exchanges each bit of `mask` with the one `BY` places above it.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn swap_squares<const BY: i32>(x: V, mask: i64) -> V {
        let changes = _mm256_xor_si256(x, _mm256_srli_epi64::<BY>(x));
        let changes = _mm256_and_si256(changes, _mm256_set1_epi64x(mask));
        _mm256_xor_si256(x, _mm256_xor_si256(changes, _mm256_slli_epi64::<BY>(changes)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(blocks: &[Block; BLOCKS]) -> V {
        // SAFETY: 32 readable bytes; the load has no alignment.
        unsafe { _mm256_loadu_si256(blocks.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(blocks: &mut [Block; BLOCKS], x: V) {
        // SAFETY: 32 writable bytes; the store has no alignment.
        unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast(), x) }
    }

    use {
        _mm256_setzero_si256 as zero, _mm256_unpackhi_epi8 as unpack_high8,
        _mm256_unpacklo_epi8 as unpack_low8,
    };
}
