//! OT-PSI: in every bin, one item of the receiver is compared with all of the sender's by OTs on strings of several masks.
//! The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model. Leaks n_r and n_s.
//!
//! Source: Pinkas, Schneider, Zohner (USENIX Security 2014), as PSSZ15 §3.5 and Figure 1 describe it: two hash functions, a
//! stash of s items, max_β masks a bin. It is the predecessor of OT-phasing, kept for comparison: items are compared in
//! their full length, and each OT is stretched to as many masks as the fullest bin could need.
//!
//! ```text
//! receiver (Y)                                        sender (X)
//!               ── base OTs, sender ──►               32
//!               ◄── base OTs, receiver ──             64·256
//! each y in bin h_1(y) or h_2(y), or in the stash     each x in bins h_1(x) and h_2(x), and in each place of the stash
//!               ── OTs, t for each bin and place ──►  (β + s)·t·32
//! M_b,k = G(S_1)[k] ⊕ … ⊕ G(S_t)[k], all k < max_β,   the same for its item in slot k of bin b, from the strings
//!     S_c the string of y's character c                   of that item's characters
//!               ◄── masks, a list each way ──         (2 + s)·n_s·⌈ℓ/8⌉
//! output {y : M_b,k in the list of its function, or at place k in the list of its place of the stash}
//! ```
//!
//! A mask of an item that differs from y has a string in it that the receiver does not know, and no two items share slot and
//! bin, so the masks of what is not in the intersection are independent and random.
//!
//! Deviations, beside bins in segments (`encode::hashing`): a *random* slot of the max_β for each of the sender's items, where
//! the paper fills a bin from its start, so that the slot of a match does not tell how full the bin is. ℓ has ⌈log2 max_β⌉
//! bits more, for max_β masks of the receiver stand against each of the sender's; and a stash by a proven bound
//! (`--paper-parameters`: ℓ, max_β and s as the paper has them). The sender's n_s masks for a place of the stash stand in its
//! one random order, k being the place in that order, so that they need no search.
//!
//! Names: β = `bins`, s = `stash`, t = `characters`, max_β = `load`, G = the stream of a [`Prg`], OT = [`kk13`] with N = 256.
//! Cost: receiver (β + s)·t OTs, n_r·t·max_β AES and as many lookups as n_r·max_β; sender 2·n_s·t OT strings and AES.

use rand_core::CryptoRng;
use vesica_crypto::aes_hash::rekeyed_encrypt;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::join::{PackedTags, join};
use vesica_crypto::memory::{large_vec, prefetch};
use vesica_crypto::prg::Prg;
use vesica_encode::hashing::parameters::{self, Cuckoo, paper};
use vesica_encode::hashing::{Digests, simple};
use vesica_encode::items::{Items, Matches};
use vesica_net::{Channel, RecvHalf};
use vesica_ot::kk13::{self, WalshHadamard};

use super::keys;
use super::lists::{self, MaskLists};
use super::{check_sizes, table};
use crate::error::Error;
use crate::masks::{MaskWidth, mask_bits};
use crate::parameters::{Offers, Parameters, Security};
use crate::positions;
use crate::protocol::{Phase, Role, Run, Sizes};
use crate::registry::{Entry, Memory, Message, Shape, Standing};

/// Bins handled at a time. Local: a multiple of a tile of the OT extension, so that it changes no byte.
const REGION: usize = 1 << 12;

/// Masks that the receiver makes and looks up at a time. Local.
const CANDIDATES: usize = 1 << 21;

/// Items whose strings are stretched together. Local.
const BATCH: usize = 64;

/// Slots that are computed with one key schedule.
const SLOTS: usize = 4;

/// Entries ahead whose words are on their way.
const AHEAD: usize = 16;

