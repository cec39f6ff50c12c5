//! A run in several parts: both sets are split by a keyed hash, and each pair of parts is a run of the protocol of its own.
//! The run succeeds only if all parts do.
//!
//! ```text
//!   hello, terms, sizes, parts needed   as in every run ([`crate::session`]); B is the larger number, if both accept it
//!                                       (module `questions`)
//!   u8 names · u16 parts at once · 32 commitment to a coin    ◄──►   names: 1 for an engine, whose parts come by number
//!   32 coin · 32 run key                                      ◄──►   opened, compared with the commitment
//!   rounds, until every part is done, at most four of each part:
//!     u16 round · bitmap of the parts to play                 ◄──►   all that are missing; equal on both sides
//!     …each part on a connection of its own ([`part`])
//!     u32 count · count × (u32 part · 32 receipt)             ◄──►   the receipts that this side holds
//!   32 root · u64 matches, where both sides learn them        ◄──►   equal on both sides
//!   DONE: digests                                             ◄──►
//! ```
//!
//! From the rounds on, this connection may break and is made again (module `line`).
//!
//! | name | value |
//! | --- | --- |
//! | commitment | H("vesica parts coin v2", role, coin) |
//! | J, the job | H("vesica job v2", sid, n_r, n_s, B, coin_r, coin_s) |
//! | k, the key of the split | H("vesica part items v2", J) |
//! | tag of the connections | H("vesica part tag v2", J) |
//! | A, the run in its attempts | H("vesica part attempts v2", J) |
//! | sid of an attempt at a part | H("vesica part v2", TLS exporter, both nonces, A, part, M_r, M_s) |
//! | receipt of an attempt | H("vesica receipt v2", sid of the attempt, digest r→s, digest s→r, matches or 2^64-1) |
//! | root | H("vesica job root v2", J, the chosen receipts in the order of the parts) |
//!
//! H is BLAKE3 in its mode for deriving keys; the receiver's fields stand first, and all have a fixed width.
//!
//! **All or nothing.** A part is done if both lists have a receipt in common; the first one of the receiver's list is chosen.
//! A receipt is the same on both sides only if both saw the same attempt. The receiver looks for its matches after DONE of
//! the whole run, so no time between two parts tells how many there are.
//!
//! **A set on disk** (module `spool`) has those parts in memory that are played. The receiver then looks for the matches of each part
//! before the next one begins, so the time between two parts may tell roughly how many keys of a part match.
//!
//! **Keys.** The parts' connections show keys made for this run, which both sides exchange on its connection. The items are
//! fixed before the coins are, so nobody can choose items that fall into one part ([`vesica_encode::parts`]).

pub mod engine;
mod lanes;
mod line;
mod part;
mod rounds;
mod set;
#[cfg(feature = "testing")]
pub mod testing;
mod toss;

use rand_core::CryptoRng;
use vesica_channel::codec::CodecError;
use vesica_net::Connection;
use vesica_protocols::{Learns, Phase, Progress as _};

use crate::session::links::Links;
use crate::session::reporter::Reporter;
use crate::session::{self, Agreed, SessionError};
pub use crate::words::parts::{Asked, MOST, Parts, PartsError, sizes};
use crate::words::report::PartsReport;
use line::Line;
use part::PartProgress;
use rounds::Book;
use set::PartSet;
pub(crate) use set::{KeySet, Selected};
use toss::{Job, Player};

/// What is fixed before the first part: the items of each, and what both sides call the run.
pub(crate) struct Division<'a> {
    agreed: &'a Agreed,
    set: PartSet<'a>,
    job: Job,
}

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

/// Refuses a connection of a run or of a part that does not begin with that byte.
fn check_kind(first: u8, kind: u8, what: &'static str) -> Result<(), SessionError> {
    match first {
        _ if first == kind => Ok(()),
        session::RUN => {
            Err(SessionError::OtherRun("has started a new run, and this side goes on with this one"))
        }
        _ => Err(SessionError::Decode { what, cause: CodecError::Invalid { what: "kind of connection" } }),
    }
}

/// Plays a round: its number and its parts.
type PlayRound<'d, 'r> =
    &'r mut dyn FnMut(&mut Book<'d>, &mut Line<'_>, (u16, &[u32])) -> Result<(), SessionError>;

/// How this side plays.
pub(crate) struct Conduct<'a> {
    pub(crate) threads: usize,
    /// Parts that it plays at once, if the partner does.
    pub(crate) lanes: u16,
    pub(crate) options: vesica_net::Options,
    pub(crate) reporter: &'a Reporter<'a>,
}

