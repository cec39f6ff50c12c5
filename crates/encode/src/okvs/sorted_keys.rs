//! Keys in the order of the table, each with a value.
//!
//! If keys come in the order of the table, a table of millions of columns is written and read from its
//! beginning to its end, and encoding and decoding do not wait for memory. Two passes sort the keys. The
//! first brings them to the regions of the table, with a few hundred streams of writes. The second sorts each
//! region, which fits the second-level cache.

use std::convert::Infallible;

use vesica_crypto::band::BandRow;
use vesica_crypto::block::Block;
use vesica_crypto::memory::{Wiped, large_vec, large_zeros, prefetch};
use vesica_crypto::par;

use super::regions::Regions;
use super::rows::{BATCH, EMPTY_ROW, RowHash, WORDS};

/// Rows whose starts are less than this many columns apart stay in any order.
const NEAR: usize = 8;

/// Keys that one task counts or decodes.
const CHUNK: usize = 1 << 18;

/// How many keys beyond the end of a region are prefetched.
const PREFETCH_DISTANCE: usize = 8;

/// Keys in the order in which their rows start in the table, to within eight columns, and a value with each.
pub struct SortedKeys<V> {
    keys: Vec<Block>,
    values: Vec<V>,
    numbers: Vec<u32>,
    /// Where the keys of a region end; the next begin there.
    ends: Vec<usize>,
}

impl<V: Copy + Send + Sync> SortedKeys<V> {
    /// Sorts the keys. The order does not depend on the number of threads.
    pub(super) fn new(
        rows: &RowHash,
        regions: Regions,
        threads: usize,
        keys: &[Block],
        values: &[V],
    ) -> Self {
        assert_eq!(keys.len(), values.len(), "one value a key");
        let mut starts = large_zeros(keys.len());
        let ends = ends(rows, regions, threads, keys, &mut starts);
        let mut sorted = Self {
            keys: large_zeros(keys.len()),
            values: values.first().map_or_else(Vec::new, |first| large_vec(*first, keys.len())),
            numbers: large_zeros(keys.len()),
            ends,
        };
        // Each thread owns some regions. It goes over all keys and takes those of its regions.
        let share = regions.count().div_ceil(threads.max(1)).max(1);
        let mut rest = (&mut sorted.keys[..], &mut sorted.values[..], &mut sorted.numbers[..]);
        let mut tasks = Vec::with_capacity(threads);
        for (index, ends) in sorted.ends.chunks(share).enumerate() {
            let begin = (index * share).checked_sub(1).map_or(0, |last| sorted.ends[last]);
            let count = ends.last().map_or(0, |end| end - begin);
            let (keys, values, numbers);
            (keys, rest.0) = rest.0.split_at_mut(count);
            (values, rest.1) = rest.1.split_at_mut(count);
            (numbers, rest.2) = rest.2.split_at_mut(count);
            tasks.push(Share { first: index * share, begin, ends, keys, values, numbers });
        }
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, tasks.into_iter(), |_, mut share| {
            let near = share.scatter(regions, &starts, keys, values);
            share.sort_nearly(regions, near);
            Ok(())
        });
        sorted
    }

    /// Keys and values of some regions.
    pub(super) fn of_regions(&self, regions: core::ops::Range<usize>) -> (&[Block], &[V]) {
        let end_of = |region: usize| region.checked_sub(1).map_or(0, |last| self.ends[last]);
        let range = end_of(regions.start)..end_of(regions.end);
        (&self.keys[range.clone()], &self.values[range])
    }

    /// The same without the values.
    #[must_use]
    pub fn without_values(self) -> SortedKeys<()> {
        let values = vec![(); self.keys.len()];
        SortedKeys { keys: self.keys, values, numbers: self.numbers, ends: self.ends }
    }

    /// How many keys there are.
    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }

    /// Replaces each key by what a table holds for it.
    pub(super) fn replace(
        mut self,
        threads: usize,
        rows: &RowHash,
        decode: impl Fn(&[BandRow<WORDS>], &mut [Block]) + Sync,
    ) -> Decoded<V> {
        let Ok(()) = par::fill_chunks::<_, Infallible, _>(threads, CHUNK, &mut self.keys, |_, keys| {
            let mut batch = [EMPTY_ROW; BATCH];
            for keys in keys.chunks_mut(BATCH) {
                decode(rows.of(keys, &mut batch), keys);
            }
            Ok(())
        });
        Decoded { outputs: self.keys.into(), values: self.values, numbers: self.numbers }
    }

    /// The numbers of two equal keys, in the list before it was sorted; none if all keys are different.
    pub(super) fn equal(&self) -> Option<[usize; 2]> {
        let mut order: Vec<usize> = (0..self.keys.len()).collect();
        order.sort_unstable_by_key(|&index| (self.keys[index].to_u128(), self.numbers[index]));
        let equal = order.windows(2).find(|pair| self.keys[pair[0]] == self.keys[pair[1]])?;
        Some([equal[0], equal[1]].map(|index| self.numbers[index] as usize))
    }
}

