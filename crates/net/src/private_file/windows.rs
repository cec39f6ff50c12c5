//! Private files on Windows. Their folder decides who can read them.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use super::{PrivateFileError, Readers};

/// Opens a link itself, and not what it leads to (winbase.h).
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// Opens what is there for reading and writing.
pub(super) fn open_unlinked(path: &Path) -> Result<File, PrivateFileError> {
    let mut options = OpenOptions::new();
    Ok(options.read(true).write(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)?)
}

pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(super) fn standard_input() -> io::Result<File> {
    let why = "a secret is not read from standard input on Windows: name a file";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

pub(super) fn is_pipe(_about: &Metadata) -> bool {
    false
}

/// No pipe is read.
pub(super) fn wait(_pipe: &File) -> io::Result<()> {
    Ok(())
}

pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Not checked here: see the [module](super).
pub(super) fn check_readers(
    _file: &File,
    _about: &Metadata,
    _readers: Readers,
) -> Result<(), PrivateFileError> {
    Ok(())
}
