//! The readers of tables, in every format that is recognised by its first bytes.

use std::ops::ControlFlow;

use vesica_encode::items::{Encoding, OnDuplicates, Width};
use vesica_table::{
    Attach, Dialect, Format, Input, KeySpec, OnFault, Quote, Ragged, Request, Rule, Sign, StrayQuotes,
    TableError,
};

use crate::{Target, mutate, seeds};

/// One reader, and a corpus for each format, so that all formats are tried equally often.
pub(crate) fn targets() -> Vec<Target> {
    let csv: [&[u8]; 12] = [
        b"\x00\x00k,v\n1,a\n2,b\n2,c\n",
        b"\x01\x03k,v\r\nAda@example.org,\"x,\"\"y\"\r\n,z\r\n",
        b"\x07\x00\xef\xbb\xbfv,k\n\"a\nb\",12\n",
        b"\x05\x05k\n2026-01-02\n\n192.0.2.1\n",
        b"\x00\x10k;v\n\"1;2\";a\n2;b\n",
        b"\x01\x20sep=|\r\nk|v\r\nZ\xfcrich|b\r\n",
        b"\x01\x30k\tv\n\x83\x5c\tb\n",
        b"\x02\x50\xff\xfek\0,\0v\0\n\0a\0@\0b\0,\0\xe4\0\n\0",
        b"\x00\x80a,1\n\"b\"\"\",2",
        b"\x00\x10k;v\n1\n2;b;\n",
        b"\x00\x20#\"\nk,v\n1,2,3\n2,b\n#\n",
        b"\x00\x40k|v\n12\"|\"a|b\"\n2|c\n",
    ];
    let csv = csv.map(<[u8]>::to_vec).into();
    let with = |name: &str, seeds: Vec<Vec<u8>>, tries| Target::new(name, read, seeds, tries);
    vec![
        with("csv", csv, 20000),
        with("parquet", seeds::parquet(), 5000),
        with("arrow", seeds::arrow(), 5000),
        Target { mutate: mutate::gzip, ..with("gzip", seeds::gzip(), 5000) },
        Target { mutate: mutate::zstd, ..with("zstd", seeds::zstd(), 5000) },
    ]
}

/// A way of reading text, by number.
fn dialect(number: u8) -> Dialect {
    let delimiter = ["", ";", "", "tab", "|", "", ",", " "][usize::from(number % 8)];
    let encoding = ["", "", "windows-1252", "shift_jis", "windows-1252", "utf-16le", "utf-16be", "gb18030"];
    let encoding = encoding[usize::from(number % 8)];
    let usual = Dialect::default();
    let other = match number {
        1 | 9 => Dialect { ragged: Ragged::Pad, skip_lines: u64::from(number / 8), ..usual },
        2 | 10 => Dialect { comment: Sign::new(b'#'), ragged: Ragged::Skip, ..usual },
        4 | 12 => Dialect { stray_quotes: StrayQuotes::Text, nulls: vec!["2".to_owned()], ..usual },
        6 => Dialect { escape: Sign::new(b'\\'), quote: Quote::None, ..usual },
        14 => Dialect { escape: Sign::new(b'\\'), ragged: Ragged::Pad, ..usual },
        _ => usual,
    };
    Dialect {
        delimiter: delimiter.parse().ok(),
        encoding: encoding.parse().ok(),
        header: number < 8,
        ..other
    }
}

/// The first byte is the rule of the key column `k`. The second says what to do with faults and how to read text. The rest
/// is the file. Rows of a table that could be read can be selected, and the selected rows have the same keys.
fn read(input: &[u8]) {
    let [rule, faults, file @ ..] = input else { return };
    let rule = Rule::ALL[usize::from(*rule) % Rule::ALL.len()];
    let fault = |bit: u8| if faults & bit == 0 { OnFault::Skip } else { OnFault::Error };
    let native = rule == Rule::Int && faults & 8 != 0;
    let encoding = if native { Encoding::Native { sigma: 32 } } else { Encoding::Digest(Width::Digest128) };
    let dialect = dialect(faults >> 4);
    let key = if dialect.header { "k" } else { "1" };
    let attach = match rule {
        _ if native || faults & 8 == 0 => Attach::Nothing,
        Rule::Raw | Rule::Text => Attach::Payload { columns: vec![key.to_owned()], bytes: 64 },
        _ => Attach::Values(vec![key.to_owned()]),
    };
    let request = Request {
        keys: vec![KeySpec::new(key, rule)].into(),
        encoding,
        on_null: fault(1),
        on_invalid: fault(2),
        on_duplicates: if faults & 4 == 0 { OnDuplicates::All } else { OnDuplicates::First },
        attach,
        threads: 1 + usize::from(faults >> 7),
    };
    let go = &mut |_| ControlFlow::Continue(());
    let load = |bytes: &[u8]| {
        let input = Input::spool("input", &mut &*bytes)?.with_dialect(dialect.clone())?;
        input.load(&request, &mut |_| ControlFlow::Continue(()))
    };
    let Ok((mut table, items)) = load(file) else { return };
    let report = table.report();
    assert_eq!(report.items, items.len() as u64);
    assert!(report.items + report.nulls + report.invalid <= report.rows);
    // Rows of a key may have different payloads, or too large a sum.
    drop(table.attached(&items, go));
    let all = items.matches(0..items.len());
    let mut selected = Vec::new();
    match table.select(&all, &mut selected, go) {
        Ok(_) => {}
        // The first pass reads only the key columns. The copying of rows finds damage in other columns.
        Err(TableError::Damaged { .. }) => return,
        Err(error) => panic!("what was read cannot be selected from: {error}"),
    }
    // A first row, or a header after empty lines, may begin like a mark, or like a line that names the delimiter.
    let marked = |bytes: &[u8]| matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0xef, 0xbb, 0xbf, ..]);
    if !dialect.header || marked(&selected) && !marked(file) {
        return;
    }
    let (again, same) = match load(&selected) {
        Ok(again) => again,
        // A header after skipped empty lines may begin like another format.
        Err(TableError::Format { .. } | TableError::Encoding { .. }) => return,
        Err(TableError::Damaged { .. }) if matches!(table.format(), Format::Csv(_)) => return,
        Err(error) => panic!("what was selected cannot be read: {error}"),
    };
    assert_eq!((same.len(), again.report().rows), (items.len(), all.rows().len() as u64));
}
