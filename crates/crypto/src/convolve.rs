//! Convolutions with random taps: each word is added to some of the 32 behind it.
//!
//! For i = 0, 1, …: the current word i is added to word i + 1 + b for every bit b of `taps[i]`. This is the
//! transposed convolution of expand-convolute codes. The taps are public.

use vesica_kernels::{Backend, convolve as kernels};

use crate::band::XorValue;

pub use kernels::MEMORY;

/// Convolves one word for each tap, and adds to the words behind them. Words beyond the end are skipped.
///
/// # Panics
/// If there are more taps than words.
#[inline]
pub fn convolve<V: XorValue>(words: &mut [V], taps: &[u32]) {
    convolve_on(Backend::detect(), words, taps);
}

/// [`convolve`] computed by `backend`.
///
/// # Panics
/// As [`convolve`].
pub fn convolve_on<V: XorValue>(backend: Backend, words: &mut [V], taps: &[u32]) {
    assert!(taps.len() <= words.len(), "a word for each of the taps");
    kernels::convolve(backend, words, taps);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::prg::Prg;
    use rand_core::Rng;

    fn follows_its_definition<V: XorValue>() {
        let mut prg = Prg::from_seed([1; 16]);
        for (count, tapped) in
            [(0, 0), (1, 1), (2, 1), (5, 5), (33, 33), (36, 36), (40, 40), (41, 3), (200, 200), (333, 97)]
        {
            let mut words = vec![V::ZERO; count];
            V::randomise(&mut words, &mut prg);
            let mut taps: Vec<u32> = (0..tapped).map(|_| prg.next_u32()).collect();
            for (tap, extreme) in taps.iter_mut().zip([u32::MAX, 0, 1, 1 << 31]) {
                *tap = extreme;
            }
            let mut expected = words.clone();
            for i in 0..tapped {
                for b in (0..MEMORY).filter(|b| taps[i] >> b & 1 == 1 && i + 1 + b < count) {
                    let word = expected[i];
                    expected[i + 1 + b] ^= word;
                }
            }
            for backend in Backend::available() {
                let mut found = words.clone();
                convolve_on(backend, &mut found, &taps);
                assert!(found == expected, "{backend:?} {count} {tapped}");
                // In two pieces.
                let mut found = words.clone();
                let (first, second) = taps.split_at(tapped / 3);
                convolve_on(backend, &mut found, first);
                convolve_on(backend, &mut found[tapped / 3..], second);
                assert!(found == expected, "{backend:?} {count} {tapped} in pieces");
            }
        }
    }

    #[test]
    fn every_word_is_added_where_its_taps_say() {
        follows_its_definition::<Block>();
        follows_its_definition::<u64>();
    }
}
