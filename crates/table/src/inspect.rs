//! Describes a table before a run: format, columns, and what its keys would be.
//!
//! Values appear only as masked samples. A user recognises the shape of a column in them, but no person.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use vesica_encode::items::{Encoding, Width};
use vesica_text::{Text, text};

use crate::collect::{Collector, RowFault, Rows};
use crate::columnar::text::is_uuid;
use crate::columnar::{self, Wanted};
use crate::error::{Invalid, Place, TableError};
use crate::format::Format;
use crate::header::{self, Needed};
use crate::hints::{Hints, Look, look};
use crate::input::{Input, Progress};
use crate::key::KeySpec;
use crate::match_rules::{MatchRule, MatchRules};
use crate::profile::ColumnProfile;
use crate::request::{OnFault, Request, RuleReport, Seen, Whole};
use crate::rule::invisible::is_invisible;
use crate::rule::{Part, Value};
use crate::shown::shown;
use crate::sniff;

/// Rows that give samples.
const SAMPLES: usize = 5;
/// How many different faults are listed; the rest is counted.
const KINDS: usize = 16;

/// A description of a table.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Its format.
    pub format: Format,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// How many rows it has, headers not counted.
    pub rows: u64,
    /// How many files it is.
    pub files: usize,
    /// Its keys, if the request has key columns.
    pub keys: Option<Keys>,
    /// What is probably wrong with its header, in words, and what to do.
    pub hint: Option<Text>,
    /// How its text was read: a delimiter that was found, rows that were left out.
    pub notes: Vec<Text>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type; text in a text file.
    pub data_type: String,
    /// Why its values cannot be keys; none if they can.
    pub refusal: Option<&'static str>,
    /// Whether it is one of the requested key columns.
    pub is_key: bool,
}

/// The keys of a table.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Distinct keys.
    pub distinct: u64,
    /// Rows with the key of an earlier row.
    pub duplicates: u64,
    /// Rows with a null key.
    pub nulls: u64,
    /// Rows with an invalid key and no null one.
    pub invalid: u64,
    /// Why keys are invalid.
    pub faults: Vec<KeyFault>,
    /// Where there are several rules to match by: each of them, and what it makes of the rows.
    pub rules: Vec<(String, RuleReport)>,
    /// What valid keys look like that hardly anybody means.
    pub hints: Vec<KeyHint>,
    /// What the values of each rule's columns look like, with the name of the key rule.
    pub profiles: Vec<Vec<(String, ColumnProfile)>>,
    /// Masked values of the first rows with a key, after their rules; one for each key column, `-` where one of several
    /// keys is missing.
    pub samples: Vec<Vec<String>>,
}

/// A reason why keys are invalid.
#[derive(Clone, Debug)]
pub struct KeyFault {
    /// The column and its rule.
    pub key: String,
    /// What is wrong.
    pub reason: Invalid,
    /// How many rows have this fault.
    pub rows: u64,
    /// The first such row.
    pub first: Place,
    /// The file of that row, if the table is several.
    pub file: Option<String>,
}

/// Keys that are valid and hardly what anybody means.
#[derive(Clone, Debug)]
pub struct KeyHint {
    /// The column and its rule.
    pub key: String,
    /// What they look like.
    pub look: Look,
    /// How many rows have such a key.
    pub rows: u64,
}

impl KeyHint {
    /// Of the looks of each key column.
    pub(crate) fn of(keys: &MatchRules, hints: Vec<Hints>) -> Vec<Self> {
        let of_column = |(key, hints): (&KeySpec, Hints)| {
            let hint = |(look, rows)| KeyHint { key: key.to_string(), look, rows };
            hints.iter().map(hint).collect::<Vec<_>>()
        };
        keys.columns().zip(hints).flat_map(of_column).collect()
    }

    /// What it says, and what to do.
    pub fn text(&self) -> Text {
        let rows = if self.rows == 1 { "row" } else { "rows" };
        text!("`{}`, {} {}: {}", &self.key, self.rows, rows, self.look.text())
    }
}

