//! Runs in several parts: two real processes, each part on a connection of its own.

#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{LOCAL, RECEIVER, SENDER, Scene, emails, nothing_lost, plain_join, scene, until, with};

#[test]
fn two_processes_play_four_parts_and_end_with_the_plain_join() {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 3000, 1234), emails("sender", 2000, 1234));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", &theirs);
    let more = ["--parts", "4", "--report", "report.json", "--events", "events.json"];
    let (received, sent) = scene.pair(&with(&SENDER, &["--report", "theirs.json"]), &with(&RECEIVER, &more));
    sent.expect(0, &["done: this side's part is complete", "parts: 4, each padded to"]);
    received.expect(0, &["1234 of 3000 ", "played in 4 parts"]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
    let [here, there] = ["report.json", "theirs.json"]
        .map(|name| -> Value { serde_json::from_str(&scene.read(name)).unwrap() });
    assert_eq!(here["parts"]["count"], 4);
    assert_eq!((&here["parts"]["attempts"], &here["parts"]["spent"]), (&4.into(), &0.into()));
    assert!(here["parts"]["lanes"].as_u64() >= Some(2) && here["parts"]["lanes"] == there["parts"]["lanes"]);
    assert_eq!(there["parts"]["count"], 4);
    assert!(here["parts"]["bound"].as_u64() < Some(3000));
    assert_eq!(here["bytes"]["payload"]["sent"], there["bytes"]["payload"]["received"]);
    assert_eq!(here["session"], there["session"]);
    let events = scene.read("events.json");
    let done = |line: &str| -> Option<u64> {
        let event: Value = serde_json::from_str(line).unwrap();
        (event["event"] == "part").then(|| event["done"].as_u64().unwrap())
    };
    assert_eq!(events.lines().filter_map(done).next_back(), Some(4), "{events}");
}

#[test]
fn both_learn_with_the_listening_side_as_the_one_that_asks_for_parts() {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 600, 31), emails("sender", 700, 31));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", &theirs);
    let sender = with(&SENDER, &["--learns", "both", "--output", "theirs.csv", "--parts", "3"]);
    let (received, sent) = scene.pair(&sender, &with(&RECEIVER, &["--learns", "both"]));
    received.expect(0, &["played in 3 parts"]);
    sent.expect(0, &["31 of "]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
    assert_eq!(scene.read("theirs.csv"), plain_join(&theirs, &mine));
}

/// A run that computes for long takes a part for each thread, if both sides have several.
#[test]
fn cores_of_both_sides_take_parts_that_nobody_asked_for() {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 60_000, 1234), emails("sender", 60_000, 1234));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", &theirs);
    let slow = ["--protocol", "gbf", "--security", "semi-honest"];
    for (here, there, count) in [
        (["--threads", "4"], ["--threads", "8"], Some(4)),
        (["--threads", "8"], ["--threads", "1"], None),
        (["--threads", "8"], ["--max-parts", "1"], None),
    ] {
        let receiver = [&RECEIVER[..], &slow, &here, &["--report", "report.json"]].concat();
        let (received, sent) = scene.pair(&[&SENDER[..], &slow, &there].concat(), &receiver);
        sent.expect(0, &[]);
        received.expect(0, &["1234 of 60000 "]);
        assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
        let report: Value = serde_json::from_str(&scene.read("report.json")).unwrap();
        assert_eq!(report["parts"]["count"].as_u64(), count);
        for name in ["out.csv", "report.json"] {
            std::fs::remove_file(scene.path(name)).unwrap();
        }
    }
}

#[test]
fn local_plays_parts_too() {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 500, 77), emails("sender", 300, 77));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", &theirs);
    let ended = scene.run(&with(&LOCAL, &["--output", "out.csv", "--parts", "5"]));
    ended.expect(0, &["played in 5 parts"]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
}

