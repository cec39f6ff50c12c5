//! Items: the distinct keys of one table, each with the rows it came from.
//!
//! An item is either a public, domain-separated digest of the canonical key bytes ([`Encoding::Digest`]) or a
//! small integer ([`Encoding::Native`]). The crate `table` pushes one key for each row into an
//! [`ItemsBuilder`]. A protocol sees only [`Items`] and answers with item numbers, which [`Items::matches`]
//! turns into row numbers.
//!
//! Items are sorted by their bytes, so an item number says nothing about the item's row or about whether it
//! is a dummy. It does say something about the item. A protocol that shows positions to its peer therefore
//! sends the items in the order of [`Items::shuffled`].
//!
//! **Memory.** One record for each row, of a key and a `u32` row, in one vector that is sorted in place: 20
//! bytes a row for 128-bit digests, 36 for 256-bit ones, 12 for integers. If duplicates are kept, there are
//! four more bytes for each item.
//!
//! **Secrecy.** Digests of guessable keys can be reversed by trial, so they never leave the process and
//! nothing here prints them. They are not wiped: their table lies in the clear on the same machine.

use std::fmt;
use std::ops::Range;

use rand_core::CryptoRng;

mod builder;
mod digest;
mod error;
mod key;
pub mod parts;
mod shuffle;
mod split;
mod store;

pub use builder::{ItemsBuilder, ShortKey};
pub use digest::{Batch, digest, digest_batch, dummy};
pub use error::ItemsError;
pub use key::{KeyEncoder, KeyKind};
pub use shuffle::random_order;
pub use split::Split;

use parts::PrefixRange;
use store::{DUMMY_ROW, Store, on_store};

/// The width of a digest.
///
/// An attacker finds a collision of 128-bit digests with 2^64 offline work. Only a malicious party has a
/// reason to do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Width {
    /// 16 bytes, for semi-honest runs up to level 128.
    Digest128,
    /// 32 bytes, for malicious runs and levels above 128.
    Digest256,
}

impl Width {
    /// The width in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Width::Digest128 => 16,
            Width::Digest256 => 32,
        }
    }
}

/// The kind of items.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Encoding {
    /// A digest of the canonical key bytes.
    Digest(Width),
    /// An integer below `2^sigma`.
    Native {
        /// Bits of an item, 1 to 64.
        sigma: u32,
    },
}

impl Encoding {
    /// Bytes that [`Items::get`] returns for one item.
    pub const fn bytes(self) -> usize {
        match self {
            Encoding::Digest(width) => width.bytes(),
            Encoding::Native { .. } => 8,
        }
    }
}

/// What to do with rows that have the same key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum OnDuplicates {
    /// The result has every row whose key matches.
    #[default]
    All,
    /// Only the first row of a key counts.
    First,
    /// A second row with the same key is an error.
    Error,
}

/// The distinct items of one table, in the order of their bytes.
pub struct Items {
    store: Store,
    encoding: Encoding,
    dummies: usize,
    duplicates: u64,
}

impl Items {
    /// The digests of these keys; the row of a key is its index.
    pub fn of_keys<K: AsRef<[u8]>>(width: Width, keys: &[K]) -> Result<Items, ItemsError> {
        let mut builder = ItemsBuilder::new(Encoding::Digest(width), keys.len())?;
        for (row, key) in (0..).zip(keys) {
            builder.push(row, key.as_ref())?;
        }
        builder.build(OnDuplicates::All)
    }

    /// How many items there are, dummies included: the size that the peer sees.
    pub fn len(&self) -> usize {
        on_store!(&self.store, s => s.len())
    }

    /// Whether there are no items at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items come from the table, without dummies.
    pub fn distinct(&self) -> usize {
        self.len() - self.dummies
    }

    /// How many rows have a key.
    pub fn rows(&self) -> u64 {
        self.distinct() as u64 + self.duplicates
    }

    /// How many rows have the key of an earlier row.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The encoding of the items.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Bytes of one item.
    pub fn width(&self) -> usize {
        self.encoding.bytes()
    }

