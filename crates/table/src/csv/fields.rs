//! The fields of one record.

use super::grammar::TakeFields;

/// The fields of a record, unquoted, and where they end in it.
#[derive(Default)]
pub(super) struct Fields {
    /// The text of all of them.
    text: Vec<u8>,
    /// Where each ends in the text.
    ends: Vec<usize>,
    /// Where each ends in the record.
    places: Vec<usize>,
}

impl TakeFields for Fields {
    fn text(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    fn end(&mut self, at: usize) {
        self.ends.push(self.text.len());
        self.places.push(at);
    }
}

impl Fields {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.places.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    /// A field as it stands in the record, with quotes and escapes; nothing for one that was added.
    pub(super) fn written<'r>(&self, index: usize, record: &'r [u8]) -> &'r [u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.places[before] + 1);
        record.get(start..self.places[index]).unwrap_or_default()
    }

    /// Where a field ends in the record.
    pub(super) fn place(&self, index: usize) -> usize {
        self.places[index]
    }

    /// Makes them so many by leaving out empty ones at the end, or adding some. False if those at the end are not empty.
    pub(super) fn fit(&mut self, count: usize) -> bool {
        let there = self.len();
        if (count..there).any(|index| !self.get(index).is_empty()) {
            return false;
        }
        let (end, place) = (self.text.len(), self.places.last().copied().unwrap_or_default());
        self.ends.resize(count, end);
        self.places.resize(count, place);
        true
    }
}
