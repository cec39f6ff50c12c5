use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;
use vesica_encode::items::{Items, OnDuplicates};

use super::*;
use crate::error::Place;
use crate::packing::{self, Packing};
use crate::request::{OnFault, Request};
use crate::rows::{RowBitmap, RowSet};
use crate::sink::RowSink;
use crate::table::Table;
use crate::testing::{dialect, go, input, matching, request};
use crate::{Attach, Attached, Dialect, Fault};

/// A folder with these files.
fn folder<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn load(path: &Path, request: &Request) -> Result<(Table, Items), TableError> {
    Input::open(path)?.load(request, &mut go)
}

fn refusal(path: &Path) -> String {
    load(path, &request(&["k"])).map(drop).unwrap_err().to_string()
}

fn selected(table: &Table, rows: &[u64]) -> Result<Vec<u8>, TableError> {
    let mut out = Vec::new();
    table.select(RowSet::List(rows), &mut out, &mut go).map(|()| out)
}

fn packed(packing: Packing, text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    packing::encode(packing, &mut bytes, |out| out.write_all(text)).unwrap();
    bytes
}

/// Rows of a file, some with quoted line ends, and what of the file the one table has: the last line end is there.
fn body(rng: &mut StdRng, first: usize, rows: usize) -> (String, String) {
    let end = ["\n", "\r\n"][rng.random_range(0..2)];
    let mut text = String::new();
    for row in first..first + rows {
        let note = ["", "x", "\"a,\n\"\"b\"\"\"", "\"\r\n\""][rng.random_range(0..4)];
        text += &format!("{},{note},k{}{end}", row, row % 50_000);
    }
    let in_one = text.clone();
    if rng.random_bool(0.5) && rows > 0 {
        text.truncate(text.len() - end.len());
    }
    (format!("id,note,k{end}{text}"), in_one)
}

/// What a sink was given, as bytes.
#[derive(Default)]
struct Taken(Vec<(u64, Vec<u8>)>);

impl RowSink for Taken {
    fn take(&mut self, row: u64, digest: &[u8]) -> ControlFlow<()> {
        self.0.push((row, digest.to_vec()));
        ControlFlow::Continue(())
    }
}

#[test]
fn a_folder_of_text_is_the_table_of_all_its_rows() {
    let mut rng = StdRng::seed_from_u64(81);
    // Rows of each file. Long ones are cut for the threads.
    let sizes: [&[usize]; 5] = [&[0], &[1], &[0, 3, 0, 0, 2], &[40_000, 1, 0, 60_000, 7], &[3; 64]];
    for (sizes, packing) in
        sizes.into_iter().zip([Packing::None, Packing::Gzip, Packing::Zstd].into_iter().cycle())
    {
        let (mut files, mut one, mut first) = (Vec::new(), String::new(), 0);
        for (number, rows) in sizes.iter().enumerate() {
            let (text, in_one) = body(&mut rng, first, *rows);
            if number == 0 {
                one = text[..=text.find('\n').unwrap()].to_owned();
            }
            one += &in_one;
            first += rows;
            files.push((format!("part-{number:05}.csv"), packed(packing, text.as_bytes())));
        }
        let folder = folder(files.iter().map(|(name, bytes)| (&**name, &**bytes)));
        let wanted: Vec<u64> = (0..first as u64).filter(|_| rng.random_bool(0.3)).collect();
        let request = Request { on_duplicates: OnDuplicates::All, ..request(&["k"]) };
        let (reference, items) = input(one.as_bytes()).unwrap().load(&request, &mut go).unwrap();
        let expected = selected(&reference, &wanted).unwrap();
        let pattern = folder.path().join("part-*.csv");
        for (path, threads) in [(folder.path(), 1), (folder.path(), 2), (&*pattern, 3)] {
            let request = Request { threads, ..request.clone() };
            let (table, found) = load(path, &request).unwrap();
            assert_eq!(table.report(), reference.report());
            assert!(found.len() == items.len() && (0..items.len()).all(|at| found.get(at) == items.get(at)));
            assert!((0..items.len()).all(|at| found.rows_of(at).eq(items.rows_of(at))));
            assert!(selected(&table, &wanted).unwrap() == expected, "{sizes:?} {packing:?} {threads}");
            // With keys on disk, and a bit for each row.
            let (mut taken, mut in_one) = (Taken::default(), Taken::default());
            let table = Input::open(path).unwrap().load_into(&request, &mut taken, &mut go).unwrap();
            let whole = input(one.as_bytes()).unwrap().load_into(&request, &mut in_one, &mut go).unwrap();
            assert!(taken.0 == in_one.0 && table.report() == whole.report());
            let mut bitmap = RowBitmap::new(first as u64);
            assert!(wanted.iter().all(|row| bitmap.insert(*row)));
            let mut out = Vec::new();
            table.select(&bitmap, &mut out, &mut go).unwrap();
            assert!(out == expected);
        }
    }
}

