//! Records: a line of CSV for each run, and a description of the machine.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::cell::Cell;
use crate::harness::Pair;
use crate::party::Measured;

/// One run of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The row of the table.
    pub row: String,
    /// The column of the table.
    pub column: String,
    /// Which run, from 1.
    pub run: u32,
    /// The receiver's wall time in seconds.
    pub wall_s: f64,
    /// The sender's wall time in seconds.
    pub sender_wall_s: f64,
    /// CPU seconds of the receiver.
    pub cpu_receiver_s: f64,
    /// CPU seconds of the sender.
    pub cpu_sender_s: f64,
    /// Peak resident bytes of the receiver.
    pub peak_receiver: u64,
    /// Peak resident bytes of the sender.
    pub peak_sender: u64,
    /// Payload bytes that the receiver sent.
    pub sent_receiver: u64,
    /// Payload bytes that the sender sent, and the helper, if there is one.
    pub sent_sender: u64,
    /// The receiver's phases, `name=seconds` with spaces between.
    pub phases: String,
    /// The sender's phases.
    #[serde(default)]
    pub sender_phases: String,
    /// The cell, as JSON.
    pub cell: String,
}

impl Line {
    /// The line of a run that succeeded.
    pub fn new(row: &str, column: &str, run: u32, cell: &Cell, pair: &Pair) -> Self {
        let Pair { receiver, sender, helper } = pair;
        // Microseconds are enough. Phases without time are left out.
        let round = |seconds: f64| (seconds * 1e6).round() / 1e6;
        let phase = |(name, seconds): &(String, f64)| format!("{name}={seconds:.4}");
        let some = |(_, seconds): &&(String, f64)| *seconds >= 5e-5;
        let phases = |measured: &Measured| {
            measured.phases.iter().filter(some).map(phase).collect::<Vec<_>>().join(" ")
        };
        Line {
            row: row.to_owned(),
            column: column.to_owned(),
            run,
            wall_s: round(receiver.wall_s),
            sender_wall_s: round(sender.wall_s),
            cpu_receiver_s: round(receiver.cpu_s),
            cpu_sender_s: round(sender.cpu_s),
            peak_receiver: receiver.peak_bytes,
            peak_sender: sender.peak_bytes,
            sent_receiver: receiver.sent,
            sent_sender: sender.sent + helper.as_ref().map_or(0, |helper| helper.sent),
            phases: phases(receiver),
            sender_phases: phases(sender),
            cell: key(cell),
        }
    }
}

#[cfg(test)]
impl Line {
    /// A run of that cell in which the receiver took `wall_s` and sent `bytes`, and nothing else happened.
    pub(crate) fn of(cell: &Cell, wall_s: f64, bytes: u64) -> Self {
        Line {
            row: "a, b".into(),
            column: "2^8".into(),
            run: 1,
            wall_s,
            sender_wall_s: 0.0,
            cpu_receiver_s: 0.0,
            cpu_sender_s: 0.0,
            peak_receiver: 0,
            peak_sender: 0,
            sent_receiver: bytes,
            sent_sender: 0,
            phases: "blind=0.01 compare=0.02".into(),
            sender_phases: "answer=0.1".into(),
            cell: key(cell),
        }
    }
}

/// The seconds of a phase in a line's list of phases, if it is there; a phase that ran twice counts twice.
pub fn phase_seconds(phases: &str, name: &str) -> Option<f64> {
    let pairs = phases.split(' ').filter_map(|phase| phase.split_once('='));
    let seconds = pairs.filter(|(phase, _)| *phase == name).filter_map(|(_, seconds)| seconds.parse().ok());
    seconds.reduce(|sum, more| sum + more)
}

/// A cell as a record writes it.
pub fn key(cell: &Cell) -> String {
    // A structure of plain fields always has a JSON form.
    serde_json::to_string(cell).unwrap_or_default()
}

/// A cell from a record.
pub fn read_cell(text: &str) -> Result<Cell, BenchError> {
    serde_json::from_str(text).map_err(|error| BenchError::Cell(format!("a cell of the record: {error}")))
}

/// The file of the building blocks in a record's folder.
pub const BLOCKS: &str = "blocks.csv";

/// The file of every figure of the report.
pub const FIGURES: &str = "figures.csv";

/// The file of the cells that `vesica plan` takes its times from.
pub const CELLS: &str = "cells.csv";

/// Characters of `2026-11-21-`.
const DATE: usize = 11;

