//! Text that is not comma-separated UTF-8 with a header, and outputs that can be joined: two processes, and `vesica local`.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::files::parquet;
use crate::common::{Scene, emails, with};
use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Text in UTF-16, little-endian, with its mark.
fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().fold(vec![0xff, 0xfe], |mut bytes, unit| {
        bytes.extend(unit.to_le_bytes());
        bytes
    })
}

#[test]
fn tables_of_two_spreadsheets_meet() {
    let scene = Scene::new();
    scene.write("mine.csv", b"sep=;\r\nNr;Stadt\r\n1;Z\xfcrich\r\n2;Bern\r\n3;Gen\xe8ve\r\n");
    scene.write("theirs.txt", utf16("GENÈVE\tx\r\nBasel\ty\r\nzürich\tz"));
    let (receiver, sender) = scene.pair(
        &["--input", "theirs.txt", "--no-header", "--delimiter", "tab", "--key", "1:text"],
        &["--input", "mine.csv", "--encoding", "windows-1252", "--key", "Stadt:text", "--output", "out.csv"],
    );
    receiver.expect(0, &["2 of 3 rows match"]);
    sender.expect(0, &[]);
    let out = std::fs::read(scene.path("out.csv")).unwrap();
    assert_eq!(out, b"sep=;\r\nNr;Stadt\r\n1;Z\xfcrich\r\n3;Gen\xe8ve\r\n");
}

#[test]
fn two_tables_are_read_alike_or_each_in_its_way() {
    let scene = Scene::new();
    scene.write("a.csv", "1;Ada\n2;Bob\n");
    scene.write("b.csv", "k,v\nBob,x\n");
    scene.write("c.csv", "Bob|x\n");
    scene.write("t.csv", "k\tv\nBob\tx\n");
    let local = |more: &[&str]| {
        let args = ["local", "--receiver", "a.csv", "--output", "-"];
        scene.run(&[&args[..], more].concat())
    };
    for more in [
        &["--sender", "b.csv", "--key", "2=k", "--delimiter", ";=,", "--no-header=receiver"][..],
        &["--sender", "c.csv", "--key", "2=1", "--delimiter", ";=|", "--no-header"],
        &["--sender", "a.csv", "--key", "2", "--delimiter", ";", "--no-header", "--encoding", "latin1=utf-8"],
    ] {
        let ended = local(more);
        ended.expect(0, &["rows match"]);
        assert!(String::from_utf8(ended.stdout).unwrap().contains("2;Bob\n"), "{more:?}");
    }
    local(&["--sender", "b.csv", "--key", "2", "--delimiter", "semicolon"])
        .expect(64, &["write one ASCII character"]);
    local(&["--sender", "b.csv", "--key", "2", "--encoding", "klingon"]).expect(64, &["unknown encoding"]);
    // The remedy is for both tables, so that it does not lead from one of them to the other and back.
    for (sender, key, more, remedy) in [
        (
            "b.csv",
            "Ada=k",
            &[][..],
            "a.csv: no column `Ada`; the header has 1 column; it looks separated by semicolons: give `--delimiter ';=,'`",
        ),
        (
            "b.csv",
            "Ada=k",
            &["--delimiter", ";"],
            "b.csv: no column `k`; the header has 1 column; it looks separated by commas: give `--delimiter ';=,'`",
        ),
        ("c.csv", "Ada=Zed", &[], "give `--delimiter ';=|'`"),
        ("a.csv", "Ada", &[], "give `--delimiter ';'`"),
        ("t.csv", "Ada=k", &["--delimiter", ","], "give `--delimiter ';=tab'`"),
    ] {
        local(&with(&["--sender", sender, "--key", key], more)).expect(65, &[remedy]);
    }
}

