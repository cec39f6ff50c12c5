//! AES, half gates, transposition, hashes, fields, groups, big integers, homomorphic encryption, the join.
#![allow(clippy::unwrap_used, reason = "a benchmark stops where something is not as it must be")]

use std::hint::black_box;
use std::ops::Range;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use vesica_blocks::{blocks, context};
use vesica_crypto::aes_hash::{FixedKey, rekeyed_ccr};
use vesica_crypto::bigint::{BoxedUint, Exponent, FixedBase, RsaKey, modp};
use vesica_crypto::block::Block;
use vesica_crypto::elgamal;
use vesica_crypto::gf128::{inner_product, multiply};
use vesica_crypto::group::{Group, P256, Ristretto255};
use vesica_crypto::half_gates::HalfGates;
use vesica_crypto::hash::Label;
use vesica_crypto::join::join;
use vesica_crypto::paillier;
use vesica_crypto::prg::{Prg, Streams};
use vesica_crypto::transpose::{COLUMNS, ROWS, transpose};

fn aes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("aes");
    let mut stream = blocks(1024);
    group.throughput(Throughput::Elements(1024));
    let mut prg = Prg::from_seed([2; 16]);
    group.bench_function("counter mode, block", |b| b.iter(|| prg.fill_blocks(black_box(&mut stream))));
    let key = FixedKey::new(Block::from(3u128));
    group.bench_function("ccr hash, block", |b| b.iter(|| key.ccr(black_box(&mut stream))));
    group.bench_function("tccr hash, block", |b| b.iter(|| key.tccr(0, black_box(&mut stream))));
}

/// Gates, and the key schedules and blocks that they take: two keys a gate, with two blocks each to garble, and one to
/// evaluate.
fn half_gates(criterion: &mut Criterion) {
    const GATES: usize = 256;
    let mut group = criterion.benchmark_group("half gates");
    group.throughput(Throughput::Elements(GATES as u64));
    let row =
        |range: Range<usize>| -> Vec<[Block; 1]> { blocks(range.end)[range].iter().map(|b| [*b]).collect() };
    let (a, b, mut out) = (row(0..GATES), row(GATES..2 * GATES), row(0..GATES));
    let (mut tables, mut halves) = (vec![[[Block::ZERO; 1]; 2]; GATES], row(0..GATES));
    let mut gates = HalfGates::<1>::of(&context(), Label::new("blocks"), 128);
    let delta = [Block::ONES];
    group.bench_function("garble, gate", |bencher| {
        bencher.iter(|| gates.garble(&delta, black_box(&a), &b, &mut tables, &mut out));
    });
    group.bench_function("evaluate, gate", |bencher| {
        bencher.iter(|| gates.evaluate(black_box(&a), &b, &tables, &mut out));
    });
    group.bench_function("garble, gate with a private bit", |bencher| {
        bencher.iter(|| gates.garble_private(&delta, black_box(&a), &b, &mut halves, &mut out));
    });
    group.bench_function("evaluate, gate with a private bit", |bencher| {
        bencher.iter(|| gates.evaluate_private(black_box(&b), &halves, &mut out));
    });
    let (keys, mut x, mut y) = (blocks(2 * GATES), blocks(2 * GATES), blocks(2 * GATES));
    group.bench_function("floor to garble, 2 keys and 4 blocks", |bencher| {
        bencher.iter(|| rekeyed_ccr(black_box(&keys), [&mut x, &mut y]));
    });
    group.bench_function("floor to evaluate, 2 keys and 2 blocks", |bencher| {
        bencher.iter(|| rekeyed_ccr(black_box(&keys), [&mut x]));
    });
}

fn matrices(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bit matrices");
    let mut tile = [[Block::ZERO; COLUMNS / 128]; ROWS];
    let mut columns = [Block::ZERO; COLUMNS];
    let mut streams = Streams::from_seeds(&blocks(ROWS));
    group.throughput(Throughput::Elements(COLUMNS as u64));
    group.bench_function("128 streams, row", |b| b.iter(|| streams.fill_rows(black_box(&mut tile))));
    group.bench_function("transposition, row", |b| {
        b.iter(|| transpose(black_box(&tile), black_box(&mut columns)))
    });
}

