//! The side that goes to the partner, or to a relay: again and again, until the partner is there.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use rustix::event::{Nsecs, PollFd, PollFlags, Secs, Timespec, poll};
use socket2::{Domain, Socket, Type};

use super::at_relay::{self, Join, JoinError, Times, Until};
use super::handshake::{Proven, Trouble, shake_hands};
use super::names::{Names, Unresolved};
use super::race::{Lane, Miss, race};
use super::tls::{Role, Tls};
use super::{NetEvent, Opener, POLL, Patience, Wanted, check_form, check_loopback, hello, nonce};
use crate::connection::Connection;
use crate::error::{NetError, Refusal, RetryReason};
use crate::identity::PublicKey;
use crate::system;
use vesica_channel::{ChannelError, Fault};

pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a wrong key at one address of a name leaves hope for another address.
const HOPE: Duration = Duration::from_secs(10);

/// Where a connection begins.
pub(super) struct Route<'a> {
    pub(super) text: &'a str,
    /// Whoever listens there, if it is not the partner.
    pub(super) relay: Option<AtRelay>,
    /// Where `text` leads.
    pub(super) names: &'a Names,
    /// How long the first attempt at an address may take.
    pub(super) limit: Duration,
}

/// What leads from a relay to the partner.
pub(super) struct AtRelay {
    pub(super) tls: Tls,
    pub(super) join: Join,
    /// Which end of TLS we are with the partner.
    pub(super) role: Role,
}

impl AtRelay {
    /// To a partner whose key on the connection is `theirs`, where ours is `ours`: neither listens, so the smaller key is the
    /// TLS client.
    pub(super) fn new(tls: Tls, join: Join, ours: &PublicKey, theirs: &PublicKey) -> Self {
        let role = if ours < theirs { Role::Client } else { Role::Server };
        Self { tls, join, role }
    }
}

/// Refuses what cannot be connected to.
pub(super) fn check_target(text: &str) -> Result<(), NetError> {
    check_form(text)?;
    if text.rsplit_once(':').is_some_and(|(_, port)| port.parse() == Ok(0_u16)) {
        return Err(NetError::BadAddress { address: text.to_owned(), why: "port 0 is for listening only" });
    }
    Ok(())
}

