//! ristretto255 eight elements at a time: one secret scalar times many elements, many secret scalars times one
//! element, a scalar for each element, weighted sums.
//!
//! | file | content |
//! |---|---|
//! | `ifma/field.rs` | arithmetic modulo 2^255 - 19 in eight lanes of IFMA, with the bounds of the limbs |
//! | `field26.rs`, `field26_products.rs`, `field26_words.rs` | the same where the multiply instruction reads 32 bits: `avx512/field.rs`, `avx2/field.rs` |
//! | `power.rs` | inverses and square roots |
//! | `edwards.rs` | points, their sums |
//! | `ladder.rs` | many elements times one scalar, or times eight |
//! | `window.rs` | each element times a short scalar of its own |
//! | `fixed_base.rs` | one element times many scalars |
//! | `weighted_sum.rs` | sums with public weights |
//! | `ristretto.rs` | the map from uniform bytes, decoding, encoding |
//! | `polynomial.rs` | polynomials encrypted by ElGamal, evaluated |
//! | `elements.rs` | elements that stay in lanes between such steps |
//! | `lanes.rs` | the modules of a level |
//!
//! All levels run the same text over the field of their module.
//!
//! The bytes are those of curve25519-dalek for every input. Running time and memory accesses depend on the
//! number of elements only, and on the position of the first element that does not decode: there is no branch
//! and no index that depends on a scalar or on a point.
//!
//! A batch is cut into chunks whose elements share their inversions. Encoding doubles the output of the
//! ladder, so the ladder runs with half the scalar.

#[macro_use]
mod edwards;
#[macro_use]
mod elements;
#[macro_use]
mod field26;
#[macro_use]
mod field26_products;
#[cfg(test)]
#[macro_use]
mod field26_tests;
#[macro_use]
mod field26_words;
#[cfg(test)]
#[macro_use]
mod field_tests;
#[macro_use]
mod fixed_base;
#[macro_use]
mod ladder;
#[macro_use]
mod polynomial;
#[macro_use]
mod power;
#[macro_use]
mod ristretto;
#[cfg(test)]
#[macro_use]
mod tests;
#[macro_use]
mod weighted_sum;
#[macro_use]
mod window;
#[macro_use]
mod lanes;
#[cfg(test)]
mod integers;

use curve25519_dalek::Scalar;
use zeroize::Zeroizing;

use super::Backend;
use crate::InvalidElement;

/// AVX-512 with IFMA.
mod ifma {
    mod field;

    lanes!(Avx512Vaes, "avx512f,avx512dq,avx512ifma");
}

/// AVX-512 without IFMA.
mod avx512 {
    mod field;

    lanes!(Avx512, "avx512f,avx512dq");
}

/// AVX2.
mod avx2 {
    mod field;

    lanes!(Avx2, "avx2");
}

/// Elements in a vector.
const LANES: usize = 8;

/// Vectors of eight elements in a chunk.
const VECTORS: usize = 16;

/// Limbs of 51 bits, each with its eight lanes.
type WordLimbs = [[u64; LANES]; 5];

/// Both components of a ciphertext as points, x and y of each as little-endian bytes.
pub type Coefficient = [[[u8; 32]; 2]; 2];

/// One evaluation of an encrypted polynomial. Numbers are little-endian.
pub struct Query<'a> {
    /// The coefficients below the leading one, the constant first.
    pub coefficients: &'a [Coefficient],
    /// x.
    pub point: [u8; 16],
    /// r, the factor of the value.
    pub factor: &'a [u8; 32],
    /// t, of the new randomness.
    pub nonce: &'a [u8; 32],
    /// e, what is added in the clear.
    pub plain: &'a [u8; 32],
}

/// A value of one of the levels.
#[derive(Clone, Copy)]
enum OfLevel<A, B, C> {
    Ifma(A),
    Avx512(B),
    Avx2(C),
}

