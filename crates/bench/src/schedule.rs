//! Which cells are run, in which order, and how long they may take.
//!
//! A cell that several tables have is run once. Cheap cells come first, and every cell has one run before any has two: what
//! a budget cuts off are further runs, then the longest cells. What is recorded already is not run again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use vesica::protocols::registry::Entry;

use crate::BenchError;
use crate::cell::{Cell, Link, Networks};
use crate::definition::Definition;
use crate::floor::floor;
use crate::harness::Harness;
use crate::record::{Folder, Line, key};

/// What limits a benchmark.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Only the columns that a definition marks quick.
    pub quick: bool,
    /// Runs of each cell whose figures are kept.
    pub runs: u32,
    /// Whether short cells have a run before those, not kept.
    pub warm_up: bool,
    /// Seconds that one run of a cell may be expected to take.
    pub run_budget_s: f64,
    /// Seconds for everything.
    pub budget_s: f64,
    /// Bytes of memory that both parties together may be expected to take.
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

/// Told what happens: what is run next, what was skipped and why, what is left.
pub type OnNews<'a> = &'a mut dyn FnMut(&str);

/// A cell with the first place that asks for it.
#[derive(Debug, Clone)]
struct Task {
    definition: String,
    row: String,
    column: String,
    cell: Cell,
    /// Runs that the record holds.
    had: u32,
    /// Skipped, or failed.
    out: bool,
}

/// Longer runs have no warm-up: what it would warm is nothing to them.
const WARM_UP_BELOW_S: f64 = 2.0;

/// What a run takes beside the protocol: two processes, their items, the check.
const START_S: f64 = 0.15;

/// How far above its floor a protocol is expected before anything of its kind is known.
const FIRST_GUESS: f64 = 4.0;

/// No run takes more than this many times what was expected, and a minute.
const PATIENCE: f64 = 10.0;

/// Distinct cells of all tables.
fn tasks(definitions: &[Definition], quick: bool, known: &[Line]) -> Vec<Task> {
    let mut had: HashMap<&str, u32> = HashMap::new();
    for line in known {
        *had.entry(&line.cell).or_default() += 1;
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
                        had: had.get(key.as_str()).copied().unwrap_or(0),
                        out: false,
                    });
                }
            }
        }
    }
    tasks
}

/// What runs are expected to take: what the network takes, and the floor of computing times how far above it the nearest
/// known cell of the kind was.
struct Forecast<'a> {
    networks: &'a Networks,
    /// Items, and the ratio, by everything but the sizes.
    known: HashMap<String, Vec<(f64, f64)>>,
}

impl<'a> Forecast<'a> {
    fn new(networks: &'a Networks, lines: &[Line]) -> Self {
        let mut forecast = Forecast { networks, known: HashMap::new() };
        for line in lines {
            if let Ok(cell) = serde_json::from_str::<Cell>(&line.cell) {
                forecast.learn(&cell, line.wall_s);
            }
        }
        forecast
    }

    /// Everything but the sizes.
    fn kind(cell: &Cell) -> String {
        key(&Cell { receiver: 0, sender: 0, ..cell.clone() })
    }

    fn learn(&mut self, cell: &Cell, wall_s: f64) {
        let ratio = ((wall_s - self.wire_s(cell)) / compute_s(cell)).clamp(0.2, 40.0);
        let items = (cell.receiver + cell.sender) as f64;
        self.known.entry(Self::kind(cell)).or_default().push((items, ratio));
    }

    /// Seconds of a shaped network, of any protocol.
    fn wire_s(&self, cell: &Cell) -> f64 {
        let Ok(link) = self.networks.find(&cell.network) else { return 0.0 };
        let bytes = cell.formula_bytes().unwrap_or(0) as f64;
        // Set-up and confirmation are a few round trips more.
        link.megabits_per_s.map_or(0.0, |megabits| bytes * 8e-6 / megabits) + 4e-3 * link.round_trip_ms
    }

    /// Seconds of one run, its start included.
    fn run_s(&self, cell: &Cell) -> f64 {
        let items = (cell.receiver + cell.sender).max(1) as f64;
        let known = self.known.get(&Self::kind(cell)).into_iter().flatten();
        let distance = |known: &f64| (known.max(1.0) / items).ln().abs();
        let nearest = known.min_by(|a, b| distance(&a.0).total_cmp(&distance(&b.0)));
        let ratio = nearest.map_or(FIRST_GUESS, |(_, ratio)| *ratio);
        START_S + items * 2e-7 + ratio * compute_s(cell) + self.wire_s(cell)
    }
}

