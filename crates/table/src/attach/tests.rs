use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::*;
use arrow_ipc::writer::FileWriter;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use vesica_encode::items::OnDuplicates;

use super::*;
use crate::format::Format;
use crate::packing::Packing;
use crate::payload::PayloadRows;
use crate::request::{OnFault, Request};
use crate::testing::{go, input, load, request};
use crate::{Cell, Input, write_row};

fn values(columns: &[&str]) -> Request {
    Request {
        attach: Attach::Values(columns.iter().map(|name| (*name).to_owned()).collect()),
        ..request(&["k"])
    }
}

fn payload(columns: &[&str], bytes: usize) -> Request {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    Request { attach: Attach::Payload { columns, bytes }, ..request(&["k"]) }
}

/// What the items carry, by the first row of each.
fn attached(bytes: &[u8], request: &Request) -> Result<Attached, TableError> {
    let (mut table, items) = load(bytes, request)?;
    let attached = table.attached(&items, &mut go)?;
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|item| items.rows_of(*item).next());
    Ok(match attached {
        Attached::Nothing => Attached::Nothing,
        Attached::Values(columns) => Attached::Values(
            columns.iter().map(|column| order.iter().map(|item| column[*item]).collect()).collect(),
        ),
        Attached::Payloads { blocks, width } => {
            let of = |item: &usize| blocks[item * width..][..width].to_vec();
            Attached::Payloads { blocks: order.iter().flat_map(of).collect(), width }
        }
    })
}

fn sums(bytes: &[u8], request: &Request) -> Vec<Vec<u64>> {
    match attached(bytes, request).unwrap() {
        Attached::Values(columns) => columns,
        other => panic!("{other:?}"),
    }
}

/// The fields of each item's payload.
fn fields(bytes: &[u8], request: &Request) -> Vec<Vec<Option<String>>> {
    let Attach::Payload { columns, .. } = &request.attach else { panic!("no payload") };
    let Attached::Payloads { blocks, width } = attached(bytes, request).unwrap() else {
        panic!("no payload")
    };
    let count = blocks.len() / width;
    let rows = PayloadRows::new(columns.clone(), width, blocks, (0..count as u32).collect()).unwrap();
    (0..count).map(|row| rows.fields(row).map(|text| text.map(str::to_owned)).collect()).collect()
}

fn refused(bytes: &[u8], request: &Request) -> String {
    attached(bytes, request).map(|_| ()).unwrap_err().text().shell()
}

const SALES: &[u8] = b"k,cents,n\na,5,1\nb, +007 ,1\na,10,1\n,x,\nc,18446744073709551615,1\n";

#[test]
fn the_numbers_of_a_key_are_summed_under_each_rule_for_duplicates() {
    let of = |on_duplicates| sums(SALES, &Request { on_duplicates, ..values(&["cents", "n"]) });
    assert_eq!(of(OnDuplicates::All), [[15, 7, u64::MAX], [2, 1, 1]]);
    assert_eq!(of(OnDuplicates::First), [[5, 7, u64::MAX], [1, 1, 1]]);
    let error = refused(SALES, &Request { on_duplicates: OnDuplicates::Error, ..values(&["n"]) });
    assert!(error.contains("lines 2 and 4 have the same key"), "{error}");
}

#[test]
fn a_key_can_be_summed_itself_and_a_column_twice() {
    let numbers = b"k\n5\n6\n5\n";
    let twice = Request { on_duplicates: OnDuplicates::First, ..values(&["k", "k"]) };
    assert_eq!(sums(numbers, &twice), [[5, 6], [5, 6]]);
}

