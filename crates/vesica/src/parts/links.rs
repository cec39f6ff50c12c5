//! Where the connections of the parts come from.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rand_core::CryptoRng;
use vesica_channel::{CancelToken, Channel};
use vesica_net::{Connection, Identity, MeetingPlace, NetError, Options, PublicKey, memory};

/// How often a wait in memory looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(10);

/// Makes the connections of parts, or takes them.
pub(crate) trait Links: Send {
    /// Whether the partner makes them, and so says which part comes next.
    fn comes_here(&self) -> bool;

    /// One more connection, on which `first` has gone out. None if it is not `wanted` any more.
    fn open(
        &mut self,
        keys: (&Identity, &PublicKey),
        first: &[u8],
        options: &Options,
        wanted: &dyn Fn() -> bool,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Connection>, NetError>;
}

/// Over the network, where the run's partner was met.
pub(crate) struct OverNetwork {
    pub(crate) place: MeetingPlace,
    /// Whether connections are encrypted.
    pub(crate) secured: bool,
}

impl Links for OverNetwork {
    fn comes_here(&self) -> bool {
        self.place.is_here()
    }

    fn open(
        &mut self,
        keys: (&Identity, &PublicKey),
        first: &[u8],
        options: &Options,
        wanted: &dyn Fn() -> bool,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Connection>, NetError> {
        self.place.meet_again(self.secured.then_some(keys), first, options, wanted, rng)
    }
}

/// In memory: one end makes pairs of connections, and the other one gets theirs.
pub(crate) enum InMemory {
    Makes(Sender<Connection>),
    Takes(Receiver<Connection>),
}

impl InMemory {
    /// Both ends.
    pub(crate) fn pair() -> (Self, Self) {
        let (to, from) = channel();
        (InMemory::Makes(to), InMemory::Takes(from))
    }
}

impl Links for InMemory {
    fn comes_here(&self) -> bool {
        matches!(self, InMemory::Takes(_))
    }

    fn open(
        &mut self,
        _: (&Identity, &PublicKey),
        first: &[u8],
        options: &Options,
        wanted: &dyn Fn() -> bool,
        _: &mut dyn CryptoRng,
    ) -> Result<Option<Connection>, NetError> {
        let met = match self {
            InMemory::Makes(to) => {
                let (mine, theirs) = memory::pair(&options.cancel);
                // Where nobody takes it, the connection is closed, and the part fails.
                drop(to.send(theirs));
                Some(mine)
            }
            InMemory::Takes(from) => take(from, &options.cancel, wanted)?,
        };
        met.map(|mut met| Ok(met.send(first).and_then(|()| met.flush()).map(|()| met)?)).transpose()
    }
}

fn take(
    from: &Receiver<Connection>,
    cancel: &CancelToken,
    wanted: &dyn Fn() -> bool,
) -> Result<Option<Connection>, NetError> {
    while wanted() {
        cancel.check()?;
        match from.recv_timeout(POLL) {
            Ok(taken) => return Ok(Some(taken)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                // The other end is gone; what it has still to say comes over the run's connection.
                cancel.sleep(POLL)?;
                break;
            }
        }
    }
    Ok(None)
}
