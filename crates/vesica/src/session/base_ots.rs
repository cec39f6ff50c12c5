//! The file of kept base OTs.

pub(crate) mod file;
mod replacement;
