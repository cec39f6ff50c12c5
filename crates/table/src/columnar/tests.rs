use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::metadata::{KeyValue, ParquetMetaDataReader, RowGroupMetaData};
use ::parquet::file::properties::WriterProperties;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::*;
use arrow_buffer::i256;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_encode::items::{Items, OnDuplicates};

use super::*;
use crate::attach::Attach;
use crate::error::{Fault, Invalid};
use crate::request::{OnFault, Request, TableReport};
use crate::table::Table;
use crate::testing::{go, input, load, request};

pub(super) const FORMATS: [Format; 3] = [Format::Parquet, Format::ArrowFile, Format::ArrowStream];

/// A file of these batches, several row groups in Parquet.
pub(super) fn file(format: Format, batches: &[RecordBatch]) -> Vec<u8> {
    let (mut bytes, schema) = (Vec::new(), batches[0].schema());
    match format {
        Format::Parquet => {
            let note = KeyValue::new("made by".to_owned(), "a test".to_owned());
            let properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .set_key_value_metadata(Some(vec![note]))
                .build();
            let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties)).unwrap();
            for batch in batches {
                writer.write(batch).unwrap();
                writer.flush().unwrap();
            }
            writer.close().unwrap();
        }
        Format::ArrowFile => {
            let mut writer = FileWriter::try_new(&mut bytes, &schema).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
        _ => {
            let mut writer = StreamWriter::try_new(&mut bytes, &schema).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
    }
    bytes
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

pub(super) fn people(rows: std::ops::Range<i64>) -> RecordBatch {
    let mails = rows.clone().map(|row| (row % 7 != 3).then(|| format!("User{row}@Example.org")));
    batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("mail", Arc::new(StringArray::from_iter(mails))),
        ("score", Arc::new(Float64Array::from_iter_values(rows.map(|row| row as f64 / 3.0)))),
    ])
}

fn selected(table: &Table, items: &Items, wanted: impl Fn(u64) -> bool) -> Result<Vec<u8>, TableError> {
    let chosen = (0..items.len()).filter(|item| items.rows_of(*item).any(&wanted));
    let mut out = Vec::new();
    table.select(&items.matches(chosen), &mut out, &mut go).map(|()| out)
}

/// All rows of a file, in one batch.
pub(super) fn rows(bytes: &[u8]) -> (SchemaRef, RecordBatch) {
    let input = input(bytes).unwrap();
    let mut on_progress = go;
    let mut scan = Scan::open(&input, Wanted::All, &mut on_progress).unwrap();
    let mut batches = Vec::new();
    while let Some((_, batch)) = scan.next().unwrap() {
        batches.push(batch);
    }
    (scan.schema().clone(), arrow_select::concat::concat_batches(scan.schema(), &batches).unwrap())
}

#[test]
fn rows_come_back_in_their_format_and_schema() {
    let batches = [people(0..1000), people(1000..1003), people(1003..4000), people(4000..4100)];
    let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    for format in FORMATS {
        let bytes = file(format, &batches);
        let (table, items) = load(&bytes, &request(&["mail:email"])).unwrap();
        assert_eq!(
            (table.format(), table.columns()),
            (format, &["id", "mail", "score"].map(String::from)[..])
        );
        let nulls = (0..4100).filter(|row| row % 7 == 3).count() as u64;
        assert_eq!(
            table.report(),
            TableReport { rows: 4100, items: 4100 - nulls, nulls, ..Default::default() }
        );
        // Some of every batch, of some batches only, all that have a key, none.
        let choices: [fn(u64) -> bool; 4] =
            [|row| row % 5 == 0, |row| (1001..2500).contains(&row) || row == 4099, |_| true, |_| false];
        for wanted in choices {
            let out = selected(&table, &items, wanted).unwrap();
            let keep: BooleanArray = (0..4100).map(|row| Some(row % 7 != 3 && wanted(row))).collect();
            let expected = arrow_select::filter::filter_record_batch(&all, &keep).unwrap();
            let (schema, found) = rows(&out);
            assert_eq!(schema.fields(), all.schema().fields());
            assert!(found.columns() == expected.columns(), "{format:?}");
        }
        let other = load(&selected(&table, &items, |_| true).unwrap(), &request(&["id:int"])).unwrap();
        assert_eq!(other.0.format(), format);
    }
}

