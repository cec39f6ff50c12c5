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
//!    --learns both: the matches are counted, both learn n̂, and only the n̂ largest slots are found and opened
//! ```
//!
//! The receiver sees the matches in ascending order, behind as many zeros as there are slots without a match.
//! All m slots are sorted, by the same comparisons whatever they hold.
//!
//! **Few matches** (--learns both). Sorting is HEK12's form of the step if n̂ is known: then log²(2n̂) takes the place
//! of log² n ([`networks::largest`]). Where both learn the intersection, both may know n̂ before. So a run in which the
//! receiver alone learns the result sorts all slots, and so does one with `--audit-max`. Where n̂ is so large that
//! sorting all is cheaper, all are sorted.
//!
//! Cost: 2σ AND gates for each 2-sorter, of which there are n·log2(2n) in the merger for n = n_r = n_s, a power
//! of two, and (k² - k + 4)·2^(k-2) - 1 in the sorter of m = 2^k slots; 3σ - 1 for each slot but the last, which
//! has 2σ - 1.

use vesica_circuit::circuits::sort_compare_shuffle as circuit;
use vesica_circuit::gadgets::counter::{self, Counter};
use vesica_circuit::gadgets::greater_than::greater;
use vesica_circuit::{Bits, Engine, Opening, Wires, networks, yao};
use vesica_encode::items::Items;

use super::super::engines::{self, evaluate};
use super::super::{Circuit, audit};
use super::{
    MEMORY, Slots, Sorted, bits, entry, garbled_bytes, memory, messages, opened_numbers, receiver_result,
    sender_result, slots, slots_ands, slots_of,
};
use crate::entry::{Entry, Gates, Message, Roles, Shape};
use crate::error::Error;
use crate::outcome::{Outcome, Pending};
use crate::protocol::{Ctx, Learns, Role, Run};

/// The formula of the gates.
const GATES: &str = "w·2·(2-sorters of the merger and of the sorter) + w·(m + ⌊(n_r + n_s - 1)/2⌋) + m·(w - 1), \
    + w ([sigma]); [audit-max]: at most m + log2 m more; [learns both]: at most as many and m more";

/// The messages: those of every such circuit, and n̂ where both learn it before the slots are sorted.
const MESSAGES: [Message; 7] = {
    let mut messages = messages(
        "2·κ/8 each AND, + ⌈m·w/8⌉, 1 bit more ([sigma]), 1 more ([audit-max]); [learns both]: at most, and \
            ⌈log2(m + 1)/8⌉ more",
        |shape| garbled_bytes(shape, gates(shape)) + number_bytes(shape),
    );
    messages[5] = Message::of_receiver(
        "the audit's bit, or with [learns both] the bits of n̂",
        "1 ([audit-max]), ⌈log2(m + 1)/8⌉ ([learns both])",
        |shape| audit::opened(shape) + number_bytes(shape),
    );
    messages
};

/// The registry's entry.
pub static ENTRY: Entry =
    entry("scs-sort", "garbled circuit: sort, compare, sort again", Roles::Whole { receive, send })
        .paper("HEK12 §5.3.1, §6")
        .audited()
        .gates(GATES, gates)
        .at_most(counts_matches)
        .flights(|shape| engines::flights(shape) + 2 * u32::from(counts_matches(shape)))
        .messages(&MESSAGES)
        .memory(MEMORY, memory)
        .test_items(1 << 8);

fn gates(shape: &Shape) -> Gates {
    let (slots, sigma) = (slots_of(shape), u64::from(bits(shape)));
    let counted = if counts_matches(shape) { counter::ands(slots) } else { audit::ands(shape, slots) };
    let ands = slots_ands(shape) + circuit::sort_ands(slots, sigma) + counted;
    Gates { ands, private_ands: 0, depth: None }
}

/// Whether both learn n̂ before the slots are sorted.
fn counts_matches(shape: &Shape) -> bool {
    shape.learns == Learns::Both && audit::opened(shape) == 0
}

/// Bytes of n̂, each way.
fn number_bytes(shape: &Shape) -> u64 {
    let bits = u64::from(u64::BITS - slots_of(shape).leading_zeros());
    if counts_matches(shape) { yao::opening_bytes(Opening::ToBoth, bits)[0] } else { 0 }
}

/// The number of these wires that are set, which both learn; none from an engine that computes nothing.
fn number_of<E: Engine>(engine: &mut E, matches: &E::Wires) -> Result<Option<usize>, Error> {
    let mut counter = Counter::default();
    counter.add(engine, matches)?;
    let number = counter.finish(engine)?;
    let opened = engine.open(Opening::ToBoth, &number)?;
    // A partner that does not follow the protocol may make it larger than it can be.
    let number =
        |rows: Vec<Bits>| rows.iter().rev().fold(0, |number, row| number << 1 | usize::from(row.get(0)));
    Ok(opened.map(|rows| number(rows).min(matches.len())))
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
        let slots = matches.len() as u64;
        let few =
            |number: &usize| networks::largest_sorters(slots, *number as u64) < networks::sort_sorters(slots);
        let number = if counts_matches(&Shape::of(self.run)) { number_of(engine, &matches)? } else { None };
        match number.filter(few) {
            Some(number) => values = networks::largest(engine, &values, number, greater)?,
            None => networks::sort(engine, &mut values, greater)?,
        }
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

    /// Where both learn the result, a run opens the matches alone if they are few, and takes no more gates than sorting.
    #[test]
    fn few_matches_are_found_without_sorting_all_slots() {
        for common in [0, 1, 7, 8, 25, 40] {
            let run = Run {
                learns: Learns::Both,
                ..test_run(Sizes { receiver: 40, sender: 40 }, Parameters::default())
            };
            let shape = Shape::of(&run);
            let sigma = bits(&shape) as usize;
            let mine: Vec<u128> = (1..=40).collect();
            let theirs: Vec<u128> = (1..=common).chain(100..140 - common).collect();
            let (mine, theirs) = (rows(&mine, sigma), rows(&theirs, sigma));
            let opened = in_the_clear(
                Resorted { run: &run, role: Role::Receiver, numbers: &mine },
                Resorted { run: &run, role: Role::Sender, numbers: &theirs },
            );
            let opened = numbers(&opened.unwrap());
            let all = networks::largest_sorters(40, common as u64) >= networks::sort_sorters(40);
            let zeros = if all { 40 - common } else { 0 };
            assert_eq!(opened, std::iter::repeat_n(0, zeros as usize).chain(1..=common).collect::<Vec<_>>());
            assert_eq!(all, common > 8, "{common}");
            let counted = gates(&Shape { learns: Learns::Receiver, ..shape }).ands + counter::ands(40);
            assert_eq!(gates(&shape).ands, counted);
        }
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
