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
//! The variant `single-bits` leaves out the second: it is the "Circuit + GMW" that PSZ14 starts from, where each of
//! these gates takes two OTs of single bits, κ + 2 bits each with IKNP.
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
use vesica_circuit::gmw::{Cost, SingleBits};
use vesica_circuit::shuffle::{Controls, permute};
use vesica_circuit::{Bits, Engine, Input, Opening, Party};
use vesica_encode::items::{Items, random_order};
use zeroize::Zeroizing;

use super::super::gmw::{self, Form, extension_bytes, flights_of, gates_of, layer_bytes};
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
    + w ([sigma]); private (single-bits: ANDs like the others): w·(m·d - 2^d + 1), d = ⌈log2 m⌉; \
    [audit-max]: at most m + d more";

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
.variants(Form::VARIANTS)
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

impl Shuffled<'_> {
    /// Merges, selects, permutes and opens.
    fn run_on<E: Engine>(self, engine: &mut E) -> Result<Option<Vec<Bits>>, Error> {
        let Slots { mut values, matches, zero } = slots_by(engine, self.run, self.inputs, greater_by_tree)?;
        permute(engine, Party::Sender, self.controls, &mut values)?;
        values.extend(zero);
        audit::open(self.run, engine, &[&matches], Opening::ToReceiver, &values)
    }
}

impl Circuit for Shuffled<'_> {
    /// What the slots hold, for the receiver.
    type Output = Option<Vec<Bits>>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error> {
        match Form::of(&self.run.parameters) {
            Form::SingleBits => self.run_on(&mut SingleBits(engine)),
            _ => self.run_on(engine),
        }
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
    use crate::testing::{Case, planted_for, run_pair};
    use vesica_circuit::gmw::Demand;
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

    /// What a run sends in each form, in MB of 2^20 bytes.
    fn megabytes(shape: &Shape) -> f64 {
        let bytes: u64 = ENTRY.sent(shape).map(|(_, bytes)| bytes).sum();
        bytes as f64 / f64::from(1 << 20)
    }

    /// PSZ14, slide "Results: communication (2^18 items)", rows Circuit + GMW and Optimized GMW. The slide counts
    /// 5·σ·n·log2 n and 3·σ·n·log2 n gates of two OTs, and κ + 2 bits an OT.
    #[test]
    fn communication_is_that_of_the_slides() {
        for (level, plain, optimized) in [(80, 14_760.0, 8_856.0), (128, 23_400.0, 14_040.0)] {
            for (form, slide) in [(Form::SingleBits, plain), (Form::Iknp, optimized)] {
                let Shape { parameters, sizes, .. } = of(1 << 18, 1 << 18, 32);
                let parameters = Parameters { level, variant: form.variant(), ..parameters };
                let ratio = megabytes(&Shape { parameters, ..Shape::new(sizes) }) / slide;
                assert!((1.0..1.05).contains(&ratio), "{form:?} at level {level}: {ratio}");
            }
        }
    }

    /// Every gate takes two OTs of single bits, and 2 bits of each party: the transcript of a run, part by part.
    #[test]
    fn single_bits_send_two_ots_a_gate() {
        for level in [80, 128] {
            let parameters =
                Parameters { level, variant: Form::SingleBits.variant(), ..of(1, 1, 32).parameters };
            let sets = planted_for(&parameters, 100, 156, 30, 1);
            let ended = run_pair(&ENTRY, &sets, Case { parameters, ..Case::default() });
            assert!(ended.confirmed() && ended.receiver.unwrap().rows() == sets.receiver_rows.as_slice());

            let shape = Shape { parameters, ..Shape::new(Sizes { receiver: 100, sender: 156 }) };
            let strings = cost(&of(100, 156, 32)).count;
            let Cost { count, .. } = cost(&shape);
            assert_eq!((count.ands, count.private_ands), (strings.ands + strings.private_ands, 0));
            assert_eq!((count.depth, count.layers), (strings.depth, strings.layers));
            let demand = Demand { bits: count.ands, ..Demand::default() };
            assert_eq!(cost(&shape).demand(), demand);

            // A row of κ bits an OT, in blocks of 128, and 2 bits a gate in whole bytes a layer.
            let rows = u64::from(level) * 16 * count.ands.div_ceil(128);
            let setup = |role| gmw::base_bytes(&shape, role) + gmw::setup_bytes(&shape, role);
            let [by_receiver, by_sender] = [Role::Receiver, Role::Sender].map(setup);
            let layers = |sent: u64, last: u64| {
                let gates = sent - rows - 32 - last;
                assert!((2 * count.ands / 8..2 * count.ands / 8 + count.layers).contains(&gates), "{gates}");
            };
            let slots = (slots_of(&shape) * 32 + 1).div_ceil(8);
            layers(ended.traffic.payload_sent - by_receiver, 0);
            layers(ended.traffic.payload_received - by_sender, slots);
        }
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
