//! Protocols from public-key operations on every item.

pub mod blind_rsa;
pub mod dh;
pub mod dh_ffc;
pub mod dkt10;
pub mod dt10_dl;
pub mod ope;
mod proofs;
mod steps;
pub mod voprf;
