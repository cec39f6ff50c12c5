//! Shamir's secret sharing over GF(2^128): any t of m shares give the secret, t - 1 say nothing about it.
//!
//! A polynomial f of degree below t is drawn at random. The shares are its values at m points, and the secret
//! is its value at one point more. m goes up to 2^31, so nothing here takes m·t steps:
//!
//! | step | how | operations for 2^d ≥ m points |
//! |---|---|---|
//! | shares | additive FFT of f ([`evaluate()`]) | at most d·2^(d-1) multiplications |
//! | secret, from f | products of one list | 2·t multiplications |
//! | secret, from any shares | Lagrange's coefficients by their logarithms | 3·d·2^d additions modulo 2^32 - 1, 12·m multiplications |
//!
//! **Points.** ω_i is the sum of the β_b over the bits b of i, where β_0, β_1, … is Cantor's basis: β_0 = 1,
//! β_(b+1)² + β_(b+1) = β_b (`points.rs`). The first 32 span GF(2^32). The shares' points are ω_0, …, ω_(m-1),
//! and the secret's is ω_(2^d), which is none of them. All lie in GF(2^32).
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
//! log ℓ'(ω_i) = Σ_{j ∈ R, j ≠ i} log ω_(i ⊕ j)                 ω_i - ω_j = ω_(i ⊕ j)
//! ```
//!
//! The logarithms are those of GF(2^32) (`logarithms.rs`). The second line is a convolution over bit strings
//! modulo 2^32 - 1 of the indicator of R with a public table ([`vesica_crypto::walsh`]). This is the erasure
//! locator of Didier (*Efficient erasure decoding of Reed–Solomon codes*, 2009) and of Lin, Chung, Han, in a
//! field whose table of logarithms is not stored. f(z) is the interpolation of *all* shares of R. One wrong
//! share among them always changes it, since none of the coefficients is zero.
//!
//! Which shares are there is a secret, as the shares are. No branch and no address depends on either; how many
//! there are is compared with t.

mod evaluate;
mod logarithms;
mod points;

use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::memory::{Wiped, large_vec};
use vesica_crypto::prg::Prg;
use vesica_crypto::{par, walsh};

pub use evaluate::evaluate;
use logarithms::Logarithms;
use points::Points;

/// The most shares of a secret: the points of the shares, and one more, lie in GF(2^32).
pub const MOST_SHARES: usize = 1 << 31;

/// Shares that a task weighs.
const CHUNK: usize = 1 << 12;

