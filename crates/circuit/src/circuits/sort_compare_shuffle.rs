//! Sort, compare, shuffle: the items that both parties have, in an order that tells nothing (HEK12 §5).
//!
//! ```text
//! n_r + n_s sorted items  ── merge ──►  one sorted list  ── select ──►  ⌊(n_r + n_s)/2⌋ slots  ── shuffle ──►
//! ```
//!
//! | step | AND gates, n = n_r + n_s items of σ bits, m = ⌊n/2⌋ slots |
//! |---|---|
//! | [`merge`](networks::merge): bitonic merger | 2σ a 2-sorter, [`merge_ands`] |
//! | [`select`]: duplicate selection | m(2σ - 1) + σ·⌊(n - 1)/2⌋, [`select_ands`] |
//! | [`shuffle::permute`]: Waksman network | σ·(m·log2 m - m + 1) for a power of two, private, [`permute_ands`] |
//! | [`networks::sort`]: Batcher's network | 2σ a 2-sorter, [`sort_ands`] |
//! | [`add_masks`]: masks of w bits, for a homomorphic shuffle outside | m(σ - 1), and m(w - σ + 1) private, [`mask_ands`] |
//!
//! An item that both have stands twice in the sorted list. Every second position, with its neighbours, is a
//! slot: it keeps its item if a neighbour is equal, and zero otherwise. So zero is no item: a caller widens
//! items by a bit, or remaps them. The slots are still sorted, so where zeros are between them would tell
//! about items that only one party has. One of three endings hides that.
//!
//! The order of the sender's permutation must be uniform; the one of [`networks::sort`] is a function of the
//! output. Masks are uniform numbers of w ≥ σ + λ + log2 m bits: a sum then tells an item with probability
//! 2^-λ at most, all slots together. HEK12 takes w = σ + 32.

use std::ops::Range;

use crate::bits::Bits;
use crate::engine::{Engine, Input, Party};
use crate::error::Error;
use crate::gadgets::adder::add_private;
use crate::gadgets::select::duplicate;
use crate::pieces::{batches, in_pieces, part, slices};
use crate::wires::Wires;
use crate::{networks, shuffle};

/// Slots whose masked wires are held at a time.
const BATCH: usize = 1 << 16;

/// Slots for sets of these sizes.
#[must_use]
pub fn slots(receiver: u64, sender: u64) -> u64 {
    (receiver + sender) / 2
}

/// AND gates of the merger, with comparisons of σ gates.
#[must_use]
pub fn merge_ands(receiver: u64, sender: u64, sigma: u64) -> u64 {
    2 * sigma * networks::merge_sorters(receiver + sender)
}

/// AND gates of [`select`].
#[must_use]
pub fn select_ands(receiver: u64, sender: u64, sigma: u64) -> u64 {
    let slots = slots(receiver, sender);
    // A slot has a comparison and a multiplexer, and all but a last one without a right neighbour also a second
    // comparison and the gate that joins both.
    slots * (2 * sigma).saturating_sub(1) + (receiver + sender).saturating_sub(1) / 2 * sigma
}

/// AND gates with a private bit of a shuffle by [`shuffle::permute`].
#[must_use]
pub fn permute_ands(slots: u64, sigma: u64) -> u64 {
    sigma * shuffle::swappers(slots)
}

/// AND gates of a shuffle by [`networks::sort`], with comparisons of σ gates.
#[must_use]
pub fn sort_ands(slots: u64, sigma: u64) -> u64 {
    2 * sigma * networks::sort_sorters(slots)
}

/// AND gates of [`add_masks`], and those with a private bit, for masks of `width` bits.
#[must_use]
pub fn mask_ands(slots: u64, sigma: u64, width: u64) -> [u64; 2] {
    [slots * sigma.saturating_sub(1), slots * (width + 1).saturating_sub(sigma)]
}

/// Wires of the items of both, which each party gives in ascending order: first the receiver's in falling
/// order, then the sender's, as the merger wants them.
///
/// # Errors
/// As [`Engine::input`].
///
/// # Panics
/// If the items of one party have more bits than the other's.
pub fn inputs<E: Engine>(
    engine: &mut E,
    receiver: Input<'_>,
    sender: Input<'_>,
) -> Result<Vec<E::Wires>, Error> {
    assert_eq!(receiver.rows(), sender.rows(), "items of the same width");
    let falling: Vec<Bits>;
    let receiver = match receiver {
        Input::Known(rows) => {
            let last_first: Vec<u32> = (0..receiver.row_len() as u32).rev().collect();
            falling = rows.iter().map(|row| row.gather(&last_first)).collect();
            Input::Known(&falling)
        }
        hidden @ Input::Hidden { .. } => hidden,
    };
    let receiver = engine.input(Party::Receiver, receiver)?;
    let sender = engine.input(Party::Sender, sender)?;
    Ok(receiver.into_iter().zip(sender).map(|(mine, theirs)| E::Wires::join(&[&mine, &theirs])).collect())
}

/// What a sorted list gives.
#[derive(Clone, Debug)]
pub struct Selected<W> {
    /// Whether a slot has an item: a set wire for each item that both have.
    pub matches: W,
    /// The bits of the slots: the item, or zero.
    pub values: Vec<W>,
}

/// Finds the items that stand twice in a sorted list, in which none stands more than twice.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If items have no bits.
pub fn select<E: Engine>(engine: &mut E, sorted: &[E::Wires]) -> Result<Selected<E::Wires>, Error> {
    assert!(!sorted.is_empty(), "items have bits");
    let len = sorted[0].len();
    let mut found = in_pieces(engine, (len / 2, usize::MAX), 1 + sorted.len(), |engine, slots| {
        let all = |slots: Range<usize>, offset: usize| -> Vec<E::Wires> {
            let positions: Vec<u32> = slots.map(|slot| (2 * slot + offset) as u32).collect();
            sorted.iter().map(|row| row.gather(&positions)).collect()
        };
        // The last slot of an even number of items has no right neighbour.
        let with_right = slots.start..slots.end.min((len - 1) / 2);
        let (left, middle, right) = (all(slots.clone(), 0), all(slots, 1), all(with_right, 2));
        let matches = duplicate(engine, &left, &middle, &right)?;
        let mut found = engine.and_all(&matches, &middle)?;
        found.insert(0, matches);
        Ok(found)
    })?;
    Ok(Selected { matches: found.remove(0), values: found })
}

/// Gives `each` the sums of slots and masks, in order and batch by batch: rows of a bit more than the masks
/// have, which are private numbers of `owner`, a number for each slot.
///
/// # Errors
/// As [`Engine::and_private`], and those of `each`.
///
/// # Panics
/// If items have no bits, or masks fewer, or there are not as many masks as slots.
pub fn add_masks<E: Engine>(
    engine: &mut E,
    owner: Party,
    masks: Input<'_>,
    values: &[E::Wires],
    mut each: impl FnMut(&mut E, Vec<E::Wires>) -> Result<(), Error>,
) -> Result<(), Error> {
    let slots = values.first().map_or(0, Wires::len);
    assert!(masks.row_len() == slots, "a mask for each slot");
    for batch in batches(engine, slots, BATCH) {
        let values = slices(values, batch.clone());
        let sums = in_pieces(engine, (batch.len(), usize::MAX), masks.rows() + 1, |engine, piece| {
            let masks = part(masks, batch.start + piece.start..batch.start + piece.end);
            add_private(engine, owner, masks.as_input(), &slices(&values, piece))
        })?;
        each(engine, sums)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
