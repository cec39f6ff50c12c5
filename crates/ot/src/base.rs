//! Base OTs: a few hundred transfers from group operations, from which an extension makes millions.
//!
//! The *sender* ends with two random strings for each OT, the *receiver* with the one that its choice bit names. In every
//! form here the strings are keys that come out of the protocol: neither party chooses them. With [`cache`] two parties use
//! the same base OTs in several runs.

pub mod cache;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
pub mod masny_rindal;
pub mod naor_pinkas;

/// Bit `i` of choices packed eight to a byte, lowest first.
pub(crate) fn bit(choices: &[u8], i: usize) -> u8 {
    choices[i / 8] >> (i % 8) & 1
}
