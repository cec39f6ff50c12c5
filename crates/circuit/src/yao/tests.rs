use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_channel::{Stream, memory};
use vesica_crypto::backend::Backend;
use vesica_crypto::hash::Context;
use vesica_crypto::wide_prg::WidePrg;

use vesica_ot::{CotReceiver, CotSender, Seed, iknp};

use super::*;
use crate::clear::Clear;
use crate::count::Count;
use crate::engine::{Engine, Input};

const LEVELS_AND_BLOCKS: [(u32, usize); 4] = [(80, 1), (128, 1), (192, 2), (256, 2)];

fn context() -> Context {
    Context::new(&[3; 32], "test", b"", 1, 1)
}

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

fn bits(len: usize, rng: &mut StdRng) -> Bits {
    (0..len).map(|_| rng.random::<bool>()).collect()
}

/// A circuit of random gates of every kind on rows of `len` wires, with all its wires as outputs.
struct Random {
    seed: u64,
    len: usize,
    gates: usize,
    opening: Opening,
}

/// What a party of a circuit knows of a row: its own, and in the clear both.
fn known<'a>(me: Option<Party>, owner: Party, rows: &'a [Bits]) -> Input<'a> {
    if me.is_none_or(|me| me == owner) {
        Input::Known(rows)
    } else {
        Input::Hidden { rows: rows.len(), len: rows[0].len() }
    }
}

impl Random {
    fn run<E: Engine>(&self, engine: &mut E, me: Option<Party>) -> Result<Option<Vec<Bits>>, Error> {
        let (rng, len) = (&mut rng(self.seed), self.len);
        let mut wires = vec![engine.constant(false, len), engine.constant(true, len)];
        for owner in [Party::Receiver, Party::Sender] {
            let rows: Vec<Bits> = (0..3).map(|_| bits(len, rng)).collect();
            wires.extend(engine.input(owner, known(me, owner, &rows))?);
        }
        for _ in 0..self.gates {
            let pick = |rng: &mut StdRng| rng.random_range(0..wires.len());
            let (a, b, c) = (pick(rng), pick(rng), pick(rng));
            let made = match rng.random_range(0..8) {
                0 => vec![engine.xor(&wires[a], &wires[b])],
                1 => vec![engine.not(&wires[a])],
                2 => engine.and(&[(&wires[a], &wires[b])])?,
                3 => {
                    // Pairs of other lengths in one call.
                    let at = rng.random_range(0..=len);
                    let halves = [a, b].map(|row| [wires[row].slice(0..at), wires[row].slice(at..len)]);
                    let layer = [
                        (&halves[0][0], &halves[1][0]),
                        (&wires[b], &wires[c]),
                        (&halves[0][1], &halves[1][1]),
                    ];
                    let made = engine.and(&layer)?;
                    vec![E::Wires::join(&[&made[0], &made[2]]), made[1].clone()]
                }
                4 => engine.and_all(&wires[a], &[wires[b].clone(), wires[c].clone()])?,
                kind @ (5 | 6) => {
                    let owner = if kind == 5 { Party::Sender } else { Party::Receiver };
                    let select = [bits(len, rng)];
                    engine.and_private(
                        owner,
                        known(me, owner, &select),
                        &[wires[b].clone(), wires[c].clone()],
                    )?
                }
                _ => {
                    let positions: Vec<u32> = (0..len).map(|_| rng.random_range(0..len as u32)).collect();
                    let mut row = wires[a].gather(&positions);
                    row.write(len / 2, &wires[b].slice(0..len - len / 2));
                    vec![row]
                }
            };
            wires.extend(made);
        }
        engine.open(self.opening, &wires)
    }

    fn clear(&self) -> Vec<Bits> {
        self.run(&mut Clear::default(), None).unwrap().unwrap()
    }
}

/// What both parties got, and the bytes that the receiver and the sender sent.
struct Ran<S, R> {
    sender: S,
    receiver: R,
    sent: [u64; 2],
}

fn both<S: Send, R>(
    sender: impl FnOnce(&mut Stream) -> S + Send,
    receiver: impl FnOnce(&mut Stream) -> R,
) -> Ran<S, R> {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let ended = sender(&mut there);
            let _ = there.flush();
            (ended, there)
        });
        let receiver = receiver(&mut here);
        let _ = here.flush();
        let sent = here.traffic().payload_sent;
        drop(here);
        let (sender, there) = sending.join().unwrap();
        Ran { sender, receiver, sent: [sent, there.traffic().payload_sent] }
    })
}

