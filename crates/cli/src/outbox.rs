//! Lines on their way to a reader that may be slow, or stop. A thread of their own writes them, so that a run waits for no
//! reader before its own end.
//!
//! What may be missed is left out while lines wait. All others are kept: a run has few of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};

/// So many lines may wait before others are left out.
const MOST: usize = 64;

/// Where lines are put.
pub(crate) struct Outbox {
    lines: Sender<String>,
    waiting: Arc<AtomicUsize>,
}

/// Where they come out, for as long as the [`Outbox`] is there.
pub(crate) struct Lines {
    lines: Receiver<String>,
    waiting: Arc<AtomicUsize>,
}

/// Both ends.
pub(crate) fn outbox() -> (Outbox, Lines) {
    let ((give, take), waiting) = (mpsc::channel(), Arc::<AtomicUsize>::default());
    (Outbox { lines: give, waiting: waiting.clone() }, Lines { lines: take, waiting })
}

impl Outbox {
    /// A line that has to be written.
    pub(crate) fn put(&self, line: String) {
        self.waiting.fetch_add(1, Relaxed);
        // Whoever writes them takes them until the end.
        drop(self.lines.send(line));
    }

    /// Whether the reader is so far behind that what may be missed is left out.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting.load(Relaxed) >= MOST
    }
}

impl Lines {
    /// Writes each of them.
    pub(crate) fn each(self, mut write: impl FnMut(&str)) {
        for line in self.lines {
            write(&line);
            self.waiting.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_in_order_and_a_reader_that_stopped_is_known() {
        let (outbox, lines) = outbox();
        for number in 0..MOST {
            assert!(!outbox.is_behind());
            outbox.put(number.to_string());
        }
        assert!(outbox.is_behind());
        outbox.put("last".into());
        drop(outbox);
        let mut written = Vec::new();
        lines.each(|line| written.push(line.to_owned()));
        let expected = (0..MOST).map(|number| number.to_string()).chain(["last".to_owned()]);
        assert!(written.iter().eq(expected.collect::<Vec<_>>().iter()));
    }
}
