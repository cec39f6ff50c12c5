//! Streams garbled gates over loopback TCP, beside the rates that bound it: the garbler and the evaluator alone, and
//! the connection with bytes that nobody computes.
//!
//! `cargo run --release -p vesica-circuit --example yao_stream [log2 of the gates [level]]`. Both parties run in one
//! process, a thread each. A rate is in millions of AND gates a second of wall time; the second figure is the
//! processor's time, in nanoseconds a gate, of all threads. Where other programs run, only the latter says something:
//! gates streamed should take little more than the three parts alone.
#![allow(clippy::expect_used, reason = "a measurement that fails has nobody to tell")]

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vesica_channel::{CancelToken, Channel, ChannelError, RecvHalf, SendHalf};
use vesica_circuit::gadgets::greater_than::greater;
use vesica_circuit::{Engine, Error, networks, yao};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_net::{Address, Connection, ConnectionSecurity, NetEvent, Options, establish, memory};
use vesica_ot::{Seed, iknp};

/// Rows of a layer, of as many wires as the engine asks for at a time.
const ROWS: usize = 32;

fn context() -> Context {
    Context::new(&[1; 32], "stream", b"", 0, 0)
}

/// Layers of independent gates, each layer on the outputs of the last one.
fn gates<E: Engine>(engine: &mut E, count: u64) -> Result<(), Error> {
    let chunk = engine.chunk();
    let mut wires: Vec<_> = (0..ROWS).map(|row| engine.constant(row % 2 == 0, chunk)).collect();
    for _ in 0..count / (ROWS * chunk) as u64 {
        let layer: Vec<_> = (0..ROWS).map(|row| (&wires[row], &wires[(row + 1) % ROWS])).collect();
        wires = engine.and(&layer)?;
    }
    Ok(())
}

/// A merger of two lists of so many numbers of 32 bits, beside the layers above: what the wires on their way between
/// gates take.
fn merger<E: Engine>(engine: &mut E, count: usize) -> Result<(), Error> {
    let mut rows: Vec<_> = (0..ROWS).map(|row| engine.constant(row % 2 == 0, 2 * count)).collect();
    networks::merge(engine, &mut rows, greater)
}

/// No transfer is made: all inputs are constants.
fn base_ots(level: u32) -> Vec<[Seed; 2]> {
    let mut rng = StdRng::seed_from_u64(3);
    let mut seed = || {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Seed::new(bytes)
    };
    (0..level).map(|_| [seed(), seed()]).collect()
}

fn garble<const W: usize>(
    level: u32,
    channel: &mut dyn Channel,
    circuit: impl FnOnce(&mut yao::Garbler<'_, iknp::Sender<W>, W>),
) {
    let seeds: Vec<Seed> = base_ots(level).into_iter().map(|[zero, _]| zero).collect();
    let ot = iknp::Sender::<W>::from_base(&[Block::ZERO; W], &seeds).expect("a level");
    let (watch, rng) = (&mut |_| Ok(()), &mut StdRng::seed_from_u64(4));
    circuit(&mut yao::Garbler::new(&context(), level, ot, channel, watch, rng).expect("a level"));
}

fn evaluate<const W: usize>(
    level: u32,
    channel: &mut dyn Channel,
    circuit: impl FnOnce(&mut yao::Evaluator<'_, iknp::Receiver<W>, W>),
) {
    let ot = iknp::Receiver::<W>::from_base(&base_ots(level)).expect("a level");
    let watch = &mut |_| Ok(());
    circuit(&mut yao::Evaluator::new(&context(), level, ot, channel, watch).expect("a level"));
}

/// Takes all that is sent, and has zeros to receive.
#[derive(Default)]
struct Void {
    sending: End,
    receiving: End,
}

#[derive(Default)]
struct End;

impl SendHalf for End {
    fn send(&mut self, _: &[u8]) -> Result<(), ChannelError> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), ChannelError> {
        Ok(())
    }
    fn check(&self) -> Result<(), ChannelError> {
        Ok(())
    }
    fn abort(&mut self) {}
}

impl RecvHalf for End {
    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        into.fill(0);
        Ok(())
    }
    fn readable(&self) -> usize {
        usize::MAX
    }
}

impl Channel for Void {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.sending.send(bytes)
    }
    fn flush(&mut self) -> Result<(), ChannelError> {
        Ok(())
    }
    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        self.receiving.recv_exact(into)
    }
    fn readable(&self) -> usize {
        usize::MAX
    }
    fn split(&mut self) -> (&mut dyn SendHalf, &mut dyn RecvHalf) {
        (&mut self.sending, &mut self.receiving)
    }
    fn expect_within(&mut self, _: Option<Duration>) {}
}

