//! Circuit-phasing: items are hashed to bins, and a circuit compares what the two parties have in each. The
//! receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest; that of the protocol that evaluates the circuit. Leaks n_r and n_s. With
//! `--audit-max` both learn whether the intersection has more items than that, and if so, nothing else.
//!
//! Source: PSSZ15 §5, §7, §8.1. Deviations:
//!
//! - Each hash function has a segment of the bins to itself, and a permutation of its own
//!   ([`vesica_encode::hashing::permutation`]). So the index of the function, one bit of the paper's two
//!   functions, goes through the circuit. Without it two different items can look equal (Lambæk, eprint
//!   2016/665).
//! - Three hash functions have enough bins to do without a stash, and max_β is the least number that a proven
//!   bound allows. `--paper-parameters`: two functions, 2.4·n_r bins, the stash of Table 4, max_β by Equation
//!   (5).
//! - Hashed items have ℓ' = max(ℓ, λ + 2⌈log2 n_s⌉ - 1) bits, as in `ot-phasing`, and ℓ would do: two items of the
//!   sender with one number cancel out in the sum of a bin only where the receiver has that number too, and then one
//!   of them looks like another item of the receiver. (`--paper-parameters`: ℓ bits.)
//! - A slot of the stash is compared with the sender's whole set, and has a bit that says whether it is
//!   occupied.
//!
//! ```text
//! receiver (Y)                                     sender (X)
//! 1. each y in one of its bins, or the stash       each x in all of its bins
//! 2. an OT extension:   ◄── base OTs ──►
//! 3. the circuit, garbled by the sender and evaluated by the receiver, bin by bin:
//!    y_b, its remainder, or M                      x_b,1 … x_b,max_β, its remainders, or M + 1
//!       z_b = ⊕_k (y_b = x_b,k)
//! 4. --audit-max: is Σ z_b larger?                 both learn that
//! 5.         ◄── what the wires z_b mean ──
//!    output {y : z_b = 1 for the bin b of y}
//!    --learns both:     ── the matches' numbers, ascending ──►
//! ```
//!
//! **No shuffle.** The bins are those of the receiver's own cuckoo table. So the opened wires tell it which of
//! its items match, and an empty bin cannot match. The sender must not see them: where an item ended up
//! depends on all others of the receiver. It gets the numbers of the matches instead.
//!
//! **What matches nothing.** Every remainder is that of some item. So an empty bin of the receiver has M, one
//! more than any remainder, and an empty slot of the sender M + 1. The receiver would otherwise learn of an
//! item that it does not hold, or how full the sender's bins are.
//!
//! Names: β, max_β, σ′ = `shape.bins`, s and σ = `shape.stash`, [`circuits::phasing`] has the circuit.
//!
//! Cost: β·max_β·(σ′ - 1) AND gates, and with a stash s·(n_s·(σ - 1) + 1) more.
//!
//! [`circuits::phasing`]: vesica_circuit::circuits::phasing

mod bins;
pub mod shared;

use std::convert::identity;

use vesica_circuit::circuits::phasing::{self as circuit, Receiver, Sender};
use vesica_circuit::{Bits, Engine, Opening};
use vesica_encode::items::Items;

use super::engines::{self, BASE_MESSAGES, choice_bytes, evaluate, gate_bytes, label_bytes};
use super::{Circuit, audit, inputs, receiver_result, returned};
use crate::entry::{Entry, Gates, Memory, Message, Roles, Shape};
use crate::error::Error;
use crate::outcome::{Outcome, Pending};
use crate::protocol::{Ctx, Learns, Phase, Role, Run};
use bins::{Plan, ReceiverBins, SenderBins};

/// The registry's entry.
pub static ENTRY: Entry = engines::entry(
    "circuit-phasing-yao",
    "garbled circuit: comparisons in bins, permutation-based hashing",
    Roles::Whole { receive, send },
)
.paper("PSSZ15 §5, §7, §8.1")
.sigma(1, 64)
.paper_parameters()
.audited()
.flights(|shape| {
    // The receiver's bits go in by several calls, and the one after waits for the gates before.
    let calls = with_plan(shape, |plan| plan.shape.input_calls());
    engines::flights(shape) + 2 * (calls.saturating_sub(1)) as u32
})
.steps(|role, _| match role {
    Role::Receiver => {
        &[(Phase::Hash, 2), (Phase::BaseOts, 2), (Phase::EvaluateCircuit, 95), (Phase::Compare, 1)]
    }
    Role::Sender => &[(Phase::Hash, 2), (Phase::BaseOts, 2), (Phase::Garble, 96)],
})
.gates("β·max_β·(w' - 1) + s·(n_s·(w - 1) + 1); [audit-max]: at most β + s + log2 β more", gates)
.messages(&[
    BASE_MESSAGES[0],
    BASE_MESSAGES[1],
    Message::of_receiver(
        "OT extension, a row for each bit in β bins, and in s slots of the stash with one more",
        "κ·16·(⌈β·w'/128⌉ + ⌈s·w/128⌉ + ⌈s/128⌉)",
        |shape| {
            with_plan(shape, |plan| {
                let stash = &plan.shape.stash;
                let bits = [plan.shape.bins.receiver_bits(), stash.receiver_bits(), stash.bins as u64];
                bits.map(|bits| choice_bytes(shape, bits)).into_iter().sum()
            })
        },
    ),
    Message::of_sender("labels of the receiver's bits", "(β·w' + s·(w + 1))·κ/8", |shape| {
        with_plan(shape, |plan| label_bytes(shape, plan.shape.receiver_bits()))
    }),
    Message::of_sender(
        "garbled gates, and permute bits of the result",
        "2·κ/8 each AND, + ⌈(β + s)/8⌉, 1 more ([audit-max])",
        |shape| {
            with_plan(shape, |plan| {
                let opened = (plan.shape.outputs() as u64).div_ceil(8) + audit::opened(shape);
                gate_bytes(shape, gates(shape)) + opened
            })
        },
    ),
    Message::of_receiver("the audit's bit", "1 ([audit-max])", audit::opened),
    Message::of_receiver("numbers of the matches ([learns both])", "4 + k·⌈w/8⌉", |shape| {
        with_plan(shape, |plan| returned::bytes(shape, plan.returned_bits(&shape.parameters)))
    }),
])
.memory("receiver 60·n_r + 24·β + 2^28, sender 60·n_s + 24·β + 2^28 (2^29 above level 128)", |shape| {
    let bins = with_plan(shape, |plan| 24 * plan.shape.outputs() as u64);
    let wires = if shape.parameters.level > 128 { 1 << 29 } else { 1 << 28 };
    Memory { receiver: 60 * shape.receiver() + bins + wires, sender: 60 * shape.sender() + bins + wires }
})
.test_items(1 << 8);

