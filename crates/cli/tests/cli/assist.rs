//! `vesica assist`: three real processes end with the plain join, or each with the documented exit code and words that name
//! the side.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::fs;

use crate::common::{
    ANOTHER_DAY, Ended, LOCAL, Party, RECEIVER, SENDER, Scene, nothing_lost, nothing_shown, plain_join,
    scene, with,
};
use rustix::process::Signal;
use vesica::channel::{CancelToken, Channel};
use vesica::helper::{self, Request};
use vesica::net::{Address, Connection, ConnectionSecurity, Identity, Options, meet};
use vesica::protocols::{Role, Security};
use vesica::session::{self, Agreed};
use vesica::settings::{Choice, Settings};
use vesica::terms::Terms;

const PROTOCOL: [&str; 4] = ["--protocol", "server-aided", "--security", "semi-honest"];

/// A party's arguments for a run with the helper there.
fn helped<'a>(scene: &'a Scene, address: &'a str, table: &[&'a str]) -> Vec<&'a str> {
    with(&with(table, &PROTOCOL), &["--helper", address, "--helper-key", &scene.helper_key])
}

/// The three, from the start to the end: receiver, sender, helper.
fn three(scene: &Scene, more: [&[&str]; 3]) -> [Ended; 3] {
    let (helper, address) = scene.helper(more[2]);
    let receiver = with(&helped(scene, &address, &RECEIVER), more[0]);
    let sender = with(&helped(scene, &address, &SENDER), more[1]);
    let (receiver, sender) = scene.pair(&sender, &receiver);
    [receiver, sender, helper.end()]
}

#[test]
fn three_processes_end_with_the_plain_join_and_their_reports_agree() {
    let scene = scene(900);
    let reports = [["--report", "r.json"], ["--report", "s.json"], ["--report", "h.json"]];
    let [receiver, sender, helper] = three(&scene, [&reports[0], &reports[1], &reports[2]]);
    let warned = "the helper: it learns both sizes and how many keys match";
    receiver.expect(0, &["450 of 900 rows match", &warned[4..]]);
    sender.expect(0, &[&warned[4..], "connected to the helper"]);
    helper.expect(0, &["the receiver has 900 keys, the sender 900; both have 450"]);
    assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
    let report = |name| serde_json::from_str::<serde_json::Value>(&scene.read(name)).unwrap();
    let [receiver, sender, helper] = ["r.json", "s.json", "h.json"].map(report);
    assert_eq!((&helper["role"], &helper["confirmed"]), (&"helper".into(), &true.into()));
    assert_eq!(helper["parties"]["common_items"], 450);
    for (role, party, key) in
        [("receiver", &receiver, &scene.receiver_key), ("sender", &sender, &scene.sender_key)]
    {
        let seen = &helper["parties"][role];
        assert_eq!((&seen["key"], &seen["items"]), (&key.as_str().into(), &900.into()));
        assert_eq!(seen["transcript"]["sent"], party["helper"]["transcript"]["received"]);
        assert_eq!(seen["transcript"]["received"], party["helper"]["transcript"]["sent"]);
        assert_eq!(party["helper"]["key"], scene.helper_key.as_str());
        assert_eq!(
            (&party["terms"]["helper"], &party["keys"]["mine"]),
            (&scene.helper_key.as_str().into(), &key.as_str().into())
        );
    }
    assert_eq!(receiver["session"], sender["session"]);
    assert_ne!(receiver["session"], helper["session"], "the helper does not know the session");
    // What the three have sent is what the three have received.
    let sum = |which: &str| {
        [&receiver, &sender, &helper]
            .map(|r| r["bytes"]["payload"][which].as_u64().unwrap())
            .iter()
            .sum::<u64>()
    };
    assert_eq!(sum("sent"), sum("received"));
}

