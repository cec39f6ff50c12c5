//! The byte stream over a transport: gathers what is sent into frames, and gives out what frames bring.

use std::sync::Arc;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::channel::{Channel, RecvHalf, SendHalf};
use crate::counted::Counted;
use crate::counters::{Counters, Meter, Traffic};
use crate::digested::{Digested, Digests};
use crate::error::ChannelError;
use crate::frame::{Frame, HEADER};
use crate::kind::{Kind, MAX_PAYLOAD};
use crate::queue::DECLINED;
use crate::transport::{Control, FrameReceiver, FrameSender, Meanwhile, Transport, Urgency};

/// Where full frames end in the stream of payload bytes: at its multiples. Longer frames would only leave the processor's
/// caches; ends elsewhere would cut the digests' tree into subtrees too small for its lanes.
const FILL: usize = 64 << 10;

/// A [`Channel`] over a transport, counted and digested.
///
/// Dropping it closes the connection at once; only after [`finish`](Self::finish) is everything sure to have been sent.
pub struct Stream {
    outgoing: Outgoing,
    incoming: Incoming,
    control: Arc<dyn Control>,
    counters: Arc<Counters>,
}

struct Outgoing {
    frames: Counted<Digested<Box<dyn FrameSender>>>,
    control: Arc<dyn Control>,
    /// Room for a header, then the payload so far.
    pending: Vec<u8>,
    /// When the last frame was to leave.
    last: Urgency,
    /// What ended it, so that a send that would only gather bytes reports it, too.
    failed: Option<ChannelError>,
}

struct Incoming {
    frames: Counted<Digested<Box<dyn FrameReceiver>>>,
    control: Arc<dyn Control>,
    current: Vec<u8>,
    /// How far `current` has been given out.
    taken: usize,
}

impl Stream {
    /// The byte stream over this transport.
    pub fn new(transport: Transport) -> Self {
        let Transport { outgoing, incoming, control, counters } = transport;
        let outgoing = Outgoing {
            frames: Counted::new(Digested::new(outgoing), counters.clone()),
            control: control.clone(),
            pending: Vec::new(),
            last: Urgency::Now,
            failed: None,
        };
        let incoming = Incoming {
            frames: Counted::new(Digested::new(incoming), counters.clone()),
            control: control.clone(),
            current: Vec::new(),
            taken: 0,
        };
        Self { outgoing, incoming, control, counters }
    }

    /// Ends the conversation when `token` is cancelled, as does the token that the transport was made with.
    pub fn cancel_on(&self, token: &CancelToken) {
        self.control.cancel_on(token);
    }

    /// Says that this side is done, and waits until the peer says so too. Each side's `done` reaches the other.
    ///
    /// Afterwards everything has been handed to the system; the channel can only be asked and dropped.
    pub fn finish(&mut self, done: &[u8]) -> Result<Vec<u8>, ChannelError> {
        if done.len() > MAX_PAYLOAD {
            return Err(ChannelError::DoneTooLong { length: done.len() });
        }
        self.flush()?;
        if self.readable() > 0 {
            return Err(self.control.fail(ChannelError::LeftoverData));
        }
        self.outgoing.frames.push(Frame::new(Kind::Done, done), Urgency::Now, Meanwhile::TakeIn)?;
        let frame = self.incoming.frames.pop(Vec::new(), 0)?;
        match frame.kind {
            Kind::Done => {
                self.control.finish()?;
                Ok(frame.payload().to_vec())
            }
            _ => Err(self.control.fail(ChannelError::LeftoverData)),
        }
    }

    /// Gives up. The peer is told so, if it can be, and never why; then the connection is closed.
    pub fn abort(&mut self) {
        self.outgoing.abort();
    }

    /// Declines the conversation that was to follow: the peer gets [`ChannelError::PeerFinished`] where it wants more. Then
    /// the connection is closed. What has come from the peer in the meantime is not looked at.
    pub fn decline(&mut self) {
        // If it fails, the connection is no more.
        drop(self.flush());
        self.outgoing.frames.close_with(vec![Frame::new(Kind::Done, DECLINED)]);
    }

    /// Whether the peer [declined](Self::decline) what was to follow.
    pub fn was_declined(&self) -> bool {
        self.control.was_declined()
    }

    /// Fails if the conversation has failed, or the peer has gone or fallen silent.
    pub fn check(&self) -> Result<(), ChannelError> {
        self.control.check()
    }

