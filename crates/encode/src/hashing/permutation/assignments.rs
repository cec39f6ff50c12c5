//! The bins and remainders of a set of items.

use std::convert::Infallible;

use vesica_crypto::memory::{large_zeros, prefetch};
use vesica_crypto::par;

use super::{BATCH, Permutation};
use crate::hashing::bins::{Bins, ItemBins, Layout, MOST_FUNCTIONS};

/// Bytes that a remainder is read and written by.
pub(super) const WHOLE: usize = 16;

/// Items of a task, a multiple of a batch.
const CHUNK: usize = 32 * BATCH;

/// How many items ahead the remainders are prefetched.
const PREFETCH_DISTANCE: usize = 64;

/// The bins and remainders of a set of items under their permutations.
pub struct BinAssignments {
    pub(super) layout: Layout,
    /// Items that there is room for, and that are here.
    pub(super) room: usize,
    pub(super) items: usize,
    /// Item after item, its bin under each function.
    pub(super) bins: Vec<u32>,
    /// Bytes of a remainder.
    pub(super) width: usize,
    /// Function after function, the remainder of each item, little-endian; then room for the last to be read
    /// whole.
    pub(super) remainders: Vec<u8>,
}

impl BinAssignments {
    /// No items yet, and room for `room` under this permutation.
    #[must_use]
    pub fn with_room(permutation: &Permutation, room: usize) -> Self {
        let functions = permutation.layout().functions();
        let width = permutation.bits().div_ceil(8).max(1) as usize;
        Self {
            layout: permutation.layout(),
            room,
            items: 0,
            bins: large_zeros(room * functions),
            width,
            remainders: large_zeros(room * functions * width + WHOLE),
        }
    }

    /// Adds the items `value(0)`, `value(1)`, …, `value(count - 1)` to those that are here. The permutation
    /// is the one that there is room for.
    ///
    /// # Panics
    /// If there is no room for so many, or an item is 2^σ or more.
    pub fn extend(
        &mut self,
        permutation: &Permutation,
        threads: usize,
        count: usize,
        value: impl Fn(usize) -> u128 + Sync,
    ) {
        assert!(self.layout == permutation.layout() && count <= self.room - self.items, "room for the items");
        let (functions, width, here) = (self.layout.functions(), self.width, self.items);
        let bins = &mut self.bins[here * functions..][..count * functions];
        let mut tasks: Vec<_> = bins
            .chunks_mut(CHUNK * functions)
            .map(|bins| (bins, [(); MOST_FUNCTIONS].map(|()| <&mut [u8]>::default())))
            .collect();
        let of_functions = self.remainders.chunks_exact_mut((self.room * width).max(1)).take(functions);
        for (function, of_function) in of_functions.enumerate() {
            let parts = of_function[here * width..][..count * width].chunks_mut(CHUNK * width);
            tasks.iter_mut().zip(parts).for_each(|((_, remainders), part)| remainders[function] = part);
        }
        let Ok(()) =
            par::for_each::<_, Infallible, _>(threads, tasks.into_iter(), |task, (bins, mut remainders)| {
                for (batch, bins) in bins.chunks_mut(BATCH * functions).enumerate() {
                    let first = batch * BATCH;
                    let remainders =
                        remainders.each_mut().map(|part| part.get_mut(first * width..).unwrap_or_default());
                    permutation.place_batch(task * CHUNK + first, bins, width, remainders, &value);
                }
                Ok(())
            });
        self.items += count;
    }

    /// Takes all items out; their room remains.
    pub fn clear(&mut self) {
        self.items = 0;
    }

    /// Bytes of a remainder.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The remainders of all items under `function`, in order.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn remainders_under(&self, function: usize) -> impl ExactSizeIterator<Item = u128> {
        assert!(function < self.layout.functions(), "a function that there is");
        let (width, first) = (self.width, function * self.room * self.width);
        let bits = u128::MAX >> (8 * (WHOLE - width));
        (0..self.items).map(move |item| {
            let whole = self.remainders[first + item * width..].first_chunk().copied();
            u128::from_le_bytes(whole.unwrap_or_default()) & bits
        })
    }

    /// Replaces `bytes` by the remainders of `count` items under `function`, of as many bytes as their width
    /// each, little-endian: of `item(0)` and so on, `vacant` where there is none.
    ///
    /// # Panics
    /// If there is no such item or function.
    pub fn remainders(
        &self,
        function: usize,
        count: usize,
        item: impl Fn(usize) -> Option<u32>,
        vacant: u128,
        bytes: &mut Vec<u8>,
    ) {
        assert!(function < self.layout.functions(), "a function that there is");
        // Reads that are not much longer than a remainder seldom reach into another cache line.
        match self.width {
            ..=4 => self.gather::<4>(function, count, item, vacant, bytes),
            5..=8 => self.gather::<8>(function, count, item, vacant, bytes),
            _ => self.gather::<WHOLE>(function, count, item, vacant, bytes),
        }
    }

    /// [`remainders`](Self::remainders), copied `N` bytes at a time: the bytes behind a remainder are written
    /// later.
    fn gather<const N: usize>(
        &self,
        function: usize,
        count: usize,
        item: impl Fn(usize) -> Option<u32>,
        vacant: u128,
        bytes: &mut Vec<u8>,
    ) {
        let width = self.width;
        let remainders = &self.remainders[function * self.room * width..];
        let none = vacant.to_le_bytes().first_chunk::<N>().copied().unwrap_or([0; N]);
        bytes.resize(count * width + N, 0);
        for i in 0..count {
            if let Some(ahead) = Some(i + PREFETCH_DISTANCE).filter(|ahead| *ahead < count).and_then(&item) {
                prefetch(remainders, ahead as usize * width);
            }
            let value = match item(i) {
                Some(item) => {
                    assert!((item as usize) < self.items, "an item that there is");
                    remainders[item as usize * width..].first_chunk().copied().unwrap_or([0; N])
                }
                None => none,
            };
            if let Some(slot) = bytes[i * width..].first_chunk_mut() {
                *slot = value;
            }
        }
        bytes.truncate(count * width);
    }
}

impl ItemBins for BinAssignments {
    #[inline]
    fn layout(&self) -> Layout {
        self.layout
    }

    #[inline]
    fn items(&self) -> usize {
        self.items
    }

    #[inline]
    fn bins_of(&self, item: usize) -> Bins {
        let functions = self.layout.functions();
        let mut bins = Bins::default();
        // Not a copy of a length that varies, which would be a call.
        let own = &self.bins[item * functions..][..functions];
        for (function, bin) in bins.iter_mut().enumerate() {
            *bin = own.get(function).copied().unwrap_or(0);
        }
        bins
    }

    #[inline]
    fn bin_of(&self, item: usize, function: usize) -> u32 {
        self.bins[item * self.layout.functions() + function]
    }

    #[inline]
    fn prefetch(&self, item: usize) {
        prefetch(&self.bins, item * self.layout.functions());
    }
}
