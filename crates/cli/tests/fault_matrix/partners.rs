//! Partners that are not who they should be, or want something else; tables that change; results that cannot be written.

use std::io::Write;
use std::net::TcpStream;

use rustix::process::Signal;

use crate::common::{Ended, RECEIVER, SENDER, Scene, nothing_lost, with};
use crate::hook::Bell;
use crate::page::{Row, Section};
use crate::wire::Port;
use crate::{Job, scene};

const HEAD: &[&str] = &["what", "receiver", "sender"];

/// The tables of this file, and the jobs that fill them.
pub(crate) fn sections() -> Vec<(Section, Vec<Job>)> {
    let section = |title: &str, text: &'static str, jobs: Vec<Job>| {
        (Section { title: title.into(), text, head: HEAD, rows: Vec::new() }, jobs)
    };
    vec![
        section(
            "Somebody else",
            "These rows are about wrong keys, strangers, and a port that is taken.",
            strangers(),
        ),
        section(
            "The two sides differ",
            "Both sides end with the same code, each with its own value as “mine”. The last table has every field of the \
             terms.",
            differences(),
        ),
        section("Files", "Inputs change during the run, or an output cannot be written.", files()),
    ]
}

fn job(name: &'static str, run: impl FnOnce() -> Row + Send + 'static) -> Job {
    (name.to_owned(), Box::new(run))
}

/// Both ended like this, and nothing is lost.
fn both(what: &str, scene: &Scene, [receiver, sender]: [Ended; 2], code: i32, words: [&[&str]; 2]) -> Row {
    receiver.expect(code, &with(words[0], &["where: ", "what to do: "]));
    sender.expect(code, &with(words[1], &["where: ", "what to do: "]));
    nothing_lost(scene, &[&receiver, &sender]);
    Row::new(what, [Some(&receiver), Some(&sender)])
}

fn strangers() -> Vec<Job> {
    vec![
        job("another key there", || {
            let (scene, other) = with_another_key();
            let ends = turned_away(&scene, "receiver.pem", &other);
            let words = [
                &[other.as_str(), &scene.sender_key, "phase connect", "compare the public keys"][..],
                &["phase connect", "compare the public keys"],
            ];
            both("the receiver expects another key", &scene, ends, 77, words)
        }),
        job("another key here", || {
            let (scene, other) = with_another_key();
            let ends = turned_away(&scene, "other.json", &scene.sender_key);
            std::fs::remove_file(scene.path("other.json")).unwrap();
            let words = [
                &[other.as_str(), "refused our key", "compare the public keys"][..],
                &[other.as_str(), "compare the public keys"],
            ];
            both("the sender expects another key", &scene, ends, 77, words)
        }),
        job("strangers", || {
            let scene = scene(9);
            let (mut sender, address) = scene.sender(&SENDER);
            let _silent = TcpStream::connect(&address).unwrap();
            let mut scanner = TcpStream::connect(&address).unwrap();
            scanner.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
            sender.wait_for("turned away a stranger");
            let receiver = scene.receiver(&address, &RECEIVER).end();
            receiver.expect(0, &["4 of 9 rows match"]);
            let sender = sender.end();
            sender.expect(0, &[]);
            Row::new("strangers come to the port first", [Some(&receiver), Some(&sender)])
        }),
        job("second listener", || {
            let scene = scene(9);
            let (sender, address) = scene.sender(&SENDER);
            let keys = ["--listen", &address, "--identity", "sender.pem", "--peer", &scene.receiver_key];
            let second = scene.run(&with(&with(&["send"], &SENDER), &keys));
            second.expect(64, &[&address, "choose another port"]);
            nothing_lost(&scene, &[&second]);
            scene.receiver(&address, &RECEIVER).end().expect(0, &[]);
            sender.end().expect(0, &[]);
            Row::new(
                "a second sender listens on the port of a first, which is not disturbed",
                [None, Some(&second)],
            )
        }),
    ]
}

