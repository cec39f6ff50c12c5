//! A wire that lies, in every protocol of the registry; see the suite.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use vesica_protocols::registry::{PROTOCOLS, find};
use vesica_protocols::testing::suites::tamper::{self, Expected, Flips};
use vesica_protocols::testing::{DIRECTIONS, Tampering, Target};

#[test]
fn an_honest_wire_is_confirmed() {
    tamper::an_honest_wire_is_confirmed(PROTOCOLS);
}

#[test]
fn every_flipped_byte_is_caught() {
    tamper::every_flipped_byte_is_caught(PROTOCOLS);
}

#[test]
fn every_flipped_byte_of_base_ots_from_ml_kem_is_caught() {
    let some = ["vole", "kkrt", "gbf", "pwc"].map(|name| find(name).unwrap());
    tamper::every_flipped_byte_of_base_ots_from_ml_kem_is_caught(&some);
}

#[test]
fn whatever_is_changed_between_a_party_and_the_helper_is_caught() {
    tamper::whatever_is_changed_between_a_party_and_the_helper_is_caught(PROTOCOLS);
}

#[test]
fn frames_cut_lengthened_repeated_swapped_or_dropped_are_caught() {
    tamper::frames_cut_lengthened_repeated_swapped_or_dropped_are_caught(PROTOCOLS);
}

/// What flipped bytes do in the malicious runs of each protocol.
const FLIPS: &[Flips] = &[
    // So many items that there are trees, a challenge and a reply.
    Flips { name: "vole", sizes: (1400, 9, 5), outcomes: ALL, expected: expected_of_vole },
    Flips { name: "gbf-rr16", sizes: (8, 9, 5), outcomes: ALL, expected: expected_of_rr16 },
    Flips {
        name: "dkt",
        sizes: (3, 4, 2),
        outcomes: &[Expected::Abort, Expected::Withheld],
        expected: expected_of_dkt,
    },
];

const ALL: &[Expected] = &[Expected::Abort, Expected::AbortOrHonest, Expected::Withheld];

#[test]
fn a_flipped_byte_of_a_malicious_run_ends_it_or_changes_nothing() {
    tamper::a_flipped_byte_of_a_malicious_run_ends_it_or_changes_nothing(PROTOCOLS, FLIPS);
}

/// Which messages of `vole` a frame carries. In order of each end: the receiver's coin, answer, challenge,
/// then columns and w_r, positions and proofs; the sender's commitments, opened coin, base OTs, words, reply,
/// w_s, masks.
fn expected_of_vole(frames: &[Vec<usize>; 2], target: Target) -> Expected {
    let receiver = target.direction == DIRECTIONS[0];
    let frames = &frames[usize::from(!receiver)];
    let frame = target.frame;
    if receiver {
        // 16 bytes of a seed and 16 of a sum, after the coin, which is as long.
        let challenge = (1..frames.len()).find(|&frame| frames[frame] == 32).unwrap();
        return match frame {
            _ if frame > challenge => Expected::Withheld,
            // Of two sums of a small tree the sender reads one.
            _ if 0 < frame && frame < challenge => Expected::AbortOrHonest,
            _ => Expected::Abort,
        };
    }
    let reply = frames.iter().rposition(|&length| length == 32).unwrap();
    match frame {
        _ if frame + 1 == frames.len() => Expected::Withheld,
        // What goes before the reply and is not coins or base OTs: words.
        _ if frame < reply && frames[..frame].iter().sum::<usize>() >= 64 + 64 + 8192 => {
            Expected::AbortOrHonest
        }
        _ => Expected::Abort,
    }
}

/// In order of each end: the receiver's base OT, trees and extension, opened choices and sum, id and
/// commitment, coin, permutation; the sender's base OTs, challenge, id and coin, masks. Another coin of the
/// sender's gives both parties different filters, and nothing matches. Of two sums of a small tree the sender
/// reads one.
fn expected_of_rr16(frames: &[Vec<usize>; 2], target: Target) -> Expected {
    let receiver = target.direction == DIRECTIONS[0];
    let id = matches!(target.tampering, Tampering::Flip { byte } if byte < 32);
    let commitment = frames[0].iter().position(|&length| length == 64);
    match (receiver, target.frame) {
        // The frame before the commitment is the answer; the first is the base OT.
        (true, 0) => Expected::Abort,
        (true, frame) if Some(frame + 1) >= commitment => Expected::Abort,
        (true, _) => Expected::AbortOrHonest,
        (false, 2) if !id => Expected::Withheld,
        (false, frame) if frame + 1 == frames[1].len() => Expected::Withheld,
        (false, _) => Expected::Abort,
    }
}

/// Proofs cover everything but the sender's masks, its last message.
fn expected_of_dkt(frames: &[Vec<usize>; 2], target: Target) -> Expected {
    let masks = target.direction == DIRECTIONS[1] && target.frame + 1 == frames[1].len();
    if masks { Expected::Withheld } else { Expected::Abort }
}
