//! A party at a relay: from a connected socket to the bare connection with the partner.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rustls::Connection as TlsConnection;

use super::Times;
use super::records::{Records, handshake, put_out, say, take_in};
use super::wire::{Join, Reply, Sign};
use crate::error::{NetError, Refusal, RetryReason};
use crate::establish::POLL;
use crate::establish::handshake::Line;
use crate::establish::tls::{RELAY_ALPN, Role, Tls};
use crate::identity::PublicKey;

/// Why a relay did not lead to the partner.
#[derive(Debug)]
pub(crate) enum JoinError {
    /// It has another key.
    OtherKey(PublicKey),
    /// It is no relay, or does not keep to the protocol.
    NotARelay,
    /// It gives no service.
    Refused(Refusal),
    /// The partner did not come in time.
    Nobody,
    /// The round of the part is over, or nobody is waited for any more.
    Closed,
    /// The relay did not answer, or the connection to it broke.
    Lost(RetryReason),
    /// We were told to stop.
    Stopped,
    /// A fault of ours.
    Ours(NetError),
}

impl From<io::Error> for JoinError {
    fn from(error: io::Error) -> Self {
        let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if reason.is_some() || error.kind() == ErrorKind::InvalidData {
            return Self::NotARelay;
        }
        Self::Lost(RetryReason::from(&error))
    }
}

/// What ends a wait at a relay.
#[derive(Clone, Copy)]
pub(crate) struct Until<'a> {
    /// Time, which ends the wait for the partner.
    pub(crate) time: Instant,
    /// Ends everything.
    pub(crate) stop: &'a dyn Fn() -> bool,
    /// Asked when the relay has proven its key: whether this connection is the one to join with.
    pub(crate) wins: &'a dyn Fn() -> bool,
    /// Its end is that of the wait for the partner.
    pub(crate) wanted: &'a dyn Fn() -> bool,
}

/// Joins at the relay at the other end of `socket`, and waits there for the partner. Then the socket is bare, and the next
/// byte in it is the partner's. `waits` is called once the relay says that the partner is not there yet.
pub(crate) fn join(
    socket: &TcpStream,
    tls: &Tls,
    join: &Join,
    times: &Times,
    until: &Until<'_>,
    waits: &mut dyn FnMut(),
) -> Result<(), JoinError> {
    let deadline = until.time.min(Instant::now() + times.handshake);
    let (mut client, presented) = Client::new((socket, tls), deadline, until.stop)?;
    let outcome = client.greet(join, until.wins).and_then(|()| client.wait(join, times, until, waits));
    let outcome = outcome.and_then(|()| {
        client.line.deadline = Instant::now() + 2 * times.handshake;
        client.hand_over()
    });
    outcome.map_err(|trouble| judged(trouble, tls, presented.get(), until.stop))
}

/// What a trouble with the relay is, given the key that it has presented.
fn judged(
    trouble: JoinError,
    tls: &Tls,
    presented: Option<&PublicKey>,
    stop: &dyn Fn() -> bool,
) -> JoinError {
    match (presented, trouble) {
        _ if stop() => JoinError::Stopped,
        (Some(key), JoinError::NotARelay) if !tls.peers().contains(key) => JoinError::OtherKey(*key),
        (_, trouble) => trouble,
    }
}

/// A grant that is open at the relay at the other end of a socket.
pub(crate) struct Held<'a> {
    client: Client<'a>,
    presented: Arc<OnceLock<PublicKey>>,
    tls: &'a Tls,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Held<'a> {
    /// Asks for the grant, and waits until the relay says that it is open.
    pub(crate) fn open(
        socket: &'a TcpStream,
        tls: &'a Tls,
        join: &Join,
        times: &Times,
        stop: &'a dyn Fn() -> bool,
        wins: &dyn Fn() -> bool,
    ) -> Result<Self, JoinError> {
        let (client, presented) = Client::new((socket, tls), Instant::now() + times.handshake, stop)?;
        let mut held = Self { client, presented, tls, stop };
        let opened = held.client.greet(join, wins).and_then(|()| {
            while !held.client.hear_wait()? {
                if held.client.next()? {
                    return Err(JoinError::Lost(RetryReason::ClosedEarly));
                }
            }
            Ok(())
        });
        match opened {
            Ok(()) => Ok(held),
            Err(trouble) => Err(judged(trouble, tls, held.presented.get(), stop)),
        }
    }

    /// Holds it open until the relay is lost, or until we are told to stop. `over` gives a round that is over and of which the
    /// relay has not been told.
    pub(crate) fn hold(&mut self, times: &Times, over: &mut dyn FnMut() -> Option<u16>) -> JoinError {
        let trouble = self.client.hold(times, over).err().unwrap_or(JoinError::NotARelay);
        judged(trouble, self.tls, self.presented.get(), self.stop)
    }
}

/// A party's TLS with the relay.
struct Client<'a> {
    tls: TlsConnection,
    records: Records,
    line: Line<'a>,
    /// What the relay has said and nobody has read.
    text: Vec<u8>,
}

