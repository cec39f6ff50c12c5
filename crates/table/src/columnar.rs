//! Columnar inputs: Parquet, Arrow IPC, and record batches in memory.
//!
//! Both passes go over batches of rows, with a few batches for each thread in memory at a time. The first pass decodes
//! only the key columns. The second pass skips row groups without a match and copies the matching rows of the
//! others, with the filter kernel, into the input's format and schema.

use crate::added::Added;
use crate::collect::Rows;
use crate::csv::LeftOut;
use crate::error::{Place, TableError};
use crate::format::Format;
use crate::header::{self, Needed, Purpose};
use crate::input::{Fingerprint, Input, OnProgress, Progress};
use crate::request::{Chosen, Loaded, Seen};
use crate::rows::{Ascending, MatchedRow};
use crate::rule::{Rule, Value};
use crate::shown::shown;
use crate::table::Cuts;
use ::parquet::errors::ParquetError;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};

mod calendar;
mod claims;
mod groups;
mod guard;
mod int96;
mod ipc;
mod layout;
mod parquet;
mod pieces;
mod several;
pub(crate) mod text;
mod write;

pub use guard::decoding;
pub(crate) use several::{Layout, dictionary, layout, schema_of_rows};
pub(crate) use write::{Failure as Unwritten, Sink};

use guard::guarded;
use several::settle_units;
use text::Texts;

/// The columns that a pass gives.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// These, in ascending order, as the text of keys is made of them.
    Columns(&'a [usize]),
    /// All, for a caller.
    All,
    /// All, as they are copied to an output.
    Stored,
    /// None: only names and types are wanted.
    Names,
}

impl<'a> Wanted<'a> {
    /// The columns; none if they are all.
    fn columns(self) -> Option<&'a [usize]> {
        match self {
            Wanted::Columns(columns) => Some(columns),
            _ => None,
        }
    }
}

/// A pass over the rows of a columnar input, batch by batch.
pub(crate) struct Scan<'a> {
    schema: SchemaRef,
    source: Source<'a>,
    /// The row that the next batch begins with.
    row: u64,
}

enum Source<'a> {
    Parquet(Box<parquet::Groups<'a>>),
    Ipc(ipc::Messages<'a>),
    Batches(Given<'a>),
}

/// Batches in memory. A data frame may be one batch of any length, so a pass reads slices of it, which are
/// views.
struct Given<'a> {
    left: std::slice::Iter<'a, RecordBatch>,
    /// The rest of the current batch.
    batch: RecordBatch,
    columns: Option<Vec<usize>>,
    /// In rows.
    progress: Progress,
    on_progress: OnProgress<'a>,
}

/// Rows of a slice: of some columns, few enough that all threads have one at the end; of all, as many as an output's batch.
const BATCHES: [usize; 2] = [1 << 13, 1 << 16];

impl Given<'_> {
    fn next(&mut self) -> Result<Option<RecordBatch>, TableError> {
        while self.batch.num_rows() == 0 {
            let Some(batch) = self.left.next() else { return Ok(None) };
            self.batch = match &self.columns {
                // The positions come from the schema that all batches have.
                Some(columns) => batch.project(columns).unwrap_or_else(|_| batch.clone()),
                None => batch.clone(),
            };
        }
        if (self.on_progress)(self.progress).is_break() {
            return Err(TableError::Cancelled);
        }
        let most = BATCHES[usize::from(self.columns.is_none())];
        let rows = self.batch.num_rows().min(most);
        self.progress.done += rows as u64;
        let slice = self.batch.slice(0, rows);
        self.batch = self.batch.slice(rows, self.batch.num_rows() - rows);
        Ok(Some(slice))
    }
}

impl<'a> Scan<'a> {
    /// Begins a pass.
    pub(crate) fn open(
        input: &'a Input,
        wanted: Wanted<'_>,
        on_progress: OnProgress<'a>,
    ) -> Result<Self, TableError> {
        let (schema, source) = match input.format() {
            Format::Parquet => {
                let groups = parquet::Groups::open(input, wanted, on_progress)?;
                (groups.schema(), Source::Parquet(Box::new(groups)))
            }
            Format::Batches => {
                let (schema, batches) = input.batches();
                let rows =
                    |batches: &[RecordBatch]| batches.iter().map(|batch| batch.num_rows() as u64).sum();
                let given = Given {
                    left: batches.iter(),
                    batch: RecordBatch::new_empty(schema.clone()),
                    columns: wanted.columns().map(<[usize]>::to_vec),
                    progress: Progress { done: 0, total: rows(batches) },
                    on_progress,
                };
                (schema, Source::Batches(given))
            }
            _ => {
                let messages = ipc::Messages::open(input, wanted.columns(), on_progress)?;
                (messages.schema(), Source::Ipc(messages))
            }
        };
        Ok(Scan { schema, source, row: 0 })
    }

