//! A polynomial over GF(2^128): a store without slack, for few keys.
//!
//! The table holds the coefficients of the polynomial P of degree below n that has the value v_i at the key
//! k_i: Decode(P, k) = Σ P_j·k^j. So n keys take n columns, and whoever fills a table of n columns as it
//! likes can choose what it holds for n keys and no more: any n are met, and the values of all others are
//! determined.
//!
//! **No failure, no seed.** The rows 1, k, …, k^(n-1) of distinct keys are independent for every set of keys
//! (Vandermonde).
//!
//! **Linear over GF(2^128)**, not over GF(2) alone as the others: Δ·Decode(P, k) = Decode(Δ·P, k) for Δ and
//! values of that field. Its values are therefore elements of that field, not any vectors over GF(2).
//!
//! **Why this one.** A random matrix with entries of GF(2^128) has n columns, too, but takes n³/3 products to
//! solve and a pseudo-random block for each entry of a row that is decoded; a random binary matrix takes n +
//! 40 columns, of which a single key would have 41. Newton's form of the polynomial takes 5·n²/2 products, all of
//! them of whole slices, and an inversion.
//!
//! **Cost:** a product for each column and each key that is decoded, which grows with both sets' sizes: hence
//! for few keys.

use std::convert::Infallible;

use vesica_crypto::block::Block;
use vesica_crypto::gf128::{Gf128, multiply, multiply_add};
use vesica_crypto::par;
use zeroize::Zeroize;

use super::{Error, failure};

/// Keys decoded by one thread at a time. Local.
const CHUNK: usize = 1 << 12;

/// Keys decoded together: they and their sums fit the first cache.
const BATCH: usize = 1 << 8;

/// A polynomial of so many coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polynomial {
    columns: usize,
}

impl Polynomial {
    /// The store for at most `keys` keys.
    #[must_use]
    pub fn new(keys: usize) -> Self {
        Self { columns: keys }
    }

    /// Columns of a table: one for each key.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The table that maps each key to the value of the same index.
    ///
    /// # Errors
    /// If there are more keys than columns, or two are equal.
    ///
    /// # Panics
    /// If there is not one value a key.
    pub fn encode(&self, keys: &[Block], values: &[Block]) -> Result<Vec<Block>, Error> {
        assert_eq!(keys.len(), values.len(), "one value a key");
        if keys.len() > self.columns {
            return Err(Error::TooManyKeys { keys: keys.len(), most: self.columns });
        }
        let ones = || vec![Gf128::ONE.to_block(); keys.len()];
        // N_i = Π (X + k) over the keys before k_i: first all N_i(k_i).
        let mut inverses = ones();
        for (count, key) in keys.iter().enumerate() {
            multiply_by_sums(&mut inverses[count + 1..], &keys[count + 1..], *key);
        }
        if inverses.contains(&Block::ZERO) {
            return Err(failure(keys));
        }
        invert_all(&mut inverses);

        let mut table = vec![Block::ZERO; self.columns];
        // N_i, and what N_i and P are at the keys to come.
        let (mut vanishing, mut vanishing_at) = (vec![Gf128::ONE.to_block()], ones());
        let mut table_at = vec![Block::ZERO; keys.len()];
        for (count, (key, value)) in keys.iter().zip(values).enumerate() {
            // P ← P + (v - P(k)) / N(k) · N.
            let missing = Gf128::from(*value ^ table_at[count]) * Gf128::from(inverses[count]);
            multiply_add(&mut table[..=count], missing, &vanishing);
            let later = count + 1..;
            multiply_add(&mut table_at[later.clone()], missing, &vanishing_at[later.clone()]);
            // N ← N · (X + k).
            multiply_by_sums(&mut vanishing_at[later.clone()], &keys[later], *key);
            let before = vanishing.clone();
            vanishing.insert(0, Block::ZERO);
            multiply_add(&mut vanishing[..=count], Gf128::from(*key), &before);
        }
        Ok(table)
    }

    /// Replaces each key by what a table holds for it.
    ///
    /// # Panics
    /// If the table has another number of columns.
    pub fn decode(&self, threads: usize, table: &[Block], keys: &mut [Block]) {
        assert_eq!(table.len(), self.columns, "a table of this store");
        let Ok(()) = par::fill_chunks::<_, Infallible, _>(threads, CHUNK, keys, |_, keys| {
            let mut sums = [Block::ZERO; BATCH];
            for keys in keys.chunks_mut(BATCH) {
                let sums = &mut sums[..keys.len()];
                sums.fill(Block::ZERO);
                // Horner: P_0 + k·(P_1 + k·(…)).
                for coefficient in table.iter().rev() {
                    multiply(sums, keys);
                    sums.iter_mut().for_each(|sum| *sum ^= *coefficient);
                }
                keys.copy_from_slice(sums);
            }
            sums.zeroize();
            Ok(())
        });
    }
}

