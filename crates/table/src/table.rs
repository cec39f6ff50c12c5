//! The two passes over a table: keys in, matching rows out.

use std::io::Write;
use std::ops::ControlFlow;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use vesica_encode::items::{Items, ItemsError, Matches};

use crate::added::Added;
use crate::attach::Carried;
use crate::collect::{Collector, Loading, Rows};
use crate::columnar::{self, Sink};
use crate::error::{Place, TableError};
use crate::format::Format;
use crate::header::Needed;
use crate::input::{Fingerprint, Input, Progress};
use crate::payload::PayloadRows;
use crate::request::{Chosen, Loaded, Request, TableReport};

mod text;

pub(crate) use text::quoted;

/// An input that has been read once and can give its rows.
#[derive(Debug)]
pub struct Table {
    input: Input,
    columns: Vec<String>,
    report: TableReport,
    seen: Fingerprint,
    /// What the rows carry, until [`Table::attached`] takes it.
    pub(crate) carried: Carried,
    /// The names of the columns that it is from.
    pub(crate) value_columns: Vec<String>,
    numbers: Option<Vec<u64>>,
    payload: Option<PayloadRows>,
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
            let carried = Carried::new(&request.attach, rows_hint);
            Ok(Loading {
                file: self.name(),
                request,
                collector: Collector::new(request, rows_hint)?,
                carried,
            })
        };
        let Loaded { rows, columns, fingerprint } = self.read(&request.needed(), begin, on_progress)?;
        let Loading { collector, carried, .. } = rows;
        let (items, report) = match collector.finish(request) {
            Ok(finished) => finished,
            Err(ItemsError::Duplicate { first, second }) => {
                let mut place = |row| self.place_of(row, on_progress);
                let (first, second) = (place(first)?, place(second)?);
                return Err(TableError::Duplicate { file: self.name().to_owned(), first, second });
            }
            Err(error) => return Err(error.into()),
        };
        let value_columns = request.attach.needed().map(|needed| needed.name.to_owned()).collect();
        let (numbers, payload) = (None, None);
        let seen = fingerprint;
        Ok((Table { input: self, columns, report, seen, carried, value_columns, numbers, payload }, items))
    }

    /// Passes over the values of these columns in all rows.
    pub(crate) fn read<S: Rows>(
        &self,
        needed: &[Needed<'_>],
        begin: impl FnOnce(usize) -> Result<S, TableError>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Loaded<S>, TableError> {
        match self.format() {
            Format::Csv(packing) => text::read(self, packing, needed, begin, on_progress),
            _ => columnar::read(self, needed, begin, on_progress),
        }
    }

    /// The position of a row, for an error that has only its number.
    pub(crate) fn place_of(
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

    /// The counts of the first pass.
    pub fn report(&self) -> TableReport {
        self.report
    }

    pub(crate) fn input(&self) -> &Input {
        &self.input
    }

    /// The name of the input in errors.
    pub fn name(&self) -> &str {
        self.input.name()
    }

    /// The format of the input, which is also the format of the output.
    pub fn format(&self) -> Format {
        self.input.format()
    }

    /// The same table, whose matching rows get one more column: their match numbers, in the order of the
    /// rows.
    #[must_use]
    pub fn with_numbers(self, numbers: Option<Vec<u64>>) -> Self {
        Table { numbers, ..self }
    }

    /// The same table, whose matching rows get the partner's columns too. A column whose name the table has already ends
    /// in `_partner`.
    #[must_use]
    pub fn with_payload(self, payload: Option<PayloadRows>) -> Self {
        Table { payload, ..self }
    }

    /// The partner's columns in an output without a header: the number of each, from 1 on, and its name at the partner.
    pub fn unnamed(&self) -> impl Iterator<Item = (usize, &str)> {
        let no_header = matches!(self.format(), Format::Csv(_)) && !self.input.dialect().header;
        let names = self.payload.iter().filter(move |_| no_header).flat_map(PayloadRows::names);
        (self.columns.len() + 1..).zip(names.map(String::as_str))
    }

    /// Second pass: the matching rows, in the input's order and format.
    ///
    /// For a text file, `out` gets the header and the records byte for byte, not compressed. A last row
    /// without a line end gets the line end of the first line. Empty lines are not rows. For a columnar file,
    /// `out` gets a file of the same format, schema and notes, and for record batches an Arrow IPC stream. If
    /// the input is not what the first pass read, the error is [`TableError::Changed`], and the content of
    /// `out` must not be used.
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

    /// Second pass over a columnar input: hands the matching rows to `take` as record batches. `take` may end
    /// the pass with `Break`.
    pub fn select_batches(
        &self,
        matches: &Matches,
        take: &mut dyn FnMut(RecordBatch) -> ControlFlow<()>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        let chosen = self.chosen(matches)?;
        // Checked before the pass, whose error would be another one.
        self.schema()?;
        columnar::select(&self.input, chosen, &self.seen, &mut Sink::Taker(take), on_progress)
    }

    /// The schema of the batches that [`Table::select_batches`] gives.
    pub fn schema(&self) -> Result<SchemaRef, TableError> {
        match self.input.format() {
            Format::Csv(_) => Err(TableError::NoBatches { file: self.input.name().to_owned() }),
            _ => columnar::schema(&self.input)
                .map(|schema| if self.added().is_empty() { schema } else { self.added().schema(&schema) }),
        }
    }

    fn chosen<'a>(&'a self, matches: &'a Matches) -> Result<Chosen<'a>, TableError> {
        let (rows, there) = (matches.rows(), self.report.rows);
        let added = self.added();
        match rows.last() {
            Some(&row) if row >= there => Err(TableError::NoSuchRow { row, rows: there }),
            _ if !added.fits(rows.len()) => Err(TableError::Numbers { rows: rows.len() }),
            _ => Ok(Chosen { rows, added }),
        }
    }

    fn added(&self) -> Added<'_> {
        Added { payload: self.payload.as_ref(), numbers: self.numbers.as_deref() }
    }
}

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
mod tests;