fn hashes(criterion: &mut Criterion) {
    const ITEMS: usize = 1024;
    let mut group = criterion.benchmark_group("hashes");
    let bytes = Block::slice_as_bytes(&blocks(4 * ITEMS)).to_vec();
    let mut out = vec![0; 32 * ITEMS];
    let oracle = context().oracle(Label::new("blocks"));
    group.throughput(Throughput::Elements(ITEMS as u64));
    for (width, out_width) in [(16, 16), (32, 32), (64, 16)] {
        group.bench_function(format!("BLAKE3, {width} to {out_width} bytes"), |b| {
            b.iter(|| {
                oracle.hash_batch(&bytes[..width * ITEMS], width, &mut out[..out_width * ITEMS], out_width)
            });
        });
    }
}

fn fields(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("GF(2^128)");
    let (mut x, y) = (blocks(512), blocks(1024).split_off(512));
    group.throughput(Throughput::Elements(512));
    group.bench_function("products", |b| b.iter(|| multiply(black_box(&mut x), &y)));
    group.bench_function("inner product", |b| b.iter(|| inner_product(black_box(&x), &y)));
}

fn groups(criterion: &mut Criterion) {
    const ELEMENTS: usize = 128;
    fn of<G: Group>(criterion: &mut Criterion, name: &str) {
        let mut group = criterion.benchmark_group(name);
        let mut rng = Prg::from_seed([7; 16]);
        let scalar = G::random_scalar(&mut rng);
        let mut uniform = vec![G::UNIFORM_EMPTY; ELEMENTS];
        for uniform in &mut uniform {
            rng.fill(uniform.as_mut());
        }
        let mut encoded = vec![G::EMPTY; ELEMENTS];
        group.sample_size(20).throughput(Throughput::Elements(ELEMENTS as u64));
        group.bench_function("map, multiply, encode", |b| {
            b.iter(|| G::map_mul_encode(&scalar, black_box(&uniform), &mut encoded));
        });
        let mut out = encoded.clone();
        group.bench_function("decode, multiply, encode", |b| {
            b.iter(|| assert!(G::decode_mul_encode(&scalar, black_box(&encoded), &mut out).is_ok()));
        });
        group.throughput(Throughput::Elements(1));
        group.bench_function("multiply the generator", |b| b.iter(|| G::mul_base(black_box(&scalar))));
    }
    of::<Ristretto255>(criterion, "ristretto255");
    of::<P256>(criterion, "P-256");
}

fn big_integers(criterion: &mut Criterion) {
    const RESIDUES: usize = 64;
    for bits in [2048, 3072] {
        let mut group = criterion.benchmark_group(format!("modulo {bits} bits"));
        group.sample_size(20).throughput(Throughput::Elements(RESIDUES as u64));
        let mut rng = Prg::from_seed([7; 16]);
        let Some(modulus) = modp::modulus(bits) else { continue };
        let bases = modulus.random_unit(RESIDUES, &mut rng);
        let exponent = Exponent::random(256, &mut rng);
        let exponents: Vec<Exponent> = (0..RESIDUES).map(|_| Exponent::random(256, &mut rng)).collect();
        let fixed = FixedBase::new(&modulus, &bases.get(0), 256);
        group.bench_function("power of 256 bits", |b| b.iter(|| modulus.pow(black_box(&bases), &exponent)));
        group.bench_function("fixed base, 256 bits", |b| b.iter(|| fixed.pow_each(black_box(&exponents))));
        group.bench_function("65537th power", |b| {
            b.iter(|| modulus.vartime_pow_public(black_box(&bases), &[1, 0, 1]))
        });
        group.bench_function("product", |b| b.iter(|| modulus.mul(black_box(&bases), &bases)));
        let key = RsaKey::generate(bits, 65_537, &mut rng);
        let messages = key.public().modulus().random_unit(RESIDUES, &mut rng);
        group.bench_function("RSA signature", |b| b.iter(|| assert!(key.sign(black_box(&messages)).is_ok())));
    }
}

