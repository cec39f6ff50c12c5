//! Diffie–Hellman PSI with zero-knowledge proofs. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** malicious, in the random oracle model, under the decisional Diffie–Hellman assumption (for the
//! receiver's items) and the one-more gap Diffie–Hellman assumption (for the sender's). Leaks n_r and n_s. In a
//! run of one part a malicious receiver tests at most n_r keys, and a malicious sender's set has n_s; in several
//! parts that is so of each attempt at a part, for the sizes of a part. `docs/protocols/dkt.md` has the argument,
//! and what the paper's own claim misses.
//!
//! Source: De Cristofaro, Kim, Tsudik, *Linear-Complexity Private Set Intersection Protocols Secure in
//! Malicious Model* (DKT10, eprint 2010/469), as RR16 §6.3 runs it: Fiat–Shamir proofs, streamed. Written
//! additively. Deviations:
//!
//! - The challenge hashes take the whole statement and the run's context. (Of commitments alone, as in the code
//!   that RR16 measured, a challenge can be had first and a statement fitted to it.)
//! - The sender's n_r proofs are folded into one for each `BLOCK` elements; `proofs` has the error. So 3·n_r
//!   exponentiations become 3·n_r terms of a sum with weights of 128 bits.
//! - The receiver's proof sends its challenge and answers; the commitments are recomputed.
//! - All M_i are sent before X and the N_i, so that the sender begins at once.
//! - F takes the double of K and the item, and not H(item) again, which the item determines.
//! - The sender's masks have 128 bits and travel sorted; two equal ones are refused.
//!
//! ```text
//!    receiver (Y)                                          sender (X), z ←$ Z_q*, Z = z·g'
//!    r, r_i ←$ Z_q, P = Σ H(y_i)
//! 1.       ── M_i = H(y_i) + r_i·g' ──────────────────►    32·n_r
//! 2.       ── X = P + r·g, N_i = P - H(y_i) + r_i·g'' ─►   32 + 32·n_r
//! 3.       ── π: I know r, r_i with ──────────────────►    48 + 32·n_r
//!             M_i + N_i - X = r_i·(g' + g'') - r·g
//! 4.       ◄── Z, M'_i = z·M_i, π': one z did all that ──  32 + 32·n_r + 48·⌈n_r/4096⌉
//! 5.       ◄── sort{F(z·H(x), x)} ─────────────────────    16·n_s
//!    output {y_i : F(M'_i - r_i·Z, y_i) received}
//! ```
//!
//! Names: r, r_i = twice `common`, twice `blinding`; z = `secret`; H(y) = the double of what the oracle
//! `item to group` maps to; F = the oracle `element to mask`; g' = the group's generator, g and g'' = hashes of
//! the context.
//!
//! Cost: the receiver has 4·n_r products of fixed bases (M, N, the commitment, r_i·Z) and 2·n_r terms of weighted
//! sums; the sender n_r + n_s products with z, n_r with the challenge (128 bits), n_r of a fixed base and n_r
//! terms. DKT10 counts 5n exponentiations and 2n proofs, which RR16 makes 12n.

use std::marker::PhantomData;
use std::ops::Range;

use rand_core::CryptoRng;
use vesica_channel::{RecvHalf, SendHalf};
use vesica_crypto::group::{BatchGroup, Elements, FixedBase, InvalidElement, Ristretto255};
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::join::join;
use vesica_crypto::par;
use vesica_encode::items::Items;

use super::proofs::{
    CHALLENGE, DIGEST, EqualLogarithms, EqualityProof, Representations, encode_doubles, respond, scalar,
};
use crate::entry::{Entry, Memory, Message, Roles};
use crate::error::{Error, Misbehaviour};
use crate::masks::{self, MaskWidth};
use crate::outcome::{Outcome, Pairs, Pending};
use crate::overlap::overlap;
use crate::parameters::Security;
use crate::protocol::{Ctx, Phase, Role, Run};

#[cfg(any(test, feature = "testing"))]
pub mod cheating;
mod sender;

use self::sender::{Sender, collect};

/// Elements that one thread handles at a time, and that one hash of a statement takes. Agreed.
const CHUNK: usize = 512;

/// Elements under one proof of the sender, and in one piece of a message. Agreed.
const BLOCK: usize = 8 * CHUNK;

