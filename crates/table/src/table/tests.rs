use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::ops::ControlFlow;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_encode::items::{Encoding, KeyEncoder, Matches, OnDuplicates, Width, digest};

use super::*;
use crate::attach::Attach;
use crate::error::{Fault, Invalid};
use crate::packing::{self, Packing};
use crate::request::OnFault;
use crate::rule::Rule;
use crate::testing::{NARROW, go, input, load, pipe, request};

fn all(table: &Table, items: &Items) -> Vec<u8> {
    selected(table, &items.matches(0..items.len())).unwrap()
}

fn selected(table: &Table, matches: &Matches) -> Result<Vec<u8>, TableError> {
    let mut out = Vec::new();
    table.select(matches, &mut out, &mut go).map(|()| out)
}

fn refused(bytes: &[u8], keys: &[&str]) -> TableError {
    load(bytes, &request(keys)).map(|_| ()).unwrap_err()
}

/// The rows of a key, found by its digest.
fn rows_of(items: &Items, parts: &[&[u8]]) -> Vec<u64> {
    let mut key = KeyEncoder::new(parts.len()).unwrap();
    parts.iter().for_each(|part| key.part(part).unwrap());
    let mut wanted = [0; 16];
    digest(Width::Digest128, key.canonical().unwrap(), &mut wanted);
    items.digests().position(|item| item == wanted).map_or(Vec::new(), |item| items.rows_of(item).collect())
}

const PEOPLE: &[u8] = b"id,mail,name\r\n\
    1,Ada@Example.com,\"Lovelace, Ada\"\r\n\
    2,,nobody\r\n\
    3,ada@example.com ,\"two\r\nlines\"\r\n\
    4,\"\",\"\"\"quoted\"\"\"\r\n\
    5,not an address,x\r\n\
    6,grace@example.com,y";

#[test]
fn keys_become_items_and_rows_come_back() {
    let mut wanted = request(&["mail:email"]);
    wanted.on_invalid = OnFault::Skip;
    let (table, items) = load(PEOPLE, &wanted).unwrap();
    assert_eq!(table.columns(), ["id", "mail", "name"]);
    assert_eq!(table.report(), TableReport { rows: 6, items: 2, nulls: 2, invalid: 1, duplicates: 1 });
    assert_eq!(rows_of(&items, &[b"ada@example.com"]), [0, 2]);
    assert_eq!(rows_of(&items, &[b"grace@example.com"]), [5]);
    let expected = "id,mail,name\r\n1,Ada@Example.com,\"Lovelace, Ada\"\r\n3,ada@example.com ,\"two\r\nlines\"\r\n\
        6,grace@example.com,y\r\n";
    assert_eq!(String::from_utf8(all(&table, &items)).unwrap(), expected);
    assert_eq!(selected(&table, &Matches::default()).unwrap(), b"id,mail,name\r\n");
}

#[test]
fn a_hashed_list_is_one_list_in_either_notation() {
    let file = b"hash\nB4C9A289323B21A01C3E940F150EB9B8C542587F1ABFD8F0E1CC1FFC5E475514\n\
        ku4mBX7Z3qJTXWyLFB1INzkyR2WZGW4ANSJUiW21iI8=\n\
        tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=\n\
        user@example.com\n";
    let mut wanted = request(&["hash:sha256"]);
    let error = load(file, &wanted).unwrap_err();
    assert!(
        matches!(error, TableError::Invalid { place: Place::Line(5), reason: Invalid::NotADigest, .. }),
        "{error}"
    );
    assert!(!error.to_string().contains("example.com"), "{error}");

    wanted.on_invalid = OnFault::Skip;
    let (table, items) = load(file, &wanted).unwrap();
    assert_eq!(table.report(), TableReport { rows: 4, items: 2, nulls: 0, invalid: 1, duplicates: 1 });
    let digest = hex::decode("b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514").unwrap();
    assert_eq!(rows_of(&items, &[&digest]), [0, 2]);
}

