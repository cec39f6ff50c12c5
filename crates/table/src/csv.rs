//! Reads CSV, record by record, and keeps the bytes of each record as they are in the file.
//!
//! What a record is, [`Grammar`] says: by default RFC 4180, with lines that end in LF or CRLF; a [`Dialect`] may say
//! otherwise. Rows with more or fewer fields than the header are an error, unless the dialect says what becomes of them.
//! Beyond the RFC, a byte-order mark before the header and empty lines are skipped, and a first line `sep=;` names the
//! delimiter, as in spreadsheets.
//!
//! [`Records::read_block`] gives the same rows, faster: it finds many records at once if they have nothing out of the
//! ordinary.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use crate::dialect::{Delimiter, Dialect, Ragged};
use crate::error::Syntax;

mod block;
mod fields;
pub(crate) mod grammar;
mod left_out;

use block::Block;
use fields::Fields;
use grammar::Grammar;
pub(crate) use left_out::LeftOut;

/// Bytes read at a time: they are still in the cache when they are parsed.
const BUFFER: usize = 1 << 18;
/// Bytes in which [`Records::read_block`] finds records: they fit the first-level cache.
const BATCH: usize = 1 << 14;
/// A longer record counts as an unclosed quote, before it fills the memory.
const LONGEST_RECORD: usize = 16 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why no record could be read.
#[derive(Debug)]
pub(crate) enum Failure {
    Read(io::Error),
    Syntax { line: u64, what: Syntax },
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Read(error)
    }
}

/// Reads records one after the other.
pub(crate) struct Records<R> {
    source: R,
    buffer: Vec<u8>,
    /// Its usual length.
    size: usize,
    longest: usize,
    /// Bytes read.
    taken: u64,
    /// Bytes in the buffer.
    filled: usize,
    at_end: bool,
    /// The error after which nothing more can be read.
    failure: Option<io::Error>,
    /// The current record in the buffer, with its line end. The bytes behind it are unread.
    record: Range<usize>,
    /// How many bytes of it stand before its line end.
    content: usize,
    line: u64,
    /// The physical line in which the next record begins.
    next_line: u64,
    dialect: Dialect,
    grammar: Grammar,
    fields: Fields,
    /// What would make the current record as long as the header.
    fit: Fit,
    /// The rows that were left out for their number of fields.
    left_out: LeftOut,
    header: Header,
    /// The records that [`Records::read_block`] found.
    block: Block,
    /// Up to this index of the buffer, records are read one by one.
    one_by_one: usize,
}

/// What makes a record have as many fields as the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fit {
    /// Bytes at its end that are empty fields too many.
    pub(crate) surplus: usize,
    /// Fields that it lacks.
    pub(crate) missing: usize,
}

/// A record as it stands in the file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Record<'r> {
    pub(crate) content: &'r [u8],
    /// Empty for a last record without one.
    pub(crate) line_end: &'r [u8],
    pub(crate) fit: Fit,
}

/// What the first record says.
#[derive(Default)]
struct Header {
    /// The bytes before it: a byte-order mark, skipped lines, a line that names the delimiter.
    preamble: Vec<u8>,
    columns: Option<Vec<Vec<u8>>>,
    /// Whether its line ends in CRLF.
    crlf: bool,
}

impl<R: Read> Records<R> {
    pub(crate) fn new(source: R, dialect: Dialect) -> Self {
        Records::with_sizes(source, dialect, BUFFER, LONGEST_RECORD)
    }

    fn with_sizes(source: R, dialect: Dialect, buffer: usize, longest: usize) -> Self {
        Records {
            source,
            buffer: vec![0; buffer],
            size: buffer,
            longest,
            taken: 0,
            filled: 0,
            at_end: false,
            failure: None,
            record: 0..0,
            content: 0,
            line: 0,
            next_line: 1,
            grammar: Grammar::new(&dialect),
            dialect,
            fields: Fields::default(),
            fit: Fit::default(),
            left_out: LeftOut::default(),
            header: Header::default(),
            block: Block::default(),
            one_by_one: 0,
        }
    }

