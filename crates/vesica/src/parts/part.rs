//! One part, on a connection of its own, from its first bytes to its receipt.
//!
//! ```text
//!   TLS with the run's keys (ALPN `vesica-part/2`), hello
//!   u8 1 · 32 tag · u32 part · u16 round     ◄──►   the listening side names no part: 2^32-1
//!   the protocol's messages, under the sid of the attempt
//!   DONE: digests, count                     ◄──►   as in every run
//! ```

use std::sync::{Mutex, PoisonError};

use rand_core::CryptoRng;
use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_channel::{Channel, ChannelError, Digests, Fault};
use vesica_encode::items::Items;
use vesica_net::Connection;
use vesica_protocols::{Error as ProtocolError, Learns, Pending, Phase, Progress, Role};

use super::links::Links;
use super::rounds::{Book, Held, Receipt};
use super::set::{Kept, PartSet, disk};
use super::toss::Job;
use super::{Conduct, Division, PartsError};
use crate::reporter::Reporter;
use crate::session::{Agreed, SessionError};

/// What a connection of a part begins with.
const PART: u8 = 1;

/// In the place of a part's number: whichever the partner asks for.
const ANY: u32 = u32::MAX;

/// Bytes of a header.
const HEADER: usize = 1 + 32 + 4 + 2;

/// What a side says first on the connection of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    tag: [u8; 32],
    part: u32,
    round: u16,
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(PART).fixed(&self.tag).u32(self.part).u16(self.round);
        writer.into_vec()
    }

    fn recv(from: &mut Connection) -> Result<Self, SessionError> {
        let mut bytes = [0; HEADER];
        from.expect_prompt();
        from.recv_exact(&mut bytes)?;
        from.expect_within(None);
        let decode = |cause| SessionError::Decode { what: "the beginning of a part", cause };
        let mut reader = Reader::new(&bytes);
        if reader.u8().map_err(decode)? != PART {
            return Err(decode(CodecError::Invalid { what: "kind of connection" }));
        }
        let tag = reader.array().map_err(decode)?;
        Ok(Header { tag, part: reader.u32().map_err(decode)?, round: reader.u16().map_err(decode)? })
    }
}

/// Plays the parts of a round: one attempt at each.
pub(super) fn round<'d>(
    division: &'d Division<'_>,
    book: &mut Book<'d>,
    (run, links): (&mut Connection, &mut dyn Links),
    (round, missing): (u16, &[u32]),
    conduct: &Conduct<'_>,
    progress: &'d PartProgress<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<(), SessionError> {
    let mut table = Table { division, conduct, progress, round, missing };
    // Receipts on the run's connection say that the partner has ended the round.
    let wanted = || run.readable() == 0 && run.check().is_ok();
    if links.comes_here() {
        let mut open = missing.to_vec();
        while !open.is_empty() {
            match table.attempt(book, links, ANY, &wanted, rng)? {
                Some(played) => open.retain(|part| *part != played),
                None if !wanted() => break,
                None => {}
            }
        }
    } else {
        for part in missing {
            table.attempt(book, links, *part, &wanted, rng)?;
        }
    }
    Ok(run.check()?)
}

/// What every attempt of a round has in common.
struct Table<'d, 'r> {
    division: &'d Division<'d>,
    conduct: &'r Conduct<'r>,
    progress: &'d PartProgress<'d>,
    round: u16,
    missing: &'r [u32],
}

