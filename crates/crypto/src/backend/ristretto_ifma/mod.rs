//! ristretto255 on the AVX-512 IFMA instructions, eight elements at a time: one secret scalar times many
//! elements, many secret scalars times one element, a scalar for each element, weighted sums.
//!
//! | file | content |
//! |---|---|
//! | `field.rs` | arithmetic modulo 2^255 - 19 in eight lanes, with the bounds of the limbs |
//! | `power.rs` | inverses and square roots |
//! | `edwards.rs` | points, their sums |
//! | `ladder.rs` | many elements times one scalar, or times eight |
//! | `window.rs` | each element times a short scalar of its own |
//! | `fixed_base.rs` | one element times many scalars |
//! | `weighted_sum.rs` | sums with public weights |
//! | `ristretto.rs` | the map from uniform bytes, decoding, encoding |
//! | `polynomial.rs` | polynomials encrypted by ElGamal, evaluated |
//! | `elements.rs` | elements that stay in lanes between such steps |
//!
//! The bytes are those of curve25519-dalek for every input. Running time and memory accesses depend on the
//! number of elements only, and on the position of the first element that does not decode: there is no branch
//! and no index that depends on a scalar or on a point.
//!
//! A batch is cut into chunks whose elements share their inversions. Encoding doubles the output of the
//! ladder, so the ladder runs with half the scalar.

mod edwards;
mod elements;
mod field;
mod fixed_base;
mod ladder;
mod polynomial;
mod power;
mod ristretto;
#[cfg(test)]
mod tests;
mod weighted_sum;
mod window;

use curve25519_dalek::Scalar;
use zeroize::{Zeroize, Zeroizing};

use self::edwards::Point;
pub(crate) use self::elements::{Elements, FixedBase};
use self::field::LANES;
use self::ladder::Scalars;
pub(crate) use self::polynomial::{Coefficient, Query};
use super::{Backend, Level};
use crate::group::error::InvalidElement;

/// Vectors of eight elements in a chunk.
const VECTORS: usize = 16;

/// The right to run these kernels.
#[derive(Clone, Copy)]
pub(crate) struct Kernel(());

impl Kernel {
    /// The kernels, if the back end has their instructions.
    pub(crate) fn of(backend: Backend) -> Option<Self> {
        (backend.level() == Level::Avx512).then_some(Self(()))
    }

    /// `out[i] = encode(scalar · map(uniform[i]))`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub(crate) fn map_mul_encode(self, scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) {
        assert_eq!(uniform.len(), out.len(), "one output per input");
        // SAFETY: a kernel exists only where its instructions do.
        unsafe { map_mul_encode(scalar, uniform, out) }
    }

    /// `out[i] = encode(scalar · decode(encoded[i]))`.
    ///
    /// # Errors
    /// The first element whose encoding is not canonical or that of the identity; the content of `out` is
    /// then undefined.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub(crate) fn decode_mul_encode(
        self,
        scalar: &Scalar,
        encoded: &[[u8; 32]],
        out: &mut [[u8; 32]],
    ) -> Result<(), InvalidElement> {
        assert_eq!(encoded.len(), out.len(), "one output per input");
        // SAFETY: a kernel exists only where its instructions do.
        unsafe { decode_mul_encode(scalar, encoded, out) }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn map_mul_encode(scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) {
    let half = half(scalar);
    for (uniform, out) in uniform.chunks(LANES * VECTORS).zip(out.chunks_mut(LANES * VECTORS)) {
        let points: Vec<Point> =
            uniform.chunks(LANES).map(|uniform| ristretto::map(vector(uniform))).collect();
        mul_encode_doubled(&half, &points, out);
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn decode_mul_encode(
    scalar: &Scalar,
    encoded: &[[u8; 32]],
    out: &mut [[u8; 32]],
) -> Result<(), InvalidElement> {
    let half = half(scalar);
    let chunks = encoded.chunks(LANES * VECTORS).zip(out.chunks_mut(LANES * VECTORS));
    for (chunk, (encoded, out)) in chunks.enumerate() {
        let points = decode(encoded)
            .map_err(|InvalidElement { index }| InvalidElement { index: chunk * LANES * VECTORS + index })?;
        mul_encode_doubled(&half, &points, out);
    }
    Ok(())
}

/// The points of a chunk, two vectors at a time.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn decode(encoded: &[[u8; 32]]) -> Result<Vec<Point>, InvalidElement> {
    let mut decoded = Vec::with_capacity(VECTORS);
    for pair in encoded.chunks(2 * LANES) {
        let (first, second) = pair.split_at(pair.len().min(LANES));
        if second.is_empty() {
            decoded.extend(ristretto::decode([vector(first)]));
        } else {
            decoded.extend(ristretto::decode([vector(first), vector(second)]));
        }
    }
    for (n, (valid, _)) in decoded.iter().enumerate() {
        // Lanes beyond the end repeat the first element.
        if *valid != u8::MAX {
            return Err(InvalidElement { index: n * LANES + valid.trailing_ones() as usize });
        }
    }
    Ok(decoded.into_iter().map(|(_, point)| point).collect())
}

/// `out[i] = encode(2 · half · points[i])`.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn mul_encode_doubled(half: &[u8; 32], points: &[Point], out: &mut [[u8; 32]]) {
    let mut products = Vec::with_capacity(points.len());
    self::products(half, points, &mut products);
    for (out, encoded) in out.chunks_mut(LANES).zip(ristretto::encode_doubled(&products)) {
        out.copy_from_slice(&encoded[..out.len()]);
    }
    products.zeroize();
}

/// Appends `scalar · points[i]` as the ladder leaves it. The inversions of all points are shared.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn products(scalar: &[u8], points: &[Point], products: &mut Vec<Point>) {
    let (scalars, bases) = (Scalars::one(scalar), ladder::bases(points));
    let (pairs, rest) = bases.as_chunks::<2>();
    for pair in pairs {
        products.extend(ladder::multiply(&scalars, pair));
    }
    if let [single] = rest {
        products.extend(ladder::multiply(&scalars, &[*single]));
    }
}

/// Half of the scalar modulo the group order.
fn half(scalar: &Scalar) -> Zeroizing<[u8; 32]> {
    let half = Zeroizing::new(scalar.div_by_2());
    Zeroizing::new(half.to_bytes())
}

/// A vector of at least one input, the first one repeated beyond the end.
#[inline]
fn vector<T>(inputs: &[T]) -> [&T; LANES] {
    core::array::from_fn(|lane| inputs.get(lane).unwrap_or(&inputs[0]))
}
