//! The benchmark harness: the papers' tables as data, cells that two real processes run, and the report.
//!
//! ```text
//! benchmarks/definitions/<paper>/<table>.toml   what is measured, and the paper's own figures   ([`definition`])
//!         │  the small ones first, within budgets of time and memory                            ([`schedule`])
//!         │  one process a party, loopback or a shaped network, result checked                  ([`harness`], [`party`])
//!         ▼
//! benchmarks/record/<date>-<machine>/<table>.csv   a line for each run                          ([`record`])
//!         │
//!         ▼
//! docs/benchmarks.md, docs/benchmarks/<paper>.md   paper's figure, ours, the ratio                ([`report`])
//! benchmarks/record/<date>-<machine>/figures.csv   the same with the spread; `make plots` draws it
//! benchmarks/record/<date>-<machine>/cells.csv     the times that `vesica plan` starts from
//! ```
//!
//! **What the clock covers:** from items in memory to matches. Base OTs, hashing and the final join are inside; reading a
//! table, connecting and the TLS handshake are not. Wall time is the receiver's, since the receiver ends last if the sender
//! learns nothing. CPU time is that of both processes, peak memory that of each one, its items included.

#![forbid(unsafe_code)]

pub mod blocks;
pub mod cell;
pub mod definition;
mod error;
pub mod harness;
pub mod measure;
pub mod party;
pub mod program;
pub mod record;
pub mod report;
pub mod schedule;

pub use error::BenchError;
