//! Fuzz targets: everything that reads bytes which a peer or a file supplies, as plain functions over bytes.
//!
//! A target returns, whatever the bytes are. It panics where something is wrong: in the code that it calls, or in what
//! that code must keep (what decodes encodes to the same bytes again). Two programs run the same [`targets`]:
//! `tests/corpus.rs` over the corpus and over mutations of it, a fixed number of them, in every test run; and the driver in
//! `libfuzzer/`, guided by coverage, for as long as it is given (`make fuzz-smoke`). What either finds goes into `corpus/`.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a target panics where something is wrong"
)]

mod base;
pub mod mutate;
mod parsers;
mod roles;
mod seeds;
mod tables;

use rand::rngs::StdRng;

pub use vesica_table::decoding;

/// A function over bytes.
pub type Run = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Something that reads bytes.
pub struct Target {
    /// The name of its folder in the corpus.
    pub name: String,
    /// Reads them.
    pub run: Run,
    /// Inputs to begin with, beside the corpus.
    pub seeds: Vec<Vec<u8>>,
    /// How an input is changed: with or without an eye to its structure.
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

/// All targets; those of the protocols come from the registry.
pub fn targets() -> Vec<Target> {
    let parsers = parsers::targets().into_iter().chain(tables::targets());
    parsers.chain([base::target()]).chain(roles::targets()).collect()
}
