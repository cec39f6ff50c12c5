//! Making a connection: listen or connect, prove who we are, say hello.
//!
//! Either side may start first. The connecting side tries again, with growing pauses, for as long as nobody is there;
//! it stops at once where somebody is there who is not the partner. The listening side drops whoever is not the partner
//! and keeps waiting; many may be at its door at once, so that none of them can block the way.
//!
//! The hello leaves the two sides apart by half a round trip: one has its nonce back while the other still waits for its
//! own. So a connection is the meeting ([`meet`]) only once the partner's first message is there, and each side sends its
//! first message at once. If the connection ends before that, both go on as if it had not been made.

pub(crate) mod at_relay;
pub(crate) mod connect;
pub(crate) mod door;
pub(crate) mod grants;
pub(crate) mod handshake;
mod hello;
pub(crate) mod listen;
pub(crate) mod names;
mod parts;
pub(crate) mod race;
#[cfg(feature = "testing")]
mod raw;
pub(crate) mod tls;

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use vesica_channel::shaped::Network;
use vesica_channel::transport::Transport;
use vesica_channel::{CancelToken, Channel, ChannelError, Counters, Stream};

use crate::connection::{Connection, ConnectionInfo};
use crate::error::Others;
use crate::error::{NetError, RetryReason, StrangerReason};
use crate::identity::{Identity, PublicKey};
use crate::io_threads;
use crate::options::Options;
use crate::shaped_writer::ShapedWriter;
use crate::socket::{End, SocketTransport};
use crate::socket_writer::{Pace, SocketWriter};
use at_relay::{Join, Label, Via};
use connect::{AtRelay, Route};
use handshake::{Proven, Trouble};
pub use hello::VERSION;
#[cfg(feature = "testing")]
pub(crate) use hello::exchange as exchange_hellos;
use names::Names;
pub use parts::{MeetingPlace, PartCall, PartsAddress};
#[cfg(feature = "testing")]
pub use raw::RawPeer;

/// How often a wait looks whether it has been cancelled.
pub(crate) const POLL: Duration = Duration::from_millis(50);
/// A handshake takes no longer.
pub(crate) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// Where the partner is met: `HOST:PORT`, or `[ADDRESS]:PORT` for IPv6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Wait here for the partner. Port 0 takes any free one, which [`NetEvent::Listening`] tells.
    Listen(String),
    /// Go there.
    Connect(String),
    /// Go to a relay, as the partner does. Both sides need keys.
    Via(Via),
}

/// How the connection is secured.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionSecurity<'a> {
    /// TLS 1.3; both sides prove their keys.
    Tls {
        /// Who we are.
        identity: &'a Identity,
        /// Who the partner is.
        peer: &'a PublicKey,
    },
    /// Nothing at all. On loopback addresses only.
    InsecurePlaintext,
}

/// What happens while a connection is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetEvent {
    /// We listen.
    Listening(SocketAddr),
    /// We try to connect.
    Connecting {
        /// Where.
        address: SocketAddr,
    },
    /// An attempt failed; another follows.
    Retrying {
        /// Why it failed.
        reason: RetryReason,
        /// After which pause.
        after: Duration,
    },
    /// Somebody who is not the partner came and was turned away.
    StrangerDropped {
        /// Who.
        from: SocketAddr,
        /// Why.
        reason: StrangerReason,
    },
    /// The relay there has let us in, and the partner has not come yet.
    AtRelay {
        /// Where the relay is.
        relay: SocketAddr,
    },
    /// Both sides have proven who they are and that they are there.
    Connected {
        /// The partner's address; a relay's, if that is where it was met.
        peer: SocketAddr,
    },
}

impl Address {
    /// Refuses what cannot be an address, without asking anybody: for a caller that has more to do before it connects.
    pub fn check(&self) -> Result<(), NetError> {
        match self {
            Address::Listen(text) => check_form(text),
            Address::Connect(text) => connect::check_target(text),
            Address::Via(via) => {
                via.relays().iter().try_for_each(|relay| connect::check_target(&relay.address))
            }
        }
    }
}

