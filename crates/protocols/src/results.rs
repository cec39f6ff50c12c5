//! What a run gives, and what limits it. What the sender attaches to its items is in `attached`.
//!
//! | result | the receiver learns | the sender learns | attached |
//! |---|---|---|---|
//! | [`Rows`](ResultKind::Rows) | which of its rows match | nothing, or the same | nothing |
//! | [`Payload`](ResultKind::Payload) | that, and the sender's block of each match | nothing, or which of its rows match | a block an item |
//! | [`Count`](ResultKind::Count) | how many items match | nothing, or the same | nothing |
//! | [`AtLeast`](ResultKind::AtLeast) | whether so many match | the same | nothing |
//! | [`Sums`](ResultKind::Sums) | sums of the sender's numbers over the matches | nothing, or the same | numbers an item |

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
