//! Tables in memory: nothing of them is copied, rows come back as numbers or as batches, and text cannot come as batches.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use vesica::channel::CancelToken;
use vesica::job::{Destination, Ended, Job, Source, TableArgs};
use vesica::protocols::{Learns, Role};
use vesica::report::Event;
use vesica::settings::Settings;
use vesica::table::{Dialect, MatchRule};
use vesica::{Kind, local, randomness};

/// People whose addresses are numbered, the last column of no use as a key.
fn people(from: i64, rows: i64) -> RecordBatch {
    let mails = StringArray::from_iter_values((from..from + rows).map(|i| format!("p{i}@example.org")));
    let ids = Int64Array::from_iter_values(from..from + rows);
    RecordBatch::try_from_iter([("mail", Arc::new(mails) as _), ("id", Arc::new(ids) as _)]).unwrap()
}

fn kept(batches: &[RecordBatch]) -> Source {
    Source::Batches { name: "frame".into(), schema: batches[0].schema(), batches: batches.to_vec() }
}

fn args(input: Source, output: Destination, key: &str) -> TableArgs {
    TableArgs {
        input,
        keys: MatchRule::parse(key).unwrap().into(),
        dialect: Dialect::default(),
        output,
        protected: Vec::new(),
    }
}

fn play(mine: TableArgs, theirs: TableArgs, settings: &Settings) -> (Ended, Ended) {
    let (mut mine_rng, mut their_rng) = (randomness().unwrap(), randomness().unwrap());
    let rngs: [&mut (dyn rand_core::CryptoRng + Send); 2] = [&mut mine_rng, &mut their_rng];
    local::run(mine, theirs, settings, &CancelToken::new(), rngs, &|_| {})
}

fn ids(outcome: Ended) -> Vec<i64> {
    let found = outcome.result.unwrap().batches.unwrap();
    let column =
        |batch: &RecordBatch| batch.column(1).as_primitive::<arrow_array::types::Int64Type>().clone();
    found.batches.iter().flat_map(|batch| column(batch).values().to_vec()).collect()
}

#[test]
fn rows_come_as_numbers_or_batches_from_batches_kept_or_read() {
    // More than a slice in one batch, and an empty batch between.
    let mine = [people(0, 70_000), people(0, 0), people(70_000, 10)];
    let theirs = people(69_990, 1_000);
    let reader = || {
        let batches = RecordBatchIterator::new(mine.clone().map(Ok), mine[0].schema());
        Source::Reader { name: "stream".into(), reader: Box::new(batches) }
    };
    let theirs = || args(kept(std::slice::from_ref(&theirs)), Destination::RowNumbers, "mail:email");
    let settings = Settings::default();
    for source in [kept(&mine), reader()] {
        let (received, sent) = play(args(source, Destination::Batches, "mail:email"), theirs(), &settings);
        let sent = sent.result.unwrap();
        assert!(sent.matches.is_none() && sent.batches.is_none());
        let matches = received.result.as_ref().unwrap().matches.as_ref().unwrap();
        assert_eq!(matches.rows(), (69_990..70_010).collect::<Vec<_>>());
        assert_eq!(ids(received), (69_990..70_010).collect::<Vec<_>>());
    }
    let (received, _) = play(args(kept(&mine), Destination::RowNumbers, "mail:email"), theirs(), &settings);
    let received = received.result.unwrap();
    assert!(received.batches.is_none() && received.matches.unwrap().rows().len() == 20);
}

#[test]
fn what_matches_whole_is_the_same_memory() {
    let table = people(0, 300);
    let both = Settings { learns: Learns::Both, ..Settings::default() };
    let side = |name: &str| args(kept(std::slice::from_ref(&table)), Destination::Batches, name);
    let (received, sent) = play(side("mail:email"), side("mail:email"), &both);
    for outcome in [received, sent] {
        let found = &outcome.result.unwrap().batches.unwrap().batches[0];
        let place = |batch: &RecordBatch| batch.column(0).as_string::<i32>().value_data().as_ptr();
        assert_eq!((found.num_rows(), place(found)), (300, place(&table)));
    }
}

#[test]
fn a_file_may_come_as_batches_but_not_text() {
    let folder = tempfile::tempdir().unwrap();
    let (text, arrow) = (folder.path().join("a.csv"), folder.path().join("a.arrow"));
    std::fs::write(&text, "mail,id\np1@example.org,1\n").unwrap();
    let theirs = || args(kept(&[people(0, 5)]), Destination::RowNumbers, "mail:email");
    // Batches leave into a file as Arrow IPC, which is then read.
    let output = Destination::Path(arrow.clone());
    play(args(kept(&[people(3, 9)]), output, "mail:email"), theirs(), &Settings::default()).0.result.unwrap();
    let from_file = args(arrow.into(), Destination::Batches, "mail:email");
    assert_eq!(ids(play(from_file, theirs(), &Settings::default()).0), [3, 4]);
    let refused =
        play(args(text.into(), Destination::Batches, "mail:email"), theirs(), &Settings::default()).0;
    let error = refused.result.unwrap_err();
    assert!(error.kind == Kind::Usage && error.message.shell().contains("can leave only as text"), "{error}");
}

#[test]
fn errors_name_the_frame_its_row_and_its_column_and_no_value() {
    let mails = StringArray::from(vec![Some("a@example.org"), Some("PLANTED"), None]);
    let frame = RecordBatch::try_from_iter([("mail", Arc::new(mails) as Arc<dyn Array>)]).unwrap();
    let theirs = || args(kept(&[people(0, 5)]), Destination::RowNumbers, "mail:email");
    for (key, words) in [
        ("mail:email", "frame, row 2, column `mail`"),
        ("Mail:email", "frame: no column `Mail`; the schema has 1 column; did you mean `mail`?"),
    ] {
        let mine = args(kept(std::slice::from_ref(&frame)), Destination::Batches, key);
        let error = play(mine, theirs(), &Settings::default()).0.result.unwrap_err();
        assert!(error.kind == Kind::Input && error.message.shell().contains(words), "{error}");
        assert!(!error.to_string().contains("PLANTED"), "{error}");
    }
}

#[test]
fn reading_a_table_in_memory_can_be_cancelled() {
    let job = Job {
        role: Role::Receiver,
        table: args(kept(&[people(0, 200_000)]), Destination::RowNumbers, "mail:email"),
        settings: Settings::default(),
    };
    let (cancel, mut rng) = (CancelToken::new(), randomness().unwrap());
    let address = vesica::net::Address::Connect("127.0.0.1:9".into());
    let partner = vesica::partner::Partner::insecure(address);
    let on_event = |event: &Event| {
        if matches!(event, Event::Phase { name: "read", .. }) {
            cancel.cancel();
        }
    };
    let outcome = job.run(&partner, &cancel, &mut rng, &on_event);
    let error = outcome.result.unwrap_err();
    assert_eq!((error.kind, error.phase.name()), (Kind::Interrupted, "read"));
}
