//! Sockets on Unix.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// An end of a pair in which a byte written at one end wakes whoever polls the other.
pub(crate) type Bell = UnixStream;

/// Both ends of such a pair.
pub(crate) fn bell() -> io::Result<(Bell, Bell)> {
    UnixStream::pair()
}

/// Whether a connection that is made without blocking is on its way.
pub(crate) fn is_connecting(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error())
        || error.kind() == io::ErrorKind::WouldBlock
}

pub(crate) fn is_short_of_descriptors(error: &io::Error) -> bool {
    let short = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| short.contains(&code))
}

/// Descriptors that this process may have; none where nothing limits them.
pub(crate) fn most_descriptors() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}
