//! The ideal twin of a group: integers modulo a prime under addition, where every logarithm is plain to see.
//!
//! It computes what a group computes and hides nothing, so a protocol over it runs at sizes that would take
//! minutes on a curve. Nothing but tests can reach it.

use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeEq};
use vesica_crypto::group::{BatchGroup, Elements, FixedBase, Group, InvalidElement, InvalidScalar};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The Mersenne prime 2^61 - 1.
const ORDER: u64 = (1 << 61) - 1;

/// Integers modulo 2^61 - 1 under addition; the generator is 1.
#[derive(Debug, Clone, Copy)]
pub struct IdealGroup;

/// An exponent.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Exponent(u64);

impl ConstantTimeEq for Exponent {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

fn reduce(value: u128) -> u64 {
    (value % u128::from(ORDER)) as u64
}

fn product(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) * u128::from(b))
}

fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(result, base);
        }
        base = product(base, base);
        exponent >>= 1;
    }
    result
}

impl Group for IdealGroup {
    type Scalar = Exponent;
    type Element = u64;
    type Encoding = [u8; 8];
    type ScalarEncoding = [u8; 8];
    type Uniform = [u8; 16];
    const EMPTY: [u8; 8] = [0; 8];
    const UNIFORM_EMPTY: [u8; 16] = [0; 16];

    fn random_scalar(rng: &mut dyn CryptoRng) -> Exponent {
        Exponent(1 + reduce(u128::from(rng.next_u64())) % (ORDER - 1))
    }
    fn scalar_from_uniform(uniform: &[u8; 16]) -> Exponent {
        Exponent(reduce(u128::from_le_bytes(*uniform)))
    }
    fn invert(a: &Exponent) -> Exponent {
        Exponent(power(a.0, ORDER - 2))
    }
    fn add_scalars(a: &Exponent, b: &Exponent) -> Exponent {
        Exponent(reduce(u128::from(a.0) + u128::from(b.0)))
    }
    fn sub_scalars(a: &Exponent, b: &Exponent) -> Exponent {
        Exponent(reduce(u128::from(a.0) + u128::from(ORDER - b.0)))
    }
    fn mul_scalars(a: &Exponent, b: &Exponent) -> Exponent {
        Exponent(product(a.0, b.0))
    }
    fn encode_scalar(a: &Exponent) -> [u8; 8] {
        a.0.to_le_bytes()
    }
    fn decode_scalar(encoded: &[u8; 8]) -> Result<Exponent, InvalidScalar> {
        Some(u64::from_le_bytes(*encoded)).filter(|a| *a < ORDER).map(Exponent).ok_or(InvalidScalar)
    }
    fn identity() -> u64 {
        0
    }
    fn generator() -> u64 {
        1
    }
    fn map_to_group(uniform: &[u8; 16]) -> u64 {
        reduce(u128::from_le_bytes(*uniform))
    }
    fn mul(scalar: &Exponent, element: &u64) -> u64 {
        product(scalar.0, *element)
    }
    fn mul_base(scalar: &Exponent) -> u64 {
        scalar.0
    }
    fn vartime_mul_sum(scalars: &[Exponent], elements: &[u64]) -> u64 {
        scalars.iter().zip(elements).fold(0, |sum, (s, e)| Self::add(&sum, &Self::mul(s, e)))
    }
    fn add(a: &u64, b: &u64) -> u64 {
        reduce(u128::from(*a) + u128::from(*b))
    }
    fn sub(a: &u64, b: &u64) -> u64 {
        reduce(u128::from(*a) + u128::from(ORDER - b))
    }
    fn encode(element: &u64) -> [u8; 8] {
        element.to_le_bytes()
    }
    fn decode(encoded: &[u8; 8]) -> Result<u64, InvalidElement> {
        let element = u64::from_le_bytes(*encoded);
        if (1..ORDER).contains(&element) { Ok(element) } else { Err(InvalidElement { index: 0 }) }
    }
    fn map_mul_encode(scalar: &Exponent, uniform: &[[u8; 16]], out: &mut [[u8; 8]]) {
        for (uniform, out) in uniform.iter().zip(out) {
            *out = Self::encode(&Self::mul(scalar, &Self::map_to_group(uniform)));
        }
    }
    fn decode_mul_encode(
        scalar: &Exponent,
        encoded: &[[u8; 8]],
        out: &mut [[u8; 8]],
    ) -> Result<(), InvalidElement> {
        for (index, (encoded, out)) in encoded.iter().zip(out).enumerate() {
            let element = Self::decode(encoded).map_err(|_| InvalidElement { index })?;
            *out = Self::encode(&Self::mul(scalar, &element));
        }
        Ok(())
    }
}

