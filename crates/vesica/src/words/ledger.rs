//! A ledger of runs: what was run with whom, about which set, and what all of it adds up to.
//!
//! ```text
//! file      lines of JSON, each with its number, the BLAKE3 digest of the line before, the time, and its own digest
//! ledger    the first line: the version, and the key of the sketches
//! begin     a run, before this side's size leaves        agreed    before the first message of the protocol
//! ended     how it ended                                 refused   a budget does not allow it
//! torn      what a crash had left of a line
//! ```
//!
//! A line is durable before the call returns that appends it, so no partner sees anything of a run that the ledger does
//! not have. A run without `ended` was killed, or goes on; it counts as spent. A run that is refused ends with its line
//! `refused`, which is its only one if it is refused before it begins; it counts for nothing.
//!
//! **Several runs at once** share a file. It is locked while a line is appended, and no longer: the chain is checked,
//! the budgets are compared with all lines and the new one is appended under one lock. So two runs cannot both have the
//! last count.
//!
//! **What the chain shows.** That a line was changed, taken out or put in, unless its digest and all lines after it were
//! made anew. It does not bind whoever can write the file and knows the format: such a person can make all lines anew
//! from one on, or cut the end off, also so that it looks like what a crash leaves. That shows only to somebody who has
//! noted the digest of a later line ([`read`] takes one).

mod account;
mod chain;
mod refusal;
mod sketch;
mod summary;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand_core::CryptoRng;
use vesica_encode::items::{Encoding, Width};
use vesica_kept::{LedgerError, open_locked};
use vesica_protocols::Role;
use vesica_table::shown_path;
use vesica_text::{Text, text};

use crate::words::error::{Error, Kind, RunPhase};
use crate::words::report::LedgerReport;
use crate::words::results::{ResultChoice, shown};
use crate::words::settings::Settings;
use crate::words::system::exhausted;
pub use chain::PartnerLearns;
use chain::{Agreement, Begin, Chain, ChainError, End, Entry};
use refusal::Over;
pub(crate) use sketch::{Sketch, Sketcher};
pub use summary::{BudgetUse, PartnerRuns, RunLine, SetRuns, Summary, Torn, read};

/// How long a run waits for another one that appends to the same ledger.
const PATIENCE: Duration = Duration::from_secs(10);
/// Counts with one partner about nearly the same set, where no other number is given.
pub const USUAL_COUNTS: u64 = 4;

/// The ledger of a run.
pub(crate) struct RunLedger {
    path: PathBuf,
    sketch_key: [u8; 32],
    /// The number of the run, once it has a line.
    run: Mutex<Option<u64>>,
}

/// A run that is to begin.
pub(crate) struct NewRun<'a> {
    pub(crate) role: Role,
    pub(crate) settings: &'a Settings,
    pub(crate) set: &'a OwnSet,
    /// The partner's public key.
    pub(crate) partner: String,
    /// What a run by post is known by.
    pub(crate) post: Option<String>,
}

/// This side's set, as a ledger has it.
pub(crate) struct OwnSet {
    /// The BLAKE3 digest of the table's file, where there is one.
    pub(crate) input: Option<String>,
    /// The rules of the keys, as both sides agree on them.
    pub(crate) rules: String,
    /// What items are made of keys.
    pub(crate) encoding: Encoding,
    /// Different keys of the table.
    pub(crate) keys: u64,
    pub(crate) sketch: Sketch,
}

impl RunLedger {
    /// Opens the ledger at `path`, or begins one that only its owner can read.
    ///
    /// # Errors
    /// If it cannot be opened, or is none, or its chain is broken.
    pub(crate) fn open(path: &Path, rng: &mut dyn CryptoRng) -> Result<Self, Error> {
        let mut opened = || -> Result<_, ChainError> {
            let file = open_locked(path, PATIENCE).map_err(of_lock)?;
            let mut chain = Chain::read(&file)?;
            account::runs(&chain.lines)?;
            if let Some(key) = chain.sketch_key()? {
                return Ok(key);
            }
            let mut key = [0; 32];
            rng.fill_bytes(&mut key);
            chain.begin(&file, path, key)?;
            Ok(key)
        };
        let sketch_key = opened().map_err(|error| chain_error(path, &error, RunPhase::Prepare))?;
        Ok(RunLedger { path: path.into(), sketch_key, run: Mutex::default() })
    }

    /// What makes the sketch of a set of items of so many bytes.
    pub(crate) fn sketcher(&self, width: usize) -> Sketcher {
        Sketcher::new(self.sketch_key, width)
    }

