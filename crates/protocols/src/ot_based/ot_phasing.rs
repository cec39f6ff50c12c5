//! OT-Phasing. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model. Leaks n_r and n_s.
//!
//! Source: PSSZ15 §4, §6, §7. Deviations: each hash function has a segment of the bins to itself and a permutation of four
//! Feistel rounds ([`vesica_encode::hashing::permutation`]), so that bin and remainder belong to one item *and one function*:
//! the paper's values lack the function, and two different items can look equal (Lambæk, eprint 2016/665). That can cost one
//! character more than the paper counts. Three functions with bins enough to do without a stash; `--paper-parameters` are the
//! paper's bins and stash. The sender's masks are lists of one random order. OT strings have 128 bits, a mask is a hash of
//! context, bin and their XOR.
//!
//! ```text
//! receiver (Y)                                          sender (X)
//!               ── base OTs, sender ──►                 32
//!               ◄── base OTs, receiver ──               64·256
//! each y in one of its bins; v_1 … v_t its remainder there, in characters of 8 bits
//!               ── t 1-out-of-256 OTs a bin, v_1 … v_t, and t' for each place of the stash ──►   32·(t·β + t'·s)
//! S_y = ⊕_c s_{b,c,v_c}                                 for each x and bin b of x: S_x = ⊕_c s_{b,c,v_c}
//!               ◄── H(b, S_x), a list each function and place of the stash ──                    (h + s)·n_s·⌈ℓ/8⌉
//! output {y : H(b, S_y) in the list of the way in which y is held}
//! ```
//!
//! **Empty bins.** What the receiver asks for there it could look for, too: as a remainder it would be that of some item, which the
//! receiver does not hold. So it asks for M, one more than any remainder ([`Permutation::vacant`]), and where whole items
//! are compared, in the stash as well, for one of its own.
//!
//! The sender's strings of one bin are linearly dependent where items share characters; the hash, with strings of κ bits
//! each of which the receiver does not know, leaves nothing of that (§6.1). Sender and receiver treat the stash as bins that hold
//! every item of the sender, whole.
//!
//! **Variants**, the steps of appendix A, each with those before it: `original` is [`ot_psi`] (a mask for each
//! place of a bin); `single-mask` has two functions, a stash, whole items and one mask a bin; `permutation` has remainders in
//! place of whole items; the standard form has three functions and no stash.
//!
//! Names: β = `layout.bins()`, s = `stash`, t = `characters`, t' = `stash_characters`, H = `Masker`, strings = [`kk13`].
//! Cost: receiver t·β OTs and β hashes; sender h·n_s·(t + 1) hashes. Both work at once, as in [`kkrt16`](super::kkrt16). An OT
//! takes the receiver 4 blocks of AES, 4 rows transposed and a hash of 64 bytes, the sender half of the former; the
//! remainders of an item are computed once, with its bins.

use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::prefetch;
use vesica_encode::hashing::parameters::{self, Cuckoo, paper};
use vesica_encode::hashing::permutation::{Permutation, Placed};
use vesica_encode::hashing::{Digests, Layout, cuckoo, simple};
use vesica_encode::items::{Items, Matches};
use vesica_net::{Channel, SendHalf};
use vesica_ot::kk13::{self, WalshHadamard};

use super::lists::{Departing, Search, Sought};
use super::strings::{Masker, Numbered, characters, item_bits, push_characters, xor_groups};
use super::{check_sizes, ot_psi, table};
use crate::error::Error;
use crate::masks::MaskWidth;
use crate::parameters::{Offers, Parameters, Security, Variant};
use crate::positions;
use crate::protocol::{Learns, Phase, Role, Run, Sizes};
use crate::registry::{Entry, Memory, Message, Shape, Standing};

/// OTs of one call, about.
const ROWS: usize = 1 << 13;

/// Bins of one call are a multiple of this, so that OTs fill their tiles.
const BINS: usize = 1 << 10;

/// Entries evaluated at a time. Local.
const BATCH: usize = 1 << 10;

/// Entries ahead whose numbers are on their way.
const AHEAD: usize = 64;

const ORIGINAL: &str = "original";
const SINGLE_MASK: &str = "single-mask";
const PERMUTATION: &str = "permutation";

