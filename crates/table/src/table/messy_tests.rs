//! Tables as they are found: titles above the header, ragged rows, other quotes, written nulls.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_encode::items::{Items, Matches};

use crate::dialect::Dialect;
use crate::error::{Place, Syntax, TableError};
use crate::request::{OnFault, Request};
use crate::table::Table;
use crate::testing::{dialect, go, input, request};

fn load(bytes: &[u8], options: &str, request: &Request) -> Result<(Table, Items), TableError> {
    input(bytes)?.with_dialect(dialect(options))?.load(request, &mut go)
}

fn selected(table: &Table, matches: &Matches) -> String {
    let mut out = Vec::new();
    table.select(matches, &mut out, &mut go).unwrap();
    String::from_utf8_lossy(&out).into_owned()
}

/// The rows of these keys as they leave, where the first column is the key.
fn rows_of(bytes: &[u8], options: &str, keys: &[&str]) -> String {
    let column = if options.contains("no-header") { "1" } else { "k" };
    let (table, items) = load(bytes, options, &request(&[column])).unwrap();
    let wanted = load(format!("k\n{}\n", keys.join("\n")).as_bytes(), "", &request(&["k"])).unwrap().1;
    let wanted: Vec<_> = wanted.digests().collect();
    let matching: Vec<usize> =
        items.digests().enumerate().filter(|(_, digest)| wanted.contains(digest)).map(|(at, _)| at).collect();
    assert_eq!(matching.len(), keys.len(), "{options}");
    selected(&table, &items.matches(matching.into_iter()))
}

/// A table, its options, its columns joined by `|`, and how many rows it has.
type Found = (&'static str, &'static [u8], &'static str, &'static str, u64);

/// Tables of the kinds that surveys of open data find.
const FOUND: [Found; 28] = [
    ("two title lines", b"Report of 2024\n\nk,v\na,1\nb,2\n", "skip-lines=2", "k|v", 2),
    ("a title with a quote", b"He said \"no\nk,v\na,1\n", "skip-lines=1", "k|v", 1),
    ("a title in a table of one column", b"All names\nk\na\nb\n", "skip-lines=1", "k", 2),
    ("each data row ends with a delimiter", b"k,v\na,1,\nb,2,\n", "ragged=pad", "k|v", 2),
    ("each line ends with two of them", b"k,v\r\na,1,,\r\nb,2,,\r\n", "ragged=pad", "k|v", 2),
    ("short rows", b"k,v,w\na,1\nb\nc,1,2\n", "ragged=pad", "k|v|w", 3),
    ("a footer", b"k,v\na,1\nb,2\nTotal: 2 rows\n", "ragged=skip", "k|v", 2),
    (
        "a footer below an empty line",
        b"k;v\na;1\n\nSource: office; see notes; and more\n",
        "delimiter=; ragged=skip",
        "k|v",
        1,
    ),
    ("empty lines inside", b"k,v\n\na,1\n\r\n\nb,2\n\n", "", "k|v", 2),
    ("comments", b"# made by hand, \"2024\nk,v\na,1\n#b,2\nc,3#\n", "comment=#", "k|v", 2),
    ("comments with another sign", b"% it's\nk\tv\na\t1\n%\n", "comment=% delimiter=tab", "k|v", 1),
    ("apostrophes as quotes", b"'k','v'\n'a','x, y'\n'O''Neil','2'\n", "quote='", "k|v", 2),
    ("apostrophes inside", b"'k','v'\nO'Neil,'x, y'\n", "quote=' stray-quotes=text", "k|v", 1),
    ("inch marks", b"k,v\na,Monitor 12\"\nb,\"x, y\"\n", "stray-quotes=text", "k|v", 2),
    (
        "a title of a database",
        b"k\tv\n1\t\"Ad Astra\n2\tMonitor 12\"\n3\tUp\n",
        "delimiter=tab quote=none",
        "k|v",
        3,
    ),
    ("escapes of a database", b"k,v\na,x\\, y\nb,two\\\nlines\nc,\\\\\n", "quote=none escape=\\", "k|v", 3),
    ("escapes in quotes", b"k,v\na,\"say \\\"no\\\", x\"\n", "escape=\\", "k|v", 1),
    ("semicolons", b"k;v\na;1,5\n", "delimiter=;", "k|v", 1),
    ("a space", b"k v w\na 1 2\n", "delimiter=\\s", "k|v|w", 1),
    ("a caret", b"k^v\na^1\n", "delimiter=^", "k|v", 1),
    ("cp949", b"k,\xc0\xcc\xb8\xa7\na,\xb1\xe8\n", "encoding=cp949", "k|이름", 1),
    ("cp1252", b"k,Stra\xdfe\na,\xa3\n", "encoding=cp1252", "k|Straße", 1),
    ("ms932", b"k,\x96\xbc\x91\x4f\na,1\n", "encoding=ms932", "k|名前", 1),
    ("a header of two lines in quotes", b"k,\"v\n(in EUR)\"\na,1\n", "", "k|v\n(in EUR)", 1),
    ("a header of two rows", b"key,value\nk,v\na,1\n", "skip-lines=1", "k|v", 1),
    ("no header and a title", b"Title\na,1\nb,2\n", "no-header skip-lines=1", "1|2", 2),
    ("a header with an empty name", b"k,v,\na,1,\nb,2,3\n", "", "k|v|", 2),
    ("a mark and a title", b"\xef\xbb\xbfTitle\r\nk,v\r\na,1", "skip-lines=1", "k|v", 1),
];

