//! Parties of a VOLE that cheat: each is the honest one but for the pieces that it lies in, and makes all
//! else that it sends fit a guess of the other's secret. Nothing but tests can reach them.

use core::ops::Range;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::Wiped;
use vesica_crypto::transpose::ROWS;

use super::codes::Code;
use super::multi_point::{MultiPointPprf, Punctured};
use super::pieces::compressed_kept;
use super::plan::{self, Plan, Tree, WIDTH};
use super::receiver::{self, base_ots, draw_points};
use super::sender::{self, Correlations, Opened, Secrets, Vector, extension};
use crate::base::{KeyAgreement, key_agreement};
use crate::error::Error;
use crate::pprf::{levels, sum};
use crate::security::{Malicious, Security};
use crate::small_field::cheating::Cheat;
use crate::small_field::message_bytes;
use crate::softspoken::cheating::Deviation;
use crate::softspoken::{self, Choices};

/// The receiver whose sender checks it, after flight 2.
pub type Receiver = receiver::Answered<Block, Malicious>;
/// The sender whose receiver checks it, after flight 3.
pub type Sender = sender::Answered<Malicious>;

/// What a receiver lies about.
#[derive(Clone, Debug, Default)]
pub struct ReceiverCheat {
    /// Its trees of the small-field VOLE.
    pub trees: Vec<Cheat>,
    /// Its strings in the first chunk of the extension: base correlations that do not fit.
    pub strings: Vec<Deviation>,
    /// Its first punctured point, which is beyond the leaves, in the first block that is not a power of two
    /// long.
    pub beyond: bool,
}

impl Receiver {
    /// As [`receiver::Answered::new`], with these lies.
    #[must_use]
    pub fn cheating(
        context: &Context,
        plan: &Plan,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn CryptoRng,
        cheat: &ReceiverCheat,
    ) -> (Self, Vec<u8>) {
        let [start, (mut twin, _)] = softspoken::Receiver::twins(context, WIDTH, base, rng, &cheat.trees);
        let mut points = draw_points(plan, rng);
        if let (true, Some(tree)) = (cheat.beyond, uneven(plan)) {
            points[tree] = plan.blocks().nth(tree).map_or(0, |block| block.len());
        }
        let (receiver, mut message) = Self::with_points(context, plan, start, points);
        let (chosen, count) = match plan.choices() {
            0 => (Choices::Random, plan.blocks_of_columns::<Block>()),
            choices => (Choices::Chosen, choices.div_ceil(Block::BITS)),
        };
        let count = count.min(twin.chunk_blocks());
        let first = &mut message[message_bytes(WIDTH, Security::Malicious)..];
        twin.deviate(count, chosen, first, &cheat.strings);
        (receiver, message)
    }

    /// A receiver that gives its first two trees one first correlation, and points whose paths part at the
    /// second level. Were level one of a tree made of that correlation alone, the two would be one tree, of
    /// which it is told both sums.
    #[must_use]
    pub fn grinding(
        context: &Context,
        plan: &Plan,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        let alike = [0, position(plan, 1).0];
        let start = softspoken::Receiver::grinding(context, WIDTH, base, rng, alike);
        let mut points = draw_points(plan, rng);
        (points[0], points[1]) = (0, 2);
        Self::with_points(context, plan, start, points)
    }

    /// The sum of what the first two trees' words of the second level say to this receiver: Δ, if they are
    /// one tree.
    #[must_use]
    pub fn sum_of_two_trees(&self, words: &[u8]) -> Block {
        let (index, first) = position(&self.noise.plan, 1);
        let words = words.as_chunks::<16>().0;
        let said =
            |index: usize, word: usize| self.noise.known[index + 1][0] ^ Block::from_bytes(words[word + 1]);
        said(0, 0) ^ said(index, first)
    }

