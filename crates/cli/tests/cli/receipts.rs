//! Receipts: both sides have the same one, and `verify` says what is wrong with any other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{LOCAL, RECEIVER, SENDER, Scene, emails, nothing_lost, scene, with};
use crate::kept_sets::{MINE, lookup, published, serve, stop};

/// Runs both sides with `options`, each with a receipt and a report; the receipt, which is the same on both sides.
fn run(scene: &Scene, options: &[&str], sender: &[&str]) -> Value {
    // A receipt replaces none.
    ["r.json", "s.json"].iter().for_each(|file| drop(std::fs::remove_file(scene.path(file))));
    let mine = with(&with(&RECEIVER, options), &["--receipt", "r.json", "--report", "r-report.json"]);
    let theirs = with(&with(&SENDER, options), &["--receipt", "s.json", "--report", "s-report.json"]);
    let (received, sent) = scene.pair(&with(&theirs, sender), &mine);
    sent.expect(0, &[]);
    received.expect(0, &[]);
    let receipt = scene.read("r.json");
    assert_eq!(receipt, scene.read("s.json"), "both sides have the same bytes");
    scene.run(&["verify", "r.json"]).expect(0, &[]);
    serde_json::from_str(&receipt).unwrap()
}

fn report(scene: &Scene, name: &str) -> Value {
    serde_json::from_str(&scene.read(name)).unwrap()
}

/// What `verify` prints, which ends well.
fn verified(scene: &Scene, args: &[&str]) -> String {
    let ended = scene.run(&with(&["verify"], args));
    ended.expect(0, &[]);
    String::from_utf8(ended.stdout).unwrap()
}

#[test]
fn both_sides_write_the_same_receipt_which_fits_both_reports() {
    let scene = scene(40);
    let receipt = run(&scene, &[], &[]);
    let statement = &receipt["statement"];
    let [mine, theirs] = ["r-report.json", "s-report.json"].map(|name| report(&scene, name));
    for report in [&mine, &theirs] {
        assert_eq!(report["receipt"], receipt);
        for field in ["session", "protocol", "terms"] {
            assert_eq!(report[field], statement[field], "{field}");
        }
        for (name, value) in statement["parameters"].as_object().unwrap() {
            assert_eq!(report["parameters"][name], *value, "{name}");
        }
        assert_eq!(
            (&report["result"]["kind"], &report["learns"]),
            (&statement["result"], &statement["learns"])
        );
    }
    for (report, role) in [(&mine, "receiver"), (&theirs, "sender")] {
        let party = &statement[role];
        assert_eq!((&report["keys"]["mine"], &report["started"]), (&party["key"], &party["started"]));
        assert_eq!(
            (&report["transcript"]["sent"], &report["versions"]["vesica"]),
            (&party["sent"], &party["version"])
        );
        assert_eq!(report["sizes"]["shown_items"], party["items"]);
    }
    let words = verified(&scene, &["r.json", "--report", "s-report.json"]);
    for said in [
        &*scene.receiver_key,
        &scene.sender_key,
        "security malicious",
        "It does not prove",
        "a set of 40 keys",
    ] {
        assert!(words.contains(said), "{said}\n{words}");
    }
    // In a report, and printed again.
    let inside = verified(&scene, &["r-report.json", "--report", "r-report.json"]);
    assert_eq!(inside, words.replace("s-report.json", "r-report.json"));
    assert_eq!(serde_json::from_str::<Value>(&verified(&scene, &["r.json", "--json"])).unwrap(), receipt);
}

#[test]
fn one_side_alone_may_ask_for_it() {
    for (receiver, sender) in [(true, false), (false, true), (false, false)] {
        let scene = scene(20);
        let of = |given: bool| {
            if given { &["--receipt", "receipt.json", "--report", "report.json"][..] } else { &[] }
        };
        let (received, sent) = scene.pair(&with(&SENDER, of(sender)), &with(&RECEIVER, of(receiver)));
        received.expect(0, &[]);
        sent.expect(0, &[]);
        assert_eq!(scene.exists("receipt.json"), receiver || sender);
        if receiver || sender {
            verified(&scene, &["receipt.json", "--report", "report.json"]);
        }
    }
    // A report without one says so.
    let scene = scene(20);
    let (_, sent) = scene.pair(&with(&SENDER, &["--report", "report.json"]), &RECEIVER);
    sent.expect(0, &[]);
    assert!(report(&scene, "report.json").get("receipt").is_none());
    scene.run(&["verify", "report.json"]).expect(65, &["it holds no receipt"]);
}

