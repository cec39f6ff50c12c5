//! How a run ended, in a line.

use serde_json::Value;
use vesica_text::amounts::{Bytes, grouped};

use crate::json::{count, text};
use crate::table::{Prose, counted};

/// The head of a page.
pub(crate) struct Headline {
    /// Whose report it is.
    pub(crate) whose: String,
    /// `done` or `failed`.
    pub(crate) outcome: &'static str,
    /// Whether both sides confirmed.
    pub(crate) standing: &'static str,
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
}

impl Headline {
    pub(crate) fn of(report: &Value) -> Self {
        let failed = report["outcome"] != "done";
        let (title, lines) = if failed { ("The run failed".to_owned(), Vec::new()) } else { ended(report) };
        let kept = !report["kept"].is_null();
        let standing = match (failed, report["confirmed"].as_bool()) {
            (true, Some(true)) => "Failed after both sides had confirmed",
            (true, _) => "Failed",
            (false, Some(true)) => "Confirmed by both sides",
            (false, _) => "Done",
        };
        let role = match (text(report, "role"), kept) {
            ("sender", true) => "publisher",
            (role @ ("receiver" | "sender" | "helper"), _) => role,
            _ => "run",
        };
        Headline {
            whose: format!("Report of the {role}"),
            outcome: if failed { "failed" } else { "done" },
            standing,
            title,
            lines,
        }
    }
}

/// What a run found that ended well.
fn ended(report: &Value) -> (String, Vec<String>) {
    let (result, matches, kept) = (&report["result"], &report["matches"], &report["kept"]);
    if let Some(common) = report["parties"]["common_items"].as_u64() {
        let line = "The helper compared the sets of two parties. It learned sizes, and no key.";
        return (format!("{} in common", counted(common, "key")), vec![line.to_owned()]);
    }
    if let (Some(epoch), true) = (kept["epoch"].as_u64(), kept["asked"].is_null()) {
        return published(epoch, kept);
    }
    let noise = report["terms"]["noise"].as_str().filter(|noise| *noise != "none");
    if let Some(count) = result["count"].as_i64() {
        let title = match noise {
            Some(_) => format!("About {} keys match", grouped(count)),
            None if count == 1 => "1 key matches".to_owned(),
            None => format!("{} keys match", grouped(count)),
        };
        let line = noise.map(|noise| format!("The count has noise: ε is {noise}."));
        return (title, line.into_iter().collect());
    }
    if let Some(reached) = result["at_least"].as_bool() {
        let least = report["terms"]["at-least"].as_str().and_then(|least| least.parse::<u64>().ok());
        let least = least.map_or("as many as was asked".to_owned(), grouped);
        let title = if reached {
            format!("At least {least} keys match")
        } else {
            format!("Fewer than {least} keys match")
        };
        let line = noise.map(|noise| format!("That was judged by a count with noise: ε is {noise}."));
        return (title, line.into_iter().collect());
    }
    if let Some(sums) = result["sums"].as_array() {
        let title = if sums.len() == 1 { "The sum" } else { "The sums" };
        let title = format!("{title} over the keys that match");
        return (title, vec!["How many keys match is not shown.".to_owned()]);
    }
    if let Some(keys) = matches["items"].as_u64() {
        let (rows, all) = (count(matches, "rows"), count(&report["sizes"], "rows"));
        let verb = if rows == 1 { "matches" } else { "match" };
        let title = format!("{} of {} {verb}", grouped(rows), counted(all, "row"));
        return (title, vec![format!("The two sides have {} in common.", counted(keys, "key"))]);
    }
    let line = "This side does not learn the result. Ask the partner whether it has it.";
    ("The run is complete".to_owned(), vec![line.to_owned()])
}

fn published(epoch: u64, kept: &Value) -> (String, Vec<String>) {
    let [keys, added, removed] = ["keys", "added", "removed"].map(|name| count(kept, name));
    let line = format!(
        "The set has {}, padding included: {} came and {} went with this epoch.",
        counted(keys, "key"),
        grouped(added),
        grouped(removed)
    );
    (format!("Epoch {} of the set is published", grouped(epoch)), vec![line])
}

/// Why a run failed.
pub(crate) struct Failure {
    pub(crate) message: Prose,
    pub(crate) place: String,
    pub(crate) remedy: Prose,
    /// Bytes that were sent before.
    pub(crate) sent: String,
}

impl Failure {
    pub(crate) fn of(report: &Value) -> Option<Self> {
        let error = Some(&report["error"]).filter(|error| error.is_object())?;
        let side = match text(error, "side") {
            "ours" => "on this side",
            "partner" => "on the partner’s side",
            "both" => "between the two sides",
            "helper" => "at the helper",
            "relay" => "at the relay",
            "receiver" => "on the receiver’s side",
            "sender" => "on the sender’s side",
            _ => "at a place that is not known",
        };
        Some(Failure {
            message: Prose::of(text(error, "message")),
            place: format!("{side}, in the phase {}", text(error, "phase")),
            remedy: Prose::of(text(error, "remedy")),
            sent: Bytes(count(&report["bytes"]["payload"], "sent")).to_string(),
        })
    }
}