/// The floor of computing, in seconds; of a protocol without one, by its family.
fn compute_s(cell: &Cell) -> f64 {
    if let Ok(Some(floor)) = floor(cell, &Link::UNLIMITED) {
        return 1e-3 + floor.wall_s;
    }
    let items = (cell.receiver + cell.sender) as f64;
    let public_key = |entry: &Entry| entry.family == "public_key";
    let each = if cell.plan().is_ok_and(|(entry, _)| public_key(entry)) { 1e-4 } else { 1e-6 };
    1e-3 + items * each + cell.formula_bytes().unwrap_or(0) as f64 / 5e8
}

impl Harness {
    /// What [`Harness::fill`] would run, by definition; nothing is run.
    pub fn outlook(
        &self,
        definitions: &[Definition],
        limits: &Limits,
        known: &[Line],
    ) -> BTreeMap<String, Outlook> {
        let forecast = Forecast::new(&self.networks, known);
        let mut outlooks = BTreeMap::<String, Outlook>::new();
        for task in tasks(definitions, limits.quick, known) {
            let outlook = outlooks.entry(task.definition).or_default();
            let (run_s, runs) = (forecast.run_s(&task.cell), limits.runs.saturating_sub(task.had));
            if refusal(&task.cell, limits, run_s, 0.0).is_some() {
                outlook.skipped += usize::from(task.had == 0);
            } else if runs > 0 {
                outlook.cells += 1;
                outlook.runs += runs;
                outlook.seconds += f64::from(runs) * run_s;
            }
        }
        outlooks
    }

