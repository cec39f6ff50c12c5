//! Sort-compare-shuffle with a homomorphic shuffle: the slots leave the circuit as shares, and the sender
//! permutes them under the receiver's encryption. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest; that of the protocol that evaluates the circuit, and of Paillier's encryption.
//! Leaks n_r and n_s.
//!
//! Source: HEK12 §5.3.2, Figure 6 (SCS-HE). Messages up to the slots, and the item 0: [the parent
//! module](super). Its step 3 is
//!
//! ```text
//! receiver (Alice), a key pair                     sender (Bob)
//! 0.         ── N ──►                              r_i ←$ {0,1}^v, π ←$ permutations of m slots
//! 3. the circuit adds r_i to slot i, m_i
//! 5.         ◄── r'_i = m_i + r_i ──
//! 6.         ── E(r'_i) ──►                        c_i = E(r'_i - r_i) = E(m_i)
//!            ◄── E(Σ_j 2^(w·(t-1-j))·m_π(t·k+j)) ──    re-randomised, t slots in each
//!    decrypts
//! ```
//!
//! Deviations:
//!
//! - In Figure 6 it is Alice, the holder of the key, who draws the masks, and Bob who learns the sums. Here
//!   the sender draws them, whose private bits cost half a gate, and the receiver encrypts the sums. Each of
//!   them has one of the two shares, as in the figure.
//! - Masks have v = w + λ + ⌈log2 m⌉ bits, w those of a number. With the paper's w + 32 bits the sums tell one of
//!   the m slots with probability m·2^-32.
//! - Bob re-randomises, which the figure does not say. Alice knows the randomness of her ciphertexts. She would
//!   find the permutation in what comes back.
//! - Bob packs t = ⌊(|N| - 1)/w⌋ slots into a ciphertext *after* the permutation. Alice sees a ciphertext for t
//!   slots instead of t ciphertexts. Nothing else changes: she would decrypt them in this order anyway.
//!   The slots cannot be packed on their way to Bob, who has to permute them one by one.
//! - The encryption is Paillier's with |N| = 3072 bits, 1024 at level 80. ElGamal "in the exponent" could not
//!   decrypt numbers of w bits.
//!
//! Names: m = [`circuit::slots`], w = `sigma`, v = `mask_bits`, t = `packed`, π = `order`.
//!
//! Cost: the circuit up to the slots as in [`waksman`](super::waksman), w - 1 AND gates for each slot, and
//! v - w + 1 with a private bit. The receiver encrypts m numbers, with the key, and decrypts ⌈m/t⌉; the sender
//! raises m ciphertexts to 2^w, and re-randomises ⌈m/t⌉.

use rand_core::CryptoRng;
use vesica_circuit::circuits::sort_compare_shuffle as circuit;
use vesica_circuit::{Bits, Engine, Input, Opening, Party, Wires, bits};
use vesica_crypto::bigint::{BoxedUint, Exponent, InvalidResidue};
use vesica_crypto::block::Block;
use vesica_crypto::paillier::{Ciphertexts, InvalidCiphertext, PublicKey, SecretKey};
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use vesica_encode::items::{Items, random_order};
use zeroize::Zeroizing;

use super::super::Circuit;
use super::super::engines::{self, evaluate, gate_bytes};
use super::{
    INPUT_MESSAGES, RETURNED, Slots, Sorted, circuit_memory, entry, receiver_result, sender_result, sigma,
    slots, slots_ands, zero_wires,
};
use crate::entry::{Entry, Gates, Memory, Message, Power, Roles, Shape};
use crate::error::{Error, Misbehaviour};
use crate::outcome::{Outcome, Pending};
use crate::parameters::Parameters;
use crate::protocol::{Ctx, Phase, Role, Run, Sizes};