/// Runs the same expression on a value of any level; with `new` it makes a value of the same level, whose module is
/// `$module`.
macro_rules! on_level {
    ($of:expr, $value:ident => new $result:expr) => {
        match $of {
            OfLevel::Ifma($value) => OfLevel::Ifma($result),
            OfLevel::Avx512($value) => OfLevel::Avx512($result),
            OfLevel::Avx2($value) => OfLevel::Avx2($result),
        }
    };
    ($of:expr, $value:ident => $result:expr) => {
        match $of {
            OfLevel::Ifma($value) => $result,
            OfLevel::Avx512($value) => $result,
            OfLevel::Avx2($value) => $result,
        }
    };
    ($of:expr, $value:ident in $module:ident => new $result:expr) => {
        match $of {
            OfLevel::Ifma($value) => {
                use ifma as $module;
                OfLevel::Ifma($result)
            }
            OfLevel::Avx512($value) => {
                use avx512 as $module;
                OfLevel::Avx512($result)
            }
            OfLevel::Avx2($value) => {
                use avx2 as $module;
                OfLevel::Avx2($result)
            }
        }
    };
}

/// Runs the same expression on two values of one level.
macro_rules! on_both {
    ($of:expr, $other:expr, ($value:ident, $second:ident) => $result:expr) => {
        match ($of, $other) {
            (OfLevel::Ifma($value), OfLevel::Ifma($second)) => $result,
            (OfLevel::Avx512($value), OfLevel::Avx512($second)) => $result,
            (OfLevel::Avx2($value), OfLevel::Avx2($second)) => $result,
            _ => unreachable!("a process uses one back end; tests do not mix them"),
        }
    };
}

/// The right to run these kernels.
#[derive(Clone, Copy)]
pub struct Kernel(OfLevel<ifma::Kernel, avx512::Kernel, avx2::Kernel>);

impl Kernel {
    /// The kernels, if the back end has the instructions of one of the levels.
    pub fn of(backend: Backend) -> Option<Self> {
        let ifma = ifma::Kernel::of(backend).map(OfLevel::Ifma);
        let avx512 = || avx512::Kernel::of(backend).map(OfLevel::Avx512);
        let avx2 = || avx2::Kernel::of(backend).map(OfLevel::Avx2);
        ifma.or_else(avx512).or_else(avx2).map(Self)
    }

    /// Fewest elements for which eight lanes are faster than the library, one element after the other.
    pub fn worthwhile(self) -> usize {
        match self.0 {
            OfLevel::Ifma(_) => 1,
            OfLevel::Avx512(_) => 4,
            OfLevel::Avx2(_) => 6,
        }
    }

    /// `out[i] = encode(scalar · map(uniform[i]))`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn map_mul_encode(self, scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) {
        on_level!(self.0, kernel => kernel.map_mul_encode(scalar, uniform, out));
    }

    /// `out[i] = encode(scalar · decode(encoded[i]))`.
    ///
    /// # Errors
    /// The first element whose encoding is not canonical or that of the identity; the content of `out` is
    /// then undefined.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn decode_mul_encode(
        self,
        scalar: &Scalar,
        encoded: &[[u8; 32]],
        out: &mut [[u8; 32]],
    ) -> Result<(), InvalidElement> {
        on_level!(self.0, kernel => kernel.decode_mul_encode(scalar, encoded, out))
    }

    /// Ciphertexts as points.
    ///
    /// # Errors
    /// The first component whose encoding is not canonical or that of the identity.
    pub fn coefficients(self, encoded: &[[u8; 64]]) -> Result<Vec<Coefficient>, InvalidElement> {
        on_level!(self.0, kernel => kernel.coefficients(encoded))
    }

    /// `out[i] = 2 · (r · Σ_j x^j · a_j + e · (0, G) + t · (G, H))` for the encrypted coefficients a_j of query i,
    /// G and H the two bases. Points are below 2^`bits`.
    ///
    /// # Panics
    /// If the slices differ in length, or the queries in their numbers of coefficients, or those are none; if the
    /// bases are of two levels.
    pub fn evaluate(bases: [&FixedBase; 2], bits: usize, queries: &[Query<'_>], out: &mut [[u8; 64]]) {
        on_both!(&bases[0].0, &bases[1].0, (base, key) => {
            base.kernel().evaluate([base, key], bits, queries, out);
        });
    }
}

