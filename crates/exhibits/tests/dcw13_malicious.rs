//! `gbf-dcw-malicious`: its defence against the receiver holds, and its receiver is open to selective failure,
//! as was published.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use vesica_encode::items::Items;
use vesica_exhibits::dcw13_malicious::ENTRY;
use vesica_exhibits::dcw13_malicious::cheating::{self, SenderCheat};
use vesica_protocols::testing::{Case, Planted, duel, items_for, planted_for, shape};
use vesica_protocols::{Error, Misbehaviour, Outcome, Parameters, Security, Sizes};

const MALICIOUS: Parameters = Parameters { security: Security::Malicious, ..Parameters::DEFAULT };

const RANDOM: Parameters = Parameters { variant: Some(&ENTRY.supports.variants[0]), ..MALICIOUS };

/// A sender that cheats, against an honest receiver: its rows.
fn against_sender(sets: &Planted, case: Case, cheat: SenderCheat<'_>) -> Result<Vec<u64>, Error> {
    let ended = duel(
        (&ENTRY, sets, case),
        Box::new(|ctx| ENTRY.receive(&mut ctx.reborrow(), &sets.receiver)?.matches()),
        Box::new(|ctx| cheating::send_with(ctx, &sets.sender, &cheat)),
    );
    ended.0.map(|matches| matches.rows().to_vec())
}

/// A receiver with a filter of its choice, against an honest sender: the items that it finds.
fn against_receiver(
    sets: &Planted,
    case: Case,
    items: &Items,
    choose: &(dyn Fn(&mut [u8]) + Sync),
) -> Result<Vec<u32>, Error> {
    let (found, told) = duel(
        (&ENTRY, sets, case),
        Box::new(|ctx| cheating::receive(ctx, items, choose)),
        Box::new(|ctx| ENTRY.send(ctx, &sets.sender)?.map(Outcome::into_matches).transpose()),
    );
    // The sender learns nothing of either.
    assert!(told.is_err() || told == Ok(None));
    found
}

fn with(parameters: Parameters, seed: u64) -> Case {
    Case { parameters, seed, ..Case::default() }
}

fn is_failed_check(error: &Error) -> bool {
    *error == Error::PeerMisbehaved(Misbehaviour::FailedCheck)
}

/// Rows of a set of strings are their items' numbers in the order in which they were given.
fn rows(items: &Items, numbers: &[usize]) -> Vec<u64> {
    items.matches(numbers.iter().copied()).into_rows()
}

/// The slots of each item of a set of these runs.
fn slots_of(sets: &Planted, case: Case, items: &Items) -> Vec<Vec<usize>> {
    let sizes = Sizes { receiver: sets.receiver.len(), sender: sets.sender.len() };
    // The context of every `duel`.
    cheating::slots_of(&ENTRY.run(&[7; 32], sizes, case.parameters), items).unwrap()
}

#[test]
fn the_cheats_that_do_not_cheat_are_honest() {
    for parameters in [MALICIOUS, RANDOM] {
        let (sets, case) = (planted_for(&parameters, 12, 9, 5, 1), with(parameters, 1));
        assert_eq!(against_sender(&sets, case, SenderCheat::default()).unwrap(), sets.receiver_rows);
        let found = against_receiver(&sets, case, &sets.receiver, &|_| {}).unwrap();
        let found: Vec<usize> = found.iter().map(|item| *item as usize).collect();
        assert_eq!(rows(&sets.receiver, &found), sets.receiver_rows);
    }
}

/// The flaw: one changed share tells the bit of its slot. RR16 §3.1.
#[test]
fn flaw_a_changed_share_tells_a_bit_of_the_receivers_filter() {
    for parameters in [MALICIOUS, RANDOM] {
        let (sets, case) = (planted_for(&parameters, 6, 5, 2, 1), with(parameters, 2));
        let ones: std::collections::HashSet<usize> =
            slots_of(&sets, case, &sets.receiver).into_iter().flatten().collect();
        let mut seen = [0; 2];
        for slot in (0..20).map(|i| i * 77) {
            let told = against_sender(&sets, case, SenderCheat { shares: &[slot], ..SenderCheat::default() });
            let one = ones.contains(&slot);
            seen[usize::from(one)] += 1;
            match told {
                Ok(matched) if one => assert_eq!(matched, sets.receiver_rows),
                Ok(matched) => assert!(parameters == RANDOM && matched.is_empty(), "slot {slot}"),
                Err(error) => {
                    assert!(!one && parameters == MALICIOUS && is_failed_check(&error), "slot {slot}")
                }
            }
        }
        assert!(seen[0] > 3 && seen[1] > 3, "{seen:?}");
    }
}

