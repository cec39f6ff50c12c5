//! The receiver puts each item into one slot, computes all masks that the sender may have for it, and looks
//! for them in the sender's lists.

use std::ops::Range;

use vesica_channel::{Channel, RecvHalf};
use vesica_crypto::aes_hash::rekeyed_encrypt;
use vesica_crypto::block::Block;
use vesica_crypto::join::{PackedTags, join};
use vesica_crypto::memory::{large_capacity, large_vec};
use vesica_encode::items::Items;
use vesica_ot::nco::NcoReceiver;

use super::super::inclusion::{self, sum};
use super::plan::{Plan, REGION, Words};
use super::slots::Slots;
use crate::error::Error;
use crate::mask_lists;
use crate::oprf::bins::characters::push_characters;
use crate::oprf::bins::step_begins;
use crate::protocol::{Phase, Run};

/// Items whose strings are stretched together. Local.
const BATCH: usize = 64;

/// Indices that are computed with one key schedule.
const INDICES: usize = 4;

/// Masks of a list that are received together. Local.
const CHUNK: usize = 1 << 15;

/// Bytes that are there for a list before any of it has come; beyond them it takes as many as have.
const ROOM: usize = 1 << 24;

/// Takes the strings of the item in a slot.
type Keep<'a> = &'a mut dyn FnMut(usize, u32, &[Block]);

/// Pairs (item of mine, position in the sender's lists).
pub(super) fn pairs<R: NcoReceiver<u8>>(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    mut ots: R,
    channel: &mut dyn Channel,
) -> Result<Vec<(u32, u32)>, Error> {
    // 2. Each item in one slot of its bins, or of the stash.
    run.phase(Phase::Hash, items.len());
    let words = Words::of(run, plan, items, None)?;
    let table = Slots::new(run, plan, &words.digests)?;
    // 3. The strings of every item's characters. The OTs of an empty slot choose the characters of one of my
    // own items.
    run.phase(Phase::Extend, plan.all_slots() + plan.stash);
    let mut held: Vec<Held> = (0..plan.lists_of_bins()).map(|_| Held::default()).collect();
    let mut stash = Held::default();
    let (mut chosen, mut strings) = (Vec::new(), Vec::new());
    let mut transfer = |count: usize, item: &dyn Fn(usize) -> Option<u32>, keep: Keep<'_>| {
        for first in (0..count).step_by(REGION) {
            let slots = first..count.min(first + REGION);
            chosen.clear();
            slots.clone().for_each(|slot| choose(&words, item(slot), plan.characters, &mut chosen));
            strings.resize(chosen.len(), Block::ZERO);
            ots.extend_in_steps(1, &chosen, &mut strings, channel, &mut |step| step_begins(run, step))?;
            run.advance(slots.len())?;
            for (slot, strings) in slots.zip(strings.chunks_exact(plan.characters)) {
                if let Some(item) = item(slot) {
                    keep(slot, item, strings);
                }
            }
        }
        Ok::<_, Error>(())
    };
    let keep = &mut |slot, item, strings: &[Block]| held[plan.list_of(slot)].push(item, strings);
    transfer(plan.all_slots(), &|slot| table.get(slot), keep)?;
    let keep = &mut |_, item, strings: &[Block]| stash.push(item, strings);
    transfer(plan.stash, &|slot| table.stash().get(slot).copied(), keep)?;
    channel.flush()?;
    drop((words, table));
    // 4. All masks that the sender may have for my items, looked for in its lists.
    find(run, plan, &held, &stash, channel.split().1)
}

/// Looks for own masks in the sender's lists.
fn find(
    run: &Run<'_>,
    plan: &Plan,
    held: &[Held],
    stash: &Held,
    channel: &mut dyn RecvHalf,
) -> Result<Vec<(u32, u32)>, Error> {
    let (count, width) = (run.sizes.sender, plan.width.bytes());
    run.phase(Phase::Exchange, plan.lists() * count * width);
    let mut list = large_capacity((count * width).min(ROOM));
    let mut pairs = Vec::new();
    for (number, held) in held.iter().enumerate() {
        // The list grows as it comes: the size that the sender claims takes no memory.
        list.clear();
        by_chunks(run, plan, number, channel, |_, chunk| list.extend_from_slice(chunk))?;
        search(run, plan, held, &PackedTags::new(&list, width), &mut pairs)?;
    }
    for slot in 0..plan.stash {
        let item = stash.items.get(slot);
        let strings = stash.strings.chunks_exact(plan.characters).nth(slot).unwrap_or_default();
        let mut masks = inclusion::Masks::new(strings);
        by_chunks(run, plan, held.len() + slot, channel, |first, chunk| {
            let Some(item) = item else { return };
            run.progress.attribute_time(Some(Phase::Compare));
            for (k, theirs) in (first as u32..).zip(chunk.chunks_exact(width)) {
                if plan.width.truncate(&masks.next().to_bytes()).to_le_bytes()[..width] == *theirs {
                    pairs.push((*item, k));
                }
            }
            run.progress.attribute_time(None);
        })?;
    }
    Ok(pairs)
}