/// Elements, eight a vector. Wiped when dropped.
pub struct Elements(OfLevel<ifma::Elements, avx512::Elements, avx2::Elements>);

impl Elements {
    /// The elements that uniform bytes map to.
    pub fn map(kernel: Kernel, uniform: &[[u8; 64]]) -> Self {
        Self(on_level!(kernel.0, kernel in level => new level::Elements::map(kernel, uniform)))
    }

    /// The elements with these encodings.
    ///
    /// # Errors
    /// The first one whose encoding is not canonical or that of the identity.
    pub fn decode(kernel: Kernel, encoded: &[[u8; 32]]) -> Result<Self, InvalidElement> {
        Ok(Self(on_level!(kernel.0, kernel in level => new level::Elements::decode(kernel, encoded)?)))
    }

    /// One product of the table's base with each scalar.
    pub fn of_base(base: &FixedBase, scalars: &[[u8; 32]]) -> Self {
        Self(on_level!(&base.0, base in level => new level::Elements::of_base(base, scalars)))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        on_level!(&self.0, elements => elements.count())
    }

    /// The encodings of their doubles.
    pub fn encode_doubles(&self, out: &mut [[u8; 32]]) {
        on_level!(&self.0, elements => elements.encode_doubles(out));
    }

    /// The encodings.
    pub fn encode(&self, out: &mut [[u8; 32]]) {
        on_level!(&self.0, elements => elements.encode(out));
    }

    /// The products with one secret scalar, little-endian: 16 bytes, or 32 and below the group order.
    pub fn multiply(&self, scalar: &[u8]) -> Self {
        Self(on_level!(&self.0, elements => new elements.multiply(scalar)))
    }

    /// Adds `other`, one by one.
    pub fn add_assign(&mut self, other: &Self) {
        on_both!(&mut self.0, &other.0, (elements, others) => elements.add_assign(others));
    }

    /// Adds the element with this encoding, which may be the identity, to each.
    pub fn add_to_all(&mut self, encoded: &[u8; 32]) {
        on_level!(&mut self.0, elements => elements.add_to_all(encoded));
    }

    /// Negates each.
    pub fn negate(&mut self) {
        on_level!(&mut self.0, elements => elements.negate());
    }

    /// Subtracts `other`, one by one.
    pub fn sub_assign(&mut self, other: &Self) {
        on_both!(&mut self.0, &other.0, (elements, others) => elements.sub_assign(others));
    }

    /// The encoding of twice the sum.
    pub fn double_sum(&self) -> [u8; 32] {
        on_level!(&self.0, elements => elements.double_sum())
    }

    /// The encoding of twice the weighted sum, in time that does not depend on the weights.
    pub fn double_weighted_sum(&self, weights: &[u128]) -> [u8; 32] {
        on_level!(&self.0, elements => elements.double_weighted_sum(weights))
    }
}

/// A public element, ready to be multiplied by many scalars.
pub struct FixedBase(OfLevel<ifma::FixedBase, avx512::FixedBase, avx2::FixedBase>);

impl FixedBase {
    /// Powers of 64 of the base.
    pub const POWERS: usize = ifma::FixedBase::POWERS;

    /// The base whose multiples by 1, 64, 64², … have these encodings.
    pub fn new(kernel: Kernel, powers: &[[u8; 32]; Self::POWERS]) -> Self {
        Self(on_level!(kernel.0, kernel in level => new level::FixedBase::new(kernel, powers)))
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
