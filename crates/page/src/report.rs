//! The page of a run's report.

mod figure;
mod headline;
mod learned;
mod phases;

use std::iter;

use askama::Template;
use serde_json::Value;
use vesica_text::amounts::{Bytes, grouped, seconds};

use crate::document::Document;
use crate::json::{count, fields, list, shown, text, texts};
use crate::table::{Cell, Fact, Prose, Table};

use figure::Figure;
use headline::{Failure, Headline};
use learned::Learned;
use phases::Phases;

/// What the public keys begin with.
const KEY_PREFIX: &str = "vesica-pub1-";

/// Characters of a key or a digest that stand for it.
const SHORT: usize = 16;

/// Rules that are printed; a longer list is whole on the screen.
const PRINTED: usize = 4;

/// The page.
#[derive(Template)]
#[template(path = "report.html")]
pub(crate) struct Page {
    document: Document,
    headline: Headline,
    /// When it was, with whom, by which protocol.
    about: Vec<Fact>,
    failure: Option<Failure>,
    figure: Option<Figure>,
    learned: Learned,
    hints: Vec<Prose>,
    sums: Vec<Fact>,
    rules: Option<Table>,
    rows: Vec<Fact>,
    phases: Option<Phases>,
    agreed: Vec<Fact>,
    /// Terms that ask for nothing, and those that programs compare.
    other_terms: Vec<Fact>,
    short: Vec<Fact>,
    whole: Vec<Fact>,
    receipt: Option<Receipt>,
    version: String,
}

/// The receipt that the report holds, which the page does not check.
struct Receipt {
    /// The keys of the receiver and of the sender, in short.
    signers: [String; 2],
}

impl Page {
    pub(crate) fn of(report: &Value, document: Document) -> Self {
        let phases = Phases::of(report);
        let names = names(report);
        Page {
            headline: Headline::of(report),
            about: about(report, phases.as_ref()),
            failure: Failure::of(report),
            figure: Figure::of(report),
            learned: Learned::of(report),
            hints: texts(&report["hints"]).iter().map(|hint| Prose::of(hint)).collect(),
            sums: sums(report),
            rules: rules(report),
            rows: rows(report),
            phases,
            agreed: agreed(report),
            other_terms: terms(report, false).collect(),
            short: names.iter().map(|(name, value)| Fact::new(*name, Cell::code(short(value)))).collect(),
            whole: names.into_iter().map(|(name, value)| Fact::new(name, Cell::code(value))).collect(),
            receipt: Receipt::of(report),
            version: version(report),
            document,
        }
    }
}

impl Receipt {
    fn of(report: &Value) -> Option<Self> {
        let statement = Some(&report["receipt"]["statement"]).filter(|statement| statement.is_object())?;
        let signers = ["receiver", "sender"].map(|party| short(text(&statement[party], "key")));
        Some(Receipt { signers })
    }
}

/// Whether a term asks for something of which a person wants to know.
fn is_asked(name: &str, value: &str) -> bool {
    name != "table of auto" && !matches!(value, "none" | "no" | "")
}

/// The line of facts below the headline.
fn about(report: &Value, phases: Option<&Phases>) -> Vec<Fact> {
    let mut facts = vec![Fact::new("Begun", Cell::words(moment(text(report, "started"))))];
    if let Some(phases) = phases {
        facts.push(Fact::new("Took", Cell::words(seconds(phases.whole_s))));
    }
    let known = [("Protocol", &report["protocol"]), ("Security", &report["security"])];
    for (name, value) in known.into_iter().filter(|_| !report["protocol"].is_null()) {
        facts.push(Fact::new(name, Cell::words(shown(value))));
    }
    if let Some(session) = report["session"].as_str() {
        facts.push(Fact::new("Session", Cell::code(short(session))));
    }
    if let Some(epoch) = report["kept"]["epoch"].as_u64() {
        facts.push(Fact::new("Epoch", Cell::words(grouped(epoch))));
    }
    facts
}

