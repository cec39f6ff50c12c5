//! What a ledger says, for a person and for programs.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::Serialize;
use vesica_table::shown_path;
use vesica_text::text;

use super::account::{NotedRun, epsilon, runs, same_set, spent};
use super::chain::{Chain, ChainError, Entry, PartnerLearns, Refusal};
use super::told;
use crate::words::error::{Error, Kind, RunPhase};
use crate::words::results::shown_thousandths;

/// A ledger whose chain holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// How many lines it has.
    pub lines: u64,
    /// The BLAKE3 digest of the last one, in hexadecimal digits. Whoever notes it elsewhere can tell later whether the
    /// ledger still has that line, and all before it.
    pub last: String,
    /// What crashes had left of lines, as lines name it, and at the end.
    pub torn: Vec<Torn>,
    /// The partners, in the order of their first runs.
    pub partners: Vec<PartnerRuns>,
}

/// What a crash had left of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Torn {
    /// The number of the line.
    pub line: u64,
    /// How many bytes it was.
    pub bytes: u64,
}

/// Runs with one partner.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartnerRuns {
    /// The partner's public key.
    pub partner: String,
    /// The sets that the runs were about.
    pub sets: Vec<SetRuns>,
}

/// Runs with one partner about nearly the same set, and what they add up to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetRuns {
    /// How many keys the set had in the last of the runs.
    pub keys: u64,
    /// The rules of these keys.
    pub rules: String,
    /// Counts, sums and thresholds that the partner has learned, or may have.
    pub counts: BudgetUse,
    /// The partner's keys of which it has learned whether they match.
    pub questions: BudgetUse,
    /// ε of the counts with noise in all.
    pub epsilon: String,
    /// The limit on that, if the last run had one.
    pub max_epsilon: Option<String>,
    /// Counts without noise, and runs by which the partner learnt rows, or may have: for these no ε holds.
    pub without_epsilon: u64,
    /// All runs, in their order.
    pub runs: Vec<RunLine>,
}

/// What was spent, and what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BudgetUse {
    /// What was spent.
    pub spent: u64,
    /// The limit, if the last run had one.
    pub most: Option<u64>,
    /// What is left of it.
    pub left: Option<u64>,
}

/// A run in a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunLine {
    /// Its number.
    pub run: u64,
    /// When it began.
    pub time: String,
    /// This side's role.
    pub role: String,
    /// The result.
    pub result: String,
    /// What the partner learns by it.
    pub partner_learns: PartnerLearns,
    /// ε of the noise on a count.
    pub noise: Option<String>,
    /// The BLAKE3 digest of the table's file, where there is one.
    pub input: Option<String>,
    /// How many different keys the table had.
    pub keys: u64,
    /// How many the partner's had, if that was agreed; in all, if a run by post was answered more than once.
    pub peer_keys: Option<u64>,
    /// The protocol that was asked for, or agreed on.
    pub protocol: String,
    /// The security that was asked for.
    pub security: String,
    /// The name of the run in both sides' reports, if it was agreed.
    pub session: Option<String>,
    /// `confirmed`, `failed`, `refused`, or `open`: it was killed, or goes on.
    pub outcome: String,
    /// The budget that did not allow it, if it was refused.
    pub refused: Option<RefusedBy>,
    /// The phase in which it failed.
    pub phase: Option<String>,
    /// Whether the partner may have learned something of the set beside its size.
    pub spent: bool,
}

/// A budget that a run is beyond.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedBy {
    /// Its option, such as `max-counts`.
    pub budget: String,
    /// Its limit.
    pub limit: String,
}

/// Digits of a digest.
const DIGITS: usize = 64;

/// Reads a ledger and checks its chain. With `expect`, a digest that [`Summary::last`] was at some time, it has to be
/// that of a line.
///
/// # Errors
/// If the file cannot be read, its chain is broken, or it has no line of that digest.
pub fn read(path: &Path, expect: Option<&str>) -> Result<Summary, Error> {
    let expect = expect.map(|digest| digest.trim().to_ascii_lowercase());
    if let Some(digest) = &expect
        && (digest.len() != DIGITS || !digest.bytes().all(|digit| digit.is_ascii_hexdigit()))
    {
        let message =
            text!("{}: a digest has {} hexadecimal digits", digest.escape_default().to_string(), DIGITS);
        return Err(Error::usage(message, "give the whole digest, as the run has said it at its end"));
    }
    let opened = || -> Result<_, ChainError> {
        let file = File::open(path)?;
        // A run that appends at this moment is waited for.
        file.lock_shared().map_err(|error| io::Error::new(io::ErrorKind::Unsupported, error.to_string()))?;
        let chain = Chain::read(&file)?;
        if chain.lines.is_empty() {
            return Err(ChainError::NotALedger);
        }
        let runs = runs(&chain.lines)?;
        Ok((chain, runs))
    };
    let (chain, runs) = opened().map_err(|error| unread(path, &error))?;
    if let Some(digest) = expect
        && !chain.digests.iter().any(|line| line.to_hex().as_str() == digest)
    {
        let message = text!("{}: no line of the ledger has the digest {}", shown_path(path), digest);
        let remedy = "lines were cut off or made anew since that digest was noted, or it is another ledger's";
        return Err(Error { phase: RunPhase::Read, kind: Kind::Input, ..Error::usage(message, remedy) });
    }
    Ok(summary(&chain, &runs))
}

