//! A ledger of runs: what was run with whom, about which set, and what all of it adds up to.
//!
//! ```text
//! file      lines of JSON, each with its number, the BLAKE3 digest of the line before, the time, and its own digest
//! ledger    the first line: the version, and the key of the sketches
//! begin     a run, before this side's size leaves        agreed    before the first message of the protocol
//! ended     how it ended                                 torn      what a crash had left of a line
//! ```
//!
//! A line is durable before the call returns that appends it, so no partner sees anything of a run that the ledger does
//! not have. A run without `ended` was killed, or goes on; it counts as spent.
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
mod sketch;
mod summary;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand_core::CryptoRng;
use vesica_encode::items::{Encoding, Width};
use vesica_kept::{LedgerError, open_locked};
use vesica_protocols::Role;
use vesica_table::shown_path;
use vesica_text::{Text, text};

use crate::words::error::{Error, Kind, REPORT_A_BUG, RunPhase, Side};
use crate::words::results::{ResultChoice, shown};
use crate::words::settings::Settings;
use crate::words::system::exhausted;
use account::Over;
pub use chain::PartnerLearns;
use chain::{Agreement, Begin, Chain, ChainError, End, Entry};
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
    run: Mutex<RunState>,
}

#[derive(Default)]
struct RunState {
    set: Option<OwnSet>,
    /// The number of the run's first line.
    line: Option<u64>,
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
        let sketch_key = opened().map_err(|error| chain_error(path, RunPhase::Prepare, &error))?;
        Ok(RunLedger { path: path.into(), sketch_key, run: Mutex::default() })
    }

    /// What makes the sketch of a set of items of so many bytes.
    pub(crate) fn sketcher(&self, width: usize) -> Sketcher {
        Sketcher::new(self.sketch_key, width)
    }

    /// This side's set is known.
    pub(crate) fn describe(&self, set: OwnSet) {
        self.state().set = Some(set);
    }

    /// Writes down that a run begins with the partner of that public key. `post` is what a run by post is known by.
    /// Gives what the user is to be told.
    ///
    /// # Errors
    /// If the run is not within the budgets, or the line cannot be made durable.
    pub(crate) fn begin(
        &self,
        role: Role,
        settings: &Settings,
        partner: String,
        post: Option<String>,
    ) -> Result<Option<Text>, Error> {
        let mut state = self.state();
        let Some(set) = &state.set else {
            return Err(Error {
                phase: RunPhase::Agree,
                kind: Kind::Internal,
                ..Error::usage("no set", REPORT_A_BUG)
            });
        };
        let begin = begin(role, settings, set, partner, post);
        let (line, torn) = self.locked(|file, chain| {
            let runs = account::runs(&chain.lines)?;
            let goes_on = |run: &&account::NotedRun| {
                begin.post.is_some() && run.begin.post == begin.post && run.begin.partner == begin.partner
            };
            if let Some(run) = runs.iter().find(goes_on) {
                return Ok((run.line, 0));
            }
            let checked = account::check(account::spent(runs.iter(), &begin), &begin);
            checked.map_err(|over| Stop::Over(over, times(&runs)))?;
            let torn = chain.torn.len();
            let line = chain.append(file, &self.path, Entry::Begin(Box::new(begin)))?;
            Ok((line, torn))
        })?;
        state.line = Some(line);
        let told = || {
            text!(
                "{}: line {} of the ledger was not whole: {} bytes that a crash had left. A line of its own quotes them; nothing \
                 had left this side for them",
                shown_path(&self.path),
                line - 1,
                torn
            )
        };
        Ok((torn > 0).then(told))
    }

    /// Writes down what both sides have agreed on, before the protocol begins.
    ///
    /// # Errors
    /// If the partner asks for more keys than the budget has left, or the line cannot be made durable.
    pub(crate) fn agreed(&self, session: String, protocol: &str, peer_keys: u64) -> Result<(), Error> {
        self.agreed_on(session, protocol, peer_keys, None)
    }

    /// The same by post, where the sender answers the query of that digest.
    ///
    /// # Errors
    /// As [`agreed`](Self::agreed).
    pub(crate) fn agreed_on(
        &self,
        session: String,
        protocol: &str,
        peer_keys: u64,
        query: Option<String>,
    ) -> Result<(), Error> {
        let Some(run) = self.state().line else { return Ok(()) };
        let agreement = Agreement { run, session, protocol: protocol.to_owned(), peer_keys, query };
        self.locked(|file, chain| {
            let runs = account::runs(&chain.lines)?;
            let Some(mine) = runs.iter().find(|known| known.line == run) else {
                return Err(ChainError::Broken { line: run, why: "is not what this run has written" }.into());
            };
            if mine.agreements.contains(&agreement) {
                return Ok(());
            }
            let others = runs.iter().filter(|other| other.line != run);
            let spent = account::spent(others, &mine.begin);
            let checked = account::check_questions(spent, mine, peer_keys);
            checked.map_err(|over| Stop::Over(over, times(&runs)))?;
            chain.append(file, &self.path, Entry::Agreed(agreement))?;
            Ok(())
        })
    }

    /// Writes down how the run has ended, if it had begun. Gives what the user is to be told.
    ///
    /// # Errors
    /// If the line cannot be made durable.
    pub(crate) fn ended(&self, error: Option<&Error>) -> Result<Option<Text>, Error> {
        let Some(run) = self.state().line else { return Ok(None) };
        let outcome = if error.is_none() { "confirmed" } else { "failed" }.to_owned();
        let phase = error.map(|error| error.phase.name().to_owned());
        let code = error.map_or(0, |error| error.kind.exit_code());
        self.locked(|file, chain| {
            let line = chain.append(file, &self.path, Entry::Ended(End { run, outcome, phase, code }))?;
            let (path, last) = (shown_path(&self.path), chain.last().to_hex().to_string());
            Ok(Some(text!("{}: run {} ends with line {}, whose digest is {}", path, run, line, last)))
        })
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
            Stop::Chain(error) => chain_error(&self.path, RunPhase::Agree, &error),
            Stop::Over(over, times) => refused(&self.path, &over, &times),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, RunState> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why nothing is appended.
enum Stop {
    Chain(ChainError),
    /// A budget, and when each run began.
    Over(Over, Vec<(u64, String)>),
}

impl<E: Into<ChainError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Chain(error.into())
    }
}

