//! What can go wrong, and who is at fault.

use thiserror::Error;
use vesica_channel::ChannelError;

/// Everything that ends an oblivious transfer or a vector OLE.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The partner's message does not have the agreed length.
    #[error("the partner's message ({what}) does not have the agreed length")]
    MessageLength {
        /// Which message.
        what: &'static str,
    },
    /// Not the canonical encoding of a group element, or the identity.
    #[error("the partner sent a group element that is not valid (base OT, element {position})")]
    InvalidElement {
        /// Position in its message, from 0.
        position: usize,
    },
    /// A check of the partner's messages failed.
    #[error("the partner's messages contradict one another")]
    Inconsistent,
    /// The caller's kept base OTs are too few for the run, or the other side's.
    #[error("the kept base OTs do not fit the run")]
    UnfitBaseOts,
}
