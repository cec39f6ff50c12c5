//! What every protocol tells whoever waits: its phases are those of its entry, and each that takes long says
//! how far it is.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use vesica_protocols::registry::{PROTOCOLS, find};
use vesica_protocols::testing::suites::progress::{self, watched};
use vesica_protocols::testing::{Case, ways};
use vesica_protocols::{Phase, Security};

#[test]
fn every_protocol_goes_through_the_phases_of_its_entry() {
    progress::every_protocol_goes_through_the_phases_of_its_entry(PROTOCOLS);
}

#[test]
fn the_default_tells_how_far_it_is_in_every_phase() {
    let entry = find("vole").unwrap();
    let models = [Security::Malicious, Security::SemiHonest];
    for parameters in ways(entry).into_iter().filter(|parameters| models.contains(&parameters.security)) {
        for threads in [1, 2] {
            let case = Case { parameters, threads, ..Case::default() };
            for seen in watched(entry, (20_000, 30_000), case) {
                for (phase, total, done) in seen {
                    assert!(total > 0, "{phase} does not say how much there is to do");
                    assert_eq!(done.iter().sum::<u64>(), total, "{phase} {parameters:?}");
                    let steps = done.iter().filter(|done| **done > 0).count();
                    assert!(phase == Phase::Compare || steps > 2, "{phase} tells only {done:?}");
                }
            }
        }
    }
}
