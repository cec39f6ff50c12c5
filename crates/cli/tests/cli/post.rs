//! Runs by post: both sides by themselves, never at once, killed at any moment.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use rustix::process::Signal;

use crate::common::{Ended, LOCAL, Scene, emails, plain_join, with};

const ROWS: usize = 700;
const COMMON: usize = 300;

/// Two tables, a box, and the state of runs by post beside them.
fn scene() -> (Scene, String) {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", ROWS, COMMON), emails("sender", 900, COMMON));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", &theirs);
    fs::create_dir(scene.path("box")).unwrap();
    (scene, plain_join(&mine, &theirs))
}

/// A side of a run of `dh` by post.
fn of_dh(scene: &Scene, side: &str, more: &[&str]) -> Vec<String> {
    let (input, identity, peer) = match side {
        "send" => ("sender.csv", "sender.pem", &scene.receiver_key),
        _ => ("receiver.csv", "receiver.pem", &scene.sender_key),
    };
    let output = if side == "send" { &[][..] } else { &["--output", "out.csv"] };
    let args = [side, "--input", input, "--key", "email:email", "--identity", identity, "--peer", peer];
    let post = ["--post", "box", "--protocol", "dh", "--security", "semi-honest"];
    [&args, output, &post, more].concat().into_iter().map(str::to_owned).collect()
}

/// A published set, and both sides of a look-up by post.
fn of_set(scene: &Scene, budget: &str) -> [Vec<String>; 2] {
    let table = ["--input", "sender.csv", "--key", "email:email", "--identity", "sender.pem"];
    let set = ["--secret", "set.key", "--output", "set.vset"];
    scene.run(&with(&with(&["publish"], &table), &set)).expect(0, &["epoch 1"]);
    let serve = [
        "serve",
        "--secret",
        "set.key",
        "--set",
        "set.vset",
        "--identity",
        "sender.pem",
        "--ledger",
        "ledger",
    ];
    let who = ["--allow", &*scene.receiver_key, "--post", "box", "--max-keys-per-day", budget];
    let lookup = ["lookup", "--set", "set.vset", "--input", "receiver.csv", "--key", "email:email"];
    let at =
        ["--output", "out.csv", "--identity", "receiver.pem", "--peer", &*scene.sender_key, "--post", "box"];
    let owned = |args: Vec<&str>| args.into_iter().map(str::to_owned).collect();
    [owned(with(&serve, &who)), owned(with(&lookup, &at))]
}

/// With the state of runs by post in the scene, like everything else.
fn run(scene: &Scene, args: &[String]) -> Ended {
    start(scene, args).end()
}

