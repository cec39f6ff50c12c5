//! `vole` at sizes around the places where it changes its ways, in every profile, variant and security model:
//! right rows, and the same bytes from one thread and from two.
//!
//! Every kernel's back ends are tested against each other where they stand (`vesica_crypto`), since a run
//! takes the one that the processor has.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use vesica_channel::Digests;
use vesica_protocols::testing::{Case, planted_for, run_pair, ways};
use vesica_protocols::vole_based::rr22::ENTRY;
use vesica_protocols::{Learns, Parameters, Profile, Security};

fn digests(parameters: Parameters, [receiver, sender]: [usize; 2], threads: usize) -> Digests {
    let sets = planted_for(&parameters, receiver, sender, receiver.min(sender) / 3, 8);
    let what = format!("{receiver} and {sender}, {threads} threads, {}", parameters.text());
    let ended = run_pair(
        &ENTRY,
        &sets,
        Case { parameters, learns: Learns::Both, threads, seed: 3, ..Case::default() },
    );
    assert_eq!(ended.sender.unwrap().unwrap().rows(), sets.sender_rows, "{what}");
    assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows, "{what}");
    ended.digests
}

#[test]
fn sizes_around_every_change_of_code() {
    // Without noise below 1696 columns (800 in the lean profile), a random matrix to 4096, a structured code
    // above.
    let around =
        [[560, 9], [561, 700], [1307, 3], [1400, 20], [3300, 50], [3400, 2100], [9, 3400], [1, 1], [0, 7]];
    for parameters in ways(&ENTRY) {
        // Variants change the structured code; the widths of integers change nothing in the code.
        let standard = parameters.variant.is_none() && parameters.sigma.is_none();
        for sizes in around {
            if standard || sizes[0] > 3310 {
                let one = digests(parameters, sizes, 1);
                assert_eq!(digests(parameters, sizes, 2), one, "{sizes:?} {}", parameters.text());
            }
        }
    }
}

#[test]
#[ignore = "minutes and 2 GB: cargo test --profile ci -p vesica-protocols --test vole_sizes -- --ignored --nocapture"]
fn large_sizes_equal_and_not() {
    for security in [Security::SemiHonest, Security::Malicious] {
        for profile in [Profile::Conservative, Profile::Fast] {
            let parameters = Parameters { security, profile, ..Parameters::default() };
            for sizes in [[1 << 20, 1 << 20], [1 << 10, 1 << 24], [1 << 22, 1 << 10]] {
                digests(parameters, sizes, 2);
                println!("{sizes:?} {}", parameters.text());
            }
        }
    }
}
