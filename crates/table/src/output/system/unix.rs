//! Outputs on Unix.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

use crate::file_id::FileId;
use crate::output::Standard;

/// The longest chain of links that is followed.
const LINKS: usize = 40;
/// How long one wait lasts.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Another handle of a standard descriptor.
pub(in crate::output) fn duplicate(standard: &impl AsFd) -> io::Result<File> {
    Ok(File::from(standard.as_fd().try_clone_to_owned()?))
}

/// Which file an open handle leads to, if it is a regular one.
pub(in crate::output) fn id(file: &File) -> io::Result<Option<FileId>> {
    match file.metadata()?.is_file() {
        true => FileId::of_file(file, Path::new("-")).map(Some),
        false => Ok(None),
    }
}

/// The descriptor that `path` leads to: by a link such as `/dev/stdout`, or because both are the same file.
pub fn standard(path: &Path) -> Option<Standard> {
    match descriptor(path) {
        Some(Descriptor::Mine(1)) => return Some(Standard::Output),
        Some(Descriptor::Mine(2)) => return Some(Standard::Error),
        Some(_) => return None,
        None if path.as_os_str() == "-" => return Some(Standard::Output),
        None => {}
    }
    let id = |metadata: &Metadata| metadata.is_file().then(|| (metadata.dev(), metadata.ino()));
    let target = id(&fs::metadata(path).ok()?)?;
    let leads = |standard: &Standard| {
        let metadata = standard.duplicate().and_then(|file| file.metadata());
        metadata.is_ok_and(|metadata| id(&metadata) == Some(target))
    };
    [Standard::Output, Standard::Error].into_iter().find(leads)
}

/// An open file that a path names by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Descriptor {
    Mine(u32),
    Foreign,
}

/// Follows the links of `path` to an entry of `/proc/PROCESS/fd`, if they lead there.
fn descriptor(path: &Path) -> Option<Descriptor> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent = fs::canonicalize(parent).ok()?;
        let name = path.file_name()?.to_owned();
        let parts: Vec<_> = parent.components().map(Component::as_os_str).collect();
        if parts.len() >= 4 && parts[1] == "proc" && parts[parts.len() - 1] == "fd" {
            let mine = parts[2].to_str()?.parse() == Ok(std::process::id());
            return match name.to_str()?.parse() {
                Ok(number) if mine => Some(Descriptor::Mine(number)),
                Ok(_) => Some(Descriptor::Foreign),
                Err(_) => None,
            };
        }
        path = parent.join(fs::read_link(parent.join(&name)).ok()?);
    }
    None
}

/// Whether a path names a descriptor of a process.
pub(in crate::output) fn names_descriptor(path: &Path) -> bool {
    descriptor(path).is_some()
}

/// Whether standard output was closed at the start. Rust's start-up then opens `/dev/null` in its place, for
/// reading and writing.
pub(in crate::output) fn is_closed() -> bool {
    let flags = rustix::fs::fcntl_getfl(io::stdout());
    let both = flags.is_ok_and(|flags| flags & OFlags::ACCMODE == OFlags::RDWR);
    let found = Standard::Output.duplicate().and_then(|file| file.metadata());
    let null = fs::metadata("/dev/null");
    both && matches!((found, null), (Ok(found), Ok(null))
        if found.file_type().is_char_device() && found.rdev() == null.rdev())
}

/// Opens a device or a pipe; none if it is a pipe that nobody reads yet.
pub(in crate::output) fn open_stream(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(descriptor) => Ok(Some(descriptor.into())),
        Err(Errno::NXIO) if path.metadata()?.file_type().is_fifo() => Ok(None),
        Err(Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits for a moment until it takes bytes, or has an error, which the write reports.
pub(in crate::output) fn takes_bytes(file: &File) -> bool {
    let found = poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&MOMENT));
    !matches!(found, Ok(0) | Err(Errno::INTR))
}

/// Free bytes on the file system.
pub(crate) fn room(directory: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(directory).ok()?;
    system.f_bavail.checked_mul(system.f_frsize)
}

