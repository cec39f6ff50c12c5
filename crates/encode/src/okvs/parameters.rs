//! How many columns a table has, and the program that derives it.
//!
//! # The failure of a band
//!
//! Let n rows start independently and uniformly at s places, have a one there and w - 1 random bits behind it. They fail if
//! they are dependent. Suppose first that rows go on with random bits for ever, and go through the columns from the left,
//! with q rows *waiting*: those that start no further right and have no pivot yet. A column becomes a pivot unless all
//! waiting rows have a zero there, which has probability 2^-q, and none starts there. That is a Markov chain on q.
//!
//! Seen from a row that comes in: the q waiting rows will take q pivots from its start on, its sum with them is uniform on
//! all other columns, and at least w - q of these lie in its band. So the probability that the sum has no one in the band
//! is at most 2^-(w-q), and zero if q = 0. While that happens to no row, elimination never looks beyond a band, and whether
//! rows go on behind theirs makes no difference. Hence
//!
//! ```text
//! P(failure) ≤ Σ_columns E[ Σ_rows starting there 2^-(w-q) ]  ≤  2 · s · h        h: that expectation in equilibrium
//! ```
//!
//! with starts as a Poisson process of intensity n/s. Equilibrium, for a chain that begins with nobody waiting always has
//! fewer waiting. The factor 2, for failure grows with the number of rows, a Poisson number with mean n is at least n with
//! probability ½ or more, and so the failure for exactly n rows is at most twice that for a Poisson number of them.
//!
//! [`band_failure`] computes the bound, which holds for every n, also small ones. (BPSY23 interpolate simulations.)

use super::Error;

/// What bands of a width are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandShape {
    /// w: bits of a band.
    pub width: usize,
    /// 1000·(1 + ε): places at which bands may start, for a thousand keys.
    pub per_mille: u64,
    /// Keys up to which failures have a probability of at most 2^-λ, λ = 40.
    pub most_keys: usize,
}

impl BandShape {
    const fn new(width: usize, per_mille: u64, log_keys: u32) -> Self {
        Self { width, per_mille, most_keys: 1 << log_keys }
    }
}

/// The shapes that are offered, of each width the smallest first. A test derives the bounds again.
pub const BANDS: [BandShape; 6] = [
    BandShape::new(128, 1200, 23),
    BandShape::new(128, 1230, 30),
    BandShape::new(256, 1090, 21),
    BandShape::new(256, 1110, 30),
    BandShape::new(512, 1042, 19),
    BandShape::new(512, 1050, 30),
];

/// Places at which bands of `width` bits start, in a table for `keys` keys.
///
/// # Errors
/// [`Error::TooManyKeys`] if failures would have a probability above 2^-40, or bands of this width are not offered.
pub fn band_starts(width: usize, keys: usize) -> Result<u32, Error> {
    let of_width = || BANDS.into_iter().filter(|shape| shape.width == width);
    let most = of_width().map(|shape| shape.most_keys).max().unwrap_or(0);
    let shape = of_width().find(|shape| keys <= shape.most_keys).ok_or(Error::TooManyKeys { keys, most })?;
    Ok((keys as u64 * shape.per_mille).div_ceil(1000).max(1) as u32)
}

/// A bound on the probability that `keys` rows of `width` bits that start at `starts` places are dependent.
#[must_use]
pub fn band_failure(width: usize, keys: usize, starts: usize) -> f64 {
    2.0 * starts as f64 * hazard(width, keys as f64 / starts as f64)
}

/// States beyond the width that the chain is followed to: from there on a failure is certain.
const BEYOND: usize = 32;

/// h: failures a column in equilibrium, for `load` rows a column.
fn hazard(width: usize, load: f64) -> f64 {
    let arrivals = poisson(load);
    let states = width + BEYOND;
    let zeros: Vec<f64> = (0..states).map(|waiting| 0.5f64.powi(waiting as i32)).collect();
    let failure: Vec<f64> = (0..states)
        .map(|waiting| if waiting == 0 { 0.0 } else { 0.5f64.powi(width as i32 - waiting as i32).min(1.0) })
        .collect();
    let mut chain = vec![0.0; states];
    chain[0] = 1.0;
    let (mut last, mut calm) = (0.0, 0);
    loop {
        let (mut next, mut hazard) = (vec![0.0; states], 0.0);
        for (waiting, share) in chain.iter().enumerate() {
            let mut failures = 0.0;
            for (rows, probability) in arrivals.iter().enumerate() {
                let share = share * probability;
                hazard += share * failures;
                let now = (waiting + rows).min(states - 1);
                failures += failure[now];
                // A row that starts here makes the column a pivot; without one all may be zero.
                let idle = if rows == 0 { zeros[now] } else { 0.0 };
                next[now] += share * idle;
                next[now.saturating_sub(1)] += share * (1.0 - idle);
            }
        }
        // It grows towards the equilibrium; what is still to come is far below a thousandth after this long at rest.
        calm = if hazard < last * (1.0 + 1e-7) && hazard > 0.0 { calm + 1 } else { 0 };
        if calm > width {
            return hazard;
        }
        (chain, last) = (next, hazard);
    }
}

/// The probabilities of 0, 1, 2, … events of mean `mean`, until they count for nothing.
fn poisson(mean: f64) -> Vec<f64> {
    let mut probabilities = vec![(-mean).exp()];
    while let Some(last) = probabilities.last().filter(|last| **last > 1e-24) {
        probabilities.push(last * mean / probabilities.len() as f64);
    }
    probabilities
}

/// Dense columns of a cluster: each key selects a random set of them.
pub(super) const DENSE: usize = 64;

