//! OT extension by codes: the frame that 1-out-of-N OT ([`kk13`](crate::kk13)) and the batched OPRF
//! ([`kkrt`](crate::kkrt)) share.
//!
//! A public code C maps each value w to k bits, and any two codewords that matter differ in κ places or more. The sender
//! holds secret bits s ∈ {0,1}^k; k base OTs, in which it chooses with s, gave it one seed of each pair that the receiver
//! holds. For OT number j, in which the receiver chooses w:
//!
//! ```text
//! receiver (w)                                          sender (s)
//! t0_j, t1_j = bit j of the k streams, by row           bit j of the k streams chosen by s: t0_j ⊕ s ∧ (t0_j ⊕ t1_j)
//!                 ── u_j = t0_j ⊕ t1_j ⊕ C(w) ──►       k/8 bytes
//! output H(j, t0_j)                                     q_j = t0_j ⊕ s ∧ (t0_j ⊕ t1_j) ⊕ s ∧ u_j = t0_j ⊕ s ∧ C(w)
//!                                                       for any value v: H(j, q_j ⊕ s ∧ C(v))
//! ```
//!
//! For v = w both have H(j, t0_j). For v ≠ w the sender's input to H is t0_j ⊕ s ∧ (C(w) ⊕ C(v)): κ or more bits of s stand
//! between the receiver and it. That is what H has to withstand, the correlation robustness of KK13 (Definition 1) and of
//! KKRT16 (Definition 4, with Hamming distance κ); here H is BLAKE3 in lanes, keyed with the protocol context, over the
//! *whole row and the number j*. Folding a row into one block of 128 bits first would undo the distance: of two blocks XORed
//! together, s ∧ c and its neighbour may cancel. A hash from AES on rows of several blocks would have to be argued anew
//! (as an iterated compression function, with related inputs); in lanes the random oracle costs little more.
//!
//! **Groups.** The rows of g OTs in sequence can be hashed together ([`Receiver::extend_groups`]). Read as one row they are that
//! of a 1-out-of-N^g OT by the concatenated code C(w_1) ‖ … ‖ C(w_g), which uses the columns of each base OT g times. Words that
//! differ do so in a character, hence their codewords in κ places of that character's part; for the output at v the receiver
//! has to guess s ∧ (C(w_i) ⊕ C(v_i)) for all i, κ or more bits of s, as for a single OT. The input of H is
//!
//! ```text
//! t0_1 ‖ … ‖ t0_g ‖ zeros up to a whole number of blocks of 64 bytes ⊕ number of the first row, in the last six bytes
//! ```
//!
//! so that no block is spent on the number. Where zeros end the input (a single row, an odd number of rows of 256 bits) the
//! number is a tweak: an input belongs to one group. Where rows end it, it only moves them, and a query of the receiver to
//! H could test several groups at once. That it does not follows from the rows. Let T_a be the receiver's rows of group a
//! with the number on them. A query x tests group a if x ⊕ T_a = (s' ∧ Δ_1, …, s' ∧ Δ_g) for some s' and differences Δ_i of
//! codewords. For g = 2 and [`kk13`](crate::kk13) there are at most 2^16 · 2^192 such values (two words of its code have
//! 192 places together), and x tests both a and b only if T_a ⊕ T_b is the sum of two of them: one of 2^416 strings among
//! 2^512. T_a and T_b are pseudo-random and their numbers were fixed before, so that has probability 2^-96; 2^-47 for any
//! two of 2^25 groups, 2^-37 for any two of 2^30, the most that a protocol here has. For any three of them it is 2^-327, and longer groups fare better. So a query tests one group, and
//! at the very worst two: a bit is lost against a tweak, with probability 2^-47 or 2^-37. The sender's own inputs meet only by
//! chance: those of different groups with probability 2^-512, those of one group, as for single OTs, with 2^-κ.
//!
//! Rows are produced in tiles of 1024 from the k streams and transposed while they are in the first-level cache. The
//! sender's rows can be evaluated at any number of values, or dropped at once.
//!
//! A code's oracles have fixed labels: a second set-up of it in one run takes a context of its own, from
//! [`Context::derive`](vesica_crypto::hash::Context::derive).
//!
//! Semi-honest: the receiver is not held to codewords.

mod columns;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
mod receiver;
mod sender;
mod traits;

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::transpose::COLUMNS as TILE;

pub use receiver::{Receiver, ReceiverSetup};
pub use sender::Sender;
pub use traits::{NcoReceiver, NcoSender, Step};

/// Bits of an OT's number.
const NUMBER_BITS: usize = 48;

/// Bits that a row may have, so that it fits one block of the hash together with its number.
const ROW_BITS: usize = 512 - NUMBER_BITS;

/// Rows handled at a time, so that they stay in the first-level cache. Enough for [`LANES`] groups of sixteen rows.
const BATCH: usize = 256;

/// Groups hashed at a time are a multiple of this, where as many fit a batch.
const LANES: usize = 16;

/// A public code of rows of `W` blocks, an even number.
pub trait Code<const W: usize>: Sync {
    /// What is encoded.
    type Word: Copy + Send + Sync;
    /// The oracle of this code's outputs.
    const OUTPUT: Label;
    /// The oracle of its base OTs.
    const BASE: Label;

    /// k: bits of a codeword, a multiple of eight, at most 464. Bits beyond them are ignored.
    fn columns(&self) -> usize;

    /// Adds (XOR) the codeword of `words[i]` to `rows[i]`. There are as many of both.
    fn add(&self, words: &[Self::Word], rows: &mut [[Block; W]]);

    /// Sets `inputs`, group after group, to the `size` rows from `at[i]` on with the codewords of group i of `words` added.
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
        for place in 0..size {
            for (i, at) in at.iter().enumerate() {
                inputs[i * size + place] = rows[*at as usize + place];
            }
        }
        self.add(words, inputs);
    }

    /// From now on the codewords are s ∧ C(w), which is what the sender needs. They are secret, and wiped when dropped.
    fn restrict(&mut self, s: &[Block; W]);
}

/// How far the OTs of one setup have come. A call that ends within a tile leaves the rest of the tile unused.
#[derive(Clone, Copy, Default)]
struct Position {
    tile: u64,
    number: u64,
}

impl Position {
    /// The place of the next `rows` OTs; moves beyond them.
    fn take(&mut self, rows: usize) -> Position {
        let here = *self;
        self.tile += rows.div_ceil(TILE) as u64;
        self.number += rows as u64;
        assert!(self.number >> NUMBER_BITS == 0, "one setup has numbers for 2^48 OTs");
        here
    }

    /// The place of OT number `row`, the first of a tile, of those that begin here.
    fn at(self, row: usize) -> Position {
        Position { tile: self.tile + (row / TILE) as u64, number: self.number + row as u64 }
    }
}

/// H of groups of `size` rows side by side, whose first rows have these numbers.
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
pub(crate) mod testing;
