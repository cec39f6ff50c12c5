//! Results that are not rows, and rows with a payload, between two processes with TLS: what each side gets, writes and shows,
//! in every format and under every rule for duplicates; and what is refused, on both sides, with nothing written.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::collections::BTreeMap;
use std::fs::File;

use crate::common::{Ended, Scene};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

const MINE: [&str; 4] = ["--input", "receiver.csv", "--key", "email:email"];
const THEIRS: [&str; 4] = ["--input", "sender.csv", "--key", "mail:email"];
const COUNT: [&str; 4] = ["--security", "semi-honest", "--result", "count"];

/// A row of the sender: address, cents, city.
type Sale = (&'static str, &'static str, &'static str);

/// Two keys in common; one of them has two rows here, the other has two rows there.
const PEOPLE: [&str; 5] = ["ada", "bob", "ada", "eve", "zoe"];
const SALES: [Sale; 5] = [
    ("bob", "5", "Bern"),
    ("ada", "7", ""),
    ("bob", "30", "Bern"),
    ("kim", "1000", "Zug"),
    ("", "9", "Chur"),
];

fn address(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}.person@example.org") }
}

fn people(names: &[&str]) -> String {
    let lines = names.iter().enumerate().map(|(id, name)| format!("{id},{}\n", address(name)));
    format!("id,email\n{}", lines.collect::<String>())
}

fn sales(sales: &[Sale]) -> String {
    let lines = sales.iter().map(|(name, cents, city)| format!("{},{cents},{city}\n", address(name)));
    format!("mail,cents,city\n{}", lines.collect::<String>())
}

fn tables() -> Scene {
    scene_of(&people(&PEOPLE), &sales(&SALES))
}

fn scene_of(mine: &str, theirs: &str) -> Scene {
    let scene = Scene::new();
    scene.write("receiver.csv", mine);
    scene.write("sender.csv", theirs);
    scene
}

/// The sender's table in another format.
fn columnar(format: &str) -> Vec<u8> {
    let of = |value: fn(&Sale) -> String| -> ArrayRef {
        let values = SALES.iter().map(|sale| Some(value(sale)).filter(|text| !text.is_empty()));
        std::sync::Arc::new(StringArray::from_iter(values))
    };
    let cents = UInt64Array::from_iter_values(SALES.iter().map(|sale| sale.1.parse::<u64>().unwrap()));
    let columns: [(&str, ArrayRef); 3] = [
        ("mail", of(|sale| address(sale.0))),
        ("cents", std::sync::Arc::new(cents)),
        ("city", of(|sale| sale.2.to_owned())),
    ];
    write(format, &RecordBatch::try_from_iter(columns).unwrap())
}

/// The receiver's table in another format.
fn my_columns(format: &str) -> Vec<u8> {
    let mails: ArrayRef =
        std::sync::Arc::new(StringArray::from_iter_values(PEOPLE.iter().map(|name| address(name))));
    write(format, &RecordBatch::try_from_iter([("email", mails)]).unwrap())
}

fn write(format: &str, batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    if format == "parquet" {
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
    } else {
        let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    }
    bytes
}

fn read(scene: &Scene, name: &str) -> RecordBatch {
    let file = File::open(scene.path(name)).unwrap();
    if name.ends_with("parquet") {
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next().unwrap().unwrap()
    } else {
        FileReader::try_new(file, None).unwrap().next().unwrap().unwrap()
    }
}

/// A run with these options on both sides, and further ones of the receiver and of the sender.
fn run(scene: &Scene, options: &[&str], more: [&[&str]; 2]) -> [Ended; 2] {
    let receiver =
        [&MINE, options, &["--report", "mine.json", "--events", "mine.events.json"], more[0]].concat();
    let sender = [&THEIRS, options, &["--report", "theirs.json"], more[1]].concat();
    scene.pair(&sender, &receiver).into()
}

const OUT: [&str; 2] = ["--output", "out.csv"];

