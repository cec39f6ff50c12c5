//! Whole circuits: from the private inputs of both parties to wires that may be opened.
//!
//! | module | what it computes |
//! |---|---|
//! | [`phasing`] | whether the receiver's item of each bin is one of the sender's in that bin |

pub mod phasing;
