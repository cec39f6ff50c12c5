//! Masks out, join in: PSI from an OPRF with several functions. The sender sends a list of masks for each
//! function, and the receiver looks its own masks up.
//!
//! A mask is an output of the [OPRF](crate::oprf), cut to ℓ bits. Every list holds a mask of every item, at
//! the same position: the sender draws one random order for all lists. So a position says nothing, and the
//! position of a match stands for an item, whichever list it was found in. The receiver looks for an item in
//! the list of the function under which it holds the item, and in no other, so n_r · n_s pairs of masks are
//! compared and ℓ bits are enough.
//!
//! Both parties always have work. The sender fills one list while the one before it leaves
//! ([`OutgoingLists`]). The receiver looks through what has come between its own sends ([`MaskMatcher`]), and
//! keeps nothing of it. While one of its sends is blocked, the channel buffers what the sender sends, so
//! neither side blocks the other.

use std::convert::Infallible;

use vesica_channel::{Channel, RecvHalf, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::join::{Collection, Lookup, PackedTags};
use vesica_crypto::memory::large_vec;
use vesica_crypto::par;
use vesica_crypto::partitions::Partitions;
use vesica_encode::items::Items;

use crate::error::{Error, Misbehaviour};
use crate::masks::MaskWidth;
use crate::oprf::{EvaluationSink, OprfReceiver, OprfSender, OutputSink};
use crate::protocol::{Ctx, Learns, Phase, Run};

/// Bytes of masks handled between two reports of progress.
const CHUNK: usize = 1 << 18;

/// Chunks that several threads look at together, at most.
const MOST_CHUNKS: usize = 8;

/// Positions of a segment of a list: its masks are put in order together, in the second-level cache.
const SEGMENT: usize = 1 << 15;

/// The receiver's steps: its outputs are looked for in the sender's lists, one for each of the OPRF's
/// `functions`. Gives pairs (item of mine, position in the sender's lists).
pub(crate) fn receive(
    ctx: &mut Ctx<'_, '_>,
    width: MaskWidth,
    functions: usize,
    items: &Items,
    oprf: impl OprfReceiver,
) -> Result<Vec<(u32, u32)>, Error> {
    let mut matcher = MaskMatcher::new(ctx.run, width, ctx.run.sizes.sender, functions);
    oprf.evaluate(items, ctx.channel, &mut matcher)?;
    matcher.drain(ctx.channel.split().1)
}

/// The sender's steps: its outputs leave as lists in one random order. Gives the item at each position, where
/// both parties learn the result.
pub(crate) fn send(
    ctx: &mut Ctx<'_, '_>,
    width: MaskWidth,
    functions: usize,
    items: &Items,
    oprf: impl OprfSender,
) -> Result<Vec<u32>, Error> {
    let positions = items.shuffled(ctx.rng);
    let order = if ctx.run.learns == Learns::Both { inverse(&positions) } else { Vec::new() };
    let mut lists = OutgoingLists::new(ctx.run, width, functions, items.len());
    oprf.evaluate_all(items, move |item| positions[item], ctx.channel, &mut lists)?;
    Ok(order)
}

/// The item at each position, given the position of each item.
fn inverse(positions: &[u32]) -> Vec<u32> {
    let mut order = large_vec(0, positions.len());
    (0..).zip(positions).for_each(|(item, position)| order[*position as usize] = item);
    order
}

/// The sender's lists, made one after the other. Masks are made in the order of the bins and leave in that of
/// their positions, so a list is partitioned into segments, and each segment is put in order when it leaves.
/// A segment that has left makes room for the next list.
struct OutgoingLists<'a> {
    run: &'a Run<'a>,
    width: MaskWidth,
    lists: usize,
    items: usize,
    /// The segments of the list in the making and of the one before it, by turns: masks, each above its
    /// position in the segment.
    partitions: Partitions<u128>,
    /// Lists that are completed, and segments of the last of these that are sent.
    completed: usize,
    sent: usize,
    records: Vec<u128>,
    bytes: Vec<u8>,
}

impl<'a> OutgoingLists<'a> {
    /// Lists of a mask for each of `items` items, which number fewer than 2^32.
    fn new(run: &'a Run<'a>, width: MaskWidth, lists: usize, items: usize) -> Self {
        let segments = items.div_ceil(SEGMENT);
        let partitions = Self::partitions(width, segments, 0);
        let (records, bytes) = (Vec::new(), Vec::new());
        Self { run, width, lists, items, partitions, completed: 0, sent: segments, records, bytes }
    }

