//! Codewords of the Walsh–Hadamard code, added to rows.
//!
//! Bit 8j + k of a codeword is the sum of the word's inner products with k and with 8j. The first is the same
//! byte for all j, and the second is one bit for all k. The vector kernels hold a codeword in a register.
//! With GFNI, a codeword is one product of a matrix of the word's bits and a constant.

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
use super::Level;
use super::{Backend, Kernels};
use crate::block::Block;

/// The kernels of an architecture that has one level.
#[cfg(target_arch = "aarch64")]
use arm as single;
#[cfg(target_arch = "wasm32")]
use wasm as single;

/// A codeword, or a row of as many bits.
pub type Codeword = [Block; 2];

/// The byte of each k < 8, whose bit i is the inner product of i and k. Code shifts this word instead of
/// indexing a table, which keeps it constant-time.
const BYTES: u64 = 0x963c_5af0_66cc_aa00;

/// Adds s ∧ C(w) of each word w, where s is `kept`.
pub fn add(backend: Backend, kept: &Codeword, words: &[u8], rows: &mut [Codeword]) {
    match backend.level_for(Kernels::Hadamard) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::add_gfni(kept, words, rows) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::add_avx2(kept, words, rows) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        Level::Neon | Level::Simd128 => unsafe { single::add(kept, words, rows) },
        _ => {
            for (word, row) in words.iter().zip(rows) {
                let codeword = codeword(*word);
                row[0] ^= codeword[0] & kept[0];
                row[1] ^= codeword[1] & kept[1];
            }
        }
    }
}

/// The lower three bits of the word give a byte that repeats, the next three flip whole bytes, the last two
/// whole 64 bits.
fn codeword(word: u8) -> Codeword {
    let word = u64::from(word);
    let all = |bit: u32| (word >> bit & 1).wrapping_neg();
    let mut part = (BYTES >> (8 * (word & 7)) & 0xff).wrapping_mul(0x0101_0101_0101_0101);
    part ^= all(3) & 0xff00_ff00_ff00_ff00;
    part ^= all(4) & 0xffff_0000_ffff_0000;
    part ^= all(5) & 0xffff_ffff_0000_0000;
    let low = Block::from_halves(part, part ^ all(6));
    [low, low ^ Block::from_halves(all(7), all(7))]
}
