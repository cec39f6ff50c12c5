//! Times base OTs and the extension of the papers, each beside its floor on this processor: the same blocks
//! of AES, tiles to transpose and bytes to digest, with nothing in between.
//!
//! `cargo run --release -p vesica-ot --example extensions [log2 of OTs]`. Both parties run in one process, a
//! thread each, over memory. A figure is the wall time of both, by OT.
//!
//! `… --example extensions softspoken COUNT` makes so many OTs by SoftSpoken with its check, as `gbf-rr16` does
//! (k = 4, choices of the receiver's own), and nothing else: what that protocol's time is compared with.
//!
//! **The floor.** A core of Zen 4 makes a block of AES in 0.69 ns. It transposes a row of 128 bits in
//! 0.48 ns: 64 bytes take seven two-input shuffles and an affine product, which is 2 cycles a row. Together
//! that is 1.17 ns, without reading or writing memory. For a random OT the sender takes one block of a
//! generator and, for both strings, four of the hash: 5·0.69 + 0.48 = 3.9 ns. The receiver takes two and two:
//! 3.2 ns. The transcript digest of its 16 bytes adds 2.6 ns for each (0.16 ns a byte). On a core with twice
//! the AES (Zen 5) the sums would be 2.2 and 1.9 ns. A protocol that needs one string of an OT, or a few,
//! takes less: strings are hashed on demand.
#![allow(clippy::unwrap_used, reason = "a measurement that fails has nobody to tell")]

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vesica_channel::{Channel, memory};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::{Prg, Streams};
use vesica_crypto::transpose::{COLUMNS, ROWS, Tile, transpose};
use vesica_ot::base::{KeyAgreement, Origin};
use vesica_ot::random::{OtPads, add_delta};
use vesica_ot::security::Malicious;
use vesica_ot::softspoken::{self, Width};
use vesica_ot::{CotReceiver, CotSender, base, iknp};

const LABEL: Label = Label::new("example");
const STRINGS: Label = Label::new("example: strings");
const CHUNK: usize = 1 << 13;

fn context() -> Context {
    Context::new(&[1; 32], "extensions", b"", 0, 0)
}

/// Best of several runs of `work`, in nanoseconds by unit.
fn best(runs: usize, units: usize, mut work: impl FnMut()) -> f64 {
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / units as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn line(what: &str, figure: f64, floor: f64) {
    println!("{what:<52} {figure:>8.3} {floor:>8.3} {:>6.2}", figure / floor);
}

/// Both roles at once, each with an end of a memory channel.
fn both<A: Send, B>(
    sender: impl FnOnce(&mut dyn Channel) -> A + Send,
    receiver: impl FnOnce(&mut dyn Channel) -> B,
) -> (A, B) {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let ended = sender(&mut there);
            there.flush().unwrap();
            (ended, there)
        });
        let ended = receiver(&mut here);
        here.flush().unwrap();
        (sender.join().unwrap().0, ended)
    })
}

fn bases() {
    let choices = [0x5a; 16];
    for agreement in KeyAgreement::ALL {
        // Of the receiver's message, the sender's strings with its message, and the receiver's strings.
        let mut times = [f64::INFINITY; 3];
        for _ in 0..10 {
            let (context, rng) = (&context(), &mut StdRng::seed_from_u64(1));
            let mut clock = Instant::now();
            let mut lap = |time: &mut f64| {
                *time = time.min(clock.elapsed().as_secs_f64() * 1e3);
                clock = Instant::now();
            };
            let (receiver, message) =
                base::key_agreement::Receiver::new(agreement, context, LABEL, &choices, 128, rng);
            lap(&mut times[0]);
            let sent = base::key_agreement::answer(agreement, context, LABEL, 128, &message, rng).unwrap();
            lap(&mut times[1]);
            black_box(receiver.finish(&sent.1).unwrap());
            lap(&mut times[2]);
        }
        let [message, sender, strings] = times;
        let (name, [from_receiver, from_sender]) = (agreement.name(), agreement.bytes(128));
        println!(
            "128 base OTs, Masny-Rindal, {name}: receiver {message:.2} + {strings:.2} ms, sender {sender:.2} ms, \
             {from_receiver} and {from_sender} bytes"
        );
    }
    for level in [128, 192, 256] {
        let figure = best(1, 1, || {
            both(
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(1);
                    base::naor_pinkas::curves::send_at_level(level, &context(), LABEL, 128, channel, rng)
                        .unwrap()
                },
                |channel| {
                    let (rng, context) = (&mut StdRng::seed_from_u64(2), context());
                    base::naor_pinkas::curves::receive_at_level(
                        level, &context, LABEL, &choices, 128, channel, rng,
                    )
                    .unwrap()
                },
            );
        });
        println!("128 base OTs, Naor-Pinkas at level {level}, both parties: {:.2} ms", figure / 1e6);
    }
}

/// The costs of the parts: a block of AES, a row transposed, a byte digested.
struct Parts {
    block: f64,
    row: f64,
    byte: f64,
}

