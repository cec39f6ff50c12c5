//! Oblivious transfer: choices, Δ and punctured points. A party runs by itself; what it receives is the message of an
//! honest partner, recorded, or bytes of the right length where any bytes will do.

use vesica_channel::Channel as _;
use vesica_crypto::block::Block;
use vesica_crypto::group::{Group, P256, P384, P521};
use vesica_crypto::prg::Prg;
use vesica_ot::base::naor_pinkas::curves;
use vesica_ot::base::{masny_rindal, ml_kem, naor_pinkas, two_messages};
use vesica_ot::chosen::{self, StringOt};
use vesica_ot::nco::{self, Code, NcoReceiver as _, NcoSender as _};
use vesica_ot::security::{Malicious, Profile, SecurityModel, SemiHonest};
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_ot::vole::{self, Plan};
use vesica_ot::{CotReceiver as _, CotSender as _, Error, Seed, iknp, kkrt, kos};

use super::{LABEL, Subject, block, blocks, bytes, context, fed, generator, known, row};
use crate::measure::{Class, Operation, operation};

/// Base OTs of a measurement.
const BASE_OTS: usize = 16;
/// Rows of a measurement: a tile.
const ROWS: usize = 1024;

pub(super) fn list() -> Vec<Subject> {
    let mut list = Vec::new();
    list.extend(base_ots::<naor_pinkas::Sender, naor_pinkas::Receiver>(
        "ot/src/base/naor_pinkas.rs",
        [
            "base OTs of Naor and Pinkas: 16 of the receiver, its message",
            "base OTs of Naor and Pinkas: 16 of the receiver, its strings",
            "base OTs of Naor and Pinkas: 16 of the sender, its strings",
        ],
    ));
    list.extend(base_ots::<masny_rindal::Sender, masny_rindal::Receiver>(
        "ot/src/base/masny_rindal.rs",
        [
            "base OTs of Masny and Rindal: 16 of the receiver, its message",
            "base OTs of Masny and Rindal: 16 of the receiver, its strings",
            "base OTs of Masny and Rindal: 16 of the sender, its strings",
        ],
    ));
    list.extend(from_ml_kem());
    list.push(over_curve::<P256>("base OTs over P-256: 2 of the receiver"));
    list.push(over_curve::<P384>("base OTs over P-384: 2 of the receiver"));
    list.push(over_curve::<P521>("base OTs over P-521: 2 of the receiver"));
    list.extend(of_iknp());
    list.extend(extensions());
    list.extend(codes());
    list.extend(silent());
    list
}

