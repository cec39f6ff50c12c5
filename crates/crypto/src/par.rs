//! Chunked loops, and streams of pieces, on several threads. The result does not depend on the number of threads.
//!
//! In a loop the caller chooses a fixed chunk size, which never depends on the number of threads or the processor. Each
//! chunk gets its index: code that needs randomness forks one stream per chunk (`Prg::fork(seed, index)`). A
//! thread takes the next chunk when it has finished one, so uneven chunks balance. Of several errors, the
//! loop returns the error of the lowest chunk, whatever the timing: chunks are handed out in order, so all
//! lower chunks have been started by then. A panic in a chunk reaches the caller.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::panic;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Runs `work(chunk_index, inputs, outputs)` over equal chunks of `inputs` and `outputs`; the last may be
/// shorter.
///
/// # Errors
/// The error of the lowest failing chunk. After an error no further chunk is started, and the outputs are
/// incomplete.
///
/// # Panics
/// If the slices differ in length, `chunk` is zero, or `work` panics.
pub fn for_each_chunk<T, U, E, F>(
    threads: usize,
    chunk: usize,
    inputs: &[T],
    outputs: &mut [U],
    work: F,
) -> Result<(), E>
where
    T: Sync,
    U: Send,
    E: Send,
    F: Fn(usize, &[T], &mut [U]) -> Result<(), E> + Sync,
{
    assert_eq!(inputs.len(), outputs.len(), "one output per input");
    let pairs = inputs.chunks(chunk).zip(outputs.chunks_mut(chunk));
    for_each(threads, pairs, |index, (inputs, outputs)| work(index, inputs, outputs))
}

/// Runs `work(chunk_index, outputs)` over equal chunks of `outputs`; the last may be shorter.
///
/// # Errors
/// As [`for_each_chunk`].
///
/// # Panics
/// If `chunk` is zero or `work` panics.
pub fn fill_chunks<U, E, F>(threads: usize, chunk: usize, outputs: &mut [U], work: F) -> Result<(), E>
where
    U: Send,
    E: Send,
    F: Fn(usize, &mut [U]) -> Result<(), E> + Sync,
{
    for_each(threads, outputs.chunks_mut(chunk), work)
}

/// Runs `work(index, task)` for every task, on at most `threads` threads including the calling one.
///
/// This is the general form: a task may be a tuple of chunks of several slices with different strides.
///
/// # Errors
/// As [`for_each_chunk`].
///
/// # Panics
/// If `work` panics.
pub fn for_each<I, E, F>(threads: usize, tasks: I, work: F) -> Result<(), E>
where
    I: ExactSizeIterator + Send,
    I::Item: Send,
    E: Send,
    F: Fn(usize, I::Item) -> Result<(), E> + Sync,
{
    let helpers = threads.min(tasks.len()).saturating_sub(1);
    if helpers == 0 {
        return tasks.enumerate().try_for_each(|(index, task)| work(index, task));
    }
    counted::add(helpers);
    let queue = Queue { tasks: Mutex::new(tasks.enumerate()), first_error: Mutex::new(None) };
    thread::scope(|scope| {
        // If the system refuses a thread, the existing threads do all the work.
        let helper = |_| thread::Builder::new().spawn_scoped(scope, || queue.drain(&work)).ok();
        let joins: Vec<_> = (0..helpers).map_while(helper).collect();
        queue.drain(&work);
        for join in joins {
            if let Err(payload) = join.join() {
                panic::resume_unwind(payload);
            }
        }
    });
    match queue.first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// Helpers that this thread has had in [`for_each`] and [`in_order`] so far, for tests.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn helpers_started() -> usize {
    counted::HELPERS.get()
}

/// Counts started helpers, for tests.
mod counted {
    #[cfg(any(test, feature = "testing"))]
    std::thread_local! {
        pub(super) static HELPERS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
    }

