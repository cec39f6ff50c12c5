//! Parties of a VOLE that cheat: each is the honest one but for the pieces that it lies in, and makes all else that it
//! sends fit a guess of the other's secret. Nothing but tests can reach them.

use core::ops::Range;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};

use super::pieces::compressed_kept;
use super::plan::{self, Plan, Tree, WIDTH};
use super::sender::Correlations;
use super::session::{Opening, answer_with};
use super::trees::Forest;
use super::{Receiver, Sender};
use crate::Error;
use crate::base::masny_rindal;
use crate::pprf::{levels, sum};
use crate::security::Security;
use crate::small_field::cheating::Cheat;
use crate::small_field::message_bytes;
use crate::softspoken;
use crate::softspoken::cheating::Deviation;

/// What a receiver lies about.
#[derive(Clone, Debug, Default)]
pub struct ReceiverCheat {
    /// Its trees of the small-field VOLE.
    pub trees: Vec<Cheat>,
    /// Its strings in the first chunk of the extension: base correlations that do not fit.
    pub strings: Vec<Deviation>,
    /// Its first path, which leads to no leaf, in the first block that is not a power of two long.
    pub beyond: bool,
}

impl Receiver<Block> {
    /// As [`Receiver::new`] against a sender that checks, with these lies.
    ///
    /// # Panics
    /// If there are not 128 base OTs.
    #[must_use]
    pub fn cheating(
        context: &Context,
        plan: &Plan,
        base: &[[Block; 2]],
        rng: &mut dyn CryptoRng,
        cheat: &ReceiverCheat,
    ) -> (Self, Vec<u8>) {
        let [start, (mut twin, _)] = softspoken::Receiver::twins(context, WIDTH, base, rng, &cheat.trees);
        let mut paths = Self::draw_paths(plan, rng);
        if let (true, Some(tree)) = (cheat.beyond, uneven(plan)) {
            paths[tree] = plan.blocks().nth(tree).map_or(0, |block| block.len());
        }
        let (receiver, mut message) = Self::with_paths(context, plan, start, paths);
        let (chosen, places) = match plan.choices() {
            0 => (false, plan.places::<Block>()),
            choices => (true, choices.div_ceil(Block::BITS)),
        };
        let places = places.min(twin.chunk_places());
        let first = &mut message[message_bytes(WIDTH, Security::Malicious)..];
        twin.deviate(places, chosen, first, &cheat.strings);
        (receiver, message)
    }

    /// A receiver that gives its first two trees one first correlation, and paths that part at the second level. Were
    /// level one of a tree made of that correlation alone, the two would be one tree, of which it is told both sums.
    #[must_use]
    pub fn grinding(
        context: &Context,
        plan: &Plan,
        base: &[[Block; 2]],
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        let alike = [0, position(plan, 1).0];
        let start = softspoken::Receiver::grinding(context, WIDTH, base, rng, alike);
        let mut paths = Self::draw_paths(plan, rng);
        (paths[0], paths[1]) = (0, 2);
        Self::with_paths(context, plan, start, paths)
    }

    /// The sum of what the first two trees' words of the second level say to this receiver: Δ, if they are one tree.
    #[must_use]
    pub fn sum_of_two_trees(&self, words: &[u8]) -> Block {
        let (index, first) = position(&self.plan, 1);
        let words = words.as_chunks::<16>().0;
        let said = |index: usize, word: usize| self.known[index + 1][0] ^ Block::from_bytes(words[word + 1]);
        said(0, 0) ^ said(index, first)
    }

    /// What a receiver whose path leads `beyond` takes for Δ·β, if it has all leaves, and β.
    #[must_use]
    pub fn product_beyond(&self, words: &[u8]) -> Option<(Block, Block)> {
        let tree = uneven(&self.plan)?;
        let words = words.as_chunks::<16>().0;
        let (index, first) = position(&self.plan, tree);
        let block = self.plan.blocks().nth(tree)?;
        let count = plan::words(block.len());
        let of_tree: Vec<Block> =
            words[first..=first + count].iter().map(|word| Block::from_bytes(*word)).collect();
        let mut leaves = vec![Block::ZERO; block.len()];
        let known = &self.known[index..index + levels(block.len())];
        let forest = Forest::new(&self.context);
        // The path being beyond the leaves, nothing is completed.
        forest.grow_punctured(index as u64, known, (self.paths[tree], Block::ZERO), &of_tree, &mut leaves);
        let gamma = of_tree[count] ^ sum(&leaves);
        Some((self.values[tree], self.deltas[tree] ^ gamma))
    }
}

