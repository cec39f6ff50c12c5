//! One part, on a connection of its own, from its first bytes to its receipt.
//!
//! ```text
//!   TLS with the run's keys (ALPN `vesica-part/2`), hello
//!   u8 1 · 32 tag · u32 part · u16 round     ◄──►   a process that listens, or that follows at a relay, names none: 2^32-1
//!   the protocol's messages, under the sid of the attempt
//!   DONE: digests, count                     ◄──►   as in every run
//! ```

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rand_core::CryptoRng;
use vesica_channel::codec::{Reader, Writer};
use vesica_channel::{Channel, ChannelError, Digests, Fault};
use vesica_encode::items::Items;
use vesica_net::{Connection, NetError, Nonces, PartCall};
use vesica_protocols::{Error as ProtocolError, Learns, Pending, Phase, Progress, Role, Sizes};

use super::attempts::{Seed, SharedTally};
use super::options::{PlayOptions, check_kind};
use super::partitioned::PartitionedRun;
use super::rounds::{Attempt, PartDigest};
use super::set::{Kept, PartSet, disk};
use super::toss::Job;
use crate::session::links::Links;
use crate::session::reporter::Reporter;
use crate::session::{Agreed, Confirmation, PART, SessionError, Workers};
use crate::words::error::RunPhase;
use crate::words::parts::PartsError;

/// In the place of a part's number: whichever the partner asks for; a relay knows it, too.
pub(super) const ANY: u32 = u32::MAX;

/// Bytes of a header.
pub(super) const HEADER: usize = 1 + 32 + 4 + 2;

/// What a side says first on the connection of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) tag: [u8; 32],
    pub(super) part: u32,
    pub(super) round: u16,
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(PART).fixed(&self.tag).u32(self.part).u16(self.round);
        writer.into_vec()
    }

    pub(super) fn recv(from: &mut Connection) -> Result<Self, SessionError> {
        let mut bytes = [0; HEADER];
        from.expect_prompt();
        from.recv_exact(&mut bytes)?;
        from.expect_within(None);
        let what = "the beginning of a part";
        let decode = |cause| SessionError::Decode { what, cause };
        let mut reader = Reader::new(&bytes);
        check_kind(reader.u8().map_err(decode)?, PART, what)?;
        let tag = reader.array().map_err(decode)?;
        Ok(Header { tag, part: reader.u32().map_err(decode)?, round: reader.u16().map_err(decode)? })
    }
}

/// What every attempt of a round has in common.
pub(super) struct AttemptContext<'d, 'r> {
    pub(super) partitioned: &'d PartitionedRun<'d>,
    pub(super) play_options: &'r PlayOptions<'r>,
    pub(super) progress: &'d PartProgress<'d>,
    pub(super) round: u16,
    pub(super) missing: &'r [u32],
    /// Threads of one attempt.
    pub(super) threads: usize,
    /// What the randomness of attempts is made from.
    pub(super) seed: Seed,
}

