//! OT-PSI: in every bin, the receiver's items are compared with all of the sender's by OTs on strings of
//! several masks. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model. Leaks n_r and n_s.
//!
//! Source: Pinkas, Schneider, Zohner (USENIX Security 2014), as PSSZ15 §3.5 and Figure 1 describe it: two
//! hash functions, a stash of s items, max_β masks a bin. It is the predecessor of OT-phasing, kept for
//! comparison: items are compared in their full length, and each OT is stretched to as many masks as the
//! fullest bin could need.
//!
//! ```text
//! receiver (Y)                                     sender (X)
//! 1.         ── base OTs, sender ──►               32
//!            ◄── base OTs, receiver ──             64·256
//! 2. each y in bin h_1(y) or h_2(y),               each x in bins h_1(x) and h_2(x),
//!    or in the stash                               and in each slot of the stash
//! 3.         ── OTs, t for each bin and slot ──►   (β + s)·t·32
//! 4. M_b,k = G(S_1)[k] ⊕ … ⊕ G(S_t)[k],            the same for its item of index k in bin b,
//!    all k < max_β, S_c the string of              from the strings of that item's characters
//!    y's character c
//!            ◄── masks, a list each way ──         (2 + s)·n_s·⌈ℓ/8⌉
//!    output {y : M_b,k in the list of its function, or at position k in the list of its slot of the stash}
//! ```
//!
//! A mask of an item that differs from y has a string in it that the receiver does not know, and no two items
//! of a bin share an index k. So the masks of what is not in the intersection are independent and random.
//!
//! Deviations:
//!
//! - Each hash function has a segment of the bins to itself (`encode::hashing`).
//! - Each of the sender's items has a *random* index among the max_β of its bin. The paper fills a bin from
//!   its start, so the index of a match tells how full the bin is.
//! - ℓ has ⌈log2 max_β⌉ bits more, because max_β masks of the receiver stand against each of the sender's.
//! - The size of the stash follows from a proven bound. (`--paper-parameters`: ℓ, max_β and s as the paper
//!   has them.)
//! - The sender's n_s masks for a slot of the stash stand in its one random order, and k is the position in
//!   that order. So they need no search.
//!
//! **Variants**, PSZ14's other hashing schemes. The receiver has p slots in a bin, each with OTs of its own.
//! The sender has a list for each function and slot. With cuckoo hashing p is 1.
//!
//! | | bins β | p | stash s | lists |
//! |---|---|---|---|---|
//! | standard: cuckoo hashing | 2.4·n_r, two functions | 1 | a few | 2 + s |
//! | `no-hashing` | 0 | | n_r | n_r |
//! | `simple-hashing` | n_r / ln n_r, one function | the most items in a bin | 0 | p |
//! | `balanced-hashing` | n_r, two functions, the emptier bin | the most items in a bin | 0 | 2·p |
//!
//! A slot of the stash is [`inclusion`] of one item in the whole set of the sender. Without hashing every
//! item has such a slot. p is the least number that a proven bound allows with 2^-40. PSZ14 counts n·λ or
//! 2·n·λ bits of masks for simple and balanced hashing. But an item of the sender has to be compared with
//! each slot of its bin, so there are p times as many. These forms are for comparison. A run that would send
//! more than 2^28 masks is refused.
//!
//! **Level 80** has a shorter code ([`Concatenated`]): 168 base OTs and 21 bytes an OT. Its base OTs are not
//! kept.
//!
//! Names: β = `bins`, p = `slots`, s = `stash`, t = `characters`, max_β = `load`, G = the stream of a
//! [`Prg`](vesica_crypto::prg::Prg), OT = [`kk13`] with N = 256.
//!
//! Cost: receiver (p·β + s)·t OTs, n_r·t·max_β AES and as many lookups as n_r·max_β; sender h·p·n_s·t OT
//! strings and AES.

mod receiver;
mod sender;
mod slots;

