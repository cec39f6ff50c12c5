//! Everything that can go wrong with a table, and whose fault it is.
//!
//! Lines are physical lines counted from 1, as an editor shows them; a record that spans lines has the line it begins
//! in. Rows of columnar files are counted from 1. No variant holds a value of the table.

use std::fmt;
use std::io;
use std::path::Path;

use thiserror::Error;
use vesica_encode::items::ItemsError;

use crate::dialect::Delimiter;
use crate::key::SpecError;
use crate::rule::Rule;

/// Who has to do something about an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The arguments mean nothing (exit 64).
    Usage,
    /// The input is absent, unreadable or invalid (exit 65).
    Input,
    /// This program (exit 70).
    Ours,
    /// The result cannot be written (exit 74).
    Output,
    /// Nobody: the caller cancelled.
    Cancelled,
}

/// Where in a table something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A physical line of a text file, counted from 1.
    Line(u64),
    /// A row of a columnar file, counted from 1.
    Row(u64),
}

impl Place {
    /// Two places of one table.
    fn pair(self, other: Place) -> String {
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

/// Why a value is invalid under its rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// Bytes that the encoding of the file does not have.
    #[error("it is not in the encoding that `--encoding` names")]
    NotInEncoding,
    /// An e-mail address has exactly one `@`.
    #[error("it does not have exactly one `@`")]
    NotOneAt,
    /// Nothing before or nothing after the `@`.
    #[error("nothing stands before or after the `@`")]
    NoLocalOrDomain,
    /// More than 64 bytes before or 255 after the `@`.
    #[error("it has more than 64 bytes before or 255 after the `@`")]
    EmailTooLong,
    /// White space or a control character inside.
    #[error("it has white space or a control character inside")]
    BlankInside,
    /// Not an optional sign and digits.
    #[error("it is not an integer in digits")]
    NotAnInteger,
    /// More digits than the rule allows.
    #[error("it has more than 64 digits")]
    TooManyDigits,
    /// Not a telephone number of any country, or not of a length that its country has.
    #[error(
        "it is not a telephone number: digits in a number that its country's plan has, no letters, no extension"
    )]
    NotAPhoneNumber,
    /// A telephone number that could be of any country.
    #[error("it has no known calling code (+41, 0041); phone:CH reads such numbers as Swiss ones")]
    NoCallingCode,
    /// Neither an IPv4 nor an IPv6 address.
    #[error(
        "it is not an IP address: four decimal numbers without leading zeros, or IPv6; no port, zone or prefix length"
    )]
    NotAnAddress,
    /// Not a calendar date of ISO 8601.
    #[error("it is not a date of the calendar as YYYY-MM-DD or YYYYMMDD")]
    NotADate,
    /// A calendar date with a time of day.
    #[error("it is a time stamp, not a date: cut it to the day that is meant, as YYYY-MM-DD")]
    DateWithTime,
    /// Neither hexadecimal nor base64 of 32 bytes.
    #[error("it is not a SHA-256 digest as 64 hexadecimal digits or 43 or 44 characters of base64")]
    NotADigest,
    /// Outside the agreed width of native items.
    #[error(
        "it is not from 0 to 2^{sigma} - 1 (an IPv4 address counts as a number of 32 bits, IPv6 has none)"
    )]
    OutOfRange {
        /// The agreed width in bits.
        sigma: u32,
    },
}

