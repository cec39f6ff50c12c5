//! Gadgets: small circuits on numbers of σ bits, computed for a row of instances at once.
//!
//! | module | what it computes |
//! |---|---|
//! | [`equality`] | whether all bits are set, and whether two numbers are equal |

pub mod equality;
