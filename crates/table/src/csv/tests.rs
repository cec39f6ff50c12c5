use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// What a record is: its fields, its bytes in the file, its line.
pub(super) type Row = (Vec<Vec<u8>>, Vec<u8>, u64);

/// A record with its line end.
fn whole(Record { content, line_end, .. }: Record<'_>) -> Vec<u8> {
    [content, line_end].concat()
}

#[derive(PartialEq, Debug)]
pub(super) struct Outcome {
    pub(super) rows: Vec<Row>,
    pub(super) failure: Option<(u64, Syntax)>,
}

fn fast(bytes: &[u8], buffer: usize) -> Outcome {
    let mut records = Records::with_sizes(bytes, Dialect::default(), buffer, 1 << 20);
    let mut rows = Vec::new();
    let failure = loop {
        match records.read() {
            Ok(true) => {
                let fields = (0..records.fields.len()).map(|at| records.field(at).into_owned()).collect();
                rows.push((fields, records.verbatim().to_vec(), records.line()));
            }
            Ok(false) => break None,
            Err(Failure::Syntax { line, what }) => break Some((line, what)),
            Err(Failure::Read(error)) => panic!("{error}"),
        }
    };
    Outcome { rows, failure }
}

/// The fields of a record and its bytes.
type SlowRecord = (Vec<Vec<u8>>, usize);

/// The rules of the module's documentation, one byte at a time.
fn slow(bytes: &[u8]) -> Outcome {
    let (mut rows, mut at, mut line) = (Vec::new(), 0, 1);
    let failure = loop {
        if at == bytes.len() {
            break None;
        }
        match slow_record(&bytes[at..]) {
            Ok((fields, length)) => {
                let raw = &bytes[at..at + length];
                if raw != b"\n" && raw != b"\r\n" {
                    rows.push((fields, raw.to_vec(), line));
                }
                line += raw.iter().filter(|byte| **byte == b'\n').count() as u64;
                at += length;
            }
            Err((offset, what)) => {
                let before = bytes[at..at + offset].iter().filter(|byte| **byte == b'\n').count();
                break Some((line + before as u64, what));
            }
        }
    };
    Outcome { rows, failure }
}

fn slow_record(bytes: &[u8]) -> Result<SlowRecord, (usize, Syntax)> {
    let mut fields = vec![Vec::new()];
    let (mut at, mut fresh) = (0, true);
    loop {
        let number = fields.len();
        let field = fields.last_mut().unwrap();
        if std::mem::take(&mut fresh) && bytes.get(at) == Some(&b'"') {
            let start = at;
            at += 1;
            loop {
                match (bytes.get(at), bytes.get(at + 1)) {
                    (Some(b'"'), Some(b'"')) => {
                        field.push(b'"');
                        at += 2;
                    }
                    (Some(b'"'), _) => break,
                    (Some(byte), _) => {
                        field.push(*byte);
                        at += 1;
                    }
                    (None, _) => return Err((start, Syntax::UnclosedQuote)),
                }
            }
            at += 1;
            if !matches!(bytes.get(at), None | Some(b',' | b'\n' | b'\r')) {
                return Err((at, Syntax::StrayQuote { field: number, column: None }));
            }
        }
        match (bytes.get(at), bytes.get(at + 1)) {
            (None, _) => return Ok((fields, at)),
            (Some(b'\n'), _) => return Ok((fields, at + 1)),
            (Some(b'\r'), Some(b'\n')) => return Ok((fields, at + 2)),
            (Some(b'\r'), _) => return Err((at, Syntax::BareReturn)),
            (Some(b'"'), _) => return Err((at, Syntax::StrayQuote { field: number, column: None })),
            (Some(b','), _) => {
                fields.push(Vec::new());
                fresh = true;
                at += 1;
            }
            (Some(byte), _) => {
                field.push(*byte);
                at += 1;
            }
        }
    }
}

/// What the `csv` crate, which takes anything, makes of well-formed bytes.
fn foreign(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let fields = |record: ::csv::ByteRecord| record.iter().map(<[u8]>::to_vec).collect();
    reader.byte_records().map(|record| fields(record.unwrap())).collect()
}

