//! Text files: CSV, compressed or not.

use std::borrow::Cow;
use std::io::{self, BufWriter, Read, Write};

use encoding_rs::Encoding;

use crate::collect::Rows;
use crate::csv::grammar::Grammar;
use crate::csv::{Failure, Record, Records};
use crate::dialect::{Charset, Dialect};
use crate::error::{Place, Syntax, TableError};
use crate::header::{self, Needed};
use crate::input::{Fingerprint, Input, OnProgress, Pass};
use crate::packing::{self, Decoder, Packing};
use crate::request::{Chosen, Loaded, Seen};
use crate::rows::Ascending;
use crate::rule::Value;
use crate::shown::shown;
use crate::unicode::{self, Text};

mod pieces;

pub(crate) use pieces::Cuts;

/// The first pass: hands the values of these columns in every row to the receiver that `begin` makes for the approximate
/// number of rows.
pub(crate) fn read<'r, S: Rows<'r>>(
    (input, packing): (&Input, Packing),
    threads: usize,
    needed: &[Needed<'_>],
    begin: impl FnOnce(usize) -> Result<S, TableError>,
    on_progress: OnProgress<'_>,
) -> Result<Loaded<S>, TableError> {
    let mut csv = Csv::open(input, packing, on_progress)?;
    let indices = csv.find(needed)?;
    let charset = csv.records.source().charset();
    let mut rows = begin(csv.rows_hint())?;
    let columns = Columns { indices, charset, dialect: input.dialect().clone() };
    let cuts = pieces::read(threads, &mut csv, &columns, &mut rows)?;
    // The rest, or all of it.
    columns.read(&mut csv.records, &mut rows).map_err(|stop| csv.explain_stop(&csv.records, stop))?;
    let (columns, left_out) = (csv.columns(), std::mem::take(csv.records.left_out()));
    Ok(Loaded { rows, columns, fingerprint: csv.fingerprint()?, cuts, left_out })
}

/// Why no more rows are read.
enum Stop {
    Failure(Failure),
    Table(TableError),
}

/// The columns of a file that a pass reads.
#[derive(Clone)]
struct Columns {
    indices: Vec<usize>,
    charset: Option<Charset>,
    dialect: Dialect,
}

impl Columns {
    /// Hands all rows that these records have to `rows`.
    fn read<'r, R: Read>(&self, records: &mut Records<R>, rows: &mut impl Rows<'r>) -> Result<(), Stop> {
        let Columns { indices, charset: _, dialect } = self;
        loop {
            let taken = if records.read_block() {
                let records = &*records;
                let value = |row, part: usize| self.value(records.block_field(row, indices[part]));
                rows.rows(records.block_rows(), |row| Place::Line(records.block_line(row)), value)
            } else if records.read_row().map_err(Stop::Failure)? {
                let value = |part: usize| match indices[part] {
                    at if dialect.escape.is_some() && self.is_written_null(records, at) => Value::Null,
                    at => self.value(records.field(at)),
                };
                rows.row(|| Place::Line(records.line()), value)
            } else {
                return Ok(());
            };
            taken.map_err(Stop::Table)?;
        }
    }

    /// Whether a field is null as it stands in the file. A field in quotes counts by its text alone, as it does in a
    /// block.
    fn is_written_null<R: Read>(&self, records: &Records<R>, at: usize) -> bool {
        let written = records.written(at);
        let is_quoted = written.first().is_some_and(|first| Some(*first) == records.grammar().quote);
        !is_quoted && matches!(self.value(Cow::Borrowed(written)), Value::Null) && !written.is_empty()
    }

    #[inline]
    fn value<'v>(&self, field: Cow<'v, [u8]>) -> Value<'v> {
        let value = match self.charset {
            _ if field.is_empty() => Value::Null,
            None => Value::Text(field),
            Some(charset) => decoded(field, charset).map_or(Value::Undecoded, Value::Text),
        };
        match value {
            Value::Text(text) if self.dialect.is_null(&text) => Value::Null,
            value => value,
        }
    }
}

