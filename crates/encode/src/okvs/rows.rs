//! From key and seed to row.
//!
//! ```text
//! k_0, k_1, … = the stream of the seed
//! h_j(x)      = AES_{k_j}(σ(x)) ⊕ σ(x)
//! start       = ⌊(low half of h_0(x)) · starts / 2^64⌋
//! band        = h_1(x) ‖ h_2(x) ‖ …, bit 0 set
//! ```
//!
//! The bias of a start is below 2^-32.

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::band::Row;
use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;

/// Rows derived together.
pub(super) const BATCH: usize = 64;

/// The rows of all keys under a seed, with bands of 64 · N bits.
pub(super) struct Rows<const N: usize> {
    /// How many places a band may start at.
    starts: u32,
    start: FixedKey,
    bands: Vec<FixedKey>,
    /// The bits of a band that are in use: all, but in tests.
    mask: [u64; N],
}

impl<const N: usize> Rows<N> {
    pub(super) fn new(starts: u32, seed: Block) -> Self {
        let mut stream = Prg::from_seed(seed);
        let start = FixedKey::new(stream.block());
        let bands = (0..N.div_ceil(2)).map(|_| FixedKey::new(stream.block())).collect();
        Self { starts, start, bands, mask: [u64::MAX; N] }
    }

    /// The same rows cut to narrower bands, which fail more often.
    #[cfg(test)]
    pub(super) fn narrowed(mut self, width: usize) -> Self {
        self.mask = core::array::from_fn(|word| match width.saturating_sub(64 * word) {
            bits @ 0..64 => (1 << bits) - 1,
            _ => u64::MAX,
        });
        self
    }

    /// How many places a band may start at.
    pub(super) fn starts(&self) -> usize {
        self.starts as usize
    }

    /// Where the bands of keys start.
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
    pub(super) fn fill_bands(&self, keys: &[Block], rows: &mut [Row<N>]) {
        let mut hashes = [Block::ZERO; BATCH];
        let hashes = &mut hashes[..keys.len()];
        for (half, cipher) in self.bands.iter().enumerate() {
            hashes.copy_from_slice(keys);
            cipher.ccr(hashes);
            for (row, hash) in rows.iter_mut().zip(&*hashes) {
                let (low, high) = hash.to_halves();
                row.band[2 * half] = low;
                if let Some(word) = row.band.get_mut(2 * half + 1) {
                    *word = high;
                }
            }
        }
        for row in rows {
            for word in 0..N {
                row.band[word] &= self.mask[word];
            }
            row.band[0] |= 1;
        }
    }

    /// The rows of at most [`BATCH`] keys, in the memory given.
    pub(super) fn of<'a>(&self, keys: &[Block], rows: &'a mut [Row<N>; BATCH]) -> &'a mut [Row<N>] {
        let mut starts = [0; BATCH];
        let (starts, rows) = (&mut starts[..keys.len()], &mut rows[..keys.len()]);
        self.start_of(keys, starts);
        self.fill_bands(keys, rows);
        rows.iter_mut().zip(starts).for_each(|(row, start)| row.start = *start);
        rows
    }
}
