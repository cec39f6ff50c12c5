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
//! * **Few wakings.** Who waits says for how many bytes, up to 256 KiB, and is not woken before they are there. Whoever
//!   waits for space is woken when half of the bound is free.
//! * **Limits.** A side may say until when what it awaits has to be there; no heartbeat and no byte moves that moment.
//! * **Errors stick.** The first failure of a side is what all its later calls report.
//!
//! What both users of a link need stands here; what the channel does with it in `channel`, what the threads do in
//! `threads`.

mod channel;
mod threads;

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Options;
use crate::cancel::CancelToken;
use crate::connection::Traffic;
use crate::lane::Lane;
use crate::shaped::Network;
use crate::signal::Signal;
use vesica_channel::ChannelError;
use vesica_channel::{Frame, Kind};

pub(crate) use threads::Outgoing;

/// The side and lane of the channel on a connection.
pub(crate) const HERE: usize = 0;
/// The side and lane of the threads on a connection.
pub(crate) const THERE: usize = 1;

/// Frames that wait unread, in bytes, before their sender has to wait.
const INCOMING_BOUND: usize = 8 << 20;
/// Frames that wait for the writer thread. Small, so that what is written is still in the processor's cache.
const OUTGOING_BOUND: usize = 1 << 20;
/// Bytes for which whoever waits for more than them is woken: waking costs as much as copying some ten thousand bytes.
const HANDED_OVER: usize = 256 << 10;
/// How long the writer thread, having just written, leaves fewer bytes than that unless they are flushed.
const GATHERING: Duration = Duration::from_micros(500);
/// A wait lasts at least this long (or the allowed silence, if shorter): after the whole process stood still, the
/// reader thread first gets a chance to find what arrived meanwhile.
const GRACE: Duration = Duration::from_secs(1);
/// How long a side that ends waits for the other to take note, where nothing depends on it any more.
const LINGER: Duration = Duration::from_secs(1);
/// No limit is longer, so that it can be added to any moment.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(feature = "testing")]
pub(crate) type Tap = Box<dyn FnMut(usize, Frame) -> Vec<Frame> + Send>;

/// What a DONE says that declines the conversation.
pub(crate) const DECLINED: &[u8] = b"declined";

pub(crate) struct Link {
    state: Mutex<State>,
    /// Per lane: a frame came in, or none will.
    filled: [Signal; 2],
    /// Per lane: a frame was taken out, or none will be.
    space: [Signal; 2],
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
    Socket { socket: TcpStream, silence: Duration, linger: Duration },
}

struct State {
    lanes: [Lane; 2],
    failed: [Option<ChannelError>; 2],
    /// The threads of a connection are to end at once.
    closed: bool,
    /// Per side: until when what it awaits has to be there, heartbeats or not.
    limits: [Option<Limit>; 2],
    /// No limit that is set is longer.
    #[cfg(feature = "testing")]
    longest: Option<Duration>,
}

/// The end of a side's patience with a peer that is alive.
#[derive(Clone, Copy)]
struct Limit {
    at: Instant,
    length: Duration,
    /// The moment after it has been granted: the whole process may have stood still, and the reader thread is to look
    /// first.
    graced: bool,
}

impl Link {
    pub(crate) fn memory(options: &Options) -> Self {
        Self::new(Transport::Memory, INCOMING_BOUND, options)
    }

    /// A memory pair over a network.
    pub(crate) fn shaped(options: &Options, network: Network) -> Self {
        let link = Self::memory(options);
        for lane in &mut link.lock().lanes {
            lane.shape(network);
        }
        link
    }

    #[cfg(feature = "testing")]
    pub(crate) fn tapped(tap: Tap, options: &Options) -> Self {
        Self { tap: Some(Mutex::new(tap)), ..Self::memory(options) }
    }

    /// `wire` has been sent and received over the socket before, in the handshake. `network`: of which kind it is.
    pub(crate) fn socket(
        socket: TcpStream,
        wire: [u64; 2],
        network: Option<Network>,
        options: &Options,
    ) -> Self {
        let linger = LINGER + network.map_or(Duration::ZERO, |network| network.farewell());
        let transport = Transport::Socket { socket, silence: options.limit(), linger };
        let link = Self::new(transport, OUTGOING_BOUND, options);
        link.wire[HERE].store(wire[0], Relaxed);
        link.wire[THERE].store(wire[1], Relaxed);
        link
    }