    pub(super) fn add(helpers: usize) {
        #[cfg(any(test, feature = "testing"))]
        HELPERS.set(HELPERS.get() + helpers);
        #[cfg(not(any(test, feature = "testing")))]
        let _ = helpers;
    }
}

/// A stream of pieces: the calling thread fills and takes them in order, and all threads work on them in between.
pub trait Pipeline {
    /// A piece, which is used again once it was taken.
    type Piece: Send;
    /// Why the stream ends early.
    type Error;

    /// A piece that was not filled yet.
    fn piece(&mut self) -> Result<Self::Piece, Self::Error>;

    /// Whether a further piece may be filled, while others were filled and not taken.
    fn has_room(&self) -> bool {
        true
    }

    /// Fills the next piece; false if there is none.
    fn fill(&mut self, piece: &mut Self::Piece) -> Result<bool, Self::Error>;

    /// Works on a piece, on any thread.
    fn work(piece: &mut Self::Piece);

    /// Takes the next piece, whose work is done.
    fn take(&mut self, piece: &mut Self::Piece) -> Result<(), Self::Error>;
}

/// Runs a stream to its end, on at most `threads` threads including the calling one. Few more pieces are filled and not
/// taken. A stream of one piece starts no thread.
///
/// # Errors
/// The error of a take, or that of the fill behind the last piece that could be filled.
///
/// # Panics
/// If the work on a piece panics.
pub fn in_order<S: Pipeline>(threads: usize, pipeline: &mut S) -> Result<(), S::Error> {
    let threads = threads.max(1);
    let shared = Shared::default();
    thread::scope(|scope| {
        let _closes = Closes(&shared);
        let (mut free, mut joins) = (Vec::new(), Vec::new());
        let (mut filled, mut taken, mut end) = (0, 0, None);
        let mut refused = false;
        while end.is_none() || taken < filled {
            if let Some(mut piece) = shared.done(taken) {
                pipeline.take(&mut piece)?;
                free.push(piece);
                taken += 1;
            } else if end.is_none()
                && (filled == taken || filled - taken < threads + AHEAD && pipeline.has_room())
            {
                let mut piece = match free.pop() {
                    Some(piece) => piece,
                    None => pipeline.piece()?,
                };
                match pipeline.fill(&mut piece) {
                    Ok(true) => {
                        shared.put(filled, piece);
                        filled += 1;
                        if filled > 1 && joins.len() + 1 < threads && !refused {
                            // If the system refuses a thread, the existing threads do all the work.
                            let helper = || shared.work(S::work);
                            match thread::Builder::new().spawn_scoped(scope, helper) {
                                Ok(join) => joins.push(join),
                                Err(_) => refused = true,
                            }
                        }
                    }
                    Ok(false) => end = Some(Ok(())),
                    Err(error) => end = Some(Err(error)),
                }
            } else if shared.help_or_wait(taken, S::work).is_break() {
                // The join below tells why.
                break;
            }
        }
        shared.close();
        counted::add(joins.len());
        for join in joins {
            if let Err(payload) = join.join() {
                panic::resume_unwind(payload);
            }
        }
        end.unwrap_or(Ok(()))
    })
}

/// Pieces that are filled and not taken, beside one for each thread.
const AHEAD: usize = 2;

/// Where the pieces of a stream lie while threads work on them.
struct Shared<P> {
    pieces: Mutex<Pieces<P>>,
    changed: Condvar,
}

struct Pieces<P> {
    waiting: VecDeque<(usize, P)>,
    done: BTreeMap<usize, P>,
    /// Nothing more comes.
    closed: bool,
}

impl<P> Default for Shared<P> {
    fn default() -> Self {
        let pieces = Pieces { waiting: VecDeque::new(), done: BTreeMap::new(), closed: false };
        Shared { pieces: Mutex::new(pieces), changed: Condvar::new() }
    }
}

