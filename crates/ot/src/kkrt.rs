//! The batched oblivious PRF of KKRT16: OT number j gives the receiver F(j, y) at one value y of its choice,
//! the sender F(j, ·) at all values.
//!
//! Kolesnikov, Kumaresan, Rosulek, Trieu, *Efficient Batched Oblivious PRF with Applications to Private Set
//! Intersection* (CCS 2016, eprint 2016/799), Figure 2. [`nco`] has the messages and the assumption on H. The
//! values are blocks, and the code is pseudo-random: C(y) = AES_{k1}(y) ‖ AES_{k2}(y) ‖ AES_{k3}(y) ‖
//! AES_{k4}(y), cut to k bits. The protocol context gives the keys, so that they are drawn after the inputs.
//!
//! **Security:** semi-honest.
//!
//! **k** is chosen so that the two codewords of any pair that matters differ in fewer than κ = 128 positions
//! with probability at most 2^-λ, λ = 40. Each value at which the sender evaluates an OT makes a pair with
//! the value that the receiver chose there. A pair fails with probability Σ_{i<128} C(k,i) · 2^-k;
//! [`columns`] gives the least sufficient multiple of eight. (For n = 2^12, 2^16, 2^20, 2^24 and three
//! evaluations an item these are 424, 432, 440, 448.) Two values of the sender in one OT need no distance of
//! κ: their inputs to H only have to differ, and are equal with probability (3/4)^k.
//!
//! Names: s = `secret`, q_j = `rows`, C = [`PseudoRandomCode`], H = the oracle "kkrt: row to output", F(j, y)
//! = H(j, q_j ⊕ s ∧ C(y)).

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use zeroize::Zeroize;

use crate::nco::{self, Code};

/// Blocks of a row.
pub const BLOCKS: usize = 4;

/// The sender's row of an OT.
pub type Row = [Block; BLOCKS];

/// The party that learns F(j, ·) at one value.
pub type Receiver = nco::Receiver<PseudoRandomCode, BLOCKS>;

/// The party that can compute F(j, ·).
pub type Sender = nco::Sender<PseudoRandomCode, BLOCKS>;

/// The widths k, and ⌊-log2⌋ of the probability that two codewords of that width differ in fewer than 128
/// positions.
const WIDTHS: [(usize, u32); 9] =
    [(400, 43), (408, 46), (416, 50), (424, 54), (432, 58), (440, 62), (448, 66), (456, 70), (464, 75)];

/// k for this many evaluations by the sender, where λ is `statistical`; none if no width suffices.
pub fn columns(evaluations: u64, statistical: u32) -> Option<usize> {
    let log2 = evaluations.max(1).checked_next_power_of_two()?.trailing_zeros();
    WIDTHS.iter().find(|(_, bits)| *bits >= statistical + log2).map(|(columns, _)| *columns)
}

/// A pseudo-random code on blocks.
pub struct PseudoRandomCode {
    keys: [FixedKey; BLOCKS],
    columns: usize,
    /// The mask of codewords: all ones, or s.
    mask: Row,
}

impl Drop for PseudoRandomCode {
    fn drop(&mut self) {
        self.mask.zeroize();
    }
}

/// Words of a call of the cipher.
const BATCH: usize = 128;

impl PseudoRandomCode {
    /// The code of this context, `columns` bits wide.
    ///
    /// # Panics
    /// If the width is none of [`columns`].
    pub fn new(context: &Context, columns: usize) -> Self {
        assert!(WIDTHS.iter().any(|(width, _)| *width == columns), "a width with a bound");
        let labels = ["kkrt: code 1", "kkrt: code 2", "kkrt: code 3", "kkrt: code 4"];
        Self {
            keys: labels.map(|label| FixedKey::of(context, Label::new(label))),
            columns,
            mask: [Block::ONES; BLOCKS],
        }
    }
}

