//! The OT of Naor and Pinkas over any group, with a C of the sender's: the base OTs of the papers.
//!
//! **Security:** semi-honest, in the random oracle model under the computational Diffie–Hellman assumption. A
//! malicious receiver gets one string of each OT, but cannot be simulated. Unless a paper asks for this OT,
//! use [`masny_rindal`](crate::base::masny_rindal).
//!
//! Source: Naor, Pinkas, *Efficient Oblivious Transfer Protocols*, SODA 2001, §3 (the protocol in the random
//! oracle model with one r and one C for all transfers). Deviations: the hashes are the strings, and nothing
//! is encrypted under them. They also take context, index and the receiver's element.
//!
//! ```text
//! receiver, choice c                                  sender
//!                         ◄── C, R = r·G ──           C ←$ G, r ←$ Z_q*
//! k ←$ Z_q*, P_c = k·G, P_{1-c} = C - P_c
//!                         ── P_0 ──►                  P_1 = C - P_0
//! string = H(i, c, R, P_0, k·R)                       strings = H(i, j, R, P_0, r·P_j)
//! ```
//!
//! r·P_1 = r·C - r·P_0, so each OT costs the sender one multiplication.
//!
//! The level κ decides the group, as in DCW13 Table 2: P-256, P-384, P-521 for 128, 192, 256. For 80 the
//! paper has P-192, for which there is no maintained library of constant-time arithmetic; P-256 takes its
//! place.
//!
//! A peer's element must be a canonical encoding, and not the identity. An element P_0 = C, which would make
//! P_1 the identity, is refused as well.

use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use vesica_channel::Channel;
use vesica_crypto::group::{Group, P256, P384, P521};
use vesica_crypto::hash::{Context, Label, Oracle};
use zeroize::{Zeroize, Zeroizing};

use crate::base::bit;
use crate::error::Error;
use crate::seed::Seed;

/// Bytes of the sender's message.
#[must_use]
pub const fn sender_bytes<G: Group>() -> usize {
    2 * G::ENCODED
}

/// Bytes of the receiver's message, for each OT.
#[must_use]
pub const fn receiver_bytes<G: Group>() -> usize {
    G::ENCODED
}

/// Bytes of the messages of `count` OTs over the group of level `level`: from the receiver, from the sender.
#[must_use]
pub const fn bytes_at_level(level: u32, count: u64) -> [u64; 2] {
    let [each, once] = match level {
        ..=128 => [receiver_bytes::<P256>(), sender_bytes::<P256>()],
        129..=192 => [receiver_bytes::<P384>(), sender_bytes::<P384>()],
        _ => [receiver_bytes::<P521>(), sender_bytes::<P521>()],
    };
    [count * each as u64, once as u64]
}

