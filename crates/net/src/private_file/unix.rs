//! Private files on Unix: modes, and whom they let in.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fgetxattr};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};

use super::{PrivateFileError, Readers};

/// Opens what is there for reading and writing, if it is no link. A pipe is not waited for.
pub(super) fn open_unlinked(path: &Path) -> Result<File, PrivateFileError> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let opened =
        OpenOptions::new().read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path);
    opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => PrivateFileError::Link,
        Some(Errno::ISDIR | Errno::NXIO) => PrivateFileError::NotAFile,
        _ => PrivateFileError::Io(error),
    })
}

/// Opens what is there for reading. A pipe is opened without waiting for whoever writes into it.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

pub(super) fn standard_input() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

pub(super) fn is_pipe(about: &Metadata) -> bool {
    about.file_type().is_fifo()
}

pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Refuses a file that others than `readers` can read.
pub(super) fn check_readers(file: &File, about: &Metadata, readers: Readers) -> Result<(), PrivateFileError> {
    let mode = about.permissions().mode() & 0o777;
    let others = match readers {
        // Its group may read it, and do nothing else.
        Readers::Group if is_own_group(about.gid()) && is_trusted(about.uid()) && !has_acl(file) => 0o037,
        _ => 0o077,
    };
    if mode & others != 0 { Err(PrivateFileError::Exposed { mode }) } else { Ok(()) }
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
pub(super) fn wait(pipe: &File) -> io::Result<()> {
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
    use std::fs;
    use std::os::unix::fs::chown;

    use super::*;
    use crate::private_file::read;

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
