//! A first pass that keeps nothing: the keys go to whoever wants them.

use std::ops::ControlFlow;

use crate::collect::{Loading, Parted, Rows};
use crate::error::{Place, TableError};
use crate::rule::Value;

/// Rows whose digests are handed over together.
pub(crate) const BATCH: usize = 1 << 14;

/// Most threads that read: what each has in its hands is part of a budget, and one thread takes what they make.
pub(crate) const MOST_THREADS: usize = 4;

/// Keys after which even a few digests are handed over: a batch numbers them in 32 bits.
const MOST_KEYS: u64 = 1 << 31;

/// Takes the keys of a table as a first pass finds them.
pub trait RowSink {
    /// Is called once before all keys, with their approximate number, 0 if unknown. `Break` ends the pass with
    /// [`TableError::Cancelled`].
    fn begin(&mut self, keys_hint: usize) -> ControlFlow<()> {
        let _ = keys_hint;
        ControlFlow::Continue(())
    }

    /// Takes the digest of a row's key. Rows come in ascending order, without those that have no key. `Break`
    /// ends the pass with [`TableError::Cancelled`]. With several rules to match by, `row` is the number of the key
    /// ([`MatchRules`](crate::MatchRules)).
    fn take(&mut self, row: u64, digest: &[u8]) -> ControlFlow<()>;
}

/// Makes digests from rows, and hands them to a sink.
pub(crate) struct Digested<'r> {
    loading: Loading<'r>,
    sink: &'r mut dyn RowSink,
}

impl<'r> Digested<'r> {
    /// `loading` must keep nothing beside keys.
    pub(crate) fn new(
        loading: Loading<'r>,
        sink: &'r mut dyn RowSink,
        rows_hint: usize,
    ) -> Result<Self, TableError> {
        match sink.begin(rows_hint.saturating_mul(loading.request.keys.count())) {
            ControlFlow::Continue(()) => Ok(Digested { loading, sink }),
            ControlFlow::Break(()) => Err(TableError::Cancelled),
        }
    }

    fn hand_over(&mut self, at_least: usize) -> Result<(), TableError> {
        let (held, keys) = self.loading.collector.held();
        if held < at_least && keys < MOST_KEYS {
            return Ok(());
        }
        let taken = self.loading.collector.drain(|row, digest| self.sink.take(row, digest));
        if taken.is_break() { Err(TableError::Cancelled) } else { Ok(()) }
    }

    /// Hands over the last rows.
    pub(crate) fn finish(mut self) -> Result<Loading<'r>, TableError> {
        self.hand_over(0)?;
        Ok(self.loading)
    }
}

impl<'r> Parted<'r> for Digested<'r> {
    fn part(&self) -> Result<Loading<'r>, TableError> {
        self.loading.part()
    }

    fn take_from(&mut self, part: &mut Loading<'r>) -> Result<(), TableError> {
        self.loading.take_from(part)?;
        self.hand_over(BATCH)
    }

    fn keeps_all(&self) -> bool {
        false
    }
}

impl<'r> Rows<'r> for Digested<'r> {
    fn parted(&mut self) -> Option<&mut dyn Parted<'r>> {
        Some(self)
    }

    fn in_file(&mut self, file: &'r str) {
        self.loading.in_file(file);
    }

    fn count(&self) -> u64 {
        self.loading.count()
    }

    #[inline]
    fn row<'v>(
        &mut self,
        place: impl FnOnce() -> Place,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), TableError> {
        self.loading.row(place, value)?;
        self.hand_over(BATCH)
    }

    fn rows<'v>(
        &mut self,
        count: usize,
        place: impl Fn(usize) -> Place,
        value: impl Fn(usize, usize) -> Value<'v>,
    ) -> Result<(), TableError> {
        for at in (0..count).step_by(BATCH) {
            let together = BATCH.min(count - at);
            self.loading.rows(together, |row| place(at + row), |row, part| value(at + row, part))?;
            self.hand_over(BATCH)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