/// The two base OTs that take a message of each party.
fn base_ots<S: two_messages::Sender + 'static, R: two_messages::Receiver + 'static>(
    module: &'static str,
    names: [&'static str; 3],
) -> [Subject; 3] {
    let own = || Prg::from_seed([1; 16]);
    [
        row(module, names[0], "the choices", move || {
            operation(bytes::<{ BASE_OTS / 8 }>, move |choices| {
                R::new(&context(), LABEL, choices, BASE_OTS, &mut own())
            })
        }),
        row(module, names[1], "the choices", move || {
            let (_, public) = S::new(&context(), LABEL, &mut own());
            operation(
                move |class, rng| {
                    let choices = bytes::<{ BASE_OTS / 8 }>(class, rng);
                    Some(R::new(&context(), LABEL, &choices, BASE_OTS, &mut own()).0)
                },
                move |receiver| receiver.take().map(|receiver| receiver.finish(&public).is_ok()),
            )
        }),
        row(module, names[2], "its scalar", move || {
            let (_, message) = R::new(&context(), LABEL, &[0; BASE_OTS / 8], BASE_OTS, &mut own());
            operation(
                |class, rng| Some(S::new(&context(), LABEL, &mut generator(class, rng)).0),
                move |sender| sender.take().map(|sender| sender.finish(&message).is_ok()),
            )
        }),
    ]
}

/// The strings of the receiver come from an answer to other choices, so that half of its ciphertexts are rejected.
fn from_ml_kem() -> [Subject; 3] {
    const MODULE: &str = "ot/src/base/ml_kem.rs";
    const COUNT: usize = 8;
    let receiver = |choices: [u8; 1]| {
        ml_kem::Receiver::new(&context(), LABEL, &choices, COUNT, &mut Prg::from_seed([1; 16]))
    };
    let sender = |rng: &mut Prg| ml_kem::Sender::new(&context(), LABEL, COUNT, rng);
    [
        row(MODULE, "base OTs from ML-KEM: 8 of the receiver, its message", "the choices", move || {
            operation(bytes::<1>, move |choices| receiver(*choices))
        }),
        row(MODULE, "base OTs from ML-KEM: 8 of the receiver, its strings", "the choices", move || {
            // An honest receiver's message is of the right length and canonical.
            let (_, answer) = sender(&mut Prg::from_seed([2; 16])).finish(&receiver([0]).1).unwrap();
            operation(
                move |class, rng| Some(receiver(bytes::<1>(class, rng)).0),
                move |receiver| receiver.take().map(|receiver| receiver.finish(&answer).is_ok()),
            )
        }),
        row(MODULE, "base OTs from ML-KEM: 8 of the sender", "its randomness", move || {
            let message = receiver([0]).1;
            operation(
                move |class, rng| Some(sender(&mut generator(class, rng))),
                move |sender| sender.take().map(|sender| sender.finish(&message).is_ok()),
            )
        }),
    ]
}

fn over_curve<G: Group>(name: &'static str) -> Subject {
    const COUNT: usize = 2;
    row("ot/src/base/naor_pinkas/curves.rs", name, "the choices", || {
        let rng = &mut Prg::from_seed([1; 16]);
        let message: Vec<u8> =
            (0..2).flat_map(|_| G::encode(&G::random_element(rng)).as_ref().to_vec()).collect();
        operation(
            move |class, rng| (bytes::<1>(class, rng), fed(&message)),
            |(choices, (channel, _partner))| {
                let rng = &mut Prg::from_seed([2; 16]);
                curves::receive::<G>(&context(), LABEL, choices, COUNT, channel, rng)
            },
        )
    })
}

fn seeds(count: usize) -> Vec<Seed> {
    known(2 * count).as_chunks::<2>().0.iter().map(|pair| Seed::new(pair_bytes(*pair))).collect()
}

fn pair_bytes(pair: [Block; 2]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(Block::slice_as_bytes(&pair));
    bytes
}

fn pairs(count: usize) -> Vec<[Seed; 2]> {
    seeds(2 * count).as_chunks::<2>().0.to_vec()
}

fn of_iknp() -> Vec<Subject> {
    let length = iknp::bytes(128, ROWS) as usize;
    let choices = bytes::<{ ROWS / 8 }>;
    vec![
        row("ot/src/iknp.rs", "IKNP: 1024 rows of the sender", "Δ", move || {
            operation(
                move |class, rng| {
                    let sender = iknp::Sender::from_base(&[block(class, rng)], &seeds(128));
                    (sender, fed(&vec![0x5a; length]), vec![[Block::ZERO; 1]; ROWS])
                },
                |(sender, (channel, _partner), rows)| {
                    sender.as_mut().is_ok_and(|s| s.extend(rows, channel).is_ok())
                },
            )
        }),
        row("ot/src/iknp.rs", "IKNP: 1024 rows of the receiver", "the choices", move || {
            operation(
                move |class, rng| {
                    let receiver = iknp::Receiver::from_base(&pairs(128));
                    (receiver, choices(class, rng), fed(&[]), vec![[Block::ZERO; 1]; ROWS])
                },
                |(receiver, choices, (channel, _partner), rows)| {
                    receiver.as_mut().is_ok_and(|receiver| receiver.extend(choices, rows, channel).is_ok())
                },
            )
        }),
    ]
}

fn extensions() -> Vec<Subject> {
    let choices = bytes::<{ ROWS / 8 }>;
    vec![
        row("ot/src/kos.rs", "KOS15: 1024 rows of the receiver, with its check", "the choices", move || {
            operation(
                move |class, rng| {
                    let own = &mut Prg::from_seed([1; 16]);
                    let receiver = kos::Receiver::<kos::Revised>::from_base(&context(), &pairs(128), own);
                    (receiver, choices(class, rng), fed(&[]), vec![[Block::ZERO; 1]; ROWS])
                },
                |(receiver, choices, (channel, _partner), rows)| {
                    receiver.as_mut().is_ok_and(|receiver| receiver.extend(choices, rows, channel).is_ok())
                },
            )
        }),
        row("ot/src/softspoken.rs", "SoftSpoken: 1024 rows of the receiver", "the choices", move || {
            softspoken_receiver(choices)
        }),
        row(
            "ot/src/softspoken.rs",
            "SoftSpoken: set-up and 1024 rows of the sender",
            "Δ",
            softspoken_sender::<SemiHonest>,
        ),
        row(
            "ot/src/softspoken.rs",
            "SoftSpoken: set-up and 1024 rows of the sender, with its check",
            "Δ",
            softspoken_sender::<Malicious>,
        ),
        row("ot/src/kos.rs", "KOS15: 1024 rows of the sender, with its check", "Δ", move || {
            // The check fails, in both classes, as all else is done.
            let length = kos::bytes(ROWS) as usize;
            operation(
                move |class, rng| {
                    let sender =
                        kos::Sender::<kos::Revised>::from_base(&context(), block(class, rng), &seeds(128));
                    (sender, fed(&vec![0x5a; length]), vec![[Block::ZERO; 1]; ROWS])
                },
                |(sender, (channel, _partner), rows)| {
                    sender.as_mut().is_ok_and(|s| s.extend(rows, channel).is_ok())
                },
            )
        }),
        row("ot/src/chosen.rs", "1024 chosen strings received", "the choices", move || {
            let length = chosen::bytes(16, ROWS) as usize;
            operation(
                move |class, rng| {
                    let rows = iknp::Receiver::from_base(&pairs(128)).ok();
                    let ots = rows.map(|rows| StringOt::new(&context(), LABEL, 16, rows));
                    (ots, choices(class, rng), fed(&vec![0x5a; length]), vec![[Block::ZERO; 1]; ROWS])
                },
                |(ots, choices, (channel, _partner), strings)| {
                    ots.as_mut().is_some_and(|ots| ots.receive(choices, strings, channel).is_ok())
                },
            )
        }),
    ]
}

fn softspoken_receiver(choices: fn(Class, &mut Prg) -> [u8; ROWS / 8]) -> Box<dyn Operation> {
    let base: [[Block; 2]; 128] = core::array::from_fn(|i| [known(256)[2 * i], known(256)[2 * i + 1]]);
    operation(
        move |class, rng| {
            let own = &mut Prg::from_seed([1; 16]);
            let (receiver, _) = softspoken::Receiver::<SemiHonest>::new(&context(), Width::Four, &base, own);
            (receiver, choices(class, rng), vec![[Block::ZERO; 1]; ROWS])
        },
        |(receiver, choices, rows)| {
            receiver.extend_to(Choices::Chosen, choices, rows, |part| {
                core::hint::black_box(part);
                Ok(())
            })
        },
    )
}

fn softspoken_sender<S: SecurityModel + 'static>() -> Box<dyn Operation> {
    let base: [[Block; 2]; 128] = core::array::from_fn(|i| [known(256)[2 * i], known(256)[2 * i + 1]]);
    let own = &mut Prg::from_seed([1; 16]);
    let (_, message) = softspoken::Receiver::<S>::new(&context(), Width::Four, &base, own);
    operation(
        move |class, rng| {
            let delta = block(class, rng);
            let chosen: [Block; 128] = core::array::from_fn(|i| base[i][usize::from(delta.bit(i))]);
            (delta, chosen, vec![[Block::ZERO; 1]; ROWS])
        },
        move |(delta, chosen, rows)| -> Result<(), Error> {
            let mut sender = softspoken::Sender::<S>::new(&context(), Width::Four, *delta, chosen, &message)?;
            sender.extend_from(Choices::Chosen, rows, |part| {
                part.fill(0x5a);
                Ok(())
            })
        },
    )
}

