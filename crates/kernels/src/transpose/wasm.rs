//! The transposition for WebAssembly. Names of bits as in the parent module.

use core::arch::wasm32::*;

use super::{COLUMNS, Tile};
use crate::block::Block;

/// 128-bit vectors.
pub(super) mod simd128 {
    use super::*;

    type V = v128;
    const BLOCKS: usize = 1;
    const STRIPE: usize = 128;
    const REVERSED: bool = false;

    kernel!("simd128");

    /// Takes vectors r3 r2 of dwords b1 b0 and stores them as columns; the first is number `base`.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn finish(x: [V; 4], base: usize, columns: &mut [Block; STRIPE]) {
        let [a, b, c, d] = x;
        let out = columns.as_chunks_mut::<BLOCKS>().0;
        // Dwords b0 r3, then r3 r2, of vectors b1 b0.
        let (even, odd) = (i32x4_shuffle::<0, 4, 1, 5>(a, c), i32x4_shuffle::<0, 4, 1, 5>(b, d));
        store(&mut out[base], i32x4_shuffle::<0, 4, 1, 5>(even, odd));
        store(&mut out[base + 1], i32x4_shuffle::<2, 6, 3, 7>(even, odd));
        let (even, odd) = (i32x4_shuffle::<2, 6, 3, 7>(a, c), i32x4_shuffle::<2, 6, 3, 7>(b, d));
        store(&mut out[base + 2], i32x4_shuffle::<0, 4, 1, 5>(even, odd));
        store(&mut out[base + 3], i32x4_shuffle::<2, 6, 3, 7>(even, odd));
    }

    /// Transposes the 8 × 8 bits of every quadword: 1 × 1, 2 × 2, then 4 × 4 squares change places.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn turn_bits(x: V) -> V {
        let x = swap_squares::<7>(x, 0x00aa_00aa_00aa_00aa);
        let x = swap_squares::<14>(x, 0x0000_cccc_0000_cccc);
        swap_squares::<28>(x, 0x0000_0000_f0f0_f0f0)
    }

    /// Exchanges each bit of `mask` with the one `BY` places above it.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn swap_squares<const BY: u32>(x: V, mask: u64) -> V {
        let changes = v128_and(v128_xor(x, u64x2_shr(x, BY)), u64x2_splat(mask));
        v128_xor(x, v128_xor(changes, u64x2_shl(changes, BY)))
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn zero() -> V {
        u64x2_splat(0)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn load(blocks: &[Block; BLOCKS]) -> V {
        // SAFETY: sixteen readable bytes; the load has no alignment.
        unsafe { v128_load(blocks.as_ptr().cast()) }
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn store(blocks: &mut [Block; BLOCKS], x: V) {
        // SAFETY: sixteen writable bytes; the store has no alignment.
        unsafe { v128_store(blocks.as_mut_ptr().cast(), x) }
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn unpack_low8(a: V, b: V) -> V {
        i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn unpack_high8(a: V, b: V) -> V {
        i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)
    }
}
