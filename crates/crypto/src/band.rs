//! Sums of values selected by the bits of a band: the linear algebra of an OKVS table.
//!
//! A table is a list of values of a vector space over GF(2), and a [`Row`] selects among `64 · N` neighbouring ones: bit b of
//! its band stands for column `start + b`. Two operations suffice to encode and to decode:
//!
//! * [`sums`]: for every row, the sum of the values that it selects;
//! * [`back_substitute`]: solves a triangular system in place, row c of which begins at column c.
//!
//! Both run in time that depends on the values of neither table nor rows but, without AVX2, on the number of ones in a band.

use core::fmt::Debug;
use core::ops::{BitXor, BitXorAssign};

use rand_core::CryptoRng;

use crate::backend::{Backend, band};
use crate::block::Block;

/// A band of 64 · N bits at a place of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row<const N: usize> {
    /// The column of bit 0.
    pub start: u32,
    /// Bit b is bit b % 64 of word b / 64.
    pub band: [u64; N],
}

/// What a table holds: a whole number of 64-bit words, added by XOR. `u64`, [`Block`], or a [`Wide`] of any width.
pub trait Value: band::Words + BitXor<Output = Self> + BitXorAssign + PartialEq {
    /// The zero vector.
    const ZERO: Self;

    /// Fills `values` with uniformly random ones.
    fn randomise(values: &mut [Self], rng: &mut dyn CryptoRng);
}

impl Value for u64 {
    const ZERO: Self = 0;

    fn randomise(values: &mut [Self], rng: &mut dyn CryptoRng) {
        values.iter_mut().for_each(|value| *value = rng.next_u64());
    }
}

impl Value for Block {
    const ZERO: Self = Self::ZERO;

    fn randomise(values: &mut [Self], rng: &mut dyn CryptoRng) {
        rng.fill_bytes(Self::slice_as_mut_bytes(values));
    }
}

/// A value of W words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Wide<const W: usize>(pub [u64; W]);

impl<const W: usize> Value for Wide<W> {
    const ZERO: Self = Self([0; W]);

    fn randomise(values: &mut [Self], rng: &mut dyn CryptoRng) {
        values.iter_mut().flat_map(|value| &mut value.0).for_each(|word| *word = rng.next_u64());
    }
}

impl<const W: usize> BitXor for Wide<W> {
    type Output = Self;

    #[inline]
    fn bitxor(mut self, other: Self) -> Self {
        self ^= other;
        self
    }
}

impl<const W: usize> BitXorAssign for Wide<W> {
    #[inline]
    fn bitxor_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word ^= other);
    }
}

/// For every row the sum of the values of `table` that it selects.
///
/// # Panics
/// If there is not one sum a row, or a row reaches beyond the table.
pub fn sums<V: Value, const N: usize>(table: &[V], rows: &[Row<N>], sums: &mut [V]) {
    sums_on(Backend::detect(), table, rows, sums);
}

/// [`sums`] computed by `backend`.
///
/// # Panics
/// As [`sums`].
pub fn sums_on<V: Value, const N: usize>(backend: Backend, table: &[V], rows: &[Row<N>], sums: &mut [V]) {
    band::sums(backend, table, rows, sums);
}

/// Columns that [`back_substitute`] wants behind the last band of N words.
#[must_use]
pub const fn margin(words: usize) -> usize {
    64 * words + 8
}

/// Solves a triangular system in place, from its last row to the first.
///
/// `bands[c]` is the row that begins at column c: bit 0 is set, and `table[c]` is the sum of the values that the row is to
/// select; or the band is zero, and `table[c]` is what the column holds. Columns behind the last band are given.
///
/// # Panics
/// If there are not [`margin`] columns behind the last band.
pub fn back_substitute<V: Value, const N: usize>(bands: &[[u64; N]], table: &mut [V]) {
    back_substitute_on(Backend::detect(), bands, table);
}

/// [`back_substitute`] computed by `backend`.
///
/// # Panics
/// As [`back_substitute`].
pub fn back_substitute_on<V: Value, const N: usize>(backend: Backend, bands: &[[u64; N]], table: &mut [V]) {
    band::back_substitute(backend, bands, table);
}
