//! Finds many records at once: the fast path for text without errors.
//!
//! Delimiters (below: commas), line feeds, quotes and carriage returns of 64 bytes become words with one bit
//! a byte. A byte is within quotes if an odd number of quotes precedes it, so separators are found without a
//! branch for each byte (Langdale, Lemire, "Parsing Gigabytes of JSON per Second", 2019, section 3.1). Errors
//! show in the same words. If there is one, this module finds nothing, and the slow path reads the records
//! and reports the error.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;
use vesica_crypto::byte_masks::{BLOCK, byte_masks};

use super::grammar::Grammar;
use super::line_feeds;

/// How many bytes are searched for: the delimiter, line feed, quote, carriage return, zero.
const BYTES: usize = 5;
/// Positions written at a time, of which the last may be surplus.
const BATCH: usize = 8;

/// The ends of the fields of some records, in a text that begins with the first record.
#[derive(Default)]
pub(super) struct Block {
    columns: usize,
    rows: usize,
    /// What fields are quoted with, if the text has any of it.
    quoted: Option<u8>,
    /// The position of the comma or line feed behind each field, ascending; the rest is left from earlier
    /// texts.
    ends: Vec<u32>,
    masks: Vec<[u64; BYTES]>,
}

/// The state that carries over from one word of bits to the next, in the lowest bit.
struct Carry {
    /// All ones within quotes.
    inside: u64,
    /// Whether the last byte may stand before an opening quote.
    before_opening: u64,
    /// Whether it was a closing quote.
    closing: u64,
    /// Whether it was a carriage return outside of quotes.
    carriage_return: u64,
}

