//! Builds [`Items`] from keys.

use std::fmt;
use std::ops::ControlFlow;

use super::digest::{Batch, digest_batch, digest_blocks};
use super::store::{Records, Store, on_store, row_number};
use super::{Encoding, Items, ItemsError, KeyEncoder, KeyKind, OnDuplicates, Width};

/// Most keys of one call of the hash.
const BATCH_KEYS: usize = 1024;
/// Most key bytes that are collected before they are hashed.
const BATCH_BYTES: usize = 64 * 1024;
/// Most records that are allocated on a hint, which may be wrong; more are allocated as they come.
const HINT_LIMIT: usize = 1 << 26;

/// A key of one part that is short enough for a block of 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShortKey {
    /// The row, counted from 0.
    pub row: u64,
    /// Bytes of the part, at most [`ShortKey::LONGEST`].
    pub length: u8,
}

impl ShortKey {
    /// The offset of the part in a block, behind the arity and the length.
    pub const AT: usize = KeyKind::ONE_PART.head_of_one(0).len();
    /// Most bytes of a part.
    pub const LONGEST: usize = 64 - ShortKey::AT;
    /// Most keys of one call.
    pub const BATCH: usize = 64;
}

/// Collects at most one key for each row. Where rows have several keys, it is told numbers of keys instead of rows.
pub struct ItemsBuilder {
    encoding: Encoding,
    store: Store,
    keys: KeyEncoder,
    ends: Vec<usize>,
    rows: Vec<u32>,
    digests: Vec<u8>,
}

impl ItemsBuilder {
    /// A builder; `rows_hint` is the approximate number of keys, 0 if unknown.
    pub fn new(encoding: Encoding, rows_hint: usize) -> Result<Self, ItemsError> {
        let rows = rows_hint.min(HINT_LIMIT);
        let store = match encoding {
            Encoding::Native { sigma } if !(1..=64).contains(&sigma) => {
                return Err(ItemsError::Sigma { sigma });
            }
            Encoding::Native { .. } => Store::Native(Records::with_capacity(rows)),
            Encoding::Digest(Width::Digest128) => Store::Narrow(Records::with_capacity(rows)),
            Encoding::Digest(Width::Digest256) => Store::Wide(Records::with_capacity(rows)),
        };
        let digests = Vec::with_capacity(BATCH_KEYS * encoding.bytes());
        let keys = KeyEncoder::new(1)?;
        Ok(ItemsBuilder { encoding, store, keys, ends: Vec::new(), rows: Vec::new(), digests })
    }

    /// The encoding of the items.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Adds the key of a row, as [`KeyEncoder`] writes it. A row has at most one key. Rows may come in any
    /// order.
    pub fn push(&mut self, row: u64, canonical: &[u8]) -> Result<(), ItemsError> {
        if matches!(self.encoding, Encoding::Native { .. }) {
            return Err(ItemsError::WrongEncoding);
        }
        self.rows.push(row_number(row)?);
        let end = self.keys.keep_written(canonical);
        self.pushed(end);
        Ok(())
    }

    /// The encoder for the next key, of this kind, which [`ItemsBuilder::push_key`] then takes. This avoids a copy.
    #[inline]
    pub fn key(&mut self, kind: KeyKind) -> &mut KeyEncoder {
        self.keys.begin(kind);
        &mut self.keys
    }

    /// The bytes of the key that was written to [`ItemsBuilder::key`].
    pub fn written(&self) -> Result<&[u8], ItemsError> {
        self.keys.canonical()
    }

    /// Adds the key that was written to [`ItemsBuilder::key`], as the key of a row.
    #[inline]
    pub fn push_key(&mut self, row: u64) -> Result<(), ItemsError> {
        if matches!(self.encoding, Encoding::Native { .. }) {
            return Err(ItemsError::WrongEncoding);
        }
        self.keys.canonical()?;
        self.rows.push(row_number(row)?);
        let end = self.keys.keep();
        self.pushed(end);
        Ok(())
    }

    /// Adds keys of one part each and of this kind, without a copy. Block i holds the part of key i from byte
    /// [`ShortKey::AT`] on and zeros elsewhere; this function writes the bytes before the part. The items are the same as
    /// by [`push`](Self::push).
    ///
    /// # Panics
    /// If the numbers of blocks and keys differ, or there are more than [`ShortKey::BATCH`].
    pub fn push_short(
        &mut self,
        kind: KeyKind,
        keys: &[ShortKey],
        blocks: &mut [[u8; 64]],
    ) -> Result<(), ItemsError> {
        assert!(keys.len() == blocks.len() && keys.len() <= ShortKey::BATCH, "a block a key");
        if kind.arity != 1 {
            return Err(ItemsError::KeyParts { parts: 1 });
        }
        let (mut rows, mut lengths) = ([0; ShortKey::BATCH], [0; ShortKey::BATCH]);
        for (i, (key, block)) in keys.iter().zip(blocks.iter_mut()).enumerate() {
            if usize::from(key.length) > ShortKey::LONGEST {
                return Err(ItemsError::PartTooLong);
            }
            rows[i] = row_number(key.row)?;
            lengths[i] = u32::from(key.length) + ShortKey::AT as u32;
            if let Some(head) = block.first_chunk_mut() {
                *head = kind.head_of_one(key.length);
            }
        }
        let (rows, lengths) = (&rows[..keys.len()], &lengths[..keys.len()]);
        match (self.encoding, &mut self.store) {
            (Encoding::Digest(width), Store::Narrow(records)) => {
                append_short(width, blocks, lengths, rows, records);
            }
            (Encoding::Digest(width), Store::Wide(records)) => {
                append_short(width, blocks, lengths, rows, records);
            }
            _ => return Err(ItemsError::WrongEncoding),
        }
        Ok(())
    }

