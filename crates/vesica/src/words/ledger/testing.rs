//! What a ledger's bytes are taken for, without a file. Only with the feature `testing`.

use super::account::runs;
use super::chain::{Chain, of_texts};
use super::summary::{Summary, summary};

/// What [`read`](super::read) makes of these bytes; none if they are no ledger.
pub fn of_bytes(bytes: &[u8]) -> Option<Summary> {
    let chain = Chain::read(bytes).ok()?;
    let runs = runs(&chain.lines).ok()?;
    (!chain.lines.is_empty()).then(|| summary(&chain, &runs))
}

/// Lines that follow one another and say what each line of `texts` does: what an object has after its first two fields.
pub fn chained(texts: &[u8]) -> Vec<u8> {
    of_texts(texts)
}