fn codes() -> Vec<Subject> {
    const COLUMNS: usize = 448;
    let code = || kkrt::PseudoRandomCode::new(&context(), COLUMNS);
    vec![
        row("ot/src/kkrt.rs", "KKRT: 256 codewords under s", "s and the words", move || {
            let mut out = vec![[Block::ZERO; kkrt::BLOCKS]; 256];
            operation(
                move |class, rng| {
                    let (mut code, s) = (code(), blocks(class, kkrt::BLOCKS, rng));
                    code.restrict(&[s[0], s[1], s[2], s[3]]);
                    (code, blocks(class, 256, rng))
                },
                move |(code, words)| code.add(words, &mut out),
            )
        }),
        row("ot/src/kkrt.rs", "KKRT: 1024 rows of the sender", "s", move || {
            operation(
                move |class, rng| {
                    let s = blocks(class, kkrt::BLOCKS, rng);
                    let sender = nco::Sender::from_seeds(
                        code(),
                        &context(),
                        &[s[0], s[1], s[2], s[3]],
                        &known(COLUMNS),
                    );
                    (sender, fed(&vec![0x5a; ROWS * COLUMNS / 8]), vec![[Block::ZERO; kkrt::BLOCKS]; ROWS])
                },
                |(sender, (channel, _partner), rows)| {
                    sender.as_mut().is_ok_and(|sender| sender.extend(rows, channel.split().1).is_ok())
                },
            )
        }),
        row("ot/src/kkrt.rs", "KKRT: 1024 rows of the receiver", "the words", move || {
            let pairs: Vec<[Block; 2]> = known(2 * COLUMNS).as_chunks().0.to_vec();
            operation(
                move |class, rng| {
                    let receiver = nco::Receiver::from_seeds(code(), &context(), &pairs);
                    (receiver, blocks(class, ROWS, rng), fed(&[]), vec![Block::ZERO; ROWS])
                },
                |(receiver, words, (channel, _partner), outputs)| {
                    receiver.as_mut().is_ok_and(|r| r.extend_groups(1, words, outputs, channel).is_ok())
                },
            )
        }),
    ]
}

