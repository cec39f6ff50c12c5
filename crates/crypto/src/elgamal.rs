//! Exponential ElGamal on ristretto255: additively homomorphic, and decrypted to an element of the group.
//!
//! With a secret s, H = s·G, and a nonce k that is drawn for every encryption,
//!
//! ```text
//! E(m) = (k·G, m·G + k·H)          E(m) + E(m') = E(m + m')          a·E(m) = E(a·m)
//! ```
//!
//! Encryption is secure against chosen plaintexts under the decisional Diffie–Hellman assumption. Decryption
//! yields m·G: whoever has a short list of candidates finds m in it, and nobody else does.
//!
//! What the block computes is the encrypted value of a polynomial at a point of the other party's. Let P be a
//! polynomial of degree M with leading coefficient 1 whose other coefficients a_0 … a_(M-1) are encrypted,
//! and let x, p be numbers. Then [`PublicKey::evaluate`] makes, with uniformly random r and t,
//!
//! ```text
//! r·(a_0 + x·(a_1 + … + x·a_(M-1))) + (r·x^M + p)·(0, G) + t·(G, H) = E(r·P(x) + p)
//! ```
//!
//! by Horner's rule. The group has a prime order q, so the numbers modulo q are a field: if P(x) is not zero,
//! then r·P(x) is uniform, and so is the plaintext. **The term t·(G, H) is needed**: without it the first
//! component is r·K(x)·G, where the holder of the key knows the polynomial K of its nonces. With the plaintext
//! that would tell it for every candidate of x whether it is right. With t both components are uniform, given
//! the plaintext.
//!
//! Powers of x are short: a step of Horner's rule takes as many bits as x may have, not those of the group
//! order. Lanes compute eight values at a time; without AVX2 curve25519-dalek does. Both give the
//! same bytes. Everything is constant time in scalars, nonces, points and plaintexts.

use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar as Integer;
use curve25519_dalek::traits::MultiscalarMul;
use rand_core::CryptoRng;
use vesica_kernels::Backend;
#[cfg(target_arch = "x86_64")]
use vesica_kernels::ristretto_lanes::{self, Kernel};
use zeroize::Zeroize;

use crate::group::{
    Elements, FixedBase, Group, InvalidElement, Ristretto255, RistrettoBase, RistrettoElements, Scalar,
};

/// The two components of a ciphertext, encoded.
pub type Ciphertext = [u8; 64];

/// A key pair. The secret is wiped when it is dropped.
pub struct SecretKey {
    backend: Backend,
    secret: Scalar,
    base: RistrettoBase,
}

/// A public key, with the tables of its multiples.
pub struct PublicKey {
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "lanes alone take it"))]
    backend: Backend,
    key: RistrettoPoint,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "lanes alone take it"))]
    bases: [RistrettoBase; 2],
}

/// Encrypted coefficients that have been checked, in the form that evaluations take.
pub struct Coefficients(Form);

enum Form {
    #[cfg(target_arch = "x86_64")]
    Lanes(Vec<ristretto_lanes::Coefficient>),
    Portable(Vec<[RistrettoPoint; 2]>),
}

impl Coefficients {
    /// Adds those of `more`, which the same key has decoded.
    pub fn append(&mut self, more: Self) {
        match (&mut self.0, more.0) {
            #[cfg(target_arch = "x86_64")]
            (Form::Lanes(all), Form::Lanes(more)) => all.extend(more),
            (Form::Portable(all), Form::Portable(more)) => all.extend(more),
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("one key decodes to one form"),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(all) => all.len(),
            Form::Portable(all) => all.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where to evaluate a polynomial, and what the value is to hide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroize)]
pub struct Query {
    /// Position of the polynomial's constant among the coefficients.
    pub first: usize,
    /// x.
    pub point: u128,
    /// p.
    pub payload: u128,
}

/// The coefficients below the leading one, which is 1, of the polynomial with these roots; the constant first.
#[must_use]
pub fn monic(roots: impl IntoIterator<Item = u128>) -> Vec<Scalar> {
    let mut coefficients: Vec<Scalar> = Vec::new();
    for root in roots {
        // Times X - y: every coefficient becomes the one below it minus y times itself.
        let root = Scalar(Integer::from(root));
        coefficients.push(Scalar(Integer::ONE));
        for i in (1..coefficients.len()).rev() {
            coefficients[i].0 = coefficients[i - 1].0 - root.0 * coefficients[i].0;
        }
        coefficients[0].0 = -(root.0 * coefficients[0].0);
    }
    coefficients
}

impl SecretKey {
    /// A new key.
    pub fn generate(rng: &mut dyn CryptoRng) -> Self {
        Self::with_backend(Backend::detect(), rng)
    }

