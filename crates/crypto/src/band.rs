//! Sums of values selected by the bits of a band: the linear algebra of an OKVS table.
//!
//! A table is a list of values of a vector space over GF(2), and a [`BandRow`] selects among `64 · N` neighbouring ones: bit b of
//! its band stands for column `start + b`. Two operations suffice to encode and to decode:
//!
//! * [`sums`]: for every row, the sum of the values that it selects;
//! * [`back_substitute`]: solves a triangular system in place, row c of which begins at column c.
//!
//! Both run in time that depends on the values of neither table nor rows but, without AVX2, on the number of ones in a band.

use crate::backend::{Backend, band as kernels};

pub use kernels::{BandRow, XorValue, margin};

/// For every row the sum of the values of `table` that it selects.
///
/// # Panics
/// If there is not one sum a row, or a row reaches beyond the table.
pub fn sums<V: XorValue, const N: usize>(table: &[V], rows: &[BandRow<N>], sums: &mut [V]) {
    sums_on(Backend::detect(), table, rows, sums);
}

/// [`sums`] computed by `backend`.
///
/// # Panics
/// As [`sums`].
pub fn sums_on<V: XorValue, const N: usize>(
    backend: Backend,
    table: &[V],
    rows: &[BandRow<N>],
    sums: &mut [V],
) {
    kernels::sums(backend, table, rows, sums);
}

/// Solves a triangular system in place, from its last row to the first.
///
/// `bands[c]` is the row that begins at column c: bit 0 is set, and `table[c]` is the sum of the values that the row is to
/// select; or the band is zero, and `table[c]` is what the column holds. Columns behind the last band are given.
///
/// # Panics
/// If there are not [`margin`] columns behind the last band.
pub fn back_substitute<V: XorValue, const N: usize>(bands: &[[u64; N]], table: &mut [V]) {
    back_substitute_on(Backend::detect(), bands, table);
}

/// [`back_substitute`] computed by `backend`.
///
/// # Panics
/// As [`back_substitute`].
pub fn back_substitute_on<V: XorValue, const N: usize>(
    backend: Backend,
    bands: &[[u64; N]],
    table: &mut [V],
) {
    kernels::back_substitute(backend, bands, table);
}
