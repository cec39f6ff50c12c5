//! Canonical bytes of a key: arity (`u8`), then each part as length (`u32`, little-endian) and bytes.
//!
//! The lengths make the encoding injective: `"a,b" + "c"` and `"a" + "b,c"` differ. A key of one part is
//! written the same way.

use std::fmt;

use super::ItemsError;

/// Writes the canonical bytes of keys into one buffer, one key after the other.
pub struct KeyEncoder {
    /// The kept keys, and from `start` on the current key.
    bytes: Vec<u8>,
    start: usize,
    parts: u8,
}

impl KeyEncoder {
    /// An encoder of keys with that many parts.
    pub fn new(arity: usize) -> Result<Self, ItemsError> {
        match u8::try_from(arity) {
            Ok(arity) if arity > 0 => Ok(KeyEncoder { bytes: vec![arity], start: 0, parts: 0 }),
            _ => Err(ItemsError::KeyParts { parts: arity }),
        }
    }

    /// The bytes before the part in a key of one part.
    pub(super) const fn head_of_one(length: u8) -> [u8; 5] {
        [1, length, 0, 0, 0]
    }

    /// Starts the next key.
    pub fn clear(&mut self) {
        self.bytes.truncate(self.start + 1);
        self.parts = 0;
    }

    /// Keeps the current key and starts the next one. Returns where the kept key ends.
    pub(super) fn keep(&mut self) -> usize {
        let (arity, end) = (self.arity(), self.bytes.len());
        self.bytes.push(arity);
        (self.start, self.parts) = (end, 0);
        end
    }

    /// Keeps a key that was written elsewhere. Returns where it ends.
    pub(super) fn keep_written(&mut self, canonical: &[u8]) -> usize {
        let arity = self.arity();
        self.bytes.truncate(self.start);
        self.bytes.extend_from_slice(canonical);
        (self.start, self.parts) = (self.bytes.len(), 0);
        self.bytes.push(arity);
        self.start
    }

    /// The kept keys, one after the other.
    pub(super) fn kept(&self) -> &[u8] {
        &self.bytes[..self.start]
    }

    /// Forgets all keys and starts the next one.
    pub(super) fn reset(&mut self) {
        let arity = self.arity();
        self.bytes.clear();
        self.bytes.push(arity);
        (self.start, self.parts) = (0, 0);
    }

    pub(super) fn arity(&self) -> u8 {
        self.bytes[self.start]
    }

    /// Appends a part.
    pub fn part(&mut self, part: &[u8]) -> Result<(), ItemsError> {
        self.part_with(|bytes| bytes.extend_from_slice(part))
    }

    /// Appends a part, which `write` appends to the buffer. `write` must not change the bytes before it.
    pub fn part_with<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> Result<T, ItemsError> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        let result = write(&mut self.bytes);
        let length = u32::try_from(self.bytes.len() - start - 4).map_err(|_| ItemsError::PartTooLong)?;
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.parts = self.parts.saturating_add(1);
        Ok(result)
    }

    /// The canonical bytes of the current key, once it has all its parts.
    pub fn canonical(&self) -> Result<&[u8], ItemsError> {
        if self.parts != self.arity() {
            return Err(ItemsError::KeyParts { parts: self.parts.into() });
        }
        Ok(&self.bytes[self.start..])
    }
}

impl fmt::Debug for KeyEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyEncoder").field("arity", &self.arity()).finish_non_exhaustive()
    }
}
