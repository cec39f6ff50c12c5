//! Base OTs, extensions, codes, VOLE: each party by itself, its partner's messages made before or read from memory.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use vesica_blocks::{blocks, context};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_crypto::prg::Prg;
use vesica_net::{Options, memory};
use vesica_ot::base::masny_rindal;
use vesica_ot::coded::{self, Code};
use vesica_ot::softspoken::{self, Security, Width};
use vesica_ot::vole::{self, Plan, Profile, Value};
use vesica_ot::{CotReceiver, CotSender, Seed, iknp, kk13, kkrt};

const LABEL: Label = Label::new("blocks");
const COUNT: usize = 1 << 13;

/// Base OTs from a dealer: both strings of each, the choices, the chosen ones.
fn deal(count: usize) -> (Vec<[Block; 2]>, [Block; 4], Vec<Block>) {
    let mut rng = Prg::from_seed([2; 16]);
    let pairs: Vec<[Block; 2]> = (0..count).map(|_| [rng.block(), rng.block()]).collect();
    let mut choices = [Block::ZERO; 4];
    rng.fill(&mut Block::slice_as_mut_bytes(&mut choices)[..count / 8]);
    let bit = |i: usize| usize::from(choices[i / 128].bit(i % 128));
    let chosen = pairs.iter().enumerate().map(|(i, pair)| pair[bit(i)]).collect();
    (pairs, choices, chosen)
}

fn seed(block: &Block) -> Seed {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&Block::slice_as_bytes(std::slice::from_ref(block))[..16]);
    Seed::new(bytes)
}

fn base(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("base OT");
    let (context, choices) = (context(), [0x5a; 16]);
    let rng = || Prg::from_seed([3; 16]);
    let (_, public) = masny_rindal::Sender::new(&context, LABEL, &mut rng());
    let (_, message) = masny_rindal::Receiver::new(&context, LABEL, &choices, 128, &mut rng());
    group.sample_size(20).throughput(Throughput::Elements(128));
    group.bench_function("Masny-Rindal, sender", |b| {
        b.iter(|| {
            let (sender, _) = masny_rindal::Sender::new(&context, LABEL, &mut rng());
            assert!(sender.finish(&message).is_ok());
        });
    });
    group.bench_function("Masny-Rindal, receiver", |b| {
        b.iter(|| {
            let (receiver, _) = masny_rindal::Receiver::new(&context, LABEL, &choices, 128, &mut rng());
            assert!(receiver.finish(&public).is_ok());
        });
    });
}

/// Both parties, one after the other: the channel is in memory.
fn extensions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("extension, both parties");
    group.throughput(Throughput::Elements(COUNT as u64));
    let (pairs, choices, chosen) = deal(128);
    let both: Vec<[Seed; 2]> = pairs.iter().map(|pair| [seed(&pair[0]), seed(&pair[1])]).collect();
    let one: Vec<Seed> = chosen.iter().map(seed).collect();
    let (mut receiver, mut sender) =
        (iknp::Receiver::<1>::from_base(&both), iknp::Sender::<1>::from_base(&[choices[0]], &one));
    let (mut a, mut b) = memory::pair(&Options::default());
    let (mut rows, mut other) = (vec![[Block::ZERO]; COUNT], vec![[Block::ZERO]; COUNT]);
    let bits = vec![0x35; COUNT / 8];
    group.bench_function("IKNP, rows", |bench| {
        bench.iter(|| {
            assert!(receiver.extend(&bits, &mut rows, &mut a).is_ok());
            assert!(sender.extend(&mut other, &mut b).is_ok());
        });
    });
    let words: Vec<u8> = (0..COUNT).map(|i| i as u8).collect();
    coded(&mut group, "KK13", kk13::WalshHadamard::default, &words);
    let (context, words) = (context(), blocks(COUNT));
    coded(&mut group, "KKRT, 448 columns", || kkrt::PseudoRandomCode::new(&context, 448), &words);
}

