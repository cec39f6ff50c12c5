//! The building blocks of a run by themselves, each beside its floor: what it consists of, at the rates of large
//! batches.

use std::time::Instant;

use vesica_channel::{Channel, memory};
use vesica_crypto::band::XorValue;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;
use vesica_encode::okvs::Band;
use vesica_ot::base::two_messages::{Receiver as _, Sender as _};
use vesica_ot::base::{masny_rindal, naor_pinkas};
use vesica_ot::nco::{self, Code, NcoReceiver as _, NcoSender as _};
use vesica_ot::security::{Malicious, Profile, SecurityModel, SemiHonest};
use vesica_ot::vole::sender::Secrets;
use vesica_ot::vole::{Covers, Plan, Value, receiver, sender};

use crate::rates::{Rates, least, milliseconds};

const LABEL: Label = Label::new("small sets");

/// Runs of which the least time counts.
const RUNS: usize = 15;

fn context() -> Context {
    Context::new(&[1; 32], "small sets", b"", 0, 0)
}

fn line(what: &str, time: f64, floor: f64, of: &str) {
    let ratio = if floor > 0.0 { format!("{:.1} x", time / floor) } else { String::new() };
    println!("  {what:<40} {time:>7.3} ms, floor {floor:>7.3} ms {ratio:>7}  {of}");
}

/// Base OTs against malicious parties, as `vole` has them.
pub(crate) fn masny_rindal(rates: &Rates) {
    const COUNT: usize = 128;
    let (context, choices, mut rng) = (context(), [0x5a; COUNT / 8], Prg::from_seed([2; 16]));
    let mut times = [f64::INFINITY; 3];
    for _ in 0..RUNS {
        let mut clock = Clock::start();
        let (chooser, message) = masny_rindal::Receiver::new(&context, LABEL, &choices, COUNT, &mut rng);
        clock.lap(&mut times[0]);
        let (sender, public) = masny_rindal::Sender::new(&context, LABEL, &mut rng);
        sender.finish(&message).unwrap();
        clock.lap(&mut times[1]);
        chooser.finish(&public).unwrap();
        clock.lap(&mut times[2]);
    }
    let Rates { product, of_base, map, decode, encode, .. } = *rates;
    let each = COUNT as f64;
    line(
        "base OTs, sender's message",
        times[0],
        each * (of_base + 2.0 * map + 2.0 * encode),
        "128 products of G, 256 maps",
    );
    line(
        "base OTs, receiver's keys",
        times[1],
        2.0 * each * (product + map + decode + encode),
        "256 products with one scalar, 256 maps and decodings",
    );
    line("base OTs, sender's keys", times[2], each * (of_base + encode), "128 products of T");
}

/// Base OTs against semi-honest parties, as the protocols from 1-out-of-N OTs have them.
pub(crate) fn naor_pinkas(count: usize, rates: &Rates) {
    let (context, choices, mut rng) = (context(), vec![0x5a; count / 8], Prg::from_seed([2; 16]));
    let mut times = [f64::INFINITY; 3];
    for _ in 0..RUNS {
        let mut clock = Clock::start();
        let (chooser, message) = naor_pinkas::Receiver::new(&context, LABEL, &choices, count, &mut rng);
        clock.lap(&mut times[0]);
        let (sender, public) = naor_pinkas::Sender::new(&context, LABEL, &mut rng);
        sender.finish(&message).unwrap();
        clock.lap(&mut times[1]);
        chooser.finish(&public).unwrap();
        clock.lap(&mut times[2]);
    }
    let Rates { product, of_base, decode, encode, .. } = *rates;
    let each = count as f64;
    let of = |what: &str| format!("{count} {what}");
    line("base OTs, sender's message", times[0], each * (of_base + 2.0 * encode), &of("products of G"));
    line(
        "base OTs, receiver's keys",
        times[1],
        each * (product + decode + 2.0 * encode),
        &of("products with one scalar"),
    );
    line("base OTs, sender's keys", times[2], each * (of_base + encode), &of("products of T"));
}