/// The registry's entry.
pub static ENTRY: Entry = entry(
    "scs-he",
    "garbled circuit: sort, compare, shuffle under Paillier's encryption",
    Roles::Whole { receive, send },
)
.paper("HEK12 §5.3.2, Figure 6")
.levels(&[80, 128])
.powers(|shape| {
    // Modulo the square of the key.
    let exponent = key_bits(shape.parameters.level);
    Power { modulus: 2 * exponent, exponent }
})
.flights(|shape| engines::flights(shape) + 2)
.steps(|role, _| match role {
    Role::Receiver => &[
        (Phase::BaseOts, 2),
        (Phase::EvaluateCircuit, 8),
        (Phase::Blind, 70),
        (Phase::Unblind, 19),
        (Phase::Compare, 1),
    ],
    Role::Sender => &[(Phase::BaseOts, 2), (Phase::Garble, 8), (Phase::Exchange, 70), (Phase::Answer, 20)],
})
.gates("the merger's 2-sorters and m slots as in scs-wn, m·(w - 1) more; private: m·(v - w + 1)", gates)
.messages(&[
    Message::of_receiver("public key", "384 (128 at level 80)", |shape| {
        with_plan(shape, |plan| u64::from(plan.key_bits / 8))
    }),
    INPUT_MESSAGES[0],
    INPUT_MESSAGES[1],
    INPUT_MESSAGES[2],
    INPUT_MESSAGES[3],
    Message::of_sender(
        "garbled gates, and permute bits of the masked slots",
        "2·κ/8 each AND, κ/8 each private one, + ⌈m·(v + 1)/8⌉ + 1 ([sigma])",
        |shape| gate_bytes(shape, gates(shape)) + with_plan(shape, Plan::opened_bytes) + zero_wires(shape),
    ),
    Message::of_receiver("encrypted sums", "c·m, c = 768 (256 at level 80)", |shape| {
        with_plan(shape, |plan| (plan.slots * plan.ciphertext_bytes()) as u64)
    }),
    Message::of_sender("shuffled slots, t in a ciphertext", "c·⌈m/t⌉", |shape| {
        with_plan(shape, |plan| (plan.answers() * plan.ciphertext_bytes()) as u64)
    }),
    RETURNED,
])
.memory("receiver 24·w·(n_r + n_s) + (v/8)·m + 2^26, sender that + 2·c·m", |shape| {
    let circuit = circuit_memory(shape);
    let Ok(plan) = Plan::new(shape.sizes, &shape.parameters) else { return Memory::default() };
    let masks = plan.slots as u64 * u64::from(plan.mask_bits.div_ceil(8));
    let ciphertexts = 2 * (plan.slots * plan.ciphertext_bytes()) as u64;
    Memory { receiver: circuit + masks, sender: circuit + masks + ciphertexts }
})
.test_items(16);

/// A formula of a run of this shape; 0 of sizes that are refused.
fn with_plan(shape: &Shape, formula: impl Fn(&Plan) -> u64) -> u64 {
    Plan::new(shape.sizes, &shape.parameters).map_or(0, |plan| formula(&plan))
}

fn gates(shape: &Shape) -> Gates {
    let Ok(plan) = Plan::new(shape.sizes, &shape.parameters) else { return Gates::default() };
    let [ands, private_ands] =
        circuit::mask_ands(plan.slots as u64, plan.sigma.into(), plan.mask_bits.into());
    Gates { ands: slots_ands(shape) + ands, private_ands, depth: None }
}

/// Ciphertexts of a task: whole vectors of lanes.
const CHUNK: usize = 64;

/// Ciphertexts that a task packs: a vector of lanes.
const GROUPS: usize = 8;

/// |N|.
fn key_bits(level: u32) -> u32 {
    if level <= 80 { 1024 } else { 3072 }
}

/// What both parties derive from sizes and parameters.
struct Plan {
    /// w.
    sigma: u32,
    /// m.
    slots: usize,
    /// v.
    mask_bits: u32,
    /// |N|.
    key_bits: u32,
    /// t.
    packed: usize,
}

