//! Groups of prime order in which the Diffie-Hellman problem is hard.
//!
//! A [`Group`] offers scalars, elements, canonical encodings, and the two batch operations that
//! Diffie-Hellman set intersection consists of. Nothing in it depends on the curve; [`Ristretto255`] is the
//! group of RFC 9496, [`P256`], [`P384`] and [`P521`] are curves of NIST, and [`modp`] has the groups modulo a
//! prime of RFC 3526.
//!
//! Every element from a peer goes through [`Group::decode`] or [`Group::decode_mul_encode`], which accept
//! only canonical encodings and reject the identity. The order is prime, so an accepted element generates the
//! whole group, and its product with a non-zero scalar is not the identity either.
//!
//! Hashing to the group starts from uniform bytes (the output of an [`Oracle`](crate::hash::Oracle)) and uses
//! a map whose discrete logarithm nobody knows. This module deliberately offers no way from a hash to a
//! scalar multiple of the generator: it would break Diffie-Hellman set intersection.

mod elements;
pub(crate) mod error;
pub mod modp;
mod nist;
mod ristretto;

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::device::Device;

pub use elements::{BatchGroup, Elements, FixedBase};
pub use error::{InvalidElement, InvalidScalar};
pub use nist::{Element as NistElement, P256, P384, P521, Scalar as NistScalar};
pub use ristretto::{
    Element, ExpandMessage, Ristretto255, RistrettoBase, RistrettoElements, Scalar, decode_mul_encode_on,
    hash_to_ristretto255, map_mul_encode_on,
};

/// A group of prime order. All operations are constant time in scalars and elements unless their name says
/// `vartime_`.
pub trait Group: Copy + Send + Sync + 'static {
    /// An exponent: an integer modulo the order of the group. Wiped when dropped.
    type Scalar: Clone + ConstantTimeEq + Zeroize + ZeroizeOnDrop + Send + Sync;
    /// An element.
    type Element: Copy + Eq + ConstantTimeEq + Zeroize + Send + Sync;
    /// The canonical encoding of an element.
    type Encoding: Copy + Eq + Ord + AsRef<[u8]> + AsMut<[u8]> + Send + Sync;
    /// The canonical encoding of a scalar.
    type ScalarEncoding: Copy + Eq + AsRef<[u8]> + AsMut<[u8]> + Zeroize + Send + Sync;
    /// Uniform bytes from which an element or a scalar is derived.
    type Uniform: Copy + AsRef<[u8]> + AsMut<[u8]> + Zeroize + Send + Sync;

    /// Bytes in an encoded element.
    const ENCODED: usize = size_of::<Self::Encoding>();
    /// Bytes in an encoded scalar.
    const SCALAR_ENCODED: usize = size_of::<Self::ScalarEncoding>();
    /// Bytes that [`map_to_group`](Self::map_to_group) takes.
    const UNIFORM: usize = size_of::<Self::Uniform>();
    /// Elements that one call of the batch operations needs to be nearly as fast as with more.
    const BATCH: usize = 512;
    /// Whether a card knows the group.
    const ON_CARD: bool = false;
    /// An encoding to be overwritten; it decodes to nothing.
    const EMPTY: Self::Encoding;
    /// Uniform bytes to be overwritten.
    const UNIFORM_EMPTY: Self::Uniform;

    /// A uniformly random scalar other than zero.
    fn random_scalar(rng: &mut dyn CryptoRng) -> Self::Scalar;
    /// The scalar that uniform bytes encode, as in a Fiat-Shamir challenge; zero with negligible probability.
    fn scalar_from_uniform(uniform: &Self::Uniform) -> Self::Scalar;
    /// 1 / a; zero for zero.
    fn invert(a: &Self::Scalar) -> Self::Scalar;
    /// a + b.
    fn add_scalars(a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar;
    /// a - b.
    fn sub_scalars(a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar;
    /// a · b.
    fn mul_scalars(a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar;
    /// The canonical encoding of a scalar.
    fn encode_scalar(a: &Self::Scalar) -> Self::ScalarEncoding;
    /// The scalar with this encoding.
    ///
    /// # Errors
    /// If the encoding is not canonical.
    fn decode_scalar(encoded: &Self::ScalarEncoding) -> Result<Self::Scalar, InvalidScalar>;

    /// The neutral element.
    fn identity() -> Self::Element;
    /// The generator that [`mul_base`](Self::mul_base) uses.
    fn generator() -> Self::Element;
    /// The element that uniform bytes map to: indistinguishable from a random oracle, logarithm unknown.
    fn map_to_group(uniform: &Self::Uniform) -> Self::Element;
    /// A uniformly random element of unknown logarithm.
    fn random_element(rng: &mut dyn CryptoRng) -> Self::Element {
        let mut uniform = Self::UNIFORM_EMPTY;
        rng.fill_bytes(uniform.as_mut());
        let element = Self::map_to_group(&uniform);
        uniform.zeroize();
        element
    }
    /// scalar · element.
    fn mul(scalar: &Self::Scalar, element: &Self::Element) -> Self::Element;
    /// scalar · generator.
    fn mul_base(scalar: &Self::Scalar) -> Self::Element;
    /// `Σ scalars[i] · elements[i]` for public values, in time that depends on them.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn vartime_mul_sum(scalars: &[Self::Scalar], elements: &[Self::Element]) -> Self::Element;
    /// a + b.
    fn add(a: &Self::Element, b: &Self::Element) -> Self::Element;
    /// a - b.
    fn sub(a: &Self::Element, b: &Self::Element) -> Self::Element;
    /// The canonical encoding of an element.
    fn encode(element: &Self::Element) -> Self::Encoding;
    /// The element with this encoding.
    ///
    /// # Errors
    /// If the encoding is not canonical or that of the identity.
    fn decode(encoded: &Self::Encoding) -> Result<Self::Element, InvalidElement>;

    /// `out[i] = encode(scalar · map_to_group(uniform[i]))`.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn map_mul_encode(scalar: &Self::Scalar, uniform: &[Self::Uniform], out: &mut [Self::Encoding]);
    /// `out[i] = encode(scalar · decode(encoded[i]))`.
    ///
    /// # Errors
    /// The first element that does not decode, as in [`decode`](Self::decode); the content of `out` is then
    /// undefined.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn decode_mul_encode(
        scalar: &Self::Scalar,
        encoded: &[Self::Encoding],
        out: &mut [Self::Encoding],
    ) -> Result<(), InvalidElement>;

    /// [`map_mul_encode`](Self::map_mul_encode) on the card of this device, if it has one and that knows the group
    /// ([`ON_CARD`](Self::ON_CARD)); whether it has computed.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn map_mul_encode_on_card(
        _: &Device,
        _: &Self::Scalar,
        _: &[Self::Uniform],
        _: &mut [Self::Encoding],
    ) -> bool {
        false
    }

    /// [`decode_mul_encode`](Self::decode_mul_encode) on the card of this device, if it has one and that knows the
    /// group; what has come of it.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn decode_mul_encode_on_card(
        _: &Device,
        _: &Self::Scalar,
        _: &[Self::Encoding],
        _: &mut [Self::Encoding],
    ) -> Option<Result<(), InvalidElement>> {
        None
    }
}
