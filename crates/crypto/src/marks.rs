//! Where certain bytes are in a text, as bits: what a parser looks for in all of a buffer at once.

use crate::backend::{Backend, marks};

/// Bytes of text to a word of marks.
pub const BLOCK: usize = 64;

/// Sets bit `j` of `marks[i][k]` if byte `j` of block `i` is `bytes[k]`, and clears it if not.
///
/// # Panics
/// If there are not as many rows of marks as blocks.
pub fn find<const N: usize>(text: &[[u8; BLOCK]], bytes: [u8; N], marks: &mut [[u64; N]]) {
    marks::find(Backend::detect(), text, bytes, marks);
}
