use std::thread;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vesica_channel::{Stream, memory};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_ot::base::{KeyAgreement, Origin};
use vesica_ot::security::{Profile, SemiHonest};
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_ot::vole::in_pieces::{self, Rooms};
use vesica_ot::vole::{Plan, WIDTH};
use vesica_ot::{CotReceiver, CotSender, ideal as ideal_ot, iknp, silent};

use super::ideal::Dealer;
use super::*;
use crate::clear::Clear;
use crate::count::Count;
use crate::engine::{Engine, Input};
use crate::wires::Wires;

const OTS: [Label; 2] = [Label::new("test: sent by the receiver"), Label::new("test: sent by the sender")];
/// Small parts, so that a test has many of them, in several groups.
const SMALL: Sizes = Sizes { part: 128, unit: 64, group: 512, strings_group: 128 };

fn context() -> Context {
    Context::new(&[5; 32], "test", b"", 1, 2)
}

/// Whether about half of the bits are ones: within 4.5 standard deviations.
fn balanced(row: &Bits) -> bool {
    let ones = row.words().iter().map(|word| word.count_ones() as f64).sum::<f64>();
    let deviation = 2.0 * ones - row.len() as f64;
    deviation * deviation <= 4.5 * 4.5 * row.len() as f64
}

fn row(rng: &mut StdRng, len: usize) -> Bits {
    let mut bytes = vec![0; len.div_ceil(8)];
    rng.fill_bytes(&mut bytes);
    Bits::from_bytes(&bytes, len)
}

fn rows(seed: u64, len: usize, count: usize) -> Vec<Bits> {
    let rng = &mut StdRng::seed_from_u64(seed);
    (0..count).map(|_| row(rng, len)).collect()
}

/// What both parties give, each with its end of a channel.
fn both<T: Send>(party: impl Fn(Party, &mut Stream) -> T + Sync) -> [T; 2] {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let outcome = party(Party::Sender, &mut there);
            (outcome, there)
        });
        let receiver = party(Party::Receiver, &mut here);
        drop(here);
        [receiver, sender.join().unwrap().0]
    })
}

/// Triples over two set-ups of an extension, the receiver's part as OT sender first.
fn over<S, R, const W: usize>(
    party: Party,
    demand: Demand,
    channel: &mut Stream,
    send: impl FnOnce(Label, &mut Stream) -> S,
    receive: impl FnOnce(Label, &mut Stream) -> R,
) -> RandomOts<S, R, W> {
    let (send, receive) = match party {
        Party::Receiver => {
            let send = send(OTS[0], channel);
            (send, receive(OTS[1], channel))
        }
        Party::Sender => {
            let receive = receive(OTS[0], channel);
            (send(OTS[1], channel), receive)
        }
    };
    RandomOts::new(&context(), party, send, receive, demand)
}

fn seeded(party: Party) -> StdRng {
    StdRng::seed_from_u64(100 + party as u64)
}

fn over_iknp<const W: usize>(
    columns: u32,
    party: Party,
    demand: Demand,
    channel: &mut Stream,
) -> RandomOts<iknp::Sender<W>, iknp::Receiver<W>, W> {
    let rng = &mut seeded(party);
    let other = &mut StdRng::seed_from_u64(200 + party as u64);
    over(
        party,
        demand,
        channel,
        |label, channel| {
            iknp::Sender::setup(&context(), label, columns, Origin::default(), channel, rng).unwrap()
        },
        |label, channel| {
            iknp::Receiver::setup(&context(), label, columns, Origin::default(), channel, other).unwrap()
        },
    )
}

fn over_ideal(
    party: Party,
    demand: Demand,
    channel: &mut Stream,
) -> RandomOts<ideal_ot::Sender<1>, ideal_ot::Receiver<1>, 1> {
    let (rng, other) = (&mut seeded(party), &mut seeded(party));
    over(
        party,
        demand,
        channel,
        |_, channel| ideal_ot::Sender::setup(&context(), 128, channel, rng).unwrap(),
        |_, channel| ideal_ot::Receiver::setup(&context(), 128, channel, other).unwrap(),
    )
}

