//! Cheating parties against `gbf-rr16`, one for each of its checks. What a malicious receiver does in the OTs
//! themselves is tested beside these (`vesica_ot::softspoken::cheating`).

use vesica_channel::memory;
use vesica_crypto::block::Block;
use vesica_ot::testing::credible;
use vesica_protocols::bloom_filter::rr16::cheating::{self, Learnt, OrderCheat, ReceiverCheat, SenderCheat};
use vesica_protocols::bloom_filter::rr16::parameters::Rr16Parameters;
use vesica_protocols::bloom_filter::rr16::{self, ENTRY, OfflineReceiver, OfflineSender};
use vesica_protocols::testing::{Case, Planted, duel, items_for};
use vesica_protocols::{Ctx, Error, Learns, Misbehaviour, Parameters};

use super::{MALICIOUS, case, is_failed_check, sets};

/// The standard form, and that with strings that the sender chooses.
const FORMS: [Option<&str>; 2] = [None, Some("chosen-strings")];

fn case_of(form: Option<&str>, seed: u64) -> Case {
    let variant = form.map(|name| ENTRY.supports.variant(name).unwrap());
    Case { parameters: Parameters { variant, ..MALICIOUS }, seed, ..Case::default() }
}

/// A cheating receiver that holds `items` against an honest sender.
fn against_sender(
    form: Option<&str>,
    sets: &Planted,
    items: &vesica_encode::items::Items,
    seed: u64,
    cheat: ReceiverCheat,
) -> (Result<Learnt, Error>, Result<(), Error>) {
    duel(
        (&ENTRY, sets, case_of(form, seed)),
        Box::new(move |ctx| cheating::receive(ctx, items, &cheat)),
        Box::new(|ctx| ENTRY.send(ctx, &sets.sender).map(|_| ())),
    )
}

/// What an honest receiver ends with against a cheating sender.
fn against_receiver(
    form: Option<&str>,
    sets: &Planted,
    seed: u64,
    cheat: SenderCheat<'_>,
) -> Result<Vec<u64>, Error> {
    duel(
        (&ENTRY, sets, case_of(form, seed)),
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
    for form in FORMS {
        let sets = sets(12, 9, 5);
        let (learnt, sent) = against_sender(form, &sets, &sets.receiver, 1, ReceiverCheat::default());
        let rows = sets.receiver.matches(learnt.unwrap().matched.into_iter()).into_rows();
        assert_eq!(rows, sets.receiver_rows);
        sent.unwrap();
        let honest = SenderCheat { rows: &[], masks: &unchanged, id: false };
        assert_eq!(against_receiver(form, &sets, 1, honest).unwrap(), sets.receiver_rows);
    }
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
    for form in FORMS {
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
            let (learnt, sent) = against_sender(form, &sets, &sets.receiver, seed, cheat);
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
                let (learnt, sent) = against_sender(form, &sets, &sets.receiver, seed, cheat);
                assert!(is_failed_check(&sent.unwrap_err()) && learnt.is_err());
            }
        }
    }
}

/// A receiver that answers for its ones with zero lacks the strings of choice 0, and cannot give their sum.
#[test]
fn denied_ones_and_wrong_sums_end_the_run() {
    for form in FORMS {
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
                let (learnt, sent) = against_sender(form, &sets, &sets.receiver, seed, cheat);
                assert!(is_failed_check(&sent.unwrap_err()) && learnt.is_err());
            }
        }
    }
}

#[test]
fn a_permutation_that_is_none_ends_the_run() {
    for form in FORMS {
        let sets = sets(3, 9, 3);
        for order in [OrderCheat::Repeated, OrderCheat::Opened, OrderCheat::Beyond] {
            for seed in 0..4 {
                let cheat = ReceiverCheat { order, ..ReceiverCheat::default() };
                let (learnt, sent) = against_sender(form, &sets, &sets.receiver, seed, cheat);
                assert!(is_failed_check(&sent.unwrap_err()) && learnt.is_err(), "{order:?}");
            }
        }
    }
}

/// OTs of choice 0 under set slots give strings that are no one's: the receiver has withheld its items.
#[test]
fn wrong_choices_under_the_filter_lose_matches() {
    for form in FORMS {
        let sets = sets(12, 9, 9);
        for seed in 0..4 {
            let cheat = ReceiverCheat { order: OrderCheat::Zeros, ..ReceiverCheat::default() };
            let (learnt, sent) = against_sender(form, &sets, &sets.receiver, seed, cheat);
            assert!(sent.is_ok() && learnt.unwrap().matched.is_empty());
        }
    }
}

#[test]
fn another_coin_than_committed_to_or_another_offline_phase_ends_the_run() {
    for form in FORMS {
        let sets = sets(3, 9, 3);
        for seed in 0..4 {
            let cheat = ReceiverCheat { coin: true, ..ReceiverCheat::default() };
            let (learnt, sent) = against_sender(form, &sets, &sets.receiver, seed, cheat);
            assert!(is_failed_check(&sent.unwrap_err()) && learnt.is_err());
            let cheat = ReceiverCheat { id: true, ..ReceiverCheat::default() };
            let (learnt, sent) = against_sender(form, &sets, &sets.receiver, seed, cheat);
            assert_eq!(sent.unwrap_err(), Error::PeerMisbehaved(Misbehaviour::OtherOfflinePhase));
            assert!(learnt.is_err());
            let cheat = SenderCheat { rows: &[], masks: &unchanged, id: true };
            let received = against_receiver(form, &sets, seed, cheat);
            assert_eq!(received.unwrap_err(), Error::PeerMisbehaved(Misbehaviour::OtherOfflinePhase));
        }
    }
}

