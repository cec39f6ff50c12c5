//! Cheating parties against `gbf-rr16`, one for each of its checks. What a malicious receiver does in the OTs
//! themselves is tested beside these (`vesica_ot::softspoken::cheating`).

use vesica_channel::memory;
use vesica_crypto::block::Block;
use vesica_ot::testing::credible;
use vesica_protocols::bloom_filter::rr16::cheating::{self, Learnt, OrderCheat, ReceiverCheat, SenderCheat};
use vesica_protocols::bloom_filter::rr16::parameters::Rr16Parameters;
use vesica_protocols::bloom_filter::rr16::{self, ENTRY};
use vesica_protocols::testing::{Planted, duel, items_for};
use vesica_protocols::{Ctx, Error, Learns, Misbehaviour, Misuse, OfflineSlot, Role};

use super::{MALICIOUS, case, is_failed_check, sets};

/// A cheating receiver that holds `items` against an honest sender.
fn against_sender(
    sets: &Planted,
    items: &vesica_encode::items::Items,
    seed: u64,
    cheat: ReceiverCheat,
) -> (Result<Learnt, Error>, Result<(), Error>) {
    duel(
        (&ENTRY, sets, case(Learns::Receiver, seed)),
        Box::new(move |ctx| cheating::receive(ctx, items, &cheat)),
        Box::new(|ctx| ENTRY.send(ctx, &sets.sender).map(|_| ())),
    )
}

/// What an honest receiver ends with against a cheating sender.
fn against_receiver(sets: &Planted, seed: u64, cheat: SenderCheat<'_>) -> Result<Vec<u64>, Error> {
    duel(
        (&ENTRY, sets, case(Learns::Receiver, seed)),
        Box::new(|ctx| Ok(ENTRY.receive(&mut ctx.reborrow(), &sets.receiver)?.matches()?.into_rows())),
        Box::new(|ctx| cheating::send(ctx, &sets.sender, cheat)),
    )
    .0
}

fn unchanged(masks: Vec<u128>) -> Vec<u128> {
    masks
}

#[test]
fn cheats_that_do_not_cheat_are_honest() {
    let sets = sets(12, 9, 5);
    let (learnt, sent) = against_sender(&sets, &sets.receiver, 1, ReceiverCheat::default());
    let rows = sets.receiver.matches(learnt.unwrap().matched.into_iter()).into_rows();
    assert_eq!(rows, sets.receiver_rows);
    sent.unwrap();
    let honest = SenderCheat { rows: &[], masks: &unchanged, id: false };
    assert_eq!(against_receiver(&sets, 1, honest).unwrap(), sets.receiver_rows);
}

/// The probability that so many ones in one group pass: at most N_maxones of them are among the opened OTs.
fn passing(parameters: &Rr16Parameters, ones: usize) -> f64 {
    assert_eq!(parameters.groups(), 1);
    let (ots, opened) = (parameters.ots(), parameters.opened());
    let mut factorials = vec![0.0];
    (1..=ots).for_each(|n| factorials.push(factorials[n - 1] + (n as f64).ln()));
    let choose = |n: usize, k: usize| factorials[n] - factorials[k] - factorials[n - k];
    let most = (parameters.most_opened_ones() as usize).min(ones);
    let exactly = |k: usize| choose(ones, k) + choose(ots - ones, opened - k) - choose(ots, opened);
    (0..=most).map(|k| exactly(k).exp()).sum()
}

/// Too many ones pass as often as the hypergeometric distribution says, and then serve no more keys than the
/// bound says; at the bound of the parameters they pass with less than e^-λ, and here never.
#[test]
fn too_many_ones_are_caught_as_often_as_predicted() {
    let sets = sets(3, 9, 3);
    let parameters = Rr16Parameters::for_items(3);
    let pass_of = |ones| passing(&parameters, ones);
    // So many that about every third one of them passes.
    let ones = (parameters.ones()..).step_by(5).find(|&ones| pass_of(ones) < 0.35).unwrap();
    assert!(pass_of(parameters.ones()) > 1.0 - 1e-12);
    assert!(pass_of((parameters.most_ones() + parameters.most_opened_ones()) as usize) < 2f64.powi(-40));
    let (runs, mut passed) = (40, 0);
    for seed in 0..runs {
        let cheat = ReceiverCheat { ones: Some(ones), ..ReceiverCheat::default() };
        let (learnt, sent) = against_sender(&sets, &sets.receiver, seed, cheat);
        match sent {
            Ok(()) => {
                let rows = sets.receiver.matches(learnt.unwrap().matched.into_iter()).into_rows();
                assert_eq!(rows, sets.receiver_rows);
                passed += 1;
            }
            Err(error) => assert!(is_failed_check(&error) && learnt.is_err(), "{error}"),
        }
    }
    assert!(credible(passed, runs as usize, pass_of(ones)), "{passed} of {runs}, {}", pass_of(ones));
    for ones in [(parameters.most_ones() + parameters.most_opened_ones()) as usize, parameters.ots()] {
        for seed in 0..5 {
            let cheat = ReceiverCheat { ones: Some(ones), full_filter: true, ..ReceiverCheat::default() };
            let (learnt, sent) = against_sender(&sets, &sets.receiver, seed, cheat);
            assert!(is_failed_check(&sent.unwrap_err()) && learnt.is_err());
        }
    }
}