/// A receiver with this identity, which expects this key, goes to a sender, who waits on for the right one until its
/// patience ends. The receiver stands at the door before that begins, however long it takes to start: where the sender has
/// gone, it would knock for as long as its own patience lasts.
fn turned_away(scene: &Scene, identity: &str, expected: &str) -> [Ended; 2] {
    let (port, bell) = (Port::new(), Bell::new());
    let address = port.address.to_string();
    let goes = ["receive", "--connect", &address, "--identity", identity, "--peer", expected];
    let more = with(&RECEIVER, &["--timeout", "60s"]);
    let receiver = scene.start_as(bell.command("connect"), &with(&goes, &more));
    let paused = bell.wait();
    let waits = ["send", "--listen", &address, "--identity", "sender.pem", "--peer", &scene.receiver_key];
    let mut sender = scene.start(&with(&waits, &with(&SENDER, &["--timeout", "5s"])));
    sender.wait_for("listening on ");
    drop(paused);
    [receiver.end(), sender.end()]
}

fn with_another_key() -> (Scene, String) {
    let scene = scene(3);
    let made = scene.run(&["keygen", "--output", "other.json"]);
    (scene, String::from_utf8(made.stdout).unwrap().trim().to_owned())
}

type Args = &'static [&'static str];

/// What both sides have to say alike: the sender's arguments, what the receiver has beside its table, and the words on both
/// screens, the receiver's first.
const DIFFERENCES: [(&str, Args, Args, [&str; 2]); 7] = [
    (
        "other key rules",
        &["--input", "sender.csv", "--key", "email:text"],
        &[],
        ["key rules: mine email, theirs text", "key rules: mine text, theirs email"],
    ),
    (
        "more key columns",
        &["--input", "sender.csv", "--key", "email:email", "--key", "id:int"],
        &[],
        ["key rules: mine email, theirs email + int", "key rules: mine email + int, theirs email"],
    ),
    (
        "the sender is to learn the result too",
        &["--input", "sender.csv", "--key", "email:email", "--learns", "both"],
        &[],
        ["learns: mine receiver, theirs both", "learns: mine both, theirs receiver"],
    ),
    (
        "another protocol",
        &INSECURE,
        &["--security", "semi-honest", "--protocol", "dh"],
        ["protocol: mine dh, theirs naive-hash", "protocol: mine naive-hash, theirs dh"],
    ),
    (
        "an insecure protocol, allowed on one side only",
        &INSECURE,
        &["--security", "semi-honest"],
        ["only if both sides give `--allow-insecure`"; 2],
    ),
    (
        "a smaller set than the receiver accepts",
        &SENDER,
        &["--min-peer-rows", "6"],
        ["has 5 items, and this side accepts", "has 5 items, and the partner accepts"],
    ),
    (
        "a larger set than the sender accepts",
        &["--input", "sender.csv", "--key", "email:email", "--max-peer-rows", "4"],
        &[],
        ["has 5 items, and the partner accepts 0 to 4", "has 5 items, and this side accepts 0 to 4"],
    ),
];

const INSECURE: [&str; 9] = [
    "--input",
    "sender.csv",
    "--key",
    "email:email",
    "--security",
    "semi-honest",
    "--protocol",
    "naive-hash",
    "--allow-insecure",
];

fn differences() -> Vec<Job> {
    let difference = |(what, sender, receiver, words): (&'static str, Args, Args, [&'static str; 2])| {
        job(what, move || {
            let scene = scene(5);
            let (receiver, sender) = scene.pair(sender, &with(&RECEIVER, receiver));
            let words = words.map(|word| [word, "between the two sides", "phase agree"]);
            both(what, &scene, [receiver, sender], 77, [&words[0], &words[1]])
        })
    };
    DIFFERENCES.into_iter().map(difference).chain([job("two receivers", two_receivers)]).collect()
}

