//! Multiplication triples from each source, and layers of AND gates, beside their floors on this processor.
//!
//! `cargo run --release -p vesica-circuit --example triples [log2 of the triples [source]]`. Both parties run in one process, a
//! thread each, over memory. A rate is in millions a second: of wall time, and of the processor's time of one party,
//! which says something where other programs run, too.
//!
//! **The floor** is what the parts of a triple take by themselves: blocks of AES, rows of 128 bits transposed, and for
//! silent OT the passes of the code over its noise. A triple takes two OTs, one in each direction, of which a party
//! sends one and receives one. The hash of a string is two blocks: four for both strings of the sender, two for the
//! receiver.
//!
//! | source | blocks of generators | blocks of hashes | rows transposed | bytes of each party |
//! |---|---|---|---|---|
//! | IKNP | 3 | 6 | 2 | 16 |
//! | SoftSpoken, k | 2·2^k/k | 6 | 2 | 16/k - 1/8 |
//! | silent | 6 for 4 leaves | 6 | 0 | less than 1/4 |
#![allow(clippy::unwrap_used, reason = "a measurement that fails has nobody to tell")]

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_core::CryptoRng;
use vesica_channel::{Channel, Stream, memory};
use vesica_circuit::gmw::{Correlations, Demand, Gmw, Need, RandomOts, Received, Sent, Triples};
use vesica_circuit::{Bits, Engine, Error, Party};
use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;
use vesica_crypto::transpose::{COLUMNS, ROWS, Tile, transpose};
use vesica_ot::base::Origin;
use vesica_ot::security::{Profile, SemiHonest};
use vesica_ot::softspoken::{self, Width};
use vesica_ot::vole::in_pieces::{self, Rooms};
use vesica_ot::vole::{Plan, WIDTH};
use vesica_ot::{CotReceiver, CotSender, iknp};

const BASE: [Label; 2] = [Label::new("example: receiver sends"), Label::new("example: sender sends")];

/// Gates of a row of wires of a layer.
const ROW: usize = 1 << 20;

fn context(party: Party) -> Context {
    Context::new(&[1; 32], "triples", b"", party as u64, 0)
}

/// The time that this thread has run, where Linux tells it.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ran| ran.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

/// Seconds: of wall time, and of the processor's for the slower party.
#[derive(Clone, Copy)]
struct Time {
    wall: f64,
    processor: f64,
}

/// What both parties take, each with its end of a memory channel.
fn both(party: impl Fn(Party, &mut Stream) + Sync) -> Time {
    let (mut here, mut there) = memory::pair();
    let start = Instant::now();
    let timed = |who, channel: &mut Stream| {
        let before = processor();
        party(who, channel);
        processor() - before
    };
    let [receiver, sender] = thread::scope(|scope| {
        let sender = scope.spawn(|| timed(Party::Sender, &mut there));
        let receiver = timed(Party::Receiver, &mut here);
        [receiver, sender.join().unwrap()]
    });
    Time { wall: start.elapsed().as_secs_f64(), processor: receiver.max(sender) }
}