/// The registry's entry.
pub static ENTRY: Entry = Over::<Ristretto255>::ENTRY;

/// The protocol over a group.
struct Over<G>(PhantomData<G>);

impl<G: BatchGroup> Over<G> {
    const ENTRY: Entry = Entry::new(
        "dkt",
        "Diffie–Hellman with zero-knowledge proofs",
        Roles::Whole { receive: receive::<G>, send: send::<G> },
    )
    .family("public_key")
    .paper("DKT10, RR16 §6.3")
    .security(&[Security::Malicious])
    .flights(|_| 2)
    .steps(|role, _| match role {
        Role::Receiver => {
            &[(Phase::Blind, 25), (Phase::Unblind, 72), (Phase::Exchange, 2), (Phase::Compare, 1)]
        }
        Role::Sender => &[(Phase::Answer, 98), (Phase::Exchange, 2)],
    })
    .messages(&[
        Message::of_receiver("blinded items", "32·n_r", |shape| Self::ELEMENT * shape.receiver()),
        Message::of_receiver("X and the other elements of the pairs", "32 + 32·n_r", |shape| {
            Self::ELEMENT + Self::ELEMENT * shape.receiver()
        }),
        Message::of_receiver("the receiver's proof", "48 + 32·n_r", |shape| {
            CHALLENGE as u64 + Self::SCALAR + Self::SCALAR * shape.receiver()
        }),
        Message::of_sender("Z, raised elements, and proofs", "32 + 32·n_r + 48·⌈n_r/4096⌉", |shape| {
            let proofs = shape.receiver().div_ceil(BLOCK as u64);
            Self::ELEMENT + Self::ELEMENT * shape.receiver() + (CHALLENGE as u64 + Self::SCALAR) * proofs
        }),
        Message::of_sender("masks of the sender", "16·n_s", |shape| 16 * shape.sender()),
    ])
    .memory("receiver 300·n_r + 36·n_s, sender 300·n_r + 56·n_s", |shape| Memory {
        receiver: 300 * shape.receiver() + 36 * shape.sender(),
        sender: 300 * shape.receiver() + 56 * shape.sender(),
    })
    .max_tested_keys(|shape| shape.receiver())
    .test_items(200);

    /// Bytes of an encoded element.
    const ELEMENT: u64 = G::ENCODED as u64;
    /// Bytes of an encoded scalar.
    const SCALAR: u64 = G::SCALAR_ENCODED as u64;
}

/// The receiver's role, over any group.
fn receive<'a, G: BatchGroup>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let run = ctx.run;
    let receiver = Receiver::<G>::new(run, items, ctx.rng);
    let (outgoing, incoming) = ctx.channel.split();
    run.phase(Phase::Blind, 2 * items.len());
    // 1. M_i.
    let blinded = receiver.send_blinded(outgoing)?;
    // 2. X and N_i.
    let statement = receiver.send_complements(&blinded, outgoing)?;
    // 3. π.
    receiver.send_proof(&statement, outgoing)?;
    // 4. M'_i, and from each F(M'_i - r_i·Z, y_i).
    run.phase(Phase::Unblind, items.len());
    let mine = receiver.unblind(&blinded, incoming)?;
    drop(blinded);
    // 5. The sender's masks.
    let theirs = masks::recv_sorted(run, receiver.party.width, incoming)?;
    let (threads, order) = (run.threads, receiver.order);
    let pairs = Pairs::joined(run, move || join(threads, &mine[..], &theirs[..]));
    let item = move |(mine, theirs): (u32, u32)| (order[mine as usize], theirs);
    Ok(Pending::of_join(items, || Ok(pairs.find().into_iter().map(item).collect())))
}

/// The sender's role, over any group.
fn send<G: BatchGroup>(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let run = ctx.run;
    let mut sender = Sender::<G>::new(run, items, ctx.rng);
    run.phase(Phase::Answer, 3 * run.sizes.receiver + items.len());
    let ((), ()) = overlap(ctx.channel, collect::<G>(run.sizes.receiver), |channel, incoming| {
        // 1. to 3. M_i, N_i and π, which is checked before anything is answered.
        let answers = sender.answer(incoming, ctx.rng)?;
        // 4. Z, M'_i and π'. The receiver works on a piece while the next items are masked.
        let (pieces, masked) = (answers.len(), sender.masks.len());
        for (piece, sent) in answers.iter().zip(1..) {
            channel.send(piece)?;
            channel.flush()?;
            sender.mask_until(masked + (items.len() - masked) * sent / pieces, channel)?;
        }
        Ok(())
    })?;
    // 5. The masks, sorted.
    let masks = sender.masks.iter().copied().zip(0..);
    masks::send_sorted(run, sender.party.width, masks, ctx.channel.split().0)?;
    Ok(None)
}