/// Keys of a cluster on average, at most. Local to speed, but agreed, since it decides the columns.
const CLUSTER: usize = 1 << 15;

/// Keys of a table of three hashes, at most: 2^15 clusters, so that λ is 56 at most.
const MOST_KEYS: usize = 1 << 30;

/// Fewer keys than this get the table of as many: the fit was made for more.
const FEWEST_KEYS: usize = 512;

/// ⌊s⌋ of RR22's fit for 2^9, 2^10, … keys, whose other formula is in [`ClusterShape::for_keys`]. A test computes it again.
const SLOPES: [u64; 8] = [161, 236, 347, 510, 750, 1102, 1619, 2378];

/// Clusters of a table of three hashes, and the columns of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterShape {
    /// How many clusters.
    pub clusters: u32,
    /// Keys that a cluster has room for: more in one of them have probability 2^-41.
    pub keys: usize,
    /// Columns of which each key selects three.
    pub sparse: u32,
}

impl ClusterShape {
    /// The table for `keys` keys.
    ///
    /// Loads: a cluster gets a binomial number of keys, mean μ, and Bernstein's inequality bounds the probability of more
    /// than μ + t by exp(-t²/(2μ + 2t/3)), which is 2^-(41 + log2 b) for t = L/3 + √(L²/9 + 2Lμ), L = (41 + log2 b)·ln 2.
    ///
    /// Columns (RR22 §4.2, a fit to simulations, for λ = 41 + log2 b, the failures of all clusters together being 2^-41):
    /// e·n sparse ones with e = 1.223 + (λ + 9.2)/s, s = 2^(0.555·log2 n + c), and ⌊λ/log2(e·n)⌋ dense ones over a large
    /// field, or λ more over GF(2). Those are 59 at most; there are 64.
    ///
    /// # Errors
    /// [`Error::TooManyKeys`] beyond 2^30 of them.
    pub fn for_keys(keys: usize) -> Result<Self, Error> {
        if keys > MOST_KEYS {
            return Err(Error::TooManyKeys { keys, most: MOST_KEYS });
        }
        let clusters = keys.div_ceil(CLUSTER).max(1);
        let log = u64::from(clusters.next_power_of_two().ilog2());
        let load = if clusters == 1 {
            keys
        } else {
            let mean = keys.div_ceil(clusters) as u64;
            // ln 2 < 0.6932.
            let bits = ((41 + log) * 6932).div_ceil(10_000);
            (mean + bits.div_ceil(3) + (bits * bits / 9 + 2 * bits * mean).isqrt() + 2) as usize
        };
        let sized = load.max(FEWEST_KEYS);
        let slope = SLOPES[(sized.ilog2() - FEWEST_KEYS.ilog2()) as usize];
        let millionths = 1_223_000 + ((41 + log) * 10 + 92) * 100_000 / slope + 1;
        let sparse = (sized as u64 * millionths).div_ceil(1_000_000) as u32;
        Ok(Self { clusters: clusters as u32, keys: load, sparse })
    }

    /// Columns of a cluster.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.sparse as usize + DENSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offered_bands_fail_with_probability_2_to_the_minus_40() {
        for BandShape { width, per_mille, most_keys } in BANDS {
            let bits = -band_failure(width, most_keys, most_keys * per_mille as usize / 1000).log2();
            assert!((40.0..45.0).contains(&bits), "{width}, {per_mille}: {bits}");
        }
    }

    #[test]
    fn tables_grow_with_the_keys() {
        for width in [128, 256, 512] {
            assert_eq!(band_starts(width, 0), Ok(1));
            let starts: Vec<_> = (0..30).map(|log| band_starts(width, 1 << log).unwrap()).collect();
            assert!(starts.is_sorted());
            let keys = (1 << 30) + 1;
            assert_eq!(band_starts(width, keys), Err(Error::TooManyKeys { keys, most: 1 << 30 }));
        }
        assert_eq!(band_starts(128, 1 << 20), Ok(1_258_292));
        assert_eq!(band_starts(100, 1), Err(Error::TooManyKeys { keys: 1, most: 0 }));
    }

    #[test]
    fn slopes_are_those_of_the_fit() {
        let w = 3f64.log2();
        let c = 0.093 * w.powi(3) - 1.01 * w.powi(2) + 2.925 * w - 0.133;
        for (slope, log) in SLOPES.iter().zip(9..) {
            assert_eq!(*slope, (0.555 * f64::from(log) + c).exp2() as u64, "2^{log}");
        }
    }

    #[test]
    fn no_cluster_overflows() {
        for keys in [(1 << 15) + 1, 100_000, 1 << 20, 1 << 24, 1 << 30] {
            let shape = ClusterShape::for_keys(keys).unwrap();
            let (n, b) = (keys as f64, f64::from(shape.clusters));
            // The terms of the binomial distribution from the capacity on, by their ratio.
            let at = shape.keys as f64;
            let log_term = ln_gamma(n + 1.0) - ln_gamma(at + 1.0) - ln_gamma(n - at + 1.0) - at * b.ln()
                + (n - at) * (1.0 - 1.0 / b).ln();
            let (mut term, mut tail, mut load) = (log_term.exp(), 0.0, at);
            for _ in 0..100_000 {
                tail += term;
                term *= (n - load) / (load + 1.0) / (b - 1.0);
                load += 1.0;
            }
            assert!(tail * b <= 0.5f64.powi(41), "{keys}: {}", (tail * b).log2());
        }
    }

    /// Stirling's series, for large x.
    fn ln_gamma(x: f64) -> f64 {
        (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + 1.0 / (12.0 * x)
    }
}
