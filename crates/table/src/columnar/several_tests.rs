//! Folders of columnar files, against the same rows in one file.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::*;
use tempfile::TempDir;
use vesica_encode::items::OnDuplicates;

use super::tests::{batch, file, people, rows};
use super::*;
use crate::request::Request;
use crate::rows::RowSet;
use crate::testing::{go, input, request};

/// A folder with such files, in order.
fn folder(files: &[Vec<u8>]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (number, bytes) in files.iter().enumerate() {
        std::fs::write(folder.path().join(format!("part-{number:05}")), bytes).unwrap();
    }
    folder
}

fn open(folder: &TempDir) -> Input {
    Input::open(folder.path()).unwrap()
}

#[test]
fn a_folder_of_columnar_files_is_the_table_of_all_their_rows() {
    // The rows at which the batches of each file end.
    let many: [&[i64]; 64] = [&[7]; 64];
    let plans: [&[&[i64]]; 4] =
        [&[&[0]], &[&[0], &[0, 1], &[1]], &[&[10_000, 10_003], &[10_003], &[20_000]], &many];
    for format in [Format::Parquet, Format::ArrowFile, Format::ArrowStream] {
        for plan in plans {
            let (mut files, mut all, mut row) = (Vec::new(), Vec::new(), 0);
            for (number, ends) in plan.iter().enumerate() {
                let first = all.len();
                for end in *ends {
                    let end = if plan.len() == 64 { number as i64 * 3 + end } else { *end };
                    all.push(people(row..end));
                    row = end;
                }
                files.push(file(format, &all[first..]));
            }
            let folder = folder(&files);
            let wanted: Vec<u64> =
                (0..row as u64).filter(|row| row % 5 < 2 || (5000..9000).contains(row)).collect();
            let (_, items) =
                input(&file(format, &all)).unwrap().load(&request(&["mail:email"]), &mut go).unwrap();
            let whole = arrow_select::concat::concat_batches(&all[0].schema(), &all).unwrap();
            let keep: BooleanArray =
                (0..row as u64).map(|row| Some(wanted.binary_search(&row).is_ok())).collect();
            let expected = arrow_select::filter::filter_record_batch(&whole, &keep).unwrap();
            for threads in [1, 2, 3] {
                let request = Request { threads, ..request(&["mail:email"]) };
                let input = open(&folder);
                input.check_rows(&mut go).unwrap();
                let (table, found) = input.load(&request, &mut go).unwrap();
                assert_eq!((table.format(), table.report().rows), (format, row as u64));
                assert!(
                    found.len() == items.len() && (0..items.len()).all(|at| found.get(at) == items.get(at))
                );
                assert!((0..items.len()).all(|at| found.rows_of(at).eq(items.rows_of(at))));
                let mut out = Vec::new();
                table.select(RowSet::List(&wanted), &mut out, &mut go).unwrap();
                let (schema, copied) = rows(&out);
                assert_eq!(schema.fields(), whole.schema().fields());
                assert!(copied.columns() == expected.columns(), "{format:?} {plan:?} {threads}");
                let mut given = Vec::new();
                let take = &mut |batch: RecordBatch| {
                    given.push(batch);
                    std::ops::ControlFlow::Continue(())
                };
                table.select_batches(RowSet::List(&wanted), take, &mut go).unwrap();
                let given = arrow_select::concat::concat_batches(&table.schema().unwrap(), &given).unwrap();
                assert!(given.columns() == expected.columns());
            }
        }
    }
}

#[test]
fn an_output_is_compressed_as_the_first_file_with_rows() {
    let folder = folder(&[file(Format::Parquet, &[people(0..0)]), file(Format::Parquet, &[people(0..100)])]);
    let (table, _) = open(&folder).load(&request(&["mail:email"]), &mut go).unwrap();
    let mut out = Vec::new();
    table.select(RowSet::List(&[1, 2, 99]), &mut out, &mut go).unwrap();
    let footer = ::parquet::file::metadata::ParquetMetaDataReader::new();
    let footer = footer.parse_and_finish(&bytes::Bytes::from(out)).unwrap();
    let compression = footer.row_group(0).column(0).compression();
    assert_eq!(compression, ::parquet::basic::Compression::SNAPPY);
}

