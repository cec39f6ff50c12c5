//! The strings that a base OT carries.

use vesica_crypto::block::Block;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// One string of a base OT: 256 bits that seed a generator. Wiped when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Seed([u8; 32]);

impl Seed {
    /// The string with these bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The first 128 bits, for generators of that strength.
    #[must_use]
    pub fn block(&self) -> Block {
        Block::from_bytes(self.0.as_chunks().0[0])
    }

    /// All 256 bits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(..)")
    }
}
