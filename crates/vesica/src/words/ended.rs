//! What a run ends with.

use std::fmt;

use vesica_encode::items::Matches;
use vesica_protocols::{Misuse, Outcome};
use vesica_table::{PayloadRows, RowBitmap};

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
}

/// It shows no row.
impl fmt::Debug for RunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunResult").finish_non_exhaustive()
    }
}
