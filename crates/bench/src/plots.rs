//! The report's pictures: figures of the papers with our series, our own tables, and all protocols in one.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use vesica::protocols::registry::Security;

use crate::BenchError;
use crate::cell::Cell;
use crate::definition::{Definition, Row};
use crate::record::{Folder, Line};
use crate::report::{Record, ours};
use crate::scaling::{self, Growth};
use crate::svg::{Axis, Chart, Form, Series};

/// The name of the picture that holds all protocols.
pub const GLANCE: &str = "vesica/at-a-glance";

/// The names of the pictures of growth: time, memory.
pub const GROWTH: [&str; 2] = ["vesica/growth-time", "vesica/growth-memory"];

/// The table whose rows it shows.
const EVERY_PROTOCOL: &str = "vesica/equal-loopback";

/// The sizes it shows.
const SIZES: [u32; 2] = [16, 20];

/// Draws what the definitions ask for into the record's folder; the files by the names of the definitions. A plot without a
/// point is not there.
pub fn draw(
    definitions: &[Definition],
    record: &Record,
    growth: &[Growth],
    folder: &Folder,
) -> Result<HashMap<String, PathBuf>, BenchError> {
    let plots = folder.path().join("plots");
    fs::create_dir_all(&plots).map_err(|cause| BenchError::file(&plots, cause))?;
    let mut files = HashMap::new();
    let mut keep = |name: &str, chart: Option<Chart>| {
        let Some(svg) = chart.and_then(|chart| chart.svg()) else { return Ok(()) };
        let path = plots.join(format!("{}.svg", name.replace('/', "-")));
        fs::write(&path, svg).map_err(|cause| BenchError::file(&path, cause))?;
        files.insert(name.to_owned(), path);
        Ok(())
    };
    for definition in definitions {
        keep(&definition.name, of_definition(definition, record))?;
        if definition.name == EVERY_PROTOCOL {
            keep(GLANCE, Some(glance(definition, record)))?;
        }
    }
    for (name, chart) in GROWTH.into_iter().zip(scaling::charts(growth)) {
        keep(name, Some(chart))?;
    }
    Ok(files)
}

/// A line for each row: ours, and broken the paper's. None if nothing of it was run.
fn of_definition(definition: &Definition, record: &Record) -> Option<Chart> {
    let plot = definition.plot.as_ref()?;
    let places: Vec<f64> = definition.columns.iter().map(|column| column.x.unwrap_or(f64::NAN)).collect();
    let mut series = Vec::new();
    let mut any = false;
    for (colour, row) in definition.rows.iter().enumerate() {
        let points = |value: &dyn Fn(usize) -> Option<f64>| -> Vec<(f64, f64)> {
            places.iter().enumerate().filter_map(|(i, x)| Some((*x, value(i)?))).collect()
        };
        let measured = points(&|i| ours(definition, row, i, record).map(|spread| spread.median));
        let printed = points(&|i| row.entries.get(i)?.paper.map(|figure| figure.value));
        any |= !measured.is_empty();
        let shown = [(measured, Form::Line, ""), (printed, Form::Dashed, " (paper)")];
        for (points, form, of_whom) in shown.into_iter().filter(|(points, ..)| !points.is_empty()) {
            let name = row.name.replace('`', "");
            series.push(Series { name: format!("{name}{of_whom}"), points, form, colour });
        }
    }
    let marks = definition.columns.iter().zip(&places).map(|(column, x)| (*x, column.name.clone())).collect();
    any.then(|| Chart {
        title: format!("{}: {}", definition.source, definition.title),
        x: Axis { label: plot.x.clone(), marks },
        y: Axis { label: definition.unit.name().to_owned(), marks: Vec::new() },
        series,
    })
}

/// Time against traffic of every protocol, at two sizes.
fn glance(definition: &Definition, record: &Record) -> Chart {
    let mut series = Vec::new();
    for (colour, exponent) in SIZES.into_iter().enumerate() {
        let of_size = |cell: &&Cell| cell.receiver == 1 << exponent && cell.sender == cell.receiver;
        let cell = |row: &Row| {
            let mut cells = row.entries.iter().filter_map(|entry| entry.cell.as_ref());
            cells.find(of_size).cloned()
        };
        for (name, cell) in definition.rows.iter().filter_map(|row| Some((&row.name, cell(row)?))) {
            let traffic = record.median(&cell, |line| (line.sent_receiver + line.sent_sender) as f64 / 1e6);
            let time = record.median(&cell, |line: &Line| line.wall_s);
            let standard = cell.plan().is_ok_and(|(entry, _)| !entry.needs_allow_insecure())
                && cell.security == Security::SemiHonest;
            let form = if standard { Form::Named } else { Form::NamedHollow };
            let points = traffic.zip(time).into_iter().collect();
            series.push(Series { name: name.clone(), points, form, colour });
        }
    }
    let [small, large] = SIZES;
    Chart {
        title: format!(
            "Every protocol: blue 2^{small}, red 2^{large} items a side; hollow: malicious, or insecure"
        ),
        x: Axis { label: "traffic in MB, both directions".to_owned(), marks: Vec::new() },
        y: Axis { label: "time in s over loopback, one thread each".to_owned(), marks: Vec::new() },
        series,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Networks;

    const TEXT: &str = r#"
        title = "Time"
        source = "a paper"
        setting = "none"
        measure = "time"
        unit = "s"
        plot = { x = "items" }
        columns = [
            { name = "2^16", x = 65536, cell = { receiver = 65536, sender = 65536 } },
            { name = "2^20", x = 1048576, cell = { receiver = 1048576, sender = 1048576 } },
        ]
        [[rows]]
        name = "dh"
        cell = { protocol = "dh" }
        paper = [10, 20]
        [[rows]]
        name = "naive"
        cell = { protocol = "naive-hash" }
    "#;

    #[test]
    fn figures_hold_the_papers_series_and_ours() {
        let definition = Definition::parse(EVERY_PROTOCOL, TEXT, &Networks::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::open(folder.path()).unwrap();
        let nothing = draw(std::slice::from_ref(&definition), &Record::default(), &[], &folder).unwrap();
        assert!(nothing.is_empty(), "a picture of the paper alone is not drawn");
        let lines =
            [1usize << 16, 1 << 20].map(|n| Line::of(&Cell::new("dh", n, n), n as f64 * 1e-6, 64 * n as u64));
        let record = Record::from(lines.to_vec());
        let growth = scaling::growth(record.lines()).unwrap();
        let files = draw(std::slice::from_ref(&definition), &record, &growth, &folder).unwrap();
        let text = |name: &str| fs::read_to_string(&files[name]).unwrap();
        let figure = text(EVERY_PROTOCOL);
        assert!(figure.contains(">dh (paper)<") && figure.contains(">dh<") && figure.contains(">2^20<"));
        assert_eq!(text(GLANCE).matches(">dh<").count(), 2);
        // Nothing was said of memory.
        assert!(text(GROWTH[0]).contains(">dh: n^1.00<") && !files.contains_key(GROWTH[1]));
    }
}
