//! Steps of protocols from 1-out-of-256 OT: items as numbers, numbers as characters.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_crypto::memory::large_capacity;
use vesica_encode::items::Items;

use super::keys;
use crate::error::Error;
use crate::masks::MaskWidth;
use crate::protocol::Run;

/// Items handled at a time.
const CHUNK: usize = 1 << 12;

/// σ′: bits of the numbers that are compared. Native items of at most ℓ bits are used as they are, others hashed to ℓ.
pub(super) fn item_bits(sigma: Option<u32>, width: MaskWidth) -> u32 {
    sigma.unwrap_or(width.bits()).min(width.bits())
}

/// ⌈bits/8⌉, at least one: characters of a number.
pub(super) fn characters(bits: u32) -> usize {
    bits.div_ceil(8).max(1) as usize
}

/// Every item as a number below 2^σ′, and under `label` as a digest, in the order given or in their own.
pub(super) struct Numbered {
    /// The numbers.
    pub(super) numbers: Vec<Block>,
    /// The digests, where they were asked for.
    pub(super) digests: Vec<Block>,
}

impl Numbered {
    /// Digests are kept if `digests`.
    pub(super) fn new(
        run: &Run<'_>,
        width: MaskWidth,
        items: &Items,
        order: Option<&[u32]>,
        digests: bool,
    ) -> Result<Self, Error> {
        let native = run.parameters.sigma.is_some_and(|sigma| sigma <= width.bits());
        let hashed = if digests || !native {
            keys::hashed(run, &run.context.oracle(Label::new("ot: item to number")), items, order)?
        } else {
            Vec::new()
        };
        let mut numbers = large_capacity(items.len());
        if native {
            let mut bytes = Vec::new();
            for first in (0..items.len()).step_by(CHUNK) {
                let item = |i: usize| order.map_or(first + i, |order| order[first + i] as usize);
                bytes.clear();
                items.gather(CHUNK.min(items.len() - first), item, &mut bytes);
                let integers = bytes.as_chunks().0.iter().map(|bytes| u64::from_be_bytes(*bytes));
                numbers.extend(integers.map(|integer| Block::from_u128(integer.into())));
            }
        } else {
            let cut = |hash: &Block| Block::from_u128(width.truncate(hash.as_bytes()));
            numbers.extend(hashed.iter().map(cut));
        }
        Ok(Self { numbers, digests: if digests { hashed } else { Vec::new() } })
    }
}

/// The lowest characters of a number.
#[inline]
pub(super) fn push_characters(words: &mut Vec<u8>, number: u128, characters: usize) {
    words.extend_from_slice(&number.to_le_bytes()[..characters]);
}