impl<'a> Division<'a> {
    /// The coins, the keys, and the split under them.
    pub(crate) fn agree(
        agreed: &'a Agreed,
        keys: impl Into<KeySet<'a>>,
        player: Player,
        run: &mut Connection,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, SessionError> {
        let job = toss::agree(agreed, player, run, rng);
        let job = job.map_err(|error| agreed.failed(error, run)).inspect_err(|_| run.abort())?;
        let set = keys.into().split(agreed, &job.items_key, rng).inspect_err(|_| run.abort())?;
        Ok(Division { agreed, set, job })
    }

    /// B.
    fn count(&self) -> usize {
        self.agreed.parts.count()
    }

    /// Plays all parts, round by round.
    pub(crate) fn play<'d>(
        &'d self,
        run: &mut Line<'_>,
        conduct: &Conduct<'_>,
        progress: &'d PartProgress<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Book<'d>, SessionError> {
        self.rounds(run, conduct.reporter, &mut |book, run, (round, parts)| {
            let before = book.lengths(parts);
            loop {
                // Where the connection of the run broke, what is left of the round is played after it was made again.
                let open = book.same_length(&before);
                let ended =
                    lanes::round(self, book, run.both(), (round, parts, open), conduct, progress, rng);
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
    fn rounds<'d>(
        &'d self,
        run: &mut Line<'_>,
        reporter: &Reporter<'_>,
        play: PlayRound<'d, '_>,
    ) -> Result<Book<'d>, SessionError> {
        let allowance = self.agreed.allowance(self.job.players.at_once());
        reporter.questions(self.agreed, allowance);
        let mut book = Book::new(self.count(), allowance);
        let played = self.rounds_of(&mut book, run, play);
        reporter.parts(self.report(&book), self.agreed.max_tested_keys(book.repeated()));
        played.inspect_err(|error| leave(run.channel_mut(), error))?;
        Ok(book)
    }

    fn rounds_of<'d>(
        &self,
        book: &mut Book<'d>,
        run: &mut Line<'_>,
        play: PlayRound<'d, '_>,
    ) -> Result<(), SessionError> {
        for round in 0..=u16::MAX {
            let missing = book.missing();
            let parts = rounds::in_round(&missing, self.job.players);
            book.enter(parts)?;
            rounds::exchange_round(run, round, self.count(), parts)?;
            play(book, run, (round, parts))?;
            book.compare(run, round, self.agreed.role())?;
            if book.missing().is_empty() {
                run.end_rounds();
                return Ok(());
            }
        }
        Err(PartsError::Missing { missing: book.missing().len(), count: self.count() }.into())
    }

    /// Compares root, matches and digests with the partner: DONE of the whole run.
    pub(crate) fn confirm(
        &self,
        book: &Book<'_>,
        run: &mut Line<'_>,
        reporter: &Reporter<'_>,
    ) -> Result<(), SessionError> {
        let root = book.root(&self.job.id)?;
        let matches = match self.agreed.learns {
            Learns::Receiver => u64::MAX,
            Learns::Both => book.matches(),
        };
        let compared = rounds::exchange_root(run, &root, matches);
        compared.inspect_err(|error| leave(run.channel_mut(), error))?;
        run.exchange(run.done(), Vec::new(), &mut |run| session::exchange_digests(u64::MAX, run, reporter))
    }

    /// The matches of the whole set, if this side learns them.
    pub(crate) fn matches(&self, book: Book<'_>) -> Result<Option<Selected>, SessionError> {
        self.set.matches(book)
    }

    fn report(&self, book: &Book<'_>) -> PartsReport {
        PartsReport {
            count: self.count() as u32,
            bound: self.agreed.played().of(self.agreed.role()) as u64,
            lanes: self.job.players.at_once().into(),
            attempts: book.attempts(),
            spent: book.repeated(),
        }
    }
}

/// The whole of a run in parts, from the coins to DONE and the matches.
pub(crate) fn play<'a>(
    agreed: &'a Agreed,
    keys: impl Into<KeySet<'a>>,
    mut run: Connection,
    links: &mut dyn Links,
    conduct: &Conduct<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Selected>, SessionError> {
    let reporter = conduct.reporter;
    let progress = PartProgress::new(reporter);
    let division = Division::agree(agreed, keys, Player::process(conduct.lanes), &mut run, rng)?;
    reporter.phase(Phase::Parts, division.count() as u64);
    let mut run = Line::begin(run, links, &division.job, conduct, rng)?;
    let played = division.play(&mut run, conduct, &progress, rng);
    let played = played.and_then(|book| division.confirm(&book, &mut run, reporter).map(|()| book));
    reporter.transcript(run.channel());
    let book = played?;
    reporter.confirmed();
    // The connection ends before the matches are looked for: its end would tell the partner how long that takes.
    drop(run);
    let selected = division.matches(book);
    division.set.usage().into_iter().for_each(|(usage, kind)| reporter.spilled(usage, kind));
    selected
}

#[cfg(test)]
mod tests;
