//! Files that Arrow's own writer cannot make: what comes out of them is what went in.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Type as Physical;
use ::parquet::column::reader::get_typed_column_reader;
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType as ParquetType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use arrow_array::*;
use bytes::Bytes;

use super::*;
use crate::testing::{go, input, load, request};

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

/// A file of this schema, whose columns `write` writes.
fn file(message: &str, write: impl Fn(&mut Group<'_>)) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, WriterProperties::new().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    write(&mut group);
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn column<T: ParquetType>(group: &mut Group<'_>, values: &[T::T], levels: (&[i16], &[i16])) {
    let mut column = group.next_column().unwrap().unwrap();
    let some = |levels: &[i16]| (!levels.is_empty()).then(|| levels.to_vec());
    let (definitions, repetitions) = (some(levels.0), some(levels.1));
    column.typed::<T>().write_batch(values, definitions.as_deref(), repetitions.as_deref()).unwrap();
    column.close().unwrap();
}

fn texts(values: &[&str]) -> Vec<ByteArray> {
    values.iter().map(|value| ByteArray::from(value.as_bytes().to_vec())).collect()
}

/// The column `id`, required: a, b, c.
fn ids(group: &mut Group<'_>) {
    column::<ByteArrayType>(group, &texts(&["a", "b", "c"]), (&[], &[]));
}

/// What each column of a file stores: definition levels, repetition levels, values.
fn stored(bytes: &[u8]) -> Vec<(Vec<i16>, Vec<i16>, String)> {
    fn of<T: ParquetType>(
        reader: &SerializedFileReader<bytes::Bytes>,
        leaf: usize,
    ) -> (Vec<i16>, Vec<i16>, String) {
        let (mut definitions, mut repetitions, mut values) = (vec![], vec![], vec![]);
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group).unwrap();
            let mut column = get_typed_column_reader::<T>(group.get_column_reader(leaf).unwrap());
            let most = 1 << 20;
            column.read_records(most, Some(&mut definitions), Some(&mut repetitions), &mut values).unwrap();
        }
        (definitions, repetitions, format!("{values:?}"))
    }
    let reader = SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).unwrap();
    let leaves = reader.metadata().file_metadata().schema_descr().columns().to_vec();
    let stored = leaves.iter().enumerate().map(|(at, leaf)| match leaf.physical_type() {
        Physical::BOOLEAN => of::<BoolType>(&reader, at),
        Physical::INT32 => of::<Int32Type>(&reader, at),
        Physical::INT64 => of::<Int64Type>(&reader, at),
        Physical::BYTE_ARRAY => of::<ByteArrayType>(&reader, at),
        Physical::FIXED_LEN_BYTE_ARRAY => of::<FixedLenByteArrayType>(&reader, at),
        other => panic!("{other}"),
    });
    stored.collect()
}

/// The rows that `wanted` names.
fn copied(bytes: &[u8], wanted: &[u64]) -> Vec<u8> {
    let (table, items) = load(bytes, &request(&["id"])).unwrap();
    input(bytes).unwrap().check_rows(&mut go).unwrap();
    let chosen = (0..items.len()).filter(|item| items.rows_of(*item).any(|row| wanted.contains(&row)));
    let mut out = Vec::new();
    table.select(&items.matches(chosen), &mut out, &mut go).unwrap();
    out
}

fn schema(bytes: &[u8]) -> ::parquet::schema::types::Type {
    super::parquet::copied(&input(bytes).unwrap()).unwrap().0.file_metadata().schema().clone()
}

/// Copies all rows, and expects the same schema and the same stored values.
#[track_caller]
fn expect_the_same(bytes: &[u8]) {
    let out = copied(bytes, &[0, 1, 2]);
    assert_eq!(schema(&out), schema(bytes));
    assert_eq!(stored(&out), stored(bytes));
}

fn fixed(values: &[&[u8]]) -> Vec<FixedLenByteArray> {
    values.iter().map(|value| ByteArray::from(value.to_vec()).into()).collect()
}