#[test]
fn match_numbers_are_the_last_column() {
    let batches = [people(0..1000), people(1000..1003)];
    let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    for format in FORMATS {
        let (table, items) = load(&file(format, &batches), &request(&["mail:email"])).unwrap();
        let chosen = (0..items.len()).filter(|item| items.rows_of(*item).any(|row| row % 5 == 0));
        let matches = items.matches(chosen);
        let numbers: Vec<u64> = matches.rows().iter().map(|row| 7 * row).collect();
        let table = table.with_numbers(Some(numbers));
        let mut out = Vec::new();
        table.select(&matches, &mut out, &mut go).unwrap();
        let keep: BooleanArray = (0..1003).map(|row| Some(row % 7 != 3 && row % 5 == 0)).collect();
        let expected = arrow_select::filter::filter_record_batch(&all, &keep).unwrap();
        let (schema, found) = rows(&out);
        assert_eq!(schema.field(3), &Field::new("match_id", DataType::Int64, false), "{format:?}");
        assert!(found.columns()[..3] == *expected.columns(), "{format:?}");
        let numbers = Int64Array::from_iter_values(matches.rows().iter().map(|row| 7 * *row as i64));
        assert_eq!(found.column(3).as_primitive::<arrow_array::types::Int64Type>(), &numbers, "{format:?}");

        let mut taken = Vec::new();
        let take = &mut |batch: RecordBatch| {
            taken.push(batch);
            std::ops::ControlFlow::Continue(())
        };
        table.select_batches(&matches, take, &mut go).unwrap();
        assert_eq!(table.schema().unwrap().fields(), schema.fields());
        assert_eq!(taken.iter().map(RecordBatch::num_rows).sum::<usize>(), matches.rows().len());
        assert!(taken.iter().all(|batch| batch.schema().fields() == schema.fields()));
    }
}

#[test]
fn many_threads_read_what_one_does() {
    let batches: Vec<_> = (0..12).map(|part| people(part * 3000..(part + 1) * 3000)).collect();
    let mut sources: Vec<Box<dyn Fn() -> Input>> =
        vec![Box::new(|| Input::keep_batches("frame", batches[0].schema(), batches.clone()).unwrap())];
    for format in FORMATS {
        let bytes = file(format, &batches);
        sources.push(Box::new(move || input(&bytes).unwrap()));
    }
    for (number, source) in sources.iter().enumerate() {
        for attach in [
            Attach::Nothing,
            Attach::Values(vec!["id".into()]),
            Attach::Payload { columns: vec!["mail".into(), "id".into()], bytes: 60 },
        ] {
            let all = |threads| {
                let wanted = Request { attach: attach.clone(), threads, ..request(&["mail:email"]) };
                let (mut table, items) = source().load(&wanted, &mut go).unwrap();
                let attached = table.attached(&items, &mut go).unwrap();
                let of = |item| (items.get(item).to_vec(), items.rows_of(item).collect::<Vec<_>>());
                let choices: [fn(u64) -> bool; 3] = [|_| true, |row| row % 500 == 1, |_| false];
                let written = choices.map(|wanted| selected(&table, &items, wanted).unwrap());
                (table.report(), (0..items.len()).map(of).collect::<Vec<_>>(), attached, written)
            };
            let expected = all(1);
            assert_eq!(expected.0.rows, 36_000);
            for threads in [2, 3, 7, 20] {
                assert!(all(threads) == expected, "source {number}, {threads} threads");
            }
        }
        let found = |threads| {
            let wanted = Request { threads, ..request(&["mail:int"]) };
            source().load(&wanted, &mut go).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(found(3), found(1));
    }
}

/// A list and a structure have leaves of their own; a row group ends within a batch.
#[test]
fn many_threads_write_the_row_groups_that_one_does() {
    let rows = (1 << 20) + 5;
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let lists = (0..rows).map(|row| (row % 3 != 0).then(|| (0..row % 4).map(Some)));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
    let of = |name: &str| Arc::new(Field::new(name, DataType::Int64, true));
    let pairs: ArrayRef = Arc::new(StructArray::from(vec![(of("a"), ids.clone()), (of("b"), ids.clone())]));
    let bytes = file(Format::Parquet, &[batch(vec![("id", ids), ("list", lists), ("pair", pairs)])]);
    let written = |threads| {
        let (table, items) = load(&bytes, &Request { threads, ..request(&["id:int"]) }).unwrap();
        selected(&table, &items, |_| true).unwrap()
    };
    let one = written(1);
    assert!([2, 7].map(written).iter().all(|many| *many == one));
    let read = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(one.clone())).unwrap();
    let groups: Vec<_> = read.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(groups, [1 << 20, 5]);
    assert!(self::rows(&one) == self::rows(&bytes));
}

