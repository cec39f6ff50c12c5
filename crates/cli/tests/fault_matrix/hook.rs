//! The pause: a party of the matrix is this very test program, which runs the real `vesica` with a hook that stops it at
//! one step, or at several in turn, until the test says go on.

use std::env;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vesica::channel::CancelToken;
use vesica::report::Event;

const STEP: &str = "VESICA_TEST_STEP";
const BELL: &str = "VESICA_TEST_BELL";

/// The step in the middle of the last phase, in which the output is half-written.
pub(crate) const WRITING: &str = "writing";

/// A step that no run has: never paused.
pub(crate) const NEVER: &str = "never";

/// Whether this process is a party.
pub(crate) fn is_party() -> bool {
    env::var_os(STEP).is_some()
}

/// Rings at each of its steps and waits to be released, or to be cancelled.
pub(crate) fn pause(event: &Event, cancel: &CancelToken) {
    static PAUSED: AtomicUsize = AtomicUsize::new(0);
    static IN_WRITE: AtomicBool = AtomicBool::new(false);
    let step = match event {
        Event::Started { .. } => "prepare",
        Event::Phase { name, .. } => name,
        Event::Progress { .. } if IN_WRITE.load(Relaxed) => WRITING,
        _ => return,
    };
    IN_WRITE.store(matches!(step, "write" | WRITING), Relaxed);
    let (steps, paused) = (env::var(STEP).unwrap(), PAUSED.load(Relaxed));
    let wanted = steps.split(',').nth(paused);
    if step == "write" && wanted == Some(WRITING) {
        // Progress is told no more often than that.
        thread::sleep(Duration::from_millis(150));
    }
    if wanted != Some(step) || PAUSED.compare_exchange(paused, paused + 1, Relaxed, Relaxed).is_err() {
        return;
    }
    let mut bell = UnixStream::connect(env::var_os(BELL).unwrap()).unwrap();
    bell.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    while !cancel.is_cancelled() {
        match bell.read(&mut [0]) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            _ => break,
        }
    }
}

/// What rings when a party has come to its step.
pub(crate) struct Bell {
    listener: UnixListener,
    folder: tempfile::TempDir,
}

/// A party that stands still until this goes away.
pub(crate) struct Paused {
    _bell: UnixStream,
}

impl Bell {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Bell { listener: UnixListener::bind(folder.path().join("bell")).unwrap(), folder }
    }

    /// Waits until the party has come to its step.
    pub(crate) fn wait(&self) -> Paused {
        let hang = Timespec { tv_sec: 120, tv_nsec: 0 };
        let rung = poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&hang)).unwrap();
        assert_eq!(rung, 1, "the party did not come to its step");
        Paused { _bell: self.listener.accept().unwrap().0 }
    }

    /// Lets go on whoever comes or has come.
    pub(crate) fn release(self) {
        thread::spawn(move || {
            for party in self.listener.incoming() {
                let _gone = party.and_then(|mut party| party.write_all(&[0]));
            }
            drop(self.folder);
        });
    }

    /// A command that runs the program, to be paused at `step`; at several if they stand there with commas.
    pub(crate) fn command(&self, step: &str) -> Command {
        self.dress(Command::new(env::current_exe().unwrap()), step)
    }

    /// A command that is to hear a SIGHUP, though whoever runs the tests may have it ignored.
    pub(crate) fn command_that_hears(&self, step: &str) -> Command {
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(env::current_exe().unwrap());
        self.dress(command, step)
    }

    fn dress(&self, mut command: Command, step: &str) -> Command {
        command.env(STEP, step).env(BELL, self.folder.path().join("bell"));
        command
    }
}
