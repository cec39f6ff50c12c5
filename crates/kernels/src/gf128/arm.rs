//! Multiplication in GF(2^128) for ARM with PMULL, one element to a vector.

use core::arch::aarch64::*;

use super::shared::*;
use crate::block::Block;

/// What does not fill vectors of several elements; here nothing is left over.
use neon as narrow;

/// The product of two elements.
#[target_feature(enable = "neon,aes")]
pub(super) fn single(x: Block, y: Block) -> Block {
    let mut product = [x];
    neon::multiply(&mut product, &[y]);
    product[0]
}

/// 128-bit vectors.
pub(super) mod neon {
    use super::*;

    type V = uint64x2_t;
    const LANES: usize = 1;

    kernels!("neon,aes");

    /// The product of a half of `x` and a half of `y`: the upper one of `x` if bit 0 of `HALVES` is set, the upper one
    /// of `y` if bit 4 is.
    #[target_feature(enable = "neon,aes")]
    #[inline]
    fn multiply_halves<const HALVES: i32>(x: V, y: V) -> V {
        if HALVES == 0x11 {
            return vreinterpretq_u64_p128(vmull_high_p64(
                vreinterpretq_p64_u64(x),
                vreinterpretq_p64_u64(y),
            ));
        }
        let x = if HALVES & 0x01 == 0 { vgetq_lane_u64::<0>(x) } else { vgetq_lane_u64::<1>(x) };
        let y = if HALVES & 0x10 == 0 { vgetq_lane_u64::<0>(y) } else { vgetq_lane_u64::<1>(y) };
        vreinterpretq_u64_p128(vmull_p64(x, y))
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn load(blocks: &[Block; LANES]) -> V {
        // SAFETY: sixteen readable bytes; the load of bytes has no alignment.
        vreinterpretq_u64_u8(unsafe { vld1q_u8(blocks.as_ptr().cast()) })
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn store(blocks: &mut [Block; LANES], x: V) {
        // SAFETY: sixteen writable bytes; the store of bytes has no alignment.
        unsafe { vst1q_u8(blocks.as_mut_ptr().cast(), vreinterpretq_u8_u64(x)) }
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn splat(block: Block) -> V {
        let (low, high) = block.to_halves();
        vcombine_u64(vcreate_u64(low), vcreate_u64(high))
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn swap_halves(x: V) -> V {
        vextq_u64::<1>(x, x)
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn load_table(table: &[Block; 8]) -> [V; 8] {
        let mut loaded = [vdupq_n_u64(0); 8];
        for i in 0..8 {
            loaded[i] = splat(table[i]);
        }
        loaded
    }

    /// The entry that three bits of the number select, by halving the table three times.
    #[target_feature(enable = "neon")]
    #[inline]
    fn select(table: &[V; 8], number: &[u32; LANES], shift: u32) -> V {
        let bits = u64::from(number[0]) >> shift;
        let first = vdupq_n_u64((bits & 1).wrapping_neg());
        let second = vdupq_n_u64((bits >> 1 & 1).wrapping_neg());
        let third = vdupq_n_u64((bits >> 2 & 1).wrapping_neg());
        let mut fours = [vdupq_n_u64(0); 2];
        for i in 0..2 {
            let low = vbslq_u64(first, table[4 * i + 1], table[4 * i]);
            let high = vbslq_u64(first, table[4 * i + 3], table[4 * i + 2]);
            fours[i] = vbslq_u64(second, high, low);
        }
        vbslq_u64(third, fours[1], fours[0])
    }

    /// `x` outside of `mask`.
    #[target_feature(enable = "neon")]
    #[inline]
    fn and_not(mask: V, x: V) -> V {
        vbicq_u64(x, mask)
    }

    use {vandq_u64 as and, veorq_u64 as xor};
}
