//! Cheating parties of `dkt`: each does what the honest one does but for the one thing it cheats in. At most
//! `CHUNK` items of the receiver. Nothing but tests can reach them.

use vesica_crypto::group::{Element, Elements, Group, Ristretto255, Scalar};
use vesica_encode::items::Items;

use super::super::proofs::EqualLogarithms;
use super::*;
use crate::protocol::Run;

type G = Ristretto255;

/// What a receiver cheats in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverCheat {
    /// Nothing.
    Honest,
    /// One N_i is another element than the proof is about.
    Complement(usize),
    /// Two N_i are, and what is wrong about one is right about the other.
    OppositeComplements(usize, usize),
    /// One M_i is blinded by another exponent than its N_i, which the proof is about.
    Blinding(usize),
    /// The answer for one item is wrong.
    Response(usize),
    /// The answer for the common exponent is wrong.
    CommonResponse,
    /// It knows no exponent: it has a challenge of commitments of its own, and fits the N_i to it.
    FittedPairs,
    /// It knows no exponent, and fits X to a challenge of its own; one item.
    FittedX,
    /// It blinds H(a) + H(b) and H(a) - H(b), where a and b are its first two items.
    Products,
    /// This element of its message 1 (X: the number of its items) is the identity.
    Identity(usize),
}

/// What a sender cheats in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderCheat {
    /// Nothing.
    Honest,
    /// It raises one M_i to another exponent.
    AnotherPower(usize),
    /// It raises all of them to another one than that of Z.
    AnotherSecret,
    /// Two elements are wrong, and their sum is right.
    OppositeErrors(usize, usize),
    /// Two elements are wrong so that the sum is right whose weights are hashed of the M_i alone.
    ErrorsFittedToWeights(usize, usize),
    /// Z is fitted to a challenge that it is no part of.
    FittedZ,
    /// Z is the identity.
    Identity,
    /// Its first mask stands in its list twice.
    EqualMasks,
    /// It masks no item of its own but noise.
    Noise,
}

fn element(encoded: &[u8; 32]) -> Result<Element, Error> {
    G::decode(encoded).map_err(|_| Misbehaviour::InvalidElement { position: 0 }.into())
}

fn elements(encoded: &[[u8; 32]]) -> Result<Vec<Element>, Error> {
    encoded.iter().map(element).collect()
}

fn encode(elements: &[Element]) -> Vec<[u8; 32]> {
    elements.iter().map(G::encode).collect()
}

fn add(a: Element, b: Element) -> Element {
    G::add(&a, &b)
}

fn times(scalar: &Scalar, element: Element) -> Element {
    G::mul(scalar, &element)
}

/// Messages 1 and 2 of a receiver.
struct Pairs {
    m: Vec<Element>,
    n: Vec<Element>,
    x: Element,
}