fn compare(bytes: &[u8]) {
    let expected = slow(bytes);
    assert_eq!(
        rows_of(bytes, 4096, true).0,
        rows_of(bytes, 4096, false).0,
        "{:?}",
        String::from_utf8_lossy(bytes)
    );
    for buffer in [1, 2, 3, 5, 4096] {
        assert_eq!(
            fast(bytes, buffer),
            expected,
            "{:?} in pieces of {buffer}",
            String::from_utf8_lossy(bytes)
        );
    }
    if expected.failure.is_none() && !bytes.starts_with(BYTE_ORDER_MARK) {
        let fields: Vec<_> = expected.rows.into_iter().map(|(fields, ..)| fields).collect();
        assert_eq!(foreign(bytes), fields, "{:?}", String::from_utf8_lossy(bytes));
    }
}

/// All rows after the header, where pieces are cut off the buffer, and the number of the pieces.
fn rows_of_pieces(bytes: &[u8], buffer: usize) -> (Outcome, usize) {
    rows_of_pieces_in(&Dialect::default(), bytes, buffer)
}

pub(super) fn rows_of_pieces_in(dialect: &Dialect, bytes: &[u8], buffer: usize) -> (Outcome, usize) {
    fn rest<R: Read>(records: &mut Records<R>, rows: &mut Vec<Row>) -> Result<(), Failure> {
        let columns = 0..records.columns().len();
        loop {
            if records.read_block() {
                for row in 0..records.block_rows() {
                    let field = |at| records.block_field(row, at).into_owned();
                    let fields = columns.clone().map(field).collect();
                    rows.push((fields, whole(records.block_record(row)), records.block_line(row)));
                }
            } else if records.read_row()? {
                let fields = columns.clone().map(|at| records.field(at).into_owned()).collect();
                rows.push((fields, records.verbatim().to_vec(), records.line()));
            } else {
                return Ok(());
            }
        }
    }
    let mut records = Records::with_sizes(bytes, dialect.clone(), buffer, 1 << 20);
    let (mut rows, mut pieces) = (Vec::new(), 0);
    let mut read = || {
        if !records.read_header()? {
            return Ok(());
        }
        let mut piece = records.piece();
        while records.give(&mut piece)? > 0 {
            pieces += 1;
            rest(&mut piece, &mut rows)?;
        }
        rest(&mut records, &mut rows)
    };
    let failure = match read() {
        Ok(()) => None,
        Err(Failure::Syntax { line, what }) => Some((line, what)),
        Err(Failure::Read(error)) => panic!("{error}"),
    };
    (Outcome { rows, failure }, pieces)
}

/// All rows after the header, one by one or many together, and how many of them were.
fn rows_of(bytes: &[u8], buffer: usize, together: bool) -> (Outcome, usize) {
    rows_in(&Dialect::default(), bytes, buffer, together)
}

pub(super) fn rows_in(dialect: &Dialect, bytes: &[u8], buffer: usize, together: bool) -> (Outcome, usize) {
    let mut records = Records::with_sizes(bytes, dialect.clone(), buffer, 1 << 20);
    let (mut rows, mut many) = (Vec::new(), 0);
    let mut read = |records: &mut Records<&[u8]>| -> Result<bool, Failure> {
        if rows.is_empty() && records.columns().is_empty() {
            return records.read_header();
        }
        let columns = 0..records.columns().len();
        if together && records.read_block() {
            for row in 0..records.block_rows() {
                let fields = columns.clone().map(|at| records.block_field(row, at).into_owned()).collect();
                rows.push((fields, whole(records.block_record(row)), records.block_line(row)));
            }
            many += records.block_rows();
            return Ok(true);
        }
        let more = records.read_row()?;
        if more {
            let fields = columns.map(|at| records.field(at).into_owned()).collect();
            rows.push((fields, records.verbatim().to_vec(), records.line()));
        }
        Ok(more)
    };
    let failure = loop {
        match read(&mut records) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(Failure::Syntax { line, what }) => break Some((line, what)),
            Err(Failure::Read(error)) => panic!("{error}"),
        }
    };
    (Outcome { rows, failure }, many)
}

