//! OT-Phasing. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model. Leaks n_r and n_s.
//!
//! Source: PSSZ15 §4, §6, §7. Deviations:
//!
//! - Each hash function has a segment of the bins to itself and a permutation of four Feistel rounds
//!   ([`vesica_encode::hashing::permutation`]), so that bin and remainder belong to one item *and one
//!   function*. The paper's values lack the function, and two different items can look equal (Lambæk, eprint
//!   2016/665). That can cost one character more than the paper counts.
//! - Three functions have enough bins to do without a stash. `--paper-parameters` are the paper's bins and
//!   stash.
//! - The sender's masks are lists in one random order.
//! - The rows of a bin are hashed together, once. The paper hashes the row of each OT to a string, sums the
//!   strings of a bin and hashes the sum.
//!
//! ```text
//! receiver (Y)                                     sender (X), Δ ←$ {0,1}^256
//! 1.         ── base OTs, sender ──►               32
//!            ◄── base OTs, receiver ──             32·256
//! 2. each y in one of its bins; v_1 … v_t its remainder there, in characters of 8 bits
//! 3.         ── t 1-out-of-256 OTs a bin, v_1 … v_t; t' a slot of the stash ──►      32·(t·β + t'·s)
//!    S_y = H(t0_{b,1} ‖ … ‖ t0_{b,t}; b)           for each x and bin b of x:
//!                                                  S_x = H(q_{b,1} ⊕ Δ∧C(v_1) ‖ … ‖ q_{b,t} ⊕ Δ∧C(v_t); b)
//! 4.         ◄── S_x, a list each function and slot of the stash ──       (h + s)·n_s·⌈ℓ/8⌉
//!    output {y : S_y in the list of the function or slot under which y is held}
//! ```
//!
//! **Empty bins.** An empty bin must not query a real item: the receiver could then test whether the sender
//! holds it. Every remainder is that of some item. So an empty bin queries M, one more than any remainder
//! ([`Permutation::vacant`](vesica_encode::hashing::Permutation::vacant)). Where whole items are compared,
//! and in the stash, it queries an item of the receiver's own.
//!
//! **Hashed items.** Two items of the sender that are hashed to one number have the same bins and remainders.
//! Their masks are equal at the same two positions of every list, which shows that the sender holds such a
//! pair. So items are hashed to ℓ' = max(ℓ, λ + 2⌈log2 n_s⌉ - 1) bits. The paper has ℓ, which counts only the
//! pairs of different sides. Two such items of the receiver, who fills a bin with each, show nothing: a match
//! that one of them has and the other has not is a pair of different sides.
//!
//! **One hash a bin.** The OTs of a bin are one OT of all its remainders, by a code t times as long
//! ([`nco`](vesica_ot::nco), groups). Two remainders differ in a character, so their codewords differ in 128
//! places: for any mask but that of its own remainder, the receiver would have to guess 128 bits of Δ. The
//! number that H takes is that of the bin's first OT, which says bin, function and slot of the stash; H's key
//! has the context. In §6.1 the sums of one bin are linearly dependent where items share characters, and a
//! second hash hides that. Inputs that are put side by side are different, and a random oracle's outputs at
//! different inputs are independent. Both parties treat a slot of the stash as a bin that holds every item of
//! the sender, whole.
//!
//! **Variants**, the steps of appendix A, each with those before it: `original` is [`ot_psi`] (a mask for
//! each slot of a bin); `single-mask` has two functions, a stash, whole items and one mask a bin;
//! `permutation` has remainders in place of whole items; the standard form has three functions and no stash.
//!
//! Names: β = `layout.bins()`, s = `stash`, t = `of_bin`, t' = `of_slot`, H = the oracle of [`kk13`]; t0, q, C
//! as in [`nco`](vesica_ot::nco), whose s is Δ here. Steps 2 and 3 are the OPRF [by bins](crate::oprf), step 4
//! is `mask_lists`.
//!
//! Cost: receiver t·β OTs and β·⌈t/2⌉ compressions of H; sender t·β OTs and h·n_s·⌈t/2⌉ compressions. Both
//! work at once, as in [`kkrt16`](super::kkrt16). An OT takes the receiver 4 blocks of AES and 4 rows
//! transposed, the sender half of that. The remainders of an item are computed once, with its bins, and
//! partitioned by regions of bins: the sender keeps no table.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_encode::hashing::parameters::{self, paper};
use vesica_encode::items::Items;
use vesica_ot::kk13::{self, WalshHadamard};
use vesica_ot::nco::{NcoReceiver, NcoSender};