#[test]
fn tables_as_they_are_found_are_read_with_their_options() {
    for (what, bytes, options, columns, rows) in FOUND {
        let key = if options.contains("no-header") { "1" } else { "k" };
        let (table, items) =
            load(bytes, options, &request(&[key])).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((table.columns().join("|").as_str(), table.report().rows), (columns, rows), "{what}");
        // Whatever is selected is read again with the same options.
        let out = &mut Vec::new();
        table.select(&items.matches(0..items.len()), out, &mut go).unwrap();
        let (again, _) =
            load(out, options, &request(&[key])).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((again.columns(), again.report()), (table.columns(), table.report()), "{what}");
    }
}

#[test]
fn what_is_found_alone_is_read_so_or_refused() {
    let (mut read, mut refused) = (Vec::new(), Vec::new());
    for (what, bytes, options, columns, rows) in FOUND {
        // The delimiter is found; the other options are as they are said.
        let others: Vec<&str> =
            options.split(' ').filter(|option| !option.starts_with("delimiter")).collect();
        let found =
            input(bytes).unwrap().with_dialect(dialect(&format!("{} delimiter=auto", others.join(" "))));
        match found.and_then(|input| Ok((input.inspect(None, &mut go)?, input))) {
            Ok((found, input)) => {
                let names: Vec<&str> = found.columns.iter().map(|column| column.name.as_str()).collect();
                let expected = columns.replace('\n', "?");
                assert_eq!((names.join("|").replace("\\n", "?"), found.rows), (expected, rows), "{what}");
                assert!(input.found().is_some());
                read.push(what);
            }
            Err(_) => refused.push(what),
        }
    }
    assert!(refused.is_empty(), "{refused:?}; {read:?}");
}

#[test]
fn the_lines_above_are_copied_and_comments_are_not() {
    let file = b"\xef\xbb\xbfTitle, \"of 2024\r\n\r\nk,v\r\na,1\r\n#b,2\r\nb,3\r\nc,4";
    let out = rows_of(file, "skip-lines=2 comment=#", &["b", "c"]);
    assert_eq!(out, "\u{feff}Title, \"of 2024\r\n\r\nk,v\r\nb,3\r\nc,4\r\n");
    let error = load(file, "skip-lines=9", &request(&["k"])).map(drop).unwrap_err().to_string();
    assert!(error.contains("no header stands below the 9 lines"), "{error}");
    let all = load(file, &format!("skip-lines={}", u64::MAX), &request(&["k"])).map(drop).unwrap_err();
    assert!(matches!(all, TableError::Dialect { .. }), "{all}");
    // A line as long as no record may be.
    let long = [&b"x".repeat(300_000)[..], b"\nk\na\n"].concat();
    assert_eq!(load(&long, "skip-lines=1", &request(&["k"])).unwrap().1.len(), 1);
}