#[test]
fn all_rows_selected_are_the_file() {
    let mut rng = StdRng::seed_from_u64(1);
    for round in 0..500 {
        let end = if rng.random() { "\n" } else { "\r\n" };
        let mut file = if rng.random() { "\u{feff}" } else { "" }.to_owned() + "key,other" + end;
        for row in 0..rng.random_range(0..50) {
            let other = ["", "x", "\"a,\"\"b\"\"\"", "\"1\n2\r\n3\"", "ä", "\"\""][rng.random_range(0..6)];
            file += &format!("{row},{other}{}", if rng.random() { "\n" } else { "\r\n" });
        }
        let bytes = file.as_bytes();
        let cut = if round % 2 == 0 { bytes } else { bytes.trim_ascii_end() };
        let (table, items) = load(cut, &request(&["key"])).unwrap();
        let end = if cut.contains(&b'\n') { end } else { "\n" };
        let expected = if cut.ends_with(b"\n") { cut.to_vec() } else { [cut, end.as_bytes()].concat() };
        assert_eq!(String::from_utf8(all(&table, &items)), String::from_utf8(expected));
    }
}

#[test]
fn any_rows_selected_are_those_records() {
    let mut rng = StdRng::seed_from_u64(2);
    let rows: Vec<String> = (0..5000).map(|row| format!("{row},\"{}\"\n", "x\n".repeat(row % 300))).collect();
    let file = format!("key,pad\n\n{}\n\n", rows.join("\n"));
    let (table, items) = load(file.as_bytes(), &request(&["key"])).unwrap();
    assert_eq!(table.report().rows, 5000);
    for _ in 0..3 {
        let matches = items.matches((0..5000).filter(|_| rng.random_bool(0.3)));
        let expected: String = matches.rows().iter().map(|row| rows[*row as usize].as_str()).collect();
        assert!(selected(&table, &matches).unwrap() == format!("key,pad\n{expected}").into_bytes());
    }
}

#[test]
fn a_table_may_have_no_rows() {
    for file in ["id,mail\n", "id,mail", "\u{feff}\"id\",mail\r\n\r\n"] {
        let (table, items) = load(file.as_bytes(), &request(&["id"])).unwrap();
        assert_eq!((table.report(), items.len()), (TableReport::default(), 0));
        assert!(all(&table, &items).starts_with(file.trim_end().as_bytes()));
    }
}

#[test]
fn composite_keys_do_not_collide() {
    let file = b"a,b\n\"a,b\",c\na,\"b,c\"\nab,c\na,bc\n,abc\nabc,\n";
    let (table, items) = load(file, &request(&["a", "b:text"])).unwrap();
    assert_eq!(table.report(), TableReport { rows: 6, items: 4, nulls: 2, ..TableReport::default() });
    assert_eq!(rows_of(&items, &[b"a,b", b"c"]), [0]);
    assert_eq!(rows_of(&items, &[b"a", b"b,c"]), [1]);
    let (_, swapped) = load(file, &request(&["b", "a"])).unwrap();
    assert_eq!(rows_of(&swapped, &[b"c", b"a,b"]), [0]);
    assert!(rows_of(&swapped, &[b"a,b", b"c"]).is_empty());
}

#[test]
fn nulls_are_skipped_or_refused() {
    let file = b"a,b\n1,2\n \t,3\n4,\n";
    let mut wanted = request(&["a:text", "b"]);
    assert_eq!(load(file, &wanted).unwrap().0.report().nulls, 2);
    wanted.on_null = OnFault::Error;
    let error = load(file, &wanted).unwrap_err();
    let TableError::Null { place: Place::Line(3), column, .. } = &error else { panic!("{error}") };
    assert_eq!((column.as_str(), error.fault()), ("a", Fault::Input));
    assert_eq!(load(b"a,b\n1,2\n", &wanted).unwrap().0.report().nulls, 0);
}

