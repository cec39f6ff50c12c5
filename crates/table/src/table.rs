//! The two passes over a table: keys in, matching rows out.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use vesica_encode::items::{Encoding, Items, ItemsError, Matches, OnDuplicates};

use crate::collect::{Collector, RowFault};
use crate::csv::{Failure, Records};
use crate::error::{Syntax, TableError, shown};
use crate::format::Format;
use crate::input::{Fingerprint, Input, OnProgress, Pass, Progress};
use crate::key::KeySpec;
use crate::rule::Value;

/// What becomes of a row whose key is null or invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFault {
    /// The row is counted and left out.
    Skip,
    /// The run ends.
    Error,
}

/// What to make of an input.
#[derive(Clone, Debug)]
pub struct Request {
    /// The key columns, in the agreed order.
    pub keys: Vec<KeySpec>,
    /// What the items are to be.
    pub encoding: Encoding,
    /// Rows with a null key.
    pub on_null: OnFault,
    /// Rows with an invalid key.
    pub on_invalid: OnFault,
    /// Rows with the same key.
    pub on_duplicates: OnDuplicates,
}

impl Request {
    /// What happens if nothing else is asked for: null keys are skipped, invalid ones are errors, duplicates all count.
    pub fn new(keys: Vec<KeySpec>, encoding: Encoding) -> Self {
        let (on_null, on_invalid) = (OnFault::Skip, OnFault::Error);
        Request { keys, encoding, on_null, on_invalid, on_duplicates: OnDuplicates::All }
    }
}

/// What the first pass counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableReport {
    /// Rows, the header not counted.
    pub rows: u64,
    /// Distinct keys.
    pub items: u64,
    /// Rows with a null key.
    pub nulls: u64,
    /// Rows with an invalid key and no null one.
    pub invalid: u64,
    /// Rows with the key of an earlier row.
    pub duplicates: u64,
}

/// An input that has been read once and can give its rows.
#[derive(Debug)]
pub struct Table {
    input: Input,
    columns: Vec<String>,
    report: TableReport,
    fingerprint: Fingerprint,
}

impl Input {
    /// First pass: the items of the table.
    ///
    /// `on_progress` is called about once a MiB; `Break` ends the pass with [`TableError::Cancelled`].
    pub fn load(
        self,
        request: &Request,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Table, Items), TableError> {
        let loaded = match self.format() {
            Format::Csv => load_csv(&self, request, on_progress)?,
        };
        let Loaded { collector, columns, fingerprint } = loaded;
        let (items, report) = match collector.finish(request) {
            Ok(finished) => finished,
            Err(ItemsError::Duplicate { first, second }) => {
                let (first, second) = (self.line_of(first, on_progress)?, self.line_of(second, on_progress)?);
                return Err(TableError::Duplicate { file: self.name().to_owned(), first, second });
            }
            Err(error) => return Err(error.into()),
        };
        Ok((Table { input: self, columns, report, fingerprint }, items))
    }

    /// The physical line of a row, for an error that knows the row only.
    fn line_of(&self, row: u64, on_progress: OnProgress<'_>) -> Result<u64, TableError> {
        let mut csv = Csv::open(self, on_progress)?;
        for _ in 0..=row {
            if !csv.read_row()? {
                return Err(TableError::Changed { file: self.name().to_owned() });
            }
        }
        Ok(csv.records.line())
    }
}

impl Table {
    /// The names in the header.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// What the first pass counted.
    pub fn report(&self) -> TableReport {
        self.report
    }

    /// What errors call the input.
    pub fn name(&self) -> &str {
        self.input.name()
    }

    /// Second pass: the header and the matching rows, byte for byte as they are in the input, in its order.
    ///
    /// Only a last row without a line end gets one, the header's. Empty lines are not rows. An input that is not what
    /// the first pass read gives [`TableError::Changed`], and what `out` then holds is not to be used.
    pub fn select(
        &self,
        matches: &Matches,
        out: &mut dyn Write,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        let rows = self.report.rows;
        if let Some(&row) = matches.rows().last().filter(|row| **row >= rows) {
            return Err(TableError::NoSuchRow { row, rows });
        }
        match self.input.format() {
            Format::Csv => self.select_csv(matches, out, on_progress),
        }
    }

