//! Fiat–Shamir proofs about many elements of a group, written additively.
//!
//! | proof | statement | shows |
//! |---|---|---|
//! | [`Representations`] | A_i = r_i·B - r·g for all i | knowledge of r and of every r_i |
//! | [`EqualLogarithms`] | Z = z·b and V_i = z·U_i for all i | that one z satisfies all of it |
//!
//! **Representations.** The AND of n Schnorr proofs under one challenge, with a common secret:
//!
//! ```text
//! prover (r, r_i)                                     verifier (A_i)
//! k, k_i ←$ Z_q; T_i = k_i·B - k·g
//! c = H(statement, T_1, …, T_n), 128 bits
//! s = k + c·r, s_i = k_i + c·r_i      ── c, s, s_i ──►  T'_i = s_i·B - s·g - c·A_i
//!                                                       accept if c = H(statement, T'_1, …, T'_n)
//! ```
//!
//! Every T'_i is recomputed and hashed, so that each of the n statements is checked by itself; nothing is
//! batched. Two accepting answers to one commitment give r = (s - s')/(c - c') and each r_i in the same way, so
//! a prover that can answer two challenges knows them. Extraction rewinds the prover (forking lemma); nothing is
//! claimed of extraction without rewinding.
//!
//! **Equal logarithms.** The n statements are folded into one by weights that are a hash of all of them (as in
//! RFC 9497, section 2.2.1), and that one is proven as Chaum and Pedersen do:
//!
//! ```text
//! both                   w_1, …, w_n = W(Z, U_1, V_1, …, U_n, V_n), 128 bits each; U = Σ w_i·U_i, V = Σ w_i·V_i
//! prover (z)             k ←$ Z_q; c = H(statement, k·b, k·U), 128 bits; s = k + c·z     ── c, s ──►
//! verifier               accept if c = H(statement, s·b - c·Z, s·U - c·V)
//! ```
//!
//! *Error.* Let V_i ≠ z·U_i for some i, where Z = z·b. Then Σ w_i·(V_i - z·U_i) is zero for at most one value of
//! w_i, given the other weights: a probability of 2^-128 for each evaluation of W. If it is not zero, Z and V
//! have different logarithms, and for any two elements that a prover commits to there is at most one c with an
//! answer: 2^-128 for each evaluation of H. A prover that evaluates W and H q times in all passes with
//! probability at most q·2^-128.
//!
//! **Statement and context.** Every hash is an oracle of the run (session, protocol, parameters and sizes), and
//! takes the whole statement. A proof that leaves part of the statement out of its challenge can be fitted to
//! another one (Bernhard, Pereira, Warinschi 2012).
//!
//! **Zero knowledge.** Answers are uniform, and commitments follow from them; a simulator draws both and
//! programs H. Long messages enter as the list of the hashes of their pieces. Commitments enter as their
//! doubles, which are cheaper to encode and say the same in a group of odd order.

use rand_core::CryptoRng;
use vesica_crypto::group::{BatchGroup, Elements, FixedBase, Group};
use vesica_crypto::hash::{Context, Label, Oracle};
use zeroize::Zeroize;

/// Bytes of a piece's hash.
pub(crate) const DIGEST: usize = 32;
/// Bytes of a challenge.
pub(crate) const CHALLENGE: usize = 16;

/// The scalar c.
pub(crate) fn scalar<G: Group>(challenge: u128) -> G::Scalar {
    let mut uniform = G::UNIFORM_EMPTY;
    uniform.as_mut()[..CHALLENGE].copy_from_slice(&challenge.to_le_bytes());
    G::scalar_from_uniform(&uniform)
}

/// nonce + c · secret.
pub(crate) fn respond<G: Group>(nonce: &G::Scalar, challenge: &G::Scalar, secret: &G::Scalar) -> G::Scalar {
    G::add_scalars(nonce, &G::mul_scalars(challenge, secret))
}

/// The hash of one piece of a long message.
pub(crate) fn digest<E: AsRef<[u8]>>(oracle: &Oracle, piece: &[&[E]]) -> [u8; DIGEST] {
    let bytes: Vec<u8> = piece.iter().flat_map(|list| list.iter()).flat_map(AsRef::as_ref).copied().collect();
    let mut digest = [0; DIGEST];
    oracle.hash(&bytes, &mut digest);
    digest
}

/// Proofs of representations under the bases B and g.
pub(crate) struct Representations<G: BatchGroup> {
    pieces: Oracle,
    challenge: Oracle,
    /// B.
    pub(crate) each: G::FixedBase,
    /// g.
    pub(crate) common: G::Element,
}