#[test]
fn values_that_cannot_be_summed_are_errors_with_their_place() {
    for (value, said) in [
        ("", "it is empty"),
        ("  ", "it is empty"),
        ("-1", "it is negative"),
        ("1.5", "not a whole number"),
        ("1,5", "not a whole number"),
        ("secret", "not a whole number"),
        ("18446744073709551616", "2^64 or more"),
        (&"9".repeat(99), "2^64 or more"),
    ] {
        let file = format!("k,cents\na,1\nb,\"{value}\"\n");
        let error = refused(file.as_bytes(), &values(&["cents"]));
        assert!(error.contains("test.csv, line 3, column `cents`") && error.contains(said), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    // A row without a key carries nothing.
    assert_eq!(sums(b"k,cents\n,secret\na,1\n", &values(&["cents"])), [[1]]);
    let skip = Request { on_invalid: OnFault::Skip, ..values(&["cents"]) };
    let skip = Request { keys: request(&["k:email"]).keys, ..skip };
    assert_eq!(sums(b"k,cents\nno address,-5\na@b.c,1\n", &skip), [[1]]);
    assert!(refused(b"k,cents\nno address,5\na@b.c,-1\n", &skip).contains("line 3"));
    // Nor does one of whose key a part is empty.
    let parts = Request { keys: request(&["k", "l"]).keys, ..values(&["cents"]) };
    assert_eq!(sums(b"k,l,cents\na,,secret\n,b,-1\na,b,4\n", &parts), [[4]]);
}

#[test]
fn the_sum_of_a_key_has_64_bits() {
    let file = b"k,cents\na,18446744073709551615\nb,3\na,1\n";
    let error = refused(file, &values(&["cents"]));
    assert!(error.contains("line 4, column `cents`") && error.contains("2^64"), "{error}");
    let first = Request { on_duplicates: OnDuplicates::First, ..values(&["cents"]) };
    assert_eq!(sums(file, &first), [[u64::MAX, 3]]);
}

#[test]
fn missing_columns_are_found_by_similar_names() {
    let error = refused(b"k,Revenue\na,1\n", &values(&["revenu"]));
    assert!(error.contains("no column `revenu`") && error.contains("did you mean `Revenue`?"), "{error}");
    let error = refused(b"k,a1,b1\na,1,2\n", &payload(&["a1,b1"], 64));
    assert!(error.contains("repeat `--payload`, once for each of `a1`, `b1`"), "{error}");
}

#[test]
fn a_dummy_carries_nothing() {
    let (mut table, mut items) = load(b"k,n\na,1\nb,2\n", &values(&["n"])).unwrap();
    items.pad(50, &mut rand::rng()).unwrap();
    let Attached::Values(columns) = table.attached(&items, &mut go).unwrap() else { panic!("no values") };
    assert_eq!((columns[0].len(), columns[0].iter().sum::<u64>()), (50, 3));
    assert_eq!(table.attached(&items, &mut go).unwrap(), Attached::Nothing);
}

#[test]
fn payloads_keep_nulls_quotes_and_line_ends() {
    let file = "k,city,note\na,Zürich,\"two\r\nlines\"\nb,,\"\"\"x\"\", y\"\n".as_bytes();
    let some = |text: &str| Some(text.to_owned());
    let expected = [[some("Zürich"), some("two\r\nlines")], [None, some("\"x\", y")]];
    assert_eq!(fields(file, &payload(&["city", "note"], 64)), expected);
    // A table in another encoding.
    let latin = [&b"k,city\na,Z\xfcrich\n"[..]].concat();
    let dialect = crate::Dialect { encoding: Some("latin1".parse().unwrap()), ..Default::default() };
    let input = input(&latin).unwrap().with_dialect(dialect).unwrap();
    let (mut table, items) = input.load(&payload(&["city"], 16), &mut go).unwrap();
    let Attached::Payloads { blocks, .. } = table.attached(&items, &mut go).unwrap() else { panic!("none") };
    assert!(blocks.starts_with("\u{8}Zürich".as_bytes()), "{blocks:?}");
}

#[test]
fn rows_of_a_key_have_one_payload() {
    let file = b"k,city\na,Bern\nb,Chur\na,Bern\nb,Genf\n";
    let error = refused(file, &payload(&["city"], 64));
    assert!(error.contains("lines 3 and 5") && error.contains("--on-duplicates first"), "{error}");
    assert!(!error.contains("Chur") && !error.contains("Genf"), "{error}");
    // The last of several rows alone is another one.
    let error = refused(b"k,city\na,Bern\na,Bern\na,Bern\na,Genf\n", &payload(&["city"], 64));
    assert!(error.contains("lines 2 and 5"), "{error}");
    let first = Request { on_duplicates: OnDuplicates::First, ..payload(&["city"], 64) };
    assert_eq!(fields(file, &first), [[Some("Bern".to_owned())], [Some("Chur".to_owned())]]);
    assert_eq!(fields(&file[..file.len() - 7], &payload(&["city"], 64)).len(), 2);
}

#[test]
fn payloads_beyond_the_bound_are_errors_with_their_place() {
    let file = b"k,city\na,Bern\n,far too long\nb,Winterthur\n";
    assert!(attached(file, &payload(&["city"], 11)).is_ok());
    let error = refused(file, &payload(&["city"], 10));
    assert!(error.contains("line 4: the payload takes 11 bytes and `--payload-bytes` allows 10"), "{error}");
    assert!(!error.contains("Winter"), "{error}");
    let skip = Request { on_invalid: OnFault::Skip, ..payload(&["city"], 6) };
    let skip = Request { keys: request(&["k:email"]).keys, ..skip };
    assert_eq!(fields(b"k,city\nno address,far too long\na@b.c,Bern\n", &skip), [[Some("Bern".to_owned())]]);
    let error = refused(b"k,city\na,\xff\n", &payload(&["city"], 10));
    assert!(error.contains("line 2, column `city`: the value is not text"), "{error}");
}

fn columnar(parquet: bool, columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let (batch, mut bytes) = (batch.unwrap(), Vec::new());
    if parquet {
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    } else {
        let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    bytes
}

fn keys() -> ArrayRef {
    Arc::new(StringArray::from(vec!["a", "b", "a"]))
}

#[test]
fn arrow_columns_are_summed_if_they_are_whole_numbers() {
    let decimal = Decimal128Array::from(vec![1, 2, 3]).with_precision_and_scale(10, 0).unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int8Array::from(vec![1, 2, 3])),
        Arc::new(Int64Array::from(vec![1, 2, 3])),
        Arc::new(UInt64Array::from(vec![1, 2, 3])),
        Arc::new(decimal),
        Arc::new(StringArray::from(vec!["1", "2", "3"])),
    ];
    for parquet in [true, false] {
        for column in &columns {
            let file = columnar(parquet, vec![("k", keys()), ("n", column.clone())]);
            assert_eq!(sums(&file, &values(&["n"])), [[4, 2]]);
        }
        let null: ArrayRef = Arc::new(UInt8Array::from(vec![Some(1), None, Some(3)]));
        let file = columnar(parquet, vec![("k", keys()), ("n", null)]);
        let error = refused(&file, &values(&["n"]));
        assert!(error.contains("row 2, column `n`") && error.contains("empty"), "{error}");
        for (column, found) in [
            (Arc::new(Float64Array::from(vec![1.0; 3])) as ArrayRef, "Float64"),
            (Arc::new(BooleanArray::from(vec![true; 3])), "Boolean"),
        ] {
            let error = refused(&columnar(parquet, vec![("k", keys()), ("n", column)]), &values(&["n"]));
            let said = format!("column `n`: values of type {found} cannot be summed");
            assert!(error.contains(&said) && error.contains("cents"), "{error}");
        }
    }
}

#[test]
fn arrow_columns_of_every_kind_become_text() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("k", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("i", Arc::new(Int32Array::from(vec![Some(-5), None]))),
        ("f", Arc::new(Float64Array::from(vec![0.1, 1e300]))),
        ("t", Arc::new(BooleanArray::from(vec![true, false]))),
        ("d", Arc::new(Date32Array::from(vec![0, 20_000]))),
        ("s", Arc::new(StringArray::from(vec![Some(""), None]))),
    ];
    for parquet in [true, false] {
        let found = fields(&columnar(parquet, columns.clone()), &payload(&["i", "f", "t", "d", "s"], 99));
        let text = |text: &str| Some(text.to_owned());
        let first = [text("-5"), text("0.1"), text("true"), text("1970-01-01"), text("")];
        assert_eq!(found, [first, [None, text("1e300"), text("false"), text("2024-10-04"), None]]);
    }
    let binary: ArrayRef = Arc::new(BinaryArray::from(vec![&b"x"[..]; 3]));
    let error = refused(&columnar(false, vec![("k", keys()), ("b", binary)]), &payload(&["b"], 9));
    assert!(error.contains("cannot be a payload") && error.contains("base64"), "{error}");
}

