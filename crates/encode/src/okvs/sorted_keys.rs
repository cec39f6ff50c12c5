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
        let starts = Starts::new(rows, regions, threads, keys);
        let mut sorted = starts.scatter(regions, threads, keys, values);
        drop(starts);
        let shares = sorted.shares(regions, threads);
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, shares.into_iter(), |_, mut share| {
            share.sort_in_place(regions);
            Ok(())
        });
        sorted.keys
    }

    /// Sorts the keys in the memory of the lists: what else it takes is free again.
    pub(super) fn within(
        rows: &RowHash,
        regions: Regions,
        threads: usize,
        mut keys: Vec<Block>,
        mut values: Vec<V>,
    ) -> Self {
        let starts = Starts::new(rows, regions, threads, &keys);
        let mut scattered = starts.scatter(regions, threads, &keys, &values);
        let mut numbers = starts.columns;
        let mut rest = Lists { keys: &mut keys, values: &mut values, numbers: &mut numbers };
        let shares = scattered.shares(regions, threads).into_iter();
        let tasks: Vec<_> = shares.map(|share| (rest.split_off(share.near.len()), share)).collect();
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, tasks.into_iter(), |_, (mut to, share)| {
            share.sort_into(regions, &mut to);
            Ok(())
        });
        Self { keys, values, numbers, ends: scattered.keys.ends }
    }

    /// Keys and values of some regions.
    pub(super) fn of_regions(&self, regions: core::ops::Range<usize>) -> (&[Block], &[V]) {
        let end_of = |region: usize| region.checked_sub(1).map_or(0, |last| self.ends[last]);
        let range = end_of(regions.start)..end_of(regions.end);
        (&self.keys[range.clone()], &self.values[range])
    }

    /// The sorted keys alone.
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
    /// The outputs and numbers, without the values.
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

/// Where the row of each key starts in the table.
struct Starts {
    columns: Vec<u32>,
    /// Where the keys of each region will end.
    ends: Vec<usize>,
}

impl Starts {
    fn new(rows: &RowHash, regions: Regions, threads: usize, keys: &[Block]) -> Self {
        let mut columns: Vec<u32> = large_zeros(keys.len());
        let mut counts: Vec<Vec<u32>> = keys.chunks(CHUNK).map(|_| Vec::new()).collect();
        let tasks = keys.chunks(CHUNK).zip(columns.chunks_mut(CHUNK)).zip(&mut counts);
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, tasks, |_, ((keys, starts), counts)| {
            rows.start_of(keys, starts);
            counts.resize(regions.count(), 0);
            starts.iter().for_each(|start| counts[regions.of_column(*start)] += 1);
            Ok(())
        });
        let mut sum = 0;
        let ends = (0..regions.count()).map(|region| {
            sum += counts.iter().map(|counts| counts[region] as usize).sum::<usize>();
            sum
        });
        Self { columns, ends: ends.collect() }
    }

    /// Brings keys to their regions, each with its value and number.
    fn scatter<V: Copy + Send + Sync>(
        &self,
        regions: Regions,
        threads: usize,
        keys: &[Block],
        values: &[V],
    ) -> Scattered<V> {
        assert_eq!(keys.len(), values.len(), "one value a key");
        let sorted = SortedKeys {
            keys: large_zeros(keys.len()),
            values: values.first().map_or_else(Vec::new, |first| large_vec(*first, keys.len())),
            numbers: large_zeros(keys.len()),
            ends: self.ends.clone(),
        };
        let mut scattered = Scattered { keys: sorted, near: large_zeros(keys.len()) };
        // Each thread owns some regions. It goes over all keys and takes those of its regions.
        let shares = scattered.shares(regions, threads);
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, shares.into_iter(), |_, mut share| {
            share.scatter(regions, &self.columns, keys, values);
            Ok(())
        });
        scattered
    }
}

/// Keys that have been brought to their regions.
struct Scattered<V> {
    keys: SortedKeys<V>,
    /// Where in its region each row starts, in units of [`NEAR`].
    near: Vec<u16>,
}

impl<V: Copy + Send + Sync> Scattered<V> {
    /// A share of the regions for each thread.
    fn shares(&mut self, regions: Regions, threads: usize) -> Vec<Share<'_, V>> {
        let each = regions.count().div_ceil(threads.max(1)).max(1);
        let SortedKeys { keys, values, numbers, ends } = &mut self.keys;
        let (mut rest, mut near) = (Lists { keys, values, numbers }, &mut self.near[..]);
        let mut begin = 0;
        let shares = ends.chunks(each).enumerate().map(|(index, ends)| {
            let count = ends.last().map_or(0, |end| end - begin);
            let (own, others) = core::mem::take(&mut near).split_at_mut(count);
            near = others;
            let share = Share { first: index * each, begin, ends, lists: rest.split_off(count), near: own };
            begin += count;
            share
        });
        shares.collect()
    }
}

