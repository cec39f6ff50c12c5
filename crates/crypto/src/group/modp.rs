//! Groups modulo a safe prime p = 2q + 1 of a standard (RFC 2409, RFC 3526): the residues up to their sign.
//!
//! The group is Z_p^* / {1, -1}, of prime order q; a class {x, -x} is written as the smaller of x and p - x, a number
//! from 1 to q. Squaring is an isomorphism onto the squares modulo p, which square roots invert (p is 3 modulo 4), so
//! that logarithms and the Diffie-Hellman problems are as hard as there. But every number from 2 to q is an element
//! other than the identity: a range check validates an encoding, where the squares would need an exponentiation or a
//! Jacobi symbol, and any residue is an element, so that uniform bytes reduced modulo p map to the group with a
//! logarithm that nobody knows.
//!
//! The types with *short exponents* draw secret scalars of 2κ bits, as in NIST SP 800-56A. That asks for one more
//! assumption: powers to short exponents cannot be told from powers to uniform ones (discrete logarithms with short
//! exponents: van Oorschot and Wiener 1996; Koshiba and Kurosawa 2004). The inverse of such a scalar is not short.
//!
//! Elements and scalars are encoded big-endian, with as many bytes as p.

use core::fmt;
use core::marker::PhantomData;
use std::sync::OnceLock;

use crypto_bigint::{BoxedUint, NonZero, Odd, Resize};
use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{Group, InvalidElement, InvalidScalar};
use crate::bigint::{Exponent, Modulus, Residues, modp};

/// A prime, and how long exponents are.
pub trait Size: Copy + Eq + Send + Sync + 'static {
    /// As many bytes as the prime has.
    type Bytes: Copy + Eq + Ord + AsRef<[u8]> + AsMut<[u8]> + Zeroize + Send + Sync;
    /// 16 bytes more.
    type Uniform: Copy + AsRef<[u8]> + AsMut<[u8]> + Zeroize + Send + Sync;
    /// Zeros.
    const EMPTY: Self::Bytes;
    /// Zeros.
    const UNIFORM_EMPTY: Self::Uniform;
    /// The length of a secret exponent; none for the length of the order.
    const EXPONENT_BITS: Option<u32>;
    /// The prime and the order.
    fn numbers() -> &'static Numbers;
}

/// The prime p and the order q.
#[derive(Debug)]
pub struct Numbers {
    modulus: Modulus,
    order: BoxedUint,
}

impl Numbers {
    fn of(bits: u32) -> Self {
        #[expect(clippy::expect_used, reason = "the sizes of the types below have a prime")]
        let modulus = modp::modulus(bits).expect("a standard prime");
        let order = modulus.value().shr(1);
        Self { modulus, order }
    }

    fn nonzero_order(&self) -> NonZero<BoxedUint> {
        self.odd_order().as_nz_ref().clone()
    }

    fn odd_order(&self) -> Odd<BoxedUint> {
        #[expect(clippy::expect_used, reason = "a prime above 2")]
        Odd::new(self.order.clone()).into_option().expect("an odd order")
    }
}

/// The group of residues up to their sign, modulo the prime of this size.
#[derive(Clone, Copy, Debug)]
pub struct Modp<S>(PhantomData<S>);

/// A residue up to its sign: its encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Element<S: Size>(S::Bytes);

/// An integer modulo the order. Its length is public. Wiped when dropped.
#[derive(Clone)]
pub struct Scalar<S: Size> {
    value: BoxedUint,
    bits: u32,
    size: PhantomData<S>,
}

impl<S: Size> fmt::Debug for Element<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Element(..)")
    }
}

impl<S: Size> fmt::Debug for Scalar<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

impl<S: Size> ConstantTimeEq for Element<S> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.as_ref().ct_eq(other.0.as_ref())
    }
}

impl<S: Size> Zeroize for Element<S> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl<S: Size> ConstantTimeEq for Scalar<S> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.value.as_words().ct_eq(other.value.as_words())
    }
}