/// The first block of noise that is not a power of two long.
fn uneven(plan: &Plan) -> Option<usize> {
    plan.blocks().position(|block| !block.len().is_power_of_two())
}

/// The first correlated OT and the first word of a tree of the first piece.
fn position(plan: &Plan, tree: usize) -> (usize, usize) {
    plan.blocks().take(tree).fold((0, 0), |(index, word), block| {
        (index + levels(block.len()), word + plan::words(block.len()) + 1)
    })
}

/// A word of a tree that is wrong, and the path that the sender takes the receiver to have.
#[derive(Clone, Copy, Debug)]
pub struct WrongWord {
    /// Which tree, among those of all pieces.
    pub tree: usize,
    /// Which of its words; any number beyond them is the one that completes the tree.
    pub word: usize,
    /// By how much it is wrong.
    pub error: Block,
    /// The path; one for all wrong words of a tree.
    pub guess: usize,
}

impl Sender {
    /// As [`Sender::new`] against a receiver that checks, with these words; the sender's own noise is what the receiver
    /// has if the guesses are right.
    ///
    /// # Errors
    /// As [`Sender::new`].
    pub fn cheating(
        context: &Context,
        plan: &Plan,
        delta: Block,
        base: &[Block],
        message: &[u8],
        rng: &mut dyn CryptoRng,
        wrong: &[WrongWord],
    ) -> Result<(Self, Vec<u8>), Error> {
        let (mut sender, mut sent) = Self::new::<Block>(context, plan, delta, base, message, rng)?;
        let correlations = Correlations::new::<Block>(context, plan, delta, base, message)?;
        let forest = Forest::new(context);
        let each = sent.len() / Block::BYTES / plan.pieces().max(1);
        // All errors first: a tree may have several.
        for wrong in wrong {
            let Some((piece, tree, _)) = tree_of(plan, wrong.tree) else { continue };
            let words = &mut sent.as_chunks_mut::<16>().0[piece * each..][tree.words];
            let word = wrong.word.min(words.len() - 1);
            words[word] = (Block::from_bytes(words[word]) ^ wrong.error).to_bytes();
        }
        for wrong in wrong {
            let Some((piece, tree, block)) = tree_of(plan, wrong.tree) else { continue };
            let words = &sent.as_chunks::<16>().0[piece * each..][tree.words];
            let words: Vec<Block> = words.iter().map(|word| Block::from_bytes(*word)).collect();
            // A receiver with that path has q ⊕ ¬α·Δ.
            let index = tree.choices.start;
            let known: Vec<[Block; 1]> = (0..levels(block.len()))
                .map(|level| {
                    let [offset] = correlations.offsets[index + level];
                    [offset ^ (delta & Block::mask(wrong.guess >> level & 1 == 0))]
                })
                .collect();
            let leaves = &mut sender.noise[piece][block];
            let hole = (wrong.guess, correlations.gammas[wrong.tree]);
            forest.grow_punctured(index as u64, &known, hole, &words, leaves);
        }
        Ok((sender, sent))
    }
}

/// A tree by its number among those of all pieces: its piece, what it takes, and its block of that piece's noise.
fn tree_of(plan: &Plan, number: usize) -> Option<(usize, Tree, Range<usize>)> {
    let (piece, tree) = (number / plan.weight(), number % plan.weight());
    if piece >= plan.pieces() {
        return None;
    }
    Some((piece, plan.trees(piece).nth(tree)?, plan.blocks().nth(tree)?))
}

/// The paths that the honest receiver of [`answer`](super::answer) draws from this randomness.
pub fn paths_drawn(plan: &Plan, rng: &mut dyn CryptoRng) -> Vec<usize> {
    // What it draws before depends on nothing else.
    let context = Context::new(&[0; 32], "", b"", 0, 0);
    let _ = masny_rindal::Sender::new(&context, Label::new("any"), rng);
    let _ =
        softspoken::Receiver::new(&context, WIDTH, plan.security(), &[[Block::ZERO; 2]; Block::BITS], rng);
    Receiver::<Block>::draw_paths(plan, rng)
}

