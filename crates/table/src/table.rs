//! The two passes over a table: keys in, matching rows out.

use std::io::Write;
use std::ops::ControlFlow;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use vesica_encode::items::{Encoding, Items, ItemsError, Matches, OnDuplicates};

use crate::collect::{Collector, Loading, Rows};
use crate::columnar::{self, Sink};
use crate::error::{Place, TableError};
use crate::format::Format;
use crate::input::{Fingerprint, Input, Progress};
use crate::key::KeySpec;
use crate::numbers;

pub(crate) mod header;
mod text;

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
    seen: Fingerprint,
    numbers: Option<Vec<u64>>,
}

/// Rows that are to leave, and their match numbers, if they are to have them.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<'a> {
    pub(crate) rows: &'a [u64],
    pub(crate) numbers: Option<&'a [u64]>,
}

/// What a first pass leaves behind.
pub(crate) struct Loaded<S> {
    pub(crate) rows: S,
    pub(crate) columns: Vec<String>,
    pub(crate) fingerprint: Fingerprint,
}

impl Input {
    /// First pass: the items of the table.
    ///
    /// `on_progress` is called several times a MiB; `Break` ends the pass with [`TableError::Cancelled`].
    pub fn load(
        self,
        request: &Request,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Table, Items), TableError> {
        let begin = |rows_hint| {
            Ok(Loading { file: self.name(), request, collector: Collector::new(request, rows_hint)? })
        };
        let Loaded { rows, columns, fingerprint } = self.read(&request.keys, begin, on_progress)?;
        let (items, report) = match rows.collector.finish(request) {
            Ok(finished) => finished,
            Err(ItemsError::Duplicate { first, second }) => {
                let mut place = |row| self.place_of(row, on_progress);
                let (first, second) = (place(first)?, place(second)?);
                return Err(TableError::Duplicate { file: self.name().to_owned(), first, second });
            }
            Err(error) => return Err(error.into()),
        };
        Ok((Table { input: self, columns, report, seen: fingerprint, numbers: None }, items))
    }

    /// A pass over the key values of all rows.
    pub(crate) fn read<S: Rows>(
        &self,
        keys: &[KeySpec],
        begin: impl FnOnce(usize) -> Result<S, TableError>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Loaded<S>, TableError> {
        match self.format() {
            Format::Csv(packing) => text::read(self, packing, keys, begin, on_progress),
            _ => columnar::read(self, keys, begin, on_progress),
        }
    }

    /// Where a row is, for an error that knows its number only.
    fn place_of(
        &self,
        row: u64,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Place, TableError> {
        match self.format() {
            Format::Csv(packing) => text::line_of(self, packing, row, on_progress).map(Place::Line),
            _ => Ok(Place::Row(row + 1)),
        }
    }
}

impl Table {
    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// What the first pass counted.
    pub fn report(&self) -> TableReport {
        self.report
    }

    pub(crate) fn input(&self) -> &Input {
        &self.input
    }

    /// What errors call the input.
    pub fn name(&self) -> &str {
        self.input.name()
    }

    /// The format of the input, in which its rows leave.
    pub fn format(&self) -> Format {
        self.input.format()
    }

    /// The same table, whose matching rows leave with one more column: their match numbers, in the order of the rows.
    #[must_use]
    pub fn with_numbers(self, numbers: Option<Vec<u64>>) -> Self {
        Table { numbers, ..self }
    }

    /// Second pass: the matching rows, in the input's order and format.
    ///
    /// Of a text file the header and the records byte for byte, not compressed; only a last row without a line end gets
    /// one, the first one's, and empty lines are not rows. Of a columnar file one of the same format, schema and notes;
    /// record batches leave as an Arrow IPC stream. An input that is not what the first pass read gives
    /// [`TableError::Changed`], and what `out` then holds is not to be used.
    pub fn select(
        &self,
        matches: &Matches,
        out: &mut (dyn Write + Send),
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        let chosen = self.chosen(matches)?;
        match self.input.format() {
            Format::Csv(packing) => text::select(&self.input, packing, chosen, &self.seen, out, on_progress),
            _ => columnar::select(&self.input, chosen, &self.seen, &mut Sink::Out(Some(out)), on_progress),
        }
    }

    /// Second pass over a columnar input: the matching rows as record batches, which `take` may end with `Break`.
    pub fn select_batches(
        &self,
        matches: &Matches,
        take: &mut dyn FnMut(RecordBatch) -> ControlFlow<()>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        let chosen = self.chosen(matches)?;
        // Before the passes, whose error would be another.
        self.schema()?;
        columnar::select(&self.input, chosen, &self.seen, &mut Sink::Taker(take), on_progress)
    }

    /// The schema of the batches that [`Table::select_batches`] gives.
    pub fn schema(&self) -> Result<SchemaRef, TableError> {
        match self.input.format() {
            Format::Csv(_) => Err(TableError::NoBatches { file: self.input.name().to_owned() }),
            _ => columnar::schema(&self.input)
                .map(|schema| if self.numbers.is_some() { numbers::schema(&schema) } else { schema }),
        }
    }

    fn chosen<'a>(&'a self, matches: &'a Matches) -> Result<Chosen<'a>, TableError> {
        let (rows, there) = (matches.rows(), self.report.rows);
        let numbers = self.numbers.as_deref();
        match rows.last() {
            Some(&row) if row >= there => Err(TableError::NoSuchRow { row, rows: there }),
            _ if numbers.is_some_and(|numbers| numbers.len() != rows.len()) => {
                Err(TableError::Numbers { rows: rows.len() })
            }
            _ => Ok(Chosen { rows, numbers }),
        }
    }
}

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
mod tests;
