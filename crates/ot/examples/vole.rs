//! Times the extensions of this crate against their floors: `cargo run --release -p vesica-ot --example vole [filter]`.
//!
//! One thread, in memory, each side's time taken alone; base OTs come from a dealer. The floor of a row is the AES blocks
//! it takes, at the rate that this processor encrypts counters in its cache.

#![allow(clippy::unwrap_used, reason = "a measurement may stop")]

use std::time::Instant;

use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::Prg;
use vesica_ot::softspoken::{Receiver, Security, Sender, Width};

/// Best of this many runs.
const RUNS: usize = 7;

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let aes = aes_nanoseconds();
    println!("one AES block, counter mode in cache: {aes:.3} ns");
    println!("{:<44} {:>10} {:>10} {:>10} {:>7}", "", "ns", "M/s", "floor ns", "ratio");
    for width in [Width::Two, Width::Four, Width::Eight] {
        for security in [Security::SemiHonest, Security::Malicious] {
            let name = format!("SoftSpoken k = {}, {security:?}", width.bits());
            if name.contains(&filter) {
                softspoken(&name, width, security, aes);
            }
        }
    }
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

fn deal() -> (Vec<[Block; 2]>, Block, Vec<Block>) {
    let mut rng = Prg::from_seed([2; 16]);
    let pairs: Vec<[Block; 2]> = (0..128).map(|_| [rng.block(), rng.block()]).collect();
    let delta = rng.block();
    let chosen = pairs.iter().enumerate().map(|(i, pair)| pair[usize::from(delta.bit(i))]).collect();
    (pairs, delta, chosen)
}

fn softspoken(name: &str, width: Width, security: Security, aes: f64) {
    const COUNT: usize = 1 << 20;
    let (pairs, delta, chosen) = deal();
    let (mut receiver, message) =
        Receiver::new(&context(), width, security, &pairs, &mut Prg::from_seed([3; 16]));
    let mut sender = Sender::new(&context(), width, security, delta, &chosen, &message).unwrap();
    let mut rows = large_vec([Block::ZERO], COUNT);
    let mut choices = vec![0; COUNT / 8];
    let mut messages = Vec::with_capacity(COUNT * 8);
    let mut best = [f64::MAX; 2];
    for _ in 0..RUNS {
        messages.clear();
        let start = Instant::now();
        receiver
            .extend_to(false, &mut choices, &mut rows, |message| {
                messages.extend_from_slice(message);
                Ok(())
            })
            .unwrap();
        best[0] = best[0].min(start.elapsed().as_nanos() as f64 / COUNT as f64);
        let (mut read, start) = (0, Instant::now());
        sender
            .extend_from(false, &mut rows, |message| {
                message.copy_from_slice(&messages[read..read + message.len()]);
                read += message.len();
                Ok(())
            })
            .unwrap();
        best[1] = best[1].min(start.elapsed().as_nanos() as f64 / COUNT as f64);
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
