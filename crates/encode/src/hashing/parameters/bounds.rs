//! Upper bounds on the probability that hashing to bins fails, for uniform and independent bins.
//!
//! **Cuckoo hashing.** By Hall's theorem every placement leaves more than s items over if and only if some k
//! bins contain all bins of k + s + 1 items or more. Take such a set of bins with as few bins as possible. If
//! any one of its bins is removed, it is no longer such a set, so at least two of its items meet each of its
//! bins. (If it has more than k + s + 1 items, at least three meet each bin, and one item can be dropped.)
//! The probability is therefore at most the expected number of pairs of j items and k = j - s - 1 bins in
//! which every bin is met at least twice:
//!
//! ```text
//! Σ_j  C(n, j) · Σ_{k_1 + … + k_h = j-s-1}  Π_i C(m, k_i) · T(j, k_i) / m^j        h segments of m bins
//! Σ_j  C(n, j) · C(β, j-s-1) · T(h·j, j-s-1) / β^(h·j)                             one table of β bins
//! T(j, k) = j! [z^j] (e^z - 1 - z)^k              maps of j items to k bins that meet each bin at least twice
//! ```
//!
//! The first terms (`EXACT`) are computed exactly. For the others, T(j, k) ≤ j! (e^x - 1 - x)^k / x^j for
//! every x > 0, and with the same x in all segments the inner sum is C(h·m, k) by Vandermonde's identity. One
//! in a hundred of these terms is evaluated and stands for all up to the next one. There the terms are
//! negligible, or so large that no bound results.
//!
//! **Blocked hashing**, two segments of m bins with c slots each. By the same theorem a placement fails if and
//! only if some k_1 bins of one segment and k_2 of the other contain both bins of more than c·(k_1 + k_2)
//! items. An item has both bins there with probability k_1·k_2/m², so the number of such items is binomial:
//!
//! ```text
//! Σ_(k_1, k_2)  C(m, k_1) · C(m, k_2) · P[Bin(n, k_1·k_2/m²) > c·(k_1 + k_2)]
//! ```
//!
//! For k = k_1 + k_2 beyond 40, k_1·k_2 ≤ k²/4, and the binomials sum to C(2m, k). Of these terms one in two
//! hundred stands for all up to the next one, with the largest tail of them.
//!
//! **Simple hashing.** The number of items in one bin is binomial. Its tail is summed and multiplied by the
//! number of bins.
//!
//! **Balanced hashing** uses the layered induction of Azar, Broder, Karlin, Upfal (SIAM J. Comput. 29, 1999)
//! with numbers instead of asymptotics. Let ν_i of the β = h·m bins hold i items or more. An item raises ν_i
//! only if all its bins hold i - 1. While ν_(i-1) ≤ x, this has probability at most (x/β)^h, whatever came
//! before: a product of h shares with a given sum is greatest if they are equal. Divide the time into slices,
//! and let x be the bound at the end of a slice. In each slice ν_i then grows by at most the number that a
//! binomial variable of that probability exceeds with probability 2^-54. It is also never more than ν_(i-1),
//! or than the number of items over i. In the end, a given bin gets more than L items only if L + 1 - i of
//! them choose it while their other bins hold i, each with probability at most (ν_i/((h-1)·m))^(h-1)/m. This
//! tail is multiplied by the number of bins. The bound takes the best i and the best number of slices.

use std::f64::consts::{LN_2, TAU};

use super::logarithm::{exp, ln, ln_1p, power};

/// How many terms are computed exactly, for two functions and for more. With two functions the terms fall
/// more slowly.
const EXACT: [usize; 2] = [600, 160];

/// How the functions of a cuckoo table share its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Each function has its own segment: ours.
    Segments,
    /// All functions lead to all bins: the papers'.
    Shared,
}

/// log2 of a bound on the probability that more than `stash` of `items` items are left over, with `bins` bins
/// and `functions` functions.
///
/// With [`Table::Segments`] the bins are rounded down to whole segments.
#[must_use]
pub fn cuckoo(table: Table, functions: usize, items: u64, bins: u64, stash: usize) -> f64 {
    let sum = Sum { table, functions, items: items as f64, bins: bins as f64, stash };
    let exact = EXACT[usize::from(functions > 2)];
    let most = exact.min(items as usize);
    let ways = Ways::up_to(if table == Table::Shared { functions * most } else { most });
    let mut total = f64::NEG_INFINITY;
    for j in stash + 2..=most {
        total = log_add(total, sum.exact(&ways, j));
    }
    let (mut j, last) = (most + 1, (items.min(bins + stash as u64 + 1)) as usize);
    while most == exact && j <= last {
        let next = (j + 1).max(j + j / 100);
        total = log_add(total, sum.bound(j as f64) + ((next - j) as f64).ln());
        j = next;
    }
    (total / LN_2).min(0.0)
}

