//! Three hashes in clusters, with dense columns (RR22 §4; GPRTY21 for the dense part).
//!
//! Keys are spread over clusters, each a table of its own. The row of a key has ones at three sparse columns of its cluster
//! and a random pattern in 64 dense ones. Rows are *peeled*: a column with a single row is that row's pivot, and the row is
//! taken away, until no rows are left. Where every column has several, one of them gets the pivot and the others join the
//! *gap*. Going back through the pivots, every sparse value is a known one plus a sum of dense ones; so is each row of the
//! gap, which makes a small dense system.
//!
//! RR22 has field elements in the dense columns; bits keep decoding linear over GF(2) for values of any kind, at the price
//! of λ more columns a cluster.

use std::convert::Infallible;

use vesica_crypto::band::{Row, Value, sums};
use vesica_crypto::block::Block;
use vesica_crypto::par;

use super::elimination::Dependent;
use super::parameters::{ClusterShape, DENSE};
use super::regions::Regions;
use super::rows::{BATCH, Rows};
use super::sorted_keys::SortedKeys;
use super::{Error, Free, Okvs, failure, new_table};

/// Keys sorted together when decoding. Local to speed.
const CHUNK: usize = 1 << 20;

/// Words of hash for a row: two for the sparse columns, one for the dense ones.
const WORDS: usize = 3;

/// A table of three hashes in clusters.
pub struct ThreeHash {
    keys: usize,
    shape: ClusterShape,
    /// A start is the number of a cluster.
    rows: Rows<WORDS>,
    /// The dense columns that there are: all.
    dense: u64,
}

/// The row of a key in its cluster.
#[derive(Clone, Copy)]
struct Sparse {
    columns: [u32; 3],
    dense: u64,
}

impl Sparse {
    /// Three different columns of `sparse`, and those of `dense` that the key selects.
    fn new(words: &[u64; WORDS], sparse: u32, dense: u64) -> Self {
        let below = |hash: u64, bound: u32| (((hash & 0xffff_ffff) * u64::from(bound)) >> 32) as u32;
        let first = below(words[0], sparse);
        // A number among those left, counted past the ones taken in ascending order.
        let mut second = below(words[0] >> 32, sparse - 1);
        second += u32::from(second >= first);
        let mut third = below(words[1], sparse - 2);
        third += u32::from(third >= first.min(second));
        third += u32::from(third >= first.max(second));
        Self { columns: [first, second, third], dense: words[2] & dense }
    }
}

impl Okvs for ThreeHash {
    fn new(keys: usize, seed: Block) -> Result<Self, Error> {
        let shape = ClusterShape::for_keys(keys)?;
        Ok(Self { keys, shape, rows: Rows::new(shape.clusters, seed), dense: u64::MAX })
    }

    fn columns(&self) -> usize {
        self.shape.clusters as usize * self.shape.columns()
    }

    fn encode<V: Value>(
        &self,
        threads: usize,
        keys: &[Block],
        values: &[V],
        free: Free<'_>,
    ) -> Result<Vec<V>, Error> {
        assert_eq!(keys.len(), values.len(), "one value a key");
        if keys.len() > self.keys {
            return Err(Error::TooManyKeys { keys: keys.len(), most: self.keys });
        }
        let mut table = new_table(self.columns(), 0, free);
        let sorted = SortedKeys::new(&self.rows, Regions::single(self.rows.starts()), threads, keys, values);
        let clusters = table.chunks_mut(self.shape.columns());
        par::for_each(threads, clusters, |number, table| {
            let (keys, values) = sorted.of_regions(number..number + 1);
            if keys.len() > self.shape.keys {
                return Err(Dependent);
            }
            let mut cluster = Cluster::with_capacity(keys.len());
            cluster.values.extend_from_slice(values);
            let mut rows = [Row { start: 0, band: [0; WORDS] }; BATCH];
            for keys in keys.chunks(BATCH) {
                let rows = self.rows.of(keys, &mut rows);
                cluster
                    .rows
                    .extend(rows.iter().map(|row| Sparse::new(&row.band, self.shape.sparse, self.dense)));
            }
            cluster.solve(table)
        })
        .map_err(|Dependent| failure(keys))?;
        Ok(table)
    }