fn parts() -> Parts {
    let mut prg = Prg::from_seed([1; 16]);
    let mut stream = vec![Block::ZERO; 1024];
    let block = best(200, 1024 * 16, || (0..16).for_each(|_| prg.fill_blocks(black_box(&mut stream))));
    let (mut tile, mut columns): (Tile, _) = ([[Block::ZERO; 8]; ROWS], [Block::ZERO; COLUMNS]);
    prg.fill_blocks(tile.as_flattened_mut());
    let row = best(200, COLUMNS * 16, || {
        (0..16).for_each(|_| transpose(black_box(&tile), black_box(&mut columns)))
    });
    let bytes = vec![7; 64 << 10];
    let byte = best(50, bytes.len(), || {
        black_box(blake3::Hasher::new().update(black_box(&bytes)).finalize());
    });
    println!(
        "alone: {block:.3} ns a block of AES, {row:.3} ns a row transposed, {byte:.3} ns a byte digested"
    );
    let seeds: Vec<Block> = (0..128u128).map(Block::from).collect();
    let mut streams = Streams::from_seeds(&seeds);
    let fused = best(200, COLUMNS * 16, || {
        for _ in 0..16 {
            streams.fill_rows(&mut tile);
            transpose(black_box(&tile), black_box(&mut columns));
        }
    });
    line("one generator and transposition, ns an OT", fused, block + row);
    Parts { block, row, byte }
}

/// Rows of both parties, then strings of them if `hashed`: ns an OT.
fn extension(count: usize, hashed: bool) -> f64 {
    let mut choices = vec![0; count / 8];
    StdRng::seed_from_u64(3).fill_bytes(&mut choices);
    let (mut q, mut t) = (large_vec([Block::ZERO], count), large_vec([Block::ZERO], count));
    let mut other = large_vec([Block::ZERO], CHUNK);
    let strings = OtPads::<1>::of(&context(), STRINGS);
    let barrier = std::sync::Barrier::new(2);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let (took, ()) = both(
            |channel| {
                let rng = &mut StdRng::seed_from_u64(1);
                let mut ot =
                    iknp::Sender::<1>::setup(&context(), LABEL, 128, Origin::default(), channel, rng)
                        .unwrap();
                barrier.wait();
                let start = Instant::now();
                for (chunk, rows) in q.chunks_mut(CHUNK).enumerate() {
                    ot.extend(rows, channel).unwrap();
                    if hashed {
                        other.copy_from_slice(rows);
                        add_delta(&ot.delta(), &mut other);
                        strings.hash((chunk * CHUNK) as u64, rows);
                        strings.hash((chunk * CHUNK) as u64, &mut other);
                        black_box(&other);
                    }
                }
                barrier.wait();
                start.elapsed()
            },
            |channel| {
                let rng = &mut StdRng::seed_from_u64(2);
                let mut ot =
                    iknp::Receiver::<1>::setup(&context(), LABEL, 128, Origin::default(), channel, rng)
                        .unwrap();
                barrier.wait();
                for (chunk, (rows, choices)) in t.chunks_mut(CHUNK).zip(choices.chunks(CHUNK / 8)).enumerate()
                {
                    ot.extend(choices, rows, channel).unwrap();
                    if hashed {
                        strings.hash((chunk * CHUNK) as u64, rows);
                    }
                }
                barrier.wait();
            },
        );
        best = best.min(took.as_nanos() as f64 / count as f64);
    }
    best
}

/// SoftSpoken with its check, batch by batch as `gbf-rr16` runs it; the rows of a batch replace those of the one before.
fn softspoken(count: usize) {
    const BATCH: usize = 1 << 17;
    let mut choices = vec![0; BATCH / 8];
    StdRng::seed_from_u64(3).fill_bytes(&mut choices);
    let [mut q, mut t] = [0, 1].map(|_| large_vec([Block::ZERO], BATCH));
    let batches = || (0..count).step_by(BATCH).map(|first| BATCH.min(count - first));
    let start = Instant::now();
    both(
        |channel| {
            let rng = &mut StdRng::seed_from_u64(1);
            let ot = softspoken::Sender::<Malicious>::setup(
                &context(),
                Width::Four,
                KeyAgreement::default(),
                channel,
                rng,
            );
            let mut ot = ot.unwrap();
            batches().for_each(|batch| ot.extend(&mut q[..batch], channel).unwrap());
        },
        |channel| {
            let rng = &mut StdRng::seed_from_u64(2);
            let ot = softspoken::Receiver::<Malicious>::setup(
                &context(),
                Width::Four,
                KeyAgreement::default(),
                channel,
                rng,
            );
            let mut ot = ot.unwrap();
            for batch in batches() {
                ot.extend(&choices[..batch.div_ceil(8)], &mut t[..batch], channel).unwrap();
                channel.flush().unwrap();
            }
        },
    );
    let took = start.elapsed().as_secs_f64();
    println!(
        "{count} OTs by SoftSpoken, malicious, k = 4, base OTs included: {took:.3} s, {:.2} ns an OT",
        took * 1e9 / count as f64
    );
}

fn main() {
    let mut args = std::env::args().skip(1);
    if let (Some("softspoken"), Some(count)) = (args.next().as_deref(), args.next()) {
        return softspoken(count.parse().unwrap());
    }
    let log: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(22);
    let count = CHUNK.max(1usize << log);
    println!("{:<52} {:>8} {:>8} {:>6}", "", "figure", "floor", "ratio");
    let Parts { block, row, byte } = parts();
    bases();
    // A party's own work, the larger of both; the digest of the transcript is the channel's and counted
    // beside it.
    let digest = 16.0 * byte;
    line("IKNP, rows, ns an OT", extension(count, false), 2.0 * block + row);
    line("IKNP, random OT, ns an OT", extension(count, true), 5.0 * block + row);
    println!("of which the transcript digest of 16 bytes takes {digest:.3} ns in each party");
}
