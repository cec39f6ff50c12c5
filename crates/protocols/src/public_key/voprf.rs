//! The verifiable oblivious pseudorandom function (VOPRF) of RFC 9497: suite ristretto255-SHA512, mode 0x01.
//!
//! A server has a key k, a client inputs x. The client learns `F(k, x)`, 64 bytes each, and nothing else of k; the
//! server learns how many inputs there are, and nothing of them or of the outputs. A proof shows the client that
//! the key is that of the public key which it knows. So a set of outputs can be published once, and looked up by
//! whoever the server answers.
//!
//! ```text
//!    client (x_1, …, x_n; pk = k·G)                         server (k)
//!                          ── C_i = H(x_i) + r_i·G ──►      32·n
//!                          ◄── D_i = k·C_i ──               32·n
//!                          ◄── π: the logarithms of pk to G and of each D_i to C_i are equal ──    64
//!    F(k, x_i) = SHA-512(x_i, D_i - r_i·pk, "Finalize")
//! ```
//!
//! **Security:** malicious, in the random oracle model, under the one-more gap Diffie–Hellman assumption (RFC
//! 9497, section 7.2; JKK14). Whoever can ask learns `F(k, x)` for as many x as it asks for: a budget is the
//! caller's to keep. A quantum computer finds k from pk.
//!
//! Source: RFC 9497; names below are its own. Deviation: *additive* blinds (`H(x) + r·G`) in place of `r·H(x)`,
//! which the bytes on the wire do not show. The blinded element is uniform either way. The blind comes off by
//! `r·pk`, so pk has to be the key of the proof, which is checked before. (Without a proof, such blinds make a
//! weaker function: JKX21, ePrint 2021/273.) They cost a product with a fixed element instead of any.
//!
//! *Proof.* The n statements are folded into one by weights that are a hash of all of them, and that one is proven
//! as Chaum and Pedersen do (section 2.2). One proof is for at most 2^16 elements, whose numbers take two bytes.
//!
//! Cost of an element, in products with any element of the group (5 µs in lanes of IFMA): the key's holder 1 for an
//! output of its own; the server 1 and a term of a weighted sum; the client two products with fixed elements, two
//! encodings, two terms of weighted sums.

use std::convert::Infallible;

use rand_core::CryptoRng;
use sha2::{Digest, Sha512};
use vesica_crypto::device::Device;
use vesica_crypto::group::{
    BatchGroup, Element, Elements, ExpandMessage, FixedBase, Group, InvalidElement, InvalidScalar,
    Ristretto255 as G, Scalar,
};
use vesica_crypto::par;
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, Misbehaviour};

/// Bytes of an encoded element, and of a scalar.
pub const ELEMENT: usize = 32;
/// Bytes of a proof.
pub const PROOF: usize = 64;
/// Bytes of an output.
pub const OUTPUT: usize = 64;
/// The most elements that one proof is for.
pub const MOST_ELEMENTS: usize = 1 << 16;
/// The suite, as RFC 9497 names it.
pub const SUITE: &str = "ristretto255-SHA512";

/// contextString: protocol and version, mode, suite.
const CONTEXT: &[u8] = b"OPRFV1-\x01-ristretto255-SHA512";

/// An encoded element.
pub type Encoded = [u8; ELEMENT];
/// A challenge and its response.
pub type Proof = [u8; PROOF];
/// `F(k, x)`.
pub type Output = [u8; OUTPUT];

type Many = <G as BatchGroup>::Elements;
type Base = <G as BatchGroup>::FixedBase;

/// The hashes of the suite.
#[derive(Clone)]
struct Suite {
    to_group: ExpandMessage,
    to_scalar: ExpandMessage,
}

impl Suite {
    fn new() -> Self {
        let with = |name: &[u8]| ExpandMessage::new(&[name, CONTEXT].concat());
        Self { to_group: with(b"HashToGroup-"), to_scalar: with(b"HashToScalar-") }
    }

    /// HashToScalar.
    fn scalar(&self, parts: &[&[u8]]) -> Scalar {
        G::scalar_from_uniform(&self.to_scalar.expand(parts))
    }

    /// The bytes from which HashToGroup makes elements.
    fn uniform<X: AsRef<[u8]>>(&self, inputs: &[X]) -> Zeroizing<Vec<[u8; 64]>> {
        Zeroizing::new(inputs.iter().map(|input| self.to_group.expand(&[input.as_ref()])).collect())
    }

