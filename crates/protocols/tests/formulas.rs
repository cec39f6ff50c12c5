//! The formulas of the registry, as people read them, are the programs that stand beside them.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use vesica_protocols::registry::{PROTOCOLS, Shape};
use vesica_protocols::testing::suites::formulas;
use vesica_protocols::testing::ways;
use vesica_protocols::{Learns, Sizes};

#[test]
fn every_formula_is_its_program() {
    formulas::every_formula_is_its_program(PROTOCOLS);
}

#[test]
fn a_partner_that_names_any_size_stops_no_program() {
    formulas::a_partner_that_names_any_size_stops_no_program(PROTOCOLS);
}

#[test]
fn formulas_are_read() {
    formulas::formulas_are_read();
}

/// m = b·κ·s: b = ⌈n/2^13⌉ bins of κ slices, and with one bin s = ⌈1/(1 - 2^(-1/n))⌉ slots of a slice; with
/// several, which have unequal loads, somewhat more than their share of n asks for. Each batch of OTs is
/// filled up to 128 of them.
#[test]
fn a_filter_has_as_many_slots_as_is_written() {
    for entry in PROTOCOLS.iter().filter(|entry| ["gbf", "gbf-random"].contains(&entry.name)) {
        for parameters in ways(entry) {
            let level = parameters.level as usize;
            for n in [1usize, 2, 3, 9, 20, 257, 5000, 8192, 8193, 100_000] {
                let (sizes, learns) = (Sizes { receiver: n, sender: n }, Learns::Receiver);
                let shape = Shape { sizes, parameters, learns, matches: 0, kept_base_ots: false };
                let bins = n.div_ceil(1 << 13);
                let load = n as f64 / bins as f64;
                let least = (1.0 / (1.0 - 0.5f64.powf(1.0 / load))).ceil() as usize;
                let most = if bins == 1 { least } else { least + least / 60 };
                let [least, most] = [least, most].map(|slots| (bins * level * slots) as u64);
                let bytes = |number| entry.sent(&shape).nth(number).unwrap().1;
                let iknp = level > 128 || parameters.variant.is_some();
                let (once, each) = if iknp { (0, level as u64 / 8) } else { (4096, 4) };
                let slots = (bytes(2) - once) / each;
                // A batch has at least one group of slices, or all of them.
                let filled = most + 128 * (bins * level.div_ceil(4)) as u64;
                assert!((least..filled).contains(&slots), "{} at {level}, {n}: {slots}", entry.name);
                if entry.name == "gbf" {
                    let strings = if parameters.variant_name() == "two-strings" { 2 } else { 1 };
                    let slots = bytes(3) / (strings * level as u64 / 8);
                    assert!((least..=most).contains(&slots), "gbf at {level}, {n}: {slots}");
                }
            }
        }
    }
}
