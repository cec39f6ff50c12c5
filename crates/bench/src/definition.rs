//! A definition: one table or figure as data. Columns by rows, each cell with the paper's own figure.
//!
//! ```toml
//! title = "Communication for equal sizes"
//! source = "PSSZ15 Table 8"
//! setting = "two PCs, Intel Core i7-4770K, Gigabit LAN"
//! measure = "traffic"                     # time, cpu, traffic, memory; or count: parameters, computed and not run
//! unit = "MB"                             # of the paper's figures: s, ms, min, bytes, KB, MB, GB, MiB, count
//! notes = ["..."]
//! plot = { x = "items of each set" }      # drawn, too: a line for each row, with the columns' x
//! cell = { network = "lan" }              # what all cells have, unless a row or a column says otherwise
//! columns = [
//!     { name = "2^8", cell = { receiver = 256, sender = 256 }, quick = true },
//!     { name = "4 threads", cell = { threads = 4 }, cannot = "two cores" },
//! ]
//! [[rows]]
//! name = "OT-Phasing"
//! cell = { protocol = "ot-phasing", sigma = 32 }
//! paper = [0.1, "~0.2"]                   # one for each column; nan where the paper has none, "~" where it estimates
//! only = ["2^8"]                          # the columns that are run, if not all
//! overrides = { level = 112 }             # what its cells have whatever the column says
//! [[rows]]
//! name = "SCS"
//! awaits = "scs-wn"                       # its `protocol`; run once the registry has one of that name
//! [[rows]]
//! name = "GPU"
//! cannot = "no GPU in this machine"       # a row that is not run says why
//! paper = [1.0, nan]
//! ```
//!
//! `rows = "every protocol"` stands for a row for each protocol of the registry.
//!
//! A column or a row with `phases` shows the sum of these phases' time in place of the whole, of the party that the row
//! names (`party = "sender"`; the receiver otherwise). In a table that counts, the cells name programs of parameters
//! ([`Program`]).

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use vesica::protocols::Role;
use vesica::registry::{self, Security};

use crate::BenchError;
use crate::cell::{Cell, Networks};
pub use crate::measure::{Measure, Unit};
pub use crate::program::Program;

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
    /// How it is drawn, if it is.
    pub plot: Option<Plot>,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// How a table is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// What runs along.
    pub x: String,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Where it stands in a plot.
    pub x: Option<f64>,
    /// The phases whose time it shows; none: the whole run's.
    pub phases: Vec<String>,
}

/// A row of a table.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Why it is not run, if it is not.
    pub cannot: Option<String>,
    /// Whose phases it shows.
    pub party: Role,
    /// The phases whose time it shows; none: those of the column.
    pub phases: Vec<String>,
    /// One for each column.
    pub entries: Vec<Entry>,
}

/// One cell of a table.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What is run; none if it cannot be.
    pub cell: Option<Cell>,
    /// What is computed, in a table that counts.
    pub program: Option<Program>,
    /// Why it is not run, where the row is.
    pub cannot: Option<String>,
    /// The paper's figure in the table's unit.
    pub paper: Option<Figure>,
    /// Whether the quick profile runs it.
    pub quick: bool,
}

/// A figure that a paper prints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// In the table's unit.
    pub value: f64,
    /// Whether the paper itself calls it an estimate, or prints it as "about".
    pub estimated: bool,
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
    plot: Option<Plot>,
    #[serde(default)]
    cell: toml::Table,
    columns: Vec<RawColumn>,
    rows: RawRows,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawColumn {
    name: String,
    #[serde(default)]
    cell: toml::Table,
    #[serde(default)]
    quick: bool,
    #[serde(default)]
    x: Option<f64>,
    #[serde(default)]
    phases: Vec<String>,
    /// Why nothing of it is run.
    #[serde(default)]
    cannot: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawRows {
    Each(Vec<RawRow>),
    Every(EveryProtocol),
}

#[derive(Deserialize)]
enum EveryProtocol {
    #[serde(rename = "every protocol")]
    EveryProtocol,
}

impl RawRows {
    fn all(&self) -> Cow<'_, [RawRow]> {
        let row = |entry: &&registry::Entry| {
            let mut cell: toml::Table = [("protocol".to_owned(), entry.name.into())].into_iter().collect();
            if entry.security == [Security::Malicious] {
                cell.insert("security".to_owned(), Security::Malicious.name().into());
            }
            if let Some(sigma) = entry.supports.usual().sigma {
                cell.insert("sigma".to_owned(), i64::from(sigma).into());
            }
            RawRow { name: entry.name.to_owned(), cell, ..RawRow::default() }
        };
        match self {
            RawRows::Each(rows) => Cow::Borrowed(rows),
            RawRows::Every(EveryProtocol::EveryProtocol) => registry::PROTOCOLS.iter().map(row).collect(),
        }
    }
}

