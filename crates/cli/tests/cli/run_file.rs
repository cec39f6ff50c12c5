//! Run files between two processes: one side writes the agreed half of a run, the other takes it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::TcpListener;

use crate::common::{RECEIVER, SENDER, Scene, scene, with};

/// An address of this machine with a port that was free a moment ago.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// The receiver's end of a run whose file it wrote; the sender has `more` beside the file.
fn run(scene: &Scene, terms: &[&str], more: &[&str]) -> [crate::common::Ended; 2] {
    let address = free();
    let keys = ["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let place = ["--listen", &address, "--write-run-file", "run.json"];
    let mut receiver = scene.start(&with(&with(&with(&keys, &RECEIVER), terms), &place));
    receiver.wait_for("listening on ");
    let sender = ["send", "--run-file", "run.json", "--identity", "sender.pem"];
    let sender = scene.run(&with(&sender, more));
    [receiver.end(), sender]
}

#[test]
fn what_one_side_writes_the_other_takes_with_its_own_columns() {
    let scene = scene(30);
    // The partner calls its column otherwise, and cannot know the terms.
    scene.write("theirs.csv", scene.read("sender.csv").replacen("email", "Mail address", 1));
    let terms = ["--security", "semi-honest", "--result", "count", "--min-matches", "2"];
    let [receiver, sender] = run(&scene, &terms, &["--input", "theirs.csv", "--key", "Mail address"]);
    sender.expect(0, &[]);
    let command = "the partner runs: vesica send --input TABLE --key COLUMN:email --connect 127.0.0.1:";
    receiver.expect(0, &["15 keys match", command, "--min-matches 2", "--result count"]);
    let (file, pem) = (scene.read("run.json"), scene.read("receiver.pem"));
    assert!(!file.contains(pem.lines().nth(1).unwrap()), "nothing secret");
    assert!(!sender.screen.contains("the partner runs"), "it came from there");
}

#[test]
fn what_the_file_says_is_not_said_again_and_is_checked_before_the_partner_is_met() {
    let scene = scene(5);
    let usual = with(&SENDER, &["--connect", "127.0.0.1:9"]);
    let write = |name: &str, more: &[&str]| {
        let keys = ["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key, "--timeout", "1s"];
        let place = ["--write-run-file", name];
        scene.run(&with(&with(&with(&keys, &RECEIVER), &place), more))
    };
    write("there.json", &["--connect", "127.0.0.1:9"])
        .expect(69, &["vesica send --input TABLE", "--listen :9"]);
    write("there.json", &["--connect", "127.0.0.1:9"])
        .expect(64, &["--write-run-file there.json", "new file"]);
    write("other.json", &["--listen", "127.0.0.1:0"]).expect(64, &["port 0"]);
    write("here.json", &["--listen", &format!(":{}", free().split_once(':').unwrap().1)])
        .expect(69, &["HOST:"]);
    let taken = |command: &str, file: &str, more: &[&str]| {
        let output = ["--output", "out.csv"];
        let output = if command == "receive" { &output[..] } else { &[] };
        let given = [command, "--run-file", file, "--identity", "sender.pem", "--timeout", "1s"];
        scene.run(&with(&with(&given, output), more))
    };
    taken("receive", "there.json", &SENDER).expect(64, &["is for `vesica send`"]);
    taken("send", "there.json", &with(&SENDER, &["--level", "80"]))
        .expect(64, &["`--level` is given", "leave it out"]);
    taken("send", "there.json", &["--input", "sender.csv"]).expect(64, &["`--key COLUMN` once", "email"]);
    taken("send", "there.json", &["--input", "sender.csv", "--key", "email:text"])
        .expect(64, &["another rule", "`email`"]);
    taken("send", "here.json", &SENDER).expect(64, &["by which name", "--connect NAME:"]);
    taken("send", "nowhere.json", &SENDER).expect(64, &["`--run-file nowhere.json`"]);
    taken("send", "sender.csv", &SENDER).expect(64, &["it is no run file"]);
    // The user's own address takes the place of the file's.
    taken("send", "here.json", &usual).expect(69, &[]);
    let other = ["send", "--run-file", "there.json", "--identity", "helper.pem"];
    scene.run(&with(&other, &SENDER)).expect(64, &["is for the public key", "--identity"]);
}
