//! What a run ends with.

use vesica_encode::items::Matches;
use vesica_table::{PayloadRows, RowBitmap};

use crate::words::error::Error;
use crate::words::report::Report;
use crate::words::results::{Answer, Answered};
use crate::words::tables::Batches;

/// What a run finds: the result if this side learns it, and the matching rows if it wants them.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) result: Answered,
    /// The match numbers of the matching rows, if they were agreed.
    pub(crate) numbers: Option<Vec<u64>>,
    pub(crate) batches: Option<Batches>,
    /// My matching rows in place of matches, in a run whose keys were on disk.
    pub(crate) selected: Option<RowBitmap>,
}

/// What a run ended with. The report is there in any case.
pub struct Ended {
    /// The whole report; also given with the last event.
    pub report: Report,
    /// My matches, if I learn them; or why there are none. If my keys were on disk (`--memory`), there are none either: the
    /// report has their numbers, and `selected` has the rows.
    pub result: Result<Option<Matches>, Error>,
    /// The result, if it is not rows and I learn it.
    pub answer: Option<Answer>,
    /// The sender's columns for my matching rows, if they were agreed and the rows go nowhere
    /// ([`Destination::RowNumbers`](crate::words::tables::Destination::RowNumbers)).
    pub payload: Option<PayloadRows>,
    /// The matching rows themselves, if they were to go to
    /// [`Destination::Batches`](crate::words::tables::Destination::Batches) and I learn them.
    pub batches: Option<Batches>,
    /// The match numbers of my matching rows, in the order of the rows, if they were agreed.
    pub numbers: Option<Vec<u64>>,
    /// My matching rows, if my keys were on disk and I learn them.
    pub selected: Option<RowBitmap>,
}