/// Outputs of a silent VOLE.
const LENGTH: usize = 1 << 12;

fn silent() -> [Subject; 2] {
    const MODULE: &str = "ot/src/vole.rs";
    let plan = || Plan::new(LENGTH, Profile::Conservative);
    let pairs: [[Block; 2]; 128] = core::array::from_fn(|i| [known(256)[2 * i], known(256)[2 * i + 1]]);
    [
        row(MODULE, "silent VOLE of 2^12: the receiver", "points, values and leaves", move || {
            operation(generator, move |rng| {
                let (receiver, _) = Noise::new(&context(), &plan(), &pairs, rng);
                receiver.accept(vec![0x5a; plan().flight3_bytes()]).map(|(_, receiver)| receiver.expand())
            })
        }),
        row(MODULE, "silent VOLE of 2^12: the sender", "Δ", move || {
            let (_, message) = Noise::new(&context(), &plan(), &pairs, &mut Prg::from_seed([1; 16]));
            operation(
                move |class, rng| {
                    let delta = block(class, rng);
                    let base: [Block; 128] = core::array::from_fn(|i| pairs[i][usize::from(delta.bit(i))]);
                    (delta, base)
                },
                move |(delta, base)| {
                    let secrets = vole::sender::Secrets { delta: *delta, base };
                    let rng = &mut Prg::from_seed([2; 16]);
                    let answered = vole::sender::Answered::<SemiHonest>::new::<Block>(
                        &context(),
                        &plan(),
                        &secrets,
                        &message,
                        rng,
                    );
                    answered.map(|(sender, _)| sender.accept().expand().b)
                },
            )
        }),
    ]
}

type Noise = vole::receiver::Answered<Block, SemiHonest>;
