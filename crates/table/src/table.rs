//! The two passes over a table: keys in, matching rows out.

use std::io::Write;
use std::ops::ControlFlow;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use vesica_encode::items::{Items, ItemsError};
use vesica_text::{Text, text as said};

use crate::added::Added;
use crate::attach::{Attached, Carried, blocks, summed};
use crate::collect::{Collector, Loading, Rows};
use crate::columnar::{self, Sink};
use crate::error::{Place, TableError};
use crate::format::Format;
use crate::header::Needed;
use crate::hints::Hints;
use crate::input::{Input, OnProgress, Progress};
use crate::inspect::KeyHint;
use crate::payload::PayloadRows;
use crate::request::{Chosen, Loaded, Request, RuleReport, Seen, TableReport, Whole};
use crate::rows::RowSet;
use crate::shown::shown;
use crate::sink::{self, Digested, RowSink};

mod text;

pub(crate) use text::{Cuts, Writing, writing};

/// An input that has been read once and can give its rows.
#[derive(Debug)]
pub struct Table {
    input: Input,
    columns: Vec<String>,
    report: TableReport,
    /// What the first pass saw of each file.
    seen: Vec<Seen>,
    /// Threads that may work on it.
    threads: usize,
    /// What the rows carry, until [`Table::attached`] takes it.
    carried: Carried,
    /// The names of the columns that it is from.
    value_columns: Vec<String>,
    /// The rules to match by, as the output names them; several, or one that it does not name.
    rules: Vec<String>,
    of_rules: Vec<RuleReport>,
    hints: Vec<KeyHint>,
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
        self.load_unless(request, &mut |_| ControlFlow::Continue(()), on_progress)
    }

    /// As [`load`](Self::load), unless `on_rows` ends it, which is called before all rows with their approximate number (0
    /// if unknown).
    pub fn load_unless(
        self,
        request: &Request,
        on_rows: &mut dyn FnMut(usize) -> ControlFlow<()>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Table, Items), TableError> {
        let begin = |rows_hint| {
            if on_rows(rows_hint).is_break() {
                return Err(TableError::Cancelled);
            }
            let carried = Carried::new(&request.attach, rows_hint);
            Ok(Loading {
                file: self.name(),
                request,
                collector: Collector::new(request, rows_hint)?,
                carried,
            })
        };
        let Whole { rows, columns, seen } =
            self.read(request.threads, &request.needed(), begin, on_progress)?;
        let Loading { collector, carried, .. } = rows;
        let of_rules = (collector.of_rules(), collector.hints());
        let (items, report) = match collector.finish(request) {
            Ok(finished) => finished,
            Err(ItemsError::Duplicate { first, second }) => {
                let rows = [first, second].map(|key| key / request.keys.count() as u64);
                return Err(self.duplicate(&seen, rows, on_progress));
            }
            Err(error) => return Err(error.into()),
        };
        let value_columns = request.attach.needed().map(|needed| needed.name.to_owned()).collect();
        let table = self.read_by(request, (report, of_rules), (columns, seen));
        Ok((Table { carried, value_columns, ..table }, items))
    }

    /// First pass over a table of any length: hands the digest of each row's key to `sink`, and keeps none.
    ///
    /// What the rows carry beside their keys is not read, and duplicates are not looked for: the report has no
    /// items and no duplicates until [`Table::with_counts`].
    pub fn load_into(
        self,
        request: &Request,
        sink: &mut dyn RowSink,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Table, TableError> {
        let keys: Vec<Needed<'_>> = request.keys.columns().map(Needed::key).collect();
        let loading = |rows_hint: usize| {
            let collector = Collector::new(request, rows_hint.min(sink::BATCH))?;
            Ok::<_, TableError>(Loading { file: self.name(), request, collector, carried: Carried::Nothing })
        };
        let threads = request.threads.min(sink::MOST_THREADS);
        let read =
            self.read(threads, &keys, |hint| Digested::new(loading(hint)?, sink, hint), on_progress)?;
        let Whole { rows, columns, seen } = read;
        let collector = rows.finish()?.collector;
        Ok(self.read_by(
            request,
            (collector.report(), (collector.of_rules(), collector.hints())),
            (columns, seen),
        ))
    }

    /// The table that such a first pass has read, whose rows carry nothing.
    fn read_by(
        self,
        request: &Request,
        (report, (of_rules, hints)): (TableReport, (Vec<RuleReport>, Vec<Hints>)),
        (columns, seen): (Vec<String>, Vec<Seen>),
    ) -> Table {
        Table {
            input: self,
            columns,
            report,
            seen,
            threads: request.threads,
            carried: Carried::Nothing,
            value_columns: Vec::new(),
            rules: request.keys.iter().map(ToString::to_string).collect(),
            of_rules,
            hints: KeyHint::of(&request.keys, hints),
            numbers: None,
            payload: None,
        }
    }

    /// Checks that [`Table::select`] can write rows of this input, before a run depends on it. A columnar input may have
    /// columns that can be read but not written.
    pub fn check_rows(
        &self,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        self.alike()?;
        self.check_one_output()?;
        match self.format() {
            Format::Csv(_) => Ok(()),
            _ => columnar::check_rows(self, on_progress),
        }
    }

    /// Passes over the values of these columns in all rows, file after file.
    pub(crate) fn read<'r, S: Rows<'r>>(
        &'r self,
        threads: usize,
        needed: &[Needed<'_>],
        begin: impl FnOnce(usize) -> Result<S, TableError>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Whole<S>, TableError> {
        let of_all = self.files().map(|_| self.alike()).transpose()?;
        let first = |hint| begin(of_all.unwrap_or(hint));
        let Loaded { mut rows, columns, fingerprint, cuts, left_out } =
            self.one(0)?.read_one(threads, needed, first, &mut self.within(0, on_progress))?;
        let mut seen = vec![Seen { rows: rows.count(), fingerprint, cuts, left_out }];
        for index in 1..self.file_count() {
            let before = rows.count();
            rows.in_file(self.name_of(index));
            let file = self.one(index)?;
            let next = file.read_one(threads, needed, |_| Ok(rows), &mut self.within(index, on_progress))?;
            if next.columns != columns {
                return Err(TableError::Changed { file: self.name_of(index).to_owned() });
            }
            let Loaded { fingerprint, cuts, left_out, .. } = next;
            rows = next.rows;
            seen.push(Seen { rows: rows.count() - before, fingerprint, cuts, left_out });
        }
        Ok(Whole { rows, columns, seen })
    }

    fn read_one<'r, S: Rows<'r>>(
        &self,
        threads: usize,
        needed: &[Needed<'_>],
        begin: impl FnOnce(usize) -> Result<S, TableError>,
        on_progress: OnProgress<'_>,
    ) -> Result<Loaded<S>, TableError> {
        match self.format() {
            Format::Csv(packing) => text::read((self, packing), threads, needed, begin, on_progress),
            _ => columnar::read(self, threads, needed, begin, on_progress),
        }
    }

    /// What is told of rows that were left out for their number of fields, for the first files that have some.
    pub(crate) fn left_out<'s>(&'s self, seen: &'s [Seen]) -> impl Iterator<Item = Text> + use<'s> {
        const TOLD: usize = 10;
        let several = self.file_count() > 1;
        let first = if self.dialect().header { "header" } else { "first line" };
        let of_file = move |(index, seen): (usize, &Seen)| {
            let told = seen.left_out.told(first)?;
            Some(if several { said!("{}: {}", self.name_of(index).to_owned(), told) } else { told })
        };
        let more = match seen.iter().filter(|seen| seen.left_out.any()).count() {
            files if files <= TOLD => None,
            files => Some(said!(
                "{} more {} rows that were left out (`[ragged skip]`)",
                files - TOLD,
                if files == TOLD + 1 { "file has" } else { "files have" }
            )),
        };
        seen.iter().enumerate().filter_map(of_file).take(TOLD).chain(more)
    }

    fn duplicate(
        &self,
        seen: &[Seen],
        [first, second]: [u64; 2],
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> TableError {
        let mut place = |row| self.place_of(seen, row, on_progress);
        match (place(first), place(second)) {
            (Ok((file, first)), Ok((second_file, second))) => {
                let second_file = Some(second_file).filter(|second_file| *second_file != file);
                TableError::Duplicate { file, first, second, second_file }
            }
            (Err(error), _) | (_, Err(error)) => error,
        }
    }

    /// The file and the position of a row, for an error that has only its number.
    fn place_of(
        &self,
        seen: &[Seen],
        mut row: u64,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(String, Place), TableError> {
        let mut index = 0;
        while let Some(Seen { rows, .. }) = seen[..seen.len() - 1].get(index).filter(|seen| seen.rows <= row)
        {
            row -= rows;
            index += 1;
        }
        let file = self.one_again(index)?;
        let place = match self.format() {
            Format::Csv(packing) => text::line_of(&file, packing, row, on_progress).map(Place::Line)?,
            _ => Place::Row(row + 1),
        };
        Ok((file.name().to_owned(), place))
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

    /// How many keys its rows have each, those that are missing counted: one for each rule to match by.
    pub fn keys_of_row(&self) -> usize {
        self.rules.len()
    }

    /// The rules to match by, as the output names them, and what each made of the rows.
    pub fn rules(&self) -> impl Iterator<Item = (&str, RuleReport)> {
        self.rules.iter().map(String::as_str).zip(self.of_rules.iter().copied())
    }

    /// This table with the counts that whoever took its keys has found.
    #[must_use]
    pub fn with_counts(self, items: u64, duplicates: u64) -> Self {
        let report = TableReport { items, duplicates, ..self.report };
        Table { report, ..self }
    }

    /// The error for two keys that are the same, which says where their rows are.
    pub fn duplicate(
        &self,
        (first, second): (u64, u64),
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> TableError {
        let rows = [first, second].map(|key| self.row_of(key));
        self.input.duplicate(&self.seen, rows, on_progress)
    }

    /// The row of a key.
    fn row_of(&self, key: u64) -> u64 {
        key / self.rules.len().max(1) as u64
    }

    /// Values of key columns that are valid and hardly what anybody means.
    pub fn hints(&self) -> &[KeyHint] {
        &self.hints
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

    /// This table, whose matching rows get one more column: their match numbers, in the order of the
    /// matching keys.
    #[must_use]
    pub fn with_numbers(self, numbers: Option<Vec<u64>>) -> Self {
        Table { numbers, ..self }
    }

    /// This table, whose matching rows get the partner's columns too. A column whose name the table has already ends
    /// in `_partner`.
    #[must_use]
    pub fn with_payload(self, payload: Option<PayloadRows>) -> Self {
        Table { payload, ..self }
    }

    /// Checks that the output can have what it will have beside the input's columns: the partner's columns of these names,
    /// the rules to match by, and `numbers`. A text without quotes may lack a way to write them.
    pub fn check_added(&self, payload: &[String], numbers: bool) -> Result<(), TableError> {
        let Format::Csv(packing) = self.format() else { return Ok(()) };
        let rules = self.added().rules.unwrap_or_default();
        let payload = PayloadRows::new(payload.to_vec(), 1, Vec::new(), Vec::new());
        let added = Added { payload: payload.as_ref(), numbers: numbers.then_some(&[]), ..self.added() };
        let fields = added.names(&self.columns).into_iter().chain(rules.iter().cloned());
        text::check_fields(&*self.input.one(0)?, packing, fields, &mut |_| ControlFlow::Continue(()))
    }

    /// What is told of rows of a text that were left out for their number of fields, file by file: for ten files, and how
    /// many more there are.
    pub fn left_out(&self) -> impl Iterator<Item = Text> {
        self.input.left_out(&self.seen)
    }

    /// The partner's columns in an output without a header: the number of each, from 1 on, and its name at the partner.
    pub fn unnamed(&self) -> impl Iterator<Item = (usize, &str)> {
        let no_header = matches!(self.format(), Format::Csv(_)) && !self.input.dialect().header;
        let names = self.payload.iter().filter(move |_| no_header).flat_map(PayloadRows::names);
        (self.columns.len() + 1..).zip(names.map(String::as_str))
    }

    /// Second pass: the matching rows, in the input's order and format. With several rules to match by, `rows` are the
    /// matching keys, and the output says by which rule a row matches.
    ///
    /// For a text file, `out` gets the header and the records byte for byte, not compressed. A last row
    /// without a line end gets the line end of the first line. Empty lines and comments are not rows, nor are rows that
    /// [`Ragged::Skip`](crate::Ragged::Skip) leaves out; skipped lines come before the header. For a columnar file,
    /// `out` gets a file of the same format, schema and notes, and for record batches an Arrow IPC stream. If
    /// the input is not what the first pass read, the error is [`TableError::Changed`], and the content of
    /// `out` must not be used.
    pub fn select<'r>(
        &self,
        rows: impl Into<RowSet<'r>>,
        out: &mut (dyn Write + Send),
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        let chosen = self.chosen(rows.into())?;
        self.input.check_listing()?;
        match self.input.format() {
            Format::Csv(packing) => text::select(&self.input, packing, chosen, &self.seen, out, on_progress),
            _ => columnar::select(&self.input, chosen, &self.seen, &mut Sink::Out(Some(out)), on_progress),
        }
    }

    /// Second pass over a columnar input: hands the matching rows to `take` as record batches. `take` may end
    /// the pass with `Break`.
    pub fn select_batches<'r>(
        &self,
        rows: impl Into<RowSet<'r>>,
        take: &mut dyn FnMut(RecordBatch) -> ControlFlow<()>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        let chosen = self.chosen(rows.into())?;
        self.input.check_listing()?;
        // Checked before the pass, whose error would be another one.
        self.schema()?;
        columnar::select(&self.input, chosen, &self.seen, &mut Sink::Taker(take), on_progress)
    }

    /// The schema of the batches that [`Table::select_batches`] gives.
    pub fn schema(&self) -> Result<SchemaRef, TableError> {
        match self.input.format() {
            Format::Csv(_) => Err(TableError::NoBatches { file: self.input.name().to_owned() }),
            _ => columnar::schema_of_rows(&self.input)
                .map(|schema| if self.added().is_empty() { schema } else { self.added().schema(&schema) }),
        }
    }

    /// What goes with these items, which came from this table and may have dummies since. It leaves the table, so a
    /// second call has nothing.
    ///
    /// # Errors
    /// The sum over the rows of a key is too large, or rows of a key have different payloads. The error names the rows.
    pub fn attached(&mut self, items: &Items, on_progress: OnProgress<'_>) -> Result<Attached, TableError> {
        match std::mem::replace(&mut self.carried, Carried::Nothing) {
            Carried::Nothing => Ok(Attached::Nothing),
            Carried::Values(columns) => {
                let mut sums = Vec::with_capacity(columns.len());
                for (part, numbers) in columns.into_iter().enumerate() {
                    match summed(items, &numbers, self.rules.len()) {
                        Ok(column) => sums.push(column),
                        Err(row) => {
                            let (file, place) = self.input().place_of(&self.seen, row, on_progress)?;
                            let column = shown(self.value_columns[part].as_bytes());
                            return Err(TableError::ValueOverflow { file, place, column });
                        }
                    }
                }
                Ok(Attached::Values(sums))
            }
            Carried::Payloads { width, text, ends } => {
                match blocks(items, width, (&text, &ends), self.rules.len()) {
                    Ok(blocks) => Ok(Attached::Payloads { blocks, width }),
                    Err((first, second)) => {
                        let (file, first) = self.input().place_of(&self.seen, first, on_progress)?;
                        let (second_file, second) = self.input().place_of(&self.seen, second, on_progress)?;
                        let second_file = Some(second_file).filter(|second_file| *second_file != file);
                        Err(TableError::PayloadsDiffer { file, first, second, second_file })
                    }
                }
            }
        }
    }

    fn chosen<'a>(&'a self, keys: RowSet<'a>) -> Result<Chosen<'a>, TableError> {
        let there = self.report.rows;
        let added = self.added();
        match keys.last().map(|key| self.row_of(key)) {
            Some(row) if row >= there => Err(TableError::NoSuchRow { row, rows: there }),
            _ if !added.fits(keys.len()) => Err(TableError::Numbers { rows: keys.len() }),
            _ => Ok(Chosen { keys, rules: self.rules.len(), added, threads: self.threads }),
        }
    }

    fn added(&self) -> Added<'_> {
        let rules = Some(&self.rules[..]).filter(|rules| rules.len() > 1);
        Added { payload: self.payload.as_ref(), rules, numbers: self.numbers.as_deref() }
    }
}

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
mod messy_tests;
#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod variants_tests;