#[test]
fn what_parts_do_not_go_together_with_is_said_before_the_partner_is_met() {
    let scene = scene(20);
    let semi_honest = ["--security", "semi-honest"];
    for (more, word) in [
        (vec!["--max-parts", "3"], "above `--max-parts 3`"),
        (with(&semi_honest, &["--result", "count"]), "results other than rows"),
        (with(&semi_honest, &["--keep-base-ots", "kept"]), "kept base OTs"),
    ] {
        let peer = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--parts", "4"];
        let to = ["--connect", "127.0.0.1:1"];
        let table = ["receive", "--input", "receiver.csv", "--key", "email:email", "--output", "out.csv"];
        let ended = scene.run(&[&table[..], &peer, &to, &more].concat());
        ended.expect(64, &[word]);
        nothing_lost(&scene, &[&ended]);
    }
}

#[test]
fn more_parts_than_the_partner_allows_are_refused_on_both_sides() {
    let scene = scene(20);
    let (received, sent) =
        scene.pair(&with(&SENDER, &["--max-parts", "3"]), &with(&RECEIVER, &["--parts", "4"]));
    received.expect(77, &["the run would have 4 parts, and the partner allows 3"]);
    sent.expect(77, &["the run would have 4 parts, and this side allows 3"]);
    nothing_lost(&scene, &[&received, &sent]);
    // A run of one part says what it lets a cheater ask, too.
    let (received, sent) = scene.pair(&SENDER, &RECEIVER);
    let words = ["questions: a receiver that cheats can ask about 39 keys at most"];
    [received, sent].iter().for_each(|end| end.expect(0, &words));
}

/// By default, and where a side gives a limit, or asks for parts itself.
#[test]
fn parts_that_let_a_partner_ask_more_than_a_side_allows_are_refused_on_both_sides() {
    let scene = scene(10);
    for more in [["--max-parts", "16"], ["--parts", "16"]] {
        let sender = with(&with(&SENDER, &["--max-peer-rows", "10"]), &more);
        let (received, sent) = scene.pair(&sender, &with(&RECEIVER, &["--parts", "16"]));
        for (end, limiter) in [(&received, "the partner"), (&sent, "this side")] {
            let figures = format!(
                "the run would have 16 parts with room for 160 keys of the receiver, which has 10, and {limiter} \
                 accepts 12: `--max-peer-rows 10` and a quarter of those 10"
            );
            end.expect(77, &[figures.as_str(), "phase agree", "a larger `--max-peer-rows`"]);
        }
        nothing_lost(&scene, &[&received, &sent]);
    }
    let (received, sent) = scene.pair(&SENDER, &with(&RECEIVER, &["--parts", "65536"]));
    received.expect(77, &["the run would have 65536 parts, and the partner allows 2", "phase agree"]);
    sent.expect(77, &["the run would have 65536 parts, and this side allows 2", "`--max-parts`"]);
    nothing_lost(&scene, &[&received, &sent]);
}

#[test]
fn parts_that_may_take_more_memory_than_a_side_allows_are_refused_on_both_sides() {
    let scene = scene(2000);
    let (small, parts) = (["--memory", "1M"], ["--parts", "4"]);
    let (mine, theirs) = ("this run may take", "the partner refused the run: it may take about");
    let (received, sent) = scene.pair(&SENDER, &with(&with(&RECEIVER, &small), &parts));
    received.expect(77, &[mine, "`--memory` allows 1.0 MB", "phase agree"]);
    sent.expect(77, &[theirs, "`--memory SIZE`", "phase agree"]);
    nothing_lost(&scene, &[&received, &sent]);
    let (received, sent) = scene.pair(&with(&SENDER, &small), &with(&RECEIVER, &parts));
    received.expect(77, &[theirs, "phase agree"]);
    sent.expect(77, &[mine, "phase agree"]);
    nothing_lost(&scene, &[&received, &sent]);
}

