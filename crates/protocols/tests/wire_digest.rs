//! One digest per protocol and direction over everything it sends, from seeded randomness, against a baseline file.
//!
//! A refactor that changes no byte leaves the file alone; a format change is a line of its diff, named in the commit.

use std::fmt::Write;

use vesica_protocols::Learns;
use vesica_protocols::registry::PROTOCOLS;
use vesica_protocols::testing::{Case, planted, run_pair};

#[test]
fn transcripts_equal_the_baseline() {
    let mut now = String::new();
    for entry in PROTOCOLS {
        for (receiver, sender) in [(40, 50), (50, 40)] {
            for learns in [Learns::Receiver, Learns::Both] {
                if learns == Learns::Both && !entry.learns_both {
                    continue;
                }
                let ended =
                    run_pair(entry, &planted(receiver, sender, 11, 1), Case { learns, ..Case::default() });
                assert!(ended.receiver.is_ok() && ended.sender.is_ok(), "{}", entry.name);
                let (sent, received) = (hex::encode(ended.digests.sent), hex::encode(ended.digests.received));
                writeln!(
                    now,
                    "{} {receiver}x{sender} {learns:?} {} {}",
                    entry.name,
                    &sent[..32],
                    &received[..32]
                )
                .unwrap();
            }
        }
    }
    let baseline = include_str!("wire_digest.baseline");
    assert_eq!(
        now, baseline,
        "the wire changed; if that was meant, tests/wire_digest.baseline is to hold:\n{now}"
    );
}