/// Connects; none where the partner is no longer wanted, or a relay says that nobody comes any more.
pub(super) fn connect(
    route: &Route<'_>,
    tls: Option<Tls>,
    opener: &Opener,
    wanted: Wanted<'_>,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Option<Connection>, NetError> {
    check_target(route.text)?;
    let patience = Patience::new(&opener.options);
    let seeker = Seeker { route, tls, patience, opener, wanted };
    let mut pause = FIRST_PAUSE;
    let mut limit = route.limit;
    let mut last: Option<RetryReason> = None;
    let mut doubts = Doubts::default();
    while wanted() {
        let reason = match seeker.attempt(limit, &mut doubts, rng, on_event) {
            Ok(channel) => return Ok(Some(channel)),
            Err(Miss::Fatal(error)) => return Err(error),
            Err(Miss::Over) => return Ok(None),
            Err(Miss::Again(reason)) => reason,
        };
        if reason.says_little() {
            // Behind a long round trip no handshake ends in the usual time.
            limit = (limit * 2).min(seeker.patience.silence);
        }
        // An attempt for which the time did not suffice says less than the one before.
        let cut_short = seeker.patience.left().is_zero() && reason.says_little();
        let reason = last.take().filter(|_| cut_short).unwrap_or(reason);
        last = Some(reason.clone());
        let left = seeker.patience.left();
        if !left.is_zero() {
            // Between half the pause and all of it: two sides that retry do not keep step.
            let after = pause.mul_f64(0.5 + f64::from(rng.next_u32()) / f64::from(u32::MAX) / 2.0).min(left);
            on_event(NetEvent::Retrying { reason: reason.clone(), after });
            opener.options.cancel.sleep(after)?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if seeker.patience.left().is_zero() {
            return Err(doubts.of_keys.map_or_else(|| seeker.in_vain(reason), |(error, _)| error));
        }
    }
    Ok(None)
}

/// What attempts have found that is not the partner.
#[derive(Default)]
pub(crate) struct Doubts {
    /// The last one heard what is not our protocol's.
    garbled: bool,
    /// Somebody has another key, or wants another one than ours, while another address has not led anywhere: what, and since
    /// when.
    of_keys: Option<(NetError, Instant)>,
}

impl Doubts {
    /// What the misses at all addresses of a name come to. A stranger at one address does not end the search, since another
    /// may be the partner's who has not started yet. Where a key is wrong that is less likely, and ends it after a while.
    pub(crate) fn weigh(&mut self, misses: Vec<(SocketAddr, Miss)>) -> Miss {
        let (mut strangers, mut reasons) = (Vec::new(), Vec::new());
        for (address, miss) in misses {
            match miss {
                Miss::Fatal(error) if error.fault() == Fault::Identity => strangers.push((address, error)),
                Miss::Again(reason) => reasons.push((address, reason)),
                end => return end,
            }
        }
        let told = strangers.iter().map(|(address, error)| format!("at {address}: {error}"));
        let told: Vec<_> =
            told.chain(reasons.iter().map(|(at, reason)| format!("at {at}: {reason}"))).collect();
        let worst = strangers.into_iter().map(|(_, error)| error).max_by_key(telling);
        let of_keys = worst.clone().filter(|error| telling(error) > 0);
        match (worst, reasons.is_empty()) {
            (None, _) => {
                *self = Self::default();
                let little = reasons.iter().position(|(_, reason)| !reason.says_little());
                let said = little.or_else(|| reasons.len().checked_sub(1));
                let reason = said.map(|place| reasons.swap_remove(place).1);
                Miss::Again(reason.unwrap_or(RetryReason::NoAnswer))
            }
            // One damaged byte may look like this.
            (Some(error), true) if of_keys.is_none() && !std::mem::replace(&mut self.garbled, true) => {
                Miss::Again(RetryReason::Stranger(error.to_string()))
            }
            (Some(error), true) => Miss::Fatal(error),
            (Some(_), false) => {
                let since = self.of_keys.take().map_or_else(Instant::now, |(_, since)| since);
                self.of_keys = of_keys.map(|error| (error, since));
                match &self.of_keys {
                    Some((error, since)) if since.elapsed() >= HOPE => Miss::Fatal(error.clone()),
                    _ => Miss::Again(RetryReason::Stranger(told.join("; "))),
                }
            }
        }
    }
}

/// How much an error tells of who is there: the more of our protocol was spoken, the more.
fn telling(error: &NetError) -> u8 {
    match error {
        NetError::NotVesica { .. } | NetError::NotARelay { .. } => 0,
        NetError::WrongPeer { .. } | NetError::WrongRelay { .. } => 1,
        _ => 2,
    }
}

struct Seeker<'a> {
    route: &'a Route<'a>,
    tls: Option<Tls>,
    patience: Patience<'a>,
    opener: &'a Opener,
    wanted: Wanted<'a>,
}