#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields)]
struct RawRow {
    name: String,
    #[serde(default)]
    cell: toml::Table,
    #[serde(default)]
    paper: Vec<RawFigure>,
    #[serde(default)]
    cannot: Option<String>,
    /// The protocol that it is about, where the registry may not have it yet.
    #[serde(default)]
    awaits: Option<String>,
    /// The columns that are run, if not all.
    #[serde(default)]
    only: Option<Vec<String>>,
    /// What its cells have whatever the column says.
    #[serde(default)]
    overrides: toml::Table,
    /// Whose phases are shown.
    #[serde(default)]
    party: Party,
    #[serde(default)]
    phases: Vec<String>,
    /// Whether the quick profile leaves it out.
    #[serde(default)]
    slow: bool,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Party {
    #[default]
    Receiver,
    Sender,
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum RawFigure {
    Number(f64),
    Text(String),
}

impl RawFigure {
    fn read(&self) -> Result<Option<Figure>, String> {
        match self {
            RawFigure::Number(value) => {
                Ok(value.is_finite().then_some(Figure { value: *value, estimated: false }))
            }
            RawFigure::Text(text) => {
                let value = text.strip_prefix('~').and_then(|number| number.parse().ok());
                let value = value.ok_or_else(|| format!("{text:?} is neither a number nor \"~\" and one"))?;
                Ok(Some(Figure { value, estimated: true }))
            }
        }
    }
}

impl Definition {
    /// Reads and checks one file below `folder`; every cell must be one that its protocol offers.
    pub fn read(folder: &Path, name: &str, networks: &Networks) -> Result<Self, BenchError> {
        let path = folder.join(format!("{name}.toml"));
        let text = std::fs::read_to_string(&path).map_err(|cause| BenchError::file(&path, cause))?;
        Self::parse(name, &text, networks).map_err(|message| BenchError::form(&path, message))
    }

    pub(crate) fn parse(name: &str, text: &str, networks: &Networks) -> Result<Self, String> {
        let raw: RawDefinition = toml::from_str(text).map_err(|error| error.to_string())?;
        let all = raw.rows.all();
        if !raw.unit.fits(raw.measure) {
            return Err(format!("{:?} is not measured in {}", raw.measure, raw.unit.name()));
        }
        let rows = all.iter().map(|row| read_row(&raw, row, networks)).collect::<Result<_, _>>()?;
        let column = |raw: RawColumn| Column { name: raw.name, x: raw.x, phases: raw.phases };
        Ok(Definition {
            name: name.to_owned(),
            title: raw.title,
            source: raw.source,
            setting: raw.setting,
            measure: raw.measure,
            unit: raw.unit,
            notes: raw.notes,
            plot: raw.plot,
            columns: raw.columns.into_iter().map(column).collect(),
            rows,
        })
    }

    /// Leaves out the cells of other protocols than these.
    pub fn keep_protocols(&mut self, names: &[String]) {
        let entries = self.rows.iter_mut().flat_map(|row| &mut row.entries);
        for entry in entries {
            entry.cell.take_if(|cell| !names.contains(&cell.protocol));
        }
    }

    /// The names of all definitions below `folder`, in order.
    pub fn all(folder: &Path) -> Result<Vec<String>, BenchError> {
        let mut names = Vec::new();
        collect(folder, folder, &mut names)?;
        names.sort();
        Ok(names)
    }
}

/// Why a row waits for a protocol.
fn not_built(name: &str) -> String {
    match registry::left_out().any(|left_out| left_out == name) {
        true => registry::absent(name),
        false => format!("`{name}` is not built yet"),
    }
}

fn read_row(raw: &RawDefinition, row: &RawRow, networks: &Networks) -> Result<Row, String> {
    let at = |message: String| format!("row {:?}: {message}", row.name);
    if !row.paper.is_empty() && row.paper.len() != raw.columns.len() {
        return Err(at(format!("{} figures for {} columns", row.paper.len(), raw.columns.len())));
    }
    let unknown = |name: &&String| raw.columns.iter().all(|column| column.name != **name);
    if let Some(name) = row.only.iter().flatten().find(unknown) {
        return Err(at(format!("no column {name:?}")));
    }
    let mut cannot = row.cannot.clone();
    let mut own = row.cell.clone();
    if let Some(name) = &row.awaits {
        own.insert("protocol".to_owned(), name.clone().into());
        if registry::find(name).is_none() {
            cannot = cannot.or_else(|| Some(not_built(name)));
        }
    }
    let mut entries = Vec::new();
    for (i, column) in raw.columns.iter().enumerate() {
        let left_out = row.only.as_ref().is_some_and(|only| !only.contains(&column.name));
        let mut entry = Entry {
            cell: None,
            program: None,
            cannot: column.cannot.clone(),
            paper: row.paper.get(i).map_or(Ok(None), RawFigure::read).map_err(at)?,
            quick: column.quick && !row.slow,
        };
        if cannot.is_none() && !left_out && entry.cannot.is_none() {
            let merged = merged(raw, &own, column, &row.overrides);
            let at = |message| format!("row {:?}, column {:?}: {message}", row.name, column.name);
            if raw.measure == Measure::Count {
                let program: Result<Program, toml::de::Error> = merged.try_into();
                match program.map(|program| (program.value(), program)) {
                    Ok((Ok(_), program)) => entry.program = Some(program),
                    Ok((Err(error), _)) => entry.cannot = Some(error.to_string()),
                    Err(_) if row.awaits.is_some() => {
                        entry.cannot = Some("no program tells it yet".to_owned())
                    }
                    Err(error) => return Err(at(error.to_string())),
                }
            } else {
                match cell(merged, networks) {
                    Ok(cell) => entry.cell = Some(cell),
                    // What a protocol that came later does not offer is for its author to see in the report.
                    Err(message) if row.awaits.is_some() => entry.cannot = Some(message),
                    Err(message) => return Err(at(message)),
                }
            }
        }
        entries.push(entry);
    }
    let party = match row.party {
        Party::Receiver => Role::Receiver,
        Party::Sender => Role::Sender,
    };
    Ok(Row { name: row.name.clone(), cannot, party, phases: row.phases.clone(), entries })
}

/// What the table, the row, the column and the row's overrides say, the later ones first.
fn merged(
    raw: &RawDefinition,
    row: &toml::Table,
    column: &RawColumn,
    overrides: &toml::Table,
) -> toml::Table {
    let mut merged = raw.cell.clone();
    merged.extend(row.clone());
    merged.extend(column.cell.clone());
    merged.extend(overrides.clone());
    merged
}

fn cell(merged: toml::Table, networks: &Networks) -> Result<Cell, String> {
    let cell: Cell = merged.try_into().map_err(|error: toml::de::Error| error.to_string())?;
    cell.plan().map_err(|error| error.to_string())?;
    networks.find(&cell.network).map_err(|error| error.to_string())?;
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
            { name = "GPU", cell = { receiver = 512, sender = 512 }, cannot = "no GPU" },
        ]
        [[rows]]
        name = "dh"
        paper = [0.5, nan, "~7"]
        [[rows]]
        name = "elsewhere"
        cannot = "another machine"
        [[rows]]
        name = "small"
        only = ["2^8"]
        slow = true
        [[rows]]
        name = "later"
        awaits = "not-in-the-registry"
    "#;

    #[test]
    fn rows_and_columns_make_cells() {
        let definition = Definition::parse("x", TEXT, &Networks::default()).unwrap();
        let row = &definition.rows[0];
        let cells: Vec<_> = row.entries.iter().filter_map(|entry| entry.cell.clone()).collect();
        let chosen: Vec<_> = cells.iter().map(|cell| (cell.receiver, cell.threads)).collect();
        assert_eq!(chosen, [(256, 2), (512, 1)]);
        let text = TEXT.replace("name = \"dh\"", "name = \"dh\"\noverrides = { threads = 3 }");
        let overridden = Definition::parse("x", &text, &Networks::default()).unwrap();
        let threads = |entry: &Entry| entry.cell.as_ref().map(|cell| cell.threads);
        assert_eq!(
            overridden.rows[0].entries.iter().map(threads).collect::<Vec<_>>(),
            [Some(3), Some(3), None]
        );
        let figure = |value, estimated| Some(Figure { value, estimated });
        assert_eq!(
            row.entries.iter().map(|entry| entry.paper).collect::<Vec<_>>(),
            [figure(0.5, false), None, figure(7.0, true)]
        );
        assert_eq!(row.entries.iter().map(|entry| entry.quick).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(row.entries[2].cannot.as_deref(), Some("no GPU"));
        assert!(definition.rows[1].entries.iter().all(|entry| entry.cell.is_none()));
        let small = &definition.rows[2].entries;
        assert!(small[0].cell.is_some() && small[1].cell.is_none() && !small[0].quick);
        assert!(definition.rows[3].cannot.as_ref().unwrap().contains("not built yet"));
    }

    #[test]
    fn a_row_runs_once_what_it_awaits_is_there() {
        let text = TEXT.replace("not-in-the-registry", "kkrt");
        let definition = Definition::parse("x", &text, &Networks::default()).unwrap();
        assert_eq!(definition.rows[3].entries[0].cell.as_ref().unwrap().protocol, "kkrt");
        // What it does not offer stands in the report, and is no error.
        let text = text.replace("awaits = \"kkrt\"", "awaits = \"kkrt\"\ncell = { sigma = 32 }");
        let definition = Definition::parse("x", &text, &Networks::default()).unwrap();
        assert!(definition.rows[3].entries[0].cannot.as_ref().unwrap().contains("kkrt"));
    }

    #[test]
    fn the_cells_of_some_protocols_are_kept() {
        let text = TEXT.replace("not-in-the-registry", "kkrt");
        let mut definition = Definition::parse("x", &text, &Networks::default()).unwrap();
        definition.keep_protocols(&["kkrt".to_owned()]);
        let kept = |row: &Row| row.entries.iter().filter(|entry| entry.cell.is_some()).count();
        assert_eq!(definition.rows.iter().map(kept).collect::<Vec<_>>(), [0, 0, 0, 2]);
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let wrong = |from: &str, to: &str| {
            assert!(TEXT.contains(from));
            Definition::parse("x", &TEXT.replace(from, to), &Networks::default()).unwrap_err()
        };
        assert!(wrong("\"MB\"", "\"s\"").contains("not measured"));
        assert!(wrong("[0.5, nan, \"~7\"]", "[0.5]").contains("1 figures for 3 columns"));
        assert!(wrong("\"~7\"", "\"seven\"").contains("row \"dh\": \"seven\""));
        assert!(wrong("only = [\"2^8\"]", "only = [\"2^7\"]").contains("no column \"2^7\""));
        assert!(wrong("\"dh\", threads", "\"dh2\", threads").contains("row \"dh\", column \"2^8\""));
        assert!(wrong("threads = 2", "network = \"moon\"").contains("moon"));
        assert!(wrong("threads = 2", "thread = 2").contains("thread"));
    }

    #[test]
    fn parameters_are_computed() {
        let text = r#"
            title = "Stash"
            source = "none"
            setting = "none"
            measure = "count"
            unit = "count"
            columns = [{ name = "2^8", cell = { items = 256 } }]
            [[rows]]
            name = "stash"
            cell = { program = "stash-by-regression" }
        "#;
        let definition = Definition::parse("x", text, &Networks::default()).unwrap();
        assert_eq!(definition.rows[0].entries[0].program.as_ref().unwrap().value().unwrap(), 12.0);
        let wrong = text.replace("stash-by-regression", "none");
        assert!(Definition::parse("x", &wrong, &Networks::default()).is_err());
    }

    /// Names that rows of the repository may await: those of the project's list of protocols.
    const AWAITED: [&str; 19] = [
        "circuit-vole",
        "gbf-rr16",
        "gbf-dcw-malicious",
        "naive-hash",
        "dh-ffc",
        "blind-rsa",
        "dt-dl",
        "dt-rsa",
        "dkt",
        "ope",
        "server-aided",
        "bwa",
        "pwc",
        "scs-sort",
        "scs-he",
        "scs-wn",
        "scs-gmw",
        "circuit-phasing-yao",
        "circuit-phasing-gmw",
    ];

    #[test]
    fn every_definition_of_the_repository_is_well_formed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks");
        let networks = Networks::read(&root.join("networks.toml")).unwrap();
        let folder = root.join("definitions");
        let names = Definition::all(&folder).unwrap();
        assert!(!names.is_empty());
        for name in names {
            let definition =
                Definition::read(&folder, &name, &networks).unwrap_or_else(|error| panic!("{error}"));
            if definition.plot.is_some() {
                assert!(definition.columns.iter().all(|column| column.x.is_some()), "{name}: x of a column");
            }
            let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
            for line in text.lines().filter_map(|line| line.strip_prefix("awaits = ")) {
                let awaited = line.trim_matches('"');
                let known = AWAITED.contains(&awaited) || registry::find(awaited).is_some();
                assert!(known, "{name}: {line}: if it is no slip, put the name into AWAITED");
            }
        }
    }
}
