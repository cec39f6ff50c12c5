//! Counting what goes over a transport.

use std::sync::Arc;

use crate::counters::Counters;
use crate::frame::Frame;
use crate::kind::Kind;
use crate::transport::{FrameReceiver, FrameSender, Meanwhile, Result, Urgency};

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
        self.counters.set_payload_received(self.payload);
    }
}

impl<T: FrameSender> FrameSender for Counted<T> {
    fn push(&mut self, frame: Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        if frame.kind == Kind::Data {
            self.payload += frame.payload().len() as u64;
            self.counters.set_payload_sent(self.payload);
        }
        self.inner.push(frame, urgency, meanwhile)
    }

    fn close_with(&mut self, last: Vec<Frame>) {
        self.inner.close_with(last);
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