/// A cheating receiver with `items` in place of its own; the items that it finds.
///
/// # Errors
/// As the honest one.
pub fn receive(ctx: &mut Ctx<'_, '_>, items: &Items, cheat: ReceiverCheat) -> Result<Vec<u32>, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let receiver = Receiver::<G>::new(run, items, rng);
    let party = &receiver.party;
    let twice = |half: &Scalar| G::add_scalars(half, half);
    let (common, blinding) =
        (twice(&receiver.common), receiver.blinding.iter().map(twice).collect::<Vec<_>>());
    let mut hashes = elements(&encode_doubles::<G>(&party.hash_to_group(&receiver.order)))?;
    if cheat == ReceiverCheat::Products {
        let [a, b] = [hashes[0], hashes[1]];
        (hashes[0], hashes[1]) = (add(a, b), G::sub(&a, &b));
    }
    let second = generators::<G>(&run.context)[1];
    let sum = hashes.iter().fold(G::identity(), |sum, hash| add(sum, *hash));
    let rows = || hashes.iter().zip(&blinding);
    let mut pairs = Pairs {
        m: rows().map(|(hash, r)| add(*hash, G::mul_base(r))).collect(),
        n: rows().map(|(hash, r)| add(G::sub(&sum, hash), times(r, second))).collect(),
        x: add(sum, times(&common, party.proofs.common)),
    };
    let error = G::random_element(rng);
    match cheat {
        ReceiverCheat::Complement(i) => pairs.n[i] = add(pairs.n[i], error),
        ReceiverCheat::OppositeComplements(i, j) => {
            (pairs.n[i], pairs.n[j]) = (add(pairs.n[i], error), G::sub(&pairs.n[j], &error));
        }
        ReceiverCheat::Blinding(i) => pairs.m[i] = add(pairs.m[i], G::generator()),
        ReceiverCheat::Identity(i) if i < pairs.m.len() => pairs.m[i] = G::identity(),
        ReceiverCheat::Identity(_) => pairs.x = G::identity(),
        _ => {}
    }
    let proof = prove(&receiver, (&common, &blinding), second, &mut pairs, cheat);
    let (outgoing, incoming) = channel.split();
    send_all(&encode(&pairs.m), outgoing)?;
    send_all(&encode(&[pairs.x]), outgoing)?;
    send_all(&encode(&pairs.n), outgoing)?;
    outgoing.send(&proof)?;
    outgoing.flush()?;
    // It believes whatever it is answered.
    let public = element(&recv_elements::<G>(1, incoming)?[0])?;
    let raised = elements(&recv_elements::<G>(items.len(), incoming)?)?;
    recv_equality_proof::<G>(incoming)?;
    let unblind = |(raised, r)| G::sub(raised, &times(r, public));
    let mut keys: Vec<Element> = raised.iter().zip(&blinding).map(unblind).collect();
    if cheat == ReceiverCheat::Products {
        let half = G::invert(&scalar::<G>(2));
        let [sum, difference] = [keys[0], keys[1]];
        keys[0] = times(&half, add(sum, difference));
        keys[1] = times(&half, G::sub(&sum, &difference));
    }
    let keys =
        <G as BatchGroup>::Elements::decode(&encode(&keys)).unwrap_or_else(|_| party.hash_to_group(&[]));
    let mine = party.mask(&keys, &receiver.order);
    let theirs = masks::recv(party.width, run.sizes.sender, incoming, &mut |_| Ok(()))?;
    Ok(join(1, &mine[..], &theirs[..]).into_iter().map(|(mine, _)| receiver.order[mine as usize]).collect())
}

/// π as it is sent.
fn prove(
    receiver: &Receiver<'_, G>,
    (common, blinding): (&Scalar, &[Scalar]),
    second: Element,
    pairs: &mut Pairs,
    cheat: ReceiverCheat,
) -> Vec<u8> {
    let proofs = &receiver.party.proofs;
    let pieces = |pairs: &Pairs| vec![proofs.digest(&[&encode(&pairs.m), &encode(&pairs.n)])];
    let common_commitment = times(&receiver.common_nonce, proofs.common);
    let commitments = proofs.commit(&common_commitment, &receiver.nonces);
    let digests = vec![proofs.digest(&[&commitments])];
    let x = G::encode(&pairs.x);
    let challenge = match cheat {
        ReceiverCheat::FittedPairs => proofs.challenge(&x, &[], &digests),
        ReceiverCheat::FittedX => proofs.challenge(&[], &pieces(pairs), &digests),
        _ => proofs.challenge(&x, &pieces(pairs), &digests),
    };
    let c = scalar::<G>(challenge);
    let mut common_response = respond::<G>(&receiver.common_nonce, &c, common);
    let answers = receiver.nonces.iter().zip(blinding).map(|(nonce, r)| respond::<G>(nonce, &c, r));
    let mut responses: Vec<Scalar> = answers.collect();
    match cheat {
        ReceiverCheat::Response(i) => responses[i] = G::add_scalars(&responses[i], &scalar::<G>(1)),
        ReceiverCheat::CommonResponse => common_response = G::add_scalars(&common_response, &scalar::<G>(1)),
        // Answers that have nothing to do with the exponents, and elements for which they are right:
        // A_i = (s_i·B - s·g - T_i) / c.
        ReceiverCheat::FittedPairs | ReceiverCheat::FittedX => {
            let one = scalar::<G>(1);
            let base = add(G::generator(), second);
            let both = |s: &Scalar, common| G::sub(&times(s, base), &times(common, proofs.common));
            for (i, response) in responses.iter_mut().enumerate() {
                *response = G::add_scalars(response, &one);
                let commitment = both(&receiver.nonces[i], &receiver.common_nonce);
                let relation = G::sub(&both(response, &common_response), &commitment);
                let relation = times(&G::invert(&c), relation);
                if cheat == ReceiverCheat::FittedX {
                    pairs.x = G::sub(&add(pairs.m[i], pairs.n[i]), &relation);
                } else {
                    pairs.n[i] = G::sub(&add(relation, pairs.x), &pairs.m[i]);
                }
            }
        }
        _ => {}
    }
    let mut proof = challenge.to_le_bytes().to_vec();
    proof.extend(G::encode_scalar(&common_response));
    responses.iter().for_each(|response| proof.extend(G::encode_scalar(response)));
    proof
}