/// The registry's entry.
pub static ENTRY: Entry = Entry {
    name: "ot-psi",
    title: "OTs on lists of masks, cuckoo hashing with a stash",
    family: "ot_based",
    paper: "PSZ14; PSSZ15 §3.5, Figure 1",
    security: &[Security::SemiHonest],
    offers: Offers { sigma: Some((1, 64)), paper: true, ..Offers::STANDARD },
    standing: Standing::Standard,
    learns_both: true,
    learns: "receiver: the intersection",
    leakage: "n_r and n_s",
    flights: |_| 4,
    base_ots: Some(|shape| plan(shape).map_or(0, |_| kk13::COLUMNS as u64)),
    messages: &[
        Message {
            from: Role::Receiver,
            what: "base OTs, sender's part; not sent where they are kept",
            formula: "32",
            bytes: |shape| plan(shape).map_or(0, |_| shape.unless_kept(32)),
        },
        Message {
            from: Role::Sender,
            what: "base OTs, receiver's part; not sent where they are kept",
            formula: "64·256",
            bytes: |shape| plan(shape).map_or(0, |_| shape.unless_kept(64 * kk13::COLUMNS as u64)),
        },
        Message {
            from: Role::Receiver,
            what: "OT extension, t rows for each of β bins and s places of the stash",
            formula: "(β + s)·t·32",
            bytes: |shape| plan(shape).map_or(0, |plan| 32 * plan.transfers() as u64),
        },
        Message {
            from: Role::Sender,
            what: "masks, a list for each hash function and place of the stash",
            formula: "(2 + s)·n_s·⌈ℓ'/8⌉",
            bytes: |shape| {
                plan(shape).map_or(0, |plan| plan.lists() * plan.width.bytes() as u64 * shape.sender())
            },
        },
        positions::MESSAGE,
    ],
    memory: "receiver (60 + 16·t)·n_r + 4·β + 40·n_s + 200 MiB at most, sender (60 + (2 + s)·⌈ℓ'/8⌉)·n_s",
    memory_bytes: |shape| {
        let plan = plan(shape);
        let plan = plan.as_ref();
        let (bins, seeds) = plan.map_or((0, 0), |plan| (plan.bins() as u64, 16 * plan.characters as u64));
        let candidates = plan.map_or(0, |plan| (plan.load as u64 * shape.receiver()).min(CANDIDATES as u64));
        Memory {
            receiver: (60 + seeds) * shape.receiver() + 4 * bins + 40 * shape.sender() + 100 * candidates,
            sender: (60 + plan.map_or(0, |plan| plan.lists() * plan.width.bytes() as u64)) * shape.sender(),
        }
    },
    test_items: 1 << 9,
    receive,
    send,
};

/// The plan of a run of this shape, if there is anything to compare.
fn plan(shape: &Shape) -> Option<Plan> {
    Plan::new(shape.sizes, &shape.parameters).ok()?
}

/// What both parties derive from sizes and parameters.
struct Plan {
    width: MaskWidth,
    cuckoo: Cuckoo,
    load: usize,
    characters: usize,
}

impl Plan {
    /// None if a set is empty.
    fn new(sizes: Sizes, agreed: &Parameters) -> Result<Option<Self>, Error> {
        let Sizes { receiver, sender } = sizes;
        if receiver == 0 || sender == 0 {
            return Ok(None);
        }
        check_sizes(sizes)?;
        let cuckoo =
            if agreed.paper { paper::two_way(receiver, receiver) } else { parameters::two_way(receiver) };
        let load = match agreed.paper && receiver == sender {
            true => paper::load_by_equation_5(receiver as f64) as usize,
            false => parameters::maximum_load(sender, cuckoo.layout),
        };
        let width = MaskWidth::for_candidates(sizes, if agreed.paper { 1 } else { load })?;
        // Hashed items are compared in the ℓ bits that keep different ones apart.
        let bits = agreed.sigma.unwrap_or_else(|| mask_bits(sizes));
        Ok(Some(Self { width, cuckoo, load, characters: bits.div_ceil(8) as usize }))
    }

    fn bins(&self) -> usize {
        self.cuckoo.layout.bins()
    }

    fn transfers(&self) -> usize {
        (self.bins() + self.cuckoo.stash) * self.characters
    }

    fn lists(&self) -> u64 {
        (self.cuckoo.layout.functions() + self.cuckoo.stash) as u64
    }
}

