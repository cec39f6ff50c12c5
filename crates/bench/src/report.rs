//! The report: each table with the paper's figure, ours, the ratio and the floor, as Markdown between two markers of a page.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use vesica::protocols::DEFAULT_LEVEL;

use crate::BenchError;
use crate::cell::{Cell, Networks};
use crate::definition::{Definition, Entry, Figure, Measure, Row, Unit};
use crate::floor::floor;
use crate::record::{Folder, Line, key, phase_seconds};
use crate::scaling::{self, Growth};
use crate::{blocks, choice, plots};

/// Where the generated part of a page begins and ends.
pub const MARKERS: [&str; 2] = ["<!-- begin: vesica bench report -->", "<!-- end: vesica bench report -->"];

/// The lines of a record, by their cells.
#[derive(Debug, Clone, Default)]
pub struct Record(HashMap<String, Vec<Line>>);

impl Record {
    /// All that a folder holds.
    pub fn read(folder: &Folder) -> Result<Self, BenchError> {
        Ok(folder.read_all()?.into())
    }

    /// The runs of a cell.
    pub fn of(&self, cell: &Cell) -> &[Line] {
        self.0.get(&key(cell)).map_or(&[], Vec::as_slice)
    }

    /// All runs.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.0.values().flatten()
    }

    /// The median of what `value` says of a cell's runs; none if there are none.
    pub fn median(&self, cell: &Cell, value: impl Fn(&Line) -> f64) -> Option<f64> {
        Spread::of(self.of(cell).iter().map(value)).map(|spread| spread.median)
    }
}

impl From<Vec<Line>> for Record {
    fn from(lines: Vec<Line>) -> Self {
        let mut cells: HashMap<String, Vec<Line>> = HashMap::new();
        for line in lines {
            cells.entry(line.cell.clone()).or_default().push(line);
        }
        Record(cells)
    }
}

/// Median, least and greatest of a cell's runs, in the table's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

impl Spread {
    /// Of some values; none of none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let upper = values[values.len() / 2];
        let median = if values.len() % 2 == 1 { upper } else { (values[values.len() / 2 - 1] + upper) / 2.0 };
        Some(Spread { median, least, most })
    }
}

/// What a run's line says of a measure, in seconds or bytes.
pub fn value(line: &Line, measure: Measure) -> f64 {
    match measure {
        Measure::Time => line.wall_s,
        Measure::Cpu => line.cpu_receiver_s + line.cpu_sender_s,
        Measure::Traffic => (line.sent_receiver + line.sent_sender) as f64,
        Measure::Memory => (line.peak_receiver + line.peak_sender) as f64,
        Measure::Count => f64::NAN,
    }
}

/// What the record, or a program, says of column `i` of a row.
pub fn ours(definition: &Definition, row: &Row, i: usize, record: &Record) -> Option<Spread> {
    let (entry, column) = (row.entries.get(i)?, definition.columns.get(i)?);
    if let Some(program) = &entry.program {
        let value = program.value();
        return Some(Spread { median: value, least: value, most: value });
    }
    let of_line = |line: &Line| {
        let phases = match row.party {
            vesica::protocols::Role::Receiver => &line.phases,
            vesica::protocols::Role::Sender => &line.sender_phases,
        };
        let whole = if row.party == vesica::protocols::Role::Sender && definition.measure == Measure::Time {
            line.sender_wall_s
        } else {
            value(line, definition.measure)
        };
        let of_phases = || column.phases.iter().map(|name| phase_seconds(phases, name)).sum();
        (if column.phases.is_empty() { whole } else { of_phases() }) / definition.unit.in_base()
    };
    Spread::of(record.of(entry.cell.as_ref()?).iter().map(of_line))
}

/// What a cell costs at least, in the table's unit; memory has a bound in place of a floor.
fn least(definition: &Definition, i: usize, entry: &Entry, networks: &Networks) -> Option<f64> {
    let cell = entry.cell.as_ref().filter(|_| definition.columns[i].phases.is_empty())?;
    let base = match definition.measure {
        Measure::Memory => cell.memory_bytes().ok()? as f64,
        Measure::Traffic => cell.formula_bytes().ok()? as f64,
        measure => {
            let floor = floor(cell, &networks.find(&cell.network).ok()?).ok()??;
            if measure == Measure::Cpu { floor.cpu_s } else { floor.wall_s }
        }
    };
    Some(base / definition.unit.in_base())
}

