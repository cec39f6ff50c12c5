//! A wire that lies: whatever is flipped, cut, repeated, swapped or dropped, both ends stop, and neither
//! panics or hangs.
//!
//! In a semi-honest protocol a changed mask goes unnoticed by the protocol itself; the session's exchange of
//! digests settles that. So a run counts as caught when a role ends in an error, or the ends disagree about
//! what was sent. The malicious runs are also held to what the protocol itself sees, with no digests.

use crate::entry::{Entry, Shape};
use crate::testing::{
    Case, DIRECTIONS, Ended, Planted, Tampering, Target, Wire, each, lying_wire, planted_for, run_over,
    run_over_links,
};
use crate::{Error, KeyAgreement, Learns, Parameters, Security, Sizes};
use vesica_channel::memory;

/// Whether a run on a thousand items takes too long for a test: protocols of big integers.
fn slow(entry: &Entry) -> bool {
    entry.test_items < 1 << 8
}

/// Whether a circuit is computed on shares: after its set-up it sends many short frames, a layer each.
fn on_shares(entry: &Entry) -> bool {
    let gates = entry.gates_of(&Shape::new(Sizes { receiver: 8, sender: 9 }));
    gates.is_some_and(|gates| gates.depth.is_some())
}

/// Frames of either end before the layers of a circuit on shares, in which every byte is tried.
const SETUP: usize = 3;

/// Every byte that the wire offers: all of a short frame, and some all over a long one. But
///
/// - in slow protocols, whose frames are rows of long numbers, the first two bytes and every 67th;
/// - after the set-up of a circuit on shares, whose frames are rows of masked bits, one like the other: every
///   16th byte, and the last, in which bits may be unused.
fn tried(entry: &Entry, frames: &[Vec<usize>; 2], target: &Target) -> bool {
    let Tampering::Flip { byte } = target.tampering else { return true };
    let last = frames[usize::from(target.direction == DIRECTIONS[1])][target.frame] - 1;
    if slow(entry) {
        byte < 2 || byte % 67 == 66
    } else if on_shares(entry) && target.frame >= SETUP {
        byte % 16 == 0 || byte == last
    } else {
        true
    }
}

/// Both orders of sizes, and few items where each costs milliseconds.
fn sets(entry: &Entry) -> [Planted; 2] {
    let (some, most) = if slow(entry) { (1, 2) } else { (8, 9) };
    let common = usize::div_ceil(some, 2);
    [(some, most), (most, some)]
        .map(|(receiver, sender)| planted_for(&parameters(entry), receiver, sender, common, 1))
}

/// The usual parameters; a domain that goes through a circuit as a whole has few numbers, and long numbers are those
/// of the least level.
fn parameters(entry: &Entry) -> Parameters {
    let usual = entry.supports.usual();
    let least = entry.supports.levels.iter().min().filter(|_| slow(entry));
    Parameters { sigma: usual.sigma.map(|_| 5), level: *least.unwrap_or(&usual.level), ..usual }
}

fn run(entry: &Entry, sets: &Planted, target: Option<Target>) -> (Ended, Wire) {
    run_with(entry, sets, parameters(entry), target)
}

fn run_with(entry: &Entry, sets: &Planted, parameters: Parameters, target: Option<Target>) -> (Ended, Wire) {
    let learns = if entry.learns_both { Learns::Both } else { Learns::Receiver };
    let (first, second, wire) = lying_wire(target);
    (run_over(entry, sets, Case { learns, parameters, ..Case::default() }, (first, second)), wire)
}

