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

use super::chain::{Agreement, Begin, ChainError, End, Entry, Line, PartnerLearns, Refusal};
use super::refusal::Over;
use crate::words::results::{noise, shown_thousandths};

/// Sets with less than this share of the smaller one in common are different sets.
const SAME: f64 = 0.5;

/// A run, as the ledger has it.
#[derive(Debug)]
pub(super) struct NotedRun {
    /// When its first line was written.
    pub(super) time: String,
    /// The number of its last line.
    pub(super) last: u64,
    pub(super) begin: Begin,
    /// What was agreed on before each answer, in order: one, but by post.
    pub(super) agreements: Vec<Agreement>,
    pub(super) end: Option<End>,
    pub(super) refusal: Option<Refusal>,
}

impl NotedRun {
    /// Whether the partner may have learned something by it.
    pub(super) fn is_spent(&self) -> bool {
        !self.agreements.is_empty() || self.end.is_none() && self.refusal.is_none()
    }

    /// How many results the partner may have learned by it, if it is spent.
    fn answers(&self) -> usize {
        self.agreements.len().max(1)
    }

    /// The partner's keys in all answers.
    pub(super) fn peer_keys(&self) -> u64 {
        self.agreements.iter().fold(0, |sum, agreement| sum.saturating_add(agreement.peer_keys))
    }

    /// Whether the run that this would begin is a further call of this one, by post.
    pub(super) fn goes_on_with(&self, begin: &Begin) -> bool {
        let same =
            begin.post.is_some() && self.begin.post == begin.post && self.begin.partner == begin.partner;
        same && self.refusal.is_none()
    }

    /// Its number and its day, for a message.
    fn named(&self) -> String {
        format!("{} ({})", self.begin.run, self.time.get(..10).unwrap_or("?"))
    }

    /// The partner's keys, if it may have learned which of them match.
    fn questions(&self) -> u64 {
        if self.begin.partner_learns == PartnerLearns::Rows { self.peer_keys() } else { 0 }
    }
}

/// The runs of these lines.
pub(super) fn runs(lines: &[Line]) -> Result<Vec<NotedRun>, ChainError> {
    let mut runs: Vec<NotedRun> = Vec::new();
    for line in lines {
        let (begin, number) = match &line.entry {
            Entry::Ledger { .. } | Entry::Torn { .. } => continue,
            Entry::Begin(begin) => (Some(begin), begin.run),
            Entry::Refused(refusal) => (refusal.begin.as_ref(), refusal.run),
            Entry::Agreed(agreement) => (None, agreement.run),
            Entry::Ended(end) => (None, end.run),
        };
        if let Some(begin) = begin {
            let (time, begin) = (line.time.clone(), Begin::clone(begin));
            runs.push(NotedRun { time, last: 0, begin, agreements: Vec::new(), end: None, refusal: None });
        }
        // Runs are numbered from 1 on.
        let broken = |why| ChainError::Broken { line: line.line, why };
        let count = runs.len() as u64;
        let run = number.checked_sub(1).and_then(|at| runs.get_mut(at as usize));
        let run = run.ok_or_else(|| broken("names a run that has not begun"))?;
        if begin.is_some() && (number, run.begin.run) != (count, count) {
            return Err(broken("has another number of a run"));
        }
        run.last = line.line;
        match &line.entry {
            Entry::Agreed(agreement) if !run.agreements.contains(agreement) => {
                run.agreements.push(agreement.clone());
            }
            Entry::Ended(end) => run.end = Some(end.clone()),
            Entry::Refused(refusal) => run.refusal = Some(refusal.clone()),
            _ => {}
        }
    }
    Ok(runs)
}

/// The run of that number, which this run has begun.
pub(super) fn of_number(runs: &[NotedRun], number: u64) -> Result<&NotedRun, ChainError> {
    let run = runs.iter().find(|run| run.begin.run == number);
    run.ok_or(ChainError::Broken { line: runs.len() as u64, why: "is not what this run has written" })
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
    /// The runs by which the partner learned a number, or may have, as a message names them.
    pub(super) counts: Vec<String>,
    /// Those of them without noise, and the runs by which it learned rows: for these no ε holds.
    pub(super) exact: Vec<String>,
    /// ε of the others in all, in thousandths.
    pub(super) epsilon: u64,
    /// Keys of the partner of which it learned whether they match.
    pub(super) questions: u64,
    /// The runs in which it did.
    pub(super) asking: Vec<String>,
}

/// What counts against another run with that partner and set.
pub(super) fn spent<'r>(runs: impl Iterator<Item = &'r NotedRun>, next: &Begin) -> Spent {
    let mut spent = Spent::default();
    let counting = |run: &&NotedRun| run.begin.partner == next.partner && run.is_spent();
    for run in runs.filter(counting).filter(|run| same_set(&run.begin, next)) {
        match run.begin.partner_learns {
            PartnerLearns::Nothing => {}
            PartnerLearns::Rows => {
                spent.exact.push(run.named());
                spent.asking.push(run.named());
                spent.questions = spent.questions.saturating_add(run.questions());
            }
            PartnerLearns::Number => {
                let each = epsilon(run.begin.noise.as_deref());
                for _ in 0..run.answers() {
                    spent.counts.push(run.named());
                    spent.epsilon = spent.epsilon.saturating_add(each.unwrap_or(0));
                }
                spent.exact.extend(each.is_none().then(|| run.named()));
            }
        }
    }
    spent
}

/// ε in thousandths, as a line has it.
pub(super) fn epsilon(noise_of_line: Option<&str>) -> Option<u64> {
    noise_of_line.and_then(|text| noise(text).ok()).map(|noise| noise.thousandths().into())
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
    earlier.extend((!run.agreements.is_empty()).then(|| run.named()));
    match run.begin.max_questions.filter(|_| rows) {
        Some(most) if asked.saturating_add(peer_keys) > most => {
            Err(Over::Questions { asked, now: Some(peer_keys), most, earlier })
        }
        _ => Ok(()),
    }
}