#[test]
fn what_arrow_cannot_hold_is_copied_as_it_is_stored() {
    let optional = (&[1, 0, 1][..], &[][..]);
    // 13 months, 2 days, 3 ms.
    let term: &[u8] = &[13, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
    let wide: &[u8] =
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1];
    for (second, values) in [
        ("fixed_len_byte_array(12) v (INTERVAL)", vec![term, &[1; 12]]),
        ("fixed_len_byte_array(16) v (DECIMAL(20,2))", vec![wide, &[0; 16]]),
        ("fixed_len_byte_array(20) v (DECIMAL(9,2))", vec![&[0; 20], &[0xff; 20]]),
        ("fixed_len_byte_array(16) v (UUID)", vec![wide, &[0; 16]]),
        ("fixed_len_byte_array(2) v (FLOAT16)", vec![&[1, 2], &[3, 4]]),
    ] {
        let message = format!("message m {{ required binary id (UTF8); optional {second}; }}");
        expect_the_same(&file(&message, |group| {
            ids(group);
            column::<FixedLenByteArrayType>(group, &fixed(&values), optional);
        }));
    }
    for (second, values) in [
        ("(DECIMAL(20,2))", [&b"\x01\x02"[..], b"\xff"]),
        ("(DECIMAL(40,2))", [b"\x01\x02", b""]),
        ("(ENUM)", [b"A", b"B"]),
        ("(JSON)", [b"{}", b"[1]"]),
        ("(BSON)", [b"\xff", b""]),
        // Bytes that are no text.
        ("(UTF8)", [b"\xff\xfe", b"ok"]),
        ("", [b"\xff", b""]),
    ] {
        let values: Vec<_> = values.iter().map(|value| ByteArray::from(value.to_vec())).collect();
        let message = format!("message m {{ required binary id (UTF8); optional binary v {second}; }}");
        expect_the_same(&file(&message, |group| {
            ids(group);
            column::<ByteArrayType>(group, &values, optional);
        }));
    }
    // A column that has no values at all may have any type.
    for physical in ["binary", "int64", "fixed_len_byte_array(3)", "boolean"] {
        let message = format!("message m {{ required binary id (UTF8); optional {physical} v (UNKNOWN); }}");
        expect_the_same(&file(&message, |group| {
            ids(group);
            let none = (&[0, 0, 0][..], &[][..]);
            match physical {
                "binary" => column::<ByteArrayType>(group, &[], none),
                "int64" => column::<Int64Type>(group, &[], none),
                "boolean" => column::<BoolType>(group, &[], none),
                _ => column::<FixedLenByteArrayType>(group, &[], none),
            }
        }));
    }
    // A number beyond the width that its annotation names.
    expect_the_same(&file("message m { required binary id (UTF8); optional int32 v (INT_8); }", |group| {
        ids(group);
        column::<Int32Type>(group, &[300, -1], optional);
    }));
}

#[test]
fn nested_columns_keep_their_levels() {
    let maps = "message m { required binary id (UTF8); optional group m (MAP) { repeated group key_value (MAP_KEY_VALUE) {
        optional binary key (UTF8); optional binary value (UTF8); } } }";
    // {x: 1, null: 2}, null, {}.
    expect_the_same(&file(maps, |group| {
        ids(group);
        column::<ByteArrayType>(group, &texts(&["x"]), (&[3, 2, 0, 1], &[0, 1, 0, 0]));
        column::<ByteArrayType>(group, &texts(&["1", "2"]), (&[3, 3, 0, 1], &[0, 1, 0, 0]));
    }));
    let bare = "message m { required binary id (UTF8); repeated int32 v; repeated group g { required int32 a;
        optional binary b; } }";
    // Lists without an annotation: [1, 2], [], [3].
    expect_the_same(&file(bare, |group| {
        ids(group);
        column::<Int32Type>(group, &[1, 2, 3], (&[1, 1, 0, 1], &[0, 1, 0, 0]));
        column::<Int32Type>(group, &[4, 5, 6], (&[1, 1, 0, 1], &[0, 1, 0, 0]));
        column::<ByteArrayType>(group, &texts(&["x"]), (&[2, 1, 0, 1], &[0, 1, 0, 0]));
    }));
    let lists = "message m { required binary id (UTF8); optional group l (LIST) { repeated group list {
        optional group element (LIST) { repeated group list { optional int32 element; } } } } }";
    // [[1, null], null, []], null, [].
    expect_the_same(&file(lists, |group| {
        ids(group);
        column::<Int32Type>(group, &[1], (&[5, 4, 2, 3, 0, 1], &[0, 2, 1, 1, 0, 0]));
    }));
    let old = "message m { required binary id (UTF8); optional group l (LIST) { repeated int32 array; }
        optional group s { optional group t { required int64 a; optional binary b (UTF8); } } }";
    expect_the_same(&file(old, |group| {
        ids(group);
        column::<Int32Type>(group, &[1, 2], (&[2, 2, 0, 1], &[0, 1, 0, 0]));
        column::<Int64Type>(group, &[7], (&[2, 1, 0], &[]));
        column::<ByteArrayType>(group, &texts(&["x"]), (&[3, 1, 0], &[]));
    }));
}

