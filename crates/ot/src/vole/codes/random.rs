//! A uniformly random matrix: plain LPN, with no structure to doubt, for lengths where that is affordable.
//!
//! The method of the four Russians takes eight noise words at a time: a table of their 256 sums, and one
//! look-up for each output. The matrix is public, and so are the positions looked up.
//!
//! **Distance.** The expected number of nonzero words of weight at most δN of a random code of m rows and
//! length N is (2^m - 1)·Σ_{w ≤ δN} C(N, w)·2^-N: [`log2_light_words`].

use vesica_crypto::prg::Prg;

use super::{Code, Word, log2_binomial, log2_sum};

/// Rows of a table: bits of a look-up.
const BITS: usize = 8;

/// A code drawn uniformly.
pub struct Random {
    outputs: usize,
    noise: usize,
    /// One byte for each output, for each eight positions.
    matrix: Vec<u8>,
}

impl Random {
    /// The noise length of the code with `outputs` outputs.
    #[must_use]
    pub fn noise_for(outputs: usize) -> usize {
        2 * outputs
    }

    /// The code of these outputs whose matrix is drawn from `prg`.
    #[must_use]
    pub fn new(outputs: usize, prg: &mut Prg) -> Self {
        let noise = Self::noise_for(outputs);
        let mut matrix = vec![0; noise.div_ceil(BITS) * outputs];
        prg.fill(&mut matrix);
        Self { outputs, noise, matrix }
    }
}

impl Code for Random {
    fn noise(&self) -> usize {
        self.noise
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn finish<W: Word>(&self, noise: &mut Vec<W>, _scratch: &mut Vec<W>, out: &mut Vec<W>) {
        assert_eq!(noise.len(), self.noise, "one word for each position");
        let start = out.len();
        out.resize(start + self.outputs, W::default());
        for (words, column) in noise.chunks(BITS).zip(self.matrix.chunks(self.outputs)) {
            let mut table = [W::default(); 1 << BITS];
            for (bit, word) in words.iter().enumerate() {
                for i in 0..1 << bit {
                    table[(1 << bit) + i] = table[i] ^ *word;
                }
            }
            // Missing words count as zero.
            for bit in words.len()..BITS {
                table.copy_within(..1 << bit, 1 << bit);
            }
            for (out, bits) in out[start..].iter_mut().zip(column) {
                *out ^= table[usize::from(*bits)];
            }
        }
    }
}

/// log2 of the expected number of nonzero codewords of weight at most `distance` times the length.
#[must_use]
pub fn log2_light_words(noise: usize, distance: f64) -> f64 {
    let (n, heaviest) = (noise as f64, (distance * noise as f64) as usize);
    let ball = (0..=heaviest).fold(f64::NEG_INFINITY, |sum, w| log2_sum(sum, log2_binomial(n, w as f64)));
    n / 2.0 + ball - n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplies_by_the_matrix() {
        for outputs in [1, 3, 4, 17, 100] {
            let code = Random::new(outputs, &mut Prg::from_seed([4; 16]));
            let noise: Vec<u64> = (0..code.noise() as u64).map(|i| i * 31 + 1).collect();
            let expected: Vec<u64> = (0..outputs)
                .map(|i| {
                    noise.iter().enumerate().fold(0, |sum, (j, word)| {
                        let bit = code.matrix[j / 8 * outputs + i] >> (j % 8) & 1;
                        sum ^ (word * u64::from(bit))
                    })
                })
                .collect();
            assert_eq!(crate::vole::codes::compressed(&code, &noise), expected);
        }
    }
}
