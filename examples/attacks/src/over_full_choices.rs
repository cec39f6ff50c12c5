//! Over-full choices: a receiver of `gbf-rr16` with more ones than it may have.
//!
//! The strings of choice 1 are what a receiver tests keys with, so it would like to have more of them. The
//! sender has some of the OTs opened (RR16 §4, cut and choose): a receiver that chose ones too often is
//! caught if more ones than N_maxones are among the opened. The opened OTs are a random subset, so the number
//! of ones among them has the hypergeometric distribution. At the number of ones that the parameters bound, a
//! cheater passes with probability below 2^-40.

use vesica_ot::testing::credible;
use vesica_protocols::bloom_filter::rr16::ENTRY;
use vesica_protocols::bloom_filter::rr16::cheating::{self, ReceiverCheat};
use vesica_protocols::bloom_filter::rr16::parameters::Rr16Parameters;
use vesica_protocols::testing::duel;

use crate::{Error, malicious_case, malicious_sets, phone_book};

/// Numbers of each party.
const COUNT: usize = 8;

/// How often receivers with so many ones were caught.
#[derive(Debug)]
pub struct Outcome {
    /// Ones among all OTs.
    pub ones: usize,
    /// Runs.
    pub runs: usize,
    /// Runs that the sender ended.
    pub caught: usize,
    /// The probability to be caught.
    pub predicted: f64,
}

impl Outcome {
    /// Whether the count is one of the prediction's.
    #[must_use]
    pub fn is_as_predicted(&self) -> bool {
        credible(self.caught, self.runs, self.predicted)
    }
}

/// Runs with as many ones as an honest receiver has, and with more and more, up to all.
///
/// # Errors
/// If the set-up of a run fails.
pub fn try_all(runs: usize) -> Result<Vec<Outcome>, Error> {
    let parameters = Rr16Parameters::for_items(COUNT);
    let caught_with = |ones: usize| 1.0 - passing(&parameters, ones);
    let first_above = |least: f64| {
        (parameters.ones()..).find(|ones| caught_with(*ones) >= least).unwrap_or(parameters.ots())
    };
    let counts = [parameters.ones(), first_above(0.2), first_above(0.5), first_above(0.8), parameters.ots()];
    counts.into_iter().map(|ones| try_ones(ones, runs, caught_with(ones))).collect()
}

fn try_ones(ones: usize, runs: usize, predicted: f64) -> Result<Outcome, Error> {
    let sets = malicious_sets(&phone_book(100, COUNT, 11), &phone_book(100, COUNT, 12));
    let cheat = ReceiverCheat { ones: Some(ones), ..ReceiverCheat::default() };
    let caught = (0..runs).filter(|run| {
        let (_, sent) = duel(
            (&ENTRY, &sets, malicious_case(*run as u64)),
            Box::new(|ctx| cheating::receive(ctx, &sets.receiver, &cheat)),
            Box::new(|ctx| ENTRY.send(ctx, &sets.sender).map(|_| ())),
        );
        sent.is_err()
    });
    Ok(Outcome { ones, runs, caught: caught.count(), predicted })
}

/// The probability that a receiver with so many ones passes: at most N_maxones of them among the opened OTs.
fn passing(parameters: &Rr16Parameters, ones: usize) -> f64 {
    let (ots, opened) = (parameters.ots(), parameters.opened());
    let mut factorials = vec![0.0];
    (1..=ots).for_each(|n| factorials.push(factorials[n - 1] + (n as f64).ln()));
    let choose = |n: usize, k: usize| factorials[n] - factorials[k] - factorials[n - k];
    let least = (opened + ones).saturating_sub(ots);
    let most = (parameters.most_opened_ones() as usize).min(ones).min(opened);
    let exactly = |k: usize| choose(ones, k) + choose(ots - ones, opened - k) - choose(ots, opened);
    (least..=most).map(|k| exactly(k).exp()).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_caught_as_often_as_predicted() -> Result<(), Error> {
        let outcomes = try_all(24)?;
        for outcome in &outcomes {
            assert!(outcome.is_as_predicted(), "{outcome:?}");
        }
        let (first, last) = (&outcomes[0], &outcomes[outcomes.len() - 1]);
        assert!(first.predicted < 1e-9 && last.predicted > 1.0 - 1e-9, "{outcomes:?}");
        Ok(())
    }
}