/// What the code of a run with this context makes of noise that is the same in all runs.
#[must_use]
pub fn fingerprint_of_code(context: &Context, plan: &Plan) -> Vec<Block> {
    let noise = (0..plan.noise() as u128).map(|i| Block::from(i * i + 3)).collect();
    compressed_kept(plan, &plan.code(context), Default::default(), vec![noise; plan.pieces()])
}

/// How many places the blocks of a piece's noise have.
#[must_use]
pub fn block_lengths(plan: &Plan) -> Vec<usize> {
    plan.blocks().map(|block| block.len()).collect()
}

/// [`Opening::new`] by a sender that has chosen its Δ.
#[must_use]
pub fn open(context: &Context, delta: Block, rng: &mut dyn CryptoRng) -> (Opening, Vec<u8>) {
    Opening::with_delta(context, delta, rng)
}

/// [`accept`](super::accept) by a receiver that goes on whatever the sender replies.
///
/// # Errors
/// If the connection fails or a message has another length than it must.
pub fn accept_anything(
    receiver: &mut Receiver<Block>,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(), Error> {
    match super::accept(receiver, plan, channel, rng) {
        Err(Error::Inconsistent) => {
            receiver.confirmed = true;
            Ok(())
        }
        accepted => accepted,
    }
}

/// [`answer`](super::answer) by a receiver that cheats.
///
/// # Errors
/// If the opening is not what it must be.
pub fn answer(
    context: &Context,
    plan: &Plan,
    opening: &[u8],
    rng: &mut dyn CryptoRng,
    cheat: &ReceiverCheat,
) -> Result<(Receiver<Block>, Vec<u8>), Error> {
    answer_with(context, opening, rng, |base, rng| Receiver::cheating(context, plan, base, rng, cheat))
}

/// [`Opening::respond`] by a sender that cheats.
///
/// # Errors
/// If the answer is not what it must be.
pub fn respond(
    opening: Opening,
    plan: &Plan,
    answer: &[u8],
    rng: &mut dyn CryptoRng,
    wrong: &[WrongWord],
) -> Result<(Sender, Vec<u8>), Error> {
    let context = opening.context().clone();
    opening.respond_with(answer, |delta, base, corrections| {
        Sender::cheating(&context, plan, delta, base, corrections, rng, wrong)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::Profile;
    use crate::small_field::tests::{context, deal_from};
    use crate::testing::credible;
    use crate::vole::Value;
    use crate::vole::check;
    use crate::vole::codes::Family;
    use vesica_crypto::prg::Prg;

    /// 200 blocks of noise, of five places and a few of six.
    fn plan() -> Plan {
        Plan::of_weight(510, 200, Security::Malicious)
    }

    /// Whether the check accepted a sender with these words; the relation must hold then. Told the receiver's paths.
    fn accepted(plan: &Plan, rng: &mut Prg, wrong: &[WrongWord], paths: impl FnOnce(&[usize])) -> bool {
        let (pairs, delta, chosen) = deal_from(rng);
        let (mut receiver, corrections) = Receiver::<Block>::new(&context(), plan, &pairs, rng);
        paths(receiver.paths());
        let a = receiver.values();
        let (mut sender, words) =
            Sender::cheating(&context(), plan, delta, &chosen, &corrections, rng, wrong)
                .unwrap_or_else(|error| panic!("{error}"));
        let challenge = receiver.challenge(&words, rng).unwrap_or_else(|error| panic!("{error}"));
        let reply = sender.reply(&challenge).unwrap_or_else(|error| panic!("{error}"));
        if let Err(error) = receiver.confirm(&reply) {
            assert_eq!(error, Error::Inconsistent);
            return false;
        }
        // The sender's noise is what it guessed: B is an honest one for it.
        let mut expected = sender.finish();
        Block::add_products(&mut expected, delta, &a);
        assert!(expected == receiver.finish());
        true
    }

    /// Whether the check accepted a sender with these words of a receiver whose paths `choose` has changed.
    fn accepted_with(
        plan: &Plan,
        rng: &mut Prg,
        wrong: &[WrongWord],
        choose: impl FnOnce(&mut [usize]),
    ) -> bool {
        let (pairs, delta, chosen) = deal_from(rng);
        let start = softspoken::Receiver::new(&context(), WIDTH, Security::Malicious, &pairs, rng);
        let mut paths = Receiver::<Block>::draw_paths(plan, rng);
        choose(&mut paths);
        let (mut receiver, corrections) = Receiver::<Block>::with_paths(&context(), plan, start, paths);
        let a = receiver.values();
        let (mut sender, words) =
            Sender::cheating(&context(), plan, delta, &chosen, &corrections, rng, wrong)
                .unwrap_or_else(|error| panic!("{error}"));
        let challenge = receiver.challenge(&words, rng).unwrap_or_else(|error| panic!("{error}"));
        let reply = sender.reply(&challenge).unwrap_or_else(|error| panic!("{error}"));
        if receiver.confirm(&reply).is_err() {
            return false;
        }
        let mut expected = sender.finish();
        Block::add_products(&mut expected, delta, &a);
        assert!(expected == receiver.finish());
        true
    }

    /// Whether a path of a block of five places reads that word.
    fn reads(word: usize, path: usize) -> bool {
        // Below four parents there are five leaves: the last is the sibling of the first.
        let (parents, siblings) = (4, 1);
        match word {
            2 => path >= parents,
            3 => path < siblings,
            _ => true,
        }
    }

    #[test]
    fn two_wrong_words_of_one_tree_are_a_guess_of_the_path() {
        let plan = plan();
        let mut rng = Prg::from_seed([51; 16]);
        for words in [[0, 1], [0, 3], [1, 2], [1, 4], [2, 3], [2, 4], [3, 4]] {
            for guess in 0..5 {
                for path in 0..5 {
                    let wrong =
                        words.map(|word| WrongWord { tree: 1, word, error: rng.block(), guess }).to_vec();
                    let accepted = accepted_with(&plan, &mut rng, &wrong, |paths| paths[1] = path);
                    let read = |path| words.iter().any(|&word| reads(word, path));
                    let good = if read(guess) { path == guess } else { !read(path) };
                    assert_eq!(accepted, good, "words {words:?}, guess {guess}, path {path}");
                }
            }
        }
    }

    #[test]
    fn wrong_words_of_several_pieces_are_guesses_of_all_their_paths() {
        let plan = Plan::of_weight(1500, 200, Security::Malicious).in_pieces(3);
        assert_eq!((plan.pieces(), plan.weight()), (3, 200));
        let mut rng = Prg::from_seed([52; 16]);
        let trees = [7, 2 * 200 + 7, 200 + 111];
        for count in 1..=trees.len() {
            // Each that is guessed wrong ends the run, wherever it stands.
            for missed in [None].into_iter().chain((0..count).map(Some)) {
                let mut wrong: Vec<WrongWord> = trees[..count]
                    .iter()
                    .map(|&tree| WrongWord { tree, word: usize::MAX, error: rng.block(), guess: 2 })
                    .collect();
                wrong[count - 1].word = 1;
                let accepted = accepted_with(&plan, &mut rng, &wrong, |paths| {
                    trees.iter().for_each(|&tree| paths[tree] = 2);
                    if let Some(missed) = missed {
                        paths[trees[missed]] = 3;
                    }
                });
                assert_eq!(accepted, missed.is_none(), "{count} words, {missed:?}");
            }
        }
    }

    /// Errors of the completing words of two trees under which two pairs of paths look alike to coefficients that are
    /// known before: (χ_a ⊕ χ_b)·e_1 = (χ_c ⊕ χ_d)·e_2 for the paths (a, c), which are guessed, and (b, d).
    fn fitted(
        plan: &Plan,
        known: &[Vec<Block>],
        trees: [usize; 2],
        guess: [usize; 2],
        other: [usize; 2],
    ) -> Vec<WrongWord> {
        let difference = |at: usize| {
            let (piece, _, block) = tree_of(plan, trees[at]).unwrap_or_else(|| panic!("a tree"));
            let coefficients = &known[piece][block];
            coefficients[guess[at]] ^ coefficients[other[at]]
        };
        [0, 1]
            .map(|at| WrongWord {
                tree: trees[at],
                word: usize::MAX,
                error: difference(1 - at),
                guess: guess[at],
            })
            .to_vec()
    }

    #[test]
    fn words_that_fit_coefficients_known_before_are_noticed() {
        let plan = Plan::of_weight(1020, 200, Security::Malicious).in_pieces(2);
        // The challenge of another run, to which the sender had sent the same words.
        let mut rng = Prg::from_seed([53; 16]);
        let (pairs, delta, chosen) = deal_from(&mut rng);
        let (mut receiver, corrections) = Receiver::<Block>::new(&context(), &plan, &pairs, &mut rng);
        let (_, words) = Sender::new::<Block>(
            &context(),
            &plan,
            delta,
            &chosen,
            &corrections,
            &mut Prg::from_seed([0; 16]),
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let challenge = receiver.challenge(&words, &mut rng).unwrap_or_else(|error| panic!("{error}"));
        let seed = Block::from_bytes(challenge.as_chunks::<16>().0[0]);
        let known: Vec<Vec<Block>> =
            (0..2).map(|piece| check::coefficients(seed, piece, plan.noise())).collect();
        let (guess, other) = ([1, 1], [2, 3]);
        for trees in [[0, 1], [4, 100], [0, 200 + 3]] {
            let wrong = fitted(&plan, &known, trees, guess, other);
            for (paths, right) in [(guess, true), (other, false)] {
                let accepted = accepted_with(&plan, &mut rng, &wrong, |all| {
                    (all[trees[0]], all[trees[1]]) = (paths[0], paths[1]);
                });
                assert_eq!(accepted, right, "trees {trees:?}, paths {paths:?}");
            }
        }
        // Had two pieces the same coefficients, one error at the same place of both would not show.
        let error = rng.block();
        let wrong = [3, 200 + 3].map(|tree| WrongWord { tree, word: usize::MAX, error, guess: 1 });
        for (path, right) in [(1, true), (2, false)] {
            let accepted = accepted_with(&plan, &mut rng, &wrong, |all| (all[3], all[203]) = (path, path));
            assert_eq!(accepted, right, "one error in two pieces, path {path}");
        }
    }

    #[test]
    fn codes_of_two_contexts_differ() {
        for family in [Family::Accumulate, Family::Convolute] {
            for length in [1800, 5000] {
                let plan = Plan::new(length, Profile::Conservative, Security::Malicious).with_family(family);
                let [one, again, other] = [0, 0, 1]
                    .map(|coin| fingerprint_of_code(&context().derive(Label::new("test"), &[coin]), &plan));
                assert!(one == again && one != other && one.len() == length, "{family:?}, {length}");
            }
        }
    }

    #[test]
    fn a_wrong_word_is_a_guess_of_the_path() {
        let plan = plan();
        let places = plan.blocks().next().map_or(0, |block| block.len());
        assert_eq!((places, plan::words(places)), (5, 4), "two words within, two at the end");
        let mut rng = Prg::from_seed([50; 16]);
        for word in 0..=4 {
            for guess in [0, 2, 4] {
                let mut passed = 0;
                // A guess that does not read the word is good for all paths that do not; one that does for itself.
                let good = |path| if reads(word, guess) { path == guess } else { !reads(word, path) };
                for _ in 0..16 {
                    let wrong = [WrongWord { tree: 0, word, error: rng.block(), guess }];
                    let mut path = 0;
                    let accepted = accepted(&plan, &mut rng, &wrong, |paths| path = paths[0]);
                    assert_eq!(accepted, good(path), "word {word}, guess {guess}, path {path}");
                    passed += usize::from(accepted);
                }
                let probability = (0..places).filter(|&path| good(path)).count() as f64 / places as f64;
                assert!(credible(passed, 16, probability), "word {word}, guess {guess}: {passed} of 16");
            }
        }
    }

    #[test]
    fn wrong_words_of_several_trees_are_guesses_of_all_their_paths() {
        let plan = plan();
        for trees in 1..=2 {
            let mut rng = Prg::from_seed([60 + trees as u8; 16]);
            let mut passed = 0;
            for _ in 0..70 {
                let wrong: Vec<WrongWord> = (0..trees)
                    .map(|tree| WrongWord { tree, word: 4, error: rng.block(), guess: tree + 1 })
                    .collect();
                let mut right = false;
                let accepted = accepted(&plan, &mut rng, &wrong, |paths| {
                    right = wrong.iter().all(|wrong| paths[wrong.tree] == wrong.guess);
                });
                assert_eq!(accepted, right);
                passed += usize::from(accepted);
            }
            assert!(credible(passed, 70, 0.2f64.powi(trees as i32)), "{trees} trees: {passed} of 70");
        }
    }

    #[test]
    fn two_trees_of_one_correlation_do_not_tell_delta() {
        let plan = plan();
        let mut rng = Prg::from_seed([90; 16]);
        let (pairs, delta, chosen) = deal_from(&mut rng);
        let (mut receiver, corrections) = Receiver::grinding(&context(), &plan, &pairs, &mut rng);
        let first = levels(plan.blocks().next().map_or(0, |block| block.len()));
        assert!(receiver.known[0] == receiver.known[first], "one first correlation");
        // Trees whose first level is that correlation, which is what saving a word in each would come to, are one if they
        // are hashed under one key; a key for each of them, which is there for another reason, is a second wall.
        let Correlations { offsets, .. } =
            Correlations::new::<Block>(&context(), &plan, delta, &chosen, &corrections)
                .unwrap_or_else(|error| panic!("{error}"));
        let forest = Forest::new(&context());
        let flawed = |keys: [usize; 2]| {
            let mut words = Vec::new();
            for (index, key) in [0, first].into_iter().zip(keys) {
                let (offsets, mut leaves) = (&offsets[index..index + first], vec![Block::ZERO; 5]);
                let root = (offsets[0][0], Block::ZERO);
                forest.grow(key as u64, (offsets, delta), root, &mut leaves, &mut words);
            }
            receiver.sum_of_two_trees(Block::slice_as_bytes(&words))
        };
        assert!(flawed([0, 0]) == delta, "the flaw");
        assert!(flawed([0, first]) != delta, "a key for each tree");
        // Ours are not, and nothing of it is noticed.
        let (mut sender, words) =
            Sender::new::<Block>(&context(), &plan, delta, &chosen, &corrections, &mut rng)
                .unwrap_or_else(|error| panic!("{error}"));
        assert!(receiver.sum_of_two_trees(&words) != delta);
        let challenge = receiver.challenge(&words, &mut rng).unwrap_or_else(|error| panic!("{error}"));
        let reply = sender.reply(&challenge).unwrap_or_else(|error| panic!("{error}"));
        receiver.confirm(&reply).unwrap_or_else(|error| panic!("{error}"));
        assert!((1..5).all(|leaf| receiver.noise[0][leaf] != receiver.noise[0][leaf + 5]));
    }

    #[test]
    fn a_path_to_no_leaf_does_not_tell_delta() {
        let plan = plan();
        let cheat = ReceiverCheat { beyond: true, ..ReceiverCheat::default() };
        let mut rng = Prg::from_seed([70; 16]);
        for _ in 0..20 {
            let (pairs, delta, chosen) = deal_from(&mut rng);
            let (receiver, corrections) = Receiver::cheating(&context(), &plan, &pairs, &mut rng, &cheat);
            let (_, words) = Sender::new::<Block>(&context(), &plan, delta, &chosen, &corrections, &mut rng)
                .unwrap_or_else(|error| panic!("{error}"));
            let (beta, product) = receiver.product_beyond(&words).unwrap_or_default();
            assert!(product != Block::ZERO && beta.times(delta) != product);
        }
    }

    #[test]
    fn a_receiver_that_lies_in_its_challenge_learns_nothing_it_can_use() {
        // The sender takes any challenge, and its replies to different ones are hashes of values that differ by Δ times
        // the lie.
        let plan = plan();
        let mut rng = Prg::from_seed([80; 16]);
        let (pairs, delta, chosen) = deal_from(&mut rng);
        let (mut receiver, corrections) = Receiver::<Block>::new(&context(), &plan, &pairs, &mut rng);
        let start = || {
            Sender::new::<Block>(
                &context(),
                &plan,
                delta,
                &chosen,
                &corrections,
                &mut Prg::from_seed([0; 16]),
            )
            .unwrap_or_else(|error| panic!("{error}"))
        };
        let challenge = receiver.challenge(&start().1, &mut rng).unwrap_or_else(|error| panic!("{error}"));
        let mut replies = Vec::new();
        for lie in 0..5u8 {
            let mut challenge = challenge.clone();
            challenge[16] ^= lie;
            let reply = start().0.reply(&challenge).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(reply == receiver.expected, lie == 0);
            assert!(!replies.contains(&reply));
            replies.push(reply);
        }
    }
}
