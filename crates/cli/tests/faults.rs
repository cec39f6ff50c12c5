//! Everything that goes wrong ends both sides with the contract's exit code and words that name side, phase, cause and
//! remedy; no output is left behind or overwritten, and no identifier is shown.

mod common;

use common::{Ended, Scene, emails};
use rustix::process::Signal;

const SENDER: [&str; 4] = ["--input", "sender.csv", "--key", "email:email"];
const RECEIVER: [&str; 6] = ["--input", "receiver.csv", "--key", "email:email", "--output", "out.csv"];

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [base, more].concat()
}

/// A scene with two tables and an output from another day, which no failure may touch.
fn scene(rows: usize) -> Scene {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", rows, rows / 2));
    scene.write("sender.csv", emails("sender", rows, rows / 2));
    scene.write("out.csv", "from another day\n");
    scene
}

/// The output of another day stands, nothing half-written lies beside it, and no identifier was shown.
#[track_caller]
fn nothing_lost(scene: &Scene, ends: &[&Ended]) {
    assert_eq!(scene.read("out.csv"), "from another day\n");
    let expected = ["out.csv", "receiver.csv", "receiver.pem", "sender.csv", "sender.pem"];
    let files = scene.files();
    assert!(
        files.iter().all(|file| expected.contains(&file.as_str()) || file.ends_with(".json")),
        "{files:?}"
    );
    for end in ends {
        for planted in ["person", "Person", "example.org"] {
            let stdout = String::from_utf8_lossy(&end.stdout);
            assert!(!end.screen.contains(planted), "an identifier is on the screen:\n{}", end.screen);
            assert!(!stdout.contains(planted), "an identifier is on standard output:\n{stdout}");
        }
    }
    for report in files.iter().filter(|file| file.ends_with(".json")) {
        let report = scene.read(report);
        assert!(!report.to_lowercase().contains("person") && !report.contains("example.org"), "{report}");
    }
}

#[test]
fn wrong_usage() {
    let scene = scene(3);
    let identity = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let receive = |more: &[&str]| scene.run(&with(&with(&["receive"], &identity), more));
    let ends = [
        (scene.run(&["receive"]), "--input"),
        (scene.run(&["recieve"]), "recieve"),
        (receive(&with(&RECEIVER, &["--timeout", "soon"])), "such as 90s or 5m"),
        (receive(&with(&RECEIVER, &["--listen", "127.0.0.1:0"])), "--listen"),
        (
            receive(&["--input", "receiver.csv", "--key", "email:e-mail", "--output", "out.csv"]),
            "unknown rule",
        ),
        (receive(&with(&RECEIVER, &["--protocol", "dhh"])), "vesica protocols"),
        (receive(&with(&RECEIVER, &["--protocol", "naive-hash"])), "--allow-insecure"),
        (receive(&with(&RECEIVER, &["--security", "malicious"])), "--security semi-honest"),
        (receive(&with(&RECEIVER, &["--report", "out.csv"])), "different places"),
        (receive(&with(&RECEIVER, &["--report", "-", "--events", "-"])), "different places"),
        (receive(&with(&RECEIVER, &["--pad-to", "1"])), "larger --pad-to"),
        (receive(&with(&RECEIVER, &["--result", "count"])), "rows"),
        (receive(&with(&RECEIVER, &["--min-peer-rows", "9", "--max-peer-rows", "5"])), "--min-peer-rows"),
        (receive(&with(&RECEIVER, &["--key", "id"].repeat(200))), "fewer columns"),
    ];
    for (end, word) in &ends {
        end.expect(64, &[word]);
        nothing_lost(&scene, &[end]);
    }
    scene.run(&["--help"]).expect(0, &[]);
    scene.run(&["receive", "--help"]).expect(0, &[]);
}

