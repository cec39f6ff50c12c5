//! Senders that cheat.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vesica_crypto::block::Block;
use vesica_encode::items::Items;
use vesica_encode::sorted::SortedError;
use vesica_ot::testing::credible;
use vesica_ot::vole::Plan;
use vesica_ot::vole::cheating::{WrongWord, block_lengths};
use vesica_protocols::testing::{
    Case, DIRECTIONS, Planted, Tampering, Target, items_for, lying_wire, planted_for, run_over, shape,
};
use vesica_protocols::vole_based::rr22::cheating::{CoinCheat, SenderCheat, mask_message};
use vesica_protocols::{Error, Learns, Misbehaviour, Parameters, Profile, Role};

use super::{MALICIOUS, case, cheating_sender, is_failed_check, is_inconsistent, points_of_receiver, sets};

#[test]
fn wrong_words_end_the_run_unless_a_path_was_guessed() {
    // So many items that there is noise; the third block of it has five places.
    let sets = sets(1450, 9, 5);
    let runs = 40;
    let mut accepted = 0;
    for seed in 0..runs {
        let case = case(Learns::Receiver, seed);
        let right = AtomicBool::new(false);
        let guess = |plan: &Plan| {
            let mut rng = StdRng::seed_from_u64(1000 + seed);
            let places = block_lengths(plan)[2];
            assert_eq!(places, 5);
            let guess = rng.next_u64() as usize % places;
            right.store(points_of_receiver(case, plan)[2] == guess, Relaxed);
            vec![WrongWord { tree: 2, word: usize::MAX, error: Block::random(&mut rng), guess }]
        };
        let cheat = SenderCheat { words: &guess, ..SenderCheat::default() };
        let result = cheating_sender(&sets, &sets.sender, case, &cheat);
        assert_eq!(result.is_ok(), right.into_inner(), "seed {seed}");
        match result {
            // The sender has what the receiver has: an honest run with other noise.
            Ok(matches) => {
                assert_eq!(matches.rows(), sets.receiver_rows);
                accepted += 1;
            }
            Err(error) => assert!(is_inconsistent(&error), "{error}"),
        }
    }
    assert!(credible(accepted, runs as usize, 0.2), "{accepted} of {runs}");
}

/// It would be of use to a sender whose trees are wrong.
#[test]
fn nothing_that_depends_on_a_has_left_when_the_reply_to_the_challenge_is_wrong() {
    // So many items that there are trees.
    let (sets, case) = (sets(1450, 9, 5), case(Learns::Receiver, 1));
    let shape = shape(&sets, case);
    let until = |role: Role, last: &str| {
        let messages = || super::ENTRY.sent(&shape).filter(|(message, _)| message.from == role);
        let last = messages().position(|(message, _)| message.what.starts_with(last)).unwrap();
        messages().take(last + 1).map(|(_, bytes)| bytes).sum::<u64>()
    };
    let (first, second, wire) = lying_wire(None);
    let honest = run_over(&super::ENTRY, &sets, case, (first, second));
    assert_eq!(honest.receiver.unwrap().rows(), sets.receiver_rows);
    // The sender's frame that ends with the reply.
    let frames = wire.frames()[1].clone();
    let mut ends = frames.iter().scan(0, |end, length| {
        *end += *length as u64;
        Some(*end)
    });
    let frame = ends.position(|end| end == until(Role::Sender, "reply")).unwrap();
    let target = Target { direction: DIRECTIONS[1], frame, tampering: Tampering::Flip { byte: 3 } };
    let (first, second, _) = lying_wire(Some(target));
    let ended = run_over(&super::ENTRY, &sets, case, (first, second));
    assert!(is_inconsistent(&ended.receiver.unwrap_err()));
    assert_eq!(ended.traffic.payload_sent, until(Role::Receiver, "challenge"));
    // The messages that are missing are those that depend on A.
    assert!(until(Role::Receiver, "A' = A + P") > ended.traffic.payload_sent + 16 * 1450);
}

