//! `--audit-max` between two processes: at the limit, below it and above it, and where the two sides or the protocol do not
//! fit.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use crate::common::{Ended, Scene};

/// Numbers below 2^10, 300 a side; 100 of them are common.
fn tables() -> Scene {
    let scene = Scene::new();
    let table = |first: u32| {
        let lines = (first..first + 300).map(|number| format!("{number},{}\n", number * 7 % 1024));
        format!("id,number\n{}", lines.collect::<String>())
    };
    scene.write("receiver.csv", table(0));
    scene.write("sender.csv", table(200));
    scene
}

/// The arguments of a party of `bwa`.
fn party<'a>(file: &'a str, options: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let agreed = ["--security", "semi-honest", "--protocol", "bwa", "--sigma", "10"];
    [&["--input", file, "--key", "number:int"], &agreed[..], options, more].concat()
}

/// A run with these options of the receiver and of the sender.
fn run(scene: &Scene, options: [&[&str]; 2]) -> [Ended; 2] {
    let sender = party("sender.csv", options[1], &["--report", "theirs.json"]);
    let receiver = party("receiver.csv", options[0], &["--output", "out.csv", "--report", "mine.json"]);
    scene.pair(&sender, &receiver).into()
}

fn report(scene: &Scene, name: &str) -> serde_json::Value {
    serde_json::from_str(&scene.read(name)).unwrap()
}

#[test]
fn rows_are_written_up_to_the_limit() {
    for most in ["100", "101", "2^20"] {
        for variant in [&[][..], &["--variant", "lazy-counter"]] {
            let scene = tables();
            let options = [&["--audit-max", most], variant].concat();
            for end in run(&scene, [&options; 2]) {
                end.expect(0, &[]);
            }
            assert_eq!(scene.read("out.csv").lines().count(), 1 + 100);
        }
    }
}

#[test]
fn above_the_limit_both_sides_learn_only_that() {
    for learns in ["receiver", "both"] {
        let scene = tables();
        let options: &[&str] = &["--audit-max", "99", "--learns", learns];
        let output = ["--output", "theirs.csv"];
        let sender = if learns == "both" { [options, &output].concat() } else { options.to_vec() };
        for end in run(&scene, [options, &sender]) {
            end.expect(77, &["more than 99 keys", "`--audit-max`", "both sides learnt only that"]);
        }
        assert!(!scene.path("out.csv").exists() && !scene.path("theirs.csv").exists());
        let reports = ["mine.json", "theirs.json"].map(|name| report(&scene, name));
        for report in &reports {
            assert_eq!(report["parameters"]["audit_max"], 99, "{report}");
            assert_eq!(report["outcome"], "failed", "{report}");
            assert!(report["matches"].is_null(), "{report}");
        }
        // The exchange was confirmed: both saw the same bytes.
        assert_eq!(reports[0]["bytes"]["payload"]["sent"], reports[1]["bytes"]["payload"]["received"]);
    }
}

#[test]
fn both_sides_give_the_same_limit_and_a_protocol_that_has_it() {
    let scene = tables();
    for end in run(&scene, [&["--audit-max", "5"], &[]]) {
        end.expect(77, &["audit-max: mine ", "agree on `--audit-max`"]);
    }
    for (protocol, named) in [("dh", "protocol dh does not offer"), ("auto", "needs a protocol")] {
        let tables = [
            "--receiver",
            "receiver.csv",
            "--sender",
            "sender.csv",
            "--key",
            "number:int",
            "--output",
            "out.csv",
        ];
        let options = ["--security", "semi-honest", "--protocol", protocol, "--audit-max", "5"];
        let ended = scene.run(&[&["local"], &tables[..], &options].concat());
        ended.expect(64, &[named, "--audit-max", "`bwa`"]);
    }
}
