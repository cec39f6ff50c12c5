//! Sockets on Windows.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// An end of a pair in which a byte written at one end wakes whoever polls the other.
pub(crate) type Bell = TcpStream;

/// Both ends of such a pair: Windows can poll sockets alone, and Rust has no others than those of TCP there.
pub(crate) fn bell() -> io::Result<(Bell, Bell)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let rope = TcpStream::connect(listener.local_addr()?)?;
    rope.set_nodelay(true)?;
    loop {
        let (bell, from) = listener.accept()?;
        // Any program of this machine can come first.
        if from == rope.local_addr()? {
            return Ok((bell, rope));
        }
    }
}

/// Whether a connection that is made without blocking is on its way.
pub(crate) fn is_connecting(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

pub(crate) fn is_short_of_descriptors(error: &io::Error) -> bool {
    /// Too many open sockets.
    const WSAEMFILE: i32 = 10_024;
    /// No room for another socket.
    const WSAENOBUFS: i32 = 10_055;
    matches!(error.raw_os_error(), Some(WSAEMFILE | WSAENOBUFS))
}

/// Descriptors that this process may have: Windows has no limit of its own for sockets.
pub(crate) fn most_descriptors() -> Option<u64> {
    None
}
