//! Times OKVS encoding and decoding on one thread, beside what moving the bytes takes and beside the targets.
//!
//! `cargo run --release -p vesica-encode --example okvs [LOG2 ...]`. A line a size: milliseconds, minimum and
//! median of several runs, for encoding values of 8 bytes and decoding values of 16.

use std::time::Instant;

use vesica_crypto::band::XorValue;
use vesica_crypto::block::Block;
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::Prg;
use vesica_encode::okvs::Band;

const RUNS: usize = 11;

/// Bytes a nanosecond that one core of the project's machine type moves to and from memory.
const BANDWIDTH: f64 = 30.0;

/// The targets for 2^20 keys, in milliseconds.
const TARGETS: [f64; 2] = [65.0, 30.0];

/// Bytes that elimination keeps of a row.
const ROW: usize = 16;

fn main() {
    let logs: Vec<u32> = std::env::args().skip(1).filter_map(|log| log.parse().ok()).collect();
    println!("keys         encode: min  median   floor   ratio    decode: min  median   floor   ratio");
    for log in if logs.is_empty() { vec![16, 18, 20] } else { logs } {
        measure(log);
    }
}

fn measure(log: u32) {
    let count = 1 << log;
    let mut rng = Prg::from_seed([1; 16]);
    let mut keys = large_vec(Block::ZERO, count);
    rng.fill_blocks(&mut keys);
    let mut short = large_vec(0u64, count);
    u64::randomise(&mut short, &mut rng);
    let Ok(store) = Band::new(count, Block::from(5u128)) else { return };
    let encode = times(|| assert!(store.encode(1, &keys, &short).is_ok(), "an encoding"));
    let mut table = large_vec(Block::ZERO, store.columns());
    rng.fill_blocks(&mut table);
    let decode = times(|| {
        let sorted = store.sort_keys(1, &keys, &vec![(); count]);
        assert_eq!(store.decode_sorted(1, &table, sorted).in_order().len(), count, "an output a key");
    });

    // Keys twice, for starts and for rows; numbers by region written and read; values; rows kept and the
    // table, written and read.
    let encode_bytes = count * (2 * 16 + 2 * 8 + 8) + store.columns() * 2 * (ROW + 8);
    let decode_bytes = count * (2 * 16 + 2 * 8 + 16) + store.columns() * 16;
    print!("2^{log:<4}");
    for ([minimum, median], bytes, target) in
        [(encode, encode_bytes, TARGETS[0]), (decode, decode_bytes, TARGETS[1])]
    {
        let floor = bytes as f64 / BANDWIDTH / 1e6;
        print!("        {minimum:>9.2} {median:>7.2} {floor:>7.2} {:>6.1}x", minimum / floor);
        if log == 20 {
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