use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_encode::hashing::Layout;
use vesica_encode::hashing::parameters::{self, paper};
use vesica_encode::items::Items;
use vesica_ot::kk13::{self, Concatenated, WalshHadamard};
use vesica_ot::nco;

#[cfg(doc)]
use super::inclusion;
use super::{check_sizes, six_phases, with_base_ots};
use crate::error::{Error, Misuse};
use crate::masks::MaskWidth;
use crate::oprf::bins::characters::{characters, item_bits};
use crate::oprf::bins::keys;
use crate::outcome::Pairs;
use crate::parameters::{Parameters, variants};
use crate::protocol::{Ctx, Phase, Run, Sizes};
use crate::registry::{Entry, Memory, Message, Roles, Shape};

/// Slots of bins, or of the stash, handled at a time. Local: a multiple of a tile of the OT extension, so
/// that it changes no byte.
const REGION: usize = 1 << 12;

/// Masks that the receiver makes and looks up at a time, at least. Local.
const CANDIDATES: usize = 1 << 21;

/// Of a longer list, one for each so many of its masks. Local.
const MASKS_A_CANDIDATE: usize = 8;

/// Masks that a run of a variant may have: they are for comparison, and their lists are long.
const MOST_MASKS: usize = 1 << 28;

/// A list counts as one of so many masks: its OTs take as much.
const LEAST_LIST: usize = 1 << 8;

/// The level of the short code.
const SHORT: u32 = 80;

variants! {
    /// How items are hashed to bins.
    enum Scheme {
        /// Cuckoo hashing.
        Cuckoo,
        /// Not at all.
        NoHashing = "no-hashing", "PSZ14: each of the receiver's items against the sender's whole set";
        /// One function.
        Simple = "simple-hashing", "PSZ14: both parties' items in one bin each, by one function";
        /// Two functions, the emptier bin.
        Balanced = "balanced-hashing", "PSZ14: the receiver's items in the emptier of two bins";
    }
}

/// The registry's entry.
pub static ENTRY: Entry = Entry::new(
    "ot-psi",
    "OTs on lists of masks, cuckoo hashing with a stash",
    Roles::Listed { receive, send },
)
.family("ot_based")
.paper("PSZ14; PSSZ15 §3.5, Figure 1")
.levels(&[SHORT, 128])
.sigma(1, 64)
.variants(Scheme::VARIANTS)
.paper_parameters()
.flights(with_base_ots)
.steps(six_phases)
// The bits that choose in kept ones are those of level 128: fewer of them would tell their part.
.base_ots(|shape| match plan(shape) {
    Some(_) if shape.parameters.level != SHORT => kk13::COLUMNS as u64,
    _ => 0,
})
.messages(&[
    Message::of_receiver("base OTs, sender's part; not sent where they are kept", "32", |shape| {
        plan(shape).map_or(0, |_| unless_kept(shape, 32))
    }),
    Message::of_sender(
        "base OTs, receiver's part; not sent where they are kept",
        "64·κ', κ' = 256, or 168 at level 80",
        |shape| plan(shape).map_or(0, |plan| unless_kept(shape, 64 * plan.columns as u64)),
    ),
    Message::of_receiver(
        "OT extension, t rows for each of p slots of β bins and s slots of the stash",
        "(p·β + s)·t·κ'/8",
        |shape| plan(shape).map_or(0, |plan| (plan.columns / 8 * plan.transfers()) as u64),
    ),
    Message::of_sender(
        "masks, a list for each of h hash functions and p slots of its bins, and for each slot of the stash",
        "(h·p + s)·n_s·⌈ℓ'/8⌉",
        |shape| plan(shape).map_or(0, |plan| (plan.lists() * plan.width.bytes()) as u64 * shape.sender()),
    ),
])
.memory(
    "receiver (60 + 16·t)·n_r + 4·β + 40·n_s + 100·min(n_r·max_β, max(2^21, n_s/8)), \
             sender (60 + (h·p + 1)·⌈ℓ'/8⌉)·n_s + 4·β; without hashing (60 + ⌈ℓ'/8⌉)·n_s + 32·t·n_r",
    memory,
)
.test_items(1 << 9);

