//! Welch's t-test on the times of two classes, cropped at percentiles, of first and second order, as in dudect.

/// |t| above this is a difference that has to be looked at: chance alone gives it once in 150 000 tests.
pub(crate) const SUSPICIOUS: f64 = 4.5;
/// |t| above this is a leak.
pub(crate) const LEAK: f64 = 10.0;

/// Percentiles at which measurements are cropped, beside all measurements.
const CROPS: i32 = 100;
/// A test of fewer measurements of a class says nothing.
const FEWEST: usize = 100;

/// What the tests say of the measurements of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Measurements, both classes together.
    pub(crate) count: usize,
    /// Their median, in nanoseconds.
    pub(crate) median: f64,
    /// The t value that is furthest from zero.
    pub(crate) t: f64,
    /// The least time, in nanoseconds, that the tests would have found if it had been added to every measurement of one
    /// class, whichever that is.
    pub(crate) detectable: f64,
}

/// The times of one class in ascending order, with sums that give mean and variance of those below a bound.
struct Class {
    times: Vec<f64>,
    /// The sums of the first i times and of their squares, each less `centre`.
    sums: Vec<[f64; 2]>,
    centre: f64,
}

/// Mean and variance of so many numbers.
#[derive(Clone, Copy)]
struct Moments {
    count: usize,
    mean: f64,
    variance: f64,
}

impl Moments {
    /// Of a list.
    fn of(numbers: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let count = numbers.len();
        let mean = numbers.clone().sum::<f64>() / count as f64;
        let squares: f64 = numbers.map(|number| (number - mean).powi(2)).sum();
        Self { count, mean, variance: squares / (count as f64 - 1.0) }
    }
}

/// t of Welch's test; none for too few numbers.
fn welch(a: Moments, b: Moments) -> Option<f64> {
    if a.count.min(b.count) < FEWEST {
        return None;
    }
    let (difference, error) =
        (a.mean - b.mean, (a.variance / a.count as f64 + b.variance / b.count as f64).sqrt());
    Some(if difference == 0.0 { 0.0 } else { difference / error })
}

impl Class {
    fn new(times: &[u32], centre: f64) -> Self {
        let mut times: Vec<f64> = times.iter().map(|time| f64::from(*time)).collect();
        times.sort_by(f64::total_cmp);
        let mut sums = vec![[0.0; 2]];
        let mut sum = [0.0; 2];
        for time in &times {
            let centred = time - centre;
            sum = [sum[0] + centred, sum[1] + centred * centred];
            sums.push(sum);
        }
        Self { times, sums, centre }
    }

    /// How many times are below `bound` if `shift` is added to each.
    fn below(&self, bound: f64, shift: f64) -> usize {
        self.times.partition_point(|time| time + shift < bound)
    }

    /// The moments of the times below `bound` if `shift` is added to each.
    fn moments(&self, bound: f64, shift: f64) -> Moments {
        let count = self.below(bound, shift);
        let [sum, squares] = self.sums[count];
        let n = count as f64;
        let mean = sum / n;
        let variance = ((squares - sum * mean) / (n - 1.0)).max(0.0);
        Moments { count, mean: self.centre + mean + shift, variance }
    }

    /// The moments of the squared distances from their mean of the times below `bound`.
    fn second_moments(&self, bound: f64) -> Moments {
        let (times, mean) = (&self.times[..self.below(bound, 0.0)], self.moments(bound, 0.0).mean);
        Moments::of(times.iter().map(|time| (time - mean).powi(2)))
    }
}

/// The bounds of the crops, infinity first: the percentile at 1 - 2^(-i/10) for i = 1, …, 100.
fn bounds(classes: &[Class; 2]) -> Vec<f64> {
    let mut all: Vec<f64> = classes.iter().flat_map(|class| &class.times).copied().collect();
    all.sort_by(f64::total_cmp);
    let percentile = |i: i32| {
        let share = 1.0 - 0.5f64.powf(f64::from(i) / 10.0);
        all.get((share * all.len() as f64) as usize).copied()
    };
    core::iter::once(f64::INFINITY).chain((1..=CROPS).filter_map(percentile)).collect()
}

/// The value furthest from zero.
fn strongest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |strongest: f64, t| if t.abs() > strongest.abs() { t } else { strongest })
}

/// The strongest first-order t if `shift` is added to every time of the second class.
fn first_order(classes: &[Class; 2], bounds: &[f64], shift: f64) -> f64 {
    strongest(
        bounds
            .iter()
            .filter_map(|bound| welch(classes[0].moments(*bound, 0.0), classes[1].moments(*bound, shift))),
    )
}

/// The least time added to one class that the tests find.
fn detectable(classes: &[Class; 2], bounds: &[f64]) -> f64 {
    // Half a nanosecond and more: below, rounding decides. A minute ends every search.
    let found = |shift: f64| {
        let both = [shift, -shift].map(|shift| first_order(classes, bounds, shift).abs() > SUSPICIOUS);
        both == [true; 2] || shift > 6e10
    };
    let mut high = 0.5;
    if found(high) {
        return high;
    }
    while !found(high) {
        high *= 2.0;
    }
    let mut low = high / 2.0;
    for _ in 0..6 {
        let middle = f64::midpoint(low, high);
        *(if found(middle) { &mut high } else { &mut low }) = middle;
    }
    high
}

