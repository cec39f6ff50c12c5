//! The pages: results at a glance, between the markers of one page, and a page of tables for each paper. Those are in the
//! folder beside it that has its name.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::figures::{Record, Records};
use super::table::{not_built, table};
use super::{cells, csv};
use crate::BenchError;
use crate::blocks;
use crate::cell::Networks;
use crate::definition::Definition;
use crate::record::{FIGURES, Folder};

/// Where the generated part of the page of results begins and ends.
pub const MARKERS: [&str; 2] = ["<!-- begin: vesica bench report -->", "<!-- end: vesica bench report -->"];

/// The titles of the groups of tables, by their folders, in the order of the report.
const GROUPS: [(&str, &str); 6] = [
    ("vesica", "This project's own tables"),
    ("dcw13", "DCW13: Dong, Chen, Wen, When Private Set Intersection Meets Big Data"),
    ("hek12", "HEK12: Huang, Evans, Katz, Are Garbled Circuits Better than Custom Protocols?"),
    ("psz14", "PSZ14: Pinkas, Schneider, Zohner, Faster PSI Based on OT Extension"),
    ("pssz15", "PSSZ15: Pinkas, Schneider, Segev, Zohner, Phasing"),
    ("rr16", "RR16: Rindal, Rosulek, Improved PSI Against Malicious Adversaries"),
];

/// The page of building blocks, in the folder of the papers' pages.
const BLOCKS: &str = "building-blocks";

/// The pictures of the page of results, which `make plots` draws from the figures: their names and what they show.
const PICTURES: [(&str, &str); 2] =
    [("at-a-glance", "time against traffic, every protocol"), ("growth", "time and memory against n")];

/// The folders that a report is made from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The record that the pages are about.
    pub main: &'a Folder,
    /// Records of other machines, whose figures stand beside with their names.
    pub beside: &'a [Folder],
}

/// Records, and the page that their report goes to.
struct Report<'a> {
    records: Records,
    sources: Sources<'a>,
    page: &'a Path,
}

/// Columns of a page. Rows of tables, headings and pictures cannot be cut.
const COLUMNS: usize = 120;

/// The text with its long lines cut between words.
fn wrapped(text: &str) -> String {
    let wrap = |line: &str| {
        if line.starts_with(['|', '#', '!', '<']) || line.chars().count() <= COLUMNS {
            return line.to_owned();
        }
        let indent = if line.starts_with("- ") { "\n  " } else { "\n" };
        let (mut cut, mut width) = (String::new(), 0);
        for word in line.split(' ') {
            let length = word.chars().count();
            if width > 0 && width + 1 + length > COLUMNS {
                cut += indent;
                width = indent.len() - 1;
            } else if width > 0 {
                cut.push(' ');
                width += 1;
            }
            cut += word;
            width += length;
        }
        cut
    };
    text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
}

/// Writes the pages of a record, and the figures and cells of each folder as CSV into it.
pub fn write(
    definitions: &[Definition],
    sources: Sources<'_>,
    networks: &Networks,
    page: &Path,
    command: &str,
) -> Result<(), BenchError> {
    let Sources { main: folder, beside } = sources;
    let named = |folder: &Folder| Ok::<_, BenchError>((folder.machine_name(), Record::read(folder)?));
    let records =
        Records { main: Record::read(folder)?, beside: beside.iter().map(named).collect::<Result<_, _>>()? };
    let report = Report { records, sources, page };
    csv::write(definitions, &report.records.main, folder)?;
    cells::write(&report.records.main, folder)?;
    for (folder, (_, record)) in beside.iter().zip(&report.records.beside) {
        csv::write(definitions, record, folder)?;
        cells::write(record, folder)?;
    }
    let pages = page.with_extension("");
    fs::create_dir_all(&pages).map_err(|cause| BenchError::file(&pages, cause))?;
    let mut list = String::new();
    for (name, title) in GROUPS {
        let of_group: Vec<&Definition> =
            definitions.iter().filter(|definition| definition.name.split('/').next() == Some(name)).collect();
        if let Some(text) = report.group(title, &of_group)? {
            list.push_str(&report.keep(&pages, name, title, &text)?);
        }
    }
    let blocks = folder.blocks()?;
    if !blocks.is_empty() {
        let title = "Building blocks";
        let what = "The figures are medians in nanoseconds an element, measured by criterion on one thread, in memory \
             (`make bench-blocks`).";
        let text = format!("# {title}\n\n{what}\n\n{}", blocks::table(&blocks));
        list.push_str(&report.keep(&pages, BLOCKS, title, &text)?);
    }
    splice(page, &wrapped(&report.results(networks, command, &list)?))
}

