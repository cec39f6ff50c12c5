//! What a run costs: its messages, gates, flights and memory.

use vesica_circuit::Party;
use vesica_circuit::gmw;
use vesica_crypto::block::Block;
use vesica_ot::vole;

use super::super::gmw::ots::{self, Source};
use super::super::{audit, returned};
use super::{Plan, returned_bits, source};
use crate::entry::{Gates, Memory, Message, Shape};
use crate::parameters::{Parameters, Profile, Security};
use crate::protocol::Role;
use crate::results::ResultKind;

/// Bytes of the OTs.
const OTS: &str = "silent: about g/13 (SoftSpoken: 31·16·⌈g/128⌉; IKNP: 128·16·⌈g/128⌉)";

/// The messages of a run.
pub(super) const MESSAGES: &[Message] = &[
    Message::of_sender("OPRF: base OTs, whose choices are the bits of Δ", "8192", |shape| {
        with_plan(shape, |_| vole::Plan::flight1_bytes(shape.parameters.base_ots) as u64)
    }),
    Message::of_receiver("OPRF: base OT and small-field trees of the VOLE", "32 + 4096", |shape| {
        with_plan(shape, |_| {
            vole::Plan::beginning_bytes(shape.parameters.base_ots, Security::SemiHonest) as u64
        })
    }),
    Message::of_receiver("OPRF: corrections of the VOLE; seed of the store", "r(m) + 16", |shape| {
        let security = Security::SemiHonest;
        with_plan(shape, |plan| {
            let corrections = match plan.small {
                true => plan.oprf.rest_bytes::<u64>(security),
                false => plan.oprf.rest_bytes::<Block>(security),
            };
            (corrections + Block::BYTES) as u64
        })
    }),
    Message::of_sender("OPRF: correction words of the puncturable PRF", "s(m)", |shape| {
        with_plan(shape, |plan| plan.oprf.flight3_bytes() as u64)
    }),
    Message::of_receiver(
        "OPRF: A' = A + P, an element for each slot of the store",
        "m·(16, or 8 for small values)",
        |shape| with_plan(shape, |plan| plan.oprf.length() as u64 * if plan.small { 8 } else { 16 }),
    ),
    Message::of_sender(
        "OPPRF: the hint and its seed",
        "16 + ⌈m'·w/8⌉, and ⌈m'·k'/8⌉ for each sum",
        |shape| with_plan(shape, |plan| plan.programming.hint_bytes().unwrap_or(0)),
    ),
    Message::of_sender("OTs: base OTs, an element for each string", "64·128", |shape| {
        set_up(shape, |source| ots::base_bytes(shape, source, Role::Sender))
    }),
    Message::of_receiver("OTs: base OTs, the other side's element", "32", |shape| {
        set_up(shape, |source| ots::base_bytes(shape, source, Role::Receiver))
    }),
    Message::of_receiver(
        "OTs: trees of the extension; its first rows are the base OTs of the other direction",
        "4096 + 256 (SoftSpoken: 4096 + 512; IKNP: 2048)",
        |shape| set_up(shape, |source| ots::setup_bytes(shape, source, Role::Receiver)),
    ),
    Message::of_sender("OTs: trees of the other extension", "4096 (IKNP: none)", |shape| {
        set_up(shape, |source| ots::setup_bytes(shape, source, Role::Sender))
    }),
    Message::of_sender("GMW: seed of masks", "32", |shape| with_plan(shape, |_| gmw::setup_bytes())),
    Message::of_receiver("GMW: seed of masks", "32", |shape| with_plan(shape, |_| gmw::setup_bytes())),
    Message::of_sender("OTs, a row a gate", OTS, |shape| ot_bytes(shape, Role::Sender)),
    Message::of_receiver("OTs, a row a gate", OTS, |shape| ot_bytes(shape, Role::Receiver)),
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
    Message::of_sender("the audit ([audit-max])", "⌈g_i/4⌉ a layer, and 1", audit_bytes),
    Message::of_receiver("the audit ([audit-max])", "⌈g_i/4⌉ a layer, and 1", audit_bytes),
    Message::of_sender("its shares of the match bits", "⌈β/8⌉", |shape| {
        if shape.parameters.result != ResultKind::Rows {
            return 0;
        }
        with_plan(shape, |plan| plan.bins() as u64).div_ceil(8)
    }),
    Message::of_receiver("numbers of the matches ([learns both])", "4 + k·⌈σ'/8⌉", |shape| {
        if shape.parameters.result != ResultKind::Rows {
            return 0;
        }
        with_plan(shape, |_| 1) * returned::bytes(shape, returned_bits(shape.sizes, &shape.parameters))
    }),
    Message::of_sender("count, sums: silent OTs with its numbers, base OTs", "8192 a set-up", |shape| {
        product_bytes(shape, Role::Sender, 0)
    }),
    Message::of_receiver(
        "count, sums: silent OTs with the sender's numbers, as their receiver",
        "t_r",
        |shape| product_bytes(shape, Role::Sender, 1),
    ),
    Message::of_sender("count, sums: silent OTs with its numbers, correction words", "t_s", |shape| {
        product_bytes(shape, Role::Sender, 2)
    }),
    Message::of_receiver(
        "count, sums: its match bits, masked, for each of the sender's numbers",
        "⌈γ/8⌉, ⌈β/8⌉ for each sum",
        |shape| product_bytes(shape, Role::Sender, 3),
    ),
    Message::of_sender(
        "count, sums: its numbers, masked",
        "γ·⌈k/8⌉, β·⌈k'/8⌉ for each sum",
        |shape| product_bytes(shape, Role::Sender, 4),
    ),
    Message::of_receiver("sums: silent OTs with its numbers, base OTs", "8192 a set-up", |shape| {
        product_bytes(shape, Role::Receiver, 0)
    }),
    Message::of_sender("sums: silent OTs with the receiver's numbers, as their receiver", "t_r", |shape| {
        product_bytes(shape, Role::Receiver, 1)
    }),
    Message::of_receiver("sums: silent OTs with its numbers, correction words", "t_s", |shape| {
        product_bytes(shape, Role::Receiver, 2)
    }),
    Message::of_sender(
        "sums: its match bits, masked, for each of the receiver's numbers",
        "⌈β/8⌉ for each sum",
        |shape| product_bytes(shape, Role::Receiver, 3),
    ),
    Message::of_receiver("sums: its numbers, masked", "β·⌈k'/8⌉ for each sum", |shape| {
        product_bytes(shape, Role::Receiver, 4)
    }),
    Message::of_sender("count, minimum, threshold: gates", "⌈g_i/4⌉ a layer, and its bits", decision_bytes),
    Message::of_receiver("count, minimum, threshold: gates", "⌈g_i/4⌉ a layer, and its bits", decision_bytes),
    Message::of_sender(
        "its share of each number of the result",
        "⌈k/8⌉, ⌈k'/8⌉ for each sum",
        |shape| opened_bytes(shape, Role::Sender),
    ),
    Message::of_receiver("its share of each number of the result ([learns both])", "the same", |shape| {
        opened_bytes(shape, Role::Receiver)
    }),
];