/// What in a CSV file is not CSV.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Syntax {
    /// A row has more or fewer fields than the header.
    #[error("{found} fields where the {first} has {expected}")]
    Uneven {
        /// Fields of the header.
        expected: usize,
        /// Fields of the row.
        found: usize,
        /// The header, or the first line where there is none.
        first: &'static str,
    },
    /// The file ends within a quoted field.
    #[error("the quoted field that begins here is not closed by the end of the file")]
    UnclosedQuote,
    /// A quote where only a quoted field may have one.
    #[error("a double quote in field {field}{}: a field with quotes is quoted, with each quote inside doubled",
        column.as_ref().map(|name| format!(" (`{name}`)")).unwrap_or_default())]
    StrayQuote {
        /// The field, counted from 1.
        field: usize,
        /// Its column, if the header is known.
        column: Option<String>,
    },
    /// A carriage return that ends no line.
    #[error("a carriage return without a line feed: lines end in LF or CRLF")]
    BareReturn,
    /// Longer than any record should be.
    #[error("the record that begins here has more than {} MiB; is a quote not closed?", limit >> 20)]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A zero byte.
    #[error(
        "a zero byte: this is not a text file, or in UTF-16 without a byte-order mark (`--encoding utf-16le`)"
    )]
    ZeroByte,
    /// Bytes that the encoding of the file does not have.
    #[error("the text from here on is not in the encoding of the file, {encoding}")]
    NotInEncoding {
        /// Its name.
        encoding: &'static str,
    },
    /// A first line `sep=` that contradicts what was asked for.
    #[error("this line names {delimiter} as the delimiter, and `--delimiter` another; leave the option out")]
    OtherDelimiter {
        /// What the line names.
        delimiter: Delimiter,
    },
    /// A first line `sep=` with a delimiter that the encoding does not allow.
    #[error("this line names a delimiter that cannot be one: {0}")]
    BadDelimiter(String),
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
    /// It is the same file as an input, perhaps through a link.
    #[error("it is the same file as an input")]
    IsInput,
    /// Standard output, which is closed: what is written there nobody sees.
    #[error("it is closed, so that nobody would get the result")]
    Closed,
    /// The path leads to an open file of a process by its number, and would replace that file.
    #[error("it leads to a file that a process has open, which would be replaced")]
    Descriptor,
    /// Its name stands for another format than the one that rows leave in.
    #[error("rows leave in the format they came in, which is {format}, and this name stands for another")]
    OtherFormat {
        /// The input's format.
        format: &'static str,
    },
}

