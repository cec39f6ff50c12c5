//! Makes items from the key values of each row, the same for every format.

use std::net::Ipv4Addr;
use std::ops::ControlFlow;

use vesica_crypto::short_keys::{BLOCK, CharClasses};
use vesica_encode::items::{Encoding, Items, ItemsBuilder, ItemsError, ShortKey};

use crate::attach::Carried;
use crate::error::{Invalid, Place, TableError};
use crate::key::KeySpec;
use crate::request::{OnFault, Request, TableReport};
use crate::rule::{Part, Rule, Value};
use crate::shown::shown;

/// Why a row has no valid key; `part` is the number of the key column.
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

/// Receives the rows of a first pass.
pub(crate) trait Rows<'r> {
    /// Takes the next row: `place` gives its position, for errors, and `value` the values of the needed columns by
    /// number, the keys first.
    fn row<'v>(
        &mut self,
        place: impl FnOnce() -> Place,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), TableError>;

    /// How several threads collect its rows; none if one thread must take all.
    fn parted(&mut self) -> Option<&mut dyn Parted<'r>> {
        None
    }

    /// The rows that come next are in that file.
    fn in_file(&mut self, file: &'r str);

    /// How many rows it has taken.
    fn count(&self) -> u64;

    /// Takes the next `count` rows. `place` and `value` also take the number of the row among them.
    fn rows<'v>(
        &mut self,
        count: usize,
        place: impl Fn(usize) -> Place,
        value: impl Fn(usize, usize) -> Value<'v>,
    ) -> Result<(), TableError> {
        (0..count).try_for_each(|row| self.row(|| place(row), |part| value(row, part)))
    }
}

/// Rows that several threads collect, each some of them.
pub(crate) trait Parted<'r> {
    /// Where a thread collects some of the rows.
    fn part(&self) -> Result<Loading<'r>, TableError>;

    /// Takes the rows of a part, which come next.
    fn take_from(&mut self, part: &mut Loading<'r>) -> Result<(), TableError>;

    /// Whether all rows are kept, so that those of a part may be many.
    fn keeps_all(&self) -> bool;
}

/// Makes items from rows, and errors from faults.
pub(crate) struct Loading<'r> {
    pub(crate) file: &'r str,
    pub(crate) request: &'r Request,
    pub(crate) collector: Collector,
    pub(crate) carried: Carried,
}

impl<'r> Parted<'r> for Loading<'r> {
    fn part(&self) -> Result<Loading<'r>, TableError> {
        let carried = match self.carried {
            Carried::Nothing => Carried::Nothing,
            _ => Carried::new(&self.request.attach, 0),
        };
        Ok(Loading { collector: Collector::new(self.request, 0)?, carried, ..*self })
    }

    fn take_from(&mut self, part: &mut Loading<'r>) -> Result<(), TableError> {
        self.carried.take_from(&mut part.carried);
        let taken = self.collector.take_from(&mut part.collector);
        taken.map_err(|_| TableError::TooManyRows { file: self.file.to_owned() })
    }

    fn keeps_all(&self) -> bool {
        true
    }
}

impl<'r> Rows<'r> for Loading<'r> {
    fn parted(&mut self) -> Option<&mut dyn Parted<'r>> {
        Some(self)
    }

    fn in_file(&mut self, file: &'r str) {
        self.file = file;
    }

    fn count(&self) -> u64 {
        self.collector.report().rows
    }

    #[inline]
    fn row<'v>(
        &mut self,
        place: impl FnOnce() -> Place,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), TableError> {
        if let Err(fault) = self.collector.row(&value) {
            return Err(fault.explain(self.file, place(), self.request));
        }
        self.carry(&value).map_err(|fault| fault.explain(self.file, place(), &self.request.attach))
    }

    fn rows<'v>(
        &mut self,
        count: usize,
        place: impl Fn(usize) -> Place,
        value: impl Fn(usize, usize) -> Value<'v>,
    ) -> Result<(), TableError> {
        let mut at = 0;
        while at < count {
            let together = (count - at).min(ShortKey::BATCH);
            let found = self.collector.together(together, |row, part| value(at + row, part));
            // What an earlier row carries may be at fault first.
            let well = found.as_ref().map_or_else(|(row, _)| *row, |()| together);
            if !matches!(self.carried, Carried::Nothing) {
                for row in at..at + well {
                    let carried = self.carry(&|part| value(row, part));
                    carried.map_err(|fault| fault.explain(self.file, place(row), &self.request.attach))?;
                }
            }
            found.map_err(|(row, fault)| fault.explain(self.file, place(at + row), self.request))?;
            at += together;
        }
        Ok(())
    }
}

