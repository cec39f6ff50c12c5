//! Where the connections of the parts come from.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_net::relay::Grants;
use vesica_net::{
    Connection, MeetingPlace, NetError, NetEvent, Options, PartCall, PartsAddress, PublicKey, memory,
};

/// How often a wait in memory looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(10);

/// How soon a connection that nobody has taken is offered again.
const SOON: Duration = Duration::from_millis(1);

/// Makes the connections of parts, or takes them.
pub(crate) trait Links: Send + Sync {
    /// Whether the partner makes them, and so says which part comes next.
    fn comes_here(&self) -> bool;

    /// Whether both sides make them, and meet at relays.
    fn at_relays(&self) -> bool {
        false
    }

    /// Whether only the partner can make them. Otherwise anybody may come in its place, and ends the run.
    fn are_secured(&self) -> bool {
        true
    }

    /// What has to be done before the first one. This side shows that key on them, and they have that tag.
    fn begin(&mut self, _: &PublicKey, _tag: [u8; 32], _: &Options) -> Result<(), NetError> {
        Ok(())
    }

    /// Whether more can be made at all.
    fn check(&self) -> Result<(), NetError> {
        Ok(())
    }

    /// One more connection. None if it is not wanted any more, or they come here.
    fn open(&self, call: &PartCall<'_>, rng: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError>;

    /// Hands every connection that comes here to `each`, for as long as they are wanted.
    fn take(
        &self,
        _: &PartCall<'_>,
        _: &mut dyn CryptoRng,
        _each: &mut dyn FnMut(Connection),
    ) -> Result<(), NetError> {
        Ok(())
    }

    /// That round is over for this side.
    fn end_round(&mut self, _: u16) {}

    /// The connection of the run, made again; `first` has gone out on it. None where that cannot be.
    fn take_up(
        &mut self,
        _first: &[u8],
        _: &Options,
        _: &mut dyn CryptoRng,
        _: &mut dyn FnMut(NetEvent),
    ) -> Result<Option<Connection>, NetError> {
        Ok(None)
    }
}

/// Over the network, where the run's partner was met.
pub(crate) struct OverNetwork {
    pub(crate) place: MeetingPlace,
    /// While they are there, relays know the run's key.
    grants: Option<Grants>,
}

impl OverNetwork {
    pub(crate) fn new(place: MeetingPlace) -> Self {
        OverNetwork { place, grants: None }
    }
}

impl Links for OverNetwork {
    fn comes_here(&self) -> bool {
        self.place.is_here()
    }

    fn at_relays(&self) -> bool {
        self.place.is_at_relays()
    }

    fn are_secured(&self) -> bool {
        self.place.is_secured()
    }

    fn check(&self) -> Result<(), NetError> {
        self.grants.as_ref().map_or(Ok(()), Grants::check)
    }

    fn begin(&mut self, mine: &PublicKey, tag: [u8; 32], options: &Options) -> Result<(), NetError> {
        self.grants = self.place.grant(*mine, tag, options)?;
        Ok(())
    }

    fn open(&self, call: &PartCall<'_>, rng: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        let keys = call.keys.filter(|_| self.place.is_secured());
        self.place.meet_again(&PartCall { keys, ..*call }, rng)
    }

    fn take(
        &self,
        call: &PartCall<'_>,
        rng: &mut dyn CryptoRng,
        each: &mut dyn FnMut(Connection),
    ) -> Result<(), NetError> {
        let keys = call.keys.filter(|_| self.place.is_secured());
        self.place.take(&PartCall { keys, ..*call }, rng, each)
    }

    fn end_round(&mut self, round: u16) {
        if let Some(grants) = &self.grants {
            grants.end_round(round);
        }
    }

    fn take_up(
        &mut self,
        first: &[u8],
        options: &Options,
        rng: &mut dyn CryptoRng,
        on_event: &mut dyn FnMut(NetEvent),
    ) -> Result<Option<Connection>, NetError> {
        self.place.take_up(first, options, rng, on_event)
    }
}

/// Over the network, from the task of an engine, whose driver has met the partner.
pub(crate) struct FromTask {
    pub(crate) place: PartsAddress,
    /// Whether connections are encrypted.
    pub(crate) secured: bool,
}

impl Links for FromTask {
    fn comes_here(&self) -> bool {
        false
    }

    fn open(&self, call: &PartCall<'_>, rng: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        let keys = call.keys.filter(|_| self.secured);
        self.place.meet(&PartCall { keys, ..*call }, rng)
    }
}

/// For a side that plays no parts itself, and whose connection does not come from here.
pub(crate) struct NoLinks;

impl Links for NoLinks {
    fn comes_here(&self) -> bool {
        false
    }

    fn open(&self, _: &PartCall<'_>, _: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        Ok(None)
    }
}

/// In memory: one end makes pairs of connections, and the other one gets theirs.
pub(crate) enum InMemory {
    Makes(SyncSender<Connection>),
    Takes(Mutex<Receiver<Connection>>),
}

impl InMemory {
    /// Both ends.
    pub(crate) fn pair() -> (Self, Self) {
        // One that nobody takes is not to wait: its other end would wait for what nobody says.
        let (to, from) = sync_channel(0);
        (InMemory::Makes(to), InMemory::Takes(from.into()))
    }
}

impl Links for InMemory {
    fn comes_here(&self) -> bool {
        matches!(self, InMemory::Takes(_))
    }

    fn open(&self, call: &PartCall<'_>, _: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        let InMemory::Makes(to) = self else { return Ok(None) };
        let PartCall { first, options, wanted, .. } = *call;
        let (mine, mut theirs) = memory::pair(&options.cancel);
        while wanted() {
            theirs = match to.try_send(theirs) {
                Ok(()) => return greeted(mine, first).map(Some),
                Err(TrySendError::Full(theirs)) => theirs,
                Err(TrySendError::Disconnected(_)) => return Ok(None),
            };
            options.cancel.sleep(SOON)?;
        }
        Ok(None)
    }

    fn take(
        &self,
        call: &PartCall<'_>,
        _: &mut dyn CryptoRng,
        each: &mut dyn FnMut(Connection),
    ) -> Result<(), NetError> {
        let InMemory::Takes(from) = self else { return Ok(()) };
        let PartCall { first, options, wanted, .. } = *call;
        let from = from.lock().unwrap_or_else(PoisonError::into_inner);
        while wanted() {
            options.cancel.check()?;
            match from.recv_timeout(POLL) {
                Ok(taken) => each(greeted(taken, first)?),
                Err(RecvTimeoutError::Timeout) => {}
                // The other end is gone; what it has still to say comes over the run's connection.
                Err(RecvTimeoutError::Disconnected) => return Ok(options.cancel.sleep(POLL)?),
            }
        }
        Ok(())
    }
}

/// A connection on which the first bytes have gone out.
fn greeted(mut connection: Connection, first: &[u8]) -> Result<Connection, NetError> {
    connection.send(first).and_then(|()| connection.flush())?;
    Ok(connection)
}