impl Seeker<'_> {
    /// Tries every address that the name has now, each for no longer than `limit`.
    fn attempt(
        &self,
        limit: Duration,
        doubts: &mut Doubts,
        rng: &mut dyn CryptoRng,
        on_event: &mut dyn FnMut(NetEvent),
    ) -> Result<Connection, Miss> {
        let Route { text, names, .. } = *self.route;
        let addresses = names.addresses(text, &self.patience).map_err(|unresolved| match unresolved {
            Unresolved::Name(cause) => self.at_relay(Miss::Again(RetryReason::Resolve(cause))),
            Unresolved::Silent => self.at_relay(Miss::Again(RetryReason::ResolverSilent)),
            Unresolved::Fatal(error) => Miss::Fatal(error),
        })?;
        for address in &addresses {
            check_loopback(text, address, self.tls.as_ref()).map_err(Miss::Fatal)?;
        }
        let nonces: Vec<_> = addresses.iter().map(|_| nonce(rng)).collect();
        let relay = self.route.relay.as_ref();
        let line = Line { text, relay, tls: self.tls.as_ref(), patience: &self.patience, limit };
        let opener = self.opener;
        let met = race(&addresses, (self.patience.cancel, self.wanted), on_event, &|lane| {
            let nonce = nonces.get(lane.number).copied().unwrap_or_default();
            let proven = line.prove(lane, nonce)?;
            opener.open(proven).map_err(|trouble| line.judge(lane.address, trouble))
        });
        self.patience.cancel.check().map_err(|error| Miss::Fatal(error.into()))?;
        let channel = met.map_err(|misses| doubts.weigh(misses))?;
        if let Some(address) = channel.peer_address() {
            names.met(text, address);
        }
        Ok(channel)
    }

    /// What keeps us from the relay is told as such.
    fn at_relay(&self, miss: Miss) -> Miss {
        at_relay(self.route.relay.as_ref(), miss)
    }

    /// The error when all time is over.
    fn in_vain(&self, last: RetryReason) -> NetError {
        let (address, waited) = (self.route.text.to_owned(), self.patience.silence);
        match (&self.route.relay, last) {
            (None, last) => NetError::Unreachable { address, waited, last },
            (Some(_), RetryReason::Relay(last)) => {
                NetError::RelayUnreachable { relay: address, waited, last: *last }
            }
            (Some(_), last) => NetError::NobodyAtRelay { relay: address, waited, last },
        }
    }
}

/// What keeps us from a relay is told as such.
fn at_relay(relay: Option<&AtRelay>, miss: Miss) -> Miss {
    match (miss, relay) {
        (Miss::Again(reason), Some(_)) => Miss::Again(RetryReason::Relay(Box::new(reason))),
        (miss, _) => miss,
    }
}

/// The way from an address to whoever has proven to be the partner.
struct Line<'a> {
    text: &'a str,
    relay: Option<&'a AtRelay>,
    tls: Option<&'a Tls>,
    patience: &'a Patience<'a>,
    limit: Duration,
}

impl Line<'_> {
    /// At a relay the attempt wins as soon as that has proven its key: before we join there, so that we join once.
    fn prove(&self, lane: &Lane<'_>, nonce: [u8; 32]) -> Result<Proven, Miss> {
        let deadline = Instant::now() + self.limit.min(self.patience.left());
        let stop = || lane.stopped();
        let socket = dial(lane.address, deadline, &stop).map_err(|miss| at_relay(self.relay, miss))?;
        let (role, deadline) = match self.relay {
            None => (Role::Client, deadline),
            Some(relay) => {
                let until = Until {
                    time: Instant::now() + self.patience.left(),
                    stop: &stop,
                    wins: &|| lane.wins(),
                    wanted: &|| lane.wanted(),
                };
                let waits = &mut || lane.tell(NetEvent::AtRelay { relay: lane.address });
                let times = Times { handshake: self.limit, ..Times::default() };
                at_relay::join(&socket, &relay.tls, &relay.join, &times, &until, waits)
                    .map_err(|error| judge_join(self.text, lane.address, &relay.tls, error))?;
                (relay.role, Instant::now() + self.limit)
            }
        };
        let proven = shake_hands(&socket, role, self.tls, nonce, deadline, &stop, &|_| ())
            .map_err(|trouble| self.judge(lane.address, trouble))?;
        if lane.wins() { Ok(proven) } else { Err(Miss::Over) }
    }

    fn judge(&self, address: SocketAddr, trouble: Trouble) -> Miss {
        let trouble = match trouble {
            // The relay has told us that it is the partner.
            Trouble::OtherKey(_) | Trouble::RefusedUs | Trouble::NotVesica | Trouble::Busy
                if self.relay.is_some() =>
            {
                return Miss::Fatal(NetError::Mispaired { relay: self.text.to_owned() });
            }
            trouble => trouble,
        };
        Miss::Fatal(match (trouble, self.tls) {
            (Trouble::OtherKey(presented), Some(tls)) => match tls.peers() {
                [expected, ..] => NetError::WrongPeer { expected: *expected, presented },
                [] => NetError::NotVesica { address },
            },
            (Trouble::RefusedUs, Some(tls)) => NetError::RefusedByPeer { ours: *tls.ours() },
            (Trouble::OtherKey(_) | Trouble::RefusedUs | Trouble::NotVesica, _) => {
                NetError::NotVesica { address }
            }
            (Trouble::Version(theirs), _) => NetError::VersionMismatch { mine: hello::VERSION, theirs },
            (Trouble::Stopped, _) => ChannelError::Cancelled.into(),
            (Trouble::Ours(error), _) => error,
            (Trouble::Busy, _) => return Miss::Again(RetryReason::AnotherRun),
            (Trouble::TooSlow, _) => return Miss::Again(RetryReason::NoAnswer),
            (Trouble::ClosedEarly, _) => return Miss::Again(RetryReason::ClosedEarly),
            (Trouble::LeftEarly, _) => return Miss::Again(RetryReason::LeftEarly),
            (Trouble::Io(reason), _) => return Miss::Again(reason),
        })
    }
}

