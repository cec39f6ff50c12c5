//! Times 1-out-of-256 OT (KK13) and the batched OPRF (KKRT16), each party by itself on one thread.
//!
//! `cargo run --release -p vesica-ot --example nco`. Base OTs are dealt; the channel is in memory, its
//! digests included. The floor beside each figure is the AES blocks, transposed blocks and hashes of an OT at
//! the unit prices that this run measures; the last figure is the ratio.
#![allow(clippy::unwrap_used, reason = "an example stops where something is not as it must be")]

use std::hint::black_box;
use std::time::Instant;

use vesica_channel::{Channel, memory};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::{Prg, Streams};
use vesica_crypto::transpose::{COLUMNS, ROWS, transpose};
use vesica_ot::nco::{Code, NcoReceiver, NcoSender, Receiver, Sender};
use vesica_ot::{kk13, kkrt};

const COUNT: usize = 1 << 13;
const ROUNDS: usize = 41;

fn main() {
    let prices = Prices::measure();
    println!(
        "prices: PRG block {:.3} ns, transposed block {:.3} ns, hash of 64 bytes {:.2} ns",
        prices.prg, prices.transpose, prices.hash
    );
    let context = Context::new(&[0; 32], "example", b"", 1, 1);
    let words: Vec<u8> = (0..COUNT).map(|i| i as u8).collect();
    run("kk13", kk13::WalshHadamard::default, &words, &context, &prices, 0.0);
    let mut words = vec![Block::ZERO; COUNT];
    Prg::from_seed([3; 16]).fill_blocks(&mut words);
    for columns in [440, 448] {
        let code = || kkrt::PseudoRandomCode::new(&context, columns);
        run(&format!("kkrt, {columns} columns"), code, &words, &context, &prices, 4.0);
    }
}

fn run<C: Code<W>, const W: usize>(
    name: &str,
    code: impl Fn() -> C,
    words: &[C::Word],
    context: &Context,
    prices: &Prices,
    code_blocks: f64,
) {
    let mut rng = Prg::from_seed([1; 16]);
    let columns = code().columns();
    let mut secret = [Block::ZERO; W];
    rng.fill(&mut Block::slice_as_mut_bytes(&mut secret)[..columns / 8]);
    let pairs: Vec<[Block; 2]> = (0..columns).map(|_| [rng.block(), rng.block()]).collect();
    let chosen: Vec<Block> =
        (0..columns).map(|i| pairs[i][usize::from(secret[i / 128].bit(i % 128))]).collect();
    let mut receiver = Receiver::from_seeds(code(), context, &pairs).unwrap();
    let mut sender = Sender::from_seeds(code(), context, &secret, &chosen).unwrap();
    let (mut a, mut b) = memory::pair();
    let (mut outputs, mut found) = (vec![Block::ZERO; COUNT], vec![Block::ZERO; COUNT]);
    let mut rows = vec![[Block::ZERO; W]; COUNT];
    let at: Vec<u32> = (0..COUNT as u32).collect();
    let mut times = [vec![], vec![], vec![]];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        receiver.extend_groups(1, words, &mut outputs, &mut a).unwrap();
        a.flush().unwrap();
        times[0].push(start.elapsed());
        let first = sender.next();
        let start = Instant::now();
        sender.extend(&mut rows, b.split().1).unwrap();
        times[1].push(start.elapsed());
        let start = Instant::now();
        sender.evaluate_groups(1, first, &rows, &at, words, &mut found);
        times[2].push(start.elapsed());
        assert_eq!(outputs, found);
    }
    let prg = columns as f64 / 128.0 * prices.prg;
    let turned = W as f64 * prices.transpose;
    let code = code_blocks * prices.prg;
    let floors = [2.0 * (prg + turned) + code + prices.hash, prg + turned, code + prices.hash];
    for ((what, mut times), floor) in
        ["receiver, an OT", "sender, an OT", "sender, an evaluation"].into_iter().zip(times).zip(floors)
    {
        times.sort();
        let median = times[ROUNDS / 2].as_secs_f64() * 1e9 / COUNT as f64;
        let least = times[0].as_secs_f64() * 1e9 / COUNT as f64;
        println!(
            "{name:<20} {what:<22} {median:>7.2} ns (least {least:.2}), floor {floor:.2}, {:.2}x",
            median / floor
        );
    }
}

/// Nanoseconds of the steps that an OT is made of.
struct Prices {
    prg: f64,
    transpose: f64,
    hash: f64,
}

impl Prices {
    fn measure() -> Self {
        let seeds: Vec<Block> = (0..ROWS as u128).map(Block::from).collect();
        let mut streams = Streams::from_seeds(&seeds);
        let mut tile = [[Block::ZERO; COLUMNS / 128]; ROWS];
        let mut columns = [Block::ZERO; COLUMNS];
        let (inputs, mut out) = (vec![5; COLUMNS * 64], vec![0; COLUMNS * 16]);
        let oracle = Context::new(&[0; 32], "example", b"", 1, 1).oracle(Label::new("price"));
        Self {
            prg: price(COLUMNS, || streams.fill_rows(black_box(&mut tile))),
            transpose: price(COLUMNS, || transpose(&[[Block::ONES; 8]; ROWS], black_box(&mut columns))),
            hash: price(COLUMNS, || oracle.hash_batch(black_box(&inputs), 64, &mut out, 16)),
        }
    }
}

fn price(units: usize, mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..301)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e9 / units as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
