//! Runs cells: two processes for each, several times, within bounds of memory and time.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use vesica::net::{Identity, PublicKey};
use vesica::protocols::Role;

use crate::BenchError;
use crate::cell::{Cell, Link, Networks};
use crate::definition::Definition;
use crate::party::Measured;
use crate::record::{Folder, Line, key};

/// How long a party may take to notice that the other one is gone.
const GRACE: Duration = Duration::from_secs(1);

/// Both parties' measurements of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The receiver's.
    pub receiver: Measured,
    /// The sender's.
    pub sender: Measured,
}

/// What limits a benchmark.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Only the columns that a definition marks quick.
    pub quick: bool,
    /// Runs of each cell whose figures are kept.
    pub runs: u32,
    /// Runs before those, not kept.
    pub warm_up: u32,
    /// Seconds that one run of a cell may be expected to take.
    pub cell_budget_s: f64,
    /// Bytes of memory that both parties together may be expected to take.
    pub memory: u64,
}

/// Told what happens: what is run next, what was skipped and why, what is left.
pub type OnNews<'a> = &'a mut dyn FnMut(&str);

/// Starts the parties of a cell.
pub struct Harness {
    /// The program that has the command `bench party`.
    pub program: PathBuf,
    /// The networks that cells name.
    pub networks: Networks,
}