/// A moment such as 2026-11-29T02:16:38.553Z for a reader of prose; another text as it is.
fn moment(text: &str) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let read = || {
        let (date, time) = text.split_once('T')?;
        let mut parts = date.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
        let day: u8 = day.parse().ok()?;
        let time = time.strip_suffix('Z')?.split('.').next()?;
        Some(format!("{day} {month} {year}, {time} UTC"))
    };
    read().unwrap_or_else(|| text.to_owned())
}

/// The columns and their sums.
fn sums(report: &Value) -> Vec<Fact> {
    let sum = |sum: &Value| {
        let digits = text(sum, "sum");
        let number = digits.parse::<i128>().map_or_else(|_| digits.to_owned(), grouped);
        Fact::new(text(sum, "column"), Cell::number(number))
    };
    list(&report["result"]["sums"]).map(sum).collect()
}

/// What the rules to match by made of the rows. A single rule is in the terms, and its counts are the table's.
fn rules(report: &Value) -> Option<Table> {
    let several = report["match_rules"].as_array().filter(|rules| !rules.is_empty());
    let row = |rule: &str, counts: &Value, keys: u64, matching: Option<u64>| {
        let counts = [Some(keys), Some(count(counts, "nulls")), Some(count(counts, "invalid")), matching];
        iter::once(Cell::code(rule)).chain(counts.into_iter().flatten().map(Cell::count)).collect()
    };
    let rows: Vec<Vec<Cell>> = match several {
        Some(rules) => rules
            .iter()
            .map(|rule| row(text(rule, "rule"), rule, count(rule, "keys"), rule["matching_rows"].as_u64()))
            .collect(),
        None => {
            let sizes = &report["sizes"];
            let rule = report["terms"]["key rules"].as_str()?;
            let keys = count(sizes, "rows")
                .saturating_sub(count(sizes, "nulls"))
                .saturating_sub(count(sizes, "invalid"));
            vec![row(rule, sizes, keys, report["matches"]["rows"].as_u64())]
        }
    };
    let mut head =
        vec![("Rule", "code"), ("Rows with a key", "number"), ("Empty", "number"), ("Invalid", "number")];
    if rows.iter().any(|cells| cells.len() > head.len()) {
        head.push(("Rows that match", "number"));
    }
    Some(Table { caption: "Key rules, and the rows of this side’s table", head, rows, printed: PRINTED })
}

/// This side's table, and what the partner saw of it.
fn rows(report: &Value) -> Vec<Fact> {
    let sizes = &report["sizes"];
    if count(sizes, "rows") == 0 && report["input"].is_null() {
        return Vec::new();
    }
    let counted = |name, field| Fact::new(name, Cell::count(count(sizes, field)));
    let mut facts = Vec::new();
    if let Some(name) = report["input"]["name"].as_str() {
        facts.push(Fact::new("File", Cell::code(name)));
    }
    if count(sizes, "rows") > 0 || report["outcome"] == "done" {
        facts.extend([counted("Rows", "rows"), counted("Different keys", "items")]);
        facts.push(counted("Repeated keys", "duplicates"));
    }
    if !sizes["shown_items"].is_null() {
        let asked_for = report["kept"].is_object();
        let name = if asked_for { "Keys, with padding" } else { "Size that the partner saw" };
        facts.push(counted(name, "shown_items"));
    }
    if let Some(rows @ 1..) = report["result"]["undecodable_rows"].as_u64() {
        facts.push(Fact::new("Rows whose payload does not decode", Cell::count(rows)));
    }
    facts
}

/// The terms that [ask](is_asked) for something, or the others.
fn terms(report: &Value, asked: bool) -> impl Iterator<Item = Fact> {
    let of_value = |(name, value): (&String, &Value)| (name.clone(), shown(value));
    let terms =
        fields(&report["terms"]).map(of_value).filter(move |(name, value)| is_asked(name, value) == asked);
    terms.map(|(name, value)| Fact::new(name, Cell::words(value)))
}

