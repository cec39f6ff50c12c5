//! The errors of this crate, and who is at fault.
//!
//! Lines are physical lines counted from 1, as an editor shows them. A record of several lines has the number
//! of its first line. Rows of columnar files are counted from 1. No variant holds a value of the table.

use std::fmt;
use std::io;

use thiserror::Error;
use vesica_encode::items::ItemsError;
use vesica_store::StoreError;
use vesica_text::Text;

use crate::dialect::Delimiter;
use crate::rule::Rule;
pub use crate::rule::invalid::Invalid;
use crate::spec_error::SpecError;

mod syntax;
mod text;

pub use syntax::Syntax;

/// Who must act on an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The user: the arguments are invalid (exit 64).
    Usage,
    /// The user: the input is absent, unreadable or invalid (exit 65).
    Input,
    /// The authors of this program (exit 70).
    Ours,
    /// The user: the result cannot be written (exit 74).
    Output,
    /// Nobody: the caller cancelled.
    Cancelled,
}

/// A position in a table, for errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A physical line of a text file, counted from 1.
    Line(u64),
    /// A row of a columnar file, counted from 1.
    Row(u64),
}

impl Place {
    /// Two positions of one table, in words; the second may be in another file.
    fn pair(self, other: Place, file: Option<&str>) -> String {
        if let Some(file) = file {
            return format!("{self}, and {file}, {other},");
        }
        match (self, other) {
            (Place::Line(first), Place::Line(second)) => format!("lines {first} and {second}"),
            (Place::Row(first), Place::Row(second)) => format!("rows {first} and {second}"),
            (first, second) => format!("{first} and {second}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(number) => write!(f, "line {number}"),
            Place::Row(number) => write!(f, "row {number}"),
        }
    }
}

/// Why a value cannot be summed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BadValue {
    /// Null or empty.
    #[error("empty; give every row with a key a number, 0 if need be")]
    Empty,
    /// Below zero.
    #[error("negative; sums are of numbers from 0 on")]
    Negative,
    /// A fraction, or no number.
    #[error(
        "not a whole number written in digits; give whole numbers, in a smaller unit such as cents if need be"
    )]
    NotWhole,
    /// 2^64 or more.
    #[error("2^64 or more; values have 64 bits")]
    TooLarge,
}

/// Why the payload of a row cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PayloadFault {
    /// It does not fit the agreed bound.
    #[error("{}", self.text())]
    TooLong {
        /// What it takes; none if no bound would do.
        taken: Option<usize>,
        /// The bound.
        most: usize,
    },
    /// It is not text.
    #[error("{}", self.text())]
    NotText,
    /// Text tables cannot have zero bytes.
    #[error("the value has a zero byte, which a payload cannot have")]
    ZeroByte,
}