/// The registry's entry.
pub static ENTRY: Entry = Entry {
    name: "ot-phasing",
    title: "OT-Phasing, permutation-based hashing",
    family: "ot_based",
    paper: "PSSZ15 §4, §6, §7",
    security: &[Security::SemiHonest],
    offers: Offers {
        sigma: Some((1, 64)),
        variants: &[
            Variant { name: ORIGINAL, what: "appendix A: ot-psi, a mask for each place of a bin" },
            Variant { name: SINGLE_MASK, what: "appendix A: two functions, whole items, one mask a bin" },
            Variant { name: PERMUTATION, what: "appendix A: two functions, permutation-based hashing" },
        ],
        paper: true,
        ..Offers::STANDARD
    },
    standing: Standing::Standard,
    learns_both: true,
    learns: "receiver: the intersection",
    leakage: "n_r and n_s",
    flights: |_| 4,
    base_ots: ot_psi::ENTRY.base_ots,
    messages: &[
        Message {
            from: Role::Receiver,
            what: "base OTs, sender's part; not sent where they are kept",
            formula: "32",
            bytes: |shape| bytes(shape, 0, |_| shape.unless_kept(32)),
        },
        Message {
            from: Role::Sender,
            what: "base OTs, receiver's part; not sent where they are kept",
            formula: "64·256",
            bytes: |shape| bytes(shape, 1, |_| shape.unless_kept(64 * kk13::COLUMNS as u64)),
        },
        Message {
            from: Role::Receiver,
            what: "OT extension, t rows for each of β bins, t' for each of s places of the stash",
            formula: "32·(t·β + t'·s)",
            bytes: |shape| bytes(shape, 2, |plan| 32 * plan.ots()),
        },
        Message {
            from: Role::Sender,
            what: "masks, a list for each function and place of the stash",
            formula: "(h + s)·n_s·⌈ℓ/8⌉",
            bytes: |shape| bytes(shape, 3, |plan| plan.lists() as u64 * shape.sender() * shape.mask()),
        },
        positions::MESSAGE,
    ],
    memory: "receiver (64 + h·t)·n_r + 4·β, sender (48 + h·t + 2·⌈ℓ/8⌉)·n_s + 8·β",
    memory_bytes: |shape| match Plan::new(shape.sizes, &shape.parameters) {
        _ if shape.parameters.variant == ORIGINAL => (ot_psi::ENTRY.memory_bytes)(shape),
        Ok(Some(plan)) => {
            let layout = plan.cuckoo.layout;
            let (bins, characters) = (layout.bins() as u64, (layout.functions() * plan.characters) as u64);
            Memory {
                receiver: (64 + characters) * shape.receiver() + 4 * bins,
                sender: (48 + characters + 2 * shape.mask()) * shape.sender() + 8 * bins,
            }
        }
        _ => Memory { receiver: 0, sender: 0 },
    },
    test_items: 1 << 10,
    receive,
    send,
};

/// The bytes of a message in a run of this shape; 0 where a set is empty, and nothing is to be compared.
fn bytes(shape: &Shape, message: usize, count: impl Fn(&Plan) -> u64) -> u64 {
    if shape.parameters.variant == ORIGINAL {
        return (ot_psi::ENTRY.messages[message].bytes)(shape);
    }
    Plan::new(shape.sizes, &shape.parameters).ok().flatten().map_or(0, |plan| count(&plan))
}

/// What both parties derive from sizes and parameters.
struct Plan {
    width: MaskWidth,
    cuckoo: Cuckoo,
    /// σ′.
    sigma: u32,
    /// Whether remainders stand for items.
    permuted: bool,
    characters: usize,
    stash_characters: usize,
}

impl Plan {
    /// None if a set is empty.
    fn new(sizes: Sizes, parameters: &Parameters) -> Result<Option<Self>, Error> {
        let Sizes { receiver, sender } = sizes;
        if receiver == 0 || sender == 0 {
            return Ok(None);
        }
        check_sizes(sizes)?;
        let width = MaskWidth::for_sizes(sizes)?;
        let sigma = item_bits(parameters.sigma, width);
        let two_way = !parameters.variant.is_empty();
        let permuted = matches!(parameters.variant, "" | PERMUTATION);
        let cuckoo = match (parameters.paper, two_way) {
            // §8.2.2: two functions where the sender's set is much the larger one.
            (true, false) if sender / receiver < 16 => paper::three_way(receiver, sender),
            (true, _) => paper::two_way(receiver, sender),
            (false, false) => parameters::three_way(receiver),
            (false, true) => parameters::two_way(receiver),
        };
        let stash_characters = characters(sigma);
        let of_bins =
            if permuted { characters(remainder_bits(sigma, cuckoo.layout)) } else { stash_characters };
        Ok(Some(Self { width, cuckoo, sigma, permuted, characters: of_bins, stash_characters }))
    }