#[test]
fn a_line_like_a_comment_is_named_and_utf16_has_all_of_this_too() {
    for file in ["k,v\na,1\n# it's \"so\"\n", "k,v\na,1\n# so\n"] {
        let error = load(file.as_bytes(), "", &request(&["k"])).map(drop).unwrap_err().text().shell();
        assert!(error.contains("line 3: ") && error.ends_with("give `--comment '#'`"), "{error}");
    }
    let wide = |text: &str| {
        let mut bytes = Vec::new();
        crate::unicode::encode(text.as_bytes(), encoding_rs::UTF_16BE, &mut bytes);
        bytes
    };
    let file = wide("\u{feff}Titel, \"2024\nk;v\n# nein\n'ä;b';1;\nö;12';\nü\n");
    let options = "skip-lines=1 delimiter=; comment=# quote=' stray-quotes=text ragged=pad null=ö";
    let (table, items) = load(&file, options, &request(&["k"])).unwrap();
    assert_eq!((table.report().rows, table.report().nulls), (3, 1));
    let mut out = Vec::new();
    table.select(&items.matches(0..items.len()), &mut out, &mut go).unwrap();
    assert!(out == wide("\u{feff}Titel, \"2024\nk;v\n'ä;b';1;\nü\n"));
}

#[test]
fn ragged_rows_are_errors_filled_up_or_left_out() {
    let file = b"k,v,w\na,1\nb,1,2,\nc,1,2\nd,1,2,\"\"\n\ne\n";
    let error = load(file, "", &request(&["k"])).map(drop).unwrap_err().text().shell();
    assert!(error.contains("line 2: the row has 2 fields, but the header has 3"), "{error}");
    assert!(error.contains("`--ragged pad`") && error.contains("`--ragged skip`"), "{error}");
    let all = String::from_utf8_lossy(file).replace("\n\n", "\n");
    assert_eq!(rows_of(file, "ragged=pad", &["a", "b", "c", "d", "e"]), all);
    assert_eq!(rows_of(file, "ragged=skip", &["c"]), "k,v,w\nc,1,2\n");
    let (table, _) = load(file, "ragged=skip", &request(&["k"])).unwrap();
    let told = table.left_out().next().unwrap().shell();
    assert!(
        told.starts_with("4 rows were left out (`--ragged skip`)") && told.ends_with("in lines 2, 3, 5, 7"),
        "{told}"
    );
    assert_eq!(table.report().rows, 1);
    let error = load(b"k\na\nb,,x\n", "ragged=pad", &request(&["k"])).map(drop).unwrap_err();
    assert!(
        matches!(error, TableError::Syntax { line: 3, what: Syntax::Surplus { expected: 1, .. }, .. }),
        "{error}"
    );
    // A missing key is null.
    let (table, items) = load(file, "ragged=pad", &request(&["w"])).unwrap();
    assert_eq!((table.report().nulls, items.len()), (2, 1));
}

#[test]
fn a_further_column_stands_below_its_name_in_ragged_rows() {
    let file = b"k,v,w\r\na,1\r\nb,1,2,,\r\nc,1,2\r\nd,1,\"2\",\"\"\r\ne";
    let (table, items) = load(file, "ragged=pad", &request(&["k"])).unwrap();
    let out = selected(&table.with_numbers(Some(vec![5, 4, 3, 2, 1])), &items.matches(0..5));
    assert_eq!(out, "k,v,w,match_id\r\na,1,,5\r\nb,1,2,4\r\nc,1,2,3\r\nd,1,\"2\",2\r\ne,,,1\r\n");
}

#[test]
fn flaw_written_nulls_are_no_keys() {
    let file = b"k,n\nNULL,a\n\\N,b\nnan,c\n\"NULL\",d\nnull,e\nu1,f\n,g\n";
    let (table, items) = load(file, "null=NULL null=\\N null=nan", &request(&["k"])).unwrap();
    assert_eq!((table.report().nulls, items.len()), (5, 2));
    let mut wanted = request(&["k"]);
    wanted.on_null = OnFault::Error;
    let error = load(file, "null=NULL", &wanted).map(drop).unwrap_err();
    assert!(matches!(error, TableError::Null { place: Place::Line(2), .. }), "{error}");
    // With escapes, a text counts also as it stands in the file.
    let (table, items) = load(file, "escape=\\ null=\\N", &request(&["k"])).unwrap();
    assert_eq!((table.report().nulls, items.len()), (2, 4));
    // In another encoding, and many rows at a time.
    let mut latin = b"k\n".to_vec();
    (0..5000).for_each(|_| latin.extend(b"n\xe9ant\nx\n"));
    let (table, items) = load(&latin, "encoding=latin1 null=n\u{e9}ant", &request(&["k"])).unwrap();
    assert_eq!((table.report().nulls, items.len()), (5000, 1));
}

