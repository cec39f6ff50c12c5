//! Gates: garbled ones, where labels and Δ are secret, and those of GMW, where shares are.

use vesica_circuit::gmw::{Correlations, Gmw, Received, Sent, Triples, and_bytes, setup_bytes};
use vesica_circuit::{Bits, Engine as _, Error, Input, Party};
use vesica_crypto::backend::{Backend, Kernels};
use vesica_crypto::block::Block;
use vesica_crypto::half_gates::HalfGates;
use vesica_crypto::prg::Prg;

use super::{LABEL, Subject, block, blocks, bytes, context, fed, known, row, rows};
use crate::measure::{Class, Operation, operation};

/// Gates of one measurement.
const GATES: usize = 128;
const MODULE: &str = "crypto/src/half_gates.rs";

type Row = Vec<[Block; 1]>;

pub(super) fn list() -> Vec<Subject> {
    let aes = Kernels::Aes;
    let mut list = rows(aes, MODULE, "128 gates garbled", "the labels and Δ", garbled);
    list.extend(rows(aes, MODULE, "128 gates evaluated", "the labels", evaluated));
    list.extend(rows(aes, MODULE, "128 gates with a private bit evaluated", "the labels", evaluated_private));
    list.push(row("circuit/src/gmw.rs", "GMW: 1024 gates of a party", "its shares", gmw));
    list
}

fn labels(class: Class, rng: &mut Prg) -> Row {
    blocks(class, GATES, rng).into_iter().map(|block| [block]).collect()
}

fn gates(backend: Backend) -> HalfGates<1> {
    HalfGates::of(&context(), LABEL, 128).with_backend(backend)
}

fn garbled(backend: Backend) -> Box<dyn Operation> {
    let (mut gates, mut tables, mut out) =
        (gates(backend), vec![[[Block::ZERO; 1]; 2]; GATES], vec![[Block::ZERO; 1]; GATES]);
    operation(
        |class, rng| ([block(class, rng)], labels(class, rng), labels(class, rng)),
        move |(delta, a, b)| gates.garble(delta, a, b, &mut tables, &mut out),
    )
}

fn evaluated(backend: Backend) -> Box<dyn Operation> {
    let (mut gates, mut out) = (gates(backend), vec![[Block::ZERO; 1]; GATES]);
    let tables: Vec<[[Block; 1]; 2]> =
        known(2 * GATES).as_chunks::<2>().0.iter().map(|pair| pair.map(|block| [block])).collect();
    operation(
        |class, rng| (labels(class, rng), labels(class, rng)),
        move |(a, b)| gates.evaluate(a, b, &tables, &mut out),
    )
}

fn evaluated_private(backend: Backend) -> Box<dyn Operation> {
    let (mut gates, mut out) = (gates(backend), vec![[Block::ZERO; 1]; GATES]);
    let tables: Row = known(GATES).into_iter().map(|block| [block]).collect();
    operation(labels, move |x| gates.evaluate_private(x, &tables, &mut out))
}

/// Triples that are the same every time.
struct Known;

fn bits(count: usize) -> Bits {
    let mut bytes = vec![0; count.div_ceil(8)];
    Prg::from_seed([1; 16]).fill(&mut bytes);
    Bits::from_bytes(&bytes, count)
}

fn rows_of_bits(count: usize, width: usize) -> Vec<Bits> {
    (0..width).map(|_| bits(count)).collect()
}

impl Correlations for Known {
    fn bits(&mut self, count: usize) -> Result<Triples, Error> {
        self.strings(count, 1)
    }

    fn received(&mut self, count: usize, width: usize) -> Result<Received, Error> {
        Ok(Received { choices: bits(count), strings: rows_of_bits(count, width) })
    }

    fn sent(&mut self, count: usize, width: usize) -> Result<Sent, Error> {
        Ok(Sent { zeros: rows_of_bits(count, width), differences: rows_of_bits(count, width) })
    }
}

fn gmw() -> Box<dyn Operation> {
    const COUNT: usize = 1024;
    operation(
        |class, rng| {
            let rows = [(); 2].map(|()| Bits::from_bytes(&bytes::<{ COUNT / 8 }>(class, rng), COUNT));
            (rows, fed(&vec![0x5a; (setup_bytes() + and_bytes(COUNT as u64)) as usize]))
        },
        |(rows, (channel, _partner))| {
            let (correlations, watch, rng) = (&mut Known, &mut |_| Ok(()), &mut Prg::from_seed([2; 16]));
            let mut engine = Gmw::new(Party::Receiver, correlations, channel, watch, rng).ok()?;
            let wires = engine.input(Party::Receiver, Input::Known(rows)).ok()?;
            engine.and(&[(&wires[0], &wires[1])]).ok()
        },
    )
}
