//! Frames that a test alters, drops, replaces or reorders on their way. Only with the feature `testing`.

use std::sync::{Arc, Mutex, PoisonError};

use crate::cancel::CancelToken;
use crate::frame::{self, HEADER};
use crate::kind::Kind;
use crate::memory;
use crate::stream::Stream;
use crate::transport::{FrameSender, Meanwhile, Result, Transport, Urgency};

/// Which of a pair a frame comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the first channel to the second.
    FirstToSecond,
    /// From the second channel to the first.
    SecondToFirst,
}

/// A frame on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is for.
    pub kind: Kind,
    /// What it carries.
    pub payload: Vec<u8>,
}

type Tap = Arc<Mutex<dyn FnMut(Direction, Frame) -> Vec<Frame> + Send>>;

/// A sending end whose every frame goes through a tap, which returns the frames that arrive in its place.
struct Tampered<S> {
    inner: S,
    direction: Direction,
    tap: Tap,
}

impl<S> Tampered<S> {
    fn arriving(&self, mut frame: frame::Frame) -> Vec<frame::Frame> {
        let payload = frame.bytes.split_off(HEADER);
        let mut tap = self.tap.lock().unwrap_or_else(PoisonError::into_inner);
        let frames = (*tap)(self.direction, Frame { kind: frame.kind, payload });
        frames.into_iter().map(|frame| frame::Frame::new(frame.kind, &frame.payload)).collect()
    }
}

impl<S: FrameSender> FrameSender for Tampered<S> {
    fn push(&mut self, frame: frame::Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        for frame in self.arriving(frame) {
            self.inner.push(frame, urgency, meanwhile)?;
        }
        Ok(Vec::new())
    }

    fn close_with(&mut self, last: Vec<frame::Frame>) {
        let last = last.into_iter().flat_map(|frame| self.arriving(frame)).collect();
        self.inner.close_with(last);
    }
}

/// A [pair](memory::pair) whose every frame goes through `tap`, which returns the frames that arrive in its place.
pub fn pair(tap: impl FnMut(Direction, Frame) -> Vec<Frame> + Send + 'static) -> (Stream, Stream) {
    pair_under(&CancelToken::new(), tap)
}

/// As [`pair`]; cancelling the token ends the conversation.
pub fn pair_under(
    cancel: &CancelToken,
    tap: impl FnMut(Direction, Frame) -> Vec<Frame> + Send + 'static,
) -> (Stream, Stream) {
    let tap: Tap = Arc::new(Mutex::new(tap));
    let (one, two) = memory::transports(cancel);
    let tampered = |transport: Transport, direction| {
        let outgoing = Box::new(Tampered { inner: transport.outgoing, direction, tap: tap.clone() });
        Stream::new(Transport { outgoing, ..transport })
    };
    (tampered(one, Direction::FirstToSecond), tampered(two, Direction::SecondToFirst))
}
