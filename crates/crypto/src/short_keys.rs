//! Copies short texts into blocks of 64 bytes, as a hash in lanes takes them, and classifies their bytes on
//! the way.

use vesica_kernels::{Backend, short_keys as kernels};

pub use kernels::{BLOCK, CharClasses};

/// Copies `texts[i]` into `blocks[i]` from byte `AT` on and sets the other bytes of the block to zero. With
/// `LOWER`, ASCII letters become lower case. Sets `classes[i]` to the classes of the text's bytes. A text
/// that does not fit counts as empty.
///
/// # Panics
/// If the lengths differ.
pub fn copy_to_blocks<const AT: usize, const LOWER: bool>(
    texts: &[&[u8]],
    blocks: &mut [[u8; BLOCK]],
    classes: &mut [CharClasses],
) {
    copy_to_blocks_on::<AT, LOWER>(Backend::detect(), texts, blocks, classes);
}

/// [`copy_to_blocks`] computed by `backend`.
///
/// # Panics
/// As [`copy_to_blocks`].
pub fn copy_to_blocks_on<const AT: usize, const LOWER: bool>(
    backend: Backend,
    texts: &[&[u8]],
    blocks: &mut [[u8; BLOCK]],
    classes: &mut [CharClasses],
) {
    kernels::copy_to_blocks::<AT, LOWER>(backend, texts, blocks, classes);
}
