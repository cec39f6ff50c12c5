//! What the sender attaches to its items, and what the receiver gets of it.

use vesica_encode::items::{Items, Matches};

use crate::error::{Error, Misuse};
use crate::participants::Role;
use crate::results::ResultKind;

/// What goes along with this party's items. A receiver attaches nothing.
#[derive(Clone, Copy, Default)]
pub enum Attached<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// For sums: a vector for each sum, with a number for each item, in the order of the items. A dummy has 0.
    Values(&'a [Vec<u64>]),
    /// A block for each item.
    Payloads(&'a Payloads),
}

impl Attached<'_> {
    /// Checks that a run for `result` has what it takes, for `items` items of a party in this role.
    pub(crate) fn expect(self, result: ResultKind, role: Role, items: usize) -> Result<(), Error> {
        let fits = match (role, result, self) {
            (Role::Sender, ResultKind::Sums { columns }, Attached::Values(values)) => {
                values.len() == columns.into() && values.iter().all(|column| column.len() == items)
            }
            (Role::Sender, ResultKind::Payload { bytes }, Attached::Payloads(payloads)) => {
                payloads.width == bytes as usize && payloads.len() == items
            }
            (Role::Sender, ResultKind::Sums { .. } | ResultKind::Payload { .. }, _) => false,
            (_, _, attached) => matches!(attached, Attached::Nothing),
        };
        if fits { Ok(()) } else { Err(Misuse::UnfitAttached.into()) }
    }
}

/// The sender's payloads: a block of the agreed width for each item, in the order of the items. A dummy's is
/// never opened.
#[derive(Clone, PartialEq, Eq)]
pub struct Payloads {
    width: usize,
    bytes: Vec<u8>,
}

impl Payloads {
    /// Blocks of `width` bytes, one after the other; none if they are not whole.
    pub fn new(width: usize, bytes: Vec<u8>) -> Option<Self> {
        (width > 0 && bytes.len().is_multiple_of(width)).then_some(Payloads { width, bytes })
    }

    /// Whole blocks of a width that is not 0.
    pub(crate) fn of_blocks(width: usize, bytes: Vec<u8>) -> Self {
        Payloads { width, bytes }
    }

    /// Bytes of a block.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The blocks, one after the other.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The block of an item.
    ///
    /// # Panics
    /// If `item` is not below [`len`](Self::len).
    pub fn get(&self, item: usize) -> &[u8] {
        &self.bytes[item * self.width..][..self.width]
    }
}

impl std::fmt::Debug for Payloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payloads").field("width", &self.width).field("len", &self.len()).finish()
    }
}

/// The receiver's matching rows with the sender's payloads.
#[derive(Clone, PartialEq, Eq)]
pub struct MatchedPayloads {
    matches: Matches,
    /// A block for each matched item, and which of them goes with each row.
    blocks: Payloads,
    block_of_row: Vec<u32>,
}

impl MatchedPayloads {
    /// The rows of the matched items of `items`, with a block for each of them, in the same order. An item is
    /// named once.
    pub(crate) fn new(items: &Items, matched: &[u32], blocks: Payloads) -> Self {
        let matches = items.matches(matched.iter().map(|item| *item as usize));
        let mut rows: Vec<(u64, u32)> = Vec::with_capacity(matches.rows().len());
        for (block, &item) in (0..).zip(matched) {
            rows.extend(items.rows_of(item as usize).map(|row| (row, block)));
        }
        rows.sort_unstable();
        Self { matches, blocks, block_of_row: rows.into_iter().map(|(_, block)| block).collect() }
    }

    /// The rows.
    pub fn matches(&self) -> &Matches {
        &self.matches
    }

    /// The rows, by value.
    pub fn into_matches(self) -> Matches {
        self.matches
    }

    /// The rows, a block for each matched item, and which of them goes with each row.
    pub fn into_parts(self) -> (Matches, Payloads, Vec<u32>) {
        (self.matches, self.blocks, self.block_of_row)
    }

    /// The block that goes with row `matches().rows()[index]`.
    ///
    /// # Panics
    /// If there are not so many rows.
    pub fn payload(&self, index: usize) -> &[u8] {
        self.blocks.get(self.block_of_row[index] as usize)
    }
}

impl std::fmt::Debug for MatchedPayloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MatchedPayloads").field("matches", &self.matches).finish_non_exhaustive()
    }
}
