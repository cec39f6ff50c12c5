//! Every building block over a channel, with fixed randomness: beside its ideal twin (`twins`), and its bytes
//! (`vectors`).
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

mod twins;
mod vectors;

use std::marker::PhantomData;
use std::thread;

use rand_core::CryptoRng;
use vesica_channel::{Channel, memory};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;
use vesica_ot::base::{
    KeyAgreement, Origin, cache, ideal as ideal_base, key_agreement, masny_rindal, naor_pinkas, two_messages,
};
use vesica_ot::chosen::StringOt;
use vesica_ot::kk13::WalshHadamard;
use vesica_ot::kkrt::PseudoRandomCode;
use vesica_ot::kos::{self, CorrelationCheck};
use vesica_ot::nco::{self, NcoReceiver, NcoSender};
use vesica_ot::random::{OtPads, add_delta};
use vesica_ot::security::{Malicious, Profile, SecurityModel, SemiHonest};
use vesica_ot::silent;
use vesica_ot::softspoken::{self, Width};
use vesica_ot::vole::{Bit, Check};
use vesica_ot::{CotReceiver, CotSender, Error, Seed, ideal, iknp, kk13, kkrt};

const LABEL: Label = Label::new("test: blocks");
const STRINGS: Label = Label::new("test: strings of blocks");

fn context() -> Context {
    Context::new(&[6; 32], "test", b"", 1, 2)
}

/// Bytes that are the same in every run.
fn bytes(count: usize, seed: u8) -> Vec<u8> {
    let mut bytes = vec![0; count];
    Prg::from_seed([seed; 16]).fill(&mut bytes);
    bytes
}

/// Strings that are the same in every run.
fn rows<const W: usize>(count: usize, seed: u8) -> Vec<[Block; W]> {
    let mut rows = vec![[Block::ZERO; W]; count];
    Prg::from_seed([seed; 16]).fill_blocks(rows.as_flattened_mut());
    rows
}

fn bit(choices: &[u8], i: usize) -> usize {
    usize::from(choices[i / 8] >> (i % 8) & 1)
}

/// How a pair ended.
struct Ran<S, R> {
    sender: S,
    receiver: R,
    /// Digests of what the sender sent, and the receiver.
    sent: [[u8; 32]; 2],
}

/// Both parties at once, each with randomness of its own.
fn run<S: Send, R>(
    sender: impl FnOnce(&mut dyn Channel, &mut Prg) -> Result<S, Error> + Send,
    receiver: impl FnOnce(&mut dyn Channel, &mut Prg) -> Result<R, Error>,
) -> Ran<S, R> {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let ended = sender(&mut there, &mut Prg::from_seed([1; 16]));
            there.flush().unwrap();
            ended
        });
        let receiver = receiver(&mut here, &mut Prg::from_seed([2; 16])).unwrap();
        here.flush().unwrap();
        let sender = sending.join().unwrap().unwrap();
        let digests = here.digests();
        Ran { sender, receiver, sent: [digests.received, digests.sent] }
    })
}

type Base = Ran<Vec<[Seed; 2]>, Vec<Seed>>;

/// All base OTs with these choices, and the ideal twin.
fn bases(choices: &[u8], count: usize) -> Vec<(String, Base)> {
    let context = context();
    let curves = [128, 192, 256].map(|level| {
        let ran = run(
            |channel, rng| naor_pinkas::curves::send_at_level(level, &context, LABEL, count, channel, rng),
            |channel, rng| {
                naor_pinkas::curves::receive_at_level(level, &context, LABEL, choices, count, channel, rng)
            },
        );
        (format!("Naor-Pinkas, level {level}"), ran)
    });
    let masny_rindal = run(
        |channel, rng| two_messages::send::<masny_rindal::Sender>(&context, LABEL, count, channel, rng),
        |channel, rng| {
            two_messages::receive::<masny_rindal::Receiver>(&context, LABEL, choices, count, channel, rng)
        },
    );
    let naor_pinkas = run(
        |channel, rng| two_messages::send::<naor_pinkas::Sender>(&context, LABEL, count, channel, rng),
        |channel, rng| {
            two_messages::receive::<naor_pinkas::Receiver>(&context, LABEL, choices, count, channel, rng)
        },
    );
    let ml_kem = run(
        |channel, rng| cache::send(128, &context, LABEL, count, KeyAgreement::MlKem.into(), channel, rng),
        |channel, rng| {
            let agreement = KeyAgreement::MlKem;
            key_agreement::receive(agreement, &context, LABEL, choices, count, channel, rng)
        },
    );
    let ideal = run(
        |channel, rng| ideal_base::send(&context, LABEL, count, channel, rng),
        |channel, rng| ideal_base::receive(&context, LABEL, choices, count, channel, rng),
    );
    let last = [
        ("Masny-Rindal".to_owned(), masny_rindal),
        ("Naor-Pinkas, ristretto255".to_owned(), naor_pinkas),
        ("Masny-Rindal from ML-KEM-768".to_owned(), ml_kem),
        ("ideal base OT".to_owned(), ideal),
    ];
    curves.into_iter().chain(last).collect()
}

