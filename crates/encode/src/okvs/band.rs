//! The random band (BPSY23 §4; the elimination is that of Dietzfelbinger and Walzer, ESA 2019).
//!
//! The row of a key starts at one of s = ⌈(1 + ε)·n⌉ columns and has w = 128 bits. The first bit is one and
//! the others are random. The table has s + w - 1 columns. (BPSY23 takes s + w - 1 = (1 + ε)·n instead, which
//! is w columns less; a table for few keys cannot spare them.)

use std::convert::Infallible;
use std::ops::Range;

use rand_core::CryptoRng;
use vesica_crypto::band::{XorValue, back_substitute, margin, sums};
use vesica_crypto::block::Block;
use vesica_crypto::memory::large_zeros;
use vesica_crypto::par;
use vesica_crypto::security::STATISTICAL_SECURITY;

use super::elimination::{Dependent, Overhang, Segment};
use super::regions::Regions;
use super::rows::{BATCH, EMPTY_ROW, RowHash, WORDS};
use super::sorted_keys::{Decoded, SortedKeys};
use super::{Error, parameters};

/// Keys that one task decodes. Local to speed.
const CHUNK: usize = 1 << 18;

/// Columns that one task eliminates, at least: their bands and values fit the second-level cache. More than a
/// band's width.
const ELIMINATION_CHUNK: usize = 1 << 15;

/// A random band of 128 bits.
pub struct Band {
    keys: usize,
    rows: RowHash,
}

/// The rows that a segment could not keep, or that it found dependent ones.
type Eliminated<V> = Result<Vec<Overhang<V>>, Dependent>;

impl Band {
    /// The store for at most `keys` keys whose rows are derived from `seed`.
    ///
    /// # Errors
    /// [`Error::TooManyKeys`] if there is no table for so many.
    pub fn new(keys: usize, seed: Block) -> Result<Self, Error> {
        Self::within(keys, STATISTICAL_SECURITY, seed)
    }

