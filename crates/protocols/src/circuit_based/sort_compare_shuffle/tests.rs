use super::*;
use vesica_channel::memory;
use vesica_circuit::Opening;
use vesica_circuit::count::Count;
use vesica_circuit::yao::ideal::Ideal;
use vesica_crypto::hash::Context;
use vesica_encode::items::{Encoding, ItemsBuilder, OnDuplicates};

use super::super::{Circuit, party};
use crate::testing::order::assert_hidden;
use crate::testing::{Case, Planted, duel, planted_for, run_of, run_pair};

fn native(sigma: u32) -> Parameters {
    Parameters { sigma: Some(sigma), ..Parameters::default() }
}

fn numbers(sigma: u32, numbers: &[u64]) -> Items {
    let mut builder = ItemsBuilder::new(Encoding::Native { sigma }, numbers.len()).unwrap();
    (0..).zip(numbers).for_each(|(row, number)| builder.push_native(row, *number).unwrap());
    builder.build(OnDuplicates::All).unwrap()
}

pub(super) fn test_run(sizes: Sizes, parameters: Parameters) -> Run<'static> {
    run_of(Context::new(&[1; 32], "test", b"", 1, 1), sizes, parameters)
}

/// Runs the circuits of both parties in the clear; what the receiver's gives.
pub(super) fn in_the_clear<C: Circuit + Send>(receiver: C, sender: C) -> C::Output
where
    C::Output: Send,
{
    let (mut here, mut there) = memory::pair();
    std::thread::scope(|scope| {
        scope.spawn(move || sender.run(&mut Ideal::new(party(Role::Sender), &mut there)).map(drop).unwrap());
        receiver.run(&mut Ideal::new(party(Role::Receiver), &mut here)).unwrap()
    })
}

/// The slots alone, opened to the receiver.
struct Open<'a> {
    run: &'a Run<'a>,
    role: Role,
    numbers: &'a [Bits],
}

impl Circuit for Open<'_> {
    type Output = Vec<Bits>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Vec<Bits>, Error> {
        let Slots { mut values, matches, zero } = slots(engine, self.run, self.role, self.numbers)?;
        let count = engine.open(Opening::ToReceiver, &[matches])?;
        values.extend(zero);
        let mut opened = engine.open(Opening::ToReceiver, &values)?.unwrap_or_default();
        opened.extend(count.unwrap_or_default());
        Ok(opened)
    }
}

/// The numbers that the receiver finds in the slots, and how many matches there are.
fn found(parameters: Parameters, receiver: &Items, sender: &Items) -> (Vec<u128>, usize) {
    let sizes = Sizes { receiver: receiver.len(), sender: sender.len() };
    let run = test_run(sizes, parameters);
    let [mine, theirs] = [receiver, sender].map(|items| Sorted::new(&run, items).unwrap().rows());
    let mut opened = in_the_clear(
        Open { run: &run, role: Role::Receiver, numbers: &mine },
        Open { run: &run, role: Role::Sender, numbers: &theirs },
    );
    let matches = opened.pop().unwrap().iter().filter(|one| *one).count();
    let mut found = opened_numbers(run.parameters.sigma.is_some(), opened);
    found.sort_unstable();
    (found, matches)
}

#[test]
fn the_item_zero_is_found_where_both_have_it() {
    let sets: [&[u64]; 6] = [&[0], &[7], &[0, 7], &[0, 1, 2], &[255], &[1, 3, 7, 255]];
    for mine in sets {
        for theirs in sets {
            let common: Vec<u128> = mine
                .iter()
                .filter(|number| theirs.contains(number))
                .map(|number| u128::from(*number))
                .collect();
            let (found, matches) = found(native(8), &numbers(8, mine), &numbers(8, theirs));
            assert_eq!((found, matches), (common.clone(), common.len()), "{mine:?} and {theirs:?}");
        }
    }
}

