//! Puncturable pseudo-random functions: trees of Goldreich, Goldreich and Micali, and half-trees.
//!
//! One side grows a tree of L leaves from its root. The other side grows all leaves but one; the position of
//! that leaf, the *punctured point*, is its secret. At each level the second side learns one sum of nodes,
//! that of the left or of the right ones: the side that its path does not take. From it follows the sibling
//! of the node that it lacks.
//!
//! **Security:** of the functions themselves: the missing leaf is pseudo-random to the second side. The
//! protocols that send the sums say which parties they withstand.
//!
//! **Half-tree** (Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, *Half-Tree*, eprint 2022/1431, figures 3 and 4):
//! the two nodes of level one are random but add up to Δ. A left child is the hash of its parent, and a right
//! child the sum of parent and left child. So every level adds up to Δ, and one correction word a level
//! suffices. The children of the last level are independent, or the leaves would add up to Δ, too. The hash
//! is a circular correlation-robust one in the random permutation model.
//!
//! **Plain**: all children are independent, with two permutation calls a parent and two correction words a
//! level.
//!
//! **Layout.** A node of a level is stored at the index of its path, in which the choice at level i has the
//! weight 2^(i-1): the left children of w parents replace the parents, and the right children follow behind
//! these w. If the leaves are not a power of two, the last level has fewer right children. Every leaf is
//! equally likely to be the punctured one.
//!
//! **No path gives all leaves.** An only child of the last level is in neither sum. A party that asks for a
//! leaf that does not exist, to the right of an only child, learns nothing about that child and lacks it
//! instead. If the only child were in the left sum, a party that lies about its path would have every leaf,
//! and with them what the sum of the leaves hides.
//!
//! **A key for each tree.** For every inner level the side that lacks a leaf knows a node x and the hash of x
//! ⊕ Δ, or that hash added to x ⊕ Δ. If all trees were hashed under one key of AES, an evaluation at one
//! guess of x ⊕ Δ could be compared with the values of all levels of all trees. A run of t trees with h
//! levels would lose log2(t·h) bits against such a search: 13 of 128 at 848 trees of 11 levels. So each tree
//! has its own keys, and only the levels of one tree remain.
//!
//! ```text
//! K                 = H(context, label)
//! keys of tree i    = AES_K(2i), AES_K(2i + 1)            left, right
//! ```
//!
//! **Constant time.** The path is secret. Every node of a level is accessed in the same way on every path.

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::tree::{add_at, correlated_children, independent_children, only_children};

/// How the children of inner nodes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Right child = parent + left child, except in the last level.
    HalfTree,
    /// Two independent hashes of the parent.
    Plain,
}

impl Shape {
    /// The number of nodes that a tree starts from: two of level one, or the root.
    pub(crate) fn start(self) -> usize {
        match self {
            Self::HalfTree => 2,
            Self::Plain => 1,
        }
    }
}

/// The number of levels below the root of a tree with so many leaves.
pub(crate) fn levels(leaves: usize) -> usize {
    leaves.next_power_of_two().ilog2() as usize
}

/// The trees of a context.
pub(crate) struct Trees {
    shape: Shape,
    keys: FixedKey,
}

impl Trees {
    /// The trees of this context. Trees of different labels are independent.
    pub(crate) fn new(context: &Context, label: Label, shape: Shape) -> Self {
        Self { shape, keys: FixedKey::of(context, label) }
    }

    /// The functions that make the children of tree `number`. No two trees have a key in common.
    pub(crate) fn tree(&self, number: u64) -> Tree {
        let mut keys = [0, 1].map(|side| Block::from(2 * u128::from(number) + side));
        self.keys.permute(&mut keys);
        Tree::new(self.shape, keys)
    }
}

/// The functions that make children.
pub(crate) struct Tree {
    shape: Shape,
    left: FixedKey,
    right: FixedKey,
    /// The left and the right child of a node that is zero.
    below_zero: [Block; 2],
}

impl Tree {
    fn new(shape: Shape, keys: [Block; 2]) -> Self {
        let [left, right] = keys.map(FixedKey::new);
        let mut below_zero = [Block::ZERO; 2];
        left.ccr(&mut below_zero[..1]);
        right.ccr(&mut below_zero[1..]);
        Self { shape, left, right, below_zero }
    }

