//! What the two ends of a conversation share: two bounded lanes of frames under one lock.
//!
//! ```text
//!             lane 0                                      lane 0
//!   side 0 ──────────► side 1            channel ───────────► writer thread ──► socket
//!          ◄──────────                           ◄─────────── reader thread ◄──
//!             lane 1                                      lane 1
//!       a memory pair: both sides               a connection: side 0 is the channel,
//!           are channels                         the threads stand in for side 1
//! ```
//!
//! Side `s` sends on lane `s` and receives on lane `1 - s`.
//!
//! * **No deadlock.** A side that is blocked in a send lifts the bound of its incoming lane, so that whoever feeds that
//!   lane can go on; a cap remains. Only an unsplit channel does so: with two halves somebody else is receiving.
//! * **Silence** is measured from the last byte that the reader took from the socket. While the reader cannot take
//!   any because the incoming lane is full, the clock stands still: the fault is ours, not the peer's.
//! * **Errors stick.** The first failure of a side is what all its later calls report.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Options;
use crate::cancel::CancelToken;
use crate::channel::Traffic;
use crate::error::NetError;
use crate::frame::{Frame, Kind};
use crate::lane::Lane;

/// The side and lane of the channel on a connection.
pub(crate) const HERE: usize = 0;
/// The side and lane of the threads on a connection.
pub(crate) const THERE: usize = 1;

/// Frames that wait unread, in bytes, before their sender has to wait.
const INCOMING_BOUND: usize = 8 << 20;
/// Frames that wait for the writer thread. Small, so that what is written is still in the processor's cache.
const OUTGOING_BOUND: usize = 1 << 20;
/// A wait lasts at least this long (or the allowed silence, if shorter): after the whole process stood still, the
/// reader thread first gets a chance to find what arrived meanwhile.
const GRACE: Duration = Duration::from_secs(1);
/// How long a side that ends waits for the other to take note, where nothing depends on it any more.
const LINGER: Duration = Duration::from_secs(1);

#[cfg(feature = "testing")]
pub(crate) type Tap = Box<dyn FnMut(usize, Frame) -> Vec<Frame> + Send>;

pub(crate) struct Link {
    state: Mutex<State>,
    /// Per lane: a frame came in, or none will.
    filled: [Condvar; 2],
    /// Per lane: a frame was taken out, or none will be.
    space: [Condvar; 2],
    /// Bytes per lane, frame headers and encryption included.
    wire: [AtomicU64; 2],
    /// Per side: DATA payload bytes flushed, and given out.
    payload_sent: [AtomicU64; 2],
    payload_received: [AtomicU64; 2],
    transport: Transport,
    cancel: CancelToken,
    #[cfg(feature = "testing")]
    tap: Option<Mutex<Tap>>,
}

enum Transport {
    Memory,
    Socket { socket: TcpStream, silence: Duration },
}

struct State {
    lanes: [Lane; 2],
    failed: [Option<NetError>; 2],
    /// The threads of a connection are to end at once.
    closed: bool,
}

/// What the writer thread has to do next.
pub(crate) enum Outgoing {
    /// Send the frames of the batch.
    Frames,
    /// Send what the TLS state has to say for itself.
    Kick,
    /// Nothing was sent for a while: send a heartbeat.
    Idle,
    /// Everything has been sent: close the sending direction.
    Last,
    /// End at once.
    Closed,
}

impl Link {
    pub(crate) fn memory(options: &Options) -> Self {
        Self::new(Transport::Memory, INCOMING_BOUND, options)
    }

    #[cfg(feature = "testing")]
    pub(crate) fn tapped(tap: Tap, options: &Options) -> Self {
        Self { tap: Some(Mutex::new(tap)), ..Self::memory(options) }
    }

    /// `wire_sent` and `wire_received` went over the socket before, in the handshake.
    pub(crate) fn socket(socket: TcpStream, wire_sent: u64, wire_received: u64, options: &Options) -> Self {
        let transport = Transport::Socket { socket, silence: options.limit() };
        let link = Self::new(transport, OUTGOING_BOUND, options);
        link.wire[HERE].store(wire_sent, Relaxed);
        link.wire[THERE].store(wire_received, Relaxed);
        link
    }

