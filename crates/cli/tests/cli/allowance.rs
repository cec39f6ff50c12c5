//! Parts that are played again after the partner may have seen their result: somebody between two processes ends the
//! connections of parts when the sender has said all of its protocol, and before it has confirmed it.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use serde_json::Value;

use crate::common::{ANOTHER_DAY, Ended, RECEIVER, SENDER, Scene, nothing_lost, plain_join, scene, with};
use crate::tampering::{Act, From, Middle};

/// Parts of the runs here. They allow 4 attempts beyond the first of each part: max(4, ⌈8/16⌉, 2 at once).
const PARTS: usize = 8;

/// Fewer bytes than the confirmation at the end of the sender's stream has, and more than what ends TLS.
const LAST_WORDS: usize = 60;

/// Somebody who ends nothing, and counts the sender's bytes.
const WATCHES: Middle = Middle { act: Act::Cut, at: 0, from: From::Callee, chosen: |_| false, first: 1 };

/// A run through that middle: the ends of receiver and sender, what the sender's report says of parts and questions, and
/// how long the sender's whole streams are.
fn run(scene: &Scene, middle: Middle) -> ([Ended; 2], (Value, u64), Vec<usize>) {
    // Heartbeats would be among the bytes that are counted.
    let common = ["--timeout", "60s", "--threads", "2"];
    let (sender, address) = scene.sender(&with(&with(&SENDER, &common), &["--report", "sent.json"]));
    let (address, shared) = middle.start(address);
    let receiver = scene.receiver(&address, &with(&with(&RECEIVER, &common), &["--parts", "8"]));
    let ends = [receiver.end(), sender.end()];
    let report: Value = serde_json::from_str(&scene.read("sent.json")).unwrap();
    let whole = shared.whole.lock().unwrap().clone();
    let tested = report["parameters"]["max_tested_keys"].as_u64().unwrap();
    (ends, (report["parts"].clone(), tested), whole)
}

#[track_caller]
fn exact(scene: &Scene, ends: &[Ended; 2]) {
    ends.iter().for_each(|end| end.expect(0, &["played in 8 parts"]));
    assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
    scene.write("out.csv", ANOTHER_DAY);
}

#[test]
fn one_attempt_more_than_the_allowance_ends_both_sides_with_69_and_without_output() {
    let scene = scene(2000);
    let (ends, (report, tested), whole) = run(&scene, WATCHES);
    exact(&scene, &ends);
    // Before the parts begin, four more of them may be played.
    let questions = format!("can ask about {} keys at most, in 8 parts of which 4 may be", tested / 8 * 12);
    ends.iter().for_each(|end| end.expect(0, &[questions.as_str()]));
    assert_eq!((&report["attempts"], &report["spent"]), (&8.into(), &0.into()));
    // Parts are padded, so all of them are as long.
    assert_eq!(whole, vec![whole[0]; PARTS]);
    let cuts = Middle { at: whole[0] - LAST_WORDS, ..WATCHES };

    // Four parts are played a second time, and then a fifth; or all of them, again and again.
    let (ends, (report, more), _) =
        run(&scene, Middle { chosen: |number| (1..=4).contains(&number), ..cuts });
    exact(&scene, &ends);
    assert_eq!((&report["attempts"], &report["spent"]), (&12.into(), &4.into()));
    assert_eq!(8 * more, 12 * tested, "each attempt is a question of as many keys");
    for chosen in [|number| (1..=5).contains(&number), |number| number > 0] {
        let (ends, (report, _), _) = run(&scene, Middle { chosen, ..cuts });
        let words =
            "connections of parts broke too often: parts were played again 4 times, and no more is allowed";
        ends[1].expect(69, &[words, "phase parts", "nothing was written here"]);
        ends[0].expect(69, &["the partner ended the run", "nothing was written here"]);
        assert_eq!((&report["attempts"], &report["spent"]), (&13.into(), &5.into()));
        nothing_lost(&scene, &[&ends[0], &ends[1]]);
    }
}