fn memory(shape: &Shape) -> Memory {
    let Some(plan) = plan(shape) else { return Memory::default() };
    let (bins, strings) = (plan.bins() as u64, 16 * plan.characters as u64);
    let candidates = (plan.load as u64).saturating_mul(shape.receiver()).min(plan.candidates as u64);
    let masks = ((plan.lists_of_bins() + 1) * plan.width.bytes()) as u64;
    let rows = if plan.slots > 0 { 0 } else { 2 * strings * shape.receiver() };
    Memory {
        receiver: (60 + strings) * shape.receiver() + 4 * bins + 40 * shape.sender() + 100 * candidates,
        sender: (60 + masks) * shape.sender() + 4 * bins + rows,
    }
}

/// The plan of a run of this shape; none of sizes that are refused.
fn plan(shape: &Shape) -> Option<Plan> {
    Plan::new(shape.sizes, &shape.parameters).ok()
}

/// The bytes of a message of base OTs: none if they are kept ones, which those of level 80 never are.
fn unless_kept(shape: &Shape, bytes: u64) -> u64 {
    if shape.parameters.level == SHORT { bytes } else { shape.unless_kept(bytes) }
}

/// What both parties derive from sizes and parameters.
struct Plan {
    scheme: Scheme,
    /// ℓ', of the masks.
    width: MaskWidth,
    /// ℓ, of items that are hashed: in so many bits different ones differ.
    word: MaskWidth,
    layout: Layout,
    /// p, of the receiver in each bin; 0 where there are no bins.
    slots: usize,
    stash: usize,
    /// max_β: indices of the sender's items in each bin.
    load: usize,
    characters: usize,
    /// κ'
    columns: usize,
    /// Masks that the receiver makes and looks up at a time. Local.
    candidates: usize,
}

impl Plan {
    fn new(sizes: Sizes, agreed: &Parameters) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        check_sizes(sizes)?;
        let scheme = Scheme::of(agreed);
        let (layout, slots, stash) = bins(scheme, receiver, agreed.paper);
        let lists = layout.functions() * slots + stash;
        let masks = lists.saturating_mul(sender.max(LEAST_LIST));
        if scheme != Scheme::Cuckoo && masks > MOST_MASKS {
            let (protocol, variant, most) = (ENTRY.name, agreed.variant_name(), MOST_MASKS);
            return Err(Misuse::TooManyMasks { protocol, variant, receiver, sender, masks, most }.into());
        }
        let load = match scheme {
            // An item's index is its position in the list.
            Scheme::NoHashing => 1,
            Scheme::Cuckoo if agreed.paper && receiver == sender => {
                paper::load_by_equation_5(receiver as f64) as usize
            }
            _ => maximum_load(sender, layout),
        };
        let width = MaskWidth::for_candidates(sizes, if agreed.paper { 1 } else { load })?;
        let word = MaskWidth::for_sizes(sizes)?;
        let characters = characters(item_bits(agreed.sigma, word));
        let (columns, candidates) = (kk13::columns(agreed.level), CANDIDATES.max(sender / MASKS_A_CANDIDATE));
        Ok(Self { scheme, width, word, layout, slots, stash, load, characters, columns, candidates })
    }

    /// The bins that have OTs.
    fn bins(&self) -> usize {
        if self.slots > 0 { self.layout.bins() } else { 0 }
    }

    /// The slots of all bins: number `bin`·p + `slot`.
    fn all_slots(&self) -> usize {
        self.bins() * self.slots
    }

    /// The list for a slot of a bin.
    fn list_of(&self, slot: usize) -> usize {
        self.layout.function_of(slot / self.slots) * self.slots + slot % self.slots
    }

    /// The lists of the bins; those of the stash follow.
    fn lists_of_bins(&self) -> usize {
        self.layout.functions() * self.slots
    }

    fn transfers(&self) -> usize {
        (self.all_slots() + self.stash) * self.characters
    }

    fn lists(&self) -> usize {
        self.lists_of_bins() + self.stash
    }
}

