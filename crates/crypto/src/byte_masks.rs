//! Finds certain bytes in a text: a bit mask for each 64 bytes, as parsers use them.

use crate::backend::{Backend, byte_masks as kernels};

pub use kernels::BLOCK;

/// Sets bit `j` of `masks[i][k]` if byte `j` of block `i` is `bytes[k]`, and clears it if not.
///
/// # Panics
/// If the numbers of blocks and of rows of masks differ.
pub fn byte_masks<const N: usize>(text: &[[u8; BLOCK]], bytes: [u8; N], masks: &mut [[u64; N]]) {
    kernels::find(Backend::detect(), text, bytes, masks);
}
