//! Blind-RSA PSI. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! The sender's RSA function x ↦ x^d mod n is a pseudo-random function once its results are hashed; the receiver has
//! it evaluated on its items under blinding factors.
//!
//! **Security:** semi-honest, in the random oracle model, under the one-more-RSA assumption (CT10, theorem on
//! Figure 4). Leaks n_r and n_s. The receiver's items are hidden from a sender that cheats as well, up to the time
//! of a piece: see "A bad modulus". A receiver can have any n_r elements evaluated, which is a choice of its set. A sender can
//! use any set.
//!
//! Source: De Cristofaro and Tsudik (eprint 2009/491, CT10), Figure 4. The two entries are this one protocol, and
//! differ in the public exponent:
//!
//! - `blind-rsa`, as PSZ14 compares it: e = 65537.
//! - `dt-rsa`, as HEK12 §7.3 compares it and as DCW13 ran the authors' code: the short exponent e = 3.
//!
//! Deviations: the key is fresh for each run (the paper's is static, which would link the runs). The sender proves
//! that its exponent is sound for its modulus, and the receiver checks every signature (step 4). The masks t_j are
//! sorted where the paper permutes them. The y_i are not permuted: each is uniform whatever the item, so that its
//! place tells nothing.
//!
//! ```text
//!    receiver (Y)                                       sender (X), key (n, e, d)
//! 1.                ◄── n, c_1^d … c_t^d ──             b + t·b
//!    c_i = C(n, i) are units and the powers their roots
//! 2. r_i ←$ Z_n*    ── y_i = H(y)·r_i^e ──►             b·n_r
//! 3.                ◄── y'_i = y_i^d, same order ──     b·n_r
//!                   ◄── sort{F(H(x)^d)} ──              n_s·⌈ℓ/8⌉
//! 4. k_i = y'_i / r_i, checked: k_i^e = H(y)
//!    output {y : F(k_i) received}
//! ```
//!
//! **A bad modulus.** If e divides φ(n), the r^e are a subgroup of index e at least, and y_i tells in which of its
//! cosets H(y) lies: log2 e bits, against which the sender can test a guess of y. The proof of step 1 excludes this
//! (Goldberg, Reyzin, Sagga, Baldimtsi, eprint 2018/057). For a prime e that divides φ(n), at most one unit in e has
//! an e-th root, so t = ⌈κ / log2 e⌉ units that a random oracle chose all have one with probability 2^-κ at most, for
//! each modulus that a cheater tries: nothing limits how many, as it speaks first. (2^40 moduli pass at level 80 with
//! 2^-40.)
//! If e does not divide φ(n), x ↦ x^e permutes the units, whatever else n is, so that y_i is a uniform unit if H(y)
//! is a unit. A cheating sender can look for an n with a prime factor p (factors below 2^16 are refused) that
//! divides H(y) for a key y that it guesses. The receiver blinds 1 in place of such an H(y), so that neither y_i nor
//! the end of the run tells of it. Finding it takes some milliseconds more, which the sender may see in the time of
//! the piece. With an honest n it happens with probability 2^-500. A prime e above n would need no proof, and cost the
//! receiver as much as a signature costs the sender.
//!
//! Names: n, e = [`RsaPublicKey`]; d = [`RsaKey`]; b = `modulus_bytes`; t = `Scheme::roots`; H = the oracle
//! `item_to_residue`; F = `residue_to_mask`; C = `challenges`. All of them take n, the session and the protocol.
//!
//! Cost: n_r + n_s + t private operations for the sender and the making of a key; for the receiver n_r + t powers to
//! e, as many again for the checks, and about 8·n_r products. Everything is streamed: the sender computes its own
//! masks while no element waits. A private operation is two powers of half the length, which the sender checks by a
//! power to e before the result leaves it.

use std::sync::Arc;

use rand_core::CryptoRng;
use vesica_channel::{Channel, RecvHalf, SendHalf};
use vesica_crypto::bigint::{BoxedUint, InvalidResidue, Modulus, Residues, RsaKey, RsaPublicKey};
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::join::join;
use vesica_crypto::par;
use vesica_crypto::wide_prg::WidePrg;
use vesica_encode::items::Items;
use zeroize::Zeroizing;

use super::steps::{Streams, answer_first, hash_to_masks, hash_to_residues, recv_each};
use crate::entry::{Entry, Memory, Message, Power, Roles, Shape};
use crate::error::{Error, Misbehaviour};
use crate::masks::{self, MaskWidth};
use crate::outcome::Pairs;
use crate::overlap::{Inbound, Stopped, overlap};
use crate::protocol::{Ctx, Phase, Role, Run};

/// Elements one thread handles at a time, under one stream of randomness. An honest end sends pieces of as many for
/// each of its threads.
const CHUNK: usize = 64;

/// Prime factors of a modulus below this are found.
const SMALL: u32 = 1 << 16;

/// What distinguishes the two entries.
struct Scheme {
    /// e, an odd prime.
    exponent: u32,
}

const BLIND_RSA: Scheme = Scheme { exponent: 65537 };
const DT_RSA: Scheme = Scheme { exponent: 3 };

