//! Items of which many may be equal, in memory for the distinct ones alone.

use vesica_encode::items::{Encoding, ItemsBuilder, ItemsError, Width};

/// Items that are collected before the first look for equal ones.
const FIRST: usize = 1 << 16;

/// Collects items and keeps each once.
pub(super) struct Distinct {
    builder: ItemsBuilder,
    /// How many items are collected before equal ones are removed.
    limit: usize,
    repeated: Option<(u64, u64)>,
}

impl Distinct {
    /// For about so many items, equal ones counted.
    pub(super) fn new(width: Width, items: u64) -> Result<Self, ItemsError> {
        let hint = usize::try_from(items).unwrap_or(FIRST);
        let builder = ItemsBuilder::new(Encoding::Digest(width), hint)?;
        Ok(Distinct { builder, limit: FIRST, repeated: None })
    }

    /// Adds an item with a number, which counts until the first repeated item has been found.
    #[inline]
    pub(super) fn add(&mut self, number: u64, item: &[u8]) -> Result<(), ItemsError> {
        if self.builder.len() == self.limit {
            self.merge();
        }
        self.builder.push_digest(if self.repeated.is_none() { number } else { 0 }, item)
    }

    #[cold]
    fn merge(&mut self) {
        let repeated = self.builder.keep_first();
        self.repeated = self.repeated.or(repeated);
        let left = self.builder.len();
        self.limit = FIRST.max(left + left / 2);
    }

    /// The distinct items. If numbers were ascending and an item came twice: the two numbers of one item whose
    /// second is the lowest that repeats an item.
    pub(super) fn finish(mut self) -> (ItemsBuilder, Option<(u64, u64)>) {
        self.merge();
        (self.builder, self.repeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(number: u64) -> [u8; 16] {
        *blake3::hash(&number.to_le_bytes()).as_bytes().first_chunk().unwrap()
    }

    #[test]
    fn equal_items_take_no_memory() {
        let mut distinct = Distinct::new(Width::Digest128, 1 << 20).unwrap();
        for number in 0..1 << 20 {
            distinct.add(number, &item(number % 1000)).unwrap();
            assert!(distinct.builder.len() <= FIRST);
        }
        let (items, repeated) = distinct.finish();
        assert_eq!((items.len(), repeated), (1000, Some((0, 1000))));
    }

    #[test]
    fn different_items_are_all_kept() {
        let mut distinct = Distinct::new(Width::Digest128, 0).unwrap();
        let count = 3 * FIRST as u64 + 5;
        for number in 0..count {
            distinct.add(number, &item(number)).unwrap();
            let most = FIRST.max(number as usize * 3 / 2);
            assert!(distinct.limit <= most + 1);
        }
        // Numbers beyond 32 bits matter no more once an item was there twice.
        distinct.add(count, &item(7)).unwrap();
        distinct.merge();
        distinct.add(1 << 40, &item(8)).unwrap();
        let (items, repeated) = distinct.finish();
        assert_eq!((items.len() as u64, repeated), (count, Some((7, count))));
    }
}