/// What keeps us from going through a relay, as what it is told.
pub(crate) fn judge_join(relay: &str, address: SocketAddr, tls: &Tls, error: JoinError) -> Miss {
    let again = |reason| Miss::Again(RetryReason::Relay(Box::new(reason)));
    let relay = relay.to_owned();
    Miss::Fatal(match (error, tls.peers()) {
        (JoinError::OtherKey(presented), [expected, ..]) => {
            NetError::WrongRelay { relay, expected: *expected, presented }
        }
        (JoinError::NotARelay | JoinError::OtherKey(_), _) => NetError::NotARelay { address },
        (JoinError::Refused(Refusal::Busy), _) => return again(RetryReason::Busy),
        // Whoever holds it may be on its way back to a relay that was started again.
        (JoinError::Refused(Refusal::NotGranted), _) => return again(RetryReason::NotGranted),
        (JoinError::Refused(refusal), _) => NetError::RefusedByRelay { relay, ours: *tls.ours(), refusal },
        (JoinError::Nobody, _) => return Miss::Again(RetryReason::NotThere),
        (JoinError::Closed, _) => return Miss::Over,
        (JoinError::Lost(reason), _) => return again(reason),
        (JoinError::Stopped, _) => ChannelError::Cancelled.into(),
        (JoinError::Ours(error), _) => error,
    })
}

/// A TCP connection, made without blocking, so that it can be given up at any moment.
pub(crate) fn dial(
    address: SocketAddr,
    deadline: Instant,
    stop: &dyn Fn() -> bool,
) -> Result<TcpStream, Miss> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Ok(()) => return not_itself(socket.into()),
        Err(error) if system::is_connecting(&error) => {}
        Err(error) => return Err(error.into()),
    }
    loop {
        if stop() {
            return Err(Miss::Fatal(ChannelError::Cancelled.into()));
        }
        if Instant::now() >= deadline {
            return Err(Miss::Again(RetryReason::NoAnswer));
        }
        let mut interest = [PollFd::new(&socket, PollFlags::OUT)];
        match poll(&mut interest, Some(&timespec(POLL))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        return match socket.take_error()? {
            Some(error) => Err(error.into()),
            None => not_itself(socket.into()),
        };
    }
}

/// A port that nobody listens on may be given to this very connection, which then meets itself.
fn not_itself(socket: TcpStream) -> Result<TcpStream, Miss> {
    match socket.local_addr()? == socket.peer_addr()? {
        true => Err(Miss::Again(RetryReason::Refused)),
        false => Ok(socket),
    }
}

pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as Secs, tv_nsec: duration.subsec_nanos() as Nsecs }
}

#[cfg(test)]
mod tests;