/// The registry's entry `blind-rsa`.
pub static ENTRY: Entry = entry(
    "blind-rsa",
    "blind RSA signatures",
    Roles::Listed {
        receive: |ctx, items| receive(&BLIND_RSA, ctx, items),
        send: |ctx, items| send(&BLIND_RSA, ctx, items),
    },
)
.paper("CT10 Figure 4; PSZ14")
.messages(&[key_and_proof("b + b·κ/16", |shape| BLIND_RSA.key_bytes(shape)), BLINDED, SIGNED, MASKS]);

/// The registry's entry `dt-rsa`.
pub static DT_RSA_ENTRY: Entry = entry(
    "dt-rsa",
    "De Cristofaro–Tsudik, one-more-RSA, with the exponent 3",
    Roles::Listed {
        receive: |ctx, items| receive(&DT_RSA, ctx, items),
        send: |ctx, items| send(&DT_RSA, ctx, items),
    },
)
.paper("CT10 Figure 4; HEK12 §7.3, DCW13 Table 3")
.messages(&[key_and_proof("b + b·⌈κ/log2 3⌉", |shape| DT_RSA.key_bytes(shape)), BLINDED, SIGNED, MASKS]);

const BLINDED: Message = Message::of_receiver("blinded items of the receiver", "b·n_r", |shape| {
    modulus_bytes(shape) * shape.receiver()
});
const SIGNED: Message =
    Message::of_sender("the same, raised to the sender's secret exponent", "b·n_r", |shape| {
        modulus_bytes(shape) * shape.receiver()
    });
const MASKS: Message =
    Message::of_sender("masks of the sender", "n_s·⌈ℓ/8⌉", |shape| shape.sender() * shape.mask());

const fn key_and_proof(formula: &'static str, bytes: fn(&Shape) -> u64) -> Message {
    Message::of_sender("the modulus n, and roots that prove the exponent sound", formula, bytes)
}

/// What the two entries have in common.
const fn entry(name: &'static str, title: &'static str, roles: Roles) -> Entry {
    Entry::new(name, title, roles)
        .family("public_key")
        .levels(&[80, 112, 128, 192, 256])
        .powers(|shape| Power::full(modulus_bits(shape.parameters.level)))
        .flights(|_| 3)
        .steps(|role, _| match role {
            Role::Receiver => {
                &[(Phase::Blind, 10), (Phase::Unblind, 85), (Phase::Exchange, 4), (Phase::Compare, 1)]
            }
            Role::Sender => &[(Phase::Answer, 96), (Phase::Exchange, 4)],
        })
        .memory("receiver (2·b + 36)·n_r + 36·n_s, sender b·n_r + 56·n_s", |shape| {
            let (receiver, sender, b) = (shape.receiver(), shape.sender(), modulus_bytes(shape));
            Memory { receiver: (2 * b + 36) * receiver + 36 * sender, sender: b * receiver + 56 * sender }
        })
        .test_items(24)
}

/// b: bytes of a modulus, by NIST's table of comparable strengths (HEK12 Table 3).
fn modulus_bytes(shape: &Shape) -> u64 {
    u64::from(modulus_bits(shape.parameters.level) / 8)
}

fn modulus_bits(level: u32) -> u32 {
    match level {
        80 => 1024,
        112 => 2048,
        128 => 3072,
        192 => 7680,
        _ => 15_360,
    }
}

impl Scheme {
    /// t = ⌈κ / log2 e⌉: roots that the proof takes.
    fn roots(&self, level: u32) -> usize {
        (f64::from(level) / f64::from(self.exponent).log2()).ceil() as usize
    }

    /// b + t·b.
    fn key_bytes(&self, shape: &Shape) -> u64 {
        modulus_bytes(shape) * (1 + self.roots(shape.parameters.level) as u64)
    }

    /// A fresh key. It is a function of one seed, so that tests make each key once.
    fn fresh_key(&self, level: u32, rng: &mut dyn CryptoRng) -> Arc<RsaKey> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut seed[..]);
        let (bits, exponent) = (modulus_bits(level), self.exponent);
        let generate = |seed: &[u8; 32]| RsaKey::generate(bits, exponent, &mut WidePrg::from_seed(seed));
        #[cfg(any(test, feature = "testing"))]
        return crate::testing::rsa_key((bits, exponent, *seed), generate);
        #[cfg(not(any(test, feature = "testing")))]
        Arc::new(generate(&seed))
    }
}

/// The receiver's role.
fn receive<'a>(scheme: &Scheme, ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let (run, threads) = (ctx.run, ctx.run.threads);
    let streams = Streams::new(ctx.rng);
    // 1. n, which is checked before anything of an item is sent.
    let function = Function::recv(scheme, run, ctx.channel.split().1)?;
    let party =
        Party { run, items, width: MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?, function };
    let mine = party.receive(&streams, ctx.channel)?;
    let theirs = masks::recv_sorted(run, party.width, ctx.channel.split().1)?;
    Ok(Pairs::joined(run, move || join(threads, &mine[..], &theirs[..])))
}

