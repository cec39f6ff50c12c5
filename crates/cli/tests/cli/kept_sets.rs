//! Kept sets between real processes: `publish`, `serve` and `lookup` against a plain join, of every form of a table and over
//! nights of changes.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::files::parquet;
use crate::common::{ANOTHER_DAY, Ended, Party, Scene, emails, plain_join, with};

/// The key of the usual tables.
pub(crate) const KEY: [&str; 2] = ["--key", "email:email"];
/// The sender's and the receiver's usual table.
pub(crate) const THEIRS: [&str; 4] = ["--input", "sender.csv", "--key", "email:email"];
pub(crate) const MINE: [&str; 4] = ["--input", "receiver.csv", "--key", "email:email"];

/// A scene with a folder for the set and an output of another day.
pub(crate) fn scene() -> Scene {
    let scene = Scene::new();
    fs::create_dir(scene.path("set")).unwrap();
    scene.write("out.csv", ANOTHER_DAY);
    scene
}

/// A scene with a set of this table, one whole file.
pub(crate) fn published(theirs: &str, more: &[&str]) -> Scene {
    let scene = scene();
    scene.write("sender.csv", theirs);
    publish(&scene, "set/1.vset", &with(&THEIRS, more)).expect(0, &["epoch 1 under key 1"]);
    scene
}

/// Runs `publish`.
pub(crate) fn publish(scene: &Scene, output: &str, more: &[&str]) -> Ended {
    let args = ["publish", "--secret", "set.key", "--identity", "sender.pem", "--output", output];
    scene.run(&with(&args, more))
}

/// A night: the table as it is then, after the files of the folder.
fn night(scene: &Scene, number: usize, theirs: &str, more: &[&str]) -> Ended {
    scene.write("sender.csv", theirs);
    let args = with(&THEIRS, &["--previous", "set"]);
    publish(scene, &format!("set/{number}.vset"), &with(&args, more))
}

/// Starts `serve`, and gives its address.
pub(crate) fn serve(scene: &Scene, more: &[&str]) -> (Party, String) {
    serve_at(scene, "127.0.0.1:0", &with(&["--secret", "set.key", "--set", "set"], more))
}

/// The same at an address, of a set that is named.
pub(crate) fn serve_at(scene: &Scene, address: &str, more: &[&str]) -> (Party, String) {
    let args = ["serve", "--listen", address, "--identity", "sender.pem", "--ledger", "ledger"];
    let allow = ["--allow", &*scene.receiver_key];
    let mut party = scene.start(&[&args[..], &allow, more].concat());
    let line = party.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
    (party, address)
}

/// Runs `lookup` with the set of the folder.
pub(crate) fn lookup(scene: &Scene, address: &str, more: &[&str]) -> Ended {
    lookup_in(scene, address, &with(&["--set", "set", "--output", "out.csv"], more))
}

/// The same with a set and an output that are named.
pub(crate) fn lookup_in(scene: &Scene, address: &str, more: &[&str]) -> Ended {
    let args = ["lookup", "--connect", address, "--peer", &scene.sender_key, "--identity", "receiver.pem"];
    scene.run(&with(&args, more))
}

/// Ends a server as its owner does.
pub(crate) fn stop(server: Party) -> Ended {
    server.signal(Signal::TERM);
    let ended = server.end();
    ended.expect(0, &["stopping"]);
    ended
}

/// The report of a run, which the next one may write again.
pub(crate) fn report(scene: &Scene, name: &str) -> Value {
    let report = serde_json::from_str(&scene.read(name)).unwrap();
    fs::remove_file(scene.path(name)).unwrap();
    report
}

/// The rows of a look-up are those of a run of both tables on one machine.
#[track_caller]
fn is_what_local_finds(scene: &Scene, address: &str, keys: &[&str], more: &[&str]) {
    drop(fs::remove_file(scene.path("local.csv")));
    let tables = ["local", "--receiver", "receiver.csv", "--sender", "sender.csv", "--output", "local.csv"];
    scene.run(&[&tables[..], keys, more].concat()).expect(0, &[]);
    lookup(scene, address, &with(&["--input", "receiver.csv"], keys)).expect(0, &[]);
    assert_eq!(scene.read("out.csv"), scene.read("local.csv"));
}

/// The bytes of a set file behind its signature: index and blocks.
fn blocks(scene: &Scene, name: &str) -> Vec<u8> {
    let file = fs::read(scene.path(name)).unwrap();
    let header = u32::from_le_bytes(file[13..17].try_into().unwrap()) as usize;
    file[17 + header + 64..].to_vec()
}

