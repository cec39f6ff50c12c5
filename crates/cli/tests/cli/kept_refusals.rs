//! What `publish`, `serve` and `lookup` refuse, before anything moves: no file is touched, and nobody is charged. Set files that
//! somebody damaged are refused, too, and the message says where.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{ANOTHER_DAY, Scene, emails, plain_join, with};
use crate::kept_sets::{
    KEY, MINE, THEIRS, lookup, lookup_in, publish, published, report, serve, serve_at, stop,
};

/// Every file and folder of a scene, with what it holds.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        }
        found.insert(path.display().to_string(), fs::read(&path).unwrap_or_default());
    }
    found
}

/// Runs the program, which refuses, and leaves every file as it was.
#[track_caller]
fn refused(scene: &Scene, args: &[&str], code: i32, words: &[&str]) {
    let before = contents(&scene.path(""));
    let ended = scene.run(args);
    ended.expect(code, words);
    ended.expect(code, &["what to do: "]);
    assert!(!ended.screen.contains("person"), "{}", ended.screen);
    let after = contents(&scene.path(""));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    assert!(after == before, "a file was changed: {args:?}");
}

const SIGN: [&str; 5] = ["publish", "--secret", "set.key", "--identity", "sender.pem"];

#[test]
fn what_cannot_be_published_leaves_every_file() {
    let scene = published(&emails("sender", 40, 20), &[]);
    let args = |more: &[&'static str]| [&SIGN[..], more].concat();
    let usual = with(&THEIRS, &["--output", "set/2.vset"]);
    let refused = |args: &[&str], code, words: &[&str]| refused(&scene, args, code, words);
    let next = |more: &[&'static str]| args(&[&usual[..], &["--previous", "set"], more].concat());

    let output = with(&THEIRS, &["--output", "set/1.vset"]);
    refused(&args(&output), 64, &["set/1.vset exists already", "`--output`"]);
    let nowhere = with(&THEIRS, &["--output", "none/1.vset"]);
    refused(&args(&nowhere), 64, &["the folder of none/1.vset does not exist", "`--output`"]);
    let unfound = with(&THEIRS, &["--output", "set/2.bin"]);
    refused(&args(&unfound), 64, &["ends in .vset, and not as set/2.bin", "`--output`"]);
    refused(&next(&["--payload", "id"]), 64, &["the set in `--previous` has `--payload`"]);
    refused(&next(&["--max-keys", "7"]), 64, &["the set in `--previous` has `--max-keys` 1048576"]);
    let other =
        ["--key", "email:text", "--input", "sender.csv", "--output", "set/2.vset", "--previous", "set"];
    refused(&args(&other), 64, &["the set in `--previous` has keys by"]);
    refused(&next(&["--pad-to", "39"]), 64, &["40 different keys, more than `--pad-to` allows"]);
    // 40 keys have room for 24 more.
    scene.write("many.csv", emails("sender", 65, 20));
    let many = ["--input", "many.csv", "--previous", "set", "--output", "set/2.vset"];
    refused(
        &args(&with(&KEY, &many)),
        64,
        &["65 keys, too many for the 66 bits", "`--rotate`", "`--pad-to`"],
    );
    refused(&next(&["--rotate"]), 64, &["`--secret set.key` exists already", "needs a new file"]);
    refused(&args(&[&usual[..], &["--previous", "none"]].concat()), 65, &["none: cannot be read"]);
    fs::create_dir(scene.path("empty")).unwrap();
    refused(&args(&[&usual[..], &["--previous", "empty"]].concat()), 65, &["empty: no set file"]);
    let twice =
        ["--added", "sender.csv", "--removed", "sender.csv", "--previous", "set", "--output", "2.vset"];
    refused(&args(&with(&KEY, &twice)), 64, &["in `--added` and in `--removed`"]);
    let absent = ["--key", "mail:email", "--input", "sender.csv", "--output", "set/2.vset"];
    refused(&args(&absent), 65, &["no column `mail`"]);
    // Another identity continues no set, and another secret neither.
    let signed = ["publish", "--secret", "set.key", "--identity", "helper.pem", "--previous", "set"];
    refused(&with(&signed, &usual), 77, &["set/1.vset: the signature", "not the expected sender's"]);
    assert_eq!(publish(&scene, "other.vset", &with(&THEIRS, &["--secret", "other.key"])).code, Some(64));
    let other = ["publish", "--secret", "other.key", "--identity", "sender.pem"];
    scene.run(&[&other, &THEIRS[..], &["--output", "other.vset"]].concat()).expect(0, &[]);
    let follows = [&other, &usual[..], &["--previous", "set"]].concat();
    refused(&follows, 64, &["is not the key of the set in `--previous`"]);
    fs::set_permissions(scene.path("set.key"), fs::Permissions::from_mode(0o644)).unwrap();
    refused(&next(&[]), 64, &["`--secret set.key`", "chmod 600"]);
}

#[test]
fn a_set_that_was_not_made_leaves_no_secret() {
    let scene = published(&emails("sender", 40, 20), &[]);
    let new = ["publish", "--secret", "new.key", "--identity", "sender.pem", "--output", "set/2.vset"];
    let absent = ["--input", "sender.csv", "--key", "mail:email"];
    refused(&scene, &with(&new, &absent), 65, &["no column `mail`"]);
    let rotate = ["--previous", "set", "--rotate"];
    refused(&scene, &[&new[..], &absent, &rotate].concat(), 65, &["no column `mail`"]);
    // So the same command goes through once the table is right.
    scene.run(&[&new[..], &THEIRS, &rotate].concat()).expect(0, &["under key 2"]);
    assert_eq!(fs::metadata(scene.path("new.key")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_server_without_its_set_secret_or_ledger_does_not_begin() {
    let scene = published(&emails("sender", 40, 20), &[]);
    let (first, _) = serve(&scene, &[]);
    let at = ["serve", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--secret", "set.key"];
    let at = with(&at, &["--allow", &scene.receiver_key]);
    let refused = |more: &[&str], code, words: &[&str]| refused(&scene, &with(&at, more), code, words);
    refused(
        &["--set", "set", "--ledger", "ledger"],
        64,
        &["ledger: the ledger is in use by another process"],
    );
    stop(first);
    let nothing = ["--set", "set", "--ledger", "new", "--max-keys-per-day", "0"];
    scene.run(&with(&at, &nothing)).expect(64, &["write 1 or more"]);
    refused(&["--set", "none", "--ledger", "ledger"], 65, &["none: cannot be read"]);
    refused(&["--set", "set", "--ledger", "sender.csv"], 65, &["sender.csv: is not a ledger"]);
    refused(&["--set", "set", "--ledger", "none/ledger"], 74, &["none/ledger", "`--ledger`"]);
    fs::set_permissions(scene.path("set.key"), fs::Permissions::from_mode(0o644)).unwrap();
    refused(&["--set", "set", "--ledger", "ledger"], 64, &["`--secret set.key`", "chmod 600"]);
}

#[test]
fn a_query_that_does_not_fit_the_set_is_not_sent() {
    let scene = published(&emails("sender", 40, 20), &["--max-keys", "30"]);
    scene.write("receiver.csv", emails("receiver", 30, 20));
    scene.write("many.csv", emails("receiver", 31, 20));
    let (server, address) = serve(&scene, &[]);
    let ask = ["lookup", "--connect", &address, "--identity", "receiver.pem", "--output", "out.csv"];
    let right = with(&ask, &["--peer", &scene.sender_key]);
    let refused = |args: &[&str], code, words: &[&str]| refused(&scene, args, code, words);
    let wrong = with(&ask, &["--peer", &scene.helper_key]);
    refused(&[&wrong, &MINE[..], &["--set", "set"]].concat(), 77, &["set/1.vset: the signature", "`--peer`"]);
    let rule = ["--input", "receiver.csv", "--set", "set", "--key", "email:text"];
    refused(&with(&right, &rule), 64, &["the set's keys are by", "this table's by", "`--key COLUMN:RULE`"]);
    let two = [&MINE[..], &["--set", "set", "--key", "id"]].concat();
    refused(&with(&right, &two), 64, &["the set's keys are by"]);
    let many = ["--input", "many.csv", "--set", "set"];
    let words = ["the table has 31 keys, and the set takes 30 in a query"];
    refused(&[&right, &KEY[..], &many].concat(), 64, &words);
    refused(&[&right, &MINE[..], &["--set", "set", "--pad-to", "31"]].concat(), 64, &words);
    refused(&[&right, &MINE[..], &["--set", "none"]].concat(), 65, &["none: cannot be read"]);
    refused(&[&right, &MINE[..], &["--set", "set/1.vset", "--fetch"]].concat(), 64, &["`--fetch` needs"]);
    // Whoever is not on the list is turned away.
    let stranger = ["lookup", "--connect", &address, "--identity", "helper.pem", "--output", "out.csv"];
    let stranger = [&stranger, &MINE[..], &["--set", "set", "--peer", &scene.sender_key]].concat();
    refused(&with(&stranger, &["--timeout", "3s"]), 77, &["where: "]);
    // Nothing was charged until here.
    assert_eq!(fs::read(scene.path("ledger")).unwrap().len(), 16);
    lookup(&scene, &address, &MINE).expect(0, &["20 of 30 rows match"]);
    stop(server);
}

#[test]
fn a_chain_with_a_gap_is_named() {
    let scene = published(&emails("sender", 40, 20), &[]);
    scene.write("receiver.csv", emails("receiver", 30, 20));
    let follow = with(&THEIRS, &["--previous", "set"]);
    (2..5).for_each(|number| publish(&scene, &format!("set/{number}.vset"), &follow).expect(0, &[]));
    let (server, address) = serve(&scene, &[]);
    let ask = ["lookup", "--connect", &address, "--peer", &scene.sender_key, "--identity", "receiver.pem"];
    let ask = [&ask, &MINE[..], &["--output", "out.csv"]].concat();
    let refused = |files: &[&str], words: &[&str]| {
        let sets: Vec<&str> = files.iter().flat_map(|file| ["--set", *file]).collect();
        refused(&scene, &with(&ask, &sets), 65, words);
    };
    let gap = "set/4.vset: is epoch 4, and the delta of epoch 3 of the same key is missing";
    refused(&["set/1.vset", "set/2.vset", "set/4.vset"], &[gap, "each night's once"]);
    refused(&["set/2.vset", "set/3.vset"], &["set/2.vset: is a delta under key 1, and no whole file"]);
    // Two nights of one number.
    scene.write("sender.csv", emails("sender", 50, 20));
    let fork = with(&THEIRS, &["--previous", "set/1.vset"]);
    publish(&scene, "fork.vset", &fork).expect(0, &["epoch 2"]);
    refused(&["set", "fork.vset"], &["fork.vset", "set/2.vset", "both are epoch 2"]);
    refused(&["set/1.vset", "fork.vset", "set/3.vset"], &["set/3.vset: does not follow fork.vset"]);
    // Another set of the same sender is no part of it.
    let other = ["publish", "--secret", "other.key", "--identity", "sender.pem", "--output", "other.vset"];
    scene.run(&with(&other, &THEIRS)).expect(0, &[]);
    refused(&["set", "other.vset"], &["the public key differs, so they are no chain"]);
    stop(server);
}

// ---- damage ---------------------------------------------------------------------------------------------------------

/// Where the parts of a set file with so many blocks begin: header, signature, index, and each block.
fn parts(file: &[u8], blocks: usize) -> ([usize; 3], Vec<usize>) {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (signature, index) = (17 + number(13), 17 + number(13) + 64);
    let (mut at, mut starts) = (index + 20 * blocks, Vec::new());
    for block in 0..blocks {
        starts.push(at);
        at += number(index + 20 * block);
    }
    assert_eq!(at, file.len());
    ([17, signature, index], starts)
}

#[test]
fn a_damaged_file_gives_no_row_and_its_place_is_named() {
    // Several blocks, and a key in each of them that is asked for.
    let scene = published(&emails("sender", 3000, 900), &["--report", "theirs.json"]);
    assert_eq!(report(&scene, "theirs.json")["kept"]["keys"], 3000);
    scene.write("receiver.csv", emails("receiver", 900, 900));
    let (server, address) = serve(&scene, &[]);
    let whole = fs::read(scene.path("set/1.vset")).unwrap();
    // Four blocks of additions; no removals have one, too.
    let ([header, signature, index], starts) = parts(&whole, 4 + 1);
    let (blocks, end) = (starts[0], whole.len());
    let try_with = |bytes: &[u8], codes: &[i32], words: &[&str]| {
        scene.write("bad.vset", bytes);
        let more = with(&MINE, &["--set", "bad.vset", "--output", "out.csv", "--timeout", "20s"]);
        let ended = lookup_in(&scene, &address, &more);
        assert!(codes.contains(&ended.code.unwrap()), "{}", ended.screen);
        ended.expect(ended.code.unwrap(), &with(&["bad.vset", "what to do: "], words));
        assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    };
    let flip = |at: usize, codes: &[i32], words: &[&str]| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        try_with(&bytes, codes, words);
    };
    flip(3, &[65], &["not a set file of this version (bytes 0 to 13)"]);
    flip(15, &[65], &["header (byte 13)"]);
    for at in (header..signature).step_by(23) {
        flip(at, &[65, 77], &["byte"]);
    }
    let place = format!("the signature (bytes {signature} to {index})");
    (signature..index).step_by(9).for_each(|at| flip(at, &[77], &[&place]));
    let place = format!("the index (bytes {index} to {blocks}) is damaged");
    [index + 5, index + 47, blocks - 1].iter().for_each(|at| flip(*at, &[65], &[&place]));
    flip(index, &[65], &["bytes"]);
    for (block, start) in starts[..4].iter().enumerate() {
        let words = [&*format!("block {block} of the additions (bytes {start} to "), "is damaged"];
        [0, 100].iter().for_each(|further| flip(start + further, &[65], &words));
    }
    for length in [0, 9, 15, header + 3, signature + 8, index + 11, blocks + 1, end - 1] {
        try_with(&whole[..length], &[65], &["bytes"]);
    }
    try_with(&[&whole[..], b"more"].concat(), &[65], &["bytes"]);
    lookup(&scene, &address, &MINE).expect(0, &["900 of 900 rows match"]);
    stop(server);
}

#[test]
fn a_fetched_file_is_whole_and_signed_or_is_not_there() {
    let scene = published(&emails("sender", 3000, 900), &[]);
    scene.write("receiver.csv", emails("receiver", 30, 30));
    let (server, address) = serve(&scene, &[]);
    // The server has opened the file; somebody changes it then.
    let whole = fs::read(scene.path("set/1.vset")).unwrap();
    let fetch = with(&MINE, &["--set", "fetched", "--fetch", "--output", "out.csv", "--timeout", "5s"]);
    let mut changed = whole.clone();
    changed[90] ^= 1;
    for (bytes, codes) in [(&changed[..], [65, 77]), (&whole[..2000], [65, 65]), (b"", [65, 65])] {
        scene.write("set/1.vset", bytes);
        let ended = lookup_in(&scene, &address, &fetch);
        assert!(codes.contains(&ended.code.unwrap()), "{}", ended.screen);
        assert_eq!(fs::read_dir(scene.path("fetched")).unwrap().count(), 0, "{}", ended.screen);
        assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    }
    scene.write("set/1.vset", &whole);
    let few = with(&fetch, &["--max-peer-rows", "10"]);
    lookup_in(&scene, &address, &few).expect(0, &["30 of 30 rows match"]);
    assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
    stop(server);
}

#[test]
fn nights_that_do_not_fit_are_not_served() {
    let scene = published(&emails("sender", 40, 20), &[]);
    scene.write("receiver.csv", emails("receiver", 30, 20));
    let set = ["--secret", "set.key", "--set", "set"];
    let (mut server, address) = serve_at(&scene, "127.0.0.1:0", &set);
    scene.write("set/2.vset", "no set");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    // The old files still stand.
    let own = with(&MINE, &["--set", "set/1.vset", "--output", "out.csv"]);
    lookup_in(&scene, &address, &own).expect(0, &["20 of 30 rows match"]);
    server.wait_for("the set's new files are not used");
    stop(server);
}
