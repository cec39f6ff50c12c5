//! The relation, the noise, and what the outputs must not show.

use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_crypto::prg::Prg;

use super::sender::Secrets;
use super::*;
use crate::base::KeyAgreement;
use crate::error::Error;
use crate::security::{Malicious, Profile, Security, SemiHonest};
use crate::small_field::tests::{context, deal};

/// What both parties end with.
#[derive(PartialEq)]
struct Outputs<V> {
    delta: Block,
    a: Vec<V>,
    b: Vec<Block>,
    c: Vec<Block>,
}

impl<V: Value> Outputs<V> {
    fn assert_relation(self, plan: &Plan) {
        assert_eq!([self.a.len(), self.b.len(), self.c.len()], [plan.length(); 3]);
        let mut expected = self.b;
        V::add_products(&mut expected, self.delta, &self.a);
        assert!(expected == self.c, "{plan:?}");
    }
}

/// Both parties after flight 3, and that.
fn started<V: Value, S: Check<V>>(
    plan: &Plan,
    seed: u8,
    rng: &mut Prg,
) -> (receiver::Answered<V, S>, sender::Answered<S>, Vec<u8>) {
    let (pairs, delta, chosen) = deal(seed);
    let (receiver, corrections) = receiver::Answered::<V, S>::new(&context(), plan, &pairs, rng);
    assert_eq!(corrections.len(), plan.correction_bytes::<V>(S::SECURITY));
    let secrets = Secrets { delta, base: &chosen };
    let (sender, flight3) =
        sender::Answered::new::<V>(&context(), plan, &secrets, &corrections, rng).unwrap();
    assert_eq!(flight3.len(), plan.flight3_bytes());
    (receiver, sender, flight3)
}

fn ended<V: Value>((a, receiver): (Wiped<V>, receiver::Checked<V>), sender: sender::Checked) -> Outputs<V> {
    let sender::Expanded { delta, b } = sender.expand();
    Outputs { delta: *delta, a: a.into_vec(), b: b.into_vec(), c: receiver.expand().into_vec() }
}

fn semi_honest<V: Value>(plan: &Plan, seed: u8) -> Outputs<V> {
    let rng = &mut Prg::from_seed([seed; 16]);
    let (mut receiver, sender, flight3) = started::<V, SemiHonest>(plan, seed, rng);
    receiver.make_values();
    ended(receiver.accept(flight3).unwrap(), sender.accept())
}

/// A is made before the challenge, or else after it.
fn malicious<V: CheckedValue>(plan: &Plan, seed: u8, early: bool) -> Outputs<V> {
    let rng = &mut Prg::from_seed([seed; 16]);
    let (mut receiver, sender, flight3) = started::<V, Malicious>(plan, seed, rng);
    if early {
        receiver.make_values();
    }
    let (mut receiver, flight4) = receiver.challenge(&flight3, rng).unwrap();
    if !early {
        receiver.mask(V::zeros(plan.length()).into());
    }
    assert_eq!(flight4.len(), plan.flight4_bytes(Security::Malicious));
    let (sender, flight5) = sender.reply(&flight4).unwrap();
    assert_eq!(flight5.len(), plan.flight5_bytes(Security::Malicious));
    ended(receiver.check(&flight5).unwrap(), sender)
}

/// The relation over every kind of values, whatever the security.
fn assert_relation(plan: &Plan) {
    semi_honest::<Block>(plan, 1).assert_relation(plan);
    semi_honest::<u64>(plan, 2).assert_relation(plan);
    let [early, late] = [true, false].map(|early| malicious::<Block>(plan, 1, early));
    assert!(early == late, "A is the same before and after the challenge: {plan:?}");
    late.assert_relation(plan);
}

#[test]
fn c_is_b_plus_delta_times_a() {
    for length in [0, 1, 2, 7, 23, 24, 25, 127, 129, 1000, 1695, 1696, 1697, 4095, 4096, 4097, 5000, 16_385] {
        assert_relation(&Plan::new(length, Profile::Conservative));
    }
    for length in [401, 801, 3000, 65_535] {
        for weight in [Profile::Conservative.field_weight(), Profile::Lean.field_weight(), 200] {
            let plan = Plan::of_weight(length, weight);
            semi_honest::<Block>(&plan, 3).assert_relation(&plan);
        }
    }
}

