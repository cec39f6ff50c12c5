//! The masks that a sender of the OT-based protocols returns: several lists of one mask for each of its items.
//!
//! Every list holds a mask of every item, at the same place: the sender draws one random order for all. So a place says
//! nothing, and the place of a match stands for an item whichever list it was found in. A list answers for one way in
//! which the receiver can hold an item, one hash function or one place of the stash; the receiver looks in the list of the
//! way in which it holds an item and in no other, so that n_r · n_s pairs of masks are compared and ℓ bits are enough.
//!
//! A list is looked through as it comes, and the receiver keeps nothing of it. The sender holds two: one is filled while the
//! one before it leaves, piece by piece ([`Departing`]), so that both parties always have work. The receiver takes what has
//! come between its own sends, on [`Channel::send`], which makes way for what comes in while it waits; so neither side
//! blocks the other.

use std::convert::Infallible;

use vesica_crypto::block::Block;
use vesica_crypto::join::{Lookup, PackedTags};
use vesica_crypto::memory::{large_capacity, large_vec, prefetch};
use vesica_crypto::par;
use vesica_net::{Channel, RecvHalf, SendHalf};

use crate::error::{Error, Misbehaviour};
use crate::masks::MaskWidth;
use crate::protocol::{Phase, Run};

/// Bytes handled between two reports of progress.
const PIECE: usize = 1 << 18;

/// Places ahead that are on their way.
const AHEAD: usize = 64;

/// Pieces that several threads look at together, at most.
const PIECES: usize = 8;

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

    /// Puts the hashes at the places that go with them of `list`.
    #[inline]
    pub(super) fn set_all(&mut self, list: usize, places: &[u32], hashes: &[Block]) {
        for (i, (place, hash)) in places.iter().zip(hashes).enumerate() {
            let ahead = places.get(i + AHEAD).map_or(usize::MAX, |place| *place as usize);
            prefetch(&self.bytes, ahead.saturating_mul(self.width.bytes()));
            self.set(list, *place as usize, hash.to_u128());
        }
    }

    /// Sends all lists, which end the message, in a phase of their own.
    pub(super) fn send(&self, run: &Run<'_>, channel: &mut SendHalf) -> Result<(), Error> {
        run.phase(Phase::Exchange, self.bytes.len());
        for piece in self.bytes.chunks(PIECE) {
            channel.send(piece)?;
            run.advance(piece.len())?;
        }
        Ok(channel.flush()?)
    }
}

/// The sender's lists where each is made after the other.
pub(super) struct Departing {
    /// The list in the making.
    pub(super) filling: MaskLists,
    /// The one before it, if there is one, and how much of it has left.
    leaving: Option<MaskLists>,
    left: usize,
}

impl Departing {
    /// Lists of a mask for each of `items` items.
    pub(super) fn new(width: MaskWidth, items: usize) -> Self {
        Self { filling: MaskLists::new(width, 1, items), leaving: None, left: 0 }
    }

    /// Sends as much of the list that leaves as `done` of `all` steps of the next one ask for.
    pub(super) fn advance(&mut self, done: usize, all: usize, channel: &mut SendHalf) -> Result<(), Error> {
        let Some(list) = &self.leaving else { return Ok(()) };
        let until = (list.bytes.len() as u128 * done as u128 / all as u128) as usize;
        if until - self.left >= PIECE || done == all {
            channel.send(&list.bytes[self.left..until])?;
            self.left = until;
        }
        Ok(())
    }

    /// The list in the making is complete: what is left of the one before it leaves; then, if it is the `last`, this one.
    pub(super) fn complete(
        &mut self,
        run: &Run<'_>,
        last: bool,
        channel: &mut SendHalf,
    ) -> Result<(), Error> {
        self.advance(1, 1, channel)?;
        if last {
            return self.filling.send(run, channel);
        }
        let next = self.leaving.take();
        let next = next.unwrap_or_else(|| MaskLists::new(self.filling.width, 1, self.filling.items));
        self.leaving = Some(std::mem::replace(&mut self.filling, next));
        self.left = 0;
        Ok(())
    }
}

/// What the receiver looks for in one list.
#[derive(Default)]
pub(super) struct Sought {
    masks: Vec<u128>,
    items: Vec<u32>,
}

impl Sought {
    /// With room for `count` items, and no more: a list that grows is copied, and takes twice the memory.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { masks: large_capacity(count), items: large_capacity(count) }
    }

    /// `item` is in the intersection if the list has the first ℓ bits of `hash`.
    #[inline]
    pub(super) fn push(&mut self, width: MaskWidth, hash: u128, item: u32) {
        self.masks.push(width.truncate(&hash.to_le_bytes()));
        self.items.push(item);
    }
}

/// The receiver's search, which goes through the lists of a sender with `count` items as they come in and keeps nothing of
/// them.
pub(super) struct Search<'a> {
    run: &'a Run<'a>,
    width: MaskWidth,
    count: usize,
    /// One for each list.
    pub(super) sought: Vec<Sought>,
    /// The list that comes next, and how many of its masks have come.
    list: usize,
    taken: usize,
    lookup: Option<Lookup>,
    bytes: Vec<u8>,
    pairs: Vec<(u32, u32)>,
}

