//! Endemic OT of Masny and Rindal from ML-KEM-768 (FIPS 203): base OTs that rest on no classical assumption.
//!
//! **Security:** malicious, universally composable for the *endemic* functionality, in which a corrupted party may fix
//! its own strings, in the random oracle model, under the Module-LWE assumption of ML-KEM-768. (Nobody has proved it
//! in the quantum random oracle model.) docs/post-quantum.md has the argument.
//!
//! Source: Masny, Rindal, *Endemic Oblivious Transfer*, CCS 2019 (eprint 2019/706): the OT from a key agreement whose
//! first message is uniform in a group, in the form of two messages that the paper instantiates with Kyber. The group
//! is Z_q^768 under addition, q = 3329, which holds the vector t̂ of an encapsulation key. Deviations: the hashes also
//! take the index of the OT, the seed ρ of its matrix and, where they make strings, all that both parties sent and the
//! choice that the string belongs to. So the OTs of a batch are instances on their own: nothing is shared by two of
//! them, which is what batches with one message of the sender's have to prove (McQuoid, Rosulek, Roy, eprint
//! 2021/682).
//!
//! ```text
//! receiver, choice c                                             sender
//! (ρ, t), key ← KeyGen(); r_{1-c} ←$ Z_q^768
//! r_c = t - Hg(i, c, ρ, r_{1-c})       ── ρ, r_0, r_1 ──►        2336 bytes an OT
//!                                      ◄── c_0, c_1 ──           2176 bytes an OT
//!                                                                t_j = r_j + Hg(i, j, ρ, r_{1-j})
//! K_c = Decaps(key, c_c)                                         (c_j, K_j) ← Encaps(ρ, t_j)
//! string = H(i, c, ρ, r_0, r_1, c_0, c_1, K_c)                   strings = H(i, j, ρ, r_0, r_1, c_0, c_1, K_j)
//! ```
//!
//! Names: Hg = the oracle under the caller's label, domain 0, with 144 bits for each coefficient, which are reduced
//! modulo q (RFC 9380 §5.2 has as many for a distance of 2^-128 from uniform); H = the same oracle, domain 1. The
//! context binds session, protocol and sizes; a label serves one batch of a run, so no index is used twice. A vector
//! travels as in an encapsulation key, 12 bits a coefficient.
//!
//! **Each key has a ciphertext with randomness of its own.** One r for both would save 1920 of 2176 bytes, and gives a
//! malicious receiver linear equations of r: with t_c = (a, 0, 0) for a constant a its part of the ciphertext is
//! a·r + e + m, rounded, and r is what hides the other key's.
//!
//! Cost: the receiver has a key generation, a decapsulation and 1 hash to the group, the sender two encapsulations and
//! 2 hashes to the group, an OT.
//!
//! An honest run fails with probability 2^-164.8 an OT (FIPS 203, Table 1): the receiver's string is another one then,
//! as it is if the partner sent something else than a ciphertext (implicit rejection, FIPS 203 §6.3).
//!
//! Constant time in choices and secrets. Vectors of the peer's must be canonical, each coefficient below q (FIPS 203
//! §7.2, the modulus check); the sum with a hash is canonical by itself. Any 1088 bytes are a ciphertext.

use libcrux_ml_kem::mlkem768::{self, MlKem768Ciphertext, MlKem768PrivateKey, MlKem768PublicKey};
use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use vesica_crypto::hash::{Context, Label, Oracle};
use zeroize::{Zeroize, Zeroizing};

use super::bit;
use crate::error::Error;
use crate::seed::Seed;

/// q of ML-KEM.
const Q: u16 = 3329;

/// Coefficients of a vector of three polynomials.
const COEFFICIENTS: usize = 3 * 256;

/// Bytes of a vector: 12 bits a coefficient.
const VECTOR: usize = COEFFICIENTS * 12 / 8;

/// Bytes of ρ, of a ciphertext and of the randomness that makes one.
const SEED: usize = 32;
const CIPHERTEXT: usize = MlKem768Ciphertext::len();
const RANDOMNESS: usize = 32;

