//! Times the extensions of this crate against their floors: `cargo run --release -p vesica-ot --example vole
//! [filter]`.
//!
//! One thread, in memory, each side's time taken alone; base OTs come from a dealer. The floor of a row is
//! the AES blocks it takes, at the rate that this processor encrypts counters in its cache.

#![allow(clippy::unwrap_used, reason = "a measurement may stop")]

use std::time::Instant;

use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::Prg;
use vesica_ot::security::{Malicious, Profile, Security, SecurityModel, SemiHonest};
use vesica_ot::softspoken::{self, Choices, Receiver, Sender, Width};
use vesica_ot::vole::codes::accumulate::Accumulate;
use vesica_ot::vole::codes::{Code, Word};
use vesica_ot::vole::sender::Secrets;
use vesica_ot::vole::{Plan, Value, receiver, sender};

/// Best of this many runs.
const RUNS: usize = 7;

fn main() {
    vesica_crypto::memory::keep_freed_memory();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let aes = aes_nanoseconds();
    println!("one AES block, counter mode in cache: {aes:.3} ns");
    println!("{:<44} {:>10} {:>10} {:>10} {:>7}", "", "ns", "M/s", "floor ns", "ratio");
    let copy = copy_nanoseconds();
    println!("copying memory: {:.2} GB/s", 1.0 / copy);
    for log in [12, 13, 16, 18, 20] {
        let name = format!("VOLE over GF(2^128), 2^{log}");
        if name.contains(&filter) {
            silent::<Block>(&name, 1 << log, aes, copy);
        }
        let name = format!("VOLE over GF(2^64), 2^{log}");
        if name.contains(&filter) {
            silent::<u64>(&name, 1 << log, aes, copy);
        }
    }
    for log in [13, 16, 18, 20] {
        let rounds = if log < 18 { 3 } else { 2 };
        for (words, compress) in [("16", compress::<Block> as fn(&Accumulate) -> f64), ("8", compress::<u64>)]
        {
            let name = format!("code, 2^{log}, {words} bytes");
            if name.contains(&filter) {
                let code = Accumulate::new(1 << log, rounds, &mut Prg::from_seed([5; 16]));
                println!("{name:<44} {:>10.3} ns an output", compress(&code));
            }
        }
    }
    for width in [Width::Two, Width::Four, Width::Eight] {
        for security in [Security::SemiHonest, Security::Malicious] {
            let name = format!("SoftSpoken k = {}, {security:?}", width.bits());
            if name.contains(&filter) {
                match security {
                    Security::SemiHonest => softspoken::<SemiHonest>(&name, width, aes),
                    Security::Malicious => softspoken::<Malicious>(&name, width, aes),
                }
            }
        }
    }
}

/// Both sides of a silent VOLE, from base OTs on.
///
/// Floor of a side: the AES blocks of its trees (one and a half a place) at the rate of the cache, and for
/// each round of the code and the compression one pass over the noise, read and written, at the rate that
/// this core copies memory.
fn silent<V: Value>(name: &str, length: usize, aes: f64, copy: f64) {
    let plan = Plan::new(length, Profile::Conservative);
    let (pairs, delta, chosen) = deal();
    let mut best = [f64::MAX; 5];
    for _ in 0..RUNS {
        let mut rng = Prg::from_seed([4; 16]);
        let mut clock = Instant::now();
        let mut lap = |best: &mut f64| {
            *best = best.min(clock.elapsed().as_nanos() as f64 / length as f64);
            clock = Instant::now();
        };
        let (mut receiver, corrections) =
            receiver::Answered::<V, SemiHonest>::new(&context(), &plan, &pairs, &mut rng);
        lap(&mut best[0]);
        receiver.make_values();
        lap(&mut best[1]);
        let secrets = Secrets { delta, base: &chosen };
        let (sender, flight3) =
            sender::Answered::<SemiHonest>::new::<V>(&context(), &plan, &secrets, &corrections, &mut rng)
                .unwrap();
        lap(&mut best[2]);
        let b = sender.accept().expand().b;
        lap(&mut best[3]);
        let (values, receiver) = receiver.accept(flight3).unwrap();
        let c = receiver.expand();
        lap(&mut best[4]);
        assert_eq!([values.len(), b.len(), c.len()], [length; 3]);
    }
    let noise = 2.0;
    let vector = |bytes: f64| noise * bytes * copy * 2.5;
    let trees = noise * aes * 1.5;
    println!(
        "{name}: begin {:.1}, A {:.1}, trees {:.1}, B {:.1}, C {:.1} ns an output",
        best[0], best[1], best[2], best[3], best[4]
    );
    line(
        &format!("{name}, receiver"),
        best[0] + best[1] + best[4],
        trees + vector(16.0 + size_of::<V>() as f64),
    );
    line(&format!("{name}, sender"), best[2] + best[3], trees + vector(16.0));
    println!(
        "{:<44} {:>8.2} ms receiver, {:.2} ms sender",
        "",
        (best[0] + best[1] + best[4]) * length as f64 * 1e-6,
        (best[2] + best[3]) * length as f64 * 1e-6
    );
}

