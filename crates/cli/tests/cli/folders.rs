//! Tables that are folders of files: real processes, against the same rows in one file.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;

use crate::common::files::{gzip, parquet};
use crate::common::{ANOTHER_DAY, LOCAL, RECEIVER, SENDER, Scene, plain_join, scene, with};

/// Puts the rows of a table into a folder, so many in each file.
fn split(
    scene: &Scene,
    table: &str,
    folder: &str,
    (rows, ending): (usize, &str),
    pack: impl Fn(&str) -> Vec<u8>,
) {
    let text = scene.read(table);
    let (header, body) = text.split_once('\n').unwrap();
    let lines: Vec<&str> = body.lines().collect();
    fs::create_dir(scene.path(folder)).unwrap();
    for (number, lines) in lines.chunks(rows).enumerate() {
        let text = format!("{header}\n{}\n", lines.join("\n"));
        scene.write(&format!("{folder}/part-{number:05}.{ending}"), pack(&text));
    }
    scene.write(&format!("{folder}/_SUCCESS"), "");
}

/// Both tables of a scene as folders, the receiver's of CSV.
fn folders(rows: usize, more: (&str, impl Fn(&str) -> Vec<u8>)) -> Scene {
    let scene = scene(rows);
    split(&scene, "receiver.csv", "mine", (rows / 7, "csv"), |text| text.as_bytes().to_vec());
    split(&scene, "sender.csv", "theirs", (rows / 3, more.0), more.1);
    scene
}

#[test]
fn a_run_over_folders_is_the_run_over_files() {
    for (scene, theirs) in [
        (folders(300, ("csv.gz", gzip)), "theirs/part-*.csv.gz"),
        (folders(300, ("parquet", parquet)), "theirs/"),
    ] {
        let expected = plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv"));
        let (receiver, sender) = scene.pair(
            &["--input", theirs, "--key", "email:email"],
            &["--input", "mine", "--key", "email:email", "--output", "out.csv", "--report", "report.json"],
        );
        receiver.expect(0, &["150 of 300 rows match"]);
        sender.expect(0, &[]);
        assert_eq!(scene.read("out.csv"), expected);
        let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
        let mut files: Vec<_> =
            fs::read_dir(scene.path("mine")).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let bytes: Vec<u8> = files.iter().flat_map(|file| fs::read(file).unwrap()).collect();
        assert_eq!(
            (&report["input"]["name"], &report["input"]["bytes"]),
            (&"mine".into(), &bytes.len().into())
        );
        assert_eq!(report["input"]["blake3"], blake3::hash(&bytes).to_hex().as_str());
    }
}

#[test]
fn match_numbers_payloads_and_little_memory_take_folders() {
    let scene = folders(300, ("parquet", parquet));
    let run = |more: &[&str]| {
        let local = |receiver, sender| {
            let base = ["local", "--receiver", receiver, "--sender", sender, "--key", "email:email"];
            scene.run(&with(&base, more)).expect(0, &[]);
            scene.read("out.csv")
        };
        (local("mine", "theirs"), local("receiver.csv", "sender.csv"))
    };
    let (folders, files) = run(&["--output", "out.csv", "--memory", "256M"]);
    assert_eq!(folders, files);
    let payload = ["--output", "out.csv", "--payload", "id", "--payload-bytes", "16"];
    let (folders, files) = run(&payload);
    assert_eq!(folders, files);
    let (folders, files) = run(&["--output", "out.csv", "--learns", "both", "--match-id"]);
    // The numbers of two runs differ.
    let without =
        |text: &str| text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect::<Vec<_>>();
    assert!(folders.starts_with("id,email,match_id\n") && without(&folders) == without(&files));
}

