//! `vesica bench once`: two real processes for each run, and what it prints.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs `vesica bench` in the repository's root, with that standard input.
fn bench_with(input: &str, args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_vesica"));
    command.arg("bench").args(args).current_dir(root);
    if cfg!(debug_assertions) && args[0] == "once" {
        command.arg("--allow-debug");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    running.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    running.wait_with_output().unwrap()
}

fn bench(args: &[&str]) -> Output {
    bench_with("", args)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn one_cell_is_measured_over_tls_and_a_network() {
    let sizes = ["--receiver", "64", "--sender", "2^7"];
    let run = bench(
        &[&["once", "--protocol", "dh", "--tls", "--network", "lan", "--learns", "both"][..], &sizes]
            .concat(),
    );
    assert!(run.status.success(), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("3 runs"));
}

#[test]
fn one_cell_is_as_secure_as_a_run_unless_asked_otherwise() {
    for (protocol, more, security) in [
        ("vole", &[][..], "malicious"),
        ("vole", &["--security", "semi-honest"], "semi-honest"),
        ("dh", &[], "semi-honest"),
    ] {
        let sizes = ["--receiver", "64", "--sender", "100", "--runs", "1"];
        let run = bench(&[&["once", "--protocol", protocol], &sizes[..], more].concat());
        assert!(run.status.success(), "{}", text(&run.stderr));
        let first = format!("{protocol}, {security}, 64 × 100\n");
        assert!(text(&run.stdout).starts_with(&first), "{}", text(&run.stdout));
    }
}

#[test]
fn what_cannot_be_run_is_told() {
    let cell = r#"{"protocol":"dh","receiver":4,"sender":4}"#;
    let cases: [(&[&str], u8, &str); 7] = [
        (&["once", "--protocol", "nothing", "--receiver", "4", "--sender", "4"], 64, "no protocol named"),
        (
            &["once", "--protocol", "dh", "--receiver", "4", "--sender", "4", "--network", "moon"],
            64,
            "no network",
        ),
        (&["once", "--receiver", "4", "--sender", "4"], 64, "--protocol"),
        (&["once", "--cell", "{}"], 64, "missing field `protocol`"),
        (&["once", "--cell", cell, "--sigma", "32"], 64, "cannot be used with"),
        (&["once", "--cell", cell, "--at-least", "3"], 64, "cannot be used with"),
        (&["describe"], 64, "standard input"),
    ];
    for (args, code, words) in cases {
        let ended = bench(args);
        assert_eq!(ended.status.code(), Some(code.into()), "{args:?}");
        assert!(text(&ended.stderr).contains(words), "{args:?}: {}", text(&ended.stderr));
    }
}

#[test]
fn a_cell_of_a_record_is_run_and_told_as_json() {
    let cell = r#"{"protocol":"dh","receiver":8,"sender":4,"common_percent":50,"network":"lan"}"#;
    let run = bench(&["once", "--cell", cell, "--runs", "2", "--json"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let lines: Vec<Value> =
        text(&run.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = bench_with(&format!(r#"[{{"cell":{cell}}}]"#), &["describe"]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    for line in &lines {
        let sent = |party: &str| line[party]["sent"].as_u64().unwrap();
        assert_eq!(Some(sent("receiver") + sent("sender")), told["answers"][0]["bytes"].as_u64());
        assert_eq!((line["receiver"]["matches"].as_u64(), &line["helper"]), (Some(2), &Value::Null));
        assert!(line["receiver"]["wall_s"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_run_beyond_its_time_limit_is_stopped() {
    let sizes = ["--receiver", "2^14", "--sender", "2^14", "--time-limit", "1s"];
    let run = bench(&[&["once", "--protocol", "blind-rsa"], &sizes[..]].concat());
    assert_eq!(run.status.code(), Some(69), "{}", text(&run.stderr));
}
