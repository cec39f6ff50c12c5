//! Boolean circuits as text, and the engines that run them.
//!
//! A circuit is a function that is generic over its [`Engine`]: it takes wires, calls the engine for each
//! gate, and returns wires. The same text runs in the clear (`clear`), is counted ([`count`]), or is
//! computed by two parties who see neither each other's inputs nor a value on a wire. No circuit is ever
//! stored: an engine forgets a gate when it has computed it.
//!
//! | module | what it is |
//! |---|---|
//! | [`engine`] | the trait that a circuit is written for, with inputs and outputs |
//! | [`bits`] | packed bits: one bit of many values, the wires of `clear` |
//! | [`gadgets`] | small circuits, such as comparisons, from which others are built |
//! | [`networks`] | 2-sorters that merge and sort |
//! | [`shuffle`] | a secret permutation |
//! | [`circuits`] | whole circuits, from inputs to outputs |
//! | `clear` | the engine that computes in the clear, for tests |
//! | [`count`] | the engine that counts gates and depth |
//! | [`gmw`] | two parties, shared bits: a message for each layer of gates |
//! | [`yao`] | Yao's protocol: one party garbles, the other evaluates, nothing is stored |
//!
//! Wires come in rows: a [`Wires`] is one bit of many instances, and a number of σ bits is σ rows, lowest
//! first. A gate acts on whole rows, so independent instances of a gadget are computed together.

#![forbid(unsafe_code)]

pub mod bits;
pub mod circuits;
#[cfg(any(test, feature = "testing"))]
pub mod clear;
pub mod count;
pub mod engine;
mod error;
pub mod gadgets;
pub mod gmw;
pub mod networks;
mod pieces;
mod shares;
pub mod shuffle;
mod wires;
pub mod yao;

pub use bits::Bits;
pub use engine::{Engine, Input, Opening, Party, Watch};
pub use error::Error;
pub use wires::Wires;
