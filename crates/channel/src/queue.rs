//! One direction of a conversation: a queue of frames with a bound, and what is known of those at its ends.

use std::collections::VecDeque;

use crate::error::ChannelError;
use crate::frame::Frame;
use crate::kind::Kind;

/// The bound while the consumer is blocked in a send of its own.
const LIFTED_BOUND: usize = 1 << 30;
/// Emptied buffers kept for the next frames of a queue.
const SPARES: usize = 16;
/// A consumer that waits for more bytes than these is woken once they are there: waking costs as much as copying some ten
/// thousand bytes.
pub const WAKE_BYTES: usize = 256 << 10;

/// What a DONE says that declines the conversation.
pub(crate) const DECLINED: &[u8] = b"declined";

/// Frames on their way from a producer to a consumer. Whoever uses it holds the lock under which it stands.
pub struct FrameQueue {
    frames: VecDeque<Frame>,
    /// Bytes in `frames`, headers included.
    bytes: usize,
    /// DATA payload bytes in `frames`.
    data: usize,
    bound: usize,
    lifted_bound: usize,
    /// For fewer bytes than these the consumer is not woken.
    wanted: usize,
    consumer: Consumer,
    /// The producer waits for space for a frame of so many bytes.
    stalled: Option<usize>,
    said: Said,
    spares: Vec<Vec<u8>>,
}

/// What the consumer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consumer {
    /// It takes frames out, or will.
    Reads,
    /// It cannot before its own blocked send goes on, so the bound is lifted.
    BlockedInSend,
    /// It will look at no DATA any more.
    Gone,
}

/// What the producer has said of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Done,
    /// A DONE that declined the conversation.
    Declined,
}

/// Whether the consumer of a queue is to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// What it waits for is there.
    Now,
    /// It waits for more.
    Later,
}

impl FrameQueue {
    /// An empty queue; its producer waits while more bytes than `bound` would be in it.
    pub fn new(bound: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            bytes: 0,
            data: 0,
            bound,
            lifted_bound: LIFTED_BOUND,
            wanted: 0,
            consumer: Consumer::Reads,
            stalled: None,
            said: Said::Nothing,
            spares: Vec::new(),
        }
    }

    /// As [`new`](Self::new), with a bound of its own while the consumer is blocked: for tests, which have less memory.
    pub fn with_bounds(bound: usize, lifted_bound: usize) -> Self {
        Self { lifted_bound, ..Self::new(bound) }
    }

    // ---- for the producer -------------------------------------------------------------------------------------------

    /// Whether there is room for a frame of so many bytes.
    pub fn accepts(&self, length: usize) -> bool {
        self.bytes == 0
            || match self.consumer {
                Consumer::Reads => self.bytes + length <= self.bound,
                Consumer::BlockedInSend => self.bytes + length <= self.lifted_bound,
                Consumer::Gone => true,
            }
    }

    /// Puts a frame in, or acts on it. The error is the consumer's: a frame that no honest producer sends.
    pub fn deliver(&mut self, frame: Frame) -> Result<Wake, ChannelError> {
        let length = frame.payload().len();
        match frame.kind {
            Kind::Heartbeat => return Ok(Wake::Later),
            Kind::Data if self.consumer == Consumer::Gone => return Ok(Wake::Later),
            _ if self.said_done() => return Err(ChannelError::AfterDone),
            Kind::Abort => return Err(ChannelError::PeerAborted),
            kind => kind.check(length)?,
        }
        match frame.kind {
            Kind::Done if frame.payload() == DECLINED => self.said = Said::Declined,
            Kind::Done => self.said = Said::Done,
            _ => {}
        }
        self.push(frame);
        Ok(if self.said_done() || self.bytes >= self.wanted { Wake::Now } else { Wake::Later })
    }

    /// Puts a frame in, whatever it is: the last one of a conversation that ends here.
    pub fn push(&mut self, frame: Frame) {
        self.bytes += frame.bytes.len();
        if frame.kind == Kind::Data {
            self.data += frame.payload().len();
        }
        self.frames.push_back(frame);
    }

    /// The producer waits for space for a frame of so many bytes.
    pub fn stall(&mut self, length: usize) {
        self.stalled = Some(length);
    }

    /// The producer waits no longer; whether it did.
    pub fn resume(&mut self) -> bool {
        self.stalled.take().is_some()
    }

    /// Whether the producer waits.
    pub fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    /// Whether the producer waits for space that there is not.
    pub fn is_stuck(&self) -> bool {
        self.stalled.is_some_and(|length| !self.accepts(length))
    }

    /// A buffer for the producer's next frame.
    pub fn spare(&mut self) -> Vec<u8> {
        self.spares.pop().unwrap_or_default()
    }

    // ---- for the consumer -------------------------------------------------------------------------------------------

    /// The consumer has nothing to do before so many bytes are there, or DONE.
    pub fn want(&mut self, bytes: usize) {
        self.wanted = bytes.min(WAKE_BYTES);
    }

    /// The next frame.
    pub fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.bytes.len();
        if frame.kind == Kind::Data {
            self.data -= frame.payload().len();
        }
        Some(frame)
    }

    /// Moves up to so many frames to an empty batch.
    pub fn take(&mut self, most: usize, batch: &mut VecDeque<Frame>) {
        if self.frames.len() <= most {
            std::mem::swap(batch, &mut self.frames);
            self.clear();
        } else {
            batch.extend((0..most).map_while(|_| self.pop()));
        }
    }

    /// Keeps a buffer that is no longer needed for the producer.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        if self.spares.len() < SPARES && buffer.capacity() > 0 {
            self.spares.push(buffer);
        }
    }

    /// The consumer is blocked in a send of its own: lifts the bound. Whether it was not lifted before.
    pub fn lift(&mut self) -> bool {
        let lifts = self.consumer == Consumer::Reads;
        if lifts {
            self.consumer = Consumer::BlockedInSend;
        }
        lifts
    }

    /// The consumer's send is over.
    pub fn lower(&mut self) {
        if self.is_lifted() {
            self.consumer = Consumer::Reads;
        }
    }

    /// Whether the bound is lifted.
    pub fn is_lifted(&self) -> bool {
        self.consumer == Consumer::BlockedInSend
    }

    /// The bound while it is lifted.
    pub fn lifted_bound(&self) -> usize {
        self.lifted_bound
    }

    /// The consumer will look at no DATA any more.
    pub fn discard(&mut self) {
        self.consumer = Consumer::Gone;
    }

    /// Whether half of the bound is free, so that waking the producer is worth it.
    pub fn is_half_free(&self) -> bool {
        self.bytes <= self.bound / 2
    }

    /// Drops the frames.
    pub fn clear(&mut self) {
        self.frames.clear();
        (self.bytes, self.data) = (0, 0);
    }

    // ---- for both ---------------------------------------------------------------------------------------------------

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes that wait to be taken, headers included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// DATA payload bytes that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.data
    }

    /// Whether DONE is in, or was.
    pub fn said_done(&self) -> bool {
        self.said != Said::Nothing
    }

    /// Whether the DONE declined the conversation.
    pub fn declined(&self) -> bool {
        self.said == Said::Declined
    }
}
