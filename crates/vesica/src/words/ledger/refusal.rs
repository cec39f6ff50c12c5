//! A run that a budget does not allow, and what is said of it.

use std::path::Path;

use vesica_table::shown_path;
use vesica_text::{Text, text};

use super::chain::{Agreement, Begin, Refusal};
use crate::words::error::{Error, Kind, RunPhase, Side};

/// Why a run is not within the budgets. Earlier runs are named by number and day.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// There were as many counts as `--max-counts` allows.
    Counts { most: u64, earlier: Vec<String> },
    /// `--max-epsilon` allows only counts with noise, and these had none; or this run is another.
    Exact { most: String, earlier: Vec<String> },
    /// ε would add up to more.
    Epsilon { total: String, most: String, earlier: Vec<String> },
    /// The partner has asked for as many keys as `--max-questions` allows, or would with those of this run.
    Questions { asked: u64, now: Option<u64>, most: u64, earlier: Vec<String> },
}

impl Over {
    /// The line of a run that is refused before it begins.
    pub(super) fn before(&self, begin: Begin) -> Refusal {
        let run = begin.run;
        Refusal { begin: Some(Box::new(begin)), ..self.of_run(run) }
    }

    /// The line of a run that is refused once this was agreed.
    pub(super) fn at(&self, agreed: Agreement) -> Refusal {
        let run = agreed.run;
        Refusal { agreed: Some(agreed), ..self.of_run(run) }
    }

    fn of_run(&self, run: u64) -> Refusal {
        let (budget, limit) = match self {
            Over::Counts { most, .. } => ("max-counts", most.to_string()),
            Over::Exact { most, .. } | Over::Epsilon { most, .. } => ("max-epsilon", most.clone()),
            Over::Questions { most, .. } => ("max-questions", most.to_string()),
        };
        Refusal { run, budget: budget.to_owned(), limit, begin: None, agreed: None }
    }

    /// What the user of this side is told.
    pub(super) fn error(&self, path: &Path) -> Error {
        let (message, remedy) = self.told();
        let message = text!("{}: {}", shown_path(path), message);
        let remedy = remedy.into();
        Error { side: Side::Ours, phase: RunPhase::Agree, kind: Kind::Refused, message, remedy }
    }

    /// What happened, and what to do.
    fn told(&self) -> (Text, &'static str) {
        match self {
            Over::Counts { most, earlier } => (
                text!(
                    "`[max-counts {}]` is the limit of counts (or sums, or thresholds) with this partner about nearly the same \
                     set{}",
                    *most,
                    runs(earlier)
                ),
                "ask for no further number about this set: counts of sets that differ in one key tell of that key. \
                 `vesica ledger` shows the runs; a higher `[max-counts]` allows more",
            ),
            Over::Exact { most, earlier } if earlier.is_empty() => (
                text!(
                    "`[max-epsilon {}]` bounds counts with noise: by this run {the partner} would learn an exact number, or rows",
                    most.clone()
                ),
                "{agree with the partner on} a count with `[noise]`, or leave out `[max-epsilon]`",
            ),
            Over::Exact { most, earlier } => (
                text!(
                    "earlier runs with this partner about nearly the same set had rows, or counts without noise, so no \
                     `[max-epsilon {}]` holds{}",
                    most.clone(),
                    runs(earlier)
                ),
                "leave out `[max-epsilon]`: `[max-counts]` bounds counts, `[max-questions]` rows",
            ),
            Over::Epsilon { total, most, earlier } => (
                text!(
                    "with this run, epsilon with this partner about nearly the same set would be {}, and `[max-epsilon {}]` is \
                     the limit{}",
                    total.clone(),
                    most.clone(),
                    runs(earlier)
                ),
                "{agree with the partner on} a smaller `[noise]`; `vesica ledger` shows the runs; a higher `[max-epsilon]` \
                 allows more",
            ),
            Over::Questions { asked, now, most, earlier } => (
                text!(
                    "the partner has asked for {} keys about nearly the same set{}, and `[max-questions {}]` is the limit{}",
                    *asked,
                    now.map_or_else(String::new, |now| format!(" and asks for {now} now")),
                    *most,
                    runs(earlier)
                ),
                "`vesica ledger` shows the runs; a higher `[max-questions]` allows more",
            ),
        }
    }
}

/// The runs that were spent, behind a sentence; nothing if there is none.
fn runs(earlier: &[String]) -> String {
    match earlier {
        [] => String::new(),
        [one] => format!(": run {one}"),
        several => format!(": runs {}", several.join(", ")),
    }
}