impl<G: BatchGroup> Representations<G> {
    pub(crate) fn new(context: &Context, each: &G::Element, common: G::Element) -> Self {
        Self {
            pieces: context.oracle(Label::new("representations: piece of a message")),
            challenge: context.oracle(Label::new("representations: challenge")),
            each: G::FixedBase::new(each),
            common,
        }
    }

    /// Hash of a piece of the statement or of the commitments.
    pub(crate) fn digest(&self, piece: &[&[G::Encoding]]) -> [u8; DIGEST] {
        digest(&self.pieces, piece)
    }

    /// 2·T_i for a piece of the nonces k_i; `common` is k·g.
    pub(crate) fn commit(&self, common: &G::Element, nonces: &[G::Scalar]) -> Vec<G::Encoding> {
        let mut commitments = self.each.multiply(nonces);
        commitments.add_to_all(&G::sub(&G::identity(), common));
        encode_doubles::<G>(&commitments)
    }

    /// 2·T'_i for a piece of the responses s_i; `common` is s·g.
    pub(crate) fn recommit(
        &self,
        common: &G::Element,
        responses: &[G::Scalar],
        challenge: u128,
        elements: &G::Elements,
    ) -> Vec<G::Encoding> {
        let mut commitments = self.each.multiply(responses);
        commitments.sub_assign(&elements.multiply_short(challenge));
        commitments.add_to_all(&G::sub(&G::identity(), common));
        encode_doubles::<G>(&commitments)
    }

    /// c, of what comes before the pieces, the pieces of the statement, and those of the commitments.
    pub(crate) fn challenge(
        &self,
        first: &[u8],
        statement: &[[u8; DIGEST]],
        commitments: &[[u8; DIGEST]],
    ) -> u128 {
        let mut challenge = [0; CHALLENGE];
        let parts = [first, statement.as_flattened(), commitments.as_flattened()];
        self.challenge.hash_parts(&parts, &mut challenge);
        u128::from_le_bytes(challenge)
    }
}

/// A proof that logarithms are equal.
#[derive(Clone)]
pub(crate) struct EqualityProof<G: Group> {
    pub(crate) challenge: u128,
    pub(crate) response: G::Scalar,
}

/// Proofs that lists of elements have been multiplied by the logarithm of Z to the base b.
pub(crate) struct EqualLogarithms<G: Group> {
    weights: Oracle,
    challenge: Oracle,
    base: G::Element,
    public: G::Element,
}

/// What both sides hash of one statement.
pub(crate) struct Folded {
    digest: [u8; DIGEST],
    /// w_i.
    pub(crate) weights: Vec<u128>,
}

impl<G: BatchGroup> EqualLogarithms<G> {
    pub(crate) fn new(context: &Context, base: G::Element, public: G::Element) -> Self {
        Self {
            weights: context.oracle(Label::new("equal logarithms: weights")),
            challenge: context.oracle(Label::new("equal logarithms: challenge")),
            base,
            public,
        }
    }

    /// The weights of statement number `number` of the run: U_i and V_i.
    pub(crate) fn fold(&self, number: u64, before: &[G::Encoding], after: &[G::Encoding]) -> Folded {
        let bytes = |list: &[G::Encoding]| list.iter().flat_map(AsRef::as_ref).copied().collect::<Vec<u8>>();
        let public = G::encode(&self.public);
        let parts: [&[u8]; 4] = [public.as_ref(), &number.to_le_bytes(), &bytes(before), &bytes(after)];
        let mut hash = vec![0; DIGEST + 16 * before.len()];
        self.weights.hash_parts(&parts, &mut hash);
        let (digest, weights) = hash.split_at(DIGEST);
        let mut folded = Folded { digest: [0; DIGEST], weights: Vec::new() };
        folded.digest.copy_from_slice(digest);
        folded.weights = weights.as_chunks().0.iter().map(|weight| u128::from_le_bytes(*weight)).collect();
        folded
    }

    /// The proof for `sum`, which is U or any multiple of it.
    pub(crate) fn prove(
        &self,
        folded: &Folded,
        sum: &G::Element,
        secret: &G::Scalar,
        rng: &mut dyn CryptoRng,
    ) -> EqualityProof<G> {
        let mut nonce = G::random_scalar(rng);
        let challenge = self.challenge(folded, &G::mul(&nonce, &self.base), &G::mul(&nonce, sum));
        let response = respond::<G>(&nonce, &scalar::<G>(challenge), secret);
        nonce.zeroize();
        EqualityProof { challenge, response }
    }