#[test]
fn rows_found_together_are_those_found_one_by_one() {
    let mut rng = StdRng::seed_from_u64(5);
    const PIECES: [&[u8]; 14] = [
        b"a",
        b"",
        b" ",
        b"long field of a row",
        b"\xc3\xbc",
        b"\xff",
        b"\"\"",
        b"\"x,y\"",
        b"\"\"\"\"",
        b"\"a\"\"b\"",
        b"\"line\nof two\"",
        b"\"line\r\n\r\"",
        b"\"\"\"q\"\"\"",
        b"'",
    ];
    const FAULTS: [&[u8]; 9] = [b"\"", b"\r", b"\0", b"\n", b"\r\n", b",", b"a\"", b"\"a\"b", b"\n\n"];
    let (mut all, mut many, mut pieces) = (0, 0, 0);
    for round in 0..6_000 {
        let columns = rng.random_range(1..6);
        // Long enough for several words of bits, some for several blocks.
        let rows = if round % 50 == 0 { 3000 } else { rng.random_range(0..60) };
        let (plain, crlf) = (rng.random_bool(0.5), rng.random());
        let mut bytes = if rng.random_bool(0.1) { BYTE_ORDER_MARK.to_vec() } else { Vec::new() };
        for row in 0..=rows {
            let fields: Vec<&[u8]> =
                (0..columns)
                    .map(|_| {
                        if row == 0 {
                            b"name"
                        } else {
                            PIECES[rng.random_range(0..if plain { 6 } else { 14 })]
                        }
                    })
                    .collect();
            bytes.extend(fields.join(&b','));
            bytes.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
        }
        if rng.random_bool(0.3) {
            let at = rng.random_range(0..=bytes.len());
            let fault = FAULTS[rng.random_range(0..FAULTS.len())];
            bytes.splice(at..at, fault.iter().copied());
        }
        if rng.random_bool(0.3) {
            bytes.truncate(rng.random_range(0..=bytes.len()));
        }
        for buffer in [3, 64, 1000, 1 << 18] {
            let (expected, _) = rows_of(&bytes, buffer, false);
            let (found, together) = rows_of(&bytes, buffer, true);
            assert!(found == expected, "{:?} in pieces of {buffer}", String::from_utf8_lossy(&bytes));
            let (found, cut) = rows_of_pieces(&bytes, buffer);
            assert!(found == expected, "{:?} cut into {cut}", String::from_utf8_lossy(&bytes));
            pieces += cut;
            if buffer > 1000 {
                (all, many) = (all + found.rows.len(), many + together);
            }
        }
    }
    assert!(many > all / 2, "{many} of {all} rows were found together");
    assert!(pieces > 10_000, "{pieces}");
}

#[test]
fn another_delimiter_is_a_comma_by_another_name() {
    let swap = |bytes: &[u8]| -> Vec<u8> {
        let other = |byte: &u8| match byte {
            b',' => b';',
            b';' => b',',
            byte => *byte,
        };
        bytes.iter().map(other).collect()
    };
    let semicolons = Dialect { delimiter: Delimiter::new(b';'), ..Dialect::default() };
    let mut rng = StdRng::seed_from_u64(51);
    const PIECES: [&[u8]; 8] = [b"a", b",", b",", b";", b"\n", b"\n", b"\"x,y\"", b"\""];
    let mut rows = 0;
    for round in 0..4_000 {
        let length = rng.random_range(0..if round % 50 == 0 { 3000 } else { 40 });
        let most = if rng.random() { 7 } else { 8 };
        let text = (0..length).flat_map(|_| PIECES[rng.random_range(0..most)]).copied().collect::<Vec<_>>();
        for (buffer, together) in [(3, true), (1 << 18, true), (1 << 18, false)] {
            let (mut expected, _) = rows_in(&Dialect::default(), &text, buffer, together);
            for (fields, bytes, _) in &mut expected.rows {
                fields.iter_mut().for_each(|field| *field = swap(field));
                *bytes = swap(bytes);
            }
            let (found, _) = rows_in(&semicolons, &swap(&text), buffer, together);
            assert!(found == expected, "{:?}", String::from_utf8_lossy(&text));
            rows += found.rows.len();
        }
    }
    assert!(rows > 1000, "{rows}");
}

