//! Shamir's secret sharing over GF(2^128): any t of m shares give the secret, t - 1 say nothing about it.
//!
//! A polynomial f of degree below t is drawn at random. The shares are its values at m points, and the secret
//! is its value at one point more. Nothing here takes m·t steps, for the filters of `gbf-dcw-malicious` have
//! 2^20 slots for 2^12 items. With 2^d ≥ m points:
//!
//! | step | how | multiplications |
//! |---|---|---|
//! | shares | additive FFT of f | d·2^(d-1) |
//! | secret, from f | half of the coefficients at a time | 2^d |
//! | secret, from any shares | Lagrange's formula, its products as a convolution | (8·d + 68)·2^d |
//!
//! **Points.** ω_i is the sum of the β_b over the bits b of i, where β_0, β_1, … is Cantor's basis: β_0 = 1,
//! β_(b+1)² + β_(b+1) = β_b. The first 32 span GF(2^32). The shares' points are ω_0, …, ω_(m-1), and the
//! secret's is ω_(2^d), which is none of them. All lie in GF(2^32).
//!
//! **Sharing** (Lin, Chung, Han, *Novel polynomial basis and its application to Reed–Solomon erasure codes*,
//! FOCS 2014). f is drawn in the basis X_i(x) = Π s_b(x), over the bits b of i, where s_b vanishes on the
//! first 2^b points. X_i has degree i, so t uniform coefficients make f uniform among the polynomials of
//! degree below t. In Cantor's basis s_b(ω_i) = ω_(i >> b), so the factors of the FFT are points themselves.
//!
//! **Reconstruction from the shares R**, as many as there are, is erasure decoding at one point z:
//!
//! ```text
//! f(z) = ℓ(z)·Σ_{i ∈ R} f(ω_i) / ((z - ω_i)·ℓ'(ω_i))          ℓ(x) = Π_{i ∈ R} (x - ω_i)
//! ℓ'(ω_i) = Π_{j ∈ R, j ≠ i} ω_(i ⊕ j)                         ω_i - ω_j = ω_(i ⊕ j)
//! ```
//!
//! The second line is a convolution over bit strings, of the indicator of R with the logarithms of the points
//! modulo 2^32 - 1. The Walsh–Hadamard transform T makes it a product: T(T(a)·T(b)) = 2^d·(a∗b). No logarithm is
//! taken. What would be added is multiplied, what would be subtracted is divided, and what would be multiplied by
//! T of the indicator, a number, is raised to that power. (Didier, *Efficient erasure decoding of Reed–Solomon
//! codes*, 2009, does this with logarithms.) Elements are fractions, so that only the last sum is inverted. f(z)
//! is the interpolation of *all* shares of R. One wrong share among them always changes it, since none of the
//! coefficients is zero.
//!
//! Which shares are there is a secret, as the shares are. No branch and no address depends on either; how many
//! there are is compared with t.

use std::sync::LazyLock;

use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::memory::{Wiped, large_vec};
use vesica_crypto::prg::Prg;

/// The most shares of a secret: the points of the shares, and one more, lie in GF(2^32), and counts of them are numbers of 31 bits.
pub const MOST_SHARES: usize = 1 << 30;

/// Sharing of one secret among so many shares, of which so many are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    shares: usize,
    threshold: usize,
    /// d: log2 of the number of points.
    log_points: u32,
}

impl Sharing {
    /// `threshold` of `shares` shares give the secret.
    ///
    /// # Panics
    /// Unless 0 < `threshold` ≤ `shares` ≤ [`MOST_SHARES`].
    #[must_use]
    pub fn new(shares: usize, threshold: usize) -> Self {
        assert!(0 < threshold && threshold <= shares, "{threshold} of {shares} shares");
        assert!(shares <= MOST_SHARES, "{shares} shares are too many");
        Self { shares, threshold, log_points: shares.next_power_of_two().trailing_zeros() }
    }

    /// m.
    #[must_use]
    pub fn shares(&self) -> usize {
        self.shares
    }