/// What both parties compute with.
struct Party<'a, G: BatchGroup> {
    run: &'a Run<'a>,
    items: &'a Items,
    width: MaskWidth,
    item_to_group: Oracle,
    element_to_mask: Oracle,
    proofs: Representations<G>,
}

/// g and g'': hashes of the context. g' is the group's generator.
fn generators<G: BatchGroup>(context: &Context) -> [G::Element; 2] {
    let oracle = context.oracle(Label::new("dkt: generator"));
    [b"g", b"h"].map(|name| {
        let mut uniform = G::UNIFORM_EMPTY;
        oracle.hash(name, uniform.as_mut());
        G::map_to_group(&uniform)
    })
}

impl<'a, G: BatchGroup> Party<'a, G> {
    fn new(run: &'a Run<'a>, items: &'a Items) -> Self {
        let [common, second] = generators::<G>(&run.context);
        Party {
            run,
            items,
            width: MaskWidth::WHOLE,
            item_to_group: run.context.oracle(Label::new("dkt: item to group")),
            element_to_mask: run.context.oracle(Label::new("dkt: element to mask")),
            proofs: Representations::new(&run.context, &G::add(&G::generator(), &second), common),
        }
    }

    /// Elements whose doubles are H(item), for the items at `indices`.
    fn hash_to_group(&self, indices: &[u32]) -> G::Elements {
        let items = self.gather(indices);
        let mut bytes = vec![0; indices.len() * G::UNIFORM];
        self.item_to_group.hash_batch(&items, self.items.width(), &mut bytes, G::UNIFORM);
        let mut uniform = vec![G::UNIFORM_EMPTY; indices.len()];
        for (uniform, bytes) in uniform.iter_mut().zip(bytes.chunks_exact(G::UNIFORM)) {
            uniform.as_mut().copy_from_slice(bytes);
        }
        G::Elements::map(&uniform)
    }

    /// F(K, item) for the items at `indices`, where K = z·H(item).
    fn mask(&self, keys: &G::Elements, indices: &[u32]) -> Vec<u128> {
        let items = self.gather(indices);
        let keys = encode_doubles::<G>(keys);
        let rows = keys.iter().zip(items.chunks_exact(self.items.width()));
        let inputs: Vec<u8> = rows.flat_map(|(key, item)| key.as_ref().iter().chain(item)).copied().collect();
        let mut hashes = vec![[0; 16]; indices.len()];
        let width = G::ENCODED + self.items.width();
        self.element_to_mask.hash_batch(&inputs, width, hashes.as_flattened_mut(), 16);
        hashes.into_iter().map(u128::from_le_bytes).collect()
    }

    fn gather(&self, indices: &[u32]) -> Vec<u8> {
        indices.iter().flat_map(|&index| self.items.get(index as usize)).copied().collect()
    }

    /// Works on these tasks on all threads; what they give, in their order.
    fn each<T: Send, U: Send>(
        &self,
        tasks: impl ExactSizeIterator<Item = T> + Send,
        work: impl Fn(T) -> Result<U, Error> + Sync,
    ) -> Result<Vec<U>, Error> {
        let mut done: Vec<Option<U>> = (0..tasks.len()).map(|_| None).collect();
        par::for_each(self.run.threads, tasks.zip(done.iter_mut()), |_, (task, done)| {
            *done = Some(work(task)?);
            Ok::<_, Error>(())
        })?;
        Ok(done.into_iter().flatten().collect())
    }
}

/// `count` positions in parts of `size`.
fn ranges(count: usize, size: usize) -> impl ExactSizeIterator<Item = Range<usize>> + Send {
    (0..count.div_ceil(size)).map(move |part| part * size..count.min((part + 1) * size))
}

