//! `--events FILE`: one JSON object a line for each event of a run; the last one is `done` or `failed`.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use vesica::report::Event;
use vesica::table::{Cancelled, Output, TableError};

use crate::screen::say;

/// Where events go, if anywhere.
pub(crate) struct Events<'a> {
    started: Instant,
    out: Option<Mutex<Box<dyn Write + Send + 'a>>>,
    failed: AtomicBool,
}

impl<'a> Events<'a> {
    /// Opens and empties the file. Waits for a stream until `cancelled`.
    pub(crate) fn open(place: Option<Output>, cancelled: Cancelled<'a>) -> Result<Self, TableError> {
        let out = place.map(|place| place.log(cancelled)).transpose()?;
        Ok(Events { started: Instant::now(), out: out.map(Mutex::new), failed: AtomicBool::new(false) })
    }

    /// One event as a line, if it is to be written.
    pub(crate) fn line(&self, event: &Event) -> Option<String> {
        self.out.as_ref().and_then(|_| event.to_json_line(self.started).ok())
    }

    /// Writes what `line` makes of the moment of the start. If that fails, a message says so once, and the run goes on.
    pub(crate) fn write_line(&self, line: impl FnOnce(Instant) -> serde_json::Result<String>) {
        let Some(out) = &self.out else { return };
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let line = line(self.started).map_err(io::Error::from);
        if let Err(error) = line.and_then(|line| out.write_all(format!("{line}\n").as_bytes()))
            && !self.failed.swap(true, Relaxed)
        {
            say(&format!("`--events`: no more can be written: {error}"));
        }
    }
}
