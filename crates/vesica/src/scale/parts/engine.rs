//! Runs in parts for an engine: a program that keeps a table on many machines, such as Spark.
//!
//! Its *driver* is one process. It has the identity and the connection of the run: it meets the partner, agrees on terms,
//! sizes, parts and coins, and begins and ends each round ([`EngineJob`]). Its *tasks* play the parts, each a part of its own
//! ([`Task`]). They get a ticket ([`TicketBytes`]), with a key made for this run, and give back receipts and matching items.
//!
//! ```text
//!   driver   EngineJob::run ─ begin ─┬─ play ── chosen ─┬─ confirm ─ root, DONE
//!                                    └──── rounds ──────┘
//!                                         │      ▲
//!                                 tickets ▼      │ receipts
//!   tasks                       Task::new, add …, play
//! ```
//!
//! The partner is a program, or another engine through a relay. An engine never listens: its tasks come to where the driver
//! met the partner. It plays at least two parts.
//!
//! **Attempts.** A lost task is played again, by the engine within the round or by the driver in the next one. Every attempt
//! in which the partner may have learnt something counts for the allowance of the run, as far as the driver hears of it: a
//! task whose process dies is counted by the partner alone. The driver hears of attempts at the end of a round. So a round
//! begins only if another attempt at each of its parts is within the allowance.

mod items;
mod packed;
mod task;
mod ticket;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_crypto::device::Device;
use vesica_encode::items::Width;
use vesica_encode::parts::Parts;
use vesica_net::{Address, Identity, Options, PartsAddress};
use vesica_protocols::{Learns, Role, Sizes};
use vesica_table::{MatchRules, TableReport};
use vesica_text::text;

use super::line::RunConnection;
use super::options::PlayOptions;
use super::partitioned::PartitionedRun;
use super::rounds::{Attempt, PartTally};
use super::set::KeySet;
use super::toss::Player;
use crate::session::conversation::{Conversation, LocalOffer};
use crate::session::deadline::Deadline;
use crate::session::links::NoLinks;
use crate::session::local_state::{LocalState, padded, prepare};
use crate::session::met::Met;
use crate::session::partner::Partner;
use crate::session::reporter::Reporter;
use crate::session::{self, Agreed};
use crate::words::ended::{Ended, RunResult};
use crate::words::error::{Error, Kind, RunPhase};
use crate::words::memory_use::side::{KeysAt, SideMemory};
use crate::words::parts::{LEAST_PARTS_OF_ENGINE, PartsError};
use crate::words::report::{Event, OnEvent};
use crate::words::settings::{DeviceChoice, Settings};
use crate::words::terms::Terms;
use items::not_in_parts;
pub use items::{Digests, digests, fingerprints, keyed};
pub use packed::{Distinct, MARK, Marks, PackedItems, Rows, halves, marks, pack_items, row_lengths};
pub use task::{Played, PlayedPart, Task};
use ticket::Ticket;
pub use ticket::TicketBytes;

/// The longest time that a task waits for its partner.
const LONGEST_WAIT: Duration = Duration::from_secs(7 * 86_400);

/// What both sides have agreed on, as far as an engine needs it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// B.
    pub parts: Parts,
    /// M_r and M_s.
    pub bounds: Sizes,
    /// k: the key under which digests become items.
    pub items_key: [u8; 32],
    /// Bytes of a digest and of an item.
    pub width: Width,
    /// Whether this side learns the result.
    pub learns: bool,
    /// Parts that the partner plays at once.
    pub partner_slots: u16,
}

/// k is not printed.
impl fmt::Debug for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outline { parts, bounds, learns, .. } = self;
        let mut shown = f.debug_struct("Outline");
        shown.field("parts", parts).field("bounds", bounds).field("learns", learns).finish_non_exhaustive()
    }
}

/// A round: parts to be played, and what their tasks need.
#[derive(Debug)]
pub struct Round {
    /// Its number.
    pub number: u16,
    /// Its parts, ascending.
    pub parts: Vec<u32>,
    /// The ticket, the same one for all of its tasks.
    pub ticket: TicketBytes,
}

