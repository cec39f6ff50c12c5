//! The masks that a sender of the OT-based protocols returns: several lists of one mask for each of its items.
//!
//! Every list holds a mask of every item, at the same place: the sender draws one random order for all. So a place says
//! nothing, and the place of a match stands for an item whichever list it was found in. A list answers for one way in
//! which the receiver can hold an item, one hash function or one place of the stash; the receiver looks in the list of the
//! way in which it holds an item and in no other, so that n_r · n_s pairs of masks are compared and ℓ bits are enough.
//!
//! A list is looked through as it comes, and the receiver keeps nothing of it. The sender fills one while the one before it
//! leaves, piece by piece ([`Departing`]), so that both parties always have work. The receiver takes what has
//! come between its own sends, on [`Channel::send`], which makes way for what comes in while it waits; so neither side
//! blocks the other.

use std::convert::Infallible;

use vesica_channel::{Channel, RecvHalf, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::join::{Collection, Lookup, PackedTags};
use vesica_crypto::memory::large_vec;
use vesica_crypto::par;
use vesica_crypto::partitions::Partitions;

use crate::error::{Error, Misbehaviour};
use crate::masks::MaskWidth;
use crate::protocol::{Phase, Run};

/// Bytes handled between two reports of progress.
const PIECE: usize = 1 << 18;

/// Places whose masks are put in order at a time, which fit the second-level cache.
const STRETCH: usize = 1 << 15;

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
        put(mask, &mut self.bytes[(list * self.items + place) * width..][..width]);
    }

    /// Sends all lists, which end the message, in a phase of their own.
    pub(super) fn send(&self, run: &Run<'_>, channel: &mut dyn SendHalf) -> Result<(), Error> {
        run.phase(Phase::Exchange, self.bytes.len());
        self.send_part(run, channel)?;
        Ok(channel.flush()?)
    }
}

impl MaskLists {
    /// Sends these lists, of more that the message has.
    pub(super) fn send_part(&self, run: &Run<'_>, channel: &mut dyn SendHalf) -> Result<(), Error> {
        for piece in self.bytes.chunks(PIECE) {
            channel.send(piece)?;
            run.advance(piece.len())?;
        }
        Ok(())
    }
}

/// The sender's lists where each is made after the other. Masks are made in the order of the bins and leave in that of their
/// places: they are dealt to stretches of places, each of which is put in order when it leaves. What has left makes room
/// for the next list.
pub(super) struct Departing {
    width: MaskWidth,
    items: usize,
    /// The stretches of the list in the making and of the one before it, by turns: masks, each above its place in the stretch.
    partitions: Partitions<u128>,
    /// Lists that are complete, and how many stretches of the last of these have left.
    complete: usize,
    left: usize,
    records: Vec<u128>,
    bytes: Vec<u8>,
}

impl Departing {
    /// Lists of a mask for each of `items` items, which number fewer than 2^32.
    pub(super) fn new(width: MaskWidth, items: usize) -> Self {
        let stretches = items.div_ceil(STRETCH);
        let partitions = Partitions::new(2 * stretches, width.bytes() + size_of::<u16>(), items);
        Self {
            width,
            items,
            partitions,
            complete: 0,
            left: stretches,
            records: Vec::new(),
            bytes: Vec::new(),
        }
    }

    fn stretches(&self) -> usize {
        self.partitions.buckets() / 2
    }

    /// Puts the first ℓ bits of `hash` at `place` of the list in the making.
    #[inline]
    pub(super) fn set(&mut self, place: usize, hash: u128) {
        let mask = self.width.truncate(&hash.to_le_bytes());
        let bucket = self.complete % 2 * self.stretches() + place / STRETCH;
        self.partitions.push(bucket, mask << u16::BITS | (place % STRETCH) as u128);
    }

    /// Puts the hashes at the places that go with them.
    #[inline]
    pub(super) fn set_all(&mut self, places: impl Iterator<Item = u32>, hashes: &[Block]) {
        for (place, hash) in places.zip(hashes) {
            self.set(place as usize, hash.to_u128());
        }
    }

    /// Sends as much of the list that leaves as `done` of `all` steps of the next one ask for.
    pub(super) fn advance(
        &mut self,
        done: usize,
        all: usize,
        channel: &mut dyn SendHalf,
    ) -> Result<(), Error> {
        let until = (self.stretches() as u128 * done as u128 / all as u128) as usize;
        while self.left < until {
            self.leave(channel)?;
        }
        Ok(())
    }

    /// The list in the making is complete: what is left of the one before it leaves; then, if it is the `last`, this one.
    pub(super) fn complete(
        &mut self,
        run: &Run<'_>,
        last: bool,
        channel: &mut dyn SendHalf,
    ) -> Result<(), Error> {
        run.apart(Phase::Exchange, || self.advance(1, 1, channel))?;
        self.complete += 1;
        self.left = 0;
        if last {
            run.phase(Phase::Exchange, self.items * self.width.bytes());
            while self.left < self.stretches() {
                self.leave(channel)?;
                run.advance(self.bytes.len())?;
            }
            channel.flush()?;
        }
        Ok(())
    }

