use std::collections::BTreeMap;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_encode::items::{Encoding, Items, Width};

use super::*;
use crate::error::Fault;
use crate::input::Progress;
use crate::request::{OnFault, Request, TableReport};
use crate::rows::RowBitmap;
use crate::table::Table;
use crate::testing::{go, input, load, request};

/// What a sink was given.
#[derive(Default)]
struct Taken {
    rows: Vec<(u64, Vec<u8>)>,
    hint: usize,
    /// The row at which it stops.
    until: Option<u64>,
}

impl RowSink for Taken {
    fn begin(&mut self, rows_hint: usize) -> ControlFlow<()> {
        self.hint = rows_hint;
        ControlFlow::Continue(())
    }

    fn take(&mut self, row: u64, digest: &[u8]) -> ControlFlow<()> {
        if self.until.is_some_and(|until| row >= until) {
            return ControlFlow::Break(());
        }
        self.rows.push((row, digest.to_vec()));
        ControlFlow::Continue(())
    }
}

fn load_into(bytes: &[u8], wanted: &Request) -> Result<(Table, Taken), TableError> {
    let (table, taken) = load_alone(bytes, wanted)?;
    let (_, other) = load_alone(bytes, &Request { threads: 3, ..wanted.clone() })?;
    assert!(taken.rows == other.rows);
    Ok((table, taken))
}

fn load_alone(bytes: &[u8], wanted: &Request) -> Result<(Table, Taken), TableError> {
    let mut taken = Taken::default();
    let table = input(bytes)?.load_into(wanted, &mut taken, &mut go)?;
    Ok((table, taken))
}

/// The rows of each digest.
fn rows_by_digest(items: &Items) -> BTreeMap<Vec<u8>, Vec<u64>> {
    (0..items.len()).map(|item| (items.get(item).to_vec(), items.rows_of(item).collect())).collect()
}

/// A table in each format: keys that repeat, keys that the fast path takes and others, keys that are null or invalid.
fn tables(rows: usize) -> [Vec<u8>; 3] {
    let mut rng = StdRng::seed_from_u64(rows as u64);
    let key = |rng: &mut StdRng| match rng.random_range(0..12) {
        0 => None,
        1 => Some("no address".to_owned()),
        2 => Some(format!("  Ünser{}@Example.org", rng.random_range(0..rows.max(1)))),
        _ => Some(format!("user{}@example.org", rng.random_range(0..rows.max(1)))),
    };
    let keys: Vec<Option<String>> = (0..rows).map(|_| key(&mut rng)).collect();
    let line = |(row, key): (usize, &Option<String>)| {
        format!("{row},{},\"x\ny\"\r\n", key.as_deref().unwrap_or_default())
    };
    let text = "id,mail,pad\r\n".to_owned() + &keys.iter().enumerate().map(line).collect::<String>();
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..rows as i64))),
        ("mail", Arc::new(StringArray::from(keys))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(n, array)| (n, array, true))).unwrap();
    let (mut parquet, mut arrow) = (Vec::new(), Vec::new());
    let mut writer = ArrowWriter::try_new(&mut parquet, batch.schema(), None).unwrap();
    for start in (0..rows).step_by(20_000) {
        writer.write(&batch.slice(start, 20_000.min(rows - start))).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    let mut writer = StreamWriter::try_new(&mut arrow, &batch.schema()).unwrap();
    writer.write(&batch).and_then(|()| writer.finish()).unwrap();
    [text.into_bytes(), parquet, arrow]
}

#[test]
fn a_sink_gets_what_a_load_keeps() {
    for rows in [0, 1, 1000, BATCH - 1, BATCH + 1, 3 * BATCH + 777] {
        for (format, bytes) in tables(rows).iter().enumerate() {
            for width in [Width::Digest128, Width::Digest256] {
                let mut wanted = Request { encoding: Encoding::Digest(width), ..request(&["mail:email"]) };
                wanted.on_invalid = OnFault::Skip;
                let (kept, items) = load(bytes, &wanted).unwrap();
                let (table, taken) = load_into(bytes, &wanted).unwrap();
                assert!(taken.rows.is_sorted_by(|a, b| a.0 < b.0), "{format} {rows}");
                let mut found = BTreeMap::<Vec<u8>, Vec<u64>>::new();
                taken.rows.into_iter().for_each(|(row, digest)| found.entry(digest).or_default().push(row));
                assert!(found == rows_by_digest(&items), "{format} {rows} {width:?}");
                assert_eq!(table.report(), TableReport { items: 0, duplicates: 0, ..kept.report() });
                let counted = table.with_counts(items.len() as u64, items.duplicates());
                assert_eq!((counted.report(), counted.columns()), (kept.report(), kept.columns()));
                assert!(rows < 1000 || taken.hint > 0 || format == 2);
            }
        }
    }
}