    fn partitions(width: MaskWidth, segments: usize, records: usize) -> Partitions<u128> {
        Partitions::new(2 * segments, width.bytes() + size_of::<u16>(), records)
    }

    fn segments(&self) -> usize {
        self.partitions.buckets() / 2
    }

    /// Sends the next segment of the list that leaves.
    fn send_segment(&mut self, channel: &mut dyn SendHalf) -> Result<(), Error> {
        let width = self.width.bytes();
        let bucket = (self.completed + 1) % 2 * self.segments() + self.sent;
        self.bytes.resize(SEGMENT.min(self.items - self.sent * SEGMENT) * width, 0);
        while self.partitions.take(bucket, &mut self.records) {
            for record in &self.records {
                let position = *record as usize % SEGMENT;
                put(record >> u16::BITS, &mut self.bytes[position * width..][..width]);
            }
        }
        self.sent += 1;
        Ok(channel.send(&self.bytes)?)
    }
}

impl EvaluationSink for OutgoingLists<'_> {
    /// Memory for the lists is taken with the first list: after that of the sender's keys, so that the lists
    /// are at the end of the heap and can grow where they are.
    fn begin(&mut self, function: usize, count: usize) {
        if function == 0 {
            self.partitions = Self::partitions(self.width, self.segments(), count);
        }
    }

    #[inline]
    fn put(&mut self, positions: impl Iterator<Item = u32>, outputs: &[Block]) {
        for (position, output) in positions.zip(outputs) {
            let (position, mask) = (position as usize, self.width.truncate(output.as_bytes()));
            let bucket = self.completed % 2 * self.segments() + position / SEGMENT;
            self.partitions.push(bucket, mask << u16::BITS | (position % SEGMENT) as u128);
        }
    }

    /// Sends as much of the list that leaves as `done` of `all` steps of the next one ask for.
    fn send_due(&mut self, done: usize, all: usize, channel: &mut dyn SendHalf) -> Result<(), Error> {
        let until = (self.segments() as u128 * done as u128 / all as u128) as usize;
        while self.sent < until {
            self.send_segment(channel)?;
        }
        Ok(())
    }

    /// Sends what remains of the list before the completed one; behind the last list, that list as well.
    fn complete(&mut self, channel: &mut dyn SendHalf) -> Result<(), Error> {
        let run = self.run;
        run.in_phase(Phase::Exchange, || self.send_due(1, 1, channel))?;
        self.completed += 1;
        self.sent = 0;
        if self.completed == self.lists {
            run.phase(Phase::Exchange, self.items * self.width.bytes());
            while self.sent < self.segments() {
                self.send_segment(channel)?;
                run.advance(self.bytes.len())?;
            }
            channel.flush()?;
        }
        Ok(())
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

/// The masks that the receiver looks for in one list, each with its item.
type MaskIndex = Collection;

/// Looks for the receiver's masks in the lists of a sender with `count` items, as they come in.
struct MaskMatcher<'a> {
    run: &'a Run<'a>,
    width: MaskWidth,
    count: usize,
    /// One for each list.
    wanted: Vec<MaskIndex>,
    /// The list that comes next, and how many of its masks have come.
    list: usize,
    taken: usize,
    lookup: Option<Lookup>,
    bytes: Vec<u8>,
    pairs: Vec<(u32, u32)>,
}

impl<'a> MaskMatcher<'a> {
    fn new(run: &'a Run<'a>, width: MaskWidth, count: usize, lists: usize) -> Self {
        let wanted = (0..lists).map(|_| MaskIndex::new(width.bits(), 0)).collect();
        let (bytes, pairs) = (Vec::new(), Vec::new());
        Self { run, width, count, wanted, list: 0, taken: 0, lookup: None, bytes, pairs }
    }

    /// Waits for what is still to come. Gives pairs (item of mine, position in the lists).
    fn drain(mut self, channel: &mut dyn RecvHalf) -> Result<Vec<(u32, u32)>, Error> {
        let remaining = (self.wanted.len() - self.list) * self.count - self.taken;
        self.run.phase(Phase::Exchange, remaining * self.width.bytes());
        while self.list < self.wanted.len() {
            let masks = self.take(channel)?;
            self.run.advance(masks * self.width.bytes())?;
        }
        Ok(self.pairs)
    }