impl Plan {
    fn new(sizes: Sizes, parameters: &Parameters) -> Result<Self, Error> {
        let sigma = sigma(sizes, parameters)?;
        let slots = circuit::slots(sizes.receiver as u64, sizes.sender as u64) as usize;
        let mask_bits = sigma + parameters.statistical + slots.max(1).next_power_of_two().ilog2();
        let key_bits = key_bits(parameters.level);
        Ok(Plan { sigma, slots, mask_bits, key_bits, packed: ((key_bits - 1) / sigma) as usize })
    }

    /// Ciphertexts that come back.
    fn answers(&self) -> usize {
        self.slots.div_ceil(self.packed)
    }

    /// Bytes of a sum, the longest number that is encrypted one by one.
    fn sum_bytes(&self) -> usize {
        (self.mask_bits + 1).div_ceil(8) as usize
    }

    /// Bytes of the permute bits of all sums.
    fn opened_bytes(&self) -> u64 {
        (self.slots as u64 * u64::from(self.mask_bits + 1)).div_ceil(8)
    }

    fn ciphertext_bytes(&self) -> usize {
        self.key_bits as usize / 4
    }

    /// The numbers of w bits that these messages consist of, big-endian and of |N| bits each.
    fn unpack(&self, messages: &[u8]) -> impl Iterator<Item = u128> {
        let sigma = self.sigma as usize;
        let bit = |message: &[u8], at: usize| message[message.len() - 1 - at / 8] >> (at % 8) & 1 == 1;
        messages.chunks_exact(self.key_bits as usize / 8).enumerate().flat_map(move |(answer, message)| {
            let slots = self.packed.min(self.slots - answer * self.packed);
            (0..slots).map(move |slot| {
                let bits = (0..sigma).map(|at| u128::from(bit(message, slot * sigma + at)) << at);
                bits.sum()
            })
        })
    }
}

/// The circuit, with what the party that runs it puts in.
struct Shared<'a> {
    run: &'a Run<'a>,
    plan: &'a Plan,
    role: Role,
    numbers: &'a [Bits],
    /// The bits of r_i, of the sender.
    masks: Option<&'a [Bits]>,
}

/// The sums r'_i, row by row, and whether both have the item 0.
struct Opened {
    sums: Vec<Bits>,
    zero: bool,
}

impl Circuit for Shared<'_> {
    /// For the receiver.
    type Output = Option<Opened>;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error> {
        let Slots { values, zero, .. } = slots(engine, self.run, self.role, self.numbers)?;
        let rows = self.plan.mask_bits as usize;
        let masks = self.masks.map_or(Input::Hidden { rows, len: self.plan.slots }, Input::Known);
        let mut parts = Vec::new();
        circuit::add_masks(engine, Party::Sender, masks, &values, |engine, sums| {
            parts.extend(engine.open(Opening::ToReceiver, &sums)?);
            Ok(())
        })?;
        let zero = match zero {
            Some(zero) => engine.open(Opening::ToReceiver, &[zero])?,
            None => None,
        };
        let joined = |row: usize| Bits::join(&parts.iter().map(|part| &part[row]).collect::<Vec<_>>());
        Ok((!parts.is_empty()).then(|| Opened {
            sums: (0..=rows).map(joined).collect(),
            zero: zero.is_some_and(|rows| rows.first().is_some_and(|row| row.get(0))),
        }))
    }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let (run, role) = (ctx.run, Role::Receiver);
    let plan = Plan::new(run.sizes, &run.parameters)?;
    // 0.
    let secret = SecretKey::generate(plan.key_bits, ctx.rng);
    ctx.channel.send(&secret.public().messages().to_be_bytes())?;
    ctx.channel.flush()?;
    // 1.
    let sorted = Sorted::new(run, items)?;
    let numbers = sorted.rows();
    // 2. to 5.
    let circuit = Shared { run, plan: &plan, role, numbers: &numbers, masks: None };
    let opened = evaluate(ctx, role, gates(&Shape::of(run)).all(), circuit)?;
    drop(numbers);
    let Some(Opened { sums, zero }) = opened else { return Ok(Pending::of_items(items, Vec::new)) };
    // 6.
    send_encrypted(ctx, &plan, &secret, &sums)?;
    let slots = recv_decrypted(ctx, &plan, &secret)?;
    receiver_result(ctx, items, sorted, move || {
        let numbers = plan.unpack(&slots).filter(|number| *number != 0);
        numbers.chain(zero.then_some(0)).collect()
    })
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let (run, role) = (ctx.run, Role::Sender);
    let plan = Plan::new(run.sizes, &run.parameters)?;
    // 0.
    let mut encoded = vec![0; plan.key_bits as usize / 8];
    ctx.channel.recv_exact(&mut encoded)?;
    let public = PublicKey::from_be_bytes(&encoded, plan.key_bits)
        .map_err(|_| Misbehaviour::InvalidElement { position: 0 })?;
    let masks = random_rows(plan.mask_bits as usize, plan.slots, ctx.rng);
    let order = Zeroizing::new(random_order(plan.slots as u32, ctx.rng));
    // 1.
    let sorted = Sorted::new(run, items)?;
    let numbers = sorted.rows();
    // 2. to 5.
    let circuit = Shared { run, plan: &plan, role, numbers: &numbers, masks: Some(&masks) };
    evaluate(ctx, role, gates(&Shape::of(run)).all(), circuit)?;
    drop(numbers);
    // 6.
    let slots = recv_unmasked(ctx, &plan, &public, &masks)?;
    send_shuffled(ctx, &plan, &public, &slots, &order)?;
    sender_result(ctx, items, &sorted)
}

