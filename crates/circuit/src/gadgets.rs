//! Gadgets: small circuits on numbers of σ bits, computed for a row of instances at once.
//!
//! | module | what it computes |
//! |---|---|
//! | [`equality`] | whether all bits are set, and whether two numbers are equal |
//! | [`greater_than`] | which of two numbers is the greater, with few gates |
//! | [`comparison_tree`] | the same, in few layers |
//! | [`select`] | multiplexer, conditional swap, 2-sorter, duplicate selection |
//! | [`adder`] | full adder, sums, sums with a private mask |
//! | [`counter`] | how many of many bits are one, and whether that is more than a limit |

pub mod adder;
pub mod comparison_tree;
pub mod counter;
pub mod equality;
pub mod greater_than;
pub mod select;
