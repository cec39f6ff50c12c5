//! CSV as RFC 4180 has it, record by record, with the bytes of each record as they stand in the file.
//!
//! Lines end in LF or CRLF, fields are separated by commas, a field with commas, quotes or line ends is quoted, and a
//! quote inside is doubled. What the RFC does not have is an error here, not a guess: a quote within an unquoted field,
//! anything but a comma or a line end after a closing quote, a quote that is never closed, a bare carriage return, a
//! row with more or fewer fields than the header. Beyond the RFC, a byte-order mark in front of the header and empty
//! lines are skipped.
//!
//! A parser of our own because both passes need what a general one hides: the verbatim bytes of a record, its physical
//! line, and a quote that the end of the file leaves open. The tests compare it with the `csv` crate.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2};

use crate::error::Syntax;

/// Bytes read at a time.
const BUFFER: usize = 1 << 20;
/// A longer record is taken for an unclosed quote before it fills the memory.
const LONGEST_RECORD: usize = 16 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why no record could be read. Fields are counted from 0.
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

/// Where a field lies in its record, quotes left out.
#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    /// Holds doubled quotes.
    doubled: bool,
}

/// The extent of one record.
struct Extent {
    /// Bytes without the line end.
    content: usize,
    /// Bytes with the line end.
    total: usize,
    /// No quotes, so that no line end but the last can be inside.
    plain: bool,
}

/// What a look at the buffered bytes gave. Positions count from the beginning of the record.
enum Parsed {
    Record(Extent),
    NeedMore,
    Bad { at: usize, what: Syntax },
}

/// Reads records one after the other.
pub(crate) struct Records<R> {
    source: R,
    buffer: Vec<u8>,
    longest: usize,
    /// The unread part of the buffer.
    unread: Range<usize>,
    at_end: bool,
    /// Where in the buffer a zero byte was seen first.
    zero: Option<usize>,
    /// The physical line that the next record begins in.
    next_line: u64,
    /// The current record, in the buffer, its line end included.
    record: Range<usize>,
    line: u64,
    fields: Vec<Field>,
    header: Header,
}

/// What the first record told.
#[derive(Default)]
struct Header {
    /// Bytes in front of it.
    mark: usize,
    columns: Option<Vec<Vec<u8>>>,
}

impl<R: Read> Records<R> {
    pub(crate) fn new(source: R) -> Self {
        Records::with_sizes(source, BUFFER, LONGEST_RECORD)
    }

    fn with_sizes(source: R, buffer: usize, longest: usize) -> Self {
        Records {
            source,
            buffer: vec![0; buffer],
            longest,
            unread: 0..0,
            at_end: false,
            zero: None,
            next_line: 1,
            record: 0..0,
            line: 0,
            fields: Vec::new(),
            header: Header::default(),
        }
    }

    /// Reads the header; false if the file is empty. To be called once, first.
    pub(crate) fn read_header(&mut self) -> Result<bool, Failure> {
        while self.unread.end < BYTE_ORDER_MARK.len() && !self.at_end {
            self.fill()?;
        }
        if self.buffer[..self.unread.end].starts_with(BYTE_ORDER_MARK) {
            self.header.mark = BYTE_ORDER_MARK.len();
            self.unread.start = self.header.mark;
        }
        if !self.read()? {
            return Ok(false);
        }
        self.header.columns =
            Some((0..self.fields.len()).map(|field| self.field(field).into_owned()).collect());
        Ok(true)
    }

    /// The header's fields; none before it is read.
    pub(crate) fn columns(&self) -> &[Vec<u8>] {
        self.header.columns.as_deref().unwrap_or_default()
    }

    /// Reads the next row; false at the end.
    #[inline]
    pub(crate) fn read_row(&mut self) -> Result<bool, Failure> {
        if !self.read()? {
            return Ok(false);
        }
        let (expected, found) = (self.columns().len(), self.fields.len());
        if found != expected {
            return Err(Failure::Syntax { line: self.line, what: Syntax::Uneven { expected, found } });
        }
        Ok(true)
    }

    /// About how many rows a file of that length has, going by what is buffered now.
    pub(crate) fn rows_hint(&self, length: u64) -> usize {
        let (seen, lines) = (self.unread.len() as u64, line_feeds(&self.buffer[self.unread.clone()]));
        // A little more than the estimate costs nothing; a little less costs a move of everything.
        let rows = u128::from(length) * u128::from(lines + 1) * 17 / 16 / u128::from(seen.max(1));
        usize::try_from(rows.min(u128::from(length))).unwrap_or(usize::MAX)
    }

    /// Where the bytes come from.
    pub(crate) fn source(&self) -> &R {
        &self.source
    }

    /// The physical line that the current record begins in.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The current record as it stands in the file, line end included if there is one.
    pub(crate) fn verbatim(&self) -> &[u8] {
        &self.buffer[self.record.clone()]
    }

