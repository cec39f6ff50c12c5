//! Canonical bytes of a key: its kind (`u8`), then each part as length (`u32`, little-endian) and bytes.
//!
//! The lengths make the encoding injective: `"a,b" + "c"` and `"a" + "b,c"` differ. A key of one part is
//! written the same way. The kind of a key is how many parts it has, if all keys are of one kind. Where rows have several
//! keys, those of different kinds never meet: [`KeyKind::of_several`].

use std::fmt;

use super::ItemsError;

/// How many parts a key has, and which of the keys of its row it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyKind {
    /// The first byte of the canonical bytes.
    head: u8,
    pub(super) arity: u8,
}

impl KeyKind {
    /// Most kinds of keys in one set.
    pub const MOST: usize = 16;
    /// Most parts of a key where rows have several keys.
    pub const MOST_PARTS_OF_SEVERAL: usize = 15;

    /// A key of one part, the only one of its row.
    pub const ONE_PART: KeyKind = KeyKind { head: 1, arity: 1 };

    /// Keys with that many parts, where a row has one key. At most 255.
    pub fn only(arity: usize) -> Result<Self, ItemsError> {
        match u8::try_from(arity) {
            Ok(arity) if arity > 0 => Ok(KeyKind { head: arity, arity }),
            _ => Err(ItemsError::KeyParts { parts: arity }),
        }
    }

    /// The keys number `which` of their rows, counted from 0, with that many parts: the number is in the high half of the
    /// first byte, the parts in the low half.
    pub fn of_several(which: usize, arity: usize) -> Result<Self, ItemsError> {
        if which >= KeyKind::MOST || arity == 0 || arity > KeyKind::MOST_PARTS_OF_SEVERAL {
            return Err(ItemsError::KeyParts { parts: arity });
        }
        Ok(KeyKind { head: (which << 4 | arity) as u8, arity: arity as u8 })
    }

    /// The bytes before the part in a key of one part.
    pub(super) const fn head_of_one(self, length: u8) -> [u8; 5] {
        [self.head, length, 0, 0, 0]
    }
}

/// Writes the canonical bytes of keys into one buffer, one key after the other.
pub struct KeyEncoder {
    /// The kept keys, and from `start` on the current key.
    bytes: Vec<u8>,
    start: usize,
    parts: u8,
    kind: KeyKind,
}

impl KeyEncoder {
    /// An encoder of keys with that many parts.
    pub fn new(arity: usize) -> Result<Self, ItemsError> {
        let kind = KeyKind::only(arity)?;
        Ok(KeyEncoder { bytes: vec![kind.head], start: 0, parts: 0, kind })
    }

    /// Starts the next key, which is of the kind of the last one.
    pub fn clear(&mut self) {
        self.bytes.truncate(self.start + 1);
        self.parts = 0;
    }

    /// Starts the next key, and those after it, as keys of this kind.
    #[inline]
    pub fn begin(&mut self, kind: KeyKind) {
        self.kind = kind;
        self.clear();
        self.bytes[self.start] = kind.head;
    }

    /// Keeps the current key and starts the next one. Returns where the kept key ends.
    pub(super) fn keep(&mut self) -> usize {
        let end = self.bytes.len();
        self.bytes.push(self.kind.head);
        (self.start, self.parts) = (end, 0);
        end
    }

    /// Keeps a key that was written elsewhere. Returns where it ends.
    pub(super) fn keep_written(&mut self, canonical: &[u8]) -> usize {
        self.bytes.truncate(self.start);
        self.bytes.extend_from_slice(canonical);
        (self.start, self.parts) = (self.bytes.len(), 0);
        self.bytes.push(self.kind.head);
        self.start
    }

    /// The kept keys, one after the other.
    pub(super) fn kept(&self) -> &[u8] {
        &self.bytes[..self.start]
    }

    /// Forgets all keys and starts the next one.
    pub(super) fn reset(&mut self) {
        self.bytes.clear();
        self.bytes.push(self.kind.head);
        (self.start, self.parts) = (0, 0);
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
        if self.parts != self.kind.arity {
            return Err(ItemsError::KeyParts { parts: self.parts.into() });
        }
        Ok(&self.bytes[self.start..])
    }
}

impl fmt::Debug for KeyEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyEncoder").field("arity", &self.kind.arity).finish_non_exhaustive()
    }
}
