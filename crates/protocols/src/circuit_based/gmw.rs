//! GMW at the level of a run: both parties compute on shares, and a layer of gates is a message each way.
//!
//! ```text
//! receiver                                           sender
//!              ◄─ base OTs, set-up ─►                ([`ots`])
//! masks' seed  ──►                              ◄──  masks' seed, 32 bytes
//!              ◄─ OT extensions ─►                   a row an OT of a bit or a string, each way
//!              ◄─ layers of gates ─►                 2 bits an AND; w + 1 bits a selection among w
//!              ◄── shares of the result ──
//! ```
//!
//! How many OTs a circuit takes is counted before ([`Cost`]), so that they are made in batches ahead of their use.

pub mod ots;

use vesica_circuit::gmw::{Correlations, Cost, Gmw, RandomOts};
use vesica_circuit::{Bits, Engine};
use vesica_crypto::device::Device;
use vesica_crypto::hash::Context;
use vesica_ot::base::cache::LEAST_LEVEL;
use vesica_ot::vole::WIDTH;
use vesica_ot::{CotReceiver, CotSender};

use super::{Circuit, party};
use crate::attached::Attached;
use crate::entry::{Entry, Gates, Message, Roles, Shape};
use crate::error::Error;
use crate::parameters::{Parameters, Variant, variants};
use crate::protocol::{Ctx, NoProgress, Phase, Role, Run};
use ots::{Iknp, Source};

variants! {
    /// Where the OTs come from, and of what they are.
    pub(super) enum Form {
        /// SoftSpoken; IKNP above level 128.
        Standard,
        /// IKNP.
        Iknp = "iknp", "OTs of IKNP, as in the papers: κ bits each";
        /// Silent OT.
        Silent = "silent", "silent OTs: about 2/3 of a bit each, three times the time";
        /// IKNP, and no OT of strings.
        SingleBits = "single-bits", "OTs of IKNP, of single bits in selections too: PSZ14's \"Circuit + GMW\"";
    }
}

/// The forms of a circuit without selections.
const SOURCES: &[Variant] = Form::VARIANTS.split_at(2).0;

/// The levels κ.
const LEVELS: &[u32] = &[80, 128, 192, 256];

/// The source of a run of an entry over GMW.
pub fn source(parameters: &Parameters) -> Source {
    match Form::of(parameters) {
        _ if parameters.level > LEAST_LEVEL => Source::Iknp,
        Form::Standard => Source::SoftSpoken,
        Form::Iknp | Form::SingleBits => Source::Iknp,
        Form::Silent => Source::Silent,
    }
}

/// What GMW is to the circuits that run on it.
pub type Shares<'a> = dyn Engine<Wires = Bits> + 'a;

/// What is computed on the shares of wires that GMW has: a circuit, or one that goes on with the shares.
pub trait OnShares {
    /// What a party has of it.
    type Output;

    /// Computes it.
    ///
    /// # Errors
    /// As [`Circuit::run`].
    fn run(self, engine: &mut Shares<'_>) -> Result<Self::Output, Error>;
}

impl<T: Circuit> OnShares for T {
    type Output = T::Output;

    fn run(self, mut engine: &mut Shares<'_>) -> Result<Self::Output, Error> {
        Circuit::run(self, &mut engine)
    }
}

/// Runs a circuit of this cost over OTs of the run's variant, with base OTs that may be kept.
///
/// # Errors
/// If the connection fails, the partner's bytes are not those of the protocol, the run was cancelled, or the
/// audit refuses.
pub fn evaluate<C: Circuit>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    cost: &Cost,
    circuit: C,
) -> Result<C::Output, Error> {
    let source = source(&ctx.run.parameters);
    evaluate_over(source, true, ctx, role, cost, circuit)
}

/// Runs a circuit of this cost over OTs of this source. Base OTs come from the run's cache if it `keeps` them.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_over<C: OnShares>(
    source: Source,
    keeps: bool,
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    cost: &Cost,
    circuit: C,
) -> Result<C::Output, Error> {
    let iknp = Iknp { level: ctx.run.parameters.level, threads: ctx.run.threads };
    match source {
        Source::SoftSpoken => {
            let both = ots::both(&ots::SPOKEN, ctx, role, keeps)?;
            over_ots::<_, _, _, 1>(ctx, role, both, cost, circuit)
        }
        Source::Silent => {
            let both = ots::both(&WIDTH, ctx, role, keeps)?;
            let both = ots::silent(ctx, role, &cost.demand(), both);
            over_ots::<_, _, _, 1>(ctx, role, both, cost, circuit)
        }
        Source::Iknp if iknp.level <= 128 => {
            let both = ots::both::<1, _>(&iknp, ctx, role, keeps)?;
            over_ots(ctx, role, both, cost, circuit)
        }
        Source::Iknp => {
            let both = ots::both::<2, _>(&iknp, ctx, role, keeps)?;
            over_ots(ctx, role, both, cost, circuit)
        }
    }
}

