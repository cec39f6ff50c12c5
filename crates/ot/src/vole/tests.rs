//! The relation, the noise, and what the outputs must not show.

use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;

use super::*;
use crate::Error;
use crate::security::{Profile, Security};
use crate::small_field::tests::{context, deal};

/// Δ, A, B, C.
fn run<V: Value>(plan: &Plan, seed: u8) -> (Block, Vec<V>, Vec<Block>, Vec<Block>) {
    let (pairs, delta, chosen) = deal(seed);
    let mut rng = Prg::from_seed([seed; 16]);
    let (mut receiver, corrections) = Receiver::<V>::new(&context(), plan, &pairs, &mut rng);
    assert_eq!(corrections.len(), plan.receiver_bytes::<V>());
    let a = receiver.values();
    let (sender, words) = Sender::new::<V>(&context(), plan, delta, &chosen, &corrections, &mut rng).unwrap();
    assert_eq!(words.len(), plan.sender_bytes());
    let mut sender = sender;
    if plan.security() == Security::SemiHonest {
        receiver.accept(words).unwrap();
    } else {
        let challenge = receiver.challenge(&words, &mut rng).unwrap();
        assert_eq!(challenge.len(), plan.challenge_bytes());
        receiver.confirm(&sender.reply(&challenge).unwrap()).unwrap();
    }
    (delta, a, sender.finish(), receiver.finish())
}

fn assert_relation<V: Value>(plan: &Plan, seed: u8) {
    let (delta, a, b, c) = run::<V>(plan, seed);
    assert_eq!([a.len(), b.len(), c.len()], [plan.length(); 3]);
    let mut expected = b;
    V::add_products(&mut expected, delta, &a);
    assert!(expected == c, "{plan:?}");
}

#[test]
fn c_is_b_plus_delta_times_a() {
    for length in [0, 1, 2, 7, 23, 24, 25, 127, 129, 1000, 1695, 1696, 1697, 4095, 4096, 4097, 5000, 16_385] {
        for security in [Security::SemiHonest, Security::Malicious] {
            let plan = Plan::new(length, Profile::Conservative, security);
            assert_relation::<Block>(&plan, 1);
            if security == Security::SemiHonest {
                assert_relation::<u64>(&plan, 2);
            }
        }
    }
    for length in [401, 801, 3000, 65_535] {
        for weight in [Profile::Conservative.field_weight(), Profile::Lean.field_weight(), 200] {
            assert_relation::<Block>(&Plan::of_weight(length, weight, Security::SemiHonest), 3);
        }
    }
}

#[test]
fn expand_convolute_codes_keep_the_relation() {
    for length in [1, 4096, 4097, 8191, 8192, 20_000] {
        for security in [Security::SemiHonest, Security::Malicious] {
            let plan = Plan::new(length, Profile::Conservative, security).with_family(Family::Convolute);
            assert_relation::<Block>(&plan, 1);
            if security == Security::SemiHonest {
                assert_relation::<u64>(&plan, 2);
            }
        }
    }
    let plan = Plan::of_bits(70_000, Profile::Lean, Security::SemiHonest).with_family(Family::Convolute);
    let (delta, a, b, c) = run::<Bit>(&plan, 6);
    assert!(a.iter().zip(&b).zip(&c).all(|((a, b), c)| *c == *b ^ a.times(delta)));
}

#[test]
fn codes_of_different_families_differ() {
    let outputs = |family| {
        let plan = Plan::new(5000, Profile::Conservative, Security::SemiHonest).with_family(family);
        run::<Block>(&plan, 3).1
    };
    assert!(outputs(Family::Accumulate) != outputs(Family::Convolute));
}

#[test]
fn long_vectors_are_made_in_pieces() {
    let plan = Plan::of_weight(parameters::PIECE + 5, 200, Security::SemiHonest);
    assert_eq!(plan.pieces(), 2);
    assert_relation::<u64>(&plan, 4);
}