#[test]
fn wrong_words_are_noticed_whatever_the_code_and_the_items() {
    let lean = Parameters { profile: Profile::Lean, ..MALICIOUS };
    let ways = [(lean, 700), (Parameters { sigma: Some(32), ..MALICIOUS }, 1450), (lean, 3600)];
    for (parameters, receiver) in ways {
        let sets = planted_for(&parameters, receiver, 9, 5, 1);
        for (seed, missed) in [(1, None), (2, Some(0)), (3, Some(1)), (4, Some(2))] {
            let case = Case { parameters, ..case(Learns::Receiver, seed) };
            // Two words of one tree, and one of another; guesses of their paths, at most one of which is
            // wrong.
            let words = |plan: &Plan| {
                let (paths, lengths) = (points_of_receiver(case, plan), block_lengths(plan));
                let trees = [5, 5, 333];
                let guessed = |at: usize| {
                    let wrong = missed.is_some_and(|missed| trees[missed] == trees[at]);
                    (paths[trees[at]] + usize::from(wrong)) % lengths[trees[at]]
                };
                let word = |at| WrongWord {
                    tree: trees[at],
                    word: [0, usize::MAX, 1][at],
                    error: Block::from(0x1234_5678u128 << at),
                    guess: guessed(at),
                };
                (0..3).map(word).collect()
            };
            let cheat = SenderCheat { words: &words, ..SenderCheat::default() };
            match cheating_sender(&sets, &sets.sender, case, &cheat) {
                Ok(matches) => assert!(missed.is_none() && matches.rows() == sets.receiver_rows),
                Err(error) => {
                    assert!(
                        missed.is_some() && is_inconsistent(&error),
                        "{parameters:?}, {missed:?}: {error}"
                    );
                }
            }
        }
    }
}

#[test]
fn coins_that_are_not_those_committed_to_end_the_run() {
    let sets = sets(12, 9, 5);
    for coins in [CoinCheat::Mirrored, CoinCheat::Cancelled, CoinCheat::Replayed, CoinCheat::Twice] {
        for seed in 0..4 {
            let cheat = SenderCheat { coins, ..SenderCheat::default() };
            let result = cheating_sender(&sets, &sets.sender, case(Learns::Receiver, seed), &cheat);
            assert!(is_failed_check(&result.unwrap_err()), "{coins:?}");
        }
    }
}

#[test]
fn a_mask_that_is_repeated_is_refused() {
    // One mask for all, which would show in the time of n_s matches; one mask twice; and, as a control, none.
    // Whether or not the receiver has the item: the sender is told no difference.
    let sets = sets(40, 9, 5);
    let of_all = |masks: Vec<u128>| mask_message(vec![masks[0]; masks.len()]);
    let twice = |mut masks: Vec<u128>| {
        masks[8] = masks[3];
        mask_message(masks)
    };
    let in_both =
        (0..9).filter(|&item| (0..40).any(|other| sets.sender.get(item) == sets.receiver.get(other)));
    assert!((1..9).contains(&in_both.count()));
    for learns in [Learns::Receiver, Learns::Both] {
        for masks in [&of_all as &(dyn Fn(Vec<u128>) -> Vec<u8> + Sync), &twice] {
            let cheat = SenderCheat { masks, ..SenderCheat::default() };
            let error = cheating_sender(&sets, &sets.sender, case(learns, 1), &cheat).unwrap_err();
            let repeated = |error: &Error| {
                matches!(
                    error,
                    Error::PeerMisbehaved(Misbehaviour::InvalidMasks(SortedError::Repeated { .. }))
                )
            };
            assert!(repeated(&error), "{error}");
        }
        let honest = SenderCheat::default();
        let matches = cheating_sender(&sets, &sets.sender, case(learns, 1), &honest);
        // Under `--learns both` this sender goes without waiting for the positions.
        assert!(matches.is_ok() || learns == Learns::Both);
    }
}

