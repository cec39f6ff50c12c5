//! A party at a relay: from a connected socket to the bare connection with the partner.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

use rustls::Connection as TlsConnection;

use super::Times;
use super::records::{Records, handshake, put_out, say, take_in};
use super::wire::{Join, PING, Refusal, Reply};
use crate::error::{NetError, RetryReason};
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

/// Joins at the relay at the other end of `socket`, and waits there for the partner until `until`. Then the socket is bare,
/// and the next byte in it is the partner's. `waits` is called once the relay says that the partner is not there yet.
pub(crate) fn join(
    socket: &TcpStream,
    tls: &Tls,
    join: &Join,
    times: &Times,
    until: Instant,
    stop: &dyn Fn() -> bool,
    waits: &mut dyn FnMut(),
) -> Result<(), JoinError> {
    let started = Instant::now();
    let line = Line::new(socket, until.min(started + times.handshake), stop, &|_| ())?;
    let (connection, presented) = tls.connection(Role::Client).map_err(JoinError::Ours)?;
    let mut client = Client { tls: connection, records: Records::default(), line, text: Vec::new() };
    let outcome = client.greet(join).and_then(|()| client.wait(times, until, waits)).and_then(|()| {
        client.line.deadline = Instant::now() + 2 * times.handshake;
        client.hand_over()
    });
    outcome.map_err(|trouble| match (presented.get(), trouble) {
        _ if stop() => JoinError::Stopped,
        (Some(key), JoinError::NotARelay) if !tls.peers().contains(key) => JoinError::OtherKey(*key),
        (_, trouble) => trouble,
    })
}

/// A party's TLS with the relay.
struct Client<'a> {
    tls: TlsConnection,
    records: Records,
    line: Line<'a>,
    /// What the relay has said and nobody has read.
    text: Vec<u8>,
}

impl Client<'_> {
    fn greet(&mut self, join: &Join) -> Result<(), JoinError> {
        handshake(&mut self.tls, &mut self.records, &mut self.line, &mut self.text)?;
        if self.tls.alpn_protocol() != Some(RELAY_ALPN) {
            return Err(JoinError::NotARelay);
        }
        Ok(say(&mut self.tls, &join.encode(), false, &mut self.line)?)
    }

    /// Until the relay has said PAIRED.
    fn wait(&mut self, times: &Times, until: Instant, waits: &mut dyn FnMut()) -> Result<(), JoinError> {
        let (mut heard, mut ping) = (Instant::now(), Instant::now() + times.beat);
        let mut waiting = false;
        loop {
            while let Some((reply, length)) = Reply::decode(&self.text).map_err(|_| JoinError::NotARelay)? {
                self.text.drain(..length);
                match reply {
                    Reply::Wait if std::mem::replace(&mut waiting, true) => {}
                    Reply::Wait => waits(),
                    Reply::Paired { part: 0 } => return Ok(()),
                    // This is no part, so it has neither a number nor an end of its round.
                    Reply::Paired { .. } | Reply::Closed => return Err(JoinError::NotARelay),
                    Reply::Refused(refusal) => return Err(JoinError::Refused(refusal)),
                }
            }
            // Until its first answer the relay has no longer than a handshake may take.
            let patience = if waiting { times.silence } else { times.handshake };
            self.line.deadline = ping.min(until).min(heard + patience);
            match self.next() {
                Ok(true) => return Err(JoinError::Lost(RetryReason::ClosedEarly)),
                Ok(false) => heard = Instant::now(),
                Err(error) if error.kind() != ErrorKind::TimedOut => return Err(error.into()),
                Err(_) if Instant::now() >= until => return Err(JoinError::Nobody),
                Err(_) if heard.elapsed() >= patience => return Err(JoinError::Lost(RetryReason::NoAnswer)),
                Err(_) => {
                    self.line.deadline = Instant::now() + times.handshake;
                    say(&mut self.tls, &[PING], false, &mut self.line)?;
                    ping = Instant::now() + times.beat;
                }
            }
        }
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
