//! Circuit PSI from VOLE: an OPPRF puts equal short values into the bins that match, and a circuit finds them.
//! The receiver learns X ∩ Y, the sender |X| and no more.
//!
//! **Security:** semi-honest, in the random oracle model, under what the OPRF by VOLE rests on
//! (`docs/security-of-the-default.md`); the triples are from silent OT, which rests on the same. Leaks n_r and
//! n_s. With `--audit-max` both learn whether the intersection has more items than that, and if so, nothing
//! else.
//!
//! Sources: Pinkas, Schneider, Tkachenko, Yanai (PSTY19, eprint 2019/241), whose OPPRF is here one from VOLE as
//! in Rindal, Schoppmann (RS21, eprint 2021/266), with the store of Bienstock, Patel, Seo, Yeo (BPSY23, eprint
//! 2023/903). Deviations:
//!
//! - Each hash function has a segment of the bins to itself. So an item has three different bins, and a bin
//!   determines the function under which an item is in it: the point of an item in a bin is the item under
//!   that function.
//! - Three hash functions have enough bins to do without a stash by a proven bound.
//! - The receiver asks for its items alone, and draws a value for each empty bin. (The papers ask for a dummy
//!   in it. The sender sees the number of items in either form.)
//! - The papers end with shares of the match bits. Here they are opened to the receiver.
//!
//! ```text
//! receiver (X)                                               sender (Y)
//! 1. each x in one of its bins h_1(x), h_2(x), h_3(x)        each y in all of its bins
//! 2.                                                         r_b ←$ {0,1}^w for every bin b
//! 3. the OPPRF:                                ◄─►           r_b at (i, y) for every y and i, b = h_i(y)
//!    r*_b: its value at (i, x), x in bin b = h_i(x);
//!    random if b is empty
//! 4. GMW, in a layer for each level of a tree: ◄─►
//!    z_b = (r*_b = r_b)
//! 5. --audit-max: is Σ z_b larger?             both learn that
//! 6.                                           ◄──           its shares of z_b
//!    output {x : z_b = 1 for the bin b of x}
//!    [--learns both: the matches' numbers, ascending ──►]
//! ```
//!
//! **What a value tells.** The receiver has one item a bin, so it has one value of the sender's bin at most:
//! r_b, which is random, or another random value. Only the circuit tells them apart. Two bins have targets of
//! their own: with one for both, two matches would show as equal values before the circuit.
//!
//! **w = λ + ⌈log2 β⌉ bits:** a bin without a match has two equal values with probability 2^-w, so one of all β
//! bins has with probability at most 2^-λ.
//!
//! **No shuffle.** The bins are those of the receiver's own cuckoo table. So the opened wires tell it which of
//! its items match. The sender must not see them: where an item ended up depends on all others.
//!
//! Names: β = `bins`, w = `width`, r = `targets`, r* = `values`; items under the session = `keys`;
//! `oprf::programmable` has the OPPRF, `silent_triples` what GMW takes.
//!
//! Cost: the OPRF of n_r items, in which the sender evaluates 3·n_s; a hint of 1.2·3·n_s values; β·(w - 1) AND
//! gates, each with a bit of silent OTs and two bits of each party.

use std::ops::Range;
use std::time::Duration;

use vesica_circuit::circuits::phasing as circuit;
use vesica_circuit::gmw::{self, Cost, Gmw};
use vesica_circuit::{Bits, Opening, Party};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_crypto::prg::Prg;
use vesica_encode::hashing::{Digests, Layout, cuckoo, parameters};
use vesica_encode::items::Items;
use vesica_ot::security::SemiHonest;
use vesica_ot::vole;
use zeroize::Zeroizing;

use super::phasing::Comparisons;
use super::silent_triples::{self, SilentTriples};
use super::{Circuit, audit, inputs, party, returned};
use crate::entry::{Entry, Gates, Memory, Message, Roles, Shape};
use crate::error::{Error, Misuse};
use crate::masks::MaskWidth;
use crate::oprf;
use crate::oprf::bins::{cuckoo_failure, keys};
use crate::oprf::programmable::{self, OpprfReceiver, OpprfSender, Programming};
use crate::oprf::vole::store::Store;
use crate::oprf::vole::{Functions, Oprf, Setup};
use crate::outcome::{Outcome, Pending};
use crate::parameters::{Parameters, Profile, Security};
use crate::protocol::{Ctx, Learns, Phase, Role, Run, Sizes};