impl<P> Shared<P> {
    fn pieces(&self) -> MutexGuard<'_, Pieces<P>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, number: usize, piece: P) {
        self.pieces().waiting.push_back((number, piece));
        self.changed.notify_one();
    }

    fn done(&self, number: usize) -> Option<P> {
        self.pieces().done.remove(&number)
    }

    fn finish(&self, number: usize, piece: P) {
        self.pieces().done.insert(number, piece);
        self.changed.notify_all();
    }

    fn close(&self) {
        self.pieces().closed = true;
        self.changed.notify_all();
    }

    /// Works on pieces until nothing more comes.
    fn work(&self, work: fn(&mut P)) {
        let _closes = ClosesOnPanic(self);
        let mut pieces = self.pieces();
        while !pieces.closed {
            match pieces.waiting.pop_front() {
                Some((number, mut piece)) => {
                    drop(pieces);
                    work(&mut piece);
                    self.finish(number, piece);
                    pieces = self.pieces();
                }
                None => pieces = self.changed.wait(pieces).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Works on a piece, or waits for that one, whose work another thread does. Breaks if a thread panicked.
    fn help_or_wait(&self, number: usize, work: fn(&mut P)) -> ControlFlow<()> {
        let mut pieces = self.pieces();
        if let Some((number, mut piece)) = pieces.waiting.pop_front() {
            drop(pieces);
            work(&mut piece);
            self.finish(number, piece);
            return ControlFlow::Continue(());
        }
        while !pieces.closed && !pieces.done.contains_key(&number) {
            pieces = self.changed.wait(pieces).unwrap_or_else(PoisonError::into_inner);
        }
        if pieces.closed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Ends the helpers, however the calling thread leaves.
struct Closes<'b, P>(&'b Shared<P>);

impl<P> Drop for Closes<'_, P> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Ends the stream if the work on a piece panics.
struct ClosesOnPanic<'b, P>(&'b Shared<P>);

impl<P> Drop for ClosesOnPanic<'_, P> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.close();
        }
    }
}

/// Tasks not yet taken, and the error of the lowest task that failed.
struct Queue<I, E> {
    tasks: Mutex<I>,
    first_error: Mutex<Option<(usize, E)>>,
}

