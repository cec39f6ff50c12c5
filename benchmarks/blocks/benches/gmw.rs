//! GMW: triples of each extension, and gates with triples that cost nothing. One party runs by itself; its partner's
//! messages have the right length and no meaning. Silent OT runs with both parties, a thread each.

use std::thread;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand_core::CryptoRng;
use vesica_blocks::context;
use vesica_channel::{Channel, Stream, memory};
use vesica_circuit::gmw::{
    Correlations, Demand, Gmw, Need, RandomOts, Received, Sent, Triples, and_bytes, select_bytes,
};
use vesica_circuit::{Bits, Engine, Error, Party, Watch};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_crypto::prg::Prg;
use vesica_ot::base::Origin;
use vesica_ot::security::{Profile, Security, SemiHonest};
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_ot::vole::in_pieces::{self, Rooms};
use vesica_ot::vole::{Plan, WIDTH as WIDTH_OF_SILENT};
use vesica_ot::{CotReceiver, CotSender, Seed, iknp};

/// Triples of a batch.
const COUNT: usize = 1 << 20;
/// Instances of a selection.
const INSTANCES: usize = 1 << 17;
const WIDTH: usize = 32;

/// Base OTs from a dealer: both strings of each, Δ, and the strings that it chose.
fn deal() -> ([[Block; 2]; 128], Block, [Block; 128]) {
    let mut rng = Prg::from_seed([2; 16]);
    let pairs: [[Block; 2]; 128] = std::array::from_fn(|_| [rng.block(), rng.block()]);
    let delta = rng.block();
    (pairs, delta, std::array::from_fn(|i| pairs[i][usize::from(delta.bit(i))]))
}

fn seed(block: &Block) -> Seed {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(block.as_bytes());
    Seed::new(bytes)
}

/// Gives one party so many bytes of its partner's, and takes what it sent.
fn feed(bytes: usize, party: impl FnOnce(&mut Stream)) {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut message = vec![0x5a; bytes];
            assert!(there.send(&message).is_ok() && there.flush().is_ok());
            // What the party sends is as long.
            assert!(there.recv_exact(&mut message).is_ok());
        });
        party(&mut here);
        assert!(here.flush().is_ok());
    });
}

fn triples_of<S: CotSender<1>, R: CotReceiver<1>>(
    criterion: &mut Criterion,
    name: &str,
    bytes: impl Fn(usize) -> usize,
    ots: impl Fn() -> (S, R),
) {
    let mut group = criterion.benchmark_group("GMW, triples, a party");
    group.sample_size(10).throughput(Throughput::Elements(COUNT as u64));
    let demand = Demand { bits: COUNT as u64, strings: INSTANCES as u64, ..Demand::default() };
    group.bench_function(format!("{name}, of a bit"), |b| {
        b.iter(|| {
            let (send, receive) = ots();
            let mut ots = RandomOts::new(&context(), Party::Receiver, send, receive, demand);
            feed(bytes(COUNT), |channel| {
                let rng = &mut Prg::from_seed([3; 16]);
                assert!(ots.reserve(Need::Bits(COUNT), channel, rng, &mut |_| Ok(())).is_ok());
            });
            ots.bits(COUNT).is_ok()
        });
    });
    group.throughput(Throughput::Elements(INSTANCES as u64));
    group.bench_function(format!("{name}, of strings of {WIDTH} bits"), |b| {
        b.iter(|| {
            let (send, receive) = ots();
            let mut ots = RandomOts::new(&context(), Party::Receiver, send, receive, demand);
            feed(bytes(INSTANCES), |channel| {
                let rng = &mut Prg::from_seed([3; 16]);
                assert!(ots.reserve(Need::Strings(INSTANCES), channel, rng, &mut |_| Ok(())).is_ok());
            });
            (0..INSTANCES).step_by(2048).all(|_| ots.strings(2048, WIDTH).is_ok())
        });
    });
}

fn triples(criterion: &mut Criterion) {
    let (pairs, delta, chosen) = deal();
    let both: Vec<[Seed; 2]> = pairs.iter().map(|pair| [seed(&pair[0]), seed(&pair[1])]).collect();
    let one: Vec<Seed> = chosen.iter().map(seed).collect();
    triples_of(
        criterion,
        "IKNP",
        |count| iknp::bytes(128, count) as usize,
        || match (iknp::Sender::<1>::from_base(&[delta], &one), iknp::Receiver::<1>::from_base(&both)) {
            (Ok(sender), Ok(receiver)) => (sender, receiver),
            _ => unreachable!("128 columns"),
        },
    );
    for width in [Width::Two, Width::Four] {
        triples_of(
            criterion,
            &format!("SoftSpoken, k = {}", width.bits()),
            |count| softspoken::bytes(width, Security::SemiHonest, count, Choices::Random),
            || {
                let rng = &mut Prg::from_seed([3; 16]);
                let (receiver, message) =
                    softspoken::Receiver::<SemiHonest>::new(&context(), width, &pairs, rng);
                let sender =
                    softspoken::Sender::<SemiHonest>::new(&context(), width, delta, &chosen, &message);
                match sender {
                    Ok(sender) => (sender, receiver),
                    Err(_) => unreachable!("an honest message"),
                }
            },
        );
    }
}

