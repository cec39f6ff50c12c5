//! Which cells are run, in which order, and which are left out.
//!
//! A cell that several tables have is run once. Small sets come first, and every cell has one run before any has two. When
//! the budget is used up, further runs are left out, and the largest cells. What is recorded already is not run again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::BenchError;
use crate::cell::{Cell, Networks};
use crate::definition::Definition;
use crate::harness::Harness;
use crate::record::{Folder, Line, key, read_cell};

/// What limits a benchmark.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Only the columns that a definition marks quick.
    pub quick: bool,
    /// Runs of each cell whose figures are kept.
    pub runs: u32,
    /// Whether small cells have a run before those, not kept.
    pub warm_up: bool,
    /// Seconds that one run of a cell may take.
    pub run_budget_s: f64,
    /// Seconds for everything.
    pub budget_s: f64,
    /// Bytes of memory that both parties together may take.
    pub memory: u64,
}

/// What became of the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Runs that were recorded.
    pub runs: usize,
    /// Cells that were left out, for memory or time.
    pub skipped: usize,
    /// Runs that ended without a measurement.
    pub failed: usize,
}

/// What is left to run of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Remaining {
    /// Cells that will be run.
    pub cells: usize,
    /// Runs of them that the record does not hold.
    pub runs: u32,
    /// Cells that are beyond memory or the time of one run.
    pub skipped: usize,
}

/// A cell with the first table that asks for it.
#[derive(Debug, Clone)]
struct Task {
    definition: String,
    row: String,
    column: String,
    cell: Cell,
    /// Runs that the record holds.
    runs_done: u32,
    /// Skipped, or failed.
    excluded: bool,
}

/// Larger cells have no warm-up: what it would warm is nothing to them.
const WARM_UP_BELOW: usize = 1 << 18;

/// What a run takes for set-up: it does not grow with the sets.
const SETUP_S: f64 = 0.1;

/// A run is stopped after this many times its budget, and a minute.
const PATIENCE: f64 = 3.0;

/// Distinct cells of all tables, the smallest sets first.
fn tasks(definitions: &[Definition], quick: bool, known: &[Line]) -> Vec<Task> {
    let mut runs_done: HashMap<&str, u32> = HashMap::new();
    for line in known {
        *runs_done.entry(&line.cell).or_default() += 1;
    }
    let mut seen = HashSet::new();
    let mut tasks = Vec::new();
    for definition in definitions {
        for row in &definition.rows {
            for (entry, column) in row.entries.iter().zip(&definition.columns) {
                let Some(cell) = entry.cell.as_ref().filter(|_| entry.quick || !quick) else { continue };
                let key = key(cell);
                if seen.insert(key.clone()) {
                    tasks.push(Task {
                        definition: definition.name.clone(),
                        row: row.name.clone(),
                        column: column.name.clone(),
                        cell: cell.clone(),
                        runs_done: runs_done.get(key.as_str()).copied().unwrap_or(0),
                        excluded: false,
                    });
                }
            }
        }
    }
    tasks.sort_by_key(|task| items(&task.cell));
    tasks
}

fn items(cell: &Cell) -> usize {
    cell.receiver + cell.sender
}

/// The largest run so far of each kind of cell: its items and seconds. A kind is everything but the sizes.
struct Largest<'a> {
    networks: &'a Networks,
    runs: HashMap<String, (usize, f64)>,
}

impl<'a> Largest<'a> {
    fn new(networks: &'a Networks, lines: &[Line]) -> Self {
        let mut largest = Largest { networks, runs: HashMap::new() };
        for line in lines {
            if let Ok(cell) = read_cell(&line.cell) {
                largest.record(&cell, line.wall_s);
            }
        }
        largest
    }

    fn kind(cell: &Cell) -> String {
        key(&Cell { receiver: 0, sender: 0, ..cell.clone() })
    }

    fn record(&mut self, cell: &Cell, wall_s: f64) {
        let run = self.runs.entry(Self::kind(cell)).or_default();
        if items(cell) >= run.0 {
            *run = (items(cell), wall_s);
        }
    }

    /// Seconds that a run can be expected to take: in proportion to the largest one of its kind, and no less than the
    /// network takes to carry its bytes. Without a run of the kind only the network counts.
    fn expected_s(&self, cell: &Cell) -> f64 {
        let rate = self.networks.find(&cell.network).ok().and_then(|link| link.megabits_per_s);
        // Both directions may be busy at once.
        let half = cell.formula_bytes().unwrap_or(0) as f64 / 2.0;
        let wire_s = rate.map_or(0.0, |megabits| half * 8e-6 / megabits);
        let in_proportion = |&(known, seconds): &(usize, f64)| {
            SETUP_S + (seconds - SETUP_S).max(0.0) * items(cell) as f64 / known.max(1) as f64
        };
        self.runs.get(&Self::kind(cell)).map_or(0.0, in_proportion).max(wire_s)
    }
}

