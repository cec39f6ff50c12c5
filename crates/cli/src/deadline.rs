//! `--deadline` where the run itself cannot keep it: nobody reads its events, its report or its screen, or the system does
//! not come back.
//!
//! | after the deadline | |
//! | --- | --- |
//! | at once | the run is cancelled ([`vesica::job`]), and ends in good order |
//! | two seconds | events and report are given up |
//! | five seconds | the process ends |

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use vesica::channel::CancelToken;
use vesica::remove_unfinished;
use vesica::report::Event;
use vesica::text::Text;
use vesica::{Error, Kind, RunPhase, Side};

use crate::signals::last_words;

/// For the last event and the report.
const LOGS: Duration = Duration::from_secs(2);
/// For all the rest, from then on.
const REST: Duration = Duration::from_secs(3);

/// What a deadline ends from outside of the run. Without a deadline it is nothing.
pub(crate) struct Net {
    limit: Option<Duration>,
    /// What events and report are written under: cancelled with the run, and after the deadline.
    logs: CancelToken,
    /// What the process ends with.
    code: Arc<AtomicU8>,
    /// The thread ends when this is dropped.
    _running: Option<Sender<()>>,
}

impl Net {
    /// Starts the time now.
    pub(crate) fn start(
        command: &'static str,
        limit: Option<Duration>,
        cancel: &CancelToken,
    ) -> io::Result<Self> {
        let (logs, code) = (cancel.child(), Arc::new(AtomicU8::new(Kind::Output.exit_code())));
        let watch = |limit: Duration| {
            let (running, ended) = mpsc::channel();
            let (logs, code) = (logs.clone(), code.clone());
            let over = move |after| ended.recv_timeout(after) == Err(RecvTimeoutError::Timeout);
            let body = move || {
                if over(limit.saturating_add(LOGS)) {
                    logs.cancel();
                    if over(REST) {
                        last_words(command, "still waited for something after its `--deadline`");
                        remove_unfinished();
                        std::process::exit(code.load(Relaxed).into());
                    }
                }
            };
            thread::Builder::new().name("vesica-deadline-net".into()).spawn(body).map(|_| running)
        };
        let running = limit.map(watch).transpose()?;
        Ok(Net { limit, logs, code, _running: running })
    }

    /// The token of events and report.
    pub(crate) fn logs(&self) -> &CancelToken {
        &self.logs
    }

    /// A run that has to be ended in that phase ends with its code.
    pub(crate) fn see(&self, event: &Event) {
        let kind = match event {
            Event::Phase { name, .. } if *name == RunPhase::Read.name() => Kind::Input,
            Event::Phase { name, .. } if *name == RunPhase::Write.name() => Kind::Output,
            Event::Phase { .. } => Kind::Partner,
            _ => return,
        };
        self.code.store(kind.exit_code(), Relaxed);
    }

    /// The process ends with that code from here on, if it has to be ended.
    pub(crate) fn ends_with(&self, code: u8) {
        self.code.store(code, Relaxed);
    }

    /// The error of events or a report. Where the caller did not cancel it, the deadline did.
    pub(crate) fn explain(&self, error: Error, cancel: &CancelToken) -> Error {
        match self.limit {
            Some(limit) if error.kind == Kind::Interrupted && !cancel.is_cancelled() => Error {
                side: Side::Ours,
                kind: Kind::Output,
                message: Text::words(format!(
                    "nobody read it within {}, the `--deadline`",
                    vesica::channel::Span(limit)
                )),
                remedy: "start the program that reads events or report before the run".into(),
                ..error
            },
            _ => error,
        }
    }
}
