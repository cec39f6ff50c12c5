//! The multi-point puncturable PRF: one tree for each block of noise, grown by the sender in full and by the
//! receiver but for one leaf.
//!
//! Tree i starts from correlated OTs with offset Δ, one for each level: the sender has q_l, the receiver
//! t_l = q_l ⊕ ¬α_l·Δ, where α_l is bit l of the punctured point α.
//!
//! The tree is a half-tree. Level one is (k, k ⊕ Δ) for the sender's random k. At level l the left nodes add
//! up to K, which is k at level one, and the right ones to K ⊕ Δ. The correction word q_l ⊕ K gives the
//! receiver, who adds t_l, the one sum that it may know. In the last level the two sums are independent. So
//! it has two correction words, under the hashes of q_l and of q_l ⊕ Δ. The final correction γ ⊕ Σ leaves
//! lets the receiver, who has γ + Δ·β, put leaf + Δ·β at the punctured point.
//!
//! **Why k is random** and level one not simply (q_1, q_1 ⊕ Δ), which would save a word: a receiver that
//! cheats chooses t_1. By trying seeds of its small trees it can give two trees one t_1 and one α_1, and they
//! would be one tree. With other choices at level two it would learn the left sum from one and the right sum
//! from the other, and their sum is Δ.

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};

use crate::pprf::{Shape, Trees, levels};

/// The trees' functions, and the pads of the correction words.
pub(super) struct MultiPointPprf {
    trees: Trees,
    pads: FixedKey,
}

/// What the sender grows a tree from.
pub(super) struct Full<'a> {
    /// The number of the first q_l in this run, which is the tree's number, too.
    pub(super) index: u64,
    /// q_l of each level.
    pub(super) offsets: &'a [[Block; 1]],
    /// Δ.
    pub(super) delta: Block,
    /// k, which is random.
    pub(super) root: Block,
    /// The sender's share of the VOLE of the noise value.
    pub(super) gamma: Block,
}

/// What the receiver grows a tree from.
pub(super) struct Punctured<'a> {
    /// As [`Full::index`].
    pub(super) index: u64,
    /// t_l of each level.
    pub(super) known: &'a [[Block; 1]],
    /// α, the leaf that is not derived.
    pub(super) point: usize,
    /// The receiver's share γ + Δ·β of the VOLE of the noise value.
    pub(super) delta: Block,
}

impl MultiPointPprf {
    pub(super) fn new(context: &Context) -> Self {
        Self {
            trees: Trees::new(context, Label::new("vole: keys of the trees"), Shape::HalfTree),
            pads: FixedKey::of(context, Label::new("vole: pads of the words")),
        }
    }

    /// Grows a tree into `leaves` and appends its correction words, the final correction being the last.
    pub(super) fn grow(&self, tree: &Full<'_>, leaves: &mut [Block], correction_words: &mut Vec<Block>) {
        let Full { index, offsets, delta, root, gamma } = *tree;
        (leaves[0], leaves[1]) = (root, root ^ delta);
        correction_words.push(offsets[0][0] ^ root);
        let mut sums = vec![[Block::ZERO; 2]; levels(leaves.len()) - 1];
        let total = self.trees.tree(index).grow(leaves, &mut sums);
        let last = sums.len() - 1;
        for (level, [left, right]) in sums.into_iter().enumerate() {
            let (number, [offset]) = (level + 1, offsets[level + 1]);
            if level < last {
                correction_words.push(offset ^ left);
            } else {
                // The hash of q belongs to choice 0: the path goes right, and the receiver may know the left
                // sum.
                let (zero, one) = (self.pad(index, number, offset), self.pad(index, number, offset ^ delta));
                correction_words.extend([zero ^ left, one ^ right]);
            }
        }
        correction_words.push(gamma ^ total);
    }

    /// Grows all leaves but the punctured one, and puts leaf + Δ·β there. `correction_words` has the length
    /// of the plan.
    pub(super) fn grow_punctured(
        &self,
        tree: &Punctured<'_>,
        correction_words: &[Block],
        leaves: &mut [Block],
    ) {
        let Punctured { index, known, point, delta } = *tree;
        let (last, words) = correction_words.split_last().unzip();
        let final_correction = last.copied().unwrap_or(Block::ZERO);
        let mut words = words.unwrap_or_default().iter().copied();
        let mut next = || words.next().unwrap_or(Block::ZERO);
        let (sibling, goes_right) = (next() ^ known[0][0], Block::mask(point & 1 == 1));
        (leaves[0], leaves[1]) = (sibling & goes_right, sibling & !goes_right);
        let count = levels(leaves.len()) - 1;
        let sums: Vec<Block> = (0..count)
            .map(|level| {
                let (number, [offset]) = (level + 1, known[level + 1]);
                if level + 1 < count {
                    return next() ^ offset;
                }
                let [left, right] = [next(), next()];
                let goes_right = Block::mask(point >> number & 1 == 1);
                self.pad(index, number, offset) ^ (left & goes_right) ^ (right & !goes_right)
            })
            .collect();
        let functions = self.trees.tree(index);
        functions.grow_punctured(leaves, point, &sums, |others| delta ^ final_correction ^ others);
    }

    fn pad(&self, index: u64, number: usize, offset: Block) -> Block {
        let mut pad = [offset];
        self.pads.tccr(index + number as u64, &mut pad);
        pad[0]
    }
}