    /// The store for at most `keys` keys whose rows are dependent with probability 2^-`statistical` at most.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn within(keys: usize, statistical: u32, seed: Block) -> Result<Self, Error> {
        let starts = parameters::band_starts_within(keys, statistical)?;
        Ok(Self { keys, rows: RowHash::new(starts, seed) })
    }

    /// A store whose rows have other parameters.
    #[cfg(test)]
    pub(super) fn with_rows(keys: usize, rows: RowHash) -> Self {
        Self { keys, rows }
    }

    /// Columns of a table.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.rows.starts() + parameters::WIDTH - 1
    }

    /// The table that maps key i to value i.
    ///
    /// # Errors
    /// As [`Error`] says.
    ///
    /// # Panics
    /// If the numbers of keys and values differ.
    pub fn encode<V: XorValue>(&self, threads: usize, keys: &[Block], values: &[V]) -> Result<Vec<V>, Error> {
        self.encode_sorted(threads, &self.sort_keys(threads, keys, values))
    }

    /// As [`encode`](Self::encode), with random values in the columns that no row determines. If the values of
    /// the keys are uniformly random, so is the whole table, whatever the keys are: it may be shown.
    ///
    /// # Errors
    /// As [`Error`] says.
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    pub fn encode_oblivious<V: XorValue>(
        &self,
        threads: usize,
        keys: &[Block],
        values: &[V],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<V>, Error> {
        let mut table: Vec<V> = large_zeros(self.columns() + margin(WORDS));
        V::randomise(&mut table[..self.columns()], rng);
        self.fill(threads, &self.sort_keys(threads, keys, values), table)
    }

    /// Decodes each key. Of a large table, [`decode_sorted`](Self::decode_sorted) is faster.
    ///
    /// # Panics
    /// If the table has another number of columns, or the numbers of keys and values differ.
    pub fn decode<V: XorValue>(&self, threads: usize, table: &[V], keys: &[Block], values: &mut [V]) {
        assert_eq!(table.len(), self.columns(), "a table of this store");
        let Ok(()) =
            par::for_each_chunk::<_, _, Infallible, _>(threads, CHUNK, keys, values, |_, keys, values| {
                let mut rows = [EMPTY_ROW; BATCH];
                for (keys, values) in keys.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
                    sums(table, self.rows.of(keys, &mut rows), values);
                }
                Ok(())
            });
    }

    /// Brings keys, and the value of each, into the order of a table.
    ///
    /// # Panics
    /// If the numbers of keys and values differ.
    pub fn sort_keys<V: Copy + Send + Sync>(
        &self,
        threads: usize,
        keys: &[Block],
        values: &[V],
    ) -> SortedKeys<V> {
        SortedKeys::new(&self.rows, Regions::of(self.rows.starts()), threads, keys, values)
    }

    /// Brings keys and values into the order of a table, in the memory of both.
    ///
    /// # Panics
    /// As [`sort_keys`](Self::sort_keys).
    pub fn sort_keys_within<V: Copy + Send + Sync>(
        &self,
        threads: usize,
        keys: Vec<Block>,
        values: Vec<V>,
    ) -> SortedKeys<V> {
        SortedKeys::within(&self.rows, Regions::of(self.rows.starts()), threads, keys, values)
    }

    /// As [`encode`](Self::encode), for keys that this store has sorted.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub fn encode_sorted<V: XorValue>(
        &self,
        threads: usize,
        sorted: &SortedKeys<V>,
    ) -> Result<Vec<V>, Error> {
        self.fill(threads, sorted, large_zeros(self.columns() + margin(WORDS)))
    }

    /// `table` with the columns that rows determine filled in; the others stay as they are. It has a
    /// [`margin`] of zeros behind its columns.
    fn fill<V: XorValue>(
        &self,
        threads: usize,
        sorted: &SortedKeys<V>,
        mut table: Vec<V>,
    ) -> Result<Vec<V>, Error> {
        if sorted.count() > self.keys {
            return Err(Error::TooManyKeys { keys: sorted.count(), most: self.keys });
        }
        self.solve(threads, sorted, &mut table).map_err(|Dependent| match sorted.equal() {
            Some([first, second]) => Error::DuplicateKeys { first, second },
            None => Error::Dependent,
        })?;
        table.truncate(self.columns());
        Ok(table)
    }

    /// Decodes keys that this store has sorted. The outputs take the memory of the keys.
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

    /// Solves for the columns that rows determine, stretch by stretch from the end of the table.
    ///
    /// A row never grows out of its band, so a row that starts in a stretch may reach into the next stretch
    /// and no further. Once the stretch before it is in echelon form, a stretch can be solved. The bands of
    /// two stretches are in memory at a time, and a cache holds them.
    fn solve<V: XorValue>(
        &self,
        threads: usize,
        sorted: &SortedKeys<V>,
        table: &mut [V],
    ) -> Result<(), Dependent> {
        let regions = Regions::of(self.rows.starts());
        let segment = (ELIMINATION_CHUNK / regions.columns()).max(1);
        let stretch = segment * threads.max(1);
        let (mut later, mut spare) = (Vec::new(), Vec::new());
        let mut end = self.columns();
        for start in (0..regions.count()).step_by(stretch).rev() {
            let first = start * regions.columns();
            let (table, later_table) = table[first..].split_at_mut(end - first);
            let mut bands = spare;
            bands.clear();
            bands.resize(table.len(), [0; WORDS]);
            let own = start..(start + stretch).min(regions.count());
            let eliminated = self.eliminate(threads, sorted, own, segment, &mut bands, table);
            let mut own = Segment { first, bands: &mut bands, table };
            let mut next = Segment { first: end, bands: &mut later, table: later_table };
            for overhang in eliminated.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
                if let Some(overhang) = own.insert(overhang.row, overhang.value)?
                    && next.insert(overhang.row, overhang.value)?.is_some()
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

    /// Brings the rows of `regions` into echelon form. Each task takes a segment, which is `segment` regions.
    fn eliminate<V: XorValue>(
        &self,
        threads: usize,
        sorted: &SortedKeys<V>,
        regions: Range<usize>,
        segment: usize,
        bands: &mut [[u64; WORDS]],
        table: &mut [V],
    ) -> Vec<Eliminated<V>> {
        let columns = Regions::of(self.rows.starts()).columns();
        let mut eliminated: Vec<Eliminated<V>> =
            bands.chunks(segment * columns).map(|_| Ok(Vec::new())).collect();
        let tasks = bands.chunks_mut(segment * columns).zip(table.chunks_mut(segment * columns));
        let Ok(()) = par::for_each::<_, Infallible, _>(
            threads,
            tasks.zip(&mut eliminated),
            |number, ((bands, table), eliminated)| {
                let first = regions.start + number * segment;
                let mut own = Segment { first: first * columns, bands, table };
                let of_segment = first.min(regions.end)..(first + segment).min(regions.end);
                *eliminated = self.eliminate_segment(&mut own, sorted, of_segment);
                Ok(())
            },
        );
        eliminated
    }

    fn eliminate_segment<V: XorValue>(
        &self,
        segment: &mut Segment<'_, V>,
        sorted: &SortedKeys<V>,
        regions: Range<usize>,
    ) -> Eliminated<V> {
        let (keys, values) = sorted.of_regions(regions);
        let mut overhangs = Vec::new();
        let mut rows = [EMPTY_ROW; BATCH];
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks(BATCH)) {
            for (row, value) in self.rows.of(keys, &mut rows).iter().zip(values) {
                overhangs.extend(segment.insert(*row, *value)?);
            }
        }
        Ok(overhangs)
    }
}
