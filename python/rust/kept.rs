//! Kept sets: a publication, a look-up, and a server in a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use vesica::job::kept::lookup::{LookupJob, Sender};
use vesica::job::kept::publish::{Change, PublishJob, most_keys};
use vesica::job::kept::serve::{self, Place, ServeJob, ServeNotice, ServeOptions};
use vesica::partner::{self, AddressOptions};
use vesica::settings::Settings;
use vesica::{Error, RunPhase, caught, channel, randomness};

use crate::errors::raise;
use crate::identity::IdentityArg;
use crate::options::{Options, PartnerArgs, wrong_option};
use crate::play::{Escaped, POLL};
use crate::result::Outcome;
use crate::run::{How, Specs};
use crate::table::Table;

/// What is published: a table, or lists of what came and went, or one file of those so far.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Changes<'py> {
    table: Option<Table<'py>>,
    added: Option<Table<'py>>,
    removed: Option<Table<'py>>,
}

/// The files of a set that is published, and who signs it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Publication<'py> {
    output: PathBuf,
    secret: PathBuf,
    previous: Vec<PathBuf>,
    rotate: bool,
    max_keys: Option<String>,
    identity: Option<IdentityArg<'py>>,
    temp_dir: Option<PathBuf>,
}

/// Files that are no folders: an output may lie in a folder.
fn files(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    paths.iter().filter(|path| !path.is_dir()).cloned()
}

/// The identity's file, if it is one.
fn identity_file(identity: Option<&IdentityArg<'_>>) -> Option<PathBuf> {
    match identity {
        Some(IdentityArg::File(path)) => Some(path.clone()),
        Some(IdentityArg::Object(_)) => None,
        None => partner::default_identity().ok(),
    }
}

/// A new set file.
#[pyfunction]
#[pyo3(signature = (changes, specs, publication, how))]
pub(crate) fn publish(
    py: Python<'_>,
    changes: Changes<'_>,
    specs: Specs,
    publication: Publication<'_>,
    how: How<'_>,
) -> PyResult<Outcome> {
    let refused = |error: Error| raise(py, &error, None);
    let Publication { output, secret, previous, rotate, max_keys, identity, temp_dir } = publication;
    let keys = specs.rules().map_err(refused)?;
    let settings = Settings { temp_dir, ..how.options.settings().map_err(refused)? };
    let most_keys = max_keys.map(|text| most_keys(&text)).transpose();
    let most_keys = most_keys.map_err(|why| refused(wrong_option("max-keys", &why)))?;
    let tables = [&changes.table, &changes.added, &changes.removed];
    let mut protected: Vec<PathBuf> = tables.into_iter().flatten().filter_map(Table::path).collect();
    protected.extend(identity_file(identity.as_ref()).into_iter().chain([secret.clone()]));
    protected.extend(files(&previous));
    let identity = IdentityArg::load(identity.as_ref()).map_err(refused)?;
    let escaped = Escaped::default();
    let mut dialect = None;
    let mut source = |table: Option<Table<'_>>| {
        let Some(table) = table else { return Ok(None) };
        let args = table.args(keys.clone(), Vec::new(), &escaped)?;
        dialect = Some(args.dialect);
        Ok::<_, PyErr>(Some(args.input))
    };
    let change = match (source(changes.table)?, source(changes.added)?, source(changes.removed)?) {
        (Some(table), _, _) => Change::Table(table),
        (None, None, None) => Change::Compact,
        (None, added, removed) => Change::Lists { added, removed },
    };
    let dialect = dialect.unwrap_or_default();
    let job = PublishJob {
        change,
        keys,
        dialect,
        output: output.clone(),
        secret,
        identity,
        previous,
        rotate,
        most_keys,
        settings: settings.clone(),
    };
    how.go(py, Some(&output), &protected, &escaped, move |on_event, cancel| match randomness() {
        Ok(mut rng) => job.run(cancel, &mut rng, on_event),
        Err(error) => PublishJob::refuse(&settings, error, on_event),
    })
}

/// A set in which keys are looked up, and where its sender is asked if not by a partner's address.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KeptSet<'py> {
    set: Vec<PathBuf>,
    fetch: bool,
    post: Option<PathBuf>,
    identity: Option<IdentityArg<'py>>,
    peer: String,
}

/// The rows of a table whose keys are in a sender's set.
#[pyfunction]
#[pyo3(signature = (table, specs, set, partner, how))]
pub(crate) fn lookup(
    py: Python<'_>,
    table: Table<'_>,
    specs: Specs,
    set: KeptSet<'_>,
    partner: PartnerArgs<'_>,
    how: How<'_>,
) -> PyResult<Outcome> {
    let refused = |error: Error| raise(py, &error, None);
    let keys = specs.rules().map_err(refused)?;
    let settings = how.settings().map_err(refused)?;
    let mut protected: Vec<PathBuf> = table.path().into_iter().chain(partner.protected()).collect();
    protected.extend(files(&set.set));
    let identity = IdentityArg::load(set.identity.as_ref()).map_err(refused)?;
    let peer = partner::peer_key(&set.peer).map_err(refused)?;
    let served = if set.post.is_none() { Some(partner.partner().map_err(refused)?) } else { None };
    let escaped = Escaped::default();
    let table_args = table.args(keys, protected.clone(), &escaped)?;
    let job = LookupJob { table: table_args, set: set.set, fetch: set.fetch, settings: settings.clone() };
    let post = set.post.unwrap_or_default();
    how.go(py, table.output(), &protected, &escaped, move |on_event, cancel| {
        let sender = match &served {
            Some(partner) => Sender::Served(partner),
            None => Sender::Post { post: &post, identity: &identity, sender: peer },
        };
        match randomness() {
            Ok(mut rng) => job.run(&sender, cancel, &mut rng, on_event),
            Err(error) => LookupJob::refuse(&settings, error, on_event),
        }
    })
}