#[test]
fn any_number_of_threads_makes_the_same() {
    for (length, security) in [
        (5000, Security::SemiHonest),
        (5000, Security::Malicious),
        (2 * parameters::PIECE + 5, Security::SemiHonest),
    ] {
        let plan = Plan::of_weight(length, 200, security);
        let one = run::<Block>(&plan, 9);
        for threads in [2, 3] {
            assert!(run::<Block>(&plan.clone().with_threads(threads), 9) == one, "{length} {security:?}");
        }
    }
}

#[test]
fn correlated_ots_are_voles_of_bits() {
    for length in [0, 1, 129, 5000, 65_535, 65_536, 70_001] {
        for security in [Security::SemiHonest, Security::Malicious] {
            let plan = Plan::of_bits(length, Profile::Conservative, security);
            let (delta, a, b, c) = run::<Bit>(&plan, 6);
            let ones: usize = a.iter().map(|bit| usize::from(bit.number())).sum();
            assert!(length < 5000 || (2 * ones).abs_diff(length) < 6 * length.isqrt());
            for ((a, b), c) in a.iter().zip(&b).zip(&c) {
                assert!(*c == *b ^ a.times(delta));
            }
            assert_eq!(plan.pieces() > 0, length >= 65_536);
        }
    }
}

#[test]
fn a_sender_whose_words_are_wrong_is_noticed_or_guesses_a_path() {
    let plan = Plan::of_weight(2000, 200, Security::Malicious);
    let (pairs, delta, chosen) = deal(7);
    // The word changed, how the reply fits, and whether the receiver's path shows it.
    let passes = |word: usize, bit: u8| {
        let mut rng = Prg::from_seed([8; 16]);
        let (mut receiver, corrections) = Receiver::<Block>::new(&context(), &plan, &pairs, &mut rng);
        let (mut sender, mut words) =
            Sender::new::<Block>(&context(), &plan, delta, &chosen, &corrections, &mut rng).unwrap();
        words[word * 16] ^= bit;
        let paths = receiver.paths().to_vec();
        let challenge = receiver.challenge(&words, &mut rng).unwrap();
        (receiver.confirm(&sender.reply(&challenge).unwrap()).is_ok(), paths)
    };
    assert!(passes(0, 0).0);
    // The first tree has 20 leaves, five levels, six words and one that completes it. Its words of the last level are
    // two, for four pairs of siblings: the receiver reads the one that its path does not take, if its leaf has a sibling.
    let (first, paths) = passes(0, 1);
    assert!(!first);
    let (left, right) = (passes(4, 1).0, passes(5, 1).0);
    let (is_right, has_right) = (paths[0] >= 16, paths[0] < 4);
    assert_eq!((left, right), (!is_right, !has_right));
    assert!(!passes(6, 1).0);
}

#[test]
fn a_wrong_reply_is_noticed() {
    let plan = Plan::of_weight(2000, 200, Security::Malicious);
    let (pairs, delta, chosen) = deal(8);
    for change in 0..4 {
        let mut rng = Prg::from_seed([8; 16]);
        let (mut receiver, corrections) = Receiver::<Block>::new(&context(), &plan, &pairs, &mut rng);
        let (mut sender, words) =
            Sender::new::<Block>(&context(), &plan, delta, &chosen, &corrections, &mut rng).unwrap();
        let mut challenge = receiver.challenge(&words, &mut rng).unwrap();
        if change > 1 {
            challenge[16 * (change - 2)] ^= 1;
        }
        let mut reply = sender.reply(&challenge).unwrap();
        if change == 1 {
            reply[31] ^= 1;
        }
        assert_eq!(receiver.confirm(&reply).is_ok(), change == 0, "{change}");
    }
}

#[test]
fn messages_of_another_length_are_refused() {
    for length in [10, 2000] {
        let plan = Plan::new(length, Profile::Conservative, Security::SemiHonest);
        let (pairs, delta, chosen) = deal(5);
        let mut rng = Prg::from_seed([5; 16]);
        let (_, corrections) = Receiver::<Block>::new(&context(), &plan, &pairs, &mut rng);
        for wrong in [&corrections[1..], &[], &[&corrections[..], &[0]].concat()] {
            let result = Sender::new::<Block>(&context(), &plan, delta, &chosen, wrong, &mut rng);
            assert!(matches!(result, Err(Error::MessageLength { .. })));
        }
        let (mut receiver, _) = Receiver::<Block>::new(&context(), &plan, &pairs, &mut rng);
        let result = receiver.accept(vec![0; plan.sender_bytes() + 1]);
        assert!(matches!(result, Err(Error::MessageLength { .. })));
    }
}

