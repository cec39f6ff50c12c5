//! The payload of a row: columns that go to the partner, as one block of a fixed width.
//!
//! The fields are written one after the other, each as a length and its text, and zeros follow to the end of
//! the block. So a block does not show how long the texts are. A length is 0 for a null, and otherwise one more than
//! the bytes of the text. It is in LEB128: seven bits a byte, the low ones first, and a one in front if more follow.
//!
//! The partner may have written something else. Such a block counts as nulls, and the others keep their fields: the
//! receiver sees blocks of its matches only, so a run that ended at one would tell the partner that its key matches.

use std::fmt;

/// Bytes of a length, at most.
const LENGTH_BYTES: usize = 3;
/// Lengths are below this.
const MOST: usize = 1 << (7 * LENGTH_BYTES);

/// A block does not have the form that this module describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BadBlock;

/// Appends a field. False if its text is too long for any block.
#[must_use]
pub(crate) fn write_field(text: Option<&[u8]>, out: &mut Vec<u8>) -> bool {
    let mut left = text.map_or(0, |text| text.len() + 1);
    if left >= MOST {
        return false;
    }
    while left >= 0x80 {
        out.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
    out.extend_from_slice(text.unwrap_or_default());
    true
}

/// Takes a field from the beginning of a block.
fn read_field<'b>(block: &mut &'b [u8]) -> Result<Option<&'b str>, BadBlock> {
    let last = block.iter().take(LENGTH_BYTES).position(|byte| *byte < 0x80).ok_or(BadBlock)?;
    let (code, rest) = block.split_at(last + 1);
    // No length has two forms.
    if last > 0 && code[last] == 0 {
        return Err(BadBlock);
    }
    let code = code.iter().rev().fold(0, |code, byte| code << 7 | usize::from(byte & 0x7f));
    let Some(length) = code.checked_sub(1) else {
        *block = rest;
        return Ok(None);
    };
    let (text, rest) = rest.split_at_checked(length).ok_or(BadBlock)?;
    *block = rest;
    let text = std::str::from_utf8(text).map_err(|_| BadBlock)?;
    if text.contains('\0') { Err(BadBlock) } else { Ok(Some(text)) }
}

/// Checks that a block holds so many fields, and zeros behind them.
fn check(mut block: &[u8], fields: usize) -> Result<(), BadBlock> {
    for _ in 0..fields {
        read_field(&mut block)?;
    }
    if block.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(BadBlock) }
}

/// The partner's columns for my matching rows.
#[derive(Clone, PartialEq, Eq)]
pub struct PayloadRows {
    names: Vec<String>,
    width: usize,
    blocks: Vec<u8>,
    of_row: Vec<u32>,
    /// Which blocks did not decode.
    bad: Vec<bool>,
}

impl PayloadRows {
    /// The columns of these names from blocks of `width` bytes, one after the other. `of_row` has the block of each
    /// matching row, in the order of the rows. None if blocks are not whole, or a row has no block.
    ///
    /// Where a block does not have the form of this module, all fields of its rows are null.
    pub fn new(names: Vec<String>, width: usize, mut blocks: Vec<u8>, of_row: Vec<u32>) -> Option<Self> {
        let count = blocks.len().checked_div(width)?;
        if blocks.len() != count * width || of_row.iter().any(|block| *block as usize >= count) {
            return None;
        }
        let nulled = |block: &mut [u8]| {
            let bad = check(block, names.len()).is_err();
            if bad {
                // A null each.
                block.fill(0);
            }
            bad
        };
        let bad: Vec<bool> = blocks.chunks_exact_mut(width).map(nulled).collect();
        Some(PayloadRows { names, width, blocks, of_row, bad })
    }