/// One table as Markdown.
pub fn table(definition: &Definition, record: &Record, networks: &Networks) -> String {
    let mut text = String::new();
    let unit = if definition.unit == Unit::Count {
        String::new()
    } else {
        format!(", in {}", definition.unit.name())
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "#### {}\n", definition.title);
    let _ = writeln!(
        text,
        "{}{unit}. Setting: {}. `{}`\n",
        definition.source, definition.setting, definition.name
    );
    let names: Vec<_> = definition.columns.iter().map(|column| column.name.as_str()).collect();
    let shown = |row: &&Row| row.cannot.is_none() || row.entries.iter().any(|entry| entry.paper.is_some());
    if definition.rows.iter().any(|row| shown(&row)) {
        let _ = writeln!(text, "| | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    }
    for row in definition.rows.iter().filter(shown) {
        let cells: Vec<_> =
            (0..names.len()).map(|i| cell_text(definition, row, i, record, networks)).collect();
        let _ = writeln!(text, "| {} | {} |", row.name, cells.join(" | "));
    }
    text.push('\n');
    for (why, rows) in reasons(definition) {
        let _ = writeln!(text, "- Not run here: {}: {why}.", rows.join("; "));
    }
    for column in (0..names.len()).filter_map(|i| Some((names[i], column_reason(definition, i)?))) {
        let _ = writeln!(text, "- Not run here: {}: {}.", column.0, column.1);
    }
    for note in &definition.notes {
        let _ = writeln!(text, "- {note}");
    }
    text.push('\n');
    text
}

/// Why rows are not run, with those rows.
fn reasons(definition: &Definition) -> Vec<(String, Vec<&str>)> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for row in &definition.rows {
        let Some(why) = &row.cannot else { continue };
        // The protocol's name stands in the row's place where many are not built.
        let why = if why.ends_with(" is not built yet") { "not built yet" } else { why };
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, rows)) => rows.push(&row.name),
            None => reasons.push((why.to_owned(), vec![&row.name])),
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

/// `paper → ours [spread] · ratio · floor`; a dash where there is none.
fn cell_text(definition: &Definition, row: &Row, i: usize, record: &Record, networks: &Networks) -> String {
    let Some(entry) = row.entries.get(i) else { return String::new() };
    let paper =
        entry.paper.map(|Figure { value, estimated }| format!("{}{value}", if estimated { "~" } else { "" }));
    let Some(ours) = ours(definition, row, i, record) else {
        return paper.unwrap_or_else(|| "–".to_owned());
    };
    let mut text = paper.map_or_else(String::new, |paper| format!("{paper} → "));
    let _ = write!(text, "**{}**{}", short(ours.median), spread(ours));
    if definition.measure != Measure::Count {
        if let Some(figure) = entry.paper {
            let _ = write!(text, " · {}×", short(ours.median / figure.value));
        }
        if let Some(least) = least(definition, i, entry, networks) {
            let _ = write!(text, " · ⌊{}⌋", short(least));
        }
    }
    text
}

/// Least and greatest, where they are not the same to three digits.
fn spread(spread: Spread) -> String {
    let (least, most) = (short(spread.least), short(spread.most));
    if least == most { String::new() } else { format!(" [{least}–{most}]") }
}

/// Three significant digits.
pub fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    if digits >= 0 {
        format!("{value:.*}", digits as usize)
    } else {
        let scale = 10f64.powi(-digits);
        format!("{:.0}", (value / scale).round() * scale)
    }
}

/// What a group of tables is called, by its folder, in the order of the report.
const GROUPS: [(&str, &str); 6] = [
    ("vesica", "This project"),
    ("dcw13", "DCW13: Dong, Chen, Wen, When Private Set Intersection Meets Big Data"),
    ("hek12", "HEK12: Huang, Evans, Katz, Are Garbled Circuits Better than Custom Protocols?"),
    ("psz14", "PSZ14: Pinkas, Schneider, Zohner, Faster PSI Based on OT Extension"),
    ("pssz15", "PSSZ15: Pinkas, Schneider, Segev, Zohner, Phasing"),
    ("rr16", "RR16: Rindal, Rosulek, Improved PSI Against Malicious Adversaries"),
];

