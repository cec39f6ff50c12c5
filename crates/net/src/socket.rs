//! The transport over a socket: two bounded queues of frames under one lock, between a channel and two threads.
//!
//! ```text
//!            outgoing queue
//!   channel ────────────────► writer thread ──► socket
//!           ◄──────────────── reader thread ◄──
//!            incoming queue
//! ```
//!
//! * **No deadlock.** A channel that is blocked in a send lifts the bound of the incoming queue, so that the reader thread
//!   goes on; a cap remains. Only an unsplit channel does so: with two halves somebody else is receiving.
//! * **Silence** is measured from the last byte of the peer's that the reader has, decrypted where there is TLS: a record
//!   of up to 16 KiB has to be whole by then. While the reader cannot take any because the incoming queue is full, the clock stands still: the fault is ours, not the peer's.
//! * **Few wakings.** A waiter states how many bytes it needs (at most 256 KiB) and is woken once they have arrived.
//!   The reader thread is woken when half of its queue's bound is free, a blocked send whenever the writer thread takes
//!   frames.
//! * **Limits.** The channel may say until when what it awaits has to be there; no heartbeat and no byte moves that moment.
//! * **Errors stick.** The first failure is what all later calls report.
//!
//! What both users of the queues need stands here; what the channel does with them in `ends`, what the threads do in
//! `threads`.

mod ends;
mod threads;

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vesica_channel::transport::Meanwhile;
use vesica_channel::{CancelToken, ChannelError, Counters, Frame, FrameQueue, GRACE, Limit, Signal, Wake};

use crate::options::Options;

pub(crate) use ends::End;
pub(crate) use threads::{Sent, WriterTask};

/// Frames that wait unread, in bytes, before the reader thread has to wait.
const INCOMING_BOUND: usize = 8 << 20;
/// Frames that wait for the writer thread. Small, so that what is written is still in the processor's cache.
const OUTGOING_BOUND: usize = 1 << 20;
/// After a write the writer thread waits this long for more bytes, unless enough have gathered (`WAKE_BYTES`) or the
/// channel flushes.
const GATHERING: Duration = Duration::from_micros(500);
/// How long a side that ends waits for the other to take note, where nothing depends on it any more.
const LINGER: Duration = Duration::from_secs(1);

/// What a channel and the two threads of its connection share.
pub(crate) struct SocketTransport {
    state: Mutex<State>,
    /// The writer thread has something to do.
    to_write: Signal,
    /// The outgoing queue has room, or the writer thread has ended.
    sendable: Signal,
    /// A frame came in, or none will.
    arrived: Signal,
    /// The incoming queue has room, or the reader thread is to end.
    readable: Signal,
    counters: Arc<Counters>,
    socket: TcpStream,
    silence: Duration,
    linger: Duration,
    cancel: CancelToken,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct State {
    outgoing: FrameQueue,
    incoming: FrameQueue,
    writer: WriterState,
    /// The TLS state has something of its own to send.
    tls_has_output: bool,
    /// When the reader thread last had a byte of the peer's, decrypted where there is TLS.
    heard: Instant,
    /// The reader thread has ended.
    reader_ended: bool,
    failed: Option<ChannelError>,
    /// The threads are to end at once.
    closed: bool,
    /// Until when what the channel awaits has to be there.
    limit: Option<Limit>,
    /// When this side was cancelled, if the peer is told so.
    cancelled: Option<Instant>,
}

/// How far the writer thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterState {
    /// It writes what comes.
    Running,
    /// It ends once it has written what is in the queue and the peer says no more.
    Draining,
    /// It has ended.
    Ended,
}

impl State {
    /// Whether the sending direction may be closed. As long as the peer's last words are on their way it stays open: a proxy may
    /// close both directions with the first one.
    fn may_close(&self) -> bool {
        self.incoming.said_done() || self.reader_ended || self.failed.is_some()
    }
}

impl SocketTransport {
    /// `farewell`: the delay that a simulated network adds to the last frames.
    pub(crate) fn new(
        socket: TcpStream,
        counters: Arc<Counters>,
        farewell: Duration,
        options: &Options,
    ) -> Arc<Self> {
        let queues = [FrameQueue::new(OUTGOING_BOUND), FrameQueue::new(INCOMING_BOUND)];
        Self::with_queues(queues, socket, counters, farewell, options)
    }

    fn with_queues(
        [outgoing, incoming]: [FrameQueue; 2],
        socket: TcpStream,
        counters: Arc<Counters>,
        farewell: Duration,
        options: &Options,
    ) -> Arc<Self> {
        let state = State {
            outgoing,
            incoming,
            writer: WriterState::Running,
            tls_has_output: false,
            heard: Instant::now(),
            reader_ended: false,
            failed: None,
            closed: false,
            limit: None,
            cancelled: None,
        };
        let transport = Arc::new(Self {
            state: Mutex::new(state),
            to_write: Signal::default(),
            sendable: Signal::default(),
            arrived: Signal::default(),
            readable: Signal::default(),
            counters,
            socket,
            silence: options.limit(),
            linger: LINGER + farewell,
            cancel: options.cancel.clone(),
            threads: Mutex::default(),
        });
        options.cancel.watch(&transport);
        transport
    }

