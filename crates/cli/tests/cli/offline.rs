//! `--prepare` and `--offline` between two processes: what an offline phase leaves serves one run, whatever happens to it.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::{Ended, RECEIVER, SENDER, Scene, emails, plain_join, with};
use rustix::process::Signal;
use serde_json::Value;
use vesica::protocols::registry::{Security, Shape, find};
use vesica::protocols::{Parameters, Role, Sizes};

const FILES: [&str; 2] = ["receiver.off", "sender.off"];
const COMMON: usize = 23;
const ROWS: [usize; 2] = [40, 60];
/// Keys of the receiver that the offline phase is run for.
const ITEMS: &str = "50";

fn tables() -> Scene {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", ROWS[0], COMMON));
    scene.write("sender.csv", emails("sender", ROWS[1], COMMON));
    scene
}

const PROTOCOL: [&str; 2] = ["--protocol", "gbf-rr16"];

/// The offline phase, with these options of the receiver and the sender.
fn prepare_with(scene: &Scene, [mine, theirs]: [&[&str]; 2]) -> (Ended, Ended) {
    scene.pair(&with(&PROTOCOL, theirs), &with(&PROTOCOL, mine))
}

#[track_caller]
fn prepare(scene: &Scene) {
    let options = FILES.map(|file| ["--prepare", ITEMS, "--offline", file]);
    let (received, sent) = prepare_with(scene, [&options[0], &options[1]]);
    let words = "the offline phase for at most 50 keys of the receiver is stored, for one run";
    received.expect(0, &[words]);
    sent.expect(0, &[words]);
}

/// A run with these options of the receiver and the sender.
fn run_with(scene: &Scene, [mine, theirs]: [&[&str]; 2]) -> (Ended, Ended) {
    let sender = with(&SENDER, &with(&PROTOCOL, theirs));
    scene.pair(&sender, &with(&RECEIVER, &with(&PROTOCOL, mine)))
}

fn run(scene: &Scene, files: [&str; 2]) -> (Ended, Ended) {
    let options = files.map(|file| ["--offline", file]);
    run_with(scene, [&options[0], &options[1]])
}

#[track_caller]
fn matches(scene: &Scene, (received, sent): &(Ended, Ended)) {
    received.expect(0, &[&format!("{COMMON} of {} rows match", ROWS[0])]);
    sent.expect(0, &[]);
    assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
    fs::remove_file(scene.path("out.csv")).unwrap();
}

/// A party that must end before it contacts its partner; its words.
#[track_caller]
fn refused(scene: &Scene, role: Role, options: &[&str], code: i32, words: &[&str]) {
    let (command, identity, peer) = match role {
        Role::Receiver => ("receive", "receiver.pem", &scene.sender_key),
        Role::Sender => ("send", "sender.pem", &scene.receiver_key),
    };
    let mut args =
        vec![command, "--connect", "127.0.0.1:9", "--timeout", "1s", "--identity", identity, "--peer", peer];
    args.extend(if role == Role::Receiver { &RECEIVER[..] } else { &SENDER[..] });
    args.extend(PROTOCOL);
    args.extend(options);
    scene.run(&args).expect(code, words);
    assert!(!scene.exists("out.csv"));
}

fn report(scene: &Scene, name: &str) -> Value {
    serde_json::from_str(&scene.read(name)).unwrap()
}