impl Harness {
    /// What [`Harness::fill`] would run, by definition; nothing is run.
    pub fn remaining(
        &self,
        definitions: &[Definition],
        limits: &Limits,
        known: &[Line],
    ) -> BTreeMap<String, Remaining> {
        let largest = Largest::new(&self.networks, known);
        let mut remaining = BTreeMap::<String, Remaining>::new();
        for task in tasks(definitions, limits.quick, known) {
            let of_definition = remaining.entry(task.definition).or_default();
            let runs = limits.runs.saturating_sub(task.runs_done);
            if refusal(&task.cell, limits, largest.expected_s(&task.cell), 0.0).is_some() {
                of_definition.skipped += usize::from(task.runs_done == 0);
            } else if runs > 0 {
                of_definition.cells += 1;
                of_definition.runs += runs;
            }
        }
        remaining
    }

    /// Runs what the definitions ask for and the record does not hold yet. A run that fails is reported to `on_message` and
    /// the rest goes on; a wrong result ends the benchmark.
    pub fn fill(
        &self,
        definitions: &[Definition],
        limits: &Limits,
        folder: &Folder,
        on_message: &mut dyn FnMut(&str),
    ) -> Result<Summary, BenchError> {
        let known = folder.read_all()?;
        let mut largest = Largest::new(&self.networks, &known);
        let mut tasks = tasks(definitions, limits.quick, &known);
        tasks.retain(|task| task.runs_done < limits.runs);
        on_message(&summary_of(definitions, tasks.len()));
        let patience = Duration::from_secs_f64((60.0 + PATIENCE * limits.run_budget_s).min(1e9));
        let (started, mut summary) = (Instant::now(), Summary::default());
        for round in 0..limits.runs {
            for task in &mut tasks {
                if task.excluded || task.runs_done > round {
                    continue;
                }
                let place = format!("{}: {}, {}", task.definition, task.row, task.column);
                let expected_s = largest.expected_s(&task.cell);
                if let Some(why) = refusal(&task.cell, limits, expected_s, started.elapsed().as_secs_f64()) {
                    // A cell that had a run in an earlier round is in the tables.
                    if task.runs_done == 0 {
                        summary.skipped += 1;
                        on_message(&format!("{place}: skipped, {why}"));
                    }
                    task.excluded = true;
                    continue;
                }
                if needs_warm_up(task, limits) {
                    // What is wrong with it shows in the run that counts.
                    drop(self.run(&task.cell, patience));
                }
                let pair = match self.run(&task.cell, patience) {
                    Ok(pair) => pair,
                    Err(error @ BenchError::Party { .. }) => {
                        summary.failed += 1;
                        task.excluded = true;
                        on_message(&format!("{place}: FAILED: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let wall_s = pair.receiver.wall_s;
                task.runs_done += 1;
                summary.runs += 1;
                largest.record(&task.cell, wall_s);
                let line = Line::new(&task.row, &task.column, task.runs_done, &task.cell, &pair);
                folder.append(&task.definition, &line)?;
                on_message(&format!("{place}: {wall_s:.3} s (run {} of {})", task.runs_done, limits.runs));
            }
        }
        Ok(summary)
    }
}

/// Whether a run that is not kept goes before this one. (Memory is claimed before each run, see [`Harness::run`].)
fn needs_warm_up(task: &Task, limits: &Limits) -> bool {
    limits.warm_up && task.runs_done == 0 && items(&task.cell) < WARM_UP_BELOW
}

/// How much there is to do, and what is never run.
fn summary_of(definitions: &[Definition], cells: usize) -> String {
    let rows = || definitions.iter().flat_map(|definition| &definition.rows);
    let not_run = rows().filter(|row| row.cannot.is_some()).count();
    format!(
        "{cells} cells to run, of {} rows in {} tables; {not_run} rows are not run, and the report says why",
        rows().count(),
        definitions.len()
    )
}

/// Why a cell is not run now; a run is expected to take `expected_s`.
fn refusal(cell: &Cell, limits: &Limits, expected_s: f64, elapsed_s: f64) -> Option<String> {
    let memory = cell.memory_bytes().unwrap_or(u64::MAX);
    if memory > limits.memory {
        let [needed, available] = [memory, limits.memory].map(|bytes| bytes as f64 / 1e9);
        return Some(format!("it may take {needed:.1} GB of {available:.1} GB"));
    }
    if expected_s > limits.run_budget_s {
        return Some(format!("a run may take {expected_s:.0} s, more than {:.0} s", limits.run_budget_s));
    }
    let left = limits.budget_s - elapsed_s;
    (expected_s >= left).then(|| format!("only {:.0} s of the budget are left", left.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        quick: false,
        runs: 1,
        warm_up: false,
        run_budget_s: 10.0,
        budget_s: 100.0,
        memory: 1 << 30,
    };

    #[test]
    fn cells_beyond_memory_or_time_are_refused() {
        let cell = Cell::new("dh", 1 << 10, 1 << 10);
        assert_eq!(refusal(&cell, &LIMITS, 9.0, 0.0), None);
        assert!(refusal(&cell, &LIMITS, 11.0, 0.0).unwrap().contains("11 s, more than 10 s"));
        assert!(refusal(&cell, &LIMITS, 9.0, 95.0).unwrap().contains("only 5 s of the budget"));
        let large = Cell::new("dh", 1 << 26, 1 << 26);
        assert!(refusal(&large, &LIMITS, 1.0, 0.0).unwrap().contains("GB of 1.1 GB"));
    }

    fn definition(name: &str) -> Definition {
        let text = r#"
            title = "Time"
            source = "none"
            setting = "none"
            measure = "time"
            unit = "s"
            columns = [
                { name = "2^8", cell = { receiver = 256, sender = 256 }, quick = true },
                { name = "2^10", cell = { receiver = 1024, sender = 1024 } },
            ]
            [[rows]]
            name = "dh"
            cell = { protocol = "dh" }
            [[rows]]
            name = "again"
            cell = { protocol = "dh", threads = 1 }
            [[rows]]
            name = "kkrt"
            cell = { protocol = "kkrt" }
        "#;
        Definition::parse(name, text, &Networks::default()).unwrap()
    }

    #[test]
    fn a_cell_of_several_tables_is_run_once() {
        let definitions = [definition("one"), definition("two")];
        let chosen = |quick| {
            let tasks = tasks(&definitions, quick, &[]);
            tasks.into_iter().map(|task| (task.definition, task.row, task.column)).collect::<Vec<_>>()
        };
        let named = |row: &str, column: &str| ("one".to_owned(), row.to_owned(), column.to_owned());
        assert_eq!(chosen(true), [named("dh", "2^8"), named("kkrt", "2^8")]);
        let (small, large) = ([named("dh", "2^8"), named("kkrt", "2^8")], ["dh", "kkrt"]);
        assert_eq!(chosen(false), [&small[..], &large.map(|row| named(row, "2^10"))].concat());
    }

    #[test]
    fn what_remains_is_counted() {
        let harness = Harness { program: "vesica".into(), networks: Networks::default() };
        let limits = Limits { runs: 3, ..LIMITS };
        let remaining = |limits, known: &[Line]| {
            harness.remaining(&[definition("one")], limits, known).remove("one").unwrap()
        };
        assert_eq!(remaining(&limits, &[]), Remaining { cells: 4, runs: 12, skipped: 0 });
        let line = Line::of(&Cell::new("dh", 256, 256), 0.01, 0);
        assert_eq!(remaining(&limits, std::slice::from_ref(&line)).runs, 11);
        let small = Limits { memory: 1, ..limits };
        assert_eq!(remaining(&small, &[]), Remaining { cells: 0, runs: 0, skipped: 4 });
        assert_eq!(remaining(&small, &[line]).skipped, 3, "what has a run stays in the tables");
    }

    #[test]
    fn the_first_of_small_runs_is_warmed_up() {
        let task = |runs_done, n| {
            let (cell, [definition, row, column]) = (Cell::new("dh", n, n), [(); 3].map(|()| String::new()));
            Task { definition, row, column, cell, runs_done, excluded: false }
        };
        let thorough = Limits { warm_up: true, ..LIMITS };
        assert!(!needs_warm_up(&task(0, 256), &LIMITS) && needs_warm_up(&task(0, 256), &thorough));
        assert!(!needs_warm_up(&task(1, 256), &thorough) && !needs_warm_up(&task(0, 1 << 20), &thorough));
    }

    #[test]
    fn a_larger_run_is_expected_to_take_longer_in_proportion() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/networks.toml");
        let networks = Networks::read(&root).unwrap();
        let mut largest = Largest::new(&networks, &[]);
        let cell = |n: usize| Cell::new("dh", n, n);
        assert_eq!(largest.expected_s(&cell(1 << 16)), 0.0, "nothing of its kind is known");
        largest.record(&cell(1 << 14), SETUP_S + 2.0);
        largest.record(&cell(1 << 12), 100.0);
        assert_eq!(largest.expected_s(&cell(1 << 16)), SETUP_S + 8.0);
        assert_eq!(largest.expected_s(&Cell { tls: true, ..cell(1 << 16) }), 0.0, "another kind");
        let slow = Cell { network: "hsdpa".into(), ..cell(1 << 16) };
        let wire_s = slow.formula_bytes().unwrap() as f64 * 4.0 / 3.6e6;
        assert!((largest.expected_s(&slow) - wire_s).abs() < 1e-9);
    }
}