    /// Reads the header; false if the file is empty. Call it once, first. Without a header the columns have
    /// numbers as names, and the first record is read again as a row.
    pub(crate) fn read_header(&mut self) -> Result<bool, Failure> {
        while self.filled < BYTE_ORDER_MARK.len() && !self.at_end {
            self.fill()?;
        }
        if self.buffer[..self.filled].starts_with(BYTE_ORDER_MARK) {
            self.header.preamble.extend_from_slice(BYTE_ORDER_MARK);
            self.record.end = BYTE_ORDER_MARK.len();
        }
        let mut skipped = 0;
        while skipped < self.dialect.skip_lines && self.skip_line()? {
            skipped += 1;
        }
        if !self.read()? || self.take_delimiter_line()? && !self.read()? {
            return Ok(false);
        }
        self.header.crlf = self.record().line_end == b"\r\n";
        let count = self.fields.len();
        let names = if self.dialect.header {
            (0..count).map(|field| self.field(field).into_owned()).collect()
        } else {
            // The record is read again, as a row.
            (self.record.end, self.next_line) = (self.record.start, self.line);
            (1..=count).map(|number| number.to_string().into_bytes()).collect()
        };
        self.header.columns = Some(names);
        Ok(true)
    }

    /// Takes a physical line into the preamble, whatever it holds; false at the end.
    fn skip_line(&mut self) -> Result<bool, Failure> {
        let mut begun = false;
        loop {
            (self.record.start, self.line) = (self.record.end, self.next_line);
            let unread = &self.buffer[self.record.end..self.filled];
            let end = memchr(b'\n', unread);
            let length = end.map_or(unread.len(), |at| at + 1);
            self.header.preamble.extend_from_slice(&unread[..length]);
            (self.record.end, begun) = (self.record.end + length, begun || length > 0);
            if self.header.preamble.len() > self.longest {
                return Err(self.fault(0, Syntax::SkippedTooLong { limit: self.longest }));
            }
            if end.is_some() || self.at_end {
                self.next_line += u64::from(begun);
                return Ok(begun);
            }
            self.record.start = self.record.end;
            self.fill()?;
        }
    }

    /// Whether the record is a first line `sep=`, which names the delimiter.
    fn take_delimiter_line(&mut self) -> Result<bool, Failure> {
        let [s, e, p, b'=', byte] = *self.record().content else { return Ok(false) };
        let Some(delimiter) = Delimiter::new(byte) else { return Ok(false) };
        if self.line != 1 || ![s, e, p].eq_ignore_ascii_case(b"sep") {
            return Ok(false);
        }
        if self.dialect.delimiter.is_some_and(|asked| asked != delimiter) {
            return Err(self.fault(0, Syntax::OtherDelimiter { delimiter }));
        }
        if let Some(what) = (Dialect { delimiter: Some(delimiter), ..self.dialect.clone() }).fault() {
            return Err(self.fault(0, Syntax::BadDelimiter(what)));
        }
        let line = self.record.clone();
        self.header.preamble.extend_from_slice(&self.buffer[line]);
        self.grammar = self.grammar.separated_by(delimiter);
        Ok(true)
    }

