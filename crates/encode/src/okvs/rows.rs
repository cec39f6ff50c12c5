//! The row of each key, a function of the key and the seed.
//!
//! ```text
//! k_0, k_1 = the stream of the seed
//! h_j(x)   = AES_{k_j}(σ(x)) ⊕ σ(x)
//! start    = ⌊(low half of h_0(x)) · starts / 2^64⌋
//! band     = h_1(x), bit 0 set
//! ```
//!
//! The bias of a start is below 2^-32.

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::band::BandRow;
use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;

use super::parameters::WIDTH;

/// Words of a band.
pub(super) const WORDS: usize = WIDTH / u64::BITS as usize;

/// Rows that one call of a kernel takes.
pub(super) const BATCH: usize = 64;

/// A row before it is set.
pub(super) const EMPTY_ROW: BandRow<WORDS> = BandRow { start: 0, band: [0; WORDS] };

/// The rows of all keys under one seed.
pub(super) struct RowHash {
    /// How many columns a band may start at.
    starts: u32,
    start: FixedKey,
    band: FixedKey,
    /// The bits of a band that are in use: all of them, except in tests.
    mask: Block,
}

impl RowHash {
    pub(super) fn new(starts: u32, seed: Block) -> Self {
        let mut stream = Prg::from_seed(seed);
        let [start, band] = [(); 2].map(|()| FixedKey::new(stream.block()));
        Self { starts, start, band, mask: Block::ONES }
    }

    /// These rows, cut to narrower bands, which fail more often.
    #[cfg(test)]
    pub(super) fn narrowed(mut self, width: usize) -> Self {
        self.mask = Block::from(u128::MAX >> (WIDTH - width));
        self
    }

    /// How many columns a band may start at.
    pub(super) fn starts(&self) -> usize {
        self.starts as usize
    }

    /// The column at which the band of each key starts.
    pub(super) fn start_of(&self, keys: &[Block], starts: &mut [u32]) {
        let mut hashes = [Block::ZERO; BATCH];
        for (keys, starts) in keys.chunks(BATCH).zip(starts.chunks_mut(BATCH)) {
            let hashes = &mut hashes[..keys.len()];
            hashes.copy_from_slice(keys);
            self.start.ccr(hashes);
            for (start, hash) in starts.iter_mut().zip(hashes) {
                *start = ((u128::from(hash.to_halves().0) * u128::from(self.starts)) >> 64) as u32;
            }
        }
    }

    /// Sets the bands of at most [`BATCH`] keys.
    pub(super) fn fill_bands(&self, keys: &[Block], rows: &mut [BandRow<WORDS>]) {
        let mut hashes = [Block::ZERO; BATCH];
        let hashes = &mut hashes[..keys.len()];
        hashes.copy_from_slice(keys);
        self.band.ccr(hashes);
        for (row, hash) in rows.iter_mut().zip(hashes) {
            let (low, high) = (*hash & self.mask).to_halves();
            row.band = [low | 1, high];
        }
    }

    /// The rows of at most [`BATCH`] keys, in the memory given.
    pub(super) fn of<'a>(
        &self,
        keys: &[Block],
        rows: &'a mut [BandRow<WORDS>; BATCH],
    ) -> &'a mut [BandRow<WORDS>] {
        let mut starts = [0; BATCH];
        let (starts, rows) = (&mut starts[..keys.len()], &mut rows[..keys.len()]);
        self.start_of(keys, starts);
        self.fill_bands(keys, rows);
        rows.iter_mut().zip(starts).for_each(|(row, start)| row.start = *start);
        rows
    }
}
