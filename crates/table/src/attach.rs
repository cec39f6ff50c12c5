//! What a sender's rows carry beside their keys: numbers to sum, or columns that the partner's matching rows get.
//!
//! The first pass collects it row by row, and [`Table::attached`](crate::Table::attached) puts it into the order of the items. Rows without
//! a valid key carry nothing, and their values are not looked at.

use vesica_encode::items::Items;

use crate::error::{BadValue, Invalid, PayloadFault, Place, TableError};
use crate::header::{Needed, Purpose};
use crate::payload::write_field;
use crate::rule::{Part, Rule, Value};
use crate::shown::shown;

/// Rows for which room is made on a hint, which may be wrong.
const HINT_LIMIT: usize = 1 << 26;

/// The columns that go with the keys of a sender.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Attach {
    /// None.
    #[default]
    Nothing,
    /// Columns of unsigned 64-bit numbers, to be summed over the matching rows.
    Values(Vec<String>),
    /// Columns of any kind, as text, in a block of so many bytes for each key.
    Payload {
        /// Their names.
        columns: Vec<String>,
        /// The width of the block.
        bytes: usize,
    },
}

impl Attach {
    /// The columns, and what they are for.
    pub(crate) fn needed(&self) -> impl Iterator<Item = Needed<'_>> {
        let (columns, purpose) = match self {
            Attach::Nothing => (&[][..], Purpose::Value),
            Attach::Values(columns) => (&columns[..], Purpose::Value),
            Attach::Payload { columns, .. } => (&columns[..], Purpose::Payload),
        };
        columns.iter().map(move |name| Needed { name, purpose })
    }
}

/// What goes with the items, in their order. A dummy has zeros.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Attached {
    /// Nothing.
    #[default]
    Nothing,
    /// For each column a number for each item: the sum over the item's rows.
    Values(Vec<Vec<u64>>),
    /// A block of `width` bytes for each item, one after the other.
    Payloads {
        /// The blocks.
        blocks: Vec<u8>,
        /// The bytes of one.
        width: usize,
    },
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Attached::Nothing => "Nothing",
            Attached::Values(_) => "Values",
            Attached::Payloads { .. } => "Payloads",
        })
    }
}

/// What goes with the rows, while they are read.
#[derive(Debug)]
pub(crate) enum Carried {
    Nothing,
    Values(Vec<Vec<u64>>),
    Payloads {
        width: usize,
        /// The fields of all rows, one after the other.
        text: Vec<u8>,
        /// Where each row's end.
        ends: Vec<usize>,
    },
}

/// Why a row cannot be taken; `part` is the number of the column among those that are carried.
pub(crate) enum RowFault {
    Value { part: usize, reason: BadValue },
    Payload { reason: PayloadFault, part: Option<usize> },
}

impl RowFault {
    /// The error that names the row.
    #[cold]
    pub(crate) fn explain(self, file: &str, place: Place, attach: &Attach) -> TableError {
        let file = file.to_owned();
        let column = |part| shown(attach.needed().nth(part).map_or(&[][..], |needed| needed.name.as_bytes()));
        match self {
            RowFault::Value { part, reason } => {
                TableError::Value { file, place, column: column(part), reason }
            }
            RowFault::Payload { reason, part } => {
                TableError::Payload { file, place, column: part.map(column), reason }
            }
        }
    }
}

impl Carried {
    pub(crate) fn new(attach: &Attach, rows_hint: usize) -> Self {
        let rows = rows_hint.min(HINT_LIMIT);
        match attach {
            Attach::Nothing => Carried::Nothing,
            Attach::Values(columns) => {
                Carried::Values(columns.iter().map(|_| Vec::with_capacity(rows)).collect())
            }
            Attach::Payload { bytes, .. } => {
                Carried::Payloads { width: *bytes, text: Vec::new(), ends: Vec::with_capacity(rows) }
            }
        }
    }

