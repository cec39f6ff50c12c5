//! A run in parts for an engine: its driver, and its tasks. `vesica.parts` wraps both.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vesica::job::Ended;
use vesica::output_paths::RecordPlaces;
use vesica::parts::engine::{Engine, EngineJob, Outline, PlayedPart, Round, RoundEnded, Watch};
use vesica::protocols::Role;
use vesica::report::Event;
use vesica::table::TableReport;
use vesica::text::Voice;
use vesica::{Error, RunPhase, caught, channel, randomness};

use crate::errors::raise;
use crate::options::PartnerArgs;
use crate::play::token;
use crate::result::Outcome;
use crate::run::{How, Specs};

/// How often a waiting thread looks around.
const POLL: Duration = Duration::from_millis(50);

/// How often one looks that waits for no more than the end of a thread.
const SOON: Duration = Duration::from_millis(5);

/// How long a run that is closed has for its last word. Without it, the partner waits for another connection.
const LEAVE: Duration = Duration::from_secs(2);

/// What the run says to Python.
enum Message {
    Event(String),
    Begun(Outline),
    Round(Round),
    Chosen { receipts: Vec<(u32, [u8; 32])>, done: bool },
    Ended(Box<Result<Ended, Error>>),
}

/// What Python says to the run.
enum Answer {
    Ended(RoundEnded),
    Confirm,
    Close,
}

/// The driver's side of the run, in a thread of its own.
struct Driven {
    to: mpsc::Sender<Message>,
    from: mpsc::Receiver<Answer>,
    cancel: channel::CancelToken,
}

impl Driven {
    fn say(&self, message: Message) -> Result<(), Error> {
        self.to.send(message).map_err(|_| Error::interrupted(RunPhase::Parts))
    }

    /// Waits for Python, as long as the partner is there.
    fn wait(&self, partner: Watch<'_>) -> Result<Answer, Error> {
        loop {
            match self.from.recv_timeout(POLL) {
                Ok(Answer::Close) => return Err(Error::interrupted(RunPhase::Parts)),
                Ok(answer) => return Ok(answer),
                Err(mpsc::RecvTimeoutError::Timeout) if !self.cancel.is_cancelled() => partner()?,
                Err(_) => return Err(Error::interrupted(RunPhase::Parts)),
            }
        }
    }
}

impl Engine for Driven {
    fn begin(&mut self, run: &Outline) -> Result<(), Error> {
        self.say(Message::Begun(*run))
    }

    fn play(&mut self, round: Round, partner: Watch<'_>) -> Result<RoundEnded, Error> {
        self.say(Message::Round(round))?;
        match self.wait(partner)? {
            Answer::Ended(ended) => Ok(ended),
            Answer::Confirm | Answer::Close => Err(Error::interrupted(RunPhase::Parts)),
        }
    }

    fn chosen(&mut self, chosen: &[(u32, [u8; 32])], done: bool, partner: Watch<'_>) -> Result<(), Error> {
        self.say(Message::Chosen { receipts: chosen.to_vec(), done })?;
        match done {
            true => self.wait(partner).map(drop),
            false => Ok(()),
        }
    }
}

