//! The channel that protocols talk over: a byte stream each way, with counters and transcript digests.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::identity::PublicKey;
use crate::link::{DECLINED, Link};
use vesica_channel::ChannelError;
use vesica_channel::{Frame, HEADER, Kind, MAX_PAYLOAD};

/// Where full frames end in the stream of payload bytes: at its multiples. Longer frames would only leave the processor's
/// caches; ends elsewhere would cut the digests' tree into subtrees too small for its lanes.
const FILL: usize = 64 << 10;

/// A conversation with the peer.
///
/// Dropping it closes the connection at once; only after [`finish`](Self::finish) is everything sure to have been sent.
pub struct Connection {
    tx: SendHalf,
    rx: RecvHalf,
    about: About,
    threads: Vec<JoinHandle<()>>,
}

/// The sending half of a [`Connection`].
pub struct SendHalf {
    link: Arc<Link>,
    side: usize,
    /// Room for a header, then the payload so far.
    pending: Vec<u8>,
    digest: blake3::Hasher,
    payload: u64,
    /// The last frame was pushed without haste.
    waits: bool,
    /// What ended it, so that a send that would only gather bytes reports it, too.
    failed: Option<ChannelError>,
}

/// The receiving half of a [`Connection`].
pub struct RecvHalf {
    link: Arc<Link>,
    side: usize,
    current: Vec<u8>,
    /// How far `current` has been given out.
    taken: usize,
    digest: blake3::Hasher,
    payload: u64,
}

/// What has gone over a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent (and flushed) by the protocol.
    pub payload_sent: u64,
    /// Bytes received by the protocol.
    pub payload_received: u64,
    /// Bytes written to the socket: handshake, frame headers, heartbeats and encryption included.
    pub wire_sent: u64,
    /// Bytes read from the socket.
    pub wire_received: u64,
}

/// Reads a channel's counters from elsewhere, while the channel is in use.
#[derive(Clone)]
pub struct Meter {
    link: Arc<Link>,
    side: usize,
}

impl Meter {
    /// What has gone over the channel so far.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic(self.side)
    }
}

/// BLAKE3 digests of the payload bytes in each direction. After the same conversation, one side's `sent` is the other
/// side's `received`, however the bytes were cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Of what was sent and flushed.
    pub sent: [u8; 32],
    /// Of what was received by the protocol.
    pub received: [u8; 32],
}

/// The nonces of the two hellos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The one we drew.
    pub mine: [u8; 32],
    /// The one the peer drew.
    pub theirs: [u8; 32],
}

/// What is known of a connection from its beginning.
pub(crate) struct About {
    pub(crate) hello: Hello,
    pub(crate) binding: [u8; 64],
    pub(crate) peer_key: Option<PublicKey>,
    pub(crate) peer_address: Option<SocketAddr>,
}

impl Connection {
    pub(crate) fn new(link: Arc<Link>, side: usize, about: About, threads: Vec<JoinHandle<()>>) -> Self {
        Self { tx: SendHalf::new(link.clone(), side), rx: RecvHalf::new(link, side), about, threads }
    }

