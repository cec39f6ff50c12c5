//! Circuits over OTs that withstand malicious parties: the variant `malicious-ot`.

use vesica_channel::tampered::{self, Direction};
use vesica_protocols::registry::find;
use vesica_protocols::testing::{Case, Ended, planted_for, run_over, run_pair};
use vesica_protocols::{Learns, Misuse, Parameters};

use super::is_inconsistent;

/// The protocols that have it.
const NAMES: [&str; 2] = ["pwc", "bwa"];

/// Where a bit is changed: behind the set-up of the extension, in its rows.
const CHANGED: usize = 8000;

/// A run in which the receiver's message of the extension has a wrong bit: one column then belongs to other choices
/// than the others, which is how a receiver learns bits of Δ.
fn with_a_wrong_column(name: &str, variant: Option<&str>) -> Ended {
    let entry = find(name).unwrap();
    let variant = variant.map(|variant| entry.supports.variant(variant).unwrap());
    let parameters = Parameters { variant, ..entry.supports.usual() };
    let sets = planted_for(&parameters, 64, 60, 20, 1);
    let mut changed = false;
    let ends = tampered::pair(move |direction, mut frame| {
        if direction == Direction::FirstToSecond && frame.payload.len() > CHANGED && !changed {
            frame.payload[CHANGED] ^= 0xff;
            changed = true;
        }
        vec![frame]
    });
    run_over(entry, &sets, Case { parameters, ..Case::default() }, ends)
}

/// The standard form does not notice: this test fails if the forms are confused.
#[test]
fn a_receiver_that_cheats_in_the_transfers_is_caught() {
    for name in NAMES {
        let ended = with_a_wrong_column(name, Some("malicious-ot"));
        assert!(is_inconsistent(&ended.sender.unwrap_err()) && ended.receiver.is_err(), "{name}");
        assert!(with_a_wrong_column(name, None).sender.is_ok(), "{name}");
    }
}

#[test]
fn the_sender_is_told_nothing() {
    for name in NAMES {
        let entry = find(name).unwrap();
        let parameters =
            Parameters { variant: entry.supports.variant("malicious-ot"), ..entry.supports.usual() };
        let sets = planted_for(&parameters, 30, 20, 10, 1);
        let ended = run_pair(entry, &sets, Case { parameters, learns: Learns::Both, ..Case::default() });
        for error in [ended.sender.err(), ended.receiver.err()] {
            assert_eq!(error, Some(Misuse::ReceiverOnly.into()), "{name}");
        }
        let refuses = |parameters| entry.supports.unsupported(&parameters).is_some();
        assert!(!refuses(parameters), "{name}");
        assert!(refuses(Parameters { level: 80, ..parameters }), "{name}");
        assert!(refuses(Parameters { level: 256, ..parameters }), "{name}");
        assert!(refuses(Parameters { audit_max: Some(5), ..parameters }), "{name}");
    }
}