    /// The same columns for some of these rows, given by their numbers among them.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn of_rows(self, rows: impl Iterator<Item = usize>) -> Self {
        let of_row = rows.map(|row| self.of_row[row]).collect();
        PayloadRows { of_row, ..self }
    }

    /// The names of the columns, as the sender has them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Bytes of a block, which its fields take at most.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many rows have one.
    pub fn rows(&self) -> usize {
        self.of_row.len()
    }

    /// How many of these rows, given by their numbers, have only nulls, since their block did not decode.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn undecodable(&self, rows: impl Iterator<Item = usize>) -> usize {
        rows.filter(|row| self.bad[self.of_row[*row] as usize]).count()
    }

    /// The fields of a matching row, by its number among them; none for a null.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn fields(&self, row: usize) -> impl Iterator<Item = Option<&str>> {
        let mut block = &self.blocks[self.of_row[row] as usize * self.width..][..self.width];
        // All blocks have been checked. One of zeros may be too short for a length of each field.
        self.names.iter().map(move |_| read_field(&mut block).unwrap_or_default())
    }

    /// The columns: each name, and the fields of the matching rows.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Vec<Option<&str>>)> {
        let column = |at| (0..self.rows()).map(|row| self.field(row, at)).collect();
        self.names.iter().enumerate().map(move |(at, name)| (name.as_str(), column(at)))
    }

    /// One field of a matching row.
    pub(crate) fn field(&self, row: usize, column: usize) -> Option<&str> {
        self.fields(row).nth(column).flatten()
    }
}

impl fmt::Debug for PayloadRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadRows").field("names", &self.names).field("rows", &self.rows()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(fields: &[Option<&str>], width: usize) -> Vec<u8> {
        let mut out = Vec::new();
        fields.iter().for_each(|text| assert!(write_field(text.map(str::as_bytes), &mut out)));
        assert!(out.len() <= width);
        out.resize(width, 0);
        out
    }

    #[test]
    fn fields_come_back() {
        let long = "ä".repeat(100);
        let longer = "x".repeat(20_000);
        for fields in [
            &[None, Some(""), Some("a"), Some(&*long)][..],
            &[Some(&*longer)],
            &[
                Some(&longer[..126]),
                Some(&longer[..127]),
                None,
                Some(&longer[..16_382]),
                Some(&longer[..16_383]),
            ],
        ] {
            let names: Vec<String> = (0..fields.len()).map(|n| n.to_string()).collect();
            let blocks = [block(&vec![None; fields.len()], 1 << 16), block(fields, 1 << 16)].concat();
            let rows = PayloadRows::new(names, 1 << 16, blocks, vec![1, 0, 1]).unwrap();
            assert!(rows.fields(0).eq(fields.iter().copied()) && rows.fields(2).eq(rows.fields(0)));
            assert!(rows.fields(1).all(|text| text.is_none()));
        }
        assert!(!write_field(Some(&[b'x'; MOST]), &mut Vec::new()));
    }

    #[test]
    fn a_block_has_one_form() {
        let good = block(&[Some("abc"), None], 8);
        assert!(check(&good, 2).is_ok());
        let bad: [&[u8]; 8] = [
            b"",                 // no field
            b"\x05abc",          // beyond the end
            b"\x84\x00abc\0\0",  // a length of two bytes that one byte has
            b"\x80\x80\x80\x01", // a length of four bytes
            b"\x02\xff\0\0",     // no UTF-8
            b"\x02\0\0\0",       // a zero byte
            b"\x04abc\0\0\x01",  // not zeros behind the last field
            b"\x80",             // half a length
        ];
        for bad in bad {
            assert_eq!(check(bad, 2), Err(BadBlock), "{bad:?}");
        }
    }

    #[test]
    fn a_block_that_does_not_decode_is_nulls_and_the_others_stay() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let rows = |width, blocks: &[u8], of_row: &[u32]| {
            PayloadRows::new(names.to_vec(), width, blocks.to_vec(), of_row.to_vec())
        };
        let good = block(&[Some("x"), None, Some("y")], 8);
        // The first field of each would decode.
        for bad in [b"\x02x\x09y\0\0\0\0", b"\x02x\0\0\0\0\0\x01", b"\x02x\x02\xff\0\0\0\0"] {
            let found = rows(8, &[&good[..], bad].concat(), &[1, 0, 1]).unwrap();
            assert_eq!((found.rows(), found.undecodable(0..3)), (3, 2));
            assert!(found.fields(0).chain(found.fields(2)).all(|text| text.is_none()), "{bad:?}");
            assert!(found.fields(1).eq([Some("x"), None, Some("y")]));
        }
        let narrow = rows(2, b"\x05x", &[0]).unwrap();
        assert!(narrow.undecodable(0..narrow.rows()) == 1 && narrow.fields(0).eq([None, None, None]));
        // A block of no row is nobody's fault.
        assert_eq!(rows(2, b"\x05x", &[]).map(|rows| rows.undecodable(0..0)), Some(0));
        assert!(
            rows(8, &good, &[1]).is_none() && rows(7, &good, &[0]).is_none() && rows(0, &good, &[]).is_none()
        );
    }
}