/// Runs a circuit over correlated OTs that have been set up.
fn over_ots<C: OnShares, S: CotSender<W>, R: CotReceiver<W>, const W: usize>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    (send, receive): (S, R),
    cost: &Cost,
    circuit: C,
) -> Result<C::Output, Error> {
    let run = ctx.run;
    let ots = RandomOts::new(&run.context, party(role), send, receive, cost.demand());
    with(ctx, role, &mut ots.with_threads(run.threads), cost.count.ands + cost.count.private_ands, circuit)
}

/// Runs a circuit of so many gates with triples from anywhere.
///
/// # Errors
/// As [`evaluate`].
pub fn with<C: OnShares>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    correlations: &mut dyn Correlations,
    gates: u64,
    circuit: C,
) -> Result<C::Output, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let mut watch = |gates: u64| run.advance(gates as usize).map_err(|_| vesica_circuit::Error::Cancelled);
    run.phase(Phase::EvaluateCircuit, gates as usize);
    circuit.run(&mut Gmw::new(party(role), correlations, channel, &mut watch, rng)?)
}

/// What the entries over GMW have in common.
pub const fn entry(name: &'static str, title: &'static str, roles: Roles) -> Entry {
    Entry::new(name, title, roles)
        .family("circuit_based")
        .levels(LEVELS)
        .variants(SOURCES)
        .base_ots(kept_base_ots)
        .learns_both()
        .steps(|role, _| match role {
            Role::Receiver => &[(Phase::BaseOts, 5), (Phase::EvaluateCircuit, 94), (Phase::Compare, 1)],
            Role::Sender => &[(Phase::BaseOts, 5), (Phase::EvaluateCircuit, 95)],
        })
}

/// The cost of a circuit of a run of this shape, which is given a run that only counts.
pub fn cost_of(shape: &Shape, circuit: impl FnOnce(&Run<'_>, &mut Cost) -> Result<(), Error>) -> Cost {
    let Shape { sizes, parameters, learns, .. } = *shape;
    let context = Context::new(&[0; 32], "cost", b"", 0, 0);
    let run = Run {
        context,
        sizes,
        parameters,
        learns,
        threads: 1,
        device: Device::default(),
        progress: &NoProgress,
        base_ots: None,
        attached: Attached::Nothing,
    };
    // Sizes that are refused cost nothing.
    Cost::of(|cost| circuit(&run, cost)).unwrap_or_default()
}

/// The gates of that circuit.
pub fn gates_of(cost: &Cost) -> Gates {
    let count = &cost.count;
    Gates { ands: count.ands, private_ands: count.private_ands, depth: Some(count.depth) }
}

/// The base OTs and what is made of them, the layers, the openings, and a batch of OTs of either kind.
pub fn flights_of(shape: &Shape, cost: &Cost) -> u32 {
    ots::flights(shape, source(&shape.parameters), &cost.demand()) + cost.count.layers as u32 + 1
}

/// How many base OTs there are that may be kept.
pub fn kept_base_ots(shape: &Shape) -> u64 {
    ots::kept_base_ots(shape, source(&shape.parameters))
}

/// Bytes of a message of the base OTs, of the set-up, and of the OTs.
pub fn base_bytes(shape: &Shape, from: Role) -> u64 {
    ots::base_bytes(shape, source(&shape.parameters), from)
}

/// Bytes of the set-up that a party sends.
pub fn setup_bytes(shape: &Shape, from: Role) -> u64 {
    ots::setup_bytes(shape, source(&shape.parameters), from)
}

/// The messages before the OTs. Their first Δ is the sender's.
pub const SETUP_MESSAGES: [Message; 4] = [
    Message::of_sender(
        "base OTs: an element for each string; not sent where they are kept",
        "64·128 (IKNP: 64·κ; 49·κ at level 192, 67·κ at 256)",
        |shape| base_bytes(shape, Role::Sender),
    ),
    Message::of_receiver(
        "base OTs: the other side's element; not sent where they are kept",
        "32 (98 at level 192, 134 at 256)",
        |shape| base_bytes(shape, Role::Receiver),
    ),
    Message::of_receiver(
        "trees of the extension; its first rows are the base OTs of the other direction",
        "4096 + 512 (IKNP: κ·16·⌈κ/128⌉; silent: 4096 + 256)",
        |shape| setup_bytes(shape, Role::Receiver),
    ),
    Message::of_sender("trees of the other extension", "4096 (IKNP: none)", |shape| {
        setup_bytes(shape, Role::Sender)
    }),
];

/// Bytes that a party sends for the OTs.
pub fn extension_bytes(shape: &Shape, from: Role, cost: &Cost) -> u64 {
    ots::extension_bytes(shape, source(&shape.parameters), from, &cost.demand())
}

/// Bytes of memory that the OTs take at their peak.
pub fn ot_memory(shape: &Shape, cost: &Cost) -> u64 {
    let Parameters { profile, .. } = shape.parameters;
    ots::memory(source(&shape.parameters), &cost.demand(), profile)
}

/// Bytes that a party sends for the seeds, the gates and the openings.
pub fn layer_bytes(role: Role, cost: &Cost) -> u64 {
    cost.sent[party(role) as usize]
}