/// The receiver and its secrets.
struct Receiver<'a, G: BatchGroup> {
    party: Party<'a, G>,
    /// The items in the order in which they travel.
    order: Vec<u32>,
    /// r/2.
    common: G::Scalar,
    /// k.
    common_nonce: G::Scalar,
    /// r_i/2.
    blinding: Vec<G::Scalar>,
    /// k_i.
    nonces: Vec<G::Scalar>,
}

/// What the receiver keeps of its first message.
struct Blinded<G: BatchGroup> {
    /// Elements whose doubles are M_i, by chunk.
    halves: Vec<G::Elements>,
    /// M_i.
    encoded: Vec<G::Encoding>,
    /// P.
    product: G::Element,
}

/// The statement of π, and its commitments, as hashes.
struct Statement<G: BatchGroup> {
    x: G::Encoding,
    pieces: Vec<[u8; DIGEST]>,
    commitments: Vec<[u8; DIGEST]>,
}

impl<'a, G: BatchGroup> Receiver<'a, G> {
    fn new(run: &'a Run<'a>, items: &'a Items, rng: &mut dyn CryptoRng) -> Self {
        let order = items.shuffled(rng);
        let mut scalars = |count| (0..count).map(|_| G::random_scalar(rng)).collect::<Vec<_>>();
        let (blinding, nonces) = (scalars(items.len()), scalars(items.len()));
        let (common, common_nonce) = (G::random_scalar(rng), G::random_scalar(rng));
        Receiver { party: Party::new(run, items), order, common, common_nonce, blinding, nonces }
    }

    /// Message 1: M_i = H(y_i) + r_i·g'.
    fn send_blinded(&self, channel: &mut dyn SendHalf) -> Result<Blinded<G>, Error> {
        let count = self.order.len();
        let base = G::FixedBase::new(&G::generator());
        let mut blinded = Blinded { halves: Vec::new(), encoded: Vec::new(), product: G::identity() };
        for block in ranges(count, BLOCK) {
            let chunks = block.clone().step_by(CHUNK).map(|first| first..block.end.min(first + CHUNK));
            let done = self.party.each(chunks, |chunk| {
                let hashes = self.party.hash_to_group(&self.order[chunk.clone()]);
                let mut halves = base.multiply(&self.blinding[chunk]);
                halves.add_assign(&hashes);
                let encoded = encode_doubles::<G>(&halves);
                Ok((halves, encoded, hashes.double_sum()))
            })?;
            for (halves, encoded, sum) in done {
                send_all(&encoded, channel)?;
                blinded.halves.push(halves);
                blinded.encoded.extend(encoded);
                blinded.product = G::add(&blinded.product, &sum);
            }
            channel.flush()?;
            self.party.run.advance(block.len())?;
        }
        Ok(blinded)
    }

    /// Message 2: X = P + r·g and N_i = P - H(y_i) + r_i·g'', which is P - M_i + r_i·(g' + g''). The commitments of
    /// π are made at the same time.
    fn send_complements(
        &self,
        blinded: &Blinded<G>,
        channel: &mut dyn SendHalf,
    ) -> Result<Statement<G>, Error> {
        let proofs = &self.party.proofs;
        let twice = G::mul(&self.common, &proofs.common);
        let x = G::encode(&G::add(&blinded.product, &G::add(&twice, &twice)));
        let half = G::mul(&G::invert(&scalar::<G>(2)), &blinded.product);
        let common = G::mul(&self.common_nonce, &proofs.common);
        channel.send(x.as_ref())?;
        let mut statement = Statement { x, pieces: Vec::new(), commitments: Vec::new() };
        for block in ranges(self.order.len(), BLOCK) {
            let chunks = block.clone().step_by(CHUNK).map(|first| first..block.end.min(first + CHUNK));
            let done = self.party.each(chunks, |chunk| {
                let mut halves = proofs.each.multiply(&self.blinding[chunk.clone()]);
                halves.sub_assign(&blinded.halves[chunk.start / CHUNK]);
                halves.add_to_all(&half);
                let complements = encode_doubles::<G>(&halves);
                let commitments = proofs.commit(&common, &self.nonces[chunk.clone()]);
                let piece = proofs.digest(&[&blinded.encoded[chunk], &complements]);
                Ok((complements, piece, proofs.digest(&[&commitments])))
            })?;
            for (complements, piece, commitments) in done {
                send_all(&complements, channel)?;
                statement.pieces.push(piece);
                statement.commitments.push(commitments);
            }
            channel.flush()?;
            self.party.run.advance(block.len())?;
        }
        Ok(statement)
    }

