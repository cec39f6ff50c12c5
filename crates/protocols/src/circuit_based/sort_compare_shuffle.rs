//! Sort-compare-shuffle: a circuit merges both parties' sorted items, keeps those that stand twice, and hides
//! where they stood. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! HEK12 §5. What [`waksman`], [`sorting`] and [`homomorphic`] have in common; they differ in how the
//! positions are hidden.
//!
//! ```text
//! receiver (Y)                                     sender (X)
//! 1. sorts its numbers                             sorts its numbers
//! 2. the circuit, garbled by the sender and evaluated by the receiver:
//!       merge n_r + n_s numbers; in each of m = ⌊(n_r + n_s)/2⌋ slots the one that stands twice, or 0
//! 3. the slots are shuffled, sorted, or shared and shuffled under encryption
//! 4. --audit-max: are there more matches?          both learn that
//! 5.         ◄── what the slots hold ──
//!    output the items whose numbers they hold
//!    --learns both:     ── the matches' numbers, ascending ──►
//! ```
//!
//! **The item 0.** A slot without a match holds 0, so HEK12 forbids this item, or widens all items by a bit.
//! Here a hash that is 0 becomes 1. Native items keep their σ bits, and the item 0 has a wire of its own: it
//! is the smallest item, so a match of it stands in the first slot. That wire, σ AND gates in all, says
//! whether the first slot matches and holds 0.
//!
//! **Hashed items** have ℓ' = λ + ⌈log2 (n_r + n_s)·(n_r + n_s - 1)/2⌉ bits: two items of one party must not
//! look like a match either.

pub mod few_layers;
pub mod homomorphic;
pub mod sorting;
pub mod waksman;

use vesica_circuit::bits::rows;
use vesica_circuit::circuits::sort_compare_shuffle::{self as circuit, Selected};
use vesica_circuit::gadgets::{equality, greater_than};
use vesica_circuit::{Bits, Engine, Input, Wires, networks};
use vesica_encode::items::Items;

use super::engines::{self, BASE_MESSAGES, choice_bytes, gate_bytes, label_bytes};
use super::{audit, inputs, returned};
use crate::entry::{Entry, Gates, Memory, Message, Roles, Shape};
use crate::error::Error;
use crate::masks::MaskWidth;
use crate::outcome::{Outcome, Pending};
use crate::parameters::Parameters;
use crate::protocol::{Ctx, Learns, Role, Run, Sizes};

/// What the entries have in common.
const fn entry(name: &'static str, title: &'static str, roles: Roles) -> Entry {
    engines::entry(name, title, roles).sigma(1, 64)
}

/// The first messages of all of them.
const INPUT_MESSAGES: [Message; 4] = [
    BASE_MESSAGES[0],
    BASE_MESSAGES[1],
    Message::of_receiver(
        "OT extension, a row for each bit of the receiver",
        "κ·16·⌈n_r·w/128⌉",
        |shape| choice_bytes(shape, receiver_bits(shape)),
    ),
    Message::of_sender("labels of the receiver's bits", "n_r·w·κ/8", |shape| {
        label_bytes(shape, receiver_bits(shape))
    }),
];

/// The last.
const RETURNED: Message =
    Message::of_receiver("numbers of the matches ([learns both])", "4 + k·⌈w/8⌉", |shape| {
        returned::bytes(shape, bits(shape))
    });

/// All of a garbled circuit whose slots are opened, with those of its gates and slots as given.
const fn messages(formula: &'static str, bytes: fn(&Shape) -> u64) -> [Message; 7] {
    [
        INPUT_MESSAGES[0],
        INPUT_MESSAGES[1],
        INPUT_MESSAGES[2],
        INPUT_MESSAGES[3],
        Message::of_sender("garbled gates, and permute bits of the slots", formula, bytes),
        Message::of_receiver("the audit's bit", "1 ([audit-max])", audit::opened),
        RETURNED,
    ]
}

/// Bytes of the gates of such a circuit, of its slots and of the audit's bit.
fn garbled_bytes(shape: &Shape, gates: Gates) -> u64 {
    gate_bytes(shape, gates) + opened_bytes(shape) + audit::opened(shape)
}

/// The formula of its memory, and its program.
const MEMORY: &str = "24·w·(n_r + n_s) + 2^26 each (48·w above level 128)";

fn memory(shape: &Shape) -> Memory {
    let each = circuit_memory(shape);
    Memory { receiver: each, sender: each }
}

/// σ, of sizes that are not refused.
fn bits(shape: &Shape) -> u32 {
    sigma(shape.sizes, &shape.parameters).unwrap_or_default()
}

/// Bits that the receiver puts in.
fn receiver_bits(shape: &Shape) -> u64 {
    shape.receiver() * u64::from(bits(shape))
}

/// m.
fn slots_of(shape: &Shape) -> u64 {
    circuit::slots(shape.receiver(), shape.sender())
}

/// Wires that say whether both have the item 0.
fn zero_wires(shape: &Shape) -> u64 {
    u64::from(shape.parameters.sigma.is_some())
}

/// Bytes of the labels of the merger's list and of the slots, and what else there is.
fn circuit_memory(shape: &Shape) -> u64 {
    let label = if shape.parameters.level > 128 { 32 } else { 16 };
    let items = shape.receiver() + shape.sender();
    (label + label / 2) * u64::from(bits(shape)) * items + (1 << 26)
}

/// Bytes of the permute bits of slots, opened in one call with the wire of the item 0.
fn opened_bytes(shape: &Shape) -> u64 {
    (slots_of(shape) * u64::from(bits(shape)) + zero_wires(shape)).div_ceil(8)
}

