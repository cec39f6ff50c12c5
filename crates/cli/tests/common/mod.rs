//! Two real processes of the program, their tables, keys, screens and ends.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

pub(crate) mod files;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A wait that outlasts this is a hang.
const HANG: Duration = Duration::from_secs(120);

/// A folder with two identities; every path is relative to it.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    pub(crate) receiver_key: String,
    pub(crate) sender_key: String,
    pub(crate) helper_key: String,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keygen = |name: &str| {
            let made = program(folder.path(), &["keygen", "--output", name]).output().unwrap();
            assert!(made.status.success());
            String::from_utf8(made.stdout).unwrap().trim().to_owned()
        };
        let (receiver_key, sender_key) = (keygen("receiver.pem"), keygen("sender.pem"));
        let helper_key = keygen("helper.pem");
        Scene { folder, receiver_key, sender_key, helper_key }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Every file there is, for what must not be left behind.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Starts the program with these arguments.
    pub(crate) fn start(&self, args: &[&str]) -> Party {
        Party::new(program(self.folder.path(), args))
    }

    /// Starts the program by a command that does so in a way of its own.
    pub(crate) fn start_as(&self, mut command: Command, args: &[&str]) -> Party {
        Party::new(in_scene(command.args(args), self.folder.path()))
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.start(args).end()
    }

    /// Removes the report of an earlier run that these arguments name; a run replaces none.
    fn forget_report(&self, args: &[&str]) {
        for pair in args.windows(2).filter(|pair| pair[0] == "--report") {
            drop(fs::remove_file(self.path(pair[1])));
        }
    }

    /// Starts a sender that listens, with `more` arguments; gives its address too.
    pub(crate) fn sender(&self, more: &[&str]) -> (Party, String) {
        self.forget_report(more);
        let args =
            ["send", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--peer", &self.receiver_key];
        let mut party = self.start(&[&args[..], more].concat());
        let line = party.wait_for("listening on ");
        let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
        (party, address)
    }

    /// Starts a receiver that connects there, with `more` arguments.
    pub(crate) fn receiver(&self, address: &str, more: &[&str]) -> Party {
        self.forget_report(more);
        let args =
            ["receive", "--connect", address, "--identity", "receiver.pem", "--peer", &self.sender_key];
        self.start(&[&args[..], more].concat())
    }

    /// Starts a helper for the two, with `more` arguments; gives its address too.
    pub(crate) fn helper(&self, more: &[&str]) -> (Party, String) {
        self.forget_report(more);
        let peers = ["--peer", &self.receiver_key, "--peer", &self.sender_key];
        let args = ["assist", "--listen", "127.0.0.1:0", "--identity", "helper.pem"];
        let mut party = self.start(&[&args[..], &peers, more].concat());
        let line = party.wait_for("listening on ");
        let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
        (party, address)
    }

    /// A whole run: sender's arguments, receiver's arguments; receiver's end first.
    pub(crate) fn pair(&self, sender: &[&str], receiver: &[&str]) -> (Ended, Ended) {
        let (sender, address) = self.sender(sender);
        let receiver = self.receiver(&address, receiver).end();
        (receiver, sender.end())
    }
}

/// The arguments of the usual tables.
pub(crate) const SENDER: [&str; 4] = ["--input", "sender.csv", "--key", "email:email"];
pub(crate) const RECEIVER: [&str; 6] =
    ["--input", "receiver.csv", "--key", "email:email", "--output", "out.csv"];

/// Those of `vesica local` for both, to which an output is added.
pub(crate) const LOCAL: [&str; 7] =
    ["local", "--receiver", "receiver.csv", "--sender", "sender.csv", "--key", "email:email"];

/// What stands in `out.csv` before.
pub(crate) const ANOTHER_DAY: &str = "from another day\n";

pub(crate) fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [base, more].concat()
}

/// A scene with two tables and an output from another day, which no failure may touch.
pub(crate) fn scene(rows: usize) -> Scene {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", rows, rows / 2));
    scene.write("sender.csv", emails("sender", rows, rows / 2));
    scene.write("out.csv", ANOTHER_DAY);
    scene
}