/// Every subset of the rows of a nested column.
#[test]
fn chosen_rows_are_those_rows() {
    let message = "message m { required binary id (UTF8); optional group m (MAP) { repeated group key_value {
        optional binary key; optional fixed_len_byte_array(12) value (INTERVAL); } } }";
    let make = |rows: &[u64]| {
        file(message, |group| {
            let names: Vec<_> = rows.iter().map(|row| ["a", "b", "c"][*row as usize]).collect();
            column::<ByteArrayType>(group, &texts(&names), (&[], &[]));
            let (mut keys, mut values, mut definitions) = (vec![], vec![], [vec![], vec![]]);
            let mut repetitions = vec![];
            for row in rows {
                match row {
                    0 => {
                        keys.push("x");
                        values.push(&[9; 12][..]);
                        definitions[0].extend([3, 2]);
                        definitions[1].extend([2, 3]);
                        repetitions.extend([0, 1]);
                    }
                    row => {
                        definitions.iter_mut().for_each(|levels| levels.push(*row as i16 - 1));
                        repetitions.push(0);
                    }
                }
            }
            column::<ByteArrayType>(group, &texts(&keys), (&definitions[0], &repetitions));
            column::<FixedLenByteArrayType>(group, &fixed(&values), (&definitions[1], &repetitions));
        })
    };
    let whole = make(&[0, 1, 2]);
    for chosen in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]] {
        assert_eq!(stored(&copied(&whole, chosen)), stored(&make(chosen)), "{chosen:?}");
    }
}

/// A new column changes nothing about those that were there.
#[test]
fn match_numbers_stand_beside_any_column() {
    let message = "message m { required binary id (UTF8); optional fixed_len_byte_array(12) v (INTERVAL); }";
    let bytes = file(message, |group| {
        ids(group);
        column::<FixedLenByteArrayType>(group, &fixed(&[&[7; 12]]), (&[0, 1, 0], &[]));
    });
    let (table, items) = load(&bytes, &request(&["id"])).unwrap();
    let matches = items.matches(0..items.len());
    let mut out = Vec::new();
    table.with_numbers(Some(vec![5, 6, 7])).select(&matches, &mut out, &mut go).unwrap();
    assert_eq!(stored(&out)[..2], stored(&bytes)[..]);
    assert_eq!(stored(&out)[2], (vec![], vec![], "[5, 6, 7]".to_owned()));
    let (before, after) = (schema(&bytes), schema(&out));
    assert_eq!(before.get_fields()[..], after.get_fields()[..2]);
}

/// An annotation of a later version of the format.
#[test]
fn an_annotation_that_nobody_knows_is_left_out() {
    let message = "message m { required binary id (UTF8); optional fixed_len_byte_array(16) v (UUID); }";
    let mut bytes = file(message, |group| {
        ids(group);
        column::<FixedLenByteArrayType>(group, &fixed(&[&[1; 16], &[2; 16]]), (&[1, 0, 1], &[]));
    });
    // In the footer: the union of annotations, its field 14, an empty structure. There is no field 9.
    let at = bytes.windows(4).position(|bytes| *bytes == [0x6c, 0xec, 0, 0]).unwrap();
    bytes[at + 1] = 0x9c;
    let out = copied(&bytes, &[0, 1, 2]);
    assert_eq!(stored(&out), stored(&bytes));
    let before = schema(&bytes);
    let meaning = before.get_fields()[1].get_basic_info().logical_type_ref();
    assert!(matches!(meaning, Some(::parquet::basic::LogicalType::_Unknown { .. })), "{meaning:?}");
    assert_eq!(schema(&out).get_fields()[1].get_basic_info().logical_type_ref(), None);
}

