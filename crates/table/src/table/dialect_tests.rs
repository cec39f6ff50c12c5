//! Text that is not comma-separated UTF-8 with a header, and match numbers.

use encoding_rs::{Encoding, SHIFT_JIS, UTF_16BE, UTF_16LE, WINDOWS_1252};
use vesica_encode::items::{Items, Matches};

use crate::dialect::Dialect;
use crate::error::{Fault, Invalid, Place, TableError};
use crate::request::{OnFault, Request};
use crate::table::Table;
use crate::testing::{go, input, request};

fn dialect(delimiter: &str, encoding: &str, header: bool) -> Dialect {
    Dialect {
        delimiter: delimiter.parse().ok(),
        encoding: encoding.parse().ok(),
        header,
        ..Dialect::default()
    }
}

fn load(bytes: &[u8], dialect: &Dialect, request: &Request) -> Result<(Table, Items), TableError> {
    input(bytes)?.with_dialect(dialect.clone())?.load(request, &mut go)
}

fn refused(bytes: &[u8], dialect: &Dialect, keys: &[&str]) -> TableError {
    load(bytes, dialect, &request(keys)).map(|_| ()).unwrap_err()
}

fn selected(table: &Table, matches: &Matches) -> Vec<u8> {
    let mut out = Vec::new();
    table.select(matches, &mut out, &mut go).unwrap();
    out
}

/// The rows with these keys of the second column, as they leave.
fn rows(table: &Table, items: &Items, wanted: impl Fn(u64) -> bool) -> Vec<u8> {
    let matching = (0..items.len()).filter(|item| items.rows_of(*item).any(&wanted));
    selected(table, &items.matches(matching))
}

/// Text in that encoding, all of which it has.
fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        let mut bytes = Vec::new();
        crate::unicode::encode(text.as_bytes(), encoding, &mut bytes);
        return bytes;
    }
    let (bytes, _, lossy) = encoding.encode(text);
    assert!(!lossy);
    bytes.into_owned()
}

#[test]
fn fields_are_separated_as_asked_and_rows_are_copied() {
    for (name, byte) in [(";", ';'), ("tab", '\t'), ("|", '|')] {
        let file = |rows: &[&str]| {
            let lines: Vec<_> = rows.iter().map(|row| row.replace(';', &byte.to_string())).collect();
            lines.join("\r\n") + "\r\n"
        };
        let all = ["id;mail;sum", "1;Ada@example.com;\"1,50\"", "2;;\"a;b\"", "3;bob@example.com;2,00"];
        let read = dialect(name, "", true);
        let (table, items) = load(file(&all).as_bytes(), &read, &request(&["mail:email"])).unwrap();
        assert_eq!((table.columns(), items.len()), (&["id", "mail", "sum"].map(String::from)[..], 2));
        assert_eq!(rows(&table, &items, |row| row == 0), file(&all[..2]).as_bytes(), "{name}");
        // An error knows its column.
        let error = refused(file(&["id;mail;sum", "1;ada@b.c;", "2;x;"]).as_bytes(), &read, &["mail:email"]);
        assert!(error.to_string().starts_with("test.csv, line 3, column `mail`: "), "{error}");
    }
    let error = refused(b"id;mail\n1;a@b.c\n", &Dialect::default(), &["mail:email"]).text().shell();
    assert!(error.ends_with("it looks separated by semicolons: give `--delimiter ';'`"), "{error}");
}

#[test]
fn a_line_that_names_the_delimiter_is_followed_and_kept() {
    let file = b"\xef\xbb\xbfsep=;\r\nid;mail\r\n1;a@b.c\r\n2;d@e.f";
    for read in [Dialect::default(), dialect(";", "", true)] {
        let (table, items) = load(file, &read, &request(&["mail:email"])).unwrap();
        assert_eq!((table.report().rows, items.len()), (2, 2));
        assert_eq!(rows(&table, &items, |row| row == 1), b"\xef\xbb\xbfsep=;\r\nid;mail\r\n2;d@e.f\r\n");
    }
    let error = refused(file, &dialect(",", "", true), &["mail"]);
    let told = "test.csv, line 1: this line names ';' as the delimiter, but `--delimiter` names another one";
    assert!(error.text().shell().starts_with(told) && error.fault() == Fault::Input, "{error}");
    assert!(matches!(refused(b"sep=;\n", &Dialect::default(), &["k"]), TableError::Empty { .. }));
}