/// What the tests say of times in nanoseconds, a list for each class.
pub(crate) fn test(times: &[Vec<u32>; 2]) -> Outcome {
    let mut pooled = times.concat();
    let middle = pooled.len() / 2;
    let median = match pooled.is_empty() {
        true => 0.0,
        false => f64::from(*pooled.select_nth_unstable(middle).1),
    };
    let classes = [0, 1].map(|class: usize| Class::new(&times[class], median));
    let bounds = bounds(&classes);
    // Every fifth crop is enough for the second order: neighbours differ little.
    let second = bounds.iter().step_by(5).filter_map(|bound| {
        let [a, b] = classes.each_ref().map(|class| class.second_moments(*bound));
        welch(a, b)
    });
    let t = strongest([first_order(&classes, &bounds, 0.0)].into_iter().chain(second));
    Outcome { count: pooled.len(), median, t, detectable: detectable(&classes, &bounds) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng as _;
    use vesica_crypto::prg::Prg;

    /// Sums of uniform numbers, like a normal distribution around 1000 with deviation 20, and a far outlier in a
    /// hundred.
    fn times(prg: &mut Prg, count: usize, mean: u32, spread: u32) -> Vec<u32> {
        let each = |prg: &mut Prg| {
            let sum: u32 = (0..12).map(|_| prg.next_u32() % (spread + 1)).sum();
            let outlier =
                if prg.next_u32().is_multiple_of(100) { 100_000 + prg.next_u32() % 50_000 } else { 0 };
            mean - 6 * spread + sum + outlier
        };
        (0..count).map(|_| each(prg)).collect()
    }

    #[test]
    fn equal_distributions_do_not_differ() {
        for seed in 0..20 {
            let prg = &mut Prg::from_seed([seed; 16]);
            let outcome = test(&[times(prg, 20_000, 1000, 20), times(prg, 21_000, 1000, 20)]);
            assert!(outcome.t.abs() < SUSPICIOUS, "{outcome:?}");
            assert_eq!((outcome.count, (outcome.median - 1000.0).abs() < 3.0), (41_000, true));
        }
    }

    /// Two nanoseconds are a tenth of the deviation, and drown in the outliers: only cropped measurements show them.
    #[test]
    fn a_small_difference_is_found_behind_outliers() {
        let prg = &mut Prg::from_seed([1; 16]);
        let both = [times(prg, 40_000, 1002, 20), times(prg, 40_000, 1000, 20)];
        let outcome = test(&both);
        assert!(outcome.t > LEAK, "{outcome:?}");
        let [a, b] = both.map(|times| Moments::of(times.iter().map(|time| f64::from(*time))));
        assert!(welch(a, b).unwrap().abs() < SUSPICIOUS);
    }

    /// Equal means, and other deviations: the test of second order tells them apart.
    #[test]
    fn a_wider_distribution_is_found() {
        let prg = &mut Prg::from_seed([2; 16]);
        let both = [times(prg, 20_000, 1000, 20), times(prg, 20_000, 1000, 24)];
        let outcome = test(&both);
        assert!(outcome.t.abs() > LEAK, "{outcome:?}");
        // Of the second order, below the outliers.
        let [a, b] = both.map(|times| Class::new(&times, 1000.0).second_moments(10_000.0));
        assert!(welch(b, a).unwrap() > LEAK);
    }

    /// What is said to be found is found, and half of it is not.
    #[test]
    fn what_is_detectable_is_detected() {
        let prg = &mut Prg::from_seed([3; 16]);
        let both = [times(prg, 50_000, 1000, 40), times(prg, 50_000, 1000, 40)];
        let least = test(&both).detectable;
        assert!((0.5..4.0).contains(&least), "{least}");
        let moved = |by: f64| {
            let [a, b] = &both;
            test(&[a.clone(), b.iter().map(|time| time + by.ceil() as u32).collect()]).t.abs()
        };
        assert!(moved(least + 1.0) > SUSPICIOUS);
    }

    /// (2 - 4) / √(1/100 + 4/100).
    #[test]
    fn welch_is_as_defined() {
        let of = |mean, variance| Moments { count: 100, mean, variance };
        assert_eq!(welch(of(2.0, 1.0), of(4.0, 4.0)), Some(-2.0 / (0.05f64).sqrt()));
        assert_eq!(welch(of(2.0, 0.0), of(2.0, 0.0)), Some(0.0));
        assert_eq!(welch(Moments { count: 99, ..of(1.0, 1.0) }, of(2.0, 1.0)), None);
        let moments = Moments::of([1.0, 2.0, 3.0].into_iter());
        assert_eq!((moments.mean, moments.variance), (2.0, 1.0));
    }
}
