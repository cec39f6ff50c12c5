//! All values of a list, block by block.

use crate::block::Block;
use crate::error::KeptError;
use crate::file::SetFile;
use crate::layout::List;

/// A value of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The value.
    pub value: u128,
    /// Its sealed label; empty without labels.
    pub label: Vec<u8>,
}

/// The values of one list, ascending. After an error there is nothing more.
pub struct Values<'f> {
    file: &'f SetFile,
    list: List,
    block: Block,
    /// The position in the block.
    next: usize,
    next_block: u64,
    /// Values that the header promises beyond those read.
    left: u64,
    is_done: bool,
}

impl<'f> Values<'f> {
    pub(crate) fn new(file: &'f SetFile, list: List) -> Self {
        let left = file.blocks(list).layout.count;
        Values { file, list, block: Block::default(), next: 0, next_block: 0, left, is_done: false }
    }

    fn advance(&mut self) -> Result<Option<Entry>, KeptError> {
        let blocks = self.file.blocks(self.list).layout.blocks();
        loop {
            if let Some(value) = self.block.values.get(self.next) {
                let entry = Entry { value: *value, label: self.block.label(self.next).to_vec() };
                self.next += 1;
                return Ok(Some(entry));
            }
            if self.next_block == blocks {
                return Ok(None);
            }
            self.file.read_block(self.list, self.next_block, &mut self.block)?;
            self.next_block += 1;
            self.next = 0;
            // The blocks have as many values as the header says, together.
            let read = self.block.values.len() as u64;
            self.left = match self.left.checked_sub(read) {
                Some(left) if self.next_block < blocks || left == 0 => left,
                _ => return Err(self.file.miscounted(self.list, self.next_block - 1)),
            };
        }
    }
}

impl Iterator for Values<'_> {
    type Item = Result<Entry, KeptError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = self.advance().transpose();
        self.is_done = !matches!(next, Some(Ok(_)));
        next
    }
}
