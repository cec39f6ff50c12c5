//! Sums of many pseudo-random strings, weighted by the bits of their numbers.
//!
//! For strings r_0, …, r_{2^k-1}, these are the sum ⊕_x r_x and, for each bit b < k, the sum of the strings
//! whose number x has that bit. At each bit of the strings, the k weighted sums together are an element of
//! the field of 2^k elements: Σ x·r_x. A vector oblivious linear evaluation over a small field consists of
//! these sums. Addition in the field takes no multiplication, and the strings are added up as they are
//! generated.

use vesica_kernels::{Backend, weighted_xor_sum as kernels};

use crate::block::Block;

pub use kernels::{BLOCKS, TileRow};

/// The strings of 2^k seeds, each the stream of [`Prg::from_seed`](crate::prg::Prg::from_seed); wiped when
/// dropped.
pub struct SeedStreams {
    keys: kernels::Keys,
}

impl SeedStreams {
    /// The strings of `seeds`.
    ///
    /// # Panics
    /// If the number of seeds is not 2^k with k from 2 to 8.
    #[must_use]
    pub fn new(seeds: &[Block]) -> Self {
        Self::with_backend(Backend::detect(), seeds)
    }

    /// [`new`](Self::new), added up by `backend`.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[must_use]
    pub fn with_backend(backend: Backend, seeds: &[Block]) -> Self {
        assert!(seeds.len().is_power_of_two() && (4..=256).contains(&seeds.len()), "4 to 256 strings");
        Self { keys: kernels::Keys::new(backend, seeds) }
    }

    /// How many bits number a string.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.keys.count().ilog2() as usize
    }

    /// Sets `sum` to the sum of the blocks from `first` on of all strings, and `weighted[b]` to that of the
    /// strings whose number has bit b.
    ///
    /// # Panics
    /// If there is not one weighted sum for each bit.
    pub fn sum_at(&self, first: u64, sum: &mut TileRow, weighted: &mut [TileRow]) {
        assert_eq!(weighted.len(), self.bits(), "one sum for each bit");
        self.keys.sum_at(first, sum, weighted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;

    #[test]
    fn sums_follow_their_formulas() {
        for backend in Backend::available() {
            for bits in 2..=8 {
                let seeds: Vec<Block> = (0..1u128 << bits).map(|x| Block::from(77 * x + 5)).collect();
                let strings = SeedStreams::with_backend(backend, &seeds);
                assert_eq!(strings.bits(), bits);
                let (mut sum, mut weighted) = ([Block::ONES; BLOCKS], vec![[Block::ONES; BLOCKS]; bits]);
                let (mut expected, mut weights) = ([Block::ZERO; BLOCKS], vec![[Block::ZERO; BLOCKS]; bits]);
                strings.sum_at(3, &mut sum, &mut weighted);
                for (x, seed) in seeds.iter().enumerate() {
                    let mut stream = [Block::ZERO; BLOCKS + 3];
                    Prg::from_seed(*seed).fill_blocks(&mut stream);
                    for (i, block) in stream[3..].iter().enumerate() {
                        expected[i] ^= *block;
                        (0..bits).filter(|bit| x >> bit & 1 == 1).for_each(|bit| weights[bit][i] ^= *block);
                    }
                }
                assert!(sum == expected && weighted == weights, "{backend:?}, {bits} bits");
            }
        }
    }
}
