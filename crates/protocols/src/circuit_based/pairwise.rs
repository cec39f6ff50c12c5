//! Pairwise comparison: every item of the receiver against every item of the sender. The receiver learns X ∩ Y,
//! the sender |Y|; with `--learns both` both learn X ∩ Y.
//!
//! **Security:** semi-honest, given OT, in the model of a random function that half gates need. Leaks n_r and
//! n_s. With digests, two different items of the two parties are hashed to one number with probability at most
//! 2^-40 in the whole run.
//!
//! The variant `malicious-ot` ([`engines`]) keeps both parties' items private from a partner that cheats. A receiver
//! that cheats learns which of n_r numbers of its choice the sender has, as with items of its own; a sender that cheats
//! learns nothing, but what the receiver then takes for the result may be wrong. If the receiver lets the sender know
//! anything about the result, by its later conduct too, that may tell the sender about the receiver's items.
//!
//! Source: HEK12 §4; §2 for the variant.
//!
//! ```text
//! receiver (Y)                                        sender (X)
//! 1.               ◄─ base OTs ─►                     32 and 64·κ, unless kept
//! 2. its bits      ── OT extension ──►                κ/8 for each of n_r·σ bits
//!                  ◄── their labels ──                n_r·σ·κ/8; the sender's bits need no message
//! 3.               ◄── gates x = y, all pairs ──      n_r·n_s·(σ - 1)·2·κ/8
//!                  ◄── permute bits, ⊕_x [x = y] ──   ⌈n_r/8⌉
//!    --learns both: 3. in batches, each of which ends with
//!                  ◄── permute bits of all pairs ──   ⌈pairs/8⌉
//!                  ── the pairs that match ──►        ⌈pairs/8⌉
//! ```
//!
//! Items of a set differ, so at most one comparison of an item holds: the sum of an item's comparisons is
//! whether it matches, and only that sum is opened.
//!
//! **Early reveal** (Algorithm 1; `early.rs`): where both parties learn the intersection anyway, each match is
//! revealed as soon as it is found, and matched items are not compared again. This tells *both* sides who
//! matched, so that a run in which the receiver alone learns the result makes every comparison. Both sides
//! shuffle first: the positions of the matches, which the order of the reveals shows, then say nothing.
//!
//! Deviations:
//!
//! - σ-bit items are native integers, or hashes of ℓ = 40 + ⌈log2 n_r⌉ + ⌈log2 n_s⌉ bits under the context of the
//!   run (`inputs.rs`). The paper takes integers.
//! - The paper's second thread tells the first one which comparisons to skip as soon as it knows. Two programs
//!   whose threads race would not send the same bytes twice. Here a batch's matches are skipped from the batch
//!   on that comes `early::LAG` after the next one: the garbler is as far ahead of the evaluator, and
//!   both know from the counts alone which gates come.
//! - The pairs are compared along diagonals of the table of all pairs, not row by row. An item is then compared
//!   once in each diagonal, so that a match spares comparisons of both items from the next diagonal on. Row by
//!   row, a row would have to be many batches. For n items a side and n̂ matches this takes about
//!   n²·(1 - f + f²/3) comparisons, f = n̂/n, where the paper estimates n²·(1 - f + f²/4) and n².
//!
//! Names: [`mod@pairwise`] is the circuit; its closed formula is [`ands`](pairwise::ands).
//!
//! Cost: n_r·σ OTs and n_r·n_s·(σ - 1) AND gates; at most as many with early reveal.

mod early;

use std::convert::identity;

use vesica_circuit::bits::rows;
use vesica_circuit::circuits::pairwise::{self, pairwise};
use vesica_circuit::{Bits, Engine};
use vesica_encode::items::Items;

use super::engines::{self, BASE_MESSAGES, base_bytes, choice_bytes, evaluate, gate_bytes, label_bytes};
use super::inputs::{numbers_of, sigma};
use super::{Circuit, audit, both_inputs, receiver_result};
use crate::entry::{Entry, Gates, Memory, Message, Roles, Shape};
use crate::error::{Error, Misuse};
use crate::outcome::{Outcome, Pending};
use crate::protocol::{Ctx, Learns, Role, Run, Sizes};