    /// What a receiver whose point is `beyond` takes for Δ·β, if it has all leaves, and β.
    #[must_use]
    pub fn product_beyond(&self, words: &[u8]) -> Option<(Block, Block)> {
        let noise = &self.noise;
        let tree = uneven(&noise.plan)?;
        let words = words.as_chunks::<16>().0;
        let (index, first) = position(&noise.plan, tree);
        let block = noise.plan.blocks().nth(tree)?;
        let count = plan::correction_words(block.len());
        let of_tree: Vec<Block> =
            words[first..=first + count].iter().map(|word| Block::from_bytes(*word)).collect();
        let mut leaves = vec![Block::ZERO; block.len()];
        let known = &noise.known[index..index + levels(block.len())];
        // The point being beyond the leaves, no leaf is corrected.
        let punctured =
            Punctured { index: index as u64, known, point: noise.points[tree], delta: Block::ZERO };
        MultiPointPprf::new(&noise.context).grow_punctured(&punctured, &of_tree, &mut leaves);
        let gamma = of_tree[count] ^ sum(&leaves);
        Some((noise.values[tree], noise.deltas[tree] ^ gamma))
    }
}

/// The first block of noise that is not a power of two long.
fn uneven(plan: &Plan) -> Option<usize> {
    plan.blocks().position(|block| !block.len().is_power_of_two())
}

/// The first correlated OT and the first correction word of a tree of the first piece.
fn position(plan: &Plan, tree: usize) -> (usize, usize) {
    plan.blocks().take(tree).fold((0, 0), |(index, word), block| {
        (index + levels(block.len()), word + plan::correction_words(block.len()) + 1)
    })
}

/// A correction word that is wrong, and the punctured point that the sender takes the receiver to have.
#[derive(Clone, Copy, Debug)]
pub struct WrongWord {
    /// Which tree, among those of all pieces.
    pub tree: usize,
    /// Which of its words; any number beyond them is the final correction.
    pub word: usize,
    /// By how much it is wrong.
    pub error: Block,
    /// The point; one for all wrong words of a tree.
    pub guess: usize,
}

impl Sender {
    /// As [`sender::Answered::new`], with these words; the sender's own noise is what the receiver has if the
    /// guesses are right.
    ///
    /// # Errors
    /// As [`sender::Answered::new`].
    pub fn cheating(
        context: &Context,
        plan: &Plan,
        secrets: &Secrets<'_>,
        corrections: &[u8],
        rng: &mut dyn CryptoRng,
        wrong: &[WrongWord],
    ) -> Result<(Self, Vec<u8>), Error> {
        let (mut sender, mut sent) = Self::new::<Block>(context, plan, secrets, corrections, rng)?;
        let (mut extension, corrections) = extension(context, secrets, corrections)?;
        let correlations = Correlations::new::<Block, Malicious>(plan, &mut extension, corrections)?;
        let pprf = MultiPointPprf::new(context);
        let each = sent.len() / Block::BYTES / plan.pieces().max(1);
        // All errors first: a tree may have several.
        for wrong in wrong {
            let Some((piece, tree, _)) = tree_of(plan, wrong.tree) else { continue };
            let words = &mut sent.as_chunks_mut::<16>().0[piece * each..][tree.correction_words];
            let word = wrong.word.min(words.len() - 1);
            words[word] = (Block::from_bytes(words[word]) ^ wrong.error).to_bytes();
        }
        for wrong in wrong {
            let Some((piece, tree, block)) = tree_of(plan, wrong.tree) else { continue };
            let words = &sent.as_chunks::<16>().0[piece * each..][tree.correction_words];
            let words: Vec<Block> = words.iter().map(|word| Block::from_bytes(*word)).collect();
            // A receiver with that point has q ⊕ ¬α·Δ.
            let index = tree.choices.start;
            let known: Vec<[Block; 1]> = (0..levels(block.len()))
                .map(|level| {
                    let [offset] = correlations.offsets[index + level];
                    [offset ^ (secrets.delta & Block::mask(wrong.guess >> level & 1 == 0))]
                })
                .collect();
            let delta = correlations.gammas[wrong.tree];
            let punctured = Punctured { index: index as u64, known: &known, point: wrong.guess, delta };
            match &mut sender.grown.vector {
                Vector::Outputs(_) => (),
                Vector::Taken(code, room) => {
                    let (lengths, mut noise) = (plan.blocks().map(|block| block.len()), Vec::new());
                    code.taken(room, lengths, |part| noise.extend_from_slice(part));
                    pprf.grow_punctured(&punctured, &words, &mut noise[block]);
                    code.intake(room).push(&noise);
                }
                Vector::Noise(_, noise) => {
                    pprf.grow_punctured(&punctured, &words, &mut noise[piece][block]);
                }
            }
        }
        Ok((sender, sent))
    }
}