/// Waits until the file says it.
pub(crate) fn until(scene: &Scene, file: &str, words: &str) {
    let begun = Instant::now();
    while !fs::read_to_string(scene.path(file)).is_ok_and(|text| text.contains(words)) {
        assert!(begun.elapsed() < HANG, "{file} does not say {words}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The output of another day stands, nothing half-written lies beside it, and no identifier was shown.
#[track_caller]
pub(crate) fn nothing_lost(scene: &Scene, ends: &[&Ended]) {
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    nothing_shown(scene, ends);
}

/// Nothing half-written lies about, and no identifier is on a screen, on standard output, or in a report.
#[track_caller]
pub(crate) fn nothing_shown(scene: &Scene, ends: &[&Ended]) {
    let expected = ["helper.pem", "out.csv", "receiver.csv", "receiver.pem", "sender.csv", "sender.pem"];
    let files = scene.files();
    let is_report = |file: &&String| file.ends_with(".json") || file.ends_with(".html");
    assert!(files.iter().all(|file| expected.contains(&file.as_str()) || is_report(&file)), "{files:?}");
    for end in ends {
        for planted in ["person", "Person", "example.org"] {
            let stdout = String::from_utf8_lossy(&end.stdout);
            assert!(!end.screen.contains(planted), "an identifier is on the screen:\n{}", end.screen);
            assert!(!stdout.contains(planted), "an identifier is on standard output:\n{stdout}");
        }
    }
    for report in files.iter().filter(is_report) {
        let report = scene.read(report);
        assert!(!report.to_lowercase().contains("person") && !report.contains("example.org"), "{report}");
    }
}

fn program(folder: &Path, args: &[&str]) -> Command {
    in_scene(Command::new(env!("CARGO_BIN_EXE_vesica")).args(args), folder)
}

fn in_scene(command: &mut Command, folder: &Path) -> Command {
    command.current_dir(folder).stdin(Stdio::null()).env("HOME", folder).env_remove("XDG_CONFIG_HOME");
    std::mem::replace(command, Command::new("true"))
}

/// A running process whose standard error is read as it comes.
pub(crate) struct Party {
    child: Child,
    stdout: Option<ChildStdout>,
    lines: mpsc::Receiver<String>,
    seen: Vec<String>,
}

impl Party {
    fn new(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let screen = BufReader::new(child.stderr.take().unwrap());
        let stdout = child.stdout.take();
        let (push, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in screen.lines() {
                if push.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        Party { child, stdout, lines, seen: Vec::new() }
    }

    /// Reads the screen up to the first line that begins like this.
    pub(crate) fn wait_for(&mut self, start: &str) -> String {
        loop {
            match self.lines.recv_timeout(HANG) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.starts_with(start) {
                        return line;
                    }
                }
                Err(_) => panic!("no line {start:?}; the screen: {:#?}", self.seen),
            }
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Nobody reads its standard output any more.
    pub(crate) fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// Waits for the end; a hang fails the test.
    pub(crate) fn end(mut self) -> Ended {
        let stdout = self.stdout.take();
        self.end_with(stdout)
    }

    /// Waits for the end while nobody reads its standard output, which stays open.
    pub(crate) fn end_unread(self) -> Ended {
        self.end_with(None)
    }

    fn end_with(mut self, stdout: Option<ChildStdout>) -> Ended {
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.map(|mut stdout| stdout.read_to_end(&mut bytes).unwrap());
            bytes
        });
        loop {
            match self.lines.recv_timeout(HANG) {
                Ok(line) => self.seen.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("the process hangs; its screen: {:#?}", self.seen)
                }
            }
        }
        let status = self.child.wait().unwrap();
        Ended { code: status.code(), screen: self.seen.join("\n"), stdout: reader.join().unwrap() }
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        drop(self.child.kill().and_then(|()| self.child.wait()));
    }
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// None if a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) screen: String,
    pub(crate) stdout: Vec<u8>,
}

impl Ended {
    /// Asserts the exit code and that the screen has each of these.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "the screen:\n{}", self.screen);
        for word in words {
            assert!(self.screen.contains(word), "{word:?} is missing on the screen:\n{}", self.screen);
        }
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let screen = String::from_utf8_lossy(&output.stderr).into_owned();
        Ended { code: output.status.code(), screen, stdout: output.stdout }
    }
}

/// A table of `rows` e-mail addresses, `id,email`; the first `common` of every side are the same. Rows stand in an order
/// that differs by side.
pub(crate) fn emails(side: &str, rows: usize, common: usize) -> String {
    let mut lines: Vec<String> = (0..rows)
        .map(|i| {
            let who = if i < common { "common" } else { side };
            // Upper case and spaces, which the rule `email` takes away, differ by side too.
            match (i + side.len()) % 4 {
                0 => format!("{who}.Person{i}@Example.org"),
                1 => format!(" {who}.person{i}@example.ORG "),
                _ => format!("{who}.person{i}@example.org"),
            }
        })
        .collect();
    let step = if side == "receiver" { 7919 } else { 104_729 };
    lines = (0..rows).map(|i| std::mem::take(&mut lines[i * step % rows])).collect();
    let mut table = String::from("id,email\n");
    for (id, line) in lines.iter().enumerate() {
        table += &format!("{id},{line}\n");
    }
    table
}

/// The rows of a plain join: lines of `mine` whose second column, trimmed and in lower case, is one of `theirs`.
pub(crate) fn plain_join(mine: &str, theirs: &str) -> String {
    let key = |line: &str| line.split(',').nth(1).unwrap().trim().to_lowercase();
    let theirs: std::collections::HashSet<String> = theirs.lines().skip(1).map(key).collect();
    let mut lines = mine.lines();
    let mut joined = format!("{}\n", lines.next().unwrap());
    for line in lines.filter(|line| theirs.contains(&key(line))) {
        joined += line;
        joined.push('\n');
    }
    joined
}
