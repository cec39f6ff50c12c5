//! Items under the session: the words that are hashed to bins and compared.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Oracle;
use vesica_crypto::memory::large_vec;
use vesica_crypto::par;
use vesica_encode::items::Items;

use crate::error::Error;
use crate::protocol::Run;

/// Items handled by one task.
const CHUNK: usize = 1 << 12;

/// Items of a piece, of which each thread does a chunk.
pub(super) fn piece(run: &Run<'_>) -> usize {
    CHUNK * run.threads
}

/// H(item), for every item in the order given, or in their own.
pub(super) fn hashed(
    run: &Run<'_>,
    oracle: &Oracle,
    items: &Items,
    order: Option<&[u32]>,
) -> Result<Vec<Block>, Error> {
    let mut keys = large_vec(Block::ZERO, items.len());
    let item = |i: usize| order.map_or(i, |order| order[i] as usize);
    for (first, keys) in (0..).step_by(piece(run)).zip(keys.chunks_mut(piece(run))) {
        hash(run, oracle, items, |i| item(first + i), keys)?;
    }
    Ok(keys)
}

/// H(item), for every item in their own order, piece by piece; `take` has the number of a piece's first item and its keys.
pub(super) fn by_pieces(
    run: &Run<'_>,
    oracle: &Oracle,
    items: &Items,
    mut take: impl FnMut(usize, &[Block]),
) -> Result<(), Error> {
    let piece = piece(run);
    let mut keys = vec![Block::ZERO; piece.min(items.len())];
    for first in (0..items.len()).step_by(piece) {
        let keys = &mut keys[..piece.min(items.len() - first)];
        hash(run, oracle, items, |i| first + i, keys)?;
        take(first, keys);
    }
    Ok(())
}

/// The keys of items `item(0)`, `item(1)`, …
fn hash(
    run: &Run<'_>,
    oracle: &Oracle,
    items: &Items,
    item: impl Fn(usize) -> usize + Sync,
    keys: &mut [Block],
) -> Result<(), Error> {
    par::fill_chunks(run.threads, CHUNK, keys, |chunk, keys| {
        let mut inputs = Vec::new();
        items.gather(keys.len(), |i| item(chunk * CHUNK + i), &mut inputs);
        oracle.hash_batch(&inputs, items.width(), Block::slice_as_mut_bytes(keys), Block::BYTES);
        Ok::<_, Error>(())
    })?;
    run.advance(keys.len())
}
