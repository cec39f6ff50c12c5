//! Silent vector oblivious linear evaluation: C = B + Δ·A, from a few hundred kilobytes.
//!
//! The *sender* chooses Δ in F = GF(2^128) and gets a vector B over F; the *receiver* gets a random vector A
//! over the value field, GF(2^128) or GF(2^64), and C over F, with C_i = B_i + Δ·A_i. A type parameter says
//! which security a run has: [`SemiHonest`](crate::security::SemiHonest) or
//! [`Malicious`](crate::security::Malicious), with the check below. In a protocol for set intersection the
//! party that learns the intersection is the receiver here.
//!
//! Sources: Boyle, Couteau, Gilboa, Ishai, Kohl, Rindal, Scholl, *Efficient two-round OT extension and silent
//! non-interactive secure computation* (eprint 2019/1159), sections 3 to 5 (dual LPN, regular noise,
//! puncturable PRF); Guo and others, *Half-Tree* (eprint 2022/1431); Roy, *SoftSpokenOT* (eprint 2022/192)
//! for the correlations that the trees start from; [`codes`] for the codes.
//!
//! ```text
//! receiver (A, C)                                       sender (B)
//!                                                   ◄─  1. its part of 128 base OTs, choice bits Δ
//! noise: in each of t blocks one point α_i, one value β_i
//! 2. its part of the base OTs; small-field VOLE;
//!    corrections for correlated OTs with choices
//!    ¬α_i by bits, and for t VOLEs of β_i           ─►
//! A = G·a, a zero but for β_i at α_i (or after 4)       multi-point PPRF: all leaves b
//!                                                   ◄─  3. correction words; final corrections γ_i + Σ leaves
//! all leaves but α_i; there leaf + Δ·β_i                (γ_i, δ_i the VOLEs: δ_i = γ_i + Δ·β_i)
//! c = b + Δ·a position by position                      B = G·b
//! [4. challenge                                     ─►
//!                                                   ◄─  5. reply]        malicious: the check
//! C = G·c
//! ```
//!
//! **Flight 2 goes in two parts.** After the first one, base OTs and trees, both sides expand the same strings of the
//! small-field VOLE at the same time. The sender reads both parts before a failed check ends the run: how much it has
//! read does not tell a receiver that cheats which check failed.
//!
//! **Order.** What must come first is a type that the next step consumes: [`sender::Opened`],
//! [`sender::Prepared`], [`sender::Answered`], [`sender::Checked`] and [`receiver::Begun`],
//! [`receiver::Answered`], [`receiver::Challenged`], [`receiver::Checked`]. Only a checked party can expand; this
//! does not compile:
//!
//! ```compile_fail
//! use vesica_ot::security::Malicious;
//! use vesica_ot::vole::sender::{Answered, Expanded};
//!
//! fn unchecked(sender: Answered<Malicious>) -> Expanded {
//!     sender.accept().expand()
//! }
//! ```
//!
//! With `SemiHonest` it does:
//!
//! ```
//! # use vesica_ot::security::SemiHonest;
//! # use vesica_ot::vole::sender::{Answered, Expanded};
//! fn with_nothing_to_check(sender: Answered<SemiHonest>) -> Expanded {
//!     sender.accept().expand()
//! }
//! ```
//!
//! **Points are uniform in each block**: the bits of the path are chosen and not what the correlated OTs
//! happen to give, since blocks are not a power of two long. The weight is exactly t.
//!
//! **Values that are bits** make correlated OT: A are the choices, C = B + Δ·A the rows. The noise value is 1
//! then, and takes no VOLE.
//!
//! **Short vectors** are the VOLEs themselves, without LPN: [`Plan`] says from where on. **Long vectors** are
//! made in equal pieces under the same Δ and code.
//!
//! **Parameters** are derived in [`parameters`].
//!
//! **Constant time** in Δ, points, values and all leaves. The code, its permutations, and all lengths are
//! public.
//!
//! Names: `noise` N, `weight` t, `point` α, `value` β. Cost: see [`Plan`].

#[cfg(any(test, feature = "testing"))]
pub mod cheating;
mod check;
pub mod codes;
pub mod in_pieces;
mod multi_point;
pub mod parameters;
mod pieces;
mod plan;
pub mod receiver;
pub mod sender;
mod session;
mod value;

pub use plan::{Plan, WIDTH};
pub use session::{Check, answer, challenge, open, receive, receive_flight2, respond, send, take_reply};
pub use value::{Bit, CheckedValue, Covers, Value};

#[cfg(test)]
mod tests;
