//! One direction of a conversation: a queue of frames with a bound, and what is known of those at its ends.

use std::collections::VecDeque;
use std::time::Instant;

use crate::frame::{Frame, Kind};

/// What remains of a bound that has been lifted.
const LIFTED_BOUND: usize = 1 << 30;
/// Emptied frame buffers kept for the next frames of a lane.
const SPARES: usize = 16;

/// The state of one direction. Whoever reads or changes it holds the lock of the [`Link`](crate::link::Link).
pub(crate) struct Lane {
    pub(crate) frames: VecDeque<Frame>,
    /// Bytes in `frames`, headers included.
    pub(crate) bytes: usize,
    /// DATA payload bytes in `frames`.
    pub(crate) data: usize,
    pub(crate) bound: usize,
    pub(crate) cap: usize,
    /// The consumer cannot consume because it is blocked in a send.
    pub(crate) lifted: bool,
    /// The producer waits for space for a frame of so many bytes.
    pub(crate) stalled: Option<usize>,
    /// When the producer last showed a sign of life.
    pub(crate) heard: Instant,
    /// DONE is in, or was.
    pub(crate) done: bool,
    /// The writer thread ends once it has written all that is in `frames`.
    pub(crate) last: bool,
    /// The writer thread has ended.
    pub(crate) drained: bool,
    /// Nothing more will come in.
    pub(crate) ended: bool,
    /// Nobody will look at the DATA that comes in.
    pub(crate) discard: bool,
    /// The TLS state has something of its own to send.
    pub(crate) kicked: bool,
    pub(crate) spares: Vec<Vec<u8>>,
}

impl Lane {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            bytes: 0,
            data: 0,
            bound,
            cap: LIFTED_BOUND,
            lifted: false,
            stalled: None,
            heard: Instant::now(),
            done: false,
            last: false,
            drained: false,
            ended: false,
            discard: false,
            kicked: false,
            spares: Vec::new(),
        }
    }

    pub(crate) fn accepts(&self, length: usize) -> bool {
        let bound = if self.lifted { self.cap } else { self.bound };
        self.frames.is_empty() || self.discard || self.bytes + length <= bound
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.bytes += frame.bytes.len();
        if frame.kind == Kind::Data {
            self.data += frame.payload().len();
        }
        self.frames.push_back(frame);
    }

    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.bytes.len();
        if frame.kind == Kind::Data {
            self.data -= frame.payload().len();
        }
        Some(frame)
    }

    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        (self.bytes, self.data) = (0, 0);
    }

    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        if self.spares.len() < SPARES && buffer.capacity() > 0 {
            self.spares.push(buffer);
        }
    }
}