    /// The weights d_i of ComputeComposites.
    fn weights(&self, public: &PublicKey, blinded: &[Encoded], evaluated: &[Encoded]) -> Vec<Scalar> {
        let seed_dst = [b"Seed-", CONTEXT].concat();
        let seed = Sha512::new()
            .chain_update(length(&public.encoded))
            .chain_update(public.encoded)
            .chain_update(length(&seed_dst))
            .chain_update(&seed_dst)
            .finalize();
        let element = [0, ELEMENT as u8];
        let of = |(i, (c, d)): (usize, (&Encoded, &Encoded))| {
            // At most MOST_ELEMENTS.
            let number = (i as u16).to_be_bytes();
            self.scalar(&[&length(&seed), &seed, &number, &element, c, &element, d, b"Composite"])
        };
        blinded.iter().zip(evaluated).enumerate().map(of).collect()
    }

    /// The challenge c of a proof.
    fn challenge(&self, public: &PublicKey, elements: [&Element; 4]) -> Scalar {
        let (element, encoded) = ([0, ELEMENT as u8], elements.map(G::encode));
        let mut parts: Vec<&[u8]> = vec![&element, &public.encoded];
        encoded.iter().for_each(|encoded| parts.extend([&element[..], encoded]));
        parts.push(b"Challenge");
        self.scalar(&parts)
    }
}

/// I2OSP(len, 2).
fn length(bytes: &[u8]) -> [u8; 2] {
    (bytes.len() as u16).to_be_bytes()
}

/// `Σ weights[i] · elements[i]`: in halves, whose weights have 128 bits, each doubled.
fn weighted_sum(elements: &Many, weights: &[Scalar]) -> Element {
    let halves = |half: usize| -> Vec<u128> {
        let halves = weights.iter().map(|weight| G::encode_scalar(weight).as_chunks::<16>().0[half]);
        halves.map(u128::from_le_bytes).collect()
    };
    let [low, high] = [0, 1].map(|half| elements.vartime_double_weighted_sum(&halves(half)));
    let mut power = [0; 64];
    power[16] = 1;
    let half = G::invert(&two());
    let shifted = G::mul(&G::scalar_from_uniform(&power), &high);
    G::mul(&half, &G::add(&low, &shifted))
}

fn two() -> Scalar {
    let mut two = [0; 64];
    two[0] = 2;
    G::scalar_from_uniform(&two)
}

/// `Hash(len(x), x, len(N), N, "Finalize")` for the unblinded element N = k·H(x).
fn finalize(input: &[u8], unblinded: &Encoded) -> Output {
    Sha512::new()
        .chain_update(length(input))
        .chain_update(input)
        .chain_update([0, ELEMENT as u8])
        .chain_update(unblinded)
        .chain_update(b"Finalize")
        .finalize()
        .into()
}

/// What the client knows the key by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    element: Element,
    encoded: Encoded,
}

impl PublicKey {
    /// The key with this encoding.
    ///
    /// # Errors
    /// If it is not canonical, or that of the identity.
    pub fn decode(encoded: Encoded) -> Result<Self, InvalidElement> {
        Ok(Self { element: G::decode(&encoded)?, encoded })
    }

    /// Its encoding.
    #[must_use]
    pub fn encoded(&self) -> Encoded {
        self.encoded
    }
}

/// The server's key. Wiped when dropped, and never printed.
pub struct SecretKey {
    scalar: Scalar,
    public: PublicKey,
    suite: Suite,
}

/// What the server answers to a batch of blinded elements.
pub struct Evaluation {
    /// D_i = k·C_i, in the order of the C_i.
    pub elements: Vec<Encoded>,
    /// That all were multiplied by the key.
    pub proof: Proof,
}

impl SecretKey {
    /// A new key.
    pub fn random(rng: &mut dyn CryptoRng) -> Self {
        Self::of(G::random_scalar(rng))
    }

    /// DeriveKeyPair of section 3.2.1: the key of a seed of 32 bytes, for the use that `info` names (at most 65,535
    /// bytes). Keys of other seeds or other uses tell nothing of each other.
    #[must_use]
    pub fn derive(seed: &[u8; 32], info: &[u8]) -> Self {
        let expand = ExpandMessage::new(&[b"DeriveKeyPair", CONTEXT].concat());
        // A scalar is zero with probability 2^-252, and the next counter is tried then.
        let scalars = (0..=u8::MAX)
            .map(|counter| G::scalar_from_uniform(&expand.expand(&[seed, &length(info), info, &[counter]])));
        let mut nonzero = scalars.skip_while(|scalar| G::encode_scalar(scalar) == [0; ELEMENT]);
        Self::of(nonzero.next().unwrap_or_else(two))
    }

