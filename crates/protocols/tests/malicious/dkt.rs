//! Parties of `dkt` that cheat: one program for each check.

use vesica_encode::items::{Items, Matches};
use vesica_protocols::public_key::dkt10::ENTRY;
use vesica_protocols::public_key::dkt10::cheating::{self, ReceiverCheat, SenderCheat};
use vesica_protocols::testing::{
    DIRECTIONS, Planted, Tampering, Target, duel, items_for, lying_wire, run_over,
};
use vesica_protocols::{Error, Learns, Misbehaviour};

use super::{MALICIOUS, case, is_failed_check, sets};

/// A receiver that cheats, with `items` in place of its own, against an honest sender.
fn cheating_receiver(
    sets: &Planted,
    items: &Items,
    cheat: ReceiverCheat,
) -> (Result<Vec<u32>, Error>, Result<(), Error>) {
    duel(
        (&ENTRY, sets, case(Learns::Receiver, 1)),
        Box::new(|ctx| cheating::receive(ctx, items, cheat)),
        Box::new(|ctx| ENTRY.send(ctx, &sets.sender).map(|told| assert!(told.is_none()))),
    )
}

/// A sender that cheats, against an honest receiver.
fn cheating_sender(sets: &Planted, cheat: SenderCheat) -> Result<Matches, Error> {
    duel(
        (&ENTRY, sets, case(Learns::Receiver, 1)),
        Box::new(|ctx| ENTRY.receive(&mut ctx.reborrow(), &sets.receiver)?.matches()),
        Box::new(|ctx| cheating::send(ctx, &sets.sender, cheat)),
    )
    .0
}

fn rows(items: &Items, matched: &[u32]) -> Vec<u64> {
    items.matches(matched.iter().map(|&item| item as usize)).into_rows()
}

#[test]
fn the_cheats_of_dkt_that_do_not_cheat_are_honest() {
    let sets = sets(12, 9, 5);
    let (found, sender) = cheating_receiver(&sets, &sets.receiver, ReceiverCheat::Honest);
    sender.unwrap();
    assert_eq!(rows(&sets.receiver, &found.unwrap()), sets.receiver_rows);
    assert_eq!(cheating_sender(&sets, SenderCheat::Honest).unwrap().rows(), sets.receiver_rows);
}

/// A statement that is false for one item of many, or for two whose errors cancel out; wrong answers.
#[test]
fn a_receiver_without_the_exponents_ends_the_run() {
    let sets = sets(12, 9, 5);
    for cheat in [
        ReceiverCheat::Complement(11),
        ReceiverCheat::OppositeComplements(2, 7),
        ReceiverCheat::Blinding(5),
        ReceiverCheat::Response(0),
        ReceiverCheat::CommonResponse,
    ] {
        let (found, sender) = cheating_receiver(&sets, &sets.receiver, cheat);
        assert!(is_failed_check(&sender.unwrap_err()) && found.is_err(), "{cheat:?}");
    }
}

/// Whoever has M'_i has what it asked for, though the run ends then: z·M_i of elements that it cannot account for.
#[test]
fn flaw_answers_that_leave_before_the_proof_is_checked() {
    let (sets, case) = (sets(12, 9, 5), case(Learns::Receiver, 1));
    // The challenge, the common answer, and that of the last item.
    for byte in [0, 16, 48 + 11 * 32] {
        // The receiver's third frame is its proof.
        let target = Target { direction: DIRECTIONS[0], frame: 2, tampering: Tampering::Flip { byte } };
        let (first, second, wire) = lying_wire(Some(target));
        let ended = run_over(&ENTRY, &sets, case, (first, second));
        assert!(is_failed_check(&ended.sender.unwrap_err()), "byte {byte}");
        assert_eq!(wire.frames()[0][2], 48 + 12 * 32);
        assert_eq!(wire.frames()[1].iter().sum::<usize>(), 0, "byte {byte}: the sender has answered");
    }
}

/// Statements fitted to a challenge that they are no part of.
#[test]
fn the_receivers_challenge_takes_the_whole_statement() {
    for (items, cheat) in [(4, ReceiverCheat::FittedPairs), (1, ReceiverCheat::FittedX)] {
        let sets = sets(items, 9, 1);
        let (found, sender) = cheating_receiver(&sets, &sets.receiver, cheat);
        assert!(is_failed_check(&sender.unwrap_err()) && found.is_err(), "{cheat:?}");
    }
}

#[test]
fn the_identity_ends_the_run() {
    let sets = sets(4, 9, 1);
    for position in 0..5 {
        let (_, sender) = cheating_receiver(&sets, &sets.receiver, ReceiverCheat::Identity(position));
        assert_eq!(sender.unwrap_err(), Misbehaviour::InvalidElement { position }.into());
    }
    let refused = cheating_sender(&sets, SenderCheat::Identity).unwrap_err();
    assert_eq!(refused, Misbehaviour::InvalidElement { position: 0 }.into());
}

/// DKT10 extracts H(a) + H(b) and H(a) - H(b) from this receiver, which are hashes of nothing; and yet it has
/// found both a and b. It has tested as many keys as it declared, and that is the bound.
#[test]
fn a_receiver_that_blinds_products_tests_no_more_keys_than_it_declared() {
    let mut sets = sets(2, 9, 0);
    let keys: Vec<String> = (0..9).map(|number| format!("key {number}")).collect();
    sets.sender = items_for(&MALICIOUS, &keys);
    let guesses = items_for(&MALICIOUS, &keys[3..5]);
    let (found, sender) = cheating_receiver(&sets, &guesses, ReceiverCheat::Products);
    sender.unwrap();
    assert_eq!(rows(&guesses, &found.unwrap()), [0, 1]);
}

/// Other exponents for one element or for all, and errors that cancel out: unweighted, or by weights that can be
/// known before the elements are chosen; and a Z that was fitted to the challenge.
#[test]
fn a_sender_that_raises_to_other_exponents_ends_the_run() {
    let sets = sets(12, 9, 5);
    for cheat in [
        SenderCheat::AnotherPower(11),
        SenderCheat::AnotherSecret,
        SenderCheat::OppositeErrors(2, 7),
        SenderCheat::ErrorsFittedToWeights(2, 7),
        SenderCheat::FittedZ,
    ] {
        assert!(is_failed_check(&cheating_sender(&sets, cheat).unwrap_err()), "{cheat:?}");
    }
}

#[test]
fn a_sender_repeats_no_mask_and_may_choose_its_set() {
    let sets = sets(12, 9, 5);
    let refused = cheating_sender(&sets, SenderCheat::EqualMasks).unwrap_err();
    assert!(matches!(refused, Error::PeerMisbehaved(Misbehaviour::UnsortedMasks { .. })), "{refused}");
    // Masks of nothing: the set of nobody.
    assert!(cheating_sender(&sets, SenderCheat::Noise).unwrap().rows().is_empty());
}
