//! Base OTs: a few hundred transfers from public-key operations, from which an extension makes millions.
//!
//! The *sender* ends with two random strings for each OT, the *receiver* with the one that its choice bit
//! names. In every form here the strings are keys that come out of the protocol: neither party chooses them.
//! They come from Diffie–Hellman or from ML-KEM ([`KeyAgreement`]). With [`cache`] two parties use the same base OTs
//! in several runs.

use vesica_crypto::block::Block;
use vesica_crypto::transpose::ROWS;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::seed::Seed;

pub mod cache;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
pub mod key_agreement;
pub mod masny_rindal;
pub mod ml_kem;
pub mod naor_pinkas;
pub mod two_messages;

pub use cache::Origin;
pub use key_agreement::KeyAgreement;

/// Bit `i` of choices packed eight to a byte, lowest first.
pub(crate) fn bit(choices: &[u8], i: usize) -> u8 {
    choices[i / 8] >> (i % 8) & 1
}

/// The first 128 bits of both strings of 128 base OTs.
///
/// # Errors
/// If there are not 128.
pub(crate) fn pairs_of_blocks(base: &[[Seed; 2]]) -> Result<Zeroizing<[[Block; 2]; ROWS]>, Error> {
    let base: &[[Seed; 2]; ROWS] = base.try_into().map_err(|_| Error::UnfitBaseOts)?;
    Ok(Zeroizing::new(base.each_ref().map(|pair| pair.each_ref().map(Seed::block))))
}

/// The first 128 bits of the chosen strings of 128 base OTs.
///
/// # Errors
/// If there are not 128.
pub(crate) fn chosen_blocks(base: &[Seed]) -> Result<Zeroizing<[Block; ROWS]>, Error> {
    let base: &[Seed; ROWS] = base.try_into().map_err(|_| Error::UnfitBaseOts)?;
    Ok(Zeroizing::new(base.each_ref().map(Seed::block)))
}
