//! One table as Markdown: rows and columns that hold a figure, and why the others do not.

use std::fmt::Write;

use super::figures::{Records, Spread, ours};
use crate::definition::{Definition, Figure, Row};
use crate::measure::{Measure, Unit, short};

/// The reason for a protocol that the registry does not have.
const NOT_BUILT: &str = " is not built yet";

/// The table; none if no cell of it holds a figure.
pub(super) fn table(definition: &Definition, records: &Records) -> Option<String> {
    let cells = |row: &Row| -> Vec<Option<String>> {
        (0..definition.columns.len()).map(|i| cell_text(definition, row, i, records)).collect()
    };
    let rows: Vec<(&str, Vec<Option<String>>)> = definition
        .rows
        .iter()
        .map(|row| (row.name.as_str(), cells(row)))
        .filter(|(_, cells)| cells.iter().any(Option::is_some))
        .collect();
    let shown = |i: &usize| rows.iter().any(|(_, cells)| cells[*i].is_some());
    let columns: Vec<usize> = (0..definition.columns.len()).filter(shown).collect();
    if columns.is_empty() {
        return None;
    }
    let mut text = heading(definition);
    let names: Vec<&str> = columns.iter().map(|&i| definition.columns[i].name.as_str()).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for (name, cells) in &rows {
        let cells: Vec<&str> = columns.iter().map(|&i| cells[i].as_deref().unwrap_or("–")).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text.push('\n');
    for (why, rows) in reasons(definition) {
        let _ = writeln!(text, "- Not run here: {}: {why}.", rows.join("; "));
    }
    for (i, column) in definition.columns.iter().enumerate() {
        if let Some(why) = column_reason(definition, i) {
            let _ = writeln!(text, "- Not run here: {}: {why}.", column.name);
        }
    }
    for note in &definition.notes {
        let _ = writeln!(text, "- {note}");
    }
    Some(text.trim_end().to_owned() + "\n\n")
}

fn heading(definition: &Definition) -> String {
    let Definition { title, source, setting, name, .. } = definition;
    let unit = if definition.unit == Unit::Count {
        String::new()
    } else {
        format!(", in {}", definition.unit.name())
    };
    let setting = if setting == "none" { String::new() } else { format!(" Setting: {setting}.") };
    format!("## {title}\n\n{source}{unit}.{setting} `{name}`\n\n")
}

/// The protocols that a definition waits for.
pub(super) fn not_built(definition: &Definition) -> impl Iterator<Item = &str> {
    definition.rows.iter().filter_map(|row| row.cannot.as_deref()?.strip_suffix(NOT_BUILT))
}

/// The reasons why rows are not run, with those rows. Protocols that are not built are listed once for the page.
fn reasons(definition: &Definition) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &definition.rows {
        let Some(why) = row.cannot.as_deref().filter(|why| !why.ends_with(NOT_BUILT)) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, rows)) => rows.push(&row.name),
            None => reasons.push((why, vec![&row.name])),
        }
    }
    reasons
}

/// Why a whole column is not run.
fn column_reason(definition: &Definition, i: usize) -> Option<&str> {
    let runnable = || definition.rows.iter().filter(|row| row.cannot.is_none());
    let mut whys = runnable().map(|row| row.entries.get(i).and_then(|entry| entry.cannot.as_deref()));
    let first = whys.next()??;
    whys.all(|why| why == Some(first)).then_some(first)
}

/// `paper → ours (ratio)`; none where there is neither. A figure of another machine has the machine's name.
fn cell_text(definition: &Definition, row: &Row, i: usize, records: &Records) -> Option<String> {
    let entry = row.entries.get(i)?;
    let paper =
        entry.paper.map(|Figure { value, estimated }| format!("{}{value}", if estimated { "~" } else { "" }));
    let shown = |ours: Spread, machine: &str| {
        let mut text = format!("**{}**{}{machine}", short(ours.median), once(ours));
        if let (Some(figure), true) = (entry.paper, definition.measure != Measure::Count) {
            // Writing to a string cannot fail.
            let _ = write!(text, " ({}×)", short(ours.median / figure.value));
        }
        text
    };
    let main = ours(definition, row, i, &records.main);
    // Bytes are the same on every machine, and so are parameters.
    let differs = !matches!(definition.measure, Measure::Traffic | Measure::Count);
    let beside = records.beside.iter().filter(|_| main.is_none() || differs);
    let beside = beside.filter_map(|(name, record)| Some((name, ours(definition, row, i, record)?)));
    let ours: Vec<String> = main
        .map(|ours| shown(ours, ""))
        .into_iter()
        .chain(beside.map(|(name, ours)| shown(ours, &format!(" _{name}_"))))
        .collect();
    if ours.is_empty() {
        return paper;
    }
    Some(paper.map_or_else(String::new, |paper| format!("{paper} → ")) + &ours.join("; "))
}

/// The mark of a figure that is one run.
fn once(spread: Spread) -> &'static str {
    if spread.runs == 1 { "¹" } else { "" }
}
