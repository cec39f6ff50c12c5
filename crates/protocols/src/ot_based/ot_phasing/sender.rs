//! The sender's steps.

use rand_core::CryptoRng;
use vesica_channel::{Channel, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_encode::items::Items;
use vesica_ot::kk13;
use vesica_ot::nco::NcoSender;

use super::super::inverse;
use super::super::lists::Departing;
use super::super::numbers::push_characters;
use super::Plan;
use super::dealt::Dealt;
use crate::error::Error;
use crate::protocol::{Learns, Phase, Run};

/// Items of the stash evaluated at a time. Local.
const BATCH: usize = 1 << 10;

/// Blocks of a row.
const BLOCKS: usize = kk13::COLUMNS / Block::BITS;

/// The item at each place of the lists, where both parties learn the result.
pub(super) fn masks<S: NcoSender<u8, BLOCKS>>(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    mut ots: S,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u32>, Error> {
    // 2. Each item to the regions of all its bins; from here on it is known by its place in the lists.
    run.phase(Phase::Hash, items.len());
    let places = items.shuffled(rng);
    let mut dealt = Dealt::new(run, plan, items, &places)?;
    let order = if run.learns == Learns::Both { inverse(&places) } else { Vec::new() };
    drop(places);
    // 3. The masks, region by region; a list goes when the last bin of its function is done.
    let layout = plan.cuckoo.layout;
    run.phase(Phase::Extend, layout.bins());
    let mut answer = Answer::new(run, plan, items.len());
    let mut rows = Wiped::default();
    for (region, (function, first, bins)) in dealt.regions().enumerate() {
        rows.resize(bins * plan.characters, [Block::ZERO; 2]);
        let number = ots.next();
        ots.extend(&mut rows, channel.split().1)?;
        let rows = Rows { ots: &ots, first: number, rows: &rows };
        run.apart(Phase::Evaluate, || answer.region(&rows, region, &mut dealt));
        run.advance(bins)?;
        let segment = layout.segment_of(function);
        let (done, channel) = (first + bins - segment.start, channel.split().0);
        run.apart(Phase::Exchange, || answer.masks.advance(done, segment.len(), channel))?;
        if first + bins == segment.end {
            answer.complete(function, channel)?;
        }
    }
    rows.resize(plan.cuckoo.stash * plan.stash_characters, [Block::ZERO; 2]);
    let number = ots.next();
    ots.extend(&mut rows, channel.split().1)?;
    for place in 0..plan.cuckoo.stash {
        let rows = Rows { ots: &ots, first: number, rows: &rows };
        run.apart(Phase::Evaluate, || answer.stash(&rows, place, &dealt.numbers));
        answer.complete(layout.functions() + place, channel.split().0)?;
    }
    Ok(order)
}

/// The rows of a call of the extension.
struct Rows<'a, S> {
    ots: &'a S,
    /// The number of the first.
    first: u64,
    rows: &'a [kk13::Row],
}

/// A list of the sender's masks in the making.
struct Answer<'a> {
    run: &'a Run<'a>,
    plan: &'a Plan,
    masks: Departing,
    places: Vec<u32>,
    at: Vec<u32>,
    words: Vec<u8>,
    outputs: Vec<Block>,
}

impl<'a> Answer<'a> {
    fn new(run: &'a Run<'a>, plan: &'a Plan, items: usize) -> Self {
        let masks = Departing::new(plan.width, items);
        let (places, at, words, outputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { run, plan, masks, places, at, words, outputs }
    }

    /// The list in the making, which is number `list`, is complete.
    fn complete(&mut self, list: usize, channel: &mut dyn SendHalf) -> Result<(), Error> {
        self.masks.complete(self.run, list + 1 == self.plan.lists(), channel)
    }

    /// What is in a region of bins, whose OTs have these rows.
    fn region(&mut self, rows: &Rows<'_, impl NcoSender<u8, BLOCKS>>, region: usize, dealt: &mut Dealt) {
        let Self { masks, places, at, words, outputs, .. } = self;
        let characters = self.plan.characters;
        loop {
            places.clear();
            at.clear();
            words.clear();
            let any = dealt.take(region, |entry| {
                places.push(entry.place);
                // The first row of its bin.
                at.push(u32::from(entry.bin) * characters as u32);
                push_characters(words, entry.value, characters);
            });
            if !any {
                return;
            }
            outputs.resize(places.len(), Block::ZERO);
            rows.ots.evaluate_groups(characters, rows.first, rows.rows, at, words, outputs);
            masks.set_all(places.iter().copied(), outputs);
        }
    }

    /// Every item, whole, at place `place` of the stash.
    fn stash(&mut self, rows: &Rows<'_, impl NcoSender<u8, BLOCKS>>, place: usize, numbers: &[u128]) {
        let characters = self.plan.stash_characters;
        self.at.clear();
        self.at.resize(BATCH, (place * characters) as u32);
        self.outputs.resize(BATCH, Block::ZERO);
        for (batch, numbers) in numbers.chunks(BATCH).enumerate() {
            self.words.clear();
            for number in numbers {
                push_characters(&mut self.words, *number, characters);
            }
            let (at, outputs) = (&self.at[..numbers.len()], &mut self.outputs[..numbers.len()]);
            rows.ots.evaluate_groups(characters, rows.first, rows.rows, at, &self.words, outputs);
            for (place, mask) in (batch * BATCH..).zip(outputs) {
                self.masks.set(place, mask.to_u128());
            }
        }
    }
}