/// Base OTs, both set-ups, and triples, by both parties at once.
fn silent_triples(criterion: &mut Criterion) {
    const LABELS: [Label; 2] = [Label::new("blocks: by the receiver"), Label::new("blocks: by the sender")];
    let mut group = criterion.benchmark_group("GMW, triples, a party");
    group.sample_size(10);
    for log in [18, 20, 22] {
        let count = 1 << log;
        let party = |party: Party, channel: &mut Stream| -> Result<Triples, Error> {
            let rng = &mut Prg::from_seed([party as u8; 16]);
            let contexts = LABELS.map(|label| context().derive(label, b""));
            let (plan, rooms) = (Plan::of_bits(count, Profile::Conservative), Rooms::default());
            let send = |channel: &mut Stream, rng: &mut Prg| -> Result<_, Error> {
                let context = &contexts[party as usize];
                let ot = softspoken::Sender::<SemiHonest>::setup(
                    context,
                    WIDTH_OF_SILENT,
                    Origin::default(),
                    channel,
                    rng,
                )?;
                Ok(in_pieces::Sender::new(context, &plan, ot, &rooms, rng))
            };
            let receive = |channel: &mut Stream, rng: &mut Prg| -> Result<_, Error> {
                let context = &contexts[party.other() as usize];
                let ot = softspoken::Receiver::<SemiHonest>::setup(
                    context,
                    WIDTH_OF_SILENT,
                    Origin::default(),
                    channel,
                    rng,
                )?;
                Ok(in_pieces::Receiver::new(context, &plan, ot, &rooms, rng))
            };
            let (send, receive) = match party {
                Party::Receiver => {
                    let send = send(channel, rng)?;
                    (send, receive(channel, rng)?)
                }
                Party::Sender => {
                    let receive = receive(channel, rng)?;
                    (send(channel, rng)?, receive)
                }
            };
            let demand = Demand { bits: count as u64, ..Demand::default() };
            let mut ots = RandomOts::new(&context(), party, send, receive, demand);
            ots.reserve(Need::Bits(count), channel, rng, &mut |_| Ok(()))?;
            ots.bits(count)
        };
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(format!("silent OT, 2^{log}, with its set-up"), |b| {
            b.iter(|| {
                let (mut here, mut there) = memory::pair();
                thread::scope(|scope| {
                    let sender =
                        scope.spawn(move || party(Party::Sender, &mut there).map(|made| (made, there)));
                    assert!(party(Party::Receiver, &mut here).is_ok());
                    assert!(sender.join().is_ok_and(|made| made.is_ok()));
                });
            });
        });
    }
}

/// Triples that cost as little as a copy, so that only the gates are measured.
struct Free {
    row: Bits,
}

impl Free {
    fn rows(&self, count: usize, width: usize) -> Vec<Bits> {
        use vesica_circuit::Wires;
        (0..width).map(|_| self.row.slice(0..count)).collect()
    }
}

impl Correlations for Free {
    fn reserve(
        &mut self,
        _: Need,
        _: &mut dyn Channel,
        _: &mut dyn CryptoRng,
        _: &mut Watch<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }

    fn bits(&mut self, count: usize) -> Result<Triples, Error> {
        self.strings(count, 1)
    }

    fn received(&mut self, count: usize, width: usize) -> Result<Received, Error> {
        Ok(Received { choices: self.rows(count, 1).remove(0), strings: self.rows(count, width) })
    }

    fn sent(&mut self, count: usize, width: usize) -> Result<Sent, Error> {
        Ok(Sent { zeros: self.rows(count, width), differences: self.rows(count, width) })
    }

    fn strings(&mut self, count: usize, width: usize) -> Result<Triples, Error> {
        Ok(Triples {
            a: self.rows(count, 1).remove(0),
            b: self.rows(count, width),
            c: self.rows(count, width),
        })
    }
}

fn gates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("GMW, gates, a party");
    group.sample_size(20);
    let free = || Free { row: Bits::repeat(true, 1 << 17) };
    let run = |bytes: u64, work: &mut dyn FnMut(&mut Gmw<'_>) -> bool| {
        feed(32 + bytes as usize, |channel| {
            let (watch, rng) = (&mut |_| Ok(()), &mut Prg::from_seed([3; 16]));
            assert!(
                Gmw::new(Party::Receiver, &mut free(), channel, watch, rng)
                    .is_ok_and(|mut party| work(&mut party))
            );
        });
    };
    let row = Bits::repeat(true, COUNT);
    group.throughput(Throughput::Elements(COUNT as u64));
    group.bench_function("a layer of 2^20 AND gates", |b| {
        b.iter(|| run(and_bytes(COUNT as u64), &mut |party| party.and(&[(&row, &row)]).is_ok()));
    });
    let (select, values) = (Bits::repeat(true, INSTANCES), vec![Bits::repeat(true, INSTANCES); WIDTH]);
    group.throughput(Throughput::Elements((INSTANCES * WIDTH) as u64));
    group.bench_function(format!("2^17 selections among {WIDTH} bits"), |b| {
        let bytes = select_bytes(INSTANCES as u64, WIDTH as u64);
        b.iter(|| run(bytes, &mut |party| party.and_all(&select, &values).is_ok()));
    });
}

criterion_group!(benches, triples, silent_triples, gates);
criterion_main!(benches);