    /// What has gone over the channel so far.
    pub fn traffic(&self) -> Traffic {
        self.meter().traffic()
    }

    /// A reader of [`traffic`](Self::traffic) that outlives every borrow of the channel.
    pub fn meter(&self) -> Meter {
        Meter(self.counters.clone())
    }

    /// The transcript digests so far: of what was flushed, and of what was received.
    pub fn digests(&self) -> Digests {
        Digests {
            sent: self.outgoing.frames.inner.digest_with(&[]),
            received: self.incoming.frames.inner.digest_with(self.incoming.given_out()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.control.close();
    }
}

impl Channel for Stream {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.outgoing.gather(bytes, Meanwhile::TakeIn)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.outgoing.push_rest(Meanwhile::TakeIn)
    }

    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        self.flush()?;
        self.incoming.recv_exact(into)
    }

    fn readable(&self) -> usize {
        self.incoming.readable()
    }

    fn split(&mut self) -> (&mut dyn SendHalf, &mut dyn RecvHalf) {
        (&mut self.outgoing, &mut self.incoming)
    }

    fn expect_within(&mut self, limit: Option<Duration>) {
        self.control.expect_within(limit);
    }
}

impl SendHalf for Outgoing {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.gather(bytes, Meanwhile::Wait)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.push_rest(Meanwhile::Wait)
    }

    fn check(&self) -> Result<(), ChannelError> {
        self.control.check()
    }

    fn abort(&mut self) {
        self.frames.close_with(vec![Frame::new(Kind::Abort, &[])]);
    }
}

impl Outgoing {
    fn gather(&mut self, mut bytes: &[u8], meanwhile: Meanwhile) -> Result<(), ChannelError> {
        self.check_sticky()?;
        while !bytes.is_empty() {
            if self.pending.is_empty() {
                self.pending.extend_from_slice(&[0; HEADER]);
            }
            let gathered = (self.pending.len() - HEADER) as u64;
            let room = FILL - ((self.frames.payload() + gathered) % FILL as u64) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.pending.extend_from_slice(now);
            if now.len() == room {
                self.push(Urgency::Later, meanwhile)?;
            }
            bytes = later;
        }
        Ok(())
    }

    fn push_rest(&mut self, meanwhile: Meanwhile) -> Result<(), ChannelError> {
        self.check_sticky()?;
        if !self.pending.is_empty() {
            return self.push(Urgency::Now, meanwhile);
        }
        if self.last == Urgency::Later {
            self.last = Urgency::Now;
            self.control.send_now();
        }
        Ok(())
    }

    /// Sends what has been gathered, which is something.
    fn push(&mut self, urgency: Urgency, meanwhile: Meanwhile) -> Result<(), ChannelError> {
        let frame = Frame::seal(Kind::Data, std::mem::take(&mut self.pending));
        self.last = urgency;
        let outcome = self.frames.push(frame, urgency, meanwhile);
        self.pending = outcome.inspect_err(|error| self.failed = Some(error.clone()))?;
        self.pending.clear();
        Ok(())
    }

    fn check_sticky(&self) -> Result<(), ChannelError> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}

impl RecvHalf for Incoming {
    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        let total = into.len();
        let mut rest = into;
        while !rest.is_empty() {
            if self.taken == self.current.len() {
                self.next_frame(rest.len())?;
            }
            let length = rest.len().min(self.current.len() - self.taken);
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(&self.current[self.taken..self.taken + length]);
            self.taken += length;
            rest = later;
        }
        self.frames.given_out(total);
        Ok(())
    }

    fn readable(&self) -> usize {
        self.current.len() - self.taken + self.frames.waiting()
    }
}

impl Incoming {
    /// The next frame of bytes; `wanted` of them are asked for.
    fn next_frame(&mut self, wanted: usize) -> Result<(), ChannelError> {
        self.taken = 0;
        let frame = self.frames.pop(std::mem::take(&mut self.current), wanted)?;
        if frame.kind != Kind::Data {
            return Err(self.control.fail(ChannelError::PeerFinished));
        }
        self.current = frame.bytes;
        self.taken = HEADER;
        Ok(())
    }

    /// What has been given out of the current frame.
    fn given_out(&self) -> &[u8] {
        self.current.get(HEADER..self.taken).unwrap_or_default()
    }
}
