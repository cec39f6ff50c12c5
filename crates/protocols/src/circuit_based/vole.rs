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
//! `oprf::programmable` has the OPPRF, [`ots`](super::gmw::ots) what GMW takes.
//!
//! Cost: the OPRF of n_r items, in which the sender evaluates 3·n_s; a hint of 1.2·3·n_s values; β·(w - 1) AND
//! gates, each with a bit of silent OTs and two bits of each party.

mod costs;

use std::convert::identity;
use std::ops::Range;
use std::time::Duration;

use rand_core::CryptoRng;
use vesica_circuit::circuits::phasing as circuit;
use vesica_circuit::gmw::Cost;
use vesica_circuit::{Bits, Opening};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_crypto::prg::Prg;
use vesica_encode::hashing::{Digests, Layout, cuckoo, parameters};
use vesica_encode::items::Items;
use vesica_ot::security::SemiHonest;
use vesica_ot::vole;
use zeroize::Zeroizing;

use super::aggregate::{Aggregate, Own, Tools};
use super::gmw::ots::Source;
use super::gmw::{OnShares, Shares, evaluate_over};
use super::phasing::Comparisons;
use super::{audit, inputs, receiver_result, returned};
use crate::attached::Attached;
use crate::entry::{Entry, Roles, Shape};
use crate::error::{Error, Misuse};
use crate::masks::MaskWidth;
use crate::oprf;
use crate::oprf::bins::{cuckoo_failure, keys};
use crate::oprf::programmable::{self, OpprfReceiver, OpprfSender, Programming};
use crate::oprf::vole::store::Store;
use crate::oprf::vole::{Functions, Oprf, Setup};
use crate::outcome::{Outcome, Pending};
use crate::parameters::{Parameters, Profile, Security, variants};
use crate::protocol::{Ctx, Learns, Phase, Role, Run, Sizes};
use crate::results::{ResultKind, ResultName};

variants! {
    /// Where the OTs come from.
    enum Form {
        /// Silent OT.
        Standard,
        /// SoftSpoken.
        SoftSpoken = "softspoken", "OTs of SoftSpoken: 31 bits each, a third of the time";
        /// IKNP.
        Iknp = "iknp", "OTs of IKNP: 128 bits each";
    }
}

/// Hash functions.
const FUNCTIONS: u8 = 3;

/// The registry's entry.
pub static ENTRY: Entry = Entry::new(
    "circuit-vole",
    "GMW on bins that an OPPRF from VOLE fills",
    Roles::Whole { receive, send },
)
.family("circuit_based")
.paper("PSTY19; RS21; BPSY23")
.profiles(&Profile::ALL)
.makes_base_ots()
.variants(Form::VARIANTS)
.sigma(1, 64)
.learns_both()
.audited()
.results(&[ResultName::Rows, ResultName::Count, ResultName::AtLeast, ResultName::Sum])
.flights(costs::flights)
.steps(|role, shape| match role {
    Role::Receiver if shape.parameters.result == ResultKind::Rows => &[
        (Phase::Hash, 3),
        (Phase::Blind, 5),
        (Phase::Unblind, 5),
        (Phase::Exchange, 7),
        (Phase::BaseOts, 1),
        (Phase::EvaluateCircuit, 78),
        (Phase::Compare, 1),
    ],
    Role::Receiver => &[
        (Phase::Hash, 3),
        (Phase::Blind, 5),
        (Phase::Unblind, 5),
        (Phase::Exchange, 7),
        (Phase::BaseOts, 1),
        (Phase::EvaluateCircuit, 79),
    ],
    Role::Sender => &[
        (Phase::Hash, 2),
        (Phase::Blind, 8),
        (Phase::Answer, 5),
        (Phase::Exchange, 5),
        (Phase::BaseOts, 1),
        (Phase::EvaluateCircuit, 79),
    ],
})
.gates(
    "β·(w - 1); [audit-max]: at most β + log2 n more; a count: 5/9·β more; a minimum: a few hundred more",
    costs::gates,
)
.messages(costs::MESSAGES)
.memory(
    "receiver (220 + 40·c)·n_r + 60·n_s, sender (60 + 20·c)·n_r + (250 + 60·min(c, 1))·n_s, and 140·min(g, 3·2^19) + 170 MB",
    costs::memory,
);