/// Rows of random bits.
fn random_rows(rows: usize, len: usize, rng: &mut dyn CryptoRng) -> Vec<Bits> {
    let mut rng = Prg::from_rng(rng);
    let mut row = || {
        let mut words = Zeroizing::new(vec![[0; 8]; len.div_ceil(64)]);
        rng.fill(words.as_flattened_mut());
        Bits::from_words(words.iter().map(|word| u64::from_le_bytes(*word)).collect(), len)
    };
    (0..rows).map(|_| row()).collect()
}

/// The numbers at these positions of the rows, in `each` bytes, big-endian.
fn integers(rows: &[Bits], positions: std::ops::Range<usize>, each: usize) -> Zeroizing<Vec<u8>> {
    let mut all = Zeroizing::new(vec![0; positions.len() * each]);
    for (part, rows) in rows.chunks(u128::BITS as usize).enumerate() {
        let rows: Vec<Bits> = rows.iter().map(|row| row.slice(positions.clone())).collect();
        let numbers = Zeroizing::new(bits::numbers(&rows));
        for (number, out) in numbers.iter().zip(all.chunks_exact_mut(each)) {
            let low_first = out.iter_mut().rev().skip(16 * part);
            low_first.zip(number.to_le_bytes()).for_each(|(out, byte)| *out = byte);
        }
    }
    all
}

/// Encrypts and sends the sums, each by itself.
fn send_encrypted(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    secret: &SecretKey,
    sums: &[Bits],
) -> Result<(), Error> {
    let (run, public, seed) = (ctx.run, secret.public(), Block::random(ctx.rng));
    run.phase(Phase::Blind, plan.slots);
    let mut encrypted = Vec::new();
    for (piece, first) in (0..plan.slots).step_by(CHUNK * run.threads).enumerate() {
        let count = (plan.slots - first).min(CHUNK * run.threads);
        encrypted.resize(count * plan.ciphertext_bytes(), 0);
        par::for_each(run.threads, encrypted.chunks_mut(CHUNK * plan.ciphertext_bytes()), |task, out| {
            let (first, count) = (first + task * CHUNK, out.len() / plan.ciphertext_bytes());
            let sums = integers(sums, first..first + count, plan.sum_bytes());
            let messages = public.messages().reduce(&sums, plan.sum_bytes());
            let rng = &mut Prg::fork(seed, (piece * run.threads + task) as u64);
            let randomisers = secret.randomisers(count, rng);
            public.write(&public.encrypt(&messages, randomisers), out);
            Ok::<_, Error>(())
        })?;
        ctx.channel.send(&encrypted)?;
        run.advance(count)?;
    }
    Ok(ctx.channel.flush()?)
}

