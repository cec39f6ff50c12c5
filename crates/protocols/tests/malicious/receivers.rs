//! Receivers that cheat.

use vesica_crypto::block::Block;
use vesica_ot::small_field::Width;
use vesica_ot::small_field::cheating::{Cheat, digit};
use vesica_ot::softspoken::cheating::Deviation;
use vesica_ot::testing::credible;
use vesica_ot::vole::cheating::ReceiverCheat as VoleCheat;
use vesica_protocols::testing::{Case, items_for, planted_for};
use vesica_protocols::vole_based::rr22::cheating::{Claims, ReceiverCheat, max_malicious_items};
use vesica_protocols::{Learns, Misbehaviour, Parameters, Profile};

use super::{
    MALICIOUS, case, cheating_receiver, delta_of_sender, is_failed_check, is_inconsistent, rows, sets,
};

/// The width of the fields that `vole` starts from.
const WIDTH: Width = Width::Eight;

#[test]
fn wrong_trees_end_the_run_unless_bits_of_delta_were_guessed() {
    let sets = sets(12, 9, 5);
    for (bits, runs) in [(1, 32), (2, 32)] {
        let trees: Vec<Cheat> = [(3, true), (90, false)][..bits]
            .iter()
            .map(|&(index, choice)| Cheat::Sum { index, choice })
            .collect();
        let mut accepted = 0;
        for seed in 0..runs {
            let case = case(Learns::Receiver, seed);
            let vole = VoleCheat { trees: trees.clone(), ..VoleCheat::default() };
            let cheat = ReceiverCheat { vole, ..ReceiverCheat::default() };
            let (learnt, sender) = cheating_receiver(&sets, &sets.receiver, case, &cheat);
            let right = trees.iter().all(|tree| tree.is_right(WIDTH, delta_of_sender(case)));
            assert_eq!(sender.is_ok(), right, "seed {seed}");
            match sender {
                // The trees are the honest ones then, and so is everything else.
                Ok(_) => {
                    assert_eq!(rows(&sets.receiver, &learnt.unwrap().matched), sets.receiver_rows);
                    accepted += 1;
                }
                Err(error) => assert!(is_inconsistent(&error) && learnt.is_err(), "{error}"),
            }
        }
        assert!(credible(accepted, runs as usize, 0.5f64.powi(bits as i32)), "{accepted} of {runs}");
    }
}

#[test]
fn base_correlations_that_do_not_fit_end_the_run_unless_a_digit_of_delta_was_guessed() {
    // Without noise, where the base correlations are the outputs, and with it, where they are its paths;
    // codes of every kind, and items of both.
    let lean = Parameters { profile: Profile::Lean, ..MALICIOUS };
    let ways = [
        (MALICIOUS, 12, 6),
        (Parameters { sigma: Some(32), ..MALICIOUS }, 12, 3),
        (MALICIOUS, 1500, 3),
        (lean, 700, 3),
        (lean, 3600, 2),
    ];
    for (parameters, receiver, runs) in ways {
        let sets = planted_for(&parameters, receiver, 9, 5, 1);
        let mut accepted = 0;
        for seed in 0..runs {
            let case = Case { parameters, ..case(Learns::Receiver, seed) };
            let true_digit = digit(WIDTH, delta_of_sender(case), 11);
            for guess in [true_digit, true_digit ^ 1, true_digit ^ 0x80] {
                let strings = vec![Deviation { group: 11, error: Block::from(5u128), guess }];
                let vole = VoleCheat { strings, ..VoleCheat::default() };
                let cheat = ReceiverCheat { vole, ..ReceiverCheat::default() };
                let (learnt, sender) = cheating_receiver(&sets, &sets.receiver, case, &cheat);
                assert_eq!(sender.is_ok(), guess == true_digit, "{parameters:?}, seed {seed}, {guess}");
                match sender {
                    // It has spoilt some of its own outputs, and learns no more than before.
                    Ok(_) => {
                        let matched = rows(&sets.receiver, &learnt.unwrap().matched);
                        assert!(matched.iter().all(|row| sets.receiver_rows.contains(row)));
                        accepted += 1;
                    }
                    Err(error) => assert!(is_inconsistent(&error), "{error}"),
                }
            }
        }
        assert_eq!(accepted, runs, "one guess of three is right");
    }
}

#[test]
fn a_base_ot_element_that_is_not_ones_own_ends_the_run() {
    let sets = sets(12, 9, 5);
    // The identity is refused; the sender's own element is taken, but whoever does not know its logarithm has
    // no strings, so that no tree of its fits.
    let echo = |opening: &[u8]| std::array::from_fn(|i| opening[i]);
    let identity = |_: &[u8]| [0; 32];
    for seed in 0..4 {
        let cheat = ReceiverCheat { base: Some(&identity), ..ReceiverCheat::default() };
        let (_, sender) = cheating_receiver(&sets, &sets.receiver, case(Learns::Receiver, seed), &cheat);
        let invalid = vesica_ot::Error::InvalidElement { position: 0 };
        assert_eq!(sender.unwrap_err(), Misbehaviour::Transfer(invalid).into());
        let cheat = ReceiverCheat { base: Some(&echo), ..ReceiverCheat::default() };
        let (_, sender) = cheating_receiver(&sets, &sets.receiver, case(Learns::Receiver, seed), &cheat);
        assert!(is_inconsistent(&sender.unwrap_err()));
    }
}