/// The decoded keys of a list, in the order of the table.
pub struct Decoded<V> {
    /// The output of each key.
    pub outputs: Wiped<Block>,
    /// The value of the key.
    pub values: Vec<V>,
    /// The number of the key in the list before it was sorted.
    pub numbers: Vec<u32>,
}

impl<V> Decoded<V> {
    /// The same without the values.
    #[must_use]
    pub fn without_values(self) -> Decoded<()> {
        let values = vec![(); self.outputs.len()];
        Decoded { outputs: self.outputs, values, numbers: self.numbers }
    }

    /// The outputs in the order of the list before it was sorted.
    #[must_use]
    pub fn in_order(self) -> Wiped<Block> {
        let mut outputs: Vec<Block> = large_zeros(self.outputs.len());
        for (i, (output, number)) in self.outputs.iter().zip(&self.numbers).enumerate() {
            if let Some(later) = self.numbers.get(i + BATCH) {
                prefetch(&outputs, *later as usize);
            }
            outputs[*number as usize] = *output;
        }
        outputs.into()
    }
}

/// Sets where each row starts; returns where the keys of each region end.
fn ends(rows: &RowHash, regions: Regions, threads: usize, keys: &[Block], starts: &mut [u32]) -> Vec<usize> {
    let mut counts: Vec<Vec<u32>> = keys.chunks(CHUNK).map(|_| Vec::new()).collect();
    let tasks = keys.chunks(CHUNK).zip(starts.chunks_mut(CHUNK)).zip(&mut counts);
    let Ok(()) = par::for_each::<_, Infallible, _>(threads, tasks, |_, ((keys, starts), counts)| {
        rows.start_of(keys, starts);
        counts.resize(regions.count(), 0);
        starts.iter().for_each(|start| counts[regions.of_column(*start)] += 1);
        Ok(())
    });
    let mut sum = 0;
    (0..regions.count())
        .map(|region| {
            sum += counts.iter().map(|counts| counts[region] as usize).sum::<usize>();
            sum
        })
        .collect()
}

/// The regions of one task, and the memory for their keys.
struct Share<'a, V> {
    /// The first of the regions.
    first: usize,
    /// Where its keys begin in the whole.
    begin: usize,
    /// Where those of each region end in the whole.
    ends: &'a [usize],
    keys: &'a mut [Block],
    values: &'a mut [V],
    numbers: &'a mut [u32],
}

impl<V: Copy> Share<'_, V> {
    /// Takes the keys of these regions from the list. Returns where in its region each row starts, in units
    /// of [`NEAR`].
    fn scatter(&mut self, regions: Regions, starts: &[u32], keys: &[Block], values: &[V]) -> Vec<u16> {
        let mut near = large_zeros(self.keys.len());
        let mut next: Vec<usize> = Vec::with_capacity(self.ends.len());
        next.push(0);
        next.extend(self.ends.iter().map(|end| end - self.begin));
        next.pop();
        for (number, start) in starts.iter().enumerate() {
            let region = regions.of_column(*start).wrapping_sub(self.first);
            if let Some(next) = next.get_mut(region) {
                prefetch(self.keys, *next + PREFETCH_DISTANCE);
                self.keys[*next] = keys[number];
                self.values[*next] = values[number];
                self.numbers[*next] = number as u32;
                near[*next] = ((*start as usize & (regions.columns() - 1)) / NEAR) as u16;
                *next += 1;
            }
        }
        near
    }

    /// Sorts the keys of each region, to within [`NEAR`] columns.
    fn sort_nearly(&mut self, regions: Regions, near: Vec<u16>) {
        let (mut keys, mut values, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut slots = vec![0u32; regions.columns().div_ceil(NEAR)];
        let mut first = 0;
        for end in self.ends {
            let range = first..end - self.begin;
            first = range.end;
            let near = &near[range.clone()];
            let (to_keys, to_values) = (&mut self.keys[range.clone()], &mut self.values[range.clone()]);
            let to_numbers = &mut self.numbers[range];
            keys.clear();
            keys.extend_from_slice(to_keys);
            values.clear();
            values.extend_from_slice(to_values);
            numbers.clear();
            numbers.extend_from_slice(to_numbers);
            slots.fill(0);
            near.iter().for_each(|near| slots[usize::from(*near)] += 1);
            let mut sum = 0;
            for slot in &mut slots {
                sum += std::mem::replace(slot, sum);
            }
            for (i, near) in near.iter().enumerate() {
                let next = &mut slots[usize::from(*near)];
                let slot = *next as usize;
                *next += 1;
                (to_keys[slot], to_values[slot], to_numbers[slot]) = (keys[i], values[i], numbers[i]);
            }
        }
    }
}
