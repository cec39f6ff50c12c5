//! ristretto255, RFC 9496: the prime-order group over Curve25519, encoded in 32 bytes.

mod elements;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar as Integer;
use curve25519_dalek::traits::{Identity, IsIdentity, VartimeMultiscalarMul};
use rand_core::CryptoRng;
use sha2::{Digest, Sha512};
use subtle::{Choice, ConstantTimeEq};
use vesica_kernels::Backend;
#[cfg(target_arch = "x86_64")]
use vesica_kernels::ristretto_lanes;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Group, InvalidElement, InvalidScalar};
use crate::device::Device;

pub use elements::{RistrettoBase, RistrettoElements};

/// The group of RFC 9496.
#[derive(Clone, Copy, Debug)]
pub struct Ristretto255;

/// An integer modulo the order of [`Ristretto255`].
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Scalar(pub(crate) Integer);

/// An element of [`Ristretto255`].
#[derive(Clone, Copy, PartialEq, Eq, Zeroize)]
pub struct Element(pub(crate) RistrettoPoint);

/// Elements that share an inversion.
const LANES: usize = 64;

impl ConstantTimeEq for Scalar {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl ConstantTimeEq for Element {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl Group for Ristretto255 {
    type Scalar = Scalar;
    type Element = Element;
    type Encoding = [u8; 32];
    type ScalarEncoding = [u8; 32];
    type Uniform = [u8; 64];

    const ON_CARD: bool = true;
    const EMPTY: [u8; 32] = [0; 32];
    const UNIFORM_EMPTY: [u8; 64] = [0; 64];

    fn random_scalar(rng: &mut dyn CryptoRng) -> Scalar {
        loop {
            let scalar = Scalar(Integer::random(rng));
            if !bool::from(scalar.0.ct_eq(&Integer::ZERO)) {
                return scalar;
            }
        }
    }

    fn scalar_from_uniform(uniform: &[u8; 64]) -> Scalar {
        Scalar(Integer::from_bytes_mod_order_wide(uniform))
    }

    fn invert(a: &Scalar) -> Scalar {
        Scalar(a.0.invert())
    }

    fn add_scalars(a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0 + b.0)
    }

    fn sub_scalars(a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0 - b.0)
    }

    fn mul_scalars(a: &Scalar, b: &Scalar) -> Scalar {
        Scalar(a.0 * b.0)
    }

    fn encode_scalar(a: &Scalar) -> [u8; 32] {
        a.0.to_bytes()
    }

    fn decode_scalar(encoded: &[u8; 32]) -> Result<Scalar, InvalidScalar> {
        Option::from(Integer::from_canonical_bytes(*encoded)).map(Scalar).ok_or(InvalidScalar)
    }

    fn identity() -> Element {
        Element(RistrettoPoint::identity())
    }

    fn generator() -> Element {
        Element(curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT)
    }

    fn map_to_group(uniform: &[u8; 64]) -> Element {
        Element(RistrettoPoint::from_uniform_bytes(uniform))
    }

    fn mul(scalar: &Scalar, element: &Element) -> Element {
        Element(scalar.0 * element.0)
    }

    fn mul_base(scalar: &Scalar) -> Element {
        Element(RistrettoPoint::mul_base(&scalar.0))
    }

    fn vartime_mul_sum(scalars: &[Scalar], elements: &[Element]) -> Element {
        assert_eq!(scalars.len(), elements.len(), "one scalar per element");
        let scalars = scalars.iter().map(|scalar| scalar.0);
        Element(RistrettoPoint::vartime_multiscalar_mul(scalars, elements.iter().map(|element| element.0)))
    }

    fn add(a: &Element, b: &Element) -> Element {
        Element(a.0 + b.0)
    }

    fn sub(a: &Element, b: &Element) -> Element {
        Element(a.0 - b.0)
    }

    fn encode(element: &Element) -> [u8; 32] {
        element.0.compress().to_bytes()
    }

    fn decode(encoded: &[u8; 32]) -> Result<Element, InvalidElement> {
        decode_at(0, encoded).map(Element)
    }

    fn map_mul_encode(scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) {
        map_mul_encode_on(Backend::detect(), scalar, uniform, out);
    }

    fn decode_mul_encode(
        scalar: &Scalar,
        encoded: &[[u8; 32]],
        out: &mut [[u8; 32]],
    ) -> Result<(), InvalidElement> {
        decode_mul_encode_on(Backend::detect(), scalar, encoded, out)
    }

    fn map_mul_encode_on_card(
        device: &Device,
        scalar: &Scalar,
        uniform: &[[u8; 64]],
        out: &mut [[u8; 32]],
    ) -> bool {
        device.map_mul_encode(scalar, uniform, out)
    }

    fn decode_mul_encode_on_card(
        device: &Device,
        scalar: &Scalar,
        encoded: &[[u8; 32]],
        out: &mut [[u8; 32]],
    ) -> Option<Result<(), InvalidElement>> {
        device.decode_mul_encode(scalar, encoded, out)
    }
}

/// The lanes of the back end, if they are worth it for so many elements.
#[cfg(target_arch = "x86_64")]
fn lanes(backend: Backend, count: usize) -> Option<ristretto_lanes::Kernel> {
    ristretto_lanes::Kernel::of(backend).filter(|lanes| count >= lanes.worthwhile())
}