/// How a round went here.
#[derive(Debug, Clone, Default)]
pub struct RoundEnded {
    /// Of the parts that came to an end. A part may be there several times.
    pub receipts: Vec<PlayedPart>,
    /// For each part with attempts, how many there were in which the partner may have learnt something. What is not listed
    /// counts by its receipts.
    pub attempts: Vec<(u32, u32)>,
    /// A failure of a task that is not the network's, such as a failed check: it ends the run.
    pub failed: Option<Error>,
}

/// Says whether the partner is still there.
pub type Watch<'a> = &'a dyn Fn() -> Result<(), Error>;

/// What plays the parts of a run. An error ends the run.
pub trait Engine {
    /// The run is agreed.
    fn begin(&mut self, run: &Outline) -> Result<(), Error>;

    /// Plays a round. It should look at `partner` now and then while it waits for its tasks.
    fn play(&mut self, round: Round, partner: Watch<'_>) -> Result<RoundEnded, Error>;

    /// The receipts that count so far, with their parts; `done` if every part has one. Once it has, the results of these
    /// attempts are the results of the run, and the run is confirmed as soon as this returns.
    fn chosen(&mut self, chosen: &[(u32, [u8; 32])], done: bool, partner: Watch<'_>) -> Result<(), Error>;
}

/// An engine's side of a run.
pub struct EngineJob {
    /// The part this party plays.
    pub role: Role,
    /// Counts of the table: rows, and different keys among them.
    pub counts: TableReport,
    /// The rules that make keys of a row, in the agreed order.
    pub keys: MatchRules,
    /// Everything else that a user chooses.
    pub settings: Settings,
    /// Parts that the engine plays at once.
    pub slots: u16,
}

impl EngineJob {
    /// Runs against a partner over the network.
    pub fn run(
        self,
        partner: &Partner,
        engine: &mut dyn Engine,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
    ) -> Ended {
        let settings =
            Settings { parts: self.settings.parts.max(LEAST_PARTS_OF_ENGINE), ..self.settings.clone() };
        let deadline = match Deadline::start(settings.deadline, cancel) {
            Ok(deadline) => deadline,
            Err(error) => return Reporter::new(self.role, &settings, cancel, on_event).end(Err(error)),
        };
        let reporter = Reporter::new(self.role, &settings, deadline.cancel(), on_event);
        let reporter = reporter.with_key(partner.my_key()).with_relay(partner.relay());
        on_event(&Event::Started { role: self.role.name() });
        let ended = self.steps(&settings, partner, engine, &reporter, rng);
        let via = partner.relay();
        reporter.end(ended.map_err(|error| deadline.explain(error.through_relay(via.as_deref()))))
    }

    fn steps(
        &self,
        settings: &Settings,
        partner: &Partner,
        engine: &mut dyn Engine,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<RunResult, Error> {
        check_partner(partner)?;
        self.keys.check().map_err(|error| Error::table(RunPhase::Prepare, &error))?;
        let rules = [self.keys.agreed()];
        let identity = partner.keys.as_ref().map(|(identity, _)| identity.clone());
        let pair = LocalState { identity, via: partner.relay(), ..LocalState::default() };
        let terms = prepare(self.role, settings, &rules, &pair)?;
        check_settings(settings)?;
        let items = padded(self.counts.items as usize, settings)?;
        reporter.read(self.counts, items as u64, settings);
        // 1. The partner.
        reporter.enter(RunPhase::Connect, 0);
        let options = Options { silence: settings.timeout, cancel: reporter.cancel.clone() };
        let on_event = &mut |event| reporter.net_event(&event);
        let met = partner.meet_to_stay(&session::greeting(&terms), &options, rng, on_event)?;
        let peer = partner.keys.as_ref().map(|(_, peer)| peer);
        let place = Place { to: PartsAddress::of(&partner.address, peer), secured: partner.keys.is_some() };
        let table = Driver { settings, terms: &terms, slots: self.slots, place, reporter };
        table.converse(met, items, pair.identity.as_ref(), engine, rng)
    }
}

/// Where the tasks come to.
struct Place {
    to: PartsAddress,
    secured: bool,
}

/// What the driver has before it knows the partner.
struct Driver<'r> {
    settings: &'r Settings,
    terms: &'r Terms,
    slots: u16,
    place: Place,
    reporter: &'r Reporter<'r>,
}

impl Driver<'_> {
    /// The conversation on the run's connection.
    fn converse(
        &self,
        met: Met,
        items: usize,
        identity: Option<&Identity>,
        engine: &mut dyn Engine,
        rng: &mut dyn CryptoRng,
    ) -> Result<RunResult, Error> {
        let Driver { settings, terms, reporter, .. } = *self;
        // 2. Terms, sizes, parts and coins.
        let memory = SideMemory {
            keys: KeysAt::Engine,
            role: terms.role(),
            rows: items as u64,
            result: settings.result.kind(),
            budget: settings.memory,
        };
        let offer = LocalOffer { settings, terms, identity, items, memory, noted: None };
        let (agreed, _, mut channel, links) = Conversation::agree(met, &offer, reporter)?.release();
        let run = &mut channel;
        let player = Player::engine(self.slots);
        let partitioned = PartitionedRun::agree(&agreed, KeySet::Elsewhere, player, run, rng);
        let partitioned = partitioned.map_err(|error| Error::session(RunPhase::Agree, &error))?;
        engine.begin(&partitioned.outline()).inspect_err(|_| run.abort())?;
        // 3. The parts, and DONE.
        let mut links = links.unwrap_or_else(|| Box::new(NoLinks));
        let options = Options { silence: self.settings.timeout, cancel: reporter.cancel.clone() };
        let play_options = PlayOptions { threads: 1, device: Device::default(), lanes: 1, options, reporter };
        let run = RunConnection::begin(channel, links.as_mut(), &partitioned, &play_options, rng);
        let run = &mut run.map_err(|error| Error::session(RunPhase::Parts, &error))?;
        reporter.enter(RunPhase::Parts, partitioned.count() as u64);
        let played = partitioned.rounds(run, reporter, &mut |tally, run, round| {
            let ended = self.round(&partitioned, tally, run, round, engine);
            run.end_round(round.0);
            ended.map_err(|error| of_engine(error).into())
        });
        let played = played.and_then(|tally| {
            let chosen = engine.chosen(&tally.counting(), true, &watch(&RefCell::new(&mut *run)));
            chosen.map_err(of_engine).inspect_err(|_| run.channel_mut().abort())?;
            partitioned.confirm(&tally, run, reporter)
        });
        reporter.transcript(run.channel());
        let receipt = played.map_err(|error| Error::session(reporter.current(), &error))?;
        reporter.confirmed(receipt);
        Ok(RunResult::default())
    }

    /// A round: its ticket to the engine, and receipts from it.
    fn round(
        &self,
        partitioned: &PartitionedRun<'_>,
        tally: &mut PartTally<'_>,
        run: &mut RunConnection<'_>,
        (number, parts): (u16, &[u32]),
        engine: &mut dyn Engine,
    ) -> Result<(), Error> {
        let run = RefCell::new(run);
        if number > 0 {
            engine.chosen(&tally.counting(), false, &watch(&run))?;
        }
        // The engine tells of attempts when it has made them, so all of them must be within the allowance before.
        tally.afford(parts).map_err(|error| Error::session(RunPhase::Parts, &error.into()))?;
        let ticket = self.ticket(partitioned, number, parts.len()).encode()?;
        let round = Round { number, parts: parts.to_vec(), ticket };
        let ended = engine.play(round, &watch(&run))?;
        if let Some(failed) = &ended.failed {
            return Err(failed.clone());
        }
        watch(&run)()?;
        record(tally, parts, &ended, (partitioned.agreed, self.reporter))
    }

    fn ticket(&self, partitioned: &PartitionedRun<'_>, round: u16, parts: usize) -> Ticket {
        let silence = self.settings.timeout;
        // All parts of the round may come before one, each of which is at work for less than the partner may be silent.
        let waves = parts.div_ceil(partitioned.job.players.theirs.at_once.into()) as u32;
        Ticket {
            agreed: partitioned.agreed.clone(),
            job: partitioned.job.clone(),
            round,
            place: self.place.to.clone(),
            secured: self.place.secured,
            silence,
            wait: silence.saturating_mul(waves).min(LONGEST_WAIT),
            threads: self.settings.threads,
        }
    }
}

impl PartitionedRun<'_> {
    fn outline(&self) -> Outline {
        let agreed = self.agreed;
        Outline {
            parts: agreed.parts,
            bounds: agreed.played(),
            items_key: self.job.items_key,
            width: task::width(agreed),
            learns: agreed.role() == Role::Receiver || agreed.learns == Learns::Both,
            partner_slots: self.job.players.theirs.at_once,
        }
    }
}

