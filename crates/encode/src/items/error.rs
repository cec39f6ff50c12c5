//! Why the keys of a table cannot become items.

use thiserror::Error;

/// Why items could not be built. Rows are counted from 0; no variant holds a key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ItemsError {
    /// Row numbers and item numbers, with dummies, have 32 bits.
    #[error("more than {} rows in one run", u32::MAX)]
    TooManyRows,
    /// An integer item needs between 1 and 64 bits.
    #[error("native items of {sigma} bits are not possible: sigma must be 1 to 64")]
    Sigma {
        /// The width asked for.
        sigma: u32,
    },
    /// An integer is too large for the agreed width.
    #[error("row {row}: the value needs more than {sigma} bits")]
    ValueOutOfRange {
        /// The row, counted from 0.
        row: u64,
        /// The agreed width in bits.
        sigma: u32,
    },
    /// Two rows have the same key and duplicates are not allowed.
    #[error("rows {first} and {second} have the same key")]
    Duplicate {
        /// The first row of that key, counted from 0.
        first: u64,
        /// The first row that repeats a key.
        second: u64,
    },
    /// Padding can only add items.
    #[error("{items} items cannot be padded to {to}")]
    PadBelowSize {
        /// How many items there are.
        items: usize,
        /// The size asked for.
        to: usize,
    },
    /// Every integer is a possible item, so none is left for dummies.
    #[error("native items cannot be padded: every value is a possible key")]
    PadNative,
    /// A key has between 1 and 255 parts.
    #[error("a key has {parts} parts: it must have 1 to 255")]
    KeyParts {
        /// The number of parts given or asked for.
        parts: usize,
    },
    /// A part's length is written in 32 bits.
    #[error("a part of a key has more than {} bytes", u32::MAX)]
    PartTooLong,
    /// A digest was pushed where integers are collected, or the other way round.
    #[error("the items of this run have another encoding (a fault of the caller)")]
    WrongEncoding,
}
