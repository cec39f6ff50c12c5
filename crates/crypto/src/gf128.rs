//! The field GF(2^128) = GF(2)\[x\] / (x^128 + x^7 + x^2 + x + 1).
//!
//! Bit i of a block is the coefficient of x^i. XOR of blocks is addition, and multiplication by x is a shift
//! to the left. (GCM counts the bits the other way round.) Vectors of field elements are slices of [`Block`];
//! [`Gf128`] is a single element with operators. All operations are constant time.

use core::ops::{Add, AddAssign, Mul, MulAssign, Sub};

use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use vesica_kernels::{Backend, gf128 as kernels};
use zeroize::{DefaultIsZeroes, Zeroize};

use crate::block::Block;

/// An element of GF(2^128).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gf128(Block);

impl Gf128 {
    /// The neutral element of addition.
    pub const ZERO: Self = Self(Block::ZERO);
    /// The neutral element of multiplication.
    pub const ONE: Self = Self(Block::from_u128(1));
    /// The variable x, which generates the field over GF(2).
    pub const X: Self = Self(Block::from_u128(2));

    /// The coefficients as bits.
    #[inline]
    #[must_use]
    pub const fn to_block(self) -> Block {
        self.0
    }

    /// A uniformly random element.
    #[must_use]
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        Self(Block::random(rng))
    }

    /// The square.
    #[must_use]
    pub fn square(self) -> Self {
        self * self
    }

    /// 1 / self; zero for zero.
    ///
    /// Fermat: the exponent 2^128 - 2 is 2 · (2^127 - 1), and a^(2^(2k) - 1) = (a^(2^k - 1))^(2^k) · a^(2^k -
    /// 1).
    #[must_use]
    pub fn invert(self) -> Self {
        // a^(2^k - 1) for k = 1, 3, 7, 15, 31, 63, 127: double k, then add one.
        let mut ones = self;
        let mut k = 1;
        while k < 127 {
            let doubled = (0..k).fold(ones, |power, _| power.square()) * ones;
            ones = doubled.square() * self;
            k = 2 * k + 1;
        }
        ones.square()
    }
}

impl From<Block> for Gf128 {
    #[inline]
    fn from(block: Block) -> Self {
        Self(block)
    }
}

impl From<Gf128> for Block {
    #[inline]
    fn from(element: Gf128) -> Self {
        element.0
    }
}

impl Add for Gf128 {
    type Output = Self;

    #[inline]
    #[expect(clippy::suspicious_arithmetic_impl, reason = "coefficients are added modulo 2")]
    fn add(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

impl AddAssign for Gf128 {
    #[inline]
    #[expect(clippy::suspicious_op_assign_impl, reason = "coefficients are added modulo 2")]
    fn add_assign(&mut self, other: Self) {
        self.0 ^= other.0;
    }
}

impl Sub for Gf128 {
    type Output = Self;

    /// Equal to addition: the characteristic is two.
    #[inline]
    #[expect(clippy::suspicious_arithmetic_impl, reason = "addition and subtraction are the same")]
    fn sub(self, other: Self) -> Self {
        self + other
    }
}

impl Mul for Gf128 {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        Self(kernels::single(Backend::detect(), self.0, other.0))
    }
}

impl MulAssign for Gf128 {
    #[inline]
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

impl ConstantTimeEq for Gf128 {
    #[inline]
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl ConditionallySelectable for Gf128 {
    #[inline]
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        Self(Block::conditional_select(&a.0, &b.0, choice))
    }
}

impl DefaultIsZeroes for Gf128 {}

/// `x[i] ← x[i] · y[i]`.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn multiply(x: &mut [Block], y: &[Block]) {
    multiply_on(Backend::detect(), x, y);
}

/// [`multiply`] computed by `backend`.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn multiply_on(backend: Backend, x: &mut [Block], y: &[Block]) {
    kernels::multiply(backend, x, y);
}

/// `y[i] ← y[i] + c · x[i]`.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn multiply_add(y: &mut [Block], c: Gf128, x: &[Block]) {
    multiply_add_on(Backend::detect(), y, c, x);
}

/// [`multiply_add`] computed by `backend`.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn multiply_add_on(backend: Backend, y: &mut [Block], c: Gf128, x: &[Block]) {
    kernels::multiply_add(backend, y, c.0, x);
}

/// `low[i] ← low[i] + c · high[i]`, then `high[i] ← high[i] + low[i]`: the butterfly of an additive FFT.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn butterfly(low: &mut [Block], high: &mut [Block], c: Gf128) {
    butterfly_on(Backend::detect(), low, high, c);
}

/// [`butterfly`] computed by `backend`.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn butterfly_on(backend: Backend, low: &mut [Block], high: &mut [Block], c: Gf128) {
    kernels::butterfly(backend, low, high, c.0);
}

/// `x[i] ← x[i] · Π_w tables[w][bits 3w, 3w + 1, 3w + 2 of numbers[i]]`, in constant time.
///
/// # Panics
/// If there is not one number for each element, or there are more than 21 tables.
#[inline]
pub fn table_products(x: &mut [Block], tables: &[[Block; 8]], numbers: &[u32]) {
    table_products_on(Backend::detect(), x, tables, numbers);
}

