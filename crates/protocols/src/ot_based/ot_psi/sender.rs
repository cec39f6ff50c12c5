//! The sender: each item in all of its bins, one mask a bin in a random slot, and a mask for each place of the stash.

use rand_core::CryptoRng;
use vesica_crypto::aes_hash::rekeyed_encrypt;
use vesica_crypto::block::Block;
use vesica_crypto::memory::{Wiped, prefetch};
use vesica_crypto::prg::Prg;
use vesica_encode::hashing::{Digests, simple};
use vesica_encode::items::Items;
use vesica_net::{Channel, RecvHalf};
use vesica_ot::coded::OprfSender;
use vesica_ot::kk13::{self, WalshHadamard};

use super::super::lists::MaskLists;
use super::super::numbers::push_characters;
use super::{Plan, REGION, Words, sum};
use crate::error::Error;
use crate::protocol::{Phase, Run};

/// Items whose masks are made together. Local.
const ENTRIES: usize = 1 << 12;

/// Entries ahead whose words are on their way.
const AHEAD: usize = 16;

/// The item at each place of the lists.
pub(super) fn masks(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u32>, Error> {
    run.phase(Phase::BaseOts, 0);
    let mut ots =
        kk13::Sender::setup(WalshHadamard::default(), &run.context, run.threads, run.base_ots, channel, rng)?;
    // From here on an item is known by its place in the lists.
    run.phase(Phase::Hash, items.len());
    let order = items.shuffled(rng);
    let words = Words::of(run, plan, items, Some(&order))?;
    let table = simple::Table::build(run.threads, &Digests::new(&words.digests, plan.cuckoo.layout));
    table.check_load(plan.load).map_err(|_| Error::Chance("a bin has more items than any was to have"))?;

    run.phase(Phase::Extend, plan.bins());
    let mut masks = MaskLists::new(plan.width, plan.lists() as usize, items.len());
    let mut slots = Slots::new(plan.load, rng);
    let mut rows = Wiped::from(vec![[Block::ZERO; kk13::COLUMNS / Block::BITS]; REGION * plan.characters]);
    let mut work = Work::default();
    for first in (0..plan.bins()).step_by(REGION) {
        let bins = first..plan.bins().min(first + REGION);
        let rows = &mut rows[..bins.len() * plan.characters];
        let number = ots.next();
        ots.extend(rows, channel.split().1)?;
        for bin in bins.clone() {
            let list = plan.cuckoo.layout.function_of(bin);
            slots.begin();
            // Of few bins each may have as many items as there are.
            for items in table.bin(bin).chunks(ENTRIES) {
                work.ask(&words, list, items, (bin - first) * plan.characters, plan.characters);
                slots.deal(items.len(), plan.characters, &mut work.slots);
                if work.places.len() >= ENTRIES {
                    run.apart(Phase::Evaluate, || {
                        work.answer(&ots, number, rows, plan.characters, &mut masks)
                    });
                }
            }
        }
        run.apart(Phase::Evaluate, || work.answer(&ots, number, rows, plan.characters, &mut masks));
        run.advance(bins.len())?;
    }
    answer_stash(run, plan, &words, &mut ots, &mut masks, channel.split().1)?;
    masks.send(run, channel.split().0)?;
    Ok(order)
}

/// The masks of every item for each place of the stash, where an item's slot is its place in the lists.
fn answer_stash(
    run: &Run<'_>,
    plan: &Plan,
    words: &Words,
    ots: &mut kk13::Sender,
    masks: &mut MaskLists,
    channel: &mut RecvHalf,
) -> Result<(), Error> {
    let t = plan.characters;
    // In one call, as the receiver's: a call begins where tiles of the extension do.
    let mut rows = Wiped::from(vec![[Block::ZERO; kk13::COLUMNS / Block::BITS]; t * plan.cuckoo.stash]);
    let first = ots.next();
    ots.extend(&mut rows, channel)?;
    run.watch.count(Some(Phase::Evaluate));
    let values: Vec<u8> = (0..t).flat_map(|_| 0..=u8::MAX).collect();
    let at: Vec<u32> = (0..t as u32).flat_map(|row| [row; kk13::VALUES]).collect();
    let mut strings = vec![Block::ZERO; values.len()];
    for (place, rows) in rows.chunks_exact(t).enumerate() {
        ots.evaluate(first + (place * t) as u64, rows, &at, &values, &mut strings);
        let (mut keys, mut blocks) = (Vec::new(), Vec::new());
        for first in (0..words.numbers.len()).step_by(REGION) {
            let items = first..words.numbers.len().min(first + REGION);
            keys.clear();
            blocks.clear();
            for item in items.clone() {
                let word = words.numbers[item].to_bytes();
                keys.extend((0..t).map(|c| strings[c * kk13::VALUES + usize::from(word[c])]));
                blocks.extend(std::iter::repeat_n(Block::from(item as u128), t));
            }
            rekeyed_encrypt(&keys, [&mut blocks]);
            for (item, blocks) in items.zip(blocks.chunks_exact(t)) {
                masks.set(plan.cuckoo.layout.functions() + place, item, sum(blocks).to_u128());
            }
        }
    }
    run.watch.count(None);
    Ok(())
}

/// The strings that the sender asks of its OTs, the slots they are stretched to, and where the masks go.
#[derive(Default)]
struct Work {
    at: Vec<u32>,
    characters: Vec<u8>,
    strings: Vec<Block>,
    slots: Vec<Block>,
    places: Vec<(usize, u32)>,
}

impl Work {
    /// Asks for the strings of the characters of items of a bin, whose rows begin at `row` and whose masks stand in `list`.
    fn ask(&mut self, words: &Words, list: usize, items: &[u32], row: usize, characters: usize) {
        for (i, item) in items.iter().enumerate() {
            prefetch(&words.numbers, items.get(i + AHEAD).map_or(usize::MAX, |item| *item as usize));
            push_characters(&mut self.characters, words.numbers[*item as usize].to_u128(), characters);
            self.at.extend(row as u32..(row + characters) as u32);
            self.places.push((list, *item));
        }
    }

    /// Puts all masks that were asked for in their places: of each character what the stream of its string has in its slot.
    fn answer(
        &mut self,
        ots: &kk13::Sender,
        number: u64,
        rows: &[kk13::Row],
        characters: usize,
        masks: &mut MaskLists,
    ) {
        self.strings.resize(self.at.len(), Block::ZERO);
        ots.evaluate(number, rows, &self.at, &self.characters, &mut self.strings);
        rekeyed_encrypt(&self.strings, [&mut self.slots]);
        for ((list, place), blocks) in self.places.iter().zip(self.slots.chunks_exact(characters)) {
            masks.set(*list, *place as usize, sum(blocks).to_u128());
        }
        self.at.clear();
        self.characters.clear();
        self.slots.clear();
        self.places.clear();
    }
}

/// Deals different slots to the items of a bin, each set of slots with the same probability.
pub(super) struct Slots {
    slots: Vec<u32>,
    /// Slots of the bin that have an item.
    dealt: usize,
    rng: Prg,
}

impl Slots {
    pub(super) fn new(load: usize, rng: &mut dyn CryptoRng) -> Self {
        Self { slots: (0..load as u32).collect(), dealt: 0, rng: Prg::from_rng(rng) }
    }

    /// Another bin, which is empty.
    pub(super) fn begin(&mut self) {
        self.dealt = 0;
    }

    /// Appends the slots of `items` more items of the bin, each as often as an item has characters.
    pub(super) fn deal(&mut self, items: usize, characters: usize, out: &mut Vec<Block>) {
        let load = self.slots.len();
        for dealt in self.dealt..self.dealt + items {
            // The first steps of a shuffle; the order that it begins with does not matter.
            let mut random = [0; 8];
            self.rng.fill(&mut random);
            let left = (load - dealt) as u128;
            let other = dealt + ((u128::from(u64::from_le_bytes(random)) * left) >> 64) as usize;
            self.slots.swap(dealt, other);
            out.extend(std::iter::repeat_n(Block::from(u128::from(self.slots[dealt])), characters));
        }
        self.dealt += items;
    }
}
