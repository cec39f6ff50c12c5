//! What a relay or a server tells, on its way to whoever reads it: a reader that stops holds up nobody but itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Notices that may wait for the reader.
const ROOM: usize = 1 << 12;
/// How long the reader has for what is left when the relay ends.
const LAST: Duration = Duration::from_secs(2);

pub(super) struct Queue<N> {
    sender: SyncSender<N>,
    left_out: Arc<AtomicU64>,
    /// It tells.
    thread: JoinHandle<()>,
}

impl<N: Send + 'static> Queue<N> {
    /// Hands each notice to `tell`, on a thread of that name. `left_out` is the notice of so many that it did not take.
    pub(super) fn start(
        name: &str,
        mut tell: impl FnMut(&N) + Send + 'static,
        left_out: fn(u64) -> N,
    ) -> io::Result<Self> {
        let (sender, notices) = sync_channel(ROOM);
        let counted = Arc::<AtomicU64>::default();
        let missing = counted.clone();
        let body = move || {
            let tell_missing = |tell: &mut dyn FnMut(&N)| match missing.swap(0, Relaxed) {
                0 => {}
                events => tell(&left_out(events)),
            };
            while let Ok(notice) = notices.recv() {
                tell(&notice);
                tell_missing(&mut tell);
            }
            tell_missing(&mut tell);
        };
        let thread = thread::Builder::new().name(name.into()).spawn(body)?;
        Ok(Self { sender, left_out: counted, thread })
    }

    /// Never waits.
    pub(super) fn put(&self, notice: N) {
        if self.sender.try_send(notice).is_err() {
            self.left_out.fetch_add(1, Relaxed);
        }
    }

    /// Waits for the reader, and leaves it behind where it takes nothing.
    pub(super) fn close(self) {
        drop(self.sender);
        let begun = Instant::now();
        while !self.thread.is_finished() && begun.elapsed() < LAST {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[derive(Clone)]
    enum Notice {
        Told,
        LeftOut(u64),
    }

    #[test]
    fn flaw_a_reader_that_stops_holds_up_nobody_and_hears_how_much_it_missed() {
        let ((open, shut), (sender, told)) = (channel::<()>(), channel());
        // It stops at the first notice until all are there, or for long enough.
        let mut stop = Some(shut);
        let tell = move |notice: &Notice| {
            if let Some(shut) = stop.take() {
                let _ = shut.recv_timeout(Duration::from_secs(10));
            }
            sender.send(notice.clone()).unwrap();
        };
        let queue = Queue::start("tells", tell, Notice::LeftOut).unwrap();
        let all = ROOM + 100;
        (0..all).for_each(|_| queue.put(Notice::Told));
        drop(open);
        queue.close();
        let told: Vec<_> = told.iter().collect();
        let left_out = |notice: &Notice| match notice {
            Notice::LeftOut(events) => Some(*events as usize),
            Notice::Told => None,
        };
        let missed: usize = told.iter().filter_map(left_out).sum();
        let lines = told.iter().filter(|notice| left_out(notice).is_none()).count();
        assert!(missed >= 99 && missed + lines == all, "{missed} and {lines}");
    }

    #[test]
    fn a_reader_that_never_returns_is_left_behind() {
        let (open, shut) = channel::<()>();
        let tell = move |_: &Notice| shut.recv().unwrap_or_default();
        let queue = Queue::start("tells", tell, Notice::LeftOut).unwrap();
        queue.put(Notice::Told);
        queue.close();
        drop(open);
    }
}
