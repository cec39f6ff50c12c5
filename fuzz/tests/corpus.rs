//! Runs every target over its seeds, its corpus, and a fixed number of mutations of both.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_fuzz::{Target, targets};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Seeds and corpus of a target, with files in the order of their names.
fn inputs(target: &Target) -> Vec<Vec<u8>> {
    let folder = corpus().join(&target.name);
    let files = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    target.seeds.iter().cloned().chain(files.iter().map(|file| fs::read(file).unwrap())).collect()
}

/// Runs one input. If the target panics, the input is kept in a file that the message names.
fn try_input(target: &Target, input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.input", target.name));
        fs::write(&kept, input).unwrap();
        let name = &target.name;
        panic!("{name} failed on {}: mend it, and put the input into fuzz/corpus/{name}", kept.display());
    }
}

fn run(target: &Target) {
    let inputs = inputs(target);
    inputs.iter().for_each(|input| try_input(target, input));
    let mut rng = StdRng::seed_from_u64(3);
    for _ in 0..if inputs.is_empty() { 0 } else { target.tries } {
        let mut input = inputs[rng.random_range(0..inputs.len())].clone();
        for _ in 0..rng.random_range(1..=3) {
            (target.mutate)(&mut input, &mut rng);
        }
        try_input(target, &input);
    }
}

#[test]
fn no_input_is_too_much() {
    let (targets, next) = (targets(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Relaxed)) {
                    run(target);
                }
            });
        }
    });
}

#[test]
fn every_folder_of_the_corpus_has_its_target() {
    let names: Vec<String> = targets().into_iter().map(|target| target.name).collect();
    for entry in fs::read_dir(corpus()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "fuzz/corpus/{name}");
    }
}

/// Those that are meant to be ledgers still are, so that what follows the first line is reached.
#[test]
fn the_ledgers_of_the_corpus_are_read() {
    for (name, is_one) in [("runs", true), ("by-post", true), ("screen", false), ("unknown-run", false)] {
        let texts = fs::read(corpus().join("ledger").join(name)).unwrap();
        let read = vesica::ledger::testing::of_bytes(&vesica::ledger::testing::chained(&texts));
        assert_eq!(read.is_some(), is_one, "{name}");
    }
}
