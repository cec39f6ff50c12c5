//! A server's list of what was asked, so that budgets hold over restarts and crashes.
//!
//! ```text
//! file    "vesica ledger 1\n" ‖ records of 92 bytes
//! record  receiver (32) ‖ Unix time (u64) ‖ keys (u32) ‖ digest of the query (32) ‖ link (16)
//! link    the first 16 bytes of BLAKE3 over the link of the record before ‖ this record; zeros stand before the first
//! ```
//!
//! A record is durable before [`Ledger::charge`] returns. Threads that charge at the same time share one `fsync`. A crash
//! leaves at most records that nobody was answered for; the next start cuts off a last one that is not whole.
//!
//! Links show that a record was changed or taken out. They do not bind whoever runs the server: who can write the file can
//! also cut it, or write all of it anew.

mod file;
mod state;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::append::append;
use crate::error::LedgerError;
pub use file::LEDGER_MAGIC;
use file::{Links, Record};
use state::{Budgets, Decision};

/// What a query costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charge {
    /// It is charged now.
    New,
    /// The same receiver was charged for the same query with as many keys, within the last eight UTC days: it is answered
    /// again and costs nothing.
    Paid,
    /// It is beyond the budget and is not charged.
    Over {
        /// Keys that are left today.
        left: u64,
        /// When the budget renews: the next midnight in UTC, in seconds since 1970.
        renews: u64,
    },
}

/// A ledger that this process has alone. Many threads can charge at once.
pub struct Ledger {
    path: PathBuf,
    file: File,
    removed: u64,
    shared: Mutex<Shared>,
    changed: Condvar,
}

struct Shared {
    budgets: Budgets,
    links: Links,
    /// Bytes of the records that are durable, and of those before them.
    length: u64,
    /// Records that are not written yet.
    waiting: Vec<u8>,
    /// How many records were appended, and how many of them are durable.
    appended: u64,
    durable: u64,
    is_writing: bool,
    failed: Option<(io::ErrorKind, String)>,
}

impl Ledger {
    /// Opens the ledger at `path`, or begins one that only its owner can read. A last record that a crash cut is removed.
    ///
    /// # Errors
    ///
    /// [`LedgerError::InUse`] while another process has it, [`LedgerError::Broken`] for a changed record, and
    /// [`LedgerError::Open`], [`LedgerError::NoLock`], [`LedgerError::NotALedger`].
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let mut budgets = Budgets::default();
        let opened = file::open(path, |record| budgets.note(record))?;
        let shared = Shared {
            budgets,
            links: opened.links,
            length: opened.length,
            waiting: Vec::new(),
            appended: 0,
            durable: 0,
            is_writing: false,
            failed: None,
        };
        Ok(Ledger {
            path: path.into(),
            file: opened.file,
            removed: opened.removed,
            shared: Mutex::new(shared),
            changed: Condvar::new(),
        })
    }

    /// Charges a receiver for a query of `keys` keys at the time `now` (seconds since 1970), unless that takes the receiver
    /// over `most_a_day` keys in this UTC day. A clock that goes backwards stands still here: the time is never before that
    /// of the newest record.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Write`]; then nothing more is charged until the ledger is opened again, as nobody knows what the disk
    /// has.
    pub fn charge(
        &self,
        receiver: &[u8; 32],
        query: &[u8; 32],
        keys: u32,
        most_a_day: Option<u64>,
        now: u64,
    ) -> Result<Charge, LedgerError> {
        let mut shared = self.lock();
        self.check(&shared)?;
        let now = now.max(shared.budgets.newest());
        let record = Record { receiver: *receiver, time: now, keys, query: *query };
        let charge = match shared.budgets.decide(&record, most_a_day) {
            Decision::Over { left, renews } => return Ok(Charge::Over { left, renews }),
            // The record may be another thread's that is not durable yet.
            Decision::Paid => Charge::Paid,
            Decision::New => {
                shared.append(&record);
                Charge::New
            }
        };
        let mine = shared.appended;
        self.make_durable(shared, mine).map(|()| charge)
    }

    /// Whether a receiver was charged for that query, with as many keys, in the last days.
    #[must_use]
    pub fn has(&self, receiver: &[u8; 32], query: &[u8; 32], keys: u32) -> bool {
        self.lock().budgets.has(receiver, query, keys)
    }

    /// The keys that are left to a receiver in the UTC day of `now` (seconds since 1970), and when that day ends.
    #[must_use]
    pub fn left(&self, receiver: &[u8; 32], most_a_day: u64, now: u64) -> (u64, u64) {
        let budgets = &self.lock().budgets;
        budgets.left(receiver, most_a_day, now.max(budgets.newest()))
    }

    /// The time of the newest record, in seconds since 1970; 0 if there is none. If it lies in the future, a wrong clock was
    /// written down, and budgets stay those of that day until it is over.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.lock().budgets.newest()
    }

    /// Bytes of an unfinished record that [`open`](Ledger::open) removed: what a crash had left.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.removed
    }

    /// Waits until the first `mine` records are durable. Who finds nobody writing writes all that wait.
    fn make_durable<'l>(&'l self, mut shared: MutexGuard<'l, Shared>, mine: u64) -> Result<(), LedgerError> {
        loop {
            self.check(&shared)?;
            if shared.durable >= mine {
                return Ok(());
            }
            if shared.is_writing {
                shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            shared.is_writing = true;
            let (records, at, upto) = (std::mem::take(&mut shared.waiting), shared.length, shared.appended);
            drop(shared);
            let written = append(&self.file, &records, at);
            shared = self.lock();
            shared.is_writing = false;
            match written {
                Ok(()) => {
                    shared.durable = upto;
                    shared.length += records.len() as u64;
                }
                Err(error) => shared.failed = Some((error.kind(), error.to_string())),
            }
            self.changed.notify_all();
        }
    }

    fn check(&self, shared: &Shared) -> Result<(), LedgerError> {
        match &shared.failed {
            None => Ok(()),
            Some((kind, message)) => {
                let source = io::Error::new(*kind, message.clone());
                Err(LedgerError::Write { path: self.path.clone(), source })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn append(&mut self, record: &Record) {
        self.budgets.note(record);
        let bytes = self.links.seal(record);
        self.waiting.extend_from_slice(&bytes);
        self.appended += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_refuses_ends_all_charges() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let mut ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.charge(&[1; 32], &[1; 32], 5, None, 1).unwrap(), Charge::New);
        // A handle that cannot write.
        ledger.file = File::open(&path).unwrap();
        std::thread::scope(|scope| {
            for query in 0..8 {
                let ledger = &ledger;
                scope.spawn(move || {
                    // The first one is paid, and still nobody is answered once the disk is in doubt.
                    let charge = ledger.charge(&[1; 32], &[query; 32], 5, None, 1);
                    assert!(query == 1 || matches!(charge, Err(LedgerError::Write { .. })));
                });
            }
        });
        assert!(ledger.charge(&[1; 32], &[1; 32], 5, None, 1).is_err());
        drop(ledger);
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.charge(&[1; 32], &[1; 32], 5, None, 1).unwrap(), Charge::Paid);
        assert_eq!(ledger.charge(&[1; 32], &[2; 32], 5, Some(10), 1).unwrap(), Charge::New);
    }
}
