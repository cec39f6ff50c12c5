//! Oblivious key-value stores: linear tables that map keys to values.
//!
//! An OKVS turns n pairs of a key and a value into a table P. Each key selects some columns of P, and the XOR
//! of those columns is the value. Which columns a key selects is a function of the key and a seed. Decoding a
//! key that was not encoded gives a value without meaning. Decoding is linear over GF(2), as VOLE-based
//! protocols need it: Decode(P ⊕ Q, x) = Decode(P, x) ⊕ Decode(Q, x).
//!
//! | type | row of a key | columns | source |
//! |---|---|---|---|
//! | [`Band`] | a band of 128 random bits at a random column | 1.20 a key (1.23 above 2^23 keys) | BPSY23 §4 |
//! | [`Polynomial`] | powers of the key, in GF(2^128) | 1 a key | Newton's interpolation |
//!
//! The polynomial is for few keys. It is linear over GF(2^128) and never fails. The rest of this page is
//! about the band.
//!
//! **Keys** are distinct 128-bit digests under a key of the run. In the ideal-cipher model the rows of
//! distinct keys are independent and uniform, and so are the rows under another seed. If the seed is drawn
//! after the keys are fixed, the bound on the failure holds for every set of keys.
//!
//! **Failure.** An encoding fails with probability at most 2^-40 over the seed, with [`Error::Dependent`]
//! ([`parameters`] derives the bound). A protocol must then end the run: a second seed would tell the partner
//! something about the keys. Equal keys always fail, with an error of their own.
//!
//! **Obliviousness.** Columns that no row determines are zero, so the table by itself depends on the keys. A
//! protocol hides it under a one-time pad before it sends it. A table that is sent in the clear has random
//! values there ([`Band::encode_oblivious`]).
//!
//! Encoding and decoding are not in constant time: both work on the party's own keys. The table depends on
//! the pairs and the seed alone, not on the order of the pairs, the number of threads or the processor.

pub mod parameters;

mod band;
mod elimination;
mod polynomial;
mod regions;
mod rows;
mod sorted_keys;

use vesica_crypto::block::Block;

pub use band::Band;
pub use polynomial::Polynomial;
pub use sorted_keys::{Decoded, SortedKeys};

/// Why a table could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There are more keys than the table has room for, or than any table of this kind may have.
    #[error("{keys} keys, of at most {most}")]
    TooManyKeys {
        /// How many keys there are, or are announced.
        keys: usize,
        /// How many there may be.
        most: usize,
    },
    /// Two keys are equal: the caller's mistake.
    #[error("keys {first} and {second} are equal")]
    DuplicateKeys {
        /// Number of the first of them.
        first: usize,
        /// Number of the second.
        second: usize,
    },
    /// The rows of distinct keys are linearly dependent: an event of probability 2^-40.
    #[error("the rows of the keys are linearly dependent")]
    Dependent,
}

/// Why the rows of these keys are dependent: two keys are equal, or chance.
fn failure(keys: &[Block]) -> Error {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&index| (keys[index].to_u128(), index));
    let equal = order.windows(2).find(|pair| keys[pair[0]] == keys[pair[1]]);
    equal.map_or(Error::Dependent, |pair| Error::DuplicateKeys { first: pair[0], second: pair[1] })
}

#[cfg(test)]
mod tests;