/// The registry's entry.
pub static ENTRY: Entry =
    engines::entry("pwc", "garbled circuit: pairwise comparison", Roles::Whole { receive, send })
        .paper("HEK12 §4")
        .sigma(1, 64)
        .variants(&[engines::MALICIOUS_OT])
        .receiver_only(&[engines::MALICIOUS_OT])
        .gates("n_r·n_s·(w - 1); at most as many with [learns both]", gates)
        .at_most(|shape| shape.learns == Learns::Both)
        .messages(&[
            Message {
                bytes: |shape| pairs(shape.sizes).map_or(0, |_| base_bytes(shape, 0)),
                ..BASE_MESSAGES[0]
            },
            Message {
                bytes: |shape| pairs(shape.sizes).map_or(0, |_| base_bytes(shape, 1)),
                ..BASE_MESSAGES[1]
            },
            Message::of_receiver("OT extension, a row for each bit", "κ·16·⌈n_r·w/128⌉", |shape| {
                choice_bytes(shape, bits(shape))
            }),
            Message::of_receiver(
                "the same, with a check, and its set-up (malicious-ot)",
                "6144 + 512·⌈n_r·w/128⌉, and 560 for each started 127·128 of each 2^15 rows",
                |shape| engines::checked_choice_bytes(shape, bits(shape)),
            ),
            Message::of_sender("labels of the receiver's bits", "n_r·w·κ/8", |shape| {
                label_bytes(shape, bits(shape))
            }),
            Message::of_sender(
                "garbled gates, and permute bits of the result",
                "n_r·n_s·(w - 1)·2·κ/8 + ⌈n_r/8⌉ ([learns both]: at most; + ⌈n_r·n_s/8⌉ in place of ⌈n_r/8⌉)",
                |shape| {
                    let opened = match shape.learns {
                        Learns::Receiver => pairs(shape.sizes).map_or(0, |_| shape.receiver().div_ceil(8)),
                        Learns::Both => revealed_bytes(shape),
                    };
                    gate_bytes(shape, gates(shape)) + opened
                },
            ),
            Message::of_receiver(
                "the pairs that match, batch by batch ([learns both])",
                "⌈n_r·n_s/8⌉, at most, and up to 1 for each of 128 batches, or of 2^18 pairs",
                |shape| match shape.learns {
                    Learns::Receiver => 0,
                    Learns::Both => revealed_bytes(shape),
                },
            ),
        ])
        .memory("48·w·(n_r + n_s) + 2^25 each, twice the labels above level 128", |shape| {
            let labels = if shape.parameters.level > 128 { 96 } else { 48 };
            let each = labels
                * u64::from(sigma(shape.sizes, &shape.parameters))
                * (shape.receiver() + shape.sender())
                + (1 << 25);
            Memory { receiver: each, sender: each }
        })
        .test_items(64);

/// Pairs of a run at most: their gates would take days.
const MOST_PAIRS: u64 = 1 << 36;

/// n_r·n_s; none if that is too many.
fn pairs(sizes: Sizes) -> Option<u64> {
    let pairs = (sizes.receiver as u64).checked_mul(sizes.sender as u64);
    pairs.filter(|pairs| *pairs <= MOST_PAIRS)
}

/// Refuses sizes with too many pairs.
fn check(sizes: Sizes) -> Result<(), Error> {
    let Sizes { receiver, sender } = sizes;
    pairs(sizes).map(|_| ()).ok_or(Misuse::TooManyItems { receiver, sender }.into())
}

/// Bits of the receiver's items; 0 for sizes that are refused.
fn bits(shape: &Shape) -> u64 {
    pairs(shape.sizes).map_or(0, |_| shape.receiver() * u64::from(sigma(shape.sizes, &shape.parameters)))
}

fn revealed_bytes(shape: &Shape) -> u64 {
    pairs(shape.sizes).map_or(0, |_| early::revealed_bytes(shape.sizes))
}

fn gates(shape: &Shape) -> Gates {
    let sigma = u64::from(sigma(shape.sizes, &shape.parameters));
    let ands = pairs(shape.sizes).map_or(0, |_| pairwise::ands(shape.receiver(), shape.sender(), sigma));
    Gates { ands, ..Gates::default() }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    if ctx.run.learns == Learns::Both {
        let matched = early::matched(ctx, Role::Receiver, items)?;
        return Ok(Pending::of_items(items, move || matched));
    }
    let rows = all_pairs(ctx, Role::Receiver, items)?;
    let find = move || -> Vec<u32> {
        let is_in = |item: &u32| rows.iter().flatten().any(|row| row.get(*item as usize));
        (0..items.len() as u32).filter(is_in).collect()
    };
    receiver_result(ctx.run, items, find, |_| Ok(()), identity)
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    match ctx.run.learns {
        Learns::Receiver => all_pairs(ctx, Role::Sender, items).map(|_| None),
        Learns::Both => {
            let matched = early::matched(ctx, Role::Sender, items)?.into_iter();
            Ok(Some(Outcome::Matches(items.matches(matched.map(|item| item as usize)))))
        }
    }
}

/// Compares all pairs. A bit for each item of the receiver, whether it is in both sets; nothing for the sender.
fn all_pairs(ctx: &mut Ctx<'_, '_>, role: Role, items: &Items) -> Result<Option<Vec<Bits>>, Error> {
    let run = ctx.run;
    check(run.sizes)?;
    let (numbers, sigma) = numbers_of(run, items)?;
    let circuit = AllPairs { run, role, mine: rows(&numbers, sigma as usize) };
    evaluate(ctx, role, total(run), circuit)
}

/// Gates of a run without skipped comparisons.
fn total(run: &Run<'_>) -> u64 {
    gates(&Shape { parameters: run.parameters, ..Shape::new(run.sizes) }).ands
}

/// The circuit in which every comparison is made.
struct AllPairs<'r, 'a> {
    run: &'r Run<'a>,
    role: Role,
    mine: Vec<Bits>,
}

impl Circuit for AllPairs<'_, '_> {
    type Output = Option<Vec<Bits>>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error> {
        let AllPairs { run, role, mine } = self;
        let [receiver, sender] = both_inputs(engine, role, &mine, run.sizes.of(role.other()))?;
        let matches = pairwise(engine, &receiver, &sender)?;
        Ok(engine.open(audit::opening(Learns::Receiver), &[matches.receiver])?)
    }
}
