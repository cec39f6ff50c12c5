//! One direction of a conversation: a queue of frames with a bound, and what is known of those at its ends.

use std::collections::VecDeque;
use std::time::Instant;

use crate::air::Air;
use crate::shaped::Network;
use vesica_channel::{Frame, Kind};

/// What remains of a bound that has been lifted.
const LIFTED_BOUND: usize = 1 << 30;
/// Emptied frame buffers kept for the next frames of a lane.
const SPARES: usize = 16;

/// The state of one direction. Whoever reads or changes it holds the lock of the [`Link`](crate::link::Link).
pub(crate) struct Lane {
    pub(crate) frames: VecDeque<Frame>,
    /// In a shaped memory pair: frames that have not arrived yet.
    air: Option<Air<Frame>>,
    /// Bytes in `frames` and `air`, headers included.
    pub(crate) bytes: usize,
    /// DATA payload bytes in `frames`.
    data: usize,
    pub(crate) bound: usize,
    pub(crate) cap: usize,
    /// For fewer bytes than these the consumer is not woken.
    pub(crate) wanted: usize,
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
    /// The DONE declined the conversation.
    pub(crate) declined: bool,
    /// The TLS state has something of its own to send.
    pub(crate) kicked: bool,
    pub(crate) spares: Vec<Vec<u8>>,
}

impl Lane {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            air: None,
            bytes: 0,
            data: 0,
            bound,
            cap: LIFTED_BOUND,
            wanted: 0,
            lifted: false,
            stalled: None,
            heard: Instant::now(),
            done: false,
            last: false,
            drained: false,
            ended: false,
            discard: false,
            declined: false,
            kicked: false,
            spares: Vec::new(),
        }
    }

    pub(crate) fn accepts(&self, length: usize) -> bool {
        let bound = if self.lifted { self.cap } else { self.bound };
        self.bytes == 0 || self.discard || self.bytes + length <= bound
    }

    /// Puts a network in front of the lane, and room for what that holds.
    pub(crate) fn shape(&mut self, network: Network) {
        let air = Air::new(network, Instant::now());
        self.bound += air.capacity();
        self.air = Some(air);
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        let length = frame.bytes.len();
        self.bytes += length;
        match &mut self.air {
            Some(air) => air.push(Instant::now(), length, frame),
            None => self.land(frame),
        }
    }

    /// When there is more to pop; none if nothing is under way.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.air.as_ref()?.next_arrival()
    }

    /// DATA payload bytes that wait to be taken.
    pub(crate) fn waiting(&mut self) -> usize {
        self.arrive();
        self.data
    }

    fn arrive(&mut self) {
        while let Some(frame) = self.air.as_mut().and_then(|air| air.pop(Instant::now())) {
            self.land(frame);
        }
    }

    fn land(&mut self, frame: Frame) {
        if frame.kind == Kind::Data {
            self.data += frame.payload().len();
        }
        self.frames.push_back(frame);
    }

    pub(crate) fn pop(&mut self) -> Option<Frame> {
        self.arrive();
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.bytes.len();
        if frame.kind == Kind::Data {
            self.data -= frame.payload().len();
        }
        Some(frame)
    }

    /// Moves up to so many frames to an empty batch.
    pub(crate) fn take(&mut self, most: usize, batch: &mut VecDeque<Frame>) {
        if self.frames.len() <= most {
            std::mem::swap(batch, &mut self.frames);
            self.clear();
        } else {
            batch.extend((0..most).map_while(|_| self.pop()));
        }
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
