//! The extended binary Golay code, 12 bits to 24 with distance 8, as its transposed encoder: 24 words to 12.
//!
//! The generator is \[I | B\]. The lower right of B is the circulant of the quadratic residues modulo 11 and
//! zero. Its border is ones, with a zero in the corner. Word i of the result is y_i ⊕ ⊕ of y_{12+j} where
//! B_ij = 1.

use vesica_kernels::{Backend, golay as kernels};

use crate::band::XorValue;

pub use kernels::{LONG, SHORT, compress};

/// Gathers the words of block i from `words` at `positions[i]` and writes [`compress`] of them to `out[i]`.
/// Prefetches about as much of `next` as it reads.
///
/// # Panics
/// If a position is beyond the words, or the numbers of blocks and outputs differ.
pub fn compress_from<V: XorValue + Default>(
    words: &[V],
    positions: &[[u16; LONG]],
    next: &[V],
    out: &mut [[V; SHORT]],
) {
    compress_from_on(Backend::detect(), words, positions, next, out);
}

/// [`compress_from`] computed by `backend`.
///
/// # Panics
/// As [`compress_from`].
pub fn compress_from_on<V: XorValue + Default>(
    backend: Backend,
    words: &[V],
    positions: &[[u16; LONG]],
    next: &[V],
    out: &mut [[V; SHORT]],
) {
    assert_eq!(positions.len(), out.len(), "one result for each block");
    kernels::compress_from(backend, words, positions, next, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::prg::Prg;
    use rand_core::Rng;
    use vesica_kernels::golay::B;

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
        for position in 0..LONG {
            let mut long = [0u64; LONG];
            long[position] = 1;
            let short = compress(&long);
            for (i, word) in short.into_iter().enumerate() {
                let expected = if position < 12 {
                    u64::from(i == position)
                } else {
                    u64::from(B[i] >> (position - 12) & 1)
                };
                assert_eq!(word, expected);
            }
        }
    }

    fn gathered_blocks_are_those_of_the_places<V: XorValue + Default>() {
        let mut prg = Prg::from_seed([2; 16]);
        for (count, blocks) in [(1, 1), (24, 3), (100, 4), (1000, 7), (8200, 8), (40_000, 33), (70_000, 17)] {
            let mut words = vec![V::ZERO; count];
            V::randomise(&mut words, &mut prg);
            let mut positions = vec![[0; LONG]; blocks];
            for position in positions.as_flattened_mut() {
                *position = (prg.next_u32() as usize % count.min(1 << 16)) as u16;
            }
            let expected: Vec<[V; SHORT]> = positions
                .iter()
                .map(|positions| compress(&positions.map(|position| words[usize::from(position)])))
                .collect();
            for backend in Backend::available() {
                for next in [&words[..], &words[..count / 3], &[]] {
                    let mut found = vec![[V::ZERO; SHORT]; blocks];
                    compress_from_on(backend, &words, &positions, next, &mut found);
                    assert!(found == expected, "{backend:?}, {count}, {blocks}");
                }
            }
        }
        for backend in Backend::available() {
            compress_from_on::<V>(backend, &[], &[], &[], &mut []);
            let beyond = std::panic::catch_unwind(|| {
                let mut positions = [[0; LONG]; 9];
                positions[2][5] = 50;
                compress_from_on(backend, &[V::ZERO; 50], &positions, &[], &mut [[V::ZERO; SHORT]; 9]);
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