#[test]
fn messy_tables_meet_with_the_options_of_each() {
    let scene = Scene::new();
    let mine = "Report, 2024\nid;mail\n1;ada@example.com;\n2;NULL;\n# 4;eve@example.com\n3;bob@example.com;\nTotal: 3\n";
    scene.write("mine.csv", mine);
    scene.write("theirs.tsv", "mail\tsize\nada@example.com\t12\"\nNULL\t\"x\neve@example.com\t7\n");
    let args = [
        "local",
        "--receiver",
        "mine.csv",
        "--sender",
        "theirs.tsv",
        "--key",
        "mail:email",
        "--null",
        "NULL",
    ];
    let options =
        ["--delimiter", "auto=tab", "--skip-lines", "1=0", "--comment", "#", "--ragged", "pad=error"];
    let more = ["--quote", "\"=none", "--on-null", "skip", "--output", "out.csv", "--report", "report.json"];
    let ended = scene.run(&[&args[..], &options, &more].concat());
    ended.expect(
        0,
        &["1 of 4 rows matches", "2 rows without a key left out", "`--delimiter auto`: ';' is taken"],
    );
    let out = std::fs::read_to_string(scene.path("out.csv")).unwrap();
    assert_eq!(out, "Report, 2024\nid;mail\n1;ada@example.com;\n");
    let report = std::fs::read_to_string(scene.path("report.json")).unwrap();
    assert!(report.contains("is taken, with which"), "{report}");
    // What is left out is told, and what could help where nothing is.
    let ended =
        scene.run(&["inspect", "out.csv", "--skip-lines", "1", "--ragged", "skip", "--delimiter", ";"]);
    ended.expect(0, &[]);
    let told = String::from_utf8(ended.stdout).unwrap();
    assert!(told.contains("1 row was left out (`--ragged skip`)") && told.contains("in line 3"), "{told}");
    let told =
        ["mine.csv, line 2: ", "give `--delimiter ';'`", "`--skip-lines 1` skips", "`--ragged pad` reads"];
    scene.run(&["inspect", "mine.csv", "--key", "mail"]).expect(65, &told[1..]);
    let args = ["inspect", "mine.csv", "--quote", "a"];
    scene.run(&args).expect(64, &["neither a letter nor a digit, or none"]);
}

#[test]
fn what_cannot_be_decoded_is_an_error_with_its_line() {
    let scene = Scene::new();
    scene.write("mine.csv", b"k,v\na,1\n\xff\xff,2\n");
    let ended = scene.run(&["inspect", "--input", "mine.csv", "--key", "k:text", "--encoding", "shift_jis"]);
    ended.expect(0, &[]);
    assert!(String::from_utf8_lossy(&ended.stdout).contains("`--encoding` names; first in line 3"));
    let args =
        ["local", "--receiver", "mine.csv", "--sender", "mine.csv", "--key", "k", "--output", "out.csv"];
    scene
        .run(&with(&args, &["--encoding", "shift_jis"]))
        .expect(65, &["mine.csv, line 3, column `k`", "not in the encoding"]);
    let half = [utf16("k,v\na,1\n"), vec![b'x']].concat();
    scene.write("mine.csv", half);
    scene
        .run(&args)
        .expect(65, &["mine.csv, line 3: the text from here on is not in the file's encoding, UTF-16LE"]);
    assert!(!scene.exists("out.csv"));
}

/// From each match number to the key of its row.
fn by_number(text: &str) -> BTreeMap<u64, BTreeSet<String>> {
    let mut lines = text.lines();
    assert!(lines.next().unwrap().ends_with(",match_id"), "{text}");
    let mut found = BTreeMap::<u64, BTreeSet<String>>::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let key = fields[1].trim().to_lowercase();
        found.entry(fields[2].parse().unwrap()).or_default().insert(key);
    }
    found
}

