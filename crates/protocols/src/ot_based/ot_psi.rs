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
//!            ◄── base OTs, receiver ──             32·256
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

mod plan;
mod receiver;
mod sender;
mod slots;

use vesica_encode::items::Items;
use vesica_ot::kk13::{self, Concatenated, WalshHadamard};
use vesica_ot::nco;

#[cfg(doc)]
use super::inclusion;
use super::{base_ots_of_receiver, base_ots_of_sender, entry_of_pssz15};
use crate::entry::{Entry, Memory, Message, Shape};
use crate::error::Error;
use crate::outcome::Pairs;
use crate::protocol::{Ctx, Phase};
use plan::{NAME, Plan, Scheme};

/// The level of the short code.
const SHORT: u32 = 80;

/// The registry's entry.
pub static ENTRY: Entry = entry_of_pssz15(
    NAME,
    "OTs on lists of masks, cuckoo hashing with a stash",
    receive,
    send,
)
.paper("PSZ14; PSSZ15 §3.5, Figure 1")
.levels(&[SHORT, 128])
.variants(Scheme::VARIANTS)
// The bits that choose in kept ones are those of level 128: fewer of them would tell their part.
.base_ots(|shape| match plan(shape) {
    Some(_) if shape.parameters.level != SHORT => kk13::COLUMNS as u64,
    _ => 0,
})
.messages(&[
    base_ots_of_receiver(|shape| {
        plan(shape).map_or(0, |plan| shape.base_ots_for_code(plan.columns as u64)[1])
    }),
    base_ots_of_sender("32·κ', κ' = 256, or 168 at level 80", |shape| {
        plan(shape).map_or(0, |plan| shape.base_ots_for_code(plan.columns as u64)[0])
    }),
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

/// The receiver's role.
pub(super) fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let (run, plan) = (ctx.run, Plan::new(ctx.run.sizes, &ctx.run.parameters)?);
    run.phase(Phase::BaseOts, 0);
    let (context, channel) = (&run.context, &mut *ctx.channel);
    let pairs = if run.parameters.level == SHORT {
        let code = Concatenated::default();
        let ots = nco::Receiver::setup(code, context, run.origin(), channel, ctx.rng)?;
        receiver::pairs(run, &plan, items, ots, channel)?
    } else {
        let code = WalshHadamard::default();
        let ots = kk13::Receiver::setup(code, context, run.origin(), channel, ctx.rng)?;
        receiver::pairs(run, &plan, items, ots, channel)?
    };
    Ok(Pairs::found(pairs))
}

/// The sender's role.
pub(super) fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let (run, plan) = (ctx.run, Plan::new(ctx.run.sizes, &ctx.run.parameters)?);
    run.phase(Phase::BaseOts, 0);
    let (context, channel) = (&run.context, &mut *ctx.channel);
    if run.parameters.level == SHORT {
        let code = Concatenated::default();
        let ots = nco::Sender::setup(code, context, run.origin(), channel, ctx.rng)?;
        sender::masks(run, &plan, items, ots, channel, ctx.rng)
    } else {
        let code = WalshHadamard::default();
        let ots = kk13::Sender::setup(code, context, run.origin(), channel, ctx.rng)?;
        sender::masks(run, &plan, items, ots, channel, ctx.rng)
    }
}

#[cfg(test)]
mod tests;
