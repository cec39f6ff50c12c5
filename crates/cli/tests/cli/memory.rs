//! Runs over more keys than `--memory` has room for: two real processes, temporary files, and what a crash leaves of them.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{ANOTHER_DAY, RECEIVER, SENDER, Scene, emails, plain_join, with};

const MIB: u64 = 1 << 20;

/// More keys than 256 MiB have room for.
const ROWS: usize = 1 << 20;

const LITTLE: [&str; 4] = ["--memory", "256M", "--temp-dir", "temp"];

/// Two tables, a folder for temporary files, and an output of another day.
fn scene(mine: &str, theirs: &str) -> Scene {
    let scene = Scene::new();
    scene.write("receiver.csv", mine);
    scene.write("sender.csv", theirs);
    scene.write("out.csv", ANOTHER_DAY);
    fs::create_dir(scene.path("temp")).unwrap();
    scene
}

fn report(scene: &Scene, name: &str) -> Value {
    serde_json::from_str(&scene.read(name)).unwrap()
}

fn assert_no_temporary_file(scene: &Scene) {
    assert_eq!(fs::read_dir(scene.path("temp")).unwrap().count(), 0);
}

/// Peak memory within the budget, with what the contract allows above it.
fn assert_within(report: &Value, budget: u64) {
    let peak = report["peak_rss"].as_u64().unwrap();
    println!("peak {} MiB", peak / MIB);
    assert!(peak <= budget + 32 * MIB, "{} MiB of {}", peak / MIB, budget / MIB);
}

#[test]
fn keys_that_do_not_fit_go_to_disk_and_the_result_is_the_plain_join() {
    // Rows that repeat keys, at the end as well.
    let mut mine = emails("receiver", ROWS, ROWS / 3);
    let again: String = mine.lines().skip(1).step_by(50).map(|line| format!("{line}\n")).collect();
    mine += &again;
    let theirs = emails("sender", ROWS, ROWS / 3);
    let scene = scene(&mine, &theirs);
    let (received, sent) = scene.pair(
        &with(&with(&SENDER, &LITTLE), &["--report", "theirs.json"]),
        &with(&with(&RECEIVER, &LITTLE), &["--report", "mine.json"]),
    );
    sent.expect(0, &[]);
    received.expect(0, &["played in "]);
    assert!(scene.read("out.csv") == plain_join(&mine, &theirs));
    for name in ["mine.json", "theirs.json"] {
        let report = report(&scene, name);
        assert_within(&report, 256 * MIB);
        assert!(report["spill"]["bytes_written"].as_u64() > Some(2 * 40 * ROWS as u64));
        assert!(report["spill"]["bytes_read"].as_u64() > report["spill"]["bytes_written"].as_u64());
        assert_eq!(report["spill"]["dir_kind"], "named");
        assert!(report["parts"]["count"].as_u64() > Some(1));
        assert_eq!(report["sizes"]["items"], ROWS);
        let phases = report["phases"].as_array().unwrap();
        for phase in ["count", "split", "parts"] {
            assert!(phases.iter().any(|one| one["name"] == phase), "{phase}: {phases:?}");
        }
    }
    let mine = report(&scene, "mine.json");
    assert_eq!(mine["sizes"]["duplicates"].as_u64(), Some(ROWS.div_ceil(50) as u64));
    assert_eq!(mine["matches"]["items"].as_u64(), Some(ROWS as u64 / 3));
    assert_no_temporary_file(&scene);
}

#[test]
fn a_partner_without_a_budget_plays_along_and_both_may_learn() {
    let (mine, theirs) = (emails("receiver", ROWS, 50_000), emails("sender", 70_000, 50_000));
    let scene = scene(&mine, &theirs);
    let both = ["--learns", "both"];
    let (received, sent) = scene.pair(
        &with(&with(&SENDER, &both), &["--output", "theirs.csv"]),
        &with(&with(&with(&RECEIVER, &LITTLE), &both), &["--report", "mine.json"]),
    );
    sent.expect(0, &["50000 of "]);
    received.expect(0, &["played in "]);
    assert!(scene.read("out.csv") == plain_join(&mine, &theirs));
    assert!(scene.read("theirs.csv") == plain_join(&theirs, &mine));
    assert_within(&report(&scene, "mine.json"), 256 * MIB);
}

