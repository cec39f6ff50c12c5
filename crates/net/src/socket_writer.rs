//! Where the writer thread puts its bytes, and at what pace.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::socket::SocketTransport;

/// Takes the writer thread's bytes to the socket.
pub(crate) trait Pace: Send {
    /// Called on the writer's thread before all else.
    fn enter(&self) {}

    /// What the writer does next.
    fn plan(&self, heartbeat: Duration) -> Plan;

    /// Whether it is time for a sign of life.
    fn wants_heartbeat(&self, heartbeat: Duration) -> bool;

    /// Takes these bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Hands to the socket what is due.
    fn deliver(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Takes no more frames; true once everything is in the socket. What is written from then on goes there at once.
    fn drained(&mut self) -> bool {
        true
    }

    /// Closes the sending direction.
    fn shutdown(&self) -> io::Result<()>;
}

/// What the writer does next.
pub(crate) struct Plan {
    /// How many frames it takes.
    pub(crate) frames: usize,
    /// When it comes back if there are none.
    pub(crate) until: Instant,
}

/// The socket itself sets the pace.
pub(crate) struct SocketWriter {
    transport: Arc<SocketTransport>,
    socket: TcpStream,
    /// Since when nothing has been written.
    quiet: Instant,
}

impl SocketWriter {
    pub(crate) fn new(transport: Arc<SocketTransport>, socket: TcpStream) -> Self {
        Self { transport, socket, quiet: Instant::now() }
    }
}

impl Pace for SocketWriter {
    fn plan(&self, heartbeat: Duration) -> Plan {
        Plan { frames: usize::MAX, until: self.quiet + heartbeat }
    }

    fn wants_heartbeat(&self, heartbeat: Duration) -> bool {
        Instant::now() >= self.quiet + heartbeat
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)?;
        self.transport.count_sent(bytes.len());
        self.quiet = Instant::now();
        Ok(())
    }

    fn shutdown(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }
}
