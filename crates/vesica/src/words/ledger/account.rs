//! What the runs of a ledger add up to, and whether another one is within the budgets.
//!
//! Runs add up that are with one partner and about nearly the same set ([`same_set`]). Of these,
//!
//! - **counts** are those whose partner learns a number. k exact counts over sets of n keys tell at most k·log₂(n + 1)
//!   bits; some 2n/log₂ n of them tell every member of a set of n (Lindström 1965), and two that differ in a key tell
//!   of that key;
//! - **ε** of counts with noise is added up: runs with ε₁, …, ε_k are (ε₁ + … + ε_k)-differentially private together
//!   (Dwork and Roth, "The Algorithmic Foundations of Differential Privacy", Theorem 3.16 without δ; the odds of each run
//!   multiply also if later runs depend on earlier results). A count without noise has no ε, and rows have none: they
//!   reveal more than a count;
//! - **questions** are the keys of the partner, where it learns which of them match.
//!
//! A run by post may be answered again, if the partner puts another query in the place of the first. Each answer counts.
//!
//! A run is spent from its first line on, unless it has ended before the protocol began: nobody knows how far a run
//! went that was killed, and one that goes on at the same time may still come to its end.

use super::chain::{Agreement, Begin, ChainError, End, Entry, Line, PartnerLearns};
use crate::words::results::{noise, shown_thousandths};

/// Sets with less than this share of the smaller one in common are different sets.
const SAME: f64 = 0.5;

/// A run, as the ledger has it.
#[derive(Debug)]
pub(super) struct NotedRun {
    /// The number of its first line, by which it is known.
    pub(super) line: u64,
    pub(super) time: String,
    pub(super) begin: Begin,
    /// What was agreed on before each answer, in order: one, but by post.
    pub(super) agreements: Vec<Agreement>,
    pub(super) end: Option<End>,
}

impl NotedRun {
    /// Whether the partner may have learnt something by it.
    pub(super) fn is_spent(&self) -> bool {
        !self.agreements.is_empty() || self.end.is_none()
    }

    /// How many results the partner may have learnt by it, if it is spent.
    fn answers(&self) -> usize {
        self.agreements.len().max(1)
    }

    /// The partner's keys in all answers.
    pub(super) fn peer_keys(&self) -> u64 {
        self.agreements.iter().fold(0, |sum, agreement| sum.saturating_add(agreement.peer_keys))
    }

    /// The partner's keys, if it may have learnt which of them match.
    fn questions(&self) -> u64 {
        if self.begin.partner_learns == PartnerLearns::Rows { self.peer_keys() } else { 0 }
    }
}

/// The runs of these lines.
pub(super) fn runs(lines: &[Line]) -> Result<Vec<NotedRun>, ChainError> {
    let mut runs: Vec<NotedRun> = Vec::new();
    for line in lines {
        let number = match &line.entry {
            Entry::Ledger { .. } | Entry::Torn { .. } => continue,
            Entry::Begin(begin) => {
                let (line, time, begin) = (line.line, line.time.clone(), Begin::clone(begin));
                runs.push(NotedRun { line, time, begin, agreements: Vec::new(), end: None });
                continue;
            }
            Entry::Agreed(agreement) => agreement.run,
            Entry::Ended(end) => end.run,
        };
        let unknown = ChainError::Broken { line: line.line, why: "names a run that has not begun" };
        let at = runs.binary_search_by_key(&number, |run| run.line).map_err(|_| unknown)?;
        match &line.entry {
            Entry::Agreed(agreement) if !runs[at].agreements.contains(agreement) => {
                runs[at].agreements.push(agreement.clone());
            }
            Entry::Ended(end) => runs[at].end = Some(end.clone()),
            _ => {}
        }
    }
    Ok(runs)
}

/// Whether two runs may be about nearly the same set. They are, unless the sketches tell that less than half of the
/// smaller set is in common: what cannot be compared counts as the same.
pub(super) fn same_set(one: &Begin, other: &Begin) -> bool {
    let same_file = one.input.is_some() && one.input == other.input;
    let comparable = one.rules == other.rules && one.items == other.items;
    let overlap = one.sketch.overlap(&other.sketch, [one.keys, other.keys]);
    same_file || !comparable || overlap.is_none_or(|overlap| overlap >= SAME)
}