/// An error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// A key specification means nothing.
    #[error("`--key {spec}`: {reason}")]
    Spec {
        /// The specification as given.
        spec: String,
        /// What is wrong with it.
        reason: SpecError,
    },
    /// No key column, or more than a key can have.
    #[error("{found} key columns: give 1 to 255")]
    KeyCount {
        /// How many were given.
        found: usize,
    },
    /// Native items need one key of integers.
    #[error("native items (`--sigma`) need 1 to 64 bits and exactly one key column with the rule int or ip")]
    NativeKey,
    /// The input cannot be opened.
    #[error("{file}: cannot be opened: {source}")]
    Open {
        /// The input.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// The input is no file of this machine.
    #[error("{file}: is no file here: {remedy}")]
    NotAFile {
        /// The input.
        file: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The ways in which text is to be read exclude each other.
    #[error("{file}: cannot be read so: {what}")]
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
    /// The input is a directory.
    #[error("{file}: is a directory")]
    Directory {
        /// The input.
        file: String,
    },
    /// A stream could not be kept for the second pass.
    #[error("{file}: cannot be kept in a temporary file (is there room in TMPDIR?): {source}")]
    Spool {
        /// The input.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A format that is not read.
    #[error("{file}: is {found}, which is not read; make it CSV (gzip or zstd too), Parquet or Arrow IPC")]
    Format {
        /// The input.
        file: String,
        /// The format it seems to have.
        found: &'static str,
    },
    /// The name promises a format that the content does not begin as.
    #[error("{file}: is named as {format} and does not begin as such a file: empty, damaged or renamed?")]
    Misnamed {
        /// The input.
        file: String,
        /// What its name stands for.
        format: &'static str,
    },
    /// A packed or columnar file that does not decode.
    #[error("{file}{place}: cannot be read as {format}: {what}")]
    Damaged {
        /// The input.
        file: String,
        /// What it was read as.
        format: &'static str,
        /// How far it could be read, with a comma in front; empty if that is not known.
        place: String,
        /// What is wrong, without values.
        what: String,
    },
    /// A column whose type makes no keys.
    #[error("{file}, column `{column}`: values of type {found} cannot be keys: {remedy}")]
    KeyType {
        /// The input.
        file: String,
        /// The column.
        column: String,
        /// Its type.
        found: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Not an encoding that CSV is read in.
    #[error("{file}: is {found}; convert it to UTF-8")]
    Encoding {
        /// The input.
        file: String,
        /// The encoding it seems to have.
        found: &'static str,
    },
    /// There is not even a header.
    #[error("{file}: is empty; a table has at least a header line")]
    Empty {
        /// The input.
        file: String,
    },
    /// The CSV is malformed.
    #[error("{file}, line {line}: {what}")]
    Syntax {
        /// The input.
        file: String,
        /// The physical line.
        line: u64,
        /// What is wrong there.
        what: Syntax,
    },
    /// A key column is not in the header.
    #[error("{file}: no column `{column}`; {there}{hint}")]
    MissingColumn {
        /// The input.
        file: String,
        /// The column asked for.
        column: String,
        /// How many columns there are, and where. They are not named: in a text file without a header they would be identifiers.
        there: String,
        /// What may be the cause, and what to do.
        hint: String,
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
    #[error("{file}, {place}, column `{column}`: the key is empty (`--on-null skip` leaves such rows out)")]
    Null {
        /// The input.
        file: String,
        /// The row.
        place: Place,
        /// The column.
        column: String,
    },
    /// An invalid key, which `--on-invalid error` forbids.
    #[error(
        "{file}, {place}, column `{column}`: the value is invalid under the rule {rule}: {reason}{}",
        skip(reason)
    )]
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
    #[error("{file}, {}: the same key (`--on-duplicates all` or `--on-duplicates first` allows it)", first.pair(*second))]
    Duplicate {
        /// The input.
        file: String,
        /// The first row.
        first: Place,
        /// The row that repeats its key.
        second: Place,
    },
    /// More rows than one run can number.
    #[error("{file}: has more than {} rows", u32::MAX)]
    TooManyRows {
        /// The input.
        file: String,
    },
    /// The second pass did not see what the first one saw.
    #[error("{file}: changed during the run, so its rows cannot be selected; run again and leave it alone")]
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
    /// The result could not be written; an existing file is as it was.
    #[error("{path}: cannot be written: {source}")]
    Write {
        /// The output.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Batches were asked for of an input that has none.
    #[error(
        "{file}: is text, so that its rows leave as text and not as record batches (a fault of the caller)"
    )]
    NoBatches {
        /// The input.
        file: String,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Rows asked for that the table does not have.
    #[error("row {row} was to be selected from {rows} rows (a fault of this program)")]
    NoSuchRow {
        /// The row, counted from 0.
        row: u64,
        /// How many rows there are.
        rows: u64,
    },
    /// As many match numbers as rows are needed.
    #[error("there are not as many match numbers as the {rows} matching rows (a fault of this program)")]
    Numbers {
        /// How many rows match.
        rows: usize,
    },
    /// The items could not be built.
    #[error("the items could not be built: {0}")]
    Items(#[from] ItemsError),
}

/// A result that could not be written, before anybody knows the output's name.
impl From<io::Error> for TableError {
    fn from(source: io::Error) -> Self {
        TableError::Write { path: "output".to_owned(), source }
    }
}

impl TableError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            TableError::Spec { .. } | TableError::KeyCount { .. } | TableError::NativeKey => Fault::Usage,
            // Known from the arguments alone.
            TableError::Output {
                fault: OutputFault::Directory | OutputFault::NoDirectory | OutputFault::OtherFormat { .. },
                ..
            } => Fault::Usage,
            TableError::Output { .. } | TableError::Write { .. } => Fault::Output,
            TableError::Cancelled => Fault::Cancelled,
            TableError::NoSuchRow { .. }
            | TableError::Numbers { .. }
            | TableError::NoBatches { .. }
            | TableError::Items(_) => Fault::Ours,
            _ => Fault::Input,
        }
    }
}

fn skip(reason: &Invalid) -> &'static str {
    match reason {
        Invalid::OutOfRange { .. } => "",
        _ => " (`--on-invalid skip` leaves such rows out)",
    }
}

/// A path as people see it: on one line, whatever characters are in it.
pub fn shown_path(path: &Path) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    path.to_string_lossy().chars().map(escape).collect()
}

/// A name from a file as an error shows it: on one line and of limited length.
pub(crate) fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 64;
    let name = String::from_utf8_lossy(name);
    let mut shown: String = name.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if name.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}
