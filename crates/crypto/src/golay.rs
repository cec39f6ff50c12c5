//! The extended binary Golay code, 12 bits to 24 with distance 8, as its transposed encoder: 24 words to 12.
//!
//! Generator \[I | B\]: the lower right of B is the circulant of the quadratic residues modulo 11 and zero, bordered by ones
//! with a zero in the corner. Word i of the result is y_i ⊕ ⊕ of y_{12+j} where B_ij = 1.

use core::ops::BitXor;

use crate::backend::{Backend, golay as kernels};
use crate::band::Value;

/// Words of a block before.
pub const LONG: usize = 24;
/// Words of a block afterwards.
pub const SHORT: usize = 12;

/// B by rows, bit j for column j.
pub(crate) const B: [u16; SHORT] = {
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
#[must_use]
pub fn compress<W: Copy + Default + BitXor<Output = W>>(long: &[W; LONG]) -> [W; SHORT] {
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

/// [`compress`] of many blocks, whose words stand at `places` of `words`; block i goes to `out[i]`. Meanwhile memory of
/// `next` is asked for, about as much as is read.
///
/// # Panics
/// If a place is beyond the words, or there is not one result for each block.
pub fn compress_from<V: Value + Default>(
    words: &[V],
    places: &[[u16; LONG]],
    next: &[V],
    out: &mut [[V; SHORT]],
) {
    compress_from_on(Backend::detect(), words, places, next, out);
}

/// [`compress_from`] computed by `backend`.
///
/// # Panics
/// As [`compress_from`].
pub fn compress_from_on<V: Value + Default>(
    backend: Backend,
    words: &[V],
    places: &[[u16; LONG]],
    next: &[V],
    out: &mut [[V; SHORT]],
) {
    assert_eq!(places.len(), out.len(), "one result for each block");
    kernels::compress_from(backend, words, places, next, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::prg::Prg;
    use rand_core::Rng;

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

    fn gathered_blocks_are_those_of_the_places<V: Value + Default>() {
        let mut prg = Prg::from_seed([2; 16]);
        for (count, blocks) in [(1, 1), (24, 3), (100, 4), (1000, 7), (8200, 8), (40_000, 33), (70_000, 17)] {
            let mut words = vec![V::ZERO; count];
            V::randomise(&mut words, &mut prg);
            let mut places = vec![[0; LONG]; blocks];
            for place in places.as_flattened_mut() {
                *place = (prg.next_u32() as usize % count.min(1 << 16)) as u16;
            }
            let expected: Vec<[V; SHORT]> = places
                .iter()
                .map(|places| compress(&places.map(|place| words[usize::from(place)])))
                .collect();
            for backend in Backend::available() {
                for next in [&words[..], &words[..count / 3], &[]] {
                    let mut found = vec![[V::ZERO; SHORT]; blocks];
                    compress_from_on(backend, &words, &places, next, &mut found);
                    assert!(found == expected, "{backend:?}, {count}, {blocks}");
                }
            }
        }
        for backend in Backend::available() {
            compress_from_on::<V>(backend, &[], &[], &[], &mut []);
            let beyond = std::panic::catch_unwind(|| {
                let mut places = [[0; LONG]; 9];
                places[2][5] = 50;
                compress_from_on(backend, &[V::ZERO; 50], &places, &[], &mut [[V::ZERO; SHORT]; 9]);
            });
            assert!(beyond.is_err(), "{backend:?}");
        }
    }

    #[test]
    fn every_backend_gathers_the_same() {
        gathered_blocks_are_those_of_the_places::<Block>();
        gathered_blocks_are_those_of_the_places::<u64>();
    }
}
