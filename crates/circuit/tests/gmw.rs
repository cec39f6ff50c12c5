//! Every circuit gives the same under GMW, over real OTs, as in the clear.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::ops::Range;
use std::thread;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vesica_channel::{Stream, memory};
use vesica_circuit::bits::rows;
use vesica_circuit::circuits::{bitwise_and, pairwise, phasing, sort_compare_shuffle};
use vesica_circuit::clear::Clear;
use vesica_circuit::gadgets::comparison_tree::greater_by_tree;
use vesica_circuit::gadgets::counter::{self, Counter};
use vesica_circuit::gadgets::greater_than::greater;
use vesica_circuit::gadgets::{adder, equality, select};
use vesica_circuit::gmw::{Cost, Gmw, RandomOts, SingleBits};
use vesica_circuit::shuffle::{self, Controls};
use vesica_circuit::{Bits, Engine, Error, Input, Opening, Party, Wires, networks};
use vesica_crypto::hash::{Context, Label};
use vesica_ot::base::Origin;
use vesica_ot::iknp;
use zeroize::Zeroizing;

/// A circuit of both parties' numbers, whose outputs both learn.
trait Circuit: Sync {
    /// What it puts out; each party's inputs as the engine's party has them.
    fn run<E: Engine>(&self, engine: &mut E, inputs: &Inputs) -> Result<Vec<E::Wires>, Error>;
}

/// Numbers of both parties, and whose a program knows.
struct Inputs {
    numbers: [Vec<u128>; 2],
    width: usize,
    known: [bool; 2],
}

impl Inputs {
    fn rows(&self, party: Party) -> Vec<Bits> {
        rows(&self.numbers[party as usize], self.width)
    }

    /// `work` with the inputs of a party.
    fn with<T>(&self, party: Party, work: impl FnOnce(Input<'_>) -> T) -> T {
        let own = self.rows(party);
        let hidden = Input::Hidden { rows: own.len(), len: self.numbers[party as usize].len() };
        work(if self.known[party as usize] { Input::Known(&own) } else { hidden })
    }

    fn wires<E: Engine>(&self, engine: &mut E) -> Result<[Vec<E::Wires>; 2], Error> {
        let receiver = self.with(Party::Receiver, |bits| engine.input(Party::Receiver, bits))?;
        Ok([receiver, self.with(Party::Sender, |bits| engine.input(Party::Sender, bits))?])
    }
}

const LABELS: [Label; 2] = [Label::new("test: receiver sends"), Label::new("test: sender sends")];

fn extensions(party: Party, channel: &mut Stream) -> (iknp::Sender<1>, iknp::Receiver<1>) {
    let context = Context::new(&[7; 32], "test", b"", 1, 1);
    let rng = &mut StdRng::seed_from_u64(party as u64);
    let send = |label, channel: &mut Stream, rng: &mut StdRng| {
        iknp::Sender::setup(&context, label, 128, Origin::default(), channel, rng).unwrap()
    };
    let receive = |label, channel: &mut Stream, rng: &mut StdRng| {
        iknp::Receiver::setup(&context, label, 128, Origin::default(), channel, rng).unwrap()
    };
    if party == Party::Receiver {
        let sender = send(LABELS[0], channel, rng);
        (sender, receive(LABELS[1], channel, rng))
    } else {
        let receiver = receive(LABELS[0], channel, rng);
        (send(LABELS[1], channel, rng), receiver)
    }
}

fn opened<E: Engine>(circuit: &impl Circuit, engine: &mut E, inputs: &Inputs) -> Result<Vec<Bits>, Error> {
    let wires = circuit.run(engine, inputs)?;
    Ok(engine.open(Opening::ToBoth, &wires)?.unwrap_or_default())
}

/// A circuit whose selections are computed bit by bit.
struct BitByBit<'a, C>(&'a C);

impl<C: Circuit> Circuit for BitByBit<'_, C> {
    fn run<E: Engine>(&self, engine: &mut E, inputs: &Inputs) -> Result<Vec<E::Wires>, Error> {
        self.0.run(&mut SingleBits(engine), inputs)
    }
}

/// Over OTs of strings and of single bits.
fn agrees(circuit: &impl Circuit, numbers: [Vec<u128>; 2], width: usize) {
    let strings = agrees_over(circuit, &numbers, width);
    let bits = agrees_over(&BitByBit(circuit), &numbers, width);
    let [ands, private] = [strings.count.ands, strings.count.private_ands];
    assert_eq!((bits.count.ands, bits.demand().bits), (ands + private, ands + private));
    assert_eq!((bits.count.depth, bits.count.layers), (strings.count.depth, strings.count.layers));
}

