//! Looks at the first lines of a text: which delimiter they have, and which options may help to read them.
//!
//! Lines are read by the grammar of the run, so a delimiter in quotes or in a comment counts for nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::ControlFlow;

use memchr::{memchr, memchr_iter};
use vesica_text::{Text, text};

use crate::csv::grammar::{Grammar, TakeFields};
use crate::dialect::{Delimiter, Dialect, Ragged};
use crate::error::{Syntax, TableError};
use crate::input::Input;
use crate::packing::{self, Packing};
use crate::unicode;

/// Bytes and records that are looked at.
const SAMPLE: usize = 1 << 18;
const RECORDS: usize = 1000;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The delimiters that tables usually have.
const USUAL: &[u8] = b",;\t|";
/// Those that text in one column has as well, so that they need more evidence.
const RARE: &[u8] = b"^~: ";

/// The beginning of a text.
struct Sample {
    text: Vec<u8>,
    whole: bool,
    /// Lines before it.
    skipped: u64,
}

/// A record: its line, how many fields it has, and up to which of them some are not empty.
#[derive(Clone, Copy, Default)]
struct Row {
    line: u64,
    lines: u64,
    fields: usize,
    filled: usize,
}

/// What a sample is with one delimiter.
struct Shape {
    delimiter: Delimiter,
    rows: Vec<Row>,
    /// Lines that break the grammar, and how many of them because of a quote.
    faults: usize,
    stray_quotes: usize,
    /// Whether the first record breaks it.
    begins_badly: bool,
}

/// Counts the fields of a record.
#[derive(Default)]
struct Counter {
    fields: usize,
    filled: usize,
    has_text: bool,
}

impl TakeFields for Counter {
    fn text(&mut self, text: &[u8]) {
        self.has_text |= !text.is_empty();
    }

    fn end(&mut self, _: usize) {
        self.fields += 1;
        if std::mem::take(&mut self.has_text) {
            self.filled = self.fields;
        }
    }
}

impl Sample {
    fn of(input: &Input, packing: Packing) -> Result<Self, TableError> {
        let (mut go, dialect) = (|_| ControlFlow::Continue(()), input.dialect());
        let pass = input.pass(&mut go)?;
        let decoder = packing::decoder(packing, pass).map_err(|source| input.read_error(source))?;
        let mut text = Vec::new();
        let reader = unicode::Text::new(decoder, dialect.encoding);
        // Damage is told by the pass that reads everything.
        let read = reader.take(SAMPLE as u64).read_to_end(&mut text);
        let whole = read.is_ok() && text.len() < SAMPLE;
        let mut start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut skipped = 0;
        while skipped < dialect.skip_lines && start < text.len() {
            start = memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at + 1);
            skipped += 1;
        }
        text.drain(..start);
        Ok(Sample { text, whole, skipped: dialect.skip_lines })
    }

    /// Whether its first line is `sep=` and a delimiter.
    fn names_delimiter(&self) -> bool {
        let is_mark = self.text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"sep="));
        self.skipped == 0 && is_mark && matches!(self.text.get(5), None | Some(b'\r' | b'\n'))
    }

    fn shape(&self, grammar: &Grammar, delimiter: Delimiter) -> Shape {
        let grammar = grammar.separated_by(delimiter);
        let mut shape =
            Shape { delimiter, rows: Vec::new(), faults: 0, stray_quotes: 0, begins_badly: false };
        let (mut at, mut line) = (0, self.skipped + 1);
        while at < self.text.len() && shape.rows.len() + shape.faults < RECORDS {
            let (rest, mut counter) = (&self.text[at..], Counter::default());
            let lines = |length: usize| memchr_iter(b'\n', &rest[..length]).count() as u64;
            let length = match grammar.record(rest, self.whole, &mut counter) {
                Ok(None) => break,
                Ok(Some(found)) => {
                    let Counter { fields, filled, .. } = counter;
                    let lines = lines(found.length);
                    shape.rows.extend(found.is_record.then_some(Row { line, lines, fields, filled }));
                    found.length
                }
                Err((fault, what)) => {
                    shape.begins_badly |= shape.rows.is_empty();
                    shape.faults += 1;
                    shape.stray_quotes += usize::from(matches!(what, Syntax::StrayQuote { .. }));
                    memchr(b'\n', &rest[fault..]).map_or(rest.len(), |end| fault + end + 1)
                }
            };
            line += lines(length);
            at += length;
        }
        shape
    }

    /// The shapes with these delimiters, but for those that mean something else.
    fn shapes<'s>(&'s self, dialect: &'s Dialect, signs: &'s [u8]) -> impl Iterator<Item = Shape> + use<'s> {
        let grammar = Grammar::new(dialect);
        let may_be = |sign: &u8| {
            let delimiter = Delimiter::new(*sign);
            delimiter.is_some() && Dialect { delimiter, ..dialect.clone() }.fault().is_none()
        };
        let delimiters = signs.iter().filter(move |sign| may_be(sign));
        delimiters.filter_map(move |sign| Some(self.shape(&grammar, Delimiter::new(*sign)?)))
    }
}