fn start(scene: &Scene, args: &[String]) -> crate::common::Party {
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_vesica"));
    program.env("XDG_CONFIG_HOME", scene.path("config"));
    scene.start_as(program, &args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Files that killed processes left unfinished, which a later run removes, do not count.
fn in_box(scene: &Scene) -> Vec<String> {
    let names = fs::read_dir(scene.path("box")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with(".vesica-")).collect()
}

#[test]
fn dh_goes_by_three_files() {
    let (scene, join) = scene();
    let [send, receive] = ["send", "receive"]
        .map(|side| of_dh(&scene, side, &["--pad-to", "1000", "--ledger", &format!("{side}.runs")]));
    run(&scene, &receive).expect(75, &["the sender has not begun yet"]);
    run(&scene, &send).expect(75, &["has not sent its query yet"]);
    run(&scene, &send).expect(75, &["has not sent its query yet"]);
    run(&scene, &receive).expect(75, &["the sender has not replied yet"]);
    // The receiver's message: 32 bytes a key, padded. What is before it is head and terms.
    let query = in_box(&scene).into_iter().find(|name| name.ends_with(".query")).unwrap();
    let offer = in_box(&scene).into_iter().find(|name| name.ends_with(".offer")).unwrap();
    let length = |name: &str| fs::metadata(scene.path("box").join(name)).unwrap().len();
    assert_eq!(length(&query), length(&offer) + 32 + 32 * 1000);
    run(&scene, &send).expect(0, &["this side's part is complete"]);
    run(&scene, &send).expect(75, &["the receiver has not taken it yet"]);
    run(&scene, &receive).expect(0, &[&format!("{COMMON} of {ROWS} rows match")]);
    assert_eq!(scene.read("out.csv"), join);
    assert!(in_box(&scene).is_empty());
    // Several calls are one run in the ledger.
    for (side, learns) in [("send", "rows"), ("receive", "nothing")] {
        let ledger = scene.run(&["ledger", &format!("{side}.runs"), "--json"]);
        let ledger: serde_json::Value = serde_json::from_slice(&ledger.stdout).unwrap();
        let run = &ledger["partners"][0]["sets"][0]["runs"][0];
        assert_eq!((&ledger["lines"], &run["outcome"]), (&4.into(), &"confirmed".into()), "{ledger}");
        assert_eq!((&run["peer_keys"], &run["partner_learns"]), (&1000.into(), &learns.into()));
        // The same file is the same set, so its digest is there without a report.
        assert_eq!(run["input"].as_str().map(str::len), Some(64));
    }
    // And again.
    run(&scene, &send).expect(75, &["has not sent its query yet"]);
}

#[test]
fn what_cannot_go_by_post_is_refused_before_anything_is_left() {
    let (scene, _) = scene();
    let vole: Vec<String> = of_dh(&scene, "send", &[])
        .into_iter()
        .map(|arg| if arg == "dh" { "vole".into() } else { arg })
        .collect();
    run(&scene, &vole).expect(64, &["by post only `dh` runs"]);
    let both = of_dh(&scene, "send", &["--learns", "both"]);
    run(&scene, &both).expect(64, &["by post only `dh` runs"]);
    fs::remove_dir(scene.path("box")).unwrap();
    run(&scene, &of_dh(&scene, "send", &[])).expect(74, &["there is no such folder"]);
}

#[test]
fn other_terms_and_changed_files_are_refused() {
    let (scene, join) = scene();
    let send = of_dh(&scene, "send", &[]);
    run(&scene, &send).expect(75, &[]);
    let other = |arg: String| if arg == "email:email" { "email:text".to_owned() } else { arg };
    let other: Vec<String> = of_dh(&scene, "receive", &[]).into_iter().map(other).collect();
    run(&scene, &other).expect(77, &["key rules: mine text, theirs email"]);
    let receive = of_dh(&scene, "receive", &[]);
    run(&scene, &receive).expect(75, &[]);
    // Every file in turn, changed in one byte.
    for (ending, reader) in [(".query", &send), (".reply", &receive)] {
        let name = in_box(&scene).into_iter().find(|name| name.ends_with(ending)).unwrap();
        let (path, good) = (scene.path("box").join(&name), fs::read(scene.path("box").join(&name)).unwrap());
        for at in [0, 18, 40, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, bad).unwrap();
            run(&scene, reader).expect(76, &[&name]);
        }
        fs::write(&path, &good[..good.len() - 1]).unwrap();
        run(&scene, reader).expect(76, &[&name]);
        fs::write(&path, good).unwrap();
        assert!(!scene.exists("out.csv"));
        run(&scene, reader).expect(0, &[]);
    }
    assert_eq!(scene.read("out.csv"), join);
}

#[test]
fn another_table_than_the_one_that_was_begun_with_is_refused() {
    let (scene, _) = scene();
    let [send, receive] = ["send", "receive"].map(|side| of_dh(&scene, side, &[]));
    run(&scene, &send).expect(75, &[]);
    run(&scene, &receive).expect(75, &[]);
    let (mine, theirs) = (scene.read("receiver.csv"), scene.read("sender.csv"));
    scene.write("receiver.csv", emails("receiver", ROWS + 1, COMMON));
    run(&scene, &receive).expect(64, &["begun with another table"]);
    scene.write("receiver.csv", mine);
    scene.write("sender.csv", emails("sender", 901, COMMON));
    run(&scene, &send).expect(64, &["begun with another table"]);
    scene.write("sender.csv", theirs);
    run(&scene, &send).expect(0, &[]);
    run(&scene, &receive).expect(0, &[]);
}

/// Its number of keys does not tell it from the first one; the ledger does.
#[test]
fn another_table_of_the_same_size_or_another_budget_is_refused_where_there_is_a_ledger() {
    let (scene, _) = scene();
    let send = of_dh(&scene, "send", &["--ledger", "runs"]);
    let receive = of_dh(&scene, "receive", &[]);
    run(&scene, &send).expect(75, &[]);
    run(&scene, &receive).expect(75, &[]);
    let table = scene.read("sender.csv");
    scene.write("sender.csv", table.replacen("sender", "other", 1));
    assert_ne!(scene.read("sender.csv"), table);
    run(&scene, &send).expect(64, &["begun with another table, or with other budgets"]);
    scene.write("sender.csv", &table);
    let bounded = of_dh(&scene, "send", &["--ledger", "runs", "--max-questions", "9"]);
    run(&scene, &bounded).expect(64, &["begun with another table, or with other budgets"]);
    assert!(!in_box(&scene).iter().any(|name| name.ends_with(".reply")));
    run(&scene, &send).expect(0, &[]);
    run(&scene, &receive).expect(0, &[]);
}

#[test]
fn a_query_in_the_place_of_the_first_one_is_asked_for_too() {
    let (scene, _) = scene();
    let send = of_dh(&scene, "send", &["--ledger", "runs", "--max-questions", "1399"]);
    let receive = of_dh(&scene, "receive", &[]);
    run(&scene, &send).expect(75, &[]);
    run(&scene, &receive).expect(75, &[]);
    let states = scene.path(".config").join("vesica").join("post");
    let mut states = fs::read_dir(states).unwrap().map(|entry| entry.unwrap().path());
    let state = states.find(|path| path.extension().is_some_and(|role| role == "sender")).unwrap();
    fs::copy(&state, scene.path("kept")).unwrap();
    run(&scene, &send).expect(0, &[]);
    // As if the sender had been killed at its end. Meanwhile the receiver asks for other keys, with the same head.
    fs::copy(scene.path("kept"), &state).unwrap();
    for name in in_box(&scene).into_iter().filter(|name| !name.ends_with(".offer")) {
        fs::remove_file(scene.path("box").join(name)).unwrap();
    }
    scene.write("receiver.csv", emails("other", ROWS, 0));
    run(&scene, &receive).expect(75, &["the sender has not replied yet"]);
    run(&scene, &send).expect(77, &["has asked for 700 keys", "asks for 700 now"]);
    assert!(!in_box(&scene).iter().any(|name| name.ends_with(".reply")));
}

#[test]
fn a_look_up_goes_by_two_files_and_is_charged_once() {
    let (scene, join) = scene();
    let [serve, lookup] = of_set(&scene, "1000");
    run(&scene, &lookup).expect(75, &["the sender has not answered yet"]);
    run(&scene, &lookup).expect(75, &["the sender has not answered yet"]);
    run(&scene, &serve).expect(0, &["700 keys answered"]);
    run(&scene, &serve).expect(0, &[]);
    run(&scene, &lookup).expect(0, &[&format!("{COMMON} of {ROWS} rows match")]);
    assert_eq!(scene.read("out.csv"), join);
    assert!(in_box(&scene).is_empty());
    // The budget holds, and the next day is named.
    run(&scene, &lookup).expect(75, &[]);
    run(&scene, &serve).expect(0, &["it is over its budget"]);
    run(&scene, &lookup).expect(77, &["300 keys are left until 20"]);
    assert!(in_box(&scene).is_empty());
}

#[test]
fn queries_of_others_and_changed_ones_get_no_answer() {
    let (scene, _) = scene();
    let [serve, lookup] = of_set(&scene, "10000");
    run(&scene, &lookup).expect(75, &[]);
    let name = in_box(&scene).remove(0);
    let path = scene.path("box").join(&name);
    let good = fs::read(&path).unwrap();
    for at in [20, 60, good.len() - 100, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).unwrap();
        run(&scene, &serve).expect(0, &["it is no query, or it was changed"]);
        assert_eq!(in_box(&scene), std::slice::from_ref(&name));
    }
    fs::write(&path, good).unwrap();
    let stranger: Vec<String> = serve
        .iter()
        .map(|arg| if *arg == scene.receiver_key { scene.helper_key.clone() } else { arg.clone() })
        .collect();
    run(&scene, &stranger).expect(0, &["is not allowed"]);
    run(&scene, &serve).expect(0, &["700 keys answered"]);
    // An answer that somebody changed.
    let answer = path.with_extension("answer");
    let good = fs::read(&answer).unwrap();
    let mut bad = good.clone();
    bad[200] ^= 1;
    fs::write(&answer, bad).unwrap();
    run(&scene, &lookup).expect(76, &[".answer in the post-box is not what the partner writes"]);
    fs::write(&answer, good).unwrap();
    run(&scene, &lookup).expect(0, &[]);
}