    /// The bytes of item `index`: a digest, or an integer as 8 bytes, big-endian.
    ///
    /// # Panics
    /// If `index` is not below [`Items::len`].
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        on_store!(&self.store, s => s.key(index))
    }

    /// Appends the bytes of items `item(0)`, …, `item(count - 1)`, in this order.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn gather(&self, count: usize, item: impl Fn(usize) -> usize, bytes: &mut Vec<u8>) {
        on_store!(&self.store, s => s.gather(count, item, bytes));
    }

    /// The integer of item `index`; none if the items are digests.
    ///
    /// # Panics
    /// If `index` is not below [`Items::len`].
    #[inline]
    pub fn native(&self, index: usize) -> Option<u64> {
        match &self.store {
            Store::Native(store) => Some(u64::from_be_bytes(*store.key(index))),
            _ => None,
        }
    }

    /// All items in order, as [`Items::get`] returns them.
    pub fn digests(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The rows of item `index`, ascending; none for a dummy.
    ///
    /// # Panics
    /// If `index` is not below [`Items::len`].
    pub fn rows_of(&self, index: usize) -> impl Iterator<Item = u64> {
        let range: Range<usize> = on_store!(&self.store, s => s.range(index));
        range.map(|record| self.row(record)).filter(|row| *row != DUMMY_ROW).map(u64::from)
    }

    fn row(&self, record: usize) -> u32 {
        on_store!(&self.store, s => s.row(record))
    }

    /// Adds dummy items until there are `to` items, to hide the size of the table.
    ///
    /// A dummy is a digest from a domain that no key reaches, so it matches nothing, not even a dummy of the
    /// peer. Integers have no such domain.
    pub fn pad(&mut self, to: usize, rng: &mut dyn CryptoRng) -> Result<(), ItemsError> {
        self.pad_within(to, PrefixRange::ALL, rng)
    }

    /// Pads to `to` items, with dummies whose first eight bytes are in that range.
    fn pad_within(
        &mut self,
        to: usize,
        range: PrefixRange,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), ItemsError> {
        let items = self.len();
        let missing = to.checked_sub(items).ok_or(ItemsError::PadBelowSize { items, to })?;
        match &mut self.store {
            Store::Native(_) => return Err(ItemsError::PadNative),
            Store::Narrow(store) => store.pad(missing, Width::Digest128, range, rng)?,
            Store::Wide(store) => store.pad(missing, Width::Digest256, range, rng)?,
        }
        self.dummies += missing;
        Ok(())
    }

    /// A uniformly random order of the item numbers.
    pub fn shuffled(&self, rng: &mut dyn CryptoRng) -> Vec<u32> {
        // The builder and `pad` keep the number of items below 2^32.
        random_order(self.len() as u32, rng)
    }

    /// The rows of the given items, in any order. An item that is given twice counts once, and a dummy does
    /// not count.
    ///
    /// # Panics
    /// If an index is not below [`Items::len`]. The protocol must check indices that a peer sends.
    pub fn matches(&self, items: impl Iterator<Item = usize>) -> Matches {
        // A bit set gives ascending items, which are read in their order.
        let mut wanted = vec![0u64; self.len().div_ceil(64)];
        for index in items {
            assert!(index < self.len(), "an item of this set");
            wanted[index / 64] |= 1 << (index % 64);
        }
        let items_wanted = wanted.iter().map(|word| word.count_ones() as usize).sum();
        let (mut rows, mut count) = (Vec::with_capacity(items_wanted), 0);
        for_each_one(&wanted, |index| {
            let before = rows.len();
            rows.extend(self.rows_of(index));
            count += usize::from(rows.len() > before);
        });
        Matches { rows: ascending(rows), items: count }
    }
}

/// Distinct rows in ascending order: by a bit for each row up to the highest, unless few of many are given, as in a part
/// of a split set.
fn ascending(mut rows: Vec<u64>) -> Vec<u64> {
    let words = rows.iter().max().map_or(0, |highest| *highest as usize / 64 + 1);
    if words > rows.len() {
        rows.sort_unstable();
        return rows;
    }
    let mut bits = vec![0u64; words];
    rows.iter().for_each(|row| bits[*row as usize / 64] |= 1 << (row % 64));
    rows.clear();
    for_each_one(&bits, |row| rows.push(row as u64));
    rows
}

/// Calls `each` with the indices of the ones, ascending.
fn for_each_one(bits: &[u64], mut each: impl FnMut(usize)) {
    for (word, bits) in bits.iter().enumerate() {
        let mut left = *bits;
        while left != 0 {
            each(word * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items")
            .field("encoding", &self.encoding)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// The rows of my own table that are in the intersection.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Matches {
    rows: Vec<u64>,
    items: usize,
}

impl Matches {
    /// The matching rows, counted from 0, ascending, each once.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// The matching rows, by value.
    pub fn into_rows(self) -> Vec<u64> {
        self.rows
    }

    /// How many distinct items matched.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The same with these rows, where rows had several keys and the matches were numbers of keys.
    #[must_use]
    pub fn with_rows(self, rows: Vec<u64>) -> Self {
        Matches { rows, ..self }
    }
}

impl fmt::Debug for Matches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matches").field("rows", &self.rows.len()).field("items", &self.items).finish()
    }
}

#[cfg(test)]
mod tests;