#[test]
fn a_partner_that_ends_in_the_middle_of_the_parts_costs_no_output() {
    let scene = scene(60_000);
    // The connection might be made again, so the receiver waits for as long.
    let (mut sender, address) = scene.sender(&with(&SENDER, &["--timeout", "3s"]));
    let receiver = scene.receiver(&address, &with(&RECEIVER, &["--parts", "64", "--timeout", "3s"]));
    sender.wait_for("parts: 64");
    sender.signal(Signal::KILL);
    let received = receiver.end();
    received.expect(69, &[]);
    nothing_lost(&scene, &[&received]);
}

/// Nobody asked for parts that mend: such a run ends as one in one piece does.
#[test]
fn a_partner_that_ends_in_parts_for_cores_is_not_waited_for() {
    for (kills_sender, signal) in
        [(true, Signal::KILL), (false, Signal::KILL), (true, Signal::TERM), (false, Signal::TERM)]
    {
        let scene = scene(60_000);
        let options = ["--protocol", "gbf", "--security", "semi-honest", "--threads", "4", "--timeout", "1h"];
        let (mut sender, address) = scene.sender(&with(&SENDER, &options));
        let mut receiver = scene.receiver(&address, &with(&RECEIVER, &options));
        sender.wait_for("parts: 4");
        receiver.wait_for("parts: 4");
        let (killed, waits) = if kills_sender { (sender, receiver) } else { (receiver, sender) };
        killed.signal(signal);
        let said = if signal == Signal::KILL {
            "the partner closed the connection"
        } else {
            "the partner ended the run"
        };
        let waits = waits.end();
        waits.expect(69, &[said]);
        drop(killed.end());
        nothing_lost(&scene, &[&waits]);
    }
}

#[test]
fn whoever_is_interrupted_in_the_middle_of_the_parts_tells_the_partner() {
    for by_sender in [true, false] {
        let scene = scene(60_000);
        // Nobody would wait for so long.
        let parts = ["--parts", "64", "--timeout", "1h"];
        let (mut sender, address) = scene.sender(&with(&SENDER, &parts));
        let mut receiver = scene.receiver(&address, &with(&RECEIVER, &parts));
        sender.wait_for("parts: 64");
        receiver.wait_for("parts: 64");
        let (ends, hears) = if by_sender { (sender, receiver) } else { (receiver, sender) };
        ends.signal(Signal::TERM);
        let ends = [hears.end(), ends.end()];
        ends[0].expect(69, &["the partner ended the run: it was interrupted, or failed"]);
        ends[1].expect(143, &["the run was interrupted"]);
        nothing_lost(&scene, &[&ends[0], &ends[1]]);
    }
}

/// The partner of the next run comes while this one is played.
#[test]
fn an_early_partner_of_the_next_run_waits_for_the_end_of_this_one() {
    let scene = scene(60_000);
    let (sender, address) = scene.sender(&SENDER);
    let first = scene.receiver(&address, &with(&RECEIVER, &["--parts", "64", "--events", "events.json"]));
    until(&scene, "events.json", "\"event\":\"part\"");
    // Parts are played until it goes on.
    first.signal(Signal::STOP);
    let busy = "it is busy with another run";
    let next = ["--input", "receiver.csv", "--key", "email:email", "--output", "next.csv"];
    let in_vain = scene.receiver(&address, &with(&next, &["--timeout", "5s"])).end();
    in_vain.expect(69, &["could not reach the partner at", busy, "when its other run ends"]);
    let mut early = scene.receiver(&address, &next);
    early.wait_for(&format!("waiting for the partner: {busy}"));
    first.signal(Signal::CONT);
    sender.end().expect(0, &[]);
    first.end().expect(0, &["played in 64 parts"]);
    let own = ["send", "--listen", &address, "--identity", "sender.pem", "--peer", &scene.receiver_key];
    let sender = scene.start(&with(&own, &SENDER));
    early.end().expect(0, &["30000 of 60000 rows match"]);
    sender.end().expect(0, &[]);
}