/// 1-out-of-N OTs: as many as the receiver has bins, and as many evaluations as the sender makes.
pub(crate) fn one_out_of_n<C: Code<W>, const W: usize>(
    code: impl Fn() -> C,
    words: &[C::Word],
    evaluations: usize,
    rates: &Rates,
) {
    let (mut rng, context, columns) = (Prg::from_seed([1; 16]), context(), code().columns());
    let mut secret = [Block::ZERO; W];
    rng.fill(&mut Block::slice_as_mut_bytes(&mut secret)[..columns / 8]);
    let pairs: Vec<[Block; 2]> = (0..columns).map(|_| [rng.block(), rng.block()]).collect();
    let chosen: Vec<Block> =
        (0..columns).map(|i| pairs[i][usize::from(secret[i / Block::BITS].bit(i % Block::BITS))]).collect();
    let at: Vec<u32> = (0..evaluations).map(|i| (i % words.len()) as u32).collect();
    let asked: Vec<C::Word> = at.iter().map(|i| words[*i as usize]).collect();
    let mut times = [f64::INFINITY; 3];
    for _ in 0..RUNS {
        let (mut here, mut there) = memory::pair();
        let (mut outputs, mut found) = (vec![Block::ZERO; words.len()], vec![Block::ZERO; evaluations]);
        let mut rows = vec![[Block::ZERO; W]; words.len()];
        let mut clock = Clock::start();
        let mut receiver = nco::Receiver::from_seeds(code(), &context, &pairs).unwrap();
        receiver.extend_groups(1, words, &mut outputs, &mut here).unwrap();
        here.flush().unwrap();
        clock.lap(&mut times[0]);
        let mut sender = nco::Sender::from_seeds(code(), &context, &secret, &chosen).unwrap();
        sender.extend(&mut rows, there.split().1).unwrap();
        clock.lap(&mut times[1]);
        sender.evaluate_groups(1, 0, &rows, &at, &asked, &mut found);
        clock.lap(&mut times[2]);
        assert_eq!(found[0], outputs[0]);
    }
    let (ots, blocks) = (words.len() as f64, columns as f64 / Block::BITS as f64);
    let rows = blocks * rates.aes + W as f64 * rates.row;
    let of = format!("{} OTs", words.len());
    line("OT extension and outputs, receiver", times[0], ots * (2.0 * rows + rates.hash), &of);
    line("OT extension, sender", times[1], ots * rows, &of);
    line("outputs, sender", times[2], evaluations as f64 * rates.hash, &format!("{evaluations} evaluations"));
}

/// A key-value store of so many keys, with its hashes; the floor is a key's share of a store of 2^16.
pub(crate) fn store<V: Value + XorValue>(count: usize, values: impl Fn(Block) -> V) {
    let [small, large] = [count, 1 << 16].map(|count| {
        let mut keys = vec![Block::ZERO; count];
        Prg::from_seed([3; 16]).fill_blocks(&mut keys);
        let values: Vec<V> = keys.iter().map(|key| values(*key)).collect();
        let oracle = context().oracle(LABEL);
        let (inputs, mut hashes) = (Block::slice_as_bytes(&keys).to_vec(), vec![0; 32 * count]);
        let hash = least(|| oracle.hash_batch(&inputs, Block::BYTES, &mut hashes, 32));
        let mut times = [f64::INFINITY; 2];
        for _ in 0..RUNS {
            let mut clock = Clock::start();
            let band = Band::new(count, Block::ONES).unwrap();
            let sorted = band.sort_keys(1, &keys, &values);
            let _table = band.encode_sorted(1, &sorted).unwrap();
            clock.lap(&mut times[0]);
            let table = vec![Block::ONES; band.columns()];
            clock = Clock::start();
            let sorted = band.sort_keys(1, &keys, &values);
            let _decoded = band.decode_sorted(1, &table, sorted);
            clock.lap(&mut times[1]);
        }
        [hash, times[0], times[1]]
    });
    for (index, what) in ["items hashed", "store filled", "store decoded"].into_iter().enumerate() {
        line(what, small[index], large[index] * count as f64 / f64::from(1 << 16), "a key's share of 2^16");
    }
}

/// What ends a VOLE of a security model.
pub(crate) trait Ends<V: Value>: SecurityModel + Covers<V> {
    fn end(
        parties: (receiver::Answered<V, Self>, sender::Answered<Self>),
        flight3: Vec<u8>,
        rng: &mut Prg,
        clock: &mut Clock,
        times: &mut [f64; 2],
    ) where
        Self: Sized;
}

