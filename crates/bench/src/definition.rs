//! A definition: one table or figure as data. Columns by rows, each cell with the paper's own figure.
//!
//! ```toml
//! title = "Communication for equal sizes"
//! source = "PSSZ15 Table 8"
//! setting = "two PCs, Intel Core i7-4770K, Gigabit LAN"
//! measure = "traffic"                     # time, cpu, traffic or memory
//! unit = "MB"                             # of the paper's figures: s, ms, min, bytes, KB, MB, GB, MiB
//! notes = ["..."]
//! cell = { network = "lan" }              # what all cells have, unless a row or a column says otherwise
//! columns = [
//!     { name = "2^8", cell = { receiver = 256, sender = 256 }, quick = true },
//! ]
//! [[rows]]
//! name = "OT-Phasing"
//! cell = { protocol = "ot-phasing", sigma = 32 }
//! paper = [0.1]                           # one for each column; nan where the paper has none
//! [[rows]]
//! name = "GPU"
//! cannot = "no GPU in this machine"       # a row that is not run says why
//! paper = [1.0]
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::BenchError;
use crate::cell::{Cell, Networks};

/// What of a run a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// The receiver's wall time.
    Time,
    /// CPU time of both processes together.
    Cpu,
    /// Payload bytes in both directions.
    Traffic,
    /// Peak memory of both processes together.
    Memory,
}

/// A unit that a paper uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Minutes.
    #[serde(rename = "min")]
    Minutes,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// 10^3 bytes.
    #[serde(rename = "KB")]
    Kilobytes,
    /// 10^6 bytes.
    #[serde(rename = "MB")]
    Megabytes,
    /// 2^20 bytes.
    #[serde(rename = "MiB")]
    Mebibytes,
    /// 10^9 bytes.
    #[serde(rename = "GB")]
    Gigabytes,
}

impl Unit {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::Minutes => "min",
            Unit::Bytes => "bytes",
            Unit::Kilobytes => "KB",
            Unit::Megabytes => "MB",
            Unit::Mebibytes => "MiB",
            Unit::Gigabytes => "GB",
        }
    }

    /// Seconds or bytes in one of it.
    pub fn in_base(self) -> f64 {
        match self {
            Unit::Milliseconds => 1e-3,
            Unit::Seconds | Unit::Bytes => 1.0,
            Unit::Minutes => 60.0,
            Unit::Kilobytes => 1e3,
            Unit::Megabytes => 1e6,
            Unit::Mebibytes => (1u64 << 20) as f64,
            Unit::Gigabytes => 1e9,
        }
    }

    fn fits(self, measure: Measure) -> bool {
        let of_time = matches!(self, Unit::Milliseconds | Unit::Seconds | Unit::Minutes);
        of_time == matches!(measure, Measure::Time | Measure::Cpu)
    }
}

/// A table or figure.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Its path below the folder of definitions, without `.toml`: `pssz15/table-08`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Paper and table.
    pub source: String,
    /// The paper's hardware and network.
    pub setting: String,
    /// What is compared.
    pub measure: Measure,
    /// The unit of the paper's figures.
    pub unit: Unit,
    /// What a reader has to know.
    pub notes: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Why it is not run, if it is not.
    pub cannot: Option<String>,
    /// One for each column.
    pub entries: Vec<Entry>,
}