use super::{base_ots_of_receiver, base_ots_of_sender, check_sizes, entry_of_pssz15, ot_psi};
use crate::entry::{Entry, Memory, Message, Shape};
use crate::error::Error;
use crate::mask_lists;
use crate::masks::MaskWidth;
use crate::oprf::bins::{self, BinWords, Reported, characters::Characters};
use crate::outcome::Pairs;
use crate::parameters::{Parameters, variants};
use crate::protocol::{Ctx, Phase, Sizes};

/// Blocks of a row.
const BLOCKS: usize = kk13::COLUMNS / Block::BITS;

variants! {
    /// The forms of appendix A.
    enum Form {
        /// All steps together.
        Standard,
        /// [`ot_psi`].
        Original = "original", "appendix A: ot-psi, a mask for each slot of a bin";
        /// One mask a bin.
        SingleMask = "single-mask", "appendix A: two functions, whole items, one mask a bin";
        /// One mask a bin and permutation-based hashing.
        Permutation = "permutation", "appendix A: two functions, permutation-based hashing";
    }
}

/// The registry's entry.
pub static ENTRY: Entry =
    entry_of_pssz15("ot-phasing", "OT-Phasing, permutation-based hashing", receive, send)
        .paper("PSSZ15 §4, §6, §7")
        .variants(Form::VARIANTS)
        .base_ots(|shape| ot_psi::ENTRY.kept_base_ots(shape))
        .messages(&[
            base_ots_of_receiver(|shape| {
                bytes(shape, 0, |_| shape.base_ots_for_code(kk13::COLUMNS as u64)[1])
            }),
            base_ots_of_sender("32·256", |shape| {
                bytes(shape, 1, |_| shape.base_ots_for_code(kk13::COLUMNS as u64)[0])
            }),
            Message::of_receiver(
                "OT extension, t rows for each of β bins, t' for each of s slots of the stash",
                "32·(t·β + t'·s)",
                |shape| bytes(shape, 2, |plan| 32 * plan.words.all_ots()),
            ),
            Message::of_sender(
                "masks, a list for each function and slot of the stash",
                "(h + s)·n_s·⌈ℓ/8⌉",
                |shape| bytes(shape, 3, |plan| plan.lists() as u64 * shape.sender() * shape.mask()),
            ),
        ])
        .memory("receiver (32 + h·t)·n_r + 4·β, sender (12 + h·(6 + t) + ⌈ℓ/8⌉)·n_s", |shape| {
            match Plan::new(shape.sizes, &shape.parameters) {
                _ if Form::of(&shape.parameters) == Form::Original => ot_psi::ENTRY.memory_of(shape),
                Ok(plan) => {
                    let layout = plan.words.cuckoo().layout;
                    let (bins, functions, characters) =
                        (layout.bins() as u64, layout.functions() as u64, plan.words.of_bin as u64);
                    Memory {
                        receiver: (32 + functions * characters) * shape.receiver() + 4 * bins,
                        sender: (12 + functions * (6 + characters) + shape.mask()) * shape.sender(),
                    }
                }
                Err(_) => Memory::default(),
            }
        });

/// The bytes of a message in a run of this shape; 0 of sizes that are refused.
fn bytes(shape: &Shape, message: usize, count: impl Fn(&Plan) -> u64) -> u64 {
    if Form::of(&shape.parameters) == Form::Original {
        return ot_psi::ENTRY.sent(shape).nth(message).map_or(0, |(_, bytes)| bytes);
    }
    Plan::new(shape.sizes, &shape.parameters).map_or(0, |plan| count(&plan))
}

