//! Paillier with a modulus of 3072 bits. A tag is the last 128 bits of a plaintext.

use rand_core::CryptoRng;
use vesica_crypto::bigint::{BoxedUint, Exponent, InvalidResidue, Residues};
use vesica_crypto::paillier::{Ciphertexts, InvalidCiphertext, PublicKey, SecretKey};

use super::{Encryption, Query};
use crate::error::Misbehaviour;

/// Bits of N at level 128.
const BITS: u32 = 3072;

/// The encryption.
pub(super) struct Paillier;

impl Encryption for Paillier {
    const PUBLIC: usize = BITS as usize / 8;
    const CIPHERTEXT: usize = BITS as usize / 4;
    // Nine vectors of lanes, and 24 bins of three.
    const CHUNK: usize = 72;

    type Secret = SecretKey;
    type Public = PublicKey;
    type Coefficients = Ciphertexts;

    fn generate(rng: &mut dyn CryptoRng) -> SecretKey {
        SecretKey::generate(BITS, rng)
    }

    fn public(secret: &SecretKey) -> Vec<u8> {
        secret.public().messages().to_be_bytes()
    }

    fn decode_public(encoded: &[u8]) -> Result<PublicKey, Misbehaviour> {
        PublicKey::from_be_bytes(encoded, BITS).map_err(|_| Misbehaviour::InvalidElement { position: 0 })
    }

    fn encrypt(secret: &SecretKey, roots: &[u128], m: usize, rng: &mut dyn CryptoRng, out: &mut [u8]) {
        let messages = monic(secret.public(), roots, m);
        let randomisers = secret.randomisers(messages.len(), rng);
        secret.public().write(&secret.public().encrypt(&messages, randomisers), out);
    }

    fn decode(public: &PublicKey, first: usize, encoded: &[u8]) -> Result<Ciphertexts, Misbehaviour> {
        let invalid = |InvalidResidue { index }| Misbehaviour::InvalidElement { position: first + index };
        public.decode(encoded).map_err(invalid)
    }

    fn append(all: &mut Ciphertexts, more: Ciphertexts) {
        all.append(&more);
    }

    /// Horner's rule below the leading coefficient, then r. In the clear: r·x^M + p.
    fn evaluate(
        public: &PublicKey,
        coefficients: &Ciphertexts,
        (degree, bits): (usize, u32),
        queries: &[Query],
        rng: &mut dyn CryptoRng,
        out: &mut [u8],
    ) {
        let n = public.messages();
        let points: Vec<Exponent> =
            queries.iter().map(|query| Exponent::new(&BoxedUint::from(query.point), bits)).collect();
        let coefficient = |index: usize| {
            let positions: Vec<u32> = queries.iter().map(|query| (query.first + index) as u32).collect();
            coefficients.gather(&positions)
        };
        let mut value = coefficient(degree - 1);
        for index in (0..degree - 1).rev() {
            value = public.add(&public.multiply(&value, &points), &coefficient(index));
        }
        let factors: Vec<Exponent> = queries.iter().map(|_| Exponent::random_below(n.value(), rng)).collect();
        let mut leading = n.none(queries.len());
        factors.iter().for_each(|factor| leading.push(&n.residue(factor.value())));
        let points = numbers(public, queries.iter().map(|query| query.point));
        for _ in 0..degree {
            leading = n.mul(&leading, &points);
        }
        let payloads = numbers(public, queries.iter().map(|query| query.payload));
        let plain = n.add(&leading, &payloads);
        let value = public.add_messages(&public.multiply(&value, &factors), &plain);
        public.write(&public.rerandomise(&value, public.randomisers(queries.len(), rng)), out);
    }

    fn open(secret: &SecretKey, first: usize, answers: &[u8], tags: &mut [u128]) -> Result<(), Misbehaviour> {
        let answers = Self::decode(secret.public(), first, answers)?;
        let invalid = |InvalidCiphertext { index }| Misbehaviour::InvalidElement { position: first + index };
        let plain = secret.decrypt(&answers).map_err(invalid)?;
        let mut encoded = Vec::new();
        secret.public().messages().encode(&plain, &mut encoded);
        for (tag, plain) in tags.iter_mut().zip(encoded.chunks_exact(secret.public().messages().bytes())) {
            *tag = plain.last_chunk().map_or(0, |last| u128::from_be_bytes(*last));
        }
        Ok(())
    }

    fn tags(_: &SecretKey, payloads: &[u128], tags: &mut [u128]) {
        tags.copy_from_slice(payloads);
    }
}

/// Numbers as messages.
fn numbers(public: &PublicKey, numbers: impl Iterator<Item = u128>) -> Residues {
    let bytes: Vec<u8> = numbers.flat_map(u128::to_be_bytes).collect();
    public.messages().reduce(&bytes, 16)
}

/// The coefficients below the leading one of polynomials with m of these roots each, polynomial by polynomial.
fn monic(public: &PublicKey, roots: &[u128], m: usize) -> Residues {
    let (n, polynomials) = (public.messages(), roots.len() / m);
    let constant = |value: u128| numbers(public, (0..polynomials).map(|_| value));
    // One batch for each degree.
    let mut coefficients: Vec<Residues> = Vec::new();
    for position in 0..m {
        // Times X - y: every coefficient becomes the one below it minus y times itself.
        let roots = numbers(public, roots.chunks(m).map(|roots| roots[position]));
        coefficients.push(constant(1));
        for degree in (1..coefficients.len()).rev() {
            coefficients[degree] = n.sub(&coefficients[degree - 1], &n.mul(&roots, &coefficients[degree]));
        }
        coefficients[0] = n.sub(&constant(0), &n.mul(&roots, &coefficients[0]));
    }
    let mut all = n.none(roots.len());
    for polynomial in 0..polynomials {
        coefficients.iter().for_each(|batch| all.push(&batch.get(polynomial)));
    }
    all
}
