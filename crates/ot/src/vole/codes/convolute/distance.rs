//! How many light words an expand-convolute code has.
//!
//! *Convolution.* While one of the 32 bits behind a position is one, the bit there is uniform, whatever is
//! added; while all are zero it is the expanded bit itself. So the weight of a word is that of a walk over 33
//! states: how many zeros there have been since the last one, or *at rest*, from where an expanded one wakes
//! it.
//!
//! *Expansion.* In each region a message of weight w throws w balls into M bins and keeps the parities: a
//! pattern with h ones has probability w!/M^w·\[s^w\] sinh(s)^h·cosh(s)^(M-h). With the walk's step A(t), t =
//! tanh s, in which a one of the pattern counts t and a one of the word counts z, the matrix of a region,
//! from state to state, is
//!
//! ```text
//! B_w = w!/M^w · [s^w] cosh(s)^M · A(tanh s)^M  ≤  w!/(M·s)^w · cosh(s)^M · A(tanh s)^M      for any s > 0, each entry its own
//! ```
//!
//! of which only the part with the parity of w counts, and the pattern without a one, by far the likeliest
//! cause of a light word, is bounded by itself. By Markov's inequality the expected number of words of weight
//! up to d is at most
//!
//! ```text
//! Σ_w C(m, w) · z^-d · (at rest) · B_w^e · (any)                                             for any 0 < z < 1, each w its own
//! ```
//!
//! Reducing 32 bits to a position gives a bin probability (1 + M/2^32)/M at most: that is charged for each
//! ball. From a hundred on weights are taken together whose factors, convex in w, are bounded by those at the
//! ends.

use core::f64::consts::{LN_2, LOG2_E};

use vesica_crypto::convolve::MEMORY;

use super::super::{log2_binomial, log2_factorial};

/// States: zeros since the last one, or at rest.
const STATES: usize = MEMORY + 1;
const REST: usize = MEMORY;

/// Weights up to here are taken singly.
const SINGLE: usize = 100;

/// Values of s for each factor of two, and of z.
const VALUES: f64 = 5.0;
const TILTS: usize = 32;

/// A matrix, and the logarithm of what it is to be multiplied by.
#[derive(Clone)]
struct Matrix {
    entries: Box<[[f64; STATES]; STATES]>,
    scale: f64,
}

impl Matrix {
    /// A(t), of z.
    fn step(t: f64, z: f64) -> Self {
        let mut entries = Box::new([[0.0; STATES]; STATES]);
        for zeros in 0..REST {
            entries[zeros][0] = 0.5 * (1.0 + t) * z;
            entries[zeros][zeros + 1] = 0.5 * (1.0 + t);
        }
        entries[REST][0] += t * z;
        entries[REST][REST] += 1.0;
        Self { entries, scale: 0.0 }
    }

    fn times(&self, other: &Self) -> Self {
        let mut entries = Box::new([[0.0; STATES]; STATES]);
        for (row, sums) in self.entries.iter().zip(entries.iter_mut()) {
            for (factor, other) in row.iter().zip(other.entries.iter()) {
                sums.iter_mut().zip(other).for_each(|(sum, other)| *sum += factor * other);
            }
        }
        let most = entries.iter().flatten().fold(0.0, |most: f64, entry| most.max(entry.abs()));
        entries.iter_mut().flatten().for_each(|entry| *entry /= most);
        Self { entries, scale: self.scale + other.scale + most.ln() }
    }

    fn power(&self, exponent: usize) -> Self {
        let mut power = self.clone();
        for bit in (0..exponent.ilog2()).rev() {
            power = power.times(&power);
            if exponent >> bit & 1 == 1 {
                power = power.times(self);
            }
        }
        power
    }

    fn iter(&self) -> impl Iterator<Item = f64> {
        self.entries.iter().flatten().copied()
    }
}

/// A code, and which of its words are light.
struct Shape {
    region: usize,
    regions: usize,
    heaviest: f64,
    /// The values of s that are tried.
    values: Vec<f64>,
}

/// Weights that are taken together: the first and the last.
type Weights = (usize, usize);

impl Shape {
    /// ln of the most that w!/(M·s)^w is, with the charge for positions that are not quite uniform.
    fn factor(&self, weights: Weights, s: f64) -> f64 {
        let bias = (self.region as f64 / (1u64 << 32) as f64).ln_1p();
        let ends = [weights.0, weights.1]
            .map(|w| log2_factorial(w as f64) * LN_2 - w as f64 * ((self.region as f64 * s).ln() - bias));
        ends[0].max(ends[1])
    }

    /// ln cosh(s)^M.
    fn ln_cosh(&self, s: f64) -> f64 {
        let one = if s < 1e-3 { s * s / 2.0 - s.powi(4) / 12.0 } else { s.cosh().ln() };
        self.region as f64 * one
    }