/// A circuit with every kind of gate, in layers of rows of several lengths.
fn everything<E: Engine>(
    engine: &mut E,
    len: usize,
    [receiver, sender]: [Input<'_>; 2],
    private: [Input<'_>; 2],
) -> Result<Vec<Bits>, Error> {
    let x = engine.input(Party::Receiver, receiver)?;
    let y = engine.input(Party::Sender, sender)?;
    let ones = engine.constant(true, len);
    let sum = engine.xor(&x[0], &y[0]);
    let part = [x[1].slice(len / 3..len), y[1].slice(len / 3..len)];
    let layer = engine.and(&[(&x[0], &y[0]), (&sum, &ones), (&part[0], &part[1]), (&x[2], &x[1])])?;
    let next = engine.and(&[(&y[2], &y[1])])?;
    let mixed = engine.xor(&engine.not(&layer[0]), &next[0]);
    let values = [vec![mixed.clone(), layer[3].clone(), engine.not(&y[2])], x.clone()].concat();
    let mut wires = engine.and_all(&mixed, &values)?;
    wires.extend(engine.and_all(&layer[1], &values[..1])?);
    let many: Vec<_> = (0..130).map(|i| values[i % values.len()].clone()).collect();
    wires.extend(engine.and_all(&layer[1], &many)?);
    for (owner, select) in [Party::Receiver, Party::Sender].into_iter().zip(private) {
        wires.extend(engine.and_private(owner, select, &values)?);
        wires.extend(engine.and_private(owner, select, &many)?);
    }
    wires.extend([mixed, layer[1].clone(), layer[2].clone(), ones]);
    let to_both = engine.open(Opening::ToBoth, &wires)?.unwrap_or_default();
    let to_receiver = engine.open(Opening::ToReceiver, &wires[..2])?.unwrap_or_default();
    let to_sender = engine.open(Opening::ToSender, &wires[2..4])?.unwrap_or_default();
    Ok([to_both, to_receiver, to_sender].concat())
}

fn private(len: usize) -> [Vec<Bits>; 2] {
    [rows(11, len, 1), rows(12, len, 1)]
}

fn clear(len: usize) -> Vec<Bits> {
    let (x, y, private) = (rows(1, len, 3), rows(2, len, 3), private(len));
    let [r, s] = private.each_ref().map(|rows| Input::Known(rows));
    everything(&mut Clear::default(), len, [Input::Known(&x), Input::Known(&y)], [r, s]).unwrap()
}

/// How an AND of one bit with many is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Multiplexers {
    /// By OTs of strings.
    Strings,
    /// By [`SingleBits`].
    Bits,
}

impl Multiplexers {
    const BOTH: [Self; 2] = [Multiplexers::Strings, Multiplexers::Bits];

    /// [`everything`], on the engine or bit by bit.
    fn everything<E: Engine>(
        self,
        engine: &mut E,
        len: usize,
        inputs: [Input<'_>; 2],
        private: [Input<'_>; 2],
    ) -> Result<Vec<Bits>, Error> {
        match self {
            Multiplexers::Strings => everything(engine, len, inputs, private),
            Multiplexers::Bits => everything(&mut SingleBits(engine), len, inputs, private),
        }
    }

    /// A layer of gates, selections among values, and as many by a bit of either party, all of one row of the sender.
    fn gates_on(self, engine: &mut Gmw<'_>, counts: [usize; 3], row: &Bits) {
        fn gates<E: Engine<Wires = Bits>>(engine: &mut E, [ands, selected, private]: [usize; 3], row: &Bits) {
            let (known, hidden) = ([row.clone()], Input::Hidden { rows: 1, len: row.len() });
            engine.and(&vec![(row, row); ands]).unwrap();
            engine.and_all(row, &vec![row.clone(); selected]).unwrap();
            engine.and_private(Party::Sender, Input::Known(&known), &vec![row.clone(); private]).unwrap();
            engine.and_private(Party::Receiver, hidden, &vec![row.clone(); private]).unwrap();
        }
        match self {
            Multiplexers::Strings => gates(engine, counts, row),
            Multiplexers::Bits => gates(&mut SingleBits(engine), counts, row),
        }
    }
}

fn cost(len: usize, multiplexers: Multiplexers) -> Cost {
    let [inputs, one] = [3, 1].map(|rows| Input::Hidden { rows, len });
    Cost::of(|cost| multiplexers.everything(cost, len, [inputs; 2], [one; 2]).map(|_| ())).unwrap()
}

fn counted(len: usize) -> Count {
    cost(len, Multiplexers::Strings).count
}

fn as_party(
    party: Party,
    len: usize,
    triples: &mut dyn Correlations,
    settings: (Multiplexers, Sizes),
    channel: &mut Stream,
) -> Result<Vec<Bits>, Error> {
    let (mut gates, rng) = (0, &mut seeded(party));
    let watch = &mut |count| {
        gates += count;
        Ok(())
    };
    let mut engine = Gmw::new(party, triples, channel, watch, rng)?;
    engine.sizes = settings.1;
    let (mine, own) = (rows(1 + party as u64, len, 3), &private(len)[party as usize]);
    let (known, hidden) = (Input::Known(&mine), Input::Hidden { rows: 3, len });
    let (known_bit, hidden_bit) = (Input::Known(own), Input::Hidden { rows: 1, len });
    let (inputs, bits) = match party {
        Party::Receiver => ([known, hidden], [known_bit, hidden_bit]),
        Party::Sender => ([hidden, known], [hidden_bit, known_bit]),
    };
    let outputs = settings.0.everything(&mut engine, len, inputs, bits)?;
    let count = counted(len);
    assert_eq!(gates, count.ands + count.private_ands, "all gates are told");
    Ok(outputs)
}

fn agrees<C: Correlations>(
    len: usize,
    settings: (Multiplexers, Sizes),
    triples: impl Fn(Party, Demand, &mut Stream) -> C + Sync,
) {
    let demand = cost(len, settings.0).demand();
    // With and without the demand known ahead.
    for demand in [demand, Demand::default()] {
        let outputs = both(|party, channel| {
            let mut triples = triples(party, demand, channel);
            as_party(party, len, &mut triples, settings, channel).unwrap()
        });
        let all = clear(len);
        let (to_both, rest) = all.split_at(all.len() - 4);
        assert_eq!(outputs[0], [to_both, &rest[..2]].concat());
        assert_eq!(outputs[1], [to_both, &rest[2..]].concat());
    }
}

#[test]
fn every_gate_agrees_with_the_clear_under_an_ideal_dealer() {
    for len in [1, 7, 63, 64, 65, 127, 1000] {
        for multiplexers in Multiplexers::BOTH {
            for sizes in [SMALL, Sizes::DEFAULT] {
                agrees(len, (multiplexers, sizes), |party, _, _| Dealer::new(party, [9; 16]));
            }
        }
    }
}

#[test]
fn every_gate_agrees_with_the_clear_over_ideal_ots() {
    for len in [1, 65, 3000] {
        for multiplexers in Multiplexers::BOTH {
            for sizes in [SMALL, Sizes::DEFAULT] {
                agrees(len, (multiplexers, sizes), over_ideal);
            }
        }
    }
}

#[test]
fn every_gate_agrees_with_the_clear_over_every_extension() {
    let settings = (Multiplexers::Strings, Sizes::DEFAULT);
    agrees(300, settings, |party, demand, channel| over_iknp::<1>(80, party, demand, channel));
    agrees(300, settings, |party, demand, channel| over_iknp::<1>(128, party, demand, channel));
    agrees(300, settings, |party, demand, channel| over_iknp::<2>(192, party, demand, channel));
    agrees(300, settings, |party, demand, channel| over_iknp::<2>(256, party, demand, channel));
    agrees(300, settings, |party, demand, channel| {
        let rng = &mut seeded(party);
        let other = &mut StdRng::seed_from_u64(200 + party as u64);
        let derived = |label| context().derive(label, b"");
        over::<_, _, 1>(
            party,
            demand,
            channel,
            |label, channel| {
                softspoken::Sender::<SemiHonest>::setup(
                    &derived(label),
                    Width::Four,
                    Origin::default(),
                    channel,
                    rng,
                )
                .unwrap()
            },
            |label, channel| {
                let context = derived(label);
                softspoken::Receiver::<SemiHonest>::setup(
                    &context,
                    Width::Four,
                    Origin::default(),
                    channel,
                    other,
                )
                .unwrap()
            },
        )
    });
    agrees(300, settings, |party, demand, channel| over_silent(600_000, party, demand, channel));
    agrees(300, settings, over_pieces);
}

/// Silent OT in pieces, of less than what the gates take, so that the last OTs are those of the extension below.
fn over_pieces(
    party: Party,
    demand: Demand,
    channel: &mut Stream,
) -> RandomOts<in_pieces::Sender, in_pieces::Receiver, 1> {
    let (rng, other) = (&mut seeded(party), &mut StdRng::seed_from_u64(200 + party as u64));
    let (plan, rooms) = (Plan::of_bits(70_000, Profile::Conservative), Rooms::default());
    over(
        party,
        demand,
        channel,
        |label, channel| {
            let context = context().derive(label, b"");
            let field = softspoken::Sender::setup(&context, WIDTH, Origin::default(), channel, rng).unwrap();
            in_pieces::Sender::new(&context, &plan, field, &rooms, rng)
        },
        |label, channel| {
            let context = context().derive(label, b"");
            let field =
                softspoken::Receiver::setup(&context, WIDTH, Origin::default(), channel, other).unwrap();
            in_pieces::Receiver::new(&context, &plan, field, &rooms, other)
        },
    )
}

fn over_silent(
    count: usize,
    party: Party,
    demand: Demand,
    channel: &mut Stream,
) -> RandomOts<silent::Sender<SemiHonest>, silent::Receiver<SemiHonest>, 1> {
    let rng = &mut seeded(party);
    let other = &mut StdRng::seed_from_u64(200 + party as u64);
    let profile = Profile::Conservative;
    over(
        party,
        demand,
        channel,
        |label, channel| {
            silent::Sender::setup(
                &context().derive(label, b""),
                count,
                profile,
                KeyAgreement::default(),
                channel,
                rng,
            )
            .unwrap()
        },
        |label, channel| {
            silent::Receiver::setup(
                &context().derive(label, b""),
                count,
                profile,
                KeyAgreement::default(),
                channel,
                other,
            )
            .unwrap()
        },
    )
}

/// Bits of both parties' triples: a, then the rows of b, then those of c.
fn rows_of(triples: &Triples) -> Vec<&Bits> {
    [&triples.a].into_iter().chain(&triples.b).chain(&triples.c).collect()
}

/// Triples of `width`, taken by both parties as `counts` say.
fn made(width: usize, counts: &[usize], demand: Demand) -> [Vec<Triples>; 2] {
    both(|party, channel| {
        let mut ots = over_iknp::<1>(128, party, demand, channel);
        let rng = &mut seeded(party);
        let taken = counts.iter().map(|&count| {
            if width == 1 {
                ots.reserve(Need::Bits(count), channel, rng, &mut |_| Ok(())).unwrap();
                ots.bits(count).unwrap()
            } else {
                ots.reserve(Need::Strings(count), channel, rng, &mut |_| Ok(())).unwrap();
                ots.strings(count, width).unwrap()
            }
        });
        taken.collect()
    })
}

#[test]
fn triples_are_products_of_bits_that_are_uniform_and_independent() {
    let counts = [1, 70, 5000, 10_000, 30_000];
    let total = counts.iter().sum::<usize>();
    for width in [1, 2, 37, 128] {
        let [mine, theirs] = made(width, &counts, Demand::default());
        let mut all: Vec<Vec<Bits>> = vec![Vec::new(); 2 * (1 + 2 * width)];
        for (mine, theirs) in mine.iter().zip(&theirs) {
            let a = mine.a.zip_words(&theirs.a, |a, b| a ^ b);
            for i in 0..width {
                let b = mine.b[i].zip_words(&theirs.b[i], |a, b| a ^ b);
                let c = mine.c[i].zip_words(&theirs.c[i], |a, b| a ^ b);
                assert_eq!(c, a.zip_words(&b, |a, b| a & b));
            }
            let rows = [rows_of(mine), rows_of(theirs)].concat();
            all.iter_mut().zip(rows).for_each(|(all, row)| all.push(row.clone()));
        }
        let all: Vec<_> = all.iter().map(|rows| Bits::join(&rows.iter().collect::<Vec<_>>())).collect();
        assert!(all.iter().all(balanced), "each share is uniform");
        // Shares of the first bits in pairs. Both shares of c give the product, which is zero more often than not.
        let first = [0, 1, 1 + width, 1 + 2 * width, 2 + 2 * width, 2 + 3 * width];
        let product = |i: usize| i == 1 + width || i == 2 + 3 * width;
        for (i, x) in first.iter().enumerate() {
            for y in first[..i].iter().filter(|y| !(product(*x) && product(**y))) {
                assert!(balanced(&all[*x].zip_words(&all[*y], |x, y| x ^ y)), "shares are independent");
            }
            // A share is that of no other triple.
            let [from, to] = [all[*x].slice(1..total), all[*x].slice(0..total - 1)];
            assert!(balanced(&from.zip_words(&to, |x, y| x ^ y)), "triples are independent");
        }
        if width > 1 {
            assert!(balanced(&all[1].zip_words(&all[2], |x, y| x ^ y)), "bits of a string are independent");
        }
    }
}

#[test]
fn no_triple_is_given_out_twice() {
    for width in [1, 5] {
        let [mine, _] = made(width, &[128; 200], Demand::default());
        let mut seen: Vec<_> = mine.iter().map(|triples| triples.a.words().to_vec()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 200);
    }
    both(|party, channel| {
        let mut ots = over_ideal(party, Demand { bits: 100, strings: 100, private: [0; 2] }, channel);
        let rng = &mut seeded(party);
        ots.reserve(Need::Bits(100), channel, rng, &mut |_| Ok(())).unwrap();
        ots.reserve(Need::Strings(100), channel, rng, &mut |_| Ok(())).unwrap();
        assert!(
            ots.bits(60).is_ok() && ots.bits(41).is_err() && ots.bits(40).is_ok() && ots.bits(1).is_err()
        );
        assert!(ots.strings(60, 3).is_ok() && ots.strings(41, 3).is_err());
        assert!(ots.strings(40, 3).is_ok() && ots.strings(1, 3).is_err());
    });
}

/// Correlated OTs whose rows are all the same: what differs between their pads comes from the number alone.
struct Same;

impl CotSender<1> for Same {
    type Security = SemiHonest;

    fn delta(&self) -> [Block; 1] {
        [Block::ONES]
    }

    fn extend(&mut self, rows: &mut [[Block; 1]], _: &mut dyn Channel) -> Result<(), vesica_ot::Error> {
        rows.fill([Block::ZERO]);
        Ok(())
    }
}

impl CotReceiver<1> for Same {
    type Security = SemiHonest;

    fn extend(
        &mut self,
        _: &[u8],
        rows: &mut [[Block; 1]],
        _: &mut dyn Channel,
    ) -> Result<(), vesica_ot::Error> {
        rows.fill([Block::ZERO]);
        Ok(())
    }
}

#[test]
fn no_number_of_an_ot_is_used_twice() {
    let (mut channel, _peer) = memory::pair();
    let rng = &mut seeded(Party::Receiver);
    let mut ots = RandomOts::new(&context(), Party::Receiver, Same, Same, Demand::default());
    let (mut seen, mut words) = (Vec::new(), Vec::new());
    for count in [128, 9024, 128, 20_032] {
        ots.reserve(Need::Strings(count), &mut channel, rng, &mut |_| Ok(())).unwrap();
        ots.reserve(Need::Bits(count), &mut channel, rng, &mut |_| Ok(())).unwrap();
        let strings = ots.strings(count, 128).unwrap();
        seen.extend((0..count).map(|i| strings.b.iter().map(|row| row.get(i)).collect::<Vec<_>>()));
        let bits = ots.bits(count).unwrap();
        assert!(balanced(&bits.b[0]));
        words.extend_from_slice(bits.b[0].words());
    }
    let all = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), all, "64 equal rows have different bits");
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all, "equal rows have different pads");
    // Nor do the directions or uses share one.
    let mut strings = |party| {
        let mut ots = RandomOts::new(&context(), party, Same, Same, Demand::default());
        ots.reserve(Need::Strings(128), &mut channel, rng, &mut |_| Ok(())).unwrap();
        (ots.received(128, 1).unwrap().strings, ots.sent(128, 1).unwrap().zeros)
    };
    let (one, two) = (strings(Party::Receiver), strings(Party::Sender));
    assert!(one.0 != one.1 && one.0 == two.1 && one.1 == two.0);
}