/// Puts into the tally how a round went.
fn record(
    tally: &mut PartTally<'_>,
    parts: &[u32],
    ended: &RoundEnded,
    (agreed, reporter): (&Agreed, &Reporter<'_>),
) -> Result<(), Error> {
    let RoundEnded { receipts, attempts, .. } = ended;
    let numbers = receipts.iter().map(|receipt| receipt.part).chain(attempts.iter().map(|(part, _)| *part));
    for part in numbers {
        if parts.binary_search(&part).is_err() {
            let remedy = "give back receipts of the parts of the round, and of no other";
            let message = format!("the engine has a receipt of part {part}, which is not in the round");
            return Err(Error {
                kind: Kind::Internal,
                phase: RunPhase::Parts,
                ..Error::usage(message, remedy)
            });
        }
    }
    let begin = |tally: &mut PartTally<'_>, part| {
        tally.begin(part).map_err(|error| Error::session(RunPhase::Parts, &error.into()))?;
        if task::shows_nothing(agreed) {
            tally.show_nothing(part);
        }
        Ok::<(), Error>(())
    };
    let listed: HashMap<u32, u32> = attempts.iter().copied().collect();
    let mut begun: HashMap<u32, u32> = HashMap::new();
    for PlayedPart { part, receipt, matches } in receipts {
        if tally.has(*part, receipt) {
            continue;
        }
        if !tally.holds(*part) {
            reporter.part_done(*part);
        }
        begin(tally, *part)?;
        *begun.entry(*part).or_default() += 1;
        tally.hold(*part, Attempt { receipt: *receipt, matches: *matches, kept: None });
    }
    for (part, attempts) in listed {
        for _ in begun.get(&part).copied().unwrap_or(0)..attempts {
            begin(tally, part)?;
        }
    }
    Ok(())
}