impl Input {
    /// Reads the table once and describes it. An error says which options may help, if the first lines show that.
    pub fn inspect(
        &self,
        keys: Option<&MatchRules>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Inspection, TableError> {
        let advised = |error: TableError| match (self.format(), &error) {
            (Format::Csv(packing), TableError::Syntax { .. } | TableError::MissingColumn { .. })
                if self.file_count() == 1 =>
            {
                match sniff::advice(self, packing, Some(&error)) {
                    Some(advice) => TableError::Advised { error: Box::new(error), advice },
                    None => error,
                }
            }
            _ => error,
        };
        self.described(keys, on_progress).map_err(advised)
    }

    fn described(
        &self,
        keys: Option<&MatchRules>,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Inspection, TableError> {
        let notes = |seen: &[Seen]| {
            let folded = match self.format() {
                Format::Csv(packing) => self.one(0).ok().and_then(|file| sniff::folded(&file, packing)),
                _ => None,
            };
            self.found().cloned().into_iter().chain(self.left_out(seen)).chain(folded).collect()
        };
        let Some(keys) = keys else {
            let Whole { rows: Counting(rows), columns, seen } =
                self.read(1, &[], |_| Ok(Counting(0)), on_progress)?;
            return Ok(Inspection {
                format: self.format(),
                hint: self.hint(&columns),
                columns: self.typed(&columns, None)?,
                rows,
                notes: notes(&seen),
                files: self.file_count(),
                keys: None,
            });
        };
        let mut request = Request::matching(keys.clone(), Encoding::Digest(Width::Digest128));
        request.on_invalid = OnFault::Error;
        let begin = |rows_hint| {
            let collector = Collector::new(&request, rows_hint)?;
            Ok(Inspecting {
                file: self.name(),
                request: &request,
                collector,
                faults: BTreeMap::new(),
                hints: vec![Hints::default(); request.keys.columns().count()],
                profiles: vec![ColumnProfile::default(); request.keys.columns().count()],
                samples: Vec::new(),
            })
        };
        let Whole { rows, columns, seen } =
            self.read(1, &keys.columns().map(Needed::key).collect::<Vec<_>>(), begin, on_progress)?;
        let Inspecting { collector, faults, hints, profiles, samples, .. } = rows;
        let of_rules = collector.of_rules();
        let (_, report) = collector.finish(&request)?;
        let name = |part| request.keys.columns().nth(part).map(ToString::to_string);
        let several = self.file_count() > 1;
        let faults = faults.into_iter().map(|((part, _), (reason, rows, first, file))| KeyFault {
            key: name(part).unwrap_or_default(),
            reason,
            rows,
            first,
            file: several.then(|| file.to_owned()),
        });
        let rules = keys.iter().map(ToString::to_string).zip(of_rules);
        let hints = KeyHint::of(&request.keys, hints);
        let mut profiles = profiles.into_iter();
        let of_rule = |rule: &MatchRule| {
            let columns = rule.columns().iter().zip(&mut profiles);
            columns.map(|(key, profile)| (format!("{}{}", key.rule.name(), key.variants), profile)).collect()
        };
        let found = Keys {
            profiles: request.keys.iter().map(of_rule).collect(),
            rules: if keys.are_several() { rules.collect() } else { Vec::new() },
            hints,
            distinct: report.items,
            duplicates: report.duplicates,
            nulls: report.nulls,
            invalid: report.invalid,
            faults: faults.collect(),
            samples,
        };
        Ok(Inspection {
            format: self.format(),
            hint: self.hint(&columns),
            columns: self.typed(&columns, Some(keys))?,
            rows: report.rows,
            notes: notes(&seen),
            files: self.file_count(),
            keys: Some(found),
        })
    }

    /// What is probably wrong with this header.
    fn hint(&self, names: &[String]) -> Option<Text> {
        if let (Format::Csv(_), Some((name, delimiter))) = (self.format(), header::delimiter(names)) {
            return Some(header::separated(name, delimiter));
        }
        if let (Format::Csv(packing), [_]) = (self.format(), names)
            && let Some(advice) = sniff::advice(self, packing, None)
        {
            return Some(advice);
        }
        let mut seen = BTreeSet::new();
        let repeated = shown(names.iter().find(|name| !seen.insert(*name))?.as_bytes());
        Some(text!(
            "more than one column is named `{}`: none of them can be a key; rename all but one",
            repeated
        ))
    }

    fn typed(&self, names: &[String], keys: Option<&MatchRules>) -> Result<Vec<Column>, TableError> {
        let is_key = |name: &str| keys.is_some_and(|keys| keys.columns().any(|key| key.column == name));
        if let Format::Csv(_) = self.format() {
            let text = |name: &String| Column {
                name: shown(name.as_bytes()),
                data_type: "text".to_owned(),
                refusal: None,
                is_key: is_key(name),
            };
            return Ok(names.iter().map(text).collect());
        }
        let schema = columnar::schema(&*self.one(0)?, Wanted::Names)?;
        let column = |field: &arrow_schema::FieldRef| Column {
            name: shown(field.name().as_bytes()),
            data_type: if is_uuid(field) { "UUID".to_owned() } else { field.data_type().to_string() },
            refusal: columnar::text::refusal(field.data_type()),
            is_key: is_key(field.name()),
        };
        Ok(schema.fields().iter().map(column).collect())
    }
}

/// Counts rows.
struct Counting(u64);

impl Rows<'_> for Counting {
    fn in_file(&mut self, _file: &str) {}

    fn count(&self) -> u64 {
        self.0
    }

    fn row<'v>(
        &mut self,
        _place: impl FnOnce() -> Place,
        _value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), TableError> {
        self.0 += 1;
        Ok(())
    }
}

