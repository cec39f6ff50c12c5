//! Dialects, against a reader of one byte at a time and against the `csv` crate.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::tests::{Outcome, Row, rows_in, rows_of_pieces_in};
use super::*;
use crate::dialect::{Quote, StrayQuotes};
use crate::testing::dialect;

/// Dialects of all kinds.
const DIALECTS: [&str; 22] = [
    "",
    "ragged=pad",
    "ragged=skip",
    "quote=none",
    "quote='",
    "escape=\\",
    "quote=none escape=\\",
    "comment=#",
    "comment=# quote=none",
    "comment=# escape=\\",
    "stray-quotes=text",
    "stray-quotes=text quote='",
    "stray-quotes=text escape=\\",
    "stray-quotes=text comment=#",
    "skip-lines=1",
    "skip-lines=2 comment=# ragged=pad",
    "no-header ragged=skip",
    "no-header skip-lines=1 quote='",
    "delimiter=; ragged=pad",
    "delimiter=tab quote=none ragged=skip",
    "ragged=skip stray-quotes=text quote=' escape=\\ comment=#",
    "ragged=pad comment=# quote=none escape=\\",
];

/// The text of a field and whether it ended.
type Slow<T> = Result<T, (usize, Syntax)>;

/// One record at the beginning of these bytes: its fields, and how many bytes it takes.
fn slow_record(dialect: &Dialect, bytes: &[u8]) -> Slow<(Vec<Vec<u8>>, usize)> {
    let delimiter = dialect.delimiter.unwrap_or(Delimiter::COMMA).byte();
    let escape = dialect.escape.map(|sign| sign.byte());
    let quote = match dialect.quote {
        Quote::None => None,
        Quote::Sign(sign) => Some(sign.byte()),
    };
    let keeps_stray = dialect.stray_quotes == StrayQuotes::Text;
    let (mut fields, mut at, mut fresh, mut quoted) = (vec![Vec::new()], 0, true, None);
    loop {
        let number = fields.len();
        let stray = |at| Err((at, Syntax::StrayQuote { field: number, column: None }));
        let field = fields.last_mut().unwrap();
        let byte = bytes.get(at).copied();
        let begins = std::mem::take(&mut fresh);
        if let (Some(start), None) = (quoted, byte) {
            return Err((start, Syntax::UnclosedQuote));
        }
        if byte.is_some() && byte == escape {
            let literal = match bytes[at + 1..] {
                [] | [b'\r'] if quoted.is_some() => return Err((quoted.unwrap(), Syntax::UnclosedQuote)),
                [] | [b'\r'] => return Err((at, Syntax::EscapesNothing)),
                [b'\r', b'\n', ..] => 2,
                _ => 1,
            };
            field.extend_from_slice(&bytes[at + 1..=at + literal]);
            at += 1 + literal;
            continue;
        }
        if quoted.is_some() {
            if byte != quote {
                field.extend(byte);
                at += 1;
            } else if bytes.get(at + 1).copied() == quote {
                field.extend(quote);
                at += 2;
            } else {
                quoted = None;
                at += 1;
                let next = bytes.get(at).copied();
                if !matches!(next, None | Some(b'\r' | b'\n')) && next != Some(delimiter) {
                    return stray(at);
                }
            }
            continue;
        }
        match byte {
            None => return Ok((fields, at)),
            Some(b'\n') => return Ok((fields, at + 1)),
            Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => return Ok((fields, at + 2)),
            Some(b'\r') => return Err((at, Syntax::BareReturn)),
            Some(byte) if byte == delimiter => {
                fields.push(Vec::new());
                fresh = true;
            }
            Some(byte) if Some(byte) == quote && begins => quoted = Some(at),
            Some(byte) if Some(byte) == quote && !keeps_stray => return stray(at),
            Some(byte) => field.push(byte),
        }
        at += 1;
    }
}

