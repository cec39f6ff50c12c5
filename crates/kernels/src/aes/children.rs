//! The children of a level of a tree: hashes on the left, and on the right other hashes or the sums with the
//! parents.

use super::{Key, Schedule};
#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
use crate::Level;
#[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
use crate::aes::single;
#[cfg(target_arch = "x86_64")]
use crate::aes::x86;
use crate::block::Block;
use crate::{Backend, Kernels};

/// Replaces each block x of `left` by its hash h under the first key, and writes x ⊕ h, or its hash under the
/// second key if there is one, at the same index of `right`. Returns the sums of both sides, which must have
/// the same length.
pub fn children(key: &Key, right_key: Option<&Key>, left: &mut [Block], right: &mut [Block]) -> [Block; 2] {
    assert_eq!(left.len(), right.len(), "two children each");
    match (&key.0, right_key.map(|key| &key.0)) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of these levels exists only where their instructions do.
        (Schedule::Rounds(backend, first), None) => unsafe {
            match backend.level_for(Kernels::Aes) {
                Level::Avx512Vaes => x86::wide::children::<true>([first, first], left, right),
                Level::Avx2Vaes => x86::middle::children::<true>([first, first], left, right),
                _ => x86::narrow::children::<true>([first, first], left, right),
            }
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of these levels exists only where their instructions do.
        (Schedule::Rounds(backend, first), Some(Schedule::Rounds(_, second))) => unsafe {
            match backend.level_for(Kernels::Aes) {
                Level::Avx512Vaes => x86::wide::children::<false>([first, second], left, right),
                Level::Avx2Vaes => x86::middle::children::<false>([first, second], left, right),
                _ => x86::narrow::children::<false>([first, second], left, right),
            }
        },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: a key of this kind exists only where the instructions of its level do.
        (Schedule::Single(first), None) => unsafe { single::children::<true>([first, first], left, right) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: a key of this kind exists only where the instructions of its level do.
        (Schedule::Single(first), Some(Schedule::Single(second))) => unsafe {
            single::children::<false>([first, second], left, right)
        },
        _ => {
            right.copy_from_slice(left);
            key.ccr(left);
            match right_key {
                Some(key) => key.ccr(right),
                None => super::xor_into(right, left),
            }
            [sum(left), sum(right)]
        }
    }
}

/// Replaces each block by its hash under the key, and returns the sum of the hashes.
pub fn ccr_sum(key: &Key, blocks: &mut [Block]) -> Block {
    match &key.0 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of these levels exists only where their instructions do.
        Schedule::Rounds(backend, rounds) => unsafe {
            match backend.level_for(Kernels::Aes) {
                Level::Avx512Vaes => x86::wide::ccr_sum(rounds, blocks),
                Level::Avx2Vaes => x86::middle::ccr_sum(rounds, blocks),
                _ => x86::narrow::ccr_sum(rounds, blocks),
            }
        },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: a key of this kind exists only where the instructions of its level do.
        Schedule::Single(rounds) => unsafe { single::ccr_sum(rounds, blocks) },
        Schedule::Library(_) => {
            key.ccr(blocks);
            sum(blocks)
        }
    }
}

fn sum(blocks: &[Block]) -> Block {
    blocks.iter().fold(Block::ZERO, |sum, block| sum ^ *block)
}

/// Adds `value` to the block at the secret `index`, if there is such a block.
pub fn add_at(backend: Backend, blocks: &mut [Block], index: usize, value: Block) {
    match backend.level_for(Kernels::Aes) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::add_at(blocks, index, &value) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle::add_at(blocks, index, &value) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::add_at(blocks, index, &value) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        Level::Neon | Level::Simd128 => unsafe { single::add_at(blocks, index, &value) },
        _ => {
            for (i, block) in blocks.iter_mut().enumerate() {
                *block ^= value & Block::mask(i == index);
            }
        }
    }
}