/// A formula of a run of this shape; 0 of sizes that are refused.
fn with_plan(shape: &Shape, formula: impl Fn(&Plan) -> u64) -> u64 {
    Plan::new(shape.sizes, &shape.parameters).map_or(0, |plan| formula(&plan))
}

fn gates(shape: &Shape) -> Gates {
    let ands =
        with_plan(shape, |plan| plan.shape.and_gates() + audit::ands(shape, plan.shape.outputs() as u64));
    Gates { ands, private_ands: 0, depth: None }
}

/// The circuit, with the bins of the party that runs it.
pub(super) struct Comparisons<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) shape: &'a circuit::Shape,
    pub(super) receiver: Option<&'a dyn Receiver>,
    pub(super) sender: Option<&'a dyn Sender>,
}

impl Circuit for Comparisons<'_> {
    /// Which bins and slots match, for the receiver.
    type Output = Option<Vec<Bits>>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error> {
        // 3. The wires z_b.
        let matches = [circuit::matches(engine, self.shape, self.receiver, self.sender)?];
        // 4. and 5.
        audit::open(self.run, engine, &[&matches[0]], Opening::ToReceiver, &matches)
    }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    receive_by(ctx, items, |ctx, gates, circuit| evaluate(ctx, Role::Receiver, gates, circuit))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    send_by(ctx, items, |ctx, gates, circuit| evaluate(ctx, Role::Sender, gates, circuit))
}

/// The receiver's role, with a protocol that evaluates a circuit of so many gates.
fn receive_by<'a>(
    ctx: &mut Ctx<'_, 'a>,
    items: &'a Items,
    evaluate: impl FnOnce(&mut Ctx<'_, 'a>, u64, Comparisons<'_>) -> Result<Option<Vec<Bits>>, Error>,
) -> Result<Pending<'a>, Error> {
    let run = ctx.run;
    let plan = Plan::new(run.sizes, &run.parameters)?;
    // 1. Each y in one of its bins.
    run.phase(Phase::Hash, items.len());
    let bins = ReceiverBins::new(run, &plan, items)?;
    let gates = gates(&Shape::of(run)).all();
    let circuit = Comparisons { run, shape: &plan.shape, receiver: Some(&bins), sender: None };
    let opened = evaluate(ctx, gates, circuit)?.unwrap_or_default();
    let find = move || bins.items(opened.iter().flat_map(Bits::iter));
    let tell = |matched: &Vec<u32>| {
        let numbers = inputs::numbers(run, items, plan.hashed);
        let matched = matched.iter().map(|item| numbers[*item as usize]).collect();
        returned::send(matched, plan.returned_bits(&run.parameters), ctx.channel.split().0)
    };
    receiver_result(run, items, find, tell, identity)
}

/// The sender's role, likewise.
fn send_by<'a>(
    ctx: &mut Ctx<'_, 'a>,
    items: &Items,
    evaluate: impl FnOnce(&mut Ctx<'_, 'a>, u64, Comparisons<'_>) -> Result<Option<Vec<Bits>>, Error>,
) -> Result<Option<Outcome>, Error> {
    let run = ctx.run;
    let plan = Plan::new(run.sizes, &run.parameters)?;
    // 1. Each x in all of its bins.
    run.phase(Phase::Hash, items.len());
    let bins = SenderBins::new(run, &plan, items)?;
    let gates = gates(&Shape::of(run)).all();
    let circuit = Comparisons { run, shape: &plan.shape, receiver: None, sender: Some(&bins) };
    evaluate(ctx, gates, circuit)?;
    if run.learns == Learns::Receiver {
        return Ok(None);
    }
    let (numbers, sigma) = (inputs::numbers(run, items, plan.hashed), plan.returned_bits(&run.parameters));
    let matched = returned::recv(&numbers, sigma, run.sizes.receiver, ctx.channel.split().1)?;
    Ok(Some(Outcome::Matches(items.matches(matched.into_iter().map(|item| item as usize)))))
}

#[cfg(test)]
mod tests;