/// log2 of a bound on the probability that `items` items do not fit into `bins` bins in two segments, at most
/// `capacity` a bin.
#[must_use]
pub fn blocked(items: u64, bins: u64, capacity: u64) -> f64 {
    let segment = bins / 2;
    let m = segment as f64;
    // More bins than this have room for all items.
    let most = (2 * segment).min(items.saturating_sub(1) / capacity);
    let term = |pairs: f64, bins: u64| ln_tail(items, (pairs / (m * m)).min(1.0), capacity * bins + 1);
    let mut total = f64::NEG_INFINITY;
    let mut k = 2;
    while k <= most {
        if k <= 40 {
            for first in (1..k).filter(|first| *first <= segment && k - first <= segment) {
                let ways = ln_choose(m, first as f64) + ln_choose(m, (k - first) as f64);
                total = log_add(total, ways + term((first * (k - first)) as f64, k));
            }
            k += 1;
        } else {
            let next = (k + 1).max(k + k / 200).min(most + 1);
            let ways = ln_choose(2.0 * m, k as f64).max(ln_choose(2.0 * m, (next - 1) as f64));
            // The largest of the tails up to the next term.
            let tail = ln_tail(items, ((next - 1) as f64 / (2.0 * m)).powi(2).min(1.0), capacity * k + 1);
            total = log_add(total, ways + tail + ((next - k) as f64).ln());
            k = next;
        }
    }
    (total / LN_2).min(0.0)
}

/// log2 of a bound on the probability that one of `bins` bins holds more than `load` of `items` items, if
/// each item is in a uniformly random bin.
#[must_use]
pub fn overflow(items: u64, bins: u64, load: u64) -> f64 {
    let total = ln_tail(items, 1.0 / bins as f64, load + 1);
    ((total + ln(bins as f64)) / LN_2).min(0.0)
}

/// log2 of a bound on the probability that one of `bins` bins holds more than `load` of `items` items, if
/// each item is in the emptiest of its `functions` bins.
///
/// With one function, or fewer bins than functions, it is the bound of simple hashing.
#[must_use]
pub fn balanced(functions: usize, items: u64, bins: u64, load: u64) -> f64 {
    let segment = bins / functions as u64;
    if functions < 2 || segment == 0 {
        return overflow(items, bins, load);
    }
    if load >= items {
        return f64::NEG_INFINITY;
    }
    let (others, m) = ((functions - 1) as f64, segment as f64);
    let bound = |slices| {
        let (levels, steps) = levels(functions, items, segment, load, slices);
        let towers = levels.iter().zip(1..).map(|(full, level)| {
            let p = power((full / (others * m)).min(1.0), functions - 1) / m;
            ln_tail(items, p, load + 1 - level) + ln(functions as f64 * m)
        });
        log_add(steps, towers.fold(0.0, f64::min)) / LN_2
    };
    SLICES.into_iter().map(bound).fold(0.0, f64::min)
}

/// Bounds of ν_1, ν_2, … ν_`most` at the end, and the logarithm of the probability that any of them fails.
fn levels(functions: usize, items: u64, segment: u64, most: u64, slices: u64) -> (Vec<f64>, f64) {
    let all = (functions as u64 * segment) as f64;
    let share = items.div_ceil(slices).max(1);
    let mut full: Vec<f64> = Vec::new();
    let (mut placed, mut steps) = (0, 0.0f64);
    while placed < items {
        let slice = share.min(items - placed);
        placed += slice;
        let mut below = all;
        for level in 1..=most.min(placed) {
            let p = power(below / all, functions);
            if full.len() < level as usize {
                full.push(0.0);
            }
            let bound = &mut full[level as usize - 1];
            let held = all.min(placed as f64 / level as f64);
            let more = if p < 1.0 { fewest(slice, p) } else { slice };
            *bound = (*bound + more as f64).min(held).min(below);
            steps += 1.0;
            // All higher levels have the same bound.
            if *bound >= below && below < all {
                break;
            }
            below = *bound;
        }
    }
    (full, ln(steps) + STEP)
}

/// Into how many slices the time is divided: more for more items.
const SLICES: [u64; 4] = [1, 4, 32, 128];

/// The failure probability of each step of [`levels`], as a logarithm: 2^-54.
const STEP: f64 = -54.0 * LN_2;

