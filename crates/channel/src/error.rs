//! What can go wrong in a conversation, and who is at fault.

use std::fmt;
use std::time::Duration;

use vesica_text::{Text, text};

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
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelError {
    /// Nothing arrived for the allowed time, not even a heartbeat.
    Silent {
        /// The allowed time.
        after: Duration,
    },
    /// What had to come within a given time did not, though heartbeats did.
    Unanswered {
        /// The allowed time.
        after: Duration,
    },
    /// The connection ended before the partner said that it was done.
    Closed,
    /// The partner ended the run and said so.
    PeerAborted,

    /// A frame of a type that does not exist.
    FrameKind {
        /// The type found.
        byte: u8,
    },
    /// A frame with a length that its type does not allow.
    FrameLength {
        /// The frame's type.
        kind: Kind,
        /// The length found.
        length: u64,
    },
    /// Something followed the partner's DONE.
    AfterDone,
    /// The partner is done while we expect more from it, or have more for it.
    PeerFinished,
    /// We are done, but the partner had sent more.
    LeftoverData,
    /// A message inside the stream does not decode.
    Codec(CodecError),
    /// An encrypted record was altered on the way, or is not a record.
    Damaged {
        /// What the encryption's library says.
        cause: String,
    },

    /// The caller cancelled.
    Cancelled,

    /// Both sides send at the same moment, more than can be held.
    Deadlock {
        /// The most that is held.
        limit: u64,
    },
    /// The channel was used after its end.
    Finished,
    /// The channel was used after it was aborted.
    Aborted,
    /// The payload of a DONE frame is too long.
    DoneTooLong {
        /// Its length.
        length: usize,
    },
    /// The system refused something that should have worked.
    System {
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        cause: String,
    },
}

impl ChannelError {
    /// What it says, whoever the other side is.
    pub fn text(&self) -> Text {
        match self {
            Self::Silent { after } => text!(
                "{the partner fell silent}: nothing arrived for {}, not even a heartbeat",
                Span(*after).to_string()
            ),
            Self::Unanswered { after } => text!(
                "{the partner} did not complete its answer within {}, though its program is alive",
                Span(*after).to_string()
            ),
            Self::Closed => text!("{the partner closed} the connection before the end"),
            Self::PeerAborted => text!("{the partner} ended the run: it was interrupted, or failed"),
            Self::FrameKind { byte } => {
                text!("{the partner} sent a frame of unknown type {}", byte.to_string())
            }
            Self::FrameLength { kind, length } => text!(
                "{the partner} sent a {} frame of {} bytes, which is not allowed",
                format!("{kind:?}"),
                *length
            ),
            Self::AfterDone => text!("{the partner} went on sending after it had said that it was done"),
            Self::PeerFinished => {
                text!("{the partner} said that it was done in the middle of the conversation")
            }
            Self::LeftoverData => text!("{the partner} sent more than the conversation asks for"),
            Self::Codec(error) => {
                text!("{the partner} sent a message that does not decode: {}", error.to_string())
            }
            Self::Damaged { cause } => text!("the encrypted connection was damaged: {}", cause),
            Self::Cancelled => text!("cancelled"),
            Self::Deadlock { limit } => text!(
                "both sides are sending, and {} bytes wait unread: the conversation must receive before it sends more",
                *limit
            ),
            Self::Finished => text!("the channel was used after its end"),
            Self::Aborted => text!("the channel was used after it had been aborted"),
            Self::DoneTooLong { length } => {
                text!("a final message of {} bytes is too long: {} are allowed", *length, MAX_PAYLOAD)
            }
            Self::System { what, cause } => text!("{}: {}", *what, cause),
        }
    }

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

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl std::error::Error for ChannelError {}

impl From<CodecError> for ChannelError {
    fn from(error: CodecError) -> Self {
        Self::Codec(error)
    }
}