impl<I, T, E> Queue<I, E>
where
    I: Iterator<Item = (usize, T)>,
{
    fn drain(&self, work: &impl Fn(usize, T) -> Result<(), E>) {
        while let Some((index, task)) = self.next() {
            if let Err(error) = work(index, task) {
                self.record(index, error);
            }
        }
    }

    fn next(&self) -> Option<(usize, T)> {
        if self.first_error.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return None;
        }
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    fn record(&self, index: usize, error: E) {
        let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(lowest, _)| index < *lowest) {
            *first = Some((index, error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn the_result_does_not_depend_on_the_threads() {
        let inputs: Vec<u64> = (0..1003).collect();
        let run = |threads| {
            let mut outputs = vec![0; inputs.len()];
            let done = for_each_chunk(threads, 17, &inputs, &mut outputs, |index, inputs, outputs| {
                for (input, output) in inputs.iter().zip(outputs) {
                    *output = input * 1000 + index as u64;
                }
                Ok::<_, Infallible>(())
            });
            assert!(done.is_ok());
            outputs
        };
        let one = run(1);
        assert_eq!(one[34], 34_002);
        for threads in [0, 2, 3, 8, 100] {
            assert_eq!(run(threads), one);
        }
    }

    #[test]
    fn the_error_of_the_lowest_chunk_wins() {
        for threads in [1, 2, 4] {
            for _ in 0..20 {
                let result = fill_chunks(threads, 1, &mut [0u8; 64], |index, _| {
                    // The lower failing chunk is the slower one.
                    if index == 10 {
                        thread::sleep(Duration::from_micros(200));
                    }
                    if index >= 10 { Err(index) } else { Ok(()) }
                });
                assert_eq!(result, Err(10));
            }
        }
    }

    #[test]
    fn no_chunk_starts_after_an_error() {
        let started = AtomicUsize::new(0);
        let result = fill_chunks(2, 1, &mut [0u8; 10_000], |_, _| {
            started.fetch_add(1, Ordering::Relaxed);
            Err(())
        });
        assert_eq!(result, Err(()));
        assert!(started.into_inner() <= 2);
    }

    #[test]
    fn a_panic_reaches_the_caller_with_its_message() {
        for threads in [1, 3] {
            let caught = panic::catch_unwind(|| {
                fill_chunks(threads, 1, &mut [0u8; 9], |index, _| {
                    assert!(index != 5, "chunk five");
                    Ok::<_, Infallible>(())
                })
            });
            let payload = caught.unwrap_err();
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"chunk five"));
        }
    }

    /// Numbers up to a limit, doubled; the error is that of a fill or of a take.
    struct Doubling {
        next: u64,
        limit: u64,
        taken: Vec<u64>,
        failing: Option<(bool, u64)>,
        panicking: bool,
    }

    impl Pipeline for Doubling {
        type Piece = u64;
        type Error = u64;

        fn piece(&mut self) -> Result<u64, u64> {
            Ok(0)
        }

        fn fill(&mut self, piece: &mut u64) -> Result<bool, u64> {
            if self.failing == Some((true, self.next)) {
                return Err(self.next);
            }
            *piece = if self.panicking && self.next == 50 { u64::MAX } else { self.next };
            self.next += 1;
            Ok(*piece < self.limit || self.panicking)
        }

        fn work(piece: &mut u64) {
            assert!(*piece != u64::MAX, "piece fifty");
            if *piece % 17 == 3 {
                thread::sleep(Duration::from_micros(300));
            }
            *piece *= 2;
        }

        fn take(&mut self, piece: &mut u64) -> Result<(), u64> {
            if self.failing == Some((false, *piece)) {
                return Err(*piece);
            }
            self.taken.push(*piece);
            Ok(())
        }
    }

    fn doubling(limit: u64, failing: Option<(bool, u64)>) -> Doubling {
        Doubling { next: 0, limit, taken: Vec::new(), failing, panicking: false }
    }

    #[test]
    fn a_stream_keeps_its_order() {
        for threads in [0, 1, 2, 3, 8] {
            for limit in [0, 1, 2, 300] {
                let mut stream = doubling(limit, None);
                let before = helpers_started();
                assert_eq!(in_order(threads, &mut stream), Ok(()));
                assert!(stream.taken.iter().copied().eq((0..limit).map(|number| 2 * number)));
                assert!(helpers_started() - before <= threads.saturating_sub(1).min(limit as usize / 2));
            }
            // What could be filled before an error is taken; a take that fails ends it at once.
            let mut stream = doubling(300, Some((true, 70)));
            assert_eq!((in_order(threads, &mut stream), stream.taken.len()), (Err(70), 70));
            let mut stream = doubling(300, Some((false, 70)));
            assert_eq!((in_order(threads, &mut stream), stream.taken.len()), (Err(70), 35));
        }
    }

    #[test]
    fn a_panic_ends_a_stream() {
        for threads in [1, 2, 5] {
            let mut stream = Doubling { panicking: true, ..doubling(0, None) };
            let caught = panic::catch_unwind(panic::AssertUnwindSafe(|| in_order(threads, &mut stream)));
            assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"piece fifty"));
        }
    }

    #[test]
    fn nothing_to_do_is_done() {
        let done = fill_chunks(4, 8, &mut [] as &mut [u8], |_, _| Err(()));
        assert_eq!(done, Ok(()));
    }

    #[test]
    fn strides_may_differ() {
        let (mut wide, mut narrow) = (vec![0u8; 40], vec![0u8; 10]);
        let tasks = wide.chunks_mut(8).zip(narrow.chunks_mut(2));
        let done = for_each(3, tasks, |index, (wide, narrow)| {
            wide.fill(index as u8);
            narrow.fill(index as u8);
            Ok::<_, Infallible>(())
        });
        assert!(done.is_ok());
        assert_eq!((wide[39], narrow[9], narrow[0]), (4, 4, 0));
    }
}
