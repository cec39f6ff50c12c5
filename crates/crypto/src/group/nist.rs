//! The curves of NIST over prime fields, P-256, P-384 and P-521: prime-order groups for security levels of
//! 128, 192 and 256 bits, in the arithmetic of the RustCrypto project, which is constant time.
//!
//! Elements are encoded compressed (SEC 1, section 2.3.3), scalars big-endian. Uniform bytes are hashed to
//! the curve by the random-oracle suites of RFC 9380, sections 8.2 to 8.4. A scalar is uniform bytes as a
//! big-endian number modulo the order. The bytes are longer than the order by 64 bits or more, so that no
//! scalar is likelier than another by more than 2^-64.

use core::fmt::Debug;

use elliptic_curve::ff::{Field, PrimeField};
use elliptic_curve::group::{Group as _, GroupEncoding};
use elliptic_curve::{CurveArithmetic, FieldBytes, ProjectivePoint};
use hash2curve::{ExpandMsg, GroupDigest};
use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Group, InvalidElement, InvalidScalar};

/// An integer modulo the order of a curve of NIST. Wiped when dropped.
#[derive(Clone)]
pub struct Scalar<C: CurveArithmetic>(C::Scalar);

/// An element of a curve of NIST.
pub struct Element<C: CurveArithmetic>(ProjectivePoint<C>);