fn coded<C: Code<W>, const W: usize>(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    code: impl Fn() -> C,
    words: &[C::Word],
) {
    let (pairs, choices, chosen) = deal(code().columns());
    let mut secret = [Block::ZERO; W];
    secret.copy_from_slice(&choices[..W]);
    let mut receiver = coded::Receiver::from_seeds(code(), &context(), 1, &pairs);
    let mut sender = coded::Sender::from_seeds(code(), &context(), 1, secret, &chosen);
    let (mut a, mut b) = memory::pair(&Options::default());
    let (mut outputs, mut found) = (vec![Block::ZERO; COUNT], vec![Block::ZERO; COUNT]);
    let mut rows = vec![[Block::ZERO; W]; COUNT];
    let at: Vec<u32> = (0..COUNT as u32).collect();
    group.bench_function(format!("{name}, an evaluation each"), |bench| {
        bench.iter(|| {
            assert!(receiver.extend(words, &mut outputs, &mut a).is_ok() && a.flush().is_ok());
            let first = sender.next();
            assert!(sender.extend(&mut rows, b.split().1).is_ok());
            sender.evaluate(first, &rows, &at, words, &mut found);
        });
    });
}

fn soft_spoken(criterion: &mut Criterion) {
    // What one checked chunk yields.
    const COUNT: usize = 127 * 128;
    let mut group = criterion.benchmark_group("SoftSpoken");
    group.throughput(Throughput::Elements(COUNT as u64));
    let (pairs, choices, chosen) = deal(128);
    for width in [Width::Two, Width::Four, Width::Eight] {
        for security in [Security::SemiHonest, Security::Malicious] {
            let rng = &mut Prg::from_seed([3; 16]);
            let (mut receiver, message) = softspoken::Receiver::new(&context(), width, security, &pairs, rng);
            let Ok(mut sender) =
                softspoken::Sender::new(&context(), width, security, choices[0], &chosen, &message)
            else {
                continue;
            };
            let (mut rows, mut bits) = (vec![[Block::ZERO]; COUNT], vec![0; COUNT / 8]);
            let mut messages = vec![0; softspoken::bytes(width, security, COUNT, false)];
            group.bench_function(format!("k = {}, {security:?}, both parties", width.bits()), |bench| {
                bench.iter(|| {
                    let (mut written, mut read) = (0, 0);
                    let sent = receiver.extend_to(false, &mut bits, &mut rows, |message| {
                        messages[written..written + message.len()].copy_from_slice(message);
                        written += message.len();
                        Ok(())
                    });
                    let taken = sender.extend_from(false, &mut rows, |message| {
                        message.copy_from_slice(&messages[read..read + message.len()]);
                        read += message.len();
                        Ok(())
                    });
                    assert!(sent.is_ok() && taken.is_ok());
                });
            });
        }
    }
}

fn silent(criterion: &mut Criterion) {
    fn of<V: Value>(criterion: &mut Criterion, name: &str) {
        const LENGTH: usize = 1 << 16;
        let plan = Plan::new(LENGTH, Profile::Conservative, Security::SemiHonest);
        let (pairs, choices, chosen) = deal(128);
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20).throughput(Throughput::Elements(LENGTH as u64));
        let receiver = || vole::Receiver::<V>::new(&context(), &plan, &pairs, &mut Prg::from_seed([4; 16]));
        let sender = |message: &_| {
            vole::Sender::new::<V>(
                &context(),
                &plan,
                choices[0],
                &chosen,
                message,
                &mut Prg::from_seed([4; 16]),
            )
        };
        group.bench_function("receiver: begin and A", |b| b.iter(|| receiver().0.values().len()));
        let (_, message) = receiver();
        group.bench_function("sender", |b| {
            b.iter(|| assert!(sender(&message).is_ok_and(|(sender, _)| sender.finish().len() == LENGTH)));
        });
        let Ok((_, words)) = sender(&message) else { return };
        group.bench_function("receiver: C", |b| {
            b.iter_batched(
                || receiver().0,
                |mut receiver| {
                    assert!(receiver.accept(words.clone()).is_ok());
                    receiver.finish().len()
                },
                BatchSize::LargeInput,
            );
        });
    }
    of::<Block>(criterion, "silent VOLE over GF(2^128)");
    of::<u64>(criterion, "silent VOLE over GF(2^64)");
}

criterion_group!(benches, base, extensions, soft_spoken, silent);
criterion_main!(benches);
