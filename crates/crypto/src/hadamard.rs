//! The Walsh–Hadamard code of length 256: bit i of the codeword of w is the inner product of the bits of i
//! and w.
//!
//! Any two codewords differ in exactly 128 bits. Words are secret, so a codeword is computed from its word
//! without a branch or an index that depends on it.

use vesica_kernels::{Backend, hadamard as kernels};

pub use kernels::Codeword;

/// Adds (XOR) the bits of each word's codeword that `kept` selects to the row of the same number.
///
/// # Panics
/// If the numbers of rows and words differ.
#[inline]
pub fn add(kept: &Codeword, words: &[u8], rows: &mut [Codeword]) {
    add_with(Backend::detect(), kept, words, rows);
}

/// [`add`] by `backend`.
///
/// # Panics
/// As [`add`].
#[inline]
pub fn add_with(backend: Backend, kept: &Codeword, words: &[u8], rows: &mut [Codeword]) {
    assert_eq!(words.len(), rows.len(), "a row for each word");
    kernels::add(backend, kept, words, rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;

    #[test]
    fn bits_of_codewords_are_inner_products() {
        let kept = [0x0123_4567_89ab_cdefu128, 7 << 77].map(|block| Block::from(block * 0x1_0000_0001));
        let words: Vec<u8> = (0..=255).collect();
        for backend in Backend::available() {
            for kept in [[Block::ONES; 2], kept, [Block::ZERO; 2]] {
                let before: Vec<Codeword> =
                    (0..256u128).map(|i| [Block::from(i), Block::from(i << 99)]).collect();
                let mut after = before.clone();
                add_with(backend, &kept, &words, &mut after);
                for (word, (before, after)) in words.iter().zip(before.iter().zip(&after)) {
                    for i in 0..256 {
                        let product = (i as u8 & word).count_ones() & 1 == 1;
                        let expected = before[i / 128].bit(i % 128) ^ (product & kept[i / 128].bit(i % 128));
                        assert_eq!(after[i / 128].bit(i % 128), expected, "{backend:?}, {word}, bit {i}");
                    }
                }
            }
        }
    }
}
