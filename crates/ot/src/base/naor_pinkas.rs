//! The OT of Naor and Pinkas, for semi-honest parties: here over ristretto255, one message each way, in any order. In
//! [`curves`] it is over the curves of NIST, as the papers measure it, where the sender chooses C.
//!
//! **Security:** semi-honest, under the computational Diffie–Hellman assumption, in the random oracle model. The
//! choices are hidden unconditionally, from any sender: r is uniform, whatever they are. A receiver that knows both
//! keys of an OT knows s·C. No simulator finds the choices of a malicious receiver before it hashes; protocols
//! against malicious parties therefore use [`masny_rindal`](super::masny_rindal), which takes twice the
//! multiplications.
//!
//! Source: Naor, Pinkas, *Efficient oblivious transfer protocols*, SODA 2001, Protocol 3.1 for two strings, with one
//! r of the paper (here s) and one C for all OTs. Deviations: the sender does not choose C, which is a hash of the
//! session. So neither party waits for the other's message, and nobody knows the logarithm of C. The hash that makes
//! strings takes all elements.
//!
//! ```text
//! receiver, choice c                                            sender, s ←$ Z_q*
//! a ←$ Z_q*
//! r = a·G, or C - a·G if c = 1       ── r ──►                   32 bytes an OT
//!                                    ◄── T = s·G ──             32 bytes for all
//! K_c = a·T                                                     K_0 = s·r, K_1 = s·C - K_0
//! string = H(i, c, T, r, K_c)                                   strings = H(i, j, T, r, K_j)
//! ```
//!
//! Names: C = twice what the oracle under the caller's label maps to the group, H = the same oracle. The context
//! binds session, protocol and sizes; a label serves one batch of a run, so no index is used twice.
//!
//! As in [`masny_rindal`](super::masny_rindal) the code has the halves of what it encodes.
//!
//! Cost: the sender has one product with s an OT, the receiver two products with fixed bases, G and T.
//!
//! Constant time in choices and scalars. A peer's element must be a canonical encoding, and neither the identity nor
//! C, for which a key would be the identity.

pub mod curves;

use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use vesica_crypto::group::{
    Elements as _, FixedBase as _, Group, InvalidElement, Ristretto255, RistrettoBase, RistrettoElements,
};
use vesica_crypto::hash::{Context, Label, Oracle};
use zeroize::Zeroizing;

use super::bit;
use super::two_messages::{self, SENDER_BYTES};
use crate::error::Error;
use crate::seed::Seed;

type G = Ristretto255;
type Element = <G as Group>::Element;
type Encoding = <G as Group>::Encoding;
type Elements = RistrettoElements;
type FixedBase = RistrettoBase;
type Scalar = <G as Group>::Scalar;

/// Bytes of the receiver's message, for each OT.
pub const RECEIVER_BYTES: usize = G::ENCODED;

/// Domains of the oracle.
const CONSTANT: u8 = 0;
const TO_STRING: u8 = 1;

/// The sender after it has sent its message.
pub struct Sender {
    oracle: Oracle,
    /// s/2.
    secret: Scalar,
    public: Encoding,
}

impl Sender {
    /// H(i, j, T, r, K_j) for every OT i, from the halves of the K_j.
    fn strings(&self, j: u8, theirs: &[Encoding], halves: &Elements) -> Vec<Seed> {
        let mut keys = Zeroizing::new(vec![G::EMPTY; halves.count()]);
        halves.encode_doubles(&mut keys);
        strings(&self.oracle, &self.public, theirs, &keys, |_| j)
    }
}

impl two_messages::Sender for Sender {
    const RECEIVER_BYTES: usize = RECEIVER_BYTES;

    /// Draws s; the message is T.
    fn new(context: &Context, label: Label, rng: &mut dyn CryptoRng) -> (Self, [u8; SENDER_BYTES]) {
        let secret = G::random_scalar(rng);
        let public = G::encode(&G::mul_base(&twice(&secret)));
        (Sender { oracle: context.oracle(label), secret, public }, public)
    }