impl Code<BLOCKS> for PseudoRandomCode {
    type Word = Block;
    const OUTPUT: Label = Label::new("kkrt: row to output");
    const BASE: Label = Label::new("kkrt: base OT");

    fn columns(&self) -> usize {
        self.columns
    }

    fn add(&self, words: &[Block], rows: &mut [Row]) {
        let mut codewords = [[Block::ZERO; BATCH]; BLOCKS];
        for (words, rows) in words.chunks(BATCH).zip(rows.chunks_mut(BATCH)) {
            for (key, blocks) in self.keys.iter().zip(&mut codewords) {
                let blocks = &mut blocks[..words.len()];
                blocks.copy_from_slice(words);
                key.permute(blocks);
            }
            for (i, row) in rows.iter_mut().enumerate() {
                for block in 0..BLOCKS {
                    row[block] ^= codewords[block][i] & self.mask[block];
                }
            }
        }
        codewords.as_flattened_mut().zeroize();
    }

    fn restrict(&mut self, s: &Row) {
        self.mask = *s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nco::tests::{check_groups, check_parties_agree, codewords, context, dealt, distance};
    use crate::security::STATISTICAL_SECURITY;
    use vesica_crypto::prg::Prg;

    /// Σ_{i<128} C(k,i) · 2^-k.
    fn close(columns: usize) -> f64 {
        let mut probability = (-(columns as f64)).exp2();
        let mut sum = 0.0;
        for i in 0..128 {
            sum += probability;
            probability *= (columns - i) as f64 / (i + 1) as f64;
        }
        sum
    }

    #[test]
    fn the_widths_are_those_of_their_bound() {
        for (columns, bits) in WIDTHS {
            assert_eq!((-close(columns).log2()).floor() as u32, bits, "{columns}");
        }
        // At the sizes of 2^12, 2^16, 2^20 and 2^24 items.
        let [a, b, c, d] = [12, 16, 20, 24].map(|log2| columns(3 << log2, STATISTICAL_SECURITY).unwrap());
        assert_eq!([a, b, c, d], [424, 432, 440, 448]);
        assert_eq!(columns(0, STATISTICAL_SECURITY), Some(400));
        assert_eq!(columns(1 << 58, STATISTICAL_SECURITY), None);
        assert_eq!(columns(u64::MAX, STATISTICAL_SECURITY), None);
    }

    #[test]
    fn codewords_are_as_far_apart_as_random_ones() {
        let mut words = vec![Block::ZERO; 2000];
        Prg::from_seed([1; 16]).fill_blocks(&mut words);
        let codewords = codewords(&PseudoRandomCode::new(&context(), 440), &words);
        let mut sum = 0;
        for pair in codewords.windows(2) {
            let distance = distance(&pair[0], &pair[1]);
            assert!(distance > 150, "{distance}");
            sum += distance;
        }
        assert!((254..258).contains(&(sum / 1999)));
    }

    #[test]
    fn the_receiver_has_the_output_at_its_value() {
        let mut words = vec![Block::ZERO; 3000];
        Prg::from_seed([2; 16]).fill_blocks(&mut words);
        for columns in [400, 440, 448, 464] {
            let code = || PseudoRandomCode::new(&context(), columns);
            check_parties_agree(code, &words, |word| word ^ Block::from(1u128));
        }
    }

    #[test]
    fn groups_are_hashed_as_their_definition_says() {
        let code = || PseudoRandomCode::new(&context(), 424);
        check_groups(code, &[1, 2, 3], |i| Block::from(i as u128), |word| !word);
    }

    #[test]
    fn outputs_are_bound_to_their_number() {
        let mut pair = dealt(|| PseudoRandomCode::new(&context(), 440));
        let (mut outputs, mut rows) = ([Block::ZERO; 100], [[Block::ZERO; 4]; 100]);
        pair.run(&[Block::ONES; 100], &mut outputs, &mut rows);
        for (i, output) in outputs.iter().enumerate() {
            assert!(outputs[..i].iter().all(|other| other != output));
        }
    }
}