#[track_caller]
fn succeed(ended: &[Ended; 2]) {
    ended.iter().for_each(|end| end.expect(0, &[]));
}

/// Reports of the receiver and of the sender.
fn reports(scene: &Scene) -> [Value; 2] {
    ["mine.json", "theirs.json"].map(|name| serde_json::from_str(&scene.read(name)).unwrap())
}

/// What neither side may hold of the other: no planted identifier is on a screen, on standard output, or in a report.
#[track_caller]
fn nothing_shown(scene: &Scene, ended: &[Ended; 2]) {
    let texts =
        ended.iter().flat_map(|end| [end.screen.clone(), String::from_utf8_lossy(&end.stdout).into_owned()]);
    let files = scene.files().into_iter().filter(|name| name.ends_with(".json") || name.starts_with("out"));
    for text in texts
        .chain(files.map(|name| String::from_utf8_lossy(&std::fs::read(scene.path(&name)).unwrap()).into()))
    {
        assert!(!text.contains("person") && !text.contains("example.org"), "{text}");
    }
}

/// Both ended with this code and these words, and nothing was written.
#[track_caller]
fn refused(scene: &Scene, ended: &[Ended; 2], code: i32, words: &[&str]) {
    for end in ended {
        end.expect(code, words);
        assert!(end.stdout.is_empty());
    }
    assert!(!scene.files().iter().any(|name| name.starts_with("out")), "{:?}", scene.files());
    nothing_shown(scene, ended);
}

#[test]
fn a_count_counts_keys_and_goes_to_the_receiver_alone() {
    let scene = tables();
    let ended = run(&scene, &COUNT, [&OUT, &[]]);
    succeed(&ended);
    assert_eq!(scene.read("out.csv"), "matches\n2\n");
    ended[0].expect(0, &["2 keys match; written to out.csv", "protocol circuit-vole"]);
    ended[1].expect(0, &["done: this side's part is complete"]);
    nothing_shown(&scene, &ended);
    let [mine, theirs] = reports(&scene);
    assert_eq!((&mine["result"]["kind"], &mine["result"]["count"]), (&"count".into(), &2.into()));
    assert!(theirs["result"]["count"].is_null() && mine["matches"].is_null(), "{mine} {theirs}");
    assert_eq!(mine["result"]["receiver_learns"], theirs["result"]["receiver_learns"]);
    assert!(!theirs["result"]["sender_learns"].to_string().contains("how many keys match"), "{theirs}");
    assert_eq!(mine["terms"]["result"], "count");
}

#[test]
fn a_count_is_of_keys_under_every_rule_for_duplicates() {
    for rule in ["all", "first"] {
        let scene = tables();
        succeed(&run(&scene, &[&COUNT[..], &["--on-duplicates", rule]].concat(), [&OUT, &[]]));
        assert_eq!(scene.read("out.csv"), "matches\n2\n");
    }
    // A table against itself, against one without its keys, and against an empty one.
    let scene = scene_of(&people(&PEOPLE), &people(&PEOPLE).replace("email", "mail"));
    succeed(&run(&scene, &COUNT, [&OUT, &[]]));
    assert_eq!(scene.read("out.csv"), "matches\n4\n");
    for theirs in [&sales(&[("kim", "1", "")]), "mail,cents,city\n"] {
        let scene = scene_of(&people(&PEOPLE), theirs);
        succeed(&run(&scene, &COUNT, [&OUT, &[]]));
        assert_eq!(scene.read("out.csv"), "matches\n0\n");
    }
}

#[test]
fn both_sides_learn_a_count_if_they_agreed_on_it() {
    let scene = tables();
    let options = [&COUNT[..], &["--learns", "both", "--pad-to", "pow2"]].concat();
    let ended = run(&scene, &options, [&OUT, &["--output", "-"]]);
    succeed(&ended);
    assert_eq!(scene.read("out.csv"), "matches\n2\n");
    assert_eq!(ended[1].stdout, b"matches\n2\n");
    assert_eq!(reports(&scene)[1]["result"]["count"], 2);
    nothing_shown(&scene, &ended);
}

