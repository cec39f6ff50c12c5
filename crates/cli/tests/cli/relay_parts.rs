//! Runs in parts through relays: two real processes of whom neither listens.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Scene, emails, nothing_lost, plain_join, scene, with};
use crate::relay::{events, meeting, relay};

/// Tables of so many rows, half of them common.
fn tables(rows: usize) -> (Scene, [String; 2]) {
    let scene = Scene::new();
    let tables = [emails("receiver", rows, rows / 2), emails("sender", rows, rows / 2)];
    scene.write("receiver.csv", &tables[0]);
    scene.write("sender.csv", &tables[1]);
    (scene, tables)
}

#[test]
fn parts_go_through_the_relay_of_the_run() {
    let (scene, [mine, theirs]) = tables(2000);
    let (relay, address) = relay(&scene, "127.0.0.1:0", &["--events", "relay.json"]);
    let [receiver, sender] = meeting(&scene, &address);
    // Both roles ask for the parts, and both may learn the result.
    let both: &[&str] = &["--learns", "both", "--output", "theirs.csv"];
    for learns in [&[], both] {
        let more: &[&str] = if learns.is_empty() { &[] } else { &learns[..2] };
        let receiver = scene.start(&with(&with(&receiver, &["--parts", "4"]), more));
        let sent = scene.run(&with(&sender, learns));
        receiver.end().expect(0, &["1000 of 2000 rows match", "played in 4 parts"]);
        sent.expect(0, &[]);
        assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
    }
    assert_eq!(scene.read("theirs.csv"), plain_join(&theirs, &mine));
    relay.signal(Signal::TERM);
    relay.end().expect(0, &["stopping"]);
    let counts = events(&scene, "relay.json", &["granted", "revoked", "paired", "ended", "turned_away"]);
    assert_eq!(counts, [4, 4, 10, 10, 0], "two runs of four parts");
    let log = scene.read("relay.json");
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut parts: Vec<u64> = lines
        .filter(|line| line["event"] == "paired" && line["round"] == 0)
        .map(|line| line["part"].as_u64().unwrap())
        .collect();
    parts.sort_unstable();
    assert_eq!(parts, [0, 0, 1, 1, 2, 2, 3, 3]);
    for key in [&scene.receiver_key, &scene.sender_key] {
        let shown = &key["vesica-pub1-".len()..];
        assert!(log.contains(&shown[..8]) && !log.contains(&shown[..9]), "{log}");
    }
}

#[test]
fn several_relays_share_out_the_parts() {
    let (scene, [mine, theirs]) = tables(1000);
    let (one, first) = relay(&scene, "127.0.0.1:0", &["--events", "one.json"]);
    let (two, second) = relay(&scene, "127.0.0.1:0", &["--events", "two.json"]);
    let [receiver, sender] = meeting(&scene, &first);
    let more = ["--via", &second, "--via-key", &scene.helper_key];
    let receiver = scene.start(&with(&with(&receiver, &more), &["--parts", "5"]));
    let sent = scene.run(&with(&sender, &more));
    receiver.end().expect(0, &["played in 5 parts"]);
    sent.expect(0, &[]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
    for relay in [one, two] {
        relay.signal(Signal::TERM);
        relay.end().expect(0, &[]);
    }
    // The run's connection and parts 0, 2 and 4; parts 1 and 3.
    assert_eq!(events(&scene, "one.json", &["granted", "paired"]), [2, 4]);
    assert_eq!(events(&scene, "two.json", &["granted", "paired"]), [2, 2]);
}

#[test]
fn a_side_whose_keys_are_on_disk_meets_at_a_relay_too() {
    let (scene, [mine, theirs]) = tables(300_000);
    let (_relay, address) = relay(&scene, "127.0.0.1:0", &[]);
    let [receiver, sender] = meeting(&scene, &address);
    let memory = ["--memory", "176M", "--temp-dir", ".", "--parts", "3"];
    let receiver = scene.start(&with(&receiver, &memory));
    let sent = scene.run(&sender);
    receiver.end().expect(0, &["150000 of 300000 rows match", "parts"]);
    sent.expect(0, &[]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
}

/// It knows nothing of the run any more: both sides come again, and grant their run's keys again.
#[test]
fn a_relay_that_is_killed_in_the_middle_of_the_parts_and_comes_back_costs_nothing_but_time() {
    let (scene, [mine, theirs]) = tables(30_000);
    let (first, address) = relay(&scene, "127.0.0.1:0", &["--events", "relay.json"]);
    let [receiver, sender] = meeting(&scene, &address);
    let (timeout, parts) = (["--timeout", "20s"], ["--parts", "64"]);
    let receiver = scene.start(&with(&with(&receiver, &timeout), &parts));
    let sender = scene.start(&with(&sender, &timeout));
    // Until some parts are done.
    while scene.read("relay.json").matches("\"round\":0").count() < 6 {
        thread::sleep(Duration::from_millis(5));
    }
    first.signal(Signal::KILL);
    assert_eq!(first.end().code, None);
    let (_second, _) = relay(&scene, &address, &[]);
    let words = ["the connection of the run broke, and was made again"];
    receiver.end().expect(0, &[words[0], "15000 of 30000 rows match", "played in 64 parts"]);
    sender.end().expect(0, &words);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
}

#[test]
fn a_relay_that_is_killed_between_parts_ends_both_sides_with_69() {
    let scene = scene(30_000);
    let (relay, address) = relay(&scene, "127.0.0.1:0", &[]);
    let [receiver, sender] = meeting(&scene, &address);
    let (timeout, parts) = (["--timeout", "3s"], ["--parts", "64"]);
    let receiver = scene.start(&with(&with(&receiver, &timeout), &parts));
    let mut sender = scene.start(&with(&sender, &timeout));
    sender.wait_for("parts: 64");
    relay.signal(Signal::KILL);
    let ends = [receiver.end(), sender.end()];
    ends.iter().for_each(|end| end.expect(69, &["the relay at "]));
    nothing_lost(&scene, &[&ends[0], &ends[1]]);
    assert_eq!(relay.end().code, None);
}