/// The circuit's cost, which is what was sent.
fn agrees_over(circuit: &impl Circuit, numbers: &[Vec<u128>; 2], width: usize) -> Cost {
    let inputs = |known| Inputs { numbers: numbers.clone(), width, known };
    let expected = opened(circuit, &mut Clear::default(), &inputs([true; 2])).unwrap();
    let cost = Cost::of(|cost| opened(circuit, cost, &inputs([false; 2])).map(|_| ())).unwrap();
    let demand = cost.demand();
    let party = |party: Party, channel: &mut Stream| {
        let (send, receive) = extensions(party, channel);
        let context = Context::new(&[8; 32], "test", b"", 1, 1);
        let ots = &mut RandomOts::new(&context, party, send, receive, demand);
        let before = channel.traffic().payload_sent;
        let (watch, rng) = (&mut |_| Ok(()), &mut StdRng::seed_from_u64(10 + party as u64));
        let mut engine = Gmw::new(party, ots, channel, watch, rng).unwrap();
        let known = [party == Party::Receiver, party == Party::Sender];
        let outputs = opened(circuit, &mut engine, &inputs(known)).unwrap();
        assert!(outputs == expected, "{party:?}");
        let ots = demand.rows(party).map(|rows| iknp::bytes(128, rows as usize)).iter().sum::<u64>();
        assert_eq!(channel.traffic().payload_sent - before, cost.sent[party as usize] + ots);
    };
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        scope.spawn(|| party(Party::Sender, &mut there));
        party(Party::Receiver, &mut here);
    });
    cost
}

/// Different numbers below 2^width, some of which both parties have.
fn numbers(counts: [usize; 2], common: usize, width: usize) -> [Vec<u128>; 2] {
    let rng = &mut StdRng::seed_from_u64(counts[0] as u64);
    let mut all = std::collections::BTreeSet::new();
    while all.len() < counts[0] + counts[1] - common {
        all.insert(u128::from(rng.next_u64()) % (1 << width));
    }
    // In no order, so that either party's numbers come from the whole range.
    let mut all: Vec<_> = all.into_iter().collect();
    for i in (1..all.len()).rev() {
        all.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
    }
    [all[..counts[0]].to_vec(), all[counts[0] - common..].to_vec()]
}

struct Gadgets;

impl Circuit for Gadgets {
    fn run<E: Engine>(&self, engine: &mut E, inputs: &Inputs) -> Result<Vec<E::Wires>, Error> {
        let [a, b] = inputs.wires(engine)?;
        let mut outputs = vec![greater(engine, &a, &b)?, greater_by_tree(engine, &a, &b)?];
        outputs.push(equality::equal(engine, &a, &b)?);
        outputs.extend(adder::add(engine, &a, &b)?);
        let mask = inputs.with(Party::Sender, |mask| adder::add_private(engine, Party::Sender, mask, &a))?;
        outputs.extend(mask);
        for sorter in [greater::<E>, greater_by_tree::<E>] {
            let (low, high) = select::two_sorter(engine, sorter, &a, &b)?;
            outputs.extend([low, high].concat());
        }
        outputs.extend(select::dup_select_3(engine, &a, &b, &a)?);
        let mut counter = Counter::default();
        counter.add(engine, &outputs[0])?;
        let number = counter.finish(engine)?;
        outputs.push(counter::exceeds(engine, &number, 20)?);
        outputs.extend(number);
        Ok(outputs)
    }
}

struct Pairwise;

impl Circuit for Pairwise {
    fn run<E: Engine>(&self, engine: &mut E, inputs: &Inputs) -> Result<Vec<E::Wires>, Error> {
        let [receiver, sender] = inputs.wires(engine)?;
        let matches = pairwise::pairwise(engine, &receiver, &sender)?;
        Ok(vec![matches.receiver, matches.sender])
    }
}

struct BitwiseAnd;

impl Circuit for BitwiseAnd {
    fn run<E: Engine>(&self, engine: &mut E, inputs: &Inputs) -> Result<Vec<E::Wires>, Error> {
        let mut outputs = Vec::new();
        inputs.with(Party::Receiver, |receiver| {
            inputs.with(Party::Sender, |sender| {
                bitwise_and::bitwise_and(engine, receiver, sender, |_, matches| {
                    outputs.push(matches);
                    Ok(())
                })
            })
        })?;
        Ok(outputs)
    }
}