#[test]
fn what_is_sent_for_a_gate_is_uniform_whatever_its_inputs() {
    const LEN: usize = 1 << 14;
    // A party whose shares are all zero; what it sends is read by a peer that answers with zeros.
    for multiplexers in Multiplexers::BOTH {
        let (mut here, mut there) = memory::pair();
        let (watch, rng) = (&mut |_| Ok(()), &mut seeded(Party::Sender));
        there.send(&vec![0; 1 << 16]).unwrap();
        there.flush().unwrap();
        let dealer = &mut Dealer::new(Party::Sender, [4; 16]);
        let mut engine = Gmw::new(Party::Sender, dealer, &mut here, watch, rng).unwrap();
        let zeros = engine.constant(true, LEN);
        assert_eq!(zeros, Bits::repeat(false, LEN), "the sender's share of a constant");
        multiplexers.gates_on(&mut engine, [1, 2, 1], &zeros);
        drop(here);
        let sent = match multiplexers {
            Multiplexers::Strings => [2, 3, 1, 1].iter().sum::<usize>(),
            Multiplexers::Bits => 2 * 5,
        };
        there.recv_exact(&mut [0; SEED]).unwrap();
        let mut bytes = vec![0; sent * LEN / 8];
        there.recv_exact(&mut bytes).unwrap();
        for part in bytes.chunks(LEN / 8) {
            assert!(balanced(&Bits::from_bytes(part, LEN)));
        }
    }
}

