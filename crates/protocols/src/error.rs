//! What can go wrong while a protocol runs, by who is at fault.

use vesica_channel::ChannelError;
use vesica_encode::bloom::NoFreeSlot;
use vesica_encode::items::{Encoding, ItemsError};
use vesica_encode::okvs;
use vesica_encode::sorted::SortedError;
use vesica_text::{Audience, Text, text};

use crate::participants::Participant;
use crate::results::ResultName;

/// A protocol run that did not end with a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection failed, fell silent, or carried something that is not a frame.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The partner's authenticated bytes do not decode, or fail a check of the protocol.
    #[error("{}", self.text())]
    PeerMisbehaved(Misbehaviour),
    /// The caller asked for something the protocol does not offer.
    #[error("{0}")]
    Misuse(Misuse),
    /// An event of probability 2^-40 that the protocol must not get around: trying again within the run would
    /// tell the partner something about the items.
    #[error("{0}: this happens to one run in 2^40")]
    Chance(&'static str),
    /// Such an event under the paper's own parameters, which are for comparisons. PSSZ15 runs sets of unequal
    /// sizes without a stash; a few runs in a hundred then leave items without a bin.
    #[error("{}", self.text())]
    PaperParameters(&'static str),
    /// In a run of three: what went wrong between this process and that participant, who stands in the place of
    /// the partner.
    #[error("{}", self.text())]
    With(Participant, Box<Error>),
    /// The caller's items do not fit the protocol.
    #[error(transparent)]
    Items(#[from] ItemsError),
    /// The audit: the intersection is larger than both parties agreed to reveal. Neither learnt more.
    #[error("{}", self.text())]
    AuditRefused {
        /// The agreed limit.
        most: u64,
    },
    /// The intersection, or its count with noise, is smaller than the minimum on which both parties agreed. Neither
    /// learnt more.
    #[error("{}", self.text())]
    BelowMinimum {
        /// The agreed minimum.
        least: u64,
        /// Whether the count that is compared has noise: the intersection itself may be large enough.
        noisy: bool,
    },
    /// The caller cancelled the run.
    #[error("the run was cancelled")]
    Cancelled,
}

/// What the partner sent and no honest partner sends. Positions count within messages, never within sets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misbehaviour {
    /// Not the canonical encoding of a group element, or the identity.
    #[error("a group element that is not valid (element {position} of its message)")]
    InvalidElement {
        /// Position in the list of elements, from 0.
        position: usize,
    },
    /// A list of masks that must ascend does not.
    #[error("a list of masks that is not sorted (mask {position})")]
    UnsortedMasks {
        /// Position of the first mask that is smaller than its predecessor.
        position: usize,
    },
    /// A mask has bits set above its agreed width.
    #[error("a mask wider than agreed (mask {position})")]
    WideMask {
        /// Position of the mask.
        position: usize,
    },
    /// A list of masks in a short form that does not decode.
    #[error("{0}")]
    InvalidMasks(SortedError),
    /// A proof, a commitment or a consistency check fails. The partner does not learn which one.
    #[error("messages that fail a check of the protocol")]
    FailedCheck,
    /// A malformed message of an oblivious transfer or VOLE.
    #[error("a malformed message ({0})")]
    Transfer(vesica_ot::Error),
    /// The output of another offline phase than ours.
    #[error("the id of another offline phase than ours")]
    OtherOfflinePhase,
    /// The positions of the matches, returned under `--learns both`, are not ascending positions of our list.
    #[error("match positions that are out of order or outside of our list")]
    InvalidPositions,
    /// The numbers of the matches, returned under `--learns both`, are not ascending numbers of our items.
    #[error("matches that are out of order or not our own")]
    InvalidMatches,
}

/// A call that the protocol cannot serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The number of items is not the agreed one.
    #[error("the run was agreed for {agreed} items, but {given} were handed in")]
    SizeMismatch {
        /// Size in the agreed sizes.
        agreed: usize,
        /// Size of the set handed in.
        given: usize,
    },
    /// The items handed in are not of the agreed kind.
    #[error("the run was agreed for {}, but {} were handed in", kind(*agreed), kind(*given))]
    EncodingMismatch {
        /// What items of the agreed run are.
        agreed: Encoding,
        /// What the items handed in are.
        given: Encoding,
    },
    /// The protocol has a helper, and there is no connection to one; or it has none, and one is asked for.
    #[error(
        "this protocol needs a connection to a helper and has none, or it has no helper and was given one"
    )]
    NoHelper,
    /// The protocol does not give the agreed result, or not with the agreed limits.
    #[error("the protocol does not give the result {0}, or not with these limits")]
    UnsupportedResult(ResultName),
    /// What is attached to the items is not what the result takes.
    #[error("what is attached to the items is not what the agreed result takes")]
    UnfitAttached,
    /// The sender was to learn the result of a form in which the receiver alone learns it.
    #[error("in this form of the protocol the receiver alone learns the result")]
    ReceiverOnly,
    /// The protocol gives another result than matches.
    #[error("the protocol gives no matching rows")]
    NoMatches,
    /// More items than one store may have.
    #[error("a run takes at most {most} items, and there are {keys}")]
    TooManyKeys {
        /// How many there are.
        keys: usize,
        /// How many there may be.
        most: usize,
    },
    /// The sets are too large: a mask would need more bits than it can have.
    #[error("sets of {receiver} and {sender} items are too large for one run")]
    TooManyItems {
        /// Receiver's set size.
        receiver: usize,
        /// Sender's set size.
        sender: usize,
    },
    /// A form of a protocol that compares too many pairs for sets of this size.
    #[error(
        "variant {variant} of {protocol} would send {masks} masks for sets of {receiver} and {sender} items, and at most {most} are \
         allowed"
    )]
    TooManyMasks {
        /// The protocol.
        protocol: &'static str,
        /// Its form.
        variant: &'static str,
        /// Receiver's set size.
        receiver: usize,
        /// Sender's set size.
        sender: usize,
        /// Masks of such a run.
        masks: usize,
        /// Masks that a run may have.
        most: usize,
    },
    /// A batch of equality tests or inclusions whose strings do not fit its sizes, are empty, or are too
    /// many.
    #[error("the strings of the batch do not fit its sizes")]
    InvalidBatch,
    /// Kept base OTs that are too few, or of the other side.
    #[error("the kept base OTs do not fit the run")]
    UnfitBaseOts,
    /// More OTs than the protocol has set up, or OTs of a form that does not exist.
    #[error("the protocol asks for OTs that it has not set up")]
    UnfitOts,
    /// Inputs of a circuit that are not those of the party that gives them.
    #[error("the inputs do not fit the circuit")]
    UnfitInputs,
}

