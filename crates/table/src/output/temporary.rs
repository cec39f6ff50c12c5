//! A file that nobody can see before it is complete.
//!
//! On Linux and most file systems it has no name while it is written (`O_TMPFILE`), so a process that is
//! killed leaves nothing. It gets a temporary name for the moment between `linkat` and `rename`. Elsewhere it
//! has the temporary name from the start, and only its owner can read it until it is complete;
//! [`remove_unfinished`] deletes such files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use super::system::{can_be_named, is_wider, link, permit, room, unnamed};
use crate::error::OutputFault;

/// The path of an output file.
#[derive(Debug)]
pub(super) struct TargetFile {
    /// Links resolved.
    pub(super) path: PathBuf,
    pub(super) directory: PathBuf,
    /// The permissions of a new file in that directory, or of the file that is replaced.
    pub(super) permissions: fs::Permissions,
    /// Whether it must replace no file that has bytes.
    pub(super) is_new: bool,
}

impl TargetFile {
    /// Checks whether a file can be created there, and which permissions it will have. Leaves nothing behind.
    pub(super) fn new(
        path: PathBuf,
        directory: PathBuf,
        replaces: Option<fs::Permissions>,
    ) -> Result<Self, OutputFault> {
        let of_new = || match unnamed(&directory) {
            Ok(probe) => probe.metadata().map(|about| about.permissions()),
            Err(_) => named(&directory, 0o666)?.as_file().metadata().map(|about| about.permissions()),
        };
        let usual = of_new().map_err(OutputFault::NotWritable)?;
        let target = TargetFile { path, directory, permissions: replaces.unwrap_or(usual), is_new: false };
        let mut probe = Temporary::beside(&target).map_err(OutputFault::NotWritable)?;
        permit_as(probe.file(), &target.permissions).map_err(OutputFault::NotPrivate)?;
        Ok(target)
    }

    /// Whether a file with bytes is there.
    pub(super) fn is_taken(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() > 0)
    }

    /// Gives the complete file its name.
    fn rename<F>(&self, file: NamedTempFile<F>) -> io::Result<()> {
        if self.is_new && self.is_taken() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        file.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    /// Free bytes on the file system.
    pub(super) fn room(&self) -> Option<u64> {
        room(&self.directory)
    }
}

/// An unfinished file.
pub(super) enum Temporary {
    Unnamed(File),
    Named(NamedTempFile, Unfinished),
}

impl Temporary {
    pub(super) fn beside(target: &TargetFile) -> io::Result<Self> {
        match unnamed(&target.directory) {
            Ok(file) if can_be_named(&file) => Ok(Temporary::Unnamed(file)),
            // The fallback reports the same error, if it is one.
            _ => Temporary::with_name(target),
        }
    }

    pub(super) fn with_name(target: &TargetFile) -> io::Result<Self> {
        let file = named(&target.directory, 0o600)?;
        let unfinished = Unfinished::new(file.path());
        Ok(Temporary::Named(file, unfinished))
    }

    pub(super) fn file(&mut self) -> &mut File {
        match self {
            Temporary::Unnamed(file) => file,
            Temporary::Named(file, _) => file.as_file_mut(),
        }
    }

    /// Moves the complete file to its path.
    pub(super) fn put(mut self, target: &TargetFile) -> io::Result<()> {
        let file = self.file();
        // Others may read it only from now on, just before it gets its name.
        file.sync_all()?;
        permit_as(file, &target.permissions)?;
        match self {
            Temporary::Named(file, unfinished) => {
                target.rename(file)?;
                drop(unfinished);
            }
            Temporary::Unnamed(mut file) => match link(&file, &builder(), &target.directory) {
                Ok(link) => target.rename(link)?,
                // This system cannot give such a file a name.
                Err(_) => return copied(&mut file, target),
            },
        }
        let synced = File::open(&target.directory).and_then(|directory| directory.sync_all());
        synced.or_else(|error| if cannot_sync(&error) { Ok(()) } else { Err(error) })
    }
}

/// Whether a file system cannot sync a directory at all, or this user may not open it for that. The file is in its place
/// then, as durable as it can be. Every other error means that the disk may lose its name, and is reported.
pub(super) fn cannot_sync(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, IsADirectory, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | IsADirectory | PermissionDenied | Unsupported)
}

/// Gives a new file these permissions. Some file systems (SMB, FUSE) have permissions of their own and refuse; the file keeps
/// those then, unless they would let more people at it.
fn permit_as(file: &File, wanted: &fs::Permissions) -> io::Result<()> {
    permit_by(file, wanted, File::set_permissions)
}

pub(super) fn permit_by(
    file: &File,
    wanted: &fs::Permissions,
    set: impl FnOnce(&File, fs::Permissions) -> io::Result<()>,
) -> io::Result<()> {
    use io::ErrorKind::{PermissionDenied, Unsupported};
    let found = file.metadata()?.permissions();
    if found == *wanted {
        return Ok(());
    }
    match set(file, wanted.clone()) {
        Err(error) if matches!(error.kind(), PermissionDenied | Unsupported) && !is_wider(&found, wanted) => {
            Ok(())
        }
        done => done,
    }
}

/// Replaces the bytes of an existing file, and not the file.
pub(super) fn replace_bytes(from: &mut dyn Read, path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    io::copy(from, &mut file)?;
    file.sync_all()
}

fn copied(from: &mut File, target: &TargetFile) -> io::Result<()> {
    let mut copy = Temporary::with_name(target)?;
    from.seek(SeekFrom::Start(0))?;
    io::copy(from, copy.file())?;
    copy.put(target)
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".vesica-").suffix(".tmp");
    builder
}

/// The umask is applied to the mode.
fn named(directory: &Path, mode: u32) -> io::Result<NamedTempFile> {
    permit(&mut builder(), mode).tempfile_in(directory)
}

/// Unfinished files with a name.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An entry of that list; dropping it removes the entry.
pub(super) struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        Unfinished(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Deletes every unfinished output of this process that has a name. A program calls it before it exits
/// without returning to the writers.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // If a deletion fails, nothing more can be done.
        let _ = fs::remove_file(path);
    }
}