/// Counts the faults and the looks of keys, and takes samples.
struct Inspecting<'r> {
    file: &'r str,
    request: &'r Request,
    collector: Collector,
    /// By key column and reason in words: the reason, how many rows, and the first of them with its file.
    faults: BTreeMap<(usize, String), (Invalid, u64, Place, &'r str)>,
    /// By key column.
    hints: Vec<Hints>,
    profiles: Vec<ColumnProfile>,
    samples: Vec<Vec<String>>,
}

impl<'r> Rows<'r> for Inspecting<'r> {
    fn in_file(&mut self, file: &'r str) {
        self.file = file;
    }

    fn count(&self) -> u64 {
        self.collector.report().rows
    }

    fn row<'v>(
        &mut self,
        place: impl FnOnce() -> Place,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), TableError> {
        let nulls = self.collector.report().nulls;
        self.look(&value);
        match self.collector.row(&value) {
            Ok(()) if self.collector.report().nulls > nulls => {}
            Ok(()) => {
                for (part, (key, hints)) in self.request.keys.columns().zip(&mut self.hints).enumerate() {
                    hints.add(look(key.rule, value(part).bytes()));
                }
                if self.samples.len() < SAMPLES {
                    self.sample(value);
                }
            }
            Err(RowFault::Invalid { part, reason }) => {
                let kind = (part, reason.to_string());
                if self.faults.len() < KINDS || self.faults.contains_key(&kind) {
                    self.faults.entry(kind).or_insert_with(|| (reason, 0, place(), self.file)).1 += 1;
                }
            }
            Err(fault) => return Err(fault.explain(self.file, place(), self.request)),
        }
        Ok(())
    }
}