/// Why an output path cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputFault {
    /// The path names a directory.
    #[error("it is a directory")]
    Directory,
    /// The directory it would be in does not exist.
    #[error("its directory does not exist")]
    NoDirectory,
    /// Nothing can be created beside it, or the existing file is read-only.
    #[error("it cannot be written: {0}")]
    NotWritable(#[source] io::Error),
    /// It belongs to somebody else in a folder where only owners may replace files, or is protected in another way.
    #[error(
        "it cannot be replaced: it belongs to another user, in a folder with the sticky bit such as `/tmp`"
    )]
    NotReplaceable,
    /// The permissions of the file that is replaced cannot be given to another one, which more people could read.
    #[error("its permissions cannot be kept, and more people could read its replacement: {0}")]
    NotPrivate(#[source] io::Error),
    /// Rows for a stream have to be kept in a temporary file until all are known, and none can be made.
    #[error(
        "its rows have to be kept in a temporary file first, and none can be made in {directory}: {source}"
    )]
    NoSpool {
        /// Where.
        directory: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is the same file as an input, perhaps through a link.
    #[error("it is the same file as an input")]
    IsInput,
    /// Standard output is closed, so nobody would see the result.
    #[error("it is closed, so the result would be lost")]
    Closed,
    /// The path leads to an open file of a process by its number, and would replace that file.
    #[error("it leads to a file that a process has open, and would replace that file")]
    Descriptor,
    /// No object can be written there.
    #[error("{0}")]
    Object(#[source] StoreError),
    /// What is written bit by bit cannot be an object, which appears when it is complete.
    #[error("it is an object of a store, which cannot grow while a run goes on; name a file")]
    Grows,
    /// The ending of its name belongs to another format than the output's.
    #[error("the output has the input's format, {format}, but this name belongs to another format")]
    OtherFormat {
        /// The input's format.
        format: &'static str,
    },
}

/// An error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// A key specification is invalid.
    #[error("{}", self.text())]
    Spec {
        /// The option that it was given with.
        option: &'static str,
        /// The specification as given.
        spec: String,
        /// What is wrong with it.
        reason: SpecError,
    },
    /// No key column, or more than a key can have.
    #[error("{found} key columns were given; give 1 to 255, or 1 to 15 for each of several keys")]
    KeyCount {
        /// How many were given.
        found: usize,
    },
    /// More rules, or variants of them, than a row can have keys.
    #[error(
        "the rules to match by, and their variants, make {found} keys of a row; give rules that make at most 16"
    )]
    TooManyRules {
        /// How many they make.
        found: usize,
    },
    /// The columns to be exchanged are not two of one rule.
    #[error("`~swap` stands at {found} of a key's columns; give it to two columns with the same rule")]
    Swap {
        /// How many there are.
        found: usize,
    },
    /// Native items need one key of integers.
    #[error("{}", self.text())]
    NativeKey,
    /// The input cannot be opened.
    #[error("{file}: cannot be opened: {source}")]
    Open {
        /// The input.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// An object cannot be fetched.
    #[error("{file}: {fault}")]
    Object {
        /// The input.
        file: String,
        /// Why not.
        fault: StoreError,
    },
    /// The options for reading the text contradict each other.
    #[error("{file}: cannot be read with these options: {what}")]
    Dialect {
        /// The input.
        file: String,
        /// Why not.
        what: String,
    },
    /// The input cannot be read.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The input.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A folder or a pattern whose files are not one table.
    #[error("{file}: {what}")]
    NotOneTable {
        /// The input.
        file: String,
        /// Why not, and what to do.
        what: String,
    },
    /// Two files of a folder or pattern that cannot be in one table.
    #[error(
        "{second}: cannot be in one table with {first}: {what}; give every file the same columns and format"
    )]
    Unlike {
        /// The first file.
        first: String,
        /// The file that differs.
        second: String,
        /// In what, without values.
        what: String,
    },
    /// A stream could not be kept for the second pass.
    #[error("{file}: cannot be kept in a temporary file (is there room in TMPDIR?): {source}")]
    Spool {
        /// The input.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A format that this program does not read.
    #[error(
        "{file}: is {found}, which cannot be read; convert it to CSV (also in gzip or zstd), Parquet or Arrow IPC"
    )]
    Format {
        /// The input.
        file: String,
        /// The format it seems to have.
        found: &'static str,
    },
    /// The name's ending and the first bytes belong to different formats.
    #[error(
        "{file}: is named as {format}, but does not begin like such a file; is it empty, damaged or renamed?"
    )]
    Misnamed {
        /// The input.
        file: String,
        /// What its name stands for.
        format: &'static str,
    },
    /// A compressed or columnar file that does not decode.
    #[error("{file}{place}: cannot be read as {format}: {what}")]
    Damaged {
        /// The input.
        file: String,
        /// The format it was read as.
        format: &'static str,
        /// How far it could be read, with a comma in front; empty if unknown.
        place: String,
        /// What is wrong, without values.
        what: String,
    },
    /// A column of a type that does not fit what it is for.
    #[error("{file}, column `{column}`: values of type {found} cannot be {purpose}: {remedy}")]
    ColumnType {
        /// The input.
        file: String,
        /// The column.
        column: String,
        /// Its type.
        found: String,
        /// What they cannot be.
        purpose: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// An input whose rows can be read, but not written in its format.
    #[error(
        "{file}: its rows cannot be written as {format} again, because of the type of a column; make that column text, \
         or leave it out"
    )]
    NotCopied {
        /// The input.
        file: String,
        /// Its format.
        format: &'static str,
    },
    /// A row with a key whose value cannot be summed.
    #[error("{file}, {place}, column `{column}`: the value cannot be summed: it is {reason}")]
    Value {
        /// The input.
        file: String,
        /// The row.
        place: Place,
        /// The column.
        column: String,
        /// Why not.
        reason: BadValue,
    },
    /// The values of the rows of one key are too large together.
    #[error(
        "{file}, {place}, column `{column}`: with this row, the values of its key add up to 2^64 or more; values have 64 bits"
    )]
    ValueOverflow {
        /// The input.
        file: String,
        /// The row with which they become too large.
        place: Place,
        /// The column.
        column: String,
    },
    /// A row with a key whose payload cannot be sent.
    #[error("{}", self.text())]
    Payload {
        /// The input.
        file: String,
        /// The row.
        place: Place,
        /// The column, if it is the fault of one.
        column: Option<String>,
        /// Why not.
        reason: PayloadFault,
    },
    /// Rows of one key have different payloads.
    #[error("{}", self.text())]
    PayloadsDiffer {
        /// The input.
        file: String,
        /// The first row.
        first: Place,
        /// A later one.
        second: Place,
        /// The file of the later one, if it is another.
        second_file: Option<String>,
    },
    /// The partner's payload has characters that the encoding of my table lacks.
    #[error(
        "{file}: is in {encoding}, and the partner's columns have characters that it lacks; convert the table to UTF-8"
    )]
    Unencodable {
        /// The input.
        file: String,
        /// Its encoding.
        encoding: &'static str,
    },
    /// The partner's payload has characters that separate fields in my table, which has no quotes.
    #[error("{}", self.text())]
    Unquotable {
        /// The input.
        file: String,
    },
    /// The delimiter that `--delimiter auto` asks for cannot be told.
    #[error("{}", self.text())]
    DelimiterUnclear {
        /// The input.
        file: String,
        /// Two that fit equally well.
        either: [Delimiter; 2],
    },
    /// A table that cannot be read, and what its first lines look like.
    #[error("{}", self.text())]
    Advised {
        /// Why it cannot be read.
        error: Box<TableError>,
        /// The options that may help.
        advice: Text,
    },
    /// An encoding in which this program does not read CSV.
    #[error("{file}: is {found}; convert it to UTF-8")]
    Encoding {
        /// The input.
        file: String,
        /// The encoding it seems to have.
        found: &'static str,
    },
    /// There is neither a header nor a row.
    #[error("{file}: is empty; a table has at least one line")]
    Empty {
        /// The input.
        file: String,
    },
    /// The CSV is malformed.
    #[error("{}", self.text())]
    Syntax {
        /// The input.
        file: String,
        /// The physical line.
        line: u64,
        /// What is wrong there.
        what: Syntax,
    },
    /// A key column is not in the header.
    #[error("{}", self.text())]
    MissingColumn {
        /// The input.
        file: String,
        /// The column asked for.
        column: String,
        /// How many columns there are, and where. The error does not name them: in a text file without a
        /// header they would be identifiers.
        there: String,
        /// The likely cause, and what to do.
        hint: Text,
    },
    /// A key column's name is there more than once.
    #[error("{file}: has more than one column `{column}`; rename all but one")]
    RepeatedColumn {
        /// The input.
        file: String,
        /// The column.
        column: String,
    },
    /// A null key, which `--on-null error` forbids.
    #[error("{}", self.text())]
    Null {
        /// The input.
        file: String,
        /// The row.
        place: Place,
        /// The column.
        column: String,
    },
    /// An invalid key, which `--on-invalid error` forbids.
    #[error("{}", self.text())]
    Invalid {
        /// The input.
        file: String,
        /// The row.
        place: Place,
        /// The column.
        column: String,
        /// The rule.
        rule: Rule,
        /// What is wrong with it.
        reason: Invalid,
    },
    /// Two rows have the same key, which `--on-duplicates error` forbids.
    #[error("{}", self.text())]
    Duplicate {
        /// The input.
        file: String,
        /// The first row.
        first: Place,
        /// The row that repeats its key.
        second: Place,
        /// The file of that row, if it is another.
        second_file: Option<String>,
    },
    /// More rows than one run can number.
    #[error("{file}: has more than {} rows, or keys where rows have several", u32::MAX)]
    TooManyRows {
        /// The input.
        file: String,
    },
    /// The second pass read other bytes than the first one.
    #[error(
        "{file}: changed during the run, so its rows cannot be selected; run again, and do not change it during the run"
    )]
    Changed {
        /// The input.
        file: String,
    },
    /// The output path cannot be used.
    #[error("{path}: {fault}")]
    Output {
        /// The output.
        path: String,
        /// Why not.
        fault: OutputFault,
    },
    /// The result could not be written; an existing file is unchanged.
    #[error("{path}: cannot be written: {source}")]
    Write {
        /// The output.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The result could not be put as an object.
    #[error("{path}: cannot be written: {fault}; {kept}")]
    Put {
        /// The output.
        path: String,
        /// Why not.
        fault: StoreError,
        /// Where the result is instead, or that it is lost.
        kept: String,
    },
    /// The caller wants record batches of a text.
    #[error("{file}: is text, so its rows cannot be given as record batches (a fault of the caller)")]
    NoBatches {
        /// The input.
        file: String,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The caller wants a row that the table does not have.
    #[error("row {row} was requested from {rows} rows (a fault of this program)")]
    NoSuchRow {
        /// The row, counted from 0.
        row: u64,
        /// How many rows there are.
        rows: u64,
    },
    /// The numbers of match numbers and of matching rows differ.
    #[error(
        "the numbers of match numbers and of matching rows differ; {rows} rows match (a fault of this program)"
    )]
    Numbers {
        /// How many rows match.
        rows: usize,
    },
    /// The items could not be built.
    #[error("the items could not be built: {0}")]
    Items(#[from] ItemsError),
}

