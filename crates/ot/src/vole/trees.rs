//! One tree for each block of noise: the words that the sender sends, and what either side grows from them.
//!
//! Tree i starts from correlated OTs with offset Δ, one for each level: the sender has q_l, the receiver
//! t_l = q_l ⊕ ¬α_l·Δ, where α_l is bit l of the path.
//!
//! The tree is a half-tree. Level one is (k, k ⊕ Δ) for the sender's random k. At level l the left nodes add up to K, which
//! is k at level one, and the right ones to K ⊕ Δ; the word q_l ⊕ K gives the receiver, who adds t_l, whichever sum it may
//! know. In the last level, whose two sums are independent, there are two words under the hashes of q_l and of q_l ⊕ Δ.
//!
//! **Why k is random** and level one not simply (q_1, q_1 ⊕ Δ), which would save a word: a receiver that cheats chooses
//! t_1. By trying seeds of its small trees it can give two noise trees one t_1 and one α_1, and they would be one tree.
//! With other choices at level two it would learn the left sum from one and the right sum from the other, and their sum
//! is Δ.

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};

use crate::pprf::{Shape, Trees, levels};

/// Children, and the pads of the words.
pub(super) struct Forest {
    trees: Trees,
    pads: FixedKey,
}

impl Forest {
    pub(super) fn new(context: &Context) -> Self {
        Self {
            trees: Trees::new(context, Label::new("vole: keys of the trees"), Shape::HalfTree),
            pads: FixedKey::of(context, Label::new("vole: pads of the words")),
        }
    }

    /// Grows a tree into `leaves`. `offsets` are the q_l, the first of which has the number `index` in this run, which is
    /// the tree's number, too; `root` is k; `gamma` is the sender's share of the VOLE of the noise value. The
    /// words are appended: the last one, γ ⊕ Σ leaves, lets the receiver, who has γ + Δ·β, complete the block.
    pub(super) fn grow(
        &self,
        index: u64,
        (offsets, delta): (&[[Block; 1]], Block),
        (root, gamma): (Block, Block),
        leaves: &mut [Block],
        words: &mut Vec<Block>,
    ) {
        (leaves[0], leaves[1]) = (root, root ^ delta);
        words.push(offsets[0][0] ^ root);
        let mut sums = vec![[Block::ZERO; 2]; levels(leaves.len()) - 1];
        let total = self.trees.tree(index).grow(leaves, &mut sums);
        let last = sums.len() - 1;
        for (level, [left, right]) in sums.into_iter().enumerate() {
            let (number, [offset]) = (level + 1, offsets[level + 1]);
            if level < last {
                words.push(offset ^ left);
            } else {
                // Who has the hash of q chose 0: its path goes right, and it may know the left sum.
                let (zero, one) = (self.pad(index, number, offset), self.pad(index, number, offset ^ delta));
                words.extend([zero ^ left, one ^ right]);
            }
        }
        words.push(gamma ^ total);
    }

    /// Grows all leaves but the one at `path`, and puts leaf + Δ·β there, from the VOLE `delta` = γ + Δ·β. `known` are the
    /// t_l; `words` has the length of the plan.
    pub(super) fn grow_punctured(
        &self,
        index: u64,
        known: &[[Block; 1]],
        (path, delta): (usize, Block),
        words: &[Block],
        leaves: &mut [Block],
    ) {
        let (completion, words) =
            words.split_last().map_or((Block::ZERO, words), |(last, words)| (*last, words));
        let mut words = words.iter().copied();
        let mut next = || words.next().unwrap_or(Block::ZERO);
        let (sibling, goes_right) = (next() ^ known[0][0], Block::mask(path & 1 == 1));
        (leaves[0], leaves[1]) = (sibling & goes_right, sibling & !goes_right);
        let count = levels(leaves.len()) - 1;
        let sums: Vec<Block> = (0..count)
            .map(|level| {
                let (number, [offset]) = (level + 1, known[level + 1]);
                if level + 1 < count {
                    return next() ^ offset;
                }
                let [left, right] = [next(), next()];
                let goes_right = Block::mask(path >> number & 1 == 1);
                self.pad(index, number, offset) ^ (left & goes_right) ^ (right & !goes_right)
            })
            .collect();
        let tree = self.trees.tree(index);
        tree.grow_punctured(leaves, path, &sums, |others| delta ^ completion ^ others);
    }

    fn pad(&self, index: u64, number: usize, offset: Block) -> Block {
        let mut pad = [offset];
        self.pads.tccr(index + number as u64, &mut pad);
        pad[0]
    }
}
