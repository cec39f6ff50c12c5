//! Tests that hold for every protocol, as functions over a list of them: this crate runs them over its registry,
//! a crate with protocols of its own over its list. Each function has the name of its test.
#![expect(clippy::panic, reason = "a test stops where something is not as it must be")]
#![allow(missing_docs, reason = "a test's name says what it holds")]

pub mod all_protocols;
pub mod formulas;
pub mod progress;
pub mod tamper;
pub mod wire_digest;