/// Both strings of `count` OTs, over the group of level `level`.
///
/// # Errors
/// If the connection fails or the partner's elements are not valid.
pub fn send_at_level(
    level: u32,
    context: &Context,
    label: Label,
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<[Seed; 2]>, Error> {
    match level {
        ..=128 => send::<P256>(context, label, count, channel, rng),
        129..=192 => send::<P384>(context, label, count, channel, rng),
        _ => send::<P521>(context, label, count, channel, rng),
    }
}

/// The strings that the first `count` of `choices` name, over the group of level `level`.
///
/// # Errors
/// If the connection fails or the partner's elements are not valid.
///
/// # Panics
/// If there are fewer choices.
pub fn receive_at_level(
    level: u32,
    context: &Context,
    label: Label,
    choices: &[u8],
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Seed>, Error> {
    match level {
        ..=128 => receive::<P256>(context, label, choices, count, channel, rng),
        129..=192 => receive::<P384>(context, label, choices, count, channel, rng),
        _ => receive::<P521>(context, label, choices, count, channel, rng),
    }
}

/// Both strings of `count` OTs.
///
/// # Errors
/// If the connection fails or the partner's elements are not valid.
pub fn send<G: Group>(
    context: &Context,
    label: Label,
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<[Seed; 2]>, Error> {
    let oracle = context.oracle(label);
    let (constant, secret) = (G::random_element(rng), G::random_scalar(rng));
    let public = G::encode(&G::mul_base(&secret));
    channel.send(G::encode(&constant).as_ref())?;
    channel.send(public.as_ref())?;
    channel.flush()?;
    let mut theirs = vec![0; count * receiver_bytes::<G>()];
    channel.recv_exact(&mut theirs)?;
    // From it and the key of one string follows the key of the other.
    let constant_product = Zeroizing::new(G::mul(&secret, &constant));
    let mut strings = Vec::with_capacity(count);
    for (i, encoded) in theirs.chunks_exact(G::ENCODED).enumerate() {
        let zero = decode::<G>(i, encoded)?;
        if zero == constant {
            return Err(Error::InvalidElement { position: i });
        }
        // r·P_0 and r·P_1 = r·C - r·P_0.
        let product = Zeroizing::new(G::mul(&secret, &zero));
        let other = Zeroizing::new(G::sub(&constant_product, &product));
        let string = |j, key: &G::Element| to_string::<G>(&oracle, i, j, &public, encoded, key);
        strings.push([string(0, &product), string(1, &other)]);
    }
    Ok(strings)
}

/// The strings that the first `count` of `choices` name, packed eight to a byte, lowest first.
///
/// # Errors
/// If the connection fails or the partner's elements are not valid.
///
/// # Panics
/// If there are fewer choices.
pub fn receive<G: Group>(
    context: &Context,
    label: Label,
    choices: &[u8],
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Seed>, Error> {
    let oracle = context.oracle(label);
    let mut theirs = vec![0; sender_bytes::<G>()];
    channel.recv_exact(&mut theirs)?;
    let (constant, public) = theirs.split_at(G::ENCODED);
    let constant = decode::<G>(0, constant)?;
    let element = decode::<G>(1, public)?;
    let public = G::encode(&element);
    let mut strings = Vec::with_capacity(count);
    for i in 0..count {
        let choice = bit(choices, i);
        let secret = G::random_scalar(rng);
        // P_c = k·G, P_{1-c} = C - P_c; P_0 is sent.
        let chosen = G::mul_base(&secret);
        let [mut mine, other] = [G::encode(&chosen), G::encode(&G::sub(&constant, &chosen))];
        for (mine, other) in mine.as_mut().iter_mut().zip(other.as_ref()) {
            mine.conditional_assign(other, Choice::from(choice));
        }
        channel.send(mine.as_ref())?;
        let key = Zeroizing::new(G::mul(&secret, &element));
        strings.push(to_string::<G>(&oracle, i, choice, &public, mine.as_ref(), &key));
    }
    channel.flush()?;
    Ok(strings)
}

fn decode<G: Group>(position: usize, bytes: &[u8]) -> Result<G::Element, Error> {
    let mut encoded = G::EMPTY;
    encoded.as_mut().copy_from_slice(bytes);
    G::decode(&encoded).map_err(|_| Error::InvalidElement { position })
}

/// H(i, j, R, P_0, K).
fn to_string<G: Group>(
    oracle: &Oracle,
    i: usize,
    j: u8,
    public: &G::Encoding,
    zero: &[u8],
    key: &G::Element,
) -> Seed {
    let (mut string, mut key) = (Zeroizing::new([0; 32]), G::encode(key));
    oracle.hash_parts(&[&[j], &(i as u64).to_le_bytes(), public.as_ref(), zero, key.as_ref()], &mut *string);
    key.as_mut().zeroize();
    Seed::new(*string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use std::thread;
    use vesica_channel::memory;
    use vesica_crypto::group::Ristretto255;

    const LABEL: Label = Label::new("test: base OT");
    const CHOICES: [u8; 2] = [0b1010_0110, 0b1];

    fn context() -> Context {
        Context::new(&[3; 32], "test", b"", 1, 2)
    }

    fn check(strings: &[[Seed; 2]], chosen: &[Seed]) {
        assert_eq!((strings.len(), chosen.len()), (9, 9));
        for (i, (pair, chosen)) in strings.iter().zip(chosen).enumerate() {
            let choice = usize::from(bit(&CHOICES, i));
            assert!(pair[choice] == *chosen && pair[1 - choice] != *chosen, "{i}");
        }
    }

    fn transfers<G: Group>() {
        let (mut here, mut there) = memory::pair();
        thread::scope(|scope| {
            let sender = scope.spawn(move || {
                send::<G>(&context(), LABEL, 9, &mut there, &mut StdRng::seed_from_u64(1)).unwrap()
            });
            let rng = &mut StdRng::seed_from_u64(2);
            let chosen = receive::<G>(&context(), LABEL, &CHOICES, 9, &mut here, rng).unwrap();
            let traffic = here.traffic();
            assert_eq!(traffic.payload_sent as usize, 9 * receiver_bytes::<G>());
            assert_eq!(traffic.payload_received as usize, sender_bytes::<G>());
            check(&sender.join().unwrap(), &chosen);
        });
    }

    #[test]
    fn the_receiver_has_the_string_it_chose_and_not_the_other() {
        transfers::<Ristretto255>();
        transfers::<P256>();
        transfers::<P384>();
        transfers::<P521>();
    }

    #[test]
    fn every_level_has_its_group() {
        for (level, bytes) in [(80, 66), (128, 66), (192, 98), (256, 134)] {
            let (mut here, mut there) = memory::pair();
            thread::scope(|scope| {
                let sender = scope.spawn(move || {
                    let rng = &mut StdRng::seed_from_u64(1);
                    send_at_level(level, &context(), LABEL, 9, &mut there, rng).unwrap()
                });
                let rng = &mut StdRng::seed_from_u64(2);
                let chosen = receive_at_level(level, &context(), LABEL, &CHOICES, 9, &mut here, rng).unwrap();
                let traffic = here.traffic();
                assert_eq!(traffic.payload_received, bytes);
                assert_eq!([traffic.payload_sent, traffic.payload_received], bytes_at_level(level, 9));
                check(&sender.join().unwrap(), &chosen);
            });
        }
    }

    /// A sender that is sent `message` in place of P_0, or C itself.
    fn refused<G: Group>(message: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let (mut here, mut there) = memory::pair();
        let error = thread::scope(|scope| {
            let sender = scope.spawn(move || {
                send::<G>(&context(), LABEL, 1, &mut there, &mut StdRng::seed_from_u64(1)).err()
            });
            let mut theirs = vec![0; sender_bytes::<G>()];
            here.recv_exact(&mut theirs).unwrap();
            theirs.truncate(G::ENCODED);
            here.send(&message(theirs)).unwrap();
            here.flush().unwrap();
            sender.join().unwrap()
        });
        assert_eq!(error, Some(Error::InvalidElement { position: 0 }));
    }

    #[test]
    fn elements_that_are_not_valid_are_named() {
        refused::<P256>(|constant| constant);
        refused::<P256>(|constant| vec![0; constant.len()]);
        refused::<P521>(|constant| vec![0xff; constant.len()]);
        refused::<Ristretto255>(|constant| constant);
        for position in [0, 1] {
            let (mut here, mut there) = memory::pair();
            let valid = P256::encode(&P256::generator());
            for i in [0, 1] {
                there.send(if i == position { &[0; 33] } else { &valid }).unwrap();
            }
            there.flush().unwrap();
            let rng = &mut StdRng::seed_from_u64(2);
            let received = receive::<P256>(&context(), LABEL, &CHOICES, 9, &mut here, rng);
            assert_eq!(received.unwrap_err(), Error::InvalidElement { position });
        }
    }
}