#[test]
fn a_time_stamp_is_no_date() {
    let stamps: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![0, 1]));
    let bytes = file(Format::Parquet, &[batch(vec![("d", stamps)])]);
    let error = load(&bytes, &request(&["d:date"])).unwrap_err().text().shell();
    assert!(error.contains("Timestamp") && error.ends_with("cast the column to a date"), "{error}");
    assert!(load(&bytes, &request(&["d"])).is_ok());
}

#[test]
fn parquet_keeps_its_schema_notes_and_compression() {
    let fields = vec![
        Field::new("k", DataType::Utf8, false).with_metadata([("unit".to_owned(), "none".to_owned())]),
        Field::new("d", DataType::Decimal128(5, 2), true),
    ];
    let schema = Arc::new(Schema::new_with_metadata(fields, [("table".to_owned(), "t".to_owned())]));
    let decimals = Decimal128Array::from(vec![Some(125), None]).with_precision_and_scale(5, 2).unwrap();
    let columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec!["a", "b"])), Arc::new(decimals)];
    let bytes = file(Format::Parquet, &[RecordBatch::try_new(schema, columns).unwrap()]);
    let (table, items) = load(&bytes, &request(&["k"])).unwrap();
    let out = selected(&table, &items, |row| row == 1).unwrap();
    let metadata = |bytes: &[u8]| super::parquet::copied(&input(bytes).unwrap()).unwrap().0;
    let (before, after) = (metadata(&bytes), metadata(&out));
    assert_eq!(before.file_metadata().schema(), after.file_metadata().schema());
    let notes = |metadata: &::parquet::file::metadata::ParquetMetaData| {
        let mut notes = metadata.file_metadata().key_value_metadata().unwrap().clone();
        notes.sort_by(|a, b| a.key.cmp(&b.key));
        notes
    };
    assert_eq!(notes(&before), notes(&after));
    assert_eq!(after.row_group(0).column(0).compression(), Compression::SNAPPY);
    assert_eq!(rows(&out).0, rows(&bytes).0);
}

/// One column of every type and the text that its values stand for.
fn every_type() -> Vec<(ArrayRef, [&'static str; 2])> {
    let numbers: Vec<ArrayRef> = vec![
        Arc::new(Int8Array::from(vec![Some(-7), None, Some(120)])),
        Arc::new(Int16Array::from(vec![Some(-7), None, Some(120)])),
        Arc::new(Int32Array::from(vec![Some(-7), None, Some(120)])),
        Arc::new(Int64Array::from(vec![Some(-7), None, Some(120)])),
    ];
    let unsigned: Vec<ArrayRef> = vec![
        Arc::new(UInt8Array::from(vec![Some(0), None, Some(250)])),
        Arc::new(UInt16Array::from(vec![Some(0), None, Some(250)])),
        Arc::new(UInt32Array::from(vec![Some(0), None, Some(250)])),
        Arc::new(UInt64Array::from(vec![Some(0), None, Some(250)])),
    ];
    let words = vec![Some("zürich"), None, Some("b, \"c\"")];
    let raw: Vec<Option<&[u8]>> = vec![Some("zürich".as_bytes()), None, Some(b"b, \"c\"")];
    let dictionary: DictionaryArray<Int8Type> = words.iter().copied().collect();
    let texts: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(words.clone())),
        Arc::new(LargeStringArray::from(words.clone())),
        Arc::new(StringViewArray::from(words)),
        Arc::new(BinaryArray::from(raw.clone())),
        Arc::new(LargeBinaryArray::from(raw.clone())),
        Arc::new(BinaryViewArray::from(raw)),
        Arc::new(dictionary),
    ];
    let fixed = vec![Some(&b"abc"[..]), None, Some(b"xyz")].into_iter();
    let mut all: Vec<(ArrayRef, [&str; 2])> = vec![
        (Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), ["true", "false"]),
        (Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 3).unwrap()), ["abc", "xyz"]),
    ];
    all.extend(times());
    all.extend(decimals());
    all.extend(numbers.into_iter().map(|array| (array, ["-7", "120"])));
    all.extend(unsigned.into_iter().map(|array| (array, ["0", "250"])));
    all.extend(texts.into_iter().map(|array| (array, ["zürich", "b, \"c\""])));
    all
}

