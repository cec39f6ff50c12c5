//! `vesica inspect`: what a table is, and what its keys would be. `vesica compare`: why those of two tables would not match.

use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use vesica::channel::CancelToken;
use vesica::inspect;
use vesica::output_paths;
use vesica::page;
use vesica::profile::{self, Profile};
use vesica::table::{Inspection, Keys, shown_path};
use vesica::text::Text;
use vesica::{Error, Kind, RunPhase};

use crate::args::{Compare, Inspect};
use crate::documents::print;
use crate::screen;
use crate::signals;

pub(crate) fn run(args: &Inspect) -> u8 {
    let cancel = CancelToken::new();
    let received = match signals::watch("inspect", &cancel) {
        Ok(received) => received,
        Err(error) => {
            let error = Error::resources(RunPhase::Prepare, "signals cannot be watched", &error);
            screen::failure_alone("inspect", &error);
            return error.kind.exit_code();
        }
    };
    let found = inspected(args, &cancel);
    match found {
        Ok(_) if args.output.is_some() => 0,
        Ok(found) if args.json => print(format!("{:#}\n", inspect::json(&found)).as_bytes()),
        Ok(found) => print(text(&found).as_bytes()),
        Err(error) => {
            screen::failure_alone("inspect", &error);
            match error.kind {
                Kind::Interrupted => received.exit_code().unwrap_or(Kind::Interrupted.exit_code()),
                kind => kind.exit_code(),
            }
        }
    }
}

/// What the table is, written to the files that were named.
fn inspected(args: &Inspect, cancel: &CancelToken) -> Result<Inspection, Error> {
    let (input, keys) = (args.input(), args.keys());
    args.profile.as_deref().map_or(Ok(()), |path| output_paths::check_apart(path, &input))?;
    let protected = [input.clone()];
    let place =
        args.output.as_deref().map(|path| output_paths::check_document(path, &protected)).transpose()?;
    let found = inspect::inspect(&input, keys.as_ref(), args.text.clone().dialect(), cancel)?;
    args.profile.as_deref().map_or(Ok(()), |path| write_profile(path, &found))?;
    let json = || format!("{:#}", inspect::json(&found));
    place.map_or(Ok(()), |place| place.write(json() + "\n", Some(page::inspection), cancel))?;
    Ok(found)
}

/// Writes the profile of a table's keys to a new file.
fn write_profile(path: &Path, found: &Inspection) -> Result<(), Error> {
    let text = Profile::of(found)?.to_text()?;
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let remedy = "name a new file in a folder that you may write to";
        Error::usage(format!("`--profile {}`: {error}", shown_path(path)), remedy)
    })
}

/// `vesica compare`.
pub(crate) fn compare(args: &Compare) -> u8 {
    let profiles = Profile::load(&args.mine).and_then(|mine| Ok((mine, Profile::load(&args.theirs)?)));
    match profiles {
        Ok((mine, theirs)) => print(causes(&profile::compare(&mine, &theirs)).as_bytes()),
        Err(error) => {
            screen::failure_alone("compare", &error);
            error.kind.exit_code()
        }
    }
}

fn causes(causes: &[Text]) -> String {
    if causes.is_empty() {
        return "nothing in these profiles says why keys would not match; whether they do, only a run can tell\n".to_owned();
    }
    causes.iter().map(|cause| format!("- {}\n", cause.shell())).collect()
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
    for told in found.notes.iter().chain(&found.hint) {
        line(&mut text, &format!("\n{}", told.shell()));
    }
    match &found.keys {
        Some(keys) => describe(keys, &mut text),
        None => line(&mut text, "\ngive `--key COLUMN[:RULE]` to see the keys"),
    }
    text
}

fn describe(keys: &Keys, text: &mut String) {
    line(text, &format!("\n{:>12}  different keys", keys.distinct));
    let of_rows = match keys.rules.is_empty() {
        true => ["rows with the key of an earlier row", "rows without a key", "rows with an invalid key"],
        false => [
            "keys that an earlier row has too",
            "rows without any key",
            "rows whose keys are all empty or invalid",
        ],
    };
    for (count, what) in [keys.duplicates, keys.nulls, keys.invalid].into_iter().zip(of_rows) {
        line(text, &format!("{count:>12}  {what}"));
    }
    for (rule, counts) in &keys.rules {
        let (keys, nulls, invalid) = (counts.keys, counts.nulls, counts.invalid);
        line(
            text,
            &format!("{keys:>16}  rows have a key by {rule}; it is empty in {nulls}, invalid in {invalid}"),
        );
    }
    for fault in &keys.faults {
        let (rows, key, reason, first) = (fault.rows, &fault.key, fault.reason.text().shell(), fault.first);
        let file = fault.file.as_ref().map(|file| format!("{file}, ")).unwrap_or_default();
        line(text, &format!("{rows:>16}  {key}: {reason}; first in {file}{first}"));
    }
    if !keys.hints.is_empty() {
        line(text, "\nvalid keys that hardly anybody means:");
    }
    for hint in &keys.hints {
        line(text, &format!("{:>12}  {} {}", hint.rows, hint.key, hint.look.text().shell()));
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
