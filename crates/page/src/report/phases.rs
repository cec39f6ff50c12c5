//! Where the time and the bytes of a run went.

use serde_json::Value;
use vesica_text::amounts::{Bytes, seconds};

use crate::bars::{self, Piece};
use crate::json::{amount, count, list, text};

/// Phases in which a run waits for others. They would dwarf the rest.
const WAITING: [&str; 2] = ["connect", "gather"];

/// The phases of a run.
pub(crate) struct Phases {
    pub(crate) rows: Vec<Row>,
    /// Of the time, without the waiting.
    pub(crate) time: Vec<Piece>,
    /// Of the bytes in both directions.
    pub(crate) bytes: Vec<Piece>,
    /// All phases, the waiting too.
    pub(crate) whole_s: f64,
    pub(crate) worked: String,
    /// How long it waited, and for whom.
    pub(crate) waited: Option<String>,
    /// None if nothing was sent.
    pub(crate) moved: Option<String>,
    /// On the wire, with frames and TLS.
    pub(crate) wire: String,
}

/// A phase in the table.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) words: String,
    /// The number of its colour; none if it is not in the bar of the time.
    pub(crate) colour: usize,
    pub(crate) waits: bool,
    pub(crate) time: String,
    pub(crate) sent: String,
    pub(crate) received: String,
}

/// What the entries of a phase add up to.
struct Sum {
    name: String,
    words: String,
    wall_s: f64,
    sent: u64,
    received: u64,
}

impl Phases {
    /// Those of a report; none if it has none.
    pub(crate) fn of(report: &Value) -> Option<Self> {
        let phases = added(&report["phases"]);
        let waits = |phase: &Sum| WAITING.contains(&phase.name.as_str());
        let worked: Vec<f64> =
            phases.iter().map(|phase| if waits(phase) { 0.0 } else { phase.wall_s }).collect();
        let moved: Vec<u64> = phases.iter().map(|phase| phase.sent.saturating_add(phase.received)).collect();
        let waited: f64 = phases.iter().filter(|phase| waits(phase)).map(|phase| phase.wall_s).sum();
        let worked_s: f64 = worked.iter().sum();
        let all = moved.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let wire = &report["bytes"]["wire"];
        let whom = if report["role"] == "helper" { "the two parties" } else { "the partner" };
        let row = |(number, phase): (usize, &Sum)| Row {
            name: phase.name.clone(),
            words: phase.words.clone(),
            colour: bars::colour(number),
            waits: waits(phase),
            time: seconds(phase.wall_s),
            sent: amount_of(phase.sent),
            received: amount_of(phase.received),
        };
        (!phases.is_empty()).then(|| Phases {
            rows: phases.iter().enumerate().map(row).collect(),
            time: bars::pieces(&worked),
            bytes: bars::pieces(&moved.iter().map(|bytes| *bytes as f64).collect::<Vec<_>>()),
            whole_s: worked_s + waited,
            worked: seconds(worked_s),
            waited: (waited > 0.0).then(|| format!("{} of waiting for {whom}", seconds(waited))),
            moved: (all > 0).then(|| Bytes(all).to_string()),
            wire: Bytes(count(wire, "sent").saturating_add(count(wire, "received"))).to_string(),
        })
    }
}

/// Bytes; a dash for none.
fn amount_of(bytes: u64) -> String {
    if bytes == 0 { "–".to_owned() } else { Bytes(bytes).to_string() }
}

/// The phases in the order in which they began, the entries of each added up: some alternate.
fn added(phases: &Value) -> Vec<Sum> {
    let mut sums: Vec<Sum> = Vec::new();
    for phase in list(phases) {
        let (name, wall_s) = (text(phase, "name"), amount(phase, "wall_s"));
        let [sent, received] = ["sent", "received"].map(|field| count(phase, field));
        match sums.iter_mut().find(|sum| sum.name == name) {
            Some(sum) => {
                sum.wall_s += wall_s;
                sum.sent = sum.sent.saturating_add(sent);
                sum.received = sum.received.saturating_add(received);
            }
            None => {
                let words = text(phase, "words").to_owned();
                sums.push(Sum { name: name.to_owned(), words, wall_s, sent, received });
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_of_a_phase_are_added_up_and_waiting_is_not_in_the_bar() {
        let phase =
            |name: &str, wall_s: f64, sent: u64| json!({"name": name, "wall_s": wall_s, "sent": sent});
        let report = json!({"phases": [
            phase("read", 1.0, 0), phase("connect", 60.0, 5), phase("extend", 1.0, 10), phase("evaluate", 1.0, 0),
            phase("extend", 1.0, 30),
        ]});
        let phases = Phases::of(&report).unwrap();
        let names: Vec<_> = phases.rows.iter().map(|row| (row.name.as_str(), row.waits)).collect();
        assert_eq!(names, [("read", false), ("connect", true), ("extend", false), ("evaluate", false)]);
        assert_eq!(
            (phases.worked.as_str(), phases.waited.as_deref()),
            ("4.0 s", Some("60.0 s of waiting for the partner"))
        );
        let widths: Vec<_> = phases.time.iter().map(|piece| (piece.colour, piece.width)).collect();
        assert_eq!(widths, [(0, 250.0), (2, 500.0), (3, 250.0)]);
        assert_eq!(phases.bytes.len(), 2);
        assert!(Phases::of(&json!({"phases": []})).is_none() && Phases::of(&json!({})).is_none());
    }
}
