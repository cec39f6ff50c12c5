//! Key-value stores, hashing to bins, permutations.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use vesica_blocks::{blocks, context};
use vesica_crypto::block::Block;
use vesica_encode::hashing::{Digests, Permutation, Places, cuckoo, parameters, simple};
use vesica_encode::okvs::{Band128, Band256, Free, Okvs, ThreeHash};

const COUNT: usize = 1 << 16;

fn stores(criterion: &mut Criterion) {
    fn of<O: Okvs>(criterion: &mut Criterion, name: &str) {
        let keys = blocks(COUNT);
        let values: Vec<u64> = (0..COUNT as u64).collect();
        let Ok(store) = O::new(COUNT, Block::from(5u128)) else { return };
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20).throughput(Throughput::Elements(COUNT as u64));
        group.bench_function("encode", |b| {
            b.iter(|| assert!(store.encode(1, &keys, &values, Free::Zero).is_ok()));
        });
        let table = blocks(store.columns());
        let mut out = vec![Block::ZERO; COUNT];
        group.bench_function("decode", |b| b.iter(|| store.decode(1, &table, &keys, &mut out)));
    }
    of::<Band128>(criterion, "store, band of 128");
    of::<Band256>(criterion, "store, band of 256");
    of::<ThreeHash>(criterion, "store, three hashes");
}

fn bins(criterion: &mut Criterion) {
    let digests = blocks(COUNT);
    let mut group = criterion.benchmark_group("bins");
    group.sample_size(20).throughput(Throughput::Elements(COUNT as u64));
    for (functions, parameters) in [(2, parameters::two_way(COUNT)), (3, parameters::three_way(COUNT))] {
        let places = Digests::new(&digests, parameters.layout);
        group.bench_function(format!("simple, {functions} functions"), |b| {
            b.iter(|| simple::Table::build(1, &places).entries().len());
        });
        group.bench_function(format!("cuckoo, {functions} functions"), |b| {
            b.iter(|| cuckoo::Table::build(&places, parameters.stash).is_ok());
        });
        let permutation = Permutation::new(&context(), 32, parameters.layout);
        group.bench_function(format!("permutation of 32 bits, {functions} functions"), |b| {
            b.iter(|| permutation.place(1, COUNT, |item| item as u128).items());
        });
    }
}

criterion_group!(benches, stores, bins);
criterion_main!(benches);
