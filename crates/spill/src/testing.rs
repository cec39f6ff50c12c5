//! Spills over a file that a test can damage. Only with the feature `testing`.

use std::fs::File;

use rand_core::CryptoRng;

use crate::directory::Directory;
use crate::error::SpillError;
use crate::store::Spill;

/// A spill in that file, which is said to be in that directory.
///
/// # Errors
/// As [`Spill::create`].
pub fn spill_in(file: File, directory: Directory, rng: &mut dyn CryptoRng) -> Result<Spill, SpillError> {
    Spill::in_file(directory, file, rng)
}