impl<'a> Client<'a> {
    fn new(
        (socket, tls): (&'a TcpStream, &Tls),
        deadline: Instant,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<(Self, Arc<OnceLock<PublicKey>>), JoinError> {
        let line = Line::new(socket, deadline, stop, &|_| ())?;
        let (tls, presented) = tls.connection(Role::Client).map_err(JoinError::Ours)?;
        Ok((Self { tls, records: Records::default(), line, text: Vec::new() }, presented))
    }

    fn greet(&mut self, join: &Join, wins: &dyn Fn() -> bool) -> Result<(), JoinError> {
        handshake(&mut self.tls, &mut self.records, &mut self.line, &mut self.text)?;
        if self.tls.alpn_protocol() != Some(RELAY_ALPN) {
            return Err(JoinError::NotARelay);
        }
        if !wins() {
            return Err(JoinError::Closed);
        }
        Ok(say(&mut self.tls, &join.encode(), false, &mut self.line)?)
    }

    /// The next reply that is whole.
    fn reply(&mut self) -> Result<Option<Reply>, JoinError> {
        let reply = Reply::decode(&self.text).map_err(|_| JoinError::NotARelay)?;
        Ok(reply.map(|(reply, length)| {
            self.text.drain(..length);
            reply
        }))
    }

    /// Until the relay has said PAIRED.
    fn wait(
        &mut self,
        join: &Join,
        times: &Times,
        until: &Until<'_>,
        waits: &mut dyn FnMut(),
    ) -> Result<(), JoinError> {
        let (mut heard, mut ping) = (Instant::now(), Instant::now() + times.beat);
        let mut waiting = false;
        loop {
            while let Some(reply) = self.reply()? {
                match reply {
                    Reply::Wait if std::mem::replace(&mut waiting, true) => {}
                    Reply::Wait => waits(),
                    Reply::Paired { part } if join.is_answered_by(part) => return Ok(()),
                    Reply::Closed if matches!(join, Join::Part { .. }) => return Err(JoinError::Closed),
                    Reply::Refused(refusal) => return Err(JoinError::Refused(refusal)),
                    Reply::Paired { .. } | Reply::Closed => return Err(JoinError::NotARelay),
                }
            }
            // Until its first answer the relay has no longer than a handshake may take.
            let patience = if waiting { times.silence } else { times.handshake };
            self.line.deadline = ping.min(until.time).min(Instant::now() + POLL);
            match self.next() {
                Ok(true) => return Err(JoinError::Lost(RetryReason::ClosedEarly)),
                Ok(false) => heard = Instant::now(),
                Err(error) if error.kind() != ErrorKind::TimedOut => return Err(error.into()),
                Err(_) if !(until.wanted)() => return Err(JoinError::Closed),
                Err(_) if Instant::now() >= until.time => return Err(JoinError::Nobody),
                Err(_) if heard.elapsed() >= patience => return Err(JoinError::Lost(RetryReason::NoAnswer)),
                Err(_) if Instant::now() < ping => {}
                Err(_) => {
                    self.say(Sign::Ping, times)?;
                    ping = Instant::now() + times.beat;
                }
            }
        }
    }

    /// Says and hears what keeps a grant open. It never ends well.
    fn hold(&mut self, times: &Times, over: &mut dyn FnMut() -> Option<u16>) -> Result<(), JoinError> {
        let (mut heard, mut ping) = (Instant::now(), Instant::now() + times.beat);
        loop {
            while self.hear_wait()? {}
            if let Some(round) = over() {
                self.say(Sign::Over { round }, times)?;
            }
            self.line.deadline = ping.min(Instant::now() + POLL);
            match self.next() {
                Ok(true) => return Err(JoinError::Lost(RetryReason::ClosedEarly)),
                Ok(false) => heard = Instant::now(),
                Err(error) if error.kind() != ErrorKind::TimedOut => return Err(error.into()),
                Err(_) if heard.elapsed() >= times.silence => {
                    return Err(JoinError::Lost(RetryReason::NoAnswer));
                }
                Err(_) if Instant::now() < ping => {}
                Err(_) => {
                    self.say(Sign::Ping, times)?;
                    ping = Instant::now() + times.beat;
                }
            }
        }
    }

    /// Whether the relay has said WAIT, which is all that it may say on a grant that it has not refused.
    fn hear_wait(&mut self) -> Result<bool, JoinError> {
        match self.reply()? {
            None => Ok(false),
            Some(Reply::Wait) => Ok(true),
            Some(Reply::Refused(refusal)) => Err(JoinError::Refused(refusal)),
            Some(Reply::Paired { .. } | Reply::Closed) => Err(JoinError::NotARelay),
        }
    }

    fn say(&mut self, sign: Sign, times: &Times) -> io::Result<()> {
        self.line.deadline = Instant::now() + times.handshake;
        say(&mut self.tls, &sign.encode(), false, &mut self.line)
    }

    /// close_notify of the relay, ours, and the relay's bare byte.
    fn hand_over(&mut self) -> Result<(), JoinError> {
        while !self.next()? {
            self.is_over()?;
        }
        self.is_over()?;
        self.tls.send_close_notify();
        put_out(&mut self.tls, &mut self.line)?;
        let mut bare = [0xff];
        self.line.read_exact(&mut bare)?;
        if bare == [0] { Ok(()) } else { Err(JoinError::NotARelay) }
    }

    /// Nothing is said after PAIRED.
    fn is_over(&self) -> Result<(), JoinError> {
        if self.text.is_empty() { Ok(()) } else { Err(JoinError::NotARelay) }
    }

    /// Takes in a record. Says whether it was the relay's close_notify.
    fn next(&mut self) -> io::Result<bool> {
        let record = self.records.next(&mut self.line)?;
        take_in(&mut self.tls, &record, &mut self.text)
    }
}