/// A process that does not outlive its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It is gone already, or it goes now.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Harness {
    /// Runs one cell once.
    pub fn run(&self, cell: &Cell) -> Result<Pair, BenchError> {
        cell.plan()?;
        let link = self.networks.find(&cell.network)?;
        let folder = tempfile::tempdir().map_err(|cause| BenchError::file(Path::new("/tmp"), cause))?;
        let keys = if cell.tls {
            Some([identity(folder.path(), "r")?, identity(folder.path(), "s")?])
        } else {
            None
        };
        let keys = keys.as_ref().map(|[(mine, my_key), (theirs, their_key)]| {
            [(mine.as_path(), *their_key), (theirs.as_path(), *my_key)]
        });
        let [receiver_keys, sender_keys] =
            keys.map_or([None, None], |[receiver, sender]| [Some(receiver), Some(sender)]);
        // The receiver listens; its first line tells where, its second one what it measured.
        let receiver = self.start(cell, link, Role::Receiver, &["--listen", "127.0.0.1:0"], receiver_keys)?;
        let mut receiver = receiver;
        let mut lines = BufReader::new(stdout(&mut receiver, Role::Receiver)?);
        let address = read_line(&mut lines, Role::Receiver)?;
        let mut sender = self.start(cell, link, Role::Sender, &["--connect", address.trim()], sender_keys)?;
        let sent = read_line(&mut BufReader::new(stdout(&mut sender, Role::Sender)?), Role::Sender);
        let Ok(sent) = sent else {
            return Err(complaint([(receiver, Role::Receiver), (sender, Role::Sender)]));
        };
        let Ok(received) = read_line(&mut lines, Role::Receiver) else {
            return Err(complaint([(receiver, Role::Receiver), (sender, Role::Sender)]));
        };
        let parse = |text: &str, role: Role| {
            serde_json::from_str::<Measured>(text)
                .map_err(|error| BenchError::Party { role: role.name(), message: error.to_string() })
        };
        Ok(Pair { receiver: parse(&received, Role::Receiver)?, sender: parse(&sent, Role::Sender)? })
    }

    fn start(
        &self,
        cell: &Cell,
        link: Link,
        role: Role,
        address: &[&str],
        keys: Option<(&Path, PublicKey)>,
    ) -> Result<Running, BenchError> {
        let failed = |message: String| BenchError::Party { role: role.name(), message };
        let json =
            |value: Result<String, serde_json::Error>| value.map_err(|error| failed(error.to_string()));
        let mut command = Command::new(&self.program);
        command.args(["bench", "party", "--role", role.name()]).args(address);
        command.args(["--cell", &json(serde_json::to_string(cell))?]);
        command.args(["--link", &json(serde_json::to_string(&link))?]);
        if let Some((identity, peer)) = keys {
            command.arg("--identity").arg(identity).args(["--peer", &peer.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map(Running).map_err(|error| failed(error.to_string()))
    }

    /// Runs what a definition asks for and the record does not hold yet.
    pub fn fill(
        &self,
        definition: &Definition,
        limits: &Limits,
        folder: &Folder,
        news: OnNews<'_>,
    ) -> Result<(), BenchError> {
        let known = folder.read(&definition.name)?;
        let mut done: Vec<(String, f64)> =
            known.iter().map(|line| (line.cell.clone(), line.wall_s)).collect();
        for row in &definition.rows {
            if let Some(why) = &row.cannot {
                news(&format!("{}: {} is not run: {why}", definition.name, row.name));
            }
            // What the row's last column took foretells the next one.
            let mut last: Option<(f64, f64)> = None;
            for (entry, column) in row.entries.iter().zip(&definition.columns) {
                let Some(cell) = entry.cell.as_ref().filter(|_| entry.quick || !limits.quick) else {
                    continue;
                };
                let size = (cell.receiver + cell.sender).max(1) as f64;
                let column = &column.name;
                let place = format!("{}: {}, {column}", definition.name, row.name);
                if let Some(why) = refusal(cell, limits, last.map(|(wall, before)| wall * size / before)) {
                    news(&format!("{place}: skipped, {why}"));
                    continue;
                }
                let cell_key = key(cell);
                let had = done.iter().filter(|(cell, _)| *cell == cell_key).count() as u32;
                let warm_up = if had == 0 { limits.warm_up } else { 0 };
                for run in 0..warm_up + limits.runs.saturating_sub(had) {
                    let started = Instant::now();
                    let pair = self.run(cell)?;
                    let wall = pair.receiver.wall_s;
                    news(&format!(
                        "{place}: {wall:.3} s ({:.1} s with its start)",
                        started.elapsed().as_secs_f64()
                    ));
                    if run >= warm_up {
                        let line = Line::new(&row.name, column, had + run - warm_up + 1, cell, &pair);
                        folder.append(&definition.name, &line)?;
                        done.push((cell_key.clone(), wall));
                    }
                }
                let walls = done.iter().filter(|(cell, _)| *cell == cell_key).map(|&(_, wall)| wall);
                last = walls.reduce(f64::max).map(|wall| (wall, size));
            }
        }
        Ok(())
    }
}

/// Why a cell is not run; `expected` are the seconds that a run may take.
fn refusal(cell: &Cell, limits: &Limits, expected: Option<f64>) -> Option<String> {
    let memory = cell.memory_bytes().unwrap_or(u64::MAX);
    if memory > limits.memory {
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        return Some(format!(
            "it may take {:.1} GB of {:.1} GB",
            gigabytes(memory),
            gigabytes(limits.memory)
        ));
    }
    let expected = expected?;
    (expected > limits.cell_budget_s)
        .then(|| format!("a run may take {expected:.0} s of {:.0} s", limits.cell_budget_s))
}

fn identity(folder: &Path, name: &str) -> Result<(PathBuf, PublicKey), BenchError> {
    let path = folder.join(name);
    let failed = |message: String| BenchError::form(&path, message);
    let identity = Identity::generate().map_err(|error| failed(error.to_string()))?;
    identity.save(&path).map_err(|error| failed(error.to_string()))?;
    Ok((path.clone(), *identity.public_key()))
}

fn stdout(child: &mut Running, role: Role) -> Result<std::process::ChildStdout, BenchError> {
    let message = "no standard output".to_owned();
    child.0.stdout.take().ok_or(BenchError::Party { role: role.name(), message })
}

/// One line of at most a megabyte.
fn read_line(reader: &mut impl BufRead, role: Role) -> Result<String, BenchError> {
    let mut line = String::new();
    let failed = |message: String| BenchError::Party { role: role.name(), message };
    reader.take(1 << 20).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    if line.ends_with('\n') { Ok(line) } else { Err(failed("it ended without a measurement".into())) }
}

/// What the parties of a failed run said. One that is still waiting for the other is stopped.
fn complaint(parties: [(Running, Role); 2]) -> BenchError {
    std::thread::sleep(GRACE);
    let said = parties.map(|(mut party, role)| {
        drop(party.0.kill());
        let mut text = String::new();
        if let Some(stderr) = party.0.stderr.take() {
            drop(stderr.take(1 << 16).read_to_string(&mut text));
        }
        format!("{role}: {}", text.trim())
    });
    BenchError::Party { role: "parties", message: said.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { quick: false, runs: 1, warm_up: 0, cell_budget_s: 10.0, memory: 1 << 30 };

    #[test]
    fn cells_beyond_memory_or_time_are_refused() {
        let cell = Cell::new("dh", 1 << 10, 1 << 10);
        assert_eq!(refusal(&cell, &LIMITS, None), None);
        assert_eq!(refusal(&cell, &LIMITS, Some(9.0)), None);
        assert!(refusal(&cell, &LIMITS, Some(11.0)).unwrap().contains("11 s of 10 s"));
        let large = Cell::new("dh", 1 << 26, 1 << 26);
        assert!(refusal(&large, &LIMITS, None).unwrap().contains("GB of 1.1 GB"));
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        let harness = Harness { program: "/nonexistent".into(), networks: Networks::default() };
        let error = harness.run(&Cell::new("dh", 4, 4)).unwrap_err().to_string();
        assert!(error.starts_with("receiver: "), "{error}");
    }
}