#[test]
fn without_a_header_the_first_record_is_a_row() {
    let dialect = Dialect { header: false, ..Dialect::default() };
    for file in ["a,1\nb,2\n", "\u{feff}a,1\r\nb,2", "\n\n\"a\",1\nb,2\n", "sep=,\na,1\nb,2\n"] {
        for (buffer, together) in [(1, false), (1 << 18, true), (1 << 18, false)] {
            let (found, _) = rows_in(&dialect, file.as_bytes(), buffer, together);
            let fields: Vec<_> = found.rows.iter().map(|(fields, ..)| fields.concat()).collect();
            assert_eq!((fields, found.failure), (vec![b"a1".to_vec(), b"b2".to_vec()], None), "{file:?}");
            assert_eq!(
                found.rows[0].2 as usize,
                file.lines().position(|line| line.contains('1')).unwrap() + 1
            );
        }
    }
    let (uneven, _) = rows_in(&dialect, b"a,1\nb\n", 1 << 18, true);
    let what = Syntax::Uneven { expected: 2, found: 1, first: "first line" };
    assert_eq!(uneven.failure, Some((2, what)));
}

#[test]
fn all_short_inputs_agree_with_the_slow_parser() {
    const ALPHABET: &[u8] = b"a,\"\r\n";
    for length in 0..=6u32 {
        for number in 0..ALPHABET.len().pow(length) {
            let digit = |place| ALPHABET[number / ALPHABET.len().pow(place) % ALPHABET.len()];
            compare(&(0..length).map(digit).collect::<Vec<u8>>());
        }
    }
}

#[test]
fn random_inputs_agree_with_the_slow_parser() {
    let mut rng = StdRng::seed_from_u64(1);
    const PIECES: [&str; 12] = [
        "a",
        "ü,",
        ",",
        "\"\"",
        "\"",
        "\n",
        "\r\n",
        "\r",
        "\"x,\n\"\"y\"",
        "long field",
        ",\"\",",
        "\u{feff}",
    ];
    for _ in 0..20_000 {
        let pieces = rng.random_range(0..30);
        let text: String = (0..pieces).map(|_| PIECES[rng.random_range(0..PIECES.len())]).collect();
        compare(text.as_bytes());
    }
}