    /// Sends bytes. Small pieces are gathered until [`flush`](Self::flush), the next receive, or 64 KiB.
    ///
    /// Waits while the peer does not take what was sent before. If the peer is itself blocked in a large send, what it
    /// sends is taken in meanwhile (up to 1 GiB), so that two sides which both send first and receive afterwards do not
    /// block each other.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.tx.send_inner(bytes, true)
    }

    /// Sends what has been gathered.
    pub fn flush(&mut self) -> Result<(), ChannelError> {
        self.tx.flush_inner(true)
    }

    /// Fills `into` with the next bytes of the stream; flushes first.
    pub fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        self.tx.flush_inner(true)?;
        self.rx.recv_exact(into)
    }

    /// How many bytes can be received without waiting.
    pub fn readable(&self) -> usize {
        self.rx.readable()
    }

    /// The two halves, to be used by two threads at once. They do not flush for each other.
    pub fn split(&mut self) -> (&mut SendHalf, &mut RecvHalf) {
        (&mut self.tx, &mut self.rx)
    }

    /// From this call on, all that is awaited from the peer has to be there within `limit`: neither heartbeats nor
    /// single bytes prolong a wait beyond it ([`ChannelError::Unanswered`]). It lasts until the next such call; none: there is
    /// no limit, as at first. What has arrived is given out at any time.
    pub fn expect_within(&mut self, limit: Option<Duration>) {
        self.rx.link.limit(self.rx.side, limit);
    }

    /// [`expect_within`](Self::expect_within) for a peer that has nothing to compute: all together, from this call on, may
    /// take as long as silence may last.
    pub fn expect_prompt(&mut self, prompt: bool) {
        self.expect_within(self.rx.link.silence().filter(|_| prompt));
    }

    /// Every limit that is set from now on is at most so long: for tests, which cannot wait.
    #[cfg(feature = "testing")]
    pub fn shorten_limits(&mut self, longest: Duration) {
        self.rx.link.shorten_limits(longest);
    }

    /// Has every wait on this channel end when the switch is thrown, besides the one that the channel was made with.
    pub fn obey(&self, cancel: &CancelToken) {
        cancel.watch(&self.tx.link);
    }

    /// Waits for the first frame of the peer's, within the allowed silence.
    pub(crate) fn await_first(&mut self) -> Result<(), ChannelError> {
        self.expect_prompt(true);
        self.rx.link.await_first(self.rx.side)?;
        self.expect_prompt(false);
        Ok(())
    }

    /// Says that this side is done, and waits until the peer says so too. Each side's `done` reaches the other.
    ///
    /// Afterwards everything has been handed to the system; the channel can only be asked and dropped.
    pub fn finish(&mut self, done: &[u8]) -> Result<Vec<u8>, ChannelError> {
        if done.len() > MAX_PAYLOAD {
            return Err(ChannelError::DoneTooLong { length: done.len() });
        }
        self.tx.flush_inner(true)?;
        if self.readable() > 0 {
            return Err(self.rx.fail(ChannelError::LeftoverData));
        }
        self.tx.link.push(self.tx.side, Frame::new(Kind::Done, done), true, true)?;
        let frame = self.rx.link.pop(self.rx.side, Vec::new(), 0)?;
        match frame.kind {
            Kind::Done => {
                self.tx.link.finish(self.tx.side)?;
                Ok(frame.payload().to_vec())
            }
            _ => Err(self.rx.fail(ChannelError::LeftoverData)),
        }
    }

    /// Gives up. The peer is told so, if it can be, and never why; then the connection is closed.
    pub fn abort(&mut self) {
        self.tx.link.abort(self.tx.side, Frame::new(Kind::Abort, &[]));
    }

    /// Declines the conversation that was to follow: the peer gets [`ChannelError::PeerFinished`] where it wants more. Then the
    /// connection is closed. What has come from the peer in the meantime is not looked at.
    pub fn decline(&mut self) {
        // If it fails, the connection is no more.
        drop(self.tx.flush_inner(true));
        self.tx.link.abort(self.tx.side, Frame::new(Kind::Done, DECLINED));
    }

    /// Whether the peer [declined](Self::decline) what was to follow.
    pub fn was_declined(&self) -> bool {
        self.rx.link.was_declined(self.rx.side)
    }

    /// What has gone over the channel so far.
    pub fn traffic(&self) -> Traffic {
        self.tx.link.traffic(self.tx.side)
    }

    /// A reader of [`traffic`](Self::traffic) that outlives every borrow of the channel.
    pub fn meter(&self) -> Meter {
        Meter { link: self.tx.link.clone(), side: self.tx.side }
    }

    /// The transcript digests so far: of what was flushed, and of what was received.
    pub fn digests(&self) -> Digests {
        let sent = self.tx.digest.finalize().into();
        Digests { sent, received: self.rx.digest_taken().finalize().into() }
    }

    /// What binds a session to this connection: 64 bytes that both sides of the same TLS connection have, and no other
    /// connection. In memory and over plaintext a constant.
    pub fn binding(&self) -> &[u8; 64] {
        &self.about.binding
    }

    /// The nonces of the two hellos. In memory constants.
    pub fn hello(&self) -> Hello {
        self.about.hello
    }

    /// The peer's key, proven by TLS.
    pub fn peer_key(&self) -> Option<&PublicKey> {
        self.about.peer_key.as_ref()
    }

    /// The peer's address, over a network.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        self.about.peer_address
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let About { peer_key, peer_address, .. } = &self.about;
        let mut shown = f.debug_struct("Connection");
        shown.field("peer_key", peer_key).field("peer_address", peer_address).finish_non_exhaustive()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tx.link.close(self.tx.side);
        for thread in self.threads.drain(..) {
            // A panic there has closed the connection and is of no more interest.
            let _ = thread.join();
        }
    }
}

impl SendHalf {
    fn new(link: Arc<Link>, side: usize) -> Self {
        Self {
            link,
            side,
            pending: Vec::new(),
            digest: blake3::Hasher::new(),
            payload: 0,
            waits: false,
            failed: None,
        }
    }

