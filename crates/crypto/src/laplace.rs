//! The discrete Laplace distribution, drawn from random bits and whole numbers alone, in constant time.
//!
//! ```text
//! P(X = x) = (e^ε - 1)/(e^ε + 1) · e^(-ε·|x|)          for every whole number x
//! ```
//!
//! X is the difference of two numbers that are both y with probability (1 - e^-ε)·e^(-ε·y), y = 0, 1, …
//!
//! Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, NeurIPS 2020 (arXiv
//! 2004.00010), Algorithm 2 up to the sign (such a y for ε = s/t) and Algorithm 1 (a bit that is one with probability
//! e^-γ). No floating-point number takes part, whose gaps would tell something of the value that noise is added
//! to (Mironov, CCS 2012).
//!
//! **Deviation:** the loops of these algorithms end when a random bit says so, and the time that they take tells
//! something of the number. Here each loop runs a fixed number of times, and what comes after its end is masked. A loop
//! would run on with probability at most e^-45, 2^-64.9; so the distribution is within 2^-62 of the one above, and
//! ε-differential privacy holds but for an event of that probability.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Tries for a number that each fail with probability at most 1/e.
const TRIES: usize = 45;

/// Bits of probability γ/k, k = 1, 2, …: all of them are ones with probability at most 1/25!, below 2^-83.
const STEPS: usize = 25;

/// What a number below a bound is made of.
type Uniform = [u8; 16];

/// Random bits in the amount that they are asked for, and then wiped.
struct Draws<'a> {
    rng: &'a mut dyn CryptoRng,
    room: Zeroizing<[Uniform; STEPS]>,
}

/// A number below `n`, at most 2^38. Each has a probability within 2^-128 of 1/n.
fn below(n: u64, uniform: &Uniform) -> u64 {
    let [low, high] =
        [0, 1].map(|half| u128::from(u64::from_le_bytes(uniform.as_chunks().0[half])) * u128::from(n));
    ((high + (low >> 64)) >> 64) as u64
}

/// 1 if a < b, and 0 otherwise, for numbers below 2^63.
fn is_less(a: u64, b: u64) -> u64 {
    a.wrapping_sub(b) >> 63
}

impl Draws<'_> {
    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.rng.fill_bytes(&mut self.room[0]);
        below(n, &self.room[0])
    }

    /// 1 with probability e^-γ, γ = `part`/`whole` at most 1, and 0 otherwise: the first k at which a bit of
    /// probability γ/k is zero is odd so often.
    fn with_probability_exp(&mut self, part: u64, whole: u64) -> u64 {
        self.rng.fill_bytes(self.room.as_flattened_mut());
        let (mut odd, mut ones) = (0, 1);
        for (k, uniform) in (1..).zip(self.room.iter()) {
            let one = is_less(below(whole * k, uniform), part);
            odd |= ones & (1 - one) & k;
            ones &= one;
        }
        odd & 1
    }

    /// y with probability (1 - e^-ε)·e^(-ε·y), ε = s/t.
    fn geometric(&mut self, s: u64, t: u64) -> u64 {
        // A number u + t·v with probability proportional to e^(-(u + t·v)/t): the first u that is accepted,
        let (mut u, mut accepted) = (0, 0);
        for _ in 0..TRIES {
            let tried = self.below(t);
            let accept = self.with_probability_exp(tried, t) & (1 - accepted);
            u |= tried & accept.wrapping_neg();
            accepted |= accept;
        }
        // and how often a bit of probability 1/e is one.
        let (mut v, mut ones) = (0, 1);
        for _ in 0..TRIES {
            ones &= self.with_probability_exp(1, 1);
            v += ones;
        }
        quotient(u + t * v, s)
    }
}

/// ⌊y/s⌋ for y below 2^38 and s below 2^32, by the reciprocal of s: how long a division takes depends on y.
///
/// The reciprocal is rounded up by less than one, which adds less than 2^(38-80) < 1/s to the quotient.
fn quotient(y: u64, s: u64) -> u64 {
    let reciprocal = (1u128 << 80).div_ceil(s.into());
    ((u128::from(y) * reciprocal) >> 80) as u64
}

/// A number of the distribution with ε = `numerator`/`denominator`, both at least 1 and below 2^32.
///
/// # Panics
/// If a part of ε is 0.
#[must_use]
pub fn sample(numerator: u32, denominator: u32, rng: &mut dyn CryptoRng) -> i64 {
    assert!(numerator > 0 && denominator > 0, "ε is above 0");
    let (s, t) = (u64::from(numerator), u64::from(denominator));
    let mut draws = Draws { rng, room: Zeroizing::default() };
    let [plus, minus] = [(); 2].map(|()| draws.geometric(s, t).cast_signed());
    plus - minus
}