#[test]
fn well_formed_random_tables_come_back() {
    let mut rng = StdRng::seed_from_u64(2);
    for _ in 0..2_000 {
        let columns = rng.random_range(2..5);
        let (mut file, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..rng.random_range(1..20) {
            let mut row = Vec::new();
            for column in 0..columns {
                let field: Vec<u8> =
                    (0..rng.random_range(0..6)).map(|_| b"ab,\"\r\n \xff"[rng.random_range(0..8)]).collect();
                if column > 0 {
                    file.push(b',');
                }
                let must = field.iter().any(|byte| b",\"\r\n".contains(byte));
                if must || rng.random_bool(0.3) {
                    file.push(b'"');
                    file.extend(
                        field
                            .iter()
                            .flat_map(|byte| std::iter::repeat_n(*byte, 1 + usize::from(*byte == b'"'))),
                    );
                    file.push(b'"');
                } else {
                    file.extend_from_slice(&field);
                }
                row.push(field);
            }
            file.extend_from_slice(if rng.random() { b"\n" } else { b"\r\n" });
            if rng.random_bool(0.1) {
                file.extend_from_slice(b"\n\r\n");
            }
            expected.push(row);
        }
        compare(&file);
        let found: Vec<_> = fast(&file, 7).rows.into_iter().map(|(fields, ..)| fields).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_byte_order_mark_is_skipped_once() {
    let mut records = Records::with_sizes(&b"\xef\xbb\xbfa,b\r\n1,2"[..], Dialect::default(), 1, 100);
    assert!(records.read_header().unwrap());
    assert_eq!(
        (records.columns(), records.preamble()),
        (&[b"a".to_vec(), b"b".to_vec()][..], BYTE_ORDER_MARK)
    );
    assert_eq!((records.verbatim(), records.line()), (&b"a,b\r\n"[..], 1));
    assert!(records.read_row().unwrap());
    assert_eq!((records.verbatim(), records.line()), (&b"1,2"[..], 2));
    assert!(!records.read_row().unwrap());
    assert!(!records.read_row().unwrap());
    // Anywhere else it is a letter like others.
    let mut records = Records::new("\u{feff}\u{feff}a\n".as_bytes(), Dialect::default());
    assert!(records.read_header().unwrap());
    assert_eq!(records.columns(), ["\u{feff}a".as_bytes()]);
    compare("\u{feff}\"a\"".as_bytes());
    for empty in [&b""[..], b"\n", b"\r\n\n", BYTE_ORDER_MARK] {
        assert!(!Records::new(empty, Dialect::default()).read_header().unwrap());
    }
}

#[test]
fn rows_have_as_many_fields_as_the_header() {
    for (row, found) in [("1", 1), ("1,2,3", 3), ("\"1,2\"", 1), (" ", 1)] {
        let file = format!("\na,b\n1,2\n\n{row}\n");
        let mut records = Records::new(file.as_bytes(), Dialect::default());
        assert!(records.read_header().unwrap() && records.read_row().unwrap());
        let Err(Failure::Syntax { line, what }) = records.read_row() else { panic!("{row:?} was taken") };
        assert_eq!((line, what), (5, Syntax::Uneven { expected: 2, found, first: "header" }));
    }
}

#[test]
fn zero_bytes_are_told_before_other_faults() {
    for (file, line) in [("a\nb\n\"c\0\n", 3), ("a\n\"\n\"\0", 3), ("\0", 1), ("a\nb\nc\0c\nd\"", 3)] {
        for buffer in [1, 4, 100] {
            let Some((found, what)) = fast_failure(file.as_bytes(), buffer) else {
                panic!("{file:?} was taken")
            };
            assert_eq!((found, what), (line, Syntax::ZeroByte), "{file:?} in pieces of {buffer}");
        }
    }
    // A row before the zero byte is still a row.
    assert_eq!(fast(b"a\nb\n\0", 100).rows.len(), 2);
}

fn fast_failure(bytes: &[u8], buffer: usize) -> Option<(u64, Syntax)> {
    fast(bytes, buffer).failure
}

#[test]
fn an_endless_record_ends_at_the_limit() {
    for (start, byte, expected) in [
        ("3,\"", b'x', Syntax::TooLong { limit: 1024 }),
        ("3,", b'x', Syntax::TooLong { limit: 1024 }),
        ("3,\"", b'\n', Syntax::TooLong { limit: 1024 }),
        ("3,", 0, Syntax::ZeroByte),
    ] {
        let file = [b"a,b\n1,2\n", start.as_bytes(), &[byte; 5000]].concat();
        let mut records = Records::with_sizes(&file[..], Dialect::default(), 16, 1024);
        assert!(records.read_header().unwrap() && records.read_row().unwrap());
        let Err(Failure::Syntax { line, what }) = records.read_row() else { panic!("no limit") };
        assert_eq!((line, what), (3, expected));
    }
}

#[test]
fn a_hint_is_near_the_rows() {
    let file = [b"key,name\n".to_vec(), b"1234,abcdef\n".repeat(200_000)].concat();
    let mut records = Records::new(&file[..], Dialect::default());
    records.read_header().unwrap();
    let hint = records.rows_hint(file.len() as u64);
    assert!((200_000..220_000).contains(&hint), "{hint}");
    let mut records = Records::new(&b"key"[..], Dialect::default());
    records.read_header().unwrap();
    assert!(records.rows_hint(3) < 100);
}
