//! The connections of a run's parts: where the partner of a run was met, and how parts are opened from there.
//!
//! Who holds the run's connection has a [`MeetingPlace`]. A process that plays parts for it, such as an engine's worker, has a
//! [`PartsAddress`] and a key made for the run; it needs no identity.
//!
//! * **Directly**, who listened listens on, and who connected connects again.
//! * **Through relays**, both go to relay i mod count for part i, under grants ([`Grants`]). Who leaves the part open waits at
//!   each of the relays. Where two of them give it a connection at once, it keeps one for its next call.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use vesica_channel::Fault;

use super::at_relay::{ANY_PART, Join, Label, RelayAddress, Via};
use super::connect::{self, AtRelay, Route};
use super::grants::Grants;
use super::names::Names;
use super::{
    Address, ConnectionSecurity, HANDSHAKE_LIMIT, NetEvent, Opener, POLL, Wanted, listen, route, tls,
};
use crate::connection::Connection;
use crate::error::NetError;
use crate::fork::Fork;
use crate::identity::{Identity, PublicKey};
use crate::options::Options;

/// Between two attempts to take up a run while the other side takes parts.
const PAUSE: Duration = Duration::from_millis(200);

/// How often a side that takes connections looks whether they are still wanted.
const WHILE_PLAYING: Duration = Duration::from_millis(5);

type Keys<'a> = Option<(&'a Identity, &'a PublicKey)>;

/// Which connection of a part is wanted, and for how long.
#[derive(Clone, Copy)]
pub struct PartCall<'a> {
    /// Our key made for the run, and the partner's; none in plaintext.
    pub keys: Keys<'a>,
    /// The run's tag.
    pub tag: [u8; 32],
    /// The part; 2^32 - 1 for whichever the partner asks for.
    pub part: u32,
    /// The round.
    pub round: u16,
    /// What goes out on it first, as in [`meet`](super::meet()).
    pub first: &'a [u8],
    /// How long it may take, and what ends it.
    pub options: &'a Options,
    /// Whether the partner is still waited for.
    pub wanted: &'a dyn Fn() -> bool,
}

/// Where connections of parts begin. Another process may have it, and then needs the key made for the run, which is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartsAddress {
    /// Where the partner listens.
    Partner(String),
    /// At relays.
    Relays {
        /// In the order that both sides have: part i is for relay i mod count.
        relays: Vec<RelayAddress>,
        /// The key of the partner's identity, which the relays know.
        partner: PublicKey,
    },
}

impl PartsAddress {
    /// Where parts of a run begin whose partner with this key (none in plaintext) was met there.
    pub fn of(address: &Address, partner: Option<&PublicKey>) -> Self {
        match (address, partner) {
            (Address::Via(via), Some(partner)) => Self::Relays { relays: via.relays(), partner: *partner },
            (Address::Via(Via { address: text, .. }) | Address::Listen(text) | Address::Connect(text), _) => {
                Self::Partner(text.clone())
            }
        }
    }

    /// Opens the connection of a part. None as soon as nobody is waited for any more, or the relay says that the round is over.
    ///
    /// # Errors
    /// As [`meet`](super::meet()).
    pub fn meet(&self, call: &PartCall<'_>, rng: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        Way { to: self, kept: &Kept::default(), names: &Names::default() }.meet(call, rng)
    }
}

/// Where the partner of a run was met, for more connections of that run: the parts'.
#[derive(Debug)]
pub struct MeetingPlace {
    place: Place,
    /// Our identity and the partner's; none in plaintext.
    keys: Option<(Identity, PublicKey)>,
    kept: Kept,
    /// Which knows at which of the addresses it was.
    names: Names,
}

#[derive(Debug)]
enum Place {
    /// This side listens; who goes there waits until it is asked for.
    Here(TcpListener, String),
    /// The partner listens there, or the relays are there; and from where parts begin.
    There(Address, PartsAddress),
}

impl MeetingPlace {
    pub(super) fn here(listener: TcpListener, text: &str, security: &ConnectionSecurity<'_>) -> Self {
        Self::at(Place::Here(listener, text.to_owned()), security, Names::default())
    }

    pub(crate) fn there(address: &Address, security: &ConnectionSecurity<'_>, names: Names) -> Self {
        let peer = match security {
            ConnectionSecurity::Tls { peer, .. } => Some(*peer),
            ConnectionSecurity::InsecurePlaintext => None,
        };
        Self::at(Place::There(address.clone(), PartsAddress::of(address, peer)), security, names)
    }

    fn at(place: Place, security: &ConnectionSecurity<'_>, names: Names) -> Self {
        let keys = match security {
            ConnectionSecurity::Tls { identity, peer } => Some(((*identity).clone(), **peer)),
            ConnectionSecurity::InsecurePlaintext => None,
        };
        Self { place, keys, kept: Kept::default(), names }
    }

    /// Whether this side waits for the partner to come.
    pub fn is_here(&self) -> bool {
        matches!(self.place, Place::Here(..))
    }

    /// Whether connections go through relays, so that neither side listens.
    pub fn is_at_relays(&self) -> bool {
        matches!(self.place, Place::There(_, PartsAddress::Relays { .. }))
    }

