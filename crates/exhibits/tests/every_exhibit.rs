//! The tests that hold for every protocol, for the exhibits.

use std::path::Path;

use vesica_exhibits::PROTOCOLS;
use vesica_protocols::testing::suites::tamper::{Expected, Flips};
use vesica_protocols::testing::suites::{all_protocols, formulas, progress, tamper, wire_digest};
use vesica_protocols::testing::{DIRECTIONS, Tampering, Target};

#[test]
fn planted_intersections_equal_the_plain_join() {
    all_protocols::planted_intersections_equal_the_plain_join(PROTOCOLS);
}

#[test]
fn every_form_of_a_protocol_equals_the_plain_join() {
    all_protocols::every_form_of_a_protocol_equals_the_plain_join(PROTOCOLS);
}

#[test]
fn a_longer_lambda_lengthens_masks_and_keeps_the_intersection() {
    all_protocols::a_longer_lambda_lengthens_masks_and_keeps_the_intersection(PROTOCOLS);
}

#[test]
fn the_transcript_carries_the_messages_of_the_paper() {
    all_protocols::the_transcript_carries_the_messages_of_the_paper(PROTOCOLS);
}

#[test]
fn duplicates_come_out_with_every_row() {
    all_protocols::duplicates_come_out_with_every_row(PROTOCOLS);
}

#[test]
fn padding_is_never_matched() {
    all_protocols::padding_is_never_matched(PROTOCOLS);
}

#[test]
fn the_transcript_does_not_depend_on_threads() {
    all_protocols::the_transcript_does_not_depend_on_threads(PROTOCOLS);
}

#[test]
fn no_form_of_the_bloom_filters_depends_on_threads() {
    all_protocols::no_form_of_the_bloom_filters_depends_on_threads(PROTOCOLS);
}

#[test]
fn fresh_randomness_changes_the_transcript_and_not_the_result() {
    all_protocols::fresh_randomness_changes_the_transcript_and_not_the_result(PROTOCOLS);
}

#[test]
fn flaw_messages_that_the_randomness_of_their_sender_does_not_hide() {
    all_protocols::flaw_messages_that_the_randomness_of_their_sender_does_not_hide(PROTOCOLS);
}

#[test]
fn a_set_of_another_size_than_agreed_is_refused() {
    all_protocols::a_set_of_another_size_than_agreed_is_refused(PROTOCOLS);
}

#[test]
fn every_formula_is_its_program() {
    formulas::every_formula_is_its_program(PROTOCOLS);
}

#[test]
fn a_partner_that_names_any_size_stops_no_program() {
    formulas::a_partner_that_names_any_size_stops_no_program(PROTOCOLS);
}

#[test]
fn every_protocol_goes_through_the_phases_of_its_entry() {
    progress::every_protocol_goes_through_the_phases_of_its_entry(PROTOCOLS);
}

#[test]
fn an_honest_wire_is_confirmed() {
    tamper::an_honest_wire_is_confirmed(PROTOCOLS);
}

#[test]
fn every_flipped_byte_is_caught() {
    tamper::every_flipped_byte_is_caught(PROTOCOLS);
}

#[test]
fn frames_cut_lengthened_repeated_swapped_or_dropped_are_caught() {
    tamper::frames_cut_lengthened_repeated_swapped_or_dropped_are_caught(PROTOCOLS);
}

#[test]
fn transcripts_equal_the_baseline() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire_digest"));
    wire_digest::transcripts_equal_the_baseline(PROTOCOLS, folder);
}

#[test]
fn each_runs_only_where_both_sides_allow_it() {
    assert!(PROTOCOLS.iter().all(|entry| entry.needs_allow_insecure()));
}

/// What flipped bytes do in the malicious runs.
const FLIPS: &[Flips] = &[Flips {
    name: "gbf-dcw-malicious",
    sizes: (8, 9, 5),
    outcomes: &[Expected::Abort, Expected::AbortOrHonest],
    expected: expected_of_dcw,
}];

#[test]
fn a_flipped_byte_of_a_malicious_run_ends_it_or_changes_nothing() {
    tamper::a_flipped_byte_of_a_malicious_run_ends_it_or_changes_nothing(PROTOCOLS, FLIPS);
}

/// In order of each end: the receiver's base OT, trees and extension, random strings, corrections; the
/// sender's base OTs, shares, filter. A receiver uses either the share or the string of a slot, and of two sums
/// of a small tree the sender reads one.
fn expected_of_dcw(frames: &[Vec<usize>; 2], target: Target) -> Expected {
    let receiver = target.direction == DIRECTIONS[0];
    let last = frames[usize::from(!receiver)].len() - 1;
    let in_trees = matches!(target.tampering, Tampering::Flip { byte } if byte < 6144);
    match target.frame {
        1 if receiver && in_trees => Expected::AbortOrHonest,
        frame if receiver && frame > 1 && frame < last => Expected::AbortOrHonest,
        frame if !receiver && frame > 0 => Expected::AbortOrHonest,
        _ => Expected::Abort,
    }
}
