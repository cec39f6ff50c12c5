//! The conversation around a protocol: terms, sizes and session id before it, digests and DONE after it.
//!
//! ```text
//!   hello (crates/net)                 magic, version, nonces, echoed
//!   u8 0 · u16 length · terms ◄──►     compared on both sides ([`crate::terms`])
//!   u64 set size, padded      ◄──►     compared with both sides' limits
//!   (u64 start · u8 · version)         where the keys are known: what each side tells of itself, which both sign at the end
//!   u32 parts needed, u32 for  ◄──►    the larger number is taken, if both accept it; where none needs several, the smaller
//!   the cores                          number for the cores; more than one: see [`crate::parts`]
//!   (DONE "declined")                  in place of the protocol, from a side without enough memory
//!   the protocol's messages
//!   DONE: digests, count,     ◄──►     what I sent is what you received, and the other way round; the signature, where the keys
//!   (signature)                        are known, is of the [receipt](crate::receipt)
//! ```
//!
//! If only the receiver learns the result, it looks for its matches and their rows after DONE. So the time of DONE tells the
//! sender nothing about them. A protocol that joins lists while they arrive has found the matches by then, but not the rows.
//!
//! The session id hashes the TLS exporter, both hellos, both public keys, the roles and the terms, the receiver's first. So
//! both sides compute the same one, and no message of another session fits. The protocol's context is
//! H(sid, name, parameters, n_r, n_s).

mod agree;
mod agreed;
pub(crate) mod base_ots;
pub(crate) mod card;
mod confirm;
pub(crate) mod conversation;
pub(crate) mod deadline;
mod error;
mod explain;
pub mod helper;
pub(crate) mod helper_link;
mod hints;
mod kind;
pub(crate) mod links;
pub(crate) mod local_state;
pub(crate) mod met;
pub mod partner;
mod progress;
pub(crate) mod reporter;
pub(crate) mod run_ledger;
pub(crate) mod signing;
pub(crate) mod strangers;

pub use agree::{agree, agree_greeted, greeting};
pub use agreed::{Agreed, Workers};
pub(crate) use confirm::exchange_digests;
pub use confirm::{Confirmation, confirm_helper};
pub use error::SessionError;
pub(crate) use kind::{PART, RUN, TAKEN_UP};
