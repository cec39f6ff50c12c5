//! Exponential ElGamal on ristretto255. A tag is the first half of an encoded element.

use rand_core::CryptoRng;
use vesica_crypto::elgamal::{self, Ciphertext, Coefficients, PublicKey, SecretKey, monic};
use vesica_crypto::group::InvalidElement;

use super::{Encryption, Query};
use crate::error::Misbehaviour;

/// The encryption.
pub(super) struct ElGamal;

impl Encryption for ElGamal {
    const PUBLIC: usize = 32;
    const CIPHERTEXT: usize = size_of::<Ciphertext>();
    const CHUNK: usize = 192;

    type Secret = SecretKey;
    type Public = PublicKey;
    type Coefficients = Coefficients;

    fn generate(rng: &mut dyn CryptoRng) -> SecretKey {
        SecretKey::generate(rng)
    }

    fn public(secret: &SecretKey) -> Vec<u8> {
        secret.public().to_vec()
    }

    fn decode_public(encoded: &[u8]) -> Result<PublicKey, Misbehaviour> {
        let invalid = Misbehaviour::InvalidElement { position: 0 };
        let encoded = encoded.try_into().map_err(|_| invalid.clone())?;
        PublicKey::decode(encoded).map_err(|_| invalid)
    }

    fn encrypt(secret: &SecretKey, roots: &[u128], m: usize, rng: &mut dyn CryptoRng, out: &mut [u8]) {
        let messages: Vec<_> = roots.chunks(m).flat_map(|roots| monic(roots.iter().copied())).collect();
        secret.encrypt(&messages, rng, out.as_chunks_mut().0);
    }

    fn decode(public: &PublicKey, first: usize, encoded: &[u8]) -> Result<Coefficients, Misbehaviour> {
        public.decode_coefficients(encoded.as_chunks().0).map_err(|invalid| element(first, invalid))
    }

    fn append(all: &mut Coefficients, more: Coefficients) {
        all.append(more);
    }

    fn evaluate(
        public: &PublicKey,
        coefficients: &Coefficients,
        of: (usize, u32),
        queries: &[Query],
        rng: &mut dyn CryptoRng,
        out: &mut [u8],
    ) {
        let query = |&Query { first, point, payload }: &Query| elgamal::Query { first, point, payload };
        let queries: Vec<_> = queries.iter().map(query).collect();
        public.evaluate(coefficients, of, &queries, rng, out.as_chunks_mut().0);
    }

    fn open(secret: &SecretKey, first: usize, answers: &[u8], tags: &mut [u128]) -> Result<(), Misbehaviour> {
        let mut opened = vec![[0; 32]; tags.len()];
        secret.open(answers.as_chunks().0, &mut opened).map_err(|invalid| element(first, invalid))?;
        truncate(&opened, tags);
        Ok(())
    }

    fn tags(secret: &SecretKey, payloads: &[u128], tags: &mut [u128]) {
        let mut opened = vec![[0; 32]; tags.len()];
        secret.opened(payloads, &mut opened);
        truncate(&opened, tags);
    }
}

/// The position of an element in a message, from that in a batch whose first ciphertext is number `first`.
fn element(first: usize, InvalidElement { index }: InvalidElement) -> Misbehaviour {
    Misbehaviour::InvalidElement { position: 2 * first + index }
}

/// The first halves. The encodings of different elements are different, and those of uniform elements agree in
/// so many bits with a probability of about 2^-128.
fn truncate(encoded: &[[u8; 32]], tags: &mut [u128]) {
    for (tag, encoded) in tags.iter_mut().zip(encoded) {
        *tag = u128::from_le_bytes(encoded.as_chunks().0[0]);
    }
}
