//! Codewords of the Walsh–Hadamard code for x86-64: a row in a register of 256 bits.

use core::arch::x86_64::*;

use super::{BYTES, Codeword};

/// Adds s ∧ C(w) of each word: a codeword is a matrix of the word's bits, times the number of each byte.
#[target_feature(enable = "avx2,avx512f,avx512vl,gfni")]
pub(super) fn add_gfni(kept: &Codeword, words: &[u8], rows: &mut [Codeword]) {
    let rows = &mut rows[..words.len()];
    // SAFETY: a row has 256 bits; no access has an alignment.
    let kept = unsafe { _mm256_loadu_si256(kept.as_ptr().cast()) };
    // Row k of the matrix, in byte 7 - k, is w ∧ (0xf8 | k), and byte j of the factor 8j + 7: they share w ∧
    // (8j + k).
    let matrix = _mm256_set1_epi64x(i64::from_le_bytes([0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8]));
    let factor = _mm256_add_epi8(_mm256_slli_epi64::<3>(numbers()), _mm256_set1_epi8(7));
    for i in 0..words.len() {
        let word = _mm256_set1_epi8(words[i] as i8);
        let codeword = _mm256_gf2p8affine_epi64_epi8::<0>(factor, _mm256_and_si256(word, matrix));
        let row = rows[i].as_mut_ptr().cast();
        // SAFETY: as above.
        unsafe {
            let sum = _mm256_xor_si256(_mm256_loadu_si256(row), _mm256_and_si256(codeword, kept));
            _mm256_storeu_si256(row, sum);
        }
    }
}

/// Adds s ∧ C(w) of each word: what it shares with 8j is looked up by the bits of j, in registers.
#[target_feature(enable = "avx2")]
pub(super) fn add_avx2(kept: &Codeword, words: &[u8], rows: &mut [Codeword]) {
    let rows = &mut rows[..words.len()];
    // SAFETY: a row has 256 bits; no access has an alignment.
    let kept = unsafe { _mm256_loadu_si256(kept.as_ptr().cast()) };
    let bytes = _mm256_set1_epi64x(BYTES as i64);
    // All ones for numbers of four bits whose parity is odd.
    let parity =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, -1, 0, -1, 0, 0, -1, -1, 0, 0, -1, 0, -1, -1, 0));
    let (seven, lower) = (_mm256_set1_epi8(7), _mm256_and_si256(numbers(), _mm256_set1_epi8(15)));
    // Bit 4 of j is the upper half of the row; it meets the highest bit of w.
    let (zero, upper) = (_mm256_setzero_si256(), _mm256_set_epi64x(-1, -1, 0, 0));
    for i in 0..words.len() {
        let word = _mm256_set1_epi8(words[i] as i8);
        let within = _mm256_shuffle_epi8(bytes, _mm256_and_si256(word, seven));
        let shared = _mm256_and_si256(_mm256_srli_epi16::<3>(word), lower);
        let half = _mm256_cmpgt_epi8(zero, _mm256_and_si256(word, upper));
        let flipped = _mm256_xor_si256(_mm256_shuffle_epi8(parity, shared), half);
        let codeword = _mm256_xor_si256(within, flipped);
        let row = rows[i].as_mut_ptr().cast();
        // SAFETY: as above.
        unsafe {
            let sum = _mm256_xor_si256(_mm256_loadu_si256(row), _mm256_and_si256(codeword, kept));
            _mm256_storeu_si256(row, sum);
        }
    }
}

/// The bytes 0, 1, …, 31.
#[target_feature(enable = "avx2")]
fn numbers() -> __m256i {
    let (low, eight) = (0x0706_0504_0302_0100, 0x0808_0808_0808_0808);
    _mm256_set_epi64x(low + 3 * eight, low + 2 * eight, low + eight, low)
}
