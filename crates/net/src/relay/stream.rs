//! One party's stream: it waits, it is handed over, it is passed on. Each has a thread of its own.
//!
//! The thread of the stream that comes second says PAIRED to both parties. The first one's thread is waiting for what its
//! party says next, which is the close_notify that answers; so no thread has to be woken.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustls::Connection as TlsConnection;

use super::Pair;
use super::pairing::{Ends, RunKey};
use crate::establish::at_relay::Times;
use crate::establish::at_relay::records::{Records, say, take_in};
use crate::establish::at_relay::wire::{Reply, Sign};

/// A stream that has joined, or holds a grant.
pub(super) struct Stream {
    pub(super) number: u64,
    pub(super) ends: Ends,
    /// Which part of its run; 0 for a run.
    pub(super) part: u32,
    /// Under which grant it has joined, if it is that of a part.
    pub(super) run_key: Option<RunKey>,
    pub(super) socket: Arc<TcpStream>,
    /// None once the socket is bare.
    tls: Mutex<Option<TlsConnection>>,
    meeting: OnceLock<(Arc<Meeting>, usize)>,
    /// When the last word was said to it.
    ended: OnceLock<Instant>,
}

impl Stream {
    /// Of a run, or one that holds a grant.
    pub(super) fn new(number: u64, ends: Ends, socket: Arc<TcpStream>, tls: TlsConnection) -> Self {
        let (meeting, ended) = (OnceLock::new(), OnceLock::new());
        Self { number, ends, part: 0, run_key: None, socket, tls: Mutex::new(Some(tls)), meeting, ended }
    }

    /// This stream as one of a part.
    pub(super) fn of_part(self, part: u32, run_key: RunKey) -> Self {
        Self { part, run_key: Some(run_key), ..self }
    }

    /// Ends it without a word. Its thread notices.
    pub(super) fn shut(&self) {
        // Fails if the party has gone by itself.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// It has its partner, and is that side of the pair.
    pub(super) fn meets(&self, meeting: Arc<Meeting>, side: usize) {
        // Only a stream that has none is paired.
        let _ = self.meeting.set((meeting, side));
    }

    pub(super) fn meeting(&self) -> Option<&(Arc<Meeting>, usize)> {
        self.meeting.get()
    }

    /// Says this, and ends TLS from this side.
    pub(super) fn say_last(&self, reply: Reply) {
        let mut tls = lock(&self.tls);
        let said = tls.as_mut().map(|tls| say(tls, &reply.encode(), true, &mut &*self.socket));
        let _ = self.ended.set(Instant::now());
        if !matches!(said, Some(Ok(()))) {
            self.shut();
        }
    }

    /// Says that it has to wait, or that its grant is open, unless the last word has been said.
    pub(super) fn say_wait(&self) -> io::Result<()> {
        let mut tls = lock(&self.tls);
        match tls.as_mut().filter(|_| self.meeting().is_none() && self.ended.get().is_none()) {
            Some(tls) => say(tls, &Reply::Wait.encode(), false, &mut &*self.socket),
            None => Ok(()),
        }
    }

    /// Hears what the party says until its close_notify. False: it is gone, or does not keep to the protocol. `over` is told
    /// of rounds that are over, where there may be any.
    pub(super) fn attend(
        &self,
        mut records: Records,
        mut text: Vec<u8>,
        times: &Times,
        mut over: Option<&mut dyn FnMut(u16)>,
    ) -> bool {
        let (mut heard, mut beat) = (Instant::now(), Instant::now() + times.beat);
        loop {
            if !self.understood(&mut text, &mut over) {
                return false;
            }
            let now = Instant::now();
            if now >= beat {
                let lingers = self.ended.get().is_some_and(|ended| ended.elapsed() >= times.handshake);
                if lingers || heard.elapsed() >= times.silence || self.say_wait().is_err() {
                    return false;
                }
                beat = now + times.beat;
            }
            match records.next(&mut Until { socket: &self.socket, end: beat }) {
                Ok(record) => {
                    heard = Instant::now();
                    let taken = lock(&self.tls).as_mut().map(|tls| take_in(tls, &record, &mut text));
                    match taken {
                        Some(Ok(false)) => {}
                        Some(Ok(true)) => return self.understood(&mut text, &mut over) && text.is_empty(),
                        Some(Err(_)) | None => return false,
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return false,
            }
        }
    }

    /// Takes what is whole from what the party has said. False: it is not what it may say.
    fn understood(&self, text: &mut Vec<u8>, over: &mut Option<&mut dyn FnMut(u16)>) -> bool {
        loop {
            match (Sign::decode(text), &mut *over) {
                (Ok(None), _) => return true,
                (Ok(Some((Sign::Ping, length))), _) => drop(text.drain(..length)),
                (Ok(Some((Sign::Over { round }, length))), Some(over)) => {
                    text.drain(..length);
                    over(round);
                }
                (Ok(Some((Sign::Over { .. }, _))), None) | (Err(_), _) => return false,
            }
        }
    }

    /// TLS is over.
    pub(super) fn bare(&self) {
        *lock(&self.tls) = None;
    }
}

/// A socket that is read until then, also if its party sends a byte now and then.
struct Until<'a> {
    socket: &'a TcpStream,
    end: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))?;
        self.socket.read(into)
    }
}

