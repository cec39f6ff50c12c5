//! The sender's steps.

use std::ops::Range;

use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_encode::hashing::simple;
use vesica_encode::items::Items;
use vesica_net::{Channel, SendHalf};
use vesica_ot::coded::OprfSender;
use vesica_ot::kk13;

use super::super::lists::Departing;
use super::super::numbers::push_characters;
use super::Plan;
use super::party::Party;
use crate::error::Error;
use crate::protocol::{Phase, Run};

/// Entries evaluated at a time. Local.
const BATCH: usize = 1 << 10;

/// Entries of a bin that are written together, which are nearly always all.
const WIDE: usize = 8;

/// Blocks of a row.
const BLOCKS: usize = kk13::COLUMNS / Block::BITS;

/// The item at each place of the lists.
pub(super) fn masks<S: OprfSender<u8, BLOCKS>>(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    mut ots: S,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u32>, Error> {
    // 2. Each item in all of its bins; from here on it is known by its place in the lists.
    let order = items.shuffled(rng);
    let party = Party::new(run, plan, items, Some(&order))?;
    let table = party.simple();
    // 3. The masks, bin by bin; a list goes when the last bin of its function is done.
    run.phase(Phase::Answer, plan.cuckoo.layout.bins());
    let layout = plan.cuckoo.layout;
    let mut answer = Answer::new(&party, items.len());
    let mut rows = Vec::new();
    for (function, first, bins) in plan.calls() {
        rows.resize(bins * plan.characters, [Block::ZERO; 2]);
        let number = ots.next();
        ots.extend(&mut rows, channel.split().1)?;
        answer.bins(&Rows { ots: &ots, first: number, rows: &rows }, function, first..first + bins, &table);
        run.advance(bins)?;
        let segment = layout.segment_of(function);
        answer.masks.advance(first + bins - segment.start, segment.len(), channel.split().0)?;
        if first + bins == segment.end {
            answer.complete(function, channel.split().0)?;
        }
    }
    rows.resize(plan.cuckoo.stash * plan.stash_characters, [Block::ZERO; 2]);
    let number = ots.next();
    ots.extend(&mut rows, channel.split().1)?;
    for place in 0..plan.cuckoo.stash {
        answer.stash(&Rows { ots: &ots, first: number, rows: &rows }, place);
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
    party: &'a Party<'a>,
    masks: Departing,
    at: Vec<u32>,
    words: Vec<u8>,
    outputs: Vec<Block>,
}

impl<'a> Answer<'a> {
    fn new(party: &'a Party<'a>, items: usize) -> Self {
        let masks = Departing::new(party.plan.width, items);
        Self { party, masks, at: Vec::new(), words: Vec::new(), outputs: vec![Block::ZERO; BATCH] }
    }

    /// The list in the making, which is number `list`, is complete.
    fn complete(&mut self, list: usize, channel: &mut SendHalf) -> Result<(), Error> {
        self.masks.complete(self.party.run, list + 1 == self.party.plan.lists(), channel)
    }

    /// What is in these bins, whose OTs have these rows.
    fn bins(
        &mut self,
        rows: &Rows<'_, impl OprfSender<u8, BLOCKS>>,
        function: usize,
        bins: Range<usize>,
        table: &simple::Table,
    ) {
        let characters = self.party.plan.characters;
        let start = table.range(bins.start).start;
        let places = &table.entries()[start..table.range(bins.end - 1).end];
        // The first row of the bin of each entry. Written in a fixed length: what follows is written later.
        self.at.resize(places.len() + WIDE, 0);
        for (row, bin) in (0..).step_by(characters).zip(bins) {
            let entries = table.range(bin);
            let at = &mut self.at[entries.start - start..];
            if let Some(at) = at.first_chunk_mut::<WIDE>() {
                *at = [row; WIDE];
            }
            if entries.len() > WIDE {
                at[..entries.len()].fill(row);
            }
        }
        for (at, places) in self.at.chunks(BATCH).zip(places.chunks(BATCH)) {
            self.party.characters(function, places.len(), |i| Some(places[i]), &mut self.words);
            let (at, outputs) = (&at[..places.len()], &mut self.outputs[..places.len()]);
            rows.ots.evaluate_groups(characters, rows.first, rows.rows, at, &self.words, outputs);
            self.masks.set_all(places.iter().copied(), outputs);
        }
    }

    /// Every item, whole, at place `place` of the stash.
    fn stash(&mut self, rows: &Rows<'_, impl OprfSender<u8, BLOCKS>>, place: usize) {
        let characters = self.party.plan.stash_characters;
        self.at.clear();
        self.at.resize(BATCH, (place * characters) as u32);
        for (batch, numbers) in self.party.numbered.numbers.chunks(BATCH).enumerate() {
            self.words.clear();
            for item in numbers {
                push_characters(&mut self.words, item.to_u128(), characters);
            }
            let (at, outputs) = (&self.at[..numbers.len()], &mut self.outputs[..numbers.len()]);
            rows.ots.evaluate_groups(characters, rows.first, rows.rows, at, &self.words, outputs);
            for (place, mask) in (batch * BATCH..).zip(outputs) {
                self.masks.set(place, mask.to_u128());
            }
        }
    }
}