/// Runs both sides in turn and kills each at a random moment, until the output is there. Then it is whole.
fn killed_until_done(scene: &Scene, [first, second]: [&[String]; 2], rng: &mut StdRng) {
    // A little more than a whole run.
    let began = Instant::now();
    scene.run(&with(&LOCAL, &["--output", "other.csv"])).expect(0, &[]);
    let whole = began.elapsed() * 2;
    for _ in 0..300 {
        for args in [first, second] {
            let party = start(scene, args);
            thread::sleep(whole.mul_f64(rng.random::<f64>()));
            party.signal(Signal::KILL);
            drop(party.end());
            if scene.exists("out.csv") {
                return;
            }
        }
    }
    panic!("the run never ended");
}

#[test]
fn whoever_is_killed_at_any_moment_loses_nothing() {
    let rng = &mut StdRng::seed_from_u64(1);
    for _ in 0..4 {
        let (scene, join) = scene();
        let [send, receive] = ["send", "receive"].map(|side| of_dh(&scene, side, &["--pad-to", "pow2"]));
        killed_until_done(&scene, [&send, &receive], rng);
        assert_eq!(scene.read("out.csv"), join);
    }
    for _ in 0..4 {
        let (scene, join) = scene();
        // As much as one query: a batch that is charged twice ends it.
        let [serve, lookup] = of_set(&scene, &ROWS.to_string());
        killed_until_done(&scene, [&serve, &lookup], rng);
        assert_eq!(scene.read("out.csv"), join);
        // Two batches, of 92 bytes each.
        assert_eq!(fs::metadata(scene.path("ledger")).unwrap().len(), 16 + 2 * 92);
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whoever can write into the box can bring files of an earlier run back. They are signed, and of the same two parties.
#[test]
fn files_of_an_earlier_run_are_refused() {
    let (scene, join) = scene();
    let [send, receive] = ["send", "receive"].map(|side| of_dh(&scene, side, &[]));
    let names = || {
        let of = |ending: &str| in_box(&scene).into_iter().find(|name| name.ends_with(ending)).unwrap();
        [".query", ".reply"].map(of)
    };
    // The first run, of which the files are kept.
    for args in [&send, &receive, &send] {
        run(&scene, args);
    }
    let old =
        names().map(|name| (scene.path("box").join(&name), fs::read(scene.path("box").join(&name)).unwrap()));
    run(&scene, &receive).expect(0, &[]);
    fs::remove_file(scene.path("out.csv")).unwrap();
    let [(query, old_query), (reply, old_reply)] = old;
    // The second: the old query is for another offer, and the old reply is for another query.
    run(&scene, &send).expect(75, &[]);
    fs::write(&query, old_query).unwrap();
    run(&scene, &send).expect(76, &["is not what the partner writes there for this run"]);
    fs::remove_file(&query).unwrap();
    run(&scene, &receive).expect(75, &[]);
    fs::write(&reply, old_reply).unwrap();
    run(&scene, &receive).expect(76, &["is not what the partner writes there for this run"]);
    assert!(!scene.exists("out.csv"));
    fs::remove_file(&reply).unwrap();
    run(&scene, &send).expect(0, &[]);
    run(&scene, &receive).expect(0, &[]);
    assert_eq!(scene.read("out.csv"), join);
}
