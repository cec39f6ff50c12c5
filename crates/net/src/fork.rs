//! Randomness for a thread of its own.

use std::convert::Infallible;

use rand_core::{CryptoRng, TryCryptoRng, TryRng};

/// A generator that a caller's one has seeded: the output of BLAKE3 under a fresh key.
pub(crate) struct Fork(blake3::OutputReader);

impl Fork {
    pub(crate) fn of(rng: &mut dyn CryptoRng) -> Self {
        let mut key = [0; 32];
        rng.fill_bytes(&mut key);
        Self(blake3::Hasher::new_keyed(&key).finalize_xof())
    }

    fn next<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill(&mut bytes);
        bytes
    }
}

impl TryRng for Fork {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(self.next()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(self.next()))
    }

    fn try_fill_bytes(&mut self, into: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(into);
        Ok(())
    }
}

impl TryCryptoRng for Fork {}