impl<'a> Search<'a> {
    pub(super) fn new(run: &'a Run<'a>, width: MaskWidth, count: usize, lists: usize) -> Self {
        let sought = (0..lists).map(|_| Sought::default()).collect();
        Self {
            run,
            width,
            count,
            sought,
            list: 0,
            taken: 0,
            lookup: None,
            bytes: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Looks at what has come of the first `lists` lists, in which it is known by now what is sought; waits for nothing.
    pub(super) fn take_ready(&mut self, lists: usize, channel: &mut Channel) -> Result<(), Error> {
        while self.list < lists && channel.readable() >= self.piece() * self.width.bytes() {
            self.take(channel.split().1)?;
            self.run.advance(0)?;
        }
        Ok(())
    }

    /// Waits for what is still to come. Gives pairs (item of mine, place in the lists).
    pub(super) fn finish(mut self, channel: &mut RecvHalf) -> Result<Vec<(u32, u32)>, Error> {
        let left = (self.sought.len() - self.list) * self.count - self.taken;
        self.run.phase(Phase::Exchange, left * self.width.bytes());
        while self.list < self.sought.len() {
            let masks = self.take(channel)?;
            self.run.advance(masks * self.width.bytes())?;
        }
        Ok(self.pairs)
    }

    /// Masks of the next piece, which ends with its list.
    fn piece(&self) -> usize {
        (PIECE / self.width.bytes() * self.run.threads.min(PIECES)).min(self.count - self.taken)
    }

    /// Looks at the next piece, and says how many masks it has.
    fn take(&mut self, channel: &mut RecvHalf) -> Result<usize, Error> {
        let (masks, width) = (self.piece(), self.width.bytes());
        self.bytes.resize(masks * width, 0);
        channel.recv_exact(&mut self.bytes)?;
        let first = self.list * self.count + self.taken;
        check(self.width, &self.bytes).map_err(|place| Misbehaviour::WideMask { position: first + place })?;
        let sought = &mut self.sought[self.list];
        let lookup = self.lookup.get_or_insert_with(|| Lookup::new(std::mem::take(&mut sought.masks)));
        let part = masks.div_ceil(self.run.threads.min(PIECES));
        let mut found = vec![Vec::new(); masks.div_ceil(part)];
        let parts = self.bytes.chunks(part * width).zip(&mut found);
        let Ok(()) = par::for_each(self.run.threads, parts, |number, (bytes, found)| {
            let first = self.taken + number * part;
            lookup.find(&PackedTags::new(bytes, width), |mine, place| {
                found.push((mine, (first + place) as u32))
            });
            Ok::<_, Infallible>(())
        });
        let found = found.iter().flatten();
        self.pairs.extend(found.map(|&(mine, place)| (sought.items[mine as usize], place)));
        self.taken += masks;
        if self.taken == self.count {
            (self.list, self.taken, self.lookup) = (self.list + 1, 0, None);
            sought.items = Vec::new();
        }
        Ok(masks)
    }
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
        Run { context, sizes, parameters, learns, threads: 1, watch: &Unwatched, base_ots: None }
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
            for (threads, early) in [(1, false), (1, true), (3, true)] {
                let mine = Run { threads, ..run(sizes) };
                let mut search = Search::new(&mine, width, count, 2);
                search.sought[0].push(width, hash(0, count - 1), 5);
                search.sought[0].push(width, hash(1, 0), 6);
                search.sought[1].push(width, hash(1, 0), 7);
                let (mut a, mut b) = memory::pair(&Options::default());
                lists.send(&run(sizes), a.split().0).unwrap();
                if early {
                    search.take_ready(1, &mut b).unwrap();
                    assert_eq!(search.list, 1);
                }
                assert_eq!(search.finish(b.split().1).unwrap(), [(5, count as u32 - 1), (7, 0)]);
                assert_eq!(a.traffic().payload_sent, (2 * count * width.bytes()) as u64);
            }
        }
    }

    #[test]
    fn lists_that_leave_piece_by_piece_are_those_that_were_made() {
        let count = 100_000;
        let sizes = Sizes { receiver: 3, sender: count };
        let width = MaskWidth::for_sizes(sizes).unwrap();
        let (mut a, mut b) = memory::pair(&Options::default());
        let (mut lists, mut expected) = (Departing::new(width, count), Vec::new());
        for list in 0..3u128 {
            // Every place once, far apart.
            let places: Vec<u32> = (0..count).map(|i| (i * 7919 % count) as u32).collect();
            let hashes: Vec<Block> = (0..count as u128).map(|i| Block::from_u128(i << 8 | list)).collect();
            for (done, (places, hashes)) in (1..).zip(places.chunks(999).zip(hashes.chunks(999))) {
                lists.filling.set_all(0, places, hashes);
                lists.advance(done, count.div_ceil(999), a.split().0).unwrap();
            }
            let mut all = MaskLists::new(width, 1, count);
            places.iter().zip(&hashes).for_each(|(place, hash)| all.set(0, *place as usize, hash.to_u128()));
            expected.extend(all.bytes);
            lists.complete(&run(sizes), list == 2, a.split().0).unwrap();
        }
        let mut bytes = vec![0; expected.len()];
        b.split().1.recv_exact(&mut bytes).unwrap();
        assert!(bytes == expected);
        assert_eq!(a.traffic().payload_sent, expected.len() as u64);
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
        let run = run(sizes);
        let refused = Search::new(&run, width, 3, 2).finish(b.split().1).map(|_| ()).unwrap_err();
        assert_eq!(refused, Misbehaviour::WideMask { position: 4 }.into());
    }
}
