//! How many columns a table has, and the program that derives it.
//!
//! # The failure of a band
//!
//! Let n rows start independently and uniformly at s columns. Each has a one there and w - 1 random bits
//! behind it. The encoding fails if the rows are dependent. Suppose first that the random bits of a row never
//! end, and visit the columns from the left. A row *waits* while it starts no further right and has no pivot
//! yet; let q rows wait. A column becomes a pivot unless no row starts there and all waiting rows have a zero
//! there, which has probability 2^-q. So q is a Markov chain.
//!
//! Consider a row that comes in. The q waiting rows take q pivots from its start on. The sum of the row with
//! them is uniform on all other columns, and at least w - q of these lie in its band. So the sum has no one
//! in the band with probability at most 2^-(w-q), and probability zero if q = 0. While this happens to no
//! row, elimination never looks beyond a band, and it makes no difference whether rows go on behind their
//! bands. Hence
//!
//! ```text
//! P(failure) ≤ Σ_columns E[ Σ_rows starting there 2^-(w-q) ]  ≤  2 · s · h        h: that expectation in equilibrium
//! ```
//!
//! with starts as a Poisson process of intensity n/s. The equilibrium is an upper bound: a chain that begins
//! with no row waiting always has fewer waiting. The factor 2 accounts for the number of rows: failure grows
//! with it, and a Poisson number with mean n is at least n with probability ½ or more, so the failure for
//! exactly n rows is at most twice that for a Poisson number of rows.
//!
//! [`band_failure`] computes the bound, which holds for every n, also small ones. (BPSY23 interpolates
//! simulations.)

use vesica_crypto::security::STATISTICAL_SECURITY;

use super::Error;

/// w: bits of a band.
pub const WIDTH: usize = 128;

/// How many columns bands may start at, up to a number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandSize {
    /// 1000·(1 + ε): columns at which bands may start, for a thousand keys.
    pub per_mille: u64,
    /// Up to so many keys, failures have a probability of at most 2^-40.
    pub most_keys: u64,
}

/// The sizes that are offered, smallest first. A test derives the bounds again.
pub const BAND_SIZES: [BandSize; 2] = [
    BandSize { per_mille: 1200, most_keys: 1 << 23 },
    BandSize { per_mille: 1230, most_keys: MOST_KEYS as u64 },
];

/// One more, for a λ above the standard one.
const LARGEST: BandSize = BandSize { per_mille: 1290, most_keys: 1 << 47 };

/// The most keys of any table.
pub const MOST_KEYS: usize = 1 << 30;

/// Columns at which bands start, in a table for `keys` keys.
///
/// # Errors
/// [`Error::TooManyKeys`] if failures would have a probability above 2^-40.
pub fn band_starts(keys: usize) -> Result<u32, Error> {
    band_starts_within(keys, STATISTICAL_SECURITY)
}

/// Columns at which bands start, for failures with probability 2^-`statistical` at most. The bound is proportional to the number of
/// keys, at a given ε. So a size that does for 2^d times as many keys fails 2^d times more rarely.
///
/// # Errors
/// [`Error::TooManyKeys`] if failures would have a higher probability.
pub fn band_starts_within(keys: usize, statistical: u32) -> Result<u32, Error> {
    let rarer = statistical.saturating_sub(STATISTICAL_SECURITY);
    // In 64 bits, which `usize` may not have.
    let (count, most) = (keys as u64, (MOST_KEYS as u64).min(LARGEST.most_keys >> rarer));
    let enough = |size: &BandSize| count <= size.most_keys >> rarer;
    let size = BAND_SIZES.into_iter().chain([LARGEST]).find(enough).filter(|_| count <= most);
    let size = size.ok_or(Error::TooManyKeys { keys, most: most as usize })?;
    Ok((count * size.per_mille).div_ceil(1000).max(1) as u32)
}

/// A bound on the probability that `keys` rows of `width` bits that start at `starts` columns are dependent.
#[must_use]
pub fn band_failure(width: usize, keys: u64, starts: u64) -> f64 {
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
        // It grows towards the equilibrium; what is still to come is far below a thousandth after this long
        // at rest.
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

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::security::MOST_STATISTICAL_SECURITY;

    #[test]
    fn the_offered_bands_fail_with_probability_2_to_the_minus_40() {
        for BandSize { per_mille, most_keys } in BAND_SIZES.into_iter().chain([LARGEST]) {
            let bits = -band_failure(WIDTH, most_keys, most_keys * per_mille / 1000).log2();
            assert!((40.0..45.0).contains(&bits), "{per_mille}: {bits}");
        }
    }

    #[test]
    fn tables_grow_with_the_keys() {
        assert_eq!(band_starts(0), Ok(1));
        let starts: Vec<_> = (0..30).map(|log| band_starts(1 << log).unwrap()).collect();
        assert!(starts.is_sorted());
        let keys = (1 << 30) + 1;
        assert_eq!(band_starts(keys), Err(Error::TooManyKeys { keys, most: 1 << 30 }));
        assert_eq!(band_starts(1 << 20), Ok(1_258_292));
    }

    #[test]
    fn a_longer_lambda_takes_wider_bands_that_fail_that_rarely() {
        for statistical in [41, 44, 50, MOST_STATISTICAL_SECURITY] {
            for keys in [1, 1000, 1 << 16, 1 << 20, 1 << 23] {
                let starts = band_starts_within(keys, statistical).unwrap();
                assert!(starts >= band_starts(keys).unwrap());
                let failure = band_failure(WIDTH, keys as u64, starts.into()).log2();
                assert!(failure <= -f64::from(statistical), "{statistical} {keys}: {failure}");
            }
        }
        assert!(band_starts_within((1 << 30) + 1, MOST_STATISTICAL_SECURITY).is_err());
    }
}
