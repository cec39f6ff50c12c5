//! Bloom filters and garbled Bloom filters, in slices and bins (DCW13 §4.1, §6.4).
//!
//! A Bloom filter of k hash functions is k *slices* of s slots, and hash function i chooses a slot of slice i. The k
//! positions of an item are therefore always different: the set {h_i(x)} is the list. With functions over all m slots, as
//! DCW13 writes them, two equal positions of one item cancel in an XOR over them and overwrite one another in its
//! Algorithm 1. The bounds do not suffer, they become exact: slices are independent, so the probability that all k
//! positions of a foreign item are taken is (1 - (1 - 1/s)^n)^k to the letter ([`FilterShape`] has the program). And work can go
//! slice by slice, over a slice that fits a cache, where one function over the whole filter goes to memory each time.
//!
//! Large sets are split into *bins* by a hash of the item, each bin a filter of its own (DCW13 §6.4), for the same reason.
//! A bin has as many slots as any other, whatever it holds: a filter that holds more than its share does not overflow, it
//! is a little less selective, and [`FilterShape`] counts that.
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
pub use shape::FilterShape;

#[cfg(test)]
mod tests;