/// Bytes of that encoding as UTF-8; none if they are not valid in it.
fn decoded(bytes: Cow<'_, [u8]>, charset: Charset) -> Option<Cow<'_, [u8]>> {
    if bytes.is_ascii() {
        return Some(bytes);
    }
    let text = charset.0.decode_without_bom_handling_and_without_replacement(&bytes)?;
    Some(Cow::Owned(text.into_owned().into_bytes()))
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

/// What the files of a table have in common.
pub(crate) struct Writing {
    /// The names in the first line, or numbers.
    pub(crate) columns: Vec<Vec<u8>>,
    pub(crate) delimiter: u8,
    pub(crate) encoding: &'static str,
    /// Approximately how many rows the file has.
    pub(crate) rows_hint: usize,
}

/// How a file is written.
pub(crate) fn writing(input: &Input, packing: Packing) -> Result<Writing, TableError> {
    let mut go = |_| std::ops::ControlFlow::Continue(());
    let csv = Csv::open(input, packing, &mut go)?;
    let text = csv.records.source();
    let encoding = text.utf16().map(Encoding::name).or(text.charset().map(Charset::name));
    Ok(Writing {
        columns: csv.names.clone(),
        delimiter: csv.records.grammar().delimiter,
        encoding: encoding.unwrap_or("UTF-8"),
        rows_hint: csv.rows_hint(),
    })
}

/// The second pass, over all files. The first one gives the header.
pub(super) fn select(
    input: &Input,
    packing: Packing,
    chosen: Chosen<'_>,
    seen: &[Seen],
    out: &mut (dyn Write + Send),
    on_progress: OnProgress<'_>,
) -> Result<(), TableError> {
    let (mut wanted, mut first) = (chosen.ascending(), 0);
    for (index, seen) in seen.iter().enumerate() {
        let file = input.one_again(index)?;
        let begin = (first, index == 0);
        select_one(
            (&file, packing),
            (chosen, &mut wanted),
            begin,
            seen,
            out,
            &mut input.within(index, on_progress),
        )?;
        first += seen.rows;
    }
    Ok(())
}

/// The second pass over a file that begins with row `first`.
fn select_one<'r>(
    (input, packing): (&Input, Packing),
    (chosen, wanted): (Chosen<'r>, &mut Ascending<'r>),
    (first, is_first): (u64, bool),
    seen: &Seen,
    out: &mut (dyn Write + Send),
    on_progress: OnProgress<'_>,
) -> Result<(), TableError> {
    // The first pass could read all of this.
    let changed = || TableError::Changed { file: input.name().to_owned() };
    let or_changed = |error| match error {
        TableError::Syntax { .. } | TableError::Empty { .. } | TableError::Damaged { .. } => changed(),
        error => error,
    };
    let mut csv = Csv::open(input, packing, on_progress).map_err(or_changed)?;
    let notation = Notation::of(&csv);
    let mut lines = Lines::new(BufWriter::with_capacity(1 << 20, out), notation);
    if is_first {
        lines.put(csv.records.preamble())?;
    }
    if is_first && csv.records.has_header() {
        let names = chosen.added.names(&csv.names);
        lines.record(csv.records.record(), names.iter().map(String::as_str))?;
    }
    let mut row =
        pieces::select(&seen.cuts, &mut csv, (chosen, wanted), first, &mut lines).map_err(or_changed)?;
    loop {
        if csv.records.read_block() {
            let end = row + csv.records.block_rows() as u64;
            while let Some(wanted) = wanted.next_below(end) {
                let record = csv.records.block_record((wanted.row - row) as usize);
                lines.record(record, chosen.added.texts(wanted))?;
            }
            row = end;
        } else if csv.read_row().map_err(or_changed)? {
            if let Some(wanted) = wanted.next_below(row + 1) {
                lines.record(csv.records.record(), chosen.added.texts(wanted))?;
            }
            row += 1;
        } else {
            break;
        }
    }
    if csv.fingerprint().map_err(or_changed)? != seen.fingerprint {
        return Err(changed());
    }
    Ok(lines.out.flush()?)
}

/// Checks that such fields can be written in this file's notation, before a run depends on it.
pub(super) fn check_fields(
    input: &Input,
    packing: Packing,
    fields: impl Iterator<Item = String>,
    on_progress: OnProgress<'_>,
) -> Result<(), TableError> {
    let csv = Csv::open(input, packing, on_progress)?;
    let mut lines = Lines::new(io::sink(), Notation::of(&csv));
    lines.record(Record::default(), fields)
}

/// How records are written: as they were.
#[derive(Clone)]
struct Notation<'a> {
    input: &'a Input,
    line_end: &'static [u8],
    grammar: Grammar,
    utf16: Option<&'static Encoding>,
    /// The encoding of the records, if it is neither UTF-8 nor UTF-16.
    charset: Option<Charset>,
}

