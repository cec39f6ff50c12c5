//! The whole conversation over a wire that lies: terms, sizes, protocol, confirmation. Never do both ends say success
//! about a run that was tampered with, and never does either one hang.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica::session::{self, SessionError};
use vesica::settings::{Choice, Settings};
use vesica::terms::Terms;
use vesica_encode::items::{Items, Matches};
use vesica_net::{Connection, memory};
use vesica_protocols::testing::{Tampering, Target, Wire, lying_wire_among_lengths, planted};
use vesica_protocols::{Learns, NoProgress, Role, Security};

/// One end's conversation, as a job leads it.
fn converse(role: Role, items: &Items, mut channel: Connection) -> Result<Matches, SessionError> {
    let rules = ["email".to_owned()];
    // The shortest messages: every byte of them is flipped.
    let protocol = Choice::Named("dh".into());
    let security = Security::SemiHonest;
    let settings = Settings { protocol, security, learns: Learns::Both, ..Settings::default() };
    let terms = Terms::new(role, &settings, &rules);
    let agreed = session::agree(&mut channel, &terms, settings.wanted(), items.len(), None)?;
    let rng = &mut StdRng::seed_from_u64(role as u64);
    let pending = agreed.run(items, &mut channel, 1, &NoProgress, None, rng)?;
    Ok(agreed.confirm(pending, &mut channel, &|| ())?.pending.unwrap().matches()?)
}

type Ends = [Result<Matches, SessionError>; 2];

fn run(target: Option<Target>) -> (Ends, Wire) {
    let sets = planted(5, 6, 3, 1);
    let (first, second, wire) = lying_wire_among_lengths(target);
    let (first, second) = memory::connections((first, second));
    let ends = thread::scope(|scope| {
        let sender = scope.spawn(|| converse(Role::Sender, &sets.sender, second));
        [converse(Role::Receiver, &sets.receiver, first), sender.join().unwrap()]
    });
    if let [Ok(received), Ok(sent)] = &ends {
        assert_eq!((received.rows(), sent.rows()), (&*sets.receiver_rows, &*sets.sender_rows), "{target:?}");
    }
    (ends, wire)
}

#[test]
fn an_honest_wire_ends_well_on_both_sides() {
    let ([received, sent], wire) = run(None);
    assert_eq!((received.unwrap().items(), sent.unwrap().items()), (3, 3));
    // Terms, size, items, positions, DONE; terms, size, items, masks, DONE.
    assert!(wire.frames().iter().all(|frames| frames.len() >= 4), "{:?}", wire.frames());
}

#[test]
fn every_flipped_byte_is_caught_by_one_side_at_least() {
    for target in run(None).1.flips() {
        assert!(run(Some(target)).0.iter().any(Result::is_err), "{target:?}");
    }
}

#[test]
fn frames_cut_lengthened_repeated_swapped_or_dropped_are_caught() {
    let wire = run(None).1;
    for target in wire.whole_frames() {
        // A second DONE comes when everything is over, and nobody listens.
        let after_the_end = wire.is_last(&target) && target.tampering == Tampering::Repeat;
        assert!(after_the_end || run(Some(target)).0.iter().any(Result::is_err), "{target:?}");
    }
}