/// The sender's role.
fn send(scheme: &Scheme, ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let run = ctx.run;
    run.phase(Phase::Answer, run.sizes.receiver + items.len());
    let key = scheme.fresh_key(run.parameters.level, ctx.rng);
    let function = Function::new(scheme, run, key.public().clone());
    // 1. n, and what shows that e is sound for it.
    function.send(&key, ctx.channel.split().0)?;
    let party =
        Party { run, items, width: MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?, function };
    let mine = party.answer(&key, ctx.channel)?;
    masks::send_sorted(run, party.width, mine.into_iter().zip(0..), ctx.channel.split().0)
}

/// The public half of the sender's function x ↦ F(H(x)^d), and the oracles that belong to its modulus.
struct Function {
    key: RsaPublicKey,
    item_to_residue: Oracle,
    residue_to_mask: Oracle,
    challenges: Residues,
}

impl Function {
    fn new(scheme: &Scheme, run: &Run<'_>, key: RsaPublicKey) -> Self {
        let modulus = key.modulus();
        let context: Context = run.context.derive(Label::new("blind-rsa: modulus"), &modulus.to_be_bytes());
        let each = modulus.bytes() + Modulus::EXCESS;
        let mut wide = vec![0; scheme.roots(run.parameters.level) * each];
        context.hash(Label::new("blind-rsa: challenges"), &[], &mut wide);
        Function {
            item_to_residue: context.oracle(Label::new("blind-rsa: item to residue")),
            residue_to_mask: context.oracle(Label::new("blind-rsa: residue to mask")),
            challenges: modulus.reduce_wide(&wide, each),
            key,
        }
    }

    fn send(&self, key: &RsaKey, channel: &mut dyn SendHalf) -> Result<(), Error> {
        let mut message = self.key.modulus().to_be_bytes();
        self.key.modulus().encode(&sign(key, &self.challenges), &mut message);
        channel.send(&message)?;
        Ok(channel.flush()?)
    }

    /// Reads n and the roots, and checks that x ↦ x^e permutes the units modulo n.
    fn recv(scheme: &Scheme, run: &Run<'_>, channel: &mut dyn RecvHalf) -> Result<Self, Error> {
        let bits = modulus_bits(run.parameters.level);
        let mut message = vec![0; bits as usize / 8 * (1 + scheme.roots(run.parameters.level))];
        channel.recv_exact(&mut message)?;
        let (modulus, roots) = message.split_at(bits as usize / 8);
        let key = RsaPublicKey::from_modulus(modulus, bits, scheme.exponent);
        let key = key.map_err(|_| Misbehaviour::FailedCheck)?;
        if has_small_factor(modulus) {
            return Err(Misbehaviour::FailedCheck.into());
        }
        let function = Self::new(scheme, run, key);
        let roots = function.key.modulus().decode(roots).map_err(|_| Misbehaviour::FailedCheck)?;
        if !are_roots_of_units(&function.key, &function.challenges, &roots) {
            return Err(Misbehaviour::FailedCheck.into());
        }
        Ok(function)
    }
}

/// What the receiver checks of the proof. A challenge that is no unit may have a root whether e is sound or not.
fn are_roots_of_units(key: &RsaPublicKey, challenges: &Residues, roots: &Residues) -> bool {
    key.verify(challenges, roots).is_ok() && key.modulus().invert(challenges).is_some()
}

/// True if one of the primes from 3 to [`SMALL`] divides this number.
fn has_small_factor(number: &[u8]) -> bool {
    let mut composite = vec![false; SMALL as usize];
    (3..SMALL).step_by(2).any(|prime| {
        if composite[prime as usize] {
            return false;
        }
        (prime..SMALL).step_by(prime as usize).for_each(|multiple| composite[multiple as usize] = true);
        let remainder = number.chunks(4).fold(0, |remainder, digits| {
            digits.iter().fold(remainder, |remainder, digit| remainder << 8 | u64::from(*digit))
                % u64::from(prime)
        });
        remainder == 0
    })
}

/// x^d for every x; the key checks the results.
fn sign(key: &RsaKey, residues: &Residues) -> Residues {
    match key.sign(residues) {
        Ok(signatures) => signatures,
        // Sent, it would tell the factors of n.
        Err(wrong) => unreachable!("this machine computes wrongly: {wrong}"),
    }
}

/// One party's items and the function that both evaluate.
struct Party<'a> {
    run: &'a Run<'a>,
    items: &'a Items,
    width: MaskWidth,
    function: Function,
}

/// What takes the blinding of a chunk off.
#[derive(Debug)]
struct Factors {
    /// 1 / r_i.
    inverses: Residues,
    /// Items whose hash is no unit.
    no_units: Vec<usize>,
}

