//! Endemic OT of Masny and Rindal over ristretto255: one message each way, in any order.
//!
//! **Security:** malicious, universally composable for the *endemic* functionality, in which a corrupted
//! party may fix its own strings, in the random oracle model under the *decisional* Diffie–Hellman
//! assumption; or under the computational one with a decision oracle (gap). An OT extension needs no more.
//! One element T serves all OTs of a batch, and a malicious sender has both keys of each: a proof has to find
//! the right group elements among the oracle's queries, for which the computational assumption alone does not
//! suffice.
//!
//! Source: Masny, Rindal, *Endemic Oblivious Transfer*, CCS 2019 (eprint 2019/706), §4 with the one-round key
//! agreement of Diffie and Hellman. Deviation: the hashes that make strings also take the index of the OT,
//! all elements of both parties, and the choice that the string belongs to, since batches without them are
//! unsound (McQuoid, Rosulek, Roy, eprint 2021/682). Hg takes index, choice and the other element of the
//! receiver; the element to which it is added depends on it.
//!
//! ```text
//! receiver, choice c                                            sender, s ←$ Z_q*
//! a ←$ Z_q*, r_{1-c} ←$ G
//! r_c = a·G - Hg(i, c, r_{1-c})      ── r_0, r_1 ──►            64 bytes an OT
//!                                    ◄── T = s·G ──             32 bytes for all
//! K_c = a·T                                                     K_j = s·(r_j + Hg(i, j, r_{1-j}))
//! string = H(i, c, T, r_0, r_1, K_c)                            strings = H(i, j, T, r_0, r_1, K_j)
//! ```
//!
//! Names: Hg = the oracle under the caller's label, domain 0, then twice the group's map; H = the same, domain 1.
//! The context binds session, protocol and sizes; a label serves one batch of a run, so no index is used
//! twice.
//!
//! **Doubles.** In ristretto255 the double of an element is encoded without a square root. Therefore the code has
//! halves, and encodes their doubles: `secret` is a/2, or s/2, and r_{1-c} is drawn as its half. Doubling permutes a
//! group of odd order, so a double is as uniform as its half.
//!
//! Cost: the sender has two products with s an OT, the receiver two products with fixed bases, G and T.
//!
//! Constant time in choices and scalars. A peer's element must be a canonical encoding, and not the identity.

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
type Encoding = <G as Group>::Encoding;
type Uniform = <G as Group>::Uniform;
type Elements = RistrettoElements;
type FixedBase = RistrettoBase;
type Scalar = <G as Group>::Scalar;

/// Bytes of the receiver's message, for each OT.
pub const RECEIVER_BYTES: usize = 2 * G::ENCODED;

/// Domains of the oracle.
const TO_GROUP: u8 = 0;
const TO_STRING: u8 = 1;

/// The sender after it has sent its message.
pub struct Sender {
    oracle: Oracle,
    /// s/2.
    secret: Scalar,
    public: Encoding,
}

impl two_messages::Sender for Sender {
    const RECEIVER_BYTES: usize = RECEIVER_BYTES;

    /// Draws s; the message is T.
    fn new(context: &Context, label: Label, rng: &mut dyn CryptoRng) -> (Self, [u8; SENDER_BYTES]) {
        let secret = G::random_scalar(rng);
        let public = G::encode(&G::mul_base(&G::add_scalars(&secret, &secret)));
        (Sender { oracle: context.oracle(label), secret, public }, public)
    }

    fn finish(self, message: &[u8]) -> Result<Vec<[Seed; 2]>, Error> {
        let (pairs, rest) = message.as_chunks::<RECEIVER_BYTES>();
        if !rest.is_empty() {
            return Err(Error::MessageLength { what: "base OT" });
        }
        // K_j = s·(r_j + Hg(i, j, r_{1-j})), and Hg is added as its half, twice.
        let invalid = |InvalidElement { index }| Error::InvalidElement { position: index };
        let mut sums = Elements::decode(pairs.as_flattened().as_chunks().0).map_err(invalid)?;
        let hashes = pairs.iter().enumerate().flat_map(|(i, pair)| {
            let [r0, r1] = halves(pair);
            [(0, r1), (1, r0)].map(|(j, other)| to_uniform(&self.oracle, i, j, other))
        });
        let hashes = Elements::map(&hashes.collect::<Vec<_>>());
        sums.add_assign(&hashes);
        sums.add_assign(&hashes);
        let mut keys = Zeroizing::new(vec![G::EMPTY; sums.count()]);
        sums.multiply(&self.secret).encode_doubles(&mut keys);
        // An honest receiver's sum is the identity with negligible probability.
        let identity = G::encode(&G::identity());
        if let Some(position) = keys.iter().position(|key| *key == identity) {
            return Err(Error::InvalidElement { position });
        }
        let string = |i: usize, j: usize| {
            to_string(&self.oracle, i, j as u8, &self.public, &pairs[i], &keys[2 * i + j])
        };
        Ok((0..pairs.len()).map(|i| [string(i, 0), string(i, 1)]).collect())
    }
}