/// σ: bits of the numbers that the circuit compares.
fn sigma(sizes: Sizes, parameters: &Parameters) -> Result<u32, Error> {
    match parameters.sigma {
        Some(sigma) => Ok(sigma),
        None => Ok(MaskWidth::for_all_items(sizes, parameters.statistical)?.bits()),
    }
}

/// A party's items as ascending numbers of σ bits.
struct Sorted {
    numbers: Vec<u128>,
    /// The item of each.
    items: Vec<u32>,
    sigma: u32,
}

impl Sorted {
    fn new(run: &Run<'_>, items: &Items) -> Result<Self, Error> {
        let (width, sigma) = (
            MaskWidth::for_all_items(run.sizes, run.parameters.statistical)?,
            sigma(run.sizes, &run.parameters)?,
        );
        let numbers = inputs::numbers(run, items, width);
        // Native numbers are their items' bytes, so they are sorted; and each of them may be 0.
        let native = run.parameters.sigma.is_some();
        let number = |number: u128| if native { number } else { number.max(1) };
        let mut sorted: Vec<(u128, u32)> = numbers.into_iter().map(number).zip(0..).collect();
        sorted.sort_unstable();
        let (numbers, items) = sorted.into_iter().unzip();
        Ok(Sorted { numbers, items, sigma })
    }

    /// The rows of their bits.
    fn rows(&self) -> Vec<Bits> {
        rows(&self.numbers, self.sigma as usize)
    }

    /// The items that have these numbers.
    fn items_with(&self, mut found: Vec<u128>) -> Vec<u32> {
        found.sort_unstable();
        let matched = self.numbers.iter().zip(&self.items);
        matched.filter(|(number, _)| found.binary_search(number).is_ok()).map(|(_, item)| *item).collect()
    }
}

/// The slots of a circuit, and the wire that says whether both have the item 0.
struct Slots<W> {
    /// The items that both have, and zeros.
    values: Vec<W>,
    /// A set wire for each match.
    matches: W,
    /// The wire of the item 0; with native items.
    zero: Option<W>,
}

/// 2. Merges and selects: the rows of this party's numbers are `mine`.
fn slots<E: Engine>(
    engine: &mut E,
    run: &Run<'_>,
    role: Role,
    mine: &[Bits],
) -> Result<Slots<E::Wires>, Error> {
    slots_by(engine, run, inputs_of(run, role, mine), greater_than::greater)
}

/// The numbers of both parties, of which one knows its own.
fn inputs_of<'a>(run: &Run<'_>, role: Role, mine: &'a [Bits]) -> [Input<'a>; 2] {
    let hidden = Input::Hidden { rows: mine.len(), len: run.sizes.of(role.other()) };
    match role {
        Role::Receiver => [Input::Known(mine), hidden],
        Role::Sender => [hidden, Input::Known(mine)],
    }
}

/// [`slots`] with a comparison of the caller's.
fn slots_by<E: Engine>(
    engine: &mut E,
    run: &Run<'_>,
    [receiver, sender]: [Input<'_>; 2],
    greater: greater_than::Greater<E>,
) -> Result<Slots<E::Wires>, Error> {
    let Selected { matches, values } = {
        let mut all = circuit::inputs(engine, receiver, sender)?;
        networks::merge(engine, &mut all, greater)?;
        circuit::select(engine, &all)?
    };
    let zero = match run.parameters.sigma {
        None => None,
        Some(_) => {
            let mut rows: Vec<_> = values.iter().map(|row| engine.not(&row.slice(0..1))).collect();
            rows.push(matches.slice(0..1));
            Some(equality::all(engine, rows)?)
        }
    };
    Ok(Slots { values, matches, zero })
}

/// The numbers in these opened slots, of whose rows that of the item 0 is the last, where numbers are native.
fn opened_numbers(native: bool, mut opened: Vec<Bits>) -> Vec<u128> {
    let zero = native.then(|| opened.pop()).flatten().is_some_and(|row| row.get(0));
    let values = vesica_circuit::bits::numbers(&opened).into_iter().filter(|value| *value != 0);
    values.chain(zero.then_some(0)).collect()
}

/// AND gates of [`slots`].
fn slots_ands(shape: &Shape) -> u64 {
    let (receiver, sender) = (shape.receiver(), shape.sender());
    let sigma = u64::from(bits(shape));
    circuit::merge_ands(receiver, sender, sigma)
        + circuit::select_ands(receiver, sender, sigma)
        + zero_wires(shape) * sigma
}

/// The receiver's last step: the items whose numbers the slots held, as `find` tells them. Where both learn the
/// result it returns the numbers.
fn receiver_result<'a>(
    ctx: &mut Ctx<'_, 'a>,
    items: &'a Items,
    sorted: Sorted,
    find: impl FnOnce() -> Vec<u128> + Send + 'a,
) -> Result<Pending<'a>, Error> {
    let sigma = sorted.sigma;
    let tell = |found: &Vec<u128>| returned::send(found.clone(), sigma, ctx.channel.split().0);
    super::receiver_result(ctx.run, items, find, tell, move |found| sorted.items_with(found))
}

/// The sender's.
fn sender_result(ctx: &mut Ctx<'_, '_>, items: &Items, sorted: &Sorted) -> Result<Option<Outcome>, Error> {
    let Run { learns, sizes, .. } = ctx.run;
    if *learns == Learns::Receiver {
        return Ok(None);
    }
    let found = returned::recv(&sorted.numbers, sorted.sigma, sizes.receiver, ctx.channel.split().1)?;
    let matched = found.into_iter().map(|at| sorted.items[at as usize] as usize);
    Ok(Some(Outcome::Matches(items.matches(matched))))
}

#[cfg(test)]
mod tests;
