//! Times OKVS encoding and decoding, beside what the work takes at least.
//!
//! `cargo run --release -p vesica-encode --example okvs [LOG2 ...]`. A line a store and size: milliseconds on one thread,
//! minimum of several runs.

use std::time::Instant;

use vesica_crypto::band::Value;
use vesica_crypto::block::Block;
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::Prg;
use vesica_encode::okvs::{Band128, Band256, Band512, Free, Okvs, ThreeHash};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let logs: Vec<u32> = arguments.iter().filter_map(|log| log.parse().ok()).collect();
    let logs = if logs.is_empty() { vec![16, 18, 20] } else { logs };
    let wanted =
        |name: &str| arguments.iter().all(|argument| argument.parse::<u32>().is_ok() || argument == name);
    for log in logs {
        if wanted("rb128") {
            one::<Band128>("rb128", log);
        }
        if wanted("rb256") {
            one::<Band256>("rb256", log);
        }
        if wanted("rb512") {
            one::<Band512>("rb512", log);
        }
        if wanted("3hash") {
            one::<ThreeHash>("3hash", log);
        }
    }
}

fn one<O: Okvs>(name: &str, log: u32) {
    let count = 1 << log;
    let mut rng = Prg::from_seed([1; 16]);
    let mut keys = large_vec(Block::ZERO, count);
    rng.fill_blocks(&mut keys);
    let mut short = large_vec(0u64, count);
    u64::randomise(&mut short, &mut rng);
    let Ok(store) = O::new(count, Block::from(5u128)) else { return };
    let mut encode = f64::MAX;
    for _ in 0..21 {
        let start = Instant::now();
        let table = store.encode(1, &keys, &short, Free::Zero);
        encode = encode.min(start.elapsed().as_secs_f64() * 1e3);
        assert!(table.is_ok());
    }
    let mut table = large_vec(Block::ZERO, store.columns());
    rng.fill_blocks(&mut table);
    let mut out = large_vec(Block::ZERO, count);
    let mut decode = f64::MAX;
    for _ in 0..21 {
        let start = Instant::now();
        store.decode(1, &table, &keys, &mut out);
        decode = decode.min(start.elapsed().as_secs_f64() * 1e3);
    }
    println!("{name} 2^{log}: encode {encode:8.2} ms, decode {decode:8.2} ms");
}
