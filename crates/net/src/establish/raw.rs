//! A peer that keeps no rule, for tests: the TLS of this crate, and above it whatever bytes the test writes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use rustls::{ClientConnection, Connection, StreamOwned};

use super::hello::{self, Failure};
use super::tls::{Role, Tls};
use crate::error::NetError;
use crate::identity::{Identity, PublicKey};
use vesica_channel::ChannelError;

/// A test that reads for longer than this hangs.
const HANG: Duration = Duration::from_secs(120);

/// An authenticated connection to a party that listens; nothing above TLS has been said.
pub struct RawPeer(StreamOwned<ClientConnection, TcpStream>);

impl RawPeer {
    /// Connects; TLS shakes hands with the first byte that is written or read.
    pub fn connect(address: SocketAddr, identity: &Identity, peer: &PublicKey) -> Result<Self, NetError> {
        let failed = |error: io::Error| NetError::system("no raw connection", &error);
        let socket = TcpStream::connect(address).map_err(failed)?;
        socket.set_nodelay(true).and_then(|()| socket.set_read_timeout(Some(HANG))).map_err(failed)?;
        match Tls::new(identity, &[*peer])?.connection(Role::Client)?.0 {
            Connection::Client(client) => Ok(Self(StreamOwned::new(client, socket))),
            Connection::Server(_) => Err(ChannelError::Closed.into()),
        }
    }

    /// Closes the connection under TLS, which is not told.
    pub fn hang_up(&self) {
        // It may be closed already.
        let _ = self.0.sock.shutdown(Shutdown::Both);
    }

    /// Says hello as every party does.
    pub fn hello(&mut self, nonce: [u8; 32]) -> io::Result<()> {
        match hello::exchange(self, nonce) {
            Ok(_) => Ok(()),
            Err(Failure::Io(error)) => Err(error),
            Err(Failure::NotVesica | Failure::Version(_)) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

impl Read for RawPeer {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for RawPeer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