/// What both parties derive from sizes and parameters.
struct Plan {
    layout: Layout,
    programming: Programming,
    oprf: vole::Plan,
    /// Whether the OPRF's values are from GF(2^64).
    small: bool,
    /// What is computed of the match bits, if it is not they that are opened.
    aggregate: Option<Aggregate>,
}

impl Plan {
    fn new(shape: &Shape) -> Result<Self, Error> {
        let Shape { sizes: Sizes { receiver, sender }, parameters, .. } = shape;
        let (receiver, sender) = (*receiver, *sender);
        let too_many = || Error::from(Misuse::TooManyItems { receiver, sender });
        let slots = Store::new(Security::SemiHonest, receiver, parameters.statistical, Block::ZERO)?.slots();
        let layout = parameters::three_way(receiver, parameters.statistical).layout;
        let points = sender.checked_mul(FUNCTIONS.into()).ok_or_else(too_many)?;
        let width = MaskWidth::for_pairs(layout.bins(), parameters.statistical);
        let aggregate = Aggregate::of(shape, layout.bins());
        let (more, more_width) = aggregate
            .map_or((0, width), |aggregate| (aggregate.sums(), MaskWidth::of_bits(aggregate.sum_bits())));
        let functions = FUNCTIONS.into();
        let programming = Programming {
            functions,
            items: sender,
            width,
            more,
            more_width,
            statistical: parameters.statistical,
        };
        programming.hint_bytes().ok_or_else(too_many)?;
        let oprf = vole::Plan::new(slots, parameters.profile).with_base_ots(parameters.base_ots);
        let small = oprf::vole::small_values(points, parameters);
        Ok(Self { layout, programming, oprf, small, aggregate })
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

    /// What the circuit costs, with its audit or with what is decided of numbers.
    fn cost(&self, shape: &Shape) -> Cost {
        let cost = Cost::of(|engine| {
            let matches = [circuit::matches(engine, &self.circuit(), None, None)?];
            if let Some(aggregate) = self.aggregate {
                return aggregate.count(engine, &matches[0]);
            }
            audit::count(shape, engine, &[&matches[0]], Opening::ToReceiver, &matches)
        });
        // An engine that counts does not fail.
        cost.unwrap_or_default()
    }

    /// This party's noise; 0 without.
    fn draw_noise(&self, rng: &mut dyn CryptoRng) -> i64 {
        self.aggregate.map_or(0, |aggregate| aggregate.draw_noise(rng))
    }

    fn setup(&self, run: &Run<'_>) -> Setup {
        let plan = self.oprf.clone().with_threads(run.threads);
        Setup { plan, early: oprf::vole::early(&run.parameters), limit: Duration::ZERO }
    }
}

/// Where the OTs of a run come from.
fn source(parameters: &Parameters) -> Source {
    match Form::of(parameters) {
        Form::Standard => Source::Silent,
        Form::SoftSpoken => Source::SoftSpoken,
        Form::Iknp => Source::Iknp,
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
#[derive(Default)]
struct Numbers(Zeroizing<Vec<u128>>);

impl circuit::Receiver for Numbers {
    fn bins(&self, bins: Range<usize>) -> Zeroizing<Vec<u128>> {
        self.0[bins].to_vec().into()
    }
}

impl circuit::Sender for Numbers {
    fn bins(&self, bins: Range<usize>, _: Range<usize>) -> Zeroizing<Vec<u128>> {
        self.0[bins].to_vec().into()
    }
}

/// The steps of either role from the OPPRF on where the result is a number: 4., and what [`aggregate`](super::aggregate)
/// makes of the shared bits.
struct Numbered<'a> {
    run: &'a Run<'a>,
    plan: &'a Plan,
    aggregate: Aggregate,
    role: Role,
    /// r_b or r*_b, and for each sum this party's value.
    numbers: &'a Numbers,
    values: &'a [Numbers],
    noise: i64,
    stream: Prg,
}

impl OnShares for Numbered<'_> {
    type Output = Option<Outcome>;

    fn run(mut self, mut engine: &mut Shares<'_>) -> Result<Self::Output, Error> {
        let (receiver, sender): (Option<&dyn circuit::Receiver>, Option<&dyn circuit::Sender>) =
            match self.role {
                Role::Receiver => (Some(self.numbers), None),
                Role::Sender => (None, Some(self.numbers)),
            };
        let engine = &mut engine;
        let matches = circuit::matches(engine, &self.plan.circuit(), receiver, sender)?;
        let values = self.values.iter().map(|values| &values.0[..]).collect();
        let own = Own { role: self.role, matches, values, noise: self.noise };
        self.aggregate.reveal(engine, &own, &mut Tools { run: self.run, rng: &mut self.stream })
    }
}

/// Runs them.
fn evaluate_aggregate(
    ctx: &mut Ctx<'_, '_>,
    (plan, aggregate): (&Plan, Aggregate),
    role: Role,
    (numbers, values): (&Numbers, &[Numbers]),
    noise: i64,
) -> Result<Option<Outcome>, Error> {
    let (run, stream) = (ctx.run, Prg::from_rng(ctx.rng));
    let numbered = Numbered { run, plan, aggregate, role, numbers, values, noise, stream };
    let (source, cost) = (source(&run.parameters), plan.cost(&Shape::of(run)));
    evaluate_over(source, false, ctx, role, &cost, numbered)
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let plan = Plan::new(&Shape::of(ctx.run))?;
    // Before anything that the sender could time.
    let noise = plan.draw_noise(ctx.rng);
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
    receive_matches(ctx, &plan, placed, items, (&values?, noise))
}

/// The receiver's steps from the OPPRF's values on; its result.
fn receive_matches<'a>(
    ctx: &mut Ctx<'_, 'a>,
    plan: &Plan,
    placed: Placed,
    items: &'a Items,
    (values, noise): (&[Zeroizing<Vec<u128>>], i64),
) -> Result<Pending<'a>, Error> {
    let (run, mut stream) = (ctx.run, Prg::from_rng(ctx.rng));
    let mut values = values.iter().enumerate().map(|(value, of_items)| {
        let width = if value == 0 { plan.programming.width } else { plan.programming.more_width };
        placed.by_bins(width, of_items, &mut stream)
    });
    let numbers = values.next().unwrap_or_default();
    let values: Vec<Numbers> = values.collect();
    if let Some(aggregate) = plan.aggregate {
        let outcome = evaluate_aggregate(ctx, (plan, aggregate), Role::Receiver, (&numbers, &values), noise)?;
        return outcome.map(Pending::found).ok_or_else(|| Misuse::NoMatches.into());
    }
    let circuit = Comparisons { run, shape: &plan.circuit(), receiver: Some(&numbers), sender: None };
    let (source, cost) = (source(&run.parameters), plan.cost(&Shape::of(run)));
    let opened = evaluate_over(source, false, ctx, Role::Receiver, &cost, circuit)?;
    let find = move || -> Vec<u32> {
        let matching = opened.iter().flatten().flat_map(Bits::iter);
        placed.table.bins().zip(matching).filter_map(|(item, matches)| item.filter(|_| matches)).collect()
    };
    let tell = |matched: &Vec<u32>| {
        let numbers =
            inputs::numbers(run, items, MaskWidth::for_hashed_items(run.sizes, run.parameters.statistical)?);
        let matched = matched.iter().map(|item| numbers[*item as usize]).collect();
        returned::send(matched, returned_bits(run.sizes, &run.parameters), ctx.channel.split().0)
    };
    receiver_result(run, items, find, tell, identity)
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let plan = Plan::new(&Shape::of(ctx.run))?;
    // Before anything that the receiver could time.
    let noise = plan.draw_noise(ctx.rng);
    // 1. The bins of each y.
    let keys = item_keys(ctx.run, items)?;
    // 2. The targets of the bins, and shares of the values in them.
    let secrets = Secrets::new(&plan, ctx.rng);
    let attached = match ctx.run.attached {
        Attached::Values(values) => values,
        _ => &[],
    };
    let value = |number, function, item: usize| {
        secrets.value(attached, number, item, plan.layout.bin_of(keys[item], function) as usize)
    };
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
    send_matches(ctx, &plan, items, &secrets, noise)
}

