//! Expand-convolute: sparse random sums behind a convolution with random taps.
//!
//! Source: Raghuraman, Rindal, Tanguy, *Expand-Convolute Codes for Pseudorandom Correlation Generators from
//! LPN* (eprint 2023/882), §3 and §4, with a regular expander. A message of m bits is *expanded*: each of its
//! ones adds one to a uniform position of each of e regions of M positions. It is then *convolved*: from the
//! last position to the first, a random selection of the [`MEMORY`] bits behind a bit is added to it. The
//! code has length N = e·M.
//!
//! The encoder here is the transposed one, from noise to outputs. Every word is added to a random selection
//! of the 32 words behind it, and an output is the sum of one word of each region. Nothing is stored: taps
//! and positions come from generators, in tiles.
//!
//! **Distance.** [`log2_light_words`] bounds the expected number of words of weight up to δN over the choice
//! of positions and taps, as [`accumulate`](super::accumulate) does for its family. The paper proves the
//! distance asymptotically and leaves the lengths in use to estimates. Drafts certify distance 0.11 for
//! regular expanders (of weight 10, memory 15).

mod distance;

use vesica_crypto::block::Block;
use vesica_crypto::convolve::MEMORY;
use vesica_crypto::prg::Prg;

pub use distance::log2_light_words;

use super::{Code, Word};

/// Positions convolved, or outputs summed, with the randomness that is drawn at once.
const TILE: usize = 1 << 10;

/// A code drawn from the family.
pub struct Convolute {
    outputs: usize,
    regions: usize,
    /// Positions of a region.
    region: usize,
    taps: Block,
    positions: Block,
}

impl Convolute {
    /// The noise length of the code with `outputs` outputs and `regions` regions.
    #[must_use]
    pub fn noise_for(outputs: usize, regions: usize) -> usize {
        (2 * outputs).div_ceil(regions) * regions
    }

    /// The code of these outputs whose expander has a position in each of `regions` regions, drawn from
    /// `prg`.
    ///
    /// # Panics
    /// If there are no regions, or 2^31 outputs or more.
    #[must_use]
    pub fn new(outputs: usize, regions: usize, prg: &mut Prg) -> Self {
        assert!(regions > 0 && outputs < 1 << 31, "positions are drawn by 32 bits");
        let region = Self::noise_for(outputs, regions) / regions;
        Self { outputs, regions, region, taps: prg.block(), positions: prg.block() }
    }

    /// The position of each output of a tile in a region.
    fn positions(&self, tile: usize, region: usize, positions: &mut [u32; TILE]) {
        draw(self.positions, tile * self.regions + region, positions);
        for position in positions {
            *position = ((u64::from(*position) * self.region as u64) >> u32::BITS) as u32;
        }
    }
}

