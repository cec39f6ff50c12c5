//! The audit (`--audit-max`) of every protocol that has it: up to the limit the rows come out, above it both sides learn
//! that, and as many bytes go each way.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use vesica_protocols::registry::{Entry, PROTOCOLS};
use vesica_protocols::testing::{Case, Ended, planted_for, run_pair};
use vesica_protocols::{Error, Learns, Parameters};

/// A run on sets of 60 and 50 items, of which `common` are the same.
fn run(entry: &Entry, parameters: Parameters, learns: Learns, common: usize) -> (Ended, Vec<u64>, Vec<u64>) {
    let sets = planted_for(&parameters, 60, 50, common, 3);
    let ended = run_pair(entry, &sets, Case { parameters, learns, ..Case::default() });
    (ended, sets.receiver_rows, sets.sender_rows)
}

/// The audited protocols, each counter, and who learns the result.
fn audited() -> impl Iterator<Item = (&'static Entry, Parameters, Learns)> {
    let entries = PROTOCOLS.iter().copied().filter(|entry| entry.supports.audit);
    entries.flat_map(|entry| {
        let variants = [None].into_iter().chain(entry.supports.variants.iter().map(Some));
        let learns = [Learns::Receiver, Learns::Both].into_iter().take(1 + usize::from(entry.learns_both));
        let learns: Vec<_> = learns.collect();
        variants.flat_map(move |variant| {
            let parameters = Parameters { variant, ..entry.supports.usual() };
            let audited = Parameters { audit_max: Some(0), ..parameters };
            let learns =
                if entry.supports.unsupported(&audited).is_none() { learns.clone() } else { Vec::new() };
            learns.into_iter().map(move |learns| (entry, parameters, learns))
        })
    })
}

#[test]
fn rows_come_out_up_to_the_limit_and_not_above() {
    assert!(audited().count() > 0);
    for (entry, parameters, learns) in audited() {
        for (most, common) in [(19, 20), (0, 1), (20, 20), (21, 20), (0, 0), (49, 50), (50, 50)] {
            let what = format!("{} {learns:?}: {common} of at most {most}", entry.name);
            let parameters = Parameters { audit_max: Some(most), ..parameters };
            let (ended, rows, sender_rows) = run(entry, parameters, learns, common);
            let both_saw_the_same = ended.digests.sent == ended.sender_digests.received
                && ended.digests.received == ended.sender_digests.sent;
            assert!(both_saw_the_same, "{what}");
            if common as u64 > most {
                let refused = Error::AuditRefused { most };
                assert_eq!(ended.receiver.err(), Some(refused.clone()), "{what}");
                assert_eq!(ended.sender.err(), Some(refused), "{what}");
            } else {
                assert_eq!(ended.receiver.unwrap().rows(), rows, "{what}");
                let learnt = ended.sender.unwrap().map(|matches| matches.rows().to_vec());
                assert_eq!(learnt, (learns == Learns::Both).then_some(sender_rows), "{what}");
            }
        }
    }
}

#[test]
fn a_refusal_is_as_long_as_a_result_whatever_the_sets() {
    for (entry, parameters, learns) in audited() {
        let bytes = |common| {
            let parameters = Parameters { audit_max: Some(20), ..parameters };
            let (ended, ..) = run(entry, parameters, learns, common);
            (ended.receiver.is_ok(), [ended.traffic.payload_sent, ended.traffic.payload_received])
        };
        let (allowed, sent) = bytes(20);
        assert!(allowed, "{}", entry.name);
        for common in [21, 30, 50] {
            // A protocol whose receiver returns what it learnt says nothing where there is nothing to return.
            let (refused, so_many) = bytes(common);
            assert!(!refused, "{}", entry.name);
            assert_eq!(so_many, bytes(21).1, "{} {learns:?}", entry.name);
            assert!(learns == Learns::Both || so_many == sent, "{} {learns:?}", entry.name);
        }
    }
}