fn tcp() -> (Connection, Connection) {
    let (plain, options) = (
        ConnectionSecurity::InsecurePlaintext,
        Options { silence: Duration::from_secs(30), ..Options::default() },
    );
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let listening = scope.spawn(|| {
            let mut tell = move |event| {
                if let NetEvent::Listening(address) = event {
                    sender.send(address).expect("tell");
                }
            };
            let address = Address::Listen("127.0.0.1:0".to_owned());
            establish(&address, &plain, &options, &mut StdRng::seed_from_u64(1), &mut tell).expect("listen")
        });
        let address = Address::Connect(receiver.recv().expect("address").to_string());
        let two = establish(&address, &plain, &options, &mut StdRng::seed_from_u64(2), &mut |_| ())
            .expect("connect");
        (listening.join().expect("listener"), two)
    })
}

/// The time that all threads of this process have run, where Linux tells it (in steps of 10 ms).
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Millions of gates a second, and the processor's nanoseconds a gate.
#[derive(Clone, Copy)]
struct Rate {
    wall: f64,
    processor: f64,
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>8.1} M/s {:>8.1} ns", self.wall, self.processor)
    }
}

fn rate(count: u64, work: impl FnOnce()) -> Rate {
    let (started, ran) = (Instant::now(), processor());
    work();
    let (wall, ran) = (started.elapsed().as_secs_f64(), processor() - ran);
    Rate { wall: count as f64 / wall / 1e6, processor: ran * 1e9 / count as f64 }
}

/// Both ends of a connection at work.
fn both(
    (mut here, mut there): (Connection, Connection),
    garble: impl FnOnce(&mut dyn Channel) + Send,
    evaluate: impl FnOnce(&mut dyn Channel),
) {
    thread::scope(|scope| {
        scope.spawn(move || {
            garble(&mut there);
            there.finish(&[]).expect("finish");
        });
        evaluate(&mut here);
        here.finish(&[]).expect("finish");
    });
}

fn measure<const W: usize>(level: u32, count: u64) {
    let total = count * yao::table_bytes(level);
    println!("level {level}, 2^{} gates, {} bytes a gate", count.ilog2(), yao::table_bytes(level));
    let void = &mut Void::default();
    let garbled = rate(count, || garble::<W>(level, void, |engine| gates(engine, count).expect("gates")));
    let evaluated = rate(count, || evaluate::<W>(level, void, |engine| gates(engine, count).expect("gates")));
    println!("  garbler alone      {garbled}\n  evaluator alone    {evaluated}");
    let numbers = 1 << count.ilog2().saturating_sub(11);
    let merged = 2 * ROWS as u64 * networks::merge_sorters(2 * numbers as u64);
    let garbler = rate(merged, || garble::<W>(level, void, |engine| merger(engine, numbers).expect("gates")));
    let evaluator =
        rate(merged, || evaluate::<W>(level, void, |engine| merger(engine, numbers).expect("gates")));
    println!("  garbler, a merger  {garbler}\n  evaluator, a merger{evaluator}");
    for (name, connect) in
        [("memory", (|| memory::pair(&CancelToken::new())) as fn() -> (Connection, Connection)), ("tcp", tcp)]
    {
        let (out, mut into) = (vec![7; 64 << 10], vec![0; 64 << 10]);
        let connection = connect();
        let bytes = rate(count, || {
            both(
                connection,
                |channel| (0..total >> 16).for_each(|_| channel.send(&out).expect("send")),
                |channel| (0..total >> 16).for_each(|_| channel.recv_exact(&mut into).expect("receive")),
            );
        });
        let connection = connect();
        let gates = rate(count, || {
            both(
                connection,
                |channel| garble::<W>(level, channel, |engine| gates(engine, count).expect("gates")),
                |channel| evaluate::<W>(level, channel, |engine| gates(engine, count).expect("gates")),
            );
        });
        let bound = bytes.wall.min(garbled.wall).min(evaluated.wall);
        let parts = bytes.processor + garbled.processor + evaluated.processor;
        println!("  {name:<6} bytes alone {bytes}\n  {name:<6} gates       {gates}");
        println!(
            "         of the least rate {:.0} %, of the parts' processor time {:.2}",
            100.0 * gates.wall / bound,
            gates.processor / parts
        );
    }
}

fn main() {
    vesica_crypto::memory::keep_freed_memory();
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>().expect("a number"));
    let count = 1 << arguments.next().unwrap_or(26);
    let only = arguments.next();
    for level in iknp::LEVELS {
        if only.is_none_or(|only| only == level) {
            if level <= 128 { measure::<1>(level, count) } else { measure::<2>(level, count >> 3) }
        }
    }
}
