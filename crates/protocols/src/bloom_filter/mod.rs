//! Protocols on Bloom filters and oblivious transfer.

pub mod dcw13;
mod extension;
pub mod random_gbf;
pub mod rr16;
mod transfer;