/// The bins, the receiver's slots in each, and in the stash.
fn bins(scheme: Scheme, items: usize, paper: bool) -> (Layout, usize, usize) {
    match scheme {
        Scheme::Cuckoo => {
            let cuckoo = if paper { paper::two_way(items, items) } else { parameters::two_way(items) };
            (cuckoo.layout, 1, cuckoo.stash)
        }
        Scheme::NoHashing => (Layout::new(1, 1), 0, items),
        Scheme::Simple => {
            // About ln n items a bin: 9/13 is ln 2, but for a thousandth.
            let average = (9 * items.next_power_of_two().ilog2()).div_ceil(13).max(1);
            let layout = Layout::new(1, items.div_ceil(average as usize) as u64);
            (layout, maximum_load(items, layout), 0)
        }
        Scheme::Balanced => {
            let layout = Layout::new(2, items as u64);
            // Of few items the bound for simple hashing, with all bins of every item, is the lower one.
            let slots = parameters::maximum_balanced_load(items, layout).min(maximum_load(items, layout));
            (layout, slots, 0)
        }
    }
}

/// The most items in a bin, but for 2^-40.
fn maximum_load(items: usize, layout: Layout) -> usize {
    if layout.segment() == 1 { items } else { parameters::maximum_load(items, layout) }
}

/// The receiver's role.
pub(super) fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let (run, plan) = (ctx.run, Plan::new(ctx.run.sizes, &ctx.run.parameters)?);
    run.phase(Phase::BaseOts, 0);
    let (context, threads, channel) = (&run.context, run.threads, &mut *ctx.channel);
    let pairs = if run.parameters.level == SHORT {
        let code = Concatenated::default();
        let ots = nco::Receiver::setup(code, context, threads, None, channel, ctx.rng)?;
        receiver::pairs(run, &plan, items, ots, channel)?
    } else {
        let code = WalshHadamard::default();
        let ots = kk13::Receiver::setup(code, context, threads, run.base_ots, channel, ctx.rng)?;
        receiver::pairs(run, &plan, items, ots, channel)?
    };
    Ok(Pairs::found(pairs))
}

/// The sender's role.
pub(super) fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let (run, plan) = (ctx.run, Plan::new(ctx.run.sizes, &ctx.run.parameters)?);
    run.phase(Phase::BaseOts, 0);
    let (context, threads, channel) = (&run.context, run.threads, &mut *ctx.channel);
    if run.parameters.level == SHORT {
        let code = Concatenated::default();
        let ots = nco::Sender::setup(code, context, threads, None, channel, ctx.rng)?;
        sender::masks(run, &plan, items, ots, channel, ctx.rng)
    } else {
        let code = WalshHadamard::default();
        let ots = kk13::Sender::setup(code, context, threads, run.base_ots, channel, ctx.rng)?;
        sender::masks(run, &plan, items, ots, channel, ctx.rng)
    }
}

/// What is hashed to bins of each item, and what is compared in them: native items of at most ℓ bits as they
/// are, others by ℓ bits of their digest.
struct Words {
    digests: Vec<Block>,
    numbers: Vec<Block>,
}

impl Words {
    /// Of the items in the order given, or in their own.
    fn of(run: &Run<'_>, plan: &Plan, items: &Items, order: Option<&[u32]>) -> Result<Self, Error> {
        let oracle = run.context.oracle(Label::new("ot-psi: item to key"));
        let digests = keys::hashed(run, &oracle, items, order)?;
        let item = |position: usize| order.map_or(position, |order| order[position] as usize);
        let numbers = match run.parameters.sigma {
            Some(sigma) if sigma <= plan.word.bits() => (0..items.len())
                .map(|position| Block::from_u128(items.native(item(position)).unwrap_or_default().into()))
                .collect(),
            _ => digests.iter().map(|hash| Block::from_u128(plan.word.truncate(hash.as_bytes()))).collect(),
        };
        Ok(Self { digests, numbers })
    }
}

#[cfg(test)]
mod tests;
