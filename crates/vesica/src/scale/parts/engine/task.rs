//! The task of an engine: one part, from its items to its receipt.
//!
//! All items come first, then the connection. A connection that cannot be made, or breaks before the partner has said
//! anything, is made again until the time for waiting is over. One that breaks later may have shown the partner something.
//! Then the task gives up, and the part comes again in the next round, where the driver's tally counts it; only a side that
//! shows nothing (a receiver that alone learns the result) tries again at once, a few times.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_crypto::device::Device;
use vesica_encode::items::{Encoding, Items, ItemsBuilder, ItemsError, OnDuplicates, Width};
use vesica_net::{Connection, NetError, Options, RetryReason};
use vesica_protocols::{Error as ProtocolError, Learns, Phase, Role, encoding_for};
use vesica_text::Text;

use super::super::attempts::{Seed, SharedTally};
use super::super::options::PlayOptions;
use super::super::part::{AttemptContext, HEADER, Header, PartProgress, is_broken};
use super::super::partitioned::PartitionedRun;
use super::super::rounds::{Attempt, PartTally};
use super::super::set::{Kept, PartSet};
use super::ticket::Ticket;
use crate::session::Agreed;
use crate::session::links::{FromTask, Links};
use crate::session::reporter::Reporter;
use crate::words::error::{Error, Kind, RunPhase, Side};
use crate::words::parts::PartsError;
use crate::words::settings::Settings;

/// A receipt that a task came back with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayedPart {
    /// The part.
    pub part: u32,
    /// The receipt.
    pub receipt: [u8; 32],
    /// Matching items, where both sides learn them; otherwise 0.
    pub matches: u64,
}

/// How often a side that shows nothing tries again at once.
const TRIES_AGAIN: u32 = 3;

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// A part that is to be played, and its items so far.
pub struct Task {
    ticket: Ticket,
    part: u32,
    width: Width,
    items: ItemsBuilder,
    /// Of each row.
    fingerprints: Vec<i64>,
}

/// What a task ends with.
pub struct Played {
    /// The receipt and the matches where both sides learn them; or why there is none.
    pub receipt: Result<PlayedPart, Error>,
    /// Attempts in which the partner may have learnt something.
    pub attempts: u32,
    /// Different items of the part.
    pub distinct: u64,
    /// The sum of their fingerprints, modulo 2^64.
    pub sum: i64,
    /// The matching items, side by side, if this side learns them.
    pub matched: Vec<u8>,
}

impl Task {
    /// The task of this part, of the round whose ticket it is.
    ///
    /// # Errors
    /// If the ticket does not decode, or the run has no such part.
    pub fn new(ticket: &[u8], part: u32) -> Result<Self, Error> {
        let ticket = Ticket::decode(ticket)?;
        if part as usize >= ticket.agreed.parts.count() {
            return Err(misplaced(format!("there is no part {part} in this run")));
        }
        let width = width(&ticket.agreed);
        let items = ItemsBuilder::new(Encoding::Digest(width), 0).map_err(|error| ours(&error))?;
        Ok(Task { ticket, part, width, items, fingerprints: Vec::new() })
    }

    /// Bytes of an item.
    pub fn item_bytes(&self) -> usize {
        self.width.bytes()
    }

    /// Takes an item of the part.
    ///
    /// # Errors
    /// If it is of another part, or no item of such a run.
    pub fn add(&mut self, part: u32, item: &[u8], fingerprint: i64) -> Result<(), Error> {
        let parts = self.ticket.agreed.parts;
        let own = |prefix: &[u8; 8]| parts.of_prefix(u64::from_be_bytes(*prefix)) == self.part as usize;
        if part != self.part || item.len() != self.width.bytes() || !item.first_chunk().is_some_and(own) {
            return Err(misplaced(format!("a row of another part came to part {}", self.part)));
        }
        let row = self.fingerprints.len() as u64;
        self.items.push_digest(row, item).map_err(|error| ours(&error))?;
        self.fingerprints.push(fingerprint);
        Ok(())
    }