impl<'a> Notation<'a> {
    fn of(csv: &Csv<'a>) -> Self {
        let (records, text) = (&csv.records, csv.records.source());
        Notation {
            input: csv.input,
            line_end: records.line_end(),
            grammar: records.grammar().clone(),
            utf16: text.utf16(),
            charset: text.charset(),
        }
    }
}

/// Writes records as they were.
struct Lines<'a, W> {
    out: W,
    notation: Notation<'a>,
    /// Memory for text in UTF-16.
    wide: Vec<u8>,
    /// Memory for the fields behind a record.
    added: Vec<u8>,
}

impl<'a, W: Write> Lines<'a, W> {
    fn new(out: W, notation: Notation<'a>) -> Self {
        Lines { out, notation, wide: Vec::new(), added: Vec::new() }
    }

    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        let Some(encoding) = self.notation.utf16 else { return self.out.write_all(text) };
        self.wide.clear();
        unicode::encode(text, encoding, &mut self.wide);
        self.out.write_all(&self.wide)
    }

    /// Writes a record, and these fields behind as many as the header has.
    fn record<T: AsRef<str>>(
        &mut self,
        Record { content, line_end, fit }: Record<'_>,
        fields: impl Iterator<Item = T>,
    ) -> Result<(), TableError> {
        let Notation { input, ref grammar, charset, .. } = self.notation;
        let line_end = if line_end.is_empty() { self.notation.line_end } else { line_end };
        let mut added = std::mem::take(&mut self.added);
        added.clear();
        for field in fields {
            added.push(grammar.delimiter);
            let field = grammar.field(field.as_ref());
            let field = field.ok_or_else(|| TableError::Unquotable { file: input.name().to_owned() })?;
            match charset {
                None => added.extend_from_slice(field.as_bytes()),
                Some(charset) => match charset.0.encode(&field) {
                    (bytes, _, false) => added.extend_from_slice(&bytes),
                    _ => {
                        let (file, encoding) = (input.name().to_owned(), charset.name());
                        return Err(TableError::Unencodable { file, encoding });
                    }
                },
            }
        }
        if added.is_empty() {
            self.put(content)?;
            self.put(line_end)?;
        } else {
            self.put(&content[..content.len() - fit.surplus])?;
            added.splice(0..0, std::iter::repeat_n(self.notation.grammar.delimiter, fit.missing));
            added.extend_from_slice(line_end);
            self.put(&added)?;
        }
        self.added = added;
        Ok(())
    }
}

/// A CSV input with its header read.
pub(crate) struct Csv<'a> {
    input: &'a Input,
    packing: Packing,
    pub(crate) records: Records<Text<Decoder<Pass<'a>>>>,
    /// The names in the header, in UTF-8 if they could be decoded.
    names: Vec<Vec<u8>>,
}

impl<'a> Csv<'a> {
    pub(crate) fn open(
        input: &'a Input,
        packing: Packing,
        on_progress: OnProgress<'a>,
    ) -> Result<Self, TableError> {
        let pass = input.pass(on_progress)?;
        let decoder = packing::decoder(packing, pass).map_err(|source| input.read_error(source))?;
        let dialect = input.dialect();
        let records = Records::new(Text::new(decoder, dialect.encoding), dialect.clone());
        let mut csv = Csv { input, packing, records, names: Vec::new() };
        match csv.records.read_header() {
            Ok(true) => csv.named(),
            Ok(false) if dialect.skip_lines > 0 => {
                let first = if dialect.header { "header" } else { "row" };
                let lines = match dialect.skip_lines {
                    1 => "1 line that is".to_owned(),
                    lines => format!("{lines} lines that are"),
                };
                let what = format!("no {first} stands below the {lines} skipped");
                Err(TableError::Dialect { file: input.name().to_owned(), what })
            }
            Ok(false) => Err(TableError::Empty { file: input.name().to_owned() }),
            Err(failure) => Err(csv.explain(failure)),
        }
    }

    /// This table with the names of its columns.
    fn named(mut self) -> Result<Self, TableError> {
        let columns = self.records.columns();
        self.names = match self.records.source().charset() {
            None => columns.to_vec(),
            Some(charset) => {
                let name = |name: &Vec<u8>| decoded(Cow::Borrowed(name), charset).map(Cow::into_owned);
                columns.iter().map(name).collect::<Option<_>>().ok_or_else(|| TableError::Syntax {
                    file: self.input.name().to_owned(),
                    line: self.records.line(),
                    what: Syntax::NotInEncoding { encoding: charset.name() },
                })?
            }
        };
        Ok(self)
    }

