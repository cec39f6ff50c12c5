use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_channel::tampered::{self, Direction, Frame};
use vesica_channel::{Channel, Kind, Stream, memory};
use vesica_crypto::backend::Backend;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::wide_prg::WidePrg;
use vesica_ot::base::KeyAgreement;
use vesica_ot::kos::Revised;
use vesica_ot::security::{Malicious, Profile, SecurityModel, SemiHonest};
use vesica_ot::vole::{Bit, Check};
use vesica_ot::{
    CotReceiver, CotSender, Seed, ideal as ideal_ot, iknp, kos, silent, small_field, softspoken,
};

use super::*;
use crate::bits::Bits;
use crate::clear::Clear;
use crate::count::Count;
use crate::engine::{Engine, Input};
use crate::error::Error;
use crate::wires::Wires;

const LEVELS_AND_BLOCKS: [(u32, usize); 5] = [(80, 1), (112, 1), (128, 1), (192, 2), (256, 2)];

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
        assert_eq!(sender, gates + inputs + opened[1]);
        assert_eq!(table_bytes(level), u64::from(level) / 4);
    }
    measured::<1>(80);
    measured::<1>(128);
    measured::<2>(192);
    measured::<2>(256);
}

#[test]
fn any_oblivious_transfer_serves() {
    fn at<S: SecurityModel + Check<Bit>>(level: u32, circuit: &Random) {
        let width = small_field::Width::Four;
        agrees::<1, _, _>(
            level,
            circuit,
            |channel| {
                softspoken::Sender::<S>::setup(&context(), width, S::BaseOts::default(), channel, &mut rng(1))
                    .unwrap()
            },
            |channel| {
                softspoken::Receiver::<S>::setup(
                    &context(),
                    width,
                    S::BaseOts::default(),
                    channel,
                    &mut rng(2),
                )
                .unwrap()
            },
        );
        let mut count = Count::default();
        circuit.run(&mut count, None).unwrap();
        let (ots, profile) = (count.inputs[0] as usize, Profile::Conservative);
        agrees::<1, _, _>(
            level,
            circuit,
            |channel| {
                silent::Sender::<S>::setup(
                    &context(),
                    ots,
                    profile,
                    KeyAgreement::default(),
                    channel,
                    &mut rng(1),
                )
                .unwrap()
            },
            |channel| {
                silent::Receiver::<S>::setup(
                    &context(),
                    ots,
                    profile,
                    KeyAgreement::default(),
                    channel,
                    &mut rng(2),
                )
                .unwrap()
            },
        );
    }
    let circuit = Random { seed: 5, len: 100, gates: 20, opening: Opening::ToBoth };
    at::<SemiHonest>(80, &circuit);
    at::<Malicious>(128, &circuit);
    agrees::<1, _, _>(
        128,
        &circuit,
        |channel| {
            kos::Sender::<Revised>::setup(&context(), KeyAgreement::default(), channel, &mut rng(1)).unwrap()
        },
        |channel| {
            kos::Receiver::<Revised>::setup(&context(), KeyAgreement::default(), channel, &mut rng(2))
                .unwrap()
        },
    );
    agrees::<2, _, _>(
        256,
        &circuit,
        |channel| ideal_ot::Sender::setup(&context(), 256, channel, &mut rng(1)).unwrap(),
        |channel| ideal_ot::Receiver::setup(&context(), 256, channel, &mut rng(2)).unwrap(),
    );
}

#[test]
fn the_ideal_twin_agrees() {
    for opening in OPENINGS {
        let circuit = Random { seed: 8, len: 70, gates: 40, opening };
        let ran = both(
            |channel| {
                circuit.run(&mut ideal::Ideal::new(Party::Sender, channel), Some(Party::Sender)).unwrap()
            },
            |channel| {
                circuit.run(&mut ideal::Ideal::new(Party::Receiver, channel), Some(Party::Receiver)).unwrap()
            },
        );
        let expected = circuit.clear();
        for (party, output) in [(Party::Sender, ran.sender), (Party::Receiver, ran.receiver)] {
            assert_eq!(output.as_ref(), opening.is_to(party).then_some(&expected));
        }
    }
}

