//! The layout of a block, and views of blocks as bytes, which rely on it.

use core::slice;

/// 128 bits, little-endian, aligned to 16 bytes.
#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
pub struct Block(pub(crate) [u8; 16]);

impl Block {
    /// The bytes of `blocks`, in place.
    #[inline]
    #[must_use]
    pub fn slice_as_bytes(blocks: &[Self]) -> &[u8] {
        // SAFETY: `Block` is `repr(C)` around sixteen bytes without padding, and bytes have no alignment.
        unsafe { slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
    }

    /// The bytes of `blocks`, in place and writable.
    #[inline]
    pub fn slice_as_mut_bytes(blocks: &mut [Self]) -> &mut [u8] {
        // SAFETY: as above; every byte pattern is a valid `Block`, and the exclusive borrow passes to the
        // result.
        unsafe { slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), size_of_val(blocks)) }
    }
}
