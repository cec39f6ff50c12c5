//! Multiplication in GF(2^128) for x86-64, one, two or four elements to a vector.

use core::arch::x86_64::*;

use super::shared::*;
use crate::block::Block;

/// The product of two elements.
#[target_feature(enable = "pclmulqdq,avx2")]
pub(super) fn single(x: Block, y: Block) -> Block {
    let mut product = [x];
    narrow::multiply(&mut product, &[y]);
    product[0]
}

/// 128-bit vectors.
pub(super) mod narrow {
    use super::*;

    type V = __m128i;
    const LANES: usize = 1;

    kernels!("pclmulqdq,avx2");

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(blocks: &[Block; LANES]) -> V {
        // SAFETY: sixteen readable bytes; the load has no alignment.
        unsafe { _mm_loadu_si128(blocks.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(blocks: &mut [Block; LANES], x: V) {
        // SAFETY: sixteen writable bytes; the store has no alignment.
        unsafe { _mm_storeu_si128(blocks.as_mut_ptr().cast(), x) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn splat(block: Block) -> V {
        load(&[block])
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn swap_halves(x: V) -> V {
        _mm_shuffle_epi32::<0x4e>(x)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_table(table: &[Block; 8]) -> [V; 8] {
        let mut loaded = [_mm_setzero_si128(); 8];
        for (loaded, entry) in loaded.iter_mut().zip(table) {
            *loaded = splat(*entry);
        }
        loaded
    }

    /// The entry that three bits of the number select, by halving the table three times.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn select(table: &[V; 8], number: &[u32; LANES], shift: u32) -> V {
        let bits = u64::from(number[0]) >> shift;
        let mask = |bit: u32| _mm_set1_epi64x((bits >> bit & 1).wrapping_neg() as i64);
        let (first, second, third) = (mask(0), mask(1), mask(2));
        let pair = |i: usize| _mm_blendv_epi8(table[i], table[i + 1], first);
        let four = |i: usize| _mm_blendv_epi8(pair(i), pair(i + 2), second);
        _mm_blendv_epi8(four(0), four(4), third)
    }

    use {
        _mm_and_si128 as and, _mm_andnot_si128 as and_not, _mm_clmulepi64_si128 as multiply_halves,
        _mm_xor_si128 as xor,
    };
}

/// 256-bit vectors.
pub(super) mod middle {
    use super::*;

    type V = __m256i;
    const LANES: usize = 2;

    kernels!("vpclmulqdq,avx2");

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(blocks: &[Block; LANES]) -> V {
        // SAFETY: 32 readable bytes; the load has no alignment.
        unsafe { _mm256_loadu_si256(blocks.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(blocks: &mut [Block; LANES], x: V) {
        // SAFETY: 32 writable bytes; the store has no alignment.
        unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast(), x) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn splat(block: Block) -> V {
        load(&[block; LANES])
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn swap_halves(x: V) -> V {
        _mm256_shuffle_epi32::<0x4e>(x)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_table(table: &[Block; 8]) -> [V; 8] {
        let mut loaded = [_mm256_setzero_si256(); 8];
        for (loaded, entry) in loaded.iter_mut().zip(table) {
            *loaded = splat(*entry);
        }
        loaded
    }

    /// The entries that three bits of each number select, by halving the table three times.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn select(table: &[V; 8], numbers: &[u32; LANES], shift: u32) -> V {
        // The highest of the three bits at the top of every 64 bits; blends look at no other bit.
        let [low, high] = numbers.map(|number| (u64::from(number) >> shift << 61) as i64);
        let third = _mm256_set_epi64x(high, high, low, low);
        let (second, first) = (_mm256_slli_epi64::<1>(third), _mm256_slli_epi64::<2>(third));
        let pair = |i: usize| blend(table[i], table[i + 1], first);
        let four = |i: usize| blend(pair(i), pair(i + 2), second);
        blend(four(0), four(4), third)
    }

    /// `one` in the halves of a block whose mask has the highest bit set, elsewhere `zero`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn blend(zero: V, one: V, mask: V) -> V {
        let (zero, one) = (_mm256_castsi256_pd(zero), _mm256_castsi256_pd(one));
        _mm256_castpd_si256(_mm256_blendv_pd(zero, one, _mm256_castsi256_pd(mask)))
    }

    use {
        _mm256_and_si256 as and, _mm256_andnot_si256 as and_not, _mm256_clmulepi64_epi128 as multiply_halves,
        _mm256_xor_si256 as xor,
    };
}

/// 512-bit vectors.
pub(super) mod wide {
    use super::*;

    type V = __m512i;
    const LANES: usize = 4;

    kernels!("vpclmulqdq,avx512f,avx512bw");

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(blocks: &[Block; LANES]) -> V {
        // SAFETY: 64 readable bytes; the load has no alignment.
        unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(blocks: &mut [Block; LANES], x: V) {
        // SAFETY: 64 writable bytes; the store has no alignment.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), x) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn splat(block: Block) -> V {
        load(&[block; LANES])
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn swap_halves(x: V) -> V {
        _mm512_shuffle_epi32::<0x4e>(x)
    }

    /// The lower halves of the entries, and their upper halves.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load_table(table: &[Block; 8]) -> [V; 2] {
        let mut halves = [[0; 8]; 2];
        for (i, entry) in table.iter().enumerate() {
            let (low, high) = entry.to_halves();
            (halves[0][i], halves[1][i]) = (low as i64, high as i64);
        }
        let [low, high] = halves;
        // SAFETY: 64 readable bytes each; the loads have no alignment.
        unsafe { [_mm512_loadu_si512(low.as_ptr().cast()), _mm512_loadu_si512(high.as_ptr().cast())] }
    }

    /// The entries that three bits of each number select: a permutation of the sixteen halves in registers.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn select([low, high]: &[V; 2], numbers: &[u32; LANES], shift: u32) -> V {
        // SAFETY: sixteen readable bytes; the load has no alignment.
        let numbers = unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) };
        let twice = _mm512_setr_epi32(0, 0, 0, 0, 1, 0, 1, 0, 2, 0, 2, 0, 3, 0, 3, 0);
        let numbers = _mm512_maskz_permutexvar_epi32(0x5555, twice, _mm512_castsi128_si512(numbers));
        let bits = _mm512_srl_epi64(numbers, _mm_cvtsi32_si128(shift as i32));
        let upper_half = splat(Block::from_halves(0, 8));
        let index = _mm512_or_si512(_mm512_and_si512(bits, _mm512_set1_epi64(7)), upper_half);
        _mm512_permutex2var_epi64(*low, index, *high)
    }

    use {
        _mm512_and_si512 as and, _mm512_andnot_si512 as and_not, _mm512_clmulepi64_epi128 as multiply_halves,
        _mm512_xor_si512 as xor,
    };
}
