//! The online phase's filters: the receiver's bits and its permutation of the OTs, and both parties' sums of
//! strings.
//!
//! Work goes *band by band*: the four slices whose positions come from one block of an item. A band begins
//! with a word of the filter. The groups of the permutation are sent, and used, as soon as they cover a band,
//! so both parties work at the same time, and what they read at random is the strings of one band. Inside a
//! band it goes by tasks of items.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::memory::{Wiped, large_capacity, large_vec, large_zeros, prefetch};
use vesica_crypto::par;
use vesica_encode::bloom::{Bin, FilterPositions, FilterShape, SLICES_PER_BLOCK};

use super::draws::challenge;
use super::parameters::{Rr16Parameters, WORD};
use super::state::{OfflineReceiver, OfflineSender, RowHashes};
use crate::error::{Error, Misbehaviour};
use crate::protocol::Run;

/// Items of a task.
const ITEMS: usize = 1 << 14;

/// Strings that are picked at a time, each prefetched before the first is read.
const PICKED: usize = 256;

/// Groups whose permutation is made, or checked, at a time.
const GROUPS: usize = 32;

/// Where the slices of a filter are among its slots.
#[derive(Clone, Copy)]
struct Layout {
    shape: FilterShape,
    /// Slots of a band.
    band: usize,
}

impl Layout {
    fn of(parameters: &Rr16Parameters) -> Self {
        let shape = parameters.shape();
        Self { shape, band: (SLICES_PER_BLOCK * shape.slots()).next_multiple_of(WORD) }
    }

    fn bands(self) -> usize {
        self.shape.hashes().div_ceil(SLICES_PER_BLOCK)
    }

    /// Slices of a band.
    fn slices(self, band: usize) -> usize {
        SLICES_PER_BLOCK.min(self.shape.hashes() - band * SLICES_PER_BLOCK)
    }

    /// Groups that cover everything up to the end of a band.
    fn groups_until(self, band: usize, parameters: &Rr16Parameters) -> usize {
        ((band + 1) * self.band).div_ceil(parameters.kept()).min(parameters.groups())
    }
}

/// The items of the one bin of the filter, by tasks.
fn tasks(positions: &FilterPositions) -> Vec<Bin<'_>> {
    positions.bins().flat_map(|bin| bin.chunks(ITEMS)).collect()
}

/// Adds to each item's sum the strings at its positions in a band; `pick` gives those of so many slots.
fn add_band<P: Fn(usize, &[u32], &mut [[Block; 1]]) + Sync>(
    threads: usize,
    (layout, band): (Layout, usize),
    positions: &FilterPositions,
    sums: &mut [[Block; 1]],
    pick: P,
) {
    let tasks = tasks(positions).into_iter().zip(sums.chunks_mut(ITEMS));
    let Ok(()) = par::for_each(threads, tasks, |_, (part, sums)| {
        let (mut blocks, mut lists) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
        let mut picked = Wiped::from(vec![[Block::ZERO]; PICKED]);
        part.positions(band, &mut blocks, &mut lists);
        for (slice, slots) in lists.iter().enumerate().take(layout.slices(band)) {
            let start = slice * layout.shape.slots();
            for (slots, sums) in slots.chunks(PICKED).zip(sums.chunks_mut(PICKED)) {
                let picked = &mut picked[..slots.len()];
                pick(start, slots, picked);
                for (sum, string) in sums.iter_mut().zip(&*picked) {
                    sum[0] ^= string[0];
                }
            }
        }
        Ok::<_, std::convert::Infallible>(())
    });
}

/// The receiver's Bloom filter over its unopened OTs.
pub(super) struct ReceiverFilter<'a> {
    offline: OfflineReceiver,
    positions: &'a FilterPositions,
    layout: Layout,
    /// The filter, and for each word of it the number of the string that its first set slot has.
    words: Wiped<u64>,
    strings: Vec<u32>,
}

