//! The addresses of names.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use super::race::in_turn;
use super::{POLL, Patience};
use crate::error::NetError;

type Resolver = dyn Fn(&str, &Patience<'_>) -> Result<Vec<SocketAddr>, Unresolved> + Send + Sync;

/// Where names lead, and where each was met last: the next connection to it begins there.
pub(crate) struct Names {
    resolver: Box<Resolver>,
    met: Mutex<BTreeMap<String, SocketAddr>>,
}

impl Default for Names {
    fn default() -> Self {
        Self::by(resolve)
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("met", &self.met).finish_non_exhaustive()
    }
}

impl Names {
    /// With another resolver than the system's.
    pub(crate) fn by(
        resolver: impl Fn(&str, &Patience<'_>) -> Result<Vec<SocketAddr>, Unresolved> + Send + Sync + 'static,
    ) -> Self {
        Self { resolver: Box::new(resolver), met: Mutex::default() }
    }

    /// All that the name has now, in the order in which they are tried.
    pub(crate) fn addresses(
        &self,
        name: &str,
        patience: &Patience<'_>,
    ) -> Result<Vec<SocketAddr>, Unresolved> {
        let found = (self.resolver)(name, patience)?;
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(in_turn(found, met.get(name).copied()))
    }

    /// The partner or the relay is there.
    pub(crate) fn met(&self, name: &str, address: SocketAddr) {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), address);
    }
}

/// The addresses of a name. The system's resolver cannot be interrupted, so it is left behind on its own thread when
/// the caller has to go on.
pub(super) fn resolve(text: &str, patience: &Patience<'_>) -> Result<Vec<SocketAddr>, Unresolved> {
    if let Ok(address) = text.parse() {
        return Ok(vec![address]);
    }
    let (sender, receiver) = mpsc::channel();
    let name = text.to_owned();
    let spawned = thread::Builder::new().name("vesica-net-resolver".into()).spawn(move || {
        let found =
            name.to_socket_addrs().map(Iterator::collect::<Vec<_>>).map_err(|error| error.to_string());
        // Nobody listens any more if the caller went on.
        let _ = sender.send(found);
    });
    if let Err(error) = spawned {
        return Err(Unresolved::Fatal(NetError::system("cannot start a thread", &error)));
    }
    loop {
        match receiver.recv_timeout(POLL.min(patience.left())) {
            Ok(Ok(found)) if found.is_empty() => {
                return Err(Unresolved::Name("it has no address".to_owned()));
            }
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(cause)) => return Err(Unresolved::Name(cause)),
            Err(_) => patience.cancel.check().map_err(|error| Unresolved::Fatal(error.into()))?,
        }
        if patience.left().is_zero() {
            return Err(Unresolved::Silent);
        }
    }
}

/// Why there is no address.
pub(crate) enum Unresolved {
    Name(String),
    /// The resolver has not answered.
    Silent,
    Fatal(NetError),
}
