//! Passing bytes on, from one party of a pair to the other.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::stream::Meeting;

/// Bytes that are passed on at once.
const BUFFER: usize = 64 << 10;

/// Bytes a second that a key may send.
pub(super) struct Rate {
    a_second: u64,
    /// When the bytes that have been taken so far will have been due.
    due: Mutex<Option<Instant>>,
}

impl Rate {
    pub(super) fn new(a_second: u64) -> Self {
        Self { a_second: a_second.max(1), due: Mutex::new(None) }
    }

    /// Waits until so many more bytes may go.
    fn take(&self, bytes: usize) {
        let time = Duration::from_secs_f64(bytes as f64 / self.a_second as f64);
        let now = Instant::now();
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let next = due.map_or(now, |due| due.max(now)) + time;
        *due = Some(next);
        drop(due);
        thread::sleep(next - now);
    }
}

/// Passes on what that side of the pair sends, until it has sent all, or the pair is cut, or nothing has gone through it for as
/// long as `patience` says. The sockets' own time-outs only set how often that is asked.
///
/// There is no limit of TCP's on bytes that stay unacknowledged: it would also end a party that computes and reads nothing.
pub(super) fn pass_on(
    meeting: &Meeting,
    side: usize,
    rate: Option<&Rate>,
    patience: &dyn Fn(&Meeting) -> Duration,
) {
    let [from, to] = [&*meeting.sockets[side], &*meeting.sockets[1 - side]];
    // Where the buffer is smaller than the rate of a second, nobody waits for long.
    let length = rate.map_or(BUFFER, |rate| BUFFER.min(usize::try_from(rate.a_second).unwrap_or(BUFFER)));
    let mut buffer = vec![0; length];
    let outcome = loop {
        match patiently(meeting, patience, || (&*from).read(&mut buffer)) {
            Ok(0) => {
                meeting.closes();
                break to.shutdown(Shutdown::Write);
            }
            Ok(length) => {
                meeting.passed(side, length);
                if let Some(rate) = rate {
                    rate.take(length);
                }
                let mut left = &buffer[..length];
                let written = loop {
                    if left.is_empty() {
                        break Ok(());
                    }
                    match patiently(meeting, patience, || (&*to).write(left)) {
                        Ok(length) => left = &left[length..],
                        Err(error) => break Err(error),
                    }
                };
                if let Err(error) = written {
                    break Err(error);
                }
            }
            Err(error) => break Err(error),
        }
    };
    if outcome.is_err() {
        meeting.cut();
    }
}

/// Tries again after each time-out of the socket, while bytes go through the pair in either direction.
fn patiently(
    meeting: &Meeting,
    patience: &dyn Fn(&Meeting) -> Duration,
    mut act: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match act() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if meeting.idle() >= patience(meeting) {
                    return Err(ErrorKind::TimedOut.into());
                }
            }
            outcome => return outcome,
        }
    }
}
