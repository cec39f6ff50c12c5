//! Sort-compare-shuffle under GMW, in few layers: the receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest; that of GMW with the OTs of the form ([`gmw::ots`]). Leaks n_r and n_s. With `--audit-max` both learn
//! whether the intersection has more items than that, and if so, nothing else.
//!
//! Source: PSZ14 §3.2, the depth-optimised form of HEK12 §5 with its Waksman network; PSSZ15 §3.4. Two things make
//! it fit GMW:
//!
//! - A comparison is a tree of ⌈log2 σ⌉ + 1 layers instead of σ
//!   ([`comparison_tree`](vesica_circuit::gadgets::comparison_tree)), for about 3σ gates.
//! - A 2-sorter's swap, a slot's selection and a swapper of the network multiply one bit by a number: OTs of
//!   strings, one each way, in the place of one for each bit. Swappers are set by the sender, so that theirs go one
//!   way only.
//!
//! ```text
//! receiver (Y)                                     sender (X)
//! 1. sorts its numbers                             sorts its numbers; π ←$ permutations of m slots
//! 2. OT extensions:     ◄── base OTs, both ways ──►
//!    triples of bits and strings from random OTs, both ways
//! 3. the circuit of the parent module and the network of π, layer by layer, on shares:
//!                       ◄── 2 bits a gate, w + 1 a selection among w bits ──►
//! 4. --audit-max: are there more matches?          both learn that
//! 5.                    ◄── the sender's shares of the slots ──
//!    --learns both:     ── the matches' numbers, ascending ──►
//! ```
//!
//! The receiver sees the matches in an order that is uniformly random, and m less as many zeros. Deviations: those
//! of [the parent module](super). Names: m = [`circuit::slots`], π = `order`.
//!
//! Cost: gates and layers are counted, by the circuit itself.

use std::sync::{Mutex, PoisonError};

use vesica_circuit::circuits::sort_compare_shuffle as circuit;
use vesica_circuit::gadgets::comparison_tree::greater_by_tree;
use vesica_circuit::gmw::Cost;
use vesica_circuit::shuffle::{Controls, permute};
use vesica_circuit::{Bits, Engine, Input, Opening, Party};
use vesica_encode::items::{Items, random_order};
use zeroize::Zeroizing;

use super::super::gmw::{self, extension_bytes, flights_of, gates_of, layer_bytes};
use super::super::{Circuit, audit};
use super::{
    RETURNED, Slots, Sorted, bits, inputs_of, opened_numbers, receiver_result, sender_result, slots_by,
};
use crate::entry::{Entry, Gates, Memory, Message, Roles, Shape};
use crate::error::{Error, Misuse};
use crate::outcome::{Outcome, Pending};
use crate::parameters::Parameters;
use crate::protocol::{Ctx, Learns, Role, Run, Sizes};

/// The formula of the gates.
const GATES: &str = "(4·w - ⌈log2 w⌉ - 2)·(2-sorters of the merger) + w·(m + ⌊(n_r + n_s - 1)/2⌋) + m·(w - 1), \
    + w ([sigma]); private: w·(m·d - 2^d + 1), d = ⌈log2 m⌉; [audit-max]: at most m + d more";

/// The formula of what the sender sends for its OTs.
const SENDERS_OTS: &str = "31·16·(⌈ANDs of bits/128⌉ + ⌈(selections + swappers)/128⌉) \
    (IKNP: κ·16 for 31·16; silent: about 1/13 an OT)";

/// The formula of what the sender sends for the layers.
const SENDERS_SHARES: &str = "32 + ⌈2·ANDs/8⌉, ⌈(w + 1)·selections/8⌉ and ⌈swappers/8⌉ of each layer, + ⌈m·w/8⌉, \
    1 bit more ([sigma]), 1 more ([audit-max])";