#[test]
fn bad_identities_and_addresses() {
    let scene = scene(3);
    let key = &scene.sender_key;
    let receive = |more: &[&str]| scene.run(&with(&with(&["receive"], &RECEIVER), more));
    let address = ["--connect", "127.0.0.1:9"];
    receive(&with(&address, &["--identity", "absent.pem", "--peer", key]))
        .expect(64, &["absent.pem", "keygen"]);
    receive(&with(&address, &["--peer", key])).expect(64, &["identity.pem", "keygen"]);
    receive(&with(&address, &["--identity", "receiver.csv", "--peer", key])).expect(64, &["receiver.csv"]);
    let identity = ["--identity", "receiver.pem"];
    receive(&with(&with(&address, &identity), &["--peer", "vesica-pub1-xx"])).expect(64, &["--peer"]);
    receive(&with(&with(&address, &identity), &["--peer", "@absent"])).expect(64, &["@absent"]);
    receive(&with(&with(&address, &identity), &["--peer", &scene.receiver_key]))
        .expect(64, &["own public key"]);
    let keys = with(&identity, &["--peer", key]);
    receive(&with(&keys, &["--listen", "127.0.0.1"])).expect(64, &["HOST:PORT"]);
    receive(&with(&keys, &["--listen", "192.0.2.1:7400"])).expect(64, &["192.0.2.1:7400"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let end = receive(&with(&keys, &["--listen", &taken]));
    end.expect(64, &[&taken, "choose another port"]);
    receive(&["--insecure-plaintext", "--listen", "0.0.0.0:0"]).expect(64, &["loopback"]);
    scene.run(&["keygen", "--output", "receiver.pem"]).expect(64, &["not overwritten"]);
    nothing_lost(&scene, &[&end]);
}

#[test]
fn bad_input_is_found_before_the_partner_is_bothered() {
    let scene = scene(3);
    // Nobody listens there: an attempt to connect would show.
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let receive = |more: &[&str]| scene.run(&with(&with(&["receive", "--output", "out.csv"], &keys), more));
    let absent = receive(&["--input", "absent.csv", "--key", "email"]);
    absent.expect(65, &["absent.csv", "on this side", "phase read", "has not been contacted"]);
    let column = receive(&["--input", "receiver.csv", "--key", "mail:email"]);
    column.expect(65, &["no column `mail` among the 2", "on this side", "phase read"]);
    let invalid = receive(&["--input", "receiver.csv", "--key", "email:int"]);
    invalid.expect(65, &["receiver.csv, line 2, column `email`", "rule int"]);
    nothing_lost(&scene, &[&absent, &column, &invalid]);
    for end in [&absent, &column, &invalid] {
        assert!(!end.screen.contains("127.0.0.1"), "{}", end.screen);
    }
}

#[test]
fn an_output_that_cannot_be_is_refused_before_anything_is_read() {
    let scene = scene(3);
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let table = ["receive", "--input", "receiver.csv", "--key", "email:email"];
    let receive = |output: &str| scene.run(&with(&with(&table, &keys), &["--output", output]));
    receive("receiver.csv").expect(74, &["receiver.csv", "same file as an input", "phase prepare"]);
    std::os::unix::fs::symlink(scene.path("receiver.csv"), scene.path("link.json")).unwrap();
    receive("link.json").expect(74, &["same file as an input"]);
    std::fs::remove_file(scene.path("link.json")).unwrap();
    receive("absent/out.csv").expect(74, &["absent/out.csv"]);
    receive(".").expect(74, &["directory"]);
    let learns_nothing = scene.run(&with(&with(&with(&["send"], &SENDER), &keys), &["--output", "rows.csv"]));
    learns_nothing.expect(64, &["--learns both"]);
    nothing_lost(&scene, &[&learns_nothing]);
}

#[test]
fn no_output_replaces_a_key_or_another_output() {
    let scene = scene(3);
    let identity = scene.read("receiver.pem");
    scene.write("sender.json", &scene.sender_key);
    let keys = ["--identity", "receiver.pem", "--peer", "@sender.json", "--connect", "127.0.0.1:9"];
    let table = with(&["receive", "--input", "receiver.csv", "--key", "email:email"], &keys);
    let run = |more: &[&str]| scene.run(&with(&table, more));
    for place in ["receiver.pem", "./receiver.pem", "sender.json", "receiver.csv"] {
        run(&["--output", place]).expect(74, &["same file as an input"]);
        run(&["--output", "out.csv", "--report", place]).expect(74, &["same file as an input"]);
        run(&["--output", "out.csv", "--events", place]).expect(74, &["same file as an input"]);
    }
    std::fs::hard_link(scene.path("out.csv"), scene.path("link.json")).unwrap();
    for (report, events) in
        [("./out.csv", "a.json"), ("a.json", "out.csv"), ("link.json", "a.json"), ("a.json", "./a.json")]
    {
        let end = run(&["--output", "out.csv", "--report", report, "--events", events]);
        end.expect(64, &["need different places"]);
        nothing_lost(&scene, &[&end]);
    }
    assert_eq!((scene.read("receiver.pem"), scene.read("sender.json")), (identity, scene.sender_key.clone()));
}

#[test]
fn a_header_that_is_data_is_not_shown() {
    let scene = scene(3);
    scene.write("receiver.csv", "Ada Person,Basel\nPersonal,Bern\n");
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let logs = ["--report", "report.json", "--events", "events.json"];
    let end = scene.run(&with(&with(&with(&["receive"], &RECEIVER), &keys), &logs));
    end.expect(65, &["no column `email` among the 2 of its first line"]);
    nothing_lost(&scene, &[&end]);
}

#[test]
fn a_run_that_cannot_begin_is_reported_too() {
    let scene = scene(3);
    let keys = ["--identity", "absent.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let logs = ["--report", "report.json", "--events", "events.json"];
    scene
        .run(&with(&with(&with(&["receive"], &RECEIVER), &keys), &logs))
        .expect(64, &["phase prepare", "keygen"]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
    assert_eq!((&report["outcome"], &report["error"]["kind"]), (&"failed".into(), &"usage".into()));
    assert!(scene.read("events.json").lines().last().unwrap().contains("\"event\":\"failed\""));
}

#[test]
fn an_insecure_protocol_is_called_so() {
    let scene = scene(5);
    let naive = ["--protocol", "naive-hash", "--allow-insecure"];
    let (receiver, sender) =
        scene.pair(&with(&SENDER, &naive), &with(&RECEIVER, &["--allow-insecure", "--report", "r.json"]));
    receiver.expect(0, &["WARNING: naive-hash is insecure", "named by the partner"]);
    sender.expect(0, &["WARNING: naive-hash is insecure", "named by this side"]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("r.json")).unwrap();
    assert_eq!(report["security"], "none");
}

#[test]
fn nobody_at_the_address() {
    let scene = scene(3);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--timeout", "1s"];
    let receive = |more: &[&str]| scene.run(&with(&with(&with(&["receive"], &RECEIVER), &keys), more));
    let alone = receive(&["--connect", &address, "--report", "alone.json"]);
    alone.expect(
        69,
        &[&address, "nobody listens there", "on the partner's side", "phase connect", "what to do"],
    );
    let waiting = receive(&["--listen", &address]);
    waiting.expect(69, &[&address, "did not connect", "phase connect", "what to do"]);
    nothing_lost(&scene, &[&alone, &waiting]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("alone.json")).unwrap();
    assert_eq!((&report["outcome"], &report["error"]["kind"]), (&"failed".into(), &"partner".into()));
    assert_eq!(report["sizes"]["rows"], 3);
}

#[test]
fn a_partner_with_another_key() {
    let scene = scene(3);
    let made = scene.run(&["keygen", "--output", "other.json"]);
    let other = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    // The receiver expects somebody else than the sender that is there; the sender waits on for the right one.
    let (sender, address) = scene.sender(&with(&SENDER, &["--timeout", "2s"]));
    let keys = ["--connect", &address, "--identity", "receiver.pem", "--peer", &other];
    let receiver = scene.run(&with(&with(&["receive"], &RECEIVER), &keys));
    receiver.expect(77, &[&other, &scene.sender_key, "phase connect", "compare the public keys"]);
    let sender = sender.end();
    sender.expect(77, &["phase connect", "compare the public keys"]);
    nothing_lost(&scene, &[&receiver, &sender]);

    // The sender expects somebody else than the receiver that comes.
    let (sender, address) = scene.sender(&with(&SENDER, &["--timeout", "2s"]));
    let keys = ["--connect", &address, "--identity", "other.json", "--peer", &scene.sender_key];
    let receiver = scene.run(&with(&with(&["receive"], &RECEIVER), &keys));
    receiver.expect(77, &[&other, "refused our key", "compare the public keys"]);
    let sender = sender.end();
    sender.expect(77, &[&other, "compare the public keys"]);
    std::fs::remove_file(scene.path("other.json")).unwrap();
    nothing_lost(&scene, &[&receiver, &sender]);
}

#[test]
fn a_stranger_does_not_keep_the_partner_out() {
    use std::io::Write;
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", 9, 3));
    scene.write("sender.csv", emails("sender", 9, 3));
    let (mut sender, address) = scene.sender(&SENDER);
    let _silent = std::net::TcpStream::connect(&address).unwrap();
    let mut scanner = std::net::TcpStream::connect(&address).unwrap();
    scanner.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    sender.wait_for("turned away a stranger");
    scene.receiver(&address, &RECEIVER).end().expect(0, &["3 of 9 rows match"]);
    sender.end().expect(0, &[]);
}

/// Both sides end with 77 and see the difference, each with its own value as "mine".
#[track_caller]
fn terms_differ(sender: &[&str], receiver: &[&str], field: &str, sent: &str, received: &str) {
    let scene = scene(5);
    let (receiver, sender) = scene.pair(sender, receiver);
    let words = |mine: &str, theirs: &str| format!("{field}: mine {mine}, theirs {theirs}");
    let common = ["between the two sides", "phase agree", "what to do"];
    receiver.expect(77, &with(&common, &[&words(received, sent)]));
    sender.expect(77, &with(&common, &[&words(sent, received)]));
    nothing_lost(&scene, &[&receiver, &sender]);
}

#[test]
fn a_partner_on_other_terms() {
    let table = ["--input", "sender.csv", "--key", "email:text"];
    terms_differ(&table, &RECEIVER, "key rules", "text", "email");
    let table = with(&SENDER, &["--key", "id:int"]);
    terms_differ(&table, &RECEIVER, "key rules", "email + int", "email");
    terms_differ(&with(&SENDER, &["--learns", "both"]), &RECEIVER, "learns", "both", "receiver");
    let naive = ["--protocol", "naive-hash", "--allow-insecure"];
    let dh = with(&RECEIVER, &["--protocol", "dh"]);
    terms_differ(&with(&SENDER, &naive), &dh, "protocol", "naive-hash", "dh");
}

#[test]
fn two_receivers_or_an_insecure_protocol_on_one_side_only() {
    let scene = scene(5);
    let keys =
        ["receive", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--peer", &scene.receiver_key];
    let table = ["--input", "sender.csv", "--key", "email:email", "--output", "other.json"];
    let mut listening = scene.start(&with(&keys, &table));
    let line = listening.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap();
    let receiver = scene.receiver(address, &RECEIVER).end();
    receiver.expect(77, &["role: mine receiver, theirs receiver"]);
    listening.end().expect(77, &["role: mine receiver, theirs receiver"]);

    let naive = with(&SENDER, &["--protocol", "naive-hash", "--allow-insecure"]);
    let (receiver, sender) = scene.pair(&naive, &RECEIVER);
    receiver.expect(77, &["naive-hash", "insecure", "only if both sides give --allow-insecure"]);
    sender.expect(77, &["naive-hash", "only if both sides give --allow-insecure"]);
    nothing_lost(&scene, &[&receiver, &sender]);
}

#[test]
fn sizes_outside_the_limits() {
    for (sender, receiver) in [(&["--max-peer-rows", "4"][..], &[][..]), (&[], &["--min-peer-rows", "6"])] {
        let scene = scene(5);
        let (receiver, sender) = scene.pair(&with(&SENDER, sender), &with(&RECEIVER, receiver));
        receiver.expect(77, &["has 5 items", "accepts", "phase agree"]);
        sender.expect(77, &["has 5 items", "accepts", "phase agree"]);
        nothing_lost(&scene, &[&receiver, &sender]);
    }
}

/// Starts a run too long to end by itself before it is disturbed, and waits until the protocol runs on both sides.
fn in_mid_run(scene: &Scene, more: &[&str]) -> (common::Party, common::Party) {
    let sender_logs = ["--threads", "1", "--report", "sender.json", "--events", "sender-events.json"];
    let receiver_logs = ["--threads", "1", "--report", "receiver.json", "--events", "receiver-events.json"];
    let (mut sender, address) = scene.sender(&with(&with(&SENDER, &sender_logs), more));
    let mut receiver = scene.receiver(&address, &with(&with(&RECEIVER, &receiver_logs), more));
    sender.wait_for("protocol dh");
    receiver.wait_for("protocol dh");
    (receiver, sender)
}

/// Rows that keep one thread busy for longer than it takes to send a signal, by far.
const LONG: usize = 1 << 18;

#[test]
fn a_partner_killed_in_mid_run() {
    let scene = scene(LONG);
    let (receiver, sender) = in_mid_run(&scene, &[]);
    sender.signal(Signal::KILL);
    assert_eq!(sender.end().code, None);
    let receiver = receiver.end();
    receiver
        .expect(69, &["the partner closed the connection", "on the partner's side", "phase", "what to do"]);
    let (other, sender) = in_mid_run(&scene, &[]);
    other.signal(Signal::KILL);
    assert_eq!(other.end().code, None);
    let sender = sender.end();
    sender.expect(69, &["the partner closed the connection", "what to do"]);
    nothing_lost(&scene, &[&receiver, &sender]);
}

#[test]
fn a_partner_frozen_in_mid_run() {
    let scene = scene(LONG);
    let (receiver, sender) = in_mid_run(&scene, &["--timeout", "3s"]);
    sender.signal(Signal::STOP);
    let receiver = receiver.end();
    receiver.expect(69, &["fell silent", "on the partner's side", "what to do"]);
    sender.signal(Signal::CONT);
    let sender = sender.end();
    sender.expect(69, &["on the partner's side", "what to do"]);
    nothing_lost(&scene, &[&receiver, &sender]);
}

#[test]
fn interruption_and_termination() {
    let scene = scene(LONG);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (receiver, sender) = in_mid_run(&scene, &[]);
        receiver.signal(signal);
        let receiver = receiver.end();
        receiver.expect(code, &["interrupted"]);
        let sender = sender.end();
        sender.expect(69, &["on the partner's side"]);
        nothing_lost(&scene, &[&receiver, &sender]);
    }
}

#[test]
fn an_input_that_changes_in_between() {
    let scene = scene(LONG);
    let (receiver, sender) = in_mid_run(&scene, &[]);
    // As long as before, so that only the bytes tell.
    let changed = scene.read("receiver.csv").replacen("person", "parson", 1);
    scene.write("receiver.csv", changed);
    let receiver = receiver.end();
    receiver.expect(65, &["changed during the run", "phase write"]);
    let sender = sender.end();
    sender.expect(0, &[]);
    nothing_lost(&scene, &[&receiver, &sender]);
}

#[test]
fn a_result_that_cannot_be_written() {
    let scene = scene(5);
    let (sender, address) = scene.sender(&SENDER);
    let table = ["--input", "receiver.csv", "--key", "email:email", "--output", "/dev/full"];
    let receiver = scene.receiver(&address, &table).end();
    receiver.expect(74, &["/dev/full", "cannot be written", "on this side", "phase write"]);
    sender.end().expect(0, &[]);
    nothing_lost(&scene, &[&receiver]);
}

#[test]
fn local_names_the_table_at_fault() {
    let scene = scene(5);
    let local = |receiver: &str, sender: &str, key: &str| {
        scene.run(&["local", "--receiver", receiver, "--sender", sender, "--key", key, "--output", "out.csv"])
    };
    local("receiver.csv", "absent.csv", "email").expect(65, &["absent.csv"]);
    local("absent.csv", "sender.csv", "email").expect(65, &["absent.csv"]);
    local("receiver.csv", "sender.csv", "email=mail").expect(65, &["sender.csv", "`mail`"]);
    local("-", "-", "email").expect(64, &["standard input"]);
    let end = scene.run(&[
        "local",
        "--receiver",
        "receiver.csv",
        "--sender",
        "sender.csv",
        "--key",
        "email",
        "--output",
        "sender.csv",
    ]);
    end.expect(74, &["same file as an input"]);
    nothing_lost(&scene, &[&end]);
}