/// Runs the circuit over these oblivious transfers, on each back end.
fn agrees<const W: usize, S: CotSender<W>, R: CotReceiver<W>>(
    level: u32,
    circuit: &Random,
    sender: impl Fn(&mut Stream) -> S + Sync,
    receiver: impl Fn(&mut Stream) -> R,
) {
    let expected = circuit.clear();
    for backend in Backend::available() {
        let Ran { sender, receiver, .. } = both(
            |channel| {
                let (ot, mut gates) = (sender(channel), 0);
                let watch = &mut |done| {
                    gates += done;
                    Ok(())
                };
                let garbler = Garbler::new(&context(), level, ot, channel, watch, &mut rng(7)).unwrap();
                (circuit.run(&mut garbler.with_backend(backend), Some(Party::Sender)).unwrap(), gates)
            },
            |channel| {
                let (ot, mut gates) = (receiver(channel), 0);
                let watch = &mut |done| {
                    gates += done;
                    Ok(())
                };
                let evaluator = Evaluator::new(&context(), level, ot, channel, watch).unwrap();
                (circuit.run(&mut evaluator.with_backend(backend), Some(Party::Receiver)).unwrap(), gates)
            },
        );
        let outputs = [(Party::Sender, &sender.0), (Party::Receiver, &receiver.0)];
        for (party, output) in outputs {
            let expected = circuit.opening.is_to(party).then_some(&expected);
            assert!(output.as_ref() == expected, "{party:?} {level} {backend:?} {}", circuit.seed);
        }
        let mut count = Count::default();
        circuit.run(&mut count, None).unwrap();
        assert_eq!([sender.1, receiver.1], [count.ands + count.private_ands; 2]);
    }
}

/// Both strings of each base OT, and Δ.
fn base_ots<const W: usize>(level: u32) -> (Vec<[Seed; 2]>, [Block; W]) {
    let mut prg = WidePrg::from_seed(&[1; 32]);
    let mut seed = || {
        let mut bytes = [0; 32];
        prg.fill(&mut bytes);
        Seed::new(bytes)
    };
    let pairs = (0..level).map(|_| [seed(), seed()]).collect();
    let mut delta = [Block::ZERO; W];
    prg.fill(Block::slice_as_mut_bytes(&mut delta));
    (pairs, delta)
}

fn iknp_sender<const W: usize>(level: u32) -> iknp::Sender<W> {
    let (pairs, delta) = base_ots(level);
    let chosen = pairs.iter().enumerate().map(|(i, pair)| &pair[usize::from(delta[i / 128].bit(i % 128))]);
    iknp::Sender::from_base(&delta, &chosen.cloned().collect::<Vec<_>>()).unwrap()
}

fn iknp_receiver<const W: usize>(level: u32) -> iknp::Receiver<W> {
    iknp::Receiver::from_base(&base_ots::<W>(level).0).unwrap()
}

fn over_iknp<const W: usize>(level: u32, circuit: &Random) {
    agrees::<W, _, _>(level, circuit, |_| iknp_sender(level), |_| iknp_receiver(level));
}

const OPENINGS: [Opening; 3] = [Opening::ToReceiver, Opening::ToSender, Opening::ToBoth];

#[test]
fn outputs_are_those_in_the_clear_at_every_level() {
    for (level, blocks) in LEVELS_AND_BLOCKS {
        for (seed, len) in [(1, 1), (2, 3), (3, 100), (4, 700)] {
            let circuit = Random { seed, len, gates: 40, opening: OPENINGS[seed as usize % 3] };
            match blocks {
                1 => over_iknp::<1>(level, &circuit),
                _ => over_iknp::<2>(level, &circuit),
            }
        }
    }
}

/// The bytes of each message, by the formulas.
#[test]
fn bytes_are_those_of_the_formulas() {
    fn measured<const W: usize>(level: u32) {
        fn circuit<E: Engine>(engine: &mut E, me: Party) {
            let rng = &mut rng(9);
            let [mine, theirs]: [Vec<Bits>; 2] =
                [3, 2].map(|rows| (0..rows).map(|_| bits(1001, rng)).collect());
            let a = engine.input(Party::Receiver, known(Some(me), Party::Receiver, &mine)).unwrap();
            let b = engine.input(Party::Sender, known(Some(me), Party::Sender, &theirs)).unwrap();
            let zero = engine.constant(false, 1001);
            let ands = engine.and(&[(&a[0], &b[0]), (&a[1], &zero)]).unwrap();
            let select = [bits(1001, rng)];
            let private =
                engine.and_private(Party::Sender, known(Some(me), Party::Sender, &select), &ands).unwrap();
            for opening in OPENINGS {
                engine.open(opening, &[private[0].clone(), zero.clone(), engine.not(&private[1])]).unwrap();
            }
        }
        let Ran { sent: [receiver, sender], .. } = both(
            |channel| {
                let watch = &mut |_| Ok(());
                let ot = iknp_sender::<W>(level);
                circuit(
                    &mut Garbler::new(&context(), level, ot, channel, watch, &mut rng(7)).unwrap(),
                    Party::Sender,
                );
            },
            |channel| {
                let watch = &mut |_| Ok(());
                let ot = iknp_receiver::<W>(level);
                circuit(&mut Evaluator::new(&context(), level, ot, channel, watch).unwrap(), Party::Receiver);
            },
        );
        let openings = OPENINGS.map(|opening| opening_bytes(opening, 3 * 1001));
        let opened = [0, 1].map(|party| openings.iter().map(|bytes| bytes[party]).sum::<u64>());
        assert_eq!(receiver, iknp::bytes(level, 3 * 1001) + opened[0]);
        let gates = 2 * 1001 * (table_bytes(level) + private_table_bytes(level));
        let inputs = evaluator_input_bytes(level, 3 * 1001);
        assert_eq!((sender, garbler_input_bytes(level, 2 * 1001)), (gates + inputs + opened[1], 0));
        assert_eq!(table_bytes(level), u64::from(level) / 4);
    }
    measured::<1>(80);
    measured::<1>(128);
    measured::<2>(192);
    measured::<2>(256);
}