/// A write error, before the name of the output is known.
impl From<io::Error> for TableError {
    fn from(source: io::Error) -> Self {
        TableError::Write { path: "output".to_owned(), source }
    }
}

impl TableError {
    /// Who is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            TableError::Spec { .. }
            | TableError::KeyCount { .. }
            | TableError::TooManyRules { .. }
            | TableError::Swap { .. }
            | TableError::NativeKey => Fault::Usage,
            // These are known from the arguments.
            TableError::Output {
                fault:
                    OutputFault::Directory
                    | OutputFault::NoDirectory
                    | OutputFault::OtherFormat { .. }
                    | OutputFault::Grows
                    | OutputFault::Object(StoreError::Address(_)),
                ..
            } => Fault::Usage,
            TableError::Object { fault: StoreError::Address(_), .. } => Fault::Usage,
            TableError::Put { fault: StoreError::Cancelled, .. } => Fault::Cancelled,
            TableError::Output { .. }
            | TableError::Write { .. }
            | TableError::Put { .. }
            | TableError::Unencodable { .. }
            | TableError::Unquotable { .. } => Fault::Output,
            TableError::Cancelled => Fault::Cancelled,
            TableError::NoSuchRow { .. }
            | TableError::Numbers { .. }
            | TableError::NoBatches { .. }
            | TableError::Items(_) => Fault::Ours,
            _ => Fault::Input,
        }
    }
}