/// The registry's entry.
pub static ENTRY: Entry = gmw::entry(
    "scs-gmw",
    "GMW: sort, compare, shuffle in few layers, selections by OTs of strings",
    Roles::Whole { receive, send },
)
.paper("PSZ14 §3.2, PSSZ15 §3.4")
.sigma(1, 64)
.audited()
.flights(|shape| flights_of(shape, &cost(shape)))
.gates(GATES, gates)
.messages(&[
    gmw::SETUP_MESSAGES[0],
    gmw::SETUP_MESSAGES[1],
    gmw::SETUP_MESSAGES[2],
    gmw::SETUP_MESSAGES[3],
    Message::of_receiver(
        "OTs, a row an AND of bits and a row a selection",
        "31·16·(⌈ANDs of bits/128⌉ + ⌈selections/128⌉) (IKNP: κ·16 for 31·16; silent: about 1/13 an OT)",
        |shape| extension_bytes(shape, Role::Receiver, &cost(shape)),
    ),
    Message::of_sender("OTs, the same and a row a swapper", SENDERS_OTS, |shape| {
        extension_bytes(shape, Role::Sender, &cost(shape))
    }),
    Message::of_receiver(
        "a seed, and masked shares",
        "32 + ⌈2·ANDs/8⌉, ⌈(w + 1)·selections/8⌉ and ⌈w·swappers/8⌉ of each layer, 1 more ([audit-max])",
        |shape| layer_bytes(Role::Receiver, &cost(shape)),
    ),
    Message::of_sender("a seed, masked shares, and shares of the slots", SENDERS_SHARES, |shape| {
        layer_bytes(Role::Sender, &cost(shape))
    }),
    RETURNED,
])
.memory("2·w·(n_r + n_s) + 2^27 each (silent: and 140·min(OTs, 3·2^19) + 5·2^24)", |shape| {
    let items = shape.receiver() + shape.sender();
    let each = 2 * u64::from(bits(shape)) * items + (1 << 27) + gmw::ot_memory(shape, &cost(shape));
    Memory { receiver: each, sender: each }
})
.test_items(1 << 8);

/// Items of both parties together at most. The cost of a run is counted layer by layer, which takes memory and time
/// by the item, for sizes that the partner names.
const MOST_ITEMS: usize = 1 << 22;

/// Refuses sizes with too many items.
fn check(sizes: Sizes) -> Result<(), Error> {
    let Sizes { receiver, sender } = sizes;
    let few = receiver.saturating_add(sender) <= MOST_ITEMS;
    if few { Ok(()) } else { Err(Misuse::TooManyItems { receiver, sender }.into()) }
}

/// What the cost of a run depends on.
type Key = (Sizes, Parameters, Learns);

/// The last cost that was counted: the formulas of a run ask for the same one many times.
static LAST: Mutex<Option<(Key, Cost)>> = Mutex::new(None);

/// What the circuit costs; nothing if the sizes are refused.
fn cost(shape: &Shape) -> Cost {
    let Shape { sizes, parameters, learns, .. } = *shape;
    if bits(shape) == 0 || check(sizes).is_err() {
        return Cost::default();
    }
    let key = (sizes, parameters, learns);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, cost)) = last.as_ref().filter(|(of, _)| *of == key) {
        return cost.clone();
    }
    let hidden = |len| Input::Hidden { rows: bits(shape) as usize, len };
    let inputs = [hidden(sizes.receiver), hidden(sizes.sender)];
    let count =
        |run: &Run<'_>, engine: &mut Cost| Shuffled { run, inputs, controls: None }.run(engine).map(|_| ());
    let cost = gmw::cost_of(shape, count);
    *last = Some((key, cost.clone()));
    cost
}

fn gates(shape: &Shape) -> Gates {
    gates_of(&cost(shape))
}

/// The circuit, with what the party that runs it puts in.
struct Shuffled<'a> {
    run: &'a Run<'a>,
    inputs: [Input<'a>; 2],
    /// π, of the sender.
    controls: Option<&'a Controls>,
}