    /// Plays the part. What fails is in the result.
    pub fn play(self, cancel: &CancelToken, rng: &mut dyn CryptoRng) -> Played {
        let mut links = FromTask { place: self.ticket.place.clone(), secured: self.ticket.secured };
        self.play_over(&mut links, cancel, rng)
    }

    /// Plays the task over these links.
    pub(crate) fn play_over(
        self,
        links: &mut dyn Links,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
    ) -> Played {
        let mut played = Played {
            receipt: Err(Error::interrupted(RunPhase::Parts)),
            attempts: 0,
            distinct: 0,
            sum: 0,
            matched: Vec::new(),
        };
        let ended = self.play_into(&mut played, links, cancel, rng);
        played.receipt = ended;
        played
    }

    fn play_into(
        self,
        played: &mut Played,
        links: &mut dyn Links,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
    ) -> Result<PlayedPart, Error> {
        let Task { ticket, part, items, fingerprints, .. } = self;
        let mut items = items.build(OnDuplicates::First).map_err(|error| ours(&error))?;
        played.distinct = items.distinct() as u64;
        played.sum = sum(&items, &fingerprints);
        drop(fingerprints);
        let agreed = &ticket.agreed;
        let of = agreed.sizes.of(agreed.role()) as u64;
        let filled = agreed.parts.fill(part as usize, of, &mut items, rng);
        filled.map_err(|error| Error::session(RunPhase::Parts, &PartsError::from(error).into()))?;
        let partitioned = PartitionedRun { agreed, set: PartSet::One(items), job: ticket.job.clone() };
        let settings = Settings { threads: ticket.threads, timeout: ticket.silence, ..Settings::default() };
        let reporter = Reporter::new(agreed.role(), &settings, cancel, &|_| ());
        let progress = PartProgress::new(&reporter);
        let options = Options { silence: ticket.silence, cancel: cancel.clone() };
        let play_options = PlayOptions {
            threads: settings.threads(),
            device: Device::default(),
            lanes: 1,
            options,
            reporter: &reporter,
        };
        let missing = [part];
        let (play_options, progress, missing) = (&play_options, &progress, &missing[..]);
        let (round, threads, seed) = (ticket.round, play_options.threads, Seed::draw(rng));
        let table = AttemptContext {
            partitioned: &partitioned,
            play_options,
            progress,
            round,
            missing,
            threads,
            seed,
        };
        let seat = Seat { ticket: &ticket, part, table };
        let held = seat.play(&mut played.attempts, links, rng)?;
        if let (Some(Kept::Pending(pending)), PartSet::One(items)) = (held.kept, &partitioned.set) {
            let failed =
                |error: ProtocolError| Error::session(RunPhase::Protocol(Phase::Compare), &error.into());
            played.matched = matched(items, pending.matches().map_err(failed)?.rows());
        }
        Ok(PlayedPart { part, receipt: held.receipt, matches: held.matches })
    }
}

/// Where a part is played.
struct Seat<'d, 'r> {
    ticket: &'r Ticket,
    part: u32,
    table: AttemptContext<'d, 'r>,
}