/// The words that a party sends for gates whose inputs are zeros: its parts of the triples, bit by bit.
fn masks_sent(multiplexers: Multiplexers) -> Vec<u64> {
    const LEN: usize = 1 << 10;
    let (mut here, mut there) = memory::pair();
    let (watch, rng) = (&mut |_| Ok(()), &mut seeded(Party::Sender));
    there.send(&vec![0; 1 << 16]).unwrap();
    there.flush().unwrap();
    let dealer = &mut Dealer::new(Party::Sender, [4; 16]);
    let mut engine = Gmw::new(Party::Sender, dealer, &mut here, watch, rng).unwrap();
    engine.sizes = SMALL;
    let zeros = engine.constant(true, LEN);
    for _ in 0..2 {
        // Twice in a layer, in several parts, and again in the next layer.
        multiplexers.gates_on(&mut engine, [2, 3, 3], &zeros);
    }
    drop(here);
    there.recv_exact(&mut [0; SEED]).unwrap();
    let bits = match multiplexers {
        Multiplexers::Strings => 2 * (4 + 4 + 1 + 3),
        Multiplexers::Bits => 2 * (4 + 3 * 6),
    };
    let mut words = vec![[0; 8]; bits * LEN / 64];
    there.recv_exact(words.as_flattened_mut()).unwrap();
    words.into_iter().map(u64::from_le_bytes).collect()
}