#[test]
fn invalid_keys_are_skipped_or_refused_and_null_wins() {
    let file = b"a,b\n1,2\nx,\n\"3\n\",y\n";
    let mut wanted = request(&["a:int", "b:int"]);
    let error = load(file, &wanted).unwrap_err();
    let TableError::Invalid {
        place: Place::Line(4),
        column,
        rule: Rule::Int,
        reason: Invalid::NotAnInteger,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((column.as_str(), error.fault()), ("a", Fault::Input));
    wanted.on_invalid = OnFault::Skip;
    let report = load(file, &wanted).unwrap().0.report();
    assert_eq!(report, TableReport { rows: 3, items: 1, nulls: 1, invalid: 1, duplicates: 0 });
}

#[test]
fn duplicates_all_first_or_refused() {
    let file = b"k,v\na,\"1\n1\"\nb,2\nA,3\na,4\n";
    let mut wanted = request(&["k:text"]);
    let (table, items) = load(file, &wanted).unwrap();
    assert_eq!((table.report().items, table.report().duplicates), (2, 2));
    assert_eq!(all(&table, &items), file);
    wanted.on_duplicates = OnDuplicates::First;
    let (table, items) = load(file, &wanted).unwrap();
    assert_eq!((table.report().items, table.report().duplicates), (2, 2));
    assert_eq!(all(&table, &items), b"k,v\na,\"1\n1\"\nb,2\n");
    wanted.on_duplicates = OnDuplicates::Error;
    let error = load(file, &wanted).unwrap_err();
    assert!(
        matches!(error, TableError::Duplicate { first: Place::Line(2), second: Place::Line(5), .. }),
        "{error}"
    );
    assert!(load(b"k\na\nb\n", &wanted).is_ok());
}

#[test]
fn native_items_are_one_integer_key() {
    let native = |sigma, keys: &[&str]| Request { encoding: Encoding::Native { sigma }, ..request(keys) };
    let file = b"n,m\n7,1\n+007,1\n,1\n255,1\n";
    let (table, items) = load(file, &native(8, &["n:int"])).unwrap();
    assert_eq!(table.report(), TableReport { rows: 4, items: 2, nulls: 1, invalid: 0, duplicates: 1 });
    assert_eq!((items.native(0), items.native(1)), (Some(7), Some(255)));
    for bad in ["256", "-1", "99999999999999999999999999"] {
        // A value outside is an error even where invalid ones are skipped: the peer agreed to the width.
        let wanted = Request { on_invalid: OnFault::Skip, ..native(8, &["n:int"]) };
        let error = load(format!("n\n1\n{bad}\n").as_bytes(), &wanted).unwrap_err();
        assert!(
            matches!(
                error,
                TableError::Invalid { place: Place::Line(3), reason: Invalid::OutOfRange { sigma: 8 }, .. }
            ),
            "{error}"
        );
    }
    let addresses = b"a\n192.0.2.1\n::ffff:192.0.2.1\n\"\"\n";
    let (table, items) = load(addresses, &native(32, &["a:ip"])).unwrap();
    assert_eq!((table.report().items, table.report().duplicates, items.native(0)), (1, 1, Some(0xc000_0201)));
    for (file, sigma) in [(&b"a\n0.0.0.1\n2001:db8::1\n"[..], 64), (b"a\n0.0.0.255\n0.0.1.0\n", 8)] {
        let error = load(file, &native(sigma, &["a:ip"])).unwrap_err();
        let at = matches!(
            error,
            TableError::Invalid { place: Place::Line(3), reason: Invalid::OutOfRange { .. }, .. }
        );
        assert!(at, "{error}");
    }
    for wanted in
        [native(8, &["n"]), native(8, &["n:int", "m:int"]), native(0, &["n:int"]), native(65, &["n:int"])]
    {
        assert_eq!(load(file, &wanted).unwrap_err().fault(), Fault::Usage);
    }
}

#[test]
fn columns_must_be_there_once() {
    let missing = "test.csv: no column `mail`; the header has 2 columns";
    let look =
        format!("{missing}; `vesica inspect` lists them; if the first line is no header, give `--no-header`");
    let message = |file: &[u8]| refused(file, &["mail"]).text().shell();
    assert_eq!(message(b"post,x\n"), look);
    for (header, meant) in
        [("Mail,x", "Mail"), ("x, mail", " mail"), ("MA IL,x", "MA IL"), ("x,m-a.il", "m-a.il")]
    {
        assert_eq!(message(format!("{header}\n").as_bytes()), format!("{missing}; did you mean `{meant}`?"));
    }
    assert_eq!(message(b"\"mail\n\",x\n"), format!("{missing}; did you mean `mail\\n`?"));
    for (header, told) in [
        ("id;mail", "the header has 1 column; it looks separated by semicolons: give `--delimiter ';'`"),
        ("id\tmail", "it looks separated by tabs: give `--delimiter tab`"),
        ("id|mail", "it looks separated by vertical bars: give `--delimiter '|'`"),
        // The whole line resembles the name, too.
        ("mail;x", "it looks separated by semicolons: give `--delimiter ';'`"),
    ] {
        assert!(message(format!("{header}\n").as_bytes()).ends_with(told), "{header}");
    }
    // A slip, and several columns in one name.
    for (asked, told) in [
        ("wrod", "; did you mean `word`?"),
        ("lengt", "; did you mean `length`?"),
        ("id,word", "; for a key of several columns repeat `--key`, once for each of `id`, `word`"),
        ("di", "; `vesica inspect` lists them; if the first line is no header, give `--no-header`"),
    ] {
        let error = refused(b"id,word,length\n1,a,1\n", &[&format!("\"{asked}\"")]).text().shell();
        assert!(error.ends_with(told), "{error}");
    }

    // Without a header, the first row's identifiers stand where names should be.
    for header in ["Ada,Lovelace", "Mailer,Person", "1,ada@example.com", "mail1,", "--,\u{1f600}"] {
        assert_eq!(message(format!("{header}\n1,2\n").as_bytes()), look, "{header}");
        assert!(
            !refused(format!("{header}\n").as_bytes(), &["#"]).to_string().contains("did you mean"),
            "{header}"
        );
    }
    let many: Vec<String> = (0..100).map(|n| format!("c{n}")).collect();
    let error = refused(many.join(",").as_bytes(), &["mail"]);
    assert!(error.to_string().contains("the header has 100 columns"), "{error}");

    let error = refused(b"mail,x,mail\n", &["mail"]);
    assert!(matches!(&error, TableError::RepeatedColumn { column, .. } if column == "mail"), "{error}");
    assert!(load(b"mail,x,x\n", &request(&["mail"])).is_ok());
    assert!(load(b"mail,x,x\n", &request(&["mail", "mail"])).is_ok());
    assert_eq!(refused(b"mail\n", &[]).fault(), Fault::Usage);
    assert!(matches!(refused(b"mail\n", &["mail"; 256]), TableError::KeyCount { found: 256 }));
}

#[test]
fn malformed_files_are_refused_by_line() {
    for (file, line, message) in [
        ("a,b\n1\n", 2, "the row has 1 field, but the header has 2"),
        ("a,b\n\"x\ny\",2\n1,2,3\n", 4, "the row has 3 fields, but the header has 2"),
        ("a,b\n1,2\n3,\"4\n5,6\n", 3, "is not closed by the end of the file"),
        ("a,b\n1,5\" pipe\n", 2, "a quote in field 2 (`b`)"),
        ("a,b\n1,\"x\ny\"z\n", 3, "a quote in field 2 (`b`)"),
        ("a,\"b\"c\n", 1, "a quote in field 2 that"),
        ("a,b\r1,2\r", 1, "a carriage return without a line feed"),
        ("a,b\n1,2\n\0,3\n", 3, "a zero byte"),
        ("a\0,\0b\0\n\0", 1, "a zero byte"),
    ] {
        let error = refused(file.as_bytes(), &["a"]);
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("test.csv, line {line}: ")) && text.contains(message),
            "{file:?}: {text}"
        );
        assert_eq!(error.fault(), Fault::Input);
    }
}