#[test]
fn what_would_become_part_of_the_input_is_refused() {
    let scene = folders(21, ("parquet", parquet));
    for (input, output) in [
        ("mine", "mine/out.csv"),
        ("mine/", "theirs/../mine/part-00009.csv"),
        ("mine/part-*.csv", "mine/part-out.csv"),
        ("mine/part-*.csv", "mine/part-00001.csv"),
    ] {
        let before = scene.files();
        let base = ["local", "--receiver", input, "--sender", "theirs", "--key", "email:email"];
        let told = if output.ends_with("00001.csv") { "input" } else { "would become one of the files" };
        let ended = scene.run(&with(&base, &["--output", output]));
        ended.expect(64, &[told]);
        let report = scene.run(&with(&base, &["--output", "out.csv", "--report", output]));
        report.expect(64, &[]);
        assert_eq!((scene.files(), &*scene.read("out.csv")), (before, ANOTHER_DAY));
    }
    // Beside the files of a pattern there is room for others.
    let base = ["local", "--receiver", "mine/part-*.csv", "--sender", "theirs", "--key", "email:email"];
    scene.run(&with(&base, &["--output", "mine/out.csv"])).expect(0, &[]);
    // A file that the run keeps would end it only when the partner has its result.
    let kept = ["--keep-base-ots", "mine/kept", "--timeout", "1s", "--connect", "127.0.0.1:9"];
    let keys = ["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let table = ["--input", "mine", "--key", "email:email", "--output", "out.csv"];
    scene.run(&with(&with(&keys, &table), &kept)).expect(64, &["mine/kept: would become one of the files"]);
}

#[test]
fn a_look_at_a_folder() {
    let scene = folders(21, ("parquet", parquet));
    scene.write("mine/part-00007.csv", "id,email\n7,nobody\n");
    let seen = scene.run(&["inspect", "mine", "--key", "email:email"]);
    seen.expect(0, &[]);
    let text = String::from_utf8(seen.stdout).unwrap();
    assert!(text.starts_with("CSV, 8 files, 22 rows, 2 columns\n"), "{text}");
    assert!(text.contains("first in mine/part-00007.csv, line 2\n"), "{text}");
    let json = scene.run(&["inspect", "mine", "--key", "email:email", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["files"], &json["keys"]["faults"][0]["file"]),
        (&8.into(), &"mine/part-00007.csv".into())
    );
    scene.write("mine/part-00008.csv", "id,mail\n");
    let words = ["mine/part-00008.csv: cannot be in one table with mine/part-00000.csv: column 2"];
    scene.run(&["inspect", "mine"]).expect(65, &words);
    scene.run(&["inspect", "nothing/*.csv"]).expect(65, &["nothing/*.csv: no file has such a name"]);
    fs::create_dir(scene.path("empty")).unwrap();
    let ended = scene
        .run(&with(&LOCAL[..2], &["empty", "--sender", "sender.csv", "--key", "email", "--output", "o.csv"]));
    ended.expect(65, &["empty: has no file of a table"]);
    let (received, sent) = scene.pair(&SENDER, &RECEIVER);
    received.expect(0, &[]);
    sent.expect(0, &[]);
}

#[test]
fn flaw_reports_and_profiles_do_not_go_into_the_folder_that_is_the_input() {
    // A profile is of 100 rows or more.
    let scene = folders(300, ("parquet", parquet));
    let files = || fs::read_dir(scene.path("mine")).unwrap().count();
    let before = files();
    let told = ["would become one of the files that are the input"];
    let base = ["local", "--receiver", "mine", "--sender", "theirs", "--key", "email:email"];
    for report in ["mine", "mine/", "theirs/../mine"] {
        scene.run(&with(&base, &["--output", "out.csv", "--report", report])).expect(64, &told);
    }
    for (input, profile) in
        [("mine", "mine/p.json"), ("mine", "theirs/../mine/p.json"), ("mine/*", "mine/p.json")]
    {
        let ended = scene.run(&["inspect", input, "--key", "email:email", "--profile", profile]);
        ended.expect(64, &told);
    }
    assert_eq!(files(), before);
    // What a pattern does not match may stand beside its files.
    let base = ["local", "--receiver", "mine/*.csv", "--sender", "theirs", "--key", "email:email"];
    scene.run(&with(&base, &["--output", "out.csv", "--report", "mine"])).expect(0, &[]);
    scene.run(&["inspect", "mine/*.csv", "--key", "email:email", "--profile", "mine/p.json"]).expect(0, &[]);
}
