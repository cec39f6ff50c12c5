//! Building blocks under criterion. `make bench-blocks` compares each with its last run, with confidence intervals.
//!
//! The examples of the crates (`kernels`, `ristretto`, `bigint`, `nco`, `extensions`, `vole`, `okvs`, `hashing`,
//! `measure`) time the same blocks against their floors on every back end. The benchmarks here show whether a change
//! made one slower.

#![forbid(unsafe_code)]

use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::prg::Prg;

/// Blocks that are the same in every run.
pub fn blocks(count: usize) -> Vec<Block> {
    let mut blocks = vec![Block::ZERO; count];
    Prg::from_seed([1; 16]).fill_blocks(&mut blocks);
    blocks
}

/// A context that is the same in every run.
pub fn context() -> Context {
    Context::new(&[1; 32], "blocks", b"", 0, 0)
}
