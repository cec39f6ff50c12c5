//! Base OTs: a few hundred transfers from group operations, which an extension makes millions of.
//!
//! The *sender* ends with two random strings for each OT, the *receiver* with the one that its choice bit names. In every
//! form here the strings are keys that come out of the protocol; nothing is chosen by anybody. [`kept`] lets two parties use
//! theirs for one run after the other.

#[cfg(any(test, feature = "testing"))]
pub mod ideal;
pub mod kept;
pub mod masny_rindal;
pub mod naor_pinkas;

/// Bit `i` of choices packed eight to a byte, lowest first.
pub(crate) fn bit(choices: &[u8], i: usize) -> u8 {
    choices[i / 8] >> (i % 8) & 1
}