    /// ln of the most that the probability of a pattern without a one is.
    fn empty(&self, weights: Weights) -> f64 {
        // It is least where M·s·tanh(s) = w, at √(w/M) or above.
        let start = (weights.0 as f64 / self.region as f64).sqrt();
        let tried = (0..400).map(|i| start * 1.01f64.powi(i));
        tried.map(|s| self.factor(weights, s) + self.ln_cosh(s)).fold(0.0, f64::min)
    }
}

/// What a region does, for one z: logarithms of the entries of cosh(s)^M·A(tanh s)^M.
struct Table {
    ln_z: f64,
    /// For each s the even part, the empty pattern left out, and the odd part.
    parts: Vec<[Vec<f64>; 2]>,
    empty: Vec<f64>,
}

impl Table {
    fn new(ln_z: f64, shape: &Shape) -> Self {
        let powers = |t: f64| Matrix::step(t, ln_z.exp()).power(shape.region);
        let none = powers(0.0);
        let parts = shape.values.iter().map(|s| {
            let (plus, minus) = (powers(s.tanh()), powers(-s.tanh()));
            let (other, empty) = ((minus.scale - plus.scale).exp(), (none.scale - plus.scale).exp());
            [1.0, -1.0].map(|sign| {
                let entries = plus.iter().zip(minus.iter()).zip(none.iter());
                let entries = entries.map(|((plus_entry, minus_entry), none)| {
                    let left_out = if sign > 0.0 { empty * none } else { 0.0 };
                    let part = 0.5 * (plus_entry + sign * other * minus_entry) - left_out;
                    // A difference is known to within its last digits.
                    part.max(1e-13 * plus_entry).ln() + plus.scale + shape.ln_cosh(*s)
                });
                entries.collect()
            })
        });
        let parts = parts.collect();
        Self { ln_z, parts, empty: none.iter().map(|entry| entry.ln() + none.scale).collect() }
    }

    /// ln of z^-d·(at rest)·B_w^e·(any), for weights of one parity.
    fn bound(&self, weights: Weights, odd: bool, empty: f64, shape: &Shape) -> f64 {
        let mut logs = vec![f64::INFINITY; STATES * STATES];
        for (s, parts) in shape.values.iter().zip(&self.parts) {
            let factor = shape.factor(weights, *s);
            logs.iter_mut()
                .zip(&parts[usize::from(odd)])
                .for_each(|(least, part)| *least = least.min(factor + part));
        }
        if !odd {
            logs.iter_mut().zip(&self.empty).for_each(|(log, none)| *log = ln_sum(*log, empty + none));
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let entries: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
        let (mut states, mut total) = ([0.0; STATES], -shape.heaviest * self.ln_z);
        states[REST] = 1.0;
        for _ in 0..shape.regions {
            let mut next = [0.0; STATES];
            for (share, row) in states.iter().zip(entries.chunks(STATES)) {
                next.iter_mut().zip(row).for_each(|(next, entry)| *next += share * entry);
            }
            let sum: f64 = next.iter().sum();
            states = next.map(|share| share / sum);
            total += most + sum.ln();
        }
        total
    }
}

/// log2 of a bound of the expected number of nonzero words of weight at most `distance` times the length, for
/// codes of `outputs` outputs and `regions` regions.
#[must_use]
pub fn log2_light_words(outputs: usize, regions: usize, distance: f64) -> f64 {
    let noise = super::Convolute::noise_for(outputs, regions);
    let (region, heaviest) = (noise / regions, (distance * noise as f64).floor());
    let steps = |least: f64, most: f64, count: usize| -> Vec<f64> {
        (0..count).map(|i| least * (most / least).powf(i as f64 / (count - 1) as f64)).collect()
    };
    // s from where a single ball decides to where patterns are uniform.
    let least = 0.01 / region as f64;
    let values = steps(least, 7.0, (VALUES * (7.0 / least).log2()) as usize);
    let shape = Shape { region, regions, heaviest, values };
    // -ln z from where weight hardly counts to the ratio of zeros and ones in words of just that weight.
    let tilts = steps(2.0 / heaviest, 1.2 * (1.0 / distance - 1.0).ln(), TILTS);
    let tables: Vec<Table> = tilts.iter().map(|tilt| Table::new(-tilt, &shape)).collect();
    let (mut total, mut first) = (f64::NEG_INFINITY, 1);
    while first <= outputs {
        let last = if first < SINGLE { first } else { (first + first / 20).min(outputs) };
        let empty = shape.empty((first, last));
        for odd in [false, true].into_iter().filter(|odd| last > first || *odd == (first % 2 == 1)) {
            let bounds = tables.iter().map(|table| table.bound((first, last), odd, empty, &shape));
            // Of all numbers of messages that of the weight next to m/2 is the largest.
            let ways = log2_binomial(outputs as f64, (outputs / 2).clamp(first, last) as f64) * LN_2;
            let count = ((last - first + 1) as f64).ln();
            total = ln_sum(total, ways + count + bounds.fold(f64::INFINITY, f64::min));
        }
        first = last + 1;
    }
    total * LOG2_E
}

/// ln(e^a + e^b).
fn ln_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
