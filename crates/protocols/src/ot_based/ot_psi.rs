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
//! Names: β = `bins`, s = `stash`, t = `characters`, max_β = `load`, G = the stream of a [`Prg`](vesica_crypto::prg::Prg), OT = [`kk13`] with N = 256.
//! Cost: receiver (β + s)·t OTs, n_r·t·max_β AES and as many lookups as n_r·max_β; sender 2·n_s·t OT strings and AES.

mod receiver;
mod sender;

use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_encode::hashing::parameters::{self, Cuckoo, paper};
use vesica_encode::items::{Items, Matches};
use vesica_net::Channel;
use vesica_ot::kk13;

use super::numbers::{characters, item_bits};
use super::{check_sizes, keys, six_phases, with_base_ots};
use crate::error::Error;
use crate::masks::MaskWidth;
use crate::parameters::{Offers, Parameters, Security};
use crate::positions;
use crate::protocol::{Role, Run, Sizes};
use crate::registry::{Entry, Memory, Message, Shape, Standing};

/// Bins handled at a time. Local: a multiple of a tile of the OT extension, so that it changes no byte.
const REGION: usize = 1 << 12;

/// Masks that the receiver makes and looks up at a time, at least. Local.
const CANDIDATES: usize = 1 << 21;

/// Of a longer list so many places to each of these. Local.
const PLACES: usize = 8;

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
    leakage: "the sizes of both sets",
    flights: with_base_ots,
    steps: six_phases,
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
    memory: "receiver (60 + 16·t)·n_r + 4·β + 40·n_s + 100·min(n_r·max_β, max(2^21, n_s/8)), \
             sender (60 + (2 + s)·⌈ℓ'/8⌉)·n_s + 4·β",
    memory_bytes: |shape| {
        let Some(plan) = plan(shape) else { return Memory { receiver: 0, sender: 0 } };
        let (bins, strings) = (plan.bins() as u64, 16 * plan.characters as u64);
        let candidates = (plan.load as u64).saturating_mul(shape.receiver()).min(plan.candidates as u64);
        let masks = plan.lists() * plan.width.bytes() as u64;
        Memory {
            receiver: (60 + strings) * shape.receiver() + 4 * bins + 40 * shape.sender() + 100 * candidates,
            sender: (60 + masks) * shape.sender() + 4 * bins,
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
    /// ℓ', of the masks.
    width: MaskWidth,
    /// ℓ, of items that are hashed: in so many bits different ones differ.
    word: MaskWidth,
    cuckoo: Cuckoo,
    load: usize,
    characters: usize,
    /// Masks that the receiver makes and looks up at a time. Local.
    candidates: usize,
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
        let word = MaskWidth::for_sizes(sizes)?;
        let characters = characters(item_bits(agreed.sigma, word));
        Ok(Some(Self { width, word, cuckoo, load, characters, candidates: CANDIDATES.max(sender / PLACES) }))
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
        Some(plan) => receiver::pairs(run, &plan, items, channel, rng)?,
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
        Some(plan) => sender::masks(run, &plan, items, channel, rng)?,
        None => Vec::new(),
    };
    positions::recv_if_both(run, channel.split().1, |place| order[place], items)
}

/// What is hashed to bins of each item, and what is compared in them: native items of at most ℓ bits as they are, others by ℓ
/// bits of their digest.
struct Words {
    digests: Vec<Block>,
    numbers: Vec<Block>,
}

impl Words {
    /// Of the items in the order given, or in their own.
    fn of(run: &Run<'_>, plan: &Plan, items: &Items, order: Option<&[u32]>) -> Result<Self, Error> {
        let oracle = run.context.oracle(Label::new("ot-psi: item to key"));
        let digests = keys::hashed(run, &oracle, items, order)?;
        let item = |place: usize| order.map_or(place, |order| order[place] as usize);
        let numbers = match run.parameters.sigma {
            Some(sigma) if sigma <= plan.word.bits() => (0..items.len())
                .map(|place| Block::from_u128(items.native(item(place)).unwrap_or_default().into()))
                .collect(),
            _ => digests.iter().map(|hash| Block::from_u128(plan.word.truncate(hash.as_bytes()))).collect(),
        };
        Ok(Self { digests, numbers })
    }
}

fn sum(blocks: &[Block]) -> Block {
    blocks.iter().fold(Block::ZERO, |sum, block| sum ^ *block)
}

#[cfg(test)]
mod tests;