/// E(m_i) for each slot: the sender takes its masks off.
fn recv_unmasked(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    public: &PublicKey,
    masks: &[Bits],
) -> Result<Ciphertexts, Error> {
    let (run, n, each) = (ctx.run, public.messages(), plan.sum_bytes());
    run.phase(Phase::Exchange, plan.slots);
    let zero = n.residue(&BoxedUint::zero());
    let mut slots: Option<Ciphertexts> = None;
    let mut encoded = Vec::new();
    for first in (0..plan.slots).step_by(CHUNK) {
        let count = (plan.slots - first).min(CHUNK);
        encoded.resize(count * plan.ciphertext_bytes(), 0);
        ctx.channel.recv_exact(&mut encoded)?;
        let invalid = |InvalidResidue { index }| Misbehaviour::InvalidElement { position: first + index };
        let sums = public.decode(&encoded).map_err(invalid)?;
        let mut opposites = n.none(count);
        (0..count).for_each(|_| opposites.push(&zero));
        let opposites = n.sub(&opposites, &n.reduce(&integers(masks, first..first + count, each), each));
        let unmasked = public.add_messages(&sums, &opposites);
        match &mut slots {
            Some(slots) => slots.append(&unmasked),
            None => slots = Some(unmasked),
        }
        run.advance(count)?;
    }
    // Both sets have items, so there is a slot.
    slots.ok_or(Misbehaviour::FailedCheck.into())
}

/// Sends the slots in the order of π, several in a ciphertext, re-randomised.
fn send_shuffled(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    public: &PublicKey,
    slots: &Ciphertexts,
    order: &[u32],
) -> Result<(), Error> {
    let (run, seed) = (ctx.run, Block::random(ctx.rng));
    run.phase(Phase::Answer, plan.slots);
    let (each, at_once) = (plan.ciphertext_bytes(), GROUPS * plan.packed);
    let mut answers = Vec::new();
    for (piece, order) in order.chunks(at_once * run.threads).enumerate() {
        answers.resize(order.len().div_ceil(plan.packed) * each, 0);
        let tasks = order.chunks(at_once).zip(answers.chunks_mut(GROUPS * each));
        par::for_each(run.threads, tasks, |task, (order, out)| {
            let rng = &mut Prg::fork(seed, (piece * run.threads + task) as u64);
            let packed = pack(public, slots, order, plan);
            public.write(&public.rerandomise(&packed, public.randomisers(packed.len(), rng)), out);
            Ok::<_, Error>(())
        })?;
        ctx.channel.send(&answers)?;
        run.advance(order.len())?;
    }
    Ok(ctx.channel.flush()?)
}

/// E(Σ_j 2^(w·(t-1-j))·m_j) of each t slots, by Horner's rule; with the randomness of the slots. The last ones
/// may be fewer.
fn pack(public: &PublicKey, slots: &Ciphertexts, order: &[u32], plan: &Plan) -> Ciphertexts {
    let (t, bits) = (plan.packed, plan.sigma + 1);
    let shift = || Exponent::new(&(BoxedUint::one_with_precision(bits) << plan.sigma), bits);
    let sums = |groups: &[&[u32]]| {
        let slot = |j: usize| slots.gather(&groups.iter().map(|group| group[j]).collect::<Vec<_>>());
        let shifts: Vec<Exponent> = groups.iter().map(|_| shift()).collect();
        let of_groups = groups.first().map_or(0, |group| group.len());
        (1..of_groups).fold(slot(0), |sum, j| public.add(&public.multiply(&sum, &shifts), &slot(j)))
    };
    let whole = order.chunks_exact(t);
    let rest = whole.remainder();
    match (whole.collect::<Vec<_>>(), rest) {
        (whole, []) => sums(&whole),
        (whole, rest) if whole.is_empty() => sums(&[rest]),
        (whole, rest) => {
            let mut packed = sums(&whole);
            packed.append(&sums(&[rest]));
            packed
        }
    }
}

