//! What operating systems do each in its own way, for set files and ledgers.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{keep_private, read_exact_at, usual, write_all_at};
#[cfg(windows)]
pub(crate) use windows::{keep_private, read_exact_at, usual, write_all_at};

/// The folder that a file is in.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the name of a new file durable. Some systems cannot sync a folder at all, or do not let this user open it for that:
/// the name is as durable as it can be there.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, IsADirectory, PermissionDenied, Unsupported};
    match File::open(folder(path)).and_then(|folder| folder.sync_all()) {
        Err(error)
            if matches!(error.kind(), InvalidInput | IsADirectory | PermissionDenied | Unsupported) =>
        {
            Ok(())
        }
        done => done,
    }
}
