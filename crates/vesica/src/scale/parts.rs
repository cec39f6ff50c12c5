//! A run in several parts: both sets are split by a keyed hash, and each pair of parts is a run of the protocol of its own.
//! The run succeeds only if all parts do.
//!
//! ```text
//!   hello, terms, sizes, parts          as in every run ([`crate::session`]); B is what both agree on
//!                                       (module `words::parts::questions`)
//!   u8 names · u16 parts at once · 32 commitment to a coin    ◄──►   names: 1 for an engine, whose parts come by number
//!   32 coin · 32 run key                                      ◄──►   opened, compared with the commitment
//!   rounds, until every part is done, at most four of each part:
//!     u16 round · bitmap of the parts to play                 ◄──►   all that are missing; equal on both sides
//!     …each part on a connection of its own ([`part`])
//!     u32 count · count × (u32 part · 32 receipt)             ◄──►   the receipts that this side holds
//!   32 root · u64 matches, where both sides learn them        ◄──►   equal on both sides
//!   DONE: digests                                             ◄──►
//! ```
//!
//! From the rounds on, this connection may break and is made again (module `line`), but for parts that are there for the
//! cores alone.
//!
//! | name | value |
//! | --- | --- |
//! | commitment | H("vesica parts coin v2", role, coin) |
//! | J, the job | H("vesica job v2", sid, n_r, n_s, B, coin_r, coin_s) |
//! | k, the key of the split | H("vesica part items v2", J) |
//! | tag of the connections | H("vesica part tag v2", J) |
//! | A, the run in its attempts | H("vesica part attempts v2", J) |
//! | sid of an attempt at a part | H("vesica part v2", TLS exporter, both nonces, A, part, M_r, M_s) |
//! | receipt of an attempt | H("vesica receipt v2", sid of the attempt, digest r→s, digest s→r, matches or 2^64-1) |
//! | root | H("vesica job root v2", J, the chosen receipts in the order of the parts) |
//!
//! H is BLAKE3 in its mode for deriving keys; the receiver's fields stand first, and all have a fixed width.
//!
//! **All or nothing.** A part is done if both lists have a receipt in common; the first one of the receiver's list is chosen.
//! A receipt is the same on both sides only if both saw the same attempt. The receiver looks for its matches after DONE of
//! the whole run, so no time between two parts tells how many there are.
//!
//! **A set on disk** (module `scale::spool`) has those parts in memory that are played. The receiver then looks for the matches of each part
//! before the next one begins, so the time between two parts may tell roughly how many keys of a part match.
//!
//! **Keys.** The parts' connections show keys made for this run, which both sides exchange on its connection. The items are
//! fixed before the coins are, so nobody can choose items that fall into one part ([`vesica_encode::parts`]).

mod attempts;
pub mod engine;
mod lanes;
mod line;
mod options;
mod part;
mod partitioned;
mod rounds;
mod run;
mod set;
#[cfg(feature = "testing")]
pub mod testing;
mod toss;

pub use crate::words::parts::{Asked, MOST, Parts, PartsError, sizes};
pub(crate) use options::PlayOptions;
pub(crate) use run::play;
pub(crate) use set::{KeySet, Selected};

#[cfg(test)]
mod tests;
