//! The side that goes to the partner, or to a relay: again and again, until the partner is there.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use rustix::event::{Nsecs, PollFd, PollFlags, Secs, Timespec, poll};
use socket2::{Domain, Socket, Type};

use super::handshake::{Trouble, shake_hands};
use super::tls::{Role, Tls};
use super::{
    HANDSHAKE_LIMIT, NetEvent, Opener, POLL, Patience, Unresolved, Wanted, check_form, check_loopback, hello,
    nonce, resolve,
};
use crate::connection::Connection;
use crate::error::{NetError, RetryReason};
use crate::identity::PublicKey;
use crate::relay::{self, Join, JoinError, Refusal, Times};
use crate::system;
use vesica_channel::{CancelToken, ChannelError};

pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Where a connection begins.
pub(super) struct Route<'a> {
    pub(super) text: &'a str,
    /// Whoever listens there, if it is not the partner.
    pub(super) relay: Option<AtRelay>,
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
    let mut last: Option<RetryReason> = None;
    while wanted() {
        let reason = match seeker.attempt(rng, on_event) {
            Ok(channel) => return Ok(Some(channel)),
            Err(Miss::Fatal(error)) => return Err(error),
            Err(Miss::Over) => return Ok(None),
            Err(Miss::Again(reason)) => reason,
        };
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
            return Err(seeker.in_vain(reason));
        }
    }
    Ok(None)
}

/// Why an attempt did not lead to the partner.
pub(crate) enum Miss {
    /// Nobody is there yet.
    Again(RetryReason),
    /// Trying again is of no use.
    Fatal(NetError),
    /// Nobody is waited for any more.
    Over,
}

impl From<io::Error> for Miss {
    fn from(error: io::Error) -> Self {
        Self::Again(RetryReason::from(&error))
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
    /// Tries every address that the name has now.
    fn attempt(
        &self,
        rng: &mut dyn CryptoRng,
        on_event: &mut dyn FnMut(NetEvent),
    ) -> Result<Connection, Miss> {
        let addresses = resolve(self.route.text, &self.patience).map_err(|unresolved| match unresolved {
            Unresolved::Name(cause) => self.at_relay(Miss::Again(RetryReason::Resolve(cause))),
            Unresolved::Silent => self.at_relay(Miss::Again(RetryReason::ResolverSilent)),
            Unresolved::Fatal(error) => Miss::Fatal(error),
        })?;
        for address in &addresses {
            check_loopback(self.route.text, address, self.tls.as_ref()).map_err(Miss::Fatal)?;
        }
        let mut last = RetryReason::NoAnswer;
        for address in addresses {
            on_event(NetEvent::Connecting { address });
            match self.try_address(address, nonce(rng), on_event) {
                Err(Miss::Again(reason)) => last = reason,
                outcome => return outcome,
            }
        }
        Err(Miss::Again(last))
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

    fn try_address(
        &self,
        address: SocketAddr,
        nonce: [u8; 32],
        on_event: &mut dyn FnMut(NetEvent),
    ) -> Result<Connection, Miss> {
        let deadline = Instant::now() + HANDSHAKE_LIMIT.min(self.patience.left());
        let socket = dial(address, deadline, self.patience.cancel).map_err(|miss| self.at_relay(miss))?;
        let stop = || self.patience.cancel.is_cancelled();
        let (role, deadline) = match &self.route.relay {
            None => (Role::Client, deadline),
            Some(relay) => {
                let until = Instant::now() + self.patience.left();
                let waits = &mut || on_event(NetEvent::AtRelay { relay: address });
                let ends: (&dyn Fn() -> bool, &dyn Fn() -> bool) = (&stop, self.wanted);
                relay::join(&socket, &relay.tls, &relay.join, &Times::default(), until, ends, waits)
                    .map_err(|error| judge_join(self.route.text, address, &relay.tls, error))?;
                (relay.role, Instant::now() + HANDSHAKE_LIMIT)
            }
        };
        shake_hands(&socket, role, self.tls.as_ref(), nonce, deadline, &stop, &|_| ())
            .and_then(|proven| self.opener.open(proven))
            .map_err(|trouble| self.judge(address, trouble))
    }

    /// What keeps us from the relay is told as such.
    fn at_relay(&self, miss: Miss) -> Miss {
        match (miss, &self.route.relay) {
            (Miss::Again(reason), Some(_)) => Miss::Again(RetryReason::Relay(Box::new(reason))),
            (miss, _) => miss,
        }
    }

    fn judge(&self, address: SocketAddr, trouble: Trouble) -> Miss {
        let trouble = match trouble {
            // The relay has told us that it is the partner.
            Trouble::OtherKey(_) | Trouble::RefusedUs | Trouble::NotVesica if self.route.relay.is_some() => {
                return Miss::Fatal(NetError::Mispaired { relay: self.route.text.to_owned() });
            }
            trouble => trouble,
        };
        Miss::Fatal(match (trouble, &self.tls) {
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
pub(crate) fn dial(address: SocketAddr, deadline: Instant, cancel: &CancelToken) -> Result<TcpStream, Miss> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Ok(()) => return not_itself(socket.into()),
        Err(error) if system::is_connecting(&error) => {}
        Err(error) => return Err(error.into()),
    }
    loop {
        cancel.check().map_err(|error| Miss::Fatal(error.into()))?;
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
