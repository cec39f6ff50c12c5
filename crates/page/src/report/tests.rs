use serde_json::json;

use super::*;

const HOSTILE: &str = "</script><script>alert(1)</script>\"'&<img src=http://example.org/x>\u{202e}";

/// The report of a receiver that learns its rows.
fn usual() -> Value {
    let phase = |name: &str, sent: u64| json!({"name": name, "words": "doing it", "wall_s": 0.5, "sent": sent, "received": 7});
    json!({
        "schema": 1, "outcome": "done", "role": "receiver", "protocol": "vole", "reason": "fast",
        "security": "malicious", "profile": "conservative",
        "started": "2026-11-29T02:16:38.553Z", "ended": "2026-11-29T02:16:39.000Z",
        "keys": {"mine": "vesica-pub1-AAAABBBBCCCCDDDDEEEE", "partner": "vesica-pub1-1111222233334444"},
        "session": "7dc9dab09155eb4682bd", "transcript": {"sent": "f3730d6c", "received": "42cd30f5"},
        "input": {"name": "ours.csv", "bytes": 12, "blake3": "db47944b"},
        "terms": {"key rules": "email", "noise": "none", "result": "rows", "at-least": "none"},
        "parameters": {"level": 128, "mask_bits": 128, "max_tested_keys": 39679},
        "sizes": {"rows": 20338, "items": 20000, "nulls": 321, "invalid": 17, "duplicates": 0,
                  "shown_items": 20000, "peer_items": 48000},
        "confirmed": true, "matches": {"items": 8000, "rows": 8001},
        "result": {"kind": "rows", "receiver_learns": ["which of its own rows match"], "sender_learns": ["a size"]},
        "hints": [], "bytes": {"payload": {"sent": 9, "received": 9}, "wire": {"sent": 10, "received": 10}},
        "phases": [phase("read", 0), phase("exchange", 100)], "peak_rss": 30_000_000,
        "error": null, "versions": {"vesica": "0.1.0", "wire": 2},
    })
}

/// It with these fields changed.
fn with(changes: &Value) -> Value {
    let mut report = usual();
    for (name, value) in fields(changes) {
        report[name] = value.clone();
    }
    report
}

fn html(report: &Value) -> String {
    crate::report(&report.to_string()).unwrap()
}

