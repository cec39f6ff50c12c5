//! A token that ends every wait: it closes the connections and wakes whoever waits on a channel or on the token.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::error::ChannelError;

/// What a [`CancelToken`] can end.
pub trait Cancellable: Send + Sync {
    /// Ends it: its waits fail with [`ChannelError::Cancelled`].
    fn cancel(&self);
}

/// A clonable token, cancelled once. All clones share it.
///
/// It may be cancelled from any thread, not from inside a signal handler.
#[derive(Clone, Default)]
pub struct CancelToken {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    on_cancel: Condvar,
}

#[derive(Default)]
struct State {
    cancelled: bool,
    watched: Vec<Weak<dyn Cancellable>>,
    children: Vec<Weak<Shared>>,
}

impl CancelToken {
    /// A new token, not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels: every wait that obeys the token ends with [`ChannelError::Cancelled`], and its connections
    /// are closed.
    pub fn cancel(&self) {
        let (watched, children) = {
            let mut state = self.lock();
            state.cancelled = true;
            (std::mem::take(&mut state.watched), std::mem::take(&mut state.children))
        };
        self.shared.on_cancel.notify_all();
        for shared in children.iter().filter_map(Weak::upgrade) {
            CancelToken { shared }.cancel();
        }
        watched.iter().filter_map(Weak::upgrade).for_each(|one| one.cancel());
    }

    /// A token of its own that this one cancels too: for what may end before the rest does.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::new();
        let mut state = self.lock();
        if state.cancelled {
            drop(state);
            child.cancel();
        } else {
            state.children.retain(|old| old.strong_count() > 0);
            state.children.push(Arc::downgrade(&child.shared));
        }
        child
    }

    /// Whether the token has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    /// Fails if the token has been cancelled.
    pub fn check(&self) -> Result<(), ChannelError> {
        if self.is_cancelled() { Err(ChannelError::Cancelled) } else { Ok(()) }
    }

    /// Sleeps, unless the token is cancelled before.
    pub fn sleep(&self, duration: Duration) -> Result<(), ChannelError> {
        let until = Instant::now() + duration;
        let mut state = self.lock();
        loop {
            if state.cancelled {
                return Err(ChannelError::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            state = self.shared.on_cancel.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends this when the token is cancelled, or at once if it has been.
    pub fn watch(&self, what: &Arc<impl Cancellable + 'static>) {
        let mut state = self.lock();
        if state.cancelled {
            drop(state);
            what.cancel();
            return;
        }
        state.watched.retain(|old| old.strong_count() > 0);
        let what = Arc::downgrade(what);
        state.watched.push(what);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_obeys_its_parent_and_not_the_other_way_round() {
        let parent = CancelToken::new();
        let (one, two) = (parent.child(), parent.child());
        one.cancel();
        assert_eq!([&parent, &one, &two].map(CancelToken::is_cancelled), [false, true, false]);
        parent.cancel();
        assert!(two.is_cancelled() && parent.child().is_cancelled());
    }
}
