//! Columns of raw bytes that have a text form: UUIDs and digests.

use std::sync::Arc;

use ::parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_encode::items::Items;

use super::tests::{FORMATS, file};
use super::*;
use crate::attach::Attach;
use crate::dialect::Dialect;
use crate::request::Request;
use crate::testing::{go, input, request};

type Source = Box<dyn Fn() -> Input>;

/// The column `k` of these values, in every format and in memory.
fn sources(field: Field, array: ArrayRef) -> Vec<Source> {
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    let mut sources: Vec<Source> = Vec::new();
    for format in FORMATS {
        let bytes = file(format, std::slice::from_ref(&batch));
        sources.push(Box::new(move || input(&bytes).unwrap()));
    }
    sources
        .push(Box::new(move || Input::keep_batches("memory", batch.schema(), vec![batch.clone()]).unwrap()));
    sources
}

/// The same column as CSV, with a blank line's quotes for a null.
fn csv(texts: &[Option<String>]) -> Source {
    let lines: Vec<_> = texts.iter().map(|text| text.clone().unwrap_or("\"\"".to_owned())).collect();
    let bytes = ["k"].into_iter().chain(lines.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    Box::new(move || input(bytes.as_bytes()).unwrap())
}

fn keys(items: &Items) -> Vec<(Vec<u8>, Vec<u64>)> {
    (0..items.len()).map(|item| (items.get(item).to_vec(), items.rows_of(item).collect())).collect()
}

fn same_keys(source: &Source, other: &Source, key: &str) -> bool {
    let mut found = [source, other].into_iter().flat_map(|source| {
        [1, 3].map(|threads| {
            let request = Request { threads, ..request(&[key]) };
            let (table, items) = source().load(&request, &mut go).unwrap();
            (table.report(), keys(&items))
        })
    });
    let first = found.next().unwrap();
    found.all(|next| next == first)
}

fn raws<const N: usize>(rows: usize) -> Vec<Option<[u8; N]>> {
    let mut rng = StdRng::seed_from_u64(16);
    (0..rows).map(|row| (row % 3 != 1).then(|| rng.random())).collect()
}

fn uuid_text(raw: &[u8; 16]) -> String {
    let digits = hex::encode(raw);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// A file as DuckDB writes it: UUIDs by Parquet's logical type, and no schema of Arrow.
fn parquet_of_uuids(raws: &[Option<[u8; 16]>]) -> Vec<u8> {
    let message = "message table { optional fixed_len_byte_array(16) k (UUID); }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, WriterProperties::new().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<_> = raws.iter().flatten().map(|raw| FixedLenByteArray::from(raw.to_vec())).collect();
    let levels: Vec<i16> = raws.iter().map(|raw| raw.is_some().into()).collect();
    column.typed::<FixedLenByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn flaw_a_column_of_uuids_has_the_keys_of_their_text() {
    for rows in [0, 1, 2, 1000] {
        let raws = raws::<16>(rows);
        let texts: Vec<_> = raws.iter().map(|raw| raw.as_ref().map(uuid_text)).collect();
        let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(raws.iter().copied(), 16).unwrap();
        let bare = Field::new("k", DataType::FixedSizeBinary(16), true);
        let mut named = sources(text::as_uuid(bare.clone()), Arc::new(array.clone()));
        let parquet = parquet_of_uuids(&raws);
        named.push(Box::new(move || input(&parquet).unwrap()));
        for source in &named {
            let format = source().format();
            for key in ["k", "k:text", "k:uuid"] {
                assert!(same_keys(source, &csv(&texts), key), "{key} {format:?} {rows}");
            }
            let payload = |source: &Source| {
                let attach = Attach::Payload { columns: vec!["k".into()], bytes: 40 };
                let request = Request { attach, ..request(&["k:uuid"]) };
                let (mut table, items) = source().load(&request, &mut go).unwrap();
                table.attached(&items, &mut go).unwrap()
            };
            assert!(payload(source) == payload(&csv(&texts)), "{format:?} {rows}");
            let column = &source().inspect(None, &mut go).unwrap().columns[0];
            assert_eq!((column.data_type.as_str(), column.refusal), ("UUID", None), "{format:?}");
        }
        // Without the name the rule has to say that they are UUIDs.
        for source in sources(bare, Arc::new(array)) {
            assert!(same_keys(&source, &csv(&texts), "k:uuid"), "{:?} {rows}", source().format());
            assert_eq!(same_keys(&source, &csv(&texts), "k"), rows == 0, "{:?} {rows}", source().format());
        }
    }
}

#[test]
fn flaw_a_column_of_raw_digests_has_the_keys_of_their_text() {
    for rows in [0, 1, 2, 1000] {
        let raws = raws::<32>(rows);
        let texts: Vec<_> = raws.iter().map(|raw| raw.as_ref().map(hex::encode)).collect();
        let binary = || raws.iter().map(|raw| raw.as_ref().map(|raw| &raw[..]));
        let entries = Arc::new(BinaryArray::from_iter(binary()));
        let indices = Int32Array::from_iter((0..rows as i32).map(Some));
        let arrays: [ArrayRef; 5] = [
            entries.clone(),
            Arc::new(LargeBinaryArray::from_iter(binary())),
            Arc::new(BinaryViewArray::from_iter(binary())),
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(raws.iter().copied(), 32).unwrap()),
            Arc::new(DictionaryArray::<Int32Type>::try_new(indices, entries).unwrap()),
        ];
        for array in arrays {
            let field = Field::new("k", array.data_type().clone(), true);
            for source in sources(field, array) {
                let format = source().format();
                assert!(same_keys(&source, &csv(&texts), "k:sha256"), "{format:?} {rows}");
            }
        }
    }
}

#[test]
fn texts_that_stand_for_null_are_null_in_every_format() {
    let texts = vec![Some("u1"), Some("NULL"), Some("\\N"), None, Some("null"), Some("7")];
    let field = || Field::new("k", DataType::Utf8, true);
    let dialect = Dialect { nulls: vec!["NULL".into(), "\\N".into()], ..Dialect::default() };
    for source in sources(field(), Arc::new(StringArray::from(texts))) {
        for (dialect, nulls) in [(Dialect::default(), 1), (dialect.clone(), 3)] {
            let (table, items) =
                source().with_dialect(dialect).unwrap().load(&request(&["k"]), &mut go).unwrap();
            assert_eq!((items.len() as u64, table.report().nulls), (6 - nulls, nulls));
            // The text itself comes out.
            let mut rows = Vec::new();
            table.select(crate::rows::RowSet::List(&[1]), &mut rows, &mut go).unwrap();
            let (table, _) = crate::testing::load(&rows, &request(&["k"])).unwrap();
            assert_eq!((table.report().rows, table.report().nulls), (1, 0));
        }
    }
}
