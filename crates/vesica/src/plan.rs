//! What a run would take, before there is a partner.

pub mod catalogue;
mod cost;

pub use cost::*;
