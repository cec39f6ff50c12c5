//! How a conversation can end without a result.

use vesica_channel::ChannelError;
use vesica_channel::codec::CodecError;
use vesica_protocols::{self as protocols, Participant};

use crate::helper::Refusal;
use crate::memory::{Budget, Bytes};
use crate::parts::PartsError;
use crate::plan::PlanError;
use crate::terms::Difference;

/// Why a conversation did not end with a result that both sides confirmed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The connection failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A message of the session does not decode.
    #[error("the partner sent {what} that does not decode: {cause}")]
    Decode {
        /// Which message.
        what: &'static str,
        /// What is wrong with it.
        cause: CodecError,
    },
    /// The connection is of another run than this side's: the partner was started again, or this side was.
    #[error("the partner {0}")]
    OtherRun(&'static str),
    /// The two sides asked for different things.
    #[error("the two sides asked for different things: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    TermsDiffer(Vec<Difference>),
    /// The partner ended the conversation over the terms, and this side sees no difference: the partner may know other
    /// protocols.
    #[error(
        "the partner rejected the run's parameters, which look identical from here (different versions?)"
    )]
    RefusedTerms,
    /// No protocol can run as agreed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A set is smaller or larger than the other side accepts.
    #[error("the {whose} set has {size} items, and {limiter} accepts {least} to {most}")]
    OutOfLimits {
        /// "receiver's" or "sender's".
        whose: &'static str,
        /// Its size, padded.
        size: u64,
        /// Who set the limit: "this side" or "the partner".
        limiter: &'static str,
        /// `--min-peer-rows`.
        least: u64,
        /// `--max-peer-rows`.
        most: u64,
    },
    /// The run may take more memory on this side than the limit.
    #[error("this run may take {} of memory on this side, and {budget}", Bytes(*needed))]
    TooLarge {
        /// The bound of what it takes.
        needed: u64,
        /// What it may use.
        budget: Budget,
    },
    /// The same on the partner's side, as far as this side can compute it.
    #[error("the partner refused the run: it may take about {} of memory there, more than the partner allows", Bytes(*needed))]
    TooLargeForPartner {
        /// What it takes there without the table.
        needed: u64,
    },
    /// A run in several parts cannot be, or did not come to its end.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// The protocol failed.
    #[error(transparent)]
    Protocol(#[from] protocols::Error),
    /// In a run of three: what went wrong between this process and that participant, who stands in the place of the
    /// partner.
    #[error("{}", in_place_of_partner(.1, *.0))]
    With(Participant, Box<SessionError>),
    /// The helper does not take part in the run.
    #[error("{0}")]
    RefusedByHelper(Refusal),
    /// A helper's two parties do not mean the same run.
    #[error("the two parties do not ask for the same run: {0}")]
    PartiesDiffer(String),
    /// A helper does not know the protocol that its parties ask for.
    #[error("the parties ask for `{0}` in a form that this version has no helper for")]
    UnknownToHelper(String),
    /// The two sides did not see the same run.
    #[error("the two sides did not see the same run: {0} differ")]
    Unconfirmed(&'static str),
}

fn in_place_of_partner(error: &SessionError, who: Participant) -> String {
    error.to_string().replace("the partner", &format!("the {who}"))
}

impl SessionError {
    /// Says which participant of a run of three it was, if it is another process's fault.
    #[must_use]
    pub fn with(self, who: impl Into<Participant>) -> Self {
        match self {
            SessionError::Channel(_) | SessionError::Decode { .. } | SessionError::Unconfirmed(_) => {
                SessionError::With(who.into(), Box::new(self))
            }
            other => other,
        }
    }
}
