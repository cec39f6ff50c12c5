//! Oblivious key-value stores: linear tables that map keys to values.
//!
//! An OKVS turns n pairs of a key and a value into a table P such that for each pair the sum of those columns of P which
//! the key selects is the value. The selection is a function of key and seed, decoding any other key gives a value without
//! meaning, and decoding is linear over GF(2): Decode(P ⊕ Q, x) = Decode(P, x) ⊕ Decode(Q, x), which is what VOLE-based
//! protocols live on.
//!
//! | type | row of a key | columns | source |
//! |---|---|---|---|
//! | [`Band`] | a band of w random bits at a random place | about 1.20, 1.09, 1.05 a key for w = 128, 256, 512 | BPSY23 §4 |
//! | [`ThreeHash`] | three places of a cluster, and some of its dense columns | about 1.32 a key | RR22 §4, GPRTY21 |
//! | [`Polynomial`] | powers of the key, in GF(2^128) | 1 a key | Newton's interpolation |
//!
//! The polynomial, for few keys, is linear over GF(2^128) and never fails; what follows is of the other two.
//!
//! **Keys** are 128-bit digests under a key of the run, distinct. The rows of distinct keys are independent and uniform in
//! the ideal-cipher model, and those of another seed are independent of them. A seed that is drawn after the keys are fixed
//! makes the bound on the failure hold for any set of keys.
//!
//! **Failure.** An encoding fails with probability at most 2^-40 over the seed ([`parameters`] has the derivation), with
//! [`Error::Dependent`]. A protocol must treat that as the end of the run: to try another seed tells the partner something
//! about the keys. Equal keys make a failure certain and are reported as such.
//!
//! **Obliviousness.** With [`Free::Random`] the table is uniform among all tables that decode to the pairs, so that if
//! values are uniform the table is independent of the keys: what a table that travels in the clear needs. With
//! [`Free::Zero`] columns that no row determines are zero; a table that is padded with a one-time pad needs no more.
//!
//! Neither encoding nor decoding is in constant time: both work on the party's own keys. The table depends on the pairs,
//! the seed and the free columns alone: not on the order of the pairs, the number of threads or the processor.

pub mod parameters;

mod band;
mod elimination;
mod polynomial;
mod regions;
mod rows;
mod sorted_keys;
mod three_hash;

use rand_core::CryptoRng;
use vesica_crypto::band::Value;
use vesica_crypto::block::Block;

pub use band::Band;
pub use polynomial::Polynomial;
pub use sorted_keys::{Decoded, SortedKeys};
pub use three_hash::ThreeHash;

/// Random band of 128 bits, 1.20 columns a key (1.23 above 2^23 keys).
pub type Band128 = Band<2>;
/// Random band of 256 bits, 1.09 columns a key (1.11 above 2^21 keys).
pub type Band256 = Band<4>;
/// Random band of 512 bits, 1.042 columns a key (1.05 above 2^19 keys).
pub type Band512 = Band<8>;

/// Why a table could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// More keys than the table has room for, or than any table of this kind may have.
    #[error("{keys} keys, of at most {most}")]
    TooManyKeys {
        /// How many there are, or are to be.
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
    /// The rows of distinct keys are linearly dependent, or do not fit: an event of probability 2^-40.
    #[error("the rows of the keys are linearly dependent")]
    Dependent,
}

/// What columns hold that no row determines.
pub enum Free<'a> {
    /// Zero.
    Zero,
    /// Random values, which make the table oblivious.
    Random(&'a mut dyn CryptoRng),
}

/// An oblivious key-value store of a size and with a seed, on which both parties agree.
pub trait Okvs: Sized + Sync {
    /// The store for at most `keys` keys whose rows are derived from `seed`.
    ///
    /// # Errors
    /// [`Error::TooManyKeys`] if there is none for so many.
    fn new(keys: usize, seed: Block) -> Result<Self, Error>;

    /// Columns of a table.
    fn columns(&self) -> usize;

    /// The table that maps each key to the value in its place.
    ///
    /// # Errors
    /// As [`Error`] says.
    ///
    /// # Panics
    /// If there is not one value a key.
    fn encode<V: Value>(
        &self,
        threads: usize,
        keys: &[Block],
        values: &[V],
        free: Free<'_>,
    ) -> Result<Vec<V>, Error>;

    /// The value of each key in `table`.
    ///
    /// # Panics
    /// If the table has another number of columns, or there is not one value a key.
    fn decode<V: Value>(&self, threads: usize, table: &[V], keys: &[Block], values: &mut [V]);
}

/// What a failure is due to, keys being equal or not.
fn failure(keys: &[Block]) -> Error {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&index| (keys[index].to_u128(), index));
    let equal = order.windows(2).find(|pair| keys[pair[0]] == keys[pair[1]]);
    equal.map_or(Error::Dependent, |pair| Error::DuplicateKeys { first: pair[0], second: pair[1] })
}

/// Empty columns, or random ones, with a margin of zeros.
fn new_table<V: Value>(columns: usize, margin: usize, free: Free<'_>) -> Vec<V> {
    let mut table = vesica_crypto::memory::large_zeros(columns + margin);
    if let Free::Random(rng) = free {
        V::randomise(&mut table[..columns], rng);
    }
    table
}

#[cfg(test)]
mod tests;