impl Party<'_> {
    /// Elements in one piece of a message.
    fn piece(&self) -> usize {
        CHUNK * self.run.threads
    }

    /// Bytes of an element.
    fn each(&self) -> usize {
        self.function.key.modulus().bytes()
    }

    /// H of the items of this chunk.
    fn hash(&self, chunk: usize) -> Residues {
        let (first, oracle) = (chunk * CHUNK, &self.function.item_to_residue);
        let chunk = first..self.items.len().min(first + CHUNK);
        hash_to_residues(oracle, self.function.key.modulus(), self.items, chunk)
    }

    /// F of these residues.
    fn mask(&self, residues: &Residues, masks: &mut [u128]) {
        let mut encoded = Zeroizing::new(Vec::new());
        self.function.key.modulus().encode(residues, &mut encoded);
        hash_to_masks(&self.function.residue_to_mask, self.width, &encoded, self.each(), masks);
    }

    /// Receiver: the masks of its items.
    fn receive(&self, streams: &Streams, channel: &mut dyn Channel) -> Result<Vec<u128>, Error> {
        let answers = (self.items.len(), self.each(), self.piece());
        let collect =
            |channel: &mut dyn RecvHalf, push: &mut dyn FnMut(Vec<u8>)| recv_each(answers, channel, push);
        let (masks, ()) = overlap(channel, collect, |channel, answers| {
            // 2. y_i = H(y)·r_i^e.
            let factors = self.send_blinded(streams, channel)?;
            // 4. F(k_i).
            self.unblind(&factors, answers)
        })?;
        Ok(masks)
    }

    /// Sends the blinded items; 1 / r_i, chunk by chunk.
    fn send_blinded(&self, streams: &Streams, channel: &mut dyn SendHalf) -> Result<Vec<Factors>, Stopped> {
        let items = self.items.len();
        self.run.phase(Phase::Blind, items);
        let mut factors = Vec::with_capacity(items.div_ceil(CHUNK));
        while factors.len() * CHUNK < items {
            let first = factors.len();
            let chunks = self.run.threads.min(items.div_ceil(CHUNK) - first);
            let mut blinded: Vec<_> = (0..chunks).map(|_| None).collect();
            par::for_each(self.run.threads, blinded.iter_mut(), |chunk, blinded| {
                *blinded = Some(self.blind(streams, first + chunk)?);
                Ok::<_, Error>(())
            })?;
            for (residues, chunk) in blinded.into_iter().flatten() {
                let mut encoded = Vec::new();
                self.function.key.modulus().encode(&residues, &mut encoded);
                channel.send(&encoded)?;
                self.run.advance(residues.len())?;
                factors.push(chunk);
            }
            channel.flush()?;
        }
        Ok(factors)
    }

    /// y_i = H(y)·r_i^e for the items of a chunk, and what takes the factors r_i off.
    fn blind(&self, streams: &Streams, chunk: usize) -> Result<(Residues, Factors), Error> {
        let (key, modulus) = (&self.function.key, self.function.key.modulus());
        let hashes = self.hash(chunk);
        let factors = modulus.random_unit(hashes.len(), &mut streams.get(chunk));
        // 1 / r = H·(1 / H·r): the inversion finds out whether both are units.
        let divide = |hashes: &Residues| {
            let inverses = modulus.invert(&modulus.mul(hashes, &factors))?;
            Some((modulus.mul(hashes, &key.raise(&factors)), modulus.mul(&inverses, hashes)))
        };
        if let Some((blinded, inverses)) = divide(&hashes) {
            return Ok((blinded, Factors { inverses, no_units: Vec::new() }));
        }
        let is_unit = |&at: &usize| modulus.invert(&modulus.batch(&hashes.get(at))).is_some();
        let no_units: Vec<usize> = (0..hashes.len()).filter(|at| !is_unit(at)).collect();
        // Now the fault is in a factor, which tells nothing of an item.
        let (blinded, inverses) =
            divide(&self.with_ones(hashes, &no_units)).ok_or(Misbehaviour::FailedCheck)?;
        Ok((blinded, Factors { inverses, no_units }))
    }

    /// These hashes with 1 in place of those that are no units. The end of the run would tell the sender of
    /// them; 1 is blinded as any other unit.
    fn with_ones(&self, hashes: Residues, no_units: &[usize]) -> Residues {
        if no_units.is_empty() {
            return hashes;
        }
        let modulus = self.function.key.modulus();
        let one = modulus.residue(&BoxedUint::one());
        let mut replaced = modulus.none(hashes.len());
        for at in 0..hashes.len() {
            replaced.push(&if no_units.contains(&at) { one.clone() } else { hashes.get(at) });
        }
        replaced
    }

    /// The masks of the receiver's items, from the sender's answers as they come.
    fn unblind(&self, factors: &[Factors], answers: &Inbound<Vec<u8>>) -> Result<Vec<u128>, Stopped> {
        self.run.phase(Phase::Unblind, self.items.len());
        let mut masks = vec![0; self.items.len()];
        let mut done = 0;
        while done < self.items.len() {
            let answer = answers.wait()?;
            let count = answer.len() / self.each();
            let pieces = answer.chunks(CHUNK * self.each()).zip(masks[done..done + count].chunks_mut(CHUNK));
            par::for_each(self.run.threads, pieces, |chunk, (signed, masks)| {
                let chunk = done / CHUNK + chunk;
                let modulus = self.function.key.modulus();
                let signed = modulus.decode(signed).map_err(|error| invalid(error, chunk * CHUNK))?;
                // k_i = y'_i / r_i, and k_i^e = H(y).
                let Factors { inverses, no_units } = &factors[chunk];
                let signatures = modulus.mul(&signed, inverses);
                let hashes = self.with_ones(self.hash(chunk), no_units);
                let valid = self.function.key.verify(&hashes, &signatures);
                valid.map_err(|_| Misbehaviour::FailedCheck)?;
                self.mask(&signatures, masks);
                Ok::<_, Error>(())
            })?;
            done += count;
            self.run.advance(count)?;
        }
        Ok(masks)
    }

    /// Sender: answers the receiver's elements and returns the masks of its own items.
    fn answer(&self, key: &RsaKey, channel: &mut dyn Channel) -> Result<Vec<u128>, Error> {
        let (theirs, own) = (self.run.sizes.receiver, self.items.len());
        let blinded = (theirs, self.each(), self.piece());
        let collect =
            |channel: &mut dyn RecvHalf, push: &mut dyn FnMut(Vec<u8>)| recv_each(blinded, channel, push);
        let mut masks = vec![0; own];
        overlap(channel, collect, |channel, blinded| {
            let sizes = (theirs, own, self.piece());
            answer_first(
                self.run,
                sizes,
                blinded,
                channel,
                |first, blinded, channel| {
                    // 3. y_i^d, in the order received.
                    channel.send(&self.signed(key, first, &blinded)?)?;
                    channel.flush()?;
                    Ok(blinded.len() / self.each())
                },
                |items| {
                    // F(H(x)^d).
                    let first = items.start / CHUNK;
                    let chunks = masks[items].chunks_mut(CHUNK);
                    par::for_each(self.run.threads, chunks, |chunk, masks| {
                        self.mask(&sign(key, &self.hash(first + chunk)), masks);
                        Ok(())
                    })
                },
            )
        })?;
        Ok(masks)
    }

    /// The signatures of blinded elements; `first` is the position of the first one in its message.
    fn signed(&self, key: &RsaKey, first: usize, blinded: &[u8]) -> Result<Vec<u8>, Error> {
        let (modulus, chunk_bytes) = (self.function.key.modulus(), CHUNK * self.each());
        let mut signed = vec![0; blinded.len()];
        par::for_each_chunk(
            self.run.threads,
            chunk_bytes,
            blinded,
            &mut signed,
            |chunk, blinded, signed| {
                let blinded =
                    modulus.decode(blinded).map_err(|error| invalid(error, first + chunk * CHUNK))?;
                let mut encoded = Vec::new();
                modulus.encode(&sign(key, &blinded), &mut encoded);
                signed.copy_from_slice(&encoded);
                Ok::<_, Error>(())
            },
        )?;
        Ok(signed)
    }
}

