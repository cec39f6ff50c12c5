//! Which protocol to take for a network, by the record.

use std::fmt::Write;

use crate::cell::{Cell, LOOPBACK, Link, Networks};
use crate::record::Line;
use crate::report::{Record, short};

use vesica::protocols::Role;
use vesica::protocols::registry::{PROTOCOLS, Security};

/// Networks of the table, the fastest first.
const NETWORKS: [&str; 6] = [LOOPBACK, "lan", "lan-100", "wan-pssz15", "wan-rr16", "hsdpa"];

/// log2 of the sizes of the table.
const SIZES: [u32; 5] = [8, 12, 16, 20, 24];

/// A protocol's time on a network.
#[derive(Debug, Clone, PartialEq)]
struct Time {
    protocol: &'static str,
    seconds: f64,
    /// Whether it was measured there, or follows from loopback.
    measured: bool,
}

/// The fastest protocol for each network and size, as Markdown.
pub fn table(record: &Record, networks: &Networks) -> String {
    let mut text = "**Which to take for your network**: the fastest protocol and its seconds; one thread a party, conservative \
         profile. *Italic: an estimate, not a measurement*: the longer of the time over loopback and of the transfer in the \
         busier direction, and half a round trip for each flight. A size that was not run over loopback is taken in \
         proportion from the next smaller one.\n\n"
        .to_owned();
    for (security, title) in [(Security::SemiHonest, "semi-honest"), (Security::Malicious, "malicious")] {
        let sizes: Vec<_> = SIZES.iter().map(|size| format!("2^{size}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {title} | {} |\n|---|{}", sizes.join(" | "), "---|".repeat(sizes.len()));
        for network in NETWORKS {
            let best = SIZES.map(|size| {
                let best = fastest(record, networks, network, 1 << size, security);
                best.map_or_else(|| "–".to_owned(), |time| time.shown())
            });
            let _ = writeln!(text, "| {network} | {} |", best.join(" | "));
        }
        text.push('\n');
    }
    text
}

impl Time {
    fn shown(&self) -> String {
        let around = if self.measured { "" } else { "*" };
        format!("{around}`{}` {}{around}", self.protocol, short(self.seconds))
    }
}

/// The fastest of the protocols that may be used freely.
fn fastest(
    record: &Record,
    networks: &Networks,
    network: &str,
    items: usize,
    security: Security,
) -> Option<Time> {
    let free = PROTOCOLS.iter().filter(|entry| !entry.needs_allow_insecure());
    let times = free.filter(|entry| entry.security.contains(&security)).filter_map(|entry| {
        let cell = Cell { security, network: network.to_owned(), ..Cell::new(entry.name, items, items) };
        if let Some(seconds) = record.median(&cell, |line| line.wall_s) {
            return Some(Time { protocol: entry.name, seconds, measured: true });
        }
        let near = Cell { network: LOOPBACK.to_owned(), ..cell };
        let shape = near.plan().ok()?.1;
        let fuller =
            [Role::Receiver, Role::Sender].map(|role| entry.bytes(role, &shape)).into_iter().max()?;
        let link = networks.find(network).ok()?;
        let seconds = over(&link, near_s(record, &near)?, fuller as f64, (entry.flights)(&shape));
        Some(Time { protocol: entry.name, seconds, measured: false })
    });
    times.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

/// Seconds over loopback; of a size that was not run, those of the nearest smaller one of the table, in proportion.
fn near_s(record: &Record, cell: &Cell) -> Option<f64> {
    let smaller = SIZES.iter().rev().map(|exponent| 1usize << exponent).filter(|size| *size <= cell.receiver);
    smaller.into_iter().find_map(|size| {
        let run = Cell { receiver: size, sender: size, ..cell.clone() };
        let seconds = record.median(&run, |line: &Line| line.wall_s)?;
        Some(seconds * cell.receiver as f64 / size as f64)
    })
}

/// Seconds over a network of what took `wall_s` over loopback.
fn over(link: &Link, wall_s: f64, fuller_direction: f64, flights: u32) -> f64 {
    let wire = link.megabits_per_s.map_or(0.0, |megabits| fuller_direction * 8e-6 / megabits);
    wall_s.max(wire) + f64::from(flights) / 2.0 * link.round_trip_ms * 1e-3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_decides() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/networks.toml");
        let networks = Networks::read(&root).unwrap();
        let cell = |name: &str| Cell::new(name, 256, 256);
        // One computes, the other waits.
        let record = Record::from(vec![
            Line::of(&cell("dh"), 0.13, 1000),
            Line::of(&cell("kkrt"), 0.1, 100_000),
            Line::of(&cell("naive-hash"), 0.001, 1),
        ]);
        let best =
            |network, items| fastest(&record, &networks, network, items, Security::SemiHonest).unwrap();
        assert_eq!(best(LOOPBACK, 256), Time { protocol: "kkrt", seconds: 0.1, measured: true });
        let larger = best(LOOPBACK, 4096);
        assert!(larger.protocol == "kkrt" && !larger.measured && (larger.seconds - 1.6).abs() < 1e-9);
        let far = best("wan-rr16", 256);
        assert!(far.protocol == "dh" && !far.measured && (far.seconds - 0.225).abs() < 1e-9);
        let text = table(&record, &networks);
        assert!(text.contains("| loopback | `kkrt` 0.100 | *`kkrt` 1.60* |"), "{text}");
        assert!(text.contains("| wan-rr16 | *`dh` 0.225"), "{text}");
    }
}
