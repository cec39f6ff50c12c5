//! The AES kernels for ARM with its cryptography extension: 128-bit vectors, eight blocks in flight.
//!
//! `AESE` adds a round key before the substitution, where the instruction of x86-64 adds one at the end of a round. A
//! round is therefore `AESE` with zero, `AESMC` and an addition, which the compiler moves into the next `AESE`.

use core::arch::aarch64::*;

use zeroize::Zeroize;

use super::half_gates::Batch;
use super::shared::*;
use crate::block::Block;

/// 128-bit vectors.
pub(super) mod neon {
    use super::*;

    mod half_gates;

    pub(in super::super) use half_gates::{evaluate, evaluate_private, garble, garble_private};

    type V = uint8x16_t;
    const LANES: usize = 1;
    const FLIGHT: usize = 8;

    kernels!("neon,aes");
    schedules!("neon,aes");
    children!("neon,aes");

    #[target_feature(enable = "neon,aes")]
    #[inline]
    fn enc(x: V, round_key: V) -> V {
        xor(vaesmcq_u8(vaeseq_u8(x, splat(0))), round_key)
    }

    /// The last round, which does not mix columns.
    #[target_feature(enable = "neon,aes")]
    #[inline]
    fn enclast(x: V, round_key: V) -> V {
        xor(vaeseq_u8(x, splat(0)), round_key)
    }

    /// The lower half of each block in both of its halves.
    #[target_feature(enable = "neon")]
    #[inline]
    fn in_both_halves(x: V) -> V {
        vreinterpretq_u8_u64(vdupq_laneq_u64::<0>(vreinterpretq_u64_u8(x)))
    }

    /// `value` where `a` and `b` are equal, elsewhere zero.
    #[target_feature(enable = "neon")]
    #[inline]
    fn where_equal(a: V, b: V, value: V) -> V {
        let equal = vceqq_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b));
        and(vreinterpretq_u8_u64(equal), value)
    }

    /// The lowest bit of each block.
    #[target_feature(enable = "neon")]
    #[inline]
    fn lowest_bits(x: [V; FLIGHT]) -> u64 {
        // The first bytes of two blocks side by side, then those of four, then of all eight.
        let mut pairs = [vdupq_n_u16(0); 4];
        for i in 0..4 {
            pairs[i] = vreinterpretq_u16_u8(vzip1q_u8(x[2 * i], x[2 * i + 1]));
        }
        let low = vreinterpretq_u32_u16(vzip1q_u16(pairs[0], pairs[1]));
        let high = vreinterpretq_u32_u16(vzip1q_u16(pairs[2], pairs[3]));
        let bytes = vget_low_u8(vreinterpretq_u8_u32(vzip1q_u32(low, high)));
        let bits = vshl_u8(vand_u8(bytes, vdup_n_u8(1)), vcreate_s8(0x0706_0504_0302_0100));
        u64::from(vaddv_u8(bits))
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn load(bytes: &[u8; BYTES]) -> V {
        // SAFETY: sixteen readable bytes; the load has no alignment.
        unsafe { vld1q_u8(bytes.as_ptr()) }
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn store(bytes: &mut [u8; BYTES], x: V) {
        // SAFETY: sixteen writable bytes; the store has no alignment.
        unsafe { vst1q_u8(bytes.as_mut_ptr(), x) }
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn splat(value: u128) -> V {
        vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(value as u64), vcreate_u64((value >> 64) as u64)))
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn load_splat(block: &Block) -> V {
        load(block.as_bytes())
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn splat_words(word: i32) -> V {
        vreinterpretq_u8_s32(vdupq_n_s32(word))
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn lane_numbers() -> V {
        splat(0)
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn swap_halves(x: V) -> V {
        vextq_u8::<8>(x, x)
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn shift_left_bytes<const BY: i32>(x: V) -> V {
        const { assert!(BY == 4 || BY == 8, "as the key schedule does") };
        if BY == 4 { vextq_u8::<12>(splat(0), x) } else { vextq_u8::<8>(splat(0), x) }
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn add64(a: V, b: V) -> V {
        vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)))
    }

    use {vandq_u8 as and, veorq_u8 as xor, vqtbl1q_u8 as shuffle_bytes};
}