    /// The columns that the pass gives.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Approximately how many rows there are; 0 if unknown.
    pub(crate) fn rows_hint(&self) -> usize {
        match &self.source {
            Source::Parquet(groups) => groups.rows_hint(),
            Source::Ipc(_) => 0,
            Source::Batches(given) => given.progress.total as usize,
        }
    }

    /// Skips what lies before `row`, or before the end if no row is wanted any more, where that saves work.
    fn skip_to(&mut self, row: Option<u64>) -> Result<(), TableError> {
        if let Source::Parquet(groups) = &mut self.source {
            self.row += groups.skip(row.map(|row| row - self.row))?;
        }
        Ok(())
    }

    /// The next batch and the number of its first row; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, RecordBatch)>, TableError> {
        let batch = match &mut self.source {
            Source::Parquet(groups) => groups.next()?,
            Source::Ipc(messages) => messages.next()?,
            Source::Batches(given) => given.next()?,
        };
        let row = self.row;
        self.row += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        Ok(batch.map(|batch| (row, batch)))
    }

    /// The fingerprint of the pass, once it is at its end.
    fn fingerprint(self) -> Result<Fingerprint, TableError> {
        match self.source {
            Source::Parquet(groups) => groups.fingerprint(),
            Source::Ipc(messages) => Ok(messages.fingerprint()),
            Source::Batches(_) => Ok(Fingerprint::default()),
        }
    }
}

/// The names and types of the columns.
pub(crate) fn schema(input: &Input, wanted: Wanted<'_>) -> Result<SchemaRef, TableError> {
    let mut go = |_| std::ops::ControlFlow::Continue(());
    Ok(Scan::open(input, wanted, &mut go)?.schema.clone())
}

/// Checks that the rows can be copied to an output: reads a first batch with all columns, and writes it to nowhere.
pub(crate) fn check_rows(input: &Input, on_progress: OnProgress<'_>) -> Result<(), TableError> {
    settle_units(input, on_progress)?;
    let input = &*input.one(0)?;
    let mut nowhere = std::io::sink();
    let mut sink = Sink::Out(Some(&mut nowhere));
    let mut scan = Scan::open(input, Wanted::Stored, on_progress)?;
    let mut copy = || {
        sink.begin(input, scan.schema(), &Added::default(), 1)?;
        if let Some((_, batch)) = scan.next()? {
            sink.write(batch)?;
        }
        sink.finish()
    };
    copy().map_err(|error| match error {
        TableError::Write { .. } => {
            TableError::NotCopied { file: input.name().to_owned(), format: input.format().name() }
        }
        error => error,
    })
}

/// The first pass: hands the values of these columns in every row to the receiver that `begin` makes for the approximate
/// number of rows.
pub(crate) fn read<'r, S: Rows<'r>>(
    input: &Input,
    threads: usize,
    needed: &[Needed<'_>],
    begin: impl FnOnce(usize) -> Result<S, TableError>,
    on_progress: OnProgress<'_>,
) -> Result<Loaded<S>, TableError> {
    let schema = schema(input, Wanted::Names)?;
    let names: Vec<&[u8]> = schema.fields().iter().map(|field| field.name().as_bytes()).collect();
    let indices = header::find(input.name(), needed, &names, header::Where::Schema)?;
    for (needed, index) in needed.iter().zip(&indices) {
        usable(input, *needed, schema.field(*index))?;
    }
    let uuids = indices.iter().map(|index| text::is_uuid(schema.field(*index))).collect();
    let mut columns = indices.clone();
    columns.sort_unstable();
    columns.dedup();
    // The index of each needed column among the columns of the pass.
    let indices: Vec<usize> = indices.iter().map(|index| columns.partition_point(|at| at < index)).collect();

    let mut scan = Scan::open(input, Wanted::Columns(&columns), on_progress)?;
    let mut rows = begin(scan.rows_hint())?;
    let keys = Keys { input, indices, uuids };
    pieces::read(threads, &mut scan, &keys, &mut rows)?;
    // All rows, if there are no pieces.
    while let Some((first, batch)) = scan.next()? {
        keys.of(first, &batch, &mut rows)?;
    }
    let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
    Ok(Loaded {
        rows,
        columns,
        fingerprint: scan.fingerprint()?,
        cuts: Cuts::default(),
        left_out: LeftOut::default(),
    })
}

/// The needed columns of a pass: their indices among those that it decodes.
#[derive(Clone)]
struct Keys<'a> {
    input: &'a Input,
    indices: Vec<usize>,
    /// Whether the values of each are UUIDs.
    uuids: Vec<bool>,
}

