//! RSA keys for blind signatures: the plain function x ↦ x^d mod n, without padding.

use crypto_bigint::{BoxedUint, Resize};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{Crt, Exponent, InvalidModulus, Modulus, Residues, WrongSignature, prime};

/// An RSA modulus and the public exponent.
#[derive(Clone, Debug)]
pub struct RsaPublicKey {
    n: Modulus,
    e: u32,
}

/// An RSA key with its factors.
#[derive(Clone, Debug)]
pub struct RsaKey {
    public: RsaPublicKey,
    crt: Crt,
    /// d modulo p - 1, and modulo q - 1.
    d: (Exponent, Exponent),
}

impl RsaPublicKey {
    /// The key with this modulus, as a peer sent it, and the agreed exponent. Nothing shows that it is a product of
    /// two primes, nor that x ↦ x^e is a permutation modulo n.
    ///
    /// # Errors
    /// If the number cannot be a modulus, or does not have exactly `bits` bits.
    pub fn from_modulus(encoded: &[u8], bits: u32, e: u32) -> Result<Self, InvalidModulus> {
        let n = Modulus::from_be_bytes(encoded)?;
        if n.bits() != bits {
            return Err(InvalidModulus::Size { bits: n.bits() });
        }
        Ok(Self { n, e })
    }

    /// n.
    #[must_use]
    pub fn modulus(&self) -> &Modulus {
        &self.n
    }

    /// x^e modulo n.
    #[must_use]
    pub fn raise(&self, residues: &Residues) -> Residues {
        self.n.vartime_pow_public(residues, &self.e.to_be_bytes())
    }

    /// Checks that `signatures` are the e-th roots of `messages`.
    ///
    /// # Errors
    /// The first that is not.
    ///
    /// # Panics
    /// If the batches differ in length.
    pub fn verify(&self, messages: &Residues, signatures: &Residues) -> Result<(), WrongSignature> {
        assert_eq!(messages.len(), signatures.len(), "one signature for each message");
        match self.raise(signatures).first_difference(messages) {
            Some(index) => Err(WrongSignature { index }),
            None => Ok(()),
        }
    }
}

impl RsaKey {
    /// A fresh key whose modulus has exactly `bits` bits, with the odd prime `e` as its public exponent. The primes
    /// are drawn as FIPS 186-5, section A.1.3, has it: both of half the length, with the highest two bits set, far
    /// apart, and neither one more than a multiple of e.
    ///
    /// # Panics
    /// If `bits` is odd or not from 1024 to [`Modulus::MAX_BITS`].
    #[must_use]
    pub fn generate(bits: u32, e: u32, rng: &mut dyn CryptoRng) -> Self {
        assert!((1024..=Modulus::MAX_BITS).contains(&bits) && bits.is_multiple_of(2), "an RSA modulus");
        loop {
            let p = Zeroizing::new(rsa_prime(bits / 2, e, rng));
            let q = Zeroizing::new(rsa_prime(bits / 2, e, rng));
            let key = Self::from_primes(&p, &q, e);
            if let Some(key) = key.filter(|_| far_apart(&p, &q)) {
                return key;
            }
        }
    }

    /// The key with these primes; none if they do not make one.
    #[must_use]
    pub fn from_primes(p: &BoxedUint, q: &BoxedUint, e: u32) -> Option<Self> {
        let crt = Crt::new(p, q)?;
        let d = {
            let (p, q) = crt.factors();
            (root(p, e)?, root(q, e)?)
        };
        Some(Self { public: RsaPublicKey { n: crt.modulus().clone(), e }, crt, d })
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> &RsaPublicKey {
        &self.public
    }

    /// The factors.
    #[must_use]
    pub fn crt(&self) -> &Crt {
        &self.crt
    }

    /// x^d modulo n for every x, each result raised again and compared with x: one wrong half would tell a factor
    /// to whoever sees it (Boneh, DeMillo, Lipton 1997).
    ///
    /// # Errors
    /// The first result that is wrong; then none of them is given away.
    pub fn sign(&self, residues: &Residues) -> Result<Residues, WrongSignature> {
        let (p, q) = self.crt.factors();
        let (modulo_p, modulo_q) = self.crt.split(residues);
        let signatures = self.crt.join(&p.pow(&modulo_p, &self.d.0), &q.pow(&modulo_q, &self.d.1));
        self.public.verify(residues, &signatures)?;
        Ok(signatures)
    }
}

/// A prime p such that e does not divide p - 1.
fn rsa_prime(bits: u32, e: u32, rng: &mut dyn CryptoRng) -> BoxedUint {
    loop {
        let p = prime::random_rsa_prime(bits, rng);
        if root_of(&p, e).is_some() {
            return p;
        }
    }
}

/// 1 / e modulo p - 1.
fn root(p: &Modulus, e: u32) -> Option<Exponent> {
    root_of(p.value(), e).map(|d| Exponent::new(&d, p.bits()))
}

fn root_of(p: &BoxedUint, e: u32) -> Option<Zeroizing<BoxedUint>> {
    let order = Zeroizing::new(p.wrapping_sub(BoxedUint::one_with_precision(p.bits_precision())));
    let order = order.to_nz().into_option()?;
    let e = BoxedUint::from(e).resize(p.bits_precision());
    e.invert_mod(&order).into_option().map(Zeroizing::new)
}

/// True if |p - q| has at least as many bits as p, less 100.
fn far_apart(p: &BoxedUint, q: &BoxedUint) -> bool {
    let difference = if p > q { p.wrapping_sub(q) } else { q.wrapping_sub(p) };
    difference.bits() + 100 > p.bits()
}

#[cfg(test)]
impl RsaKey {
    /// This key with the exponents of another: a fault.
    pub(super) fn with_exponents_of(self, other: &Self) -> Self {
        Self { d: other.d.clone(), ..self }
    }
}