/// Receives and decrypts the slots, several in a message of |N| bits.
fn recv_decrypted(ctx: &mut Ctx<'_, '_>, plan: &Plan, secret: &SecretKey) -> Result<Vec<u8>, Error> {
    let (run, public) = (ctx.run, secret.public());
    run.phase(Phase::Unblind, plan.slots);
    let mut messages = Vec::new();
    let mut encoded = vec![0; plan.ciphertext_bytes()];
    for answer in 0..plan.answers() {
        ctx.channel.recv_exact(&mut encoded)?;
        let position = answer;
        let ciphertexts =
            public.decode(&encoded).map_err(|_: InvalidResidue| Misbehaviour::InvalidElement { position })?;
        let plain = secret
            .decrypt(&ciphertexts)
            .map_err(|_: InvalidCiphertext| Misbehaviour::InvalidElement { position })?;
        public.messages().encode(&plain, &mut messages);
        run.advance(plan.packed.min(plan.slots - answer * plan.packed))?;
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use super::super::tests::{gates_are_counted, test_run, the_order_is_hidden};
    use super::*;
    use vesica_channel::{Channel, memory};
    use vesica_circuit::bits::rows;

    #[test]
    fn gates_are_as_many_as_the_formula_says() {
        gates_are_counted(&ENTRY, &[None], |run, numbers, count| {
            let plan = Plan::new(run.sizes, &run.parameters).unwrap();
            Shared { run, plan: &plan, role: Role::Receiver, numbers, masks: None }.run(count).unwrap();
        });
    }

    #[test]
    fn integers_and_masks_have_the_bits_of_their_rows() {
        let numbers: Vec<u128> = (0..100).map(|i| i * i * 77_777_777).collect();
        let bytes = integers(&rows(&numbers, 61), 3..70, 9);
        for (number, bytes) in numbers[3..70].iter().zip(bytes.chunks(9)) {
            assert_eq!(bytes, &number.to_be_bytes()[7..]);
        }
        let wide: Vec<Bits> = (0..140).map(|bit| Bits::repeat(bit >= 136, 1)).collect();
        let mut expected = [0; 18];
        expected[0] = 0xf;
        assert_eq!(*integers(&wide, 0..1, 18), expected);
        let masks = random_rows(61, 100, &mut Prg::from_seed([1; 16]));
        assert!(masks.len() == 61 && masks.iter().all(|row| row.len() == 100));
        assert!(masks.iter().all(|row| row.iter().any(|bit| bit) && row.iter().any(|bit| !bit)));
    }

    /// A key, and a run with slots that hold these numbers, of which 14 fill a ciphertext.
    fn slots(numbers: &[u128]) -> (SecretKey, Run<'static>, Plan, Ciphertexts) {
        let sizes = Sizes { receiver: numbers.len(), sender: numbers.len() };
        let parameters = Parameters { level: 80, ..Parameters::default() };
        let run = test_run(sizes, parameters);
        let plan = Plan::new(sizes, &parameters).unwrap();
        let rng = &mut Prg::from_seed([2; 16]);
        let secret = SecretKey::generate(1024, rng);
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        let messages = secret.public().messages().reduce(&bytes, 16);
        let slots = secret.public().encrypt(&messages, secret.randomisers(numbers.len(), rng));
        (secret, run, plan, slots)
    }

    #[test]
    fn slots_come_back_in_the_order_of_the_permutation() {
        let numbers: Vec<u128> = (0..300).map(|i| if i % 5 == 0 { 0 } else { i * 1_000_003 }).collect();
        let (secret, run, plan, slots) = slots(&numbers);
        let order: Vec<u32> = (0..300).map(|slot| (slot * 77 + 5) % 300).collect();
        let (mut here, mut there) = memory::pair();
        let (rng, other) = (&mut Prg::from_seed([3; 16]), &mut Prg::from_seed([4; 16]));
        send_shuffled(&mut Ctx::new(&run, &mut there, rng), &plan, secret.public(), &slots, &order).unwrap();
        let slots = recv_decrypted(&mut Ctx::new(&run, &mut here, other), &plan, &secret).unwrap();
        let found: Vec<u128> = plan.unpack(&slots).filter(|number| *number != 0).collect();
        let mut expected: Vec<u128> =
            order.iter().map(|slot| numbers[*slot as usize]).filter(|number| *number != 0).collect();
        // Within a ciphertext the first slot is the highest.
        assert_ne!(found, expected);
        let mut found = found;
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_comes_back_cannot_be_recognised_by_who_encrypted_it() {
        let (secret, run, plan, slots) = slots(&(1..=20).collect::<Vec<_>>());
        let order: Vec<u32> = (0..20).collect();
        let (mut here, mut there) = memory::pair();
        let rng = &mut Prg::from_seed([3; 16]);
        send_shuffled(&mut Ctx::new(&run, &mut there, rng), &plan, secret.public(), &slots, &order).unwrap();
        let mut answers = vec![0; plan.answers() * plan.ciphertext_bytes()];
        here.recv_exact(&mut answers).unwrap();
        // What the receiver could compute from its own ciphertexts, if it guessed the permutation.
        let mut guessed = vec![0; answers.len()];
        secret.public().write(&pack(secret.public(), &slots, &order, &plan), &mut guessed);
        let each = plan.ciphertext_bytes();
        assert!(answers.chunks(each).zip(guessed.chunks(each)).all(|(answer, guess)| answer != guess));
    }

    #[test]
    fn masks_hide_their_slots() {
        for (receiver, sender) in [(1, 1), (1000, 1000), (1 << 20, 1 << 20)] {
            let plan = Plan::new(Sizes { receiver, sender }, &Parameters::default()).unwrap();
            // All slots together are told with 2^-40.
            let bits = f64::from(plan.mask_bits - plan.sigma) - (plan.slots as f64).log2();
            assert!((40.0..41.0).contains(&bits));
            assert!(plan.packed * plan.sigma as usize <= 3071 && plan.mask_bits + 2 < 3072);
        }
    }

    /// The sums that the receiver sees before the shuffle, and the order of what comes back.
    #[test]
    fn flaw_neither_sums_nor_their_order_tell_where_the_matches_stood() {
        // One key for all runs: making it takes as long as a run.
        let secret = SecretKey::generate(1024, &mut Prg::from_seed([2; 16]));
        let seen = Mutex::new(Vec::new());
        the_order_is_hidden(&ENTRY, |ctx, items| {
            let (run, role) = (ctx.run, Role::Receiver);
            let plan = Plan::new(run.sizes, &run.parameters)?;
            ctx.channel.send(&secret.public().messages().to_be_bytes())?;
            ctx.channel.flush()?;
            let numbers = Sorted::new(run, items)?.rows();
            let circuit = Shared { run, plan: &plan, role, numbers: &numbers, masks: None };
            let sums = evaluate(ctx, role, gates(&Shape::of(run)).all(), circuit)?.unwrap().sums;
            seen.lock().unwrap().extend(bits::numbers(&sums));
            send_encrypted(ctx, &plan, &secret, &sums)?;
            Ok(plan.unpack(&recv_decrypted(ctx, &plan, &secret)?).collect())
        });
        // A mask is below 2^w with probability 2^-40/m. Above w bits the sums are those of the masks, 48 bits each drawn
        // for one slot of one run.
        let seen = seen.into_inner().unwrap();
        assert!(seen.iter().all(|sum| sum >> 12 > 0));
        assert_eq!(seen.iter().map(|sum| sum >> 13).collect::<HashSet<_>>().len(), seen.len());
    }
}