/// What both sides agreed on: why this protocol, its parameters and the terms.
fn agreed(report: &Value) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(protocol) = report["protocol"].as_str() {
        let reason = report["reason"].as_str().map_or(String::new(), |reason| format!(": {reason}"));
        facts.push(Fact::new("protocol", Cell::words(format!("{protocol}{reason}"))));
    }
    let parameter =
        |(name, value): (&String, &Value)| Fact::new(name.replace('_', " "), Cell::words(shown(value)));
    // These are among the terms, or beside the security.
    let shown_elsewhere = ["level", "max_tested_keys", "caveat"];
    let parameters =
        fields(&report["parameters"]).filter(|(name, _)| !shown_elsewhere.contains(&name.as_str()));
    facts.extend(parameters.map(parameter));
    facts.extend(terms(report, true));
    if let Some(parts) = report["parts"]["count"].as_u64() {
        let (bound, lanes) = (count(&report["parts"], "bound"), count(&report["parts"], "lanes"));
        let words =
            format!("{}, each of {} keys of this side; {lanes} at once", grouped(parts), grouped(bound));
        facts.push(Fact::new("parts", Cell::words(words)));
    }
    if let Some(base_ots) = report["base_ots"].as_str() {
        facts.push(Fact::new("base OTs", Cell::words(base_ots)));
    }
    if let Some(relay) = report["relay"].as_str() {
        facts.push(Fact::new("met at the relay", Cell::code(relay)));
    }
    if let Some(peak) = report["peak_rss"].as_u64() {
        facts.push(Fact::new("peak memory", Cell::words(Bytes(peak).to_string())));
    }
    facts
}

/// Keys and digests that tell this run from every other one.
fn names(report: &Value) -> Vec<(&'static str, String)> {
    let places: [(&str, &[&str]); 16] = [
        ("Session", &["session"]),
        ("This side’s public key", &["keys", "mine"]),
        ("Partner’s public key", &["keys", "partner"]),
        ("Sent, BLAKE3", &["transcript", "sent"]),
        ("Received, BLAKE3", &["transcript", "received"]),
        ("Helper’s public key", &["helper", "key"]),
        ("Sent to the helper, BLAKE3", &["helper", "transcript", "sent"]),
        ("Received from the helper, BLAKE3", &["helper", "transcript", "received"]),
        ("Receiver’s public key", &["parties", "receiver", "key"]),
        ("Sender’s public key", &["parties", "sender", "key"]),
        ("Sent to the receiver, BLAKE3", &["parties", "receiver", "transcript", "sent"]),
        ("Received from the receiver, BLAKE3", &["parties", "receiver", "transcript", "received"]),
        ("Sent to the sender, BLAKE3", &["parties", "sender", "transcript", "sent"]),
        ("Received from the sender, BLAKE3", &["parties", "sender", "transcript", "received"]),
        ("Epoch, BLAKE3", &["kept", "digest"]),
        ("Input file, BLAKE3", &["input", "blake3"]),
    ];
    let found = places.into_iter().filter_map(|(name, path)| {
        let value = path.iter().fold(report, |value, field| &value[*field]);
        Some((name, value.as_str()?.to_owned()))
    });
    found.collect()
}

/// The beginning of a key or a digest, in groups of four characters.
fn short(value: &str) -> String {
    let value = value.strip_prefix(KEY_PREFIX).unwrap_or(value);
    let characters: Vec<char> = value.chars().take(SHORT).collect();
    let groups: Vec<String> = characters.chunks(4).map(|group| group.iter().collect()).collect();
    groups.join(" ")
}

fn version(report: &Value) -> String {
    let versions = &report["versions"];
    format!("vesica {}, wire {}", text(versions, "vesica"), count(versions, "wire"))
}

#[cfg(test)]
#[path = "report/tests.rs"]
mod tests;
