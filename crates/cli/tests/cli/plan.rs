//! `vesica plan`: what a run would take, in words and as JSON.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::process::{Command, Output};

use serde_json::Value;
use vesica::registry::{PROTOCOLS, Security};

fn plan(args: &[&str]) -> Output {
    // What a test does not ask for otherwise.
    let security: &[&str] = if args.contains(&"--security") { &[] } else { &["--security", "semi-honest"] };
    Command::new(env!("CARGO_BIN_EXE_vesica")).arg("plan").args(args).args(security).output().unwrap()
}

fn words(args: &[&str]) -> String {
    let output = plan(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&words(&[args, &["--json"]].concat())).unwrap()
}

const MILLION: [&str; 4] = ["--receiver", "2^20", "--sender", "2^20"];

#[test]
fn words_name_the_choice_its_cost_and_every_alternative() {
    let text = words(
        &[&MILLION[..], &["--bandwidth", "100M", "--latency", "20ms", "--threads", "2", "--all"]].concat(),
    );
    for part in [
        "vole: VOLE and an oblivious key-value store",
        "the fastest protocol from 8,192 keys on",
        "receiver 1048576, sender 1048576",
        "security semi-honest, level 128, profile conservative, learns receiver",
        "100 Mbit/s, round trip 20 ms; 2 threads a party",
        "round trips",
        "keys, 2 threads a party",
        "  2026-11-22-zen4, AMD EPYC",
        "* 2026-11-23-",
        "fastest here",
        "naive-hash          no: protocol naive-hash",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(PROTOCOLS.iter().all(|entry| text.contains(entry.name)), "{text}");
}

#[test]
fn those_that_cannot_be_taken_are_one_line() {
    let sizes = ["--receiver", "2^20", "--sender", "2^20", "--security", "malicious"];
    let weaker = PROTOCOLS
        .iter()
        .filter(|entry| !entry.security.contains(&Security::Malicious) && !entry.needs_allow_insecure());
    let text = words(&sizes);
    let told = format!("  {} others need `--security semi-honest`, and ", weaker.count());
    assert!(text.contains(&told) && text.contains("(--all says why)") && !text.contains(" no: "), "{text}");
    assert!(
        words(&[&sizes[..], &["--all"]].concat())
            .contains("kkrt                no: protocol kkrt is not secure")
    );
}

#[test]
fn the_number_of_questions_says_whether_hashing_buys_any() {
    let questions = |protocol| {
        let args = [&MILLION[..], &["--protocol", protocol, "--security", "malicious"]].concat();
        words(&args).lines().find(|line| line.contains("a receiver that cheats")).unwrap().to_owned()
    };
    for (protocol, searches) in [("vole", true), ("gbf-rr16", true), ("dkt", false)] {
        assert_eq!(
            questions(protocol).ends_with("keys at most, with 2^64 hash evaluations"),
            searches,
            "{protocol}"
        );
    }
    assert!(questions("dkt").ends_with("can ask about 1048576 keys at most"));
}

#[test]
fn lean_says_what_it_rests_on() {
    for security in ["malicious", "semi-honest"] {
        let lean =
            [&MILLION[..], &["--protocol", "vole", "--security", security, "--profile", "lean"]].concat();
        assert!(words(&lean).contains("rests on   lean: 128 bits only if light words"), "{security}");
        assert!(json(&lean)["parameters"]["caveat"].as_str().unwrap().starts_with("lean: "), "{security}");
    }
    assert!(json(&MILLION)["parameters"]["caveat"].is_null());
}

#[test]
fn json_holds_what_auto_takes_with_exact_bytes() {
    let plan = json(&["--receiver", "100", "--sender", "300"]);
    assert_eq!((plan["schema"].as_u64(), plan["protocol"].as_str()), (Some(3), Some("dh")));
    // 32·n_r each way, and a mask of 40 + 7 + 9 bits for each item of the sender.
    assert_eq!(plan["estimate"]["traffic"]["receiver"], 3200);
    assert_eq!(plan["estimate"]["traffic"]["sender"], 3200 + 300 * 7);
    assert!(plan["estimate"]["memory"]["sender"].as_u64().unwrap() > 48 * 300);
    assert!(plan["estimate"]["time"]["total_s"].as_f64().unwrap() > 0.0);
    let time = &plan["estimate"]["time"];
    assert_eq!(
        (&time["same_configuration"], &time["nearest"]["configuration"]),
        (&true.into(), &"dh".into())
    );
    assert_eq!((&time["nearest"]["receiver"], &time["nearest"]["sender"]), (&256.into(), &256.into()));
    let alternatives = plan["alternatives"].as_array().unwrap();
    let names: Vec<_> = alternatives.iter().map(|other| other["protocol"].as_str().unwrap()).collect();
    assert_eq!(names, PROTOCOLS.iter().map(|entry| entry.name).collect::<Vec<_>>());
    let insecure = alternatives.iter().find(|other| other["protocol"] == "naive-hash").unwrap();
    assert!(insecure["refused"].as_str().unwrap().contains("--allow-insecure"));
}

#[test]
fn a_slower_network_takes_longer_and_more_bytes_more_so() {
    let time = |plan: &Value, name: &str| {
        let others = plan["alternatives"].as_array().unwrap();
        let found = others.iter().find(|other| other["protocol"] == name).unwrap();
        found["estimate"]["time"]["total_s"].as_f64().unwrap()
    };
    let fast = json(&MILLION);
    let slow = json(&[&MILLION[..], &["--bandwidth", "10M", "--latency", "50ms"]].concat());
    let factor = |name| time(&slow, name) / time(&fast, name);
    assert!(factor("gbf") > factor("kkrt") && factor("kkrt") > factor("dh") && factor("dh") >= 1.0);
}

#[test]
fn the_measured_cell_behind_a_time_is_named() {
    assert!(words(&MILLION).contains(" at 2^20 and 2^20 keys, 1 thread a party\n"));
    let other = [&MILLION[..], &["--protocol", "ot-phasing", "--sigma", "40"]].concat();
    let text = words(&other);
    assert!(text.contains("; of `ot-phasing, σ = 32`: these parameters were not measured"), "{text}");
}

/// HEK12 and DCW13 have moduli of 1024 to 15360 bits, and a price that follows from them.
#[test]
fn a_price_follows_from_the_modulus_and_says_so() {
    let of = |level: &str| {
        let asked =
            ["--receiver", "2^12", "--sender", "2^12", "--protocol", "dt-rsa", "--security", "semi-honest"];
        let asked = [&asked[..], &["--level", level]].concat();
        (json(&asked)["estimate"]["time"]["total_s"].as_f64().unwrap(), words(&asked))
    };
    let levels = ["80", "112", "128", "192", "256"].map(of);
    assert!(levels.windows(2).all(|pair| pair[0].0 < pair[1].0));
    // The record has levels 112 and 128.
    let said = "; scaled from level 128 by the length of modulus and exponent: × 125";
    assert!(levels[4].1.contains(said), "{}", levels[4].1);
    assert!(!levels[2].1.contains("scaled from"), "{}", levels[2].1);
    let (measured_s, shortest_s) = (levels[2].0, levels[0].0);
    // DCW13 Table 3 prints 783 times as much at level 256 as at 80.
    assert!((100.0..160.0).contains(&(levels[4].0 / measured_s)) && levels[4].0 / shortest_s > 500.0);
}

#[test]
fn a_circuit_has_a_time_from_what_processors_took() {
    let asked = ["--receiver", "2^16", "--sender", "2^16", "--security", "semi-honest", "--sigma", "32"];
    let named = |name| words(&[&asked[..], &["--protocol", name]].concat());
    assert!(named("scs-wn").contains(" of the processor at 2^16 and 2^16 keys"), "{}", named("scs-wn"));
    assert!(named("scs-sort").contains(", by its gates: scs-sort was not measured"), "{}", named("scs-sort"));
    let count =
        words(&["--receiver", "2^16", "--sender", "2^16", "--security", "semi-honest", "--result", "count"]);
    assert!(
        count.starts_with("circuit-vole: ") && count.contains("by its gates: circuit-vole was not"),
        "{count}"
    );
    // No protocol that can be taken is without a time.
    assert!(!count.contains(" ? "), "{count}");
}

/// The figures are those of the contract: 1057277 keys a part, 13 lanes in 4 GiB and two in one.
#[test]
fn within_a_budget_the_parts_what_is_played_at_once_and_the_disk_are_told() {
    let huge = ["--receiver", "2^30", "--sender", "2^30", "--security", "malicious", "--threads", "16"];
    for (budget, lanes) in [("1G", 2), ("4G", 13)] {
        let plan = json(&[&huge[..], &["--memory", budget]].concat());
        assert_eq!((&plan["parts"]["count"], &plan["parts"]["receiver"]), (&1024.into(), &1_057_277.into()));
        assert_eq!(plan["parts"]["lanes"], lanes, "{budget}");
        let (memory, most) = (&plan["estimate"]["memory"], plan["conditions"]["memory"].as_u64().unwrap());
        assert!(["receiver", "sender"].iter().all(|side| memory[side].as_u64().unwrap() <= most));
        // The receiver's matches too: 32 bytes a key.
        let disk = |side: &str| plan["estimate"]["disk"][side].as_u64().unwrap() >> 30;
        assert!((40..43).contains(&disk("sender")) && (72..76).contains(&disk("receiver")), "{plan}");
    }
    let text = words(&[&huge[..], &["--memory", "1G"]].concat());
    for part in ["1024, each of 1057277 keys", "; 2 at once", "of temporary files at most"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let more = json(&[&huge[..], &["--memory", "4G", "--parts", "4096"]].concat());
    assert_eq!(more["parts"]["count"], 4096);
}

#[test]
fn a_budget_changes_nothing_where_all_keys_fit_and_refuses_what_does_not() {
    let plain = json(&MILLION);
    let mut within = json(&[&MILLION[..], &["--memory", "900G"]].concat());
    assert_eq!(within["conditions"]["memory"], 900u64 << 30);
    within["conditions"]["memory"].take();
    assert_eq!(plain, within);
    assert!(
        words(&[&MILLION[..], &["--memory", "900G"]].concat()).contains("none: all keys fit into memory")
    );
    let refused = plan(&[&MILLION[..], &["--memory", "66M"]].concat());
    assert_eq!(refused.status.code(), Some(64));
    let screen = String::from_utf8(refused.stderr).unwrap();
    assert!(
        screen.contains("more than `--memory` allows") && screen.contains("the receiver's side"),
        "{screen}"
    );
}

/// A protocol that the first record lacks has its time from another one, which is named, and is marked in the table.
#[test]
fn a_time_of_another_machine_says_so() {
    let sizes =
        ["--receiver", "2^12", "--sender", "2^12", "--security", "malicious", "--protocol", "gbf-rr16"];
    let text = words(&sizes);
    let record = text.lines().find_map(|line| line.strip_prefix("  record     ")).unwrap();
    assert!(!record.starts_with("2026-11-22-zen4") && text.contains(&format!("* {record}\n")), "{text}");
    let line = text.lines().find(|line| line.starts_with("> gbf-rr16")).unwrap();
    assert!(line.contains("s*") && !line.contains("fastest here"), "{line}");
    let plan = json(&sizes);
    assert_eq!(plan["estimate"]["time"]["nearest"]["record"], record);
    assert!(plan["records"].as_array().unwrap().contains(&record.into()));
}

#[test]
fn base_ots_may_be_kept() {
    let sizes = ["--receiver", "2^8", "--sender", "2^8", "--kept-base-ots"];
    assert!(words(&sizes).contains("base OTs   none that could be kept"));
    let named = [&sizes[..], &["--protocol", "kkrt"]].concat();
    assert!(words(&named).contains("base OTs   those of an earlier run"));
    let (kept, fresh) = (json(&named), json(&["--receiver", "2^8", "--sender", "2^8", "--protocol", "kkrt"]));
    let time = |plan: &Value| plan["estimate"]["time"]["total_s"].as_f64().unwrap();
    assert!(time(&kept) < time(&fresh) / 2.0);
    assert_eq!(
        (&kept["conditions"]["kept_base_ots"], &fresh["conditions"]["kept_base_ots"]),
        (&true.into(), &false.into())
    );
}

#[test]
fn options_are_terms_of_the_run() {
    let args = [&MILLION[..], &["--protocol", "ot-phasing", "--sigma", "32", "--learns", "both"]].concat();
    let plan = json(&args);
    assert_eq!(plan["reason"], "named");
    assert_eq!((&plan["parameters"]["sigma"], &plan["parameters"]["learns"]), (&32.into(), &"both".into()));
    let malicious = json(&[&MILLION[..], &["--security", "malicious"]].concat());
    assert_eq!(malicious["parameters"]["security"], "malicious");
    let insecure = json(&[&MILLION[..], &["--protocol", "naive-hash", "--allow-insecure"]].concat());
    assert_eq!(insecure["protocol"], "naive-hash");
    assert!(
        words(&[&MILLION[..], &["--protocol", "naive-hash", "--allow-insecure"]].concat())
            .contains("insecure")
    );
}

#[test]
fn what_cannot_be_planned_is_told() {
    for (args, words) in [
        (&["--protocol", "nothing"][..], "possible values: auto, vole"),
        (&["--protocol", "dh", "--security", "malicious"], "not secure against malicious"),
        (&["--kept-base-ots", "--security", "malicious"], "only if both sides follow the protocol"),
        (&["--bandwidth", "fast"], "write bits a second"),
        (&["--latency", "20"], "write a round trip"),
    ] {
        let output = plan(&[&MILLION[..], args].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{args:?}: {told}");
        assert!(told.contains(words), "{args:?}: {told}");
    }
    assert_eq!(plan(&["--receiver", "5"]).status.code(), Some(64));
}