// ---- one night ------------------------------------------------------------------------------------------------------

#[test]
fn sets_and_queries_of_every_size_are_a_plain_join() {
    for rows in [0, 1, 2000] {
        // Keys that are repeated, in capitals too.
        let theirs = emails("sender", rows, rows);
        let again: String =
            theirs.lines().skip(1).step_by(3).map(|line| line.to_uppercase() + "\n").collect();
        let scene = published(&(theirs + &again), &[]);
        let (server, address) = serve(&scene, &[]);
        for (asked, common) in [(0, 0), (1, 0), (1, 1), (513, 0), (513, 513), (2500, 300)] {
            let mine = emails("receiver", asked, common);
            let again: String = mine.lines().skip(1).step_by(4).map(|line| format!("9{line}\n")).collect();
            let mine = mine + &again;
            scene.write("receiver.csv", &mine);
            lookup(&scene, &address, &MINE).expect(0, &[]);
            let expected = plain_join(&mine, &scene.read("sender.csv"));
            assert_eq!(scene.read("out.csv"), expected, "{asked} of {rows} keys");
            let found = common.min(rows) + (0..asked).step_by(4).len().min(usize::from(rows > 0) * common);
            assert!(expected.lines().count() <= found.max(asked * 2) + 1);
        }
        stop(server);
    }
}

#[test]
fn several_keys_composite_keys_and_labels_are_those_of_a_run_on_one_machine() {
    let table = |rows: std::ops::Range<usize>, mail: usize, phone: usize| {
        let row = |n: usize| {
            let mail = if n.is_multiple_of(mail) { String::new() } else { format!("p{n}@example.org") };
            let phone = if n.is_multiple_of(phone) { String::new() } else { format!("{}", 5_000 + n) };
            format!("{n},{mail},{phone},Person {},note {n}\n", n / 2)
        };
        format!("id,email,phone,name,note\n{}", rows.map(row).collect::<String>())
    };
    let scene = scene();
    scene.write("receiver.csv", table(50..400, 3, 5));
    scene.write("sender.csv", table(0..300, 5, 2));
    let several: &[&str] = &["--match", "email:email", "--match", "phone:int", "--match", "name + phone"];
    let composite: &[&str] = &["--key", "name:name", "--key", "phone:int"];
    for (number, keys, labels) in [
        (1, several, &[][..]),
        (2, composite, &[]),
        (3, composite, &["--payload", "note", "--payload", "id"]),
        (4, &KEY, &["--payload", "note", "--payload-bytes", "40"]),
    ] {
        let output = format!("set/{number}.vset");
        publish(&scene, &output, &[&["--input", "sender.csv"], keys, labels].concat()).expect(0, &[]);
        let (server, address) = serve(&scene, &[]);
        is_what_local_finds(&scene, &address, keys, labels);
        assert!(scene.read("out.csv").lines().count() > 50, "{number}");
        stop(server);
        fs::remove_file(scene.path(&output)).unwrap();
    }
}

#[test]
fn a_key_of_several_rows_has_one_label() {
    let scene = scene();
    scene.write("sender.csv", "email,note\na@example.org,one\nA@example.org ,two\nb@example.org,three\n");
    scene.write("receiver.csv", "email\nb@example.org\na@example.org\na@example.org\n");
    let labels = with(&THEIRS, &["--payload", "note"]);
    publish(&scene, "set/1.vset", &labels)
        .expect(65, &["lines 2 and 3 have the same key and different payloads", "`--on-duplicates first`"]);
    publish(&scene, "set/1.vset", &with(&labels, &["--on-duplicates", "first"])).expect(0, &["2 keys"]);
    let (server, address) = serve(&scene, &[]);
    lookup(&scene, &address, &MINE).expect(0, &["3 of 3 rows match"]);
    assert_eq!(
        scene.read("out.csv"),
        "email,note\nb@example.org,three\na@example.org,one\na@example.org,one\n"
    );
    stop(server);
}