/// The whole text between the markers, for the page at `page`. Plots go into the record's folder.
pub fn write(
    definitions: &[Definition],
    folder: &Folder,
    networks: &Networks,
    page: &Path,
    command: &str,
) -> Result<(), BenchError> {
    let record = Record::read(folder)?;
    let growth = usual_growth(&record)?;
    let plots = plots::draw(definitions, &record, &growth, folder)?;
    let mut text = format!(
        "Made by `{command}`. In each cell: the paper's figure (~: its own estimate, or \"about\") → **ours, the median** \
         [least–greatest] · ratio to the paper's · ⌊floor⌋. The floor of time is a sum of unit prices, measured one by one on a \
         Zen 5 core ([`floor.rs`](../crates/bench/src/floor.rs); another processor has other ones), or what the network takes; of traffic, the registry's formula; \
         for memory there is the registry's bound in its place. A cell without ours was left out for memory or time.\n\n"
    );
    let list = |text: String| text.lines().map(|line| format!("- {line}\n")).collect::<String>();
    let _ = writeln!(text, "The machine:\n\n{}", list(folder.machine()));
    let _ = writeln!(text, "Its record, `{}`, was made by:\n\n{}", folder.name(), list(folder.commands()));
    let networks_text: String =
        networks.describe().map(|(name, what)| format!("`{name}`: {what}\n")).collect();
    let _ = writeln!(text, "The networks:\n\n{}", list(networks_text));
    let _ = writeln!(text, "### At a glance\n");
    if let Some(glance) = plots.get(plots::GLANCE) {
        let _ = writeln!(text, "![time against traffic]({})\n", link(page, glance)?);
    }
    text.push_str(&choice::table(&record, networks));
    let _ = writeln!(
        text,
        "### Growth\n\nHow time and peak memory grow with equal sets, one thread, loopback: power laws through the medians from 2^{} \
         on.\n\n{}",
        scaling::FROM.ilog2(),
        scaling::table(&growth)
    );
    for name in plots::GROWTH {
        if let Some(plot) = plots.get(name) {
            let _ = writeln!(text, "![growth]({})\n", link(page, plot)?);
        }
    }
    let mut groups: BTreeMap<&str, String> = BTreeMap::new();
    for definition in definitions {
        let group = groups.entry(definition.name.split('/').next().unwrap_or_default()).or_default();
        group.push_str(&table(definition, &record, networks));
        if let Some(plot) = plots.get(&definition.name) {
            let _ = writeln!(group, "![{}]({})\n", definition.title, link(page, plot)?);
        }
    }
    for (name, title) in GROUPS {
        if let Some(tables) = groups.remove(name) {
            let _ = writeln!(text, "### {title}\n\n{tables}");
        }
    }
    for (name, tables) in groups {
        let _ = writeln!(text, "### {name}\n\n{tables}");
    }
    let blocks = folder.blocks()?;
    if !blocks.is_empty() {
        let _ = writeln!(
            text,
            "### Building blocks\n\nOne thread, in memory, by criterion (`make bench-blocks`): nanoseconds an element, the median.\n\n{}",
            blocks::table(&blocks)
        );
    }
    splice(page, &text)
}

/// The growth of protocols as they are run by default: no variant, the usual level, our own parameters.
fn usual_growth(record: &Record) -> Result<Vec<Growth>, BenchError> {
    let mut growth = scaling::growth(record.lines())?;
    growth
        .retain(|Growth { form, .. }| form.variant.is_empty() && form.level == DEFAULT_LEVEL && !form.paper);
    growth.sort_by_key(|growth| scaling::name(&growth.form));
    Ok(growth)
}

