//! The errors of this crate; each names who is at fault.

use thiserror::Error;
use vesica_channel::ChannelError;

/// An error that ends an oblivious transfer or a vector OLE.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The partner's message does not have the agreed length.
    #[error("the partner's message ({what}) does not have the agreed length")]
    MessageLength {
        /// Which message.
        what: &'static str,
    },
    /// The partner sent something else than the canonical encoding of a group element, or sent the identity.
    #[error("the partner sent a group element that is not valid (base OT, element {position})")]
    InvalidElement {
        /// Position in its message, from 0.
        position: usize,
    },
    /// A check of the partner's messages failed.
    #[error("the partner's messages contradict one another")]
    Inconsistent,
    /// The cached base OTs are too few for the run, or those of another level or side.
    #[error("the kept base OTs do not fit the run")]
    UnfitBaseOts,
    /// The caller asks for columns that no level of an extension has, or for rows of another width.
    #[error("no OT extension has {columns} columns in rows of {blocks} blocks")]
    UnfitColumns {
        /// Columns, one for each base OT.
        columns: usize,
        /// Blocks of a row.
        blocks: usize,
    },
    /// The caller asks for more OTs than its set-up made.
    #[error("{asked} OTs were asked for, and {left} are left")]
    Exhausted {
        /// How many were asked for.
        asked: usize,
        /// How many are left.
        left: usize,
    },
}
