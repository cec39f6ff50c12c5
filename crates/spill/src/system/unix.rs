//! Temporary files on Unix.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

/// The directory if neither the user nor the environment names one. It survives restarts, so it is on a disk.
pub(crate) const USUAL: &str = "/var/tmp";

/// The directory that the environment names.
pub(crate) fn environment() -> Option<OsString> {
    std::env::var_os("TMPDIR")
}

/// The directory if nobody names one.
pub(crate) fn usual() -> PathBuf {
    USUAL.into()
}

/// Bytes that this user can still write there.
pub(crate) fn free(directory: &Path) -> io::Result<Option<u64>> {
    let there = statvfs(directory)?;
    Ok(Some(there.f_bavail.saturating_mul(there.f_frsize)))
}

/// Whether the files of a directory lie in memory.
#[cfg(target_os = "linux")]
pub(crate) fn in_memory(directory: &Path) -> io::Result<bool> {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    let kind = rustix::fs::statfs(directory)?.f_type;
    // The width of the field and its sign differ between processors.
    Ok([TMPFS, RAMFS].contains(&u64::from(kind as u32)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn in_memory(directory: &Path) -> io::Result<bool> {
    statvfs(directory)?;
    Ok(false)
}

/// Lets nobody but its owner open a new file. It is made with the usual mode, which others may read by.
///
/// A file system with permissions of its own (SMB, FUSE) refuses. That is no reason to end the run: the file has no name by
/// which others could open it, and all that is in it is encrypted with a key of this process.
pub(crate) fn make_private(file: &File) -> io::Result<()> {
    unless_impossible(file.set_permissions(Permissions::from_mode(0o600)))
}

fn unless_impossible(done: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{PermissionDenied, Unsupported};
    match done {
        Err(error) if matches!(error.kind(), PermissionDenied | Unsupported) => Ok(()),
        done => done,
    }
}

pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_modes_ends_no_run_and_a_broken_one_does() {
        let with = |error: rustix::io::Errno| unless_impossible(Err(error.into()));
        use rustix::io::Errno;
        assert!([Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS].into_iter().all(|error| with(error).is_ok()));
        assert!([Errno::IO, Errno::ROFS, Errno::NOSPC].into_iter().all(|error| with(error).is_err()));
    }
}
