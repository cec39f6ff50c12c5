//! Encodings that are not valid.

use thiserror::Error;

pub use vesica_kernels::InvalidElement;

/// The bytes are no canonical encoding of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the scalar is not valid")]
pub struct InvalidScalar;
