//! Whole runs: one party against a partner, or both parties here.

use std::path::PathBuf;

use pyo3::prelude::*;
use rand_core::CryptoRng;
use vesica::assist::{self as helping, AssistJob};
use vesica::job::{Ended, Job, OnEvent};
use vesica::net::Address;
use vesica::output_paths::{self, RecordPaths, RecordPlaces};
use vesica::protocols::Role;
use vesica::run_file::RunFile;
use vesica::settings::Settings;
use vesica::table::{KeySpec, MatchRule, MatchRules, PairRule, PairSpec, TableError};
use vesica::{Error, channel, local as both, partner, randomness};

use crate::errors::raise;
use crate::identity::IdentityArg;
use crate::options::{Options, PartnerArgs};
use crate::play::{self, CancelToken, Escaped, token};
use crate::result::Outcome;
use crate::table::Table;

fn wrong_key(error: &TableError) -> Error {
    Error::usage(error.text(), "give the key as COLUMN or COLUMN:RULE, once for each key column")
}

fn keys(specs: &[String]) -> Result<Vec<KeySpec>, Error> {
    specs.iter().map(|spec| KeySpec::parse(spec).map_err(|error| wrong_key(&error))).collect()
}

/// What makes the keys: whether they are rules to match by (`match`) and not the columns of one key (`key`), and their
/// texts.
#[derive(FromPyObject)]
pub(crate) struct Specs(bool, Vec<String>);

impl Specs {
    pub(crate) fn rules(&self) -> Result<MatchRules, Error> {
        let Specs(true, specs) = self else { return Ok(keys(&self.1)?.into()) };
        let rules = specs.iter().map(|spec| MatchRule::parse(spec).map_err(|error| wrong_key(&error)));
        Ok(rules.collect::<Result<Vec<_>, _>>()?.into())
    }

    /// Those with which a side reads its table: the receiver's have their variants.
    pub(crate) fn of(&self, role: Option<&str>) -> Result<MatchRules, Error> {
        let rules = self.rules()?;
        match role {
            Some("receiver") => rules.with_variants().map_err(|error| wrong_key(&error)),
            None if rules.have_variants() => Err(Error::usage(
                "a rule with `~` makes other keys for the receiver than for the sender",
                "give role",
            )),
            _ => Ok(rules),
        }
    }

    /// Those of the first and of the second table.
    fn pairs(&self) -> Result<[MatchRules; 2], Error> {
        let Specs(several, specs) = self;
        let parse = |spec: &String| PairRule::parse(spec).map_err(|error| wrong_key(&error));
        if *several {
            let rules = specs.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
            let of = |side: fn(&PairRule) -> MatchRule| rules.iter().map(side).collect::<Vec<_>>().into();
            return Ok([of(PairRule::mine), of(PairRule::theirs)]);
        }
        let parse = |spec: &String| PairSpec::parse(spec).map_err(|error| wrong_key(&error));
        let pairs = specs.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let of = |side: fn(&PairSpec) -> KeySpec| pairs.iter().map(side).collect::<Vec<_>>().into();
        Ok([of(PairSpec::mine), of(PairSpec::theirs)])
    }
}

/// The columns of these rules.
fn columns(rules: &MatchRules) -> Vec<String> {
    rules.columns().map(|key| key.column.clone()).collect()
}

/// The columns that these keys name.
#[pyfunction]
pub(crate) fn key_columns(py: Python<'_>, specs: Specs) -> PyResult<Vec<String>> {
    Ok(columns(&specs.rules().map_err(|error| raise(py, &error, None))?))
}

/// The names of the keys that a row of this side has.
#[pyfunction]
pub(crate) fn rules(py: Python<'_>, specs: Specs, role: &str) -> PyResult<Vec<String>> {
    let rules = specs.of(Some(role)).map_err(|error| raise(py, &error, None))?;
    Ok(rules.iter().map(ToString::to_string).collect())
}

/// The columns of the first and of the second table that these keys name.
#[pyfunction]
pub(crate) fn pair_columns(py: Python<'_>, specs: Specs) -> PyResult<Vec<(String, String)>> {
    let [mine, theirs] = specs.pairs().map_err(|error| raise(py, &error, None))?;
    Ok(columns(&mine).into_iter().zip(columns(&theirs)).collect())
}

/// What a run file says.
type Said = (Vec<String>, Vec<(String, Option<String>)>, Vec<(String, String)>, Option<String>);

/// A run file for this command: the keys under its rules, the options, how the partner is met, and the key of its reader.
#[pyfunction]
pub(crate) fn run_file(py: Python<'_>, path: PathBuf, command: &str, specs: Specs) -> PyResult<Said> {
    let read = || {
        let file = RunFile::load(&path)?;
        file.check_command(command)?;
        let owned = |(name, value): (&str, Option<&str>)| (name.to_owned(), value.map(str::to_owned));
        let options = file.arguments().into_iter().map(owned).collect();
        let meeting = file.meeting().into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let Specs(several, specs) = &specs;
        let fit = *several == (file.key_option() == "match");
        Ok((
            file.keys_of(if fit { specs } else { &[] })?,
            options,
            meeting.collect(),
            file.partner.mine.clone(),
        ))
    };
    read().map_err(|error: Error| raise(py, &error, None))
}

