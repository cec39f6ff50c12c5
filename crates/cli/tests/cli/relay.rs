//! `vesica relay`: two real processes of whom neither listens end with the plain join, or each with the documented exit code.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use super::endings::pipe;
use crate::common::{Ended, Party, RECEIVER, SENDER, Scene, nothing_lost, plain_join, scene, with};
use rustix::process::Signal;

/// A relay for the two at that address, with `more` arguments; gives its address too.
pub(crate) fn relay(scene: &Scene, listen: &str, more: &[&str]) -> (Party, String) {
    let allow = ["--allow", &scene.receiver_key, "--allow", &scene.sender_key];
    let args = ["relay", "--listen", listen, "--identity", "helper.pem"];
    let mut party = scene.start(&[&args[..], &allow, more].concat());
    let line = party.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
    (party, address)
}

/// Both parties' arguments to meet there: receiver, sender.
pub(crate) fn meeting<'a>(scene: &'a Scene, address: &'a str) -> [Vec<&'a str>; 2] {
    let via = ["--via", address, "--via-key", &scene.helper_key];
    let receiver = ["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let sender = ["send", "--identity", "sender.pem", "--peer", &scene.receiver_key];
    [with(&with(&receiver, &via), &RECEIVER), with(&with(&sender, &via), &SENDER)]
}

/// How often the events of that file have each of these.
pub(crate) fn events(scene: &Scene, file: &str, names: &[&str]) -> Vec<usize> {
    let text = scene.read(file);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    names.iter().map(|name| lines.iter().filter(|line| line["event"] == *name).count()).collect()
}

#[test]
fn two_processes_of_whom_neither_listens_end_with_the_plain_join() {
    let scene = scene(900);
    let (relay, address) = relay(&scene, "127.0.0.1:0", &["--events", "relay.json"]);
    let [receiver, sender] = meeting(&scene, &address);
    // The relay serves more than one run, and either side may come first.
    for first in [&receiver, &sender] {
        let second = if first == &receiver { &sender } else { &receiver };
        let mut early = scene.start(first);
        early.wait_for("at the relay ");
        let ends = [scene.run(second), early.end()];
        ends.iter().for_each(|end| end.expect(0, &["connected to the partner through the relay at "]));
        assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
    }
    relay.signal(Signal::TERM);
    relay.end().expect(0, &["stopping"]);
    assert_eq!(events(&scene, "relay.json", &["listening", "waiting", "paired", "ended"]), [1, 2, 2, 2]);
    let log = scene.read("relay.json");
    for key in [&scene.receiver_key, &scene.sender_key] {
        let shown = &key["vesica-pub1-".len()..];
        assert!(log.contains(&shown[..8]) && !log.contains(&shown[..9]), "{log}");
    }
    assert!(!log.contains("example"), "{log}");
}

#[test]
fn runs_of_the_same_two_at_the_same_time_have_names() {
    let scene = scene(300);
    let (relay, address) = relay(&scene, "127.0.0.1:0", &[]);
    let [receiver, sender] = meeting(&scene, &address);
    let others: Vec<&str> =
        receiver.iter().map(|word| if *word == "out.csv" { "b.csv" } else { *word }).collect();
    let mut waiting =
        [("a", &receiver), ("b", &others)].map(|(run, args)| scene.start(&with(args, &["--run", run])));
    waiting.iter_mut().for_each(|party| drop(party.wait_for("at the relay ")));
    for run in ["b", "a"] {
        scene.run(&with(&sender, &["--run", run])).expect(0, &[]);
    }
    waiting.into_iter().for_each(|party| party.end().expect(0, &["150 of 300 rows match"]));
    assert_eq!(scene.read("out.csv"), scene.read("b.csv"));
    relay.signal(Signal::INT);
    relay.end().expect(0, &[]);
}

#[test]
fn a_party_that_the_relay_does_not_know_is_refused_by_it() {
    let scene = scene(9);
    let peer = ["--allow", &scene.receiver_key, "--allow", &scene.helper_key];
    let mut relay =
        scene.start(&with(&["relay", "--listen", "127.0.0.1:0", "--identity", "helper.pem"], &peer));
    let line = relay.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
    let [_, sender] = meeting(&scene, &address);
    let ended = scene.run(&sender);
    let refused = format!("the relay at {address} refused us");
    ended.expect(77, &[&refused, &scene.sender_key, "at the relay", "`--allow`"]);
    relay.wait_for("refused ");
    // The wrong key of the relay, and no relay.
    let receiver = with(&["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key], &RECEIVER);
    let via = |key| ["--timeout", "15s", "--via", &address, "--via-key", key];
    let wrong = scene.run(&with(&receiver, &via(&scene.sender_key)));
    wrong.expect(77, &["is not the expected one", &scene.helper_key, "`--via-key`"]);
    let nobody = ["--timeout", "1s", "--via", "127.0.0.1:9", "--via-key", &scene.helper_key];
    let unreached = scene.run(&with(&receiver, &nobody));
    unreached.expect(69, &["could not reach the relay at 127.0.0.1:9 within 1s", "nobody listens there"]);
    let here = ["--timeout", "1s", "--via", &address, "--via-key", &scene.helper_key];
    let unlisted = scene.run(&with(&receiver, &here));
    unlisted.expect(77, &["the partner's key is not on its list", "at the relay", "`--peer`"]);
    let listed = with(&["receive", "--identity", "receiver.pem", "--peer", &scene.helper_key], &RECEIVER);
    let alone = scene.run(&with(&listed, &here));
    alone.expect(69, &["the partner did not come to the relay", "on the partner's side"]);
    nothing_lost(&scene, &[&ended, &wrong, &unreached, &unlisted, &alone]);
}

#[test]
fn wrong_usage_is_told_before_anybody_is_met() {
    let scene = scene(3);
    let receiver = with(&["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key], &RECEIVER);
    let via = ["--via", "a:1", "--via-key", &scene.helper_key];
    let two = with(&via, &["--via", "b:1"]);
    let cases: [(&[&str], &str); 6] = [
        (&["--via", "a:1"], "--via-key"),
        (&["--connect", "a:1", "--run", "x"], "--via"),
        (&with(&via, &["--listen", ":1"]), "cannot be used with"),
        (&two, "`--via` and `--via-key` belong together"),
        (&["--via", "a:0", "--via-key", &scene.helper_key], "port 0 is for listening only"),
        (&["--via", "a:1", "--via-key", "vesica-pub1-x"], "`--via-key`"),
    ];
    for (more, words) in cases {
        scene.run(&with(&receiver, more)).expect(64, &[words]);
    }
    let relay = ["relay", "--listen", "127.0.0.1:0", "--identity", "helper.pem"];
    scene.run(&with(&relay, &["--allow", &scene.sender_key])).expect(64, &["`--allow` names 1"]);
    let both = ["--allow", &scene.sender_key, "--allow", "@receiver.pem"];
    scene.run(&with(&relay, &both)).expect(64, &["THIS IS A PRIVATE KEY"]);
}

/// A relay that runs out of descriptors would be one that does not answer.
#[test]
fn a_relay_with_few_descriptors_says_how_many_connections_it_takes() {
    let scene = scene(3);
    let start = |limit: u32| {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_vesica")]);
        let args = ["relay", "--listen", "127.0.0.1:0", "--identity", "helper.pem"];
        let allow = ["--allow", &scene.receiver_key, "--allow", &scene.sender_key];
        scene.start_as(shell, &with(&args, &allow))
    };
    start(32).end().expect(71, &["too few files open", "`ulimit -n`"]);
    let mut relay = start(64);
    relay.wait_for("at most 16 connections at once");
    relay.wait_for("listening on ");
    relay.signal(Signal::TERM);
    relay.end().expect(0, &["stopping"]);
}

/// Whoever reads the events may stop: parties are served all the same, and a signal ends the relay.
#[test]
fn flaw_a_reader_of_the_events_that_stops_holds_up_no_party() {
    let scene = scene(9);
    pipe(&scene, "events");
    // Both ends, so that opening it waits for nobody.
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NONBLOCK;
    let held = rustix::fs::open(scene.path("events"), flags, rustix::fs::Mode::empty()).unwrap();
    let (relay, address) = relay(&scene, "127.0.0.1:0", &["--events", "events"]);
    // From here on it takes nothing more.
    while rustix::io::write(&held, &[b' '; 1 << 12]).is_ok() {}
    while rustix::io::write(&held, b" ").is_ok() {}
    let [receiver, sender] = meeting(&scene, &address);
    let receiver = scene.start(&with(&receiver, &["--timeout", "20s"]));
    scene.run(&with(&sender, &["--timeout", "20s"])).expect(0, &[]);
    receiver.end().expect(0, &[]);
    relay.signal(Signal::TERM);
    relay.end().expect(0, &[]);
}

/// Somebody kills the relay before the run has begun, and starts it again.
#[test]
fn a_relay_that_comes_back_in_time_is_found_again() {
    let scene = scene(30);
    let (first, address) = relay(&scene, "127.0.0.1:0", &[]);
    let [receiver, sender] = meeting(&scene, &address);
    let mut early = scene.start(&receiver);
    early.wait_for("at the relay ");
    first.signal(Signal::KILL);
    assert_eq!(first.end().code, None);
    early.wait_for("waiting for the partner: the relay cannot be used");
    let (_second, _) = relay(&scene, &address, &[]);
    scene.run(&sender).expect(0, &[]);
    early.end().expect(0, &["15 of 30 rows match"]);
}

/// A proxy in front of the relay that lets so many of the sender's bytes pass, and then does something.
fn after(bytes: usize, relay: String, mut act: impl FnMut(&mut Vec<u8>) -> bool + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut party, _) = listener.accept().unwrap();
        let mut there = TcpStream::connect(relay).unwrap();
        let (mut back, mut home) = (there.try_clone().unwrap(), party.try_clone().unwrap());
        thread::spawn(move || {
            drop(std::io::copy(&mut back, &mut home));
            drop(home.shutdown(Shutdown::Both));
        });
        let (mut buffer, mut passed) = ([0; 4096], 0);
        while let Ok(length @ 1..) = party.read(&mut buffer) {
            let mut piece = buffer[..length].to_vec();
            passed += length;
            if passed > bytes && !act(&mut piece) || there.write_all(&piece).is_err() {
                break;
            }
        }
        drop(there.shutdown(Shutdown::Both).and(party.shutdown(Shutdown::Both)));
    });
    address
}

/// A run in which the sender's way to the relay goes through `after`.
fn disturbed(
    scene: &Scene,
    relay: &str,
    act: impl FnMut(&mut Vec<u8>) -> bool + Send + 'static,
) -> [Ended; 2] {
    // What the two and the relay say first is some 6 kB.
    let middle = after(20_000, relay.to_owned(), act);
    let [receiver, _] = meeting(scene, relay);
    let [_, sender] = meeting(scene, &middle);
    let receiver = scene.start(&receiver);
    let sender = scene.run(&sender);
    [receiver.end(), sender]
}

#[test]
fn a_relay_that_tampers_ends_the_run_without_a_result() {
    let scene = scene(3000);
    let (_relay, address) = relay(&scene, "127.0.0.1:0", &[]);
    type Lie = fn(&mut Vec<u8>);
    let lies: [(&str, Lie); 3] = [
        ("flip", |piece| piece[0] ^= 0x10),
        ("drop", |piece| piece.truncate(piece.len() / 2)),
        ("repeat", |piece| *piece = piece.repeat(2)),
    ];
    for (name, lie) in lies {
        let ends = disturbed(&scene, &address, move |piece| {
            lie(piece);
            true
        });
        for end in &ends {
            assert!(matches!(end.code, Some(69 | 76)), "{name}: {:?}\n{}", end.code, end.screen);
        }
        assert!(ends.iter().any(|end| end.code == Some(76)), "{name}: nobody noticed more than an end");
        nothing_lost(&scene, &[&ends[0], &ends[1]]);
    }
}

#[test]
fn a_relay_that_is_killed_in_the_middle_of_a_run_ends_both_sides_with_69() {
    let scene = scene(3000);
    let (relay, address) = relay(&scene, "127.0.0.1:0", &[]);
    let pid = relay.pid();
    let ends = disturbed(&scene, &address, move |_| {
        // Once it is gone, a second time finds nobody.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
        true
    });
    for end in &ends {
        end.expect(69, &["the partner, or the relay at ", "closed the connection before the end"]);
    }
    nothing_lost(&scene, &[&ends[0], &ends[1]]);
    assert_eq!(relay.end().code, None);
}
