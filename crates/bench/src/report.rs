//! The report: each table with the paper's figure, ours and the ratio, as Markdown between two markers of a page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::BenchError;
use crate::definition::{Definition, Entry, Measure, Row};
use crate::record::{Folder, Line, key};

/// Where the generated part of a page begins and ends.
pub const MARKERS: [&str; 2] = ["<!-- begin: vesica bench report -->", "<!-- end: vesica bench report -->"];

/// Median, least and greatest of a cell's runs, in the table's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
    /// How many runs.
    pub runs: usize,
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

/// The figure of the runs that `lines` hold of a cell; none if there are none.
pub fn figure(lines: &[Line], entry: &Entry, definition: &Definition) -> Option<Figure> {
    let cell = key(entry.cell.as_ref()?);
    let runs = lines.iter().filter(|line| line.cell == cell);
    let mut values: Vec<f64> =
        runs.map(|line| value(line, definition.measure) / definition.unit.in_base()).collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let median =
        if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    Some(Figure { median, least, most, runs: values.len() })
}

/// One table as Markdown.
pub fn table(definition: &Definition, lines: &[Line]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "### {}\n", definition.title);
    let _ = writeln!(
        text,
        "{}, in {}. The paper's setting: {}. `benchmarks/definitions/{}.toml`\n",
        definition.source,
        definition.unit.name(),
        definition.setting,
        definition.name
    );
    let _ = writeln!(
        text,
        "| | {} |",
        definition.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(" | ")
    );
    let _ = writeln!(text, "|---|{}", "---|".repeat(definition.columns.len()));
    for row in &definition.rows {
        let _ = writeln!(text, "| {} | {} |", row.name, row_cells(definition, row, lines).join(" | "));
    }
    text.push('\n');
    for row in definition.rows.iter().filter(|row| row.cannot.is_some()) {
        let _ =
            writeln!(text, "- {}: not run here, {}.", row.name, row.cannot.as_deref().unwrap_or_default());
    }
    for note in &definition.notes {
        let _ = writeln!(text, "- {note}");
    }
    text.push('\n');
    text
}

/// `paper → ours (ratio)`; a dash where there is none.
fn row_cells(definition: &Definition, row: &Row, lines: &[Line]) -> Vec<String> {
    let show = |entry: &Entry| {
        let ours = figure(lines, entry, definition);
        match (entry.paper.map(|figure| figure.value), ours) {
            (None, None) => "–".to_owned(),
            (Some(paper), None) => format!("{} → –", short(paper)),
            (None, Some(ours)) => format!("**{}**{}", short(ours.median), spread(ours)),
            (Some(paper), Some(ours)) => {
                let ratio = ours.median / paper;
                format!("{} → **{}**{} ({}×)", short(paper), short(ours.median), spread(ours), short(ratio))
            }
        }
    };
    row.entries.iter().map(show).collect()
}

/// Least and greatest, where they are not the same to three digits.
fn spread(figure: Figure) -> String {
    let (least, most) = (short(figure.least), short(figure.most));
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

/// All tables of the definitions that the record holds anything of, grouped by their folder.
pub fn tables(definitions: &[Definition], folder: &Folder) -> Result<String, BenchError> {
    let mut groups: BTreeMap<&str, String> = BTreeMap::new();
    for definition in definitions {
        let lines = folder.read(&definition.name)?;
        if !lines.is_empty() {
            let group = definition.name.split('/').next().unwrap_or_default();
            groups.entry(group).or_default().push_str(&table(definition, &lines));
        }
    }
    Ok(groups.into_iter().map(|(group, tables)| format!("## {group}\n\n{tables}")).collect())
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
    use crate::cell::{Cell, Networks};

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

    fn definition() -> (tempfile::TempDir, Definition) {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"
            title = "Time"
            source = "a paper"
            setting = "a machine"
            measure = "time"
            unit = "ms"
            columns = [{ name = "n", cell = { receiver = 4, sender = 4 } }, { name = "m", cell = { receiver = 8, sender = 8 } }]
            [[rows]]
            name = "dh"
            cell = { protocol = "dh" }
            paper = [500.0, 1000.0]
            [[rows]]
            name = "gpu"
            cannot = "no GPU"
            paper = [1.0, nan]
        "#;
        fs::write(folder.path().join("t.toml"), text).unwrap();
        let definition = Definition::read(folder.path(), "t", &Networks::default()).unwrap();
        (folder, definition)
    }

    fn line(run: u32, wall_s: f64) -> Line {
        Line {
            row: "dh".into(),
            column: "n".into(),
            run,
            wall_s,
            sender_wall_s: 0.0,
            cpu_receiver_s: 0.0,
            cpu_sender_s: 0.0,
            peak_receiver: 0,
            peak_sender: 0,
            sent_receiver: 0,
            sent_sender: 0,
            phases: String::new(),
            sender_phases: String::new(),
            cell: key(&Cell::new("dh", 4, 4)),
        }
    }

    #[test]
    fn a_table_shows_paper_ours_and_ratio() {
        let (_folder, definition) = definition();
        let lines = [line(1, 0.1), line(2, 0.3), line(3, 0.25)];
        let text = table(&definition, &lines);
        assert!(text.contains("| dh | 500 → **250** [100–300] (0.500×) | 1000 → – |"), "{text}");
        assert!(text.contains("| gpu | 1.00 → – | – |"), "{text}");
        assert!(text.contains("- gpu: not run here, no GPU."), "{text}");
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
}