/// The receiver's role.
pub fn receive(
    run: &Run<'_>,
    items: &Items,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Matches, Error> {
    run.expect_items(Role::Receiver, items)?;
    let pairs = match Plan::new(run.sizes, &run.parameters)? {
        Some(plan) => receive_pairs(run, &plan, items, channel, rng)?,
        None => Vec::new(),
    };
    positions::finish(run, &pairs, channel.split().0, items)
}

/// The sender's role.
pub fn send(
    run: &Run<'_>,
    items: &Items,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Matches>, Error> {
    run.expect_items(Role::Sender, items)?;
    let order = match Plan::new(run.sizes, &run.parameters)? {
        Some(plan) => send_masks(run, &plan, items, channel, rng)?,
        None => Vec::new(),
    };
    positions::recv_if_both(run, channel.split().1, |place| order[place], items)
}

/// Pairs (item of mine, place in the sender's lists).
fn receive_pairs(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<(u32, u32)>, Error> {
    run.phase(Phase::Blind, items.len());
    let mut ots = kk13::Receiver::setup(
        WalshHadamard::default(),
        &run.context,
        run.threads,
        run.base_ots,
        channel,
        rng,
    )?;
    let words = Words::of(run, items, None)?;
    let digests = Digests::new(&words.keys, plan.cuckoo.layout);
    let table = table(&digests, plan.cuckoo.stash, run.parameters.paper)?;

    // The strings of every item's characters; an empty bin's and place's transfers choose those of some item of mine.
    run.phase(Phase::Answer, plan.bins());
    let mut held: Vec<Held> = (0..plan.cuckoo.layout.functions()).map(|_| Held::default()).collect();
    let mut stash = Held::default();
    let (mut chosen, mut strings) = (Vec::new(), Vec::new());
    for first in (0..plan.bins()).step_by(REGION) {
        let bins = first..plan.bins().min(first + REGION);
        chosen.clear();
        bins.clone().for_each(|bin| words.push(table.get(bin), plan.characters, &mut chosen));
        strings.resize(chosen.len(), Block::ZERO);
        ots.extend(&chosen, &mut strings, channel)?;
        for (bin, strings) in bins.clone().zip(strings.chunks_exact(plan.characters)) {
            if let Some(item) = table.get(bin) {
                held[plan.cuckoo.layout.function_of(bin)].push(item, strings);
            }
        }
        run.advance(bins.len())?;
    }
    let places = (0..plan.cuckoo.stash).map(|place| table.stash().get(place).copied());
    chosen.clear();
    places.for_each(|item| words.push(item, plan.characters, &mut chosen));
    strings.resize(chosen.len(), Block::ZERO);
    ots.extend(&chosen, &mut strings, channel)?;
    channel.flush()?;
    let strings = strings.chunks_exact(plan.characters);
    table.stash().iter().zip(strings).for_each(|(item, strings)| stash.push(*item, strings));
    drop((words, table));
    find(run, plan, &held, &stash, channel.split().1)
}

/// Looks for own masks in the sender's lists.
fn find(
    run: &Run<'_>,
    plan: &Plan,
    held: &[Held],
    stash: &Held,
    channel: &mut RecvHalf,
) -> Result<Vec<(u32, u32)>, Error> {
    let count = run.sizes.sender;
    run.phase(Phase::Exchange, plan.lists() as usize * count * plan.width.bytes());
    let mut bytes = large_vec(0, count * plan.width.bytes());
    let mut pairs = Vec::new();
    for (number, held) in held.iter().enumerate() {
        lists::recv_one(run, plan.width, number * count, &mut bytes, channel)?;
        let theirs = PackedTags::new(&bytes, plan.width.bytes());
        let at_once = (CANDIDATES / plan.load.max(1)).max(1);
        for (items, strings) in held.items.chunks(at_once).zip(held.strings.chunks(at_once * plan.characters))
        {
            let found = join(run.threads, &theirs, &stretch(plan, strings)[..]);
            pairs.extend(found.into_iter().map(|(place, mask)| (items[mask as usize / plan.load], place)));
            run.advance(0)?;
        }
    }
    for place in 0..plan.cuckoo.stash {
        lists::recv_one(run, plan.width, (held.len() + place) * count, &mut bytes, channel)?;
        let Some(item) = stash.items.get(place) else { continue };
        let strings = &stash.strings[place * plan.characters..][..plan.characters];
        let mut streams: Vec<Prg> = strings.iter().map(|string| Prg::from_seed(*string)).collect();
        for (k, theirs) in (0..).zip(bytes.chunks_exact(plan.width.bytes())) {
            let mask = streams.iter_mut().fold(Block::ZERO, |mask, stream| mask ^ stream.block());
            if plan.width.truncate(&mask.to_bytes()).to_le_bytes()[..theirs.len()] == *theirs {
                pairs.push((*item, k));
            }
        }
    }
    Ok(pairs)
}

/// All max_β masks of each item, item after item, from the `strings` of their characters.
fn stretch(plan: &Plan, strings: &[Block]) -> Vec<u128> {
    let (t, load) = (plan.characters, plan.load);
    let mut masks = large_vec(0, strings.len() / t * load);
    let mut columns = [(); SLOTS].map(|()| vec![Block::ZERO; BATCH * t]);
    for (strings, masks) in strings.chunks(BATCH * t).zip(masks.chunks_mut(BATCH * load)) {
        for first in (0..load).step_by(SLOTS) {
            for (slot, column) in (first..).zip(&mut columns) {
                column.fill(Block::from(slot as u128));
            }
            rekeyed_encrypt(strings, columns.each_mut().map(|column| &mut column[..strings.len()]));
            for (slot, column) in (first..load).zip(&columns) {
                for (masks, blocks) in masks.chunks_exact_mut(load).zip(column.chunks_exact(t)) {
                    masks[slot] = plan.width.truncate(&sum(blocks).to_bytes());
                }
            }
        }
    }
    masks
}

/// The item at each place of the lists.
fn send_masks(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u32>, Error> {
    run.phase(Phase::Blind, items.len());
    let mut ots =
        kk13::Sender::setup(WalshHadamard::default(), &run.context, run.threads, run.base_ots, channel, rng)?;
    // From here on an item is known by its place in the lists.
    let order = items.shuffled(rng);
    let words = Words::of(run, items, Some(&order))?;
    let table = simple::Table::build(run.threads, &Digests::new(&words.keys, plan.cuckoo.layout));
    table.check_load(plan.load).map_err(|_| Error::Chance("a bin has more items than any was to have"))?;

    run.phase(Phase::Answer, plan.bins());
    let mut masks = MaskLists::new(plan.width, plan.lists() as usize, items.len());
    let mut slots = Slots::new(plan.load, rng);
    let mut rows = vec![[Block::ZERO; kk13::COLUMNS / Block::BITS]; REGION * plan.characters];
    let mut work = Strings::default();
    for first in (0..plan.bins()).step_by(REGION) {
        let bins = first..plan.bins().min(first + REGION);
        let rows = &mut rows[..bins.len() * plan.characters];
        let number = ots.next();
        ots.extend(rows, channel.split().1)?;
        work.clear();
        for bin in bins.clone() {
            work.ask(&words, table.bin(bin), (bin - first) * plan.characters, plan.characters);
            slots.deal(table.bin(bin).len(), plan.characters, &mut work.slots);
        }
        work.answer(&ots, number, rows);
        let entries = table.range(bins.start).start..table.range(bins.end - 1).end;
        let list_of = bins
            .clone()
            .flat_map(|bin| std::iter::repeat_n(plan.cuckoo.layout.function_of(bin), table.bin(bin).len()));
        let sums = work.slots.chunks_exact(plan.characters).map(sum);
        for ((place, list), mask) in table.entries()[entries].iter().zip(list_of).zip(sums) {
            masks.set(list, *place as usize, mask.to_u128());
        }
        run.advance(bins.len())?;
    }
    answer_stash(plan, &words, &mut ots, &mut masks, channel.split().1)?;
    masks.send(run, channel.split().0)?;
    Ok(order)
}

/// The masks of every item for each place of the stash, where an item's slot is its place in the lists.
fn answer_stash(
    plan: &Plan,
    words: &Words,
    ots: &mut kk13::Sender,
    masks: &mut MaskLists,
    channel: &mut RecvHalf,
) -> Result<(), Error> {
    let t = plan.characters;
    // In one call, as the receiver's: a call begins where tiles of the extension do.
    let mut rows = vec![[Block::ZERO; kk13::COLUMNS / Block::BITS]; t * plan.cuckoo.stash];
    let first = ots.next();
    ots.extend(&mut rows, channel)?;
    let values: Vec<u8> = (0..t).flat_map(|_| 0..=u8::MAX).collect();
    let at: Vec<u32> = (0..t as u32).flat_map(|row| [row; kk13::VALUES]).collect();
    let mut strings = vec![Block::ZERO; values.len()];
    for (place, rows) in rows.chunks_exact(t).enumerate() {
        ots.evaluate(first + (place * t) as u64, rows, &at, &values, &mut strings);
        let (mut keys, mut blocks) = (Vec::new(), Vec::new());
        for first in (0..words.keys.len()).step_by(REGION) {
            let items = first..words.keys.len().min(first + REGION);
            keys.clear();
            blocks.clear();
            for item in items.clone() {
                let word = words.values[item].to_bytes();
                keys.extend((0..t).map(|c| strings[c * kk13::VALUES + usize::from(word[c])]));
                blocks.extend(std::iter::repeat_n(Block::from(item as u128), t));
            }
            rekeyed_encrypt(&keys, [&mut blocks]);
            for (item, blocks) in items.zip(blocks.chunks_exact(t)) {
                masks.set(plan.cuckoo.layout.functions() + place, item, sum(blocks).to_u128());
            }
        }
    }
    Ok(())
}

/// The strings that the sender asks of its OTs, and the slots they are stretched to.
#[derive(Default)]
struct Strings {
    at: Vec<u32>,
    characters: Vec<u8>,
    strings: Vec<Block>,
    slots: Vec<Block>,
}

impl Strings {
    fn clear(&mut self) {
        self.at.clear();
        self.characters.clear();
        self.slots.clear();
    }

    /// Asks for the strings of the characters of all items of a bin, whose rows begin at `row`.
    fn ask(&mut self, words: &Words, items: &[u32], row: usize, characters: usize) {
        for (i, item) in items.iter().enumerate() {
            prefetch(&words.values, items.get(i + AHEAD).map_or(usize::MAX, |item| *item as usize));
            self.characters.extend_from_slice(&words.values[*item as usize].as_bytes()[..characters]);
            self.at.extend(row as u32..(row + characters) as u32);
        }
    }

    /// Replaces the slot of each character by what the stream of its string has there.
    fn answer(&mut self, ots: &kk13::Sender, number: u64, rows: &[kk13::Row]) {
        self.strings.resize(self.at.len(), Block::ZERO);
        ots.evaluate(number, rows, &self.at, &self.characters, &mut self.strings);
        rekeyed_encrypt(&self.strings, [&mut self.slots]);
    }
}

/// Deals different slots to the items of a bin, each set of slots with the same probability.
struct Slots {
    slots: Vec<u32>,
    rng: Prg,
}

impl Slots {
    fn new(load: usize, rng: &mut dyn CryptoRng) -> Self {
        Self { slots: (0..load as u32).collect(), rng: Prg::from_rng(rng) }
    }

    /// Appends the slots of `items` items, each as often as an item has characters.
    fn deal(&mut self, items: usize, characters: usize, out: &mut Vec<Block>) {
        let load = self.slots.len();
        for dealt in 0..items {
            // The first steps of a shuffle; the order that it begins with does not matter.
            let mut random = [0; 8];
            self.rng.fill(&mut random);
            let left = (load - dealt) as u128;
            let other = dealt + ((u128::from(u64::from_le_bytes(random)) * left) >> 64) as usize;
            self.slots.swap(dealt, other);
            out.extend(std::iter::repeat_n(Block::from(u128::from(self.slots[dealt])), characters));
        }
    }
}

/// Items of one function, or of the stash, with the strings of their characters.
#[derive(Default)]
struct Held {
    items: Vec<u32>,
    strings: Vec<Block>,
}

impl Held {
    fn push(&mut self, item: u32, strings: &[Block]) {
        self.items.push(item);
        self.strings.extend_from_slice(strings);
    }
}

/// What is hashed to bins, and what is compared in them: native items as they are, others by their key.
struct Words {
    keys: Vec<Block>,
    values: Vec<Block>,
}

impl Words {
    /// Of the items in the order given, or in their own.
    fn of(run: &Run<'_>, items: &Items, order: Option<&[u32]>) -> Result<Self, Error> {
        let keys = keys::hashed(run, &item_oracle(run), items, order)?;
        let natives = (0..items.len()).map_while(|place| {
            let value = items.native(order.map_or(place, |order| order[place] as usize));
            value.map(|value| Block::from(u128::from(value)))
        });
        let natives: Vec<Block> = natives.collect();
        let values = if natives.is_empty() { keys.clone() } else { natives };
        Ok(Self { keys, values })
    }

    /// Appends the characters of `item`; of the first one if there is none. What is asked for in an empty bin can be looked
    /// for in the sender's lists: another number would be an item that its asker does not hold.
    fn push(&self, item: Option<u32>, characters: usize, out: &mut Vec<u8>) {
        let value = self.values[item.unwrap_or_default() as usize];
        out.extend_from_slice(&value.as_bytes()[..characters]);
    }
}

fn sum(blocks: &[Block]) -> Block {
    blocks.iter().fold(Block::ZERO, |sum, block| sum ^ *block)
}

fn item_oracle(run: &Run<'_>) -> Oracle {
    run.context.oracle(Label::new("ot-psi: item to key"))
}

#[cfg(test)]
mod tests;