    /// Writes down that a run begins, or that it is refused. `tell` gets what the user is to be told.
    ///
    /// # Errors
    /// If the run is not within the budgets, or the line cannot be made durable.
    pub(crate) fn begin(&self, run: &NewRun<'_>, tell: &dyn Fn(Text)) -> Result<(), Error> {
        let mut begun = self.run();
        self.locked(|file, chain| {
            let runs = account::runs(&chain.lines)?;
            let begin = run.begin(runs.len() as u64 + 1);
            let goes_on = |noted: &&account::NotedRun| noted.goes_on_with(&begin);
            if let Some(noted) = runs.iter().find(goes_on) {
                let number = noted.begin.run;
                if (Begin { run: number, ..begin }) != noted.begin {
                    return Err(Stop::Another);
                }
                *begun = Some(number);
                return Ok(());
            }
            let (number, torn) = (begin.run, chain.torn.len());
            let checked = account::check(account::spent(runs.iter(), &begin), &begin);
            let entry = match &checked {
                Ok(()) => Entry::Begin(Box::new(begin)),
                Err(over) => Entry::Refused(over.before(begin)),
            };
            let line = chain.append(file, entry)?;
            *begun = Some(number);
            if torn > 0 {
                tell(text!(
                    "{}: line {} of the ledger was not whole: {} bytes that a crash had left. A line of its own names them; \
                     nothing had left this side for them",
                    shown_path(&self.path),
                    line - 1,
                    torn
                ));
            }
            checked.map_err(Stop::Over)
        })
    }

    /// Writes down what both sides have agreed on, before the protocol begins, or that the run is refused. By post, `query`
    /// is the digest of what the sender answers.
    ///
    /// # Errors
    /// If the partner asks for more keys than the budget has left, or the line cannot be made durable.
    pub(crate) fn agreed(
        &self,
        session: String,
        protocol: &str,
        peer_keys: u64,
        query: Option<String>,
    ) -> Result<(), Error> {
        let Some(run) = *self.run() else { return Ok(()) };
        let agreement = Agreement { run, session, protocol: protocol.to_owned(), peer_keys, query };
        self.locked(|file, chain| {
            let runs = account::runs(&chain.lines)?;
            let mine = account::of_number(&runs, run)?;
            if mine.agreements.contains(&agreement) {
                return Ok(());
            }
            let others = runs.iter().filter(|other| other.begin.run != run);
            let checked = account::check_questions(account::spent(others, &mine.begin), mine, peer_keys);
            let entry = match &checked {
                Ok(()) => Entry::Agreed(agreement),
                Err(over) => Entry::Refused(over.at(agreement)),
            };
            chain.append(file, entry)?;
            checked.map_err(Stop::Over)
        })
    }

    /// Writes down how the run has ended, if it had begun and was not refused. Gives its last line, if it has one.
    ///
    /// # Errors
    /// If the line cannot be made durable.
    pub(crate) fn ended(&self, error: Option<&Error>) -> Result<Option<LedgerReport>, Error> {
        let Some(run) = *self.run() else { return Ok(None) };
        let outcome = if error.is_none() { "confirmed" } else { "failed" }.to_owned();
        let phase = error.map(|error| error.phase.name().to_owned());
        let code = error.map_or(0, |error| error.kind.exit_code());
        self.locked(|file, chain| {
            let runs = account::runs(&chain.lines)?;
            let mine = account::of_number(&runs, run)?;
            let line = match mine.refusal {
                Some(_) => mine.last,
                None => chain.append(file, Entry::Ended(End { run, outcome, phase, code }))?,
            };
            let digest = chain.digests.get(line as usize).map(|digest| digest.to_hex().to_string());
            Ok(Some(LedgerReport { run, line, digest: digest.unwrap_or_default() }))
        })
    }

    /// What the user is told of that last line.
    pub(crate) fn last_line(&self, LedgerReport { run, line, digest }: &LedgerReport) -> Text {
        let path = shown_path(&self.path);
        text!("{}: run {} ends with line {}, whose digest is {}", path, *run, *line, digest.clone())
    }

    /// Reads the ledger and acts on it, with the file locked.
    fn locked<T>(&self, act: impl FnOnce(&File, &mut Chain) -> Result<T, Stop>) -> Result<T, Error> {
        let acted = || -> Result<T, Stop> {
            let file = open_locked(&self.path, PATIENCE).map_err(of_lock)?;
            let mut chain = Chain::read(&file)?;
            if chain.sketch_key()? != Some(self.sketch_key) {
                return Err(ChainError::Broken { line: 0, why: "is another than when this run began" }.into());
            }
            act(&file, &mut chain)
        };
        acted().map_err(|stop| match stop {
            Stop::Chain(error) => chain_error(&self.path, &error, RunPhase::Agree),
            Stop::Over(over) => over.error(&self.path),
            Stop::Another => Error::usage(
                text!(
                    "{}: this run was begun with another table, or with other budgets",
                    shown_path(&self.path)
                ),
                "give the table and the options of the call that began it",
            ),
        })
    }

