//! The benchmark harness: one cell, played by two real processes, or three with a helper, and measured.
//!
//! A [`cell`] is a protocol with its parameters, sizes and network. [`harness`] starts the parties, [`party`] plays one
//! of them, and [`describe`] tells what a cell costs before it is run. The tables of papers, the records and the pages are
//! made of cells by `benchmarks/run.py`.
//!
//! **What the clock covers:** from items in memory to matches. Base OTs, hashing and the final join are inside; reading a
//! table, connecting and the TLS handshake are not. Wall time is the receiver's, since the receiver ends last if the sender
//! learns nothing. CPU time is that of both processes, peak memory that of each one, its items included.

#![forbid(unsafe_code)]

pub mod cell;
pub mod describe;
mod error;
pub mod harness;
pub mod party;

pub use error::BenchError;
