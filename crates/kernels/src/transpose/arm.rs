//! The transposition for ARM. Names of bits as in the parent module.

use core::arch::aarch64::*;

use super::{COLUMNS, Tile};
use crate::block::Block;

/// 128-bit vectors.
pub(super) mod neon {
    use super::*;

    type V = uint8x16_t;
    const BLOCKS: usize = 1;
    const STRIPE: usize = 128;
    const REVERSED: bool = false;

    kernel!("neon");

    /// Takes vectors r3 r2 of dwords b1 b0 and stores them as columns; the first is number `base`.
    #[target_feature(enable = "neon")]
    #[inline]
    fn finish(x: [V; 4], base: usize, columns: &mut [Block; STRIPE]) {
        let mut dwords = [vdupq_n_u32(0); 4];
        for i in 0..4 {
            dwords[i] = vreinterpretq_u32_u8(x[i]);
        }
        let [a, b, c, d] = dwords;
        let out = columns.as_chunks_mut::<BLOCKS>().0;
        // Dwords b0 r3, then r3 r2, of vectors b1 b0.
        let (even, odd) = (vzip1q_u32(a, c), vzip1q_u32(b, d));
        store(&mut out[base], vreinterpretq_u8_u32(vzip1q_u32(even, odd)));
        store(&mut out[base + 1], vreinterpretq_u8_u32(vzip2q_u32(even, odd)));
        let (even, odd) = (vzip2q_u32(a, c), vzip2q_u32(b, d));
        store(&mut out[base + 2], vreinterpretq_u8_u32(vzip1q_u32(even, odd)));
        store(&mut out[base + 3], vreinterpretq_u8_u32(vzip2q_u32(even, odd)));
    }

    /// Transposes the 8 × 8 bits of every quadword: 1 × 1, 2 × 2, then 4 × 4 squares change places.
    #[target_feature(enable = "neon")]
    #[inline]
    fn turn_bits(x: V) -> V {
        let x = swap_squares::<7>(vreinterpretq_u64_u8(x), 0x00aa_00aa_00aa_00aa);
        let x = swap_squares::<14>(x, 0x0000_cccc_0000_cccc);
        vreinterpretq_u8_u64(swap_squares::<28>(x, 0x0000_0000_f0f0_f0f0))
    }

    /// Exchanges each bit of `mask` with the one `BY` places above it.
    #[target_feature(enable = "neon")]
    #[inline]
    fn swap_squares<const BY: i32>(x: uint64x2_t, mask: u64) -> uint64x2_t {
        let changes = vandq_u64(veorq_u64(x, vshrq_n_u64::<BY>(x)), vdupq_n_u64(mask));
        veorq_u64(x, veorq_u64(changes, vshlq_n_u64::<BY>(changes)))
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn zero() -> V {
        vdupq_n_u8(0)
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn load(blocks: &[Block; BLOCKS]) -> V {
        // SAFETY: sixteen readable bytes; the load of bytes has no alignment.
        unsafe { vld1q_u8(blocks.as_ptr().cast()) }
    }

    #[target_feature(enable = "neon")]
    #[inline]
    fn store(blocks: &mut [Block; BLOCKS], x: V) {
        // SAFETY: sixteen writable bytes; the store of bytes has no alignment.
        unsafe { vst1q_u8(blocks.as_mut_ptr().cast(), x) }
    }

    use {vzip1q_u8 as unpack_low8, vzip2q_u8 as unpack_high8};
}