/// [`Group::map_mul_encode`] of [`Ristretto255`], computed by `backend`.
///
/// # Panics
/// If the slices differ in length.
pub fn map_mul_encode_on(backend: Backend, scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = backend;
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = lanes(backend, uniform.len()) {
        return lanes.map_mul_encode(&scalar.0, uniform, out);
    }
    portable_map_mul_encode(scalar, uniform, out);
}

/// [`Group::decode_mul_encode`] of [`Ristretto255`], computed by `backend`.
///
/// # Errors
/// The first element that does not decode; the content of `out` is then undefined.
///
/// # Panics
/// If the slices differ in length.
pub fn decode_mul_encode_on(
    backend: Backend,
    scalar: &Scalar,
    encoded: &[[u8; 32]],
    out: &mut [[u8; 32]],
) -> Result<(), InvalidElement> {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = backend;
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = lanes(backend, encoded.len()) {
        return lanes.decode_mul_encode(&scalar.0, encoded, out);
    }
    portable_decode_mul_encode(scalar, encoded, out)
}

/// [`Group::map_mul_encode`] on the library's arithmetic.
pub(crate) fn portable_map_mul_encode(scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) {
    assert_eq!(uniform.len(), out.len(), "one output per input");
    let half = Scalar(scalar.0.div_by_2());
    for (uniform, out) in uniform.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let elements = uniform.iter().map(RistrettoPoint::from_uniform_bytes);
        encode_doubled(elements.map(|element| half.0 * element).collect(), out);
    }
}

/// [`Group::decode_mul_encode`] on the library's arithmetic.
pub(crate) fn portable_decode_mul_encode(
    scalar: &Scalar,
    encoded: &[[u8; 32]],
    out: &mut [[u8; 32]],
) -> Result<(), InvalidElement> {
    assert_eq!(encoded.len(), out.len(), "one output per input");
    let half = Scalar(scalar.0.div_by_2());
    for (chunk, (encoded, out)) in encoded.chunks(LANES).zip(out.chunks_mut(LANES)).enumerate() {
        let decode = |(lane, encoding)| decode_at(chunk * LANES + lane, encoding);
        let elements = encoded.iter().enumerate().map(decode).collect::<Result<Vec<_>, _>>()?;
        encode_doubled(elements.iter().map(|element| half.0 * element).collect(), out);
    }
    Ok(())
}

fn decode_at(index: usize, encoded: &[u8; 32]) -> Result<RistrettoPoint, InvalidElement> {
    match CompressedRistretto(*encoded).decompress() {
        Some(point) if !point.is_identity() => Ok(point),
        _ => Err(InvalidElement { index }),
    }
}

/// Encodes 2·Q for each Q = (k/2)·P, which is k·P at a fraction of the cost of encoding it.
///
/// Doubling first spares the square root of each encoding and leaves one inversion for the whole batch. The
/// bytes are the same: let h = k/2 mod ℓ, so 2h = k + mℓ for some integer m. P is held as a curve point P0 +
/// T with P0 of order ℓ and T in E\[4\], and 2·(h·P) = k·P + m·(ℓ·T) differs from k·P only by a point of
/// E\[4\]. An encoding is a function of the coset modulo E\[4\]. The identity needs no special case: its
/// terms are zero, the shared inversion skips them, and it encodes to zeros.
fn encode_doubled(mut halves: Vec<RistrettoPoint>, out: &mut [[u8; 32]]) {
    let encodings = RistrettoPoint::double_and_compress_batch(&halves);
    for (encoding, out) in encodings.iter().zip(out) {
        *out = encoding.to_bytes();
    }
    halves.zeroize();
}

/// hash_to_ristretto255 of RFC 9380, appendix B: suite `ristretto255_XMD:SHA-512_R255MAP_RO_`.
///
/// `dst` names the use; one longer than 255 bytes is hashed, as section 5.3.3 says.
#[must_use]
pub fn hash_to_ristretto255(message: &[u8], dst: &[u8]) -> Element {
    Ristretto255::map_to_group(&ExpandMessage::new(dst).expand(&[message]))
}

/// expand_message_xmd of RFC 9380, section 5.3.1, with SHA-512 and 64 bytes of output: a single block b_1. For many
/// messages of one use.
#[derive(Clone)]
pub struct ExpandMessage {
    /// Has taken Z_pad.
    padded: Sha512,
    /// DST_prime.
    dst: Vec<u8>,
}

impl ExpandMessage {
    /// For the use that `dst` names; one longer than 255 bytes is hashed, as section 5.3.3 says.
    #[must_use]
    pub fn new(dst: &[u8]) -> Self {
        let mut dst = match dst.len() {
            0..=255 => dst.to_vec(),
            _ => Sha512::new().chain_update(b"H2C-OVERSIZE-DST-").chain_update(dst).finalize().to_vec(),
        };
        // At most 255 by now.
        dst.push(dst.len() as u8);
        Self { padded: Sha512::new().chain_update([0; 128]), dst }
    }

    /// The uniform bytes of a message, which is given in parts.
    #[must_use]
    pub fn expand(&self, message: &[&[u8]]) -> [u8; 64] {
        let mut b_0 = self.padded.clone();
        message.iter().for_each(|part| b_0.update(part));
        let b_0 = b_0.chain_update([0, 64, 0]).chain_update(&self.dst).finalize();
        Sha512::new().chain_update(b_0).chain_update([1]).chain_update(&self.dst).finalize().into()
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin_tests;