/// The run's connection, held by an engine's driver.
#[pyclass(frozen, module = "vesica")]
pub(crate) struct PartsRun {
    from: Mutex<mpsc::Receiver<Message>>,
    to: Mutex<mpsc::Sender<Answer>>,
    cancel: channel::CancelToken,
    on_event: Py<PyAny>,
    /// Where report and receipt go, and the thread, until the run has ended.
    open: Mutex<Option<(RecordPlaces, JoinHandle<()>)>>,
    /// What has come and was not asked for yet.
    early: Mutex<VecDeque<Message>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl PartsRun {
    /// Begins the run. `counts`: rows, different keys, rows without a key, rows with an invalid one.
    #[new]
    #[pyo3(signature = (role, counts, specs, slots, partner, how))]
    fn new(
        py: Python<'_>,
        role: &str,
        counts: (u64, u64, u64, u64),
        specs: Specs,
        slots: u16,
        partner: PartnerArgs<'_>,
        how: How<'_>,
    ) -> PyResult<Self> {
        let refused = |error: Error| raise(py, &error, None);
        let role = if role == "sender" { Role::Sender } else { Role::Receiver };
        let (rows, items, nulls, invalid) = counts;
        let duplicates = rows.saturating_sub(nulls).saturating_sub(invalid).saturating_sub(items);
        let counts = TableReport { rows, items, nulls, invalid, duplicates };
        let keys = specs.rules().map_err(refused)?;
        let settings = how.settings().map_err(refused)?;
        let protected: Vec<PathBuf> = partner.protected();
        let places = how.places(None, &protected).map_err(refused)?;
        let partner = partner.partner().map_err(refused)?;
        let job = EngineJob { role, counts, keys, settings, slots };
        let cancel = token(how.cancel.as_ref()).child();
        let (to, from) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let own = cancel.clone();
        let body = move || {
            let started = Instant::now();
            let events = to.clone();
            let tell = move |event: &Event| {
                if let Ok(line) = event.told_in(Voice::Python).to_json_line(started) {
                    // The receiver is gone if the interpreter is ending.
                    drop(events.send(Message::Event(line)));
                }
            };
            let mut driven = Driven { to: to.clone(), from: answers, cancel: own.clone() };
            let ended = caught(|| {
                let mut rng = randomness()?;
                Ok(job.run(&partner, &mut driven, &own, &mut rng, &tell))
            });
            drop(to.send(Message::Ended(Box::new(ended.and_then(|ended| ended)))));
        };
        let spawned = thread::Builder::new().name("vesica".into()).spawn(body);
        let thread = spawned.map_err(|error| {
            raise(py, &Error::resources(RunPhase::Prepare, "cannot start a thread", &error), None)
        })?;
        Ok(PartsRun {
            from: Mutex::new(from),
            to: Mutex::new(answer),
            cancel,
            on_event: how.on_event.unbind(),
            open: Mutex::new(Some((places, thread))),
            early: Mutex::default(),
        })
    }

    /// Waits for what the run says next: `("begun", B, M_r, M_s, k, bytes of a digest, learns, the partner's slots)`,
    /// `("round", number, parts, ticket)`, `("chosen", [(part, receipt)], done)`, or its end, `("ended", outcome)`, which
    /// raises if it failed.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loop {
            let early = lock(&self.early).pop_front();
            if let Some(message) = early {
                return self.told(py, message);
            }
            self.receive(py, POLL)?;
        }
    }

    /// Raises if the run has ended with an error. Waits for nothing.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        while self.receive(py, Duration::ZERO)? {}
        let failed = {
            let mut early = lock(&self.early);
            let failed = |message: &Message| matches!(message, Message::Ended(ended) if !is_done(ended));
            early.iter().position(failed).and_then(|at| early.remove(at))
        };
        failed.map_or(Ok(()), |failed| self.told(py, failed).map(drop))
    }

    /// Answers a round.
    fn ended(&self, receipts: Vec<(u32, Vec<u8>, u64)>, attempts: Vec<(u32, u32)>) -> PyResult<()> {
        let receipts = receipts.into_iter().map(|(part, receipt, matches)| {
            let receipt = receipt.try_into().map_err(|_| PyValueError::new_err("a receipt has 32 bytes"))?;
            Ok(PlayedPart { part, receipt, matches })
        });
        let receipts = receipts.collect::<PyResult<_>>()?;
        self.answer(Answer::Ended(RoundEnded { receipts, attempts, failed: None }));
        Ok(())
    }

    /// Lets the run be confirmed, once every part is done.
    fn confirm(&self) {
        self.answer(Answer::Confirm);
    }

    /// Ends the run. Where it waits for an answer, the partner hears of it at once.
    fn close(&self, py: Python<'_>) {
        let open = lock(&self.open).take();
        self.answer(Answer::Close);
        py.detach(|| {
            let until = Instant::now() + LEAVE;
            while open.as_ref().is_some_and(|(_, thread)| !thread.is_finished()) && Instant::now() < until {
                thread::sleep(SOON);
            }
            self.cancel.cancel();
            drop(open.map(|(_, thread)| thread.join()));
        });
    }
}

impl Drop for PartsRun {
    /// A run that nobody waits for any more is ended.
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl PartsRun {
    fn answer(&self, answer: Answer) {
        // The run is gone if it has failed; what it says next tells why.
        drop(lock(&self.to).send(answer));
    }

    /// Takes one message, if one comes within `limit`; events go to the caller. An exception of the caller's, or of a
    /// signal, cancels the run.
    fn receive(&self, py: Python<'_>, limit: Duration) -> PyResult<bool> {
        let received = py.detach(|| {
            let from = lock(&self.from);
            // Another thread that finds nothing more there has to find it among the early ones.
            from.recv_timeout(limit).map(|message| match message {
                Message::Event(line) => Some(line),
                message => {
                    lock(&self.early).push_back(message);
                    None
                }
            })
        });
        let told = match received {
            Ok(Some(line)) => self.on_event.bind(py).call1((line,)).map(drop),
            Ok(None) => Ok(()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| self.cancel.cancel())?;
                return Ok(false);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return match lock(&self.early).is_empty() && limit > Duration::ZERO {
                    true => Err(PyRuntimeError::new_err("the run is over")),
                    false => Ok(false),
                };
            }
        };
        told.and_then(|()| py.check_signals()).inspect_err(|_| self.cancel.cancel())?;
        Ok(true)
    }

    /// A message as Python has it.
    fn told<'py>(&self, py: Python<'py>, message: Message) -> PyResult<Bound<'py, PyAny>> {
        match message {
            Message::Event(_) => Ok(py.None().into_bound(py)),
            Message::Begun(Outline { parts, bounds, items_key, width, learns, partner_slots }) => (
                "begun",
                parts.count(),
                bounds.receiver,
                bounds.sender,
                PyBytes::new(py, &items_key),
                width.bytes(),
                learns,
                partner_slots,
            )
                .into_bound_py_any(py),
            Message::Round(Round { number, parts, ticket }) => {
                ("round", number, parts, PyBytes::new(py, ticket.as_slice())).into_bound_py_any(py)
            }
            Message::Chosen { receipts, done } => {
                let receipts: Vec<_> =
                    receipts.iter().map(|(part, receipt)| (*part, PyBytes::new(py, receipt))).collect();
                ("chosen", receipts, done).into_bound_py_any(py)
            }
            Message::Ended(ended) => {
                let open = lock(&self.open).take();
                let places = open.map(|(places, thread)| {
                    py.detach(|| drop(thread.join()));
                    places
                });
                let ended = ended.map_err(|error| raise(py, &error, None))?;
                ("ended", Outcome::of(py, ended, places.unwrap_or_default(), &self.cancel)?)
                    .into_bound_py_any(py)
            }
        }
    }
}

fn is_done(ended: &Result<Ended, Error>) -> bool {
    ended.as_ref().is_ok_and(|ended| ended.result.is_ok())
}