#[test]
fn flaw_a_null_is_the_same_wherever_it_stands() {
    let nulls = |options: &str, field: &[u8]| {
        // An escape makes the rows around it be read one by one.
        let row = |at: usize| {
            [field, if at.is_multiple_of(1000) { b",a\\,b\n" } else { b",plain text\n" }].concat()
        };
        let bytes = [b"k,v\n".to_vec(), (0..100_000).flat_map(row).collect()].concat();
        let count = |threads| {
            let wanted = Request { threads, ..request(&["k"]) };
            load(&bytes, options, &wanted).unwrap().0.report().nulls
        };
        [1, 2, 3].map(count)
    };
    assert_eq!(nulls("escape=\\ null=\"NULL\"", b"\"NULL\""), [0; 3]);
    assert_eq!(nulls("escape=\\ null=\"NULL\"", b"\"\"\"NULL\"\"\""), [100_000; 3]);
    assert_eq!(nulls("escape=\\ null=\"NULL\" quote=none", b"\"NULL\""), [100_000; 3]);
    assert_eq!(nulls("escape=\\ null=\\N", b"\\N"), [100_000; 3]);
    // In the encoding of the file.
    assert_eq!(nulls("escape=\\ null=\u{e9} encoding=latin1", b"\xc3\xa9"), [0; 3]);
    assert_eq!(nulls("escape=\\ null=\\\u{e9} encoding=latin1", b"\\\xe9"), [100_000; 3]);
}

#[test]
fn flaw_text_without_quoting_keeps_its_rows() {
    let file = b"k\ttitle\n1\t\"Ad Astra\n2\tMonitor 12\"\n3\tUp\n";
    assert_eq!(rows_of(file, "delimiter=tab quote=none", &["2"]), "k\ttitle\n2\tMonitor 12\"\n");
    // Read with quotes, two rows are one: inspect says so.
    let merged = input(file).unwrap().with_dialect(dialect("delimiter=tab")).unwrap();
    let notes = merged.inspect(Some(&request(&["k"]).keys), &mut go).unwrap().notes;
    assert!(
        notes[0].shell().contains("the first in line 2") && notes[0].shell().contains("`--quote none`"),
        "{notes:?}"
    );
    let error = load(b"k,t\n2,Monitor 12\"\n", "", &request(&["k"])).map(drop).unwrap_err().text().shell();
    assert!(error.contains("`--stray-quotes text`") && error.contains("`--quote none`"), "{error}");
}

#[test]
fn one_delimiter_is_taken_and_told_or_none() {
    let found = |file: &str, options: &str| {
        let input =
            input(file.as_bytes()).unwrap().with_dialect(dialect(&format!("delimiter=auto {options}")))?;
        Ok::<_, TableError>((input.found().unwrap().shell(), input.inspect(None, &mut go)?.columns.len()))
    };
    for (file, options, columns, told) in [
        ("k;v\na;1,5\nb;2,5\n", "", 2, "';' is taken, with which 3 of the first 3 lines have 2 fields"),
        ("k\tv\na\tx\n", "", 2, "tab is taken"),
        ("k|v|w\na|1|2", "", 3, "'|' is taken"),
        ("'k;x';'v'\n'a;b';'1'\n", "quote='", 2, "';' is taken"),
        ("# a|b\nk;v\na;1\n", "comment=#", 2, "';' is taken"),
        ("title | of; it\nk,v\na,1\n", "skip-lines=1", 2, "',' is taken"),
        ("k;v\na;1\nb\nc;2\n", "ragged=skip", 2, "';' is taken, with which 3 of the first 4"),
        ("k;v\na;1;\nb;2;\n", "ragged=pad", 2, "';' is taken"),
        ("name\nAda Lovelace\nAlan Turing\n", "", 1, "the first lines show none"),
        ("time\n12:30\n", "", 1, "the first lines show none"),
        ("sep=;\nk;v\na;1\n", "", 2, "the first line names the delimiter"),
        ("k,v\n", "", 2, "',' is taken"),
        ("k,v,w,x,y\n\"a;b\",1,2,3,\"x;y\"\n", "", 5, "',' is taken"),
    ] {
        let (why, there) = found(file, options).unwrap();
        assert!(
            there == columns && why.starts_with("`--delimiter auto`: ") && why.contains(told),
            "{file}: {why}"
        );
    }
    let error = found("name;born, died;x\nAda;1815, 1852;1\n", "").unwrap_err().text().shell();
    assert!(error.contains("by ';' or by ','") && error.contains("give `--delimiter ';'`"), "{error}");
    // Chosen once: what stands further down cannot change it.
    let late = format!("k;v\n{}{}", "a;1\n".repeat(200_000), "b,1\n");
    assert!(found(&late, "").unwrap_err().to_string().contains("line 200002: the row has 1 field"));
    // In UTF-16 and in gzip, too.
    let mut wide = Vec::new();
    crate::unicode::encode("\u{feff}k;v\na;1\n".as_bytes(), encoding_rs::UTF_16LE, &mut wide);
    let read = input(&wide).unwrap().with_dialect(dialect("delimiter=auto")).unwrap();
    assert!(read.found().unwrap().shell().contains("';' is taken"));
}

