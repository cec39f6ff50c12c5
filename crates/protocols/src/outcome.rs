//! What a role ends with.

use vesica_encode::items::{Items, Matches};

use crate::attached::{MatchedPayloads, Payloads};
use crate::error::{Error, Misuse};
use crate::parameters::Parameters;
use crate::protocol::{Phase, Role, Run};
use crate::results::ResultKind;

/// A party's result.
///
/// Which one, the run's [`result`](crate::Parameters::result) says. A sender's result of a run for payloads is
/// [`Matches`](Outcome::Matches).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The rows of this party's own table whose items the other party has.
    Matches(Matches),
    /// The matching rows of the receiver, with the sender's payloads.
    Payloads(MatchedPayloads),
    /// |X ∩ Y|. With noise it may be too large, too small, and negative.
    Count(i64),
    /// Whether |X ∩ Y| is as large as was asked.
    AtLeast(bool),
    /// The sums of the sender's numbers over the common items, one for each column.
    Sums(Vec<u128>),
}

impl Outcome {
    /// The matching rows.
    ///
    /// # Errors
    /// If the protocol gives another result.
    pub fn into_matches(self) -> Result<Matches, Error> {
        match self {
            Outcome::Matches(matches) => Ok(matches),
            Outcome::Payloads(matched) => Ok(matched.into_matches()),
            Outcome::Count(_) | Outcome::AtLeast(_) | Outcome::Sums(_) => Err(Misuse::NoMatches.into()),
        }
    }

    /// The result of a run that does not take place: a set is empty, so nothing matches.
    pub(crate) fn of_no_matches(run: &Run<'_>, role: Role, items: &Items) -> Result<Self, Error> {
        let Parameters { result, min_matches, .. } = run.parameters;
        if min_matches > 0 {
            // No noise is drawn.
            return Err(Error::BelowMinimum { least: min_matches, noisy: false });
        }
        Ok(match result {
            ResultKind::Payload { bytes } if role == Role::Receiver => Outcome::Payloads(
                MatchedPayloads::new(items, &[], Payloads::of_blocks(bytes as usize, Vec::new())),
            ),
            ResultKind::Rows | ResultKind::Payload { .. } => Outcome::Matches(items.matches([].into_iter())),
            ResultKind::Count => Outcome::Count(0),
            ResultKind::AtLeast(least) => Outcome::AtLeast(least == 0),
            ResultKind::Sums { columns } => Outcome::Sums(vec![0; columns.into()]),
        })
    }
}

/// What a role ends with: a result that is still to be worked out, if the protocol's join can wait.
///
/// The protocol has sent and received all its messages by then, and has checked the form of what it received.
/// Where the receiver alone learns the result, the session confirms the run before it calls
/// [`finish`](Self::finish): the time of its confirmation then depends neither on the matches nor on the
/// number of rows of a matched item.
#[must_use = "the result is still to be worked out"]
pub struct Pending<'a>(Box<dyn FnOnce() -> Result<Outcome, Error> + Send + 'a>);

impl std::fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl<'a> Pending<'a> {
    /// A result that `find` works out without a message.
    pub fn new(find: impl FnOnce() -> Result<Outcome, Error> + Send + 'a) -> Self {
        Pending(Box::new(find))
    }

    /// A result that is there.
    pub fn found(outcome: Outcome) -> Self {
        Self::new(move || Ok(outcome))
    }

    /// Matches of the items that `find` names; they and their rows are still to be collected.
    pub fn of_items(items: &'a Items, find: impl FnOnce() -> Vec<u32> + Send + 'a) -> Self {
        let matched = move || find().into_iter().map(|item| item as usize);
        Self::new(move || Ok(Outcome::Matches(items.matches(matched()))))
    }

    /// Matches that a join finds, as pairs of an item of this party and a position in the other party's list.
    pub(crate) fn of_join(
        items: &'a Items,
        join: impl FnOnce() -> Result<Vec<(u32, u32)>, Error> + Send + 'a,
    ) -> Self {
        let matches = |pairs: Vec<(u32, u32)>| items.matches(pairs.iter().map(|&(item, _)| item as usize));
        Self::new(move || Ok(Outcome::Matches(matches(join()?))))
    }

    /// Works out the result.
    ///
    /// # Errors
    /// None is expected: what was received has been checked. Cancelling has no effect here.
    pub fn finish(self) -> Result<Outcome, Error> {
        (self.0)()
    }

    /// Works out the matching rows.
    ///
    /// # Errors
    /// As [`finish`](Self::finish), and if the protocol gives another result.
    pub fn matches(self) -> Result<Matches, Error> {
        self.finish()?.into_matches()
    }
}

/// The matches as the receiver of a [`Listed`](crate::entry::Roles::Listed) protocol has them: pairs of an
/// item of its own and a position in the sender's list. They are found, or still to be joined from two lists
/// that are both here.
pub struct Pairs<'a>(Box<dyn FnOnce() -> Vec<(u32, u32)> + Send + 'a>);

impl<'a> Pairs<'a> {
    /// Pairs that are there.
    pub fn found(pairs: Vec<(u32, u32)>) -> Self {
        Pairs(Box::new(move || pairs))
    }

    /// Pairs that `join` finds.
    pub fn joined(run: &Run<'a>, join: impl FnOnce() -> Vec<(u32, u32)> + Send + 'a) -> Self {
        let progress = run.progress;
        Pairs(Box::new(move || {
            progress.phase(Phase::Compare, 0);
            join()
        }))
    }

    /// The pairs.
    pub fn find(self) -> Vec<(u32, u32)> {
        (self.0)()
    }
}
