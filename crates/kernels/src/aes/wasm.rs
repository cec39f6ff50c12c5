//! The AES kernels for WebAssembly, which has no instruction of AES: Hamburg's permutations of vectors (CHES 2009).
//!
//! `i8x16.swizzle` looks 16 bytes up in a table of 16 at once, in constant time, and gives zero for numbers from 16 on.
//! So the inversion of SubBytes is computed over GF(16), whose elements are nibbles. A byte is x = iζ + jζ̄ with i and j
//! in GF(16), ζ + ζ̄ = 1 and ζζ̄ = ν. With k = i + j and a = 1/ν,
//!
//! ```text
//! 1/p = 1/(1/i + a/k) + j      1/q = 1/(1/j + a/k) + i      1/x = p·(ζ̄ + ν) + q·(ζ + ν)
//! ```
//!
//! where 1/0 is a number above 15, which stays one whatever is added, and whose own inverse the table has as zero: then
//! the formulas hold for every x, and 1/0 of a byte comes out as 0. The last tables multiply by the constants, and apply
//! the linear part of SubBytes. Tables are computed from these lines when this is compiled.

use core::arch::wasm32::*;

use zeroize::Zeroize;

use super::half_gates::Batch;
use super::shared::*;
use crate::block::Block;

/// Sixteen bytes, to look up by nibbles.
type Table = [u8; 16];

/// What stands for 1/0.
const INFINITE: u8 = 0x80;

/// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
const fn times(x: u8, y: u8) -> u8 {
    let (mut x, mut product, mut bit) = (x, 0, 0);
    while bit < 8 {
        if y >> bit & 1 == 1 {
            product ^= x;
        }
        x = x << 1 ^ if x >> 7 == 1 { 0x1b } else { 0 };
        bit += 1;
    }
    product
}

const fn to_the(x: u8, exponent: u32) -> u8 {
    let (mut power, mut done) = (1, 0);
    while done < exponent {
        power = times(power, x);
        done += 1;
    }
    power
}

/// ζ: the first element whose sum with its conjugate ζ̄ = ζ^16 is 1.
const ZETA: u8 = {
    let mut zeta = 1;
    while zeta ^ to_the(zeta, 16) != 1 {
        zeta += 1;
    }
    zeta
};
const CONJUGATE: u8 = ZETA ^ 1;
/// ν, an element of GF(16).
const NORM: u8 = times(ZETA, CONJUGATE);

/// The elements of GF(16) as bytes, by their nibbles: a nibble's bits are coefficients of 1, γ, γ² and γ³, where 3
/// generates all bytes but zero, and γ = 3^17.
const SUBFIELD: Table = {
    let generator = to_the(3, 17);
    let (mut elements, mut nibble) = ([0; 16], 0);
    while nibble < 16 {
        let mut bit = 0;
        while bit < 4 {
            if nibble >> bit & 1 == 1 {
                elements[nibble] ^= to_the(generator, bit as u32);
            }
            bit += 1;
        }
        nibble += 1;
    }
    elements
};

/// The nibble of an element of GF(16).
const fn nibble(element: u8) -> u8 {
    let mut nibble = 0;
    while SUBFIELD[nibble] != element {
        nibble += 1;
    }
    nibble as u8
}

/// k, and i sixteen times, of a byte x = iζ + jζ̄ = kζ + j.
const fn coordinates(x: u8) -> u8 {
    let mut k = 0;
    loop {
        let (mut j, rest) = (0, x ^ times(SUBFIELD[k], ZETA));
        while j < 16 {
            if SUBFIELD[j] == rest {
                return (k | (j ^ k) << 4) as u8;
            }
            j += 1;
        }
        k += 1;
    }
}

/// [`coordinates`] of bytes whose bits are in the nibble at `shift` alone.
const fn coordinates_of(shift: u32) -> Table {
    let (mut table, mut nibble) = ([0; 16], 0);
    while nibble < 16 {
        table[nibble] = coordinates((nibble as u8) << shift);
        nibble += 1;
    }
    table
}

/// factor/v for each nibble v.
const fn quotients(factor: u8) -> Table {
    let (mut table, mut v) = ([INFINITE; 16], 1);
    while v < 16 {
        table[v] = nibble(times(factor, to_the(SUBFIELD[v], 14)));
        v += 1;
    }
    table
}

/// The linear part of SubBytes of factor/v, for each nibble v; zero for zero.
const fn substituted(factor: u8) -> Table {
    let (mut table, mut v) = ([0; 16], 1);
    while v < 16 {
        let x = times(factor, to_the(SUBFIELD[v], 14));
        table[v] = x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4);
        v += 1;
    }
    table
}

/// 128-bit vectors.
pub(super) mod simd128 {
    use super::*;

    mod half_gates;

    pub(in super::super) use half_gates::{evaluate, evaluate_private, garble, garble_private};

