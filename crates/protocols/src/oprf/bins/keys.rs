//! Items under the session: keys of 128 bits, which say the bins of an item. Where OTs take blocks
//! ([`kkrt`]), they are also the words.
//!
//! An empty bin chooses the zero block. It is the key of an item with probability 2^-128 an item.

use std::ops::Range;

use vesica_crypto::block::Block;
use vesica_crypto::hash::Oracle;
use vesica_crypto::memory::large_vec;
use vesica_crypto::par;
use vesica_encode::hashing::Layout;
use vesica_encode::hashing::cuckoo::{self, KeyedTable};
use vesica_encode::hashing::parameters::Cuckoo;
use vesica_encode::hashing::partitioned::{PartitionedKeys, Regions};
use vesica_encode::items::Items;
#[cfg(doc)]
use vesica_ot::kkrt;

use super::{Batch, BinPartition, BinTable, BinWords, cuckoo_failure};
use crate::error::Error;
use crate::protocol::Run;

/// Items handled by one task.
const CHUNK: usize = 1 << 12;

/// Bins of one of the receiver's calls, as a power of 2. Local: a multiple of a tile of OTs.
const CALL_BITS: u32 = 13;

/// Items of a piece, of which each thread does a chunk.
pub(crate) fn piece(run: &Run<'_>) -> usize {
    CHUNK * run.threads
}

/// H(item), for every item, in the order given, or else in that of the items.
pub(crate) fn hashed(
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

/// H(item), for every item in the order of the items, piece by piece; `take` has the number of a piece's first
/// item and its keys.
pub(crate) fn by_pieces(
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

/// Keys as words: one OT a bin, no stash. The receiver's table and the sender's partition hold the keys
/// themselves.
pub(crate) struct ItemKeys {
    layout: Layout,
    oracle: Oracle,
}

impl ItemKeys {
    /// H = `oracle`.
    pub(crate) fn new(layout: Layout, oracle: Oracle) -> Self {
        Self { layout, oracle }
    }
}

impl BinWords for ItemKeys {
    type Word = Block;
    type Table = KeyedTable;
    type Partition = WaitingKeys;

    fn cuckoo(&self) -> Cuckoo {
        Cuckoo { layout: self.layout, stash: 0 }
    }

    fn ots(&self) -> [usize; 2] {
        [1, 1]
    }

    fn extension_calls(&self) -> Regions {
        Regions::across_segments(self.layout, CALL_BITS)
    }

    fn place(&self, run: &Run<'_>, items: &Items) -> Result<KeyedTable, Error> {
        let mut keys = cuckoo::Keys::new(self.layout, items.len());
        by_pieces(run, &self.oracle, items, |first, piece| {
            (first as u32..).zip(piece).for_each(|(item, key)| keys.push(*key, item));
        })?;
        keys.place().map_err(|_| cuckoo_failure(false))
    }

    /// Files each key under its bin of function 0. When [`take`](WaitingKeys::take) hands it out there, it
    /// files it under its bin of the next function, so each key is held once.
    fn partition(
        &self,
        run: &Run<'_>,
        items: &Items,
        position: impl Fn(usize) -> u32,
    ) -> Result<WaitingKeys, Error> {
        let mut waiting = PartitionedKeys::of_keys(self.layout, items.len());
        by_pieces(run, &self.oracle, items, |first, keys| {
            (first..).zip(keys).for_each(|(item, key)| waiting.push_key(0, *key, position(item)));
        })?;
        Ok(WaitingKeys { waiting, records: Vec::new() })
    }
}

impl BinTable<Block> for KeyedTable {
    #[inline]
    fn item(&self, bin: usize) -> Option<u32> {
        self.get(bin).map(|(_, item)| item)
    }

    fn occupied(&self, bins: Range<usize>) -> usize {
        KeyedTable::occupied(self, bins)
    }

    fn words(&self, bins: Range<usize>, words: &mut Vec<Block>) {
        words.clear();
        words.reserve(bins.len());
        for bin in bins {
            words.push(self.get(bin).map_or(Block::ZERO, |(key, _)| key));
        }
    }
}

/// The sender's keys, each with its position, in the regions where they wait.
pub(crate) struct WaitingKeys {
    waiting: PartitionedKeys<(Block, u32)>,
    records: Vec<(Block, u32)>,
}

impl BinPartition<Block> for WaitingKeys {
    fn regions(&self) -> Regions {
        self.waiting.regions()
    }

    fn take(&mut self, function: usize, first: usize, batch: &mut Batch<Block>) -> bool {
        let (layout, any) =
            (self.waiting.regions().layout(), self.waiting.take(function, first, &mut self.records));
        batch.clear();
        for (key, position) in &self.records {
            batch.positions.push(*position);
            batch.rows.push(layout.bin_of(*key, function) - first as u32);
            batch.words.push(*key);
            if function + 1 < layout.functions() {
                self.waiting.push_key(function + 1, *key, *position);
            }
        }
        any
    }
}