    /// Grows the tree whose first nodes are at the beginning of `nodes` until it fills `nodes`. For each
    /// level it writes the sum of the left nodes that have a sibling, and that of the right nodes. Returns
    /// the sum of all leaves.
    pub(crate) fn grow(&self, nodes: &mut [Block], sums: &mut [[Block; 2]]) -> Block {
        debug_assert!(!sums.is_empty(), "at least one level");
        let (mut width, mut total) = (self.shape.start(), Block::ZERO);
        for sums in sums {
            let level = self.level(nodes, width);
            (*sums, total) = (level.sums, level.total());
            width = (2 * width).min(nodes.len());
        }
        debug_assert_eq!(width, nodes.len(), "one pair of sums for each level");
        total
    }

    /// Grows the tree that lacks the leaf `path`; the first node on that path is zero. `known` holds for each
    /// level the sum of the nodes on the side that the path does not take. `missing` makes the leaf from the
    /// sum of all others.
    pub(crate) fn grow_punctured(
        &self,
        nodes: &mut [Block],
        path: usize,
        known: &[Block],
        missing: impl Fn(Block) -> Block,
    ) {
        debug_assert!(!known.is_empty(), "at least one level");
        let mut width = self.shape.start();
        let total = nodes.len();
        for (number, known) in (1..=known.len()).rev().zip(known) {
            let children = (2 * width).min(total);
            let level = self.level(nodes, width);
            let Level { sums, correlated, .. } = level;
            let parent = path & (width - 1);
            let goes_right = Block::mask(path & width != 0);
            let (left, right) = nodes[..children].split_at_mut(width);
            let below = if correlated { [self.below_zero[0]; 2] } else { self.below_zero };
            // The children of the missing parent are wrong. The one on the path becomes zero, the other one
            // follows from the sum.
            let [missing_left, missing_right] = sums.map(|sum| *known ^ sum);
            let mut add_left = (missing_left & goes_right) ^ (below[0] & !goes_right);
            let mut add_right = (missing_right & !goes_right) ^ (below[1] & goes_right);
            if number == 1 {
                // An only child has no sibling to be mended.
                let others = level.total() ^ add_left ^ (add_right & Block::mask(parent < right.len()));
                let leaf = missing(others);
                (add_left, add_right) = (add_left ^ (leaf & !goes_right), add_right ^ (leaf & goes_right));
            }
            add_at(left, parent, add_left);
            add_at(right, parent, add_right);
            width = children;
        }
        debug_assert_eq!(width, total, "one sum for each level");
    }

    /// Replaces the first `width` nodes by their left children, and puts the right children behind them.
    fn level(&self, nodes: &mut [Block], width: usize) -> Level {
        let last = 2 * width >= nodes.len();
        let children = (2 * width).min(nodes.len());
        let (left, right) = nodes[..children].split_at_mut(width);
        let (left, only) = left.split_at_mut(right.len());
        let only = only_children(&self.left, only);
        let correlated = self.shape == Shape::HalfTree && !last;
        let sums = if correlated {
            correlated_children(&self.left, left, right)
        } else {
            independent_children([&self.left, &self.right], left, right)
        };
        Level { sums, only, correlated }
    }
}

/// The sums of a level.
struct Level {
    /// That of the left nodes that have a sibling, and that of the right nodes.
    sums: [Block; 2],
    /// That of the left nodes without a sibling.
    only: Block,
    correlated: bool,
}

impl Level {
    /// The sum of all its nodes.
    fn total(&self) -> Block {
        self.sums[0] ^ self.sums[1] ^ self.only
    }
}