    fn new(transport: Transport, bound: usize, options: &Options) -> Self {
        let lanes = [Lane::new(bound), Lane::new(INCOMING_BOUND)];
        Self {
            state: Mutex::new(State { lanes, failed: [None, None], closed: false }),
            filled: Default::default(),
            space: Default::default(),
            wire: Default::default(),
            payload_sent: Default::default(),
            payload_received: Default::default(),
            transport,
            cancel: options.cancel.clone(),
            #[cfg(feature = "testing")]
            tap: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- what a channel does ------------------------------------------------------------------------------------

    /// Sends a frame and returns an emptied buffer for the next one. `lift`: the caller is also the one who receives.
    pub(crate) fn push(&self, side: usize, frame: Frame, lift: bool) -> Result<Vec<u8>, NetError> {
        #[cfg(feature = "testing")]
        if self.tap.is_some() {
            for frame in self.through_tap(side, frame) {
                self.push_one(side, frame, lift)?;
            }
            return Ok(Vec::new());
        }
        self.push_one(side, frame, lift)
    }

    #[cfg(feature = "testing")]
    fn through_tap(&self, side: usize, frame: Frame) -> Vec<Frame> {
        match &self.tap {
            Some(tap) => tap.lock().unwrap_or_else(PoisonError::into_inner)(side, frame),
            None => vec![frame],
        }
    }

    #[cfg(not(feature = "testing"))]
    fn through_tap(&self, _: usize, frame: Frame) -> Vec<Frame> {
        vec![frame]
    }

    fn push_one(&self, side: usize, frame: Frame, lift: bool) -> Result<Vec<u8>, NetError> {
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
            if lift && !state.lanes[1 - side].lifted {
                state.lanes[1 - side].lifted = true;
                self.space[1 - side].notify_all();
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
                self.deliver(&mut state, side, frame);
                Ok(state.lanes[side].spares.pop().unwrap_or_default())
            }
            Err(error) => Err(self.fail_locked(&mut state, side, error)),
        }
    }

    fn wait_for_space<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        side: usize,
        length: usize,
        started: Instant,
        lift: bool,
    ) -> (MutexGuard<'a, State>, Option<NetError>) {
        state.lanes[side].stalled = Some(length);
        let incoming = &state.lanes[1 - side];
        let overfull = lift && incoming.stalled.is_some_and(|wanted| !incoming.accepts(wanted));
        let deadlock = NetError::Deadlock { limit: incoming.cap as u64 };
        match self.deadline(incoming, started, lift) {
            // In memory the other side is in sight: if it is blocked like this one, nothing will ever move.
            None if overfull && state.lanes[side].lifted && !state.lanes[side].accepts(length) => {
                (state, Some(deadlock))
            }
            None => (self.space[side].wait(state).unwrap_or_else(PoisonError::into_inner), None),
            Some((deadline, silence)) => match self.wait_until(&self.space[side], state, deadline) {
                (state, true) => (state, None),
                (state, false) if overfull => (state, Some(deadlock)),
                (state, false) => (state, Some(NetError::Silent { after: silence })),
            },
        }
    }

    /// Takes the next frame, DATA or DONE, and gives back a buffer that is no longer needed.
    pub(crate) fn pop(&self, side: usize, spent: Vec<u8>) -> Result<Frame, NetError> {
        let lane = 1 - side;
        let mut state = self.lock();
        state.lanes[lane].recycle(spent);
        let mut started = None;
        loop {
            if let Some(error) = &state.failed[side] {
                return Err(error.clone());
            }
            if let Some(frame) = state.lanes[lane].pop() {
                let lane_state = &mut state.lanes[lane];
                if lane_state.stalled.take().is_some() {
                    lane_state.heard = Instant::now();
                    self.space[lane].notify_all();
                }
                return Ok(frame);
            }
            if state.lanes[lane].ended {
                return Err(self.fail_locked(&mut state, side, NetError::Closed));
            }
            let started = *started.get_or_insert_with(Instant::now);
            match self.deadline(&state.lanes[lane], started, false) {
                None => state = self.filled[lane].wait(state).unwrap_or_else(PoisonError::into_inner),
                Some((deadline, silence)) => {
                    let (guard, more) = self.wait_until(&self.filled[lane], state, deadline);
                    state = guard;
                    if !more {
                        return Err(self.fail_locked(&mut state, side, NetError::Silent { after: silence }));
                    }
                }
            }
        }
    }

