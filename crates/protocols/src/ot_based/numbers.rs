//! Steps of protocols from 1-out-of-256 OT: items as numbers, numbers as characters.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_encode::items::Items;

use super::keys;
use crate::error::Error;
use crate::masks::MaskWidth;
use crate::protocol::Run;

/// σ′: bits of the numbers that are compared. Native items of at most the bits of `width` are used as they are, others hashed to
/// so many.
pub(super) fn item_bits(sigma: Option<u32>, width: MaskWidth) -> u32 {
    sigma.unwrap_or(width.bits()).min(width.bits())
}

/// ⌈bits/8⌉, at least one: characters of a number.
pub(super) fn characters(bits: u32) -> usize {
    bits.div_ceil(8).max(1) as usize
}

/// Every item, in their own order, as a number below 2^σ′, and as a digest where `digests` asks for it, [piece](keys::piece)
/// by piece; `take` has the number of a piece's first item, its numbers and its digests.
pub(super) fn by_pieces(
    run: &Run<'_>,
    width: MaskWidth,
    items: &Items,
    digests: bool,
    mut take: impl FnMut(usize, &[u128], &[Block]),
) -> Result<(), Error> {
    let native = run.parameters.sigma.is_some_and(|sigma| sigma <= width.bits());
    let (mut numbers, mut bytes) = (Vec::new(), Vec::new());
    let mut integers = |first: usize, count: usize, numbers: &mut Vec<u128>| {
        bytes.clear();
        items.gather(count, |i| first + i, &mut bytes);
        numbers.extend(bytes.as_chunks().0.iter().map(|bytes| u128::from(u64::from_be_bytes(*bytes))));
    };
    if native && !digests {
        for first in (0..items.len()).step_by(keys::piece(run)) {
            let count = keys::piece(run).min(items.len() - first);
            numbers.clear();
            integers(first, count, &mut numbers);
            take(first, &numbers, &[]);
            run.advance(count)?;
        }
        return Ok(());
    }
    let oracle = run.context.oracle(Label::new("ot: item to number"));
    keys::by_pieces(run, &oracle, items, |first, keys| {
        numbers.clear();
        match native {
            true => integers(first, keys.len(), &mut numbers),
            false => numbers.extend(keys.iter().map(|key| width.truncate(key.as_bytes()))),
        }
        take(first, &numbers, keys);
    })
}

/// The lowest characters of a number.
#[inline]
pub(super) fn push_characters(words: &mut Vec<u8>, number: u128, characters: usize) {
    // In a fixed length, for a copy of one that varies would be a call.
    let length = words.len() + characters;
    words.extend_from_slice(&number.to_le_bytes());
    words.truncate(length);
}
