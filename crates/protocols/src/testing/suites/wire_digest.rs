//! Digests of all that a protocol sends, against files.

use std::fs;
use std::path::Path;

use crate::entry::{Entry, Shape};
use crate::testing::{Case, Planted, planted_for, play_one, result_ways, run_for_result, run_pair, ways};
use crate::{Attached, Learns, Payloads, ResultKind, Role, Sizes};
use vesica_channel::{Stream, memory};

/// A run whose digests are in a file.
pub struct Pinned {
    sizes: (usize, usize),
    case: Case,
    /// The result is another one than rows.
    other_result: bool,
}

/// The runs of one protocol, in the order of its file.
pub fn pinned(entry: &Entry) -> Vec<Pinned> {
    let mut runs = Vec::new();
    // So many that a VOLE has noise, and a structured code. Other protocols run the same way at any size.
    let large = (3500, 50);
    let flights = |(receiver, sender)| entry.flights_of(&Shape::new(Sizes { receiver, sender }));
    let runs_otherwise = flights((40, 50)) != flights(large);
    for parameters in ways(entry) {
        for sizes in [(40, 50), (50, 40), large] {
            for learns in [Learns::Receiver, Learns::Both] {
                // The rarer forms: once each.
                let again = sizes == (50, 40) || learns == Learns::Both;
                let rare = again && parameters != entry.supports.usual();
                let beside = sizes == large && (!runs_otherwise || learns == Learns::Both);
                if rare || beside || learns == Learns::Both && !entry.learns_both {
                    continue;
                }
                let case = Case { parameters, learns, ..Case::default() };
                runs.push(Pinned { sizes, case, other_result: false });
            }
        }
    }
    // Results other than rows, at one size.
    for parameters in result_ways(entry) {
        for learns in [Learns::Receiver, Learns::Both] {
            let case = Case { parameters, learns, ..Case::default() };
            runs.push(Pinned { sizes: (40, 50), case, other_result: true });
        }
    }
    runs
}

impl Pinned {
    /// Runs both roles; how, then digests of what the receiver sent and of what it received.
    fn line(&self, entry: &Entry) -> String {
        let (Self { case, .. }, sets) = (self, self.sets());
        let transcript = if self.other_result {
            let ended =
                self.attach(|attached| run_for_result((entry, &sets, *case), attached, memory::pair()));
            assert!(ended.receiver.is_ok() && ended.sender.is_ok(), "{} {:?}", entry.name, case.parameters);
            assert!(ended.same_transcript);
            [ended.digests.sent, ended.digests.received]
        } else {
            let ended = run_pair(entry, &sets, *case);
            assert!(ended.receiver.is_ok() && ended.sender.is_ok(), "{} {:?}", entry.name, case.parameters);
            ended.transcript()
        };
        self.text(transcript)
    }

    /// Plays one role, the other one being played at the end of `channel`; the line of both. For protocols without a
    /// helper.
    pub fn line_of(&self, entry: &Entry, role: Role, channel: Stream) -> String {
        let agreed = (entry, &self.sets(), self.case);
        let played = self.attach(|attached| play_one(agreed, role, attached, channel));
        let digests = played.unwrap_or_else(|error| panic!("{} as {role:?}: {error}", entry.name));
        self.text(match role {
            Role::Receiver => [digests.sent, digests.received],
            Role::Sender => [digests.received, digests.sent],
        })
    }

    fn sets(&self) -> Planted {
        planted_for(&self.case.parameters, self.sizes.0, self.sizes.1, 11, 1)
    }

    /// What goes along with the sender's items.
    fn attach<T>(&self, with: impl FnOnce(Attached<'_>) -> T) -> T {
        match self.case.parameters.result {
            ResultKind::Sums { columns } => {
                let numbers = |column| (0..50u64).map(|i| i << column).collect();
                let values: Vec<Vec<u64>> = (1..=columns).map(numbers).collect();
                with(Attached::Values(&values))
            }
            ResultKind::Payload { bytes } => {
                let numbers = (0..50 * bytes).map(|i| i as u8).collect();
                with(Attached::Payloads(&Payloads::new(bytes as usize, numbers).unwrap()))
            }
            _ => with(Attached::Nothing),
        }
    }

    /// How it is run, and digests of what the receiver sent and of what it received.
    fn text(&self, transcript: [[u8; 32]; 2]) -> String {
        let (Case { parameters, learns, .. }, (receiver, sender)) = (self.case, self.sizes);
        let hex =
            |digest: [u8; 32]| digest[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let [sent, received] = transcript.map(hex);
        format!("{receiver}x{sender} {learns:?} {}: {sent} {received}\n", parameters.text())
    }
}

pub fn transcripts_equal_the_baseline(protocols: &[&'static Entry], folder: &Path) {
    let update = std::env::var_os("UPDATE_WIRE_DIGESTS").is_some();
    let mut changed = Vec::new();
    for entry in protocols {
        let (file, now) = (
            folder.join(format!("{}.baseline", entry.name)),
            pinned(entry).iter().map(|run| run.line(entry)).collect::<String>(),
        );
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
