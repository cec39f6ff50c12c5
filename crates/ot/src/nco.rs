//! Code-based OT extension: 1-out-of-N OT for the words of a code. [`kk13`](crate::kk13) and
//! [`kkrt`](crate::kkrt), the batched OPRF, are this extension with a code each.
//!
//! A public code C maps each word w to k bits, and any two codewords that matter differ in κ positions or
//! more. The sender holds secret bits s ∈ {0,1}^k. It chose with them in k base OTs, and has one seed of each
//! pair that the receiver holds.
//!
//! **Security:** semi-honest. Nothing holds the receiver to codewords.
//!
//! Sources: Kolesnikov, Kumaresan, CRYPTO 2013, Figure 1; Kolesnikov, Kumaresan, Rosulek, Trieu, CCS 2016,
//! Figure 2.
//!
//! OT number j, in which the receiver chooses w:
//!
//! ```text
//! receiver (w)                                    sender (s)
//! t0_j, t1_j: bit j of the k pairs of streams     bit j of the streams chosen by s: t0_j ⊕ s ∧ (t0_j ⊕ t1_j)
//!            ── u_j = t0_j ⊕ t1_j ⊕ C(w) ──►      k/8 bytes
//! output H(j, t0_j)                               q_j = t0_j ⊕ s ∧ (t0_j ⊕ t1_j) ⊕ s ∧ u_j = t0_j ⊕ s ∧ C(w)
//!                                                 for any value v: H(j, q_j ⊕ s ∧ C(v))
//! ```
//!
//! For v = w both have H(j, t0_j). For v ≠ w the sender's input to H is t0_j ⊕ s ∧ (C(w) ⊕ C(v)), and the
//! receiver does not know κ or more bits of s in it. H has to be correlation robust in the sense of KK13
//! (Definition 1) and of KKRT16 (Definition 4, with Hamming distance κ). Here H is BLAKE3 in lanes, keyed
//! with the protocol context, over the *whole row and the number j*. Folding a row into one block of 128 bits
//! first would undo the distance: in the XOR of two blocks, s ∧ c may cancel. A hash from AES on rows of
//! several blocks would need an argument of its own (as an iterated compression function, with related
//! inputs); in lanes the random oracle costs little more.
//!
//! **Groups.** The rows of g OTs in sequence can be hashed together ([`Receiver::extend_groups`]). Read as
//! one row they are that of a 1-out-of-N^g OT by the concatenated code C(w_1) ‖ … ‖ C(w_g), which uses the
//! columns of each base OT g times. Words that differ do so in a character, so their codewords differ in κ
//! positions of that character's part. For the output at v the receiver has to guess s ∧ (C(w_i) ⊕ C(v_i))
//! for all i: κ or more bits of s, as for a single OT. The input of H is
//!
//! ```text
//! t0_1 ‖ … ‖ t0_g ‖ zeros up to whole blocks of 64 bytes   ⊕   number of the first row, in the last six bytes
//! ```
//!
//! so that the number takes no block of its own. If the input ends with zeros (a single row, an odd number of
//! rows of 256 bits), the number is a tweak: an input belongs to one group. If it ends with a row, the number
//! is added to that row, and one query of the receiver to H could test several groups. The rows prevent this.
//! Let T_a be the receiver's rows of group a with the number added. A query x tests group a if x ⊕ T_a = (s'
//! ∧ Δ_1, …, s' ∧ Δ_g) for some s' and differences Δ_i of codewords. For g = 2 and [`kk13`](crate::kk13)
//! there are at most 2^16 · 2^192 such values (two words of its code have 192 positions together), and x
//! tests both a and b only if T_a ⊕ T_b is the sum of two of them: one of 2^416 strings among 2^512. T_a and
//! T_b are pseudo-random and their numbers were fixed before, so that has probability 2^-96. It is 2^-47 for
//! any two of 2^25 groups, and 2^-37 for any two of 2^30, the most that a protocol here has. For any three of
//! them it is 2^-327, and for longer groups it is smaller still. So a query tests one group, and two at the
//! very worst: against a tweak one bit is lost, with probability 2^-47 or 2^-37. Two inputs of the sender are
//! equal only by chance: those of different groups with probability 2^-512, those of one group, as for single
//! OTs, with 2^-κ.
//!
//! Rows are produced in tiles of 1024 from the k streams and transposed while they are in the first-level
//! cache. The sender's rows can be evaluated at any number of values, or dropped at once.
//!
//! A code's oracles have fixed labels: a second set-up of it in one run takes a context of its own, from
//! [`Context::derive`](vesica_crypto::hash::Context::derive).

