//! 1-out-of-N OT for N ≤ 256, on random strings of 128 bits: KK13.
//!
//! Kolesnikov, Kumaresan, *Improved OT Extension for Transferring Short Secrets* (CRYPTO 2013), Figure 1, with random strings
//! in place of chosen ones, as PSSZ15 §3.5.2 and §8 use it. [`coded`] has the messages and what H must withstand.
//!
//! The code is the Walsh–Hadamard code of length 256: bit i of C(w) is the inner product of the bits of i and w. Two
//! codewords differ in exactly 128 places, so κ = 128, with 256 base OTs and 32 bytes an OT. Fewer values than 256 are
//! the first N codewords; nothing gets shorter by it.
//!
//! Names: the characteristic string s = `secret`, rows q_j = `rows`, C(w) = [`WalshHadamard`], H = the oracle
//! "kk13: row to string". Semi-honest.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use zeroize::Zeroize;

use crate::coded::{self, Code};

/// N: values to choose from in one OT.
pub const VALUES: usize = 256;

/// Bits of a codeword, and base OTs.
pub const COLUMNS: usize = 256;

/// What the sender keeps of an OT.
pub type Row = [Block; COLUMNS / Block::BITS];

/// Learns one string of each OT.
pub type Receiver = coded::Receiver<WalshHadamard, { COLUMNS / Block::BITS }>;

/// Can compute every string of each OT.
pub type Sender = coded::Sender<WalshHadamard, { COLUMNS / Block::BITS }>;

/// The Walsh–Hadamard code of length 256, as a table of its words. Which of them is read tells the value to who can watch this
/// process's memory accesses; it is the reader's own.
pub struct WalshHadamard {
    codewords: Box<[Row; VALUES]>,
}

impl Drop for WalshHadamard {
    fn drop(&mut self) {
        // Restricted, they have s in them.
        self.codewords.as_flattened_mut().zeroize();
    }
}

impl Default for WalshHadamard {
    fn default() -> Self {
        let mut codewords = Box::new([[Block::ZERO; 2]; VALUES]);
        for (word, codeword) in codewords.iter_mut().enumerate() {
            for (i, byte) in Block::slice_as_mut_bytes(codeword).iter_mut().enumerate() {
                *byte = (0..8).map(|b| ((((8 * i + b) & word).count_ones() & 1) as u8) << b).sum();
            }
        }
        Self { codewords }
    }
}

impl Code<2> for WalshHadamard {
    type Word = u8;
    const OUTPUT: Label = Label::new("kk13: row to string");
    const BASE: Label = Label::new("kk13: base OT");

    fn columns(&self) -> usize {
        COLUMNS
    }

    #[inline]
    fn add(&self, words: &[u8], rows: &mut [Row]) {
        for (word, row) in words.iter().zip(rows) {
            let codeword = &self.codewords[usize::from(*word)];
            row[0] ^= codeword[0];
            row[1] ^= codeword[1];
        }
    }

    fn add_to(&self, size: usize, rows: &[Row], at: &[u32], words: &[u8], inputs: &mut [Row]) {
        // In one pass: both tables stay in the cache.
        for ((at, words), inputs) in
            at.iter().zip(words.chunks_exact(size)).zip(inputs.chunks_exact_mut(size))
        {
            let rows = &rows[*at as usize..][..size];
            for c in 0..size {
                let codeword = &self.codewords[usize::from(words[c])];
                inputs[c] = [rows[c][0] ^ codeword[0], rows[c][1] ^ codeword[1]];
            }
        }
    }

    fn restrict(&mut self, s: &Row) {
        for codeword in &mut *self.codewords {
            codeword[0] &= s[0];
            codeword[1] &= s[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coded::testing::{check_groups, check_parties_agree, dealt, distance};

    #[test]
    fn any_two_codewords_differ_in_half_of_the_places() {
        let code = WalshHadamard::default();
        for a in 0..VALUES {
            for b in 0..a {
                assert_eq!(distance(&code.codewords[a], &code.codewords[b]), 128);
            }
        }
        assert_eq!(code.codewords[0], [Block::ZERO; 2]);
        // Bit i of C(1) is the lowest bit of i.
        assert_eq!(code.codewords[1][0].to_bytes(), [0b1010_1010; 16]);
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
        let mut pair = dealt(WalshHadamard::default, 1);
        let mut strings = [Block::ZERO; 3];
        let mut rows = [[Block::ZERO; 2]; 3];
        pair.run(&[7, 0, 255], &mut strings, &mut rows);
        for (row, word) in (0..).zip([7usize, 0, 255]) {
            let mut all = [Block::ZERO; VALUES];
            pair.sender.evaluate(0, &rows, &[row; VALUES], &(0..=255).collect::<Vec<u8>>(), &mut all);
            for (i, string) in all.iter().enumerate() {
                assert!(all[..i].iter().all(|other| other != string));
                assert_eq!(*string == strings[row as usize], i == word);
            }
        }
    }
}
