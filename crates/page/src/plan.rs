//! The page of a plan.

use askama::Template;
use serde_json::Value;
use vesica_text::amounts::{Bytes, grouped, seconds};

use crate::bars::Scale;
use crate::document::Document;
use crate::json::{amount, count, list, shown, text, texts};
use crate::table::{Cell, Fact};

/// The page.
#[derive(Template)]
#[template(path = "plan.html")]
pub(crate) struct Page {
    document: Document,
    title: String,
    lines: Vec<String>,
    chosen: Vec<Fact>,
    agreed: Vec<Fact>,
    columns: [Column; 3],
    rows: Vec<Row>,
    refused: Vec<Fact>,
    records: Vec<String>,
}

/// An amount that all protocols are compared by.
struct Column {
    name: &'static str,
    scale: Scale,
    ends: [String; 2],
}

/// A protocol that could be taken.
struct Row {
    protocol: String,
    is_chosen: bool,
    /// One for each column.
    amounts: [Amount; 3],
}

/// Amounts of one column: of the whole run, or of either side.
struct Amount {
    shown: String,
    /// Lengths of the bars.
    bars: Vec<f64>,
}

impl Page {
    pub(crate) fn of(plan: &Value, document: Document) -> Self {
        let chosen = text(plan, "protocol");
        let records = texts(&plan["records"]);
        let first = records.first().cloned().unwrap_or_default();
        let possible: Vec<&Value> =
            list(&plan["alternatives"]).filter(|other| other["estimate"].is_object()).collect();
        let estimates = || possible.iter().map(|other| &other["estimate"]);
        let all: [Vec<f64>; 3] = [
            estimates().map(total_s).collect(),
            estimates().map(traffic).collect(),
            estimates().flat_map(memory).collect(),
        ];
        let [times, bytes, memories] = all.map(|amounts| Scale::of(amounts.into_iter()));
        let columns = [
            Column::new("Time", times, &|time| format!("{time} s")),
            Column::new("Traffic, both sides", bytes, &in_bytes),
            Column::new("Memory, receiver and sender", memories, &in_bytes),
        ];
        let row = |other: &&Value| Row::of(other, chosen, &first, &columns);
        let rows: Vec<Row> = possible.iter().map(row).collect();
        let used = |record: &&String| estimates().any(|cost| cost["time"]["nearest"]["record"] == **record);
        let marked = |record: &String| if *record == first { first.clone() } else { format!("* {record}") };
        let records: Vec<String> = records.iter().filter(used).map(marked).collect();
        let refused = list(&plan["alternatives"]).filter_map(|other| {
            let why = other["refused"].as_str()?;
            Some(Fact::new(text(other, "protocol"), Cell::words(why)))
        });
        Page {
            title: title(&plan["estimate"]),
            lines: lines(plan),
            chosen: about_chosen(&plan["estimate"]),
            agreed: agreed(plan),
            columns,
            rows,
            refused: refused.collect(),
            records,
            document,
        }
    }
}

impl Column {
    fn new(name: &'static str, scale: Scale, shown: &dyn Fn(f64) -> String) -> Self {
        let ends = scale.ends().map(shown);
        Column { name, scale, ends }
    }
}

impl Row {
    fn of(other: &Value, chosen: &str, first: &str, columns: &[Column; 3]) -> Self {
        let (protocol, cost) = (text(other, "protocol"), &other["estimate"]);
        let [time, bytes, memories] = [0, 1, 2].map(|at| &columns[at].scale);
        let mark = if cost["time"]["nearest"]["record"] == first { "" } else { "*" };
        let time = match cost["time"].is_object() {
            true => Amount { shown: seconds(total_s(cost)) + mark, bars: vec![time.length(total_s(cost))] },
            false => Amount { shown: "not measured".to_owned(), bars: Vec::new() },
        };
        let traffic = Amount { shown: in_bytes(traffic(cost)), bars: vec![bytes.length(traffic(cost))] };
        let [receiver, sender] = memory(cost);
        let memory = Amount {
            shown: [receiver, sender].map(|bytes| in_bytes(bytes).replace(' ', "\u{a0}")).join(" · "),
            bars: [receiver, sender].map(|bytes| memories.length(bytes)).to_vec(),
        };
        Row { protocol: protocol.to_owned(), is_chosen: protocol == chosen, amounts: [time, traffic, memory] }
    }
}

fn in_bytes(bytes: f64) -> String {
    // Amounts of JSON that are no numbers of bytes are 0.
    Bytes(bytes as u64).to_string()
}

fn total_s(cost: &Value) -> f64 {
    amount(&cost["time"], "total_s")
}

fn traffic(cost: &Value) -> f64 {
    let traffic = &cost["traffic"];
    amount(traffic, "receiver") + amount(traffic, "sender") + amount(&cost["helper"], "sent")
}

fn memory(cost: &Value) -> [f64; 2] {
    ["receiver", "sender"].map(|party| amount(&cost["memory"], party))
}

fn title(estimate: &Value) -> String {
    let bytes = in_bytes(traffic(estimate));
    match estimate["time"].is_object() {
        true => format!("About {} and {bytes}", seconds(total_s(estimate))),
        false => format!("{bytes} of traffic"),
    }
}