#[test]
fn every_kind_of_run_has_one() {
    let semi_honest = ["--security", "semi-honest"];
    let count = ["--security", "semi-honest", "--result", "count"];
    let kinds: [(&[&str], &[&str], [&str; 2]); 6] = [
        (&semi_honest, &["--protocol", "dh"], ["rows", "receiver"]),
        (&semi_honest, &["--learns", "both"], ["rows", "both"]),
        (&count, &[], ["count", "receiver"]),
        (&count, &["--at-least", "3"], ["at-least", "receiver"]),
        (&semi_honest, &["--payload", "id"], ["payload", "receiver"]),
        (&[], &["--parts", "3"], ["rows", "receiver"]),
    ];
    let scene = scene(60);
    for (options, more, [result, learns]) in kinds {
        let options = with(options, more);
        let receipt = run(&scene, &options, &[]);
        let statement = &receipt["statement"];
        assert_eq!(
            (&statement["result"], &statement["learns"]),
            (&result.into(), &learns.into()),
            "{options:?}"
        );
        assert_eq!(statement["parts"], if options.contains(&"--parts") { 3 } else { 1 }, "{options:?}");
        verified(&scene, &["s.json", "--report", "r-report.json"]);
    }
}

/// What both agreed to refuse is refused after the run was confirmed.
#[test]
fn a_run_with_too_few_matches_has_one() {
    let scene = scene(20);
    let options = ["--security", "semi-honest", "--result", "count", "--min-matches", "19"];
    let (received, sent) = scene.pair(
        &with(&with(&SENDER, &options), &["--receipt", "s.json"]),
        &with(&with(&RECEIVER, &options), &["--receipt", "r.json"]),
    );
    nothing_lost(&scene, &[&received, &sent]);
    received.expect(77, &[]);
    sent.expect(77, &[]);
    assert_eq!(scene.read("r.json"), scene.read("s.json"));
    verified(&scene, &["r.json"]);
}

#[test]
fn a_run_with_a_helper_names_it() {
    let scene = scene(20);
    let (helper, address) = scene.helper(&[]);
    let three = ["--protocol", "server-aided", "--security", "semi-honest", "--helper", &address];
    let helped = with(&three, &["--helper-key", &scene.helper_key]);
    let receipt = run(&scene, &helped, &[]);
    helper.end().expect(0, &[]);
    assert_eq!(receipt["statement"]["terms"]["helper"], *scene.helper_key);
}

#[test]
fn what_is_wrong_with_a_receipt_is_named() {
    let scene = scene(20);
    run(&scene, &[], &[]);
    let first = scene.read("r.json");
    std::fs::rename(scene.path("r-report.json"), scene.path("first-report.json")).unwrap();
    scene.write("first.json", &first);
    run(&scene, &[], &[]);
    // Another run's report; a character that differs; a key that took no part; no receipt at all.
    scene
        .run(&["verify", "r.json", "--report", "first-report.json"])
        .expect(76, &["another run", "the session differs"]);
    scene.run(&["verify", "first.json", "--report", "first-report.json"]).expect(0, &[]);
    scene.write("changed.json", first.replacen("\"items\":20", "\"items\":21", 1));
    scene.run(&["verify", "changed.json"]).expect(76, &["the receiver did not sign this statement"]);
    let both = ["--peer", &scene.receiver_key, "--peer", &scene.sender_key];
    let words = verified(&scene, &with(&["r.json"], &both));
    assert!(words.contains("Both keys are those that were expected"), "{words}");
    let words = verified(&scene, &["r.json", "--peer", &scene.sender_key]);
    assert!(words.contains("No key was named for the receiver"), "{words}");
    scene
        .run(&["verify", "r.json", "--peer", &scene.receiver_key, "--peer", &scene.helper_key])
        .expect(77, &["the sender of this receipt has the key", &scene.sender_key]);
    scene.run(&["verify", "r.json", "--peer", &scene.helper_key]).expect(77, &[]);
    scene.run(&["verify", "sender.csv"]).expect(65, &["it is no receipt"]);
    scene.run(&["verify", "missing.json"]).expect(65, &["missing.json"]);
    scene.run(&["verify", "receiver.pem"]).expect(65, &[]);
    scene.run(&["verify", "r.json", "--report", "s.json"]).expect(65, &["s.json"]);
}

#[test]
fn what_a_report_says_around_a_receipt_is_compared_with_it() {
    let scene = scene(20);
    run(&scene, &[], &[]);
    let mut report: Value = serde_json::from_str(&scene.read("r-report.json")).unwrap();
    let words = verified(&scene, &["r-report.json"]);
    assert!(words.contains("r-report.json tells of this run"), "{words}");
    report["sizes"]["peer_items"] = 5.into();
    scene.write("other-size.json", report.to_string());
    scene.run(&["verify", "other-size.json"]).expect(76, &["a size differs"]);
    scene.run(&["verify", "r.json", "--report", "other-size.json"]).expect(76, &["a size differs"]);
    run(&scene, &[], &[]);
    let later: Value = serde_json::from_str(&scene.read("r-report.json")).unwrap();
    report["sizes"]["peer_items"] = 20.into();
    report["receipt"] = later["receipt"].clone();
    scene.write("other-run.json", report.to_string());
    scene.run(&["verify", "other-run.json"]).expect(76, &["another run", "the session differs"]);
}

