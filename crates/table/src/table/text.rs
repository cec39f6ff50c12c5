//! Text files: CSV, packed or not.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use vesica_encode::items::Matches;

use super::{Loaded, header};
use crate::collect::Rows;
use crate::csv::{Failure, Records};
use crate::error::{Place, Syntax, TableError, shown};
use crate::input::{Fingerprint, Input, OnProgress, Pass};
use crate::key::KeySpec;
use crate::packing::{self, Decoder, Packing};
use crate::rule::Value;

/// The first pass: the key values of every row, to what `begin` makes of about how many rows there are.
pub(crate) fn read<S: Rows>(
    input: &Input,
    packing: Packing,
    keys: &[KeySpec],
    begin: impl FnOnce(usize) -> Result<S, TableError>,
    on_progress: OnProgress<'_>,
) -> Result<Loaded<S>, TableError> {
    let mut csv = Csv::open(input, packing, on_progress)?;
    let places = csv.find(keys)?;
    let mut rows = begin(csv.rows_hint())?;
    loop {
        if csv.records.read_block() {
            let records = &csv.records;
            let value = |row, part: usize| value(records.block_field(row, places[part]));
            rows.rows(records.block_rows(), |row| Place::Line(records.block_line(row)), value)?;
        } else if csv.read_row()? {
            let records = &csv.records;
            rows.row(|| Place::Line(records.line()), |part| value(records.field(places[part])))?;
        } else {
            break;
        }
    }
    Ok(Loaded { rows, columns: csv.columns(), fingerprint: csv.fingerprint()? })
}

#[inline]
fn value(field: Cow<'_, [u8]>) -> Value<'_> {
    if field.is_empty() { Value::Null } else { Value::Text(field) }
}

/// The physical line of a row.
pub(super) fn line_of(
    input: &Input,
    packing: Packing,
    row: u64,
    on_progress: OnProgress<'_>,
) -> Result<u64, TableError> {
    let mut csv = Csv::open(input, packing, on_progress)?;
    for _ in 0..=row {
        if !csv.read_row()? {
            return Err(TableError::Changed { file: input.name().to_owned() });
        }
    }
    Ok(csv.records.line())
}

/// The second pass.
pub(super) fn select(
    input: &Input,
    packing: Packing,
    matches: &Matches,
    seen: &Fingerprint,
    out: &mut (dyn Write + Send),
    on_progress: OnProgress<'_>,
) -> Result<(), TableError> {
    // What cannot be read now could be read before.
    let changed = || TableError::Changed { file: input.name().to_owned() };
    let or_changed = |error| match error {
        TableError::Syntax { .. } | TableError::Empty { .. } | TableError::Damaged { .. } => changed(),
        error => error,
    };
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let mut csv = Csv::open(input, packing, on_progress).map_err(or_changed)?;
    let records = &mut csv.records;
    let header = records.verbatim();
    let line_end: &[u8] = if header.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    out.write_all(records.mark())?;
    write_line(&mut out, header, line_end)?;
    let mut wanted = matches.rows().iter().copied().peekable();
    let mut row = 0;
    loop {
        if csv.records.read_block() {
            let end = row + csv.records.block_rows() as u64;
            while let Some(wanted) = wanted.next_if(|wanted| *wanted < end) {
                out.write_all(csv.records.block_record((wanted - row) as usize))?;
            }
            row = end;
        } else if csv.read_row().map_err(or_changed)? {
            if wanted.next_if_eq(&row).is_some() {
                write_line(&mut out, csv.records.verbatim(), line_end)?;
            }
            row += 1;
        } else {
            break;
        }
    }
    if csv.fingerprint().map_err(or_changed)? != *seen {
        return Err(changed());
    }
    Ok(out.flush()?)
}

fn write_line(out: &mut impl Write, line: &[u8], line_end: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    if line.ends_with(b"\n") { Ok(()) } else { out.write_all(line_end) }
}

/// A CSV input with its header read.
pub(crate) struct Csv<'a> {
    input: &'a Input,
    packing: Packing,
    pub(crate) records: Records<Decoder<Pass<'a>>>,
}

impl<'a> Csv<'a> {
    pub(crate) fn open(
        input: &'a Input,
        packing: Packing,
        on_progress: OnProgress<'a>,
    ) -> Result<Self, TableError> {
        let pass = input.pass(on_progress)?;
        let decoder = packing::decoder(packing, pass).map_err(|source| input.read_error(source))?;
        let mut csv = Csv { input, packing, records: Records::new(decoder) };
        match csv.records.read_header() {
            Ok(true) => Ok(csv),
            Ok(false) => Err(TableError::Empty { file: input.name().to_owned() }),
            Err(failure) => Err(csv.explain(failure)),
        }
    }

    #[inline]
    pub(crate) fn read_row(&mut self) -> Result<bool, TableError> {
        self.records.read_row().map_err(|failure| self.explain(failure))
    }

    /// The names in the header.
    pub(crate) fn columns(&self) -> Vec<String> {
        self.records.columns().iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// Where the key columns are in the header.
    pub(crate) fn find(&self, keys: &[KeySpec]) -> Result<Vec<usize>, TableError> {
        header::find(self.input.name(), keys, self.records.columns(), header::Where::FirstLine)
    }

    fn rows_hint(&self) -> usize {
        let (read, length) = (self.records.source().source().done(), self.input.length());
        // What is packed will go on as it began.
        let unpacked = u128::from(self.records.taken()) * u128::from(length) / u128::from(read.max(1));
        self.records.rows_hint(u64::try_from(unpacked).unwrap_or(u64::MAX))
    }

    /// What the pass saw, once it is at its end.
    fn fingerprint(mut self) -> Result<Fingerprint, TableError> {
        // A decoder may leave the last bytes in its buffer.
        let drained = io::copy(self.records.source_mut(), &mut io::sink());
        drained.map_err(|source| self.explain(Failure::Read(source)))?;
        Ok(self.records.source().source().fingerprint())
    }

    #[cold]
    fn explain(&self, failure: Failure) -> TableError {
        let file = self.input.name().to_owned();
        match failure {
            Failure::Read(source) => {
                let pass = self.records.source().source();
                if self.packing == Packing::None || pass.failed() {
                    return pass.explain(source);
                }
                let what = match source.kind() {
                    io::ErrorKind::UnexpectedEof => "it ends early; was it copied whole?",
                    _ => "its bytes do not unpack; was it damaged?",
                };
                let line = self.records.next_line();
                let place = if line > 1 { format!(", before line {line}") } else { String::new() };
                TableError::Damaged { file, format: self.packing.name(), place, what: what.to_owned() }
            }
            Failure::Syntax { line, what: Syntax::StrayQuote { field, .. } } => {
                let column = self.records.columns().get(field - 1).map(|name| shown(name));
                TableError::Syntax { file, line, what: Syntax::StrayQuote { field, column } }
            }
            Failure::Syntax { line, what } => TableError::Syntax { file, line, what },
        }
    }
}