/// The digest of all that the garbler sends, so that no refactor changes it unnoticed.
#[test]
fn transcripts_are_known() {
    fn digest<const W: usize>(level: u32) -> String {
        let circuit = Random { seed: 9, len: 300, gates: 30, opening: Opening::ToReceiver };
        let ran = both(
            |channel| {
                let (ot, watch) = (iknp_sender::<W>(level), &mut |_| Ok(()));
                let mut garbler = Garbler::new(&context(), level, ot, channel, watch, &mut rng(7)).unwrap();
                circuit.run(&mut garbler, Some(Party::Sender)).unwrap();
                channel.digests().sent
            },
            |channel| {
                let (ot, watch) = (iknp_receiver::<W>(level), &mut |_| Ok(()));
                let mut evaluator = Evaluator::new(&context(), level, ot, channel, watch).unwrap();
                circuit.run(&mut evaluator, Some(Party::Receiver)).unwrap();
            },
        );
        ran.sender[..4].iter().map(|byte| format!("{byte:02x}")).collect()
    }
    let digests = [digest::<1>(80), digest::<1>(128), digest::<2>(192), digest::<2>(256)];
    assert_eq!(digests, ["b2e186f7", "20a7a1ee", "7d3b305d", "007a7a7e"]);
}

/// A garbler with nobody to talk to.
fn garbler<const W: usize>(level: u32, seed: u64, work: impl FnOnce(&mut Garbler<'_, iknp::Sender<W>, W>)) {
    let (_here, mut there) = memory::pair();
    let watch = &mut |_| Ok(());
    work(
        &mut Garbler::new(&context(), level, iknp_sender(level), &mut there, watch, &mut rng(seed)).unwrap(),
    );
}

/// The permute bits of the two labels of a wire differ, and Δ is of this run and has all bits of the level.
#[test]
fn flaw_the_offset_is_odd_and_fresh() {
    fn check<const W: usize>(level: u32) {
        let mut all = [Block::ZERO; W];
        let mut seen = std::collections::HashSet::new();
        for seed in 0..64 {
            garbler::<W>(level, seed, |garbler| {
                let wires = garbler.constant(false, 1);
                let other = garbler.not(&wires);
                assert_ne!(wires.low_bits(), other.low_bits());
                let offset = Block::xor_rows(&wires.0[0], &other.0[0]);
                all.iter_mut().zip(offset).for_each(|(all, block)| *all = !(!*all & !block));
                assert!(seen.insert(offset.map(Block::to_bytes)));
            });
        }
        let bytes = Block::slice_as_bytes(&all);
        let (used, unused) = bytes.split_at(level as usize / 8);
        assert!(used.iter().all(|byte| *byte == u8::MAX) && unused.iter().all(|byte| *byte == 0));
    }
    check::<1>(80);
    check::<1>(128);
    check::<2>(192);
    check::<2>(256);
}

/// The evaluator's labels of constants and of the garbler's bits say nothing: they are equal.
#[test]
fn public_labels_do_not_depend_on_the_bit() {
    let (mut here, _there) = memory::pair();
    let watch = &mut |_| Ok(());
    let mut evaluator = Evaluator::new(&context(), 128, iknp_receiver::<1>(128), &mut here, watch).unwrap();
    let (zero, one) = (evaluator.constant(false, 2), evaluator.constant(true, 2));
    assert_eq!(zero.low_bits(), one.low_bits());
    let input = evaluator.input(Party::Sender, Input::Hidden { rows: 1, len: 2 }).unwrap();
    assert!(input[0].0[..] == zero.0[..] && one.0[..] == zero.0[..]);
}

#[test]
fn a_party_knows_its_own_bits_alone() {
    let (mine, theirs) = ([Bits::repeat(true, 3)], Input::Hidden { rows: 1, len: 3 });
    garbler::<1>(128, 1, |garbler| {
        let value = [garbler.constant(true, 3)];
        assert_eq!(garbler.input(Party::Sender, theirs).err(), Some(Error::NotMine));
        assert_eq!(garbler.input(Party::Receiver, Input::Known(&mine)).err(), Some(Error::NotMine));
        let private = garbler.and_private(Party::Receiver, Input::Known(&mine), &value);
        assert_eq!(private.err(), Some(Error::NotMine));
    });
    let (mut here, _there) = memory::pair();
    let watch = &mut |_| Ok(());
    let mut evaluator = Evaluator::new(&context(), 128, iknp_receiver::<1>(128), &mut here, watch).unwrap();
    let value = [evaluator.constant(true, 3)];
    assert_eq!(evaluator.input(Party::Receiver, theirs).err(), Some(Error::NotMine));
    assert_eq!(evaluator.input(Party::Sender, Input::Known(&mine)).err(), Some(Error::NotMine));
    let private = evaluator.and_private(Party::Sender, Input::Known(&mine), &value);
    assert_eq!(private.err(), Some(Error::NotMine));
}

#[test]
fn labels_have_the_bits_of_a_level() {
    let (mut here, _there) = memory::pair();
    for level in [0, 64, 96, 192, 256] {
        let watch = &mut |_| Ok(());
        let evaluator = Evaluator::new(&context(), level, iknp_receiver::<1>(128), &mut here, watch);
        assert_eq!(evaluator.err(), Some(Error::UnfitLevel { level, blocks: 1 }));
    }
}

#[test]
fn the_caller_can_stop() {
    let (_here, mut there) = memory::pair();
    let mut left = 1000;
    let watch = &mut |gates| {
        left -= i64::try_from(gates).unwrap();
        if left > 0 { Ok(()) } else { Err(Error::Cancelled) }
    };
    let ot = iknp_sender::<1>(128);
    let mut garbler = Garbler::new(&context(), 128, ot, &mut there, watch, &mut rng(1)).unwrap();
    let wires = garbler.constant(true, 100_000);
    assert_eq!(garbler.and(&[(&wires, &wires)]).err(), Some(Error::Cancelled));
}

/// The evaluator's side over altered frames of the garbler, and how it ended; all wires are opened to it.
fn under_attack(tap: impl FnMut(Direction, Frame) -> Vec<Frame> + Send + 'static) -> Result<(), Error> {
    let circuit = Random { seed: 10, len: 600, gates: 30, opening: Opening::ToReceiver };
    let (mut here, mut there) = tampered::pair(tap);
    thread::scope(|scope| {
        let circuit = &circuit;
        scope.spawn(move || {
            let watch = &mut |_| Ok(());
            let ot = iknp_sender::<1>(128);
            let mut garbler = Garbler::new(&context(), 128, ot, &mut there, watch, &mut rng(7)).unwrap();
            // It fails where the evaluator gave up.
            let _ = circuit.run(&mut garbler, Some(Party::Sender));
            let _ = there.finish(&[]);
        });
        let watch = &mut |_| Ok(());
        let mut evaluator =
            Evaluator::new(&context(), 128, iknp_receiver::<1>(128), &mut here, watch).unwrap();
        let ended = circuit.run(&mut evaluator, Some(Party::Receiver)).map(drop);
        drop(here);
        ended
    })
}

/// A garbled circuit has no redundancy: from wrong tables come wrong values, and no failure that could tell the
/// garbler something. What a network alters, the digests of the session find.
#[test]
fn garbage_evaluates_to_garbage() {
    assert_eq!(under_attack(|_, frame| vec![frame]), Ok(()));
    let mut prg = WidePrg::from_seed(&[2; 32]);
    let garbage = under_attack(move |direction, mut frame| {
        if direction == Direction::SecondToFirst && frame.kind == Kind::Data {
            prg.fill(&mut frame.payload);
        }
        vec![frame]
    });
    assert_eq!(garbage, Ok(()));
}

#[test]
fn tables_that_end_early_are_an_error() {
    for frames in [0, 1, 2] {
        let mut seen = 0;
        let ended = under_attack(move |direction, mut frame| {
            if direction == Direction::FirstToSecond || frame.kind != Kind::Data {
                return vec![frame];
            }
            seen += 1;
            if seen <= frames {
                return vec![frame];
            }
            frame.payload.truncate(frame.payload.len() / 2);
            vec![frame, Frame { kind: Kind::Done, payload: Vec::new() }]
        });
        let channel =
            |error: &Error| matches!(error, Error::Channel(_) | Error::Ot(vesica_ot::Error::Channel(_)));
        assert!(ended.as_ref().is_err_and(channel), "{frames} {ended:?}");
    }
}

/// Bits of the receiver: so many that its message of the extension is longer than those of any set-up.
const MANY: usize = 20_000;

/// How a garbler ends that has an input of a receiver which changes a bit of its message of the extension.
fn with_cheating_receiver<S: CotSender<1>, R: CotReceiver<1>>(
    sender: impl FnOnce(&mut Stream) -> S + Send,
    receiver: impl FnOnce(&mut Stream) -> R,
    engine: impl for<'a> FnOnce(S, &'a mut Stream, &'a mut Watch<'a>) -> Result<Garbler<'a, S, 1>, Error> + Send,
) -> Result<(), Error> {
    let mut changed = false;
    let (mut here, mut there) = tampered::pair(move |direction, mut frame| {
        if direction == Direction::FirstToSecond && frame.payload.len() > 60 << 10 && !changed {
            frame.payload[20_000] ^= 1;
            changed = true;
        }
        vec![frame]
    });
    thread::scope(|scope| {
        let garbling = scope.spawn(move || {
            let ot = sender(&mut there);
            let mut watch = |_| Ok(());
            let mut garbler = engine(ot, &mut there, &mut watch)?;
            garbler.input(Party::Receiver, Input::Hidden { rows: 1, len: MANY })?;
            Ok(())
        });
        let (ot, watch) = (receiver(&mut here), &mut |_| Ok(()));
        let mut evaluator = Evaluator::new(&context(), 128, ot, &mut here, watch).unwrap();
        // It fails where the garbler gave up.
        let _ = evaluator.input(Party::Receiver, Input::Known(&[bits(MANY, &mut rng(3))]));
        garbling.join().unwrap()
    })
}