#[test]
fn both_parties_learn_the_rows_where_they_agree_to() {
    let scene = scene(300);
    let both = ["--learns", "both"];
    let [receiver, sender, helper] = three(&scene, [&both, &with(&both, &["--output", "sent.csv"]), &[]]);
    receiver.expect(0, &["150 of 300 rows match"]);
    sender.expect(0, &["150 of 300 rows match"]);
    helper.expect(0, &[]);
    let (mine, theirs) = (scene.read("receiver.csv"), scene.read("sender.csv"));
    assert_eq!(
        (scene.read("out.csv"), scene.read("sent.csv")),
        (plain_join(&mine, &theirs), plain_join(&theirs, &mine))
    );
}

#[test]
fn one_process_plays_all_three() {
    let scene = scene(300);
    let local = with(&LOCAL, &["--output", "out.csv"]);
    scene.run(&with(&local, &PROTOCOL)).expect(0, &["150 of 300 rows match"]);
    assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
}

#[test]
fn wrong_usage_is_told_before_anybody_is_met() {
    let scene = scene(3);
    let identity =
        ["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let receive = |more: &[&str]| scene.run(&with(&with(&identity, &RECEIVER), more));
    let helper = ["--helper", "127.0.0.1:9", "--helper-key", &scene.helper_key];
    let assist = |more: &[&str]| {
        scene.run(&with(&["assist", "--listen", "127.0.0.1:0", "--identity", "helper.pem"], more))
    };
    let (one, two) = (&scene.receiver_key, &scene.sender_key);
    let ends = [
        (receive(&PROTOCOL), "needs a helper"),
        (receive(&helper), "has none"),
        (receive(&with(&helper, &["--protocol", "dh", "--security", "semi-honest"])), "has none"),
        (receive(&with(&PROTOCOL, &["--helper", "127.0.0.1:9"])), "--helper-key"),
        (
            receive(&with(&PROTOCOL, &["--helper", "127.0.0.1:9", "--helper-key", two])),
            "one of the two parties",
        ),
        (
            receive(&with(&PROTOCOL, &["--helper", "127.0.0.1:9", "--helper-key", "@absent"])),
            "`--helper-key @absent`",
        ),
        (receive(&with(&PROTOCOL, &["--helper", "nowhere", "--helper-key", &scene.helper_key])), "HOST:PORT"),
        (receive(&with(&helper, &["--protocol", "server-aided"])), "--security semi-honest"),
        (assist(&["--peer", one]), "given 1 times"),
        (assist(&["--peer", one, "--peer", one]), "the same public key"),
        (assist(&["--peer", one, "--peer", &scene.helper_key]), "the helper's own public key"),
        (assist(&["--peer", one, "--peer", "vesica-pub1-xx"]), "--peer"),
    ];
    for (end, word) in &ends {
        end.expect(64, &[word]);
        nothing_lost(&scene, &[end]);
    }
    assist(&["--peer", one, "--peer", two, "--report", "helper.pem"]).expect(74, &["helper.pem"]);
}

#[test]
fn a_helper_that_is_not_the_expected_one_and_parties_that_are_not() {
    let scene = scene(9);
    // The receiver expects another helper than the sender.
    let (helper, address) = scene.helper(&["--timeout", "3s"]);
    let receiver =
        with(&with(&RECEIVER, &PROTOCOL), &["--helper", &address, "--helper-key", &scene.helper_key]);
    let key = other_key(&scene);
    let sender = with(&with(&SENDER, &PROTOCOL), &["--helper", &address, "--helper-key", &key]);
    let (receiver, sender) = scene.pair(&sender, &receiver);
    receiver.expect(77, &["helper: mine vesica-pub1-", "`--helper-key`"]);
    sender.expect(77, &["helper: mine vesica-pub1-"]);
    helper.end().expect(69, &["no party connected", "`--helper-key`"]);
    // Both expect another helper.
    let (helper, address) = scene.helper(&["--timeout", "3s"]);
    let asked = ["--helper", address.as_str(), "--helper-key", &key];
    let (receiver, sender) =
        scene.pair(&with(&with(&SENDER, &PROTOCOL), &asked), &with(&with(&RECEIVER, &PROTOCOL), &asked));
    for end in [&receiver, &sender] {
        assert!(matches!(end.code, Some(77 | 69)), "{}", end.screen);
    }
    let told = [&receiver, &sender].iter().any(|end| end.screen.contains("not the expected helper"));
    assert!(
        told,
        "{}
{}",
        receiver.screen, sender.screen
    );
    assert_ne!(helper.end().code, Some(0));
    nothing_lost(&scene, &[&receiver, &sender]);
    // The helper expects other parties.
    let args = ["assist", "--listen", "127.0.0.1:0", "--identity", "helper.pem", "--timeout", "3s", "--peer"];
    let mut helper = scene.start(&with(&args, &[&key, "--peer", &scene.sender_key]));
    let line = helper.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
    let (receiver, sender) =
        scene.pair(&helped(&scene, &address, &SENDER), &helped(&scene, &address, &RECEIVER));
    receiver.expect(77, &["the helper refused our key", "phase helper", "`--helper-key`"]);
    sender.expect(69, &["on the partner's side"]);
    // The sender may have been there before it heard of the receiver's end.
    let helper = helper.end();
    assert!(matches!(helper.code, Some(77 | 69)), "{}", helper.screen);
    assert!(helper.screen.contains("it presented another key"), "{}", helper.screen);
    nothing_lost(&scene, &[&receiver, &sender]);
}

/// The key of an identity that nobody here has.
fn other_key(scene: &Scene) -> String {
    drop(fs::remove_file(scene.path("other.json")));
    let made = scene.run(&["keygen", "--output", "other.json"]);
    made.expect(0, &[]);
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_helper_that_is_not_there_and_parties_that_never_come() {
    let scene = scene(9);
    let short = ["--timeout", "2s"];
    let [receiver, sender] =
        [&RECEIVER[..], &SENDER[..]].map(|table| with(&helped(&scene, "127.0.0.1:9", table), &short));
    let (receiver, sender) = scene.pair(&sender, &receiver);
    assert!(
        [&receiver, &sender]
            .iter()
            .any(|end| end.screen.contains("could not reach the helper at 127.0.0.1:9"))
    );
    for end in [&receiver, &sender] {
        end.expect(69, &[]);
    }
    nothing_lost(&scene, &[&receiver, &sender]);
    let (helper, _) = scene.helper(&short);
    helper.end().expect(69, &["no party", "phase gather", "`--helper`"]);
}

#[test]
fn what_the_helper_does_not_accept_is_told_on_all_three_sides() {
    let scene = scene(90);
    for (options, word) in [(["--max-peer-rows", "50"], "50"), (["--memory", "1k"], "memory")] {
        let [receiver, sender, helper] = three(&scene, [&[], &[], &options]);
        receiver.expect(77, &["the helper", "on the helper's side"]);
        sender.expect(77, &["the helper", "on the helper's side"]);
        helper.expect(77, &[word]);
        nothing_lost(&scene, &[&receiver, &sender, &helper]);
    }
}

/// A receiver's process, and the sender in this one, which agreed with it and can turn to the helper or not.
struct Stage {
    scene: Scene,
    helper: Party,
    receiver: Party,
    partner: Connection,
    agreed: Agreed,
    address: String,
    identity: Identity,
}

impl Stage {
    fn new(timeout: &str) -> Self {
        let scene = scene(9);
        let (helper, address) = scene.helper(&["--timeout", timeout]);
        let identity = Identity::load(&scene.path("sender.pem")).unwrap();
        let (receiver, partner, agreed) = Self::meet(&scene, &address, &identity, timeout);
        Self { scene, helper, receiver, partner, agreed, address, identity }
    }

    /// One more run of the same two parties with the same helper.
    fn another_run(&self) -> (Party, Connection, Agreed) {
        Self::meet(&self.scene, &self.address, &self.identity, "60s")
    }

    fn meet(scene: &Scene, address: &str, identity: &Identity, timeout: &str) -> (Party, Connection, Agreed) {
        let args = ["receive", "--listen", "127.0.0.1:0", "--identity", "receiver.pem", "--timeout", timeout];
        let args = with(&args, &["--peer", &scene.sender_key]);
        let mut receiver = scene.start(&with(&args, &helped(scene, address, &RECEIVER)));
        let line = receiver.wait_for("listening on ");
        let here = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
        let settings = Settings {
            protocol: Choice::Named("server-aided".into()),
            security: Security::SemiHonest,
            ..Settings::default()
        };
        let terms =
            Terms::new(Role::Sender, &settings, &["email".to_owned()]).with_helper(scene.helper_key.clone());
        let mut partner = to(&here, identity, &scene.receiver_key, &session::greeting(&terms));
        let agreed =
            session::agree_greeted(&mut partner, &terms, settings.wanted(), 9, Some(identity)).unwrap();
        receiver.wait_for("helper: it learns");
        (receiver, partner, agreed)
    }

    /// The sender turns to the helper, with what it says there.
    fn to_helper(&self, request: &[u8]) -> Connection {
        to(&self.address, &self.identity, &self.scene.helper_key, request)
    }

    fn request(&self) -> Vec<u8> {
        Request::new(&self.agreed, &self.partner).greeting()
    }
}

/// A connection from this process.
fn to(address: &str, identity: &Identity, key: &str, first: &[u8]) -> Connection {
    let peer = key.parse().unwrap();
    let security = ConnectionSecurity::Tls { identity, peer: &peer };
    let options = Options { cancel: CancelToken::new(), ..Options::default() };
    let mut rng = vesica::randomness().unwrap();
    meet(&Address::Connect(address.to_owned()), &security, first, &options, &mut rng, &mut |_| ()).unwrap()
}

#[test]
fn a_helper_that_dies_or_falls_silent_ends_the_party_that_waits_for_it() {
    let Stage { scene, helper, mut receiver, partner, .. } = Stage::new("60s");
    receiver.wait_for("the helper is there");
    helper.signal(Signal::KILL);
    receiver.end().expect(69, &["the helper closed the connection", "on the helper's side, phase helper"]);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    drop(partner);

    let Stage { helper, mut receiver, partner, .. } = Stage::new("3s");
    receiver.wait_for("the helper is there");
    helper.signal(Signal::STOP);
    receiver.end().expect(69, &["the helper ", " 3s", "on the helper's side"]);
    helper.signal(Signal::KILL);
    drop(partner);
}

#[test]
fn a_partner_that_dies_ends_the_party_that_waits_for_the_helper() {
    let Stage { scene, helper, receiver, partner, .. } = Stage::new("60s");
    drop(partner);
    let receiver = receiver.end();
    receiver.expect(69, &["the partner closed the connection", "on the partner's side, phase helper"]);
    nothing_lost(&scene, &[&receiver]);
    helper.signal(Signal::TERM);
    helper.end().expect(143, &[]);
}

#[test]
fn a_partner_that_dies_while_the_lists_are_compared_is_named_on_both_other_sides() {
    let stage = Stage::new("60s");
    let mut to_helper = stage.to_helper(&stage.request());
    helper::join(&mut to_helper).unwrap();
    let Stage { scene, helper, receiver, mut partner, .. } = stage;
    // Its share of the key, and then nothing more.
    partner.send(&[7; 32]).and_then(|()| partner.flush()).unwrap();
    drop((partner, to_helper));
    let (receiver, helper) = (receiver.end(), helper.end());
    // Both ends come at once: the helper may have told the receiver of its own first.
    receiver.expect(69, &[]);
    let told = ["the partner closed the connection", "the helper ended the run"];
    assert!(told.iter().any(|told| receiver.screen.contains(told)), "{}", receiver.screen);
    helper.expect(69, &["the sender closed the connection", "on the sender's side, phase exchange"]);
    nothing_lost(&scene, &[&receiver, &helper]);
}

#[test]
fn a_list_that_does_not_decode_ends_all_three() {
    let stage = Stage::new("60s");
    let mut to_helper = stage.to_helper(&stage.request());
    helper::join(&mut to_helper).unwrap();
    let Stage { scene, helper, receiver, mut partner, .. } = stage;
    partner.send(&[7; 32]).and_then(|()| partner.flush()).unwrap();
    to_helper.send(&[0xff; 200]).and_then(|()| to_helper.flush()).unwrap();
    let helper = helper.end();
    helper.expect(76, &["the sender sent a list", "on the sender's side"]);
    drop(partner);
    let receiver = receiver.end();
    assert_eq!(receiver.code, Some(69), "{}", receiver.screen);
    nothing_shown(&scene, &[&receiver, &helper]);
}

#[test]
fn requests_that_differ_or_do_not_decode_are_refused() {
    let stage = Stage::new("60s");
    let mut other = stage.request();
    // The receiver's size, before the sender's, a key and the name of the run.
    let size = other.len() - (8 + 8 + 32 + 32);
    other[size] ^= 1;
    let mut to_helper = stage.to_helper(&other);
    let refused = helper::join(&mut to_helper).unwrap_err().to_string();
    assert!(refused.contains("different runs"), "{refused}");
    let Stage { helper, receiver, partner, .. } = stage;
    receiver.end().expect(77, &["different runs", "on the helper's side"]);
    helper.end().expect(77, &["sizes: the receiver says"]);
    drop(partner);

    let stage = Stage::new("60s");
    let mut noise = stage.to_helper(&[9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(helper::join(&mut noise).is_err());
    let Stage { helper, receiver, partner, .. } = stage;
    helper.end().expect(76, &["a request to a helper that does not decode"]);
    receiver.end().expect(69, &["the helper ended the run"]);
    drop(partner);
}

/// A helper at the address of one that helps already and no longer listens.
fn next_helper(scene: &Scene, address: &str) -> Party {
    let args = ["assist", "--listen", address, "--identity", "helper.pem", "--peer"];
    let mut helper = scene.start(&with(&args, &[&scene.receiver_key, "--peer", &scene.sender_key]));
    helper.wait_for("listening on ");
    helper
}

#[test]
fn flaw_a_helper_keeps_two_runs_of_the_same_parties_apart() {
    let mut stage = Stage::new("60s");
    stage.receiver.wait_for("the helper is there");
    let (mut receiver, partner, agreed) = stage.another_run();
    receiver.wait_for("the helper is there");
    let mut to_helper = stage.to_helper(&stage.request());
    helper::join(&mut to_helper).unwrap();
    receiver.wait_for("the helper helps in another run of the same parties; trying again");
    let helper = next_helper(&stage.scene, &stage.address);
    let mut to_next = stage.to_helper(&Request::new(&agreed, &partner).greeting());
    helper::join(&mut to_next).unwrap();
    for receiver in [&mut receiver, &mut stage.receiver] {
        receiver.wait_for("connected to the helper");
    }
    drop((partner, to_next, stage.partner, to_helper));
    for party in [receiver, stage.receiver, helper, stage.helper] {
        party.end().expect(69, &[]);
    }
}

#[test]
fn flaw_two_pairs_of_the_same_parties_at_once_both_end_with_the_plain_join() {
    let scene = scene(300);
    let (first, address) = scene.helper(&[]);
    let outputs = ["out.csv", "second.csv"];
    let pairs = outputs.map(|output| {
        let (sender, here) = scene.sender(&helped(&scene, &address, &SENDER));
        let table = ["--input", "receiver.csv", "--key", "email:email", "--output", output];
        (scene.receiver(&here, &helped(&scene, &address, &table)), sender)
    });
    first.end().expect(0, &[]);
    let second = next_helper(&scene, &address);
    for (receiver, sender) in pairs {
        receiver.end().expect(0, &["150 of 300 rows match"]);
        sender.end().expect(0, &[]);
    }
    second.end().expect(0, &[]);
    let joined = plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv"));
    assert!(outputs.iter().all(|output| scene.read(output) == joined));
}