impl<'d> AttemptContext<'d, '_> {
    /// What this side says first on a connection for that part.
    pub(super) fn header(&self, part: u32) -> Header {
        Header { tag: self.partitioned.job.tag, part, round: self.round }
    }

    /// The run has failed. Where it is not to be mended, none of its parts goes on.
    pub(super) fn stop_if_for_cores(&self) {
        if self.partitioned.agreed.for_cores {
            self.progress.stop();
        }
    }

    /// Which connection that is; `first` is its [`header`](Self::header).
    pub(super) fn call<'a>(
        &'a self,
        part: u32,
        first: &'a [u8],
        wanted: &'a dyn Fn() -> bool,
    ) -> PartCall<'a> {
        let (job, options) = (&self.partitioned.job, &self.play_options.options);
        let keys = Some((&job.mine, &job.theirs));
        PartCall { keys, tag: job.tag, part, round: self.round, first, options, wanted }
    }

    /// One attempt at a part, or at whichever the partner asks for; which one came to its end. None did if only its
    /// connection failed, or there was none.
    pub(super) fn attempt(
        &self,
        tally: &SharedTally<'d, '_>,
        links: &dyn Links,
        part: u32,
        wanted: &dyn Fn() -> bool,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<u32>, SessionError> {
        let link = |error| self.partitioned.link_failed(error);
        links.check().map_err(link)?;
        match links.open(&self.call(part, &self.header(part).encode(), wanted), rng) {
            Ok(Some(mut met)) => self.attempt_over(tally, &mut met, part),
            Ok(None) => Ok(None),
            // All the time for waiting is over, and other parts would take as long.
            Err(error @ NetError::Unreachable { .. }) => Err(link(error).into()),
            Err(error) if error.fault() == Fault::Partner => Ok(None),
            Err(error) if error.fault() == Fault::Identity => {
                Err(PartsError::Elsewhere(Box::new(error)).into())
            }
            Err(error) => Err(link(error).into()),
        }
    }

    /// One attempt over a connection that is there.
    pub(super) fn attempt_over(
        &self,
        tally: &SharedTally<'d, '_>,
        met: &mut Connection,
        part: u32,
    ) -> Result<Option<u32>, SessionError> {
        match self.play(tally, met, self.header(part)) {
            Ok(played) => Ok(played),
            // Another attempt would not be allowed, so that nothing comes of the other parts.
            Err(error) if self.partitioned.agreed.for_cores && self.may_have_shown(met) => Err(error),
            Err(error) if is_broken(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The attempt on its connection.
    pub(super) fn play(
        &self,
        tally: &SharedTally<'d, '_>,
        channel: &mut Connection,
        mine: Header,
    ) -> Result<Option<u32>, SessionError> {
        let reporter = self.play_options.reporter;
        channel.cancel_on(reporter.cancel);
        let theirs = Header::recv(channel).inspect_err(|_| channel.abort())?;
        let asked = asked(&mine, &theirs, self.missing).inspect_err(|_| channel.abort())?;
        let Some(part) = asked else {
            return Ok(None);
        };
        if channel.check().is_err() {
            return Ok(None);
        }
        let number = tally.lock().begin(part).inspect_err(|_| channel.abort())?;
        let counted = reporter.part_begins(channel);
        let attempt = self.partitioned.agreed.attempt(attempt_id(self.partitioned, channel, part));
        let workers = Workers { threads: self.threads, device: self.play_options.device.clone() };
        let held = self.held(&attempt, part, channel, workers, &mut self.seed.of_attempt(part, number));
        reporter.part_ended(counted, channel);
        if !self.may_have_shown(channel) {
            tally.lock().show_nothing(part);
        }
        let held = held?;
        let first = {
            let mut tally = tally.lock();
            let first = !tally.holds(part);
            tally.hold(part, held);
            first
        };
        if first {
            reporter.part_done(part);
        }
        Ok(Some(part))
    }

    /// Whether the partner may have learnt something by what this side sent. A receiver that alone learns shows nothing, and
    /// what another side sends shows something only once the partner has sent what it asks about.
    pub(super) fn may_have_shown(&self, channel: &Connection) -> bool {
        let agreed = self.partitioned.agreed;
        let alone = agreed.role() == Role::Receiver && agreed.learns == Learns::Receiver;
        !alone && channel.traffic().payload_received > HEADER as u64
    }

    /// The protocol on the items of a part. A side whose set is on disk looks for its matches at once, since the items do
    /// not stay.
    fn held(
        &self,
        attempt: &Agreed,
        part: u32,
        channel: &mut Connection,
        workers: Workers,
        rng: &mut dyn CryptoRng,
    ) -> Result<Attempt<'d>, SessionError> {
        let progress = self.progress;
        let in_memory = |items, channel: &mut Connection, rng: &mut dyn CryptoRng| {
            run_part(attempt, items, channel, workers.clone(), progress, rng)
                .map(|played| played.held(Kept::Pending))
        };
        let files = match &self.partitioned.set {
            PartSet::InMemory { parts, .. } => return in_memory(&parts[part as usize], channel, rng),
            PartSet::One(items) => return in_memory(items, channel, rng),
            PartSet::OnDisk { files, .. } => files,
            PartSet::Elsewhere => return Err(PartsError::Differ("part in mind").into()),
        };
        let failed = |error| disk(RunPhase::Parts, &error);
        let items = files.part(part as usize, rng).map_err(failed).inspect_err(|_| channel.abort())?;
        let played = run_part(attempt, &items, channel, workers, progress, rng)?;
        let Played { receipt, matches, pending } = played;
        let kept = match pending {
            Some(pending) => Some(Kept::OnDisk(files.keep(&items, &pending.matches()?).map_err(failed)?)),
            None => None,
        };
        Ok(Attempt { receipt, matches, kept })
    }
}

/// The part that both headers mean, of those that are played; none if the connection is one of another round.
pub(super) fn asked(mine: &Header, theirs: &Header, played: &[u32]) -> Result<Option<u32>, PartsError> {
    if theirs.tag != mine.tag {
        return Err(PartsError::Differ("run in mind"));
    }
    if theirs.round != mine.round {
        return Ok(None);
    }
    let asked = if mine.part == ANY { theirs.part } else { mine.part };
    // Two engines name it both.
    let agreed = theirs.part == asked || theirs.part == ANY;
    match agreed && played.contains(&asked) {
        true => Ok(Some(asked)),
        false => Err(PartsError::Differ("part in mind")),
    }
}

/// What an attempt has come to.
struct Played<'i> {
    receipt: PartDigest,
    matches: u64,
    pending: Option<Pending<'i>>,
}

impl<'i> Played<'i> {
    fn held(self, kept: impl FnOnce(Pending<'i>) -> Kept<'i>) -> Attempt<'i> {
        Attempt { receipt: self.receipt, matches: self.matches, kept: self.pending.map(kept) }
    }
}

/// The protocol between two parts, its confirmation, and the receipt.
fn run_part<'i>(
    attempt: &Agreed,
    items: &'i Items,
    channel: &mut Connection,
    workers: Workers,
    progress: &'i PartProgress<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Played<'i>, SessionError> {
    let pending = attempt.run(items, channel, workers, progress, None, rng)?;
    let confirmed = attempt.confirm(pending, channel, &|| progress.enter(RunPhase::Confirm))?;
    let Confirmation { pending, count, .. } = confirmed;
    let receipt = part_digest(attempt, &channel.digests(), count);
    let matches = if attempt.learns == Learns::Both { count } else { 0 };
    Ok(Played { receipt, matches, pending })
}

/// The session id of an attempt: no message of another attempt, part or run fits.
pub(super) fn attempt_id(partitioned: &PartitionedRun<'_>, channel: &Connection, part: u32) -> [u8; 32] {
    let PartitionedRun { agreed, job: Job { attempts_id, .. }, .. } = partitioned;
    let connection = (channel.channel_binding(), channel.nonces());
    hash_attempt(agreed.role(), connection, attempts_id, part, agreed.played())
}

/// What that id hashes, the receiver's fields first.
pub(super) fn hash_attempt(
    role: Role,
    (exporter, nonces): (&[u8; 64], Nonces),
    attempts_id: &[u8; 32],
    part: u32,
    sizes: Sizes,
) -> [u8; 32] {
    let (receiver, sender) = match role {
        Role::Receiver => (nonces.mine, nonces.theirs),
        Role::Sender => (nonces.theirs, nonces.mine),
    };
    let mut hasher = blake3::Hasher::new_derive_key("vesica part v2");
    hasher.update(exporter).update(&receiver).update(&sender).update(attempts_id);
    hasher.update(&part.to_le_bytes());
    hasher.update(&(sizes.receiver as u64).to_le_bytes()).update(&(sizes.sender as u64).to_le_bytes());
    *hasher.finalize().as_bytes()
}

pub(super) fn part_digest(attempt: &Agreed, digests: &Digests, count: u64) -> PartDigest {
    let (from_receiver, from_sender) = match attempt.role() {
        Role::Receiver => (digests.sent, digests.received),
        Role::Sender => (digests.received, digests.sent),
    };
    let mut hasher = blake3::Hasher::new_derive_key("vesica receipt v2");
    hasher.update(attempt.sid()).update(&from_receiver).update(&from_sender).update(&count.to_le_bytes());
    *hasher.finalize().as_bytes()
}

/// Whether only the connection failed, so that the part can be played again. An abort is no more than that: a partner whose
/// check has failed ends the whole run, on the run's connection.
pub(super) fn is_broken(error: &SessionError) -> bool {
    match error {
        SessionError::Channel(error) | SessionError::Protocol(ProtocolError::Channel(error)) => {
            matches!(
                error,
                ChannelError::Closed
                    | ChannelError::PeerAborted
                    | ChannelError::Silent { .. }
                    | ChannelError::Unanswered { .. }
            )
        }
        _ => false,
    }
}

/// Tells the run's reporter where the time of a part goes. What counts as progress of the run are whole parts.
pub(crate) struct PartProgress<'a> {
    reporter: &'a Reporter<'a>,
    /// The phase that the part is in.
    current: Mutex<RunPhase>,
    /// Whether the run has failed, so that nothing comes of its parts.
    stopped: AtomicBool,
}

impl<'a> PartProgress<'a> {
    pub(super) fn new(reporter: &'a Reporter<'a>) -> Self {
        PartProgress { reporter, current: Mutex::new(RunPhase::Parts), stopped: AtomicBool::new(false) }
    }

    /// Ends the protocols of all parts that are played.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    fn enter(&self, phase: RunPhase) {
        *self.current() = phase;
        self.reporter.attribute(Some(phase));
    }

    fn current(&self) -> std::sync::MutexGuard<'_, RunPhase> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for PartProgress<'_> {
    fn phase(&self, phase: Phase, _: u64) {
        self.enter(RunPhase::Protocol(phase));
    }

    fn attribute_time(&self, phase: Option<Phase>) {
        let phase = phase.map_or(*self.current(), RunPhase::Protocol);
        self.reporter.attribute(Some(phase));
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.reporter.cancelled() || self.stopped.load(Relaxed)
    }
}
