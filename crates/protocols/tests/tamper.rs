//! A wire that lies: whatever is flipped, cut, repeated, swapped or dropped, both ends stop, and neither panics or hangs.
//!
//! In a semi-honest protocol a changed mask goes unnoticed by the protocol itself; the session's exchange of digests
//! settles that. So a run counts as caught when a role ends in an error, or the ends disagree about what was sent.

use vesica_protocols::registry::{Entry, PROTOCOLS};
use vesica_protocols::testing::{
    Case, Ended, Planted, Tampering, Target, Wire, lying_wire, planted, planted_for, run_over,
};
use vesica_protocols::{Learns, Parameters, Security};

fn sets() -> [Planted; 2] {
    [planted(8, 9, 4, 1), planted(9, 8, 4, 1)]
}

fn run(entry: &Entry, sets: &Planted, target: Option<Target>) -> (Ended, Wire) {
    run_with(entry, sets, Parameters::default(), target)
}

fn run_with(entry: &Entry, sets: &Planted, parameters: Parameters, target: Option<Target>) -> (Ended, Wire) {
    let learns = if entry.learns_both { Learns::Both } else { Learns::Receiver };
    let (first, second, wire) = lying_wire(target);
    (run_over(entry, sets, Case { learns, parameters, ..Case::default() }, (first, second)), wire)
}

#[test]
fn an_honest_wire_is_confirmed() {
    for entry in PROTOCOLS {
        for sets in sets() {
            let (ended, wire) = run(entry, &sets, None);
            assert!(ended.confirmed() && !wire.was_stuck(), "{}", entry.name);
            assert!(wire.frames().iter().all(|frames| !frames.is_empty()), "{}", entry.name);
        }
    }
}

#[test]
fn every_flipped_byte_is_caught() {
    for entry in PROTOCOLS {
        for sets in sets() {
            for target in run(entry, &sets, None).1.flips() {
                assert!(!run(entry, &sets, Some(target)).0.confirmed(), "{} {target:?}", entry.name);
            }
        }
    }
}

#[test]
fn every_flipped_byte_of_a_malicious_run_is_caught() {
    let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
    for entry in PROTOCOLS.iter().filter(|entry| entry.security.contains(&Security::Malicious)) {
        let sets = planted_for(&parameters, 8, 9, 4, 1);
        let (honest, wire) = run_with(entry, &sets, parameters, None);
        assert!(honest.confirmed());
        for target in wire.flips() {
            let caught = !run_with(entry, &sets, parameters, Some(target)).0.confirmed();
            assert!(caught, "{} {target:?}", entry.name);
        }
    }
}

#[test]
fn frames_cut_lengthened_repeated_swapped_or_dropped_are_caught() {
    for entry in PROTOCOLS {
        for sets in sets() {
            let wire = run(entry, &sets, None).1;
            for target in wire.whole_frames() {
                // What follows the last message of a direction is the session's to see.
                let after = matches!(target.tampering, Tampering::Lengthen | Tampering::Repeat);
                let caught = !run(entry, &sets, Some(target)).0.confirmed();
                assert!(caught || (after && wire.is_last(&target)), "{} {target:?}", entry.name);
            }
        }
    }
}
