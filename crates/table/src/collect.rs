//! Makes items from the key values of each row, the same for every format.

use std::net::Ipv4Addr;
use std::ops::ControlFlow;

use vesica_crypto::short_keys::{BLOCK, CharClasses};
use vesica_encode::items::{Encoding, Items, ItemsBuilder, ItemsError, KeyKind, ShortKey};

use crate::attach::Carried;
use crate::error::{Invalid, Place, TableError};
use crate::hints::{self, Hints, Look};
use crate::key::KeySpec;
use crate::match_rules::MatchRule;
use crate::request::{OnFault, Request, RuleReport, TableReport};
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
        let column = |part| {
            let key = request.keys.columns().nth(part);
            key.map_or((String::new(), Rule::Raw), |key| (shown(key.column.as_bytes()), key.rule))
        };
        match self {
            RowFault::Null { part } => TableError::Null { file, place, column: column(part).0 },
            RowFault::Invalid { part, reason } => {
                let (column, rule) = column(part);
                TableError::Invalid { file, place, column, rule, reason }
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

/// Whether a rule takes values that hardly anybody means. Other rules refuse them.
fn takes_anything(rule: Rule) -> bool {
    matches!(rule, Rule::Raw | Rule::Text | Rule::Name | Rule::Postcode)
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
        if matches!(self.carried, Carried::Nothing) {
            return Ok(());
        }
        let keys = self.request.keys.columns().count();
        let has_key = || {
            let mut first = 0;
            self.request.keys.iter().any(|rule| {
                let columns = (first..).zip(rule.columns());
                first += rule.columns().len();
                let present = |(part, key): (usize, &KeySpec)| {
                    key.rule.apply(value(part), &mut Vec::new()) == Ok(Part::Present)
                };
                columns.into_iter().all(present)
            })
        };
        let columns = self.request.attach.needed().count();
        self.carried.row(columns, |part| value(keys + part), has_key)
    }
}

/// Collects the keys of one table, which it numbers as [`crate::match_rules`] says.
pub(crate) struct Collector {
    rules: Vec<OfRule>,
    on_null: OnFault,
    on_invalid: OnFault,
    builder: ItemsBuilder,
    /// The row whose keys the builder has as its first.
    first: u64,
    report: TableReport,
    /// The batch memory, if a rule can check keys in batches ([`Rule::has_short_keys`]).
    short: Option<Box<Short>>,
    /// The canonical bytes of the current row's keys by the current rule and its variants, which may be the same.
    variants: Vec<Vec<u8>>,
}

/// A rule to match by.
struct OfRule {
    kind: KeyKind,
    /// The number of its first column among those that the pass reads.
    first: usize,
    columns: Vec<Rule>,
    /// What the values of each column look like that hardly anybody means.
    hints: Vec<Hints>,
    /// What those of the current row look like.
    looks: Vec<Option<Look>>,
    /// Whether its keys can be checked in batches.
    short: bool,
    /// Which of the variants of a rule it is, counted from 0, if there are several.
    variant: Option<usize>,
    counts: RuleReport,
}

/// Memory for the short keys of a batch of rows.
struct Short {
    keys: [ShortKey; ShortKey::BATCH],
    blocks: [[u8; BLOCK]; ShortKey::BATCH],
    classes: [CharClasses; ShortKey::BATCH],
}

/// What a rule made of a row.
#[derive(Clone, Copy)]
enum Made {
    Key,
    /// The same key as by another variant of the rule.
    Again,
    Null {
        part: usize,
    },
    Invalid {
        part: usize,
        reason: Invalid,
    },
}

/// What all rules made of a row.
#[derive(Clone, Copy, Default)]
struct MadeOfRow {
    has_key: bool,
    /// The first column without a value.
    null: Option<usize>,
    /// The first column with an invalid one.
    invalid: Option<(usize, Invalid)>,
}

impl Collector {
    pub(crate) fn new(request: &Request, rows_hint: usize) -> Result<Self, TableError> {
        let kinds = request.keys.kinds()?;
        let columns: Vec<Rule> = request.keys.columns().map(|key| key.rule).collect();
        let integers = kinds == [KeyKind::ONE_PART] && matches!(columns[..], [Rule::Int | Rule::Ip]);
        if matches!(request.encoding, Encoding::Native { .. }) && !integers {
            return Err(TableError::NativeKey);
        }
        let keys_hint = rows_hint.saturating_mul(kinds.len());
        let builder = ItemsBuilder::new(request.encoding, keys_hint).map_err(|error| match error {
            ItemsError::Sigma { .. } => TableError::NativeKey,
            error => TableError::Items(error),
        })?;
        let digests = matches!(request.encoding, Encoding::Digest(_));
        let mut first = 0;
        let of_rule = |((rule, kind), variant): ((&MatchRule, KeyKind), Option<usize>)| {
            let columns: Vec<Rule> = rule.columns().iter().map(|key| key.rule).collect();
            let short = digests && matches!(columns[..], [only] if only.has_short_keys());
            let (hints, looks) = (vec![Hints::default(); columns.len()], vec![None; columns.len()]);
            let counts = RuleReport::default();
            let of_rule = OfRule { kind, first, short, counts, hints, looks, columns, variant };
            first += rule.columns().len();
            of_rule
        };
        let rules: Vec<OfRule> =
            request.keys.iter().zip(kinds).zip(request.keys.variants()).map(of_rule).collect();
        let short = rules.iter().any(|rule| rule.short).then(|| {
            let (keys, classes) = ([ShortKey::default(); _], [CharClasses::default(); _]);
            Box::new(Short { keys, blocks: [[0; BLOCK]; _], classes })
        });
        let (on_null, on_invalid) = (request.on_null, request.on_invalid);
        let (report, variants) = (TableReport::default(), Vec::new());
        Ok(Collector { rules, on_null, on_invalid, builder, first: 0, report, short, variants })
    }

    /// Takes the next row, whose key values `value` gives by number. Counts a row at fault; further rows may
    /// follow.
    #[inline]
    pub(crate) fn row<'v>(&mut self, value: impl Fn(usize) -> Value<'v>) -> Result<(), RowFault> {
        let row = self.next_row();
        let mut made = MadeOfRow::default();
        for rule in 0..self.rules.len() {
            let of_rule = self.make(rule, row, &value)?;
            self.note(rule, of_rule, &mut made);
        }
        self.end_row(made)
    }

    /// The next row, as the builder counts.
    fn next_row(&self) -> u64 {
        self.report.rows - self.first
    }

    /// The number of a key, as the builder counts.
    fn key_number(&self, row: u64, rule: usize) -> u64 {
        row * self.rules.len() as u64 + rule as u64
    }

    /// Makes the key of a row by a rule.
    #[inline]
    fn make<'v>(
        &mut self,
        rule: usize,
        row: u64,
        value: &impl Fn(usize) -> Value<'v>,
    ) -> Result<Made, ItemsError> {
        let number = self.key_number(row, rule);
        let OfRule { kind, first, columns, looks, variant, .. } = &mut self.rules[rule];
        let variant = *variant;
        if variant == Some(0) {
            self.variants.clear();
        }
        let key = self.builder.key(*kind);
        // A null key takes precedence over an invalid one, in any order of the columns.
        let (mut null, mut invalid) = (None, None);
        for ((part, rule), look) in (*first..).zip(&*columns).zip(&mut *looks) {
            let value = value(part);
            *look = if takes_anything(*rule) { hints::look(*rule, value.bytes()) } else { None };
            match key.part_with(|bytes| rule.apply(value, bytes))? {
                Ok(Part::Present) => {}
                Ok(Part::Null) => null = null.or(Some(part)),
                Err(reason) => invalid = invalid.or(Some((part, reason))),
            }
        }
        match (null, invalid) {
            (Some(part), _) => Ok(Made::Null { part }),
            (None, Some((part, reason))) => Ok(Made::Invalid { part, reason }),
            (None, None) => {
                if variant.is_some() {
                    let written = self.builder.written()?;
                    if self.variants.iter().any(|other| other == written) {
                        return Ok(Made::Again);
                    }
                    self.variants.push(written.to_owned());
                }
                let made = self.push(number)?;
                if matches!(made, Made::Key) {
                    let OfRule { looks, hints, .. } = &mut self.rules[rule];
                    hints.iter_mut().zip(&*looks).for_each(|(hints, look)| hints.add(*look));
                }
                Ok(made)
            }
        }
    }

    #[inline]
    fn note(&mut self, rule: usize, of_rule: Made, made: &mut MadeOfRow) {
        let counts = &mut self.rules[rule].counts;
        match of_rule {
            Made::Key => {
                counts.keys += 1;
                made.has_key = true;
            }
            Made::Again => {}
            Made::Null { part } => {
                counts.nulls += 1;
                made.null = made.null.or(Some(part));
            }
            Made::Invalid { part, reason } => {
                counts.invalid += 1;
                made.invalid = made.invalid.or(Some((part, reason)));
            }
        }
    }

    /// Counts the next row, of which this was made. Its keys are in the builder.
    #[inline]
    fn end_row(&mut self, made: MadeOfRow) -> Result<(), RowFault> {
        self.report.rows += 1;
        match made {
            MadeOfRow { has_key: true, invalid: None, .. } => Ok(()),
            MadeOfRow { has_key, invalid: Some((part, reason)), .. } => {
                self.report.invalid += u64::from(!has_key);
                let always = matches!(reason, Invalid::OutOfRange { .. });
                match self.on_invalid {
                    OnFault::Error => Err(RowFault::Invalid { part, reason }),
                    OnFault::Skip if always => Err(RowFault::Invalid { part, reason }),
                    OnFault::Skip if has_key => Ok(()),
                    OnFault::Skip => self.without_key(made),
                }
            }
            MadeOfRow { .. } => {
                self.report.nulls += 1;
                self.without_key(made)
            }
        }
    }

    /// What becomes of a row without a key, in which a value may be missing.
    fn without_key(&self, made: MadeOfRow) -> Result<(), RowFault> {
        let refused = made.null.filter(|_| self.on_null == OnFault::Error);
        refused.map_or(Ok(()), |part| Err(RowFault::Null { part }))
    }

    /// Takes the next rows, at most [`ShortKey::BATCH`]. A fault comes with the number of its row among them.
    fn together<'v>(
        &mut self,
        count: usize,
        value: impl Fn(usize, usize) -> Value<'v>,
    ) -> Result<(), (usize, RowFault)> {
        if self.rules.iter().any(|rule| rule.variant.is_some()) {
            // Where variants make the same key, it is one key of the row, so a row's keys are made together.
            return (0..count)
                .try_for_each(|row| self.row(|part| value(row, part)).map_err(|fault| (row, fault)));
        }
        let first = self.next_row();
        let mut made = [MadeOfRow::default(); ShortKey::BATCH];
        for rule in 0..self.rules.len() {
            match self.short.take_if(|_| self.rules[rule].short) {
                None => {
                    for (row, made) in made[..count].iter_mut().enumerate() {
                        let of_rule = self.make(rule, first + row as u64, &|part| value(row, part));
                        self.note(rule, of_rule.map_err(|error| (row, error.into()))?, made);
                    }
                }
                Some(mut short) => {
                    let column = self.rules[rule].first;
                    let taken =
                        self.in_blocks(&mut short, rule, |row| value(row, column), &mut made[..count]);
                    self.short = Some(short);
                    taken?;
                }
            }
        }
        let mut rows = made[..count].iter().enumerate();
        rows.try_for_each(|(row, made)| self.end_row(*made).map_err(|fault| (row, fault)))
    }

    /// Makes the keys of rows by a rule of one column. Keys that [`Rule::is_canonical`] accepts are hashed in their
    /// blocks, all together. All other keys go one by one.
    fn in_blocks<'v>(
        &mut self,
        short: &mut Short,
        of_rule: usize,
        value: impl Fn(usize) -> Value<'v>,
        made: &mut [MadeOfRow],
    ) -> Result<(), (usize, RowFault)> {
        let (first, count) = (self.next_row(), made.len());
        let OfRule { kind, ref columns, .. } = self.rules[of_rule];
        let rule = columns[0];
        let hinted = takes_anything(rule);
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
        for (row, made) in made.iter_mut().enumerate() {
            let (length, number) = (texts[row].len(), first + row as u64);
            if length <= ShortKey::LONGEST
                && rule.is_canonical(&classes[row], &blocks[row][ShortKey::AT..][..length])
            {
                keys[kept] = ShortKey { row: self.key_number(number, of_rule), length: length as u8 };
                if kept < row {
                    blocks[kept] = blocks[row];
                }
                kept += 1;
                made.has_key = true;
                // Plain text with an `@` has no look.
                if hinted && (classes[row].ats == 0 || classes[row].beyond_ascii != 0) {
                    self.rules[of_rule].hints[0].add(hints::look(rule, texts[row]));
                }
            } else {
                let other = self.make(of_rule, number, &|_| values[row].clone());
                self.note(of_rule, other.map_err(|error| (row, error.into()))?, made);
            }
        }
        self.rules[of_rule].counts.keys += kept as u64;
        let pushed = self.builder.push_short(kind, &keys[..kept], &mut blocks[..kept]);
        // The only possible error is that there are too many rows.
        pushed.map_err(|error| (count - 1, error.into()))
    }

    fn push(&mut self, number: u64) -> Result<Made, ItemsError> {
        let Encoding::Native { sigma } = self.builder.encoding() else {
            return self.builder.push_key(number).map(|()| Made::Key);
        };
        let key = self.builder.written()?;
        // The text of the only part follows its kind and length.
        let text = key.get(5..).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        let value = match self.rules[0].columns[..] {
            [Rule::Ip] => text.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into()),
            _ => text.parse().ok(),
        };
        let outside = Made::Invalid { part: 0, reason: Invalid::OutOfRange { sigma } };
        let Some(value) = value else { return Ok(outside) };
        match self.builder.push_native(number, value) {
            Ok(()) => Ok(Made::Key),
            Err(ItemsError::ValueOutOfRange { .. }) => Ok(outside),
            Err(error) => Err(error),
        }
    }

    /// Takes the rows of another collector for the same request, which come next.
    fn take_from(&mut self, part: &mut Collector) -> Result<(), ItemsError> {
        self.builder.take_from(&mut part.builder, self.key_number(self.next_row(), 0))?;
        let TableReport { rows, nulls, invalid, .. } = std::mem::take(&mut part.report);
        self.report.rows += rows;
        self.report.nulls += nulls;
        self.report.invalid += invalid;
        for (rule, part) in self.rules.iter_mut().zip(&mut part.rules) {
            let RuleReport { keys, nulls, invalid } = std::mem::take(&mut part.counts);
            rule.counts.keys += keys;
            rule.counts.nulls += nulls;
            rule.counts.invalid += invalid;
            let hints = rule.hints.iter_mut().zip(&mut part.hints);
            hints.for_each(|(hints, part)| *hints += std::mem::take(part));
        }
        Ok(())
    }

    /// Makes digests of the last keys, so that whoever takes them need not.
    pub(crate) fn flush(&mut self) {
        self.builder.flush();
    }

    /// How many digests it holds, and among how many keys they are, those that are missing counted.
    pub(crate) fn held(&self) -> (usize, u64) {
        (self.builder.len(), self.key_number(self.next_row(), 0))
    }

    /// Hands over the digests that it holds, with the numbers of their keys, until `take` breaks.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(u64, &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let first = self.key_number(self.first, 0);
        self.first = self.report.rows;
        self.builder.drain(|number, digest| take(first + number, digest))
    }

    /// The counts so far, without items and duplicates.
    pub(crate) fn report(&self) -> TableReport {
        self.report
    }

    /// What each rule has made so far.
    pub(crate) fn of_rules(&self) -> Vec<RuleReport> {
        self.rules.iter().map(|rule| rule.counts).collect()
    }

    /// The looks of the values of the key columns, in their order.
    pub(crate) fn hints(&self) -> Vec<Hints> {
        self.rules.iter().flat_map(|rule| &rule.hints).copied().collect()
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
            assert_eq!(together.hints(), single.hints(), "{rule}");
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