    /// A uniformly random secret, and its shares.
    #[must_use]
    pub fn share(&self, rng: &mut dyn CryptoRng) -> (Gf128, Wiped<Block>) {
        let mut values = Wiped::from(large_vec(Block::ZERO, 1 << self.log_points));
        Prg::from_rng(rng).fill_blocks(&mut values[..self.threshold]);
        let secret = self.value_at_secret(&values);
        evaluate(&mut values);
        values.truncate(self.shares);
        (secret, values)
    }

    /// f(ω_(2^d)), where s_b(ω_(2^d)) = β_(d-b): f = f_0 + s_b·f_1, which have coefficients without bit b.
    fn value_at_secret(&self, coefficients: &[Block]) -> Gf128 {
        if let [constant] = coefficients {
            return Gf128::from(*constant);
        }
        let (low, high) = coefficients.split_at(coefficients.len() / 2);
        let bit = low.len().trailing_zeros();
        self.value_at_secret(low) + basis(self.log_points - bit) * self.value_at_secret(high)
    }

    /// The secret, from the shares that are there: share i is if bit i of `there` is set, lowest bits first.
    /// None if these are fewer than the threshold. If they are not all values of one polynomial of a degree
    /// below the threshold, the result is another secret.
    ///
    /// # Panics
    /// If there is another number of shares, or fewer bits.
    #[must_use]
    pub fn reconstruct(&self, there: &[u8], shares: &[Block]) -> Option<Gf128> {
        assert!(shares.len() == self.shares && there.len() * 8 >= self.shares, "a bit for each share");
        let is_there = |i: usize| there[i / 8] >> (i % 8) & 1;
        let mut locator = Wiped::from(large_vec(0u32, 1 << self.log_points));
        locator.iter_mut().zip(0..self.shares).for_each(|(bit, i)| *bit = u32::from(is_there(i)));
        if locator.iter().map(|bit| *bit as usize).sum::<usize>() < self.threshold {
            return None;
        }
        let derivatives = self.derivatives(&mut locator);
        let secret_point = point(1 << self.log_points);
        // The sum as a fraction, and ℓ(z).
        let (mut above, mut below, mut locator_at_secret) = (Gf128::ZERO, Gf128::ONE, Gf128::ONE);
        for (i, (share, fraction)) in shares.iter().zip(derivatives.iter()).enumerate() {
            let is_there = Choice::from(is_there(i));
            let [numerator, denominator] = fraction.map(Gf128::from);
            let distance = secret_point - point(i as u32);
            locator_at_secret *= Gf128::conditional_select(&Gf128::ONE, &distance, is_there);
            let divisor = distance * numerator;
            let dividend = Gf128::from(*share) * denominator;
            above = above * divisor + Gf128::conditional_select(&Gf128::ZERO, &(dividend * below), is_there);
            below *= divisor;
        }
        Some(locator_at_secret * above * below.invert())
    }

    /// ℓ'(ω_i) for all points, as fractions; ℓ(ω_i) where i is not in R, whose indicator is `locator`.
    fn derivatives(&self, locator: &mut [u32]) -> Wiped<[Block; 2]> {
        // Numbers with a sign, in two's complement.
        transform(locator, |low, high| (low.wrapping_add(high), low.wrapping_sub(high)));
        let one = Gf128::ONE.to_block();
        let mut fractions = Wiped::from(large_vec([one; 2], locator.len()));
        // ω_0 = 0 has no logarithm: i is to be no factor of ℓ'(ω_i).
        (1..).zip(&mut fractions[1..]).for_each(|(i, fraction)| fraction[0] = point(i).to_block());
        transform(&mut fractions, combined);
        for (fraction, exponent) in fractions.iter_mut().zip(locator.iter()) {
            let exponent = *exponent as i32;
            // x^-1 has the numerator of x below.
            let [mut numerator, mut denominator] = *fraction;
            Block::conditional_swap(&mut numerator, &mut denominator, Choice::from((exponent < 0) as u8));
            let bits = self.log_points + 1;
            *fraction =
                [numerator, denominator].map(|base| power(base.into(), exponent.unsigned_abs(), bits).into());
        }
        transform(&mut fractions, combined);
        // By 2^-d = 2^(32-d) modulo 2^32 - 1.
        for part in fractions.iter_mut().flatten() {
            let x = Gf128::from(*part);
            *part = (self.log_points..u32::BITS).fold(x, |x, _| x.square()).into();
        }
        fractions
    }
}