/// A receiver that answers for its ones with zero lacks the strings of choice 0, and cannot give their sum.
#[test]
fn denied_ones_and_wrong_sums_end_the_run() {
    let sets = sets(3, 9, 3);
    let everything = Rr16Parameters::for_items(3).ots();
    let cheats = [
        ReceiverCheat { denied: 1, ..ReceiverCheat::default() },
        ReceiverCheat { denied: usize::MAX, ones: Some(everything), ..ReceiverCheat::default() },
        ReceiverCheat { denied: usize::MAX, ones: Some(2 * everything / 3), ..ReceiverCheat::default() },
        ReceiverCheat { sum: Block::from(1u128), ..ReceiverCheat::default() },
        ReceiverCheat { denied: 2, sum: Block::from(1u128 << 127), ..ReceiverCheat::default() },
    ];
    for cheat in cheats {
        for seed in 0..4 {
            let (learnt, sent) = against_sender(&sets, &sets.receiver, seed, cheat);
            assert!(is_failed_check(&sent.unwrap_err()) && learnt.is_err());
        }
    }
}

#[test]
fn a_permutation_that_is_none_ends_the_run() {
    let sets = sets(3, 9, 3);
    for order in [OrderCheat::Repeated, OrderCheat::Opened, OrderCheat::Beyond] {
        for seed in 0..4 {
            let cheat = ReceiverCheat { order, ..ReceiverCheat::default() };
            let (learnt, sent) = against_sender(&sets, &sets.receiver, seed, cheat);
            assert!(is_failed_check(&sent.unwrap_err()) && learnt.is_err(), "{order:?}");
        }
    }
}

/// OTs of choice 0 under set slots give strings that are no one's: the receiver has withheld its items.
#[test]
fn wrong_choices_under_the_filter_lose_matches() {
    let sets = sets(12, 9, 9);
    for seed in 0..4 {
        let cheat = ReceiverCheat { order: OrderCheat::Zeros, ..ReceiverCheat::default() };
        let (learnt, sent) = against_sender(&sets, &sets.receiver, seed, cheat);
        assert!(sent.is_ok() && learnt.unwrap().matched.is_empty());
    }
}

#[test]
fn another_coin_than_committed_to_or_another_offline_phase_ends_the_run() {
    let sets = sets(3, 9, 3);
    for seed in 0..4 {
        let cheat = ReceiverCheat { coin: true, ..ReceiverCheat::default() };
        let (learnt, sent) = against_sender(&sets, &sets.receiver, seed, cheat);
        assert!(is_failed_check(&sent.unwrap_err()) && learnt.is_err());
        let cheat = ReceiverCheat { id: true, ..ReceiverCheat::default() };
        let (learnt, sent) = against_sender(&sets, &sets.receiver, seed, cheat);
        assert_eq!(sent.unwrap_err(), Error::PeerMisbehaved(Misbehaviour::OtherOfflinePhase));
        assert!(learnt.is_err());
        let cheat = SenderCheat { rows: &[], masks: &unchanged, id: true };
        let received = against_receiver(&sets, seed, cheat);
        assert_eq!(received.unwrap_err(), Error::PeerMisbehaved(Misbehaviour::OtherOfflinePhase));
    }
}

/// A filter as full as the ones allow holds no key that was not chosen for it: the sender's keys are not
/// learnt, though the receiver tries all of them.
#[test]
fn a_full_filter_holds_no_foreign_key() {
    let sets = sets(20, 300, 0);
    let parameters = Rr16Parameters::for_items(20);
    let cheat = ReceiverCheat { full_filter: true, ..ReceiverCheat::default() };
    let (learnt, sent) = against_sender(&sets, &sets.sender, 1, cheat);
    sent.unwrap();
    let learnt = learnt.unwrap();
    assert!(learnt.matched.is_empty(), "{} keys", learnt.matched.len());
    // Its ones are fewer than N_1, and nearly as many as an honest receiver's.
    assert!(learnt.set < parameters.most_ones() as usize && learnt.set >= 20 * parameters.hashes());
}