/// What a person reads.
fn words(report: &Value) -> String {
    let html = html(report);
    let body = html.split("<body>").nth(1).unwrap().split("<script").next().unwrap();
    let mut words = String::new();
    for piece in body.split('<') {
        words.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
        words.push(' ');
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Puts a text in the place of every text.
fn replaced(value: &Value, text: &str) -> Value {
    match value {
        Value::String(_) => text.into(),
        Value::Array(values) => values.iter().map(|value| replaced(value, text)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), replaced(value, text))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn the_page_says_what_the_report_says() {
    let words = words(&usual());
    for said in [
        "8,001 of 20,338 rows match",
        "The two sides have 8,000 keys in common.",
        "Confirmed by both sides",
        "29 November 2026, 02:16:38 UTC",
        "AAAA BBBB CCCC DDDD",
        "vesica-pub1-AAAABBBBCCCCDDDDEEEE",
        "which of its own rows match",
        "(malicious security)",
        "about 39,679 keys at most",
        "email 20,000 321 17 8,001",
        "exchange doing it 500 ms 100 B 7 B",
        "In both 8,000",
        "vesica 0.1.0, wire 2",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
}

#[test]
fn the_page_holds_the_report_as_it_is() {
    let report = with(&json!({"hints": [HOSTILE], "n": 18_446_744_073_709_551_615u64}));
    let html = html(&report);
    let (_, data) = html.split_once("<script type=\"application/json\" id=\"vesica-report\">").unwrap();
    let (data, rest) = data.split_once("</script>").unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), report);
    assert_eq!(rest.split_whitespace().collect::<String>(), "</body></html>");
}

#[test]
fn nothing_of_a_report_is_markup() {
    let kinds = [
        json!({}),
        json!({"outcome": "failed", "error": {"side": "ours", "phase": "read", "message": "a", "remedy": "b"}}),
        json!({"match_rules": [{"rule": "a", "keys": 1, "matching_rows": 1}], "hints": ["c"], "relay": "d"}),
        json!({"result": {"kind": "sum", "receiver_learns": ["e"], "sums": [{"column": "f", "sum": "7"}]}}),
        json!({"kept": {"epoch": 1, "digest": "g", "keys": 1, "asked": 1},
               "receipt": {"statement": {"receiver": {"key": "h"}}}}),
    ];
    let plain = |report: &Value| html(report).matches('<').count();
    for kind in kinds {
        let mut report = with(&kind);
        let before = plain(&replaced(&report, "a word"));
        let hostile = replaced(&report, HOSTILE);
        let html = html(&hostile);
        assert_eq!(html.matches('<').count(), before, "{html}");
        assert_eq!(html.matches("<script").count(), 1);
        assert!(
            !html.contains(['\u{202e}']) || html.split("<script").next().unwrap().find('\u{202e}').is_none()
        );
        assert!(html.split("<script").next().unwrap().contains("\\u{202e}"));
        // Names of terms and parameters are the partner's too.
        report["terms"][HOSTILE] = HOSTILE.into();
        assert_eq!(crate::report(&report.to_string()).unwrap().matches("<script").count(), 1);
    }
}

#[test]
fn the_page_loads_nothing_and_runs_nothing() {
    let html = html(&usual());
    let page = html.split("<script").next().unwrap();
    for forbidden in
        ["http:", "https:", "//", "@import", "src=", "href=", " on", "style=", "<iframe", "<link"]
    {
        let found = page.match_indices(forbidden).map(|(at, _)| &page[at.saturating_sub(20)..at + 20]);
        // A blank and "on" begin a word of prose, or an attribute that would be a handler.
        let found: Vec<_> = found.filter(|text| forbidden != " on" || text.contains('=')).collect();
        assert!(found.is_empty(), "{forbidden}: {found:?}");
    }
    assert!(
        page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;;"),
        "{page}"
    );
}

#[test]
fn every_kind_of_result_has_its_headline_and_its_picture() {
    let result = |field: &str, value: Value| {
        let mut result = json!({"kind": "count", "receiver_learns": [], "sender_learns": []});
        result[field] = value;
        json!({"matches": null, "result": result})
    };
    let noisy = |mut changes: Value| {
        changes["terms"] = json!({"noise": "0.5", "at-least": "500"});
        changes
    };
    let least = |reached: bool| {
        let mut changes = result("at_least", reached.into());
        changes["terms"] = json!({"noise": "none", "at-least": "500"});
        changes
    };
    for (changes, title, common) in [
        (result("count", 1.into()), "1 key matches", "In both 1 "),
        (noisy(result("count", (-3).into())), "About −3 keys match", "In both ≈ −3"),
        (least(true), "At least 500 keys match", "In both ≥ 500"),
        (least(false), "Fewer than 500 keys match", "In both &#60; 500"),
        (noisy(result("at_least", true.into())), "At least 500 keys match", "In both not known"),
        (
            result("sums", json!([{"column": "a", "sum": "12345678901234567890"}])),
            "The sum over the keys",
            "In both not known",
        ),
        (json!({"role": "sender", "matches": null}), "The run is complete", "In both not known"),
        (json!({"outcome": "failed"}), "The run failed", "In both not known"),
    ] {
        let words = words(&with(&changes));
        assert!(words.contains(title) && words.contains(common), "{title}, {common}: {words}");
    }
    assert!(
        words(&with(&result("sums", json!([{"column": "a", "sum": "12345678901234567890"}]))))
            .contains("a 12,345,678,901,234,567,890")
    );
}

#[test]
fn a_sender_a_helper_and_a_kept_set_have_pages() {
    let sender = words(&with(&json!({"role": "sender", "matches": null})));
    assert!(
        sender.contains("The partner, the receiver which of its own rows match This side, the sender a size"),
        "{sender}"
    );
    let party = |items: u64| json!({"key": "vesica-pub1-k", "items": items, "transcript": {"sent": "s"}});
    let parties = json!({"receiver": party(10), "sender": party(20), "common_items": 5});
    let nothing = json!({"rows": 0, "items": 0});
    let helper = words(&with(&json!({
        "role": "helper", "parties": parties, "result": null, "matches": null, "sizes": nothing,
        "input": null, "terms": {},
    })));
    for said in ["Report of the helper", "5 keys in common", "Receiver 10", "Sender 20", "and not which"] {
        assert!(helper.contains(said), "{said}: {helper}");
    }
    assert!(!helper.contains("This side’s table"), "{helper}");
    let kept = |asked: Value| {
        json!({"result": null, "confirmed": false, "protocol": "voprf",
               "kept": {"epoch": 3, "key_number": 1, "digest": "ab", "keys": 48000, "added": 5, "removed": 2, "asked": asked}})
    };
    let looked = words(&with(&kept(20000.into())));
    for said in ["8,001 of 20,338 rows match", "The kept set 48,000", "whatever it does"] {
        assert!(looked.contains(said), "{said}: {looked}");
    }
    let mut changes = kept(Value::Null);
    changes["role"] = "sender".into();
    changes["matches"] = Value::Null;
    let published = words(&with(&changes));
    for said in ["Epoch 3 of the set is published", "5 came and 2 went", "Report of the publisher"] {
        assert!(published.contains(said), "{said}: {published}");
    }
    assert!(!published.contains("In both"), "{published}");
}

#[test]
fn a_failed_run_says_why_and_what_was_told() {
    let error = json!({"side": "both", "phase": "agree", "message": "key rules differ", "remedy": "give `--key` alike"});
    let failed = json!({"outcome": "failed", "error": error, "protocol": null, "result": null, "matches": null,
                        "confirmed": false, "session": null, "terms": {}, "parameters": {}});
    let report = with(&failed);
    let said = words(&report);
    for part in [
        "The run failed",
        "key rules differ",
        "between the two sides, in the phase agree",
        "before a protocol was agreed",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(html(&report).contains("give <code>--key</code> alike"));
    // The size leaves after the terms were compared.
    for (shown, told) in [(true, true), (false, false)] {
        let mut report = report.clone();
        report["sizes"]["shown"] = shown.into();
        let said = words(&report);
        assert_eq!(said.contains("and how many keys it has"), told, "{said}");
        assert!(said.contains("can have learned this side’s terms"), "{said}");
    }
    let mut unmet = report;
    unmet["bytes"] = json!({});
    unmet["sizes"]["peer_items"] = Value::Null;
    let said = words(&unmet);
    assert!(
        said.contains("before this side had sent anything") && said.contains("Keys, with padding 20,000"),
        "{said}"
    );
    assert!(!said.contains("Size that the partner saw"), "{said}");
}

#[test]
fn the_security_is_that_of_the_run() {
    for (changes, said) in [
        (json!({"security": "semi-honest"}), "as long as both follow the protocol"),
        (json!({"security": "none"}), "This run protects nothing"),
        (json!({"security": "semi-honest", "helper": {"key": null}}), "the helper works with neither party"),
        (json!({"parameters": {"level": 80}}), "2^80 steps are within reach"),
        (json!({"parameters": {"caveat": "lean: no bound is proven"}}), "Profile lean: no bound is proven."),
    ] {
        let words = words(&with(&changes));
        assert!(words.contains(said), "{said}: {words}");
    }
    assert!(html(&with(&json!({"security": "none"}))).contains("security insecure"));
}

#[test]
fn long_lists_are_short_on_paper() {
    let rule = |number: u64| json!({"rule": format!("R{number}"), "keys": number, "matching_rows": 1});
    let rules: Vec<_> = (0..PRINTED as u64 + 3).map(rule).collect();
    let html = html(&with(&json!({"match_rules": rules})));
    assert_eq!(html.matches("<tr class=\"screen\">").count(), 3);
    assert!(html.contains("3 more are in the file."));
}

#[test]
fn reports_of_another_form_are_pages_too() {
    for text in
        ["null", "[]", "{}", "7", r#"{"sizes": [], "phases": {}, "terms": 3, "keys": "x", "error": "y"}"#]
    {
        assert!(crate::report(text).unwrap().contains("<h1>"), "{text}");
        assert!(crate::plan(text).unwrap().contains("<h1>"), "{text}");
        assert!(crate::inspection(text).unwrap().contains("<h1>"), "{text}");
    }
    // Every field of the usual report with a value of every type.
    for (name, _) in fields(&usual()) {
        for value in
            [Value::Null, json!(-1.5), json!("x"), json!([[1]]), json!({"a": {"b": 1}}), json!(u64::MAX)]
        {
            let mut changes = json!({});
            changes[name] = value;
            assert!(html(&with(&changes)).contains("<h1>"), "{changes}");
        }
    }
    assert!(crate::report("{").is_err());
}

#[test]
fn a_receipt_says_who_signed_and_how_it_is_checked() {
    let statement =
        json!({"receiver": {"key": "vesica-pub1-AAAABBBB"}, "sender": {"key": "vesica-pub1-CCCCDDDD"}});
    let words = words(&with(&json!({"receipt": {"version": 1, "statement": statement, "signatures": {}}})));
    for said in [
        "the receiver AAAA BBBB and the sender CCCC DDDD have signed",
        "This page has not checked the signatures. vesica verify",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
    assert!(!html(&usual()).contains("vesica verify"));
}