    /// DATA payload bytes that wait to be taken.
    pub(crate) fn waiting(&self, side: usize) -> usize {
        self.lock().lanes[1 - side].data
    }

    /// What has gone over the link so far, seen from one side.
    pub(crate) fn traffic(&self, side: usize) -> Traffic {
        Traffic {
            payload_sent: self.payload_sent[side].load(Relaxed),
            payload_received: self.payload_received[side].load(Relaxed),
            wire_sent: self.wire[side].load(Relaxed),
            wire_received: self.wire[1 - side].load(Relaxed),
        }
    }

    /// A side has flushed this many payload bytes so far.
    pub(crate) fn count_payload_sent(&self, side: usize, bytes: u64) {
        self.payload_sent[side].store(bytes, Relaxed);
    }

    /// A side has been given this many payload bytes so far.
    pub(crate) fn count_payload_received(&self, side: usize, bytes: u64) {
        self.payload_received[side].store(bytes, Relaxed);
    }

    /// The first failure of a side, or else this one from now on; ends the connection.
    pub(crate) fn fail(&self, side: usize, error: NetError) -> NetError {
        self.fail_locked(&mut self.lock(), side, error)
    }

    /// The same failure for whoever has none yet.
    pub(crate) fn fail_both(&self, error: &NetError) {
        let mut state = self.lock();
        for side in [HERE, THERE] {
            self.fail_locked(&mut state, side, error.clone());
        }
    }

