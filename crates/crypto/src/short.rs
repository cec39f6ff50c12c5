//! Short texts in blocks of 64 bytes, as a hash in lanes takes them, looked at on the way: many at a time, without a
//! branch a byte.

use crate::backend::{Backend, short};

/// Bytes of a block.
pub const BLOCK: usize = 64;

/// What the bytes of a text are: bit `j` of each word stands for byte `j`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    /// Visible ASCII characters, `!` to `~`.
    pub visible: u64,
    /// ASCII digits.
    pub digits: u64,
    /// `@`.
    pub ats: u64,
    /// Bytes outside of ASCII.
    pub beyond_ascii: u64,
}

/// Sets `blocks[i]` to `texts[i]` from byte `AT` on, with ASCII letters in lower case if `LOWER`, and zeros elsewhere, and
/// `kinds[i]` to what the bytes of the text are. A text for which there is no room counts as empty.
///
/// # Panics
/// If the lengths differ.
pub fn place<const AT: usize, const LOWER: bool>(
    texts: &[&[u8]],
    blocks: &mut [[u8; BLOCK]],
    kinds: &mut [Kinds],
) {
    short::place::<AT, LOWER>(Backend::detect(), texts, blocks, kinds);
}
