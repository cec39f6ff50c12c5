//! A condition that costs nothing to signal while nobody waits for it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A condition variable that counts who waits: each notification of the standard library's is a system call.
///
/// All waits are for one mutex, and what is waited for changes under it. Then [`notify`](Self::notify) misses nobody, with
/// the mutex held or after it is released: whoever comes to wait later sees the change.
#[derive(Default)]
pub struct Signal {
    condition: Condvar,
    waiting: AtomicUsize,
}

impl Signal {
    /// Wakes all who wait.
    pub fn notify(&self) {
        if self.waiting.load(Relaxed) > 0 {
            self.condition.notify_all();
        }
    }

    /// Waits until notified, or for no reason.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.waiting.fetch_add(1, Relaxed);
        let guard = self.condition.wait(guard).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Relaxed);
        guard
    }

    /// Waits until notified, for no reason, or until `deadline`; false once that has passed.
    pub fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Instant,
    ) -> (MutexGuard<'a, T>, bool) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return (guard, false);
        }
        (self.wait_timeout(guard, left), true)
    }

    /// Waits until notified, for no reason, or for so long.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, most: Duration) -> MutexGuard<'a, T> {
        self.waiting.fetch_add(1, Relaxed);
        let guard = self.condition.wait_timeout(guard, most).unwrap_or_else(PoisonError::into_inner).0;
        self.waiting.fetch_sub(1, Relaxed);
        guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::thread;

    /// Two threads take turns, each waiting for the other's every move: a lost notification would hang them.
    #[test]
    fn no_notification_is_lost() {
        const TURNS: u32 = 20_000;
        let (turn, signals) = (Mutex::new(0), [Signal::default(), Signal::default()]);
        let play = |me: u32| {
            for mine in (me..TURNS).step_by(2) {
                let mut guard = turn.lock().unwrap();
                while *guard != mine {
                    guard = signals[me as usize].wait(guard);
                }
                *guard += 1;
                if mine % 3 == 0 {
                    // Both ways are right.
                    drop(guard);
                }
                signals[1 - me as usize].notify();
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| play(1));
            play(0);
        });
        assert_eq!(*turn.lock().unwrap(), TURNS);
        assert!(signals.iter().all(|signal| signal.waiting.load(Relaxed) == 0));
    }

    #[test]
    fn a_wait_ends_with_its_time() {
        let signal = Signal::default();
        drop(signal.wait_timeout(Mutex::new(()).lock().unwrap(), Duration::from_millis(1)));
        assert_eq!(signal.waiting.load(Relaxed), 0);
    }
}