/// All rows behind the header, one byte at a time.
fn slow(dialect: &Dialect, bytes: &[u8]) -> Outcome {
    let line_of = |at: usize| 1 + line_feeds(&bytes[..at]);
    let (mut rows, mut at, mut columns) = (Vec::<Row>::new(), 0, None);
    let mut is_header = dialect.header;
    for _ in 0..dialect.skip_lines {
        at += bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len() - at, |end| end + 1);
    }
    let failure = loop {
        let rest = &bytes[at..];
        let line = line_of(at);
        let comment = dialect.comment.is_some_and(|sign| rest.first() == Some(&sign.byte()));
        match rest {
            [] => break None,
            [b'\n', ..] => at += 1,
            [b'\r', b'\n', ..] => at += 2,
            _ if comment => {
                at += rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1)
            }
            _ => match slow_record(dialect, rest) {
                Err((offset, what)) => break Some((line_of(at + offset), what)),
                Ok((mut fields, length)) => {
                    let (expected, raw) = (*columns.get_or_insert(fields.len()), rest[..length].to_vec());
                    at += length;
                    if std::mem::take(&mut is_header) {
                        continue;
                    }
                    let (found, first) = (fields.len(), if dialect.header { "header" } else { "first line" });
                    let surplus = fields.iter().skip(expected).any(|field| !field.is_empty());
                    match dialect.ragged {
                        _ if found == expected => {}
                        Ragged::Skip => continue,
                        Ragged::Pad if !surplus => fields.resize(expected, Vec::new()),
                        Ragged::Pad => break Some((line, Syntax::Surplus { expected, first })),
                        Ragged::Error => break Some((line, Syntax::Uneven { expected, found, first })),
                    }
                    rows.push((fields, raw, line));
                }
            },
        }
    };
    Outcome { rows, failure }
}

/// Text that looks like a table of `columns` columns, with what dialects have and with faults.
fn messy(rng: &mut StdRng, dialect: &Dialect, columns: usize, rows: usize) -> Vec<u8> {
    const PIECES: [&str; 24] = [
        "a",
        "",
        " ",
        "long field of a row",
        "ü",
        "'",
        "\"",
        "12\"",
        "it's",
        "\"x,y\"",
        "'x,y'",
        "\"a\"\"b\"",
        "'a''b'",
        "\\",
        "\\\\",
        "\\\"",
        "\\,",
        "\\\n",
        "\\\r\n",
        "\"line\nof two\"",
        "'line\r\nof two'",
        "\"\"",
        "#",
        "\"\\\"\"",
    ];
    const LINES: [&str; 6] = ["\n", "\r\n", "# a comment, \"of\" it's\n", "#\"\n", ",,\n", "\"\n"];
    let delimiter = char::from(dialect.delimiter.unwrap_or(Delimiter::COMMA).byte()).to_string();
    // Calm text as well, which is read many rows at a time.
    let wild = [0.0, 0.02, 0.5][rng.random_range(0..3)];
    let mut text = String::new();
    for row in 0..=rows {
        if rng.random_bool(wild / 5.0) {
            text += LINES[rng.random_range(0..LINES.len())];
        }
        let more = if rng.random_bool(wild / 4.0) { rng.random_range(0..3) } else { 1 };
        let fields: Vec<&str> = (1..columns + more)
            .map(|_| match row {
                0 => "name",
                _ if rng.random_bool(wild) => PIECES[rng.random_range(0..PIECES.len())],
                _ => PIECES[rng.random_range(0..5)],
            })
            .collect();
        text += &fields.join(&delimiter);
        text += if rng.random_bool(0.1) { "\r\n" } else { "\n" };
    }
    if rng.random_bool(0.3) {
        text.pop();
    }
    let mut bytes = text.into_bytes();
    if rng.random_bool(0.1) {
        bytes.truncate(rng.random_range(0..=bytes.len()));
    }
    bytes
}

#[test]
fn every_dialect_is_read_as_one_byte_at_a_time_in_all_pieces() {
    let mut rng = StdRng::seed_from_u64(7);
    let (mut all, mut many, mut cut) = (0, 0, 0);
    for options in DIALECTS {
        let dialect = dialect(options);
        for round in 0..200 {
            let rows = if round % 40 == 0 { 2000 } else { rng.random_range(0..30) };
            let columns = rng.random_range(1..5);
            let bytes = messy(&mut rng, &dialect, columns, rows);
            let expected = slow(&dialect, &bytes);
            let shown = || format!("{options}: {:?}", String::from_utf8_lossy(&bytes));
            for buffer in [1, 3, 64, 1000, 1 << 18] {
                let (found, _) = rows_in(&dialect, &bytes, buffer, false);
                assert!(found == expected, "one by one, {buffer}: {}\n{found:?}\n{expected:?}", shown());
                let (found, together) = rows_in(&dialect, &bytes, buffer, true);
                assert!(found == expected, "together, {buffer}: {}", shown());
                let (found, pieces) = rows_of_pieces_in(&dialect, &bytes, buffer);
                assert!(found == expected, "{pieces} pieces, {buffer}: {}", shown());
                (all, many, cut) = (all + found.rows.len(), many + together, cut + pieces);
            }
        }
    }
    assert!(many > all / 4 && cut > 10_000, "{many} of {all} rows, {cut} pieces");
}

