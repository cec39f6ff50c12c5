//! A party with a card sends what it sends without one.
//!
//! Where there is no card, nothing is compared. `benchmarks/card/whole_runs.sh` runs this with a library in the place of
//! the driver, and then there has to be one (`VESICA_CARD_EXPECTED`).

use vesica_crypto::device::Device;
use vesica_protocols::Learns;
use vesica_protocols::registry::{OnCard, PROTOCOLS};
use vesica_protocols::testing::{Case, planted_for, run_pair, ways};

#[test]
fn transcripts_and_matches_are_the_same_with_a_card() {
    let device: &'static Device = match Device::open(0) {
        Ok(device) => Box::leak(Box::new(device)),
        Err(error) => {
            assert!(std::env::var_os("VESICA_CARD_EXPECTED").is_none(), "{}", error.reason);
            return;
        }
    };
    let on_card = || PROTOCOLS.iter().filter(|entry| entry.on_card != OnCard::Nothing);
    assert!(on_card().count() > 0);
    for entry in on_card() {
        for parameters in ways(entry) {
            for (receiver, sender) in [(40, 50), (50, 40), (1500, 1400)] {
                let sets = planted_for(&parameters, receiver, sender, 11, 1);
                let [with, without] = [Some(device), None].map(|device| {
                    let case = Case { parameters, learns: Learns::Receiver, threads: 2, device, seed: 3 };
                    run_pair(entry, &sets, case)
                });
                let what = format!("{} {receiver}x{sender} {parameters:?}", entry.name);
                assert_eq!(with.transcript(), without.transcript(), "{what}");
                assert_eq!(with.receiver.unwrap().rows(), sets.receiver_rows, "{what}");
            }
        }
    }
    assert_eq!(device.failure(), None);
}
