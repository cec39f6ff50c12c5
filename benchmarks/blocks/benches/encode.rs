//! Oblivious key-value stores, hashing to bins, permutations, Bloom filters, secret sharing.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use vesica_blocks::{blocks, context};
use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;
use vesica_crypto::security::STATISTICAL_SECURITY;
use vesica_encode::bloom::{self, Bin, FilterPositions, FilterShape, NoFreeSlot, SLICES_PER_BLOCK, Sums};
use vesica_encode::hashing::{Digests, ItemBins, Permutation, balanced, cuckoo, parameters, simple};
use vesica_encode::items::{Encoding, Items, ItemsBuilder, ItemsError, OnDuplicates, Width};
use vesica_encode::okvs::Band;

const COUNT: usize = 1 << 16;

fn stores(criterion: &mut Criterion) {
    let keys = blocks(COUNT);
    let values: Vec<u64> = (0..COUNT as u64).collect();
    let Ok(store) = Band::new(COUNT, Block::from(5u128)) else { return };
    let mut group = criterion.benchmark_group("store, band of 128");
    group.sample_size(20).throughput(Throughput::Elements(COUNT as u64));
    group.bench_function("encode", |b| {
        b.iter(|| assert!(store.encode(1, &keys, &values).is_ok()));
    });
    let table = blocks(store.columns());
    group.bench_function("decode", |b| {
        b.iter(|| store.decode_sorted(1, &table, store.sort_keys(1, &keys, &[(); COUNT])).in_order().len());
    });
}

fn bins(criterion: &mut Criterion) {
    let digests = blocks(COUNT);
    let mut group = criterion.benchmark_group("bins");
    group.sample_size(20).throughput(Throughput::Elements(COUNT as u64));
    for (functions, parameters) in [
        (2, parameters::two_way(COUNT, STATISTICAL_SECURITY)),
        (3, parameters::three_way(COUNT, STATISTICAL_SECURITY)),
    ] {
        let item_bins = Digests::new(&digests, parameters.layout);
        group.bench_function(format!("simple, {functions} functions"), |b| {
            b.iter(|| simple::Table::build(1, &item_bins).entries().len());
        });
        group.bench_function(format!("balanced, {functions} functions"), |b| {
            b.iter(|| balanced::build(&item_bins).entries().len());
        });
        group.bench_function(format!("cuckoo, {functions} functions"), |b| {
            b.iter(|| cuckoo::Table::build(&item_bins, parameters.stash).is_ok());
        });
        let permutation = Permutation::new(&context(), 32, parameters.layout);
        group.bench_function(format!("permutation of 32 bits, {functions} functions"), |b| {
            b.iter(|| permutation.place(1, COUNT, |item| item as u128).items());
        });
    }
}

fn items(count: u64) -> Result<Items, ItemsError> {
    let mut builder = ItemsBuilder::new(Encoding::Digest(Width::Digest128), count as usize)?;
    (0..count).try_for_each(|number| builder.push(number, &number.to_le_bytes()))?;
    builder.build(OnDuplicates::All)
}

/// Calls `visit(slice, slots)` with the slots of all items in each slice.
fn each_slice(bin: &Bin<'_>, mut visit: impl FnMut(usize, &[u32])) {
    let (mut blocks, mut slots) = (Vec::new(), Default::default());
    for slice in 0..bin.shape().hashes() {
        if slice % SLICES_PER_BLOCK == 0 {
            bin.positions(slice / SLICES_PER_BLOCK, &mut blocks, &mut slots);
        }
        visit(slice, &slots[slice % SLICES_PER_BLOCK]);
    }
}

/// A whole bin of 128 functions. An element is an item.
fn bloom_filters(criterion: &mut Criterion) {
    const COUNT: usize = 1 << 13;
    let Ok(items) = items(COUNT as u64) else { return };
    let shape = FilterShape::for_items(128, COUNT);
    let placed = FilterPositions::new(&context(), shape, &items, 1);
    let Some(bin) = placed.bins().next() else { return };
    let mut group = criterion.benchmark_group("Bloom filter, 128 functions");
    group.sample_size(20).throughput(Throughput::Elements(COUNT as u64));
    group.bench_function("items to bins and seeds", |b| {
        b.iter(|| FilterPositions::new(&context(), shape, &items, 1).items().len());
    });
    let mut bits = vec![0; shape.all_slots().div_ceil(8) as usize];
    group.bench_function("bits", |b| {
        b.iter(|| {
            bits.fill(0);
            each_slice(&bin, |slice, slots| bloom::choices(slice * shape.slots(), slots, &mut bits));
        });
    });
    let targets: Vec<[Block; 1]> = blocks(COUNT).into_iter().map(|block| [block]).collect();
    let mut strings = vec![[Block::ZERO]; shape.hashes() * shape.slots()];
    group.bench_function("garbled, build", |b| {
        b.iter(|| {
            let (mut prg, mut written) = (Prg::from_seed([9; 16]), 0);
            let built: Result<(), NoFreeSlot> = bloom::garble(
                1,
                &bin,
                &targets,
                |strings| prg.fill_blocks(strings.as_flattened_mut()),
                |slice| {
                    strings[written..written + slice.len()].copy_from_slice(slice);
                    written += slice.len();
                    Ok(())
                },
            );
            assert!(built.is_ok());
        });
    });
    let mut sums = vec![[Block::ZERO]; COUNT];
    group.bench_function("garbled, an item's value", |b| {
        b.iter(|| {
            sums.fill([Block::ZERO]);
            each_slice(&bin, |slice, slots| {
                Sums(&mut sums).add(&strings[slice * shape.slots()..][..shape.slots()], slots);
            });
        });
    });
    assert!(sums == targets || sums.iter().all(|sum| *sum == [Block::ZERO]));
}

criterion_group!(benches, stores, bins, bloom_filters);
criterion_main!(benches);
