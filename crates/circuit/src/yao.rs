//! Yao's protocol: the sender garbles, the receiver evaluates, and the garbled circuit streams between them.
//!
//! Both learn the outputs that are opened to them, and nothing else but the circuit and its sizes. Semi-honest; a
//! [restricted form](#against-malicious-parties) keeps inputs private against malicious parties too.
//!
//! **Sources:** Huang, Evans, Katz, *Private set intersection: Are garbled circuits better than custom protocols?*, NDSS
//! 2012, §2 (pipelined garbling, as in Huang, Evans, Katz, Malka, USENIX Security 2011) and §5.3.3 (a gate with a bit of
//! the generator). In place of four rows less one by row reduction, a gate is [two half gates](vesica_crypto::half_gates)
//! (Zahur, Rosulek, Evans 2014): two ciphertexts instead of three. The hash takes a new key for each half gate (eprint
//! 2019/1168), not SHA-1.
//!
//! ```text
//! receiver = evaluator                                           sender = garbler, Δ odd
//! input of the sender, bit x:                                    x·Δ is the label of zero, 0 that of x
//! input of the receiver, bit y:
//!    correlated OT: choice y             ── extension ──►
//!                                        ◄── y_j ──              Y, and Y ⊕ Δ as the other string
//! AND:                                   ◄── T_G, T_E ──         half gates; XOR, NOT and constants send nothing
//! AND with a bit of the sender:          ◄── T ──                a generator's half
//! open to the receiver:                  ◄── p ──                permute bits of the outputs
//! open to the sender:                    ── c ──►                lowest bits of the labels; value c ⊕ p
//! ```
//!
//! Opening to both sends both rows at once. An AND with a bit of the receiver is an input and an AND.
//!
//! **Constants and the sender's inputs are not sent** (HEK12 sends a label for each bit). The label that the evaluator
//! holds is 0, known to all, and it stands for the bit b: the garbler's label of zero is b·Δ. Only a random Δ, not a
//! random label, hides what a label stands for: given any labels that the evaluator holds, the tables are sums of
//! H(x, j) and H(x ⊕ Δ, j) ⊕ c·Δ. The hash is circular correlation robust for inputs x that an attacker chooses, each
//! under a number of its own, so these look random whatever c is. A permute bit is known only where an output is opened.
//!
//! Tables are sent as they are made and dropped as they are used, a batch of 256 gates at a time; neither party stores a
//! gate. Memory is that of the wires that the circuit itself keeps. The channel holds a garbler back that is ahead.
//!
//! # Against malicious parties
//!
//! [`Garbler::receiver_only`] and [`Evaluator::receiver_only`] take oblivious transfers that withstand malicious parties
//! (a bound on their type) and refuse to open anything to the sender. This is the form of HEK12 §2: privacy without
//! correctness.
//!
//! * **A malicious receiver** learns f(x, y) for one input y of its choice, as in the ideal protocol. It sends nothing but
//!   its side of the transfers, which are secure. It may choose later inputs after it has seen earlier tables: the
//!   permute bits of outputs, which give the tables their meaning, come after all inputs that they depend on.
//! * **A malicious sender** learns nothing about y from the protocol: it receives nothing but its side of the transfers,
//!   and evaluation never fails on the contents of a table or label.
//! * **Not guaranteed: correctness.** The sender may garble another circuit, or give wrong labels for some input bits. The
//!   receiver then takes a wrong output for a right one, and the error may depend on y (selective failure). So the
//!   privacy of y ends where the sender learns something about the output by any way: the receiver must not return it,
//!   publish it, ask again because of it, or end differently. That excludes a `ToBoth` opening, an audit whose refusal
//!   both see, and messages between gates that depend on opened values.
//! * **Not guaranteed: the size of the inputs' content.** Either party may enter any bits, as everywhere.
//!
//! | symbol | code |
//! |---|---|
//! | X, Y (garbler), the active label (evaluator) | [`Labels`] |
//! | Δ | `delta` |
//! | T_G, T_E, T | `tables` |
//! | ℓ, the level | `level`; `width` is ℓ/8 bytes |
//!
//! Cost in bytes: [`table_bytes`], [`private_table_bytes`], [`evaluator_input_bytes`] and the
//! extension's, [`opening_bytes`]; in computation: that of [`half_gates`](vesica_crypto::half_gates), and an OT for each
//! bit of the receiver.

mod common;
mod evaluator;
mod garbler;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
mod labels;

use vesica_crypto::hash;

pub use evaluator::Evaluator;
pub use garbler::Garbler;
pub use labels::Labels;

pub use crate::engine::Watch;
use crate::engine::{Opening, Party};
use crate::shares;

const GATES: hash::Label = hash::Label::new("yao: gates");
const INPUTS: hash::Label = hash::Label::new("yao: labels of inputs");

/// Bytes of a label.
const fn label_bytes(level: u32) -> usize {
    level.div_ceil(8) as usize
}

/// Bytes that the garbler sends for an AND gate.
#[must_use]
pub const fn table_bytes(level: u32) -> u64 {
    2 * private_table_bytes(level)
}

/// Bytes that the garbler sends for an AND gate one of whose inputs is a private bit of its own.
#[must_use]
pub const fn private_table_bytes(level: u32) -> u64 {
    label_bytes(level) as u64
}

/// Bytes that the garbler sends for so many input bits of the evaluator, the OT extension's aside (for one call of IKNP,
/// the evaluator sends [`iknp::bytes`](vesica_ot::iknp::bytes)).
#[must_use]
pub const fn evaluator_input_bytes(level: u32, bits: u64) -> u64 {
    private_table_bytes(level) * bits
}

/// Bytes that the receiver and the sender send to open so many bits in one call.
#[must_use]
pub fn opening_bytes(opening: Opening, bits: u64) -> [u64; 2] {
    [Party::Receiver, Party::Sender].map(|party| shares::opening_bytes(opening, party, bits))
}

#[cfg(test)]
mod tests;
