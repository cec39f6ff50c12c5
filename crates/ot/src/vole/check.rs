//! The check of the trees, against a malicious sender.
//!
//! The sender could send words that fit some paths and not others, and see from what happens next which ones the receiver
//! has. So the receiver draws random coefficients χ for all places, only after the words have come, and both compare
//! Σ χ_j·c_j with Σ χ_j·b_j + Δ·X, where X = Σ χ_{α_i}·β_i is told under a spare VOLE (x, z = y + Δ·x):
//!
//! ```text
//! receiver                                            sender
//! V = Σ χ_j·c_j + z        ── seed of χ, X + x ──►    V = Σ χ_j·b_j + y + Δ·(X + x)
//! must be equal            ◄── H(V) ──
//! ```
//!
//! If some leaves that the receiver derived are not those that belong to one b, the difference of the two sides is a sum
//! over these places of χ_j times something not zero, and the sender, who is bound to its words when χ is drawn, meets it
//! with probability 2^-128, unless it knows the difference: it must have guessed for which paths its words are wrong, and
//! how. A wrong guess ends the run. What is left is dual LPN whose places are known to lie in a set of the sender's
//! choice, the static leakage under which eprint 2019/1159 and Wolverine (eprint 2020/925) state the assumption.
//!
//! A receiver that lies about X + x learns H of a value that differs from its own by Δ times its lie: nothing but a
//! guess of all of Δ fits.

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::large_zeros;
use vesica_crypto::prg::Prg;

use super::plan::HASH;

const CHECK: Label = Label::new("vole: check of the trees");

/// χ of the places of a piece.
pub(super) fn coefficients(seed: Block, piece: usize, length: usize) -> Vec<Block> {
    let mut coefficients: Vec<Block> = large_zeros(length);
    Prg::fork(seed, piece as u64).fill_blocks(&mut coefficients);
    coefficients
}

/// H(V).
pub(super) fn hash(context: &Context, sum: Block) -> [u8; HASH] {
    let mut hash = [0; HASH];
    context.hash(CHECK, sum.as_bytes(), &mut hash);
    hash
}

/// The block at the secret place `index`.
pub(super) fn block_at(blocks: &[Block], index: usize) -> Block {
    blocks
        .iter()
        .enumerate()
        .fold(Block::ZERO, |found, (i, block)| found ^ (*block & Block::mask(i == index)))
}
