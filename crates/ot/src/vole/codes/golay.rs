//! The extended binary Golay code: 12 bits to 24, distance 8.
//!
//! Generator \[I | B\]: the lower right of B is the circulant of the quadratic residues modulo 11 and zero, bordered by ones
//! with a zero in the corner. The transposed encoder takes 24 words to 12, word i to y_i ⊕ ⊕ of y_{12+j} where B_ij = 1.

use super::Word;

/// Words of a block before and after.
pub(super) const LONG: usize = 24;
pub(super) const SHORT: usize = 12;

/// B by rows, bit j for column j.
const B: [u16; SHORT] = {
    const RESIDUES: [usize; 6] = [0, 1, 3, 4, 5, 9];
    let mut rows = [0; SHORT];
    rows[0] = 0xffe;
    let mut i = 0;
    while i < 11 {
        rows[i + 1] = 1;
        let mut r = 0;
        while r < RESIDUES.len() {
            rows[i + 1] |= 1 << (1 + (RESIDUES[r] + 11 - i) % 11);
            r += 1;
        }
        i += 1;
    }
    rows
};

/// Multiplies a block by the generator, words being columns. Sums of three words are made once for all rows.
#[inline(always)]
pub(super) fn compress<W: Word>(long: &[W; LONG]) -> [W; SHORT] {
    let mut sums = [[W::default(); 8]; 4];
    let mut group = 0;
    while group < 4 {
        let [a, b, c] = [long[12 + 3 * group], long[13 + 3 * group], long[14 + 3 * group]];
        let [ab, ac, bc] = [a ^ b, a ^ c, b ^ c];
        sums[group] = [W::default(), a, b, ab, c, ac, bc, ab ^ c];
        group += 1;
    }
    let mut short = [W::default(); SHORT];
    let mut i = 0;
    while i < SHORT {
        let row = B[i] as usize;
        short[i] =
            long[i] ^ sums[0][row & 7] ^ sums[1][row >> 3 & 7] ^ sums[2][row >> 6 & 7] ^ sums[3][row >> 9];
        i += 1;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_golay_code() {
        let mut counts = [0; LONG + 1];
        for message in 0..1u32 << SHORT {
            let check = (0..SHORT).filter(|i| message >> i & 1 == 1).fold(0, |sum, i| sum ^ B[i]);
            counts[(message.count_ones() + u32::from(check).count_ones()) as usize] += 1;
        }
        let mut expected = [0; LONG + 1];
        for (weight, count) in [(0, 1), (8, 759), (12, 2576), (16, 759), (24, 1)] {
            expected[weight] = count;
        }
        assert_eq!(counts, expected);
    }

    #[test]
    fn the_encoder_multiplies_by_the_generator() {
        for place in 0..LONG {
            let mut long = [0u64; LONG];
            long[place] = 1;
            let short = compress(&long);
            for (i, word) in short.into_iter().enumerate() {
                let expected =
                    if place < 12 { u64::from(i == place) } else { u64::from(B[i] >> (place - 12) & 1) };
                assert_eq!(word, expected);
            }
        }
    }
}