/// Two gates with one mask show how their inputs differ.
#[test]
fn flaw_no_two_gates_are_masked_by_one_triple() {
    for multiplexers in Multiplexers::BOTH {
        let mut words = masks_sent(multiplexers);
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all);
    }
}

#[test]
fn shares_of_an_input_are_new_for_each_input() {
    let shares = both(|party, channel| {
        let (watch, rng) = (&mut |_| Ok(()), &mut seeded(party));
        let dealer = &mut Dealer::new(party, [4; 16]);
        let mut engine = Gmw::new(party, dealer, channel, watch, rng).unwrap();
        let known = rows(3, 1000, 2);
        let mut shares = |owner, row: usize| {
            let bits = match owner == party {
                true => Input::Known(&known[row..=row]),
                false => Input::Hidden { rows: 1, len: 1000 },
            };
            engine.input(owner, bits).unwrap().remove(0)
        };
        let shares = [Party::Receiver, Party::Receiver, Party::Sender].map(|owner| shares(owner, 0));
        let twice = [Input::Known(&known), Input::Hidden { rows: 2, len: 5 }];
        let [own, other] = [party, party.other()];
        assert_eq!(engine.input(other, twice[0]).err(), Some(Error::NotMine));
        assert_eq!(engine.input(own, twice[1]).err(), Some(Error::NotMine));
        assert_eq!(engine.and_private(other, Input::Known(&known[..1]), &shares).err(), Some(Error::NotMine));
        assert_eq!(engine.and_private(own, Input::Known(&known), &shares).err(), Some(Error::NotMine));
        shares
    });
    let known = &rows(3, 1000, 2)[0];
    let all: Vec<&Bits> = shares.iter().flatten().collect();
    for (i, share) in all.iter().enumerate() {
        assert!(*share != known && all[..i].iter().all(|other| other != share));
        assert!(balanced(share));
    }
}