/// A receiver whose columns of an extension belong to different choices learns bits of Δ, and with Δ every wire. The
/// form for malicious parties notices it. The semi-honest one does not, so this test fails if the forms are confused.
#[test]
fn flaw_a_cheating_receiver_is_noticed() {
    let honest_looking = with_cheating_receiver(
        |_| iknp_sender::<1>(128),
        |_| iknp_receiver::<1>(128),
        |ot, channel, watch| Garbler::new(&context(), 128, ot, channel, watch, &mut rng(7)),
    );
    assert_eq!(honest_looking, Ok(()));
    let width = small_field::Width::Four;
    let noticed = with_cheating_receiver(
        |channel| {
            softspoken::Sender::<Malicious>::setup(
                &context(),
                width,
                KeyAgreement::default(),
                channel,
                &mut rng(1),
            )
            .unwrap()
        },
        |channel| {
            softspoken::Receiver::<Malicious>::setup(
                &context(),
                width,
                KeyAgreement::default(),
                channel,
                &mut rng(2),
            )
            .unwrap()
        },
        |ot, channel, watch| Garbler::receiver_only(&context(), 128, ot, channel, watch, &mut rng(7)),
    );
    assert_eq!(noticed, Err(Error::Ot(vesica_ot::Error::Inconsistent)));
}

