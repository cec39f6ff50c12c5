//! How two real processes find each other where somebody disturbs them, and when they stop.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Write;
use std::thread;
use std::time::Duration;

use crate::common::{RECEIVER, SENDER, Scene, nothing_lost, scene, with};
use vesica::channel::Kind;
use vesica::net::{Identity, PublicKey};
use vesica_net::testing::{RawPeer, frame};

/// Somebody with the receiver's key who has said hello to the sender.
fn greeted(scene: &Scene, address: &str) -> RawPeer {
    let identity = Identity::load(&scene.path("receiver.pem")).unwrap();
    let key: PublicKey = scene.sender_key.parse().unwrap();
    let mut peer = RawPeer::connect(address.parse().unwrap(), &identity, &key).unwrap();
    peer.hello([1; 32]).unwrap();
    peer
}

/// A connection that ends between the hello and the first message is none: the run goes on with the next.
#[test]
fn a_partner_that_goes_before_its_terms_is_waited_for_again() {
    let scene = scene(9);
    let (mut sender, address) = scene.sender(&SENDER);
    greeted(&scene, &address).hang_up();
    sender.wait_for("waiting for the partner: the partner was there");
    scene.receiver(&address, &RECEIVER).end().expect(0, &["4 of 9 rows match"]);
    sender.end().expect(0, &[]);
}

/// Whoever waits for a partner that does not come, and with all time to wait, ends by its deadline.
#[test]
fn a_deadline_ends_the_wait_for_the_partner() {
    let scene = scene(3);
    let keys = ["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let time = ["--deadline", "1s", "--report", "report.json"];
    let end = |place: &[&str]| scene.run(&with(&with(&with(&keys, &RECEIVER), &time), place));
    for place in [["--listen", "127.0.0.1:0"], ["--connect", "127.0.0.1:9"]] {
        let ended = end(&place);
        let words = [
            "had not connected within 1s",
            "`--deadline`",
            "on the partner's side, phase connect",
            "what to do",
        ];
        ended.expect(69, &words);
        nothing_lost(&scene, &[&ended]);
        let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
        std::fs::remove_file(scene.path("report.json")).unwrap();
        assert_eq!(
            (&report["error"]["kind"], &report["error"]["phase"]),
            (&"partner".into(), &"connect".into())
        );
    }
}

/// A partner that shows signs of life does not outlive a deadline either.
#[test]
fn a_deadline_ends_a_run_that_a_living_partner_holds() {
    let scene = scene(3);
    let (sender, address) = scene.sender(&with(&SENDER, &["--deadline", "3s"]));
    let mut peer = greeted(&scene, &address);
    let heartbeats = thread::spawn(move || {
        let mut bytes = frame(Kind::Data, &[0xff]);
        while peer.write_all(&bytes).and_then(|()| peer.flush()).is_ok() {
            thread::sleep(Duration::from_millis(100));
            bytes = frame(Kind::Heartbeat, b"");
        }
    });
    let ended = sender.end();
    ended.expect(
        69,
        &["the run was not complete within 3s", "between the two sides, phase agree", "`--deadline`"],
    );
    nothing_lost(&scene, &[&ended]);
    heartbeats.join().unwrap();
}

/// A deadline that a run keeps changes nothing.
#[test]
fn a_deadline_that_is_kept_is_not_heard_of() {
    let scene = scene(9);
    let long = ["--deadline", "2h"];
    let (receiver, sender) = scene.pair(&with(&SENDER, &long), &with(&RECEIVER, &long));
    receiver.expect(0, &["4 of 9 rows match"]);
    sender.expect(0, &[]);
    scene.run(&with(&["receive", "--deadline", "soon"], &RECEIVER)).expect(64, &["such as 90s or 5m"]);
}
