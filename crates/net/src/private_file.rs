//! Files that hold secrets: read only if nobody but those who are meant to can.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fgetxattr};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};
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
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let opened =
        OpenOptions::new().read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => PrivateFileError::Link,
        Some(Errno::ISDIR | Errno::NXIO) => PrivateFileError::NotAFile,
        _ => PrivateFileError::Io(error),
    })?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(PrivateFileError::NotAFile);
    }
    match about.permissions().mode() & 0o777 {
        mode if mode & 0o077 != 0 => Err(PrivateFileError::Exposed { mode }),
        _ => Ok(file),
    }
}

/// All bytes of a file of at most `limit` bytes. A pipe is read to its end, and waited for.
///
/// # Errors
/// If it cannot be read, is no file or a longer one, or can be read by others than `readers`.
pub fn read(path: &Path, limit: u64, readers: Readers) -> Result<Zeroizing<Vec<u8>>, PrivateFileError> {
    // The size and the permissions are those of the file that is then read, whatever the path points to by then.
    let file = if readers == Readers::Group && path.as_os_str() == "-" {
        File::from(io::stdin().as_fd().try_clone_to_owned()?)
    } else {
        // A pipe is opened without waiting for whoever writes into it.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?
    };
    let about = file.metadata()?;
    let pipe = readers == Readers::Group && about.file_type().is_fifo();
    if !(about.is_file() || pipe) || about.len() > limit {
        return Err(PrivateFileError::NotAFile);
    }
    let mode = about.permissions().mode() & 0o777;
    let others = match readers {
        // Its group may read it, and do nothing else.
        Readers::Group if is_own_group(about.gid()) && is_trusted(about.uid()) && !has_acl(&file) => 0o037,
        _ => 0o077,
    };
    if mode & others != 0 {
        return Err(PrivateFileError::Exposed { mode });
    }
    // Never moved to a larger place, which would leave a copy behind.
    let mut bytes = Zeroizing::new(vec![0; limit as usize + 1]);
    let mut length = 0;
    while length < bytes.len() {
        if pipe {
            wait(&file)?;
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

/// The owner of a file can read and replace it: that is this user, or the system that mounted it.
fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == geteuid().as_raw()
}

/// Whether an access control list lets further users in: the bits of the group tell its most then, not the group's.
fn has_acl(file: &File) -> bool {
    let found = fgetxattr(file, "system.posix_acl_access", &mut [0_u8; 0][..]);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

fn is_own_group(group: u32) -> bool {
    let others = getgroups().unwrap_or_default();
    others.into_iter().chain([getegid()]).any(|own| own.as_raw() == group)
}

/// Waits until the pipe has something, or its end.
fn wait(pipe: &File) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], None) {
            Ok(_) => return Ok(()),
            // A read now would find no writer yet, and take that for the end.
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;
    use std::os::unix::fs::chown;

    const LIMIT: u64 = 64;

    /// The outcome for a file of that mode and group.
    fn reads(mode: u32, group: Option<u32>, readers: Readers) -> bool {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"secret").unwrap();
        chown(file.path(), None, group).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        match read(file.path(), LIMIT, readers) {
            Ok(bytes) => *bytes == *b"secret",
            Err(PrivateFileError::Exposed { mode: found }) if found == mode => false,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn the_own_group_may_read_an_identity_and_nothing_else() {
        for mode in [0o600, 0o400] {
            assert!(reads(mode, None, Readers::Owner) && reads(mode, None, Readers::Group));
        }
        for mode in [0o440, 0o640] {
            assert!(reads(mode, None, Readers::Group), "{mode:o}");
            assert!(!reads(mode, None, Readers::Owner), "{mode:o}");
        }
        for mode in [0o660, 0o450, 0o444, 0o604, 0o644] {
            assert!(!reads(mode, None, Readers::Group), "{mode:o}");
        }
    }

    #[test]
    fn another_group_may_not_read_an_identity() {
        // Only root can give a file to a group that it is not in.
        if rustix::process::geteuid().is_root() {
            assert!(!is_own_group(54_321) && !reads(0o640, Some(54_321), Readers::Group));
        }
    }

    #[test]
    fn a_longer_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), [b'x'; LIMIT as usize]).unwrap();
        assert_eq!(read(file.path(), LIMIT, Readers::Owner).unwrap().len() as u64, LIMIT);
        fs::write(file.path(), [b'x'; LIMIT as usize + 1]).unwrap();
        let refused = read(file.path(), LIMIT, Readers::Owner);
        assert!(matches!(refused, Err(PrivateFileError::NotAFile)));
        for path in ["/dev/zero", "/"] {
            let refused = read(Path::new(path), LIMIT, Readers::Group);
            assert!(matches!(refused, Err(PrivateFileError::NotAFile)), "{path}");
        }
    }
}