#[test]
fn every_protocol_finds_the_item_zero() {
    let (mine, theirs) = ([5, 0, 9], [0, 9, 200, 1]);
    for entry in [&waksman::ENTRY, &sorting::ENTRY, &homomorphic::ENTRY] {
        let sets = Planted {
            receiver: numbers(8, &mine),
            sender: numbers(8, &theirs),
            receiver_rows: vec![1, 2],
            sender_rows: vec![0, 1],
        };
        // Level 80, for the shorter key.
        let parameters = Parameters { level: 80, ..native(8) };
        let ended = run_pair(entry, &sets, Case { parameters, learns: Learns::Both, ..Case::default() });
        assert_eq!(ended.receiver.unwrap().rows(), [1, 2], "{}", entry.name);
        assert_eq!(ended.sender.unwrap().unwrap().rows(), [0, 1], "{}", entry.name);
    }
}

#[test]
fn hashed_numbers_are_wide_enough_for_the_larger_set_and_never_zero() {
    for (receiver, sender, bits) in [(1, 1, 40), (256, 1, 56), (1, 256, 56), (1000, 900, 61), (300, 3, 56)] {
        let sizes = Sizes { receiver, sender };
        assert_eq!(sigma(sizes, &Parameters::default()).unwrap(), bits, "{receiver}, {sender}");
    }
    let sets = planted_for(&Parameters::default(), 500, 3, 1, 1);
    let run = test_run(Sizes { receiver: 500, sender: 3 }, Parameters::default());
    let sorted = Sorted::new(&run, &sets.receiver).unwrap();
    assert!(sorted.numbers.windows(2).all(|pair| pair[0] < pair[1]) && sorted.numbers[0] > 0);
    let at = |item: u32| sorted.items.iter().position(|other| *other == item).unwrap();
    assert_eq!(sorted.items_with(vec![sorted.numbers[at(7)], 1]), [7]);
}

/// `run_circuit` takes the gates of the entry's formula.
pub(super) fn gates_are_counted(
    entry: &Entry,
    audits: &[Option<u64>],
    run_circuit: impl Fn(&Run<'_>, &[Bits], &mut Count),
) {
    for (receiver, sender) in [(1, 1), (2, 1), (40, 50), (50, 41), (128, 128)] {
        for parameters in [Parameters::default(), native(32)] {
            for &audit_max in audits {
                let run = test_run(Sizes { receiver, sender }, Parameters { audit_max, ..parameters });
                let sigma = sigma(run.sizes, &run.parameters).unwrap() as usize;
                let mut count = Count::with_chunk(100);
                run_circuit(&run, &vec![Bits::repeat(false, receiver); sigma], &mut count);
                let gates = entry.gates_of(&Shape::of(&run)).unwrap();
                let counted = (count.ands, count.private_ands);
                assert_eq!(counted, (gates.ands, gates.private_ands), "{} {:?}", entry.name, run.parameters);
            }
        }
    }
}

/// Panics unless the order in which the receiver gets the slots, as `slots` gives them, says nothing about where they
/// stood in the sorted list. The sender runs as it does outside of tests.
pub(super) fn the_order_is_hidden(
    entry: &Entry,
    slots: impl Fn(&mut Ctx<'_, '_>, &Items) -> Result<Vec<u128>, Error> + Sync,
) {
    // Equal sets: every slot has a match, whose place in the sorted list is its rank. Few runs of many items, since
    // base OTs take most of the time. Level 80, for the shorter key.
    const ITEMS: usize = 160;
    let parameters = Parameters { level: 80, ..native(12) };
    let sets = &planted_for(&parameters, ITEMS, ITEMS, ITEMS, 1);
    let (entry, slots) = (entry, &slots);
    let places = |seed| {
        let case = Case { parameters, seed, ..Case::default() };
        let (seen, sent) = duel(
            (entry, sets, case),
            Box::new(move |ctx| slots(ctx, &sets.receiver)),
            Box::new(move |ctx| entry.send(ctx, &sets.sender)),
        );
        sent.unwrap();
        let seen = seen.unwrap();
        let mut sorted = seen.clone();
        sorted.sort_unstable();
        let place = |number| seen.iter().position(|other| other == number).unwrap() as u32;
        sorted.iter().map(place).collect()
    };
    assert_hidden(&(0..14).map(places).collect::<Vec<_>>());
}