    /// Whether connections are encrypted.
    pub fn is_secured(&self) -> bool {
        self.keys.is_some()
    }

    /// Lets the holder of that key, made for the run, join the run's parts at the relays. None where there is no relay.
    ///
    /// # Errors
    /// As [`Grants::open`].
    pub fn grant(
        &self,
        run_key: PublicKey,
        tag: [u8; 32],
        options: &Options,
    ) -> Result<Option<Grants>, NetError> {
        match (&self.place, &self.keys) {
            (Place::There(_, PartsAddress::Relays { relays, .. }), Some((identity, _))) => {
                Grants::open(relays, identity, run_key, tag, options).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// One more connection, under keys that both sides have made for this run. None as soon as nobody is waited for any more,
    /// or a relay says that the round is over.
    ///
    /// # Errors
    /// As [`meet`](super::meet()).
    pub fn meet_again(
        &self,
        call: &PartCall<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Connection>, NetError> {
        call.options.cancel.check()?;
        match &self.place {
            Place::Here(listener, text) => {
                let (opener, tls) = (opener(call.first, call.options), tls_of(call.keys)?);
                listen::wait_for_one((listener, text), tls, &opener, call.wanted, rng, &mut |_| {})
            }
            Place::There(_, to) => Way { to, kept: &self.kept, names: &self.names }.meet(call, rng),
        }
    }
}

impl MeetingPlace {
    /// The connection of the run itself, made again as it was made first: where it was, and under the keys of both identities.
    /// `first` goes out on it as in [`meet`](super::meet()). While the other side still takes connections of parts there, it
    /// takes this one for a stranger's, and this side tries again. None in plaintext, where nobody knows who comes.
    ///
    /// # Errors
    /// As [`meet`](super::meet()).
    pub fn take_up(
        &self,
        first: &[u8],
        options: &Options,
        rng: &mut dyn CryptoRng,
        on_event: &mut dyn FnMut(NetEvent),
    ) -> Result<Option<Connection>, NetError> {
        let Some((identity, peer)) = &self.keys else { return Ok(None) };
        let security = ConnectionSecurity::Tls { identity, peer };
        let (opener, tls) = (opener(first, options), || tls::Tls::new(identity, &[*peer]));
        let address = match &self.place {
            Place::Here(listener, text) => {
                let place = (listener, text.as_str());
                return listen::wait_for_one(place, Some(tls()?), &opener, &|| true, rng, on_event);
            }
            Place::There(address, _) => address,
        };
        let route = route(address, &security, &self.names)?;
        patiently(options, &|| true, &mut || {
            connect::connect(&route, Some(tls()?), &opener, &|| true, rng, on_event)
        })
    }
}

/// Tries again where somebody is there who does not expect this connection: the partner, where it was met before, may listen
/// for a part while the run is taken up, or the other way round.
fn patiently(
    options: &Options,
    wanted: Wanted<'_>,
    meet: &mut dyn FnMut() -> Result<Option<Connection>, NetError>,
) -> Result<Option<Connection>, NetError> {
    let until = Instant::now() + options.limit();
    loop {
        match meet() {
            // The run's connection broke meanwhile: there is nothing to wonder about.
            Err(error) if error.fault() == Fault::Identity && !wanted() => return Ok(None),
            Err(error) if error.fault() == Fault::Identity && Instant::now() < until => {
                options.cancel.sleep(PAUSE)?;
            }
            met => return met,
        }
    }
}

impl MeetingPlace {
    /// Hands every connection that comes here under keys made for this run to `each`, for as long as they are wanted. Where
    /// nobody comes here, nothing happens.
    ///
    /// # Errors
    /// If this side cannot listen any more.
    pub fn take(
        &self,
        call: &PartCall<'_>,
        rng: &mut dyn CryptoRng,
        each: &mut dyn FnMut(Connection),
    ) -> Result<(), NetError> {
        match &self.place {
            Place::Here(listener, text) => {
                let opener = opener(call.first, call.options);
                let wanted = (call.wanted, WHILE_PLAYING);
                let other = &mut |other| match other {
                    listen::Other::Failed(error) if error.fault() != Fault::Partner => Err(error),
                    _ => Ok(()),
                };
                listen::take_all((listener, text), tls_of(call.keys)?, &opener, wanted, rng, (each, other))
            }
            Place::There(..) => Ok(()),
        }
    }
}

/// Waits at one relay.
type WaitAt<'a> =
    dyn Fn(&RelayAddress, Wanted<'_>, &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> + Sync + 'a;

/// Connections that came together with another one, and the rounds that they are of.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<(u16, Connection)>>);

impl Kept {
    /// One of that round; those of others are dropped.
    fn take(&self, round: u16) -> Option<Connection> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(of, _)| *of == round);
        kept.pop().map(|(_, connection)| connection)
    }

    fn has(&self, round: u16) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(of, _)| *of == round)
    }

    fn put(&self, round: u16, connections: impl IntoIterator<Item = Connection>) {
        let connections = connections.into_iter().map(|connection| (round, connection));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(connections);
    }
}

/// The way out for parts.
struct Way<'a> {
    to: &'a PartsAddress,
    kept: &'a Kept,
    names: &'a Names,
}