/// Of more keys than declared, a receiver learns what an honest one with so many keys learns. All of them are
/// extractable, and fewer than the bound says.
#[test]
fn more_keys_than_declared_are_an_input_within_the_bound() {
    let keys: Vec<String> = (0..22).map(|key| format!("key {key}")).collect();
    let (all, declared) = (items_for(&MALICIOUS, &keys), items_for(&MALICIOUS, &keys[..20]));
    let sets =
        Planted { receiver: declared, sender: all, receiver_rows: Vec::new(), sender_rows: Vec::new() };
    let (learnt, sent) = against_sender(&sets, &sets.sender, 1, ReceiverCheat::default());
    sent.unwrap();
    let learnt = learnt.unwrap().matched;
    assert_eq!(learnt, (0..22).collect::<Vec<_>>());
    assert!((learnt.len() as u64) < Rr16Parameters::for_items(20).most_tested_keys(64));
}

/// A sender that spoils rows of OTs, as the one that recovers the filter bit by bit where strings are shares
/// (DCW13 §5), only withholds the items that pick them: the receiver ends as always, whatever its filter is.
#[test]
fn spoilt_rows_withhold_items_and_nothing_fails() {
    let sets = sets(30, 40, 30);
    let parameters = Rr16Parameters::for_items(30);
    let one_in = |rate: usize| (0..parameters.ots()).step_by(rate).collect::<Vec<_>>();
    let mut counts = Vec::new();
    for rate in [parameters.ots(), 500, 20] {
        let cheat = SenderCheat { rows: &one_in(rate), masks: &unchanged, id: false };
        let rows = against_receiver(&sets, 3, cheat).unwrap();
        assert!(rows.iter().all(|row| sets.receiver_rows.contains(row)));
        counts.push(rows.len());
    }
    // An item picks a hundred rows.
    assert!(counts[0] >= 25 && counts[1] < 30 && counts[1] > 10 && counts[2] < 3, "{counts:?}");
}

#[test]
fn masks_of_another_set_are_that_set_and_repeated_ones_are_refused() {
    let sets = sets(12, 9, 9);
    let other = |masks: Vec<u128>| masks.into_iter().map(|mask| mask ^ 1 << 100).collect::<Vec<_>>();
    let other = |masks| {
        let mut masks: Vec<u128> = other(masks);
        masks.sort_unstable();
        masks
    };
    let cheat = SenderCheat { rows: &[], masks: &other, id: false };
    assert!(against_receiver(&sets, 1, cheat).unwrap().is_empty());
    let all = |masks: Vec<u128>| vec![masks[0]; masks.len()];
    let twice = |mut masks: Vec<u128>| {
        masks[4] = masks[3];
        masks
    };
    let unsorted = |mut masks: Vec<u128>| {
        masks.swap(2, 3);
        masks
    };
    for masks in [&all as &(dyn Fn(Vec<u128>) -> Vec<u128> + Sync), &twice, &unsorted] {
        let error = against_receiver(&sets, 1, SenderCheat { rows: &[], masks, id: false }).unwrap_err();
        assert!(matches!(error, Error::PeerMisbehaved(Misbehaviour::UnsortedMasks { .. })), "{error}");
    }
}

/// A run that finds its output taken makes none of its own in its place.
#[test]
fn flaw_a_slot_gives_its_output_once() {
    let sets = sets(5, 5, 3);
    let mut offline = None;
    let (received, sent) = duel(
        (&ENTRY, &sets, case(Learns::Receiver, 3)),
        Box::new(|ctx| {
            offline = Some(ENTRY.prepare(&mut ctx.reborrow(), Role::Receiver)?);
            Ok(())
        }),
        Box::new(|ctx| ENTRY.prepare(&mut ctx.reborrow(), Role::Sender).map(|_| ())),
    );
    assert!(received.is_ok() && sent.is_ok());
    let slot = OfflineSlot::of(offline.unwrap());
    let run = ENTRY.run(&[7; 32], vesica_protocols::Sizes { receiver: 5, sender: 5 }, MALICIOUS);
    let run = vesica_protocols::Run { offline: Some(&slot), ..run };
    let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(1);
    let mut ended = || {
        let (mut end, other) = memory::pair();
        drop(other);
        let ended = ENTRY.receive(&mut Ctx::new(&run, &mut end, &mut rng), &sets.receiver);
        ended.err().unwrap()
    };
    assert!(matches!(ended(), Error::Channel(_)));
    assert_eq!(ended(), Error::Misuse(Misuse::UsedOffline));
}

