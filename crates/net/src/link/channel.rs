//! What a channel does with its link: sends, receives, ends.

use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use super::{GRACE, HANDED_OVER, HERE, LONGEST, Limit, Link, State, THERE, Transport};
use vesica_channel::ChannelError;
use vesica_channel::{Frame, Kind};

impl Link {
    /// Sends a frame and returns an emptied buffer for the next one. `lift`: the caller is also the one who receives;
    /// `urgent`: there may be nothing more for a while.
    pub(crate) fn push(
        &self,
        side: usize,
        frame: Frame,
        lift: bool,
        urgent: bool,
    ) -> Result<Vec<u8>, ChannelError> {
        #[cfg(feature = "testing")]
        if self.tap.is_some() {
            for frame in self.through_tap(side, frame) {
                self.push_one(side, frame, lift, urgent)?;
            }
            return Ok(Vec::new());
        }
        self.push_one(side, frame, lift, urgent)
    }

    #[cfg(feature = "testing")]
    fn through_tap(&self, side: usize, frame: Frame) -> Vec<Frame> {
        match &self.tap {
            Some(tap) => tap.lock().unwrap_or_else(std::sync::PoisonError::into_inner)(side, frame),
            None => vec![frame],
        }
    }

    #[cfg(not(feature = "testing"))]
    fn through_tap(&self, _: usize, frame: Frame) -> Vec<Frame> {
        vec![frame]
    }

    fn push_one(&self, side: usize, frame: Frame, lift: bool, urgent: bool) -> Result<Vec<u8>, ChannelError> {
        let mut state = self.lock();
        let mut started = None;
        let outcome = loop {
            if let Err(error) = state.may_send(side, frame.kind) {
                break Err(error);
            }
            if state.lanes[side].accepts(frame.bytes.len()) {
                break Ok(());
            }
            let started = *started.get_or_insert_with(Instant::now);
            self.filled[side].notify();
            if lift && !state.lanes[1 - side].lifted {
                state.lanes[1 - side].lifted = true;
                self.space[1 - side].notify();
            }
            match self.wait_for_space(state, side, frame.bytes.len(), started, lift) {
                (guard, None) => state = guard,
                (guard, Some(error)) => {
                    state = guard;
                    break Err(error);
                }
            }
        };
        if started.is_some() {
            state.lanes[1 - side].lifted = false;
            state.lanes[side].stalled = None;
        }
        match outcome {
            Ok(()) => {
                let wake = self.deliver(&mut state, side, frame, urgent);
                let spare = state.lanes[side].spares.pop().unwrap_or_default();
                drop(state);
                if wake {
                    self.filled[side].notify();
                }
                Ok(spare)
            }
            Err(error) => Err(self.fail_locked(&mut state, side, error)),
        }
    }

    /// What was sent without haste is to go out.
    pub(crate) fn hurry(&self, side: usize) {
        self.filled[side].notify();
    }

