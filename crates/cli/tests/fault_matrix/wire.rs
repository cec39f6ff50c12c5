//! Places between two parties: a port that is kept for one of them, and a line that can be cut.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};

/// A port on which nobody listens and which nobody else is given.
pub(crate) struct Port {
    _held: OwnedFd,
    pub(crate) address: SocketAddr,
}

impl Port {
    pub(crate) fn new() -> Self {
        let held = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        // With this set on both, the party may listen where this one is only bound.
        set_socket_reuseaddr(&held, true).unwrap();
        bind(&held, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = SocketAddr::try_from(getsockname(&held).unwrap()).unwrap();
        Port { _held: held, address }
    }
}

/// A line to an address.
pub(crate) struct Line {
    pub(crate) address: SocketAddr,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    /// Carries every connection; the first only so many bytes far, if `first` says so.
    pub(crate) fn to(target: SocketAddr, mut first: Option<u64>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (address, ends) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let kept = ends.clone();
        thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                // Nobody listens there yet, or any more: the caller sees its connection closed.
                let Ok(far) = TcpStream::connect(target) else { continue };
                let clones = [near.try_clone().unwrap(), far.try_clone().unwrap()];
                kept.lock().unwrap().extend(clones);
                let limit = first.take().unwrap_or(u64::MAX);
                let (near_back, far_back) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                thread::spawn(move || carry(near, far, limit));
                thread::spawn(move || carry(far_back, near_back, u64::MAX));
            }
        });
        Line { address, ends }
    }

    /// Closes every connection there is, both ends.
    pub(crate) fn cut(&self) {
        for end in self.ends.lock().unwrap().drain(..) {
            close(&end);
        }
    }
}

fn carry(from: TcpStream, mut to: TcpStream, limit: u64) {
    let (mut source, mut buffer, mut left) = (from.try_clone().unwrap().take(limit), [0; 1 << 16], limit);
    while let Ok(length) = source.read(&mut buffer) {
        if length == 0 || to.write_all(&buffer[..length]).is_err() {
            break;
        }
        left -= length as u64;
    }
    if left == 0 {
        close(&from);
        close(&to);
    } else {
        // One direction has ended; the other may go on.
        let _gone = to.shutdown(Shutdown::Write);
    }
}

fn close(socket: &TcpStream) {
    // It may have been closed at the other end already.
    let _gone = socket.shutdown(Shutdown::Both);
}