/// Protocol, sizes and network.
fn lines(plan: &Value) -> Vec<String> {
    let (sizes, conditions) = (&plan["sizes"], &plan["conditions"]);
    let [receiver, sender] = ["receiver", "sender"].map(|party| grouped(count(sizes, party)));
    let rate = match conditions["bits_per_s"].as_f64() {
        None => "a network without a limit".to_owned(),
        Some(bits) if bits >= 1e9 => format!("{} Gbit/s", bits / 1e9),
        Some(bits) => format!("{} Mbit/s", bits / 1e6),
    };
    let round_trip_ms = amount(conditions, "round_trip_s") * 1e3;
    let threads = count(conditions, "threads");
    let threads = format!("{threads} thread{} a party", if threads == 1 { "" } else { "s" });
    vec![
        format!("Protocol {}: {}.", text(plan, "protocol"), text(plan, "reason")),
        format!("The receiver has {receiver} keys, the sender {sender}."),
        format!("Between them: {rate}, a round trip of {round_trip_ms} ms; {threads}."),
    ]
}

/// What the chosen protocol would cost.
fn about_chosen(estimate: &Value) -> Vec<Fact> {
    let parties = |value: &Value| {
        let [receiver, sender] = ["receiver", "sender"].map(|party| Bytes(count(value, party)));
        format!("receiver {receiver}, sender {sender}")
    };
    let mut facts = Vec::new();
    let time = &estimate["time"];
    if time.is_object() {
        let [computing, sending, waiting] =
            ["compute_s", "transfer_s", "latency_s"].map(|part| seconds(amount(time, part)));
        let words = format!(
            "about {}: computing {computing}, sending {sending}, round trips {waiting}",
            seconds(amount(time, "total_s"))
        );
        facts.push(Fact::new("Time", Cell::words(words)));
    }
    let sent = in_bytes(traffic(estimate));
    facts.push(Fact::new("Traffic", Cell::words(format!("{sent}: {} sent", parties(&estimate["traffic"])))));
    facts.push(Fact::new("Memory", Cell::words(format!("{} at most", parties(&estimate["memory"])))));
    if ["receiver", "sender"].iter().any(|party| count(&estimate["disk"], party) > 0) {
        let words = format!("{} of temporary files at most", parties(&estimate["disk"]));
        facts.push(Fact::new("Disk", Cell::words(words)));
    }
    if estimate["helper"].is_object() {
        let [sent, memory] = ["sent", "memory"].map(|name| Bytes(count(&estimate["helper"], name)));
        facts.push(Fact::new("Helper", Cell::words(format!("{sent} sent, {memory} of memory at most"))));
    }
    if let Some(ands) = estimate["gates"]["ands"].as_u64() {
        let private = grouped(count(&estimate["gates"], "private_ands"));
        let words = format!("{} AND, {private} AND with a bit that the sender knows", grouped(ands));
        facts.push(Fact::new("Gates", Cell::words(words)));
    }
    if let Some(keys) = estimate["max_tested_keys"].as_u64() {
        let words = format!("a receiver that cheats can ask about {} keys at most", grouped(keys));
        facts.push(Fact::new("Questions", Cell::words(words)));
    }
    facts
}

/// The parameters of the run, and its parts.
fn agreed(plan: &Value) -> Vec<Fact> {
    let parameters = crate::json::fields(&plan["parameters"])
        .filter(|(_, value)| !value.is_null() && **value != Value::Bool(false) && **value != "");
    let mut facts: Vec<Fact> = parameters
        .map(|(name, value)| Fact::new(name.replace('_', " "), Cell::words(shown(value))))
        .collect();
    let parts = &plan["parts"];
    if let Some(number @ 2..) = parts["count"].as_u64() {
        let [receiver, sender, lanes] =
            ["receiver", "sender", "lanes"].map(|name| grouped(count(parts, name)));
        let words = format!(
            "{}, each of {receiver} keys of the receiver and {sender} of the sender; {lanes} at once",
            grouped(number)
        );
        facts.push(Fact::new("parts", Cell::words(words)));
    }
    facts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_protocol_that_could_be_taken_is_a_row_and_the_others_say_why_not() {
        let cost = |total_s: f64, bytes: u64, record: &str| {
            json!({
                "traffic": {"receiver": bytes, "sender": bytes}, "memory": {"receiver": 10 * bytes, "sender": bytes},
                "disk": {"receiver": 0, "sender": 0}, "max_tested_keys": null,
                "time": {"total_s": total_s, "compute_s": total_s, "transfer_s": 0.0, "latency_s": 0.0,
                         "nearest": {"record": record}},
            })
        };
        let plan = json!({
            "schema": 3, "sizes": {"receiver": 1000, "sender": 2000}, "parts": {"count": 1},
            "conditions": {"threads": 1, "bits_per_s": 1e8, "round_trip_s": 0.02},
            "protocol": "vole", "reason": "fast", "parameters": {"security": "malicious", "sigma": null},
            "estimate": cost(2.0, 1_000_000, "one"), "records": ["one", "two", "three"],
            "alternatives": [
                {"protocol": "vole", "estimate": cost(2.0, 1_000_000, "one")},
                {"protocol": "dkt", "estimate": cost(200.0, 4_000_000, "two")},
                {"protocol": "dh", "refused": "not <secure>"},
            ],
        });
        let page = Page::of(&plan, Document::default());
        let rows: Vec<_> = page.rows.iter().map(|row| (row.protocol.as_str(), row.is_chosen)).collect();
        assert_eq!(rows, [("vole", true), ("dkt", false)]);
        assert_eq!([&page.rows[0].amounts[0].shown, &page.rows[1].amounts[0].shown], ["2.0 s", "3 min*"]);
        assert_eq!((page.refused.len(), page.records), (1, vec!["one".into(), "* two".into()]));
        let length = |row: usize| page.rows[row].amounts[0].bars[0];
        assert!(length(0) > 0.0 && length(0) < length(1));
        let html = crate::plan(&plan.to_string()).unwrap();
        assert!(html.contains("not &#60;secure&#62;") && !html.contains("<secure>"), "{html}");
    }
}
