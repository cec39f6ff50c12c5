//! The handshake on one fresh TCP connection: TLS where asked for, then the hello.
//!
//! It runs with a deadline and can be stopped; for that the socket has short timeouts until it is over.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustls::{AlertDescription, Connection as TlsConnection};

use super::hello::{self, Failure};
use super::tls::{ALPN, PART_ALPN, Role, Tls};
use super::{POLL, prepare};
use crate::connection::Nonces;
use crate::error::{NetError, RetryReason};
use crate::identity::PublicKey;
use crate::memory::no_binding;

/// How long a side that turns the other away waits for it to go, so that its last words are not lost to a reset.
const FAREWELL: Duration = Duration::from_millis(500);

/// A connection whose other side is who it should be.
pub(crate) struct Proven {
    pub(super) socket: TcpStream,
    pub(super) tls: Option<TlsConnection>,
    pub(super) peer: SocketAddr,
    pub(super) peer_key: Option<PublicKey>,
    pub(super) nonces: Nonces,
    pub(super) channel_binding: [u8; 64],
    pub(super) sent: usize,
    pub(super) received: usize,
}

/// Why a connection is not the one we want.
#[derive(Debug)]
pub(crate) enum Trouble {
    OtherKey(PublicKey),
    RefusedUs,
    NotVesica,
    /// Whoever is there plays the parts of a run, and this is to be the beginning of another one.
    Busy,
    Version(u16),
    TooSlow,
    ClosedEarly,
    /// It is the partner, and the connection ended before its first message.
    LeftEarly,
    /// We were told to stop.
    Stopped,
    Io(RetryReason),
    Ours(NetError),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match RetryReason::from(&error) {
            RetryReason::NoAnswer => Self::TooSlow,
            RetryReason::ClosedEarly => Self::ClosedEarly,
            other => Self::Io(other),
        }
    }
}

/// How far a visitor has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It has said nothing whole yet.
    Silent,
    /// It has sent a whole ClientHello, or in plaintext a hello.
    Greeted,
    /// It has proven the expected key, or in plaintext exchanged hellos.
    Proven,
}

/// Shakes hands with whoever is at the other end. `tls` is none for plaintext; `reached` is told of every stage.
pub(crate) fn shake_hands(
    socket: &TcpStream,
    role: Role,
    tls: Option<&Tls>,
    nonce: [u8; 32],
    deadline: Instant,
    stop: &dyn Fn() -> bool,
    reached: &dyn Fn(Stage),
) -> Result<Proven, Trouble> {
    let mut line = Line::new(socket, deadline, stop, reached)?;
    let outcome = match tls {
        None => plain(&mut line, nonce),
        Some(tls) => secured(&mut line, role, tls, nonce),
    };
    let (sent, received) = (line.sent, line.received);
    match outcome {
        Ok(Agreed { nonces, channel_binding, tls, peer_key }) => {
            let peer = socket.peer_addr()?;
            socket.set_read_timeout(None)?;
            socket.set_write_timeout(None)?;
            let socket = socket.try_clone()?;
            Ok(Proven { socket, tls, peer, peer_key, nonces, channel_binding, sent, received })
        }
        Err(_) if stop() => Err(Trouble::Stopped),
        Err(trouble) => {
            line.farewell();
            Err(trouble)
        }
    }
}

/// What both sides have of a handshake.
struct Agreed {
    nonces: Nonces,
    channel_binding: [u8; 64],
    tls: Option<TlsConnection>,
    peer_key: Option<PublicKey>,
}

fn plain(line: &mut Line<'_>, nonce: [u8; 32]) -> Result<Agreed, Trouble> {
    match hello::exchange(line, nonce) {
        Ok(nonces) => {
            (line.reached)(Stage::Proven);
            Ok(Agreed { nonces, channel_binding: no_binding(), tls: None, peer_key: None })
        }
        Err(Failure::Io(error)) => Err(error.into()),
        Err(Failure::NotVesica) => Err(Trouble::NotVesica),
        Err(Failure::Version(theirs)) => Err(Trouble::Version(theirs)),
    }
}