#[test]
fn a_store_of_too_many_items_matches_what_it_holds_within_the_bound() {
    // 1000 items tried in a band that was agreed for 300, against a sender that has them all.
    let keys: Vec<String> = (0..1000).map(|number| format!("key {number}")).collect();
    let mut sets = sets(300, 1000, 0);
    sets.sender = items_for(&MALICIOUS, &keys);
    let guesses = items_for(&MALICIOUS, &keys);
    let (learnt, sender) =
        cheating_receiver(&sets, &guesses, case(Learns::Receiver, 1), &ReceiverCheat::default());
    sender.unwrap();
    let learnt = learnt.unwrap();
    // Exactly what is in its store: the set that is extracted from it.
    assert_eq!(learnt.matched, learnt.stored);
    assert!(learnt.stored.len() > 400, "{} items", learnt.stored.len());
    assert!(learnt.stored.len() <= learnt.slots, "one more has probability 2^-128");
    assert!(learnt.slots <= max_malicious_items(300, 64));
}

#[test]
fn a_table_of_anything_matches_nothing() {
    let sets = sets(12, 9, 9);
    let noise = |table: &mut [Block]| {
        for (i, cell) in (1u128..).zip(table) {
            *cell ^= Block::from(i * 0x1234_5678_9abc_def1);
        }
    };
    let cheat = ReceiverCheat { table: &noise, ..ReceiverCheat::default() };
    let (learnt, sender) = cheating_receiver(&sets, &sets.receiver, case(Learns::Receiver, 1), &cheat);
    sender.unwrap();
    assert!(learnt.unwrap().matched.is_empty());
}

#[test]
fn matches_can_be_withheld_and_not_invented() {
    let sets = sets(12, 9, 5);
    let run = |claims: &Claims, seed| {
        let cheat = ReceiverCheat { claims, ..ReceiverCheat::default() };
        cheating_receiver(&sets, &sets.receiver, case(Learns::Both, seed), &cheat).1
    };
    for seed in 0..4 {
        let withheld = |mut pairs: Vec<(u32, u32)>| {
            pairs.truncate(3);
            pairs
        };
        let told = run(&withheld, seed).unwrap().unwrap();
        assert!(told.items() == 3 && told.rows().iter().all(|row| sets.sender_rows.contains(row)));
        // A position that did not match: with the proof of an item that did, and of one that did not.
        let invented = |pairs: Vec<(u32, u32)>, mine: u32| {
            let free = (0..9).find(|position| pairs.iter().all(|pair| pair.1 != *position));
            let mut pairs = pairs;
            pairs.push((mine, free.unwrap()));
            pairs
        };
        let with_a_right_proof = move |pairs: Vec<(u32, u32)>| {
            let mine = pairs[0].0;
            invented(pairs, mine)
        };
        let with_its_own = move |pairs: Vec<(u32, u32)>| {
            let mine = (0..12).find(|item| pairs.iter().all(|pair| pair.0 != *item)).unwrap();
            invented(pairs, mine)
        };
        // Two matches whose proofs have changed places.
        let exchanged = |mut pairs: Vec<(u32, u32)>| {
            (pairs[0].0, pairs[1].0) = (pairs[1].0, pairs[0].0);
            pairs
        };
        let all: [&Claims; 3] = [&with_a_right_proof, &with_its_own, &exchanged];
        for claims in all {
            assert!(is_failed_check(&run(claims, seed).unwrap_err()));
        }
    }
}

#[test]
fn the_senders_masks_are_no_proofs() {
    // A receiver that holds five of the nine claims them all, with the masks that it was sent, and those of
    // its own, as proofs; so does one that holds none.
    let forged = |claims: &[(u32, u32)], theirs: &[u128], proofs: Vec<u8>| {
        let proof = |&(_, position): &(u32, u32)| theirs[position as usize].to_le_bytes();
        let forged: Vec<u8> = claims.iter().flat_map(proof).collect();
        assert_eq!(forged.len(), proofs.len());
        forged
    };
    let all = |_: Vec<(u32, u32)>| (0..9).map(|position| (0, position)).collect();
    let true_ones = |pairs: Vec<(u32, u32)>| pairs;
    for common in [5, 0] {
        let sets = sets(12, 9, common);
        let claims: [&Claims; 2] = [&all, &true_ones];
        for claims in &claims[..if common > 0 { 2 } else { 1 }] {
            let cheat = ReceiverCheat { claims: *claims, proofs: &forged, ..ReceiverCheat::default() };
            let told = cheating_receiver(&sets, &sets.receiver, case(Learns::Both, 1), &cheat).1;
            assert!(is_failed_check(&told.unwrap_err()));
        }
    }
}
