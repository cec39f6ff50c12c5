//! What can go wrong in a conversation, and who is at fault.

use std::time::Duration;

use thiserror::Error;

use crate::codec::CodecError;
use crate::kind::{Kind, MAX_PAYLOAD};
use crate::span::Span;

/// Who is at fault for an error; a program's exit status follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The caller's arguments: an address that cannot be used.
    Usage,
    /// The partner cannot be reached, fell silent, closed, or ended the run.
    Partner,
    /// Bytes that do not decode, or that come where none may.
    Protocol,
    /// The other side is not the partner we expect, or speaks another version.
    Identity,
    /// The caller cancelled.
    Cancelled,
    /// A fault of this program.
    Ours,
}

/// Everything that ends a conversation early.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// Nothing arrived for the allowed time, not even a heartbeat.
    #[error("the partner fell silent: nothing arrived for {}, not even a heartbeat", Span(*after))]
    Silent {
        /// The allowed time.
        after: Duration,
    },
    /// What had to come within a given time did not, though heartbeats did.
    #[error("the partner did not complete its answer within {}, though its program is alive", Span(*after))]
    Unanswered {
        /// The allowed time.
        after: Duration,
    },
    /// The connection ended before the partner said that it was done.
    #[error("the partner closed the connection before the end")]
    Closed,
    /// The partner ended the run and said so.
    #[error("the partner ended the run: it was interrupted, or failed")]
    PeerAborted,

    /// A frame of a type that does not exist.
    #[error("the partner sent a frame of unknown type {byte}")]
    FrameKind {
        /// The type found.
        byte: u8,
    },
    /// A frame with a length that its type does not allow.
    #[error("the partner sent a {kind:?} frame of {length} bytes, which is not allowed")]
    FrameLength {
        /// The frame's type.
        kind: Kind,
        /// The length found.
        length: u64,
    },
    /// Something followed the partner's DONE.
    #[error("the partner went on sending after it had said that it was done")]
    AfterDone,
    /// The partner is done while we expect more from it, or have more for it.
    #[error("the partner said that it was done in the middle of the conversation")]
    PeerFinished,
    /// We are done, but the partner had sent more.
    #[error("the partner sent more than the conversation asks for")]
    LeftoverData,
    /// A message inside the stream does not decode.
    #[error("the partner sent a message that does not decode: {0}")]
    Codec(#[from] CodecError),
    /// An encrypted record was altered on the way, or is not a record.
    #[error("the encrypted connection was damaged: {cause}")]
    Damaged {
        /// What the encryption's library says.
        cause: String,
    },

    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,

    /// Both sides send at the same moment, more than can be held.
    #[error(
        "both sides are sending, and {limit} bytes wait unread: the conversation must receive before it sends more"
    )]
    Deadlock {
        /// The most that is held.
        limit: u64,
    },
    /// The channel was used after its end.
    #[error("the channel was used after its end")]
    Finished,
    /// The channel was used after it was aborted.
    #[error("the channel was used after it had been aborted")]
    Aborted,
    /// The payload of a DONE frame is too long.
    #[error("a final message of {length} bytes is too long: {MAX_PAYLOAD} are allowed")]
    DoneTooLong {
        /// Its length.
        length: usize,
    },
    /// The system refused something that should have worked.
    #[error("{what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        cause: String,
    },
}

impl ChannelError {
    /// Who is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Silent { .. } | Self::Unanswered { .. } | Self::Closed | Self::PeerAborted => {
                Fault::Partner
            }
            Self::FrameKind { .. }
            | Self::FrameLength { .. }
            | Self::AfterDone
            | Self::PeerFinished
            | Self::LeftoverData
            | Self::Codec(_)
            | Self::Damaged { .. } => Fault::Protocol,
            Self::Cancelled => Fault::Cancelled,
            Self::Deadlock { .. }
            | Self::Finished
            | Self::Aborted
            | Self::DoneTooLong { .. }
            | Self::System { .. } => Fault::Ours,
        }
    }

    /// The system refused `what`.
    pub fn system(what: &'static str, cause: &impl ToString) -> Self {
        Self::System { what, cause: cause.to_string() }
    }
}