impl<'d> Table<'d, '_> {
    /// One attempt at a part, or at whichever the partner asks for; which one came to its end. None did if only its
    /// connection failed, or there was none.
    fn attempt(
        &mut self,
        book: &mut Book<'d>,
        links: &mut dyn Links,
        part: u32,
        wanted: &dyn Fn() -> bool,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<u32>, SessionError> {
        let Division { job, .. } = self.division;
        let header = Header { tag: job.tag, part, round: self.round };
        let (keys, options) = ((&job.mine, &job.theirs), &self.conduct.options);
        let met = match links.open(keys, &header.encode(), options, wanted, rng) {
            Ok(Some(met)) => met,
            Ok(None) => return Ok(None),
            Err(error) if error.fault() == Fault::Partner => return Ok(None),
            Err(error) => return Err(PartsError::from(Box::new(error)).into()),
        };
        match self.play(book, met, header, rng) {
            Ok(played) => Ok(played),
            Err(error) if is_broken(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The attempt on its connection.
    fn play(
        &self,
        book: &mut Book<'d>,
        mut channel: Connection,
        mine: Header,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<u32>, SessionError> {
        let Conduct { threads, reporter, .. } = *self.conduct;
        channel.cancel_on(reporter.cancel);
        let theirs = Header::recv(&mut channel).inspect_err(|_| channel.abort())?;
        let Some(part) = self.asked(&mine, &theirs).inspect_err(|_| channel.abort())? else {
            return Ok(None);
        };
        book.begin(part).inspect_err(|_| channel.abort())?;
        reporter.part_begins(&channel);
        let attempt = self.division.agreed.attempt(attempt_id(self.division, &channel, part));
        let held = self.held(&attempt, part, &mut channel, threads, rng);
        reporter.part_ended(&channel);
        let first = !book.holds(part);
        book.hold(part, held?);
        if first {
            reporter.part_done(part);
        }
        Ok(Some(part))
    }

    /// The protocol on the items of a part. A side whose set is on disk looks for its matches at once, since the items do
    /// not stay.
    fn held(
        &self,
        attempt: &Agreed,
        part: u32,
        channel: &mut Connection,
        threads: usize,
        rng: &mut dyn CryptoRng,
    ) -> Result<Held<'d>, SessionError> {
        let progress = self.progress;
        let files = match &self.division.set {
            PartSet::InMemory { parts, .. } => {
                let played = run_part(attempt, &parts[part as usize], channel, threads, progress, rng)?;
                return Ok(played.held(Kept::Pending));
            }
            PartSet::OnDisk { files, .. } => files,
        };
        let failed = |error| disk(Phase::Parts, &error);
        let items = files.part(part as usize, rng).map_err(failed).inspect_err(|_| channel.abort())?;
        let played = run_part(attempt, &items, channel, threads, progress, rng)?;
        let Played { receipt, matches, pending } = played;
        let kept = match pending {
            Some(pending) => Some(Kept::OnDisk(files.keep(&items, &pending.matches()?).map_err(failed)?)),
            None => None,
        };
        Ok(Held { receipt, matches, kept })
    }

    /// The part that both headers mean; none if the connection is one of an earlier round.
    fn asked(&self, mine: &Header, theirs: &Header) -> Result<Option<u32>, PartsError> {
        if theirs.tag != mine.tag {
            return Err(PartsError::Differ("run in mind"));
        }
        if theirs.round != mine.round {
            return Ok(None);
        }
        let asked = if mine.part == ANY { theirs.part } else { mine.part };
        let named_once = (mine.part == ANY) != (theirs.part == ANY);
        match named_once && self.missing.contains(&asked) {
            true => Ok(Some(asked)),
            false => Err(PartsError::Differ("part in mind")),
        }
    }
}

/// What an attempt has come to.
struct Played<'i> {
    receipt: Receipt,
    matches: u64,
    pending: Option<Pending<'i>>,
}

impl<'i> Played<'i> {
    fn held(self, kept: impl FnOnce(Pending<'i>) -> Kept<'i>) -> Held<'i> {
        Held { receipt: self.receipt, matches: self.matches, kept: self.pending.map(kept) }
    }
}

/// The protocol between two parts, its confirmation, and the receipt.
fn run_part<'i>(
    attempt: &Agreed,
    items: &'i Items,
    channel: &mut Connection,
    threads: usize,
    progress: &'i PartProgress<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Played<'i>, SessionError> {
    let pending = attempt.run(items, channel, threads, progress, None, rng)?;
    let (pending, count) = attempt.confirm_counted(pending, channel, progress)?;
    let receipt = receipt(attempt, &channel.digests(), count);
    let matches = if attempt.learns == Learns::Both { count } else { 0 };
    Ok(Played { receipt, matches, pending })
}

/// The session id of an attempt: no message of another attempt, part or run fits.
pub(super) fn attempt_id(division: &Division<'_>, channel: &Connection, part: u32) -> [u8; 32] {
    let Division { agreed, job: Job { id, .. }, .. } = division;
    let nonces = channel.nonces();
    let (receiver, sender) = match agreed.role() {
        Role::Receiver => (nonces.mine, nonces.theirs),
        Role::Sender => (nonces.theirs, nonces.mine),
    };
    let sizes = agreed.played();
    let mut hasher = blake3::Hasher::new_derive_key("vesica part v2");
    hasher.update(channel.channel_binding()).update(&receiver).update(&sender).update(id);
    hasher.update(&part.to_le_bytes());
    hasher.update(&(sizes.receiver as u64).to_le_bytes()).update(&(sizes.sender as u64).to_le_bytes());
    *hasher.finalize().as_bytes()
}

fn receipt(attempt: &Agreed, digests: &Digests, count: u64) -> Receipt {
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
fn is_broken(error: &SessionError) -> bool {
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
    /// The phase that the protocol is in.
    current: Mutex<Phase>,
}

impl<'a> PartProgress<'a> {
    pub(super) fn new(reporter: &'a Reporter<'a>) -> Self {
        PartProgress { reporter, current: Mutex::new(Phase::Parts) }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Phase> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for PartProgress<'_> {
    fn phase(&self, phase: Phase, _: u64) {
        *self.current() = phase;
        self.reporter.attribute_time(Some(phase));
    }

    fn attribute_time(&self, phase: Option<Phase>) {
        let phase = phase.unwrap_or(*self.current());
        self.reporter.attribute_time(Some(phase));
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.reporter.cancelled()
    }
}