/// Receives a list chunk by chunk; `take` has the position of a chunk's first mask and the chunk.
fn by_chunks(
    run: &Run<'_>,
    plan: &Plan,
    list: usize,
    channel: &mut dyn RecvHalf,
    mut take: impl FnMut(usize, &[u8]),
) -> Result<(), Error> {
    let count = run.sizes.sender;
    let mut chunk = vec![0; CHUNK.min(count) * plan.width.bytes()];
    for first in (0..count).step_by(CHUNK) {
        let chunk = &mut chunk[..CHUNK.min(count - first) * plan.width.bytes()];
        mask_lists::recv_one(run, plan.width, list * count + first, chunk, channel)?;
        take(first, chunk);
    }
    Ok(())
}

/// Looks in a list for all masks of the items held. The plan says how many at a time: those of several items,
/// or of some indices of one.
pub(super) fn search(
    run: &Run<'_>,
    plan: &Plan,
    held: &Held,
    theirs: &PackedTags<'_>,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<(), Error> {
    let indices_at_once = plan.load.clamp(1, plan.candidates);
    let items_at_once = plan.candidates / indices_at_once;
    let strings = held.strings.chunks(items_at_once * plan.characters);
    for (items, strings) in held.items.chunks(items_at_once).zip(strings) {
        for first in (0..plan.load).step_by(indices_at_once) {
            let indices = first..plan.load.min(first + indices_at_once);
            let masks = run.in_phase(Phase::Evaluate, || stretch(plan, strings, indices.clone()));
            // The tables are made of own masks, which no partner chooses.
            let found = run.in_phase(Phase::Compare, || join(run.threads, &masks[..], theirs));
            pairs.extend(
                found.into_iter().map(|(mask, position)| (items[mask as usize / indices.len()], position)),
            );
            run.advance(0)?;
        }
    }
    Ok(())
}

/// The masks of each item at these indices, item after item, from the `strings` of their characters.
fn stretch(plan: &Plan, strings: &[Block], indices: Range<usize>) -> Vec<u128> {
    let (t, load) = (plan.characters, indices.len());
    let mut masks = large_vec(0, strings.len() / t * load);
    let mut columns = [(); INDICES].map(|()| vec![Block::ZERO; BATCH * t]);
    for (strings, masks) in strings.chunks(BATCH * t).zip(masks.chunks_mut(BATCH * load)) {
        for first in (0..load).step_by(INDICES) {
            for (index, column) in (indices.start + first..).zip(&mut columns) {
                column.fill(Block::from(index as u128));
            }
            rekeyed_encrypt(strings, columns.each_mut().map(|column| &mut column[..strings.len()]));
            for (index, column) in (first..load).zip(&columns) {
                for (masks, blocks) in masks.chunks_exact_mut(load).zip(column.chunks_exact(t)) {
                    masks[index] = plan.width.truncate(&sum(blocks).to_bytes());
                }
            }
        }
    }
    masks
}

/// Appends the characters of `item`; of the first one if there is none. An empty slot must not query an item
/// that the receiver does not hold: it could then test whether the sender holds it.
pub(super) fn choose(words: &Words, item: Option<u32>, characters: usize, out: &mut Vec<u8>) {
    push_characters(out, words.numbers[item.unwrap_or_default() as usize].to_u128(), characters);
}

/// Items of one function, or of the stash, with the strings of their characters.
#[derive(Default)]
pub(super) struct Held {
    pub(super) items: Vec<u32>,
    pub(super) strings: Vec<Block>,
}

impl Held {
    fn push(&mut self, item: u32, strings: &[Block]) {
        self.items.push(item);
        self.strings.extend_from_slice(strings);
    }
}