impl Inspecting<'_> {
    /// Counts what the values of a row look like.
    fn look<'v>(&mut self, value: &impl Fn(usize) -> Value<'v>) {
        for (part, (key, profile)) in self.request.keys.columns().zip(&mut self.profiles).enumerate() {
            let (value, mut canonical) = (value(part), Vec::new());
            let taken = key.rule.apply(value.clone(), &mut canonical);
            profile.see(key.rule, value.bytes(), taken.map(|_| &canonical[..]).map_err(drop));
        }
    }

    fn sample<'v>(&mut self, value: impl Fn(usize) -> Value<'v>) {
        let masked = |(part, key): (usize, &KeySpec)| {
            let mut canonical = Vec::new();
            let present = key.rule.apply(value(part), &mut canonical) == Ok(Part::Present);
            present.then(|| mask(&canonical))
        };
        let keys = &self.request.keys;
        let sample: Vec<Option<String>> = keys.columns().enumerate().map(masked).collect();
        let mut left = &sample[..];
        let whole = keys.iter().any(|rule| {
            let (columns, rest) = left.split_at(rule.columns().len());
            left = rest;
            columns.iter().all(Option::is_some)
        });
        // Of several keys, some may be missing.
        if whole {
            self.samples
                .push(sample.into_iter().map(|value| value.unwrap_or_else(|| "-".to_owned())).collect());
        }
    }
}

