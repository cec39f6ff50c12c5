//! Sums of values selected by the bits of a band.
//!
//! The vector kernels treat a vector of table values at a time: a word of the band is broadcast, a test against one bit a
//! lane makes the mask of a vector, and the masked vector is added. The band is shifted so that vectors begin where the
//! table's memory has the boundary of a cache line; rows too close to an end of the table for that are left to the
//! portable form.

#[cfg(target_arch = "x86_64")]
mod together;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::Backend;
#[cfg(target_arch = "x86_64")]
use super::Level;
use super::pages::Zeros;
use crate::band::{Row, Value, Wide, margin};
use crate::block::Block;

mod sealed {
    /// Kept here, for the kernels trust in what implementations say.
    pub trait Sealed {}
}

/// Plain words in memory.
///
/// Implementations are `WORDS` words of eight bytes and nothing else, and every pattern of bits is valid.
pub trait Words: sealed::Sealed + Zeros + Copy + Send + Sync + 'static {
    /// Words of a value.
    const WORDS: usize;
}

impl sealed::Sealed for u64 {}
impl Words for u64 {
    const WORDS: usize = 1;
}

impl sealed::Sealed for Block {}
impl Words for Block {
    const WORDS: usize = 2;
}

impl<const W: usize> sealed::Sealed for Wide<W> {}
impl<const W: usize> Words for Wide<W> {
    const WORDS: usize = W;
}

/// For every row the sum of the values of `table` that it selects.
pub(crate) fn sums<V: Value, const N: usize>(backend: Backend, table: &[V], rows: &[Row<N>], sums: &mut [V]) {
    assert_eq!(rows.len(), sums.len(), "one sum a row");
    match (backend.level(), V::WORDS) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        (Level::Avx512, 1) => unsafe { together::sums::<V, N, 1>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 2) => unsafe { together::sums::<V, N, 2>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 4) => unsafe { x86::wide::sums::<V, N, 4>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 1) => unsafe { x86::narrow::sums::<V, N, 1>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 2) => unsafe { x86::narrow::sums::<V, N, 2>(table, rows, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 4) => unsafe { x86::narrow::sums::<V, N, 4>(table, rows, sums) },
        _ => rows.iter().zip(sums).for_each(|(row, sum)| *sum = selected(table, row)),
    }
}

/// Solves a triangular system in place.
pub(crate) fn back_substitute<V: Value, const N: usize>(
    backend: Backend,
    bands: &[[u64; N]],
    table: &mut [V],
) {
    assert!(table.len() >= bands.len() + margin(N), "a margin behind the last band");
    match (backend.level(), V::WORDS) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        (Level::Avx512, 1) => unsafe { x86::wide::back_substitute::<V, N, 1>(bands, table) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 2) => unsafe { x86::wide::back_substitute::<V, N, 2>(bands, table) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx512, 4) => unsafe { x86::wide::back_substitute::<V, N, 4>(bands, table) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 1) => unsafe { x86::narrow::back_substitute::<V, N, 1>(bands, table) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 2) => unsafe { x86::narrow::back_substitute::<V, N, 2>(bands, table) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (Level::Avx2, 4) => unsafe { x86::narrow::back_substitute::<V, N, 4>(bands, table) },
        _ => substitute_range(bands, table, 0..bands.len()),
    }
}

/// The sum of the values that `row` selects.
fn selected<V: Value, const N: usize>(table: &[V], row: &Row<N>) -> V {
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
fn substitute_range<V: Value, const N: usize>(
    bands: &[[u64; N]],
    table: &mut [V],
    range: core::ops::Range<usize>,
) {
    for column in range.rev() {
        let mut row = Row { start: column as u32, band: bands[column] };
        row.band[0] &= !1;
        let sum = selected(table, &row);
        table[column] ^= sum;
    }
}

#[cfg(test)]
mod tests;
