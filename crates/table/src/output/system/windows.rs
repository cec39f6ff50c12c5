//! Outputs on Windows. No file is without a name there, and no wait for a stream can be given up.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::windows::io::AsHandle;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use crate::file_id::FileId;
use crate::output::Standard;

/// Another handle of a standard stream.
pub(in crate::output) fn duplicate(standard: &impl AsHandle) -> io::Result<File> {
    Ok(File::from(standard.as_handle().try_clone_to_owned()?))
}

/// Which file an open handle leads to is not known: files are told apart by their paths.
pub(in crate::output) fn id(_file: &File) -> io::Result<Option<FileId>> {
    Ok(None)
}

/// The standard stream that `path` leads to: `-` is standard output.
pub fn standard(path: &Path) -> Option<Standard> {
    (path.as_os_str() == "-").then_some(Standard::Output)
}

/// Whether a path names a descriptor of a process: there are none.
pub(in crate::output) fn names_descriptor(_path: &Path) -> bool {
    false
}

/// Whether standard output was closed at the start: Rust's standard output takes everything then.
pub(in crate::output) fn is_closed() -> bool {
    Standard::Output.duplicate().is_err()
}

/// Opens a device or a pipe.
pub(in crate::output) fn open_stream(path: &Path) -> io::Result<Option<File>> {
    OpenOptions::new().write(true).open(path).map(Some)
}

/// A write waits by itself.
pub(in crate::output) fn takes_bytes(_file: &File) -> bool {
    true
}

/// Free bytes on the file system are not known.
pub(crate) fn room(_directory: &Path) -> Option<u64> {
    None
}

/// Nothing can be mounted on a file.
pub(in crate::output) fn is_mounted(_path: &Path, _directory: &Path) -> bool {
    false
}

/// That a file can be opened for writing tells enough.
pub(in crate::output) fn may_replace(_file: &Path) -> bool {
    true
}

/// The only permission is to write.
pub(in crate::output) fn is_wider(_mode: &Permissions, _than: &Permissions) -> bool {
    false
}

/// Files take the permissions of their folder.
pub(in crate::output) fn permit<'b>(
    builder: &'b mut Builder<'static, 'static>,
    _mode: u32,
) -> &'b mut Builder<'static, 'static> {
    builder
}

pub(in crate::output) fn unnamed(_directory: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(in crate::output) fn can_be_named(_file: &File) -> bool {
    false
}

pub(in crate::output) fn link(
    _file: &File,
    _builder: &Builder<'_, '_>,
    _directory: &Path,
) -> io::Result<NamedTempFile<()>> {
    Err(io::ErrorKind::Unsupported.into())
}
