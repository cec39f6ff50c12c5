//! Files that hold secrets: read only if nobody but their owner can.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use thiserror::Error;
use zeroize::Zeroizing;

/// Why a file with secrets was not read.
#[derive(Debug, Error)]
pub enum PrivateFileError {
    /// Others may read it.
    #[error("it can be read by others (mode {mode:03o})")]
    Exposed {
        /// Its permission bits.
        mode: u32,
    },
    /// A directory, a device, a pipe, or too long.
    #[error("it is not a file of this kind")]
    NotAFile,
    /// The system's reason.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// All bytes of a file of at most `limit` bytes.
///
/// # Errors
/// If it cannot be read, is no file or a longer one, or can be read by others than its owner.
pub fn read(path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, PrivateFileError> {
    // The size and the permissions are those of the file that is then read, whatever the path points to by then.
    // A pipe is opened without waiting for whoever writes into it, and then refused.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > limit {
        return Err(PrivateFileError::NotAFile);
    }
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(PrivateFileError::Exposed { mode });
    }
    // Never moved to a larger place, which would leave a copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(limit as usize + 1));
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