    fn finish(self, message: &[u8]) -> Result<Vec<[Seed; 2]>, Error> {
        let (theirs, rest) = message.as_chunks::<RECEIVER_BYTES>();
        if !rest.is_empty() {
            return Err(Error::MessageLength { what: "base OT" });
        }
        let half = half_of_constant(&self.oracle);
        let constant = G::encode(&G::add(&half, &half));
        if let Some(position) = theirs.iter().position(|r| *r == constant) {
            return Err(Error::InvalidElement { position });
        }
        let invalid = |InvalidElement { index }| Error::InvalidElement { position: index };
        let elements = Elements::decode(theirs).map_err(invalid)?;
        // The halves of K_0 = s·r, then those of K_1 = s·C - K_0.
        let mut keys = elements.multiply(&self.secret);
        let zeros = self.strings(0, theirs, &keys);
        keys.negate();
        keys.add_to_all(&Zeroizing::new(G::mul(&twice(&self.secret), &half)));
        let ones = self.strings(1, theirs, &keys);
        Ok(zeros.into_iter().zip(ones).map(|(zero, one)| [zero, one]).collect())
    }
}

/// The receiver after it has sent its message.
pub struct Receiver {
    oracle: Oracle,
    choices: Zeroizing<Vec<u8>>,
    /// a/2 of each OT.
    secrets: Vec<Scalar>,
    message: Vec<Encoding>,
}

impl two_messages::Receiver for Receiver {
    /// Draws a for each OT. The message holds every r.
    fn new(
        context: &Context,
        label: Label,
        choices: &[u8],
        count: usize,
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        let oracle = context.oracle(label);
        let secrets: Vec<_> = (0..count).map(|_| G::random_scalar(rng)).collect();
        // The halves of a·G, and of C - a·G.
        let mut elements = FixedBase::new(&G::generator()).multiply(&secrets);
        let mut message = vec![G::EMPTY; count];
        let mut others = Zeroizing::new(vec![G::EMPTY; count]);
        elements.encode_doubles(&mut message);
        elements.negate();
        elements.add_to_all(&half_of_constant(&oracle));
        elements.encode_doubles(&mut others);
        for (i, (r, other)) in message.iter_mut().zip(others.iter_mut()).enumerate() {
            Encoding::conditional_swap(r, other, Choice::from(bit(choices, i)));
        }
        let bytes = message.as_flattened().to_vec();
        (Receiver { oracle, choices: Zeroizing::new(choices.to_vec()), secrets, message }, bytes)
    }

    fn finish(self, public: &[u8; SENDER_BYTES]) -> Result<Vec<Seed>, Error> {
        let element = G::decode(public).map_err(|_| Error::InvalidElement { position: 0 })?;
        let mut keys = Zeroizing::new(vec![G::EMPTY; self.secrets.len()]);
        FixedBase::new(&element).multiply(&self.secrets).encode_doubles(&mut keys);
        Ok(strings(&self.oracle, public, &self.message, &keys, |i| bit(&self.choices, i)))
    }
}

fn twice(half: &Scalar) -> Scalar {
    G::add_scalars(half, half)
}

/// C/2.
fn half_of_constant(oracle: &Oracle) -> Element {
    let mut uniform = G::UNIFORM_EMPTY;
    oracle.hash(&[CONSTANT], &mut uniform);
    G::map_to_group(&uniform)
}

