//! Oblivious transfer, its extensions, and vector oblivious linear evaluation.
//!
//! | module | what it is | source | security |
//! |---|---|---|---|
//! | [`base`] | a few hundred OTs from public-key operations | Masny, Rindal; Naor, Pinkas | either; semi-honest |
//! | [`reversed`] | base OTs in the other direction, from an extension | – | that of its extension |
//! | [`iknp`] | correlated OT, κ bits an OT | IKNP03, ALSZ13 | semi-honest |
//! | [`kos`] | correlated OT, 128 bits an OT, for comparison with RR16 | KOS15 | malicious; see there |
//! | [`softspoken`] | correlated OT, 128/k bits an OT | Roy22 | either |
//! | [`silent`] | correlated OT, well below a bit an OT | as `vole` | either |
//! | [`random`] | random OT from any correlated OT | IKNP03 | that of its rows |
//! | [`chosen`] | OT of chosen or correlated strings | IKNP03, ALSZ13 | that of its rows |
//! | [`additive`] | shares of sums of bits times numbers | Gilboa99, ALSZ13 | semi-honest |
//! | [`kk13`] | 1-out-of-256 OT | KK13 | semi-honest |
//! | [`kkrt`] | 1-out-of-∞ OT, a batched OPRF | KKRT16 | semi-honest |
//! | [`vole`] | silent vector OLE | BCGIKRS19, Half-Tree | either |
//!
//! Every extension to correlated OT implements [`CotSender`] and [`CotReceiver`], so that one can replace
//! another. The traits name the security of the implementation as a type ([`security`]).
//!
//! Three modules are parts of these: [`nco`] is the code-based OT extension that [`kk13`] and [`kkrt`]
//! instantiate, [`small_field`] the vector OLE over small fields below [`softspoken`], [`pprf`] the
//! puncturable functions below [`small_field`] and [`vole`].

#![forbid(unsafe_code)]

pub mod additive;
pub mod base;
pub mod chosen;
mod consistency;
mod cot;
mod derandomized;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
pub mod iknp;
pub mod kk13;
pub mod kkrt;
pub mod kos;
pub mod nco;
pub mod pprf;
pub mod random;
pub mod reversed;
pub mod security;
mod seed;
pub mod silent;
pub mod small_field;
pub mod softspoken;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod vole;

pub use cot::{CotReceiver, CotSender};
pub use error::Error;
pub use seed::Seed;
