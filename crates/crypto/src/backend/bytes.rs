//! Views of blocks as bytes.

use core::slice;

use crate::block::Block;

/// The bytes of `blocks`.
#[inline]
pub(crate) fn of_blocks(blocks: &[Block]) -> &[u8] {
    // SAFETY: `Block` is `repr(C)` around sixteen bytes without padding, and bytes have no alignment.
    unsafe { slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
}

/// The bytes of `blocks`, writable.
#[inline]
pub(crate) fn of_blocks_mut(blocks: &mut [Block]) -> &mut [u8] {
    // SAFETY: as above; every byte pattern is a valid `Block`, and the exclusive borrow passes to the result.
    unsafe { slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), size_of_val(blocks)) }
}
