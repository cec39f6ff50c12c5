//! Runs that are larger than one process, one connection or one memory.

pub mod parts;
pub(crate) mod spool;
