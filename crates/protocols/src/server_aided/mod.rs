//! Protocols in which a third process, the helper, does the comparing.

pub mod kmrs14;