#[test]
fn columns_without_a_header_have_numbers() {
    let read = dialect("", "", false);
    let (table, items) = load(b"1,Ada@b.c\n2,ada@b.c\n3,d@e.f", &read, &request(&["2:email"])).unwrap();
    assert_eq!(
        (table.columns(), table.report().rows, items.len()),
        (&["1", "2"].map(String::from)[..], 3, 2)
    );
    assert_eq!(rows(&table, &items, |row| row < 3), b"1,Ada@b.c\n2,ada@b.c\n3,d@e.f\n");
    let error = refused(b"1,Ada@b.c\n", &read, &["mail"]).to_string();
    assert_eq!(
        error,
        "test.csv: no column `mail`; without a header the 2 columns are named by number, from `1`"
    );
    let error = refused(b"1,Ada@b.c\n2,x\n", &read, &["2:email"]);
    assert!(matches!(error, TableError::Invalid { place: Place::Line(2), .. }), "{error}");
    assert!(matches!(refused(b"", &read, &["1"]), TableError::Empty { .. }));
}

#[test]
fn keys_are_decoded_and_rows_are_copied_byte_for_byte() {
    let header = "Nr,Straße";
    let lines = ["1,Zürich", "2,\"Genève, Ville\"", "3,Łódź", "4,Zu\u{308}rich"];
    for (name, encoding, text) in [
        ("windows-1252", WINDOWS_1252, &lines[..2]),
        ("utf-16le", UTF_16LE, &lines[..]),
        ("utf-16be", UTF_16BE, &lines),
    ] {
        // Enough rows for the quick way, which takes many at once.
        let whole =
            |lines: &[&str], times: usize| format!("{header}\n{}", (lines.join("\n") + "\n").repeat(times));
        let (file, plain) = (encoded(&whole(text, 5000), encoding), whole(text, 5000));
        let wanted = request(&["Straße:text"]);
        let (table, items) = load(&file, &dialect("", name, true), &wanted).unwrap();
        let (_, expected) = load(plain.as_bytes(), &Dialect::default(), &wanted).unwrap();
        assert!(items.digests().eq(expected.digests()), "{name}");
        let first = encoded(&whole(&lines[1..2], 5000), encoding);
        assert!(rows(&table, &items, |row| row == 1) == first, "{name}");
        assert_eq!(table.columns(), ["Nr", "Straße"]);
    }
    // By its mark alone.
    for encoding in [UTF_16LE, UTF_16BE] {
        let file = encoded("\u{feff}sep=;\r\nk;v\r\nä;1\r\nö;2\r\n", encoding);
        let (table, items) = load(&file, &Dialect::default(), &request(&["k:text"])).unwrap();
        let expected = encoded("\u{feff}sep=;\r\nk;v\r\nö;2\r\n", encoding);
        assert_eq!(rows(&table, &items, |row| row == 1), expected);
    }
    // The second byte of a character may be a letter or a backslash.
    let file = encoded("k,v\n表,1\nソ,2\n", SHIFT_JIS);
    let (table, items) = load(&file, &dialect("", "shift_jis", true), &request(&["k:text"])).unwrap();
    let (_, expected) =
        load("k,v\n表,1\nソ,2\n".as_bytes(), &Dialect::default(), &request(&["k:text"])).unwrap();
    assert!(items.digests().eq(expected.digests()));
    assert_eq!(rows(&table, &items, |row| row == 1), encoded("k,v\nソ,2\n", SHIFT_JIS));
}

