//! Protocols from vector oblivious linear evaluation.

pub mod rr22;
