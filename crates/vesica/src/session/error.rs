//! How a conversation can end without a result.

use vesica_channel::codec::CodecError;
use vesica_channel::{Channel as _, ChannelError};
use vesica_net::Connection;
use vesica_protocols::{self as protocols, Participant};
use vesica_text::{Audience, Text, text};

use crate::words::auto::PlanError;
use crate::words::memory::{Budget, Bytes};
use crate::words::parts::PartsError;
use crate::words::terms::Difference;

/// Why a conversation did not end with a result that both sides confirmed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The connection failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A message of the session does not decode.
    #[error("{}", self.text())]
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
    #[error("{}", self.text())]
    TooLarge {
        /// The bound of what it takes.
        needed: u64,
        /// What it may use.
        budget: Budget,
    },
    /// The run may take more memory on the partner's side than its limit, as far as this side can compute that.
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
    #[error("{}", self.text())]
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
    /// This side could not sign what both saw.
    #[error("this side could not sign the run: {0}")]
    Unsigned(String),
}

impl SessionError {
    /// What it says, with its options and whom it speaks of as data.
    pub fn text(&self) -> Text {
        match self {
            SessionError::Channel(error) => error.text(),
            SessionError::Decode { what, cause } => {
                text!("{the partner} sent {} that does not decode: {}", *what, cause.to_string())
            }
            SessionError::Plan(error) => error.text(),
            SessionError::TooLarge { needed, budget } => text!(
                "this run may take {} of memory on this side, and {}",
                Bytes(*needed).to_string(),
                budget.text()
            ),
            SessionError::Parts(error) => error.text(),
            SessionError::Protocol(error) => error.text(),
            SessionError::With(who, error) => error.text().told(Audience::Three(who.name())),
            other => Text::words(other),
        }
    }

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

/// Why a helper does not take part in a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The two parties do not mean the same run.
    #[error("the two parties asked the helper for different runs")]
    Differ,
    /// A set is larger or smaller than the helper accepts.
    #[error("the helper does not accept a set of {0} keys")]
    Size(u64),
    /// The helper has not enough memory.
    #[error("the helper has not enough memory: the run may take {} there", Bytes(*.0))]
    Memory(u64),
    /// The helper's program does not know the protocol or its parameters.
    #[error("the helper's program does not know this protocol (another version?)")]
    Unknown,
}

/// The error of a wait for a helper whose own run has ended: where the partner has gone, that is the cause.
pub(crate) fn partner_gone(
    error: &vesica_protocols::Error,
    partner: &mut Connection,
) -> Option<ChannelError> {
    use vesica_protocols::Error;
    let Error::With(Participant::Helper, inner) = error else { return None };
    if !matches!(**inner, Error::Channel(ChannelError::PeerAborted)) {
        return None;
    }
    // The helper hears of it at about the same time as this side. A partner that the helper has ended waits here for as
    // long, before it ends the run with this side.
    for look in 0..25 {
        match partner.split().0.check() {
            Err(error @ (ChannelError::Closed | ChannelError::Silent { .. })) => return Some(error),
            Err(error @ ChannelError::PeerAborted) if look < 12 => return Some(error),
            Err(_) => return None,
            Ok(()) => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
    None
}