fn two_receivers() -> Row {
    let scene = scene(5);
    let keys =
        ["receive", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--peer", &scene.receiver_key];
    let table = ["--input", "sender.csv", "--key", "email:email", "--output", "other.csv"];
    let mut listening = scene.start(&with(&keys, &table));
    let line = listening.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap();
    let receiver = scene.receiver(address, &RECEIVER).end();
    let words: &[&str] = &["both sides run `receive`", "one side runs `receive`, the other `send`"];
    let what = "both are receivers (the second column is one too)";
    both(what, &scene, [receiver, listening.end()], 77, [words; 2])
}

type Change = fn(&Scene);

/// What happens to the receiver's input while it runs.
const CHANGES: [(&str, Change); 4] = [
    ("a byte of the receiver's input changes", |scene| {
        // As long as before, so that only the bytes tell.
        let changed = scene.read("receiver.csv").replacen("person", "parson", 1);
        scene.write("receiver.csv", changed);
    }),
    ("the receiver's input grows", |scene| {
        let grown = scene.read("receiver.csv") + "99,common.person99@example.org\n";
        scene.write("receiver.csv", grown);
    }),
    ("the receiver's input shrinks", |scene| {
        let text = scene.read("receiver.csv");
        scene.write("receiver.csv", &text[..text.len() - 9]);
    }),
    ("the receiver's input is emptied", |scene| scene.write("receiver.csv", "")),
];

fn files() -> Vec<Job> {
    let changes = CHANGES.into_iter().map(|(what, change)| job(what, move || changed(what, change)));
    let others = [
        job("output is input", output_is_input),
        job("pipe without writer", pipe_without_writer),
        job("device without space", device_without_space),
    ];
    changes.chain(others).collect()
}

fn changed(what: &str, change: Change) -> Row {
    let scene = scene(9);
    let bell = Bell::new();
    let (sender, address) = scene.sender(&SENDER);
    let keys = ["--connect", &address, "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let receiver = scene.start_as(bell.command("agree"), &with(&with(&["receive"], &RECEIVER), &keys));
    let paused = bell.wait();
    change(&scene);
    drop(paused);
    let (receiver, sender) = (receiver.end(), sender.end());
    receiver.expect(65, &["changed during the run", "phase write", "what to do: "]);
    sender.expect(0, &[]);
    nothing_lost(&scene, &[&receiver, &sender]);
    Row::new(what, [Some(&receiver), Some(&sender)])
}

/// A receiver that goes where nobody is.
fn nowhere(scene: &Scene) -> [&str; 7] {
    ["receive", "--connect", "127.0.0.1:9", "--identity", "receiver.pem", "--peer", &scene.sender_key]
}

fn output_is_input() -> Row {
    let scene = scene(5);
    let keys = nowhere(&scene);
    let table = ["--input", "receiver.csv", "--key", "email:email", "--output", "receiver.csv"];
    let before = scene.read("receiver.csv");
    let receiver = scene.run(&with(&keys, &table));
    receiver.expect(74, &["same file as an input", "phase prepare", "on this side"]);
    assert_eq!(scene.read("receiver.csv"), before);
    nothing_lost(&scene, &[&receiver]);
    Row::new("the output is the input (the sender is not bothered)", [Some(&receiver), None])
}

fn pipe_without_writer() -> Row {
    let scene = scene(5);
    let made = std::process::Command::new("mkfifo").arg(scene.path("pipe")).status().unwrap();
    assert!(made.success());
    let keys = nowhere(&scene);
    let table = ["--input", "pipe", "--key", "email:email", "--output", "out.csv"];
    let mut receiver = scene.start(&with(&keys, &table));
    receiver.wait_for("no data from pipe yet");
    receiver.signal(Signal::INT);
    let receiver = receiver.end();
    receiver.expect(130, &["interrupted", "phase read"]);
    std::fs::remove_file(scene.path("pipe")).unwrap();
    nothing_lost(&scene, &[&receiver]);
    Row::new(
        "the input is a pipe into which nobody writes, as the screen says; then SIGINT",
        [Some(&receiver), None],
    )
}

fn device_without_space() -> Row {
    let scene = scene(5);
    let (sender, address) = scene.sender(&SENDER);
    let table = ["--input", "receiver.csv", "--key", "email:email", "--output", "/dev/full"];
    let receiver = scene.receiver(&address, &table).end();
    receiver.expect(
        74,
        &["/dev/full", "cannot be written", "on this side", "phase write", "the partner has ended well"],
    );
    let sender = sender.end();
    sender.expect(0, &[]);
    nothing_lost(&scene, &[&receiver]);
    Row::new("the output is a device that has no space", [Some(&receiver), Some(&sender)])
}
