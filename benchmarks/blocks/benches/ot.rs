//! Base OTs, extensions, codes, VOLE. Each party runs by itself. The messages of its partner are made before, or read from
//! memory.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use vesica_blocks::{blocks, context};
use vesica_channel::{Channel, memory};
use vesica_crypto::block::Block;
use vesica_crypto::group::{Group, P256};
use vesica_crypto::hash::Label;
use vesica_crypto::prg::Prg;
use vesica_ot::base::two_messages::{Receiver as _, Sender as _};
use vesica_ot::base::{masny_rindal, naor_pinkas::curves};
use vesica_ot::chosen::StringOt;
use vesica_ot::kos::{self, CorrelationCheck};
use vesica_ot::nco::{self, Code, NcoReceiver, NcoSender};
use vesica_ot::random::OtPads;
use vesica_ot::security::{Malicious, Profile, SecurityModel, SemiHonest};
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_ot::vole::sender::Secrets;
use vesica_ot::vole::{Plan, Value, receiver, sender};
use vesica_ot::{CotReceiver, CotSender, Error, Seed, iknp, kk13, kkrt};

const LABEL: Label = Label::new("blocks");
const COUNT: usize = 1 << 13;

/// Base OTs from a dealer: both strings of each OT, the choices, the chosen strings.
fn deal(count: usize) -> (Vec<[Block; 2]>, [Block; 4], Vec<Block>) {
    let mut rng = Prg::from_seed([2; 16]);
    let pairs: Vec<[Block; 2]> = (0..count).map(|_| [rng.block(), rng.block()]).collect();
    let mut choices = [Block::ZERO; 4];
    rng.fill(&mut Block::slice_as_mut_bytes(&mut choices)[..count / 8]);
    let bit = |i: usize| usize::from(choices[i / 128].bit(i % 128));
    let chosen = pairs.iter().enumerate().map(|(i, pair)| pair[bit(i)]).collect();
    (pairs, choices, chosen)
}

/// Base OTs of an extension of 128 columns: both strings, Δ, the chosen strings.
fn deal_columns() -> ([[Block; 2]; 128], Block, [Block; 128]) {
    let (pairs, [delta, ..], chosen) = deal(128);
    (std::array::from_fn(|i| pairs[i]), delta, std::array::from_fn(|i| chosen[i]))
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

/// The papers' base OTs, over the group of level 128. The partner's messages come from a recorded run.
fn naor_pinkas(criterion: &mut Criterion) {
    const COUNT: usize = 128;
    let mut group = criterion.benchmark_group("base OT");
    let (context, choices) = (context(), [0x5a; COUNT / 8]);
    let send = |channel: &mut dyn Channel| {
        curves::send::<P256>(&context, LABEL, COUNT, channel, &mut Prg::from_seed([3; 16]))
    };
    let receive = |channel: &mut dyn Channel| {
        curves::receive::<P256>(&context, LABEL, &choices, COUNT, channel, &mut Prg::from_seed([4; 16]))
    };
    let mut first = vec![0; curves::sender_bytes::<P256>()];
    let mut second = vec![0; COUNT * curves::receiver_bytes::<P256>()];
    // The sender's message does not depend on the receiver's, so one repeated element serves as the answer.
    let (mut here, mut there) = memory::pair();
    let generator = P256::encode(&P256::generator());
    assert!((0..COUNT).all(|_| there.send(generator.as_ref()).is_ok()) && there.flush().is_ok());
    assert!(send(&mut here).is_ok() && there.recv_exact(&mut first).is_ok());
    assert!(there.send(&first).is_ok() && there.flush().is_ok());
    assert!(receive(&mut here).is_ok() && there.recv_exact(&mut second).is_ok());
    group.sample_size(20).throughput(Throughput::Elements(COUNT as u64));
    let mut taken = first.clone();
    group.bench_function("Naor-Pinkas on P-256, sender", |b| {
        b.iter(|| {
            assert!(there.send(&second).is_ok() && there.flush().is_ok());
            assert!(send(&mut here).is_ok() && there.recv_exact(&mut taken).is_ok());
        });
    });
    let mut taken = second.clone();
    group.bench_function("Naor-Pinkas on P-256, receiver", |b| {
        b.iter(|| {
            assert!(there.send(&first).is_ok() && there.flush().is_ok());
            assert!(receive(&mut here).is_ok() && there.recv_exact(&mut taken).is_ok());
        });
    });
}

/// Correlated rows that cost nothing, so that only their use is measured.
struct Dealt;

impl CotSender<1> for Dealt {
    type Security = SemiHonest;

    fn delta(&self) -> [Block; 1] {
        [Block::ONES]
    }

    fn extend(&mut self, rows: &mut [[Block; 1]], _: &mut dyn Channel) -> Result<(), Error> {
        rows.fill(self.delta());
        Ok(())
    }
}

impl CotReceiver<1> for Dealt {
    type Security = SemiHonest;

    fn extend(&mut self, _: &[u8], rows: &mut [[Block; 1]], _: &mut dyn Channel) -> Result<(), Error> {
        rows.fill([Block::ZERO]);
        Ok(())
    }
}

/// Uses of correlated rows: strings of random OTs, and OTs of chosen and correlated strings.
fn strings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("strings of rows");
    group.throughput(Throughput::Elements(COUNT as u64));
    let (narrow, mut rows) = (OtPads::<1>::of(&context(), LABEL), vec![[Block::ONES]; COUNT]);
    group.bench_function("random OT, 128 bits, a string", |b| b.iter(|| narrow.hash(0, &mut rows)));
    let numbers: Vec<u64> = (0..COUNT as u64).map(|i| i * 7 % COUNT as u64).collect();
    group.bench_function("random OT, 128 bits, a string on demand", |b| {
        b.iter(|| narrow.hash_at(&numbers, &mut rows));
    });
    let (wide, mut wide_rows) = (OtPads::<2>::of(&context(), LABEL), vec![[Block::ONES; 2]; COUNT]);
    group.bench_function("random OT, 256 bits, a string", |b| b.iter(|| wide.hash(0, &mut wide_rows)));
    let mut sender = StringOt::new(&context(), LABEL, Block::BYTES, Dealt);
    let mut receiver = StringOt::new(&context(), LABEL, Block::BYTES, Dealt);
    let (mut a, mut b) = memory::pair();
    let (pairs, choices) = (vec![[[Block::ONES], [Block::ZERO]]; COUNT], vec![0x35; COUNT / 8]);
    group.bench_function("chosen OT, 128 bits, both parties", |bench| {
        bench.iter(|| {
            assert!(sender.send(&pairs, &mut a).is_ok());
            assert!(receiver.receive(&choices, &mut rows, &mut b).is_ok());
        });
    });
    let (mut zeros, mut strings) = (rows.clone(), rows);
    group.bench_function("correlated OT, 128 bits, both parties", |bench| {
        bench.iter(|| {
            assert!(sender.send_correlated(&mut zeros, |_, zero| [!zero[0]], &mut a).is_ok());
            assert!(receiver.receive_correlated(&choices, &mut strings, &mut b).is_ok());
        });
    });
}

