//! Protocols on Bloom filters and oblivious transfer.

pub mod dcw13;
mod extension;
pub mod random_gbf;
mod transfer;
