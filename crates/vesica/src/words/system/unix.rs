//! The system of a run on Unix.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

pub(crate) const NO_CONFIG_FOLDER: &str = "neither XDG_CONFIG_HOME nor HOME is set";

/// Where the user's settings are.
pub(crate) fn config_folder() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")))
}

/// The folder that a variable of the environment names.
fn folder(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The most address space that this process may have; none where nothing limits it.
pub(crate) fn address_space() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// CPU time of all threads so far, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// What to do if the system has run out of something for this process.
pub(crate) fn exhausted(source: &io::Error) -> Option<&'static str> {
    match Errno::from_io_error(source)? {
        Errno::MFILE => Some("raise the limit on open files (`ulimit -n`): 64 are enough"),
        Errno::NFILE => Some("close other programs: the system has too many files open"),
        Errno::NOMEM => Some("close other programs, or raise the limit on memory"),
        // The error of a thread that cannot be started.
        Errno::AGAIN => Some(
            "raise the limit on processes and threads (`ulimit -u`, or the container's), or give fewer `[threads]`",
        ),
        _ => None,
    }
}

/// Whether an open file is the one at `path`, which is no link.
pub(crate) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let (mine, there) = (file.metadata()?, fs::symlink_metadata(path)?);
    Ok((mine.dev(), mine.ino()) == (there.dev(), there.ino()))
}

/// Opens what is there for reading. A pipe is not waited for.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Waits until the names in the folder of that path are on the disk. Not every file system can sync a folder.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder)?.sync_all() {
        Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Err(error)
        }
        _ => Ok(()),
    }
}
