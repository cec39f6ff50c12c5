//! The errors of this crate; each names who is at fault.

use thiserror::Error;
use vesica_channel::ChannelError;

/// An error that ends the evaluation of a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// An oblivious transfer failed.
    #[error(transparent)]
    Ot(#[from] vesica_ot::Error),
    /// The caller asked to stop.
    #[error("the evaluation of the circuit was cancelled")]
    Cancelled,
    /// The caller gave an engine the other party's private bits, or none of its own.
    #[error("private bits belong to the party that knows them")]
    NotMine,
    /// The caller asks for labels that no level has.
    #[error("no level has wire labels of {level} bits in {blocks} blocks")]
    UnfitLevel {
        /// Bits of a label.
        level: u32,
        /// Blocks of a label.
        blocks: usize,
    },
    /// The caller opens an output to the sender, in a form of the protocol that shows it none.
    #[error("this form of the protocol opens outputs to the receiver alone")]
    OpensToSender,
}
