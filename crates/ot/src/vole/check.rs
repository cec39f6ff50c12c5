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
//! Suppose that some leaves which the receiver derived are not those of one b. Then its side is the sender's plus D =
//! Σ φ_i·⟨χ, d_i⟩, where d_i, the errors of tree i, depends on the receiver's point in that tree. All points that
//! give the same errors in every tree are a class: a product of sets, one for each tree. The sender is bound to its
//! words when χ and φ are drawn, but sees both before it answers. So what counts is the D that is likeliest then.
//!
//! * Two classes have the same D with probability 2^-127 at most. Let their errors differ in some tree. ⟨χ, ·⟩ of the
//!   differences is zero in all trees with probability 2^-128 at most; if it is not, the sum with the factors φ_i is
//!   zero with 2^-128.
//! * Let p be the probability of the likeliest class, and C the sum of P(a)·P(a') over pairs of classes a ≠ a' with
//!   the same D, whose mean is 2^-127 at most. For each value V of D, P(V)² ≤ p·P(V) + C, so P(V) ≤ p + √C.
//!
//! So a sender that names the likeliest V passes with probability p + 2^-63.5 at most: it must guess for which points
//! its words are wrong, and how. A wrong guess ends the run. The second term is not an artefact, though it takes 2^64
//! work to use it: 64 trees with two equally likely classes each have 2^64 classes together, and about one pair of
//! them has the same D. Coefficients that are independent of one another have the same bound.
//!
//! A sender that has passed knows that the points lie in the classes of its V: in one product of sets of its choice,
//! or, where several classes have that D, in one of those. What is left is dual LPN under that knowledge, the static
//! leakage under which eprint 2019/1159 and Wolverine (eprint 2020/925) state the assumption.
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