/// A formula of a run of this shape; 0 of sizes that are refused.
pub(super) fn with_plan<T: Default>(shape: &Shape, formula: impl Fn(&Plan) -> T) -> T {
    Plan::new(shape).map_or_else(|_| T::default(), |plan| formula(&plan))
}

/// A message of the set-up of OTs; 0 of sizes that are refused.
fn set_up(shape: &Shape, bytes: impl Fn(Source) -> u64) -> u64 {
    with_plan(shape, |_| bytes(source(&shape.parameters)))
}

/// What a party sends for its triples.
fn ot_bytes(shape: &Shape, from: Role) -> u64 {
    let of = |plan: &Plan| {
        ots::extension_bytes(shape, source(&shape.parameters), from, &plan.cost(shape).demand())
    };
    with_plan(shape, of)
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

/// What follows the comparisons in the circuit.
fn after_comparisons(shape: &Shape) -> u64 {
    let comparisons: u64 = (0..LAYERS).map(|layer| layer_bytes(shape, layer)).sum();
    with_plan(shape, |plan| {
        plan.cost(shape).sent[Party::Receiver as usize].saturating_sub(gmw::setup_bytes() + comparisons)
    })
}

/// What the audit adds.
fn audit_bytes(shape: &Shape) -> u64 {
    if shape.parameters.result == ResultKind::Rows { after_comparisons(shape) } else { 0 }
}

/// What the decisions about a number take.
fn decision_bytes(shape: &Shape) -> u64 {
    if shape.parameters.result == ResultKind::Rows { 0 } else { after_comparisons(shape) }
}

/// A part of what the products with a party's numbers take.
fn product_bytes(shape: &Shape, owner: Role, part: usize) -> u64 {
    with_plan(shape, |plan| plan.aggregate.map_or(0, |aggregate| aggregate.product_bytes(owner)[part]))
}

/// What a party sends to open numbers.
fn opened_bytes(shape: &Shape, from: Role) -> u64 {
    with_plan(shape, |plan| plan.aggregate.map_or(0, |aggregate| aggregate.opened_bytes(from)))
}

/// Gates of a run.
pub(super) fn gates(shape: &Shape) -> Gates {
    with_plan(shape, |plan| {
        let count = plan.cost(shape).count;
        Gates { ands: count.ands, private_ands: 0, depth: Some(count.depth) }
    })
}

/// The OPRF up to the hint, in the place of the masks of `vole`; triples; layers, whose messages cross; the
/// audit's bit and the result, or what numbers take.
pub(super) fn flights(shape: &Shape) -> u32 {
    let Parameters { profile, .. } = shape.parameters;
    with_plan(shape, |plan| {
        let oprf = if plan.oprf.flight3_bytes() > 0 && profile == Profile::Conservative { 5 } else { 3 };
        let cost = plan.cost(shape);
        let layers = cost.count.layers as u32 + audit::opened(shape) as u32;
        let before = oprf + ots::flights(shape, source(&shape.parameters), &cost.demand()) + layers;
        match plan.aggregate {
            None => before + 1,
            Some(aggregate) => before + aggregate.flights(),
        }
    })
}

/// Bytes that a run adds to the items at its peak.
pub(super) fn memory(shape: &Shape) -> Memory {
    let Parameters { profile, .. } = shape.parameters;
    let of = |plan: &Plan| ots::memory(source(&shape.parameters), &plan.cost(shape).demand(), profile);
    let more = with_plan(shape, of) + 90_000_000;
    let (receiver, sender) = (shape.receiver(), shape.sender());
    // c: the values of items and bins, and once those of points. Products take silent OTs of their own, all at once.
    let sums = with_plan(shape, |plan| plan.aggregate.map_or(0, |aggregate| aggregate.sums() as u64));
    let products = with_plan(shape, |plan| plan.aggregate.map_or(0, |aggregate| aggregate.memory()));
    let more = more.max(products + 90_000_000);
    Memory {
        receiver: (220 + 40 * sums) * receiver + 60 * sender + more,
        sender: (60 + 20 * sums) * receiver + (250 + 60 * sums.min(1)) * sender + more,
    }
}
