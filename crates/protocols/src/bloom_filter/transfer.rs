//! One OT for each slot of a Bloom filter, and the *sum* of each item: the XOR of the strings at its
//! positions.
//!
//! The receiver's filter chooses. It gets correlated rows t_j = q_j ⊕ c_j·Δ. The string of slot j is
//!
//! ```text
//! R_j = H(j, q_j ⊕ Δ)  for the sender,        H(j, t_j)  for the receiver: the same where c_j = 1
//! ```
//!
//! Where c_j = 0, R_j is independent of what the receiver knows. The parties have the same sum of an item in
//! the receiver's filter. Of any other item the receiver lacks at least one string, and the sum is uniformly
//! random to it. Rows are used slice by slice and dropped, so that no party ever holds more than a few slices
//! of them.
//!
//! **Hashed on demand** (PSZ14): a string is hashed when an item picks it, m/2·2·ln 2 times for a full set.
//! Hashing all strings would take m (receiver) or 2m (sender) calls of H.
//!
//! H is the hash of [`vesica_ot::random`]: AES up to level 128, BLAKE3 above. j counts over the whole run, so
//! that no number occurs twice.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_crypto::memory::{Wiped, large_vec};
use vesica_crypto::par;
use vesica_encode::bloom::{Bin, FilterPositions, FilterShape, SLICES_PER_BLOCK, choices};
use vesica_ot::random::OtPads;
use vesica_ot::{CotReceiver, CotSender};
use zeroize::Zeroizing;

use super::extension;
use crate::entry::Shape;
use crate::error::Error;
use crate::parameters::{Parameters, Variant};
use crate::protocol::{Phase, Run};

/// Rows that an extension is asked for at a time, where several slices fit.
const ROWS: usize = 1 << 15;

/// Items that one thread handles at a time, slice after slice: enough for each slice that is fetched.
const ITEMS: usize = 1 << 12;

/// Rows picked and hashed at a time.
const PICKED: usize = 256;

/// The form with the OT extension of the papers.
pub(super) const IKNP: Variant = Variant { name: "iknp", what: "OTs of κ bits by IKNP, as in the papers" };

/// Bytes of memory that an item takes beyond those of level 128, for wider seeds, strings and digests.
pub(super) fn wider(parameters: &Parameters) -> u64 {
    if parameters.level <= 128 { 0 } else { 24 }
}

/// Bytes of the receiver's choices in the OTs of a filter.
pub(super) fn choice_bytes(shape: &Shape, filter: FilterShape) -> u64 {
    extension::choice_bytes(&shape.parameters, filter.bins() as u64, batches(filter))
}

/// The label of the hash that makes strings of rows, in every form.
pub(super) const STRINGS: Label = Label::new("bloom: row to string");

/// A run of slices of one bin, for which the OTs are made together.
pub(super) struct Batch<'a> {
    pub(super) bin: &'a Bin<'a>,
    /// Slots of all its items, slice by slice.
    pub(super) slots: &'a [Vec<u32>],
    /// Number of its first slice in the bin.
    pub(super) slice: usize,
    /// Number of its first row among all of the run.
    pub(super) first: u64,
}

impl Batch<'_> {
    /// Rows of the batch.
    pub(super) fn rows(&self) -> usize {
        self.slots.len() * self.bin.shape().slots()
    }
}

/// Groups of slices in a batch: agreed, since an extension fills up what it sends for a batch.
fn groups_at_once(shape: FilterShape) -> usize {
    (ROWS / (SLICES_PER_BLOCK * shape.slots())).clamp(1, shape.hashes().div_ceil(SLICES_PER_BLOCK))
}

/// The rows of the batches of one bin, in their order.
pub(super) fn batches(shape: FilterShape) -> impl Iterator<Item = usize> {
    let (slices, at_once) = (shape.hashes(), groups_at_once(shape) * SLICES_PER_BLOCK);
    (0..slices).step_by(at_once).map(move |first| at_once.min(slices - first) * shape.slots())
}

