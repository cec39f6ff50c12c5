//! Signals: the first one that asks for the end cancels the run in order. A second one ends it at once. So does the first,
//! after five seconds, if the run has not ended by itself.
//!
//! | signal | |
//! | --- | --- |
//! | HUP, INT, QUIT, TERM | end the run: 129, 130, 131, 143. HUP and QUIT do nothing if they were ignored from the start (`nohup`) |
//! | XFSZ | the run goes on: the write that was too long fails with an error of its own |
//! | USR1, USR2 | nothing: schedulers send them as a warning |
//! | ABRT | 71: the runtime of the language aborts if there is no memory |
//!
//! Windows has INT (Ctrl-C), TERM, BREAK (Ctrl-Break: 149) and ABRT.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGABRT;
use signal_hook::flag;
use vesica::Kind;
use vesica::channel::CancelToken;
use vesica::remove_unfinished;

use crate::screen::say;
use crate::system::{Signals, ignore_warnings};

/// A cancelled run has this many moments of this length to end by itself: five seconds. Programs that send TERM and then KILL
/// wait longer.
const MOMENTS: u32 = 50;
const MOMENT: Duration = Duration::from_millis(100);

/// Which signal came.
#[derive(Clone)]
pub(crate) struct Received(Arc<AtomicU8>);

impl Received {
    /// The exit code that the signal stands for, if one came.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        Some(self.0.load(Ordering::Relaxed)).filter(|code| *code != 0)
    }
}

/// Sets up what holds for every command, from the start.
pub(crate) fn settle() -> io::Result<()> {
    ignore_warnings()?;
    let always = Arc::new(AtomicBool::new(true));
    flag::register_conditional_shutdown(SIGABRT, Kind::Resources.exit_code().into(), always)?;
    Ok(())
}

/// Watches for signals from now on, for a run of that command.
pub(crate) fn watch(command: &'static str, cancel: &CancelToken) -> io::Result<Received> {
    let received = Received(Arc::new(AtomicU8::new(0)));
    let mut signals = Signals::watched()?;
    let (cancel, seen) = (cancel.clone(), received.clone());
    let body = move || {
        let Some(first) = signals.wait() else { return };
        seen.0.store(code(first), Ordering::Relaxed);
        cancel.cancel();
        for _ in 0..MOMENTS {
            if let Some(second) = signals.pending() {
                leave(second);
            }
            thread::sleep(MOMENT);
        }
        last_words(command, "interrupted while it waited for something");
        leave(first);
    };
    thread::Builder::new().name("vesica-signals".into()).spawn(body)?;
    Ok(received)
}

/// What is said of a run that is given up. On a thread of its own, since the run may be waiting for standard error.
pub(crate) fn last_words(command: &'static str, what: &'static str) {
    let said = thread::Builder::new().spawn(move || {
        say(&format!(
            "vesica {command}: {what}; it ended without a report\n  what to do: look whether the output is new; if not, start \
             both sides again"
        ));
    });
    if said.is_ok() {
        thread::sleep(MOMENT);
    }
}

/// Watches for signals for a service: the first one that asks for the end cancels `stop`, the next one ends the process.
pub(crate) fn watch_service(stop: &CancelToken) -> io::Result<()> {
    let mut signals = Signals::watched()?;
    let stop = stop.clone();
    let body = move || {
        if signals.wait().is_some() {
            stop.cancel();
        }
        if let Some(second) = signals.wait() {
            leave(second);
        }
    };
    thread::Builder::new().name("vesica-signals".into()).spawn(body)?;
    Ok(())
}

/// A shell's code for a program that the signal ended.
fn code(signal: i32) -> u8 {
    128 + signal as u8
}

fn leave(signal: i32) -> ! {
    remove_unfinished();
    std::process::exit(code(signal).into())
}