/// The folder of one machine's records of one day.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens or makes the folder, and describes the machine in it.
    pub fn open(path: &Path) -> Result<Self, BenchError> {
        fs::create_dir_all(path).map_err(|cause| BenchError::file(path, cause))?;
        let machine = path.join("machine.txt");
        if !machine.exists() {
            fs::write(&machine, describe_machine()).map_err(|cause| BenchError::file(&machine, cause))?;
        }
        Ok(Folder { path: path.to_owned() })
    }

    /// The description of the machine.
    pub fn machine(&self) -> String {
        fs::read_to_string(self.path.join("machine.txt")).unwrap_or_default()
    }

    /// The file of a definition's lines.
    fn file(&self, definition: &str) -> PathBuf {
        self.path.join(format!("{}.csv", definition.replace('/', "-")))
    }

    /// All lines of a definition; none if it was never run.
    pub fn read(&self, definition: &str) -> Result<Vec<Line>, BenchError> {
        let path = self.file(definition);
        if !path.exists() {
            return Ok(Vec::new());
        }
        read_lines(&path)
    }

    /// All lines of all definitions: a cell that several of them have is run once.
    pub fn read_all(&self) -> Result<Vec<Line>, BenchError> {
        let failed = |cause| BenchError::file(&self.path, cause);
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
        let others = [BLOCKS, FIGURES, CELLS].map(|name| self.path.join(name));
        paths.retain(|path| {
            path.extension().is_some_and(|extension| extension == "csv") && !others.contains(path)
        });
        paths.sort();
        let mut lines = Vec::new();
        for path in paths {
            lines.extend(read_lines(&path)?);
        }
        Ok(lines)
    }

    /// The folder's own name: `<date>-<machine>`.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// The name without the date.
    pub fn machine_name(&self) -> String {
        let name = self.name();
        let dated = name.get(..DATE).is_some_and(|date| date.bytes().all(|byte| !byte.is_ascii_alphabetic()));
        if dated { name[DATE..].to_owned() } else { name }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a command to the list of those that made the record.
    pub fn note_command(&self, command: &str) -> Result<(), BenchError> {
        let path = self.path.join("commands.txt");
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.map_err(|cause| BenchError::file(&path, cause))?;
        writeln!(file, "{command}").map_err(|cause| BenchError::file(&path, cause))
    }

    /// The commands that made the record.
    pub fn commands(&self) -> String {
        fs::read_to_string(self.path.join("commands.txt")).unwrap_or_default()
    }

    /// Adds a line. Each run is stored as soon as it is over, so that an interrupted benchmark can continue.
    pub fn append(&self, definition: &str, line: &Line) -> Result<(), BenchError> {
        let path = self.file(definition);
        let new = !path.exists();
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|cause| BenchError::file(&path, cause))?;
        let mut writer = csv::WriterBuilder::new().has_headers(new).from_writer(file);
        writer.serialize(line).map_err(|error| BenchError::form(&path, error))?;
        writer.flush().map_err(|cause| BenchError::file(&path, cause))
    }
}

fn read_lines(path: &Path) -> Result<Vec<Line>, BenchError> {
    let mut reader = csv::Reader::from_path(path).map_err(|error| BenchError::form(path, error))?;
    reader.deserialize().collect::<Result<_, _>>().map_err(|error| BenchError::form(path, error))
}

/// Today, as 2026-11-21.
pub fn today() -> String {
    DateTime::<Utc>::from(SystemTime::now()).format("%Y-%m-%d").to_string()
}

/// The folder name of a new record: `<date>-<machine>`.
pub fn default_name() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    let model = model.map_or("unknown", |(_, name)| name.trim()).to_lowercase();
    let words = model.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug: Vec<_> = words.filter(|word| !["r", "tm", "cpu", "processor"].contains(word)).take(4).collect();
    format!("{}-{}", today(), slug.join("-"))
}

/// Processor, cores, memory, system and version, a line each.
fn describe_machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let field = |name: &str| {
        let line = cpu.lines().find(|line| line.split(':').next().is_some_and(|field| field.trim() == name));
        line.and_then(|line| line.split_once(':')).map_or("unknown", |(_, value)| value.trim()).to_owned()
    };
    let flags: BTreeSet<_> = field("flags").split(' ').map(str::to_owned).collect();
    let wanted = ["aes", "avx2", "avx512f", "avx512ifma", "gfni", "vaes", "vpclmulqdq"];
    let has = wanted.into_iter().filter(|flag| flags.contains(*flag)).collect::<Vec<_>>().join(" ");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = read("/proc/meminfo");
    let memory = memory.lines().next().and_then(|line| line.split_whitespace().nth(1)).unwrap_or("unknown");
    format!(
        "processor: {} (family {}, model {})\ninstructions: {has}\ncores: {cores}\nmemory: {memory} KiB\nsystem: {}\nvesica: {}\n",
        field("model name"),
        field("cpu family"),
        field("model"),
        read("/proc/sys/kernel/osrelease").trim(),
        env!("CARGO_PKG_VERSION"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_are_added() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::open(&temporary.path().join("record")).unwrap();
        assert_eq!(folder.read("paper/table").unwrap(), []);
        let line = |run| Line { run, ..Line::of(&Cell::new("dh", 256, 256), 0.125, 3) };
        folder.append("paper/table", &line(1)).unwrap();
        folder.append("paper/table", &line(2)).unwrap();
        assert_eq!(folder.read("paper/table").unwrap(), [line(1), line(2)]);
        folder.append("other/table", &line(3)).unwrap();
        assert_eq!(folder.read_all().unwrap(), [line(3), line(1), line(2)]);
        folder.note_command("a").unwrap();
        folder.note_command("b").unwrap();
        assert_eq!(folder.commands(), "a\nb\n");
        assert!(folder.machine().contains("cores: "));
        assert_eq!(folder.machine_name(), "record");
        let dated = Folder::open(&temporary.path().join("2026-11-21-xeon-8")).unwrap();
        assert_eq!(dated.machine_name(), "xeon-8");
    }

    #[test]
    fn phases_are_read_back() {
        assert_eq!(phase_seconds("blind=0.5 exchange=1 blind=0.25", "blind"), Some(0.75));
        assert_eq!(phase_seconds("", "blind"), None);
    }

    #[test]
    fn a_record_is_named_by_its_day() {
        let day = today();
        assert!(day.len() == 10 && day.starts_with("20") && default_name().starts_with(&day));
    }
}
