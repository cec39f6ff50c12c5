//! The additive FFT: values of a polynomial at many points.

use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::par;

use super::points::Points;

/// log2 of the values that are computed level by level. More are split first, so that they fit a cache.
const LEAF: u32 = 12;

/// Values that one thread takes from a level.
const CHUNK: usize = 1 << 14;

/// Replaces coefficients in the basis X_i by the values at the points ω_0, ω_1, …. Only the first `nonzero`
/// coefficients are read, the others must be zero; only the first `wanted` values are right.
///
/// Level j combines f_0 and f_1 of f = f_0 + s_j·f_1, which have coefficients without bit j. On the 2^(j+1)
/// points from ω_(b·2^(j+1)) on, s_j is ω_2b on the lower half and ω_2b + 1 on the upper half.
///
/// # Panics
/// If their number is no power of two up to 2^32, or more are nonzero or wanted.
pub fn evaluate(threads: usize, values: &mut [Block], nonzero: usize, wanted: usize) {
    assert!(values.len().is_power_of_two() && values.len() >> 16 <= 1 << 16, "at most 2^32 points");
    assert!(nonzero <= values.len() && wanted <= values.len(), "no more than there are");
    debug_assert!(values[nonzero..].iter().all(|value| *value == Block::ZERO));
    let low_factors = Points::get().multiples(1, LEAF - 1);
    split(threads, values, 0, nonzero, wanted, &low_factors);
}

/// The values from number `block`·`values.len()` on.
fn split(
    threads: usize,
    values: &mut [Block],
    block: u32,
    nonzero: usize,
    wanted: usize,
    low_factors: &[Block],
) {
    if values.len() <= 1 << LEAF {
        return leaf(values, block, low_factors);
    }
    let half = values.len() / 2;
    let (low, high) = values.split_at_mut(half);
    if nonzero > half {
        let factor = Points::get().point(2 * block);
        each_part(threads, low, high, |low, high| gf128::butterfly(low, high, factor));
    } else if wanted > half {
        each_part(threads, low, high, |low, high| high.copy_from_slice(low));
    }
    let nonzero = nonzero.min(half);
    let mut lower = |threads| split(threads, low, 2 * block, nonzero, wanted.min(half), low_factors);
    if wanted > half {
        let upper = || split(threads / 2, high, 2 * block + 1, nonzero, wanted - half, low_factors);
        par::both(threads, upper, || lower(threads.div_ceil(2)));
    } else {
        lower(threads);
    }
}

fn each_part(
    threads: usize,
    low: &mut [Block],
    high: &mut [Block],
    work: impl Fn(&mut [Block], &mut [Block]) + Sync,
) {
    let parts = low.chunks_mut(CHUNK).zip(high.chunks_mut(CHUNK));
    let Ok(()) = par::for_each(threads, parts, |_, (low, high)| {
        work(low, high);
        Ok::<_, core::convert::Infallible>(())
    });
}

/// All levels of a few values. `low_factors` are ω_0, ω_2, ω_4, ….
fn leaf(values: &mut [Block], block: u32, low_factors: &[Block]) {
    let log_count = values.len().trailing_zeros();
    let points = Points::get();
    let mut level = log_count;
    // Runs of at least four values with one factor.
    while level > 2 {
        level -= 1;
        let first = points.point(block << (log_count - level));
        for (pair, factor) in values.chunks_exact_mut(2 << level).zip(low_factors) {
            let (low, high) = pair.split_at_mut(1 << level);
            gf128::butterfly(low, high, first + Gf128::from(*factor));
        }
    }
    while level > 0 {
        level -= 1;
        short_runs(values, level, points.point(block << (log_count - level)), low_factors);
    }
}

/// A level of runs of one or two values. The factors of the runs are ω_2k + `first`, k = 0, 1, ….
fn short_runs(values: &mut [Block], level: u32, first: Gf128, low_factors: &[Block]) {
    const RUNS: usize = 1 << 7;
    let (run, first) = (1 << level, Block::from(first));
    let (mut high, mut factors) = ([Block::ZERO; 2 * RUNS], [Block::ZERO; 2 * RUNS]);
    for (values, low_factors) in values.chunks_mut(2 * run * RUNS).zip(low_factors.chunks(RUNS)) {
        let count = values.len() / 2;
        let (high, factors) = (&mut high[..count], &mut factors[..count]);
        let pairs = values.chunks_exact(2 * run).zip(low_factors);
        for ((high, factors), (pair, factor)) in
            high.chunks_exact_mut(run).zip(factors.chunks_exact_mut(run)).zip(pairs)
        {
            high.copy_from_slice(&pair[run..]);
            factors.fill(*factor ^ first);
        }
        gf128::multiply(high, factors);
        for (pair, products) in values.chunks_exact_mut(2 * run).zip(high.chunks_exact(run)) {
            let (low, high) = pair.split_at_mut(run);
            for ((low, high), product) in low.iter_mut().zip(high).zip(products) {
                *low ^= *product;
                *high ^= *low;
            }
        }
    }
    zeroize::Zeroize::zeroize(&mut high[..]);
}
