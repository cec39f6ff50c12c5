//! Sums under a band for WebAssembly, by vectors of two words.

use core::arch::wasm32::*;

use super::shared::*;
use super::{BandRow, XorValue};
use super::{selected, substitute_range};

/// 128-bit vectors.
pub(super) mod simd128 {
    use super::*;

    type V = v128;
    const LANES: usize = 2;

    kernels!("simd128");

    #[target_feature(enable = "simd128")]
    #[inline]
    fn zero() -> V {
        splat(0)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn splat(word: u64) -> V {
        u64x2_splat(word)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn lane_bits<const K: usize>(vector: usize) -> V {
        let [low, high]: [u64; LANES] = Lanes::<K>::BITS.as_chunks().0[vector];
        u64x2(low, high)
    }

    /// Masks are vectors whose lanes are all ones or all zeros.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn test(x: V, bits: V) -> V {
        i64x2_ne(v128_and(x, bits), zero())
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn lanes_of<const K: usize>(column: usize) -> V {
        test(splat(1 << column), lane_bits::<K>(0))
    }

    /// # Safety
    /// Sixteen readable bytes.
    #[target_feature(enable = "simd128")]
    #[inline]
    unsafe fn add_where(sum: V, mask: V, place: *const u64) -> V {
        // SAFETY: of the caller.
        xor(sum, only(mask, unsafe { load(place) }))
    }

    /// # Safety
    /// Sixteen readable bytes.
    #[target_feature(enable = "simd128")]
    #[inline]
    unsafe fn load(place: *const u64) -> V {
        // SAFETY: of the caller.
        unsafe { v128_load(place.cast()) }
    }

    /// # Safety
    /// Sixteen writable bytes.
    #[target_feature(enable = "simd128")]
    #[inline]
    unsafe fn store(place: *mut u64, x: V) {
        // SAFETY: of the caller.
        unsafe { v128_store(place.cast(), x) }
    }

    /// The sum of all columns of a vector, in every column.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn fold<const K: usize>(x: V) -> V {
        if K == 1 { xor(x, i64x2_shuffle::<1, 0>(x, x)) } else { x }
    }

    use {v128_and as only, v128_xor as xor};
}
