//! What a record is: one definition for the reader, for the cuts between threads and for the search for a delimiter.
//!
//! Fields end at a delimiter, records at LF or CRLF. A field that begins with the quote ends with one; inside, a doubled
//! quote is a quote. The escape, if there is one, takes the next character literally, inside and outside of quotes. A line
//! that begins with the comment sign is no record, nor is an empty one. Everything else that is not plain text is an error,
//! unless stray quotes are text.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2, memrchr, memrchr2_iter};

use crate::dialect::{Delimiter, Dialect, Quote, Sign, StrayQuotes};
use crate::error::Syntax;

/// A violation of the grammar, and where it is.
pub(crate) type Violation = (usize, Syntax);

/// How records are told apart.
#[derive(Clone)]
pub(crate) struct Grammar {
    pub(crate) delimiter: u8,
    pub(crate) quote: Option<u8>,
    pub(crate) escape: Option<u8>,
    pub(crate) comment: Option<u8>,
    keeps_stray: bool,
    /// The bytes that may end a field without quotes, or be an error in it.
    special: [bool; 256],
}

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// How many bytes it takes, its line end included.
    pub(crate) length: usize,
    /// How many of them stand before its line end, which a last record may lack. A line end that is escaped is none.
    pub(crate) content: usize,
    /// Whether it is a record; else it is an empty line or a comment.
    pub(crate) is_record: bool,
}

/// Takes the fields of a record.
pub(crate) trait TakeFields {
    /// Some more text of the current field.
    fn text(&mut self, text: &[u8]);
    /// The current field ends before this position.
    fn end(&mut self, at: usize);
}

/// Nobody wants them.
impl TakeFields for () {
    fn text(&mut self, _: &[u8]) {}
    fn end(&mut self, _: usize) {}
}

impl Grammar {
    pub(crate) fn new(dialect: &Dialect) -> Self {
        let quote = match dialect.quote {
            Quote::None => None,
            Quote::Sign(sign) => Some(sign.byte()),
        };
        let grammar = Grammar {
            delimiter: Delimiter::COMMA.byte(),
            quote,
            escape: dialect.escape.map(Sign::byte),
            comment: dialect.comment.map(Sign::byte),
            keeps_stray: dialect.stray_quotes == StrayQuotes::Text,
            special: [false; 256],
        };
        grammar.separated_by(dialect.delimiter.unwrap_or(Delimiter::COMMA))
    }

    /// The same with another delimiter.
    pub(crate) fn separated_by(&self, delimiter: Delimiter) -> Self {
        let mut grammar = Grammar { delimiter: delimiter.byte(), special: [false; 256], ..*self };
        let quote = grammar.quote.filter(|_| !grammar.keeps_stray);
        for byte in [Some(grammar.delimiter), Some(b'\n'), Some(b'\r'), quote, grammar.escape] {
            byte.into_iter().for_each(|byte| grammar.special[usize::from(byte)] = true);
        }
        grammar
    }

    /// What the bytes begin with; none if more bytes are needed to tell. The bytes are not empty, or not at the end.
    pub(crate) fn record(
        &self,
        bytes: &[u8],
        at_end: bool,
        fields: &mut impl TakeFields,
    ) -> Result<Option<Found>, Violation> {
        let nothing = |length| Ok(Some(Found { length, content: 0, is_record: false }));
        match bytes {
            [b'\n', ..] => return nothing(1),
            [b'\r', b'\n', ..] => return nothing(2),
            [first, ..] if Some(*first) == self.comment => match memchr(b'\n', bytes) {
                Some(at) => return nothing(at + 1),
                None if at_end => return nothing(bytes.len()),
                None => return Ok(None),
            },
            _ => {}
        }
        let (mut at, mut number) = (0, 1);
        loop {
            let end = match bytes.get(at) {
                Some(first) if Some(*first) == self.quote => {
                    self.quoted(bytes, (at, number), at_end, fields)?
                }
                _ => self.plain(bytes, (at, number), at_end, fields)?,
            };
            let Some(end) = end else { return Ok(None) };
            fields.end(end);
            let length = match bytes.get(end) {
                Some(b'\n') => end + 1,
                Some(b'\r') => end + 2,
                None => end,
                Some(_) => {
                    (at, number) = (end + 1, number + 1);
                    continue;
                }
            };
            return Ok(Some(Found { length, content: end, is_record: true }));
        }
    }

    /// Takes a field that does not begin with a quote. Returns where it ends, unless more bytes are needed.
    fn plain(
        &self,
        bytes: &[u8],
        (start, number): (usize, usize),
        at_end: bool,
        fields: &mut impl TakeFields,
    ) -> Result<Option<usize>, Violation> {
        let (mut from, mut at) = (start, start);
        loop {
            let Some(step) = bytes[at..].iter().position(|byte| self.special[usize::from(*byte)]) else {
                fields.text(&bytes[from..]);
                return Ok(at_end.then_some(bytes.len()));
            };
            at += step;
            match bytes[at] {
                b'\r' if !self.ends_line(bytes, at, at_end)? => return Ok(None),
                byte if Some(byte) == self.escape => match escaped(bytes, at) {
                    Some(end) => {
                        fields.text(&bytes[from..at]);
                        (from, at) = (at + 1, end);
                    }
                    None if at_end => return Err((at, Syntax::EscapesNothing)),
                    None => return Ok(None),
                },
                byte if Some(byte) == self.quote => return Err(stray(at, number)),
                _ => {
                    fields.text(&bytes[from..at]);
                    return Ok(Some(at));
                }
            }
        }
    }

