//! Whole runs inside one process: terms, sizes, protocol, confirmation, rows. It is one test program, so that what the
//! tests are built from is linked once: `cargo test --test runs lying_wire::` runs the tests of one file.

mod base_ots;
mod cheating_sender;
mod closes_first;
mod confirmation;
mod lying_wire;
mod memory_tables;