/// Both parties, one after the other, over a channel in memory.
fn extensions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("extension, both parties");
    group.throughput(Throughput::Elements(COUNT as u64));
    let (pairs, choices, chosen) = deal(128);
    let both: Vec<[Seed; 2]> = pairs.iter().map(|pair| [seed(&pair[0]), seed(&pair[1])]).collect();
    let one: Vec<Seed> = chosen.iter().map(seed).collect();
    let (Ok(mut receiver), Ok(mut sender)) =
        (iknp::Receiver::<1>::from_base(&both), iknp::Sender::<1>::from_base(&[choices[0]], &one))
    else {
        return;
    };
    let (mut a, mut b) = memory::pair();
    let (mut rows, mut other) = (vec![[Block::ZERO]; COUNT], vec![[Block::ZERO]; COUNT]);
    let bits = vec![0x35; COUNT / 8];
    group.bench_function("IKNP, rows", |bench| {
        bench.iter(|| {
            assert!(receiver.extend(&bits, &mut rows, &mut a).is_ok());
            assert!(sender.extend(&mut other, &mut b).is_ok());
        });
    });
    kos_rows::<kos::PublishedUnproven>(&mut group, "Published", &both, choices[0], &one);
    kos_rows::<kos::Revised>(&mut group, "Revised", &both, choices[0], &one);
    let words: Vec<u8> = (0..COUNT).map(|i| i as u8).collect();
    nco_ot(&mut group, "KK13", kk13::WalshHadamard::default, &words);
    let (context, words) = (context(), blocks(COUNT));
    nco_ot(&mut group, "KKRT, 448 columns", || kkrt::PseudoRandomCode::new(&context, 448), &words);
}

/// A whole checked chunk of KOS15.
fn kos_rows<C: CorrelationCheck>(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    check: &str,
    both: &[[Seed; 2]],
    delta: Block,
    one: &[Seed],
) {
    const COUNT: usize = 1 << 16;
    let rng = &mut Prg::from_seed([3; 16]);
    let (Ok(mut receiver), Ok(mut sender)) = (
        kos::Receiver::<C>::from_base(&context(), both, rng),
        kos::Sender::<C>::from_base(&context(), delta, one),
    ) else {
        return;
    };
    let (mut a, mut b) = memory::pair();
    let (mut rows, mut other) = (vec![[Block::ZERO]; COUNT], vec![[Block::ZERO]; COUNT]);
    let bits = vec![0x35; COUNT / 8];
    group.throughput(Throughput::Elements(COUNT as u64));
    group.bench_function(format!("KOS15, {check} check, rows"), |bench| {
        bench.iter(|| {
            assert!(receiver.extend(&bits, &mut rows, &mut a).is_ok());
            assert!(sender.extend(&mut other, &mut b).is_ok());
        });
    });
    group.throughput(Throughput::Elements(self::COUNT as u64));
}