/// b with P(|X| > b) ≤ 2^-41, so that one of two numbers lies beyond with probability at most 2^-40.
///
/// P(|X| > b) = 2·e^(-ε·(b + 1))/(1 + e^-ε) ≤ 2·e^(-ε·b), which is at most 2^-41 from ε·b = 42·ln 2 =
/// 29.1121… on.
///
/// # Panics
/// If the numerator is 0.
#[must_use]
pub fn bound(numerator: u32, denominator: u32) -> u64 {
    const THOUSANDTHS: u64 = 29_113;
    (THOUSANDTHS * u64::from(denominator)).div_ceil(1000 * u64::from(numerator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;

    const DRAWS: usize = 20_000;

    /// P(X = x).
    fn probability(epsilon: f64, x: i64) -> f64 {
        (epsilon / 2.0).tanh() * (-epsilon * x.unsigned_abs() as f64).exp()
    }

    /// Pearson's χ² of the draws with this seed over the classes from -most to most and the two beyond, less the
    /// degrees of freedom, in standard deviations.
    fn deviation(numerator: u32, denominator: u32, most: i64, seed: u8) -> f64 {
        let epsilon = f64::from(numerator) / f64::from(denominator);
        let mut seen = vec![0.0; 2 * most as usize + 3];
        let rng = &mut Prg::from_seed([seed; 16]);
        for _ in 0..DRAWS {
            let drawn = sample(numerator, denominator, rng).clamp(-most - 1, most + 1);
            seen[(drawn + most + 1) as usize] += 1.0;
        }
        let mut expected: Vec<f64> = (-most..=most).map(|x| probability(epsilon, x)).collect();
        let beyond = (1.0 - expected.iter().sum::<f64>()) / 2.0;
        expected.insert(0, beyond);
        expected.push(beyond);
        let chi: f64 = expected
            .iter()
            .zip(&seen)
            .map(|(probability, seen)| {
                let expected = probability * DRAWS as f64;
                assert!(expected >= 5.0, "classes with enough draws");
                (seen - expected).powi(2) / expected
            })
            .sum();
        let freedom = (seen.len() - 1) as f64;
        (chi - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn draws_have_the_distribution() {
        // Seeded: the result changes only if the code draws something else. Five deviations have a probability
        // of about 10^-5.
        for (numerator, denominator, most) in
            [(1000, 1000, 6), (500, 1000, 13), (100, 1000, 50), (7, 1000, 300), (2500, 1000, 2), (3, 2, 4)]
        {
            for seed in 1..3 {
                let deviation = deviation(numerator, denominator, most, seed);
                assert!(deviation.abs() < 5.0, "ε = {numerator}/{denominator}: {deviation}");
            }
        }
    }

    #[test]
    fn a_wrong_distribution_would_be_seen() {
        // The test above, of draws for another ε by a few percent.
        let epsilon = [(1000, 1000), (1060, 1000)];
        let rng = &mut Prg::from_seed([9; 16]);
        let [right, wrong] = epsilon.map(|(numerator, denominator)| {
            let zeros = (0..DRAWS).filter(|_| sample(numerator, denominator, rng) == 0).count();
            let expected = DRAWS as f64 * probability(1.0, 0);
            (zeros as f64 - expected) / (expected * (1.0 - probability(1.0, 0))).sqrt()
        });
        assert!(right.abs() < 4.0 && wrong > 5.0, "{right} {wrong}");
    }

    /// Counts the bytes that are drawn.
    struct Counted(Prg, usize);

    impl rand_core::TryRng for Counted {
        type Error = std::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            unreachable!("bytes only")
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            unreachable!("bytes only")
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            self.1 += bytes.len();
            self.0.try_fill_bytes(bytes)
        }
    }

    impl rand_core::TryCryptoRng for Counted {}

    #[test]
    fn every_draw_takes_the_same_work() {
        let rng = &mut Counted(Prg::from_seed([5; 16]), 0);
        let mut seen = std::collections::BTreeSet::new();
        for draw in 1..=500 {
            seen.insert(sample(100, 1000, rng));
            // Of two numbers u and v; each bit e^-γ takes its steps, and a u that is tried is drawn.
            assert_eq!(rng.1, draw * 2 * TRIES * (2 * STEPS + 1) * size_of::<Uniform>());
        }
        assert!(seen.len() > 20, "{seen:?}");
    }

    #[test]
    fn quotients_by_the_reciprocal_are_exact() {
        for s in [1u64, 2, 3, 7, 999, 1000, 20_000, u64::from(u32::MAX) - 1, u64::from(u32::MAX)] {
            let most = (TRIES as u64 + 1) * u64::from(u32::MAX);
            let near = |multiple: u64| [multiple.saturating_sub(1), multiple, multiple + 1];
            for y in [0, 1, most / 2, most / s * s, most / s / 2 * s, most].into_iter().flat_map(near) {
                assert_eq!(quotient(y, s), y / s, "{y}/{s}");
            }
        }
    }

    #[test]
    fn bits_have_the_probability_of_their_exponent() {
        let rng = &mut Prg::from_seed([4; 16]);
        for (part, whole) in [(0, 1), (1, 1), (1, 2), (333, 1000), (999, 1000)] {
            let mut draws = Draws { rng, room: Zeroizing::default() };
            let ones = (0..DRAWS).map(|_| draws.with_probability_exp(part, whole)).sum::<u64>() as f64;
            let probability = (-(part as f64) / whole as f64).exp();
            let deviation = (DRAWS as f64 * probability * (1.0 - probability)).sqrt().max(0.5);
            assert!((ones - DRAWS as f64 * probability).abs() < 5.0 * deviation, "{part}/{whole}: {ones}");
        }
    }

    #[test]
    fn the_bound_holds_and_is_not_far_off() {
        for thousandths in [1, 7, 50, 100, 500, 999, 1000, 3000, 20_000] {
            let epsilon = f64::from(thousandths) / 1000.0;
            let bound = bound(thousandths, 1000);
            // ln P(|X| > b), exactly.
            let beyond = |b: f64| 2f64.ln() - epsilon * (b + 1.0) - (1.0 + (-epsilon).exp()).ln();
            let limit = -41.0 * 2f64.ln();
            assert!(beyond(bound as f64) <= limit, "{thousandths}");
            // Two values of ln 2/ε less would not do.
            assert!(beyond(bound as f64 - 2.0 * 2f64.ln() / epsilon - 2.0) > limit, "{thousandths}");
        }
    }
}