    /// Message 3: c, s = k + c·r, and s_i = k_i + c·r_i.
    fn send_proof(&self, statement: &Statement<G>, channel: &mut dyn SendHalf) -> Result<(), Error> {
        let Statement { x, pieces, commitments } = statement;
        let challenge = self.party.proofs.challenge(x.as_ref(), pieces, commitments);
        channel.send(&challenge.to_le_bytes())?;
        // Secrets are kept halved.
        let twice = G::mul_scalars(&scalar::<G>(2), &scalar::<G>(challenge));
        let common = respond::<G>(&self.common_nonce, &twice, &self.common);
        channel.send(G::encode_scalar(&common).as_ref())?;
        for (nonce, blinding) in self.nonces.iter().zip(&self.blinding) {
            channel.send(G::encode_scalar(&respond::<G>(nonce, &twice, blinding)).as_ref())?;
        }
        Ok(channel.flush()?)
    }

    /// Of message 4, F(M'_i - r_i·Z, y_i), if π' holds.
    fn unblind(&self, blinded: &Blinded<G>, channel: &mut dyn RecvHalf) -> Result<Vec<u128>, Error> {
        let run = self.party.run;
        let public = recv_elements::<G>(1, channel)?[0];
        let public = G::decode(&public).map_err(|_| Misbehaviour::InvalidElement { position: 0 })?;
        let equal = EqualLogarithms::<G>::new(&run.context, G::generator(), public);
        let twice = G::FixedBase::new(&G::add(&public, &public));
        let mut masks = Vec::with_capacity(self.order.len());
        for (number, block) in ranges(self.order.len(), BLOCK).enumerate() {
            let raised = recv_elements::<G>(block.len(), channel)?;
            let proof = recv_equality_proof::<G>(channel)?;
            let folded = equal.fold(number as u64, &blinded.encoded[block.clone()], &raised);
            let chunks = block.clone().step_by(CHUNK).map(|first| first..block.end.min(first + CHUNK));
            let done = self.party.each(chunks, |chunk| {
                let within = chunk.start - block.start..chunk.end - block.start;
                let mut keys = decode::<G>(1 + chunk.start, &raised[within.clone()])?;
                let weights = &folded.weights[within];
                let before = blinded.halves[chunk.start / CHUNK].vartime_double_weighted_sum(weights);
                let after = keys.vartime_double_weighted_sum(weights);
                keys.sub_assign(&twice.multiply(&self.blinding[chunk.clone()]));
                Ok((self.party.mask(&keys, &self.order[chunk]), before, after))
            })?;
            let mut sums = [G::identity(); 2];
            for (chunk, before, after) in done {
                masks.extend(chunk);
                // The first list is halved.
                sums = [G::add(&sums[0], &G::add(&before, &before)), G::add(&sums[1], &after)];
            }
            if !equal.holds(&folded, sums.each_ref(), &proof) {
                return Err(Misbehaviour::FailedCheck.into());
            }
            run.advance(block.len())?;
        }
        Ok(masks)
    }
}

fn decode_scalar<G: BatchGroup>(encoded: &G::ScalarEncoding) -> Result<G::Scalar, Error> {
    G::decode_scalar(encoded).map_err(|_| Misbehaviour::FailedCheck.into())
}

/// Elements of the partner; `first` is the position of the first in the messages.
fn decode<G: BatchGroup>(first: usize, encoded: &[G::Encoding]) -> Result<G::Elements, Error> {
    let invalid = |InvalidElement { index }| Misbehaviour::InvalidElement { position: first + index };
    Ok(G::Elements::decode(encoded).map_err(invalid)?)
}

fn send_all<G: AsRef<[u8]>>(encoded: &[G], channel: &mut dyn SendHalf) -> Result<(), Error> {
    for encoded in encoded {
        channel.send(encoded.as_ref())?;
    }
    Ok(())
}

fn recv_elements<G: BatchGroup>(count: usize, channel: &mut dyn RecvHalf) -> Result<Vec<G::Encoding>, Error> {
    let mut encoded = vec![G::EMPTY; count];
    for encoded in &mut encoded {
        channel.recv_exact(encoded.as_mut())?;
    }
    Ok(encoded)
}

