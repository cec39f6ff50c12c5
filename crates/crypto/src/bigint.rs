//! Batches of residues modulo large odd numbers: the arithmetic of RSA, of Paillier and of the multiplicative
//! groups modulo a prime.
//!
//! A [`Modulus`] computes on [`Residues`], many numbers at a time. It carries the [`Backend`] that computes; all
//! back ends give the same numbers. [`FixedBase`] raises one base to many exponents. [`Crt`] splits residues
//! modulo n = p·q and joins them again. [`prime`] draws primes, [`modp`] has those of the
//! standard groups, and [`RsaKey`] is an RSA key with its factors.
//!
//! Everything is constant time in residues, in the value of a modulus and in exponents, whose length is public,
//! unless its name says `vartime_`. Prime generation takes as long as it takes to find a prime.
//!
//! Numbers are [`BoxedUint`]s of the `crypto-bigint` library where they stand alone. Inversion, division and the
//! portable exponentiation are that library's. It does not wipe the copies it makes on the way, nor the constants
//! it keeps for a modulus; what this module keeps is wiped.
//!
//! No function here starts a thread: the caller splits its batch with [`par`](crate::par).

mod crt;
mod error;
mod exponent;
mod fixed_base;
mod lanes;
pub mod modp;
mod modulus;
pub mod prime;
mod residues;
mod rsa;

#[allow(unused_imports, reason = "named in the docs")]
use vesica_kernels::Backend;

pub use crypto_bigint::BoxedUint;

pub use crt::Crt;
pub use error::{InvalidModulus, InvalidResidue, WrongSignature};
pub use exponent::Exponent;
pub use fixed_base::FixedBase;
pub use modulus::Modulus;
pub use residues::{Residue, Residues};
pub use rsa::{RsaKey, RsaPublicKey};

#[cfg(test)]
mod tests;
