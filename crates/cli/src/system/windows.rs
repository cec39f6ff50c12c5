//! The program on Windows.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Ctrl-Break (signal.h).
const SIGBREAK: i32 = 21;
/// How often it is looked whether a signal came.
const MOMENT: Duration = Duration::from_millis(50);

/// What whoever makes an identity has to know about its file.
pub(crate) const IDENTITY_CAUTION: Option<&str> = Some(
    "Windows: who can read it is decided by its folder, and not checked: keep it in a folder that only you can open",
);

/// Not prevented on Windows (docs/platforms.md).
pub(crate) fn guard_memory() {}

/// Windows has no limit of its own for sockets.
pub(crate) fn grant_descriptors() -> Option<u64> {
    None
}

/// Whether the reader of standard output has closed it: not known, so that the run ends with the error of its write.
pub(crate) fn reader_left() -> bool {
    false
}

/// Windows has no signals that are warnings.
pub(crate) fn ignore_warnings() -> io::Result<()> {
    Ok(())
}

/// The signals that ask for the end: the last one that came, or 0.
pub(crate) struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Watches for them from now on.
    pub(crate) fn watched() -> io::Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGBREAK] {
            flag::register_usize(signal, came.clone(), signal as usize)?;
        }
        Ok(Signals(came))
    }

    /// Waits for the next one.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        loop {
            match self.pending() {
                None => thread::sleep(MOMENT),
                came => return came,
            }
        }
    }

    /// One that has come.
    pub(crate) fn pending(&mut self) -> Option<i32> {
        Some(self.0.swap(0, Ordering::Relaxed)).filter(|signal| *signal != 0).map(|signal| signal as i32)
    }
}