impl Block {
    /// Finds the records of `columns` columns in `text`, which begins with a record. Returns false if no
    /// record is whole, the text has an error, a line is empty, or something shows that only some grammars have.
    pub(super) fn find(&mut self, text: &[u8], columns: usize, grammar: &Grammar) -> bool {
        (self.columns, self.rows) = (columns, 0);
        if grammar.escape.is_some_and(|escape| memchr(escape, text).is_some()) {
            return false;
        }
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        self.masks.resize(blocks.len() + 1, [0; BYTES]);
        // A line feed may follow a quote or a carriage return at the end, so padding with line feeds shows no
        // error there. The last record is incomplete and is left out.
        let mut last = [b'\n'; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let (most, end) = self.masks.split_at_mut(blocks.len());
        // Without a quote its bits are left out below.
        let bytes = [grammar.delimiter, b'\n', grammar.quote.unwrap_or(0), b'\r', 0];
        byte_masks(blocks, bytes, most);
        byte_masks(&[last], bytes, end);
        let lines = self.separators(text.len(), grammar.quote);
        let is_even = |lines: &usize| {
            self.is_even(text, *lines) && !grammar.comment.is_some_and(|sign| self.begins(text, *lines, sign))
        };
        self.rows = lines.filter(is_even).unwrap_or(0);
        self.rows > 0
    }

    /// Finds the separators of the text. Returns how many lines end, or nothing if the text has an error.
    fn separators(&mut self, length: usize, quote: Option<u8>) -> Option<usize> {
        // At most one separator for each byte.
        if self.ends.len() < length + 2 * BATCH {
            self.ends.resize(length + 2 * BATCH, 0);
        }
        let mut carry = Carry { inside: 0, before_opening: 1, closing: 0, carriage_return: 0 };
        let (mut count, mut lines, mut odd, mut any_quote) = (0, 0, 0, 0);
        let last = length / BLOCK;
        let quotable = if quote.is_some() { !0 } else { 0 };
        for (number, [commas, line_feeds, quotes, returns, zeros]) in self.masks.iter().enumerate() {
            let quotes = quotes & quotable;
            let inside = carry.inside ^ if quotes == 0 { 0 } else { odd_up_to(quotes) };
            let (opening, closing) = (quotes & inside, quotes & !inside);
            let (line_feeds, returns) = (line_feeds & !inside, returns & !inside);
            let separators = commas & !inside | line_feeds;
            odd |= zeros
                | opening & !((separators | closing) << 1 | carry.before_opening)
                | (closing << 1 | carry.closing) & !(separators | returns | opening)
                | (returns << 1 | carry.carriage_return) & !line_feeds;
            any_quote |= quotes;
            carry = Carry {
                inside: 0u64.wrapping_sub(inside >> 63),
                before_opening: (separators | closing) >> 63,
                closing: closing >> 63,
                carriage_return: returns >> 63,
            };
            let there = if number < last { !0 } else { (1 << (length % BLOCK)) - 1 };
            lines += (line_feeds & there).count_ones() as usize;
            count = keep(&mut self.ends, count, separators & there, (number * BLOCK) as u32);
        }
        self.quoted = quote.filter(|_| any_quote != 0);
        (odd == 0 && lines.checked_mul(self.columns).is_some_and(|all| all <= count)).then_some(lines)
    }

    /// Whether `lines` lines, one for each line feed, all have as many fields as there are columns, and none
    /// is empty.
    fn is_even(&self, text: &[u8], lines: usize) -> bool {
        // If a line feed ends each row of columns, all other separators are commas.
        let ends_line = |row: usize| text.get(self.end(row)) == Some(&b'\n');
        let is_empty = |row: usize| matches!(&text[self.record(row)], b"\n" | b"\r\n");
        self.columns > 0 && (0..lines).all(ends_line) && (self.columns > 1 || !(0..lines).any(is_empty))
    }

    /// Whether one of these lines begins with that sign.
    fn begins(&self, text: &[u8], lines: usize, sign: u8) -> bool {
        (0..lines).any(|row| text.get(self.record(row).start) == Some(&sign))
    }

    /// How many records there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// How many bytes of the text they take.
    pub(super) fn length(&self) -> usize {
        self.rows.checked_sub(1).map_or(0, |last| self.end(last) + 1)
    }

    /// How many lines of the text they take.
    pub(super) fn lines(&self, text: &[u8]) -> u64 {
        if self.quoted.is_some() { line_feeds(&text[..self.length()]) } else { self.rows as u64 }
    }

    /// Where the line feed of a record is.
    #[inline]
    fn end(&self, row: usize) -> usize {
        self.ends[(row + 1) * self.columns - 1] as usize
    }

    /// Where a record is, its line end included.
    #[inline]
    pub(super) fn record(&self, row: usize) -> Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.end(before) + 1)..self.end(row) + 1
    }

    /// A field of a record, unquoted.
    #[inline]
    pub(super) fn field<'t>(&self, text: &'t [u8], row: usize, column: usize) -> Cow<'t, [u8]> {
        let number = row * self.columns + column;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize + 1);
        let mut field = &text[start..self.ends[number] as usize];
        if column + 1 == self.columns
            && let [content @ .., b'\r'] = field
        {
            field = content;
        }
        match (self.quoted, field) {
            (Some(quote), [first, content @ .., last]) if *first == quote && *last == quote => {
                unquoted(content, quote)
            }
            _ => Cow::Borrowed(field),
        }
    }
}

/// Writes the positions of these bits behind the first `count` entries, and some surplus, which the next call
/// overwrites.
#[inline(always)]
fn keep(ends: &mut [u32], mut count: usize, mut bits: u64, base: u32) -> usize {
    let all = count + bits.count_ones() as usize;
    while count < all {
        let Some(positions) = ends.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<BATCH>) else {
            break;
        };
        for position in positions {
            *position = base + bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
        }
        count += BATCH;
    }
    all
}

/// Bit `i` is set if an odd number of bits up to `i` is.
#[inline(always)]
fn odd_up_to(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// The content of a quoted field, without the second of two quotes.
fn unquoted(content: &[u8], sign: u8) -> Cow<'_, [u8]> {
    let Some(mut quote) = memchr(sign, content) else { return Cow::Borrowed(content) };
    let (mut text, mut rest) = (Vec::with_capacity(content.len()), content);
    loop {
        text.extend_from_slice(&rest[..=quote]);
        rest = rest.get(quote + 2..).unwrap_or_default();
        match memchr(sign, rest) {
            Some(next) => quote = next,
            None => break,
        }
    }
    text.extend_from_slice(rest);
    Cow::Owned(text)
}