    /// The next stretch of the list that leaves.
    fn leave(&mut self, channel: &mut dyn SendHalf) -> Result<(), Error> {
        let width = self.width.bytes();
        let bucket = (self.complete + 1) % 2 * self.stretches() + self.left;
        self.bytes.resize(STRETCH.min(self.items - self.left * STRETCH) * width, 0);
        while self.partitions.take(bucket, &mut self.records) {
            for record in &self.records {
                let place = *record as usize % STRETCH;
                put(record >> u16::BITS, &mut self.bytes[place * width..][..width]);
            }
        }
        self.left += 1;
        Ok(channel.send(&self.bytes)?)
    }
}

/// Writes a mask to a slot as wide as it.
#[inline]
fn put(mask: u128, slot: &mut [u8]) {
    let width = slot.len();
    let Some(low) = slot.first_chunk_mut::<8>() else {
        return slot.copy_from_slice(&mask.to_le_bytes()[..width]);
    };
    // Two words that overlap where the width is less than sixteen.
    *low = (mask as u64).to_le_bytes();
    if let Some(high) = slot.last_chunk_mut::<8>() {
        *high = ((mask >> (8 * (width - 8))) as u64).to_le_bytes();
    }
}

/// What the receiver looks for in one list.
pub(super) struct Sought(Collection);

impl Sought {
    /// Masks of about `count` items.
    pub(super) fn new(width: MaskWidth, count: usize) -> Self {
        Self(Collection::new(width.bits(), count))
    }

    /// `item` is in the intersection if the list has the first ℓ bits of `hash`.
    #[inline]
    pub(super) fn push(&mut self, width: MaskWidth, hash: u128, item: u32) {
        self.0.push(width.truncate(&hash.to_le_bytes()), item);
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
        let sought = (0..lists).map(|_| Sought::new(width, 0)).collect();
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
    pub(super) fn take_ready(&mut self, lists: usize, channel: &mut dyn Channel) -> Result<(), Error> {
        while self.list < lists && channel.readable() >= self.piece() * self.width.bytes() {
            self.take(channel.split().1)?;
            self.run.advance(0)?;
        }
        Ok(())
    }

    /// Waits for what is still to come. Gives pairs (item of mine, place in the lists).
    pub(super) fn finish(mut self, channel: &mut dyn RecvHalf) -> Result<Vec<(u32, u32)>, Error> {
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
    fn take(&mut self, channel: &mut dyn RecvHalf) -> Result<usize, Error> {
        let (masks, width) = (self.piece(), self.width.bytes());
        self.bytes.resize(masks * width, 0);
        self.run.apart(Phase::Exchange, || channel.recv_exact(&mut self.bytes))?;
        self.run.progress.count(Some(Phase::Compare));
        let first = self.list * self.count + self.taken;
        check(self.width, &self.bytes).map_err(|place| Misbehaviour::WideMask { position: first + place })?;
        let sought = &mut self.sought[self.list];
        let lookup = self
            .lookup
            .get_or_insert_with(|| Lookup::new(std::mem::replace(sought, Sought::new(self.width, 0)).0));
        let part = masks.div_ceil(self.run.threads.min(PIECES));
        let mut found = vec![Vec::new(); masks.div_ceil(part)];
        let parts = self.bytes.chunks(part * width).zip(&mut found);
        let Ok(()) = par::for_each(self.run.threads, parts, |number, (bytes, found)| {
            let first = self.taken + number * part;
            lookup.find(&PackedTags::new(bytes, width), |item, place| {
                found.push((item, (first + place) as u32));
            });
            Ok::<_, Infallible>(())
        });
        found.iter().for_each(|found| self.pairs.extend_from_slice(found));
        self.taken += masks;
        if self.taken == self.count {
            (self.list, self.taken, self.lookup) = (self.list + 1, 0, None);
        }
        self.run.progress.count(None);
        Ok(masks)
    }
}

/// Receives one list, whose first mask has number `first` among all.
pub(super) fn recv_one(
    run: &Run<'_>,
    width: MaskWidth,
    first: usize,
    bytes: &mut [u8],
    channel: &mut dyn RecvHalf,
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
    use crate::Parameters;
    use crate::protocol::Sizes;
    use crate::testing::run_of;
    use vesica_crypto::hash::Context;
    use vesica_net::{Options, memory};

    fn run(sizes: Sizes) -> Run<'static> {
        run_of(Context::new(&[1; 32], "lists", b"", 1, 1), sizes, Parameters::default())
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
                lists.set_all(places.iter().copied(), hashes);
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