    /// The key that [`to_bytes`](Self::to_bytes) gave.
    ///
    /// # Errors
    /// If the encoding is not canonical, or that of zero.
    pub fn from_bytes(bytes: &[u8; ELEMENT]) -> Result<Self, InvalidScalar> {
        if *bytes == [0; ELEMENT] {
            return Err(InvalidScalar);
        }
        G::decode_scalar(bytes).map(Self::of)
    }

    fn of(scalar: Scalar) -> Self {
        let element = G::mul_base(&scalar);
        let public = PublicKey { element, encoded: G::encode(&element) };
        Self { scalar, public, suite: Suite::new() }
    }

    /// The canonical encoding, which is secret.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; ELEMENT]> {
        Zeroizing::new(G::encode_scalar(&self.scalar))
    }

    /// What clients know the key by.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// `F(k, x)` for inputs that the key's holder has itself, each of at most 65,535 bytes.
    #[must_use]
    pub fn outputs<X: AsRef<[u8]> + Sync>(&self, inputs: &[X]) -> Vec<Output> {
        self.outputs_on(&Device::default(), 1, inputs)
    }

    /// As [`outputs`](Self::outputs), by so many threads; the card of `device`, if it has one, multiplies all elements
    /// in one call.
    #[must_use]
    pub fn outputs_on<X: AsRef<[u8]> + Sync>(
        &self,
        device: &Device,
        threads: usize,
        inputs: &[X],
    ) -> Vec<Output> {
        let mut uniform = Zeroizing::new(vec![G::UNIFORM_EMPTY; inputs.len()]);
        let Ok(()) = par::for_each_chunk(threads, G::BATCH, inputs, &mut uniform, |_, inputs, uniform| {
            uniform.copy_from_slice(&self.suite.uniform(inputs));
            Ok::<_, Infallible>(())
        });
        let mut elements = Zeroizing::new(vec![G::EMPTY; inputs.len()]);
        if !G::map_mul_encode_on_card(device, &self.scalar, &uniform, &mut elements) {
            let Ok(()) =
                par::for_each_chunk(threads, G::BATCH, &uniform, &mut elements, |_, uniform, out| {
                    G::map_mul_encode(&self.scalar, uniform, out);
                    Ok::<_, Infallible>(())
                });
        }
        let mut outputs = vec![[0; OUTPUT]; inputs.len()];
        let Ok(()) =
            par::for_each_chunk(threads, G::BATCH, inputs, &mut outputs, |chunk, inputs, outputs| {
                let elements = &elements[chunk * G::BATCH..][..inputs.len()];
                for ((output, input), element) in outputs.iter_mut().zip(inputs).zip(elements) {
                    *output = finalize(input.as_ref(), element);
                }
                Ok::<_, Infallible>(())
            });
        outputs
    }

    /// BlindEvaluate, with its proof. It stays on the cores: a query comes in batches that are small for a card, and the
    /// proof takes the decoded elements.
    ///
    /// # Errors
    /// The first blinded element that is not canonical, or the identity.
    ///
    /// # Panics
    /// If there are none, or more than [`MOST_ELEMENTS`].
    pub fn evaluate(&self, blinded: &[Encoded], rng: &mut dyn CryptoRng) -> Result<Evaluation, Error> {
        self.evaluate_with(blinded, &G::random_scalar(rng))
    }

    /// With this nonce of the proof, which is used once.
    fn evaluate_with(&self, blinded: &[Encoded], nonce: &Scalar) -> Result<Evaluation, Error> {
        assert!((1..=MOST_ELEMENTS).contains(&blinded.len()), "elements of one proof");
        let decoded = Many::decode(blinded).map_err(invalid)?;
        // An encoding of a double is cheaper than any other.
        let half = G::mul_scalars(&self.scalar, &G::invert(&two()));
        let mut elements = vec![G::EMPTY; blinded.len()];
        decoded.multiply(&half).encode_doubles(&mut elements);
        // ComputeCompositesFast, GenerateProof.
        let m = weighted_sum(&decoded, &self.suite.weights(&self.public, blinded, &elements));
        let z = G::mul(&self.scalar, &m);
        let (t2, t3) = (G::mul_base(nonce), G::mul(nonce, &m));
        let c = self.suite.challenge(&self.public, [&m, &z, &t2, &t3]);
        let s = G::sub_scalars(nonce, &G::mul_scalars(&c, &self.scalar));
        let mut proof = [0; PROOF];
        proof[..ELEMENT].copy_from_slice(&G::encode_scalar(&c));
        proof[ELEMENT..].copy_from_slice(&G::encode_scalar(&s));
        Ok(Evaluation { elements, proof })
    }
}

