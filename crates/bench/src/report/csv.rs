//! Every figure of every table as a line of CSV, with the spread that the pages leave out. The plots are drawn from it.

use serde::Serialize;

use super::figures::{Record, bound, ours};
use crate::BenchError;
use crate::definition::Definition;
use crate::measure::Measure;
use crate::record::{FIGURES, Folder};

/// One cell of one table.
#[derive(Serialize)]
struct Figure<'a> {
    definition: &'a str,
    title: &'a str,
    source: &'a str,
    /// The x axis of the definition's plot; empty if it has none.
    plot: &'a str,
    measure: String,
    unit: &'a str,
    row: &'a str,
    column: &'a str,
    /// The column's x in a plot.
    x: Option<f64>,
    protocol: &'a str,
    security: &'a str,
    standard: bool,
    paper: Option<f64>,
    /// Whether the paper itself calls its figure an estimate.
    estimated: bool,
    median: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
    runs: Option<usize>,
    /// The registry's formula: exact for traffic, an upper bound for memory.
    bound: Option<f64>,
}

/// Writes the figures of all definitions into the record's folder.
pub(super) fn write(definitions: &[Definition], record: &Record, folder: &Folder) -> Result<(), BenchError> {
    let path = folder.path().join(FIGURES);
    let failed = |error: ::csv::Error| BenchError::form(&path, error);
    let mut file = ::csv::Writer::from_path(&path).map_err(failed)?;
    for definition in definitions {
        for figure in of_table(definition, record) {
            file.serialize(figure).map_err(failed)?;
        }
    }
    file.flush().map_err(|cause| BenchError::file(&path, cause))
}

/// The cells of a table that hold a figure.
fn of_table<'a>(definition: &'a Definition, record: &Record) -> Vec<Figure<'a>> {
    let mut figures = Vec::new();
    for row in &definition.rows {
        for (i, (entry, column)) in row.entries.iter().zip(&definition.columns).enumerate() {
            let ours = ours(definition, row, i, record);
            if ours.is_none() && entry.paper.is_none() {
                continue;
            }
            let plan = entry.cell.as_ref().and_then(|cell| cell.plan().ok());
            figures.push(Figure {
                definition: &definition.name,
                title: &definition.title,
                source: &definition.source,
                plot: definition.plot.as_ref().map_or("", |plot| &plot.x),
                measure: format!("{:?}", definition.measure).to_lowercase(),
                unit: if definition.measure == Measure::Count { "" } else { definition.unit.name() },
                row: &row.name,
                column: &column.name,
                x: column.x,
                protocol: plan.as_ref().map_or("", |(protocol, _)| protocol.name),
                security: plan.as_ref().map_or("", |(_, shape)| shape.parameters.security.name()),
                standard: plan.as_ref().is_some_and(|(protocol, _)| !protocol.needs_allow_insecure()),
                paper: entry.paper.map(|figure| figure.value),
                estimated: entry.paper.is_some_and(|figure| figure.estimated),
                median: ours.map(|spread| spread.median),
                least: ours.map(|spread| spread.least),
                most: ours.map(|spread| spread.most),
                runs: ours.map(|spread| spread.runs),
                bound: ours.and_then(|_| bound(definition, i, entry)),
            });
        }
    }
    figures
}