/// An x for which more than x of `trials` trials succeed with a probability of e^[`STEP`] at most, by
/// Chernoff's bound.
fn fewest(trials: u64, p: f64) -> u64 {
    let (mut low, mut high) = ((trials as f64 * p) as u64, trials);
    while low < high {
        let middle = low.midpoint(high);
        let a = (middle + 1) as f64 / trials as f64;
        let rest = if a < 1.0 { (1.0 - a) * ln((1.0 - a) / (1.0 - p)) } else { 0.0 };
        let rare = a > p && -(trials as f64) * (a * ln(a / p) + rest) <= STEP;
        if rare { high = middle } else { low = middle + 1 }
    }
    high
}

/// The logarithm of the probability that `least` or more of `trials` trials succeed, each with probability
/// `p`.
fn ln_tail(trials: u64, p: f64, least: u64) -> f64 {
    let n = trials as f64;
    let mut total = f64::NEG_INFINITY;
    for k in least..=trials {
        let k = k as f64;
        let rest = if p >= 1.0 { if k < n { f64::NEG_INFINITY } else { 0.0 } } else { (n - k) * ln_1p(-p) };
        let term = ln_choose(n, k) + k * ln(p) + rest;
        total = log_add(total, term);
        // Past the mean the terms fall; the rest is less than the last digit.
        if k > n * p && term < total - 60.0 {
            break;
        }
    }
    total.min(0.0)
}

struct Sum {
    table: Table,
    functions: usize,
    items: f64,
    bins: f64,
    stash: usize,
}

impl Sum {
    /// The logarithm of term j.
    fn exact(&self, ways: &Ways, j: usize) -> f64 {
        let (k, h) = (j - self.stash - 1, self.functions);
        let choices = ln_choose(self.items, j as f64);
        match self.table {
            Table::Shared => {
                let ends = (h * j) as f64;
                choices + ln_choose(self.bins, k as f64) + ln_factorial(ends) + ways.ln(h * j, k)
                    - ends * self.bins.ln()
            }
            Table::Segments => {
                let segment = (self.bins / h as f64).floor();
                let one: Vec<f64> = (0..=k).map(|k| ln_choose(segment, k as f64) + ways.ln(j, k)).collect();
                let mut most = one.clone();
                for _ in 2..h {
                    most = (0..=k).map(|k| convolved(&most, &one, k)).collect();
                }
                let all = if h == 1 { one[k] } else { convolved(&most, &one, k) };
                choices + all + h as f64 * (ln_factorial(j as f64) - j as f64 * segment.ln())
            }
        }
    }

    /// A bound of the logarithm of term j.
    fn bound(&self, j: f64) -> f64 {
        let (k, h) = (j - (self.stash + 1) as f64, self.functions as f64);
        let x = saddle(h * j / k);
        let maps = k * (x.exp_m1() - x).ln() - h * j * x.ln();
        let (bins, labels) = match self.table {
            Table::Shared => (self.bins, ln_factorial(h * j) - h * j * self.bins.ln()),
            Table::Segments => {
                let segment = (self.bins / h).floor();
                (segment * h, h * (ln_factorial(j) - j * segment.ln()))
            }
        };
        ln_choose(self.items, j) + ln_choose(bins, k) + labels + maps
    }
}

/// [z^j] (e^z - 1 - z)^k, by k and j.
struct Ways(Vec<Vec<f64>>);

impl Ways {
    fn up_to(most: usize) -> Self {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(most + 1);
        for j in 0..=most {
            let earlier = |back: usize, k: usize| {
                j.checked_sub(back).and_then(|j| rows[j].get(k)).copied().unwrap_or(f64::NEG_INFINITY)
            };
            let mut row = vec![if j == 0 { 0.0 } else { f64::NEG_INFINITY }];
            // d/dz (e^z - 1 - z)^k = k ((e^z - 1 - z)^k + z (e^z - 1 - z)^(k-1))
            row.extend(
                (1..=j / 2).map(|k| (k as f64 / j as f64).ln() + log_add(earlier(1, k), earlier(2, k - 1))),
            );
            rows.push(row);
        }
        Self(rows)
    }

    fn ln(&self, j: usize, k: usize) -> f64 {
        self.0[j].get(k).copied().unwrap_or(f64::NEG_INFINITY)
    }
}

/// The x > 0 with x (e^x - 1) / (e^x - 1 - x) = `degree`, where `degree` is more than 2: the mean number of
/// items that meet a bin.
pub(super) fn saddle(degree: f64) -> f64 {
    let (mut low, mut high) = (0.0, degree);
    for _ in 0..60 {
        let x = f64::midpoint(low, high);
        // Near 0 the quotient is 2 + x/3 and cancels.
        let mean = if x < 1e-4 { 2.0 + x / 3.0 } else { x * x.exp_m1() / (x.exp_m1() - x) };
        if mean < degree { low = x } else { high = x }
    }
    high
}

