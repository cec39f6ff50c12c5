//! Bloom filters and garbled Bloom filters, in slices and bins (DCW13 §4.1, §6.4).
//!
//! A Bloom filter of k hash functions has k *slices* of s slots, and hash function i chooses a slot of slice
//! i. So the k positions of an item are always different. In DCW13 each function covers all m slots. Two
//! equal positions of one item then cancel in an XOR over them, and overwrite one another in Algorithm 1.
//! Slices make the bounds exact: they are independent, so the probability that all k positions of a foreign
//! item are taken is exactly (1 - (1 - 1/s)^n)^k ([`FilterShape`] has the program). Work can also go slice by
//! slice, and a slice fits a cache; a function over the whole filter would access memory each time.
//!
//! For the same reason, large sets are split into *bins* by a hash of the item, and each bin is a filter of
//! its own (DCW13 §6.4). All bins have equally many slots, whatever they hold. A filter with more items than
//! its share does not overflow; it is a little less selective, and [`FilterShape`] counts that.
//!
//! | type | what it is |
//! |---|---|
//! | [`FilterShape`] | hash functions, bins, slots of a slice: agreed, from public sizes |
//! | [`FilterPositions`], [`Bin`] | one party's items by bin, and their positions |
//! | [`choices`] | a slice of the Bloom filter, as a string of bits |
//! | [`garble`] | the garbled Bloom filter of a bin, slice by slice |
//! | [`Sums`] | for every item of a bin the XOR of the strings at its positions |

mod filter;
mod garbled;
mod positions;
mod shape;

pub use filter::{Sums, choices};
pub use garbled::{NoFreeSlot, garble};
pub use positions::{Bin, FilterPositions, SLICES_PER_BLOCK};
pub use shape::{FilterShape, power};

#[cfg(test)]
mod tests;
