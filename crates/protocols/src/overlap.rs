//! Working while receiving: a role computes and sends, and a second thread collects what comes in.
//!
//! A protocol whose messages cross would stall, or fill the partner's queue, if it read only between its own
//! sends. [`overlap`] gives the two directions to two threads and settles what happens when one of them
//! fails.

use std::sync::mpsc;
use std::thread;

use vesica_channel::{Channel, ChannelError, RecvHalf, SendHalf};

use crate::error::Error;

/// Hands pieces of an incoming message from the collecting thread to the working one.
pub(crate) struct Inbound<T>(mpsc::Receiver<T>);

impl<T> Inbound<T> {
    /// The next piece if it is already there. Ask only while one is still to come.
    pub(crate) fn ready(&self) -> Result<Option<T>, Stopped> {
        match self.0.try_recv() {
            Ok(piece) => Ok(Some(piece)),
            Err(mpsc::TryRecvError::Empty) => Ok(None),
            Err(mpsc::TryRecvError::Disconnected) => Err(Stopped::CollectorEnded),
        }
    }

    /// The next piece, waited for. The error says only that the collecting thread ended early; [`overlap`]
    /// replaces it by that thread's own.
    pub(crate) fn wait(&self) -> Result<T, Stopped> {
        self.0.recv().map_err(|_| Stopped::CollectorEnded)
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

/// Runs `work` on this thread and `collect` on another; returns when both have ended.
///
/// `collect` passes what it reads to `work` through the `Inbound`; the queue has no bound of its own, so
/// `collect` must read a length both sides agreed on; what it returns comes back beside the work's result. If
/// `work` fails the connection is aborted, so that `collect` ends too.
pub(crate) fn overlap<T: Send, C: Send, W>(
    channel: &mut dyn Channel,
    collect: impl FnOnce(&mut dyn RecvHalf, &mut dyn FnMut(T)) -> Result<C, Error> + Send,
    work: impl FnOnce(&mut dyn SendHalf, &Inbound<T>) -> Result<W, Stopped>,
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
        let worked = work(&mut *outgoing.0, &Inbound(pieces));
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