    /// As [`Connection::send`], but while it waits nothing is received on the side.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.send_inner(bytes, false)
    }

    /// Sends what has been gathered.
    pub fn flush(&mut self) -> Result<(), ChannelError> {
        self.flush_inner(false)
    }

    /// Fails if the peer has gone or fallen silent: for a long computation that neither sends nor receives.
    pub fn check(&self) -> Result<(), ChannelError> {
        self.link.check(self.side)
    }

    /// As [`Connection::abort`]; a receive that waits in another thread ends too.
    pub fn abort(&mut self) {
        self.link.abort(self.side, Frame::new(Kind::Abort, &[]));
    }

    fn send_inner(&mut self, mut bytes: &[u8], lift: bool) -> Result<(), ChannelError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        while !bytes.is_empty() {
            if self.pending.is_empty() {
                self.pending.extend_from_slice(&[0; HEADER]);
            }
            let gathered = (self.pending.len() - HEADER) as u64;
            let room = FILL - ((self.payload + gathered) % FILL as u64) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.pending.extend_from_slice(now);
            if now.len() == room {
                self.push(lift, false)?;
            }
            bytes = later;
        }
        Ok(())
    }

    fn flush_inner(&mut self, lift: bool) -> Result<(), ChannelError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if !self.pending.is_empty() {
            return self.push(lift, true);
        }
        if std::mem::take(&mut self.waits) {
            self.link.hurry(self.side);
        }
        Ok(())
    }

    /// Sends what has been gathered, which is something; `urgent`: there may be nothing more for a while.
    fn push(&mut self, lift: bool, urgent: bool) -> Result<(), ChannelError> {
        let frame = Frame::seal(Kind::Data, std::mem::take(&mut self.pending));
        self.digest.update(frame.payload());
        self.payload += frame.payload().len() as u64;
        self.link.count_payload_sent(self.side, self.payload);
        self.waits = !urgent;
        let outcome = self.link.push(self.side, frame, lift, urgent);
        self.pending = outcome.inspect_err(|error| self.failed = Some(error.clone()))?;
        self.pending.clear();
        Ok(())
    }
}

impl RecvHalf {
    fn new(link: Arc<Link>, side: usize) -> Self {
        let digest = blake3::Hasher::new();
        Self { link, side, current: Vec::new(), taken: 0, digest, payload: 0 }
    }

    /// As [`Connection::recv_exact`], but flushes nothing.
    pub fn recv_exact(&mut self, mut into: &mut [u8]) -> Result<(), ChannelError> {
        while !into.is_empty() {
            if self.taken == self.current.len() {
                self.next_frame(into.len())?;
            }
            let length = into.len().min(self.current.len() - self.taken);
            let (now, later) = into.split_at_mut(length);
            now.copy_from_slice(&self.current[self.taken..self.taken + length]);
            self.taken += length;
            self.payload += length as u64;
            into = later;
        }
        self.link.count_payload_received(self.side, self.payload);
        Ok(())
    }

    /// How many bytes can be received without waiting.
    pub fn readable(&self) -> usize {
        self.current.len() - self.taken + self.link.waiting(self.side)
    }

    /// The next frame of bytes; `wanted` of them are asked for.
    fn next_frame(&mut self, wanted: usize) -> Result<(), ChannelError> {
        self.digest.update(self.current.get(HEADER..self.taken).unwrap_or_default());
        self.taken = 0;
        let frame = self.link.pop(self.side, std::mem::take(&mut self.current), wanted)?;
        if frame.kind != Kind::Data {
            return Err(self.fail(ChannelError::PeerFinished));
        }
        self.current = frame.bytes;
        self.taken = HEADER;
        Ok(())
    }

    /// The digest of what has been given out. `digest` lags behind by the current frame: the hash is faster on long
    /// inputs.
    fn digest_taken(&self) -> blake3::Hasher {
        let mut digest = self.digest.clone();
        digest.update(self.current.get(HEADER..self.taken).unwrap_or_default());
        digest
    }

    fn fail(&self, error: ChannelError) -> ChannelError {
        self.link.fail(self.side, error)
    }
}

impl vesica_channel::Channel for Connection {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        Connection::send(self, bytes)
    }
    fn flush(&mut self) -> Result<(), ChannelError> {
        Connection::flush(self)
    }
    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        Connection::recv_exact(self, into)
    }
    fn readable(&self) -> usize {
        Connection::readable(self)
    }
    fn split(&mut self) -> (&mut dyn vesica_channel::SendHalf, &mut dyn vesica_channel::RecvHalf) {
        (&mut self.tx, &mut self.rx)
    }
    fn expect_within(&mut self, limit: Option<Duration>) {
        Connection::expect_within(self, limit);
    }
}

impl vesica_channel::SendHalf for SendHalf {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        SendHalf::send(self, bytes)
    }
    fn flush(&mut self) -> Result<(), ChannelError> {
        SendHalf::flush(self)
    }
    fn check(&self) -> Result<(), ChannelError> {
        SendHalf::check(self)
    }
    fn abort(&mut self) {
        SendHalf::abort(self);
    }
}

impl vesica_channel::RecvHalf for RecvHalf {
    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        RecvHalf::recv_exact(self, into)
    }
    fn readable(&self) -> usize {
        RecvHalf::readable(self)
    }
}