/// The way from a page to a file, with `/` between.
fn link(page: &Path, file: &Path) -> Result<String, BenchError> {
    let absolute = |path: &Path| fs::canonicalize(path).map_err(|cause| BenchError::file(path, cause));
    let (page, file) = (absolute(page)?, absolute(file)?);
    let parts = |path: &Path| {
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let (from, to) = (parts(page.parent().unwrap_or(&page)), parts(&file));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = vec!["..".to_owned(); from.len() - same];
    Ok(up.into_iter().chain(to.into_iter().skip(same)).collect::<Vec<_>>().join("/"))
}

/// Puts `text` between the markers of the page at `path`; all else on it stays.
pub fn splice(path: &Path, text: &str) -> Result<(), BenchError> {
    let page = fs::read_to_string(path).map_err(|cause| BenchError::file(path, cause))?;
    let [begin, end] = MARKERS;
    let parts = page.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) =
        parts.ok_or_else(|| BenchError::form(path, "the markers of the report are not there"))?;
    let page = format!("{before}{begin}\n\n{}\n{end}{after}", text.trim_end());
    fs::write(path, page).map_err(|cause| BenchError::file(path, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        let cases = [
            (0.0, "0"),
            (0.012345, "0.0123"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (123.4, "123"),
            (123456.0, "123000"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    const TEXT: &str = r#"
        title = "Time"
        source = "a paper"
        setting = "a machine"
        measure = "time"
        unit = "ms"
        columns = [
            { name = "n", cell = { receiver = 4, sender = 4 } },
            { name = "m", cell = { receiver = 8, sender = 8 } },
        ]
        [[rows]]
        name = "dh"
        cell = { protocol = "dh" }
        paper = [500.0, "~1000"]
        [[rows]]
        name = "gpu"
        cannot = "no GPU"
        paper = [1.5, nan]
        [[rows]]
        name = "later"
        awaits = "not-in-the-registry"
    "#;

    fn line(wall_s: f64) -> Line {
        Line::of(&Cell::new("dh", 4, 4), wall_s, 0)
    }

    #[test]
    fn a_table_shows_paper_ours_ratio_and_floor() {
        let networks = Networks::default();
        let definition = Definition::parse("a/b", TEXT, &networks).unwrap();
        let record = Record::from(vec![line(0.1), line(0.3), line(0.25)]);
        let text = table(&definition, &record, &networks);
        let floor = short(
            floor(&Cell::new("dh", 4, 4), &crate::cell::Link::UNLIMITED).unwrap().unwrap().wall_s * 1e3,
        );
        let expected = format!("| dh | 500 → **250** [100–300] · 0.500× · ⌊{floor}⌋ | ~1000 |");
        assert!(text.contains(&expected), "{text}");
        assert!(text.contains("| gpu | 1.5 | – |"), "{text}");
        assert!(text.contains("- Not run here: gpu: no GPU."), "{text}");
        assert!(
            text.contains("- Not run here: later: not built yet.") && !text.contains("| later"),
            "{text}"
        );
    }

    #[test]
    fn a_column_of_phases_sums_them() {
        let text = TEXT.replace(
            "name = \"m\", cell = { receiver = 8, sender = 8 }",
            "name = \"m\", cell = { receiver = 4, sender = 4 }, phases = [\"compare\"]",
        );
        let definition = Definition::parse("a/b", &text, &Networks::default()).unwrap();
        let record = Record::from(vec![line(0.1)]);
        let found = ours(&definition, &definition.rows[0], 1, &record).unwrap();
        assert_eq!(found.median, 20.0);
    }

    #[test]
    fn the_page_keeps_what_is_outside_the_markers() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.md");
        fs::write(&page, format!("before\n{}\nold\n{}\nafter\n", MARKERS[0], MARKERS[1])).unwrap();
        splice(&page, "new\n").unwrap();
        let text = fs::read_to_string(&page).unwrap();
        assert_eq!(text, format!("before\n{}\n\nnew\n{}\nafter\n", MARKERS[0], MARKERS[1]));
        fs::write(&page, "no markers").unwrap();
        assert!(splice(&page, "new").is_err());
    }

    #[test]
    fn links_lead_from_the_page_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("docs")).unwrap();
        fs::create_dir_all(at("record/plots")).unwrap();
        fs::write(at("docs/page.md"), "").unwrap();
        fs::write(at("record/plots/a.svg"), "").unwrap();
        assert_eq!(link(&at("docs/page.md"), &at("record/plots/a.svg")).unwrap(), "../record/plots/a.svg");
    }
}
