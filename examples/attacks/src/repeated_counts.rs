//! Counts of many small sets, from which a receiver works out who is in the sender's table.
//!
//! The receiver knows a list of people. A run tells it how many of a set of its choice the sender has. It asks
//! for the whole list, then for halves of it, and goes on where some but not all are members: a few runs a
//! member. Nobody breaks a rule; each run shows a count and nothing more.
//!
//! A minimum of matches refuses the small counts that halving needs. It does not help against the difference
//! of two large counts, of a list with and without one person. Noise blurs both, less and less with the number
//! of runs. What prevents the attack is an agreement on the number of runs, and on their tables.

use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica::channel::CancelToken;
use vesica::net::memory;
use vesica::results::{Answer, ResultChoice, ResultOptions};
use vesica::sets::{self, SetJob};
use vesica::settings::Settings;
use vesica::{Kind, randomness};
use vesica_protocols::{Noise, Role, Security};

use crate::{Error, phone_number};

/// What limits each count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Nothing.
    None,
    /// At least so many matches.
    Minimum(u64),
    /// Noise with that ε.
    Noise(Noise),
}

/// How the receiver asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// Halves of a list, as long as a count does not settle all of it.
    Halving,
    /// The whole list without each person in turn.
    Differences,
}

/// What the receiver believes after its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Belief {
    /// For each person of the list, whether the sender has it.
    pub members: Vec<bool>,
    /// Runs that it took, refused ones too.
    pub runs: usize,
    /// Runs that were refused.
    pub refused: usize,
}

/// A list of `people` telephone numbers, of which a sender has some: what a receiver believes after the attack, and what
/// is so.
///
/// # Errors
/// If a run fails for another reason than the minimum.
pub fn find_members(
    people: u32,
    members: u32,
    attack: Attack,
    limit: Limit,
) -> Result<(Belief, Vec<bool>), Error> {
    let mut truth = vec![false; people as usize];
    let mut rng = StdRng::seed_from_u64(11);
    for _ in 0..members {
        // Any person that is none yet.
        let free: Vec<usize> = (0..truth.len()).filter(|person| !truth[*person]).collect();
        truth[free[rng.random_range(0..free.len())]] = true;
    }
    let theirs: Vec<u32> = (0..people).filter(|person| truth[*person as usize]).collect();
    let mut asked = Asked { theirs, limit, runs: 0, refused: 0 };
    let list: Vec<u32> = (0..people).collect();
    let mut believed = vec![false; people as usize];
    match attack {
        Attack::Halving => {
            let all = asked.count(&list)?;
            asked.halve(&list, all, &mut believed)?;
        }
        Attack::Differences => {
            let all = asked.count(&list)?;
            for person in 0..people {
                let without: Vec<u32> = list.iter().copied().filter(|other| *other != person).collect();
                let without = asked.count(&without)?;
                believed[person as usize] =
                    matches!((all, without), (Some(all), Some(without)) if without < all);
            }
        }
    }
    Ok((Belief { members: believed, runs: asked.runs, refused: asked.refused }, truth))
}

/// A receiver's runs with a sender.
struct Asked {
    theirs: Vec<u32>,
    limit: Limit,
    runs: usize,
    refused: usize,
}

impl Asked {
    /// Marks the members among these people, of whom `count` are members as far as a run has told.
    fn halve(&mut self, people: &[u32], count: Option<i64>, believed: &mut [bool]) -> Result<(), Error> {
        match count {
            // Refused: there may be a few, and nothing tells which.
            None | Some(..=0) => return Ok(()),
            Some(count) if count.unsigned_abs() >= people.len() as u64 => {
                people.iter().for_each(|person| believed[*person as usize] = true);
                return Ok(());
            }
            // A count with noise may contradict itself.
            Some(_) if people.len() == 1 => return Ok(()),
            Some(_) => {}
        }
        let (left, right) = people.split_at(people.len() / 2);
        let known = self.count(left)?;
        self.halve(left, known, believed)?;
        // What is not in one half is in the other.
        let rest = count.zip(known).map(|(count, known)| count - known);
        let rest = if rest.is_none() { self.count(right)? } else { rest };
        self.halve(right, rest, believed)
    }

    /// How many of these people the sender has; none if the run was refused.
    fn count(&mut self, people: &[u32]) -> Result<Option<i64>, Error> {
        self.runs += 1;
        let (minimum, noise) = match self.limit {
            Limit::None => (None, None),
            Limit::Minimum(least) => (Some(least), None),
            Limit::Noise(noise) => (None, Some(noise)),
        };
        let result = ResultOptions {
            result: ResultChoice::Count,
            min_matches: minimum,
            noise,
            ..ResultOptions::default()
        };
        let settings = Settings { security: Security::SemiHonest, result, threads: 1, ..Settings::default() };
        let cancel = CancelToken::new();
        let (here, there) = memory::pair(&cancel);
        let play = |role, people: &[u32], channel| {
            let keys: Vec<String> = people.iter().map(|person| phone_number(*person)).collect();
            let items = sets::items(keys.iter().map(String::as_bytes), &settings)?;
            let job = SetJob { role, items, settings: settings.clone() };
            Ok::<_, vesica::Error>(job.run(channel, None, &cancel, &mut randomness()?, &|_| {}))
        };
        let theirs = &self.theirs;
        let ended = thread::scope(|scope| {
            scope.spawn(|| play(Role::Sender, theirs, there).map(|_| ()));
            play(Role::Receiver, people, here)
        })?;
        match ended.result {
            Ok(found) => Ok(match found.answer {
                Some(Answer::Count(count)) => Some(count),
                _ => None,
            }),
            Err(error) if error.kind == Kind::Refused && minimum.is_some() => {
                self.refused += 1;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEOPLE: u32 = 32;

    fn right(belief: &Belief, truth: &[bool]) -> usize {
        belief.members.iter().zip(truth).filter(|(believed, is)| believed == is).count()
    }

    #[test]
    fn counts_alone_tell_who_is_a_member() -> Result<(), Error> {
        let (belief, truth) = find_members(PEOPLE, 6, Attack::Halving, Limit::None)?;
        assert_eq!(belief.members, truth);
        // Fewer runs than people: halving is worth it.
        assert!(belief.runs < PEOPLE as usize && belief.refused == 0, "{belief:?}");
        Ok(())
    }

    #[test]
    fn a_minimum_stops_halving_and_not_differences() -> Result<(), Error> {
        let limit = Limit::Minimum(5);
        let (belief, truth) = find_members(PEOPLE, 6, Attack::Halving, limit)?;
        assert!(belief.members.iter().all(|believed| !believed) && belief.refused > 0, "{belief:?}");
        assert_eq!(right(&belief, &truth), PEOPLE as usize - 6);
        let (belief, truth) = find_members(PEOPLE, 6, Attack::Differences, limit)?;
        assert_eq!((belief.members, belief.refused), (truth, 0));
        Ok(())
    }

    #[test]
    fn noise_leaves_a_guess() -> Result<(), Error> {
        let limit = Limit::Noise(Noise::of_thousandths(100).unwrap_or_else(|| unreachable!("within bounds")));
        for attack in [Attack::Halving, Attack::Differences] {
            let (belief, truth) = find_members(PEOPLE, 16, attack, limit)?;
            assert_ne!(belief.members, truth, "{attack:?}");
            // A guess is right for half of the people; 30 of 32 would be a matter of 2^-23.
            assert!(right(&belief, &truth) < 30, "{attack:?} {belief:?} {truth:?}");
        }
        Ok(())
    }
}