#[test]
fn both_outputs_have_one_number_for_one_key() {
    let scene = Scene::new();
    let mine = emails("receiver", 300, 70);
    // A key that stands twice has its number twice.
    let theirs = emails("sender", 200, 70) + "200,common.person3@example.org\n";
    scene.write("mine.csv", &mine);
    scene.write("theirs.csv", &theirs);
    let agreed = ["--key", "email:email", "--learns", "both", "--match-id"];
    let run = |protocol: &[&str], mine: &str, output: &str| {
        let (receiver, sender) = scene.pair(
            &[&agreed[..], &["--input", "theirs.csv", "--output", "theirs.out.csv"], protocol].concat(),
            &[&agreed[..], &["--input", mine, "--output", output], protocol].concat(),
        );
        receiver.expect(0, &["70 of 300 rows match"]);
        sender.expect(0, &["71 of 201 rows match"]);
    };
    let mut orders = BTreeSet::new();
    for protocol in [&["--protocol", "vole"][..], &["--protocol", "dh", "--security", "semi-honest"]] {
        run(protocol, "mine.csv", "mine.out.csv");
        let (ours, others) =
            (by_number(&scene.read("mine.out.csv")), by_number(&scene.read("theirs.out.csv")));
        assert_eq!(ours, others);
        assert!(ours.keys().copied().eq(1..=70) && ours.values().all(|keys| keys.len() == 1));
        orders.insert(ours.into_values().collect::<Vec<_>>());
    }
    assert_eq!(orders.len(), 2, "every run has an order of its own");

    scene.write("mine.parquet", parquet(&mine));
    run(&[], "mine.parquet", "mine.out.parquet");
    let others = by_number(&scene.read("theirs.out.csv"));
    let file = std::fs::File::open(scene.path("mine.out.parquet")).unwrap();
    for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch.schema().field(2).name(), "match_id");
        let numbers = batch.column(2).as_primitive::<arrow_array::types::Int64Type>();
        let mails = batch.column(1).as_string::<i32>();
        for row in 0..batch.num_rows() {
            let key = mails.value(row).trim().to_lowercase();
            assert!(others[&(numbers.value(row) as u64)].contains(&key));
        }
    }
}

#[test]
fn match_numbers_are_agreed_and_for_both_sides() {
    let scene = Scene::new();
    scene.write("mine.csv", emails("receiver", 30, 7));
    let usual = ["--input", "mine.csv", "--key", "email:email", "--learns", "both"];
    let (receiver, sender) =
        scene.pair(&usual, &[&usual[..], &["--output", "out.csv", "--match-id"]].concat());
    receiver.expect(77, &["match id: mine yes, theirs no"]);
    sender.expect(77, &["match id: mine no, theirs yes"]);
    let args =
        ["local", "--receiver", "mine.csv", "--sender", "mine.csv", "--key", "email", "--output", "out.csv"];
    scene.run(&with(&args, &["--match-id"])).expect(64, &["give `--learns both`"]);
}

#[test]
fn an_empty_result_comes_with_a_hint() {
    let scene = Scene::new();
    scene.write("mine.csv", "k\nAda\nBob\n");
    scene.write("theirs.csv", "k\nada\nbob\n");
    let args = ["local", "--sender", "theirs.csv", "--output", "-", "--report", "report.json", "--receiver"];
    let hints = || {
        let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
        std::fs::remove_file(scene.path("report.json")).unwrap();
        report["hints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hint| hint.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    scene.run(&with(&args, &["mine.csv", "--key", "k"])).expect(0, &["no key in common", "`vesica inspect`"]);
    assert!(hints()[0].starts_with("no key in common"));
    scene.run(&with(&args, &["mine.csv", "--key", "k:text"])).expect(0, &["2 of 2 rows match"]);
    assert!(hints().is_empty());
    let skipped = ["mine.csv", "--key", "k:int", "--on-invalid", "skip"];
    scene
        .run(&with(&args, &skipped))
        .expect(0, &["all 2 rows were left out: 0 with an empty key, 2 with an invalid"]);
    assert_eq!(hints().len(), 1);
}

#[test]
fn a_look_at_a_table_says_how_to_read_it() {
    let scene = Scene::new();
    scene.write("one.csv", "id;mail\n1;a@b.c\n");
    let look = |more: &[&str]| {
        let ended = scene.run(&with(&["inspect", "--input", "one.csv"], more));
        ended.expect(0, &[]);
        String::from_utf8(ended.stdout).unwrap()
    };
    let text = look(&[]);
    assert!(text.starts_with("CSV, 1 row, 1 column\n"), "{text}");
    assert!(text.contains("it looks separated by semicolons: give `--delimiter ';'`"), "{text}");
    let text = look(&["--delimiter", ";", "--key", "mail:email"]);
    assert!(text.starts_with("CSV, 1 row, 2 columns\n") && text.contains("  mail  text  (key)\n"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&look(&["--delimiter", ";", "--key", "mail:email", "--json"])).unwrap();
    let of = |at: usize| (&json["columns"][at]["key"], &json["columns"][at]["can_be_key"]);
    assert_eq!((of(0), of(1)), ((&false.into(), &true.into()), (&true.into(), &true.into())));
    assert!(json["hint"].is_null());
}