/// All shares of a key's slots, in one run: whether the receiver has the key.
#[test]
fn flaw_one_run_tells_whether_the_receiver_has_a_guessed_key() {
    let (sets, case) = (planted_for(&MALICIOUS, 6, 5, 2, 1), with(MALICIOUS, 3));
    // Among the sender's own keys are two that the receiver has.
    let held: Vec<bool> = slots_of(&sets, case, &sets.sender)
        .iter()
        .map(|slots| {
            against_sender(&sets, case, SenderCheat { shares: slots, ..SenderCheat::default() }).is_ok()
        })
        .collect();
    let told: Vec<usize> = (0..5).filter(|item| held[*item]).collect();
    assert_eq!(rows(&sets.sender, &told), sets.sender_rows);
}

/// The check of the r_j, which a receiver makes where its filter is one.
#[test]
fn a_wrong_key_or_a_wrong_string_ends_the_run() {
    let (sets, case) = (planted_for(&MALICIOUS, 6, 5, 2, 1), with(MALICIOUS, 4));
    let other_key = SenderCheat { other_key: true, ..SenderCheat::default() };
    assert!(is_failed_check(&against_sender(&sets, case, other_key).unwrap_err()));
    // In the random form nothing is found then.
    let random = with(RANDOM, 4);
    assert_eq!(against_sender(&sets, random, other_key), Ok(Vec::new()));
    let ones: std::collections::HashSet<usize> =
        slots_of(&sets, case, &sets.receiver).into_iter().flatten().collect();
    for slot in (0..10).map(|i| i * 91) {
        let told = against_sender(&sets, case, SenderCheat { nonces: &[slot], ..SenderCheat::default() });
        match told {
            Ok(matched) => assert!(!ones.contains(&slot) && matched == sets.receiver_rows),
            Err(error) => assert!(ones.contains(&slot) && is_failed_check(&error)),
        }
    }
}

/// A filter of ones, and filters on either side of the threshold: m/2 zeros give the key, one less does not.
#[test]
fn a_receiver_without_half_of_the_shares_learns_nothing() {
    let fill_to = |ones: u32| {
        move |filter: &mut [u8]| {
            let mut have: u32 = filter.iter().map(|byte| byte.count_ones()).sum();
            for bit in (0..filter.len() * 8).rev() {
                let set = filter[bit / 8] >> (bit % 8) & 1 == 1;
                if !set && have < ones {
                    filter[bit / 8] |= 1 << (bit % 8);
                    have += 1;
                }
            }
            assert_eq!(have, ones);
        }
    };
    for parameters in [MALICIOUS, RANDOM] {
        let (sets, case) = (planted_for(&parameters, 6, 5, 2, 1), with(parameters, 5));
        let half = 128 * 6;
        let found = against_receiver(&sets, case, &sets.receiver, &fill_to(half)).unwrap();
        assert_eq!(found.len(), 2, "half of the shares are enough");
        for ones in [half + 1, 2 * half] {
            // A receiver of the published form sees that it has no key; the strings are random to it.
            match against_receiver(&sets, case, &sets.sender, &fill_to(ones)) {
                Ok(found) => assert!(parameters == RANDOM && found.is_empty(), "{ones}"),
                Err(error) => assert!(parameters == MALICIOUS && is_failed_check(&error), "{ones}"),
            }
        }
    }
}

/// As many keys as fit half of the filter are found if the sender has them: that set can be extracted, and it
/// is within the bound. More keys take more than half.
#[test]
fn a_receiver_of_too_many_items_stays_within_the_bound_or_learns_nothing() {
    let keys: Vec<String> = (0..60).map(|number| format!("key {number}")).collect();
    for parameters in [MALICIOUS, RANDOM] {
        let case = with(parameters, 6);
        let mut sets = planted_for(&parameters, 30, 30, 0, 1);
        sets.sender = items_for(&parameters, &keys[20..50]);
        let bound = ENTRY.max_tested_keys_of(&shape(&sets, case)).unwrap();
        assert_eq!(bound, 120);
        let guesses = items_for(&parameters, &keys[..38]);
        let found = against_receiver(&sets, case, &guesses, &|_| {}).unwrap();
        assert_eq!(found.len(), 18, "38 keys where 30 were agreed: the 18 of them that the sender has");
        assert!(guesses.len() as u64 <= bound);
        let guesses = items_for(&parameters, &keys);
        match against_receiver(&sets, case, &guesses, &|_| {}) {
            Ok(found) => assert!(parameters == RANDOM && found.is_empty()),
            Err(error) => assert!(parameters == MALICIOUS && is_failed_check(&error)),
        }
    }
}