#[test]
fn formulas_give_the_bytes() {
    const COLUMNS: u32 = 128;
    for len in [1, 500, 3001] {
        let count = counted(len);
        let demand = Demand::of(&count);
        let traffic = both(|party, channel| {
            let triples = &mut over_iknp::<1>(COLUMNS, party, demand, channel);
            let before = channel.traffic().payload_sent;
            as_party(party, len, triples, (Multiplexers::Strings, Sizes::DEFAULT), channel).unwrap();
            channel.traffic().payload_sent - before
        });
        let cost = cost(len, Multiplexers::Strings);
        assert_eq!(cost.demand(), demand);
        let n = len as u64;
        // The layers of `everything`.
        let gates: u64 = [3 * n + (n - n / 3), n, n].into_iter().map(and_bytes).sum();
        let selects: u64 = [6, 130].into_iter().map(|width| select_bytes(n, width)).sum();
        let private = [6, 130].into_iter().map(|width| private_bytes(n, width));
        let private: u64 = private.map(|[owner, other]| owner + other).sum();
        let wires = (6 + 1 + 130 + 2 * (6 + 130) + 4) * n - n / 3;
        for (party, sent) in [Party::Receiver, Party::Sender].into_iter().zip(traffic) {
            let opened: u64 =
                [(Opening::ToBoth, wires), (Opening::ToReceiver, 2 * n), (Opening::ToSender, 2 * n)]
                    .into_iter()
                    .map(|(opening, bits)| opening_bytes(opening, party, bits))
                    .sum();
            let online = setup_bytes() + gates + selects + private + opened;
            assert_eq!(cost.sent[party as usize], online, "{party:?}, {len}");
            let ots: u64 = demand.rows(party).into_iter().map(|n| iknp::bytes(COLUMNS, n as usize)).sum();
            assert_eq!(sent, online + ots, "{party:?}, {len}");
        }
    }
}

