//! Rows of bits from one stream for each column, a tile at a time.

use vesica_crypto::block::Block;
use vesica_crypto::prg::Streams;
use vesica_crypto::transpose::{COLUMNS as TILE, ROWS, Tile, transpose};
use zeroize::Zeroize;

/// A stream for each column, read by rows.
pub(super) struct Columns<const W: usize> {
    /// The streams of 128 columns each, and of the remaining ones.
    blocks: Vec<Streams>,
    count: usize,
}

impl<const W: usize> Columns<W> {
    pub(super) fn new(seeds: &[Block]) -> Self {
        assert!(seeds.len() <= W * ROWS, "at most 128 columns a block");
        Self { blocks: seeds.chunks(ROWS).map(Streams::from_seeds).collect(), count: seeds.len() }
    }

    /// The rows of a tile, as a list for each of their blocks.
    pub(super) fn tile(&self, tile: u64, bits: &mut Tile, rows: &mut [[Block; TILE]]) {
        for (block, rows) in rows.iter_mut().enumerate() {
            let Some(streams) = self.blocks.get(block) else {
                rows.fill(Block::ZERO);
                continue;
            };
            let (used, unused) = bits.split_at_mut((self.count - block * ROWS).min(ROWS));
            streams.fill_rows_at(tile * (TILE / Block::BITS) as u64, used);
            unused.as_flattened_mut().fill(Block::ZERO);
            transpose(bits, rows);
        }
    }
}

/// The memory in which a task makes its tiles, one after the other; wiped when dropped.
pub(super) struct Scratch<const W: usize> {
    pub(super) bits: Box<Tile>,
    /// The rows of the first stream of each column, and of the second: a list for each block of the rows.
    pub(super) rows: [Vec<[Block; TILE]>; 2],
}

impl<const W: usize> Scratch<W> {
    pub(super) fn new() -> Self {
        Self {
            bits: Box::new([[Block::ZERO; TILE / Block::BITS]; ROWS]),
            rows: [0, 1].map(|_| vec![[Block::ZERO; TILE]; W]),
        }
    }
}

impl<const W: usize> Drop for Scratch<W> {
    fn drop(&mut self) {
        self.bits.as_flattened_mut().zeroize();
        self.rows.iter_mut().for_each(|rows| rows.as_flattened_mut().zeroize());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::prg::Prg;

    #[test]
    fn streams_of_a_tile_are_transposed() {
        let seeds: Vec<Block> = (0..200u128).map(Block::from).collect();
        let columns = Columns::<2>::new(&seeds);
        let Scratch { bits, rows: [rows, _] } = &mut Scratch::<2>::new();
        columns.tile(3, bits, rows);
        for (i, seed) in seeds.iter().enumerate() {
            let mut stream = vec![Block::ZERO; 4 * 8];
            Prg::from_seed(*seed).fill_blocks(&mut stream);
            for (j, row) in rows[i / 128].iter().enumerate() {
                assert_eq!(row.bit(i % 128), stream[24 + j / 128].bit(j % 128));
            }
        }
        assert!(rows[1].iter().all(|row| row.to_u128() >> 72 == 0));
    }
}