/// Two streams on their way to being one connection, and while they are.
pub(super) struct Meeting {
    pub(super) sockets: [Arc<TcpStream>; 2],
    pub(super) pair: Pair,
    state: Mutex<State>,
    changed: Condvar,
    started: Instant,
    /// Bytes that each side has sent.
    bytes: [AtomicU64; 2],
    /// Milliseconds from the start to the last byte.
    heard: AtomicU64,
    /// A side has sent all.
    closing: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Sides whose sockets are bare.
    arrived: usize,
    /// Both are, and both parties have been told.
    open: bool,
    broken: bool,
    /// Sides that have nothing more to pass on.
    ended: usize,
}

impl Meeting {
    pub(super) fn new(sockets: [Arc<TcpStream>; 2], pair: Pair) -> Self {
        Self {
            sockets,
            pair,
            state: Mutex::default(),
            changed: Condvar::new(),
            started: Instant::now(),
            bytes: [AtomicU64::new(0), AtomicU64::new(0)],
            heard: AtomicU64::new(0),
            closing: AtomicBool::new(false),
        }
    }

    /// A side's socket is bare. Waits until the other's is, which ends the silence of both with the bare byte; says whether
    /// the pair is a connection. Before both are, no byte may go to either.
    pub(super) fn arrive(&self, limit: Duration) -> bool {
        let mut state = lock(&self.state);
        state.arrived += 1;
        if state.arrived == 2 && !state.broken {
            state.open = self.sockets.iter().all(|socket| (&**socket).write_all(&[0]).is_ok());
            state.broken = !state.open;
            self.heard.store(self.millis(), Relaxed);
        } else {
            let waits = |state: &mut State| !state.open && !state.broken;
            let waited = self.changed.wait_timeout_while(state, limit, waits);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.broken |= !state.open;
        }
        self.changed.notify_all();
        if state.broken {
            self.cut();
        }
        state.open
    }

    /// A side has gone before its socket was bare.
    pub(super) fn fail(&self) {
        lock(&self.state).broken = true;
        self.changed.notify_all();
        self.cut();
    }

    /// Ends the connection at once, for both.
    pub(super) fn cut(&self) {
        for socket in &self.sockets {
            // Fails if that party has gone.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// A side has nothing more to pass on; true for the second one.
    pub(super) fn end(&self) -> bool {
        let mut state = lock(&self.state);
        state.ended += 1;
        state.ended == 2
    }

    pub(super) fn passed(&self, side: usize, bytes: usize) {
        self.bytes[side].fetch_add(bytes as u64, Relaxed);
        self.heard.fetch_max(self.millis(), Relaxed);
    }

    /// A side has sent all. The other has its time from now on.
    pub(super) fn closes(&self) {
        self.heard.fetch_max(self.millis(), Relaxed);
        self.closing.store(true, Relaxed);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    /// Since the last byte of either side.
    pub(super) fn idle(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.heard.load(Relaxed)))
    }

    pub(super) fn bytes(&self) -> [u64; 2] {
        self.bytes.each_ref().map(|bytes| bytes.load(Relaxed))
    }

    pub(super) fn lasted(&self) -> Duration {
        self.started.elapsed()
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
