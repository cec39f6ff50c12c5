//! Runs a cell as two processes, or three with a helper, and compares their measurements with each other and with the planted result.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use vesica::net::{Identity, PublicKey};
use vesica::protocols::{Participant, Role};

use crate::BenchError;
use crate::cell::{Cell, Link, Networks};
use crate::party::Measured;

/// How long a party may take to notice that the other one is gone.
const GRACE: Duration = Duration::from_secs(1);

/// Every machine has this much memory ready.
const CLAIMED_FROM: u64 = 20_000_000;

/// Bytes a second, and the start of a process: a claim that takes longer waited for the host.
const READY_BYTES_PER_S: f64 = 2e9;
const START_S: f64 = 0.1;

/// Claims at most. A host takes freed memory back every few seconds, also while a claim goes on.
const CLAIMS: usize = 4;

/// Both parties' measurements of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The receiver's.
    pub receiver: Measured,
    /// The sender's.
    pub sender: Measured,
    /// The helper's, in a protocol that has one.
    pub helper: Option<Measured>,
}

impl Pair {
    /// Checks that the two reports agree. Each party has checked its own matches, row by row.
    fn check(&self, cell: &Cell) -> Result<(), BenchError> {
        let Pair { receiver, sender, helper } = self;
        let wrong =
            |message: String| Err(BenchError::WrongResult { protocol: cell.protocol.clone(), message });
        let expected = [Some(cell.common()), cell.learns_result(Role::Sender).then_some(cell.common())];
        if [receiver.matches, sender.matches] != expected {
            return wrong(format!("{:?} and {:?} items found", receiver.matches, sender.matches));
        }
        if helper.as_ref().is_some_and(|helper| helper.matches != Some(cell.common())) {
            return wrong("the helper counted another number of items".to_owned());
        }
        let all = || [receiver, sender].into_iter().chain(helper);
        let two = helper.is_some() || receiver.sent == sender.received;
        if !two || all().map(|one| one.sent).sum::<u64>() != all().map(|one| one.received).sum::<u64>() {
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
    fn over<'a>(parties: impl Iterator<Item = &'a Running>, patience: Duration) -> Self {
        let parties: Vec<_> = parties.map(|party| Arc::clone(&party.0)).collect();
        let (over, wait) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            if wait.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                for party in parties {
                    // It may just have ended.
                    drop(locked(&party).kill());
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
struct Running(Arc<Mutex<Child>>);

impl Drop for Running {
    fn drop(&mut self) {
        let mut child = locked(&self.0);
        // It may have ended already.
        drop(child.kill());
        drop(child.wait());
    }
}

fn locked(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Harness {
    /// Runs one cell once; parties that take longer than `patience` are stopped.
    ///
    /// Before the clock starts, another process [claims](vesica::resources::claim_memory) as much memory as both parties will
    /// use, until it is there at once. Otherwise a run on a virtual machine would measure how long its host takes to give back
    /// memory.
    pub fn run(&self, cell: &Cell, patience: Duration) -> Result<Pair, BenchError> {
        cell.plan()?;
        self.claim_memory(cell)?;
        let link = self.networks.find(&cell.network)?;
        let folder = tempfile::tempdir().map_err(|cause| BenchError::file(Path::new("/tmp"), cause))?;
        let keys = Keys::new(cell, folder.path())?;
        let helped = cell.plan()?.0.has_helper();
        // The helper's first line has its two addresses; the last line of each is its measurement.
        let helper = helped.then(|| self.start(cell, link, Participant::Helper, &[], &keys)).transpose()?;
        let mut helpers_lines =
            helper.as_ref().map(|helper| lines_of(helper, Participant::Helper)).transpose()?;
        let addresses = match &mut helpers_lines {
            Some(lines) => read_line(lines, Participant::Helper)?,
            None => String::new(),
        };
        let mut addresses = addresses.split_whitespace();
        let mut party = |role: Participant, address: [&str; 2]| {
            let helper = addresses.next().map_or([""; 2], |helper| ["--helper", helper]);
            let words: Vec<&str> =
                address.into_iter().chain(helper).filter(|word| !word.is_empty()).collect();
            self.start(cell, link, role, &words, &keys)
        };
        // The receiver listens, and its first line is the address.
        let receiver = party(Participant::Receiver, ["--listen", "127.0.0.1:0"])?;
        let mut lines = lines_of(&receiver, Participant::Receiver)?;
        let address = read_line(&mut lines, Participant::Receiver)?;
        let sender = party(Participant::Sender, ["--connect", address.trim()])?;
        let _watchdog = Watchdog::over([&receiver, &sender].into_iter().chain(&helper), patience);
        let sent = lines_of(&sender, Participant::Sender)
            .and_then(|mut lines| read_line(&mut lines, Participant::Sender));
        let received = sent.and_then(|sent| Ok((sent, read_line(&mut lines, Participant::Receiver)?)));
        let ended = received.and_then(|both| {
            let helped =
                helpers_lines.as_mut().map(|lines| read_line(lines, Participant::Helper)).transpose()?;
            Ok((both, helped))
        });
        let Ok(((sent, received), helped)) = ended else {
            let parties = [(receiver, Participant::Receiver), (sender, Participant::Sender)];
            return Err(complaint(
                parties.into_iter().chain(helper.map(|helper| (helper, Participant::Helper))),
            ));
        };
        let parse = |text: &str, role: Participant| {
            serde_json::from_str::<Measured>(text)
                .map_err(|error| BenchError::Party { role: role.name(), message: error.to_string() })
        };
        let pair = Pair {
            receiver: parse(&received, Participant::Receiver)?,
            sender: parse(&sent, Participant::Sender)?,
            helper: helped.map(|helped| parse(&helped, Participant::Helper)).transpose()?,
        };
        pair.check(cell)?;
        Ok(pair)
    }

    fn claim_memory(&self, cell: &Cell) -> Result<(), BenchError> {
        let bytes = cell.memory_bytes()?;
        if bytes < CLAIMED_FROM {
            return Ok(());
        }
        for _ in 0..CLAIMS {
            let mut command = Command::new(&self.program);
            command.args(["bench", "claim-memory", "--bytes", &bytes.to_string()]).stdin(Stdio::null());
            let started = Instant::now();
            // If there is not as much, the run itself shows it.
            drop(command.stdout(Stdio::null()).stderr(Stdio::null()).status());
            if started.elapsed().as_secs_f64() < START_S + bytes as f64 / READY_BYTES_PER_S {
                break;
            }
        }
        Ok(())
    }

    fn start(
        &self,
        cell: &Cell,
        link: Link,
        role: Participant,
        address: &[&str],
        keys: &Keys,
    ) -> Result<Running, BenchError> {
        let failed = |message: String| BenchError::Party { role: role.name(), message };
        let json =
            |value: Result<String, serde_json::Error>| value.map_err(|error| failed(error.to_string()));
        let mut command = Command::new(&self.program);
        command.args(["bench", "party", "--role", role.name()]).args(address);
        command.args(["--cell", &json(serde_json::to_string(cell))?]);
        command.args(["--link", &json(serde_json::to_string(&link))?]);
        command.args(keys.words(role));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.spawn().map(|child| Running(Arc::new(Mutex::new(child))));
        started.map_err(|error| failed(error.to_string()))
    }
}

fn identity(folder: &Path, name: &str) -> Result<(PathBuf, PublicKey), BenchError> {
    let path = folder.join(name);
    let failed = |message: String| BenchError::form(&path, message);
    let identity = Identity::generate().map_err(|error| failed(error.to_string()))?;
    identity.save(&path).map_err(|error| failed(error.to_string()))?;
    Ok((path.clone(), *identity.public_key()))
}

/// The identities of a cell that speaks TLS, in the order of [`PARTICIPANTS`].
struct Keys(Vec<(PathBuf, PublicKey)>);

const PARTICIPANTS: [Participant; 3] = [Participant::Receiver, Participant::Sender, Participant::Helper];

impl Keys {
    fn new(cell: &Cell, folder: &Path) -> Result<Self, BenchError> {
        let names = if cell.tls { &PARTICIPANTS[..] } else { &[] };
        names.iter().map(|who| identity(folder, who.name())).collect::<Result<_, _>>().map(Keys)
    }

    /// The arguments of that participant: its identity, and the keys that it expects.
    fn words(&self, who: Participant) -> Vec<OsString> {
        let [(receivers, receiver), (senders, sender), (helpers, helper)] = &self.0[..] else {
            return Vec::new();
        };
        let (identity, peers) = match who {
            Participant::Receiver => (receivers, vec![("--peer", sender), ("--helper-key", helper)]),
            Participant::Sender => (senders, vec![("--peer", receiver), ("--helper-key", helper)]),
            Participant::Helper => (helpers, vec![("--peer", receiver), ("--peer", sender)]),
        };
        let peers = peers.into_iter().flat_map(|(option, key)| [option.into(), key.to_string().into()]);
        ["--identity".into(), identity.clone().into_os_string()].into_iter().chain(peers).collect()
    }
}

fn lines_of(child: &Running, who: Participant) -> Result<BufReader<ChildStdout>, BenchError> {
    let message = "no standard output".to_owned();
    locked(&child.0).stdout.take().map(BufReader::new).ok_or(BenchError::Party { role: who.name(), message })
}

/// One line of at most a megabyte.
fn read_line(reader: &mut impl BufRead, who: Participant) -> Result<String, BenchError> {
    let mut line = String::new();
    let failed = |message: String| BenchError::Party { role: who.name(), message };
    reader.take(1 << 20).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    if line.ends_with('\n') { Ok(line) } else { Err(failed("it ended without a measurement".into())) }
}

/// The messages of those of a failed run. One that still waits for the others is stopped.
fn complaint(parties: impl Iterator<Item = (Running, Participant)>) -> BenchError {
    std::thread::sleep(GRACE);
    let said: Vec<String> = parties
        .map(|(party, who)| {
            let mut child = locked(&party.0);
            drop(child.kill());
            let mut text = String::new();
            if let Some(stderr) = child.stderr.take() {
                drop(stderr.take(1 << 16).read_to_string(&mut text));
            }
            format!("{who}: {}", text.trim())
        })
        .collect();
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
