//! What a run ends with.

use std::fmt;

use vesica_encode::items::Matches;
use vesica_protocols::{Misuse, Outcome};
use vesica_table::{MatchedRow, PayloadRows, RowBitmap, RowSet};

use crate::words::error::Error;
use crate::words::report::Report;
use crate::words::results::{Answer, ResultOptions};
use crate::words::tables::Batches;

/// What a run ended with. The report is there in any case.
pub struct Ended {
    /// The whole report; also given with the last event.
    pub report: Report,
    /// The result, or why there is none.
    pub result: Result<RunResult, Error>,
}

/// What this side learns by a run; all of it is absent on a side that learns nothing.
#[derive(Default)]
#[non_exhaustive]
pub struct RunResult {
    /// My matches. If my keys were on disk, there are none: the report has their numbers, and `selected` has the rows.
    pub matches: Option<Matches>,
    /// My matching rows, if my keys were on disk.
    pub selected: Option<RowBitmap>,
    /// The rule by which each of my matching rows matches, counted from 0, if there are several rules and the rows go nowhere.
    pub matched_by: Option<Vec<usize>>,
    /// The match numbers of my matching rows, in the order of the rows, if they were agreed.
    pub numbers: Option<Vec<u64>>,
    /// The sender's columns for my matching rows, if they were agreed and the rows go nowhere
    /// ([`Destination::RowNumbers`](crate::words::tables::Destination::RowNumbers)).
    pub payload: Option<PayloadRows>,
    /// The matching rows themselves, if they were to go to
    /// [`Destination::Batches`](crate::words::tables::Destination::Batches).
    pub batches: Option<Batches>,
    /// The result, if it is not rows.
    pub answer: Option<Answer>,
}

impl RunResult {
    /// Of what the protocol ended with.
    ///
    /// # Errors
    /// The payload is not a block for each matching row.
    pub(crate) fn of(outcome: Outcome, options: &ResultOptions) -> Result<Self, Misuse> {
        let answer = |answer| RunResult { answer: Some(answer), ..RunResult::default() };
        Ok(match outcome {
            Outcome::Matches(matches) => RunResult { matches: Some(matches), ..RunResult::default() },
            Outcome::Payloads(matched) => {
                let (matches, blocks, of_row) = matched.into_parts();
                let width = blocks.width();
                let payload = PayloadRows::new(options.payload.clone(), width, blocks.into_bytes(), of_row);
                let payload = Some(payload.ok_or(Misuse::UnfitAttached)?);
                RunResult { matches: Some(matches), payload, ..RunResult::default() }
            }
            Outcome::Count(count) => answer(Answer::Count(count)),
            Outcome::AtLeast(reached) => answer(Answer::AtLeast(reached)),
            Outcome::Sums(sums) => answer(Answer::Sums(options.value.iter().cloned().zip(sums).collect())),
        })
    }

    /// This with numbers of rows in the place of those of keys, of which a row has so many.
    pub(crate) fn by_rows(mut self, rules: usize) -> Self {
        if rules < 2 {
            return self;
        }
        if let Some(bitmap) = self.selected.take() {
            let mut rows = RowBitmap::new(bitmap.room() / rules as u64);
            RowSet::from(&bitmap).by_first_key(rules).for_each(|found| {
                rows.insert(found.row);
            });
            self.selected = Some(rows);
        }
        let Some(matches) = self.matches.take() else { return self };
        let found: Vec<MatchedRow> = RowSet::from(&matches).by_first_key(rules).collect();
        let at: Vec<usize> = found.iter().map(|found| found.at).collect();
        self.matches = Some(matches.with_rows(found.iter().map(|found| found.row).collect()));
        self.matched_by = Some(found.iter().map(|found| found.rule).collect());
        self.numbers = self.numbers.map(|numbers| at.iter().map(|at| numbers[*at]).collect());
        self.payload = self.payload.map(|payload| payload.of_rows(&at));
        self
    }
}

/// It shows no row.
impl fmt::Debug for RunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunResult").finish_non_exhaustive()
    }
}