#[test]
fn a_side_that_is_killed_and_started_again_at_once_ends_both_with_69() {
    let scene = scene(60_000);
    let parts = ["--parts", "64", "--timeout", "1h"];
    let (sender, address) = scene.sender(&with(&SENDER, &parts));
    let receiver = scene.receiver(&address, &with(&with(&RECEIVER, &parts), &["--events", "events.json"]));
    until(&scene, "events.json", "\"event\":\"part\"");
    receiver.signal(Signal::KILL);
    let again = scene.receiver(&address, &with(&RECEIVER, &parts));
    let ends = [sender.end(), again.end()];
    // Whoever hears of it later hears that the other side has ended.
    let ended = "the partner ended the run";
    let words = [["has started a new run", ended], ["goes on with an earlier run", ended]];
    for (end, words) in ends.iter().zip(words) {
        assert!(words.iter().any(|word| end.screen.contains(word)), "{}", end.screen);
        end.expect(69, &["start both sides again"]);
    }
    nothing_lost(&scene, &[&ends[0], &ends[1]]);
}

/// Somebody between the two who passes everything on, and can cut the first connection.
fn passing(to: String) -> (String, mpsc::Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, connections) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((mut here, _)) = listener.accept() {
            let Ok(mut there) = TcpStream::connect(&to) else { continue };
            let (mut back, mut home) = (there.try_clone().unwrap(), here.try_clone().unwrap());
            drop(sender.send(here.try_clone().unwrap()));
            thread::spawn(move || {
                drop(std::io::copy(&mut back, &mut home));
                drop(home.shutdown(Shutdown::Write));
            });
            thread::spawn(move || {
                drop(std::io::copy(&mut here, &mut there));
                drop(there.shutdown(Shutdown::Write));
            });
        }
    });
    (address, connections)
}

#[test]
fn a_run_whose_connection_breaks_between_the_parts_takes_it_up() {
    let scene = scene(30_000);
    let (sender, address) = scene.sender(&with(&SENDER, &["--timeout", "20s"]));
    let (middle, connections) = passing(address);
    let receiver = scene.receiver(&middle, &with(&RECEIVER, &["--parts", "64", "--timeout", "20s"]));
    let run = connections.recv().unwrap();
    // The connections of two parts, and that of a third.
    (0..3).for_each(|_| drop(connections.recv().unwrap()));
    run.shutdown(Shutdown::Both).unwrap();
    let words = ["the connection of the run broke, and was made again"];
    let ends = [sender.end(), receiver.end()];
    ends[0].expect(0, &words);
    ends[1].expect(0, &[words[0], "15000 of 30000 rows match"]);
    let tables = ["receiver.csv", "sender.csv"].map(|name| scene.read(name));
    assert_eq!(scene.read("out.csv"), plain_join(&tables[0], &tables[1]));
}

#[test]
fn plan_tells_the_parts() {
    let scene = Scene::new();
    let sizes = ["plan", "--receiver", "2^20", "--sender", "2^18", "--parts", "16"];
    let ended = scene.run(&sizes);
    let text = String::from_utf8(ended.stdout.clone()).unwrap();
    assert!(text.contains("parts      16, each of 67596 keys of the receiver,"), "{text}");
    let json: Value = serde_json::from_slice(&scene.run(&with(&sizes, &["--json"])).stdout).unwrap();
    assert_eq!((&json["parts"]["count"], &json["parts"]["receiver"]), (&16.into(), &67_596.into()));
    assert_eq!((&json["parts"]["lanes"], &json["estimate"]["disk"]["sender"]), (&2.into(), &0.into()));
    // 16 parts with ten places each, of which four may be played again.
    let few = ["plan", "--receiver", "10", "--sender", "10", "--protocol", "dkt", "--parts", "16", "--json"];
    let json: Value = serde_json::from_slice(&scene.run(&few).stdout).unwrap();
    assert_eq!(json["estimate"]["max_tested_keys"], 200);
}