pub fn an_honest_wire_is_confirmed(protocols: &[&'static Entry]) {
    for entry in protocols {
        for sets in sets(entry) {
            let (ended, wire) = run(entry, &sets, None);
            assert!(ended.confirmed() && !wire.was_stuck(), "{}", entry.name);
            assert!(wire.frames().iter().all(|frames| !frames.is_empty()), "{}", entry.name);
        }
    }
}

pub fn every_flipped_byte_is_caught(protocols: &[&'static Entry]) {
    for entry in protocols {
        for sets in sets(entry) {
            let wire = run(entry, &sets, None).1;
            let frames = wire.frames();
            each(wire.flips().into_iter().filter(|target| tried(entry, &frames, target)), |target| {
                let (ended, wire) = run(entry, &sets, Some(target));
                assert!(!ended.confirmed(), "{} {target:?}", entry.name);
                // Ended by the ends themselves: a run that the wire had to cancel is not one that was caught.
                assert!(!wire.was_stuck(), "{} {target:?}: cancelled", entry.name);
            });
        }
    }
}

/// A flipped byte in what a run over base OTs from ML-KEM begins with: keys, ciphertexts, and what comes with them.
pub fn every_flipped_byte_of_base_ots_from_ml_kem_is_caught(protocols: &[&'static Entry]) {
    for entry in protocols {
        let sets = &sets(entry)[0];
        let parameters = Parameters { base_ots: KeyAgreement::MlKem, ..parameters(entry) };
        let flips = run_with(entry, sets, parameters, None).1.flips();
        each(flips.into_iter().filter(|target| target.frame < 8), |target| {
            let (ended, wire) = run_with(entry, sets, parameters, Some(target));
            assert!(!ended.confirmed() && !wire.was_stuck(), "{} {target:?}", entry.name);
        });
    }
}

/// A run with a lying wire between the helper and the receiver (0) or to the sender (1).
fn run_helped(entry: &Entry, sets: &Planted, link: usize, target: Option<Target>) -> (Ended, Wire) {
    let (first, second, wire) = lying_wire(target);
    let (lying, honest) = ((first, second), memory::pair());
    let links = if link == 0 { [lying, honest] } else { [honest, lying] };
    let case = Case { learns: Learns::Both, ..Case::default() };
    (run_over_links((entry, sets, case), memory::pair(), links), wire)
}

pub fn whatever_is_changed_between_a_party_and_the_helper_is_caught(protocols: &[&'static Entry]) {
    for entry in protocols.iter().filter(|entry| entry.has_helper()) {
        for (sets, link) in sets(entry).iter().zip([0, 1]) {
            let (ended, wire) = run_helped(entry, sets, link, None);
            assert!(ended.confirmed() && wire.frames().iter().all(|frames| !frames.is_empty()));
            for target in wire.flips() {
                let (ended, changed) = run_helped(entry, sets, link, Some(target));
                assert!(!ended.confirmed() && !changed.was_stuck(), "{} {target:?}", entry.name);
            }
            for target in wire.whole_frames() {
                let after = matches!(target.tampering, Tampering::Lengthen | Tampering::Repeat);
                let caught = !run_helped(entry, sets, link, Some(target)).0.confirmed();
                assert!(caught || (after && wire.is_last(&target)), "{} {target:?}", entry.name);
            }
        }
    }
}

/// Rows of both results of a run, or which end failed.
type Results = (Result<Vec<u64>, Error>, Result<Option<Vec<u64>>, Error>);

/// A run with a byte flipped, as the protocol itself ends it: no digests are compared.
fn flipped(entry: &Entry, sets: &Planted, parameters: Parameters, target: Option<Target>) -> (Results, Wire) {
    let (ended, wire) = run_with(entry, sets, parameters, target);
    assert!(!wire.was_stuck(), "{} {target:?}: cancelled", entry.name);
    let sender = ended.sender.map(|matches| matches.map(|matches| matches.rows().to_vec()));
    ((ended.receiver.map(|matches| matches.rows().to_vec()), sender), wire)
}

/// What a flipped byte may do, by the message that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// One end at least fails.
    Abort,
    /// One end at least fails, or both have the honest result: not all sums and words of trees are read.
    AbortOrHonest,
    /// Matches are lost, and none is invented: the message is a party's own choice of its set, or of what it
    /// tells.
    Withheld,
}

/// What flipped bytes do in the malicious runs of a protocol.
pub struct Flips {
    /// Its name.
    pub name: &'static str,
    /// Sets that give all of its messages: of the receiver, of the sender, common.
    pub sizes: (usize, usize, usize),
    /// All that happens there.
    pub outcomes: &'static [Expected],
    /// What a flipped byte may do, by the lengths of both ends' frames and the one that it is in.
    pub expected: fn(&[Vec<usize>; 2], Target) -> Expected,
}

pub fn a_flipped_byte_of_a_malicious_run_ends_it_or_changes_nothing(
    protocols: &[&'static Entry],
    flips: &[Flips],
) {
    // The protocol's own checks: the session would see each of these in its digests.
    let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
    for entry in protocols.iter().filter(|entry| entry.security.contains(&Security::Malicious)) {
        let flips = flips.iter().find(|flips| flips.name == entry.name);
        let Flips { sizes: (receiver, sender, common), outcomes, expected, .. } =
            flips.unwrap_or_else(|| panic!("{}: what a flipped byte may do is not written", entry.name));
        let sets = planted_for(&parameters, *receiver, *sender, *common, 1);
        let (honest, wire) = flipped(entry, &sets, parameters, None);
        let told = entry.learns_both.then(|| sets.sender_rows.clone());
        assert_eq!(honest, (Ok(sets.receiver_rows.clone()), Ok(told)));
        let frames = wire.frames();
        let mut seen = Vec::new();
        for target in wire.flips().into_iter().filter(few) {
            let expected = expected(&frames, target);
            let (results, _) = flipped(entry, &sets, parameters, Some(target));
            let failed = results.0.is_err() || results.1.is_err();
            let within = |found: &[u64], rows: &[u64]| found.iter().all(|row| rows.contains(row));
            let right = match expected {
                Expected::Abort => failed,
                Expected::AbortOrHonest => failed || results == honest,
                Expected::Withheld => {
                    results.0.iter().all(|rows| within(rows, &sets.receiver_rows))
                        && results.1.iter().flatten().all(|rows| within(rows, &sets.sender_rows))
                }
            };
            assert!(right, "{} {target:?}: {expected:?}, and it ended with {results:?}", entry.name);
            seen.push(expected);
        }
        for expected in *outcomes {
            assert!(seen.contains(expected), "{}: {frames:?}", entry.name);
        }
    }
}

/// Every fifth byte of short frames, and the sample of long ones.
fn few(target: &Target) -> bool {
    matches!(target.tampering, Tampering::Flip { byte } if byte % 5 == 1 || byte > 512)
}

pub fn frames_cut_lengthened_repeated_swapped_or_dropped_are_caught(protocols: &[&'static Entry]) {
    for entry in protocols {
        for sets in sets(entry) {
            let wire = run(entry, &sets, None).1;
            each(wire.whole_frames(), |target| {
                // What follows the last message of a direction is the session's to see.
                let after = matches!(target.tampering, Tampering::Lengthen | Tampering::Repeat);
                let (ended, changed) = run(entry, &sets, Some(target));
                // Two small layers of a circuit on shares may look the same.
                let caught = !ended.confirmed() || changed.was_left_alone();
                assert!(caught || (after && wire.is_last(&target)), "{} {target:?}", entry.name);
            });
        }
    }
}