#[test]
fn columns_of_parquet_are_looked_up_in_columns_of_parquet() {
    let (theirs, mine) = (emails("sender", 600, 200), emails("receiver", 300, 200));
    let scene = scene();
    scene.write("sender.parquet", parquet(&theirs));
    scene.write("receiver.parquet", parquet(&mine));
    let joined = plain_join(&mine, &theirs);
    publish(&scene, "set/1.vset", &with(&KEY, &["--input", "sender.parquet"])).expect(0, &[]);
    let (server, address) = serve(&scene, &[]);
    let outputs = ["--set", "set", "--output", "out.parquet", "--input", "receiver.parquet"];
    lookup_in(&scene, &address, &with(&KEY, &outputs)).expect(0, &["200 of 300 rows match"]);
    stop(server);
    // The rows again, as text.
    scene.write("joined.csv", &joined);
    let counted =
        ["local", "--receiver", "out.parquet", "--sender", "joined.csv", "--output", "both.parquet"];
    scene.run(&with(&counted, &KEY)).expect(0, &["200 of 200 rows match"]);
}

#[test]
fn padding_hides_both_sizes_and_no_row_is_lost() {
    let (theirs, mine) = (emails("sender", 700, 300), emails("receiver", 600, 300));
    let scene = published(&theirs, &["--pad-to", "2^10", "--report", "theirs.json"]);
    assert_eq!(report(&scene, "theirs.json")["kept"]["keys"], 1024);
    scene.write("receiver.csv", &mine);
    let (server, address) = serve(&scene, &[]);
    let padded = with(&MINE, &["--pad-to", "pow2", "--report", "mine.json"]);
    lookup(&scene, &address, &padded).expect(0, &["300 of 600 rows match"]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
    let mine = report(&scene, "mine.json");
    assert_eq!((&mine["kept"]["asked"], &mine["kept"]["keys"]), (&1024.into(), &1024.into()));
    let said = stop(server).screen;
    assert!(said.contains(": 1024 keys answered"), "{said}");
}

#[test]
fn threads_and_keys_on_disk_change_no_byte_of_a_set() {
    // More keys than `--memory` ever keeps, some of them twice.
    let theirs = emails("sender", 70_000, 0);
    let again: String = theirs.lines().skip(1).step_by(7).map(|line| format!("{line}\n")).collect();
    let scene = published(&(theirs + &again), &["--report", "one.json", "--max-keys", "1000"]);
    let one = report(&scene, "one.json");
    let expected = blocks(&scene, "set/1.vset");
    // 40 bits, and those of 87,500 and of 1,000; 17 of them are those of the gaps' place.
    let bits = 40 + 17 + 10 - 16 + 2;
    assert!(expected.len() < 70_000 * bits / 8, "{} bytes", expected.len());
    fs::create_dir(scene.path("temp")).unwrap();
    let little: &[&str] = &["--memory", "72M", "--temp-dir", "temp"];
    for (name, how) in [
        ("2", &["--threads", "1"][..]),
        ("3", &["--threads", "2"]),
        ("4", &["--threads", "7"]),
        ("5", little),
    ] {
        let more = [how, &["--max-keys", "1000", "--report", "again.json"]].concat();
        let ended = publish(&scene, &format!("{name}.vset"), &with(&THEIRS, &more));
        ended.expect(0, &["epoch 1 under key 1: 70000 keys"]);
        assert!(blocks(&scene, &format!("{name}.vset")) == expected, "{how:?}");
        let again = report(&scene, "again.json");
        assert_eq!((&again["sizes"], &again["hints"]), (&one["sizes"], &one["hints"]), "{how:?}");
        let counted = again["phases"].as_array().unwrap().iter().any(|phase| phase["name"] == "count");
        assert_eq!(counted, how == little);
    }
    assert_eq!(fs::read_dir(scene.path("temp")).unwrap().count(), 0);
}

#[test]
fn a_budget_of_memory_that_suffices_is_not_heard_of() {
    let scene = published(&emails("sender", 9, 9), &["--memory", "1G", "--report", "theirs.json"]);
    let theirs = report(&scene, "theirs.json");
    assert_eq!((&theirs["sizes"]["items"], &theirs["hints"]), (&9.into(), &Value::Array(Vec::new())));
}

// ---- nights ---------------------------------------------------------------------------------------------------------

/// A table of these numbers, with labels of that day.
fn noted(numbers: impl Iterator<Item = usize>, day: &str) -> String {
    let rows = numbers.map(|n| format!("{n},person{n}@example.org,{day} {n}\n"));
    format!("id,email,note\n{}", rows.collect::<String>())
}

#[test]
fn every_night_is_its_table_and_whoever_missed_three_gets_them() {
    for labels in [&[][..], &["--payload", "note"]] {
        let scene = published(&noted(0..800, "first"), labels);
        scene.write("receiver.csv", noted((100..1400).step_by(3), "mine"));
        let (server, address) = serve(&scene, &[]);
        let fetched = ["--set", "fetched", "--fetch", "--output", "out.csv"];
        lookup_in(&scene, &address, &with(&MINE, &fetched))
            .expect(0, &["fetched key001-epoch000001-whole.vset"]);
        is_what_local_finds(&scene, &address, &KEY, labels);
        // Keys go, others come, labels change; then all at once, then nothing.
        let second = noted(200..700, "first") + &rest(&noted(700..900, "second"));
        let third = noted(0..1000, "third");
        for (number, table) in [(2, &second), (3, &third), (4, &third)] {
            night(&scene, number, table, labels).expect(0, &[&format!("epoch {number} under key 1")]);
            is_what_local_finds(&scene, &address, &KEY, labels);
        }
        // Two lists in place of the table.
        let lists = ["--added", "added.csv", "--removed", "removed.csv", "--previous", "set"];
        scene.write("added.csv", noted(950..1020, "fifth"));
        // Keys that go have no labels.
        let gone = (0..600).chain(5000..5010).map(|n| format!("person{n}@example.org\n"));
        scene.write("removed.csv", format!("email\n{}", gone.collect::<String>()));
        publish(&scene, "set/5.vset", &[&KEY, &lists[..], labels].concat())
            .expect(0, &["10 of the removed keys were not there"]);
        scene.write("sender.csv", noted(600..950, "third") + &rest(&noted(950..1020, "fifth")));
        is_what_local_finds(&scene, &address, &KEY, labels);
        let expected = scene.read("out.csv");
        // The server looks again once a second, and hands out the files that the receiver lacks.
        thread::sleep(Duration::from_millis(1100));
        lookup_in(&scene, &address, &with(&MINE, &["--set", "fetched", "--output", "old.csv"]))
            .expect(0, &["the sender's set is at epoch 5, and the one here at 1: `--fetch`"]);
        scene.write("out.csv", ANOTHER_DAY);
        let caught_up = lookup_in(&scene, &address, &with(&MINE, &fetched));
        caught_up.expect(0, &["epoch000002-delta", "epoch000005-delta"]);
        assert!(!caught_up.screen.contains("epoch000001"), "{}", caught_up.screen);
        assert_eq!(scene.read("out.csv"), expected);
        assert_eq!(fs::read_dir(scene.path("fetched")).unwrap().count(), 5);
        stop(server);
    }
}

/// The rows without the line of names.
fn rest(table: &str) -> String {
    table.split_once('\n').unwrap().1.to_owned()
}

#[test]
fn a_compact_file_stands_for_its_chain_and_the_next_night_follows_it() {
    let scene = published(&noted(0..300, "a"), &[]);
    scene.write("receiver.csv", noted(250..1000, "mine"));
    night(&scene, 2, &noted(100..500, "a"), &[]).expect(0, &[]);
    publish(&scene, "compact.vset", &with(&KEY, &["--compact", "--previous", "set"]))
        .expect(0, &["400 keys"]);
    // Who has the chain, and who has the one file, follow with the same delta.
    night(&scene, 3, &noted(200..600, "a"), &[]).expect(0, &[]);
    let (server, address) = serve(&scene, &[]);
    is_what_local_finds(&scene, &address, &KEY, &[]);
    let expected = scene.read("out.csv");
    assert_eq!(expected.lines().count(), 351);
    for set in
        [&["--set", "compact.vset", "--set", "set/3.vset"][..], &["--set", "compact.vset", "--set", "set"]]
    {
        scene.write("out.csv", ANOTHER_DAY);
        let args = [&MINE, set, &["--output", "out.csv"]].concat();
        lookup_in(&scene, &address, &args).expect(0, &["350 of 750 rows match"]);
        assert_eq!(scene.read("out.csv"), expected);
    }
    stop(server);
    // The server of the one file answers those of the chain, and gives newcomers two files.
    let compact = ["--secret", "set.key", "--set", "compact.vset", "--set", "set/3.vset"];
    let (server, address) = serve_at(&scene, "127.0.0.1:0", &compact);
    lookup(&scene, &address, &MINE).expect(0, &["350 of 750 rows match"]);
    let fetched = with(&MINE, &["--set", "fetched", "--fetch", "--output", "out.csv"]);
    lookup_in(&scene, &address, &fetched)
        .expect(0, &["fetched key001-epoch000002-compact.vset", "350 of 750 rows match"]);
    stop(server);
    publish(&scene, "labels.vset", &with(&THEIRS, &["--payload", "note"])).expect(0, &[]);
    publish(&scene, "never.vset", &["--compact", "--previous", "labels.vset"])
        .expect(64, &["labels are sealed for their epoch", "`--compact`"]);
    assert!(!scene.exists("never.vset"));
}

#[test]
fn a_new_key_refuses_the_old_set_and_gives_a_new_one() {
    let scene = published(&noted(0..50, "a"), &[]);
    scene.write("receiver.csv", noted(20..80, "mine"));
    fs::create_dir(scene.path("old")).unwrap();
    fs::copy(scene.path("set/1.vset"), scene.path("old/1.vset")).unwrap();
    let rotate = ["--previous", "set", "--rotate", "--identity", "sender.pem", "--output", "set/2.vset"];
    let args = [&["publish", "--secret", "new.key"], &THEIRS[..], &rotate].concat();
    scene.run(&args).expect(0, &["epoch 2 under key 2: 50 keys"]);
    let new = ["--secret", "new.key", "--set", "set"];
    let (server, address) = serve_at(&scene, "127.0.0.1:0", &new);
    let old = with(&MINE, &["--set", "old", "--output", "out.csv"]);
    let refused = lookup_in(&scene, &address, &old);
    refused
        .expect(77, &["answers under key 2, and the set here is of key 1", "get the set anew", "`--fetch`"]);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    lookup_in(&scene, &address, &with(&old, &["--fetch"]))
        .expect(0, &["fetched key002-epoch000002-whole.vset", "30 of 60 rows match"]);
    // Nothing was charged for the refused one.
    assert!(stop(server).screen.matches("keys answered").count() == 1);
    // A value of a key under the old set's secret is none under the new one.
    assert!(blocks(&scene, "set/1.vset") != blocks(&scene, "set/2.vset"));
    let old_key = ["--secret", "set.key", "--set", "set"];
    let args = ["serve", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--ledger", "ledger"];
    let allow = ["--allow", &*scene.receiver_key];
    scene.run(&[&args[..], &allow, &old_key].concat()).expect(64, &["`--secret` is not the key of the set"]);
}

#[test]
fn padding_stays_over_the_nights() {
    let scene = published(&noted(0..200, "a"), &["--pad-to", "512"]);
    scene.write("receiver.csv", noted(0..600, "mine"));
    let (server, address) = serve(&scene, &[]);
    let keys = |ended: Ended| {
        ended.expect(0, &[]);
        let kept = report(&scene, "theirs.json")["kept"].clone();
        ["keys", "added", "removed"].map(|what| kept[what].as_u64().unwrap())
    };
    let report = ["--report", "theirs.json"];
    // 50 go and 100 come: 50 dummies go.
    let padded = [&report[..], &["--pad-to", "512"]].concat();
    assert_eq!(keys(night(&scene, 2, &noted(50..300, "a"), &padded)), [512, 100, 100]);
    is_what_local_finds(&scene, &address, &KEY, &[]);
    // Without the option no dummy goes.
    assert_eq!(keys(night(&scene, 3, &noted(50..310, "a"), &report)), [522, 10, 0]);
    is_what_local_finds(&scene, &address, &KEY, &[]);
    // By lists, with the padding of the first day: ten dummies go, and five more for those that come.
    scene.write("added.csv", noted(310..320, "a"));
    scene.write("removed.csv", noted(50..55, "a"));
    let lists = ["--added", "added.csv", "--removed", "removed.csv", "--previous", "set"];
    let args = [&KEY[..], &lists, &padded].concat();
    assert_eq!(keys(publish(&scene, "set/4.vset", &args)), [512, 10, 20]);
    scene.write("sender.csv", noted(55..320, "a"));
    is_what_local_finds(&scene, &address, &KEY, &[]);
    // By lists, without it.
    scene.write("added.csv", noted(320..330, "a"));
    let args = [&KEY[..], &["--added", "added.csv", "--previous", "set"], &report].concat();
    assert_eq!(keys(publish(&scene, "set/5.vset", &args)), [522, 10, 0]);
    scene.write("sender.csv", noted(55..330, "a"));
    is_what_local_finds(&scene, &address, &KEY, &[]);
    // One file of all has them too.
    let compact = [&KEY[..], &["--compact", "--previous", "set"], &report].concat();
    assert_eq!(keys(publish(&scene, "compact.vset", &compact)), [522, 522, 0]);
    stop(server);
}