    /// Adds the digest of a row's key.
    ///
    /// # Panics
    /// If the digest has another width than the items.
    #[inline]
    pub fn push_digest(&mut self, row: u64, digest: &[u8]) -> Result<(), ItemsError> {
        assert_eq!(digest.len(), self.encoding.bytes(), "a digest of this width");
        let row = row_number(row)?;
        match &mut self.store {
            Store::Native(_) => return Err(ItemsError::WrongEncoding),
            Store::Narrow(records) => records.append(digest.as_chunks().0, &[row]),
            Store::Wide(records) => records.append(digest.as_chunks().0, &[row]),
        }
        Ok(())
    }

    /// Takes the keys of another builder, which has this one's encoding and is empty then. Its rows count from `first` on.
    ///
    /// # Errors
    /// The encodings differ, or there are too many rows.
    pub fn take_from(&mut self, part: &mut ItemsBuilder, first: u64) -> Result<(), ItemsError> {
        part.flush();
        match (&mut self.store, &mut part.store) {
            (Store::Native(all), Store::Native(part)) => all.take_from(part, first),
            (Store::Narrow(all), Store::Narrow(part)) => all.take_from(part, first),
            (Store::Wide(all), Store::Wide(part)) => all.take_from(part, first),
            _ => Err(ItemsError::WrongEncoding),
        }
    }

    /// How many keys have been added.
    pub fn len(&self) -> usize {
        self.ends.len() + on_store!(&self.store, s => s.len())
    }

    /// Whether no key has been added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands over all items so far, in the order of their rows, and forgets them. `Break` ends it.
    pub fn drain(&mut self, take: impl FnMut(u64, &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        self.flush();
        on_store!(&mut self.store, s => s.drain(take))
    }

    /// Keeps only the first row of each item. Returns the two rows of one item whose second is the first row of
    /// the table that repeats an item; none if no item was there twice.
    ///
    /// A caller that does this from time to time takes memory for the distinct items alone. If rows came in
    /// ascending order, the first result is the same as if all had been looked at together.
    pub fn keep_first(&mut self) -> Option<(u64, u64)> {
        self.flush();
        on_store!(&mut self.store, s => s.keep_first())
    }

    /// Numbers the items by their order, from 0 on, in place of their rows. Equal items must have been removed
    /// by [`keep_first`](Self::keep_first) just before.
    pub fn renumber(&mut self) {
        on_store!(&mut self.store, s => s.renumber());
    }

    #[inline]
    fn pushed(&mut self, end: usize) {
        self.ends.push(end);
        if self.ends.len() == BATCH_KEYS || end >= BATCH_BYTES {
            self.flush();
        }
    }

    /// Adds the integer key of a row.
    pub fn push_native(&mut self, row: u64, value: u64) -> Result<(), ItemsError> {
        let (Encoding::Native { sigma }, Store::Native(records)) = (self.encoding, &mut self.store) else {
            return Err(ItemsError::WrongEncoding);
        };
        if sigma < 64 && value >> sigma != 0 {
            return Err(ItemsError::ValueOutOfRange { row, sigma });
        }
        records.append(&[value.to_be_bytes()], &[row_number(row)?]);
        Ok(())
    }

    /// Hashes the collected keys, which would otherwise wait for more.
    pub fn flush(&mut self) {
        if let Encoding::Digest(width) = self.encoding {
            self.digests.resize(self.ends.len() * width.bytes(), 0);
            digest_batch(width, Batch { bytes: self.keys.kept(), ends: &self.ends }, &mut self.digests);
        }
        match &mut self.store {
            Store::Native(_) => {}
            Store::Narrow(records) => records.append(self.digests.as_chunks().0, &self.rows),
            Store::Wide(records) => records.append(self.digests.as_chunks().0, &self.rows),
        }
        self.keys.reset();
        self.ends.clear();
        self.rows.clear();
        self.digests.clear();
    }

    /// Sorts the items and handles duplicates.
    pub fn build(self, on_duplicates: OnDuplicates) -> Result<Items, ItemsError> {
        self.build_by_threads(1, on_duplicates)
    }

    /// Sorts the items on at most `threads` threads, and handles duplicates.
    pub fn build_by_threads(
        mut self,
        threads: usize,
        on_duplicates: OnDuplicates,
    ) -> Result<Items, ItemsError> {
        self.flush();
        let mut store = self.store;
        let duplicates = on_store!(&mut store, s => s.sort(threads, on_duplicates))?;
        Ok(Items { store, encoding: self.encoding, dummies: 0, duplicates })
    }
}

impl fmt::Debug for ItemsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemsBuilder").field("encoding", &self.encoding).finish_non_exhaustive()
    }
}

fn append_short<const N: usize>(
    width: Width,
    blocks: &[[u8; 64]],
    lengths: &[u32],
    rows: &[u32],
    records: &mut Records<N>,
) {
    let mut digests = [[0; N]; ShortKey::BATCH];
    let digests = &mut digests[..rows.len()];
    digest_blocks(width, blocks, lengths, digests);
    records.append(digests, rows);
}
