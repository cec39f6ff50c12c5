//! Bitwise AND over a small public domain. The receiver learns X ∩ Y, the sender |Y|; with `--learns both` both
//! learn X ∩ Y.
//!
//! **Security:** semi-honest, given OT, in the model of a random function that half gates need. Leaks n_r and
//! n_s, which the circuit itself hides. A set is a row of bits and may be any: a receiver whose row is all ones
//! learns X, row by row of 2^20 numbers, and may choose a later row by what it has learnt of earlier ones. So it
//! suits parties who trust each other to enter their true sets, or a run with `--audit-max`, which reveals no
//! intersection larger than was agreed ([`audit`]), and nothing before its last row.
//!
//! The variant `malicious-ot` ([`engines`]) keeps both parties' items private from a partner that cheats, but for a
//! receiver's choice of its row: it learns which numbers of that row the sender has, each 2^20 of them before it chooses
//! the next. A sender that cheats learns nothing, but what the receiver then takes for the result may be wrong. If the
//! receiver lets the sender know anything about the result, by its later conduct too, that may tell the sender about the
//! receiver's items.
//!
//! Source: HEK12 §3; the audit §6; the variant §2.
//!
//! ```text
//! receiver (Y ⊆ {0,1}^σ)                              sender (X ⊆ {0,1}^σ)
//! 1.              ◄─ base OTs ─►                      32 and 64·κ, unless kept
//!    for each batch of 2^20 numbers v:
//! 2. [v ∈ Y]      ── OT extension ──►                 κ/8 for each v
//!                 ◄── labels ──                       κ/8 for each v
//! 3.              ◄── gates [v ∈ X] ∧ [v ∈ Y] ──      κ/8 for each v
//!    with --audit-max N, after the last batch:
//! 4.              ◄── gates: |X ∩ Y| > N? ──          2·κ/8 a gate, at most 2^σ + σ gates
//!                 ◄── one bit each way ──►            1 and 1; if it is set, 5. opens zeros
//! 5. without it, in each batch:
//!                 ◄── permute bits ──                 2^σ/8 in all
//!    (both learn) ── bits of the labels ──►           2^σ/8
//! ```
//!
//! Deviations:
//!
//! - A gate is an AND with a bit that the garbler knows: one ciphertext and one hash for the evaluator, not a
//!   whole table (the half of Zahur, Rosulek, Evans 2014 that the garbler knows a bit of). The sender's bits
//!   need no labels.
//! - The audit counts by a tree of full adders, of about one gate a number ([`counter`]); the variant
//!   `lazy-counter` counts as the paper does, with about σ gates a number.
//! - The 2^σ numbers go through the circuit in batches of 2^20, each with OTs of its own, so that memory stays
//!   bounded. Up to σ = 20 there is one batch.
//!
//! Names: [`mod@bitwise_and`] is the circuit, [`counter`] and [`audit`] the audit's.
//!
//! Cost: 2^σ OTs and 2^σ gates, whatever the sets; σ ≤ 24.
//!
//! [`counter`]: vesica_circuit::gadgets::counter

use std::convert::identity;

use vesica_circuit::circuits::bitwise_and::{self, bitwise_and};
use vesica_circuit::{Bits, Engine, Input, Wires};
use vesica_encode::items::Items;

use super::engines::{self, BASE_MESSAGES, choice_bytes, evaluate, label_bytes};
use super::{Circuit, audit, receiver_result};
use crate::entry::{Entry, Gates, Memory, Message, Roles, Shape};
use crate::error::Error;
use crate::outcome::{Outcome, Pending};
use crate::parameters::Variant;
use crate::protocol::{Ctx, Learns, Role, Run};

/// The formula of the gates.
const GATES: &str = "2^σ with a bit of the sender; [audit-max]: 2^σ - 1 + (at most σ) more \
    (lazy-counter: (σ - 1)·2^σ + 1 + (at most σ))";

/// The registry's entry.
pub static ENTRY: Entry =
    engines::entry("bwa", "garbled circuit: bitwise AND over a small domain", Roles::Whole { receive, send })
        .paper("HEK12 §3, §6")
        .native_only(1, 24)
        .audited()
        .variants(VARIANTS)
        .receiver_only(&[engines::MALICIOUS_OT])
        .gates(GATES, gates)
        .messages(&[
            BASE_MESSAGES[0],
            BASE_MESSAGES[1],
            Message::of_receiver(
                "OT extension, a row for each number of the domain",
                "κ·16·⌈2^σ/128⌉",
                |shape| choice_bytes(shape, domain(shape)),
            ),
            Message::of_receiver(
                "the same, with a check, and its set-up (malicious-ot)",
                "6144 + 512·⌈2^σ/128⌉, and 560 for each started 127·128 of each 2^15 rows",
                |shape| engines::checked_choice_bytes(shape, domain(shape)),
            ),
            Message::of_sender("labels of the receiver's bits", "2^σ·κ/8", |shape| {
                label_bytes(shape, domain(shape))
            }),
            Message::of_sender(
                "garbled gates, and permute bits of the result",
                "2^σ·κ/8 + ⌈2^σ/8⌉, and 2·κ/8 for each gate of the audit and 1 for its bit",
                |shape| {
                    engines::gate_bytes(shape, gates(shape))
                        + domain(shape).div_ceil(8)
                        + audit::opened(shape)
                },
            ),
            Message::of_receiver(
                "the audit's bit, and with [learns both] bits of the result",
                "⌈2^σ/8⌉ ([learns both]) + 1 ([audit-max])",
                |shape| engines::returned_bytes(shape, domain(shape)) + audit::opened(shape),
            ),
        ])
        .memory("2^σ/4 + 2^27 each ([audit-max]: 64·2^σ more, 128·2^σ above level 128)", |shape| {
            let labels = if shape.parameters.level > 128 { 128 } else { 64 };
            let counted = audit::opened(shape) * labels * domain(shape);
            let each = domain(shape) / 4 + (1 << 27) + counted;
            Memory { receiver: each, sender: each }
        });