/// Where the receiver alone learns the outputs, it sends nothing but its side of the transfers, and neither party can
/// be made to open to the sender.
#[test]
fn the_sender_learns_nothing_of_a_receiver_only_circuit() {
    for opening in OPENINGS {
        let circuit = Random { seed: 11, len: 50, gates: 20, opening };
        let ran = both(
            |channel| {
                let ot = ideal_ot::Sender::setup(&context(), 128, channel, &mut rng(1)).unwrap();
                let watch = &mut |_| Ok(());
                let garbler =
                    Garbler::<_, 1>::receiver_only(&context(), 128, ot, channel, watch, &mut rng(7));
                circuit.run(&mut garbler.unwrap(), Some(Party::Sender))
            },
            |channel| {
                let ot = ideal_ot::Receiver::setup(&context(), 128, channel, &mut rng(2)).unwrap();
                let watch = &mut |_| Ok(());
                let evaluator = Evaluator::<_, 1>::receiver_only(&context(), 128, ot, channel, watch);
                circuit.run(&mut evaluator.unwrap(), Some(Party::Receiver))
            },
        );
        if opening == Opening::ToReceiver {
            assert_eq!((ran.sender, ran.receiver), (Ok(None), Ok(Some(circuit.clear()))));
        } else {
            assert_eq!([ran.sender, ran.receiver], [const { Err(Error::OpensToSender) }; 2]);
        }
        // The choices of three rows and of each `and_private`, a byte for eight: nothing of the gates, nothing opened.
        let mut count = Count::default();
        circuit.run(&mut count, None).unwrap();
        let calls = (count.inputs[0] / 50 - 3) * 7;
        assert_eq!(ran.sent[0], 150_u64.div_ceil(8) + calls);
    }
}