/// Sort, compare, and both ways to shuffle.
struct SortCompareShuffle;

impl Circuit for SortCompareShuffle {
    fn run<E: Engine>(&self, engine: &mut E, inputs: &Inputs) -> Result<Vec<E::Wires>, Error> {
        let mut all = inputs.with(Party::Receiver, |receiver| {
            inputs.with(Party::Sender, |sender| sort_compare_shuffle::inputs(engine, receiver, sender))
        })?;
        networks::merge(engine, &mut all, greater_by_tree)?;
        let selected = sort_compare_shuffle::select(engine, &all)?;
        let mut sorted = selected.values.clone();
        networks::sort(engine, &mut sorted, greater_by_tree)?;
        let mut permuted = selected.values;
        let slots = permuted[0].len() as u32;
        let order: Vec<u32> = (0..slots).map(|i| (i + slots / 3) % slots).collect();
        let controls = inputs.known[Party::Sender as usize].then(|| Controls::new(&order));
        shuffle::permute(engine, Party::Sender, controls.as_ref(), &mut permuted)?;
        Ok([vec![selected.matches], sorted, permuted].concat())
    }
}

/// The numbers of bins: the receiver's, and those of the sender slot after slot.
struct Bins(Vec<u128>);

const TABLE: phasing::Table = phasing::Table { bins: 70, load: 5, bits: 9 };

impl phasing::Receiver for Bins {
    fn bins(&self, bins: Range<usize>) -> Zeroizing<Vec<u128>> {
        self.0[bins].to_vec().into()
    }
}

impl phasing::Sender for Bins {
    fn bins(&self, bins: Range<usize>, slots: Range<usize>) -> Zeroizing<Vec<u128>> {
        let numbers = slots.flat_map(|slot| bins.clone().map(move |bin| self.0[slot * TABLE.bins + bin]));
        numbers.collect::<Vec<_>>().into()
    }
}

struct Phasing;

impl Circuit for Phasing {
    fn run<E: Engine>(&self, engine: &mut E, inputs: &Inputs) -> Result<Vec<E::Wires>, Error> {
        let [receiver, sender] = [0, 1].map(|party| Bins(inputs.numbers[party].clone()));
        let shape = phasing::Shape { bins: TABLE, stash: phasing::Table { bins: 0, load: 0, bits: 0 } };
        let receiver: Option<&dyn phasing::Receiver> = if inputs.known[0] { Some(&receiver) } else { None };
        let sender: Option<&dyn phasing::Sender> = if inputs.known[1] { Some(&sender) } else { None };
        Ok(vec![phasing::matches(engine, &shape, receiver, sender)?])
    }
}

#[test]
fn gadgets() {
    for width in [1, 7, 20] {
        let rng = &mut StdRng::seed_from_u64(width as u64);
        let numbers = [(); 2].map(|()| (0..83).map(|_| u128::from(rng.next_u64()) % (1 << width)).collect());
        agrees(&Gadgets, numbers, width);
    }
}

#[test]
fn bitwise_and_and_pairwise_comparison() {
    agrees(&BitwiseAnd, [vec![1; 500], (0..500).map(|i| i % 2).collect()], 1);
    agrees(&Pairwise, numbers([20, 33], 7, 16), 16);
    agrees(&Pairwise, numbers([1, 1], 1, 8), 8);
}

#[test]
fn phasing_in_bins() {
    let rng = &mut StdRng::seed_from_u64(3);
    let mut number = || u128::from(rng.next_u64() % 500);
    let receiver: Vec<_> = (0..TABLE.bins).map(|_| number()).collect();
    let mut sender: Vec<_> = (0..TABLE.bins * TABLE.load).map(|_| number()).collect();
    for bin in (0..TABLE.bins).step_by(3) {
        sender[bin % TABLE.load * TABLE.bins + bin] = receiver[bin];
    }
    agrees(&Phasing, [receiver, sender], TABLE.bits);
}

#[test]
fn sort_compare_shuffle_of_any_sizes() {
    for (counts, common) in [([1, 1], 1), ([5, 3], 2), ([64, 64], 20), ([100, 37], 30)] {
        let mut numbers = numbers(counts, common, 12);
        numbers.iter_mut().for_each(|numbers| numbers.sort_unstable());
        agrees(&SortCompareShuffle, numbers, 12);
    }
}