/// Hash functions.
const FUNCTIONS: u8 = 3;

/// The registry's entry.
pub static ENTRY: Entry =
    Entry::new("circuit-vole", "GMW on bins that an OPPRF from VOLE fills", Roles::Whole { receive, send })
        .family("circuit_based")
        .paper("PSTY19; RS21; BPSY23")
        .profiles(&Profile::ALL)
        .sigma(1, 64)
        .learns_both()
        .audited()
        .flights(flights)
        .steps(|role, _| match role {
            Role::Receiver => &[
                (Phase::Hash, 3),
                (Phase::Blind, 5),
                (Phase::Unblind, 5),
                (Phase::Exchange, 7),
                (Phase::EvaluateCircuit, 80),
            ],
            Role::Sender => &[
                (Phase::Hash, 2),
                (Phase::Blind, 8),
                (Phase::Answer, 5),
                (Phase::Exchange, 5),
                (Phase::EvaluateCircuit, 80),
            ],
        })
        .gates("β·(w - 1); --audit-max: at most β + log2 n more", |shape| {
            with_plan(shape, |plan| {
                let count = plan.cost(shape).count;
                Gates { ands: count.ands, private_ands: 0, depth: Some(count.depth) }
            })
        })
        .messages(&[
            Message::of_sender("OPRF: base OTs, whose choices are the bits of Δ", "8192", |shape| {
                with_plan(shape, |_| vole::Plan::FLIGHT1_BYTES as u64)
            }),
            Message::of_receiver(
                "OPRF: base OT, small-field trees and corrections of the VOLE; seed of the store",
                "32 + r(m) + 16",
                |shape| {
                    let security = Security::SemiHonest;
                    with_plan(shape, |plan| {
                        let flight2 = match plan.small {
                            true => plan.oprf.flight2_bytes::<u64>(security),
                            false => plan.oprf.flight2_bytes::<Block>(security),
                        };
                        (flight2 + Block::BYTES) as u64
                    })
                },
            ),
            Message::of_sender("OPRF: correction words of the puncturable PRF", "s(m)", |shape| {
                with_plan(shape, |plan| plan.oprf.flight3_bytes() as u64)
            }),
            Message::of_receiver(
                "OPRF: A' = A + P, an element for each slot of the store",
                "m·(16, or 8 for small values)",
                |shape| with_plan(shape, |plan| plan.oprf.length() as u64 * if plan.small { 8 } else { 16 }),
            ),
            Message::of_sender("OPPRF: the hint and its seed", "16 + ⌈m'·w/8⌉", |shape| {
                with_plan(shape, |plan| plan.programming.hint_bytes().unwrap_or(0))
            }),
            Message::of_sender("GMW: seed of masks", "32", |shape| with_plan(shape, |_| gmw::setup_bytes())),
            Message::of_receiver("GMW: seed of masks", "32", |shape| {
                with_plan(shape, |_| gmw::setup_bytes())
            }),
            Message::of_sender("silent OTs, a row a gate: as their receiver", "t_r(g)", |shape| {
                triple_bytes(shape)[0]
            }),
            Message::of_sender(
                "silent OTs, a row a gate: as their sender, base OTs",
                "8192·⌈g/2^22⌉",
                |shape| triple_bytes(shape)[1],
            ),
            Message::of_sender(
                "silent OTs, a row a gate: as their sender, correction words",
                "t_s(g)",
                |shape| triple_bytes(shape)[2],
            ),
            Message::of_receiver(
                "silent OTs, a row a gate: as their sender, base OTs",
                "8192·⌈g/2^22⌉",
                |shape| triple_bytes(shape)[1],
            ),
            Message::of_receiver(
                "silent OTs, a row a gate: as their sender, correction words",
                "t_s(g)",
                |shape| triple_bytes(shape)[2],
            ),
            Message::of_receiver("silent OTs, a row a gate: as their receiver", "t_r(g)", |shape| {
                triple_bytes(shape)[0]
            }),
            Message::of_sender("layer 1 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 0)),
            Message::of_receiver("layer 1 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 0)),
            Message::of_sender("layer 2 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 1)),
            Message::of_receiver("layer 2 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 1)),
            Message::of_sender("layer 3 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 2)),
            Message::of_receiver("layer 3 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 2)),
            Message::of_sender("layer 4 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 3)),
            Message::of_receiver("layer 4 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 3)),
            Message::of_sender("layer 5 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 4)),
            Message::of_receiver("layer 5 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 4)),
            Message::of_sender("layer 6 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 5)),
            Message::of_receiver("layer 6 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 5)),
            Message::of_sender("layer 7 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 6)),
            Message::of_receiver("layer 7 of the comparisons", "⌈g_i/4⌉", |shape| layer_bytes(shape, 6)),
            Message::of_sender("the audit (--audit-max)", "⌈g_i/4⌉ a layer, and 1", audit_bytes),
            Message::of_receiver("the audit (--audit-max)", "⌈g_i/4⌉ a layer, and 1", audit_bytes),
            Message::of_sender("its shares of the match bits", "⌈β/8⌉", |shape| {
                with_plan(shape, |plan| plan.bins() as u64).div_ceil(8)
            }),
            Message::of_receiver("numbers of the matches (--learns both)", "4 + k·⌈σ'/8⌉", |shape| {
                with_plan(shape, |_| 1)
                    * returned::bytes(shape, returned_bits(shape.sizes, &shape.parameters))
            }),
        ])
        .memory("receiver 220·n_r + 60·n_s, sender 60·n_r + 250·n_s, and 80·min(g, 2^22) + 90 MB", memory);

/// A formula of a run of this shape; 0 of sizes that are refused.
fn with_plan<T: Default>(shape: &Shape, formula: impl Fn(&Plan) -> T) -> T {
    Plan::new(shape.sizes, &shape.parameters).map_or_else(|_| T::default(), |plan| formula(&plan))
}

/// What each party sends for its triples.
fn triple_bytes(shape: &Shape) -> [u64; 3] {
    with_plan(shape, |plan| silent_triples::parts(plan.cost(shape).count.ands, shape.parameters.profile))
}

/// Layers of the comparisons: a value has at most 2^7 bits.
const LAYERS: usize = 7;

/// Bytes of a layer, whose gates take the rows of the one before by pairs.
fn layer_bytes(shape: &Shape, layer: usize) -> u64 {
    with_plan(shape, |plan| {
        let rows = (0..layer).fold(u64::from(plan.width().bits()), |rows, _| rows.div_ceil(2));
        gmw::and_bytes(rows / 2 * plan.bins() as u64)
    })
}

/// What the audit adds.
fn audit_bytes(shape: &Shape) -> u64 {
    let comparisons: u64 = (0..LAYERS).map(|layer| layer_bytes(shape, layer)).sum();
    with_plan(shape, |plan| {
        plan.cost(shape).sent[Party::Receiver as usize].saturating_sub(gmw::setup_bytes() + comparisons)
    })
}

/// The OPRF up to the hint, in the place of the masks of `vole`; triples; layers, whose messages cross; the
/// audit's bit and the result.
fn flights(shape: &Shape) -> u32 {
    let Parameters { profile, .. } = shape.parameters;
    with_plan(shape, |plan| {
        let oprf = if plan.oprf.flight3_bytes() > 0 && profile == Profile::Conservative { 5 } else { 3 };
        let count = plan.cost(shape).count;
        let layers = count.layers as u32 + audit::opened(shape) as u32;
        oprf + silent_triples::flights(count.ands, profile) + layers + 1
    })
}

/// Bytes that a run adds to the items at its peak.
fn memory(shape: &Shape) -> Memory {
    let gates = with_plan(shape, |plan| plan.cost(shape).count.ands);
    let more = 80 * gates.min(silent_triples::BATCH as u64) + 90_000_000;
    let (receiver, sender) = (shape.receiver(), shape.sender());
    Memory { receiver: 220 * receiver + 60 * sender + more, sender: 60 * receiver + 250 * sender + more }
}

/// What both parties derive from sizes and parameters.
struct Plan {
    layout: Layout,
    programming: Programming,
    oprf: vole::Plan,
    /// Whether the OPRF's values are from GF(2^64).
    small: bool,
}

impl Plan {
    fn new(sizes: Sizes, parameters: &Parameters) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        let too_many = || Error::from(Misuse::TooManyItems { receiver, sender });
        let slots = Store::new(Security::SemiHonest, receiver, Block::ZERO)?.slots();
        let layout = parameters::three_way(receiver).layout;
        let points = sender.checked_mul(FUNCTIONS.into()).ok_or_else(too_many)?;
        let width = MaskWidth::for_pairs(layout.bins());
        let programming = Programming { functions: FUNCTIONS.into(), items: sender, width };
        programming.hint_bytes().ok_or_else(too_many)?;
        let oprf = vole::Plan::new(slots, parameters.profile);
        Ok(Self { layout, programming, oprf, small: oprf::vole::small_values(points, parameters) })
    }

    fn bins(&self) -> usize {
        self.layout.bins()
    }

    fn width(&self) -> MaskWidth {
        self.programming.width
    }

    /// A comparison a bin.
    fn circuit(&self) -> circuit::Shape {
        let bins = circuit::Table { bins: self.bins(), load: 1, bits: self.width().bits() as usize };
        circuit::Shape { bins, stash: circuit::Table { bins: 0, load: 0, bits: 0 } }
    }

    /// What the circuit and its audit cost.
    fn cost(&self, shape: &Shape) -> Cost {
        let cost = Cost::of(|engine| {
            let matches = [circuit::matches(engine, &self.circuit(), None, None)?];
            audit::count(shape, engine, &[&matches[0]], Opening::ToReceiver, &matches)
        });
        // An engine that counts does not fail.
        cost.unwrap_or_default()
    }

    fn setup(&self, run: &Run<'_>) -> Setup {
        let plan = self.oprf.clone().with_threads(run.threads);
        Setup { plan, early: oprf::vole::early(&run.parameters), limit: Duration::ZERO }
    }
}

/// The keys of items.
fn item_keys(run: &Run<'_>, items: &Items) -> Result<Vec<Block>, Error> {
    run.phase(Phase::Hash, items.len());
    keys::hashed(run, &run.context.oracle(Label::new("circuit-vole: item to key")), items, None)
}

/// The receiver's items in their bins.
struct Placed {
    keys: Vec<Block>,
    table: cuckoo::Table,
    /// The function under which each item is in its bin.
    held: Vec<u8>,
}

impl Placed {
    fn new(run: &Run<'_>, plan: &Plan, items: &Items) -> Result<Self, Error> {
        let keys = item_keys(run, items)?;
        let table = cuckoo::Table::build(&Digests::new(&keys, plan.layout), 0);
        let table = table.map_err(|_| cuckoo_failure(false))?;
        let mut held = vec![0; items.len()];
        for (bin, item) in table.bins().enumerate() {
            if let Some(item) = item {
                held[item as usize] = plan.layout.function_of(bin) as u8;
            }
        }
        Ok(Self { keys, table, held })
    }

    /// The value of each bin, from those of the items; a random one if it is empty.
    fn by_bins(&self, width: MaskWidth, values: &[u128], stream: &mut Prg) -> Numbers {
        let value = |item: Option<u32>| match item {
            Some(item) => values[item as usize],
            None => width.truncate(stream.block().as_bytes()),
        };
        Numbers(self.table.bins().map(value).collect::<Vec<_>>().into())
    }
}

/// A number of a party for each bin.
struct Numbers(Zeroizing<Vec<u128>>);

impl circuit::Receiver for Numbers {
    fn bins(&self, bins: Range<usize>) -> Vec<u128> {
        self.0[bins].to_vec()
    }

    fn stash(&self, _: Range<usize>) -> Vec<u128> {
        Vec::new()
    }

    fn occupied(&self, _: usize) -> bool {
        false
    }
}

impl circuit::Sender for Numbers {
    fn bins(&self, bins: Range<usize>, _: Range<usize>) -> Vec<u128> {
        self.0[bins].to_vec()
    }

    fn items(&self, _: Range<usize>) -> Vec<u128> {
        Vec::new()
    }
}

/// Runs a circuit of so many gates by GMW.
fn evaluate<C: Circuit>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    gates: u64,
    circuit: C,
) -> Result<C::Output, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    run.phase(Phase::EvaluateCircuit, gates as usize);
    let mut watch = |gates: u64| run.advance(gates as usize).map_err(|_| vesica_circuit::Error::Cancelled);
    let profile = run.parameters.profile;
    let triples = SilentTriples::new(&run.context, party(role), gates, profile, run.threads);
    circuit.run(&mut Gmw::new(party(role), triples, channel, &mut watch, rng)?)
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let plan = Plan::new(ctx.run.sizes, &ctx.run.parameters)?;
    // 1. Each x in one of its bins.
    let placed = Placed::new(ctx.run, &plan, items)?;
    // 3. The OPPRF.
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let functions = Functions::Several { count: FUNCTIONS, held: &placed.held };
    let (setup, programming) = (plan.setup(run), plan.programming);
    let values = if plan.small {
        let oprf = Oprf::<SemiHonest, u64>::new(run, setup, rng).with_functions(functions);
        programmable::Receiver { run, programming, oprf }.evaluate(items, &placed.keys, channel)
    } else {
        let oprf = Oprf::<SemiHonest, Block>::new(run, setup, rng).with_functions(functions);
        programmable::Receiver { run, programming, oprf }.evaluate(items, &placed.keys, channel)
    };
    receive_matches(ctx, &plan, placed, items, &values?)
}

/// The receiver's steps from the OPPRF's values on; its matching items.
fn receive_matches<'a>(
    ctx: &mut Ctx<'_, 'a>,
    plan: &Plan,
    placed: Placed,
    items: &'a Items,
    values: &[u128],
) -> Result<Pending<'a>, Error> {
    let run = ctx.run;
    let values = placed.by_bins(plan.width(), values, &mut Prg::from_rng(ctx.rng));
    let circuit = Comparisons { run, shape: &plan.circuit(), receiver: Some(&values), sender: None };
    let opened = evaluate(ctx, Role::Receiver, plan.cost(&Shape::of(run)).count.ands, circuit)?;
    let find = move || -> Vec<u32> {
        let matching = opened.iter().flatten().flat_map(Bits::iter);
        placed.table.bins().zip(matching).filter_map(|(item, matches)| item.filter(|_| matches)).collect()
    };
    if run.learns == Learns::Both {
        let matched = find();
        let numbers = inputs::numbers(run, items, MaskWidth::for_hashed_items(run.sizes)?);
        let numbers = matched.iter().map(|item| numbers[*item as usize]).collect();
        returned::send(numbers, returned_bits(run.sizes, &run.parameters), ctx.channel.split().0)?;
        return Ok(Pending::of_items(items, move || matched));
    }
    Ok(Pending::of_items(items, find))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let plan = Plan::new(ctx.run.sizes, &ctx.run.parameters)?;
    // 1. The bins of each y.
    let keys = item_keys(ctx.run, items)?;
    // 2. The targets of the bins.
    let targets = targets(&plan, &mut Prg::from_rng(ctx.rng));
    let value = |function, item: usize| targets.0[plan.layout.bin_of(keys[item], function) as usize];
    // 3. The OPPRF.
    let hint_stream = Prg::from_rng(ctx.rng);
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let functions = Functions::Several { count: FUNCTIONS, held: &[] };
    let (setup, programming) = (plan.setup(run), plan.programming);
    if plan.small {
        let oprf = Oprf::<SemiHonest, u64>::new(run, setup, rng).with_functions(functions);
        let opprf = programmable::Sender { run, programming, oprf, rng: hint_stream };
        opprf.program(items, &keys, value, channel)?;
    } else {
        let oprf = Oprf::<SemiHonest, Block>::new(run, setup, rng).with_functions(functions);
        let opprf = programmable::Sender { run, programming, oprf, rng: hint_stream };
        opprf.program(items, &keys, value, channel)?;
    }
    drop(keys);
    send_matches(ctx, &plan, items, &targets)
}

/// r_b of every bin.
fn targets(plan: &Plan, stream: &mut Prg) -> Numbers {
    let mut target = |_| plan.width().truncate(stream.block().as_bytes());
    Numbers((0..plan.bins()).map(&mut target).collect::<Vec<_>>().into())
}

/// The sender's steps from the OPPRF on.
fn send_matches(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    items: &Items,
    targets: &Numbers,
) -> Result<Option<Outcome>, Error> {
    let run = ctx.run;
    let circuit = Comparisons { run, shape: &plan.circuit(), receiver: None, sender: Some(targets) };
    evaluate(ctx, Role::Sender, plan.cost(&Shape::of(run)).count.ands, circuit)?;
    if run.learns == Learns::Receiver {
        return Ok(None);
    }
    let numbers = inputs::numbers(run, items, MaskWidth::for_hashed_items(run.sizes)?);
    let bits = returned_bits(run.sizes, &run.parameters);
    let matched = returned::recv(&numbers, bits, run.sizes.receiver, ctx.channel.split().1)?;
    Ok(Some(Outcome::Matches(items.matches(matched.into_iter().map(|item| item as usize)))))
}

/// σ, or the bits of a hashed item: of the numbers that are returned.
fn returned_bits(sizes: Sizes, parameters: &Parameters) -> u32 {
    let hashed = MaskWidth::for_hashed_items(sizes).map_or(u128::BITS, MaskWidth::bits);
    parameters.sigma.unwrap_or(hashed)
}

#[cfg(test)]
mod tests;
