//! Encodings that are not valid.

use thiserror::Error;

/// The peer sent bytes that are no canonical encoding of a group element, or the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("group element {index} of the message is not valid")]
pub struct InvalidElement {
    /// Position in the batch; 0 for a single element.
    pub index: usize,
}