#[test]
fn what_is_no_csv_is_refused_by_name() {
    for file in ["", "\n", "\r\n\n", "\u{feff}", "\u{feff}\n"] {
        assert!(matches!(refused(file.as_bytes(), &["a"]), TableError::Empty { .. }), "{file:?}");
    }
    let heads: [(&[u8], &str); 14] = [
        (b"PARE", "encrypted Parquet"),
        (b"FEA1", "Feather version 1"),
        (b"PK\x03\x04", "spreadsheet (xlsx)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "spreadsheet (xls)"),
        (b"BZh11AY&SY", "bzip2"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"SQLite format 3\0", "a SQLite database"),
        (b"\x01\x02\x03\x04\x05\x06\x07\x08DUCK", "a DuckDB database"),
        (b"{\"a\": 1}", "JSON"),
        (b"[\n  {\"a\": 1}]", "JSON"),
        (b"[[1, 2]]", "JSON"),
        (b"Obj\x01", "Avro"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
    ];
    for (head, name) in heads {
        let error = input(&[head, b"rest"].concat()).unwrap_err().to_string();
        assert!(error.contains("which cannot be read") && error.contains(name), "{error}");
    }
    for header in ["[id],[name]\n1,2\n", "{id},x\n1,2\n", "BZh,x\n1,2\n"] {
        assert!(input(header.as_bytes()).is_ok());
    }
    for head in [b"\xff\xfe\0\0a\0\0\0", b"\0\0\xfe\xff\0\0\0a"] {
        assert!(input(head).unwrap_err().to_string().contains("is in UTF-32"));
    }
    for (path, told) in [
        ("ftp://e.org/a.csv", "give one that begins with s3://"),
        ("s3:///a.csv", "names no bucket"),
        ("absent*.csv", "no file has such a name"),
    ] {
        let error = Input::open(std::path::Path::new(path)).unwrap_err().to_string();
        assert!(error.starts_with(path) && error.contains(told), "{error}");
    }
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(Input::open(directory.path()), Err(TableError::NotOneTable { .. })));
    assert!(matches!(Input::open(&directory.path().join("absent")), Err(TableError::Open { .. })));
}

#[test]
fn an_input_that_changed_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in.csv");
    let original = b"k,v\na,1\nb,2\n";
    let changes: [&[u8]; 7] = [
        b"k,v\na,1\nb,3\n",
        b"k,v\na,1\n",
        b"k,v\na,1\nb,2\nc,3\n",
        b"",
        b"k\na\nb\n",
        b"k,v\na,1\n\"b,2\n",
        b"k,v\r\na,1\nb,2",
    ];
    for change in changes {
        fs::write(&path, original).unwrap();
        let (table, items) = Input::open(&path).unwrap().load(&request(&["k"]), &mut go).unwrap();
        assert_eq!(all(&table, &items), original);
        fs::write(&path, change).unwrap();
        for matches in [items.matches(0..2), Matches::default()] {
            let error = selected(&table, &matches).unwrap_err();
            assert!(matches!(error, TableError::Changed { .. }), "{error}");
        }
        fs::write(&path, original).unwrap();
        assert_eq!(all(&table, &items), original);
    }
}