/// The shape of a value: of each run of letters and digits the first character, and the ending of a domain.
fn mask(value: &[u8]) -> String {
    const LONGEST: usize = 64;
    let Ok(text) = std::str::from_utf8(value) else { return format!("({} bytes)", value.len()) };
    let (kept, ending) = match (text.contains('@'), text.rfind('.')) {
        (true, Some(at)) if text[at + 1..].chars().all(|c| c.is_ascii_alphabetic()) => text.split_at(at),
        _ => (text, ""),
    };
    let mut masked = String::new();
    let mut run = 0;
    for c in kept.chars().chain(['\0']) {
        if c.is_alphanumeric() {
            run += 1;
            // A single character would be the whole run.
            if run == 2 {
                masked.push_str("***");
            } else if run == 1 {
                masked.push(c);
            }
            continue;
        }
        if run == 1 {
            masked.pop();
            masked.push('*');
        }
        run = 0;
        if c != '\0' {
            masked.push(if c.is_control() || is_invisible(c) { '?' } else { c });
        }
    }
    masked.push_str(ending);
    if masked.chars().count() > LONGEST {
        masked = masked.chars().take(LONGEST).chain("...".chars()).collect();
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{go, input};

    fn keys(specs: &[&str]) -> MatchRules {
        specs.iter().map(|spec| spec.parse().unwrap()).collect::<Vec<KeySpec>>().into()
    }

    #[test]
    fn a_mask_shows_the_shape() {
        for (value, masked) in [
            ("ada.lovelace@example.com", "a***.l***@e***.com"),
            ("a@b.ch", "*@*.ch"),
            ("+41446681800", "+4***"),
            ("2026-11-21", "2***-1***-2***"),
            ("192.0.2.1", "1***.*.*.*"),
            ("x", "*"),
            ("zürich 8", "z*** *"),
            ("a@b.c0", "*@*.c***"),
            ("", ""),
        ] {
            assert_eq!(mask(value.as_bytes()), masked, "{value}");
        }
        assert_eq!(mask("ab\u{202e}cd\u{7}".as_bytes()), "a***?c***?");
        assert_eq!(mask("\u{feff}ab\u{200b}".as_bytes()), "?a***?");
        assert_eq!(mask(b"\xff\x00"), "(2 bytes)");
        assert!(mask("a b ".repeat(1000).as_bytes()).len() < 100);
    }

    #[test]
    fn keys_are_counted_and_faults_told_apart() {
        let file = b"id,mail\n1,Ada@Example.com\n2,ada@example.com\n3,\n4,bob\n5,a@b@c\n6,eve\n7,\"eve@example.org\"\n";
        let found = input(file).unwrap().inspect(Some(&keys(&["mail:email"])), &mut go).unwrap();
        assert_eq!((found.rows, found.columns.len(), found.columns[1].name.as_str()), (7, 2, "mail"));
        let keys = found.keys.unwrap();
        assert_eq!((keys.distinct, keys.duplicates, keys.nulls, keys.invalid), (2, 1, 1, 3));
        assert_eq!((keys.faults.len(), keys.faults[0].rows, keys.faults[0].first), (1, 3, Place::Line(5)));
        assert_eq!(keys.faults[0].key, "mail:email");
        assert_eq!(keys.samples, [["a***@e***.com"], ["a***@e***.com"], ["e***@e***.org"]]);
    }

    #[test]
    fn flaw_written_nulls_and_other_looks_are_told() {
        let digest = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
        let file = format!("id,n\nNULL,a\n\\N,b\nnan,\nu1,1.23457E+11\n{digest},d\nada\u{200b},12.0\nu2,e\n");
        let found = |specs: &[&str]| {
            let keys =
                input(file.as_bytes()).unwrap().inspect(Some(&keys(specs)), &mut go).unwrap().keys.unwrap();
            let told = keys.hints.into_iter().map(|hint| (hint.key, hint.look, hint.rows));
            told.collect::<Vec<_>>()
        };
        let of_id = |nulls| {
            let looks = [(Look::WrittenNull, nulls), (Look::Invisible, 1), (Look::Hashed, 1)];
            looks.map(|(look, rows)| ("id:raw".to_owned(), look, rows))
        };
        assert_eq!(found(&["id"]), of_id(3));
        // A row without a key has no look.
        let rounded = ("n:text".to_owned(), Look::Rounded, 2);
        assert_eq!(found(&["id", "n:text"]), [&of_id(2)[..], &[rounded]].concat());
    }

    #[test]
    fn without_keys_there_are_columns_and_rows() {
        let found = input(b"id,mail\n1,a\n2,b\n").unwrap().inspect(None, &mut go).unwrap();
        assert_eq!((found.rows, found.keys.is_none(), found.format.name()), (2, true, "CSV"));
        assert!(input(b"id\n1\n").unwrap().inspect(Some(&keys(&["no"])), &mut go).is_err());
    }

    #[test]
    fn another_delimiter_is_found_before_a_quote_is_blamed() {
        for (file, line, told) in [
            ("id;Email;name\n1;a@b.ch;\"Muller; Hans\"\n", 2, "semicolons: give `--delimiter ';'`"),
            ("id\tname\n1\t\"a\tb\"\n", 2, "tabs: give `--delimiter tab`"),
            ("id;sum\n1;2,5\n", 2, "semicolons: give `--delimiter ';'`"),
            ("id;\"name, first\"\n1;2\n", 1, "semicolons: give `--delimiter ';'`"),
            ("id|\"name\"|\"a\"\"b\"\n", 1, "vertical bars: give `--delimiter '|'`"),
        ] {
            for keys in [None, Some(keys(&["id"]))] {
                let error = input(file.as_bytes())
                    .unwrap()
                    .inspect(keys.as_ref(), &mut go)
                    .unwrap_err()
                    .text()
                    .shell();
                assert!(error.ends_with(&format!("looks separated by {told}")), "{file}: {error}");
                let at_line = error.starts_with(&format!("test.csv, line {line}: this line cannot be read"));
                assert!(at_line || keys.is_some(), "{file}: {error}");
            }
        }
        // What is no other delimiter stays a quote or a row that does not fit.
        for (file, told) in [
            ("id\n\"a\"b\n", "a quote in field 1 (`id`)"),
            ("id\na,b\n", "the row has 2 fields, but the header has 1"),
            ("a\"b;c\n", "a quote in field 1 that"),
        ] {
            let error = input(file.as_bytes()).unwrap().inspect(None, &mut go).unwrap_err().to_string();
            assert!(error.contains(told), "{file}: {error}");
        }
    }

    #[test]
    fn a_repeated_name_is_told() {
        let hint = |file: &[u8]| input(file).unwrap().inspect(None, &mut go).unwrap().hint;
        assert_eq!(hint(b"a,b\n1,2\n"), None);
        let told = hint(b"a,b,b\n1,2,3\n").unwrap();
        assert!(told.shell().starts_with("more than one column is named `b`"), "{told}");
    }
}