/// Polynomials of degree 3 at points of 63 bits, as in `ope` on two sets of 2^20.
fn elgamal_of_polynomials(criterion: &mut Criterion) {
    const ROOTS: usize = 3;
    const BITS: u32 = 63;
    const COUNT: usize = 192;
    let mut group = criterion.benchmark_group("ElGamal");
    let mut rng = Prg::from_seed([6; 16]);
    let secret = elgamal::SecretKey::generate(&mut rng);
    let public = elgamal::PublicKey::decode(&secret.public()).unwrap();
    let messages: Vec<_> = (0..(COUNT / ROOTS) as u128)
        .flat_map(|bin| elgamal::monic([3 * bin, 3 * bin + 1, 3 * bin + 2]))
        .collect();
    let mut ciphertexts = vec![[0; 64]; COUNT];
    group.throughput(Throughput::Elements(COUNT as u64));
    group.bench_function("encrypt", |b| b.iter(|| secret.encrypt(&messages, &mut rng, &mut ciphertexts)));
    group.bench_function("decode coefficients", |b| {
        b.iter(|| public.decode_coefficients(black_box(&ciphertexts)).is_ok())
    });
    let coefficients = public.decode_coefficients(&ciphertexts).unwrap();
    let queries: Vec<_> = (0..COUNT)
        .map(|i| elgamal::Query {
            first: i / ROOTS * ROOTS,
            point: (1 << BITS) - 1 - i as u128,
            payload: i as u128,
        })
        .collect();
    let mut answers = ciphertexts.clone();
    group.bench_function("evaluate a polynomial", |b| {
        b.iter(|| public.evaluate(&coefficients, (ROOTS, BITS), &queries, &mut rng, &mut answers))
    });
    let mut opened = vec![[0; 32]; COUNT];
    group.bench_function("open", |b| b.iter(|| secret.open(black_box(&answers), &mut opened).is_ok()));
}

fn paillier_of_3072_bits(criterion: &mut Criterion) {
    const COUNT: usize = 72;
    let mut group = criterion.benchmark_group("Paillier, 3072 bits");
    let mut rng = Prg::from_seed([7; 16]);
    let secret = paillier::SecretKey::generate(3072, &mut rng);
    let public = secret.public();
    let messages = public.messages().random_unit(COUNT, &mut rng);
    let ciphertexts = public.encrypt(&messages, secret.randomisers(COUNT, &mut rng));
    let factors = vec![Exponent::new(&BoxedUint::from(u64::MAX >> 1), 63); COUNT];
    group.sample_size(10).throughput(Throughput::Elements(COUNT as u64));
    group.bench_function("randomiser", |b| b.iter(|| public.randomisers(COUNT, &mut rng)));
    group.bench_function("randomiser, with the key", |b| b.iter(|| secret.randomisers(COUNT, &mut rng)));
    group.bench_function("factor of 63 bits", |b| b.iter(|| public.multiply(&ciphertexts, &factors)));
    group.bench_function("sum", |b| b.iter(|| public.add(&ciphertexts, black_box(&ciphertexts))));
    group.bench_function("decrypt", |b| b.iter(|| secret.decrypt(black_box(&ciphertexts)).is_ok()));
}

fn joins(criterion: &mut Criterion) {
    let count = 1 << 16;
    let tags = blocks(3 * count / 2);
    let mut group = criterion.benchmark_group("join");
    group.sample_size(20).throughput(Throughput::Elements(count as u64));
    group.bench_function("16-byte tags, 2^16, half in common", |b| {
        b.iter(|| assert_eq!(join(1, black_box(&tags[..count]), &tags[count / 2..]).len(), count / 2));
    });
}

criterion_group!(
    benches,
    aes,
    half_gates,
    matrices,
    hashes,
    fields,
    groups,
    big_integers,
    elgamal_of_polynomials,
    paillier_of_3072_bits,
    joins
);
criterion_main!(benches);
