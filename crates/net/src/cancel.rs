//! A switch that ends every wait: it closes the sockets and wakes whoever waits on a channel or a connection attempt.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::error::NetError;
use crate::link::Link;

/// A clonable switch, thrown once. All clones share it.
///
/// It may be thrown from any thread, not from inside a signal handler.
#[derive(Clone, Default)]
pub struct CancelToken {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    thrown: Condvar,
}

#[derive(Default)]
struct State {
    cancelled: bool,
    links: Vec<Weak<Link>>,
}

impl CancelToken {
    /// A new switch, not thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Throws the switch: every wait that obeys it ends with [`NetError::Cancelled`], and its sockets are closed.
    pub fn cancel(&self) {
        let links = {
            let mut state = self.lock();
            state.cancelled = true;
            std::mem::take(&mut state.links)
        };
        self.shared.thrown.notify_all();
        for link in links.iter().filter_map(Weak::upgrade) {
            link.fail_both(&NetError::Cancelled);
        }
    }

    /// Whether the switch has been thrown.
    pub fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    /// Fails if the switch has been thrown.
    pub(crate) fn check(&self) -> Result<(), NetError> {
        if self.is_cancelled() { Err(NetError::Cancelled) } else { Ok(()) }
    }

    /// Sleeps, unless the switch is thrown before.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<(), NetError> {
        let until = Instant::now() + duration;
        let mut state = self.lock();
        loop {
            if state.cancelled {
                return Err(NetError::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            state = self.shared.thrown.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Has the link fail when the switch is thrown, or at once if it has been.
    pub(crate) fn watch(&self, link: &Arc<Link>) {
        let mut state = self.lock();
        if state.cancelled {
            drop(state);
            link.fail_both(&NetError::Cancelled);
            return;
        }
        state.links.retain(|old| old.strong_count() > 0);
        state.links.push(Arc::downgrade(link));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish()
    }
}
