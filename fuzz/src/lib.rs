//! Fuzz targets: plain functions over bytes, one for everything that reads bytes of a peer or a file.
//!
//! A target returns for all bytes. It panics if the code that it calls panics, or if that code breaks a rule (bytes that
//! decode must encode to the same bytes again). Two programs run the same [`targets`]. `tests/corpus.rs` runs them in every
//! test run, over the corpus and a fixed number of mutations of it. The driver in `libfuzzer/` runs them guided by
//! coverage, for a given time (`make fuzz-smoke`). Findings of either go into `corpus/`.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a target panics where something is wrong"
)]

mod base;
mod helped;
pub mod mutate;
mod parsers;
mod parts;
mod roles;
mod seeds;
mod spill;
mod tables;

use rand::rngs::StdRng;

pub use vesica_table::decoding;

/// A function over bytes.
pub type Run = Box<dyn Fn(&[u8]) + Send + Sync>;

/// A reader of bytes.
pub struct Target {
    /// The name of its folder in the corpus.
    pub name: String,
    /// Reads the bytes.
    pub run: Run,
    /// Inputs to start with, in addition to the corpus.
    pub seeds: Vec<Vec<u8>>,
    /// Mutates an input, with or without regard to its structure.
    pub mutate: fn(&mut Vec<u8>, &mut StdRng),
    /// How many mutated inputs a test run tries.
    pub tries: usize,
}

impl Target {
    fn new(
        name: impl Into<String>,
        run: impl Fn(&[u8]) + Send + Sync + 'static,
        seeds: Vec<Vec<u8>>,
        tries: usize,
    ) -> Self {
        Target { name: name.into(), run: Box::new(run), seeds, mutate: mutate::bytes, tries }
    }
}

/// All targets. Those of the protocols come from the registry.
pub fn targets() -> Vec<Target> {
    let parsers = parsers::targets().into_iter().chain(parts::targets()).chain(tables::targets());
    parsers
        .chain(base::targets().chain([spill::target()]))
        .chain(roles::targets())
        .chain(helped::targets())
        .collect()
}