#[test]
fn short_texts_of_every_dialect_are_read_as_one_byte_at_a_time() {
    const ALPHABET: &[u8] = b"a,\"'\\#\r\n";
    for options in DIALECTS {
        let dialect = dialect(options);
        for length in 0..=4u32 {
            for number in 0..ALPHABET.len().pow(length) {
                let digit = |place| ALPHABET[number / ALPHABET.len().pow(place) % ALPHABET.len()];
                let bytes: Vec<u8> = (0..length).map(digit).collect();
                let expected = slow(&dialect, &bytes);
                for buffer in [1, 4096] {
                    for together in [false, true] {
                        let (found, _) = rows_in(&dialect, &bytes, buffer, together);
                        assert_eq!(found, expected, "{options}: {:?}", String::from_utf8_lossy(&bytes));
                    }
                    let (found, _) = rows_of_pieces_in(&dialect, &bytes, buffer);
                    assert_eq!(found, expected, "{options}, cut: {:?}", String::from_utf8_lossy(&bytes));
                }
            }
        }
    }
}

#[test]
fn stray_quotes_other_quotes_and_comments_are_those_of_the_csv_crate() {
    let mut rng = StdRng::seed_from_u64(8);
    let mut rows = 0;
    for options in ["stray-quotes=text", "stray-quotes=text quote='", "quote=none", "quote='", "comment=#"] {
        let dialect = dialect(&format!("no-header ragged=skip {options}"));
        let mut foreign = ::csv::ReaderBuilder::new();
        foreign.has_headers(false).flexible(true).comment(dialect.comment.map(|sign| sign.byte()));
        match dialect.quote {
            Quote::None => foreign.quoting(false),
            Quote::Sign(sign) => foreign.quote(sign.byte()),
        };
        for _ in 0..2000 {
            let (columns, count) = (rng.random_range(1..5), rng.random_range(0..30));
            let bytes = messy(&mut rng, &dialect, columns, count);
            let (found, _) = rows_in(&dialect, &bytes, 4096, true);
            if found.failure.is_some() {
                continue;
            }
            let mut read = foreign.from_reader(&bytes[..]);
            let records = read.byte_records().map(|record| record.unwrap());
            let records: Vec<Vec<Vec<u8>>> =
                records.map(|record| record.iter().map(<[u8]>::to_vec).collect()).collect();
            let columns = records.first().map_or(0, Vec::len);
            let expected: Vec<_> = records.into_iter().filter(|fields| fields.len() == columns).collect();
            rows += expected.len();
            let found: Vec<_> = found.rows.into_iter().map(|(fields, ..)| fields).collect();
            assert_eq!(found, expected, "{options}: {:?}", String::from_utf8_lossy(&bytes));
        }
    }
    assert!(rows > 10_000, "{rows}");
}

#[test]
fn a_text_written_as_a_field_is_read_as_that_text() {
    for options in DIALECTS.into_iter().filter(|options| !options.contains("skip-lines")) {
        let dialect = Dialect { header: false, ..dialect(options) };
        let grammar = Grammar::new(&dialect);
        for text in [
            "",
            "a",
            "a,b",
            "a;b\tc",
            "12\"",
            "\"",
            "it's",
            "a\\",
            "\\\"",
            "two\nlines",
            "two\r\nlines",
            "ü,\r",
        ] {
            let Some(field) = grammar.field(text) else {
                let unescaped = dialect.escape.is_none() || text.ends_with('\r');
                assert!(dialect.quote == Quote::None && unescaped, "{options}: {text:?}");
                continue;
            };
            let delimiter = char::from(grammar.delimiter);
            let (found, _) = rows_in(&dialect, format!("x{delimiter}{field}\n").as_bytes(), 4096, false);
            assert_eq!(found.failure, None, "{options}: {field:?}");
            assert_eq!(found.rows[0].0, [b"x", text.as_bytes()], "{options}: {field:?}");
        }
    }
}
