//! What the two threads of a connection do with its link: the writer empties the outgoing lane, the reader fills the
//! incoming one.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use super::{GATHERING, HANDED_OVER, HERE, LINGER, Link, THERE};
use vesica_channel::ChannelError;
use vesica_channel::Frame;

/// What the writer thread has to do next.
pub(crate) enum Outgoing {
    /// Send the frames of the batch.
    Frames,
    /// Send what the TLS state has to say for itself.
    Kick,
    /// The time is up.
    Waited,
    /// Everything has been sent: close the sending direction.
    Last,
    /// End at once.
    Closed,
}

impl Link {
    /// Waits for something to send, no longer than `until`; up to `most` frames are moved to `batch`. The buffers in
    /// `spent` go back.
    pub(crate) fn next_outgoing(
        &self,
        batch: &mut VecDeque<Frame>,
        spent: &mut Vec<Vec<u8>>,
        most: usize,
        until: Instant,
    ) -> Outgoing {
        let mut state = self.lock();
        // Without shaping: right after a batch more is to be expected.
        let mut gathering = !spent.is_empty() && most > 1;
        for buffer in spent.drain(..) {
            state.lanes[HERE].recycle(buffer);
        }
        loop {
            if state.closed {
                return Outgoing::Closed;
            }
            let lane = &mut state.lanes[HERE];
            if most > 0 && !lane.frames.is_empty() {
                lane.take(most, batch);
                self.space[HERE].notify();
                return Outgoing::Frames;
            }
            if std::mem::take(&mut lane.kicked) {
                return Outgoing::Kick;
            }
            if most > 0 && lane.last {
                return Outgoing::Last;
            }
            if std::mem::take(&mut gathering) {
                lane.wanted = HANDED_OVER;
                state = self.filled[HERE].wait_timeout(state, GATHERING);
                state.lanes[HERE].wanted = 0;
                continue;
            }
            let (guard, more) = self.wait_until(&self.filled[HERE], state, until);
            state = guard;
            if !more {
                return Outgoing::Waited;
            }
        }
    }

    /// The TLS state has something to send that is no frame.
    pub(crate) fn kick(&self) {
        self.lock().lanes[HERE].kicked = true;
        self.filled[HERE].notify();
    }

    pub(crate) fn count_sent(&self, bytes: usize) {
        self.wire[HERE].fetch_add(bytes as u64, Relaxed);
    }

    /// The writer thread has ended; `failed`: it could not send.
    pub(crate) fn outgoing_ended(&self, failed: bool) {
        let mut state = self.lock();
        if failed {
            // Why the peer closed (an ABORT perhaps) may still be on its way to us: let the reader find it first.
            state.lanes[THERE].discard = true;
            self.space[THERE].notify();
            let deadline = Instant::now() + LINGER;
            while !state.closed && !state.lanes[THERE].ended {
                let (guard, more) = self.wait_until(&self.filled[THERE], state, deadline);
                state = guard;
                if !more {
                    break;
                }
            }
            self.fail_locked(&mut state, HERE, ChannelError::Closed);
        }
        state.lanes[HERE].drained = true;
        self.wake_all();
    }

    /// The reader thread took bytes from the socket.
    pub(crate) fn heard(&self, bytes: usize) {
        self.wire[THERE].fetch_add(bytes as u64, Relaxed);
        self.lock().lanes[THERE].heard = Instant::now();
    }

    /// The reader thread hands a frame over and gets a buffer for the next; none: it is to end.
    pub(crate) fn incoming(&self, frame: Frame) -> Option<Vec<u8>> {
        let mut state = self.lock();
        while !state.closed && !state.lanes[THERE].accepts(frame.bytes.len()) {
            state.lanes[THERE].stalled = Some(frame.bytes.len());
            self.filled[THERE].notify();
            state = self.space[THERE].wait(state);
        }
        let lane = &mut state.lanes[THERE];
        if lane.stalled.take().is_some() {
            lane.heard = Instant::now();
        }
        let wake = !state.closed && self.deliver(&mut state, THERE, frame, false);
        let spare =
            if state.closed { None } else { Some(state.lanes[THERE].spares.pop().unwrap_or_default()) };
        drop(state);
        if wake {
            self.filled[THERE].notify();
        }
        spare
    }

    /// The reader thread has ended; `error`: what was wrong with what it read.
    pub(crate) fn incoming_ended(&self, error: Option<ChannelError>) {
        let mut state = self.lock();
        if let Some(error) = error {
            self.fail_locked(&mut state, HERE, error);
        }
        state.lanes[THERE].ended = true;
        self.wake_all();
    }
}
