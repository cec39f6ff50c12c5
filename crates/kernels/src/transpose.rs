//! Transposition of a tile of 128 rows and 1024 columns of bits.
//!
//! A bit's position has a row number (seven bits i6…i0), a byte number in its row (seven bits k6…k0) and a
//! bit number in its byte (b2 b1 b0). Transposing moves it to row k6…k0 b2 b1 b0, byte i6 i5 i4 i3, bit i2 i1
//! i0. Shuffles of two vectors exchange one bit of the vectors' number with one of the position inside; a
//! transposition of the 8 × 8 bits of each quadword exchanges the low three bits of the byte number with the
//! bit number. The kernels are those exchanges in an order that the instructions offer: first i2 i1 i0
//! against k3 k2 k1, then the 8 × 8 bits, then i6…i3.

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
#[macro_use]
mod shared;
#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
use super::Level;
use super::{Backend, Kernels};
use crate::block::Block;

/// The kernels of an architecture that has one level.
#[cfg(target_arch = "aarch64")]
use arm::neon as single;
#[cfg(target_arch = "wasm32")]
use wasm::simd128 as single;

/// Rows of a tile: strings.
pub const ROWS: usize = 128;

/// Columns of a tile: bits of each string.
pub const COLUMNS: usize = 1024;

/// A bit matrix by rows; bit j of row i is bit j % 128 of block j / 128.
pub type Tile = [[Block; COLUMNS / Block::BITS]; ROWS];

/// Sets bit i of `columns[j]` to bit j of row i.
pub fn transpose(backend: Backend, tile: &Tile, columns: &mut [Block; COLUMNS]) {
    match backend.level_for(Kernels::Transposition) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::transpose(tile, columns) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 => unsafe { x86::wide_shifts::transpose(tile, columns) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::transpose(tile, columns) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        Level::Neon | Level::Simd128 => unsafe { single::transpose(tile, columns) },
        _ => by_halves(tile, columns),
    }
}

/// Eklundh's method on each square of 128 × 128: exchange the off-diagonal halves, then the same within each
/// half.
fn by_halves(tile: &Tile, columns: &mut [Block; COLUMNS]) {
    for (square, columns) in columns.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
        let mut rows: [u128; ROWS] = core::array::from_fn(|i| tile[i][square].to_u128());
        // Ones in the low half of every group of 2 · half bits.
        let mut low_halves = u128::MAX;
        let mut half = 64;
        while half > 0 {
            low_halves ^= low_halves << half;
            for pair in rows.chunks_exact_mut(2 * half) {
                let (upper, lower) = pair.split_at_mut(half);
                for (upper, lower) in upper.iter_mut().zip(lower) {
                    let exchange = (*upper >> half ^ *lower) & low_halves;
                    *lower ^= exchange;
                    *upper ^= exchange << half;
                }
            }
            half /= 2;
        }
        for (column, row) in columns.iter_mut().zip(rows) {
            *column = Block::from(row);
        }
    }
}