#[test]
fn noise_has_its_weight_at_uniform_places() {
    // Blocks of 1697 · 2 / 848 places: four, some five long. Chi-square over the places of all blocks of four.
    let plan = Plan::new(1697, Profile::Conservative, Security::SemiHonest);
    let mut rng = Prg::from_seed([6; 16]);
    let (pairs, ..) = deal(6);
    let mut counts = [0f64; 4];
    for _ in 0..40 {
        let (receiver, _) = Receiver::<Block>::new(&context(), &plan, &pairs, &mut rng);
        assert_eq!(receiver.paths().len(), 848);
        for (block, path) in plan.blocks().zip(receiver.paths()) {
            assert!(*path < block.len());
            if block.len() == 4 {
                counts[*path] += 1.0;
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
        let plan = Plan::new(length, Profile::Conservative, Security::SemiHonest);
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
    // Outputs are combinations of the noise values with coefficients 0 and 1. Whichever 300 outputs are taken, their
    // coefficients must have full rank: here by values that are unit vectors, 848 of them in seven planes of 128.
    let lengths = [1697, 5000, 40_000].map(|length| (length, Family::Accumulate));
    for (length, family) in
        lengths.into_iter().chain([(5000, Family::Convolute), (40_000, Family::Convolute)])
    {
        let plan = Plan::new(length, Profile::Conservative, Security::SemiHonest).with_family(family);
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
            assert_eq!(wide_rank(&planes, first..first + 300), 300, "{length}, {first}, {family:?}");
        }
    }
    // What comes of it: any 300 outputs span all 128 dimensions.
    for family in [Family::Accumulate, Family::Convolute] {
        let plan = Plan::new(5000, Profile::Conservative, Security::SemiHonest).with_family(family);
        let (_, a, b, _) = run::<Block>(&plan, 8);
        assert_eq!(rank(&a[..300]), 128);
        assert_eq!(rank(&b[4700..]), 128);
    }
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
    // Every bit of single outputs and of sums of two to four neighbours, over 20,000 outputs: within six standard
    // deviations of one half.
    for (family, taken) in [Family::Accumulate, Family::Convolute]
        .into_iter()
        .flat_map(|family| (1..=4).map(move |taken| (family, taken)))
    {
        let plan = Plan::new(20_000, Profile::Conservative, Security::SemiHonest).with_family(family);
        let (_, a, ..) = run::<Block>(&plan, 9);
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

#[test]
fn runs_over_a_channel_from_base_ots_on() {
    use vesica_net::{Options, memory};
    for (length, security) in
        [(100, Security::SemiHonest), (2000, Security::SemiHonest), (2001, Security::Malicious)]
    {
        let plan = Plan::new(length, Profile::Conservative, security);
        let (mut here, mut there) = memory::pair(&Options::default());
        let ((a, c), (delta, mut b)) = std::thread::scope(|scope| {
            let receiver =
                scope.spawn(|| receive::<Block>(&context(), &plan, &mut here, &mut Prg::from_seed([1; 16])));
            let sender = send::<Block>(&context(), &plan, &mut there, &mut Prg::from_seed([2; 16]));
            (receiver.join().unwrap().unwrap(), sender.unwrap())
        });
        Block::add_products(&mut b, delta, &a);
        assert!(b == c);
    }
}

#[test]
fn openings_and_answers_of_another_kind_are_refused() {
    let plan = Plan::new(10, Profile::Conservative, Security::SemiHonest);
    let mut rng = Prg::from_seed([3; 16]);
    let (opening, message) = Opening::new(&context(), &mut rng);
    assert!(answer::<u64>(&context(), &plan, &message[1..], &mut rng).is_err());
    assert!(answer::<u64>(&context(), &plan, &[0xff; Opening::BYTES], &mut rng).is_err());
    assert!(opening.respond::<u64>(&plan, &[], &mut rng).is_err());
}