/// [`table_products`] computed by `backend`.
///
/// # Panics
/// As [`table_products`].
#[inline]
pub fn table_products_on(backend: Backend, x: &mut [Block], tables: &[[Block; 8]], numbers: &[u32]) {
    assert!(tables.len() <= 21, "three bits of a number for each table");
    kernels::table_products(backend, x, tables, numbers);
}

/// `Σ x[i] · y[i]`.
///
/// # Panics
/// If the slices differ in length.
#[inline]
#[must_use]
pub fn inner_product(x: &[Block], y: &[Block]) -> Gf128 {
    inner_product_on(Backend::detect(), x, y)
}

/// [`inner_product`] computed by `backend`.
///
/// # Panics
/// If the slices differ in length.
#[inline]
#[must_use]
pub fn inner_product_on(backend: Backend, x: &[Block], y: &[Block]) -> Gf128 {
    Gf128(kernels::inner_product(backend, x, y))
}

/// Inner products of many rows with the same factors, computed in steps. Each is reduced once, at the end.
pub struct RowProducts {
    backend: Backend,
    /// Low, middle and high parts, four lanes each.
    sums: Vec<[Block; 12]>,
}

impl RowProducts {
    /// `rows` sums, all zero.
    #[inline]
    #[must_use]
    pub fn new(rows: usize) -> Self {
        Self::with_backend(Backend::detect(), rows)
    }

    /// [`new`](Self::new), computed by `backend`.
    #[must_use]
    pub fn with_backend(backend: Backend, rows: usize) -> Self {
        Self { backend, sums: vec![[Block::ZERO; 12]; rows] }
    }

    /// Adds the products of the next eight elements of each row with the next eight factors.
    ///
    /// # Panics
    /// If there is another number of rows.
    #[inline]
    pub fn add(&mut self, rows: &[[Block; 8]], factors: &[Block; 8]) {
        kernels::add_row_products(self.backend, &mut self.sums, rows, factors);
    }

    /// The inner products.
    #[must_use]
    pub fn finish(&self) -> Vec<Block> {
        self.sums.iter().map(kernels::reduce_lanes).collect()
    }
}

impl Drop for RowProducts {
    fn drop(&mut self) {
        self.sums.as_flattened_mut().zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;

    #[test]
    fn the_polynomial_is_the_stated_one() {
        let x_to_127 = (0..127).fold(Gf128::ONE, |power, _| power * Gf128::X);
        assert_eq!(x_to_127.to_block(), Block::from(1u128 << 127));
        assert_eq!((x_to_127 * Gf128::X).to_block(), Block::from(0x87u128));
        // Irreducible: x^(2^128) = x, and x^(2^64) - x is invertible.
        let half = (0..64).fold(Gf128::X, |power, _| power.square());
        assert_eq!((0..64).fold(half, |power, _| power.square()), Gf128::X);
        let difference = half - Gf128::X;
        assert_eq!(difference * difference.invert(), Gf128::ONE);
    }

    #[test]
    fn obeys_the_laws_of_a_field() {
        let mut rng = Prg::from_seed([6; 16]);
        for _ in 0..50 {
            let [a, b, c] = core::array::from_fn(|_| Gf128::random(&mut rng));
            assert_eq!(a * b, b * a);
            assert_eq!(a * (b * c), (a * b) * c);
            assert_eq!(a * (b + c), a * b + a * c);
            assert_eq!(a - a, Gf128::ZERO);
            assert_eq!(a * a.invert(), Gf128::ONE);
            assert_eq!(a.square(), a * a);
            let mut product = a;
            product *= b;
            product += c;
            assert_eq!(product, a * b + c);
        }
        assert_eq!(Gf128::ZERO.invert(), Gf128::ZERO);
        assert_eq!(Gf128::ONE.invert(), Gf128::ONE);
    }

    #[test]
    fn products_of_rows_are_inner_products() {
        let mut rng = Prg::from_seed([8; 16]);
        for backend in Backend::available() {
            let mut products = RowProducts::with_backend(backend, 5);
            let mut expected = [Gf128::ZERO; 5];
            for _ in 0..3 {
                let mut rows = [[Block::ZERO; 8]; 5];
                rng.fill_blocks(rows.as_flattened_mut());
                let factors = core::array::from_fn(|_| rng.block());
                products.add(&rows, &factors);
                for (sum, row) in expected.iter_mut().zip(&rows) {
                    *sum += inner_product(row, &factors);
                }
            }
            assert!(products.finish().into_iter().map(Gf128::from).eq(expected), "{backend:?}");
        }
    }

    #[test]
    fn vectors_follow_their_formulas() {
        let mut rng = Prg::from_seed([7; 16]);
        let x: Vec<Block> = (0..9).map(|_| rng.block()).collect();
        let y: Vec<Block> = (0..9).map(|_| rng.block()).collect();
        let c = Gf128::random(&mut rng);
        let mut products = x.clone();
        multiply(&mut products, &y);
        let mut sums = y.clone();
        multiply_add(&mut sums, c, &x);
        let mut total = Gf128::ZERO;
        for i in 0..9 {
            let (x, y) = (Gf128::from(x[i]), Gf128::from(y[i]));
            assert_eq!(Gf128::from(products[i]), x * y);
            assert_eq!(Gf128::from(sums[i]), y + c * x);
            total += x * y;
        }
        assert_eq!(inner_product(&x, &y), total);
    }
}