/// Connects to the partner, within [`Options::silence`].
///
/// `rng` gives the hello's nonce and the pauses' jitter; TLS has its own randomness.
pub fn establish(
    address: &Address,
    security: &ConnectionSecurity<'_>,
    options: &Options,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Connection, NetError> {
    meet(address, security, &[], options, rng, on_event)
}

/// As [`establish`], for two sides that both begin with a message, which needs nothing of the other's: `first` goes out on
/// every connection whose other side has proven who it is, and the one on which the partner's first bytes come is the
/// meeting. A connection that ends before that is none, on either side, and the attempts go on ([`NetEvent::Retrying`]).
///
/// The channel has sent `first` and received nothing yet. Without `first` this is [`establish`]: then a connection that
/// the listening side gives up in its last half of a round trip is an error of the channel's.
pub fn meet(
    address: &Address,
    security: &ConnectionSecurity<'_>,
    first: &[u8],
    options: &Options,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Connection, NetError> {
    meet_to_stay(address, security, first, options, rng, on_event).map(|(channel, _)| channel)
}

/// As [`meet`], and where more connections of the same run can be made.
pub fn meet_to_stay(
    address: &Address,
    security: &ConnectionSecurity<'_>,
    first: &[u8],
    options: &Options,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<(Connection, MeetingPlace), NetError> {
    let opener = Opener { network: None, options: options.clone(), first: first.to_vec() };
    establish_over(address, security, opener, rng, on_event)
}

/// Several peers that are waited for together.
pub struct Company<'a, R> {
    /// Who they are.
    pub peers: &'a [PublicKey],
    /// Reads what a connection brings, of which bytes are there.
    pub hear: Hear<'a, R>,
    /// Whether two connections that brought this are of one run: the same peers may come for several at once.
    pub belong: Belong<'a, R>,
}

/// See [`Company::hear`].
pub(crate) type Hear<'a, R> = &'a mut dyn FnMut(&mut Connection) -> R;

/// See [`Company::belong`].
pub(crate) type Belong<'a, R> = &'a dyn Fn(&R, &R) -> bool;

/// Waits at `address` until all peers have come, as [`meet`] does for one of them, with connections of one run; `first` goes
/// to each. A peer that leaves before all are there, or comes again, is waited for or taken anew. Of each peer up to 16
/// connections wait; one more takes the place of the first. Those that are not needed are
/// [declined](vesica_channel::Stream::decline).
///
/// The connections are in the order of the peers. Where all have come when the time is over, but for different runs, they are
/// the latest of each.
pub fn gather<R>(
    address: &str,
    identity: &Identity,
    company: Company<'_, R>,
    first: &[u8],
    options: &Options,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Vec<(Connection, R)>, NetError> {
    options.cancel.check()?;
    let Company { peers, hear, belong } = company;
    let opener = Arc::new(Opener { network: None, options: options.clone(), first: first.to_vec() });
    let tls = tls::Tls::new(identity, peers)?;
    let listener = listen::listen(address, Some(&tls), &opener)?;
    let place = (&listener, address);
    let met = listen::gather(place, Some(tls), &opener, &|| true, (hear, belong), rng, on_event)?;
    Ok(met.unwrap_or_default())
}

/// Listens at `address` and hands each connection of one of the peers to `each`, as soon as its first bytes have come, until
/// the options' token is cancelled. `first` goes to all. One peer may have several connections at once. The time-out of the
/// options is that of a connection; nobody's coming is waited for.
///
/// # Errors
/// If it cannot listen; [`NetError`] of a cancelled wait at the end.
pub fn serve_peers(
    address: &str,
    identity: &Identity,
    peers: &[PublicKey],
    first: &[u8],
    options: &Options,
    rng: &mut dyn CryptoRng,
    (each, on_event): (&mut dyn FnMut(Connection), &mut dyn FnMut(NetEvent)),
) -> Result<(), NetError> {
    let opener = Arc::new(Opener { network: None, options: options.clone(), first: first.to_vec() });
    let tls = tls::Tls::new(identity, peers)?;
    let listener = listen::listen(address, Some(&tls), &opener)?;
    listener.local_addr().into_iter().for_each(|address| on_event(NetEvent::Listening(address)));
    // Whoever fails may come again, and the others do not suffer.
    let other = &mut |other| {
        if let listen::Other::Event(event) = other {
            on_event(event);
        }
        Ok(())
    };
    listen::take_all((&listener, address), Some(tls), &opener, (&|| true, POLL), rng, (each, other))
}

/// As [`establish`], over a network.
pub(crate) fn establish_shaped(
    address: &Address,
    security: &ConnectionSecurity<'_>,
    network: Network,
    options: &Options,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Connection, NetError> {
    let opener = Opener { network: Some(network), options: options.clone(), first: Vec::new() };
    establish_over(address, security, opener, rng, on_event).map(|(channel, _)| channel)
}

fn establish_over(
    address: &Address,
    security: &ConnectionSecurity<'_>,
    opener: Opener,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<(Connection, MeetingPlace), NetError> {
    opener.options.cancel.check()?;
    let opener = Arc::new(opener);
    let tls = tls_of(security)?;
    let (met, place) = match address {
        Address::Listen(text) => {
            let listener = listen::listen(text, tls.as_ref(), &opener)?;
            let place = (&listener, text.as_str());
            let met = listen::wait_for_one(place, tls, &opener, &|| true, rng, on_event)?;
            (met, MeetingPlace::here(listener, text, security))
        }
        Address::Connect(_) | Address::Via(_) => {
            let names = Names::default();
            let route = route(address, security, &names)?;
            let met = connect::connect(&route, tls, &opener, &|| true, rng, on_event)?;
            met.iter()
                .filter_map(|channel| channel.peer_address())
                .for_each(|peer| on_event(NetEvent::Connected { peer }));
            (met, MeetingPlace::there(address, security, names))
        }
    };
    Ok((met.ok_or_else(|| NetError::system("nobody was waited for", &format!("{address:?}")))?, place))
}

/// Whether the partner is still waited for.
pub(crate) type Wanted<'a> = &'a dyn Fn() -> bool;

/// The way to the partner's address, or to the relay.
fn route<'a>(
    address: &'a Address,
    security: &ConnectionSecurity<'_>,
    names: &'a Names,
) -> Result<Route<'a>, NetError> {
    match (address, security) {
        (Address::Listen(text) | Address::Connect(text), _) => {
            Ok(Route { text, relay: None, names, limit: HANDSHAKE_LIMIT })
        }
        (Address::Via(via), ConnectionSecurity::Tls { identity, peer }) => {
            let ours = identity.public_key();
            let join = Join::Run { label: Label::of_run(ours, peer, &via.run), partner: **peer };
            let relay = AtRelay::new(tls::Tls::to_relay(identity, via.key)?, join, ours, peer);
            Ok(Route { text: &via.address, relay: Some(relay), names, limit: HANDSHAKE_LIMIT })
        }
        (Address::Via(via), ConnectionSecurity::InsecurePlaintext) => Err(NetError::BadAddress {
            address: via.address.clone(),
            why: "through a relay both sides need keys",
        }),
    }
}

/// What makes a channel of a connection.
struct Opener {
    network: Option<Network>,
    options: Options,
    /// What goes out first; where there is something, something is to come back before the partner is there.
    first: Vec<u8>,
}

impl Opener {
    /// From handshake to meeting.
    fn open(&self, proven: Proven) -> Result<Connection, Trouble> {
        let open = open(proven, self.network, &self.options);
        let (transport, mut channel) = open.map_err(|error| Trouble::Ours(error.into()))?;
        if self.first.is_empty() {
            return Ok(channel);
        }
        let sent = channel.send(&self.first).and_then(|()| channel.flush());
        channel.expect_prompt();
        match sent.and_then(|()| transport.await_frame()) {
            // A partner that is done at once has said something, which is for the caller to find.
            Ok(()) | Err(ChannelError::PeerFinished) => {
                channel.expect_within(None);
                Ok(channel)
            }
            Err(ChannelError::Closed) => Err(Trouble::LeftEarly),
            Err(error) => Err(Trouble::Ours(error.into())),
        }
    }
}

/// From handshake to channel.
fn open(
    proven: Proven,
    network: Option<Network>,
    options: &Options,
) -> Result<(Arc<SocketTransport>, Connection), ChannelError> {
    let Proven { socket, tls, peer, peer_key, nonces, channel_binding, sent, received } = proven;
    let clone = |socket: &TcpStream| {
        socket.try_clone().map_err(|error| ChannelError::system("cannot duplicate a socket", &error))
    };
    let counters = Arc::<Counters>::default();
    counters.add_wire_sent(sent);
    counters.add_wire_received(received);
    let farewell = network.map_or(Duration::ZERO, |network| network.farewell());
    let transport = SocketTransport::new(clone(&socket)?, counters.clone(), farewell, options);
    let writer = SocketWriter::new(transport.clone(), clone(&socket)?);
    let pace: Box<dyn Pace> = match network {
        None => Box::new(writer),
        Some(network) => Box::new(ShapedWriter::new(writer, network)),
    };
    transport.own(io_threads::start(&transport, socket, pace, tls, options.heartbeat())?);
    let end = End(transport.clone());
    let stream = Stream::new(Transport {
        outgoing: Box::new(end.clone()),
        incoming: Box::new(end.clone()),
        control: Arc::new(end),
        counters,
    });
    let silence = Some(options.limit());
    let info = ConnectionInfo { nonces, channel_binding, peer_key, peer_address: Some(peer), silence };
    Ok((transport, Connection::new(stream, info)))
}

/// The whole time there is, and what may end it early.
pub(crate) struct Patience<'a> {
    started: Instant,
    silence: Duration,
    cancel: &'a CancelToken,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        Self { started: Instant::now(), silence: options.limit(), cancel: &options.cancel }
    }

    fn left(&self) -> Duration {
        self.silence.saturating_sub(self.started.elapsed())
    }
}

/// Refuses what cannot be an address, without asking anybody.
fn check_form(text: &str) -> Result<(), NetError> {
    let bad = |why| Err(NetError::BadAddress { address: text.to_owned(), why });
    if text.parse::<SocketAddr>().is_ok() {
        return Ok(());
    }
    let Some((host, port)) = text.rsplit_once(':') else { return bad("it has no port; write HOST:PORT") };
    if host.is_empty() {
        return bad("it has no host; write HOST:PORT");
    }
    if port.parse::<u16>().is_err() {
        return bad("its port is not a number up to 65535");
    }
    if host.contains([':', '[', ']']) {
        return bad("an IPv6 address is written [ADDRESS]:PORT");
    }
    if host.contains(|character: char| character.is_whitespace() || character == '/') {
        return bad("it is not of the form HOST:PORT");
    }
    Ok(())
}

/// Plaintext stays on this machine.
fn check_loopback(text: &str, address: &SocketAddr, tls: Option<&tls::Tls>) -> Result<(), NetError> {
    if tls.is_some() || address.ip().to_canonical().is_loopback() {
        Ok(())
    } else {
        Err(NetError::PlaintextNotLoopback { address: text.to_owned() })
    }
}

/// The keys, unless it is plaintext.
fn tls_of(security: &ConnectionSecurity<'_>) -> Result<Option<tls::Tls>, NetError> {
    match security {
        ConnectionSecurity::Tls { identity, peer } => tls::Tls::new(identity, &[**peer]).map(Some),
        ConnectionSecurity::InsecurePlaintext => Ok(None),
    }
}

/// Prepares a fresh connection's socket.
fn prepare(socket: &TcpStream) -> std::io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)
}

fn nonce(rng: &mut dyn CryptoRng) -> [u8; 32] {
    let mut nonce = [0; 32];
    rng.fill_bytes(&mut nonce);
    nonce
}
