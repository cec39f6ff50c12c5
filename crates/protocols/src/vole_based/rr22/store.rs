//! The store of a run: a random band, or without slack where a malicious run has few keys.
//!
//! A band for one key has 129 columns, and a receiver that cheats fills each with a key of its choice: it would ask 129
//! questions where the sender allows one. So malicious runs of at most [`FEW`] items of the receiver take a polynomial, which
//! has a column an item. Above that a band has at most 1.7 columns an item, and what a receiver can put into it
//! besides, by hash evaluations, is of that order: [`max_malicious_items`](super::entry::max_malicious_items).
//!
//! **Why that is no less safe.** What the sender's security rests on is that Decode(P, y) = H_B(y) holds for few y: each value
//! H_B(y) is 128 bits of the oracle, so that one table fits a y that its maker did not choose with probability 2^-128,
//! whatever the rows are. For one key the polynomial is a constant, and decodes to it for every y.
//!
//! The polynomial costs a product in GF(2^128) for each pair of a column and an item: 2^8 a sender's item at most, about as
//! much as all else that is done for it. Where a processor has no carry-less product it is some tens of times slower.

use vesica_crypto::block::Block;
use vesica_encode::okvs::{self, Band, Decoded, Error, Polynomial};

use super::cells::Cell;
use crate::parameters::Security;

/// Items of the receiver up to which a malicious run takes a polynomial. Agreed.
const FEW: usize = 1 << 8;

/// The store of a run.
pub(super) enum Store {
    Band(Box<Band>),
    Polynomial(Polynomial),
}

/// Keys, and the value that goes with each, in the order of their store.
pub(super) enum Placed<'a, V> {
    Band(&'a Band, okvs::SortedKeys<V>),
    /// In their own.
    Polynomial(Polynomial, Vec<Block>, Vec<V>),
}

impl Store {
    /// The store for so many items of the receiver's. A polynomial has no use for the seed.
    pub(super) fn new(security: Security, items: usize, seed: Block) -> Result<Self, Error> {
        Ok(if security == Security::Malicious && items <= FEW {
            Store::Polynomial(Polynomial::new(items))
        } else {
            Store::Band(Box::new(Band::new(items, seed)?))
        })
    }

    /// Columns of a table.
    pub(super) fn columns(&self) -> usize {
        match self {
            Store::Band(band) => band.columns(),
            Store::Polynomial(polynomial) => polynomial.columns(),
        }
    }

    /// Brings keys into the order of the store.
    pub(super) fn place<V: Copy + Send + Sync>(
        &self,
        threads: usize,
        keys: Vec<Block>,
        values: Vec<V>,
    ) -> Placed<'_, V> {
        match self {
            Store::Band(band) => Placed::Band(band, band.sort_keys(threads, &keys, &values)),
            Store::Polynomial(polynomial) => Placed::Polynomial(*polynomial, keys, values),
        }
    }
}

impl<'a, V: Copy + Send + Sync> Placed<'a, V> {
    /// The table, with zeros where no key determines it.
    pub(super) fn encode(&self, threads: usize) -> Result<Vec<V>, Error>
    where
        V: Cell,
    {
        match self {
            Placed::Band(band, placed) => band.encode_sorted(threads, placed),
            Placed::Polynomial(store, keys, values) => V::interpolate(*store, keys, values),
        }
    }

    /// What a table holds for the keys; in their memory.
    pub(super) fn decode(self, threads: usize, table: &[Block]) -> Decoded<V> {
        match self {
            Placed::Band(band, placed) => band.decode_sorted(threads, table, placed),
            Placed::Polynomial(store, mut keys, values) => {
                store.decode(threads, table, &mut keys);
                let numbers = (0..keys.len() as u32).collect();
                Decoded { outputs: keys.into(), values, numbers }
            }
        }
    }

    /// The same without the values.
    pub(super) fn without_values(self) -> Placed<'a, ()> {
        match self {
            Placed::Band(band, placed) => Placed::Band(band, placed.without_values()),
            Placed::Polynomial(store, keys, values) => {
                let values = vec![(); values.len()];
                Placed::Polynomial(store, keys, values)
            }
        }
    }
}
