//! `--ledger` and `vesica ledger`: what is written down before anything leaves, budgets over runs, and two runs at once
//! with one ledger, killed at any moment.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{ANOTHER_DAY, Ended, LOCAL, Party, RECEIVER, SENDER, Scene, nothing_lost, scene, with};

const COUNT: [&str; 4] = ["--security", "semi-honest", "--result", "count"];
const LEDGER: [&str; 2] = ["--ledger", "runs"];

/// Rounds in which kills fall into every state of a run.
const MANY: u64 = 200;

/// What `vesica ledger` says.
#[track_caller]
fn ledger(scene: &Scene) -> Value {
    let shown = scene.run(&["ledger", "runs", "--json"]);
    shown.expect(0, &[]);
    serde_json::from_slice(&shown.stdout).unwrap()
}

/// The lines of the ledger.
fn lines(scene: &Scene) -> Vec<Value> {
    scene.read("runs").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(scene: &Scene) -> Vec<String> {
    lines(scene).iter().map(|line| line["kind"].as_str().unwrap().to_owned()).collect()
}

/// A run with a count, of which the sender keeps a ledger. The receiver's end first.
fn count(scene: &Scene, sender: &[&str]) -> (Ended, Ended) {
    let mine = with(&with(&SENDER, &COUNT), &with(&LEDGER, sender));
    let noise: &[&str] =
        sender.iter().position(|word| *word == "--noise").map_or(&[], |at| &sender[at..at + 2]);
    let receiver = with(&with(&["--input", "receiver.csv", "--key", "email:email"], &COUNT), noise);
    scene.pair(&mine, &receiver)
}

/// The screen has no key and nothing but the ledger was added.
fn nothing_left(scene: &Scene, ends: &[&Ended]) {
    fs::remove_file(scene.path("runs")).unwrap();
    nothing_lost(scene, ends);
}

#[test]
fn a_run_is_written_down_and_its_lines_follow_one_another() {
    let scene = scene(100);
    let report = ["--report", "sender.json"];
    let (received, sent) = scene.pair(&with(&with(&SENDER, &LEDGER), &report), &RECEIVER);
    received.expect(0, &[]);
    sent.expect(0, &["run 1 ends with line 3, whose digest is "]);
    let (lines, report) = (lines(&scene), scene.read("sender.json"));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(kinds(&scene), ["ledger", "begin", "agreed", "ended"]);
    assert_eq!(lines[1]["partner"], scene.receiver_key.as_str());
    assert_eq!((&lines[1]["input"], &lines[1]["keys"]), (&report["input"]["blake3"], &100.into()));
    assert_eq!((&lines[1]["partner_learns"], &lines[1]["role"]), (&"rows".into(), &"sender".into()));
    assert_eq!((&lines[2]["session"], &lines[2]["protocol"]), (&report["session"], &report["protocol"]));
    assert_eq!((&lines[2]["peer_keys"], &lines[3]["outcome"]), (&100.into(), &"confirmed".into()));
    // The digest of a line is of what stands before it.
    let digest = |line: &str| blake3::hash(line.rsplit_once(",\"digest\"").unwrap().0.as_bytes()).to_string();
    let digests: Vec<String> = scene.read("runs").lines().map(digest).collect();
    for at in 1..lines.len() {
        let chained = (&lines[at]["previous"], &lines[at]["digest"], &lines[at]["line"]);
        assert_eq!(chained, (&digests[at - 1].as_str().into(), &digests[at].as_str().into(), &at.into()));
    }
    assert_eq!(ledger(&scene)["last"], digests[3].as_str());
    let last = serde_json::json!({"run": 1, "line": 3, "digest": digests[3]});
    assert_eq!((&report["ledger"], &report["sizes"]["shown"]), (&last, &true.into()));
    let shown = scene.run(&["ledger", "runs", "--expect", &digests[1]]);
    shown.expect(0, &[]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    for words in [
        "4 lines, and their chain holds",
        &digests[3],
        &scene.receiver_key,
        "nearly the same set: 100 keys of email",
        " UTC  sender, rows by vole",
        "keys of the partner whose match it learned: 100 (no limit)",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(
        shown.contains("sender, rows by vole, 100 keys, partner's 100; partner learns rows; confirmed"),
        "{shown}"
    );
    // The receiver can keep one as well, of which the sender learns nothing.
    fs::remove_file(scene.path("runs")).unwrap();
    scene.pair(&SENDER, &with(&RECEIVER, &with(&LEDGER, &["--max-counts", "0"]))).0.expect(0, &[]);
    assert_eq!(self::lines(&scene)[1]["partner_learns"], "nothing");
}

#[test]
fn counts_beyond_the_budget_are_refused_before_anything_moves() {
    let scene = scene(60);
    for _ in 0..4 {
        let (received, sent) = count(&scene, &[]);
        received.expect(0, &[]);
        sent.expect(0, &[]);
    }
    // The same file is the same set, so its digest is there without a report.
    let table = blake3::hash(scene.read("sender.csv").as_bytes()).to_string();
    assert_eq!(lines(&scene)[1]["input"], table.as_str());
    // The fifth, about nearly the same set: two keys are others.
    let table = scene.read("sender.csv");
    let last = table.trim_end().rsplit_once('\n').unwrap().0;
    scene.write("sender.csv", format!("{last}\n1000,somebody@example.com\n"));
    let before = scene.read("runs");
    let (received, sent) = count(&scene, &["--report", "refused.json"]);
    sent.expect(77, &["`--max-counts 4` is the limit", "runs 1 (20", "where: on this side, phase agree"]);
    received.expect(69, &["the partner ended the run"]);
    // A line says so, in the report too. This side's size has not left it.
    let (after, report) = (scene.read("runs"), scene.read("refused.json"));
    let (last, report) = (after.strip_prefix(&before).unwrap(), report.parse::<Value>().unwrap());
    let line: Value = serde_json::from_str(last).unwrap();
    assert_eq!(
        (&line["kind"], &line["budget"], &line["limit"]),
        (&"refused".into(), &"max-counts".into(), &"4".into())
    );
    assert_eq!((&report["ledger"]["run"], &report["ledger"]["digest"]), (&5.into(), &line["digest"]));
    assert_eq!(report["sizes"]["shown"], false);
    let shown = String::from_utf8(scene.run(&["ledger", "runs"]).stdout).unwrap();
    assert!(shown.contains("refused by --max-counts 4; it does not count"), "{shown}");
    // Another number, and another partner's runs.
    count(&scene, &["--max-counts", "5"]).1.expect(0, &[]);
    let shown = &ledger(&scene)["partners"][0]["sets"][0];
    assert_eq!((&shown["counts"]["spent"], &shown["counts"]["left"]), (&5.into(), &0.into()));
    nothing_left(&scene, &[&received, &sent]);
}

#[test]
fn noise_adds_up_over_runs() {
    let scene = scene(60);
    let run = |noise, most| count(&scene, &["--noise", noise, "--max-epsilon", most]).1;
    run("0.4", "1").expect(0, &[]);
    run("0.6", "1").expect(0, &[]);
    run("0.001", "1").expect(77, &["would be 1.001", "--max-epsilon 1`"]);
    count(&scene, &["--max-epsilon", "2"]).1.expect(77, &["an exact number, or rows"]);
    let shown = scene.run(&["ledger", "runs"]).stdout;
    let shown = String::from_utf8(shown).unwrap();
    // The limit is that of the last run, which was refused.
    assert!(shown.contains("epsilon of counts with noise: 1 (of 2)"), "{shown}");
    // Rows tell more than a count: no limit allows them, and none holds after them.
    let rows = |more: &[&str]| scene.pair(&with(&SENDER, &with(&LEDGER, more)), &RECEIVER).1;
    rows(&["--max-epsilon", "9"]).expect(77, &["an exact number, or rows", "`--max-epsilon 9`"]);
    rows(&[]).expect(0, &[]);
    run("0.1", "9").expect(77, &["had rows, or counts without noise"]);
    let shown = String::from_utf8(scene.run(&["ledger", "runs"]).stdout).unwrap();
    assert!(shown.contains("epsilon of counts with noise: 1 (of 9); 1 more with rows"), "{shown}");
}

#[test]
fn the_partners_questions_add_up_over_runs() {
    let scene = scene(80);
    let run = |most| scene.pair(&with(&SENDER, &with(&LEDGER, &["--max-questions", most])), &RECEIVER);
    run("100").1.expect(0, &[]);
    let (received, sent) = run("159");
    sent.expect(77, &["has asked for 80 keys", "asks for 80 now", "--max-questions 159"]);
    received.expect(69, &["the partner ended the run"]);
    run("160").1.expect(0, &[]);
    run("160").1.expect(77, &["has asked for 160 keys"]);
    // A refused run asked for nothing. Where sizes and protocol were known, they are shown.
    assert_eq!(ledger(&scene)["partners"][0]["sets"][0]["questions"]["spent"], 160);
    let shown = String::from_utf8(scene.run(&["ledger", "runs"]).stdout).unwrap();
    for (run, words) in [
        (2, "rows by vole, 80 keys, partner's 80; partner learns rows; refused by --max-questions 159"),
        (4, "rows, 80 keys, partner's not told; partner learns rows; refused by --max-questions 160"),
    ] {
        let line = shown.lines().find(|line| line.starts_with(&format!("    run {run:4} "))).unwrap();
        assert!(line.ends_with(&format!("{words}; it does not count")), "{line}");
    }
}

#[test]
fn a_changed_or_foreign_ledger_ends_runs_before_the_partner_is_met() {
    let scene = scene(20);
    count(&scene, &[]).1.expect(0, &[]);
    let good = scene.read("runs");
    let args =
        ["send", "--connect", "127.0.0.1:9", "--identity", "sender.pem", "--peer", &scene.receiver_key];
    let args = with(&with(&args, &SENDER), &with(&COUNT, &LEDGER));
    let check = |text: &str, code, word: &str| {
        scene.write("runs", text);
        scene.run(&args).expect(code, &[word, "phase prepare"]);
        scene.run(&["ledger", "runs"]).expect(code, &[word]);
        assert_eq!(scene.read("runs"), text);
    };
    check(&good.replacen("\"count\"", "\"rows\"", 1), 65, "line 1 (counted from 0) was changed");
    check(&good.replacen("\"confirmed\"", "\"failed\"", 1), 65, "line 3 (counted from 0) was changed");
    check(&format!("{good}garbage"), 65, "line 4 (counted from 0) was changed");
    check("id,email\n1,a\n", 64, "is not a ledger of runs");
    scene.write("runs", &good);
    let last = good.lines().last().unwrap();
    let digest = serde_json::from_str::<Value>(last).unwrap()["digest"].as_str().unwrap().to_owned();
    scene.write("runs", good.replace(&format!("{last}\n"), ""));
    scene.run(&["ledger", "runs", "--expect", &digest]).expect(65, &["no line of the ledger has the digest"]);
    scene
        .run(&["ledger", "runs", "--expect", &digest[..12]])
        .expect(64, &["a digest has 64 hexadecimal digits"]);
    scene.run(&["ledger", "none"]).expect(65, &["none: "]);
    scene.write("receipt.json", "{}");
    let written = "that `vesica receive` or `vesica send` has written with `--ledger`";
    scene.run(&["ledger", "receipt.json"]).expect(64, &["receipt.json is not a ledger of runs", written]);
    scene.write("served", "vesica ledger 1\n");
    scene.run(&["ledger", "served"]).expect(64, &["served is the ledger of `vesica serve`", written]);
    assert!(!scene.exists("none"));
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
}

#[test]
fn a_ledger_goes_with_a_partner_whose_key_is_known() {
    let scene = scene(5);
    let plain = ["send", "--connect", "127.0.0.1:9", "--insecure-plaintext"];
    scene.run(&with(&plain, &with(&SENDER, &LEDGER))).expect(64, &["--insecure-plaintext", "--ledger"]);
    scene.run(&with(&LOCAL, &LEDGER)).expect(64, &["unexpected argument '--ledger'"]);
    for budget in ["--max-counts", "--max-questions", "--max-epsilon"] {
        let unknown = format!("unexpected argument '{budget}'");
        scene.run(&with(&LOCAL, &[budget, "1"])).expect(64, &[&unknown]);
    }
    let remedy = "name the ledger with `--ledger`";
    let peer =
        ["send", "--connect", "127.0.0.1:9", "--identity", "sender.pem", "--peer", &scene.receiver_key];
    let peer = with(&peer, &SENDER);
    scene.run(&with(&peer, &["--max-epsilon", "1"])).expect(64, &["`--max-epsilon` is a budget", remedy]);
    scene
        .run(&with(&peer, &["--ledger", "absent/runs"]))
        .expect(64, &["make the folder first", "phase prepare"]);
    // No output takes its place.
    let both = with(&peer, &["--learns", "both", "--output", "runs", "--ledger", "runs"]);
    scene.run(&both).expect(64, &["runs", "named as an output"]);
    assert!(!scene.exists("runs"));
}

#[test]
fn parts_and_padding_change_nothing() {
    let scene = scene(3000);
    let run = |mine: &[&str], theirs: &[&str]| {
        let (received, sent) = scene.pair(&with(&with(&SENDER, &LEDGER), mine), &with(&RECEIVER, theirs));
        received.expect(0, &[]);
        sent.expect(0, &[]);
        fs::remove_file(scene.path("out.csv")).unwrap();
    };
    run(&[], &[]);
    run(&["--parts", "3"], &["--parts", "3"]);
    let sketches: Vec<_> =
        lines(&scene).iter().filter_map(|line| line["sketch"].as_str().map(str::to_owned)).collect();
    assert!(sketches.len() == 2 && sketches.iter().all(|sketch| *sketch == sketches[0]));
    // Dummies are no part of it.
    run(&["--pad-to", "4000"], &[]);
    let shown = &ledger(&scene)["partners"][0]["sets"];
    assert_eq!((shown[0]["runs"].as_array().unwrap().len(), &shown[0]["keys"]), (3, &3000.into()));
    assert_eq!(shown[0]["questions"]["spent"], 9000);
}

/// Two pairs at once share the sender's ledger and race for the last count; the senders are killed at any moment.
/// Afterwards the ledger has each run of which a receiver saw anything, and never more counts than its budget.
fn kills(rounds: u64) {
    let scene = scene(40);
    let mut rng = StdRng::seed_from_u64(40);
    let (mut killed, mut begun_in_all, mut torn_in_all) = (0, 0, 0);
    count(&scene, &[]).1.expect(0, &[]);
    for round in 0..rounds {
        if round % 4 == 3 {
            tear(&scene, &mut rng);
            torn_in_all += 1;
        }
        let spent =
            |scene: &Scene| ledger(scene)["partners"][0]["sets"][0]["counts"]["spent"].as_u64().unwrap();
        let (before, runs_before) = (spent(&scene), begun(&scene));
        let budget = (before + 1).to_string();
        let mine = with(&with(&SENDER, &COUNT), &with(&LEDGER, &["--max-counts", &budget]));
        let senders: Vec<(Party, String)> = (0..2).map(|_| scene.sender(&mine)).collect();
        let receivers: Vec<Party> = senders
            .iter()
            .enumerate()
            .map(|(at, (_, address))| {
                let report = format!("receiver{at}.json");
                let theirs = with(
                    &with(&["--input", "receiver.csv", "--key", "email:email"], &COUNT),
                    &["--report", &report],
                );
                scene.receiver(address, &theirs)
            })
            .collect();
        if round % 3 > 0 {
            until_begun(&scene);
        }
        thread::sleep(Duration::from_micros(
            rng.random_range(0..if round % 3 > 0 { 15_000 } else { 60_000 }),
        ));
        let which = rng.random_range(1..4u32);
        for (at, (sender, _)) in senders.iter().enumerate() {
            if which >> at & 1 == 1 {
                sender.signal(Signal::KILL);
                killed += 1;
            }
        }
        let ended: Vec<Ended> = senders.into_iter().map(|(sender, _)| sender.end()).collect();
        // A receiver whose sender was killed early looks for it still.
        thread::sleep(Duration::from_millis(100));
        receivers.iter().for_each(|receiver| receiver.signal(Signal::TERM));
        receivers.into_iter().for_each(|receiver| drop(receiver.end()));
        check(&scene, round, before, runs_before, &ended);
        begun_in_all += begun(&scene) - runs_before;
    }
    let runs = ledger(&scene);
    assert_eq!(runs["torn"].as_array().unwrap().len(), torn_in_all);
    let runs = runs["partners"][0]["sets"][0]["runs"].as_array().unwrap();
    let open: Vec<&Value> = runs.iter().filter(|run| run["outcome"] == "open").collect();
    let playing = open.iter().filter(|run| !run["session"].is_null()).count();
    println!(
        "{rounds} rounds: {killed} senders killed, {begun_in_all} runs begun, {} of them killed, {playing} of these in the \
         protocol; {torn_in_all} torn lines, all named",
        open.len()
    );
    // In many rounds some kills fall before the protocol, and some into it.
    if rounds >= MANY {
        assert!(playing > 0 && open.len() > playing, "{playing} of {} runs", open.len());
    }
}

/// Waits until a run of this round is in the ledger.
fn until_begun(scene: &Scene) {
    let length = || fs::metadata(scene.path("runs")).unwrap().len();
    let (before, start) = (length(), Instant::now());
    while length() == before && start.elapsed() < Duration::from_secs(2) {
        thread::sleep(Duration::from_micros(200));
    }
}

fn begun(scene: &Scene) -> usize {
    let runs = ledger(scene);
    let sets =
        runs["partners"].as_array().unwrap().iter().flat_map(|partner| partner["sets"].as_array().unwrap());
    let of_set = |set: &Value| {
        let runs = set["runs"].as_array().unwrap().iter();
        runs.filter(|run| run["outcome"] != "refused").count()
    };
    sets.map(of_set).sum()
}

/// Leaves what a crash leaves of a line: some of its bytes, or zeros.
fn tear(scene: &Scene, rng: &mut StdRng) {
    let mut text = fs::read(scene.path("runs")).unwrap();
    let last = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last: Value = serde_json::from_slice(&text[last..]).unwrap();
    let (line, previous) = (last["line"].as_u64().unwrap() + 1, last["digest"].as_str().unwrap());
    let rest = r#""time":"2026-11-29T08:00:00.000Z","kind":"begin","role":"#;
    let line = format!(r#"{{"line":{line},"previous":"{previous}",{rest}"#).into_bytes();
    let length = rng.random_range(1..line.len());
    match rng.random_bool(0.5) {
        true => text.extend(&line[..length]),
        false => text.resize(text.len() + 10 * length, 0),
    }
    fs::write(scene.path("runs"), text).unwrap();
}

/// What must hold after every round.
fn check(scene: &Scene, round: u64, before: u64, runs_before: usize, ended: &[Ended]) {
    // The chain holds, or this fails.
    let runs = ledger(scene);
    let sets = runs["partners"][0]["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 1, "round {round}");
    assert!(sets[0]["counts"]["spent"].as_u64().unwrap() <= before + 1, "round {round}: overspent");
    let sessions: Vec<&Value> =
        sets[0]["runs"].as_array().unwrap().iter().map(|run| &run["session"]).collect();
    let mut seen = 0;
    for at in 0..2 {
        let report: Value = serde_json::from_str(&scene.read(&format!("receiver{at}.json"))).unwrap();
        // The receiver has the sender's size.
        seen += usize::from(!report["sizes"]["peer_items"].is_null());
        if !report["result"]["count"].is_null() {
            assert!(sessions.contains(&&report["session"]), "round {round}: a count without its line");
        }
    }
    assert!(begun(scene) - runs_before >= seen, "round {round}: a run without a line");
    // Whoever was not killed has come to its end or was refused.
    for end in ended.iter().filter(|end| end.code.is_some()) {
        assert!([Some(0), Some(77), Some(69)].contains(&end.code), "round {round}: {}", end.screen);
    }
}

#[test]
fn ten_kills_of_two_runs_at_once() {
    kills(10);
}

#[test]
#[ignore = "minutes: `cargo test -p vesica-cli --test cli -- --ignored --nocapture two_hundred_kills`"]
fn two_hundred_kills_of_two_runs_at_once() {
    kills(MANY);
}