/// What the runs with a partner about nearly the same set add up to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// The runs by which the partner learnt a number, or may have.
    pub(super) counts: Vec<u64>,
    /// Those of them without noise, and the runs by which it learnt rows: for these no ε holds.
    pub(super) exact: Vec<u64>,
    /// ε of the others in all, in thousandths.
    pub(super) epsilon: u64,
    /// Keys of the partner of which it learnt whether they match.
    pub(super) questions: u64,
    /// The runs in which it did.
    pub(super) asking: Vec<u64>,
}

/// What counts against another run with that partner and set.
pub(super) fn spent<'r>(runs: impl Iterator<Item = &'r NotedRun>, next: &Begin) -> Spent {
    let mut spent = Spent::default();
    let counting = |run: &&NotedRun| run.begin.partner == next.partner && run.is_spent();
    for run in runs.filter(counting).filter(|run| same_set(&run.begin, next)) {
        match run.begin.partner_learns {
            PartnerLearns::Nothing => {}
            PartnerLearns::Rows => {
                spent.exact.push(run.line);
                spent.asking.push(run.line);
                spent.questions = spent.questions.saturating_add(run.questions());
            }
            PartnerLearns::Number => {
                let each = epsilon(run.begin.noise.as_deref());
                for _ in 0..run.answers() {
                    spent.counts.push(run.line);
                    spent.epsilon = spent.epsilon.saturating_add(each.unwrap_or(0));
                }
                spent.exact.extend(each.is_none().then_some(run.line));
            }
        }
    }
    spent
}

/// ε in thousandths, as a line has it.
pub(super) fn epsilon(noise_of_line: Option<&str>) -> Option<u64> {
    noise_of_line.and_then(|text| noise(text).ok()).map(|noise| noise.thousandths().into())
}

/// Why a run is not within the budgets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// There were as many counts as `--max-counts` allows.
    Counts { most: u64, earlier: Vec<u64> },
    /// `--max-epsilon` allows only counts with noise, and these had none; or this run is another.
    Exact { most: String, earlier: Vec<u64> },
    /// ε would add up to more.
    Epsilon { total: String, most: String, earlier: Vec<u64> },
    /// The partner has asked for as many keys as `--max-questions` allows, or would with those of this run.
    Questions { asked: u64, now: Option<u64>, most: u64, earlier: Vec<u64> },
}

/// Whether a run may begin after what was spent.
pub(super) fn check(spent: Spent, next: &Begin) -> Result<(), Over> {
    match next.partner_learns {
        PartnerLearns::Nothing => Ok(()),
        PartnerLearns::Rows => match (&next.max_epsilon, next.max_questions) {
            (Some(most), _) => Err(Over::Exact { most: most.clone(), earlier: Vec::new() }),
            (None, Some(most)) if spent.questions >= most => {
                Err(Over::Questions { asked: spent.questions, now: None, most, earlier: spent.asking })
            }
            _ => Ok(()),
        },
        PartnerLearns::Number => {
            if spent.counts.len() as u64 >= next.max_counts {
                return Err(Over::Counts { most: next.max_counts, earlier: spent.counts });
            }
            let Some(most) = next.max_epsilon.clone() else { return Ok(()) };
            let Some(mine) = epsilon(next.noise.as_deref()).filter(|_| spent.exact.is_empty()) else {
                return Err(Over::Exact { most, earlier: spent.exact });
            };
            let total = spent.epsilon.saturating_add(mine);
            if total > epsilon(Some(&most)).unwrap_or(0) {
                return Err(Over::Epsilon { total: shown_thousandths(total), most, earlier: spent.counts });
            }
            Ok(())
        }
    }
}

/// Whether the partner of a run may ask for so many keys after what was spent by other runs, and by earlier answers of
/// this one.
pub(super) fn check_questions(spent: Spent, run: &NotedRun, peer_keys: u64) -> Result<(), Over> {
    let rows = run.begin.partner_learns == PartnerLearns::Rows;
    let (asked, mut earlier) = (spent.questions.saturating_add(run.questions()), spent.asking);
    earlier.extend((!run.agreements.is_empty()).then_some(run.line));
    match run.begin.max_questions.filter(|_| rows) {
        Some(most) if asked.saturating_add(peer_keys) > most => {
            Err(Over::Questions { asked, now: Some(peer_keys), most, earlier })
        }
        _ => Ok(()),
    }
}
