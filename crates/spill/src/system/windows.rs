//! Temporary files on Windows.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::windows::fs::FileExt;
use std::path::{Path, PathBuf};

/// What names the directory if the user does not.
pub(crate) const USUAL: &str = "TEMP";

/// The directory that the environment names: it is the [usual one](usual) here.
pub(crate) fn environment() -> Option<OsString> {
    None
}

/// The directory if nobody names one.
pub(crate) fn usual() -> PathBuf {
    std::env::temp_dir()
}

/// Bytes that this user can still write there are not known. A write to a full disk fails.
pub(crate) fn free(directory: &Path) -> io::Result<Option<u64>> {
    directory.metadata()?;
    Ok(None)
}

/// Whether the files of a directory lie in memory: Windows has no such file system.
pub(crate) fn in_memory(directory: &Path) -> io::Result<bool> {
    directory.metadata()?;
    Ok(false)
}

/// Nothing is left to do: while this process has the file open, no other can open it, and then it is deleted.
pub(crate) fn make_private(_file: &File) -> io::Result<()> {
    Ok(())
}

pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = &bytes[count..];
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes = &mut bytes[count..];
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
