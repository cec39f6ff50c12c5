//! Paillier encryption: additively homomorphic modulo N.
//!
//! Paillier (EUROCRYPT 1999), with g = 1 + N. For a secret N = p·q with primes of one length, a message m modulo N
//! and a unit u modulo N,
//!
//! ```text
//! E(m; u) = (1 + m·N) · u^N  mod N²           E(m)·E(m') = E(m + m')          E(m)^a = E(a·m)
//! ```
//!
//! Encryption is secure against chosen plaintexts under the decisional composite residuosity assumption. Primes of
//! one length give gcd(N, φ(N)) = 1, without which decryption would not be unique: p divides q - 1 only if q - 1 = p
//! or q > 2p.
//!
//! **Randomness ahead of time.** Nearly all of the work is u^N, which depends on no message.
//! [`Randomisers`] are made ahead, by either side, and each is used once: [`PublicKey::encrypt`] and
//! [`PublicKey::rerandomise`] take them by value. A result of homomorphic operations must be re-randomised before
//! it goes to the holder of the key, who can take N-th roots and would find in its randomness what was computed.
//!
//! **With the key**, both u^N and decryption go by the Chinese remainder theorem. Modulo p² the N-th powers of units
//! are the p-th powers, since q is coprime to p - 1. So a uniformly random x modulo p gives x^p modulo p², an
//! exponent of half the length on a modulus of half the length. Decryption is
//!
//! ```text
//! m mod p = -L_p(c^(p-1) mod p²) / q          L_p(x) = (x - 1) / p
//! ```
//!
//! because (1 + m·N)^(p-1) = 1 + (p - 1)·m·N modulo p², and u^(N·(p-1)) = 1.
//!
//! Everything is constant time in messages, randomness, exponents and the factors, but for lengths. A modulus from a
//! peer is checked for its length and for being odd. It could be no product of two primes of one length: its owner
//! would then hurt the security of its own messages, and could learn more than the plaintext from a result. The
//! block is for semi-honest owners.

use core::fmt;

use crypto_bigint::{ConcatenatingSquare, NonZero};
use rand_core::CryptoRng;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::bigint::{
    BoxedUint, Crt, Exponent, InvalidModulus, InvalidResidue, Modulus, Residue, Residues, prime,
};

/// A ciphertext is no unit modulo N²: no encryption of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("ciphertext {index} of the batch is not valid")]
pub struct InvalidCiphertext {
    /// Position in the batch.
    pub index: usize,
}

/// Ciphertexts under one key.
#[derive(Clone, Debug)]
pub struct Ciphertexts(Residues);

/// Encryptions of zero that nobody has seen. They are not cloned, since each is to be used once.
pub struct Randomisers(Residues);

impl fmt::Debug for Randomisers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Randomisers({})", self.0.len())
    }
}

/// A modulus, and what encryption needs of it.
#[derive(Clone, Debug)]
pub struct PublicKey {
    n: Modulus,
    n_squared: Modulus,
    /// N modulo N².
    shift: Residue,
    /// N.
    exponent: Exponent,
}

/// The factors of a modulus. They are wiped when they are dropped.
#[derive(Clone, Debug)]
pub struct SecretKey {
    public: PublicKey,
    /// p and q.
    plain: Crt,
    /// p² and q².
    squares: Crt,
    halves: [Half; 2],
}

/// What computations modulo the square of one prime need.
#[derive(Clone, Debug)]
struct Half {
    /// p.
    prime: Modulus,
    /// p².
    square: Modulus,
    /// p.
    power: Exponent,
    /// p - 1.
    order: Exponent,
    /// -1 / q modulo p.
    scale: Residue,
}

impl Ciphertexts {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends those of `more`, under the same key.
    ///
    /// # Panics
    /// If their length is another one.
    pub fn append(&mut self, more: &Self) {
        self.0.extend(&more.0);
    }

    /// Those at these positions, in this order.
    ///
    /// # Panics
    /// If a position is out of range.
    #[must_use]
    pub fn gather(&self, positions: &[u32]) -> Self {
        Self(self.0.gather(positions))
    }
}

impl Randomisers {
    /// The first `count`, and the others.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split_at(self, count: usize) -> (Self, Self) {
        let (first, others) = self.0.split_at(count);
        (Self(first), Self(others))
    }
}

impl PublicKey {
    /// The key with this modulus, of exactly `bits` bits, as a peer sent it.
    ///
    /// # Errors
    /// If it is even or has another length.
    pub fn from_be_bytes(encoded: &[u8], bits: u32) -> Result<Self, InvalidModulus> {
        let n = Modulus::from_be_bytes(encoded)?;
        if n.bits() == bits { Self::new(n) } else { Err(InvalidModulus::Size { bits: n.bits() }) }
    }

