//! Who learned what, and what the security of the run means.

use serde_json::Value;
use vesica_text::amounts::grouped;

use crate::json::{count, text, texts};

/// What each side learns, and against whom the rest is protected.
pub(crate) struct Learned {
    pub(crate) title: &'static str,
    pub(crate) sides: Vec<Side>,
    /// Two sentences.
    pub(crate) security: [String; 2],
    /// What limits them.
    pub(crate) caveats: Vec<String>,
    /// Whether the run protects nothing.
    pub(crate) insecure: bool,
}

/// One of those who took part.
pub(crate) struct Side {
    pub(crate) who: &'static str,
    pub(crate) what: Vec<String>,
}

impl Learned {
    pub(crate) fn of(report: &Value) -> Self {
        let (sides, done) = (sides(report), report["outcome"] == "done");
        Learned {
            title: match (sides.is_empty(), done) {
                (true, _) => "Security",
                (false, true) => "Who learned what",
                (false, false) => "What each side learns by such a run",
            },
            sides,
            security: security(report).map(str::to_owned),
            caveats: caveats(report),
            insecure: report["security"] == "none",
        }
    }
}

fn sides(report: &Value) -> Vec<Side> {
    let side = |who, what: &[&str]| Side { who, what: what.iter().map(|&what| what.to_owned()).collect() };
    let (result, kept) = (&report["result"], &report["kept"]);
    if report["role"] == "helper" {
        let what = ["the size of each set, padding included", "how many keys both have, and not which"];
        return vec![side("The helper", &what)];
    }
    if kept.is_object() {
        return match kept["asked"].is_null() {
            true => Vec::new(),
            false => vec![
                side(
                    "This side, the receiver",
                    &["which of its own rows match", "how many keys the set has, padding included"],
                ),
                side(
                    "The sender",
                    &[
                        "who asked, when, and for how many keys, padding included; neither which keys nor how many match",
                    ],
                ),
            ],
        };
    }
    if result.is_null() {
        return Vec::new();
    }
    let [receiver, sender] = ["receiver_learns", "sender_learns"].map(|name| texts(&result[name]));
    let (receiving, sending) = match report["role"] == "sender" {
        true => ("The partner, the receiver", "This side, the sender"),
        false => ("This side, the receiver", "The partner, the sender"),
    };
    let mut sides = vec![Side { who: receiving, what: receiver }, Side { who: sending, what: sender }];
    if report["helper"].is_object() {
        let what = ["the size of each set, padding included", "how many keys both have, and not which"];
        sides.push(side("The helper", &what));
    }
    sides
}

/// The security model in two sentences.
fn security(report: &Value) -> [&'static str; 2] {
    let with_helper = report["helper"].is_object() || report["role"] == "helper";
    match (text(report, "security"), report["kept"]["asked"].is_null()) {
        _ if report["kept"].is_object() && report["kept"]["asked"].is_null() => [
            "Nobody can test a key against the file without the sender, who answers as many as its budgets allow.",
            "Whoever gets the secret key of the set can test any key against the file.",
        ],
        (_, false) => [
            "The receiver learns of each key that it asks for whether it is in the set, and the sender has proven that it \
             answered under the key of the set (VOPRF, RFC 9497).",
            "The sender learns none of these keys, whatever it does.",
        ],
        _ if report["protocol"].is_null() && count(&report["bytes"]["payload"], "sent") == 0 => [
            "The run ended before this side had sent anything.",
            "Neither side learned anything of the other’s keys.",
        ],
        _ if report["protocol"].is_null() && report["sizes"]["shown"] == false => [
            "The run ended before this side had sent anything of its keys, their number included.",
            "The partner can have learned this side’s terms.",
        ],
        _ if report["protocol"].is_null() => [
            "The run ended before a protocol was agreed, so nothing that depends on the value of a key was sent.",
            "The partner can have learned this side’s terms, and how many keys it has.",
        ],
        ("none", _) => [
            "This run protects nothing: its protocol is insecure or broken, and is there for comparison.",
            "Do not use it with keys that the partner must not learn.",
        ],
        _ if with_helper => [
            "The keys are protected as long as all three follow the protocol and the helper works with neither party \
             (semi-honest security).",
            "A helper that works with one party can find out keys of the other.",
        ],
        ("malicious", _) => [
            "Apart from the limits below, neither side learns more than is listed here, even if the other one cheats: a lie in a message ends the run, \
             except with negligible probability (malicious security).",
            "Each side still chooses the keys that it brings, and so may ask about keys that it only guesses.",
        ],
        _ => [
            "Neither side learns more than is listed here as long as both follow the protocol (semi-honest security).",
            "A partner that changes its program may learn more or make the result wrong, and nothing would tell.",
        ],
    }
}

fn caveats(report: &Value) -> Vec<String> {
    let parameters = &report["parameters"];
    let mut caveats = Vec::new();
    if let Some(level) = parameters["level"].as_u64().filter(|level| *level < 128) {
        caveats.push(format!(
            "Level {level} is only for comparison with the papers: 2^{level} steps are within reach."
        ));
    }
    if let Some(keys) = parameters["max_tested_keys"].as_u64() {
        let keys = grouped(keys);
        caveats.push(format!(
            "A receiver that cheats can ask about {keys} keys at most, with 2^64 hash evaluations."
        ));
    }
    if let Some(caveat) = parameters["caveat"].as_str() {
        caveats.push(format!("Profile {caveat}."));
    }
    caveats
}