impl Circuit for Shuffled<'_> {
    /// What the slots hold, for the receiver.
    type Output = Option<Vec<Bits>>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error> {
        let Slots { mut values, matches, zero } = slots_by(engine, self.run, self.inputs, greater_by_tree)?;
        permute(engine, Party::Sender, self.controls, &mut values)?;
        values.extend(zero);
        audit::open(self.run, engine, &[&matches], Opening::ToReceiver, &values)
    }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let (run, role) = (ctx.run, Role::Receiver);
    check(run.sizes)?;
    // 1.
    let sorted = Sorted::new(run, items)?;
    let numbers = sorted.rows();
    // 2. to 5.
    let circuit = Shuffled { run, inputs: inputs_of(run, role, &numbers), controls: None };
    let opened = gmw::evaluate(ctx, role, &cost(&Shape::of(run)), circuit)?.unwrap_or_default();
    let native = run.parameters.sigma.is_some();
    receiver_result(ctx, items, sorted, move || opened_numbers(native, opened))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let (run, role) = (ctx.run, Role::Sender);
    check(run.sizes)?;
    // 1.
    let sorted = Sorted::new(run, items)?;
    let numbers = sorted.rows();
    let slots = circuit::slots(run.sizes.receiver as u64, run.sizes.sender as u64);
    let order = Zeroizing::new(random_order(slots as u32, ctx.rng));
    let controls = Controls::new(&order);
    // 2. to 5.
    let circuit = Shuffled { run, inputs: inputs_of(run, role, &numbers), controls: Some(&controls) };
    gmw::evaluate(ctx, role, &cost(&Shape::of(run)), circuit)?;
    sender_result(ctx, items, &sorted)
}

#[cfg(test)]
mod tests {
    use super::super::slots_of;
    use super::super::tests::the_order_is_hidden;
    use super::*;
    use crate::parameters::Parameters;
    use crate::protocol::Sizes;
    use vesica_circuit::{networks, shuffle};

    fn of(receiver: usize, sender: usize, sigma: u32) -> Shape {
        let parameters = Parameters { sigma: Some(sigma), ..Parameters::default() };
        Shape { parameters, ..Shape::new(Sizes { receiver, sender }) }
    }

    /// The text of the entry, as a program.
    #[test]
    fn gates_are_as_many_as_is_written() {
        for (receiver, sender, sigma) in [(1, 1, 8), (40, 50, 32), (300, 17, 13), (256, 256, 64)] {
            let shape = of(receiver, sender, sigma);
            let (both, slots) = ((receiver + sender) as u64, slots_of(&shape));
            let (log, sigma) = (u64::from(sigma.next_power_of_two().ilog2()), u64::from(sigma));
            let ands = (4 * sigma - log - 2) * networks::merge_sorters(both)
                + sigma * (slots + (both - 1) / 2)
                + slots * (sigma - 1)
                + sigma;
            let gates = gates(&shape);
            assert_eq!((gates.ands, gates.private_ands), (ands, sigma * shuffle::swappers(slots)));
        }
    }

    /// The rounds of PSSZ15 Table 6. The wire of the item 0 is a tree beside the path.
    #[test]
    fn depth_is_that_of_the_paper() {
        for (log, rounds) in [(8u32, 85), (12, 121), (16, 157)] {
            let cost = cost(&of(1 << log, 1 << log, 32));
            assert_eq!((cost.count.depth, cost.count.layers), (rounds, u64::from(rounds) + 6), "2^{log}");
        }
    }

    /// The selections, 2/3 of the gates in the size-optimised form, take a fraction of their OTs.
    #[test]
    fn strings_take_the_place_of_bits() {
        let cost = cost(&of(256, 256, 32));
        let demand = cost.demand();
        assert_eq!(cost.count.select_ands, 32 * demand.strings);
        assert_eq!(demand.bits + cost.count.select_ands, cost.count.ands);
        assert_eq!(demand.private, [0, shuffle::swappers(256)]);
    }

    #[test]
    fn flaw_where_the_matches_stood_stays_hidden() {
        the_order_is_hidden(&ENTRY, |ctx, items| {
            let (run, role) = (ctx.run, Role::Receiver);
            let numbers = Sorted::new(run, items)?.rows();
            let circuit = Shuffled { run, inputs: inputs_of(run, role, &numbers), controls: None };
            let opened = gmw::evaluate(ctx, role, &cost(&Shape::of(run)), circuit)?;
            Ok(opened_numbers(true, opened.unwrap_or_default()))
        });
    }
}
