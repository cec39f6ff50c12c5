//! `--base-ots ml-kem` between two processes: who takes it, what goes over the connection, and who refuses it.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use crate::common::{RECEIVER, SENDER, Scene, emails, plain_join, with};

const COMMON: usize = 57;
const ML_KEM: [&str; 2] = ["--base-ots", "ml-kem"];
const SEMI_HONEST: [&str; 2] = ["--security", "semi-honest"];

fn tables() -> Scene {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", 90, COMMON));
    scene.write("sender.csv", emails("sender", 120, COMMON));
    scene
}

/// Bytes of the run's payload, from the receiver and to it, and its report.
#[track_caller]
fn run(scene: &Scene, options: &[&str]) -> ([u64; 2], serde_json::Value) {
    let (received, sent) = scene
        .pair(&with(&SENDER, options), &with(&RECEIVER, &[options, &["--report", "mine.json"]].concat()));
    received.expect(0, &[&format!("{COMMON} of 90 rows match")]);
    sent.expect(0, &[]);
    assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
    std::fs::remove_file(scene.path("out.csv")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&scene.read("mine.json")).unwrap();
    let payload = &report["bytes"]["payload"];
    (["sent", "received"].map(|way| payload[way].as_u64().unwrap()), report)
}

#[test]
fn base_ots_from_ml_kem_take_the_place_of_the_others() {
    // Base OTs, and bytes of each from their receiver, who is the run's sender.
    for (options, count, bytes) in [
        (&["--protocol", "vole"][..], 128, 64),
        (&["--protocol", "kkrt", "--security", "semi-honest"], 416, 32),
        (&["--protocol", "gbf-rr16"], 128, 64),
        (&["--protocol", "circuit-phasing-yao", "--security", "semi-honest"], 128, 64),
    ] {
        let scene = tables();
        let (before, report) = run(&scene, options);
        assert_eq!(report["terms"]["base-ots"], "diffie-hellman");
        let (after, report) = run(&scene, &with(options, &ML_KEM));
        assert_eq!(report["terms"]["base-ots"], "ml-kem");
        let [sent, received] = [0, 1].map(|way| after[way] as i64 - before[way] as i64);
        // Both terms have a shorter word.
        let shorter = "diffie-hellman".len() as i64 - "ml-kem".len() as i64;
        assert_eq!(sent, 2176 * count - 32 - shorter, "{options:?}: ciphertexts in place of an element");
        assert_eq!(received, (2336 - bytes) * count - shorter, "{options:?}: vectors in place of elements");
    }
}

/// A small semi-honest run is one of `dh`; from ML-KEM it is not.
#[test]
fn auto_takes_a_protocol_that_has_base_ots() {
    let scene = tables();
    let (_, report) = run(&scene, &SEMI_HONEST);
    assert_eq!(report["protocol"], "dh");
    let (_, report) = run(&scene, &with(&SEMI_HONEST, &ML_KEM));
    assert_eq!(report["protocol"], "vole");
}

#[test]
fn both_sides_have_to_ask_for_it() {
    let scene = tables();
    let (received, sent) = scene.pair(&with(&SENDER, &ML_KEM), &RECEIVER);
    let words = ["base-ots: mine ", "`--base-ots`"];
    received.expect(77, &words);
    sent.expect(77, &words);
    assert!(!scene.exists("out.csv"));
}

#[test]
fn what_has_no_such_base_ots_is_refused() {
    let scene = tables();
    let peer = ["--peer", scene.sender_key.as_str(), "--identity", "receiver.pem"];
    let start = ["receive", "--connect", "127.0.0.1:9", "--input", "receiver.csv", "--key", "email:email"];
    let refused = |options: &[&str], words: &[&str]| {
        let args = [&start[..], &["--output", "out.csv"], &peer, &ML_KEM, options].concat();
        scene.run(&args).expect(64, words);
    };
    let none = "it makes no base OTs";
    refused(&["--protocol", "dh", "--security", "semi-honest"], &["dh", "(--base-ots)", none]);
    refused(&["--protocol", "dkt"], &["dkt", "(--base-ots)", none]);
    refused(
        &["--protocol", "gbf", "--security", "semi-honest", "--level", "192"],
        &["base OTs from ML-KEM (--base-ots) above level 128"],
    );
    refused(
        &["--protocol", "kkrt", "--security", "semi-honest", "--keep-base-ots", "kept.ots"],
        &["`--keep-base-ots` keeps base OTs from Diffie–Hellman alone"],
    );
    assert!(!scene.exists("kept.ots"));
}
