//! The hashes of the OPRF: of items, on their way into the store, and of what comes out of it.

use std::ops::Range;

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::memory::{Wiped, large_zeros};
use vesica_crypto::par;
use vesica_encode::items::{Encoding, Items};

use super::elements::FieldElement;
use crate::error::Error;
use crate::protocol::Run;

/// Items that one thread handles at a time. Local: changes no byte.
const CHUNK: usize = 1 << 12;

/// Bytes by which the receiver proves a match to the sender.
pub(crate) const PROOF: usize = 16;

/// The hashes of one run.
#[derive(Clone)]
pub(crate) struct Hashes {
    item: Oracle,
    /// H_o.
    pub(super) output: Oracle,
    proof: Oracle,
    payload: Oracle,
}

/// What items are hashed to: a key in the store each, and H_B.
pub(crate) struct KeysAndValues<V> {
    pub(crate) keys: Vec<Block>,
    pub(crate) values: Vec<V>,
}

impl Hashes {
    pub(crate) fn new(context: &Context) -> Self {
        Hashes {
            item: context.oracle(Label::new("vole: item to key and value")),
            output: context.oracle(Label::new("vole: output to mask")),
            proof: context.oracle(Label::new("vole: output to proof of a match")),
            payload: context.oracle(Label::new("vole: output to pad of a payload")),
        }
    }

    /// Key in the store and H_B of every item.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn keys_and_values<V: FieldElement>(
        &self,
        run: &Run<'_>,
        items: &Items,
    ) -> Result<KeysAndValues<V>, Error> {
        self.keys_and_values_under(run, items, |_| None)
    }

    /// Key in the store and H_B of every item under its function; none: there is one function.
    pub(crate) fn keys_and_values_under<V: FieldElement>(
        &self,
        run: &Run<'_>,
        items: &Items,
        function: impl Fn(usize) -> Option<u8> + Sync,
    ) -> Result<KeysAndValues<V>, Error> {
        let mut keys: Vec<Block> = large_zeros(items.len());
        let mut values: Vec<V> = large_zeros(items.len());
        let tasks = keys.chunks_mut(CHUNK).zip(values.chunks_mut(CHUNK));
        par::for_each(run.threads, tasks, |index, (keys, values)| {
            let numbers = index * CHUNK..index * CHUNK + keys.len();
            let (bytes, width) = item_bytes(items, numbers, &function);
            let mut hashes = vec![[0; 32]; keys.len()];
            self.item.hash_batch(&bytes, width, hashes.as_flattened_mut(), 32);
            for ((key, value), hash) in keys.iter_mut().zip(values).zip(&hashes) {
                let [first, second] = [hash.as_chunks().0[0], hash.as_chunks().0[1]].map(Block::from_bytes);
                (*key, *value) = (first, V::of_block(second));
            }
            run.advance(keys.len())
        })?;
        Ok(KeysAndValues { keys, values })
    }

    /// Puts F(x) in place of each `decoded` value, by `hash(range, decoded, into)`.
    pub(crate) fn outputs(
        &self,
        run: &Run<'_>,
        decoded: &mut [Block],
        hash: impl Fn(Range<usize>, &[Block], &mut [u8]) + Sync,
    ) -> Result<(), Error> {
        par::fill_chunks(run.threads, CHUNK, decoded, |index, decoded| {
            let mut hashes = Wiped::from(vec![[0; 16]; decoded.len()]);
            let first = index * CHUNK;
            hash(first..first + decoded.len(), decoded, hashes.as_flattened_mut());
            decoded
                .iter_mut()
                .zip(hashes.iter())
                .for_each(|(output, hash)| *output = Block::from_bytes(*hash));
            run.advance(decoded.len())
        })
    }

    /// Shows that a malicious receiver has this value: a second function of it.
    pub(crate) fn proof(&self, items: &Items, item: usize, value: Block) -> [u8; PROOF] {
        let (bytes, _) = with_items(items, std::iter::once(item), std::iter::once(value));
        let mut proof = [0; PROOF];
        self.proof.hash(&bytes, &mut proof);
        proof
    }
}

impl Hashes {
    /// H_p of values, side by side in `pads`: a third function of them, as long as a payload.
    pub(super) fn pads(&self, values: &[u8], width: usize, pads: &mut [u8]) {
        if let Some(length) = pads.len().checked_div(values.len() / width) {
            self.payload.hash_batch(values, width, pads, length);
        }
    }
}

/// The bytes of the items of these numbers, each with its function behind it if there is one, and how many
/// bytes that takes.
fn item_bytes(
    items: &Items,
    numbers: impl ExactSizeIterator<Item = usize>,
    function: impl Fn(usize) -> Option<u8>,
) -> (Vec<u8>, usize) {
    let native = matches!(items.encoding(), Encoding::Native { .. });
    let (width, count) = (if native { size_of::<u64>() } else { items.width() }, numbers.len());
    let mut bytes = Vec::with_capacity(count * (width + 1));
    for item in numbers {
        match items.native(item) {
            Some(number) => bytes.extend_from_slice(&number.to_le_bytes()),
            None => bytes.extend_from_slice(items.get(item)),
        }
        bytes.extend(function(item));
    }
    let width = bytes.len().checked_div(count).unwrap_or(width);
    (bytes, width)
}

/// Each value with its item behind it, and how many bytes that takes.
pub(super) fn with_items(
    items: &Items,
    numbers: impl ExactSizeIterator<Item = usize>,
    values: impl Iterator<Item = Block>,
) -> (Wiped<u8>, usize) {
    let count = numbers.len();
    let (bytes, width) = item_bytes(items, numbers, |_| None);
    let mut joined = Vec::with_capacity(count * (Block::BYTES + width));
    for (value, item) in values.zip(bytes.chunks_exact(width)) {
        joined.extend_from_slice(value.as_bytes());
        joined.extend_from_slice(item);
    }
    (joined.into(), Block::BYTES + width)
}