impl<C: CurveArithmetic> Zeroize for Scalar<C> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl<C: CurveArithmetic> Drop for Scalar<C> {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl<C: CurveArithmetic> ZeroizeOnDrop for Scalar<C> {}

impl<C: CurveArithmetic> ConstantTimeEq for Scalar<C> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl<C: CurveArithmetic> Clone for Element<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: CurveArithmetic> Copy for Element<C> {}

impl<C: CurveArithmetic> PartialEq for Element<C> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<C: CurveArithmetic> Eq for Element<C> {}

impl<C: CurveArithmetic> ConstantTimeEq for Element<C> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl<C: CurveArithmetic> Zeroize for Element<C> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// hash_to_curve of RFC 9380 in the suite of the curve.
fn hash_to_curve<C: GroupDigest>(message: &[u8], domain: &str) -> Element<C>
where
    <C::ExpandMsg as ExpandMsg<C::SecurityLevel>>::Error: Debug,
{
    #[expect(clippy::expect_used, reason = "no domain here is longer than 255 bytes, and none is empty")]
    Element(C::hash_from_bytes(&[message], &[domain.as_bytes()]).expect("a short domain"))
}

/// Defines a group: its curve, name, and bytes of an encoded element, an encoded scalar, and uniform bytes.
macro_rules! group {
    ($name:ident, $curve:ty, $encoded:literal, $scalar:literal, $uniform:literal, $standard:literal) => {
        #[doc = concat!("The curve ", $standard, " of FIPS 186.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Group for $name {
            type Scalar = Scalar<$curve>;
            type Element = Element<$curve>;
            type Encoding = [u8; $encoded];
            type ScalarEncoding = [u8; $scalar];
            type Uniform = [u8; $uniform];

            const EMPTY: Self::Encoding = [0xff; $encoded];
            const UNIFORM_EMPTY: Self::Uniform = [0; $uniform];

            fn random_scalar(rng: &mut dyn CryptoRng) -> Self::Scalar {
                let mut uniform = Self::UNIFORM_EMPTY;
                loop {
                    rng.fill_bytes(&mut uniform);
                    let scalar = Self::scalar_from_uniform(&uniform);
                    uniform.zeroize();
                    if !bool::from(scalar.0.is_zero()) {
                        return scalar;
                    }
                }
            }

            fn scalar_from_uniform(uniform: &Self::Uniform) -> Self::Scalar {
                let byte = <$curve as CurveArithmetic>::Scalar::from(256u64);
                let zero = <$curve as CurveArithmetic>::Scalar::ZERO;
                Scalar(uniform.iter().fold(zero, |sum, &digit| {
                    sum * byte + <$curve as CurveArithmetic>::Scalar::from(u64::from(digit))
                }))
            }

            fn invert(a: &Self::Scalar) -> Self::Scalar {
                Scalar(Option::from(Field::invert(&a.0)).unwrap_or(Field::ZERO))
            }

            fn add_scalars(a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar {
                Scalar(a.0 + b.0)
            }

            fn sub_scalars(a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar {
                Scalar(a.0 - b.0)
            }

            fn mul_scalars(a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar {
                Scalar(a.0 * b.0)
            }

            fn encode_scalar(a: &Self::Scalar) -> Self::ScalarEncoding {
                a.0.to_repr().into()
            }

            fn decode_scalar(encoded: &Self::ScalarEncoding) -> Result<Self::Scalar, InvalidScalar> {
                let repr: FieldBytes<$curve> = (*encoded).into();
                Option::from(PrimeField::from_repr(repr)).map(Scalar).ok_or(InvalidScalar)
            }

            fn identity() -> Self::Element {
                Element(ProjectivePoint::<$curve>::identity())
            }

            fn generator() -> Self::Element {
                Element(ProjectivePoint::<$curve>::generator())
            }

            fn map_to_group(uniform: &Self::Uniform) -> Self::Element {
                hash_to_curve(uniform, concat!("vesica ", $standard, " uniform bytes to the curve"))
            }

            fn mul(scalar: &Self::Scalar, element: &Self::Element) -> Self::Element {
                Element(element.0 * scalar.0)
            }

            fn mul_base(scalar: &Self::Scalar) -> Self::Element {
                Element(ProjectivePoint::<$curve>::mul_by_generator(&scalar.0))
            }

            fn vartime_mul_sum(scalars: &[Self::Scalar], elements: &[Self::Element]) -> Self::Element {
                assert_eq!(scalars.len(), elements.len(), "one scalar per element");
                let products = scalars.iter().zip(elements).map(|(scalar, element)| element.0 * scalar.0);
                Element(products.sum())
            }

            fn add(a: &Self::Element, b: &Self::Element) -> Self::Element {
                Element(a.0 + b.0)
            }

            fn sub(a: &Self::Element, b: &Self::Element) -> Self::Element {
                Element(a.0 - b.0)
            }

            fn encode(element: &Self::Element) -> Self::Encoding {
                element.0.to_bytes().into()
            }

            fn decode(encoded: &Self::Encoding) -> Result<Self::Element, InvalidElement> {
                // The library also accepts the identity and x-only encodings, which have tags of their own.
                if !matches!(encoded[0], 2 | 3) {
                    return Err(InvalidElement { index: 0 });
                }
                let element = ProjectivePoint::<$curve>::from_bytes(&(*encoded).into());
                Option::from(element).map(Element).ok_or(InvalidElement { index: 0 })
            }

            fn map_mul_encode(scalar: &Self::Scalar, uniform: &[Self::Uniform], out: &mut [Self::Encoding]) {
                assert_eq!(uniform.len(), out.len(), "one output per input");
                for (uniform, out) in uniform.iter().zip(out) {
                    *out = Self::encode(&Self::mul(scalar, &Self::map_to_group(uniform)));
                }
            }

            fn decode_mul_encode(
                scalar: &Self::Scalar,
                encoded: &[Self::Encoding],
                out: &mut [Self::Encoding],
            ) -> Result<(), InvalidElement> {
                assert_eq!(encoded.len(), out.len(), "one output per input");
                for (index, (encoded, out)) in encoded.iter().zip(out).enumerate() {
                    let element = Self::decode(encoded).map_err(|_| InvalidElement { index })?;
                    *out = Self::encode(&Self::mul(scalar, &element));
                }
                Ok(())
            }
        }
    };
}

group!(P256, p256::NistP256, 33, 32, 64, "P-256");
group!(P384, p384::NistP384, 49, 48, 64, "P-384");
group!(P521, p521::NistP521, 67, 66, 80, "P-521");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
    }

    /// The laws, the encodings and what they refuse.
    fn is_a_group<G: Group>() {
        let rng = &mut Prg::from_seed([4; 16]);
        let [a, b] = [(); 2].map(|()| G::random_scalar(rng));
        let element = G::random_element(rng);
        assert!(G::mul_base(&a) == G::mul(&a, &G::generator()));
        let sum = G::add(&G::mul(&a, &element), &G::mul(&b, &element));
        assert!(sum == G::mul(&G::add_scalars(&a, &b), &element));
        assert!(G::mul(&a, &G::mul(&b, &element)) == G::mul(&G::mul_scalars(&a, &b), &element));
        assert!(G::sub(&sum, &G::mul(&b, &element)) == G::mul(&a, &element));
        assert!(G::mul(&G::invert(&a), &G::mul(&a, &element)) == element);
        assert!(G::sub(&element, &element) == G::identity());
        assert!(G::vartime_mul_sum(&[a.clone(), b.clone()], &[element, element]) == sum);

        assert_eq!(G::encode(&element).as_ref().len(), G::ENCODED);
        assert!(G::decode(&G::encode(&element)) == Ok(element));
        assert!(bool::from(G::decode_scalar(&G::encode_scalar(&a)).unwrap_or(b.clone()).ct_eq(&a)));
        let mut ones = G::encode_scalar(&a);
        ones.as_mut().fill(0xff);
        assert!(G::decode_scalar(&ones).is_err());
        assert!(G::decode(&G::EMPTY).is_err());
        assert!(G::decode(&G::encode(&G::identity())).is_err());
        // Other prefixes, and an abscissa beyond the field.
        for prefix in [0, 1, 4, 5, 0xff] {
            let mut encoded = G::encode(&element);
            encoded.as_mut()[0] = prefix;
            assert!(G::decode(&encoded).is_err());
        }
        let mut beyond = G::encode(&element);
        beyond.as_mut()[1..].fill(0xff);
        assert!(G::decode(&beyond).is_err());

        let uniform = [G::UNIFORM_EMPTY; 2];
        let mut mapped = [G::EMPTY; 2];
        G::map_mul_encode(&a, &uniform, &mut mapped);
        assert!(mapped[1] == G::encode(&G::mul(&a, &G::map_to_group(&uniform[0]))));
        let mut again = [G::EMPTY; 2];
        assert!(G::decode_mul_encode(&b, &mapped, &mut again).is_ok());
        assert!(again[0] == G::encode(&G::mul(&b, &G::decode(&mapped[0]).unwrap_or(element))));
        mapped[1] = G::EMPTY;
        assert_eq!(G::decode_mul_encode(&b, &mapped, &mut again), Err(InvalidElement { index: 1 }));
    }

    #[test]
    fn they_are_groups_with_strict_encodings() {
        is_a_group::<P256>();
        is_a_group::<P384>();
        is_a_group::<P521>();
    }

    /// The generators of SP 800-186, section 3.2.1, compressed.
    #[test]
    fn generators_are_the_standards() {
        assert_eq!(
            P256::encode(&P256::generator())[..],
            hex("036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
        );
        assert_eq!(
            P384::encode(&P384::generator())[..],
            hex(
                "03aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7"
            )
        );
        assert_eq!(
            P521::encode(&P521::generator())[..],
            hex(concat!(
                "0200c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de33",
                "48b3c1856a429bf97e7e31c2e5bd66"
            ))
        );
    }

    /// RFC 9380, section J.1.1: P_x behind the prefix that says whether P_y is odd.
    const HASHED_TO_P256: [&str; 5] = [
        "032c15230b26dbc6fc9a37051158c95b79656e17a1a920b11394ca91c44247d3e4",
        "020bb8b87485551aa43ed54f009230450b492fead5f1cc91658775dac4a3388a0f",
        "0365038ac8f2b1def042a5df0b33b1f4eca6bff7cb0f9c6c1526811864e544ed80",
        "024be61ee205094282ba8a2042bcb48d88dfbb609301c49aa8b078533dc65a0b5d",
        "02457ae2981f70ca85d8e24c308b14db22f3e3862c5ea0f652ca38b5e49cd64bc5",
    ];

    /// RFC 9380, section J.2.1: P_x behind the prefix that says whether P_y is odd.
    const HASHED_TO_P384: [&str; 5] = [
        concat!(
            "02eb9fe1b4f4e14e7140803c1d99d0a93cd823d2b024040f9c067a8eca1f5a2eeac9ad604973527a356f3fa3ae",
            "ff0e4d83"
        ),
        concat!(
            "02e02fc1a5f44a7519419dd314e29863f30df55a514da2d655775a81d413003c4d4e7fd59af0826dfaad4200ac",
            "6f60abe1"
        ),
        concat!(
            "02bdecc1c1d870624965f19505be50459d363c71a699a496ab672f9a5d6b78676400926fbceee6fcd1780fe86e",
            "62b2aa89"
        ),
        concat!(
            "0203c3a9f401b78c6c36a52f07eeee0ec1289f178adf78448f43a3850e0456f5dd7f7633dd31676d990eda3288",
            "2ab486c0"
        ),
        concat!(
            "027b18d210b1f090ac701f65f606f6ca18fb8d081e3bc6cbd937c5604325f1cdea4c15c10a54ef303aabf2ea58",
            "bd9947a4"
        ),
    ];

    /// RFC 9380, section J.3.1: P_x behind the prefix that says whether P_y is odd.
    const HASHED_TO_P521: [&str; 5] = [
        concat!(
            "0300fd767cebb2452030358d0e9cf907f525f50920c8f607889a6a35680727f64f4d66b161fafeb2654bea0d35",
            "086bec0a10b30b14adef3556ed9f7f1bc23cecc9c088"
        ),
        concat!(
            "03002f89a1677b28054b50d15e1f81ed6669b5a2158211118ebdef8a6efc77f8ccaa528f698214e4340155abc1",
            "fa08f8f613ef14a043717503d57e267d57155cf784a4"
        ),
        concat!(
            "02006e200e276a4a81760099677814d7f8794a4a5f3658442de63c18d2244dcc957c645e94cb0754f95fcf103b",
            "2aeaf94411847c24187b89fb7462ad3679066337cbc4"
        ),
        concat!(
            "0201b264a630bd6555be537b000b99a06761a9325c53322b65bdc41bf196711f9708d58d34b3b90faf12640c27",
            "b91c70a507998e55940648caa8e71098bf2bc8d24664"
        ),
        concat!(
            "0300c12bc3e28db07b6b4d2a2b1167ab9e26fc2fa85c7b0498a17b0347edf52392856d7e28b8fa7a2dd0046111",
            "59505835b687ecf1a764857e27e9745848c436ef3925"
        ),
    ];

    /// The messages of each suite's vectors.
    #[test]
    fn messages_are_hashed_to_the_curves_as_in_rfc_9380() {
        let long = ["q128_".to_owned() + &"q".repeat(128), "a512_".to_owned() + &"a".repeat(512)];
        let messages = ["", "abc", "abcdef0123456789", &long[0], &long[1]];
        for (at, message) in messages.iter().map(|message| message.as_bytes()).enumerate() {
            let p256 = hash_to_curve(message, "QUUX-V01-CS02-with-P256_XMD:SHA-256_SSWU_RO_");
            assert_eq!(P256::encode(&p256)[..], hex(HASHED_TO_P256[at]));
            let p384 = hash_to_curve(message, "QUUX-V01-CS02-with-P384_XMD:SHA-384_SSWU_RO_");
            assert_eq!(P384::encode(&p384)[..], hex(HASHED_TO_P384[at]));
            let p521 = hash_to_curve(message, "QUUX-V01-CS02-with-P521_XMD:SHA-512_SSWU_RO_");
            assert_eq!(P521::encode(&p521)[..], hex(HASHED_TO_P521[at]));
        }
    }

    /// Uniform bytes as a big-endian number modulo the order: one more than the order is one.
    #[test]
    fn uniform_bytes_are_reduced() {
        let mut uniform = [0; 64];
        uniform[32..]
            .copy_from_slice(&hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632552"));
        assert!(P256::mul_base(&P256::scalar_from_uniform(&uniform)) == P256::generator());
    }
}