    /// Takes the next row, whose fields `value` gives by number. `has_key` says whether it has a valid key, and is
    /// only asked about a row at fault.
    #[inline]
    pub(crate) fn row<'v>(
        &mut self,
        columns: usize,
        value: impl Fn(usize) -> Value<'v>,
        has_key: impl Fn() -> bool,
    ) -> Result<(), RowFault> {
        match self {
            Carried::Nothing => Ok(()),
            Carried::Values(columns) => columns.iter_mut().enumerate().try_for_each(|(part, numbers)| {
                let number = match number(value(part)) {
                    Err(reason) if has_key() => return Err(RowFault::Value { part, reason }),
                    number => number.unwrap_or(0),
                };
                numbers.push(number);
                Ok(())
            }),
            Carried::Payloads { width, text, ends } => {
                let start = text.len();
                if let Err(fault) = payload((0..columns).map(value), *width, text) {
                    if has_key() {
                        return Err(fault);
                    }
                    text.truncate(start);
                }
                ends.push(text.len());
                Ok(())
            }
        }
    }

    /// Takes what the next rows carry, whose part of a table is empty then.
    pub(crate) fn take_from(&mut self, part: &mut Carried) {
        match (self, part) {
            (Carried::Values(columns), Carried::Values(parts)) => {
                columns.iter_mut().zip(parts).for_each(|(column, part)| column.append(part));
            }
            (Carried::Payloads { text, ends, .. }, Carried::Payloads { text: part, ends: part_ends, .. }) => {
                ends.extend(part_ends.drain(..).map(|end| text.len() + end));
                text.append(part);
            }
            _ => {}
        }
    }
}

/// A number to sum.
fn number(value: Value<'_>) -> Result<u64, BadValue> {
    let mut digits = Vec::new();
    match Rule::Int.apply(value, &mut digits) {
        Ok(Part::Null) => Err(BadValue::Empty),
        Ok(Part::Present) if digits.first() == Some(&b'-') => Err(BadValue::Negative),
        Ok(Part::Present) => {
            let number = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok());
            number.ok_or(BadValue::TooLarge)
        }
        Err(Invalid::TooManyDigits) => Err(BadValue::TooLarge),
        Err(_) => Err(BadValue::NotWhole),
    }
}

/// Appends the fields of a row.
fn payload<'v>(
    fields: impl Iterator<Item = Value<'v>>,
    width: usize,
    out: &mut Vec<u8>,
) -> Result<(), RowFault> {
    let start = out.len();
    let mut fits = true;
    for (part, field) in fields.enumerate() {
        let refused = |reason| Err(RowFault::Payload { reason, part: Some(part) });
        let text = match &field {
            Value::Null => None,
            Value::Undecoded => return refused(PayloadFault::NotText),
            Value::Text(text) | Value::Binary(text) => match std::str::from_utf8(text) {
                Err(_) => return refused(PayloadFault::NotText),
                Ok(text) if text.contains('\0') => return refused(PayloadFault::ZeroByte),
                Ok(text) => Some(text.as_bytes()),
            },
        };
        fits &= write_field(text, out);
    }
    let taken = out.len() - start;
    if fits && taken <= width {
        return Ok(());
    }
    Err(RowFault::Payload {
        reason: PayloadFault::TooLong { taken: fits.then_some(taken), most: width },
        part: None,
    })
}

/// The rows of an item, where a row has so many keys.
fn rows_of(items: &Items, item: usize, rules: usize) -> impl Iterator<Item = u64> {
    items.rows_of(item).map(move |key| key / rules as u64)
}

/// The sum over the rows of each item, or the row with which one becomes too large.
pub(crate) fn summed(items: &Items, numbers: &[u64], rules: usize) -> Result<Vec<u64>, u64> {
    let of_item = |item| {
        let mut rows = rows_of(items, item, rules);
        rows.try_fold(0u64, |sum, row| sum.checked_add(numbers[row as usize]).ok_or(row))
    };
    (0..items.len()).map(of_item).collect()
}

/// The block of each item, or two rows of one key with different payloads.
pub(crate) fn blocks(
    items: &Items,
    width: usize,
    (text, ends): (&[u8], &[usize]),
    rules: usize,
) -> Result<Vec<u8>, (u64, u64)> {
    let of_row = |row: u64| {
        let row = row as usize;
        &text[row.checked_sub(1).map_or(0, |before| ends[before])..ends[row]]
    };
    let mut blocks = vec![0; items.len() * width];
    for (item, block) in blocks.chunks_exact_mut(width.max(1)).enumerate() {
        let mut rows = rows_of(items, item, rules);
        let Some(first) = rows.next() else { continue };
        let own = of_row(first);
        if let Some(other) = rows.find(|row| of_row(*row) != own) {
            return Err((first, other));
        }
        block[..own.len()].copy_from_slice(own);
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests;