    fn run(&self) -> MutexGuard<'_, Option<u64>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why nothing is appended.
enum Stop {
    Chain(ChainError),
    /// A budget does not allow the run.
    Over(Over),
    /// A call by post comes with another table, or other options, than that which began its run.
    Another,
}

impl<E: Into<ChainError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Chain(error.into())
    }
}

impl NewRun<'_> {
    /// The first line of the run of that number.
    fn begin(&self, run: u64) -> Begin {
        let NewRun { role, settings, set, .. } = *self;
        Begin {
            run,
            role: role.name().to_owned(),
            partner: self.partner.clone(),
            input: set.input.clone(),
            rules: set.rules.clone(),
            items: match set.encoding {
                Encoding::Digest(Width::Digest128) => "digest128".to_owned(),
                Encoding::Digest(Width::Digest256) => "digest256".to_owned(),
                Encoding::Native { sigma } => format!("sigma{sigma}"),
            },
            keys: set.keys,
            sketch: set.sketch.clone(),
            protocol: settings.protocol.to_string(),
            security: settings.security.name().to_owned(),
            result: settings.result.kind().name().name().to_owned(),
            partner_learns: partner_learns(role.other(), settings),
            noise: settings.result.noise.map(shown),
            max_counts: settings.budgets.max_counts.unwrap_or(USUAL_COUNTS),
            max_questions: settings.budgets.max_questions,
            max_epsilon: settings.budgets.max_epsilon.map(shown),
            post: self.post.clone(),
        }
    }
}

/// What a partner in that role learns of this side's set.
fn partner_learns(partner: Role, settings: &Settings) -> PartnerLearns {
    let rows = settings.result.result == ResultChoice::Rows;
    let enough = settings.result.min_matches.is_some() || settings.audit_max.is_some();
    match settings.learns_result(partner) {
        true if rows => PartnerLearns::Rows,
        true => PartnerLearns::Number,
        // It learns whether enough keys match, or too many.
        false if enough => PartnerLearns::Number,
        false => PartnerLearns::Nothing,
    }
}

fn of_lock(error: LedgerError) -> ChainError {
    let (kind, text) = match error {
        LedgerError::Open { source, .. } => return ChainError::Io(source),
        LedgerError::InUse { .. } => {
            (io::ErrorKind::WouldBlock, "another program keeps it locked".to_owned())
        }
        other => (io::ErrorKind::Unsupported, other.to_string()),
    };
    ChainError::Io(io::Error::new(kind, text))
}

/// A ledger that cannot be used by a run.
fn chain_error(path: &Path, error: &ChainError, phase: RunPhase) -> Error {
    let of = |kind, remedy: Text| Error { phase, kind, ..Error::usage(told(path, error), remedy) };
    match error {
        ChainError::Io(source) => match (exhausted(source), source.kind()) {
            (Some(remedy), _) => of(Kind::Resources, remedy.into()),
            (None, io::ErrorKind::NotFound) => {
                of(Kind::Usage, "make the folder first, or name a file in an existing one with `[ledger]`".into())
            }
            (None, io::ErrorKind::WouldBlock) => {
                of(Kind::Usage, "find out which program has it open, and end that; runs lock it for moments only".into())
            }
            (None, io::ErrorKind::Unsupported) => of(
                Kind::Usage,
                "name a file on a disk of this machine with `[ledger]`: the system cannot lock this one".into(),
            ),
            _ => of(
                Kind::Output,
                "name a file in a folder that you may write to with `[ledger]`; {nothing was written here}".into(),
            ),
        },
        ChainError::NotALedger | ChainError::Served => {
            of(Kind::Usage, "name a ledger of runs with `[ledger]`, or a new file, in which one begins".into())
        }
        ChainError::Broken { .. } => of(
            Kind::Input,
            "nothing runs on a ledger that was changed. Restore it from a copy; with another file, all budgets begin anew".into(),
        ),
    }
}

/// What is wrong with a ledger.
fn told(path: &Path, error: &ChainError) -> Text {
    let path = shown_path(path);
    match error {
        ChainError::NotALedger | ChainError::Served => text!("{} {}", path, error.to_string()),
        _ => text!("{}: the ledger: {}", path, error.to_string()),
    }
}