/// Bytes of the receiver's message, for each OT.
pub const RECEIVER_BYTES: usize = SEED + 2 * VECTOR;

/// Bytes of the sender's message, for each OT.
pub const SENDER_BYTES: usize = 2 * CIPHERTEXT;

/// Words of 16 bits that a coefficient is reduced from.
const WORDS: usize = 9;

/// Bytes that a vector is reduced from.
const WIDE: usize = COEFFICIENTS * WORDS * 2;

/// Domains of the oracle.
const TO_GROUP: u8 = 0;
const TO_STRING: u8 = 1;

/// An element of Z_q^768, each coefficient below q.
type Vector = [u16; COEFFICIENTS];

/// The sender of base OTs, before the receiver's message has come.
pub struct Sender {
    oracle: Oracle,
    /// What the two encapsulations of each OT are made from.
    randomness: Zeroizing<Vec<[[u8; RANDOMNESS]; 2]>>,
}

impl Sender {
    /// Draws the randomness of `count` OTs.
    #[must_use]
    pub fn new(context: &Context, label: Label, count: usize, rng: &mut dyn CryptoRng) -> Self {
        let mut randomness = Zeroizing::new(vec![[[0; RANDOMNESS]; 2]; count]);
        rng.fill_bytes(randomness.as_flattened_mut().as_flattened_mut());
        Sender { oracle: context.oracle(label), randomness }
    }

    /// Both strings of every OT of the receiver's message, and the sender's message.
    ///
    /// # Errors
    /// If the message is not that of as many OTs, or a vector in it is not canonical.
    pub fn finish(self, message: &[u8]) -> Result<(Vec<[Seed; 2]>, Vec<u8>), Error> {
        let (messages, rest) = message.as_chunks::<RECEIVER_BYTES>();
        if !rest.is_empty() || messages.len() != self.randomness.len() {
            return Err(Error::MessageLength { what: "base OT" });
        }
        let mut wide = vec![0; WIDE];
        let mut strings = Vec::with_capacity(messages.len());
        let mut answer = Vec::with_capacity(messages.len() * SENDER_BYTES);
        for (i, (message, randomness)) in messages.iter().zip(self.randomness.iter()).enumerate() {
            let (rho, vectors) = parts(message);
            let mut keys = Zeroizing::new([[0; 32]; 2]);
            for j in 0..2 {
                let position = 2 * i + j;
                let mut vector = unpack(&vectors[j]).ok_or(Error::InvalidElement { position })?;
                // t_j = r_j + Hg(i, j, ρ, r_{1-j})
                to_wide(&self.oracle, i, j as u8, rho, &vectors[1 - j], &mut wide);
                combine(&mut vector, &wide, |r, hash| below_q(r + hash));
                let (ciphertext, key) = mlkem768::encapsulate(&key_of(&vector, rho), randomness[j]);
                answer.extend_from_slice(ciphertext.as_slice());
                keys[j] = *Zeroizing::new(key);
            }
            let ciphertexts = &answer[i * SENDER_BYTES..];
            let string = |j: usize| to_string(&self.oracle, i, j as u8, message, ciphertexts, &keys[j]);
            strings.push([string(0), string(1)]);
        }
        Ok((strings, answer))
    }
}

/// The receiver after it has sent its message.
pub struct Receiver {
    oracle: Oracle,
    choices: Zeroizing<Vec<u8>>,
    keys: Vec<DecapsulationKey>,
    message: Vec<u8>,
}

/// A decapsulation key, wiped when dropped.
struct DecapsulationKey(MlKem768PrivateKey);

impl Drop for DecapsulationKey {
    fn drop(&mut self) {
        self.0[0..MlKem768PrivateKey::len()].zeroize();
    }
}

