//! From pushed keys to [`Items`].

use std::fmt;

use super::digest::{Batch, digest_batch};
use super::store::{DUMMY_ROW, Records, Store, on_store};
use super::{Encoding, Items, ItemsError, KeyEncoder, OnDuplicates, Width};

/// Keys hashed in one call.
const BATCH_KEYS: usize = 1024;
/// Key bytes that are collected at most before they are hashed.
const BATCH_BYTES: usize = 64 * 1024;
/// A hint is somebody's guess; records beyond this many are allocated as they come.
const HINT_LIMIT: usize = 1 << 26;

/// Collects one key a row.
pub struct ItemsBuilder {
    encoding: Encoding,
    store: Store,
    keys: KeyEncoder,
    ends: Vec<usize>,
    rows: Vec<u32>,
    digests: Vec<u8>,
}

impl ItemsBuilder {
    /// A builder; `rows_hint` is about how many keys will come, 0 if unknown.
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

    /// The same for keys of that many parts, as [`ItemsBuilder::key`] writes them.
    pub fn with_arity(mut self, arity: usize) -> Result<Self, ItemsError> {
        self.flush();
        self.keys = KeyEncoder::new(arity)?;
        Ok(self)
    }

    /// What the items will be.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The key of a row, as [`KeyEncoder`] writes it. A row has one key; rows without one are left
    /// out, in any order.
    pub fn push(&mut self, row: u64, canonical: &[u8]) -> Result<(), ItemsError> {
        if matches!(self.encoding, Encoding::Native { .. }) {
            return Err(ItemsError::WrongEncoding);
        }
        self.rows.push(row_number(row)?);
        let end = self.keys.keep_written(canonical);
        self.pushed(end);
        Ok(())
    }

    /// The next key, to be written here; [`ItemsBuilder::push_key`] takes it. It spares a copy.
    #[inline]
    pub fn key(&mut self) -> &mut KeyEncoder {
        &mut self.keys
    }

    /// The key that was written is the key of a row.
    #[inline]
    pub fn push_key(&mut self, row: u64) -> Result<(), ItemsError> {
        if matches!(self.encoding, Encoding::Native { .. }) {
            return Err(ItemsError::WrongEncoding);
        }
        self.keys.finish()?;
        self.rows.push(row_number(row)?);
        let end = self.keys.keep();
        self.pushed(end);
        Ok(())
    }

    #[inline]
    fn pushed(&mut self, end: usize) {
        self.ends.push(end);
        if self.ends.len() == BATCH_KEYS || end >= BATCH_BYTES {
            self.flush();
        }
    }

    /// The integer key of a row.
    pub fn push_native(&mut self, row: u64, value: u64) -> Result<(), ItemsError> {
        let (Encoding::Native { sigma }, Store::Native(records)) = (self.encoding, &mut self.store) else {
            return Err(ItemsError::WrongEncoding);
        };
        if sigma < 64 && value >> sigma != 0 {
            return Err(ItemsError::ValueOutOfRange { row, sigma });
        }
        records.push(value.to_be_bytes(), row_number(row)?);
        Ok(())
    }

    /// Hashes what was collected.
    fn flush(&mut self) {
        if let Encoding::Digest(width) = self.encoding {
            self.digests.resize(self.ends.len() * width.bytes(), 0);
            digest_batch(width, Batch { bytes: self.keys.kept(), ends: &self.ends }, &mut self.digests);
        }
        match &mut self.store {
            Store::Native(_) => {}
            Store::Narrow(records) => append(records, &self.digests, &self.rows),
            Store::Wide(records) => append(records, &self.digests, &self.rows),
        }
        self.keys.reset();
        self.ends.clear();
        self.rows.clear();
        self.digests.clear();
    }

    /// Sorts the items and treats duplicates as told.
    pub fn finish(mut self, on_duplicates: OnDuplicates) -> Result<Items, ItemsError> {
        self.flush();
        let mut store = self.store;
        let duplicates = on_store!(&mut store, s => s.finish(on_duplicates))?;
        Ok(Items { store, encoding: self.encoding, dummies: 0, duplicates })
    }
}

impl fmt::Debug for ItemsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemsBuilder").field("encoding", &self.encoding).finish_non_exhaustive()
    }
}

fn append<const N: usize>(records: &mut Records<N>, digests: &[u8], rows: &[u32]) {
    let (digests, _) = digests.as_chunks::<N>();
    for (digest, row) in digests.iter().zip(rows) {
        records.push(*digest, *row);
    }
}

fn row_number(row: u64) -> Result<u32, ItemsError> {
    u32::try_from(row).ok().filter(|row| *row != DUMMY_ROW).ok_or(ItemsError::TooManyRows)
}