/// Says whether the partner is there, on the run's connection.
fn watch<'w>(run: &'w RefCell<&mut RunConnection<'_>>) -> impl Fn() -> Result<(), Error> + 'w {
    || run.borrow_mut().mend().map_err(|error| Error::session(RunPhase::Parts, &error))
}

fn of_engine(error: Error) -> PartsError {
    PartsError::Engine(Box::new(error))
}

/// Refuses what an engine's tasks cannot come to, and what does not go together with parts.
fn check_partner(partner: &Partner) -> Result<(), Error> {
    partner.address.check().map_err(|error| Error::net(RunPhase::Prepare, &error))?;
    if matches!(partner.address, Address::Listen(_)) {
        return Err(Error::usage(
            "an engine does not listen: its tasks run on many machines, and come to the partner",
            "give `[connect]` (the partner listens), or meet the partner at a relay with `[via]`",
        ));
    }
    if partner.ledger.is_some() {
        return Err(Error::usage(
            "the driver of an engine has no keys, and so no sketch of them for `[ledger]`",
            "leave out `[ledger]`, and keep the reports",
        ));
    }
    let excluded = [(partner.helper.is_some(), "helper"), (partner.keep_base_ots.is_some(), "keep-base-ots")];
    match excluded.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(not_in_parts(option)),
        None => Ok(()),
    }
}

fn check_settings(settings: &Settings) -> Result<(), Error> {
    if let DeviceChoice::Cuda(_) = settings.device {
        let message = text!(
            "`[device {}]`: the tasks of an engine compute on their cores",
            settings.device.to_string()
        );
        return Err(Error::usage(message, "leave out `[device]`"));
    }
    match settings.match_id {
        true => Err(not_in_parts("match-id")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