/// What no encoder takes is found before a row is wanted.
#[test]
fn a_column_that_can_be_read_and_not_written_is_refused_early() {
    let bytes =
        file("message m { required binary id (UTF8); required fixed_len_byte_array(0) v; }", |group| {
            ids(group);
            column::<FixedLenByteArrayType>(group, &fixed(&[&[], &[], &[]]), (&[], &[]));
        });
    assert!(load(&bytes, &request(&["id"])).is_ok());
    let error = input(&bytes).unwrap().check_rows(&mut go).unwrap_err();
    assert_eq!(error.fault(), crate::error::Fault::Input);
}

// ---- INT96 --------------------------------------------------------------------------------------------------------------

/// Days from 1970 on, and nanoseconds of the day.
fn moment(days: i32, nanos: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, (2_440_588 + days).cast_unsigned());
    value
}

const DAY_MICROS: i64 = 86_400_000_000;
/// 0001-01-01 and 9999-12-31.
const FIRST: i32 = -719_162;
const LAST: i32 = 2_932_896;

fn moments(values: &[Int96]) -> Vec<u8> {
    file("message m { required binary id (UTF8); optional int96 until; }", |group| {
        ids(group);
        column::<Int96Type>(group, values, (&[1, 0, 1], &[]));
    })
}

#[test]
fn time_stamps_of_int96_keep_their_instants() {
    let far = moments(&[moment(FIRST, 1000), moment(LAST, 86_399_999_999_000)]);
    let out = copied(&far, &[0, 1, 2]);
    let micros = [i64::from(FIRST) * DAY_MICROS + 1, i64::from(LAST) * DAY_MICROS + DAY_MICROS - 1];
    assert_eq!(stored(&out)[1], (vec![1, 0, 1], vec![], format!("{micros:?}")));
    // Where microseconds are not fine enough, nanoseconds are, if the years allow it.
    let fine = moments(&[moment(1, 1), moment(2, 0)]);
    let nanos = [DAY_MICROS * 1000 + 1, 2 * DAY_MICROS * 1000];
    assert_eq!(stored(&copied(&fine, &[0, 1, 2]))[1].2, format!("{nanos:?}"));
}

#[test]
fn time_stamps_of_int96_that_no_number_holds_are_refused_before_a_row_is_wanted() {
    let bytes = moments(&[moment(LAST, 1), moment(0, 0)]);
    for error in [
        input(&bytes).unwrap().check_rows(&mut go).unwrap_err(),
        load(&bytes, &request(&["until"])).map(drop).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(text.contains("column `until`") && text.contains("INT96"), "{text}");
        assert_eq!(error.fault(), crate::error::Fault::Input);
    }
    // A side that gives only the ids away needs no copy.
    assert!(load(&bytes, &request(&["id"])).is_ok());
}

#[test]
fn time_stamps_of_int96_of_several_files_have_one_unit() {
    let write = |files: &[Vec<u8>]| {
        let folder = tempfile::tempdir().unwrap();
        for (number, bytes) in files.iter().enumerate() {
            std::fs::write(folder.path().join(format!("part-{number}")), bytes).unwrap();
        }
        folder
    };
    // Microseconds would do for the first file.
    let (whole, fine) = (moments(&[moment(1, 1000), moment(2, 0)]), moments(&[moment(1, 1), moment(2, 0)]));
    let folder = write(&[whole.clone(), fine.clone()]);
    let input = Input::open(folder.path()).unwrap();
    input.check_rows(&mut go).unwrap();
    let (table, _) = input.load(&request(&["id"]), &mut go).unwrap();
    let mut out = Vec::new();
    table.select(crate::rows::RowSet::List(&[0, 3]), &mut out, &mut go).unwrap();
    let day = DAY_MICROS * 1000;
    assert_eq!(stored(&out)[1].2, format!("{:?}", [day + 1000, day + 1]));
    // One file needs nanoseconds, and another lies too far off for them.
    let folder = write(&[fine, moments(&[moment(LAST, 0), moment(2, 0)])]);
    let error = Input::open(folder.path()).unwrap().check_rows(&mut go).unwrap_err().to_string();
    assert!(error.contains("column `until`") && error.contains("INT96"), "{error}");
}