impl<V: Value> Ends<V> for SemiHonest {
    fn end(
        (receiver, sender): (receiver::Answered<V, Self>, sender::Answered<Self>),
        flight3: Vec<u8>,
        _: &mut Prg,
        clock: &mut Clock,
        times: &mut [f64; 2],
    ) {
        let (_a, receiver) = receiver.accept(flight3).unwrap();
        let _c = receiver.expand();
        clock.lap(&mut times[0]);
        let _b = sender.accept().expand().b;
        clock.lap(&mut times[1]);
    }
}

impl Ends<Block> for Malicious {
    fn end(
        (receiver, sender): (receiver::Answered<Block, Self>, sender::Answered<Self>),
        flight3: Vec<u8>,
        rng: &mut Prg,
        clock: &mut Clock,
        times: &mut [f64; 2],
    ) {
        let (receiver, flight4) = receiver.challenge(&flight3, rng).unwrap();
        let mut spent = clock.spent();
        let (sender, flight5) = sender.reply(&flight4).unwrap();
        let replied = clock.spent();
        let (_a, receiver) = receiver.check(&flight5).unwrap();
        let _c = receiver.expand();
        spent += clock.spent();
        times[0] = times[0].min(spent);
        let _b = sender.expand().b;
        times[1] = times[1].min(replied + clock.spent());
    }
}

/// A VOLE for a store of so many slots, from base OTs on.
pub(crate) fn vole<V: Value, S: Ends<V>>(slots: usize, profile: Profile, rates: &Rates) {
    let [small, large] = [slots, 1 << 16].map(|slots| vole_times::<V, S>(&Plan::new(slots, profile)));
    let plan = Plan::new(slots, profile);
    // 16 trees of 256 leaves for either party; a column of 128 bits takes a block of each leaf.
    let values = if plan.pieces() == 0 { slots } else { plan.pieces() * plan.weight() };
    let blocks = (values * V::COLUMNS).div_ceil(Block::BITS) as f64;
    let floor = (blocks * 4096.0 + 2.0 * 4096.0) * rates.aes;
    let of = format!("{values} values of small-field VOLE: 4096 AES blocks for 128 columns of bits");
    line("VOLE, receiver's corrections", small[0], floor, &of);
    let share = |index: usize| {
        if plan.pieces() == 0 { 0.0 } else { large[index] * slots as f64 / f64::from(1 << 16) }
    };
    line("VOLE, receiver's A", small[1], share(1), "an output's share of 2^16");
    line("VOLE, sender's correlations and trees", small[2], floor, "as the receiver's corrections");
    line("VOLE, receiver's C and check", small[3], share(3), "an output's share of 2^16");
    line("VOLE, sender's B and check", small[4], share(4), "an output's share of 2^16");
}

fn vole_times<V: Value, S: Ends<V>>(plan: &Plan) -> [f64; 5] {
    let mut rng = Prg::from_seed([2; 16]);
    let pairs: [[Block; 2]; 128] = std::array::from_fn(|_| [rng.block(), rng.block()]);
    let delta = rng.block();
    let chosen: [Block; 128] = std::array::from_fn(|i| pairs[i][usize::from(delta.bit(i))]);
    let (context, mut times) = (context(), [f64::INFINITY; 5]);
    for _ in 0..RUNS {
        let mut clock = Clock::start();
        let (mut receiver, corrections) = receiver::Answered::<V, S>::new(&context, plan, &pairs, &mut rng);
        clock.lap(&mut times[0]);
        receiver.make_values();
        clock.lap(&mut times[1]);
        let secrets = Secrets { delta, base: &chosen };
        let answered = sender::Answered::<S>::new::<V>(&context, plan, &secrets, &corrections, &mut rng);
        let (sender, flight3) = answered.unwrap();
        clock.lap(&mut times[2]);
        let mut ends = [times[3], times[4]];
        S::end((receiver, sender), flight3, &mut rng, &mut clock, &mut ends);
        (times[3], times[4]) = (ends[0], ends[1]);
    }
    times
}

/// Time from lap to lap.
pub(crate) struct Clock(Instant);

impl Clock {
    fn start() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds since the last lap.
    fn spent(&mut self) -> f64 {
        let spent = milliseconds(self.0.elapsed());
        self.0 = Instant::now();
        spent
    }

    /// The lesser of `best` and the time since the last lap.
    fn lap(&mut self, best: &mut f64) {
        *best = best.min(self.spent());
    }
}
