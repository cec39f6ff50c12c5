//! How long hashing to bins takes, against what the memory alone would take.
//!
//! ```text
//! cargo run --release -p vesica-encode --example hashing [log2 of the items, 20]
//! ```
//!
//! Floors: simple hashing writes and reads a record of 8 bytes an entry in order and writes the entry, about
//! 2.1 ns for a pass over them in parts; cuckoo hashing visits a random place of the table about once an item
//! and function, 1.9 ns each while the table is in the third-level cache and 3.8 ns beyond; a permutation is
//! four AES hashes and a division.

use std::time::Instant;

use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::prg::Prg;
use vesica_crypto::security::STATISTICAL_SECURITY;
use vesica_encode::hashing::{Digests, Permutation, cuckoo, parameters, simple};

fn main() {
    // As programs do: memory that goes back to the system would be handed out anew.
    vesica_crypto::memory::keep_freed_memory();
    let log: u32 = std::env::args().nth(1).and_then(|log| log.parse().ok()).unwrap_or(20);
    let items = 1usize << log;
    let mut digests = vec![Block::ZERO; items];
    Prg::from_seed([1; 16]).fill_blocks(&mut digests);
    let (two, three) = (
        parameters::two_way(items, STATISTICAL_SECURITY),
        parameters::three_way(items, STATISTICAL_SECURITY),
    );
    let visit = if log > 21 { 3.8 } else { 1.9 };

    for (functions, parameters) in [(2, two), (3, three)] {
        let item_bins = Digests::new(&digests, parameters.layout);
        let entries = (items * functions) as f64;
        report(&format!("simple, {functions} functions"), items, entries * 2.0 * 2.1, || {
            simple::Table::build(1, &item_bins).entries().len()
        });
        report(&format!("cuckoo, {functions} functions"), items, entries * visit, || {
            cuckoo::Table::build(&item_bins, parameters.stash).map_or(0, |table| table.stash().len())
        });
        // A record of 20 bytes is written to a region and read again about 2.2 times an item.
        report(&format!("cuckoo of keys, {functions} functions"), items, items as f64 * 2.2 * 6.0, || {
            let mut keys = cuckoo::Keys::new(parameters.layout, items);
            (0..).zip(&digests).for_each(|(number, key)| keys.push(*key, number));
            keys.place().map_or(0, |table| table.occupied(0..1))
        });
    }
    let context = Context::new(&[0; 32], "example", b"", 0, 0);
    for (sigma, parameters) in [(32, two), (64, three), (88, three)] {
        let permutation = Permutation::new(&context, sigma, parameters.layout);
        let hashes = (items * parameters.layout.functions() * 4) as f64;
        let value = |item: usize| {
            (item as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c) & (u128::MAX >> (128 - sigma))
        };
        report(
            &format!("permutation, sigma = {sigma}, {} functions", parameters.layout.functions()),
            items,
            hashes * 0.7,
            || vesica_encode::hashing::ItemBins::items(&permutation.place(1, items, value)),
        );
    }
}

fn report(what: &str, items: usize, floor_ns: f64, mut work: impl FnMut() -> usize) {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        std::hint::black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    let floor = floor_ns * 1e-9;
    let each = best * 1e9 / items as f64;
    println!(
        "{what}: {:.1} ms, {each:.1} ns an item, floor {:.1} ms, {:.2} x",
        best * 1e3,
        floor * 1e3,
        best / floor
    );
}