/// A tree by its number among those of all pieces: its piece, what it takes, and its block of that piece's
/// noise.
fn tree_of(plan: &Plan, number: usize) -> Option<(usize, Tree, Range<usize>)> {
    let (piece, tree) = (number / plan.weight(), number % plan.weight());
    if piece >= plan.pieces() {
        return None;
    }
    Some((piece, plan.trees(piece).nth(tree)?, plan.blocks().nth(tree)?))
}

/// The points that the honest receiver of [`receiver::Begun::answer`] draws from this randomness, if it
/// checks.
pub fn points_drawn(plan: &Plan, rng: &mut dyn CryptoRng) -> Vec<usize> {
    // What it draws before depends on nothing else.
    let context = Context::new(&[0; 32], "", b"", 0, 0);
    let flight1 = vec![0; Plan::flight1_bytes(plan.base_ots())];
    let _ = key_agreement::answer(plan.base_ots(), &context, Label::new("any"), ROWS, &flight1, rng);
    let base = [[Block::ZERO; 2]; ROWS];
    let _ = softspoken::Receiver::<Malicious>::new(&context, WIDTH, &base, rng);
    draw_points(plan, rng).into_vec()
}

/// What the code of a run with this context makes of noise that is the same in all runs.
#[must_use]
pub fn fingerprint_of_code(context: &Context, plan: &Plan) -> Vec<Block> {
    let noise: Vec<Block> = (0..plan.noise() as u128).map(|i| Block::from(i * i + 3)).collect();
    let pieces = (0..plan.pieces()).map(|_| noise.clone().into()).collect();
    compressed_kept(plan, &plan.code(context), pieces)
}

/// How many positions the blocks of a piece's noise have.
#[must_use]
pub fn block_lengths(plan: &Plan) -> Vec<usize> {
    plan.blocks().map(|block| block.len()).collect()
}

/// [`Opened::new`] by a sender that has chosen its Δ.
#[must_use]
pub fn open(
    context: &Context,
    agreement: KeyAgreement,
    delta: Block,
    rng: &mut dyn CryptoRng,
) -> (Opened, Vec<u8>) {
    Opened::with_delta(context, agreement, delta, rng)
}