impl<'a> ReceiverFilter<'a> {
    /// The filter of the items.
    pub(super) fn new(run: &Run<'_>, offline: OfflineReceiver, positions: &'a FilterPositions) -> Self {
        let layout = Layout::of(&offline.parameters);
        let mut words: Wiped<u64> = Wiped::from(large_zeros(offline.parameters.all_slots() / WORD));
        let strings = large_zeros(words.len());
        let bands = words.chunks_mut(layout.band / WORD).take(layout.bands());
        let Ok(()) = par::for_each(run.threads, bands, |band, words| {
            let (mut blocks, mut lists) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
            for part in tasks(positions) {
                part.positions(band, &mut blocks, &mut lists);
                for (slice, slots) in lists.iter().enumerate().take(layout.slices(band)) {
                    let start = slice * layout.shape.slots();
                    for slot in slots.iter().map(|&slot| start + slot as usize) {
                        words[slot / WORD] |= 1 << (slot % WORD);
                    }
                }
            }
            Ok::<_, std::convert::Infallible>(())
        });
        Self { offline, positions, layout, words, strings }
    }

    /// The groups of the permutation.
    pub(super) fn groups(&self) -> usize {
        self.offline.parameters.groups()
    }

    /// Sends the permutation, and gives each item's sum of strings. The filter goes.
    pub(super) fn permute_and_sum(
        mut self,
        run: &Run<'_>,
        channel: &mut dyn Channel,
    ) -> Result<Wiped<[Block; 1]>, Error> {
        let mut sums = Wiped::from(large_vec([Block::ZERO], self.positions.items().len()));
        let (mut sent, mut bytes) = (0, Vec::new());
        for band in 0..self.layout.bands() {
            let last = band + 1 == self.layout.bands();
            let until =
                if last { self.groups() } else { self.layout.groups_until(band, &self.offline.parameters) };
            while sent < until {
                let groups = GROUPS.min(until - sent);
                self.permute(run.threads, sent, groups, &mut bytes)?;
                channel.send(&bytes)?;
                sent += groups;
                run.advance(groups)?;
            }
            channel.flush()?;
            self.add(run.threads, band, &mut sums);
        }
        Ok(sums)
    }

    /// Step 5, the permutation of some groups: slots that are set take OTs from the front of the group's order,
    /// others from its back.
    fn permute(
        &mut self,
        threads: usize,
        first: usize,
        groups: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let parameters = &self.offline.parameters;
        let (kept, ones_of_group) = (parameters.kept(), parameters.ones());
        bytes.resize(groups * kept * 2, 0);
        let words = self.words[first * kept / WORD..].chunks(kept / WORD);
        let strings = self.strings[first * kept / WORD..].chunks_mut(kept / WORD);
        let orders = self.offline.order[first * kept..].chunks(kept).zip(&self.offline.ones[first..]);
        let tasks = words.zip(strings).zip(orders).zip(bytes.chunks_mut(kept * 2));
        par::for_each(threads, tasks, |group, (((words, strings), (order, &ones)), bytes)| {
            let room = ((first + group) * ones_of_group) as u32;
            let set: u32 = words.iter().map(|word| word.count_ones()).sum();
            if set > ones {
                return Err(Error::Chance(
                    "my items need more OTs of choice 1 than a part of the filter has",
                ));
            }
            // No bounds: the front and the back of the order meet after `kept` slots.
            let (order, mut front, mut done) = (&order[..kept], 0, 0);
            for ((word, string), bytes) in words.iter().zip(strings).zip(bytes.as_chunks_mut().0) {
                *string = room + front as u32;
                let bytes: &mut [u8; 2 * WORD] = bytes;
                for (bit, bytes) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
                    let is_set = (word >> bit & 1) as usize;
                    let back = kept - 1 - (done + bit - front);
                    // Without a branch: front if the slot is set.
                    let at = back ^ ((front ^ back) & is_set.wrapping_neg());
                    *bytes = order[at].to_le_bytes();
                    front += is_set;
                }
                done += WORD;
            }
            Ok(())
        })
    }

    /// 7. Adds the strings of a band.
    fn add(&self, threads: usize, band: usize, sums: &mut [[Block; 1]]) {
        let begin = band * self.layout.band / WORD;
        let (words, firsts) = (&self.words[begin..], &self.strings[begin..]);
        let strings = &self.offline.strings[..];
        add_band(threads, (self.layout, band), self.positions, sums, |start, slots, picked| {
            let mut numbers = [0u32; PICKED];
            for (number, &slot) in numbers.iter_mut().zip(slots) {
                let at = start + slot as usize;
                let before = words[at / WORD] & ((1 << (at % WORD)) - 1);
                *number = firsts[at / WORD] + before.count_ones();
                prefetch(strings, *number as usize);
            }
            for (string, &number) in picked.iter_mut().zip(&numbers) {
                string[0] = strings[number as usize];
            }
        });
    }
}