#[test]
fn an_offline_phase_and_a_run_give_the_plain_join_and_are_told_apart() {
    for variant in [&[][..], &["--variant", "silent"], &["--variant", "kos15"]] {
        let scene = tables();
        let options = ["mine.json", "theirs.json"].map(|name| ["--report", name]);
        let options = [0, 1].map(|side| with(&with(&["--offline", FILES[side]], &options[side]), variant));
        let making = [0, 1].map(|side| with(&options[side], &["--prepare", ITEMS]));
        let (received, sent) = prepare_with(&scene, [&making[0], &making[1]]);
        received.expect(0, &[]);
        sent.expect(0, &[]);
        let made = ["mine.json", "theirs.json"].map(|name| report(&scene, name));
        for file in FILES {
            assert_eq!(fs::metadata(scene.path(file)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(!scene.files().iter().any(|name| name.ends_with(".tmp")));
        let ended = run_with(&scene, [&options[0], &options[1]]);
        matches(&scene, &ended);
        assert!(!scene.files().iter().any(|name| name.contains(".off")), "{:?}", scene.files());
        let used = ["mine.json", "theirs.json"].map(|name| report(&scene, name));
        let entry = find("gbf-rr16").unwrap();
        let name = variant.get(1).and_then(|name| entry.supports.variant(name));
        let parameters = Parameters { security: Security::Malicious, variant: name, ..Parameters::default() };
        let shape = Shape { parameters, ..Shape::new(Sizes { receiver: 50, sender: ROWS[1] }) };
        for (side, role) in [Role::Receiver, Role::Sender].into_iter().enumerate() {
            let (made, used) = (&made[side]["offline"], &used[side]["offline"]);
            assert_eq!([&made["output"], &used["output"]], ["made", "used"]);
            assert_eq!([&made["receiver_items"], &used["receiver_items"]], [50, 50]);
            assert_eq!(made["id"], used["id"]);
            // The messages of each phase are in the run that has it, and nowhere else.
            let sent = |report: &Value, part: &str| report[part]["sent"].as_u64().unwrap();
            assert_eq!(sent(made, "offline"), entry.offline_bytes(role, &shape));
            assert_eq!([sent(made, "online"), sent(used, "offline")], [0, 0]);
            // 32 bytes say that this side has used its file up.
            assert_eq!(sent(used, "online"), entry.online_bytes(role, &shape) + 32);
        }
        assert_eq!(used[0]["offline"]["id"], used[1]["offline"]["id"]);
        assert!(used[0]["parameters"]["max_tested_keys"] == entry.max_tested_keys_of(&shape).unwrap());
    }
}

#[test]
fn a_run_of_its_own_tells_its_two_phases_apart() {
    let scene = tables();
    matches(&scene, &run_with(&scene, [&["--report", "mine.json"], &[]]));
    let offline = &report(&scene, "mine.json")["offline"];
    assert_eq!((&offline["output"], &offline["id"]), (&Value::from("own"), &Value::Null));
    assert!(offline["offline"]["sent"].as_u64() > offline["online"]["sent"].as_u64());
}

/// The file is gone, and its copies are refused on either side, in its folder and in others.
#[test]
fn flaw_a_second_use_is_refused_also_of_a_copy() {
    let scene = tables();
    prepare(&scene);
    fs::create_dir(scene.path("backup")).unwrap();
    let copies = FILES.map(|file| [format!("copy-{file}"), format!("backup/{file}")]);
    for (file, copies) in FILES.iter().zip(&copies) {
        for copy in copies {
            fs::copy(scene.path(file), scene.path(copy)).unwrap();
        }
    }
    matches(&scene, &run(&scene, FILES));
    for (side, role) in [Role::Receiver, Role::Sender].into_iter().enumerate() {
        refused(&scene, role, &["--offline", FILES[side]], 65, &["No such file", "--prepare"]);
        for copy in &copies[side] {
            refused(&scene, role, &["--offline", copy], 65, &["it was used before", "--prepare"]);
        }
    }
    // One of the two lists is enough.
    for lost in [".vesica-used-offline", ".local/state/vesica/used-offline"] {
        let kept = fs::read(scene.path(lost)).unwrap();
        fs::remove_file(scene.path(lost)).unwrap();
        refused(&scene, Role::Receiver, &["--offline", &copies[0][0]], 65, &["it was used before"]);
        scene.write(lost, kept);
        fs::set_permissions(scene.path(lost), PermissionsExt::from_mode(0o600)).unwrap();
    }
}

/// Two halves that do not belong together, and one half alone, end both sides before anything is used up.
#[test]
fn flaw_files_that_do_not_belong_together_are_refused_and_stay() {
    let scene = tables();
    prepare(&scene);
    for file in FILES {
        fs::rename(scene.path(file), scene.path(&format!("first-{file}"))).unwrap();
    }
    prepare(&scene);
    let (received, sent) = run(&scene, ["first-receiver.off", "sender.off"]);
    for end in [&received, &sent] {
        end.expect(77, &["offline: mine use ", "the two files that were made together"]);
    }
    for alone in [[&["--offline", FILES[0]][..], &[]], [&[], &["--offline", FILES[1]]]] {
        let (received, sent) = run_with(&scene, alone);
        for end in [&received, &sent] {
            end.expect(77, &["offline: mine ", "none", "`--offline` on both sides"]);
        }
    }
    let (received, sent) = prepare_with(
        &scene,
        [&["--prepare", "50", "--offline", "new-r"], &["--prepare", "60", "--offline", "new-s"]],
    );
    for end in [&received, &sent] {
        end.expect(77, &["make for 50 keys", "make for 60 keys"]);
    }
    assert!(!scene.exists("new-r") && !scene.exists("new-s") && !scene.exists("out.csv"));
    matches(&scene, &run(&scene, FILES));
    matches(&scene, &run(&scene, ["first-receiver.off", "first-sender.off"]));
}

/// What a file is bound to: partner, role, identity, parameters, the number of keys.
#[test]
fn flaw_a_file_of_another_binding_is_refused_and_left_as_it_is() {
    let scene = tables();
    prepare(&scene);
    let mine = ["--offline", FILES[0]];
    let other = String::from_utf8(scene.run(&["keygen", "--output", "other.pem"]).stdout).unwrap();
    let start = |command: &str, identity: &str, peer: &str, table: &[&str], more: &[&str], words: &[&str]| {
        let args =
            [command, "--connect", "127.0.0.1:9", "--timeout", "1s", "--identity", identity, "--peer", peer];
        let protocol: &[&str] = if more.contains(&"--protocol") { &[] } else { &PROTOCOL };
        scene.run(&[&args[..], table, protocol, &mine, more].concat()).expect(64, words);
        assert!(scene.exists(FILES[0]));
    };
    let peer = &scene.sender_key;
    start("receive", "receiver.pem", other.trim(), &RECEIVER, &[], &["it was made with another partner"]);
    start("receive", "other.pem", peer, &RECEIVER, &[], &["this side made it under another identity"]);
    start("send", "receiver.pem", peer, &SENDER, &[], &["this side made it as receiver"]);
    start("send", "sender.pem", &scene.receiver_key, &SENDER, &[], &["under another identity"]);
    start(
        "receive",
        "receiver.pem",
        peer,
        &RECEIVER,
        &["--variant", "silent"],
        &["it was made for", "variant=silent"],
    );
    start(
        "receive",
        "receiver.pem",
        peer,
        &RECEIVER,
        &["--protocol", "dkt"],
        &["a protocol with an offline phase"],
    );
    start("receive", "receiver.pem", peer, &RECEIVER, &["--protocol", "auto"], &["--protocol gbf-rr16"]);
    // More keys than it was made for, on either side.
    let table = scene.read("receiver.csv");
    scene.write("receiver.csv", emails("receiver", 51, COMMON));
    start("receive", "receiver.pem", peer, &RECEIVER, &[], &["at most 50 keys of the receiver", "has 51"]);
    scene.write("receiver.csv", table);
    let fewer = ["--offline", FILES[1], "--max-peer-rows", "49"];
    refused(&scene, Role::Sender, &fewer, 64, &["50 keys of the receiver", "--max-peer-rows 49"]);
    matches(&scene, &run(&scene, FILES));
}

#[test]
fn damage_is_found_before_the_partner_is_contacted() {
    let scene = tables();
    prepare(&scene);
    let good = fs::read(scene.path(FILES[0])).unwrap();
    let check = |bytes: &[u8], word: &str| {
        scene.write(FILES[0], bytes);
        refused(&scene, Role::Receiver, &["--offline", FILES[0]], 65, &["`--offline receiver.off`: ", word]);
        assert!(fs::read(scene.path(FILES[0])).unwrap() == bytes, "{word}");
    };
    let flipped = |place: usize| {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        bytes
    };
    // Role, keys, items, id, text, the head's sum; the body's own head, its middle and its end; the sum.
    let places =
        [18, 20, 60, 84, 92, 130, 200, 270, 300, 330, good.len() / 2, good.len() - 40, good.len() - 1];
    for place in places {
        check(&flipped(place), "it is damaged");
    }
    for cut in [good.len() - 1, good.len() / 2, 200, 20, 17] {
        check(&good[..cut], "it is damaged");
    }
    check(&[&good[..], b"0"].concat(), "it is damaged");
    check(b"", "it holds no output of an offline phase");
    check(b"id,email\n", "it holds no output of an offline phase");
    check(&flipped(17), "its version is 257");
    scene.write(FILES[0], &good);
    let mode = |mode| fs::set_permissions(scene.path(FILES[0]), PermissionsExt::from_mode(mode)).unwrap();
    for (open, word) in [(0o640, "mode 640"), (0o604, "mode 604"), (0o602, "mode 602")] {
        mode(open);
        refused(&scene, Role::Receiver, &["--offline", FILES[0]], 65, &["can be read by others", word]);
    }
    mode(0o600);
    std::os::unix::fs::symlink(FILES[0], scene.path("link.off")).unwrap();
    refused(&scene, Role::Receiver, &["--offline", "link.off"], 65, &["it is a symbolic link"]);
    refused(&scene, Role::Receiver, &["--offline", "."], 65, &["it is not a file of this kind"]);
    refused(&scene, Role::Receiver, &["--offline", "no/such"], 65, &["No such file"]);
    let list = scene.path(".vesica-used-offline");
    fs::create_dir(&list).unwrap();
    refused(&scene, Role::Receiver, &["--offline", FILES[0]], 65, &["the list of used ids"]);
    fs::remove_dir(&list).unwrap();
    matches(&scene, &run(&scene, FILES));
}

/// One side is killed when the other has used its file up: that one's stays used up, whatever came of the run.
#[test]
fn flaw_a_run_that_was_killed_has_used_its_files_up() {
    for killed in [Role::Receiver, Role::Sender] {
        let scene = tables();
        prepare(&scene);
        for file in FILES {
            fs::copy(scene.path(file), scene.path(&format!("copy-{file}"))).unwrap();
        }
        // The receiver has a home of its own, and the test holds its list: it stops where it would use its file up.
        let list = scene.path("elsewhere/.vesica-used-offline");
        fs::create_dir(scene.path("elsewhere")).unwrap();
        fs::rename(scene.path(FILES[0]), scene.path("elsewhere/r.off")).unwrap();
        let held = File::create(&list).unwrap();
        fs::set_permissions(&list, PermissionsExt::from_mode(0o600)).unwrap();
        held.lock().unwrap();
        let sender = with(&SENDER, &with(&PROTOCOL, &["--offline", FILES[1]]));
        let (mut sender, address) = scene.sender(&sender);
        let home = scene.path("home");
        let mut receiver = Command::new(env!("CARGO_BIN_EXE_vesica"));
        receiver.env("XDG_STATE_HOME", &home);
        let connect =
            ["receive", "--connect", &address, "--identity", "receiver.pem", "--peer", &scene.sender_key];
        let options = with(&RECEIVER, &with(&PROTOCOL, &["--offline", "elsewhere/r.off"]));
        let receiver = scene.start_as(receiver, &with(&connect, &options));
        sender.wait_for("offline phase: what it has left is used up from here on");
        assert!(!scene.exists(FILES[1]) && scene.exists("elsewhere/r.off"));
        if killed == Role::Sender {
            sender.signal(Signal::KILL);
            assert_eq!(sender.end().code, None);
            held.unlock().unwrap();
            receiver.end().expect(69, &["used up from here on"]);
            assert!(!scene.exists("elsewhere/r.off"));
            let copy = ["--offline", "copy-receiver.off"];
            // Its own list is in another home.
            let again = scene.run(&with(&connect_nowhere(&scene), &with(&PROTOCOL, &copy)));
            assert_ne!(again.code, Some(0));
        } else {
            receiver.signal(Signal::KILL);
            assert_eq!(receiver.end().code, None);
            sender.end().expect(69, &[]);
            drop(held);
            // The receiver's file is whole, and of no use: the sender has none to it.
            let (received, sent) = run_with(&scene, [&["--offline", "elsewhere/r.off"], &[]]);
            received.expect(77, &[]);
            sent.expect(77, &[]);
        }
        refused(&scene, Role::Sender, &["--offline", "copy-sender.off"], 65, &["it was used before"]);
        refused(&scene, Role::Sender, &["--offline", FILES[1]], 65, &["No such file"]);
        assert!(!scene.exists("out.csv"));
    }
}

fn connect_nowhere(scene: &Scene) -> Vec<&str> {
    let connect = ["receive", "--connect", "127.0.0.1:9", "--timeout", "1s", "--identity", "receiver.pem"];
    with(&with(&connect, &["--peer", &scene.sender_key]), &RECEIVER)
}

/// Neither side has a file unless both have stored theirs, and none is overwritten.
#[test]
fn both_sides_have_a_file_or_none() {
    let scene = tables();
    for full in [Role::Sender, Role::Receiver] {
        let options = FILES.map(|file| ["--prepare", ITEMS, "--offline", file]);
        // 8 blocks of 512 bytes or 1 KiB: far less than the file takes.
        let limited = || {
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_vesica")]);
            command
        };
        let sender_args = with(
            &["send", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--peer", &scene.receiver_key],
            &with(&PROTOCOL, &options[1]),
        );
        let mut sender = match full {
            Role::Sender => scene.start_as(limited(), &sender_args),
            Role::Receiver => scene.start(&sender_args),
        };
        let line = sender.wait_for("listening on ");
        let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
        let receiver_args = with(
            &["receive", "--connect", &address, "--identity", "receiver.pem", "--peer", &scene.sender_key],
            &with(&PROTOCOL, &options[0]),
        );
        let receiver = match full {
            Role::Receiver => scene.start_as(limited(), &receiver_args),
            Role::Sender => scene.start(&receiver_args),
        };
        let (received, sent) = (receiver.end(), sender.end());
        let (failed, other) = if full == Role::Sender { (sent, received) } else { (received, sent) };
        failed.expect(74, &["it cannot be written: File too large"]);
        other.expect(69, &[]);
        let left = scene.files();
        assert!(!left.iter().any(|name| name.contains(".off") || name.ends_with(".tmp")), "{left:?}");
    }
    scene.write(FILES[0], "mine\n");
    let connect = ["receive", "--connect", "127.0.0.1:9", "--timeout", "1s", "--identity", "receiver.pem"];
    let connect = with(&connect, &["--peer", &scene.sender_key]);
    let start = |file: &str, items: &str, code, words: &[&str]| {
        let options = ["--prepare", items, "--offline", file];
        scene.run(&with(&connect, &with(&PROTOCOL, &options))).expect(code, words);
    };
    start(FILES[0], ITEMS, 64, &["it is there already"]);
    assert_eq!(scene.read(FILES[0]), "mine\n");
    std::os::unix::fs::symlink("nowhere", scene.path("link")).unwrap();
    start("link", ITEMS, 64, &["it is there already"]);
    start("no/such", ITEMS, 74, &["it cannot be written"]);
    start("new", "0", 64, &["1 to 16777216 keys"]);
    start("new", "2^25", 64, &["1 to 16777216 keys"]);
    assert!(!scene.exists("new"));
    // Nothing that a run writes takes the place of a file that it uses or makes.
    let outputs = ["--prepare", ITEMS, "--offline", "new", "--report", "./new"];
    scene
        .run(&with(&connect, &with(&PROTOCOL, &outputs)))
        .expect(64, &["named as an output and as a file that this run"]);
}

/// A set without items needs no offline phase, and uses none up.
#[test]
fn a_run_on_an_empty_set_leaves_the_files() {
    let scene = tables();
    prepare(&scene);
    let table = scene.read("sender.csv");
    scene.write("sender.csv", "id,email\n");
    let (received, sent) = run(&scene, FILES);
    for end in [&received, &sent] {
        end.expect(0, &["the file stays as it is"]);
    }
    assert!(FILES.iter().all(|file| scene.exists(file)));
    fs::remove_file(scene.path("out.csv")).unwrap();
    scene.write("sender.csv", table);
    matches(&scene, &run(&scene, FILES));
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let scene = tables();
    let base = ["receive", "--connect", "127.0.0.1:9", "--peer", &scene.sender_key];
    let cases: [&[&str]; 4] = [
        &["--prepare", ITEMS],
        &["--prepare", ITEMS, "--offline", "x", "--input", "receiver.csv"],
        &["--offline", "x", "--input", "receiver.csv"],
        &["--offline", "x", "--insecure-plaintext"],
    ];
    for options in cases {
        scene.run(&with(&base, options)).expect(64, &["error:"]);
    }
}
