//! Transposes bit matrices of 128 rows, one tile of 1024 columns at a time.
//!
//! An OT extension holds 128 pseudo-random strings and wants 128 bits for each OT. Generating a tile of the
//! strings and transposing it while it is in the first-level cache costs a fraction of transposing the whole
//! matrix afterwards.

use vesica_kernels::{Backend, transpose as kernels};

use crate::block::Block;

pub use kernels::{COLUMNS, ROWS, Tile};

/// Sets bit i of `columns[j]` to bit j of row i.
#[inline]
pub fn transpose(tile: &Tile, columns: &mut [Block; COLUMNS]) {
    transpose_on(Backend::detect(), tile, columns);
}

/// [`transpose`] computed by `backend`.
#[inline]
pub fn transpose_on(backend: Backend, tile: &Tile, columns: &mut [Block; COLUMNS]) {
    kernels::transpose(backend, tile, columns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;

    #[test]
    fn every_bit_finds_its_place() {
        let mut tile = [[Block::ZERO; 8]; ROWS];
        Prg::from_seed([1; 16]).fill_blocks(tile.as_flattened_mut());
        for backend in Backend::available() {
            let mut columns = [Block::ZERO; COLUMNS];
            transpose_on(backend, &tile, &mut columns);
            for (i, row) in tile.iter().enumerate() {
                for (j, column) in columns.iter().enumerate() {
                    assert_eq!(column.bit(i), row[j / 128].bit(j), "{backend:?}, row {i}, column {j}");
                }
            }
        }
    }
}