    fn new(n: Modulus) -> Result<Self, InvalidModulus> {
        let n_squared = Modulus::from_uint(&square(n.value()))?.with_backend(n.backend());
        let shift = n_squared.residue(n.value());
        let exponent = Exponent::new(n.value(), n.bits());
        Ok(Self { n, n_squared, shift, exponent })
    }

    /// N, whose residues are the messages.
    #[must_use]
    pub fn messages(&self) -> &Modulus {
        &self.n
    }

    /// Bytes of an encoded ciphertext.
    #[must_use]
    pub fn ciphertext_bytes(&self) -> usize {
        self.n_squared.bytes()
    }

    /// The ciphertexts with these encodings: big-endian, one after another.
    ///
    /// # Errors
    /// The first that is zero or not below N².
    pub fn decode(&self, encoded: &[u8]) -> Result<Ciphertexts, InvalidResidue> {
        self.n_squared.decode(encoded).map(Ciphertexts)
    }

    /// Appends the encodings that [`decode`](Self::decode) reads.
    pub fn encode(&self, ciphertexts: &Ciphertexts, out: &mut Vec<u8>) {
        self.n_squared.encode(&ciphertexts.0, out);
    }

    /// Replaces `out` by these encodings.
    ///
    /// # Panics
    /// If they are not as long.
    pub fn write(&self, ciphertexts: &Ciphertexts, out: &mut [u8]) {
        let mut encoded = Vec::with_capacity(out.len());
        self.encode(ciphertexts, &mut encoded);
        out.copy_from_slice(&encoded);
    }

    /// u^N for uniformly random units u. Who has the key is faster: [`SecretKey::randomisers`].
    #[must_use]
    pub fn randomisers(&self, count: usize, rng: &mut dyn CryptoRng) -> Randomisers {
        Randomisers(self.n_squared.pow(&self.lift(&self.n.random_unit(count, rng)), &self.exponent))
    }

    /// E(m) for each message.
    ///
    /// # Panics
    /// If there is not one randomiser for each.
    #[must_use]
    pub fn encrypt(&self, messages: &Residues, randomisers: Randomisers) -> Ciphertexts {
        Ciphertexts(self.n_squared.mul(&self.unhidden(messages), &randomisers.0))
    }

    /// E(a + b), position by position.
    ///
    /// # Panics
    /// If the batches differ in length.
    #[must_use]
    pub fn add(&self, a: &Ciphertexts, b: &Ciphertexts) -> Ciphertexts {
        Ciphertexts(self.n_squared.mul(&a.0, &b.0))
    }

    /// E(a + m), position by position, with the randomness of E(a).
    ///
    /// # Panics
    /// If the batches differ in length.
    #[must_use]
    pub fn add_messages(&self, a: &Ciphertexts, messages: &Residues) -> Ciphertexts {
        Ciphertexts(self.n_squared.mul(&a.0, &self.unhidden(messages)))
    }

    /// E(k·a), position by position. A step of a short factor costs as much as the factor is long.
    ///
    /// # Panics
    /// If there is not one factor for each.
    #[must_use]
    pub fn multiply(&self, a: &Ciphertexts, factors: &[Exponent]) -> Ciphertexts {
        Ciphertexts(self.n_squared.pow_each(&a.0, factors))
    }

    /// Encryptions of the messages of `a` under randomness that nobody knows.
    ///
    /// # Panics
    /// If there is not one randomiser for each.
    #[must_use]
    pub fn rerandomise(&self, a: &Ciphertexts, randomisers: Randomisers) -> Ciphertexts {
        Ciphertexts(self.n_squared.mul(&a.0, &randomisers.0))
    }

    /// 1 + m·N.
    fn unhidden(&self, messages: &Residues) -> Residues {
        let multiples = self.n_squared.mul_one(&self.lift(messages), &self.shift);
        let one = self.n_squared.residue(&BoxedUint::one());
        let mut ones = self.n_squared.none(messages.len());
        (0..messages.len()).for_each(|_| ones.push(&one));
        self.n_squared.add(&multiples, &ones)
    }

    /// Residues modulo N as residues modulo N².
    fn lift(&self, residues: &Residues) -> Residues {
        lift(&self.n, &self.n_squared, residues)
    }
}