    fn decode<V: Value>(&self, threads: usize, table: &[V], keys: &[Block], values: &mut [V]) {
        assert_eq!(table.len(), self.columns(), "a table of this store");
        let clusters = self.rows.starts();
        let Ok(()) =
            par::for_each_chunk::<_, _, Infallible, _>(threads, CHUNK, keys, values, |_, keys, values| {
                let unvalued = vec![(); keys.len()];
                let sorted = SortedKeys::new(&self.rows, Regions::single(clusters), 1, keys, &unvalued);
                sorted.decode(values, &self.rows, |rows, found| self.decode_batch(table, rows, found));
                Ok(())
            });
    }
}

impl ThreeHash {
    /// One cluster with so many sparse and so many dense columns, for tests of what fails.
    #[cfg(test)]
    pub(super) fn narrowed(keys: usize, sparse: u32, dense: u32, seed: Block) -> Self {
        let shape = ClusterShape { clusters: 1, keys, sparse };
        Self { keys, shape, rows: Rows::new(1, seed), dense: (1 << dense) - 1 }
    }

    fn decode_batch<V: Value>(&self, table: &[V], rows: &[Row<WORDS>], values: &mut [V]) {
        let mut dense = [Row { start: 0, band: [0] }; BATCH];
        let dense = &mut dense[..rows.len()];
        for (row, dense) in rows.iter().zip(&mut *dense) {
            let start = row.start as usize * self.shape.columns() + self.shape.sparse as usize;
            *dense = Row { start: start as u32, band: [row.band[2] & self.dense] };
        }
        sums(table, dense, values);
        for (row, value) in rows.iter().zip(values) {
            let cluster = &table[row.start as usize * self.shape.columns()..];
            for column in Sparse::new(&row.band, self.shape.sparse, self.dense).columns {
                *value ^= cluster[column as usize];
            }
        }
    }
}

/// The rows of a cluster.
struct Cluster<V> {
    rows: Vec<Sparse>,
    values: Vec<V>,
}

/// Rows by what became of them.
struct Peeled {
    /// Row and column of each pivot; no row has the column of an earlier pivot, but for the gap.
    pivots: Vec<(u32, u32)>,
    gap: Vec<u32>,
}

impl<V: Value> Cluster<V> {
    fn with_capacity(rows: usize) -> Self {
        Self { rows: Vec::with_capacity(rows), values: Vec::with_capacity(rows) }
    }

    /// Fills the columns that the rows determine.
    fn solve(&self, table: &mut [V]) -> Result<(), Dependent> {
        let (sparse, dense) = table.split_at_mut(table.len() - DENSE);
        let peeled = self.peel(sparse.len())?;
        if !peeled.gap.is_empty() {
            self.solve_dense(&peeled, sparse, dense)?;
        }
        for (row, column) in peeled.pivots.iter().rev() {
            let Sparse { columns, dense: chosen } = self.rows[*row as usize];
            let mut value = self.values[*row as usize];
            value ^= sum_of_bits(dense, chosen);
            for other in columns.into_iter().filter(|other| other != column) {
                value ^= sparse[other as usize];
            }
            sparse[*column as usize] = value;
        }
        Ok(())
    }