impl<S: Size> Zeroize for Scalar<S> {
    fn zeroize(&mut self) {
        self.value.zeroize();
    }
}

impl<S: Size> Drop for Scalar<S> {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl<S: Size> ZeroizeOnDrop for Scalar<S> {}

impl<S: Size> Scalar<S> {
    /// A scalar of the order's length.
    fn new(value: BoxedUint) -> Self {
        let value = Zeroizing::new(value);
        let value = (&*value).resize(S::numbers().modulus.value().bits_precision());
        Self { value, bits: S::numbers().order.bits(), size: PhantomData }
    }

    fn exponent(&self) -> Exponent {
        Exponent::new(&self.value, self.bits)
    }
}

impl<S: Size> Modp<S> {
    fn modulus() -> &'static Modulus {
        &S::numbers().modulus
    }

    /// The residues behind elements, the identity among them.
    fn residues<'a>(elements: impl Iterator<Item = &'a Element<S>>) -> Residues {
        let encoded: Vec<u8> = elements.flat_map(|element| element.0.as_ref()).copied().collect();
        #[expect(clippy::expect_used, reason = "an element is a canonical residue")]
        Self::modulus().decode(&encoded).expect("elements")
    }

    fn first(residues: &Residues) -> Element<S> {
        let mut element = Element(S::EMPTY);
        Self::encode_all(residues, core::slice::from_mut(&mut element.0));
        element
    }

    fn encode_all(residues: &Residues, out: &mut [S::Bytes]) {
        let mut encoded = Zeroizing::new(Vec::new());
        Self::modulus().encode_up_to_sign(residues, &mut encoded);
        for (out, encoded) in out.iter_mut().zip(encoded.chunks_exact(Self::modulus().bytes())) {
            out.as_mut().copy_from_slice(encoded);
        }
    }
}

impl<S: Size> Group for Modp<S> {
    type Scalar = Scalar<S>;
    type Element = Element<S>;
    type Encoding = S::Bytes;
    type ScalarEncoding = S::Bytes;
    type Uniform = S::Uniform;

    const BATCH: usize = 64;
    const EMPTY: S::Bytes = S::EMPTY;
    const UNIFORM_EMPTY: S::Uniform = S::UNIFORM_EMPTY;

    fn random_scalar(rng: &mut dyn CryptoRng) -> Scalar<S> {
        let Some(bits) = S::EXPONENT_BITS else {
            return Scalar::new(Exponent::random_below(&S::numbers().order, rng).value().clone());
        };
        loop {
            let exponent = Exponent::random(bits, rng);
            if !exponent.value().is_zero().to_bool() {
                let mut scalar = Scalar::new(exponent.value().clone());
                scalar.bits = bits;
                return scalar;
            }
        }
    }

    fn scalar_from_uniform(uniform: &S::Uniform) -> Scalar<S> {
        let integer = BoxedUint::from_be_slice_truncated(uniform.as_ref(), Self::UNIFORM as u32 * 8);
        Scalar::new(Zeroizing::new(integer).rem(&S::numbers().nonzero_order()))
    }

    fn invert(a: &Scalar<S>) -> Scalar<S> {
        let inverse = a.value.invert_odd_mod(&S::numbers().odd_order());
        let zero = || BoxedUint::zero_with_precision(a.value.bits_precision());
        Scalar::new(inverse.into_option().unwrap_or_else(zero))
    }

    fn add_scalars(a: &Scalar<S>, b: &Scalar<S>) -> Scalar<S> {
        Scalar::new(a.value.add_mod(&b.value, &S::numbers().nonzero_order()))
    }

    fn sub_scalars(a: &Scalar<S>, b: &Scalar<S>) -> Scalar<S> {
        Scalar::new(a.value.sub_mod(&b.value, &S::numbers().nonzero_order()))
    }