#[test]
fn files_are_taken_in_the_order_of_their_names_bytes() {
    let text = |key: &str| format!("k\n{key}\n").into_bytes();
    let files =
        [("b", text("2")), ("B", text("1")), ("part-10", text("3")), ("part-9", text("4")), ("ä", text("5"))];
    let folder = folder(files.iter().map(|(name, bytes)| (*name, &**bytes)));
    let (table, _) = load(folder.path(), &request(&["k"])).unwrap();
    assert_eq!(selected(&table, &[0, 1, 2, 3, 4]).unwrap(), b"k\n1\n2\n3\n4\n5\n");
    assert_eq!(Input::open(folder.path()).unwrap().file_count(), 5);
}

#[test]
fn notes_of_an_export_are_left_out() {
    let folder = folder([
        ("_SUCCESS", &b""[..]),
        ("_committed_7", b"{}"),
        ("_temporary/0/part-1.csv", b"k\nno\n"),
        (".part-1.csv.crc", b"crc"),
        ("part-1.csv.crc", b"crc"),
        (".hidden", b"x"),
        ("part-1.csv", b"k\na\n"),
        ("part-2.csv", b"k\nb\n"),
    ]);
    for path in [folder.path().to_owned(), folder.path().join("*"), folder.path().join("**/*")] {
        let found = Listing::of(&path).unwrap().unwrap();
        let names = found.files().iter().map(|file| file.file_name().unwrap().to_str().unwrap());
        assert!(names.eq(["part-1.csv", "part-2.csv"]), "{path:?}");
    }
    // What is a file is no pattern, whatever it is called.
    let odd = folder.path().join("a[1]*.csv");
    fs::write(&odd, "k\na\n").unwrap();
    assert!(Listing::of(&odd).unwrap().is_none() && load(&odd, &request(&["k"])).is_ok());
}

#[test]
fn what_is_no_table_of_files_is_refused_with_a_remedy() {
    let csv = &b"k\na\n"[..];
    for (files, told) in [
        (vec![("_SUCCESS", &b""[..])], "has no file of a table"),
        (
            vec![("_delta_log/0.json", b"{}"), ("part-1.parquet", csv)],
            "is a Delta table, whose folder also has",
        ),
        (vec![(".hoodie/0", b"{}"), ("part-1.parquet", csv)], "is a Hudi table"),
        (
            vec![("dt=2026-01-01/part-1.csv", csv)],
            "has the folder `dt=2026-01-01`, which holds the rows of one value",
        ),
        (vec![("a.csv", csv), ("old/b.csv", csv)], "has `old`, which is no file"),
    ] {
        let folder = folder(files);
        let error = load(folder.path(), &request(&["k"])).map(drop).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
        assert!(error.to_string().starts_with(&shown_path(folder.path())) && error.fault() == Fault::Input);
    }
    let folder = folder([("a.csv", csv), ("dt=1/part-1.csv", csv), ("dt=2/part-1.csv", b"k\nb\n")]);
    let (table, _) = load(&folder.path().join("dt=*/part-*.csv"), &request(&["k"])).unwrap();
    assert_eq!(selected(&table, &[0, 1]).unwrap(), b"k\na\nb\n");
    assert!(refusal(&folder.path().join("b*.csv")).contains("no file has such a name"));
    assert!(refusal(&folder.path().join("a***.csv")).contains("cannot be read as a pattern"));
    assert!(refusal(&folder.path().join("dt*")).contains("has the folder `dt=1`"));
}

