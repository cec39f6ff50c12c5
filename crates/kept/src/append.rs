//! Files to which durable records are appended: for their owner alone, and locked while they are used.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::LedgerError;
use crate::system::{keep_private, sync_folder, write_all_at};

/// How long to sleep before the next look at a lock that another process has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Opens or begins a file that only its owner can read, and locks it; where another process has the lock, it waits that
/// long for it.
///
/// # Errors
///
/// [`LedgerError::InUse`] if another process still has it, [`LedgerError::Open`] and [`LedgerError::NoLock`].
pub fn open_locked(path: &Path, patience: Duration) -> Result<File, LedgerError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let opened = keep_private(&mut options).open(path);
    let file = opened.map_err(|source| LedgerError::Open { path: path.into(), source })?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => thread::sleep(LOOK_AGAIN),
            Err(TryLockError::WouldBlock) => return Err(LedgerError::InUse { path: path.into() }),
            Err(TryLockError::Error(source)) => {
                return Err(LedgerError::NoLock { path: path.into(), source });
            }
        }
    }
}

/// Writes a record at the end of a file, durably.
///
/// # Errors
///
/// Those of the system. Then nobody knows what the disk has.
pub fn append(file: &File, record: &[u8], end: u64) -> io::Result<()> {
    write_all_at(file, record, end)?;
    file.sync_data()
}

/// Makes `record` the last one of a file, from byte `at` on: of a new file, or in place of what a crash has left. The
/// file's name is durable too.
///
/// # Errors
///
/// As [`append`].
pub fn put_last(file: &File, path: &Path, record: &[u8], at: u64) -> io::Result<()> {
    write_all_at(file, record, at)?;
    file.set_len(at + record.len() as u64)?;
    file.sync_all()?;
    sync_folder(path)
}
