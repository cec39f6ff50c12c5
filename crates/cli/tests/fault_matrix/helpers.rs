//! Runs with a helper in which the helper is disturbed, is not there, or is another one for each side.

use rustix::process::Signal;

use crate::common::{Ended, Party, RECEIVER, SENDER, Scene, nothing_lost, with};
use crate::hook::{Bell, Paused};
use crate::page::{Row, Section};
use crate::{Job, scene};

const PROTOCOL: [&str; 4] = ["--protocol", "server-aided", "--security", "semi-honest"];

/// A silence that a party does not bear.
const SHORT: [&str; 2] = ["--timeout", "3s"];

/// What happens to the helper while the receiver waits there for the sender: what is written of it, a signal, how the receiver
/// ends, and the helper's code and words, if it can still speak.
type Disturbance = (&'static str, Signal, &'static str, Option<(i32, &'static str)>);

const SIGNALS: [Disturbance; 4] = [
    ("the helper is killed while the receiver waits there", Signal::KILL, GONE, None),
    ("the helper is frozen while the receiver waits there", Signal::STOP, SILENT, None),
    (
        "the helper is interrupted while the receiver waits there",
        Signal::INT,
        ENDED,
        Some((130, "interrupted")),
    ),
    (
        "the helper is terminated while the receiver waits there",
        Signal::TERM,
        ENDED,
        Some((143, "interrupted")),
    ),
];

/// If the helper has not yet answered to the receiver's greeting, the receiver tries again.
const GONE: &str = "69: the helper closed the connection before the end, or nobody listens there any more";
const ENDED: &str =
    "69: the helper ended the run: it was interrupted, or failed; or nobody listens there any more";
const SILENT: &str = "69: the helper fell silent: nothing arrived for TIME, not even a heartbeat";

/// The table of this file, and the jobs that fill it.
pub(crate) fn section() -> (Section, Vec<Job>) {
    let signals =
        SIGNALS.map(|(what, signal, end, helper)| job(what, move || disturbed(what, signal, end, helper)));
    let limits = [
        ("the sets are larger than the helper accepts", ["--max-peer-rows", "5"]),
        ("the helper has too little memory", ["--memory", "1k"]),
    ];
    let limits = limits.map(|(what, options)| job(what, move || refused(what, options)));
    let others =
        [job("no helper", absent), job("other helpers", different), job("other parties", other_parties)];
    let section = Section {
        title: "With a helper".into(),
        text: "`vesica assist` runs as a third process, and the two parties turn to it once they have agreed.",
        head: &["what", "receiver", "sender", "helper"],
        rows: Vec::new(),
    };
    (section, others.into_iter().chain(limits).chain(signals).collect())
}

fn job(name: &'static str, run: impl FnOnce() -> Row + Send + 'static) -> Job {
    (name.to_owned(), Box::new(run))
}

/// A party's arguments for a run with the helper of this address and key.
fn helped<'a>(table: &[&'a str], address: &'a str, key: &'a str) -> Vec<&'a str> {
    with(&with(table, &PROTOCOL), &["--helper", address, "--helper-key", key])
}

/// Nobody lost anything, and both parties were told where it happened.
fn told(scene: &Scene, ends: &[&Ended]) {
    for end in ends {
        assert!(end.screen.contains("where: ") && end.screen.contains("what to do: "), "{}", end.screen);
    }
    nothing_lost(scene, ends);
}

fn absent() -> Row {
    let scene = scene(9);
    let [receiver, sender] =
        [&RECEIVER[..], &SENDER].map(|table| with(&helped(table, "127.0.0.1:9", &scene.helper_key), &SHORT));
    let (receiver, sender) = scene.pair(&sender, &receiver);
    told(&scene, &[&receiver, &sender]);
    let alone = ["could not reach the helper at 127.0.0.1:9", "the partner closed", "the partner ended"];
    for end in [&receiver, &sender] {
        end.expect(69, &[]);
        assert!(alone.iter().any(|word| end.screen.contains(word)), "{}", end.screen);
    }
    let mut row =
        Row::new("nobody listens where the helper should be", [Some(&receiver), Some(&sender), None]);
    let either = Some(
        "69: could not reach the helper at ADDRESS within TIME; or the partner ended the run because of that",
    );
    (row.instead[0], row.instead[1]) = (either, either);
    row
}

