//! What a cell must cost at least: unit prices of this project's machines, times what the protocol cannot do without.
//!
//! Each formula is a sum of unit prices that were measured one by one on a quiet core of an AMD EPYC (Zen 5): of work that
//! is needed, not of a protocol. Other machines have other prices, so a ratio to a floor tells two things at once. A very
//! good implementation reaches 1.3 to 2 times its floor.
//!
//! Time is the longest of three: that of the party with more to do, its threads sharing it evenly; that of the wire, the
//! fuller direction at the network's rate (3.3 GB/s over loopback); and the round trips that wait for each other. The floor
//! of traffic is what the registry's formulas say.

use vesica::protocols::registry::{Entry, Shape};
use vesica::protocols::{Parameters, Role};

use crate::BenchError;
use crate::cell::{Cell, Link};

/// Unit prices in nanoseconds.
mod price {
    /// An item of up to 64 bytes through a BLAKE3 of sixteen lanes.
    pub(super) const HASH: f64 = 8.0;
    /// A pass of radix partition, an item.
    pub(super) const PARTITION: f64 = 5.0;
    /// The final join, for each item of the larger side.
    pub(super) const JOIN: f64 = 25.0;
    /// A multiplication on the curve, in eight lanes.
    pub(super) const CURVE: f64 = 3000.0;
    /// An item mapped to the curve, and its encoding (an estimate).
    pub(super) const TO_CURVE: f64 = 600.0;
    /// An OT of the IKNP kind, either side: streams, transposition, a hash.
    pub(super) const OT: f64 = 1.9;
    /// A random access to what stays in the L2 cache.
    pub(super) const ACCESS: f64 = 2.0;
    /// A row of 256 columns made, receiver and sender.
    pub(super) const ROW: [f64; 2] = [3.0, 1.35];
    /// A row of 512 columns made, receiver and sender.
    pub(super) const WIDE_ROW: [f64; 2] = [11.6, 2.9];
    /// A codeword put in and hashed.
    pub(super) const EVALUATE: f64 = 2.0;
    /// An item placed by cuckoo hashing.
    pub(super) const CUCKOO: f64 = 25.0;
    /// A mask looked up among those of one list.
    pub(super) const LOOK_UP: f64 = 17.0;
    /// A key put into an OKVS, and one read from it.
    pub(super) const OKVS: [f64; 2] = [50.0, 5.0];
    /// A VOLE, for each cell of the OKVS (estimates).
    pub(super) const VOLE: f64 = 35.0;
    /// Cells of the OKVS, an item.
    pub(super) const CELLS: f64 = 1.28;
    /// A byte over loopback.
    pub(super) const BYTE: f64 = 1.0 / 3.3;
}

/// The least that a cell takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    /// Seconds of wall time.
    pub wall_s: f64,
    /// CPU seconds of both parties.
    pub cpu_s: f64,
    /// Payload bytes in both directions.
    pub bytes: f64,
}

/// The floor of a cell; none where nobody has written down what its protocol needs.
pub fn floor(cell: &Cell, link: &Link) -> Result<Option<Floor>, BenchError> {
    let (entry, shape) = cell.plan()?;
    let Some([receiver, sender]) = compute_ns(entry, &shape) else {
        return Ok(None);
    };
    let each =
        [entry.bytes(Role::Receiver, &shape), entry.bytes(Role::Sender, &shape)].map(|bytes| bytes as f64);
    let ns_a_byte = link.megabits_per_s.map_or(price::BYTE, |megabits| 8e3 / megabits);
    let wire = each[0].max(each[1]) * ns_a_byte;
    let waiting = waiting_s(entry, &shape, link) * 1e9;
    let compute = receiver.max(sender) / cell.threads.max(1) as f64;
    Ok(Some(Floor {
        wall_s: compute.max(wire).max(waiting) * 1e-9,
        cpu_s: (receiver + sender) * 1e-9,
        bytes: each[0] + each[1],
    }))
}

/// Seconds that a run waits for its round trips.
fn waiting_s(entry: &Entry, shape: &Shape, link: &Link) -> f64 {
    f64::from((entry.flights)(shape)) / 2.0 * link.round_trip_ms * 1e-3
}

