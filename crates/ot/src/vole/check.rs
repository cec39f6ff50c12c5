//! The check of the trees, against a malicious sender.
//!
//! The sender could send correction words that fit some punctured points and not others, and see from what
//! happens next which points the receiver has. So the receiver draws random coefficients once the words have come: φ for
//! every tree i, and χ for the positions j of a tree, the same in all trees. Both compare Σ φ_i·χ_j·c_ij with Σ
//! φ_i·χ_j·b_ij + Δ·X, where X = Σ φ_i·χ_{α_i}·β_i is told under a spare VOLE (x, z = y + Δ·x):
//!
//! ```text
//! receiver                                              sender
//! V = Σ φ_i·χ_j·c_ij + z     ── seed, X + x ──►         V = Σ φ_i·χ_j·b_ij + y + Δ·(X + x)
//! must be equal              ◄── H(V) ──
//! ```
//!
//! Suppose that some leaves which the receiver derived are not those of one b. Then the difference of the two sides is
//! Σ φ_i·D_i, where D_i is the sum of χ_j times something, not all of it zero in one tree at least. The sender is bound to
//! its words when χ and φ are drawn. All D_i are zero with probability 2^-128; if not, the difference takes each value with
//! that probability. So the sender meets it with probability 2^-127 at most unless it knows it: it must have guessed for
//! which points its words are wrong, and how. A wrong guess ends the run. What is left is dual LPN whose positions are
//! known to lie in a set of the sender's choice, the static leakage under which eprint 2019/1159 and Wolverine (eprint
//! 2020/925) state the assumption.
//!
//! A receiver that lies about X + x learns H of a value that differs from its own by Δ times its lie: nothing
//! but a guess of all of Δ fits.

use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;

use super::plan::{HASH, Plan};

const CHECK: Label = Label::new("vole: check of the trees");

/// The coefficients of a piece, tree by tree.
pub(super) struct Coefficients {
    /// χ, for the positions of the largest tree.
    positions: Vec<Block>,
    /// φ of the trees to come.
    factors: Prg,
}

impl Coefficients {
    pub(super) fn new(plan: &Plan, seed: Block, piece: usize) -> Self {
        let mut positions = vec![Block::ZERO; plan.blocks().map(|block| block.len()).max().unwrap_or(0)];
        Prg::fork(seed, 0).fill_blocks(&mut positions);
        Self { positions, factors: Prg::fork(seed, 1 + piece as u64) }
    }

    /// Those of the next tree, which has so many leaves.
    pub(super) fn next(&mut self, leaves: usize) -> OfTree<'_> {
        OfTree { positions: &self.positions[..leaves], factor: self.factors.block().into() }
    }
}

/// The coefficients of a tree.
pub(super) struct OfTree<'a> {
    positions: &'a [Block],
    factor: Gf128,
}

impl OfTree<'_> {
    /// The sum of the leaves, each times its coefficient.
    pub(super) fn sum(&self, leaves: &[Block]) -> Gf128 {
        self.factor * gf128::inner_product(self.positions, leaves)
    }

    /// The coefficient of the secret position `index`.
    pub(super) fn at(&self, index: usize) -> Gf128 {
        let positions = self.positions.iter().enumerate();
        let found = positions
            .fold(Block::ZERO, |found, (i, coefficient)| found ^ (*coefficient & Block::mask(i == index)));
        self.factor * found.into()
    }
}

/// H(V).
pub(super) fn hash(context: &Context, sum: Block) -> [u8; HASH] {
    let mut hash = [0; HASH];
    context.hash(CHECK, sum.as_bytes(), &mut hash);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_of_every_tree_and_piece_has_its_own_coefficient() {
        let plan = Plan::of_weight(1020, 20).in_pieces(2);
        let seed = Block::from_bytes([3; 16]);
        let mut all = std::collections::HashSet::new();
        for piece in 0..2 {
            let mut coefficients = Coefficients::new(&plan, seed, piece);
            for block in plan.blocks() {
                let of_tree = coefficients.next(block.len());
                all.extend((0..block.len()).map(|position| of_tree.at(position).to_block().to_bytes()));
                // The sum of leaves of which only one is not zero.
                let mut leaves = vec![Block::ZERO; block.len()];
                leaves[block.len() - 1] = Block::from(5);
                let last = of_tree.at(block.len() - 1) * Gf128::from(Block::from(5));
                assert!(of_tree.sum(&leaves).to_block() == last.to_block());
            }
        }
        assert_eq!(all.len(), 2 * plan.noise());
    }
}