/// Whoever asks for outputs under the key of a public key.
pub struct Client {
    public: PublicKey,
    suite: Suite,
    generator: Base,
    key: Base,
}

/// A batch of inputs, blinded. The blinds are wiped when it is dropped.
pub struct Blinded {
    /// C_i, which the server gets, in the order of the inputs.
    pub elements: Vec<Encoded>,
    decoded: Many,
    blinds: Vec<Scalar>,
}

impl Client {
    /// A client of the key of this public key.
    #[must_use]
    pub fn new(public: PublicKey) -> Self {
        let (generator, key) = (Base::new(&G::generator()), Base::new(&public.element));
        Self { public, suite: Suite::new(), generator, key }
    }

    /// Blind: inputs of at most 65,535 bytes each, no more than [`MOST_ELEMENTS`].
    pub fn blind<X: AsRef<[u8]>>(&self, inputs: &[X], rng: &mut dyn CryptoRng) -> Blinded {
        let blinds: Vec<Scalar> = inputs.iter().map(|_| G::random_scalar(rng)).collect();
        let mut decoded = Many::map(&self.suite.uniform(inputs));
        decoded.add_assign(&self.generator.multiply(&blinds));
        let mut elements = vec![G::EMPTY; inputs.len()];
        decoded.encode(&mut elements);
        Blinded { elements, decoded, blinds }
    }

    /// Finalize: checks the proof, then takes the blinds off. The inputs are those that were blinded.
    ///
    /// # Errors
    /// If an evaluated element is not canonical or the identity, or the proof does not hold: then the server used
    /// another key.
    ///
    /// # Panics
    /// If there are not as many inputs or evaluated elements as blinded ones.
    pub fn finalize<X: AsRef<[u8]>>(
        &self,
        inputs: &[X],
        blinded: &Blinded,
        evaluation: &Evaluation,
    ) -> Result<Vec<Output>, Error> {
        let Evaluation { elements, proof } = evaluation;
        assert_eq!(inputs.len(), blinded.elements.len(), "one blinded element for each input");
        assert_eq!(elements.len(), blinded.elements.len(), "one evaluated element for each blinded one");
        let mut evaluated = Many::decode(elements).map_err(invalid)?;
        self.check(blinded, elements, &evaluated, proof)?;
        evaluated.sub_assign(&self.key.multiply(&blinded.blinds));
        let mut unblinded = Zeroizing::new(vec![G::EMPTY; inputs.len()]);
        evaluated.encode(&mut unblinded);
        Ok(inputs.iter().zip(&*unblinded).map(|(input, element)| finalize(input.as_ref(), element)).collect())
    }

    /// VerifyProof.
    fn check(
        &self,
        blinded: &Blinded,
        elements: &[Encoded],
        evaluated: &Many,
        proof: &Proof,
    ) -> Result<(), Error> {
        let failed = || Error::PeerMisbehaved(Misbehaviour::FailedCheck);
        let [c, s] = [0, 1].map(|half| G::decode_scalar(&proof.as_chunks::<ELEMENT>().0[half]));
        let (c, s) = (c.map_err(|_| failed())?, s.map_err(|_| failed())?);
        let weights = self.suite.weights(&self.public, &blinded.elements, elements);
        let (m, z) = (weighted_sum(&blinded.decoded, &weights), weighted_sum(evaluated, &weights));
        let t2 = G::vartime_mul_sum(&[s.clone(), c.clone()], &[G::generator(), self.public.element]);
        let t3 = G::vartime_mul_sum(&[s, c.clone()], &[m, z]);
        let expected = self.suite.challenge(&self.public, [&m, &z, &t2, &t3]);
        if G::encode_scalar(&expected) == G::encode_scalar(&c) { Ok(()) } else { Err(failed()) }
    }
}

impl Drop for Blinded {
    fn drop(&mut self) {
        // The scalars wipe themselves as well; this is for the list, too.
        self.blinds.zeroize();
    }
}

fn invalid(InvalidElement { index }: InvalidElement) -> Error {
    Error::PeerMisbehaved(Misbehaviour::InvalidElement { position: index })
}

#[cfg(test)]
mod tests;