/// The partner's columns `city` and `k` for the first two rows.
fn received() -> PayloadRows {
    let mut blocks = Vec::new();
    for fields in [["Zürich, \"x\"", "1"], ["", "2"]] {
        let (start, [city, k]) = (blocks.len(), fields);
        assert!(write_field(Some(city.as_bytes()).filter(|city| !city.is_empty()), &mut blocks));
        assert!(write_field(Some(k.as_bytes()), &mut blocks));
        blocks.resize(start + 32, 0);
    }
    PayloadRows::new(vec!["city".into(), "k".into()], 32, blocks, vec![1, 0]).unwrap()
}

#[test]
fn matching_rows_of_text_get_the_partners_columns_behind_their_own() {
    let selected = |file: &[u8], dialect: &crate::Dialect| {
        let input = input(file).unwrap().with_dialect(dialect.clone()).unwrap();
        let keys = [if dialect.header { "k" } else { "1" }];
        let (table, items) = input.load(&request(&keys), &mut go).unwrap();
        let table = table.with_payload(Some(received())).with_numbers(Some(vec![7, 8]));
        let mut out = Vec::new();
        table.select(&items.matches(0..items.len()), &mut out, &mut go).map(|()| out)
    };
    let header = crate::Dialect::default();
    let text = String::from_utf8(selected(b"k,v\r\na,\"1\"\r\nb,2", &header).unwrap()).unwrap();
    let expected = "k,v,city,k_partner,match_id\r\na,\"1\",,2,7\r\nb,2,\"Zürich, \"\"x\"\"\",1,8\r\n";
    assert_eq!(text, expected);
    let without = crate::Dialect { header: false, ..header.clone() };
    assert_eq!(selected(b"a\nb\n", &without).unwrap(), "a,,2,7\nb,\"Zürich, \"\"x\"\"\",1,8\n".as_bytes());
    for (header, unnamed) in [(false, &[(3, "city"), (4, "k")][..]), (true, &[][..])] {
        let input =
            input(b"1,2\na,b\n").unwrap().with_dialect(crate::Dialect { header, ..without.clone() }).unwrap();
        let (table, _) = input.load(&request(&["1"]), &mut go).unwrap();
        assert!(table.unnamed().next().is_none());
        assert!(table.with_payload(Some(received())).unnamed().eq(unnamed.iter().copied()));
    }
    let latin = crate::Dialect { encoding: Some("latin1".parse().unwrap()), ..header.clone() };
    assert!(selected(b"k\na\nb\n", &latin).unwrap().windows(6).any(|bytes| bytes == b"Z\xfcrich"));
    let greek = crate::Dialect { encoding: Some("iso-8859-7".parse().unwrap()), ..header.clone() };
    let error = selected(b"k\na\nb\n", &greek).unwrap_err();
    assert!(matches!(error, TableError::Unencodable { .. }), "{error}");
    assert!(!error.to_string().contains("rich"), "{error}");
}

