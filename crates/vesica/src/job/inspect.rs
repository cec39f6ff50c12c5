//! Inspects a table before a run, without a partner.

use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;
use vesica_channel::CancelToken;
use vesica_table::{Dialect, Input, Inspection, MatchRules, Place};
use vesica_text::{Audience, Text, text};

use crate::words::error::{Error, RunPhase};
use crate::words::report::SCHEMA;

/// Reads the table once and describes it and its keys; `-` is standard input, and a folder or pattern is the
/// table of its files.
pub fn inspect(
    path: &Path,
    keys: Option<&MatchRules>,
    dialect: Dialect,
    cancel: &CancelToken,
) -> Result<Inspection, Error> {
    let on_progress = &mut |_| {
        if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    keys.map_or(Ok(()), MatchRules::check)
        .map_err(|error| Error::table(RunPhase::Prepare, &error).told(Audience::One))?;
    let looked = Input::open_with(path, on_progress)
        .and_then(|input| input.with_dialect(dialect))
        .and_then(|input| input.inspect(keys, on_progress));
    // `inspect` has no partner.
    let mut found = looked.map_err(|error| Error::table(RunPhase::Read, &error).told(Audience::One))?;
    if let Some(all) = keys.filter(|keys| keys.have_variants()).and_then(|keys| keys.with_variants().ok()) {
        let most = all.count();
        found
            .notes
            .push(text!("with `~`, the receiver has up to {} keys of a row; told are the sender's", most));
    }
    Ok(found)
}

/// The JSON form of an inspection, for programs.
pub fn json(inspection: &Inspection) -> serde_json::Value {
    let form = Form {
        schema: SCHEMA,
        format: inspection.format.name(),
        files: inspection.files,
        rows: inspection.rows,
        hint: inspection.hint.as_ref().map(Text::shell),
        notes: inspection.notes.iter().map(Text::shell).collect(),
        columns: inspection
            .columns
            .iter()
            .map(|column| ColumnForm {
                name: &column.name,
                data_type: &column.data_type,
                can_be_key: column.refusal.is_none(),
                key: column.is_key,
            })
            .collect(),
        keys: inspection.keys.as_ref().map(|keys| KeysForm {
            distinct: keys.distinct,
            duplicates: keys.duplicates,
            nulls: keys.nulls,
            invalid: keys.invalid,
            faults: keys
                .faults
                .iter()
                .map(|fault| FaultForm {
                    key: &fault.key,
                    reason: fault.reason.text().shell(),
                    rows: fault.rows,
                    file: fault.file.as_deref(),
                    first: match fault.first {
                        Place::Line(line) => At::Line(line),
                        Place::Row(row) => At::Row(row),
                    },
                })
                .collect(),
            match_rules: keys
                .rules
                .iter()
                .map(|(rule, counts)| RuleForm {
                    rule,
                    keys: counts.keys,
                    nulls: counts.nulls,
                    invalid: counts.invalid,
                })
                .collect(),
            hints: keys
                .hints
                .iter()
                .map(|hint| HintForm {
                    key: &hint.key,
                    look: hint.look.name(),
                    reason: hint.look.text().shell(),
                    rows: hint.rows,
                })
                .collect(),
            samples: &keys.samples,
        }),
    };
    // Strings and numbers only.
    serde_json::to_value(form).unwrap_or_default()
}

#[derive(Serialize)]
struct Form<'a> {
    schema: u32,
    format: &'static str,
    /// How many files the table is.
    files: usize,
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    columns: Vec<ColumnForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<KeysForm<'a>>,
}

#[derive(Serialize)]
struct ColumnForm<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    data_type: &'a str,
    /// Whether its values can be keys.
    can_be_key: bool,
    /// Whether it is one of the key columns that were asked for.
    key: bool,
}

#[derive(Serialize)]
struct KeysForm<'a> {
    distinct: u64,
    duplicates: u64,
    nulls: u64,
    invalid: u64,
    faults: Vec<FaultForm<'a>>,
    /// Where there are several rules to match by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    match_rules: Vec<RuleForm<'a>>,
    /// What valid keys look like that hardly anybody means.
    hints: Vec<HintForm<'a>>,
    samples: &'a [Vec<String>],
}

#[derive(Serialize)]
struct RuleForm<'a> {
    rule: &'a str,
    keys: u64,
    nulls: u64,
    invalid: u64,
}

#[derive(Serialize)]
struct FaultForm<'a> {
    key: &'a str,
    reason: String,
    rows: u64,
    /// The file of the first such row, if the table is several.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    first: At,
}

#[derive(Serialize)]
struct HintForm<'a> {
    key: &'a str,
    look: &'static str,
    reason: String,
    rows: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum At {
    Line(u64),
    Row(u64),
}
