//! From the key values of each row to items, whatever format the rows come from.

use std::net::Ipv4Addr;

use vesica_encode::items::{Encoding, Items, ItemsBuilder, ItemsError};

use crate::error::{Invalid, Place, TableError, shown};
use crate::key::KeySpec;
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

impl RowFault {
    /// The error that names the row.
    #[cold]
    pub(crate) fn explain(self, file: &str, place: Place, request: &Request) -> TableError {
        let file = file.to_owned();
        match self {
            RowFault::Null { part } => {
                TableError::Null { file, place, column: shown(request.keys[part].column.as_bytes()) }
            }
            RowFault::Invalid { part, reason } => {
                let KeySpec { column, rule } = &request.keys[part];
                TableError::Invalid { file, place, column: shown(column.as_bytes()), rule: *rule, reason }
            }
            RowFault::Items(ItemsError::TooManyRows) => TableError::TooManyRows { file },
            RowFault::Items(error) => TableError::Items(error),
        }
    }
}

/// Takes the rows of a first pass.
pub(crate) trait Rows {
    /// Takes the next row: where it is, for errors, and its key values by number.
    fn row<'v>(
        &mut self,
        place: impl FnOnce() -> Place,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), TableError>;
}

/// Makes items of rows, and errors of faults.
pub(crate) struct Loading<'r> {
    pub(crate) file: &'r str,
    pub(crate) request: &'r Request,
    pub(crate) collector: Collector,
}

impl Rows for Loading<'_> {
    #[inline]
    fn row<'v>(
        &mut self,
        place: impl FnOnce() -> Place,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), TableError> {
        self.collector.row(value).map_err(|fault| fault.explain(self.file, place(), self.request))
    }
}

/// Collects the keys of one table.
pub(crate) struct Collector {
    rules: Vec<Rule>,
    on_null: OnFault,
    on_invalid: OnFault,
    builder: ItemsBuilder,
    report: TableReport,
}

impl Collector {
    pub(crate) fn new(request: &Request, rows_hint: usize) -> Result<Self, TableError> {
        let rules: Vec<Rule> = request.keys.iter().map(|key| key.rule).collect();
        if matches!(request.encoding, Encoding::Native { .. }) && rules != [Rule::Int] && rules != [Rule::Ip]
        {
            return Err(TableError::NativeKey);
        }
        let builder = ItemsBuilder::new(request.encoding, rows_hint).map_err(|error| match error {
            ItemsError::Sigma { .. } => TableError::NativeKey,
            error => TableError::Items(error),
        })?;
        let builder =
            builder.with_arity(rules.len()).map_err(|_| TableError::KeyCount { found: rules.len() })?;
        let (on_null, on_invalid) = (request.on_null, request.on_invalid);
        Ok(Collector { rules, on_null, on_invalid, builder, report: TableReport::default() })
    }

    /// Takes the next row, whose key values `value` gives by number. A row at fault is counted, and others may follow.
    #[inline]
    pub(crate) fn row<'v>(&mut self, value: impl Fn(usize) -> Value<'v>) -> Result<(), RowFault> {
        let row = self.report.rows;
        self.report.rows += 1;
        let key = self.builder.key();
        key.clear();
        // Null wins over invalid, whatever the order of the columns.
        let (mut null, mut invalid) = (None, None);
        for (part, rule) in self.rules.iter().enumerate() {
            match key.part_with(|bytes| rule.apply(value(part), bytes))? {
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
        let Encoding::Native { sigma } = self.builder.encoding() else {
            return Ok(self.builder.push_key(row)?);
        };
        let key = self.builder.key().finish()?;
        // Behind the arity and the length stands the text of the one part.
        let text = key.get(5..).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        let value = match self.rules[..] {
            [Rule::Ip] => text.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into()),
            _ => text.parse().ok(),
        };
        let fault = RowFault::Invalid { part: 0, reason: Invalid::OutOfRange { sigma } };
        let Some(value) = value else { return Err(fault) };
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
