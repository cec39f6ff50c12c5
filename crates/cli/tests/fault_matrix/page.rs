//! What the matrix saw, as docs/faults.md.

use std::path::Path;

use crate::common::Ended;

/// How a party ended: the code, and what its screen said first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
}

impl From<&Ended> for End {
    fn from(ended: &Ended) -> Self {
        let says = ["vesica receive: ", "vesica send: ", "vesica assist: "];
        let line = ended.screen.lines().find_map(|line| says.iter().find_map(|says| line.strip_prefix(says)));
        End { code: ended.code, said: line.map_or(String::new(), plain) }
    }
}

impl End {
    fn cell(&self) -> String {
        match (self.code, self.said.as_str()) {
            (None, _) => "killed".into(),
            (Some(code), "") => code.to_string(),
            (Some(0), _) => "0".into(),
            (Some(code), said) => format!("{code}: {said}"),
        }
    }
}

/// A line without what differs from run to run: addresses, times, keys.
fn plain(line: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches([',', ':', ';', '`']).trim_start_matches('`');
        let seconds = bare.strip_suffix("ms").or_else(|| bare.strip_suffix('s')).unwrap_or("");
        let shown = if bare.starts_with("127.0.0.1:") {
            "ADDRESS"
        } else if bare.starts_with("vesica-pub1-") {
            "KEY"
        } else if !seconds.is_empty() && seconds.parse::<f64>().is_ok() {
            "TIME"
        } else {
            bare
        };
        word.replacen(bare, shown, 1)
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A table of the page.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: &'static str,
    pub(crate) head: &'static [&'static str],
    pub(crate) rows: Vec<Row>,
}

/// A line of a table: what was done, and how those ended who are named in its head.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) ends: Vec<Option<End>>,
    /// What stands in the page for an end that may be one of two.
    pub(crate) instead: [Option<&'static str>; 3],
}

impl Row {
    pub(crate) fn new<const N: usize>(what: impl Into<String>, ends: [Option<&Ended>; N]) -> Self {
        let ends = ends.iter().map(|end| end.map(End::from)).collect();
        Row { what: what.into(), ends, instead: [None; 3] }
    }
}

const INTRODUCTION: &str = "\
# What happens when something goes wrong

Two real processes run, and a test disturbs one of them on purpose. Each row below was run. The test
(`crates/cli/tests/fault_matrix`) wrote this page, and fails if the program does something else. Three things hold in
every row: no output is left half-written; an output from before is unchanged unless the receiver ends with 0; and no
identifier of either table is on a screen.

A cell has the exit code ([what each one means](exit-codes.md)) and the first line of the message. Every message then
says where it happened and what to do. ADDRESS, TIME and KEY stand for values that differ from run to run. This command
writes the page again: `UPDATE_DOCS=1 cargo test --release -p vesica-cli --test fault_matrix`.
";

fn text(sections: &[Section]) -> String {
    let mut page = INTRODUCTION.to_owned();
    for section in sections {
        page += &format!("\n## {}\n\n{}\n\n", section.title, section.text);
        let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
        page += &line(section.head);
        page += &line(&vec!["---"; section.head.len()]);
        for row in &section.rows {
            let cell = |at: usize| match (row.instead[at], row.ends.get(at)) {
                (Some(instead), _) => instead.to_owned(),
                (None, Some(Some(end))) => end.cell(),
                (None, _) => "–".to_owned(),
            };
            let ends: Vec<String> = (0..section.head.len() - 1).map(cell).collect();
            let cells: Vec<&str> =
                [row.what.as_str()].into_iter().chain(ends.iter().map(String::as_str)).collect();
            page += &line(&cells);
        }
    }
    page
}

/// Holds the page against what was seen, or writes it if `UPDATE_DOCS` is set. The error says how to.
pub(crate) fn check(sections: &[Section]) -> Result<(), String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/faults.md"));
    let now = text(sections);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(path, now).map_err(|error| error.to_string());
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    if page == now {
        return Ok(());
    }
    let mut differences = String::new();
    for line in now.lines().filter(|line| !page.lines().any(|old| old == *line)) {
        differences += &format!("\n  now:  {line}");
    }
    for line in page.lines().filter(|line| !now.lines().any(|new| new == *line)) {
        differences += &format!("\n  page: {line}");
    }
    Err(format!(
        "docs/faults.md is not what was seen:{differences}\nif this is as it should be: \
         UPDATE_DOCS=1 cargo test --release -p vesica-cli --test fault_matrix"
    ))
}