    fn new(transport: Transport, bound: usize, options: &Options) -> Self {
        let lanes = [Lane::new(bound), Lane::new(INCOMING_BOUND)];
        Self {
            state: Mutex::new(State {
                lanes,
                failed: [None, None],
                closed: false,
                limits: [None, None],
                #[cfg(feature = "testing")]
                longest: None,
            }),
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
    pub(crate) fn fail(&self, side: usize, error: ChannelError) -> ChannelError {
        self.fail_locked(&mut self.lock(), side, error)
    }

    /// The same failure for whoever has none yet.
    pub(crate) fn fail_both(&self, error: &ChannelError) {
        let mut state = self.lock();
        for side in [HERE, THERE] {
            self.fail_locked(&mut state, side, error.clone());
        }
    }

    /// Puts a frame into a lane, or acts on it. Returns whether the lane's consumer is to be woken; `urgent`: the writer
    /// thread is, if there is one.
    fn deliver(&self, state: &mut State, lane: usize, frame: Frame, urgent: bool) -> bool {
        let memory = matches!(self.transport, Transport::Memory);
        if memory {
            self.wire[lane].fetch_add(frame.bytes.len() as u64, Relaxed);
        }
        let taken = &mut state.lanes[lane];
        let fault = match frame.kind {
            Kind::Heartbeat => return false,
            Kind::Data if taken.discard => return false,
            _ if taken.done => ChannelError::AfterDone,
            Kind::Abort => ChannelError::PeerAborted,
            kind => match kind.check(frame.payload().len()) {
                Err(error) => error,
                Ok(()) => {
                    taken.done = kind == Kind::Done;
                    taken.declined |= taken.done && frame.payload() == DECLINED;
                    taken.last |= taken.done;
                    taken.push(frame);
                    return kind != Kind::Data || taken.bytes >= taken.wanted || (urgent && !memory);
                }
            },
        };
        self.fail_locked(state, 1 - lane, fault);
        false
    }

    fn fail_locked(&self, state: &mut State, side: usize, error: ChannelError) -> ChannelError {
        let first = state.failed[side].is_none();
        // Two connections under one switch: the end of the one may reach the other before the switch does.
        let error = if first && self.cancel.is_cancelled() { ChannelError::Cancelled } else { error };
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
        for signal in self.filled.iter().chain(&self.space) {
            signal.notify();
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

    /// When a wait of this side is over, and for what reason; none if it has no end.
    fn end_of_wait(
        &self,
        state: &State,
        side: usize,
        started: Instant,
        lift: bool,
    ) -> Option<(Instant, ChannelError)> {
        let silent = self.deadline(&state.lanes[1 - side], started, lift);
        let silent = silent.map(|(at, after)| (at, ChannelError::Silent { after }));
        let late =
            state.limits[side].map(|limit| (limit.at, ChannelError::Unanswered { after: limit.length }));
        silent.into_iter().chain(late).min_by_key(|(at, _)| *at)
    }

    /// Waits on a condition; false once the deadline has passed.
    fn wait_until<'a>(
        &self,
        signal: &Signal,
        state: MutexGuard<'a, State>,
        deadline: Instant,
    ) -> (MutexGuard<'a, State>, bool) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return (state, false);
        }
        (signal.wait_timeout(state, left), true)
    }
}

impl State {
    /// Whether a wait that came to this end may go on for a moment, once.
    fn grace(&mut self, side: usize, end: &ChannelError) -> bool {
        match (&mut self.limits[side], end) {
            (Some(limit), ChannelError::Unanswered { .. }) if !limit.graced => {
                limit.graced = true;
                limit.at = Instant::now() + limit.length.min(GRACE);
                true
            }
            _ => false,
        }
    }

    fn may_send(&self, side: usize, kind: Kind) -> Result<(), ChannelError> {
        let incoming = &self.lanes[1 - side];
        match &self.failed[side] {
            Some(error) => Err(error.clone()),
            None if kind == Kind::Data && incoming.done => Err(ChannelError::PeerFinished),
            None if incoming.ended && !incoming.done => Err(ChannelError::Closed),
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

    fn push_until_error(link: &Link, side: usize) -> ChannelError {
        loop {
            if let Err(error) = link.push(side, frame(), true, false) {
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
        errors.sort_by_key(|error| *error == ChannelError::Closed);
        assert_eq!(errors, [ChannelError::Deadlock { limit: 3 * SMALL as u64 }, ChannelError::Closed]);
    }

    /// A connection without its threads: the test plays them.
    fn connection(silence: Duration) -> (Link, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let link = Link::socket(socket, [0, 0], None, &Options { silence, ..Options::default() });
        small(&link);
        (link, listener.accept().unwrap().0)
    }

    #[test]
    fn two_sides_that_only_send_are_stopped_on_a_connection() {
        let (link, _peer) = connection(Duration::from_millis(200));
        thread::scope(|scope| {
            scope.spawn(|| while link.incoming(frame()).is_some() {});
            assert_eq!(push_until_error(&link, HERE), ChannelError::Deadlock { limit: 3 * SMALL as u64 });
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
            link.fail(HERE, ChannelError::Closed);
            assert_eq!(sender.join().unwrap(), ChannelError::Closed);
        });
    }

    #[test]
    fn a_half_does_not_lift_the_bound() {
        let (link, _peer) = connection(Duration::from_millis(200));
        let error = loop {
            if let Err(error) = link.push(HERE, frame(), false, false) {
                break error;
            }
            assert!(!link.lock().lanes[THERE].lifted);
        };
        assert_eq!(error, ChannelError::Silent { after: Duration::from_millis(200) });
    }
}