    /// Masks that are taken together next. They end with their list.
    fn next(&self) -> usize {
        (CHUNK / self.width.bytes() * self.run.threads.min(MOST_CHUNKS)).min(self.count - self.taken)
    }

    /// Takes the next masks, and says how many.
    fn take(&mut self, channel: &mut dyn RecvHalf) -> Result<usize, Error> {
        let (masks, width) = (self.next(), self.width.bytes());
        self.bytes.resize(masks * width, 0);
        self.run.in_phase(Phase::Exchange, || channel.recv_exact(&mut self.bytes))?;
        self.run.progress.attribute_time(Some(Phase::Compare));
        let first = self.list * self.count + self.taken;
        check(self.width, &self.bytes).map_err(|at| Misbehaviour::WideMask { position: first + at })?;
        let wanted = &mut self.wanted[self.list];
        let bits = self.width.bits();
        let lookup = self
            .lookup
            .get_or_insert_with(|| Lookup::new(std::mem::replace(wanted, MaskIndex::new(bits, 0))));
        let part = masks.div_ceil(self.run.threads.min(MOST_CHUNKS));
        let mut found = vec![Vec::new(); masks.div_ceil(part)];
        let parts = self.bytes.chunks(part * width).zip(&mut found);
        let Ok(()) = par::for_each(self.run.threads, parts, |number, (bytes, found)| {
            let first = self.taken + number * part;
            lookup.find(&PackedTags::new(bytes, width), |item, position| {
                found.push((item, (first + position) as u32));
            });
            Ok::<_, Infallible>(())
        });
        found.iter().for_each(|found| self.pairs.extend_from_slice(found));
        self.taken += masks;
        if self.taken == self.count {
            (self.list, self.taken, self.lookup) = (self.list + 1, 0, None);
        }
        self.run.progress.attribute_time(None);
        Ok(masks)
    }
}

impl OutputSink for MaskMatcher<'_> {
    fn begin(&mut self, function: usize, count: usize) {
        self.wanted[function] = MaskIndex::new(self.width.bits(), count);
    }

    #[inline]
    fn put(&mut self, function: usize, outputs: &[Block], item: impl Fn(usize) -> Option<u32> + Sync) {
        let wanted = &mut self.wanted[function];
        for (i, output) in outputs.iter().enumerate() {
            if let Some(item) = item(i) {
                wanted.push(self.width.truncate(output.as_bytes()), item);
            }
        }
    }

    /// Looks through what has come of the first `functions` lists.
    fn receive_available(&mut self, functions: usize, channel: &mut dyn Channel) -> Result<(), Error> {
        while self.list < functions && channel.readable() >= self.next() * self.width.bytes() {
            self.take(channel.split().1)?;
            self.run.advance(0)?;
        }
        Ok(())
    }
}

/// Lists that are all made before the first one leaves, or one list at a time, as they travel.
pub(crate) struct MaskLists {
    width: MaskWidth,
    items: usize,
    bytes: Vec<u8>,
}

impl MaskLists {
    /// `lists` lists of a mask for each of `items` items; all zero.
    pub(crate) fn new(width: MaskWidth, lists: usize, items: usize) -> Self {
        Self { width, items, bytes: large_vec(0, lists * items * width.bytes()) }
    }

    /// Puts the first ℓ bits of `output` at `position` of `list`.
    #[inline]
    pub(crate) fn set(&mut self, list: usize, position: usize, output: u128) {
        let (width, mask) = (self.width.bytes(), self.width.truncate(&output.to_le_bytes()));
        put(mask, &mut self.bytes[(list * self.items + position) * width..][..width]);
    }

    /// Sends these lists. More can follow.
    pub(crate) fn send(&self, run: &Run<'_>, channel: &mut dyn SendHalf) -> Result<(), Error> {
        for chunk in self.bytes.chunks(CHUNK) {
            channel.send(chunk)?;
            run.advance(chunk.len())?;
        }
        Ok(())
    }
}