impl Keys<'_> {
    /// Hands the rows of a batch, which begins with row `first`, to `rows`.
    fn of<'r>(&self, first: u64, batch: &RecordBatch, rows: &mut impl Rows<'r>) -> Result<(), TableError> {
        // The types were checked before; a batch of other types contradicts its schema.
        let columns = self.indices.iter().zip(&self.uuids);
        let texts = guarded(|| columns.map(|(index, uuid)| Texts::of(batch.column(*index), *uuid)).collect());
        let texts: Vec<_> = texts.flatten().ok_or_else(|| damaged(self.input, None, What::Data))?;
        let place = |row| Place::Row(first + row as u64 + 1);
        let dialect = self.input.dialect();
        if dialect.nulls.is_empty() {
            return rows.rows(batch.num_rows(), place, |row, part| texts[part].get(row));
        }
        rows.rows(batch.num_rows(), place, |row, part| match texts[part].get(row) {
            value if dialect.is_null(value.bytes()) => Value::Null,
            value => value,
        })
    }
}

/// Checks that the values of a column can be what they are for.
fn usable(input: &Input, needed: Needed<'_>, field: &Field) -> Result<(), TableError> {
    let data_type = field.data_type();
    let refusal = match needed.purpose {
        Purpose::Key(rule) => {
            let time_stamp = matches!(rule, Rule::Date(_) | Rule::DateMoved(..))
                && matches!(data_type, DataType::Timestamp(..));
            let date = "the rule `date` takes days: cast the column to a date";
            text::refusal(data_type).or(Some(date).filter(|_| time_stamp))
        }
        Purpose::Value => text::value_refusal(data_type),
        Purpose::Payload if text::is_uuid(field) => None,
        Purpose::Payload => text::payload_refusal(data_type),
    };
    match refusal {
        None => Ok(()),
        Some(remedy) => Err(TableError::ColumnType {
            file: input.name().to_owned(),
            column: shown(needed.name.as_bytes()),
            found: data_type.to_string(),
            purpose: match needed.purpose {
                Purpose::Key(_) => "keys",
                Purpose::Value => "summed",
                Purpose::Payload => "a payload",
            },
            remedy,
        }),
    }
}

/// The second pass: hands the matching rows to `sink`, in batches, file after file.
pub(crate) fn select(
    input: &Input,
    chosen: Chosen<'_>,
    seen: &[Seen],
    sink: &mut Sink<'_>,
    on_progress: OnProgress<'_>,
) -> Result<(), TableError> {
    if input.files().is_some() {
        settle_units(input, on_progress)?;
        // The first file may have no rows, and then does not say how they are compressed.
        let model = input.one_again(seen.iter().position(|seen| seen.rows > 0).unwrap_or(0))?;
        sink.begin(&model, &schema(&model, Wanted::Stored)?, &chosen.added, chosen.threads)?;
    }
    let (mut rows, mut first) = (chosen.ascending(), 0);
    for (index, seen) in seen.iter().enumerate() {
        let file = input.one_again(index)?;
        select_one(&file, (&chosen, &mut rows), first, seen, sink, &mut input.within(index, on_progress))?;
        first += seen.rows;
    }
    sink.finish()
}

/// The second pass over a file that begins with row `first`.
fn select_one(
    input: &Input,
    (chosen, rows): (&Chosen<'_>, &mut Ascending<'_>),
    first: u64,
    seen: &Seen,
    sink: &mut Sink<'_>,
    on_progress: OnProgress<'_>,
) -> Result<(), TableError> {
    let (end, seen) = (first + seen.rows, &seen.fingerprint);
    let changed = || TableError::Changed { file: input.name().to_owned() };
    // Columns other than keys are decoded for the first time now. If the file is unchanged, an error there is
    // damage.
    let or_changed = |error| match error {
        TableError::Damaged { .. } if !same_bytes(input, seen) => changed(),
        error => error,
    };
    if !parquet::unchanged(input, seen)? {
        return Err(changed());
    }
    let columns = if let Sink::Taker(_) = sink { Wanted::All } else { Wanted::Stored };
    let mut scan = Scan::open(input, columns, on_progress).map_err(or_changed)?;
    sink.begin(input, scan.schema(), &chosen.added, chosen.threads)?;
    scan.row = first;
    let mut wanted = Vec::new();
    loop {
        scan.skip_to(rows.peek()).map_err(or_changed)?;
        let Some((first, batch)) = scan.next().map_err(or_changed)? else { break };
        let end = first + batch.num_rows() as u64;
        if rows.peek().is_none_or(|row| row >= end) {
            continue;
        }
        wanted.clear();
        let keep = !chosen.added.is_empty();
        let mut filter = vec![false; batch.num_rows()];
        for matched in rows.all_below(end) {
            filter[(matched.row - first) as usize] = true;
            // They are kept for what goes beside them alone: a batch of Arrow IPC may have very many rows.
            wanted.extend(Some(matched).filter(|_| keep));
        }
        let matching = guarded(|| taken(&batch, filter)).and_then(Result::ok);
        let batch = matching.ok_or_else(|| or_changed(damaged(input, None, What::Data)))?;
        write_matches(&batch, chosen, &wanted, sink)?;
    }
    let same = match &scan.source {
        Source::Parquet(_) => parquet::unchanged(input, seen)?,
        _ => scan.fingerprint()? == *seen,
    };
    if rows.peek().is_some_and(|row| row < end) || !same {
        return Err(changed());
    }
    Ok(())
}