fn recv_scalar<G: BatchGroup>(channel: &mut dyn RecvHalf) -> Result<G::ScalarEncoding, Error> {
    let mut encoded = G::encode_scalar(&scalar::<G>(0));
    channel.recv_exact(encoded.as_mut())?;
    Ok(encoded)
}

fn recv_equality_proof<G: BatchGroup>(channel: &mut dyn RecvHalf) -> Result<EqualityProof<G>, Error> {
    let mut challenge = [0; CHALLENGE];
    channel.recv_exact(&mut challenge)?;
    let response = decode_scalar::<G>(&recv_scalar::<G>(channel)?)?;
    Ok(EqualityProof { challenge: u128::from_le_bytes(challenge), response })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;
    use crate::protocol::Sizes;
    use crate::testing::{Case, DIRECTIONS, IdealGroup, Planted, planted_for, run_over, run_pair, shape};
    use rand::{SeedableRng, rngs::StdRng};
    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};
    use vesica_channel::{Channel, memory, tampered};
    use vesica_crypto::group::Group;

    type G = Ristretto255;

    const MALICIOUS: Parameters = Parameters { security: Security::Malicious, ..Parameters::DEFAULT };

    fn run(sets: &Planted) -> Run<'static> {
        let sizes = Sizes { receiver: sets.receiver.len(), sender: sets.sender.len() };
        ENTRY.run(&[7; 32], sizes, MALICIOUS)
    }

    /// s_i = k_i + c·r_i tells r_i to whoever knows k_i, and r_i tells H(y_i).
    #[test]
    fn flaw_a_nonce_of_the_receiver_that_is_known_or_serves_twice() {
        let sets = planted_for(&MALICIOUS, 12, 9, 5, 1);
        let run = run(&sets);
        let drawn = |seed| Receiver::<G>::new(&run, &sets.receiver, &mut StdRng::seed_from_u64(seed));
        let encode = |scalar: &_| G::encode_scalar(scalar);
        // k and k_i, as the partner computes them that knows r and r_i.
        let nonces = |receiver: &Receiver<'_, G>| {
            let (mut here, mut there) = memory::pair();
            let outgoing = here.split().0;
            let blinded = receiver.send_blinded(outgoing).unwrap();
            let statement = receiver.send_complements(&blinded, outgoing).unwrap();
            receiver.send_proof(&statement, outgoing).unwrap();
            let incoming = there.split().1;
            recv_elements::<G>(12 + 1 + 12, incoming).unwrap();
            let mut challenge = [0; CHALLENGE];
            incoming.recv_exact(&mut challenge).unwrap();
            let twice = G::mul_scalars(&scalar::<G>(2), &scalar::<G>(u128::from_le_bytes(challenge)));
            let halves = std::iter::once(&receiver.common).chain(&receiver.blinding);
            let nonce = |half: &_| {
                let response = decode_scalar::<G>(&recv_scalar::<G>(incoming).unwrap()).unwrap();
                encode(&G::sub_scalars(&response, &G::mul_scalars(&twice, half)))
            };
            halves.map(nonce).collect::<Vec<_>>()
        };
        let (first, mut second) = (drawn(1), drawn(2));
        let mut seen = HashSet::new();
        for half in [&first, &second].iter().flat_map(|of| of.blinding.iter().chain([&of.common])) {
            assert!(seen.insert(encode(half)), "r and r_i are all different");
        }
        // Equal secrets and other randomness.
        second.common = first.common.clone();
        second.blinding.clone_from(&first.blinding);
        let twice = first.blinding.iter().map(|half| encode(&G::add_scalars(half, half)));
        for scalar in twice.chain(nonces(&first)).chain(nonces(&second)) {
            assert!(seen.insert(scalar), "a nonce is another one's, or follows from a secret");
        }
    }

    /// The proofs of a run hold in it, and not in another session: what they hash belongs to the run.
    #[test]
    fn flaw_proofs_that_hold_in_another_session() {
        let sets = planted_for(&MALICIOUS, 12, 9, 5, 1);
        let sent = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
        let seen = sent.clone();
        let ends = tampered::pair(move |direction, frame| {
            let party = usize::from(direction == DIRECTIONS[1]);
            seen.lock().unwrap()[party].extend_from_slice(&frame.payload);
            vec![frame]
        });
        let case = Case { parameters: MALICIOUS, ..Case::default() };
        assert!(run_over(&ENTRY, &sets, case, ends).confirmed());
        let sent = sent.lock().unwrap();
        let [asked, answered] = sent.each_ref().map(|bytes| bytes.as_chunks::<32>().0);
        let (blinded, complements) = (&asked[..12], &asked[13..25]);
        let (public, raised) = (&answered[0], &answered[1..13]);
        // c, s and s_i; c' and s'.
        let proof = |bytes: &[u8]| {
            let (challenge, responses) = bytes.split_first_chunk().unwrap();
            let scalars = responses.as_chunks::<32>().0.iter().map(|s| decode_scalar::<G>(s).unwrap());
            (u128::from_le_bytes(*challenge), scalars.collect::<Vec<_>>())
        };
        let (of_receiver, of_sender) = (proof(&sent[0][25 * 32..]), proof(&sent[1][13 * 32..][..48]));
        let sizes = Sizes { receiver: 12, sender: 9 };
        let own = ENTRY.run(&[7; 32], sizes, MALICIOUS).context;
        let [first, second] = generators::<G>(&own);
        let elements = |encoded: &[_]| decode::<G>(0, encoded).unwrap();
        for (context, hold) in [(&own, true), (&ENTRY.run(&[8; 32], sizes, MALICIOUS).context, false)] {
            let proofs = Representations::<G>::new(context, &G::add(&G::generator(), &second), first);
            let mut relations = elements(blinded);
            relations.add_assign(&elements(complements));
            relations.add_to_all(&G::sub(&G::identity(), &G::decode(&asked[12]).unwrap()));
            let (challenge, responses) = &of_receiver;
            let common = G::mul(&responses[0], &proofs.common);
            let commitments = proofs.recommit(&common, &responses[1..], *challenge, &relations);
            let pieces = [proofs.digest(&[blinded, complements]), proofs.digest(&[&commitments])];
            let again = proofs.challenge(&asked[12], &pieces[..1], &pieces[1..]);
            assert_eq!(again == *challenge, hold);

            let public = G::decode(public).unwrap();
            let equal = EqualLogarithms::<G>::new(context, G::generator(), public);
            let folded = equal.fold(0, blinded, raised);
            let sums =
                [blinded, raised].map(|list| elements(list).vartime_double_weighted_sum(&folded.weights));
            let (challenge, response) = (of_sender.0, of_sender.1[0].clone());
            assert_eq!(equal.holds(&folded, sums.each_ref(), &EqualityProof { challenge, response }), hold);
        }
    }

    /// F takes the item: two items whose elements are one have different masks, so that the sender's list is of its
    /// own items.
    #[test]
    fn flaw_masks_that_do_not_depend_on_the_item() {
        let sets = planted_for(&MALICIOUS, 2, 2, 0, 1);
        let run = run(&sets);
        let party = Party::<G>::new(&run, &sets.receiver);
        let key = party.hash_to_group(&[0, 0]);
        let [first, second] = party.mask(&key, &[0, 1])[..] else { unreachable!() };
        assert_ne!(first, second);
    }

    /// `dkt` over the ideal group: the protocol at sizes that need no waiting for a curve.
    static IDEAL: Entry = Over::<IdealGroup>::ENTRY;

    #[test]
    fn over_the_ideal_group_it_is_the_plain_join() {
        let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
        for (receiver, sender, common) in [(10_000, 9_000, 4_000), (BLOCK, 3, 2), (BLOCK + 1, CHUNK, 100)] {
            let mut digests = Vec::new();
            for threads in [1, 2, 3] {
                let sets = planted_for(&parameters, receiver, sender, common, 1);
                let case = Case { threads, parameters, ..Case::default() };
                let ended = run_pair(&IDEAL, &sets, case);
                assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                assert!(ended.sender.unwrap().is_none());
                digests.push(ended.digests);
                let shape = shape(&sets, case);
                assert_eq!(ended.traffic.payload_sent, IDEAL.bytes(Role::Receiver, &shape));
                assert_eq!(ended.traffic.payload_received, IDEAL.bytes(Role::Sender, &shape));
            }
            assert!(digests.iter().all(|other| *other == digests[0]), "the bytes depend on the threads");
        }
    }
}
