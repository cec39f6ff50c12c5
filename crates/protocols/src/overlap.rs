//! Working while receiving: a role computes and sends, and a second thread collects what comes in.
//!
//! A protocol whose messages cross would stall, or fill the partner's queue, if it read only between its own
//! sends. [`overlap`] gives the two directions to two threads and settles what happens when one of them
//! fails.
//!
//! WebAssembly has one thread. There everything is collected when the work first waits for a piece. So a role sends all
//! that its partner needs for the first piece before it waits for one itself, and sends do not wait for the partner to
//! read: the channel of a page keeps what is sent.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::mpsc;
use std::thread;

use vesica_channel::{Channel, ChannelError, RecvHalf, SendHalf};

use crate::error::Error;

/// Hands pieces of an incoming message from what collects them to what works on them.
pub(crate) enum Inbound<'a, T> {
    /// Another thread collects.
    Queue(mpsc::Receiver<T>),
    /// This thread collects, everything at once.
    Here(RefCell<Here<'a, T>>),
}

/// Pieces that the working thread collects itself.
pub(crate) struct Here<'a, T> {
    pieces: VecDeque<T>,
    /// Collects all pieces; false if that fails. Runs once.
    collect: &'a mut dyn FnMut(&mut VecDeque<T>) -> bool,
}

impl<T> Inbound<'_, T> {
    /// The next piece if it is already there. Ask only while one is still to come.
    pub(crate) fn ready(&self) -> Result<Option<T>, Stopped> {
        match self {
            Self::Queue(queue) => match queue.try_recv() {
                Ok(piece) => Ok(Some(piece)),
                Err(mpsc::TryRecvError::Empty) => Ok(None),
                Err(mpsc::TryRecvError::Disconnected) => Err(Stopped::CollectorEnded),
            },
            Self::Here(here) => Ok(here.borrow_mut().pieces.pop_front()),
        }
    }

    /// The next piece, waited for. The error says only that the collection ended early; [`overlap`] replaces it by the
    /// collection's own.
    pub(crate) fn wait(&self) -> Result<T, Stopped> {
        let piece = match self {
            Self::Queue(queue) => queue.recv().ok(),
            Self::Here(here) => {
                let Here { pieces, collect } = &mut *here.borrow_mut();
                if pieces.is_empty() && !collect(pieces) {
                    return Err(Stopped::CollectorEnded);
                }
                pieces.pop_front()
            }
        };
        piece.ok_or(Stopped::CollectorEnded)
    }
}

/// Why the working half stopped.
pub(crate) enum Stopped {
    /// The collecting thread ended before the work had all it needs.
    CollectorEnded,
    /// The work itself failed.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Stopped::Failed(error.into())
    }
}

/// Ends the connection if the work panics, so that the collecting thread, which is waited for, ends too.
struct AbortOnPanic<'a>(&'a mut dyn SendHalf);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort();
        }
    }
}