/// Best of several runs of `work`, in nanoseconds by unit.
fn best(units: usize, mut work: impl FnMut()) -> f64 {
    let times = (0..200).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / units as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Nanoseconds of a block of a generator, of a block of the hash, and of a row transposed.
struct Parts {
    generated: f64,
    hashed: f64,
    row: f64,
}

fn parts() -> Parts {
    let (mut prg, hash) = (Prg::from_seed([1; 16]), FixedKey::new(Block::ONES));
    let (mut blocks, mut words) = (vec![Block::ZERO; 1024], [0; 16]);
    let generated = best(1024 * 16, || (0..16).for_each(|_| prg.fill_blocks(black_box(&mut blocks))));
    let hashed = best(2 * 1024 * 16, || {
        (0..16).for_each(|i| hash.tccr_bits(i, &Block::ONES, black_box(&blocks), black_box(&mut words)));
    });
    let (mut tile, mut columns): (Tile, _) = ([[Block::ZERO; 8]; ROWS], [Block::ZERO; COLUMNS]);
    prg.fill_blocks(tile.as_flattened_mut());
    let row =
        best(COLUMNS * 16, || (0..16).for_each(|_| transpose(black_box(&tile), black_box(&mut columns))));
    println!(
        "a block generated {generated:.3} ns, a block of the hash to a bit {hashed:.3} ns, a row transposed {row:.3} ns"
    );
    Parts { generated, hashed, row }
}

fn line(what: &str, count: usize, floor: f64, time: impl FnOnce() -> Time) {
    if std::env::args().nth(2).is_some_and(|only| !what.starts_with(&only)) {
        return;
    }
    let time = time();
    let rate = |seconds: f64| count as f64 / seconds / 1e6;
    println!(
        "{what:<28} {:>8.1} {:>8.1} {:>8.1}   {:>6.2}",
        rate(time.wall),
        rate(time.processor),
        1e3 / floor,
        time.processor * 1e9 / count as f64 / floor
    );
}

/// Takes triples of one bit, as layers do.
fn take(mut triples: impl Correlations, count: usize, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) {
    const LAYER: usize = 1 << 22;
    for at in (0..count).step_by(LAYER) {
        let lacking = LAYER.min(count - at);
        triples.reserve(Need::Bits(lacking), channel, rng, &mut |_| Ok(())).unwrap();
        black_box(triples.bits(lacking).unwrap());
    }
}

/// Both directions of an extension, the receiver's OTs first.
fn over<S: CotSender<1>, R: CotReceiver<1>>(
    count: usize,
    send: impl Fn(Party, &mut Stream, &mut StdRng) -> S + Sync,
    receive: impl Fn(Party, &mut Stream, &mut StdRng) -> R + Sync,
) -> Time {
    both(|party, channel| {
        let rng = &mut StdRng::seed_from_u64(party as u64);
        let (send, receive) = match party {
            Party::Receiver => {
                let send = send(Party::Receiver, channel, rng);
                (send, receive(Party::Sender, channel, rng))
            }
            Party::Sender => {
                let receive = receive(Party::Receiver, channel, rng);
                (send(Party::Sender, channel, rng), receive)
            }
        };
        let demand = Demand { bits: count as u64, ..Demand::default() };
        let ots = RandomOts::new(&context(Party::Receiver), party, send, receive, demand);
        take(ots, count, channel, rng);
    })
}

/// Triples that cost nothing and hide nothing, to time layers by themselves.
struct Zeros;

impl Correlations for Zeros {
    fn bits(&mut self, count: usize) -> Result<Triples, Error> {
        let row = || Bits::repeat(false, count);
        Ok(Triples { a: row(), b: vec![row()], c: vec![row()] })
    }

    fn received(&mut self, count: usize, width: usize) -> Result<Received, Error> {
        let strings = vec![Bits::repeat(false, count); width];
        Ok(Received { choices: Bits::repeat(false, count), strings })
    }

    fn sent(&mut self, count: usize, width: usize) -> Result<Sent, Error> {
        let rows = || vec![Bits::repeat(false, count); width];
        Ok(Sent { zeros: rows(), differences: rows() })
    }
}

/// Layers of four rows of gates, each layer on the outputs of the last one.
fn layers(count: usize) -> Time {
    both(|party, channel| {
        let (zeros, watch, rng) = (&mut Zeros, &mut |_| Ok(()), &mut StdRng::seed_from_u64(9));
        let mut engine = Gmw::new(party, zeros, channel, watch, rng).unwrap();
        let mut wires: Vec<_> = (0..4).map(|row| engine.constant(row % 2 == 0, ROW)).collect();
        for _ in 0..count / (4 * ROW) {
            let layer: Vec<_> = (0..4).map(|row| (&wires[row], &wires[(row + 1) % 4])).collect();
            wires = engine.and(&layer).unwrap();
        }
    })
}

fn main() {
    vesica_crypto::memory::keep_freed_memory();
    let log: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(24);
    let count = 1usize << log;
    let Parts { generated, hashed, row } = parts();
    println!("{:<28} {:>8} {:>8} {:>8}   {:>6}", "M/s", "wall", "one core", "floor", "ratio");
    let floor = |blocks: f64, rows: f64| blocks * generated + 6.0 * hashed + rows * row;
    line("IKNP", count, floor(3.0, 2.0), || {
        over(
            count,
            |sender, channel, rng| {
                let label = BASE[sender as usize];
                iknp::Sender::<1>::setup(&context(sender), label, 128, Origin::default(), channel, rng)
                    .unwrap()
            },
            |sender, channel, rng| {
                let label = BASE[sender as usize];
                iknp::Receiver::<1>::setup(&context(sender), label, 128, Origin::default(), channel, rng)
                    .unwrap()
            },
        )
    });
    for (width, k) in [(Width::Two, 2), (Width::Four, 4), (Width::Eight, 8)] {
        line(&format!("SoftSpoken, k = {k}"), count, floor(f64::from(2 << k) / f64::from(k), 2.0), || {
            over(
                count,
                |sender, channel, rng| {
                    softspoken::Sender::<SemiHonest>::setup(
                        &context(sender),
                        width,
                        Origin::default(),
                        channel,
                        rng,
                    )
                    .unwrap()
                },
                |sender, channel, rng| {
                    softspoken::Receiver::<SemiHonest>::setup(
                        &context(sender),
                        width,
                        Origin::default(),
                        channel,
                        rng,
                    )
                    .unwrap()
                },
            )
        });
    }
    let plan = Plan::of_bits(count, Profile::Conservative);
    let rooms = [Rooms::default(), Rooms::default()];
    line("silent", count, floor(6.0, 0.0), || {
        over(
            count,
            |sender, channel, rng| {
                let ot = softspoken::Sender::setup(&context(sender), WIDTH, Origin::default(), channel, rng)
                    .unwrap();
                in_pieces::Sender::new(&context(sender), &plan, ot, &rooms[sender as usize], rng)
            },
            |sender, channel, rng| {
                let ot =
                    softspoken::Receiver::setup(&context(sender), WIDTH, Origin::default(), channel, rng)
                        .unwrap();
                in_pieces::Receiver::new(&context(sender), &plan, ot, &rooms[sender.other() as usize], rng)
            },
        )
    });
    let gates = count.max(4 * ROW);
    // Words of 64 gates: three of a triple and two of inputs are read, two sent and two received, one is written.
    line("layers of gates", gates, 10.0 / 64.0 * generated, || layers(gates));
}
