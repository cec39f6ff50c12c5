//! What has gone over a channel, in numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

    /// So many payload bytes have been sent so far.
    pub(crate) fn set_payload_sent(&self, total: u64) {
        self.payload_sent.store(total, Relaxed);
    }

    /// So many payload bytes have been given to the protocol so far.
    pub(crate) fn set_payload_received(&self, total: u64) {
        self.payload_received.store(total, Relaxed);
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