impl Error {
    /// What it says, with its options and whom it speaks of as data.
    pub fn text(&self) -> Text {
        match self {
            Error::Channel(error) => error.text(),
            Error::PeerMisbehaved(what) => text!("{the partner} sent {}", what.to_string()),
            Error::PaperParameters(what) => text!("{}: with [paper-parameters] this is not rare", *what),
            Error::With(who, error) => error.text().told(Audience::Three(who.name())),
            Error::AuditRefused { most } => {
                text!("the intersection has more than {} keys, so it is not revealed (`[audit-max]`)", *most)
            }
            Error::BelowMinimum { least, noisy } => text!(
                "{}, so nothing is revealed of it (`[min-matches]`)",
                match noisy {
                    true => text!("the count of the intersection, with noise, is below {}", *least),
                    false => text!("the intersection has fewer than {} keys", *least),
                }
            ),
            other => Text::words(other),
        }
    }

    /// Whether the run came to its end and both parties know that it reveals no result: they confirm it before
    /// they say so.
    pub fn is_agreed_refusal(&self) -> bool {
        matches!(self, Error::AuditRefused { .. } | Error::BelowMinimum { .. })
    }

    /// Says which participant of a run of three it was. An error that is no other process's fault stays what it is.
    #[must_use]
    pub fn with(self, who: impl Into<Participant>) -> Self {
        match self {
            Error::Channel(ChannelError::Cancelled) => Error::Cancelled,
            Error::Channel(_) | Error::PeerMisbehaved(_) => Error::With(who.into(), Box::new(self)),
            other => other,
        }
    }
}

fn kind(encoding: Encoding) -> String {
    match encoding {
        Encoding::Native { sigma } => format!("native items of {sigma} bits"),
        Encoding::Digest(width) => format!("digests of {} bits", 8 * width.bytes()),
    }
}

impl From<Misbehaviour> for Error {
    fn from(what: Misbehaviour) -> Self {
        Error::PeerMisbehaved(what)
    }
}

impl From<Misuse> for Error {
    fn from(what: Misuse) -> Self {
        Error::Misuse(what)
    }
}

impl From<NoFreeSlot> for Error {
    fn from(_: NoFreeSlot) -> Self {
        Error::Chance("my items have no garbled Bloom filter under the hash functions of this run")
    }
}

impl From<vesica_ot::Error> for Error {
    fn from(error: vesica_ot::Error) -> Self {
        match error {
            vesica_ot::Error::Channel(error) => Error::Channel(error),
            vesica_ot::Error::UnfitBaseOts => Misuse::UnfitBaseOts.into(),
            vesica_ot::Error::Exhausted { .. } | vesica_ot::Error::UnfitColumns { .. } => {
                Misuse::UnfitOts.into()
            }
            error => Error::PeerMisbehaved(Misbehaviour::Transfer(error)),
        }
    }
}

impl From<vesica_circuit::Error> for Error {
    fn from(error: vesica_circuit::Error) -> Self {
        match error {
            vesica_circuit::Error::Channel(error) => Error::Channel(error),
            vesica_circuit::Error::Ot(error) => error.into(),
            vesica_circuit::Error::Cancelled => Error::Cancelled,
            vesica_circuit::Error::NotMine => Misuse::UnfitInputs.into(),
            vesica_circuit::Error::OpensToSender => Misuse::ReceiverOnly.into(),
            _ => Misbehaviour::FailedCheck.into(),
        }
    }
}

impl From<okvs::Error> for Error {
    fn from(error: okvs::Error) -> Self {
        match error {
            okvs::Error::TooManyKeys { keys, most } => Misuse::TooManyKeys { keys, most }.into(),
            // Items are distinct, and so are their digests of 128 bits but for a probability below that.
            okvs::Error::DuplicateKeys { .. } | okvs::Error::Dependent => {
                Error::Chance("no store could be made of the items")
            }
        }
    }
}
