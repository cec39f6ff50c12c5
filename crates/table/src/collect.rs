//! From the key values of each row to items, whatever format the rows come from.

use vesica_encode::items::{Encoding, Items, ItemsBuilder, ItemsError, KeyEncoder};

use crate::error::{Invalid, TableError};
use crate::rule::{Part, Rule, Value};
use crate::table::{OnFault, Request, TableReport};

/// What is wrong with a row; `part` is the number of the key column.
#[derive(Debug)]
pub(crate) enum RowFault {
    Null { part: usize },
    Invalid { part: usize, reason: Invalid },
    Items(ItemsError),
}

impl From<ItemsError> for RowFault {
    fn from(error: ItemsError) -> Self {
        RowFault::Items(error)
    }
}

/// Collects the keys of one table.
pub(crate) struct Collector {
    rules: Vec<Rule>,
    on_null: OnFault,
    on_invalid: OnFault,
    encoder: KeyEncoder,
    builder: ItemsBuilder,
    report: TableReport,
}

impl Collector {
    pub(crate) fn new(request: &Request, rows_hint: usize) -> Result<Self, TableError> {
        let rules: Vec<Rule> = request.keys.iter().map(|key| key.rule).collect();
        let encoder =
            KeyEncoder::new(rules.len()).map_err(|_| TableError::KeyCount { found: rules.len() })?;
        if matches!(request.encoding, Encoding::Native { .. }) && rules != [Rule::Int] {
            return Err(TableError::NativeKey);
        }
        let builder = ItemsBuilder::new(request.encoding, rows_hint).map_err(|error| match error {
            ItemsError::Sigma { .. } => TableError::NativeKey,
            error => TableError::Items(error),
        })?;
        let (on_null, on_invalid) = (request.on_null, request.on_invalid);
        Ok(Collector { rules, on_null, on_invalid, encoder, builder, report: TableReport::default() })
    }

    /// Takes the next row, whose key values `value` gives by number.
    #[inline]
    pub(crate) fn row<'v>(&mut self, mut value: impl FnMut(usize) -> Value<'v>) -> Result<(), RowFault> {
        let row = self.report.rows;
        self.report.rows += 1;
        self.encoder.clear();
        // Null wins over invalid, whatever the order of the columns.
        let (mut null, mut invalid) = (None, None);
        for (part, rule) in self.rules.iter().enumerate() {
            match self.encoder.part_with(|bytes| rule.apply(value(part), bytes))? {
                Ok(Part::Present) => {}
                Ok(Part::Null) => null = null.or(Some(part)),
                Err(reason) => invalid = invalid.or(Some((part, reason))),
            }
        }
        if let Some(part) = null {
            self.report.nulls += 1;
            return if self.on_null == OnFault::Skip { Ok(()) } else { Err(RowFault::Null { part }) };
        }
        if let Some((part, reason)) = invalid {
            self.report.invalid += 1;
            return if self.on_invalid == OnFault::Skip {
                Ok(())
            } else {
                Err(RowFault::Invalid { part, reason })
            };
        }
        self.push(row)
    }

    fn push(&mut self, row: u64) -> Result<(), RowFault> {
        let key = self.encoder.finish()?;
        let Encoding::Native { sigma } = self.builder.encoding() else {
            return Ok(self.builder.push(row, key)?);
        };
        // Behind the arity and the length stand the digits of the one part.
        let digits = key.get(5..).and_then(|digits| std::str::from_utf8(digits).ok());
        let fault = RowFault::Invalid { part: 0, reason: Invalid::OutOfRange { sigma } };
        let Some(value) = digits.and_then(|digits| digits.parse().ok()) else { return Err(fault) };
        self.builder.push_native(row, value).map_err(|error| match error {
            ItemsError::ValueOutOfRange { .. } => fault,
            error => RowFault::Items(error),
        })
    }

    pub(crate) fn finish(self, request: &Request) -> Result<(Items, TableReport), ItemsError> {
        let items = self.builder.finish(request.on_duplicates)?;
        let report = TableReport { items: items.len() as u64, duplicates: items.duplicates(), ..self.report };
        Ok((items, report))
    }
}