/// Goes through all slices, bin by bin.
pub(super) fn for_each_batch(
    run: &Run<'_>,
    positions: &FilterPositions,
    mut work: impl FnMut(Batch<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let shape = positions.shape();
    run.phase(Phase::Answer, shape.all_slots() as usize);
    let groups: Vec<usize> = (0..shape.hashes().div_ceil(SLICES_PER_BLOCK)).collect();
    let (mut first, mut blocks, mut slots) = (0, Vec::new(), Vec::new());
    for bin in positions.bins() {
        for groups in groups.chunks(groups_at_once(shape)) {
            slots_of(&bin, groups, &mut blocks, &mut slots);
            let batch = Batch { bin: &bin, slots: &slots, slice: groups[0] * SLICES_PER_BLOCK, first };
            let rows = batch.rows();
            work(batch)?;
            first += rows as u64;
            run.advance(rows)?;
        }
    }
    Ok(())
}

/// The slots of the slices of these groups.
fn slots_of(bin: &Bin<'_>, groups: &[usize], blocks: &mut Vec<Block>, slots: &mut Vec<Vec<u32>>) {
    slots.resize_with(groups.len() * SLICES_PER_BLOCK, Vec::new);
    for (&group, slots) in groups.iter().zip(slots.as_chunks_mut().0) {
        bin.positions(group, blocks, slots);
    }
}

/// The receiver's sums, in the order of the filter's bins.
pub(super) fn receiver_sums<const W: usize>(
    run: &Run<'_>,
    positions: &FilterPositions,
    ot: &mut impl CotReceiver<W>,
    channel: &mut dyn Channel,
) -> Result<Wiped<[Block; W]>, Error> {
    let strings = OtPads::of(&run.context, STRINGS);
    let mut sums = Wiped::from(large_vec([Block::ZERO; W], positions.items().len()));
    let mut rows = Wiped::default();
    for_each_batch(run, positions, |batch| {
        rows.resize(batch.rows(), [Block::ZERO; W]);
        ot.extend(&choices_of(&batch), &mut rows, channel)?;
        add(run.threads, &strings, &batch, &rows, &[Block::ZERO; W], &mut sums);
        Ok(())
    })?;
    channel.flush()?;
    Ok(sums)
}

/// The sender's sums, in the order of the filter's bins.
pub(super) fn sender_sums<const W: usize>(
    run: &Run<'_>,
    positions: &FilterPositions,
    ot: &mut impl CotSender<W>,
    channel: &mut dyn Channel,
) -> Result<Wiped<[Block; W]>, Error> {
    let strings = OtPads::of(&run.context, STRINGS);
    let mut sums = Wiped::from(large_vec([Block::ZERO; W], positions.items().len()));
    let (mut rows, delta) = (Wiped::default(), Zeroizing::new(ot.delta()));
    for_each_batch(run, positions, |batch| {
        rows.resize(batch.rows(), [Block::ZERO; W]);
        ot.extend(&mut rows, channel)?;
        add(run.threads, &strings, &batch, &rows, &delta, &mut sums);
        Ok(())
    })?;
    Ok(sums)
}

/// The receiver's choices in a batch: the slices of its Bloom filter.
pub(super) fn choices_of(batch: &Batch<'_>) -> Vec<u8> {
    let mut bits = vec![0; batch.rows().div_ceil(8)];
    for (slice, slots) in batch.slots.iter().enumerate() {
        choices(slice * batch.bin.shape().slots(), slots, &mut bits);
    }
    bits
}

/// Adds to the sum of each item of the batch the strings at its positions; the string of a row is the hash of
/// row ⊕ offset.
fn add<const W: usize>(
    threads: usize,
    strings: &OtPads<W>,
    batch: &Batch<'_>,
    rows: &[[Block; W]],
    offset: &[Block; W],
    sums: &mut [[Block; W]],
) {
    let sums = &mut sums[batch.bin.range()];
    let per_slice = batch.bin.shape().slots();
    let Ok(()) = par::fill_chunks(threads, ITEMS, sums, |chunk, sums| {
        let (mut picked, mut numbers) = ([[Block::ZERO; W]; PICKED], [0; PICKED]);
        for (slice, slots) in batch.slots.iter().enumerate() {
            let start = slice * per_slice;
            let (rows, first) = (&rows[start..start + per_slice], batch.first + start as u64);
            let slots = &slots[chunk * ITEMS..][..sums.len()];
            for (slots, sums) in slots.chunks(PICKED).zip(sums.chunks_mut(PICKED)) {
                let (picked, numbers) = (&mut picked[..slots.len()], &mut numbers[..slots.len()]);
                for ((picked, number), &slot) in picked.iter_mut().zip(&mut *numbers).zip(slots) {
                    *picked = xor(rows[slot as usize], *offset);
                    *number = first + u64::from(slot);
                }
                strings.hash_at(numbers, picked);
                for (sum, string) in sums.as_flattened_mut().iter_mut().zip(picked.as_flattened()) {
                    *sum ^= *string;
                }
            }
        }
        Ok::<_, std::convert::Infallible>(())
    });
}

/// The sum of two strings.
fn xor<const W: usize>(mut a: [Block; W], b: [Block; W]) -> [Block; W] {
    for block in 0..W {
        a[block] ^= b[block];
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Ctx, Sizes};
    use crate::testing::{planted, run_of};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use vesica_channel::memory;
    use vesica_crypto::hash::Context;

    /// OTs whose rows are all equal, as if Δ were zero: only numbers tell strings apart.
    struct Same;

    impl<const W: usize> CotSender<W> for Same {
        type Security = vesica_ot::security::SemiHonest;

        fn delta(&self) -> [Block; W] {
            [Block::ZERO; W]
        }

        fn extend(&mut self, rows: &mut [[Block; W]], _: &mut dyn Channel) -> Result<(), vesica_ot::Error> {
            rows.fill([Block::ONES; W]);
            Ok(())
        }
    }

    impl<const W: usize> CotReceiver<W> for Same {
        type Security = vesica_ot::security::SemiHonest;

        fn extend(
            &mut self,
            _: &[u8],
            rows: &mut [[Block; W]],
            channel: &mut dyn Channel,
        ) -> Result<(), vesica_ot::Error> {
            CotSender::extend(self, rows, channel)
        }
    }

    /// The sum of every item is that of strings whose numbers are those of its slots among all slots of all
    /// bins.
    #[test]
    fn flaw_every_slot_of_the_run_has_a_number_of_its_own() {
        fn check<const W: usize>(level: u32) {
            // Several bins, and several batches in each.
            let (items, filter) = (planted(20_000, 1, 1, 1).receiver, FilterShape::for_items(level, 20_000));
            assert!(filter.bins() > 1 && batches(filter).count() > 1);
            let sizes = Sizes { receiver: items.len(), sender: items.len() };
            let context = Context::new(&[1; 32], "gbf", b"", 1, 1);
            let run = Run { threads: 2, ..run_of(context, sizes, crate::Parameters::default()) };
            let positions = FilterPositions::new(&run.context, filter, &items, 1);
            let (mut channel, _there) = memory::pair();
            let mine = receiver_sums::<W>(&run, &positions, &mut Same, &mut channel).unwrap();
            let theirs = sender_sums::<W>(&run, &positions, &mut Same, &mut channel).unwrap();
            assert!(*mine == *theirs);
            let different: std::collections::HashSet<_> =
                mine.iter().map(|sum| sum.map(Block::to_bytes)).collect();
            assert_eq!(different.len(), items.len(), "equal sums of different items");
            let strings = OtPads::<W>::of(&run.context, STRINGS);
            let (mut blocks, mut slots) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
            for (number, bin) in positions.bins().enumerate() {
                let mut sum = [Block::ZERO; W];
                for slice in 0..filter.hashes() {
                    bin.positions(slice / SLICES_PER_BLOCK, &mut blocks, &mut slots);
                    let row = (number * filter.hashes() + slice) * filter.slots();
                    let mut string = [[Block::ONES; W]];
                    strings.hash(row as u64 + u64::from(slots[slice % SLICES_PER_BLOCK][5]), &mut string);
                    sum = xor(sum, string[0]);
                }
                assert!(mine[bin.range().start + 5] == sum, "bin {number}");
            }
        }
        check::<1>(128);
        check::<2>(192);
    }

    #[test]
    fn sums_are_equal_for_common_items_and_for_no_others() {
        let sets = planted(300, 200, 50, 1);
        let sizes = Sizes { receiver: 300, sender: 200 };
        let context = Context::new(&[1; 32], "gbf", b"", 300, 200);
        let run = || Run { threads: 2, ..run_of(context.clone(), sizes, crate::Parameters::default()) };
        let filter = FilterShape::for_items(128, 300);
        let (mut here, mut there) = memory::pair();
        let (mine, theirs) = std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let (run, rng) = (run(), &mut StdRng::seed_from_u64(1));
                let positions = FilterPositions::new(&run.context, filter, &sets.sender, 1);
                let ctx = &mut Ctx::new(&run, &mut there, rng);
                let mut ot = extension::Sender::<1>::setup(ctx).unwrap();
                sender_sums(&run, &positions, &mut ot, &mut there).unwrap()
            });
            let (run, rng) = (run(), &mut StdRng::seed_from_u64(2));
            let positions = FilterPositions::new(&run.context, filter, &sets.receiver, 1);
            let ctx = &mut Ctx::new(&run, &mut here, rng);
            let mut ot = extension::Receiver::<1>::setup(ctx).unwrap();
            (receiver_sums(&run, &positions, &mut ot, &mut here).unwrap(), sender.join().unwrap())
        });
        let theirs: std::collections::HashSet<_> = theirs.iter().map(|sum| sum[0].to_bytes()).collect();
        assert_eq!(theirs.len(), 200);
        assert_eq!(mine.iter().filter(|sum| theirs.contains(sum[0].as_bytes())).count(), 50);
    }

    #[test]
    fn rows_and_sums_are_wiped_where_a_run_breaks_off() {
        use crate::testing::{DIRECTIONS, Tampering, Target, wiped};
        for entry in [&super::super::dcw13::ENTRY, &super::super::random_gbf::ENTRY] {
            for variant in entry.supports.variants.iter().map(Some).chain([None]) {
                let parameters = crate::Parameters { variant, ..crate::Parameters::default() };
                let honest = wiped::run(entry, parameters, None);
                // Sums of 200 and 150 items, and more than one slice of rows.
                let rows = 2 * FilterShape::for_items(128, 200).slots();
                for (party, items) in [200, 150].into_iter().enumerate() {
                    let (well, wiped) = honest.parties[party];
                    assert!(well && wiped > (items + rows) * Block::BYTES, "{}: {wiped}", entry.name);
                }
                let (direction, frame) = (DIRECTIONS[1], honest.frames[1] - 1);
                let target = Target { direction, frame, tampering: Tampering::Drop };
                let [(well, wiped), _] = wiped::run(entry, parameters, Some(target)).parties;
                assert!(!well && wiped > (200 + rows) * Block::BYTES, "{}: {wiped}", entry.name);
            }
        }
    }
}
