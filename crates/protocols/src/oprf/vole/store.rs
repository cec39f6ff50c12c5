//! The oblivious key-value store (OKVS) of a run: a random band, or a polynomial where a malicious run has
//! few keys.
//!
//! A band for one key has 129 slots. A receiver that cheats fills each slot with a key of its choice, so it
//! would ask 129 questions where the sender allows one. Malicious runs of at most [`FEW`] items of the
//! receiver therefore take a polynomial, which has one slot an item. Above that a band has at most 1.7 slots
//! an item. What a receiver can put into it besides, by hash evaluations, is of that order
//! ([`max_malicious_items`](crate::vole_based::rr22::costs::max_malicious_items)).
//!
//! **Why that is no less safe.** The sender's security rests on Decode(P, y) = H_B(y) for few y only. Each
//! value H_B(y) is 128 bits of the oracle. So one table fits a y that its maker did not choose with
//! probability 2^-128, whatever the rows are. For one key the polynomial is a constant, and decodes to it for
//! every y.
//!
//! The polynomial costs a product in GF(2^128) for each pair of a slot and an item: 2^8 a sender's item at
//! most, about as much as all else that is done for it. Where a processor has no carry-less product it is
//! some tens of times slower.

use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_encode::okvs::{self, Band, Decoded, Polynomial, SortedKeys};

use super::elements::FieldElement;
use super::hashes::KeysAndValues;
use crate::error::Error;
use crate::parameters::Security;
use crate::protocol::Run;

/// Items of the receiver up to which a malicious run takes a polynomial. Agreed.
const FEW: usize = 1 << 8;

/// The store of a run.
pub(crate) enum Store {
    Band(Box<Band>),
    Polynomial(Polynomial),
}

/// Keys, and the value that goes with each, in the order of their store.
pub(crate) enum SortedStoreKeys<'a, V> {
    Band(&'a Band, SortedKeys<V>),
    /// In their own order.
    Polynomial(Polynomial, Vec<Block>, Vec<V>),
}

impl Store {
    /// The store for so many items of the receiver's, which cannot be built with probability 2^-λ at most. A
    /// polynomial has no use for the seed.
    pub(crate) fn new(
        security: Security,
        items: usize,
        statistical: u32,
        seed: Block,
    ) -> Result<Self, okvs::Error> {
        Ok(if security == Security::Malicious && items <= FEW {
            Store::Polynomial(Polynomial::new(items))
        } else {
            Store::Band(Box::new(Band::within(items, statistical, seed)?))
        })
    }

    /// Slots of a table.
    pub(crate) fn slots(&self) -> usize {
        match self {
            Store::Band(band) => band.columns(),
            Store::Polynomial(polynomial) => polynomial.columns(),
        }
    }

    /// Brings keys into the order of the store.
    pub(crate) fn sort<V: Copy + Send + Sync>(
        &self,
        run: &Run<'_>,
        hashed: KeysAndValues<V>,
    ) -> Result<SortedStoreKeys<'_, V>, Error> {
        let KeysAndValues { keys, values } = hashed;
        let count = keys.len();
        let sorted = match self {
            Store::Band(band) => {
                SortedStoreKeys::Band(band, band.sort_keys_within(run.threads, keys, values))
            }
            Store::Polynomial(polynomial) => SortedStoreKeys::Polynomial(*polynomial, keys, values),
        };
        run.advance(count)?;
        Ok(sorted)
    }

    /// P: a table that holds the value of each key, with zeros in the slots that no key determines. The keys
    /// remain.
    pub(crate) fn encode<V: FieldElement>(
        &self,
        run: &Run<'_>,
        hashed: KeysAndValues<V>,
    ) -> Result<(Vec<V>, SortedStoreKeys<'_, ()>), Error> {
        let count = hashed.keys.len();
        let keys = self.sort(run, hashed)?;
        let table = match &keys {
            SortedStoreKeys::Band(band, sorted) => band.encode_sorted(run.threads, sorted)?,
            SortedStoreKeys::Polynomial(store, keys, values) => V::interpolate(*store, keys, values)?,
        };
        let keys = match keys {
            SortedStoreKeys::Band(band, sorted) => SortedStoreKeys::Band(band, sorted.without_values()),
            SortedStoreKeys::Polynomial(store, keys, _) => {
                SortedStoreKeys::Polynomial(store, keys, vec![(); count])
            }
        };
        run.advance(count)?;
        Ok((table, keys))
    }
}

impl<V: Copy + Send + Sync> SortedStoreKeys<'_, V> {
    /// What a table holds for the keys, in their memory.
    fn look_up(self, threads: usize, table: &[Block]) -> Decoded<V> {
        match self {
            SortedStoreKeys::Band(band, sorted) => band.decode_sorted(threads, table, sorted),
            SortedStoreKeys::Polynomial(store, mut keys, values) => {
                store.decode(threads, table, &mut keys);
                let numbers = (0..keys.len() as u32).collect();
                Decoded { outputs: keys.into(), values, numbers }
            }
        }
    }

    /// Decode(C, x) of every key x.
    pub(crate) fn decode(self, run: &Run<'_>, c: Wiped<Block>) -> Result<Decoded<()>, Error> {
        let decoded = self.look_up(run.threads, &c);
        drop(c);
        run.advance(decoded.outputs.len())?;
        Ok(decoded.without_values())
    }
}

impl<V: FieldElement> SortedStoreKeys<'_, V> {
    /// Decode(B', y) ⊕ Δ·H_B(y) of every key y with value H_B(y).
    pub(crate) fn decode_and_add(
        self,
        run: &Run<'_>,
        b: &[Block],
        delta: Block,
    ) -> Result<Decoded<()>, Error> {
        let mut decoded = self.look_up(run.threads, b);
        V::add_products(&mut decoded.outputs, delta, &decoded.values);
        run.advance(decoded.outputs.len())?;
        Ok(decoded.without_values())
    }
}