/// Writes a batch of matching rows, with what the output has beside them.
fn write_matches(
    batch: &RecordBatch,
    chosen: &Chosen<'_>,
    matching: &[MatchedRow],
    sink: &mut Sink<'_>,
) -> Result<(), TableError> {
    if chosen.added.is_empty() {
        return sink.write(batch.clone());
    }
    let (rows, most) = (batch.num_rows(), chosen.added.rows_at_once());
    for start in (0..rows).step_by(most) {
        let piece = batch.slice(start, most.min(rows - start));
        let rows = &matching[start..][..piece.num_rows()];
        let wide = guarded(|| chosen.added.to(&piece, rows)).flatten();
        sink.write(wide.ok_or(TableError::Numbers { rows: chosen.keys.len() })?)?;
    }
    Ok(())
}

/// Whether the file is the one that the first pass read, checked without decoding a column.
fn same_bytes(input: &Input, seen: &Fingerprint) -> bool {
    let mut go = |_| std::ops::ControlFlow::Continue(());
    let again = match input.format() {
        Format::Parquet => parquet::unchanged(input, seen),
        _ => Scan::open(input, Wanted::Columns(&[]), &mut go).and_then(|mut scan| {
            while scan.next()?.is_some() {}
            Ok(scan.fingerprint()? == *seen)
        }),
    };
    again.unwrap_or(false)
}

/// The rows of this batch for which the filter is true.
fn taken(batch: &RecordBatch, filter: Vec<bool>) -> Result<RecordBatch, ArrowError> {
    let count = filter.iter().filter(|wanted| **wanted).count();
    if count == batch.num_rows() {
        return Ok(batch.clone());
    }
    if batch.num_columns() == 0 {
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        return RecordBatch::try_new_with_options(batch.schema(), Vec::new(), &options);
    }
    arrow_select::filter::filter_record_batch(batch, &arrow_array::BooleanArray::from(filter))
}

/// Why bytes do not decode. It never contains values.
#[derive(Debug)]
enum What {
    EndsEarly,
    Data,
    /// A feature that this version does not support, in the decoder's words: an encoding, a codec, a version.
    NotRead(String),
}

fn damaged(input: &Input, place: Option<String>, what: What) -> TableError {
    let what = match what {
        What::EndsEarly => "it ends early; was it copied whole?".to_owned(),
        What::Data => "its bytes do not decode; was it damaged, or written by a faulty program?".to_owned(),
        What::NotRead(what) => {
            format!("it uses a feature that this version does not read: {}", shown(what.as_bytes()))
        }
    };
    let place = place.map(|place| format!(", {place}")).unwrap_or_default();
    TableError::Damaged { file: input.name().to_owned(), format: input.format().name(), place, what }
}

impl From<&ParquetError> for What {
    fn from(error: &ParquetError) -> Self {
        match error {
            ParquetError::EOF(_) => What::EndsEarly,
            ParquetError::NYI(what) => What::NotRead(what.clone()),
            ParquetError::External(error) if error.is::<std::io::Error>() => What::EndsEarly,
            _ => What::Data,
        }
    }
}

impl From<&ArrowError> for What {
    fn from(error: &ArrowError) -> Self {
        match error {
            ArrowError::IoError(..) => What::EndsEarly,
            ArrowError::NotYetImplemented(what) => What::NotRead(what.clone()),
            _ => What::Data,
        }
    }
}

#[cfg(test)]
mod bytes_tests;
#[cfg(test)]
mod copy_tests;
#[cfg(test)]
mod several_tests;
#[cfg(test)]
mod tests;