    /// Waits until the writer thread has handed everything to the system, then lets the side do nothing more.
    pub(crate) fn finish(&self, side: usize) -> Result<(), NetError> {
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
                    return Err(self.fail_locked(&mut state, side, NetError::Silent { after: *silence }));
                }
            }
        }
        match &state.failed[side] {
            Some(error) => Err(error.clone()),
            None => {
                state.failed[side] = Some(NetError::Finished);
                Ok(())
            }
        }
    }

    /// Gives up: whatever waits is dropped, an ABORT frame goes out if the connection still stands, and that is all.
    pub(crate) fn abort(&self, side: usize) {
        let frames = self.through_tap(side, Frame::new(Kind::Abort, &[]));
        let mut state = self.lock();
        if state.failed[side].is_some() {
            return;
        }
        if matches!(self.transport, Transport::Memory) {
            for frame in frames {
                self.deliver(&mut state, side, frame);
            }
            self.fail_locked(&mut state, side, NetError::Aborted);
            return;
        }
        state.failed[side] = Some(NetError::Aborted);
        state.lanes[HERE].clear();
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
            self.space[THERE].notify_all();
            state = self.linger(state);
        }
        self.fail_locked(&mut state, side, NetError::Finished);
        self.shut(&mut state, side);
    }

    /// Waits until both threads have ended of their own accord: all is sent, and the peer has closed its direction, so
    /// that nothing of what was sent is lost to a reset.
    fn linger<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let deadline = Instant::now() + LINGER;
        while matches!(self.transport, Transport::Socket { .. })
            && !state.closed
            && !(state.lanes[HERE].drained && state.lanes[THERE].ended)
        {
            let (guard, more) = self.wait_until(&self.space[HERE], state, deadline);
            state = guard;
            if !more {
                break;
            }
        }
        state
    }

    // ---- what the threads of a connection do --------------------------------------------------------------------

    /// Waits for something to send; frames are moved to `batch`. The buffers in `spent` go back.
    pub(crate) fn next_outgoing(
        &self,
        batch: &mut VecDeque<Frame>,
        spent: &mut Vec<Vec<u8>>,
        idle: Duration,
    ) -> Outgoing {
        let mut state = self.lock();
        for buffer in spent.drain(..) {
            state.lanes[HERE].recycle(buffer);
        }
        let deadline = Instant::now() + idle;
        loop {
            if state.closed {
                return Outgoing::Closed;
            }
            let lane = &mut state.lanes[HERE];
            if !lane.frames.is_empty() {
                std::mem::swap(batch, &mut lane.frames);
                lane.clear();
                self.space[HERE].notify_all();
                return Outgoing::Frames;
            }
            if std::mem::take(&mut lane.kicked) {
                return Outgoing::Kick;
            }
            if lane.last {
                return Outgoing::Last;
            }
            let (guard, more) = self.wait_until(&self.filled[HERE], state, deadline);
            state = guard;
            if !more {
                return Outgoing::Idle;
            }
        }
    }

    /// The TLS state has something to send that is no frame.
    pub(crate) fn kick(&self) {
        self.lock().lanes[HERE].kicked = true;
        self.filled[HERE].notify_all();
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
            self.space[THERE].notify_all();
            let deadline = Instant::now() + LINGER;
            while !state.closed && !state.lanes[THERE].ended {
                let (guard, more) = self.wait_until(&self.filled[THERE], state, deadline);
                state = guard;
                if !more {
                    break;
                }
            }
            self.fail_locked(&mut state, HERE, NetError::Closed);
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
            state = self.space[THERE].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let lane = &mut state.lanes[THERE];
        if lane.stalled.take().is_some() {
            lane.heard = Instant::now();
        }
        if !state.closed {
            self.deliver(&mut state, THERE, frame);
        }
        if state.closed { None } else { Some(state.lanes[THERE].spares.pop().unwrap_or_default()) }
    }

    /// The reader thread has ended; `error`: what was wrong with what it read.
    pub(crate) fn incoming_ended(&self, error: Option<NetError>) {
        let mut state = self.lock();
        if let Some(error) = error {
            self.fail_locked(&mut state, HERE, error);
        }
        state.lanes[THERE].ended = true;
        self.wake_all();
    }

    // ---- under the lock -----------------------------------------------------------------------------------------

    /// Puts a frame into a lane, or acts on it.
    fn deliver(&self, state: &mut State, lane: usize, frame: Frame) {
        let memory = matches!(self.transport, Transport::Memory);
        if memory {
            self.wire[lane].fetch_add(frame.bytes.len() as u64, Relaxed);
        }
        let taken = &mut state.lanes[lane];
        let fault = match frame.kind {
            Kind::Heartbeat => return,
            Kind::Data if taken.discard => return,
            _ if taken.done => NetError::AfterDone,
            Kind::Abort => NetError::PeerAborted,
            kind => match kind.check(frame.payload().len()) {
                Err(error) => error,
                Ok(()) => {
                    taken.done = kind == Kind::Done;
                    taken.last |= taken.done;
                    taken.push(frame);
                    self.filled[lane].notify_all();
                    return;
                }
            },
        };
        self.fail_locked(state, 1 - lane, fault);
    }

    fn fail_locked(&self, state: &mut State, side: usize, error: NetError) -> NetError {
        let first = state.failed[side].is_none();
        // Two connections under one switch: the end of the one may reach the other before the switch does.
        let error = if first && self.cancel.is_cancelled() { NetError::Cancelled } else { error };
        let error = state.failed[side].get_or_insert(error).clone();
        if first {
            self.shut(state, side);
        }
        error
    }

    /// Nothing goes out from this side any more.
    fn shut(&self, state: &mut State, side: usize) {
        match &self.transport {
            Transport::Memory => state.lanes[side].ended = true,
            Transport::Socket { socket, .. } => {
                state.closed = true;
                // Fails if the peer was faster: then it is closed, too.
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
        self.wake_all();
    }

    fn wake_all(&self) {
        for condition in self.filled.iter().chain(&self.space) {
            condition.notify_all();
        }
    }

    /// When a wait for the peer is over and what it is allowed to last; none in memory.
    fn deadline(&self, incoming: &Lane, started: Instant, lift: bool) -> Option<(Instant, Duration)> {
        let Transport::Socket { silence, .. } = self.transport else { return None };
        let heard = match incoming {
            // A peer that is done says nothing more, by right.
            lane if lane.done => started,
            // Not the peer is silent, we do not listen. (If it is the caller who neither listens nor gets through,
            // the clock runs: that is how a deadlock ends.)
            lane if lane.stalled.is_some() && !lift => Instant::now(),
            lane => lane.heard,
        };
        Some(((heard + silence).max(started + silence.min(GRACE)), silence))
    }

    /// Waits on a condition; false once the deadline has passed.
    fn wait_until<'a>(
        &self,
        condition: &Condvar,
        state: MutexGuard<'a, State>,
        deadline: Instant,
    ) -> (MutexGuard<'a, State>, bool) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return (state, false);
        }
        (condition.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0, true)
    }
}