#[test]
fn a_file_that_differs_is_named_with_the_first_and_the_column() {
    let utf16: Vec<u8> = "\u{feff}id,k\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (second, told) in [
        (&b"id,mail\n1,a\n"[..], "column 2 has another name in the first line"),
        (b"k,id\n1,a\n", "column 1 has another name"),
        (b"id\n1\n", "it has 1 column, and that one has 2"),
        (b"id,k,x\n", "it has 3 columns, and that one has 2"),
        (b"sep=;\nid;k\n", "it has another delimiter"),
        (&utf16, "it is in UTF-16LE, and that one is in UTF-8"),
        (&packed(Packing::Gzip, b"id,k\n"), "it is CSV (gzip), and that one is CSV"),
    ] {
        let folder = folder([("a.csv", &b"id,k\n1,a\n"[..]), ("b.csv", b"id,k\n2,b\n"), ("c.csv", second)]);
        let [first, other] = ["a.csv", "c.csv"].map(|name| shown_path(&folder.path().join(name)));
        let error = refusal(folder.path());
        assert!(
            error.starts_with(&format!("{other}: cannot be in one table with {first}: {told}")),
            "{error}"
        );
        // The rows are refused before they are read, as well.
        let checked = Input::open(folder.path()).and_then(|input| input.check_rows(&mut go));
        assert_eq!(checked.unwrap_err().to_string(), error);
    }
    // Shards without a header have values in the first line, which no error may show.
    let folder = folder([("a.csv", &b"ada@example.org,k\n"[..]), ("b.csv", b"bob@example.org,k\n")]);
    let error = refusal(folder.path());
    assert!(!error.contains("example") && error.contains("column 1 has another name"), "{error}");
    let headless = Dialect { header: false, ..Dialect::default() };
    let input = Input::open(folder.path()).and_then(|input| input.with_dialect(headless)).unwrap();
    let (table, items) = input.load(&request(&["1:email"]), &mut go).unwrap();
    assert_eq!((items.len(), table.report().rows), (2, 2));
    assert_eq!(selected(&table, &[0, 1]).unwrap(), b"ada@example.org,k\nbob@example.org,k\n");
}

#[test]
fn errors_name_the_file_and_its_line() {
    let good = &b"k,n\na,1\n\"b\nb\",2\n"[..];
    let at = |folder: &TempDir, name: &str| shown_path(&folder.path().join(name));
    for threads in [1, 2] {
        for (bad, told) in [
            (&b"k,n\nx,1\ny\n"[..], ", line 3: the row has 1 field"),
            (b"k,n\n\"x,1\n", ", line 2: the quoted field"),
            (b"", ": is empty"),
            (b"k,n\n,1\n", ", line 2, column `k`: the key is empty"),
            (b"k,n\nc,1\na,1\n", ", line 2, and "),
        ] {
            let folder = folder([("1.csv", good), ("2.csv", bad), ("3.csv", b"k,n\nz,1\n")]);
            let request = Request {
                on_null: OnFault::Error,
                on_duplicates: OnDuplicates::Error,
                threads,
                ..request(&["k"])
            };
            let error = load(folder.path(), &request).map(drop).unwrap_err();
            let repeated = matches!(error, TableError::Duplicate { .. });
            let name = at(&folder, if repeated { "1.csv" } else { "2.csv" });
            assert!(error.to_string().starts_with(&format!("{name}{told}")), "{error}");
            let second = format!("{}, line 3, have the same key", at(&folder, "2.csv"));
            assert!(!repeated || error.to_string().contains(&second), "{error}");
        }
    }
    let inspected = folder([("1.csv", &b"k\n1\n"[..]), ("2.csv", b"k\n2\n\nx\n")]);
    let found =
        Input::open(inspected.path()).unwrap().inspect(Some(&request(&["k:int"]).keys), &mut go).unwrap();
    let keys = found.keys.unwrap();
    assert_eq!((found.rows, found.files, keys.distinct, keys.invalid), (3, 2, 2, 1));
    assert_eq!(
        (keys.faults[0].first, keys.faults[0].file.clone()),
        (Place::Line(4), Some(at(&inspected, "2.csv")))
    );
}

