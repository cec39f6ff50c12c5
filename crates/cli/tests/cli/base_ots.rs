//! `--keep-base-ots` between two processes: what the first run makes the next ones take, and what happens where it is lost.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use crate::common::{RECEIVER, SENDER, Scene, emails, plain_join, with};
use vesica::protocols::registry::{Shape, find};
use vesica::protocols::{Learns, Parameters, Role, Sizes};

const FILES: [&str; 2] = ["receiver.ots", "sender.ots"];
const COMMON: usize = 123;
const ROWS: [usize; 2] = [300, 400];

fn tables() -> Scene {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", ROWS[0], COMMON));
    scene.write("sender.csv", emails("sender", ROWS[1], COMMON));
    scene
}

/// A run of both sides, with the plain join's rows; the reports, receiver's first.
#[track_caller]
fn run(scene: &Scene, protocol: &str, keep: [bool; 2], words: [&str; 2]) -> [serde_json::Value; 2] {
    run_at(scene, protocol, "128", keep, words)
}

/// A run of both sides at a level.
#[track_caller]
fn run_at(
    scene: &Scene,
    protocol: &str,
    level: &str,
    keep: [bool; 2],
    words: [&str; 2],
) -> [serde_json::Value; 2] {
    let options = ["--security", "semi-honest", "--protocol", protocol, "--level", level];
    let party = |role: usize, report| {
        let keep: &[&str] = if keep[role] { &["--keep-base-ots", FILES[role]] } else { &[] };
        [&options[..], keep, &["--report", report]].concat()
    };
    let sender = with(&SENDER, &party(1, "theirs.json"));
    let (received, sent) = scene.pair(&sender, &with(&RECEIVER, &party(0, "mine.json")));
    received.expect(0, &[&format!("{COMMON} of {} rows match", ROWS[0]), words[0]]);
    sent.expect(0, &[words[1]]);
    assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
    std::fs::remove_file(scene.path("out.csv")).unwrap();
    ["mine.json", "theirs.json"].map(|name| serde_json::from_str(&scene.read(name)).unwrap())
}

const NEW: [&str; 2] = ["base OTs: new ones, kept for later runs, since there are none yet"; 2];
const KEPT: [&str; 2] = ["base OTs: kept from an earlier run"; 2];

/// Bytes of the terms that tell one set of base OTs from others.
const MARK: u64 = 32 + 4 + 4 + 8;

/// What went over the channel beside the messages of the protocol, receiver's side: terms and sizes.
fn around(report: &serde_json::Value, formulas: [u64; 2]) -> [u64; 2] {
    let payload = &report["bytes"]["payload"];
    [payload["sent"].as_u64().unwrap() - formulas[0], payload["received"].as_u64().unwrap() - formulas[1]]
}

fn formulas(protocol: &str, kept_base_ots: bool) -> [u64; 2] {
    let sizes = Sizes { receiver: ROWS[0], sender: ROWS[1] };
    let (parameters, learns) = (Parameters::default(), Learns::Receiver);
    let shape = Shape { sizes, parameters, learns, matches: 0, kept_base_ots };
    [Role::Receiver, Role::Sender].map(|role| find(protocol).unwrap().bytes(role, &shape))
}