#[test]
fn inspect_says_which_options_may_help_and_no_value() {
    for (file, options, told) in [
        (
            "Secret report\nof 2024\nk;v;w\na;1;2\nb;1;2\n",
            "",
            "give `--delimiter ';'`; `--skip-lines 2` skips",
        ),
        (
            "Title\n\nk,v\na,1\nb,2\n",
            "",
            "the first 4 lines suggest: `--skip-lines 2` skips what stands above the first line with 2 fields",
        ),
        (
            "k,v\na,1,\nb,2,\nc,3,\n",
            "",
            "`--ragged pad` reads lines with other numbers of fields (lines with 3 fields: 3, with 2 fields: 1)",
        ),
        ("k,v\na,1\nb,2\nc,3\nSecret footer\n", "", "`--ragged pad` reads"),
        ("k,v\na,1\nb,2\nc,3\nSecret, footer, x\n", "", "`--ragged skip` reads"),
        (
            "k,v\na,1\nb,2\nc,3\nd,Secret 12\"\n",
            "",
            "`--stray-quotes text` reads quotes within fields (lines: 1)",
        ),
    ] {
        let input = input(file.as_bytes()).unwrap().with_dialect(dialect(options)).unwrap();
        for keys in [None, Some(request(&["k"]).keys)] {
            // A title may be a header of one column.
            let error = match input.inspect(keys.as_ref(), &mut go) {
                Ok(found) => found.hint.unwrap().shell(),
                Err(error) => error.text().shell(),
            };
            assert!(error.contains(told) && !error.contains("Secret"), "{file}: {error}");
        }
    }
}

/// A table of many rows with all that `options` allow.
fn long(options: &str, rng: &mut StdRng, rows: usize) -> Vec<u8> {
    let dialect = dialect(options);
    let mut bytes: Vec<u8> = (0..dialect.skip_lines).flat_map(|_| *b"a title, \"or two\n").collect();
    bytes.extend(b"k,v,w\n");
    let pick = |rng: &mut StdRng, texts: &[&[u8]]| texts[rng.random_range(0..texts.len())].to_vec();
    let has = |what: &str| options.contains(what);
    for row in 0..rows {
        let strange = row % 97 < 20 && rng.random_bool(0.3);
        let value = match strange {
            true if has("stray-quotes") => pick(rng, &[b"12\"", b"a\"b\"c", b"x"]),
            true if has("quote=none") => pick(rng, &[b"\"x", b"\"", b"y\"z", b"\"\"\""]),
            true if has("escape") => pick(rng, &[b"a\\,b", b"\\\"", b"two\\\nlines", b"\\\\"]),
            true => pick(rng, &[b"\"x, y\"", b"\"two\nlines\"", b"\"say \"\"no\"\"\"", b""]),
            false => b"plain".to_vec(),
        };
        if strange && has("comment") {
            bytes.extend(pick(rng, &[b"# a \"comment\n", b"#,,,\r\n", b"#\n"]));
        }
        bytes.extend(format!("key{},", row % 5000).as_bytes());
        bytes.extend(value);
        let end: &[&[u8]] =
            if strange && has("ragged") { &[b"\n", b",1,,\n", b",1,\r\n"] } else { &[b",1\n"] };
        bytes.extend(pick(rng, end));
        if strange {
            bytes.extend(pick(rng, &[b"", b"\n", b"\r\n"]));
        }
    }
    // The last row has no line end, but perhaps an escaped one.
    bytes.truncate(bytes.trim_ascii_end().len());
    bytes.extend(if has("escape") { &b"\\\n"[..] } else { b"" });
    bytes
}

