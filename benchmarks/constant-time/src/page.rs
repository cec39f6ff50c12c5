//! `docs/constant-time.md`: a table between marks, words around it.

use std::path::Path;
use std::process::Command;

use crate::Row;
use crate::subjects::{NOT_MEASURED, Purpose, Subject};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/constant-time.md");
const BEGIN: &str = "<!-- measured: made by `UPDATE_DOCS=1 make constant-time` -->\n\n";
const END: &str = "<!-- end of measured -->\n";
const EXCUSES: [&str; 2] = [
    "<!-- not measured: made by `UPDATE_DOCS=1 make constant-time` -->\n\n",
    "<!-- end of not measured -->\n",
];

/// The cells that name a row, as the table begins.
pub(crate) fn names(subject: &Subject) -> [String; 4] {
    let level = subject.level.map_or_else(String::new, |level| level.to_string());
    let module = match subject.purpose {
        Purpose::Constant => format!("`{}`", subject.module),
        Purpose::Leaks => "control: leaks".to_owned(),
        Purpose::Same => "control: does not leak".to_owned(),
    };
    [module, subject.operation.to_owned(), level, subject.secret.to_owned()]
}

/// The table.
pub(crate) fn table(rows: &[Row]) -> String {
    let head = "module | operation | instructions | what is secret | measurements | median | would be found | t | verdict";
    let mut text = format!("| {head} |\n| --- | --- | --- | --- | --: | --: | --: | --: | --- |\n");
    for row in rows {
        text += &format!("| {} | {} |\n", row.names.join(" | "), row.cells().join(" | "));
    }
    text
}

/// Modules without a row.
pub(crate) fn excuses() -> String {
    let rows: String = NOT_MEASURED.iter().map(|(module, why)| format!("| `{module}` | {why} |\n")).collect();
    format!("| module | why |\n| --- | --- |\n{rows}")
}

/// The machine, the day, the revision and the compiler.
pub(crate) fn provenance(minutes: f64) -> String {
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let said = |program, args: &[&str]| said(program, args).unwrap_or_else(|| "unknown".to_owned());
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    format!(
        "Measured on {} at revision {}, in {minutes:.0} minutes, on {} ({} threads), with {}.\n\n",
        said("date", &["-u", "+%F"]),
        said("git", &["rev-parse", "--short=10", "HEAD"]),
        processor.map_or("an unknown processor", |(_, name)| name),
        std::thread::available_parallelism().map_or(1, usize::from),
        said("rustc", &["--version"]),
    )
}

/// Writes both tables between their marks.
pub(crate) fn write(table: &str) {
    let page = std::fs::read_to_string(Path::new(PATH)).unwrap_or_default();
    let page = put(&page, [BEGIN, END], table);
    std::fs::write(Path::new(PATH), put(&page, EXCUSES, &excuses())).unwrap();
}

/// The page with `text` between the marks; a page without them gets them at its end.
fn put(page: &str, [begin, end]: [&str; 2], text: &str) -> String {
    let new = format!("{begin}{text}{end}");
    match between(page, [begin, end]) {
        Some(old) => page.replacen(&format!("{begin}{old}{end}"), &new, 1),
        None => format!("{page}\n{new}"),
    }
}

/// What is between the marks.
fn between<'a>(page: &'a str, [begin, end]: [&str; 2]) -> Option<&'a str> {
    Some(page.split_once(begin)?.1.split_once(end)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects;

    /// The rows of the page are those that the program measures, in its order; the levels are those of this
    /// architecture.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_page_has_the_rows_of_the_program() {
        let page = std::fs::read_to_string(PATH).unwrap();
        let measured = between(&page, [BEGIN, END]).unwrap();
        let rows = measured.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
        let there: Vec<Vec<&str>> =
            rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
        let names: Vec<[String; 4]> = subjects::all().iter().map(names).collect();
        let missing: Vec<_> =
            names.iter().filter(|names| !there.iter().any(|row| row[..4] == names[..])).collect();
        assert!(missing.is_empty(), "`UPDATE_DOCS=1 make constant-time`: the page lacks {missing:#?}");
        assert_eq!(there.len(), names.len(), "`UPDATE_DOCS=1 make constant-time`: the page has other rows");
        assert!(
            there.iter().zip(&names).all(|(row, names)| row[..4] == names[..]),
            "the rows in their order"
        );
        assert!(there.iter().all(|row| row.len() == 9 && !row[8].is_empty()), "a verdict in every row");
        assert_eq!(between(&page, EXCUSES), Some(&*excuses()), "`UPDATE_DOCS=1 make constant-time`");
    }

    #[test]
    fn text_replaces_what_is_between_the_marks() {
        let marks = ["<a>", "</a>"];
        assert_eq!(put("one <a>old</a> two", marks, "new"), "one <a>new</a> two");
        assert_eq!(put("one", marks, "new"), "one\n<a>new</a>");
    }
}