    type V = v128;
    const LANES: usize = 1;
    const FLIGHT: usize = 4;

    kernels!("simd128");
    schedules!("simd128");
    children!("simd128");

    const LOW_NIBBLE: Table = coordinates_of(0);
    const HIGH_NIBBLE: Table = coordinates_of(4);
    const INVERSE: Table = quotients(1);
    const INVERSE_TIMES_A: Table = quotients(to_the(NORM, 14));
    const SUBSTITUTED_P: Table = substituted(CONJUGATE ^ NORM);
    const SUBSTITUTED_Q: Table = substituted(ZETA ^ NORM);
    /// The constant of SubBytes, which MixColumns and ShiftRows leave as it is.
    const CONSTANT: u8 = 0x63;

    /// What the table has for each byte; zero for bytes from 16 on.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn look_up(table: &Table, numbers: V) -> V {
        i8x16_swizzle(load(table), numbers)
    }

    /// SubBytes but for its [constant](CONSTANT).
    #[target_feature(enable = "simd128")]
    #[inline]
    fn substitute(x: V) -> V {
        let low_bits = u8x16_splat(0xf);
        let x = xor(look_up(&LOW_NIBBLE, and(x, low_bits)), look_up(&HIGH_NIBBLE, u8x16_shr(x, 4)));
        let (i, k) = (u8x16_shr(x, 4), and(x, low_bits));
        let j = xor(i, k);
        let a_by_k = look_up(&INVERSE_TIMES_A, k);
        let p = xor(look_up(&INVERSE, xor(look_up(&INVERSE, i), a_by_k)), j);
        let q = xor(look_up(&INVERSE, xor(look_up(&INVERSE, j), a_by_k)), i);
        xor(look_up(&SUBSTITUTED_P, p), look_up(&SUBSTITUTED_Q, q))
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn shift_rows(x: V) -> V {
        i8x16_shuffle::<0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11>(x, x)
    }

    /// A round: SubBytes, ShiftRows, MixColumns and the addition of the key.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn enc(x: V, round_key: V) -> V {
        let x = shift_rows(substitute(x));
        // 2x₀ + 3x₁ + x₂ + x₃ = 2(x₀ + x₁) + x₁ + (x₂ + x₃).
        let next = i8x16_shuffle::<1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12>(x, x);
        let pairs = xor(x, next);
        let other = i8x16_shuffle::<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(pairs, pairs);
        let pushed_out = and(i8x16_lt(pairs, i8x16_splat(0)), u8x16_splat(0x1b));
        let doubled = xor(u8x16_add(pairs, pairs), pushed_out);
        xor(xor(doubled, next), xor(other, xor(round_key, u8x16_splat(CONSTANT))))
    }

    /// The last round, which does not mix columns.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn enclast(x: V, round_key: V) -> V {
        xor(shift_rows(substitute(x)), xor(round_key, u8x16_splat(CONSTANT)))
    }

    /// The lower half of each block in both of its halves.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn in_both_halves(x: V) -> V {
        i64x2_shuffle::<0, 0>(x, x)
    }

    /// `value` where `a` and `b` are equal, elsewhere zero.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn where_equal(a: V, b: V, value: V) -> V {
        and(i64x2_eq(a, b), value)
    }

    /// The lowest bit of each block.
    #[target_feature(enable = "simd128")]
    #[inline]
    fn lowest_bits(x: [V; FLIGHT]) -> u64 {
        let mut bits = 0;
        for (i, x) in x.into_iter().enumerate() {
            bits |= (u64x2_extract_lane::<0>(x) & 1) << i;
        }
        bits
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn load(bytes: &[u8; BYTES]) -> V {
        // SAFETY: sixteen readable bytes; the load has no alignment.
        unsafe { v128_load(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn store(bytes: &mut [u8; BYTES], x: V) {
        // SAFETY: sixteen writable bytes; the store has no alignment.
        unsafe { v128_store(bytes.as_mut_ptr().cast(), x) }
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn splat(value: u128) -> V {
        u64x2(value as u64, (value >> 64) as u64)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn load_splat(block: &Block) -> V {
        load(block.as_bytes())
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn splat_words(word: i32) -> V {
        i32x4_splat(word)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn lane_numbers() -> V {
        splat(0)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn swap_halves(x: V) -> V {
        i64x2_shuffle::<1, 0>(x, x)
    }

    #[target_feature(enable = "simd128")]
    #[inline]
    fn shift_left_bytes<const BY: i32>(x: V) -> V {
        const { assert!(BY == 4 || BY == 8, "as the key schedule does") };
        let zero = splat(0);
        if BY == 4 { i32x4_shuffle::<0, 4, 5, 6>(zero, x) } else { i64x2_shuffle::<0, 2>(zero, x) }
    }

    use {i8x16_swizzle as shuffle_bytes, i64x2_add as add64, v128_and as and, v128_xor as xor};
}