impl Loading<'_> {
    /// Keeps what a row carries, whose keys the collector has taken.
    fn carry<'v>(&mut self, value: &impl Fn(usize) -> Value<'v>) -> Result<(), crate::attach::RowFault> {
        let keys = self.request.keys.len();
        let has_key = || {
            let present = |(part, key): (usize, &KeySpec)| {
                key.rule.apply(value(part), &mut Vec::new()) == Ok(Part::Present)
            };
            self.request.keys.iter().enumerate().all(present)
        };
        let columns = self.request.attach.needed().count();
        self.carried.row(columns, |part| value(keys + part), has_key)
    }
}

/// Collects the keys of one table.
pub(crate) struct Collector {
    rules: Vec<Rule>,
    on_null: OnFault,
    on_invalid: OnFault,
    builder: ItemsBuilder,
    /// The row that the builder has as number 0.
    first: u64,
    report: TableReport,
    /// The batch memory, if the rule can check keys in batches ([`Rule::has_short_keys`]).
    short: Option<Box<Short>>,
}

/// Memory for the short keys of a batch of rows.
struct Short {
    keys: [ShortKey; ShortKey::BATCH],
    blocks: [[u8; BLOCK]; ShortKey::BATCH],
    classes: [CharClasses; ShortKey::BATCH],
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
        let digests = matches!(request.encoding, Encoding::Digest(_));
        let short = (digests && rules.len() == 1 && rules[0].has_short_keys()).then(|| {
            let (keys, classes) = ([ShortKey::default(); _], [CharClasses::default(); _]);
            Box::new(Short { keys, blocks: [[0; BLOCK]; _], classes })
        });
        let report = TableReport::default();
        Ok(Collector { rules, on_null, on_invalid, builder, first: 0, report, short })
    }

    /// Takes the next row, whose key values `value` gives by number. Counts a row at fault; further rows may
    /// follow.
    #[inline]
    pub(crate) fn row<'v>(&mut self, value: impl Fn(usize) -> Value<'v>) -> Result<(), RowFault> {
        let row = self.report.rows - self.first;
        self.report.rows += 1;
        let key = self.builder.key();
        key.clear();
        // A null key takes precedence over an invalid one, in any order of the columns.
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

    /// Takes the next rows, at most [`ShortKey::BATCH`]. A fault comes with the number of its row among them.
    fn together<'v>(
        &mut self,
        count: usize,
        value: impl Fn(usize, usize) -> Value<'v>,
    ) -> Result<(), (usize, RowFault)> {
        match self.short.take() {
            None => {
                (0..count).try_for_each(|row| self.row(|part| value(row, part)).map_err(|fault| (row, fault)))
            }
            Some(mut short) => {
                let taken = self.in_blocks(&mut short, count, |row| value(row, 0));
                self.short = Some(short);
                taken
            }
        }
    }

    /// Takes rows whose keys have one column. Keys that [`Rule::is_canonical`] accepts are hashed in their blocks,
    /// all together. All other keys go one by one.
    fn in_blocks<'v>(
        &mut self,
        short: &mut Short,
        count: usize,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), (usize, RowFault)> {
        let rule = self.rules[0];
        let Short { keys, blocks, classes } = short;
        let mut values = [const { Value::Null }; ShortKey::BATCH];
        for (row, own) in values[..count].iter_mut().enumerate() {
            *own = value(row);
        }
        let mut texts: [&[u8]; ShortKey::BATCH] = [&[]; _];
        for (text, value) in texts.iter_mut().zip(&values[..count]) {
            *text = value.bytes();
        }
        rule.copy_to_blocks(&texts[..count], &mut blocks[..count], &mut classes[..count]);
        let mut kept = 0;
        for row in 0..count {
            let length = texts[row].len();
            if length <= ShortKey::LONGEST
                && rule.is_canonical(&classes[row], &blocks[row][ShortKey::AT..][..length])
            {
                keys[kept] = ShortKey { row: self.report.rows - self.first, length: length as u8 };
                if kept < row {
                    blocks[kept] = blocks[row];
                }
                kept += 1;
                self.report.rows += 1;
            } else {
                self.row(|_| values[row].clone()).map_err(|fault| (row, fault))?;
            }
        }
        let pushed = self.builder.push_short(&keys[..kept], &mut blocks[..kept]);
        // The only possible error is that there are too many rows.
        pushed.map_err(|error| (count - 1, error.into()))
    }

    fn push(&mut self, row: u64) -> Result<(), RowFault> {
        let Encoding::Native { sigma } = self.builder.encoding() else {
            return Ok(self.builder.push_key(row)?);
        };
        let key = self.builder.key().canonical()?;
        // The text of the only part follows its arity and length.
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

    /// Takes the rows of another collector for the same request, which come next.
    fn take_from(&mut self, part: &mut Collector) -> Result<(), ItemsError> {
        self.builder.take_from(&mut part.builder, self.report.rows - self.first)?;
        let TableReport { rows, nulls, invalid, .. } = std::mem::take(&mut part.report);
        self.report.rows += rows;
        self.report.nulls += nulls;
        self.report.invalid += invalid;
        Ok(())
    }

    /// Makes digests of the last keys, so that whoever takes them need not.
    pub(crate) fn flush(&mut self) {
        self.builder.flush();
    }

    /// How many digests it holds, and of how many rows they are, those without a key counted.
    pub(crate) fn held(&self) -> (usize, u64) {
        (self.builder.len(), self.report.rows - self.first)
    }

    /// Hands over the digests that it holds, with their rows, until `take` breaks.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(u64, &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let first = std::mem::replace(&mut self.first, self.report.rows);
        self.builder.drain(|row, digest| take(first + row, digest))
    }

    /// The counts so far, without items and duplicates.
    pub(crate) fn report(&self) -> TableReport {
        self.report
    }

    pub(crate) fn finish(self, request: &Request) -> Result<(Items, TableReport), ItemsError> {
        let items = self.builder.build_by_threads(request.threads, request.on_duplicates)?;
        let report = TableReport { items: items.len() as u64, duplicates: items.duplicates(), ..self.report };
        Ok((items, report))
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use vesica_encode::items::Width;

    use super::*;
    use crate::rule::short_keys::tests::value;

    fn collector(rule: Rule, on_invalid: OnFault) -> (Request, Collector) {
        let encoding = Encoding::Digest(Width::Digest128);
        let request = Request { on_invalid, ..Request::new(vec![KeySpec::new("key", rule)], encoding) };
        let collector = Collector::new(&request, 0).unwrap();
        (request, collector)
    }

    #[test]
    fn rows_together_are_rows_one_by_one() {
        let mut rng = StdRng::seed_from_u64(28);
        for rule in Rule::ALL {
            let (request, mut together) = collector(rule, OnFault::Skip);
            let (_, mut single) = collector(rule, OnFault::Skip);
            for count in (0..=ShortKey::BATCH).rev() {
                let values: Vec<Option<Vec<u8>>> =
                    (0..count).map(|_| (rng.random_range(0..9) > 0).then(|| value(&mut rng))).collect();
                let of =
                    |row: usize| values[row].as_deref().map_or(Value::Null, |text| Value::Text(text.into()));
                together.together(count, |row, _| of(row)).unwrap();
                (0..count).for_each(|row| single.row(|_| of(row)).unwrap());
            }
            let [(together, report), (single, expected)] =
                [together, single].map(|collector| collector.finish(&request).unwrap());
            assert_eq!(report, expected, "{rule}");
            assert!(
                report.rows > 2000 && report.nulls > 100 && together.digests().eq(single.digests()),
                "{rule}"
            );
            assert!((0..single.len()).all(|item| together.rows_of(item).eq(single.rows_of(item))), "{rule}");
        }
    }

    #[test]
    fn the_first_fault_is_told_by_the_number_of_its_row() {
        let (_, mut collector) = collector(Rule::Email, OnFault::Error);
        let value = |row: usize| if row >= 17 { "none" } else { "somebody@example.org" };
        let fault = collector.together(40, |row, _| Value::Text(value(row).as_bytes().into())).unwrap_err();
        assert!(matches!(fault, (17, RowFault::Invalid { part: 0, reason: Invalid::NotOneAt })), "{fault:?}");
    }
}
