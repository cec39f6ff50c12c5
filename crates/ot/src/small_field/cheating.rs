//! A tree maker that cheats: its message is the honest one except for the parts in which it lies, and those
//! fit together. Only tests can reach it.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::weighted_xor_sum::{BLOCKS, SeedStreams};

use vesica_crypto::transpose::ROWS;

use super::{Receiver, SUMS, TAG_BYTES, TREES, Width, hash_of, sum_of, tag};
use crate::pprf::{Shape, Trees};
use crate::security::Malicious;

/// A lie about a tree. Each is noticed unless a guess of bits of Δ is right.
#[derive(Clone, Copy, Debug)]
pub enum Cheat {
    /// A sender that chose `choice` in base OT `index` gets a wrong sum. It notices if bit `index` of Δ is
    /// `choice`.
    Sum {
        /// Of the base OT, and of Δ's bit.
        index: usize,
        /// The choice that is served badly.
        choice: bool,
    },
    /// The tags are those of a tree with another leaf `leaf`: noticed unless the sender lacks that leaf, the
    /// digit of Δ.
    Leaf {
        /// Which tree.
        group: usize,
        /// The leaf.
        leaf: usize,
    },
}

impl Cheat {
    /// Whether a sender with this Δ accepts the tree.
    #[must_use]
    pub fn is_right(self, width: Width, delta: Block) -> bool {
        match self {
            Self::Sum { index, choice } => delta.bit(index) != choice,
            Self::Leaf { group, leaf } => digit(width, delta, group) == leaf,
        }
    }
}

/// The bits of Δ that belong to a tree.
#[must_use]
pub fn digit(width: Width, delta: Block, group: usize) -> usize {
    (delta.to_u128() >> (group * width.bits())) as usize & ((1 << width.bits()) - 1)
}

impl Receiver<Malicious> {
    /// As [`Receiver::new`] against a sender that checks, with these lies.
    pub(crate) fn cheating(
        context: &Context,
        width: Width,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn rand_core::CryptoRng,
        cheats: &[Cheat],
    ) -> (Self, Vec<u8>) {
        let roots: Vec<Block> = (0..width.groups()).map(|_| Block::random(rng)).collect();
        let (receiver, mut message) = Self::with_roots(context, width, base, &roots);
        for &cheat in cheats {
            match cheat {
                Cheat::Sum { index, choice } => {
                    message[2 * Block::BYTES * index + Block::BYTES * usize::from(choice)] ^= 0x10;
                }
                Cheat::Leaf { group, leaf } => {
                    let mut leaves = vec![Block::ZERO; 1 << width.bits()];
                    leaves[0] = roots[group];
                    let tree = Trees::new(context, TREES, Shape::Plain).tree(group as u64);
                    tree.grow(&mut leaves, &mut vec![[Block::ZERO; 2]; width.bits()]);
                    leaves[leaf] ^= Block::from(1u128);
                    let (tags, _) = tag(context, group, &leaves);
                    let checks = &mut message[SUMS + 2 * TAG_BYTES * group..][..2 * TAG_BYTES];
                    checks.copy_from_slice(
                        &[Block::slice_as_bytes(&sum_of(&tags)), &hash_of(context, group, &tags)].concat(),
                    );
                }
            }
        }
        (receiver, message)
    }