fn times(runs: &[account::NotedRun]) -> Vec<(u64, String)> {
    runs.iter().map(|run| (run.line, run.time.clone())).collect()
}

/// The first line of a run.
fn begin(role: Role, settings: &Settings, set: &OwnSet, partner: String, post: Option<String>) -> Begin {
    let result = settings.result.kind();
    Begin {
        role: role.name().to_owned(),
        partner,
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
        result: result.name().name().to_owned(),
        partner_learns: partner_learns(role.other(), settings),
        noise: settings.result.noise.map(shown),
        max_counts: settings.budgets.max_counts.unwrap_or(USUAL_COUNTS),
        max_questions: settings.budgets.max_questions,
        max_epsilon: settings.budgets.max_epsilon.map(shown),
        post,
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

/// A ledger that cannot be used.
fn chain_error(path: &Path, phase: RunPhase, error: &ChainError) -> Error {
    let of = |kind, remedy: Text| Error {
        phase,
        kind,
        ..Error::usage(text!("{}: the ledger: {}", shown_path(path), error.to_string()), remedy)
    };
    match error {
        ChainError::Io(source) => match (exhausted(source), source.kind()) {
            (Some(remedy), _) => of(Kind::Resources, remedy.into()),
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
        ChainError::NotALedger => {
            of(Kind::Usage, "name a ledger of runs with `[ledger]`, or a new file, in which one begins".into())
        }
        ChainError::Broken { .. } => of(
            Kind::Input,
            "nothing runs on a ledger that was changed. Restore it from a copy; with another file, all budgets begin anew".into(),
        ),
    }
}

/// A run that a budget does not allow.
fn refused(path: &Path, over: &Over, times: &[(u64, String)]) -> Error {
    let ledger = shown_path(path);
    let named = |lines: &[u64]| -> String {
        let day = |line: &u64| times.iter().find(|(run, _)| run == line).and_then(|(_, time)| time.get(..10));
        let of_run = |line: &u64| format!("{line} ({})", day(line).unwrap_or("?"));
        lines.iter().map(of_run).collect::<Vec<_>>().join(", ")
    };
    let (message, remedy) = match over {
        Over::Counts { most, earlier } => (
            text!(
                "{}: there were {} counts (or sums, or thresholds) with this partner about nearly the same set, and \
                 `[max-counts {}]` is the limit: runs {}",
                ledger,
                earlier.len(),
                *most,
                named(earlier)
            ),
            "ask for no further number about this set: counts of sets that differ in one key tell of that key. \
             `vesica ledger` shows the runs; a higher `[max-counts]` allows more",
        ),
        Over::Exact { most, earlier } if earlier.is_empty() => (
            text!(
                "{}: `[max-epsilon {}]` bounds counts with noise: by this run {the partner} would learn an exact number, or rows",
                ledger,
                most.clone()
            ),
            "{agree with the partner on} a count with `[noise]`, or leave out `[max-epsilon]`",
        ),
        Over::Exact { most, earlier } => (
            text!(
                "{}: earlier runs with this partner about nearly the same set had rows, or counts without noise, so no \
                 `[max-epsilon {}]` holds: runs {}",
                ledger,
                most.clone(),
                named(earlier)
            ),
            "leave out `[max-epsilon]`: `[max-counts]` bounds counts, `[max-questions]` rows",
        ),
        Over::Epsilon { total, most, earlier } => (
            text!(
                "{}: with this run, epsilon with this partner about nearly the same set would be {}, and `[max-epsilon {}]` is \
                 the limit: runs {}",
                ledger,
                total.clone(),
                most.clone(),
                named(earlier)
            ),
            "{agree with the partner on} a smaller `[noise]`; `vesica ledger` shows the runs; a higher `[max-epsilon]` allows more",
        ),
        Over::Questions { asked, now, most, earlier } => (
            text!(
                "{}: the partner has asked for {} keys about nearly the same set{}, and `[max-questions {}]` is the limit: runs {}",
                ledger,
                *asked,
                now.map_or_else(String::new, |now| format!(" and asks for {now} now")),
                *most,
                named(earlier)
            ),
            "`vesica ledger` shows the runs; a higher `[max-questions]` allows more",
        ),
    };
    Error { side: Side::Ours, phase: RunPhase::Agree, kind: Kind::Refused, message, remedy: remedy.into() }
}