/// A ledger that cannot be shown.
fn unread(path: &Path, error: &ChainError) -> Error {
    let (phase, message) = (RunPhase::Read, told(path, error));
    let of = |kind, remedy| Error { phase, kind, ..Error::usage(message, remedy) };
    match error {
        ChainError::Io(source) if source.kind() == io::ErrorKind::Unsupported => {
            of(Kind::Usage, "copy it to a disk of this machine: the system cannot lock this one")
        }
        ChainError::Io(_) => of(Kind::Input, "name a ledger that is there and that you may read"),
        ChainError::NotALedger => {
            of(Kind::Usage, "name a file that `vesica receive` or `vesica send` has written with `[ledger]`")
        }
        ChainError::Served => of(
            Kind::Usage,
            "its look-ups are in the events of `vesica serve`. Here name a file that `vesica receive` or `vesica send` has \
             written with `[ledger]`",
        ),
        ChainError::Broken { .. } => {
            of(Kind::Input, "nothing runs on a ledger that was changed. Restore it from a copy")
        }
    }
}

pub(super) fn summary(chain: &Chain, runs: &[NotedRun]) -> Summary {
    let mut torn: Vec<Torn> = Vec::new();
    for line in &chain.lines {
        if let Entry::Torn { bytes, .. } = line.entry {
            torn.push(Torn { line: line.line, bytes });
        }
    }
    if !chain.torn.is_empty() {
        torn.push(Torn { line: chain.lines.len() as u64, bytes: chain.torn.len() as u64 });
    }
    let mut groups: Vec<Vec<&NotedRun>> = Vec::new();
    for run in runs {
        let mut with_partner = groups.iter_mut().filter(|group| {
            group.last().is_some_and(|last| {
                last.begin.partner == run.begin.partner && same_set(&last.begin, &run.begin)
            })
        });
        match with_partner.next() {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    let mut partners: Vec<PartnerRuns> = Vec::new();
    for group in groups {
        let Some(last) = group.last() else { continue };
        let (partner, set) = (last.begin.partner.clone(), set_runs(&group, last, runs));
        match partners.iter_mut().find(|known| known.partner == partner) {
            Some(known) => known.sets.push(set),
            None => partners.push(PartnerRuns { partner, sets: vec![set] }),
        }
    }
    Summary { lines: chain.lines.len() as u64, last: chain.last().to_hex().to_string(), torn, partners }
}

/// The runs of a group, and what is left for another one about the set of its last.
fn set_runs(group: &[&NotedRun], last: &NotedRun, all: &[NotedRun]) -> SetRuns {
    let spent = spent(all.iter(), &last.begin);
    let budget = |spent: u64, most: Option<u64>| {
        let left = most.map(|most| most.saturating_sub(spent));
        BudgetUse { spent, most, left }
    };
    SetRuns {
        keys: last.begin.keys,
        rules: last.begin.rules.clone(),
        counts: budget(spent.counts.len() as u64, Some(last.begin.max_counts)),
        questions: budget(spent.questions, last.begin.max_questions),
        epsilon: shown_thousandths(spent.epsilon),
        max_epsilon: last.begin.max_epsilon.clone().filter(|text| epsilon(Some(text)).is_some()),
        without_epsilon: spent.exact.len() as u64,
        runs: group.iter().map(|run| run_line(run)).collect(),
    }
}

fn run_line(run: &NotedRun) -> RunLine {
    let NotedRun { time, last: _, begin, agreements, end, refusal } = run;
    let refused_at = refusal.as_ref().and_then(|refusal| refusal.agreed.as_ref());
    let known = agreements.last().or(refused_at);
    let ended = end.as_ref().map_or("open", |end| &end.outcome);
    let refused = refusal
        .as_ref()
        .map(|Refusal { budget, limit, .. }| RefusedBy { budget: budget.clone(), limit: limit.clone() });
    RunLine {
        run: begin.run,
        time: time.clone(),
        role: begin.role.clone(),
        result: begin.result.clone(),
        partner_learns: begin.partner_learns,
        noise: begin.noise.clone(),
        input: begin.input.clone(),
        keys: begin.keys,
        peer_keys: known.map(|known| if agreements.is_empty() { known.peer_keys } else { run.peer_keys() }),
        protocol: known.map_or(&begin.protocol, |agreement| &agreement.protocol).clone(),
        security: begin.security.clone(),
        session: known.map(|agreement| agreement.session.clone()),
        outcome: if refused.is_some() { "refused" } else { ended }.to_owned(),
        refused,
        phase: end.as_ref().and_then(|end| end.phase.clone()),
        spent: run.is_spent(),
    }
}