/// Receives one list, whose first mask has number `first` among all.
pub(crate) fn recv_one(
    run: &Run<'_>,
    width: MaskWidth,
    first: usize,
    bytes: &mut [u8],
    channel: &mut dyn RecvHalf,
) -> Result<(), Error> {
    for chunk in bytes.chunks_mut(CHUNK) {
        channel.recv_exact(chunk)?;
        run.advance(chunk.len())?;
    }
    check(width, bytes).map_err(|at| Misbehaviour::WideMask { position: first + at }.into())
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
    use crate::parameters::{Parameters, STATISTICAL_SECURITY};
    use crate::protocol::Sizes;
    use crate::testing::run_of;
    use vesica_channel::memory;
    use vesica_crypto::hash::Context;

    fn run(sizes: Sizes) -> Run<'static> {
        run_of(Context::new(&[1; 32], "lists", b"", 1, 1), sizes, Parameters::default())
    }

    #[test]
    fn a_mask_is_found_in_its_list_alone() {
        for count in [1, 300, 40_000] {
            let sizes = Sizes { receiver: 3, sender: count };
            let width = MaskWidth::for_sizes(sizes, STATISTICAL_SECURITY).unwrap();
            let mut lists = MaskLists::new(width, 2, count);
            let hash = |list: usize, position: usize| {
                (u128::MAX / 7)
                    .wrapping_mul((1 + list + 2 * position) as u128)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            };
            for list in 0..2 {
                for position in 0..count {
                    lists.set(list, position, hash(list, position));
                }
            }
            for (threads, early) in [(1, false), (1, true), (3, true)] {
                let mine = Run { threads, ..run(sizes) };
                let mut matcher = MaskMatcher::new(&mine, width, count, 2);
                matcher.wanted[0].push(width.truncate(&hash(0, count - 1).to_le_bytes()), 5);
                matcher.wanted[0].push(width.truncate(&hash(1, 0).to_le_bytes()), 6);
                matcher.wanted[1].push(width.truncate(&hash(1, 0).to_le_bytes()), 7);
                let (mut a, mut b) = memory::pair();
                lists.send(&run(sizes), a.split().0).unwrap();
                a.flush().unwrap();
                if early {
                    matcher.receive_available(1, &mut b).unwrap();
                    assert_eq!(matcher.list, 1);
                }
                assert_eq!(matcher.drain(b.split().1).unwrap(), [(5, count as u32 - 1), (7, 0)]);
                assert_eq!(a.traffic().payload_sent, (2 * count * width.bytes()) as u64);
            }
        }
    }

    #[test]
    fn lists_that_leave_segment_by_segment_are_those_that_were_made() {
        let count = 100_000;
        let sizes = Sizes { receiver: 3, sender: count };
        let width = MaskWidth::for_sizes(sizes, STATISTICAL_SECURITY).unwrap();
        let (mut a, mut b) = memory::pair();
        let run = run(sizes);
        let (mut lists, mut expected) = (OutgoingLists::new(&run, width, 3, count), Vec::new());
        for list in 0..3u128 {
            // Every position once, far apart.
            let positions: Vec<u32> = (0..count).map(|i| (i * 7919 % count) as u32).collect();
            let hashes: Vec<Block> = (0..count as u128).map(|i| Block::from_u128(i << 8 | list)).collect();
            for (done, (positions, hashes)) in (1..).zip(positions.chunks(999).zip(hashes.chunks(999))) {
                lists.put(positions.iter().copied(), hashes);
                lists.send_due(done, count.div_ceil(999), a.split().0).unwrap();
            }
            let mut all = MaskLists::new(width, 1, count);
            positions
                .iter()
                .zip(&hashes)
                .for_each(|(position, hash)| all.set(0, *position as usize, hash.to_u128()));
            expected.extend(all.bytes);
            lists.complete(a.split().0).unwrap();
        }
        let mut bytes = vec![0; expected.len()];
        b.split().1.recv_exact(&mut bytes).unwrap();
        assert!(bytes == expected);
        assert_eq!(a.traffic().payload_sent, expected.len() as u64);
    }

    #[test]
    fn a_wide_mask_is_refused() {
        let sizes = Sizes { receiver: 4, sender: 3 };
        let width = MaskWidth::for_sizes(sizes, STATISTICAL_SECURITY).unwrap();
        assert_eq!(width.bits(), 44);
        let (mut a, mut b) = memory::pair();
        let mut bytes = [0; 36];
        bytes[5 * 6 - 1] = 0x10;
        a.send(&bytes).unwrap();
        a.flush().unwrap();
        let run = run(sizes);
        let refused = MaskMatcher::new(&run, width, 3, 2).drain(b.split().1).map(|_| ()).unwrap_err();
        assert_eq!(refused, Misbehaviour::WideMask { position: 4 }.into());
    }
}