    fn select_csv(
        &self,
        matches: &Matches,
        out: &mut dyn Write,
        on_progress: OnProgress<'_>,
    ) -> Result<(), TableError> {
        let mut out = BufWriter::with_capacity(1 << 20, out);
        let failed = |source: io::Error| TableError::Write { path: "output".to_owned(), source };
        let mut csv = Csv::open(&self.input, on_progress).map_err(|error| self.changed(error))?;
        let records = &mut csv.records;
        let header = records.verbatim();
        let line_end: &[u8] = if header.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
        out.write_all(records.mark()).map_err(failed)?;
        write_line(&mut out, header, line_end).map_err(failed)?;
        let mut wanted = matches.rows().iter().copied().peekable();
        let mut row = 0;
        while csv.read_row().map_err(|error| self.changed(error))? {
            if wanted.next_if_eq(&row).is_some() {
                write_line(&mut out, csv.records.verbatim(), line_end).map_err(failed)?;
            }
            row += 1;
        }
        if csv.records.source().fingerprint() != self.fingerprint {
            return Err(TableError::Changed { file: self.input.name().to_owned() });
        }
        out.flush().map_err(failed)
    }

    /// What cannot be read now could be read before.
    fn changed(&self, error: TableError) -> TableError {
        match error {
            TableError::Syntax { .. } | TableError::Empty { .. } => {
                TableError::Changed { file: self.input.name().to_owned() }
            }
            error => error,
        }
    }
}

fn write_line(out: &mut impl Write, line: &[u8], line_end: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    if line.ends_with(b"\n") { Ok(()) } else { out.write_all(line_end) }
}

/// A CSV input with its header read.
struct Csv<'a> {
    input: &'a Input,
    records: Records<Pass<'a>>,
}

impl<'a> Csv<'a> {
    fn open(input: &'a Input, on_progress: OnProgress<'a>) -> Result<Self, TableError> {
        let mut csv = Csv { input, records: Records::new(input.pass(on_progress)?) };
        match csv.records.read_header() {
            Ok(true) => Ok(csv),
            Ok(false) => Err(TableError::Empty { file: input.name().to_owned() }),
            Err(failure) => Err(csv.explain(failure)),
        }
    }

    #[inline]
    fn read_row(&mut self) -> Result<bool, TableError> {
        self.records.read_row().map_err(|failure| self.explain(failure))
    }

    #[cold]
    fn explain(&self, failure: Failure) -> TableError {
        let file = self.input.name().to_owned();
        match failure {
            Failure::Read(source) => self.records.source().explain(source),
            Failure::Syntax { line, what: Syntax::StrayQuote { field, .. } } => {
                let column = self.records.columns().get(field - 1).map(|name| shown(name));
                TableError::Syntax { file, line, what: Syntax::StrayQuote { field, column } }
            }
            Failure::Syntax { line, what } => TableError::Syntax { file, line, what },
        }
    }

    #[cold]
    fn explain_row(&self, request: &Request, fault: RowFault) -> TableError {
        let (file, line) = (self.input.name().to_owned(), self.records.line());
        match fault {
            RowFault::Null { part } => {
                TableError::Null { file, line, column: shown(request.keys[part].column.as_bytes()) }
            }
            RowFault::Invalid { part, reason } => {
                let KeySpec { column, rule } = &request.keys[part];
                TableError::Invalid { file, line, column: shown(column.as_bytes()), rule: *rule, reason }
            }
            RowFault::Items(ItemsError::TooManyRows) => TableError::TooManyRows { file },
            RowFault::Items(error) => TableError::Items(error),
        }
    }

    /// Where the key columns are in the header.
    fn find(&self, keys: &[KeySpec]) -> Result<Vec<usize>, TableError> {
        let columns = self.records.columns();
        let find = |key: &KeySpec| {
            let mut found = (0..columns.len()).filter(|at| columns[*at] == key.column.as_bytes());
            match (found.next(), found.next()) {
                (Some(at), None) => Ok(at),
                (None, _) => Err(header::missing(self.input.name(), &key.column, columns)),
                (Some(_), Some(_)) => Err(TableError::RepeatedColumn {
                    file: self.input.name().to_owned(),
                    column: shown(key.column.as_bytes()),
                }),
            }
        };
        keys.iter().map(find).collect()
    }
}

struct Loaded {
    collector: Collector,
    columns: Vec<String>,
    fingerprint: Fingerprint,
}

fn load_csv(input: &Input, request: &Request, on_progress: OnProgress<'_>) -> Result<Loaded, TableError> {
    let mut csv = Csv::open(input, on_progress)?;
    let places = csv.find(&request.keys)?;
    let mut collector = Collector::new(request, csv.records.rows_hint(input.length()))?;
    while csv.read_row()? {
        let records = &csv.records;
        let value = |part: usize| match records.field(places[part]) {
            field if field.is_empty() => Value::Null,
            field => Value::Text(field),
        };
        if let Err(fault) = collector.row(value) {
            return Err(csv.explain_row(request, fault));
        }
    }
    let columns =
        csv.records.columns().iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Ok(Loaded { collector, columns, fingerprint: csv.records.source().fingerprint() })
}

mod header;

#[cfg(test)]
mod tests;