#[test]
fn a_replaced_input_is_still_the_one_that_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("in.csv"), directory.path().join("new.csv"));
    fs::write(&path, b"k\na\n").unwrap();
    let (table, items) = Input::open(&path).unwrap().load(&request(&["k"]), &mut go).unwrap();
    fs::write(&other, b"k\nb\n").unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(all(&table, &items), b"k\na\n");
}

#[test]
fn rows_beyond_the_table_are_our_fault() {
    let (small, _) = load(b"k\na\n", &request(&["k"])).unwrap();
    let (_, items) = load(b"k\na\nb\n", &request(&["k"])).unwrap();
    let error = selected(&small, &items.matches(0..2)).unwrap_err();
    assert!(matches!(error, TableError::NoSuchRow { row: 1, rows: 1 }));
    assert_eq!(error.fault(), Fault::Ours);
}

#[test]
fn progress_is_told_and_cancels() {
    let file = [b"k,v\n".to_vec(), b"key,some value of a length\n".repeat(200_000)].concat();
    let wanted = request(&["k"]);
    let mut told = Vec::new();
    let mut note = |progress: Progress| {
        told.push(progress);
        ControlFlow::Continue(())
    };
    let (table, items) = input(&file).unwrap().load(&wanted, &mut note).unwrap();
    assert!(told.len() > 5 && told.is_sorted_by_key(|progress| progress.done));
    assert_eq!(told.last().unwrap().done, file.len() as u64);
    assert!(told.iter().all(|progress| progress.total == file.len() as u64));

    let stop_at = |limit: u64| {
        move |progress: Progress| if progress.done > limit { ControlFlow::Break(()) } else { go(progress) }
    };
    for limit in [0, 3 << 20] {
        let error = input(&file).unwrap().load(&wanted, &mut stop_at(limit)).unwrap_err();
        assert!(matches!(error, TableError::Cancelled) && error.fault() == Fault::Cancelled);
        let error = table.select(&items.matches(0..1), &mut Vec::new(), &mut stop_at(limit)).unwrap_err();
        assert!(matches!(error, TableError::Cancelled));
    }
}

#[test]
fn a_failed_write_is_the_outputs_fault() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (table, items) = load(b"k\na\n", &request(&["k"])).unwrap();
    let error = table.select(&items.matches(0..1), &mut Full, &mut go).unwrap_err();
    assert_eq!(error.fault(), Fault::Output);
}

#[test]
fn reading_errors_are_the_inputs_fault() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let error = Input::spool("pipe", &mut Broken).unwrap_err();
    assert!(matches!(error, TableError::Read { .. }) && error.fault() == Fault::Input);
}

