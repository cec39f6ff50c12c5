//! The system of a run on Windows.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cpu_time::ProcessTime;
use same_file::Handle;

pub(crate) const NO_CONFIG_FOLDER: &str = "neither XDG_CONFIG_HOME nor LOCALAPPDATA is set";

/// Where the user's settings are.
pub(crate) fn config_folder() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME").or_else(|| folder("LOCALAPPDATA"))
}

/// The folder that a variable of the environment names.
fn folder(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Windows has no such limit.
pub(crate) fn address_space() -> Option<u64> {
    None
}

/// CPU time of all threads so far, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    ProcessTime::now().as_duration().as_secs_f64()
}

/// What to do if the system has run out of something for this process.
pub(crate) fn exhausted(source: &io::Error) -> Option<&'static str> {
    /// Too many open files (winerror.h).
    const TOO_MANY_OPEN_FILES: i32 = 4;
    /// Too many open sockets (winerror.h).
    const WSAEMFILE: i32 = 10_024;
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::OutOfMemory, _) => {
            Some("close other programs, or give the machine a larger page file")
        }
        (_, Some(TOO_MANY_OPEN_FILES | WSAEMFILE)) => {
            Some("close other programs: the system has too many files open")
        }
        _ => None,
    }
}

/// Whether an open file is the one at `path`.
pub(crate) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    Ok(Handle::from_file(file.try_clone()?)? == Handle::from_path(path)?)
}

/// Opens what is there for reading.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Windows cannot sync a folder. NTFS keeps names in a journal.
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}