/// Nanoseconds an output that a code takes to compress.
fn compress<W: Word>(code: &Accumulate) -> f64 {
    let noise = large_vec(W::default(), code.noise());
    let (mut room, mut scratch) = (noise.clone(), noise.clone());
    let mut out = large_vec(W::default(), code.outputs() + 12);
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        out.clear();
        let start = Instant::now();
        code.intake(&mut room).push(&noise);
        code.finish(&mut room, &mut scratch, &mut out);
        best = best.min(start.elapsed().as_nanos() as f64 / code.outputs() as f64);
    }
    best
}

/// Nanoseconds to copy a byte between large vectors.
fn copy_nanoseconds() -> f64 {
    let (from, mut to) = (large_vec(1u8, 64 << 20), large_vec(0u8, 64 << 20));
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        to.copy_from_slice(&from);
        best = best.min(start.elapsed().as_nanos() as f64 / from.len() as f64);
    }
    assert_eq!(to[5], 1);
    best
}

fn line(name: &str, nanoseconds: f64, floor: f64) {
    println!(
        "{name:<44} {nanoseconds:>10.3} {:>10.1} {floor:>10.3} {:>6.2}x",
        1e3 / nanoseconds,
        nanoseconds / floor
    );
}

fn context() -> Context {
    Context::new(&[1; 32], "example", b"", 0, 0)
}

fn deal() -> ([[Block; 2]; 128], Block, [Block; 128]) {
    let mut rng = Prg::from_seed([2; 16]);
    let pairs: [[Block; 2]; 128] = std::array::from_fn(|_| [rng.block(), rng.block()]);
    let delta = rng.block();
    (pairs, delta, std::array::from_fn(|i| pairs[i][usize::from(delta.bit(i))]))
}

/// Correlated OTs with random choices, streamed: the rows of one chunk after the other in the same buffer.
fn softspoken<S: SecurityModel>(name: &str, width: Width, aes: f64) {
    // The rows of one checked chunk.
    const COUNT: usize = 127 * 128;
    const CHUNKS: usize = 32;
    let (pairs, delta, chosen) = deal();
    let (mut receiver, message) = Receiver::<S>::new(&context(), width, &pairs, &mut Prg::from_seed([3; 16]));
    let mut sender = Sender::<S>::new(&context(), width, delta, &chosen, &message).unwrap();
    let mut rows = large_vec([Block::ZERO], COUNT);
    let mut choices = vec![0; COUNT / 8];
    let mut messages = vec![0; softspoken::bytes(width, S::SECURITY, COUNT, Choices::Random) * CHUNKS];
    let mut best = [f64::MAX; 2];
    for _ in 0..3 * RUNS {
        let (mut written, start) = (0, Instant::now());
        for _ in 0..CHUNKS {
            let kept = receiver.extend_to(Choices::Random, &mut choices, &mut rows, |message| {
                messages[written..written + message.len()].copy_from_slice(message);
                written += message.len();
                Ok(())
            });
            kept.unwrap();
        }
        best[0] = best[0].min(start.elapsed().as_nanos() as f64 / (COUNT * CHUNKS) as f64);
        let (mut read, start) = (0, Instant::now());
        for _ in 0..CHUNKS {
            let taken = sender.extend_from(Choices::Random, &mut rows, |message| {
                message.copy_from_slice(&messages[read..read + message.len()]);
                read += message.len();
                Ok(())
            });
            taken.unwrap();
        }
        best[1] = best[1].min(start.elapsed().as_nanos() as f64 / (COUNT * CHUNKS) as f64);
    }
    let floor = aes * (1 << width.bits()) as f64 / width.bits() as f64;
    line(&format!("{name}, receiver"), best[0], floor);
    line(&format!("{name}, sender"), best[1], floor);
}

fn aes_nanoseconds() -> f64 {
    let mut prg = Prg::from_seed([1; 16]);
    let mut blocks = vec![Block::ZERO; 1 << 10];
    let mut best = f64::MAX;
    for _ in 0..200 {
        let start = Instant::now();
        (0..10).for_each(|_| prg.fill_blocks(&mut blocks));
        best = best.min(start.elapsed().as_nanos() as f64 / 10_240.0);
    }
    best
}