#[test]
fn a_count_is_written_in_the_format_of_the_outputs_name() {
    for format in ["parquet", "arrow"] {
        let scene = tables();
        scene.write("mine", my_columns(format));
        let out = format!("out.{format}");
        succeed(&run(&scene, &COUNT, [&["--output", &out], &[]]));
        let found = read(&scene, &out);
        assert_eq!((found.num_rows(), found.schema().field(0).name().as_str()), (1, "matches"));
        assert_eq!(found.column(0).as_primitive::<Int64Type>().value(0), 2);
        // A table of one format, a result of another.
        let receiver = ["--input", "mine", "--key", "email:email", "--output", "out.csv"];
        let ended = scene.pair(&[&THEIRS[..], &COUNT].concat(), &[&receiver[..], &COUNT].concat());
        succeed(&ended.into());
        assert_eq!(scene.read("out.csv"), "matches\n2\n");
    }
}

#[test]
fn whether_enough_keys_match_is_all_that_both_learn() {
    for (least, reached) in [("1", true), ("2", true), ("3", false)] {
        let scene = tables();
        let options = [&COUNT[..], &["--at-least", least]].concat();
        let ended = run(&scene, &options, [&OUT, &["--output", "out.sender.csv"]]);
        succeed(&ended);
        for out in ["out.csv", "out.sender.csv"] {
            assert_eq!(scene.read(out), format!("at_least\n{reached}\n"));
        }
        for report in reports(&scene) {
            assert_eq!(report["result"]["at_least"], reached);
            assert!(report["result"]["count"].is_null());
            assert_eq!(report["result"]["receiver_learns"], report["result"]["sender_learns"]);
        }
        nothing_shown(&scene, &ended);
    }
}

#[test]
fn below_the_minimum_both_sides_learn_only_that() {
    for result in [&["--result", "count"][..], &["--result", "sum", "--value", "cents"]] {
        let options = |least| [&["--security", "semi-honest", "--min-matches", least], result].concat();
        for learns in ["receiver", "both"] {
            let scene = tables();
            let options = [&options("3")[..], &["--learns", learns]].concat();
            let more: &[&str] = if learns == "both" { &["--output", "out.sender.csv"] } else { &[] };
            let ended = run(&scene, &options, [&OUT, more]);
            refused(
                &scene,
                &ended,
                77,
                &[
                    "fewer than 3 keys",
                    "`--min-matches`",
                    "both sides learnt only that; compare larger tables",
                ],
            );
            for report in reports(&scene) {
                assert!(
                    report["result"]["count"].is_null() && report["result"]["sums"].is_null(),
                    "{report}"
                );
                let learnt = report["result"]["sender_learns"].to_string();
                assert!(learnt.contains("whether at least 3 keys match"), "{learnt}");
            }
        }
        let scene = tables();
        succeed(&run(&scene, &options("2"), [&OUT, &[]]));
        assert!(scene.exists("out.csv"));
    }
}

#[test]
fn noise_changes_a_count_and_is_said() {
    let scene = tables();
    let options = [&COUNT[..], &["--noise", "20"]].concat();
    let ended = run(&scene, &options, [&OUT, &[]]);
    succeed(&ended);
    // With so little noise, a sample other than 0 is a matter of 2^-28.
    assert_eq!(scene.read("out.csv"), "matches\n2\n");
    ended[0].expect(0, &["2 keys match, with noise", "`--pad-to N`"]);
    assert_eq!(reports(&scene)[0]["terms"]["noise"], "20");
    // What is decided by such a count is no word about the keys themselves.
    let ended = run(&scene, &[&options[..], &["--min-matches", "1000"]].concat(), [&OUT, &[]]);
    ended[0].expect(77, &["the count of the intersection, with noise, is below 1000", "`--min-matches`"]);
    let ended = run(
        &scene,
        &[&options[..], &["--at-least", "1000"]].concat(),
        [&OUT, &["--output", "out.sender.csv"]],
    );
    ended[0].expect(0, &["fewer keys match than `--at-least` asks, by a count with noise"]);
    let options = [&COUNT[..], &["--noise", "0.001"]].concat();
    let counts: std::collections::HashSet<String> = (0..3)
        .map(|_| {
            succeed(&run(&scene, &options, [&OUT, &[]]));
            scene.read("out.csv")
        })
        .collect();
    assert!(counts.len() > 1, "{counts:?}");
}

