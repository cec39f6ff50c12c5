//! Yao's protocol at the level of a run: the receiver evaluates what the sender garbles.
//!
//! ```text
//! receiver, evaluator                                sender, garbler
//!              ◄─ base OTs ─►                        32 and 64·κ bytes, unless kept
//! own bits     ── OT extension (IKNP) ──►            κ/8 for each bit of the receiver
//!              ◄── labels ──                         κ/8 for each of them
//!              ◄── gates, permute bits ──            2·κ/8 an AND, κ/8 one with a bit of the sender
//! ```
//!
//! The labels have κ bits, the level of the run: 80, 112, 128, 192 or 256 (HEK12 Table 3). The OTs are those of
//! [`iknp`], whose base OTs may be kept.
//!
//! **The variant [`malicious-ot`](MALICIOUS_OT)** has OTs that withstand malicious parties ([`softspoken`]), and opens
//! nothing to the sender: HEK12 §2's form for privacy without correctness, at level 128. [`yao`] says what it
//! guarantees. A protocol offers it where the circuit, on any bits of the receiver, gives no more than the protocol
//! may give. Sort-compare-shuffle does not: whether the merger finds a match in an unsorted list depends on the
//! sender's other items.

use vesica_circuit::{Engine, yao};
use vesica_crypto::hash::Label;
use vesica_ot::security::{Malicious, Security};
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_ot::{chosen, iknp, small_field};

use super::Circuit;
use crate::entry::{Entry, Gates, Message, Roles, Shape};
use crate::error::{Error, Misuse};
use crate::parameters::{Parameters, Variant};
use crate::protocol::{Ctx, Learns, Phase, Role};

/// The form whose OTs withstand malicious parties.
pub const MALICIOUS_OT: Variant = Variant {
    name: "malicious-ot",
    what: "OTs that withstand malicious parties, where the receiver alone learns the result: items stay private \
           from a partner that cheats, but the result may then be wrong",
};

/// The fields of its OTs.
const WIDTH: Width = Width::Four;

/// Whether a run has it.
fn withstands(parameters: &Parameters) -> bool {
    parameters.variant == Some(&MALICIOUS_OT)
}

/// Whose hash the base OTs use; one batch of them a run.
const BASE: Label = Label::new("circuit: base OTs");

/// The levels κ.
const LEVELS: &[u32] = &[80, 112, 128, 192, 256];

/// Runs a circuit of so many gates, which progress is told of.
///
/// # Errors
/// If the connection fails, the partner's bytes are not those of the protocol, the run was cancelled, or the
/// audit refuses.
pub fn evaluate<C: Circuit>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    gates: u64,
    circuit: C,
) -> Result<C::Output, Error> {
    match ctx.run.parameters.level {
        _ if withstands(&ctx.run.parameters) => over_malicious_ots(ctx, role, gates, circuit),
        ..=128 => with_labels::<C, 1>(ctx, role, gates, circuit),
        _ => with_labels::<C, 2>(ctx, role, gates, circuit),
    }
}

/// Runs a circuit with labels of `W` blocks.
fn with_labels<C: Circuit, const W: usize>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    gates: u64,
    circuit: C,
) -> Result<C::Output, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let (context, level, origin) = (&run.context, run.parameters.level, run.origin());
    let mut watch = |gates: u64| run.advance(gates as usize).map_err(|_| vesica_circuit::Error::Cancelled);
    run.phase(Phase::BaseOts, 0);
    match role {
        Role::Receiver => {
            let ot = iknp::Receiver::<W>::setup(context, BASE, level, origin, channel, rng)?;
            run.phase(Phase::EvaluateCircuit, gates as usize);
            let ot = ot.with_threads(run.threads);
            on_labels(circuit, &mut yao::Evaluator::new(context, level, ot, channel, &mut watch)?)
        }
        Role::Sender => {
            let ot = iknp::Sender::<W>::setup(context, BASE, level, origin, channel, rng)?;
            run.phase(Phase::Garble, gates as usize);
            let ot = ot.with_threads(run.threads);
            on_labels(circuit, &mut yao::Garbler::new(context, level, ot, channel, &mut watch, rng)?)
        }
    }
}

/// Runs a circuit over OTs that withstand malicious parties. A run whose result goes to the sender too is refused here: what
/// tells it need not be an opening of the engine's.
fn over_malicious_ots<C: Circuit>(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    gates: u64,
    circuit: C,
) -> Result<C::Output, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    if run.learns == Learns::Both {
        return Err(Misuse::ReceiverOnly.into());
    }
    let Parameters { level, base_ots, .. } = run.parameters;
    let context = &run.context;
    let mut watch = |gates: u64| run.advance(gates as usize).map_err(|_| vesica_circuit::Error::Cancelled);
    run.phase(Phase::BaseOts, 0);
    match role {
        Role::Receiver => {
            let ot = softspoken::Receiver::<Malicious>::setup(context, WIDTH, base_ots, channel, rng)?;
            run.phase(Phase::EvaluateCircuit, gates as usize);
            let engine = yao::Evaluator::<_, 1>::receiver_only(context, level, ot, channel, &mut watch);
            on_labels(circuit, &mut engine?)
        }
        Role::Sender => {
            let ot = softspoken::Sender::<Malicious>::setup(context, WIDTH, base_ots, channel, rng)?;
            run.phase(Phase::Garble, gates as usize);
            let engine = yao::Garbler::<_, 1>::receiver_only(context, level, ot, channel, &mut watch, rng);
            on_labels(circuit, &mut engine?)
        }
    }
}

