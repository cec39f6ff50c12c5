//! Hashing to bins: equal items of two parties meet in the same bin, so only items that share a bin have to
//! be compared.
//!
//! | module | what it makes |
//! |---|---|
//! | [`bins`] | the bins that each item may go to, the same for both parties |
//! | [`permutation`] | the same for short items; a bin then stores a shorter remainder of each |
//! | [`simple`] | every item in all of its bins: the sender's table |
//! | [`balanced`] | every item in the emptiest of its bins: a receiver's table whose bins are padded |
//! | [`blocked`] | every item in one of its bins, at most so many a bin: smaller padded bins |
//! | [`cuckoo`] | every item in one of its bins, one item a bin: the receiver's table |
//! | [`partitioned`] | keys partitioned by regions of bins |
//! | [`parameters`] | how many bins, how large a stash, how full a bin: derived, with a failure of at most 2^-40 |
//!
//! **Segments.** Function i of h maps to a segment of its own, the bins i·m to (i + 1)·m - 1 of β = h·m. The
//! papers let all functions share one table. With segments an item never meets itself. It has h different
//! bins, and always h entries on the simple side, so the number of entries tells nothing about it, and no
//! value is compared twice. A bin also determines the function that leads to it. So two items never look
//! equal because different functions put them into one bin, which is the flaw of permutation-based hashing
//! that Lambæk found (eprint 2016/665). The analysis of Kirsch, Mitzenmacher, Wieder (SIAM J. Comput. 39,
//! 2009) is for this form; [`parameters`] bounds its failures for any h.

pub mod balanced;
pub mod bins;
pub mod blocked;
pub mod cuckoo;
pub mod parameters;
pub mod partitioned;
pub mod permutation;
pub mod simple;

pub use bins::{Digests, ItemBins, Layout};
pub use permutation::{BinAssignments, Permutation};
