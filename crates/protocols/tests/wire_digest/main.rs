//! One digest per protocol, form and direction over everything it sends, from seeded randomness, against a
//! file for each protocol.
//!
//! A refactor that changes no byte leaves the files alone; a format change is a line of their diff, named in
//! the commit. `UPDATE_WIRE_DIGESTS=1 cargo test --release -p vesica-protocols --test wire_digest` writes
//! them anew.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::path::PathBuf;

use vesica_channel::memory;
use vesica_protocols::registry::{Entry, PROTOCOLS, Shape};
use vesica_protocols::testing::{Case, planted_for, result_ways, run_for_result, run_pair, ways};
use vesica_protocols::{Attached, Learns, Payloads, ResultKind, Sizes};

/// The lines of one protocol: how it was run, then digests of what the receiver sent and of what it received.
fn lines(entry: &Entry) -> String {
    let mut lines = String::new();
    // So many that a VOLE has noise, and a structured code. Other protocols run the same way at any size.
    let large = (3500, 50);
    let flights = |(receiver, sender)| entry.flights_of(&Shape::new(Sizes { receiver, sender }));
    let runs_otherwise = flights((40, 50)) != flights(large);
    for parameters in ways(entry) {
        for (receiver, sender) in [(40, 50), (50, 40), large] {
            for learns in [Learns::Receiver, Learns::Both] {
                // The rarer forms: once each.
                let again = (receiver, sender) == (50, 40) || learns == Learns::Both;
                let rare = again && parameters != entry.supports.usual();
                let beside = (receiver, sender) == large && (!runs_otherwise || learns == Learns::Both);
                if rare || beside || learns == Learns::Both && !entry.learns_both {
                    continue;
                }
                let sets = planted_for(&parameters, receiver, sender, 11, 1);
                let case = Case { parameters, learns, ..Case::default() };
                let ended = run_pair(entry, &sets, case);
                assert!(ended.receiver.is_ok() && ended.sender.is_ok(), "{} {parameters:?}", entry.name);
                lines += &line((receiver, sender), case, ended.transcript());
            }
        }
    }
    lines + &results(entry)
}

/// The lines of results other than rows, at one size.
fn results(entry: &Entry) -> String {
    const SIZES: (usize, usize) = (40, 50);
    let mut lines = String::new();
    for parameters in result_ways(entry) {
        let sets = planted_for(&parameters, SIZES.0, SIZES.1, 11, 1);
        let numbers =
            |columns: u8| (1..=columns).map(|column| (0..50).map(|i| i << column).collect()).collect();
        let values: Vec<Vec<u64>>;
        let payloads;
        let attached = match parameters.result {
            ResultKind::Sums { columns } => {
                values = numbers(columns);
                Attached::Values(&values)
            }
            ResultKind::Payload { bytes } => {
                payloads = Payloads::new(bytes as usize, (0..50 * bytes).map(|i| i as u8).collect()).unwrap();
                Attached::Payloads(&payloads)
            }
            _ => Attached::Nothing,
        };
        for learns in [Learns::Receiver, Learns::Both] {
            let case = Case { parameters, learns, ..Case::default() };
            let ended = run_for_result((entry, &sets, case), attached, memory::pair());
            assert!(ended.receiver.is_ok() && ended.sender.is_ok(), "{} {parameters:?}", entry.name);
            assert!(ended.same_transcript);
            lines += &line(SIZES, case, [ended.digests.sent, ended.digests.received]);
        }
    }
    lines
}

/// How a pair was run, and digests of what the receiver sent and of what it received.
fn line((receiver, sender): (usize, usize), case: Case, transcript: [[u8; 32]; 2]) -> String {
    let Case { parameters, learns, .. } = case;
    let [sent, received] = transcript.map(hex::encode);
    let (sent, received) = (&sent[..32], &received[..32]);
    format!("{receiver}x{sender} {learns:?} {}: {sent} {received}\n", parameters.text())
}

#[test]
fn transcripts_equal_the_baseline() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire_digest"));
    let update = std::env::var_os("UPDATE_WIRE_DIGESTS").is_some();
    let mut changed = Vec::new();
    for entry in PROTOCOLS {
        let (file, now) = (folder.join(format!("{}.baseline", entry.name)), lines(entry));
        if update {
            fs::write(&file, &now).unwrap();
        }
        if fs::read_to_string(&file).ok().as_ref() != Some(&now) {
            changed.push(format!("{}:\n{now}", entry.name));
        }
    }
    assert!(
        changed.is_empty(),
        "the wire changed, or a protocol is new; if that was meant, UPDATE_WIRE_DIGESTS=1 writes the files: {}",
        changed.join("\n")
    );
}