impl Way<'_> {
    fn meet(&self, call: &PartCall<'_>, rng: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        let PartCall { keys, tag, part, round, options, wanted, .. } = *call;
        options.cancel.check()?;
        let opener = opener(call.first, options);
        let (relays, partner) = match self.to {
            PartsAddress::Partner(text) => {
                let route = Route { text, relay: None, names: self.names, limit: HANDSHAKE_LIMIT };
                return patiently(options, wanted, &mut || {
                    connect::connect(&route, tls_of(keys)?, &opener, wanted, rng, &mut |_| {})
                });
            }
            PartsAddress::Relays { relays, partner } => (relays, partner),
        };
        let at = |relay: &RelayAddress, wanted: Wanted<'_>, rng: &mut dyn CryptoRng| {
            let join = Join::Part { tag: Label(tag), partner: *partner, part, round };
            let route = through(relay, keys, join, self.names)?;
            connect::connect(&route, tls_of(keys)?, &opener, wanted, rng, &mut |_| {})
        };
        match &relays[..] {
            [relay] => at(relay, wanted, rng),
            relays if part != ANY_PART => {
                let relay = relays.get(part as usize % relays.len().max(1));
                relay.map_or(Ok(None), |relay| at(relay, wanted, rng))
            }
            relays => self.meet_at_any(relays, round, wanted, rng, &at),
        }
    }

    /// Waits at all of the relays.
    fn meet_at_any(
        &self,
        relays: &[RelayAddress],
        round: u16,
        wanted: Wanted<'_>,
        rng: &mut dyn CryptoRng,
        at: &WaitAt<'_>,
    ) -> Result<Option<Connection>, NetError> {
        if let Some(kept) = self.kept.take(round) {
            return Ok(Some(kept));
        }
        let (over, (sender, outcomes)) = (AtomicBool::new(false), mpsc::channel());
        let outcomes: Vec<Result<Option<Connection>, NetError>> = thread::scope(|scope| {
            for relay in relays {
                let (mut rng, sender, over) = (Fork::of(rng), sender.clone(), &over);
                let body = move || {
                    // It is received until all are there.
                    let _ = sender.send(at(relay, &|| !over.load(Relaxed), &mut rng));
                };
                // Without a thread nobody waits at that relay this time.
                let _ = thread::Builder::new().name("vesica-net-relay".into()).spawn_scoped(scope, body);
            }
            drop(sender);
            let mut ended = Vec::new();
            loop {
                match outcomes.recv_timeout(POLL) {
                    Ok(outcome) => ended.push(outcome),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break ended,
                }
                // After an error it is for the caller to go on. Another call may have kept one meanwhile.
                over.fetch_or(!ended.is_empty() || self.kept.has(round) || !wanted(), Relaxed);
            }
        });
        let mut error = None;
        let mut connections = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(connection) => connections.extend(connection),
                Err(trouble) => error = Some(trouble),
            }
        }
        match (connections.pop().or_else(|| self.kept.take(round)), error) {
            (None, Some(error)) => Err(error),
            (connection, _) => {
                self.kept.put(round, connections);
                Ok(connection)
            }
        }
    }
}

/// The way through that relay.
fn through<'a>(
    relay: &'a RelayAddress,
    keys: Keys<'_>,
    join: Join,
    names: &'a Names,
) -> Result<Route<'a>, NetError> {
    let Some((ours, theirs)) = keys else {
        let why = "through a relay both sides need keys";
        return Err(NetError::BadAddress { address: relay.address.clone(), why });
    };
    let at = AtRelay::new(tls::Tls::to_relay(ours, relay.key)?, join, ours.public_key(), theirs);
    Ok(Route { text: &relay.address, relay: Some(at), names, limit: HANDSHAKE_LIMIT })
}

fn opener(first: &[u8], options: &Options) -> Arc<Opener> {
    Arc::new(Opener { network: None, options: options.clone(), first: first.to_vec() })
}

fn tls_of(keys: Keys<'_>) -> Result<Option<tls::Tls>, NetError> {
    keys.map(|(identity, peer)| tls::Tls::of_part(identity, *peer)).transpose()
}

#[cfg(test)]
mod tests {
    use vesica_channel::CancelToken;

    use super::*;

    #[test]
    fn a_connection_that_came_together_with_another_is_kept_for_its_round_alone() {
        let (kept, token) = (Kept::default(), CancelToken::new());
        let ends = [(); 3].map(|()| crate::memory::pair(&token));
        let [(one, mut first), (two, mut second), (three, _third)] = ends;
        kept.put(4, [one, two]);
        assert!(kept.has(4) && !kept.has(3) && !kept.has(5));
        assert!(kept.take(4).is_some() && kept.has(4));
        kept.put(5, [three]);
        assert!(kept.take(5).is_some());
        assert!(!kept.has(4) && kept.take(4).is_none(), "a round that begins ends the one before");
        assert!([&mut first, &mut second].into_iter().all(|end| end.check().is_err()), "and its connections");
    }
}