/// The sum of all blocks.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn sum(blocks: &[Block]) -> Block {
    let (fours, rest) = blocks.as_chunks::<4>();
    let mut sums = [Block::ZERO; 4];
    for four in fours {
        sums.iter_mut().zip(four).for_each(|(sum, block)| *sum ^= *block);
    }
    rest.iter().chain(&sums).fold(Block::ZERO, |sum, block| sum ^ *block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use vesica_crypto::prg::Prg;

    fn trees(shape: Shape) -> Trees {
        Trees::new(&Context::new(&[3; 32], "test", b"", 0, 0), Label::new("trees"), shape)
    }

    fn tree(shape: Shape) -> Tree {
        trees(shape).tree(7)
    }

    /// A tree: its first two nodes, its leaves, the sums of its levels.
    struct Full {
        first: [Block; 2],
        leaves: Vec<Block>,
        sums: Vec<[Block; 2]>,
    }

    fn full(shape: Shape, leaves: usize, rng: &mut Prg) -> Full {
        let first = [rng.block(), rng.block()];
        let mut nodes = vec![Block::ZERO; leaves];
        nodes[..shape.start()].copy_from_slice(&first[..shape.start()]);
        let mut sums = vec![[Block::ZERO; 2]; levels(leaves) + 1 - shape.start()];
        assert!(tree(shape).grow(&mut nodes, &mut sums) == sum(&nodes));
        Full { first, leaves: nodes, sums }
    }

    /// The leaves of a party that learns the sums beside the path, and the last of these sums.
    fn punctured(shape: Shape, full: &Full, path: usize) -> (Vec<Block>, Block) {
        let mut nodes = vec![Block::ZERO; full.leaves.len()];
        if shape.start() == 2 {
            nodes[1 - path % 2] = full.first[1 - path % 2];
        }
        let beside = |(i, sums): (usize, &[Block; 2])| sums[1 - (path >> (i + shape.start() - 1) & 1)];
        let known: Vec<Block> = full.sums.iter().enumerate().map(beside).collect();
        let mut completed = nodes.clone();
        tree(shape).grow_punctured(&mut nodes, path, &known, |_| Block::ZERO);
        tree(shape).grow_punctured(&mut completed, path, &known, |others| {
            assert!(others == sum(&nodes), "{path} of {}", nodes.len());
            Block::ONES
        });
        for (i, (leaf, completed)) in nodes.iter().zip(&completed).enumerate() {
            assert!(*completed == *leaf ^ (Block::mask(i == path)), "{path}, {i}");
        }
        (nodes, known[known.len() - 1])
    }

    #[test]
    fn all_leaves_but_one_are_known() {
        let mut rng = Prg::from_seed([1; 16]);
        for shape in [Shape::HalfTree, Shape::Plain] {
            for leaves in [3, 4, 5, 6, 7, 8, 9, 13, 16, 31, 64, 100] {
                let full = full(shape, leaves, &mut rng);
                for sums in &full.sums[..full.sums.len() - 1] {
                    let correlated = sums[0] ^ sums[1] == full.first[0] ^ full.first[1];
                    assert_eq!(correlated, shape == Shape::HalfTree);
                }
                for path in 0..leaves {
                    let (punctured, _) = punctured(shape, &full, path);
                    for (i, (ours, theirs)) in full.leaves.iter().zip(&punctured).enumerate() {
                        let right = if i == path { *theirs == Block::ZERO } else { ours == theirs };
                        assert!(right, "{leaves}, {path}, {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_path_to_no_leaf_does_not_give_all_leaves() {
        let mut rng = Prg::from_seed([2; 16]);
        for shape in [Shape::HalfTree, Shape::Plain] {
            for leaves in [3, 5, 6, 7, 9, 13, 31, 100] {
                let full = full(shape, leaves, &mut rng);
                let half = leaves.next_power_of_two() / 2;
                for path in leaves..2 * half {
                    let (punctured, last) = punctured(shape, &full, path);
                    // The only child of the parent that the path leads to is not among the leaves, nor in the
                    // last sum.
                    for (i, (ours, theirs)) in full.leaves.iter().zip(&punctured).enumerate() {
                        assert_eq!(i == path - half, ours != theirs, "{leaves}, {path}, {i}");
                    }
                    assert!(last == sum(&full.leaves[..leaves - half]) && path - half >= leaves - half);
                }
            }
        }
    }

    #[test]
    fn trees_of_one_run_from_the_same_nodes_have_nothing_in_common() {
        for shape in [Shape::HalfTree, Shape::Plain] {
            let sets = [0, 1, 2, 9, 10, 1 << 32, u64::MAX].map(|number| {
                let mut nodes = vec![Block::ZERO; 16];
                (nodes[0], nodes[1]) = (Block::from(9u128), Block::from(5u128));
                let mut sums = vec![[Block::ZERO; 2]; levels(16) + 1 - shape.start()];
                trees(shape).tree(number).grow(&mut nodes, &mut sums);
                // Neither leaves nor what is told of any level.
                let known = sums.as_flattened().iter().map(|sum| sum.to_u128());
                nodes.iter().map(|node| node.to_u128()).chain(known).collect::<HashSet<_>>()
            });
            let all: HashSet<_> = sets.iter().flatten().collect();
            assert_eq!(all.len(), sets.iter().map(HashSet::len).sum::<usize>(), "{shape:?}");
        }
    }

    #[test]
    fn leaves_are_distinct_and_their_number_changes_no_leaf() {
        let tree = tree(Shape::Plain);
        let grown = |leaves| {
            let mut nodes = vec![Block::from(9u128); leaves];
            tree.grow(&mut nodes, &mut vec![[Block::ZERO; 2]; levels(leaves)]);
            nodes
        };
        let (nine, sixteen) = (grown(9), grown(16));
        assert!(nine[..] == sixteen[..9]);
        for (i, leaf) in sixteen.iter().enumerate() {
            assert!(!sixteen[..i].contains(leaf));
        }
    }
}