    #[inline]
    pub(crate) fn read_row(&mut self) -> Result<bool, TableError> {
        self.records.read_row().map_err(|failure| self.explain(failure))
    }

    /// The names in the header.
    pub(crate) fn columns(&self) -> Vec<String> {
        self.names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// The index of each needed column in the header.
    pub(crate) fn find(&self, needed: &[Needed<'_>]) -> Result<Vec<usize>, TableError> {
        let names_in =
            if self.records.has_header() { header::Where::FirstLine } else { header::Where::Numbers };
        header::find(self.input.name(), needed, &self.names, names_in)
    }

    fn pass(&self) -> &Pass<'a> {
        self.records.source().source().source()
    }

    fn rows_hint(&self) -> usize {
        let (read, length) = (self.pass().done(), self.input.length());
        // The rest is assumed to compress as well as the beginning.
        let unpacked = u128::from(self.records.taken()) * u128::from(length) / u128::from(read.max(1));
        self.records.rows_hint(u64::try_from(unpacked).unwrap_or(u64::MAX))
    }

    /// The fingerprint of the pass, once it is at its end.
    fn fingerprint(mut self) -> Result<Fingerprint, TableError> {
        // A decoder may leave the last bytes in its buffer.
        let drained = io::copy(self.records.source_mut(), &mut io::sink());
        drained.map_err(|source| self.explain(Failure::Read(source)))?;
        Ok(self.pass().fingerprint())
    }

    #[cold]
    fn explain_stop<R: Read>(&self, records: &Records<R>, stop: Stop) -> TableError {
        match stop {
            Stop::Failure(failure) => self.explain_in(records, failure),
            Stop::Table(error) => error,
        }
    }

    fn explain(&self, failure: Failure) -> TableError {
        self.explain_in(&self.records, failure)
    }

    /// The error for a failure to read these records, all of the file or a piece of it.
    #[cold]
    fn explain_in<R: Read>(&self, records: &Records<R>, failure: Failure) -> TableError {
        let file = self.input.name().to_owned();
        match failure {
            Failure::Read(source) => {
                let text = self.records.source();
                if let Some(encoding) = text.utf16().filter(|_| text.is_broken()) {
                    let (line, encoding) = (self.records.next_line(), encoding.name());
                    return TableError::Syntax { file, line, what: Syntax::NotInEncoding { encoding } };
                }
                let pass = self.pass();
                if self.packing == Packing::None || pass.failed() {
                    return pass.explain(source);
                }
                let what = match source.kind() {
                    io::ErrorKind::UnexpectedEof => "it ends early; was it copied whole?",
                    _ => "its bytes do not decompress; was it damaged?",
                };
                let line = self.records.next_line();
                let place = if line > 1 { format!(", before line {line}") } else { String::new() };
                TableError::Damaged { file, format: self.packing.name(), place, what: what.to_owned() }
            }
            Failure::Syntax { line, what } => {
                TableError::Syntax { file, line, what: self.cause(records, what) }
            }
        }
    }

    /// What is probably wrong with the current line. A quote or a comma is not, where another delimiter is meant.
    fn cause<R: Read>(&self, records: &Records<R>, what: Syntax) -> Syntax {
        let is_row =
            !matches!(what, Syntax::StrayQuote { .. } | Syntax::Uneven { .. } | Syntax::UnclosedQuote);
        if !is_row && records.grammar().comment.is_none() && records.verbatim().starts_with(b"#") {
            return Syntax::LikeComment;
        }
        let other = match what {
            Syntax::StrayQuote { .. } | Syntax::Uneven { .. } if self.records.has_header() => {
                match self.names.is_empty() {
                    true => header::delimiter_of_line(records.verbatim(), records.grammar()),
                    false => header::delimiter(&self.names),
                }
            }
            _ => None,
        };
        match (other, what) {
            (Some((name, delimiter)), _) => Syntax::OtherwiseSeparated { name, delimiter },
            (None, Syntax::StrayQuote { field, .. }) => {
                let column = self.names.get(field - 1).map(|name| shown(name));
                Syntax::StrayQuote { field, column }
            }
            (None, what) => what,
        }
    }
}