#[test]
fn long_vectors_are_made_in_pieces() {
    let plan = Plan::of_weight(parameters::PIECE + 5, 200);
    assert_eq!(plan.pieces(), 2);
    semi_honest::<u64>(&plan, 4).assert_relation(&plan);
}

#[test]
fn any_number_of_threads_makes_the_same() {
    type Run = fn(&Plan, u8) -> Outputs<Block>;
    let runs = [
        (5000, semi_honest as Run),
        (5000, |plan, seed| malicious(plan, seed, false)),
        (2 * parameters::PIECE + 5, semi_honest),
    ];
    for (length, run) in runs {
        let plan = Plan::of_weight(length, 200);
        let one = run(&plan, 9);
        for threads in [2, 3] {
            assert!(run(&plan.clone().with_threads(threads), 9) == one, "{length}");
        }
    }
}

#[test]
fn checked_voles_of_several_pieces_or_two_rounds_are_right() {
    let pieces = Plan::of_weight(5000, 200).in_pieces(3);
    let one = malicious::<Block>(&pieces, 9, true);
    for threads in 1..=3 {
        let plan = pieces.clone().with_threads(threads);
        let outputs = malicious::<Block>(&plan, 9, false);
        assert!(outputs == one, "{threads} threads");
        outputs.assert_relation(&plan);
    }
    // A code of two rounds, in one room.
    let plan = Plan::of_weight((1 << 18) + 5, 200);
    malicious::<Block>(&plan, 10, false).assert_relation(&plan);
}

#[test]
fn correlated_ots_are_voles_of_bits() {
    for length in [0, 1, 129, 5000, 65_535, 65_536, 70_001] {
        let plan = Plan::of_bits(length, Profile::Conservative);
        for outputs in [semi_honest::<Bit>(&plan, 6), malicious::<Bit>(&plan, 6, true)] {
            let ones: usize = outputs.a.iter().map(|bit| usize::from(bit.number())).sum();
            assert!(length < 5000 || (2 * ones).abs_diff(length) < 6 * length.isqrt());
            outputs.assert_relation(&plan);
            assert_eq!(plan.pieces() > 0, length >= 65_536);
        }
    }
}

#[test]
fn a_sender_whose_words_are_wrong_is_noticed_or_guesses_a_path() {
    let plan = Plan::of_weight(2000, 200);
    // The word changed, how the reply fits, and whether the receiver's path shows it.
    let passes = |word: usize, bit: u8| {
        let rng = &mut Prg::from_seed([8; 16]);
        let (receiver, sender, mut words) = started::<Block, Malicious>(&plan, 7, rng);
        words[word * 16] ^= bit;
        let points = receiver.noise.points.to_vec();
        let (receiver, challenge) = receiver.challenge(&words, rng).unwrap();
        (receiver.check(&sender.reply(&challenge).unwrap().1).is_ok(), points)
    };
    assert!(passes(0, 0).0);
    // The first tree has 20 leaves, five levels, six words and a final correction. Its words of the last
    // level are two, for four pairs of siblings: the receiver reads the one that its path does not take, if
    // its leaf has a sibling.
    let (first, points) = passes(0, 1);
    assert!(!first);
    let (left, right) = (passes(4, 1).0, passes(5, 1).0);
    let (is_right, has_right) = (points[0] >= 16, points[0] < 4);
    assert_eq!((left, right), (!is_right, !has_right));
    assert!(!passes(6, 1).0);
}

