//! What the two threads of a connection do with its queues: the writer empties the outgoing one, the reader fills the
//! incoming one.

use std::collections::VecDeque;
use std::time::Instant;

use vesica_channel::{ChannelError, Frame, WAKE_BYTES, Wake};

use super::{GATHERING, LINGER, SocketTransport, WriterState};

/// What the writer thread has to do next.
pub(crate) enum WriterTask {
    /// Send the frames of the batch.
    Frames,
    /// Send what the TLS state has to say for itself.
    TlsOutput,
    /// The time is up.
    TimedOut,
    /// Everything has been sent, and the peer says no more: close the sending direction.
    Last,
    /// End at once.
    Closed,
}

/// How the writer thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// All is sent, or nothing more is to be.
    All,
    /// It could not send.
    Failed,
}

impl SocketTransport {
    /// Waits for something to send, no longer than `until`; up to `most` frames are moved to `batch`. The buffers in
    /// `spent` go back.
    pub(crate) fn next_outgoing(
        &self,
        batch: &mut VecDeque<Frame>,
        spent: &mut Vec<Vec<u8>>,
        most: usize,
        until: Instant,
    ) -> WriterTask {
        let mut state = self.lock();
        // Without shaping: right after a batch more is to be expected.
        let mut gathering = !spent.is_empty() && most > 1;
        spent.drain(..).for_each(|buffer| state.outgoing.recycle(buffer));
        loop {
            if state.closed {
                return WriterTask::Closed;
            }
            if most > 0 && !state.outgoing.is_empty() {
                state.outgoing.take(most, batch);
                self.sendable.notify();
                return WriterTask::Frames;
            }
            if std::mem::take(&mut state.tls_has_output) {
                return WriterTask::TlsOutput;
            }
            if most > 0 && state.writer == WriterState::Draining && state.may_close() {
                return WriterTask::Last;
            }
            if std::mem::take(&mut gathering) {
                state.outgoing.want(WAKE_BYTES);
                state = self.to_write.wait_timeout(state, GATHERING);
                state.outgoing.want(0);
                continue;
            }
            let (guard, more) = self.to_write.wait_until(state, until);
            state = guard;
            if !more {
                return WriterTask::TimedOut;
            }
        }
    }

    /// Whether more may be said: there was no last frame yet.
    pub(crate) fn is_talking(&self) -> bool {
        self.lock().writer == WriterState::Running
    }

    /// The TLS state has something to send that is no frame.
    pub(crate) fn wake_writer(&self) {
        self.lock().tls_has_output = true;
        self.to_write.notify();
    }

    pub(crate) fn count_sent(&self, bytes: usize) {
        self.counters.add_wire_sent(bytes);
    }

    /// The writer thread has ended.
    pub(crate) fn outgoing_ended(&self, how: Sent) {
        let mut state = self.lock();
        if how == Sent::Failed {
            // Why the peer closed (an ABORT perhaps) may still be on its way to us: let the reader find it first.
            state.incoming.discard();
            self.readable.notify();
            let deadline = Instant::now() + LINGER;
            while !state.closed && !state.reader_ended {
                let (guard, more) = self.arrived.wait_until(state, deadline);
                state = guard;
                if !more {
                    break;
                }
            }
            self.fail_locked(&mut state, ChannelError::Closed);
        }
        state.writer = WriterState::Ended;
        self.wake_all();
    }

    pub(crate) fn count_received(&self, bytes: usize) {
        self.counters.add_wire_received(bytes);
    }

    /// The reader thread has something that the peer said.
    pub(crate) fn heard(&self) {
        self.lock().heard = Instant::now();
    }

    /// The reader thread hands a frame over and gets a buffer for the next; none: it is to end.
    pub(crate) fn incoming(&self, frame: Frame) -> Option<Vec<u8>> {
        let mut state = self.lock();
        while !state.closed && !state.incoming.accepts(frame.bytes.len()) {
            state.incoming.stall(frame.bytes.len());
            self.arrived.notify();
            state = self.readable.wait(state);
        }
        if state.incoming.resume() {
            state.heard = Instant::now();
        }
        if state.closed {
            return None;
        }
        let wake = state.incoming.deliver(frame).unwrap_or_else(|error| {
            self.fail_locked(&mut state, error);
            Wake::Later
        });
        let spare = if state.closed { None } else { Some(state.incoming.spare()) };
        let done = state.incoming.said_done();
        drop(state);
        if wake == Wake::Now {
            self.arrived.notify();
        }
        if done {
            self.to_write.notify();
        }
        spare
    }

    /// The reader thread has ended; `error`: what was wrong with what it read.
    pub(crate) fn incoming_ended(&self, error: Option<ChannelError>) {
        let mut state = self.lock();
        if let Some(error) = error {
            self.fail_locked(&mut state, error);
        }
        state.reader_ended = true;
        self.wake_all();
    }
}