/// The rows that an honest run with this set of the sender's gives.
fn rows_with(sets: &Planted, sender: &Items) -> Vec<u64> {
    let in_both = |&item: &usize| (0..sender.len()).any(|other| sender.get(other) == sets.receiver.get(item));
    sets.receiver.matches((0..sets.receiver.len()).filter(in_both)).into_rows()
}

#[test]
fn any_delta_gives_the_output_of_the_senders_set() {
    let sets = sets(40, 9, 5);
    let chosen = [Block::ZERO, Block::from(1u128), Block::from(u128::MAX), Block::from(0xffu128 << 56)];
    for delta in chosen {
        let cheat = SenderCheat { delta: Some(delta), ..SenderCheat::default() };
        let matches = cheating_sender(&sets, &sets.sender, case(Learns::Receiver, 1), &cheat).unwrap();
        assert_eq!(matches.rows(), sets.receiver_rows);
    }
    // Masks made with another Δ than the one of the VOLE fit nothing.
    let cheat = SenderCheat { other_delta: Block::from(1u128), ..SenderCheat::default() };
    let matches = cheating_sender(&sets, &sets.sender, case(Learns::Receiver, 1), &cheat).unwrap();
    assert!(matches.rows().is_empty());
}

#[test]
fn masks_are_those_of_some_set_or_refused() {
    let sets = sets(40, 9, 5);
    let run = |items: &Items, masks: &(dyn Fn(Vec<u128>) -> Vec<u8> + Sync)| {
        let cheat = SenderCheat { masks, ..SenderCheat::default() };
        cheating_sender(&sets, items, case(Learns::Receiver, 1), &cheat)
    };
    // Another set than the one that it came with.
    let other = items_for(
        &MALICIOUS,
        &[
            "1-0@example.org",
            "1-1@example.org",
            "1-7@example.org",
            "x",
            "y",
            "z",
            "1-30@example.org",
            "u",
            "v",
        ],
    );
    let expected = rows_with(&sets, &other);
    assert!(expected.len() > 2);
    assert_eq!(run(&other, &mask_message).unwrap().rows(), expected);
    // Some masks of items, others of nothing.
    let half = |mut masks: Vec<u128>| {
        (1u128..).zip(&mut masks[4..]).for_each(|(number, mask)| *mask = number << 100);
        mask_message(masks)
    };
    let matches = run(&sets.sender, &half).unwrap();
    let kept: Vec<usize> = (0..40)
        .filter(|&item| (0..4).any(|other| sets.sender.get(other) == sets.receiver.get(item)))
        .collect();
    assert_eq!(matches.rows(), sets.receiver.matches(kept.into_iter()).rows());
    // Masks of nothing.
    let random = |masks: Vec<u128>| mask_message((0..masks.len() as u128).map(|i| i << 121 | 77).collect());
    assert!(run(&sets.sender, &random).unwrap().rows().is_empty());
    // Bytes that are not the form of a sorted list: not sorted, another number, bits beyond the end.
    let refused = |masks: &(dyn Fn(Vec<u128>) -> Vec<u8> + Sync)| {
        let error = run(&sets.sender, masks).unwrap_err();
        assert!(matches!(error, Error::PeerMisbehaved(Misbehaviour::InvalidMasks(_))), "{error}");
    };
    refused(&|masks| vec![0; mask_message(masks).len()]);
    refused(&|masks| vec![0xff; mask_message(masks).len()]);
    refused(&|masks| {
        let mut message = mask_message(masks);
        let last = message.len() - 1;
        message[last] ^= 0x80;
        message
    });
    // Nine equal high parts over low parts that fall.
    refused(&|masks| {
        let mut message = mask_message(vec![5; masks.len()]);
        message[0] ^= 0x40;
        message
    });
}
