//! Splits [`Items`] into [`parts`](super::parts).

use std::fmt;
use std::ops::Range;

use rand_core::CryptoRng;
use vesica_crypto::hash::Oracle;
use vesica_crypto::par;
use vesica_crypto::wide_prg::WidePrg;
use zeroize::Zeroizing;

use super::parts::{Parts, PartsError, PrefixRange};
use super::store::{Store, on_store};
use super::{Items, ItemsError, Matches, Width};

/// The items of a set under the key of a split run, ordered by their parts.
///
/// **Memory:** one record for each distinct item beside those of the set itself: 20 bytes for 128-bit
/// digests, 36 for 256-bit ones.
pub struct Split<'a> {
    items: &'a Items,
    /// item' and the number of the item in `items`, sorted: the parts follow each other.
    keyed: Store,
    /// Where the records of each part end.
    ends: Vec<usize>,
    parts: Parts,
    bound: usize,
}

impl<'a> Split<'a> {
    /// Splits a set, which may be padded: its dummies count for the bound, and are left out of the parts.
    ///
    /// # Errors
    /// If the items are native integers, or a part has more of them than the bound. The run must then end.
    pub fn new(items: &'a Items, key: &[u8; 32], parts: Parts) -> Result<Self, PartsError> {
        Split::by_threads(1, items, key, parts)
    }

    /// Splits a set as [`Split::new`] does, on at most `threads` threads.
    ///
    /// # Errors
    /// As [`Split::new`].
    pub fn by_threads(
        threads: usize,
        items: &'a Items,
        key: &[u8; 32],
        parts: Parts,
    ) -> Result<Self, PartsError> {
        let oracle = Oracle::with_key(*key);
        let keyed = match &items.store {
            Store::Native(_) => return Err(PartsError::Native),
            Store::Narrow(store) => Store::Narrow(store.keyed(threads, &oracle)),
            Store::Wide(store) => Store::Wide(store.keyed(threads, &oracle)),
        };
        let bound = parts.bound(items.len() as u64);
        let ends: Vec<usize> = (0..parts.count())
            .map(|part| {
                let PrefixRange { start, len } = parts.range(part);
                let end = u128::from(start) + len;
                on_store!(&keyed, s => s.records_below(end))
            })
            .collect();
        let starts = std::iter::once(&0).chain(&ends);
        let loads = starts.zip(&ends).map(|(start, end)| end - start);
        let overfull = loads.enumerate().find(|(_, load)| *load as u64 > bound);
        match overfull {
            Some((part, items)) => Err(PartsError::Overfull { part, items, bound }),
            // It is no more than the number of items.
            None => Ok(Split { items, keyed, ends, parts, bound: bound as usize }),
        }
    }

    /// M: items of each part, dummies included.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// Into how many parts the set is split.
    pub fn parts(&self) -> Parts {
        self.parts
    }

    /// The items of a part, padded with dummies. In place of rows they have the numbers that
    /// [`matches`](Self::matches) takes.
    ///
    /// # Errors
    /// If there would be too many items.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn part(&self, part: usize, rng: &mut dyn CryptoRng) -> Result<Items, PartsError> {
        let start = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        let records: Range<usize> = start..self.ends[part];
        let store = match &self.keyed {
            Store::Native(_) => return Err(PartsError::Native),
            Store::Narrow(store) => Store::Narrow(store.of_records(records)),
            Store::Wide(store) => Store::Wide(store.of_records(records)),
        };
        let mut items = Items { store, encoding: self.items.encoding, dummies: 0, duplicates: 0 };
        items.pad_within(self.bound, self.parts.range(part), rng)?;
        Ok(items)
    }

    /// All parts, in order, as [`Split::part`] gives them, on at most `threads` threads.
    ///
    /// # Errors
    /// If there would be too many items.
    pub fn all_parts(&self, threads: usize, rng: &mut dyn CryptoRng) -> Result<Vec<Items>, PartsError> {
        let fork = |_| {
            let mut seed = Zeroizing::new([0; 32]);
            rng.fill_bytes(&mut *seed);
            (WidePrg::from_seed(&seed), None)
        };
        let mut parts: Vec<_> = (0..self.parts.count()).map(fork).collect();
        par::fill_chunks(threads, 1, &mut parts, |part, parts| {
            parts.iter_mut().try_for_each(|(rng, items)| {
                *items = Some(self.part(part, rng)?);
                Ok::<_, PartsError>(())
            })
        })?;
        Ok(parts.into_iter().filter_map(|(_, items)| items).collect())
    }

    /// The matches of the whole set, given those of its parts.
    ///
    /// # Panics
    /// If they are no matches of this set's parts.
    pub fn matches(&self, of_parts: impl IntoIterator<Item = Matches>) -> Matches {
        let numbers = of_parts.into_iter().flat_map(Matches::into_rows);
        self.items.matches(numbers.map(|number| number as usize))
    }
}

impl Parts {
    /// The items under the key of a split run: item' of each of these digests of `width` bytes, side by side.
    ///
    /// # Panics
    /// If `items` is not as long as `digests`, or there is no whole number of them.
    pub fn keyed(key: &[u8; 32], width: Width, digests: &[u8], items: &mut [u8]) {
        Oracle::with_key(*key).hash_batch(digests, width.bytes(), items, width.bytes());
    }

    /// Fills a part with dummies, as [`Split::part`] does, for who splits a set without holding it in memory:
    /// `part` has the items of part number `number` of a set of `of` items, dummies counted.
    ///
    /// # Errors
    /// If the part has more items than the bound, or its items are native integers.
    pub fn fill(
        self,
        number: usize,
        of: u64,
        part: &mut Items,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), PartsError> {
        let (items, bound) = (part.len(), self.bound(of));
        if matches!(part.store, Store::Native(_)) {
            return Err(PartsError::Native);
        }
        if items as u64 > bound {
            return Err(PartsError::Overfull { part: number, items, bound });
        }
        let bound = usize::try_from(bound).map_err(|_| ItemsError::TooManyRows)?;
        Ok(part.pad_within(bound, self.range(number), rng)?)
    }
}

impl fmt::Debug for Split<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Split")
            .field("parts", &self.parts)
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}