/// Every kind of failure over files full of one planted word, none of which may show it.
#[test]
fn errors_and_debug_output_hold_no_values() {
    let files = [
        "k,v\nPLANTED,\"PLANTED\nPLANTED\"PLANTED\n",
        "k,v\nPLANTED PLANTED\n",
        "k,v\nPLANTED,\"PLANTED\n",
        "k,v\nPLANTED,PLAN\"TED\n",
        "k,v\nPLANTED,PLANTED\rPLANTED\n",
        "k,v\nPLANTED,PLANTED\0\n",
        "k,v\nPLANTED,PLANTED\nPLANTED,PLANTED\n",
        "k,v\n,PLANTED\n",
        "PLANTED@x,PLANTED\nPLANTED@x,PLANTED\n",
        "PLANTED,123456\n",
        "PLANTED\0",
    ];
    let mut failures = 0;
    for file in files {
        for key in ["k", "v", "k:int", "v:email", "absent"] {
            for encoding in [NARROW, Encoding::Native { sigma: 8 }] {
                let mut wanted = Request { encoding, ..request(&[key]) };
                wanted.on_null = OnFault::Error;
                wanted.on_duplicates = OnDuplicates::Error;
                let shown = match load(file.as_bytes(), &wanted) {
                    Ok((table, items)) => format!("{table:?} {items:?} {:?}", items.matches(0..items.len())),
                    Err(error) => {
                        failures += 1;
                        format!("{error} {error:?}")
                    }
                };
                assert!(!shown.contains("PLAN"), "{file:?} {key}: {shown}");
            }
        }
    }
    assert!(failures > 60);
}

#[test]
fn many_rows_against_a_map() {
    let mut rng = StdRng::seed_from_u64(3);
    let mut expected = BTreeMap::<u32, Vec<u64>>::new();
    let mut file = b"x,key,y\n".to_vec();
    for row in 0..1 << 16 {
        let key = rng.random_range(0..50_000);
        expected.entry(key).or_default().push(row);
        let written = if rng.random() { format!("\"{key}\"") } else { format!(" 00{key}") };
        writeln!(file, "{row},{written},\"\"").unwrap();
    }
    let (table, items) = load(&file, &request(&["key:int"])).unwrap();
    assert_eq!(table.report().items, expected.len() as u64);
    let by_first_row: BTreeMap<u64, usize> =
        (0..items.len()).map(|item| (items.rows_of(item).next().unwrap(), item)).collect();
    for rows in expected.values() {
        assert_eq!(items.rows_of(by_first_row[&rows[0]]).collect::<Vec<_>>(), *rows);
    }
    assert!(all(&table, &items) == file);
}

/// A table of some MiB, with quotes, line ends within them, and keys that are null or invalid.
fn large(rng: &mut StdRng, line_end: &str, faulty: bool) -> String {
    let mut file = format!("id,mail,note{line_end}");
    for row in 0..60_000 {
        let mail = match rng.random_range(0..20) {
            0 => String::new(),
            1 if faulty => "no address".to_owned(),
            2 => format!("\" Ünser{}@Example.org\"", rng.random_range(0..50_000)),
            _ => format!("user{}@example.org", rng.random_range(0..50_000)),
        };
        let note = ["", "x", "\"a\"\"b\"", "\"1\n2,\r\n\"", "\"\n\""][rng.random_range(0..5)];
        file += &format!("{row},{mail},{note}{line_end}");
        if rng.random_bool(0.001) {
            file += line_end;
        }
    }
    file
}

#[test]
fn many_threads_read_and_write_what_one_does() {
    let mut rng = StdRng::seed_from_u64(7);
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let zstd = |text: &str| {
        let mut packed = Vec::new();
        packing::encode(Packing::Zstd, &mut packed, |out| out.write_all(text.as_bytes())).unwrap();
        packed
    };
    let text = large(&mut rng, "\n", true);
    let files = [
        text.clone().into_bytes(),
        large(&mut rng, "\r\n", true).into_bytes(),
        text.trim_end().as_bytes().to_vec(),
        utf16(&format!("\u{feff}{text}")),
        zstd(&text),
        b"id,mail,note\n1,a@b.ch,\"x\"".to_vec(),
    ];
    for (number, file) in files.iter().enumerate() {
        for attach in [
            Attach::Nothing,
            Attach::Values(vec!["id".into()]),
            Attach::Payload { columns: vec!["id".into(), "note".into()], bytes: 40 },
        ] {
            let all = |threads| {
                let on_duplicates =
                    if attach == Attach::Nothing { OnDuplicates::All } else { OnDuplicates::First };
                let (on_invalid, attach) = (OnFault::Skip, attach.clone());
                let wanted =
                    Request { on_invalid, on_duplicates, attach, threads, ..request(&["mail:email"]) };
                let (mut table, items) = load(file, &wanted).unwrap();
                let attached = table.attached(&items, &mut go).unwrap();
                let rows: Vec<Vec<u64>> =
                    (0..items.len()).map(|item| items.rows_of(item).collect()).collect();
                let some = items.matches((0..items.len()).filter(|item| item % 7 == 0));
                let few = items.matches(0..items.len().min(2));
                let mut outputs = Vec::new();
                for matches in [&items.matches(0..items.len()), &some, &few, &Matches::default()] {
                    let numbers = Some((0..matches.rows().len() as u64).map(|row| row * row).collect());
                    table = table.with_numbers(numbers);
                    outputs.push(selected(&table, matches).unwrap());
                }
                let digests: Vec<Vec<u8>> = items.digests().map(<[u8]>::to_vec).collect();
                (table.report(), digests, rows, attached, outputs)
            };
            let expected = all(1);
            assert!(number == 5 || expected.0.invalid > 1000 && expected.0.nulls > 1000);
            for threads in [2, 3, 7] {
                assert!(all(threads) == expected, "file {number}, {threads} threads");
            }
        }
    }
}

