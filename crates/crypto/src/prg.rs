//! Pseudo-random generator: AES-128 in counter mode, keyed with the seed.
//!
//! Both parties expand shared seeds, so the output is part of the specification:
//!
//! ```text
//! stream(seed)      = AES_seed(0) ‖ AES_seed(1) ‖ AES_seed(2) ‖ …      counters as 128-bit little-endian numbers
//! fork(seed, index) = stream(AES_seed(index + 2^64))
//! ```
//!
//! A stream ends before its counter reaches 2^64, so the stream of a seed and its forks never use the same
//! counter. One seed may therefore be expanded and forked, and the outputs are independent pseudo-random
//! strings. Parallel code forks one stream per fixed-size chunk, so its result does not depend on the number
//! of threads.

use rand_core::CryptoRng;
use vesica_kernels::{Backend, aes};
use zeroize::Zeroize;

use crate::block::Block;
use crate::stream::{StreamReader, serve_as_rng};

/// High half of the counters that derive forks.
const FORK: u64 = 1;

/// A stream of pseudo-random bytes; wiped when dropped. It has no `Clone`: a clone would repeat the stream.
pub struct Prg {
    key: aes::Key,
    stream: StreamReader,
}

impl Prg {
    /// The stream of `seed`.
    #[must_use]
    pub fn from_seed(seed: impl Into<Block>) -> Self {
        Self::with_backend(Backend::detect(), seed)
    }

    /// The stream of `seed`, computed by `backend`.
    #[must_use]
    pub fn with_backend(backend: Backend, seed: impl Into<Block>) -> Self {
        let mut seed = seed.into();
        let key = aes::Key::new(backend, &seed);
        seed.zeroize();
        Self { key, stream: StreamReader::new() }
    }

    /// The stream of a seed drawn from `rng`.
    #[must_use]
    pub fn from_rng<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        Self::from_seed(Block::random(rng))
    }

    /// Stream number `index` of `seed`, independent of all others and of the stream of the seed itself.
    #[must_use]
    pub fn fork(seed: impl Into<Block>, index: u64) -> Self {
        let mut seed = seed.into();
        let mut child = [Block::from_halves(index, FORK)];
        aes::Key::new(Backend::detect(), &seed).encrypt(&mut child);
        let fork = Self::from_seed(child[0]);
        child.zeroize();
        seed.zeroize();
        fork
    }

    /// The next bytes of the stream.
    pub fn fill(&mut self, out: &mut [u8]) {
        let Self { key, stream } = self;
        stream.fill(out, |first, blocks| key.keystream(first, blocks));
    }

    /// The next blocks of the stream; equal to [`fill`](Self::fill) on their bytes.
    pub fn fill_blocks(&mut self, out: &mut [Block]) {
        self.fill(Block::slice_as_mut_bytes(out));
    }

    /// The next block of the stream.
    #[must_use]
    pub fn block(&mut self) -> Block {
        let mut block = Block::ZERO;
        self.fill(block.as_mut_bytes());
        block
    }
}

/// Streams of many seeds, read in step. An OT extension fills the rows of a bit matrix from them.
pub struct Streams {
    keys: Vec<aes::Key>,
    counter: u64,
}

impl Streams {
    /// The streams of `seeds`, each equal to [`Prg::from_seed`] of its seed.
    #[must_use]
    pub fn from_seeds(seeds: &[Block]) -> Self {
        Self::with_backend(Backend::detect(), seeds)
    }

    /// The streams of `seeds`, computed by `backend`.
    #[must_use]
    pub fn with_backend(backend: Backend, seeds: &[Block]) -> Self {
        Self { keys: seeds.iter().map(|seed| aes::Key::new(backend, seed)).collect(), counter: 0 }
    }

    /// Fills row i with the next blocks of stream i.
    ///
    /// # Panics
    /// If there are not as many rows as streams.
    pub fn fill_rows<const BLOCKS: usize>(&mut self, rows: &mut [[Block; BLOCKS]]) {
        self.fill_rows_at(self.counter, rows);
        self.counter += BLOCKS as u64;
    }

    /// Fills row i with the blocks of stream i from number `first` on, without moving the streams. Parallel
    /// tasks use this to fill their own parts of the rows.
    ///
    /// # Panics
    /// If there are not as many rows as streams.
    pub fn fill_rows_at<const BLOCKS: usize>(&self, first: u64, rows: &mut [[Block; BLOCKS]]) {
        assert_eq!(rows.len(), self.keys.len(), "one row per stream");
        aes::keystreams(&self.keys, first, rows);
    }
}