/// A filter as full as the ones allow holds no key that was not chosen for it: the sender's keys are not
/// learnt, though the receiver tries all of them.
#[test]
fn a_full_filter_holds_no_foreign_key() {
    for form in FORMS {
        let sets = sets(20, 300, 0);
        let parameters = Rr16Parameters::for_items(20);
        let cheat = ReceiverCheat { full_filter: true, ..ReceiverCheat::default() };
        let (learnt, sent) = against_sender(form, &sets, &sets.sender, 1, cheat);
        sent.unwrap();
        let learnt = learnt.unwrap();
        assert!(learnt.matched.is_empty(), "{} keys", learnt.matched.len());
        // Its ones are fewer than N_1, and nearly as many as an honest receiver's.
        assert!(learnt.set < parameters.most_ones() as usize && learnt.set >= 20 * parameters.hashes());
    }
}

/// Of more keys than declared, a receiver learns what an honest one with so many keys learns. All of them are
/// extractable, and fewer than the bound says.
#[test]
fn more_keys_than_declared_are_an_input_within_the_bound() {
    for form in FORMS {
        let keys: Vec<String> = (0..22).map(|key| format!("key {key}")).collect();
        let (all, declared) = (items_for(&MALICIOUS, &keys), items_for(&MALICIOUS, &keys[..20]));
        let sets =
            Planted { receiver: declared, sender: all, receiver_rows: Vec::new(), sender_rows: Vec::new() };
        let (learnt, sent) = against_sender(form, &sets, &sets.sender, 1, ReceiverCheat::default());
        sent.unwrap();
        let learnt = learnt.unwrap().matched;
        assert_eq!(learnt, (0..22).collect::<Vec<_>>());
        assert!((learnt.len() as u64) < Rr16Parameters::for_items(20).most_tested_keys(64));
    }
}

/// A sender that spoils rows of OTs, as the one that recovers the filter bit by bit where strings are shares
/// (DCW13 §5), only withholds the items that pick them: the receiver ends as always, whatever its filter is.
#[test]
fn spoilt_rows_withhold_items_and_nothing_fails() {
    for form in FORMS {
        let sets = sets(30, 40, 30);
        let parameters = Rr16Parameters::for_items(30);
        let one_in = |rate: usize| (0..parameters.ots()).step_by(rate).collect::<Vec<_>>();
        let mut counts = Vec::new();
        for rate in [parameters.ots(), 500, 20] {
            let cheat = SenderCheat { rows: &one_in(rate), masks: &unchanged, id: false };
            let rows = against_receiver(form, &sets, 3, cheat).unwrap();
            assert!(rows.iter().all(|row| sets.receiver_rows.contains(row)));
            counts.push(rows.len());
        }
        // An item picks a hundred rows.
        assert!(counts[0] >= 25 && counts[1] < 30 && counts[1] > 10 && counts[2] < 3, "{counts:?}");
    }
}

#[test]
fn masks_of_another_set_are_that_set_and_repeated_ones_are_refused() {
    for form in FORMS {
        let sets = sets(12, 9, 9);
        let other = |masks: Vec<u128>| masks.into_iter().map(|mask| mask ^ 1 << 100).collect::<Vec<_>>();
        let other = |masks| {
            let mut masks: Vec<u128> = other(masks);
            masks.sort_unstable();
            masks
        };
        let cheat = SenderCheat { rows: &[], masks: &other, id: false };
        assert!(against_receiver(form, &sets, 1, cheat).unwrap().is_empty());
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
            let error =
                against_receiver(form, &sets, 1, SenderCheat { rows: &[], masks, id: false }).unwrap_err();
            assert!(matches!(error, Error::PeerMisbehaved(Misbehaviour::UnsortedMasks { .. })), "{error}");
        }
    }
}

/// An offline phase serves an online phase with the partner's half of the same one, and for fewer items than it was
/// made for.
#[test]
fn an_offline_phase_serves_its_other_half_alone() {
    let sets = sets(30, 40, 17);
    let offline = |sets: &Planted| {
        let (mut receiver, mut sender) = (None, None);
        let ended = duel(
            (&ENTRY, sets, case(Learns::Receiver, 1)),
            Box::new(|ctx| {
                receiver = Some(rr16::offline_receive(ctx, 50)?);
                Ok(())
            }),
            Box::new(|ctx| {
                sender = Some(rr16::offline_send(ctx, 50)?);
                Ok(())
            }),
        );
        assert!(ended.0.is_ok() && ended.1.is_ok());
        (receiver.unwrap(), sender.unwrap())
    };
    let online = |receiver: OfflineReceiver, sender: OfflineSender| {
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
    let (receiver, sender) = offline(&sets);
    let (rows, sent) = online(receiver, sender);
    assert_eq!(rows.unwrap(), sets.receiver_rows);
    sent.unwrap();
    // One session and one randomness, with another number of items agreed: another context, another id.
    let (few, _) = offline(&sets);
    let (receiver, _) = offline(&sets);
    let (_, foreign) = offline(&super::sets(31, 40, 17));
    let (rows, sent) = online(receiver, foreign);
    assert_eq!(sent.unwrap_err(), Error::PeerMisbehaved(Misbehaviour::OtherOfflinePhase));
    assert!(rows.is_err());
    // Too few items.
    let run = ENTRY.run(&[7; 32], vesica_protocols::Sizes { receiver: 51, sender: 1 }, MALICIOUS);
    let (mut end, _other) = memory::pair();
    let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(1);
    let refused = rr16::online_receive(&mut Ctx::new(&run, &mut end, &mut rng), &sets.receiver, few);
    assert!(matches!(refused, Err(Error::Misuse(_))));
}
