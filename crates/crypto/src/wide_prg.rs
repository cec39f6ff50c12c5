//! Pseudo-random generators of 256-bit strength: AES-256 in counter mode. A party's own randomness comes from
//! it at every level, and so do the columns of an OT extension at levels above 128 bits.
//!
//! ```text
//! stream(seed) = AES256_seed(0) ‖ AES256_seed(1) ‖ …      counters as 128-bit little-endian numbers
//! ```

use vesica_kernels::{Backend, aes};

use crate::block::Block;
use crate::stream::{StreamReader, serve_as_rng};

/// A stream of pseudo-random bytes from a seed of 256 bits; wiped when dropped. It has no `Clone`.
pub struct WidePrg {
    key: aes::WideKey,
    stream: StreamReader,
}

impl WidePrg {
    /// The stream of `seed`.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self::with_backend(Backend::detect(), seed)
    }

    /// The stream of `seed`, computed by `backend`.
    #[must_use]
    pub fn with_backend(backend: Backend, seed: &[u8; 32]) -> Self {
        Self { key: aes::WideKey::new(backend, seed), stream: StreamReader::new() }
    }

    /// The next bytes of the stream.
    pub fn fill(&mut self, out: &mut [u8]) {
        let Self { key, stream } = self;
        stream.fill(out, |first, blocks| key.keystream(first, blocks));
    }
}

serve_as_rng!(WidePrg);

/// The streams of several seeds, read in step. The key schedules wipe themselves when dropped.
pub struct WideStreams {
    keys: Vec<aes::WideKey>,
    counter: u64,
}

impl WideStreams {
    /// The streams of `seeds`, from their beginnings.
    #[must_use]
    pub fn from_seeds(seeds: &[[u8; 32]]) -> Self {
        Self::with_backend(Backend::detect(), seeds)
    }

    /// The streams of `seeds`, computed by `backend`.
    #[must_use]
    pub fn with_backend(backend: Backend, seeds: &[[u8; 32]]) -> Self {
        Self { keys: seeds.iter().map(|seed| aes::WideKey::new(backend, seed)).collect(), counter: 0 }
    }

    /// Fills row `i` with the next blocks of stream `i`.
    ///
    /// # Panics
    /// If there are not as many rows as streams.
    pub fn fill_rows<const BLOCKS: usize>(&mut self, rows: &mut [[Block; BLOCKS]]) {
        self.fill_rows_at(self.counter, rows);
        self.counter += BLOCKS as u64;
    }

    /// Fills row `i` with the blocks of stream `i` from number `first` on, without moving the streams.
    /// Parallel tasks use this to fill their own parts of the rows.
    ///
    /// # Panics
    /// If there are not as many rows as streams.
    pub fn fill_rows_at<const BLOCKS: usize>(&self, first: u64, rows: &mut [[Block; BLOCKS]]) {
        assert_eq!(rows.len(), self.keys.len(), "a row for each stream");
        aes::wide_keystreams(&self.keys, first, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::aes::Aes256;
    use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
    use rand_core::Rng;

    #[test]
    fn the_cipher_is_that_of_fips_197() {
        // Appendix C.3: the stream cannot reach that plaintext, so the cipher is asked.
        let key: [u8; 32] = core::array::from_fn(|i| i as u8);
        let mut block: [u8; 16] = core::array::from_fn(|i| 0x11 * i as u8);
        Aes256::new(&key.into()).encrypt_block((&mut block).into());
        assert_eq!(u128::from_be_bytes(block), 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089);
    }

    #[test]
    fn a_generator_reads_its_stream_in_pieces_of_any_length() {
        let seed = core::array::from_fn(|i| i as u8);
        let key = Aes256::new((&seed).into());
        let mut expected = Vec::new();
        for counter in 0u128..150 {
            let mut block = counter.to_le_bytes();
            key.encrypt_block((&mut block).into());
            expected.extend(block);
        }
        for backend in Backend::available() {
            let mut prg = WidePrg::with_backend(backend, &seed);
            let mut pieces = Vec::new();
            for length in [0, 1, 15, 16, 17, 256, 700, 3, 512, 800] {
                let mut piece = vec![0; length];
                prg.fill(&mut piece);
                pieces.extend(piece);
            }
            assert!(pieces == expected[..pieces.len()], "{backend:?}");
            assert_eq!(prg.next_u32().to_le_bytes(), expected[pieces.len()..][..4]);
        }
    }

    #[test]
    fn rows_are_the_next_blocks_of_each_stream() {
        let seeds = [[1; 32], [2; 32], [3; 32]];
        for backend in Backend::available() {
            let mut streams = WideStreams::with_backend(backend, &seeds);
            let (mut short, mut long) = ([[Block::ZERO; 3]; 3], [[Block::ZERO; 19]; 3]);
            streams.fill_rows(&mut short);
            streams.fill_rows(&mut long);
            for (i, seed) in seeds.iter().enumerate() {
                let key = Aes256::new(seed.into());
                for (counter, block) in (0u128..).zip(short[i].iter().chain(&long[i])) {
                    let mut expected = counter.to_le_bytes();
                    key.encrypt_block((&mut expected).into());
                    assert_eq!(block.to_bytes(), expected, "{backend:?}");
                }
            }
            let mut again = [[Block::ZERO; 19]; 3];
            streams.fill_rows_at(3, &mut again);
            assert!(again == long, "{backend:?}");
        }
    }
}
