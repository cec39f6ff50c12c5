//! Sums of values selected by the bits of a band.
//!
//! The vector kernels process one vector of table values at a time. They broadcast a word of the band, test
//! one bit a lane, which gives the mask of a vector, and add the masked vector. They shift the band so that
//! vectors begin at a cache line of the table's memory. Rows too close to an end of the table for that are
//! left to the portable form.
//!
//! Neighbouring rows select among the same values. Where there are the instructions, eight or sixteen of them are
//! handled at once: `together` and `blocks` multiply matrices of bits by GFNI, `nibbles` looks up sums of four values
//! by shuffles of bytes.

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
#[macro_use]
mod shared;
#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod blocks;
#[cfg(target_arch = "x86_64")]
mod nibbles;
#[cfg(target_arch = "x86_64")]
mod together;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

use core::ops::{BitXor, BitXorAssign};

use rand_core::CryptoRng;

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
use super::Level;
use super::pages::Zeros;
use super::{Backend, Kernels};
use crate::block::Block;

/// The kernels of an architecture that has one level.
#[cfg(target_arch = "aarch64")]
use arm::neon as single;
#[cfg(target_arch = "wasm32")]
use wasm::simd128 as single;

mod sealed {
    /// Only this module implements it: the kernels rely on what an implementation says.
    pub trait Sealed {}
}

/// A whole number of 64-bit words, added by XOR: `u64` or [`Block`].
///
/// Implementations are `WORDS` words of eight bytes and nothing else, and every pattern of bits is valid.
pub trait XorValue:
    sealed::Sealed + Zeros + Copy + Send + Sync + PartialEq + BitXor<Output = Self> + BitXorAssign + 'static
{
    /// Words of a value.
    const WORDS: usize;

    /// The zero vector.
    const ZERO: Self;

    /// Fills `values` with uniformly random ones.
    fn randomise(values: &mut [Self], rng: &mut dyn CryptoRng);
}

impl sealed::Sealed for u64 {}
impl XorValue for u64 {
    const WORDS: usize = 1;
    const ZERO: Self = 0;

    fn randomise(values: &mut [Self], rng: &mut dyn CryptoRng) {
        values.iter_mut().for_each(|value| *value = rng.next_u64());
    }
}

impl sealed::Sealed for Block {}
impl XorValue for Block {
    const WORDS: usize = 2;
    const ZERO: Self = Self::ZERO;

    fn randomise(values: &mut [Self], rng: &mut dyn CryptoRng) {
        rng.fill_bytes(Self::slice_as_mut_bytes(values));
    }
}

/// A band of 64 · N bits at a column of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BandRow<const N: usize> {
    /// The column of bit 0.
    pub start: u32,
    /// Bit b is bit b % 64 of word b / 64.
    pub band: [u64; N],
}

/// Columns that [`back_substitute`] needs behind the last band of N words.
#[must_use]
pub const fn margin(words: usize) -> usize {
    64 * words + 8
}

/// Sets `sums[i]` to the sum of the values of `table` that row i selects.
pub fn sums<V: XorValue, const N: usize>(backend: Backend, table: &[V], rows: &[BandRow<N>], sums: &mut [V]) {
    assert_eq!(rows.len(), sums.len(), "one sum a row");
    match (backend.level_for(Kernels::BandSums), V::WORDS) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        (Level::Avx512Vaes, 1) => unsafe { together::sums::<V, N, 1>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512Vaes, 2) => unsafe { together::sums::<V, N, 2>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 1) => unsafe { x86::wide::sums::<V, N, 1>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 2) if N <= nibbles::MOST_WORDS => unsafe { nibbles::sums::<V, N>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 2) => unsafe { x86::wide::sums::<V, N, 2>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 1) => unsafe { x86::narrow::sums::<V, N, 1>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 2) => unsafe { x86::narrow::sums::<V, N, 2>(table, rows, sums) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        (Level::Neon | Level::Simd128, 1) => unsafe { single::sums::<V, N, 1>(table, rows, sums) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        (Level::Neon | Level::Simd128, 2) => unsafe { single::sums::<V, N, 2>(table, rows, sums) },
        _ => rows.iter().zip(sums).for_each(|(row, sum)| *sum = selected(table, row)),
    }
}

/// Solves a triangular system in place.
pub fn back_substitute<V: XorValue, const N: usize>(backend: Backend, bands: &[[u64; N]], table: &mut [V]) {
    assert!(table.len() >= bands.len() + margin(N), "a margin behind the last band");
    match (backend.level_for(Kernels::BandSolving), V::WORDS) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        (Level::Avx512Vaes, 1) if N <= blocks::MOST_WORDS => unsafe {
            blocks::back_substitute::<V, N, 1>(bands, table);
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512Vaes, 2) if N <= blocks::MOST_WORDS => unsafe {
            blocks::back_substitute::<V, N, 2>(bands, table);
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 2) if N <= nibbles::MOST_WORDS => unsafe {
            nibbles::back_substitute::<V, N>(bands, table);
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512 | Level::Avx512Vaes, 1) => unsafe {
            x86::wide::back_substitute::<V, N, 1>(bands, table);
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512 | Level::Avx512Vaes, 2) => unsafe {
            x86::wide::back_substitute::<V, N, 2>(bands, table);
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 1) => unsafe { x86::narrow::back_substitute::<V, N, 1>(bands, table) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 2) => unsafe { x86::narrow::back_substitute::<V, N, 2>(bands, table) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        (Level::Neon | Level::Simd128, 1) => unsafe { single::back_substitute::<V, N, 1>(bands, table) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        (Level::Neon | Level::Simd128, 2) => unsafe { single::back_substitute::<V, N, 2>(bands, table) },
        _ => substitute_range(bands, table, 0..bands.len()),
    }
}

/// The sum of the values that `row` selects.
fn selected<V: XorValue, const N: usize>(table: &[V], row: &BandRow<N>) -> V {
    let window = &table[row.start as usize..][..64 * N];
    let mut sum = V::ZERO;
    for (word, values) in row.band.iter().zip(window.as_chunks::<64>().0) {
        let mut left = *word;
        while left != 0 {
            sum ^= values[left.trailing_zeros() as usize];
            left &= left - 1;
        }
    }
    sum
}

/// Solves the rows of `range`, whose windows lie within the table, from the last to the first.
fn substitute_range<V: XorValue, const N: usize>(
    bands: &[[u64; N]],
    table: &mut [V],
    range: core::ops::Range<usize>,
) {
    for column in range.rev() {
        let mut row = BandRow { start: column as u32, band: bands[column] };
        row.band[0] &= !1;
        let sum = selected(table, &row);
        table[column] ^= sum;
    }
}

#[cfg(test)]
mod tests;