#[test]
fn matching_rows_of_columnar_tables_get_nullable_text() {
    for parquet in [true, false] {
        let file = columnar(parquet, vec![("k", Arc::new(StringArray::from(vec!["a", "b"])))]);
        let (table, items) = load(&file, &request(&["k"])).unwrap();
        let table = table.with_payload(Some(received())).with_numbers(Some(vec![7, 8]));
        let mut out = Vec::new();
        table.select(&items.matches(0..items.len()), &mut out, &mut go).unwrap();
        let (again, _) = load(&out, &request(&["k"])).unwrap();
        assert_eq!(again.columns(), ["k", "city", "k_partner", "match_id"]);
        assert_eq!(again.schema().unwrap().field(1).data_type(), &DataType::Utf8);
        let found = fields(&out, &payload(&["city", "k_partner", "match_id"], 64));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(found, [[None, some("2"), some("7")], [some("Zürich, \"x\""), some("1"), some("8")]]);
    }
}

/// A batch of the input may have more rows than an array has room for their texts.
#[test]
fn batches_with_long_payloads_are_cut() {
    let keys: Vec<String> = (0..600).map(|key| key.to_string()).collect();
    let file = columnar(false, vec![("k", Arc::new(StringArray::from(keys)))]);
    let (table, items) = load(&file, &request(&["k"])).unwrap();
    let (long, mut block) = ("x".repeat(60_000), Vec::new());
    assert!(write_field(Some(long.as_bytes()), &mut block));
    block.resize(1 << 16, 0);
    let payload = PayloadRows::new(vec!["note".into()], 1 << 16, block, vec![0; 600]).unwrap();
    let table = table.with_payload(Some(payload)).with_numbers(Some((1..=600).collect()));
    let mut lengths = Vec::new();
    let take = &mut |batch: RecordBatch| {
        let (note, number) =
            (batch.column(1).as_string::<i32>(), batch.column(2).as_primitive::<Int64Type>());
        assert!(note.iter().all(|text| text == Some(&*long)));
        assert_eq!(number.value(0), 1 + lengths.iter().sum::<usize>() as i64);
        lengths.push(batch.num_rows());
        ControlFlow::Continue(())
    };
    table.select_batches(&items.matches(0..items.len()), take, &mut go).unwrap();
    assert_eq!(lengths, [256, 256, 88]);
}