    fn wait_for_space<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        side: usize,
        length: usize,
        started: Instant,
        lift: bool,
    ) -> (MutexGuard<'a, State>, Option<ChannelError>) {
        state.lanes[side].stalled = Some(length);
        let end = self.end_of_wait(&state, side, started, lift);
        let incoming = &state.lanes[1 - side];
        let overfull = lift && incoming.stalled.is_some_and(|wanted| !incoming.accepts(wanted));
        let deadlock = ChannelError::Deadlock { limit: incoming.cap as u64 };
        // In memory the other side is in sight: if it is blocked like this one, nothing will ever move.
        let memory = matches!(self.transport, Transport::Memory);
        if memory && overfull && state.lanes[side].lifted && !state.lanes[side].accepts(length) {
            return (state, Some(deadlock));
        }
        match end {
            None => (self.space[side].wait(state), None),
            Some((deadline, reason)) => match self.wait_until(&self.space[side], state, deadline) {
                (state, true) => (state, None),
                (mut state, false) => {
                    let graced = state.grace(side, &reason);
                    let error = if overfull { deadlock } else { reason };
                    (state, Some(error).filter(|_| !graced))
                }
            },
        }
    }

    /// Takes the next frame, DATA or DONE, and gives back a buffer that is no longer needed. `wanted`: the caller has
    /// nothing to do before so many bytes are there, or DONE.
    pub(crate) fn pop(&self, side: usize, spent: Vec<u8>, wanted: usize) -> Result<Frame, ChannelError> {
        let lane = 1 - side;
        let mut state = self.lock();
        state.lanes[lane].recycle(spent);
        state.lanes[lane].wanted = wanted.min(HANDED_OVER);
        let mut started = None;
        loop {
            if let Some(error) = &state.failed[side] {
                return Err(error.clone());
            }
            if let Some(frame) = state.lanes[lane].pop() {
                let lane_state = &mut state.lanes[lane];
                let room = lane_state.bytes <= lane_state.bound / 2 && lane_state.stalled.take().is_some();
                if room {
                    lane_state.heard = Instant::now();
                }
                drop(state);
                if room {
                    self.space[lane].notify();
                }
                return Ok(frame);
            }
            if let Some(arrival) = state.lanes[lane].next_arrival() {
                state = self.wait_until(&self.filled[lane], state, arrival).0;
                continue;
            }
            if state.lanes[lane].ended {
                return Err(self.fail_locked(&mut state, side, ChannelError::Closed));
            }
            let started = *started.get_or_insert_with(Instant::now);
            state = self.wait_for_more(state, side, started)?;
        }
    }

    /// Waits until something may have come in.
    fn wait_for_more<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        side: usize,
        started: Instant,
    ) -> Result<MutexGuard<'a, State>, ChannelError> {
        let filled = &self.filled[1 - side];
        let Some((deadline, reason)) = self.end_of_wait(&state, side, started, false) else {
            return Ok(filled.wait(state));
        };
        match self.wait_until(filled, state, deadline) {
            (state, true) => Ok(state),
            (mut state, false) => {
                if state.grace(side, &reason) {
                    return Ok(state);
                }
                Err(self.fail_locked(&mut state, side, reason))
            }
        }
    }

    /// Waits for the first frame, and leaves it where it is.
    pub(crate) fn await_first(&self, side: usize) -> Result<(), ChannelError> {
        let started = Instant::now();
        let mut state = self.lock();
        state.lanes[1 - side].wanted = 0;
        loop {
            if !state.lanes[1 - side].frames.is_empty() {
                return Ok(());
            }
            if let Some(error) = &state.failed[side] {
                return Err(error.clone());
            }
            if state.lanes[1 - side].ended {
                return Err(self.fail_locked(&mut state, side, ChannelError::Closed));
            }
            state = self.wait_for_more(state, side, started)?;
        }
    }

    /// Fails if the conversation has failed, the peer has gone, or it has been silent for too long. Waits only in the last
    /// case, and no longer than a moment: after the whole process stood still the reader thread is to look first.
    pub(crate) fn check(&self, side: usize) -> Result<(), ChannelError> {
        let mut state = self.lock();
        state.lanes[1 - side].wanted = 0;
        let mut grace = None;
        loop {
            let incoming = &state.lanes[1 - side];
            let gone = incoming.ended && !incoming.done;
            let overdue =
                self.deadline(incoming, incoming.heard, false).filter(|(end, _)| *end < Instant::now());
            let (error, silence) = match (&state.failed[side], gone, overdue) {
                (Some(error), ..) => return Err(error.clone()),
                (None, true, _) => return Err(self.fail_locked(&mut state, side, ChannelError::Closed)),
                (None, false, None) => return Ok(()),
                (None, false, Some((_, silence))) => (ChannelError::Silent { after: silence }, silence),
            };
            let until = *grace.get_or_insert_with(|| Instant::now() + silence.min(GRACE));
            let (guard, more) = self.wait_until(&self.filled[1 - side], state, until);
            state = guard;
            if !more {
                return Err(self.fail_locked(&mut state, side, error));
            }
        }
    }

    /// From now on what a side awaits has to be there within so long, heartbeats or not; none: there is no limit.
    pub(crate) fn limit(&self, side: usize, length: Option<Duration>) {
        let mut state = self.lock();
        #[cfg(feature = "testing")]
        let length = length.map(|length| state.longest.map_or(length, |longest| length.min(longest)));
        let limit = |length: Duration| {
            let length = length.min(LONGEST);
            Limit { at: Instant::now() + length, length, graced: false }
        };
        state.limits[side] = length.map(limit);
    }

    /// What silence is allowed on a connection; there is no limit in memory.
    pub(crate) fn silence(&self) -> Option<Duration> {
        match self.transport {
            Transport::Memory => None,
            Transport::Socket { silence, .. } => Some(silence),
        }
    }

    /// No limit that is set from now on is longer.
    #[cfg(feature = "testing")]
    pub(crate) fn shorten_limits(&self, longest: Duration) {
        self.lock().longest = Some(longest);
    }

    /// DATA payload bytes that wait to be taken.
    pub(crate) fn waiting(&self, side: usize) -> usize {
        self.lock().lanes[1 - side].waiting()
    }

    /// Waits until the writer thread has handed everything to the system, then lets the side do nothing more.
    pub(crate) fn finish(&self, side: usize) -> Result<(), ChannelError> {
        let mut state = self.lock();
        if let Transport::Socket { silence, .. } = &self.transport {
            let deadline = Instant::now() + *silence;
            while !state.lanes[HERE].drained {
                if let Some(error) = &state.failed[side] {
                    return Err(error.clone());
                }
                let (guard, more) = self.wait_until(&self.space[HERE], state, deadline);
                state = guard;
                if !more {
                    return Err(self.fail_locked(&mut state, side, ChannelError::Silent { after: *silence }));
                }
            }
        }
        match &state.failed[side] {
            Some(error) => Err(error.clone()),
            None => {
                state.failed[side] = Some(ChannelError::Finished);
                Ok(())
            }
        }
    }

    /// Whether the peer's DONE declined the conversation.
    pub(crate) fn was_declined(&self, side: usize) -> bool {
        self.lock().lanes[1 - side].declined
    }

    /// Gives up: a frame that says so goes out if the connection still stands, and that is all. What waits is dropped before an
    /// ABORT, and goes out before a DONE.
    pub(crate) fn abort(&self, side: usize, with: Frame) {
        let kind = with.kind;
        let frames = self.through_tap(side, with);
        let mut state = self.lock();
        if state.failed[side].is_some() {
            return;
        }
        if matches!(self.transport, Transport::Memory) {
            for frame in frames {
                self.deliver(&mut state, side, frame, true);
            }
            self.fail_locked(&mut state, side, ChannelError::Aborted);
            return;
        }
        state.failed[side] = Some(ChannelError::Aborted);
        if kind == Kind::Abort {
            state.lanes[HERE].clear();
        }
        frames.into_iter().for_each(|frame| state.lanes[HERE].push(frame));
        state.lanes[HERE].last = true;
        state.lanes[THERE].clear();
        state.lanes[THERE].discard = true;
        self.wake_all();
        drop(self.linger(state));
        self.close(side);
    }

    /// The channel goes away. After a proper end the peer gets a moment to read it.
    pub(crate) fn close(&self, side: usize) {
        let mut state = self.lock();
        if state.lanes[HERE].done && state.lanes[THERE].done && !state.closed {
            state.lanes[THERE].discard = true;
            self.space[THERE].notify();
            state = self.linger(state);
        }
        self.fail_locked(&mut state, side, ChannelError::Finished);
        self.shut(&mut state, side);
    }

    /// Waits until both threads have ended of their own accord: all is sent, and the peer has closed its direction, so
    /// that nothing of what was sent is lost to a reset.
    fn linger<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let Transport::Socket { linger, .. } = self.transport else { return state };
        let deadline = Instant::now() + linger;
        while !(state.closed || state.lanes[HERE].drained && state.lanes[THERE].ended) {
            let (guard, more) = self.wait_until(&self.space[HERE], state, deadline);
            state = guard;
            if !more {
                break;
            }
        }
        state
    }
}