fn nco_ot<C: Code<W>, const W: usize>(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    code: impl Fn() -> C,
    words: &[C::Word],
) {
    let (pairs, choices, chosen) = deal(code().columns());
    let mut secret = [Block::ZERO; W];
    secret.copy_from_slice(&choices[..W]);
    let (Ok(mut receiver), Ok(mut sender)) = (
        nco::Receiver::from_seeds(code(), &context(), &pairs),
        nco::Sender::from_seeds(code(), &context(), &secret, &chosen),
    ) else {
        return;
    };
    let (mut a, mut b) = memory::pair();
    let (mut outputs, mut found) = (vec![Block::ZERO; COUNT], vec![Block::ZERO; COUNT]);
    let mut rows = vec![[Block::ZERO; W]; COUNT];
    let at: Vec<u32> = (0..COUNT as u32).collect();
    group.bench_function(format!("{name}, an evaluation each"), |bench| {
        bench.iter(|| {
            assert!(receiver.extend_groups(1, words, &mut outputs, &mut a).is_ok() && a.flush().is_ok());
            let first = sender.next();
            assert!(sender.extend(&mut rows, b.split().1).is_ok());
            sender.evaluate_groups(1, first, &rows, &at, words, &mut found);
        });
    });
}

fn soft_spoken(criterion: &mut Criterion) {
    for width in [Width::Two, Width::Four, Width::Eight] {
        soft_spoken_of::<SemiHonest>(criterion, width);
        soft_spoken_of::<Malicious>(criterion, width);
    }
}

fn soft_spoken_of<S: SecurityModel>(criterion: &mut Criterion, width: Width) {
    // What one checked chunk yields.
    const COUNT: usize = 127 * 128;
    let mut group = criterion.benchmark_group("SoftSpoken");
    group.throughput(Throughput::Elements(COUNT as u64));
    let (pairs, delta, chosen) = deal_columns();
    let rng = &mut Prg::from_seed([3; 16]);
    let (mut receiver, message) = softspoken::Receiver::<S>::new(&context(), width, &pairs, rng);
    let Ok(mut sender) = softspoken::Sender::<S>::new(&context(), width, delta, &chosen, &message) else {
        return;
    };
    let (mut rows, mut bits) = (vec![[Block::ZERO]; COUNT], vec![0; COUNT / 8]);
    let mut messages = vec![0; softspoken::bytes(width, S::SECURITY, COUNT, Choices::Random)];
    group.bench_function(format!("k = {}, {:?}, both parties", width.bits(), S::SECURITY), |bench| {
        bench.iter(|| {
            let (mut written, mut read) = (0, 0);
            let sent = receiver.extend_to(Choices::Random, &mut bits, &mut rows, |message| {
                messages[written..written + message.len()].copy_from_slice(message);
                written += message.len();
                Ok(())
            });
            let taken = sender.extend_from(Choices::Random, &mut rows, |message| {
                message.copy_from_slice(&messages[read..read + message.len()]);
                read += message.len();
                Ok(())
            });
            assert!(sent.is_ok() && taken.is_ok());
        });
    });
}

fn silent(criterion: &mut Criterion) {
    fn of<V: Value>(criterion: &mut Criterion, name: &str) {
        const LENGTH: usize = 1 << 16;
        let plan = Plan::new(LENGTH, Profile::Conservative);
        let (pairs, delta, chosen) = deal_columns();
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20).throughput(Throughput::Elements(LENGTH as u64));
        let rng = || Prg::from_seed([4; 16]);
        let receiver = || receiver::Answered::<V, SemiHonest>::new(&context(), &plan, &pairs, &mut rng());
        let sender = |corrections: &[u8]| {
            let secrets = Secrets { delta, base: &chosen };
            sender::Answered::<SemiHonest>::new::<V>(&context(), &plan, &secrets, corrections, &mut rng())
        };
        group.bench_function("receiver: begin and A", |b| b.iter(|| receiver().0.make_values()));
        let (_, corrections) = receiver();
        group.bench_function("sender", |b| {
            b.iter(|| {
                assert!(
                    sender(&corrections).is_ok_and(|(sender, _)| sender.accept().expand().b.len() == LENGTH)
                );
            });
        });
        let Ok((_, flight3)) = sender(&corrections) else { return };
        group.bench_function("receiver: C", |b| {
            b.iter_batched(
                || receiver().0,
                |receiver| {
                    receiver.accept(flight3.clone()).map(|(_, receiver)| receiver.expand().len()).is_ok()
                },
                BatchSize::LargeInput,
            );
        });
    }
    of::<Block>(criterion, "silent VOLE over GF(2^128)");
    of::<u64>(criterion, "silent VOLE over GF(2^64)");
}

criterion_group!(benches, base, naor_pinkas, strings, extensions, soft_spoken, silent);
criterion_main!(benches);