impl Receiver {
    /// Makes a key pair and draws r_{1-c} for each of `count` OTs. The message holds ρ and both vectors of each. The
    /// choices are packed eight to a byte, lowest first.
    ///
    /// # Panics
    /// If there are fewer than `count` choices.
    #[must_use]
    pub fn new(
        context: &Context,
        label: Label,
        choices: &[u8],
        count: usize,
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        let oracle = context.oracle(label);
        let mut keys = Vec::with_capacity(count);
        let mut message = Vec::with_capacity(count * RECEIVER_BYTES);
        let mut wide = Zeroizing::new(vec![0; WIDE]);
        for i in 0..count {
            let mut seed = Zeroizing::new([0; 64]);
            rng.fill_bytes(&mut *seed);
            let (key, public) = mlkem768::generate_key_pair(*seed).into_parts();
            keys.push(DecapsulationKey(key));
            let (key_vector, rho) = split(&public);
            // r_{1-c}
            rng.fill_bytes(&mut wide);
            let mut vector = Zeroizing::new([0; COEFFICIENTS]);
            combine(&mut vector, &wide, |_, random| random);
            let mut other = Zeroizing::new(pack(&vector));
            // r_c = t - Hg(i, c, ρ, r_{1-c})
            let choice = bit(choices, i);
            to_wide(&oracle, i, choice, rho, &other, &mut wide);
            *vector = unpack_own(key_vector);
            combine(&mut vector, &wide, |t, hash| below_q(t + Q - hash));
            let mut chosen = Zeroizing::new(pack(&vector));
            // The swap puts r_0 first.
            <[u8; VECTOR]>::conditional_swap(&mut chosen, &mut other, Choice::from(choice));
            [rho, &*chosen, &*other].into_iter().for_each(|part| message.extend_from_slice(part));
        }
        let choices = Zeroizing::new(choices.to_vec());
        (Receiver { oracle, choices, keys, message: message.clone() }, message)
    }

    /// The chosen string of every OT.
    ///
    /// # Errors
    /// If the sender's message is not that of as many OTs.
    pub fn finish(self, answer: &[u8]) -> Result<Vec<Seed>, Error> {
        let (answers, rest) = answer.as_chunks::<SENDER_BYTES>();
        if !rest.is_empty() || answers.len() != self.keys.len() {
            return Err(Error::MessageLength { what: "base OT" });
        }
        let messages = self.message.as_chunks::<RECEIVER_BYTES>().0;
        let string = |(i, (key, (message, ciphertexts))): (usize, (&DecapsulationKey, (&_, &[u8; _])))| {
            let choice = bit(&self.choices, i);
            let [zero, one] = ciphertexts.as_chunks::<CIPHERTEXT>().0 else { unreachable!("two halves") };
            let chosen =
                Zeroizing::new(<[u8; CIPHERTEXT]>::conditional_select(zero, one, Choice::from(choice)));
            let shared = Zeroizing::new(mlkem768::decapsulate(&key.0, &(*chosen).into()));
            to_string(&self.oracle, i, choice, message, ciphertexts, &shared)
        };
        Ok(self.keys.iter().zip(messages.iter().zip(answers)).enumerate().map(string).collect())
    }
}

/// ρ and both vectors of a receiver's message of one OT.
fn parts(message: &[u8; RECEIVER_BYTES]) -> (&[u8], &[[u8; VECTOR]]) {
    let (rho, vectors) = message.split_at(SEED);
    (rho, vectors.as_chunks().0)
}

/// The packed vector of an encapsulation key, and ρ.
fn split(key: &MlKem768PublicKey) -> (&[u8; VECTOR], &[u8]) {
    // A key is longer than its vector.
    key.as_slice().split_first_chunk().unwrap_or_else(|| unreachable!("1184 bytes"))
}

/// The encapsulation key of this vector and ρ.
fn key_of(vector: &Vector, rho: &[u8]) -> MlKem768PublicKey {
    let mut key = [0; VECTOR + SEED];
    let (packed, seed) = key.split_at_mut(VECTOR);
    packed.copy_from_slice(&pack(vector));
    seed.copy_from_slice(rho);
    key.into()
}

