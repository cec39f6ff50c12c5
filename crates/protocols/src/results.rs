//! What a run gives, what the sender attaches to its items for it, and what limits it.
//!
//! | result | the receiver learns | the sender learns | attached |
//! |---|---|---|---|
//! | [`Rows`](ResultKind::Rows) | which of its rows match | nothing, or the same | nothing |
//! | [`Payload`](ResultKind::Payload) | that, and the sender's block of each match | nothing, or which of its rows match | a block an item |
//! | [`Count`](ResultKind::Count) | how many items match | nothing, or the same | nothing |
//! | [`AtLeast`](ResultKind::AtLeast) | whether so many match | the same | nothing |
//! | [`Sums`](ResultKind::Sums) | sums of the sender's numbers over the matches | nothing, or the same | numbers an item |

use vesica_encode::items::{Items, Matches};

use crate::error::{Error, Misuse};
use crate::protocol::Role;

/// Bytes of a payload block, at most.
pub const MOST_PAYLOAD_BYTES: u32 = 1 << 16;

/// Sums of a run, at most.
pub const MOST_SUMS: u8 = 16;

/// The result that a run gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResultKind {
    /// The matching rows.
    #[default]
    Rows,
    /// The receiver's matching rows, each with a block of bytes that the sender has attached to its item.
    Payload {
        /// Bytes of every block, 1 to [`MOST_PAYLOAD_BYTES`].
        bytes: u32,
    },
    /// |X ∩ Y|.
    Count,
    /// Whether |X ∩ Y| is at least so large. Both parties learn it.
    AtLeast(u64),
    /// Sums over X ∩ Y of numbers that the sender has attached to its items.
    Sums {
        /// How many sums, 1 to [`MOST_SUMS`].
        columns: u8,
    },
}

/// A kind of result, without what is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultName {
    /// [`ResultKind::Rows`].
    Rows,
    /// [`ResultKind::Payload`].
    Payload,
    /// [`ResultKind::Count`].
    Count,
    /// [`ResultKind::AtLeast`].
    AtLeast,
    /// [`ResultKind::Sums`].
    Sum,
}

impl ResultName {
    /// All of them.
    pub const ALL: [ResultName; 5] = {
        use ResultName::{AtLeast, Count, Payload, Rows, Sum};
        [Rows, Payload, Count, AtLeast, Sum]
    };

    /// The name in tables and messages.
    pub const fn name(self) -> &'static str {
        match self {
            ResultName::Rows => "rows",
            ResultName::Payload => "payload",
            ResultName::Count => "count",
            ResultName::AtLeast => "at-least",
            ResultName::Sum => "sum",
        }
    }
}

impl std::fmt::Display for ResultName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl ResultKind {
    /// Its name.
    pub const fn name(self) -> ResultName {
        match self {
            ResultKind::Rows => ResultName::Rows,
            ResultKind::Payload { .. } => ResultName::Payload,
            ResultKind::Count => ResultName::Count,
            ResultKind::AtLeast(_) => ResultName::AtLeast,
            ResultKind::Sums { .. } => ResultName::Sum,
        }
    }

    /// Whether a minimum of matches can be asked for.
    pub const fn takes_minimum(self) -> bool {
        matches!(self, ResultKind::Count | ResultKind::Sums { .. })
    }

    /// Whether noise can be added.
    pub const fn takes_noise(self) -> bool {
        matches!(self, ResultKind::Count | ResultKind::AtLeast(_))
    }

    /// Whether it has as many blocks or columns as a run can take.
    pub const fn fits(self) -> bool {
        match self {
            ResultKind::Payload { bytes } => bytes >= 1 && bytes <= MOST_PAYLOAD_BYTES,
            ResultKind::Sums { columns } => columns >= 1 && columns <= MOST_SUMS,
            ResultKind::Rows | ResultKind::Count | ResultKind::AtLeast(_) => true,
        }
    }

    /// Enters the context of the run; empty for rows.
    pub(crate) fn text(self) -> String {
        match self {
            ResultKind::Rows => String::new(),
            ResultKind::Payload { bytes } => format!(" payload={bytes}"),
            ResultKind::Count => " result=count".to_owned(),
            ResultKind::AtLeast(least) => format!(" at-least={least}"),
            ResultKind::Sums { columns } => format!(" sums={columns}"),
        }
    }
}

/// Noise on a count: ε of a discrete Laplace distribution, of which each party adds a sample of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Noise {
    thousandths: u32,
}

impl Noise {
    /// The denominator of ε.
    pub(crate) const WHOLE: u32 = 1000;

    /// The largest ε, in thousandths.
    pub const MOST_THOUSANDTHS: u32 = 20_000;

    /// ε in thousandths, 1 to [`MOST_THOUSANDTHS`](Self::MOST_THOUSANDTHS); none outside.
    pub const fn of_thousandths(thousandths: u32) -> Option<Self> {
        if thousandths >= 1 && thousandths <= Self::MOST_THOUSANDTHS {
            Some(Noise { thousandths })
        } else {
            None
        }
    }

    /// ε in thousandths.
    pub const fn thousandths(self) -> u32 {
        self.thousandths
    }
}

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