impl Report<'_> {
    /// The tables of a group; none if it has no figure.
    fn group(&self, title: &str, definitions: &[&Definition]) -> Result<Option<String>, BenchError> {
        let mut text = String::new();
        let mut nothing = Vec::new();
        for definition in definitions {
            let Some(table) = table(definition, &self.records) else {
                nothing.push(format!("{} ({})", definition.title, definition.source));
                continue;
            };
            text.push_str(&table);
            let pages = self.page.with_extension("").join("a page");
            let picture = definition.name.replace('/', "-");
            text.push_str(&self.picture(&pages, &picture, &definition.title)?);
        }
        if text.is_empty() {
            return Ok(None);
        }
        let mut head = format!("# {title}\n\n{LEGEND}\n\n");
        // Writing to a string cannot fail.
        let _ = writeln!(
            head,
            "Record: `{}`; machine and networks: [results](../benchmarks.md).",
            self.sources.main.name()
        );
        for beside in self.sources.beside {
            let _ = writeln!(
                head,
                "A figure with _{}_ behind it is of another machine, that of the record `{}`. Compare it with figures of the same name only.",
                beside.machine_name(),
                beside.name()
            );
        }
        let awaited: BTreeSet<&str> =
            definitions.iter().flat_map(|definition| not_built(definition)).collect();
        if !awaited.is_empty() {
            let awaited: Vec<&str> = awaited.into_iter().collect();
            let _ =
                writeln!(head, "Rows whose protocol is not built yet are not shown: {}.", awaited.join(", "));
        }
        if !nothing.is_empty() {
            let _ = writeln!(head, "Tables without a figure are not shown: {}.", nothing.join("; "));
        }
        Ok(Some(format!("{head}\n{text}")))
    }

    /// Writes a page of its own, and returns its line in the list of pages.
    fn keep(&self, pages: &Path, name: &str, title: &str, text: &str) -> Result<String, BenchError> {
        let path = pages.join(format!("{name}.md"));
        fs::write(&path, wrapped(text.trim_end()) + "\n").map_err(|cause| BenchError::file(&path, cause))?;
        let folder = pages.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(format!("- [{title}]({folder}/{name}.md)\n"))
    }

    /// A picture of the record as Markdown for `page`; empty if it was not drawn.
    fn picture(&self, page: &Path, name: &str, what: &str) -> Result<String, BenchError> {
        let path = self.sources.main.path().join("plots").join(format!("{name}.svg"));
        Ok(if path.exists() { format!("![{what}]({})\n\n", link(page, &path)?) } else { String::new() })
    }

    /// The text between the markers.
    fn results(&self, networks: &Networks, command: &str, pages: &str) -> Result<String, BenchError> {
        let mut text = format!("Made by `{command}`.\n\n## At a glance\n\n");
        for (name, what) in PICTURES {
            text.push_str(&self.picture(self.page, name, what)?);
        }
        text.push_str("## Tables\n\n");
        text.push_str(pages);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "- [Every figure as CSV]({}), with least and greatest run, and number of runs",
            link(self.page, &self.sources.main.path().join(FIGURES))?
        );
        for beside in self.sources.beside {
            let (name, figures) = (beside.machine_name(), link(self.page, &beside.path().join(FIGURES))?);
            let _ = writeln!(text, "- [The same of the other machine]({figures}), _{name}_");
        }
        text.push('\n');
        let list = |text: String| text.lines().map(|line| format!("- {line}\n")).collect::<String>();
        let _ = writeln!(text, "## Machine, record, networks\n\n{}", list(self.sources.main.machine()));
        let made_by = |folder: &Folder| {
            format!("The record `{}` was made by:\n\n{}", folder.name(), list(folder.commands()))
        };
        let _ = writeln!(text, "{}", made_by(self.sources.main));
        for beside in self.sources.beside {
            let name = beside.machine_name();
            let _ = writeln!(text, "The other machine, _{name}_:\n\n{}", list(beside.machine()));
            let _ = writeln!(text, "{}", made_by(beside));
        }
        let networks: String =
            networks.describe().map(|(name, what)| format!("`{name}`: {what}\n")).collect();
        let _ = writeln!(text, "The networks:\n\n{}", list(networks));
        Ok(text)
    }
}

/// What a cell of the papers' pages shows.
const LEGEND: &str = "\
A cell has the paper's figure → **our figure** (ours divided by the paper's). Our figure is the median of the runs, and
¹ marks a single run. ~ marks an estimate of the paper, or \"about\". – means not measured: too large or too slow for this
machine.";

/// The relative link from a page to a file.
pub(super) fn link(page: &Path, file: &Path) -> Result<String, BenchError> {
    let absolute = |path: &Path| fs::canonicalize(path).map_err(|cause| BenchError::file(path, cause));
    let above = page.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (from, to): (PathBuf, PathBuf) = (absolute(above)?, absolute(file)?);
    let parts = |path: &Path| {
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let (from, to) = (parts(&from), parts(&to));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = vec!["..".to_owned(); from.len() - same];
    Ok(up.into_iter().chain(to.into_iter().skip(same)).collect::<Vec<_>>().join("/"))
}

/// Puts `text` between the markers of the page at `path`, and keeps the rest of the page. A page that is not there is made.
pub(super) fn splice(path: &Path, text: &str) -> Result<(), BenchError> {
    let [begin, end] = MARKERS;
    let page = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => format!("# Benchmarks\n\n{begin}\n{end}\n"),
        read => read.map_err(|cause| BenchError::file(path, cause))?,
    };
    let parts = page.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) =
        parts.ok_or_else(|| BenchError::form(path, "the markers of the report are not there"))?;
    let page = format!("{before}{begin}\n\n{}\n{end}{after}", text.trim_end());
    fs::write(path, page).map_err(|cause| BenchError::file(path, cause))
}