/// Keys, the value of each and its number.
struct Lists<'a, V> {
    keys: &'a mut [Block],
    values: &'a mut [V],
    numbers: &'a mut [u32],
}

impl<'a, V: Copy> Lists<'a, V> {
    /// Takes so many off the front.
    fn split_off(&mut self, count: usize) -> Lists<'a, V> {
        let (keys, values, numbers);
        (keys, self.keys) = core::mem::take(&mut self.keys).split_at_mut(count);
        (values, self.values) = core::mem::take(&mut self.values).split_at_mut(count);
        (numbers, self.numbers) = core::mem::take(&mut self.numbers).split_at_mut(count);
        Lists { keys, values, numbers }
    }

    /// Brings the keys of a region into the order of their rows, to within [`NEAR`] columns. `slots` is for
    /// counting.
    fn sort(self, near: &[u16], slots: &mut [u32], (keys, values, numbers): (&[Block], &[V], &[u32])) {
        slots.fill(0);
        near.iter().for_each(|near| slots[usize::from(*near)] += 1);
        let mut sum = 0;
        for slot in &mut *slots {
            sum += std::mem::replace(slot, sum);
        }
        for (i, near) in near.iter().enumerate() {
            let next = &mut slots[usize::from(*near)];
            let slot = *next as usize;
            *next += 1;
            (self.keys[slot], self.values[slot], self.numbers[slot]) = (keys[i], values[i], numbers[i]);
        }
    }
}

/// The regions of one task, and the memory for their keys.
struct Share<'a, V> {
    /// The first of the regions.
    first: usize,
    /// Where its keys begin in the whole.
    begin: usize,
    /// Where those of each region end in the whole.
    ends: &'a [usize],
    lists: Lists<'a, V>,
    near: &'a mut [u16],
}

impl<V: Copy> Share<'_, V> {
    /// Takes the keys of these regions from the list.
    fn scatter(&mut self, regions: Regions, starts: &[u32], keys: &[Block], values: &[V]) {
        let Lists { keys: to_keys, values: to_values, numbers } = &mut self.lists;
        let mut next: Vec<usize> = Vec::with_capacity(self.ends.len());
        next.push(0);
        next.extend(self.ends.iter().map(|end| end - self.begin));
        next.pop();
        for (number, start) in starts.iter().enumerate() {
            let region = regions.of_column(*start).wrapping_sub(self.first);
            if let Some(next) = next.get_mut(region) {
                prefetch(to_keys, *next + PREFETCH_DISTANCE);
                to_keys[*next] = keys[number];
                to_values[*next] = values[number];
                numbers[*next] = number as u32;
                self.near[*next] = ((*start as usize & (regions.columns() - 1)) / NEAR) as u16;
                *next += 1;
            }
        }
    }

    /// Sorts the keys of each region where they are.
    fn sort_in_place(&mut self, regions: Regions) {
        let (mut keys, mut values, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut slots = vec![0u32; regions.columns().div_ceil(NEAR)];
        let mut first = 0;
        for end in self.ends {
            let range = first..end - self.begin;
            first = range.end;
            let to = Lists {
                keys: &mut self.lists.keys[range.clone()],
                values: &mut self.lists.values[range.clone()],
                numbers: &mut self.lists.numbers[range.clone()],
            };
            keys.clear();
            keys.extend_from_slice(to.keys);
            values.clear();
            values.extend_from_slice(to.values);
            numbers.clear();
            numbers.extend_from_slice(to.numbers);
            to.sort(&self.near[range], &mut slots, (&keys, &values, &numbers));
        }
    }

    /// Sorts the keys of each region into other memory.
    fn sort_into(&self, regions: Regions, to: &mut Lists<'_, V>) {
        let mut slots = vec![0u32; regions.columns().div_ceil(NEAR)];
        let mut first = 0;
        for end in self.ends {
            let range = first..end - self.begin;
            first = range.end;
            let of_region = (
                &self.lists.keys[range.clone()],
                &self.lists.values[range.clone()],
                &self.lists.numbers[range.clone()],
            );
            to.split_off(range.len()).sort(&self.near[range], &mut slots, of_region);
        }
    }
}