/// Runs `work` on this thread and `collect` on another where there are threads; returns when both have ended.
///
/// `collect` passes what it reads to `work` through the `Inbound`; the queue has no bound of its own, so
/// `collect` must read a length both sides agreed on; what it returns comes back beside the work's result. If
/// `work` fails the connection is aborted, so that `collect` ends too.
pub(crate) fn overlap<T: Send, C: Send, W>(
    channel: &mut dyn Channel,
    collect: impl FnOnce(&mut dyn RecvHalf, &mut dyn FnMut(T)) -> Result<C, Error> + Send,
    work: impl FnOnce(&mut dyn SendHalf, &Inbound<'_, T>) -> Result<W, Stopped>,
) -> Result<(W, C), Error> {
    if cfg!(target_family = "wasm") {
        on_one_thread(channel, collect, work)
    } else {
        on_two_threads(channel, collect, work)
    }
}

/// [`overlap`] on this thread alone.
fn on_one_thread<T, C, W>(
    channel: &mut dyn Channel,
    collect: impl FnOnce(&mut dyn RecvHalf, &mut dyn FnMut(T)) -> Result<C, Error>,
    work: impl FnOnce(&mut dyn SendHalf, &Inbound<'_, T>) -> Result<W, Stopped>,
) -> Result<(W, C), Error> {
    let (outgoing, incoming) = channel.split();
    let (mut collect, mut collected) = (Some(collect), None);
    let mut collect_all = |pieces: &mut VecDeque<T>| {
        let Some(collect) = collect.take() else { return false };
        collected.insert(collect(incoming, &mut |piece| pieces.push_back(piece))).is_ok()
    };
    let here = Here { pieces: VecDeque::new(), collect: &mut collect_all };
    let inbound = Inbound::Here(RefCell::new(here));
    let worked = work(outgoing, &inbound);
    if let (Ok(_), Inbound::Here(here)) = (&worked, inbound) {
        // Work without a piece may be followed by a message all the same.
        let Here { mut pieces, collect } = here.into_inner();
        collect(&mut pieces);
    }
    match (worked, collected) {
        (Ok(worked), Some(collected)) => Ok((worked, collected?)),
        (Err(Stopped::Failed(error)), _) => {
            outgoing.abort();
            Err(error)
        }
        (_, Some(Err(error))) => Err(error),
        _ => unreachable!("the work waits for no more than was collected"),
    }
}

/// [`overlap`] on this thread and a second one.
fn on_two_threads<T: Send, C: Send, W>(
    channel: &mut dyn Channel,
    collect: impl FnOnce(&mut dyn RecvHalf, &mut dyn FnMut(T)) -> Result<C, Error> + Send,
    work: impl FnOnce(&mut dyn SendHalf, &Inbound<'_, T>) -> Result<W, Stopped>,
) -> Result<(W, C), Error> {
    let (outgoing, incoming) = channel.split();
    let (push, pieces) = mpsc::channel();
    thread::scope(|scope| {
        // A piece pushed after the work has ended is dropped with the queue.
        let body = move || collect(incoming, &mut |piece| drop(push.send(piece)));
        let collector = match thread::Builder::new().spawn_scoped(scope, body) {
            Ok(collector) => collector,
            Err(error) => {
                outgoing.abort();
                return Err(ChannelError::system("cannot start a thread", &error).into());
            }
        };
        let outgoing = AbortOnPanic(outgoing);
        let worked = work(&mut *outgoing.0, &Inbound::Queue(pieces));
        if matches!(worked, Err(Stopped::Failed(_))) {
            outgoing.0.abort();
        }
        let collected = collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (worked, collected) {
            (Ok(worked), Ok(collected)) => Ok((worked, collected)),
            (Err(Stopped::Failed(error)), _) => Err(error),
            (_, Err(error)) => Err(error),
            (Err(Stopped::CollectorEnded), Ok(_)) => {
                unreachable!("the work waits for no more than was collected")
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::error::Misbehaviour;
    use vesica_channel::memory;

    /// What each of two parties does: sends its numbers, and doubles the other's as they come; then both send one more.
    fn double(channel: &mut dyn Channel, count: u8, fails_at: u8) -> Result<(Vec<u8>, u8), Error> {
        on_one_thread(
            channel,
            |channel, push| {
                let mut number = [0];
                for _ in 0..count {
                    channel.recv_exact(&mut number)?;
                    push(number[0]);
                }
                channel.recv_exact(&mut number)?;
                Ok(number[0])
            },
            |channel, numbers| {
                for number in 0..count {
                    channel.send(&[number])?;
                }
                channel.send(&[77])?;
                channel.flush()?;
                let mut doubled = Vec::new();
                for at in 0..count {
                    if at == fails_at {
                        return Err(Error::from(Misbehaviour::FailedCheck).into());
                    }
                    let number = match numbers.ready()? {
                        Some(number) => number,
                        None => numbers.wait()?,
                    };
                    doubled.push(2 * number);
                }
                Ok(doubled)
            },
        )
    }

    #[test]
    fn one_thread_collects_and_works() {
        for count in [0, 1, 50] {
            let (mut one, mut two) = memory::pair();
            thread::scope(|scope| {
                let other = scope.spawn(|| double(&mut two, count, u8::MAX));
                let expected: Vec<u8> = (0..count).map(|number| 2 * number).collect();
                assert_eq!(double(&mut one, count, u8::MAX).unwrap(), (expected.clone(), 77));
                assert_eq!(other.join().unwrap().unwrap(), (expected, 77));
            });
        }
    }

    #[test]
    fn on_one_thread_a_failure_of_either_side_is_told() {
        let (mut one, mut two) = memory::pair();
        two.send(&[0; 4]).and_then(|()| two.flush()).unwrap();
        let failed = double(&mut one, 3, 0);
        assert_eq!(failed, Err(Misbehaviour::FailedCheck.into()));
        assert_eq!(one.recv_exact(&mut [0]), Err(ChannelError::Aborted));
        assert_eq!(two.recv_exact(&mut [0]), Err(ChannelError::PeerAborted));
        let (mut one, two) = memory::pair();
        drop(two);
        assert_eq!(double(&mut one, 3, u8::MAX), Err(ChannelError::Closed.into()));
    }
}
