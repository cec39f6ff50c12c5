//! How a set becomes a table, a filter or a vector.
//!
//! [`items`] is where every run starts: the keys of a table become distinct fixed-width items that remember
//! their rows. [`hashing`] puts them into bins, so that only what shares a bin has to be compared; [`bloom`]
//! has the filters, [`okvs`] the linear tables that map keys to values, [`sorted`] the short form of sorted masks,
//! [`radix`] what sorts them, [`packed`] numbers side by side, [`parts`] sets that are split for a run in many
//! small ones.

#![forbid(unsafe_code)]

pub mod bloom;
pub mod hashing;
pub mod items;
pub mod okvs;
pub mod packed;
pub mod radix;
pub mod sorted;

pub use items::parts;
