//! `vesica bench`: two real processes for each protocol, a record that grows, a report that shows it.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use vesica::registry::PROTOCOLS;

const EVERYTHING: &str = "vesica/all-at-2-8";

/// Runs `vesica bench` in the repository's root.
fn bench(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_vesica"));
    command.arg("bench").args(args).current_dir(root);
    if cfg!(debug_assertions) {
        command.arg("--allow-debug");
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn every_protocol_runs_is_recorded_once_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let record_text = record.to_str().unwrap();
    let run = || bench(&["run", EVERYTHING, "--record", record_text]);
    let first = run();
    assert!(first.status.success(), "{}", text(&first.stderr));
    let next = format!("`vesica bench report --record {record_text} --page tables.md`");
    assert!(text(&first.stderr).contains(&next), "{}", text(&first.stderr));
    let lines = fs::read_to_string(record.join("vesica-all-at-2-8.csv")).unwrap();
    let mut rows: Vec<_> = lines.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    rows.sort_unstable();
    let mut names: Vec<_> = PROTOCOLS.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    assert_eq!(rows, names, "the definition {EVERYTHING} holds every protocol, once");

    // What the record holds is not run again.
    assert!(run().status.success());
    assert_eq!(fs::read_to_string(record.join("vesica-all-at-2-8.csv")).unwrap(), lines);

    let page = folder.path().join("page.md");
    fs::write(
        &page,
        "before\n<!-- begin: vesica bench report -->\n<!-- end: vesica bench report -->\nafter\n",
    )
    .unwrap();
    let report = bench(&["report", "--record", record_text, "--page", page.to_str().unwrap()]);
    assert!(report.status.success(), "{}", text(&report.stderr));
    let results = fs::read_to_string(&page).unwrap();
    assert!(results.starts_with("before\n") && results.ends_with("after\n"));
    assert!(results.contains("(page/vesica.md)"), "{results}");
    let tables = fs::read_to_string(folder.path().join("page/vesica.md")).unwrap();
    assert!(names.iter().all(|name| tables.contains(&format!("| {name} | **"))), "{tables}");
    // A page that is not there is made.
    let new = folder.path().join("new.md");
    let report = bench(&["report", "--record", record_text, "--page", new.to_str().unwrap()]);
    assert!(report.status.success(), "{}", text(&report.stderr));
    assert!(fs::read_to_string(&new).unwrap().contains("(new/vesica.md)"));
    // Every figure of the tables is in the file that the pictures are drawn from.
    let figures = fs::read_to_string(record.join("figures.csv")).unwrap();
    assert!(names.iter().all(|name| figures.contains(&format!(",{name},2^8,"))), "{figures}");
}

#[test]
fn what_no_budget_is_left_for_is_told_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let run = bench(&["run", EVERYTHING, "--budget", "0s", "--record", record.to_str().unwrap()]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let (all, left_out) = (PROTOCOLS.len(), text(&run.stderr).matches("s of the budget are left").count());
    assert_eq!(left_out, all, "{}", text(&run.stderr));
    assert!(text(&run.stderr).contains(&format!("0 runs recorded, {all} cells skipped, 0 failed")));
    assert!(fs::read_to_string(record.join("commands.txt")).unwrap().contains("--budget 0s"));
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
    let cases: [(&[&str], u8, &str); 4] = [
        (&["once", "--protocol", "nothing", "--receiver", "4", "--sender", "4"], 64, "no protocol named"),
        (
            &["once", "--protocol", "dh", "--receiver", "4", "--sender", "4", "--network", "moon"],
            64,
            "no network",
        ),
        (&["run", "--record", "/tmp"], 64, "name a definition"),
        (&["run", "no/such", "--record", "/tmp"], 65, "no/such.toml"),
    ];
    for (args, code, words) in cases {
        let ended = bench(args);
        assert_eq!(ended.status.code(), Some(code.into()), "{args:?}");
        assert!(text(&ended.stderr).contains(words), "{args:?}: {}", text(&ended.stderr));
    }
}