/// What the sender draws for each bin: r_b, and for each sum s_b, its share of the value in the bin.
struct Secrets {
    targets: Numbers,
    shares: Vec<Numbers>,
}

impl Secrets {
    fn new(plan: &Plan, rng: &mut dyn CryptoRng) -> Self {
        let targets = random_numbers(plan.bins(), plan.width(), &mut Prg::from_rng(rng));
        let programming = plan.programming;
        let share = |_| random_numbers(plan.bins(), programming.more_width, &mut Prg::from_rng(rng));
        Self { targets, shares: (0..programming.more).map(share).collect() }
    }

    /// What is programmed at an item in a bin: r_b, or for a sum v - s_b.
    fn value(&self, attached: &[Vec<u64>], number: usize, item: usize, bin: usize) -> u128 {
        match number.checked_sub(1) {
            None => self.targets.0[bin],
            Some(sum) => u128::from(attached[sum][item]).wrapping_sub(self.shares[sum].0[bin]),
        }
    }
}

/// A random number for each bin.
fn random_numbers(bins: usize, width: MaskWidth, stream: &mut Prg) -> Numbers {
    let mut number = |_| width.truncate(stream.block().as_bytes());
    Numbers((0..bins).map(&mut number).collect::<Vec<_>>().into())
}

/// The sender's steps from the OPPRF on.
fn send_matches(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    items: &Items,
    secrets: &Secrets,
    noise: i64,
) -> Result<Option<Outcome>, Error> {
    let run = ctx.run;
    if let Some(aggregate) = plan.aggregate {
        let Secrets { targets, shares } = secrets;
        return evaluate_aggregate(ctx, (plan, aggregate), Role::Sender, (targets, shares), noise);
    }
    let circuit = Comparisons { run, shape: &plan.circuit(), receiver: None, sender: Some(&secrets.targets) };
    let (source, cost) = (source(&run.parameters), plan.cost(&Shape::of(run)));
    evaluate_over(source, false, ctx, Role::Sender, &cost, circuit)?;
    if run.learns == Learns::Receiver {
        return Ok(None);
    }
    let numbers =
        inputs::numbers(run, items, MaskWidth::for_hashed_items(run.sizes, run.parameters.statistical)?);
    let bits = returned_bits(run.sizes, &run.parameters);
    let matched = returned::recv(&numbers, bits, run.sizes.receiver, ctx.channel.split().1)?;
    Ok(Some(Outcome::Matches(items.matches(matched.into_iter().map(|item| item as usize)))))
}

/// σ, or the bits of a hashed item: of the numbers that are returned.
fn returned_bits(sizes: Sizes, parameters: &Parameters) -> u32 {
    let hashed =
        MaskWidth::for_hashed_items(sizes, parameters.statistical).map_or(u128::BITS, MaskWidth::bits);
    parameters.sigma.unwrap_or(hashed)
}

#[cfg(test)]
mod tests;