    fn mul_scalars(a: &Scalar<S>, b: &Scalar<S>) -> Scalar<S> {
        Scalar::new(a.value.mul_mod(&b.value, &S::numbers().nonzero_order()))
    }

    fn encode_scalar(a: &Scalar<S>) -> S::Bytes {
        let mut encoded = S::EMPTY;
        encoded.as_mut().copy_from_slice(&Zeroizing::new(a.value.to_be_bytes().into_vec()));
        encoded
    }

    fn decode_scalar(encoded: &S::Bytes) -> Result<Scalar<S>, InvalidScalar> {
        let value = BoxedUint::from_be_slice_truncated(encoded.as_ref(), Self::SCALAR_ENCODED as u32 * 8);
        if value < S::numbers().order { Ok(Scalar::new(value)) } else { Err(InvalidScalar) }
    }

    fn identity() -> Element<S> {
        let mut one = S::EMPTY;
        one.as_mut()[Self::ENCODED - 1] = 1;
        Element(one)
    }

    fn generator() -> Element<S> {
        let mut two = S::EMPTY;
        two.as_mut()[Self::ENCODED - 1] = 2;
        Element(two)
    }

    fn map_to_group(uniform: &S::Uniform) -> Element<S> {
        Self::first(&Self::modulus().reduce_wide(uniform.as_ref(), Self::UNIFORM))
    }

    fn mul(scalar: &Scalar<S>, element: &Element<S>) -> Element<S> {
        Self::first(&Self::modulus().pow(&Self::residues([element].into_iter()), &scalar.exponent()))
    }

    fn mul_base(scalar: &Scalar<S>) -> Element<S> {
        Self::mul(scalar, &Self::generator())
    }

    fn vartime_mul_sum(scalars: &[Scalar<S>], elements: &[Element<S>]) -> Element<S> {
        assert_eq!(scalars.len(), elements.len(), "one scalar per element");
        let exponents: Vec<Exponent> = scalars.iter().map(Scalar::exponent).collect();
        let powers = Self::modulus().pow_each(&Self::residues(elements.iter()), &exponents);
        let one = Self::residues([Self::identity()].iter());
        let factor = |index| Self::modulus().batch(&powers.get(index));
        Self::first(
            &(0..powers.len()).fold(one, |product, index| Self::modulus().mul(&product, &factor(index))),
        )
    }

    fn add(a: &Element<S>, b: &Element<S>) -> Element<S> {
        let [a, b] = [a, b].map(|element| Self::residues([element].into_iter()));
        Self::first(&Self::modulus().mul(&a, &b))
    }

    fn sub(a: &Element<S>, b: &Element<S>) -> Element<S> {
        let [a, b] = [a, b].map(|element| Self::residues([element].into_iter()));
        #[expect(clippy::expect_used, reason = "no element is zero modulo the prime")]
        let inverse = Self::modulus().invert(&b).expect("a unit");
        Self::first(&Self::modulus().mul(&a, &inverse))
    }

    fn encode(element: &Element<S>) -> S::Bytes {
        element.0
    }

    fn decode(encoded: &S::Bytes) -> Result<Element<S>, InvalidElement> {
        match Self::modulus().decode_up_to_sign(encoded.as_ref()) {
            Ok(_) => Ok(Element(*encoded)),
            Err(_) => Err(InvalidElement { index: 0 }),
        }
    }

    fn map_mul_encode(scalar: &Scalar<S>, uniform: &[S::Uniform], out: &mut [S::Bytes]) {
        assert_eq!(uniform.len(), out.len(), "one output per input");
        let uniform: Zeroizing<Vec<u8>> =
            Zeroizing::new(uniform.iter().flat_map(AsRef::as_ref).copied().collect());
        let elements = Self::modulus().reduce_wide(&uniform, Self::UNIFORM);
        Self::encode_all(&Self::modulus().pow(&elements, &scalar.exponent()), out);
    }