impl Shape {
    fn columns(&self) -> usize {
        self.rows.first().map_or(0, |header| header.fields)
    }

    /// How many rows are as the header, of how many.
    fn even(&self, ragged: Ragged) -> (usize, usize) {
        let columns = self.columns();
        let is_even = |row: &&Row| {
            let padded = ragged == Ragged::Pad && row.fields > 1 && row.filled <= columns;
            row.fields == columns || padded
        };
        (self.rows.iter().filter(is_even).count(), self.rows.len() + self.faults)
    }

    /// Whether all rows are as the header.
    fn is_even(&self, ragged: Ragged) -> bool {
        let (even, all) = self.even(ragged);
        even == all
    }

    /// Whether it may be a table: more than half of the rows are as a header of several columns.
    fn is_table(&self, ragged: Ragged) -> bool {
        let (even, all) = self.even(ragged);
        !self.begins_badly && self.columns() > 1 && 2 * even > all
    }

    /// Whether it is a table although its delimiter is rare: words and times have spaces and colons, too.
    fn is_sure(&self, ragged: Ragged) -> bool {
        let is_common = matches!(self.delimiter.byte(), b' ' | b':');
        let least = if is_common { 3 } else { 2 };
        self.is_table(ragged) && self.is_even(ragged) && self.columns() >= least
    }

    /// The usual number of fields, and how many rows have it.
    fn usual(&self) -> (usize, usize) {
        let mut counts = BTreeMap::new();
        self.rows.iter().for_each(|row| *counts.entry(row.fields).or_insert(0) += 1);
        counts.into_iter().max_by_key(|(_, rows)| *rows).unwrap_or_default()
    }
}

/// What an advice says of a shape.
impl Shape {
    /// Which row is probably the header: the first one with the usual number of fields, or the one above it if only empty
    /// fields make those below it longer.
    fn header(&self) -> usize {
        let (fields, _) = self.usual();
        let first = self.rows.iter().position(|row| row.fields == fields).unwrap_or(0);
        let fits = |header: &Row| {
            header.fields > 1 && self.rows[first..].iter().all(|row| row.filled <= header.fields)
        };
        if self.rows[..first].last().is_some_and(fits) { first - 1 } else { first }
    }

    fn lines_above(&self) -> Option<Text> {
        let header = self.rows.get(self.header()).filter(|_| self.header() > 0)?;
        let (lines, fields) = ((header.line - 1).to_string(), header.fields);
        Some(text!("`[skip-lines {}]` skips what stands above the first line with {} fields", lines, fields))
    }

    fn raggedness(&self) -> Option<Text> {
        let [header, below @ ..] = self.rows.get(self.header()..)? else { return None };
        if below.iter().all(|row| row.fields == header.fields) {
            return None;
        }
        let help = if below.iter().all(|row| row.filled <= header.fields) { "pad" } else { "skip" };
        let help = Text::option_with("ragged", help.to_owned());
        Some(text!("`{}` reads lines with other numbers of fields (lines {})", help, counted(&self.rows)))
    }
}

/// The delimiter of the first lines, and why it is that one; none if a first line names it.
pub(crate) fn delimiter(input: &Input, packing: Packing) -> Result<(Option<Delimiter>, Text), TableError> {
    let (sample, dialect) = (Sample::of(input, packing)?, input.dialect());
    if sample.names_delimiter() {
        return Ok((None, text!("`[delimiter auto]`: the first line names the delimiter")));
    }
    let ragged = dialect.ragged;
    let usual: Vec<Shape> = sample.shapes(dialect, USUAL).filter(|shape| shape.is_table(ragged)).collect();
    let found = fitting(&usual, ragged)
        .map_err(|either| TableError::DelimiterUnclear { file: input.name().to_owned(), either })?;
    let rare = || sample.shapes(dialect, RARE).find(|shape| dialect.header && shape.is_sure(ragged));
    let found = found.map(|shape| told(shape, ragged)).or_else(|| rare().map(|shape| told(&shape, ragged)));
    let (delimiter, why) = found.unwrap_or_else(|| {
        let why = text!("`[delimiter auto]`: the first lines show none, so every line is read as one field");
        (Delimiter::COMMA, why)
    });
    // Nobody asked for the comma, which may mean something else.
    if let Some(what) = (Dialect { delimiter: Some(delimiter), ..dialect.clone() }).fault() {
        return Err(TableError::Dialect { file: input.name().to_owned(), what });
    }
    Ok((Some(delimiter), why))
}

