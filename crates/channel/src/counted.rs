//! Counting what goes over a transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::frame::{Frame, Kind};
use crate::transport::{FrameReceiver, FrameSender, Meanwhile, Result, Urgency};

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

/// The counters of one party's end.
#[derive(Default)]
pub struct Counters {
    payload_sent: AtomicU64,
    payload_received: AtomicU64,
    wire_sent: AtomicU64,
    wire_received: AtomicU64,
}

impl Counters {
    /// So many bytes went out, frame headers and all else included.
    pub fn add_wire_sent(&self, bytes: usize) {
        self.wire_sent.fetch_add(bytes as u64, Relaxed);
    }

    /// So many bytes came in, frame headers and all else included.
    pub fn add_wire_received(&self, bytes: usize) {
        self.wire_received.fetch_add(bytes as u64, Relaxed);
    }
}

/// Reads a channel's counters from elsewhere, while the channel is in use.
#[derive(Clone)]
pub struct Meter(pub(crate) Arc<Counters>);

impl Meter {
    /// What has gone over the channel so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            payload_sent: self.0.payload_sent.load(Relaxed),
            payload_received: self.0.payload_received.load(Relaxed),
            wire_sent: self.0.wire_sent.load(Relaxed),
            wire_received: self.0.wire_received.load(Relaxed),
        }
    }
}

/// An end of a transport whose payload is counted.
pub struct Counted<T> {
    pub(crate) inner: T,
    counters: Arc<Counters>,
    payload: u64,
}

impl<T> Counted<T> {
    /// Counts what goes through `inner`.
    pub fn new(inner: T, counters: Arc<Counters>) -> Self {
        Self { inner, counters, payload: 0 }
    }

    /// Payload bytes so far.
    pub fn payload(&self) -> u64 {
        self.payload
    }
}

impl<T: FrameReceiver> Counted<T> {
    /// So many payload bytes of the frames have been given to the protocol.
    pub fn given_out(&mut self, bytes: usize) {
        self.payload += bytes as u64;
        self.counters.payload_received.store(self.payload, Relaxed);
    }
}

impl<T: FrameSender> FrameSender for Counted<T> {
    fn push(&mut self, frame: Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        if frame.kind == Kind::Data {
            self.payload += frame.payload().len() as u64;
            self.counters.payload_sent.store(self.payload, Relaxed);
        }
        self.inner.push(frame, urgency, meanwhile)
    }

    fn leave(&mut self, last: Vec<Frame>) {
        self.inner.leave(last);
    }
}

impl<T: FrameReceiver> FrameReceiver for Counted<T> {
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Result<Frame> {
        self.inner.pop(spent, wanted)
    }

    fn waiting(&self) -> usize {
        self.inner.waiting()
    }
}
