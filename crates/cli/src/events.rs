//! `--events FILE`: what happens, as it happens, a JSON object a line; the last one is `done` or `failed`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use vesica::report::Event;

use crate::screen::say;

/// Where events go, if anywhere.
pub(crate) struct Events {
    started: Instant,
    out: Option<Mutex<Box<dyn Write + Send>>>,
    failed: AtomicBool,
}

impl Events {
    /// Opens the file; what was in it is gone. `-` is standard output.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let out: Option<Box<dyn Write + Send>> = match path {
            None => None,
            Some(path) if path.as_os_str() == "-" => Some(Box::new(io::stdout())),
            Some(path) => Some(Box::new(File::create(path)?)),
        };
        Ok(Events { started: Instant::now(), out: out.map(Mutex::new), failed: AtomicBool::new(false) })
    }

    /// Writes one event. A log that cannot be written any more is said to be so once; the run goes on.
    pub(crate) fn write(&self, event: &Event) {
        let Some(out) = &self.out else { return };
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let line = event.to_json_line(self.started).map_err(io::Error::from);
        if let Err(error) = line.and_then(|line| writeln!(out, "{line}")).and_then(|()| out.flush())
            && !self.failed.swap(true, Relaxed)
        {
            say(&format!("--events: no more can be written: {error}"));
        }
    }
}
