//! Every protocol of the registry, in one loop: right rows, right bytes, the same bytes from any number of
//! threads.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use vesica_ot::base::cache::{BaseOtCache, CachedBaseOts};
use vesica_protocols::registry::{Entry, PROTOCOLS, find};
use vesica_protocols::testing::suites::all_protocols;
use vesica_protocols::testing::{Case, planted_for, run_keeping, shape};
use vesica_protocols::{Parameters, Role};

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
fn kept_base_ots_spare_their_messages_and_change_no_result() {
    all_protocols::kept_base_ots_spare_their_messages_and_change_no_result(PROTOCOLS);
}

#[test]
fn base_ots_from_ml_kem_are_those_of_the_protocol() {
    all_protocols::base_ots_from_ml_kem_are_those_of_the_protocol(PROTOCOLS);
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

/// `kkrt` makes base OTs at level 128 and keeps them. `gbf` at 80 must make its own, in both extensions, for
/// 2^80 hashes find the choices of such a run; at 192 and 256 it refuses them; at 128 it takes them.
#[test]
fn flaw_no_run_takes_base_ots_of_another_level() {
    let kkrt = find("kkrt").unwrap();
    let gbf = find("gbf").unwrap();
    let run = |entry: &Entry, parameters: Parameters, kept: &[BaseOtCache; 2]| {
        let sets = planted_for(&parameters, 30, 20, 7, 4);
        let case = Case { parameters, ..Case::default() };
        let ends = vesica_channel::memory::pair();
        let ended = run_keeping(entry, &sets, case, ends, kept.each_ref().map(Some));
        let fresh = [Role::Receiver, Role::Sender].map(|from| entry.bytes(from, &shape(&sets, case)));
        let found = ended.receiver.map(|matches| assert_eq!(matches.rows(), sets.receiver_rows));
        let sent = [ended.traffic.payload_sent, ended.traffic.payload_received];
        (found.and(ended.sender.map(|_| ())), sent == fresh)
    };
    let made = [BaseOtCache::new(), BaseOtCache::new()];
    assert_eq!(run(kkrt, Parameters::default(), &made), (Ok(()), true));
    let made = made.map(|cache| cache.into_cached().unwrap().to_bytes());
    let kept = || made.each_ref().map(|kept| BaseOtCache::of(CachedBaseOts::from_bytes(kept).unwrap()));
    for variant in gbf.supports.variants.iter().map(Some).chain([None]) {
        let at = |level| Parameters { level, variant, ..Parameters::default() };
        let variant = at(128).variant_name();
        assert_eq!(run(gbf, at(80), &kept()), (Ok(()), true), "{variant}: base OTs of its own");
        let none = [BaseOtCache::new(), BaseOtCache::new()];
        assert_eq!(run(gbf, at(80), &none), (Ok(()), true));
        assert!(
            none.into_iter().all(|cache| cache.into_cached().is_none()),
            "{variant}: level 80 keeps none"
        );
        for level in [192, 256] {
            assert!(run(gbf, at(level), &kept()).0.is_err(), "{variant} at {level}");
        }
        assert_eq!(run(gbf, at(128), &kept()), (Ok(()), false), "{variant}: the kept ones");
    }
}