    fn permutation(&self, context: &Context) -> Permutation {
        Permutation::new(context, self.sigma, self.cuckoo.layout)
    }

    fn lists(&self) -> usize {
        self.cuckoo.layout.functions() + self.cuckoo.stash
    }

    fn ots(&self) -> u64 {
        (self.characters * self.cuckoo.layout.bins() + self.stash_characters * self.cuckoo.stash) as u64
    }

    /// Calls of the OT extension: function, first bin, bins. Agreed, since a call begins a new tile.
    fn calls(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let segment = self.cuckoo.layout.segment() as usize;
        let size = (ROWS / self.characters / BINS).max(1) * BINS;
        (0..self.cuckoo.layout.functions()).flat_map(move |function| {
            let bins = (0..segment).step_by(size);
            bins.map(move |first| (function, function * segment + first, size.min(segment - first)))
        })
    }
}

/// What a party asks for where it has no item and whole items are compared: one that it has. It learns whether the sender has
/// that, which it does anyway.
fn own_number(numbers: &[Block]) -> Block {
    numbers.first().copied().unwrap_or_default()
}

/// Bits of a remainder, which do not depend on the context.
fn remainder_bits(sigma: u32, layout: Layout) -> u32 {
    Permutation::new(&Context::new(&[0; 32], "", b"", 0, 0), sigma, layout).bits()
}

/// One party's items: where they go, and what takes their place there.
struct Party<'a> {
    run: &'a Run<'a>,
    plan: &'a Plan,
    /// Bins and remainders, where these stand for the items.
    placed: Option<Placed>,
    /// What stands for no item in a bin: [`Permutation::vacant`], or a whole item of this party's own.
    vacant: [u8; size_of::<u128>()],
    /// Whole items, where there is use for them.
    numbered: Numbered,
}

impl<'a> Party<'a> {
    fn new(run: &'a Run<'a>, plan: &'a Plan, items: &Items, order: Option<&[u32]>) -> Result<Self, Error> {
        let mut numbered = Numbered::new(run, plan.width, items, order, !plan.permuted)?;
        let mut vacant = own_number(&numbered.numbers).to_bytes();
        let placed = plan.permuted.then(|| {
            let (permutation, numbers) = (plan.permutation(&run.context), &numbered.numbers);
            vacant = permutation.vacant().to_le_bytes();
            permutation.place(run.threads, numbers.len(), |i| numbers[i].to_u128())
        });
        if plan.permuted && plan.cuckoo.stash == 0 {
            numbered.numbers = Vec::new();
        }
        Ok(Self { run, plan, placed, vacant, numbered })
    }

    /// Every item in one of its bins.
    fn cuckoo(&self) -> Result<cuckoo::Table, Error> {
        let (layout, stash) = (self.plan.cuckoo.layout, self.plan.cuckoo.stash);
        let paper = self.run.parameters.paper;
        match &self.placed {
            Some(placed) => table(placed, stash, paper),
            None => table(&Digests::new(&self.numbered.digests, layout), stash, paper),
        }
    }

    /// Every item in all of its bins.
    fn simple(&self) -> simple::Table {
        match &self.placed {
            Some(placed) => simple::Table::build(self.run.threads, placed),
            None => {
                let digests = Digests::new(&self.numbered.digests, self.plan.cuckoo.layout);
                simple::Table::build(self.run.threads, &digests)
            }
        }
    }