/// Shares that are weighed at a time, so that they stay in the cache.
const BATCH: usize = 1 << 9;

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

    /// t.
    #[must_use]
    pub fn threshold(&self) -> usize {
        self.threshold
    }

    /// A uniformly random secret, and its shares.
    #[must_use]
    pub fn share(&self, threads: usize, rng: &mut dyn CryptoRng) -> (Gf128, Wiped<Block>) {
        let mut values = Wiped::from(large_vec(Block::ZERO, 1 << self.log_points));
        Prg::from_rng(rng).fill_blocks(&mut values[..self.threshold]);
        let secret = self.value_at_secret(&values[..self.threshold]);
        evaluate(threads, &mut values, self.threshold, self.shares);
        values.truncate(self.shares);
        (secret, values)
    }

    /// f(ω_(2^d)) = Σ_i f_i·X_i(ω_(2^d)), where s_b(ω_(2^d)) = β_(d-b).
    fn value_at_secret(&self, coefficients: &[Block]) -> Gf128 {
        let points = Points::get();
        let factor = |bit: u32| points.basis(self.log_points - bit);
        // X of the low bits of an index; those of the high bits are a factor of each chunk.
        let low_bits = self.log_points.min(CHUNK.trailing_zeros());
        let mut low = vec![Block::from(Gf128::ONE)];
        for bit in 0..low_bits {
            let mut upper = low.clone();
            low.iter_mut()
                .zip(&mut upper)
                .for_each(|(_, upper)| *upper = (Gf128::from(*upper) * factor(bit)).into());
            low.append(&mut upper);
        }
        let mut secret = Gf128::ZERO;
        for (chunk, coefficients) in coefficients.chunks(CHUNK).enumerate() {
            let high = (low_bits..self.log_points).filter(|bit| chunk >> (bit - low_bits) & 1 == 1);
            let high = high.fold(Gf128::ONE, |product, bit| product * factor(bit));
            secret += high * gf128::inner_product(coefficients, &low[..coefficients.len()]);
        }
        secret
    }

    /// The secret, from the shares that are there: share i is if bit i of `there` is set, lowest bits first.
    /// None if these are fewer than the threshold. If they are not all values of one polynomial of a degree
    /// below the threshold, the result is another secret.
    ///
    /// # Panics
    /// If there is another number of shares, or fewer bits.
    #[must_use]
    pub fn reconstruct(&self, threads: usize, there: &[u8], shares: &[Block]) -> Option<Gf128> {
        assert!(shares.len() == self.shares && there.len() * 8 >= self.shares, "a bit for each share");
        let mut locator = self.indicator(there);
        let count: usize = locator.iter().map(|bit| *bit as usize).sum();
        if count < self.threshold {
            return None;
        }
        let logarithms = Logarithms::get();
        let size = 1 << self.log_points;
        // log (z - ω_i), and their sum over R: log ℓ(z).
        let mut to_secret = large_vec(0, size);
        logarithms.fill(threads, size, &mut to_secret);
        let terms = to_secret.iter().zip(locator.iter()).map(|(log, bit)| log & bit.wrapping_neg());
        let at_secret = terms.fold(0, walsh::add);
        // log ℓ'(ω_i).
        let mut table = large_vec(0, size);
        logarithms.fill(threads, 0, &mut table);
        walsh::convolve(threads, &mut locator, &mut table);
        let sums = locator.chunks(CHUNK).zip(to_secret.chunks(CHUNK)).zip(shares.chunks(CHUNK));
        let mut parts = Wiped::from(vec![Block::ZERO; sums.len()]);
        let tasks = sums.zip(parts.iter_mut());
        let Ok(()) = par::for_each(threads, tasks, |chunk, (((locator, to_secret), shares), part)| {
            *part = weighted(logarithms, there, chunk * CHUNK, [locator, to_secret], shares);
            Ok::<_, core::convert::Infallible>(())
        });
        let sum = parts.iter().fold(Block::ZERO, |sum, part| sum ^ *part);
        let mut at_secret = [at_secret];
        let mut factor = [Block::ZERO];
        logarithms.powers(&at_secret, &mut factor);
        zeroize::Zeroize::zeroize(&mut at_secret);
        Some(Gf128::from(sum) * Gf128::from(factor[0]))
    }

    /// The bits as numbers, for all points.
    fn indicator(&self, there: &[u8]) -> Wiped<u32> {
        let mut indicator = Wiped::from(large_vec(0, 1 << self.log_points));
        for (i, number) in indicator[..self.shares].iter_mut().enumerate() {
            *number = u32::from(there[i / 8] >> (i % 8) & 1);
        }
        indicator
    }
}

/// Σ f(ω_i) / ((z - ω_i)·ℓ'(ω_i)) over those shares from number `first` on that are there; `logs` are the
/// logarithms of the two factors.
fn weighted(
    logarithms: &Logarithms,
    there: &[u8],
    first: usize,
    logs: [&[u32]; 2],
    shares: &[Block],
) -> Block {
    let (mut exponents, mut weights) = (Wiped::from(vec![0; BATCH]), Wiped::from(vec![Block::ZERO; BATCH]));
    let mut sum = Block::ZERO;
    for (batch, shares) in shares.chunks(BATCH).enumerate() {
        let start = batch * BATCH;
        let (exponents, weights) = (&mut exponents[..shares.len()], &mut weights[..shares.len()]);
        for (i, exponent) in exponents.iter_mut().enumerate() {
            *exponent = !walsh::add(logs[0][start + i], logs[1][start + i]);
        }
        logarithms.powers(exponents, weights);
        for (i, weight) in weights.iter_mut().enumerate() {
            let at = first + start + i;
            *weight &= Block::mask(there[at / 8] >> (at % 8) & 1 == 1);
        }
        sum ^= gf128::inner_product(shares, weights).to_block();
    }
    sum
}

#[cfg(test)]
mod tests;