const SUM: [&str; 6] = ["--security", "semi-honest", "--result", "sum", "--value", "cents"];

#[test]
fn sums_are_over_the_rows_of_matching_keys_under_each_rule_for_duplicates() {
    for (rule, sum) in [("all", 5 + 7 + 30), ("first", 5 + 7)] {
        let scene = tables();
        let ended = run(&scene, &SUM, [&OUT, &["--on-duplicates", rule]]);
        succeed(&ended);
        assert_eq!(scene.read("out.csv"), format!("cents\n{sum}\n"));
        ended[0].expect(0, &[&format!("sums over the matching keys: `cents`: {sum}")]);
        nothing_shown(&scene, &ended);
        let [mine, theirs] = reports(&scene);
        assert_eq!(mine["result"]["sums"], serde_json::json!([{"column": "cents", "sum": sum.to_string()}]));
        assert!(theirs["result"]["sums"].is_null(), "{theirs}");
    }
    let scene = tables();
    let sender = [&THEIRS[..], &SUM, &["--on-duplicates", "error"]].concat();
    let sender = [&["send", "--connect", "127.0.0.1:9", "--peer", &scene.receiver_key][..], &sender].concat();
    scene
        .run(&[&sender[..], &["--identity", "sender.pem"]].concat())
        .expect(65, &["lines 2 and 4 have the same key"]);
}

#[test]
fn several_sums_come_in_one_run_and_every_format() {
    let theirs = sales(&SALES).replace(",city", ",\"n, x\"").replace(",Bern", ",1").replace(",Zug", ",2");
    let scene = scene_of(&people(&PEOPLE), &theirs.replace("7,\n", "7,18446744073709551613\n"));
    let options = [&SUM[..], &["--value", "n, x"]].concat();
    succeed(&run(&scene, &options, [&OUT, &[]]));
    assert_eq!(scene.read("out.csv"), format!("cents,\"n, x\"\n42,{}\n", u64::MAX));
    for format in ["parquet", "arrow"] {
        let scene = tables();
        scene.write("theirs", columnar(format));
        let out = format!("out.{format}");
        let sender = [&["--input", "theirs", "--key", "mail:email"][..], &SUM].concat();
        succeed(&scene.pair(&sender, &[&MINE[..], &SUM, &["--output", &out]].concat()).into());
        let found = read(&scene, &out);
        assert_eq!(found.schema().field(0).name(), "cents");
        assert_eq!(found.column(0).as_primitive::<Decimal128Type>().value(0), 42);
    }
}

#[test]
fn a_sum_may_have_more_than_64_bits() {
    let most: &'static str = "18446744073709551615";
    let above = "18446744073709551616";
    let scene = scene_of(&people(&PEOPLE), &sales(&[("bob", "1", ""), ("ada", most, "")]));
    let ended = run(&scene, &SUM, [&OUT, &[]]);
    succeed(&ended);
    assert_eq!(scene.read("out.csv"), format!("cents\n{above}\n"));
    ended[0].expect(0, &[&format!("`cents`: {above}")]);
    assert_eq!(reports(&scene)[0]["result"]["sums"], serde_json::json!([{"column": "cents", "sum": above}]));
    let (out, both) = (["--output", "out.arrow"], [&SUM[..], &["--learns", "both"]].concat());
    let ended = run(&scene, &both, [&out, &["--output", "out.sender.csv"]]);
    succeed(&ended);
    ended[0].expect(0, &["which keys match"]);
    assert_eq!(scene.read("out.sender.csv"), scene.read("out.csv"));
    let found = read(&scene, "out.arrow");
    let sum = found.column(0).as_primitive::<Decimal128Type>();
    assert_eq!((sum.value(0).to_string(), sum.precision(), sum.scale()), (above.to_owned(), 38, 0));
}