#[test]
fn a_result_is_a_table_of_one_row_in_every_format() {
    let columns =
        [("a, b".to_owned(), Cell::Number(u64::MAX.into())), ("at_least".to_owned(), Cell::Truth(true))];
    for format in [Format::Csv(Packing::None), Format::Parquet, Format::ArrowFile, Format::ArrowStream] {
        let mut out = Vec::new();
        write_row(format, &columns, &mut out).unwrap();
        if format == Format::Csv(Packing::None) {
            assert_eq!(out, b"\"a, b\",at_least\n18446744073709551615,true\n");
        }
        let again = Input::spool("result", &mut &out[..]).unwrap();
        assert_eq!(again.format(), format);
        let wanted = Request { attach: Attach::Values(vec!["a, b".into()]), ..request(&["at_least"]) };
        let (mut table, items) = again.load(&wanted, &mut go).unwrap();
        assert_eq!((table.report().rows, table.columns()), (1, &["a, b".to_owned(), "at_least".into()][..]));
        assert_eq!(table.attached(&items, &mut go).unwrap(), Attached::Values(vec![vec![u64::MAX]]));
    }
}

#[test]
fn a_number_may_be_larger_than_an_integer_of_64_bits() {
    let (least, most) = (u128::from(u64::MAX) + 1, 10u128.pow(38) - 1);
    let columns = [("sum".to_owned(), Cell::Number(least)), ("most".to_owned(), Cell::Number(most))];
    let mut out = Vec::new();
    write_row(Format::Csv(Packing::None), &columns, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!("sum,most\n{least},{most}\n"));
    let mut out = Vec::new();
    write_row(Format::ArrowStream, &columns, &mut out).unwrap();
    let batch = arrow_ipc::reader::StreamReader::try_new(&out[..], None).unwrap().next().unwrap().unwrap();
    for (column, number) in [least, most].iter().enumerate() {
        let column = batch.column(column).as_primitive::<Decimal128Type>();
        assert_eq!((column.value(0).cast_unsigned(), column.precision(), column.scale()), (*number, 38, 0));
    }
    for format in [Format::Parquet, Format::ArrowFile] {
        let above = [("sum".to_owned(), Cell::Number(most + 1))];
        assert!(write_row(format, &above, &mut Vec::new()).is_err());
    }
}
