//! A statistical test for counts, which tests of cheating parties share. Only tests can reach it.

/// Whether `count` successes in `runs` independent runs are credible if each succeeds with `probability`:
/// neither so many or more nor so few or fewer has a probability below one in five thousand. (Tests are
/// seeded, so the result changes only if the code draws something else.)
#[must_use]
pub fn credible(count: usize, runs: usize, probability: f64) -> bool {
    const DOUBT: f64 = 2e-4;
    assert!(count <= runs && (0.0..=1.0).contains(&probability));
    if probability == 0.0 || probability == 1.0 {
        return count as f64 == runs as f64 * probability;
    }
    // The binomial distribution, each term from the one before.
    let mut term = (runs as f64 * (1.0 - probability).ln()).exp();
    let (mut up_to, mut before) = (0.0, 0.0);
    for i in 0..=count {
        before = up_to;
        up_to += term;
        term *= (runs - i) as f64 / (i + 1) as f64 * probability / (1.0 - probability);
    }
    up_to > DOUBT && 1.0 - before > DOUBT
}

#[cfg(test)]
mod tests {
    use super::credible;

    #[test]
    fn counts_are_credible_around_the_mean() {
        assert!(credible(50, 100, 0.5) && credible(34, 100, 0.5) && credible(66, 100, 0.5));
        assert!(!credible(30, 100, 0.5) && !credible(70, 100, 0.5));
        // Both ends count: a check that lets no right guess pass, and a cheat that is twice as good as it
        // should be.
        assert!(credible(8, 40, 0.2) && !credible(0, 40, 0.2) && !credible(20, 40, 0.2));
        assert!(credible(0, 7, 0.0) && !credible(1, 7, 0.0) && credible(7, 7, 1.0) && !credible(6, 7, 1.0));
    }
}