const PAYLOAD: [&str; 4] = ["--payload", "city", "--payload", "cents"];

/// The sales without a key of two payloads.
fn plain_sales() -> String {
    sales(&[("bob", "5", "Bern"), ("ada", "7", ""), ("bob", "5", "Bern"), ("kim", "1000", "Zug, \"x\"")])
        .replace("Zug, \"x\"", "\"Zug, \"\"x\"\"\"")
}

#[test]
fn matching_rows_get_the_senders_columns() {
    for security in ["semi-honest", "malicious"] {
        let scene = scene_of(&people(&PEOPLE), &plain_sales());
        let options = [&PAYLOAD[..], &["--security", security]].concat();
        let ended = run(&scene, &options, [&OUT, &[]]);
        succeed(&ended);
        let expected = "id,email,city,cents\n0,ada.person@example.org,,7\n1,bob.person@example.org,Bern,5\n\
             2,ada.person@example.org,,7\n";
        assert_eq!(scene.read("out.csv"), expected);
        assert!(!ended[0].screen.contains("Bern"));
        ended[0].expect(0, &["3 of 5 rows match (2 keys); written to out.csv"]);
        let [mine, theirs] = reports(&scene);
        assert_eq!(mine["terms"]["payload"], "\"city\", \"cents\"");
        assert_eq!(
            (&mine["result"]["kind"], &mine["terms"]["payload-bytes"]),
            (&"payload".into(), &"64".into())
        );
        assert!(theirs["matches"].is_null(), "{theirs}");
    }
}

#[test]
fn payloads_go_through_every_format_standard_input_and_both_sides() {
    for format in ["parquet", "arrow"] {
        let scene = tables();
        scene.write("theirs", columnar(format));
        scene.write("mine", my_columns(format));
        let out = format!("out.{format}");
        let options = ["--payload", "city", "--payload", "mail", "--learns", "both"];
        let sender = ["--input", "theirs", "--key", "mail:email", "--on-duplicates", "first"];
        let receiver = ["--input", "mine", "--key", "email:email", "--output", &out];
        let ended = scene.pair(&[&sender[..], &options].concat(), &[&receiver[..], &options].concat());
        succeed(&ended.into());
        let found = read(&scene, &out);
        let names: Vec<String> = found.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!((names.join(" "), found.num_rows()), ("email city mail".to_owned(), 3));
        let cities: Vec<Option<&str>> = found.column(1).as_string::<i32>().iter().collect();
        assert_eq!(cities, [None, Some("Bern"), None]);
        assert_eq!(found.column(2).as_string::<i32>().value(1), address("bob"));
    }
    // A column that the receiver has already, and standard output.
    let scene = scene_of(&people(&PEOPLE).replace("id,", "city,"), &plain_sales());
    let ended = run(&scene, &["--payload", "city"], [&["--output", "-"], &[]]);
    succeed(&ended);
    let out = String::from_utf8_lossy(&ended[0].stdout).into_owned();
    assert!(out.starts_with("city,email,city_partner\n0,ada.person@example.org,\n"), "{out}");
}