impl State {
    fn may_send(&self, side: usize, kind: Kind) -> Result<(), NetError> {
        let incoming = &self.lanes[1 - side];
        match &self.failed[side] {
            Some(error) => Err(error.clone()),
            None if kind == Kind::Data && incoming.done => Err(NetError::PeerFinished),
            None if incoming.ended && !incoming.done => Err(NetError::Closed),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const SMALL: usize = 1000;

    fn small(link: &Link) {
        for lane in &mut link.lock().lanes {
            (lane.bound, lane.cap) = (SMALL, 3 * SMALL);
        }
    }

    fn frame() -> Frame {
        Frame::new(Kind::Data, &[0; SMALL / 2])
    }

    fn push_until_error(link: &Link, side: usize) -> NetError {
        loop {
            if let Err(error) = link.push(side, frame(), true) {
                return error;
            }
        }
    }

    #[test]
    fn two_sides_that_only_send_are_stopped_in_memory() {
        let link = Link::memory(&Options::default());
        small(&link);
        let mut errors = thread::scope(|scope| {
            let other = scope.spawn(|| push_until_error(&link, THERE));
            [push_until_error(&link, HERE), other.join().unwrap()]
        });
        errors.sort_by_key(|error| *error == NetError::Closed);
        assert_eq!(errors, [NetError::Deadlock { limit: 3 * SMALL as u64 }, NetError::Closed]);
    }

    /// A connection without its threads: the test plays them.
    fn connection(silence: Duration) -> (Link, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let link = Link::socket(socket, 0, 0, &Options { silence, ..Options::default() });
        small(&link);
        (link, listener.accept().unwrap().0)
    }

    #[test]
    fn two_sides_that_only_send_are_stopped_on_a_connection() {
        let (link, _peer) = connection(Duration::from_millis(200));
        thread::scope(|scope| {
            scope.spawn(|| while link.incoming(frame()).is_some() {});
            assert_eq!(push_until_error(&link, HERE), NetError::Deadlock { limit: 3 * SMALL as u64 });
        });
    }

    #[test]
    fn the_bound_holds_unless_a_send_is_blocked() {
        let (link, _peer) = connection(Duration::from_secs(20));
        let most = |link: &Link| {
            // Until the reader has stalled twice at the same fill.
            loop {
                let before = link.lock().lanes[THERE].bytes;
                thread::sleep(Duration::from_millis(50));
                let state = link.lock();
                if state.lanes[THERE].stalled.is_some() && state.lanes[THERE].bytes == before {
                    return before;
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| while link.incoming(frame()).is_some() {});
            assert!(most(&link) <= SMALL);
            let sender = scope.spawn(|| push_until_error(&link, HERE));
            while !link.lock().lanes[THERE].lifted {
                thread::yield_now();
            }
            let lifted = most(&link);
            assert!(lifted > SMALL && lifted <= 3 * SMALL);
            link.fail(HERE, NetError::Closed);
            assert_eq!(sender.join().unwrap(), NetError::Closed);
        });
    }

    #[test]
    fn a_half_does_not_lift_the_bound() {
        let (link, _peer) = connection(Duration::from_millis(200));
        let error = loop {
            if let Err(error) = link.push(HERE, frame(), false) {
                break error;
            }
            assert!(!link.lock().lanes[THERE].lifted);
        };
        assert_eq!(error, NetError::Silent { after: Duration::from_millis(200) });
    }
}