#[test]
fn what_rows_carry_is_taken_from_all_files() {
    let folder = folder([("1.csv", &b"k,v\na,1\nb,2\n"[..]), ("2.csv", b"k,v\nc,3\na,4\n")]);
    let [one, two] = ["1.csv", "2.csv"].map(|name| shown_path(&folder.path().join(name)));
    for threads in [1, 2] {
        let carrying = |attach| Request { attach, threads, ..request(&["k"]) };
        let (mut table, items) =
            load(folder.path(), &carrying(Attach::Values(vec!["v".to_owned()]))).unwrap();
        let Attached::Values(sums) = table.attached(&items, &mut go).unwrap() else { panic!("no sums") };
        let mut sums = sums[0].clone();
        sums.sort_unstable();
        assert_eq!(sums, [2, 3, 5]);
        let payload = Attach::Payload { columns: vec!["v".to_owned()], bytes: 8 };
        let (mut table, items) = load(folder.path(), &carrying(payload)).unwrap();
        let error = table.attached(&items, &mut go).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{one}, line 2, and {two}, line 3, have the same key and")),
            "{error}"
        );
        fs::write(folder.path().join("2.csv"), "k,v\nc,3\na,x\n").unwrap();
        let error =
            load(folder.path(), &carrying(Attach::Values(vec!["v".to_owned()]))).map(drop).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{two}, line 3, column `v`: ")), "{error}");
        fs::write(folder.path().join("2.csv"), "k,v\nc,3\na,4\n").unwrap();
    }
}

#[test]
fn files_that_change_between_the_passes_are_refused() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 7] = [
        ("nothing", |_| ()),
        ("added", |folder| fs::write(folder.join("c.csv"), "k\nc\n").unwrap()),
        ("removed", |folder| fs::remove_file(folder.join("b.csv")).unwrap()),
        ("replaced", |folder| {
            fs::write(folder.join("_new"), "k\nx\ny\n").unwrap();
            fs::rename(folder.join("_new"), folder.join("b.csv")).unwrap();
        }),
        ("changed", |folder| fs::write(folder.join("a.csv"), "k\nb\n").unwrap()),
        ("another format", |folder| fs::write(folder.join("a.csv"), "PAR1").unwrap()),
        ("renamed", |folder| fs::rename(folder.join("b.csv"), folder.join("0.csv")).unwrap()),
    ];
    for (what, change) in changes {
        for threads in [1, 2] {
            let folder = folder([("a.csv", &b"k\na\n"[..]), ("b.csv", b"k\nx\nz\n")]);
            let request = Request { threads, ..request(&["k"]) };
            let digest = Input::open(folder.path()).unwrap().digest(&mut go).unwrap().unwrap();
            assert_eq!((digest.bytes, digest.blake3), (10, blake3::hash(b"k\na\nk\nx\nz\n").into()));
            let (table, _) = load(folder.path(), &request).unwrap();
            assert!(table.is_of(&digest).is_ok());
            change(folder.path());
            let result = selected(&table, &[0, 2]);
            match what {
                "nothing" => assert_eq!(result.unwrap(), b"k\na\nz\n"),
                _ => assert!(matches!(result, Err(TableError::Changed { .. })), "{what}"),
            }
            assert_eq!(table.is_of(&digest).is_ok(), what == "nothing" || what == "added", "{what}");
        }
    }
    // A file that is gone, and one that is added, before the first pass comes to it.
    let folder = folder([("a.csv", &b"k\na\n"[..]), ("b.csv", b"k\nb\n")]);
    let input = Input::open(folder.path()).unwrap();
    fs::remove_file(folder.path().join("b.csv")).unwrap();
    assert!(matches!(input.load(&request(&["k"]), &mut go), Err(TableError::Open { .. })));
}

#[test]
fn progress_goes_over_all_files() {
    let folder = folder([("a.csv", &b"k\na\n"[..]), ("b.csv", b"k\nb\nc\n"), ("c.csv", b"k\n")]);
    let (mut last, mut seen) = (0, Vec::new());
    let input = Input::open(folder.path()).unwrap();
    assert_eq!(input.length(), 12);
    let mut told = |progress: Progress| {
        assert!(progress.total == 12 && progress.done >= last);
        last = progress.done;
        seen.push(last);
        ControlFlow::Continue(())
    };
    let (table, _) = input.load(&request(&["k"]), &mut told).unwrap();
    assert!([4, 10, 12].iter().all(|done| seen.contains(done)), "{seen:?}");
    let stopped = table.select(RowSet::List(&[0]), &mut Vec::new(), &mut |progress: Progress| {
        if progress.done > 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(TableError::Cancelled)));
}

