//! A table as a caller gives it to a run, and where the matching rows go.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;

use vesica_table::{
    Dialect, Format, Input, MatchRules, Progress, RecordBatch, RecordBatchReader, RowSet, SchemaRef, Table,
    TableError,
};

use crate::words::error::{Error, RunPhase};

/// My table: what it is, what its keys are, where the matching rows go.
pub struct TableArgs {
    /// The table.
    pub input: Source,
    /// The rules that make keys of a row, in the agreed order.
    pub keys: MatchRules,
    /// How it is read, if it is text.
    pub dialect: Dialect,
    /// Where the matching rows go.
    pub output: Destination,
    /// Files besides the input that the output must not replace.
    pub protected: Vec<PathBuf>,
}

/// Where a table is. In errors, `name` is the name of a table that is no file.
pub enum Source {
    /// A file, or a folder or pattern of files that are one table, or an address such as `s3://bucket/table.parquet`; `-` is
    /// standard input.
    Path(PathBuf),
    /// Record batches in memory, such as those of a data frame. They are not copied.
    Batches {
        /// What errors call it.
        name: String,
        /// Of every batch.
        schema: SchemaRef,
        /// The rows.
        batches: Vec<RecordBatch>,
    },
    /// The bytes of a file that are read only once, from the first to the last. A temporary file without a name keeps them.
    Stream {
        /// What errors call it.
        name: String,
        /// The bytes.
        reader: Box<dyn Read + Send>,
    },
    /// Record batches that can be read only once, one after the other. A temporary file without a name keeps them.
    Reader {
        /// What errors call it.
        name: String,
        /// The rows, pulled once.
        reader: Box<dyn RecordBatchReader + Send>,
    },
}

impl Source {
    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<&PathBuf> {
        match self {
            Source::Path(path) => Some(path),
            _ => None,
        }
    }

    /// Opens it. `on_open` is called while a stream is read.
    pub(crate) fn open(
        self,
        on_open: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Input, TableError> {
        match self {
            Source::Path(path) => Input::open_with(&path, on_open),
            Source::Batches { name, schema, batches } => Input::keep_batches(&name, schema, batches),
            Source::Stream { name, mut reader } => Input::spool_with(&name, &mut *reader, on_open),
            Source::Reader { name, mut reader } => Input::from_batches(&name, &mut *reader, on_open),
        }
    }
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Source::Path(path)
    }
}

/// Where the matching rows go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Destination {
    /// Nowhere: the caller only wants their numbers.
    #[default]
    RowNumbers,
    /// To a file, in the input's format; `-` is standard output.
    Path(PathBuf),
    /// To the caller, as [`Batches`]. Not for text files.
    Batches,
}

impl Destination {
    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<&PathBuf> {
        match self {
            Destination::Path(path) => Some(path),
            _ => None,
        }
    }

    /// Refuses an input whose rows cannot go there.
    pub(crate) fn check(&self, input: &Input) -> Result<(), Error> {
        match (self, input.format()) {
            (Destination::Batches, Format::Csv(_)) => {
                let message = format!("{}: the rows of a text file can leave only as text", input.name());
                let remedy = "name a file for the rows with `[output]`";
                Err(Error { phase: RunPhase::Read, ..Error::usage(message, remedy) })
            }
            _ => Ok(()),
        }
    }
}

/// Matching rows as record batches.
pub struct Batches {
    /// The input's schema.
    pub schema: SchemaRef,
    /// The rows, in the input's order.
    pub batches: Vec<RecordBatch>,
}

impl Batches {
    /// Takes the matching rows out of a table.
    pub(crate) fn select(
        table: &Table,
        rows: RowSet<'_>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self, TableError> {
        let mut selected = Batches { schema: table.schema()?, batches: Vec::new() };
        let take = &mut |batch| {
            selected.batches.push(batch);
            ControlFlow::Continue(())
        };
        table.select_batches(rows, take, on_progress)?;
        Ok(selected)
    }
}