/// What a server needs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Service<'py> {
    secret: PathBuf,
    set: Vec<PathBuf>,
    ledger: PathBuf,
    allow: Vec<String>,
    listen: Option<String>,
    via: Option<String>,
    via_key: Option<String>,
    post: Option<PathBuf>,
    max_keys_per_day: Option<String>,
    identity: Option<IdentityArg<'py>>,
    options: Options,
}

impl Service<'_> {
    fn job(&self) -> Result<ServeJob, Error> {
        let one = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
        let (via, via_keys) = (one(&self.via), one(&self.via_key));
        let place = AddressOptions {
            listen: self.listen.as_deref(),
            connect: None,
            via: &via,
            via_keys: &via_keys,
            run: None,
        };
        let most_a_day = self.max_keys_per_day.as_deref().map(serve::most_a_day).transpose();
        ServeJob::new(ServeOptions {
            place: match &self.post {
                Some(post) => Place::Post(post.clone()),
                None => Place::Address(place.address()?),
            },
            identity: IdentityArg::load(self.identity.as_ref())?,
            allow: &self.allow,
            secret: &self.secret,
            set: &self.set,
            ledger: Path::new(&self.ledger),
            most_a_day: most_a_day.map_err(|why| wrong_option("max-keys-per-day", &why))?,
            settings: self.options.settings()?,
        })
    }
}

/// A server in a thread of its own.
#[pyclass(frozen, module = "vesica")]
pub(crate) struct Server {
    address: Option<String>,
    stop: channel::CancelToken,
    thread: Mutex<Option<JoinHandle<Result<(), Error>>>>,
    /// What the function raised that is told the notices.
    raised: Raised,
}

type Raised = Arc<Mutex<Option<PyErr>>>;

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[pymethods]
impl Server {
    /// Starts a server, and returns once it listens. `on_event` takes each notice as a line of JSON, in a thread of the server.
    #[staticmethod]
    #[pyo3(signature = (service, on_event))]
    fn start(py: Python<'_>, service: Service<'_>, on_event: Option<Py<PyAny>>) -> PyResult<Self> {
        let refused = |error: Error| raise(py, &error, None);
        let job = service.job().map_err(refused)?;
        let listens = service.listen.is_some();
        let (stop, raised) = (channel::CancelToken::new(), Raised::default());
        let (ready, is_ready) = mpsc::channel();
        let tell = {
            let (stop, raised, started) = (stop.clone(), raised.clone(), Instant::now());
            move |notice: &ServeNotice| {
                match notice {
                    ServeNotice::Listening { address, .. } => drop(ready.send(Some(address.clone()))),
                    ServeNotice::Set { .. } if !listens => drop(ready.send(None)),
                    _ => {}
                }
                let (Some(on_event), Ok(line)) = (&on_event, notice.to_json_line(started)) else { return };
                // The interpreter may be ending.
                let told = Python::try_attach(|py| on_event.call1(py, (line,)).map(drop));
                if let Some(Err(error)) = told {
                    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    stop.cancel();
                }
            }
        };
        let own = stop.clone();
        let body = move || caught(|| job.run(&own, &mut randomness()?, tell))?;
        let spawned = thread::Builder::new().name("vesica-serve".into()).spawn(body);
        let thread = spawned
            .map_err(|error| refused(Error::resources(RunPhase::Prepare, "cannot start a thread", &error)))?;
        let mut server = Server { address: None, stop, thread: Mutex::new(Some(thread)), raised };
        let is_ready = Mutex::new(is_ready);
        let next = || is_ready.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL);
        loop {
            match py.detach(next) {
                Ok(address) => {
                    server.address = address;
                    return Ok(server);
                }
                Err(RecvTimeoutError::Timeout) if !server.is_over() => py.check_signals()?,
                Err(_) => {
                    server.ended(py)?;
                    return Err(refused(Error::usage(
                        "the server ended before it listened",
                        "start it again",
                    )));
                }
            }
        }
    }

    /// Where it listens; none at a relay or a post-box.
    #[getter]
    fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Waits for the end of the server, or so many seconds. Whether it has ended.
    #[pyo3(signature = (seconds = None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let begun = Instant::now();
        while !self.is_over() {
            let left = seconds.map_or(POLL.as_secs_f64(), |seconds| seconds - begun.elapsed().as_secs_f64());
            if left <= 0.0 {
                return Ok(false);
            }
            py.detach(|| thread::sleep(Duration::from_secs_f64(left.min(POLL.as_secs_f64()))));
            py.check_signals()?;
        }
        self.ended(py).map(|()| true)
    }

    /// Stops the server in order. What ended it before is raised.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.stop.cancel();
        self.ended(py)
    }
}

impl Server {
    fn is_over(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the thread, and raises what it ended with, once.
    fn ended(&self, py: Python<'_>) -> PyResult<()> {
        let join = || {
            let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            thread.and_then(|thread| thread.join().ok())
        };
        let ended = py.detach(join);
        if let Some(raised) = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(raised);
        }
        match ended {
            Some(Err(error)) => Err(raise(py, &error, None)),
            _ => Ok(()),
        }
    }
}
