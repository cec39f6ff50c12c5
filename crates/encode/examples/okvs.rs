//! Times OKVS encoding and decoding on one thread, beside what moving the bytes takes and beside the targets.
//!
//! `cargo run --release -p vesica-encode --example okvs [NAME] [LOG2 ...]`. A line a store and size: milliseconds, minimum
//! and median of several runs, for encoding values of 8 bytes and decoding values of 16.

use std::time::Instant;

use vesica_crypto::band::Value;
use vesica_crypto::block::Block;
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::Prg;
use vesica_encode::okvs::{Band128, Band256, Band512, Free, Okvs, ThreeHash};

const RUNS: usize = 11;

/// Bytes a nanosecond that one core of the project's machine type moves to and from memory.
const BANDWIDTH: f64 = 30.0;

/// What is to be reached for 2^20 keys, in milliseconds, by the store `rb128`.
const TARGETS: [f64; 2] = [65.0, 30.0];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u32> = arguments.iter().filter_map(|log| log.parse().ok()).collect();
    let name = arguments.iter().find(|argument| argument.parse::<u32>().is_err());
    let wanted = |store: &str| name.is_none_or(|name| name == store);
    println!(
        "store   keys         encode: min  median   floor   ratio    decode: min  median   floor   ratio"
    );
    for log in if numbers.is_empty() { vec![16, 18, 20] } else { numbers } {
        for (store, run) in [
            ("rb128", one::<Band128> as fn(&str, u32, usize)),
            ("rb256", one::<Band256>),
            ("rb512", one::<Band512>),
            ("3hash", one::<ThreeHash>),
        ] {
            // Bytes that elimination keeps of a row.
            let kept = store[2..].parse::<usize>().map_or(24, |width| width / 8);
            if wanted(store) {
                run(store, log, kept);
            }
        }
    }
}

fn one<O: Okvs>(name: &str, log: u32, kept: usize) {
    let count = 1 << log;
    let mut rng = Prg::from_seed([1; 16]);
    let mut keys = large_vec(Block::ZERO, count);
    rng.fill_blocks(&mut keys);
    let mut short = large_vec(0u64, count);
    u64::randomise(&mut short, &mut rng);
    let Ok(store) = O::new(count, Block::from(5u128)) else { return };
    let encode = times(|| assert!(store.encode(1, &keys, &short, Free::Zero).is_ok(), "an encoding"));
    let mut table = large_vec(Block::ZERO, store.columns());
    rng.fill_blocks(&mut table);
    let mut out = large_vec(Block::ZERO, count);
    let decode = times(|| store.decode(1, &table, &keys, &mut out));

    // Keys twice, for starts and for rows; numbers by region written and read; values; rows kept and the table, written
    // and read.
    let encode_bytes = count * (2 * 16 + 2 * 8 + 8) + store.columns() * 2 * (kept + 8);
    let decode_bytes = count * (2 * 16 + 2 * 8 + 16) + store.columns() * 16;
    print!("{name:<7} 2^{log:<4}");
    for ([minimum, median], bytes, target) in
        [(encode, encode_bytes, TARGETS[0]), (decode, decode_bytes, TARGETS[1])]
    {
        let floor = bytes as f64 / BANDWIDTH / 1e6;
        print!("        {minimum:>9.2} {median:>7.2} {floor:>7.2} {:>6.1}x", minimum / floor);
        if name == "rb128" && log == 20 {
            print!(" ({:.2} of the target)", minimum / target);
        }
    }
    println!();
}

/// Minimum and median, in milliseconds.
fn times(mut work: impl FnMut()) -> [f64; 2] {
    let mut samples: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    [samples[0], samples[RUNS / 2]]
}
