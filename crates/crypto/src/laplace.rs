//! The discrete Laplace distribution, drawn exactly: from random bits and whole numbers alone.
//!
//! ```text
//! P(X = x) = (e^ε - 1)/(e^ε + 1) · e^(-ε·|x|)          for every whole number x
//! ```
//!
//! Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, NeurIPS 2020 (arXiv
//! 2004.00010), Algorithm 2 (the distribution with ε = s/t) and Algorithm 1 (a bit that is one with probability
//! e^-γ). No floating-point number takes part, whose gaps would tell something of the value that noise is added
//! to (Mironov, CCS 2012).
//!
//! **How long a draw takes depends on what is drawn**: a few steps more or less, of some nanoseconds each. A party
//! draws before its first message, together with work that takes much longer.

use rand_core::CryptoRng;

/// A uniformly random number below `n`, which is not 0.
fn below(n: u64, rng: &mut dyn CryptoRng) -> u64 {
    let kept = u64::MAX.checked_shr((n - 1).leading_zeros()).unwrap_or(0);
    loop {
        let drawn = rng.next_u64() & kept;
        if drawn < n {
            return drawn;
        }
    }
}

/// True with probability e^-γ, γ = `part`/`whole` at most 1: the first k at which a bit of probability γ/k is
/// zero is odd so often.
fn with_probability_exp(part: u64, whole: u64, rng: &mut dyn CryptoRng) -> bool {
    let mut k = 1;
    while below(whole * k, rng) < part {
        k += 1;
    }
    k % 2 == 1
}

/// A number of the distribution with ε = `numerator`/`denominator`, both at least 1 and below 2^32.
///
/// # Panics
/// If a part of ε is 0.
#[must_use]
pub fn sample(numerator: u32, denominator: u32, rng: &mut dyn CryptoRng) -> i64 {
    assert!(numerator > 0 && denominator > 0, "ε is above 0");
    let (s, t) = (u64::from(numerator), u64::from(denominator));
    loop {
        // A number u + t·v with probability proportional to e^(-(u + t·v)/t).
        let u = below(t, rng);
        if !with_probability_exp(u, t, rng) {
            continue;
        }
        let mut v = 0;
        while with_probability_exp(1, 1, rng) {
            v += 1;
        }
        let magnitude = (u + t * v) / s;
        let negative = below(2, rng) == 1;
        // Zero has no sign, and comes up once.
        if !(negative && magnitude == 0) {
            let magnitude = magnitude.cast_signed();
            return if negative { -magnitude } else { magnitude };
        }
    }
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

    const DRAWS: usize = 200_000;

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
    fn draws_have_the_exact_distribution() {
        // Seeded: the result changes only if the code draws something else. Five deviations have a probability
        // of about 10^-5.
        for (numerator, denominator, most) in
            [(1000, 1000, 8), (500, 1000, 17), (100, 1000, 70), (7, 1000, 300), (2500, 1000, 3), (3, 2, 5)]
        {
            for seed in 1..4 {
                let deviation = deviation(numerator, denominator, most, seed);
                assert!(deviation.abs() < 5.0, "ε = {numerator}/{denominator}: {deviation}");
            }
        }
    }

    #[test]
    fn a_wrong_distribution_would_be_seen() {
        // The test above, of draws for another ε by a few percent.
        let epsilon = [(1000, 1000), (1030, 1000)];
        let rng = &mut Prg::from_seed([9; 16]);
        let [right, wrong] = epsilon.map(|(numerator, denominator)| {
            let zeros = (0..DRAWS).filter(|_| sample(numerator, denominator, rng) == 0).count();
            let expected = DRAWS as f64 * probability(1.0, 0);
            (zeros as f64 - expected) / (expected * (1.0 - probability(1.0, 0))).sqrt()
        });
        assert!(right.abs() < 4.0 && wrong > 5.0, "{right} {wrong}");
    }

    #[test]
    fn bits_have_the_probability_of_their_exponent() {
        let rng = &mut Prg::from_seed([4; 16]);
        for (part, whole) in [(0, 1), (1, 1), (1, 2), (333, 1000), (999, 1000)] {
            let ones = (0..DRAWS).filter(|_| with_probability_exp(part, whole, rng)).count() as f64;
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
