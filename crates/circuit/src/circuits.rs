//! Whole circuits: from the private inputs of both parties to wires that may be opened.
//!
//! | module | what it computes |
//! |---|---|
//! | [`aggregate`] | how many matches there are, whether they are enough, and the sum of their values |
//! | [`bitwise_and`] | which numbers of a small domain both parties have |
//! | [`pairwise`] | which items are equal, by comparing each pair |
//! | [`phasing`] | whether the receiver's item of each bin is one of the sender's in that bin |
//! | [`sort_compare_shuffle`] | the items that both have, by merging sorted lists |

use std::ops::Range;

use crate::bits::Bits;
use crate::engine::Input;
use crate::wires::Wires;

pub mod aggregate;
pub mod bitwise_and;
pub mod pairwise;
pub mod phasing;
pub mod sort_compare_shuffle;

/// A range of all rows of an input; `bits` holds them if they are known.
fn part<'a>(input: Input<'_>, range: Range<usize>, bits: &'a mut Vec<Bits>) -> Input<'a> {
    match input {
        Input::Known(rows) => {
            *bits = rows.iter().map(|row| row.slice(range.clone())).collect();
            Input::Known(bits)
        }
        Input::Hidden { rows, .. } => Input::Hidden { rows, len: range.len() },
    }
}