    fn peel(&self, columns: usize) -> Result<Peeled, Dependent> {
        // Of each column how many rows are left, and the XOR of their numbers.
        let (mut weights, mut numbers) = (vec![0u32; columns], vec![0u32; columns]);
        for (number, row) in self.rows.iter().enumerate() {
            for column in row.columns {
                weights[column as usize] += 1;
                numbers[column as usize] ^= number as u32;
            }
        }
        let mut single: Vec<u32> =
            (0..columns as u32).filter(|column| weights[*column as usize] == 1).collect();
        let mut gone = vec![false; self.rows.len()];
        let mut peeled = Peeled { pivots: Vec::with_capacity(self.rows.len()), gap: Vec::new() };
        loop {
            while let Some(column) = single.pop() {
                if weights[column as usize] != 1 {
                    continue;
                }
                let number = numbers[column as usize];
                peeled.pivots.push((number, column));
                gone[number as usize] = true;
                for column in self.rows[number as usize].columns {
                    weights[column as usize] -= 1;
                    numbers[column as usize] ^= number;
                    if weights[column as usize] == 1 {
                        single.push(column);
                    }
                }
            }
            if peeled.pivots.len() + peeled.gap.len() == self.rows.len() {
                return Ok(peeled);
            }
            // Every column has several rows: of the lightest one, one row keeps it and the others make the gap.
            let lightest =
                (0..columns).filter(|column| weights[*column] > 0).min_by_key(|column| weights[*column]);
            let column = lightest.ok_or(Dependent)? as u32;
            let with_column = |number: &u32| self.rows[*number as usize].columns.contains(&column);
            let left =
                (0..self.rows.len() as u32).filter(|number| !gone[*number as usize]).filter(with_column);
            for number in left.skip(1).collect::<Vec<_>>() {
                if peeled.gap.len() == DENSE {
                    return Err(Dependent);
                }
                peeled.gap.push(number);
                gone[number as usize] = true;
                for column in self.rows[number as usize].columns {
                    weights[column as usize] -= 1;
                    numbers[column as usize] ^= number;
                    if weights[column as usize] == 1 {
                        single.push(column);
                    }
                }
            }
        }
    }

    /// Gives the dense columns values that fulfil the rows of the gap.
    fn solve_dense(&self, peeled: &Peeled, sparse: &[V], dense: &mut [V]) -> Result<(), Dependent> {
        // Sparse values as a known one and the dense columns to be added to it.
        let (mut known, mut masks) = (sparse.to_vec(), vec![0u64; sparse.len()]);
        for (number, column) in peeled.pivots.iter().rev() {
            let row = self.rows[*number as usize];
            let (mut value, mut mask) = (self.values[*number as usize], row.dense);
            for other in row.columns.into_iter().filter(|other| other != column) {
                value ^= known[other as usize];
                mask ^= masks[other as usize];
            }
            known[*column as usize] = value;
            masks[*column as usize] = mask;
        }
        // The rows of the gap in echelon form, each with the number of its pivot.
        let mut echelon: Vec<(u32, u64, V)> = Vec::with_capacity(peeled.gap.len());
        for number in &peeled.gap {
            let row = self.rows[*number as usize];
            let (mut value, mut mask) = (self.values[*number as usize], row.dense);
            for column in row.columns {
                value ^= known[column as usize];
                mask ^= masks[column as usize];
            }
            for (pivot, kept, kept_value) in &echelon {
                if mask >> pivot & 1 == 1 {
                    mask ^= kept;
                    value ^= *kept_value;
                }
            }
            if mask == 0 {
                return Err(Dependent);
            }
            echelon.push((mask.trailing_zeros(), mask, value));
        }
        // A row has no pivot of an earlier one: from the last on, all it needs but its own pivot is known.
        for (pivot, mask, value) in echelon.iter().rev() {
            let others = sum_of_bits(dense, mask & !(1 << pivot));
            dense[*pivot as usize] = *value ^ others;
        }
        Ok(())
    }
}

/// The sum of the values that the bits of `chosen` stand for.
fn sum_of_bits<V: Value>(values: &[V], chosen: u64) -> V {
    let mut sum = [V::ZERO];
    sums(values, &[Row { start: 0, band: [chosen] }], &mut sum);
    sum[0]
}
