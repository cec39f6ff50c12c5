//! `vesica inspect`: what a table is, and what its keys would be.

use std::fmt::Write;

use vesica::channel::CancelToken;
use vesica::inspect;
use vesica::table::{Inspection, Keys};
use vesica::{Error, Kind, RunPhase};

use crate::args::Inspect;
use crate::documents::print;
use crate::screen;
use crate::signals;

pub(crate) fn run(args: &Inspect) -> u8 {
    let cancel = CancelToken::new();
    let received = match signals::watch("inspect", &cancel) {
        Ok(received) => received,
        Err(error) => {
            let error = Error::resources(RunPhase::Prepare, "signals cannot be watched", &error);
            screen::failure("inspect", &error);
            return error.kind.exit_code();
        }
    };
    match inspect::inspect(&args.input(), &args.key, args.text.dialect(), &cancel) {
        Ok(found) if args.json => print(format!("{:#}\n", inspect::json(&found)).as_bytes()),
        Ok(found) => print(text(&found).as_bytes()),
        Err(error) => {
            screen::failure("inspect", &error);
            match error.kind {
                Kind::Interrupted => received.exit_code().unwrap_or(Kind::Interrupted.exit_code()),
                kind => kind.exit_code(),
            }
        }
    }
}

fn text(found: &Inspection) -> String {
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (rows, columns) = (counted(found.rows, "row"), counted(found.columns.len() as u64, "column"));
    let files = if found.files > 1 { format!("{} files, ", found.files) } else { String::new() };
    let mut text = format!("{}, {files}{rows}, {columns}\n\n", found.format.name());
    let width = found.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    for column in &found.columns {
        let key = match (column.is_key, column.refusal) {
            (true, _) => "  (key)",
            (false, Some(_)) => "  (cannot be a key)",
            (false, None) => "",
        };
        line(&mut text, &format!("  {:width$}  {}{key}", column.name, column.data_type));
    }
    if let Some(hint) = &found.hint {
        line(&mut text, &format!("\n{}", hint.shell()));
    }
    match &found.keys {
        Some(keys) => describe(keys, &mut text),
        None => line(&mut text, "\ngive `--key COLUMN[:RULE]` to see the keys"),
    }
    text
}

fn describe(keys: &Keys, text: &mut String) {
    line(text, &format!("\n{:>12}  different keys", keys.distinct));
    for (count, what) in [
        (keys.duplicates, "rows with the key of an earlier row"),
        (keys.nulls, "rows without a key"),
        (keys.invalid, "rows with an invalid key"),
    ] {
        line(text, &format!("{count:>12}  {what}"));
    }
    for fault in &keys.faults {
        let (rows, key, reason, first) = (fault.rows, &fault.key, fault.reason.text().shell(), fault.first);
        let file = fault.file.as_ref().map(|file| format!("{file}, ")).unwrap_or_default();
        line(text, &format!("{rows:>16}  {key}: {reason}; first in {file}{first}"));
    }
    if !keys.samples.is_empty() {
        line(text, "\nthe first keys, masked:");
    }
    for sample in &keys.samples {
        line(text, &format!("  {}", sample.join("  +  ")));
    }
}

fn line(text: &mut String, line: &str) {
    // A string takes everything.
    let _ = writeln!(text, "{line}");
}