#[test]
fn a_wrong_reply_is_noticed() {
    let plan = Plan::of_weight(2000, 200);
    for change in 0..4 {
        let rng = &mut Prg::from_seed([8; 16]);
        let (receiver, sender, words) = started::<Block, Malicious>(&plan, 8, rng);
        let (receiver, mut challenge) = receiver.challenge(&words, rng).unwrap();
        if change > 1 {
            challenge[16 * (change - 2)] ^= 1;
        }
        let (_, mut reply) = sender.reply(&challenge).unwrap();
        if change == 1 {
            reply[31] ^= 1;
        }
        assert_eq!(receiver.check(&reply).is_ok(), change == 0, "{change}");
    }
}

#[test]
fn messages_of_another_length_are_refused() {
    fn is_refused<T>(result: Result<T, Error>) -> bool {
        matches!(result, Err(Error::MessageLength { .. }))
    }
    for length in [10, 2000] {
        let plan = Plan::new(length, Profile::Conservative);
        let (pairs, delta, chosen) = deal(5);
        let rng = &mut Prg::from_seed([5; 16]);
        let (_, corrections) = receiver::Answered::<Block, SemiHonest>::new(&context(), &plan, &pairs, rng);
        let secrets = Secrets { delta, base: &chosen };
        for wrong in [&corrections[1..], &[], &[&corrections[..], &[0]].concat()] {
            let result =
                sender::Answered::<SemiHonest>::new::<Block>(&context(), &plan, &secrets, wrong, rng);
            assert!(is_refused(result));
        }
        let (receiver, ..) = started::<Block, SemiHonest>(&plan, 5, rng);
        assert!(is_refused(receiver.accept(vec![0; plan.flight3_bytes() + 1])));
        let (receiver, sender, mut flight3) = started::<Block, Malicious>(&plan, 5, rng);
        assert!(is_refused(sender.reply(&vec![0; plan.flight4_bytes(Security::Malicious) + 1])));
        let (receiver, _) = receiver.challenge(&flight3, rng).unwrap();
        assert!(is_refused(receiver.check(&vec![0; plan.flight5_bytes(Security::Malicious) + 1])));
        let (receiver, ..) = started::<Block, Malicious>(&plan, 5, rng);
        flight3.push(0);
        assert!(is_refused(receiver.challenge(&flight3, rng)));
    }
}

#[test]
fn noise_has_its_weight_at_uniform_points() {
    // Blocks of 1697 · 2 / 848 positions: four, some five long. Chi-square over the points of all blocks of
    // four.
    let plan = Plan::new(1697, Profile::Conservative);
    let mut rng = Prg::from_seed([6; 16]);
    let (pairs, ..) = deal(6);
    let mut counts = [0f64; 4];
    for _ in 0..40 {
        let (receiver, _) = receiver::Answered::<Block, SemiHonest>::new(&context(), &plan, &pairs, &mut rng);
        assert_eq!(receiver.noise.points.len(), 848);
        for (block, point) in plan.blocks().zip(receiver.noise.points.iter()) {
            assert!(*point < block.len());
            if block.len() == 4 {
                counts[*point] += 1.0;
            }
        }
    }
    let mean = counts.iter().sum::<f64>() / 4.0;
    assert!(mean > 5000.0);
    let chi: f64 = counts.iter().map(|count| (count - mean).powi(2) / mean).sum();
    // Three degrees of freedom: above 16.3 once in a thousand.
    assert!(chi < 16.3, "{chi}");
}

#[test]
fn blocks_cover_the_noise_once() {
    for length in [1697, 4096, 4097, 100_000, 1 << 20] {
        let plan = Plan::new(length, Profile::Conservative);
        let mut end = 0;
        for block in plan.blocks() {
            assert_eq!(block.start, end);
            assert!(block.len() >= 3);
            end = block.end;
        }
        assert_eq!(end, plan.noise());
        assert!(plan.noise() >= 2 * plan.outputs());
    }
}

/// The rank over GF(2) of vectors of 128 bits.
fn rank(vectors: &[Block]) -> usize {
    let mut basis: Vec<u128> = Vec::new();
    for vector in vectors {
        let mut rest = vector.to_u128();
        for element in &basis {
            rest = rest.min(rest ^ element);
        }
        if rest != 0 {
            basis.push(rest);
        }
    }
    basis.len()
}