/// The receiver after it has sent its message.
pub struct Receiver {
    oracle: Oracle,
    choices: Zeroizing<Vec<u8>>,
    /// a/2 of each OT.
    secrets: Vec<Scalar>,
    message: Vec<u8>,
}

impl two_messages::Receiver for Receiver {
    /// Draws a and r_{1-c} for each OT. The message holds all pairs.
    fn new(
        context: &Context,
        label: Label,
        choices: &[u8],
        count: usize,
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        let oracle = context.oracle(label);
        let mut secrets = Vec::with_capacity(count);
        let mut uniform = Zeroizing::new(vec![G::UNIFORM_EMPTY; count]);
        for bytes in uniform.iter_mut() {
            secrets.push(G::random_scalar(rng));
            rng.fill_bytes(bytes);
        }
        // The halves of r_{1-c}, and of r_c = a·G - Hg(i, c, r_{1-c}).
        let (mut seconds, mut firsts) = (vec![G::EMPTY; count], vec![G::EMPTY; count]);
        Elements::map(&uniform).encode_doubles(&mut seconds);
        let hashes =
            seconds.iter().enumerate().map(|(i, second)| to_uniform(&oracle, i, bit(choices, i), second));
        let hashes = Zeroizing::new(hashes.collect::<Vec<_>>());
        let mut sums = FixedBase::new(&G::generator()).multiply(&secrets);
        sums.sub_assign(&Elements::map(&hashes));
        sums.encode_doubles(&mut firsts);
        let mut message = Vec::with_capacity(count * RECEIVER_BYTES);
        for (i, (mut first, mut second)) in firsts.into_iter().zip(seconds).enumerate() {
            // The swap puts r_0 first.
            Encoding::conditional_swap(&mut first, &mut second, Choice::from(bit(choices, i)));
            message.extend_from_slice(&first);
            message.extend_from_slice(&second);
        }
        let choices = Zeroizing::new(choices.to_vec());
        (Receiver { oracle, choices, secrets, message: message.clone() }, message)
    }

    fn finish(self, public: &[u8; SENDER_BYTES]) -> Result<Vec<Seed>, Error> {
        let element = G::decode(public).map_err(|_| Error::InvalidElement { position: 0 })?;
        let mut keys = Zeroizing::new(vec![G::EMPTY; self.secrets.len()]);
        FixedBase::new(&element).multiply(&self.secrets).encode_doubles(&mut keys);
        let pairs = self.message.as_chunks::<RECEIVER_BYTES>().0;
        let string = |(i, (key, pair)): (usize, (&Encoding, &[u8; RECEIVER_BYTES]))| {
            to_string(&self.oracle, i, bit(&self.choices, i), public, pair, key)
        };
        Ok(keys.iter().zip(pairs).enumerate().map(string).collect())
    }
}

fn halves(pair: &[u8; RECEIVER_BYTES]) -> [&Encoding; 2] {
    let (halves, _) = pair.as_chunks();
    [&halves[0], &halves[1]]
}

/// What maps to half of Hg(i, j, r).
fn to_uniform(oracle: &Oracle, i: usize, j: u8, other: &Encoding) -> Uniform {
    let mut uniform = G::UNIFORM_EMPTY;
    oracle.hash_parts(&[&[TO_GROUP, j], &(i as u64).to_le_bytes(), other], &mut uniform);
    uniform
}