#[test]
fn a_time_stamp_is_the_same_key_as_int96_and_as_int64() {
    let obsolete = moments(&[moment(FIRST, 0), moment(LAST, 1_000_000)]);
    let micros = vec![Some(i64::from(FIRST) * DAY_MICROS), None, Some(i64::from(LAST) * DAY_MICROS + 1000)];
    let array: ArrayRef = Arc::new(TimestampMicrosecondArray::from(micros));
    let batch = RecordBatch::try_from_iter_with_nullable([("until", array, true)]).unwrap();
    let modern = Input::keep_batches("modern", batch.schema(), vec![batch.clone()]).unwrap();
    let (_, expected) = modern.load(&request(&["until"]), &mut go).unwrap();
    let (_, found) = load(&obsolete, &request(&["until"])).unwrap();
    assert_eq!((found.len(), expected.len()), (2, 2));
    assert!((0..2).all(|item| found.get(item) == expected.get(item)));
}

// ---- sizes --------------------------------------------------------------------------------------------------------------

/// Decodes to more than a batch may take, although the file is small.
#[test]
fn rows_that_share_a_long_text_take_little_memory() {
    let rows = 8192;
    let text = ByteArray::from(vec![b'x'; 30_000]);
    let bytes = file("message m { required int32 id; required binary consent (UTF8); }", |group| {
        column::<Int32Type>(group, &(0..rows).collect::<Vec<_>>(), (&[], &[]));
        column::<ByteArrayType>(group, &vec![text.clone(); rows as usize], (&[], &[]));
    });
    let input = input(&bytes).unwrap();
    let mut on_progress = go;
    let mut scan = Scan::open(&input, Wanted::Stored, &mut on_progress).unwrap();
    let (_, batch) = scan.next().unwrap().unwrap();
    assert!(batch.get_array_memory_size() < 8 << 20, "{}", batch.get_array_memory_size());
    let (table, items) = load(&bytes, &request(&["id"])).unwrap();
    let mut out = Vec::new();
    table.select(&items.matches(0..items.len()), &mut out, &mut go).unwrap();
    assert!(out.len() < 1 << 20, "{}", out.len());
    assert_eq!(stored(&out)[1].2.len(), stored(&bytes)[1].2.len());
}

#[test]
fn a_batch_of_long_values_has_few_rows() {
    let value = fixed(&[&[b'x'; 100_000]]).remove(0);
    let message = "message m { required int32 id; required fixed_len_byte_array(100000) v; }";
    let bytes = file(message, |group| {
        column::<Int32Type>(group, &(0..1000).collect::<Vec<_>>(), (&[], &[]));
        column::<FixedLenByteArrayType>(group, &vec![value.clone(); 1000], (&[], &[]));
    });
    let input = input(&bytes).unwrap();
    let mut on_progress = go;
    let mut scan = Scan::open(&input, Wanted::Stored, &mut on_progress).unwrap();
    let (_, batch) = scan.next().unwrap().unwrap();
    assert!(batch.num_rows() < 200, "{}", batch.num_rows());
}

/// As parquet-mr 1.8.1 wrote it (apache/parquet-testing, `dict-page-offset-zero`).
#[test]
fn flaw_a_dictionary_page_at_offset_zero_is_none() {
    let ids = StringArray::from_iter_values((0..39).map(|id| format!("k{id}")));
    let counts = Int64Array::from_iter_values(0..39);
    let columns = [("id", Arc::new(ids) as ArrayRef), ("n", Arc::new(counts))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone())).unwrap();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let mut old = bytes[..bytes.len() - 8 - footer].to_vec();
    let mut builder = metadata.into_builder();
    for group in builder.take_row_groups() {
        let of_old = |column: &ColumnChunkMetaData| {
            column.clone().into_builder().set_dictionary_page_offset(Some(0)).build().unwrap()
        };
        let columns = group.columns().iter().map(of_old).collect();
        builder = builder.add_row_group(group.into_builder().set_column_metadata(columns).build().unwrap());
    }
    let mut end = Vec::new();
    ParquetMetaDataWriter::new(&mut end, &builder.build()).finish().unwrap();
    old.extend(end);
    for key in ["id", "n"] {
        let (table, items) = load(&old, &request(&[key])).unwrap();
        assert_eq!(items.len(), 39);
        let mut out = Vec::new();
        table.select(&items.matches(0..39), &mut out, &mut go).unwrap();
        let read = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(out)).unwrap().build().unwrap();
        let rows: Vec<RecordBatch> = read.map(Result::unwrap).collect();
        assert_eq!(rows, std::slice::from_ref(&batch));
    }
}