/// Dates, times of day and moments.
fn times() -> Vec<(ArrayRef, [&'static str; 2])> {
    let nanos: i64 = 1_795_234_567_000_000_000;
    let moment = ["2026-11-21T04:16:07.000000000Z", "1970-01-01T00:00:00.000000000Z"];
    let time = ["01:02:03.000000000", "00:00:00.000000000"];
    let seconds = 3723;
    vec![
        (Arc::new(Date32Array::from(vec![Some(20_778), None, Some(-1)])), ["2026-11-21", "1969-12-31"]),
        (
            Arc::new(Date64Array::from(vec![Some(20_778 * 86_400_000), None, Some(0)])),
            ["2026-11-21", "1970-01-01"],
        ),
        (Arc::new(Time32SecondArray::from(vec![Some(seconds), None, Some(0)])), time),
        (Arc::new(Time32MillisecondArray::from(vec![Some(seconds * 1000), None, Some(0)])), time),
        (
            Arc::new(Time64MicrosecondArray::from(vec![Some(i64::from(seconds) * 1_000_000), None, Some(0)])),
            time,
        ),
        (
            Arc::new(Time64NanosecondArray::from(vec![
                Some(i64::from(seconds) * 1_000_000_000),
                None,
                Some(0),
            ])),
            time,
        ),
        (Arc::new(TimestampSecondArray::from(vec![Some(nanos / 1_000_000_000), None, Some(0)])), moment),
        (Arc::new(TimestampMillisecondArray::from(vec![Some(nanos / 1_000_000), None, Some(0)])), moment),
        (
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(nanos / 1000), None, Some(0)])
                    .with_timezone("+05:00"),
            ),
            moment,
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![Some(nanos), None, Some(0)]).with_timezone("UTC")),
            moment,
        ),
    ]
}

