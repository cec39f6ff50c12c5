//! Tables in other formats than plain CSV: two processes, and `vesica inspect`.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;

use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::common::files::{gzip, parquet};
use crate::common::{Scene, emails, plain_join};

/// A Parquet file of `id, email` as CSV text.
fn csv(file: File) -> String {
    let mut text = "id,email\n".to_owned();
    for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let ids = batch.column(0).as_primitive::<arrow_array::types::Int64Type>();
        let mails = batch.column(1).as_string::<i32>();
        for row in 0..batch.num_rows() {
            text += &format!("{},{}\n", ids.value(row), mails.value(row));
        }
    }
    text
}

#[test]
fn a_parquet_receiver_and_a_gzip_sender() {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 3000, 700), emails("sender", 2000, 700));
    scene.write("mine.parquet", parquet(&mine));
    scene.write("theirs.csv.gz", gzip(&theirs));
    let (receiver, sender) = scene.pair(
        &["--input", "theirs.csv.gz", "--key", "email:email"],
        &["--input", "mine.parquet", "--key", "email:email", "--output", "matched.parquet"],
    );
    receiver.expect(0, &["700 of 3000 rows match"]);
    sender.expect(0, &[]);
    assert_eq!(csv(File::open(scene.path("matched.parquet")).unwrap()), plain_join(&mine, &theirs));
}

#[test]
fn the_name_of_the_output_says_how_it_is_packed() {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 300, 70), emails("sender", 200, 70));
    scene.write("mine.csv.gz", gzip(&mine));
    scene.write("theirs.parquet", parquet(&theirs));
    let run = |output: &str| {
        let args =
            ["--receiver", "mine.csv.gz", "--sender", "theirs.parquet", "--key", "email:email", "--output"];
        scene.run(&[&["local"][..], &args, &[output]].concat())
    };
    for output in ["out.csv", "out.csv.gz", "out.csv.zst", "-"] {
        run(output).expect(0, &["70 of 300 rows match"]);
    }
    let expected = plain_join(&mine, &theirs);
    assert_eq!(scene.read("out.csv"), expected);
    let mut text = String::new();
    let file = File::open(scene.path("out.csv.gz")).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    assert_eq!(text, expected);
    assert!(std::fs::read(scene.path("out.csv.zst")).unwrap().starts_with(b"\x28\xb5\x2f\xfd"));
    assert_eq!(run("-").stdout, expected.as_bytes());
    run("out.parquet").expect(64, &["the output has the input's format, CSV (gzip)"]);
    assert!(!scene.exists("out.parquet"));
}

#[test]
fn damaged_tables_are_named_before_the_partner_is_bothered() {
    let scene = Scene::new();
    let table = emails("receiver", 3000, 0);
    let (packed, columns) = (gzip(&table), parquet(&table));
    scene.write("cut.csv.gz", &packed[..packed.len() / 2]);
    scene.write("cut.parquet", &columns[..columns.len() / 2]);
    let mut broken = columns.clone();
    let middle = broken.len() / 2;
    broken[middle..middle + 200].fill(0xff);
    scene.write("broken.parquet", broken);
    scene.write("text.parquet", &table);
    scene.write("other.csv", &table);
    for (file, words) in [
        ("cut.csv.gz", &["cut.csv.gz, before line ", "cannot be read as gzip: it ends early"][..]),
        ("cut.parquet", &["cut.parquet: cannot be read as Parquet"]),
        ("broken.parquet", &["broken.parquet, row group 1: cannot be read as Parquet"]),
        ("text.parquet", &["text.parquet: is named as Parquet, but does not begin like such a file"]),
    ] {
        let args = ["--receiver", file, "--sender", "other.csv", "--key", "email", "--output", "out"];
        let ended = scene.run(&[&["local"][..], &args].concat());
        ended.expect(65, words);
        assert!(!ended.screen.contains("panicked") && !ended.screen.contains("person"), "{}", ended.screen);
        assert!(!scene.exists("out"));
        scene.run(&["inspect", "--input", file, "--key", "email"]).expect(65, words);
    }
}