    /// A new key whose batches `backend` computes.
    pub fn with_backend(backend: Backend, rng: &mut dyn CryptoRng) -> Self {
        let secret = Ristretto255::random_scalar(rng);
        Self { backend, secret, base: RistrettoBase::new_on(backend, &Ristretto255::generator()) }
    }

    /// H, encoded.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        Ristretto255::encode(&Ristretto255::mul_base(&self.secret))
    }

    /// `out[i] = E(messages[i])`, two multiples of the generator each.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn encrypt(&self, messages: &[Scalar], rng: &mut dyn CryptoRng, out: &mut [Ciphertext]) {
        assert_eq!(messages.len(), out.len(), "one ciphertext per message");
        let mut scalars = Vec::with_capacity(2 * messages.len());
        for message in messages {
            let nonce = Scalar(Integer::random(rng));
            // m·G + k·H = (m + k·s)·G.
            let second = Scalar(message.0 + nonce.0 * self.secret.0);
            scalars.extend([nonce, second].map(|scalar| Scalar(scalar.0.div_by_2())));
        }
        self.base.multiply(&scalars).encode_doubles(out.as_flattened_mut().as_chunks_mut().0);
    }

    /// `out[i]` encodes 2·m·G for the plaintext m of `ciphertexts[i]`. (An encoding of a double takes no square
    /// root.)
    ///
    /// # Errors
    /// The first component that is not the canonical encoding of an element, or is the identity; both
    /// components count. The content of `out` is then undefined.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn open(&self, ciphertexts: &[Ciphertext], out: &mut [[u8; 32]]) -> Result<(), InvalidElement> {
        assert_eq!(ciphertexts.len(), out.len(), "one output per ciphertext");
        let decoded = [0, 1].map(|component| {
            let encoded: Vec<[u8; 32]> =
                ciphertexts.iter().map(|ciphertext| ciphertext.as_chunks().0[component]).collect();
            RistrettoElements::decode_on(self.backend, &encoded)
                .map_err(|InvalidElement { index }| InvalidElement { index: 2 * index + component })
        });
        let (first, second) = match decoded {
            [Ok(first), Ok(second)] => (first, second),
            [Err(one), Err(other)] => return Err(if one.index < other.index { one } else { other }),
            [Err(invalid), _] | [_, Err(invalid)] => return Err(invalid),
        };
        let mut plain = first.multiply(&self.secret);
        plain.negate();
        plain.add_assign(&second);
        plain.encode_doubles(out);
        Ok(())
    }

    /// What [`open`](Self::open) gives for encryptions of these numbers.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn opened(&self, messages: &[u128], out: &mut [[u8; 32]]) {
        assert_eq!(messages.len(), out.len(), "one output per message");
        let scalars: Vec<_> = messages.iter().map(|&message| Scalar(Integer::from(message))).collect();
        self.base.multiply(&scalars).encode_doubles(out);
    }
}

impl PublicKey {
    /// The key with this encoding.
    ///
    /// # Errors
    /// If it is not the canonical encoding of an element, or is the identity.
    pub fn decode(encoded: &[u8; 32]) -> Result<Self, InvalidElement> {
        Self::decode_on(Backend::detect(), encoded)
    }