#[test]
fn the_second_run_sends_no_base_ots() {
    // Bytes of the receiver of a base OT: those of a code-based extension are semi-honest ones.
    for (protocol, count, bytes) in [
        ("kkrt", 424, 32),
        ("ot-phasing", 256, 32),
        ("ot-psi", 256, 32),
        ("gbf", 128, 64),
        ("gbf-random", 128, 64),
    ] {
        let scene = tables();
        let mut without = None;
        for (number, words) in [NEW, KEPT, KEPT].into_iter().enumerate() {
            let reports = run(&scene, protocol, [true; 2], words);
            let session = around(&reports[0], formulas(protocol, number > 0));
            let without = *without.get_or_insert(session);
            let mark = if number > 0 { MARK } else { 0 };
            assert_eq!(session, without.map(|bytes| bytes + mark), "{protocol}, run {number}");
            assert_eq!(reports.map(|report| report["base_ots"].clone()), [["new", "kept"][number.min(1)]; 2]);
        }
        let [fresh, kept] = [false, true].map(|kept| formulas(protocol, kept));
        assert_eq!([fresh[0] - kept[0], fresh[1] - kept[1]], [32, bytes * count], "{protocol}");
        for file in FILES {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(scene.path(file)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(!scene.files().iter().any(|name| name.ends_with(".tmp") || name.ends_with(".vesica-new")));
    }
}

/// A process that is killed while it replaces its file leaves a whole file of secrets beside it.
#[test]
fn what_a_killed_run_has_left_goes_with_the_next_one() {
    let scene = tables();
    run(&scene, "gbf", [true; 2], NEW);
    let left = FILES.map(|name| format!(".{name}.vesica-new"));
    let unneeded = ["base OTs: this run needs none that may be kept; the file stays unchanged"; 2];
    // Whether the run replaces its file or not.
    for (protocol, words) in [("gbf", KEPT), ("dh", unneeded)] {
        for (file, left) in FILES.iter().zip(&left) {
            std::fs::copy(scene.path(file), scene.path(left)).unwrap();
        }
        run(&scene, protocol, [true; 2], words);
        assert!(left.iter().all(|left| !scene.exists(left)), "{protocol}: {:?}", scene.files());
    }
    run(&scene, "gbf", [true; 2], KEPT);
}

#[test]
fn another_protocol_takes_those_that_are_enough() {
    let scene = tables();
    run(&scene, "ot-phasing", [true; 2], NEW);
    run(&scene, "gbf", [true; 2], KEPT);
    run(
        &scene,
        "kkrt",
        [true; 2],
        ["new ones, kept for later runs, since this run needs more than there are"; 2],
    );
    run(&scene, "ot-psi", [true; 2], KEPT);
    run(&scene, "kkrt", [true; 2], KEPT);
}

/// Items of 256 bits, base OTs over P-521 and P-384, which serve their own level and no other; level 80 keeps none.
#[test]
fn levels_above_128_have_base_ots_of_their_own() {
    let scene = tables();
    let other = ["new ones, kept for later runs, since the old ones were made for another level"; 2];
    let unneeded = ["base OTs: this run needs none that may be kept; the file stays unchanged"; 2];
    run_at(&scene, "gbf-random", "128", [true; 2], NEW);
    for (level, words, sent) in [("192", other, [98, 49 * 192]), ("256", other, [134, 67 * 256])] {
        let made = run_at(&scene, "gbf-random", level, [true; 2], words);
        let kept = run_at(&scene, "gbf-random", level, [true; 2], KEPT);
        assert_eq!(made[0]["parameters"]["level"], level.parse::<u64>().unwrap());
        // In the second run each side sent its mark, and no base OTs.
        let [made, kept] = [&made[0], &kept[0]].map(|report| around(report, [0; 2]));
        assert_eq!([made[0] - kept[0], made[1] - kept[1]], sent, "{level}");
    }
    run_at(&scene, "gbf", "256", [true; 2], KEPT);
    run_at(&scene, "gbf", "80", [true; 2], unneeded);
    run_at(&scene, "gbf", "128", [true; 2], other);
    run_at(&scene, "gbf", "80", [true; 2], unneeded);
    run_at(&scene, "gbf", "128", [true; 2], KEPT);
    run_at(&scene, "gbf", "256", [false; 2], ["", ""]);
}

#[test]
fn what_one_side_has_lost_both_make_anew() {
    let scene = tables();
    let lost = ["since this side has none", "since the partner has none"];
    run(&scene, "kkrt", [true; 2], NEW);
    for gone in [0, 1] {
        std::fs::remove_file(scene.path(FILES[gone])).unwrap();
        run(&scene, "kkrt", [true; 2], [lost[gone], lost[1 - gone]]);
        run(&scene, "kkrt", [true; 2], KEPT);
    }
    // One side has those of another day, which the other one has replaced.
    std::fs::copy(scene.path(FILES[0]), scene.path("old")).unwrap();
    std::fs::remove_file(scene.path(FILES[1])).unwrap();
    run(&scene, "kkrt", [true; 2], [lost[1], lost[0]]);
    std::fs::copy(scene.path("old"), scene.path(FILES[0])).unwrap();
    run(&scene, "kkrt", [true; 2], ["since the two sides have different ones"; 2]);
    // One side, then both, are put back to where they were runs ago: other strings come of them all the same.
    let restore = |file: &str| {
        std::fs::copy(scene.path(&format!("{file}.old")), scene.path(file)).unwrap();
    };
    for file in FILES {
        std::fs::copy(scene.path(file), scene.path(&format!("{file}.old"))).unwrap();
    }
    run(&scene, "kkrt", [true; 2], KEPT);
    restore(FILES[1]);
    run(&scene, "kkrt", [true; 2], KEPT);
    FILES.into_iter().for_each(restore);
    run(&scene, "kkrt", [true; 2], KEPT);
}

#[test]
fn nothing_is_kept_unless_both_do() {
    let scene = tables();
    run(&scene, "kkrt", [true, false], ["base OTs: not kept, since the partner keeps none", ""]);
    run(&scene, "kkrt", [false, true], ["", "base OTs: not kept, since the partner keeps none"]);
    assert!(!FILES.iter().any(|file| scene.exists(file)));
    let reports = run(&scene, "kkrt", [false; 2], ["", ""]);
    assert!(reports.iter().all(|report| report["base_ots"].is_null()));
}

#[test]
fn protocols_without_base_ots_that_may_be_cached_leave_the_file_alone() {
    let scene = tables();
    for protocol in ["dh", "vole"] {
        run(
            &scene,
            protocol,
            [true; 2],
            ["base OTs: this run needs none that may be kept; the file stays unchanged"; 2],
        );
        assert!(!FILES.iter().any(|file| scene.exists(file)));
    }
}

/// Runs a receiver that ends before it looks for its partner.
#[track_caller]
fn refused(scene: &Scene, role: &str, more: &[&str], words: &[&str]) {
    let identity = format!("{role}.pem");
    let input = format!("{role}.csv");
    let mut args = vec![if role == "receiver" { "receive" } else { "send" }, "--connect", "127.0.0.1:9"];
    args.extend(["--input", &input, "--key", "email:email", "--identity", &identity, "--timeout", "1s"]);
    if role == "receiver" {
        args.extend(["--output", "out.csv"]);
    }
    args.extend(more);
    scene.run(&args).expect(64, words);
    assert!(!scene.exists("out.csv"));
}

#[test]
fn a_file_that_does_not_belong_is_refused_and_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let scene = tables();
    run(&scene, "ot-phasing", [true; 2], NEW);
    let good = std::fs::read(scene.path(FILES[0])).unwrap();
    let options = ["--security", "semi-honest", "--protocol", "kkrt", "--keep-base-ots", FILES[0]];
    let peer = ["--peer", &scene.sender_key];
    let check = |bytes: &[u8], word: &str| {
        scene.write(FILES[0], bytes);
        refused(&scene, "receiver", &with(&options, &peer), &["`--keep-base-ots receiver.ots`: ", word]);
        assert_eq!(std::fs::read(scene.path(FILES[0])).unwrap(), bytes, "{word}");
    };
    let flipped = |place: usize| {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        bytes
    };
    // The role, a key, the id, the strings, the sum; a cut; more; nothing; another file; another version.
    for place in [18, 30, 60, 100, 2000, good.len() - 1] {
        check(&flipped(place), "it is damaged");
    }
    check(&good[..good.len() - 1], "it is damaged");
    check(&good[..17], "it is damaged");
    check(&[&good[..], b"0"].concat(), "it is damaged");
    check(b"", "it holds no base OTs");
    check(b"id,email\n", "it holds no base OTs");
    check(&vec![0; 70_000], "it is not a file of this kind");
    check(&flipped(17), "its version is 258");
    scene.write(FILES[0], &good);
    let mode =
        |mode| std::fs::set_permissions(scene.path(FILES[0]), PermissionsExt::from_mode(mode)).unwrap();
    mode(0o640);
    refused(&scene, "receiver", &with(&options, &peer), &["can be read by others (mode 640)"]);
    mode(0o600);
    // The other role, another partner, another identity of mine, the partner's own file.
    let as_sender = with(&options, &["--peer", &scene.sender_key, "--identity", "receiver.pem"]);
    let mut args =
        vec!["send", "--connect", "127.0.0.1:9", "--input", "receiver.csv", "--key", "email:email"];
    args.extend(&as_sender);
    scene.run(&args).expect(64, &["this side kept it as receiver", "one for each partner and role"]);
    let other = scene.run(&["keygen", "--output", "other.pem"]);
    let other = String::from_utf8(other.stdout).unwrap();
    refused(
        &scene,
        "receiver",
        &with(&options, &["--peer", other.trim()]),
        &["it belongs to another partner"],
    );
    std::fs::copy(scene.path("receiver.pem"), scene.path("receiver.pem.kept")).unwrap();
    std::fs::copy(scene.path("other.pem"), scene.path("receiver.pem")).unwrap();
    refused(&scene, "receiver", &with(&options, &peer), &["this side kept it under another identity"]);
    std::fs::copy(scene.path("receiver.pem.kept"), scene.path("receiver.pem")).unwrap();
    let theirs = ["--security", "semi-honest", "--keep-base-ots", FILES[1], "--peer", &scene.sender_key];
    refused(&scene, "receiver", &theirs, &["this side kept it under another identity"]);
    // A folder that is not there, or a folder.
    for (path, word) in [("no/such.ots", "cannot be written"), (".", "it is not a file of this kind")] {
        let options = ["--security", "semi-honest", "--keep-base-ots", path, "--peer", &scene.sender_key];
        refused(&scene, "receiver", &options, &[word]);
    }
    // After all that it still serves.
    run(&scene, "ot-phasing", [true; 2], KEPT);
}

#[test]
fn malicious_runs_and_strangers_keep_nothing() {
    let scene = tables();
    let peer = scene.sender_key.clone();
    let keep = ["--peer", peer.as_str(), "--keep-base-ots", FILES[0]];
    refused(&scene, "receiver", &keep, &["only if both sides follow the protocol", "--security semi-honest"]);
    let args = [
        "receive",
        "--connect",
        "127.0.0.1:9",
        "--input",
        "receiver.csv",
        "--key",
        "email:email",
        "--output",
    ];
    let plaintext =
        ["out.csv", "--insecure-plaintext", "--keep-base-ots", FILES[0], "--security", "semi-honest"];
    scene.run(&with(&args, &plaintext)).expect(64, &["--insecure-plaintext"]);
    assert!(!scene.exists(FILES[0]));
    // Nothing else that a run writes takes their place, before they are there
    let options =
        ["--security", "semi-honest", "--protocol", "gbf", "--keep-base-ots", FILES[0], "--peer", &peer];
    let args = ["receive", "--connect", "127.0.0.1:9", "--input", "receiver.csv", "--key", "email:email"];
    let args = with(&with(&args, &["--identity", "receiver.pem"]), &options);
    let dotted = format!("./{}", FILES[0]);
    for outputs in [
        &["--output", FILES[0]][..],
        &["--output", &dotted],
        &["--output", "out.csv", "--report", FILES[0]],
        &["--output", "out.csv", "--events", &dotted],
    ] {
        scene
            .run(&with(&args, outputs))
            .expect(64, &[FILES[0], "named as an output and as a file that this run"]);
        assert!(!scene.exists(FILES[0]) && !scene.exists("out.csv"));
    }
    // and after.
    run(&scene, "gbf", [true; 2], NEW);
    scene.run(&with(&args, &["--output", FILES[0]])).expect(74, &["same file as an input"]);
    run(&scene, "gbf", [true; 2], KEPT);
}