#[test]
fn a_look_at_a_table() {
    let scene = Scene::new();
    let table = emails("planted", 50, 0) + "50,nobody\n51,\n";
    scene.write("table.csv", &table);
    scene.write("table.parquet", parquet(&table));
    for (file, place) in [("table.csv", "line 52"), ("table.parquet", "row 51")] {
        let seen = scene.run(&["inspect", "--input", file, "--key", "email:email"]);
        seen.expect(0, &[]);
        let text = String::from_utf8(seen.stdout).unwrap();
        for words in [
            "52 rows, 2 columns",
            "50  different keys",
            "1  rows without a key",
            "1  rows with an invalid key",
            "email:email: it does not have exactly one `@`; first in ",
            place,
            "@e***.org",
        ] {
            assert!(text.contains(words), "{file}: {words} is missing in:\n{text}");
        }
        assert!(!text.contains("person") && !text.contains("nobody"), "{text}");

        let json = scene.run(&["inspect", "--input", file, "--key", "email:email", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(
            (&json["schema"], &json["rows"], &json["keys"]["invalid"]),
            (&1.into(), &52.into(), &1.into())
        );
        let names: HashSet<_> =
            json["columns"].as_array().unwrap().iter().map(|c| c["name"].as_str()).collect();
        assert_eq!(names, [Some("id"), Some("email")].into());
    }
    scene.run(&["inspect", "--input", "table.parquet"]).expect(0, &[]);
    let absent = scene.run(&["inspect", "--input", "absent.csv"]);
    absent.expect(65, &["absent.csv"]);
    assert!(!absent.screen.contains("partner"), "{}", absent.screen);
    scene
        .run(&["inspect", "--input", "table.csv", "--key", "post"])
        .expect(65, &["no column `post`; the header has 2 columns"]);
    scene.run(&["inspect", "--input", "table.csv", "--key", "email:x"]).expect(64, &["unknown rule"]);
    scene.run(&["inspect"]).expect(64, &["--input"]);
}

#[test]
fn phones_of_two_countries_are_one_rule() {
    let scene = Scene::new();
    scene.write("mine.csv", "name,phone\nA,044 668 18 00\nB,+49 (0)30 123456\nC,079 123 45 67\n");
    scene.write("theirs.csv", "tel\n030/123456\n0041 44 6681800\n");
    let (receiver, sender) = scene.pair(
        &["--input", "theirs.csv", "--key", "tel:phone:DE"],
        &["--input", "mine.csv", "--key", "phone:phone:CH", "--output", "out.csv"],
    );
    receiver.expect(0, &["2 of 3 rows match"]);
    sender.expect(0, &[]);
    assert_eq!(scene.read("out.csv"), "name,phone\nA,044 668 18 00\nB,+49 (0)30 123456\n");
}

#[test]
fn flaw_a_look_at_a_table_tells_keys_that_nobody_means() {
    let scene = Scene::new();
    scene.write("one.csv", "id\nNULL\n\\N\n12345.0\nada\u{200b}\nu1\n");
    let look = scene.run(&["inspect", "one.csv", "--key", "id"]);
    look.expect(0, &[]);
    let text = String::from_utf8(look.stdout).unwrap();
    for line in ["2  id:raw looks like a null", "1  id:raw looks like a number", "1  id:raw holds characters"]
    {
        assert!(text.contains(line), "{text}");
    }
    let json = scene.run(&["inspect", "one.csv", "--key", "id", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let hints = json["keys"]["hints"].as_array().unwrap();
    let told: Vec<_> = hints.iter().map(|hint| (hint["look"].as_str(), hint["rows"].as_u64())).collect();
    let expected = [("written-null", 2), ("rounded", 1), ("invisible", 1)];
    assert_eq!(told, expected.map(|(look, rows)| (Some(look), Some(rows))));
}

#[test]
fn each_side_reads_dates_in_the_order_of_its_own_table() {
    let scene = Scene::new();
    scene.write("mine.csv", "born,name\n21.11.2026,Anna-Lena O’Brien\n1.2.2026,Bob\n");
    scene.write("theirs.csv", "day,who\n11/21/2026,DR. ANNA LENA OBRIEN\n1/2/2026,bob\n");
    let (receiver, sender) = scene.pair(
        &["--input", "theirs.csv", "--key", "day:date:MDY", "--key", "who:name"],
        &["--input", "mine.csv", "--key", "born:date:DMY", "--key", "name:name", "--output", "matched.csv"],
    );
    receiver.expect(0, &["1 of 2 rows matches"]);
    sender.expect(0, &[]);
    assert_eq!(scene.read("matched.csv"), "born,name\n21.11.2026,Anna-Lena O’Brien\n");
}
