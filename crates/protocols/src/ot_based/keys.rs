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

/// H(item), for every item in the order given, or in their own.
pub(super) fn hashed(
    run: &Run<'_>,
    oracle: &Oracle,
    items: &Items,
    order: Option<&[u32]>,
) -> Result<Vec<Block>, Error> {
    let mut keys = large_vec(Block::ZERO, items.len());
    for (piece, keys) in keys.chunks_mut(CHUNK * run.threads).enumerate() {
        par::fill_chunks(run.threads, CHUNK, keys, |chunk, keys| {
            let first = (piece * run.threads + chunk) * CHUNK;
            let mut inputs = Vec::new();
            items.gather(
                keys.len(),
                |i| order.map_or(first + i, |order| order[first + i] as usize),
                &mut inputs,
            );
            oracle.hash_batch(&inputs, items.width(), Block::slice_as_mut_bytes(keys), Block::BYTES);
            Ok::<_, Error>(())
        })?;
        run.advance(keys.len())?;
    }
    Ok(keys)
}
