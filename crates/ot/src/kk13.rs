//! 1-out-of-N OT for N ≤ 256, on random strings of 128 bits: KK13.
//!
//! Kolesnikov, Kumaresan, *Improved OT Extension for Transferring Short Secrets* (CRYPTO 2013), Figure 1,
//! with random strings in place of chosen ones, as PSSZ15 §3.5.2 and §8 use it. [`nco`] has the messages and
//! the assumption on H.
//!
//! The code is the Walsh–Hadamard code of length 256: bit i of C(w) is the inner product of the bits of i and
//! w. Two codewords differ in exactly 128 positions, so κ = 128, with 256 base OTs and 32 bytes an OT. Fewer
//! values than 256 take the first N codewords, at the same cost. For κ = 80 there is a shorter code,
//! [`Concatenated`].
//!
//! **Security:** semi-honest.
//!
//! Names: the characteristic string s = `secret`, rows q_j = `rows`, C(w) = [`WalshHadamard`], H = the oracle
//! "kk13: row to string".

mod level80;

use vesica_crypto::block::Block;
use vesica_crypto::hadamard;
use vesica_crypto::hash::Label;
use zeroize::Zeroize;

use crate::nco::{self, Code};

pub use level80::Concatenated;

/// N: values to choose from in one OT.
pub const VALUES: usize = 256;

/// Bits of a codeword, and base OTs.
pub const COLUMNS: usize = 256;

/// Bits of a codeword, and base OTs, at level 80 or 128.
#[must_use]
pub const fn columns(level: u32) -> usize {
    if level <= 80 { level80::COLUMNS } else { COLUMNS }
}

/// The sender's row of an OT.
pub type Row = [Block; COLUMNS / Block::BITS];

/// The party that learns one string of each OT.
pub type Receiver = nco::Receiver<WalshHadamard, { COLUMNS / Block::BITS }>;

/// The party that can compute every string of each OT.
pub type Sender = nco::Sender<WalshHadamard, { COLUMNS / Block::BITS }>;

/// The Walsh–Hadamard code of length 256. A codeword is computed from its word without a branch or an index:
/// words are items, and memory accesses must not reveal them.
pub struct WalshHadamard {
    /// The mask of codewords: all ones, or s.
    mask: Row,
}

impl Drop for WalshHadamard {
    fn drop(&mut self) {
        self.mask.zeroize();
    }
}

impl Default for WalshHadamard {
    fn default() -> Self {
        Self { mask: [Block::ONES; 2] }
    }
}

impl Code<2> for WalshHadamard {
    type Word = u8;
    const OUTPUT: Label = Label::new("kk13: row to string");
    const BASE: Label = Label::new("kk13: base OT");

    fn columns(&self) -> usize {
        COLUMNS
    }

    fn add(&self, words: &[u8], rows: &mut [Row]) {
        hadamard::add(&self.mask, words, rows);
    }

    fn add_to(&self, size: usize, rows: &[Row], at: &[u32], words: &[u8], inputs: &mut [Row]) {
        for (at, inputs) in at.iter().zip(inputs.chunks_exact_mut(size)) {
            let rows = &rows[*at as usize..][..size];
            #[expect(clippy::manual_memcpy, reason = "a call for each group takes longer than its few rows")]
            for c in 0..size {
                inputs[c] = rows[c];
            }
        }
        self.add(words, inputs);
    }

    fn restrict(&mut self, s: &Row) {
        self.mask = *s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nco::NcoSender;
    use crate::nco::tests::{check_groups, check_parties_agree, codewords, dealt, distance};

    #[test]
    fn any_two_codewords_differ_in_half_of_the_positions() {
        let codewords = codewords(&WalshHadamard::default(), &(0..=255).collect::<Vec<u8>>());
        for a in 0..VALUES {
            for b in 0..a {
                assert_eq!(distance(&codewords[a], &codewords[b]), 128);
            }
        }
        assert_eq!(codewords[0], [Block::ZERO; 2]);
        // Bit i of C(1) is the lowest bit of i.
        assert_eq!(codewords[1][0].to_bytes(), [0b1010_1010; 16]);
    }

    #[test]
    fn the_receiver_has_the_string_of_its_value() {
        let words: Vec<u8> = (0..5000u32).map(|i| (i * 37 % 256) as u8).collect();
        check_parties_agree(WalshHadamard::default, &words, |word| word.wrapping_add(1));
    }

    #[test]
    fn groups_are_hashed_as_their_definition_says() {
        let word = |i: usize| (i * 37 % 256) as u8;
        check_groups(WalshHadamard::default, &[1, 2, 3, 4, 7, 8, 9, 16, 17, 32], word, |word| word ^ 0x81);
    }

    #[test]
    fn all_strings_of_an_ot_differ_and_one_is_the_receivers() {
        let mut pair = dealt(WalshHadamard::default);
        let mut strings = [Block::ZERO; 3];
        let mut rows = [[Block::ZERO; 2]; 3];
        pair.run(&[7, 0, 255], &mut strings, &mut rows);
        for (row, word) in (0..).zip([7usize, 0, 255]) {
            let mut all = [Block::ZERO; VALUES];
            pair.sender.evaluate_groups(
                1,
                0,
                &rows,
                &[row; VALUES],
                &(0..=255).collect::<Vec<u8>>(),
                &mut all,
            );
            for (i, string) in all.iter().enumerate() {
                assert!(all[..i].iter().all(|other| other != string));
                assert_eq!(*string == strings[row as usize], i == word);
            }
        }
    }
}
