//! Digests of what goes over a transport.

use crate::frame::{Frame, HEADER};
use crate::kind::Kind;
use crate::transport::{FrameReceiver, FrameSender, Meanwhile, Result, Urgency};

/// BLAKE3 digests of the payload bytes in each direction. After the same conversation, one side's `sent` is the other
/// side's `received`, however the bytes were cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Of what was sent and flushed.
    pub sent: [u8; 32],
    /// Of what was received by the protocol.
    pub received: [u8; 32],
}

/// An end of a transport whose DATA payloads are digested: when they leave, or when they have been taken. Frames are
/// hashed as a whole, since BLAKE3 is faster on long inputs.
pub struct Digested<T> {
    pub(crate) inner: T,
    hasher: blake3::Hasher,
}

impl<T> Digested<T> {
    /// Digests what goes through `inner`.
    pub fn new(inner: T) -> Self {
        Self { inner, hasher: blake3::Hasher::new() }
    }

    /// The digest so far, with these bytes after it.
    pub fn digest_with(&self, more: &[u8]) -> [u8; 32] {
        self.hasher.clone().update(more).finalize().into()
    }
}

impl<T: FrameSender> FrameSender for Digested<T> {
    fn push(&mut self, frame: Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        if frame.kind == Kind::Data {
            self.hasher.update(frame.payload());
        }
        self.inner.push(frame, urgency, meanwhile)
    }

    fn close_with(&mut self, last: Vec<Frame>) {
        self.inner.close_with(last);
    }
}

impl<T: FrameReceiver> FrameReceiver for Digested<T> {
    /// `spent` is the frame that has been taken.
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Result<Frame> {
        self.hasher.update(spent.get(HEADER..).unwrap_or_default());
        self.inner.pop(spent, wanted)
    }

    fn waiting(&self) -> usize {
        self.inner.waiting()
    }
}