#[test]
fn random_choices_cost_less_where_the_extension_gives_them() {
    let sent = both(|party, channel| {
        let demand = Demand { bits: 4096, ..Demand::default() };
        let mut ots = over_silent(8192, party, demand, channel);
        let before = channel.traffic().payload_sent;
        ots.reserve(Need::Bits(4096), channel, &mut seeded(party), &mut |_| Ok(())).unwrap();
        channel.traffic().payload_sent - before
    });
    assert_eq!(sent, [0, 0], "silent OT sends nothing");
    assert!(
        softspoken::bytes(Width::Four, vesica_ot::security::Security::SemiHonest, 4096, Choices::Random)
            < softspoken::bytes(
                Width::Four,
                vesica_ot::security::Security::SemiHonest,
                4096,
                Choices::Chosen
            )
    );
}

#[test]
fn a_peer_that_stops_or_sends_garbage_causes_an_error_and_no_panic() {
    let settings = (Multiplexers::Strings, SMALL);
    for length in [0, 1, 31, 32, 33, 100, 500, 3000, 20_000, 500_000, 5_000_000] {
        let (mut here, mut there) = memory::pair();
        let outcome = thread::scope(|scope| {
            scope.spawn(move || {
                let mut garbage = vec![0; length];
                StdRng::seed_from_u64(length as u64).fill_bytes(&mut garbage);
                // The party may have given up before.
                let _ = there.send(&garbage).and_then(|()| there.flush());
            });
            let dealer = &mut Dealer::new(Party::Receiver, [1; 16]);
            let outcome = as_party(Party::Receiver, 200, dealer, settings, &mut here);
            drop(here);
            outcome
        });
        // Shares that are wrong cannot be told from others: the protocol is semi-honest.
        assert!(outcome.is_err() || length >= 20_000, "{length}");
        let (mut here, mut there) = memory::pair();
        let outcome = thread::scope(|scope| {
            scope.spawn(move || {
                let mut garbage = vec![0; length];
                StdRng::seed_from_u64(length as u64).fill_bytes(&mut garbage);
                let _ = there.send(&garbage).and_then(|()| there.flush());
            });
            let rng = &mut seeded(Party::Sender);
            // The peer may be gone before the first message.
            let ots = ideal_ot::Sender::<1>::setup(&context(), 128, &mut here, rng).and_then(|send| {
                Ok((send, ideal_ot::Receiver::<1>::setup(&context(), 128, &mut here, rng)?))
            });
            let outcome = ots.map_err(Error::from).and_then(|(send, receive)| {
                let demand = Demand::of(&counted(200));
                let ots = &mut RandomOts::new(&context(), Party::Sender, send, receive, demand);
                as_party(Party::Sender, 200, ots, settings, &mut here)
            });
            drop(here);
            outcome
        });
        assert!(outcome.is_err() || length >= 20_000, "{length}");
    }
}