/// Runs a circuit on an engine of either role, with any OTs; it is compiled once for all of them.
fn on_labels<C: Circuit, const W: usize>(
    circuit: C,
    mut engine: &mut dyn Engine<Wires = yao::Labels<W>>,
) -> Result<C::Output, Error> {
    circuit.run(&mut engine)
}

/// What the entries of the family have in common.
pub const fn entry(name: &'static str, title: &'static str, roles: Roles) -> Entry {
    Entry::new(name, title, roles)
        .family("circuit_based")
        .levels(LEVELS)
        .learns_both()
        .flights(flights)
        .base_ots(kept_base_ots)
        .steps(|role, _| match role {
            Role::Receiver => &[(Phase::BaseOts, 5), (Phase::EvaluateCircuit, 94), (Phase::Compare, 1)],
            Role::Sender => &[(Phase::BaseOts, 5), (Phase::Garble, 95)],
        })
}

/// The OTs' rows and the gates, which wait for each other, and the audit's bit both ways before the result;
/// before them the base OTs, one message of Masny and Rindal up to level 128, where the other one crosses it,
/// and two of Naor and Pinkas above.
pub fn flights(shape: &Shape) -> u32 {
    let base = match (shape.kept_base_ots, shape.parameters.level) {
        (true, _) => 0,
        (false, ..=128) => 1,
        (false, _) => 2,
    };
    base + 2 + 2 * super::audit::opened(shape) as u32
}

/// How many base OTs there are that may be kept.
pub fn kept_base_ots(shape: &Shape) -> u64 {
    let level = shape.parameters.level;
    if shape.parameters.may_keep_base_ots() && !withstands(&shape.parameters) { level.into() } else { 0 }
}

/// Bytes of a message of the base OTs, by who sends it: 0 the sender, 1 the receiver.
pub fn base_bytes(shape: &Shape, from: usize) -> u64 {
    let bytes = iknp::setup_bytes(shape.parameters.base_ots, shape.parameters.level)[from];
    if kept_base_ots(shape) > 0 { shape.unless_kept(bytes) } else { bytes }
}

/// The base OTs' messages. Their choice is Δ, so the sender of the protocol is their receiver.
pub const BASE_MESSAGES: [Message; 2] = [
    Message::of_sender(
        "base OTs: an element for each string; not sent where they are kept",
        "64·κ (49·κ at level 192, 67·κ at 256)",
        |shape| base_bytes(shape, 0),
    ),
    Message::of_receiver(
        "base OTs: the other side's element; not sent where they are kept",
        "32 (98 at level 192, 134 at 256)",
        |shape| base_bytes(shape, 1),
    ),
];

/// Bytes of the receiver's message for the OTs of so many of its bits, given to the engine in one call.
pub fn choice_bytes(shape: &Shape, bits: u64) -> u64 {
    if withstands(&shape.parameters) { 0 } else { iknp::bytes(shape.parameters.level, bits as usize) }
}

/// Bytes of the receiver's message for the OTs of so many of its bits with [`MALICIOUS_OT`], in a run's only call: with
/// the set-up.
pub fn checked_choice_bytes(shape: &Shape, bits: u64) -> u64 {
    if !withstands(&shape.parameters) {
        return 0;
    }
    let call = |bits| softspoken::bytes(WIDTH, Security::Malicious, bits, Choices::Chosen);
    let once = small_field::message_bytes(WIDTH, Security::Malicious);
    (once + chosen::calls(bits as usize).map(call).sum::<usize>()) as u64
}

/// Bytes of garbled gates.
pub fn gate_bytes(shape: &Shape, gates: Gates) -> u64 {
    let level = shape.parameters.level;
    gates.ands * yao::table_bytes(level) + gates.private_ands * yao::private_table_bytes(level)
}

/// Bytes that the receiver returns to open so many bits of the result; 0 where it learns them alone.
pub fn returned_bytes(shape: &Shape, bits: u64) -> u64 {
    yao::opening_bytes(super::audit::opening(shape.learns), bits)[0]
}

/// Bytes of the labels of so many bits of the receiver.
pub fn label_bytes(shape: &Shape, bits: u64) -> u64 {
    yao::evaluator_input_bytes(shape.parameters.level, bits)
}
