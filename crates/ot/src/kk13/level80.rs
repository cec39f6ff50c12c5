//! The code of 1-out-of-256 OT for κ = 80: 165 positions, of which any two codewords differ in at least 80.
//!
//! PSZ14 has figures for 80 bits; the Walsh–Hadamard code would pay for 128. A word is two elements a, b of
//! GF(16), the line a + b·x. The line is evaluated at eleven points x (a Reed–Solomon code): two lines meet
//! in at most one point, so ten of the eleven values differ. A value is encoded as its inner products with
//! the fifteen words of four bits other than 0 (the simplex code): two different values differ in eight of
//! them. Ten times eight is 80. Griesmer's bound requires 161 positions.
//!
//! A row has 168 bits, which are whole bytes; the last three are 0 in every codeword. So there are 168 base
//! OTs and 21 bytes an OT. Level 128 has 256 and 32.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use zeroize::Zeroize;

use super::Row;
use crate::nco::Code;

/// Bits of a codeword in whole bytes, and base OTs.
pub(super) const COLUMNS: usize = 168;

/// Points at which a line is evaluated.
const POINTS: u8 = 11;

/// The code, by the codewords of single bits. A codeword is computed without a branch or an index that
/// depends on its word.
pub struct Concatenated {
    /// The codeword of each bit, or that codeword masked by s.
    of_bits: [Row; 8],
}

impl Drop for Concatenated {
    fn drop(&mut self) {
        self.of_bits.zeroize();
    }
}

impl Default for Concatenated {
    fn default() -> Self {
        Self { of_bits: std::array::from_fn(|bit| codeword(1 << bit)) }
    }
}

/// The product in GF(16), modulo x^4 + x + 1.
const fn product(a: u8, b: u8) -> u8 {
    let (mut product, mut a, mut bit) = (0, a, 0);
    while bit < 4 {
        if b >> bit & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ if a >> 3 & 1 == 1 { 0b1_0011 } else { 0 };
        bit += 1;
    }
    product
}

/// C(w), by its definition; for public words.
fn codeword(word: u8) -> Row {
    let mut bits = [0u128; 2];
    let positions = (0..POINTS).flat_map(|x| (1u8..16).map(move |inner| (x, inner)));
    for (position, (x, inner)) in positions.enumerate() {
        let value = word & 15 ^ product(word >> 4, x);
        let bit = u128::from((value & inner).count_ones() & 1);
        bits[position / Block::BITS] |= bit << (position % Block::BITS);
    }
    bits.map(Block::from)
}

impl Code<2> for Concatenated {
    type Word = u8;
    const OUTPUT: Label = Label::new("kk13: row to string, level 80");
    const BASE: Label = Label::new("kk13: base OT, level 80");

    fn columns(&self) -> usize {
        COLUMNS
    }

    fn add(&self, words: &[u8], rows: &mut [Row]) {
        for (word, row) in words.iter().zip(rows) {
            for (bit, codeword) in self.of_bits.iter().enumerate() {
                let mask = Block::mask(word >> bit & 1 == 1);
                row[0] ^= codeword[0] & mask;
                row[1] ^= codeword[1] & mask;
            }
        }
    }

    fn restrict(&mut self, s: &Row) {
        for codeword in &mut self.of_bits {
            *codeword = [codeword[0] & s[0], codeword[1] & s[1]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nco::tests::{check_groups, check_parties_agree, codewords, distance};

    #[test]
    fn any_two_codewords_differ_in_80_places_or_more() {
        let all: Vec<u8> = (0..=255).collect();
        let codewords = codewords(&Concatenated::default(), &all);
        let pairs = (0..256).flat_map(|a| (0..a).map(move |b| (a, b)));
        let least = pairs.map(|(a, b)| distance(&codewords[a], &codewords[b])).min();
        assert_eq!(least, Some(80));
        assert!(codewords.iter().all(|codeword| codeword[1].to_u128() >> (165 - 128) == 0));
        assert!(all.iter().zip(&codewords).all(|(word, codeword)| super::codeword(*word) == *codeword));
    }

    #[test]
    fn products_are_those_of_a_field() {
        for a in 1..16 {
            let mut seen: Vec<u8> = (0..16).map(|b| product(a, b)).collect();
            assert!((0..16).all(|b| product(a, b) == product(b, a)));
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..16), "{a} has an inverse");
        }
    }

    #[test]
    fn the_receiver_has_the_string_of_its_value() {
        let words: Vec<u8> = (0..5000u32).map(|i| (i * 37 % 256) as u8).collect();
        check_parties_agree(Concatenated::default, &words, |word| word.wrapping_add(1));
        check_groups(Concatenated::default, &[1, 3], |i| (i * 37 % 256) as u8, |word| word ^ 0x81);
    }
}
