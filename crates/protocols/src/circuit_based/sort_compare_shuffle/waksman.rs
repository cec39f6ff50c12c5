//! Sort-compare-shuffle with a Waksman network: a permutation that only the sender knows hides where the
//! matches stood. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest; that of the protocol that evaluates the circuit. Leaks n_r and n_s. With
//! `--audit-max` both learn whether the intersection has more items than that, and if so, nothing else.
//!
//! Source: HEK12 §5.3.3 (SCS-WN), §6. Messages and deviations: [the parent module](super). Its step 3 is
//!
//! ```text
//! receiver                                         sender: π ←$ permutations of m slots
//! 3. the circuit's slots go through the network of π, whose swappers are gates with a private bit of the
//!    sender
//! ```
//!
//! The receiver sees the matches in an order that is uniformly random, and m less as many zeros. The sender
//! draws π for this run alone and wipes it with the bits that it becomes.
//!
//! Names: m = [`circuit::slots`], π = `order`.
//!
//! Cost: 2σ AND gates for each of the merger's 2-sorters, of which there are n·log2(2n) for n = n_r = n_s, a
//! power of two; 3σ - 1 for each slot but the last, which has 2σ - 1; and σ gates with a private bit, of half
//! the price, for each of the network's m·log2 m - m + 1 swappers.

use vesica_circuit::circuits::sort_compare_shuffle as circuit;
use vesica_circuit::shuffle::{Controls, permute};
use vesica_circuit::{Bits, Engine, Opening, Party};
use vesica_encode::items::{Items, random_order};
use zeroize::Zeroizing;

use super::super::engines::evaluate;
use super::super::{Circuit, audit};
use super::{
    MEMORY, Slots, Sorted, bits, entry, garbled_bytes, memory, messages, opened_numbers, receiver_result,
    sender_result, slots, slots_ands, slots_of,
};
use crate::entry::{Entry, Gates, Message, Roles, Shape};
use crate::error::Error;
use crate::outcome::{Outcome, Pending};
use crate::protocol::{Ctx, Role, Run};

/// The formula of the gates.
const GATES: &str = "w·(2·(2-sorters of the merger) + m + ⌊(n_r + n_s - 1)/2⌋) + m·(w - 1), + w ([sigma]); \
    private: w·(m·d - 2^d + 1), d = ⌈log2 m⌉; [audit-max]: at most m + d more";

/// The messages.
const MESSAGES: [Message; 7] = messages(
    "2·κ/8 each AND, κ/8 each private one, + ⌈m·w/8⌉, 1 bit more ([sigma]), 1 more ([audit-max])",
    |shape| garbled_bytes(shape, gates(shape)),
);

/// The registry's entry.
pub static ENTRY: Entry = entry(
    "scs-wn",
    "garbled circuit: sort, compare, shuffle by a Waksman network",
    Roles::Whole { receive, send },
)
.paper("HEK12 §5.3.3, §6")
.audited()
.gates(GATES, gates)
.messages(&MESSAGES)
.memory(MEMORY, memory)
.test_items(1 << 8);

fn gates(shape: &Shape) -> Gates {
    let (slots, sigma) = (slots_of(shape), u64::from(bits(shape)));
    let ands = slots_ands(shape) + audit::ands(shape, slots);
    Gates { ands, private_ands: circuit::permute_ands(slots, sigma), depth: None }
}

/// The circuit, with what the party that runs it puts in.
struct Shuffled<'a> {
    run: &'a Run<'a>,
    role: Role,
    numbers: &'a [Bits],
    /// π, of the sender.
    controls: Option<&'a Controls>,
}

impl Circuit for Shuffled<'_> {
    /// What the slots hold, for the receiver.
    type Output = Option<Vec<Bits>>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error> {
        let Slots { mut values, matches, zero } = slots(engine, self.run, self.role, self.numbers)?;
        permute(engine, Party::Sender, self.controls, &mut values)?;
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
    let circuit = Shuffled { run, role, numbers: &numbers, controls: None };
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
    let slots = circuit::slots(run.sizes.receiver as u64, run.sizes.sender as u64);
    let order = Zeroizing::new(random_order(slots as u32, ctx.rng));
    let controls = Controls::new(&order);
    // 2. to 5.
    let circuit = Shuffled { run, role, numbers: &numbers, controls: Some(&controls) };
    evaluate(ctx, role, gates(&Shape::of(run)).all(), circuit)?;
    sender_result(ctx, items, &sorted)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{gates_are_counted, in_the_clear, test_run, the_order_is_hidden};
    use super::*;
    use crate::parameters::Parameters;
    use crate::protocol::Sizes;
    use vesica_circuit::bits::{numbers, rows};

    #[test]
    fn gates_are_as_many_as_the_formula_says() {
        gates_are_counted(&ENTRY, &[None, Some(0)], |run, numbers, count| {
            Shuffled { run, role: Role::Receiver, numbers, controls: None }.run(count).unwrap();
        });
    }

    #[test]
    fn gates_are_those_of_hek12_and_of_table_6() {
        // PSSZ15 counts a swapper whole; its 2^16 is 1.4 % below its own formula. Native items add the gates of
        // the item zero.
        for (log, printed) in [(8, 229_120), (12, 5_238_784)] {
            let sizes = Sizes { receiver: 1 << log, sender: 1 << log };
            let parameters = Parameters { sigma: Some(32), ..Parameters::default() };
            let gates = gates(&Shape { parameters, ..Shape::new(sizes) });
            assert_eq!(gates.all() - 32, printed);
            let (n, log) = (1 << log, log as u64);
            assert_eq!(gates.ands - 32, 2 * 32 * n * (log + 1) + n * (3 * 32 - 1) - 32);
            assert_eq!(gates.private_ands, 32 * (n * log - n + 1));
        }
    }

    #[test]
    fn the_receiver_sees_the_slots_in_the_senders_order() {
        let all: Vec<u128> = (1..=20).collect();
        let run = test_run(Sizes { receiver: 20, sender: 20 }, Parameters::default());
        let sigma = bits(&Shape::of(&run)) as usize;
        let order: Vec<u32> = (0..20).map(|slot| (slot * 7 + 3) % 20).collect();
        let (all, controls) = (rows(&all, sigma), Controls::new(&order));
        let mine = Shuffled { run: &run, role: Role::Receiver, numbers: &all, controls: None };
        let theirs = Shuffled { run: &run, role: Role::Sender, numbers: &all, controls: Some(&controls) };
        let opened = numbers(&in_the_clear(mine, theirs).unwrap());
        assert_eq!(opened, order.iter().map(|slot| u128::from(*slot) + 1).collect::<Vec<_>>());
    }

    #[test]
    fn flaw_where_the_matches_stood_stays_hidden() {
        the_order_is_hidden(&ENTRY, |ctx, items| {
            let (run, role) = (ctx.run, Role::Receiver);
            let numbers = Sorted::new(run, items)?.rows();
            let circuit = Shuffled { run, role, numbers: &numbers, controls: None };
            let opened = evaluate(ctx, role, gates(&Shape::of(run)).all(), circuit)?;
            Ok(opened_numbers(true, opened.unwrap_or_default()))
        });
    }
}
