//! Protocols that protect nothing or were broken. They are here for comparison with the others and for the attacks on
//! them, and run only with `--allow-insecure`.
//!
//! The program and the facade have them with the feature `exhibits`. Releases leave them out.

#![forbid(unsafe_code)]

pub mod dcw13_malicious;
pub mod naive_hash;
pub mod shamir;
pub mod wide_block;

use vesica_protocols::registry::Entry;

/// The exhibits, in the order of the tables.
pub static PROTOCOLS: &[&Entry] = &[&dcw13_malicious::ENTRY, &naive_hash::ENTRY];