    fn decode_mul_encode(
        scalar: &Scalar<S>,
        encoded: &[S::Bytes],
        out: &mut [S::Bytes],
    ) -> Result<(), InvalidElement> {
        assert_eq!(encoded.len(), out.len(), "one output per input");
        let encoded: Vec<u8> = encoded.iter().flat_map(AsRef::as_ref).copied().collect();
        let elements = Self::modulus().decode_up_to_sign(&encoded);
        let elements = elements.map_err(|invalid| InvalidElement { index: invalid.index })?;
        Self::encode_all(&Self::modulus().pow(&elements, &scalar.exponent()), out);
        Ok(())
    }
}

/// Defines two groups: the bits and bytes of the prime, its uniform bytes, and the bits of a short exponent.
macro_rules! size {
    ($Size:ident, $Short:ident, $bits:literal, $bytes:literal, $uniform:literal, $exponent:literal) => {
        size!($Size, $bits, $bytes, $uniform, None, "exponents of full length");
        size!($Short, $bits, $bytes, $uniform, Some($exponent), "short exponents");
    };
    ($Size:ident, $bits:literal, $bytes:literal, $uniform:literal, $exponent:expr, $what:literal) => {
        #[doc = concat!("A prime of ", $bits, " bits, with ", $what, ".")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Size;

        impl Size for $Size {
            type Bytes = [u8; $bytes];
            type Uniform = [u8; $uniform];
            const EMPTY: Self::Bytes = [0; $bytes];
            const UNIFORM_EMPTY: Self::Uniform = [0; $uniform];
            const EXPONENT_BITS: Option<u32> = $exponent;

            fn numbers() -> &'static Numbers {
                static NUMBERS: OnceLock<Numbers> = OnceLock::new();
                NUMBERS.get_or_init(|| Numbers::of($bits))
            }
        }
    };
}

