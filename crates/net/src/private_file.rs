//! Files that hold secrets: read only if nobody but those who are meant to can.
//!
//! That is checked on Unix. On Windows a file is read by whom its folder lets in, which is not checked: a folder of the
//! user's profile lets in that user, and whoever administers the machine.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use thiserror::Error;
use zeroize::Zeroizing;

/// Who may be able to read a file with secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone.
    Owner,
    /// Its owner, and its group if this process is in it: so do containers get secrets (modes 0440 and 0640). A pipe is read
    /// too, and `-` is standard input.
    Group,
}

/// Why a file with secrets was not read.
#[derive(Debug, Error)]
pub enum PrivateFileError {
    /// Others may read it.
    #[error("it can be read by others (mode {mode:03o})")]
    Exposed {
        /// Its permission bits.
        mode: u32,
    },
    /// A directory, a device, or too long; a pipe too, where none is read.
    #[error("it is not a file of this kind")]
    NotAFile,
    /// A symbolic link, where none is followed.
    #[error("it is a symbolic link")]
    Link,
    /// The system's reason.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Opens a file that its owner alone can read, for reading and writing. A symbolic link is not followed, and a pipe is not
/// waited for.
///
/// # Errors
/// If it cannot be opened, is no file, or can be read by others.
pub fn open(path: &Path) -> Result<File, PrivateFileError> {
    let file = system::open_unlinked(path)?;
    let about = file.metadata()?;
    if about.is_symlink() {
        return Err(PrivateFileError::Link);
    }
    if !about.is_file() {
        return Err(PrivateFileError::NotAFile);
    }
    system::check_readers(&file, &about, Readers::Owner)?;
    Ok(file)
}

/// A new file that its owner alone can read, for writing.
///
/// # Errors
/// If there is one, or it cannot be made.
pub fn create_new(path: &Path) -> io::Result<File> {
    system::create_new(path)
}

/// Makes a folder that its owner alone can open, and those above it, unless they are there.
///
/// # Errors
/// If it cannot be made.
pub fn create_folder(path: &Path) -> io::Result<()> {
    system::create_folder(path)
}

/// All bytes of a file of at most `limit` bytes. A pipe is read to its end, and waited for.
///
/// # Errors
/// If it cannot be read, is no file or a longer one, or can be read by others than `readers`.
pub fn read(path: &Path, limit: u64, readers: Readers) -> Result<Zeroizing<Vec<u8>>, PrivateFileError> {
    // The size and the permissions are those of the file that is then read, whatever the path points to by then.
    let file = match readers {
        Readers::Group if path.as_os_str() == "-" => system::standard_input()?,
        _ => system::open_to_read(path)?,
    };
    let about = file.metadata()?;
    let pipe = readers == Readers::Group && system::is_pipe(&about);
    if !(about.is_file() || pipe) || about.len() > limit {
        return Err(PrivateFileError::NotAFile);
    }
    system::check_readers(&file, &about, readers)?;
    // Never moved to a larger place, which would leave a copy behind.
    let mut bytes = Zeroizing::new(vec![0; limit as usize + 1]);
    let mut length = 0;
    while length < bytes.len() {
        if pipe {
            system::wait(&file)?;
        }
        match (&file).read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if length as u64 > limit {
        return Err(PrivateFileError::NotAFile);
    }
    bytes.truncate(length);
    Ok(bytes)
}
