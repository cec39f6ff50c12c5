//! The files of csv-spectrum, against their own JSON: every value of every column, as a key.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use serde_json::{Map, Value};

use crate::dialect::{Dialect, StrayQuotes};
use crate::input::Input;
use crate::testing::{go, load, request};

macro_rules! files {
    ($($name:literal),*) => {
        [$((
            $name,
            include_bytes!(concat!("spectrum/", $name, ".csv")),
            include_str!(concat!("spectrum/", $name, ".json")),
        )),*]
    };
}

/// Their names, and what is in them.
const FILES: [(&str, &[u8], &str); 11] = files!(
    "comma_in_quotes",
    "empty",
    "empty_crlf",
    "escaped_quotes",
    "json",
    "newlines",
    "newlines_crlf",
    "quotes_and_newlines",
    "simple",
    "simple_crlf",
    "utf8"
);

#[test]
fn every_value_is_what_csv_spectrum_says() {
    for (name, csv, json) in FILES {
        let rows: Vec<Map<String, Value>> = serde_json::from_str(json).unwrap();
        assert!(!rows.is_empty(), "{name}");
        for column in rows[0].keys() {
            let key = request(&[&format!("\"{column}\"")]);
            let (table, items) = load(csv, &key).unwrap();
            assert_eq!(table.report().rows, rows.len() as u64, "{name}");
            let values: Vec<Option<&str>> =
                rows.iter().map(|row| row[column].as_str().filter(|value| !value.is_empty())).collect();
            assert_eq!(
                table.report().nulls,
                values.iter().filter(|value| value.is_none()).count() as u64,
                "{name}"
            );
            let values = Arc::new(StringArray::from(values)) as ArrayRef;
            let batch = RecordBatch::try_from_iter_with_nullable([(column, values, true)]).unwrap();
            let expected = Input::keep_batches("json", batch.schema(), vec![batch]).unwrap();
            let (_, expected) = expected.load(&key, &mut go).unwrap();
            assert!(items.digests().eq(expected.digests()), "{name}, {column}");
        }
        // All rows come out as they came in.
        let column = rows[0].keys().next().unwrap();
        let (table, _) = load(csv, &request(&[&format!("\"{column}\"")])).unwrap();
        let (all, mut out) = ((0..rows.len() as u64).collect::<Vec<_>>(), Vec::new());
        table.select(crate::rows::RowSet::List(&all), &mut out, &mut go).unwrap();
        let end: &[u8] = if csv.ends_with(b"\n") {
            b""
        } else if csv.contains(&b'\r') {
            b"\r\n"
        } else {
            b"\n"
        };
        assert_eq!(out, [csv, end].concat(), "{name}");
    }
}

/// A quote in a field without quotes, as in seconds of arc. (What csv-spectrum says of it has another telephone number.)
#[test]
fn a_lone_quote_is_an_error_or_a_character() {
    let bytes = include_bytes!("spectrum/location_coordinates.csv");
    let refused = load(bytes, &request(&["Cities"])).unwrap_err().text().shell();
    assert!(refused.contains("`--stray-quotes text`") && refused.contains("`--quote none`"), "{refused}");
    let dialect = Dialect { stray_quotes: StrayQuotes::Text, ..Dialect::default() };
    let input = Input::spool("test.csv", &mut &bytes[..]).unwrap().with_dialect(dialect).unwrap();
    let (table, items) = input.load(&request(&["Location Coordinates"]), &mut go).unwrap();
    let mut out = Vec::new();
    table.select(&items.matches(0..1), &mut out, &mut go).unwrap();
    assert_eq!(out, [&bytes[..], b"\n"].concat());
}