/// What both parties derive from sizes and parameters.
struct Plan {
    /// ℓ, of the masks.
    width: MaskWidth,
    /// What stands for an item in its bins.
    words: Characters,
}

impl Plan {
    fn new(sizes: Sizes, parameters: &Parameters) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        check_sizes(sizes)?;
        let width = MaskWidth::for_sizes(sizes, parameters.statistical)?;
        let hashed = if parameters.paper {
            width
        } else {
            MaskWidth::for_hashed_items(sizes, parameters.statistical)?
        };
        let form = Form::of(parameters);
        let two_way = form != Form::Standard;
        let permuted = matches!(form, Form::Standard | Form::Permutation);
        let cuckoo = match (parameters.paper, two_way) {
            // §8.2.2: two functions where the sender's set is much the larger one.
            (true, false) if sender / receiver < 16 => paper::three_way(receiver, sender),
            (true, _) => paper::two_way(receiver, sender),
            (false, false) => parameters::three_way(receiver, parameters.statistical),
            (false, true) => parameters::two_way(receiver, parameters.statistical),
        };
        Ok(Self { width, words: Characters::new(cuckoo, parameters.sigma, hashed, permuted) })
    }

    fn lists(&self) -> usize {
        let cuckoo = self.words.cuckoo();
        cuckoo.layout.functions() + cuckoo.stash
    }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let run = ctx.run;
    if Form::of(&run.parameters) == Form::Original {
        return ot_psi::receive(ctx, items);
    }
    let plan = Plan::new(run.sizes, &run.parameters)?;
    // 1. The base OTs: their first message.
    run.phase(Phase::BaseOts, 0);
    let (context, code) = (&run.context, WalshHadamard::default());
    let setup = kk13::Receiver::start_setup(code, context, run.origin(), ctx.channel, ctx.rng)?;
    let complete_base_ots = |channel: &mut dyn Channel| setup.complete_base_ots(channel);
    Ok(Pairs::found(receive_pairs(ctx, &plan, items, complete_base_ots)?))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let run = ctx.run;
    if Form::of(&run.parameters) == Form::Original {
        return ot_psi::send(ctx, items);
    }
    let plan = Plan::new(run.sizes, &run.parameters)?;
    // 1. The base OTs.
    run.phase(Phase::BaseOts, 0);
    let (context, code) = (&run.context, WalshHadamard::default());
    let ots = kk13::Sender::setup(code, context, run.origin(), ctx.channel, ctx.rng)?;
    send_masks(ctx, &plan, items, ots)
}

/// Pairs (item of mine, position in the sender's lists). `complete_base_ots` ends the base OTs.
fn receive_pairs<R: NcoReceiver<u8>>(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    items: &Items,
    complete_base_ots: impl FnOnce(&mut dyn Channel) -> Result<R, vesica_ot::Error>,
) -> Result<Vec<(u32, u32)>, Error> {
    // 2. While the sender answers: each y in one of its bins, or in the stash. 3. S_y for the y in each bin.
    let (run, reported) = (ctx.run, Reported::InPhases);
    run.phase(Phase::Hash, items.len());
    let oprf = bins::Receiver { run, words: &plan.words, reported, complete_base_ots };
    // 4. S_y is looked for in the list of the function, or of the slot of the stash, that holds y.
    mask_lists::receive(ctx, plan.width, plan.lists(), items, oprf)
}

/// The item at each position of the lists, where both parties learn the result.
fn send_masks<S: NcoSender<u8, BLOCKS>>(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    items: &Items,
    ots: S,
) -> Result<Vec<u32>, Error> {
    // 3. S_x for each x in each of its bins, and in each slot of the stash.
    let (run, reported) = (ctx.run, Reported::InPhases);
    run.phase(Phase::Hash, items.len());
    let oprf = bins::Sender { run, words: &plan.words, reported, ots };
    // 4. A list for each function and slot, in one random order.
    mask_lists::send(ctx, plan.width, plan.lists(), items, oprf)
}

#[cfg(test)]
mod tests;
