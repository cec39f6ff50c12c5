//! Runs a cell as two processes, and compares their measurements with each other and with the planted result.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use vesica::net::{Identity, PublicKey};
use vesica::protocols::{Learns, Role};

use crate::BenchError;
use crate::cell::{Cell, Link, Networks};
use crate::party::Measured;

/// How long a party may take to notice that the other one is gone.
const GRACE: Duration = Duration::from_secs(1);

/// Every machine has this much memory ready.
const CLAIMED_FROM: u64 = 20_000_000;

/// Both parties' measurements of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The receiver's.
    pub receiver: Measured,
    /// The sender's.
    pub sender: Measured,
}

impl Pair {
    /// Checks that the two reports agree. Each party has checked its own matches, row by row.
    fn check(&self, cell: &Cell) -> Result<(), BenchError> {
        let Pair { receiver, sender } = self;
        let wrong =
            |message: String| Err(BenchError::WrongResult { protocol: cell.protocol.clone(), message });
        let expected = [Some(cell.common()), (cell.learns == Learns::Both).then_some(cell.common())];
        if [receiver.matches, sender.matches] != expected {
            return wrong(format!("{:?} and {:?} items found", receiver.matches, sender.matches));
        }
        if (receiver.sent, sender.sent) != (sender.received, receiver.received) {
            return wrong("what one sent is not what the other received".to_owned());
        }
        Ok(())
    }
}

/// Stops parties that take too long, unless it is dropped before.
struct Watchdog {
    _over: mpsc::Sender<()>,
}

impl Watchdog {
    fn over(parties: [&Running; 2], patience: Duration) -> Self {
        let ids = parties.map(|party| Pid::from_raw(party.0.id().cast_signed()));
        let (over, wait) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            if wait.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                for id in ids.into_iter().flatten() {
                    // It may just have ended.
                    let _ = kill_process(id, Signal::KILL);
                }
            }
        });
        Watchdog { _over: over }
    }
}

/// Starts the parties of a cell.
pub struct Harness {
    /// The program that has the command `bench party`.
    pub program: PathBuf,
    /// The networks that cells name.
    pub networks: Networks,
}

/// A process that is killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Harness {
    /// Runs one cell once; parties that take longer than `patience` are stopped.
    ///
    /// Before the clock starts, another process [claims](vesica::resources::claim_memory) as much memory as both parties will
    /// use. Otherwise a run on a virtual machine would measure how long its host takes to give back memory.
    pub fn run(&self, cell: &Cell, patience: Duration) -> Result<Pair, BenchError> {
        cell.plan()?;
        self.claim_memory(cell)?;
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
        // The receiver listens. Its first line is the address, its second one the measurement.
        let receiver = self.start(cell, link, Role::Receiver, &["--listen", "127.0.0.1:0"], receiver_keys)?;
        let mut receiver = receiver;
        let mut lines = BufReader::new(stdout(&mut receiver, Role::Receiver)?);
        let address = read_line(&mut lines, Role::Receiver)?;
        let mut sender = self.start(cell, link, Role::Sender, &["--connect", address.trim()], sender_keys)?;
        let _watchdog = Watchdog::over([&receiver, &sender], patience);
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
        let pair = Pair { receiver: parse(&received, Role::Receiver)?, sender: parse(&sent, Role::Sender)? };
        pair.check(cell)?;
        Ok(pair)
    }

    fn claim_memory(&self, cell: &Cell) -> Result<(), BenchError> {
        let bytes = cell.memory_bytes()?;
        if bytes >= CLAIMED_FROM {
            let mut command = Command::new(&self.program);
            command.args(["bench", "claim-memory", "--bytes", &bytes.to_string()]).stdin(Stdio::null());
            // If there is not as much, the run itself shows it.
            drop(command.stdout(Stdio::null()).stderr(Stdio::null()).status());
        }
        Ok(())
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

/// The messages of the parties of a failed run. A party that still waits for the other one is stopped.
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
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A program that measures nothing and says this.
    fn liar(folder: &Path, receiver: &Measured, sender: &Measured) -> PathBuf {
        let path = folder.join("liar");
        let json = |measured: &Measured| serde_json::to_string(measured).unwrap();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n*receiver*--listen*) echo 127.0.0.1:1; echo '{}';;\n*) echo '{}';;\nesac\n",
            json(receiver),
            json(sender)
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_benchmark_of_a_wrong_result_fails() {
        let cell = Cell::new("dh", 8, 8);
        let measured = |matches, sent, received| Measured {
            wall_s: 1.0,
            cpu_s: 1.0,
            peak_bytes: 1,
            sent,
            received,
            phases: Vec::new(),
            matches,
            release: true,
        };
        let run = |receiver: &Measured, sender: &Measured| {
            let folder = tempfile::tempdir().unwrap();
            let program = liar(folder.path(), receiver, sender);
            Harness { program, networks: Networks::default() }.run(&cell, PATIENCE)
        };
        let right = measured(Some(2), 10, 20);
        let sender = measured(None, 20, 10);
        assert!(run(&right, &sender).is_ok());
        for (receiver, sender) in [
            (measured(Some(3), 10, 20), sender.clone()),
            (measured(None, 10, 20), sender.clone()),
            (right.clone(), measured(Some(2), 20, 10)),
            (right.clone(), measured(None, 20, 11)),
        ] {
            let error = run(&receiver, &sender).unwrap_err();
            assert!(matches!(error, BenchError::WrongResult { .. }), "{error}");
        }
    }

    #[test]
    fn parties_that_take_too_long_are_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sleeper");
        fs::write(&path, "#!/bin/sh\necho 127.0.0.1:1\nexec sleep 100\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let harness = Harness { program: path, networks: Networks::default() };
        let error = harness.run(&Cell::new("dh", 4, 4), Duration::from_millis(200)).unwrap_err();
        assert!(matches!(error, BenchError::Party { .. }), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        let harness = Harness { program: "/nonexistent".into(), networks: Networks::default() };
        let error = harness.run(&Cell::new("dh", 4, 4), PATIENCE).unwrap_err().to_string();
        assert!(error.starts_with("receiver: "), "{error}");
    }
}
