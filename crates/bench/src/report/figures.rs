//! What a cell of a table holds: the median of the record's runs with their spread, and the bound of the formulas.

use std::collections::HashMap;

use vesica::protocols::Role;

use crate::BenchError;
use crate::cell::Cell;
use crate::definition::{Definition, Entry, Row};
use crate::measure::Measure;
use crate::record::{Folder, Line, key, phase_seconds};

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

    /// Every cell that was run, as it stands in the record.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The median of `value` over a cell's runs; none without runs.
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

/// The record that the pages are about, and those of other machines.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// Its figures stand without a name.
    pub main: Record,
    /// The names of the other machines, which stand with each of their figures.
    pub beside: Vec<(String, Record)>,
}

impl From<Record> for Records {
    fn from(main: Record) -> Self {
        Records { main, beside: Vec::new() }
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
    /// How many runs there were; 0 for a computed figure.
    pub runs: usize,
}

impl Spread {
    /// The spread of some values; none without values.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let upper = values[values.len() / 2];
        let median = if values.len() % 2 == 1 { upper } else { (values[values.len() / 2 - 1] + upper) / 2.0 };
        Some(Spread { median, least, most, runs: values.len() })
    }
}

/// The measure of a run, in seconds or bytes.
pub fn value(line: &Line, measure: Measure) -> f64 {
    match measure {
        Measure::Time => line.wall_s,
        Measure::Cpu => line.cpu_receiver_s + line.cpu_sender_s,
        Measure::Traffic => (line.sent_receiver + line.sent_sender) as f64,
        Measure::Memory => (line.peak_receiver + line.peak_sender) as f64,
        Measure::Count => f64::NAN,
    }
}

/// The figure of column `i` of a row, by the record or by a program.
pub fn ours(definition: &Definition, row: &Row, i: usize, record: &Record) -> Option<Spread> {
    let (entry, column) = (row.entries.get(i)?, definition.columns.get(i)?);
    if let Some(program) = &entry.program {
        let value = program.value().ok()?;
        return Some(Spread { median: value, least: value, most: value, runs: 0 });
    }
    // There is no figure if the run has none of the phases asked for: it is older, or its role has no such phase.
    let shown_phases = if row.phases.is_empty() { &column.phases } else { &row.phases };
    let of_line = |line: &Line| {
        let phases = match row.party {
            Role::Receiver => &line.phases,
            Role::Sender => &line.sender_phases,
        };
        let whole = if row.party == Role::Sender && definition.measure == Measure::Time {
            line.sender_wall_s
        } else {
            value(line, definition.measure)
        };
        let seconds = shown_phases.iter().filter_map(|name| phase_seconds(phases, name));
        let shown =
            if shown_phases.is_empty() { Some(whole) } else { seconds.reduce(|sum, more| sum + more) };
        Some(shown? / definition.unit.in_base())
    };
    Spread::of(record.of(entry.cell.as_ref()?).iter().filter_map(of_line))
}

/// A cell's traffic or memory by the formulas, in the table's unit.
pub(super) fn bound(definition: &Definition, i: usize, entry: &Entry) -> Option<f64> {
    let cell = entry.cell.as_ref().filter(|_| definition.columns[i].phases.is_empty())?;
    let bytes = match definition.measure {
        Measure::Memory => cell.memory_bytes().ok()?,
        Measure::Traffic => cell.formula_bytes().ok()?,
        Measure::Time | Measure::Cpu | Measure::Count => return None,
    };
    Some(bytes as f64 / definition.unit.in_base())
}