#[cfg(any(test, feature = "testing"))]
impl ReceiverFilter<'_> {
    /// Sets as many slots of each group as it has ones, from the first on.
    pub(super) fn fill(&mut self) {
        let kept = self.offline.parameters.kept();
        for (words, &ones) in self.words.chunks_mut(kept / WORD).zip(&self.offline.ones) {
            let mut left = ones;
            for word in words {
                *word = u64::MAX.checked_shr(u64::BITS.saturating_sub(left)).unwrap_or(0);
                left = left.saturating_sub(u64::BITS);
            }
        }
    }

    /// Which slots are set.
    pub(super) fn set(&self) -> Vec<bool> {
        self.words.iter().flat_map(|word| (0..WORD).map(move |bit| word >> bit & 1 == 1)).collect()
    }

    /// Whether all positions of each item are set.
    pub(super) fn holds(&self) -> Vec<bool> {
        let mut holds = vec![true; self.positions.items().len()];
        for band in 0..self.layout.bands() {
            let (mut blocks, mut lists) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
            for (part, holds) in tasks(self.positions).into_iter().zip(holds.chunks_mut(ITEMS)) {
                part.positions(band, &mut blocks, &mut lists);
                for (slice, slots) in lists.iter().enumerate().take(self.layout.slices(band)) {
                    let start = band * self.layout.band + slice * self.layout.shape.slots();
                    for (holds, slot) in holds.iter_mut().zip(slots.iter().map(|&slot| start + slot as usize))
                    {
                        *holds &= self.words[slot / WORD] >> (slot % WORD) & 1 == 1;
                    }
                }
            }
        }
        holds
    }
}

/// The sender's rows under the receiver's permutation.
pub(super) struct SenderFilter<'a> {
    offline: OfflineSender,
    positions: &'a FilterPositions,
    layout: Layout,
    hashes: RowHashes,
    /// π of the groups from `first` on that have arrived, up to `received`.
    permutation: Vec<u16>,
    /// The bytes of some groups, as they come.
    bytes: Vec<u8>,
    first: usize,
    received: usize,
}

impl<'a> SenderFilter<'a> {
    pub(super) fn new(offline: OfflineSender, positions: &'a FilterPositions) -> Self {
        let (layout, hashes) = (Layout::of(&offline.parameters), RowHashes::of(&offline.id));
        // What a band needs, and the last of its groups, of which the next band begins.
        let groups = layout.band.div_ceil(offline.parameters.kept()) + GROUPS + 1;
        let permutation = large_capacity(groups * offline.parameters.kept());
        Self { offline, positions, layout, hashes, permutation, bytes: Vec::new(), first: 0, received: 0 }
    }

    /// Receives the permutation, and gives each item's sum of strings. The rows go.
    pub(super) fn sums(
        mut self,
        run: &Run<'_>,
        channel: &mut dyn Channel,
    ) -> Result<Wiped<[Block; 1]>, Error> {
        let mut sums = Wiped::from(large_vec([Block::ZERO], self.positions.items().len()));
        let parameters = self.offline.parameters;
        for band in 0..self.layout.bands() {
            let last = band + 1 == self.layout.bands();
            let until = if last { parameters.groups() } else { self.layout.groups_until(band, &parameters) };
            self.forget_until(band * self.layout.band / parameters.kept());
            while self.received < until {
                let groups = GROUPS.min(until - self.received);
                self.receive(run.threads, groups, channel)?;
                run.advance(groups)?;
            }
            self.add(run.threads, band, &mut sums);
        }
        Ok(sums)
    }

    /// Drops π of the groups before number `group`.
    fn forget_until(&mut self, group: usize) {
        self.permutation.drain(..(group - self.first) * self.offline.parameters.kept());
        self.first = group;
    }