#[test]
fn many_threads_find_the_first_fault() {
    let mut rng = StdRng::seed_from_u64(8);
    let good = large(&mut rng, "\n", false);
    let line_ends: Vec<usize> = good.match_indices('\n').map(|(at, _)| at + 1).collect();
    let faults: [&[u8]; 7] = [
        b"7,a@b.ch,a\"b\n",
        b"7,a@b.ch,\"a\"b\n",
        b"7,a@b.ch\n",
        b"7,none,x\n",
        b"7,a@b.ch,\r \n",
        b"\0,a@b.ch,x\n",
        b"x,a@b.ch,x\n",
    ];
    for round in 0..14 {
        // A fault that follows, perhaps in the next piece, is not the first one.
        let mut file = good.clone().into_bytes();
        for fault in [faults[(round + 3) % 7], faults[round % 7]] {
            let at = line_ends[rng.random_range(0..line_ends.len() / 2)];
            // Within quotes it would be text, which is another table and also one to agree on.
            file.splice(at..at, fault.iter().copied());
        }
        if round == 13 {
            let at = line_ends[line_ends.len() / 2];
            file.splice(at..at, *b"7,a@b.ch,\"open\n");
        }
        let found = |threads| {
            let attach = Attach::Values(vec!["id".into()]);
            let wanted = Request { attach, threads, ..request(&["mail:email"]) };
            load(&file, &wanted).map(|_| ()).unwrap_err().to_string()
        };
        let expected = found(1);
        assert!(expected.contains("line"), "{expected}");
        for threads in [2, 3, 7] {
            assert_eq!(found(threads), expected);
        }
    }
    // Neither is one that makes a record too long.
    for stray in ["a\"b,\"c\n", "a,\"b\"c\"\n"] {
        let file = format!("k,v\n{}{stray}{}", "a,b\n".repeat(1 << 17), "x,y\n".repeat(5 << 20));
        let found =
            |threads| load(file.as_bytes(), &Request { threads, ..request(&["k"]) }).unwrap_err().to_string();
        assert_eq!(found(3), found(1));
        assert!(found(1).contains("a quote in field"), "{}", found(1));
    }
    let tall = format!("k\n{}\"{}", "a\n".repeat(1 << 18), "b\n".repeat(9 << 20));
    let found =
        |threads| load(tall.as_bytes(), &Request { threads, ..request(&["k"]) }).unwrap_err().to_string();
    assert_eq!((found(3), found(1).contains("line 262146")), (found(1), true));
}

#[test]
fn many_threads_read_what_comes_before_a_failure() {
    let mut rng = StdRng::seed_from_u64(10);
    let text = large(&mut rng, "\n", false);
    let found = |file: &[u8], threads| {
        let wanted = Request { threads, ..request(&["mail:email"]) };
        load(file, &wanted).map(|(table, items)| all(&table, &items)).map_err(|error| error.to_string())
    };
    for packing in [Packing::Gzip, Packing::Zstd] {
        let mut packed = Vec::new();
        packing::encode(packing, &mut packed, |out| out.write_all(text.as_bytes())).unwrap();
        for part in 1..8 {
            let cut = &packed[..packed.len() * part / 8];
            let expected = found(cut, 1).unwrap_err();
            assert!(expected.contains("before line"), "{expected}");
            assert_eq!(found(cut, 3).unwrap_err(), expected);
        }
    }
    // Records longer than a piece, one of them with more lines than the rest of the table.
    let long = format!("7,a@b.ch,\"{}\"\n", "x\n,".repeat(300_000));
    let start = text.find("\n100,").unwrap() + 1;
    let file = [&text[..start], &long, &text[start..], &long].concat();
    let expected = found(file.as_bytes(), 1).unwrap();
    assert!(expected.len() > file.len() / 2);
    assert!([2, 7].into_iter().all(|threads| found(file.as_bytes(), threads).unwrap() == expected));
}

