//! The random band (BPSY23 §4; the elimination is that of Dietzfelbinger and Walzer, ESA 2019).
//!
//! The row of a key starts at one of s = ⌈(1 + ε)·n⌉ places and has w bits, of which the first is one and the others are
//! random; the table has s + w - 1 columns. (BPSY23 takes s + w - 1 = (1 + ε)·n instead: w columns less, which small n
//! could not spare.)

use std::convert::Infallible;

use vesica_crypto::band::{Value, back_substitute, margin, sums};
use vesica_crypto::block::Block;
use vesica_crypto::memory::{large_vec, prefetch};
use vesica_crypto::par;

use super::elimination::{Dependent, Left, Segment};
use super::regions::{Placed, Regions, for_each_batch};
use super::rows::{BATCH, Rows};
use super::{Error, Free, Okvs, failure, new_table, parameters};

/// Keys placed together when encoding. Chunks and segments are local to speed.
const CHUNK: usize = 1 << 18;

/// Regions eliminated together.
const SEGMENT: usize = 64;

/// Columns of a table that stays in the second cache while keys are decoded in their own order.
const SMALL: usize = 1 << 14;

/// A random band of 64 · N bits.
pub struct Band<const N: usize> {
    keys: usize,
    rows: Rows<N>,
}

/// What the elimination of a segment leaves, or that it failed.
type Outcome<V, const N: usize> = Result<Vec<Left<V, N>>, Dependent>;

impl<const N: usize> Okvs for Band<N> {
    fn new(keys: usize, seed: Block) -> Result<Self, Error> {
        let starts = parameters::band_starts(64 * N, keys)?;
        Ok(Self { keys, rows: Rows::new(starts, seed) })
    }

    fn columns(&self) -> usize {
        self.rows.starts() + 64 * N - 1
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
        let mut bands = large_vec([0; N], self.columns());
        let mut table = new_table(self.columns(), margin(N), free);
        self.eliminate(threads, (keys, values), &mut bands, &mut table).map_err(|Dependent| failure(keys))?;
        back_substitute(&bands, &mut table);
        table.truncate(self.columns());
        Ok(table)
    }

    fn decode<V: Value>(&self, threads: usize, table: &[V], keys: &[Block], values: &mut [V]) {
        assert_eq!(table.len(), self.columns(), "a table of this store");
        // A chunk of keys goes once over the table: it is not to be much smaller.
        let chunk = (self.columns() / 2).clamp(CHUNK, 1 << 24);
        let Ok(()) =
            par::for_each_chunk::<_, _, Infallible, _>(threads, chunk, keys, values, |_, keys, values| {
                if table.len() <= SMALL {
                    self.decode_in_order(table, keys, values)
                } else {
                    self.decode_placed(table, keys, values)
                }
                Ok(())
            });
    }
}

impl<const N: usize> Band<N> {
    /// A store whose rows are of another shape than its parameters say.
    #[cfg(test)]
    pub(super) fn with_rows(keys: usize, rows: Rows<N>) -> Self {
        Self { keys, rows }
    }

    /// Brings all rows into echelon form.
    fn eliminate<V: Value>(
        &self,
        threads: usize,
        (keys, values): (&[Block], &[V]),
        bands: &mut [[u64; N]],
        table: &mut [V],
    ) -> Result<(), Dependent> {
        let regions = Regions::of(self.rows.starts());
        let mut placed: Vec<Option<Placed>> = keys.chunks(CHUNK).map(|_| None).collect();
        let Ok(()) = par::for_each::<_, Infallible, _>(
            threads,
            keys.chunks(CHUNK).zip(&mut placed),
            |_, (keys, placed)| {
                *placed = Some(Placed::new(&self.rows, regions, keys));
                Ok(())
            },
        );
        let columns = SEGMENT * regions.columns();
        let mut outcomes: Vec<Outcome<V, N>> = bands.chunks(columns).map(|_| Ok(Vec::new())).collect();
        let tasks = bands.chunks_mut(columns).zip(table.chunks_mut(columns)).zip(&mut outcomes);
        let Ok(()) =
            par::for_each::<_, Infallible, _>(threads, tasks, |number, ((bands, table), outcome)| {
                let mut segment = Segment { first: number * columns, bands, table };
                let of_segment =
                    (number * SEGMENT).min(regions.count())..((number + 1) * SEGMENT).min(regions.count());
                *outcome = self.eliminate_segment(&mut segment, of_segment, (keys, values), &placed);
                Ok(())
            });
        let mut whole = Segment { first: 0, bands, table };
        for outcome in outcomes {
            for left in outcome? {
                whole.insert(left.row, left.value)?;
            }
        }
        Ok(())
    }

    fn eliminate_segment<V: Value>(
        &self,
        segment: &mut Segment<'_, V, N>,
        regions: core::ops::Range<usize>,
        (keys, values): (&[Block], &[V]),
        placed: &[Option<Placed>],
    ) -> Outcome<V, N> {
        let mut left = Vec::new();
        for region in regions {
            for ((keys, values), placed) in
                keys.chunks(CHUNK).zip(values.chunks(CHUNK)).zip(placed.iter().flatten())
            {
                let records = placed.records(region..region + 1);
                for_each_batch(&self.rows, keys, records, |batch| {
                    for (i, (number, row)) in batch.numbers.iter().zip(batch.rows).enumerate() {
                        if let Some(next) = batch.prefetch(i) {
                            prefetch(values, next);
                        }
                        left.extend(segment.insert(*row, values[*number as usize])?);
                    }
                    Ok(())
                })?;
            }
        }
        Ok(left)
    }

    /// Key by key.
    fn decode_in_order<V: Value>(&self, table: &[V], keys: &[Block], values: &mut [V]) {
        let mut starts = [0; BATCH];
        let mut rows = [vesica_crypto::band::Row { start: 0, band: [0; N] }; BATCH];
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
            let (starts, rows) = (&mut starts[..keys.len()], &mut rows[..keys.len()]);
            self.rows.start_of(keys, starts);
            self.rows.fill_bands(keys, rows);
            rows.iter_mut().zip(starts).for_each(|(row, start)| row.start = *start);
            sums(table, rows, values);
        }
    }

    /// Region by region of the table.
    fn decode_placed<V: Value>(&self, table: &[V], keys: &[Block], values: &mut [V]) {
        let regions = Regions::of(self.rows.starts());
        let mut placed = Placed::new(&self.rows, regions, keys);
        placed.sort_nearly(regions);
        let mut found = [V::ZERO; BATCH];
        let records = placed.records(0..regions.count());
        let Ok(()) = for_each_batch::<N, Infallible>(&self.rows, keys, records, |batch| {
            let found = &mut found[..batch.rows.len()];
            sums(table, batch.rows, found);
            for (i, (number, value)) in batch.numbers.iter().zip(found).enumerate() {
                if let Some(next) = batch.prefetch(i) {
                    prefetch(values, next);
                }
                values[*number as usize] = *value;
            }
            Ok(())
        });
    }
}