/// H(i, j, T, r_0, r_1, K).
fn to_string(
    oracle: &Oracle,
    i: usize,
    j: u8,
    public: &Encoding,
    pair: &[u8; RECEIVER_BYTES],
    key: &Encoding,
) -> Seed {
    let mut string = Zeroizing::new([0; 32]);
    oracle.hash_parts(&[&[TO_STRING, j], &(i as u64).to_le_bytes(), public, pair, key], &mut *string);
    Seed::new(*string)
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

    /// Sender's and receiver's strings of `count` OTs, with the receiver's message.
    fn run(count: usize, choices: &[u8]) -> (Vec<[Seed; 2]>, Vec<Seed>, Vec<u8>) {
        let rng = &mut StdRng::seed_from_u64(count as u64);
        let (sender, public) = Sender::new(&context(), LABEL, rng);
        let (receiver, message) = Receiver::new(&context(), LABEL, choices, count, rng);
        (sender.finish(&message).unwrap(), receiver.finish(&public).unwrap(), message)
    }

    #[test]
    fn the_receiver_has_the_string_it_chose_and_not_the_other() {
        for count in [0, 1, 7, 128] {
            let mut choices = vec![0; 16];
            StdRng::seed_from_u64(1).fill_bytes(&mut choices);
            let (strings, chosen, message) = run(count, &choices);
            assert_eq!((strings.len(), chosen.len(), message.len()), (count, count, 64 * count));
            for (i, (pair, chosen)) in strings.iter().zip(&chosen).enumerate() {
                let choice = usize::from(bit(&choices, i));
                assert!(pair[choice] == *chosen && pair[1 - choice] != *chosen, "{i}");
            }
        }
    }

    #[test]
    fn another_context_label_index_or_message_gives_other_strings() {
        let rng = &mut StdRng::seed_from_u64(5);
        let (receiver, message) = Receiver::new(&context(), LABEL, &[0], 2, rng);
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let sender = |context: &Context, label| Sender::new(context, label, &mut StdRng::from_seed(seed));
        let (honest, public) = sender(&context(), LABEL);
        let chosen = receiver.finish(&public).unwrap();
        let strings = honest.finish(&message).unwrap();
        assert!(strings[0][0] == chosen[0] && strings[1][0] == chosen[1]);
        let other_context = Context::new(&[4; 32], "test", b"", 1, 2);
        let (other_session, _) = sender(&other_context, LABEL);
        assert!(other_session.finish(&message).unwrap()[0][0] != chosen[0]);
        let (other_label, _) = sender(&context(), Label::new("test: other"));
        assert!(other_label.finish(&message).unwrap()[0][0] != chosen[0]);
        let swapped = [&message[64..], &message[..64]].concat();
        let (again, _) = sender(&context(), LABEL);
        assert!(again.finish(&swapped).unwrap()[1][0] != chosen[0]);
    }

    #[test]
    fn elements_that_are_not_valid_are_named() {
        let rng = &mut StdRng::seed_from_u64(6);
        let (_, message) = Receiver::new(&context(), LABEL, &[0], 3, rng);
        for position in 0..6 {
            for bad in [[0; 32], [0xff; 32]] {
                let mut message = message.clone();
                message[32 * position..][..32].copy_from_slice(&bad);
                let (sender, _) = Sender::new(&context(), LABEL, rng);
                assert_eq!(sender.finish(&message).unwrap_err(), Error::InvalidElement { position });
            }
        }
        let (sender, _) = Sender::new(&context(), LABEL, rng);
        assert_eq!(sender.finish(&message[1..]).unwrap_err(), Error::MessageLength { what: "base OT" });
        let (receiver, _) = Receiver::new(&context(), LABEL, &[0], 3, rng);
        assert_eq!(receiver.finish(&[0; 32]).unwrap_err(), Error::InvalidElement { position: 0 });
    }

    #[test]
    fn a_receiver_that_aims_at_both_strings_is_refused_or_has_none() {
        let rng = &mut StdRng::seed_from_u64(8);
        let oracle = context().oracle(LABEL);
        // r_1 = -Hg(1, r_0): the second key would be the identity, whatever s is.
        let first = G::encode(&G::random_element(rng));
        let half = G::map_to_group(&to_uniform(&oracle, 0, 1, &first));
        let second = G::encode(&G::sub(&G::identity(), &G::add(&half, &half)));
        let (sender, _) = Sender::new(&context(), LABEL, rng);
        assert_eq!(
            sender.finish(&[first, second].concat()).unwrap_err(),
            Error::InvalidElement { position: 1 }
        );
        // The pair of another OT, for which the receiver knows a logarithm: none of the strings is the one it
        // expects.
        let (receiver, message) = Receiver::new(&context(), LABEL, &[0], 1, rng);
        let (sender, public) = Sender::new(&context(), LABEL, rng);
        let strings = sender.finish(&[&message[..], &message[..]].concat()).unwrap();
        let known = receiver.finish(&public).unwrap();
        assert!(strings[0][0] == known[0] && !strings[1].contains(&known[0]));
    }

    #[test]
    fn what_is_accepted_does_not_depend_on_the_choice() {
        // A sender's element that is not random: the generator, or one of the receiver's own. It is taken
        // whatever the choices are, and the strings are those that its logarithm gives.
        let rng = &mut StdRng::seed_from_u64(9);
        for choices in [[0], [0xff], [0b0110_1001]] {
            for own in [false, true] {
                let (receiver, message) = Receiver::new(&context(), LABEL, &choices, 8, rng);
                let element =
                    if own { *halves(message.first_chunk().unwrap())[1] } else { G::encode(&G::generator()) };
                assert_eq!(receiver.finish(&element).unwrap().len(), 8);
            }
        }
    }

    #[test]
    fn what_is_sent_does_not_tell_the_choice() {
        // Both elements of a pair are uniform: their encodings' bits are even, whichever was chosen.
        let rng = &mut StdRng::seed_from_u64(7);
        for choices in [[0; 64], [0xff; 64]] {
            let (_, message) = Receiver::new(&context(), LABEL, &choices, 512, rng);
            for half in 0..2 {
                let ones: u32 =
                    message.as_chunks::<64>().0.iter().map(|pair| pair[32 * half + 9].count_ones()).sum();
                assert!((1848..=2248).contains(&ones), "{ones} of 4096");
            }
        }
    }
}