impl<'d> Seat<'d, '_> {
    /// Attempts until one comes to its end. `attempts` counts those in which the partner may have learnt something.
    fn play(
        &self,
        attempts: &mut u32,
        links: &mut dyn Links,
        rng: &mut dyn CryptoRng,
    ) -> Result<Attempt<'d>, Error> {
        let Ticket { agreed, job, round, wait, .. } = self.ticket;
        let header = Header { tag: job.tag, part: self.part, round: *round };
        let mut tally = PartTally::of_task(agreed.parts.count());
        let (until, tries) = (Instant::now() + *wait, 1 + tries_again(agreed));
        loop {
            let mut channel = self.connect(links, &header, until, rng)?;
            let ended = self.table.play(&SharedTally::new(&mut tally), &mut channel, header);
            let spoke = channel.traffic().payload_received > HEADER as u64;
            *attempts += u32::from(spoke);
            let error = match ended {
                Ok(Some(_)) => return tally.take(self.part).ok_or_else(|| misplaced("no attempt is there")),
                Ok(None) => return Err(round_over()),
                Err(error) => error,
            };
            let again = is_broken(&error) && *attempts < tries && Instant::now() < until;
            if !again {
                return Err(Error::session(RunPhase::Parts, &error));
            }
            drop(channel);
            self.pause()?;
        }
    }

    /// A connection to the partner. While somebody listens there and has no time, it plays other parts.
    fn connect(
        &self,
        links: &mut dyn Links,
        header: &Header,
        until: Instant,
        rng: &mut dyn CryptoRng,
    ) -> Result<Connection, Error> {
        let first = header.encode();
        let call = self.table.call(header.part, &first, &|| true);
        loop {
            match links.open(&call, rng) {
                Ok(Some(channel)) => return Ok(channel),
                Ok(None) if Instant::now() < until => self.pause()?,
                Ok(None) => return Err(round_over()),
                Err(NetError::Unreachable { last, .. }) if is_busy(&last) && Instant::now() < until => {}
                // At a relay the partner is waited for as long as it takes.
                Err(NetError::NobodyAtRelay { .. }) if Instant::now() < until => {}
                Err(error) => return Err(Error::net(RunPhase::Connect, &error)),
            }
        }
    }

    fn pause(&self) -> Result<(), Error> {
        let cancel = &self.table.play_options.options.cancel;
        cancel.sleep(PAUSE).map_err(|error| Error::session(RunPhase::Connect, &error.into()))
    }
}

/// Whether somebody may listen there who has no time. A port that nobody listens on refuses.
fn is_busy(reason: &RetryReason) -> bool {
    matches!(reason, RetryReason::NoAnswer | RetryReason::ClosedEarly | RetryReason::LeftEarly)
}

/// How often a side tries again after an attempt in which the partner spoke.
pub(super) fn tries_again(agreed: &Agreed) -> u32 {
    if shows_nothing(agreed) { TRIES_AGAIN } else { 0 }
}

/// Whether the partner learns nothing by an attempt, however it ends: a receiver that alone learns the result shows none.
pub(super) fn shows_nothing(agreed: &Agreed) -> bool {
    agreed.role() == Role::Receiver && agreed.learns == Learns::Receiver
}

/// What the digests of such a run are.
pub(super) fn width(agreed: &Agreed) -> Width {
    let parameters = &agreed.parameters;
    match encoding_for(parameters.security, parameters.level, None) {
        Encoding::Digest(width) => width,
        // Only integers of a sigma are native.
        Encoding::Native { .. } => Width::Digest256,
    }
}

/// The sum of the fingerprints of the first row of each item.
fn sum(items: &Items, fingerprints: &[i64]) -> i64 {
    let rows = (0..items.len()).filter_map(|item| items.rows_of(item).next());
    let of_row = |row: u64| fingerprints.get(row as usize).copied().unwrap_or(0);
    rows.fold(0, |sum: i64, row| sum.wrapping_add(of_row(row)))
}

/// The items of these rows, side by side. Each item has one row, and dummies have none.
fn matched(items: &Items, rows: &[u64]) -> Vec<u8> {
    let wanted: HashSet<u64> = rows.iter().copied().collect();
    let mut bytes = Vec::with_capacity(rows.len() * items.width());
    for item in 0..items.len() {
        if items.rows_of(item).any(|row| wanted.contains(&row)) {
            bytes.extend_from_slice(items.get(item));
        }
    }
    bytes
}

fn round_over() -> Error {
    let remedy = "nothing has to be done: the part is played in another round if it has to be";
    let message = "the round of this part is over".into();
    Error { side: Side::Both, phase: RunPhase::Parts, kind: Kind::Partner, message, remedy: remedy.into() }
}

/// The engine has given a task what does not belong to its part.
fn misplaced(message: impl Into<Text>) -> Error {
    let remedy = "give every part's rows to that part's task alone; {nothing was written here}";
    Error { kind: Kind::Internal, phase: RunPhase::Parts, ..Error::usage(message, remedy) }
}

fn ours(error: &ItemsError) -> Error {
    misplaced(format!("the items of a part cannot be taken: {error}"))
}
