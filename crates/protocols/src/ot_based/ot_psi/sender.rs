//! The sender puts each item into all of its bins, at a random index in each, and makes a mask for each slot
//! of its bins and for each slot of the stash.

use rand_core::CryptoRng;
use vesica_channel::{Channel, RecvHalf, SendHalf};
use vesica_crypto::aes_hash::rekeyed_encrypt;
use vesica_crypto::block::Block;
use vesica_crypto::memory::{Wiped, prefetch};
use vesica_crypto::prg::Prg;
use vesica_encode::hashing::{Digests, simple};
use vesica_encode::items::Items;
use vesica_ot::kk13;
use vesica_ot::nco::NcoSender;

use super::super::inclusion::{masks_of, sum};
use super::plan::{Plan, REGION, Words};
use crate::error::Error;
use crate::mask_lists::MaskLists;
use crate::oprf::bins::characters::push_characters;
use crate::protocol::{Phase, Run};

/// Items whose masks are made together. Local.
const BATCH: usize = 1 << 12;

/// Entries ahead whose words are on their way.
const AHEAD: usize = 16;

/// Blocks of a row.
const BLOCKS: usize = kk13::COLUMNS / Block::BITS;

/// The item at each position of the lists.
pub(super) fn masks<S: NcoSender<u8, BLOCKS>>(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    mut ots: S,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u32>, Error> {
    // 2. Each item in all of its bins. From here on it is known by its position in the lists.
    run.phase(Phase::Hash, items.len());
    let order = items.shuffled(rng);
    let words = Words::of(run, plan, items, Some(&order))?;
    // 3. The rows of the OTs, and the masks that bins have of them.
    let masks = if plan.slots > 0 {
        of_bins(run, plan, &words, &mut ots, channel, rng)?
    } else {
        run.phase(Phase::Extend, plan.stash);
        MaskLists::new(plan.width, 0, items.len())
    };
    let stash = Stash::receive(run, plan, &mut ots, channel.split().1)?;
    // 4. The lists of the bins, and behind them those of the stash, each when it is made.
    run.phase(Phase::Exchange, plan.lists() * items.len() * plan.width.bytes());
    masks.send(run, channel.split().0)?;
    drop(masks);
    stash.send(run, plan, &words, &ots, channel.split().0)?;
    channel.flush()?;
    Ok(order)
}

/// The masks of every item for each slot of its bins.
fn of_bins<S: NcoSender<u8, BLOCKS>>(
    run: &Run<'_>,
    plan: &Plan,
    words: &Words,
    ots: &mut S,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<MaskLists, Error> {
    let t = plan.characters;
    let table = simple::Table::build(run.threads, &Digests::new(&words.digests, plan.layout));
    table.check_load(plan.load).map_err(|_| Error::Chance("a bin has more items than any was to have"))?;

    run.phase(Phase::Extend, plan.all_slots() + plan.stash);
    let mut masks = MaskLists::new(plan.width, plan.lists_of_bins(), words.numbers.len());
    let mut indices = Indices::new(plan.load, rng);
    let mut rows = Wiped::from(vec![[Block::ZERO; BLOCKS]; REGION.min(plan.all_slots()) * t]);
    let mut work = Work::default();
    for first in (0..plan.all_slots()).step_by(REGION) {
        let slots = first..plan.all_slots().min(first + REGION);
        let rows = &mut rows[..slots.len() * t];
        let number = ots.next();
        ots.extend(rows, channel.split().1)?;
        for slot in slots.clone() {
            indices.begin();
            // Of few bins each may have as many items as there are.
            for items in table.bin(slot / plan.slots).chunks(BATCH) {
                work.ask(words, plan.list_of(slot), items, (slot - first) * t, t);
                indices.draw(items.len(), t, &mut work.indices);
                if work.positions.len() >= BATCH {
                    run.in_phase(Phase::Evaluate, || work.answer(ots, number, rows, t, &mut masks));
                }
            }
        }
        run.in_phase(Phase::Evaluate, || work.answer(ots, number, rows, t, &mut masks));
        run.advance(slots.len())?;
    }
    Ok(masks)
}

/// The rows of the stash's OTs: inclusion of an item of the receiver's in the whole set, whose order is that
/// of the lists.
struct Stash {
    /// The number of the first OT.
    number: u64,
    regions: Vec<Wiped<kk13::Row>>,
}

impl Stash {
    /// The rows, as they come: the size that the receiver claims takes no memory.
    fn receive(
        run: &Run<'_>,
        plan: &Plan,
        ots: &mut impl NcoSender<u8, BLOCKS>,
        channel: &mut dyn RecvHalf,
    ) -> Result<Self, Error> {
        let mut stash = Self { number: ots.next(), regions: Vec::new() };
        for first in (0..plan.stash).step_by(REGION) {
            let slots = REGION.min(plan.stash - first);
            // In calls like the receiver's: a call begins where tiles of the extension do.
            let mut rows = Wiped::from(vec![[Block::ZERO; BLOCKS]; slots * plan.characters]);
            ots.extend(&mut rows, channel)?;
            stash.regions.push(rows);
            run.advance(slots)?;
        }
        Ok(stash)
    }

    /// Sends the masks of every item for each slot.
    fn send(
        self,
        run: &Run<'_>,
        plan: &Plan,
        words: &Words,
        ots: &impl NcoSender<u8, BLOCKS>,
        channel: &mut dyn SendHalf,
    ) -> Result<(), Error> {
        let (items, t) = (words.numbers.len(), plan.characters);
        let mut list = MaskLists::new(plan.width, plan.stash.min(1), items);
        for slot in 0..plan.stash {
            let rows = &self.regions[slot / REGION][slot % REGION * t..][..t];
            let characters =
                |item: usize, out: &mut Vec<u8>| push_characters(out, words.numbers[item].to_u128(), t);
            let first = self.number + (slot * t) as u64;
            run.in_phase(Phase::Evaluate, || {
                masks_of(ots, first, rows, items, characters, |item, mask| list.set(0, item, mask.to_u128()));
            });
            list.send(run, channel)?;
        }
        Ok(())
    }
}

/// The strings that the sender takes from its OTs, the indices in their streams, and where the masks go.
#[derive(Default)]
struct Work {
    at: Vec<u32>,
    characters: Vec<u8>,
    strings: Vec<Block>,
    indices: Vec<Block>,
    positions: Vec<(usize, u32)>,
}

impl Work {
    /// Asks for the strings of the characters of items of a bin, whose rows begin at `row` and whose masks
    /// stand in `list`.
    fn ask(&mut self, words: &Words, list: usize, items: &[u32], row: usize, characters: usize) {
        for (i, item) in items.iter().enumerate() {
            prefetch(&words.numbers, items.get(i + AHEAD).map_or(usize::MAX, |item| *item as usize));
            push_characters(&mut self.characters, words.numbers[*item as usize].to_u128(), characters);
            self.at.extend(row as u32..(row + characters) as u32);
            self.positions.push((list, *item));
        }
    }

    /// Puts all masks that were asked for at their positions: of each character what the stream of its string
    /// has at its index.
    fn answer(
        &mut self,
        ots: &impl NcoSender<u8, BLOCKS>,
        number: u64,
        rows: &[kk13::Row],
        characters: usize,
        masks: &mut MaskLists,
    ) {
        self.strings.resize(self.at.len(), Block::ZERO);
        ots.evaluate_groups(1, number, rows, &self.at, &self.characters, &mut self.strings);
        rekeyed_encrypt(&self.strings, [&mut self.indices]);
        for ((list, position), blocks) in self.positions.iter().zip(self.indices.chunks_exact(characters)) {
            masks.set(*list, *position as usize, sum(blocks).to_u128());
        }
        self.at.clear();
        self.characters.clear();
        self.indices.clear();
        self.positions.clear();
    }
}

/// Draws different indices for the items of a bin, each set of indices with the same probability.
pub(super) struct Indices {
    indices: Vec<u32>,
    /// Indices of the bin that have an item.
    drawn: usize,
    rng: Prg,
}

impl Indices {
    pub(super) fn new(load: usize, rng: &mut dyn CryptoRng) -> Self {
        Self { indices: (0..load as u32).collect(), drawn: 0, rng: Prg::from_rng(rng) }
    }

    /// Another bin, which is empty.
    pub(super) fn begin(&mut self) {
        self.drawn = 0;
    }

    /// Appends the indices of `items` more items of the bin, each as often as an item has characters.
    pub(super) fn draw(&mut self, items: usize, characters: usize, out: &mut Vec<Block>) {
        let load = self.indices.len();
        for drawn in self.drawn..self.drawn + items {
            // The first steps of a shuffle; the order that it begins with does not matter.
            let mut random = [0; 8];
            self.rng.fill(&mut random);
            let left = (load - drawn) as u128;
            let other = drawn + ((u128::from(u64::from_le_bytes(random)) * left) >> 64) as usize;
            self.indices.swap(drawn, other);
            out.extend(std::iter::repeat_n(Block::from(u128::from(self.indices[drawn])), characters));
        }
        self.drawn += items;
    }
}