/// The shape that fits best; two delimiters if nobody can tell which.
fn fitting(shapes: &[Shape], ragged: Ragged) -> Result<Option<&Shape>, [Delimiter; 2]> {
    let mut even: Vec<&Shape> = shapes.iter().filter(|shape| shape.is_even(ragged)).collect();
    even.sort_by_key(|shape| Reverse(shape.columns()));
    match even[..] {
        // A list in a field has a delimiter, too, but fewer of it.
        [most, next, ..] if most.columns() < 2 * next.columns() => Err([most.delimiter, next.delimiter]),
        [most, ..] => Ok(Some(most)),
        [] => Ok(shapes.iter().max_by(|one, other| {
            let [(even, all), (others, of)] = [one, other].map(|shape| shape.even(ragged));
            (even * of).cmp(&(others * all)).then(one.columns().cmp(&other.columns()))
        })),
    }
}

fn told(shape: &Shape, ragged: Ragged) -> (Delimiter, Text) {
    let (even, all) = shape.even(ragged);
    let why = text!(
        "`[delimiter auto]`: {} is taken, with which {} of the first {} lines have {} fields",
        shape.delimiter.to_string(),
        even,
        all,
        shape.columns()
    );
    (shape.delimiter, why)
}

/// Which options may help to read a table that cannot be read, or that has one column; none if the first lines do not
/// show.
pub(crate) fn advice(input: &Input, packing: Packing, error: Option<&TableError>) -> Option<Text> {
    let (sample, dialect) = (Sample::of(input, packing).ok()?, input.dialect());
    let taken = dialect.delimiter.unwrap_or(Delimiter::COMMA);
    let best = likeliest(&sample, dialect, taken, error.is_some())?;
    // Some errors say so themselves.
    let known = error.is_some_and(|error| error.text().value_of("delimiter").is_some());
    let other = best.delimiter != taken && !known && !sample.names_delimiter();
    let delimiter = other.then(|| text!("give `[delimiter {}]`", best.delimiter.to_string()));
    let quotes = (best.stray_quotes > 0)
        .then(|| text!("`[stray-quotes text]` reads quotes within fields (lines: {})", best.stray_quotes));
    let said: Vec<Text> =
        [delimiter, best.lines_above(), best.raggedness(), quotes].into_iter().flatten().collect();
    let all = best.rows.len() + best.faults;
    (!said.is_empty()).then(|| text!("the first {} lines suggest: {}", all, Text::joined(said, "; ")))
}

/// The shape in which most lines have the same number of fields, of equals that which was `taken`; none if not even a third
/// of them do.
fn likeliest(sample: &Sample, dialect: &Dialect, taken: Delimiter, with_rare: bool) -> Option<Shape> {
    let best = |signs: &[u8], least: usize| {
        let shapes = sample.shapes(dialect, signs).filter(|shape| shape.usual().0 >= least);
        shapes.min_by_key(|shape| {
            let (fields, rows) = shape.usual();
            Reverse((rows * 100 / (shape.rows.len() + shape.faults), fields))
        })
    };
    let usual = best(&[&[taken.byte()], USUAL].concat(), 2);
    let best = usual.or_else(|| if with_rare { best(RARE, 3) } else { None });
    best.filter(|shape| 3 * shape.usual().1 >= shape.rows.len() + shape.faults)
}

/// A note on records of several lines, which a text without quoting does not have.
pub(crate) fn folded(input: &Input, packing: Packing) -> Option<Text> {
    let (sample, dialect) = (Sample::of(input, packing).ok()?, input.dialect());
    let shape = sample.shape(&Grammar::new(dialect), dialect.delimiter.unwrap_or(Delimiter::COMMA));
    let folded: Vec<&Row> = shape.rows.iter().filter(|row| row.lines > 1).collect();
    let first = folded.first().filter(|_| !sample.names_delimiter())?;
    Some(text!(
        "{} of the first {} records have a quoted field of several lines, the first in line {}; if quotes enclose no field in \
         this table, give `[quote none]`",
        folded.len(),
        shape.rows.len(),
        first.line
    ))
}

/// How many lines have how many fields, the most frequent numbers first.
fn counted(rows: &[Row]) -> String {
    const MOST: usize = 4;
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(row.fields).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, lines)| Reverse(*lines));
    let more = if counts.len() > MOST { ", …" } else { "" };
    let each = counts.iter().take(MOST).map(|(fields, lines)| {
        let s = if *fields == 1 { "" } else { "s" };
        format!("with {fields} field{s}: {lines}")
    });
    each.collect::<Vec<_>>().join(", ") + more
}
