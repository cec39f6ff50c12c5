//! Sort-compare-shuffle by sorting: the slots are sorted again, and so their order is a function of the
//! intersection alone. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest; that of the protocol that evaluates the circuit. Leaks n_r and n_s. With
//! `--audit-max` both learn whether the intersection has more items than that, and if so, nothing else.
//!
//! Source: HEK12 §5.3.1 (SCS-SORT), §6. Messages and deviations: [the parent module](super). Its step 3 is
//!
//! ```text
//! 3. the circuit's slots go through Batcher's odd-even merge sort
//! ```
//!
//! The receiver sees the matches in ascending order, behind as many zeros as there are slots without a match.
//! All m slots are sorted, by the same comparisons whatever they hold.
//!
//! Cost: 2σ AND gates for each 2-sorter, of which there are n·log2(2n) in the merger for n = n_r = n_s, a power
//! of two, and (k² - k + 4)·2^(k-2) - 1 in the sorter of m = 2^k slots; 3σ - 1 for each slot but the last, which
//! has 2σ - 1.

use vesica_circuit::circuits::sort_compare_shuffle as circuit;
use vesica_circuit::gadgets::greater_than::greater;
use vesica_circuit::{Bits, Engine, Opening, networks};
use vesica_encode::items::Items;

use super::super::engines::{evaluate, gate_bytes};
use super::super::{Circuit, audit};
use super::{
    INPUT_MESSAGES, RETURNED, Slots, Sorted, bits, circuit_memory, entry, opened_bytes, opened_numbers,
    receiver_result, sender_result, slots, slots_ands, slots_of,
};
use crate::entry::{Entry, Gates, Memory, Message, Roles, Shape};
use crate::error::Error;
use crate::outcome::{Outcome, Pending};
use crate::protocol::{Ctx, Role, Run};

/// The registry's entry.
pub static ENTRY: Entry =
    entry("scs-sort", "garbled circuit: sort, compare, sort again", Roles::Whole { receive, send })
        .paper("HEK12 §5.3.1, §6")
        .audited()
        .gates("w·2·(2-sorters of the merger and of the sorter) + w·(m + ⌊(n_r + n_s - 1)/2⌋) + m·(w - 1), + w (--sigma); --audit-max: at most m + log2 m more", gates)
        .messages(&[
            INPUT_MESSAGES[0],
            INPUT_MESSAGES[1],
            INPUT_MESSAGES[2],
            INPUT_MESSAGES[3],
            Message::of_sender("garbled gates, and permute bits of the slots", "2·κ/8 each AND, + ⌈m·w/8⌉, 1 bit more (--sigma), 1 more (--audit-max)", |shape| {
                gate_bytes(shape, gates(shape)) + opened_bytes(shape) + audit::opened(shape)
            }),
            Message::of_receiver("the audit's bit", "1 (--audit-max)", audit::opened),
            RETURNED,
        ])
        .memory("24·w·(n_r + n_s) + 2^26 each (48·w above level 128)", |shape| {
            let each = circuit_memory(shape);
            Memory { receiver: each, sender: each }
        })
        .test_items(1 << 8);

fn gates(shape: &Shape) -> Gates {
    let (slots, sigma) = (slots_of(shape), u64::from(bits(shape)));
    let ands = slots_ands(shape) + circuit::sort_ands(slots, sigma) + audit::ands(shape, slots);
    Gates { ands, private_ands: 0, depth: None }
}

/// The circuit, with what the party that runs it puts in.
struct Resorted<'a> {
    run: &'a Run<'a>,
    role: Role,
    numbers: &'a [Bits],
}

impl Circuit for Resorted<'_> {
    /// What the slots hold, for the receiver.
    type Output = Option<Vec<Bits>>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error> {
        let Slots { mut values, matches, zero } = slots(engine, self.run, self.role, self.numbers)?;
        networks::sort(engine, &mut values, greater)?;
        values.extend(zero);
        audit::open(self.run, engine, &[&matches], Opening::ToReceiver, &values)
    }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let (run, role) = (ctx.run, Role::Receiver);
    // 1.
    let sorted = Sorted::new(run, items)?;
    let numbers = sorted.rows();
    // 2. to 5.
    let circuit = Resorted { run, role, numbers: &numbers };
    let opened = evaluate(ctx, role, gates(&Shape::of(run)).all(), circuit)?.unwrap_or_default();
    let native = run.parameters.sigma.is_some();
    receiver_result(ctx, items, sorted, move || opened_numbers(native, opened))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let (run, role) = (ctx.run, Role::Sender);
    // 1.
    let sorted = Sorted::new(run, items)?;
    let numbers = sorted.rows();
    // 2. to 5.
    let circuit = Resorted { run, role, numbers: &numbers };
    evaluate(ctx, role, gates(&Shape::of(run)).all(), circuit)?;
    sender_result(ctx, items, &sorted)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{gates_are_counted, in_the_clear, test_run};
    use super::*;
    use crate::parameters::Parameters;
    use crate::protocol::Sizes;
    use vesica_circuit::bits::{numbers, rows};

    #[test]
    fn gates_are_as_many_as_the_formula_says() {
        gates_are_counted(&ENTRY, &[None, Some(0)], |run, numbers, count| {
            Resorted { run, role: Role::Receiver, numbers }.run(count).unwrap();
        });
    }

    #[test]
    fn what_the_receiver_sees_follows_from_the_matches() {
        // Matches at either end of the list look the same.
        let run = test_run(Sizes { receiver: 30, sender: 30 }, Parameters::default());
        let sigma = bits(&Shape::of(&run)) as usize;
        for mine in [1..=30, 500..=529] {
            let common = mine.clone().take(3);
            let theirs: Vec<u128> = common.clone().chain(200..227).collect();
            let mut theirs = theirs;
            theirs.sort_unstable();
            let (mine, theirs) = (rows(&mine.clone().collect::<Vec<_>>(), sigma), rows(&theirs, sigma));
            let opened = in_the_clear(
                Resorted { run: &run, role: Role::Receiver, numbers: &mine },
                Resorted { run: &run, role: Role::Sender, numbers: &theirs },
            );
            let expected: Vec<u128> = std::iter::repeat_n(0, 27).chain(common).collect();
            assert_eq!(numbers(&opened.unwrap()), expected);
        }
    }
}
