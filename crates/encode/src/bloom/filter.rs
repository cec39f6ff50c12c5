//! A slice of a Bloom filter, and sums of the strings of a slice.

use vesica_crypto::block::Block;

/// Sets the bits `first + slot` of `bits`, lowest bit of the first byte first. `bits` is a part of a Bloom
/// filter, and `slots` are the slots of one slice.
///
/// # Panics
/// If a bit lies outside of `bits`.
pub fn choices(first: usize, slots: &[u32], bits: &mut [u8]) {
    for &slot in slots {
        let bit = first + slot as usize;
        bits[bit / 8] |= 1 << (bit % 8);
    }
}

/// For each item of a bin the XOR of strings at its positions, slice after slice.
pub struct Sums<'a, const W: usize>(pub &'a mut [[Block; W]]);

impl<const W: usize> Sums<'_, W> {
    /// Adds each item's string of this slice.
    ///
    /// # Panics
    /// If the numbers of slots and items differ, or a slot lies outside of the slice.
    pub fn add(&mut self, slice: &[[Block; W]], slots: &[u32]) {
        assert_eq!(self.0.len(), slots.len(), "one slot for each item");
        for (sum, &slot) in self.0.iter_mut().zip(slots) {
            let string = &slice[slot as usize];
            for (sum, string) in sum.iter_mut().zip(string) {
                *sum ^= *string;
            }
        }
    }
}