#[test]
fn a_cancelled_run_ends() {
    let outcomes = both(|party, channel| {
        let watch = &mut |_| Err(Error::Cancelled);
        let (dealer, rng) = (&mut Dealer::new(party, [4; 16]), &mut seeded(party));
        let mut engine = Gmw::new(party, dealer, channel, watch, rng).unwrap();
        let wires = engine.constant(true, 9);
        engine.and(&[(&wires, &wires)]).err()
    });
    assert_eq!(outcomes, [Some(Error::Cancelled), Some(Error::Cancelled)]);
}

/// Of a reserve of several batches no more than two have been sent when the first is asked about.
#[test]
fn making_triples_ends_when_the_run_is_cancelled() {
    let count = 3 << 20;
    // A party that ends closes its end of the channel, as a run does.
    let sent = |party, mut channel: Stream| {
        let demand = Demand { bits: count as u64, ..Demand::default() };
        let mut ots = over_iknp::<1>(80, party, demand, &mut channel);
        let before = channel.traffic().payload_sent;
        let watch = &mut |_| Err(Error::Cancelled);
        assert!(ots.reserve(Need::Bits(count), &mut channel, &mut seeded(party), watch).is_err());
        channel.traffic().payload_sent - before
    };
    let (here, there) = memory::pair();
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(|| sent(Party::Sender, there));
        [sent(Party::Receiver, here), sender.join().unwrap()]
    });
    assert!(sent.iter().all(|sent| *sent <= 2 * iknp::bytes(80, 1 << 20)), "{sent:?}");
}