#[test]
fn outputs_do_not_lie_in_a_subspace() {
    // Outputs are combinations of the noise values with coefficients 0 and 1. Whichever 300 outputs are
    // taken, their coefficients must have full rank: here by values that are unit vectors, 848 of them in
    // seven planes of 128.
    for length in [1697, 5000, 40_000] {
        let plan = Plan::new(length, Profile::Conservative);
        let code = plan.code(&context());
        let mut prg = Prg::from_seed([7; 16]);
        let places: Vec<usize> = plan
            .blocks()
            .map(|block| block.start + (prg.block().to_u128() % block.len() as u128) as usize)
            .collect();
        let planes: Vec<Vec<Block>> = places
            .chunks(128)
            .map(|places| {
                let mut noise = vec![Block::ZERO; plan.noise()];
                for (i, place) in places.iter().enumerate() {
                    noise[*place] = Block::from(1u128 << i);
                }
                super::codes::compressed(&code, &noise)
            })
            .collect();
        for first in [0, length / 2, length - 300] {
            assert_eq!(wide_rank(&planes, first..first + 300), 300, "{length}, {first}");
        }
    }
    // What comes of it: any 300 outputs span all 128 dimensions.
    let Outputs { a, b, .. } = semi_honest::<Block>(&Plan::new(5000, Profile::Conservative), 8);
    assert_eq!(rank(&a[..300]), 128);
    assert_eq!(rank(&b[4700..]), 128);
}

/// The rank over GF(2) of rows that are spread over several planes.
fn wide_rank(planes: &[Vec<Block>], rows: core::ops::Range<usize>) -> usize {
    let mut rows: Vec<Vec<u128>> =
        rows.map(|row| planes.iter().map(|plane| plane[row].to_u128()).collect()).collect();
    let mut rank = 0;
    for bit in 0..planes.len() * 128 {
        let set = |row: &[u128]| row[bit / 128] >> (bit % 128) & 1 == 1;
        let Some(pivot) = (rank..rows.len()).find(|row| set(&rows[*row])) else { continue };
        rows.swap(rank, pivot);
        let chosen = rows[rank].clone();
        for row in rows.iter_mut().skip(rank + 1).filter(|row| set(row)) {
            row.iter_mut().zip(&chosen).for_each(|(word, chosen)| *word ^= chosen);
        }
        rank += 1;
    }
    rank
}

#[test]
fn sums_of_few_outputs_are_not_biased() {
    // Every bit of single outputs and of sums of two to four neighbours, over 20,000 outputs: within six
    // standard deviations of one half.
    let a = semi_honest::<Block>(&Plan::new(20_000, Profile::Conservative), 9).a;
    for taken in 1..=4 {
        let mut ones = [0i32; 128];
        for window in a.windows(taken) {
            let sum = window.iter().fold(Block::ZERO, |sum, block| sum ^ *block).to_u128();
            ones.iter_mut().enumerate().for_each(|(bit, ones)| *ones += (sum >> bit & 1) as i32);
        }
        let total = (a.len() + 1 - taken) as i32;
        for ones in ones {
            assert!(
                (2 * ones - total).abs() < 6 * f64::from(total).sqrt() as i32,
                "{taken}: {ones} of {total}"
            );
        }
    }
}

const AGREEMENT: KeyAgreement = KeyAgreement::DiffieHellman;

#[test]
fn runs_over_a_channel_from_base_ots_on() {
    use vesica_channel::memory;
    fn run<S: Check<Block>>(length: usize, agreement: KeyAgreement) {
        let plan = Plan::new(length, Profile::Conservative).with_base_ots(agreement);
        let (mut here, mut there) = memory::pair();
        let ((a, c), sender::Expanded { delta, mut b }) = std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                receive::<Block, S>(&context(), &plan, &mut here, &mut Prg::from_seed([1; 16])).unwrap()
            });
            let sender = send::<Block, S>(&context(), &plan, &mut there, &mut Prg::from_seed([2; 16]));
            (receiver.join().unwrap(), sender.unwrap())
        });
        Block::add_products(&mut b, *delta, &a);
        assert!(*b == *c);
    }
    for agreement in KeyAgreement::ALL {
        run::<SemiHonest>(100, agreement);
        run::<SemiHonest>(2000, agreement);
        run::<Malicious>(100, agreement);
        run::<Malicious>(2001, agreement);
    }
}

