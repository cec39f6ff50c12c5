//! Circuit-phasing under GMW: the bins and the comparisons of [`phasing`](super), computed on shares. The receiver
//! learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest; that of GMW with the OTs of the form ([`gmw::ots`]). Leaks n_r and n_s. With `--audit-max` both learn
//! whether the intersection has more items than that, and if so, nothing else.
//!
//! Source: PSSZ15 §5, §7, §8.1, with GMW as in §2.7. Deviations: those of [`phasing`](super).
//!
//! ```text
//! receiver (Y)                                     sender (X)
//! 1. each y in one of its bins, or the stash       each x in all of its bins
//! 2. OT extensions:     ◄── base OTs, both ways ──►
//!    multiplication triples from random OTs, both ways
//! 3. the circuit, layer by layer, on shares:
//!                       ◄── 2 bits a gate, each way ──►
//! 4. --audit-max: is Σ z_b larger?                 both learn that
//! 5.                    ◄── the sender's shares of the z_b ──
//!    --learns both:     ── the matches' numbers, ascending ──►
//! ```
//!
//! A tree of comparisons has ⌈log2 σ′⌉ layers, however many items there are: that is what PSSZ15 says for this
//! circuit under GMW. Names: as in [`phasing`](super); layers and OTs are those of [`gmw`].
//!
//! Cost: the AND gates of the circuit, each of which takes two OTs, one in each direction, and 2 bits of either
//! party.

use vesica_circuit::Bits;
use vesica_circuit::gmw::Cost;
use vesica_encode::items::Items;

use super::super::gmw::{self, extension_bytes, flights_of, gates_of, layer_bytes};
use super::super::{Circuit, returned};
use super::{Comparisons, Plan, receive_by, send_by, with_plan};
use crate::entry::{Entry, Gates, Memory, Message, Roles, Shape};
use crate::error::Error;
use crate::outcome::{Outcome, Pending};
use crate::protocol::{Ctx, Phase, Role};

/// Bytes of the OTs.
const EXTENSION: &str = "31·16·⌈ANDs/128⌉ (IKNP: κ·16·⌈ANDs/128⌉; silent: about ANDs/13)";

/// The registry's entry.
pub static ENTRY: Entry = gmw::entry(
    "circuit-phasing-gmw",
    "GMW: comparisons in bins, permutation-based hashing",
    Roles::Whole { receive, send },
)
.paper("PSSZ15 §5, §7, §8.1")
.sigma(1, 64)
.paper_parameters()
.audited()
.steps(|role, _| match role {
    Role::Receiver => {
        &[(Phase::Hash, 2), (Phase::BaseOts, 3), (Phase::EvaluateCircuit, 94), (Phase::Compare, 1)]
    }
    Role::Sender => &[(Phase::Hash, 2), (Phase::BaseOts, 3), (Phase::EvaluateCircuit, 95)],
})
.flights(|shape| flights_of(shape, &cost(shape)))
.gates("β·max_β·(w' - 1) + s·(n_s·(w - 1) + 1); [audit-max]: at most β + s + log2 n more", gates)
.messages(&[
    gmw::SETUP_MESSAGES[0],
    gmw::SETUP_MESSAGES[1],
    gmw::SETUP_MESSAGES[2],
    gmw::SETUP_MESSAGES[3],
    Message::of_receiver("OTs, a row an AND", EXTENSION, |shape| {
        extension_bytes(shape, Role::Receiver, &cost(shape))
    }),
    Message::of_sender("OTs, a row an AND", EXTENSION, |shape| {
        extension_bytes(shape, Role::Sender, &cost(shape))
    }),
    Message::of_receiver(
        "a seed, and masked shares",
        "32 + ⌈2·ANDs/8⌉ of each layer, 1 more ([audit-max])",
        |shape| layer_bytes(Role::Receiver, &cost(shape)),
    ),
    Message::of_sender(
        "a seed, masked shares, and shares of the result",
        "32 + ⌈2·ANDs/8⌉ of each layer, + ⌈(β + s)/8⌉, 1 more ([audit-max])",
        |shape| layer_bytes(Role::Sender, &cost(shape)),
    ),
    Message::of_receiver("numbers of the matches ([learns both])", "4 + k·⌈w/8⌉", |shape| {
        with_plan(shape, |plan| returned::bytes(shape, plan.returned_bits(&shape.parameters)))
    }),
])
.memory("124·(n_r + n_s) + ANDs + 2^27 each (silent: and 140·min(ANDs, 3·2^19) + 5·2^24)", |shape| {
    let cost = cost(shape);
    let items = shape.receiver() + shape.sender();
    let each = 124 * items + cost.count.ands + (1 << 27) + gmw::ot_memory(shape, &cost);
    Memory { receiver: each, sender: each }
})
.test_items(1 << 8);

/// What the circuit costs; nothing if the sizes are refused.
fn cost(shape: &Shape) -> Cost {
    gmw::cost_of(shape, |run, engine| {
        let plan = Plan::new(run.sizes, &run.parameters)?;
        Comparisons { run, shape: &plan.shape, receiver: None, sender: None }.run(engine).map(|_| ())
    })
}

fn gates(shape: &Shape) -> Gates {
    gates_of(&cost(shape))
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    receive_by(ctx, items, |ctx, _, circuit| evaluate(ctx, Role::Receiver, circuit))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    send_by(ctx, items, |ctx, _, circuit| evaluate(ctx, Role::Sender, circuit))
}

/// Runs the circuit by GMW.
pub(super) fn evaluate(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    circuit: Comparisons<'_>,
) -> Result<Option<Vec<Bits>>, Error> {
    gmw::evaluate(ctx, role, &cost(&Shape::of(ctx.run)), circuit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::protocol::Sizes;

    #[test]
    fn layers_do_not_grow_with_the_sets_and_gates_are_those_of_the_other_engine() {
        for log in [4, 8, 12, 16, 20] {
            let parameters = Parameters { sigma: Some(32), ..Parameters::default() };
            let shape = Shape { parameters, ..Shape::new(Sizes { receiver: 1 << log, sender: 1 << log }) };
            let cost = cost(&shape);
            let bits = with_plan(&shape, |plan| plan.shape.bins.bits as u64);
            assert_eq!(u64::from(cost.count.depth), u64::from(bits.next_power_of_two().ilog2()), "2^{log}");
            assert_eq!(cost.count.layers, u64::from(cost.count.depth));
            assert_eq!(cost.count.ands, super::super::gates(&shape).ands);
            assert_eq!((cost.demand().bits, cost.demand().strings), (cost.count.ands, 0));
        }
    }
}