    /// The threads that are waited for when the connection is closed.
    pub(crate) fn own(&self, threads: Vec<JoinHandle<()>>) {
        *self.threads.lock().unwrap_or_else(PoisonError::into_inner) = threads;
    }

    fn join_threads(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic there has closed the connection and is of no more interest.
            let _ = thread.join();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first failure, or else this one from now on; ends the connection.
    pub(crate) fn fail(&self, error: ChannelError) -> ChannelError {
        self.fail_locked(&mut self.lock(), error)
    }

    fn fail_locked(&self, state: &mut State, error: ChannelError) -> ChannelError {
        if let Some(error) = &state.failed {
            return error.clone();
        }
        // Two connections may share a token. The close of one can reach the other before the cancellation does; report
        // the cancellation.
        let error = if self.cancel.is_cancelled() { ChannelError::Cancelled } else { error };
        state.failed = Some(error.clone());
        self.shut(state);
        error
    }

    /// Ends both threads.
    fn shut(&self, state: &mut State) {
        state.closed = true;
        // Fails if the peer was faster: then it is closed, too.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.wake_all();
    }

    fn wake_all(&self) {
        for signal in [&self.to_write, &self.sendable, &self.arrived, &self.readable] {
            signal.notify();
        }
    }

    /// Puts a frame into the outgoing queue. An invalid frame fails this side's connection.
    fn send_frame(&self, state: &mut State, frame: Frame) -> Wake {
        let delivered = state.outgoing.deliver(frame);
        if state.outgoing.said_done() && state.writer == WriterState::Running {
            state.writer = WriterState::Draining;
        }
        delivered.unwrap_or_else(|error| {
            self.fail_locked(state, error);
            Wake::Later
        })
    }

    /// When the peer will have been silent for too long, in a wait that began then.
    fn end_of_silence(&self, state: &State, started: Instant, meanwhile: Meanwhile) -> Instant {
        let heard = if state.incoming.said_done() {
            // A peer that is done says nothing more, by right.
            started
        } else if state.incoming.is_stalled() && meanwhile == Meanwhile::Wait {
            // Not the peer is silent, we do not listen. (If it is the caller who neither listens nor gets through, the
            // clock runs: that is how a deadlock ends.)
            Instant::now()
        } else {
            state.heard
        };
        (heard + self.silence).max(started + self.silence.min(GRACE))
    }

    fn silent(&self) -> ChannelError {
        ChannelError::Silent { after: self.silence }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use vesica_channel::Kind;
    use vesica_channel::transport::{FrameSender, Urgency};

    use super::*;

    const SMALL: usize = 1000;

    fn frame() -> Frame {
        Frame::new(Kind::Data, &[0; SMALL / 2])
    }

    fn push_until_error(transport: &Arc<SocketTransport>, meanwhile: Meanwhile) -> ChannelError {
        let mut end = End(transport.clone());
        loop {
            if let Err(error) = end.push(frame(), Urgency::Later, meanwhile) {
                return error;
            }
        }
    }

    /// A connection without its threads: the test plays them.
    fn connection(silence: Duration) -> (Arc<SocketTransport>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let queues = [(); 2].map(|()| FrameQueue::with_bounds(SMALL, 3 * SMALL));
        let options = Options { silence, ..Options::default() };
        let transport =
            SocketTransport::with_queues(queues, socket, Arc::default(), Duration::ZERO, &options);
        (transport, listener.accept().unwrap().0)
    }

    #[test]
    fn two_sides_that_only_send_are_stopped() {
        let (transport, _peer) = connection(Duration::from_millis(200));
        thread::scope(|scope| {
            scope.spawn(|| while transport.incoming(frame()).is_some() {});
            let error = push_until_error(&transport, Meanwhile::TakeIn);
            assert_eq!(error, ChannelError::Deadlock { limit: 3 * SMALL as u64 });
        });
    }

    #[test]
    fn the_bound_holds_unless_a_send_is_blocked() {
        let (transport, _peer) = connection(Duration::from_secs(20));
        let most = || {
            // Until the reader has stalled twice at the same fill.
            loop {
                let before = transport.lock().incoming.bytes();
                thread::sleep(Duration::from_millis(50));
                let state = transport.lock();
                if state.incoming.is_stalled() && state.incoming.bytes() == before {
                    return before;
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| while transport.incoming(frame()).is_some() {});
            assert!(most() <= SMALL);
            let sender = scope.spawn(|| push_until_error(&transport, Meanwhile::TakeIn));
            while !transport.lock().incoming.is_lifted() {
                thread::yield_now();
            }
            let lifted = most();
            assert!(lifted > SMALL && lifted <= 3 * SMALL);
            transport.fail(ChannelError::Closed);
            assert_eq!(sender.join().unwrap(), ChannelError::Closed);
        });
    }

    #[test]
    fn a_half_does_not_lift_the_bound() {
        let (transport, _peer) = connection(Duration::from_millis(200));
        let mut end = End(transport.clone());
        let error = loop {
            if let Err(error) = end.push(frame(), Urgency::Later, Meanwhile::Wait) {
                break error;
            }
            assert!(!transport.lock().incoming.is_lifted());
        };
        assert_eq!(error, ChannelError::Silent { after: Duration::from_millis(200) });
    }
}