#[test]
fn threads_read_and_copy_what_one_thread_does_in_every_dialect() {
    let mut rng = StdRng::seed_from_u64(9);
    for options in [
        "",
        "quote=none",
        "escape=\\",
        "quote=none escape=\\ ragged=skip",
        "comment=#",
        "comment=# ragged=pad",
        "stray-quotes=text",
        "stray-quotes=text comment=# ragged=skip",
        "ragged=skip",
        "ragged=pad skip-lines=3",
        "null=plain",
    ] {
        let bytes = long(options, &mut rng, 120_000);
        let run = |threads: usize| {
            let wanted = Request { threads, ..request(&["k", "v"]) };
            let (table, items) =
                load(&bytes, options, &wanted).unwrap_or_else(|error| panic!("{options}: {error}"));
            let matching = (0..items.len()).filter(|item| item % 3 == 0);
            let out = selected(&table, &items.matches(matching));
            let all = selected(&table, &items.matches(0..items.len()));
            let again = load(all.as_bytes(), options, &wanted).unwrap().0;
            assert_eq!(again.report().rows, table.report().rows - table.report().nulls, "{options}");
            let digests: Vec<_> = items.digests().map(<[u8]>::to_vec).collect();
            (table.report(), table.left_out().collect::<Vec<_>>(), digests, out)
        };
        let expected = run(1);
        assert!(expected.0.rows > 50_000 && expected.3.len() > 10_000, "{options}: {:?}", expected.0);
        for threads in [2, 3, 7] {
            assert!(run(threads) == expected, "{options}: {threads} threads");
        }
        // An error at the end is found where it is.
        let broken = [&bytes[..], b"\nkey,\"open\n"].concat();
        let fail = |threads: usize| {
            let wanted = Request { threads, ..request(&["k"]) };
            load(&broken, options, &wanted)
                .map(|(table, _)| table.report())
                .map_err(|error| error.to_string())
        };
        let expected = fail(1);
        [2, 3, 7].into_iter().for_each(|threads| assert_eq!(fail(threads), expected, "{options}"));
    }
}

#[test]
fn a_dialect_that_contradicts_itself_is_refused() {
    let quote = Dialect { quote: ",".parse().unwrap(), ..Dialect::default() };
    let error = input(b"k\n").unwrap().with_dialect(quote).map(drop).unwrap_err().to_string();
    assert!(error.contains("`,` cannot be both the delimiter and the quote"), "{error}");
    let named = load(b"sep=#\nk#v\n", "comment=#", &request(&["k"])).map(drop).unwrap_err().to_string();
    assert!(named.contains("line 1: this line names a character that cannot be the delimiter"), "{named}");
}

#[test]
fn flaw_a_delimiter_that_is_found_has_no_other_meaning() {
    for (file, options, told) in [
        ("k,v\na,1\n", "comment=,", "`,` cannot be both the delimiter and the comment sign"),
        ("k\na\n", "quote=,", "`,` cannot be both the delimiter and the quote"),
        ("k\na\n", "escape=,", "`,` cannot be both the delimiter and the escape"),
    ] {
        let auto = dialect(&format!("delimiter=auto {options}"));
        let error = input(file.as_bytes()).unwrap().with_dialect(auto).map(drop).unwrap_err();
        assert!(matches!(error, TableError::Dialect { .. }) && error.to_string().contains(told), "{error}");
    }
    let found = input(b"k;v\n,x\na;1\n").unwrap().with_dialect(dialect("delimiter=auto comment=,")).unwrap();
    assert_eq!(found.inspect(None, &mut go).unwrap().rows, 1);
}

#[test]
fn flaw_what_is_said_without_a_header_names_none() {
    let (table, _) = load(b"a,1\nb\n", "no-header ragged=skip", &request(&["1"])).unwrap();
    let told = table.left_out().next().unwrap().shell();
    assert!(told.contains("not as many fields as the first line, in line 2"), "{told}");
    let error = load(b"", "no-header", &request(&["1"])).map(drop).unwrap_err().to_string();
    assert_eq!(error, "test.csv: is empty; a table has at least one line");
    let error = load(b"a\n", "no-header skip-lines=1", &request(&["1"])).map(drop).unwrap_err().to_string();
    assert!(error.contains("no row stands below the 1 line that is skipped"), "{error}");
}

#[test]
fn flaw_lines_to_skip_that_are_too_long_are_told_as_such() {
    let long = [&b"x".repeat(17 << 20)[..], b"\nk\na\n"].concat();
    let error = load(&long, "skip-lines=1", &request(&["k"])).map(drop).unwrap_err().text().shell();
    let told = "test.csv, line 1: the lines above the header (`--skip-lines`) have more than 16 MiB";
    assert_eq!(error, told);
}