impl SecretKey {
    /// A fresh key whose modulus has exactly `bits` bits. Its primes have half the length, and their highest two bits
    /// are set.
    ///
    /// # Panics
    /// If `bits` is odd, below 1024 or above half of what a modulus may have.
    #[must_use]
    pub fn generate(bits: u32, rng: &mut dyn CryptoRng) -> Self {
        assert!(
            (1024..=Modulus::MAX_BITS / 2).contains(&bits) && bits.is_multiple_of(2),
            "the length of a key"
        );
        loop {
            let p = Zeroizing::new(prime::random_rsa_prime(bits / 2, rng));
            let q = Zeroizing::new(prime::random_rsa_prime(bits / 2, rng));
            // Two equal primes do not happen, and are not coprime.
            if let Some(key) = Self::from_primes(&p, &q) {
                return key;
            }
        }
    }

    /// The key with these primes; none if they differ in length, are equal, or have no length that a key may have.
    #[must_use]
    pub fn from_primes(p: &BoxedUint, q: &BoxedUint) -> Option<Self> {
        let plain = Crt::new(p, q)?;
        let (p, q) = plain.factors();
        let squares = Crt::new(&square(p.value()), &square(q.value()))?;
        let (p_squared, q_squared) = squares.factors();
        let halves = [Half::new(p, p_squared, q)?, Half::new(q, q_squared, p)?];
        let public = PublicKey::new(plain.modulus().clone()).ok()?;
        Some(Self { public, plain, squares, halves })
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// [`PublicKey::randomisers`], at a quarter of the cost.
    #[must_use]
    pub fn randomisers(&self, count: usize, rng: &mut dyn CryptoRng) -> Randomisers {
        let [p, q] = self.halves.each_ref().map(|half| {
            let units = half.prime.random_unit(count, rng);
            half.square.pow(&lift(&half.prime, &half.square, &units), &half.power)
        });
        Randomisers(self.squares.join(&p, &q))
    }

    /// The messages.
    ///
    /// # Errors
    /// The first ciphertext that is no unit. (Whoever made it knows a factor of N, or had a chance of 2^-511.)
    pub fn decrypt(&self, ciphertexts: &Ciphertexts) -> Result<Residues, InvalidCiphertext> {
        let (p, q) = self.squares.split(&ciphertexts.0);
        let [p, q] = [self.halves[0].decrypt(&p), self.halves[1].decrypt(&q)];
        match (p, q) {
            (Ok(p), Ok(q)) => Ok(self.plain.join(&p, &q)),
            (Err(p), Err(q)) => Err(if p.index < q.index { p } else { q }),
            (Err(invalid), _) | (_, Err(invalid)) => Err(invalid),
        }
    }
}

impl Half {
    fn new(prime: &Modulus, square: &Modulus, other: &Modulus) -> Option<Self> {
        let one = BoxedUint::one_with_precision(prime.value().bits_precision());
        let order = Zeroizing::new(prime.value().wrapping_sub(&one));
        let opposite = prime.sub(
            &prime.batch(&prime.residue(&BoxedUint::zero())),
            &prime.batch(&prime.residue(other.value())),
        );
        Some(Self {
            prime: prime.clone(),
            square: square.clone(),
            power: Exponent::new(prime.value(), prime.bits()),
            order: Exponent::new(&order, prime.bits()),
            scale: prime.invert(&opposite)?.get(0),
        })
    }

    /// The messages modulo the prime.
    fn decrypt(&self, ciphertexts: &Residues) -> Result<Residues, InvalidCiphertext> {
        let powers = self.square.pow(ciphertexts, &self.order);
        let mut quotients = self.prime.none(powers.len());
        for index in 0..powers.len() {
            let power = Zeroizing::new(powers.get(index).to_uint());
            quotients.push(&self.quotient(&power).ok_or(InvalidCiphertext { index })?);
        }
        Ok(self.prime.mul_one(&quotients, &self.scale))
    }

    /// L(x) = (x - 1) / p, if x is 1 modulo p.
    fn quotient(&self, power: &BoxedUint) -> Option<Residue> {
        let divisor = NonZero::new(self.prime.value().clone()).into_option()?;
        let one = BoxedUint::one_with_precision(power.bits_precision());
        let (quotient, remainder) = Zeroizing::new(power.wrapping_sub(&one)).div_rem(&divisor);
        let (quotient, remainder) = (Zeroizing::new(quotient), Zeroizing::new(remainder));
        bool::from(remainder.is_zero()).then(|| self.prime.residue(&quotient))
    }
}

/// The residues of `from` as residues of the longer modulus `to`.
fn lift(from: &Modulus, to: &Modulus, residues: &Residues) -> Residues {
    let mut encoded = Zeroizing::new(Vec::with_capacity(residues.len() * from.bytes()));
    from.encode(residues, &mut encoded);
    to.reduce(&encoded, from.bytes())
}

fn square(number: &BoxedUint) -> Zeroizing<BoxedUint> {
    Zeroizing::new(number.concatenating_square())
}

#[cfg(test)]
mod tests;