size!(Bits1024, Bits1024Short, 1024, 128, 144, 160);
size!(Bits2048, Bits2048Short, 2048, 256, 272, 224);
size!(Bits3072, Bits3072Short, 3072, 384, 400, 256);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;
    use rand_core::Rng;

    fn obeys_the_laws_of_groups<S: Size>() {
        type G<S> = Modp<S>;
        let mut rng = Prg::from_seed([9; 16]);
        let (a, b) = (G::<S>::random_scalar(&mut rng), G::<S>::random_scalar(&mut rng));
        let (x, y) = (G::<S>::random_element(&mut rng), G::<S>::random_element(&mut rng));
        let ab = G::<S>::mul(&a, &G::<S>::mul(&b, &x));
        assert_eq!(ab, G::<S>::mul(&b, &G::<S>::mul(&a, &x)));
        assert_eq!(ab, G::<S>::mul(&G::<S>::mul_scalars(&a, &b), &x));
        assert_eq!(G::<S>::mul(&G::<S>::invert(&a), &ab), G::<S>::mul(&b, &x));
        let sum = G::<S>::mul(&G::<S>::add_scalars(&a, &b), &x);
        assert_eq!(sum, G::<S>::add(&G::<S>::mul(&a, &x), &G::<S>::mul(&b, &x)));
        assert_eq!(
            G::<S>::sub(&sum, &G::<S>::mul(&b, &x)),
            G::<S>::mul(&G::<S>::sub_scalars(&a, &G::<S>::zero(&a)), &x)
        );
        assert_eq!(G::<S>::vartime_mul_sum(&[a.clone(), b.clone()], &[x, x]), sum);
        assert_eq!(G::<S>::sub(&G::<S>::add(&x, &y), &y), x);
        assert_eq!(G::<S>::add(&x, &G::<S>::identity()), x);
        assert_eq!(G::<S>::mul(&G::<S>::zero(&a), &x), G::<S>::identity());
        assert_eq!(G::<S>::mul_base(&a), G::<S>::mul(&a, &G::<S>::generator()));
        // q times anything is the identity: the group has the order of its scalars.
        let order = Exponent::new(&S::numbers().order, S::numbers().order.bits());
        let residues = G::<S>::residues([x, y].iter());
        let powers = G::<S>::modulus().pow(&residues, &order);
        assert!(G::<S>::modulus().decode_up_to_sign(G::<S>::first(&powers).0.as_ref()).is_err());
        assert_eq!(G::<S>::first(&powers), G::<S>::identity());
        let scalar = G::<S>::encode_scalar(&a);
        assert!(bool::from(G::<S>::decode_scalar(&scalar).unwrap().ct_eq(&a)));
        let mut largest = S::EMPTY;
        largest.as_mut().copy_from_slice(&S::numbers().order.to_be_bytes());
        assert!(G::<S>::decode_scalar(&largest).is_err());
        // The order, as an element, is the largest number that is one.
        assert!(G::<S>::decode(&largest).is_ok());
    }

    impl<S: Size> Modp<S> {
        fn zero(a: &Scalar<S>) -> Scalar<S> {
            Self::sub_scalars(a, a)
        }
    }

    #[test]
    fn groups_obey_their_laws() {
        obeys_the_laws_of_groups::<Bits1024>();
        obeys_the_laws_of_groups::<Bits1024Short>();
        obeys_the_laws_of_groups::<Bits2048Short>();
        obeys_the_laws_of_groups::<Bits3072>();
    }

    #[test]
    fn batches_are_what_single_elements_are() {
        type G = Modp<Bits1024Short>;
        let mut rng = Prg::from_seed([8; 16]);
        let scalar = G::random_scalar(&mut rng);
        let mut uniform = [[0; 144]; 11];
        rng.fill_bytes(uniform.as_flattened_mut());
        let mut encoded = [G::EMPTY; 11];
        G::map_mul_encode(&scalar, &uniform, &mut encoded);
        for (uniform, encoded) in uniform.iter().zip(&encoded) {
            assert_eq!(*encoded, G::encode(&G::mul(&scalar, &G::map_to_group(uniform))));
        }
        let mut again = [G::EMPTY; 11];
        G::decode_mul_encode(&scalar, &encoded, &mut again).unwrap();
        for (encoded, again) in encoded.iter().zip(&again) {
            assert_eq!(*again, G::encode(&G::mul(&scalar, &G::decode(encoded).unwrap())));
        }
        for invalid in [G::EMPTY, G::encode(&G::identity()), [0xff; 128]] {
            encoded[7] = invalid;
            assert!(G::decode(&invalid).is_err());
            let error = G::decode_mul_encode(&scalar, &encoded, &mut again).unwrap_err();
            assert_eq!(error, InvalidElement { index: 7 });
        }
    }

    /// The negative of an element is the same element, and has no encoding of its own.
    #[test]
    fn an_element_has_one_encoding() {
        type G = Modp<Bits1024>;
        let element = G::random_element(&mut Prg::from_seed([7; 16]));
        let mut negated = G::EMPTY;
        let p = G::modulus().value();
        let number = BoxedUint::from_be_slice(&element.0, 1024).unwrap();
        negated.copy_from_slice(&p.wrapping_sub(&number).to_be_bytes());
        assert!(G::decode(&element.0).is_ok() && G::decode(&negated).is_err());
    }

    #[test]
    fn short_exponents_are_short_and_their_inverses_are_not() {
        let mut rng = Prg::from_seed([6; 16]);
        let scalar = Modp::<Bits3072Short>::random_scalar(&mut rng);
        assert_eq!(scalar.exponent().bits(), 256);
        assert!(scalar.value.bits() <= 256 && scalar.value.bits() > 200);
        assert_eq!(Modp::<Bits3072Short>::invert(&scalar).bits, 3071);
        assert_eq!(Modp::<Bits3072>::random_scalar(&mut rng).bits, 3071);
    }
}
