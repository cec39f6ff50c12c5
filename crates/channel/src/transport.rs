//! What a [`Stream`](crate::Stream) stands on: something that carries frames.
//!
//! A transport has a sending end, a receiving end and a control, because two threads may use the ends at once. Decorators
//! such as [`Digested`](crate::digested::Digested) wrap an end; they pass frames by value, so that nothing is copied.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use crate::counters::Counters;
use crate::error::ChannelError;
use crate::frame::Frame;

/// What a call to a transport gives.
pub type Result<T> = std::result::Result<T, ChannelError>;

/// One party's end of whatever carries the frames of a conversation.
pub struct Transport {
    /// Where it sends.
    pub outgoing: Box<dyn FrameSender>,
    /// Where it receives.
    pub incoming: Box<dyn FrameReceiver>,
    /// What concerns both.
    pub control: Arc<dyn Control>,
    /// What has gone over it. The transport counts bytes on the wire, the stream payload.
    pub counters: Arc<Counters>,
}

/// What the sender does while there is no room for its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// It is the one who receives, too: what the peer sends is taken in, so that two blocked senders go on.
    TakeIn,
    /// It waits; somebody else receives.
    Wait,
}

/// When a frame is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// At once: there may be nothing more for a while.
    Now,
    /// Together with others: more is to come, or [`Control::send_now`] will be called.
    Later,
}

/// The sending end.
pub trait FrameSender: Send {
    /// Sends a frame, waits until there is room for it, and returns an emptied buffer for the next one.
    fn push(&mut self, frame: Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>>;

    /// Ends the conversation with these frames, which go out if it still stands. What waits is dropped before an ABORT and
    /// goes out before a DONE.
    fn close_with(&mut self, last: Vec<Frame>);
}

/// The receiving end.
pub trait FrameReceiver: Send {
    /// Takes the next frame, DATA or DONE, and gives back a buffer that is no longer needed. The caller has nothing to do
    /// before `wanted` bytes are there, or DONE.
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Result<Frame>;

    /// DATA payload bytes that wait to be taken.
    fn waiting(&self) -> usize;
}

/// What concerns both ends of a transport.
pub trait Control: Send + Sync {
    /// What was pushed for [`Urgency::Later`] is to go out.
    fn send_now(&self);

    /// Fails if the conversation has failed, or the peer has gone or fallen silent.
    fn check(&self) -> Result<()>;

    /// As [`Channel::expect_within`](crate::Channel::expect_within).
    fn expect_within(&self, limit: Option<Duration>);

    /// Waits until then, whatever arrives.
    fn pause_until(&self, moment: Instant) -> Result<()>;

    /// Ends the conversation with this error, or returns the one that ended it before.
    fn fail(&self, error: ChannelError) -> ChannelError;

    /// Whether the peer's DONE [declined](crate::Stream::decline) the conversation.
    fn was_declined(&self) -> bool;

    /// Ends the conversation when `token` is cancelled.
    fn cancel_on(&self, token: &CancelToken);

    /// After both sides' DONE: waits until everything is out of our hands. Nothing can be sent or received afterwards.
    fn finish(&self) -> Result<()>;

    /// Closes the connection. After a proper end the peer gets a moment to read it.
    fn close(&self);
}

impl<T: FrameSender + ?Sized> FrameSender for Box<T> {
    fn push(&mut self, frame: Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        (**self).push(frame, urgency, meanwhile)
    }

    fn close_with(&mut self, last: Vec<Frame>) {
        (**self).close_with(last);
    }
}

impl<T: FrameReceiver + ?Sized> FrameReceiver for Box<T> {
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Result<Frame> {
        (**self).pop(spent, wanted)
    }

    fn waiting(&self) -> usize {
        (**self).waiting()
    }
}
