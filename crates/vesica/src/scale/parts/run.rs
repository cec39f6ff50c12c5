//! A run in parts, from the coins to DONE.

use rand_core::CryptoRng;
use vesica_net::Connection;
use vesica_protocols::Learns;

use super::lanes;
use super::line::{self, RunConnection};
use super::options::PlayOptions;
use super::part::PartProgress;
use super::partitioned::PartitionedRun;
use super::rounds::{self, PartTally};
use super::set::{KeySet, Selected};
use super::toss::Player;
use crate::session::links::Links;
use crate::session::reporter::Reporter;
use crate::session::{self, Agreed, SessionError};
use crate::words::error::RunPhase;
use crate::words::parts::PartsError;
use crate::words::receipt::Receipt;

/// Plays a round: its number and its parts.
pub(super) type PlayRound<'d, 'r> =
    &'r mut dyn FnMut(&mut PartTally<'d>, &mut RunConnection<'_>, (u16, &[u32])) -> Result<(), SessionError>;

/// Ends the conversation. Both sides see a difference, and take their leave in order, so that each one's message reaches
/// the other; of anything else the partner is told nothing.
fn leave(run: &mut Connection, error: &SessionError) {
    match error {
        SessionError::Parts(PartsError::Differ(_)) => {
            run.expect_prompt();
            drop(run.finish(&[]));
        }
        _ => run.abort(),
    }
}

impl PartitionedRun<'_> {
    /// Plays all parts, round by round.
    pub(crate) fn play<'d>(
        &'d self,
        run: &mut RunConnection<'_>,
        play_options: &PlayOptions<'_>,
        progress: &'d PartProgress<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<PartTally<'d>, SessionError> {
        self.rounds(run, play_options.reporter, &mut |tally, run, (round, parts)| {
            let before = tally.lengths(parts);
            loop {
                // Where the connection of the run broke, what is left of the round is played after it was made again.
                let open = tally.same_length(&before);
                let ended =
                    lanes::round(self, tally, run.both(), (round, parts, open), play_options, progress, rng);
                match ended {
                    Err(error) if line::is_broken(&error) => run.mend()?,
                    ended => break ended?,
                }
            }
            run.end_round(round);
            Ok(())
        })
    }

    /// Goes from round to round until every part is done. `play` plays a round, which has a number and these parts.
    pub(super) fn rounds<'d>(
        &'d self,
        run: &mut RunConnection<'_>,
        reporter: &Reporter<'_>,
        play: PlayRound<'d, '_>,
    ) -> Result<PartTally<'d>, SessionError> {
        let allowance = self.agreed.allowance(self.job.players.at_once());
        reporter.questions(self.agreed, allowance);
        let mut tally = PartTally::new(self.count(), allowance);
        let played = self.rounds_of(&mut tally, run, play);
        reporter.parts(self.report(&tally), self.agreed.max_tested_keys(tally.repeated()));
        played.inspect_err(|error| leave(run.channel_mut(), error))?;
        Ok(tally)
    }

    fn rounds_of<'d>(
        &self,
        tally: &mut PartTally<'d>,
        run: &mut RunConnection<'_>,
        play: PlayRound<'d, '_>,
    ) -> Result<(), SessionError> {
        for round in 0..=u16::MAX {
            let missing = tally.missing();
            let parts = rounds::in_round(&missing, self.job.players);
            tally.enter(parts)?;
            rounds::exchange_round(run, round, self.count(), parts)?;
            play(tally, run, (round, parts))?;
            tally.compare(run, round, self.agreed.role())?;
            if tally.missing().is_empty() {
                run.end_rounds();
                return Ok(());
            }
        }
        Err(PartsError::Missing { missing: tally.missing().len(), count: self.count() }.into())
    }

    /// Compares root, matches and digests with the partner, and signs: DONE of the whole run. The statement has the digests of
    /// the connection that DONE goes over.
    pub(crate) fn confirm(
        &self,
        tally: &PartTally<'_>,
        run: &mut RunConnection<'_>,
        reporter: &Reporter<'_>,
    ) -> Result<Option<Receipt>, SessionError> {
        let root = tally.root(&self.job.id)?;
        let matches = match self.agreed.learns {
            Learns::Receiver => u64::MAX,
            Learns::Both => tally.matches(),
        };
        let compared = rounds::exchange_root(run, &root, matches);
        compared.inspect_err(|error| leave(run.channel_mut(), error))?;
        run.exchange(run.done(), Vec::new(), &mut |run| {
            let confirming = || reporter.enter(RunPhase::Confirm, 0);
            session::exchange_digests(u64::MAX, self.agreed.signing(), run, &confirming)
        })
    }

    /// The matches of the whole set, if this side learns them.
    pub(crate) fn matches(
        &self,
        tally: PartTally<'_>,
        at_once: (usize, u16),
    ) -> Result<Option<Selected>, SessionError> {
        self.set.matches(tally.into_chosen().collect(), at_once)
    }
}

/// The whole of a run in parts, from the coins to DONE and the matches.
pub(crate) fn play<'a>(
    agreed: &'a Agreed,
    keys: impl Into<KeySet<'a>>,
    mut run: Connection,
    links: &mut dyn Links,
    play_options: &PlayOptions<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Selected>, SessionError> {
    let reporter = play_options.reporter;
    let progress = PartProgress::new(reporter);
    let partitioned =
        PartitionedRun::agree(agreed, keys, Player::process(play_options.lanes), &mut run, rng)?;
    reporter.enter(RunPhase::Parts, partitioned.count() as u64);
    let mut run = RunConnection::begin(run, links, &partitioned, play_options, rng)?;
    let played = partitioned.play(&mut run, play_options, &progress, rng);
    let played = played.and_then(|tally| {
        let receipt = partitioned.confirm(&tally, &mut run, reporter)?;
        Ok((tally, receipt))
    });
    reporter.transcript(run.channel());
    let (tally, receipt) = played?;
    reporter.confirmed(receipt);
    // The connection ends before the matches are looked for: its end would tell the partner how long that takes.
    drop(run);
    let selected = partitioned.matches(tally, (play_options.threads, play_options.lanes));
    partitioned.set.usage().into_iter().for_each(|(usage, kind)| reporter.spilled(usage, kind));
    selected
}