    /// Whether the proof holds for the same multiples of U and V.
    pub(crate) fn holds(&self, folded: &Folded, sums: [&G::Element; 2], proof: &EqualityProof<G>) -> bool {
        let challenge = scalar::<G>(proof.challenge);
        let commitment = |base, public| G::sub(&G::mul(&proof.response, base), &G::mul(&challenge, public));
        let commitments = [commitment(&self.base, &self.public), commitment(sums[0], sums[1])];
        proof.challenge == self.challenge(folded, &commitments[0], &commitments[1])
    }

    pub(super) fn challenge(&self, folded: &Folded, first: &G::Element, second: &G::Element) -> u128 {
        let mut challenge = [0; CHALLENGE];
        let commitments = [G::encode(first), G::encode(second)];
        let parts = [&folded.digest[..], commitments[0].as_ref(), commitments[1].as_ref()];
        self.challenge.hash_parts(&parts, &mut challenge);
        u128::from_le_bytes(challenge)
    }
}

/// The encodings of twice the elements.
pub(crate) fn encode_doubles<G: BatchGroup>(elements: &G::Elements) -> Vec<G::Encoding> {
    let mut encoded = vec![G::EMPTY; elements.count()];
    elements.encode_doubles(&mut encoded);
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::StdRng};
    use std::collections::HashSet;
    use vesica_crypto::group::Ristretto255 as G;

    type Encoding = <G as Group>::Encoding;

    fn context(session: u8) -> Context {
        Context::new(&[session; 32], "proofs", b"", 0, 0)
    }

    fn random(count: usize, rng: &mut StdRng) -> Vec<Encoding> {
        (0..count).map(|_| G::encode(&G::random_element(rng))).collect()
    }

    /// s = k + c·z tells z to whoever knows k, and z tells which items the sender has to whoever guesses them.
    #[test]
    fn flaw_a_nonce_that_is_known_or_serves_twice() {
        let rng = &mut StdRng::seed_from_u64(1);
        let secret = G::random_scalar(rng);
        let equal = EqualLogarithms::<G>::new(&context(1), G::generator(), G::mul_base(&secret));
        let sum = G::random_element(rng);
        let folded = equal.fold(0, &random(3, rng), &random(3, rng));
        let mut seen =
            HashSet::from([scalar::<G>(0), scalar::<G>(1), secret.clone()].map(|s| G::encode_scalar(&s)));
        for seed in 100..120 {
            // One statement, and other randomness.
            let proof = equal.prove(&folded, &sum, &secret, &mut StdRng::seed_from_u64(seed));
            let share = G::mul_scalars(&scalar::<G>(proof.challenge), &secret);
            assert!(seen.insert(G::encode_scalar(&G::sub_scalars(&proof.response, &share))), "seed {seed}");
        }
    }

    /// Every hash is one of the run; and each takes all of the statement.
    #[test]
    fn flaw_hashes_that_another_session_or_statement_shares() {
        let rng = &mut StdRng::seed_from_u64(2);
        let (lists, elements) = (random(6, rng), [G::random_element(rng), G::random_element(rng)]);
        let (mut weights, mut challenges, mut others, mut pieces) =
            (HashSet::new(), HashSet::new(), HashSet::new(), HashSet::new());
        let folded = EqualLogarithms::<G>::new(&context(0), G::generator(), elements[0]).fold(
            0,
            &lists[..2],
            &lists[2..4],
        );
        for session in 1..4 {
            let context = context(session);
            for public in elements {
                let equal = EqualLogarithms::<G>::new(&context, G::generator(), public);
                for (number, before, after) in
                    [(0, 0..2, 2..4), (1, 0..2, 2..4), (0, 4..6, 2..4), (0, 0..2, 4..6)]
                {
                    assert!(weights.insert(equal.fold(number, &lists[before], &lists[after]).weights));
                }
            }
            let equal = EqualLogarithms::<G>::new(&context, G::generator(), elements[0]);
            for [first, second] in [[0, 1], [1, 0], [0, 0]] {
                assert!(challenges.insert(equal.challenge(&folded, &elements[first], &elements[second])));
            }
            let other = Folded { digest: [1; DIGEST], weights: Vec::new() };
            assert!(challenges.insert(equal.challenge(&other, &elements[0], &elements[1])));
            let proofs = Representations::<G>::new(&context, &G::generator(), elements[0]);
            assert!(pieces.insert(proofs.digest(&[&lists])) && pieces.insert(proofs.digest(&[&lists[1..]])));
            let [a, b] = [[1; DIGEST], [2; DIGEST]];
            for (first, statement, commitments) in
                [(0, [a, a], [a]), (1, [a, a], [a]), (0, [b, a], [a]), (0, [a, b], [a]), (0, [a, a], [b])]
            {
                assert!(others.insert(proofs.challenge(&[first; 32], &statement, &commitments)));
            }
        }
    }
}
