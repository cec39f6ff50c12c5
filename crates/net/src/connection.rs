//! A conversation with the peer as a session leads it: the byte stream, and what is known of the other end.

use std::fmt;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use vesica_channel::{Channel, ChannelError, RecvHalf, SendHalf, Stream};

use crate::identity::PublicKey;

/// A [`Stream`] to a peer, and what is known of the peer and of the connection.
pub struct Connection {
    stream: Stream,
    info: ConnectionInfo,
}

/// The nonces of the two hellos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonces {
    /// The one we drew.
    pub mine: [u8; 32],
    /// The one the peer drew.
    pub theirs: [u8; 32],
}

/// What is known of a connection from its beginning.
pub(crate) struct ConnectionInfo {
    pub(crate) nonces: Nonces,
    pub(crate) channel_binding: [u8; 64],
    pub(crate) peer_key: Option<PublicKey>,
    pub(crate) peer_address: Option<SocketAddr>,
    /// For how long the peer may be silent; in memory for ever.
    pub(crate) silence: Option<Duration>,
}

impl Connection {
    pub(crate) fn new(stream: Stream, info: ConnectionInfo) -> Self {
        Self { stream, info }
    }

    /// [`expect_within`](Channel::expect_within) for a peer that has nothing to compute: all together, from this call on,
    /// may take as long as silence may last. `expect_within(None)` ends it.
    pub fn expect_prompt(&mut self) {
        self.stream.expect_within(self.info.silence);
    }

    /// What binds a session to this connection: 64 bytes that both sides of the same TLS connection have, and no other
    /// connection. In memory and over plaintext a constant.
    pub fn channel_binding(&self) -> &[u8; 64] {
        &self.info.channel_binding
    }

    /// The nonces of the two hellos. In memory constants.
    pub fn nonces(&self) -> Nonces {
        self.info.nonces
    }

    /// The peer's key, proven by TLS.
    pub fn peer_key(&self) -> Option<&PublicKey> {
        self.info.peer_key.as_ref()
    }

    /// The peer's address, over a network.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        self.info.peer_address
    }
}

impl Deref for Connection {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        &self.stream
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }
}

impl Channel for Connection {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.stream.send(bytes)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.stream.flush()
    }

    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        self.stream.recv_exact(into)
    }

    fn readable(&self) -> usize {
        self.stream.readable()
    }

    fn split(&mut self) -> (&mut dyn SendHalf, &mut dyn RecvHalf) {
        self.stream.split()
    }

    fn expect_within(&mut self, limit: Option<Duration>) {
        self.stream.expect_within(limit);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConnectionInfo { peer_key, peer_address, .. } = &self.info;
        let mut shown = f.debug_struct("Connection");
        shown.field("peer_key", peer_key).field("peer_address", peer_address).finish_non_exhaustive()
    }
}
