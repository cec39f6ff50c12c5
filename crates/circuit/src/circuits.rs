//! Whole circuits: from the private inputs of both parties to wires that may be opened.
//!
//! | module | what it computes |
//! |---|---|
//! | [`aggregate`] | how many matches there are, whether they are enough, and the sum of their values |
//! | [`bitwise_and`] | which numbers of a small domain both parties have |
//! | [`pairwise`] | which items are equal, by comparing each pair |
//! | [`phasing`] | whether the receiver's item of each bin is one of the sender's in that bin |
//! | [`sort_compare_shuffle`] | the items that both have, by merging sorted lists |

pub mod aggregate;
pub mod bitwise_and;
pub mod pairwise;
pub mod phasing;
pub mod sort_compare_shuffle;
