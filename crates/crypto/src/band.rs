//! Sums of values selected by the bits of a band: the linear algebra of an OKVS table.
//!
//! A table is a list of values of a vector space over GF(2). A [`BandRow`] selects some of `64 · N`
//! neighbouring values: bit b of its band stands for column `start + b`. Two operations suffice to encode and
//! to decode:
//!
//! * [`sums`]: for every row, the sum of the values that it selects;
//! * [`back_substitute`]: solves a triangular system in place, whose row c begins at column c.
//!
//! The time of both does not depend on the values of the table. It depends on where rows start, and for some rows (for all
//! of them on processors without vectors of 256 bits) on the number of ones in a band.

use vesica_kernels::{Backend, band as kernels};

pub use kernels::{BandRow, XorValue, margin};

/// Sets `sums[i]` to the sum of the values of `table` that row i selects.
///
/// # Panics
/// If the numbers of rows and sums differ, or a row reaches beyond the table.
#[inline]
pub fn sums<V: XorValue, const N: usize>(table: &[V], rows: &[BandRow<N>], sums: &mut [V]) {
    sums_on(Backend::detect(), table, rows, sums);
}

/// [`sums`] computed by `backend`.
///
/// # Panics
/// As [`sums`].
#[inline]
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
/// `bands[c]` is the row that begins at column c: its bit 0 is set, and `table[c]` is the sum of the values
/// that the row must select. If the band is zero, `table[c]` is the value of the column. Columns behind the
/// last band are given.
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