/// A cheating sender with `items` in place of its own. It checks nothing.
///
/// # Errors
/// As the honest one.
pub fn send(ctx: &mut Ctx<'_, '_>, items: &Items, cheat: SenderCheat) -> Result<(), Error> {
    let run: &Run<'_> = ctx.run;
    let count = run.sizes.receiver;
    let mut sender = Sender::<G>::new(run, items, ctx.rng);
    let incoming = ctx.channel.split().1;
    let blinded = recv_elements::<G>(count, incoming)?;
    recv_elements::<G>(1 + count, incoming)?;
    incoming.recv_exact(&mut vec![0; CHALLENGE + 32 + 32 * count])?;
    let (mut answer, public) = raise(&sender, run, &blinded, ctx.rng, cheat)?;
    answer.splice(..0, G::encode(&public));
    while sender.mask_some()? {}
    let mut list = sender.masks.to_vec();
    match cheat {
        SenderCheat::EqualMasks => list[1] = list[0],
        SenderCheat::Noise => list.iter_mut().for_each(|mask| *mask ^= 1 << 77),
        _ => {}
    }
    let outgoing = ctx.channel.split().0;
    outgoing.send(&answer)?;
    outgoing.flush()?;
    list.sort_unstable();
    masks::send(sender.party.width, list.into_iter(), outgoing, &mut |_| Ok(()))
}

/// M'_i and π', and Z.
fn raise(
    sender: &Sender<'_, G>,
    run: &Run<'_>,
    blinded: &[[u8; 32]],
    rng: &mut dyn CryptoRng,
    cheat: SenderCheat,
) -> Result<(Vec<u8>, Element), Error> {
    let secret = &sender.secret;
    let other = G::add_scalars(secret, &scalar::<G>(1));
    let mut public = match cheat {
        SenderCheat::Identity => G::identity(),
        _ => G::mul_base(secret),
    };
    let mut raised: Vec<Element> = elements(blinded)?.into_iter().map(|m| times(secret, m)).collect();
    let error = G::random_element(rng);
    let unhashed = EqualLogarithms::<G>::new(&run.context, G::generator(), G::identity());
    let equal = EqualLogarithms::<G>::new(&run.context, G::generator(), public);
    let mut folded = None;
    match cheat {
        SenderCheat::AnotherPower(i) => raised[i] = times(&other, element(&blinded[i])?),
        SenderCheat::AnotherSecret => {
            raised = elements(blinded)?.into_iter().map(|m| times(&other, m)).collect();
        }
        SenderCheat::OppositeErrors(i, j) => {
            (raised[i], raised[j]) = (add(raised[i], error), G::sub(&raised[j], &error));
        }
        SenderCheat::ErrorsFittedToWeights(i, j) => {
            let weights = equal.fold(0, blinded, &[]);
            let [first, second] = [i, j].map(|at| scalar::<G>(weights.weights[at]));
            raised[i] = add(raised[i], times(&second, error));
            raised[j] = G::sub(&raised[j], &times(&first, error));
            folded = Some(weights);
        }
        _ => {}
    }
    let encoded = encode(&raised);
    let prover = if cheat == SenderCheat::FittedZ { &unhashed } else { &equal };
    let folded = folded.unwrap_or_else(|| prover.fold(0, blinded, &encoded));
    let bases = <G as BatchGroup>::Elements::decode(blinded).map_err(|_| Misbehaviour::FailedCheck)?;
    let sum = bases.vartime_double_weighted_sum(&folded.weights);
    let proof = if cheat == SenderCheat::FittedZ {
        // k·b and k'·U, then Z = (s·b - k·b) / c.
        let nonces = [G::random_scalar(rng), G::random_scalar(rng)];
        let commitments = [G::mul_base(&nonces[0]), times(&nonces[1], sum)];
        let challenge = prover.challenge(&folded, &commitments[0], &commitments[1]);
        let c = scalar::<G>(challenge);
        let response = respond::<G>(&nonces[1], &c, secret);
        public = times(&G::invert(&c), G::sub(&G::mul_base(&response), &commitments[0]));
        EqualityProof { challenge, response }
    } else {
        prover.prove(&folded, &sum, if cheat == SenderCheat::AnotherSecret { &other } else { secret }, rng)
    };
    let mut answer = encoded.concat();
    answer.extend(proof.challenge.to_le_bytes());
    answer.extend(G::encode_scalar(&proof.response));
    Ok((answer, public))
}
