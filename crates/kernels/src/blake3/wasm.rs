//! The compression function for WebAssembly, four lanes.

use core::arch::wasm32::*;

use super::shared::*;
use super::{BLOCK, Half};
use crate::block::Block;

/// Bytes 16 · `group` to 16 · `group` + 15 of `input`, zeros where it has ended.
#[target_feature(enable = "simd128")]
#[inline]
fn load_group(input: &[u8], group: usize) -> v128 {
    let rest = input.get(16 * group..).unwrap_or_default();
    match rest.first_chunk() {
        Some(whole) => load_block(whole),
        None => load_block(&last_bytes(input, rest.len()).to_le_bytes()),
    }
}

#[target_feature(enable = "simd128")]
#[inline]
fn load_block(block: &[u8; 16]) -> v128 {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    unsafe { v128_load(block.as_ptr().cast()) }
}

#[target_feature(enable = "simd128")]
#[inline]
fn store_block(block: &mut [u8; 16], x: v128) {
    // SAFETY: sixteen writable bytes; the store has no alignment.
    unsafe { v128_store(block.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "simd128")]
#[inline]
fn zero_quad() -> v128 {
    u32x4_splat(0)
}

/// Four lanes.
pub(super) mod simd128 {
    use super::*;

    type V = v128;
    const LANES: usize = 4;

    kernel!("simd128");

    #[target_feature(enable = "simd128")]
    #[inline]
    fn splat(word: u32) -> V {
        u32x4_splat(word)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn numbers([a, b, c, d]: [u32; LANES]) -> V {
        u32x4(a, b, c, d)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn join(quads: [v128; QUADS]) -> V {
        quads[0]
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn split(x: V) -> [v128; QUADS] {
        [x]
    }

    /// Rotates right: whole bytes by one permutation, others by two shifts.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn rotate<const BITS: i32>(x: V) -> V {
        const { assert!(matches!(BITS, 7 | 8 | 12 | 16), "as the rounds do") };
        match BITS {
            8 => i8x16_shuffle::<1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12>(x, x),
            16 => i8x16_shuffle::<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(x, x),
            bits => v128_or(u32x4_shr(x, bits as u32), u32x4_shl(x, 32 - bits as u32)),
        }
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn unpack_low64(a: V, b: V) -> V {
        i64x2_shuffle::<0, 2>(a, b)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn unpack_high64(a: V, b: V) -> V {
        i64x2_shuffle::<1, 3>(a, b)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn unpack_low32(a: V, b: V) -> V {
        i32x4_shuffle::<0, 4, 1, 5>(a, b)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn unpack_high32(a: V, b: V) -> V {
        i32x4_shuffle::<2, 6, 3, 7>(a, b)
    }

    use {i32x4_add as add, v128_xor as xor};
}