#[test]
fn a_listing_knows_what_would_become_part_of_it() {
    let folder = folder([("in/part-1.csv", &b"k\na\n"[..]), ("out/x", b"")]);
    let at = |path: &str| folder.path().join(path);
    let whole = Listing::of(&at("in")).unwrap().unwrap();
    let some = Listing::of(&at("in/part-*.csv")).unwrap().unwrap();
    for (path, in_whole, in_some) in [
        ("in/part-2.csv", true, true),
        ("in/result.csv", true, false),
        ("in/../in/part-2.csv", true, true),
        ("in/_result.csv", false, false),
        ("in/.part-2.csv", false, false),
        ("out/part-2.csv", false, false),
        ("in2/part-2.csv", false, false),
    ] {
        assert_eq!((whole.would_have(&at(path)), some.would_have(&at(path))), (in_whole, in_some), "{path}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at("in"), at("link")).unwrap();
        assert!(whole.would_have(&at("link/part-2.csv")) && some.would_have(&at("link/part-2.csv")));
    }
}

#[test]
fn options_for_messy_text_and_several_keys_hold_for_every_file() {
    let files = [
        ("1.csv", &b"exported today\nmail;tel\na@x.org;1\nb@x.org;2;;\n# note\nc@x.org;3\n"[..]),
        ("2.csv", b"exported later\nmail;tel\r\n;4\r\nd@x.org\r\ne@x.org;NULL\r\n"),
    ];
    let folder = folder(files);
    let options = dialect("delimiter=auto skip-lines=1 comment=# ragged=skip null=NULL");
    for threads in [1, 3] {
        let input = Input::open(folder.path()).unwrap().with_dialect(options.clone()).unwrap();
        assert!(input.found().unwrap().shell().contains("';'"), "{}", input.found().unwrap().shell());
        let wanted = Request { threads, ..matching(&["mail:email", "tel:int"]) };
        let (table, items) = input.load(&wanted, &mut go).unwrap();
        // Rows: a, c, the one without an address, e without a number.
        assert_eq!((table.report().rows, items.len()), (4, 6));
        let told: Vec<String> = table.left_out().map(|told| told.shell()).collect();
        assert!(told.len() == 2 && told[0].contains("1.csv") && told[1].contains("2.csv"), "{told:?}");
        // Row 0 by its number, row 2 by its number, row 3 by its address.
        let out = String::from_utf8(selected(&table, &[1, 5, 6]).unwrap()).unwrap();
        assert_eq!(
            out,
            "exported today\nmail;tel;matched_by\na@x.org;1;tel:int\n;4;tel:int\r\ne@x.org;NULL;mail:email\r\n"
        );
    }
}

#[test]
fn flaw_an_escaped_line_end_at_the_end_of_a_file_does_not_join_records() {
    for end in ["\n", "\r\n"] {
        let text = |text: &str| text.replace('\n', end);
        let first = text("k,v\n1,a\n2,foo\\\n");
        let (names, next) = (text("k,v\\\n"), text("k,v\n3,bar\n"));
        let folder = folder([("1.csv", first.as_bytes()), ("2.csv", next.as_bytes())]);
        let read = || Input::open(folder.path()).unwrap().with_dialect(dialect("escape=\\")).unwrap();
        let table = read().load(&request(&["k"]), &mut go).unwrap().0;
        let out = String::from_utf8(selected(&table, &[1, 2]).unwrap()).unwrap();
        assert_eq!(out, text("k,v\n2,foo\\\n\n3,bar\n"));
        let table = table.with_numbers(Some(vec![7, 8]));
        let out = String::from_utf8(selected(&table, &[1, 2]).unwrap()).unwrap();
        assert_eq!(out, text("k,v,match_id\n2,foo\\\n,7\n3,bar,8\n"));
        // A file that is nothing but a header whose last line end is escaped.
        fs::write(folder.path().join("1.csv"), &names).unwrap();
        fs::write(folder.path().join("2.csv"), text("k,v\\\n\n3,bar\n")).unwrap();
        let table = read().load(&request(&["k"]), &mut go).unwrap().0;
        let out = String::from_utf8(selected(&table, &[0]).unwrap()).unwrap();
        assert_eq!(out, format!("{names}\n{}", text("3,bar\n")));
    }
}

#[test]
fn flaw_rows_left_out_are_told_of_ten_files() {
    let told = |files: usize| {
        let names: Vec<String> = (0..files).map(|file| format!("{file:02}.csv")).collect();
        let folder = folder(names.iter().map(|name| (name.as_str(), &b"k,v\na,1\nb\n"[..])));
        let input = Input::open(folder.path()).unwrap().with_dialect(dialect("ragged=skip")).unwrap();
        let table = input.load(&request(&["k"]), &mut go).unwrap().0;
        table.left_out().map(|told| told.shell()).collect::<Vec<_>>()
    };
    assert_eq!((told(1).len(), told(2).len(), told(10).len()), (1, 2, 10));
    let one_more = told(11);
    assert!(one_more.len() == 11 && one_more[9].contains("09.csv"), "{one_more:?}");
    assert_eq!(one_more[10], "1 more file has rows that were left out (`--ragged skip`)");
    assert_eq!(told(30)[10..], ["20 more files have rows that were left out (`--ragged skip`)"]);
}

#[cfg(unix)]
#[test]
fn flaw_a_file_that_a_listing_has_twice_is_refused() {
    use std::os::unix::fs::symlink;
    let csv = &b"k\na\n"[..];
    let in_loop = folder([("a/1.csv", csv), ("a/2.csv", csv)]);
    symlink(".", in_loop.path().join("a/loop")).unwrap();
    let linked = folder([("1.csv", csv)]);
    symlink("1.csv", linked.path().join("2.csv")).unwrap();
    let hard = folder([("1.csv", csv)]);
    fs::hard_link(hard.path().join("1.csv"), hard.path().join("2.csv")).unwrap();
    for (path, names) in [
        (
            in_loop.path().join("a/**/*.csv"),
            ["a/1.csv", "a/loop/1.csv"].map(|name| in_loop.path().join(name)),
        ),
        (linked.path().to_owned(), ["1.csv", "2.csv"].map(|name| linked.path().join(name))),
        (hard.path().to_owned(), ["1.csv", "2.csv"].map(|name| hard.path().join(name))),
    ] {
        let error = Listing::of(&path).map(drop).unwrap_err().to_string();
        assert!(names.iter().all(|name| error.contains(&format!("`{}`", shown_path(name)))), "{error}");
        assert!(error.contains("its rows would count twice; "), "{error}");
    }
    // A link to a file elsewhere is one file.
    let other = folder([("b.csv", csv)]);
    symlink(linked.path().join("1.csv"), other.path().join("a.csv")).unwrap();
    assert_eq!(Listing::of(other.path()).unwrap().unwrap().files().len(), 2);
}

#[test]
fn flaw_a_pattern_knows_a_new_file_by_any_spelling_of_its_path() {
    let csv = &b"k\na\n"[..];
    let folder = folder([("a/b/1.csv", csv), ("a/new/x.txt", b""), ("a/b/deep/y.txt", b""), ("a/_t/z", b"")]);
    let at = |path: &str| folder.path().join(path);
    for (pattern, path, would_have) in [
        ("a/**/*.csv", "a/new/out.csv", true),
        ("a/**/*.csv", "a/../a/new/out.csv", true),
        ("a/**/*.csv", "a/new/out.txt", false),
        ("a/**/*.csv", "a/_t/out.csv", false),
        ("a/**/*.csv", "a/../out.csv", false),
        ("a/../a/**/*.csv", "a/new/out.csv", true),
        ("a/*/*.csv", "a/../a/new/out.csv", true),
        // `*` stands for characters of one name.
        ("a/b/*.csv", "a/b/deep/out.csv", false),
        ("a/b/*.csv", "a/b/deep/../out.csv", true),
        ("a/*/*.csv", "a/b/deep/out.csv", false),
    ] {
        let listing = Listing::of(&at(pattern)).unwrap().unwrap();
        assert_eq!(listing.would_have(&at(path)), would_have, "{pattern} {path}");
    }
}

#[test]
fn flaw_a_table_with_a_log_is_refused_through_a_pattern() {
    let csv = &b"k\na\n"[..];
    for (log, told) in [("_delta_log", "is a Delta table"), (".hoodie", "is a Hudi table")] {
        let log = format!("dl/{log}/0.json");
        let folder =
            folder([(&*log, &b"{}"[..]), ("dl/1.csv", csv), ("dl/p=1/2.csv", csv), ("x/3.csv", csv)]);
        for pattern in ["dl/*.csv", "dl/p=*/*.csv", "*/*.csv", "**/*.csv"] {
            let error = refusal(&folder.path().join(pattern));
            assert!(
                error.starts_with(&shown_path(&folder.path().join("dl"))) && error.contains(told),
                "{error}"
            );
        }
        assert!(Listing::of(&folder.path().join("x/*.csv")).unwrap().is_some());
    }
}