#[test]
fn flights_of_another_kind_are_refused() {
    let plan = Plan::new(10, Profile::Conservative);
    let rng = &mut Prg::from_seed([3; 16]);
    let (opened, flight1) = sender::Opened::new(&context(), AGREEMENT, rng);
    let begun = |flight1: &[u8]| {
        receiver::Begun::<SemiHonest>::new(&context(), AGREEMENT, flight1, &mut Prg::from_seed([4; 16]))
    };
    assert!(begun(&flight1[1..]).is_err());
    assert!(begun(&vec![0xff; Plan::flight1_bytes(AGREEMENT)]).is_err());
    assert!(opened.prepare::<u64, SemiHonest>(&plan, &[]).is_err());

    let (begun, beginning) = begun(&flight1).unwrap();
    let (_, corrections) = begun.answer::<u64>(&plan, rng);
    let respond = |beginning: &[u8], corrections: &[u8]| {
        let rng = &mut Prg::from_seed([3; 16]);
        let (opened, _) = sender::Opened::new(&context(), AGREEMENT, rng);
        opened.prepare::<u64, SemiHonest>(&plan, beginning)?.respond::<u64>(&plan, corrections, rng)
    };
    assert!(respond(&beginning, &corrections).is_ok());
    for (beginning, corrections) in [
        (&beginning[1..], &corrections[..]),
        (&beginning[..beginning.len() - 1], &corrections[..]),
        (&beginning[..], &corrections[1..]),
    ] {
        assert!(respond(beginning, corrections).is_err());
    }
}

/// A receiver that guessed bits of Δ in its trees learns no sooner than another cheater that the run ends.
#[test]
fn wrong_trees_are_refused_when_all_of_flight_2_has_come() {
    let plan = Plan::new(300, Profile::Conservative);
    let rng = &mut Prg::from_seed([7; 16]);
    let (opened, flight1) = sender::Opened::new(&context(), AGREEMENT, rng);
    let (begun, mut beginning) =
        receiver::Begun::<Malicious>::new(&context(), AGREEMENT, &flight1, rng).unwrap();
    let (_, corrections) = begun.answer::<Block>(&plan, rng);
    *beginning.last_mut().unwrap() ^= 1;
    let prepared = opened.prepare::<Block, Malicious>(&plan, &beginning);
    let refused = prepared.unwrap().respond::<Block>(&plan, &corrections, rng);
    assert!(matches!(refused, Err(Error::Inconsistent)));
}

/// A ciphertext of a base OT that is not the one that was sent: the strings differ, whichever was chosen, and the trees
/// of a malicious run are refused.
#[test]
fn changed_base_ots_from_ml_kem_end_a_malicious_run() {
    let agreement = KeyAgreement::MlKem;
    let plan = Plan::new(300, Profile::Conservative).with_base_ots(agreement);
    for changed in [None, Some(0), Some(1087), Some(1088), Some(127 * 2176 + 2175)] {
        let rng = &mut Prg::from_seed([8; 16]);
        let (opened, flight1) = sender::Opened::new(&context(), agreement, rng);
        let begun = receiver::Begun::<Malicious>::new(&context(), agreement, &flight1, rng);
        let (begun, mut beginning) = begun.unwrap();
        let (_, corrections) = begun.answer::<Block>(&plan, rng);
        assert_eq!(beginning.len(), Plan::beginning_bytes(agreement, Security::Malicious));
        if let Some(at) = changed {
            beginning[at] ^= 1;
        }
        let prepared = opened.prepare::<Block, Malicious>(&plan, &beginning);
        let responded = prepared.unwrap().respond::<Block>(&plan, &corrections, rng);
        assert_eq!(responded.err(), changed.map(|_| Error::Inconsistent), "{changed:?}");
    }
}
