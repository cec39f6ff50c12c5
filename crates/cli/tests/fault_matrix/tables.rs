//! Tables that cannot be read, on either side, and Parquet whose damage is found late.

use crate::common::files::{gzip, parquet, zstd};
use crate::common::{Ended, SENDER, Scene, emails, nothing_lost, with};
use crate::hook::Bell;
use crate::page::{Row, Section};
use crate::{Job, scene};

/// The table of this file, and the jobs that fill it.
pub(crate) fn section() -> (Section, Vec<Job>) {
    let section = Section {
        title: "Tables that cannot be read".into(),
        text: "The program reads the table before it looks for the partner, so each side was run alone and contacted \
               nobody. From\nParquet it first reads what the key needs and, where rows are to be written, a first batch of \
               all columns;\nthe rest when it copies the rows. The last row is a whole run.",
        head: &["what", "receiver", "sender"],
        rows: Vec::new(),
    };
    let alone = TABLES.into_iter().map(|(what, name, bytes, words)| -> Job {
        (what.to_owned(), Box::new(move || unreadable(what, name, &bytes(&emails("receiver", 40, 9)), words)))
    });
    let damaged = "a Parquet file is damaged in a column that is no key";
    let changed = "a byte of the receiver's Parquet file changes";
    let others: [Job; 2] = [
        (damaged.to_owned(), Box::new(move || damaged_rows(damaged))),
        (changed.to_owned(), Box::new(move || found_late(changed))),
    ];
    (section, alone.chain(others).collect())
}

type Table = (&'static str, &'static str, fn(&str) -> Vec<u8>, &'static str);

/// What is wrong with a table, its file's name and bytes, and words on the screen.
const TABLES: [Table; 9] = [
    ("a gzip file was cut short", "table.csv.gz", |text| without_end(gzip(text), 30), "it ends early"),
    ("a byte of a gzip file is another", "table.csv.gz", |text| flipped(gzip(text), 40), "do not decompress"),
    ("a zstd file was cut short", "table.csv.zst", |text| without_end(zstd(text), 30), "it ends early"),
    ("a Parquet file was cut short", "table.parquet", |text| without_end(parquet(text), 300), ""),
    ("the end of a Parquet file is another", "table.parquet", overwritten_end, ""),
    ("the key column of a Parquet file is damaged", "table.parquet", overwritten_keys, "row group 1"),
    ("a file called Parquet is text", "table.parquet", |text| text.as_bytes().to_vec(), ""),
    ("a quote in a CSV file is not closed", "table.csv", |text| [text, "9,\"x\n"].concat().into(), "line 42"),
    ("a row of a CSV file is too short", "table.csv", |text| [text, "9\n"].concat().into(), "line 42"),
];

fn without_end(mut bytes: Vec<u8>, count: usize) -> Vec<u8> {
    bytes.truncate(bytes.len() - count);
    bytes
}

fn flipped(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    bytes[at] ^= 1;
    bytes
}

fn overwritten_end(text: &str) -> Vec<u8> {
    let mut bytes = parquet(text);
    // The length of the footer and the four letters after it stay.
    let end = bytes.len() - 8;
    bytes[end - 100..end].fill(0xff);
    bytes
}

/// Where the values of the second column are.
fn overwritten_keys(text: &str) -> Vec<u8> {
    let mut bytes = parquet(text);
    let keys = bytes.windows(7).position(|window| window == b"example").unwrap();
    bytes[keys - 80..keys + 200].fill(0xff);
    bytes
}

fn unreadable(what: &str, name: &str, table: &[u8], words: &str) -> Row {
    let scene = scene(9);
    scene.write(name, table);
    let key = ["--input", name, "--key", "email:email", "--connect", "127.0.0.1:9"];
    let run = |role, identity, peer, more: &[&str]| {
        let own = [role, "--identity", identity, "--peer", peer];
        scene.run(&with(&with(&own, &key), more))
    };
    let output = if name.ends_with(".parquet") { "out.parquet" } else { "out.csv" };
    let receiver = run("receive", "receiver.pem", &scene.sender_key, &["--output", output]);
    let sender = run("send", "sender.pem", &scene.receiver_key, &[]);
    std::fs::remove_file(scene.path(name)).unwrap();
    for end in [&receiver, &sender] {
        end.expect(65, &[name, words, "on this side", "phase read", "has not been contacted"]);
    }
    nothing_lost(&scene, &[&receiver, &sender]);
    Row::new(what, [Some(&receiver), Some(&sender)])
}

/// The receiver alone: only it reads more than the key.
fn damaged_rows(what: &str) -> Row {
    let scene = scene(9);
    let mut bytes = parquet(&scene.read("receiver.csv"));
    // The identifiers come first in the file, behind its four letters.
    bytes[8..40].fill(0xff);
    scene.write("table.parquet", &bytes);
    let keys = ["--connect", "127.0.0.1:9", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let receiver = scene.run(&with(&RECEIVE, &keys));
    std::fs::remove_file(scene.path("table.parquet")).unwrap();
    receiver.expect(65, &["do not decode; was it damaged", "phase read", "has not been contacted"]);
    nothing_lost(&scene, &[&receiver]);
    Row::new(what, [Some(&receiver), None])
}

/// A run in which the file changes once the key column has been read.
fn found_late(what: &str) -> Row {
    let scene = scene(9);
    let mut bytes = parquet(&scene.read("receiver.csv"));
    scene.write("table.parquet", &bytes);
    bytes[60] ^= 1;
    let (receiver, sender) = changed(&scene, || scene.write("table.parquet", &bytes));
    std::fs::remove_file(scene.path("table.parquet")).unwrap();
    receiver.expect(65, &["table.parquet", "changed during the run", "phase write", "what to do: "]);
    sender.expect(0, &[]);
    nothing_lost(&scene, &[&receiver, &sender]);
    Row::new(what, [Some(&receiver), Some(&sender)])
}

/// A receiver with the Parquet file.
const RECEIVE: [&str; 7] =
    ["receive", "--input", "table.parquet", "--key", "email:email", "--output", "out.parquet"];

/// Runs both, the receiver with the Parquet file, to which something is done once it has been read.
fn changed(scene: &Scene, change: impl FnOnce()) -> (Ended, Ended) {
    let bell = Bell::new();
    let (sender, address) = scene.sender(&SENDER);
    let keys = ["--connect", &address, "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let receiver = scene.start_as(bell.command("agree"), &with(&RECEIVE, &keys));
    let paused = bell.wait();
    change();
    drop(paused);
    (receiver.end(), sender.end())
}
