//! Finds certain bytes in a text: a bit mask for each 64 bytes, as parsers use them.

use vesica_kernels::{Backend, byte_masks as kernels};

pub use kernels::BLOCK;

/// Sets bit `j` of `masks[i][k]` if byte `j` of block `i` is `bytes[k]`, and clears it if not.
///
/// # Panics
/// If the numbers of blocks and of rows of masks differ.
pub fn byte_masks<const N: usize>(text: &[[u8; BLOCK]], bytes: [u8; N], masks: &mut [[u64; N]]) {
    byte_masks_on(Backend::detect(), text, bytes, masks);
}

/// [`byte_masks`] computed by `backend`.
///
/// # Panics
/// As [`byte_masks`].
pub fn byte_masks_on<const N: usize>(
    backend: Backend,
    text: &[[u8; BLOCK]],
    bytes: [u8; N],
    masks: &mut [[u64; N]],
) {
    kernels::find(backend, text, bytes, masks);
}
