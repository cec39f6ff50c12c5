//! Protocols from oblivious transfer extension: items are hashed to bins, and each bin is compared by OTs.

mod keys;
mod lists;
mod strings;

pub mod kkrt16;
pub mod ot_phasing;
pub mod ot_psi;

use vesica_encode::hashing::cuckoo;

use crate::error::Error;

/// More items than foreseen have no bin.
fn no_place(_: cuckoo::Failure) -> Error {
    Error::Chance("some of our items found no place in the hash table")
}