/// [`Check::take_flight3`](super::Check::take_flight3) by a receiver that goes on whatever the sender replies:
/// A ⊕ `table`, and what C is made of.
///
/// # Errors
/// If the connection fails or a message has another length than it must.
pub fn accept_anything(
    receiver: Receiver,
    table: Wiped<Block>,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(Wiped<Block>, receiver::Checked<Block>), Error> {
    let mut flight3 = vec![0; plan.flight3_bytes()];
    channel.recv_exact(&mut flight3)?;
    let (mut receiver, flight4) = receiver.challenge(&flight3, rng)?;
    receiver.mask(table);
    channel.send(&flight4)?;
    channel.recv_exact(&mut vec![0; plan.flight5_bytes(Security::Malicious)])?;
    Ok(receiver.go_on())
}

/// [`receiver::Begun`] by a receiver that cheats: the whole of flight 2.
///
/// # Errors
/// If flight 1 is not what it must be.
pub fn answer(
    context: &Context,
    plan: &Plan,
    flight1: &[u8],
    rng: &mut dyn CryptoRng,
    cheat: &ReceiverCheat,
) -> Result<(Receiver, Vec<u8>), Error> {
    let (base, answer) = base_ots(context, plan.base_ots(), flight1, rng)?;
    let (receiver, corrections) = Receiver::cheating(context, plan, &base, rng, cheat);
    Ok((receiver, [answer, corrections].concat()))
}

/// The answer to the whole of flight 2 by a sender that cheats.
///
/// # Errors
/// If flight 2 is not what it must be.
pub fn respond(
    opened: Opened,
    plan: &Plan,
    flight2: &[u8],
    rng: &mut dyn CryptoRng,
    wrong: &[WrongWord],
) -> Result<(Sender, Vec<u8>), Error> {
    opened.with_base(flight2, |context, secrets, corrections| {
        Sender::cheating(context, plan, secrets, corrections, rng, wrong)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::Profile;
    use crate::small_field::tests::{context, deal_from};
    use crate::testing::credible;
    use crate::vole::multi_point::Full;
    use crate::vole::sender::Expanded;
    use crate::vole::{Value, check};
    use vesica_crypto::prg::Prg;

    /// 200 blocks of noise, of five places and a few of six.
    fn plan() -> Plan {
        Plan::of_weight(510, 200)
    }

    /// Whether the check accepted a sender with these words; the relation must hold then. Told the receiver's
    /// paths.
    fn accepted(plan: &Plan, rng: &mut Prg, wrong: &[WrongWord], paths: impl FnOnce(&[usize])) -> bool {
        let (pairs, delta, chosen) = deal_from(rng);
        let (receiver, corrections) = Receiver::new(&context(), plan, &pairs, rng);
        paths(&receiver.noise.points);
        let secrets = Secrets { delta, base: &chosen };
        let (sender, words) = Sender::cheating(&context(), plan, &secrets, &corrections, rng, wrong)
            .unwrap_or_else(|error| panic!("{error}"));
        is_accepted(receiver, sender, &words, rng)
    }

    /// Whether the check accepted a sender with these words of a receiver whose paths `choose` has changed.
    fn accepted_with(
        plan: &Plan,
        rng: &mut Prg,
        wrong: &[WrongWord],
        choose: impl FnOnce(&mut [usize]),
    ) -> bool {
        let (pairs, delta, chosen) = deal_from(rng);
        let start = softspoken::Receiver::new(&context(), WIDTH, &pairs, rng);
        let mut points = draw_points(plan, rng);
        choose(&mut points);
        let (receiver, corrections) = Receiver::with_points(&context(), plan, start, points);
        let secrets = Secrets { delta, base: &chosen };
        let (sender, words) = Sender::cheating(&context(), plan, &secrets, &corrections, rng, wrong)
            .unwrap_or_else(|error| panic!("{error}"));
        is_accepted(receiver, sender, &words, rng)
    }

    /// Whether the receiver accepts. The sender's noise is what it guessed: B is an honest one for it then.
    fn is_accepted(mut receiver: Receiver, sender: Sender, words: &[u8], rng: &mut Prg) -> bool {
        receiver.make_values();
        let (receiver, challenge) = receiver.challenge(words, rng).unwrap_or_else(|error| panic!("{error}"));
        let (sender, reply) = sender.reply(&challenge).unwrap_or_else(|error| panic!("{error}"));
        let (a, receiver) = match receiver.check(&reply) {
            Ok(checked) => checked,
            Err(error) => {
                assert_eq!(error, Error::Inconsistent);
                return false;
            }
        };
        let Expanded { delta, b: mut expected } = sender.expand();
        Block::add_products(&mut expected, *delta, &a);
        assert!(*expected == *receiver.expand());
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
        let plan = Plan::of_weight(1500, 200).in_pieces(3);
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

    /// Errors of the completing words of two trees under which two pairs of paths look alike to coefficients
    /// that are known before: (χ_a ⊕ χ_b)·e_1 = (χ_c ⊕ χ_d)·e_2 for the paths (a, c), which are guessed, and
    /// (b, d).
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
        let plan = Plan::of_weight(1020, 200).in_pieces(2);
        // The challenge of another run, to which the sender had sent the same words.
        let mut rng = Prg::from_seed([53; 16]);
        let (pairs, delta, chosen) = deal_from(&mut rng);
        let (receiver, corrections) = Receiver::new(&context(), &plan, &pairs, &mut rng);
        let secrets = Secrets { delta, base: &chosen };
        let fixed = &mut Prg::from_seed([0; 16]);
        let (_, words) = Sender::new::<Block>(&context(), &plan, &secrets, &corrections, fixed)
            .unwrap_or_else(|error| panic!("{error}"));
        let (_, challenge) = receiver.challenge(&words, &mut rng).unwrap_or_else(|error| panic!("{error}"));
        let seed = Block::from_bytes(challenge.as_chunks::<16>().0[0]);
        let known: Vec<Vec<Block>> = (0..2)
            .map(|piece| {
                let mut coefficients = check::Coefficients::new(&plan, seed, piece);
                let of_tree = |block: Range<usize>| {
                    let of_tree = coefficients.next(block.len());
                    (0..block.len()).map(move |position| of_tree.at(position).to_block()).collect::<Vec<_>>()
                };
                plan.blocks().flat_map(of_tree).collect()
            })
            .collect();
        // Where two paths are at the same places, it is enough to know the factors of their trees.
        for (guess, other) in [([1, 1], [2, 3]), ([1, 1], [2, 2])] {
            for trees in [[0, 1], [4, 100], [0, 200 + 3]] {
                let wrong = fitted(&plan, &known, trees, guess, other);
                for (paths, right) in [(guess, true), (other, false)] {
                    let accepted = accepted_with(&plan, &mut rng, &wrong, |all| {
                        (all[trees[0]], all[trees[1]]) = (paths[0], paths[1]);
                    });
                    assert_eq!(accepted, right, "trees {trees:?}, paths {paths:?}");
                }
            }
        }
        // In one tree it is enough to know χ. The path to 0 alone reads the last word but one, from which it makes 4, the
        // sibling of its point: (χ_0 ⊕ χ_4)·e ⊕ χ_0·e' = χ_1·e', which the path to 1 gives.
        assert_eq!(plan.blocks().next(), Some(0..5));
        let [zero, one, four] = [0, 1, 4].map(|position| known[0][position]);
        let errors = [(plan::correction_words(5) - 1, zero ^ one), (usize::MAX, zero ^ four)];
        let wrong = errors.map(|(word, error)| WrongWord { tree: 0, word, error, guess: 0 });
        for (path, right) in [(0, true), (1, false)] {
            let accepted = accepted_with(&plan, &mut rng, &wrong, |all| all[0] = path);
            assert_eq!(accepted, right, "two words of one tree, path {path}");
        }
        // Had two trees or two pieces the same coefficients, one error at the same place of both would not show.
        let error = rng.block();
        for trees in [[3, 4], [3, 200 + 3]] {
            let wrong = trees.map(|tree| WrongWord { tree, word: usize::MAX, error, guess: 1 });
            for (path, right) in [(1, true), (2, false)] {
                let accepted = accepted_with(&plan, &mut rng, &wrong, |all| {
                    (all[trees[0]], all[trees[1]]) = (path, path);
                });
                assert_eq!(accepted, right, "one error in trees {trees:?}, path {path}");
            }
        }
    }

    #[test]
    fn codes_of_two_contexts_differ() {
        for length in [1800, 5000] {
            let plan = Plan::new(length, Profile::Conservative);
            let [one, again, other] = [0, 0, 1]
                .map(|coin| fingerprint_of_code(&context().derive(Label::new("test"), &[coin]), &plan));
            assert!(one == again && one != other && one.len() == length, "{length}");
        }
    }

    #[test]
    fn a_wrong_word_is_a_guess_of_the_path() {
        let plan = plan();
        let places = plan.blocks().next().map_or(0, |block| block.len());
        assert_eq!((places, plan::correction_words(places)), (5, 4), "two words within, two at the end");
        let mut rng = Prg::from_seed([50; 16]);
        for word in 0..=4 {
            for guess in [0, 2, 4] {
                let mut passed = 0;
                // A guess that does not read the word is good for all paths that do not; one that does for
                // itself.
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
        let (receiver, corrections) = Receiver::grinding(&context(), &plan, &pairs, &mut rng);
        let first = levels(plan.blocks().next().map_or(0, |block| block.len()));
        assert!(receiver.noise.known[0] == receiver.noise.known[first], "one first correlation");
        // Trees whose first level is that correlation, which is what saving a word in each would come to, are
        // one if they are hashed under one key; a key for each of them, which is there for another reason, is
        // a second wall.
        let secrets = Secrets { delta, base: &chosen };
        let (mut extension, rest) =
            extension(&context(), &secrets, &corrections).unwrap_or_else(|error| panic!("{error}"));
        let Correlations { offsets, .. } = Correlations::new::<Block, Malicious>(&plan, &mut extension, rest)
            .unwrap_or_else(|error| panic!("{error}"));
        let pprf = MultiPointPprf::new(&context());
        let flawed = |keys: [usize; 2]| {
            let mut words = Vec::new();
            for (index, key) in [0, first].into_iter().zip(keys) {
                let (offsets, mut leaves) = (&offsets[index..index + first], vec![Block::ZERO; 5]);
                let root = offsets[0][0];
                let full = Full { index: key as u64, offsets, delta, root, gamma: Block::ZERO };
                pprf.grow(&full, &mut leaves, &mut words);
            }
            receiver.sum_of_two_trees(Block::slice_as_bytes(&words))
        };
        assert!(flawed([0, 0]) == delta, "the flaw");
        assert!(flawed([0, first]) != delta, "a key for each tree");
        // Ours are not, and nothing of it is noticed.
        let (sender, words) = Sender::new::<Block>(&context(), &plan, &secrets, &corrections, &mut rng)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(receiver.sum_of_two_trees(&words) != delta);
        let mut leaves = Vec::new();
        receiver.noise.grow_piece(1, 0, &words, |more| leaves.extend_from_slice(more));
        assert!((1..5).all(|leaf| leaves[leaf] != leaves[leaf + 5]));
        let (receiver, challenge) =
            receiver.challenge(&words, &mut rng).unwrap_or_else(|error| panic!("{error}"));
        let (_, reply) = sender.reply(&challenge).unwrap_or_else(|error| panic!("{error}"));
        assert!(receiver.check(&reply).is_ok());
    }

    #[test]
    fn a_path_to_no_leaf_does_not_tell_delta() {
        let plan = plan();
        let cheat = ReceiverCheat { beyond: true, ..ReceiverCheat::default() };
        let mut rng = Prg::from_seed([70; 16]);
        for _ in 0..20 {
            let (pairs, delta, chosen) = deal_from(&mut rng);
            let (receiver, corrections) = Receiver::cheating(&context(), &plan, &pairs, &mut rng, &cheat);
            let secrets = Secrets { delta, base: &chosen };
            let (_, words) = Sender::new::<Block>(&context(), &plan, &secrets, &corrections, &mut rng)
                .unwrap_or_else(|error| panic!("{error}"));
            let (beta, product) = receiver.product_beyond(&words).unwrap_or_default();
            assert!(product != Block::ZERO && beta.times(delta) != product);
        }
    }

    #[test]
    fn a_receiver_that_lies_in_its_challenge_learns_nothing_it_can_use() {
        // The sender takes any challenge, and its replies to different ones are hashes of values that differ
        // by Δ times the lie.
        let plan = plan();
        let mut rng = Prg::from_seed([80; 16]);
        let (pairs, delta, chosen) = deal_from(&mut rng);
        let (receiver, corrections) = Receiver::new(&context(), &plan, &pairs, &mut rng);
        let secrets = Secrets { delta, base: &chosen };
        let start = || {
            let rng = &mut Prg::from_seed([0; 16]);
            Sender::new::<Block>(&context(), &plan, &secrets, &corrections, rng)
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let (receiver, challenge) =
            receiver.challenge(&start().1, &mut rng).unwrap_or_else(|error| panic!("{error}"));
        let mut replies = Vec::new();
        for lie in 0..5u8 {
            let mut challenge = challenge.clone();
            challenge[16] ^= lie;
            let (_, reply) = start().0.reply(&challenge).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(reply == *receiver.expected, lie == 0);
            assert!(!replies.contains(&reply));
            replies.push(reply);
        }
    }
}