/// What a hash to the group is reduced from: Hg(i, j, ρ, r).
fn to_wide(oracle: &Oracle, i: usize, j: u8, rho: &[u8], other: &[u8; VECTOR], wide: &mut [u8]) {
    oracle.hash_parts(&[&[TO_GROUP, j], &(i as u64).to_le_bytes(), rho, other], wide);
}

/// H(i, j, ρ, r_0, r_1, c_0, c_1, K).
fn to_string(
    oracle: &Oracle,
    i: usize,
    j: u8,
    message: &[u8; RECEIVER_BYTES],
    ciphertexts: &[u8],
    key: &[u8; 32],
) -> Seed {
    let mut string = Zeroizing::new([0; 32]);
    oracle.hash_parts(&[&[TO_STRING, j], &(i as u64).to_le_bytes(), message, ciphertexts, key], &mut *string);
    Seed::new(*string)
}

/// Sets each coefficient to `operation` of itself and of a number below q that `wide` gives.
fn combine(vector: &mut Vector, wide: &[u8], operation: impl Fn(u16, u16) -> u16) {
    for (coefficient, bytes) in vector.iter_mut().zip(wide.as_chunks::<{ 2 * WORDS }>().0) {
        *coefficient = operation(*coefficient, reduce(bytes));
    }
}

/// 2^(16·k) modulo q.
const POWERS: [u32; WORDS] = {
    let (mut powers, mut k) = ([1; WORDS], 1);
    while k < WORDS {
        powers[k] = (powers[k - 1] << 16) % Q as u32;
        k += 1;
    }
    powers
};

/// A number of 144 bits, little-endian, modulo q. Without a division, whose time could depend on it.
fn reduce(bytes: &[u8; 2 * WORDS]) -> u16 {
    // Below 9·2^16·q < 2^31.
    let words = bytes.as_chunks::<2>().0.iter().zip(POWERS);
    let sum: u32 = words.map(|(word, power)| u32::from(u16::from_le_bytes(*word)) * power).sum();
    // Barrett: the quotient, or one less.
    const SHIFT: u32 = 44;
    const FACTOR: u64 = (1 << SHIFT) / Q as u64;
    let quotient = (u64::from(sum) * FACTOR) >> SHIFT;
    below_q((u64::from(sum) - quotient * u64::from(Q)) as u16)
}

/// A number below 2·q modulo q, without a branch.
const fn below_q(number: u16) -> u16 {
    let less = number.wrapping_sub(Q);
    // All ones if it was below q.
    let mask = 0u16.wrapping_sub(less >> 15);
    less.wrapping_add(mask & Q)
}

/// A vector in 12 bits a coefficient (FIPS 203, ByteEncode_12).
fn pack(vector: &Vector) -> [u8; VECTOR] {
    let mut packed = [0; VECTOR];
    for (bytes, [a, b]) in packed.as_chunks_mut::<3>().0.iter_mut().zip(vector.as_chunks().0) {
        *bytes = [*a as u8, (a >> 8) as u8 | (b << 4) as u8, (b >> 4) as u8];
    }
    packed
}

/// The vector of such bytes (FIPS 203, ByteDecode_12), each coefficient below 2^12.
fn unpack_own(packed: &[u8; VECTOR]) -> Vector {
    let mut vector = [0; COEFFICIENTS];
    for ([a, b], bytes) in vector.as_chunks_mut::<2>().0.iter_mut().zip(packed.as_chunks::<3>().0) {
        let [low, middle, high] = bytes.map(u16::from);
        (*a, *b) = (low | (middle & 15) << 8, middle >> 4 | high << 4);
    }
    vector
}

/// The peer's vector; none if a coefficient is not below q (the modulus check of FIPS 203 §7.2).
fn unpack(packed: &[u8; VECTOR]) -> Option<Vector> {
    Some(unpack_own(packed)).filter(|vector| vector.iter().all(|coefficient| *coefficient < Q))
}

#[cfg(test)]
mod tests;