/// H(i, j, T, r, K) for every OT i, where j is `choice` of i.
fn strings(
    oracle: &Oracle,
    public: &Encoding,
    elements: &[Encoding],
    keys: &[Encoding],
    choice: impl Fn(usize) -> u8,
) -> Vec<Seed> {
    const INPUT: usize = 2 + 8 + 3 * G::ENCODED;
    let mut inputs = Zeroizing::new(Vec::with_capacity(keys.len() * INPUT));
    for (i, (r, key)) in elements.iter().zip(keys).enumerate() {
        inputs.extend_from_slice(&[TO_STRING, choice(i)]);
        inputs.extend_from_slice(&(i as u64).to_le_bytes());
        [public, r, key].into_iter().for_each(|part| inputs.extend_from_slice(part));
    }
    let mut outputs = Zeroizing::new(vec![0; keys.len() * 32]);
    oracle.hash_batch(&inputs, INPUT, &mut outputs, 32);
    outputs.as_chunks().0.iter().map(|string| Seed::new(*string)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::two_messages::{Receiver as _, Sender as _};
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    const LABEL: Label = Label::new("test: base OT");

    fn context() -> Context {
        Context::new(&[3; 32], "test", b"", 1, 2)
    }

    #[test]
    fn the_receiver_has_the_string_it_chose_and_not_the_other() {
        for count in [0, 1, 7, 128] {
            let rng = &mut StdRng::seed_from_u64(count as u64);
            let mut choices = vec![0; 16];
            rng.fill_bytes(&mut choices);
            let (sender, public) = Sender::new(&context(), LABEL, rng);
            let (receiver, message) = Receiver::new(&context(), LABEL, &choices, count, rng);
            assert_eq!(message.len(), count * RECEIVER_BYTES);
            let (strings, chosen) = (sender.finish(&message).unwrap(), receiver.finish(&public).unwrap());
            assert_eq!((strings.len(), chosen.len()), (count, count));
            for (i, (pair, chosen)) in strings.iter().zip(&chosen).enumerate() {
                let choice = usize::from(bit(&choices, i));
                assert!(pair[choice] == *chosen && pair[1 - choice] != *chosen, "{i}");
            }
        }
    }

    /// What is sent is a·G or C - a·G, by the choice, and the keys are those of the page, computed one by one.
    #[test]
    fn elements_and_strings_are_those_of_the_definition() {
        let choices = [0b0110_0101, 0b1];
        let seeded = || StdRng::seed_from_u64(4);
        let (receiver, message) = Receiver::new(&context(), LABEL, &choices, 9, &mut seeded());
        let (sender, public) = Sender::new(&context(), LABEL, &mut StdRng::seed_from_u64(5));
        let oracle = context().oracle(LABEL);
        let half = half_of_constant(&oracle);
        let (constant, s) = (G::add(&half, &half), twice(&sender.secret));
        assert_eq!(public, G::encode(&G::mul_base(&s)));
        let strings = sender.finish(&message).unwrap();
        let rng = &mut seeded();
        for (i, (r, pair)) in message.as_chunks().0.iter().zip(&strings).enumerate() {
            let own = G::mul_base(&twice(&G::random_scalar(rng)));
            let element = if bit(&choices, i) == 0 { own } else { G::sub(&constant, &own) };
            assert_eq!(*r, G::encode(&element));
            for (j, keyed) in [(0, element), (1, G::sub(&constant, &element))] {
                let key = G::encode(&G::mul(&s, &keyed));
                let input = [&[TO_STRING, j], &(i as u64).to_le_bytes()[..], &public, r, &key].concat();
                let mut string = [0; 32];
                oracle.hash(&input, &mut string);
                assert_eq!(*pair[usize::from(j)].as_bytes(), string, "{i}, {j}");
            }
        }
        let chosen = receiver.finish(&public).unwrap();
        assert!(
            chosen.iter().zip(&strings).enumerate().all(|(i, (c, p))| *c == p[usize::from(bit(&choices, i))])
        );
    }

    #[test]
    fn another_context_label_index_or_element_gives_other_strings() {
        let rng = &mut StdRng::seed_from_u64(5);
        let (receiver, message) = Receiver::new(&context(), LABEL, &[0], 2, rng);
        let sender = |context: &Context, label| Sender::new(context, label, &mut StdRng::seed_from_u64(6));
        let (honest, public) = sender(&context(), LABEL);
        let chosen = receiver.finish(&public).unwrap();
        let strings = honest.finish(&message).unwrap();
        assert!(strings[0][0] == chosen[0] && strings[1][0] == chosen[1]);
        let (other_session, _) = sender(&Context::new(&[4; 32], "test", b"", 1, 2), LABEL);
        assert!(other_session.finish(&message).unwrap()[0][0] != chosen[0]);
        let (other_label, _) = sender(&context(), Label::new("test: other"));
        assert!(other_label.finish(&message).unwrap()[0][0] != chosen[0]);
        let swapped = [&message[32..], &message[..32]].concat();
        let (again, _) = sender(&context(), LABEL);
        assert!(again.finish(&swapped).unwrap()[1][0] != chosen[0]);
    }

    #[test]
    fn elements_that_are_not_valid_are_named() {
        let rng = &mut StdRng::seed_from_u64(7);
        let (_, message) = Receiver::new(&context(), LABEL, &[0], 3, rng);
        let half = half_of_constant(&context().oracle(LABEL));
        let constant = G::encode(&G::add(&half, &half));
        for (position, bad) in (0..3).flat_map(|i| [[0; 32], [0xff; 32], constant].map(|bad| (i, bad))) {
            let mut message = message.clone();
            message[32 * position..][..32].copy_from_slice(&bad);
            let (sender, _) = Sender::new(&context(), LABEL, rng);
            assert_eq!(sender.finish(&message).unwrap_err(), Error::InvalidElement { position });
        }
        let (sender, _) = Sender::new(&context(), LABEL, rng);
        assert_eq!(sender.finish(&message[1..]).unwrap_err(), Error::MessageLength { what: "base OT" });
        for bad in [[0; 32], [0xff; 32]] {
            let (receiver, _) = Receiver::new(&context(), LABEL, &[0], 3, rng);
            assert_eq!(receiver.finish(&bad).unwrap_err(), Error::InvalidElement { position: 0 });
        }
    }
}