/// Decimal numbers of every width.
fn decimals() -> Vec<(ArrayRef, [&'static str; 2])> {
    let cents = vec![Some(1230), None, Some(-5)];
    vec![
        (
            Arc::new(Decimal128Array::from(cents.clone()).with_precision_and_scale(9, 2).unwrap()),
            ["12.30", "-0.05"],
        ),
        (
            Arc::new(
                Decimal256Array::from(vec![Some(i256::from(1230)), None, Some(i256::from(-5))])
                    .with_precision_and_scale(50, 2)
                    .unwrap(),
            ),
            ["12.30", "-0.05"],
        ),
        (Arc::new(Decimal128Array::from(cents).with_precision_and_scale(9, 0).unwrap()), ["1230", "-5"]),
        (
            Arc::new(
                Decimal32Array::from(vec![Some(1230), None, Some(-5)])
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
            ["12.30", "-0.05"],
        ),
        (
            Arc::new(
                Decimal64Array::from(vec![Some(1230), None, Some(-5)])
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
            ["12.30", "-0.05"],
        ),
    ]
}

#[test]
fn the_same_value_is_the_same_key_from_every_format() {
    for (array, [first, third]) in every_type() {
        let data_type = array.data_type().clone();
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let csv = format!("k\n{}\n\"\"\n{}\n", quoted(first), quoted(third));
        let (table, expected) = load(csv.as_bytes(), &request(&["k"])).unwrap();
        assert_eq!(table.report().nulls, 1);
        let batch = batch(vec![("k", array)]);
        let mut inputs: Vec<Input> =
            FORMATS.map(|format| input(&file(format, std::slice::from_ref(&batch))).unwrap()).into();
        inputs.push(Input::keep_batches("memory", batch.schema(), vec![batch.clone()]).unwrap());
        let mut given = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
        inputs.push(Input::from_batches("given", &mut given, &mut go).unwrap());
        for input in inputs {
            let format = input.format();
            let (table, items) = input.load(&request(&["k"]), &mut go).unwrap();
            let report = TableReport { rows: 3, items: 2, nulls: 1, ..Default::default() };
            assert_eq!(table.report(), report, "{data_type} {format:?}");
            for item in 0..2 {
                assert_eq!(items.get(item), expected.get(item), "{data_type} {format:?}");
                assert!(items.rows_of(item).eq(expected.rows_of(item)), "{data_type} {format:?}");
            }
        }
    }
}

#[test]
fn floats_and_nested_values_are_refused_by_name() {
    let list = ListArray::from_iter_primitive::<types::Int32Type, _, _>([Some([Some(1)])]);
    let floats: DictionaryArray<Int8Type> =
        DictionaryArray::new(Int8Array::from(vec![0]), Arc::new(Float64Array::from(vec![1.5])));
    let columns: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(Float64Array::from(vec![1.5])), "the same float"),
        (Arc::new(Float32Array::from(vec![1.5])), "the same float"),
        (Arc::new(floats), "the same float"),
        (Arc::new(list), "make the column text"),
    ];
    for (array, remedy) in columns {
        let bytes =
            file(Format::ArrowFile, &[batch(vec![("a", array), ("b", Arc::new(Int8Array::from(vec![1])))])]);
        let error = load(&bytes, &request(&["b", "a"])).map(drop).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("column `a`") && text.contains(remedy), "{text}");
        assert_eq!(error.fault(), Fault::Input);
        assert!(load(&bytes, &request(&["b"])).is_ok());
    }
}

#[test]
fn rows_that_are_at_fault_are_named_by_number() {
    let rows = batch(vec![
        ("n", Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(2)]))),
        ("mail", Arc::new(StringArray::from(vec!["a@x", "SECRET", "c@x", "d@x"]))),
    ]);
    let batches = [rows.slice(0, 1), rows.slice(1, 3)];
    for format in FORMATS {
        let bytes = file(format, &batches);
        let error = load(&bytes, &request(&["mail:email"])).unwrap_err();
        let at = matches!(error, TableError::Invalid { place: Place::Row(2), reason: Invalid::NotOneAt, .. });
        assert!(at && !format!("{error} {error:?}").contains("SECRET"), "{error}");
        let mut wanted = request(&["n:int"]);
        wanted.on_duplicates = OnDuplicates::Error;
        let error = load(&bytes, &wanted).unwrap_err().text().shell();
        assert_eq!(
            error,
            "test.csv, rows 2 and 4 have the same key (`--on-duplicates all` or `--on-duplicates first` allows this)"
        );
        wanted.on_null = OnFault::Error;
        assert!(load(&bytes, &wanted).unwrap_err().to_string().starts_with("test.csv, row 3, column `n`"));
        let error = load(&bytes, &request(&["Mail"])).unwrap_err().text().shell();
        assert_eq!(error, "test.csv: no column `Mail`; the schema has 2 columns; did you mean `mail`?");
    }
}

#[test]
fn batches_leave_as_batches() {
    let parts = [people(0..100), people(100..150)];
    let input = Input::keep_batches("frame", parts[0].schema(), parts.to_vec()).unwrap();
    let (table, items) = input.load(&request(&["id:int"]), &mut go).unwrap();
    let matches = items.matches((0..items.len()).filter(|item| items.rows_of(*item).any(|row| row >= 90)));
    let mut ids = Vec::new();
    let mut take = |batch: RecordBatch| {
        ids.extend_from_slice(batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values());
        ControlFlow::Continue(())
    };
    table.select_batches(&matches, &mut take, &mut go).unwrap();
    assert!(ids.iter().copied().eq(90..150));
    let error = table.select_batches(&matches, &mut |_| ControlFlow::Break(()), &mut go);
    assert!(matches!(error, Err(TableError::Cancelled)));
    let other = batch(vec![("x", Arc::new(Int8Array::from(vec![1])))]);
    assert!(Input::keep_batches("frame", parts[0].schema(), vec![other]).is_err());

    let (text, items) = load(b"k\na\n", &request(&["k"])).unwrap();
    let none = text.select_batches(&items.matches(0..1), &mut |_| ControlFlow::Continue(()), &mut go);
    assert!(matches!(none, Err(TableError::NoBatches { .. })) && text.schema().is_err());
}