/// Offline phases serve one online phase with the partner's half of the same one, also from storage, and for
/// fewer items than they were made for.
#[test]
fn stored_offline_output_serves_its_other_half_alone() {
    let sets = sets(30, 40, 17);
    let offline = |seed: u64| {
        let (mut receiver, mut sender) = (Vec::new(), Vec::new());
        let (first, second) = duel(
            (&ENTRY, &sets, case(Learns::Receiver, seed)),
            Box::new(|ctx| {
                rr16::offline_receive(ctx, 50)?.write_to(&mut receiver).unwrap();
                Ok(())
            }),
            Box::new(|ctx| {
                rr16::offline_send(ctx, 50)?.write_to(&mut sender).unwrap();
                Ok(())
            }),
        );
        first.unwrap();
        second.unwrap();
        assert_eq!(receiver.len() as u64, rr16::OfflineReceiver::stored_bytes(50));
        assert_eq!(sender.len() as u64, rr16::OfflineSender::stored_bytes(50));
        (receiver, sender)
    };
    let online = |receiver: &[u8], sender: &[u8]| {
        let receiver = rr16::OfflineReceiver::read_from(&mut &*receiver, 50).unwrap();
        let sender = rr16::OfflineSender::read_from(&mut &*sender, 50).unwrap();
        assert_eq!((receiver.receiver_items(), sender.receiver_items()), (50, 50));
        duel(
            (&ENTRY, &sets, case(Learns::Receiver, 99)),
            Box::new(|ctx| {
                let pending = rr16::online_receive(&mut ctx.reborrow(), &sets.receiver, receiver)?;
                Ok(pending.matches()?.into_rows())
            }),
            Box::new(|ctx| rr16::online_send(ctx, &sets.sender, sender)),
        )
    };
    let (receiver, sender) = offline(1);
    let (rows, sent) = online(&receiver, &sender);
    assert_eq!(rows.unwrap(), sets.receiver_rows);
    sent.unwrap();
    // The same session, and randomness, with another number of items agreed: another context, another id.
    let others = super::sets(31, 40, 17);
    let mut foreign = Vec::new();
    let ended = duel(
        (&ENTRY, &others, case(Learns::Receiver, 1)),
        Box::new(|ctx| rr16::offline_receive(ctx, 50).map(|_| ())),
        Box::new(|ctx| {
            rr16::offline_send(ctx, 50)?.write_to(&mut foreign).unwrap();
            Ok(())
        }),
    );
    assert!(ended.0.is_ok() && ended.1.is_ok());
    let (rows, sent) = online(&receiver, &foreign);
    assert_eq!(sent.unwrap_err(), Error::PeerMisbehaved(Misbehaviour::OtherOfflinePhase));
    assert!(rows.is_err());
    // Too few items, and bytes that are something else.
    let few = rr16::OfflineReceiver::read_from(&mut &receiver[..], 50).unwrap();
    let run = ENTRY.run(&[7; 32], vesica_protocols::Sizes { receiver: 51, sender: 1 }, MALICIOUS);
    let (mut end, _other) = memory::pair();
    let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(1);
    let refused = rr16::online_receive(&mut Ctx::new(&run, &mut end, &mut rng), &sets.receiver, few);
    assert!(matches!(refused, Err(Error::Misuse(_))));
    for (byte, bytes) in [(0, &receiver), (16, &receiver), (17, &receiver), (70, &receiver), (80, &receiver)]
    {
        let mut bytes = bytes.clone();
        bytes[byte] ^= 0x40;
        assert!(rr16::OfflineReceiver::read_from(&mut &bytes[..], 50).is_err(), "byte {byte}");
        assert!(rr16::OfflineSender::read_from(&mut &bytes[..], 50).is_err());
    }
    assert!(rr16::OfflineReceiver::read_from(&mut &receiver[..], 51).is_err(), "more items than expected");
    assert!(rr16::OfflineReceiver::read_from(&mut &receiver[..receiver.len() - 1], 50).is_err());
    assert!(rr16::OfflineReceiver::read_from(&mut &sender[..], 50).is_err());
}
