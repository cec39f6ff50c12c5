//! Levels of binary trees of blocks, from which puncturable pseudo-random functions are built.

use vesica_kernels::{Backend, aes};

use crate::aes_hash::FixedKey;
use crate::block::Block;

/// Replaces each node x of `left` by its left child H(x), where H is [`FixedKey::ccr`], and writes its right
/// child x ⊕ H(x) at the same index of `right`. Returns the sums of the left children and of the right
/// children.
///
/// # Panics
/// If the sides differ in length.
#[inline]
pub fn correlated_children(hash: &FixedKey, left: &mut [Block], right: &mut [Block]) -> [Block; 2] {
    aes::children(&hash.key, None, left, right)
}

/// Replaces each node of `left` by its hash under the first permutation, the left child, and writes its hash under the
/// second one, the right child, at the same index of `right`. Returns the sums of the left children and of the right
/// children.
///
/// # Panics
/// If the sides differ in length.
#[inline]
pub fn independent_children(hashes: [&FixedKey; 2], left: &mut [Block], right: &mut [Block]) -> [Block; 2] {
    aes::children(&hashes[0].key, Some(&hashes[1].key), left, right)
}

/// Replaces each node by its left child of [`independent_children`], and returns the sum of the children.
#[inline]
pub fn only_children(hash: &FixedKey, nodes: &mut [Block]) -> Block {
    aes::ccr_sum(&hash.key, nodes)
}

/// Adds `value` to the block at the secret `index`, if there is such a block, in a time that does not depend
/// on `index`.
#[inline]
pub fn add_at(blocks: &mut [Block], index: usize, value: Block) {
    add_at_on(Backend::detect(), blocks, index, value);
}

/// [`add_at`] by `backend`.
#[inline]
pub fn add_at_on(backend: Backend, blocks: &mut [Block], index: usize, value: Block) {
    aes::add_at(backend, blocks, index, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;

    #[test]
    fn children_follow_their_formulas() {
        let mut prg = Prg::from_seed([1; 16]);
        for backend in Backend::available() {
            let [first, second] = [3u128, 4].map(|key| FixedKey::with_backend(backend, Block::from(key)));
            for count in [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 32, 100] {
                let parents: Vec<Block> = (0..count).map(|_| prg.block()).collect();
                let [mut hashed, mut hashed_again] = [parents.clone(), parents.clone()];
                first.ccr(&mut hashed);
                second.ccr(&mut hashed_again);
                let sum = |blocks: &[Block]| blocks.iter().fold(Block::ZERO, |sum, block| sum ^ *block);
                let (mut left, mut right) = (parents.clone(), vec![Block::ONES; count]);
                let sums = correlated_children(&first, &mut left, &mut right);
                let added: Vec<Block> = parents.iter().zip(&hashed).map(|(x, h)| *x ^ *h).collect();
                assert!(left == hashed && right == added, "{backend:?}, {count}");
                assert!(sums == [sum(&left), sum(&right)], "{backend:?}, {count}");
                let mut only = parents.clone();
                assert!(
                    only_children(&first, &mut only) == sum(&hashed) && only == hashed,
                    "{backend:?}, {count}"
                );
                let (mut left, mut right) = (parents, vec![Block::ONES; count]);
                let sums = independent_children([&first, &second], &mut left, &mut right);
                assert!(left == hashed && right == hashed_again, "{backend:?}, {count}");
                assert!(sums == [sum(&left), sum(&right)], "{backend:?}, {count}");
            }
        }
    }

    #[test]
    fn adds_at_one_index() {
        let value = Block::from(u128::MAX / 7);
        for backend in Backend::available() {
            for count in [0, 1, 3, 4, 5, 8, 21] {
                for index in 0..count + 3 {
                    let mut blocks: Vec<Block> = (0..count as u128).map(|i| Block::from(i * i)).collect();
                    let mut expected = blocks.clone();
                    if let Some(block) = expected.get_mut(index) {
                        *block ^= value;
                    }
                    add_at_on(backend, &mut blocks, index, value);
                    assert!(blocks == expected, "{backend:?}, {index} of {count}");
                }
            }
        }
    }
}
