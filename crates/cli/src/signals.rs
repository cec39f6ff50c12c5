//! Interruption and termination: the first signal cancels the run in good order, a second one ends it at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use vesica::net::CancelToken;

/// Tells which signal came.
#[derive(Clone)]
pub(crate) struct Received(Arc<AtomicU8>);

impl Received {
    /// The exit code that the signal stands for, if one came.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        Some(self.0.load(Ordering::Relaxed)).filter(|code| *code != 0)
    }
}

/// Watches for signals from now on.
pub(crate) fn watch(cancel: &CancelToken) -> io::Result<Received> {
    let received = Received(Arc::new(AtomicU8::new(0)));
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let (cancel, seen) = (cancel.clone(), received.clone());
    thread::spawn(move || {
        for signal in signals.forever() {
            let code = if signal == SIGINT { 130 } else { 143 };
            if seen.0.swap(code, Ordering::Relaxed) != 0 {
                std::process::exit(code.into());
            }
            cancel.cancel();
        }
    });
    Ok(received)
}