    /// [`decode`](Self::decode), for evaluations by `backend`.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_on(backend: Backend, encoded: &[u8; 32]) -> Result<Self, InvalidElement> {
        let key = Ristretto255::decode(encoded)?;
        let bases = [Ristretto255::generator(), key].map(|base| RistrettoBase::new_on(backend, &base));
        Ok(Self { backend, key: key.0, bases })
    }

    /// Checks ciphertexts of coefficients.
    ///
    /// # Errors
    /// The first component that is not the canonical encoding of an element, or is the identity; both
    /// components count.
    pub fn decode_coefficients(&self, encoded: &[Ciphertext]) -> Result<Coefficients, InvalidElement> {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = Kernel::of(self.backend) {
            return Ok(Coefficients(Form::Lanes(kernel.coefficients(encoded)?)));
        }
        let decode = |(index, ciphertext): (usize, &Ciphertext)| decode_ciphertext(index, ciphertext);
        let decoded = encoded.iter().enumerate().map(decode).collect::<Result<_, _>>()?;
        Ok(Coefficients(Form::Portable(decoded)))
    }

    /// `out[i] = E(r·P(x) + p)` for each query, with fresh r and fresh randomness; P has this degree. Points
    /// are below 2^`bits`, a public bound.
    ///
    /// # Panics
    /// If the slices differ in length, the degree is zero, or a polynomial goes beyond the coefficients.
    pub fn evaluate(
        &self,
        coefficients: &Coefficients,
        (degree, bits): (usize, u32),
        queries: &[Query],
        rng: &mut dyn CryptoRng,
        out: &mut [Ciphertext],
    ) {
        assert_eq!(queries.len(), out.len(), "one output per query");
        assert!(degree > 0, "a polynomial has a root");
        // Lanes alone save work on short points.
        #[cfg(not(target_arch = "x86_64"))]
        let _ = bits;
        let mut blinded: Vec<Blinded> =
            queries.iter().map(|query| Blinded::new(query, degree, rng)).collect();
        match &coefficients.0 {
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(coefficients) => {
                let [Some(base), Some(key)] = self.bases.each_ref().map(RistrettoBase::lanes) else {
                    unreachable!("the key has lanes, or it would not have decoded coefficients to them")
                };
                let queries: Vec<_> = (queries.iter().zip(&blinded))
                    .map(|(query, blinded)| ristretto_lanes::Query {
                        coefficients: &coefficients[query.first..query.first + degree],
                        point: query.point.to_le_bytes(),
                        factor: blinded.factor.as_bytes(),
                        nonce: blinded.nonce.as_bytes(),
                        plain: blinded.plain.as_bytes(),
                    })
                    .collect();
                Kernel::evaluate([base, key], bits as usize, &queries, out);
            }
            Form::Portable(coefficients) => {
                let value = |(query, blinded): (&Query, &Blinded)| {
                    let coefficients = &coefficients[query.first..query.first + degree];
                    blinded.evaluate(coefficients, query.point, self.key)
                };
                let mut values: Vec<_> = queries.iter().zip(&blinded).flat_map(value).collect();
                encode_doubled(&values, out.as_flattened_mut().as_chunks_mut().0);
                values.zeroize();
            }
        }
        blinded.zeroize();
    }
}

/// What hides a value, halved because encoding doubles: the result encrypts 2·(r·P(x) + p/2), and with r so is
/// 2·r uniform.
#[derive(Zeroize)]
struct Blinded {
    /// r.
    factor: Integer,
    /// t.
    nonce: Integer,
    /// r·x^M + p/2.
    plain: Integer,
}

impl Blinded {
    fn new(query: &Query, degree: usize, rng: &mut dyn CryptoRng) -> Self {
        let (factor, nonce) = (Integer::random(rng), Integer::random(rng));
        let point = Integer::from(query.point);
        let leading = (0..degree).fold(factor, |product, _| product * point);
        Self { factor, nonce, plain: leading + Integer::from(query.payload).div_by_2() }
    }

    /// Half of both components: a sum of multiples that shares its doublings.
    fn evaluate(
        &self,
        coefficients: &[[RistrettoPoint; 2]],
        point: u128,
        key: RistrettoPoint,
    ) -> [RistrettoPoint; 2] {
        let (point, base) = (Integer::from(point), Ristretto255::generator().0);
        let mut scalars = vec![self.nonce, self.plain];
        let mut power = self.factor;
        for _ in coefficients {
            scalars.push(power);
            power *= point;
        }
        let component = |n: usize| coefficients.iter().map(move |coefficient| coefficient[n]);
        // The first component has no plain term.
        let first = std::iter::once(&self.nonce).chain(&scalars[2..]);
        let values = [
            RistrettoPoint::multiscalar_mul(first, [base].into_iter().chain(component(0))),
            RistrettoPoint::multiscalar_mul(&scalars, [key, base].into_iter().chain(component(1))),
        ];
        scalars.zeroize();
        power.zeroize();
        values
    }
}

fn encode_doubled(points: &[RistrettoPoint], out: &mut [[u8; 32]]) {
    for (out, encoding) in out.iter_mut().zip(RistrettoPoint::double_and_compress_batch(points)) {
        *out = encoding.to_bytes();
    }
}

/// The components of the ciphertext at `index` of a batch.
fn decode_ciphertext(index: usize, ciphertext: &Ciphertext) -> Result<[RistrettoPoint; 2], InvalidElement> {
    let [first, second] = [0, 1].map(|component| {
        let encoding: [u8; 32] = ciphertext.as_chunks().0[component];
        Ristretto255::decode(&encoding)
            .map(|element| element.0)
            .map_err(|_| InvalidElement { index: 2 * index + component })
    });
    Ok([first?, second?])
}

#[cfg(test)]
mod tests;