serve_as_rng!(Prg);

#[cfg(test)]
mod tests {
    use super::*;
    use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
    use rand_core::Rng;

    fn reference(seed: [u8; 16], counter: u128) -> [u8; 16] {
        let mut block = counter.to_le_bytes();
        ::aes::Aes128::new(&seed.into()).encrypt_block((&mut block).into());
        block
    }

    #[test]
    fn the_stream_is_aes_of_a_little_endian_counter() {
        let seed = *b"vesica prg seed!";
        let mut stream = vec![0; 16 * 700];
        for backend in Backend::available() {
            Prg::with_backend(backend, seed).fill(&mut stream);
            for (i, block) in stream.as_chunks::<16>().0.iter().enumerate() {
                assert_eq!(*block, reference(seed, i as u128), "{backend:?}");
            }
        }
    }

    #[test]
    fn aes_is_that_of_fips_197() {
        // Appendix C.1: the seed is the key, and the stream cannot reach that plaintext, so the cipher is
        // asked.
        let key: [u8; 16] = core::array::from_fn(|i| i as u8);
        let plain = u128::from_be_bytes(core::array::from_fn(|i| 0x11 * i as u8)).swap_bytes();
        assert_eq!(u128::from_be_bytes(reference(key, plain)), 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a);
        // The first block under the zero key (NIST AESAVS, KAT with zero key and zero text).
        let first = Prg::from_seed(Block::ZERO).block();
        assert_eq!(u128::from_be_bytes(first.to_bytes()), 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e);
    }

    #[test]
    fn the_stream_does_not_depend_on_how_it_is_read() {
        let seed = [7; 16];
        let mut whole = vec![0; 5000];
        Prg::from_seed(seed).fill(&mut whole);
        let mut prg = Prg::from_seed(seed);
        let mut pieces = Vec::new();
        for length in [0, 1, 3, 15, 16, 17, 255, 256, 257, 511, 512, 1000, 1, 2156] {
            let mut piece = vec![0; length];
            prg.fill(&mut piece);
            pieces.extend(piece);
        }
        assert_eq!(pieces, whole);
    }

    #[test]
    fn words_are_the_next_bytes_little_endian() {
        let mut bytes = [0; 28];
        Prg::from_seed([1; 16]).fill(&mut bytes);
        let mut prg = Prg::from_seed([1; 16]);
        assert_eq!(prg.next_u32().to_le_bytes(), bytes[..4]);
        assert_eq!(prg.next_u64().to_le_bytes(), bytes[4..12]);
        assert_eq!(prg.block().to_bytes(), bytes[12..28]);
    }

    #[test]
    fn forks_are_streams_of_their_own() {
        let seed = [3; 16];
        let child = reference(seed, 5 + (1 << 64));
        assert_eq!(Prg::fork(seed, 5).block(), Prg::from_seed(child).block());
        let firsts = [
            Prg::from_seed(seed).block(),
            Prg::fork(seed, 0).block(),
            Prg::fork(seed, 1).block(),
            Prg::fork(seed, u64::MAX).block(),
        ];
        for (i, a) in firsts.iter().enumerate() {
            assert!(firsts[..i].iter().all(|b| a != b));
        }
    }

    #[test]
    fn streams_in_step_are_the_streams_of_their_seeds() {
        let seeds: Vec<Block> = (0..5u128).map(Block::from).collect();
        for backend in Backend::available() {
            let mut streams = Streams::with_backend(backend, &seeds);
            let (mut short, mut long) = ([[Block::ZERO; 3]; 5], [[Block::ZERO; 37]; 5]);
            streams.fill_rows(&mut short);
            streams.fill_rows(&mut long);
            for (i, seed) in seeds.iter().enumerate() {
                let mut expected = [Block::ZERO; 40];
                Prg::from_seed(*seed).fill_blocks(&mut expected);
                assert!(short[i] == expected[..3] && long[i] == expected[3..], "{backend:?}");
            }
            let mut again = [[Block::ZERO; 37]; 5];
            streams.fill_rows_at(3, &mut again);
            assert!(again == long, "{backend:?}");
        }
    }

    #[test]
    fn serves_as_the_rng_of_others() {
        let rng: &mut dyn CryptoRng = &mut Prg::from_seed([9; 16]);
        let drawn = Block::random(rng);
        assert_eq!(drawn, Prg::from_seed([9; 16]).block());
        let _ = Prg::from_rng(rng);
    }
}
