//! Digests of all that a protocol sends, against files.

use std::fs;
use std::path::Path;

use crate::entry::{Entry, Shape};
use crate::testing::{Case, planted_for, result_ways, run_for_result, run_pair, ways};
use crate::{Attached, Learns, Payloads, ResultKind, Sizes};
use vesica_channel::memory;

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
    let hex = |digest: [u8; 32]| digest[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let [sent, received] = transcript.map(hex);
    format!("{receiver}x{sender} {learns:?} {}: {sent} {received}\n", parameters.text())
}

pub fn transcripts_equal_the_baseline(protocols: &[&'static Entry], folder: &Path) {
    let update = std::env::var_os("UPDATE_WIRE_DIGESTS").is_some();
    let mut changed = Vec::new();
    for entry in protocols {
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
