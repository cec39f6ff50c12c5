//! The random band (BPSY23 §4; the elimination is that of Dietzfelbinger and Walzer, ESA 2019).
//!
//! The row of a key starts at one of s = ⌈(1 + ε)·n⌉ places and has w bits, of which the first is one and the others are
//! random; the table has s + w - 1 columns. (BPSY23 takes s + w - 1 = (1 + ε)·n instead: w columns less, which small n
//! could not spare.)

use std::convert::Infallible;

use vesica_crypto::band::{Row, Value, back_substitute, margin, sums};
use vesica_crypto::block::Block;
use vesica_crypto::par;

use super::elimination::{Dependent, Left, Segment};
use super::regions::Regions;
use super::rows::{BATCH, Rows};
use super::sorted_keys::{Decoded, SortedKeys};
use super::{Error, Free, Okvs, new_table, parameters};

/// Keys decoded together, at least. Chunks and segments are local to speed.
const CHUNK: usize = 1 << 18;

/// Columns eliminated together, at least: their bands and values fit the second cache. More than a band's width.
const SEGMENT: usize = 1 << 15;

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
        self.encode_sorted(threads, &self.sort_keys(threads, keys, values), free)
    }

    fn decode<V: Value>(&self, threads: usize, table: &[V], keys: &[Block], values: &mut [V]) {
        assert_eq!(table.len(), self.columns(), "a table of this store");
        // A chunk of keys goes once over the table: it is not to be much smaller.
        let chunk = (self.columns() / 2).clamp(CHUNK, 1 << 24);
        let Ok(()) =
            par::for_each_chunk::<_, _, Infallible, _>(threads, chunk, keys, values, |_, keys, values| {
                if table.len() <= SMALL {
                    self.decode_in_order(table, keys, values);
                } else {
                    let sorted = self.sort_keys(1, keys, &vec![(); keys.len()]);
                    sorted.decode(values, &self.rows, |rows, found| sums(table, rows, found));
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

    /// Brings keys, and the value that goes with each, into the order of a table.
    ///
    /// # Panics
    /// If there is not one value a key.
    pub fn sort_keys<V: Copy + Send + Sync>(
        &self,
        threads: usize,
        keys: &[Block],
        values: &[V],
    ) -> SortedKeys<V> {
        SortedKeys::new(&self.rows, Regions::of(self.rows.starts()), threads, keys, values)
    }

    /// As [`encode`](Okvs::encode), of what this store has sorted.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub fn encode_sorted<V: Value>(
        &self,
        threads: usize,
        sorted: &SortedKeys<V>,
        free: Free<'_>,
    ) -> Result<Vec<V>, Error> {
        if sorted.count() > self.keys {
            return Err(Error::TooManyKeys { keys: sorted.count(), most: self.keys });
        }
        let mut table = new_table(self.columns(), margin(N), free);
        self.solve(threads, sorted, &mut table).map_err(|Dependent| match sorted.equal() {
            Some([first, second]) => Error::DuplicateKeys { first, second },
            None => Error::Dependent,
        })?;
        table.truncate(self.columns());
        Ok(table)
    }

    /// What a table holds for keys that this store has sorted; in their memory.
    ///
    /// # Panics
    /// If the table has another number of columns.
    #[must_use]
    pub fn decode_sorted<V: Copy + Send + Sync>(
        &self,
        threads: usize,
        table: &[Block],
        sorted: SortedKeys<V>,
    ) -> Decoded<V> {
        assert_eq!(table.len(), self.columns(), "a table of this store");
        sorted.replace(threads, &self.rows, |rows, found| sums(table, rows, found))
    }

    /// Solves for the columns that rows determine, one stretch of the table after another, from its end on.
    ///
    /// No row leaves its band: one that starts in a stretch may go on into the next one, and no further. So a stretch is
    /// solved when the one before it is in echelon form, and there are bands of two stretches at a time, which a cache holds.
    fn solve<V: Value>(
        &self,
        threads: usize,
        sorted: &SortedKeys<V>,
        table: &mut [V],
    ) -> Result<(), Dependent> {
        let regions = Regions::of(self.rows.starts());
        let segment = (SEGMENT / regions.columns()).max(1);
        let stretch = segment * threads.max(1);
        let (mut later, mut spare) = (Vec::new(), Vec::new());
        let mut end = self.columns();
        for start in (0..regions.count()).step_by(stretch).rev() {
            let first = start * regions.columns();
            let (table, later_table) = table[first..].split_at_mut(end - first);
            let mut bands = spare;
            bands.clear();
            bands.resize(table.len(), [0; N]);
            let own = start..(start + stretch).min(regions.count());
            let outcomes = self.eliminate(threads, sorted, (own, segment), &mut bands, table);
            let mut own = Segment { first, bands: &mut bands, table };
            let mut next = Segment { first: end, bands: &mut later, table: later_table };
            for left in outcomes.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
                if let Some(left) = own.insert(left.row, left.value)?
                    && next.insert(left.row, left.value)?.is_some()
                {
                    return Err(Dependent);
                }
            }
            back_substitute(&later, later_table);
            (spare, later) = (later, bands);
            end = first;
        }
        back_substitute(&later, table);
        Ok(())
    }

    /// Brings the rows of some regions into echelon form, so many regions at a time; each with the rows that left it.
    fn eliminate<V: Value>(
        &self,
        threads: usize,
        sorted: &SortedKeys<V>,
        (regions, segment): (core::ops::Range<usize>, usize),
        bands: &mut [[u64; N]],
        table: &mut [V],
    ) -> Vec<Outcome<V, N>> {
        let columns = Regions::of(self.rows.starts()).columns();
        let mut outcomes: Vec<Outcome<V, N>> =
            bands.chunks(segment * columns).map(|_| Ok(Vec::new())).collect();
        let tasks = bands.chunks_mut(segment * columns).zip(table.chunks_mut(segment * columns));
        let Ok(()) = par::for_each::<_, Infallible, _>(
            threads,
            tasks.zip(&mut outcomes),
            |number, ((bands, table), outcome)| {
                let first = regions.start + number * segment;
                let mut rows_of = Segment { first: first * columns, bands, table };
                let of_segment = first.min(regions.end)..(first + segment).min(regions.end);
                *outcome = self.eliminate_segment(&mut rows_of, sorted.of_regions(of_segment));
                Ok(())
            },
        );
        outcomes
    }

    fn eliminate_segment<V: Value>(
        &self,
        segment: &mut Segment<'_, V, N>,
        (keys, values): (&[Block], &[V]),
    ) -> Outcome<V, N> {
        let mut left = Vec::new();
        let mut rows = [Row { start: 0, band: [0; N] }; BATCH];
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks(BATCH)) {
            for (row, value) in self.rows.of(keys, &mut rows).iter().zip(values) {
                left.extend(segment.insert(*row, *value)?);
            }
        }
        Ok(left)
    }

    /// Key by key.
    fn decode_in_order<V: Value>(&self, table: &[V], keys: &[Block], values: &mut [V]) {
        let mut rows = [Row { start: 0, band: [0; N] }; BATCH];
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
            sums(table, self.rows.of(keys, &mut rows), values);
        }
    }
}
