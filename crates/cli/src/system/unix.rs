//! The program on Unix.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals as Iterated;

/// What whoever makes an identity has to know about its file.
pub(crate) const IDENTITY_CAUTION: Option<&str> = None;

/// Keeps keys and tables out of core dumps, and away from other processes of the same user.
pub(crate) fn guard_memory() {
    // Where the system refuses, nothing else is lost.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Takes all descriptors that the system lets this process have, and tells how many; none where nothing limits them.
pub(crate) fn grant_descriptors() -> Option<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where the system refuses, there are fewer.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    getrlimit(Resource::Nofile).current
}

/// Whether the reader of standard output has closed it.
pub(crate) fn reader_left() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().contains(PollFlags::ERR)
}

/// Lets signals that are warnings change nothing.
pub(crate) fn ignore_warnings() -> io::Result<()> {
    let nothing = Arc::new(AtomicBool::new(false));
    for signal in [SIGXFSZ, SIGUSR1, SIGUSR2] {
        flag::register(signal, nothing.clone())?;
    }
    Ok(())
}

/// The signals that ask for the end.
pub(crate) struct Signals(Iterated);

impl Signals {
    /// Watches for them from now on, without those that this process was started to ignore.
    pub(crate) fn watched() -> io::Result<Self> {
        let ignored = ignored();
        let heard = |signal: &i32| !(matches!(*signal, SIGHUP | SIGQUIT) && ignored >> (signal - 1) & 1 == 1);
        Iterated::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(heard)).map(Signals)
    }

    /// Waits for the next one.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.0.forever().next()
    }

    /// One that has come.
    pub(crate) fn pending(&mut self) -> Option<i32> {
        self.0.pending().next()
    }
}

/// The signals that this process was started to ignore, a bit each; none where the system does not tell.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
