//! `--deadline`: ends a run that is not done in time, whatever it waits for.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use vesica_channel::{CancelToken, ChannelError, Span};
use vesica_text::text;

use crate::words::error::{Error, Kind, RunPhase, Side};

/// The cancel token of a run: cancelled by the caller, or when the time is over.
pub(crate) struct Deadline {
    limit: Option<Duration>,
    parent: CancelToken,
    cancel: CancelToken,
    /// The timer thread ends when this is dropped.
    _running: Option<mpsc::Sender<()>>,
}

impl Deadline {
    /// Starts the time now; without a limit there is no timer.
    pub(crate) fn start(limit: Option<Duration>, parent: &CancelToken) -> Result<Self, Error> {
        let cancel = parent.child();
        let running = limit.map(|limit| timer(limit, cancel.clone())).transpose()?;
        Ok(Deadline { limit, parent: parent.clone(), cancel, _running: running })
    }

    pub(crate) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// The error of a run. An interruption that the caller did not ask for was the deadline, and the error then says so.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match self.limit {
            Some(limit) if error.kind == Kind::Interrupted && !self.parent.is_cancelled() => {
                // If something was kept nevertheless, the remedy says where.
                let usual = error.remedy == Error::interrupted(error.phase).remedy;
                let passed = passed(error.phase, limit);
                if usual { passed } else { Error { remedy: error.remedy, ..passed } }
            }
            _ => error,
        }
    }
}

fn timer(limit: Duration, cancel: CancelToken) -> Result<mpsc::Sender<()>, Error> {
    let (running, ended) = mpsc::channel();
    let body = move || {
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            cancel.cancel();
        }
    };
    match thread::Builder::new().name("vesica-deadline".into()).spawn(body) {
        Ok(_) => Ok(running),
        Err(error) => {
            Err(Error::channel(RunPhase::Prepare, &ChannelError::system("cannot start a thread", &error)))
        }
    }
}

fn passed(phase: RunPhase, limit: Duration) -> Error {
    let (side, kind, what, remedy) = match phase {
        RunPhase::Prepare | RunPhase::Read => (
            Side::Ours,
            Kind::Input,
            "the input had not been read",
            "check the program that writes the input, or give a longer `[deadline]`{; the partner has not been contacted}",
        ),
        RunPhase::Connect => (
            Side::Partner,
            Kind::Partner,
            "the partner had not connected",
            "{ask the partner} when it starts, then {start both sides again}; a longer `[deadline]` lets the run take longer",
        ),
        RunPhase::Write => (
            Side::Ours,
            Kind::Output,
            "the matching rows had not been written",
            "{the exchange was complete and the partner has ended well; }{start both sides again}, with a longer `[deadline]`; \
             {nothing was written here}",
        ),
        _ => (
            Side::Both,
            Kind::Partner,
            "the run was not complete",
            "{start both sides again}, with a longer `[deadline]`; {nothing was written here}",
        ),
    };
    let message = text!("{} within {}, the `[deadline]` of the whole run", what, Span(limit).to_string());
    Error { side, phase, kind, message, remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLIND: RunPhase = RunPhase::Protocol(vesica_protocols::Phase::Blind);

    #[test]
    fn who_interrupted_a_run_is_told_apart() {
        let (parent, limit) = (CancelToken::new(), Some(Duration::from_millis(1)));
        let deadline = Deadline::start(limit, &parent).unwrap();
        while !deadline.cancel().is_cancelled() {
            thread::yield_now();
        }
        let code = |phase| deadline.explain(Error::interrupted(phase)).kind.exit_code();
        assert_eq!([RunPhase::Read, RunPhase::Connect, BLIND, RunPhase::Write].map(code), [65, 69, 69, 74]);
        let error = deadline.explain(Error::interrupted(BLIND));
        assert!(error.message.shell().contains("`--deadline`") && error.phase == BLIND, "{error}");
        let other = Error::usage("other", "other");
        assert_eq!(deadline.explain(other.clone()), other);
        parent.cancel();
        assert_eq!(deadline.explain(Error::interrupted(BLIND)).kind, Kind::Interrupted);
    }

    #[test]
    fn a_run_without_a_deadline_obeys_its_caller_alone() {
        let parent = CancelToken::new();
        let deadline = Deadline::start(None, &parent).unwrap();
        assert!(!deadline.cancel().is_cancelled());
        parent.cancel();
        assert!(deadline.cancel().is_cancelled());
        assert_eq!(deadline.explain(Error::interrupted(RunPhase::Read)).kind, Kind::Interrupted);
    }
}