/// The counters of the audit, and the OTs against malicious parties.
const VARIANTS: &[Variant] = &[audit::VARIANTS[0], engines::MALICIOUS_OT];

/// 2^σ; 0 without σ, which no run of this entry is.
fn domain(shape: &Shape) -> u64 {
    shape.parameters.sigma.map_or(0, |sigma| 1 << sigma)
}

fn gates(shape: &Shape) -> Gates {
    let domain = domain(shape);
    Gates { ands: audit::ands(shape, domain), private_ands: bitwise_and::ands(domain), depth: None }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let both = intersect(ctx, Role::Receiver, items)?;
    // Where both learn the result, it has been opened to both.
    receiver_result(ctx.run, items, move || matched(items, &both), |_| Ok(()), identity)
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let learns = ctx.run.learns;
    let both = intersect(ctx, Role::Sender, items)?;
    let matches = || items.matches(matched(items, &both).into_iter().map(|item| item as usize));
    Ok((learns == Learns::Both).then(|| Outcome::Matches(matches())))
}

/// A bit for each number of the domain, whether it is in both sets; no bit for a party that does not learn it.
fn intersect(ctx: &mut Ctx<'_, '_>, role: Role, items: &Items) -> Result<Bits, Error> {
    let run = ctx.run;
    let shape = Shape { parameters: run.parameters, learns: run.learns, ..Shape::new(run.sizes) };
    let (Gates { ands, private_ands, .. }, domain) = (gates(&shape), domain(&shape) as usize);
    let circuit = Intersection { run, role, mine: [set(items, domain)] };
    let rows = evaluate(ctx, role, ands + private_ands, circuit)?;
    Ok(if rows.is_empty() { Bits::repeat(false, 0) } else { Bits::join(&rows.iter().collect::<Vec<_>>()) })
}

/// A bit for each number of the domain: whether it is one of the items.
fn set(items: &Items, domain: usize) -> Bits {
    let mut words = vec![0; domain.div_ceil(64)];
    for number in (0..items.len()).filter_map(|item| items.native(item)) {
        words[number as usize / 64] |= 1 << (number % 64);
    }
    Bits::from_words(words, domain)
}

/// The items whose number is in `both`.
fn matched(items: &Items, both: &Bits) -> Vec<u32> {
    let is_in = |item: &u32| items.native(*item as usize).is_some_and(|number| both.get(number as usize));
    (0..items.len() as u32).filter(is_in).collect()
}

/// The circuit: a bit for each number, batch by batch, to a party that learns it.
struct Intersection<'r, 'a> {
    run: &'r Run<'a>,
    role: Role,
    mine: [Bits; 1],
}

impl Circuit for Intersection<'_, '_> {
    type Output = Vec<Bits>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error> {
        let Intersection { run, role, mine } = self;
        let [known, hidden] =
            [Input::Known(&mine), Input::Hidden { rows: 1, len: Input::Known(&mine).row_len() }];
        let (receiver, sender) = match role {
            Role::Receiver => (known, hidden),
            Role::Sender => (hidden, known),
        };
        let (opening, audited) = (audit::opening(run.learns), audit::counts(run));
        let (mut kept, mut opened) = (Vec::new(), Vec::new());
        bitwise_and(engine, receiver, sender, |engine, matches| {
            if audited {
                kept.push(matches);
            } else {
                opened.extend(engine.open(opening, &[matches])?.into_iter().flatten());
            }
            Ok(())
        })?;
        if audited {
            let result = audit::open(run, engine, &kept.iter().collect::<Vec<_>>(), opening, &kept)?;
            opened.extend(result.into_iter().flatten());
        }
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::testing::{Case, duel, planted_for};

    /// The declared size, 5, is within the limit, so that it alone would need no audit.
    #[test]
    fn flaw_a_receiver_that_enters_the_whole_domain_is_refused() {
        for learns in [Learns::Receiver, Learns::Both] {
            let parameters = Parameters { sigma: Some(8), audit_max: Some(10), ..Parameters::default() };
            let sets = planted_for(&parameters, 5, 60, 2, 1);
            let case = Case { parameters, learns, ..Case::default() };
            let (receiver, sender) = duel(
                (&ENTRY, &sets, case),
                Box::new(|ctx| {
                    let (run, role) = (ctx.run, Role::Receiver);
                    let all = Intersection { run, role, mine: [Bits::repeat(true, 1 << 8)] };
                    let ended = evaluate(ctx, role, gates(&Shape::of(run)).all(), all);
                    // It does not run away: the sender ends by what the audit says.
                    Ok(ended)
                }),
                Box::new(|ctx| Ok(send(ctx, &sets.sender))),
            );
            assert_eq!(sender.unwrap(), Err(Error::AuditRefused { most: 10 }));
            assert_eq!(receiver.unwrap(), Err(Error::AuditRefused { most: 10 }));
        }
    }
}