#[test]
fn a_bitmap_selects_the_bytes_that_a_list_selects() {
    let mut wanted = request(&["mail:email"]);
    wanted.on_invalid = OnFault::Skip;
    for bytes in tables(50_000) {
        let (kept, items) = load(&bytes, &wanted).unwrap();
        let (table, _) = load_into(&bytes, &wanted).unwrap();
        for every in [1, 3, 17_000, usize::MAX] {
            let matches = items.matches((0..items.len()).step_by(every));
            let mut bitmap = RowBitmap::new(table.report().rows);
            matches.rows().iter().for_each(|row| assert!(bitmap.insert(*row)));
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            kept.select(&matches, &mut expected, &mut go).unwrap();
            table.select(&bitmap, &mut found, &mut go).unwrap();
            assert!(found == expected, "every {every}");
        }
        let mut beyond = RowBitmap::new(50_001);
        beyond.insert(50_000);
        let error = table.select(&beyond, &mut Vec::new(), &mut go).unwrap_err();
        assert!(matches!(error, TableError::NoSuchRow { row: 50_000, rows: 50_000 }), "{error}");
    }
}

#[test]
fn errors_are_those_of_a_load() {
    let file = b"k,mail\na,x@example.org\nb,none\nc,\nd,x@example.org\n";
    for (on_null, on_invalid) in [(OnFault::Error, OnFault::Skip), (OnFault::Skip, OnFault::Error)] {
        let wanted = Request { on_null, on_invalid, ..request(&["mail:email"]) };
        let [kept, taken] = [load(file, &wanted).map(drop), load_into(file, &wanted).map(drop)];
        assert_eq!(kept.unwrap_err().to_string(), taken.unwrap_err().to_string());
    }
    assert!(matches!(load_into(file, &request(&["absent"])), Err(TableError::MissingColumn { .. })));
    let wanted = Request { on_invalid: OnFault::Skip, ..request(&["mail:email"]) };
    let (table, taken) = load_into(file, &wanted).unwrap();
    let error = table.duplicate((taken.rows[0].0, taken.rows[1].0), &mut go);
    let strict = Request { on_duplicates: vesica_encode::items::OnDuplicates::Error, ..wanted };
    assert_eq!(error.to_string(), load(file, &strict).map(drop).unwrap_err().to_string());
}

#[test]
fn a_sink_and_its_caller_can_stop() {
    let [text, ..] = tables(50_000);
    let wanted = Request { on_invalid: OnFault::Skip, ..request(&["mail:email"]) };
    let mut taken = Taken { until: Some(20_000), ..Taken::default() };
    let error = input(&text).unwrap().load_into(&wanted, &mut taken, &mut go).unwrap_err();
    assert!(matches!(error, TableError::Cancelled) && error.fault() == Fault::Cancelled);
    assert!(taken.rows.iter().all(|(row, _)| *row < 20_000) && taken.rows.len() > 15_000);
    let mut stop = |_: Progress| ControlFlow::Break(());
    let stopped = input(&text).unwrap().load_into(&wanted, &mut Taken::default(), &mut stop);
    assert!(matches!(stopped, Err(TableError::Cancelled)));
}

#[test]
fn an_input_that_changed_after_its_keys_were_taken_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let wanted = Request { on_invalid: OnFault::Skip, ..request(&["mail:email"]) };
    for (number, bytes) in tables(5000).into_iter().enumerate() {
        let path = directory.path().join(number.to_string());
        std::fs::write(&path, &bytes).unwrap();
        let opened = crate::Input::open(&path).unwrap();
        let table = opened.load_into(&wanted, &mut Taken::default(), &mut go).unwrap();
        let mut bitmap = RowBitmap::new(table.report().rows);
        bitmap.insert(7);
        table.select(&bitmap, &mut Vec::new(), &mut go).unwrap();
        // A byte of a value: the file stays readable.
        let mut changed = bytes.clone();
        let at = changed.windows(9).position(|window| window == b"@example.").unwrap();
        changed[at + 1] = b'E';
        std::fs::write(&path, &changed).unwrap();
        let error = table.select(&bitmap, &mut Vec::new(), &mut go).unwrap_err();
        assert!(matches!(error, TableError::Changed { .. }), "{number}: {error}");
        assert_eq!(error.fault(), Fault::Input);
    }
}

#[test]
fn rows_without_keys_do_not_number_rows() {
    let text = "k,v\n".to_owned() + &",1\n".repeat(3 * BATCH) + "a,1\n,2\nb,1\n";
    let (table, taken) = load_into(text.as_bytes(), &request(&["k"])).unwrap();
    let rows: Vec<u64> = taken.rows.iter().map(|(row, _)| *row).collect();
    assert_eq!(rows, [3 * BATCH as u64, 3 * BATCH as u64 + 2]);
    assert_eq!(table.report().nulls, 3 * BATCH as u64 + 1);
}
