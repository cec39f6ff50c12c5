//! Sums under a band for ARM, by vectors of two words.

use core::arch::aarch64::*;

use super::shared::*;
use super::{BandRow, XorValue};
use super::{selected, substitute_range};

/// 128-bit vectors.
pub(super) mod neon {
    use super::*;

    type V = uint64x2_t;
    const LANES: usize = 2;

    kernels!("neon");

    #[target_feature(enable = "neon")]
    #[inline]
    fn zero() -> V {
        vdupq_n_u64(0)
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn splat(word: u64) -> V {
        vdupq_n_u64(word)
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn lane_bits<const K: usize>(vector: usize) -> V {
        let [low, high]: [u64; LANES] = Lanes::<K>::BITS.as_chunks().0[vector];
        vcombine_u64(vcreate_u64(low), vcreate_u64(high))
    }

    /// Masks are vectors whose lanes are all ones or all zeros.
    #[target_feature(enable = "neon")]
    #[inline]
    fn lanes_of<const K: usize>(column: usize) -> V {
        test(splat(1 << column), lane_bits::<K>(0))
    }

    /// # Safety
    /// Sixteen readable bytes.
    #[target_feature(enable = "neon")]
    #[inline]
    unsafe fn add_where(sum: V, mask: V, place: *const u64) -> V {
        // SAFETY: of the caller.
        xor(sum, only(mask, unsafe { load(place) }))
    }

    /// # Safety
    /// Sixteen readable bytes.
    #[target_feature(enable = "neon")]
    #[inline]
    unsafe fn load(place: *const u64) -> V {
        // SAFETY: of the caller.
        unsafe { vld1q_u64(place) }
    }

    /// # Safety
    /// Sixteen writable bytes.
    #[target_feature(enable = "neon")]
    #[inline]
    unsafe fn store(place: *mut u64, x: V) {
        // SAFETY: of the caller.
        unsafe { vst1q_u64(place, x) }
    }

    /// The sum of all columns of a vector, in every column.
    #[target_feature(enable = "neon")]
    #[inline]
    fn fold<const K: usize>(x: V) -> V {
        if K == 1 { xor(x, vextq_u64::<1>(x, x)) } else { x }
    }

    use {vandq_u64 as only, veorq_u64 as xor, vtstq_u64 as test};
}