#[test]
fn a_file_of_another_schema_is_named_with_the_column() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let short: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let first = batch(vec![("id", ids.clone()), ("k", texts.clone())]);
    let required =
        RecordBatch::try_from_iter_with_nullable([("id", ids.clone(), false), ("k", texts.clone(), true)]);
    for (other, told) in [
        (batch(vec![("id", ids.clone()), ("key", texts.clone())]), "column 2 is `key`, and that one has `k`"),
        (
            batch(vec![("id", short), ("k", texts.clone())]),
            "column 1, `id`, is Int32, and that one has Int64",
        ),
        (batch(vec![("id", ids.clone())]), "it has 1 column, and that one has 2"),
        (required.unwrap(), "column 1, `id`, is stored as another type"),
    ] {
        for format in [Format::Parquet, Format::ArrowFile, Format::ArrowStream] {
            let folder = folder(&[
                file(format, std::slice::from_ref(&first)),
                file(format, std::slice::from_ref(&other)),
            ]);
            let error = open(&folder).load(&request(&["k"]), &mut go).map(drop).unwrap_err().to_string();
            let [a, b] = [0, 1].map(|number| folder.path().join(format!("part-0000{number}")));
            let start = format!("{}: cannot be in one table with {}: {told}", b.display(), a.display());
            assert!(error.starts_with(&start), "{error}");
        }
    }
}

#[test]
fn dictionaries_of_several_files_fit_into_a_stream_and_into_parquet() {
    let with = |texts: [&str; 2]| {
        let entries: DictionaryArray<Int8Type> = texts.into_iter().collect();
        batch(vec![("k", Arc::new(entries))])
    };
    for format in [Format::Parquet, Format::ArrowFile, Format::ArrowStream] {
        let folder = folder(&[file(format, &[with(["a", "b"])]), file(format, &[with(["c", "a"])])]);
        let checked = open(&folder).check_rows(&mut go);
        if format == Format::ArrowFile {
            let error = checked.unwrap_err().to_string();
            assert!(error.contains("column `k` is a dictionary"), "{error}");
            continue;
        }
        checked.unwrap();
        let request = Request { on_duplicates: OnDuplicates::All, ..request(&["k"]) };
        let (table, items) = open(&folder).load(&request, &mut go).unwrap();
        assert_eq!(items.len(), 3);
        let mut out = Vec::new();
        table.select(RowSet::List(&[0, 1, 2, 3]), &mut out, &mut go).unwrap();
        let (again, _) = input(&out).unwrap().load(&request, &mut go).unwrap();
        assert_eq!((again.report().rows, again.report().items), (4, 3));
    }
}

#[test]
fn damage_and_rows_are_named_with_their_file() {
    for format in [Format::Parquet, Format::ArrowFile, Format::ArrowStream] {
        let good = file(format, &[people(0..10)]);
        let cut = good[..good.len() - 20].to_vec();
        let cut = folder(&[good.clone(), cut]);
        let error = open(&cut).load(&request(&["mail"]), &mut go).map(drop).unwrap_err();
        let second = cut.path().join("part-00001");
        assert!(error.to_string().starts_with(&second.display().to_string()), "{error}");
        let twice = folder(&[good.clone(), good]);
        let once = Request { on_duplicates: OnDuplicates::Error, ..request(&["id:int"]) };
        let error = open(&twice).load(&once, &mut go).map(drop).unwrap_err().to_string();
        let [a, b] = [0, 1].map(|number| twice.path().join(format!("part-0000{number}")));
        let told = format!("{}, row 1, and {}, row 1, have the same key", a.display(), b.display());
        assert!(error.starts_with(&told), "{error}");
        // Between the passes.
        let (table, _) = open(&twice).load(&request(&["id:int"]), &mut go).unwrap();
        std::fs::write(&b, file(format, &[people(0..11)])).unwrap();
        let result = table.select(RowSet::List(&[0, 19]), &mut Vec::new(), &mut go);
        assert!(matches!(result, Err(TableError::Changed { .. })), "{format:?}");
    }
}

#[test]
fn flaw_a_column_that_one_file_calls_uuid_and_another_does_not_is_refused() {
    let bare = Field::new("k", DataType::FixedSizeBinary(16), true);
    let raws = [[1_u8; 16], [2; 16]];
    let values = FixedSizeBinaryArray::try_from_iter(raws.iter()).unwrap();
    let of = |field: Field| {
        let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
        RecordBatch::try_new(schema, vec![Arc::new(values.clone())]).unwrap()
    };
    let (bare, named) = (of(bare.clone()), of(text::as_uuid(bare)));
    for format in [Format::ArrowFile, Format::ArrowStream] {
        for (first, second) in [(&named, &bare), (&bare, &named)] {
            let folder = folder(&[
                file(format, std::slice::from_ref(first)),
                file(format, std::slice::from_ref(second)),
            ]);
            let error = open(&folder).load(&request(&["k"]), &mut go).map(drop).unwrap_err();
            assert!(matches!(error, TableError::Unlike { .. }), "{error}");
            assert!(error.to_string().contains("column 1, `k`, "), "{error}");
        }
        for same in [&named, &bare] {
            let folder =
                folder(&[file(format, std::slice::from_ref(same)), file(format, std::slice::from_ref(same))]);
            assert!(open(&folder).check_rows(&mut go).is_ok());
        }
    }
}
