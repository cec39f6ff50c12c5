//! A set file before it has its name.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use crate::system::{folder, sync_folder, usual};

/// A file with a temporary name, beside the path that it is for.
pub(crate) struct Temporary {
    file: NamedTempFile,
    unfinished: Unfinished,
}

impl Temporary {
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let file = usual(builder.prefix(".vesica-").suffix(".tmp")).tempfile_in(folder(path))?;
        let unfinished = Unfinished::new(file.path());
        Ok(Temporary { file, unfinished })
    }

    /// Makes the file durable and gives it its name. An error of the kind `AlreadyExists` if that is taken.
    pub(crate) fn put(self, path: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        if let Err(failed) = self.file.persist_noclobber(path) {
            // Some file systems have no step that names a file unless the name is taken.
            if failed.error.kind() == io::ErrorKind::AlreadyExists || path.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            failed.file.persist(path).map_err(|error| error.error)?;
        }
        drop(self.unfinished);
        sync_folder(path)
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Temporary {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A file of the same folder that never has a name.
pub(crate) fn unnamed(path: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder(path))
}

/// Unfinished files with a name.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An entry of that list; dropping it removes the entry.
struct Unfinished(PathBuf);

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

/// Deletes every unfinished set file of this process. A program calls it before it exits without returning to its writers.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // If a deletion fails, nothing more can be done.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_can_be_removed_by_whoever_ends_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let listed = || fs::read_dir(folder.path()).unwrap().count();
        let path = folder.path().join("set.vset");
        Temporary::beside(&path).unwrap().put(&path).unwrap();
        let unfinished = Temporary::beside(&folder.path().join("other.vset")).unwrap();
        assert_eq!(listed(), 2);
        remove_unfinished();
        assert!(listed() == 1 && path.exists());
        drop(unfinished);
        assert!(UNFINISHED.lock().unwrap().is_empty());
    }
}