#[test]
fn damaged_text_is_an_error_with_its_line_and_never_a_key() {
    let japanese = dialect("", "shift_jis", true);
    let file = b"k,v\n\x95\x5c,1\n\xff\xff,2\n";
    for rule in ["k", "k:text", "k:email"] {
        let mut wanted = request(&[rule]);
        let rest = if rule == "k:email" { &b"k,v\na@b.c,1\n\xff\xff,2\n"[..] } else { file };
        let error = load(rest, &japanese, &wanted).map(|_| ()).unwrap_err();
        let at = matches!(
            error,
            TableError::Invalid { place: Place::Line(3), reason: Invalid::NotInEncoding, .. }
        );
        assert!(at && error.text().shell().contains("`--encoding`"), "{error}");
        wanted.on_invalid = OnFault::Skip;
        let (table, items) = load(rest, &japanese, &wanted).unwrap();
        assert_eq!((table.report().invalid, items.len()), (1, 1), "{rule}");
    }
    // A column that is no key is copied and not looked at.
    assert!(load(b"k,v\na,\xff\xff\n", &japanese, &request(&["k"])).is_ok());
    let error = refused(b"k,\xff\xff\na,1\n", &japanese, &["k"]).text().shell();
    assert!(
        error.starts_with("test.csv, line 1: the text from here on is not in the file's encoding"),
        "{error}"
    );

    let half = [&encoded("k,v\na,1\nb,2\n", UTF_16LE)[..], b"x"].concat();
    let lone =
        [&encoded("\u{feff}k,v\na,1\n", UTF_16BE)[..], b"\xd8\0\0x", &encoded("\nc,3\n", UTF_16BE)].concat();
    for (file, read, line) in [(half, dialect("", "utf-16le", true), 4), (lone, Dialect::default(), 3)] {
        let error = refused(&file, &read, &["k"]);
        let at = matches!(&error, TableError::Syntax { line: found, .. } if *found == line);
        assert!(at && error.to_string().contains("not in the file's encoding, UTF-16"), "{error}");
    }
    // What UTF-16 without a mark is taken for.
    let error = refused(&encoded("k,v\na,1\n", UTF_16LE), &Dialect::default(), &["k"]).text().shell();
    assert!(error.contains("`--encoding utf-16le`"), "{error}");
}

#[test]
fn match_numbers_are_the_last_column() {
    let with_numbers = |file: &[u8], read, key: &str| {
        let (table, items) = load(file, &read, &request(&[key])).unwrap();
        let matches = items.matches((0..items.len()).filter(|item| items.rows_of(*item).all(|row| row != 1)));
        let numbers = matches.rows().iter().map(|row| 10 + row).collect();
        selected(&table.with_numbers(Some(numbers)), &matches)
    };
    for (file, read, expected) in [
        ("k,v\na,1\nb,2\nc,\"x\ny\"\n", dialect("", "", true), "k,v,match_id\na,1,10\nc,\"x\ny\",12\n"),
        (
            "k;match_id\r\na;1\r\nb;2\r\nc;3",
            dialect(";", "", true),
            "k;match_id;match_id_2\r\na;1;10\r\nc;3;12\r\n",
        ),
        ("sep=|\nk\na\nb\n", dialect("", "", true), "sep=|\nk|match_id\na|10\n"),
    ] {
        assert_eq!(String::from_utf8(with_numbers(file.as_bytes(), read, "k")).unwrap(), expected);
    }
    let plain = with_numbers(b"a,1\nb,2\nc,3\n", dialect("", "", false), "1");
    assert_eq!(plain, b"a,1,10\nc,3,12\n");
    let wide = with_numbers(&encoded("\u{feff}k\tv\na\t1\n", UTF_16LE), dialect("tab", "", true), "k");
    assert_eq!(wide, encoded("\u{feff}k\tv\tmatch_id\na\t1\t10\n", UTF_16LE));

    let (table, items) = load(b"k\na\n", &Dialect::default(), &request(&["k"])).unwrap();
    let matches = items.matches(0..1);
    let error = table.with_numbers(Some(Vec::new())).select(&matches, &mut Vec::new(), &mut go).unwrap_err();
    assert!(error.fault() == Fault::Ours, "{error}");
}
