//! A switch that ends every wait: it closes the sockets and wakes whoever waits on a channel or a connection attempt.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::link::Link;
use vesica_channel::ChannelError;

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
    children: Vec<Weak<Shared>>,
}

impl CancelToken {
    /// A new switch, not thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Throws the switch: every wait that obeys it ends with [`ChannelError::Cancelled`], and its sockets are closed.
    pub fn cancel(&self) {
        let (links, children) = {
            let mut state = self.lock();
            state.cancelled = true;
            (std::mem::take(&mut state.links), std::mem::take(&mut state.children))
        };
        self.shared.thrown.notify_all();
        for shared in children.iter().filter_map(Weak::upgrade) {
            CancelToken { shared }.cancel();
        }
        for link in links.iter().filter_map(Weak::upgrade) {
            link.fail_both(&ChannelError::Cancelled);
        }
    }

    /// A switch of its own that this one throws too: for what may end before the rest does.
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

    /// Whether the switch has been thrown.
    pub fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    /// Fails if the switch has been thrown.
    pub(crate) fn check(&self) -> Result<(), ChannelError> {
        if self.is_cancelled() { Err(ChannelError::Cancelled) } else { Ok(()) }
    }

    /// Sleeps, unless the switch is thrown before.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<(), ChannelError> {
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
            state = self.shared.thrown.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Has the link fail when the switch is thrown, or at once if it has been.
    pub(crate) fn watch(&self, link: &Arc<Link>) {
        let mut state = self.lock();
        if state.cancelled {
            drop(state);
            link.fail_both(&ChannelError::Cancelled);
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