    /// The byte-order mark, if the file has one.
    pub(crate) fn mark(&self) -> &'static [u8] {
        &BYTE_ORDER_MARK[..self.header.mark]
    }

    /// A field of the current record, unquoted.
    #[inline]
    pub(crate) fn field(&self, index: usize) -> Cow<'_, [u8]> {
        let Field { start, end, doubled } = self.fields[index];
        let bytes = &self.buffer[self.record.start..][start..end];
        if !doubled {
            return Cow::Borrowed(bytes);
        }
        let mut single = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(quote) = memchr(b'"', rest) {
            single.extend_from_slice(&rest[..=quote]);
            rest = rest.get(quote + 2..).unwrap_or_default();
        }
        single.extend_from_slice(rest);
        Cow::Owned(single)
    }

    /// Reads the next record that is not an empty line; false at the end.
    fn read(&mut self) -> Result<bool, Failure> {
        loop {
            let unread = &self.buffer[self.unread.clone()];
            if unread.is_empty() && self.at_end {
                return Ok(false);
            }
            let parsed = parse(unread, self.at_end, &mut self.fields);
            self.refuse_zero(&parsed)?;
            match parsed {
                Parsed::NeedMore => self.fill()?,
                Parsed::Bad { at, what } => {
                    return Err(Failure::Syntax { line: self.next_line + line_feeds(&unread[..at]), what });
                }
                Parsed::Record(Extent { content, total, plain }) => {
                    self.record = self.unread.start..self.unread.start + total;
                    self.unread.start = self.record.end;
                    self.line = self.next_line;
                    self.next_line += if plain { 1 } else { line_feeds(self.verbatim()) };
                    if content > 0 {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// A zero byte is worth telling before whatever else is wrong with the bytes around it.
    fn refuse_zero(&self, parsed: &Parsed) -> Result<(), Failure> {
        let Some(zero) = self.zero else { return Ok(()) };
        let seen = match parsed {
            Parsed::Record(extent) => self.unread.start + extent.total,
            Parsed::NeedMore | Parsed::Bad { .. } => self.unread.end,
        };
        if zero >= seen {
            return Ok(());
        }
        let line = self.next_line + line_feeds(&self.buffer[self.unread.start..zero]);
        Err(Failure::Syntax { line, what: Syntax::ZeroByte })
    }

    /// Moves the unread bytes to the front and fills the rest of the buffer, which grows if a record needs all of it.
    fn fill(&mut self) -> Result<(), Failure> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.zero = self.zero.map(|zero| zero.saturating_sub(self.unread.start));
        self.unread = 0..self.unread.len();
        if self.unread.end == self.buffer.len() {
            if self.buffer.len() >= self.longest {
                let what = Syntax::TooLong { limit: self.longest };
                return Err(Failure::Syntax { line: self.next_line, what });
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let old = self.unread.end;
        while self.unread.end < self.buffer.len() && !self.at_end {
            match self.source.read(&mut self.buffer[self.unread.end..]) {
                Ok(0) => self.at_end = true,
                Ok(count) => self.unread.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.zero.is_none() {
            self.zero = memchr(0, &self.buffer[old..self.unread.end]).map(|at| old + at);
        }
        Ok(())
    }
}

fn line_feeds(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// Finds the record that `bytes` begin with, and its fields.
fn parse(bytes: &[u8], at_end: bool, fields: &mut Vec<Field>) -> Parsed {
    fields.clear();
    let line_feed = memchr(b'\n', bytes);
    let line = match line_feed {
        Some(at) => &bytes[..at],
        None if at_end => bytes,
        None => return Parsed::NeedMore,
    };
    let content = match line {
        [content @ .., b'\r'] if line_feed.is_some() => content,
        content => content,
    };
    if memchr2(b'"', b'\r', content).is_some() {
        return parse_quoted(bytes, at_end, fields);
    }
    let mut start = 0;
    for end in memchr_iter(b',', content) {
        fields.push(Field { start, end, doubled: false });
        start = end + 1;
    }
    fields.push(Field { start, end: content.len(), doubled: false });
    let total = line.len() + usize::from(line_feed.is_some());
    Parsed::Record(Extent { content: content.len(), total, plain: true })
}

/// The same for a record that may have quotes.
fn parse_quoted(bytes: &[u8], at_end: bool, fields: &mut Vec<Field>) -> Parsed {
    let mut start = 0;
    loop {
        let end = if bytes.get(start) == Some(&b'"') {
            let mut doubled = false;
            let mut from = start + 1;
            let end = loop {
                let Some(quote) = memchr(b'"', &bytes[from..]) else {
                    return if at_end {
                        Parsed::Bad { at: start, what: Syntax::UnclosedQuote }
                    } else {
                        Parsed::NeedMore
                    };
                };
                from += quote + 1;
                match bytes.get(from) {
                    Some(b'"') => (doubled, from) = (true, from + 1),
                    None if !at_end => return Parsed::NeedMore,
                    _ => break from,
                }
            };
            fields.push(Field { start: start + 1, end: end - 1, doubled });
            end
        } else {
            let special = |byte: &u8| matches!(byte, b',' | b'\n' | b'\r' | b'"');
            let end = match bytes[start..].iter().position(special) {
                Some(length) => start + length,
                None if at_end => bytes.len(),
                None => return Parsed::NeedMore,
            };
            fields.push(Field { start, end, doubled: false });
            end
        };
        let record =
            |line_end: usize| Parsed::Record(Extent { content: end, total: end + line_end, plain: false });
        match (bytes.get(end), bytes.get(end + 1)) {
            (Some(b','), _) => start = end + 1,
            (Some(b'\n'), _) => return record(1),
            (Some(b'\r'), Some(b'\n')) => return record(2),
            (Some(b'\r'), None) if !at_end => return Parsed::NeedMore,
            (Some(b'\r'), _) => return Parsed::Bad { at: end, what: Syntax::BareReturn },
            (Some(_), _) => {
                return Parsed::Bad {
                    at: end,
                    what: Syntax::StrayQuote { field: fields.len(), column: None },
                };
            }
            (None, _) => return record(0),
        }
    }
}

#[cfg(test)]
mod tests;
