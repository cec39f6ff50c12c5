//! What the channel does with its connection: sends, receives, ends.

use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use vesica_channel::transport::{Control, FrameReceiver, FrameSender, Meanwhile, Result, Urgency};
use vesica_channel::{CancelToken, Cancellable, ChannelError, Frame, GRACE, Kind, Limit, Signal, Wake};

use super::{LINGER, SocketTransport, State, WriterState};

/// The channel's hold on the connection.
#[derive(Clone)]
pub(crate) struct End(pub(crate) Arc<SocketTransport>);

/// How a wait ended; the lock is still held.
type Waited<'a> = std::result::Result<MutexGuard<'a, State>, (MutexGuard<'a, State>, ChannelError)>;

impl State {
    fn may_send(&self, kind: Kind) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if kind == Kind::Data && self.incoming.said_done() => Err(ChannelError::PeerFinished),
            None if self.peer_gone() => Err(ChannelError::Closed),
            None => Ok(()),
        }
    }

    fn peer_gone(&self) -> bool {
        self.reader_ended && !self.incoming.said_done()
    }
}

impl SocketTransport {
    /// Waits on a condition, as long as the peer may take.
    fn wait<'a>(
        &self,
        signal: &Signal,
        state: MutexGuard<'a, State>,
        started: Instant,
        meanwhile: Meanwhile,
    ) -> Waited<'a> {
        let silence = self.end_of_silence(&state, started, meanwhile);
        let limit = state.limit.filter(|limit| limit.at() < silence);
        let (mut state, in_time) = signal.wait_until(state, limit.map_or(silence, |limit| limit.at()));
        if in_time || limit.is_some() && state.limit.as_mut().is_some_and(Limit::grace) {
            return Ok(state);
        }
        Err((state, limit.map_or_else(|| self.silent(), |limit| limit.error())))
    }

    /// Waits until the outgoing queue takes a frame.
    fn wait_for_room<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        (kind, length): (Kind, usize),
        meanwhile: Meanwhile,
    ) -> Waited<'a> {
        let mut started = None;
        loop {
            if let Err(error) = state.may_send(kind) {
                return Err((state, error));
            }
            if state.outgoing.accepts(length) {
                return Ok(state);
            }
            let started = *started.get_or_insert_with(Instant::now);
            self.to_write.notify();
            state.outgoing.stall(length);
            if meanwhile == Meanwhile::TakeIn && state.incoming.lift() {
                self.readable.notify();
            }
            let overfull = meanwhile == Meanwhile::TakeIn && state.incoming.is_stuck();
            let deadlock = ChannelError::Deadlock { limit: state.incoming.lifted_bound() as u64 };
            state = self
                .wait(&self.sendable, state, started, meanwhile)
                .map_err(|(state, error)| (state, if overfull { deadlock } else { error }))?;
        }
    }

    /// Waits until a frame is there, and leaves it where it is.
    pub(crate) fn await_frame(&self) -> Result<()> {
        let outcome = self.wait_for_frame(self.lock(), 0).map(drop);
        // What came before a failure is there.
        if self.lock().incoming.is_empty() { outcome } else { Ok(()) }
    }

    fn wait_for_frame<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        wanted: usize,
    ) -> Result<MutexGuard<'a, State>> {
        state.incoming.want(wanted);
        let mut started = None;
        loop {
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            if !state.incoming.is_empty() {
                return Ok(state);
            }
            if state.reader_ended {
                return Err(self.fail_locked(&mut state, ChannelError::Closed));
            }
            let started = *started.get_or_insert_with(Instant::now);
            state = self
                .wait(&self.arrived, state, started, Meanwhile::Wait)
                .map_err(|(mut state, error)| self.fail_locked(&mut state, error))?;
        }
    }

    /// Waits until both threads have ended of their own accord: all is sent, and the peer has closed its direction, so
    /// that nothing of what was sent is lost to a reset.
    fn linger<'a>(&self, mut state: MutexGuard<'a, State>, deadline: Instant) -> MutexGuard<'a, State> {
        while !(state.closed || state.writer == WriterState::Ended && state.reader_ended) {
            let (guard, more) = self.sendable.wait_until(state, deadline);
            state = guard;
            if !more {
                break;
            }
        }
        state
    }

    /// Nothing is sent any more but these frames, and nothing that comes is looked at.
    fn say_last(&self, state: &mut State, last: Vec<Frame>) {
        if last.iter().any(|frame| frame.kind == Kind::Abort) {
            state.outgoing.clear();
        }
        last.into_iter().for_each(|frame| state.outgoing.push(frame));
        if state.writer == WriterState::Running {
            state.writer = WriterState::Draining;
        }
        state.incoming.clear();
        state.incoming.discard();
        self.wake_all();
    }

    /// Closes the connection. After a proper end, and after its own, the peer gets a moment to read it. Who was cancelled
    /// waits no longer for a simulated network than for a real one.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        let done = state.outgoing.said_done() && state.incoming.said_done();
        let cancelled = state.cancelled.map(|cancelled| cancelled + LINGER);
        let deadline = cancelled.or_else(|| done.then(|| Instant::now() + self.linger));
        if let Some(deadline) = deadline.filter(|_| !state.closed) {
            state.incoming.discard();
            self.readable.notify();
            state = self.linger(state, deadline);
        }
        self.fail_locked(&mut state, ChannelError::Finished);
        self.shut(&mut state);
    }
}

