//! Numbers that do not fit.

use thiserror::Error;

/// The number cannot be a modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidModulus {
    /// It is even.
    #[error("the modulus is even")]
    Even,
    /// It is too short or too long.
    #[error("a modulus of {bits} bits is out of range")]
    Size {
        /// Its length.
        bits: u32,
    },
}

/// The bytes encode zero or a number that is not below the modulus, or their length is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("residue {index} of the message is not valid")]
pub struct InvalidResidue {
    /// Position in the batch; the number of whole residues if the length is wrong.
    pub index: usize,
}

/// A signature came out wrong: a fault of the machine, or a key that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("signature {index} of the batch does not verify")]
pub struct WrongSignature {
    /// Position in the batch.
    pub index: usize,
}
