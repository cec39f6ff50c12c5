//! The values of a chain in ascending order: a merge of all its lists.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::KeptError;
use crate::file::SetFile;
use crate::layout::List;
use crate::values::Values;

/// A value of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Present {
    /// The value.
    pub value: u128,
    /// The number of the epoch that added it, under which its label was sealed.
    pub epoch: u64,
    /// Its sealed label; empty without labels.
    pub label: Vec<u8>,
}

/// The values of a chain, ascending. After an error there is nothing more.
pub struct Merged<'f> {
    /// Newest file first, and additions of a file before its removals: who comes first decides.
    lists: Vec<Source<'f>>,
    /// The next value of each list, and which list.
    heads: BinaryHeap<Reverse<(u128, usize)>>,
    /// The lists whose next value is not read yet.
    unread: Vec<usize>,
    is_done: bool,
}

struct Source<'f> {
    list: List,
    epoch: u64,
    values: Values<'f>,
    /// The label of the value that is among the heads.
    label: Vec<u8>,
}

impl<'f> Merged<'f> {
    pub(super) fn new(files: &'f [SetFile]) -> Self {
        let lists = files.iter().rev().flat_map(|file| {
            let epoch = file.header().epoch.number;
            List::BOTH.map(|list| Source { list, epoch, values: file.values(list), label: Vec::new() })
        });
        let lists: Vec<_> = lists.collect();
        let unread = (0..lists.len()).collect();
        Merged { lists, heads: BinaryHeap::new(), unread, is_done: false }
    }

    fn advance(&mut self) -> Result<Option<Present>, KeptError> {
        loop {
            for list in self.unread.drain(..) {
                let source = &mut self.lists[list];
                if let Some(entry) = source.values.next().transpose()? {
                    source.label = entry.label;
                    self.heads.push(Reverse((entry.value, list)));
                }
            }
            let Some(Reverse((value, first))) = self.heads.pop() else {
                return Ok(None);
            };
            self.unread.push(first);
            // The other lists that have this value are older.
            while let Some(Reverse((_, list))) = self.heads.peek().filter(|head| head.0.0 == value) {
                self.unread.push(*list);
                self.heads.pop();
            }
            let source = &mut self.lists[first];
            if source.list == List::Additions {
                let label = std::mem::take(&mut source.label);
                return Ok(Some(Present { value, epoch: source.epoch, label }));
            }
        }
    }
}

impl Iterator for Merged<'_> {
    type Item = Result<Present, KeptError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = self.advance().transpose();
        self.is_done = !matches!(next, Some(Ok(_)));
        next
    }
}