/// What no header names is named on the screen.
#[test]
fn payloads_of_tables_without_a_header_are_columns_behind_their_own() {
    let without = |table: String| table.split_once('\n').unwrap().1.to_owned();
    let scene = scene_of(&without(people(&PEOPLE)), &without(plain_sales()));
    let options = ["--no-header", "--payload", "3", "--payload", "2"];
    let receiver = [&["--input", "receiver.csv", "--key", "2:email"][..], &OUT, &options].concat();
    let sender = [&["--input", "sender.csv", "--key", "1:email"][..], &options].concat();
    let (received, sent) = scene.pair(&sender, &receiver);
    let said = "the output has no header; its columns from the partner: 3 is `3`, 4 is `2`";
    received.expect(0, &["3 of 5 rows match", said]);
    sent.expect(0, &[]);
    assert!(!sent.screen.contains("no header"), "{}", sent.screen);
    let expected =
        "0,ada.person@example.org,,7\n1,bob.person@example.org,Bern,5\n2,ada.person@example.org,,7\n";
    assert_eq!(scene.read("out.csv"), expected);
}

#[test]
fn payloads_that_do_not_fit_are_found_before_the_partner_is() {
    let scene = tables();
    let send = |options: &[&str]| {
        let partner =
            ["send", "--connect", "127.0.0.1:9", "--peer", &scene.receiver_key, "--identity", "sender.pem"];
        scene.run(&[&partner[..], &THEIRS, options].concat())
    };
    send(&PAYLOAD)
        .expect(65, &["lines 2 and 4 have the same key and different payloads", "--on-duplicates first"]);
    let few = [&PAYLOAD[..], &["--payload-bytes", "6", "--on-duplicates", "first"]].concat();
    send(&few).expect(65, &["sender.csv, line 2: the payload takes 7 bytes and `--payload-bytes` allows 6"]);
    send(&["--payload", "citi"]).expect(65, &["no column `citi`", "did you mean `city`?"]);
    let sum = ["--security", "semi-honest", "--result", "sum"];
    send(&[&sum[..], &["--value", "city"]].concat())
        .expect(65, &["line 2, column `city`", "not a whole number"]);
    send(&[&sum[..], &["--value", "Cents"]].concat()).expect(65, &["did you mean `cents`?"]);
}