#[test]
fn it_goes_to_a_folder_or_a_new_file_and_is_refused_before_the_partner_is_met() {
    let scene = scene(20);
    std::fs::create_dir(scene.path("records")).unwrap();
    let records = ["--receipt", "records", "--report", "records"];
    let (received, sent) = scene.pair(&with(&SENDER, &records), &with(&RECEIVER, &records));
    received.expect(0, &["the receipt is in "]);
    sent.expect(0, &[]);
    let mut names: Vec<String> = std::fs::read_dir(scene.path("records"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let receipts: Vec<&String> = names.iter().filter(|name| name.ends_with(".receipt.json")).collect();
    assert_eq!((names.len(), receipts.len()), (4, 2), "{names:?}");
    receipts.iter().for_each(|name| drop(verified(&scene, &[&format!("records/{name}")])));

    let args =
        ["receive", "--connect", "127.0.0.1:1", "--peer", &scene.sender_key, "--identity", "receiver.pem"];
    let refused = |more: &[&str], code, said: &[&str]| {
        scene.run(&[&args[..], &RECEIVER, more].concat()).expect(code, said);
    };
    scene.write("there.json", "{}");
    refused(&["--receipt", "there.json"], 64, &["this file is there already, and is not replaced"]);
    refused(&["--receipt", "r.html"], 64, &["a receipt is JSON"]);
    refused(&["--receipt", "x.json", "--report", "x.json"], 64, &["name the same file"]);
    refused(&["--receipt", "receiver.pem"], 74, &["receiver.pem"]);
    refused(&["--receipt", "nowhere/x.json"], 64, &["nowhere"]);
    let plain = ["receive", "--listen", "127.0.0.1:0", "--insecure-plaintext", "--receipt", "r.json"];
    scene.run(&with(&plain, &RECEIVER)).expect(64, &["--receipt", "--insecure-plaintext"]);
    scene.run(&with(&LOCAL, &["--output", "x.csv", "--receipt", "r.json"])).expect(64, &["--receipt"]);
    assert!(!scene.exists("r.json"));
}

#[test]
fn a_run_without_an_end_has_none() {
    let scene = scene(20);
    // Terms that differ.
    let (sender, address) = scene.sender(&with(&SENDER, &["--receipt", "s.json"]));
    let differs = ["--receipt", "r.json", "--security", "semi-honest"];
    let received = scene.receiver(&address, &with(&RECEIVER, &differs)).end();
    let sent = sender.end();
    [&received, &sent].iter().for_each(|ended| ended.expect(77, &["security: mine "]));
    nothing_lost(&scene, &[&received, &sent]);
    // A partner that does not come, and an interruption.
    let (sender, _) = scene.sender(&with(&SENDER, &["--receipt", "s.json"]));
    sender.signal(Signal::INT);
    sender.end().expect(130, &[]);
    assert!(!scene.exists("r.json") && !scene.exists("s.json"));
}

#[test]
fn a_look_up_has_one_which_the_sender_has_in_its_events() {
    let scene = published(&emails("sender", 40, 20), &[]);
    scene.write("receiver.csv", emails("receiver", 30, 20));
    let (server, address) = serve(&scene, &["--events", "events"]);
    let records = ["--receipt", "r.json", "--report", "report.json", "--pad-to", "600"];
    lookup(&scene, &address, &with(&MINE, &records)).expect(0, &["20 of 30 rows match"]);
    let receipt: Value = serde_json::from_str(&scene.read("r.json")).unwrap();
    let statement = &receipt["statement"];
    assert_eq!((&statement["protocol"], &statement["receiver"]["items"]), (&"voprf".into(), &600.into()));
    assert_eq!((statement.get("items"), &statement["set"]["epoch"]), (None, &1.into()));
    assert_eq!(statement["set"]["digest"], report(&scene, "report.json")["kept"]["digest"]);
    assert_eq!(statement["set"]["digest"], statement["set"]["served"]);
    let both = ["--peer", &*scene.receiver_key, "--peer", &scene.sender_key];
    let words = verified(&scene, &with(&["r.json", "--report", "report.json"], &both));
    assert!(words.contains("asked for 600 keys") && words.contains("security malicious"), "{words}");
    // One without a receipt is signed as well: the sender has it.
    lookup(&scene, &address, &MINE).expect(0, &["20 of 30 rows match"]);
    stop(server);
    let events = scene.read("events");
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let theirs: Vec<Value> =
        events.filter(|event| event["event"] == "answered").map(|event| event["receipt"].clone()).collect();
    assert_eq!((theirs.len(), &theirs[0]), (2, &receipt));
    scene.write("theirs.json", theirs[1].to_string());
    let words = verified(&scene, &with(&["theirs.json"], &both));
    assert!(words.contains("asked for 30 keys"), "{words}");
    scene.run(&["verify", "theirs.json", "--report", "report.json"]).expect(76, &["another run"]);
}