/// The transform T of 2^d numbers, where a pair becomes its sum and its difference.
fn transform<T: Copy>(values: &mut [T], pair: impl Fn(T, T) -> (T, T)) {
    let mut apart = values.len() / 2;
    while apart > 0 {
        for block in values.chunks_exact_mut(2 * apart) {
            let (low, high) = block.split_at_mut(apart);
            low.iter_mut().zip(high).for_each(|(low, high)| (*low, *high) = pair(*low, *high));
        }
        apart /= 2;
    }
}

/// x·y and x/y of two fractions: sum and difference of their logarithms.
fn combined(x: [Block; 2], y: [Block; 2]) -> ([Block; 2], [Block; 2]) {
    let ([x_above, x_below], [y_above, y_below]) = (x.map(Gf128::from), y.map(Gf128::from));
    let fraction = |above: Gf128, below: Gf128| [above.into(), below.into()];
    (fraction(x_above * y_above, x_below * y_below), fraction(x_above * y_below, x_below * y_above))
}

/// base^exponent, for an exponent of so many bits.
fn power(base: Gf128, exponent: u32, bits: u32) -> Gf128 {
    (0..bits).rev().fold(Gf128::ONE, |power, bit| {
        let bit = Choice::from((exponent >> bit & 1) as u8);
        power.square() * Gf128::conditional_select(&Gf128::ONE, &base, bit)
    })
}

/// Replaces 2^d coefficients in the basis X_i by the values at the points ω_0, ω_1, ….
///
/// Level j combines f_0 and f_1 of f = f_0 + s_j·f_1, which have coefficients without bit j. On the 2^(j+1)
/// points from ω_(b·2^(j+1)) on, s_j is ω_2b on the lower half and ω_2b + 1 on the upper half.
fn evaluate(values: &mut [Block]) {
    for level in (0..values.len().trailing_zeros()).rev() {
        for (b, block) in (0..).zip(values.chunks_exact_mut(2 << level)) {
            let (low, high) = block.split_at_mut(1 << level);
            gf128::multiply_add(low, point(2 * b), high);
            high.iter_mut().zip(low).for_each(|(high, low)| *high ^= *low);
        }
    }
}

/// β_b.
fn basis(b: u32) -> Gf128 {
    BASIS[b as usize]
}

/// β_0, …, β_31.
///
/// β_127 is the first power of x with trace 1, and β_b = β_(b+1)² + β_(b+1). With S(x) = x² + x this is β_b =
/// S^(127-b)(β_127). S^127 is the trace, as all binomial coefficients over 127 are odd, and so β_0 is 1;
/// S^(2^k)(x) = x^(2^(2^k)) + x vanishes on the first 2^k elements, which therefore span GF(2^(2^k)).
static BASIS: LazyLock<[Gf128; 32]> = LazyLock::new(|| {
    let mut candidate = Gf128::ONE;
    loop {
        candidate *= Gf128::X;
        let chain = std::iter::successors(Some(candidate), |x| Some(x.square() + *x));
        let chain: Vec<Gf128> = chain.take(128).collect();
        if chain[127] == Gf128::ONE {
            return core::array::from_fn(|b| chain[127 - b]);
        }
    }
});

/// ω_i.
fn point(i: u32) -> Gf128 {
    let taken = (0..u32::BITS).filter(|bit| i >> bit & 1 == 1);
    taken.fold(Gf128::ZERO, |sum, bit| sum + basis(bit))
}

#[cfg(test)]
mod tests;
