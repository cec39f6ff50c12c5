//! Two channels connected inside a process: the same frames and digests as over a network, without threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::{CancelToken, Cancellable};
use crate::counters::Counters;
use crate::error::ChannelError;
use crate::frame::Frame;
use crate::kind::Kind;
use crate::limit::Limit;
use crate::queue::{FrameQueue, Wake};
use crate::signal::Signal;
use crate::stream::Stream;
use crate::transport::{Control, FrameReceiver, FrameSender, Meanwhile, Result, Transport, Urgency};

/// Frames that wait unread, in bytes, before their sender has to wait.
const BOUND: usize = 8 << 20;

/// Two ends of one conversation. There is no limit on silence here: an end waits until the other sends, or is dropped.
///
/// One thread may drive both ends as long as no more than 8 MiB wait to be received.
pub fn pair() -> (Stream, Stream) {
    pair_under(&CancelToken::new())
}

/// A [`pair`] whose conversation ends when the token is cancelled.
pub fn pair_under(cancel: &CancelToken) -> (Stream, Stream) {
    let (one, two) = transports(cancel);
    (Stream::new(one), Stream::new(two))
}

/// The two ends of what a [`pair`] stands on, to be decorated.
pub fn transports(cancel: &CancelToken) -> (Transport, Transport) {
    transports_with_room(cancel, 0)
}

/// As [`transports`]; so many bytes more may wait.
pub(crate) fn transports_with_room(cancel: &CancelToken, more: usize) -> (Transport, Transport) {
    let queue = || FrameQueue::new(BOUND + more);
    let shared = Shared::new([queue(), queue()], cancel);
    (Side::transport(&shared, 0), Side::transport(&shared, 1))
}

/// What both sides share. Side `s` sends on queue `s` and receives on queue `1 - s`.
///
/// A side that is blocked in a send lifts the bound of its incoming queue, so that the other can go on; a cap remains.
/// The first failure of a side is what all its later calls report.
struct Shared {
    state: Mutex<State>,
    /// Per queue: a frame came in, or none will.
    filled: [Signal; 2],
    /// Per queue: a frame was taken out, or none will be.
    room: [Signal; 2],
    counters: [Arc<Counters>; 2],
    cancel: CancelToken,
}

struct State {
    queues: [FrameQueue; 2],
    /// Per side: what ended it. A side that has ended sends nothing more.
    ended: [Option<ChannelError>; 2],
    /// Per side: until when what it awaits has to be there.
    limits: [Option<Limit>; 2],
}

/// How a wait ended; the lock is still held.
type Waited<'a> = std::result::Result<MutexGuard<'a, State>, (MutexGuard<'a, State>, ChannelError)>;

/// One of the two sides.
#[derive(Clone)]
struct Side {
    shared: Arc<Shared>,
    me: usize,
}

impl Shared {
    fn new(queues: [FrameQueue; 2], cancel: &CancelToken) -> Arc<Self> {
        let state = State { queues, ended: [None, None], limits: [None, None] };
        let shared = Arc::new(Self {
            state: Mutex::new(state),
            filled: Default::default(),
            room: Default::default(),
            counters: Default::default(),
            cancel: cancel.clone(),
        });
        cancel.watch(&shared);
        shared
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, state: &mut State, side: usize, error: ChannelError) -> ChannelError {
        if let Some(error) = &state.ended[side] {
            return error.clone();
        }
        // Two channels may share a token. The close of one can reach the other before the cancellation does; report the
        // cancellation.
        let error = if self.cancel.is_cancelled() { ChannelError::Cancelled } else { error };
        state.ended[side] = Some(error.clone());
        self.filled.iter().chain(&self.room).for_each(Signal::notify);
        error
    }
}

impl State {
    fn may_send(&self, side: usize, kind: Kind) -> Result<()> {
        let done = self.queues[1 - side].said_done();
        match (&self.ended[side], &self.ended[1 - side]) {
            (Some(error), _) => Err(error.clone()),
            (None, _) if kind == Kind::Data && done => Err(ChannelError::PeerFinished),
            (None, Some(_)) if !done => Err(ChannelError::Closed),
            (None, _) => Ok(()),
        }
    }

    /// Whether both sides are blocked in sends and hold as much as they may: nothing will ever move.
    fn is_deadlocked(&self) -> bool {
        self.queues.iter().all(|queue| queue.is_lifted() && queue.is_stuck())
    }
}

impl Cancellable for Shared {
    fn cancel(&self) {
        let mut state = self.lock();
        for side in 0..2 {
            self.fail(&mut state, side, ChannelError::Cancelled);
        }
    }
}

impl Side {
    fn transport(shared: &Arc<Shared>, me: usize) -> Transport {
        let side = Self { shared: shared.clone(), me };
        Transport {
            outgoing: Box::new(side.clone()),
            incoming: Box::new(side.clone()),
            control: Arc::new(side),
            counters: shared.counters[me].clone(),
        }
    }

    /// Waits on a condition, within the limit on what this side awaits.
    fn wait<'a>(&self, signal: &Signal, state: MutexGuard<'a, State>) -> Waited<'a> {
        let Some(limit) = state.limits[self.me] else { return Ok(signal.wait(state)) };
        let (mut state, in_time) = signal.wait_until(state, limit.at());
        if in_time || state.limits[self.me].as_mut().is_some_and(Limit::grace) {
            return Ok(state);
        }
        Err((state, limit.error()))
    }

    /// Waits until the outgoing queue takes a frame.
    fn wait_for_room<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        (kind, length): (Kind, usize),
        meanwhile: Meanwhile,
    ) -> Waited<'a> {
        let (me, other) = (self.me, 1 - self.me);
        loop {
            if let Err(error) = state.may_send(me, kind) {
                return Err((state, error));
            }
            if state.queues[me].accepts(length) {
                return Ok(state);
            }
            self.shared.filled[me].notify();
            state.queues[me].stall(length);
            if meanwhile == Meanwhile::TakeIn && state.queues[other].lift() {
                self.shared.room[other].notify();
            }
            if state.is_deadlocked() {
                let limit = state.queues[other].lifted_bound() as u64;
                return Err((state, ChannelError::Deadlock { limit }));
            }
            state = self.wait(&self.shared.room[me], state)?;
        }
    }

    /// Puts a frame into the outgoing queue, or acts on it; whether the other side is to be woken.
    fn deliver(&self, state: &mut State, frame: Frame) -> Wake {
        let [mine, theirs] = [self.me, 1 - self.me].map(|side| &self.shared.counters[side]);
        mine.add_wire_sent(frame.bytes.len());
        theirs.add_wire_received(frame.bytes.len());
        state.queues[self.me].deliver(frame).unwrap_or_else(|error| {
            self.shared.fail(state, 1 - self.me, error);
            Wake::Later
        })
    }
}