/// One cell of a table.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What is run; none if the row cannot be.
    pub cell: Option<Cell>,
    /// The paper's figure in the table's unit.
    pub paper: Option<f64>,
    /// Whether the quick profile runs it.
    pub quick: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDefinition {
    title: String,
    source: String,
    setting: String,
    measure: Measure,
    unit: Unit,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    cell: toml::Table,
    columns: Vec<RawColumn>,
    rows: Vec<RawRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawColumn {
    name: String,
    #[serde(default)]
    cell: toml::Table,
    #[serde(default)]
    quick: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    name: String,
    #[serde(default)]
    cell: toml::Table,
    #[serde(default)]
    paper: Vec<f64>,
    #[serde(default)]
    cannot: Option<String>,
    /// Columns from this one on are not run, and why.
    #[serde(default)]
    until: Option<String>,
}

impl Definition {
    /// Reads and checks one file below `folder`; every cell must be one that its protocol offers.
    pub fn read(folder: &Path, name: &str, networks: &Networks) -> Result<Self, BenchError> {
        let path = folder.join(format!("{name}.toml"));
        let text = std::fs::read_to_string(&path).map_err(|cause| BenchError::file(&path, cause))?;
        Self::parse(name, &text, networks).map_err(|message| BenchError::form(&path, message))
    }

    fn parse(name: &str, text: &str, networks: &Networks) -> Result<Self, String> {
        let raw: RawDefinition = toml::from_str(text).map_err(|error| error.to_string())?;
        if !raw.unit.fits(raw.measure) {
            return Err(format!("{:?} is not measured in {}", raw.measure, raw.unit.name()));
        }
        let rows = raw.rows.iter().map(|row| read_row(&raw, row, networks)).collect::<Result<_, _>>()?;
        Ok(Definition {
            name: name.to_owned(),
            title: raw.title,
            source: raw.source,
            setting: raw.setting,
            measure: raw.measure,
            unit: raw.unit,
            notes: raw.notes,
            columns: raw.columns.into_iter().map(|column| column.name).collect(),
            rows,
        })
    }

    /// The names of all definitions below `folder`, in order.
    pub fn all(folder: &Path) -> Result<Vec<String>, BenchError> {
        let mut names = Vec::new();
        collect(folder, folder, &mut names)?;
        names.sort();
        Ok(names)
    }
}

fn read_row(raw: &RawDefinition, row: &RawRow, networks: &Networks) -> Result<Row, String> {
    if !row.paper.is_empty() && row.paper.len() != raw.columns.len() {
        return Err(format!(
            "row {:?}: {} figures for {} columns",
            row.name,
            row.paper.len(),
            raw.columns.len()
        ));
    }
    let mut beyond = false;
    let mut entries = Vec::new();
    for (i, column) in raw.columns.iter().enumerate() {
        beyond |= row.until.as_ref() == Some(&column.name);
        let cell =
            if row.cannot.is_some() || beyond { None } else { Some(cell(raw, row, column, networks)?) };
        let paper = row.paper.get(i).copied().filter(|figure| figure.is_finite());
        entries.push(Entry { cell, paper, quick: column.quick });
    }
    Ok(Row { name: row.name.clone(), cannot: row.cannot.clone(), entries })
}

fn cell(raw: &RawDefinition, row: &RawRow, column: &RawColumn, networks: &Networks) -> Result<Cell, String> {
    let mut merged = raw.cell.clone();
    merged.extend(row.cell.clone());
    merged.extend(column.cell.clone());
    let at = |message: String| format!("row {:?}, column {:?}: {message}", row.name, column.name);
    let cell: Cell = merged.try_into().map_err(|error: toml::de::Error| at(error.to_string()))?;
    cell.plan().map_err(|error| at(error.to_string()))?;
    networks.find(&cell.network).map_err(|error| at(error.to_string()))?;
    Ok(cell)
}

fn collect(root: &Path, folder: &Path, names: &mut Vec<String>) -> Result<(), BenchError> {
    let entries = std::fs::read_dir(folder).map_err(|cause| BenchError::file(folder, cause))?;
    for entry in entries {
        let path: PathBuf = entry.map_err(|cause| BenchError::file(folder, cause))?.path();
        if path.is_dir() {
            collect(root, &path, names)?;
        } else if path.extension().is_some_and(|extension| extension == "toml")
            && let Ok(below) = path.with_extension("").strip_prefix(root)
        {
            names.push(below.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        title = "Traffic"
        source = "none"
        setting = "none"
        measure = "traffic"
        unit = "MB"
        cell = { protocol = "dh", threads = 2 }
        columns = [
            { name = "2^8", cell = { receiver = 256, sender = 256 }, quick = true },
            { name = "2^9", cell = { receiver = 512, sender = 512, threads = 1 } },
        ]
        [[rows]]
        name = "dh"
        paper = [0.5, nan]
        [[rows]]
        name = "elsewhere"
        cannot = "another machine"
        [[rows]]
        name = "small"
        until = "2^9"
    "#;

    #[test]
    fn rows_and_columns_make_cells() {
        let definition = Definition::parse("x", TEXT, &Networks::default()).unwrap();
        let row = &definition.rows[0];
        let cells: Vec<_> = row.entries.iter().map(|entry| entry.cell.clone().unwrap()).collect();
        assert_eq!((cells[0].receiver, cells[0].threads), (256, 2));
        assert_eq!((cells[1].receiver, cells[1].threads), (512, 1));
        assert_eq!(row.entries.iter().map(|entry| entry.paper).collect::<Vec<_>>(), [Some(0.5), None]);
        assert_eq!(row.entries.iter().map(|entry| entry.quick).collect::<Vec<_>>(), [true, false]);
        assert!(definition.rows[1].entries.iter().all(|entry| entry.cell.is_none()));
        assert!(definition.rows[2].entries[0].cell.is_some() && definition.rows[2].entries[1].cell.is_none());
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let wrong = |from: &str, to: &str| {
            assert!(TEXT.contains(from));
            Definition::parse("x", &TEXT.replace(from, to), &Networks::default()).unwrap_err()
        };
        assert!(wrong("\"MB\"", "\"s\"").contains("not measured"));
        assert!(wrong("[0.5, nan]", "[0.5]").contains("1 figures for 2 columns"));
        assert!(wrong("\"dh\", threads", "\"dh2\", threads").contains("row \"dh\", column \"2^8\""));
        assert!(wrong("threads = 2", "network = \"moon\"").contains("moon"));
        assert!(wrong("threads = 2", "thread = 2").contains("thread"));
    }

    #[test]
    fn every_definition_of_the_repository_is_well_formed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks");
        let networks = Networks::read(&root.join("networks.toml")).unwrap();
        let folder = root.join("definitions");
        let names = Definition::all(&folder).unwrap();
        assert!(!names.is_empty());
        for name in names {
            Definition::read(&folder, &name, &networks).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