#[test]
fn keys_that_fit_make_no_file() {
    let scene = scene(&emails("receiver", 3000, 100), &emails("sender", 3000, 100));
    // A directory that does not exist is of no concern.
    let more = ["--memory", "1G", "--temp-dir", "absent", "--report", "mine.json"];
    let (received, sent) = scene.pair(&SENDER, &with(&RECEIVER, &more));
    sent.expect(0, &[]);
    received.expect(0, &["100 of 3000 "]);
    let report = report(&scene, "mine.json");
    assert!(report["spill"].is_null() && report["parts"].is_null());
}

#[test]
fn an_address_is_no_folder_for_temporary_files() {
    let scene = scene(&emails("receiver", 10, 5), "id,email\n");
    for address in ["s3://bucket/temp", "gs://bucket", "s3:/bucket/temp", "ftp://host/temp"] {
        // Also where all keys fit into memory, so that nothing would be written there.
        for more in [&["--memory", "256M"][..], &[]] {
            let peer =
                ["--connect", "127.0.0.1:1", "--identity", "receiver.pem", "--peer", &scene.sender_key];
            let ended =
                scene.run(&[&["receive", "--temp-dir", address], &peer[..], &RECEIVER[..], more].concat());
            ended.expect(
                64,
                &[address, "in a folder of this machine", "on a disk of this machine with `--temp-dir`"],
            );
        }
    }
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    assert!(!scene.path("s3:").exists());
}

#[test]
fn what_cannot_be_is_said_before_the_partner_is_met() {
    let scene = scene(&emails("receiver", ROWS / 4, 10), "id,email\n");
    let peer =
        ["receive", "--connect", "127.0.0.1:1", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    for (more, code, words) in [
        (&["--memory", "66M"][..], 64, &["`--memory` allows 69 MB", "at least"][..]),
        (&["--memory", "80M", "--temp-dir", "absent"], 74, &["absent: temporary files cannot be created"]),
    ] {
        let ended = scene.run(&[&peer, &RECEIVER[..], more].concat());
        ended.expect(code, words);
        assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    }
}

#[test]
fn a_full_disk_ends_the_run_with_74() {
    let scene = scene(&emails("receiver", ROWS, 10), "id,email\n");
    // Files may have 10 MB at most.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 20000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_vesica")]);
    let peer =
        ["receive", "--connect", "127.0.0.1:1", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let ended = scene.start_as(limited, &[&peer, &RECEIVER[..], &LITTLE].concat()).end();
    ended.expect(74, &["temp: a temporary file cannot be written", "`--temp-dir`"]);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    assert_no_temporary_file(&scene);
}

#[test]
fn a_disk_that_is_full_once_the_partner_is_there_ends_the_run_with_74_too() {
    let scene = scene(&emails("receiver", ROWS, 10), &emails("sender", 70_000, 10));
    let (sender, address) = scene.sender(&SENDER);
    // Room for the 1024 buckets, 256 KiB each, and for no part.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 524288; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_vesica")]);
    let to = ["receive", "--connect", &address, "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let ended = scene.start_as(limited, &[&to, &RECEIVER[..], &LITTLE].concat()).end();
    ended.expect(74, &["temp: a temporary file cannot be written", "phase split"]);
    sender.end().expect(69, &[]);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    assert_no_temporary_file(&scene);
}

#[test]
fn a_process_that_is_killed_leaves_no_temporary_file() {
    let scene = scene(&emails("receiver", ROWS, 10), &emails("sender", 70_000, 10));
    let (sender, address) = scene.sender(&with(&SENDER, &["--timeout", "15s"]));
    let mut receiver = scene.receiver(&address, &with(&RECEIVER, &LITTLE));
    receiver.wait_for("parts: ");
    receiver.signal(Signal::KILL);
    assert_eq!(receiver.end().code, None);
    sender.end().expect(69, &[]);
    assert_no_temporary_file(&scene);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
}

#[test]
fn a_table_that_changes_before_its_rows_are_selected_is_refused() {
    let mine = emails("receiver", ROWS, 10);
    let scene = scene(&mine, &emails("sender", 70_000, 10));
    let (mut sender, address) = scene.sender(&SENDER);
    let receiver = scene.receiver(&address, &with(&RECEIVER, &LITTLE));
    sender.wait_for("parts: ");
    scene.write("receiver.csv", mine + "x,another@example.org\n");
    let received = receiver.end();
    received.expect(65, &["changed during the run"]);
    sender.end().expect(0, &[]);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
}