/// The options of a run, for one party or for both.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How<'py> {
    pub(crate) options: Options,
    pub(crate) report: Option<PathBuf>,
    pub(crate) receipt: Option<PathBuf>,
    pub(crate) cancel: Option<Bound<'py, CancelToken>>,
    pub(crate) on_event: Bound<'py, PyAny>,
}

impl How<'_> {
    /// The settings, with the receipt if it is asked for.
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        Ok(Settings { receipt: self.receipt.is_some(), ..self.options.settings()? })
    }

    /// Where report and receipt go, checked as the command line does.
    pub(crate) fn places(
        &self,
        output: Option<&PathBuf>,
        protected: &[PathBuf],
    ) -> Result<RecordPlaces, Error> {
        let (report, receipt) = (self.report.as_deref(), self.receipt.as_deref());
        let records = RecordPaths { report, receipt, events: None };
        output_paths::check(output.map(PathBuf::as_path), records, protected)
    }

    /// Plays what `play` makes of the settings, once the place of the report is known to be fit for it. What escaped from the
    /// tables meanwhile is raised.
    pub(crate) fn go(
        self,
        py: Python<'_>,
        output: Option<&PathBuf>,
        protected: &[PathBuf],
        escaped: &Escaped,
        play: impl FnOnce(OnEvent<'_>, &channel::CancelToken) -> Ended + Send + 'static,
    ) -> PyResult<Outcome> {
        let places = self.places(output, protected).map_err(|error| raise(py, &error, None))?;
        let cancel = token(self.cancel.as_ref());
        let ended = play::play(py, &cancel, Some(&self.on_event), play)?;
        escaped.raise()?;
        Outcome::of(py, ended, places, &cancel)
    }
}

/// One party's run against a partner.
#[pyfunction]
#[pyo3(signature = (role, table, specs, partner, how))]
pub(crate) fn run(
    py: Python<'_>,
    role: &str,
    table: Table<'_>,
    specs: Specs,
    partner: PartnerArgs<'_>,
    how: How<'_>,
) -> PyResult<Outcome> {
    let refused = |error: Error| raise(py, &error, None);
    let role = if role == "sender" { Role::Sender } else { Role::Receiver };
    let keys = specs.rules().map_err(refused)?;
    let settings = how.settings().map_err(refused)?;
    let protected: Vec<PathBuf> = table.path().into_iter().chain(partner.protected()).collect();
    let partner = partner.partner().map_err(refused)?;
    let escaped = Escaped::default();
    let job = Job { role, table: table.args(keys, protected.clone(), &escaped)?, settings };
    how.go(py, table.output(), &protected, &escaped, move |on_event, cancel| match randomness() {
        Ok(mut rng) => job.run(&partner, cancel, &mut rng, on_event),
        Err(error) => job.refuse(error, on_event),
    })
}

/// A helper's run for two parties.
#[pyfunction]
#[pyo3(signature = (listen, identity, peers, how))]
pub(crate) fn assist(
    py: Python<'_>,
    listen: &str,
    identity: Option<IdentityArg<'_>>,
    peers: (String, String),
    how: How<'_>,
) -> PyResult<Outcome> {
    let refused = |error: Error| raise(py, &error, None);
    let settings = how.settings().map_err(refused)?;
    let prepared = partner::address(Some(listen), None).and_then(|address| {
        let Address::Listen(address) = address else { return Err(Error::usage("no address", "give listen")) };
        let peers = [partner::peer_key(&peers.0)?, partner::peer_key(&peers.1)?];
        AssistJob::new(address, IdentityArg::load(identity.as_ref())?, peers, settings.clone())
    });
    let job = prepared.map_err(refused)?;
    how.go(py, None, &[], &Escaped::default(), move |on_event, cancel| match randomness() {
        Ok(mut rng) => job.run(cancel, &mut rng, on_event),
        Err(error) => helping::refuse(error, &settings, on_event),
    })
}

/// Both parties' runs, in this process.
#[pyfunction]
#[pyo3(signature = (receiver, sender, specs, how))]
pub(crate) fn local(
    py: Python<'_>,
    receiver: Table<'_>,
    sender: Table<'_>,
    specs: Specs,
    how: How<'_>,
) -> PyResult<Outcome> {
    let refused = |error: Error| raise(py, &error, None);
    let [my_keys, their_keys] = specs.pairs().map_err(refused)?;
    let settings = how.settings().map_err(refused)?;
    let protected: Vec<PathBuf> = receiver.path().into_iter().chain(sender.path()).collect();
    let escaped = Escaped::default();
    let theirs = sender.args(their_keys, Vec::new(), &escaped)?;
    let mine = receiver.args(my_keys, protected.clone(), &escaped)?;
    how.go(py, receiver.output(), &protected, &escaped, move |on_event, cancel| {
        let rngs = randomness().and_then(|mine| Ok((mine, randomness()?)));
        let (mut my_rng, mut their_rng) = match rngs {
            Ok(rngs) => rngs,
            Err(error) => return Job { role: Role::Receiver, table: mine, settings }.refuse(error, on_event),
        };
        let rngs: [&mut (dyn CryptoRng + Send); 2] = [&mut my_rng, &mut their_rng];
        let (received, sent) = both::run(mine, theirs, &settings, cancel, rngs, on_event);
        both::combined(received, sent)
    })
}
