//! The check of the trees, against a malicious sender.
//!
//! The sender could send correction words that fit some punctured points and not others, and see from what
//! happens next which points the receiver has. So the receiver draws random coefficients χ for all positions
//! of the noise once the words have come. Both compare Σ χ_j·c_j with Σ χ_j·b_j + Δ·X, where X = Σ
//! χ_{α_i}·β_i is told under a spare VOLE (x, z = y + Δ·x):
//!
//! ```text
//! receiver                                            sender
//! V = Σ χ_j·c_j + z        ── seed of χ, X + x ──►    V = Σ χ_j·b_j + y + Δ·(X + x)
//! must be equal            ◄── H(V) ──
//! ```
//!
//! Suppose that some leaves which the receiver derived are not those of one b. Then the difference of the two
//! sides is a sum over these positions of χ_j times something not zero. The sender is bound to its words when
//! χ is drawn, and meets that difference with probability 2^-128 unless it knows it: it must have guessed for
//! which points its words are wrong, and how. A wrong guess ends the run. What is left is dual LPN whose
//! positions are known to lie in a set of the sender's choice, the static leakage under which eprint
//! 2019/1159 and Wolverine (eprint 2020/925) state the assumption.
//!
//! A receiver that lies about X + x learns H of a value that differs from its own by Δ times its lie: nothing
//! but a guess of all of Δ fits.

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;

use super::plan::HASH;

const CHECK: Label = Label::new("vole: check of the trees");

/// χ of the positions of a piece, from the first to the last.
pub(super) struct Coefficients {
    stream: Prg,
    blocks: Vec<Block>,
}

impl Coefficients {
    pub(super) fn new(seed: Block, piece: usize) -> Self {
        Self { stream: Prg::fork(seed, piece as u64), blocks: Vec::new() }
    }

    /// Those of the next positions.
    pub(super) fn next(&mut self, positions: usize) -> &[Block] {
        self.blocks.resize(positions, Block::ZERO);
        self.stream.fill_blocks(&mut self.blocks);
        &self.blocks
    }
}

/// H(V).
pub(super) fn hash(context: &Context, sum: Block) -> [u8; HASH] {
    let mut hash = [0; HASH];
    context.hash(CHECK, sum.as_bytes(), &mut hash);
    hash
}

/// The block at the secret position `index`.
pub(super) fn block_at(blocks: &[Block], index: usize) -> Block {
    blocks
        .iter()
        .enumerate()
        .fold(Block::ZERO, |found, (i, block)| found ^ (*block & Block::mask(i == index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_do_not_depend_on_the_steps_in_which_they_are_drawn() {
        let seed = Block::from_bytes([3; 16]);
        let all = Coefficients::new(seed, 2).next(1000).to_vec();
        let (mut steps, mut drawn) = (Coefficients::new(seed, 2), Vec::new());
        for positions in [1, 0, 15, 17, 300, 3, 664] {
            drawn.extend_from_slice(steps.next(positions));
        }
        assert!(drawn == all);
        assert!(Coefficients::new(seed, 1).next(1000) != all);
    }
}
