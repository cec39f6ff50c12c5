//! Protocols from public-key operations on every item.

pub mod dh;