/// Where correlated rows of `W` blocks come from.
trait Extension<const W: usize>: Copy + Send {
    type Sender: CotSender<W>;
    type Receiver: CotReceiver<W>;

    fn name(self) -> String;

    fn columns(self) -> u32 {
        128
    }

    fn sender(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Sender, Error>;

    fn receiver(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Receiver, Error>;
}

/// At a level.
#[derive(Clone, Copy)]
struct Ideal(u32);

impl<const W: usize> Extension<W> for Ideal {
    type Sender = ideal::Sender<W>;
    type Receiver = ideal::Receiver<W>;

    fn name(self) -> String {
        format!("ideal correlated OT, level {}", self.0)
    }

    fn columns(self) -> u32 {
        self.0
    }

    fn sender(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Sender, Error> {
        ideal::Sender::setup(&context(), self.0, channel, rng)
    }

    fn receiver(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Receiver, Error> {
        ideal::Receiver::setup(&context(), self.0, channel, rng)
    }
}

/// At a level.
#[derive(Clone, Copy)]
struct Iknp(u32);

impl<const W: usize> Extension<W> for Iknp {
    type Sender = iknp::Sender<W>;
    type Receiver = iknp::Receiver<W>;

    fn name(self) -> String {
        format!("IKNP, level {}", self.0)
    }

    fn columns(self) -> u32 {
        self.0
    }

    fn sender(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Sender, Error> {
        iknp::Sender::setup(&context(), LABEL, self.0, Origin::default(), channel, rng)
    }

    fn receiver(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Receiver, Error> {
        iknp::Receiver::setup(&context(), LABEL, self.0, Origin::default(), channel, rng)
    }
}

#[derive(Clone, Copy)]
struct Kos<C>(&'static str, PhantomData<C>);

impl<C: CorrelationCheck> Extension<1> for Kos<C> {
    type Sender = kos::Sender<C>;
    type Receiver = kos::Receiver<C>;

    fn name(self) -> String {
        format!("KOS15, {} check", self.0)
    }

    fn sender(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Sender, Error> {
        kos::Sender::setup(&context(), KeyAgreement::default(), channel, rng)
    }

    fn receiver(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Receiver, Error> {
        kos::Receiver::setup(&context(), KeyAgreement::default(), channel, rng)
    }
}

#[derive(Clone, Copy)]
struct SoftSpoken<S>(Width, PhantomData<S>);

impl<S: SecurityModel + Copy> Extension<1> for SoftSpoken<S> {
    type Sender = softspoken::Sender<S>;
    type Receiver = softspoken::Receiver<S>;

    fn name(self) -> String {
        format!("SoftSpoken, k = {}, {:?}", self.0.bits(), S::SECURITY)
    }

    fn sender(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Sender, Error> {
        softspoken::Sender::setup(&context(), self.0, S::BaseOts::default(), channel, rng)
    }

    fn receiver(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Receiver, Error> {
        softspoken::Receiver::setup(&context(), self.0, S::BaseOts::default(), channel, rng)
    }
}

#[derive(Clone, Copy)]
struct Silent<S>(PhantomData<S>);

/// Rows of a silent extension, which has them all from its start: so many that it has noise and a code.
const SILENT_ROWS: usize = 1 << 16;

impl<S: Check<Bit> + Copy> Extension<1> for Silent<S> {
    type Sender = silent::Sender<S>;
    type Receiver = silent::Receiver<S>;

    fn name(self) -> String {
        format!("silent OT, {:?}", S::SECURITY)
    }

    fn sender(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Sender, Error> {
        silent::Sender::setup(
            &context(),
            SILENT_ROWS,
            Profile::Conservative,
            KeyAgreement::default(),
            channel,
            rng,
        )
    }

    fn receiver(self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self::Receiver, Error> {
        silent::Receiver::setup(
            &context(),
            SILENT_ROWS,
            Profile::Conservative,
            KeyAgreement::default(),
            channel,
            rng,
        )
    }
}

/// `$check` of every extension and the ideal twin, at every level and in every form.
macro_rules! for_each_extension {
    ($check:ident($($argument:expr),*)) => {{
        $check::<1, _>(Ideal(80) $(, $argument)*);
        $check::<1, _>(Ideal(128) $(, $argument)*);
        $check::<2, _>(Ideal(192) $(, $argument)*);
        $check::<2, _>(Ideal(256) $(, $argument)*);
        $check::<1, _>(Iknp(80) $(, $argument)*);
        $check::<1, _>(Iknp(128) $(, $argument)*);
        $check::<2, _>(Iknp(192) $(, $argument)*);
        $check::<2, _>(Iknp(256) $(, $argument)*);
        for width in [Width::Two, Width::Four, Width::Eight] {
            $check::<1, _>(SoftSpoken::<SemiHonest>(width, PhantomData) $(, $argument)*);
        }
        $check::<1, _>(Silent::<SemiHonest>(PhantomData) $(, $argument)*);
        for width in [Width::Two, Width::Four, Width::Eight] {
            $check::<1, _>(SoftSpoken::<Malicious>(width, PhantomData) $(, $argument)*);
        }
        $check::<1, _>(Silent::<Malicious>(PhantomData) $(, $argument)*);
        $check::<1, _>(Kos::<kos::PublishedUnproven>("Published", PhantomData) $(, $argument)*);
        $check::<1, _>(Kos::<kos::Revised>("Revised", PhantomData) $(, $argument)*);
    }};
}
use for_each_extension;

/// Δ and rows of the sender, rows of the receiver.
type Rows<const W: usize> = Ran<([Block; W], Vec<[Block; W]>), Vec<[Block; W]>>;

/// Correlated OTs with these choices.
fn correlated_rows<const W: usize, E: Extension<W>>(extension: E, choices: &[u8], count: usize) -> Rows<W> {
    run(
        move |channel, rng| {
            let (mut sender, mut rows) = (extension.sender(channel, rng)?, vec![[Block::ZERO; W]; count]);
            sender.extend(&mut rows, channel)?;
            Ok((sender.delta(), rows))
        },
        |channel, rng| {
            let (mut receiver, mut rows) = (extension.receiver(channel, rng)?, vec![[Block::ZERO; W]; count]);
            receiver.extend(choices, &mut rows, channel)?;
            Ok(rows)
        },
    )
}

/// Both strings of each random OT that these rows stand for, and the chosen ones.
fn random_strings<const W: usize>(rows: &Rows<W>) -> (Vec<[[Block; W]; 2]>, Vec<[Block; W]>) {
    let (strings, (delta, zeros)) = (OtPads::<W>::of(&context(), STRINGS), &rows.sender);
    let (mut zeros, mut ones, mut chosen) = (zeros.clone(), zeros.clone(), rows.receiver.clone());
    add_delta(delta, &mut ones);
    [&mut zeros, &mut ones, &mut chosen].into_iter().for_each(|rows| strings.hash(0, rows));
    (zeros.into_iter().zip(ones).map(|(zero, one)| [zero, one]).collect(), chosen)
}

/// The correlation of the strings: the second one from the first.
fn other<const W: usize>(j: usize, string: &[Block; W]) -> [Block; W] {
    string.map(|block| !block ^ Block::from(j as u128))
}

/// Chosen OTs of these pairs, then as many correlated ones: the sender's x_j,0, and the receiver's strings of
/// both.
fn transfer<const W: usize, E: Extension<W>>(
    extension: E,
    choices: &[u8],
    pairs: &[[[Block; W]; 2]],
) -> Ran<Vec<[Block; W]>, [Vec<[Block; W]>; 2]> {
    let (width, empty) = (extension.columns() as usize / 8, vec![[Block::ZERO; W]; pairs.len()]);
    let (mut zeros, mut strings) = (empty.clone(), [empty.clone(), empty]);
    run(
        move |channel, rng| {
            let rows = extension.sender(channel, rng)?;
            let mut sender = StringOt::new(&context(), STRINGS, width, rows);
            sender.send(pairs, channel)?;
            sender.send_correlated(&mut zeros, other, channel)?;
            Ok(zeros)
        },
        |channel, rng| {
            let rows = extension.receiver(channel, rng)?;
            let mut receiver = StringOt::new(&context(), STRINGS, width, rows);
            receiver.receive(choices, &mut strings[0], channel)?;
            receiver.receive_correlated(choices, &mut strings[1], channel)?;
            Ok(strings)
        },
    )
}

/// Calls of an OPRF: OTs in a group, groups.
const CALLS: [(usize, usize); 5] = [(1, 700), (1, 1), (3, 200), (2, 512), (1, 1200)];

/// The sender's outputs at the receiver's words, and at others that differ in one word of the group.
struct Evaluated {
    own: Vec<Block>,
    other: Vec<Block>,
    first: Vec<u64>,
}

/// [`CALLS`] with the words `word(0)`, `word(1)`, …; the other words are `other` of them.
fn oprf<Word: Copy + Send + Sync, const W: usize, S: NcoSender<Word, W>, R: NcoReceiver<Word>>(
    word: impl Fn(usize) -> Word + Sync,
    other: impl Fn(Word) -> Word + Send,
    sender: impl FnOnce(&mut dyn Channel, &mut Prg) -> Result<S, Error> + Send,
    receiver: impl FnOnce(&mut dyn Channel, &mut Prg) -> Result<R, Error>,
) -> Ran<Evaluated, Vec<Block>> {
    let word = &word;
    run(
        move |channel, rng| {
            let mut sender = sender(channel, rng)?;
            let mut all = Evaluated { own: Vec::new(), other: Vec::new(), first: Vec::new() };
            for (size, groups) in CALLS {
                let first = sender.next();
                let mut rows = vec![[Block::ZERO; W]; size * groups];
                sender.extend(&mut rows, channel.split().1)?;
                let at: Vec<u32> = (0..groups).map(|group| (group * size) as u32).collect();
                let evaluate = |words: &[Word], all: &mut Vec<Block>| {
                    let mut outputs = vec![Block::ZERO; groups];
                    sender.evaluate_groups(size, first, &rows, &at, words, &mut outputs);
                    all.extend(outputs);
                };
                let mut words: Vec<Word> = (0..size * groups).map(word).collect();
                evaluate(&words, &mut all.own);
                (0..groups).for_each(|group| {
                    let place = group * size + group % size;
                    words[place] = other(words[place]);
                });
                evaluate(&words, &mut all.other);
                all.first.push(first);
            }
            Ok(all)
        },
        |channel, rng| {
            let (mut receiver, mut all) = (receiver(channel, rng)?, Vec::new());
            for (size, groups) in CALLS {
                let words: Vec<Word> = (0..size * groups).map(word).collect();
                let mut outputs = vec![Block::ZERO; groups];
                receiver.extend_groups(size, &words, &mut outputs, channel)?;
                all.extend(outputs);
            }
            channel.flush()?;
            Ok(all)
        },
    )
}

/// KK13, KKRT at its least and its greatest width, and the ideal twin of each.
fn oprfs() -> Vec<(String, Ran<Evaluated, Vec<Block>>)> {
    let context = context();
    // Words that come again and again, so that only the number tells their OTs apart.
    let (byte, other_byte) = (|i: usize| (i % 5 * 50) as u8, |word: u8| word ^ 0x21);
    let (block, other_block) =
        (|i: usize| Block::from((i % 5) as u128), |word: Block| word ^ Block::from(8u128));
    let kk13 = oprf(
        byte,
        other_byte,
        |channel, rng| {
            kk13::Sender::setup(WalshHadamard::default(), &context, Origin::default(), channel, rng)
        },
        |channel, rng| {
            kk13::Receiver::setup(WalshHadamard::default(), &context, Origin::default(), channel, rng)
        },
    );
    let kkrt = [400, 464].map(|columns| {
        let code = || PseudoRandomCode::new(&context, columns);
        let ran = oprf(
            block,
            other_block,
            |channel, rng| kkrt::Sender::setup(code(), &context, Origin::default(), channel, rng),
            |channel, rng| kkrt::Receiver::setup(code(), &context, Origin::default(), channel, rng),
        );
        (format!("KKRT, {columns} columns"), ran)
    });
    let ideal_sender =
        |channel: &mut dyn Channel, rng: &mut Prg| nco::ideal::Sender::setup(&context, channel, rng);
    let ideal_receiver =
        |channel: &mut dyn Channel, rng: &mut Prg| nco::ideal::Receiver::setup(&context, channel, rng);
    let ideal_bytes = oprf::<_, 2, _, _>(byte, other_byte, ideal_sender, ideal_receiver);
    let ideal_blocks = oprf::<_, 4, _, _>(block, other_block, ideal_sender, ideal_receiver);
    let mut all = vec![
        ("KK13".to_owned(), kk13),
        ("ideal 1-of-256 OT".to_owned(), ideal_bytes),
        ("ideal OPRF".to_owned(), ideal_blocks),
    ];
    all.extend(kkrt);
    all
}