impl FrameSender for Side {
    /// Urgency has no meaning here: there is no writer thread. The receiver is woken once the bytes it wants are there.
    fn push(&mut self, frame: Frame, _: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        let waited = self.wait_for_room(self.shared.lock(), (frame.kind, frame.bytes.len()), meanwhile);
        let (mut state, failed) = match waited {
            Ok(state) => (state, None),
            Err((state, error)) => (state, Some(error)),
        };
        state.queues[self.me].resume();
        if meanwhile == Meanwhile::TakeIn {
            state.queues[1 - self.me].lower();
        }
        if let Some(error) = failed {
            return Err(self.shared.fail(&mut state, self.me, error));
        }
        let wake = self.deliver(&mut state, frame);
        let spare = state.queues[self.me].spare();
        drop(state);
        if wake == Wake::Now {
            self.shared.filled[self.me].notify();
        }
        Ok(spare)
    }

    fn close_with(&mut self, last: Vec<Frame>) {
        let mut state = self.shared.lock();
        if state.ended[self.me].is_none() {
            for frame in last {
                self.deliver(&mut state, frame);
            }
            self.shared.fail(&mut state, self.me, ChannelError::Aborted);
        }
    }
}

impl FrameReceiver for Side {
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Result<Frame> {
        let other = 1 - self.me;
        let mut state = self.shared.lock();
        state.queues[other].recycle(spent);
        state.queues[other].want(wanted);
        loop {
            if let Some(error) = &state.ended[self.me] {
                return Err(error.clone());
            }
            if let Some(frame) = state.queues[other].pop() {
                if state.queues[other].is_half_free() && state.queues[other].resume() {
                    self.shared.room[other].notify();
                }
                return Ok(frame);
            }
            if state.ended[other].is_some() {
                return Err(self.shared.fail(&mut state, self.me, ChannelError::Closed));
            }
            state = self
                .wait(&self.shared.filled[other], state)
                .map_err(|(mut state, error)| self.shared.fail(&mut state, self.me, error))?;
        }
    }

    fn waiting(&self) -> usize {
        self.shared.lock().queues[1 - self.me].waiting()
    }
}

impl Control for Side {
    fn send_now(&self) {
        self.shared.filled[self.me].notify();
    }

    fn check(&self) -> Result<()> {
        let mut state = self.shared.lock();
        let gone = state.ended[1 - self.me].is_some() && !state.queues[1 - self.me].said_done();
        match &state.ended[self.me] {
            Some(error) => Err(error.clone()),
            None if gone => Err(self.shared.fail(&mut state, self.me, ChannelError::Closed)),
            None => Ok(()),
        }
    }

    fn expect_within(&self, limit: Option<Duration>) {
        self.shared.lock().limits[self.me] = limit.map(Limit::of);
    }

    fn pause_until(&self, moment: Instant) -> Result<()> {
        let mut state = self.shared.lock();
        loop {
            if let Some(error) = &state.ended[self.me] {
                return Err(error.clone());
            }
            let (guard, more) = self.shared.filled[1 - self.me].wait_until(state, moment);
            state = guard;
            if !more {
                return Ok(());
            }
        }
    }

    fn fail(&self, error: ChannelError) -> ChannelError {
        self.shared.fail(&mut self.shared.lock(), self.me, error)
    }

    fn was_declined(&self) -> bool {
        self.shared.lock().queues[1 - self.me].declined()
    }

    fn cancel_on(&self, token: &CancelToken) {
        token.watch(&self.shared);
    }

    fn finish(&self) -> Result<()> {
        match self.fail(ChannelError::Finished) {
            ChannelError::Finished => Ok(()),
            error => Err(error),
        }
    }

    fn close(&self) {
        self.fail(ChannelError::Finished);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const SMALL: usize = 1000;

    #[test]
    fn two_sides_that_only_send_are_stopped() {
        let queue = || FrameQueue::with_bounds(SMALL, 3 * SMALL);
        let shared = Shared::new([queue(), queue()], &CancelToken::new());
        let push_until_error = |me| {
            let mut side = Side { shared: shared.clone(), me };
            loop {
                let frame = Frame::new(Kind::Data, &[0; SMALL / 2]);
                if let Err(error) = side.push(frame, Urgency::Later, Meanwhile::TakeIn) {
                    return error;
                }
            }
        };
        let mut errors = thread::scope(|scope| {
            let other = scope.spawn(|| push_until_error(1));
            [push_until_error(0), other.join().unwrap()]
        });
        errors.sort_by_key(|error| *error == ChannelError::Closed);
        assert_eq!(errors, [ChannelError::Deadlock { limit: 3 * SMALL as u64 }, ChannelError::Closed]);
    }
}