/// Whether something is mounted on the file, such as a file of the host in a container. Nothing can be renamed over it.
#[cfg(target_os = "linux")]
pub(in crate::output) fn is_mounted(path: &Path, directory: &Path) -> bool {
    if let (Some(file), Some(directory)) = (mount(path), mount(directory)) {
        return file != directory;
    }
    let (Ok(mounts), Ok(path)) = (fs::read("/proc/self/mountinfo"), fs::canonicalize(path)) else {
        return false;
    };
    mount_points(&mounts).any(|point| point == path.as_os_str().as_encoded_bytes())
}

/// Elsewhere only folders are mount points.
#[cfg(not(target_os = "linux"))]
pub(in crate::output) fn is_mounted(_path: &Path, _directory: &Path) -> bool {
    false
}

/// The number of the mount that a path is on; none if the system does not tell (Linux before 5.8).
#[cfg(target_os = "linux")]
fn mount(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// The mount points in the text of `/proc/self/mountinfo`: the fifth field, with blanks and backslashes in octal digits.
#[cfg(target_os = "linux")]
fn mount_points(mounts: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let plain = |field: &[u8]| {
        let (mut plain, mut rest) = (Vec::new(), field);
        while let [first, after @ ..] = rest {
            let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
            let code =
                octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\');
            plain.push(code.unwrap_or(*first));
            rest = if code.is_some() { &after[3..] } else { after };
        }
        plain
    };
    mounts
        .split(|byte| *byte == b'\n')
        .filter_map(move |line| line.split(|byte| *byte == b' ').nth(4).map(plain))
}

/// Whether the system would let this user rename a file over an existing one, as far as a question tells that changes
/// nothing: in a folder with the sticky bit, only owners may. Linux asks that first when a directory is to be removed, and
/// then finds that the file is none.
pub(in crate::output) fn may_replace(file: &Path) -> bool {
    !matches!(rustix::fs::rmdir(file), Err(Errno::PERM))
}

/// Whether a mode lets others do what another one does not.
pub(in crate::output) fn is_wider(mode: &Permissions, than: &Permissions) -> bool {
    mode.mode() & 0o777 & !than.mode() != 0
}

/// Gives new files that mode, less the umask.
pub(in crate::output) fn permit<'b>(
    builder: &'b mut Builder<'static, 'static>,
    mode: u32,
) -> &'b mut Builder<'static, 'static> {
    builder.permissions(Permissions::from_mode(mode))
}

/// A file without a name, with the permissions of any new file: nobody else can open it.
#[cfg(target_os = "linux")]
pub(in crate::output) fn unnamed(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(directory, flags, Mode::from_raw_mode(0o666))?))
}

#[cfg(not(target_os = "linux"))]
pub(in crate::output) fn unnamed(_directory: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The path of an open file by its number.
fn by_number(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Without `/proc` a file that has no name cannot be given one.
pub(in crate::output) fn can_be_named(file: &File) -> bool {
    fs::metadata(by_number(file)).is_ok()
}

/// Gives the file a temporary name.
pub(in crate::output) fn link(
    file: &File,
    builder: &Builder<'_, '_>,
    directory: &Path,
) -> io::Result<NamedTempFile<()>> {
    use rustix::fs::{AtFlags, CWD, linkat};
    builder.make_in(directory, |name| Ok(linkat(CWD, by_number(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_from_the_kernels_list() {
        let mounts = b"36 35 98:0 /a /data/out\\040put\\134.csv rw,noatime master:1 - ext3 /dev/root rw\n1 2 0:1 / /proc rw - proc p rw\n";
        let points: Vec<_> = mount_points(mounts).collect();
        assert_eq!(points, [&b"/data/out put\\.csv"[..], b"/proc"]);
    }

    #[test]
    fn a_file_in_a_folder_is_no_mount_point_and_proc_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, b"").unwrap();
        assert!(!is_mounted(&file, folder.path()));
        assert!(is_mounted(Path::new("/proc/version"), Path::new("/")));
        assert!(may_replace(&file) && file.exists());
    }
}