    /// How records are told apart.
    pub(crate) fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// The line end of the first record, for a last one that has none.
    pub(crate) fn line_end(&self) -> &'static [u8] {
        if self.header.crlf { b"\r\n" } else { b"\n" }
    }

    /// Whether the first record names the columns.
    pub(crate) fn has_header(&self) -> bool {
        self.dialect.header
    }

    /// The header's fields; none before it is read.
    pub(crate) fn columns(&self) -> &[Vec<u8>] {
        self.header.columns.as_deref().unwrap_or_default()
    }

    /// Reads the next row; false at the end.
    #[inline]
    pub(crate) fn read_row(&mut self) -> Result<bool, Failure> {
        while self.read()? {
            let (expected, found) = (self.columns().len(), self.fields.len());
            self.fit = Fit::default();
            if found == expected {
                return Ok(true);
            }
            match self.dialect.ragged {
                Ragged::Skip => self.left_out.add(self.line),
                Ragged::Pad if self.fields.fit(expected) => {
                    self.fit.missing = expected.saturating_sub(found);
                    if found > expected {
                        self.fit.surplus = self.content - self.fields.place(expected - 1);
                    }
                    return Ok(true);
                }
                ragged => {
                    let first = if self.dialect.header { "header" } else { "first line" };
                    return Err(match ragged {
                        Ragged::Pad => self.fault(0, Syntax::Surplus { expected, first }),
                        _ => self.fault(0, Syntax::Uneven { expected, found, first }),
                    });
                }
            }
        }
        Ok(false)
    }

    /// The rows that were left out for their number of fields.
    pub(crate) fn left_out(&mut self) -> &mut LeftOut {
        &mut self.left_out
    }

    /// Reads some of the next rows together. If it returns false, [read them one by one](Self::read_row). The
    /// rows are available until the next read.
    pub(crate) fn read_block(&mut self) -> bool {
        let start = self.record.end;
        if start < self.one_by_one {
            return false;
        }
        let end = self.filled.min(start + BATCH);
        let columns = self.header.columns.as_ref().map_or(0, Vec::len);
        if !self.block.find(&self.buffer[start..end], columns, &self.grammar) {
            self.one_by_one = end;
            return false;
        }
        self.record = start..start + self.block.length();
        self.line = self.next_line;
        self.next_line += self.block.lines(&self.buffer[start..end]);
        true
    }

    /// Gives the next records to `piece`, and returns how many bytes they are. None are given if the end of the source is
    /// in the buffer, or perhaps an error, or if the next record is too long: read them here then.
    pub(crate) fn give(&mut self, piece: &mut Records<io::Empty>) -> Result<usize, Failure> {
        loop {
            self.record.start = self.record.end;
            let unread = &self.buffer[self.record.end..self.filled];
            let is_full = self.filled == self.buffer.len() || self.failure.is_some();
            let end = if is_full && !self.at_end { self.grammar.last_end(unread) } else { None };
            match end {
                _ if self.at_end => return Ok(0),
                Some(length) => {
                    let lines = line_feeds(&unread[..length]);
                    self.split_off(length, piece);
                    (piece.next_line, self.next_line) = (self.next_line, self.next_line + lines);
                    return Ok(length);
                }
                None if self.failure.is_some() || unread.len() >= self.longest => return Ok(0),
                None => self.fill()?,
            }
        }
    }

    /// Gives the next bytes to `piece`, fewer if the source ends early. Lines are not counted.
    pub(crate) fn give_bytes(&mut self, count: usize, piece: &mut Records<io::Empty>) -> Result<(), Failure> {
        self.record.start = self.record.end;
        while self.filled - self.record.end < count && !self.at_end {
            self.fill()?;
        }
        self.split_off(count.min(self.filled - self.record.end), piece);
        Ok(())
    }

    /// Gives the next bytes to a piece, in its buffer.
    fn split_off(&mut self, length: usize, piece: &mut Records<io::Empty>) {
        let end = self.record.end + length;
        let rest = end..self.filled;
        // One long record must not leave all buffers as long.
        piece.buffer.resize(self.size.max(rest.len()), 0);
        piece.buffer.shrink_to(2 * self.size);
        piece.buffer[..rest.len()].copy_from_slice(&self.buffer[rest.clone()]);
        std::mem::swap(&mut self.buffer, &mut piece.buffer);
        (piece.record, piece.filled) = (self.record.end..self.record.end, end);
        (self.record, self.filled) = (0..0, rest.len());
        (piece.one_by_one, self.one_by_one) = (0, 0);
    }

    /// A reader of this one's pieces, once the header was read.
    pub(crate) fn piece(&self) -> Records<io::Empty> {
        let mut piece = Records::with_sizes(io::empty(), self.dialect.clone(), 0, self.longest);
        piece.grammar = self.grammar.clone();
        (piece.header.columns, piece.at_end) = (self.header.columns.clone(), true);
        piece
    }

    /// How many rows were read together.
    #[inline]
    pub(crate) fn block_rows(&self) -> usize {
        self.block.rows()
    }

    /// A field of one of them, unquoted.
    #[inline]
    pub(crate) fn block_field(&self, row: usize, column: usize) -> Cow<'_, [u8]> {
        self.block.field(self.verbatim(), row, column)
    }

    /// One of them as it stands in the file. Each has a line end, and none an escape.
    pub(crate) fn block_record(&self, row: usize) -> Record<'_> {
        let (content, line_end) = match &self.verbatim()[self.block.record(row)] {
            [content @ .., b'\r', b'\n'] => (content, &b"\r\n"[..]),
            [content @ .., b'\n'] | content => (content, &b"\n"[..]),
        };
        Record { content, line_end, fit: Fit::default() }
    }

    /// The physical line that one of them begins in.
    pub(crate) fn block_line(&self, row: usize) -> u64 {
        self.line + line_feeds(&self.verbatim()[..self.block.record(row).start])
    }

    /// Approximately how many rows a file of that length has, estimated from the buffer.
    pub(crate) fn rows_hint(&self, length: u64) -> usize {
        let unread = &self.buffer[self.record.end..self.filled];
        let (seen, lines) = (unread.len() as u64, line_feeds(unread));
        // A little too much memory costs nothing; a little too little costs a move of all items.
        let rows = u128::from(length) * u128::from(lines + 1) * 17 / 16 / u128::from(seen.max(1));
        usize::try_from(rows.min(u128::from(length))).unwrap_or(usize::MAX)
    }

    /// How many bytes were read.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Where the bytes come from.
    pub(crate) fn source(&self) -> &R {
        &self.source
    }

    pub(crate) fn source_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// The physical line after the records that were read.
    pub(crate) fn next_line(&self) -> u64 {
        self.next_line
    }

    /// The physical line that the current record begins in.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The current record as it stands in the file, line end included if there is one.
    pub(crate) fn verbatim(&self) -> &[u8] {
        &self.buffer[self.record.clone()]
    }

    /// The current record as it is copied.
    pub(crate) fn record(&self) -> Record<'_> {
        let (content, line_end) = self.verbatim().split_at(self.content);
        Record { content, line_end, fit: self.fit }
    }

    /// The bytes before the header: a byte-order mark, skipped lines and a line that names the delimiter, if the file
    /// has them.
    pub(crate) fn preamble(&self) -> &[u8] {
        &self.header.preamble
    }

    /// A field of the current record, unquoted.
    #[inline]
    pub(crate) fn field(&self, index: usize) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.fields.get(index))
    }

    /// A field of the current record as it stands in the file, with quotes and escapes.
    pub(crate) fn written(&self, index: usize) -> &[u8] {
        self.fields.written(index, self.verbatim())
    }

    /// Reads the next record that is neither an empty line nor a comment; false at the end.
    fn read(&mut self) -> Result<bool, Failure> {
        loop {
            self.record = self.record.end..self.record.end;
            self.line = self.next_line;
            let bytes = &self.buffer[self.record.end..self.filled];
            if bytes.is_empty() && self.at_end {
                return Ok(false);
            }
            self.fields.clear();
            let found = match self.grammar.record(bytes, self.at_end, &mut self.fields) {
                Ok(found) => found,
                // Up to the end of its line a zero byte is told before any other fault.
                Err((at, _)) if memchr(b'\n', &bytes[at..]).is_none() && self.has_more() => None,
                Err((at, what)) => {
                    let rest = memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
                    self.record.end += at + rest;
                    self.refuse_zero()?;
                    return Err(self.fault(at, what));
                }
            };
            let Some(found) = found else {
                self.fill()?;
                continue;
            };
            self.record.end += found.length;
            self.content = found.content;
            self.next_line += line_feeds(self.verbatim());
            if found.is_record {
                return self.refuse_zero().map(|()| true);
            }
        }
    }

    /// Whether a record may go on behind what is in the buffer.
    fn has_more(&self) -> bool {
        !self.at_end && self.failure.is_none() && self.filled - self.record.start < self.longest
    }

    fn fault(&self, at: usize, what: Syntax) -> Failure {
        Failure::Syntax { line: self.line + line_feeds(&self.verbatim()[..at]), what }
    }

    /// Reports a zero byte before any other error around it.
    fn refuse_zero(&self) -> Result<(), Failure> {
        memchr(0, self.verbatim()).map_or(Ok(()), |at| Err(self.fault(at, Syntax::ZeroByte)))
    }

    /// Moves the unread bytes to the front and fills the rest of the buffer. The buffer grows if a record needs all of
    /// it.
    fn fill(&mut self) -> Result<(), Failure> {
        self.buffer.copy_within(self.record.start..self.filled, 0);
        self.filled -= self.record.start;
        self.record = 0..self.record.len();
        self.one_by_one = 0;
        if self.filled == self.buffer.len() {
            if self.buffer.len() >= self.longest {
                self.record = 0..self.filled;
                self.refuse_zero()?;
                return Err(self.fault(0, Syntax::TooLong { limit: self.longest }));
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        if let Some(error) = self.failure.take() {
            return Err(error.into());
        }
        let before = self.filled;
        while self.filled < self.buffer.len() && !self.at_end {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.at_end = true,
                Ok(count) => {
                    self.filled += count;
                    self.taken += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.filled == before => return Err(error.into()),
                // First return the records before the error, so that its position is known.
                Err(error) => {
                    self.failure = Some(error);
                    break;
                }
            }
        }
        Ok(())
    }
}

fn line_feeds(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod grammar_tests;
#[cfg(test)]
mod spectrum_tests;
#[cfg(test)]
mod tests;
