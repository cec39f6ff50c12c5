//! GMW at the level of a run: both parties compute on shares, and a layer of gates is a message each way.
//!
//! ```text
//! receiver                                           sender
//!              ◄─ base OTs, twice ─►                 32 and 64·κ bytes, each way
//! masks' seed  ──►                              ◄──  masks' seed, 32 bytes
//!              ◄─ OT extensions (IKNP) ─►            κ/8 an OT of a bit or a string, each way
//!              ◄─ layers of gates ─►                 2 bits an AND; w + 1 bits a selection among w
//!              ◄── shares of the result ──
//! ```
//!
//! The OTs are those of [`iknp`] at κ = 80, 128, 192 or 256, one extension each way. How many a circuit takes is
//! counted before ([`Cost`]), so that they are made in batches ahead of their use.

use vesica_circuit::gmw::{Correlations, Cost, Demand, Gmw, RandomOts};
use vesica_crypto::hash::{Context, Label};
use vesica_ot::iknp;

use super::{Circuit, party};
use crate::entry::{Entry, Gates, Roles, Shape};
use crate::error::Error;
use crate::protocol::{Ctx, NoProgress, Phase, Role, Run};

/// Whose hash the base OTs use: of the extension whose OTs the receiver sends, and of the other.
const BASE: [Label; 2] =
    [Label::new("gmw: base OTs, the receiver sends"), Label::new("gmw: base OTs, the sender sends")];

/// The levels κ.
const LEVELS: &[u32] = &[80, 128, 192, 256];

/// Runs a circuit of this cost over IKNP.
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
    let gates = cost.count.ands + cost.count.private_ands;
    match ctx.run.parameters.level {
        ..=128 => {
            let ots = random_ots::<1>(ctx, role, cost.demand())?;
            with(ctx, role, ots, gates, circuit)
        }
        _ => {
            let ots = random_ots::<2>(ctx, role, cost.demand())?;
            with(ctx, role, ots, gates, circuit)
        }
    }
}

/// Runs a circuit of so many gates with triples from anywhere.
///
/// # Errors
/// As [`evaluate`].
pub fn with<C: Circuit>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    correlations: impl Correlations,
    gates: u64,
    circuit: C,
) -> Result<C::Output, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let mut watch = |gates: u64| run.advance(gates as usize).map_err(|_| vesica_circuit::Error::Cancelled);
    run.phase(Phase::EvaluateCircuit, gates as usize);
    circuit.run(&mut Gmw::new(party(role), correlations, channel, &mut watch, rng)?)
}

/// Two extensions with rows of `W` blocks, one each way.
fn random_ots<const W: usize>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    demand: Demand,
) -> Result<RandomOts<iknp::Sender<W>, iknp::Receiver<W>, W>, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let (context, level) = (&run.context, run.parameters.level);
    run.phase(Phase::BaseOts, 0);
    let (send, receive) = match role {
        Role::Receiver => {
            let send = iknp::Sender::setup(context, BASE[0], level, None, channel, rng)?;
            (send, iknp::Receiver::setup(context, BASE[1], level, None, channel, rng)?)
        }
        Role::Sender => {
            let receive = iknp::Receiver::setup(context, BASE[0], level, None, channel, rng)?;
            (iknp::Sender::setup(context, BASE[1], level, None, channel, rng)?, receive)
        }
    };
    let (send, receive) = (send.with_threads(run.threads), receive.with_threads(run.threads));
    Ok(RandomOts::new(context, party(role), send, receive, demand).with_threads(run.threads))
}

/// What the entries over GMW have in common.
pub const fn entry(name: &'static str, title: &'static str, roles: Roles) -> Entry {
    Entry::new(name, title, roles)
        .family("circuit_based")
        .levels(LEVELS)
        .learns_both()
        .steps(|_, _| &[(Phase::BaseOts, 5), (Phase::EvaluateCircuit, 95)])
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
        progress: &NoProgress,
        base_ots: None,
        offline: None,
    };
    // Sizes that are refused cost nothing.
    Cost::of(|cost| circuit(&run, cost)).unwrap_or_default()
}

/// The gates of that circuit.
pub fn gates_of(cost: &Cost) -> Gates {
    let count = &cost.count;
    Gates { ands: count.ands, private_ands: count.private_ands, depth: Some(count.depth) }
}

/// The base OTs of both directions, the layers, the openings, and a batch of OTs of either kind.
pub fn flights_of(cost: &Cost) -> u32 {
    2 + 2 + cost.count.layers as u32 + 1
}

/// Bytes of the base OTs that each party sends.
pub fn base_bytes(shape: &Shape) -> u64 {
    iknp::setup_bytes(shape.parameters.level).iter().sum()
}

/// Bytes of the OT extension whose choices a party makes.
pub fn extension_bytes(shape: &Shape, role: Role, cost: &Cost) -> u64 {
    let rows = cost.demand().rows(party(role));
    rows.map(|rows| iknp::bytes(shape.parameters.level, rows as usize)).iter().sum()
}

/// Bytes that a party sends for the seeds, the gates and the openings.
pub fn layer_bytes(role: Role, cost: &Cost) -> u64 {
    cost.sent[party(role) as usize]
}
