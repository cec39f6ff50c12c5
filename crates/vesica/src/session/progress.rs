//! The progress of a run: step k of n, the share that is done, and the time left.
//!
//! Step 1 reads the table. Step 2 meets the partner and compares the terms. Then come the protocol's phases, which its
//! registry entry lists for each role. The last step confirms the run, unless matches are looked for after that, and writes
//! the rows.
//!
//! The share counts from the moment when sizes and protocol are agreed; before that, the amount of work is unknown. Each phase
//! has a fixed share of the protocol's time, and the units that are done give a part of it. The time left is the time since
//! that moment, times the share that is left, divided by the share that is done.

use std::time::Instant;

use crate::words::error::RunPhase;

/// The share of confirmation and writing; the protocol's phases have 100 together.
const FINISH: f64 = 4.0;

/// Below this share there is no estimate of the time left.
const LEAST: f64 = 0.03;

/// A step of a run, and roughly how many percent of the time between agreement and confirmation it takes.
pub(crate) type Step = (RunPhase, u32);

/// The steps of a run, and the current one.
#[derive(Default)]
pub(crate) struct Course {
    /// The phases between agreement and confirmation, once they are known, and when that was.
    agreed: Option<(Vec<Step>, Instant)>,
    /// The number of the current step.
    step: u32,
    /// Shares of the phases before the current one, and its own.
    before: f64,
    own: f64,
}

/// How much of a run is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Completion {
    /// The share of the run since it was agreed, 0 to 1.
    pub(crate) share: f64,
    /// The time left, in seconds.
    pub(crate) left_s: Option<f64>,
}

impl Course {
    /// Sizes and protocol are agreed.
    pub(crate) fn agreed(&mut self, steps: Vec<Step>) {
        self.agreed = Some((steps, Instant::now()));
    }

    /// A phase begins.
    pub(crate) fn enter(&mut self, phase: RunPhase) {
        let steps = self.agreed.as_ref().map_or(&[][..], |(steps, _)| steps);
        let sum = |steps: &[Step]| steps.iter().map(|(_, share)| f64::from(*share)).sum::<f64>();
        match phase {
            RunPhase::Prepare | RunPhase::Read | RunPhase::Count => self.step = 1,
            // If only the receiver learns, it looks for its matches after the confirmation, which is then part of the step
            // before.
            RunPhase::Confirm if self.step < steps.len() as u32 + 2 => {
                (self.before, self.own) = (self.before + self.own, 0.0);
            }
            RunPhase::Connect | RunPhase::Agree => self.step = 2,
            RunPhase::Confirm | RunPhase::Write => {
                (self.step, self.before, self.own) = (steps.len() as u32 + 3, sum(steps), FINISH);
            }
            _ => {
                if let Some(place) = steps.iter().position(|(step, _)| *step == phase) {
                    self.step = place as u32 + 3;
                    (self.before, self.own) = (sum(&steps[..place]), f64::from(steps[place].1));
                }
            }
        }
    }

    /// The number of the current step, and of how many once that is known.
    pub(crate) fn step(&self) -> (u32, Option<u32>) {
        (self.step, self.agreed.as_ref().map(|(steps, _)| steps.len() as u32 + 3))
    }

    /// How much is done, with `done` of `total` units of the current phase; none before the run is agreed.
    pub(crate) fn completion(&self, done: u64, total: u64) -> Option<Completion> {
        let (steps, since) = self.agreed.as_ref()?;
        let all = steps.iter().map(|(_, share)| f64::from(*share)).sum::<f64>() + FINISH;
        let part = if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) };
        let share = (self.before + self.own * part) / all;
        let left_s = (share >= LEAST).then(|| since.elapsed().as_secs_f64() * (1.0 - share) / share);
        Some(Completion { share, left_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use vesica_protocols::Phase;

    const BLIND: RunPhase = RunPhase::Protocol(Phase::Blind);
    const EXCHANGE: RunPhase = RunPhase::Protocol(Phase::Exchange);
    const COMPARE: RunPhase = RunPhase::Protocol(Phase::Compare);
    const STEPS: [Step; 2] = [(BLIND, 60), (EXCHANGE, 40)];

    #[test]
    fn steps_are_counted_and_shares_grow() {
        let mut course = Course::default();
        course.enter(RunPhase::Read);
        assert_eq!((course.step(), course.completion(5, 10)), ((1, None), None));
        course.enter(RunPhase::Connect);
        course.agreed(STEPS.to_vec());
        assert_eq!(course.step(), (2, Some(5)));
        let mut shares = Vec::new();
        for (number, phase) in [(3, BLIND), (4, EXCHANGE), (5, RunPhase::Confirm), (5, RunPhase::Write)] {
            course.enter(phase);
            assert_eq!(course.step(), (number, Some(5)));
            let half = course.completion(1, 2).unwrap().share;
            shares.extend([course.completion(0, 0).unwrap().share, half]);
        }
        assert_eq!(
            shares[..3].iter().map(|share| (share * 104.0).round()).collect::<Vec<_>>(),
            [0.0, 30.0, 60.0]
        );
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        assert_eq!(course.completion(7, 2).unwrap().share, 1.0);
    }

    #[test]
    fn a_confirmation_before_the_comparison_is_no_step_back() {
        let mut course = Course::default();
        course.enter(RunPhase::Agree);
        course.agreed(vec![(EXCHANGE, 70), (COMPARE, 30)]);
        let mut last = 0.0;
        let phases = [(3, EXCHANGE), (3, RunPhase::Confirm), (4, COMPARE), (5, RunPhase::Write)];
        for (number, phase) in phases {
            course.enter(phase);
            assert_eq!(course.step(), (number, Some(5)), "{phase:?}");
            let share = course.completion(0, 0).unwrap().share;
            assert!(share >= last, "{phase:?}: {share} after {last}");
            last = share;
        }
    }

    #[test]
    fn the_time_left_is_of_the_run_and_not_of_the_phase() {
        let Some(since) = Instant::now().checked_sub(Duration::from_secs(26)) else { return };
        let mut course = Course { agreed: Some((STEPS.to_vec(), since)), ..Course::default() };
        course.enter(BLIND);
        assert_eq!(course.completion(1, 100).unwrap().left_s, None, "too early");
        // 26 of 104 parts took 26 s.
        let left = course.completion(26, 60).unwrap().left_s.unwrap();
        assert!((77.9..80.0).contains(&left), "{left}");
    }
}