impl BatchGroup for IdealGroup {
    type Elements = IdealElements;
    type FixedBase = IdealBase;
}

/// Many elements.
pub struct IdealElements(Vec<u64>);

/// A base.
pub struct IdealBase(u64);

impl IdealElements {
    fn each(&self, compute: impl Fn(&u64) -> u64) -> Self {
        Self(self.0.iter().map(compute).collect())
    }
}

impl Elements<IdealGroup> for IdealElements {
    fn map(uniform: &[[u8; 16]]) -> Self {
        Self(uniform.iter().map(IdealGroup::map_to_group).collect())
    }
    fn decode(encoded: &[[u8; 8]]) -> Result<Self, InvalidElement> {
        let decode = |(index, encoded)| IdealGroup::decode(encoded).map_err(|_| InvalidElement { index });
        Ok(Self(encoded.iter().enumerate().map(decode).collect::<Result<_, _>>()?))
    }
    fn encode_doubles(&self, out: &mut [[u8; 8]]) {
        assert_eq!(self.0.len(), out.len());
        self.0.iter().zip(out).for_each(|(a, out)| *out = IdealGroup::encode(&IdealGroup::add(a, a)));
    }
    fn encode(&self, out: &mut [[u8; 8]]) {
        assert_eq!(self.0.len(), out.len());
        self.0.iter().zip(out).for_each(|(a, out)| *out = IdealGroup::encode(a));
    }
    fn count(&self) -> usize {
        self.0.len()
    }
    fn multiply(&self, scalar: &Exponent) -> Self {
        self.each(|a| IdealGroup::mul(scalar, a))
    }
    fn multiply_short(&self, scalar: u128) -> Self {
        self.multiply(&Exponent(reduce(scalar)))
    }
    fn add_assign(&mut self, other: &Self) {
        assert_eq!(self.0.len(), other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = IdealGroup::add(a, b));
    }
    fn add_to_all(&mut self, element: &u64) {
        *self = self.each(|a| IdealGroup::add(a, element));
    }
    fn negate(&mut self) {
        *self = self.each(|a| IdealGroup::sub(&0, a));
    }
    fn sub_assign(&mut self, other: &Self) {
        assert_eq!(self.0.len(), other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = IdealGroup::sub(a, b));
    }
    fn double_sum(&self) -> u64 {
        self.vartime_double_weighted_sum(&vec![1; self.0.len()])
    }
    fn vartime_double_weighted_sum(&self, weights: &[u128]) -> u64 {
        assert_eq!(self.0.len(), weights.len());
        let terms = self.0.iter().zip(weights).map(|(a, weight)| product(*a, reduce(*weight)));
        terms.fold(0, |sum, term| IdealGroup::add(&sum, &IdealGroup::add(&term, &term)))
    }
}

impl FixedBase<IdealGroup> for IdealBase {
    fn new(base: &u64) -> Self {
        Self(*base)
    }
    fn multiply(&self, scalars: &[Exponent]) -> IdealElements {
        IdealElements(scalars.iter().map(|scalar| IdealGroup::mul(scalar, &self.0)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn it_obeys_the_laws_of_a_group_of_prime_order() {
        let rng = &mut rand::rngs::StdRng::seed_from_u64(1);
        for _ in 0..100 {
            let (a, b) = (IdealGroup::random_scalar(rng), IdealGroup::random_scalar(rng));
            let element = IdealGroup::random_element(rng);
            let ab = IdealGroup::mul(&a, &IdealGroup::mul(&b, &element));
            assert_eq!(ab, IdealGroup::mul(&b, &IdealGroup::mul(&a, &element)));
            assert_eq!(IdealGroup::mul(&IdealGroup::invert(&a), &ab), IdealGroup::mul(&b, &element));
            assert_eq!(IdealGroup::sub(&IdealGroup::add(&ab, &element), &element), ab);
        }
        assert!(IdealGroup::decode(&[0; 8]).is_err() && IdealGroup::decode(&ORDER.to_le_bytes()).is_err());
    }
}