impl Code for Convolute {
    fn noise(&self) -> usize {
        self.regions * self.region
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn finish<W: Word>(&self, noise: &mut Vec<W>, _scratch: &mut Vec<W>, out: &mut Vec<W>) {
        assert_eq!(noise.len(), self.noise(), "one word for each position");
        let mut drawn = [0; TILE];
        for (tile, start) in (0..noise.len()).step_by(TILE).enumerate() {
            draw(self.taps, tile, &mut drawn);
            let count = TILE.min(noise.len() - start);
            let end = noise.len().min(start + TILE + MEMORY);
            W::convolve(&mut noise[start..end], &drawn[..count]);
        }
        let first = out.len();
        out.resize(first + self.outputs, W::default());
        for (tile, sums) in out[first..].chunks_mut(TILE).enumerate() {
            for (number, region) in noise.chunks_exact(self.region).enumerate() {
                self.positions(tile, number, &mut drawn);
                for (sum, position) in sums.iter_mut().zip(&drawn) {
                    *sum ^= region[*position as usize];
                }
            }
        }
    }
}

/// Random words, number `tile` of them.
fn draw(seed: Block, tile: usize, words: &mut [u32; TILE]) {
    let mut bytes = [0; 4 * TILE];
    Prg::fork(seed, tile as u64).fill(&mut bytes);
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed<W: Word + PartialEq>(code: &Convolute, noise: &[W]) -> Vec<W> {
        crate::vole::codes::compressed(code, noise)
    }

    /// Taps and positions, as the definition of the code has them.
    fn drawn(code: &Convolute) -> (Vec<u32>, Vec<Vec<usize>>) {
        let (mut taps, mut positions, mut words) = (Vec::new(), Vec::new(), [0; TILE]);
        for tile in 0..code.noise().div_ceil(TILE) {
            draw(code.taps, tile, &mut words);
            taps.extend_from_slice(&words);
        }
        for tile in 0..code.outputs.div_ceil(TILE) {
            let mut columns = vec![Vec::new(); TILE];
            for region in 0..code.regions {
                code.positions(tile, region, &mut words);
                let positions = words.iter().map(|position| region * code.region + *position as usize);
                columns.iter_mut().zip(positions).for_each(|(column, position)| column.push(position));
            }
            positions.extend(columns);
        }
        (taps, positions)
    }

    /// Encodes a message: the generator, not transposed.
    fn encoded(code: &Convolute, message: &[bool]) -> Vec<bool> {
        let (taps, positions) = drawn(code);
        let mut word = vec![false; code.noise()];
        for (_, positions) in message.iter().zip(&positions).filter(|(bit, _)| **bit) {
            positions.iter().for_each(|position| word[*position] ^= true);
        }
        for position in (0..word.len()).rev() {
            for b in (0..MEMORY).filter(|b| position + 1 + b < code.noise()) {
                word[position] ^= taps[position] >> b & 1 == 1 && word[position + 1 + b];
            }
        }
        word
    }

    #[test]
    fn is_the_transposed_of_its_definition() {
        for (outputs, regions) in [(1, 1), (5, 3), (100, 7), (1024, 10), (2500, 9)] {
            let code = Convolute::new(outputs, regions, &mut Prg::from_seed([3; 16]));
            assert_eq!(code.noise(), Convolute::noise_for(outputs, regions));
            assert!(code.noise() >= 2 * outputs);
            let mut prg = Prg::from_seed([4; 16]);
            let noise: Vec<u64> = (0..code.noise()).map(|_| prg.block().to_halves().0).collect();
            let out = compressed(&code, &noise);
            assert_eq!(out.len(), outputs);
            // <message, G·noise> = <word of the message, noise> for each bit plane.
            for _ in 0..20 {
                let message: Vec<bool> = (0..outputs).map(|_| prg.block().bit(0)).collect();
                let sum = |bits: &[bool], words: &[u64]| {
                    bits.iter().zip(words).filter(|(bit, _)| **bit).fold(0, |sum, (_, word)| sum ^ word)
                };
                assert_eq!(sum(&message, &out), sum(&encoded(&code, &message), &noise));
            }
        }
    }

    #[test]
    fn is_linear_and_the_same_for_every_word() {
        let code = Convolute::new(3000, 10, &mut Prg::from_seed([8; 16]));
        let mut prg = Prg::from_seed([9; 16]);
        let [a, b]: [Vec<Block>; 2] =
            core::array::from_fn(|_| (0..code.noise()).map(|_| prg.block()).collect());
        let both: Vec<Block> = a.iter().zip(&b).map(|(a, b)| *a ^ *b).collect();
        let [a_out, b_out, both_out] = [&a, &b, &both].map(|words| compressed(&code, words));
        for i in 0..3000 {
            assert!(both_out[i] == a_out[i] ^ b_out[i]);
        }
        let low: Vec<u64> = a.iter().map(|block| block.to_halves().0).collect();
        for (low, block) in compressed(&code, &low).iter().zip(&a_out) {
            assert_eq!(*low, block.to_halves().0);
        }
    }

    #[test]
    fn positions_are_uniform_in_each_region() {
        let code = Convolute::new(16_384, 10, &mut Prg::from_seed([5; 16]));
        let (_, positions) = drawn(&code);
        for region in 0..10 {
            // Sixteen parts of a region, 1023 degrees of freedom in all regions but 15 here: 37.7 once in a
            // thousand.
            let mut counts = [0f64; 16];
            for positions in &positions[..16_384] {
                counts[(positions[region] - region * code.region) * 16 / code.region] += 1.0;
            }
            let chi: f64 = counts.iter().map(|count| (count - 1024.0).powi(2) / 1024.0).sum();
            assert!(chi < 45.0, "{region}: {chi}");
        }
    }

    #[test]
    fn light_words_are_bounded() {
        // All words of small codes, weighed: on average over codes no more than the bound says, and not far
        // fewer.
        let (outputs, regions, heaviest) = (12, 3, 5);
        let code = |seed: u64| Convolute::new(outputs, regions, &mut Prg::fork([6; 16], seed));
        let (mut light, codes) = (0u32, 300);
        for seed in 0..codes {
            let code = code(seed);
            let columns: Vec<Vec<bool>> = (0..outputs)
                .map(|i| encoded(&code, &(0..outputs).map(|j| i == j).collect::<Vec<_>>()))
                .collect();
            let columns: Vec<u32> = columns
                .iter()
                .map(|word| word.iter().enumerate().fold(0, |bits, (i, bit)| bits | u32::from(*bit) << i))
                .collect();
            for message in 1..1u32 << outputs {
                let word =
                    (0..outputs).filter(|i| message >> i & 1 == 1).fold(0, |word, i| word ^ columns[i]);
                light += u32::from(word.count_ones() <= heaviest);
            }
        }
        let bound = log2_light_words(outputs, regions, (f64::from(heaviest) + 0.5) / 24.0);
        let seen = (f64::from(light) / codes as f64).log2();
        assert!(seen <= bound + 0.1, "{seen} against {bound}");
        assert!(seen >= bound - 8.0, "{seen} against {bound}");
    }
}