fn different() -> Row {
    let scene = scene(9);
    let (helper, address) = scene.helper(&SHORT);
    let other = scene.run(&["keygen", "--output", "other.json"]);
    let other = String::from_utf8(other.stdout).unwrap().trim().to_owned();
    let receiver = helped(&RECEIVER, &address, &scene.helper_key);
    let (receiver, sender) = scene.pair(&helped(&SENDER, &address, &other), &receiver);
    let helper = helper.end();
    for end in [&receiver, &sender] {
        end.expect(77, &["helper: mine vesica-pub1-"]);
    }
    helper.expect(69, &["no party connected"]);
    told(&scene, &[&receiver, &sender, &helper]);
    let mut row =
        Row::new("the two sides name different helpers", [Some(&receiver), Some(&sender), Some(&helper)]);
    let keys = Some("77: the two sides asked for different things: helper: mine KEY, theirs KEY");
    (row.instead[0], row.instead[1]) = (keys, keys);
    row
}

fn other_parties() -> Row {
    let scene = scene(9);
    let other = scene.run(&["keygen", "--output", "other.json"]);
    let other = String::from_utf8(other.stdout).unwrap().trim().to_owned();
    let waits = ["assist", "--listen", "127.0.0.1:0", "--identity", "helper.pem", "--peer"];
    let peers = [other.as_str(), "--peer", &scene.sender_key];
    let mut helper = scene.start(&with(&with(&waits, &peers), &SHORT));
    let line = helper.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
    let [receiver, sender] = [&RECEIVER[..], &SENDER].map(|table| helped(table, &address, &scene.helper_key));
    let (receiver, sender) = scene.pair(&sender, &receiver);
    let helper = helper.end();
    receiver.expect(77, &["the helper refused our key"]);
    sender.expect(69, &["on the partner's side"]);
    // The sender may have been there before it heard of the receiver's end.
    assert!(matches!(helper.code, Some(77 | 69)), "{}", helper.screen);
    told(&scene, &[&receiver, &sender, &helper]);
    let what = "the helper expects another receiver";
    let mut row = Row::new(what, [Some(&receiver), Some(&sender), Some(&helper)]);
    row.instead[1] = Some("69: the partner ended the run, or closed the connection");
    row.instead[2] = Some("69 or 77: it presented another key");
    row
}

fn refused(what: &'static str, options: [&'static str; 2]) -> Row {
    let scene = scene(90);
    let (helper, address) = scene.helper(&options);
    let [receiver, sender] = [&RECEIVER[..], &SENDER].map(|table| helped(table, &address, &scene.helper_key));
    let (receiver, sender) = scene.pair(&sender, &receiver);
    let helper = helper.end();
    for end in [&receiver, &sender] {
        end.expect(77, &["the helper", "on the helper's side"]);
    }
    helper.expect(77, &[]);
    told(&scene, &[&receiver, &sender, &helper]);
    Row::new(what, [Some(&receiver), Some(&sender), Some(&helper)])
}

/// The helper, the receiver that waits there, and the sender, which stands before its way to the helper.
fn waiting(scene: &Scene, bell: &Bell) -> (Party, Party, Party, Paused) {
    let (helper, helper_address) = scene.helper(&[]);
    let sender =
        ["send", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--peer", &scene.receiver_key];
    let table = helped(&SENDER, &helper_address, &scene.helper_key);
    let mut sender = scene.start_as(bell.command("helper"), &with(&sender, &table));
    let line = sender.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
    let table = helped(&RECEIVER, &helper_address, &scene.helper_key);
    let mut receiver = scene.receiver(&address, &with(&table, &SHORT));
    let paused = bell.wait();
    receiver.wait_for("the helper is there");
    (helper, receiver, sender, paused)
}

fn disturbed(what: &'static str, signal: Signal, end: &'static str, said: Option<(i32, &str)>) -> Row {
    let (scene, bell) = (scene(9), Bell::new());
    let (helper, receiver, sender, paused) = waiting(&scene, &bell);
    helper.signal(signal);
    let receiver = receiver.end();
    drop(paused);
    let sender = sender.end();
    if said.is_none() {
        helper.signal(Signal::KILL);
    }
    let helper = helper.end();
    receiver.expect(69, &["on the helper's side, phase helper"]);
    let words =
        ["the helper closed", "the helper ended", "nobody listens", "the helper fell silent", "did not"];
    assert!(words.iter().any(|word| receiver.screen.contains(word)), "{}", receiver.screen);
    sender.expect(69, &[]);
    match said {
        Some((code, word)) => helper.expect(code, &[word]),
        None => assert_eq!(helper.code, None),
    }
    told(&scene, &[&receiver, &sender]);
    nothing_lost(&scene, &[&helper]);
    let mut row = Row::new(what, [Some(&receiver), Some(&sender), Some(&helper)]);
    row.instead[0] = Some(end);
    row.instead[1] =
        Some("69: the partner ended the run or closed the connection, or the helper cannot be reached");
    // It is killed when the two others have ended.
    row.instead[2] = (signal == Signal::STOP).then_some("–");
    row
}