fn secured(line: &mut Line<'_>, role: Role, tls: &Tls, nonce: [u8; 32]) -> Result<Agreed, Trouble> {
    let (connection, presented) = tls.connection(role).map_err(Trouble::Ours)?;
    let mut stream = Secured { connection, line };
    let outcome = stream.handshake().map_err(Failure::Io).and_then(|()| {
        (stream.line.reached)(Stage::Proven);
        if stream.connection.alpn_protocol() != Some(tls.alpn()) {
            return Err(Failure::NotVesica);
        }
        hello::exchange(&mut stream, nonce)
    });
    if outcome.is_err() {
        // The alert that tells the other side why; it may be gone already.
        let _ = stream.flush();
        if tls.alpn() == ALPN && stream.connection.alpn_protocol() == Some(PART_ALPN) {
            return Err(Trouble::Busy);
        }
    }
    match outcome {
        Ok(nonces) => {
            let binding = stream
                .connection
                .export_keying_material([0; 64], super::tls::EXPORTER, None)
                .map_err(|error| Trouble::Ours(NetError::system("TLS cannot export a binding", &error)))?;
            let (tls, peer_key) = (Some(stream.connection), presented.get().copied());
            Ok(Agreed { nonces, channel_binding: binding, tls, peer_key })
        }
        Err(Failure::NotVesica) => Err(Trouble::NotVesica),
        Err(Failure::Version(theirs)) => Err(Trouble::Version(theirs)),
        Err(Failure::Io(error)) => Err(match (presented.get(), stream.reason(&error)) {
            (Some(key), _) if !tls.peers().contains(key) => Trouble::OtherKey(*key),
            (_, Some(rustls::Error::AlertReceived(AlertDescription::AccessDenied))) => Trouble::RefusedUs,
            (_, Some(_)) => Trouble::NotVesica,
            (_, None) => error.into(),
        }),
    }
}

/// The socket, with a deadline and a stop.
pub(crate) struct Line<'a> {
    socket: &'a TcpStream,
    pub(crate) deadline: Instant,
    stop: &'a dyn Fn() -> bool,
    reached: &'a dyn Fn(Stage),
    sent: usize,
    received: usize,
}

impl<'a> Line<'a> {
    pub(crate) fn new(
        socket: &'a TcpStream,
        deadline: Instant,
        stop: &'a dyn Fn() -> bool,
        reached: &'a dyn Fn(Stage),
    ) -> io::Result<Self> {
        prepare(socket)?;
        socket.set_read_timeout(Some(POLL))?;
        socket.set_write_timeout(Some(POLL))?;
        Ok(Self { socket, deadline, stop, reached, sent: 0, received: 0 })
    }

    fn patiently(&mut self, mut act: impl FnMut(&TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            if (self.stop)() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            match act(self.socket) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if Instant::now() >= self.deadline {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// Closes our direction and lets the other side read what it was told.
    pub(crate) fn farewell(&mut self) {
        self.deadline = self.deadline.min(Instant::now() + FAREWELL);
        let mut rest = [0; 4096];
        if self.socket.shutdown(Shutdown::Write).is_ok() {
            while Instant::now() < self.deadline && self.read(&mut rest).is_ok_and(|length| length > 0) {}
        }
    }
}

impl Read for Line<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.deadline {
            // Also for whoever sends one byte now and then.
            return Err(io::ErrorKind::TimedOut.into());
        }
        let length = self.patiently(|mut socket| socket.read(into))?;
        self.received += length;
        Ok(length)
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The listening side answers what is whole only: its first answer is to a whole greeting.
        if self.received > 0 {
            (self.reached)(Stage::Greeted);
        }
        let length = self.patiently(|mut socket| socket.write(bytes))?;
        self.sent += length;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// TLS over a line.
struct Secured<'a, 'b> {
    connection: TlsConnection,
    line: &'a mut Line<'b>,
}

impl Secured<'_, '_> {
    fn handshake(&mut self) -> io::Result<()> {
        while self.connection.is_handshaking() {
            self.connection.complete_io(self.line)?;
        }
        Ok(())
    }

    /// What TLS says about a failure. Where we could not write, the other side may have told us why before it closed.
    fn reason(&mut self, error: &io::Error) -> Option<rustls::Error> {
        if let Some(reason) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Some(reason.clone());
        }
        if !matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) {
            return None;
        }
        while self.connection.read_tls(self.line).is_ok_and(|length| length > 0) {
            if let Err(reason) = self.connection.process_new_packets() {
                return Some(reason);
            }
        }
        None
    }
}

impl Read for Secured<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.connection.complete_io(self.line)?;
                }
                outcome => return outcome,
            }
        }
    }
}

impl Write for Secured<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.connection.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(self.line)?;
        }
        Ok(())
    }
}