/// `x[i] ← x[i] · (keys[i] + key)`.
fn multiply_by_sums(x: &mut [Block], keys: &[Block], key: Block) {
    let mut sums = [Block::ZERO; BATCH];
    for (x, keys) in x.chunks_mut(BATCH).zip(keys.chunks(BATCH)) {
        let sums = &mut sums[..keys.len()];
        sums.iter_mut().zip(keys).for_each(|(sum, other)| *sum = *other ^ key);
        multiply(x, sums);
    }
}

/// Replaces each element, none of which is zero, by its inverse (Montgomery's way: by one inversion).
fn invert_all(elements: &mut [Block]) {
    let mut product = Gf128::ONE;
    let before: Vec<Gf128> = elements
        .iter()
        .map(|element| {
            let before = product;
            product *= Gf128::from(*element);
            before
        })
        .collect();
    let mut inverse = product.invert();
    for (element, before) in elements.iter_mut().zip(before).rev() {
        let own = inverse * before;
        inverse *= Gf128::from(*element);
        *element = own.to_block();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::prg::Prg;

    fn pairs(count: usize) -> (Vec<Block>, Vec<Block>) {
        let mut prg = Prg::from_seed([count as u8; 16]);
        (0..count).map(|_| (prg.block(), prg.block())).unzip()
    }

    #[test]
    fn every_key_has_its_value_and_others_have_none() {
        for count in [0, 1, 2, 3, 10, 100, 256] {
            let (keys, values) = pairs(count);
            for columns in [count, count + 3] {
                let store = Polynomial::new(columns);
                let table = store.encode(&keys, &values).unwrap();
                assert_eq!(table.len(), columns);
                for threads in [1, 2] {
                    let mut found = keys.clone();
                    store.decode(threads, &table, &mut found);
                    assert!(found == values, "{count} keys in {columns} columns");
                }
                let mut others: Vec<Block> = (0..5000).map(|i| Block::from(3 * i as u128)).collect();
                store.decode(2, &table, &mut others);
                // (A constant holds its value for every key: the values of an OKVS for other keys need not be
                // random.)
                assert!(count == 1 || others.iter().all(|other| !values.contains(other)));
            }
        }
        // Also with a key that is zero, or one.
        let keys = [Block::ZERO, Gf128::ONE.to_block(), Block::ONES];
        let values = [Block::ONES, Block::ZERO, Block::ONES];
        let store = Polynomial::new(3);
        let mut found = keys;
        store.decode(1, &store.encode(&keys, &values).unwrap(), &mut found);
        assert!(found == values);
    }

    #[test]
    fn multiples_and_sums_of_tables_hold_multiples_and_sums() {
        let (keys, values) = pairs(40);
        let store = Polynomial::new(40);
        let table = store.encode(&keys, &values).unwrap();
        let other = store.encode(&keys, &keys).unwrap();
        let delta = Gf128::from(Block::from(0x1234_5678_9abc_def0_u128));
        let combined: Vec<Block> =
            table.iter().zip(&other).map(|(a, b)| (delta * Gf128::from(*a)).to_block() ^ *b).collect();
        let (mut strangers, _) = pairs(300);
        strangers.extend(&keys);
        let decoded = |table: &[Block]| {
            let mut found = strangers.clone();
            store.decode(1, table, &mut found);
            found
        };
        let expected: Vec<Block> = decoded(&table)
            .iter()
            .zip(decoded(&other))
            .map(|(a, b)| (delta * Gf128::from(*a)).to_block() ^ b)
            .collect();
        assert!(decoded(&combined) == expected);
    }

    #[test]
    fn equal_and_surplus_keys_are_refused() {
        let (mut keys, values) = pairs(30);
        let many = Err(Error::TooManyKeys { keys: 30, most: 29 });
        assert_eq!(Polynomial::new(29).encode(&keys, &values), many);
        keys[20] = keys[4];
        let equal = Err(Error::DuplicateKeys { first: 4, second: 20 });
        assert_eq!(Polynomial::new(30).encode(&keys, &values), equal);
    }
}