    /// Runs what the definitions ask for and the record does not hold yet. What fails is told, and the rest goes on; a wrong
    /// result ends it all.
    pub fn fill(
        &self,
        definitions: &[Definition],
        limits: &Limits,
        folder: &Folder,
        news: OnNews<'_>,
    ) -> Result<Summary, BenchError> {
        let known = folder.read_all()?;
        let mut forecast = Forecast::new(&self.networks, &known);
        let mut tasks = tasks(definitions, limits.quick, &known);
        tasks.retain(|task| task.had < limits.runs);
        let expected = |forecast: &Forecast<'_>, task: &Task| forecast.run_s(&task.cell);
        tasks.sort_by(|a, b| expected(&forecast, a).total_cmp(&expected(&forecast, b)));
        news(&told_once(definitions, tasks.len()));
        let (started, mut summary) = (Instant::now(), Summary::default());
        for round in 0..limits.runs {
            for i in 0..tasks.len() {
                let Some(task) = tasks.get(i).filter(|task| !task.out && task.had <= round).cloned() else {
                    continue;
                };
                let (run_s, elapsed) = (forecast.run_s(&task.cell), started.elapsed().as_secs_f64());
                let place = format!("{}: {}, {}", task.definition, task.row, task.column);
                if let Some(why) = refusal(&task.cell, limits, run_s, elapsed) {
                    // One that had a run in an earlier round is not left out of the tables.
                    if task.had == 0 {
                        summary.skipped += 1;
                        news(&format!("{place}: skipped, {why}"));
                    }
                    tasks[i].out = true;
                    continue;
                }
                let patience = Duration::from_secs_f64(60.0 + PATIENCE * run_s);
                if needs_warm_up(&task, limits, run_s) {
                    // What is wrong with it shows in the run that counts.
                    drop(self.run(&task.cell, patience));
                }
                let pair = match self.run(&task.cell, patience) {
                    Ok(pair) => pair,
                    Err(error @ BenchError::Party { .. }) => {
                        summary.failed += 1;
                        tasks[i].out = true;
                        news(&format!("{place}: FAILED: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let wall = pair.receiver.wall_s;
                tasks[i].had += 1;
                summary.runs += 1;
                forecast.learn(&task.cell, wall);
                let line = Line::new(&task.row, &task.column, tasks[i].had, &task.cell, &pair);
                folder.append(&task.definition, &line)?;
                let left = left_s(&tasks, &forecast, limits, started.elapsed().as_secs_f64());
                news(&format!("{place}: {wall:.3} s (run {} of {}); {left} left", tasks[i].had, limits.runs));
            }
        }
        Ok(summary)
    }
}

/// Whether a run that is not kept goes before this one. (Memory is claimed before each run, see [`Harness::run`].)
fn needs_warm_up(task: &Task, limits: &Limits, run_s: f64) -> bool {
    limits.warm_up && task.had == 0 && run_s < WARM_UP_BELOW_S
}

/// What is left to run of a definition, and how long it is expected to take.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outlook {
    /// Cells that will be run.
    pub cells: usize,
    /// Runs of them that the record does not hold.
    pub runs: u32,
    /// Seconds of those runs, without warm-ups.
    pub seconds: f64,
    /// Cells that are beyond memory or the time of one run.
    pub skipped: usize,
}

/// How much there is to do, and what is never run.
fn told_once(definitions: &[Definition], cells: usize) -> String {
    let rows = || definitions.iter().flat_map(|definition| &definition.rows);
    let not = rows().filter(|row| row.cannot.is_some()).count();
    format!(
        "{cells} cells to run, of {} rows in {} tables; {not} rows are not run, and the report says why",
        rows().count(),
        definitions.len()
    )
}

/// Time that is left, as far as one can tell: the runs that will not be refused, or the budget.
fn left_s(tasks: &[Task], forecast: &Forecast<'_>, limits: &Limits, elapsed: f64) -> String {
    let left = |task: &&Task| {
        !task.out && refusal(&task.cell, limits, forecast.run_s(&task.cell), elapsed).is_none()
    };
    let runs = |task: &Task| f64::from(limits.runs.saturating_sub(task.had)) * forecast.run_s(&task.cell);
    let seconds = tasks.iter().filter(left).map(runs).sum::<f64>().min(limits.budget_s - elapsed).max(0.0);
    if seconds < 100.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

/// Why a cell is not run now; a run is expected to take `run_s`.
fn refusal(cell: &Cell, limits: &Limits, run_s: f64, elapsed: f64) -> Option<String> {
    let memory = cell.memory_bytes().unwrap_or(u64::MAX);
    if memory > limits.memory {
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        return Some(format!(
            "it may take {:.1} GB of {:.1} GB",
            gigabytes(memory),
            gigabytes(limits.memory)
        ));
    }
    if run_s > limits.run_budget_s {
        return Some(format!("a run may take {run_s:.0} s of {:.0} s", limits.run_budget_s));
    }
    let left = limits.budget_s - elapsed;
    (run_s > left)
        .then(|| format!("a run may take {run_s:.0} s, and {:.0} s of the budget are left", left.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Pair;
    use crate::party::Measured;

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
        assert!(refusal(&cell, &LIMITS, 11.0, 0.0).unwrap().contains("11 s of 10 s"));
        assert!(refusal(&cell, &LIMITS, 9.0, 95.0).unwrap().contains("5 s of the budget"));
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
        assert_eq!(chosen(false).len(), 4);
    }

    #[test]
    fn an_outlook_counts_what_is_left() {
        let harness = Harness { program: "vesica".into(), networks: Networks::default() };
        let limits = Limits { runs: 3, ..LIMITS };
        let outlook = |limits, known: &[Line]| {
            harness.outlook(&[definition("one")], limits, known).remove("one").unwrap()
        };
        let fresh = outlook(&limits, &[]);
        assert_eq!((fresh.cells, fresh.runs, fresh.skipped), (4, 12, 0));
        assert!(fresh.seconds > 12.0 * START_S);
        let measured = Measured { wall_s: 0.01, ..Measured::default() };
        let pair = Pair { receiver: measured.clone(), sender: measured };
        let line = Line::new("dh", "2^8", 1, &Cell::new("dh", 256, 256), &pair);
        assert_eq!(outlook(&limits, std::slice::from_ref(&line)).runs, 11);
        let hasty = Limits { run_budget_s: 1e-3, ..limits };
        assert_eq!(outlook(&hasty, &[]), Outlook { skipped: 4, ..Outlook::default() });
        assert_eq!(outlook(&hasty, &[line]).skipped, 3, "what has a run stays in the tables");
    }

    #[test]
    fn the_first_of_short_runs_is_warmed_up() {
        let task = |had| {
            let (cell, [definition, row, column]) =
                (Cell::new("dh", 256, 256), [(); 3].map(|()| String::new()));
            Task { definition, row, column, cell, had, out: false }
        };
        let thorough = Limits { warm_up: true, ..LIMITS };
        assert!(!needs_warm_up(&task(0), &LIMITS, 0.1) && needs_warm_up(&task(0), &thorough, 0.1));
        assert!(!needs_warm_up(&task(1), &thorough, 0.1) && !needs_warm_up(&task(0), &thorough, 3.0));
    }

    #[test]
    fn forecasts_learn_from_the_nearest_size() {
        let networks = Networks::default();
        let mut forecast = Forecast::new(&networks, &[]);
        let cell = |n: usize| Cell::new("dh", n, n);
        let before = forecast.run_s(&cell(1 << 16));
        forecast.learn(&cell(1 << 14), 2.0 * compute_s(&cell(1 << 14)));
        let after = forecast.run_s(&cell(1 << 16));
        assert!(after < 0.7 * before, "{after} {before}");
        assert_eq!(forecast.run_s(&Cell { tls: true, ..cell(1 << 16) }), before, "of another kind");
    }
}