mod columns;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
mod receiver;
mod sender;
mod traits;

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::transpose::COLUMNS as TILE;

use crate::error::Error;

pub use receiver::{Receiver, ReceiverSetup};
pub use sender::Sender;
pub use traits::{NcoReceiver, NcoSender, Step};

/// Bits of an OT's number.
const NUMBER_BITS: usize = 48;

/// Bits that a row may have, so that it fits one block of the hash together with its number.
const ROW_BITS: usize = 512 - NUMBER_BITS;

/// Rows of a call of the hash: they stay in the first-level cache, and make [`LANES`] groups of sixteen rows.
const BATCH: usize = 256;

/// A call hashes a multiple of so many groups if they fit a batch.
const LANES: usize = 16;

/// A public code of rows of `W` blocks, an even number.
pub trait Code<const W: usize> {
    /// The words that are encoded.
    type Word: Copy;
    /// The oracle of this code's outputs.
    const OUTPUT: Label;
    /// The oracle of its base OTs.
    const BASE: Label;

    /// k: bits of a codeword, a multiple of eight, at most 464. Bits beyond them are ignored.
    fn columns(&self) -> usize;

    /// Adds (XOR) the codeword of `words[i]` to `rows[i]`, for as many words as rows.
    fn add(&self, words: &[Self::Word], rows: &mut [[Block; W]]);

    /// Sets `inputs`, group after group, to the `size` rows from `at[i]` on with the codewords of group i of
    /// `words` added.
    ///
    /// # Panics
    /// If a row is not there.
    fn add_to(
        &self,
        size: usize,
        rows: &[[Block; W]],
        at: &[u32],
        words: &[Self::Word],
        inputs: &mut [[Block; W]],
    ) {
        for index in 0..size {
            for (i, at) in at.iter().enumerate() {
                inputs[i * size + index] = rows[*at as usize + index];
            }
        }
        self.add(words, inputs);
    }

    /// Replaces the codewords by s ∧ C(w), which the sender needs. These are secret, and wiped when dropped.
    fn restrict(&mut self, s: &[Block; W]);
}

/// The next tile and the number of the next OT of a set-up. A call that ends within a tile leaves the rest of
/// it unused.
#[derive(Clone, Copy, Default)]
struct Position {
    tile: u64,
    number: u64,
}

impl Position {
    /// The position of the next `rows` OTs; moves beyond them.
    ///
    /// # Errors
    /// If there are more OTs than numbers.
    fn take(&mut self, rows: usize) -> Result<Position, Error> {
        let left = (1u64 << NUMBER_BITS) - 1 - self.number;
        if rows as u64 > left {
            return Err(Error::Exhausted { asked: rows, left: left as usize });
        }
        let here = *self;
        self.tile += rows.div_ceil(TILE) as u64;
        self.number += rows as u64;
        Ok(here)
    }

    /// The position of OT number `row`, the first of a tile, of those that begin here.
    fn at(self, row: usize) -> Position {
        Position { tile: self.tile + (row / TILE) as u64, number: self.number + row as u64 }
    }
}

/// H of groups of `size` rows in sequence, whose first rows have these numbers.
fn hash_groups<const W: usize>(
    oracle: &Oracle,
    size: usize,
    rows: &[[Block; W]],
    numbers: &[u64],
    out: &mut [Block],
) {
    const { assert!(W.is_multiple_of(2), "rows of whole halves of a block") };
    oracle.hash_numbered(rows.as_flattened().as_chunks().0, size * W / 2, numbers, out);
}

#[cfg(test)]
pub(crate) mod tests;
