//! The compression function for ARM, four lanes.

use core::arch::aarch64::*;

use super::shared::*;
use super::{BLOCK, Half};
use crate::block::Block;

/// Bytes 16 · `group` to 16 · `group` + 15 of `input`, zeros where it has ended.
#[target_feature(enable = "neon")]
#[inline]
fn load_group(input: &[u8], group: usize) -> uint32x4_t {
    let rest = input.get(16 * group..).unwrap_or_default();
    match rest.first_chunk() {
        Some(whole) => load_block(whole),
        None => load_block(&last_bytes(input, rest.len()).to_le_bytes()),
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn load_block(block: &[u8; 16]) -> uint32x4_t {
    // SAFETY: sixteen readable bytes; the load of bytes has no alignment.
    vreinterpretq_u32_u8(unsafe { vld1q_u8(block.as_ptr()) })
}

#[target_feature(enable = "neon")]
#[inline]
fn store_block(block: &mut [u8; 16], x: uint32x4_t) {
    // SAFETY: sixteen writable bytes; the store of bytes has no alignment.
    unsafe { vst1q_u8(block.as_mut_ptr(), vreinterpretq_u8_u32(x)) }
}

#[target_feature(enable = "neon")]
#[inline]
fn zero_quad() -> uint32x4_t {
    vdupq_n_u32(0)
}

/// Four lanes.
pub(super) mod neon {
    use super::*;

    type V = uint32x4_t;
    const LANES: usize = 4;

    kernel!("neon");

    #[target_feature(enable = "neon")]
    #[inline]
    fn splat(word: u32) -> V {
        vdupq_n_u32(word)
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn numbers(words: [u32; LANES]) -> V {
        // SAFETY: four readable words.
        unsafe { vld1q_u32(words.as_ptr()) }
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn join(quads: [uint32x4_t; QUADS]) -> V {
        quads[0]
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn split(x: V) -> [uint32x4_t; QUADS] {
        [x]
    }

    /// Rotates right: whole bytes by one permutation, others by a shift and a shift that inserts.
    #[target_feature(enable = "neon")]
    #[inline]
    fn rotate<const BITS: i32>(x: V) -> V {
        const { assert!(matches!(BITS, 7 | 8 | 12 | 16), "as the rounds do") };
        match BITS {
            7 => vsriq_n_u32::<7>(vshlq_n_u32::<25>(x), x),
            8 => {
                let (low, high) = (vcreate_u8(0x0407_0605_0003_0201), vcreate_u8(0x0c0f_0e0d_080b_0a09));
                vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(x), vcombine_u8(low, high)))
            }
            12 => vsriq_n_u32::<12>(vshlq_n_u32::<20>(x), x),
            _ => vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(x))),
        }
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn unpack_low64(a: V, b: V) -> V {
        vreinterpretq_u32_u64(vzip1q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)))
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn unpack_high64(a: V, b: V) -> V {
        vreinterpretq_u32_u64(vzip2q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)))
    }

    use {vaddq_u32 as add, veorq_u32 as xor, vzip1q_u32 as unpack_low32, vzip2q_u32 as unpack_high32};
}