/// Nanoseconds of one core that receiver and sender compute.
fn compute_ns(entry: &Entry, shape: &Shape) -> Option<[f64; 2]> {
    let (receiver, sender) = (shape.receiver() as f64, shape.sender() as f64);
    let join = price::JOIN * receiver.max(sender);
    let base_ots = |count: f64| if shape.kept_base_ots { 0.0 } else { count * 2.0 * price::CURVE };
    let Parameters { level, .. } = shape.parameters;
    Some(match entry.name {
        "naive-hash" => [price::HASH * receiver + join, price::HASH * sender],
        "dh" => {
            let own = |items: f64| items * (price::CURVE + price::TO_CURVE);
            if sender >= receiver {
                [own(receiver) + receiver * price::CURVE + join, receiver * price::CURVE + own(sender)]
            } else {
                [own(receiver) + sender * price::CURVE + join, receiver * price::CURVE + own(sender)]
            }
        }
        "vole" => {
            let vole = price::VOLE * price::CELLS * receiver + base_ots(128.0);
            let own = 2.0 * price::HASH + price::PARTITION;
            [vole + (own + price::OKVS[0]) * receiver + join, vole + (own + price::OKVS[1]) * sender]
        }
        "kkrt" => {
            let rows = 1.3 * receiver;
            let sought = price::CUCKOO * receiver + 3.0 * price::LOOK_UP * sender;
            let evaluated = 3.0 * 2.0 * (price::ACCESS + 2.0 * price::EVALUATE) * sender;
            [
                base_ots(512.0) + price::WIDE_ROW[0] * rows + sought,
                base_ots(512.0) + price::WIDE_ROW[1] * rows + evaluated,
            ]
        }
        "ot-phasing" | "ot-psi" => {
            let bytes =
                |index: usize| entry.messages.get(index).map_or(0.0, |message| (message.bytes)(shape) as f64);
            let (row, base) = if level == 80 { (21.0, 168.0) } else { (32.0, 256.0) };
            let (rows, lists) = (bytes(2) / row, if entry.name == "ot-psi" { 2.0 } else { 3.0 });
            // Characters of an item: rows over bins.
            let bins = if entry.name == "ot-psi" { 2.4 } else { 1.3 } * receiver;
            let characters = (rows / bins.max(1.0)).ceil();
            // Hashed by itself each, or two rows to a block of the hash.
            let hashes = if entry.name == "ot-psi" { characters } else { (characters / 2.0).ceil() };
            [
                base_ots(base)
                    + price::ROW[0] * rows
                    + price::CUCKOO * receiver
                    + lists * price::LOOK_UP * sender,
                base_ots(base) + price::ROW[1] * rows + lists * hashes * price::EVALUATE * sender,
            ]
        }
        "gbf" | "gbf-random" => {
            let functions = f64::from(level);
            let items = if entry.name == "gbf" { receiver.max(sender) } else { receiver };
            let ots = price::OT * functions * items * std::f64::consts::LOG2_E;
            let own = |items: f64| price::ACCESS * functions * items;
            [base_ots(functions) + ots + own(receiver), base_ots(functions) + ots + own(sender)]
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Networks;
    use crate::record::Folder;
    use vesica::protocols::registry::PROTOCOLS;

    #[test]
    fn floors_are_near_those_of_the_project_at_a_million_items() {
        let at = |name: &str| {
            let cell = Cell::new(name, 1 << 20, 1 << 20);
            floor(&cell, &Link::UNLIMITED).unwrap().unwrap()
        };
        // Seconds of the party with more to do: the sums that the project's own notes give.
        for (name, noted) in
            [("dh", 6.9), ("vole", 0.15), ("kkrt", 0.11), ("ot-phasing", 0.11), ("gbf-random", 0.63)]
        {
            let ours = at(name).wall_s;
            assert!((0.6 * noted..1.6 * noted).contains(&ours), "{name}: {ours} and {noted}");
        }
    }

    #[test]
    fn a_network_has_its_rate_and_its_waits() {
        let cell = Cell::new("dh", 1 << 10, 1 << 10);
        let slow = Link { megabits_per_s: Some(1.0), round_trip_ms: 100.0 };
        let slow = floor(&cell, &slow).unwrap().unwrap();
        let bytes = cell.formula_bytes().unwrap() as f64;
        assert_eq!(slow.bytes, bytes);
        assert!(slow.wall_s > bytes / 2.0 * 8e-6 && slow.wall_s < bytes * 8e-6, "{slow:?}");
        let far = Link { megabits_per_s: None, round_trip_ms: 1e4 };
        assert_eq!(floor(&cell, &far).unwrap().unwrap().wall_s, 10.0);
        let two = Cell { threads: 2, ..Cell::new("dh", 1 << 12, 1 << 12) };
        let one = Cell { threads: 1, ..two.clone() };
        let wall = |cell: &Cell| floor(cell, &Link::UNLIMITED).unwrap().unwrap().wall_s;
        assert!((wall(&one) / wall(&two) - 2.0).abs() < 1e-9);
    }

    /// A run of the record that was faster than its round trips would show that there are fewer of them.
    #[test]
    fn no_run_of_the_record_was_faster_than_its_round_trips() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks");
        let networks = Networks::read(&root.join("networks.toml")).unwrap();
        let mut delayed = 0;
        for folder in std::fs::read_dir(root.join("record")).unwrap() {
            for line in Folder::open(&folder.unwrap().path()).unwrap().read_all().unwrap() {
                let cell: Cell = serde_json::from_str(&line.cell).unwrap();
                let link = networks.find(&cell.network).unwrap();
                let (entry, shape) = cell.plan().unwrap();
                let waiting = waiting_s(entry, &shape, &link);
                assert!(
                    line.wall_s >= waiting,
                    "{} s, and {waiting} s of waiting: {}",
                    line.wall_s,
                    line.cell
                );
                delayed += usize::from(waiting > 0.0);
            }
        }
        assert!(delayed > 100, "{delayed} runs with a delay");
    }

    #[test]
    fn what_nobody_wrote_down_has_no_floor() {
        let has = |entry: &&&Entry| {
            Cell::new(entry.name, 100, 100).plan().is_ok_and(|plan| compute_ns(entry, &plan.1).is_some())
        };
        let known = PROTOCOLS.iter().filter(has).count();
        assert!(known >= 8, "a protocol's name changed, and its floor is lost");
    }
}