    /// Takes a field that begins with a quote. Returns where it ends, unless more bytes are needed.
    fn quoted(
        &self,
        bytes: &[u8],
        (start, number): (usize, usize),
        at_end: bool,
        fields: &mut impl TakeFields,
    ) -> Result<Option<usize>, Violation> {
        let unfinished = || if at_end { Err((start, Syntax::UnclosedQuote)) } else { Ok(None) };
        let quote = bytes[start];
        let (mut from, mut at) = (start + 1, start + 1);
        loop {
            let found = match self.escape {
                Some(escape) => memchr2(quote, escape, &bytes[at..]),
                None => memchr(quote, &bytes[at..]),
            };
            let Some(step) = found else { return unfinished() };
            at += step;
            if bytes[at] != quote {
                let Some(end) = escaped(bytes, at) else { return unfinished() };
                fields.text(&bytes[from..at]);
                (from, at) = (at + 1, end);
                continue;
            }
            match bytes.get(at + 1) {
                None if !at_end => return Ok(None),
                Some(next) if *next == quote => {
                    fields.text(&bytes[from..=at]);
                    (from, at) = (at + 2, at + 2);
                    continue;
                }
                Some(b'\r') if !self.ends_line(bytes, at + 1, at_end)? => return Ok(None),
                None | Some(b'\n' | b'\r') => {}
                Some(next) if *next == self.delimiter => {}
                Some(_) => return Err(stray(at + 1, number)),
            }
            fields.text(&bytes[from..at]);
            return Ok(Some(at + 1));
        }
    }

    /// Whether a carriage return ends a line; false if more bytes are needed to tell.
    fn ends_line(&self, bytes: &[u8], at: usize, at_end: bool) -> Result<bool, Violation> {
        match bytes.get(at + 1) {
            Some(b'\n') => Ok(true),
            None if !at_end => Ok(false),
            _ => Err((at, Syntax::BareReturn)),
        }
    }

    /// A text as a field; none if there is no way to write it.
    pub(crate) fn field<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        let is_special = |byte: u8| self.special[usize::from(byte)] || Some(byte) == self.quote;
        if !text.bytes().any(is_special) {
            return Some(Cow::Borrowed(text));
        }
        // An escaped carriage return before a line end would take the line end, too.
        if self.quote.is_none() && text.ends_with('\r') {
            return None;
        }
        let mut field = String::with_capacity(text.len() + 2);
        let quote = self.quote.map(char::from);
        field.extend(quote);
        for letter in text.chars() {
            match (quote, self.escape.map(char::from)) {
                (Some(quote), _) if letter == quote => field.push(quote),
                (_, Some(escape)) if letter == escape => field.push(escape),
                (None, Some(escape)) if letter.is_ascii() && is_special(letter as u8) => field.push(escape),
                (None, None) => return None,
                _ => {}
            }
            field.push(letter);
        }
        field.extend(quote);
        Some(Cow::Owned(field))
    }

    /// The length of whole records at the beginning of these bytes, which begin with a record. For bytes with errors, the
    /// first error is in those records or behind them.
    pub(crate) fn last_end(&self, bytes: &[u8]) -> Option<usize> {
        match (self.quote, self.escape) {
            (None, None) => memrchr(b'\n', bytes).map(|at| at + 1),
            (Some(quote), None) if self.comment.is_none() && !self.keeps_stray => last_even(bytes, quote),
            // A quote need not open or close anything, so every record has to be looked at.
            _ => {
                let mut end = 0;
                while let Ok(Some(found)) = self.record(&bytes[end..], false, &mut ()) {
                    end += found.length;
                }
                (end > 0).then_some(end)
            }
        }
    }
}

fn stray(at: usize, field: usize) -> Violation {
    (at, Syntax::StrayQuote { field, column: None })
}

/// Where the character ends that an escape takes literally; none if it is not there. A line end in two bytes is one, so a
/// carriage return alone at the end is none: a line feed may be added to it.
fn escaped(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at + 1..] {
        [b'\r', b'\n', ..] => Some(at + 3),
        [] | [b'\r'] => None,
        _ => Some(at + 2),
    }
}

/// As far as the last line feed behind an even number of quotes.
fn last_even(bytes: &[u8], quote: u8) -> Option<usize> {
    let mut inside = memchr_iter(quote, bytes).count() % 2 == 1;
    for at in memrchr2_iter(quote, b'\n', bytes) {
        match bytes[at] {
            byte if byte == quote => inside = !inside,
            _ if inside => {}
            _ => return Some(at + 1),
        }
    }
    None
}