/// An element that is zero or not below n; `first` is the position of the first of its batch.
fn invalid(InvalidResidue { index }: InvalidResidue, first: usize) -> Misbehaviour {
    Misbehaviour::InvalidElement { position: first + index }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::protocol::Sizes;
    use crate::testing::{
        Case, DIRECTIONS, Tampering, Target, duel, items, lying_wire, planted_for, run_of, run_over, run_pair,
    };
    use rand::{Rng, SeedableRng, rngs::StdRng};
    use std::collections::HashSet;
    use vesica_crypto::bigint::{Crt, Exponent, prime};

    const LEVEL: u32 = 80;
    const SCHEMES: [(&Scheme, &Entry); 2] = [(&BLIND_RSA, &ENTRY), (&DT_RSA, &DT_RSA_ENTRY)];

    fn case() -> Case {
        Case { parameters: Parameters { level: LEVEL, ..Parameters::default() }, ..Case::default() }
    }

    fn run(sizes: Sizes) -> Run<'static> {
        run_of(Context::new(&[7; 32], "blind-rsa", b"", 0, 0), sizes, case().parameters)
    }

    fn encoded(modulus: &Modulus, residues: &Residues) -> Vec<u8> {
        let mut encoded = Vec::new();
        modulus.encode(residues, &mut encoded);
        encoded
    }

    /// number·factor + plus, big-endian, as long as it has to be.
    fn multiple(number: &[u8], factor: u32, plus: u32) -> Vec<u8> {
        let mut carry = u64::from(plus);
        let mut digits: Vec<u8> = Vec::new();
        for digit in number.iter().rev().chain(&[0; 4]) {
            carry += u64::from(*digit) * u64::from(factor);
            digits.push(carry as u8);
            carry >>= 8;
        }
        digits.into_iter().rev().skip_while(|digit| *digit == 0).collect()
    }

    /// An odd number of 1024 bits with this factor, and nothing else known about it.
    fn with_factor(factor: u32) -> Vec<u8> {
        let number = [0xc5; 128];
        let rest =
            number.iter().fold(0, |rest, digit| (rest << 8 | u64::from(*digit)) % u64::from(2 * factor));
        multiple(&number, 1, 3 * factor - rest as u32)
    }

    /// The factors of a modulus of 1024 bits, where e divides p - 1 for the first of them.
    fn unsound(scheme: &Scheme, rng: &mut StdRng) -> (BoxedUint, BoxedUint) {
        let twice = 2 * scheme.exponent;
        loop {
            // The next number above a random one that is 1 modulo 2·e.
            let mut number = [0; 64];
            rng.fill_bytes(&mut number);
            number[0] |= 0xc0;
            let rest =
                number.iter().fold(0, |rest, digit| (rest << 8 | u64::from(*digit)) % u64::from(twice));
            let low = multiple(&number, 1, twice + 1 - rest as u32);
            if low.len() == 64 {
                let p = BoxedUint::from_be_slice(&low, 512).unwrap();
                if prime::is_prime(&p) {
                    return (p, prime::random_rsa_prime(512, rng));
                }
            }
        }
    }

    #[test]
    fn the_proof_is_as_long_as_its_page_says() {
        let levels = [80, 112, 128, 192, 256];
        let roots = |scheme: &Scheme| levels.map(|level| scheme.roots(level));
        assert_eq!((roots(&BLIND_RSA), roots(&DT_RSA)), ([5, 7, 8, 12, 16], [51, 71, 81, 122, 162]));
        assert_eq!(levels.map(modulus_bits), [1024, 2048, 3072, 7680, 15_360]);
    }

    /// A sender of a modulus for which e is not sound gets nothing from the receiver, though the items' classes would
    /// show in what it asks for.
    #[test]
    fn flaw_a_modulus_without_unique_roots_gets_no_blinded_items() {
        for (scheme, entry) in SCHEMES {
            let rng = &mut StdRng::seed_from_u64(1);
            let (p, q) = unsound(scheme, rng);
            let n = Crt::new(&p, &q).unwrap().modulus().clone();
            let sets = planted_for(&case().parameters, 4, 4, 2, 1);
            // Roots of the challenges do not exist, but with probability 2^-80; so any numbers do.
            let message = [n.to_be_bytes(), encoded(&n, &n.random_unit(scheme.roots(LEVEL), rng))].concat();
            let (ended, asked) = duel::<Vec<u128>, bool>(
                (entry, &sets, case()),
                Box::new(|ctx| {
                    entry.receive(&mut ctx.reborrow(), &sets.receiver)?.matches().map(|_| Vec::new())
                }),
                Box::new(|ctx| {
                    ctx.channel.split().0.send(&message)?;
                    ctx.channel.split().0.flush()?;
                    Ok(ctx.channel.split().1.recv_exact(&mut [0]).is_ok())
                }),
            );
            assert_eq!(ended, Err(Misbehaviour::FailedCheck.into()), "{}", entry.name);
            assert_eq!(asked, Ok(false), "{}", entry.name);
            // What it would have got: (H·r^e)^((p - 1) / e) = H^((p - 1) / e) modulo p.
            let run = run(Sizes { receiver: 4, sender: 4 });
            let key = RsaPublicKey::from_modulus(&n.to_be_bytes(), 1024, scheme.exponent).unwrap();
            let function = Function::new(scheme, &run, key);
            let party = Party { run: &run, items: &sets.receiver, width: MaskWidth::of_bits(44), function };
            let order = BoxedUint::from_be_slice(&divided(&p, scheme.exponent), 512).unwrap();
            let p = Modulus::from_uint(&p).unwrap();
            let class = |residues: &Residues| {
                encoded(&p, &p.pow(&p.reduce(&encoded(&n, residues), n.bytes()), &Exponent::new(&order, 512)))
            };
            let (blinded, _) = party.blind(&Streams::new(rng), 0).unwrap();
            assert_eq!(class(&blinded), class(&party.hash(0)), "{}: the class shows", entry.name);
        }
    }

    /// (p - 1) / e, where e divides it; as p is odd, ⌊p / e⌋.
    fn divided(p: &BoxedUint, e: u32) -> Vec<u8> {
        let mut rest = 0;
        let quotient = |digit: &u8| {
            rest = rest << 8 | u64::from(*digit);
            let quotient = rest / u64::from(e);
            rest %= u64::from(e);
            quotient as u8
        };
        p.to_be_bytes().iter().map(quotient).collect()
    }

    /// A cheater would choose the modulus once it knew the challenges, so that they have roots; and what an item's
    /// hash or a mask says in one run would say something in another.
    #[test]
    fn flaw_oracles_that_do_not_take_the_modulus() {
        let rng = &mut StdRng::seed_from_u64(6);
        let shared = prime::random_rsa_prime(512, rng);
        let (p, sets) = (Modulus::from_uint(&shared).unwrap(), planted_for(&case().parameters, 2, 2, 0, 1));
        for (scheme, entry) in SCHEMES {
            let run = run(Sizes { receiver: 2, sender: 2 });
            // Equal hashes are equal modulo a factor that two moduli have in common.
            let [first, second] = [(); 2].map(|()| {
                let crt = Crt::new(&shared, &prime::random_rsa_prime(512, rng)).unwrap();
                let n = crt.modulus();
                let key = RsaPublicKey::from_modulus(&n.to_be_bytes(), 1024, scheme.exponent).unwrap();
                let function = Function::new(scheme, &run, key);
                let party =
                    Party { run: &run, items: &sets.receiver, width: MaskWidth::of_bits(44), function };
                let shown = |hashes| encoded(&p, &p.reduce(&encoded(n, hashes), n.bytes()));
                let mut mask = [0];
                party.mask(&n.batch(&n.residue(&BoxedUint::from(5u8))), &mut mask);
                (shown(&party.function.challenges), shown(&party.hash(0)), mask)
            });
            let same = [first.0 == second.0, first.1 == second.1, first.2 == second.2];
            assert_eq!(same, [false; 3], "{}", entry.name);
        }
    }

    /// The quotient of two blinded items would be that of their hashes.
    #[test]
    fn flaw_no_two_items_share_a_factor() {
        let rng = &mut StdRng::seed_from_u64(7);
        let sets = planted_for(&case().parameters, CHUNK + 6, 1, 0, 1);
        let run = run(Sizes { receiver: CHUNK + 6, sender: 1 });
        let function = Function::new(&DT_RSA, &run, DT_RSA.fresh_key(LEVEL, rng).public().clone());
        let party = Party { run: &run, items: &sets.receiver, width: MaskWidth::of_bits(44), function };
        let mut factors = HashSet::new();
        for _ in 0..2 {
            let streams = Streams::new(rng);
            for chunk in 0..2 {
                let (_, Factors { inverses, .. }) = party.blind(&streams, chunk).unwrap();
                let encoded = encoded(party.function.key.modulus(), &inverses);
                assert!(encoded.chunks(128).all(|inverse| factors.insert(inverse.to_vec())));
            }
        }
        assert_eq!(factors.len(), 2 * (CHUNK + 6));
    }

    #[test]
    fn flaw_a_challenge_that_is_no_unit_proves_nothing() {
        let rng = &mut StdRng::seed_from_u64(2);
        let key = BLIND_RSA.fresh_key(LEVEL, rng);
        let (public, n) = (key.public(), key.public().modulus());
        let challenges = n.random_unit(3, rng);
        let roots = key.sign(&challenges).unwrap();
        assert!(are_roots_of_units(public, &challenges, &roots));
        assert!(!are_roots_of_units(public, &challenges, &roots.gather(&[0, 2, 1])));
        // p is a multiple of p and has a root.
        let mut multiple = n.none(1);
        multiple.push(&n.residue(key.crt().factors().0.value()));
        let root = key.sign(&multiple).unwrap();
        assert!(!are_roots_of_units(public, &multiple, &root));
    }

    #[test]
    fn moduli_that_are_none_are_refused() {
        let sizes = Sizes { receiver: 1, sender: 1 };
        for (scheme, _) in SCHEMES {
            let received = |n: &[u8]| {
                let (mut a, mut b) = vesica_channel::memory::pair();
                let roots = vec![1; 128 * scheme.roots(LEVEL)];
                a.split().0.send(&[n, &roots].concat()).unwrap();
                a.split().0.flush().unwrap();
                Function::recv(scheme, &run(sizes), b.split().1).map(|_| ())
            };
            let mut even = with_factor(65_537);
            even[127] &= 0xfe;
            let mut short = with_factor(65_537);
            short[0] = 0;
            for n in [even, short, with_factor(65_521), vec![0; 128]] {
                assert_eq!(received(&n), Err(Misbehaviour::FailedCheck.into()));
            }
        }
        assert!(has_small_factor(&with_factor(65_521)) && has_small_factor(&with_factor(3)));
        let honest = BLIND_RSA.fresh_key(LEVEL, &mut StdRng::seed_from_u64(3));
        assert!(!has_small_factor(&honest.public().modulus().to_be_bytes()));
    }

    /// Its challenges have roots: nothing but the factor is wrong with it.
    #[test]
    fn a_small_factor_is_refused_where_all_roots_are_right() {
        let rng = &mut StdRng::seed_from_u64(8);
        let wide = |digits: &[u8]| {
            BoxedUint::from_be_slice(&[&vec![0; 128 - digits.len()], digits].concat(), 1024).unwrap()
        };
        let [one, p, e] = [1, 65_521, BLIND_RSA.exponent].map(|number| wide(&number.to_be_bytes()));
        let (n, exponent) = std::iter::repeat_with(|| {
            let q = wide(&prime::random_rsa_prime(1008, rng).to_be_bytes());
            let order = p.wrapping_sub(&one).wrapping_mul(q.wrapping_sub(&one)).to_nz().unwrap();
            (p.wrapping_mul(&q), e.invert_mod(&order).into_option())
        })
        .find_map(|(n, d)| Some((n, Exponent::new(&d?, 1024))))
        .unwrap();
        let run = run(Sizes { receiver: 1, sender: 1 });
        let key = RsaPublicKey::from_modulus(&n.to_be_bytes(), 1024, BLIND_RSA.exponent).unwrap();
        let function = Function::new(&BLIND_RSA, &run, key);
        let modulus = function.key.modulus();
        let roots = modulus.pow(&function.challenges, &exponent);
        assert!(are_roots_of_units(&function.key, &function.challenges, &roots));
        let (mut a, mut b) = vesica_channel::memory::pair();
        a.split().0.send(&[modulus.to_be_bytes(), encoded(modulus, &roots)].concat()).unwrap();
        a.split().0.flush().unwrap();
        let received = Function::recv(&BLIND_RSA, &run, b.split().1).map(|_| ());
        assert_eq!(received, Err(Misbehaviour::FailedCheck.into()));
    }

    /// An item whose hash has a factor in common with n would show it in H(y)·r^e, or by the end of the run.
    #[test]
    fn flaw_an_item_that_is_no_unit_is_not_blinded() {
        const FACTOR: u32 = 65_539;
        let cofactor = prime::random_rsa_prime(1008, &mut StdRng::seed_from_u64(5)).to_be_bytes();
        let n = RsaPublicKey::from_modulus(&multiple(&cofactor, FACTOR, 0), 1024, 65_537).unwrap();
        let run = run(Sizes { receiver: 1, sender: 1 });
        let function = Function::new(&BLIND_RSA, &run, n);
        let party = |items| Party {
            run: &run,
            items,
            width: MaskWidth::of_bits(44),
            function: Function::new(&BLIND_RSA, &run, function.key.clone()),
        };
        let rest = |hash: &[u8]| {
            hash.iter().fold(0, |rest, digit| (rest << 8 | u64::from(*digit)) % u64::from(FACTOR))
        };
        let many = items(&(0..400_000u32).map(u32::to_le_bytes).collect::<Vec<_>>());
        let found = (0..many.len().div_ceil(CHUNK)).find_map(|chunk| {
            let hashes = encoded(function.key.modulus(), &party(&many).hash(chunk));
            hashes.chunks(128).position(|hash| rest(hash) == 0).map(|at| chunk * CHUNK + at)
        });
        // Its key is the number of its row.
        let found = many.matches(found.into_iter()).rows()[0] as u32;
        let (bad, good) = (items(&[found.to_le_bytes()]), items(&[(found ^ 1).to_le_bytes()]));
        let modulus = function.key.modulus();
        for seed in 0..4 {
            for (items, no_units) in [(&bad, vec![0]), (&good, vec![])] {
                let streams = &Streams::new(&mut StdRng::seed_from_u64(seed));
                let (blinded, factors) = party(items).blind(streams, 0).unwrap();
                assert_eq!(factors.no_units, no_units);
                assert_ne!(rest(&encoded(modulus, &blinded)), 0);
                // The blinding comes off: y / r^e is the hash, or 1 in its place.
                let unblinded = modulus.mul(&blinded, &function.key.raise(&factors.inverses));
                let hashes = party(items).with_ones(party(items).hash(0), &factors.no_units);
                assert_eq!(encoded(modulus, &unblinded), encoded(modulus, &hashes));
            }
        }
    }

    #[test]
    fn a_wrong_signature_ends_the_run() {
        for (_, entry) in SCHEMES {
            let sets = planted_for(&case().parameters, 3, 2, 1, 1);
            // The last byte of the first answer, in the sender's second frame.
            let target =
                Target { direction: DIRECTIONS[1], frame: 1, tampering: Tampering::Flip { byte: 127 } };
            let (first, second, _) = lying_wire(Some(target));
            let ended = run_over(entry, &sets, case(), (first, second));
            assert_eq!(ended.receiver.err(), Some(Misbehaviour::FailedCheck.into()), "{}", entry.name);
        }
    }

    #[test]
    fn numbers_that_are_no_residues_are_refused() {
        let sets = planted_for(&case().parameters, 2, 1, 0, 1);
        for (scheme, entry) in SCHEMES {
            for zero in [true, false] {
                let (_, sender) = duel::<(), Vec<u32>>(
                    (entry, &sets, case()),
                    Box::new(|ctx| {
                        let mut message = vec![0; 128 * (1 + scheme.roots(LEVEL))];
                        ctx.channel.split().1.recv_exact(&mut message)?;
                        let second = if zero { &[0; 128] } else { &message[..128] };
                        ctx.channel.split().0.send(&[&[1; 128], second].concat())?;
                        ctx.channel.split().0.flush()?;
                        // The sender ends it.
                        Ok(ctx.channel.split().1.recv_exact(&mut [0; 300])?)
                    }),
                    Box::new(|ctx| send(scheme, ctx, &sets.sender)),
                );
                assert_eq!(sender, Err(Misbehaviour::InvalidElement { position: 1 }.into()));
            }
        }
    }

    /// The levels of the papers' tables that no other test runs.
    #[test]
    #[ignore = "a key takes seconds at 192 and minutes at 256"]
    fn a_run_at_a_high_level_ends_with_the_plain_join() {
        let parameters = Parameters { level: 192, ..Parameters::default() };
        let sets = planted_for(&parameters, 9, 5, 3, 1);
        let ended = run_pair(&ENTRY, &sets, Case { parameters, ..Case::default() });
        assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
    }

    #[test]
    fn every_run_has_a_key_of_its_own() {
        let rng = &mut StdRng::seed_from_u64(4);
        let [first, second] = [(); 2].map(|()| DT_RSA.fresh_key(LEVEL, rng).public().modulus().to_be_bytes());
        assert_ne!(first, second);
    }
}