    /// The characters of what stands for `count` items in their bins under `function`, or for none.
    fn characters(
        &self,
        function: usize,
        count: usize,
        item: impl Fn(usize) -> Option<u32>,
        words: &mut Vec<u8>,
    ) {
        let characters = self.plan.characters;
        words.resize(count * characters + size_of::<u128>(), 0);
        for i in 0..count {
            if let Some(ahead) = Some(i + AHEAD).filter(|ahead| *ahead < count).and_then(&item) {
                match &self.placed {
                    Some(placed) => placed.prefetch_remainder(ahead as usize, function),
                    None => prefetch(&self.numbered.numbers, ahead as usize),
                }
            }
            let value = item(i).map_or(self.vacant, |item| match &self.placed {
                Some(placed) => placed.remainder(item as usize, function),
                None => self.numbered.numbers[item as usize].to_bytes(),
            });
            // Written whole: what follows is written later.
            words[i * characters..][..size_of::<u128>()].copy_from_slice(&value);
        }
        words.truncate(count * characters);
    }
}

/// The receiver's role.
pub fn receive(
    run: &Run<'_>,
    items: &Items,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Matches, Error> {
    if run.parameters.variant == ORIGINAL {
        return ot_psi::receive(run, items, channel, rng);
    }
    run.expect_items(Role::Receiver, items)?;
    let pairs = match Plan::new(run.sizes, &run.parameters)? {
        Some(plan) => receive_pairs(run, &plan, items, channel, rng)?,
        None => Vec::new(),
    };
    if run.learns == Learns::Both {
        positions::send(run.sizes.sender, pairs.iter().map(|&(_, place)| place), channel.split().0)?;
    }
    Ok(items.matches(pairs.iter().map(|&(item, _)| item as usize)))
}

/// The sender's role.
pub fn send(
    run: &Run<'_>,
    items: &Items,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Matches>, Error> {
    if run.parameters.variant == ORIGINAL {
        return ot_psi::send(run, items, channel, rng);
    }
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
    // 1. The base OTs, and 2. while the sender answers: each item in one of its bins, or in the stash.
    run.phase(Phase::Blind, items.len());
    let code = WalshHadamard::default();
    let opening = kk13::Receiver::open(code, &run.context, run.threads, run.base_ots, channel, rng)?;
    let party = Party::new(run, plan, items, None)?;
    let table = party.cuckoo()?;
    let mut ots = opening.finish(channel)?;
    // 3. The strings of the item of each bin, and their mask, 4. which is looked for in the list of the way in which it is
    // held.
    run.phase(Phase::Answer, plan.cuckoo.layout.bins());
    let mut search = Search::new(run, plan.width, run.sizes.sender, plan.lists());
    let mut masker = Masker::new(run);
    let (mut words, mut strings, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for (function, first, bins) in plan.calls() {
        // An empty bin asks for a string that shows nothing: the sender cannot tell.
        party.characters(function, bins, |bin| table.get(first + bin), &mut words);
        strings.resize(words.len(), Block::ZERO);
        ots.extend(&words, &mut strings, channel)?;
        xor_groups(&strings, plan.characters, &mut sums);
        let masks = masker.masks(&sums, first as u64..);
        let (sought, all) = (&mut search.sought[function], plan.cuckoo.layout.segment_of(function));
        if first == all.start {
            *sought = Sought::with_capacity(table.occupied(all));
        }
        for (bin, mask) in (first..).zip(masks) {
            if let Some(item) = table.get(bin) {
                sought.push(plan.width, mask.to_u128(), item);
            }
        }
        run.advance(bins)?;
        search.take_ready(plan.cuckoo.layout.function_of(first + bins), channel)?;
    }
    receive_stash(&party, &mut ots, table.stash(), &mut search.sought, &mut masker, channel)?;
    channel.flush()?;
    drop((party, table));
    search.finish(channel.split().1)
}

/// The strings of the items in the stash, whole, at each of its places.
fn receive_stash(
    party: &Party<'_>,
    ots: &mut kk13::Receiver,
    stash: &[u32],
    sought: &mut [Sought],
    masker: &mut Masker,
    channel: &mut Channel,
) -> Result<(), Error> {
    let plan = party.plan;
    let Cuckoo { layout, stash: places } = plan.cuckoo;
    let mut words = Vec::new();
    let numbers = &party.numbered.numbers;
    for place in 0..places {
        let number = stash.get(place).map_or_else(|| own_number(numbers), |item| numbers[*item as usize]);
        push_characters(&mut words, number.to_u128(), plan.stash_characters);
    }
    let (mut strings, mut sums) = (vec![Block::ZERO; words.len()], Vec::new());
    ots.extend(&words, &mut strings, channel)?;
    xor_groups(&strings, plan.stash_characters, &mut sums);
    let masks = masker.masks(&sums, layout.bins() as u64..);
    for ((item, mask), sought) in stash.iter().zip(masks).zip(&mut sought[layout.functions()..]) {
        sought.push(plan.width, mask.to_u128(), *item);
    }
    Ok(())
}

/// The item at each place of the lists.
fn send_masks(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u32>, Error> {
    // 1. The base OTs.
    run.phase(Phase::Blind, items.len());
    let code = WalshHadamard::default();
    let mut ots = kk13::Sender::setup(code, &run.context, run.threads, run.base_ots, channel, rng)?;
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
        answer.bins(&ots, number, &rows, function, first, bins, &table);
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
        answer.stash(&ots, number, &rows, place);
        answer.complete(layout.functions() + place, channel.split().0)?;
    }
    Ok(order)
}

/// A list of the sender's masks in the making.
struct Answer<'a> {
    party: &'a Party<'a>,
    masks: Departing,
    masker: Masker,
    at: Vec<u32>,
    words: Vec<u8>,
    strings: Vec<Block>,
    sums: Vec<Block>,
}

impl<'a> Answer<'a> {
    fn new(party: &'a Party<'a>, items: usize) -> Self {
        let masks = Departing::new(party.plan.width, items);
        let (masker, at, words) = (Masker::new(party.run), Vec::new(), Vec::new());
        Self { party, masks, masker, at, words, strings: Vec::new(), sums: Vec::new() }
    }

    /// The list in the making, which is number `list`, is complete.
    fn complete(&mut self, list: usize, channel: &mut SendHalf) -> Result<(), Error> {
        self.masks.complete(self.party.run, list + 1 == self.party.plan.lists(), channel)
    }

    /// What is in `bins` bins from `first` on, whose OTs have these rows, the first of them this number.
    #[expect(
        clippy::too_many_arguments,
        reason = "a call of the extension, its rows, and the table it is for"
    )]
    fn bins(
        &mut self,
        ots: &kk13::Sender,
        number: u64,
        rows: &[kk13::Row],
        function: usize,
        first: usize,
        bins: usize,
        table: &simple::Table,
    ) {
        let characters = self.party.plan.characters;
        let mut of_entries = Vec::with_capacity(BATCH);
        let start = table.range(first).start;
        let places = &table.entries()[start..table.range(first + bins - 1).end];
        let mut bin = first;
        for (batch, places) in places.chunks(BATCH).enumerate() {
            let batch = start + batch * BATCH;
            of_entries.clear();
            self.at.clear();
            for entry in batch..batch + places.len() {
                while table.range(bin).end <= entry {
                    bin += 1;
                }
                of_entries.push(bin);
                let row = ((bin - first) * characters) as u32;
                self.at.extend(row..row + characters as u32);
            }
            self.party.characters(function, places.len(), |i| Some(places[i]), &mut self.words);
            self.strings.resize(self.words.len(), Block::ZERO);
            ots.evaluate(number, rows, &self.at, &self.words, &mut self.strings);
            xor_groups(&self.strings, characters, &mut self.sums);
            let masks = self.masker.masks(&self.sums, of_entries.iter().map(|bin| *bin as u64));
            self.masks.filling.set_all(0, places, masks);
        }
    }

    /// Every item, whole, at a place of the stash.
    fn stash(&mut self, ots: &kk13::Sender, number: u64, rows: &[kk13::Row], slot: usize) {
        let Plan { cuckoo: Cuckoo { layout, .. }, stash_characters: characters, .. } = *self.party.plan;
        for (batch, numbers) in self.party.numbered.numbers.chunks(BATCH).enumerate() {
            self.at.clear();
            self.words.clear();
            for item in numbers {
                push_characters(&mut self.words, item.to_u128(), characters);
                let row = (slot * characters) as u32;
                self.at.extend(row..row + characters as u32);
            }
            self.strings.resize(self.words.len(), Block::ZERO);
            ots.evaluate(number, rows, &self.at, &self.words, &mut self.strings);
            xor_groups(&self.strings, characters, &mut self.sums);
            let bin = (layout.bins() + slot) as u64;
            let masks = self.masker.masks(&self.sums, std::iter::repeat(bin));
            for (place, mask) in (batch * BATCH..).zip(masks) {
                self.masks.filling.set(0, place, mask.to_u128());
            }
        }
    }
}

#[cfg(test)]
mod tests;