#[test]
fn options_that_do_not_go_together_are_refused_by_name() {
    let scene = tables();
    let refused = |options: &[&str], words: &[&str]| {
        let tables =
            ["local", "--receiver", "receiver.csv", "--sender", "sender.csv", "--key", "email=mail:email"];
        scene.run(&[&tables[..], &OUT, options].concat()).expect(64, words);
        assert!(!scene.exists("out.csv"));
    };
    refused(&["--result", "sum"], &["`--value`"]);
    refused(&["--value", "cents"], &["`--value`", "`--result sum`"]);
    refused(&["--at-least", "5"], &["`--at-least`", "`--result count`"]);
    refused(&["--min-matches", "5"], &["`--min-matches`", "`--result count`"]);
    refused(&["--result", "count", "--payload", "city"], &["`--payload`", "`--result rows`"]);
    refused(&["--payload-bytes", "9"], &["`--payload-bytes`", "`--payload`"]);
    refused(
        &["--result", "count"],
        &["between parties that follow the protocol", "`--security semi-honest`"],
    );
    let semi = |more: &[&'static str]| [&["--security", "semi-honest"], more].concat();
    refused(&semi(&["--result", "count", "--protocol", "dh"]), &["the result count", "`circuit-vole`"]);
    refused(&semi(&["--payload", "city", "--protocol", "dh"]), &["the result payload", "`vole`"]);
    refused(&semi(&["--result", "sum", "--value", "cents", "--noise", "1"]), &["`--noise`"]);
    let send =
        ["send", "--connect", "127.0.0.1:9", "--peer", &scene.receiver_key, "--identity", "sender.pem"];
    let ended = scene.run(&[&send[..], &THEIRS, &COUNT, &OUT].concat());
    ended.expect(64, &["a sender learns no result", "`--learns both`"]);
}

#[test]
fn sides_that_ask_for_different_results_are_told_the_option() {
    let base = ["--security", "semi-honest"];
    let count = [&base[..], &["--result", "count"]].concat();
    let sum = [&base[..], &["--result", "sum", "--value", "cents"]].concat();
    let with = |options: &[&'static str], more: &[&'static str]| [options, more].concat();
    for (mine, theirs, words) in [
        (count.clone(), base.to_vec(), ["result: mine ", "agree on `--result`"]),
        (
            with(&count, &["--min-matches", "2"]),
            count.clone(),
            ["min-matches: mine ", "agree on `--min-matches`"],
        ),
        (
            with(&count, &["--noise", "1"]),
            with(&count, &["--noise", "1.5"]),
            ["noise: mine ", "agree on `--noise`"],
        ),
        (with(&count, &["--at-least", "2"]), count.clone(), ["at-least: mine ", "agree on `--at-least`"]),
        (
            sum,
            with(&base, &["--result", "sum", "--value", "city"]),
            ["value: mine \"cents\"", "`--value` on both sides"],
        ),
        (with(&base, &["--payload", "city"]), base.to_vec(), ["payload: mine ", "`--payload` on both sides"]),
        (
            with(&base, &["--payload", "city", "--payload-bytes", "9"]),
            with(&base, &["--payload", "city"]),
            ["payload-bytes: mine ", "agree on `--payload-bytes`"],
        ),
    ] {
        let scene = scene_of(&people(&PEOPLE), &sales(&[("bob", "5", "1"), ("ada", "7", "2")]));
        let sender = [&THEIRS[..], &theirs].concat();
        let receiver = [&MINE[..], &mine, &OUT].concat();
        let (received, sent) = scene.pair(&sender, &receiver);
        received.expect(77, &words);
        sent.expect(77, &[words[1]]);
        assert!(!scene.exists("out.csv"));
    }
}

#[test]
fn a_plan_names_the_result_and_the_protocol_that_gives_it() {
    let scene = Scene::new();
    let plan = |options: &[&str]| {
        let sizes = ["plan", "--receiver", "2^20", "--sender", "2^20", "--json"];
        let ended = scene.run(&[&sizes[..], options].concat());
        ended.expect(0, &[]);
        serde_json::from_slice::<Value>(&ended.stdout).unwrap()
    };
    let count = plan(&[&COUNT[..], &["--min-matches", "10", "--noise", "0.5"]].concat());
    assert_eq!(
        (&count["protocol"], &count["parameters"]["result"]),
        (&"circuit-vole".into(), &"count".into())
    );
    assert_eq!(
        (&count["parameters"]["min_matches"], &count["parameters"]["noise"]),
        (&10.into(), &0.5.into())
    );
    assert_eq!(count["reason"], "the protocol that gives this result");
    let payload = plan(&["--payload", "a", "--payload-bytes", "32"]);
    assert_eq!((&payload["protocol"], &payload["parameters"]["result"]), (&"vole".into(), &"payload".into()));
    let rows = plan(&[]);
    let sent = |plan: &Value| plan["estimate"]["traffic"]["sender"].as_u64().unwrap();
    assert_eq!(sent(&payload) - sent(&rows), 32 << 20);
    scene.run(&["plan", "--receiver", "9", "--sender", "9", "--result", "sum"]).expect(64, &["`--value`"]);
}

#[test]
fn every_result_can_be_measured() {
    let scene = Scene::new();
    let results: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("count", &["--protocol", "circuit-vole", "--result", "count"][..]),
        ("sum", &["--protocol", "circuit-vole", "--result", "sum", "--value", "a", "--value", "b"]),
        ("at least", &["--protocol", "circuit-vole", "--result", "count", "--at-least", "10"]),
        ("payload", &["--protocol", "vole", "--payload", "a", "--payload-bytes", "32"]),
    ]);
    for (result, options) in results {
        let sizes = ["bench", "once", "--receiver", "100", "--sender", "200", "--runs", "1", "--allow-debug"];
        let ended = scene.run(&[&sizes[..], options].concat());
        assert_eq!(ended.code, Some(0), "{result}: {}", ended.screen);
    }
}
