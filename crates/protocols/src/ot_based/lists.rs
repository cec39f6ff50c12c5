//! The masks that a sender of the OT-based protocols returns: several lists of one mask for each of its items.
//!
//! Every list holds a mask of every item, at the same place: the sender draws one random order for all. So a place says
//! nothing, and the place of a match stands for an item whichever list it was found in. A list answers for one way in
//! which the receiver can hold an item, one hash function or one place of the stash; the receiver looks in the list of the
//! way in which it holds an item and in no other, so that n_r · n_s pairs of masks are compared and ℓ bits are enough.

use vesica_crypto::join::{PackedTags, join};
use vesica_crypto::memory::large_vec;
use vesica_net::{RecvHalf, SendHalf};

use crate::error::{Error, Misbehaviour};
use crate::masks::MaskWidth;
use crate::protocol::{Phase, Run};

/// Bytes handled between two reports of progress.
const PIECE: usize = 1 << 18;

/// The sender's lists, as they travel.
pub(super) struct MaskLists {
    width: MaskWidth,
    items: usize,
    bytes: Vec<u8>,
}

impl MaskLists {
    /// `lists` lists of a mask for each of `items` items; all zero.
    pub(super) fn new(width: MaskWidth, lists: usize, items: usize) -> Self {
        Self { width, items, bytes: large_vec(0, lists * items * width.bytes()) }
    }

    /// Puts the first ℓ bits of `hash` at `place` of `list`.
    #[inline]
    pub(super) fn set(&mut self, list: usize, place: usize, hash: u128) {
        let (width, mask) = (self.width.bytes(), self.width.truncate(&hash.to_le_bytes()));
        let slot = &mut self.bytes[(list * self.items + place) * width..][..width];
        let Some(low) = slot.first_chunk_mut::<8>() else {
            return slot.copy_from_slice(&mask.to_le_bytes()[..width]);
        };
        // Two words that overlap where the width is less than sixteen.
        *low = (mask as u64).to_le_bytes();
        if let Some(high) = slot.last_chunk_mut::<8>() {
            *high = ((mask >> (8 * (width - 8))) as u64).to_le_bytes();
        }
    }

    /// Sends all lists.
    pub(super) fn send(&self, run: &Run<'_>, channel: &mut SendHalf) -> Result<(), Error> {
        run.phase(Phase::Exchange, self.bytes.len());
        for piece in self.bytes.chunks(PIECE) {
            channel.send(piece)?;
            run.advance(piece.len())?;
        }
        Ok(channel.flush()?)
    }
}

/// What the receiver looks for in one list.
#[derive(Default)]
pub(super) struct Sought {
    masks: Vec<u128>,
    items: Vec<u32>,
}

impl Sought {
    /// `item` is in the intersection if the list has the first ℓ bits of `hash`.
    #[inline]
    pub(super) fn push(&mut self, width: MaskWidth, hash: u128, item: u32) {
        self.masks.push(width.truncate(&hash.to_le_bytes()));
        self.items.push(item);
    }
}

/// Receives the lists of a sender with `count` items, and gives pairs (item of mine, place in the lists).
pub(super) fn recv(
    run: &Run<'_>,
    width: MaskWidth,
    count: usize,
    sought: &[Sought],
    channel: &mut RecvHalf,
) -> Result<Vec<(u32, u32)>, Error> {
    run.phase(Phase::Exchange, sought.len() * count * width.bytes());
    let mut bytes = large_vec(0, count * width.bytes());
    let mut pairs = Vec::new();
    for (number, sought) in sought.iter().enumerate() {
        recv_one(run, width, number * count, &mut bytes, channel)?;
        let found = join(run.threads, &sought.masks[..], &PackedTags::new(&bytes, width.bytes()));
        pairs.extend(found.into_iter().map(|(mine, place)| (sought.items[mine as usize], place)));
    }
    Ok(pairs)
}

/// Receives one list, whose first mask has number `first` among all.
pub(super) fn recv_one(
    run: &Run<'_>,
    width: MaskWidth,
    first: usize,
    bytes: &mut [u8],
    channel: &mut RecvHalf,
) -> Result<(), Error> {
    for piece in bytes.chunks_mut(PIECE) {
        channel.recv_exact(piece)?;
        run.advance(piece.len())?;
    }
    check(width, bytes).map_err(|place| Misbehaviour::WideMask { position: first + place }.into())
}

/// Refuses masks with bits above their width; says which is the first.
fn check(width: MaskWidth, bytes: &[u8]) -> Result<(), usize> {
    let spare = 8 * width.bytes() as u32 - width.bits();
    if spare == 0 {
        return Ok(());
    }
    let last = bytes.iter().skip(width.bytes() - 1).step_by(width.bytes());
    last.map(|byte| byte >> (8 - spare)).position(|bits| bits != 0).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Sizes, Unwatched};
    use crate::{Learns, Parameters};
    use vesica_crypto::hash::Context;
    use vesica_net::{Options, memory};

    fn run(sizes: Sizes) -> Run<'static> {
        let context = Context::new(&[1; 32], "lists", b"", 1, 1);
        let (parameters, learns) = (Parameters::default(), Learns::Receiver);
        Run { context, sizes, parameters, learns, threads: 1, watch: &Unwatched }
    }

    #[test]
    fn a_mask_is_found_in_its_list_alone() {
        for count in [1, 300, 40_000] {
            let sizes = Sizes { receiver: 3, sender: count };
            let width = MaskWidth::for_sizes(sizes).unwrap();
            let mut lists = MaskLists::new(width, 2, count);
            let hash = |list: usize, place: usize| {
                (u128::MAX / 7)
                    .wrapping_mul((1 + list + 2 * place) as u128)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            };
            for list in 0..2 {
                for place in 0..count {
                    lists.set(list, place, hash(list, place));
                }
            }
            let mut sought = [Sought::default(), Sought::default()];
            sought[0].push(width, hash(0, count - 1), 5);
            sought[0].push(width, hash(1, 0), 6);
            sought[1].push(width, hash(1, 0), 7);
            let (mut a, mut b) = memory::pair(&Options::default());
            let (mine, theirs) = (run(sizes), run(sizes));
            let found = std::thread::scope(|scope| {
                scope.spawn(|| lists.send(&theirs, a.split().0).unwrap());
                recv(&mine, width, count, &sought, b.split().1).unwrap()
            });
            assert_eq!(found, [(5, count as u32 - 1), (7, 0)]);
            assert_eq!(a.traffic().payload_sent, (2 * count * width.bytes()) as u64);
        }
    }

    #[test]
    fn a_wide_mask_is_refused() {
        let sizes = Sizes { receiver: 4, sender: 3 };
        let width = MaskWidth::for_sizes(sizes).unwrap();
        assert_eq!(width.bits(), 44);
        let (mut a, mut b) = memory::pair(&Options::default());
        let mut bytes = [0; 36];
        bytes[5 * 6 - 1] = 0x10;
        a.send(&bytes).unwrap();
        a.flush().unwrap();
        let sought = [Sought::default(), Sought::default()];
        let refused = recv(&run(sizes), width, 3, &sought, b.split().1).unwrap_err();
        assert_eq!(refused, Misbehaviour::WideMask { position: 4 }.into());
    }
}