    /// An honest receiver but for its roots: they are drawn until columns `alike` of v, among the first 128,
    /// are the same.
    pub(crate) fn grinding(
        context: &Context,
        width: Width,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn rand_core::CryptoRng,
        alike: [usize; 2],
    ) -> (Self, Vec<u8>) {
        let trees = Trees::new(context, TREES, Shape::Plain);
        let mut fits = |group: usize| {
            let mut leaves = vec![Block::ZERO; 1 << width.bits()];
            let root = Block::random(rng);
            leaves[0] = root;
            trees.tree(group as u64).grow(&mut leaves, &mut vec![[Block::ZERO; 2]; width.bits()]);
            let (_, seeds) = tag(context, group, &leaves);
            let (mut sum, mut rows) = ([Block::ZERO; BLOCKS], vec![[Block::ZERO; BLOCKS]; width.bits()]);
            SeedStreams::new(&seeds).sum_at(0, &mut sum, &mut rows);
            rows.iter().all(|row| row[0].bit(alike[0]) == row[0].bit(alike[1])).then_some(root)
        };
        let mut root = |group| (0..1 << 16).find_map(|_| fits(group)).unwrap_or(Block::ZERO);
        let roots: Vec<Block> = (0..width.groups()).map(&mut root).collect();
        Self::with_roots(context, width, base, &roots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small_field::Sender;
    use crate::small_field::tests::{context, deal_from};
    use crate::testing::credible;
    use vesica_crypto::prg::Prg;

    /// Runs with fresh Δ; whether each was accepted is what the guesses say, and so many are as the bits say.
    fn assert_accepted(width: Width, cheats: &[Cheat], guessed_bits: i32, runs: usize) {
        let mut rng = Prg::from_seed([guessed_bits as u8; 16]);
        let mut accepted = 0;
        for _ in 0..runs {
            let (pairs, delta, chosen) = deal_from(&mut rng);
            let (_, message) = Receiver::cheating(&context(), width, &pairs, &mut rng, cheats);
            let sender = Sender::<Malicious>::new(&context(), width, delta, &chosen, &message);
            let right = cheats.iter().all(|cheat| cheat.is_right(width, delta));
            assert_eq!(sender.is_ok(), right, "{cheats:?}");
            accepted += usize::from(right);
        }
        assert!(credible(accepted, runs, 0.5f64.powi(guessed_bits)), "{cheats:?}: {accepted} of {runs}");
    }

    #[test]
    fn each_wrong_sum_is_a_guess_of_one_bit() {
        let cheats = [(5, false), (100, true), (4, true), (77, false)]
            .map(|(index, choice)| Cheat::Sum { index, choice });
        for bits in 0..=4 {
            assert_accepted(Width::Two, &cheats[..bits], bits as i32, 300);
        }
    }

    #[test]
    fn each_wrong_leaf_is_a_guess_of_a_digit() {
        let leaf = |group, leaf| Cheat::Leaf { group, leaf };
        assert_accepted(Width::Two, &[leaf(3, 2)], 2, 300);
        assert_accepted(Width::Two, &[leaf(3, 2), leaf(63, 0)], 4, 300);
        assert_accepted(Width::Four, &[leaf(0, 13)], 4, 300);
        assert_accepted(Width::Eight, &[leaf(15, 200)], 8, 500);
        assert_accepted(Width::Two, &[leaf(1, 1), Cheat::Sum { index: 9, choice: true }], 3, 300);
    }

    #[test]
    fn with_the_right_guess_the_trees_are_the_honest_ones() {
        use super::super::tests::{EMPTY, assert_tiles};
        let mut rng = Prg::from_seed([40; 16]);
        let (pairs, delta, chosen) = deal_from(&mut rng);
        let width = Width::Four;
        let leaf = digit(width, delta, 7);
        let cheats = [Cheat::Leaf { group: 7, leaf }, Cheat::Sum { index: 90, choice: !delta.bit(90) }];
        let (mut receiver, message) = Receiver::cheating(&context(), width, &pairs, &mut rng, &cheats);
        let mut sender = Sender::<Malicious>::new(&context(), width, delta, &chosen, &message)
            .unwrap_or_else(|error| panic!("{error}"));
        let (mut v, mut w) = (EMPTY, EMPTY);
        let mut u = vec![[Block::ZERO; vesica_crypto::weighted_xor_sum::BLOCKS]; width.groups()];
        receiver.tile(&mut v, &mut u);
        sender.tile(&mut w);
        assert_tiles(width, delta, &v, &w, &u);
    }
}