#[test]
fn many_threads_notice_that_an_input_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in.csv");
    let file = large(&mut StdRng::seed_from_u64(9), "\n", false);
    let changes: [fn(&mut Vec<u8>); 3] =
        [|file| file[1_000_000] ^= 1, |file| file.truncate(900_000), |file| file.push(b'\n')];
    for change in changes {
        fs::write(&path, &file).unwrap();
        let wanted = Request { threads: 3, ..request(&["mail"]) };
        let (table, items) = Input::open(&path).unwrap().load(&wanted, &mut go).unwrap();
        let mut other = file.clone().into_bytes();
        change(&mut other);
        fs::write(&path, other).unwrap();
        for count in [0, 1, items.len()] {
            let error = selected(&table, &items.matches(0..count)).unwrap_err();
            assert!(matches!(error, TableError::Changed { .. }), "{error}");
        }
    }
    // A pass that is broken off is.
    let wanted = Request { threads: 3, ..request(&["mail"]) };
    let mut left = 5;
    let stop = &mut |_| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(matches!(input(file.as_bytes()).unwrap().load(&wanted, stop), Err(TableError::Cancelled)));
}

#[test]
fn a_growing_input_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in.csv");
    fs::write(&path, b"k\na\n").unwrap();
    let (table, items) = Input::open(&path).unwrap().load(&request(&["k"]), &mut go).unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\n").unwrap();
    // Not even a row more, and still not the same bytes.
    assert!(matches!(selected(&table, &items.matches(0..1)), Err(TableError::Changed { .. })));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once_and_given_twice() {
    let Some((directory, path)) = pipe() else { return };
    let file = [b"k,v\n".to_vec(), b"key,\"1\n2\"\n".repeat(200_000)].concat();
    let (table, items) = std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&path, &file).unwrap());
        Input::open(&path).unwrap().load(&request(&["k"]), &mut go).unwrap()
    });
    assert_eq!(
        table.report(),
        TableReport { rows: 200_000, items: 1, duplicates: 199_999, ..TableReport::default() }
    );
    assert!(all(&table, &items) == file);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn packed_files_are_as_plain_ones() {
    let mut rng = StdRng::seed_from_u64(4);
    let rows: String = (0..20_000).map(|row| format!("{row},\"x{}\"\n", rng.random::<u32>())).collect();
    let plain = format!("k,v\n{rows}");
    let expected = load(plain.as_bytes(), &request(&["v"])).unwrap().1;
    for packing in [Packing::Gzip, Packing::Zstd] {
        let mut packed = Vec::new();
        packing::encode(packing, &mut packed, |out| out.write_all(plain.as_bytes())).unwrap();
        let (table, items) = load(&packed, &request(&["v"])).unwrap();
        assert_eq!(table.format(), Format::Csv(packing));
        assert!(items.digests().eq(expected.digests()));
        assert!(all(&table, &items) == plain.as_bytes());

        let cut = load(&packed[..packed.len() / 2], &request(&["v"])).unwrap_err();
        let text = cut.to_string();
        assert!(text.starts_with("test.csv, before line ") && text.contains("ends early"), "{text}");
        for _ in 0..200 {
            let mut bytes = packed.clone();
            let at = rng.random_range(0..bytes.len());
            bytes[at] ^= 1 << rng.random_range(0..8);
            // Bits of a gzip header say nothing about what is inside; all others are told of.
            match load(&bytes, &request(&["v"])) {
                Ok((_, items)) => {
                    assert!(at < 10 && items.digests().eq(expected.digests()), "{packing:?} {at}")
                }
                Err(error) => assert_eq!(error.fault(), Fault::Input, "{error}"),
            }
        }
        let inside = [b"PAR1".as_slice(), &[0; 100]].concat();
        let mut packed = Vec::new();
        packing::encode(packing, &mut packed, |out| out.write_all(&inside)).unwrap();
        assert!(matches!(input(&packed), Err(TableError::Format { found: "compressed as a whole", .. })));
    }
    let directory = tempfile::tempdir().unwrap();
    for (name, format) in [("a.parquet", "Parquet"), ("a.feather", "Arrow IPC"), ("a.arrow", "Arrow IPC")] {
        fs::write(directory.path().join(name), b"k\na\n").unwrap();
        let error = Input::open(&directory.path().join(name)).unwrap_err();
        assert!(matches!(error, TableError::Misnamed { format: found, .. } if found == format), "{error}");
    }
}