    /// Receives π of the next groups. It must be a bijection of the slots and the unopened OTs of each.
    fn receive(&mut self, threads: usize, groups: usize, channel: &mut dyn Channel) -> Result<(), Error> {
        let (parameters, offline) = (&self.offline.parameters, &self.offline);
        let kept = parameters.kept();
        self.bytes.resize(groups * kept * 2, 0);
        channel.recv_exact(&mut self.bytes)?;
        let (length, first) = (self.permutation.len(), self.received);
        let ots = parameters.ots_of_group() as usize;
        self.permutation.resize(length + groups * kept, 0);
        let tasks = self.bytes.chunks(kept * 2).zip(self.permutation[length..].chunks_mut(kept));
        par::for_each(threads, tasks, |group, (bytes, permutation)| {
            let group = first + group;
            let (mut opened, mut marks) = (vec![0; parameters.opened()], vec![0; ots]);
            // Opened OTs are marked; then each slot marks its own. All are marked if and only if no two marks
            // fell together. A number too large marks none of them.
            challenge(offline.challenge_of(group), group as u64, &mut opened, &mut marks);
            for (number, bytes) in permutation.iter_mut().zip(bytes.as_chunks().0) {
                *number = u16::from_le_bytes(*bytes);
                if let Some(mark) = marks.get_mut(usize::from(*number)) {
                    *mark = 1;
                }
            }
            let all = marks.iter().fold(1, |all, mark| all & mark);
            if all == 1 { Ok(()) } else { Err(Error::from(Misbehaviour::FailedCheck)) }
        })?;
        self.received += groups;
        Ok(())
    }

    /// 6. Adds the strings of a band, of the OTs j that the permutation names: H(j, q_j ⊕ Δ), or what was chosen.
    fn add(&self, threads: usize, band: usize, sums: &mut [[Block; 1]]) {
        let parameters = &self.offline.parameters;
        let (kept, ots) = (parameters.kept(), parameters.ots_of_group() as usize);
        let divide = Divider::by(kept as u32);
        let (rows, offset) = (&self.offline.rows[self.first * ots..], *self.offline.offset);
        let begin = band * self.layout.band - self.first * kept;
        let permutation = &self.permutation[..];
        let number_of_first = (self.first * ots) as u64;
        add_band(threads, (self.layout, band), self.positions, sums, |start, slots, picked| {
            let mut numbers = [0; PICKED];
            let numbers = &mut numbers[..slots.len()];
            let start = begin + start;
            slots.iter().for_each(|&slot| prefetch(permutation, start + slot as usize));
            for (number, &slot) in numbers.iter_mut().zip(slots) {
                let at = start + slot as usize;
                *number = (divide.quotient(at as u32) as usize * ots) as u64 + u64::from(permutation[at]);
                prefetch(rows, *number as usize);
            }
            for (row, number) in picked.iter_mut().zip(&mut *numbers) {
                row[0] = rows[*number as usize] ^ offset;
                *number += number_of_first;
            }
            if !self.offline.chosen {
                self.hashes.strings.hash_at(numbers, picked);
            }
        });
    }
}

/// Division by a constant below 2^16.
#[derive(Clone, Copy)]
struct Divider(u64);

impl Divider {
    fn by(divisor: u32) -> Self {
        Self((1u64 << 48).div_ceil(u64::from(divisor)))
    }

    /// ⌊number/divisor⌋, for numbers below 2^32: with M = ⌈2^48/d⌉ < 2^48/d + 1 the product n·M exceeds
    /// n·2^48/d by less than n < 2^48/d, so no quotient is passed.
    fn quotient(self, number: u32) -> u32 {
        ((u128::from(number) * u128::from(self.0)) >> 48) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        for divisor in [64, 4992, 16_384, 16_448, 57_024] {
            let divide = Divider::by(divisor);
            let numbers = (0..100_000).chain((0..1 << 16).flat_map(|quotient: u32| {
                let multiple = quotient.wrapping_mul(divisor);
                [multiple.wrapping_sub(1), multiple, multiple + 1]
            }));
            for number in numbers.chain([u32::MAX, u32::MAX - 1]) {
                assert_eq!(divide.quotient(number), number / divisor, "{number} / {divisor}");
            }
        }
    }
}
