//! Runs `gbf` and `gbf-random` between two threads over a channel in memory, one thread a party, items in memory to
//! matches. Prints the median of several runs, bytes, the floor and the ratio.
//!
//! ```text
//! cargo run --release -p vesica-protocols --features testing --example bloom_filter -- LOG2_ITEMS [PROTOCOL [RUNS [LEVEL [VARIANT]]]]
//! ```
//!
//! The floor is the sum of unit prices, measured first: blocks of a generator, transposed rows, tweaked hashes, picks of a
//! string from a slice in the second-level cache, and bytes through the channel with its digests on both sides. What the
//! channel costs is counted in full, since each party handles its own bytes on its one thread.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for the screen that stops where it must"
)]

use std::hint::black_box;
use std::time::Instant;

use vesica_channel::{Channel, memory};
use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;
use vesica_crypto::transpose::{COLUMNS, ROWS, Tile, transpose};
use vesica_encode::bloom::{FilterShape, Sums};
use vesica_protocols::testing::{Case, planted_for, run_pair, shape};
use vesica_protocols::{Parameters, Role, registry};

/// Nanoseconds for one of `units` that `work` does, the best of several times.
fn price(units: usize, mut work: impl FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e9 / units as f64
    };
    (0..30).map(|_| once(&mut work)).fold(f64::INFINITY, f64::min)
}

/// Unit prices in nanoseconds.
struct Prices {
    generated: f64,
    transposed: f64,
    hashed: f64,
    picked: f64,
    channel_byte: f64,
}

impl Prices {
    fn measure() -> Self {
        let (mut prg, mut blocks) = (Prg::from_seed([1; 16]), vec![Block::ZERO; 1024]);
        let generated = price(64 * 1024, || (0..64).for_each(|_| prg.fill_blocks(black_box(&mut blocks))));
        let (tile, mut columns): (Tile, _) = ([[Block::ONES; 8]; ROWS], [Block::ZERO; COLUMNS]);
        let transposed = price(64 * COLUMNS, || {
            (0..64).for_each(|_| transpose(black_box(&tile), black_box(&mut columns)));
        });
        let (hash, tweaks) = (FixedKey::new(Block::ONES), vec![Block::ZERO; 1024]);
        let hashed = price(64 * 1024, || {
            (0..64).for_each(|_| hash.tccr_at(black_box(&tweaks), black_box(&mut blocks)));
        });
        let slice = vec![[Block::ONES]; 12_000];
        let slots: Vec<u32> = (0..8192u64).map(|i| (i * 7_919_317 % 12_000) as u32).collect();
        let mut sums = vec![[Block::ZERO]; slots.len()];
        let picked = price(slots.len(), || Sums(&mut sums).add(black_box(&slice), &slots));
        const SENT: usize = 64 << 20;
        let channel_byte = (0..3).map(|_| {
            let (mut here, mut there) = memory::pair();
            let (out, mut back) = (vec![7; 1 << 18], vec![0; 1 << 18]);
            let start = Instant::now();
            std::thread::scope(|scope| {
                scope.spawn(|| (0..SENT >> 18).for_each(|_| here.send(&out).unwrap()));
                (0..SENT >> 18).for_each(|_| there.recv_exact(&mut back).unwrap());
            });
            start.elapsed().as_secs_f64() * 1e9 / SENT as f64
        });
        Self {
            generated,
            transposed,
            hashed,
            picked,
            channel_byte: channel_byte.fold(f64::INFINITY, f64::min),
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let items: usize = 1 << args.next().map_or(16, |arg| arg.parse::<u32>().unwrap());
    let name = args.next().unwrap_or_else(|| "gbf-random".to_owned());
    let runs: usize = args.next().map_or(3, |arg| arg.parse().unwrap());
    let level = args.next().map_or(128, |arg| arg.parse().unwrap());
    let entry = registry::find(&name).unwrap();
    let variant = args.next().map(|arg| entry.supports.variant(&arg).unwrap());

    let security = *entry.security.last().unwrap();
    let parameters = Parameters { security, level, variant, ..Parameters::default() };
    let sets = planted_for(&parameters, items, items, items / 3, 1);
    let case = Case { parameters, ..Case::default() };
    let mut seconds: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let ended = run_pair(entry, &sets, case);
            let elapsed = start.elapsed().as_secs_f64();
            assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
            elapsed
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let median = seconds[runs / 2];

    let shape = shape(&sets, case);
    let [sent, received] = [Role::Receiver, Role::Sender].map(|role| entry.bytes(role, &shape) as f64);
    println!(
        "{name} level {level} {} n = {items}: {median:.3} s (median of {runs}, {:.3} to {:.3})",
        case.parameters.variant_name(),
        seconds[0],
        seconds[runs - 1]
    );
    println!(
        "  bytes: receiver {sent:.0}, sender {received:.0}, {:.0} an item",
        (sent + received) / items as f64
    );
    if level == 128 && variant.is_none() {
        let prices = Prices::measure();
        let Prices { generated, transposed, hashed, picked, channel_byte } = prices;
        let slots = FilterShape::for_items(level, items).all_slots() as f64;
        let picks = (items * level as usize) as f64;
        // An OT of SoftSpoken with k = 4; each position of an item picks a row and hashes it.
        let mut party = slots * (4.0 * generated + transposed) + picks * (picked + hashed);
        if name == "gbf" {
            // The sender fills the garbled filter, and each position picks a string of it.
            party += slots * generated + picks * picked;
        }
        let floor = (party + (sent + received) * channel_byte) / 1e9;
        println!(
            "  prices in ns: block {generated:.2}, row transposed {transposed:.2}, hash {hashed:.2}, pick {picked:.2}, byte {channel_byte:.3}"
        );
        println!("  floor {floor:.3} s, ratio {:.2}", median / floor);
    }
}