/// ln Σ_i e^(a_i + b_(k-i)).
fn convolved(a: &[f64], b: &[f64], k: usize) -> f64 {
    let terms = (0..=k).map(|i| a[i] + b[k - i]);
    let most = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        most
    } else {
        most + terms.map(|term| (term - most).exp()).sum::<f64>().ln()
    }
}

/// ln(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + ln_1p(exp(low - high)) }
}

fn ln_choose(n: f64, k: f64) -> f64 {
    if k > n { f64::NEG_INFINITY } else { ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k) }
}

/// ln n!, by Stirling's series.
fn ln_factorial(n: f64) -> f64 {
    if n < 16.0 {
        return (2..=n as u64).map(|i| ln(i as f64)).sum();
    }
    let square = n * n;
    n * ln(n) - n + 0.5 * ln(TAU * n) + (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All maps of `j` items to `k` bins, counted one by one.
    fn maps(j: u32, k: usize) -> usize {
        (0..k.pow(j))
            .filter(|map| {
                let mut met = vec![0; k];
                (0..j).for_each(|item| met[map / k.pow(item) % k] += 1);
                met.into_iter().all(|times| times >= 2)
            })
            .count()
    }

    #[test]
    fn maps_that_meet_every_bin_twice_are_counted() {
        let ways = Ways::up_to(9);
        for j in 1..=9 {
            for k in 1..=4 {
                let counted = (ways.ln(j as usize, k) + ln_factorial(f64::from(j))).exp();
                assert!((counted - maps(j, k) as f64).abs() < 1e-6, "{j} {k}");
            }
        }
    }

    #[test]
    fn the_bound_by_a_saddle_is_above_the_exact_term_and_near_it() {
        let ways = Ways::up_to(480);
        for (table, functions) in
            [(Table::Segments, 2), (Table::Segments, 3), (Table::Shared, 2), (Table::Shared, 3)]
        {
            for (items, stash) in [(500.0, 0), (1e6, 3)] {
                let sum = Sum { table, functions, items, bins: items * 2.4, stash };
                for j in [10, 40, 160] {
                    let slack = sum.bound(j as f64) - sum.exact(&ways, j);
                    assert!(slack > 0.0 && slack < 12.0, "{table:?} {functions} {items} {j}: {slack}");
                }
            }
        }
    }

    #[test]
    fn factorials_are_right_on_both_sides_of_the_switch() {
        for n in [0.0, 1.0, 2.0, 5.0, 15.0, 16.0, 17.0, 1000.0] {
            let product: f64 = (2..=n as u64).map(|i| (i as f64).ln()).sum();
            assert!((ln_factorial(n) - product).abs() < 1e-9, "{n}");
        }
    }

    #[test]
    fn one_choice_is_balanced_like_simple_hashing_and_two_choices_better() {
        assert_eq!(balanced(1, 1000, 1000, 9), overflow(1000, 1000, 9));
        assert_eq!(balanced(2, 1000, 1, 9), overflow(1000, 1, 9));
        for (items, bins) in [(1 << 10, 1 << 10), (1 << 14, 1 << 12), (1 << 16, 1 << 14), (1 << 20, 1 << 20)]
        {
            let least = |bound: &dyn Fn(u64) -> f64| (1..).find(|load| bound(*load) <= -40.0).unwrap();
            let simple = least(&|load| overflow(items, bins, load));
            let [two, three] = [2, 3].map(|h| least(&|load| balanced(h, items, bins, load)));
            assert!(three <= two && two < simple, "{items} {bins}: {simple} {two} {three}");
        }
        // A bin never holds more than all items, and no bound exceeds 1.
        assert_eq!(balanced(2, 5, 10, 5), f64::NEG_INFINITY);
        assert_eq!(balanced(2, 5000, 10, 1), 0.0);
    }

    #[test]
    fn overflow_of_few_items_is_known() {
        // Three items in two bins: all three share one with probability 1/4. Two or more always share one,
        // and the bound is 1.
        assert!((overflow(3, 2, 2) + 2.0).abs() < 1e-9);
        assert!(overflow(3, 2, 1) > -1e-9);
        assert_eq!(
            (overflow(3, 2, 3), overflow(5, 1, 4), overflow(5, 1, 5)),
            (f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY)
        );
    }
}
