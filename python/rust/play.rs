//! A run beside Python: in a thread of its own, without the interpreter lock.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use vesica::job::OnEvent;
use vesica::report::Event;
use vesica::text::Voice;
use vesica::{Error, RunPhase, caught, channel};

use crate::errors::raise;

/// How often the waiting thread looks for Ctrl-C.
const POLL: Duration = Duration::from_millis(50);

/// Ends runs from another thread.
#[pyclass(frozen, module = "vesica")]
#[derive(Default)]
pub(crate) struct CancelToken(pub(crate) channel::CancelToken);

#[pymethods]
impl CancelToken {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends every run that was given this token.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.0.cancel());
    }

    /// Whether it was cancelled.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn __repr__(&self) -> &'static str {
        if self.0.is_cancelled() { "CancelToken(cancelled)" } else { "CancelToken()" }
    }
}

/// The token that a caller gave, or one of its own.
pub(crate) fn token(given: Option<&Bound<'_, CancelToken>>) -> channel::CancelToken {
    given.map(|token| token.get().0.clone()).unwrap_or_default()
}

/// The first exception of a caller's object that is no error of a table, such as `KeyboardInterrupt`. It ends the run, and is raised
/// as it is.
#[derive(Clone, Default)]
pub(crate) struct Escaped(Arc<Mutex<Option<PyErr>>>);

impl Escaped {
    /// Keeps the exception, if it is the first.
    pub(crate) fn put(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Raises it, if there is one.
    pub(crate) fn raise(&self) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

enum Message<T> {
    Event(String),
    Ended(Result<T, Error>),
}

/// Runs `play` in a thread and waits for its end. Every event goes to `on_event` as a line of JSON, in this thread. An exception
/// of `on_event`, or of a signal, cancels the run and is raised here.
pub(crate) fn play<T: Send + 'static>(
    py: Python<'_>,
    cancel: &channel::CancelToken,
    on_event: Option<&Bound<'_, PyAny>>,
    play: impl FnOnce(OnEvent<'_>, &channel::CancelToken) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let (listened, own) = (on_event.is_some(), cancel.clone());
    let started = Instant::now();
    let body = move || {
        let tell = |event: &Event| {
            let line = listened.then(|| event.told_in(Voice::Python).to_json_line(started));
            if let Some(Ok(line)) = line {
                // The receiver is gone if the interpreter is ending.
                drop(sender.send(Message::Event(line)));
            }
        };
        drop(sender.send(Message::Ended(caught(|| play(&tell, &own)))));
    };
    let spawned = thread::Builder::new().name("vesica".into()).spawn(body);
    let thread = spawned.map_err(|error| {
        raise(py, &Error::resources(RunPhase::Prepare, "cannot start a thread", &error), None)
    })?;
    let receiver = Mutex::new(receiver);
    let next = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL);
    let mut failure: Option<PyErr> = None;
    let ended = loop {
        let failed = match py.detach(next) {
            Ok(Message::Ended(ended)) => break ended,
            Ok(Message::Event(line)) if failure.is_none() => {
                on_event.and_then(|on_event| on_event.call1((line,)).err())
            }
            _ => None,
        };
        if failure.is_none()
            && let Some(error) = failed.or_else(|| py.check_signals().err())
        {
            failure = Some(error);
            py.detach(|| cancel.cancel());
        }
    };
    py.detach(|| drop(thread.join()));
    match (failure, ended) {
        (Some(failure), _) => Err(failure),
        (None, Ok(ended)) => Ok(ended),
        (None, Err(error)) => Err(raise(py, &error, None)),
    }
}