impl Cancellable for SocketTransport {
    /// The peer is told, so that it need not find out by its own limits. Who has said that it is done says nothing more.
    fn cancel(&self) {
        let mut state = self.lock();
        if state.failed.is_some() || state.outgoing.said_done() {
            self.fail_locked(&mut state, ChannelError::Cancelled);
            return;
        }
        state.failed = Some(ChannelError::Cancelled);
        state.cancelled = Some(Instant::now());
        self.say_last(&mut state, vec![Frame::new(Kind::Abort, &[])]);
    }
}

impl FrameSender for End {
    fn push(&mut self, frame: Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        let transport = &*self.0;
        let waited = transport.wait_for_room(transport.lock(), (frame.kind, frame.bytes.len()), meanwhile);
        let (mut state, failed) = match waited {
            Ok(state) => (state, None),
            Err((state, error)) => (state, Some(error)),
        };
        state.outgoing.resume();
        if meanwhile == Meanwhile::TakeIn {
            state.incoming.lower();
        }
        if let Some(error) = failed {
            return Err(transport.fail_locked(&mut state, error));
        }
        let wake = transport.send_frame(&mut state, frame);
        let spare = state.outgoing.spare();
        drop(state);
        if wake == Wake::Now || urgency == Urgency::Now {
            transport.to_write.notify();
        }
        Ok(spare)
    }

    fn close_with(&mut self, last: Vec<Frame>) {
        let transport = &*self.0;
        let mut state = transport.lock();
        if state.failed.is_some() {
            return;
        }
        state.failed = Some(ChannelError::Aborted);
        transport.say_last(&mut state, last);
        drop(transport.linger(state, Instant::now() + transport.linger));
        transport.close();
    }
}

impl FrameReceiver for End {
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Result<Frame> {
        let transport = &*self.0;
        let mut state = transport.lock();
        state.incoming.recycle(spent);
        loop {
            state = transport.wait_for_frame(state, wanted)?;
            let Some(frame) = state.incoming.pop() else { continue };
            let room = state.incoming.is_half_free() && state.incoming.resume();
            if room {
                state.heard = Instant::now();
            }
            drop(state);
            if room {
                transport.readable.notify();
            }
            return Ok(frame);
        }
    }

    fn waiting(&self) -> usize {
        self.0.lock().incoming.waiting()
    }
}

impl Control for End {
    fn send_now(&self) {
        self.0.to_write.notify();
    }

    /// Waits only where the peer seems silent, and no longer than a moment: after the whole process stood still the reader
    /// thread is to look first.
    fn check(&self) -> Result<()> {
        let transport = &*self.0;
        let mut state = transport.lock();
        state.incoming.want(0);
        let mut grace = None;
        loop {
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            if state.peer_gone() {
                return Err(transport.fail_locked(&mut state, ChannelError::Closed));
            }
            let heard = state.heard;
            if transport.end_of_silence(&state, heard, Meanwhile::Wait) >= Instant::now() {
                return Ok(());
            }
            let until = *grace.get_or_insert_with(|| Instant::now() + transport.silence.min(GRACE));
            let (guard, more) = transport.arrived.wait_until(state, until);
            state = guard;
            if !more {
                return Err(transport.fail_locked(&mut state, transport.silent()));
            }
        }
    }

    fn expect_within(&self, limit: Option<Duration>) {
        self.0.lock().limit = limit.map(Limit::of);
    }

    fn pause_until(&self, moment: Instant) -> Result<()> {
        let mut state = self.0.lock();
        loop {
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            let (guard, more) = self.0.arrived.wait_until(state, moment);
            state = guard;
            if !more {
                return Ok(());
            }
        }
    }

    fn fail(&self, error: ChannelError) -> ChannelError {
        self.0.fail(error)
    }

    fn was_declined(&self) -> bool {
        self.0.lock().incoming.declined()
    }

    fn cancel_on(&self, token: &CancelToken) {
        token.watch(&self.0);
    }

    fn finish(&self) -> Result<()> {
        let transport = &*self.0;
        let mut state = transport.lock();
        let deadline = Instant::now() + transport.silence;
        while state.writer != WriterState::Ended {
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            let (guard, more) = transport.sendable.wait_until(state, deadline);
            state = guard;
            if !more {
                return Err(transport.fail_locked(&mut state, transport.silent()));
            }
        }
        match &state.failed {
            Some(error) => Err(error.clone()),
            None => {
                state.failed = Some(ChannelError::Finished);
                Ok(())
            }
        }
    }

    fn close(&self) {
        self.0.close();
        self.0.join_threads();
    }
}