#[test]
fn a_changed_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in");
    for format in FORMATS {
        fs::write(&path, file(format, &[people(0..500)])).unwrap();
        let (table, items) = Input::open(&path).unwrap().load(&request(&["mail"]), &mut go).unwrap();
        selected(&table, &items, |_| true).unwrap();
        // As long as before, shorter, another format, nothing.
        let changes =
            [file(format, &[people(1..501)]), file(format, &[people(0..400)]), b"k\n1\n".to_vec(), vec![]];
        for change in changes {
            fs::write(&path, change).unwrap();
            for wanted in [|_| true, |_| false] {
                let error = selected(&table, &items, wanted).unwrap_err();
                assert!(matches!(error, TableError::Changed { .. }), "{format:?} {error}");
            }
        }
    }
}

#[test]
fn damage_in_other_columns_is_told_as_damage() {
    for format in FORMATS {
        let mut bytes = file(
            format,
            &[batch(vec![
                ("k", Arc::new(Int64Array::from_iter_values(0..200))),
                ("v", Arc::new(StringArray::from_iter_values((0..200).map(|row| format!("value{row}éé"))))),
            ])],
        );
        // In the one column that the first pass does not decode.
        let at = match format {
            Format::Parquet => {
                let metadata = super::parquet::copied(&input(&bytes).unwrap()).unwrap().0;
                let (start, length) = metadata.row_group(0).column(1).byte_range();
                (start + length / 2) as usize
            }
            _ => bytes.windows(8).rposition(|bytes| bytes == &"value17é".as_bytes()[..8]).unwrap(),
        };
        bytes[at..at + 3].fill(0xff);
        let (table, items) = load(&bytes, &request(&["k"])).unwrap();
        let error = selected(&table, &items, |_| true).unwrap_err();
        assert!(matches!(error, TableError::Damaged { .. }), "{format:?} {error}");
    }
}

#[test]
fn a_pass_can_be_cancelled() {
    for format in FORMATS {
        let bytes = file(format, &[people(0..500)]);
        let error = input(&bytes).unwrap().load(&request(&["mail"]), &mut |_| ControlFlow::Break(()));
        assert!(matches!(error, Err(TableError::Cancelled)), "{format:?}");
    }
}

/// Every byte with a bit flipped, and cut at many lengths: an error, or a table, never a panic; a cut file is
/// no table.
#[test]
fn damaged_files_are_errors() {
    // The panics within decoders that this provokes are expected.
    std::panic::set_hook(Box::new(|info| {
        if !guard::decoding() {
            eprintln!("{info}");
        }
    }));
    let rows = people(0..40);
    let mut rng = StdRng::seed_from_u64(5);
    for format in FORMATS {
        let whole = file(format, &[rows.clone(), people(40..60)]);
        let check = |bytes: &[u8], cut: bool| {
            let loaded = input(bytes).and_then(|input| input.load(&request(&["mail"]), &mut go));
            match loaded {
                Ok((table, items)) => {
                    assert!(!cut, "{format:?}: a cut file is no table");
                    // What a damaged column gives is anybody's guess; that it ends is not.
                    drop(selected(&table, &items, |_| true));
                }
                Err(error) => {
                    assert!(matches!(error.fault(), Fault::Input), "{format:?}: {error}");
                    assert!(!format!("{error} {error:?}").contains("Example"), "{error}");
                }
            }
        };
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << rng.random_range(0..8);
            if at % 3 == 0 {
                bytes[rng.random_range(0..whole.len())] = 0xff;
                check(&whole[..at], at > 8);
            }
            check(&bytes, false);
        }
        check(&[&whole[..], b"more"].concat(), true);
    }
}
